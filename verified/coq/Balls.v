(** * Lemmas 3 and 6: what lies within the radius *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool Lqa Lia.
From Cfxc Require Import Semantics Features FloatsProofs FeaturesProofs Forms Checker Sums.
Import ListNotations.
Open Scope Q_scope.

Definition norms_ok (n : norms) : Prop :=
  0 <= l0 n /\ 0 <= l1 n /\ 0 <= linf n /\ 0 <= l2 n.

Lemma moved_mono d e : d <= e -> moved d <= moved e.
Proof.
  unfold moved. intro H.
  destruct (Qle_bool d 0) eqn:A, (Qle_bool e 0) eqn:B; compare_all; lra.
Qed.

Lemma moved_nonneg d : 0 <= moved d.
Proof. unfold moved. destruct (Qle_bool d 0); lra. Qed.

Lemma cost_mono n s d e : norms_ok n -> 0 <= s -> 0 <= d -> d <= e -> cost n s d <= cost n s e.
Proof.
  intros (A & B & _ & D) S D0 E. unfold cost.
  assert (M := moved_mono d e E).
  assert (l0 n * moved d <= l0 n * moved e) by nra.
  assert (l1 n * d <= l1 n * e) by nra.
  assert (d * d <= e * e) by nra.
  assert (l2 n * (d * d) <= l2 n * (e * e)) by nra.
  nra.
Qed.

Lemma cost_nonneg n s d : norms_ok n -> 0 <= s -> 0 <= d -> 0 <= cost n s d.
Proof.
  intros (A & B & _ & D) S D0. unfold cost. assert (M := moved_nonneg d).
  assert (0 <= l0 n * moved d) by nra. assert (0 <= l1 n * d) by nra.
  assert (0 <= d * d) by nra. assert (0 <= l2 n * (d * d)) by nra. nra.
Qed.

Definition below (ds es : list Q) : Prop := Forall2 (fun d e => 0 <= d /\ d <= e) ds es.

Lemma sum_costs_mono n ss ds es :
  norms_ok n -> Forall (fun s => 0 <= s) ss -> below ds es ->
  sum (map (fun p => cost n (fst p) (snd p)) (combine ss ds))
  <= sum (map (fun p => cost n (fst p) (snd p)) (combine ss es)).
Proof.
  intros N S B. revert ds es B. induction S as [|s ss S0 S IH]; intros ds es B; [cbn; lra|].
  destruct B as [|d e ds es [D E] B]; [cbn; lra|].
  cbn [combine map]. rewrite !sum_cons. cbn [fst snd].
  pose proof (cost_mono n s d e N S0 D E). specialize (IH _ _ B). lra.
Qed.

Lemma largest_mono ps ds es :
  Forall (fun p => 0 <= p) ps -> below ds es ->
  largest (map (fun p => fst p * snd p) (combine ps ds))
  <= largest (map (fun p => fst p * snd p) (combine ps es)).
Proof.
  intros S B. revert ds es B. induction S as [|s ss S0 S IH]; intros ds es B; [cbn; lra|].
  destruct B as [|d e ds es [D E] B]; [cbn; lra|].
  cbn [combine map]. cbn [largest fold_right fst snd].
  specialize (IH _ _ B). unfold largest in IH.
  apply Q.max_le_compat; [nra|exact IH].
Qed.

(** ** What is given of a point *)

Record given (c : context) (x : point) : Prop := {
  g_formed : Forall well_formed (feats c);
  g_admissible : admissible (feats c) x;
  g_norms : norms_ok (norm_ c);
  g_shares : Forall (fun s => 0 <= s) (shares c);
  g_peaks : Forall (fun p => 0 <= p) (peaks c);
  g_shares_length : length (shares c) = length (feats c);
  g_peaks_length : length (peaks c) = length (feats c);
  g_mixed : l2 (norm_ c) == 0 \/ (l1 (norm_ c) == 0 /\ linf (norm_ c) == 0);
  g_near : total c (changes (feats c) x) < radius c }.

Definition in_parts (x : point) (parts : list part) : Prop := Forall2 in_part x parts.

Section Balls.

Variables (c : context) (x : point).
Hypothesis G : given c x.

Lemma total_mono ds es : below ds es -> total c ds <= total c es.
Proof.
  intro B. unfold total.
  pose proof (sum_costs_mono (norm_ c) (shares c) ds es (g_norms _ _ G) (g_shares _ _ G) B).
  pose proof (largest_mono (peaks c) ds es (g_peaks _ _ G) B).
  destruct (g_norms _ _ G) as (_ & _ & L & _). nra.
Qed.

Lemma changes_cons f fs v y : changes (f :: fs) (v :: y) = change f v :: changes fs y.
Proof. reflexivity. Qed.

Lemma deltas_of fs y parts :
  Forall well_formed fs -> admissible fs y -> in_parts y parts ->
  exists ds, map2 nearest fs parts = Some ds /\ below ds (changes fs y).
Proof.
  intros W A. revert parts W. induction A as [|f v fs y A _ IH]; intros parts W P.
  - inversion P; subst. exists []. split; [reflexivity|constructor].
  - inversion P as [|? p ? ps Pv Ps]; subst. inversion W as [|? ? Wf Ws]; subst.
    destruct (IH ps Ws Ps) as (ds & E & B).
    destruct (nearest_sound f p v Wf A Pv) as (d & D & D0 & D1).
    exists (d :: ds). cbn [map2]. rewrite D, E. split; [reflexivity|].
    rewrite changes_cons. constructor; auto.
Qed.

Lemma deltas_sound parts :
  in_parts x parts -> exists ds, deltas c parts = Some ds /\ below ds (changes (feats c) x).
Proof. intro P. apply deltas_of; [apply (g_formed _ _ G)|apply (g_admissible _ _ G)|exact P]. Qed.

(** The square root, rounded up. *)

Lemma pow2_200 : pow2 200 == pow2 100 * pow2 100.
Proof. reflexivity. Qed.

Lemma pow2_inverse : pow2 (-100) * pow2 100 == 1.
Proof. reflexivity. Qed.

Lemma root_up_square y : 0 <= y -> 0 <= root_up y /\ y <= root_up y * root_up y.
Proof.
  intro Y. unfold root_up. set (n := Qceiling (y * pow2 200)).
  assert (N : y * pow2 200 <= inject_Z n) by apply Qle_ceiling.
  assert (P : 0 < pow2 200) by reflexivity.
  assert (0 <= n)%Z.
  { assert (0 <= inject_Z n) by nra. unfold inject_Z, Qle in H; cbn in H; lia. }
  pose proof (Z.sqrt_spec n H) as [_ R]. pose proof (Z.sqrt_nonneg n) as S.
  assert (R' : inject_Z n <= (inject_Z (Z.sqrt n) + 1) * (inject_Z (Z.sqrt n) + 1)).
  { rewrite <- (inject_Z_plus _ 1) at 1. change 1 with (inject_Z 1).
    rewrite <- inject_Z_plus, <- inject_Z_mult, <- Zle_Qle. lia. }
  assert (S' : 0 <= inject_Z (Z.sqrt n)) by (rewrite <- (Zle_Qle 0); exact S).
  set (m := inject_Z (Z.sqrt n)) in *.
  assert (Q0 : 0 < pow2 (-100)) by reflexivity.
  split; [nra|].
  pose proof pow2_200. pose proof pow2_inverse.
  assert (y * pow2 200 <= (m + 1) * (m + 1)) by lra.
  assert (Y' : y == y * pow2 200 * (pow2 (-100) * pow2 (-100))).
  { rewrite H0. setoid_replace (y * (pow2 100 * pow2 100) * (pow2 (-100) * pow2 (-100)))
      with (y * (pow2 (-100) * pow2 100) * (pow2 (-100) * pow2 100)) by ring.
    rewrite H1. ring. }
  rewrite Y'.
  setoid_replace ((m + 1) * pow2 (-100) * ((m + 1) * pow2 (-100)))
    with ((m + 1) * (m + 1) * (pow2 (-100) * pow2 (-100))) by ring.
  assert (0 <= pow2 (-100) * pow2 (-100)) by nra. nra.
Qed.

Lemma moved_positive d : 0 < d -> moved d == 1.
Proof. intro H. unfold moved. destruct (Qle_bool d 0) eqn:E; compare_all; lra. Qed.

Lemma Qle_div a b d : 0 < b -> d * b <= a -> d <= a / b.
Proof. intros B H. apply Qle_shift_div_l; assumption. Qed.

Lemma square_le a b : 0 <= b -> a * a <= b * b -> a <= b.
Proof. intros B H. apply Qnot_lt_le. intro K. nra. Qed.

Lemma reach_of_sound n s p r d m :
  norms_ok n -> 0 <= s -> 0 <= p -> 0 <= d ->
  cost n s d + linf n * (p * d) <= r ->
  reach_of n s p r = Some m -> d <= m.
Proof.
  intros (A & B & L & D) S P D0 C.
  assert (T1 : 0 <= s * (l1 n * d)) by (assert (0 <= l1 n * d) by nra; nra).
  assert (T2 : 0 <= s * (l2 n * (d * d))).
  { assert (0 <= d * d) by nra. assert (0 <= l2 n * (d * d)) by nra. nra. }
  assert (T3 : 0 <= linf n * (p * d)) by (assert (0 <= p * d) by nra; nra).
  unfold cost in C. unfold reach_of. set (left := r - l0 n * s).
  assert (Main : 0 < d -> s * (l1 n * d) + s * (l2 n * (d * d)) + linf n * (p * d) <= left).
  { intro H. pose proof (moved_positive d H) as M. rewrite M in C. unfold left. lra. }
  destruct (Qltb left 0) eqn:E0.
  { injection 1 as <-. compare_all. apply Qnot_lt_le. intro H. specialize (Main H). lra. }
  compare_all.
  destruct (negb _) eqn:E1.
  - apply negb_true_iff, orb_false_iff in E1. destruct E1 as [E1 E2]. compare_all.
    assert (L2 : 0 < l2 n) by (apply Qnot_le_lt; intro K; apply E1; lra).
    assert (S2 : 0 < s) by (apply Qnot_le_lt; intro K; apply E2; lra).
    injection 1 as <-.
    assert (Y : 0 <= left / s / l2 n).
    { apply Qle_shift_div_l; [assumption|]. rewrite Qmult_0_l.
      apply Qle_shift_div_l; [assumption|]. lra. }
    destruct (root_up_square _ Y) as [R0 R1].
    apply square_le; [assumption|]. apply Qle_trans with (left / s / l2 n); [|assumption].
    destruct (Qlt_le_dec 0 d) as [Dp|Dz].
    + specialize (Main Dp). apply Qle_div; [assumption|]. apply Qle_div; [assumption|]. lra.
    + assert (Z : d == 0) by lra. rewrite Z. lra.
  - destruct (Qeqb (l1 n * s + linf n * p) 0) eqn:E2; [discriminate|]. injection 1 as <-.
    compare_all.
    assert (P1 : 0 <= l1 n * s) by nra. assert (P2 : 0 <= linf n * p) by nra.
    assert (P3 : 0 < l1 n * s + linf n * p) by (apply Qnot_le_lt; intro K; apply E2; lra).
    destruct (Qlt_le_dec 0 d) as [Dp|Dz].
    + specialize (Main Dp). apply Qle_div; [assumption|]. lra.
    + apply Qle_div; [assumption|]. assert (Z : d == 0) by lra. rewrite Z. lra.
Qed.

(** ** Clipping: a list of what costs may be, each without its own part *)

Lemma largest_member ps ds i p d :
  nth_error ps i = Some p -> nth_error ds i = Some d ->
  p * d <= largest (map (fun q => fst q * snd q) (combine ps ds)).
Proof.
  revert ds i. induction ps as [|p' ps IH]; intros [|d' ds] [|i]; cbn [nth_error];
    intros P D; try discriminate.
  - injection P as <-. injection D as <-. apply largest_ge. left. reflexivity.
  - cbn [combine map]. cbn [largest fold_right].
    apply Qle_trans with (largest (map (fun q => fst q * snd q) (combine ps ds))).
    + apply (IH _ i); assumption.
    + apply Q.le_max_r.
Qed.

Lemma clip_all_in (fs : features) (y : point) ss ps rs parts parts' :
  Forall well_formed fs -> admissible fs y ->
  Forall (fun s => 0 <= s) ss -> Forall (fun p => 0 <= p) ps ->
  in_parts y parts ->
  (forall i f v s p r, nth_error fs i = Some f -> nth_error y i = Some v ->
     nth_error ss i = Some s -> nth_error ps i = Some p -> nth_error rs i = Some r ->
     cost (norm_ c) s (change f v) + linf (norm_ c) * (p * change f v) <= r) ->
  clip_all c fs ss ps rs parts = Some parts' -> in_parts y parts'.
Proof.
  intros W A. revert ss ps rs parts parts' W.
  induction A as [|f v fs y A _ IH]; intros ss ps rs parts parts' W S P I H E.
  - destruct ss, ps, rs, parts; cbn in E; try discriminate. injection E as <-. constructor.
  - destruct ss as [|s ss], ps as [|p ps], rs as [|r rs], parts as [|part parts]; cbn in E;
      try discriminate.
    destruct (clip f part (reach_of (norm_ c) s p r)) as [a|] eqn:E1; [|discriminate].
    destruct (clip_all c fs ss ps rs parts) as [b|] eqn:E2; [|discriminate].
    injection E as <-.
    inversion W; subst. inversion S; subst. inversion P; subst. inversion I; subst.
    constructor.
    + apply (clip_sound f part (reach_of (norm_ c) s p r) a v); auto.
      destruct (reach_of (norm_ c) s p r) as [m|] eqn:R; [|exact Logic.I].
      apply (reach_of_sound (norm_ c) s p r); auto; [apply (g_norms _ _ G)|apply change_nonneg; auto|].
      apply (H 0%nat); reflexivity.
    + apply (IH ss ps rs parts); auto.
      intros i f' v' s' p' r' F V S' P' R. apply (H (Datatypes.S i)); assumption.
Qed.

(** What a point's own costs leave for one feature: lemma 3. *)

Lemma spare_cost (n : norms) ss ds es i s d e :
  norms_ok n -> Forall (fun s => 0 <= s) ss -> below ds es ->
  nth_error ss i = Some s -> nth_error ds i = Some d -> nth_error es i = Some e ->
  let all l := sum (map (fun p => cost n (fst p) (snd p)) (combine ss l)) in
  cost n s e <= all es - all ds + cost n s d.
Proof.
  intros N S B. cbn zeta. revert ds es i B.
  induction S as [|s' ss S0 S IH]; intros ds es i B I D E; [destruct i; discriminate|].
  destruct B as [|d' e' ds es [D0 DE] B]; [destruct i; discriminate|].
  cbn [combine map]. rewrite !sum_cons. cbn [fst snd].
  destruct i as [|i]; cbn [nth_error] in *.
  - injection I as <-. injection D as <-. injection E as <-.
    pose proof (sum_costs_mono n ss ds es N S B). lra.
  - specialize (IH _ _ _ B I D E). pose proof (cost_mono n s' d' e' N S0 D0 DE). lra.
Qed.

Lemma inside_closed parts : in_parts x parts -> inside c parts <> Closed.
Proof.
  intros P. unfold inside. destruct (deltas_sound parts P) as (ds & -> & B).
  pose proof (total_mono _ _ B). pose proof (g_near _ _ G).
  destruct (Qle_bool (radius c) (total c ds)) eqn:E; compare_all; [lra|].
  destruct (clip_all _ _ _ _ _ _); discriminate.
Qed.

Lemma nth_changes i f v :
  nth_error (feats c) i = Some f -> nth_error x i = Some v ->
  nth_error (changes (feats c) x) i = Some (change f v).
Proof.
  unfold changes. generalize x. generalize (feats c).
  induction i as [|i IH]; intros [|f' fs] [|v' y]; cbn; try discriminate.
  - intros E F. injection E as <-. injection F as <-. reflexivity.
  - apply IH.
Qed.

Lemma nth_below ds es i e :
  below ds es -> nth_error es i = Some e -> exists d, nth_error ds i = Some d /\ 0 <= d /\ d <= e.
Proof.
  intro B. revert i. induction B as [|d' e' ds es D B IH]; intros [|i]; cbn; try discriminate; auto.
  injection 1 as <-. eauto.
Qed.

Lemma nth_costs ds i s d :
  nth_error (shares c) i = Some s -> nth_error ds i = Some d ->
  nth_error (costs_of c ds) i = Some (cost (norm_ c) s d).
Proof.
  unfold costs_of. generalize (shares c). revert ds.
  induction i as [|i IH]; intros [|d' ds] [|s' ss]; cbn; try discriminate; auto.
  injection 1 as <-. injection 1 as <-. reflexivity.
Qed.

Lemma inside_known parts parts' :
  in_parts x parts -> inside c parts = Known parts' -> in_parts x parts'.
Proof.
  intros P. unfold inside. destruct (deltas_sound parts P) as (ds & -> & B).
  destruct (Qle_bool (radius c) (total c ds)); [discriminate|].
  destruct (clip_all _ _ _ _ _ _) as [q|] eqn:E; [|discriminate]. injection 1 as <-.
  eapply clip_all_in; [apply (g_formed _ _ G)|apply (g_admissible _ _ G)|apply (g_shares _ _ G)
                      |apply (g_peaks _ _ G)|exact P| |exact E].
  intros i f v s p r F V S Pk R.
  pose proof (nth_changes i f v F V) as C.
  destruct (nth_below _ _ _ _ B C) as (d & D & D0 & D1).
  rewrite nth_error_map, (nth_costs ds i s d S D) in R. unfold option_map in R. injection R as <-.
  pose proof (spare_cost (norm_ c) (shares c) ds _ i s d _ (g_norms _ _ G) (g_shares _ _ G) B S D C).
  pose proof (largest_member (peaks c) _ i p _ Pk C).
  pose proof (g_near _ _ G) as Near. unfold total in Near.
  destruct (g_norms _ _ G) as (_ & _ & L & _).
  cbv beta zeta in H. unfold costs_of.
  assert (linf (norm_ c) * (p * change f v)
          <= linf (norm_ c) * largest (map (fun q => fst q * snd q) (combine (peaks c) (changes (feats c) x))))
    by nra.
  lra.
Qed.

End Balls.
