(** * How much a smooth function may change, and how large it is *)

From Coq Require Import QArith Qabs Qminmax ZArith Lqa.
From Cfxc Require Import Semantics CurvesProofs ExpShape SigmoidShape.
Open Scope Q_scope.

Lemma tiny_positive : 0 < tiny.
Proof. reflexivity. Qed.

Section Smooth.

Variables (f : smooth) (F : Q -> Q) (k : Q).
Hypothesis H : faithful f F.

Let shape : shaped f F := shape_of f F H.
Hypothesis K : steepest f = Some k.

Lemma steepest_between : 0 <= k <= 1.
Proof. destruct f; cbn in K; try discriminate; injection K as <-; lra. Qed.

(** On a piece where it is convex or concave. *)

Lemma piece_rises y z : y <= z -> (convex f y /\ convex f z) \/ (concave f y /\ concave f z) ->
  F z <= F y + k * (z - y) + 2 * tiny.
Proof.
  intros L [[A B]|[A B]].
  - destruct (has_slopes f F shape z y 0 k) as [S _]; [left; lra|left; rewrite K; lra|].
    specialize (S B A).
    assert (M : - (k * (z - y)) <= Qmin (0 * (y - z)) (k * (y - z))).
    { pose proof steepest_between. apply Q.min_glb; nra. }
    lra.
  - destruct (has_slopes f F shape y z 0 k) as [_ S]; [left; lra|left; rewrite K; lra|].
    specialize (S A B).
    assert (M : Qmax (0 * (z - y)) (k * (z - y)) <= k * (z - y)).
    { pose proof steepest_between. apply Q.max_lub; nra. }
    lra.
Qed.

Lemma at_most_steep y z : y <= z -> F z <= F y + k * (z - y) + 4 * tiny.
Proof.
  intro L. pose proof tiny_positive as T. pose proof steepest_between as S.
  destruct (Qlt_le_dec 0 z) as [Z|Z].
  - destruct (Qlt_le_dec y 0) as [Y|Y].
    + assert (A : F 0 <= F y + k * (0 - y) + 2 * tiny).
      { apply piece_rises; [lra|]. left. destruct f; cbn; auto; lra. }
      assert (B : F z <= F 0 + k * (z - 0) + 2 * tiny).
      { apply piece_rises; [lra|]. destruct f; cbn; auto; right; lra. }
      lra.
    + assert (A : F z <= F y + k * (z - y) + 2 * tiny).
      { apply piece_rises; [exact L|]. destruct f; cbn; auto; right; lra. }
      lra.
  - assert (A : F z <= F y + k * (z - y) + 2 * tiny).
    { apply piece_rises; [exact L|]. left. destruct f; cbn; auto; lra. }
    lra.
Qed.

Theorem steep_enough y z : Qabs (F z - F y) <= k * Qabs (z - y) + 4 * tiny.
Proof.
  pose proof tiny_positive as T. pose proof steepest_between as S.
  destruct (Qlt_le_dec z y) as [L|L].
  - pose proof (at_most_steep z y ltac:(lra)). pose proof (rises f F H z y ltac:(lra)).
    rewrite (Qabs_neg (z - y)) by lra. apply Qabs_case; intro; nra.
  - pose proof (at_most_steep y z L). pose proof (rises f F H y z L).
    rewrite (Qabs_pos (z - y)) by lra. apply Qabs_case; intro; nra.
Qed.

Lemma normal_sum_0 n : normal_sum n 0 == 0.
Proof.
  assert (E : forall m, normal_term m 0 == 0).
  { induction m as [|m IH]; [reflexivity|]. cbn [normal_term]. rewrite IH. ring. }
  induction n as [|n IH]; [reflexivity|]. cbn [normal_sum]. rewrite IH, E. ring.
Qed.

Lemma exp_0_least a z : Qle_bool 0 z = true -> a <= 1 -> exp_least a z.
Proof. intros Z A. unfold exp_least. rewrite Z. exists 0%nat. exact A. Qed.

Lemma exp_0_most b z : z == 0 -> 1 <= b -> exp_most b z.
Proof.
  intros Z B. unfold exp_most. assert (E : Qle_bool 0 z = true) by (apply Qle_bool_iff; lra).
  rewrite E. intro n. rewrite (exp_sum_0 n z Z). exact B.
Qed.

Lemma value_at_0 : 0 <= F 0 + tiny /\ F 0 <= (7 # 10) + tiny.
Proof.
  destruct (values_near f F (values f F H) 0) as [A B].
  assert (Low : value_least f 0 0 /\ value_most f (7 # 10) 0).
  { clear -K. destruct f; cbn in K; try discriminate; clear K; cbn [value_least value_most].
    - split.
      + exists 0. split; [lra|]. split; [apply exp_0_least; [reflexivity|lra]|].
        vm_compute. discriminate.
      + exists 1. split; [apply exp_0_most; lra|]. vm_compute. discriminate.
    - split.
      + exists 0. split; [apply exp_0_least; [reflexivity|lra]|]. apply exp_0_most; [reflexivity|lra].
      + exists 1. split; [apply exp_0_most; [reflexivity|lra]|]. unfold exp_least.
        change (Qle_bool 0 ((7 # 10) - Qmax 0 0)) with true. cbv iota. exists 6%nat. vm_compute. discriminate.
    - change (Qle_bool 0 0) with true. cbv iota. split.
      + exists 0%nat, 0. split; [|vm_compute; discriminate].
        exists 0. split; [lra|]. split; [apply exp_0_least; [reflexivity|lra]|].
        rewrite Qmult_0_l. lra.
      + right. exists root_high, 0. split; [|split].
        * exists 1. split; [apply exp_0_most; [reflexivity|lra]|]. rewrite Qmult_1_l. lra.
        * intro n. rewrite normal_sum_0. lra.
        * rewrite Qmult_0_r. lra. }
  destruct Low as [L1 L2]. specialize (A _ L1). specialize (B _ L2). lra.
Qed.

Theorem small_enough z : Qabs (F z) <= Qabs z + 1.
Proof.
  pose proof tiny_positive as T. pose proof steepest_between as S. pose proof (steep_enough 0 z) as D.
  destruct value_at_0 as [A B].
  assert (Sm : 5 * tiny <= 3 # 10) by (vm_compute; discriminate).
  assert (E : Qabs (z - 0) == Qabs z) by (apply Qabs_wd; ring). rewrite E in D.
  pose proof (Qabs_nonneg z). apply Qabs_Qle_condition in D.
  assert (k * Qabs z <= Qabs z) by nra. apply Qabs_case; intro; lra.
Qed.

End Smooth.
