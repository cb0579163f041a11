(** * Lemma 15 holds of all faithful functions *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool Lqa Lia.
From Cfxc Require Import Semantics Curves CurvesProofs ExpShape SigmoidShape Lines.
Open Scope Q_scope.

Lemma at_grid_down f x a : at_grid f x false = Some a -> value_least f (grid a) (grid x).
Proof.
  destruct f; cbn [at_grid]; intro H.
  - apply exp_at_down in H. apply H.
  - apply sigmoid_at_down in H. apply H.
  - apply softplus_at_down. exact H.
  - apply normal_at_down. exact H.
Qed.

Lemma at_grid_up f x b : at_grid f x true = Some b -> value_most f (grid b) (grid x).
Proof.
  destruct f; cbn [at_grid]; intro H.
  - apply exp_at_up. exact H.
  - apply sigmoid_at_up. exact H.
  - apply softplus_at_up. exact H.
  - apply normal_at_up. exact H.
Qed.

Lemma slope_at_down f x a : slope_at f x false = Some a -> slope_least f (grid a) (grid x).
Proof.
  destruct f; cbn [slope_at]; intro H.
  - right. apply exp_at_down in H. apply H.
  - apply steep_at_down. exact H.
  - right. apply sigmoid_at_down in H. apply H.
  - right. apply bell_at_down. exact H.
Qed.

Lemma slope_at_up f x b : slope_at f x true = Some b -> slope_most f (grid b) (grid x).
Proof.
  destruct f; cbn [slope_at]; intro H.
  - right. apply exp_at_up. exact H.
  - apply steep_at_up. exact H.
  - right. apply sigmoid_at_up. exact H.
  - right. apply bell_at_up. exact H.
Qed.

Lemma grid_floor z : grid (grid_of z false) <= z.
Proof.
  unfold grid_of. pose proof (Qfloor_le (z * inject_Z one)) as H.
  rewrite <- (grid_inject (Qfloor _)) in H. apply (Qmult_le_r _ _ (inject_Z one)); [reflexivity|exact H].
Qed.

Lemma grid_ceiling z : z <= grid (grid_of z true).
Proof.
  unfold grid_of. pose proof (Qle_ceiling (z * inject_Z one)) as H.
  rewrite <- (grid_inject (Qceiling _)) in H. apply (Qmult_le_r _ _ (inject_Z one)); [reflexivity|exact H].
Qed.

Lemma tiny_pos : 0 < tiny.
Proof. reflexivity. Qed.

Section Faithful.

Variables (f : smooth) (F : Q -> Q).
Hypothesis H : faithful f F.

Let shape : shaped f F := shape_of f F H.

Lemma value_down_sound z y a : value_down f z = Some a -> z <= y -> a <= F y.
Proof.
  unfold value_down. cbv zeta. destruct (in_reach z); [cbn [negb]|discriminate]. intros E L.
  pose proof (grid_floor z) as G. set (x := grid_of z false) in *.
  destruct (is_normal f && (wide <? x)%Z) eqn:B.
  - apply andb_true_iff in B as [N W]. apply Z.ltb_lt in W. apply some_same in E. subst a.
    assert (D : value_least f (grid (one - 1)) (grid wide)).
    { destruct f; try discriminate. exact wide_enough. }
    apply (grid_least f F _ _ (values f F H)) in D. pose proof (proj1 (grid_le wide x) ltac:(lia)).
    pose proof (rises f F H (grid wide) y ltac:(lra)). lra.
  - destruct (at_grid f x false) as [g|] eqn:D; [|discriminate]. apply some_same in E. subst a.
    apply at_grid_down, (grid_least f F _ _ (values f F H)) in D.
    pose proof (rises f F H (grid x) y ltac:(lra)). lra.
Qed.

Lemma value_up_sound z y b : value_up f z = Some b -> y <= z -> F y <= b.
Proof.
  unfold value_up. cbv zeta. destruct (in_reach z); [cbn [negb]|discriminate]. intros E L.
  pose proof (grid_ceiling z) as G. set (x := grid_of z true) in *.
  destruct (is_normal f && (x <? - wide)%Z) eqn:B.
  - apply andb_true_iff in B as [N W]. apply Z.ltb_lt in W. apply some_same in E. subst b.
    assert (D : value_most f (grid 1) (grid (- wide))).
    { destruct f; try discriminate. exact wide_enough. }
    apply (grid_most f F _ _ (values f F H)) in D. pose proof (proj1 (grid_le x (- wide)%Z) ltac:(lia)).
    pose proof (rises f F H y (grid (- wide)) ltac:(lra)). lra.
  - destruct (at_grid f x true) as [g|] eqn:D; [|discriminate]. apply some_same in E. subst b.
    apply at_grid_up, (grid_most f F _ _ (values f F H)) in D.
    pose proof (rises f F H y (grid x) ltac:(lra)). lra.
Qed.

Variables (above : bool) (slope place : Q).
Notation side := (side above).

(** At a number the value is on the side that is wanted, and stays there on the way from it. *)

Lemma value_side_sound z v : value_side f above z = Some v -> side * v <= side * F z.
Proof.
  unfold value_side, Lines.side. destruct above; intro E.
  - pose proof (value_down_sound z z v E ltac:(lra)). lra.
  - pose proof (value_up_sound z z v E ltac:(lra)). lra.
Qed.

(** Its shape on a piece: [bent] if [side f] is convex there. *)

Definition convex_there (z : Q) : Prop := if above then convex f z else concave f z.
Definition concave_there (z : Q) : Prop := if above then concave f z else convex f z.

Lemma ends_sound a b z m : concave_there a -> concave_there b -> a <= z -> z <= b ->
  by_ends f above slope a b = Some m -> m <= side * (F z - slope * z).
Proof.
  intros Ca Cb A B. unfold by_ends. destruct (value_side f above a) as [u|] eqn:U; [|discriminate].
  destruct (value_side f above b) as [v|] eqn:V; [|discriminate]. intro E. apply some_same in E. subst m.
  apply value_side_sound in U, V. pose proof tiny_pos as T.
  set (mu := side * (u - slope * a)). set (mv := side * (v - slope * b)).
  pose proof (Q.le_min_l mu mv) as M1. pose proof (Q.le_min_r mu mv) as M2.
  set (m := Qmin mu mv) in *.
  assert (Ua : m <= side * F a - side * slope * a) by (unfold mu in M1; lra).
  assert (Vb : m <= side * F b - side * slope * b) by (unfold mv in M2; lra).
  destruct (Qlt_le_dec a b) as [L|L].
  - assert (C : (b - z) * (side * F a) + (z - a) * (side * F b) <= (b - a) * (side * F z + 2 * tiny)).
    { destruct (bends f F shape a z b A B) as [C1 C2]. unfold concave_there in *. unfold Lines.side. destruct above.
      - specialize (C2 Ca Cb). lra.
      - specialize (C1 Ca Cb). lra. }
    assert (P1 : (b - z) * m <= (b - z) * (side * F a - side * slope * a)) by nra.
    assert (P2 : (z - a) * m <= (z - a) * (side * F b - side * slope * b)) by nra.
    assert (D : (b - a) * (m - 2 * tiny) <= (b - a) * (side * (F z - slope * z))) by lra.
    apply Qmult_le_l in D; [exact D|lra].
  - assert (R : side * F a <= side * F z + 2 * tiny).
    { unfold Lines.side. destruct above.
      - pose proof (rises f F H a z A). lra.
      - pose proof (rises f F H z a ltac:(lra)). lra. }
    assert (Ez : z == a) by lra. assert (S : side * slope * z == side * slope * a) by (rewrite Ez; reflexivity).
    lra.
Qed.

Lemma tangent_sound a b z m : a <= z -> z <= b -> convex_there z ->
  (forall c, c <= Qmin (Qmax place a) b -> (0 <= Qmin (Qmax place a) b -> 0 <= c) -> convex_there c) ->
  by_tangent f above slope place a b = Some m -> m <= side * (F z - slope * z).
Proof.
  intros A B Cz Cc. unfold by_tangent. set (near := Qmin (Qmax place a) b) in *.
  set (x := grid_of near false). cbv zeta.
  destruct (value_side f above (grid x)) as [v|] eqn:V; [|discriminate].
  destruct (slope_at f x false) as [s|] eqn:S; [|discriminate].
  destruct (slope_at f x true) as [t|] eqn:T; [|discriminate]. intro E. apply some_same in E. subst m.
  apply value_side_sound in V. apply slope_at_down in S. apply slope_at_up in T.
  assert (Cx : convex_there (grid x)).
  { apply Cc; [apply grid_floor|]. intro N. rewrite <- grid_0. apply (proj1 (grid_le _ _)).
    unfold x, grid_of. change 0%Z with (Qfloor 0). apply Qfloor_resp_le.
    setoid_replace 0 with (0 * inject_Z one) by reflexivity. apply Qmult_le_compat_r; [exact N|discriminate]. }
  set (c := grid x) in *.
  set (line e q := side * (v - slope * e) + side * (q * (e - c))).
  set (at_ e := side * (v - slope * e) + Qmin (side * (grid s * (e - c))) (side * (grid t * (e - c)))).
  assert (At : forall e, at_ e <= line e (grid s) /\ at_ e <= line e (grid t)).
  { intro e. unfold at_, line.
    pose proof (Q.le_min_l (side * (grid s * (e - c))) (side * (grid t * (e - c)))).
    pose proof (Q.le_min_r (side * (grid s * (e - c))) (side * (grid t * (e - c)))). lra. }
  pose proof (Q.le_min_l (at_ a) (at_ b)) as M1. pose proof (Q.le_min_r (at_ a) (at_ b)) as M2.
  fold (at_ a). fold (at_ b). set (m := Qmin (at_ a) (at_ b)) in *.
  assert (Lin : forall q, m <= line a q -> m <= line b q -> m <= line z q).
  { intros q La Lb. unfold line in *.
    destruct (Qlt_le_dec (side * q - side * slope) 0) as [N|N].
    - assert (0 <= (b - z) * (side * slope - side * q)) by (apply Qmult_le_0_compat; lra). lra.
    - assert (0 <= (z - a) * (side * q - side * slope)) by (apply Qmult_le_0_compat; lra). lra. }
  destruct (At a) as [As At']. destruct (At b) as [Bs Bt'].
  pose proof (Lin (grid s) ltac:(lra) ltac:(lra)) as L1.
  pose proof (Lin (grid t) ltac:(lra) ltac:(lra)) as L2. unfold line in L1, L2.
  assert (G : side * F c + Qmin (side * (grid s * (z - c))) (side * (grid t * (z - c))) - 2 * tiny
              <= side * F z).
  { destruct (has_slopes f F shape c z (grid s) (grid t) S T) as [G1 G2].
    unfold convex_there in *. unfold Lines.side. destruct above.
    - specialize (G1 Cx Cz).
      assert (E : Qmin (1 * (grid s * (z - c))) (1 * (grid t * (z - c)))
                  == Qmin (grid s * (z - c)) (grid t * (z - c))).
      { assert (E1 : 1 * (grid s * (z - c)) == grid s * (z - c)) by ring.
        assert (E2 : 1 * (grid t * (z - c)) == grid t * (z - c)) by ring. rewrite E1, E2. reflexivity. }
      lra.
    - specialize (G2 Cx Cz).
      assert (E : Qmin (-1 * (grid s * (z - c))) (-1 * (grid t * (z - c)))
                  <= - Qmax (grid s * (z - c)) (grid t * (z - c))).
      { destruct (Q.max_spec (grid s * (z - c)) (grid t * (z - c))) as [[_ Mx]|[_ Mx]]; rewrite Mx.
        - eapply Qle_trans; [apply Q.le_min_r|]. lra.
        - eapply Qle_trans; [apply Q.le_min_l|]. lra. }
      lra. }
  assert (K : m - side * (v - slope * z) <= Qmin (side * (grid s * (z - c))) (side * (grid t * (z - c))))
    by (apply Q.min_glb; lra).
  lra.
Qed.

Lemma piece_sound (left : bool) a b z m : (if left then b <= 0 else 0 <= a) -> a <= z -> z <= b ->
  on_piece f above slope place left a b = Some m -> m <= side * (F z - slope * z).
Proof.
  intros P A B. unfold on_piece. destruct (Bool.eqb (is_convex f left) above) eqn:E.
  - apply eqb_prop in E. apply tangent_sound; try assumption.
    + unfold convex_there. destruct f, left, above; cbn in *; try discriminate; auto; lra.
    + intros c C1 C2. unfold convex_there. pose proof (Q.le_min_r (Qmax place a) b) as M.
      assert (N : a <= Qmin (Qmax place a) b) by (apply Q.min_glb; [apply Q.le_max_r|lra]).
      destruct f, left, above; cbn in *; try discriminate; auto; first [lra|apply C2; lra].
  - apply eqb_false_iff in E. apply ends_sound; try assumption;
      unfold concave_there; destruct f, left, above; cbn in *; try congruence; auto; lra.
Qed.

Theorem beside_sound low high m z : beside f above slope place low high = Some m ->
  low <= z -> z <= high -> m <= side * (F z - slope * z).
Proof.
  unfold beside, beside_both. cbv zeta. intros E L Hi.
  assert (Right : forall v, on_piece f above slope place false (Qmax low 0) high = Some v -> 0 <= z ->
            v <= side * (F z - slope * z)).
  { intros v V Z. apply (piece_sound false (Qmax low 0) high); try assumption.
    - apply Q.le_max_r.
    - apply Q.max_lub; assumption. }
  assert (Left : forall v, on_piece f above slope place true low (Qmin high 0) = Some v -> z <= 0 ->
            v <= side * (F z - slope * z)).
  { intros v V Z. apply (piece_sound true low (Qmin high 0)); try assumption.
    - apply Q.le_min_r.
    - apply Q.min_glb; assumption. }
  destruct (Qle_bool low 0) eqn:E1.
  - destruct (Qle_bool 0 high) eqn:E2.
    + destruct (on_piece f above slope place true low (Qmin high 0)) as [u|]; [|discriminate].
      destruct (on_piece f above slope place false (Qmax low 0) high) as [v|]; [|discriminate].
      apply some_same in E. subst m. destruct (Qlt_le_dec z 0) as [Z|Z].
      * eapply Qle_trans; [apply Q.le_min_l|]. apply Left; [reflexivity|lra].
      * eapply Qle_trans; [apply Q.le_min_r|]. apply Right; [reflexivity|lra].
    + apply Left; [exact E|]. apply Qnot_lt_le. intro Z.
      assert (T : Qle_bool 0 high = true) by (apply Qle_bool_iff; lra). congruence.
  - apply Right; [exact E|]. apply Qnot_lt_le. intro Z.
    assert (T : Qle_bool low 0 = true) by (apply Qle_bool_iff; lra). congruence.
Qed.

End Faithful.
