(** * What a form does not exceed in a part: lemmas 9 to 11 together *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool Lqa Lia.
From Cfxc Require Import Semantics Features FeaturesProofs Payments PaymentsProofs Forms Checker
  Sums Balls Ranges Inequalities Pieces.
Import ListNotations.
Open Scope Q_scope.

Section Most.

Context {Curves : functions}.
Variables (c : context) (x : point) (zs : list Q) (in_hull : nat -> Prop).
Hypothesis G : given c x.
Variables (facts : list fact) (known : spans) (parts : list part).
Hypothesis F : facts_hold zs in_hull facts.
Hypothesis K : spans_hold zs known.
Hypothesis P : in_parts x parts.
Hypothesis Cuts : forallb (forallb cuts_ok) (trees (prg c)) = true.
Hypothesis Z : forall k e, nth_error (made (prg c)) k = Some e -> z_of zs k == entry_at (prg c) x zs e.
Hypothesis True_ : true_to Curves (prg c).

Notation v := (source_at (prg c) x zs).

Hypothesis Rows : forall f s, In (f, s) (rows c) -> 0 <= worth v f /\ (s = true -> 0 < worth v f).
Hypothesis Faces : forall h f, In (h, f) (faces c) -> in_hull h -> 0 <= worth v f.

(** ** Features *)

Variable by_ : multipliers.
Hypothesis Ok : multipliers_ok c by_ = true.

Lemma ok_budget : 0 <= budget by_.
Proof.
  unfold multipliers_ok in Ok. repeat (apply andb_true_iff in Ok as [Ok _]).
  apply Qle_bool_true in Ok. exact Ok.
Qed.

Lemma ok_ineqs : forallb (fun t => Qle_bool 0 (snd t)) (ineqs by_) = true.
Proof.
  unfold multipliers_ok in Ok. do 3 (apply andb_true_iff in Ok as [Ok _]).
  apply andb_true_iff in Ok as [_ Ok]. exact Ok.
Qed.

Lemma ok_peaked : forallb (fun t => Qle_bool 0 (snd t)) (peaked by_) = true.
Proof.
  unfold multipliers_ok in Ok. do 2 (apply andb_true_iff in Ok as [Ok _]).
  apply andb_true_iff in Ok as [_ Ok]. exact Ok.
Qed.

Lemma ok_peaks : sum (map snd (peaked by_)) <= budget by_ * linf (norm_ c).
Proof.
  unfold multipliers_ok in Ok. apply andb_true_iff in Ok as [Ok _].
  apply andb_true_iff in Ok as [_ Ok]. apply Qle_bool_true in Ok. exact Ok.
Qed.

Lemma ok_payments : payments_ok (shared by_) = true.
Proof. unfold multipliers_ok in Ok. apply andb_true_iff in Ok as [_ Ok]. exact Ok. Qed.

Lemma factor_nonneg j : 0 <= factor_of j (peaked by_).
Proof.
  pose proof ok_peaked as H. induction (peaked by_) as [|[i a] l IH]; cbn [factor_of]; [lra|].
  cbn [forallb snd] in H. apply andb_true_iff in H as [H1 H2]. specialize (IH H2). compare_all.
  destruct (Nat.eqb i j); lra.
Qed.

Lemma factor_le j : factor_of j (peaked by_) <= sum (map snd (peaked by_)).
Proof.
  pose proof ok_peaked as H. induction (peaked by_) as [|[i a] l IH]; cbn [factor_of map].
  - rewrite sum_nil. lra.
  - cbn [forallb snd] in H. apply andb_true_iff in H as [H1 H2]. specialize (IH H2). compare_all.
    rewrite sum_cons. cbn [snd]. destruct (Nat.eqb i j); lra.
Qed.

Lemma price_ok j s p : 0 <= s -> 0 <= p ->
  nonneg_price (price_of c by_ j s p) /\ unmixed (price_of c by_ j s p).
Proof.
  intros S0 P0. destruct (g_norms _ _ G) as (A & B & L & D).
  destruct (left_over_range (shared by_) j ok_payments) as [R _].
  pose proof ok_budget. pose proof (factor_nonneg j) as Fn.
  split.
  - unfold nonneg_price, price_of. cbn [budget_ peak_ share_ metric_].
    repeat split; try assumption; apply Qmult_le_0_compat; assumption.
  - apply unmixed_norms; unfold price_of; cbn [metric_ peak_]; [apply (g_mixed _ _ G)|].
    intro E. pose proof ok_peaks as Pk. rewrite E, Qmult_0_r in Pk.
    pose proof (factor_le j). assert (Z0 : factor_of j (peaked by_) == 0) by lra.
    rewrite Z0. lra.
Qed.

Definition marks_of (ss : list slot) (y : point) : list mark :=
  map (fun t => slot_mark (fst t) (snd t)) (combine ss y).

Lemma slots_sound fs : forall y ss ps qs xs gs j,
  Forall well_formed fs -> admissible fs y -> in_parts y qs ->
  Forall (fun s => 0 <= s) ss -> Forall (fun p => 0 <= p) ps ->
  length ss = length fs -> length ps = length fs ->
  length xs = length fs -> length gs = length fs ->
  let sl := slots c by_ j fs ss ps qs xs gs in
  Forall2 sound_piece (map Slot_piece sl) (marks_of sl y) /\
  added (marks_of sl y) == numbers_worth xs y + labels_worths gs y /\
  paid (marks_of sl y) ==
    sum (map (fun t => budget by_ * left_over (shared by_) (fst t)
                       * cost (norm_ c) (fst (snd t)) (snd (snd t)))
             (combine (seq j (length fs)) (combine ss (changes fs y))))
    + sum (map (fun t => factor_of (fst t) (peaked by_) * (fst (snd t) * snd (snd t)))
             (combine (seq j (length fs)) (combine ps (changes fs y)))).
Proof.
  induction fs as [|f fs IH]; intros y ss ps qs xs gs j W A I S Pk Ls Lp Lx Lg; cbv zeta.
  - destruct ss; [|discriminate]. inversion A; subst. cbn. split; [constructor|].
    destruct xs; [|discriminate]. destruct gs; [|discriminate].
    unfold added, paid, numbers_worth, labels_worths. cbn. split; lra.
  - inversion A as [|? w ? y' Aw Ay]; subst. inversion I as [|? q ? qs' Iq Iqs]; subst.
    destruct ss as [|s ss]; [discriminate|]. destruct ps as [|p ps]; [discriminate|].
    destruct xs as [|a xs]; [discriminate|]. destruct gs as [|g gs]; [discriminate|].
    inversion W; subst. inversion S; subst. inversion Pk; subst.
    cbn in Ls, Lp, Lx, Lg.
    specialize (IH y' ss ps qs' xs gs (Datatypes.S j)) as IH'. cbv zeta in IH'.
    destruct IH' as (I1 & I2 & I3); try assumption; try lia.
    destruct (price_ok j s p) as [N U]; [assumption|assumption|].
    cbn [slots]. unfold marks_of in *. cbn [combine map fst snd].
    set (sl := {| feature_ := f; part_ := q; factor_ := a; factors_ := g;
                  price_ := price_of c by_ j s p |}).
    split; [|split].
    + constructor; [|exact I1]. apply slot_sound. constructor; assumption.
    + rewrite added_cons, I2. unfold numbers_worth, labels_worths. cbn [combine map].
      rewrite !sum_cons. cbn [fst snd].
      destruct w as [r|i]; cbn [slot_mark fst number_of labels_of factor_ factors_ sl]; lra.
    + rewrite paid_cons, I3. cbn [length seq combine changes map].
      rewrite !sum_cons. cbn [fst snd].
      assert (E : snd (slot_mark sl w) = priced (price_of c by_ j s p) (change f w)).
      { destruct w; reflexivity. }
      rewrite E. unfold priced, price_of. cbn [budget_ metric_ share_ peak_].
      fold (changes fs y'). lra.
Qed.

(** ** Trees *)

Definition direction (f : feature) (w : value) : way :=
  match own f, w with Num o, Num q => if Qltb q o then Down else Up | _, _ => Up end.

Definition active (p : pay) : Q :=
  match nth_error (feats c) (paid_for p), nth_error (shares c) (paid_for p),
        nth_error x (paid_for p) with
  | Some f, Some s, Some w =>
      if way_eqb (towards p) Either || way_eqb (towards p) (direction f w)
      then pays p (cost (norm_ c) s (change f w)) else 0
  | _, _, _ => 0
  end.

Lemma active_nonneg p : In p (payments (shared by_)) -> 0 <= active p.
Proof.
  intro I. unfold active.
  destruct (nth_error (feats c) (paid_for p)); [|lra].
  destruct (nth_error (shares c) (paid_for p)); [|lra].
  destruct (nth_error x (paid_for p)); [|lra].
  destruct (_ || _); [|lra]. apply (payment_nonneg (shared by_)); [apply ok_payments|exact I].
Qed.

Lemma way_of_direction f part q w : in_part w part -> way_of f part = q -> q <> Either ->
  direction f w = q.
Proof.
  unfold way_of, direction. destruct (own f) as [o|oi], part as [lo hi|ls|], w as [r|i]; cbn [in_part];
    intros I E N; try contradiction; try (subst q; contradiction).
  destruct I as [L H]. destruct (Qltb o lo) eqn:A.
  - compare_all. replace (Qltb r o) with false; [exact E|].
    symmetry. apply Qltb_false. lra.
  - destruct (Qltb hi o) eqn:B; [|subst q; contradiction].
    compare_all. replace (Qltb r o) with true; [exact E|]. symmetry. apply Qltb_true. lra.
Qed.

Lemma paid_at_le ps here near :
  (forall p, In p ps -> In p (payments (shared by_))) ->
  in_parts x here -> below near (changes (feats c) x) ->
  paid_at c ps here near <= sum (map active ps).
Proof.
  intros I H B. unfold paid_at. apply sum_le. intros p Ip. specialize (I p Ip).
  pose proof (active_nonneg p I) as A. unfold active in *.
  destruct (nth_error (feats c) (paid_for p)) as [f|] eqn:Ef; [|lra].
  destruct (nth_error here (paid_for p)) as [q|] eqn:Eq0; [|exact A].
  destruct (nth_error near (paid_for p)) as [d|] eqn:Ed; [|exact A].
  destruct (nth_error (shares c) (paid_for p)) as [s|] eqn:Es; [|lra].
  destruct (admissible_nth c x G (paid_for p) f Ef) as (w & Ew & Wf & Aw).
  rewrite Ew in *.
  pose proof (in_parts_nth x here _ _ _ H Ew Eq0) as Iq.
  destruct (way_eqb (towards p) Either || way_eqb (towards p) (way_of f q)) eqn:T; [|exact A].
  replace (way_eqb (towards p) Either || way_eqb (towards p) (direction f w)) with true.
  - destruct (below_nth _ _ _ _ B Ed) as (e & Ee & D0 & D1).
    rewrite (nth_changes c x _ f w Ef Ew) in Ee. apply some_inj in Ee. subst e.
    apply (pays_mono (shared by_)); [apply ok_payments|exact I|].
    apply cost_mono; [apply (g_norms _ _ G)| |exact D0|exact D1].
    pose proof (g_shares _ _ G) as Sh. rewrite Forall_forall in Sh.
    apply Sh. apply nth_error_In with (paid_for p). exact Es.
  - symmetry. apply orb_true_iff. apply orb_true_iff in T as [T|T]; [left; exact T|].
    destruct (way_eqb (towards p) Either) eqn:Te; [left; reflexivity|right].
    assert (Tw : towards p = way_of f q).
    { destruct (towards p), (way_of f q); try discriminate; reflexivity. }
    rewrite (way_of_direction f q (way_of f q) w Iq eq_refl).
    + exact T.
    + intro E. rewrite <- Tw in E. rewrite E in Te. discriminate.
Qed.

Definition from_on (n : nat) : Q :=
  sum (map (fun p => if Nat.leb n (payer p) then active p else 0) (payments (shared by_))).

Lemma from_on_step n :
  sum (map active (filter (fun p => Nat.eqb (payer p) n) (payments (shared by_)))) + from_on (S n)
  == from_on n.
Proof.
  unfold from_on. induction (payments (shared by_)) as [|p l IH]; [cbn; lra|].
  cbn [filter map]. rewrite !sum_cons.
  destruct (Nat.eqb_spec (payer p) n) as [E|E].
  - cbn [map]. rewrite sum_cons. subst n.
    replace (Nat.leb (S (payer p)) (payer p)) with false by (symmetry; apply Nat.leb_gt; lia).
    rewrite Nat.leb_refl. lra.
  - destruct (Nat.leb_spec n (payer p)).
    + replace (Nat.leb (S n) (payer p)) with true by (symmetry; apply Nat.leb_le; lia). lra.
    + replace (Nat.leb (S n) (payer p)) with false by (symmetry; apply Nat.leb_gt; lia). lra.
Qed.

Lemma from_on_nonneg n : 0 <= from_on n.
Proof.
  unfold from_on. apply sum_nonneg. rewrite Forall_forall. intros q I.
  apply in_map_iff in I as (p & <- & I). destruct (Nat.leb _ _); [|lra]. apply active_nonneg. exact I.
Qed.

Definition tree_added (own : list (nat * Q)) (t : tree) : Q := leaf_worth own (reached t x zs).

Lemma tree_piece_sound near own number t ws :
  below near (changes (feats c) x) -> cuts_ok t = true ->
  tree_piece c facts known parts near (budget by_) (payments (shared by_)) own number t = Some ws ->
  exists ms, Forall2 sound_piece (map Tree_piece ws) ms /\
    added ms == tree_added own t /\
    paid ms <= budget by_ * sum (map active (filter (fun p => Nat.eqb (payer p) number) (payments (shared by_)))).
Proof.
  intros B C. unfold tree_piece.
  set (ps := filter (fun p => Nat.eqb (payer p) number) (payments (shared by_))).
  assert (Ps : forall p, In p ps -> In p (payments (shared by_))) by (intros p I; apply filter_In in I; tauto).
  assert (Main : match leaves c known facts t parts near with
      | Some met => Some [map (fun l => let '(vs, here, near) := l in
                                 (leaf_worth own vs, budget by_ * paid_at c ps here near)) met]
      | None => None
      end = Some ws ->
      exists ms, Forall2 sound_piece (map Tree_piece ws) ms /\ added ms == tree_added own t /\
        paid ms <= budget by_ * sum (map active ps)).
  { destruct (leaves c known facts t parts near) as [met|] eqn:E; [|discriminate].
    intro Ew. apply some_inj in Ew. subst ws.
    destruct (leaves_sound c x zs in_hull G known facts K F t parts near met C P B E)
      as (here & near' & I & H & B').
    exists [(tree_added own t, budget by_ * sum (map active ps))]. split; [|split].
    - cbn [map]. constructor; [|constructor]. apply tree_sound.
      exists (leaf_worth own (reached t x zs), budget by_ * paid_at c ps here near'). split.
      { apply in_map_iff. exists (reached t x zs, here, near'). split; [reflexivity|exact I]. }
      cbn [fst snd]. split; [reflexivity|]. apply move_up; [apply ok_budget|]. apply paid_at_le; assumption.
    - unfold added. cbn [map]. rewrite sum_cons, sum_nil. cbn [fst]. lra.
    - unfold paid. cbn [map]. rewrite sum_cons, sum_nil. cbn [snd]. lra. }
  destruct own as [|o own], ps as [|p ps']; try exact Main.
  intro Ew. apply some_inj in Ew. subst ws. exists []. split; [constructor|].
  unfold added, paid, tree_added, leaf_worth. cbn. split; lra.
Qed.

Lemma tree_pieces_sound near own ts : forall number ws,
  below near (changes (feats c) x) -> forallb cuts_ok ts = true ->
  tree_pieces c facts known parts near (budget by_) (payments (shared by_)) own number ts = Some ws ->
  exists ms, Forall2 sound_piece (map Tree_piece ws) ms /\
    added ms == sum (map (tree_added own) ts) /\
    paid ms <= budget by_ * (from_on number - from_on (number + length ts)).
Proof.
  induction ts as [|t ts IH]; intros number ws B C; cbn [tree_pieces].
  - intro E. apply some_inj in E. subst ws. exists []. cbn [map length]. split; [constructor|].
    rewrite Nat.add_0_r. unfold added, paid. cbn [map]. rewrite sum_nil. split; lra.
  - cbn [forallb] in C. apply andb_true_iff in C as [C1 C2].
    destruct (tree_piece _ _ _ _ _ _ _ own number t) as [a|] eqn:E1; [|discriminate].
    destruct (tree_pieces _ _ _ _ _ _ _ own (S number) ts) as [b|] eqn:E2; [|discriminate].
    intro E. apply some_inj in E. subst ws.
    destruct (tree_piece_sound near own number t a B C1 E1) as (ms1 & S1 & A1 & P1).
    destruct (IH (S number) b B C2 E2) as (ms2 & S2 & A2 & P2).
    exists (ms1 ++ ms2). split; [|split].
    + rewrite map_app. apply Forall2_app; assumption.
    + rewrite added_app, A1, A2. cbn [map]. rewrite sum_cons. reflexivity.
    + rewrite paid_app. cbn [length]. rewrite <- Nat.add_succ_comm.
      pose proof (from_on_step number) as St.
      set (u := sum (map active (filter (fun p => Nat.eqb (payer p) number) (payments (shared by_))))) in *.
      assert (Eq1 : budget by_ * (from_on number - from_on (S number + length ts))
               == budget by_ * u + budget by_ * (from_on (S number) - from_on (S number + length ts)))
        by (rewrite <- St; ring).
      rewrite Eq1. lra.
Qed.

Fixpoint ensembles_added (f : form) (n : nat) (es : list (list tree)) : Q :=
  match es with
  | [] => 0
  | ts :: es => sum (map (tree_added (columns_of n f)) ts) + ensembles_added f (S n) es
  end.

Lemma ensemble_pieces_sound near f es : forall n number ws,
  below near (changes (feats c) x) -> forallb (forallb cuts_ok) es = true ->
  ensemble_pieces c facts known parts near (budget by_) (payments (shared by_)) f n number es = Some ws ->
  exists ms, Forall2 sound_piece (map Tree_piece ws) ms /\
    added ms == ensembles_added f n es /\ paid ms <= budget by_ * from_on number.
Proof.
  induction es as [|ts es IH]; intros n number ws B C; cbn [ensemble_pieces].
  - intro E. apply some_inj in E. subst ws. exists []. split; [constructor|].
    unfold added, paid. cbn [map ensembles_added]. rewrite sum_nil. split; [lra|].
    apply Qmult_le_0_compat; [apply ok_budget|apply from_on_nonneg].
  - cbn [forallb] in C. apply andb_true_iff in C as [C1 C2].
    destruct (tree_pieces _ _ _ _ _ _ _ _ number ts) as [a|] eqn:E1; [|discriminate].
    destruct (ensemble_pieces _ _ _ _ _ _ _ f (S n) (number + length ts) es) as [b|] eqn:E2; [|discriminate].
    intro E. apply some_inj in E. subst ws.
    destruct (tree_pieces_sound near _ ts number a B C1 E1) as (ms1 & S1 & A1 & P1).
    destruct (IH (S n) (number + length ts)%nat b B C2 E2) as (ms2 & S2 & A2 & P2).
    exists (ms1 ++ ms2). split; [|split].
    + rewrite map_app. apply Forall2_app; assumption.
    + rewrite added_app, A1, A2. reflexivity.
    + rewrite paid_app. lra.
Qed.

(** Tree by tree it is what columns add. *)

Lemma tree_added_cons col a own t :
  tree_added ((col, a) :: own) t == a * nth col (reached t x zs) 0 + tree_added own t.
Proof. unfold tree_added, leaf_worth. cbn [map]. rewrite sum_cons. reflexivity. Qed.

Lemma trees_added_cons col a own ts :
  sum (map (tree_added ((col, a) :: own)) ts) == a * column ts col x zs + sum (map (tree_added own) ts).
Proof.
  unfold column. induction ts as [|t ts IH]; [cbn; lra|].
  cbn [map]. rewrite !sum_cons, IH, tree_added_cons. lra.
Qed.

Lemma trees_added_nil ts : sum (map (tree_added []) ts) == 0.
Proof.
  induction ts as [|t ts IH]; [reflexivity|]. cbn [map]. rewrite sum_cons, IH.
  unfold tree_added, leaf_worth. cbn. lra.
Qed.

Lemma ensembles_added_nil es : forall n, ensembles_added [] n es == 0.
Proof.
  induction es as [|ts es IH]; intro n; [reflexivity|]. cbn [ensembles_added].
  rewrite IH. cbn [columns_of flat_map]. rewrite trees_added_nil. lra.
Qed.

Lemma ensembles_added_cons m col a f es : forall n,
  ensembles_added ((Column m col, a) :: f) n es ==
  (if Nat.leb n m then a * column (nth (m - n) es []) col x zs else 0) + ensembles_added f n es.
Proof.
  induction es as [|ts es IH]; intro n; cbn [ensembles_added].
  - assert (E : column (nth (m - n) [] []) col x zs == 0).
    { destruct (m - n)%nat; reflexivity. }
    destruct (Nat.leb n m); [rewrite E|]; lra.
  - rewrite IH. cbn [columns_of flat_map fst snd].
    destruct (Nat.eqb_spec m n) as [E|E].
    + subst n. cbn [app]. rewrite trees_added_cons. fold (columns_of m f).
      rewrite Nat.leb_refl, Nat.sub_diag. cbn [nth].
      replace (Nat.leb (S m) m) with false by (symmetry; apply Nat.leb_gt; lia). lra.
    + cbn [app]. fold (columns_of n f).
      destruct (Nat.leb_spec n m).
      * replace (Nat.leb (S n) m) with true by (symmetry; apply Nat.leb_le; lia).
        replace (m - n)%nat with (S (m - S n)) by lia. cbn [nth]. lra.
      * replace (Nat.leb (S n) m) with false by (symmetry; apply Nat.leb_gt; lia). lra.
Qed.

Lemma ensembles_worth f : forallb is_column f = true ->
  ensembles_added f 0 (trees (prg c)) == worth v f.
Proof.
  induction f as [|[s a] f IH]; intro C.
  - rewrite ensembles_added_nil. unfold worth. cbn. lra.
  - cbn [forallb] in C. apply andb_true_iff in C as [C1 C2].
    destruct s as [| | |m col|]; try discriminate.
    rewrite ensembles_added_cons, (IH C2), worth_cons, Nat.sub_0_r. cbn [Nat.leb source_at]. lra.
Qed.

(** ** What is paid together is at most the distance, [budget] times *)

Lemma sum_combine_seq (g : nat -> Q -> Q -> Q) ss : forall ds a, length ds = length ss ->
  sum (map (fun t => g (fst t) (fst (snd t)) (snd (snd t)))
           (combine (seq a (length ss)) (combine ss ds)))
  == sum (map (fun j => g j (nth (j - a) ss 0) (nth (j - a) ds 0)) (seq a (length ss))).
Proof.
  induction ss as [|s ss IH]; intros ds a L; [reflexivity|].
  destruct ds as [|d ds]; [discriminate|]. cbn in L.
  cbn [length seq combine map]. rewrite !sum_cons. cbn [fst snd].
  rewrite Nat.sub_diag. cbn [nth]. rewrite (IH ds (S a)) by lia.
  apply Qplus_inj_l. apply sum_eq. intros j I. apply in_seq in I.
  replace (j - a)%nat with (S (j - S a)) by lia. reflexivity.
Qed.

Lemma sum_combine (h : Q -> Q -> Q) ss : forall ds a, length ds = length ss ->
  sum (map (fun t => h (fst t) (snd t)) (combine ss ds))
  == sum (map (fun j => h (nth (j - a) ss 0) (nth (j - a) ds 0)) (seq a (length ss))).
Proof.
  induction ss as [|s ss IH]; intros ds a L; [reflexivity|].
  destruct ds as [|d ds]; [discriminate|]. cbn in L.
  cbn [length seq combine map]. rewrite !sum_cons. cbn [fst snd].
  rewrite Nat.sub_diag. cbn [nth]. rewrite (IH ds (S a)) by lia.
  apply Qplus_inj_l. apply sum_eq. intros j I. apply in_seq in I.
  replace (j - a)%nat with (S (j - S a)) by lia. reflexivity.
Qed.

Definition count := length (feats c).
Definition cost_at (j : nat) : Q := cost (norm_ c) (nth j (shares c) 0) (nth j (changes (feats c) x) 0).

Lemma changes_length : length (changes (feats c) x) = count.
Proof.
  unfold changes, count. rewrite map_length, combine_length.
  pose proof (g_admissible _ _ G) as A. apply forall2_length in A. lia.
Qed.

Lemma active_beyond p : (count <= paid_for p)%nat -> active p = 0.
Proof.
  intro H. unfold active. replace (nth_error (feats c) (paid_for p)) with (@None feature); [reflexivity|].
  symmetry. apply nth_error_None. exact H.
Qed.

Lemma active_by_feature l :
  sum (map active l)
  == sum (map (fun j => sum (map active (filter (fun p => Nat.eqb (paid_for p) j) l))) (seq 0 count)).
Proof.
  induction l as [|p l IH].
  - cbn [map]. rewrite sum_nil. symmetry. apply sum_zero. intros j _. reflexivity.
  - cbn [map]. rewrite sum_cons, IH.
    assert (E : active p == sum (map (fun j => if Nat.eqb (paid_for p) j then active p else 0) (seq 0 count))).
    { rewrite sum_pick. cbn [Nat.leb andb Nat.add].
      destruct (Nat.ltb_spec (paid_for p) count); [lra|]. rewrite active_beyond by assumption. lra. }
    rewrite E, <- sum_plus. apply sum_eq. intros j _. cbn [filter].
    destruct (Nat.eqb (paid_for p) j); [cbn [map]; rewrite sum_cons|]; lra.
Qed.

Lemma active_feature j : (j < count)%nat ->
  sum (map active (filter (fun p => Nat.eqb (paid_for p) j) (payments (shared by_))))
  <= (1 - left_over (shared by_) j) * cost_at j.
Proof.
  intro J. destruct (nth_error (feats c) j) as [f|] eqn:Ef; [|apply nth_error_None in Ef; unfold count in J; lia].
  destruct (admissible_nth c x G j f Ef) as (w & Ew & Wf & Aw).
  destruct (nth_error (shares c) j) as [s|] eqn:Es.
  2:{ apply nth_error_None in Es. rewrite (g_shares_length _ _ G) in Es. unfold count in J. lia. }
  assert (C : cost_at j = cost (norm_ c) s (change f w)).
  { unfold cost_at. rewrite (nth_error_nth _ _ 0 Es).
    rewrite (nth_error_nth _ _ 0 (nth_changes c x j f w Ef Ew)). reflexivity. }
  assert (C0 : 0 <= cost_at j).
  { rewrite C. apply cost_nonneg; [apply (g_norms _ _ G)| |apply change_nonneg; assumption].
    pose proof (g_shares _ _ G) as Sh. rewrite Forall_forall in Sh. apply Sh.
    apply nth_error_In with j. exact Es. }
  assert (D : direction f w = Up \/ direction f w = Down).
  { unfold direction. destruct (own f), w; auto. destruct (Qltb _ _); auto. }
  eapply Qle_trans; [|apply (payments_sound (shared by_) (cost_at j) ok_payments C0 j (direction f w) D)].
  apply Qle_lteq. right.
  induction (payments (shared by_)) as [|p l IH]; [reflexivity|]. cbn [filter].
  destruct (Nat.eqb_spec (paid_for p) j) as [E|E]; cbn [andb]; [|exact IH].
  cbn [map]. rewrite sum_cons, IH.
  unfold active at 1. rewrite E, Ef, Es, Ew, <- C.
  destruct (way_eqb (towards p) Either || way_eqb (towards p) (direction f w)); [|lra].
  cbn [map]. rewrite sum_cons. lra.
Qed.

Lemma active_total :
  from_on 0 <= sum (map (fun j => (1 - left_over (shared by_) j) * cost_at j) (seq 0 count)).
Proof.
  assert (E : from_on 0 == sum (map active (payments (shared by_)))).
  { unfold from_on. apply sum_eq. intros p _. cbn [Nat.leb]. lra. }
  rewrite E, active_by_feature. apply sum_le. intros j I. apply in_seq in I.
  apply active_feature. lia.
Qed.

Lemma total_costs : sum (map (fun p => cost (norm_ c) (fst p) (snd p)) (combine (shares c) (changes (feats c) x)))
  == sum (map cost_at (seq 0 count)).
Proof.
  rewrite (sum_combine (fun s d => cost (norm_ c) s d) (shares c) _ 0).
  - rewrite (g_shares_length _ _ G). apply sum_eq. intros j _. rewrite Nat.sub_0_r. reflexivity.
  - rewrite changes_length, (g_shares_length _ _ G). reflexivity.
Qed.

Definition far : Q :=
  largest (map (fun p => fst p * snd p) (combine (peaks c) (changes (feats c) x))).

Lemma factor_sum (l : list (nat * Q)) n : forall a, forallb (fun t => Qle_bool 0 (snd t)) l = true ->
  sum (map (fun j => factor_of j l) (seq a n)) <= sum (map snd l).
Proof.
  intros a N. induction l as [|[k y] l IH].
  - cbn [map]. rewrite sum_nil. apply Qle_lteq. right. apply sum_zero. intros j _. reflexivity.
  - cbn [forallb snd] in N. apply andb_true_iff in N as [Y N]. specialize (IH N). compare_all.
    cbn [map]. rewrite sum_cons. cbn [snd].
    assert (E : sum (map (fun j => factor_of j ((k, y) :: l)) (seq a n))
                == sum (map (fun j => if Nat.eqb k j then y else 0) (seq a n))
                   + sum (map (fun j => factor_of j l) (seq a n))).
    { rewrite <- sum_plus. apply sum_eq. intros j _. cbn [factor_of]. destruct (Nat.eqb k j); lra. }
    rewrite E, sum_pick. destruct (_ && _); lra.
Qed.

Lemma peaks_paid :
  sum (map (fun t => factor_of (fst t) (peaked by_) * (fst (snd t) * snd (snd t)))
           (combine (seq 0 count) (combine (peaks c) (changes (feats c) x))))
  <= budget by_ * (linf (norm_ c) * far).
Proof.
  assert (L : length (changes (feats c) x) = length (peaks c)).
  { rewrite changes_length, (g_peaks_length _ _ G). reflexivity. }
  replace count with (length (peaks c)) by apply (g_peaks_length _ _ G).
  rewrite (sum_combine_seq (fun j p d => factor_of j (peaked by_) * (p * d)) (peaks c) _ 0 L).
  apply Qle_trans with (sum (map (fun j => far * factor_of j (peaked by_)) (seq 0 (length (peaks c))))).
  - apply sum_le. intros j I. apply in_seq in I. rewrite Nat.sub_0_r.
    assert (Pd : nth j (peaks c) 0 * nth j (changes (feats c) x) 0 <= far).
    { unfold far. apply (largest_member (peaks c) (changes (feats c) x) j).
      - apply nth_error_nth'. lia.
      - apply nth_error_nth'. lia. }
    pose proof (move_up (factor_of j (peaked by_)) _ _ (factor_nonneg j) Pd). lra.
  - rewrite sum_scale.
    pose proof (factor_sum (peaked by_) (length (peaks c)) 0 ok_peaked) as S1.
    pose proof ok_peaks as S2.
    assert (F0 : 0 <= far) by apply largest_nonneg.
    assert (S3 : sum (map (fun j => factor_of j (peaked by_)) (seq 0 (length (peaks c))))
                 <= budget by_ * linf (norm_ c)) by lra.
    pose proof (move_up far _ _ F0 S3). lra.
Qed.

(** ** All together *)

Definition away_x : Q := total c (changes (feats c) x).

Lemma most_sound only f w :
  most c facts known parts by_ only f = Some w ->
  (only = None \/ (f = [] /\ exists t, used (ineqs by_) = [t] /\ only = Some (strict_row c (fst t) || false))) ->
  exists gain, 0 <= gain /\
    (existsb (fun t => strict_row c (fst t)) (used (ineqs by_)) = true -> 0 < gain) /\
    worth v f + gain + budget by_ * (radius c - away_x) <= w.
Proof.
  unfold most. destruct (deltas_sound c x G parts P) as (near & -> & B).
  destruct (weigh c facts known (ineqs by_) f) as [f1|] eqn:Ew; [|discriminate].
  destruct (weigh_sound c x zs in_hull facts known F K Z True_ Rows Faces _ _ _ ok_ineqs Ew)
    as (gain & W & G0 & G1).
  destruct (take_all c known (length (made (prg c))) (budget by_ * radius c) f1) as [[value f2]|] eqn:Et;
    [|discriminate].
  pose proof (take_all_sound c x zs known K Z True_ _ _ _ _ _ Et) as T.
  pose proof (split_one_worth c x zs f2) as S1. destruct (split_one f2) as [one f3].
  assert (Sx : suffix x 0 x) by (intros i u E; exact E).
  assert (Lx : length x = length parts) by (apply (forall2_length in_part); exact P).
  pose proof (number_slots_worth c x zs parts 0 x f3 Sx Lx) as S2.
  destruct (number_slots 0 parts f3) as [xs f4]. destruct S2 as [S2 L2].
  pose proof (label_slots_worth c x zs parts 0 x f4 Sx Lx) as S3.
  destruct (label_slots 0 parts f4) as [gs f5]. destruct S3 as [S3 L3].
  destruct (forallb is_column f5) eqn:Col; [|discriminate].
  destruct (ensemble_pieces _ _ _ _ _ _ _ f5 0 0 (trees (prg c))) as [ws|] eqn:Ee; [|discriminate].
  destruct (ensemble_pieces_sound near f5 (trees (prg c)) 0 0 ws B Cuts Ee) as (tm & M1 & A1 & P1).
  rewrite (ensembles_worth f5 Col) in A1.
  assert (Lf : length x = length (feats c)) by (symmetry; apply (forall2_length admissible_value); apply (g_admissible _ _ G)).
  destruct (slots_sound (feats c) x (shares c) (peaks c) parts xs gs 0 (g_formed _ _ G) (g_admissible _ _ G) P
              (g_shares _ _ G) (g_peaks _ _ G) (g_shares_length _ _ G) (g_peaks_length _ _ G)
              ltac:(lia) ltac:(lia)) as (M2 & A2 & P2).
  set (sl := slots c by_ 0 (feats c) (shares c) (peaks c) parts xs gs) in *.
  set (ms := tm ++ marks_of sl x).
  assert (M : Forall2 sound_piece (map Tree_piece ws ++ map Slot_piece sl) ms) by (apply Forall2_app; assumption).
  assert (Added : worth v f + gain + budget by_ * radius c <= value + one + added ms).
  { unfold ms. rewrite added_app, A1, A2. unfold Ranges.v in S1, S2, S3. rewrite S1, S2, S3 in T. lra. }
  assert (Paid : paid ms <= budget by_ * away_x).
  { unfold ms. rewrite paid_app, P2.
    pose proof peaks_paid as Pk. pose proof ok_budget as Bu.
    assert (L4 : length (changes (feats c) x) = length (shares c)).
    { rewrite changes_length, (g_shares_length _ _ G). reflexivity. }
    assert (E4 : sum (map (fun t => budget by_ * left_over (shared by_) (fst t)
                       * cost (norm_ c) (fst (snd t)) (snd (snd t)))
             (combine (seq 0 (length (feats c))) (combine (shares c) (changes (feats c) x))))
           == budget by_ * sum (map (fun j => left_over (shared by_) j * cost_at j) (seq 0 count))).
    { rewrite <- (g_shares_length _ _ G).
      rewrite (sum_combine_seq (fun j s d => budget by_ * left_over (shared by_) j * cost (norm_ c) s d)
                 (shares c) _ 0 L4).
      rewrite <- sum_scale. rewrite (g_shares_length _ _ G). apply sum_eq. intros j _.
      rewrite Nat.sub_0_r. unfold cost_at. lra. }
    rewrite E4. unfold away_x, total. fold far. rewrite total_costs.
    unfold count in Pk at 1.
    assert (E5 : sum (map cost_at (seq 0 count))
                 == sum (map (fun j => (1 - left_over (shared by_) j) * cost_at j) (seq 0 count))
                    + sum (map (fun j => left_over (shared by_) j * cost_at j) (seq 0 count))).
    { rewrite <- sum_plus. apply sum_eq. intros j _. lra. }
    rewrite E5. pose proof (move_up (budget by_) _ _ Bu active_total). lra. }
  intros A Only. exists gain. split; [exact G0|]. split; [exact G1|].
  destruct only as [strict|]; cbn [apart] in A.
  - destruct Only as [Only|(F0 & t & U & Only)]; [discriminate|].
    destruct (tops (map Tree_piece ws ++ map Slot_piece sl)) as [ts|] eqn:Tp; [|discriminate].
    pose proof (tops_sound _ _ M ts Tp) as Tm.
    assert (W0 : worth v f == 0) by (rewrite F0; reflexivity).
    apply (alone_sound strict (value + one - budget by_ * radius c + sum ts) _ ms ts M Tm) in A.
    + lra.
    + lra.
    + intro St. assert (Gp : 0 < gain).
      { apply G1. rewrite U. cbn [existsb]. injection Only as Only. rewrite <- Only. exact St. }
      lra.
  - apply (together_sound _ ms M) in A. lra.
Qed.

Lemma outweighs_false : outweighs c facts known parts by_ = true -> False.
Proof.
  unfold outweighs. intro H. apply andb_true_iff in H as [_ H].
  fold (used (ineqs by_)) in H.
  set (strict := existsb (fun t => strict_row c (fst t)) (used (ineqs by_))) in *.
  destruct (most c facts known parts by_ _ []) as [w|] eqn:E; [|discriminate].
  assert (O : match used (ineqs by_) with [_] => Some strict | _ => None end = None \/
    ([] = ([] : form) /\ exists t, used (ineqs by_) = [t] /\
      match used (ineqs by_) with [_] => Some strict | _ => None end = Some (strict_row c (fst t) || false))).
  { destruct (used (ineqs by_)) as [|t [|u l]] eqn:U; auto. right. split; [reflexivity|].
    exists t. split; reflexivity. }
  destruct (most_sound _ [] w E O) as (gain & G0 & G1 & L).
  fold strict in G1.
  assert (W0 : worth v [] == 0) by reflexivity.
  pose proof (g_near _ _ G) as N. fold away_x in N. pose proof ok_budget as Bu.
  assert (Pos : 0 <= budget by_ * (radius c - away_x)) by (apply Qmult_le_0_compat; lra).
  apply orb_true_iff in H as [H|H]; [apply Qltb_true in H; lra|].
  apply andb_true_iff in H as [H1 H2]. apply Qle_bool_true in H1.
  apply orb_true_iff in H2 as [H2|H2].
  - apply Qltb_true in H2. assert (0 < budget by_ * (radius c - away_x)) by nra. lra.
  - specialize (G1 H2). lra.
Qed.

End Most.
