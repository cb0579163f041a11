(** * Of the sigmoid function only its values need be assumed

    Where it is convex it lies above its tangents, as of x >= 0 both 2 (e^x - 1) <= x (1 + e^x) and
    1 + 2 x e^x <= e^2x.  Where it is concave it is 1 less its values where it is convex. *)

From Coq Require Import QArith Qabs Qminmax ZArith Lqa Lia.
From Cfxc Require Import Semantics CurvesProofs ExpShape.
Open Scope Q_scope.

Lemma limit_1 k x y : 0 <= k -> (forall eps, 0 < eps -> eps <= 1 -> x <= y + k * eps) -> x <= y.
Proof.
  intros K H. apply (limit k); [exact K|]. intros eps E. destruct (Qlt_le_dec 1 eps) as [L|L].
  - specialize (H 1 eq_refl ltac:(lra)). nra.
  - apply H; assumption.
Qed.

(** ** Two inequalities of e^x *)

Lemma sums_tanh n x : 0 <= x -> 2 * (exp_sum (S n) x - 1) <= x * (1 + exp_sum n x).
Proof.
  intro X. induction n as [|n IH].
  - cbn [exp_sum exp_term]. change (of_nat 1) with 1.
    assert (E : x / 1 == x) by field. rewrite E. lra.
  - cbn [exp_sum] in *. pose proof (exp_term_next (S n) x) as N. pose proof (of_nat_S (S n)) as S1.
    pose proof (of_nat_S n) as S2. pose proof (of_nat_nonneg n) as O.
    pose proof (exp_term_nonneg (S (S n)) x X). set (t := exp_term (S (S n)) x) in *.
    set (t' := exp_term (S n) x) in *. rewrite S1, S2 in N. nra.
Qed.

Lemma tanh_most a r x : 0 <= x -> exp_least a x -> exp_most r x -> 2 * (a - 1) <= x * (1 + r).
Proof.
  intros X A R. unfold exp_least, exp_most in *. rewrite (Qle_bool_positive x X) in *.
  destruct A as [n A]. specialize (R n). pose proof (sums_tanh n x X) as T.
  pose proof (exp_sum_more n (S n) x X ltac:(lia)). nra.
Qed.

Lemma term_doubled n x : 0 <= x -> of_nat (S n) * exp_term n x <= exp_term n (x + x).
Proof.
  intro X. induction n as [|n IH]; [cbn [exp_term]; change (of_nat 1) with 1; lra|].
  pose proof (exp_term_next n x) as N1. pose proof (exp_term_next n (x + x)) as N2.
  pose proof (exp_term_nonneg (S n) x X) as T. pose proof (of_nat_positive n) as P.
  rewrite (of_nat_S (S n)). pose proof (of_nat_S n) as S1. pose proof (of_nat_nonneg n) as O.
  set (k := of_nat (S n)) in *. set (t := exp_term (S n) x) in *.
  set (t' := exp_term (S n) (x + x)) in *.
  apply (Qmult_le_l _ _ k); [exact P|]. rewrite N2.
  apply Qle_trans with ((x + x) * (k * exp_term n x)).
  - setoid_replace ((x + x) * (k * exp_term n x)) with (2 * k * (x * exp_term n x)) by ring.
    rewrite <- N1. assert (0 <= k * t) by nra. nra.
  - rewrite !(Qmult_comm (x + x)). apply Qmult_le_compat_r; lra.
Qed.

Lemma sums_sinh n x : 0 <= x -> 1 + 2 * x * exp_sum n x <= exp_sum (S n) (x + x).
Proof.
  intro X. induction n as [|n IH].
  - cbn [exp_sum exp_term]. change (of_nat 1) with 1.
    assert (E : (x + x) / 1 == x + x) by field. rewrite E. lra.
  - change (exp_sum (S (S n)) (x + x)) with (exp_sum (S n) (x + x) + exp_term (S (S n)) (x + x)).
    cbn [exp_sum]. change (exp_sum n x + exp_term (S n) x) with (exp_sum (S n) x).
    pose proof (exp_term_next (S n) (x + x)) as N. pose proof (term_doubled (S n) x X) as D.
    pose proof (of_nat_positive (S n)) as P. cbn [exp_sum] in *.
    set (k := of_nat (S (S n))) in *. set (t := exp_term (S n) x) in *.
    assert (Y : 2 * x * t <= exp_term (S (S n)) (x + x)); [|lra].
    apply (Qmult_le_l _ _ k); [exact P|]. rewrite N.
    setoid_replace (k * (2 * x * t)) with ((k * t) * (x + x)) by ring.
    rewrite (Qmult_comm (x + x)). apply Qmult_le_compat_r; lra.
Qed.

Lemma sinh_least a r x : 0 <= x -> exp_least a x -> exp_most r x -> 1 + 2 * x * a <= r * r.
Proof.
  intros X A R. unfold exp_least, exp_most in *. rewrite (Qle_bool_positive x X) in *.
  destruct A as [n A]. specialize (R (S n)). pose proof (sums_sinh n x X) as T.
  pose proof (exp_sum_below x x X X (S n)) as B. pose proof (exp_sum_one (S n) x X). nra.
Qed.

(** ** e^y e^(z - y) = e^z *)

Lemma least_times a r b y z : y <= z -> 0 <= a ->
  exp_least a y -> exp_least r (z - y) -> exp_most b z -> a * r <= b.
Proof.
  intros L A0 A R B. assert (X : 0 <= z - y) by lra. pose proof (most_positive _ _ B) as B0.
  unfold exp_least in R. rewrite (Qle_bool_positive _ X) in R. destruct R as [n R].
  unfold exp_most in B. destruct (Qle_bool 0 z) eqn:Z.
  - apply Qle_bool_iff in Z.
    assert (A' : exp_least a (z - (z - y))).
    { apply (exp_least_below a a _ y); [apply Qle_refl|ring|exact A]. }
    pose proof (least_of_difference a z (z - y) b Z X A0 A' B n). nra.
  - pose proof (below_0 _ Z) as W. destruct B as [m B].
    unfold exp_least in A. destruct (Qle_bool 0 y) eqn:Y.
    { apply Qle_bool_iff in Y. rewrite Qle_bool_positive in Z by lra. discriminate. }
    pose proof (exp_sum_more m (m + n) _ W ltac:(lia)) as M1.
    pose proof (exp_sum_more n (m + n) _ X ltac:(lia)) as M2.
    pose proof (exp_sum_above _ _ W X (m + n)) as M3.
    rewrite (exp_sum_proper _ (- z + (z - y)) (- y)) in M3 by ring.
    specialize (A (m + n + (m + n))%nat). pose proof (exp_sum_one m _ W) as N1.
    pose proof (exp_sum_one n _ X) as N2.
    set (s := exp_sum m (- z)) in *. set (s' := exp_sum (m + n) (- z)) in *.
    set (q := exp_sum n (z - y)) in *. set (q' := exp_sum (m + n) (z - y)) in *.
    set (w := exp_sum (m + n + (m + n)) (- y)) in *.
    assert (P1 : s * q <= w) by nra.
    assert (P2 : a * (s * q) <= 1) by nra.
    assert (P3 : a * q <= a * q * (b * s)) by (assert (0 <= a * q) by nra; nra).
    assert (P4 : a * r <= a * q) by nra.
    assert (P5 : b * (a * (s * q)) <= b * 1) by (apply Qmult_le_l; assumption). lra.
Qed.

Lemma most_times b r c y z : y <= z ->
  exp_most b y -> exp_most r (z - y) -> exp_least c z -> c <= b * r.
Proof.
  intros L B R C. assert (X : 0 <= z - y) by lra. pose proof (most_positive _ _ B) as B0.
  pose proof (most_positive _ _ R) as R0.
  unfold exp_most in R. rewrite (Qle_bool_positive _ X) in R.
  unfold exp_least in C. destruct (Qle_bool 0 z) eqn:Z.
  - apply Qle_bool_iff in Z. destruct C as [n C].
    assert (B' : exp_most b (z - (z - y))).
    { apply (exp_most_above b b _ y); [apply Qle_refl|ring|exact B]. }
    pose proof (most_of_difference b z (z - y) r Z X B' R n). lra.
  - pose proof (below_0 _ Z) as W. destruct (Qlt_le_dec c 0) as [N|N]; [nra|].
    unfold exp_most in B. destruct (Qle_bool 0 y) eqn:Y.
    { apply Qle_bool_iff in Y. rewrite Qle_bool_positive in Z by lra. discriminate. }
    destruct B as [m B]. specialize (R m). specialize (C m).
    pose proof (exp_sum_below _ _ W X m) as M.
    rewrite (exp_sum_proper _ (- z + (z - y)) (- y)) in M by ring.
    pose proof (exp_sum_one m _ W) as N1. pose proof (exp_sum_one m _ X) as N2.
    set (s := exp_sum m (- z)) in *. set (q := exp_sum m (z - y)) in *.
    set (w := exp_sum m (- y)) in *.
    assert (P1 : w <= s * r) by nra.
    assert (P2 : 1 <= b * (s * r)) by nra.
    assert (P3 : c * 1 <= c * (b * (s * r))).
    { rewrite !(Qmult_comm c). apply Qmult_le_compat_r; lra. }
    assert (P4 : b * r * (c * s) <= b * r * 1) by (apply Qmult_le_l; nra). lra.
Qed.

(** e^-z = 1 / e^z *)

Lemma opp_opp z : - - z = z.
Proof.
  destruct z as [n d]. unfold Qopp. cbn [Qnum Qden]. rewrite Z.opp_involutive. reflexivity.
Qed.

Lemma least_opposite b z : exp_most b z -> exp_least (1 / b) (- z).
Proof.
  intro B. destruct (Qlt_le_dec z 0) as [L|L].
  - apply opposite_least; [lra|]. apply (exp_most_above b b _ z); [apply Qle_refl|ring|exact B].
  - apply inverse_least; assumption.
Qed.

Lemma most_opposite a z : 0 < a -> exp_least a z -> exp_most (1 / a) (- z).
Proof.
  intros P A. destruct (Qlt_le_dec z 0) as [L|L].
  - apply opposite_most; [lra|exact P|].
    apply (exp_least_below a a _ z); [apply Qle_refl|ring|exact A].
  - apply inverse_most; assumption.
Qed.

(** ** u / (1 + u) *)

Lemma ratio_1 u : 0 <= u -> 0 <= u / (1 + u) /\ u / (1 + u) <= 1.
Proof.
  intro U. split; [apply Qle_shift_div_l; lra|apply Qle_shift_div_r; lra].
Qed.

Lemma ratio_mono u v : 0 <= u -> u <= v -> u / (1 + u) <= v / (1 + v).
Proof.
  intros U L. apply Qle_shift_div_r; [lra|].
  setoid_replace (v / (1 + v) * (1 + u)) with (v * (1 + u) / (1 + v)) by (field; lra).
  apply Qle_shift_div_l; [lra|]. nra.
Qed.

Lemma ratio_near u v k : 0 <= u -> 0 <= v -> 0 <= k -> v <= u + k -> v / (1 + v) <= u / (1 + u) + k.
Proof.
  intros U V K L. destruct (Qlt_le_dec v u) as [N|N].
  - pose proof (ratio_mono v u V ltac:(lra)). lra.
  - apply Qle_shift_div_r; [lra|].
    setoid_replace ((u / (1 + u) + k) * (1 + v)) with ((u + k * (1 + u)) * (1 + v) / (1 + u))
      by (field; lra).
    apply Qle_shift_div_l; [lra|]. assert (1 <= (1 + u) * (1 + v)) by nra.
    assert (k * 1 <= k * ((1 + u) * (1 + v))).
    { rewrite !(Qmult_comm k). apply Qmult_le_compat_r; assumption. }
    lra.
Qed.

Lemma ratio_opposite u : 0 < u -> 1 / u / (1 + 1 / u) == 1 - u / (1 + u).
Proof. intro U. field. lra. Qed.

Lemma least_symmetric a z : value_least Sigmoid a z -> value_most Sigmoid (1 - a) (- z).
Proof.
  intros (e & E & A & L). destruct (Qlt_le_dec 0 e) as [P|P].
  - exists (1 / e). split; [apply most_opposite; assumption|].
    rewrite ratio_opposite by exact P. lra.
  - destruct (near (- z) 1 eq_refl) as (c & b & _ & _ & B & _). exists b. split; [exact B|].
    pose proof (most_positive _ _ B) as B0. pose proof (ratio_1 b ltac:(lra)).
    pose proof (ratio_mono e 0 E P) as M. change (0 / (1 + 0)) with 0 in M. lra.
Qed.

Lemma most_symmetric b z : value_most Sigmoid b z -> value_least Sigmoid (1 - b) (- z).
Proof.
  intros (e & B & L). pose proof (most_positive _ _ B) as E. exists (1 / e).
  split; [apply Qlt_le_weak, Qlt_shift_div_l; lra|]. split; [apply least_opposite; exact B|].
  rewrite ratio_opposite by exact E. lra.
Qed.

(** ** Numbers close to e^z, and what their ratios are close to *)

Definition close (k u z : Q) : Prop :=
  (forall b, exp_most b z -> u <= b + k) /\ (forall a, exp_least a z -> a <= u + k).

Section Close.

Variables k u z : Q.
Hypothesis K : 0 <= k.
Hypothesis U : 0 <= u.
Hypothesis C : close k u z.

Lemma close_least a : value_least Sigmoid a z -> a <= u / (1 + u) + k.
Proof.
  intros (e & E & A & L). apply (proj2 C) in A. pose proof (ratio_near u e k U E K A). lra.
Qed.

Lemma close_most b : value_most Sigmoid b z -> u / (1 + u) <= b + k.
Proof.
  intros (e & B & L). pose proof (most_positive _ _ B) as E. apply (proj1 C) in B.
  pose proof (ratio_near e u k ltac:(lra) U K B). lra.
Qed.

Lemma opposite_below a : value_least Sigmoid a (- z) -> a <= 1 - u / (1 + u) + k.
Proof.
  intro A. apply least_symmetric in A. rewrite opp_opp in A. apply close_most in A. lra.
Qed.

Lemma opposite_above b : value_most Sigmoid b (- z) -> 1 - u / (1 + u) <= b + k.
Proof.
  intro B. apply most_symmetric in B. rewrite opp_opp in B. apply close_least in B. lra.
Qed.

Lemma close_slope_least s : slope_least Sigmoid s z ->
  s <= u / (1 + u) * (1 - u / (1 + u)) + 2 * k.
Proof.
  pose proof (ratio_1 u U) as [P1 P2]. set (p := u / (1 + u)) in *.
  intros [S|(a & b & A0 & B0 & A & B & S)].
  - assert (0 <= p * (1 - p)) by nra. lra.
  - apply opposite_below in B. fold p in B.
    assert (A1 : a <= 1).
    { destruct A as (e & E & _ & L). pose proof (ratio_1 e E). lra. }
    apply close_least in A. fold p in A.
    assert (a * b <= a * (1 - p + k)).
    { rewrite !(Qmult_comm a). apply Qmult_le_compat_r; lra. }
    assert (a * (1 - p) <= (p + k) * (1 - p)) by (apply Qmult_le_compat_r; lra).
    assert (a * k <= 1 * k) by (apply Qmult_le_compat_r; lra).
    assert (0 <= k * p) by nra. lra.
Qed.

Lemma close_slope_most t : slope_most Sigmoid t z ->
  u / (1 + u) * (1 - u / (1 + u)) <= t + 2 * k.
Proof.
  pose proof (ratio_1 u U) as [P1 P2]. set (p := u / (1 + u)) in *.
  intros [T|(a & b & A & B & T)].
  - cbn in T. assert (0 <= (2 * p - 1) * (2 * p - 1)); [|lra].
    destruct (Qlt_le_dec (2 * p) 1); nra.
  - assert (A0 : 0 <= a).
    { destruct A as (e & E & L). apply most_positive in E. pose proof (ratio_1 e ltac:(lra)). lra. }
    assert (B0 : 0 <= b).
    { destruct B as (e & E & L). apply most_positive in E. pose proof (ratio_1 e ltac:(lra)). lra. }
    apply opposite_above in B. fold p in B. apply close_most in A. fold p in A.
    destruct (Qlt_le_dec 1 b) as [L|L].
    + assert (a * 1 <= a * b) by nra. nra.
    + assert (p * b <= (a + k) * b) by (apply Qmult_le_compat_r; lra).
      assert (p * (1 - p) <= p * (b + k)).
      { rewrite !(Qmult_comm p). apply Qmult_le_compat_r; lra. }
      assert (p * k <= 1 * k) by (apply Qmult_le_compat_r; lra).
      assert (b * k <= 1 * k) by (apply Qmult_le_compat_r; lra). lra.
Qed.

End Close.

Lemma one_least : exp_least 1 0.
Proof. unfold exp_least. cbn. exists O. cbn. lra. Qed.

Lemma one_most z : z <= 0 -> exp_most 1 z.
Proof.
  intro L. apply (exp_most_falls 1 z 0 L). unfold exp_most. cbn. intro n.
  rewrite exp_sum_0 by reflexivity. lra.
Qed.

(** Two of them, one for y and one for z, with what their ratios are to each other. *)

Lemma ratio_tangent_right u v x e : 0 <= u -> 0 <= v -> 0 <= e ->
  u * x * (1 + v) <= (v - u) * (1 + u) + e ->
  u / (1 + u) + u / (1 + u) * (1 - u / (1 + u)) * x <= v / (1 + v) + e.
Proof.
  intros U V E H. set (d := (1 + u) * (1 + u) * (1 + v)).
  assert (D : 1 <= d).
  { unfold d. assert (1 <= (1 + u) * (1 + u)) by nra. nra. }
  setoid_replace (v / (1 + v) + e) with
    (u / (1 + u) + u / (1 + u) * (1 - u / (1 + u)) * x +
     ((v - u) * (1 + u) - u * x * (1 + v) + e * d) / d) by (unfold d; field; repeat split; lra).
  assert (0 <= ((v - u) * (1 + u) - u * x * (1 + v) + e * d) / d); [|lra].
  apply Qle_shift_div_l; [lra|]. assert (e * 1 <= e * d); [|lra].
  rewrite !(Qmult_comm e). apply Qmult_le_compat_r; assumption.
Qed.

Lemma ratio_tangent_left u v x e : 0 <= u -> 0 <= v -> 0 <= e ->
  (v - u) * (1 + v) <= v * x * (1 + u) + e ->
  v / (1 + v) - v / (1 + v) * (1 - v / (1 + v)) * x <= u / (1 + u) + e.
Proof.
  intros U V E H. pose proof (ratio_tangent_right v u (- x) e V U E ltac:(lra)). lra.
Qed.

Lemma pair y z : y <= z -> z <= 0 -> exists k, 0 <= k /\ forall d, 0 < d -> d <= 1 ->
  exists u v, 0 <= u /\ 0 <= v /\ close (k * d) u y /\ close (k * d) v z /\
    let p := u / (1 + u) in let q := v / (1 + v) in
    p + p * (1 - p) * (z - y) <= q + k * d /\ q - q * (1 - q) * (z - y) <= p + k * d.
Proof.
  intros L Z. destruct (near (z - y) 1 eq_refl) as (_ & top & _ & _ & Top & _).
  assert (X : 0 <= z - y) by lra. pose proof (most_positive _ _ Top) as T0.
  exists (top + 3 + 2 * (z - y)). split; [lra|]. intros d D D1.
  destruct (near y d D) as (a & b & A0 & A & B & N).
  destruct (near (z - y) d D) as (r & s & R0 & R & S & M).
  pose proof (least_most _ _ _ R Top) as RT. pose proof (least_most _ _ _ R S) as RS.
  pose proof (tangent 1 s 0 (z - y) ltac:(lra) one_least S) as S1.
  pose proof (tangent r 1 (z - y) 0 ltac:(lra) R (one_most 0 (Qle_refl 0))) as R1.
  pose proof (sinh_least r s _ X R S) as Sh. pose proof (tanh_most r s _ X R S) as Th.
  pose proof (least_most _ _ _ A (one_most y ltac:(lra))) as A1.
  pose proof (fun w => least_times a r w y z L (Qlt_le_weak _ _ A0) A R) as Down.
  pose proof (fun c => most_times b s c y z L B S) as Up.
  pose proof (Down 1 (one_most z Z)) as V1.
  set (x := z - y) in *.
  set (u := a * r / s). assert (E : u * s == a * r) by (unfold u; field; lra).
  assert (U0 : 0 <= u) by (apply Qle_shift_div_l; [lra|nra]).
  assert (V0 : 0 <= a * r) by nra.
  assert (Ua : u <= a) by (apply Qle_shift_div_r; [lra|nra]).
  assert (Ad : a <= u + d).
  { assert (a * (s - r) <= 1 * d) by nra. assert ((a - u) * s <= d) by lra. nra. }
  assert (Kd : (3 + 2 * x) * d <= (top + 3 + 2 * x) * d) by (apply Qmult_le_compat_r; lra).
  assert (Xd : 0 <= x * d) by nra. assert (Td : 0 <= top * d) by nra.
  exists u, (a * r). repeat split; try assumption.
  - intros w W. pose proof (least_most _ _ _ A W). lra.
  - intros c C. pose proof (least_most _ _ _ C B). lra.
  - intros w W. specialize (Down w W). lra.
  - intros c C. specialize (Up c C). assert (b * s <= (a + d) * s) by nra.
    assert (a * s <= a * r + d) by nra. assert (d * s <= d * (top + 1)) by nra. lra.
  - apply ratio_tangent_right; [exact U0|exact V0|lra|]. rewrite <- E in *.
    set (v := u * s) in *.
    assert (P1 : 0 <= (1 - v) * (u * (s - 1 - x))) by (apply Qmult_le_0_compat; [lra|nra]).
    assert (P2 : - (2 * x * d) <= s * s - 1 - 2 * s * x) by nra.
    assert (P3 : 0 <= u * u * (s * s - 1 - 2 * s * x + 2 * x * d)).
    { apply Qmult_le_0_compat; nra. }
    assert (P4 : u * u * (x * d) <= 1 * (x * d)) by (apply Qmult_le_compat_r; nra).
    unfold v in *. lra.
  - apply ratio_tangent_left; [exact U0|exact V0|lra|]. rewrite <- E in *.
    assert (Q1 : s * (1 - x) <= 1 + d) by nra.
    set (v := u * s) in *.
    assert (P1 : 0 <= (1 - v) * (u * (s * x - s + 1 + d))).
    { apply Qmult_le_0_compat; [lra|apply Qmult_le_0_compat; lra]. }
    assert (P2 : 0 <= v * u * (x * (1 + s) - 2 * (s - 1) + 2 * d)).
    { apply Qmult_le_0_compat; [apply Qmult_le_0_compat|]; lra. }
    assert (P3 : (1 - v) * u <= 1) by nra. assert (P4 : v * u <= 1) by nra.
    assert (P5 : (1 - v) * u * d <= 1 * d) by (apply Qmult_le_compat_r; lra).
    assert (P6 : v * u * d <= 1 * d) by (apply Qmult_le_compat_r; lra).
    unfold v in *. lra.
Qed.

(** What the slope is not below, and what it does not exceed, as near each other as one likes. *)

Lemma slopes_near z eps : 0 < eps ->
  exists s t, slope_least Sigmoid s z /\ slope_most Sigmoid t z /\ t <= s + 2 * eps.
Proof.
  intro E. destruct (near z eps E) as (a & b & A0 & A & B & N).
  pose proof (most_positive _ _ B) as B0.
  exists (a / (1 + a) * (1 - b / (1 + b))), (b / (1 + b) * (1 - a / (1 + a))).
  assert (I1 : 0 < 1 / a) by (apply Qlt_shift_div_l; lra).
  assert (I2 : 0 < 1 / b) by (apply Qlt_shift_div_l; lra).
  pose proof (ratio_1 a ltac:(lra)) as [P1 P2]. pose proof (ratio_1 b ltac:(lra)) as [P3 P4].
  repeat split.
  - right. exists (a / (1 + a)), (1 - b / (1 + b)). repeat split; try lra.
    + exists a. repeat split; [lra|exact A|lra].
    + exists (1 / b). split; [lra|]. split; [apply least_opposite; exact B|].
      rewrite ratio_opposite by exact B0. lra.
  - right. exists (b / (1 + b)), (1 - a / (1 + a)). repeat split; try lra.
    + exists b. split; [exact B|lra].
    + exists (1 / a). split; [apply most_opposite; assumption|].
      rewrite ratio_opposite by exact A0. lra.
  - pose proof (ratio_near a b eps ltac:(lra) ltac:(lra) ltac:(lra) N) as M.
    set (p := a / (1 + a)) in *. set (q := b / (1 + b)) in *.
    setoid_replace (q * (1 - p)) with (p * (1 - q) + (q - p)) by ring. lra.
Qed.

(** ** Where it is convex *)

Definition values_of (F : Q -> Q) : Prop :=
  forall z, (forall a, value_least Sigmoid a z -> a - tiny <= F z) /\
            (forall b, value_most Sigmoid b z -> F z <= b + tiny).

Section Convex.

Variable F : Q -> Q.
Hypothesis H : values_of F.

Lemma value_close k u z : 0 <= k -> 0 <= u -> close k u z ->
  F z <= u / (1 + u) + k + tiny /\ u / (1 + u) - k - tiny <= F z.
Proof.
  intros K U C. split.
  - apply (limit 1); [lra|]. intros eps E. destruct (near z eps E) as (a & b & A0 & A & B & N).
    pose proof (most_positive _ _ B) as B0. pose proof (proj2 C a A) as D.
    pose proof (ratio_near u b (k + eps) U ltac:(lra) ltac:(lra) ltac:(lra)) as R.
    assert (V : value_most Sigmoid (b / (1 + b)) z) by (exists b; split; [exact B|lra]).
    apply (proj2 (H z)) in V. lra.
  - apply (limit 1); [lra|]. intros eps E. destruct (near z eps E) as (a & b & A0 & A & B & N).
    pose proof (proj1 C b B) as D.
    pose proof (ratio_near a u (k + eps) ltac:(lra) U ltac:(lra) ltac:(lra)) as R.
    assert (V : value_least Sigmoid (a / (1 + a)) z).
    { exists a. split; [lra|]. split; [exact A|lra]. }
    apply (proj1 (H z)) in V. lra.
Qed.

Lemma convex_slopes y z s t : slope_least Sigmoid s y -> slope_most Sigmoid t y ->
  y <= 0 -> z <= 0 -> F y + Qmin (s * (z - y)) (t * (z - y)) - 2 * tiny <= F z.
Proof.
  intros S T Y Z. destruct (Qlt_le_dec z y) as [L|L].
  - destruct (pair z y ltac:(lra) Y) as (k & K & P).
    apply (limit_1 (3 * k + 2 * k * (y - z))); [nra|]. intros d D D1.
    destruct (P d D D1) as (u & v & U & V & Cu & Cv & _ & G). cbv zeta in G.
    assert (Kd : 0 <= k * d) by nra.
    pose proof (close_slope_most _ _ _ Kd V Cv t T) as T1.
    pose proof (value_close _ _ _ Kd U Cu) as [_ Fz].
    pose proof (value_close _ _ _ Kd V Cv) as [Fy _].
    pose proof (Q.le_min_r (s * (z - y)) (t * (z - y))) as M.
    set (p := u / (1 + u)) in *. set (q := v / (1 + v)) in *. set (e := k * d) in *.
    assert (X : q * (1 - q) * (y - z) <= (t + 2 * e) * (y - z)) by (apply Qmult_le_compat_r; lra).
    unfold e in *. lra.
  - destruct (pair y z L Z) as (k & K & P).
    apply (limit_1 (3 * k + 2 * k * (z - y))); [nra|]. intros d D D1.
    destruct (P d D D1) as (u & v & U & V & Cu & Cv & G & _). cbv zeta in G.
    assert (Kd : 0 <= k * d) by nra.
    pose proof (close_slope_least _ _ _ Kd U Cu s S) as S1.
    pose proof (value_close _ _ _ Kd U Cu) as [Fy _].
    pose proof (value_close _ _ _ Kd V Cv) as [_ Fz].
    pose proof (Q.le_min_l (s * (z - y)) (t * (z - y))) as M.
    set (p := u / (1 + u)) in *. set (q := v / (1 + v)) in *. set (e := k * d) in *.
    assert (X : s * (z - y) <= (p * (1 - p) + 2 * e) * (z - y)) by (apply Qmult_le_compat_r; lra).
    unfold e in *. lra.
Qed.

Lemma convex_bends x y z : x <= y -> y <= z -> z <= 0 ->
  (z - x) * F y <= (z - y) * F x + (y - x) * F z + (z - x) * (2 * tiny).
Proof.
  intros L1 L2 Z. apply (limit (2 * ((z - y) * (y - x)))); [nra|]. intros eps E.
  destruct (slopes_near y eps E) as (s & t & S & T & N).
  pose proof (convex_slopes y x s t S T ltac:(lra) ltac:(lra)) as A.
  pose proof (convex_slopes y z s t S T ltac:(lra) ltac:(lra)) as B.
  assert (N0 : s <= t).
  { apply (limit 4); [lra|]. intros d D. destruct (near y d D) as (a & b & A0 & C1 & C2 & M).
    assert (C : close d a y).
    { split; intros w W.
      - pose proof (least_most _ _ _ C1 W). lra.
      - pose proof (least_most _ _ _ W C2). lra. }
    pose proof (close_slope_least d a y ltac:(lra) ltac:(lra) C s S).
    pose proof (close_slope_most d a y ltac:(lra) ltac:(lra) C t T). lra. }
  assert (MA : t * (x - y) <= Qmin (s * (x - y)) (t * (x - y))) by (apply Q.min_glb; nra).
  assert (MB : s * (z - y) <= Qmin (s * (z - y)) (t * (z - y))) by (apply Q.min_glb; nra).
  assert (A' : (z - y) * (F y + t * (x - y) - 2 * tiny) <= (z - y) * F x).
  { rewrite !(Qmult_comm (z - y)). apply Qmult_le_compat_r; lra. }
  assert (B' : (y - x) * (F y + s * (z - y) - 2 * tiny) <= (y - x) * F z).
  { rewrite !(Qmult_comm (y - x)). apply Qmult_le_compat_r; lra. }
  assert (C : (t - s) * ((z - y) * (y - x)) <= 2 * eps * ((z - y) * (y - x))).
  { apply Qmult_le_compat_r; [lra|nra]. }
  lra.
Qed.

End Convex.

(** ** Where it is concave *)

Section Concave.

Variable F : Q -> Q.
Hypothesis H : values_of F.

Definition mirrored (z : Q) : Q := 1 - F (- z).

Lemma mirrored_values : values_of mirrored.
Proof.
  intro z. unfold mirrored. split; intros w W.
  - apply least_symmetric in W. apply (proj2 (H (- z))) in W. lra.
  - apply most_symmetric in W. apply (proj1 (H (- z))) in W. lra.
Qed.

Lemma slope_least_mirrored s z : slope_least Sigmoid s z -> slope_least Sigmoid s (- z).
Proof.
  intros [S|(a & b & A0 & B0 & A & B & S)]; [left; exact S|right]. exists b, a.
  rewrite opp_opp. repeat split; try assumption. lra.
Qed.

Lemma slope_most_mirrored t z : slope_most Sigmoid t z -> slope_most Sigmoid t (- z).
Proof.
  intros [T|(a & b & A & B & T)]; [left; exact T|right]. exists b, a.
  rewrite opp_opp. repeat split; try assumption. lra.
Qed.

Lemma concave_slopes y z s t : slope_least Sigmoid s y -> slope_most Sigmoid t y ->
  0 <= y -> 0 <= z -> F z <= F y + Qmax (s * (z - y)) (t * (z - y)) + 2 * tiny.
Proof.
  intros S T Y Z. apply slope_least_mirrored in S. apply slope_most_mirrored in T.
  pose proof (convex_slopes mirrored mirrored_values _ (- z) s t S T ltac:(lra) ltac:(lra)) as A.
  unfold mirrored in A. rewrite !opp_opp in A.
  pose proof (Q.le_max_l (s * (z - y)) (t * (z - y))).
  pose proof (Q.le_max_r (s * (z - y)) (t * (z - y))).
  set (m := Qmax (s * (z - y)) (t * (z - y))) in *.
  assert (M : - m <= Qmin (s * (- z - - y)) (t * (- z - - y))) by (apply Q.min_glb; lra). lra.
Qed.

Lemma concave_bends x y z : x <= y -> y <= z -> 0 <= x ->
  (z - y) * F x + (y - x) * F z <= (z - x) * (F y + 2 * tiny).
Proof.
  intros L1 L2 X.
  pose proof (convex_bends mirrored mirrored_values (- z) (- y) (- x)
    ltac:(lra) ltac:(lra) ltac:(lra)) as A.
  unfold mirrored in A. rewrite !opp_opp in A. lra.
Qed.

End Concave.

Theorem sigmoid_shaped F : has_values Sigmoid F -> shaped Sigmoid F.
Proof.
  intro V. pose proof (values_near Sigmoid F V : values_of F) as H. split.
  - intros y z s t S T. cbn [convex concave].
    split; [apply (convex_slopes F H)|apply (concave_slopes F H)]; assumption.
  - intros x y z L1 L2. cbv zeta. cbn [convex concave].
    split; [intros _ Z; apply (convex_bends F H)|intros X _; apply (concave_bends F H)]; assumption.
Qed.

(** ** What is meant by faithful suffices *)

Theorem shape_of f F : faithful f F -> shaped f F.
Proof.
  intros [_ V S]. destruct f; [apply exp_shaped|apply sigmoid_shaped| |]; assumption.
Qed.
