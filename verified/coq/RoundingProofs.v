(** * Lemma 13: the slack covers what rounding may do *)

From Coq Require Import QArith Qabs Qminmax ZArith List Bool Lqa Lia Permutation FMapPositive Setoid Morphisms.
From Cfxc Require Import Semantics Features FloatsProofs FeaturesProofs Payments PaymentsProofs
  Forms SmoothProofs Checker Sums Scopes Claims Soundness Rounding.
Import ListNotations.
Open Scope Q_scope.

(** ** Errors of single operations *)

Lemma unit_pos_ f : 0 < unit_ f.
Proof. destruct f; reflexivity. Qed.

Lemma unit_small f : unit_ f <= 1 # 2.
Proof. destruct f; unfold Qle; vm_compute; discriminate. Qed.

Lemma eta_pos f : 0 < eta f.
Proof. destruct f; reflexivity. Qed.

Lemma top_pos f : 0 < top f.
Proof. destruct f; unfold top; apply pow2_pos. Qed.

Lemma unit_digits f : unit_ f == pow2 (- digits (format f)).
Proof. destruct f; reflexivity. Qed.

Lemma eta_least f : eta f == pow2 (least (format f) - 1).
Proof. destruct f; reflexivity. Qed.

Global Opaque unit_ eta top.

Lemma format_floats f : format f <> Bytes0.
Proof. destruct f; discriminate. Qed.

Lemma double_error z : Qabs (fl Bytes8 z - z) <= pow2 (-53) * Qabs z + pow2 (-1075).
Proof.
  destruct (Qeq_dec z 0) as [Z | N].
  - rewrite (fl_zero Bytes8 z Z), Z. pose proof (pow2_pos (-1075)). change (Qabs (0 - 0)) with 0.
    change (Qabs 0) with 0. lra.
  - eapply Qle_trans; [apply half_unit; discriminate |].
    destruct (leading_spec z N) as [A _].
    pose proof (pow2_pos (-53)). pose proof (pow2_pos (-1075)). pose proof (Qabs_nonneg z).
    destruct (Z.le_gt_cases (leading z - 52) (-1074)) as [H2 | H2].
    + replace (last_place Bytes8 z - 1)%Z with (-1075)%Z by (unfold last_place, digits, least; lia).
      set (a := pow2 (-1075)) in *. set (b := pow2 (-53)) in *.
      assert (0 <= b * Qabs z) by (apply Qmult_le_0_compat; lra). lra.
    + replace (last_place Bytes8 z - 1)%Z with (-53 + leading z)%Z
        by (unfold last_place, digits, least; lia).
      rewrite pow2_plus. set (a := pow2 (-1075)) in *. set (b := pow2 (-53)) in *.
      assert (b * pow2 (leading z) <= b * Qabs z) by (apply move_up; lra). lra.
Qed.

Lemma read_error f z : Qabs (fl (format f) z - z) <= unit_ f * Qabs z + eta f.
Proof. destruct f; [apply double_error|apply single_error]. Qed.

Lemma fl_float w z : w <> Bytes0 -> is_float w z -> fl w z == z.
Proof.
  intros N F. pose proof (fl_nearest w z z N F) as H.
  setoid_replace (z - z) with 0 in H by ring. change (Qabs 0) with 0 in H.
  revert H. apply Qabs_case; intros; lra.
Qed.

Lemma float_fl w z : w <> Bytes0 -> fl w z == z -> is_float w z.
Proof. intros N E. rewrite <- E. apply fl_is_float. exact N. Qed.

Lemma is_float_opp w z : is_float w z -> is_float w (- z).
Proof.
  intros (m & e & E & M & L). exists (- m)%Z, e. rewrite E, inject_Z_opp.
  split; [ring|]. split; [rewrite Z.abs_opp; exact M|exact L].
Qed.

(** Rounding to the nearest is the same below 0. *)

Lemma round_even_opp x : round_even (- x) = (- round_even x)%Z.
Proof.
  pose proof (round_even_nearest x) as (A & B & C).
  assert (N : nearest_even (- x) (- round_even x)).
  { unfold nearest_even. rewrite inject_Z_opp. split; [lra|]. split; [lra|].
    rewrite Z.even_opp. intros [H|H]; apply C; [right|left]; lra. }
  pose proof (round_even_nearest (- x)) as M.
  apply Z.le_antisymm; [apply (nearest_even_le (- x) (- x))|apply (nearest_even_le (- x) (- x))];
    auto; reflexivity.
Qed.

