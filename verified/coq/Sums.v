(** * Sums, and the least and the largest of lists *)

From Coq Require Import QArith Qabs Qminmax ZArith List Bool Lqa Lia.
From Cfxc Require Import Semantics Features.
Import ListNotations.
Open Scope Q_scope.

Lemma sum_cons a l : sum (a :: l) = a + sum l.
Proof. reflexivity. Qed.

Lemma sum_nil : sum [] = 0.
Proof. reflexivity. Qed.

Lemma sum_app l m : sum (l ++ m) == sum l + sum m.
Proof.
  induction l as [|a l IH]; cbn [app]; [rewrite sum_nil; lra|].
  rewrite !sum_cons, IH. lra.
Qed.

Lemma sum_nonneg l : Forall (fun a => 0 <= a) l -> 0 <= sum l.
Proof. induction 1; [rewrite sum_nil; lra|]. rewrite sum_cons. lra. Qed.

Lemma sum_le {A} (f g : A -> Q) l : (forall a, In a l -> f a <= g a) -> sum (map f l) <= sum (map g l).
Proof.
  induction l as [|a l IH]; intro H; cbn [map]; [rewrite sum_nil; lra|].
  rewrite !sum_cons.
  assert (f a <= g a) by (apply H; left; reflexivity).
  assert (sum (map f l) <= sum (map g l)) by (apply IH; intros; apply H; right; assumption).
  lra.
Qed.

Lemma sum_eq {A} (f g : A -> Q) l : (forall a, In a l -> f a == g a) -> sum (map f l) == sum (map g l).
Proof.
  induction l as [|a l IH]; intro H; cbn [map]; [rewrite sum_nil; lra|].
  rewrite !sum_cons.
  assert (f a == g a) by (apply H; left; reflexivity).
  assert (sum (map f l) == sum (map g l)) by (apply IH; intros; apply H; right; assumption).
  lra.
Qed.

Lemma fold_Qmin_le l a : fold_left Qmin l a <= a /\ forall b, In b l -> fold_left Qmin l a <= b.
Proof.
  revert a. induction l as [|c l IH]; intro a; cbn; [split; [lra|tauto]|].
  destruct (IH (Qmin a c)) as [H K].
  pose proof (Q.le_min_l a c). pose proof (Q.le_min_r a c).
  split; [lra|]. intros b [<-|B]; [lra|auto].
Qed.

Lemma fold_Qmax_ge l a : a <= fold_left Qmax l a /\ forall b, In b l -> b <= fold_left Qmax l a.
Proof.
  revert a. induction l as [|c l IH]; intro a; cbn; [split; [lra|tauto]|].
  destruct (IH (Qmax a c)) as [H K].
  pose proof (Q.le_max_l a c). pose proof (Q.le_max_r a c).
  split; [lra|]. intros b [<-|B]; [lra|auto].
Qed.

Lemma smallest_le l m : smallest l = Some m -> forall b, In b l -> m <= b.
Proof.
  destruct l as [|a l]; cbn; [discriminate|]. injection 1 as <-.
  destruct (fold_Qmin_le l a). intros b [<-|B]; auto.
Qed.

Lemma greatest_ge l m : greatest l = Some m -> forall b, In b l -> b <= m.
Proof.
  destruct l as [|a l]; cbn; [discriminate|]. injection 1 as <-.
  destruct (fold_Qmax_ge l a). intros b [<-|B]; auto.
Qed.

Lemma greatest_some l b : In b l -> exists m, greatest l = Some m.
Proof. destruct l; cbn; [tauto|eauto]. Qed.

(** [fold_left Qmax] keeps below what all of its members are below. *)

Lemma fold_Qmax_lub l a z : a <= z -> (forall b, In b l -> b <= z) -> fold_left Qmax l a <= z.
Proof.
  revert a. induction l as [|c l IH]; intros a A H; cbn; [assumption|].
  apply IH; [|intros; apply H; right; assumption].
  apply Q.max_lub; [assumption|apply H; left; reflexivity].
Qed.

Lemma fold_Qmin_glb l a z : z <= a -> (forall b, In b l -> z <= b) -> z <= fold_left Qmin l a.
Proof.
  revert a. induction l as [|c l IH]; intros a A H; cbn; [assumption|].
  apply IH; [|intros; apply H; right; assumption].
  apply Q.min_glb; [assumption|apply H; left; reflexivity].
Qed.

Lemma largest_nonneg l : 0 <= largest l.
Proof. induction l; cbn; [lra|]. apply Qle_trans with (largest l); [assumption|apply Q.le_max_r]. Qed.

Lemma largest_ge l a : In a l -> a <= largest l.
Proof.
  induction l as [|b l IH]; cbn; [tauto|]. intros [<-|H]; [apply Q.le_max_l|].
  apply Qle_trans with (largest l); [auto|apply Q.le_max_r].
Qed.

Lemma Qle_bool_true x y : Qle_bool x y = true <-> x <= y.
Proof. apply Qle_bool_iff. Qed.

Lemma Qle_bool_false x y : Qle_bool x y = false <-> y < x.
Proof.
  split; intro H.
  - apply Qnot_le_lt. intro K. apply Qle_bool_iff in K. congruence.
  - destruct (Qle_bool x y) eqn:E; [|reflexivity]. apply Qle_bool_iff in E. lra.
