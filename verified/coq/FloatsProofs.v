(** * Floats: the nearest is nearest, rounding keeps order, and the floats beside a number *)

From Coq Require Import QArith Qabs Qminmax Qround Qpower ZArith List Bool Lia Lqa Setoid Morphisms.
From Cfxc Require Import Semantics Features.
Open Scope Q_scope.

Lemma Qabs_cases x : (0 <= x /\ Qabs x == x) \/ (x <= 0 /\ Qabs x == - x).
Proof.
  destruct (Qlt_le_dec x 0) as [H | H].
  - right. split; [lra | apply Qabs_neg; lra].
  - left. split; [assumption | apply Qabs_pos; assumption].
Qed.

Ltac absolute_of x :=
  destruct (Qabs_cases x) as [[? ?] | [? ?]]; generalize dependent (Qabs x); intros.

Ltac absolute := repeat match goal with
  | |- context [Qabs ?x] => absolute_of x
  | _ : context [Qabs ?x] |- _ => absolute_of x
  end.

(** ** Powers of two *)

Lemma pow2_power e : pow2 e == 2 ^ e.
Proof.
  unfold pow2. destruct (Z.leb_spec 0 e) as [H | H].
  - rewrite Zpower_Qpower by assumption. reflexivity.
  - assert (R : 2 ^ e == / inject_Z (2 ^ (- e))).
    { rewrite Zpower_Qpower, <- Qpower_opp by lia. rewrite Z.opp_involutive. reflexivity. }
    rewrite R. assert (P : (0 < 2 ^ (- e))%Z) by (apply Z.pow_pos_nonneg; lia).
    destruct (2 ^ (- e))%Z; try lia. reflexivity.
Qed.

Lemma pow2_pos e : 0 < pow2 e.
Proof. rewrite pow2_power. apply Qpower_0_lt. reflexivity. Qed.

Lemma pow2_plus a b : pow2 (a + b) == pow2 a * pow2 b.
Proof. rewrite !pow2_power. apply Qpower_plus. discriminate. Qed.

Lemma pow2_le a b : (a <= b)%Z -> pow2 a <= pow2 b.
Proof. intros. rewrite !pow2_power. apply Qpower_le_compat_l; [assumption | discriminate]. Qed.

Lemma pow2_lt_inv a b : pow2 a < pow2 b -> (a < b)%Z.
Proof. rewrite !pow2_power. intros. apply Qpower_lt_compat_l_inv with 2; [assumption | reflexivity]. Qed.

Lemma pow2_whole e : (0 <= e)%Z -> pow2 e == inject_Z (2 ^ e).
Proof. intros. unfold pow2. destruct (Z.leb_spec 0 e); [reflexivity | lia]. Qed.

(** A greater power is a multiple of a lesser one. *)

Lemma pow2_split a b : (a <= b)%Z -> pow2 b == inject_Z (2 ^ (b - a)) * pow2 a.
Proof.
  intros. rewrite <- pow2_whole, <- pow2_plus by lia. replace (b - a + a)%Z with b by lia. reflexivity.
Qed.

Lemma pow2_next e : pow2 (e + 1) == 2 * pow2 e.
Proof. rewrite pow2_plus. change (pow2 1) with 2. ring. Qed.

Opaque pow2.

(** ** Whole numbers among rationals *)

Lemma whole_le a b : inject_Z a <= inject_Z b -> (a <= b)%Z.
Proof. rewrite <- Zle_Qle. trivial. Qed.

Lemma whole_lt a b : inject_Z a < inject_Z b -> (a < b)%Z.
Proof. rewrite <- Zlt_Qlt. trivial. Qed.

Lemma whole_step a b : (a < b)%Z -> inject_Z a + 1 <= inject_Z b.
Proof.
  intros. change 1 with (inject_Z 1). rewrite <- inject_Z_plus, <- Zle_Qle. lia.
Qed.

Lemma Zabs_whole m b : (Z.abs m <= b)%Z -> - inject_Z b <= inject_Z m /\ inject_Z m <= inject_Z b.
Proof. intros. rewrite <- inject_Z_opp, <- !Zle_Qle. lia. Qed.

(** ** The nearest whole number *)

Definition nearest_even (x : Q) (k : Z) : Prop :=
  -(1) <= 2 * (x - inject_Z k) /\ 2 * (x - inject_Z k) <= 1 /\
  (2 * (x - inject_Z k) == 1 \/ 2 * (x - inject_Z k) == -(1) -> Z.even k = true).

