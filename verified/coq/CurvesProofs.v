(** * They enclose what they should *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool Lqa Lia.
From Cfxc Require Import Semantics Curves.
Open Scope Q_scope.

(** ** Sums of n + 1 numbers *)

Fixpoint sigma (n : nat) (f : nat -> Q) : Q :=
  match n with O => f O | S m => sigma m f + f n end.

Lemma sigma_ext n f g : (forall i, (i <= n)%nat -> f i == g i) -> sigma n f == sigma n g.
Proof.
  induction n as [|n IH]; intro H; cbn [sigma]; [apply H; lia|].
  rewrite IH by (intros; apply H; lia). rewrite H by lia. reflexivity.
Qed.

Lemma sigma_le n f g : (forall i, (i <= n)%nat -> f i <= g i) -> sigma n f <= sigma n g.
Proof.
  induction n as [|n IH]; intro H; cbn [sigma]; [apply H; lia|].
  assert (sigma n f <= sigma n g) by (apply IH; intros; apply H; lia).
  specialize (H (S n) ltac:(lia)). lra.
Qed.

Lemma sigma_plus n f g : sigma n (fun i => f i + g i) == sigma n f + sigma n g.
Proof. induction n as [|n IH]; cbn [sigma]; [reflexivity|]. rewrite IH. ring. Qed.

Lemma sigma_scale n c f : sigma n (fun i => c * f i) == c * sigma n f.
Proof. induction n as [|n IH]; cbn [sigma]; [reflexivity|]. rewrite IH. ring. Qed.

Lemma sigma_first n f : sigma (S n) f == f O + sigma n (fun i => f (S i)).
Proof.
  induction n as [|n IH]; [reflexivity|].
  change (sigma (S (S n)) f) with (sigma (S n) f + f (S (S n))). rewrite IH. cbn [sigma]. ring.
Qed.

Lemma sigma_more n m f : (forall i, 0 <= f i) -> (n <= m)%nat -> sigma n f <= sigma m f.
Proof.
  intros H L. induction L as [|m L IH]; [lra|]. cbn [sigma]. specialize (H (S m)). lra.
Qed.

(** ** The sums of e^z *)

Lemma of_nat_positive n : 0 < of_nat (S n).
Proof. unfold of_nat. change 0 with (inject_Z 0). rewrite <- Zlt_Qlt. lia. Qed.

Lemma exp_term_next n z : of_nat (S n) * exp_term (S n) z == z * exp_term n z.
Proof. cbn [exp_term]. pose proof (of_nat_positive n). field. lra. Qed.

Lemma exp_term_nonneg n z : 0 <= z -> 0 <= exp_term n z.
Proof.
  intro Z. induction n as [|n IH]; [cbn; lra|]. cbn [exp_term].
  apply Qmult_le_0_compat; [exact IH|]. apply Qle_shift_div_l; [apply of_nat_positive|lra].
Qed.

Lemma exp_sum_sigma n z : exp_sum n z == sigma n (fun i => exp_term i z).
Proof. induction n as [|n IH]; [reflexivity|]. cbn [exp_sum sigma]. rewrite IH. reflexivity. Qed.

Lemma exp_sum_more n m z : 0 <= z -> (n <= m)%nat -> exp_sum n z <= exp_sum m z.
Proof.
  intros Z L. rewrite !exp_sum_sigma. apply sigma_more; [|exact L].
  intro i. apply exp_term_nonneg. exact Z.
Qed.

Lemma exp_sum_one n z : 0 <= z -> 1 <= exp_sum n z.
Proof. intro Z. exact (exp_sum_more 0 n z Z (Nat.le_0_l n)). Qed.

Lemma exp_term_mono n y z : 0 <= y -> y <= z -> exp_term n y <= exp_term n z.
Proof.
  intros Y L. induction n as [|n IH]; [cbn; lra|]. cbn [exp_term].
  pose proof (of_nat_positive n) as P. pose proof (exp_term_nonneg n y Y).
  assert (A : y / of_nat (S n) <= z / of_nat (S n)).
  { unfold Qdiv. apply Qmult_le_compat_r; [exact L|]. apply Qlt_le_weak, Qinv_lt_0_compat, P. }
  assert (B : 0 <= y / of_nat (S n)) by (apply Qle_shift_div_l; [exact P|lra]).
  nra.
Qed.

Lemma exp_sum_mono n y z : 0 <= y -> y <= z -> exp_sum n y <= exp_sum n z.
Proof.
  intros Y L. rewrite !exp_sum_sigma. apply sigma_le. intros. apply exp_term_mono; assumption.
Qed.

Lemma exp_term_proper n y z : y == z -> exp_term n y == exp_term n z.
Proof.
  intro E. induction n as [|n IH]; [reflexivity|]. cbn [exp_term]. rewrite IH.
  assert (D : y / of_nat (S n) == z / of_nat (S n)) by (unfold Qdiv; rewrite E; reflexivity).
  rewrite D. reflexivity.
Qed.

Lemma exp_sum_proper n y z : y == z -> exp_sum n y == exp_sum n z.
Proof.
  intro E. induction n as [|n IH]; [reflexivity|]. cbn [exp_sum].
  rewrite IH, (exp_term_proper (S n) y z E). reflexivity.
Qed.

(** *** The product of two: e^x e^y = e^(x + y) *)

Section Products.

Variables x y : Q.

Definition diagonal (k : nat) : Q := sigma k (fun i => exp_term i x * exp_term (k - i) y).

Lemma diagonal_next k : of_nat (S k) * diagonal (S k) == (x + y) * diagonal k.
Proof.
  unfold diagonal. rewrite <- sigma_scale.
  assert (E : sigma (S k) (fun i => of_nat (S k) * (exp_term i x * exp_term (S k - i) y)) ==
    sigma (S k) (fun i => of_nat i * exp_term i x * exp_term (S k - i) y) +
    sigma (S k) (fun i => of_nat (S k - i) * exp_term (S k - i) y * exp_term i x)).
  { rewrite <- sigma_plus. apply sigma_ext. intros i L.
    assert (N : of_nat (S k) == of_nat i + of_nat (S k - i)).
    { unfold of_nat. rewrite <- inject_Z_plus, <- Nat2Z.inj_add. replace (i + (S k - i))%nat with (S k) by lia.
      reflexivity. }
    rewrite N. ring. }
  rewrite E. rewrite (sigma_first k). cbn [sigma].
  rewrite Nat.sub_diag.
  assert (Z0 : of_nat 0 == 0) by reflexivity. rewrite !Z0.
  assert (A : sigma k (fun i => of_nat (S i) * exp_term (S i) x * exp_term (S k - S i) y) ==
              x * sigma k (fun i => exp_term i x * exp_term (k - i) y)).
  { rewrite <- sigma_scale. apply sigma_ext. intros i _. rewrite exp_term_next.
    change (S k - S i)%nat with (k - i)%nat. ring. }
  assert (B : sigma k (fun i => of_nat (S k - i) * exp_term (S k - i) y * exp_term i x) ==
              y * sigma k (fun i => exp_term i x * exp_term (k - i) y)).
  { rewrite <- sigma_scale. apply sigma_ext. intros i L.
    replace (S k - i)%nat with (S (k - i)) by lia. rewrite exp_term_next. ring. }
  rewrite A, B. ring.
Qed.

Lemma exp_term_plus k : exp_term k (x + y) == diagonal k.
Proof.
  induction k as [|k IH]; [reflexivity|].
  pose proof (diagonal_next k) as D. pose proof (exp_term_next k (x + y)) as E.
  pose proof (of_nat_positive k) as P. rewrite IH, <- D in E.
  apply (Qmult_inj_l _ _ (of_nat (S k))); [lra|exact E].
Qed.

Lemma exp_sum_plus n : exp_sum n (x + y) == sigma n (fun i => exp_term i x * exp_sum (n - i) y).
Proof.
  induction n as [|n IH]; [reflexivity|]. cbn [exp_sum]. rewrite IH, exp_term_plus.
  unfold diagonal. cbn [sigma]. rewrite Nat.sub_diag. cbn [exp_sum].
  rewrite (sigma_ext n (fun i => exp_term i x * exp_sum (S n - i) y)
    (fun i => exp_term i x * exp_sum (n - i) y + exp_term i x * exp_term (S n - i) y)).
  - rewrite sigma_plus. cbn [exp_term]. ring.
  - intros i L. replace (S n - i)%nat with (S (n - i)) by lia. cbn [exp_sum]. ring.
Qed.

Hypothesis X : 0 <= x.
Hypothesis Y : 0 <= y.

Lemma exp_sum_below n : exp_sum n (x + y) <= exp_sum n x * exp_sum n y.
Proof.
  rewrite exp_sum_plus, (exp_sum_sigma n x), Qmult_comm, <- sigma_scale. apply sigma_le.
  intros i L. rewrite (Qmult_comm (exp_sum n y)). apply Qmult_le_compat_nonneg.
  - split; [apply exp_term_nonneg; exact X|lra].
  - split; [|apply exp_sum_more; [exact Y|lia]]. pose proof (exp_sum_one (n - i) y Y). lra.
Qed.

Lemma exp_sum_above n : exp_sum n x * exp_sum n y <= exp_sum (n + n) (x + y).
Proof.
  rewrite exp_sum_plus, (exp_sum_sigma n x), Qmult_comm, <- sigma_scale.
  apply Qle_trans with (sigma n (fun i => exp_term i x * exp_sum (n + n - i) y)).
  - apply sigma_le. intros i L. rewrite (Qmult_comm (exp_sum n y)). apply Qmult_le_compat_nonneg.
    + split; [apply exp_term_nonneg; exact X|lra].
    + split; [|apply exp_sum_more; [exact Y|lia]]. pose proof (exp_sum_one n y Y). lra.
  - apply sigma_more; [|lia]. intro i. apply Qmult_le_0_compat; [apply exp_term_nonneg; exact X|].
    pose proof (exp_sum_one (n + n - i) y Y). lra.
Qed.

End Products.

(** *** What follows a term is less than that, where terms are halved from there on *)

Lemma exp_tail k z : 0 <= z -> 2 * z <= of_nat (S k) ->
  forall n, exp_sum n z <= exp_sum k z + exp_term k z.
Proof.
  intros Z H n. destruct (Nat.le_gt_cases n k) as [L|L].
  - pose proof (exp_sum_more n k z Z L). pose proof (exp_term_nonneg k z Z). lra.
  - assert (A : forall m, exp_sum (m + k) z <= exp_sum k z + exp_term k z - exp_term (m + k) z).
    { induction m as [|m IH]; [cbn [Nat.add]; lra|]. cbn [Nat.add exp_sum].
      pose proof (exp_term_next (m + k) z) as N. pose proof (exp_term_nonneg (m + k) z Z) as T.
      pose proof (exp_term_nonneg (S (m + k)) z Z) as T1.
      assert (O : of_nat (S k) <= of_nat (S (m + k))).
      { unfold of_nat. rewrite <- Zle_Qle. lia. }
      assert (B : 2 * exp_term (S (m + k)) z <= exp_term (m + k) z).
      { pose proof (of_nat_positive (m + k)) as P.
        assert (C : of_nat (S (m + k)) * (2 * exp_term (S (m + k)) z) <=
                    of_nat (S (m + k)) * exp_term (m + k) z) by nra.
        apply Qmult_le_l in C; [exact C|exact P]. }
      lra. }
    specialize (A (n - k)%nat). replace (n - k + k)%nat with n in A by lia.
    pose proof (exp_term_nonneg n z Z). lra.
Qed.

(** ** Multiples of 2^-160 *)

Lemma one_positive : (0 < one)%Z.
Proof. reflexivity. Qed.

Lemma grid_le a b : (a <= b)%Z <-> grid a <= grid b.
Proof. unfold grid, Qle. cbn [Qnum Qden]. split; intro; nia. Qed.

Lemma grid_0 : grid 0 == 0.
Proof. reflexivity. Qed.

Lemma grid_one : grid one == 1.
Proof. reflexivity. Qed.

Lemma grid_nonneg a : (0 <= a)%Z -> 0 <= grid a.
Proof. intro H. rewrite <- grid_0. apply (proj1 (grid_le 0 a)). exact H. Qed.

Lemma grid_plus a b : grid (a + b) == grid a + grid b.
Proof. unfold grid, Qeq, Qplus. cbn [Qnum Qden]. lia. Qed.

Lemma grid_opp a : grid (- a) == - grid a.
Proof. reflexivity. Qed.

Lemma grid_inject a : grid a * inject_Z one == inject_Z a.
Proof. unfold grid, one, Qeq, Qmult, inject_Z. cbn [Qnum Qden]. lia. Qed.

(** Of n / d: [grid (over n d up)] times d is at most, or at least, [grid n]. *)

Lemma over_down n d : (0 < d)%Z -> (over n d false * d <= n)%Z.
Proof. intro D. unfold over. pose proof (Z.mul_div_le n d D). lia. Qed.

Lemma over_up n d : (0 < d)%Z -> (n <= over n d true * d)%Z.
Proof. intro D. unfold over. pose proof (Z.mul_div_le (- n) d D). lia. Qed.

Lemma over_nonneg n d up : (0 <= n)%Z -> (0 < d)%Z -> (0 <= over n d up)%Z.
Proof.
  intros N D. unfold over. destruct up.
  - assert (- n / d <= 0)%Z; [|lia]. apply Z.div_le_upper_bound; lia.
  - apply Z.div_pos; lia.
Qed.

(** A product of two, over d: as [times_down] and [times_up] say.  The first may be of other units. *)

Lemma product_down (u : positive) a b d : (0 < d)%Z ->
  (over (a * b) (d * one) false # u) * inject_Z d <= (a # u) * grid b.
Proof.
  intro D. pose proof (over_down (a * b) (d * one) ltac:(unfold one; lia)) as H.
  unfold grid, one, Qle, Qmult, inject_Z in *. cbn [Qnum Qden] in *. nia.
Qed.

Lemma product_up (u : positive) a b d : (0 < d)%Z ->
  (a # u) * grid b <= (over (a * b) (d * one) true # u) * inject_Z d.
Proof.
  intro D. pose proof (over_up (a * b) (d * one) ltac:(unfold one; lia)) as H.
  unfold grid, one, Qle, Qmult, inject_Z in *. cbn [Qnum Qden] in *. nia.
Qed.

Lemma times_down a b d : (0 < d)%Z ->
  grid (over (a * b) (d * one) false) * inject_Z d <= grid a * grid b.
Proof. exact (product_down _ a b d). Qed.

Lemma times_up a b d : (0 < d)%Z ->
  grid a * grid b <= grid (over (a * b) (d * one) true) * inject_Z d.
Proof. exact (product_up _ a b d). Qed.

(** ** e^x *)

Lemma series_positive u k x up : (0 <= x)%Z ->
  (0 <= fst (exp_series (Zpos u) k x up))%Z /\ (Zpos u <= snd (exp_series (Zpos u) k x up))%Z.
Proof.
  intro X. induction k as [|k [T To]]; [split; [discriminate|apply Z.le_refl]|].
  cbn [exp_series]. destruct (exp_series (Zpos u) k x up) as [t s]. cbn [fst snd] in *.
  assert (N : (0 <= over (t * x) (Z.of_nat (S k) * one) up)%Z).
  { apply over_nonneg; [nia|]. unfold one. lia. }
  split; [exact N|lia].
Qed.

Lemma units_plus (u : positive) a b : (a + b # u) == (a # u) + (b # u).
Proof. unfold Qeq, Qplus. cbn [Qnum Qden]. lia. Qed.

Lemma units_nonneg (u : positive) a : (0 <= a)%Z -> 0 <= (a # u).
Proof. intro H. unfold Qle. cbn [Qnum Qden]. lia. Qed.

Lemma units_one (u : positive) : (Zpos u # u) == 1.
Proof. unfold Qeq. cbn -[Z.mul]. lia. Qed.

Lemma series_down u k x : (0 <= x)%Z ->
  (fst (exp_series (Zpos u) k x false) # u) <= exp_term k (grid x) /\
  (snd (exp_series (Zpos u) k x false) # u) <= exp_sum k (grid x).
Proof.
  intro X. induction k as [|k [T S]].
  { cbn [exp_series fst snd exp_term exp_sum]. rewrite (units_one u). split; lra. }
  pose proof (series_positive u k x false X) as [P _].
  cbn [exp_series exp_sum]. destruct (exp_series (Zpos u) k x false) as [t s]. cbn [fst snd] in *.
  pose proof (product_down u t x (Z.of_nat (Datatypes.S k)) ltac:(lia)) as H.
  pose proof (of_nat_positive k) as N. pose proof (grid_nonneg x X) as X0.
  set (t' := over (t * x) (Z.of_nat (Datatypes.S k) * one) false) in *.
  assert (A : (t' # u) <= exp_term (Datatypes.S k) (grid x)).
  { pose proof (exp_term_next k (grid x)) as E.
    assert (C : of_nat (Datatypes.S k) * (t' # u) <= of_nat (Datatypes.S k) * exp_term (Datatypes.S k) (grid x)).
    { rewrite E. unfold of_nat at 1. nra. }
    apply Qmult_le_l in C; [exact C|exact N]. }
  split; [exact A|]. rewrite units_plus. lra.
Qed.

Lemma series_up u k x : (0 <= x)%Z ->
  exp_term k (grid x) <= (fst (exp_series (Zpos u) k x true) # u) /\
  exp_sum k (grid x) <= (snd (exp_series (Zpos u) k x true) # u).
Proof.
  intro X. induction k as [|k [T S]].
  { cbn [exp_series fst snd exp_term exp_sum]. rewrite (units_one u). split; lra. }
  pose proof (series_positive u k x true X) as [P _].
  cbn [exp_series exp_sum]. destruct (exp_series (Zpos u) k x true) as [t s]. cbn [fst snd] in *.
  pose proof (product_up u t x (Z.of_nat (Datatypes.S k)) ltac:(lia)) as H.
  pose proof (of_nat_positive k) as N. pose proof (grid_nonneg x X) as X0.
  set (t' := over (t * x) (Z.of_nat (Datatypes.S k) * one) true) in *.
  assert (A : exp_term (Datatypes.S k) (grid x) <= (t' # u)).
  { pose proof (exp_term_next k (grid x)) as E.
    assert (C : of_nat (Datatypes.S k) * exp_term (Datatypes.S k) (grid x) <= of_nat (Datatypes.S k) * (t' # u)).
    { rewrite E. unfold of_nat at 1. nra. }
    apply Qmult_le_l in C; [exact C|exact N]. }
  split; [exact A|]. rewrite units_plus. lra.
Qed.

(** With its last term once more, it is at least all longer ones. *)

Lemma series_most u k x : (0 <= x)%Z -> 2 * grid x <= of_nat (S k) ->
  let (term, total) := exp_series (Zpos u) k x true in
  forall n, exp_sum n (grid x) <= (total + term # u).
Proof.
  intros X M. pose proof (series_up u k x X) as [S1 S2].
  destruct (exp_series (Zpos u) k x true) as [t s]. cbn [fst snd] in *. intro n. rewrite units_plus.
  pose proof (exp_tail k _ (grid_nonneg x X) M n). lra.
Qed.

(** What a number is not above, or not below, of e^z with z >= 0. *)

Definition under (a : Z) (z : Q) : Prop := (one <= a)%Z /\ exists n, grid a <= exp_sum n z.
Definition above (b : Z) (z : Q) : Prop := (one <= b)%Z /\ forall n, exp_sum n z <= grid b.

Lemma small_down x z : (0 <= x)%Z -> grid x <= z -> under (exp_small x false) z.
Proof.
  intros X L. unfold exp_small, one. pose proof (series_positive (2 ^ 160) 20 x false X) as [_ P].
  pose proof (series_down (2 ^ 160) 20 x X) as [_ S].
  change (Zpos (2 ^ 160)) with (2 ^ 160)%Z in *.
  destruct (exp_series (2 ^ 160) 20 x false) as [t s]. cbn [fst snd] in *.
  split; [exact P|]. exists 20%nat.
  apply Qle_trans with (exp_sum 20 (grid x)); [exact S|].
  apply exp_sum_mono; [apply grid_nonneg; exact X|exact L].
Qed.

Lemma small_up x z : (0 <= x)%Z -> grid x <= 10 -> 0 <= z -> z <= grid x -> above (exp_small x true) z.
Proof.
  intros X M Z L. unfold exp_small, one. pose proof (series_positive (2 ^ 160) 20 x true X) as [T P].
  assert (B : 2 * grid x <= of_nat 21) by (change (of_nat 21) with 21; lra).
  pose proof (series_most (2 ^ 160) 20 x X B) as S. change (Zpos (2 ^ 160)) with (2 ^ 160)%Z in *.
  destruct (exp_series (2 ^ 160) 20 x true) as [t s]. cbn [fst snd] in *.
  split; [unfold one; lia|]. intro n. specialize (S n). unfold grid.
  apply Qle_trans with (exp_sum n (grid x)); [apply exp_sum_mono; assumption|exact S].
Qed.

Lemma square_one y up : (one <= y)%Z -> (one <= over (y * y) one up)%Z.
Proof.
  intro Y. pose proof one_positive as P. unfold over. destruct up.
  - assert (- (y * y) / one <= - one)%Z; [|lia]. apply Z.div_le_upper_bound; nia.
  - apply Z.div_le_lower_bound; nia.
Qed.

Lemma square_down y z : 0 <= z -> under y z -> under (over (y * y) one false) (z + z).
Proof.
  intros Z [Y [n H]]. split; [apply square_one; exact Y|]. exists (n + n)%nat.
  pose proof (times_down y y 1 eq_refl) as T. rewrite Z.mul_1_l in T. change (inject_Z 1) with 1 in T.
  pose proof (exp_sum_above z z Z Z n) as E.
  assert (P : 0 <= grid y) by (apply grid_nonneg; pose proof one_positive; lia). nra.
Qed.

Lemma square_up y z : 0 <= z -> above y z -> above (over (y * y) one true) (z + z).
Proof.
  intros Z [Y H]. split; [apply square_one; exact Y|]. intro n. specialize (H n).
  pose proof (times_up y y 1 eq_refl) as T. rewrite Z.mul_1_l in T. change (inject_Z 1) with 1 in T.
  pose proof (exp_sum_below z z Z Z n) as E. pose proof (exp_sum_one n z Z). nra.
Qed.

Lemma squared_down k : forall y z, 0 <= z -> under y z ->
  under (squared k y false) (inject_Z (2 ^ Z.of_nat k) * z).
Proof.
  induction k as [|k IH]; intros y z Z H.
  - destruct H as [H [n E]]. split; [exact H|]. exists n. change (inject_Z (2 ^ Z.of_nat 0)) with 1.
    rewrite (exp_sum_proper n (1 * z) z) by ring. exact E.
  - cbn [squared]. specialize (IH _ (z + z) ltac:(lra) (square_down y z Z H)).
    destruct IH as [I [n E]]. split; [exact I|]. exists n.
    rewrite (exp_sum_proper n _ (inject_Z (2 ^ Z.of_nat k) * (z + z))); [exact E|].
    rewrite Nat2Z.inj_succ, Z.pow_succ_r, inject_Z_mult by lia. change (inject_Z 2) with 2. ring.
Qed.

Lemma squared_up k : forall y z, 0 <= z -> above y z ->
  above (squared k y true) (inject_Z (2 ^ Z.of_nat k) * z).
Proof.
  induction k as [|k IH]; intros y z Z H.
  - destruct H as [H E]. split; [exact H|]. intro n. change (inject_Z (2 ^ Z.of_nat 0)) with 1.
    rewrite (exp_sum_proper n (1 * z) z) by ring. apply E.
  - cbn [squared]. specialize (IH _ (z + z) ltac:(lra) (square_up y z Z H)).
    destruct IH as [I E]. split; [exact I|]. intro n.
    rewrite (exp_sum_proper n _ (inject_Z (2 ^ Z.of_nat k) * (z + z))); [apply E|].
    rewrite Nat2Z.inj_succ, Z.pow_succ_r, inject_Z_mult by lia. change (inject_Z 2) with 2. ring.
Qed.

Lemma halved x h : (0 <= h)%Z -> inject_Z (2 ^ h) * (grid x / inject_Z (2 ^ h)) == grid x.
Proof.
  intro H. field. intro E.
  assert (P : (0 < 2 ^ h)%Z) by (apply Z.pow_pos_nonneg; lia).
  rewrite (Zlt_Qlt 0) in P. rewrite E in P. apply (Qlt_irrefl 0). exact P.
Qed.

Lemma positive_down x : (0 <= x)%Z -> under (exp_positive x false) (grid x).
Proof.
  intro X. unfold exp_positive. set (h := (Z.max (bits x - 160) 0 + 5)%Z).
  assert (Hh : (0 <= h)%Z) by lia. set (z := grid x / inject_Z (2 ^ h)).
  assert (P : (0 < 2 ^ h)%Z) by (apply Z.pow_pos_nonneg; lia).
  assert (P' : 0 < inject_Z (2 ^ h)) by (rewrite (Zlt_Qlt 0) in P; exact P).
  assert (Z : 0 <= z) by (apply Qle_shift_div_l; [exact P'|]; pose proof (grid_nonneg x X); lra).
  assert (S : under (exp_small (over x (2 ^ h) false) false) z).
  { apply small_down; [apply over_nonneg; assumption|]. apply Qle_shift_div_l; [exact P'|].
    pose proof (over_down x (2 ^ h) P) as O.
    unfold grid, Qle, Qmult, inject_Z. cbn [Qnum Qden]. nia. }
  pose proof (squared_down (Z.to_nat h) _ z Z S) as [A [n E]]. split; [exact A|]. exists n.
  rewrite Z2Nat.id in E by exact Hh.
  rewrite (exp_sum_proper n (grid x) (inject_Z (2 ^ h) * z)); [exact E|].
  symmetry. apply halved. exact Hh.
Qed.

Lemma bits_bound x : (0 <= x)%Z -> (x < 2 ^ bits x)%Z.
Proof.
  intro X. unfold bits. destruct (Z.leb_spec x 0) as [L|L]; [assert (x = 0)%Z by lia; subst; reflexivity|].
  pose proof (Z.log2_spec x L) as [_ H]. rewrite Z.add_1_r. exact H.
Qed.

Lemma positive_up x : (0 <= x)%Z -> above (exp_positive x true) (grid x).
Proof.
  intro X. unfold exp_positive. set (h := (Z.max (bits x - 160) 0 + 5)%Z).
  assert (Hh : (0 <= h)%Z) by lia. set (z := grid x / inject_Z (2 ^ h)).
  assert (P : (0 < 2 ^ h)%Z) by (apply Z.pow_pos_nonneg; lia).
  assert (P' : 0 < inject_Z (2 ^ h)) by (rewrite (Zlt_Qlt 0) in P; exact P).
  assert (Z : 0 <= z) by (apply Qle_shift_div_l; [exact P'|]; pose proof (grid_nonneg x X); lra).
  assert (S : above (exp_small (over x (2 ^ h) true) true) z).
  { apply small_up; [apply over_nonneg; assumption| |exact Z|].
    - assert (Sm : (over x (2 ^ h) true <= one)%Z).
      { unfold over. assert (- one <= - x / 2 ^ h)%Z; [|lia]. apply Z.div_le_lower_bound; [exact P|].
        assert (B : (2 ^ bits x <= 2 ^ h * one)%Z).
        { unfold one. rewrite <- Z.pow_add_r by lia. apply Z.pow_le_mono_r; lia. }
        pose proof (bits_bound x X). lia. }
      apply grid_le in Sm. rewrite grid_one in Sm. lra.
    - apply Qle_shift_div_r; [exact P'|]. pose proof (over_up x (2 ^ h) P) as O.
      unfold grid, Qle, Qmult, inject_Z. cbn [Qnum Qden]. nia. }
  pose proof (squared_up (Z.to_nat h) _ z Z S) as [A E]. split; [exact A|]. intro n. specialize (E n).
  rewrite Z2Nat.id in E by exact Hh.
  rewrite (exp_sum_proper n (grid x) (inject_Z (2 ^ h) * z)); [exact E|].
  symmetry. apply halved. exact Hh.
Qed.

Lemma under_least a z : 0 <= z -> under a z -> exp_least (grid a) z.
Proof.
  intros Z [_ H]. unfold exp_least. replace (Qle_bool 0 z) with true by (symmetry; apply Qle_bool_iff; exact Z).
  exact H.
Qed.

Lemma above_most b z : 0 <= z -> above b z -> exp_most (grid b) z.
Proof.
  intros Z [_ H]. unfold exp_most. replace (Qle_bool 0 z) with true by (symmetry; apply Qle_bool_iff; exact Z).
  exact H.
Qed.

Lemma not_nonneg x : (x < 0)%Z -> Qle_bool 0 (grid x) = false.
Proof.
  intro H. destruct (Qle_bool 0 (grid x)) eqn:E; [|reflexivity]. apply Qle_bool_iff in E.
  rewrite <- grid_0 in E. apply (proj2 (grid_le 0 x)) in E. lia.
Qed.

Lemma far_small x : (x < - far)%Z -> exp_most (grid 1) (grid x).
Proof.
  intro H. unfold exp_most. assert (0 < far)%Z by reflexivity. rewrite not_nonneg by lia. exists 40%nat.
  apply Qle_trans with (grid 1 * exp_sum 40 1024); [vm_compute; discriminate|].
  assert (M : exp_sum 40 1024 <= exp_sum 40 (- grid x)).
  { apply exp_sum_mono; [discriminate|]. change (- grid x) with (grid (- x)).
    change 1024 with (inject_Z 1024). apply Qle_trans with (grid far); [vm_compute; discriminate|].
    apply (proj1 (grid_le _ _)). lia. }
  rewrite Qmult_comm, (Qmult_comm (grid 1)). apply Qmult_le_compat_r; [exact M|]. vm_compute. discriminate.
Qed.

Lemma some_same {A} (a b : A) : Some a = Some b -> a = b.
Proof. intro H. injection H as ->. reflexivity. Qed.

Theorem exp_at_down x a : exp_at x false = Some a -> (0 <= a)%Z /\ exp_least (grid a) (grid x).
Proof.
  unfold exp_at. destruct (Z.ltb_spec x 0) as [L|L].
  - intro H. apply some_same in H. subst. destruct (Z.ltb_spec x (- far)) as [Fa|Fa].
    + split; [lia|]. unfold exp_least. rewrite not_nonneg by exact L. intro n. rewrite grid_0.
      rewrite Qmult_0_l. discriminate.
    + change (negb false) with true. destruct (positive_up (- x) ltac:(lia)) as [P E].
      set (e := exp_positive (- x) true) in *. pose proof one_positive as O.
      split; [apply over_nonneg; [discriminate|lia]|]. unfold exp_least. rewrite not_nonneg by exact L.
      intro n. specialize (E n). change (grid (- x)) with (- grid x) in E.
      pose proof (over_down (one * one) e ltac:(lia)) as D.
      pose proof (over_nonneg (one * one) e false ltac:(discriminate) ltac:(lia)) as N.
      set (a := over (one * one) e false) in *. pose proof (grid_nonneg a N) as N'.
      assert (G : grid a * grid e <= 1).
      { unfold grid, Qle, Qmult. cbn [Qnum Qden]. unfold one in *. nia. }
      nra.
  - destruct (Z.ltb_spec far x); [discriminate|]. intro H1. apply some_same in H1. subst.
    pose proof (positive_down x L) as U. split; [destruct U; pose proof one_positive; lia|].
    apply under_least; [apply grid_nonneg; exact L|exact U].
Qed.

Lemma exp_at_one x a : (0 <= x)%Z -> exp_at x false = Some a -> (one <= a)%Z.
Proof.
  intro X. unfold exp_at. destruct (Z.ltb_spec x 0); [lia|].
  destruct (Z.ltb_spec far x); [discriminate|]. intro H1. apply some_same in H1. subst.
  destruct (positive_down x X) as [P _]. exact P.
Qed.

Theorem exp_at_up x b : exp_at x true = Some b -> exp_most (grid b) (grid x).
Proof.
  unfold exp_at. destruct (Z.ltb_spec x 0) as [L|L].
  - intro H. apply some_same in H. subst. destruct (Z.ltb_spec x (- far)) as [Fa|Fa]; [apply far_small; exact Fa|].
    change (negb true) with false. destruct (positive_down (- x) ltac:(lia)) as [P [n E]].
    set (e := exp_positive (- x) false) in *. pose proof one_positive as O.
    unfold exp_most. rewrite not_nonneg by exact L. exists n. change (grid (- x)) with (- grid x) in E.
    pose proof (over_up (one * one) e ltac:(lia)) as D.
    pose proof (over_nonneg (one * one) e true ltac:(discriminate) ltac:(lia)) as N.
    set (b := over (one * one) e true) in *. pose proof (grid_nonneg b N) as N'.
    assert (G : 1 <= grid b * grid e).
    { unfold grid, Qle, Qmult. cbn [Qnum Qden]. unfold one in *. nia. }
    nra.
  - destruct (Z.ltb_spec far x); [discriminate|]. intro H1. apply some_same in H1. subst.
    apply above_most; [apply grid_nonneg; exact L|apply positive_up; exact L].
Qed.

(** ** 1 / (1 + e^-x) *)

Lemma ratio_down a b : (0 <= b)%Z -> grid (over (one * a) (one + b) false) <= grid a / (1 + grid b).
Proof.
  intro B. pose proof (grid_nonneg b B) as B'. apply Qle_shift_div_l; [lra|].
  pose proof one_positive as P. pose proof (over_down (one * a) (one + b) ltac:(lia)) as D.
  set (r := over (one * a) (one + b) false) in *.
  setoid_replace (1 + grid b) with (grid (one + b)) by (rewrite grid_plus, grid_one; reflexivity).
  unfold grid, Qle, Qmult. cbn [Qnum Qden]. unfold one in *. nia.
Qed.

Lemma ratio_up a b : (0 <= b)%Z -> grid a / (1 + grid b) <= grid (over (one * a) (one + b) true).
Proof.
  intro B. pose proof (grid_nonneg b B) as B'. apply Qle_shift_div_r; [lra|].
  pose proof one_positive as P. pose proof (over_up (one * a) (one + b) ltac:(lia)) as D.
  set (r := over (one * a) (one + b) true) in *.
  setoid_replace (1 + grid b) with (grid (one + b)) by (rewrite grid_plus, grid_one; reflexivity).
  unfold grid, Qle, Qmult. cbn [Qnum Qden]. unfold one in *. nia.
Qed.

Lemma exp_sum_0 n z : z == 0 -> exp_sum n z == 1.
Proof.
  intro Z. assert (E : forall m, exp_term (S m) z == 0).
  { intro m. cbn [exp_term].
    assert (N : z / of_nat (S m) == 0) by (unfold Qdiv; rewrite Z; ring).
    rewrite N. ring. }
  induction n as [|n IH]; [reflexivity|]. cbn [exp_sum]. rewrite IH, E. ring.
Qed.

Lemma Qle_bool_negative z : 0 < z -> Qle_bool 0 (- z) = false.
Proof.
  intro Z. destruct (Qle_bool 0 (- z)) eqn:E; [|reflexivity]. apply Qle_bool_iff in E. lra.
Qed.

Lemma Qle_bool_positive z : 0 <= z -> Qle_bool 0 z = true.
Proof. intro Z. apply Qle_bool_iff. exact Z. Qed.

Lemma opposite_least s z : 0 <= z -> exp_most s (- z) -> 0 < s /\ exp_least (1 / s) z.
Proof.
  intros Z H. unfold exp_most, exp_least in *. rewrite (Qle_bool_positive z Z).
  destruct (Qlt_le_dec 0 z) as [P|P].
  - rewrite (Qle_bool_negative z P) in H. destruct H as [n H].
    rewrite (exp_sum_proper n (- - z) z) in H by ring.
    pose proof (exp_sum_one n z Z) as O.
    assert (S0 : 0 < s) by (apply Qnot_le_lt; intro N; nra).
    split; [exact S0|]. exists n. apply Qle_shift_div_r; [exact S0|]. lra.
  - rewrite Qle_bool_positive in H by lra. specialize (H 0%nat). cbn [exp_sum] in H.
    split; [lra|]. exists 0%nat. cbn [exp_sum]. apply Qle_shift_div_r; lra.
Qed.

Lemma opposite_most a z : 0 <= z -> 0 < a -> exp_least a (- z) -> exp_most (1 / a) z.
Proof.
  intros Z A H. unfold exp_most, exp_least in *. rewrite (Qle_bool_positive z Z). intro n.
  apply Qle_shift_div_l; [exact A|].
  destruct (Qlt_le_dec 0 z) as [P|P].
  - rewrite (Qle_bool_negative z P) in H. specialize (H n).
    rewrite (exp_sum_proper n (- - z) z) in H by ring. lra.
  - rewrite Qle_bool_positive in H by lra. destruct H as [m H].
    rewrite (exp_sum_0 m) in H by lra. rewrite (exp_sum_0 n) by lra. lra.
Qed.

Lemma some_most x : (0 <= x)%Z -> exists e, 0 < e /\ exp_most e (grid x).
Proof.
  intro X. pose proof (positive_up x X) as A. exists (grid (exp_positive x true)).
  split; [|apply above_most; [apply grid_nonneg; exact X|exact A]].
  destruct A as [A _]. pose proof (proj1 (grid_le _ _) A). rewrite grid_one in *. lra.
Qed.

Lemma most_positive e z : exp_most e z -> 0 < e.
Proof.
  unfold exp_most. destruct (Qle_bool 0 z) eqn:E; intro H.
  - specialize (H 0%nat). cbn [exp_sum] in H. lra.
  - destruct H as [n H].
    assert (Z : 0 <= - z).
    { destruct (Qlt_le_dec z 0); [lra|]. rewrite Qle_bool_positive in E by assumption. discriminate. }
    pose proof (exp_sum_one n (- z) Z). apply Qnot_le_lt. intro N. nra.
Qed.

Theorem sigmoid_at_down x a : sigmoid_at x false = Some a ->
  (0 <= a)%Z /\ value_least Sigmoid (grid a) (grid x).
Proof.
  unfold sigmoid_at. pose proof one_positive as P. destruct (Z.ltb_spec x 0) as [L|L].
  - rewrite Z.abs_neq, Z.opp_involutive by lia. change (Bool.eqb false true) with false.
    destruct (exp_at x false) as [s|] eqn:E; [|discriminate]. intro H. apply some_same in H. subst.
    apply exp_at_down in E as [S E]. split; [apply over_nonneg; nia|].
    exists (grid s). split; [apply grid_nonneg; exact S|]. split; [exact E|apply ratio_down; exact S].
  - rewrite Z.abs_eq by lia. change (Bool.eqb false false) with true.
    destruct (exp_at (- x) true) as [s|] eqn:E; [|discriminate]. intro H. apply some_same in H. subst.
    apply exp_at_up in E. pose proof (grid_nonneg x L) as X.
    change (grid (- x)) with (- grid x) in E. destruct (opposite_least _ _ X E) as [S0 Le].
    assert (S : (0 <= s)%Z) by (apply (proj2 (grid_le 0 s)); rewrite grid_0; lra).
    split; [apply over_nonneg; nia|]. exists (1 / grid s).
    assert (I : 0 < 1 / grid s) by (apply Qlt_shift_div_l; lra).
    split; [lra|]. split; [exact Le|].
    eapply Qle_trans; [apply ratio_down; exact S|]. rewrite grid_one.
    apply Qle_lteq. right. field. lra.
Qed.

Theorem sigmoid_at_up x b : sigmoid_at x true = Some b -> value_most Sigmoid (grid b) (grid x).
Proof.
  unfold sigmoid_at. pose proof one_positive as P. destruct (Z.ltb_spec x 0) as [L|L].
  - rewrite Z.abs_neq, Z.opp_involutive by lia. change (Bool.eqb true true) with true.
    destruct (exp_at x true) as [s|] eqn:E; [|discriminate]. intro H. apply some_same in H. subst.
    apply exp_at_up in E. pose proof (most_positive _ _ E) as S0.
    assert (S : (0 <= s)%Z) by (apply (proj2 (grid_le 0 s)); rewrite grid_0; lra).
    exists (grid s). split; [exact E|apply ratio_up; exact S].
  - rewrite Z.abs_eq by lia. change (Bool.eqb true false) with false.
    destruct (exp_at (- x) false) as [s|] eqn:E; [|discriminate]. intro H. apply some_same in H. subst.
    apply exp_at_down in E as [S E]. pose proof (grid_nonneg x L) as X.
    change (grid (- x)) with (- grid x) in E.
    destruct (Z.eq_dec s 0) as [Z0|Z0].
    + destruct (some_most x L) as (e & E0 & M). exists e. split; [exact M|].
      eapply Qle_trans; [|apply ratio_up; exact S]. subst s. rewrite grid_one, grid_0.
      apply Qle_shift_div_r; [lra|]. setoid_replace (1 / (1 + 0)) with 1 by reflexivity. lra.
    + assert (S0 : 0 < grid s).
      { apply Qnot_le_lt. intro N. rewrite <- grid_0 in N. apply (proj2 (grid_le s 0)) in N. lia. }
      exists (1 / grid s). split; [apply opposite_most; assumption|].
      eapply Qle_trans; [|apply ratio_up; exact S]. rewrite grid_one.
      assert (I : 0 < 1 / grid s) by (apply Qlt_shift_div_l; lra).
      apply Qle_lteq. right. field. lra.
Qed.

Theorem steep_at_down x a : steep_at x false = Some a -> slope_least Sigmoid (grid a) (grid x).
Proof.
  unfold steep_at. destruct (sigmoid_at x false) as [s|] eqn:E1; [|discriminate].
  destruct (sigmoid_at (- x) false) as [t|] eqn:E2; [|discriminate].
  intro H. apply some_same in H. subst.
  apply sigmoid_at_down in E1 as [S1 E1]. apply sigmoid_at_down in E2 as [S2 E2].
  right. exists (grid s), (grid t). split; [apply grid_nonneg; exact S1|].
  split; [apply grid_nonneg; exact S2|]. split; [exact E1|]. split; [exact E2|].
  pose proof (times_down s t 1 eq_refl) as T. rewrite Z.mul_1_l in T. change (inject_Z 1) with 1 in T. lra.
Qed.

Theorem steep_at_up x b : steep_at x true = Some b -> slope_most Sigmoid (grid b) (grid x).
Proof.
  unfold steep_at. destruct (sigmoid_at x true) as [s|] eqn:E1; [|discriminate].
  destruct (sigmoid_at (- x) true) as [t|] eqn:E2; [|discriminate].
  intro H. apply some_same in H. subst.
  apply sigmoid_at_up in E1. apply sigmoid_at_up in E2.
  right. exists (grid s), (grid t). split; [exact E1|]. split; [exact E2|].
  pose proof (times_up s t 1 eq_refl) as T. rewrite Z.mul_1_l in T. change (inject_Z 1) with 1 in T. lra.
Qed.

(** ** log (1 + e^x) *)

Lemma same_sign y z : y == z -> Qle_bool 0 y = Qle_bool 0 z.
Proof.
  intro E. destruct (Qle_bool 0 z) eqn:Z.
  - apply Qle_bool_iff in Z. apply Qle_bool_positive. lra.
  - destruct (Qle_bool 0 y) eqn:Y; [|reflexivity]. apply Qle_bool_iff in Y.
    rewrite Qle_bool_positive in Z by lra. discriminate.
Qed.

Lemma exp_least_below a b y z : a <= b -> y == z -> exp_least b z -> exp_least a y.
Proof.
  intros L E. unfold exp_least. rewrite (same_sign y z E). destruct (Qle_bool 0 z) eqn:Z.
  - intros [n H]. exists n. rewrite (exp_sum_proper n y z E). lra.
  - intros H n. specialize (H n). assert (E' : - y == - z) by (rewrite E; reflexivity).
    rewrite (exp_sum_proper n _ _ E').
    assert (P : 0 <= - z).
    { destruct (Qlt_le_dec z 0); [lra|]. rewrite Qle_bool_positive in Z by assumption. discriminate. }
    pose proof (exp_sum_one n _ P). nra.
Qed.

Lemma exp_most_above a b y z : a <= b -> y == z -> exp_most a z -> exp_most b y.
Proof.
  intros L E. unfold exp_most. rewrite (same_sign y z E). destruct (Qle_bool 0 z) eqn:Z.
  - intros H n. specialize (H n). rewrite (exp_sum_proper n y z E). lra.
  - intros [n H]. exists n. assert (E' : - y == - z) by (rewrite E; reflexivity).
    rewrite (exp_sum_proper n _ _ E').
    assert (P : 0 <= - z).
    { destruct (Qlt_le_dec z 0); [lra|]. rewrite Qle_bool_positive in Z by assumption. discriminate. }
    pose proof (exp_sum_one n _ P). nra.
Qed.

Lemma grid_max x : grid (Z.max x 0) == Qmax (grid x) 0.
Proof.
  destruct (Z.le_gt_cases x 0) as [L|L].
  - rewrite Z.max_r by lia. assert (X : grid x <= grid 0) by (apply (proj1 (grid_le x 0)); lia).
    rewrite grid_0 in X. rewrite (Q.max_r _ _ X). reflexivity.
  - rewrite Z.max_l by lia. assert (X : grid 0 <= grid x) by (apply (proj1 (grid_le 0 x)); lia).
    rewrite grid_0 in X. rewrite (Q.max_l _ _ X). reflexivity.
Qed.

Lemma fine_wanted s : ((one + s) * 2 ^ 96 # 2 ^ 256) == 1 + grid s.
Proof.
  transitivity (grid (one + s)).
  - unfold grid, one, Qeq. cbn [Qnum Qden]. lia.
  - rewrite grid_plus, grid_one. reflexivity.
Qed.

Lemma fine_le (a b : Z) : (a <= b)%Z -> (a # 2 ^ 256) <= (b # 2 ^ 256).
Proof. intro L. unfold Qle. cbn [Qnum Qden]. nia. Qed.

Theorem softplus_at_down x a : softplus_at x false = Some a -> value_least Softplus (grid a) (grid x).
Proof.
  unfold softplus_at. destruct (exp_at (- Z.abs x) false) as [s|] eqn:E; [|discriminate].
  unfold log_of. set (found := odd_series _ _ _ _ _ _). cbv zeta. change (negb false) with true.
  destruct (Z.leb_spec 0 found) as [P|]; [|destruct (exp_series _ _ _ _); discriminate].
  destruct (Z.leb_spec found one) as [O|]; [|destruct (exp_series _ _ _ _); discriminate].
  assert (B : 2 * grid found <= of_nat 46).
  { apply (proj1 (grid_le _ _)) in O. rewrite grid_one in O. change (of_nat 46) with 46. lra. }
  pose proof (series_most (2 ^ 256) 45 found P B) as S. change (Zpos (2 ^ 256)) with fine in S.
  destruct (exp_series fine 45 found true) as [t m]. cbn [andb].
  destruct (Z.leb_spec (m + t) ((one + s) * 2 ^ 96)) as [L|]; [|discriminate].
  intro H. apply some_same in H. subst.
  apply exp_at_down in E as [_ E]. exists (grid s). split; [exact E|].
  assert (G : grid (Z.max x 0 + found) - Qmax (grid x) 0 == grid found) by (rewrite grid_plus, grid_max; ring).
  apply (exp_most_above (1 + grid s) _ _ (grid found)); [lra|exact G|].
  unfold exp_most. rewrite Qle_bool_positive by (apply grid_nonneg; exact P). intro n. specialize (S n).
  apply fine_le in L. rewrite fine_wanted in L. lra.
Qed.

Theorem softplus_at_up x b : softplus_at x true = Some b -> value_most Softplus (grid b) (grid x).
Proof.
  unfold softplus_at. destruct (exp_at (- Z.abs x) true) as [s|] eqn:E; [|discriminate].
  unfold log_of. set (found := odd_series _ _ _ _ _ _). cbv zeta. change (negb true) with false.
  destruct (Z.leb_spec 0 found) as [P|]; [|destruct (exp_series _ _ _ _); discriminate].
  pose proof (series_down (2 ^ 256) 45 found P) as [_ S]. change (Zpos (2 ^ 256)) with fine in S.
  destruct (exp_series fine 45 found false) as [t m]. cbn [andb snd] in *.
  destruct (Z.leb_spec ((one + s) * 2 ^ 96) m) as [L|]; [|discriminate].
  intro H. apply some_same in H. subst.
  apply exp_at_up in E. exists (grid s). split; [exact E|].
  assert (G : grid (Z.max x 0 + found) - Qmax (grid x) 0 == grid found) by (rewrite grid_plus, grid_max; ring).
  apply (exp_least_below _ (1 + grid s) _ (grid found)); [lra|exact G|].
  unfold exp_least. rewrite Qle_bool_positive by (apply grid_nonneg; exact P). exists 45%nat.
  apply fine_le in L. rewrite fine_wanted in L. lra.
Qed.

(** ** The normal law *)

Lemma square_le x : grid (half_square x false) <= grid x * grid x / 2 /\
                    grid x * grid x / 2 <= grid (half_square x true).
Proof.
  pose proof (times_down x x 2 eq_refl) as A. pose proof (times_up x x 2 eq_refl) as B.
  change (inject_Z 2) with 2 in *. unfold half_square. split.
  - apply Qle_shift_div_l; [reflexivity|exact A].
  - apply Qle_shift_div_r; [reflexivity|exact B].
Qed.

Lemma exp_least_rises a y z : y <= z -> exp_least a y -> exp_least a z.
Proof.
  intros L H. unfold exp_least in *. destruct (Qle_bool 0 y) eqn:Y.
  - apply Qle_bool_iff in Y. rewrite Qle_bool_positive by lra. destruct H as [n H]. exists n.
    pose proof (exp_sum_mono n y z Y L). lra.
  - destruct (Qle_bool 0 z) eqn:Z.
    + apply Qle_bool_iff in Z. exists 0%nat. specialize (H 0%nat). cbn [exp_sum] in *. lra.
    + intro n. specialize (H n).
      assert (P : 0 <= - z).
      { destruct (Qlt_le_dec z 0); [lra|]. rewrite Qle_bool_positive in Z by assumption. discriminate. }
      pose proof (exp_sum_mono n (- z) (- y) P ltac:(lra)). pose proof (exp_sum_one n _ P).
      destruct (Qlt_le_dec a 0); nra.
Qed.

Lemma exp_most_falls b y z : y <= z -> exp_most b z -> exp_most b y.
Proof.
  intros L H. pose proof (most_positive b z H) as B0. unfold exp_most in *. destruct (Qle_bool 0 y) eqn:Y.
  - apply Qle_bool_iff in Y. rewrite Qle_bool_positive in H by lra. intro n. specialize (H n).
    pose proof (exp_sum_mono n y z Y L). lra.
  - assert (P : 0 <= - y).
    { destruct (Qlt_le_dec y 0); [lra|]. rewrite Qle_bool_positive in Y by assumption. discriminate. }
    destruct (Qle_bool 0 z) eqn:Z.
    + exists 0%nat. specialize (H 0%nat). cbn [exp_sum] in *. lra.
    + destruct H as [n H]. exists n.
      assert (P' : 0 <= - z).
      { destruct (Qlt_le_dec z 0); [lra|]. rewrite Qle_bool_positive in Z by assumption. discriminate. }
      pose proof (exp_sum_mono n (- z) (- y) P' ltac:(lra)). nra.
Qed.

Lemma root_down : grid 0 <= root_low /\ inject_Z (root false) == root_low * inject_Z root_places.
Proof. split; [discriminate|reflexivity]. Qed.

Lemma root_up : inject_Z (root true) == root_high * inject_Z root_places.
Proof. reflexivity. Qed.

Lemma by_root a up r : (0 <= a)%Z -> inject_Z (root up) == r * inject_Z root_places ->
  let b := over (a * root up) root_places up in
  if up then grid a * r <= grid b else grid b <= grid a * r.
Proof.
  intros A R. cbv zeta. assert (Pl : (0 < root_places)%Z) by reflexivity.
  assert (Pl' : 0 < inject_Z root_places) by reflexivity.
  assert (G : forall b c, (b * root_places <= c)%Z -> grid b * inject_Z root_places <= grid c).
  { intros b c H. unfold grid, Qle, Qmult, inject_Z. cbn [Qnum Qden]. nia. }
  assert (G' : forall b c, (c <= b * root_places)%Z -> grid c <= grid b * inject_Z root_places).
  { intros b c H. unfold grid, Qle, Qmult, inject_Z. cbn [Qnum Qden]. nia. }
  assert (P : forall c, grid (a * c) == grid a * inject_Z c).
  { intro c. unfold grid, Qeq, Qmult, inject_Z. cbn [Qnum Qden]. lia. }
  destruct up.
  - pose proof (G' _ _ (over_up (a * root true) root_places Pl)) as H. rewrite P, R in H.
    apply (Qmult_le_r _ _ (inject_Z root_places)); [exact Pl'|]. lra.
  - pose proof (G _ _ (over_down (a * root false) root_places Pl)) as H. rewrite P, R in H.
    apply (Qmult_le_r _ _ (inject_Z root_places)); [exact Pl'|]. lra.
Qed.

Theorem bell_at_down x a : bell_at x false = Some a -> bell_least (grid a) (grid x).
Proof.
  unfold bell_at. change (negb false) with true.
  destruct (exp_at (- half_square x true) false) as [e|] eqn:E; [|discriminate].
  intro H. apply some_same in H. subst. apply exp_at_down in E as [P E].
  exists (grid e). split; [apply grid_nonneg; exact P|]. split.
  - eapply exp_least_rises; [|exact E]. pose proof (square_le x) as [_ S].
    change (grid (- half_square x true)) with (- grid (half_square x true)). lra.
  - exact (by_root e false root_low P (proj2 root_down)).
Qed.

Theorem bell_at_up x b : bell_at x true = Some b -> bell_most (grid b) (grid x).
Proof.
  unfold bell_at. change (negb true) with false.
  destruct (exp_at (- half_square x false) true) as [e|] eqn:E; [|discriminate].
  intro H. apply some_same in H. subst. apply exp_at_up in E.
  assert (P : (0 <= e)%Z).
  { apply (proj2 (grid_le 0 e)). rewrite grid_0. apply Qlt_le_weak. apply (most_positive _ _ E). }
  exists (grid e). split.
  - eapply exp_most_falls; [|exact E]. pose proof (square_le x) as [S _].
    change (grid (- half_square x false)) with (- grid (half_square x false)). lra.
  - exact (by_root e true root_high P root_up).
Qed.

Lemma normal_step n : 0 < of_nat (2 * S n + 1).
Proof. unfold of_nat. change 0 with (inject_Z 0). rewrite <- Zlt_Qlt. lia. Qed.

Lemma normal_term_next n z :
  of_nat (2 * S n + 1) * normal_term (S n) z == z * z * normal_term n z.
Proof.
  change (normal_term (S n) z) with (normal_term n z * (z * z / of_nat (2 * S n + 1))).
  pose proof (normal_step n). field. lra.
Qed.

Lemma normal_term_nonneg n z : 0 <= z -> 0 <= normal_term n z.
Proof.
  intro Z. induction n as [|n IH]; [exact Z|].
  change (normal_term (S n) z) with (normal_term n z * (z * z / of_nat (2 * S n + 1))).
  apply Qmult_le_0_compat; [exact IH|]. apply Qle_shift_div_l; [apply normal_step|]. nra.
Qed.

Lemma normal_sum_more n m z : 0 <= z -> (n <= m)%nat -> normal_sum n z <= normal_sum m z.
Proof.
  intros Z L. induction L as [|m L IH]; [lra|]. cbn [normal_sum].
  pose proof (normal_term_nonneg (S m) z Z). lra.
Qed.

Lemma normal_tail k z : 0 <= z -> 2 * (z * z) <= of_nat (2 * S k + 1) ->
  forall n, normal_sum n z <= normal_sum k z + normal_term k z.
Proof.
  intros Z H n. destruct (Nat.le_gt_cases n k) as [L|L].
  - pose proof (normal_sum_more n k z Z L). pose proof (normal_term_nonneg k z Z). lra.
  - assert (A : forall m, normal_sum (m + k) z
                          <= normal_sum k z + normal_term k z - normal_term (m + k) z).
    { induction m as [|m IH]; [cbn [Nat.add]; lra|]. cbn [Nat.add normal_sum].
      pose proof (normal_term_next (m + k) z) as N. pose proof (normal_term_nonneg (m + k) z Z) as T.
      pose proof (normal_term_nonneg (S (m + k)) z Z) as T1.
      assert (O : of_nat (2 * S k + 1) <= of_nat (2 * S (m + k) + 1)).
      { unfold of_nat. rewrite <- Zle_Qle. lia. }
      assert (B : 2 * normal_term (S (m + k)) z <= normal_term (m + k) z).
      { pose proof (normal_step (m + k)) as P.
        assert (C : of_nat (2 * S (m + k) + 1) * (2 * normal_term (S (m + k)) z) <=
                    of_nat (2 * S (m + k) + 1) * normal_term (m + k) z) by nra.
        apply Qmult_le_l in C; [exact C|exact P]. }
      lra. }
    specialize (A (n - k)%nat). replace (n - k + k)%nat with n in A by lia.
    pose proof (normal_term_nonneg n z Z). lra.
Qed.

Lemma normal_series_nonneg k x square up : (0 <= x)%Z -> (0 <= square)%Z ->
  (0 <= fst (normal_series k x square up))%Z /\ (0 <= snd (normal_series k x square up))%Z.
Proof.
  intros X Q0. induction k as [|k [T To]]; [split; exact X|].
  cbn [normal_series]. destruct (normal_series k x square up) as [t s]. cbn [fst snd] in *.
  assert (N : (0 <= over (t * square) (Z.of_nat (2 * S k + 1) * one) up)%Z).
  { apply over_nonneg; [nia|]. unfold one. lia. }
  split; [exact N|lia].
Qed.

Lemma normal_series_down u k x square z : (0 <= x)%Z -> (0 <= square)%Z ->
  (x # u) <= z -> grid square <= z * z ->
  (fst (normal_series k x square false) # u) <= normal_term k z /\
  (snd (normal_series k x square false) # u) <= normal_sum k z.
Proof.
  intros X Q0 Z Sq. induction k as [|k [T To]]; [split; exact Z|].
  pose proof (normal_series_nonneg k x square false X Q0) as [P _].
  cbn [normal_series normal_sum]. destruct (normal_series k x square false) as [t s]. cbn [fst snd] in *.
  pose proof (product_down u t square (Z.of_nat (2 * S k + 1)) ltac:(lia)) as H.
  pose proof (normal_step k) as N. pose proof (units_nonneg u t P) as T0. pose proof (grid_nonneg _ Q0) as S0.
  set (t' := over (t * square) (Z.of_nat (2 * S k + 1) * one) false) in *.
  assert (A : (t' # u) <= normal_term (S k) z).
  { pose proof (normal_term_next k z) as E.
    assert (C : of_nat (2 * S k + 1) * (t' # u) <= of_nat (2 * S k + 1) * normal_term (S k) z).
    { rewrite E. unfold of_nat at 1. nra. }
    apply Qmult_le_l in C; [exact C|exact N]. }
  split; [exact A|]. rewrite units_plus. lra.
Qed.

Lemma normal_series_up k x square : (0 <= x)%Z -> (0 <= square)%Z -> grid x * grid x <= grid square ->
  normal_term k (grid x) <= grid (fst (normal_series k x square true)) /\
  normal_sum k (grid x) <= grid (snd (normal_series k x square true)).
Proof.
  intros X Q0 Sq. induction k as [|k [T To]]; [split; apply Qle_refl|].
  pose proof (normal_series_nonneg k x square true X Q0) as [P _].
  cbn [normal_series normal_sum]. destruct (normal_series k x square true) as [t s]. cbn [fst snd] in *.
  pose proof (times_up t square (Z.of_nat (2 * S k + 1)) ltac:(lia)) as H.
  pose proof (normal_step k) as N. pose proof (grid_nonneg t P) as T0. pose proof (grid_nonneg _ Q0) as S0.
  pose proof (normal_term_nonneg k (grid x) (grid_nonneg x X)) as M.
  set (t' := over (t * square) (Z.of_nat (2 * S k + 1) * one) true) in *.
  assert (A : normal_term (S k) (grid x) <= grid t').
  { pose proof (normal_term_next k (grid x)) as E. pose proof (grid_nonneg x X).
    assert (C : of_nat (2 * S k + 1) * normal_term (S k) (grid x) <= of_nat (2 * S k + 1) * grid t').
    { rewrite E. unfold of_nat at 1.
      assert (0 <= grid x * grid x) by nra.
      apply Qle_trans with (grid square * grid t); [|lra]. nra. }
    apply Qmult_le_l in C; [exact C|exact N]. }
  split; [exact A|]. rewrite grid_plus. lra.
Qed.

(** e^-w from e^w. *)

Lemma inverse_least s w : 0 <= w -> exp_most s w -> exp_least (1 / s) (- w).
Proof.
  intros W H. pose proof (most_positive s w H) as S0. unfold exp_most, exp_least in *.
  rewrite (Qle_bool_positive w W) in H. destruct (Qlt_le_dec 0 w) as [P|P].
  - rewrite (Qle_bool_negative w P). intro n. rewrite (exp_sum_proper n (- - w) w) by ring.
    specialize (H n). setoid_replace (1 / s * exp_sum n w) with (exp_sum n w / s) by (field; lra).
    apply Qle_shift_div_r; [exact S0|]. lra.
  - rewrite Qle_bool_positive by lra. exists 0%nat. specialize (H 0%nat). cbn [exp_sum] in *.
    apply Qle_shift_div_r; [exact S0|]. lra.
Qed.

Lemma inverse_most a w : 0 <= w -> 0 < a -> exp_least a w -> exp_most (1 / a) (- w).
Proof.
  intros W A H. unfold exp_most, exp_least in *.
  rewrite (Qle_bool_positive w W) in H. destruct H as [m H]. destruct (Qlt_le_dec 0 w) as [P|P].
  - rewrite (Qle_bool_negative w P). exists m. rewrite (exp_sum_proper m (- - w) w) by ring.
    setoid_replace (1 / a * exp_sum m w) with (exp_sum m w / a) by (field; lra).
    apply Qle_shift_div_l; [exact A|]. lra.
  - rewrite Qle_bool_positive by lra. intro n. rewrite (exp_sum_0 m) in H by lra.
    rewrite (exp_sum_0 n) by lra. apply Qle_shift_div_l; [exact A|]. lra.
Qed.

Lemma quotient_down a e : (0 < e)%Z -> grid (over (a * one) e false) * grid e <= grid a.
Proof.
  intro E. pose proof (over_down (a * one) e E) as H.
  unfold grid, Qle, Qmult. cbn [Qnum Qden]. unfold one in *. nia.
Qed.

Lemma quotient_up a e : (0 < e)%Z -> grid a <= grid (over (a * one) e true) * grid e.
Proof.
  intro E. pose proof (over_up (a * one) e E) as H.
  unfold grid, Qle, Qmult. cbn [Qnum Qden]. unfold one in *. nia.
Qed.

Lemma grid_half : grid (one / 2) == 1 # 2.
Proof. reflexivity. Qed.

Lemma grid_min a b : grid (Z.min a b) <= grid a /\ (grid (Z.min a b) == grid a \/ grid (Z.min a b) == grid b).
Proof.
  split; [apply (proj1 (grid_le _ _)); lia|].
  destruct (Z.min_spec a b) as [[_ ->]|[_ ->]]; [left|right]; reflexivity.
Qed.

Lemma grid_square x : grid (over (x * x) one false) <= grid x * grid x /\
                      grid x * grid x <= grid (over (x * x) one true).
Proof.
  pose proof (times_down x x 1 eq_refl) as A. pose proof (times_up x x 1 eq_refl) as B.
  rewrite Z.mul_1_l in A, B. change (inject_Z 1) with 1 in *. lra.
Qed.

Lemma normal_positive_down x a : (0 <= x)%Z -> normal_positive x false = Some a ->
  normal_above (grid a) (grid x).
Proof.
  intros X. unfold normal_positive. cbn [andb]. cbv zeta.
  set (square := over (x * x) one false). set (k := Z.to_nat _).
  assert (Q0 : (0 <= square)%Z) by (apply over_nonneg; [nia|reflexivity]).
  pose proof (normal_series_nonneg k x square false X Q0) as [_ P].
  pose proof (normal_series_down _ k x square _ X Q0 (Qle_refl _) (proj1 (grid_square x))) as [_ S].
  destruct (normal_series k x square false) as [t s]. cbn [fst snd] in *.
  change (grid s <= normal_sum k (grid x)) in S.
  change (negb false) with true.
  destruct (exp_at (half_square x true) true) as [e|] eqn:E; [|discriminate].
  intro H. apply some_same in H. subst. apply exp_at_up in E.
  pose proof (most_positive _ _ E) as E0. pose proof (square_le x) as [_ Hs].
  assert (W : 0 <= grid x * grid x / 2).
  { pose proof (grid_nonneg x X). apply Qle_shift_div_l; [reflexivity|]. nra. }
  pose proof (exp_most_falls _ _ _ Hs E) as E1. pose proof (inverse_least _ _ W E1) as E2.
  exists k, (1 / grid e * root_low). assert (I : 0 < 1 / grid e) by (apply Qlt_shift_div_l; lra).
  split.
  { exists (1 / grid e). split; [lra|]. split; [exact E2|apply Qle_refl]. }
  assert (Ez : (0 < e)%Z).
  { apply Z.nle_gt. intro N. apply (proj1 (grid_le e 0)) in N. rewrite grid_0 in N. lra. }
  set (q := over (s * one) e false). pose proof (quotient_down s e Ez) as Qd. fold q in Qd.
  assert (Qn : (0 <= q)%Z) by (apply over_nonneg; [unfold one; nia|exact Ez]).
  pose proof (by_root q false root_low Qn (proj2 root_down)) as B. cbv zeta in B. cbv iota in B.
  set (b := over (q * root false) root_places false) in *.
  destruct (grid_min (one / 2 + b) one) as [M _].
  eapply Qle_trans; [exact M|]. rewrite grid_plus, grid_half.
  assert (D : grid q <= 1 / grid e * normal_sum k (grid x)).
  { setoid_replace (1 / grid e * normal_sum k (grid x)) with (normal_sum k (grid x) / grid e) by (field; lra).
    apply Qle_shift_div_l; [exact E0|]. lra. }
  assert (R : 0 <= root_low) by discriminate.
  assert (C : grid q * root_low <= 1 / grid e * normal_sum k (grid x) * root_low)
    by (apply Qmult_le_compat_r; assumption).
  lra.
Qed.

Lemma series_long x : (0 <= x)%Z -> let square := over (x * x) one true in
  2 * (grid x * grid x) <= of_nat (2 * S (Z.to_nat ((138 + 5 * square / one) / 2)) + 1).
Proof.
  intros X square. pose proof (proj2 (grid_square x)) as G. fold square in G.
  assert (Q0 : (0 <= square)%Z) by (apply over_nonneg; [nia|reflexivity]).
  pose proof one_positive as P.
  assert (D0 : (0 <= 5 * square / one)%Z) by (apply Z.div_pos; lia).
  pose proof (Z.mul_succ_div_gt (5 * square) one P) as D1.
  set (d := (5 * square / one)%Z) in *.
  pose proof (Z.mul_succ_div_gt (138 + d) 2 eq_refl) as D2.
  set (h := ((138 + d) / 2)%Z) in *.
  assert (H0 : (0 <= h)%Z) by lia.
  assert (A : 5 * grid square <= inject_Z (d + 1)).
  { unfold grid, Qle, Qmult, inject_Z. cbn [Qnum Qden]. unfold one in D1. nia. }
  assert (B : 2 * inject_Z (d + 1) <= 5 * of_nat (2 * S (Z.to_nat h) + 1)).
  { unfold of_nat. change 2 with (inject_Z 2). change 5 with (inject_Z 5).
    rewrite <- !inject_Z_mult, <- Zle_Qle. lia. }
  lra.
Qed.

Lemma normal_positive_up x b : (0 <= x)%Z -> normal_positive x true = Some b ->
  normal_below (grid b) (grid x).
Proof.
  intros X. unfold normal_positive. cbn [andb].
  destruct (Z.ltb_spec wide x) as [L|L].
  { intro H. apply some_same in H. subst. left. rewrite grid_one. lra. }
  cbv zeta. pose proof (series_long x X) as Long. cbv zeta in Long.
  set (square := over (x * x) one true) in *. set (k := Z.to_nat _) in *.
  assert (Q0 : (0 <= square)%Z) by (apply over_nonneg; [nia|reflexivity]).
  pose proof (normal_series_nonneg k x square true X Q0) as [Pt P].
  pose proof (normal_series_up k x square X Q0 (proj2 (grid_square x))) as [St S].
  destruct (normal_series k x square true) as [t s]. cbn [fst snd] in *.
  change (negb true) with false.
  destruct (exp_at (half_square x false) false) as [e|] eqn:E; [|discriminate].
  intro H. apply some_same in H. subst.
  assert (Ep : (one <= e)%Z).
  { apply (exp_at_one (half_square x false)); [apply over_nonneg; [nia|reflexivity]|exact E]. }
  apply exp_at_down in E as [_ E].
  pose proof (square_le x) as [Hs _].
  assert (W : 0 <= grid x * grid x / 2).
  { pose proof (grid_nonneg x X). apply Qle_shift_div_l; [reflexivity|]. nra. }
  pose proof one_positive as O.
  set (q := over ((s + t) * one) e true). pose proof (quotient_up (s + t) e ltac:(lia)) as Qd.
  fold q in Qd. assert (Qn : (0 <= q)%Z) by (apply over_nonneg; [unfold one; nia|lia]).
  pose proof (by_root q true root_high Qn root_up) as B. cbv zeta in B. cbv iota in B.
  set (b := over (q * root true) root_places true) in *.
  assert (E0 : 0 < grid e).
  { apply (proj1 (grid_le one e)) in Ep. rewrite grid_one in Ep. lra. }
  assert (I : 0 < 1 / grid e) by (apply Qlt_shift_div_l; lra).
  destruct (grid_min (one / 2 + b) one) as [_ [M|M]]; [|left; rewrite M, grid_one; lra].
  right. exists (1 / grid e * root_high), (grid s + grid t). split; [|split].
  - exists (1 / grid e). split; [|apply Qle_refl]. apply inverse_most; [exact W|exact E0|].
    apply (exp_least_rises _ _ _ Hs E).
  - intro n. pose proof (normal_tail k (grid x) (grid_nonneg x X) Long n). lra.
  - rewrite M, grid_plus, grid_half. rewrite grid_plus in Qd.
    assert (D : 1 / grid e * (grid s + grid t) <= grid q).
    { setoid_replace (1 / grid e * (grid s + grid t)) with ((grid s + grid t) / grid e) by (field; lra).
      apply Qle_shift_div_r; [exact E0|]. lra. }
    assert (R : 0 <= root_high) by discriminate.
    assert (C : 1 / grid e * (grid s + grid t) * root_high <= grid q * root_high)
      by (apply Qmult_le_compat_r; assumption).
    lra.
Qed.

Theorem normal_at_down x a : normal_at x false = Some a -> value_least Normal (grid a) (grid x).
Proof.
  unfold normal_at. cbn [value_least negb]. destruct (Z.ltb_spec x 0) as [L|L].
  - rewrite (not_nonneg x L). destruct (normal_positive (- x) true) as [b|] eqn:E; [|discriminate].
    intro H. apply some_same in H. subst. apply normal_positive_up in E; [|lia].
    change (- grid x) with (grid (- x)).
    assert (S : 1 - grid (one - b) == grid b).
    { unfold Z.sub. rewrite grid_plus, grid_one, grid_opp. ring. }
    destruct E as [E|(s & t & A & B & C)]; [left; rewrite S; exact E|right].
    exists s, t. split; [exact A|]. split; [exact B|]. rewrite S. exact C.
  - rewrite (Qle_bool_positive _ (grid_nonneg x L)). apply normal_positive_down. exact L.
Qed.

Theorem normal_at_up x b : normal_at x true = Some b -> value_most Normal (grid b) (grid x).
Proof.
  unfold normal_at. cbn [value_most negb]. destruct (Z.ltb_spec x 0) as [L|L].
  - rewrite (not_nonneg x L). destruct (normal_positive (- x) false) as [a|] eqn:E; [|discriminate].
    intro H. apply some_same in H. subst. apply normal_positive_down in E; [|lia].
    change (- grid x) with (grid (- x)).
    assert (S : 1 - grid (one - a) == grid a).
    { unfold Z.sub. rewrite grid_plus, grid_one, grid_opp. ring. }
    destruct E as (n & s & A & B). exists n, s. split; [exact A|lra].
  - rewrite (Qle_bool_positive _ (grid_nonneg x L)). apply normal_positive_up. exact L.
Qed.

(** Of 16, with series in multiples of 2^-256: less than 2^-160 is missing to 1. *)

Definition units : positive := 2 ^ 256.
Definition most_128 : Z :=
  let (term, total) := exp_series (Zpos units) 500 (128 * one) true in total + term.
Definition sum_16 : Z := snd (normal_series 400 (16 * Zpos units) (256 * one) false).

Local Opaque exp_series normal_series exp_sum normal_sum.

Lemma most_of_128 : exp_most (most_128 # units) 128.
Proof.
  assert (B : 2 * grid (128 * one) <= of_nat 501) by (vm_compute; discriminate).
  pose proof (series_most units 500 (128 * one) ltac:(discriminate) B) as S.
  unfold most_128. destruct (exp_series (Zpos units) 500 (128 * one) true) as [t s].
  unfold exp_most. change (Qle_bool 0 128) with true. cbv iota. intro n. specialize (S n).
  rewrite (exp_sum_proper n 128 (grid (128 * one))) by reflexivity. exact S.
Qed.

Lemma sum_of_16 : (sum_16 # units) <= normal_sum 400 (grid wide).
Proof.
  assert (A : (16 * Zpos units # units) <= grid wide) by (vm_compute; discriminate).
  assert (B : grid (256 * one) <= grid wide * grid wide) by (vm_compute; discriminate).
  pose proof (normal_series_down units 400 (16 * Zpos units) (256 * one) (grid wide)
    ltac:(discriminate) ltac:(discriminate) A B) as [_ S]. exact S.
Qed.

Lemma far_value : grid (one - 1) <= (1 # 2) + 1 / (most_128 # units) * root_low * (sum_16 # units).
Proof. vm_compute. discriminate. Qed.

Lemma wide_enough : normal_above (grid (one - 1)) (grid wide).
Proof.
  pose proof most_of_128 as M. pose proof sum_of_16 as S. pose proof far_value as D.
  set (e := most_128 # units) in *. set (s := sum_16 # units) in *. clearbody e s.
  pose proof (most_positive _ _ M) as E0. assert (I : 0 < 1 / e) by (apply Qlt_shift_div_l; lra).
  exists 400%nat, (1 / e * root_low). split.
  - exists (1 / e). split; [lra|]. split; [|apply Qle_refl].
    apply (exp_least_below _ (1 / e) _ (- (128))); [apply Qle_refl|reflexivity|].
    apply inverse_least; [discriminate|exact M].
  - assert (P : 0 <= root_low) by discriminate.
    assert (R : 0 <= 1 / e * root_low) by nra.
    assert (C : 1 / e * root_low * s <= 1 / e * root_low * normal_sum 400 (grid wide)); [|lra].
    rewrite !(Qmult_comm (1 / e * root_low)). apply Qmult_le_compat_r; assumption.
Qed.