Qed.

Lemma Qltb_true x y : Qltb x y = true <-> x < y.
Proof. unfold Qltb. rewrite negb_true_iff. apply Qle_bool_false. Qed.

Lemma Qltb_false x y : Qltb x y = false <-> y <= x.
Proof. unfold Qltb. rewrite negb_false_iff. apply Qle_bool_true. Qed.

Lemma Qeqb_true x y : Qeqb x y = true <-> x == y.
Proof. apply Qeq_bool_iff. Qed.

Lemma Qeqb_false x y : Qeqb x y = false <-> ~ x == y.
Proof.
  unfold Qeqb. split; [apply Qeq_bool_neq|].
  intro H. destruct (Qeq_bool x y) eqn:E; [apply Qeq_bool_iff in E; contradiction|reflexivity].
Qed.

(** Hypotheses on comparisons, as statements about numbers. *)

Ltac compare_all :=
  repeat match goal with
  | H : Qle_bool _ _ = true |- _ => apply Qle_bool_true in H
  | H : Qle_bool _ _ = false |- _ => apply Qle_bool_false in H
  | H : Qltb _ _ = true |- _ => apply Qltb_true in H
  | H : Qltb _ _ = false |- _ => apply Qltb_false in H
  | H : Qeqb _ _ = true |- _ => apply Qeqb_true in H
  | H : Qeqb _ _ = false |- _ => apply Qeqb_false in H
  end.

Lemma nth_error_update {A} (l : list A) j k a :
  (j < length l)%nat ->
  nth_error (firstn j l ++ match skipn j l with [] => [] | _ :: r => a :: r end) k
  = if Nat.eqb k j then Some a else nth_error l k.
Proof.
  revert j k. induction l as [|b l IH]; intros j k J; cbn in J; [lia|].
  destruct j as [|j]; destruct k as [|k]; cbn; try reflexivity.
  apply IH. lia.
Qed.

Lemma forall2_length {A B} (R : A -> B -> Prop) l m : Forall2 R l m -> length l = length m.
Proof. induction 1; cbn; congruence. Qed.

Lemma move_down t u b : t <= 0 -> u <= b -> t * b <= t * u.
Proof. intros T U. assert (0 <= (b - u) * (- t)) by (apply Qmult_le_0_compat; lra). lra. Qed.

Lemma move_up t u a : 0 <= t -> a <= u -> t * a <= t * u.
Proof. intros T U. assert (0 <= (u - a) * t) by (apply Qmult_le_0_compat; lra). lra. Qed.

(** A linear function is least at an end. *)

Lemma least_end t u a b : a <= u -> u <= b -> exists e, (e = a \/ e = b) /\ t * e <= t * u.
Proof.
  intros A B. destruct (Qlt_le_dec t 0).
  - exists b. split; [auto|]. apply move_down; lra.
  - exists a. split; [auto|]. apply move_up; lra.
Qed.

Lemma square_nonneg t : 0 <= t * t.
Proof. destruct (Qlt_le_dec t 0); [|apply Qmult_le_0_compat; assumption].
  setoid_replace (t * t) with ((- t) * (- t)) by ring. apply Qmult_le_0_compat; lra. Qed.

Lemma some_inj {A} (a b : A) : Some a = Some b -> a = b.
Proof. congruence. Qed.

Lemma pair_inj {A B} (a c : A) (b d : B) : Some (a, b) = Some (c, d) -> a = c /\ b = d.
Proof. intro H. split; congruence. Qed.

Lemma sum_zero {A} (f : A -> Q) l : (forall a, In a l -> f a == 0) -> sum (map f l) == 0.
Proof.
  intro H. induction l as [|a l IH]; [reflexivity|]. cbn [map]. rewrite sum_cons.
  assert (f a == 0) by (apply H; left; reflexivity).
  assert (sum (map f l) == 0) by (apply IH; intros; apply H; right; assumption). lra.
Qed.

Lemma sum_scale {A} (k : Q) (f : A -> Q) l : sum (map (fun a => k * f a) l) == k * sum (map f l).
Proof.
  induction l as [|a l IH]; cbn [map]; [rewrite sum_nil; lra|]. rewrite !sum_cons, IH. lra.
Qed.

Lemma sum_plus {A} (f g : A -> Q) l : sum (map (fun a => f a + g a) l) == sum (map f l) + sum (map g l).
Proof.
  induction l as [|a l IH]; cbn [map]; [rewrite sum_nil; lra|]. rewrite !sum_cons, IH. lra.
Qed.

Lemma sum_pick k q n : forall a,
  sum (map (fun j => if Nat.eqb k j then q else 0) (seq a n))
  == if Nat.leb a k && Nat.ltb k (a + n) then q else 0.
Proof.
  induction n as [|n IH]; intro a; cbn [seq map].
  - rewrite sum_nil. destruct (Nat.leb_spec a k), (Nat.ltb_spec k (a + 0)); cbn; lra || lia.
  - rewrite sum_cons, IH.
    destruct (Nat.eqb_spec k a), (Nat.leb_spec a k), (Nat.leb_spec (S a) k),
      (Nat.ltb_spec k (S a + n)), (Nat.ltb_spec k (a + S n)); cbn; lra || lia.
Qed.
