(** * Of e^z only its values need be assumed

    That it rises, lies above its tangents and below its chords follows from them: e^d is at least
    1 + d. *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith Lqa Lia.
From Cfxc Require Import Semantics Curves CurvesProofs.
Open Scope Q_scope.

(** ** Limits *)

Lemma limit k x y : 0 <= k -> (forall eps, 0 < eps -> x <= y + k * eps) -> x <= y.
Proof.
  intros K H. destruct (Qlt_le_dec y x) as [L|L]; [|exact L].
  specialize (H ((x - y) / (2 * (k + 1)))).
  assert (P : 0 < (x - y) / (2 * (k + 1))) by (apply Qlt_shift_div_l; lra).
  specialize (H P). set (e := (x - y) / (2 * (k + 1))) in *.
  assert (E : e * (2 * (k + 1)) == x - y) by (unfold e; field; lra). nra.
Qed.

Lemma archimedes x : exists n, x <= of_nat n.
Proof.
  exists (Z.to_nat (Qceiling x)).
  apply Qle_trans with (inject_Z (Qceiling x)); [apply Qle_ceiling|].
  unfold of_nat. rewrite <- Zle_Qle. lia.
Qed.

Lemma of_nat_S n : of_nat (S n) == of_nat n + 1.
Proof. unfold of_nat. rewrite Nat2Z.inj_succ, <- Z.add_1_r, inject_Z_plus. reflexivity. Qed.

Lemma of_nat_nonneg n : 0 <= of_nat n.
Proof. unfold of_nat. change 0 with (inject_Z 0). rewrite <- Zle_Qle. lia. Qed.

Lemma of_nat_le n m : (n <= m)%nat -> of_nat n <= of_nat m.
Proof. intro H. unfold of_nat. rewrite <- Zle_Qle. lia. Qed.

(** ** The sums come near e^z *)

Lemma exp_term_small k z : 0 <= z -> 2 * z <= of_nat (S k) ->
  forall m, of_nat (S m) * exp_term (m + k) z <= exp_term k z.
Proof.
  intros Z H. induction m as [|m IH]; [cbn [Nat.add]; change (of_nat 1) with 1; lra|].
  cbn [Nat.add]. pose proof (exp_term_next (m + k) z) as N.
  pose proof (exp_term_nonneg (m + k) z Z) as T. pose proof (exp_term_nonneg (S (m + k)) z Z) as T1.
  pose proof (of_nat_le (S k) (S (m + k)) ltac:(lia)) as O.
  pose proof (of_nat_positive (m + k)) as P.
  assert (B : 2 * exp_term (S (m + k)) z <= exp_term (m + k) z).
  { assert (C : of_nat (S (m + k)) * (2 * exp_term (S (m + k)) z) <=
                of_nat (S (m + k)) * exp_term (m + k) z) by nra.
    apply Qmult_le_l in C; [exact C|exact P]. }
  rewrite (of_nat_S (S m)), (of_nat_S m) in *. pose proof (of_nat_nonneg m). nra.
Qed.

Lemma sums_near z eps : 0 <= z -> 0 < eps ->
  exists k, forall n, (k <= n)%nat -> forall m, exp_sum m z <= exp_sum n z + eps.
Proof.
  intros Z E. destruct (archimedes (2 * z)) as [k K].
  destruct (archimedes (exp_term k z / eps)) as [m M].
  exists (m + k)%nat. intros n N i.
  pose proof (of_nat_S k) as Sk.
  pose proof (exp_term_small k z Z ltac:(lra) m) as T.
  assert (O : 2 * z <= of_nat (S (m + k))).
  { pose proof (of_nat_le k (S (m + k)) ltac:(lia)). lra. }
  pose proof (exp_tail (m + k) z Z O i) as A. pose proof (exp_sum_more (m + k) n z Z N) as B.
  assert (C : exp_term (m + k) z <= eps); [|lra].
  assert (D : exp_term k z <= of_nat m * eps).
  { setoid_replace (exp_term k z) with (exp_term k z / eps * eps) by (field; lra).
    apply Qmult_le_compat_r; lra. }
  pose proof (of_nat_positive m) as P. rewrite (of_nat_S m) in *.
  apply (Qmult_le_l _ _ (of_nat m + 1)); [exact P|]. lra.
Qed.

Lemma below_0 z : Qle_bool 0 z = false -> 0 <= - z.
Proof.
  intro Z. destruct (Qlt_le_dec z 0); [lra|]. rewrite Qle_bool_positive in Z by assumption.
  discriminate.
Qed.

Lemma near z eps : 0 < eps ->
  exists a b, 0 < a /\ exp_least a z /\ exp_most b z /\ b <= a + eps.
Proof.
  intro E. unfold exp_least, exp_most. destruct (Qle_bool 0 z) eqn:Z.
  - apply Qle_bool_iff in Z. destruct (sums_near z eps Z E) as [k K].
    exists (exp_sum k z), (exp_sum k z + eps). pose proof (exp_sum_one k z Z).
    split; [lra|]. split; [exists k; lra|]. split; [apply K; lia|lra].
  - pose proof (below_0 _ Z) as W.
    destruct (sums_near (- z) eps W E) as [k K]. pose proof (exp_sum_one k (- z) W) as S.
    specialize (K k ltac:(lia)). set (s := exp_sum k (- z)) in *.
    exists (1 / (s + eps)), (1 / s). split; [apply Qlt_shift_div_l; lra|]. split; [|split].
    + intro n. specialize (K n).
      setoid_replace (1 / (s + eps) * exp_sum n (- z)) with (exp_sum n (- z) / (s + eps))
        by (field; lra).
      apply Qle_shift_div_r; lra.
    + exists k. fold s. setoid_replace (1 / s * s) with 1 by (field; lra). lra.
    + apply Qle_shift_div_r; [lra|].
      setoid_replace ((1 / (s + eps) + eps) * s) with (s * (1 + eps * (s + eps)) / (s + eps))
        by (field; lra).
      apply Qle_shift_div_l; [lra|]. assert (1 <= s * (s + eps)) by nra.
      assert (eps * 1 <= eps * (s * (s + eps))) by (apply Qmult_le_l; lra). lra.
Qed.

(** What is at most e^z is at most what is at least that. *)

Lemma least_most a b z : exp_least a z -> exp_most b z -> a <= b.
Proof.
  unfold exp_least, exp_most. destruct (Qle_bool 0 z) eqn:Z.
  - intros [n A] B. specialize (B n). lra.
  - pose proof (below_0 _ Z) as W.
    intros A [n B]. specialize (A n). pose proof (exp_sum_one n (- z) W).
    apply (Qmult_le_r _ _ (exp_sum n (- z))); lra.
Qed.

(** Of e^(p - q), in sums for p and for q. *)

Lemma least_of_difference a p q b : 0 <= p -> 0 <= q -> 0 <= a ->
  exp_least a (p - q) -> (forall n, exp_sum n p <= b) -> forall n, a * exp_sum n q <= b.
Proof.
  intros P Q0 A H B n. unfold exp_least in H. destruct (Qle_bool 0 (p - q)) eqn:Z.
  - apply Qle_bool_iff in Z. destruct H as [m H].
    pose proof (exp_sum_more m (m + n) (p - q) Z ltac:(lia)) as M1.
    pose proof (exp_sum_more n (m + n) q Q0 ltac:(lia)) as M2.
    pose proof (exp_sum_above (p - q) q Z Q0 (m + n)) as M3.
    rewrite (exp_sum_proper _ (p - q + q) p) in M3 by ring.
    specialize (B (m + n + (m + n))%nat). pose proof (exp_sum_one n q Q0). nra.
  - pose proof (below_0 _ Z) as W.
    specialize (H n). specialize (B n). pose proof (exp_sum_below (- (p - q)) p W P n) as M.
    rewrite (exp_sum_proper _ (- (p - q) + p) q) in M by ring.
    pose proof (exp_sum_one n p P). pose proof (exp_sum_one n _ W). nra.
Qed.

Lemma most_of_difference b p q c : 0 <= p -> 0 <= q ->
  exp_most b (p - q) -> (forall n, exp_sum n q <= c) -> forall n, exp_sum n p <= b * c.
Proof.
  intros P Q0 H C n. pose proof (most_positive _ _ H) as B. unfold exp_most in H.
  destruct (Qle_bool 0 (p - q)) eqn:Z.
  - apply Qle_bool_iff in Z. specialize (H n). specialize (C n).
    pose proof (exp_sum_below (p - q) q Z Q0 n) as M.
    rewrite (exp_sum_proper _ (p - q + q) p) in M by ring.
    pose proof (exp_sum_one n q Q0). nra.
  - pose proof (below_0 _ Z) as W.
    destruct H as [m H].
    pose proof (exp_sum_more m (m + n) _ W ltac:(lia)) as M1.
    pose proof (exp_sum_more n (m + n) p P ltac:(lia)) as M2.
    pose proof (exp_sum_above _ p W P (m + n)) as M3.
    rewrite (exp_sum_proper _ (- (p - q) + p) q) in M3 by ring.
    specialize (C (m + n + (m + n))%nat). pose proof (exp_sum_one n p P) as N.
    pose proof (exp_sum_one m _ W) as N1.
    set (s := exp_sum m (- (p - q))) in *. set (s' := exp_sum (m + n) (- (p - q))) in *.
    set (r := exp_sum n p) in *. set (r' := exp_sum (m + n) p) in *.
    assert (X : s * r <= c) by nra.
    apply Qle_trans with (b * s * r); [nra|]. nra.
Qed.

(** ** The tangent: e^y (1 + d) is at most e^(y + d) *)

Lemma below_geometric n x : 0 <= x -> x <= 1 ->
  exp_sum n x * (1 - x) <= 1 - x * exp_term n x.
Proof.
  intros X L. induction n as [|n IH]; [cbn; lra|]. cbn [exp_sum].
  pose proof (exp_term_next n x) as N. pose proof (exp_term_nonneg (S n) x X) as T.
  rewrite (of_nat_S n) in N. pose proof (of_nat_nonneg n). nra.
Qed.

Lemma sums_tangent n u v : 0 <= u -> 0 <= v -> 0 <= 1 + (v - u) -> (1 <= n)%nat ->
  exp_sum n u * (1 + (v - u)) <= exp_sum (n + n) v.
Proof.
  intros U V D N. pose proof (exp_sum_one n u U) as S1. destruct (Qlt_le_dec v u) as [L|L].
  - assert (W : 0 <= u - v) by lra. pose proof (below_geometric n (u - v) W ltac:(lra)) as G.
    pose proof (exp_term_nonneg n (u - v) W) as T. pose proof (exp_sum_below v (u - v) V W n) as B.
    rewrite (exp_sum_proper _ (v + (u - v)) u) in B by ring.
    pose proof (exp_sum_more n (n + n) v V ltac:(lia)) as M. pose proof (exp_sum_one n v V).
    pose proof (exp_sum_one n (u - v) W).
    set (s := exp_sum n (u - v)) in *.
    assert (X : s * (1 + (v - u)) <= 1) by nra.
    apply Qle_trans with (exp_sum n v * s * (1 + (v - u))); [nra|].
    apply Qle_trans with (exp_sum n v * 1); [nra|lra].
  - assert (W : 0 <= v - u) by lra. pose proof (exp_sum_above u (v - u) U W n) as B.
    rewrite (exp_sum_proper _ (u + (v - u)) v) in B by ring.
    pose proof (exp_sum_more 1 n (v - u) W N) as M. cbn [exp_sum exp_term] in M.
    change (of_nat 1) with 1 in M.
    assert (X : 1 + (v - u) <= exp_sum n (v - u)).
    { setoid_replace (v - u) with (1 * ((v - u) / 1)) at 1 by field. exact M. }
    nra.
Qed.

Lemma tangent a b y z : 0 <= a -> exp_least a y -> exp_most b z -> a * (1 + (z - y)) <= b.
Proof.
  intros A0 A B. pose proof (most_positive _ _ B) as B0.
  destruct (Qlt_le_dec (1 + (z - y)) 0) as [D|D]; [nra|].
  set (q := Qmax 0 (Qmax (- y) (- z))).
  assert (Q0 : 0 <= q) by apply Q.le_max_l.
  assert (M : Qmax (- y) (- z) <= q) by apply Q.le_max_r.
  assert (U : 0 <= y + q) by (pose proof (Q.le_max_l (- y) (- z)); lra).
  assert (V : 0 <= z + q) by (pose proof (Q.le_max_r (- y) (- z)); lra).
  apply (limit (b + (1 + (z - y)))); [lra|]. intros eps E.
  destruct (sums_near (y + q) eps U E) as [k1 K1]. destruct (sums_near q eps Q0 E) as [k2 K2].
  set (n := S (k1 + k2)).
  specialize (K1 n ltac:(unfold n; lia)). specialize (K2 n ltac:(unfold n; lia)).
  assert (A' : exp_least a (y + q - q)) by (apply (exp_least_below a a _ y); [lra|ring|exact A]).
  assert (B' : exp_most b (z + q - q)) by (apply (exp_most_above b b _ z); [lra|ring|exact B]).
  pose proof (least_of_difference a _ q _ U Q0 A0 A' K1 n) as P1.
  pose proof (most_of_difference b _ q _ V Q0 B' K2 (n + n)) as P2.
  pose proof (sums_tangent n _ _ U V ltac:(lra) ltac:(unfold n; lia)) as P3.
  pose proof (exp_sum_one n q Q0) as S1.
  set (s := exp_sum n q) in *. set (t := exp_sum n (y + q)) in *.
  set (w := exp_sum (n + n) (z + q)) in *.
  assert (X : t * (1 + (z - y)) <= w).
  { apply Qle_trans with (t * (1 + (z + q - (y + q)))); [|exact P3].
    setoid_replace (z + q - (y + q)) with (z - y) by ring. lra. }
  clear P3. set (d := 1 + (z - y)) in *.
  assert (Y : a * s * d <= (t + eps) * d) by (apply Qmult_le_compat_r; assumption).
  assert (G : (a * d - b) * s <= (b + d) * eps) by nra.
  destruct (Qlt_le_dec (a * d - b) 0) as [N|N]; [nra|].
  assert (a * d - b <= (a * d - b) * s) by nra. lra.
Qed.

(** ** Between multiples of 2^-1000: off by at most one *)

Lemma least_below f a b z : a <= b -> value_least f b z -> value_least f a z.
Proof.
  intro L. destruct f; cbn [value_least].
  - apply exp_least_below; [exact L|reflexivity].
  - intros (e & E & A & B). exists e. repeat split; [exact E|exact A|lra].
  - intros (e & A & B). exists e. split; [exact A|].
    apply (exp_most_falls _ (a - Qmax z 0) (b - Qmax z 0)); [lra|exact B].
  - destruct (Qle_bool 0 z).
    + intros (n & s & A & B). exists n, s. split; [exact A|lra].
    + intros [A|(s & t & A & B & C)]; [left; lra|]. right. exists s, t. repeat split; try assumption. lra.
Qed.

Lemma most_above f a b z : a <= b -> value_most f a z -> value_most f b z.
Proof.
  intro L. destruct f; cbn [value_most].
  - apply exp_most_above; [exact L|reflexivity].
  - intros (e & A & B). exists e. split; [exact A|lra].
  - intros (e & A & B). exists e. split; [exact A|].
    apply (exp_least_rises _ (a - Qmax z 0) (b - Qmax z 0)); [lra|exact B].
  - destruct (Qle_bool 0 z).
    + intros [A|(s & t & A & B & C)]; [left; lra|]. right. exists s, t. repeat split; try assumption. lra.
    + intros (n & s & A & B). exists n, s. split; [exact A|lra].
Qed.

Lemma multiple_below a : exists n, multiple n <= a /\ a - tiny <= multiple n.
Proof.
  set (d := inject_Z (2 ^ 1000)). exists (Qfloor (a * d)). set (n := Qfloor _).
  pose proof (Qfloor_le (a * d)) as L. pose proof (Qlt_floor (a * d)) as U. fold n in L, U.
  assert (D : 0 < d) by reflexivity.
  assert (M : forall m, multiple m * d == inject_Z m).
  { intro m. unfold multiple, d, Qeq, Qmult, inject_Z. cbn [Qnum Qden]. lia. }
  assert (T : multiple (n + 1) == multiple n + tiny) by apply units_plus.
  pose proof (M n) as Mn. pose proof (M (n + 1)%Z) as Mt.
  split; [|assert (a <= multiple (n + 1)); [|lra]]; apply (Qmult_le_r _ _ d D); lra.
Qed.

Lemma values_near f F : has_values f F -> forall z,
  (forall a, value_least f a z -> a - tiny <= F z) /\
  (forall b, value_most f b z -> F z <= b + tiny).
Proof.
  intros H z. split; intros a A.
  - destruct (multiple_below a) as (n & L & U).
    pose proof (proj1 (H z n) (least_below f _ _ z L A)). lra.
  - destruct (multiple_below (a + tiny)) as (n & L & U).
    assert (V : a <= multiple n) by lra.
    pose proof (proj2 (H z n) (most_above f _ _ z V A)). lra.
Qed.

(** Multiples of 2^-160 are among them. *)

Lemma grid_multiple n : grid n == multiple (n * 2 ^ 840).
Proof. unfold grid, multiple, Qeq. cbn [Qnum Qden]. lia. Qed.

Lemma grid_least f F z n : has_values f F -> value_least f (grid n) z -> grid n <= F z.
Proof.
  intros H V. rewrite grid_multiple. apply H. apply (least_below f _ (grid n)); [|exact V].
  rewrite grid_multiple. apply Qle_refl.
Qed.

Lemma grid_most f F z n : has_values f F -> value_most f (grid n) z -> F z <= grid n.
Proof.
  intros H V. rewrite grid_multiple. apply H. apply (most_above f (grid n)); [|exact V].
  rewrite grid_multiple. apply Qle_refl.
Qed.

(** ** Nothing is assumed of its shape *)

Section Shape.

Variable F : Q -> Q.
Hypothesis H : forall z, (forall a, value_least Exp a z -> a - tiny <= F z) /\
                         (forall b, value_most Exp b z -> F z <= b + tiny).

Lemma exp_slopes y z s t : slope_least Exp s y -> slope_most Exp t y ->
  F y + Qmin (s * (z - y)) (t * (z - y)) - 2 * tiny <= F z.
Proof.
  intros S [[]|T]. apply (limit (2 + Qabs (z - y))).
  { pose proof (Qabs_nonneg (z - y)). lra. }
  intros eps E. destruct (near y eps E) as (a & b & A0 & A & B & N).
  destruct (near z eps E) as (c & e & _ & C & D & M).
  pose proof (tangent a e y z (Qlt_le_weak _ _ A0) A D) as P.
  pose proof (least_most _ _ _ A T) as At. pose proof (least_most _ _ _ A B) as Ab.
  assert (Sb : s <= b) by (destruct S as [S|S]; [lra|exact (least_most _ _ _ S B)]).
  apply (proj2 (H y)) in B. apply (proj1 (H z)) in C.
  destruct (Qlt_le_dec (z - y) 0) as [L|L].
  - rewrite (Qabs_neg (z - y)) by lra. pose proof (Q.le_min_r (s * (z - y)) (t * (z - y))). nra.
  - rewrite (Qabs_pos (z - y)) by lra. pose proof (Q.le_min_l (s * (z - y)) (t * (z - y))). nra.
Qed.

Lemma exp_bends x y z : x <= y -> y <= z ->
  (z - x) * F y <= (z - y) * F x + (y - x) * F z + (z - x) * (2 * tiny).
Proof.
  intros L1 L2. apply (limit (2 * (z - x))); [lra|]. intros eps E.
  destruct (near y eps E) as (a & b & A0 & A & B & N).
  destruct (near x eps E) as (c & d & _ & C & D & M).
  destruct (near z eps E) as (e & f & _ & G & I & K).
  pose proof (tangent a d y x (Qlt_le_weak _ _ A0) A D) as P1.
  pose proof (tangent a f y z (Qlt_le_weak _ _ A0) A I) as P2.
  apply (proj2 (H y)) in B. apply (proj1 (H x)) in C. apply (proj1 (H z)) in G.
  assert (X : (z - y) * (a * (1 + (x - y))) <= (z - y) * (F x + tiny + eps)).
  { rewrite !(Qmult_comm (z - y)). apply Qmult_le_compat_r; lra. }
  assert (Y : (y - x) * (a * (1 + (z - y))) <= (y - x) * (F z + tiny + eps)).
  { rewrite !(Qmult_comm (y - x)). apply Qmult_le_compat_r; lra. }
  assert (W : (z - x) * F y <= (z - x) * (a + eps + tiny)).
  { rewrite !(Qmult_comm (z - x)). apply Qmult_le_compat_r; lra. }
  lra.
Qed.

End Shape.

Theorem exp_shaped F : has_values Exp F -> shaped Exp F.
Proof.
  intro V. pose proof (values_near Exp F V) as H. split.
  - intros y z s t S T. split; [intros _ _; apply (exp_slopes F H); assumption|intros []].
  - intros x y z L1 L2. cbv zeta.
    split; [intros _ _; apply (exp_bends F H); assumption|intros []].
Qed.
