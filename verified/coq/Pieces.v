(** * Lemmas 10 and 11: tree by tree and feature by feature *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool Lqa Lia.
From Cfxc Require Import Semantics Features FeaturesProofs Payments PaymentsProofs Forms Checker
  Sums Balls Ranges.
Import ListNotations.
Open Scope Q_scope.

(** ** What a piece says of what it adds and pays at a point *)

Definition mark := (Q * Q)%type.   (* what it adds, what it pays *)

Definition reaches (w : worths) (m : mark) : Prop :=
  exists t, In t w /\ fst m - snd m <= fst t - snd t.

Definition tops_it (w : worths) (m : mark) : Prop := exists t, In t w /\ fst m <= fst t.

Definition sound_piece (p : piece) (m : mark) : Prop :=
  (forall w, piece_worths p = Some w -> reaches w m /\ tops_it w m) /\
  (forall strict least w, kept strict least p = Some w ->
     misses (fst m - least) strict = false -> reaches w m).

Lemma net_of w m n : reaches w m -> net w = Some n -> fst m - snd m <= n.
Proof.
  intros (t & I & L) N. unfold net in N.
  apply Qle_trans with (fst t - snd t); [exact L|].
  apply (greatest_ge _ _ N). apply in_map_iff. eauto.
Qed.

Lemma top_of w m n : tops_it w m -> top w = Some n -> fst m <= n.
Proof.
  intros (t & I & L) N. unfold top in N.
  apply Qle_trans with (fst t); [exact L|]. apply (greatest_ge _ _ N). apply in_map. exact I.
Qed.

Definition added (ms : list mark) : Q := sum (map fst ms).
Definition paid (ms : list mark) : Q := sum (map snd ms).

Lemma added_cons m ms : added (m :: ms) = fst m + added ms.
Proof. reflexivity. Qed.

Lemma paid_cons m ms : paid (m :: ms) = snd m + paid ms.
Proof. reflexivity. Qed.

Lemma added_app l m : added (l ++ m) == added l + added m.
Proof. unfold added. rewrite map_app. apply sum_app. Qed.

Lemma paid_app l m : paid (l ++ m) == paid l + paid m.
Proof. unfold paid. rewrite map_app. apply sum_app. Qed.

Lemma together_sound ps ms : Forall2 sound_piece ps ms ->
  forall value w, together value ps = Some w -> value + added ms - paid ms <= w.
Proof.
  induction 1 as [|p m ps ms [S _] _ IH]; intros value w; cbn [together].
  - intro E. apply some_inj in E. subst. unfold added, paid. cbn [map]. rewrite sum_nil. lra.
  - destruct (piece_worths p) as [ws|] eqn:E; [|discriminate].
    destruct (net ws) as [n|] eqn:N; [|discriminate].
    intro T. apply IH in T. destruct (S ws eq_refl) as [R _].
    pose proof (net_of ws m n R N). rewrite added_cons, paid_cons. lra.
Qed.

Lemma tops_sound ps ms : Forall2 sound_piece ps ms ->
  forall ts, tops ps = Some ts -> Forall2 (fun t m => fst m <= t) ts ms.
Proof.
  induction 1 as [|p m ps ms [S _] _ IH]; intros ts; cbn [tops].
  - intro E. apply some_inj in E. subst. constructor.
  - destruct (piece_worths p) as [ws|] eqn:E; [|discriminate].
    destruct (top ws) as [n|] eqn:N; [|discriminate].
    destruct (tops ps) as [r|]; [|discriminate].
    intro T. apply some_inj in T. subst. destruct (S ws eq_refl) as [_ R].
    constructor; [apply (top_of ws m n R N)|apply IH; reflexivity].
Qed.

(** Each adds at least its largest less what all may be too large by. *)

Lemma spare_of ts ms : Forall2 (fun t m => fst m <= t) ts ms -> added ms <= sum ts.
Proof.
  induction 1 as [|t m ts ms L _ IH]; [unfold added; cbn [map]; rewrite sum_nil; lra|].
  rewrite added_cons, sum_cons. lra.
Qed.

Lemma alone_sound strict spare ps ms ts :
  Forall2 sound_piece ps ms -> Forall2 (fun t m => fst m <= t) ts ms ->
  sum ts - added ms <= spare -> (strict = true -> sum ts - added ms < spare) ->
  forall value w, alone strict spare value (combine ps ts) = Some w ->
  value + added ms - paid ms <= w.
Proof.
  intros P. revert ts. induction P as [|p m ps ms [_ S] _ IH]; intros ts T A B value w.
  - inversion T; subst. cbn [combine alone]. intro E. apply some_inj in E. subst.
    unfold added, paid. cbn [map]. rewrite sum_nil. lra.
  - inversion T as [|t ? ts' ? L T']; subst. cbn [combine alone].
    rewrite added_cons, sum_cons in A, B. rewrite added_cons, paid_cons.
    pose proof (spare_of _ _ T') as R.
    assert (M : misses (fst m - (t - spare)) strict = false).
    { unfold misses. apply orb_false_iff. split; [apply Qltb_false; lra|].
      destruct strict; [|reflexivity]. cbn. apply Qle_bool_false. specialize (B eq_refl). lra. }
    destruct (kept strict (t - spare) p) as [ws|] eqn:K; [|discriminate].
    destruct (S strict (t - spare) ws K M) as (e & I & Le).
    destruct ws as [|a ws]; [destruct I|].
    destruct (net (a :: ws)) as [n|] eqn:N; [|discriminate].
    intro E. apply (IH ts' T') in E.
    + assert (fst m - snd m <= n) by (apply (net_of (a :: ws) m n); [exists e; auto|exact N]). lra.
    + lra.
    + intro St. specialize (B St). lra.
Qed.

(** ** A feature's piece *)

Definition slot_mark (s : slot) (v : value) : mark :=
  match v with
  | Num q => (factor_ s * q, priced (price_ s) (change (feature_ s) v))
  | Lab i => (factor_of i (factors_ s), priced (price_ s) (change (feature_ s) v))
  end.

Record slot_ok (s : slot) (v : value) : Prop := {
  s_formed : well_formed (feature_ s);
  s_admissible : admissible_value (feature_ s) v;
  s_part : in_part v (part_ s);
  s_price : nonneg_price (price_ s);
  s_unmixed : unmixed (price_ s) }.

Definition free_price (p : price) : price :=
  {| budget_ := 0; metric_ := metric_ p; share_ := share_ p; peak_ := 0 |}.

Lemma free_priced p d : priced (free_price p) d == 0.
Proof. unfold priced. cbn. lra. Qed.

Lemma free_places f n o a p lo hi y :
  In y (places_of f n o a (free_price p) lo hi) -> In y (places_of f n o a p lo hi).
Proof.
  unfold places_of. rewrite !map_app, !in_app_iff. intros [H|H]; [left; exact H|].
  exfalso. unfold free_price in H. cbn [budget_ metric_ share_] in H.
  replace (Qle_bool (2 * 0 * l2 (metric_ p) * share_ p) 0) with true in H; [destruct H|].
  symmetry. apply Qle_bool_true. lra.
Qed.

Lemma number_reaches s v w lo hi q :
  slot_ok s v -> v = Num q -> lo <= q -> q <= hi ->
  slot_worths s (Interval lo hi) = Some w -> reaches w (slot_mark s v) /\ tops_it w (slot_mark s v).
Proof.
  intros Ok -> L H. pose proof (s_formed _ _ Ok) as W. pose proof (s_admissible _ _ Ok) as A.
  unfold slot_worths.
  destruct (shape (feature_ s)) as [n|] eqn:Sh; [|destruct (own (feature_ s)); discriminate].
  destruct (own (feature_ s)) as [o|] eqn:Ow; [|discriminate].
  replace (Qle_bool lo hi) with true by (symmetry; apply Qle_bool_true; lra).
  intro E. apply some_inj in E. subst w. split.
  - destruct (number_bound (feature_ s) n o (factor_ s) (price_ s) lo hi q Sh Ow W A L H
                (s_price _ _ Ok) (s_unmixed _ _ Ok)) as (y & I & B).
    eexists. split; [apply in_map; exact I|]. exact B.
  - assert (N : nonneg_price (free_price (price_ s))).
    { pose proof (s_price _ _ Ok) as N. unfold nonneg_price in *. cbn. intuition lra. }
    assert (U : unmixed (free_price (price_ s))).
    { pose proof (s_unmixed _ _ Ok) as U. unfold unmixed in *. cbn.
      destruct U as [U|[U _]]; [left; exact U|right; split; [exact U|lra]]. }
    destruct (number_bound (feature_ s) n o (factor_ s) (free_price (price_ s)) lo hi q Sh Ow W A L H
                N U) as (y & I & B).
    apply free_places in I. eexists. split; [apply in_map; exact I|].
    cbn [fst slot_mark]. rewrite !free_priced in B. lra.
Qed.

Lemma label_reaches s v w i ls :
  slot_ok s v -> v = Lab i -> In i ls ->
  slot_worths s (Among ls) = Some w -> In (slot_mark s v) w.
Proof.
  intros Ok -> I. unfold slot_worths.
  destruct (shape (feature_ s)), (own (feature_ s)); try discriminate.
  intro E. apply some_inj in E. subst w. apply in_map_iff. exists i. split; [reflexivity|exact I].
Qed.

Lemma few_reaches (w : worths) (m : mark) least strict :
  In m w -> misses (fst m - least) strict = false ->
  reaches (filter (fun t => negb (misses (fst t - least) strict)) w) m.
Proof.
  intros I M. exists m. split; [|lra]. apply filter_In. split; [exact I|]. rewrite M. reflexivity.
Qed.

Lemma misses_false v strict : misses v strict = false -> 0 <= v.
Proof. unfold misses. intro H. apply orb_false_iff in H as [H _]. apply Qltb_false. exact H. Qed.

(** With a factor of 0 all of a number's worths are 0. *)

Lemma idle_worths s p w t : factor_ s == 0 ->
  slot_worths s p = Some w -> In t w -> (exists lo hi, p = Interval lo hi) -> fst t == 0.
Proof.
  intros Z E I (lo & hi & ->). unfold slot_worths in E.
  destruct (shape (feature_ s)), (own (feature_ s)); try discriminate.
  destruct (Qle_bool lo hi); apply some_inj in E; subst w; [|destruct I].
  apply in_map_iff in I as (y & <- & _). cbn [fst]. rewrite Z. lra.
Qed.

Lemma slot_sound s v : slot_ok s v -> sound_piece (Slot_piece s) (slot_mark s v).
Proof.
  intro Ok. pose proof (s_part _ _ Ok) as P. split.
  - cbn [piece_worths]. intros w E.
    destruct v as [q|i], (part_ s) as [lo hi|ls|] eqn:Ep; cbn in P; try contradiction.
    + destruct P. apply (number_reaches s (Num q) w lo hi q); auto.
    + pose proof (label_reaches s (Lab i) w i ls Ok eq_refl P E) as I.
      split; eexists; split; [exact I|lra|exact I|lra].
  - intros strict least w. cbn [kept].
    destruct v as [q|i], (part_ s) as [lo hi|ls|] eqn:Ep; cbn in P; try contradiction.
    + destruct P as [L H]. destruct (Qeqb (factor_ s) 0) eqn:Z.
      * destruct (slot_worths s (Interval lo hi)) as [ws|] eqn:E; [|discriminate].
        intros Ew M. apply some_inj in Ew. subst w. compare_all.
        destruct (number_reaches s (Num q) ws lo hi q Ok eq_refl L H E) as [(t & I & Le) _].
        exists t. split; [|exact Le]. apply filter_In. split; [exact I|].
        assert (T0 : fst t == 0) by (apply (idle_worths s (Interval lo hi) ws); eauto).
        assert (M0 : fst (slot_mark s (Num q)) == 0) by (cbn [slot_mark fst]; rewrite Z; lra).
        apply negb_true_iff. unfold misses in *. apply orb_false_iff in M as [M1 M2].
        apply orb_false_iff. split; [apply Qltb_false; apply Qltb_false in M1; lra|].
        destruct strict; [|reflexivity]. cbn in *. apply Qle_bool_false. apply Qle_bool_false in M2. lra.
      * intros E M. apply misses_false in M. cbn [slot_mark fst] in M. compare_all.
        destruct (Qltb 0 (factor_ s)) eqn:Sg; compare_all.
        -- apply (number_reaches s (Num q) w (Qmax lo (least / factor_ s)) hi q) in E as [R _]; auto.
           apply Q.max_lub; [exact L|]. apply Qle_shift_div_r; [exact Sg|]. lra.
        -- apply (number_reaches s (Num q) w lo (Qmin hi (least / factor_ s)) q) in E as [R _]; auto.
           apply Q.min_glb; [exact H|].
           assert (Sn : factor_ s < 0) by (apply Qnot_le_lt; intro K; apply Z; lra).
           setoid_replace (least / factor_ s) with ((- least) / (- factor_ s)) by (field; lra).
           apply Qle_shift_div_l; lra.
    + destruct (slot_worths s (Among ls)) as [ws|] eqn:E; [|discriminate].
      intros Ew M. apply some_inj in Ew. subst w.
      apply few_reaches; [|exact M]. apply (label_reaches s (Lab i) ws i ls); auto.
Qed.

(** ** A tree's piece *)

Lemma tree_sound w m : (exists t, In t w /\ fst t = fst m /\ snd t <= snd m) -> sound_piece (Tree_piece w) m.
Proof.
  intros (t & I & E & L). split.
  - cbn [piece_worths]. intros w' Ew. apply some_inj in Ew. subst w'.
    split; exists t; (split; [exact I|rewrite E; lra]).
  - intros strict least w'. cbn [kept]. intros Ew M. apply some_inj in Ew. subst w'.
    exists t. split; [|rewrite E; lra]. apply filter_In. split; [exact I|]. rewrite E, M. reflexivity.
Qed.
