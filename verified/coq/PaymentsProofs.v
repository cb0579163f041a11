(** * That payments are fair, and that a number's worth is bounded at a few places *)

From Coq Require Import QArith Qabs Qminmax Qround Qfield ZArith List Bool Lqa Lia.
From Cfxc Require Import Semantics Features Sums FloatsProofs Payments.
Import ListNotations.
Open Scope Q_scope.

(** ** Sums *)

Lemma sum_ext {A} (f g : A -> Q) l :
  (forall x, In x l -> f x == g x) -> sum (map f l) == sum (map g l).
Proof.
  intros H. apply Qle_antisym; apply sum_le; intros x Hx; rewrite (H x Hx); apply Qle_refl.
Qed.

Lemma sum_map_nonneg {A} (f : A -> Q) l : (forall x, In x l -> 0 <= f x) -> 0 <= sum (map f l).
Proof.
  induction l as [|x l IH]; simpl; intros H.
  - lra.
  - assert (0 <= f x) by (apply H; now left).
    assert (0 <= sum (map f l)) by (apply IH; intros; apply H; now right).
    lra.
Qed.

Lemma sum_times {A} (f : A -> Q) c l :
  sum (map (fun x => f x * c) l) == sum (map f l) * c.
Proof.
  induction l as [|x l IH]; simpl.
  - lra.
  - rewrite IH. lra.
Qed.

Lemma sum_filter {A} (f : A -> Q) keep l :
  sum (map f (filter keep l)) == sum (map (fun x => if keep x then f x else 0) l).
Proof.
  induction l as [|x l IH]; simpl.
  - lra.
  - destruct (keep x); simpl; rewrite IH; lra.
Qed.

Lemma sum_flat_map {A B} (f : B -> Q) (g : A -> list B) l :
  sum (map f (flat_map g l)) == sum (map (fun x => sum (map f (g x))) l).
Proof.
  induction l as [|x l IH]; simpl.
  - lra.
  - rewrite map_app, sum_app, IH. lra.
Qed.

Lemma sum_swap {A B} (f : A -> B -> Q) la lb :
  sum (map (fun a => sum (map (f a) lb)) la)
  == sum (map (fun b => sum (map (fun a => f a b) la)) lb).
Proof.
  induction la as [|a la IH]; simpl.
  - symmetry. apply sum_zero. intros. lra.
  - rewrite IH, <- sum_plus. lra.
Qed.

(** Of keys without duplicates at most one fits. *)

Lemma sum_at_most_one {A} (fits : A -> bool) x l :
  0 <= x -> NoDup l -> (forall a b, fits a = true -> fits b = true -> a = b) ->
  sum (map (fun a => if fits a then x else 0) l) <= x.
Proof.
  intros Hx Hl Hf. induction Hl as [|a l Ha Hl IH]; simpl.
  - exact Hx.
  - destruct (fits a) eqn:E.
    + rewrite sum_zero.
      * lra.
      * intros b Hb. destruct (fits b) eqn:E'.
        -- exfalso. apply Ha. now rewrite (Hf a b E E').
        -- lra.
    + lra.
Qed.

(** ** Least and largest of two *)

Lemma Qmax_cases x y : (x <= y /\ Qmax x y == y) \/ (y <= x /\ Qmax x y == x).
Proof.
  destruct (Qlt_le_dec x y) as [H|H].
  - left. split; [lra|]. apply Q.max_r. lra.
  - right. split; [lra|]. now apply Q.max_l.
Qed.

Lemma Qmin_cases x y : (x <= y /\ Qmin x y == x) \/ (y <= x /\ Qmin x y == y).
Proof.
  destruct (Qlt_le_dec x y) as [H|H].
  - left. split; [lra|]. apply Q.min_l. lra.
  - right. split; [lra|]. now apply Q.min_r.
Qed.

(** Puts values in place of all [Qmax] and [Qmin]. *)

Ltac replace_max x y :=
  let H := fresh "H" in let E := fresh "E" in let m := fresh "m" in
  destruct (Qmax_cases x y) as [[H E]|[H E]]; set (m := Qmax x y) in *; clearbody m.

Ltac replace_min x y :=
  let H := fresh "H" in let E := fresh "E" in let m := fresh "m" in
  destruct (Qmin_cases x y) as [[H E]|[H E]]; set (m := Qmin x y) in *; clearbody m.

Ltac cases_minmax :=
  repeat match goal with
  | |- context [Qmax ?x ?y] => replace_max x y
  | |- context [Qmin ?x ?y] => replace_min x y
  | _ : context [Qmax ?x ?y] |- _ => replace_max x y
  | _ : context [Qmin ?x ?y] |- _ => replace_min x y
  end.

Ltac minmax := cases_minmax; lra.

(** ** The float below a number *)

Lemma floor_times_le v q : 0 < q -> inject_Z (Qfloor (v / q)) * q <= v.
Proof.
  intros Hq. setoid_replace v with (v / q * q) at 2 by (field; lra).
  apply Qmult_le_compat_r.
  - apply Qfloor_le.
  - lra.
Qed.

Lemma float_down_nonneg w v : 0 <= v -> 0 <= float_down w v.
Proof.
  intros Hv. unfold float_down. rewrite Qred_correct.
  pose proof (pow2_pos (last_place w v)) as Hq.
  apply Qmult_le_0_compat; [|lra].
  change 0 with (inject_Z 0). rewrite <- Zle_Qle.
  change 0%Z with (Qfloor 0). apply Qfloor_resp_le.
  apply Qle_shift_div_l; lra.
Qed.

Lemma toward_zero_nonneg x : 0 <= toward_zero x.
Proof.
  unfold toward_zero. destruct (Qle_bool x 0) eqn:E.
  - lra.
  - apply Qle_bool_false in E. apply float_down_nonneg. lra.
Qed.

Lemma toward_zero_le x : 0 <= x -> toward_zero x <= x.
Proof.
  intros Hx. unfold toward_zero. destruct (Qle_bool x 0).
  - exact Hx.
  - apply float_down_le.
Qed.

Lemma times_toward_zero w : 0 < w -> w * toward_zero (1 / w) <= 1.
Proof.
  intros Hw.
  assert (0 <= 1 / w) by (apply Qle_shift_div_l; lra).
  pose proof (toward_zero_le (1 / w) ltac:(assumption)) as H1.
  assert (w * (1 / w) == 1) by (field; lra).
  nra.
Qed.

(** ** Climbs *)

Definition rates_nonneg (layers : list (Q * Q)) : Prop := forall e r, In (e, r) layers -> 0 <= r.

Fixpoint rising (from : Q) (es : list Q) : Prop :=
  match es with [] => True | e :: es => from <= e /\ rising e es end.

Lemma climb_nonneg from layers rest c :
  rates_nonneg layers -> 0 <= rest -> 0 <= climb from layers rest c.
Proof.
  revert from. induction layers as [|[e r] layers IH]; simpl; intros from Hl Hr.
  - apply Qmult_le_0_compat; [exact Hr | minmax].
  - assert (0 <= r) by (apply (Hl e); now left).
    assert (0 <= climb e layers rest c)
      by (apply IH; [intros e' r' H'; apply (Hl e'); now right | exact Hr]).
    assert (0 <= r * Qmax 0 (Qmin c e - from)) by (apply Qmult_le_0_compat; [assumption | minmax]).
    lra.
Qed.

Lemma climb_mono from layers rest c d :
  rates_nonneg layers -> 0 <= rest -> c <= d ->
  climb from layers rest c <= climb from layers rest d.
Proof.
  revert from. induction layers as [|[e r] layers IH]; simpl; intros from Hl Hr Hcd.
  - rewrite !(Qmult_comm rest). apply Qmult_le_compat_r; [minmax | exact Hr].
  - assert (0 <= r) by (apply (Hl e); now left).
    assert (climb e layers rest c <= climb e layers rest d)
      by (apply IH; [intros e' r' H'; apply (Hl e'); now right | exact Hr | exact Hcd]).
    assert (r * Qmax 0 (Qmin c e - from) <= r * Qmax 0 (Qmin d e - from)).
    { rewrite !(Qmult_comm r). apply Qmult_le_compat_r; [minmax | assumption]. }
    lra.
