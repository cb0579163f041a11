(** * The theorems

    [check c = true] means that the claim of [c] is true. *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool Lqa Lia.
From Cfxc Require Import Semantics Features FloatsProofs FeaturesProofs Payments PaymentsProofs
  Forms Checker Sums Balls Ranges Inequalities Pieces Most Walk Rows Scopes Regions
  Witness Claims.
Import ListNotations.
Open Scope Q_scope.

Lemma formed_sound f : formed f = true -> well_formed f.
Proof.
  unfold formed, well_formed. intro H. apply andb_true_iff in H as [W H]. apply Qle_bool_true in W.
  split; [exact W|].
  destruct (shape f) as [n|count ord], (own f) as [o|o]; try discriminate.
  - apply andb_true_iff in H as [H S]. apply andb_true_iff in H as [H A].
    apply andb_true_iff in H as [L O]. apply Qle_bool_true in L.
    split; [exact L|]. split; [|split].
    + destruct (gone n o); [apply Qltb_true in O; exact O|].
      apply andb_true_iff in O as [O1 O2]. apply Qle_bool_true in O1, O2. tauto.
    + destruct (absent n) as [a|]; [|exact I]. apply andb_true_iff in A as [A A3].
      apply andb_true_iff in A as [A1 A2]. apply Qltb_true in A1. apply negb_true_iff in A2.
      repeat split; try assumption. intro E. rewrite E in A3. discriminate.
    + destruct (step n); [apply Qltb_true in S; exact S|]. intro E. rewrite E in S. discriminate.
  - apply Nat.ltb_lt in H. exact H.
Qed.

Lemma option_list_some {A B} (f : A -> option B) l m : option_list f l = Some m ->
  Forall2 (fun a b => f a = Some b) l m.
Proof.
  revert m. induction l as [|a l IH]; intros m; cbn [option_list fold_right].
  - intro E. apply some_inj in E. subst. constructor.
  - destruct (f a) as [b|] eqn:E; [|discriminate].
    fold (option_list f l). destruct (option_list f l) as [r|]; [|discriminate].
    intro H. apply some_inj in H. subst. constructor; [exact E|]. apply IH. reflexivity.
Qed.

Lemma everything_all l x ps : Forall well_formed l -> admissible l x ->
  option_list everything l = Some ps -> in_parts x ps.
Proof.
  intros W A E. apply option_list_some in E. unfold admissible in A. unfold in_parts.
  revert ps E W. induction A as [|f v l x Av A IH]; intros ps E W.
  - inversion E; subst. constructor.
  - inversion E as [|? p ? ps' Ep Eps]; subst. inversion W; subst. constructor; [|apply IH; assumption].
    apply (everything_sound f p v); assumption.
Qed.

(** ** The context of a certificate *)

Section Certificate.

Variable c : certificate.

Notation q := (asked c).

Hypothesis Ok : question_ok q = true.

Lemma ok_all : forallb formed (fs q) = true /\ 0 < sum (map weight (fs q)) /\ metric_ok (metric q) = true /\
  scoped (prog q) = true /\ forallb (forallb cuts_ok) (trees (prog q)) = true /\
  target_ok (prog q) (goal q) = true /\ region_ok (region_in q) = true.
Proof.
  unfold question_ok in Ok. repeat rewrite andb_true_iff in Ok.
  destruct Ok as [[[[[[A B] C] D] E] F] H]. apply Qltb_true in B. tauto.
Qed.

Lemma ok_formed : Forall well_formed (fs q).
Proof.
  destruct ok_all as [H _]. rewrite forallb_forall in H. rewrite Forall_forall.
  intros f I. apply formed_sound. apply H. exact I.
Qed.

Lemma ok_metric : norms_ok (metric q) /\ (l2 (metric q) == 0 \/ (l1 (metric q) == 0 /\ linf (metric q) == 0)).
Proof.
  destruct ok_all as (_ & _ & H & _). unfold metric_ok in H. repeat rewrite andb_true_iff in H.
  destruct H as [[[[[A B] C] D] _] M].
  apply Qle_bool_true in A, B, C, D. split; [unfold norms_ok; tauto|].
  apply orb_true_iff in M as [M|M]; [left; apply Qeqb_true; exact M|].
  apply andb_true_iff in M as [M1 M2]. right. split; apply Qeqb_true; assumption.
Qed.

Lemma largest_positive l : Forall (fun w => 0 <= w) l -> 0 < sum l -> 0 < largest l.
Proof.
  induction 1 as [|w l W _ IH]; intro S; [rewrite sum_nil in S; lra|].
  rewrite sum_cons in S. cbn [largest fold_right]. fold (largest l).
  destruct (Qlt_le_dec 0 w).
  - apply Qlt_le_trans with w; [assumption|apply Q.le_max_l].
  - apply Qlt_le_trans with (largest l); [apply IH; lra|apply Q.le_max_r].
Qed.

Lemma weights_nonneg : Forall (fun w => 0 <= w) (map weight (fs q)).
Proof.
  pose proof ok_formed as F. induction F as [|f l W _ IH]; cbn [map]; constructor; [apply W|exact IH].
Qed.

Lemma shares_nonneg : Forall (fun s => 0 <= s) (shares_of_features (fs q)).
Proof.
  destruct ok_all as (_ & S & _). unfold shares_of_features. rewrite Forall_forall.
  intros s I. apply in_map_iff in I as (f & <- & I).
  pose proof ok_formed as F. rewrite Forall_forall in F. destruct (F f I) as [W _].
  apply Qle_shift_div_l; [exact S|]. rewrite Qmult_0_l. exact W.
Qed.

Lemma peaks_nonneg : Forall (fun s => 0 <= s) (peaks_of_features (fs q)).
Proof.
  destruct ok_all as (_ & S & _). pose proof (largest_positive _ weights_nonneg S) as L.
  unfold peaks_of_features. rewrite Forall_forall.
  intros s I. apply in_map_iff in I as (f & <- & I).
  pose proof ok_formed as F. rewrite Forall_forall in F. destruct (F f I) as [W _].
  apply Qle_shift_div_l; [exact L|]. rewrite Qmult_0_l. exact W.
Qed.

Lemma away_total x faces : away q x == total (context_of c faces) (changes (fs q) x).
Proof.
  unfold away, distance, distance_of, total, context_of. cbn [norm_ shares peaks].
  generalize (changes (fs q) x). intro ds.
  assert (E1 : forall l ds, map (fun p => cost (metric q) (share (fs q) (fst p)) (snd p)) (combine l ds)
    = map (fun p => cost (metric q) (fst p) (snd p)) (combine (map (share (fs q)) l) ds)).
  { induction l as [|f l IH]; intros [|d es]; cbn [map combine]; try reflexivity.
    rewrite IH. reflexivity. }
  assert (E2 : forall l ds, map (fun p => peak (fs q) (fst p) * snd p) (combine l ds)
    = map (fun p => fst p * snd p) (combine (map (peak (fs q)) l) ds)).
  { induction l as [|f l IH]; intros [|d es]; cbn [map combine]; try reflexivity.
    rewrite IH. reflexivity. }
  rewrite E1, E2. reflexivity.
Qed.

Section Near.

Context {Curves : functions}.
Variables (faces : list (nat * form)) (x : point).
Hypothesis X : counterfactual q x.
Hypothesis Near : away q x < ball c.

Lemma given_here : given (context_of c faces) x.
Proof.
  destruct ok_metric as [N M].
  constructor; cbn [context_of feats norm_ shares peaks radius].
  - exact ok_formed.
  - apply X.
  - exact N.
  - exact shares_nonneg.
  - exact peaks_nonneg.
  - unfold shares_of_features. apply map_length.
  - unfold peaks_of_features. apply map_length.
  - exact M.
  - change (fs q) with (feats (context_of c faces)) at 1. rewrite <- (away_total x faces). exact Near.
Qed.

Lemma in_root parts : root (context_of c faces) = Some parts -> in_parts x parts.
Proof.
  unfold root. destruct (option_list everything (feats (context_of c faces))) as [all|] eqn:E; [|discriminate].
  intro H. pose proof given_here as G.
  pose proof (everything_all _ x all (g_formed _ _ G) (g_admissible _ _ G) E) as P.
  eapply clip_all_in; [exact G|apply (g_formed _ _ G)|apply (g_admissible _ _ G)|apply (g_shares _ _ G)
                      |apply (g_peaks _ _ G)|exact P| |exact H].
  intros i f v s p r Ef Ev Es Ep Er.
  rewrite nth_error_map, Ef in Er. cbn [option_map] in Er. apply some_inj in Er. subst r.
  pose proof (nth_changes _ x i f v Ef Ev) as C.
  pose proof (largest_member _ _ i p _ Ep C) as L1.
  destruct (g_norms _ _ G) as (_ & _ & L0 & _).
  pose proof (move_up _ _ _ L0 L1) as L2.
  assert (L3 : cost (norm_ (context_of c faces)) s (change f v)
    <= sum (map (fun p => cost (norm_ (context_of c faces)) (fst p) (snd p))
             (combine (shares (context_of c faces)) (changes (feats (context_of c faces)) x)))).
  { assert (B : below (map (fun _ => 0) (changes (feats (context_of c faces)) x)) (changes (feats (context_of c faces)) x)).
    { pose proof (g_formed _ _ G) as W. pose proof (g_admissible _ _ G) as A. unfold admissible in A.
      clear -W A. unfold below, changes. induction A as [|g w l y Aw A IH]; [constructor|].
      inversion W; subst. cbn [combine map fst snd]. constructor; [|apply IH; assumption].
      split; [lra|apply change_nonneg; assumption]. }
    assert (D : nth_error (map (fun _ : Q => 0) (changes (feats (context_of c faces)) x)) i = Some 0).
    { rewrite nth_error_map, C. reflexivity. }
    pose proof (spare_cost _ _ _ _ i s 0 _ (g_norms _ _ G) (g_shares _ _ G) B Es D C) as S.
    cbv beta zeta in S.
    assert (Z0 : cost (norm_ (context_of c faces)) s 0 == 0) by (unfold cost; change (moved 0) with 0; ring).
    assert (Z1 : sum (map (fun p => cost (norm_ (context_of c faces)) (fst p) (snd p))
       (combine (shares (context_of c faces)) (map (fun _ : Q => 0) (changes (feats (context_of c faces)) x)))) == 0).
    { apply sum_zero. intros [s' d'] I. apply in_combine_r in I. apply in_map_iff in I as (e & <- & _).
      cbn [fst snd]. unfold cost. change (moved 0) with 0. ring. }
    rewrite Z0, Z1 in S. lra. }
  pose proof (g_near _ _ G) as N. unfold total in N. cbn [radius] in *. lra.
Qed.

End Near.

(** ** Nothing nearer exists *)

Definition in_hull_of (x : point) (h : nat) : Prop :=
  match region_in q with
  | None => False
  | Some r => exists rows, nth_error (hulls r) h = Some rows /\ within_hull r rows x
  end.

Lemma covers_sound {Curves : functions} x : true_to Curves (prog q) ->
  covers c = true -> counterfactual q x -> ball c <= away q x.
Proof.
  intros True_ H X. apply Qnot_lt_le. intro Near. unfold covers in H.
  destruct (option_list (face_of q) (normals c)) as [faces|] eqn:Ef; [|discriminate].
  set (k := context_of c faces) in *.
  destruct (root k) as [parts|] eqn:Er; [|discriminate].
  pose proof (given_here faces x X Near) as G. fold k in G.
  pose proof (in_root faces x X Near parts Er) as P.
  set (zs := zs_of (prog q) x).
  destruct ok_all as (_ & _ & _ & Sc & Cu & _ & Rg).
  destruct (zs_fixed (prog q) x Sc) as [_ Zf].
  assert (Z : forall i e, nth_error (made (prg k)) i = Some e -> z_of zs i == entry_at (prg k) x zs e).
  { intros i e E. unfold z_of, zs. rewrite (Zf i e E). reflexivity. }
  assert (Rows_ : forall f s, In (f, s) (rows k) ->
    0 <= worth (source_at (prg k) x zs) f /\ (s = true -> 0 < worth (source_at (prg k) x zs) f)).
  { intros f s I. apply (rows_sound q x X f s I). }
  assert (Faces : forall h f, In (h, f) (Checker.faces k) -> in_hull_of x h ->
    0 <= worth (source_at (prg k) x zs) f).
  { intros h f I Hh. apply option_list_some in Ef. cbn [k context_of Checker.faces] in I.
    clear -Ef I Hh Rg. unfold in_hull_of in Hh. unfold face_of in Ef.
    destruct (region_in q) as [r|]; [|contradiction]. destruct Hh as (rows & Er & W).
    cbn [region_ok] in Rg.
    induction Ef as [|[h' a] [h'' g] l m E _ IH]; [destruct I|].
    destruct I as [I|I]; [|apply IH; exact I]. injection I as -> ->. cbn [fst snd] in E.
    destruct (nth_error (hulls r) h') as [rows'|] eqn:Er'; [|discriminate].
    destruct (face_form r rows' a) as [g|] eqn:Eg; [|discriminate].
    apply pair_inj in E as [<- <-]. rewrite Er in Er'. apply some_inj in Er'. subst rows'.
    apply (face_sound _ _ r rows x a g Rg W Eg). }
  assert (Hull : (length (hulls_of q) <> 0)%nat -> exists h, (h < length (hulls_of q))%nat /\ in_hull_of x h).
  { intro N. destruct X as (_ & _ & _ & R). unfold hulls_of, in_hull_of, in_region in *.
    destruct (region_in q) as [r|]; [|cbn in N; lia].
    destruct R as (rows & I & W). apply In_nth_error in I as (h & E).
    exists h. split; [apply nth_error_Some; congruence|]. exists rows. auto. }
  set (start := if Nat.eqb (length (hulls_of q)) 1 then [Within 0] else []) in *.
  assert (F : facts_hold zs (in_hull_of x) start).
  { unfold start. destruct (Nat.eqb_spec (length (hulls_of q)) 1) as [E|E]; [|constructor].
    constructor; [|constructor]. cbn [fact_holds].
    destruct Hull as (h & Lh & Ih); [lia|]. replace 0%nat with h by lia. exact Ih. }
  destruct (deltas_sound k x G parts P) as (near & En & B). rewrite En in H.
  pose proof (learn_sound k x zs (in_hull_of x) G Cu Z True_ Rows_ Faces parts near start P B F (learned c) [] []) as L.
  assert (K0 : spans_hold zs []) by (intros i lo hi E; destruct i; discriminate).
  specialize (L K0 (Forall_nil _)).
  destruct (learn k parts near start [] (learned c) []) as [| |bounds]; try discriminate.
  assert (Judged : forall upto t, In t (constraints q) ->
    (forall f w, upto f = Some w -> worth (source_at (prg k) x zs) f <= w) -> snd (judge upto t) = true).
  { intros upto t I U. destruct X as (_ & _ & C & _).
    apply (judge_sound (prog q) x upto t U). apply C. exact I. }
  apply (walk_false k x zs (in_hull_of x) G Cu Z True_ Rows_ Faces (constraints q) Judged bounds L
           (length (hulls_of q)) Hull (shown c) parts start F P H).
Qed.

End Certificate.

(** The bound: no counterfactual is nearer. *)

Theorem check_sound (Curves : functions) c : check c = true -> true_to Curves (prog (asked c)) ->
  forall x, counterfactual (asked c) x -> lower c <= away (asked c) x.
Proof.
  unfold check. intros H True_ x X. apply andb_true_iff in H as [H Cl]. apply andb_true_iff in H as [Ok Co].
  apply Qle_trans with (ball c); [|apply (covers_sound c Ok x True_ Co X)].
  unfold claim_ok, claim_by in Cl. repeat rewrite andb_true_iff in Cl.
  destruct Cl as [[[[_ L] _] _] _]. apply Qle_bool_true in L. exact L.
Qed.

Print Assumptions check_sound.

(** ** The witness is what it is said to be *)

Lemma may_be_sound f v : well_formed f -> may_be f v = true -> admissible_value f v.
Proof.
  intros W. unfold may_be, admissible_value. destruct W as [_ W].
  destruct (shape f) as [n|count ord], (own f) as [o|o], v as [x|i]; try discriminate; try contradiction.
  - destruct W as (_ & _ & _ & St). intro H. apply orb_true_iff in H as [H|H]; [left; exact H|].
    right. apply andb_true_iff in H as [R H]. unfold in_range in R.
    apply andb_true_iff in R as [R1 R2]. apply Qle_bool_true in R1, R2.
    split; [exact R1|]. split; [exact R2|].
    apply orb_true_iff in H as [H|H]; [right; apply Qeqb_true; exact H|]. left.
    unfold on_grid. destruct (step n) as [s|] eqn:Es.
    + unfold grid_up in H. rewrite Es in H. destruct (earliest _ _ _ _) as [k|]; [|discriminate].
      exists k. apply Qeqb_true in H. symmetry. exact H.
    + apply Qeqb_true in H. rewrite <- H. apply fl_is_float. exact St.
  - intro H. apply andb_true_iff in H as [L A]. apply Nat.ltb_lt in L. split; [exact L|].
    destruct (act f); [exact I|apply Nat.eqb_eq in A; exact A|apply Nat.leb_le in A; exact A
                      |apply Nat.leb_le in A; exact A].
Qed.

Lemma may_all_sound l : forall x, Forall well_formed l -> may_all l x = true -> admissible l x.
Proof.
  induction l as [|f l IH]; intros [|v x] W H; cbn [may_all] in H; try discriminate; [constructor|].
  apply andb_true_iff in H as [H1 H2]. inversion W; subst.
  constructor; [apply may_be_sound; assumption|apply IH; assumption].
Qed.

Lemma answers_sound {Curves : functions} c : question_ok (asked c) = true ->
  true_to Curves (prog (asked c)) -> answers (asked c) (inside_ c) (witness c) = true ->
  counterfactual (asked c) (witness c).
Proof.
  intros Ok True_ H. pose proof (ok_formed c Ok) as Formed.
  destruct (ok_all c Ok) as (_ & _ & _ & Sc & _ & Ta & _).
  set (q := asked c) in *. set (x := witness c) in *. unfold answers in H. apply andb_true_iff in H as [H S].
  apply andb_true_iff in H as [A R].
  destruct (spots (prog q) x) as [zs|] eqn:E; [|discriminate].
  apply andb_true_iff in S as [S _]. apply andb_true_iff in S as [W C].
  pose proof (spots_hold (prog q) x True_ Sc zs E) as K.
  split; [apply may_all_sound; assumption|]. split.
  { apply (wins_sound (prog q) x True_ zs K); [|exact W].
    unfold target_ok in Ta. destruct (goal q) as [|o margin least_score]; [exact I|].
    apply andb_true_iff in Ta as [Ta _]. apply Nat.ltb_lt in Ta. exact Ta. }
  split.
  - intros t I. rewrite forallb_forall in C. apply (surely_true_sound (prog q) x True_ zs K).
    apply C. exact I.
  - unfold lies_in in R. unfold in_region. destruct (region_in q) as [r|]; [|exact I].
    destruct (inside_ c) as [[h ws]|]; [|discriminate].
    destruct (nth_error (hulls r) h) as [rows|] eqn:E'; [|discriminate].
    exists rows. split; [apply nth_error_In with h; exact E'|]. apply inside_sound with ws. exact R.
Qed.

(** An answer is a counterfactual, at the distance that is stated; and of an optimal one nothing is
    nearer than [1 - gap] of its distance ([squared]: of the squares, the square of that). *)

Theorem witness_sound (Curves : functions) c : check c = true -> true_to Curves (prog (asked c)) ->
  claimed c <> Infeasible ->
  counterfactual (asked c) (witness c) /\ away (asked c) (witness c) == stated_distance c.
Proof.
  unfold check. intros H True_ N. apply andb_true_iff in H as [H Cl].
  apply andb_true_iff in H as [Ok _].
  unfold claim_ok, claim_by in Cl. apply andb_true_iff in Cl as [_ Cl].
  assert (M : answers (asked c) (inside_ c) (witness c) = true /\
    Qeqb (total (context_of c []) (changes (fs (asked c)) (witness c))) (stated_distance c) = true).
  { destruct (claimed c); [| |contradiction]; repeat rewrite andb_true_iff in Cl; tauto. }
  destruct M as [A D]. split.
  - apply (answers_sound c Ok True_ A).
  - rewrite (away_total c (witness c) []). apply Qeqb_true. exact D.
Qed.

Theorem optimal_sound (Curves : functions) c : check c = true -> true_to Curves (prog (asked c)) ->
  claimed c = Optimal -> forall x, counterfactual (asked c) x ->
  let keep := if squared (metric (asked c)) then (1 - gap_ c) * (1 - gap_ c) else 1 - gap_ c in
  away (asked c) (witness c) * keep <= away (asked c) x.
Proof.
  intros H True_ O x X. cbv zeta.
  apply Qle_trans with (lower c); [|apply (check_sound Curves); assumption].
  destruct (witness_sound Curves c H True_) as [_ D]; [rewrite O; discriminate|].
  unfold check in H. apply andb_true_iff in H as [_ Cl]. unfold claim_ok, claim_by in Cl.
  apply andb_true_iff in Cl as [_ Cl]. rewrite O in Cl. apply andb_true_iff in Cl as [_ Ne].
  unfold near_enough in Ne. apply Qle_bool_true in Ne. rewrite D.
  destruct (squared (metric (asked c))); exact Ne.
Qed.

(** ** Infeasible: no counterfactual exists *)

Lemma over_one q size : 0 <= q -> q <= size -> over q size <= 1.
Proof.
  intros H S. unfold over. destruct (Qeqb size 0) eqn:Z; [lra|]. apply Qeqb_false in Z.
  assert (P : 0 < size) by (apply Qnot_le_lt; intro K; apply Z; lra).
  apply Qle_shift_div_r; [exact P|]. lra.
Qed.

(** With a value for missing numbers no change is larger than 1. *)

Lemma change_most_one f v n b : well_formed f -> admissible_value f v -> shape f = Numbers n ->
  absent n = Some b -> change f v <= 1.
Proof.
  intros W A S Ab. unfold well_formed, admissible_value, change in *. destruct W as [_ W].
  rewrite S in *. destruct (own f) as [o|o], v as [x|i]; try contradiction.
  destruct W as (LH & O & Gp & _). rewrite Ab in Gp. destruct Gp as (Lb & Gp & _).
  destruct (Bool.eqb (is_absent n x) (is_absent n o)) eqn:E; [|lra].
  apply eqb_prop in E. unfold gone in O. rewrite Gp in O. cbn [orb] in O.
  destruct (is_absent n o) eqn:Ao.
  - unfold is_absent in *. rewrite Ab in *. apply Qeqb_true in E, Ao.
    apply over_one; [apply Qabs_nonneg|].
    assert (D : x - o == 0) by lra. rewrite D. change (Qabs 0) with 0. lra.
  - destruct O as [O1 O2]. destruct A as [A|(A1 & A2 & _)]; [congruence|].
    assert (F : low n <= first n (act f) o).
    { unfold first, gone. rewrite Gp, Ao. destruct (act f); cbn; lra. }
    assert (U : upper n (act f) o <= high n).
    { unfold upper, gone. rewrite Gp, Ao. destruct (act f); cbn; lra. }
    apply over_one; [apply Qabs_nonneg|]. apply Qabs_case; lra.
Qed.

Lemma farthest_sound f p v d : well_formed f -> everything f = Some p -> admissible_value f v ->
  farthest f p = Some d -> change f v <= d.
Proof.
  intros W E A. pose proof (everything_sound f p v W E A) as P. unfold farthest.
  destruct (own f) as [o|o] eqn:Ow, p as [lo hi|ls|]; try discriminate.
  - destruct (shape f) as [n|] eqn:Sh; [|discriminate].
    destruct v as [x|i]; [|contradiction]. destruct P as [L H].
    destruct (absent n) as [b|] eqn:Ab.
    + intro D. apply some_inj in D. subst d. apply (change_most_one f (Num x) n b); assumption.
    + intro D. pose proof (greatest_ge _ _ D) as Gr.
      assert (C : forall y, change f (Num y) = over (Qabs (y - o)) (high n - low n)).
      { intro y. unfold change. rewrite Sh, Ow. unfold is_absent. rewrite Ab. reflexivity. }
      assert (R : 0 <= high n - low n).
      { unfold well_formed in W. rewrite Sh, Ow in W. destruct W as (_ & LH & _). lra. }
      destruct (Qlt_le_dec x o) as [S|S].
      * apply Qle_trans with (change f (Num lo)); [|apply Gr; left; reflexivity].
        rewrite !C. apply over_le; [exact R|].
        rewrite !Qabs_neg by lra. lra.
      * apply Qle_trans with (change f (Num hi)); [|apply Gr; right; left; reflexivity].
        rewrite !C. apply over_le; [exact R|].
        rewrite !Qabs_pos by lra. lra.
  - destruct v as [x|i]; [contradiction|]. intro D. apply (greatest_ge _ _ D).
    apply in_map_iff. exists i. split; [reflexivity|exact P].
Qed.

Theorem infeasible_sound (Curves : functions) c : check c = true ->
  true_to Curves (prog (asked c)) -> claimed c = Infeasible -> forall x, ~ counterfactual (asked c) x.
Proof.
  intros H True_ I x X. unfold check in H. apply andb_true_iff in H as [H Cl]. apply andb_true_iff in H as [Ok Co].
  pose proof (covers_sound c Ok x True_ Co X) as B.
  unfold claim_ok, claim_by in Cl. apply andb_true_iff in Cl as [_ Cl]. rewrite I in Cl.
  unfold beyond_all in Cl. destruct (option_list _ _) as [ds|] eqn:E; [|discriminate].
  apply Qltb_true in Cl. apply option_list_some in E.
  pose proof (ok_formed c Ok) as W. destruct X as (A & _).
  assert (Bl : below (changes (fs (asked c)) x) ds).
  { clear -E W A. unfold admissible in A. unfold below, changes. revert ds E W.
    induction A as [|f v l y Av A IH]; intros ds E W.
    - inversion E; subst. constructor.
    - inversion E as [|? d ? ds' Ed Eds]; subst. inversion W; subst.
      cbn [combine map fst snd]. constructor; [|apply IH; assumption].
      destruct (everything f) as [p|] eqn:Ep; [|discriminate].
      split; [apply change_nonneg; assumption|apply (farthest_sound f p); assumption]. }
  destruct (ok_metric c Ok) as [N _].
  assert (T : total (context_of c []) (changes (fs (asked c)) x) <= total (context_of c []) ds).
  { unfold total.
    pose proof (sum_costs_mono (metric (asked c)) _ _ _ N (shares_nonneg c Ok) Bl) as T1.
    pose proof (largest_mono _ _ _ (peaks_nonneg c Ok) Bl) as T2.
    destruct N as (_ & _ & L & _). pose proof (move_up _ _ _ L T2) as T3.
    cbn [context_of norm_ shares peaks]. lra. }
  rewrite <- (away_total c x []) in T. lra.
Qed.

(** ** Populations: of each of those that [count_beyond] counts, nothing is as near as [r] *)

Theorem count_sound (Curves : functions) r cs :
  Forall (fun c => check c = true /\ true_to Curves (prog (asked c))) cs ->
  Forall (fun c => is_beyond r c = true ->
            forall x, counterfactual (asked c) x -> r < away (asked c) x) cs.
Proof.
  intro H. rewrite Forall_forall in *. intros c I B x X. destruct (H c I) as [Ok True_].
  unfold is_beyond in B. destruct (claimed c) eqn:E.
  - apply Qltb_true in B. pose proof (check_sound Curves c Ok True_ x X). lra.
  - apply Qltb_true in B. pose proof (check_sound Curves c Ok True_ x X). lra.
  - exfalso. apply (infeasible_sound Curves c Ok True_ E x X).
Qed.

Print Assumptions witness_sound.
Print Assumptions optimal_sound.
Print Assumptions infeasible_sound.
Print Assumptions count_sound.