Lemma leading_opp x : leading (- x) = leading x.
Proof.
  unfold leading. destruct x as [n d]. cbn [Qopp Qnum Qden]. rewrite Z.abs_opp.
  replace (Qabs (- (n # d))) with (Qabs (n # d)); [reflexivity|].
  unfold Qabs, Qopp. cbn [Qnum Qden]. rewrite Z.abs_opp. reflexivity.
Qed.

Lemma fl_opp w x : fl w (- x) == - fl w x.
Proof.
  destruct (Qeq_dec x 0) as [Z|N].
  - rewrite (fl_zero w x Z), (fl_zero w (- x)) by lra. lra.
  - assert (D : w = Bytes0 \/ w <> Bytes0) by (destruct w; auto; right; discriminate).
    destruct D as [-> | D]; [reflexivity|].
    rewrite !fl_units by exact D.
    assert (U : unit_of w (- x) = unit_of w x) by (unfold unit_of, last_place; rewrite leading_opp; reflexivity).
    rewrite U. set (q := unit_of w x).
    setoid_replace (- x / q) with (- (x / q)) by (unfold Qdiv; ring).
    rewrite round_even_opp, inject_Z_opp. ring.
Qed.

(** ** Powers of 1 + u *)

Section Powers.

Variable u : Q.
Hypothesis U0 : 0 < u.

Fixpoint up (k : nat) : Q := match k with O => 1 | S k => (1 + u) * up k end.

Lemma up_ge k : 1 <= up k.
Proof.
  induction k as [|k IH]; cbn [up]; [lra|].
  assert (0 <= u * up k) by (apply Qmult_le_0_compat; lra). lra.
Qed.

Lemma up_le k m : (k <= m)%nat -> up k <= up m.
Proof.
  induction 1 as [|m L IH]; [lra|]. cbn [up]. pose proof (up_ge m).
  assert (0 <= u * up m) by (apply Qmult_le_0_compat; lra). lra.
Qed.

Lemma up_plus k m : up (k + m) == up k * up m.
Proof. induction k as [|k IH]; cbn [up Nat.add]; [lra|]. rewrite IH. ring. Qed.

Lemma up_count k : up k * (1 - inject_Z (Z.of_nat k) * u) <= 1.
Proof.
  induction k as [|k IH]; [cbn [up Z.of_nat]; change (inject_Z 0) with 0; lra|].
  rewrite Nat2Z.inj_succ. unfold Z.succ. rewrite inject_Z_plus. change (inject_Z 1) with 1.
  cbn [up]. pose proof (up_ge k) as G.
  assert (N : 0 <= inject_Z (Z.of_nat k)) by (change 0 with (inject_Z 0); rewrite <- Zle_Qle; lia).
  set (n := inject_Z (Z.of_nat k)) in *.
  setoid_replace ((1 + u) * up k * (1 - (n + 1) * u))
    with (up k * (1 - n * u) - up k * ((n + 1) * (u * u))) by ring.
  assert (0 <= up k * ((n + 1) * (u * u))).
  { apply Qmult_le_0_compat; [lra|]. apply Qmult_le_0_compat; [lra|]. apply Qmult_le_0_compat; lra. }
  lra.
Qed.

End Powers.

Lemma gamma_spec f n g : gamma f n = Some g -> 0 <= g /\ up (unit_ f) (n + 2) <= 1 + g.
Proof.
  unfold gamma. pose proof (unit_pos_ f) as U.
  set (part := (inject_Z (Z.of_nat n) + 2) * unit_ f).
  destruct (Qltb part 1) eqn:L; [|discriminate]. apply Qltb_true in L.
  intro E. apply some_inj in E. subst g. rewrite Qred_correct.
  assert (N : 0 <= inject_Z (Z.of_nat n)) by (change 0 with (inject_Z 0); rewrite <- Zle_Qle; lia).
  assert (P : 0 <= part) by (apply Qmult_le_0_compat; lra).
  split.
  - apply Qle_shift_div_l; lra.
  - setoid_replace (1 + part / (1 - part)) with (1 / (1 - part)) by (field; lra).
    apply Qle_shift_div_l; [lra|].
    pose proof (up_count (unit_ f) U (n + 2)) as H.
    rewrite Nat2Z.inj_add, inject_Z_plus in H. exact H.
Qed.

Lemma up_gamma f n k g : gamma f n = Some g -> (k <= n + 2)%nat -> up (unit_ f) k <= 1 + g.
Proof.
  intros G L. destruct (gamma_spec f n g G) as [_ H].
  pose proof (up_le _ (unit_pos_ f) k (n + 2) L). lra.
Qed.

(** ** Sums, in any order *)

Definition sizes (l : list Q) : Q := sum (map Qabs l).

Lemma sizes_nonneg l : 0 <= sizes l.
Proof. unfold sizes. induction l as [|a l IH]; cbn [map]; [rewrite sum_nil; lra|].
  rewrite sum_cons. pose proof (Qabs_nonneg a). lra. Qed.

Lemma sizes_app l m : sizes (l ++ m) == sizes l + sizes m.
Proof. unfold sizes. rewrite map_app. apply sum_app. Qed.

Lemma sum_sizes l : Qabs (sum l) <= sizes l.
Proof.
  unfold sizes. induction l as [|a l IH]; cbn [map]; [cbn; lra|]. rewrite !sum_cons.
  pose proof (Qabs_triangle a (sum l)). lra.
Qed.

Lemma sum_permuted l m : Permutation l m -> sum l == sum m.
Proof. induction 1; rewrite ?sum_cons; lra. Qed.

Lemma sizes_permuted l m : Permutation l m -> sizes l == sizes m.
Proof. intro P. apply sum_permuted, Permutation_map, P. Qed.

Lemma triangle a b c : Qabs (a - c) <= Qabs (a - b) + Qabs (b - c).
Proof.
  setoid_replace (a - c) with ((a - b) + (b - c)) by ring. apply Qabs_triangle.
Qed.

Lemma near_size a b e : Qabs (a - b) <= e -> Qabs a <= Qabs b + e.
Proof.
  intro H. pose proof (Qabs_triangle (a - b) b) as T.
  setoid_replace (a - b + b) with a in T by ring. lra.
Qed.

Lemma added_bound f l y : added f l y -> forall n, l <> [] -> (length l <= S n)%nat ->
  up (unit_ f) n * sizes l < top f -> Qabs (y - sum l) <= (up (unit_ f) n - 1) * sizes l.
Proof.
  pose proof (unit_pos_ f) as U.
  induction 1 as [y E|t y E|l m a b y Nl Nm A IHa B IHb G|l m y Pe A IH]; intros n N Le F.
  - contradiction.
  - rewrite E. rewrite sum_cons, sum_nil. setoid_replace (t - (t + 0)) with 0 by ring.
    change (Qabs 0) with 0. pose proof (up_ge _ U n). pose proof (sizes_nonneg [t]).
    apply Qmult_le_0_compat; lra.
  - rewrite app_length in Le.
    assert (Ll : (1 <= length l)%nat) by (destruct l; [contradiction|cbn; lia]).
    assert (Lm : (1 <= length m)%nat) by (destruct m; [contradiction|cbn; lia]).
    destruct n as [|n]; [lia|].
    rewrite sizes_app in F. rewrite sizes_app, sum_app.
    pose proof (sizes_nonneg l) as Sl. pose proof (sizes_nonneg m) as Sm.
    pose proof (up_ge _ U n) as G1. pose proof (up_le _ U n (S n) ltac:(lia)) as G2.
    assert (P : up (unit_ f) n * (sizes l + sizes m) <= up (unit_ f) (S n) * (sizes l + sizes m))
      by (apply Qmult_le_compat_r; lra).
    assert (Pl : 0 <= up (unit_ f) n * sizes l) by (apply Qmult_le_0_compat; lra).
    assert (Pm : 0 <= up (unit_ f) n * sizes m) by (apply Qmult_le_0_compat; lra).
    specialize (IHa n Nl ltac:(lia) ltac:(lra)). specialize (IHb n Nm ltac:(lia) ltac:(lra)).
    pose proof (near_size _ _ _ IHa) as Sa. pose proof (near_size _ _ _ IHb) as Sb.
    pose proof (sum_sizes l). pose proof (sum_sizes m).
    pose proof (Qabs_triangle a b) as T.
    assert (Sab : Qabs (a + b) <= up (unit_ f) n * (sizes l + sizes m)) by lra.
    destruct (G ltac:(lra)) as [G' _].
    assert (M : unit_ f * Qabs (a + b) <= unit_ f * (up (unit_ f) n * (sizes l + sizes m)))
      by (apply move_up; lra).
    pose proof (triangle y (a + b) (sum l + sum m)) as T2.
    pose proof (Qabs_triangle (a - sum l) (b - sum m)) as T3.
    setoid_replace (a - sum l + (b - sum m)) with (a + b - (sum l + sum m)) in T3 by ring.
    cbn [up]. lra.
  - assert (N' : l <> []) by (intros ->; apply Permutation_nil in Pe; contradiction).
    rewrite <- (sizes_permuted l m Pe), <- (sum_permuted l m Pe) in *.
    apply IH; [exact N'| |exact F]. rewrite (Permutation_length Pe). exact Le.
Qed.

Lemma added_nil f y : added f [] y -> y == 0.
Proof.
  intro A. remember [] as l eqn:El. induction A as [y Ey|t y Ey|l m a b y Nl Nm A _ B _ _|l m y Pe A IH].
  - exact Ey.
  - discriminate.
  - destruct l; [contradiction|discriminate].
  - subst m. apply IH. apply Permutation_nil, Permutation_sym, Pe.
Qed.

Lemma Qabs_whole k : Qabs (inject_Z k) = inject_Z (Z.abs k).
Proof. reflexivity. Qed.

(** Sums of wholes are exact, and the sign of a sum of two is. *)

Definition is_int (t : Q) : Prop := exists k, t == inject_Z k.

Lemma int_float f t : is_int t -> Qabs t <= wholes f -> is_float (format f) t.
Proof.
  intros (k & E) L. exists k, 0%Z. rewrite E in *. change (pow2 0) with 1.
  split; [lra|]. split; [|destruct f; cbn; lia].
  unfold wholes in L. rewrite Qabs_whole in L. apply whole_le. exact L.
Qed.

Lemma wholes_top f : wholes f < top f.
Proof. destruct f; reflexivity. Qed.

Lemma added_wholes f l y : added f l y -> Forall is_int l -> sizes l <= wholes f -> y == sum l /\ is_int y.
Proof.
  induction 1 as [y E|t y E|l m a b y Nl Nm A IHa B IHb G|l m y Pe A IH]; intros I S.
  - split; [rewrite E; reflexivity|]. exists 0%Z. exact E.
  - inversion I as [|? ? (k & K) _]; subst. rewrite sum_cons, sum_nil. split; [lra|]. exists k. lra.
  - apply Forall_app in I as [Il Im]. rewrite sizes_app in S. rewrite sum_app.
    pose proof (sizes_nonneg l). pose proof (sizes_nonneg m).
    destruct (IHa Il ltac:(lra)) as [Ea (k & K)]. destruct (IHb Im ltac:(lra)) as [Eb (j & J)].
    pose proof (sum_sizes l) as Sl. pose proof (sum_sizes m) as Sm. rewrite <- Ea in Sl. rewrite <- Eb in Sm.
    pose proof (Qabs_triangle a b) as T. pose proof (wholes_top f).
    destruct (G ltac:(lra)) as [_ X].
    assert (Iab : is_int (a + b)) by (exists (k + j)%Z; rewrite inject_Z_plus; lra).
    specialize (X (int_float f _ Iab ltac:(lra))). split; [lra|].
    destruct Iab as (i & Ei). exists i. lra.
  - rewrite <- (sum_permuted l m Pe). apply IH.
    + eapply Permutation_Forall; [apply Permutation_sym; exact Pe|exact I].
    + rewrite (sizes_permuted l m Pe). exact S.
Qed.

Lemma added_sign f l y : added f l y -> (length l <= 2)%nat -> sizes l < top f ->
  (0 <= y <-> 0 <= sum l).
Proof.
  induction 1 as [y E|t y E|l m a b y Nl Nm A IHa B IHb G|l m y Pe A IH]; intros L F.
  - rewrite E, sum_nil. tauto.
  - rewrite E, sum_cons, sum_nil. split; lra.
  - rewrite app_length in L. rewrite sizes_app in F. rewrite sum_app.
    assert (Ll : (1 <= length l)%nat) by (destruct l; [contradiction|cbn; lia]).
    assert (Lm : (1 <= length m)%nat) by (destruct m; [contradiction|cbn; lia]).
    pose proof (sizes_nonneg l). pose proof (sizes_nonneg m).
    pose proof (added_bound f l a A 0 Nl ltac:(lia) ltac:(cbn [up]; lra)) as Ba.
    pose proof (added_bound f m b B 0 Nm ltac:(lia) ltac:(cbn [up]; lra)) as Bb.
    cbn [up] in Ba, Bb. setoid_replace ((1 - 1) * sizes l) with 0 in Ba by ring.
    setoid_replace ((1 - 1) * sizes m) with 0 in Bb by ring.
    apply Qabs_Qle_condition in Ba, Bb.
    assert (Ea : a == sum l) by lra. assert (Eb : b == sum m) by lra.
    pose proof (sum_sizes l) as Sl. pose proof (sum_sizes m) as Sm. rewrite <- Ea in *. rewrite <- Eb in *.
    pose proof (Qabs_triangle a b) as T. destruct (G ltac:(lra)) as [X _].
    pose proof (unit_small f) as U. pose proof (Qabs_nonneg (a + b)) as N.
    assert (M : unit_ f * Qabs (a + b) <= (1 # 2) * Qabs (a + b)) by (apply Qmult_le_compat_r; lra).
    apply Qabs_Qle_condition in X. revert X M. apply (Qabs_case (a + b)); intros; split; lra.
  - rewrite <- (sizes_permuted l m Pe) in F. rewrite <- (sum_permuted l m Pe).
    apply IH; [rewrite (Permutation_length Pe); exact L|exact F].
Qed.

(** Sums of leaves. *)

Theorem leaves_added f (ls : list Q) v g : summed_leaves f ls v -> gamma f (length ls) = Some g ->
  let size := sum (map Qabs ls) in
  let lost := g * size + (1 + g) * (inject_Z (Z.of_nat (length ls)) * eta f) in
  size + lost < top f -> Qabs (v - sum ls) <= lost.
Proof.
  intros (ps & R & A) G size lost F. pose proof (unit_pos_ f) as U. pose proof (eta_pos f) as E.
  assert (Len : length ls = length ps) by (eapply forall2_length; exact R).
  destruct (gamma_spec f _ g G) as [G0 _]. fold (sizes ls) in size. pose proof (sizes_nonneg ls) as S0.
  set (under := inject_Z (Z.of_nat (length ls)) * eta f) in *.
  assert (C : 0 <= under).
  { apply Qmult_le_0_compat; [|lra]. change 0 with (inject_Z 0). rewrite <- Zle_Qle. lia. }
  assert (Gu : 0 <= g * under) by (apply Qmult_le_0_compat; assumption).
  assert (Gs : 0 <= g * sizes ls) by (apply Qmult_le_0_compat; assumption).
  assert (Fl : sizes ls + (g * sizes ls + (1 + g) * under) < top f) by exact F.
  assert (Small : sizes ls < top f) by lra.
  assert (Near : Qabs (sum ps - sum ls) <= unit_ f * sizes ls + under /\
                 sizes ps <= (1 + unit_ f) * sizes ls + under).
  { unfold under. clear -R U E Small. revert Small. induction R as [|l p ls ps H R IH]; intro Small.
    - unfold sizes. cbn [length map Z.of_nat]. rewrite !sum_nil. change (inject_Z 0) with 0.
      change (Qabs (0 - 0)) with 0. split; lra.
    - unfold sizes in *. cbn [map length] in *. rewrite !sum_cons in *.
      pose proof (sizes_nonneg ls) as N. unfold sizes in N. pose proof (Qabs_nonneg l) as N'.
      destruct IH as [I1 I2]; [lra|]. destruct H as [H _]; [lra|].
      pose proof (near_size _ _ _ H). pose proof (Qabs_triangle (p - l) (sum ps - sum ls)) as T.
      setoid_replace (p - l + (sum ps - sum ls)) with (p + sum ps - (l + sum ls)) in T by ring.
      rewrite Nat2Z.inj_succ, <- Z.add_1_r, inject_Z_plus. change (inject_Z 1) with 1.
      split; lra. }
  destruct Near as [N1 N2].
  destruct ps as [|p ps].
  - destruct ls; [|discriminate]. rewrite (added_nil f v A). unfold lost, size, sizes in *. cbn in *.
    change (Qabs (0 - 0)) with 0. lra.
  - set (n := length ps). assert (Ln : length ls = S n) by exact Len.
    pose proof (up_gamma f _ (S n) g G ltac:(lia)) as H. cbn [up] in H.
    pose proof (up_ge _ U n) as G1.
    assert (Sz : up (unit_ f) n * sizes (p :: ps) <= up (unit_ f) n * ((1 + unit_ f) * sizes ls + under))
      by (apply move_up; lra).
    assert (Hs : (1 + unit_ f) * up (unit_ f) n * sizes ls <= (1 + g) * sizes ls)
      by (apply Qmult_le_compat_r; lra).
    assert (Un : up (unit_ f) n <= 1 + g).
    { assert (0 <= unit_ f * up (unit_ f) n) by (apply Qmult_le_0_compat; lra). lra. }
    assert (Hu : up (unit_ f) n * under <= (1 + g) * under) by (apply Qmult_le_compat_r; lra).
    unfold lost, size in *.
    pose proof (added_bound f _ v A n ltac:(discriminate) ltac:(cbn; lia) ltac:(lra)) as B.
    pose proof (triangle v (sum (p :: ps)) (sum ls)) as T.
    assert (Sz' : (up (unit_ f) n - 1) * sizes (p :: ps)
                  <= (up (unit_ f) n - 1) * ((1 + unit_ f) * sizes ls + under)) by (apply move_up; lra).
    lra.
Qed.

(** ** Sums of products *)

Lemma trivial_proper a b : a == b -> is_trivial a -> is_trivial b.
Proof. intros E [H|H]; [left|right]; rewrite <- E; exact H. Qed.

Lemma multiplied_near f a s y : multiplied f a s y -> Qabs a < top f ->
  (1 + unit_ f) * (Qabs a * Qabs s) + eta f * Qabs s < top f ->
  Qabs (y - a * s) <= (up (unit_ f) 2 - 1) * (Qabs a * Qabs s) + eta f * (1 + 2 * Qabs s).
Proof.
  intros (b & B & Y & _) Fa F. destruct (B Fa) as [Bn _].
  pose proof (unit_pos_ f) as U. pose proof (unit_small f) as U2. pose proof (eta_pos f) as E.
  pose proof (Qabs_nonneg a) as A0. pose proof (Qabs_nonneg s) as S0.
  pose proof (near_size _ _ _ Bn) as Bs.
  assert (P : Qabs (b * s) <= ((1 + unit_ f) * Qabs a + eta f) * Qabs s).
  { rewrite Qabs_Qmult. apply Qmult_le_compat_r; lra. }
  destruct (Y ltac:(lra)) as [Yn _].
  assert (D : Qabs (b * s - a * s) <= (unit_ f * Qabs a + eta f) * Qabs s).
  { setoid_replace (b * s - a * s) with ((b - a) * s) by ring. rewrite Qabs_Qmult.
    apply Qmult_le_compat_r; lra. }
  assert (M : unit_ f * Qabs (b * s) <= unit_ f * (((1 + unit_ f) * Qabs a + eta f) * Qabs s))
    by (apply move_up; lra).
  assert (V : unit_ f * (eta f * Qabs s) <= 1 * (eta f * Qabs s)).
  { apply Qmult_le_compat_r; [lra|]. apply Qmult_le_0_compat; lra. }
  pose proof (triangle y (b * s) (a * s)) as T. cbn [up]. lra.
Qed.

Lemma multiplied_exact f a s w y : multiplied f a s y -> Qabs a < top f -> is_float (format f) a ->
  is_trivial a \/ is_trivial s -> s == w -> y == a * w.
Proof.
  intros (b & B & _ & X) Fa Fl Tr E. destruct (B Fa) as [_ Bx]. specialize (Bx Fl).
  rewrite X, Bx, E; [reflexivity|]. destruct Tr as [Tr|Tr]; [left|right; exact Tr].
  apply (trivial_proper a b); [symmetry; exact Bx|exact Tr].
Qed.

(** Terms: factors [a] and computed values [s]. *)

Definition all_products (l : list (Q * Q)) : Q := sum (map (fun t => fst t * snd t) l).
Definition all_sizes (l : list (Q * Q)) : Q := sum (map (fun t => Qabs (fst t) * Qabs (snd t)) l).
Definition all_under (l : list (Q * Q)) : Q := sum (map (fun t => 1 + 2 * Qabs (snd t)) l).

Lemma all_sizes_nonneg l : 0 <= all_sizes l.
Proof.
  unfold all_sizes. induction l as [|[a s] l IH]; cbn [map fst snd]; [rewrite sum_nil; lra|].
  rewrite sum_cons. pose proof (Qabs_nonneg a). pose proof (Qabs_nonneg s).
  assert (0 <= Qabs a * Qabs s) by (apply Qmult_le_0_compat; lra). lra.
Qed.

Lemma all_under_nonneg l : 0 <= all_under l.
Proof.
  unfold all_under. induction l as [|[a s] l IH]; cbn [map fst snd]; [rewrite sum_nil; lra|].
  rewrite sum_cons. pose proof (Qabs_nonneg s). lra.
Qed.

Lemma terms_near f l ps k :
  Forall2 (fun t y => multiplied f (fst t) (snd t) y) l ps ->
  Forall (fun t => Qabs (fst t) < top f) l ->
  1 + unit_ f <= k -> k * (all_sizes l + eta f * all_under l) < top f ->
  Qabs (sum ps - all_products l) <= (up (unit_ f) 2 - 1) * all_sizes l + eta f * all_under l /\
  sizes ps <= up (unit_ f) 2 * all_sizes l + eta f * all_under l.
Proof.
  intros R. pose proof (unit_pos_ f) as U. pose proof (eta_pos f) as E.
  induction R as [|[a s] y l ps M R IH]; intros Fs K F.
  - unfold all_products, all_sizes, all_under, sizes. cbn [map]. rewrite !sum_nil.
    change (Qabs (0 - 0)) with 0. split; lra.
  - inversion Fs as [|? ? Fa Fs']; subst. cbn [fst snd] in *.
    pose proof (all_sizes_nonneg l) as S0. pose proof (all_under_nonneg l) as H0.
    unfold all_products, all_sizes, all_under, sizes in *. cbn [map fst snd] in *. rewrite !sum_cons in *.
    set (S := sum (map (fun t => Qabs (fst t) * Qabs (snd t)) l)) in *.
    set (H := sum (map (fun t => 1 + 2 * Qabs (snd t)) l)) in *.
    set (P := sum (map (fun t => fst t * snd t) l)) in *.
    pose proof (Qabs_nonneg a) as A0. pose proof (Qabs_nonneg s) as B0.
    assert (AB : 0 <= Qabs a * Qabs s) by (apply Qmult_le_0_compat; lra).
    assert (EB : 0 <= eta f * Qabs s) by (apply Qmult_le_0_compat; lra).
    assert (EH : 0 <= eta f * H) by (apply Qmult_le_0_compat; lra).
    assert (W : 0 <= eta f * (1 + 2 * Qabs s)) by (apply Qmult_le_0_compat; lra).
    assert (K1 : (1 + unit_ f) * (Qabs a * Qabs s) <= k * (Qabs a * Qabs s)) by (apply Qmult_le_compat_r; lra).
    assert (K2 : 1 * (eta f * (1 + 2 * Qabs s)) <= k * (eta f * (1 + 2 * Qabs s))) by (apply Qmult_le_compat_r; lra).
    assert (K3 : 0 <= k * (S + eta f * H)) by (apply Qmult_le_0_compat; lra).
    assert (K4 : 0 <= k * (Qabs a * Qabs s + eta f * (1 + 2 * Qabs s))) by (apply Qmult_le_0_compat; lra).
    destruct (IH Fs' K ltac:(lra)) as [I1 I2].
    pose proof (multiplied_near f a s y M Fa ltac:(lra)) as Y.
    pose proof (near_size _ _ _ Y) as Ys. rewrite Qabs_Qmult in Ys.
    pose proof (Qabs_triangle (y - a * s) (sum ps - P)) as T.
    setoid_replace (y - a * s + (sum ps - P)) with (y + sum ps - (a * s + P)) in T by ring.
    split; lra.
Qed.

Lemma evaluated_near f l ps z c :
  Forall2 (fun t y => multiplied f (fst t) (snd t) y) l ps -> added f ps z ->
  Forall (fun t => Qabs (fst t) < top f) l -> gamma f (length l) = Some c ->
  (1 + c) * (all_sizes l + eta f * all_under l) < top f ->
  Qabs (z - all_products l) <= c * all_sizes l + (1 + c) * (eta f * all_under l).
Proof.
  intros R A Fs G F. pose proof (unit_pos_ f) as U. pose proof (eta_pos f) as E.
  pose proof (all_sizes_nonneg l) as S0. pose proof (all_under_nonneg l) as H0.
  assert (EH : 0 <= eta f * all_under l) by (apply Qmult_le_0_compat; lra).
  destruct (gamma_spec f _ c G) as [C0 _].
  pose proof (up_gamma f _ 1 c G ltac:(lia)) as C1. cbn [up] in C1.
  destruct (terms_near f l ps (1 + c) R Fs ltac:(lra) F) as [N Sz].
  pose proof (forall2_length _ _ _ R) as Len.
  destruct ps as [|p ps].
  - destruct l; [|discriminate]. rewrite (added_nil f z A).
    unfold all_products, all_sizes, all_under. cbn [map]. rewrite !sum_nil.
    change (Qabs (0 - 0)) with 0. lra.
  - set (n := length ps).
    pose proof (up_gamma f _ (n + 2) c G ltac:(rewrite Len; cbn; lia)) as H. rewrite up_plus in H.
    pose proof (up_gamma f _ n c G ltac:(rewrite Len; cbn; lia)) as Hn.
    pose proof (up_ge _ U n) as G1.
    assert (P1 : up (unit_ f) n * sizes (p :: ps)
      <= up (unit_ f) n * (up (unit_ f) 2 * all_sizes l + eta f * all_under l)) by (apply move_up; lra).
    assert (P2 : up (unit_ f) n * up (unit_ f) 2 * all_sizes l <= (1 + c) * all_sizes l)
      by (apply Qmult_le_compat_r; lra).
    assert (P3 : up (unit_ f) n * (eta f * all_under l) <= (1 + c) * (eta f * all_under l))
      by (apply Qmult_le_compat_r; lra).
    pose proof (added_bound f _ z A n ltac:(discriminate) ltac:(cbn; lia) ltac:(lra)) as B.
    assert (P4 : (up (unit_ f) n - 1) * sizes (p :: ps)
      <= (up (unit_ f) n - 1) * (up (unit_ f) 2 * all_sizes l + eta f * all_under l)) by (apply move_up; lra).
    pose proof (triangle z (sum (p :: ps)) (all_products l)) as T. lra.
Qed.

(** ** What is known of sources, and of sums of their products *)

Lemma summed_sum l : summed l == sum l.
Proof.
  unfold summed. induction l as [|a l IH]; [reflexivity|]. cbn [fold_right].
  rewrite Qred_correct, IH. reflexivity.
Qed.

(** The computed [v] of an exact [w]. *)

Definition covered (b : bound_) (v w : Q) : Prop :=
  Qabs w <= size_ b /\ Qabs (v - w) <= off b /\ (bit b = true -> v == 0 \/ v == 1).

Lemma covered_off b v w : covered b v w -> off b == 0 -> v == w.
Proof.
  intros (_ & H & _) Z. rewrite Z in H. apply Qabs_Qle_condition in H. lra.
Qed.

Lemma forall2_map_left {A B C} (h : A -> B) (R : B -> C -> Prop) l m :
  Forall2 (fun a c => R (h a) c) l m -> Forall2 R (map h l) m.
Proof. induction 1; cbn [map]; constructor; assumption. Qed.

Definition pairs (g : form) (vs : list Q) : list (Q * Q) :=
  map (fun t => (snd (fst t), snd t)) (combine g vs).

Section Forms.

Variables (f : floats) (W : source -> Q).

Definition good (t : source * Q * bound_) (v : Q) : Prop :=
  covered (snd t) v (W (fst (fst t))) /\ Qabs (snd (fst t)) < top f /\
  (is_constant (fst t) = true -> v == 1).

Definition sizes_of (l : list (source * Q * bound_)) := sum (map (fun t => factor_size t * size_ (snd t)) l).
Definition carried_of (l : list (source * Q * bound_)) := sum (map (fun t => factor_size t * off (snd t)) l).
Definition under_of (l : list (source * Q * bound_)) := sum (map (fun t => 1 + 2 * (size_ (snd t) + off (snd t))) l).

Lemma terms_compare l vs : Forall2 good l vs ->
  let ps := pairs (map fst l) vs in
  all_sizes ps <= sizes_of l + carried_of l /\ all_under ps <= under_of l /\
  Qabs (all_products ps - worth W (map fst l)) <= carried_of l /\
  Qabs (worth W (map fst l)) <= sizes_of l /\ 0 <= carried_of l /\
  Forall (fun t => Qabs (fst t) < top f) ps /\ length ps = length l.
Proof.
  induction 1 as [|[[s a] b] v l vs G R IH]; cbv zeta.
  - unfold all_sizes, all_under, all_products, sizes_of, carried_of, under_of, worth, pairs. cbn [map combine].
    rewrite !sum_nil. change (Qabs (0 - 0)) with 0. change (Qabs 0) with 0.
    repeat split; try lra. constructor.
  - cbv zeta in IH. destruct IH as (I1 & I2 & I3 & I4 & I5 & I6 & I7).
    destruct G as ((C1 & C2 & _) & Fa & _). cbn [fst snd] in *.
    set (ps := pairs (map fst l) vs) in *.
    change (pairs (map fst ((s, a, b) :: l)) (v :: vs)) with ((a, v) :: ps).
    change (map fst ((s, a, b) :: l)) with ((s, a) :: map fst l).
    rewrite worth_cons.
    unfold all_sizes, all_under, all_products, sizes_of, carried_of, under_of, factor_size in *.
    cbn [map fst snd]. rewrite !sum_cons.
    pose proof (near_size _ _ _ C2) as Vs. pose proof (Qabs_nonneg a) as A0.
    pose proof (Qabs_nonneg (v - W s)) as O0.
    assert (M1 : Qabs a * Qabs v <= Qabs a * (size_ b + off b)) by (apply move_up; lra).
    assert (M2 : Qabs (a * v - a * W s) <= Qabs a * off b).
    { setoid_replace (a * v - a * W s) with (a * (v - W s)) by ring. rewrite Qabs_Qmult.
      apply move_up; assumption. }
    assert (M3 : Qabs (a * W s) <= Qabs a * size_ b) by (rewrite Qabs_Qmult; apply move_up; assumption).
    assert (M4 : 0 <= Qabs a * off b) by (apply Qmult_le_0_compat; lra).
    split; [lra|]. split; [lra|]. split; [|split; [|split; [lra|split]]].
    + set (P := sum (map (fun t => fst t * snd t) ps)) in *.
      pose proof (Qabs_triangle (a * v - a * W s) (P - worth W (map fst l))) as T.
      setoid_replace (a * v - a * W s + (P - worth W (map fst l)))
        with (a * v + P - (a * W s + worth W (map fst l))) in T by ring. lra.
    + pose proof (Qabs_triangle (a * W s) (worth W (map fst l))). lra.
    + constructor; assumption.
    + cbn [length]. rewrite I7. reflexivity.
Qed.

Lemma fitting_some size off_ a b : fitting f size off_ = Some (a, b) ->
  a = size /\ b = off_ /\ size + off_ < top f.
Proof.
  unfold fitting. destruct (Qltb (size + off_) (top f)) eqn:L; [|discriminate].
  apply Qltb_true in L. intro E. apply pair_inj in E as [-> ->]. auto.
Qed.

(** What the model says of a form, of its terms. *)

Definition sum_gives (g : form) (ps : list (Q * Q)) (z : Q) : Prop :=
  if one_value g then z == all_products ps
  else exists ys, Forall2 (fun t y => multiplied f (fst t) (snd t) y) ps ys /\ added f ys z.

Lemma sum_covered l vs size off_ z : Forall2 good l vs ->
  form_bound f (map fst l) l = Some (size, off_) -> sum_gives (map fst l) (pairs (map fst l) vs) z ->
  Qabs (worth W (map fst l)) <= size /\ Qabs (z - worth W (map fst l)) <= off_ /\ sizes_of l < top f.
Proof.
  intros R F Z. destruct (terms_compare l vs R) as (I1 & I2 & I3 & I4 & I5 & I6 & I7).
  unfold form_bound in F. unfold sum_gives in Z.
  set (ps := pairs (map fst l) vs) in *. set (w := worth W (map fst l)) in *.
  pose proof (summed_sum (map (fun t => factor_size t * size_ (snd t)) l)) as E1.
  pose proof (summed_sum (map (fun t => factor_size t * off (snd t)) l)) as E2.
  pose proof (summed_sum (map (fun t => 1 + 2 * (size_ (snd t) + off (snd t))) l)) as E3.
  fold (sizes_of l) in E1. fold (carried_of l) in E2. fold (under_of l) in E3. cbv zeta in F.
  destruct (one_value (map fst l)).
  - apply fitting_some in F as (-> & -> & T). split; [lra|]. split; [|lra].
    rewrite Z. lra.
  - destruct (gamma f (length (map fst l))) as [c|] eqn:G; [|discriminate].
    apply fitting_some in F as (-> & -> & T).
    set (s1 := summed (map (fun t => factor_size t * size_ (snd t)) l)) in *.
    set (s2 := summed (map (fun t => factor_size t * off (snd t)) l)) in *.
    set (s3 := summed (map (fun t => 1 + 2 * (size_ (snd t) + off (snd t))) l)) in *.
    pose proof (Qred_correct (s2 + eta f * s3)) as E4. set (lost := Qred (s2 + eta f * s3)) in *.
    pose proof (Qred_correct (lost + c * (s1 + lost))) as E5.
    set (o := Qred (lost + c * (s1 + lost))) in *. 
    assert (E6 : o == carried_of l + eta f * under_of l + c * (sizes_of l + (carried_of l + eta f * under_of l)))
      by (rewrite E5, E4, E1, E2, E3; reflexivity).
    clear E4 E5 E2 E3.
    destruct Z as (ys & Y & A). rewrite map_length, <- I7 in G.
    destruct (gamma_spec f _ c G) as [C0 _]. pose proof (eta_pos f) as Ep.
    assert (U : eta f * all_under ps <= eta f * under_of l) by (apply move_up; lra).
    assert (M : (1 + c) * (all_sizes ps + eta f * all_under ps)
      <= (1 + c) * (sizes_of l + carried_of l + eta f * under_of l)) by (apply move_up; lra).
    pose proof (evaluated_near f ps ys z c Y A I6 G ltac:(lra)) as N.
    pose proof (triangle z (all_products ps) w) as Tr.
    assert (M2 : c * all_sizes ps <= c * (sizes_of l + carried_of l)) by (apply move_up; lra).
    assert (M3 : (1 + c) * (eta f * all_under ps) <= (1 + c) * (eta f * under_of l)) by (apply move_up; lra).
    split; [lra|]. split; [lra|].
    assert (U0 : 0 <= eta f * under_of l).
    { apply Qle_trans with (eta f * all_under ps); [|exact U].
      apply Qmult_le_0_compat; [lra|apply all_under_nonneg]. }
    assert (M4 : 0 <= c * (sizes_of l + (carried_of l + eta f * under_of l))).
    { apply Qmult_le_0_compat; [lra|]. pose proof (Qabs_nonneg w). lra. }
    lra.
Qed.

(** ** Signs *)

(** Terms of which the product is exact. *)

Definition exact_term (t : source * Q * bound_) (v : Q) : Prop :=
  is_float (format f) (snd (fst t)) /\ v == W (fst (fst t)) /\
  (is_trivial (snd (fst t)) \/ is_trivial v).

Definition is_product (t : source * Q * bound_) (y : Q) : Prop := y == snd (fst t) * W (fst (fst t)).

Lemma exact_products l vs ys : Forall2 good l vs -> Forall2 exact_term l vs ->
  Forall2 (fun t y => multiplied f (fst t) (snd t) y) (pairs (map fst l) vs) ys ->
  Forall2 is_product l ys.
Proof.
  intro G. revert ys. induction G as [|[[s a] b] v l vs (C & Fa & _) G IH]; intros ys E M.
  - inversion M; subst. constructor.
  - inversion E as [|? ? ? ? (Fl & Vw & Tr) E']; subst. cbn [fst snd] in *.
    change (pairs (map fst ((s, a, b) :: l)) (v :: vs)) with ((a, v) :: pairs (map fst l) vs) in M.
    inversion M as [|? y ? ys' My M']; subst. cbn [fst snd] in *. constructor; [|apply IH; assumption].
    apply (multiplied_exact f a v); assumption.
Qed.

Lemma exact_sum l ys : Forall2 is_product l ys ->
  sum ys == worth W (map fst l).
Proof.
  induction 1 as [|[[s a] b] y l ys E _ IH]; [reflexivity|]. unfold is_product in E. cbn [fst snd] in E.
  change (map fst ((s, a, b) :: l)) with ((s, a) :: map fst l).
  rewrite worth_cons, sum_cons, IH, E. reflexivity.
Qed.

Lemma exact_sizes l vs ys : Forall2 good l vs ->
  Forall2 is_product l ys -> sizes ys <= sizes_of l.
Proof.
  intros G E. revert vs G. induction E as [|[[s a] b] y l ys E _ IH]; intros vs G.
  - unfold sizes, sizes_of. cbn. lra.
  - inversion G as [|? v ? vs' ((C & _) & _) G']; subst. specialize (IH vs' G').
    unfold is_product in E.
    unfold sizes, sizes_of, factor_size in *. cbn [map fst snd] in *. rewrite !sum_cons, E, Qabs_Qmult.
    pose proof (Qabs_nonneg a). pose proof (move_up (Qabs a) (size_ b) (Qabs (W s)) ltac:(lra) C). lra.
Qed.

Lemma whole_int a : is_whole a = true -> is_int a.
Proof.
  unfold is_whole. intro H. apply Pos.eqb_eq in H. exists (Qnum (Qred a)).
  pose proof (Qred_correct a) as E. destruct (Qred a) as [n d]. cbn [Qnum Qden] in *. subst d.
  rewrite <- E. reflexivity.
Qed.

Lemma one_float : is_float (format f) 1.
Proof. apply int_float; [exists 1%Z; reflexivity|destruct f; vm_compute; discriminate]. Qed.

Lemma abs_one_float a : Qabs a == 1 -> is_float (format f) a.
Proof.
  intro H. pose proof one_float as O. destruct (Qlt_le_dec a 0) as [L|L].
  - rewrite Qabs_neg in H by lra. apply (is_float_proper _ (- (1)) a); [lra|]. apply is_float_opp, O.
  - rewrite Qabs_pos in H by lra. apply (is_float_proper _ 1 a); [lra|]. exact O.
Qed.

Lemma float_held_float c : float_held f c = true -> is_float (format f) c.
Proof.
  unfold float_held. intro H. apply andb_true_iff in H as [_ H]. apply Qeqb_true in H.
  apply (is_float_proper _ _ _ (Qred_correct c)). apply float_fl; [apply format_floats|exact H].
Qed.

Lemma zero_or_one_trivial v : v == 0 \/ v == 1 -> is_trivial v.
Proof. intros [H|H]; [left; exact H|right; rewrite H; reflexivity]. Qed.

Lemma sum_part (l : list Q) a : In a l -> Forall (fun b => 0 <= b) l -> a <= sum l.
Proof.
  intros I N. induction N as [|b l B N IH]; [destruct I|]. rewrite sum_cons.
  pose proof (sum_nonneg l N). destruct I as [<-|I]; [lra|]. specialize (IH I). lra.
Qed.

(** Wholes. *)

Lemma whole_terms l vs : Forall2 good l vs ->
  (forall t, In t (filter (fun t => negb (is_constant (fst t))) l) -> bit (snd t) = true /\ off (snd t) == 0) ->
  Forall (fun t => is_int (snd (fst t)) /\ Qabs (snd (fst t)) <= wholes f) l ->
  (forall t, is_constant t = true -> W (fst t) == 1) ->
  Forall2 exact_term l vs /\
  (forall ys, Forall2 is_product l ys ->
     Forall is_int ys /\ sizes ys <= sum (map (fun t => Qabs (snd (fst t))) l)).
Proof.
  intros G B I O. induction G as [|t v l vs G R IH].
  - split; [constructor|]. intros ys E. inversion E; subst. split; [constructor|]. unfold sizes. cbn. lra.
  - inversion I as [|? ? [It Lt] I']; subst. destruct IH as [IH1 IH2].
    { intros t' H. apply B. cbn [filter]. destruct (negb (is_constant (fst t))); [right|]; exact H. }
    { exact I'. }
    assert (V : (v == 0 \/ v == 1) /\ v == W (fst (fst t))).
    { destruct G as (C & _ & K). destruct (is_constant (fst t)) eqn:Ec.
      - specialize (K eq_refl). split; [right; exact K|]. rewrite K. symmetry. apply O. exact Ec.
      - destruct (B t) as [Bt Ot]; [cbn [filter]; rewrite Ec; left; reflexivity|].
        split; [apply C; exact Bt|]. apply (covered_off _ _ _ C Ot). }
    destruct V as [V1 V2]. split.
    + constructor; [|exact IH1]. split; [apply int_float; assumption|]. split; [exact V2|].
      right. apply zero_or_one_trivial. exact V1.
    + intros ys E. inversion E as [|? y ? ys' Ey E']; subst. destruct (IH2 ys' E') as [J1 J2].
      unfold is_product in Ey. rewrite <- V2 in Ey. split.
      * constructor; [|exact J1]. destruct It as (k & Ek).
        destruct V1 as [V1|V1]; rewrite V1 in Ey; [exists 0%Z|exists k]; change (inject_Z 0) with 0; lra.
      * unfold sizes in *. cbn [map]. rewrite !sum_cons.
        assert (Qabs y <= Qabs (snd (fst t))).
        { rewrite Ey, Qabs_Qmult. pose proof (Qabs_nonneg (snd (fst t))).
          destruct V1 as [V1|V1]; rewrite V1; change (Qabs 0) with 0; change (Qabs 1) with 1; lra. }
        lra.
Qed.

Lemma sum_sign l vs size off_ z : Forall2 good l vs ->
  (forall t, is_constant t = true -> W (fst t) == 1) ->
  form_bound f (map fst l) l = Some (size, off_) -> sum_gives (map fst l) (pairs (map fst l) vs) z ->
  exact_sign f (map fst l) l = true -> (0 <= z <-> 0 <= worth W (map fst l)).
Proof.
  intros G O F Z H. destruct (sum_covered l vs size off_ z G F Z) as (_ & _ & Fit).
  destruct (terms_compare l vs G) as (_ & _ & C3 & _ & _ & _ & _).
  unfold exact_sign in H. cbv zeta in H.
  destruct (forallb (fun t => bit (snd t) && Qeqb (off (snd t)) 0)
             (filter (fun t => negb (is_constant (fst t))) l)) eqn:Bits.
  - apply andb_true_iff in H as [H1 H2]. apply Qle_bool_true in H2. rewrite summed_sum, map_map in H2.
    rewrite forallb_forall in H1, Bits.
    assert (I : Forall (fun t => is_int (snd (fst t)) /\ Qabs (snd (fst t)) <= wholes f) l).
    { rewrite Forall_forall. intros t It. split; [apply whole_int, H1, in_map, It|].
      eapply Qle_trans; [|exact H2]. apply sum_part.
      - apply in_map_iff. exists t. auto.
      - rewrite Forall_forall. intros a Ia. apply in_map_iff in Ia as (t' & <- & _). apply Qabs_nonneg. }
    destruct (whole_terms l vs G) as [E1 E2]; [|exact I|exact O|].
    { intros t It. specialize (Bits t It). apply andb_true_iff in Bits as [B1 B2].
      apply Qeqb_true in B2. auto. }
    unfold sum_gives in Z. destruct (one_value (map fst l)).
    + assert (X : z == worth W (map fst l)); [|rewrite X; tauto].
      rewrite Z. clear -E1. induction E1 as [|[[s a] b] v l vs (_ & E & _) _ IH]; [reflexivity|].
      change (pairs (map fst ((s, a, b) :: l)) (v :: vs)) with ((a, v) :: pairs (map fst l) vs).
      change (map fst ((s, a, b) :: l)) with ((s, a) :: map fst l).
      unfold all_products in *. cbn [map fst snd] in *. rewrite worth_cons, sum_cons, IH, E. reflexivity.
    + destruct Z as (ys & Y & A). pose proof (exact_products l vs ys G E1 Y) as Ey.
      destruct (E2 ys Ey) as [J1 J2].
      destruct (added_wholes f ys z A J1 ltac:(lra)) as [X _].
      rewrite X, (exact_sum l ys Ey). tauto.
  - set (inner := filter (fun t => negb (is_constant (fst t))) l) in *.
    destruct inner as [|[[s a] b] [|? ?]] eqn:Ei; try discriminate.
    apply andb_true_iff in H as [H H4]. apply andb_true_iff in H as [H H3].
    apply andb_true_iff in H as [H1 _]. apply Qeqb_true in H1, H3.
    assert (Len : (length l <= 2)%nat).
    { assert (L : length l = (length inner + length (filter is_constant (map fst l)))%nat).
      { unfold inner. clear. induction l as [|t l IH]; [reflexivity|]. cbn [filter map length].
        destruct (is_constant (fst t)); cbn [negb length]; lia. }
      rewrite Ei in L. cbn [length] in L.
      destruct (filter is_constant (map fst l)) as [|[s' c] [|? ?]]; try discriminate; cbn [length] in L; lia. }
    assert (E1 : Forall2 exact_term l vs).
    { assert (In1 : forall t, In t l -> is_constant (fst t) = false -> t = (s, a, b)).
      { intros t It Ec. assert (J : In t inner) by (unfold inner; apply filter_In; rewrite Ec; auto).
        rewrite Ei in J. destruct J as [J|[]]. auto. }
      assert (In2 : forall t, In t l -> is_constant (fst t) = true -> is_float (format f) (snd (fst t))).
      { intros t It Ec.
        assert (J : In (fst t) (filter is_constant (map fst l)))
          by (apply filter_In; split; [apply in_map; exact It|exact Ec]).
        destruct (filter is_constant (map fst l)) as [|[s' c] [|? ?]]; try discriminate; [destruct J|].
        destruct J as [J|[]]. rewrite <- J. apply float_held_float. exact H4. }
      clear -G In1 In2 H1 H3 O. induction G as [|t v l vs (C & Fa & K) G IH]; constructor.
      - destruct (is_constant (fst t)) eqn:Ec.
        + specialize (K eq_refl). split; [apply In2; [left; reflexivity|exact Ec]|].
          split; [rewrite K; symmetry; apply O; exact Ec|]. right. right. rewrite K. reflexivity.
        + pose proof (In1 t (or_introl eq_refl) Ec) as Et. subst t. cbn [fst snd] in *.
          split; [apply abs_one_float; exact H1|]. split; [apply (covered_off _ _ _ C H3)|].
          left. right. exact H1.
      - apply IH; intros; [apply In1|apply In2]; auto; right; assumption. }
    unfold sum_gives in Z. destruct (one_value (map fst l)).
    + assert (X : z == worth W (map fst l)); [|rewrite X; tauto].
      rewrite Z. clear -E1. induction E1 as [|[[s a] b] v l vs (_ & E & _) _ IH]; [reflexivity|].
      change (pairs (map fst ((s, a, b) :: l)) (v :: vs)) with ((a, v) :: pairs (map fst l) vs).
      change (map fst ((s, a, b) :: l)) with ((s, a) :: map fst l).
      unfold all_products in *. cbn [map fst snd] in *. rewrite worth_cons, sum_cons, IH, E. reflexivity.
    + destruct Z as (ys & Y & A). pose proof (exact_products l vs ys G E1 Y) as Ey.
      pose proof (exact_sizes l vs ys G Ey) as Sz.
      rewrite <- (exact_sum l ys Ey). apply (added_sign f ys z A); [|lra].
      rewrite <- (forall2_length _ _ _ Ey). exact Len.
Qed.

End Forms.

(** ** Numbers are read as the floats next to them *)

Lemma float_wider x : is_float Bytes4 x -> is_float Bytes8 x.
Proof.
  intros (m & e & E & M & L). exists m, e. split; [exact E|]. cbn [digits least] in *.
  pose proof (Z.pow_le_mono_r 2 24 53 ltac:(lia) ltac:(lia)). lia.
Qed.

Transparent fl.
Lemma fl_wholes x : fl Bytes0 x = x.
Proof. reflexivity. Qed.
Opaque fl.

Lemma whole_double k : Qabs (fl Bytes8 (fl Bytes8 (inject_Z k))) <= inject_Z (2 ^ 24) ->
  fl Bytes8 (fl Bytes8 (inject_Z k)) == inject_Z k.
Proof.
  assert (N8 : Bytes8 <> Bytes0) by discriminate.
  assert (F : forall j, (Z.abs j <= 2 ^ 53)%Z -> fl Bytes8 (inject_Z j) == inject_Z j).
  { intros j J. apply fl_float; [exact N8|]. exists j, 0%Z. change (pow2 0) with 1.
    split; [ring|]. split; [exact J|cbn; lia]. }
  intro L. destruct (Z.le_gt_cases (Z.abs k) (2 ^ 53)) as [S|S].
  - rewrite (F k S). apply F. exact S.
  - exfalso. set (b := (2 ^ 53)%Z) in *. assert (Eb : b = (2 ^ 53)%Z) by reflexivity.
    assert (B24 : inject_Z (2 ^ 24) < inject_Z b) by reflexivity.
    destruct (Z.le_gt_cases 0 k) as [P|P].
    + assert (K : inject_Z b <= inject_Z k) by (rewrite <- Zle_Qle; lia).
      apply (fl_mono Bytes8) in K. rewrite (F b ltac:(lia)) in K.
      apply (fl_mono Bytes8) in K. rewrite (F b ltac:(lia)) in K.
      revert L. apply Qabs_case; intros; lra.
    + assert (K : inject_Z k <= inject_Z (- b)) by (rewrite <- Zle_Qle; lia).
      apply (fl_mono Bytes8) in K. rewrite (F (- b)%Z ltac:(lia)) in K.
      apply (fl_mono Bytes8) in K. rewrite (F (- b)%Z ltac:(lia)) in K. rewrite inject_Z_opp in K.
      revert L. apply Qabs_case; intros; lra.
Qed.

Lemma grid_float n x w : bytes n = w -> w <> Bytes0 -> on_grid n x -> is_float w x.
Proof.
  intros B N G. unfold on_grid in G. rewrite B in G. destruct (step n) as [s|]; [|exact G].
  destruct G as (k & E). apply (is_float_proper _ _ _ E). apply fl_is_float. exact N.
Qed.

Lemma held_float f n a o size x : is_held f n o size = true -> admissible_number n a o x ->
  Qabs x <= size -> is_float (format f) x.
Proof.
  intros H A S. unfold is_held in H. cbv zeta in H. apply andb_true_iff in H as [G Al].
  rewrite forallb_forall in Al.
  assert (Alone : forall y, In y (o :: some_list (absent n)) -> x == y -> is_float (format f) x).
  { intros y I E. specialize (Al y I). apply Qeqb_true in Al.
    apply (is_float_proper _ _ _ E). apply float_fl; [apply format_floats|exact Al]. }
  destruct A as [A|(_ & _ & [A|A])].
  - apply is_absent_some in A as (b & Eb & Ex). apply (Alone b); [|exact Ex]. rewrite Eb. right. left. reflexivity.
  - destruct (bytes n) eqn:B.
    + destruct (step n) as [s|] eqn:St; [|destruct f; discriminate].
      assert (G' : Qeqb s 1 && Qle_bool size (wholes f) = true) by (destruct f; exact G).
      apply andb_true_iff in G' as [G1 G2]. apply Qeqb_true in G1. apply Qle_bool_true in G2.
      unfold on_grid in A. rewrite St, B in A. destruct A as (k & E). rewrite !fl_wholes in E.
      apply int_float; [exists k; rewrite E, G1; ring|lra].
    + pose proof (grid_float n x Bytes4 B ltac:(discriminate) A) as F.
      destruct f; [apply float_wider|]; exact F.
    + destruct f; [exact (grid_float n x Bytes8 B ltac:(discriminate) A)|].
      destruct (step n) as [s|] eqn:St; [|discriminate].
      apply andb_true_iff in G as [G1 G2]. apply Qeqb_true in G1. apply Qle_bool_true in G2.
      unfold on_grid in A. rewrite St, B in A. destruct A as (k & E).
      assert (E' : x == fl Bytes8 (fl Bytes8 (inject_Z k))).
      { rewrite E. apply fl_proper, fl_proper. rewrite G1. ring. }
      apply int_float; [|lra]. exists k. rewrite E'. apply whole_double.
      rewrite <- E'. unfold wholes in G2. cbn [format digits] in G2. lra.
  - apply (Alone o); [left; reflexivity|exact A].
Qed.

Lemma number_covered f t b v x : well_formed t -> admissible_value t (Num x) ->
  number_bound f t = Some b -> size_ b < top f ->
  (Qabs x < top f -> v == fl (format f) x) -> covered b v x.
Proof.
  intros Wf A B T V. unfold number_bound in B.
  destruct (shape t) as [n|] eqn:Sh; [|discriminate]. destruct (own t) as [o|] eqn:Ow; [|discriminate].
  destruct (everything t) as [p|] eqn:Ev; [|discriminate]. apply some_inj in B. subst b.
  unfold covered. cbn [size_ off bit] in *.
  pose proof (everything_sound t p (Num x) Wf Ev A) as I.
  set (size := match p with Interval lo hi => Qmax (Qabs lo) (Qabs hi) | _ => 0 end) in *.
  assert (S : Qabs x <= size).
  { destruct p as [lo hi|ls|]; try contradiction. destruct I as [I1 I2]. unfold size.
    pose proof (Q.le_max_l (Qabs lo) (Qabs hi)). pose proof (Q.le_max_r (Qabs lo) (Qabs hi)).
    pose proof (Qle_Qabs hi). pose proof (Qle_Qabs (- lo)) as L. rewrite Qabs_opp in L.
    apply Qabs_case; intros; lra. }
  specialize (V ltac:(lra)).
  assert (An : admissible_number n (act t) o x) by (unfold admissible_value in A; rewrite Sh, Ow in A; exact A).
  split; [exact S|]. split; [|discriminate].
  destruct (is_held f n o size) eqn:H.
  - pose proof (held_float f n (act t) o size x H An S) as F.
    rewrite V, (fl_float _ _ (format_floats f) F). setoid_replace (x - x) with 0 by ring.
    change (Qabs 0) with 0. lra.
  - rewrite Qred_correct, V. pose proof (read_error f x) as R. pose proof (unit_pos_ f).
    pose proof (move_up (unit_ f) size (Qabs x) ltac:(lra) S). lra.
Qed.

(** ** Trees *)

Lemma tallest_reached c t x zs : Qabs (nth c (reached t x zs) 0) <= tallest c t.
Proof.
  induction t as [vs|j k l IHl r IHr|j a l IHl r IHr|j k l IHl r IHr]; cbn [reached tallest]; [lra| | |];
    pose proof (Q.le_max_l (tallest c l) (tallest c r)); pose proof (Q.le_max_r (tallest c l) (tallest c r));
    match goal with |- context [if ?b then _ else _] => destruct b end; lra.
Qed.

Lemma leaves_sizes ts c x zs : sum (map Qabs (leaves_at ts c x zs)) <= sum (map (tallest c) ts).
Proof. unfold leaves_at. rewrite map_map. apply sum_le. intros t _. apply tallest_reached. Qed.

Lemma trees_covered f ts c x zs b v : trees_bound f ts c = Some b ->
  summed_leaves f (leaves_at ts c x zs) v -> covered b v (column ts c x zs).
Proof.
  unfold trees_bound. cbv zeta. destruct (gamma f (length ts)) as [g|] eqn:G; [|discriminate].
  pose proof (summed_sum (map (tallest c) ts)) as E. set (size := summed (map (tallest c) ts)) in *.
  set (n := inject_Z (Z.of_nat (length ts))).
  pose proof (Qred_correct (g * size + (1 + g) * (n * eta f))) as E2.
  set (o := Qred (g * size + (1 + g) * (n * eta f))) in *.
  destruct (Qltb (size + o) (top f)) eqn:L; [|discriminate]. apply Qltb_true in L.
  intros B S. apply some_inj in B. subst b. unfold covered. cbn [size_ off bit].
  pose proof (leaves_sizes ts c x zs) as Le.
  assert (Len : length (leaves_at ts c x zs) = length ts) by apply map_length.
  rewrite <- Len in G. pose proof (leaves_added f _ v g S G) as S'. rewrite Len in S', G.
  cbv zeta in S'. fold n in S'.
  destruct (gamma_spec f _ g G) as [G0 _].
  change (column ts c x zs) with (sum (leaves_at ts c x zs)).
  set (ls := leaves_at ts c x zs) in *. pose proof (sum_sizes ls) as Ss. unfold sizes in Ss.
  assert (M : g * sum (map Qabs ls) <= g * size) by (apply move_up; lra).
  split; [lra|]. split; [|discriminate].
  specialize (S' ltac:(lra)). lra.
Qed.

Lemma Qle_bool_same a b c : a == b -> Qle_bool a c = Qle_bool b c.
Proof. intro E. apply eq_true_iff_eq. rewrite !Qle_bool_iff, E. reflexivity. Qed.

Lemma reached_same known t x vals zs n : tests_exact known t = true -> (needs t <= n)%nat ->
  (forall k b, (k < n)%nat -> look k known = Some b -> off b == 0 -> nth k vals 0 == nth k zs 0) ->
  reached t x vals = reached t x zs.
Proof.
  intros T N H. induction t as [vs|j c l IHl r IHr|j a l IHl r IHr|k c l IHl r IHr];
    cbn [reached tests_exact needs] in *; [reflexivity| | |].
  - apply andb_true_iff in T as [T1 T2]. rewrite IHl, IHr by (assumption || lia). reflexivity.
  - apply andb_true_iff in T as [T1 T2]. rewrite IHl, IHr by (assumption || lia). reflexivity.
  - apply andb_true_iff in T as [T T2]. apply andb_true_iff in T as [T0 T1].
    destruct (look k known) as [b|] eqn:L; [|discriminate]. apply Qeqb_true in T0.
    rewrite (Qle_bool_same _ _ c (H k b ltac:(lia) L T0)), IHl, IHr by (assumption || lia). reflexivity.
Qed.

Lemma all_need_in ts t : In t ts -> (needs t <= all_need ts)%nat.
Proof.
  unfold all_need. induction ts as [|u ts IH]; [intros []|]. cbn [fold_right]. intros [<-|I]; [lia|].
  specialize (IH I). lia.
Qed.

(** ** What is looked up *)

Lemma key_same n m : key_of n = key_of m -> n = m.
Proof. unfold key_of. intro H. apply Z2Pos.inj in H; lia. Qed.

Lemma look_put {A} n (a : A) m : look n (put n a m) = Some a.
Proof. unfold look, put. apply P.gss. Qed.

Lemma look_other {A} n k (a : A) m : n <> k -> look n (put k a m) = look n m.
Proof. intro N. unfold look, put. apply P.gso. intro E. apply N, key_same, E. Qed.

Lemma look_empty {A} n : look n (P.empty A) = None.
Proof. unfold look. apply P.gempty. Qed.

Lemma look_placed {A} (l : list A) : forall j m i,
  look i (placed j l m) = if Nat.ltb i j then look i m
                          else match nth_error l (i - j) with Some a => Some a | None => look i m end.
Proof.
  induction l as [|a l IH]; intros j m i; cbn [placed].
  - destruct (Nat.ltb i j); [reflexivity|]. destruct (i - j)%nat; reflexivity.
  - rewrite IH. destruct (Nat.ltb_spec i j), (Nat.ltb_spec i (S j)); try lia.
    + apply look_other. lia.
    + replace i with j by lia. rewrite Nat.sub_diag. cbn [nth_error]. apply look_put.
    + replace (i - j)%nat with (S (i - S j)) by lia. cbn [nth_error].
      destruct (nth_error l (i - S j)); [reflexivity|]. apply look_other. lia.
Qed.

Lemma look_list {A} (l : list A) i : look i (placed 0 l (P.empty A)) = nth_error l i.
Proof.
  rewrite look_placed. cbn. rewrite Nat.sub_0_r, look_empty. destruct (nth_error l i); reflexivity.
Qed.

(** ** What is made of a sum *)

Lemma max_near z w e : Qabs (z - w) <= e -> Qabs (Qmax z 0 - Qmax w 0) <= e.
Proof.
  intro H. apply Qabs_Qle_condition in H. apply Qabs_Qle_condition.
  destruct (Q.max_spec z 0) as [[A ->]|[A ->]], (Q.max_spec w 0) as [[B ->]|[B ->]]; lra.
Qed.

Lemma max_size w : Qabs (Qmax w 0) <= Qabs w.
Proof.
  destruct (Q.max_spec w 0) as [[A ->]|[A ->]]; [|lra]. pose proof (Qabs_nonneg w). change (Qabs 0) with 0. lra.
Qed.

Lemma single_near z w size o : Qabs w <= size -> Qabs (z - w) <= o ->
  Qabs (fl Bytes4 z - fl Bytes4 w) <= o + 2 * (pow2 (-24) * (size + o) + pow2 (-150)) /\
  Qabs (fl Bytes4 w) <= size + (pow2 (-24) * (size + o) + pow2 (-150)).
Proof.
  intros S O. pose proof (single_error z) as Ez. pose proof (single_error w) as Ew.
  pose proof (near_size _ _ _ O) as Sz. pose proof (pow2_pos (-24)) as U. pose proof (Qabs_nonneg (z - w)).
  assert (M1 : pow2 (-24) * Qabs z <= pow2 (-24) * (size + o)) by (apply move_up; lra).
  assert (M2 : pow2 (-24) * Qabs w <= pow2 (-24) * (size + o)) by (apply move_up; lra).
  pose proof (near_size _ _ _ Ew) as Sw.
  pose proof (triangle (fl Bytes4 z) z (fl Bytes4 w)) as T1.
  pose proof (triangle z w (fl Bytes4 w)) as T2. rewrite (Qabs_Qminus w (fl Bytes4 w)) in T2.
  split; lra.
Qed.

Lemma single_covered f g size o b z v w : single_bound f g size o = Some b ->
  Qabs w <= size -> Qabs (z - w) <= o -> (Qabs z < pow2 127 -> v == fl Bytes4 z) ->
  (of_number g = true -> f = Singles -> size + o < top f -> fl Bytes4 z == fl Bytes4 w) ->
  covered b v (fl Bytes4 w).
Proof.
  intros B S O V N. unfold single_bound in B.
  destruct (Qltb (size + o) (pow2 127)) eqn:L; [|discriminate]. apply Qltb_true in L.
  cbv zeta in B. set (more := Qred (pow2 (-24) * (size + o) + pow2 (-150))) in *.
  assert (Em : more == pow2 (-24) * (size + o) + pow2 (-150)) by apply Qred_correct.
  apply some_inj in B. subst b. unfold covered. cbn [size_ off bit].
  pose proof (near_size _ _ _ O) as Sz. specialize (V ltac:(lra)).
  destruct (single_near z w size o S O) as [N1 N2]. rewrite <- Em in N1, N2.
  split; [rewrite Qred_correct; exact N2|]. split; [|discriminate]. rewrite V.
  assert (Same : fl Bytes4 z == fl Bytes4 w -> Qabs (fl Bytes4 z - fl Bytes4 w) == 0).
  { intro E. rewrite E. setoid_replace (fl Bytes4 w - fl Bytes4 w) with 0 by ring. reflexivity. }
  assert (Cases : (of_number g = true /\ f = Singles) \/
    (of_number g && match f with Singles => true | Doubles => false end = false)).
  { destruct (of_number g), f; auto. }
  destruct Cases as [[C1 C2]|C].
  - rewrite C1, C2. cbn [andb]. rewrite Same; [lra|]. apply N; [exact C1|exact C2|]. rewrite C2. exact L.
  - rewrite C. destruct (negb (Qeqb o 0) || match f with Singles => true | Doubles => false end) eqn:A.
    + rewrite Qred_correct. exact N1.
    + apply orb_false_iff in A as [A _]. apply negb_false_iff, Qeqb_true in A.
      rewrite Same; [lra|]. apply fl_proper. rewrite A in O. apply Qabs_Qle_condition in O. lra.
Qed.

Lemma smooth_covered f s F size o b z v w : faithful s F ->
  image_bound f (Smooth s) [] [] size o = Some b -> Qabs w <= size -> Qabs (z - w) <= o ->
  Qabs (v - F z) <= 126 * unit_ f * (Qabs z + 1) + eta f -> covered b v (F w).
Proof.
  intros H B S O V. cbn [image_bound] in B. destruct (steepest s) as [k|] eqn:K; [|discriminate].
  cbv zeta in B. apply some_inj in B. subst b. unfold covered. cbn [size_ off bit].
  rewrite !Qred_correct.
  pose proof (small_enough s F k H K w) as Sm. pose proof (steep_enough s F k H K w z) as St.
  pose proof (near_size _ _ _ O) as Sz. pose proof (Qabs_nonneg (z - w)) as O0.
  pose proof (Qabs_nonneg w) as W0.
  destruct (steepest_between s F k H K) as [K0 K1].
  split; [lra|]. split; [|discriminate].
  pose proof (triangle v (F z) (F w)) as T.
  assert (Ko : k * Qabs (z - w) <= k * o) by (apply move_up; assumption).
  assert (U : 4 * tiny <= 2 * unit_ f) by (destruct f; vm_compute; discriminate).
  assert (U0 : 0 <= unit_ f) by (destruct f; vm_compute; discriminate).
  assert (Z1 : 126 * unit_ f * (Qabs z + 1) <= 126 * unit_ f * (size + o + 1)).
  { apply move_up; lra. }
  assert (Z2 : 2 * unit_ f * 1 <= 2 * unit_ f * (size + o + 1)) by (apply move_up; lra).
  lra.
Qed.

Lemma product_covered f a b r va vb wa wb v : covered a va wa -> covered b vb wb ->
  product_bound f a b = Some r -> gives f (eta f) (va * vb) v -> covered r v (wa * wb).
Proof.
  intros (A1 & A2 & _) (B1 & B2 & _) R G. unfold product_bound in R. cbv zeta in R.
  set (lost := Qred (size_ a * off b + off a * size_ b + off a * off b)) in *.
  assert (El : lost == size_ a * off b + off a * size_ b + off a * off b) by apply Qred_correct.
  set (size := Qred (size_ a * size_ b)) in *.
  assert (Es : size == size_ a * size_ b) by apply Qred_correct.
  destruct (Qltb (size + lost) (top f)) eqn:L; [|discriminate]. apply Qltb_true in L.
  apply some_inj in R. subst r. unfold covered. cbn [size_ off bit].
  pose proof (Qabs_nonneg wa). pose proof (Qabs_nonneg wb).
  pose proof (Qabs_nonneg (va - wa)). pose proof (Qabs_nonneg (vb - wb)).
  assert (M : forall x y m n, 0 <= x -> x <= m -> 0 <= y -> y <= n -> x * y <= m * n).
  { intros x y m n X1 X2 Y1 Y2. apply Qle_trans with (m * y); [apply Qmult_le_compat_r; lra|apply move_up; lra]. }
  assert (W : Qabs (wa * wb) <= size) by (rewrite Qabs_Qmult, Es; apply M; lra).
  assert (D : Qabs (va * vb - wa * wb) <= lost).
  { setoid_replace (va * vb - wa * wb) with (wa * (vb - wb) + (va - wa) * wb + (va - wa) * (vb - wb)) by ring.
    pose proof (Qabs_triangle (wa * (vb - wb) + (va - wa) * wb) ((va - wa) * (vb - wb))) as T1.
    pose proof (Qabs_triangle (wa * (vb - wb)) ((va - wa) * wb)) as T2.
    rewrite !Qabs_Qmult in *.
    pose proof (M (Qabs wa) (Qabs (vb - wb)) (size_ a) (off b) ltac:(lra) A1 ltac:(lra) B2).
    pose proof (M (Qabs (va - wa)) (Qabs wb) (off a) (size_ b) ltac:(lra) A2 ltac:(lra) B1).
    pose proof (M (Qabs (va - wa)) (Qabs (vb - wb)) (off a) (off b) ltac:(lra) A2 ltac:(lra) B2).
    lra. }
  split; [exact W|]. split; [|discriminate].
  pose proof (near_size _ _ _ D) as Sv. destruct (G ltac:(lra)) as [Gn _].
  pose proof (unit_pos_ f). pose proof (move_up (unit_ f) (size + lost) (Qabs (va * vb)) ltac:(lra) ltac:(lra)).
  pose proof (triangle v (va * vb) (wa * wb)). rewrite Qred_correct. lra.
Qed.

(** ** All that a program makes *)

Lemma entries_scoped_nth p nd es : forall k i e, entries_scoped p nd k es = true ->
  nth_error es i = Some e -> entry_scoped p nd (k + i) e = true.
Proof.
  induction es as [|e es IH]; intros k i e' S E; [destruct i; discriminate|].
  cbn [entries_scoped] in S. apply andb_true_iff in S as [S1 S2].
  destruct i as [|i]; cbn [nth_error] in E.
  - apply some_inj in E. subst e'. rewrite Nat.add_0_r. exact S1.
  - rewrite Nat.add_succ_r. apply (IH (S k) i e' S2 E).
Qed.

Lemma entries_bound_spec f ens nums es : forall k K M,
  entries_bound f ens nums k K es = Some M -> (forall i b, look i K = Some b -> (i < k)%nat) ->
  (forall i, (i < k)%nat -> look i M = look i K) /\
  (forall i b, look i M = Some b -> (i < k + length es)%nat) /\
  forall i e, nth_error es i = Some e -> exists K' b,
    entry_bound f ens nums K' e = Some b /\ look (k + i) M = Some b /\
    forall j c, look j K' = Some c -> (j < k + i)%nat /\ look j M = Some c.
Proof.
  induction es as [|e es IH]; intros k K M E B; cbn [entries_bound] in E.
  - apply some_inj in E. subst M. split; [reflexivity|]. split.
    + intros i b H. specialize (B i b H). cbn. lia.
    + intros i e H. destruct i; discriminate.
  - destruct (entry_bound f ens nums K e) as [b|] eqn:Eb; [|discriminate].
    destruct (IH (S k) (put k b K) M E) as (I1 & I2 & I3).
    { intros i c H. destruct (Nat.eq_dec i k) as [->|N]; [lia|].
      rewrite look_other in H by exact N. specialize (B i c H). lia. }
    assert (Old : forall i, (i < k)%nat -> look i M = look i K).
    { intros i L. rewrite I1, look_other by lia. reflexivity. }
    split; [exact Old|]. split.
    + intros i c H. specialize (I2 i c H). cbn [length]. lia.
    + intros i e' H. destruct i as [|i]; cbn [nth_error] in H.
      * apply some_inj in H. subst e'. exists K, b. split; [exact Eb|]. rewrite Nat.add_0_r. split.
        -- rewrite I1, look_put by lia. reflexivity.
        -- intros j c J. pose proof (B j c J). split; [lia|]. rewrite Old by lia. exact J.
      * rewrite Nat.add_succ_r. apply (I3 i e' H).
Qed.

Lemma terms_bound_spec f ens nums K g l : terms_bound f ens nums K g = Some l ->
  map fst l = g /\
  Forall (fun t => source_bound f ens nums K (fst (fst t)) = Some (snd t) /\ Qabs (snd (fst t)) < top f) l.
Proof.
  unfold terms_bound. intro H. apply option_list_some in H.
  induction H as [|t r g l E _ [IH1 IH2]]; [split; [reflexivity|constructor]|].
  unfold term_bound in E. destruct (source_bound f ens nums K (fst t)) as [b|] eqn:Sb; [|discriminate].
  destruct (Qltb (Qabs (snd t)) (top f)) eqn:L; [|discriminate]. apply Qltb_true in L.
  apply some_inj in E. subst r. cbn [map fst snd]. rewrite IH1.
  split; [reflexivity|]. constructor; [|exact IH2]. cbn [fst snd]. auto.
Qed.

Section Program.

Context {Curves : functions}.
Variables (q : question) (f : floats) (x : point) (vals : list Q).

Notation p := (prog q).
Notation zs := (zs_of (prog q) x).
Notation W := (source_at (prog q) x (zs_of (prog q) x)).
Notation ens := (placed 0 (trees (prog q)) (P.empty _)).
Notation nums := (placed 0 (map (number_bound f) (fs q)) (P.empty _)).

Hypothesis True_ : true_to Curves (prog q).
Hypothesis Scoped : scoped p = true.
Hypothesis Formed : Forall well_formed (fs q).
Hypothesis Admissible : admissible (fs q) x.

Definition same_leaves (m c : nat) : Prop :=
  leaves_at (nth m (trees p) []) c x vals = leaves_at (nth m (trees p) []) c x zs.

Lemma source_covered K s b v :
  (forall i b, look i K = Some b -> covered b (nth i vals 0) (W (Made i))) ->
  (forall m c, s = Column m c -> same_leaves m c) ->
  source_bound f ens nums K s = Some b -> machine_source f p x vals s v -> covered b v (W s).
Proof.
  intros Kn Same B V. destruct s as [|j|j i|m c|k]; cbn [source_bound machine_source] in *.
  - apply some_inj in B. subst b. unfold covered, exact. cbn [size_ off bit source_at].
    rewrite V. change (Qabs (1 - 1)) with 0. change (Qabs 1) with 1. split; [lra|]. split; [lra|discriminate].
  - rewrite look_list, nth_error_map in B. destruct (nth_error (fs q) j) as [t|] eqn:Et; [|discriminate].
    cbn [option_map] in B. destruct (number_bound f t) as [b'|] eqn:Nb; [|discriminate].
    destruct (Qltb (size_ b') (top f)) eqn:L; [|discriminate]. apply Qltb_true in L.
    apply some_inj in B. subst b'.
    assert (Hx : exists w, nth_error x j = Some w /\ admissible_value t w).
    { clear -Admissible Et. unfold admissible in Admissible. revert j Et.
      induction Admissible as [|t' w l y Aw A IH]; intros [|j] Et; try discriminate; cbn [nth_error] in *.
      - apply some_inj in Et. subst t'. eauto.
      - apply (IH A). exact Et. }
    destruct Hx as (w & Ew & Aw). rewrite Forall_forall in Formed.
    pose proof (Formed t (nth_error_In _ _ Et)) as Wf.
    cbn [source_at]. unfold number_at in *. rewrite Ew in *.
    destruct w as [y|i].
    + apply (number_covered f t b v y); assumption.
    + exfalso. unfold number_bound in Nb. unfold admissible_value in Aw.
      destruct (shape t), (own t); try discriminate. exact Aw.
  - apply some_inj in B. subst b. unfold covered, exact. cbn [size_ off bit source_at].
    rewrite V. destruct (has_label x j i).
    + change (Qabs (1 - 1)) with 0. change (Qabs 1) with 1. split; [lra|]. split; [lra|]. intros _. right. reflexivity.
    + change (Qabs (0 - 0)) with 0. change (Qabs 0) with 0. split; [lra|]. split; [lra|]. intros _. left. reflexivity.
  - rewrite look_list in B. destruct (nth_error (trees p) m) as [ts|] eqn:Et; [|discriminate].
    pose proof (Same m c eq_refl) as Sm. unfold same_leaves in Sm.
    cbn [source_at]. rewrite (nth_error_nth _ _ [] Et) in *. rewrite Sm in V.
    apply (trees_covered f ts c x zs b v B V).
  - destruct (Kn k b B) as (C1 & C2 & C3). unfold covered. rewrite V. auto.
Qed.

Lemma constant_one t : is_constant t = true -> W (fst t) == 1.
Proof. unfold is_constant. destruct (fst t); try discriminate. reflexivity. Qed.

(** Terms that [terms_bound] found, and what the model says of their values. *)

Lemma terms_good K l vs :
  (forall i b, look i K = Some b -> covered b (nth i vals 0) (W (Made i))) ->
  (forall t m c, In t l -> fst (fst t) = Column m c -> same_leaves m c) ->
  Forall (fun t => source_bound f ens nums K (fst (fst t)) = Some (snd t) /\ Qabs (snd (fst t)) < top f) l ->
  Forall2 (fun t v => machine_source f p x vals (fst t) v) (map fst l) vs ->
  Forall2 (good f W) l vs.
Proof.
  intros Kn. revert vs. induction l as [|t l IH]; intros vs Same B M; inversion M as [|? v ? vs' V M']; subst;
    [constructor|].
  inversion B as [|? ? [B1 B2] B']; subst. constructor.
  - split; [|split; [exact B2|]].
    + apply (source_covered K (fst (fst t)) (snd t) v Kn); [|exact B1|exact V].
      intros m c E. apply (Same t); [left; reflexivity|exact E].
    + intro C. unfold is_constant in C. destruct (fst (fst t)); try discriminate. exact V.
  - apply IH; [|exact B'|exact M']. intros t' m c I. apply Same. right. exact I.
Qed.

Lemma form_sound K g l size o z :
  (forall i b, look i K = Some b -> covered b (nth i vals 0) (W (Made i))) ->
  (forall t m c, In t g -> fst t = Column m c -> same_leaves m c) ->
  terms_bound f ens nums K g = Some l -> form_bound f g l = Some (size, o) ->
  machine_form f p x vals g z ->
  Qabs (form_at p x zs g) <= size /\ Qabs (z - form_at p x zs g) <= o /\
  (exact_sign f g l = true -> (0 <= z <-> 0 <= form_at p x zs g)).
Proof.
  intros Kn Same T F M. apply terms_bound_spec in T as [E B]. subst g.
  destruct M as (vs & Vs & M).
  assert (G : Forall2 (good f W) l vs).
  { apply (terms_good K); try assumption. intros t m c I. apply Same. apply in_map. exact I. }
  assert (Z : sum_gives f (map fst l) (pairs (map fst l) vs) z).
  { unfold sum_gives, pairs. destruct (one_value (map fst l)).
    - unfold all_products. rewrite map_map. exact M.
    - destruct M as (ys & Y & A). exists ys. split; [|exact A]. apply forall2_map_left. exact Y. }
  change (form_at p x zs (map fst l)) with (worth W (map fst l)).
  destruct (sum_covered f W l vs size o z G F Z) as (C1 & C2 & _).
  split; [exact C1|]. split; [exact C2|].
  apply (sum_sign f W l vs size o z G constant_one F Z).
Qed.

(** A float32 of a feature's number alone. *)

Lemma number_single g size o z : of_number g = true -> f = Singles ->
  Qabs (form_at p x zs g) <= size -> size + o < top f -> 0 <= o ->
  machine_form f p x vals g z -> fl Bytes4 z == fl Bytes4 (form_at p x zs g).
Proof.
  intros N Sf S T O (vs & Vs & M). unfold of_number in N.
  destruct g as [|[[|j|j i|m c|k] a] [|? ?]]; try discriminate. cbn [one_value] in M. rewrite N in M.
  apply Qeqb_true in N.
  inversion Vs as [|? v ? vs' V Vs']; subst. inversion Vs'; subst. cbn [fst machine_source format] in V.
  cbn [combine map fst snd] in M. rewrite sum_cons, sum_nil in M.
  assert (E : form_at p x zs [(X j, a)] == a * number_at x j).
  { unfold form_at. cbn [map fst snd source_at]. rewrite sum_cons, sum_nil. ring. }
  rewrite E in S. rewrite Qabs_Qmult, N, Qmult_1_l in S. specialize (V ltac:(lra)).
  assert (Z : z == a * fl Bytes4 (number_at x j)) by (rewrite M, V; ring).
  rewrite (fl_proper Bytes4 _ _ E), (fl_proper Bytes4 _ _ Z).
  set (y := number_at x j) in *.
  assert (F : is_float Bytes4 (fl Bytes4 y)) by (apply fl_is_float; discriminate).
  destruct (Qlt_le_dec a 0) as [L|L].
  - rewrite Qabs_neg in N by lra. assert (A : a == -(1)) by lra.
    setoid_replace (a * fl Bytes4 y) with (- fl Bytes4 y) by (rewrite A; ring).
    setoid_replace (a * y) with (- y) by (rewrite A; ring).
    rewrite fl_float, fl_opp; [reflexivity|discriminate|]. apply is_float_opp. exact F.
  - rewrite Qabs_pos in N by lra.
    setoid_replace (a * fl Bytes4 y) with (fl Bytes4 y) by (rewrite N; ring).
    setoid_replace (a * y) with y by (rewrite N; ring).
    apply fl_float; [discriminate|exact F].
Qed.

Section Machine.

Variable M : P.t bound_.

Hypothesis Bounds : entries_bound f ens nums 0 (P.empty _) (made p) = Some M.
Hypothesis Tests : forallb (forallb (tests_exact M)) (trees p) = true.
Hypothesis Made_ : forall k e, nth_error (made p) k = Some e ->
  machine_entry f p x vals e (nth k vals 0).

Lemma scoped_parts : entries_scoped p (needed p) 0 (made p) = true /\
  (forall g, In g (outputs p) -> form_scoped (needed p) (length (made p)) g = true) /\
  (forall ts t, In ts (trees p) -> In t ts -> tests_forms p t = true).
Proof.
  unfold scoped in Scoped. cbv zeta in Scoped. apply andb_true_iff in Scoped as [S S3].
  apply andb_true_iff in S as [S1 S2]. rewrite forallb_forall in S2, S3. split; [exact S1|].
  split; [exact S2|]. intros ts t I J. specialize (S3 ts I). rewrite forallb_forall in S3. apply S3, J.
Qed.

Lemma form_entry k : is_form p k = true -> W (Made k) = nth k zs 0.
Proof.
  unfold is_form. cbn [source_at]. destruct (nth_error (made p) k) as [[[] g|]|]; try discriminate. reflexivity.
Qed.

(** What is made before the k-th entry is as it is said to be. *)

Definition known_to (k : nat) : Prop := forall i b, (i < k)%nat -> look i M = Some b ->
  covered b (nth i vals 0) (W (Made i)).

(** Then trees that need no more reach the same leaves.  Their tests are of forms. *)

Lemma reached_known k t : known_to k -> tests_exact M t = true -> tests_forms p t = true ->
  (needs t <= k)%nat -> reached t x vals = reached t x zs.
Proof.
  intros Kn. induction t as [vs|j c l IHl r IHr|j a l IHl r IHr|i c l IHl r IHr];
    cbn [reached tests_exact tests_forms needs]; intros T Fo N; [reflexivity| | |].
  - apply andb_true_iff in T as [T1 T2], Fo as [F1 F2]. rewrite IHl, IHr by (assumption || lia). reflexivity.
  - apply andb_true_iff in T as [T1 T2], Fo as [F1 F2]. rewrite IHl, IHr by (assumption || lia). reflexivity.
  - apply andb_true_iff in T as [T T2], Fo as [Fo F2]. apply andb_true_iff in T as [T0 T1], Fo as [F0 F1].
    destruct (look i M) as [b|] eqn:L; [|discriminate]. apply Qeqb_true in T0.
    assert (E : nth i vals 0 == nth i zs 0).
    { rewrite <- (form_entry i F0). apply (covered_off b); [|exact T0]. apply Kn; [lia|exact L]. }
    rewrite (Qle_bool_same _ _ c E), IHl, IHr by (assumption || lia). reflexivity.
Qed.

Lemma leaves_known k m c : known_to k -> (nth m (needed p) 0 <= k)%nat -> same_leaves m c.
Proof.
  intros Kn N. rewrite needed_nth in N. unfold same_leaves, leaves_at. apply map_ext_in. intros t I.
  assert (Im : In (nth m (trees p) []) (trees p)).
  { destruct (nth_in_or_default m (trees p) []) as [J|J]; [exact J|]. rewrite J in I. destruct I. }
  destruct scoped_parts as (_ & _ & Fo).
  rewrite forallb_forall in Tests. pose proof (Tests _ Im) as Te. rewrite forallb_forall in Te.
  pose proof (all_need_in _ t I).
  rewrite (reached_known k t Kn (Te t I) (Fo _ t Im I)) by lia. reflexivity.
Qed.

Lemma form_columns k g : known_to k -> form_scoped (needed p) k g = true ->
  forall t m c, In t g -> fst t = Column m c -> same_leaves m c.
Proof.
  intros Kn S t m c I E. unfold form_scoped in S. rewrite forallb_forall in S. specialize (S t I).
  rewrite E in S. cbn [source_scoped] in S. apply Nat.leb_le in S. apply (leaves_known k); assumption.
Qed.

Lemma entry_covered k e K b : nth_error (made p) k = Some e -> known_to k ->
  (forall j c, look j K = Some c -> (j < k)%nat /\ look j M = Some c) ->
  entry_bound f ens nums K e = Some b -> covered b (nth k vals 0) (W (Made k)).
Proof.
  intros E Kn Sub B. pose proof (Made_ k e E) as V.
  destruct (zs_fixed p x Scoped) as [_ Zf]. pose proof (Zf k e E) as Ez.
  assert (Kk : forall i b, look i K = Some b -> covered b (nth i vals 0) (W (Made i))).
  { intros i c L. destruct (Sub i c L). apply Kn; assumption. }
  destruct scoped_parts as (Se & _ & _). pose proof (entries_scoped_nth p _ _ 0 k e Se E) as Sk.
  cbn [Nat.add] in Sk. cbn [source_at]. rewrite E, Ez.
  destruct e as [c g|i m]; cbn [entry_scoped entry_bound machine_entry entry_at curve_of] in *.
  - destruct (terms_bound f ens nums K g) as [l|] eqn:T; [|discriminate].
    destruct (form_bound f g l) as [[size o]|] eqn:F; [|discriminate].
    destruct V as (z & Z & V).
    destruct (form_sound K g l size o z Kk (form_columns k g Kn Sk) T F Z) as (C1 & C2 & C3).
    set (w := form_at p x zs g) in *. unfold image_bound in B.
    destruct c as [| | | |s]; cbn [machine_image image] in *.
    + apply some_inj in B. subst b. unfold covered. cbn [size_ off bit]. rewrite V.
      pose proof (max_size w). pose proof (max_near z w o C2). split; [lra|]. split; [assumption|discriminate].
    + destruct (exact_sign f g l); [|discriminate]. apply some_inj in B. subst b.
      specialize (C3 eq_refl).
      assert (Eb : Qle_bool 0 z = Qle_bool 0 w) by (apply eq_true_iff_eq; rewrite !Qle_bool_iff; exact C3).
      rewrite Eb in V. unfold covered, exact. cbn [size_ off bit]. rewrite V.
      destruct (Qle_bool 0 w).
      * change (Qabs (1 - 1)) with 0. change (Qabs 1) with 1. split; [lra|]. split; [lra|]. intros _. right. reflexivity.
      * change (Qabs (0 - 0)) with 0. change (Qabs 0) with 0. split; [lra|]. split; [lra|]. intros _. left. reflexivity.
    + apply (single_covered f g size o b z _ w B C1 C2 V). intros N Sf L.
      apply (number_single g size o z N Sf C1 L); [|exact Z].
      pose proof (Qabs_nonneg (z - w)). lra.
    + apply some_inj in B. subst b. unfold covered. cbn [size_ off bit]. rewrite V.
      split; [exact C1|]. split; [exact C2|discriminate].
    + apply (smooth_covered f s (Curves s) size o b z _ w (True_ k s g E) B C1 C2 V).
  - destruct (look i K) as [a|] eqn:Li; [|discriminate]. destruct (look m K) as [d|] eqn:Lm; [|discriminate].
    apply andb_true_iff in Sk as [Sk Fm]. apply andb_true_iff in Sk as [_ Fi].
    cbn [image]. rewrite <- (form_entry i Fi), <- (form_entry m Fm).
    apply (product_covered f a d b (nth i vals 0) (nth m vals 0)); [apply Kk| apply Kk| |]; assumption.
Qed.

Lemma all_known k : known_to k.
Proof.
  induction k as [|k IH]; intros i b L E; [lia|].
  destruct (Nat.eq_dec i k) as [->|N]; [|apply IH; [lia|exact E]].
  destruct (entries_bound_spec f ens nums (made p) 0 (P.empty _) M Bounds) as (_ & I2 & I3).
  { intros j c H. rewrite look_empty in H. discriminate. }
  pose proof (I2 k b E) as Lk. cbn [Nat.add] in *.
  destruct (nth_error (made p) k) as [e|] eqn:Ee; [|apply nth_error_None in Ee; lia].
  destruct (I3 k e Ee) as (K & b' & B & E' & Sub). rewrite E in E'. apply some_inj in E'. subst b'.
  apply (entry_covered k e K b Ee IH Sub B).
Qed.

Lemma output_covered g r z : In g (outputs p) -> output_bound f ens nums M g = Some r ->
  machine_form f p x vals g z -> Qabs (z - form_at p x zs g) <= snd r.
Proof.
  intros I B Z. unfold output_bound in B. destruct (terms_bound f ens nums M g) as [l|] eqn:T; [|discriminate].
  destruct r as [size o]. destruct scoped_parts as (_ & So & _).
  destruct (form_sound M g l size o z) as (_ & C & _); try assumption.
  - intros i b L. apply (all_known (S i)); [lia|exact L].
  - apply (form_columns (length (made p)) g (all_known _) (So g I)).
Qed.

End Machine.

(** The outputs are off by at most what [outputs_bound] says. *)

Lemma outputs_covered ends outs : outputs_bound q f = Some ends -> machine f p x vals outs ->
  length ends = length (outputs p) /\ length outs = length (outputs p) /\
  forall r, (r < length (outputs p))%nat ->
    Qabs (nth r outs 0 - output p x r) <= nth r (map snd ends) 0.
Proof.
  unfold outputs_bound. cbv zeta.
  destruct (entries_bound f ens nums 0 (P.empty _) (made p)) as [M|] eqn:B; [|discriminate].
  destruct (forallb (forallb (tests_exact M)) (trees p)) eqn:T; [|discriminate].
  intros E [Ma Mo]. apply option_list_some in E.
  split; [symmetry; eapply forall2_length; exact E|].
  split; [symmetry; eapply forall2_length; exact Mo|].
  assert (H : forall g r z, In g (outputs p) -> output_bound f ens nums M g = Some r ->
    machine_form f p x vals g z -> Qabs (z - form_at p x zs g) <= snd r)
    by (intros; apply (output_covered M B T Ma); assumption).
  unfold output, form_value. set (os := outputs p) in *. clearbody os. revert outs Mo.
  induction E as [|g e os ends Eg _ IH]; intros outs Mo r L; [cbn in L; lia|].
  inversion Mo as [|? z ? outs' Z Mo']; subst. destruct r as [|r]; cbn [nth map].
  - apply H; [left; reflexivity|exact Eg|exact Z].
  - apply IH; [|exact Mo'|cbn in L; lia]. intros g' r' z' I. apply H. right. exact I.
Qed.

End Program.

(** ** The slack *)

Lemma rows_wins o of r : (r < length of)%nat -> r <> o -> (o < length of)%nat -> forall margin least_score,
  nth o of 0 + nth r of 0 <= largest (rows_sum (Wins o margin least_score) of).
Proof.
  intros L N Lo margin least_score. cbn [rows_sum]. cbv zeta.
  eapply Qle_trans; [|apply largest_ge; apply in_or_app; left; apply in_map_iff;
                      exists (r, nth r of 0); split; [reflexivity|]].
  - cbn [snd]. rewrite Qred_correct. lra.
  - apply filter_In. cbn [fst]. split; [|apply negb_true_iff, Nat.eqb_neq; exact N].
    replace (r, nth r of 0) with (nth r (combine (seq 0 (length of)) of) (0%nat, 0)).
    + apply nth_In. rewrite combine_length, seq_length. lia.
    + rewrite combine_nth by apply seq_length. rewrite seq_nth by exact L. reflexivity.
Qed.

(** Outputs within a slack of those of the machine, where these have the outcome. *)

Lemma target_near {Curves : functions} p x t outs of slack_ : target_ok p t = true ->
  length outs = length (outputs p) -> length of = length (outputs p) ->
  (forall r, (r < length (outputs p))%nat -> Qabs (nth r outs 0 - output p x r) <= nth r of 0) ->
  largest (rows_sum t of) <= slack_ -> outs_in_target t outs -> in_target p t slack_ x.
Proof.
  intros Tg Lo Lf Near Sl T. destruct t as [lower upper|o margin least_score];
    cbn [target_ok outs_in_target in_target] in *; cbv zeta in T.
  - apply Nat.eqb_eq in Tg. pose proof (Near 0%nat ltac:(lia)) as N0. apply Qabs_Qle_condition in N0.
    destruct T as [T1 T2]. cbn [rows_sum] in Sl. split.
    + destruct lower as [b|]; [|exact I]. cbn [at_least] in *.
      assert (nth 0 of 0 <= largest (map (fun _ => nth 0 of 0) (some_list (Some b) ++ some_list upper)))
        by (apply largest_ge; left; reflexivity). lra.
    + destruct upper as [b|]; [|exact I].
      assert (nth 0 of 0 <= largest (map (fun _ => nth 0 of 0) (some_list lower ++ some_list (Some b)))).
      { apply largest_ge. rewrite map_app. apply in_or_app. right. left. reflexivity. }
      lra.
  - apply andb_true_iff in Tg as [Tg _]. apply Nat.ltb_lt in Tg. destruct T as [T1 T2].
    pose proof (Near o Tg) as No. apply Qabs_Qle_condition in No. split.
    + destruct least_score as [b|]; [|exact I]. cbn [at_least] in *.
      assert (nth o of 0 <= largest (rows_sum (Wins o margin (Some b)) of)).
      { apply largest_ge. cbn [rows_sum]. cbv zeta. apply in_or_app. right. left. reflexivity. }
      lra.
    + intros r L N. specialize (T2 r ltac:(lia) N). cbv zeta in T2. cbv zeta.
      pose proof (Near r L) as Nr. apply Qabs_Qle_condition in Nr.
      pose proof (rows_wins o of r ltac:(lia) N ltac:(lia) margin least_score).
      destruct (Nat.ltb r o); lra.
Qed.

(** Where a machine's outputs have the wanted outcome, exact ones have it with the slack. *)

Theorem rounding_sound (Curves : functions) q f least most x vals outs :
  question_ok q = true -> true_to Curves (prog q) -> admissible (fs q) x ->
  slack_bounds q f = Some (least, most) -> least <= slack q ->
  machine f (prog q) x vals outs -> outs_in_target (goal q) outs ->
  in_target (prog q) (goal q) (slack q) x.
Proof.
  intros Ok True_ A B S M T. unfold question_ok in Ok. repeat rewrite andb_true_iff in Ok.
  destruct Ok as [[[[[[Fo _] _] Sc] _] Tg] _].
  assert (Wf : Forall well_formed (fs q)).
  { rewrite Forall_forall. rewrite forallb_forall in Fo. intros t I. apply formed_sound, Fo, I. }
  unfold slack_bounds in B. destruct (outputs_bound q f) as [ends|] eqn:E; [|discriminate].
  cbv zeta in B. apply pair_inj in B as [B _]. subst least.
  destruct (outputs_covered q f x vals True_ Sc Wf A ends outs E M) as (L1 & L2 & N).
  apply (target_near (prog q) x (goal q) outs (map snd ends) (slack q) Tg L2); try assumption.
  rewrite map_length. exact L1.
Qed.

(** ** What a certificate in floats shows *)

(** A point that is asked for of the machine: exact, but for the outcome. *)

Definition machine_counterfactual {Curves : functions} (f : floats) (q : question) (x : point) : Prop :=
  admissible (fs q) x /\
  (exists vals outs, machine f (prog q) x vals outs /\ outs_in_target (goal q) outs) /\
  (forall t, In t (constraints q) -> true_at (prog q) x t = true) /\
  in_region (region_in q) x.

Theorem machine_counterfactual_sound {Curves : functions} f q x : question_ok q = true ->
  true_to Curves (prog q) ->
  (exists least most, slack_bounds q f = Some (least, most) /\ least <= slack q) ->
  machine_counterfactual f q x -> counterfactual q x.
Proof.
  intros Ok True_ (least & most & B & S) (A & (vals & outs & M & T) & C & R).
  split; [exact A|]. split; [|split; assumption].
  apply (rounding_sound Curves q f least most x vals outs); assumption.
Qed.

Lemma slack_ok_covers c f : slack_ok c f = true ->
  exists least most, slack_bounds (asked c) f = Some (least, most) /\ least <= slack (asked c).
Proof.
  unfold slack_ok. cbv zeta. destruct (slack_bounds (asked c) f) as [[least most]|]; [|discriminate].
  intro H. apply andb_true_iff in H as [H _]. apply Qle_bool_true in H. exists least, most. auto.
Qed.

Lemma check_question c : check c = true -> question_ok (asked c) = true.
Proof. unfold check. intro H. apply andb_true_iff in H as [H _]. apply andb_true_iff in H as [H _]. exact H. Qed.

(** Nothing that the machine gives the outcome is nearer than the bound. *)

Theorem check_floats_sound (Curves : functions) c f : check c = true -> slack_ok c f = true ->
  true_to Curves (prog (asked c)) -> forall x, machine_counterfactual f (asked c) x -> lower c <= away (asked c) x.
Proof.
  intros H S True_ x X. apply (check_sound Curves c H True_).
  apply (machine_counterfactual_sound f (asked c) x (check_question c H) True_ (slack_ok_covers c f S) X).
Qed.

Theorem infeasible_floats_sound (Curves : functions) c f : check c = true -> slack_ok c f = true ->
  true_to Curves (prog (asked c)) -> claimed c = Infeasible -> forall x, ~ machine_counterfactual f (asked c) x.
Proof.
  intros H S True_ I x X. apply (infeasible_sound Curves c H True_ I x).
  apply (machine_counterfactual_sound f (asked c) x (check_question c H) True_ (slack_ok_covers c f S) X).
Qed.

Theorem count_floats_sound (Curves : functions) f r cs :
  Forall (fun c => check c = true /\ slack_ok c f = true /\ true_to Curves (prog (asked c))) cs ->
  Forall (fun c => is_beyond r c = true ->
            forall x, machine_counterfactual f (asked c) x -> r < away (asked c) x) cs.
Proof.
  intro H. rewrite Forall_forall in *. intros c I B x X. destruct (H c I) as (Ok & S & True_).
  assert (One : Forall (fun c => check c = true /\ true_to Curves (prog (asked c))) [c])
    by (constructor; [split; assumption|constructor]).
  pose proof (Forall_inv (count_sound Curves r [c] One) B) as Far. apply Far.
  exact (machine_counterfactual_sound f (asked c) x (check_question c Ok) True_ (slack_ok_covers c f S) X).
Qed.

Print Assumptions rounding_sound.
Print Assumptions check_floats_sound.
Print Assumptions infeasible_floats_sound.
Print Assumptions count_floats_sound.
Print Assumptions leaves_added.

(** ** The model is not too narrow: operations that give the nearest float are such

    So are fused ones: where these are rounded once, the product is one that is off by what the sum
    loses by underflow. *)

Lemma floats_multiple w a : is_float w a -> exists k, a == inject_Z k * pow2 (least w).
Proof.
  intros (m & e & E & _ & L). exists (m * 2 ^ (e - least w))%Z.
  rewrite E, (pow2_split _ _ L), inject_Z_mult. ring.
Qed.

Lemma multiple_low w x k : x == inject_Z k * pow2 (least w) -> last_place w x = least w -> is_float w x.
Proof.
  intros E P. exists k, (least w). split; [exact E|]. split; [|lia].
  pose proof (below_full w x) as B. unfold unit_of in B. rewrite P, E, Qabs_Qmult in B.
  pose proof (pow2_pos (least w)) as Q0. rewrite (Qabs_pos (pow2 (least w))) in B by lra.
  apply Qmult_lt_r in B; [|exact Q0]. rewrite Qabs_whole in B. apply whole_lt in B. lia.
Qed.

(** Either the last place is that of the least float, or the error is relative. *)

Lemma low_or_near f x : ~ x == 0 -> last_place (format f) x = least (format f) \/
  Qabs (fl (format f) x - x) <= unit_ f * Qabs x.
Proof.
  intro N. set (w := format f). destruct (Z.eq_dec (last_place w x) (least w)) as [E|E]; [left; exact E|right].
  eapply Qle_trans; [apply half_unit, format_floats|]. destruct (leading_spec x N) as [A _].
  assert (P : (last_place w x - 1 = - digits w + leading x)%Z) by (unfold last_place in *; lia).
  rewrite P, pow2_plus. unfold w. rewrite <- unit_digits. apply move_up; [|exact A].
  pose proof (unit_pos_ f). lra.
Qed.

Lemma error_zero f x : x == 0 -> Qabs (fl (format f) x - x) == 0.
Proof.
  intro Z. rewrite (fl_zero (format f) x Z), Z. setoid_replace (0 - 0) with 0 by ring. reflexivity.
Qed.

Lemma exact_error x y : y == x -> Qabs (y - x) == 0.
Proof. intro E. rewrite E. setoid_replace (x - x) with 0 by ring. reflexivity. Qed.

Lemma unit_abs f x : 0 <= unit_ f * Qabs x.
Proof. apply Qmult_le_0_compat; [pose proof (unit_pos_ f); lra|apply Qabs_nonneg]. Qed.

Theorem nearest_gives f e : gives f (eta f) e (fl (format f) e).
Proof.
  intros _. split; [apply read_error|]. apply fl_float, format_floats.
Qed.

Theorem nearest_adds f a b : is_float (format f) a -> is_float (format f) b ->
  gives f 0 (a + b) (fl (format f) (a + b)).
Proof.
  intros A B _. split; [|apply fl_float, format_floats]. pose proof (unit_abs f (a + b)) as U.
  destruct (Qeq_dec (a + b) 0) as [Z|N]; [rewrite (error_zero f _ Z); lra|].
  destruct (low_or_near f (a + b) N) as [L|L]; [|lra].
  destruct (floats_multiple _ a A) as (k & K). destruct (floats_multiple _ b B) as (j & J).
  assert (F : is_float (format f) (a + b)).
  { apply (multiple_low _ _ (k + j)); [|exact L]. rewrite K, J, inject_Z_plus. ring. }
  rewrite (exact_error _ _ (fl_float _ _ (format_floats f) F)). lra.
Qed.

Lemma trivial_float w a s : is_float w s -> is_trivial a -> is_float w (a * s).
Proof.
  intros F [Z|O].
  - exists 0%Z, (least w). split; [rewrite Z; change (inject_Z 0) with 0; ring|]. split; [|lia].
    pose proof (digits_pos w). cbn [Z.abs]. apply Z.pow_nonneg. lia.
  - destruct (Qlt_le_dec a 0) as [L|L].
    + rewrite Qabs_neg in O by lra. apply (is_float_proper w (- s)); [|apply is_float_opp; exact F].
      assert (E : a == -(1)) by lra. rewrite E. ring.
    + rewrite Qabs_pos in O by lra. apply (is_float_proper w s); [|exact F]. rewrite O. ring.
Qed.

Lemma trivial_product f b s : is_float (format f) b -> is_float (format f) s ->
  is_trivial b \/ is_trivial s -> is_float (format f) (b * s).
Proof.
  intros B S [T|T]; [apply trivial_float; assumption|].
  apply (is_float_proper _ (s * b)); [ring|]. apply trivial_float; assumption.
Qed.

Theorem nearest_multiplies f a s : is_float (format f) s ->
  multiplied f a s (fl (format f) (fl (format f) a * s)).
Proof.
  intro S. exists (fl (format f) a). split; [apply nearest_gives|]. split; [apply nearest_gives|].
  intro T. apply fl_float; [apply format_floats|].
  apply trivial_product; [apply fl_is_float, format_floats|exact S|exact T].
Qed.

Theorem nearest_fused f a s c : is_float (format f) s -> is_float (format f) c ->
  exists p, multiplied f a s p /\ gives f 0 (p + c) (fl (format f) (fl (format f) a * s + c)).
Proof.
  intros S C. set (w := format f) in *. set (b := fl w a). set (y := fl w (b * s + c)).
  assert (B : is_float w b) by (apply fl_is_float, format_floats).
  pose proof (eta_pos f) as Ep.
  assert (Plain : Qabs (y - (b * s + c)) <= unit_ f * Qabs (b * s + c) ->
    exists p, multiplied f a s p /\ gives f 0 (p + c) y).
  { intro N. exists (b * s). split.
    - exists b. split; [apply nearest_gives|]. split; [|reflexivity]. intros _. split; [|reflexivity].
      rewrite exact_error by reflexivity. pose proof (unit_abs f (b * s)). lra.
    - intros _. split; [lra|]. apply fl_float, format_floats. }
  destruct (Qeq_dec (b * s + c) 0) as [Z|N].
  { apply Plain. unfold y, w. rewrite (error_zero f _ Z). apply unit_abs. }
  destruct (low_or_near f (b * s + c) N) as [L|L]; [|apply Plain; exact L].
  assert (X : is_float w (b * s) -> y == b * s + c).
  { intro F. unfold y. apply fl_float; [apply format_floats|].
    destruct (floats_multiple _ _ F) as (k & K). destruct (floats_multiple _ c C) as (j & J).
    apply (multiple_low w _ (k + j)); [|exact L]. rewrite K, J, inject_Z_plus. ring. }
  exists (y - c). split.
  - exists b. split; [apply nearest_gives|]. split.
    + intros _. split; [|intro F; rewrite (X F); ring].
      setoid_replace (y - c - b * s) with (y - (b * s + c)) by ring.
      pose proof (half_unit w (b * s + c) (format_floats f)) as H. fold y in H.
      fold w in L. rewrite L in H. unfold w in H. rewrite <- eta_least in H. pose proof (unit_abs f (b * s)). lra.
    + intro T. rewrite (X (trivial_product f b s B S T)). ring.
  - intros _. split; [|intros _; ring].
    rewrite exact_error by ring. pose proof (unit_abs f (y - c + c)). lra.
Qed.

Print Assumptions nearest_adds.
Print Assumptions nearest_multiplies.
Print Assumptions nearest_fused.