Qed.

Lemma climb_at_zero from layers rest :
  0 <= from -> (forall e r, In (e, r) layers -> 0 <= e) -> climb from layers rest 0 == 0.
Proof.
  revert from. induction layers as [|[e r] layers IH]; simpl; intros from Hf He.
  - assert (E : Qmax 0 (0 - from) == 0) by minmax. rewrite E. lra.
  - assert (0 <= e) by (apply (He e r); now left).
    assert (E : Qmax 0 (Qmin 0 e - from) == 0) by minmax. rewrite E.
    rewrite IH; [lra | assumption | intros e' r' H'; apply (He e' r'); now right].
Qed.

Lemma climb_ext (f g : Q -> Q) es from c :
  (forall e, f e == g e) ->
  climb from (map (fun e => (e, f e)) es) 0 c == climb from (map (fun e => (e, g e)) es) 0 c.
Proof.
  intros H. revert from. induction es as [|e es IH]; simpl; intros from.
  - lra.
  - rewrite IH, (H e). lra.
Qed.

Lemma climb_zero_rates es from c : climb from (map (fun e => (e, 0)) es) 0 c == 0.
Proof.
  revert from. induction es as [|e es IH]; simpl; intros from.
  - lra.
  - rewrite IH. lra.
Qed.

(** The sum of climbs over the same ends is the climb of the sums of rates. *)

Lemma climb_sum {K} (rate : K -> Q -> Q) ks es from c :
  sum (map (fun k => climb from (map (fun e => (e, rate k e)) es) 0 c) ks)
  == climb from (map (fun e => (e, sum (map (fun k => rate k e) ks))) es) 0 c.
Proof.
  revert from. induction es as [|e es IH]; simpl; intros from.
  - rewrite sum_zero; [lra | intros; lra].
  - rewrite sum_plus, IH, sum_times. lra.
Qed.

(** With rates of at most 1, no more is climbed than there is. *)

Lemma climb_le (f : Q -> Q) es from c :
  (forall e, f e <= 1) -> rising from es ->
  climb from (map (fun e => (e, f e)) es) 0 c <= Qmax 0 (c - from).
Proof.
  intros Hf. revert from. induction es as [|e es IH]; simpl; intros from He.
  - minmax.
  - destruct He as [H1 H2]. specialize (IH e H2). specialize (Hf e).
    assert (f e * Qmax 0 (Qmin c e - from) <= 1 * Qmax 0 (Qmin c e - from))
      by (apply Qmult_le_compat_r; [exact Hf | minmax]).
    assert (Qmax 0 (Qmin c e - from) + Qmax 0 (c - e) <= Qmax 0 (c - from)) by minmax.
    lra.
Qed.

Lemma pays_nonneg p c : rates_nonneg (layers p) -> 0 <= rest p -> 0 <= pays p c.
Proof. apply climb_nonneg. Qed.

(** ** Ends of layers *)

Lemma rising_insert e l from : from <= e -> rising from l -> rising from (insert e l).
Proof.
  revert from. induction l as [|x l IH]; simpl; intros from He Hl.
  - tauto.
  - destruct Hl as [H1 H2]. destruct (Qeq_bool e x); [simpl; tauto|].
    destruct (Qle_bool e x) eqn:E.
    + apply Qle_bool_iff in E. simpl. tauto.
    + apply Qle_bool_false in E. simpl. split; [exact H1|]. apply IH; [lra | exact H2].
Qed.

Lemma rising_ends l : (forall s, In s l -> 0 <= end_of s) -> rising 0 (ends l).
Proof.
  induction l as [|s l IH]; simpl; intros H.
  - exact I.
  - apply rising_insert.
    + apply H. now left.
    + apply IH. intros. apply H. now right.
Qed.

Lemma rising_in from es e : rising from es -> In e es -> from <= e.
Proof.
  revert from. induction es as [|x es IH]; simpl; intros from H1 H2.
  - contradiction.
  - destruct H1 as [H H1]. destruct H2 as [->|H2]; [exact H|]. specialize (IH x H1 H2). lra.
Qed.

(** ** What the reader asks of what is stated *)

Lemma ok_part l t j y :
  payments_ok l = true -> In (Part_of t j y) l ->
  0 <= y /\ sum (map (part_of_tree j) l) <= 1 /\ has_layers j l = false.
Proof.
  intros H Hs. unfold payments_ok in H. rewrite forallb_forall in H. specialize (H _ Hs).
  simpl in H. rewrite !andb_true_iff, negb_true_iff, !Qle_bool_iff in H. tauto.
Qed.

Lemma ok_layer l t j w e y :
  payments_ok l = true -> In (Layer_of t j w e y) l -> 0 < e /\ 0 < y /\ w <> Either.
Proof.
  intros H Hs. unfold payments_ok in H. rewrite forallb_forall in H. specialize (H _ Hs).
  simpl in H. rewrite !andb_true_iff, negb_true_iff, !Qltb_true in H.
  destruct H as [[H1 H2] H3]. repeat split; [exact H1 | exact H2 |].
  intros ->. discriminate.
Qed.

Lemma way_eqb_true a b : way_eqb a b = true <-> a = b.
Proof. destruct a, b; simpl; split; congruence. Qed.

Lemma weight_at_nonneg l e s : payments_ok l = true -> In s l -> 0 <= weight_at e s.
Proof.
  intros H Hs. destruct s as [t j y | t j w u y]; simpl.
  - lra.
  - apply (ok_layer l) in Hs; [|exact H]. destruct (Qle_bool e u); lra.
Qed.

Lemma end_nonneg l s : payments_ok l = true -> In s l -> 0 <= end_of s.
Proof.
  intros H Hs. destruct s as [t j y | t j w u y]; simpl.
  - lra.
  - apply (ok_layer l) in Hs; [lra | exact H].
Qed.

Lemma part_nonneg l j s : payments_ok l = true -> In s l -> 0 <= part_of_tree j s.
Proof.
  intros H Hs. destruct s as [t i y | t i w u y]; simpl.
  - apply (ok_part l) in Hs; [|exact H]. destruct (Nat.eqb i j); lra.
  - lra.
Qed.

(** Beside layers there are no shares. *)

Lemma no_parts l j :
  payments_ok l = true -> has_layers j l = true -> sum (map (part_of_tree j) l) == 0.
Proof.
  intros H Hj. apply sum_zero. intros [t i y | t i w u y] Hs; simpl.
  - destruct (Nat.eqb i j) eqn:E.
    + apply Nat.eqb_eq in E. subst i. apply (ok_part l) in Hs; [|exact H].
      destruct Hs as [_ [_ Hs]]. congruence.
    + lra.
  - lra.
Qed.

Lemma parts_range l j :
  payments_ok l = true -> 0 <= sum (map (part_of_tree j) l) /\ sum (map (part_of_tree j) l) <= 1.
Proof.
  intros H. split.
  - apply sum_map_nonneg. intros s Hs. now apply (part_nonneg l).
  - destruct (existsb (fun s => match s with Part_of _ i _ => Nat.eqb i j | _ => false end) l)
      eqn:E.
    + apply existsb_exists in E. destruct E as [[t i y | t i w u y] [Hs E]]; [|discriminate].
      apply Nat.eqb_eq in E. subst i. apply (ok_part l) in Hs; [tauto | exact H].
    + rewrite sum_zero; [lra|]. intros s Hs.
      destruct s as [t i y | t i w u y]; simpl; [|lra].
      destruct (Nat.eqb i j) eqn:E'; [|lra].
      exfalso. rewrite <- not_true_iff_false in E. apply E. apply existsb_exists.
      exists (Part_of t i y). tauto.
Qed.

Lemma left_over_range l j : payments_ok l = true -> 0 <= left_over l j /\ left_over l j <= 1.
Proof.
  intros H. unfold left_over. destruct (has_layers j l).
  - lra.
  - pose proof (parts_range l j H). lra.
Qed.

(** ** Rates *)

Lemma all_weight_nonneg l e keep :
  payments_ok l = true -> 0 <= sum (map (weight_at e) (filter keep l)).
Proof.
  intros H. apply sum_map_nonneg. intros s Hs. apply filter_In in Hs.
  now apply (weight_at_nonneg l).
Qed.

Lemma rate_nonneg all own e :
  (forall s, In s own -> 0 <= weight_at e s) -> 0 <= rate_at all own e.
Proof.
  intros H. unfold rate_at. destruct (Qeq_bool _ 0).
  - lra.
  - apply Qmult_le_0_compat.
    + now apply sum_map_nonneg.
    + apply toward_zero_nonneg.
Qed.

Lemma own_rate_nonneg l t j w e :
  payments_ok l = true ->
  0 <= rate_at (filter (same_layers j w) l) (filter (of_tree t) (filter (same_layers j w) l)) e.
Proof.
  intros H. apply rate_nonneg. intros s Hs.
  apply filter_In in Hs. destruct Hs as [Hs _]. apply filter_In in Hs.
  now apply (weight_at_nonneg l).
Qed.

(** Every payment is a share, or that of a key. *)

Lemma payments_cases l p :
  In p (payments l) ->
  (exists t j y, In (Part_of t j y) l /\
     p = {| payer := t; paid_for := j; towards := Either; layers := []; rest := y |}) \/
  (exists t j w, In (t, j, w) (layer_keys l) /\ p = layer_pay t j w (filter (same_layers j w) l)).
Proof.
  unfold payments. rewrite in_app_iff, in_flat_map, in_map_iff. intros [[s [Hs Hp]] | [k [Hk Hp]]].
  - left. destruct s as [t j y | t j w u y]; simpl in Hp.
    + exists t, j, y. destruct Hp as [Hp|[]]. split; [exact Hs | now symmetry].
    + contradiction.
  - right. destruct k as [[t j] w]. exists t, j, w. split; [exact Hp | now symmetry].
Qed.

Lemma payments_nonneg l p :
  payments_ok l = true -> In p (payments l) -> rates_nonneg (layers p) /\ 0 <= rest p.
Proof.
  intros H Hp. apply payments_cases in Hp.
  destruct Hp as [[t [j [y [Hs ->]]]] | [t [j [w [_ ->]]]]]; simpl.
  - split.
    + intros e r [].
    + now apply (ok_part l) in Hs.
  - split; [|lra]. intros e r Hr. apply in_map_iff in Hr. destruct Hr as [e' [E _]].
    injection E as -> <-. now apply own_rate_nonneg.
Qed.

Lemma payments_ends l p e r :
  payments_ok l = true -> In p (payments l) -> In (e, r) (layers p) -> 0 <= e.
Proof.
  intros H Hp Hr. apply payments_cases in Hp.
  destruct Hp as [[t [j [y [Hs ->]]]] | [t [j [w [_ ->]]]]]; simpl in Hr.
  - contradiction.
  - apply in_map_iff in Hr. destruct Hr as [e' [E Hr]]. injection E as -> _.
    apply rising_in with (2 := Hr), rising_ends. intros s Hs. apply filter_In in Hs.
    now apply (end_nonneg l).
Qed.

Lemma payment_nonneg l p c : payments_ok l = true -> In p (payments l) -> 0 <= pays p c.
Proof.
  intros H Hp. destruct (payments_nonneg l p H Hp). now apply pays_nonneg.
Qed.

Lemma pays_mono l p c d :
  payments_ok l = true -> In p (payments l) -> c <= d -> pays p c <= pays p d.
Proof.
  intros H Hp Hcd. destruct (payments_nonneg l p H Hp). now apply climb_mono.
Qed.

Lemma pays_zero l p c : payments_ok l = true -> In p (payments l) -> c == 0 -> pays p c == 0.
Proof.
  intros H Hp Hc. destruct (payments_nonneg l p H Hp) as [H1 H2].
  assert (E : pays p 0 == 0).
  { apply climb_at_zero; [lra|]. intros e r Hr. now apply (payments_ends l p e r). }
  assert (pays p c <= pays p 0) by (apply climb_mono; [exact H1 | exact H2 | lra]).
  assert (0 <= pays p c) by now apply pays_nonneg.
  lra.
Qed.

(** ** The keys of layers *)

Lemma key_eqb_true t j w t' j' w' :
  Nat.eqb t t' && Nat.eqb j j' && way_eqb w w' = true <-> (t, j, w) = (t', j', w').
Proof.
  rewrite !andb_true_iff, !Nat.eqb_eq, way_eqb_true. split.
  - now intros [[-> ->] ->].
  - intros E. injection E. tauto.
Qed.

Lemma keys_nodup l : NoDup (layer_keys l).
Proof.
  induction l as [|[t j y | t j w u y] l IH]; simpl.
  - constructor.
  - exact IH.
  - destruct (existsb _ (layer_keys l)) eqn:E; [exact IH|].
    constructor; [|exact IH]. intros Hk. rewrite <- not_true_iff_false in E. apply E.
    apply existsb_exists. exists (t, j, w). split; [exact Hk|]. now apply key_eqb_true.
Qed.

Lemma keys_in l t j w : In (t, j, w) (layer_keys l) -> exists e y, In (Layer_of t j w e y) l.
Proof.
  induction l as [|[t' j' y' | t' j' w' u' y'] l IH]; simpl; intros Hk.
  - contradiction.
  - destruct (IH Hk) as [e [y H]]. exists e, y. now right.
  - assert (Hk' : (t', j', w') = (t, j, w) \/ In (t, j, w) (layer_keys l)).
    { destruct (existsb _ (layer_keys l)); [now right | exact Hk]. }
    destruct Hk' as [E|Hk'].
    + injection E as -> -> ->. exists u', y'. now left.
    + destruct (IH Hk') as [e [y H]]. exists e, y. now right.
Qed.

(** ** All payments for a feature *)

Definition concerns (j : nat) (d : way) (p : pay) : bool :=
  Nat.eqb (paid_for p) j && (way_eqb (towards p) Either || way_eqb (towards p) d).

Definition fitting (j : nat) (d : way) (k : nat * nat * way) : bool :=
  let '(_, i, w) := k in Nat.eqb i j && way_eqb w d.

Definition tree_of (k : nat * nat * way) : nat := let '(t, _, _) := k in t.

(** The rate of a key in the layers of feature j in direction d; 0 of other keys. *)

Definition key_rate (l : list stated) (j : nat) (d : way) (k : nat * nat * way) (e : Q) : Q :=
  let all := filter (same_layers j d) l in
  if fitting j d k then rate_at all (filter (of_tree (tree_of k)) all) e else 0.

Lemma key_weights_le l j d e :
  payments_ok l = true ->
  let all := filter (same_layers j d) l in
  sum (map (fun k => if fitting j d k
                     then sum (map (weight_at e) (filter (of_tree (tree_of k)) all)) else 0)
           (layer_keys l))
  <= sum (map (weight_at e) all).
Proof.
  intros H all.
  rewrite (sum_ext _ (fun k => sum (map (fun s =>
             if fitting j d k && of_tree (tree_of k) s then weight_at e s else 0) all))).
  - rewrite sum_swap. apply sum_le. intros s Hs. apply filter_In in Hs. destruct Hs as [Hs Hj].
    apply sum_at_most_one with (fits := fun k => fitting j d k && of_tree (tree_of k) s).
    + now apply (weight_at_nonneg l).
    + apply keys_nodup.
    + intros [[t i] w] [[t' i'] w']. simpl.
      rewrite !andb_true_iff, !Nat.eqb_eq, !way_eqb_true.
      intros [[-> ->] H1] [[-> ->] H2].
      destruct s as [u ? ? | u ? ? ? ?]; simpl in H1, H2; apply Nat.eqb_eq in H1, H2; congruence.
  - intros k _. destruct (fitting j d k); simpl.
    + apply sum_filter.
    + symmetry. apply sum_zero. intros. lra.
Qed.

Lemma key_rates_le l j d e :
  payments_ok l = true -> sum (map (fun k => key_rate l j d k e) (layer_keys l)) <= 1.
Proof.
  intros H. pose proof (key_weights_le l j d e H) as Hle. cbv zeta in Hle.
  unfold key_rate, rate_at.
  set (all := filter (same_layers j d) l) in *.
  assert (0 <= sum (map (weight_at e) all)) by now apply all_weight_nonneg.
  set (w := sum (map (weight_at e) all)) in *.
  destruct (Qeq_bool w 0) eqn:E.
  - rewrite sum_zero; [lra|]. intros k _. destruct (fitting j d k); lra.
  - apply Qeq_bool_neq in E. assert (0 < w) by (destruct (Qlt_le_dec 0 w); [assumption | lra]).
    rewrite (sum_ext _ (fun k =>
      (if fitting j d k then sum (map (weight_at e) (filter (of_tree (tree_of k)) all)) else 0)
      * toward_zero (1 / w))).
    + rewrite sum_times. pose proof (times_toward_zero w ltac:(assumption)).
      pose proof (toward_zero_nonneg (1 / w)).
      apply Qle_trans with (w * toward_zero (1 / w)); [|assumption].
      now apply Qmult_le_compat_r.
    + intros k _. destruct (fitting j d k); lra.
Qed.

(** What is paid by shares. *)

Lemma shares_paid l j d c :
  0 <= c ->
  sum (map (fun p => if concerns j d p then pays p c else 0) (flat_map share_pay l))
  == sum (map (part_of_tree j) l) * c.
Proof.
  intros Hc. rewrite sum_flat_map, <- sum_times. apply sum_ext.
  intros [t i y | t i w u y] _; simpl; [|lra].
  unfold concerns, pays. simpl.
  destruct (Nat.eqb i j); simpl; [|lra].
  assert (E : Qmax 0 (c - 0) == c) by minmax. rewrite E. lra.
Qed.

(** What is paid by layers, as one climb. *)

Lemma layers_paid l j d c :
  payments_ok l = true ->
  sum (map (fun p => if concerns j d p then pays p c else 0)
         (map (fun k => let '(t, j, w) := k in layer_pay t j w (filter (same_layers j w) l))
            (layer_keys l)))
  == climb 0 (map (fun e => (e, sum (map (fun k => key_rate l j d k e) (layer_keys l))))
                (ends (filter (same_layers j d) l))) 0 c.
Proof.
  intros H. rewrite map_map, <- climb_sum. apply sum_ext. intros [[t i] w] Hk.
  destruct (keys_in l t i w Hk) as [u [y Hs]]. apply (ok_layer l) in Hs; [|exact H].
  destruct Hs as [_ [_ Hw]].
  assert (E : concerns j d (layer_pay t i w (filter (same_layers i w) l)) = fitting j d (t, i, w)).
  { unfold concerns. simpl. destruct (way_eqb w Either) eqn:E; [|reflexivity].
    apply way_eqb_true in E. contradiction. }
  rewrite E. unfold key_rate. destruct (fitting j d (t, i, w)) eqn:F.
  - simpl in F. rewrite andb_true_iff, Nat.eqb_eq, way_eqb_true in F. destruct F as [-> ->].
    unfold pays, layer_pay. simpl. apply Qeq_refl.
  - symmetry. apply climb_zero_rates.
Qed.

Lemma no_layers l j d :
  has_layers j l = false -> d = Up \/ d = Down -> filter (same_layers j d) l = [].
Proof.
  intros H Hd. destruct (filter (same_layers j d) l) as [|s f] eqn:E; [reflexivity|].
  assert (Hs : In s (filter (same_layers j d) l)) by (rewrite E; now left).
  apply filter_In in Hs. destruct Hs as [Hs Hj].
  exfalso. rewrite <- not_true_iff_false in H. apply H. apply existsb_exists.
  exists s. split; [exact Hs|]. apply orb_true_iff. destruct Hd as [-> | ->]; tauto.
Qed.

Theorem payments_sound l c :
  payments_ok l = true -> 0 <= c -> forall j (d : way), d = Up \/ d = Down ->
  sum (map (fun p => pays p c)
         (filter (fun p => Nat.eqb (paid_for p) j
                           && (way_eqb (towards p) Either || way_eqb (towards p) d)) (payments l)))
  <= (1 - left_over l j) * c.
Proof.
  intros H Hc j d Hd. fold (concerns j d). rewrite sum_filter.
  unfold payments. rewrite map_app, sum_app, shares_paid, layers_paid by assumption.
  unfold left_over. destruct (has_layers j l) eqn:E.
  - rewrite no_parts by assumption.
    assert (Hle : climb 0
                    (map (fun e => (e, sum (map (fun k => key_rate l j d k e) (layer_keys l))))
                    (ends (filter (same_layers j d) l))) 0 c <= Qmax 0 (c - 0)).
    { apply climb_le.
      - intros e. now apply key_rates_le.
      - apply rising_ends. intros s Hs. apply filter_In in Hs. now apply (end_nonneg l). }
    assert (E' : Qmax 0 (c - 0) == c) by minmax. rewrite E' in Hle. lra.
  - rewrite (no_layers l j d E Hd). simpl. lra.
Qed.

(** ** Changes and prices of equal numbers *)

Lemma Qle_bool_comp x x' y y' : x == x' -> y == y' -> Qle_bool x y = Qle_bool x' y'.
Proof.
  intros Hx Hy. destruct (Qle_bool x' y') eqn:E.
  - apply Qle_bool_iff in E. apply Qle_bool_iff. lra.
  - apply Qle_bool_false in E. apply Qle_bool_false. lra.
Qed.

Lemma Qeqb_comp x x' y y' : x == x' -> y == y' -> Qeqb x y = Qeqb x' y'.
Proof.
  intros Hx Hy. destruct (Qeqb x' y') eqn:E.
  - apply Qeq_bool_iff in E. apply Qeq_bool_iff. lra.
  - apply Qeqb_false in E. apply Qeqb_false. lra.
Qed.

Lemma is_absent_comp n x y : x == y -> is_absent n x = is_absent n y.
Proof.
  intros H. unfold is_absent. destruct (absent n) as [a|]; [|reflexivity].
  now apply Qeqb_comp.
Qed.

Lemma over_comp x y r : x == y -> over x r == over y r.
Proof.
  intros H. unfold over. destruct (Qeqb r 0); [reflexivity|]. now rewrite H.
Qed.

Lemma change_comp f x y : x == y -> change f (Num x) == change f (Num y).
Proof.
  intros H. unfold change. destruct (shape f) as [n|c o]; destruct (own f) as [o'|i].
  - rewrite (is_absent_comp n x y H). destruct (Bool.eqb _ _); [|reflexivity].
    apply over_comp. now rewrite H.
  - reflexivity.
  - destruct o; reflexivity.
  - destruct o; reflexivity.
Qed.

Lemma moved_comp d e : d == e -> moved d = moved e.
Proof.
  intros H. unfold moved. now rewrite (Qle_bool_comp d e 0 0) by (assumption || reflexivity).
Qed.

Lemma priced_comp p d e : d == e -> priced p d == priced p e.
Proof.
  intros H. unfold priced, cost. now rewrite (moved_comp d e H), H.
Qed.

(** ** A concave parabola, or a line, on an interval *)

Lemma parabola_bound A b u w t :
  0 <= A -> u <= t -> t <= w ->
  exists y, u <= y /\ y <= w /\ b * t - A * (t * t) <= b * y - A * (y * y) /\
    (y == u \/ y == w \/ (0 < A /\ 2 * A * y == b)).
Proof.
  intros HA Hu Hw.
  destruct (Qlt_le_dec 0 A) as [H|H].
  - set (v := b / (2 * A)).
    assert (Hv : 2 * A * v == b) by (unfold v; field; lra).
    clearbody v.
    destruct (Qlt_le_dec v u) as [H1|H1]; [|destruct (Qlt_le_dec w v) as [H2|H2]].
    + exists u. repeat split; [lra | lra | | now left].
      assert (E : b * u - A * (u * u) - (b * t - A * (t * t)) == A * ((t - u) * (t + u - 2 * v)))
        by (rewrite <- Hv; ring).
      assert (0 <= A * ((t - u) * (t + u - 2 * v)))
        by (apply Qmult_le_0_compat; [lra | apply Qmult_le_0_compat; lra]).
      lra.
    + exists w. repeat split; [lra | lra | | now right; left].
      assert (E : b * w - A * (w * w) - (b * t - A * (t * t)) == A * ((w - t) * (2 * v - t - w)))
        by (rewrite <- Hv; ring).
      assert (0 <= A * ((w - t) * (2 * v - t - w)))
        by (apply Qmult_le_0_compat; [lra | apply Qmult_le_0_compat; lra]).
      lra.
    + exists v. repeat split; [lra | lra | | right; right; tauto].
      assert (E : b * v - A * (v * v) - (b * t - A * (t * t)) == A * ((v - t) * (v - t)))
        by (rewrite <- Hv; ring).
      assert (0 <= A * ((v - t) * (v - t)))
        by (apply Qmult_le_0_compat; [lra | apply square_nonneg]).
      lra.
  - assert (E : A == 0) by lra.
    destruct (Qlt_le_dec b 0) as [H1|H1].
    + exists u. repeat split; [lra | lra | | now left]. rewrite E. nra.
    + exists w. repeat split; [lra | lra | | now right; left]. rewrite E. nra.
Qed.

(** ** What a number is worth, less what its distance from [o] over a size costs *)

Definition worth (factor : Q) (p : price) (o size x : Q) : Q :=
  factor * x - priced p (over (Qabs (x - o)) size).

Definition nonneg_price (p : price) : Prop :=
  0 <= budget_ p /\ 0 <= peak_ p /\ 0 <= share_ p /\
  0 <= l0 (metric_ p) /\ 0 <= l1 (metric_ p) /\ 0 <= l2 (metric_ p).

(** Squares are not mixed with l1 or linf; the vertex is at the same place on both sides. *)

Definition unmixed (p : price) : Prop :=
  l2 (metric_ p) == 0 \/ (l1 (metric_ p) == 0 /\ peak_ p == 0).

(** So it is of norms as the reader asks for, as peaks are paid of linf. *)

Lemma unmixed_norms p :
  l2 (metric_ p) == 0 \/ (l1 (metric_ p) == 0 /\ linf (metric_ p) == 0) ->
  (linf (metric_ p) == 0 -> peak_ p == 0) -> unmixed p.
Proof. unfold unmixed. tauto. Qed.

Definition squares (p : price) : Q := 2 * budget_ p * l2 (metric_ p) * share_ p.

(** A place where the worth may be largest on the interval from [u] to [w]. *)

Definition best_place (factor : Q) (p : price) (o size u w y : Q) : Prop :=
  y == u \/ y == w \/ y == o \/
  (0 < squares p /\ 0 < size /\ y == o + factor * (size * size) / squares p).

Lemma worth_comp factor p o size x y : x == y -> worth factor p o size x == worth factor p o size y.
Proof.
  intros H. unfold worth.
  rewrite (priced_comp p _ (over (Qabs (y - o)) size)) by (apply over_comp; now rewrite H).
  now rewrite H.
Qed.

(** Beside [o] the worth is a parabola less the price of moving. *)

Definition drop (p : price) : Q := budget_ p * share_ p * l0 (metric_ p).
Definition slope (p : price) (size : Q) : Q :=
  (budget_ p * share_ p * l1 (metric_ p) + peak_ p) / size.
Definition bend (p : price) (size : Q) : Q :=
  budget_ p * share_ p * l2 (metric_ p) / (size * size).

Lemma drop_nonneg p : nonneg_price p -> 0 <= drop p.
Proof.
  intros [H1 [_ [H2 [H3 _]]]]. unfold drop.
  apply Qmult_le_0_compat; [now apply Qmult_le_0_compat | assumption].
Qed.

Lemma bend_nonneg p size : nonneg_price p -> 0 < size -> 0 <= bend p size.
Proof.
  intros [H1 [_ [H2 [_ [_ H3]]]]] Hs. unfold bend.
  assert (0 < size * size) by nra.
  apply Qle_shift_div_l; [assumption|]. rewrite Qmult_0_l.
  apply Qmult_le_0_compat; [now apply Qmult_le_0_compat | assumption].
Qed.

Lemma over_size x size : 0 < size -> over x size == x / size.
Proof.
  intros H. unfold over. assert (E : Qeqb size 0 = false) by (apply Qeqb_false; lra).
  rewrite E. reflexivity.
Qed.

(** The price of a distance [z], with [m] for whether it is a move. *)

Lemma priced_over p z size m :
  0 < size -> m == moved (over z size) ->
  priced p (over z size) == drop p * m + slope p size * z + bend p size * (z * z).
Proof.
  intros Hs Hm. unfold priced, cost. rewrite <- Hm, (over_size z size Hs).
  unfold drop, slope, bend. field. lra.
Qed.

Lemma moved_le d : 0 <= moved d /\ moved d <= 1.
Proof. unfold moved. destruct (Qle_bool d 0); lra. Qed.

Lemma moved_over z size : 0 < size -> 0 < z -> moved (over z size) == 1.
Proof.
  intros Hs Hz. unfold moved.
  assert (E : Qle_bool (over z size) 0 = false).
  { apply Qle_bool_false. rewrite (over_size z size Hs). apply Qlt_shift_div_l; lra. }
  rewrite E. reflexivity.
Qed.

Lemma priced_le p z size :
  nonneg_price p -> 0 < size ->
  priced p (over z size) <= drop p + slope p size * z + bend p size * (z * z).
Proof.
  intros Hp Hs. rewrite (priced_over p z size _ Hs (Qeq_refl _)).
  pose proof (drop_nonneg p Hp). pose proof (moved_le (over z size)) as [H1 H2].
  assert (drop p * moved (over z size) <= drop p * 1)
    by (rewrite !(Qmult_comm (drop p)); now apply Qmult_le_compat_r).
  lra.
Qed.

Lemma priced_moved p z size :
  0 < size -> 0 < z ->
  priced p (over z size) == drop p + slope p size * z + bend p size * (z * z).
Proof.
  intros Hs Hz. rewrite (priced_over p z size 1 Hs).
  - lra.
  - symmetry. now apply moved_over.
Qed.

(** Where the parabola bends nothing in the price is linear, so its vertex is the stated one. *)

Lemma vertex_place p factor size b y :
  unmixed p -> 0 < size -> 0 < bend p size ->
  b == factor - slope p size \/ b == factor + slope p size ->
  2 * bend p size * y == b ->
  0 < squares p /\ y == factor * (size * size) / squares p.
Proof.
  intros Hm Hs Hb Hfactor Hy.
  assert (Hss : 0 < size * size) by nra.
  assert (Hq : squares p == 2 * bend p size * (size * size))
    by (unfold squares, bend; field; lra).
  assert (Hpos : 0 < squares p) by nra.
  split; [exact Hpos|].
  assert (Hslope : slope p size == 0).
  { unfold slope. destruct Hm as [E|[E1 E2]].
    - exfalso. unfold squares in Hpos. rewrite E in Hpos. lra.
    - rewrite E1, E2. field. lra. }
  assert (E : y * squares p == factor * (size * size)).
  { rewrite Hq. setoid_replace (y * (2 * bend p size * (size * size)))
      with (2 * bend p size * y * (size * size)) by ring.
    rewrite Hy. destruct Hfactor as [-> | ->]; rewrite Hslope; ring. }
  rewrite <- E. field. lra.
Qed.

Lemma worth_above factor p o size u w x :
  nonneg_price p -> unmixed p -> 0 < size -> u <= x -> x <= w -> o < x ->
  exists y, u <= y /\ y <= w /\ worth factor p o size x <= worth factor p o size y /\
    best_place factor p o size u w y.
Proof.
  intros Hp Hm Hs Hu Hw Ho.
  destruct (parabola_bound (bend p size) (factor - slope p size) (Qmax u o - o) (w - o) (x - o))
    as [t [H1 [H2 [H3 H4]]]].
  - now apply bend_nonneg.
  - minmax.
  - lra.
  - assert (Ht : 0 <= t) by (revert H1; minmax).
    exists (o + t). repeat split.
    + revert H1. minmax.
    + lra.
    + unfold worth.
      rewrite (priced_comp p (over (Qabs (x - o)) size) (over (x - o) size))
        by (apply over_comp, Qabs_pos; lra).
      rewrite (priced_comp p (over (Qabs (o + t - o)) size) (over t size))
        by (apply over_comp; rewrite Qabs_pos; lra).
      rewrite priced_moved by lra.
      pose proof (priced_le p t size Hp Hs). lra.
    + unfold best_place. destruct H4 as [H4 | [H4 | [H4 H5]]].
      * destruct (Qmax_cases u o) as [[_ E]|[_ E]]; rewrite E in H4.
        -- right. right. left. lra.
        -- left. lra.
      * right. left. lra.
      * right. right. right.
        destruct (vertex_place p factor size _ t Hm Hs H4 (or_introl (Qeq_refl _)) H5) as [H6 H7].
        repeat split; [exact H6 | exact Hs |]. now rewrite H7.
Qed.

Lemma worth_below factor p o size u w x :
  nonneg_price p -> unmixed p -> 0 < size -> u <= x -> x <= w -> x < o ->
  exists y, u <= y /\ y <= w /\ worth factor p o size x <= worth factor p o size y /\
    best_place factor p o size u w y.
Proof.
  intros Hp Hm Hs Hu Hw Ho.
  destruct (parabola_bound (bend p size) (factor + slope p size) (u - o) (Qmin w o - o) (x - o))
    as [t [H1 [H2 [H3 H4]]]].
  - now apply bend_nonneg.
  - lra.
  - minmax.
  - assert (Ht : t <= 0) by (revert H2; minmax).
    exists (o + t). repeat split.
    + lra.
    + revert H2. minmax.
    + unfold worth.
      rewrite (priced_comp p (over (Qabs (x - o)) size) (over (- (x - o)) size))
        by (apply over_comp, Qabs_neg; lra).
      rewrite (priced_comp p (over (Qabs (o + t - o)) size) (over (- t) size))
        by (apply over_comp; rewrite Qabs_neg; lra).
      rewrite priced_moved by lra.
      pose proof (priced_le p (- t) size Hp Hs). lra.
    + unfold best_place. destruct H4 as [H4 | [H4 | [H4 H5]]].
      * left. lra.
      * destruct (Qmin_cases w o) as [[_ E]|[_ E]]; rewrite E in H4.
        -- right. left. lra.
        -- right. right. left. lra.
      * right. right. right.
        destruct (vertex_place p factor size _ t Hm Hs H4 (or_intror (Qeq_refl _)) H5) as [H6 H7].
        repeat split; [exact H6 | exact Hs |]. now rewrite H7.
Qed.

(** Where the price is the same everywhere, an end is best. *)

Lemma end_bound factor u w x : u <= x -> x <= w ->
  exists y, u <= y /\ y <= w /\ factor * x <= factor * y /\ (y == u \/ y == w).
Proof.
  intros Hu Hw. destruct (Qlt_le_dec factor 0) as [H|H].
  - exists u. repeat split; [lra | lra | nra | now left].
  - exists w. repeat split; [lra | lra | nra | now right].
Qed.

Lemma worth_bound factor p o size u w x :
  nonneg_price p -> unmixed p -> 0 <= size -> u <= x -> x <= w ->
  exists y, u <= y /\ y <= w /\ worth factor p o size x <= worth factor p o size y /\
    best_place factor p o size u w y.
Proof.
  intros Hp Hm Hs Hu Hw. destruct (Qlt_le_dec 0 size) as [H|H].
  - destruct (Qlt_le_dec x o) as [H1|H1]; [|destruct (Qlt_le_dec o x) as [H2|H2]].
    + now apply worth_below.
    + now apply worth_above.
    + exists x. repeat split; [lra | lra | lra |]. right. right. left. lra.
  - destruct (end_bound factor u w x Hu Hw) as [y [H1 [H2 [H3 H4]]]].
    assert (E : Qeqb size 0 = true) by (apply Qeq_bool_iff; lra).
    exists y. repeat split; [exact H1 | exact H2 | |].
    + unfold worth, over. rewrite E. lra.
    + unfold best_place. tauto.
Qed.

(** ** The places *)

Lemma snap_none n a o y : absent n = None -> snap n a o y = y.
Proof. intros H. unfold snap. now rewrite H. Qed.

Lemma snap_low n a o y gone : absent n = Some gone -> y <= gone -> snap n a o y = gone.
Proof.
  intros H Hy. unfold snap. rewrite H. apply Qle_bool_iff in Hy. now rewrite Hy.
Qed.

Lemma snap_high n a o y gone :
  absent n = Some gone -> gone < y -> snap n a o y == Qmax y (first n a o).
Proof.
  intros H Hy. unfold snap. rewrite H. apply Qle_bool_false in Hy. now rewrite Hy.
Qed.

Lemma clamp_id lo hi x : lo <= x -> x <= hi -> clamp lo hi x == x.
Proof. intros H1 H2. unfold clamp. minmax. Qed.

Lemma in_places f n o factor p lo hi y z :
  (y = lo \/ y = hi \/ y = clamp lo hi o \/ y = clamp lo hi (first n (act f) o)) ->
  snap n (act f) o y == z ->
  exists z', In z' (places_of f n o factor p lo hi) /\ z' == z.
Proof.
  intros Hy Hz. exists (snap n (act f) o y). split; [|exact Hz].
  unfold places_of. apply in_map. apply in_or_app. left. simpl.
  destruct Hy as [-> | [-> | [-> | ->]]]; tauto.
Qed.

Lemma in_places_vertex f n o factor p lo hi z :
  0 < squares p -> 0 < high n - low n ->
  snap n (act f) o
    (clamp lo hi (o + factor * ((high n - low n) * (high n - low n)) / squares p)) == z ->
  exists z', In z' (places_of f n o factor p lo hi) /\ z' == z.
Proof.
  intros H1 H2 Hz. eexists. split; [|exact Hz].
  unfold places_of. apply in_map. apply in_or_app. right.
  apply Qle_bool_false in H1. apply Qle_bool_false in H2. unfold squares in *.
  cbv zeta. rewrite H1, H2. simpl. tauto.
Qed.

(** Where [snap] changes nothing from [u] on, and [u] is a place, so is the best one. *)

Lemma best_in_places f n o factor p lo hi u y :
  lo <= u -> u <= y -> y <= hi ->
  (forall z, u <= z -> z <= hi -> forall z', z' == z -> snap n (act f) o z' == z) ->
  (exists z', In z' (places_of f n o factor p lo hi) /\ z' == u) ->
  best_place factor p o (high n - low n) u hi y ->
  exists z', In z' (places_of f n o factor p lo hi) /\ z' == y.
Proof.
  intros Hlo Hu Hhi Hsnap Hplace [H | [H | [H | [H1 [H2 H3]]]]].
  - destruct Hplace as [z' [H1 H2]]. exists z'. split; [exact H1 | lra].
  - apply in_places with (y := hi); [tauto|]. apply Hsnap; lra.
  - apply in_places with (y := clamp lo hi o); [tauto|].
    apply Hsnap; [lra | lra |]. rewrite clamp_id; lra.
  - apply in_places_vertex; [exact H1 | exact H2 |].
    apply Hsnap; [lra | lra |]. rewrite clamp_id; lra.
Qed.

(** Equal numbers are worth the same. *)

Lemma number_worth_comp f factor p x y :
  x == y -> factor * x - priced p (change f (Num x)) == factor * y - priced p (change f (Num y)).
Proof.
  intros H. rewrite (priced_comp p _ _ (change_comp f x y H)). now rewrite H.
Qed.

Lemma change_number f n o x :
  shape f = Numbers n -> own f = Num o -> is_absent n x = is_absent n o ->
  change f (Num x) = over (Qabs (x - o)) (high n - low n).
Proof.
  intros H1 H2 H3. unfold change. rewrite H1, H2, H3. now rewrite Bool.eqb_reflx.
Qed.

Lemma change_absent f n o x :
  shape f = Numbers n -> own f = Num o -> is_absent n x = negb (is_absent n o) ->
  change f (Num x) = 1.
Proof.
  intros H1 H2 H3. unfold change. rewrite H1, H2, H3. destruct (is_absent n o); reflexivity.
Qed.

(** If no number stands for a missing one. *)

Lemma number_bound_plain f n o factor p lo hi x :
  shape f = Numbers n -> own f = Num o -> absent n = None -> low n <= high n ->
  nonneg_price p -> unmixed p -> lo <= x -> x <= hi ->
  exists y, In y (places_of f n o factor p lo hi) /\
    factor * x - priced p (change f (Num x)) <= factor * y - priced p (change f (Num y)).
Proof.
  intros Hf Ho Ha Hr Hp Hm Hlo Hhi.
  assert (Hn : forall z, is_absent n z = false) by (intros z; unfold is_absent; now rewrite Ha).
  destruct (worth_bound factor p o (high n - low n) lo hi x) as [y [H1 [H2 [H3 H4]]]];
    [assumption | assumption | lra | assumption | assumption |].
  destruct (best_in_places f n o factor p lo hi lo y) as [y' [H5 H6]];
    [lra | assumption | assumption | | | assumption |].
  - intros z _ _ z' E. now rewrite snap_none.
  - apply in_places with (y := lo); [tauto|]. now rewrite snap_none.
  - exists y'. split; [exact H5|]. rewrite (number_worth_comp f factor p y' y H6).
    rewrite !(change_number f n o) by (assumption || now rewrite !Hn). exact H3.
Qed.

(** If [a] does: the numbers of the range are those from [u] on. *)

Lemma range_start f n o a factor p lo hi :
  absent n = Some a -> a < first n (act f) o -> first n (act f) o <= hi ->
  exists z', In z' (places_of f n o factor p lo hi) /\ z' == Qmax lo (first n (act f) o).
Proof.
  intros Ha Hf Hhi. destruct (Qlt_le_dec a lo) as [H|H].
  - apply in_places with (y := lo); [tauto|]. now rewrite (snap_high n (act f) o lo a).
  - apply in_places with (y := clamp lo hi (first n (act f) o)); [tauto|].
    assert (E : clamp lo hi (first n (act f) o) == first n (act f) o) by (apply clamp_id; lra).
    rewrite (snap_high n (act f) o _ a) by (assumption || lra).
    rewrite E. minmax.
Qed.

Lemma snap_range n act o a lo hi z :
  absent n = Some a -> a < first n act o -> Qmax lo (first n act o) <= z -> z <= hi ->
  forall z', z' == z -> snap n act o z' == z.
Proof.
  intros Ha Hf Hz _ z' E. assert (first n act o <= z) by (revert Hz; minmax).
  rewrite (snap_high n act o z' a) by (assumption || lra). minmax.
Qed.

Lemma number_bound_range f n o a factor p lo hi x :
  shape f = Numbers n -> own f = Num o -> absent n = Some a -> low n <= high n ->
  a < first n (act f) o -> first n (act f) o <= x ->
  nonneg_price p -> unmixed p -> lo <= x -> x <= hi ->
  exists y, In y (places_of f n o factor p lo hi) /\
    factor * x - priced p (change f (Num x)) <= factor * y - priced p (change f (Num y)).
Proof.
  intros Hf Ho Ha Hr Hfirst Hx Hp Hm Hlo Hhi.
  set (u := Qmax lo (first n (act f) o)).
  assert (Hu : lo <= u /\ first n (act f) o <= u /\ u <= x) by (unfold u; minmax).
  assert (Hn : forall z, u <= z -> is_absent n z = false).
  { intros z Hz. unfold is_absent. rewrite Ha. apply Qeqb_false. lra. }
  pose proof (fun z => snap_range n (act f) o a lo hi z Ha Hfirst) as Hsnap. fold u in Hsnap.
  pose proof (range_start f n o a factor p lo hi Ha Hfirst ltac:(lra)) as Hplace. fold u in Hplace.
  assert (Hbest : exists y, u <= y /\ y <= hi /\
    factor * x - priced p (change f (Num x)) <= factor * y - priced p (change f (Num y)) /\
    best_place factor p o (high n - low n) u hi y).
  { destruct (is_absent n o) eqn:Eo.
    - destruct (end_bound factor u hi x) as [y [H1 [H2 [H3 H4]]]]; [lra | lra |].
      exists y. repeat split; [exact H1 | exact H2 | |].
      + rewrite !(change_absent f n o) by (assumption || (rewrite Eo, Hn by lra; reflexivity)). lra.
      + unfold best_place. tauto.
    - destruct (worth_bound factor p o (high n - low n) u hi x) as [y [H1 [H2 [H3 H4]]]];
        [assumption | assumption | lra | lra | lra |].
      exists y. repeat split; [exact H1 | exact H2 | | exact H4].
      rewrite !(change_number f n o) by (assumption || (rewrite Eo, Hn by lra; reflexivity)).
      exact H3. }
  destruct Hbest as [y [H1 [H2 [H3 H4]]]].
  destruct (best_in_places f n o factor p lo hi u y) as [y' [H5 H6]];
    [lra | assumption | assumption | exact Hsnap | exact Hplace | assumption |].
  exists y'. split; [exact H5|]. now rewrite (number_worth_comp f factor p y' y H6).
Qed.

Lemma number_bound_absent f n o a factor p lo hi x :
  absent n = Some a -> x == a -> lo <= x ->
  exists y, In y (places_of f n o factor p lo hi) /\
    factor * x - priced p (change f (Num x)) <= factor * y - priced p (change f (Num y)).
Proof.
  intros Ha Hx Hlo. destruct (in_places f n o factor p lo hi lo a) as [y [H1 H2]].
  - tauto.
  - rewrite (snap_low n (act f) o lo a) by (assumption || lra). reflexivity.
  - exists y. split; [exact H1|]. rewrite (number_worth_comp f factor p y x) by lra. lra.
Qed.

(** The least number of the range lies above the one that stands for a missing one. *)

Lemma absent_below_first f n o a :
  shape f = Numbers n -> own f = Num o -> well_formed f -> absent n = Some a ->
  a < first n (act f) o.
Proof.
  intros Hf Ho Hw Ha. unfold well_formed in Hw. rewrite Hf, Ho, Ha in Hw.
  destruct Hw as [_ [_ [Hown [[H1 [H2 H3]] _]]]].
  unfold first. rewrite H2. destruct (act f).
  - exact H1.
  - contradiction.
  - destruct (gone n o); lra.
  - exact H1.
Qed.

Theorem number_bound f n o factor p lo hi x :
  shape f = Numbers n -> own f = Num o -> well_formed f -> admissible_value f (Num x) ->
  lo <= x -> x <= hi -> nonneg_price p -> unmixed p ->
  exists y, In y (places_of f n o factor p lo hi) /\
    factor * x - priced p (change f (Num x)) <= factor * y - priced p (change f (Num y)).
Proof.
  intros Hf Ho Hw Hx Hlo Hhi Hp Hm.
  assert (Hr : low n <= high n).
  { unfold well_formed in Hw. rewrite Hf, Ho in Hw. tauto. }
  destruct (absent n) as [a|] eqn:Ha.
  - unfold admissible_value in Hx. rewrite Hf, Ho in Hx.
    destruct Hx as [Hx | [Hx _]].
    + unfold is_absent in Hx. rewrite Ha in Hx. apply Qeq_bool_iff in Hx.
      now apply number_bound_absent with (a := a).
    + apply number_bound_range with (a := a); try assumption.
      now apply absent_below_first.
  - now apply number_bound_plain.
Qed.