Lemma round_even_whole n d :
  let k := round_even (n # d) in let r := (2 * (n - Zpos d * k))%Z in
  (- Zpos d <= r /\ r <= Zpos d /\ (r = Zpos d \/ r = - Zpos d -> Z.even k = true))%Z.
Proof.
  unfold round_even. pose proof (Z_div_mod n (Zpos d) eq_refl) as D.
  destruct (Z.div_eucl n (Zpos d)) as [k r]. destruct D as [D R]. subst n.
  destruct (Z.compare_spec (2 * r) (Zpos d)).
  - destruct (Z.even k) eqn:E; repeat split; try lia; intros _; [assumption |].
    rewrite Z.even_add, E. reflexivity.
  - repeat split; lia.
  - repeat split; lia.
Qed.

Lemma part_of n d k :
  2 * ((n # d) - inject_Z k) == (2 * (n - Zpos d * k))%Z # d.
Proof. unfold Qeq, Qminus, Qplus, Qmult, Qopp, inject_Z; cbn [Qnum Qden]. lia. Qed.

Lemma round_even_nearest x : nearest_even x (round_even x).
Proof.
  destruct x as [n d]. pose proof (round_even_whole n d) as [A [B C]].
  unfold nearest_even. rewrite part_of.
  set (r := (2 * (n - Zpos d * round_even (n # d)))%Z) in *.
  repeat split.
  - unfold Qle, Qopp; cbn [Qnum Qden]. lia.
  - unfold Qle; cbn [Qnum Qden]. lia.
  - unfold Qeq, Qopp; cbn [Qnum Qden]. intros H. apply C. lia.
Qed.

Lemma nearest_even_le x y k m :
  x == y -> nearest_even x k -> nearest_even y m -> (m <= k)%Z.
Proof.
  intros E [_ [A C]] [B [_ D]]. destruct (Z.le_gt_cases m k) as [H | H]; [assumption |].
  pose proof (whole_step k m H) as S.
  assert (K : Z.even k = true) by (apply C; left; lra).
  assert (M : Z.even m = true) by (apply D; right; lra).
  assert (N : inject_Z m <= inject_Z (k + 1)) by (rewrite inject_Z_plus; change (inject_Z 1) with 1; lra).
  apply whole_le in N. replace m with (k + 1)%Z in M by lia.
  rewrite Z.even_add, K in M. discriminate.
Qed.

Global Instance round_even_proper : Proper (Qeq ==> eq) round_even.
Proof.
  intros x y E. pose proof (round_even_nearest x). pose proof (round_even_nearest y).
  apply Z.le_antisymm; [apply nearest_even_le with y x | apply nearest_even_le with x y];
    auto; symmetry; assumption.
Qed.

(** No whole number is nearer. *)

Lemma round_even_least x k : Qabs (inject_Z (round_even x) - x) <= Qabs (inject_Z k - x).
Proof.
  destruct (round_even_nearest x) as [A [B _]]. set (m := round_even x) in *.
  destruct (Z.lt_trichotomy m k) as [H | [H | H]].
  - apply whole_step in H. absolute; lra.
  - subst k. apply Qle_refl.
  - apply whole_step in H. absolute; lra.
Qed.

(** ** The leading digit *)

Lemma bits_spec p : 
  pow2 (bits (Zpos p) - 1) <= inject_Z (Zpos p) /\ inject_Z (Zpos p) < pow2 (bits (Zpos p)).
Proof.
  unfold bits. destruct (Z.leb_spec (Zpos p) 0); [lia |].
  pose proof (Z.log2_spec (Zpos p) eq_refl) as [A B].
  pose proof (Z.log2_nonneg (Zpos p)) as C.
  rewrite !pow2_whole by lia. rewrite <- Zle_Qle, <- Zlt_Qlt.
  replace (Z.log2 (Zpos p) + 1 - 1)%Z with (Z.log2 (Zpos p)) by lia.
  rewrite Z.add_1_r. split; assumption.
Qed.

Lemma Qabs_fraction n d : Qabs (n # d) * inject_Z (Zpos d) == inject_Z (Z.abs n).
Proof. unfold Qeq, Qabs, Qmult, inject_Z; cbn [Qnum Qden]. lia. Qed.

(** The two candidates for the exponent enclose the number. *)

Lemma leading_enclosed x :
  ~ x == 0 -> let e := (bits (Z.abs (Qnum x)) - bits (Zpos (Qden x)))%Z in
  pow2 (e - 1) <= Qabs x /\ Qabs x < pow2 (e + 1).
Proof.
  destruct x as [n d]. cbn [Qnum Qden]. intros N.
  assert (n <> 0)%Z by (intros ->; apply N; reflexivity).
  pose proof (Qabs_fraction n d) as F.
  destruct (Z.abs n) as [| p |] eqn:E; try lia.
  pose proof (bits_spec p) as [A B]. pose proof (bits_spec d) as [C D].
  set (a := bits (Zpos p)) in *. set (b := bits (Zpos d)) in *.
  assert (P : pow2 (a - 1) == pow2 (a - b - 1) * pow2 b)
    by (rewrite <- pow2_plus; replace (a - b - 1 + b)%Z with (a - 1)%Z by lia; reflexivity).
  assert (R : pow2 a == pow2 (a - b + 1) * pow2 (b - 1))
    by (rewrite <- pow2_plus; replace (a - b + 1 + (b - 1))%Z with a by lia; reflexivity).
  pose proof (pow2_pos (a - b - 1)). pose proof (pow2_pos (a - b + 1)). pose proof (pow2_pos (b - 1)).
  pose proof (Qabs_nonneg (n # d)). 
  cbv zeta. split.
  - apply Qnot_lt_le. intros L. nra.
  - apply Qnot_le_lt. intros L. nra.
Qed.

Lemma leading_spec x :
  ~ x == 0 -> pow2 (leading x) <= Qabs x /\ Qabs x < pow2 (leading x + 1).
Proof.
  intros N. pose proof (leading_enclosed x N) as [A B]. unfold leading. cbv zeta in *.
  set (e := (bits (Z.abs (Qnum x)) - bits (Zpos (Qden x)))%Z) in *.
  destruct (Qle_bool (pow2 e) (Qabs x)) eqn:L.
  - apply Qle_bool_iff in L. split; assumption.
  - replace (e - 1 + 1)%Z with e by lia. split; [assumption |].
    apply Qnot_le_lt. rewrite <- Qle_bool_iff, L. discriminate.
Qed.

Lemma leading_eq x y : x == y -> ~ x == 0 -> leading x = leading y.
Proof.
  intros E N. assert (M : ~ y == 0) by (rewrite <- E; assumption).
  destruct (leading_spec x N) as [A B]. destruct (leading_spec y M) as [C D].
  pose proof (Qabs_wd x y E) as Q. rewrite Q in A, B.
  assert (H : (leading x < leading y + 1)%Z)
    by (apply pow2_lt_inv, Qle_lt_trans with (Qabs y); assumption).
  assert (I : (leading y < leading x + 1)%Z)
    by (apply pow2_lt_inv, Qle_lt_trans with (Qabs y); assumption).
  lia.
Qed.

(** ** The last place *)

Lemma digits_pos w : (0 < digits w)%Z.
Proof. destruct w; reflexivity. Qed.

Lemma last_place_least w x : (least w <= last_place w x)%Z.
Proof. unfold last_place. lia. Qed.

Lemma last_place_eq w x y : x == y -> ~ x == 0 -> last_place w x = last_place w y.
Proof. intros. unfold last_place. erewrite leading_eq; eauto. Qed.

Definition unit_of (w : width) (x : Q) : Q := pow2 (last_place w x).

Lemma unit_pos w x : 0 < unit_of w x.
Proof. apply pow2_pos. Qed.

Lemma in_units w x : x == (x / unit_of w x) * unit_of w x.
Proof. pose proof (unit_pos w x). field. lra. Qed.

Lemma below_full w x : Qabs x < inject_Z (2 ^ digits w) * unit_of w x.
Proof.
  pose proof (digits_pos w).
  unfold unit_of. rewrite <- pow2_whole, <- pow2_plus by lia.
  destruct (Qeq_dec x 0) as [Z | N].
  - rewrite (Qabs_wd x 0 Z). apply pow2_pos.
  - destruct (leading_spec x N) as [_ B]. eapply Qlt_le_trans; [exact B |].
    apply pow2_le. unfold last_place. lia.
Qed.

(** ** Between a number and a float lies a multiple of the number's last place *)

Lemma float_small w z m e x :
  z == inject_Z m * pow2 e -> (Z.abs m <= 2 ^ digits w)%Z -> (least w <= e)%Z ->
  (e < last_place w x)%Z -> Qabs z <= pow2 (leading x).
Proof.
  intros E M L H.
  assert (Z : Qabs z <= inject_Z (2 ^ digits w) * pow2 e).
  { apply Zabs_whole in M. pose proof (pow2_pos e). absolute; nra. }
  eapply Qle_trans; [exact Z |]. pose proof (digits_pos w).
  rewrite <- pow2_whole, <- pow2_plus by lia. apply pow2_le. unfold last_place in H. lia.
Qed.

Lemma leading_multiple w x :
  (least w < last_place w x)%Z ->
  pow2 (leading x) == inject_Z (2 ^ (leading x - last_place w x)) * unit_of w x.
Proof.
  intros H. pose proof (digits_pos w). apply pow2_split. unfold last_place in *. lia.
Qed.

Lemma stop w x z :
  is_float w z -> exists k,
    (x <= inject_Z k * unit_of w x /\ inject_Z k * unit_of w x <= z) \/
    (z <= inject_Z k * unit_of w x /\ inject_Z k * unit_of w x <= x).
Proof.
  intros [m [e [E [M L]]]].
  destruct (Z.le_gt_cases (last_place w x) e) as [H | H].
  - exists (m * 2 ^ (e - last_place w x))%Z.
    assert (S : inject_Z (m * 2 ^ (e - last_place w x)) * unit_of w x == z).
    { rewrite E, (pow2_split _ _ H), inject_Z_mult. unfold unit_of. ring. }
    rewrite S. destruct (Qlt_le_dec x z); [left | right]; lra.
  - destruct (Qeq_dec x 0) as [Z | N].
    + exists 0%Z. change (inject_Z 0) with 0. rewrite Qmult_0_l.
      destruct (Qlt_le_dec z 0); [right | left]; lra.
    + pose proof (float_small w z m e x E M L H) as S.
      destruct (leading_spec x N) as [A _].
      assert (T : (least w < last_place w x)%Z) by lia.
      pose proof (leading_multiple w x T) as P.
      set (k := (2 ^ (leading x - last_place w x))%Z) in *.
      apply Qabs_Qle_condition in S.
      destruct (Qlt_le_dec x 0) as [G | G].
      * exists (- k)%Z. rewrite Qabs_neg in A by lra. left.
        rewrite inject_Z_opp. lra.
      * exists k. rewrite Qabs_pos in A by lra. right. lra.
Qed.

(** ** The float nearest to a number *)

Lemma fl_units w x :
  w <> Bytes0 -> fl w x == inject_Z (round_even (x / unit_of w x)) * unit_of w x.
Proof.
  intros. destruct w; [congruence | |]; unfold fl, unit_of; cbv zeta; apply Qred_correct.
Qed.

Lemma multiple_is_float w x k :
  (Z.abs k <= 2 ^ digits w)%Z -> is_float w (inject_Z k * unit_of w x).
Proof.
  intros. exists k, (last_place w x). repeat split; [assumption | apply last_place_least].
Qed.

Global Instance is_float_proper w : Proper (Qeq ==> iff) (is_float w).
Proof.
  intros x y E. split; intros [m [e [A B]]]; exists m, e; (split; [| exact B]); lra.
Qed.

Lemma units_enclosed w x :
  let t := x / unit_of w x in - inject_Z (2 ^ digits w) < t /\ t < inject_Z (2 ^ digits w).
Proof.
  cbv zeta. pose proof (below_full w x) as B. pose proof (in_units w x) as U.
  pose proof (unit_pos w x) as P. set (q := unit_of w x) in *. set (t := x / q) in *.
  set (b := inject_Z (2 ^ digits w)) in *.
  apply Qabs_Qlt_condition in B. rewrite U in B. split; nra.
Qed.

Lemma fl_is_float w x : w <> Bytes0 -> is_float w (fl w x).
Proof.
  intros N. rewrite fl_units by assumption. apply multiple_is_float.
  pose proof (units_enclosed w x) as [A B]. set (t := x / unit_of w x) in *.
  destruct (round_even_nearest t) as [C [D _]]. set (k := round_even t) in *.
  set (b := (2 ^ digits w)%Z) in *.
  assert (H : inject_Z k < inject_Z (b + 1)) by (rewrite inject_Z_plus; change (inject_Z 1) with 1; lra).
  assert (I : inject_Z (- b - 1) < inject_Z k)
    by (unfold Z.sub; rewrite inject_Z_plus, inject_Z_opp; change (inject_Z (-(1))) with (-(1)); lra).
  apply whole_lt in H. apply whole_lt in I. lia.
Qed.

Lemma scaled_abs a b q : 0 < q -> Qabs (a * q - b * q) == Qabs (a - b) * q.
Proof.
  intros. setoid_replace (a * q - b * q) with ((a - b) * q) by ring.
  rewrite Qabs_Qmult, (Qabs_pos q) by lra. reflexivity.
Qed.

Lemma fl_nearest w x z :
  w <> Bytes0 -> is_float w z -> Qabs (fl w x - x) <= Qabs (z - x).
Proof.
  intros N F. rewrite fl_units by assumption.
  destruct (stop w x z F) as [k K].
  pose proof (unit_pos w x) as P. pose proof (in_units w x) as U.
  set (q := unit_of w x) in *. set (t := x / q) in *.
  apply Qle_trans with (Qabs (inject_Z k * q - x)).
  - rewrite U, !scaled_abs by assumption.
    apply Qmult_le_compat_r; [apply round_even_least | lra].
  - absolute; lra.
Qed.

Lemma fl_near w x :
  w <> Bytes0 ->
  is_float w (fl w x) /\ forall z, is_float w z -> Qabs (fl w x - x) <= Qabs (z - x).
Proof.
  intros. split; [apply fl_is_float | intros; apply fl_nearest]; assumption.
Qed.

Lemma fl_zero w x : x == 0 -> fl w x == 0.
Proof.
  intros Z. destruct w; [assumption | |]; rewrite fl_units by discriminate;
    rewrite Z at 1; unfold Qdiv; rewrite Qmult_0_l; change (round_even 0) with 0%Z;
    change (inject_Z 0) with 0; ring.
Qed.

Global Instance fl_proper w : Proper (Qeq ==> Qeq) (fl w).
Proof.
  intros x y E. destruct (Qeq_dec x 0) as [Z | N].
  - rewrite !fl_zero; lra.
  - destruct w; [assumption | |]; rewrite !fl_units by discriminate; unfold unit_of;
      rewrite (last_place_eq _ x y E N), E; reflexivity.
Qed.

(** Two numbers that are rounded against their order would both lie midway. *)

Lemma fl_mono w x y : x <= y -> fl w x <= fl w y.
Proof.
  intros L. assert (D : w = Bytes0 \/ w <> Bytes0) by (destruct w; auto; right; discriminate).
  destruct D as [-> | N]; [exact L |].
  apply Qnot_lt_le. intros H.
  pose proof (fl_nearest w x (fl w y) N (fl_is_float w y N)) as A.
  pose proof (fl_nearest w y (fl w x) N (fl_is_float w x N)) as B.
  assert (E : x == y).
  { absolute; lra. }
  pose proof (fl_proper w x y E). lra.
Qed.

(** ** The error of the float of 4 bytes *)

Lemma half_unit w x : w <> Bytes0 -> Qabs (fl w x - x) <= pow2 (last_place w x - 1).
Proof.
  intros N. rewrite fl_units by assumption.
  pose proof (unit_pos w x) as P. pose proof (in_units w x) as U.
  assert (H : unit_of w x == 2 * pow2 (last_place w x - 1)).
  { rewrite <- pow2_next. replace (last_place w x - 1 + 1)%Z with (last_place w x) by lia. reflexivity. }
  set (h := pow2 (last_place w x - 1)) in *.
  set (q := unit_of w x) in *. set (t := x / q) in *.
  destruct (round_even_nearest t) as [C [D _]].
  rewrite U, scaled_abs by assumption. absolute; nra.
Qed.

Lemma single_error z : Qabs (fl Bytes4 z - z) <= pow2 (-24) * Qabs z + pow2 (-150).
Proof.
  destruct (Qeq_dec z 0) as [Z | N].
  - rewrite (fl_zero Bytes4 z Z), Z. pose proof (pow2_pos (-150)). change (Qabs (0 - 0)) with 0.
    change (Qabs 0) with 0. lra.
  - eapply Qle_trans; [apply half_unit; discriminate |].
    destruct (leading_spec z N) as [A _].
    pose proof (pow2_pos (-24)). pose proof (pow2_pos (-150)). pose proof (Qabs_nonneg z).
    destruct (Z.le_gt_cases (leading z - 23) (-149)) as [H2 | H2].
    + replace (last_place Bytes4 z - 1)%Z with (-150)%Z by (unfold last_place, digits, least; lia).
      nra.
    + replace (last_place Bytes4 z - 1)%Z with (-24 + leading z)%Z
        by (unfold last_place, digits, least; lia).
      rewrite pow2_plus. nra.
Qed.

(** ** The floats beside a number *)

Lemma float_up_units w v : float_up w v == inject_Z (Qceiling (v / unit_of w v)) * unit_of w v.
Proof. unfold float_up. cbv zeta. apply Qred_correct. Qed.

Lemma float_down_units w v : float_down w v == inject_Z (Qfloor (v / unit_of w v)) * unit_of w v.
Proof. unfold float_down. cbv zeta. apply Qred_correct. Qed.

Lemma float_up_ge w v : v <= float_up w v.
Proof.
  rewrite float_up_units. pose proof (unit_pos w v) as P. rewrite (in_units w v) at 1.
  apply Qmult_le_compat_r; [apply Qle_ceiling | lra].
Qed.

Lemma float_down_le w v : float_down w v <= v.
Proof.
  rewrite float_down_units. pose proof (unit_pos w v) as P. rewrite (in_units w v) at 4.
  apply Qmult_le_compat_r; [apply Qfloor_le | lra].
Qed.

Lemma ceiling_units w v k :
  v <= inject_Z k * unit_of w v -> float_up w v <= inject_Z k * unit_of w v.
Proof.
  intros H. rewrite float_up_units. pose proof (unit_pos w v) as P.
  pose proof (in_units w v) as U. set (q := unit_of w v) in *. set (t := v / q) in *. rewrite U in H.
  apply Qmult_le_r in H; [| assumption].
  apply Qmult_le_compat_r; [| lra]. rewrite <- Zle_Qle, <- (Qceiling_Z k).
  apply Qceiling_resp_le. assumption.
Qed.

Lemma floor_units w v k :
  inject_Z k * unit_of w v <= v -> inject_Z k * unit_of w v <= float_down w v.
Proof.
  intros H. rewrite float_down_units. pose proof (unit_pos w v) as P.
  pose proof (in_units w v) as U. set (q := unit_of w v) in *. set (t := v / q) in *. rewrite U in H.
  apply Qmult_le_r in H; [| assumption].
  apply Qmult_le_compat_r; [| lra]. rewrite <- Zle_Qle, <- (Qfloor_Z k).
  apply Qfloor_resp_le. assumption.
Qed.

Lemma float_up_least w v z :
  is_float w z -> v <= z -> float_up w v <= z /\ v <= float_up w v.
Proof.
  intros F L. split; [| apply float_up_ge]. destruct (stop w v z F) as [k [[A B] | [A B]]].
  - eapply Qle_trans; [apply ceiling_units |]; eassumption.
  - eapply Qle_trans; [apply ceiling_units with (k := k) |]; lra.
Qed.

Lemma float_down_greatest w v z :
  is_float w z -> z <= v -> z <= float_down w v /\ float_down w v <= v.
Proof.
  intros F L. split; [| apply float_down_le]. destruct (stop w v z F) as [k [[A B] | [A B]]].
  - apply Qle_trans with (inject_Z k * unit_of w v); [lra | apply floor_units; lra].
  - eapply Qle_trans; [| apply floor_units]; eassumption.
Qed.

(** ** Doubles, and floats of all widths, are multiples of the least double *)

Lemma least_all w : (-1074 <= least w)%Z.
Proof. destruct w; discriminate. Qed.

Lemma float_multiple w z : is_float w z -> exists k, z == inject_Z k * pow2 (-1074).
Proof.
  intros [m [e [E [_ L]]]]. pose proof (least_all w) as B.
  exists (m * 2 ^ (e - -1074))%Z.
  rewrite E, (pow2_split (-1074) e), inject_Z_mult by lia. ring.
Qed.

Lemma double_is_float c : is_double c = true -> is_float Bytes8 c.
Proof.
  intros D. apply Qeq_bool_eq in D. rewrite <- D. apply fl_is_float. discriminate.
Qed.

Lemma tiny_pos : 0 < least_double.
Proof. apply pow2_pos. Qed.

Lemma tiny_half : pow2 (-1074) == 2 * least_double.
Proof. unfold least_double. rewrite <- pow2_next. reflexivity. Qed.

Lemma float_after_double w c z :
  is_double c = true -> is_float w z -> c < z -> c + least_double <= z.
Proof.
  intros D F L. pose proof tiny_pos as T. pose proof tiny_half as H.
  destruct (float_multiple _ _ (double_is_float c D)) as [a A].
  destruct (float_multiple w z F) as [b B].
  rewrite A, B, H in L |- *.
  assert (I : (a < b)%Z) by (apply whole_lt; nra).
  apply whole_step in I. nra.
Qed.
