(** * Lemma 16: trust regions *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool Lqa Lia.
From Cfxc Require Import Semantics Features FeaturesProofs Forms Checker Sums Balls.
Import ListNotations.
Open Scope Q_scope.

(** Sums in lowest terms, so that their denominators do not grow. *)

Definition tidy_sum (l : list Q) : Q := fold_right (fun a b => Qred (a + b)) 0 l.

Definition tidy (f : form) : form := map (fun t => (fst t, Qred (snd t))) f.

(** The largest of [a s] over all s of a norm of at most 1; of l2 rounded upward. *)

Definition dual (n : norm) (a : list Q) : Q :=
  match n with
  | L1 => largest (map Qabs a)
  | Linf => tidy_sum (map Qabs a)
  | L2 => root_up (tidy_sum (map (fun q => q * q) a))
  end.

Definition of_features (s : source) : bool := match s with One | X _ | Is _ _ => true | _ => false end.

(** Coordinates read features only, and the reach is not negative (of l2 it is squared). *)

Definition axes_ok (r : region) : bool :=
  Qle_bool 0 (reach r) && forallb (forallb (fun t => of_features (fst t))) (axes r).

(** The form [- a z]. *)

Definition against (axes : list form) (a : list Q) : form :=
  fold_left (fun f t => add f (- fst t) (sorted (snd t))) (combine a axes) [].

(** What a form of features is at a row. *)

Definition value_at (row : point) (f : form) : Q :=
  tidy_sum (map (fun t => snd t * source_at (F := no_functions) features_only row [] (fst t)) f).

(** A common denominator of its factors: rows are compared where they are whole. *)

Definition common (f : form) : positive :=
  fold_right (fun t d => Z.to_pos (Z.lcm (Zpos (Qden (snd t))) (Zpos d))) 1%positive f.

Definition least_of (rows : list point) (f : form) : option Q :=
  let d := Zpos (common f) # 1 in
  let whole := tidy (scale d f) in
  match smallest (map (fun row => value_at row whole) rows) with
  | Some least => Some (least / d)
  | None => None
  end.

Definition face_form (r : region) (rows : list point) (a : list Q) : option form :=
  if Nat.eqb (length a) (length (axes r)) then
    let g := tidy (against (axes r) a) in
    match least_of rows g with
    | Some least => Some (add (constant (Qred (reach r * dual (in_norm r) a - least))) 1 g)
    | None => None
    end
  else None.

(** Weights of rows by their places: each above 0, of a row that is there, and of each row once. *)

Fixpoint distinct (l : list nat) : bool :=
  match l with [] => true | i :: l => negb (existsb (Nat.eqb i) l) && distinct l end.

Definition weights_ok (rows : list point) (ws : list (nat * Q)) : bool :=
  negb (match ws with [] => true | _ => false end) &&
  forallb (fun t => Qltb 0 (snd t) && Nat.ltb (fst t) (length rows)) ws &&
  distinct (map fst ws).

(** The mean of a coordinate by these weights, less that of a point. *)

Definition apart_on (rows : list point) (ws : list (nat * Q)) (every : Q) (x : point) (axis : form) : Q :=
  Qred (tidy_sum (map (fun t => snd t * value_at (nth (fst t) rows []) axis) ws) / every
        - value_at x axis).

Definition size_ok (n : norm) (reach : Q) (d : list Q) : bool :=
  match n with
  | L1 => Qle_bool (tidy_sum (map Qabs d)) reach
  | Linf => Qle_bool (largest (map Qabs d)) reach
  | L2 => Qle_bool (tidy_sum (map (fun a => a * a) d)) (reach * reach)
  end.

Definition inside_ok (r : region) (rows : list point) (ws : list (nat * Q)) (x : point) : bool :=
  weights_ok rows ws &&
  let every := tidy_sum (map snd ws) in
  size_ok (in_norm r) (reach r) (map (apart_on rows ws every x) (axes r)).

(** ** They are what they are without lowest terms *)

Lemma tidy_sum_eq l : tidy_sum l == sum l.
Proof.
  induction l as [|a l IH]; [reflexivity|].
  change (tidy_sum (a :: l)) with (Qred (a + tidy_sum l)). rewrite Qred_correct, IH. reflexivity.
Qed.

Lemma worth_tidy v f : worth v (tidy f) == worth v f.
Proof.
  induction f as [|[s a] f IH]; [reflexivity|].
  change (tidy ((s, a) :: f)) with ((s, Qred a) :: tidy f).
  rewrite !worth_cons, IH, Qred_correct. reflexivity.
Qed.

Definition at_row (row : point) (f : form) : Q := coordinate row f.

Lemma value_at_eq row f : value_at row f == at_row row f.
Proof. apply tidy_sum_eq. Qed.

Lemma least_of_le rows f least : least_of rows f = Some least ->
  forall row, In row rows -> least <= at_row row f.
Proof.
  unfold least_of. cbv zeta. set (d := Zpos (common f) # 1).
  destruct (smallest _) as [m|] eqn:E; [|discriminate]. intros L row I.
  apply some_inj in L. subst least.
  assert (D : 0 < d) by reflexivity.
  apply Qle_shift_div_r; [exact D|].
  assert (M : m <= value_at row (tidy (scale d f))).
  { apply (smallest_le _ _ E). apply in_map_iff. exists row. split; [reflexivity|exact I]. }
  rewrite value_at_eq in M. unfold at_row in M.
  change (m <= worth (source_at (F := no_functions) features_only row []) (tidy (scale d f))) in M.
  rewrite worth_tidy, worth_scale in M. rewrite Qmult_comm. exact M.
Qed.

(** ** Inequalities of Hölder *)

Definition dot (a d : list Q) : Q := sum (map (fun t => fst t * snd t) (combine a d)).

Lemma dot_cons q a r d : dot (q :: a) (r :: d) = q * r + dot a d.
Proof. reflexivity. Qed.

Lemma Qabs_bound q r : Qabs q <= r -> - r <= q /\ q <= r.
Proof.
  intro H. split; [|apply Qle_trans with (Qabs q); [apply Qle_Qabs|exact H]].
  rewrite <- Qabs_opp in H. pose proof (Qle_Qabs (- q)). lra.
Qed.

Lemma sum_abs_nonneg l : 0 <= sum (map Qabs l).
Proof.
  apply sum_nonneg. rewrite Forall_forall. intros q I. apply in_map_iff in I as (r & <- & _).
  apply Qabs_nonneg.
Qed.

Lemma holder_1 a : forall d, Qabs (dot a d) <= largest (map Qabs a) * sum (map Qabs d).
Proof.
  induction a as [|q a IH]; intro d.
  - unfold dot. cbn [combine map]. rewrite sum_nil. change (Qabs 0) with 0.
    apply Qmult_le_0_compat; [apply largest_nonneg|apply sum_abs_nonneg].
  - destruct d as [|r d].
    + unfold dot. cbn [combine map]. rewrite sum_nil. change (Qabs 0) with 0. lra.
    + rewrite dot_cons. cbn [map]. rewrite sum_cons.
      set (m := largest (Qabs q :: map Qabs a)).
      assert (M1 : Qabs q <= m) by (apply largest_ge; left; reflexivity).
      assert (M2 : largest (map Qabs a) <= m) by (unfold m; cbn [largest fold_right]; apply Q.le_max_r).
      eapply Qle_trans; [apply Qabs_triangle|]. rewrite Qabs_Qmult. specialize (IH d).
      pose proof (sum_abs_nonneg d) as S. pose proof (Qabs_nonneg r) as R.
      assert (H1 : 0 <= (m - Qabs q) * Qabs r) by (apply Qmult_le_0_compat; lra).
      assert (H2 : 0 <= (m - largest (map Qabs a)) * sum (map Qabs d)) by (apply Qmult_le_0_compat; lra).
      lra.
Qed.

Lemma holder_inf a : forall d, Qabs (dot a d) <= sum (map Qabs a) * largest (map Qabs d).
Proof.
  induction a as [|q a IH]; intro d.
  - unfold dot. cbn [combine map]. rewrite sum_nil. change (Qabs 0) with 0. lra.
  - destruct d as [|r d].
    + unfold dot. cbn [combine]. change (map (fun t : Q * Q => fst t * snd t) []) with (@nil Q).
      rewrite sum_nil. change (Qabs 0) with 0.
      apply Qmult_le_0_compat; [apply (sum_abs_nonneg (q :: a))|apply largest_nonneg].
    + rewrite dot_cons. cbn [map]. rewrite sum_cons.
      set (m := largest (Qabs r :: map Qabs d)).
      assert (M1 : Qabs r <= m) by (apply largest_ge; left; reflexivity).
      assert (M2 : largest (map Qabs d) <= m) by (unfold m; cbn [largest fold_right]; apply Q.le_max_r).
      eapply Qle_trans; [apply Qabs_triangle|]. rewrite Qabs_Qmult. specialize (IH d).
      pose proof (sum_abs_nonneg a) as S. pose proof (Qabs_nonneg q) as R.
      assert (H1 : 0 <= (m - Qabs r) * Qabs q) by (apply Qmult_le_0_compat; lra).
      assert (H2 : 0 <= (m - largest (map Qabs d)) * sum (map Qabs a)) by (apply Qmult_le_0_compat; lra).
      lra.
Qed.

Definition squares (l : list Q) : Q := sum (map (fun q => q * q) l).

Lemma squares_nonneg l : 0 <= squares l.
Proof.
  apply sum_nonneg. rewrite Forall_forall. intros q I. apply in_map_iff in I as (r & <- & _).
  apply square_nonneg.
Qed.

Lemma cauchy_step q r s A B : 0 <= A -> 0 <= B -> s * s <= A * B ->
  (q * r + s) * (q * r + s) <= (q * q + A) * (r * r + B).
Proof.
  intros A0 B0 S.
  pose proof (square_nonneg q) as Q2. pose proof (square_nonneg r) as R2.
  assert (U : 0 <= q * q * B + r * r * A).
  { assert (0 <= q * q * B) by (apply Qmult_le_0_compat; assumption).
    assert (0 <= r * r * A) by (apply Qmult_le_0_compat; assumption). lra. }
  assert (W : 2 * q * r * s <= q * q * B + r * r * A).
  { apply square_le; [exact U|].
    assert (H1 : 0 <= (q * q) * (r * r) * (A * B - s * s)).
    { apply Qmult_le_0_compat; [apply Qmult_le_0_compat; assumption|lra]. }
    pose proof (square_nonneg (q * q * B - r * r * A)) as H2. lra. }
  lra.
Qed.

Lemma cauchy a : forall d, dot a d * dot a d <= squares a * squares d.
Proof.
  induction a as [|q a IH]; intro d.
  - unfold dot. cbn [combine map]. rewrite sum_nil. rewrite Qmult_0_l.
    apply Qmult_le_0_compat; apply squares_nonneg.
  - destruct d as [|r d].
    + unfold dot. cbn [combine]. change (map (fun t : Q * Q => fst t * snd t) []) with (@nil Q).
      rewrite sum_nil, Qmult_0_l. apply Qmult_le_0_compat; apply squares_nonneg.
    + rewrite dot_cons. unfold squares. cbn [map]. rewrite !sum_cons. fold (squares a) (squares d).
      apply cauchy_step; [apply squares_nonneg|apply squares_nonneg|apply IH].
Qed.

Lemma holder n a d reach_ : 0 <= reach_ -> size_in n reach_ d -> - (reach_ * dual n a) <= dot a d.
Proof.
  intros R0 S. apply Qabs_bound with (q := dot a d). destruct n; cbn [size_in dual] in *.
  - eapply Qle_trans; [apply holder_1|].
    pose proof (move_up (largest (map Qabs a)) _ _ (largest_nonneg _) S). lra.
  - fold (squares a). fold (squares d) in S.
    set (y := tidy_sum (map (fun q => q * q) a)).
    assert (Y : y == squares a) by apply tidy_sum_eq.
    destruct (root_up_square y) as [D0 D1]; [rewrite Y; apply squares_nonneg|].
    assert (D2 : squares a <= root_up y * root_up y) by (rewrite <- Y; exact D1).
    apply square_le; [apply Qmult_le_0_compat; assumption|].
    assert (E : Qabs (dot a d) * Qabs (dot a d) == dot a d * dot a d).
    { rewrite <- Qabs_Qmult. apply Qabs_pos. apply square_nonneg. }
    rewrite E. eapply Qle_trans; [apply cauchy|].
    pose proof (squares_nonneg a) as A0. pose proof (squares_nonneg d) as B0.
    assert (H1 : 0 <= (root_up y * root_up y - squares a) * squares d)
      by (apply Qmult_le_0_compat; lra).
    assert (H2 : 0 <= (root_up y * root_up y) * (reach_ * reach_ - squares d))
      by (apply Qmult_le_0_compat; [apply square_nonneg|lra]).
    lra.
  - rewrite tidy_sum_eq. eapply Qle_trans; [apply holder_inf|].
    pose proof (move_up (sum (map Qabs a)) _ _ (sum_abs_nonneg a) S). lra.
Qed.

(** ** Faces *)

Section Faces.

Context {Curves : functions}.
Variables (p : program) (zs : list Q).

Lemma features_agree (row : point) f : forallb (fun t => of_features (fst t)) f = true ->
  worth (source_at p row zs) f == at_row row f.
Proof.
  unfold at_row, coordinate, form_value, form_at, worth. intro H. apply sum_eq. intros [s a] I.
  rewrite forallb_forall in H. specialize (H _ I). cbn [fst snd] in *.
  destruct s; try discriminate; reflexivity.
Qed.

Lemma at_row_worth row f : at_row row f = worth (source_at (F := no_functions) features_only row []) f.
Proof. reflexivity. Qed.

Lemma against_worth w axes : forall a acc,
  worth w (fold_left (fun f t => add f (- fst t) (sorted (snd t))) (combine a axes) acc)
  == worth w acc - dot a (map (worth w) axes).
Proof.
  intro a. revert axes. induction a as [|q a IH]; intros axes acc.
  - unfold dot. cbn [combine fold_left map]. rewrite sum_nil. lra.
  - destruct axes as [|f axes].
    + unfold dot. cbn [combine fold_left map]. rewrite sum_nil. lra.
    + cbn [combine fold_left map fst snd]. rewrite IH, worth_add, worth_sorted, dot_cons. lra.
Qed.

(** Means of sums are sums of means. *)

Lemma mean_nil l : mean [] l = 0.
Proof. reflexivity. Qed.

Lemma mean_cons s ss z zs_ : mean (s :: ss) (z :: zs_) = s * z + mean ss zs_.
Proof. reflexivity. Qed.

Lemma mean_least ss (ls : list Q) least : length ss = length ls ->
  Forall (fun s => 0 <= s) ss -> (forall q, In q ls -> least <= q) -> sum ss * least <= mean ss ls.
Proof.
  revert ls. induction ss as [|s ss IH]; intros [|q ls] L S H; try discriminate L.
  - rewrite mean_nil, sum_nil. lra.
  - rewrite mean_cons, sum_cons. inversion S; subst.
    assert (least <= q) by (apply H; left; reflexivity).
    assert (sum ss * least <= mean ss ls).
    { apply IH; [cbn in L; lia|assumption|]. intros r I. apply H. right. exact I. }
    assert (0 <= s * (q - least)) by (apply Qmult_le_0_compat; lra). lra.
Qed.

Lemma mean_dot a (axes : list form) ss rows : length ss = length rows ->
  mean ss (map (fun row => dot a (map (at_row row) axes)) rows)
  == dot a (map (fun axis => mean ss (map (fun row => at_row row axis) rows)) axes).
Proof.
  revert rows. induction ss as [|s ss IH]; intros [|row rows] L; try discriminate L.
  - cbn [map]. rewrite mean_nil. symmetry.
    change (map (fun axis => mean [] []) axes) with (map (fun _ : form => 0) axes).
    unfold dot. clear. revert axes. induction a as [|q a IH]; intros [|f axes]; try reflexivity.
    cbn [map combine]. rewrite sum_cons, IH. cbn [fst snd]. lra.
  - cbn [map]. rewrite mean_cons, IH by (cbn in L; lia).
    unfold dot. clear. revert axes. induction a as [|q a IH]; intros [|f axes]; cbn [map combine];
      try (rewrite !sum_nil; lra).
    rewrite !sum_cons. cbn [fst snd]. rewrite <- IH, mean_cons. lra.
Qed.

Lemma dot_minus a : forall u w, length u = length w ->
  dot a (map (fun t => fst t - snd t) (combine u w)) == dot a u - dot a w.
Proof.
  unfold dot. induction a as [|q a IH]; intros u w L; [cbn [combine map]; rewrite sum_nil; lra|].
  destruct u as [|s u], w as [|t w]; try discriminate L; cbn [combine map].
  - rewrite sum_nil. lra.
  - rewrite !sum_cons. cbn [fst snd]. rewrite IH by (cbn in L; lia). lra.
Qed.

Lemma combine_maps {A} (f g : A -> Q) l :
  map (fun t => fst t - snd t) (combine (map f l) (map g l)) = map (fun a => f a - g a) l.
Proof. induction l as [|b l IH]; [reflexivity|]. cbn. rewrite IH. reflexivity. Qed.

Theorem face_sound r rows x a f : axes_ok r = true -> within_hull r rows x ->
  face_form r rows a = Some f -> 0 <= worth (source_at p x zs) f.
Proof.
  intros Ax (shares & L & S & One_ & Size) E. unfold axes_ok in Ax.
  apply andb_true_iff in Ax as [R0 Ax]. apply Qle_bool_true in R0.
  unfold face_form in E. destruct (Nat.eqb (length a) (length (axes r))); [|discriminate].
  destruct (least_of rows _) as [least|] eqn:Sm; [|discriminate].
  apply some_inj in E. subst f.
  assert (C : forall q, worth (source_at p x zs) (constant q) == q).
  { intro q. unfold constant, one_term. rewrite worth_cons. unfold worth. cbn. lra. }
  assert (Gx : worth (source_at p x zs) (against (axes r) a) == - dot a (map (at_row x) (axes r))).
  { unfold against. rewrite against_worth.
    assert (W0 : worth (source_at p x zs) [] == 0) by reflexivity. rewrite W0.
    assert (D : dot a (map (worth (source_at p x zs)) (axes r)) == dot a (map (at_row x) (axes r))).
    { clear -Ax. rewrite forallb_forall in Ax. unfold dot. revert a. generalize dependent (axes r).
      induction l as [|f l IH]; intros Ax [|q a]; try reflexivity.
      cbn [map combine]. rewrite !sum_cons. cbn [fst snd].
      rewrite features_agree by (apply Ax; left; reflexivity).
      rewrite IH; [reflexivity|]. intros g I. apply Ax. right. exact I. }
    rewrite D. lra. }
  assert (Gr : forall row, at_row row (against (axes r) a) == - dot a (map (at_row row) (axes r))).
  { intro row. rewrite at_row_worth. unfold against. rewrite against_worth.
    assert (W0 : worth (source_at (F := no_functions) features_only row []) [] == 0) by reflexivity. rewrite W0.
    change (map (worth (source_at (F := no_functions) features_only row [])) (axes r)) with (map (at_row row) (axes r)). lra. }
  rewrite worth_add, C, Qred_correct, worth_tidy, Gx.
  assert (M1 : least <= mean shares (map (fun row => at_row row (against (axes r) a)) rows)).
  { assert (H : sum shares * least <= mean shares (map (fun row => at_row row (against (axes r) a)) rows)).
    { apply mean_least; [rewrite map_length; exact L|exact S|].
      intros q I. apply in_map_iff in I as (row & <- & I).
      rewrite at_row_worth, <- worth_tidy. apply (least_of_le _ _ _ Sm row I). }
    rewrite One_ in H. lra. }
  assert (M2 : mean shares (map (fun row => at_row row (against (axes r) a)) rows)
               == - mean shares (map (fun row => dot a (map (at_row row) (axes r))) rows)).
  { unfold mean. clear -Gr L. revert rows L. induction shares as [|s shares IH]; intros [|row rows] L;
      try discriminate L; [reflexivity|].
    cbn [map combine]. rewrite !sum_cons. cbn [fst snd]. rewrite (IH rows) by (cbn in L; lia).
    rewrite Gr. lra. }
  rewrite (mean_dot a (axes r) shares rows L) in M2.
  pose proof (holder (in_norm r) a _ (reach r) R0 Size) as H.
  rewrite <- (combine_maps (fun axis => mean shares (map (fun row => coordinate row axis) rows))
                (fun axis => coordinate x axis)) in H.
  rewrite dot_minus in H by (rewrite !map_length; reflexivity).
  change (map (fun axis => coordinate x axis) (axes r)) with (map (at_row x) (axes r)) in H.
  change (map (fun axis => mean shares (map (fun row => coordinate row axis) rows)) (axes r))
    with (map (fun axis => mean shares (map (fun row => at_row row axis) rows)) (axes r)) in H.
  lra.
Qed.

End Faces.

(** ** Weights that show a point to lie within *)

(** The same weights for all rows, 0 of those that are not named. *)

Fixpoint weight_of (i : nat) (ws : list (nat * Q)) : Q :=
  match ws with
  | [] => 0
  | (k, w) :: ws => if Nat.eqb k i then w + weight_of i ws else weight_of i ws
  end.

Definition shares_of (n : nat) (ws : list (nat * Q)) : list Q :=
  map (fun i => weight_of i ws / sum (map snd ws)) (seq 0 n).

Lemma weight_nonneg i ws : (forall t, In t ws -> 0 < snd t) -> 0 <= weight_of i ws.
Proof.
  induction ws as [|[k w] ws IH]; cbn [weight_of]; intro H; [lra|].
  assert (0 < w) by (apply (H (k, w)); left; reflexivity).
  assert (0 <= weight_of i ws) by (apply IH; intros t I; apply H; right; exact I).
  destruct (Nat.eqb k i); lra.
Qed.

Lemma weights_spread (h : nat -> Q) n ws : (forall t, In t ws -> (fst t < n)%nat) ->
  sum (map (fun i => weight_of i ws * h i) (seq 0 n)) == sum (map (fun t => snd t * h (fst t)) ws).
Proof.
  induction ws as [|[k w] ws IH]; intro H.
  - cbn [map]. rewrite sum_nil. apply sum_zero. intros i _. cbn [weight_of]. lra.
  - assert (K : (k < n)%nat) by (apply (H (k, w)); left; reflexivity).
    cbn [map]. rewrite sum_cons. cbn [fst snd].
    rewrite <- IH by (intros t I; apply H; right; exact I).
    assert (E : sum (map (fun i => weight_of i ((k, w) :: ws) * h i) (seq 0 n))
             == sum (map (fun i => if Nat.eqb k i then w * h k else 0) (seq 0 n))
                + sum (map (fun i => weight_of i ws * h i) (seq 0 n))).
    { rewrite <- sum_plus. apply sum_eq. intros i _. cbn [weight_of].
      destruct (Nat.eqb_spec k i); [subst i|]; lra. }
    rewrite E, sum_pick. cbn [Nat.leb andb Nat.add].
    replace (Nat.ltb k n) with true by (symmetry; apply Nat.ltb_lt; exact K). reflexivity.
Qed.

Lemma weights_sum n ws : (forall t, In t ws -> (fst t < n)%nat) ->
  sum (map (fun i => weight_of i ws) (seq 0 n)) == sum (map snd ws).
Proof.
  intro H. rewrite (sum_eq _ (fun i => weight_of i ws * 1)) by (intros i _; lra).
  rewrite (weights_spread (fun _ => 1) n ws H). apply sum_eq. intros t _. lra.
Qed.

(** A mean of rows, place by place. *)

Lemma mean_places (s : nat -> Q) (g : point -> Q) rows : forall a,
  mean (map s (seq a (length rows))) (map g rows)
  == sum (map (fun i => s i * g (nth (i - a) rows [])) (seq a (length rows))).
Proof.
  induction rows as [|row rows IH]; intro a; [reflexivity|].
  cbn [length seq map]. rewrite mean_cons, sum_cons, Nat.sub_diag, IH. cbn [nth].
  apply Qplus_inj_l. apply sum_eq. intros i I. apply in_seq in I.
  replace (i - a)%nat with (S (i - S a)) by lia. reflexivity.
Qed.

Lemma mean_named (g : point -> Q) rows ws : (forall t, In t ws -> (fst t < length rows)%nat) ->
  mean (shares_of (length rows) ws) (map g rows)
  == sum (map (fun t => snd t * g (nth (fst t) rows [])) ws) / sum (map snd ws).
Proof.
  intro H. unfold shares_of. rewrite mean_places.
  rewrite <- (weights_spread (fun i => g (nth i rows [])) (length rows) ws H).
  set (every := sum (map snd ws)). unfold Qdiv at 2. rewrite Qmult_comm, <- sum_scale.
  apply sum_eq. intros i _. rewrite Nat.sub_0_r. unfold Qdiv. ring.
Qed.

Lemma weights_positive (ws : list (nat * Q)) : ws <> [] -> (forall t, In t ws -> 0 < snd t) ->
  0 < sum (map snd ws).
Proof.
  destruct ws as [|[k w] ws]; intros N H; [contradiction|]. cbn [map]. rewrite sum_cons. cbn [snd].
  assert (0 < w) by (apply (H (k, w)); left; reflexivity).
  assert (0 <= sum (map snd ws)).
  { apply sum_nonneg. rewrite Forall_forall. intros q I. apply in_map_iff in I as (t & <- & I).
    apply Qlt_le_weak, H. right. exact I. }
  lra.
Qed.

Lemma largest_eq {A} (f g : A -> Q) l : (forall a, In a l -> f a == g a) ->
  largest (map f l) <= largest (map g l).
Proof.
  induction l as [|a l IH]; intro H; [apply Qle_refl|]. cbn [map largest fold_right].
  assert (E : f a == g a) by (apply H; left; reflexivity).
  apply Q.max_le_compat; [rewrite E; apply Qle_refl|].
  apply IH. intros b I. apply H. right. exact I.
Qed.

Lemma size_ok_in {A} n reach_ (f g : A -> Q) l : (forall a, f a == g a) ->
  size_ok n reach_ (map f l) = true -> size_in n reach_ (map g l).
Proof.
  intros E H. unfold size_ok in H. unfold size_in.
  destruct n; apply Qle_bool_true in H; try rewrite tidy_sum_eq in H; rewrite map_map in *.
  - rewrite (sum_eq _ (fun a => Qabs (f a))); [exact H|]. intros a _. rewrite (E a). reflexivity.
  - rewrite (sum_eq _ (fun a => f a * f a)); [exact H|]. intros a _. rewrite (E a). reflexivity.
  - eapply Qle_trans; [|exact H]. apply largest_eq. intros a _. rewrite (E a). reflexivity.
Qed.

Theorem inside_sound r rows ws x : inside_ok r rows ws x = true -> within_hull r rows x.
Proof.
  unfold inside_ok, weights_ok. cbv zeta. intro H.
  apply andb_true_iff in H as [H Size]. apply andb_true_iff in H as [H _].
  apply andb_true_iff in H as [Ne W]. rewrite forallb_forall in W.
  assert (W1 : forall t, In t ws -> 0 < snd t).
  { intros t I. specialize (W t I). apply andb_true_iff in W as [W _]. apply Qltb_true. exact W. }
  assert (W2 : forall t, In t ws -> (fst t < length rows)%nat).
  { intros t I. specialize (W t I). apply andb_true_iff in W as [_ W]. apply Nat.ltb_lt. exact W. }
  assert (Every : 0 < sum (map snd ws)).
  { apply weights_positive; [|exact W1]. destruct ws; discriminate. }
  exists (shares_of (length rows) ws). split; [|split; [|split]].
  - unfold shares_of. rewrite map_length, seq_length. reflexivity.
  - unfold shares_of. rewrite Forall_forall. intros q I. apply in_map_iff in I as (i & <- & _).
    apply Qle_shift_div_l; [exact Every|]. rewrite Qmult_0_l. apply weight_nonneg. exact W1.
  - unfold shares_of. set (every := sum (map snd ws)) in *.
    rewrite (sum_eq _ (fun i => / every * weight_of i ws)) by (intros i _; unfold Qdiv; ring).
    rewrite sum_scale, (weights_sum (length rows) ws W2). fold every. field. lra.
  - revert Size. apply size_ok_in. intro axis. unfold apart_on.
    rewrite Qred_correct, !tidy_sum_eq, value_at_eq. fold (at_row x axis).
    rewrite (mean_named (fun row => coordinate row axis) rows ws W2).
    rewrite (sum_eq (fun t => snd t * value_at (nth (fst t) rows []) axis)
                    (fun t => snd t * coordinate (nth (fst t) rows []) axis)).
    + reflexivity.
    + intros t _. rewrite value_at_eq. reflexivity.
Qed.
