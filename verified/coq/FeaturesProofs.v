(** * What may be chosen is not lost: the next value, splits, clipping, the nearest value *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool Lia Lqa Setoid Morphisms.
From Cfxc Require Import Semantics Features Sums FloatsProofs.
Import ListNotations.
Open Scope Q_scope.

(** ** Comparisons *)

Lemma Qeqb_proper x y z : x == y -> Qeqb x z = Qeqb y z.
Proof. intros E. apply eq_true_iff_eq. unfold Qeqb. rewrite !Qeq_bool_iff. rewrite E. reflexivity. Qed.

Lemma is_absent_proper n x y : x == y -> is_absent n x = is_absent n y.
Proof. intros E. unfold is_absent. destruct (absent n); [apply Qeqb_proper; assumption | reflexivity]. Qed.

Lemma is_absent_some n x : is_absent n x = true -> exists a, absent n = Some a /\ x == a.
Proof.
  unfold is_absent. destruct (absent n) as [a |]; [| discriminate].
  intros H. exists a. split; [reflexivity | apply Qeq_bool_iff; assumption].
Qed.

(** ** Beyond a number, strictly or not *)

Definition past (strict : bool) (v x : Q) : Prop := if strict then v < x else v <= x.

Definition past_b (strict : bool) (v x : Q) : bool := if strict then Qltb v x else Qle_bool v x.

Lemma past_iff strict v x : past_b strict v x = true <-> past strict v x.
Proof. destruct strict; [apply Qltb_true | apply Qle_bool_iff]. Qed.

Lemma past_le strict v x : past strict v x -> v <= x.
Proof. destruct strict; simpl; lra. Qed.

Lemma past_later strict v x y : past strict v x -> x <= y -> past strict v y.
Proof. destruct strict; simpl; lra. Qed.

(** ** The least and the greatest of a list *)

Lemma Qmin_either x y : Qmin x y = x \/ Qmin x y = y.
Proof. unfold Qmin, GenericMinMax.gmin. destruct (x ?= y); auto. Qed.

Lemma Qmax_either x y : Qmax x y = x \/ Qmax x y = y.
Proof. unfold Qmax, GenericMinMax.gmax. destruct (x ?= y); auto. Qed.

Lemma fold_min l : forall a,
  let m := fold_left Qmin l a in (m = a \/ In m l) /\ m <= a /\ forall x, In x l -> m <= x.
Proof.
  induction l as [| b l I]; intros a; cbn [fold_left].
  - repeat split; [left; reflexivity | apply Qle_refl | intros x []].
  - destruct (I (Qmin a b)) as [A [B C]]. set (m := fold_left Qmin l (Qmin a b)) in *.
    pose proof (Q.le_min_l a b). pose proof (Q.le_min_r a b). repeat split.
    + destruct A as [A | A]; [| right; right; assumption].
      rewrite A. destruct (Qmin_either a b) as [-> | ->]; [left | right; left]; reflexivity.
    + lra.
    + intros x [<- | X]; [lra | apply C; assumption].
Qed.

Lemma fold_max l : forall a,
  let m := fold_left Qmax l a in (m = a \/ In m l) /\ a <= m /\ forall x, In x l -> x <= m.
Proof.
  induction l as [| b l I]; intros a; cbn [fold_left].
  - repeat split; [left; reflexivity | apply Qle_refl | intros x []].
  - destruct (I (Qmax a b)) as [A [B C]]. set (m := fold_left Qmax l (Qmax a b)) in *.
    pose proof (Q.le_max_l a b). pose proof (Q.le_max_r a b). repeat split.
    + destruct A as [A | A]; [| right; right; assumption].
      rewrite A. destruct (Qmax_either a b) as [-> | ->]; [left | right; left]; reflexivity.
    + lra.
    + intros x [<- | X]; [lra | apply C; assumption].
Qed.

Lemma smallest_in l u : smallest l = Some u -> In u l.
Proof.
  destruct l as [| a l]; [discriminate |]. cbn [smallest]. intros H.
  destruct (fold_min l a) as [[A | A] _]; injection H as <-; [left; symmetry | right]; assumption.
Qed.

Lemma greatest_in l u : greatest l = Some u -> In u l.
Proof.
  destruct l as [| a l]; [discriminate |]. cbn [greatest]. intros H.
  destruct (fold_max l a) as [[A | A] _]; injection H as <-; [left; symmetry | right]; assumption.
Qed.

Lemma smallest_least l x : In x l -> exists u, smallest l = Some u /\ u <= x.
Proof.
  destruct l as [| a l]; [intros [] |]. intros X. cbn [smallest]. eexists. split; [reflexivity |].
  destruct (fold_min l a) as [_ [B C]]. destruct X as [<- | X]; [exact B | apply C; exact X].
Qed.

Lemma greatest_most l x : In x l -> exists u, greatest l = Some u /\ x <= u.
Proof.
  destruct l as [| a l]; [intros [] |]. intros X. cbn [greatest]. eexists. split; [reflexivity |].
  destruct (fold_max l a) as [_ [B C]]. destruct X as [<- | X]; [exact B | apply C; exact X].
Qed.

(** ** The next value of the grid *)

Lemma earliest_spec fuel holds lo hi k :
  earliest fuel holds lo hi = Some k -> holds k = true /\ holds (k - 1)%Z = false.
Proof.
  unfold earliest. cbv zeta. set (m := bisect _ _ _ _). clearbody m.
  destruct (holds m) eqn:A; [| discriminate].
  destruct (holds (m - 1)%Z) eqn:B; [discriminate |].
  intros H. injection H as <-. split; assumption.
Qed.

Lemma cell_mono n s k m : 0 < s -> (k <= m)%Z -> cell n s k <= cell n s m.
Proof.
  intros P L. unfold cell. apply fl_mono, fl_mono.
  apply Qmult_le_compat_r; [rewrite <- Zle_Qle; assumption | lra].
Qed.

Lemma cell_lt n s k m : 0 < s -> cell n s k < cell n s m -> (k < m)%Z.
Proof.
  intros P L. destruct (Z.lt_ge_cases k m) as [H | H]; [assumption |].
  pose proof (cell_mono n s m k P H). lra.
Qed.

(** What the reader makes sure of the step, of which more is never needed below. *)

Definition steps_up (n : numbers) : Prop := forall s, step n = Some s -> 0 < s.

Lemma grid_up_least n strict v g :
  steps_up n -> (strict = true -> is_double v = true) -> grid_up n strict v = Some g ->
  past strict v g /\ forall x, on_grid n x -> past strict v x -> g <= x.
Proof.
  intros S D. unfold grid_up, on_grid. destruct (step n) as [s |] eqn:E.
  - specialize (S s E). cbv zeta.
    destruct (earliest _ _ _ _) as [k |] eqn:K; [| discriminate].
    apply earliest_spec in K. change (past_b strict v (cell n s k) = true /\
      past_b strict v (cell n s (k - 1)) = false) in K. destruct K as [A B].
    intros H. injection H as <-. split; [apply past_iff; assumption |].
    intros x [m M] P. change (x == cell n s m) in M.
    destruct (Z.le_gt_cases k m) as [L | L]; [rewrite M; apply cell_mono; assumption |].
    exfalso. assert (C : past strict v (cell n s (k - 1))).
    { apply past_later with x; [assumption |]. rewrite M. apply cell_mono; [assumption | lia]. }
    apply past_iff in C. congruence.
  - intros H. injection H as <-. pose proof tiny_pos as T. destruct strict; simpl.
    + pose proof (float_up_ge (bytes n) (v + least_double)). split; [lra |].
      intros x F L. apply float_up_least; [assumption |].
      apply float_after_double with (bytes n); auto.
    + split; [apply float_up_ge |]. intros x F L. apply float_up_least; assumption.
Qed.

Lemma grid_down_greatest n v g :
  steps_up n -> grid_down n v = Some g ->
  g <= v /\ forall x, on_grid n x -> x <= v -> x <= g.
Proof.
  intros S. unfold grid_down, on_grid. destruct (step n) as [s |] eqn:E.
  - specialize (S s E). cbv zeta.
    destruct (earliest _ _ _ _) as [k |] eqn:K; [| discriminate].
    apply earliest_spec in K. destruct K as [A B].
    apply Qle_bool_iff in A. apply Qle_bool_false in B.
    intros H. injection H as <-. split; [assumption |].
    intros x [m M] P. change (x == cell n s m) in M.
    assert (L : cell n s m < cell n s (- (k - 1))) by lra.
    apply cell_lt in L; [| assumption].
    rewrite M. apply cell_mono; [assumption | lia].
  - intros H. injection H as <-. split; [apply float_down_le |].
    intros x F L. apply float_down_greatest; assumption.
Qed.

(** ** The next value that may be chosen *)

Definition candidates (n : numbers) (a : action) (o g : Q) : list Q :=
  filter (in_range n a o) [g; o] ++ some_list (absent n).

Lemma in_range_iff n a o x : in_range n a o x = true <-> first n a o <= x /\ x <= upper n a o.
Proof. unfold in_range. rewrite andb_true_iff, !Qle_bool_iff. reflexivity. Qed.

Lemma candidate_absent n a o g b : absent n = Some b -> In b (candidates n a o g).
Proof. intros E. unfold candidates. rewrite E. apply in_or_app. right. left. reflexivity. Qed.

Lemma candidate_ranged n a o g x :
  x = g \/ x = o -> first n a o <= x -> x <= upper n a o -> In x (candidates n a o g).
Proof.
  intros H A B. unfold candidates. apply in_or_app. left. apply filter_In.
  split; [simpl; intuition | apply in_range_iff; split; assumption].
Qed.

(** Among the candidates is one between the bound and any value that may be chosen. *)

Lemma candidate_up n a o g x :
  (forall y, on_grid n y -> first n a o <= y -> y == x -> g <= y) ->
  first n a o <= g -> admissible_number n a o x ->
  exists y, In y (candidates n a o g) /\ y <= x /\ (y == x \/ y = g).
Proof.
  intros G L [A | [F [U [R | R]]]].
  - apply is_absent_some in A. destruct A as [b [E X]].
    exists b. split; [apply candidate_absent; assumption |]. split; [lra | left; lra].
  - assert (B : g <= x) by (apply G; [assumption | assumption | reflexivity]).
    exists g. split; [apply candidate_ranged; [left; reflexivity | lra | lra] |].
    split; [assumption | right; reflexivity].
  - exists o. split; [apply candidate_ranged; [right; reflexivity | lra | lra] |].
    split; [lra | left; lra].
Qed.

Lemma candidate_down n a o g x :
  (forall y, on_grid n y -> y <= upper n a o -> y == x -> y <= g) ->
  g <= upper n a o -> admissible_number n a o x ->
  exists y, In y (candidates n a o g) /\ x <= y /\ (y == x \/ y = g).
Proof.
  intros G L [A | [F [U [R | R]]]].
  - apply is_absent_some in A. destruct A as [b [E X]].
    exists b. split; [apply candidate_absent; assumption |]. split; [lra | left; lra].
  - assert (B : x <= g) by (apply G; [assumption | assumption | reflexivity]).
    exists g. split; [apply candidate_ranged; [left; reflexivity | lra | lra] |].
    split; [assumption | right; reflexivity].
  - exists o. split; [apply candidate_ranged; [right; reflexivity | lra | lra] |].
    split; [lra | left; lra].
Qed.

(** The grid's value that [near_up] takes. *)

Definition start_up (n : numbers) (a : action) (o : Q) (strict : bool) (v : Q) : option Q :=
  if Qle_bool (first n a o) v then grid_up n strict v else grid_up n false (first n a o).

Lemma start_up_least n a o strict v g :
  steps_up n -> (strict = true -> is_double v = true) -> start_up n a o strict v = Some g ->
  first n a o <= g /\ past strict v g /\
  forall x, on_grid n x -> first n a o <= x -> past strict v x -> g <= x.
Proof.
  intros S D. unfold start_up. destruct (Qle_bool (first n a o) v) eqn:L; intros H.
  - apply Qle_bool_iff in L. destruct (grid_up_least n strict v g S D H) as [A B].
    pose proof (past_le _ _ _ A). repeat split; [lra | assumption | auto].
  - apply Qle_bool_false in L.
    destruct (grid_up_least n false (first n a o) g S ltac:(discriminate) H) as [A B].
    simpl in A, B. repeat split; [assumption | destruct strict; simpl; lra | auto].
Qed.

Lemma near_up_unfold n a o strict v :
  near_up n a o strict v =
  match start_up n a o strict v with
  | None => None
  | Some g => Some (smallest (filter (past_b strict v) (candidates n a o g)))
  end.
Proof. reflexivity. Qed.

Lemma near_up_sound n a o strict v x r :
  steps_up n -> (strict = true -> is_double v = true) ->
  admissible_number n a o x -> (if strict then v < x else v <= x) ->
  near_up n a o strict v = Some r ->
  exists u, r = Some u /\ u <= x /\ (if strict then v < u else v <= u).
Proof.
  intros S D X P. change (past strict v x) in P. rewrite near_up_unfold.
  destruct (start_up n a o strict v) as [g |] eqn:G; [| discriminate].
  intros H. injection H as <-.
  destruct (start_up_least n a o strict v g S D G) as [A [B C]].
  destruct (candidate_up n a o g x) as [y [I [L Y]]]; [| assumption | assumption |].
  - intros y O F E. apply C; [assumption | assumption |].
    apply past_later with x; [assumption | lra].
  - assert (Q : past strict v y).
    { destruct Y as [Y | ->]; [| assumption]. apply past_later with x; [assumption | lra]. }
    assert (J : In y (filter (past_b strict v) (candidates n a o g)))
      by (apply filter_In; split; [assumption | apply past_iff; assumption]).
    destruct (smallest_least _ _ J) as [u [U M]]. exists u.
    split; [assumption |]. split; [lra |].
    apply smallest_in, filter_In in U. apply (past_iff strict), U.
Qed.

Lemma near_down_sound n a o v x r :
  steps_up n -> admissible_number n a o x -> x <= v ->
  near_down n a o v = Some r ->
  exists u, r = Some u /\ x <= u /\ u <= v.
Proof.
  intros S X P. unfold near_down. cbv zeta.
  destruct (grid_down n (Qmin v (upper n a o))) as [g |] eqn:G; [| discriminate].
  intros H. injection H as <-.
  destruct (grid_down_greatest n _ g S G) as [A B].
  pose proof (Q.le_min_l v (upper n a o)). pose proof (Q.le_min_r v (upper n a o)).
  destruct (candidate_down n a o g x) as [y [I [L Y]]]; [| lra | assumption |].
  - intros y O F E. apply B; [assumption |]. apply Q.min_glb; lra.
  - assert (J : In y (filter (fun x => Qle_bool x v) (candidates n a o g))).
    { apply filter_In. split; [assumption |]. apply Qle_bool_iff. destruct Y as [Y | ->]; lra. }
    destruct (greatest_most _ _ J) as [u [U M]]. exists u.
    split; [exact U |]. split; [lra |].
    apply greatest_in, filter_In in U. apply Qle_bool_iff, U.
Qed.

(** ** What is known of the features *)

Definition numbers_ok (n : numbers) (a : action) (o : Q) : Prop :=
  low n <= high n /\
  (if gone n o then o < low n else low n <= o /\ o <= high n) /\
  (match absent n with
   | Some b => b < low n /\ gap n = false /\ a <> Fixed
   | None => True
   end) /\
  match step n with Some s => 0 < s | None => bytes n <> Bytes0 end.

Lemma well_formed_numbers f n o :
  shape f = Numbers n -> own f = Num o -> well_formed f -> numbers_ok n (act f) o.
Proof. intros S O [_ W]. rewrite S, O in W. exact W. Qed.

Lemma well_formed_labels f count ordinal o :
  shape f = Labels count ordinal -> own f = Lab o -> well_formed f -> (o < count)%nat.
Proof. intros S O [_ W]. rewrite S, O in W. exact W. Qed.

Lemma ok_steps n a o : numbers_ok n a o -> steps_up n.
Proof. intros [_ [_ [_ S]]] s E. rewrite E in S. assumption. Qed.

Lemma well_formed_steps f n o :
  shape f = Numbers n -> own f = Num o -> well_formed f -> steps_up n.
Proof. intros S O W. apply (ok_steps n (act f) o), (well_formed_numbers f n o S O W). Qed.

(** A missing number lies below all others. *)

Lemma absent_below n a o b :
  numbers_ok n a o -> absent n = Some b ->
  b < first n a o /\ b < upper n a o /\ (is_absent n o = false -> b < o).
Proof.
  intros [R [O [A _]]] E. rewrite E in A. destruct A as [B [G F]].
  unfold first, upper, gone in *. rewrite G in *. cbn [orb] in *.
  destruct (is_absent n o); destruct a; try congruence;
    (split; [lra | split; [lra | first [discriminate | lra]]]).
Qed.

Lemma admissible_ranged n a o x :
  admissible_number n a o x -> is_absent n x = false -> first n a o <= x /\ x <= upper n a o.
Proof. intros [A | [F [U _]]] E; [congruence | split; assumption]. Qed.

Lemma admissible_upper n a o x :
  numbers_ok n a o -> admissible_number n a o x -> x <= upper n a o.
Proof.
  intros W [A | [_ [U _]]]; [| assumption]. apply is_absent_some in A. destruct A as [b [E X]].
  destruct (absent_below n a o b W E) as [_ [U _]]. lra.
Qed.

Lemma admissible_lower n a o x :
  numbers_ok n a o -> admissible_number n a o x ->
  match absent n with Some b => b | None => first n a o end <= x.
Proof.
  intros W [A | [F _]].
  - apply is_absent_some in A. destruct A as [b [E X]]. rewrite E. lra.
  - destruct (absent n) as [b |] eqn:E; [| assumption].
    destruct (absent_below n a o b W E) as [L _]. lra.
Qed.

(** If the range has one value only, then all that may be chosen is the instance's. *)

Lemma one_value n a o x :
  numbers_ok n a o -> admissible_number n a o x -> is_absent n x = false ->
  is_absent n o = false -> high n == low n -> x == o.
Proof.
  intros [R [O _]] X A B E. destruct (admissible_ranged n a o x X A) as [F U].
  unfold first, upper, gone in *. rewrite B in *.
  destruct (gap n); cbn [orb] in *; destruct a; lra.
Qed.

Lemma number_value f v :
  admissible_value f v ->
  (exists n o x, shape f = Numbers n /\ own f = Num o /\ v = Num x /\ admissible_number n (act f) o x) \/
  (exists count ordinal o i, shape f = Labels count ordinal /\ own f = Lab o /\ v = Lab i /\
     admissible_label count (act f) o i).
Proof.
  unfold admissible_value. destruct (shape f) as [n | c r]; destruct (own f) as [o | o];
    destruct v as [x | i]; try contradiction; intros H.
  - left. exists n, o, x. auto.
  - right. exists c, r, o, i. auto.
Qed.

(** ** Splits *)

Lemma bounded_in x a b : a <= x -> x <= b -> in_part (Num x) (bounded (Some a) (Some b)).
Proof.
  intros A B. unfold bounded. destruct (Qle_bool a b) eqn:E; [split; assumption |].
  apply Qle_bool_false in E. lra.
Qed.

Lemma sides_at_sound f p cut l r x :
  well_formed f -> is_double cut = true -> admissible_value f (Num x) -> in_part (Num x) p ->
  sides_at f p cut = Some (l, r) ->
  if Qle_bool x cut then in_part (Num x) l else in_part (Num x) r.
Proof.
  intros W D V P. destruct (number_value f _ V) as [[n [o [y [S [O [E X]]]]]] | [c [b [o [i [_ [_ [E _]]]]]]]];
    [| discriminate].
  injection E as <-. pose proof (ok_steps _ _ _ (well_formed_numbers f n o S O W)) as T.
  unfold sides_at. rewrite S, O. destruct p as [lo hi | ls |]; try contradiction.
  destruct P as [A B].
  destruct (Qle_bool hi cut) eqn:H.
  { apply Qle_bool_iff in H. intros R. injection R as <- <-.
    assert (C : x <= cut) by lra. apply Qle_bool_iff in C. rewrite C. split; assumption. }
  destruct (Qltb cut lo) eqn:G.
  { apply Qltb_true in G. intros R. injection R as <- <-.
    assert (C : cut < x) by lra. apply Qle_bool_false in C. rewrite C. split; assumption. }
  destruct (near_down n (act f) o cut) as [before |] eqn:N; [| discriminate].
  destruct (near_up n (act f) o true cut) as [after |] eqn:M; [| discriminate].
  intros R. injection R as <- <-. destruct (Qle_bool x cut) eqn:C.
  - apply Qle_bool_iff in C.
    destruct (near_down_sound _ _ _ _ _ _ T X C N) as [u [-> [U _]]].
    apply bounded_in; assumption.
  - apply Qle_bool_false in C.
    destruct (near_up_sound n (act f) o true cut x after T (fun _ => D) X C M) as [u [-> [U _]]].
    apply bounded_in; assumption.
Qed.

Lemma sides_among_sound p ls l r i :
  in_part (Lab i) p -> sides_among p ls = Some (l, r) ->
  if existsb (Nat.eqb i) ls then in_part (Lab i) l else in_part (Lab i) r.
Proof.
  destruct p as [lo hi | js |]; try contradiction. cbn [in_part sides_among]. intros I R.
  injection R as <- <-. destruct (existsb (Nat.eqb i) ls) eqn:E; apply filter_In;
    (split; [assumption |]); rewrite E; reflexivity.
Qed.

(** ** All of a feature *)

Lemma everything_sound f p v :
  well_formed f -> everything f = Some p -> admissible_value f v -> in_part v p.
Proof.
  intros W H V. unfold everything in H.
  destruct (number_value f v V) as [[n [o [x [S [O [-> X]]]]]] | [c [b [o [i [S [O [-> I]]]]]]]];
    rewrite S, O in H.
  - pose proof (well_formed_numbers f n o S O W) as K. pose proof (ok_steps _ _ _ K) as T.
    cbv zeta in H. pose proof (admissible_lower _ _ _ _ K X) as L.
    set (lo := match absent n with Some b => b | None => first n (act f) o end) in *.
    destruct (near_up n (act f) o false lo) as [a |] eqn:N; [| discriminate].
    destruct (near_down n (act f) o (upper n (act f) o)) as [b |] eqn:M; [| discriminate].
    injection H as <-.
    destruct (near_up_sound n (act f) o false lo x a T ltac:(discriminate) X L N) as [u [-> [A _]]].
    destruct (near_down_sound _ _ _ _ _ _ T X (admissible_upper _ _ _ _ K X) M) as [d [-> [B _]]].
    apply bounded_in; assumption.
  - injection H as <-. destruct I as [I J]. apply filter_In. split; [apply in_seq; lia |].
    destruct (act f); [reflexivity | apply Nat.eqb_eq | apply Nat.leb_le | apply Nat.leb_le]; assumption.
Qed.

(** ** Changes *)

Lemma over_zero a size : size == 0 -> over a size = 0.
Proof. intros E. unfold over. apply Qeq_bool_iff in E. unfold Qeqb. rewrite E. reflexivity. Qed.

Lemma over_some a size : ~ size == 0 -> over a size = a / size.
Proof.
  intros N. unfold over, Qeqb. destruct (Qeq_bool size 0) eqn:E; [| reflexivity].
  apply Qeq_bool_iff in E. contradiction.
Qed.

Lemma over_proper a b size : a == b -> over a size == over b size.
Proof. intros E. unfold over. destruct (Qeqb size 0); [reflexivity | rewrite E; reflexivity]. Qed.

Lemma over_le a b size : 0 <= size -> a <= b -> over a size <= over b size.
Proof.
  intros S L. unfold over. destruct (Qeqb size 0); [apply Qle_refl |].
  apply Qmult_le_compat_r; [assumption | apply Qinv_le_0_compat; assumption].
Qed.

Lemma over_nonneg a size : 0 <= size -> 0 <= a -> 0 <= over a size.
Proof.
  intros S L. unfold over. destruct (Qeqb size 0); [apply Qle_refl |].
  apply Qmult_le_0_compat; [assumption | apply Qinv_le_0_compat; assumption].
Qed.

Lemma over_bound a size most : 0 <= size -> ~ size == 0 -> over a size <= most -> a <= most * size.
Proof.
  intros S N. rewrite over_some by assumption. intros L.
  assert (P : 0 < size) by (apply Qnot_le_lt; intros H; apply N; lra).
  assert (E : a == a / size * size) by (field; assumption).
  rewrite E. apply Qmult_le_compat_r; assumption.
Qed.

Lemma places_nonneg i j : 0 <= places i j.
Proof. unfold places. change 0 with (inject_Z 0). rewrite <- Zle_Qle. lia. Qed.

Lemma change_number f n o x :
  shape f = Numbers n -> own f = Num o ->
  change f (Num x) = if Bool.eqb (is_absent n x) (is_absent n o)
                     then over (Qabs (x - o)) (high n - low n) else 1.
Proof. intros S O. unfold change. rewrite S, O. reflexivity. Qed.

Lemma change_well_formed f v : well_formed f -> 0 <= change f v.
Proof.
  intros W. unfold change. destruct (shape f) as [n | c [|]] eqn:S; destruct (own f) as [o | o] eqn:O;
    destruct v as [x | i]; try apply Qle_refl.
  - destruct (well_formed_numbers f n o S O W) as [R _].
    destruct (Bool.eqb _ _); [| discriminate]. apply over_nonneg; [lra | apply Qabs_nonneg].
  - pose proof (well_formed_labels f c true o S O W) as L.
    apply over_nonneg; [| apply places_nonneg].
    change 0 with (inject_Z 0). rewrite <- Zle_Qle. lia.
  - destruct (Nat.eqb i o); [apply Qle_refl |].
    destruct (Nat.leb c 1); apply over_nonneg; discriminate.
Qed.

Lemma change_nonneg f v : well_formed f -> admissible_value f v -> 0 <= change f v.
Proof. intros W _. apply change_well_formed. assumption. Qed.

Lemma change_proper f x y : x == y -> change f (Num x) == change f (Num y).
Proof.
  intros E. unfold change. destruct (shape f) as [n | c [|]]; destruct (own f) as [o | o]; try reflexivity.
  rewrite (is_absent_proper n x y E). destruct (Bool.eqb _ _); [| reflexivity].
  apply over_proper, Qabs_wd. rewrite E. reflexivity.
Qed.

Lemma admissible_number_proper n a o x y :
  x == y -> admissible_number n a o x -> admissible_number n a o y.
Proof.
  intros E [A | [F [U R]]]; [left; rewrite <- (is_absent_proper n x y E); assumption |].
  right. split; [lra |]. split; [lra |]. destruct R as [R | R]; [left | right; lra].
  unfold on_grid in *. destruct (step n); [| rewrite <- E; assumption].
  destruct R as [k K]. exists k. rewrite <- E. assumption.
Qed.

Lemma admissible_value_proper f x y :
  x == y -> admissible_value f (Num x) -> admissible_value f (Num y).
Proof.
  intros E. unfold admissible_value. destruct (shape f); destruct (own f); try contradiction.
  apply admissible_number_proper. assumption.
Qed.

Lemma in_part_proper p x y : x == y -> in_part (Num x) p -> in_part (Num y) p.
Proof. intros E. destruct p; simpl; try contradiction. lra. Qed.

(** ** What of a part lies within reach *)

Definition reach_of (n : numbers) (o most : Q) : Q :=
  if is_absent n o then 0 else most * (high n - low n).

Definition reach_low (n : numbers) (a : action) (o most : Q) : Q :=
  Qmax (o - reach_of n o most) (Qmin o (first n a o)).

(** Unless a missing number is chosen or filled in, what may be chosen lies around the instance. *)

Lemma reach_sound n a o most x :
  numbers_ok n a o -> admissible_number n a o x -> is_absent n x = is_absent n o ->
  over (Qabs (x - o)) (high n - low n) <= most ->
  reach_low n a o most <= x /\ x <= o + reach_of n o most.
Proof.
  intros W X E M. unfold reach_low, reach_of.
  destruct (is_absent n o) eqn:B.
  - apply is_absent_some in E. destruct E as [b [C E]].
    apply is_absent_some in B. destruct B as [b' [C' B]]. rewrite C in C'. injection C' as <-.
    split; [| lra]. pose proof (Q.le_min_l o (first n a o)). apply Q.max_lub; lra.
  - destruct (admissible_ranged n a o x X E) as [F _].
    pose proof (Q.le_min_r o (first n a o)).
    assert (R : low n <= high n) by apply W.
    destruct (Qeq_dec (high n - low n) 0) as [Z | Z].
    + assert (K : x == o) by (apply (one_value n a o x W X E B); lra).
      rewrite (over_zero _ _ Z) in M.
      assert (0 <= most * (high n - low n)) by nra.
      split; [apply Q.max_lub; lra | lra].
    + apply over_bound in M; [| lra | assumption].
      apply Qabs_Qle_condition in M. split; [apply Q.max_lub; lra | lra].
Qed.

Lemma intersect_in x lo hi a b :
  lo <= x -> x <= hi -> a <= x -> x <= b -> in_part (Num x) (intersect (Interval lo hi) (Some a) (Some b)).
Proof. intros. apply bounded_in; [apply Q.max_lub | apply Q.min_glb]; assumption. Qed.

Lemma clip_number_sound f n o lo hi most p x :
  well_formed f -> shape f = Numbers n -> own f = Num o -> admissible_number n (act f) o x ->
  clip f (Interval lo hi) (Some most) = Some p -> in_part (Num x) (Interval lo hi) ->
  change f (Num x) <= most -> in_part (Num x) p.
Proof.
  intros W S O X H P M. pose proof (well_formed_numbers f n o S O W) as K.
  pose proof (ok_steps _ _ _ K) as T. rewrite (change_number f n o x S O) in M.
  unfold clip in H. rewrite S, O in H. cbv zeta in H.
  destruct (Qle_bool 1 most && _) eqn:C; [injection H as <-; assumption |].
  fold (reach_of n o most) in H. fold (reach_low n (act f) o most) in H.
  destruct (Bool.eqb (is_absent n x) (is_absent n o)) eqn:E.
  - apply eqb_prop in E. destruct (reach_sound n (act f) o most x K X E M) as [A B].
    destruct (near_up n (act f) o false (reach_low n (act f) o most)) as [a |] eqn:N; [| discriminate].
    destruct (near_down n (act f) o (o + reach_of n o most)) as [b |] eqn:D; [| discriminate].
    injection H as <-.
    destruct (near_up_sound n (act f) o false _ x a T ltac:(discriminate) X A N) as [u [-> [U _]]].
    destruct (near_down_sound _ _ _ _ _ _ T X B D) as [d [-> [V _]]].
    destruct P. apply intersect_in; assumption.
  - exfalso. apply Qle_bool_iff in M. rewrite M in C. cbn [andb] in C.
    unfold is_absent in E. destruct (absent n); discriminate.
Qed.

Lemma clip_sound f p most p' v :
  well_formed f -> clip f p most = Some p' -> admissible_value f v -> in_part v p ->
  (match most with Some m => change f v <= m | None => True end) -> in_part v p'.
Proof.
  intros W H V P M. destruct most as [m |]; [| unfold clip in H; injection H as <-; assumption].
  destruct (number_value f v V) as [[n [o [x [S [O [-> X]]]]]] | [c [b [o [i [S [O [-> I]]]]]]]].
  - destruct p as [lo hi | ls |]; try contradiction.
    apply (clip_number_sound f n o lo hi m p' x); assumption.
  - destruct p as [lo hi | ls |]; try contradiction.
    unfold clip in H. rewrite S, O in H. injection H as <-.
    apply filter_In. split; [assumption | apply Qle_bool_iff; assumption].
Qed.

(** ** The least change in a part *)

Definition clamp (o lo hi : Q) : Q := Qmin (Qmax o lo) hi.

(** Clamping moves not at all, or to the end of the part that is next to the number. *)

Lemma clamp_cases o lo hi :
  lo <= hi -> let c := clamp o lo hi in
  (c == o /\ lo <= o /\ o <= hi) \/ (c == hi /\ hi < o) \/ (c == lo /\ o < lo).
Proof.
  intros L. unfold clamp. cbv zeta.
  destruct (Q.max_spec o lo) as [[A B] | [A B]];
    destruct (Q.min_spec (Qmax o lo) hi) as [[C D] | [C D]].
  - right. right. lra.
  - right. right. lra.
  - left. lra.
  - destruct (Qlt_le_dec hi o); [right; left | left]; lra.
Qed.

Lemma clamp_nearer o lo hi x :
  lo <= x -> x <= hi -> Qabs (clamp o lo hi - o) <= Qabs (x - o).
Proof.
  intros A B. assert (L : lo <= hi) by lra. pose proof (clamp_cases o lo hi L) as H. cbv zeta in H.
  absolute; lra.
Qed.

Lemma clamp_absent n a o lo hi x :
  numbers_ok n a o -> admissible_number n a o x -> lo <= x -> x <= hi ->
  is_absent n x = is_absent n o -> is_absent n (clamp o lo hi) = is_absent n o.
Proof.
  intros W X A B E. assert (L : lo <= hi) by lra.
  pose proof (clamp_cases o lo hi L) as H. cbv zeta in H.
  destruct (is_absent n o) eqn:F.
  - rewrite <- F. apply is_absent_proper.
    apply is_absent_some in E. destruct E as [b [C E]].
    apply is_absent_some in F. destruct F as [b' [C' F]]. rewrite C in C'. injection C' as <-.
    lra.
  - destruct (is_absent n (clamp o lo hi)) eqn:G; [exfalso | reflexivity].
    apply is_absent_some in G. destruct G as [b [C G]].
    destruct (absent_below n a o b W C) as [I [_ J]]. specialize (J F).
    destruct (admissible_ranged n a o x X E) as [K _]. lra.
Qed.

Lemma nearest_number_sound f n o lo hi x :
  well_formed f -> shape f = Numbers n -> own f = Num o -> admissible_number n (act f) o x ->
  lo <= x -> x <= hi ->
  Qmin 1 (change f (Num (clamp o lo hi))) <= change f (Num x).
Proof.
  intros W S O X A B. pose proof (well_formed_numbers f n o S O W) as K.
  rewrite !(change_number f n o _ S O).
  destruct (Bool.eqb (is_absent n x) (is_absent n o)) eqn:E; [| apply Q.le_min_l].
  apply eqb_prop in E. rewrite (clamp_absent n (act f) o lo hi x K X A B E), eqb_reflx.
  eapply Qle_trans; [apply Q.le_min_r |]. destruct K as [R _].
  apply over_le; [lra | apply clamp_nearer; assumption].
Qed.

Lemma nearest_nonneg f p d : nearest f p = Some d -> well_formed f -> 0 <= d.
Proof.
  intros H W. unfold nearest in H. destruct (own f) as [o | o]; destruct p as [lo hi | ls |]; try discriminate.
  - destruct (Qle_bool lo hi); [| discriminate]. injection H as <-.
    apply Q.min_glb; [discriminate | apply change_well_formed; assumption].
  - apply smallest_in, in_map_iff in H. destruct H as [i [<- _]].
    apply change_well_formed. assumption.
Qed.

Lemma nearest_sound f p v :
  well_formed f -> admissible_value f v -> in_part v p ->
  exists d, nearest f p = Some d /\ 0 <= d /\ d <= change f v.
Proof.
  intros W V P. assert (H : exists d, nearest f p = Some d /\ d <= change f v).
  - unfold nearest.
    destruct (number_value f v V) as [[n [o [x [S [O [-> X]]]]]] | [c [b [o [i [S [O [-> I]]]]]]]];
      rewrite O; destruct p as [lo hi | ls |]; try contradiction.
    + destruct P as [A B]. assert (L : lo <= hi) by lra. apply Qle_bool_iff in L. rewrite L.
      eexists. split; [reflexivity |]. apply (nearest_number_sound f n o lo hi x); assumption.
    + apply smallest_least. apply (in_map (fun i => change f (Lab i))). exact P.
  - destruct H as [d [H L]]. exists d. split; [assumption |].
    split; [apply nearest_nonneg with f p; assumption | assumption].
Qed.
