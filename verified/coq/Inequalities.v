(** * Lemmas 8 and 9: inequalities, and forms without what is made *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool Lqa Lia.
From Cfxc Require Import Semantics Lines LinesProofs Features FloatsProofs FeaturesProofs Forms Payments
  Checker Sums Balls Ranges.
Import ListNotations.
Open Scope Q_scope.

Section Inequalities.

Context {Curves : functions}.
Variables (c : context) (x : point) (zs : list Q) (in_hull : nat -> Prop).
Variables (facts : list fact) (known : spans).
Hypothesis F : facts_hold zs in_hull facts.
Hypothesis K : spans_hold zs known.
Hypothesis Z : forall k e, nth_error (made (prg c)) k = Some e -> z_of zs k == entry_at (prg c) x zs e.
Hypothesis True_ : true_to Curves (prg c).

Notation v := (source_at (prg c) x zs).

Hypothesis Rows : forall f s, In (f, s) (rows c) -> 0 <= worth v f /\ (s = true -> 0 < worth v f).
Hypothesis Faces : forall h f, In (h, f) (faces c) -> in_hull h -> 0 <= worth v f.

Lemma worth_one_term s a : worth v (one_term s a) == a * v s.
Proof. unfold one_term. rewrite worth_cons. unfold worth. cbn [map]. rewrite sum_nil. lra. Qed.

Lemma worth_constant a : worth v (constant a) == a.
Proof. unfold constant. rewrite worth_one_term. cbn. lra. Qed.

Lemma made_image k e : nth_error (made (prg c)) k = Some e -> v (Made k) = image (curve_of e) (z_of zs k).
Proof. intro E. cbn [source_at]. rewrite E. reflexivity. Qed.

Lemma inner_worth k f : inner (prg c) k = Some f -> worth v f == z_of zs k.
Proof.
  unfold inner. destruct (nth_error (made (prg c)) k) as [[cv g|i m]|] eqn:E; try discriminate.
  - injection 1 as <-. rewrite (Z k _ E). reflexivity.
  - injection 1 as <-. rewrite worth_one_term, (made_image k _ E). cbn. lra.
Qed.

Lemma unit_image k : is_unit (prg c) k = true -> v (Made k) = Qmax (z_of zs k) 0.
Proof.
  unfold is_unit. destruct (nth_error (made (prg c)) k) as [[[] g|]|] eqn:E; try discriminate.
  intros _. rewrite (made_image k _ E). reflexivity.
Qed.

(** A convex function lies below its chord: [max (z, 0)] below [t z + max (- t l, h - t h)]. *)

Lemma chord_holds l h z t : l <= z -> z <= h -> l < 0 -> 0 < h ->
  Qmax z 0 <= Qmax (- (t * l)) (h - t * h) + t * z.
Proof.
  intros L H L0 H0.
  assert (A := Q.le_max_l (- (t * l)) (h - t * h)). assert (B := Q.le_max_r (- (t * l)) (h - t * h)).
  set (m := Qmax (- (t * l)) (h - t * h)) in *.
  apply Q.max_lub.
  - destruct (Qlt_le_dec t 1).
    + assert (0 <= (h - z) * (1 - t)) by (apply Qmult_le_0_compat; lra). lra.
    + assert (0 <= (z - l) * (t - 1)) by (apply Qmult_le_0_compat; lra). lra.
  - destruct (Qlt_le_dec t 0).
    + assert (0 <= (h - z) * (- t)) by (apply Qmult_le_0_compat; lra). lra.
    + assert (0 <= (z - l) * t) by (apply Qmult_le_0_compat; lra). lra.
Qed.

Lemma form_image k f : nth_error (made (prg c)) k = Some (Image Form f) -> v (Made k) = z_of zs k.
Proof. intro E. rewrite (made_image k _ E). reflexivity. Qed.

Lemma inequality_sound i g : inequality c facts known i = Some g ->
  0 <= worth v g /\ (strict_row c i = true -> 0 < worth v g).
Proof.
  destruct i as [i|i|k|k|k|k|k|k over p q]; cbn [inequality strict_row].
  - destruct (nth_error (rows c) i) as [[f s]|] eqn:E; [|discriminate].
    injection 1 as <-. apply Rows. apply nth_error_In with i. exact E.
  - destruct (nth_error (faces c) i) as [[h f]|] eqn:E; [|discriminate].
    destruct (is_within h facts) eqn:W; [|discriminate]. injection 1 as <-. split; [|discriminate].
    apply (Faces h); [apply nth_error_In with i; exact E|]. apply (is_within_holds zs in_hull h facts F W).
  - destruct (sign_of k facts) as [up|] eqn:S; [|discriminate].
    destruct (inner (prg c) k) as [f|] eqn:E; [|discriminate]. injection 1 as <-.
    split; [|discriminate]. rewrite worth_scale, (inner_worth k f E).
    pose proof (sign_of_holds zs in_hull k facts up F S). destruct up; lra.
  - destruct (is_unit (prg c) k) eqn:U; [|discriminate].
    destruct (inner (prg c) k) as [f|] eqn:E; [|discriminate]. injection 1 as <-.
    split; [|discriminate]. rewrite worth_add, worth_one_term, (inner_worth k f E), (unit_image k U).
    pose proof (Q.le_max_l (z_of zs k) 0). lra.
  - destruct (is_unit (prg c) k) eqn:U; [|discriminate].
    destruct (inner (prg c) k) as [f|] eqn:E; [|discriminate].
    destruct (nth_error known k) as [[lo hi]|] eqn:S; [|discriminate].
    destruct (K k lo hi S) as [L H].
    destruct (Qltb lo 0 && Qltb 0 hi) eqn:Inner.
    + apply andb_true_iff in Inner as [T1 T2]. compare_all. cbv zeta. injection 1 as <-.
      split; [|discriminate].
      rewrite !worth_add, worth_constant, worth_one_term, (inner_worth k f E), (unit_image k U).
      pose proof (chord_holds lo hi (z_of zs k) (fl Bytes8 (hi / (hi - lo))) L H T1 T2).
      set (t := fl Bytes8 (hi / (hi - lo))) in *. lra.
    + injection 1 as <-. split; [|discriminate]. unfold worth. cbn [map]. rewrite sum_nil. lra.
  - destruct (inner (prg c) k) as [f|] eqn:E; [|discriminate].
    destruct (nth_error known k) as [[lo hi]|] eqn:S; [|discriminate]. injection 1 as <-.
    split; [|discriminate]. rewrite worth_add, worth_constant, (inner_worth k f E).
    destruct (K k lo hi S). lra.
  - destruct (inner (prg c) k) as [f|] eqn:E; [|discriminate].
    destruct (nth_error known k) as [[lo hi]|] eqn:S; [|discriminate]. injection 1 as <-.
    split; [|discriminate]. rewrite worth_add, worth_constant, (inner_worth k f E).
    destruct (K k lo hi S). lra.
  - destruct (nth_error (made (prg c)) k) as [[[| | | |f] z|i m]|] eqn:E; try discriminate.
    { destruct (nth_error known k) as [[lo hi]|] eqn:S; [|discriminate].
      cbv zeta. destruct (beside f over p q lo hi) as [least|] eqn:L; [|discriminate].
      injection 1 as <-. split; [|discriminate]. destruct (K k lo hi S) as [L1 H1].
      pose proof (beside_sound f _ (True_ k f z E) over p q lo hi least _ L L1 H1) as Line.
      unfold side in Line.
      rewrite !worth_add, worth_constant, worth_one_term, (made_image k _ E).
      assert (Iz : worth v z == z_of zs k).
      { apply inner_worth. unfold inner. rewrite E. reflexivity. }
      rewrite Iz. cbn [curve_of image]. unfold value_of. set (s := if over then 1 else -1) in *. lra. }
    destruct (nth_error known i) as [[a b]|] eqn:Ki; [|discriminate].
    destruct (nth_error known m) as [[l h]|] eqn:Km; [|discriminate].
    destruct (nth_error (made (prg c)) i) as [[[] fi|]|] eqn:Ei; try discriminate.
    destruct (nth_error (made (prg c)) m) as [[[] fm|]|] eqn:Em; try discriminate.
    cbv zeta. set (side := if over then 1 else -1).
    destruct (smallest _) as [least|] eqn:L; [|discriminate]. injection 1 as <-.
    split; [|discriminate].
    destruct (K i a b Ki) as [A1 A2]. destruct (K m l h Km) as [L1 L2].
    assert (S : side == 1 \/ side == - (1)) by (unfold side; destruct over; [left|right]; reflexivity).
    assert (Sq : Nat.eqb i m = true -> z_of zs i == z_of zs m).
    { intro H. apply Nat.eqb_eq in H. subst. reflexivity. }
    destruct (corners_lies (z_of zs i) (z_of zs m) a b l h (Nat.eqb i m) ((p + q) / 2) Sq side q p
                A1 A2 L1 L2 S (fun _ => Qeq_refl _)) as (e & I & H).
    assert (J : least <= side * (fst e * snd e - q * fst e - p * snd e)).
    { apply (smallest_le _ _ L). apply in_map_iff. exists e. split; [reflexivity|exact I]. }
    rewrite !worth_add, worth_constant, !worth_one_term.
    rewrite (form_image i fi Ei), (form_image m fm Em), (made_image k _ E). cbn [curve_of image].
    pose proof (Z k _ E) as Zk. cbn [entry_at] in Zk. fold (z_of zs i) (z_of zs m) in Zk.
    rewrite Zk. lra.
Qed.

(** ** The sum of all *)

Definition used (l : list (ineq * Q)) := filter (fun t => Qltb 0 (snd t)) l.

Lemma weigh_sound l : forall f f',
  forallb (fun t => Qle_bool 0 (snd t)) l = true ->
  weigh c facts known l f = Some f' ->
  exists gain, worth v f' == worth v f + gain /\ 0 <= gain /\
    (existsb (fun t => strict_row c (fst t)) (used l) = true -> 0 < gain).
Proof.
  induction l as [|[i y] l IH]; intros f f' N; cbn [weigh].
  - injection 1 as <-. exists 0. split; [lra|]. split; [lra|]. intro H. discriminate H.
  - cbn [forallb snd] in N. apply andb_true_iff in N as [Y N]. compare_all.
    destruct (inequality c facts known i) as [g|] eqn:E; [|discriminate].
    destruct (inequality_sound i g E) as [G0 G1].
    intro W. destruct (IH _ _ N W) as (gain & E' & P & S).
    exists (y * worth v g + gain). rewrite E', worth_add.
    assert (0 <= y * worth v g) by (apply Qmult_le_0_compat; assumption).
    repeat split; [lra|lra|].
    unfold used. cbn [filter snd]. destruct (Qltb 0 y) eqn:Y0.
    + cbn [existsb fst]. intro H0. apply orb_true_iff in H0 as [H0|H0].
      * compare_all. specialize (G1 H0). assert (0 < y * worth v g) by nra. lra.
      * specialize (S H0). lra.
    + intro H0. specialize (S H0). lra.
Qed.

(** ** Lemma 9 *)

Lemma between_ends a lo hi z : lo <= z -> z <= hi -> a * z <= Qmax (a * lo) (a * hi).
Proof.
  intros L H. destruct (Qlt_le_dec a 0).
  - apply Qle_trans with (a * lo); [|apply Q.le_max_l]. apply move_down; lra.
  - apply Qle_trans with (a * hi); [apply move_up; lra|apply Q.le_max_r].
Qed.

Lemma Qabs_between lo hi z : lo <= z -> z <= hi -> Qabs z <= Qmax (Qabs lo) (Qabs hi).
Proof.
  intros L H. apply Qabs_case; intro S.
  - apply Qle_trans with (Qabs hi); [|apply Q.le_max_r]. apply Qle_trans with hi; [exact H|apply Qle_Qabs].
  - apply Qle_trans with (Qabs lo); [|apply Q.le_max_l].
    rewrite <- Qabs_opp. apply Qle_trans with (- lo); [lra|apply Qle_Qabs].
Qed.

Lemma take_out_sound k f more f' : take_out c known k f = Some (more, f') ->
  worth v f <= more + worth v f'.
Proof.
  unfold take_out. pose proof (worth_pop v (Made k) f) as W.
  destruct (pop (Made k) f) as [a rest].
  destruct (Qeqb a 0) eqn:A.
  { intro Eq; apply pair_inj in Eq as [<- <-]. compare_all. rewrite W, A. lra. }
  destruct (nth_error (made (prg c)) k) as [e|] eqn:E; [|discriminate].
  pose proof (made_image k e E) as I.
  assert (In0 : forall g, e = Image Unit g \/ e = Image Single g \/ e = Image Form g ->
          worth v g == z_of zs k).
  { intros g H. apply inner_worth. unfold inner. rewrite E. destruct H as [->|[->| ->]]; reflexivity. }
  destruct (nth_error known k) as [[lo hi]|] eqn:S;
    [|destruct e as [[] g|]; discriminate].
  destruct (K k lo hi S) as [L H].
  assert (Ends : forall lo' hi', images e (lo, hi) = Some (lo', hi') -> (exists g, e = Image Step g) \/
    (exists h g, e = Image (Smooth h) g) -> Some (Qmax (a * lo') (a * hi'), rest) = Some (more, f') ->
    worth v f <= more + worth v f').
  { intros lo' hi' E' _ Eq. apply pair_inj in Eq as [<- <-].
    pose proof (images_lie (prg c) k e lo hi _ True_ E L H) as Li. rewrite E' in Li. destruct Li as [L1 L2].
    rewrite W, I. pose proof (between_ends a _ _ _ L1 L2). lra. }
  destruct e as [[| | | |h] g|i m]; cbn [curve_of] in I.
  - specialize (In0 g (or_introl eq_refl)).
    unfold image in I. destruct (Qle_bool 0 lo) eqn:P.
    + intro Eq; apply pair_inj in Eq as [<- <-]. compare_all. rewrite W, I, worth_add, In0.
      rewrite (Q.max_l (z_of zs k) 0) by lra. lra.
    + destruct (Qltb 0 hi) eqn:P2; intro Eq; apply pair_inj in Eq as [<- <-]; compare_all; rewrite W, I.
      * assert (M0 : 0 <= Qmax (z_of zs k) 0) by apply Q.le_max_r.
        assert (M1 : Qmax (z_of zs k) 0 <= hi) by (apply Q.max_lub; lra).
        pose proof (between_ends a 0 hi _ M0 M1) as B. rewrite Qmult_0_r in B.
        rewrite (Q.max_comm 0 (a * hi)) in B. apply Qplus_le_compat; [exact B|apply Qle_refl].
      * rewrite (Q.max_r (z_of zs k) 0) by lra. lra.
  - intro Eq. destruct (images _ _) as [[lo' hi']|] eqn:E' in Eq; [|discriminate].
    apply (Ends lo' hi' E'); [left; eauto|exact Eq].
  - specialize (In0 g (or_intror (or_introl eq_refl))).
    intro Eq; apply pair_inj in Eq as [<- <-]. rewrite W, I, worth_add, In0. unfold image.
    pose proof (single_error (z_of zs k)) as Er.
    pose proof (Qabs_between lo hi (z_of zs k) L H) as Ab.
    assert (Hu : 0 <= half_ulp) by (unfold half_ulp; discriminate).
    assert (Er2 : Qabs (fl Bytes4 (z_of zs k) - z_of zs k)
                  <= half_ulp * Qmax (Qabs lo) (Qabs hi) + half_least).
    { unfold half_ulp, half_least. unfold half_ulp in Hu.
      pose proof (move_up (pow2 (-24)) _ _ Hu Ab). lra. }
    assert (M : a * (fl Bytes4 (z_of zs k) - z_of zs k)
                <= Qabs a * (half_ulp * Qmax (Qabs lo) (Qabs hi) + half_least)).
    { apply Qle_trans with (Qabs (a * (fl Bytes4 (z_of zs k) - z_of zs k))); [apply Qle_Qabs|].
      rewrite Qabs_Qmult. apply move_up; [apply Qabs_nonneg|exact Er2]. }
    lra.
  - specialize (In0 g (or_intror (or_intror eq_refl))).
    intro Eq; apply pair_inj in Eq as [<- <-]. rewrite W, I, worth_add, In0. unfold image. lra.
  - intro Eq. destruct (images _ _) as [[lo' hi']|] eqn:E' in Eq; [|discriminate].
    apply (Ends lo' hi' E'); [right; eauto|exact Eq].
  - intro Eq; apply pair_inj in Eq as [<- <-]. rewrite W, I. unfold image.
    pose proof (between_ends a lo hi _ L H). lra.
Qed.

Lemma take_all_sound n : forall value f value' f',
  take_all c known n value f = Some (value', f') -> value + worth v f <= value' + worth v f'.
Proof.
  induction n as [|n IH]; intros value f value' f'; cbn [take_all].
  - intro Eq; apply pair_inj in Eq as [<- <-]. lra.
  - destruct (take_out c known n f) as [[more g]|] eqn:E; [|discriminate].
    intro T0. apply IH in T0. apply take_out_sound in E. lra.
Qed.

End Inequalities.
