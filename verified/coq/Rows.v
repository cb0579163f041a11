(** * Rows: what the target and constraints ask, as inequalities *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool Lqa Lia.
From Cfxc Require Import Semantics Features Payments Forms Checker Sums.
Import ListNotations.
Open Scope Q_scope.

(** A target row: a constant, and multiples of outputs, which are sorted once. *)

Definition score (sorted_outputs : list form) (constant_ : Q) (terms : list (nat * Q)) : form :=
  fold_left (fun f t => add f (snd t) (nth (fst t) sorted_outputs [])) terms (constant constant_).

Definition target_rows (p : program) (t : target) (slack : Q) : list (form * bool) :=
  let outs := map sorted (outputs p) in
  match t with
  | Between lower upper =>
      match lower with Some b => [(score outs (slack - b) [(0%nat, 1)], false)] | None => [] end ++
      match upper with Some b => [(score outs (b + slack) [(0%nat, -1)], false)] | None => [] end
  | Wins o margin least_score =>
      map (fun r => (score outs (slack - margin) [(o, 1); (r, -1)], Nat.ltb r o))
          (filter (fun r => negb (Nat.eqb r o)) (seq 0 (length (outputs p)))) ++
      match least_score with Some b => [(score outs (slack - b) [(o, 1)], false)] | None => [] end
  end.

Fixpoint rows_of_truth (t : truth) : list (form * bool) :=
  match t with
  | Nonneg f => [(sorted f, false)]
  | Positive f => [(sorted f, true)]
  | Not (Nonneg f) => [(scale (-1) (sorted f), true)]
  | Not (Positive f) => [(scale (-1) (sorted f), false)]
  | And ts => flat_map rows_of_truth ts
  | _ => []
  end.

Definition all_rows (q : question) : list (form * bool) :=
  target_rows (prog q) (goal q) (slack q) ++ flat_map rows_of_truth (constraints q).

(** ** They hold at every counterfactual *)

Section Rows.

Context {Curves : functions}.
Variables (p : program) (x : point).

Notation zs := (zs_of p x).
Notation v := (source_at p x zs).

Lemma form_value_worth f : form_value p x f = worth v f.
Proof. reflexivity. Qed.

Lemma constant_worth a : worth v (constant a) == a.
Proof. unfold constant, one_term. rewrite worth_cons. unfold worth. cbn. lra. Qed.

Lemma sorted_output r : worth v (nth r (map sorted (outputs p)) []) == output p x r.
Proof.
  change (@nil (source * Q)) with (sorted []). rewrite map_nth, worth_sorted. reflexivity.
Qed.

Lemma score_worth a l :
  worth v (score (map sorted (outputs p)) a l) == a + sum (map (fun t => snd t * output p x (fst t)) l).
Proof.
  unfold score.
  assert (H : forall f, worth v (fold_left (fun f t => add f (snd t) (nth (fst t) (map sorted (outputs p)) [])) l f)
              == worth v f + sum (map (fun t => snd t * output p x (fst t)) l)).
  { induction l as [|[r b] l IH]; intro f; cbn [fold_left map].
    - rewrite sum_nil. lra.
    - rewrite IH, worth_add, sorted_output, sum_cons. cbn [fst snd]. lra. }
  rewrite H, constant_worth. reflexivity.
Qed.

Lemma target_rows_hold t slack_ f s : in_target p t slack_ x -> In (f, s) (target_rows p t slack_) ->
  0 <= worth v f /\ (s = true -> 0 < worth v f).
Proof.
  destruct t as [lower upper|o margin least_score]; cbn [in_target target_rows]; cbv zeta; intros H I.
  - destruct H as [A B]. apply in_app_or in I as [I|I].
    + destruct lower as [b|]; [|destruct I]. destruct I as [I|[]]. injection I as <- <-.
      rewrite score_worth. cbn [map fst snd]. rewrite sum_cons, sum_nil. cbn [at_least] in A.
      split; [lra|discriminate].
    + destruct upper as [b|]; [|destruct I]. destruct I as [I|[]]. injection I as <- <-.
      rewrite score_worth. cbn [map fst snd]. rewrite sum_cons, sum_nil.
      split; [lra|discriminate].
  - destruct H as [A B]. apply in_app_or in I as [I|I].
    + apply in_map_iff in I as (r & E & I). injection E as <- <-.
      apply filter_In in I as [I N]. apply in_seq in I. apply negb_true_iff, Nat.eqb_neq in N.
      specialize (B r ltac:(lia) N). cbv zeta in B.
      rewrite score_worth. cbn [map fst snd]. rewrite !sum_cons, sum_nil.
      destruct (Nat.ltb r o); split; intros; lra || discriminate.
    + destruct least_score as [b|]; [|destruct I]. destruct I as [I|[]]. injection I as <- <-.
      rewrite score_worth. cbn [map fst snd]. rewrite sum_cons, sum_nil. cbn [at_least] in A.
      split; [lra|discriminate].
Qed.

(** And where all do, the target is reached. *)

Lemma target_rows_suffice t slack_ :
  match t with Between _ _ => True | Wins o _ _ => (o < length (outputs p))%nat end ->
  (forall f s, In (f, s) (target_rows p t slack_) ->
     0 <= worth v f /\ (s = true -> 0 < worth v f)) ->
  in_target p t slack_ x.
Proof.
  intros O H. destruct t as [lower upper|o margin least_score]; cbn [in_target target_rows] in *.
  - split.
    + destruct lower as [b|]; [|exact I]. cbn [at_least].
      destruct (H _ _ (or_introl eq_refl)) as [A _].
      rewrite score_worth in A. cbn [map fst snd] in A. rewrite sum_cons, sum_nil in A. lra.
    + destruct upper as [b|]; [|exact I].
      destruct (H _ _ (in_or_app _ [_] _ (or_intror (or_introl eq_refl)))) as [A _].
      rewrite score_worth in A. cbn [map fst snd] in A. rewrite sum_cons, sum_nil in A. lra.
  - split.
    + destruct least_score as [b|]; [|exact I]. cbn [at_least].
      destruct (H _ _ (in_or_app _ [_] _ (or_intror (or_introl eq_refl)))) as [A _].
      rewrite score_worth in A. cbn [map fst snd] in A. rewrite sum_cons, sum_nil in A. lra.
    + intros r L N. cbv zeta.
      assert (I : In r (filter (fun r => negb (Nat.eqb r o)) (seq 0 (length (outputs p))))).
      { apply filter_In. split; [apply in_seq; lia|]. apply negb_true_iff, Nat.eqb_neq. exact N. }
      destruct (H (score (map sorted (outputs p)) (slack_ - margin) [(o, 1); (r, -1)]) (Nat.ltb r o))
        as [A B].
      { apply in_or_app. left. apply in_map_iff. exists r. split; [reflexivity|exact I]. }
      rewrite score_worth in A, B. cbn [map fst snd] in A, B. rewrite !sum_cons, sum_nil in A, B.
      destruct (Nat.ltb r o); [specialize (B eq_refl)|]; lra.
Qed.

(** Conditions hold lists of conditions: what holds of all in them. *)

Section Induction.

Variable holds : truth -> Prop.
Hypothesis nonneg : forall f, holds (Nonneg f).
Hypothesis positive : forall f, holds (Positive f).
Hypothesis not_ : forall t, holds t -> holds (Not t).
Hypothesis and_ : forall ts, Forall holds ts -> holds (And ts).
Hypothesis or_ : forall ts, Forall holds ts -> holds (Or ts).

Fixpoint truth_induction (t : truth) : holds t :=
  let all := fix all (ts : list truth) : Forall holds ts :=
    match ts with [] => Forall_nil _ | t :: ts => Forall_cons t (truth_induction t) (all ts) end in
  match t with
  | Nonneg f => nonneg f
  | Positive f => positive f
  | Not t => not_ t (truth_induction t)
  | And ts => and_ ts (all ts)
  | Or ts => or_ ts (all ts)
  end.

End Induction.

Lemma truth_rows_hold t : true_at p x t = true -> forall f s, In (f, s) (rows_of_truth t) ->
  0 <= worth v f /\ (s = true -> 0 < worth v f).
Proof.
  induction t as [g|g|t IH|ts IH|ts IH] using truth_induction; cbn [true_at rows_of_truth]; intros H f s I.
  - destruct I as [I|[]]. injection I as <- <-. rewrite worth_sorted. apply Qle_bool_true in H.
    rewrite form_value_worth in H. split; [exact H|discriminate].
  - destruct I as [I|[]]. injection I as <- <-. rewrite worth_sorted.
    apply negb_true_iff, Qle_bool_false in H. rewrite form_value_worth in H. split; lra.
  - destruct t as [g|g|t|ts|ts]; cbn [true_at] in H; try contradiction;
      destruct I as [I|[]]; injection I as <- <-; rewrite worth_scale, worth_sorted.
    + apply negb_true_iff, Qle_bool_false in H. rewrite form_value_worth in H. split; lra.
    + apply negb_true_iff, negb_false_iff, Qle_bool_true in H. rewrite form_value_worth in H.
      split; [lra|discriminate].
  - apply in_flat_map in I as (t & It & I). rewrite forallb_forall in H.
    rewrite Forall_forall in IH. apply (IH t It (H t It) f s I).
  - destruct I.
Qed.

(** ** Lemma 5: verdicts on conditions *)

Lemma forallb_map {A B} (g : B -> bool) (f : A -> B) l :
  forallb g (map f l) = forallb (fun a => g (f a)) l.
Proof. induction l as [|a l IH]; cbn; [reflexivity|]. rewrite IH. reflexivity. Qed.

Lemma existsb_map {A B} (g : B -> bool) (f : A -> B) l :
  existsb g (map f l) = existsb (fun a => g (f a)) l.
Proof. induction l as [|a l IH]; cbn; [reflexivity|]. rewrite IH. reflexivity. Qed.

Lemma judge_sound (upto : form -> option Q) t :
  (forall f w, upto f = Some w -> worth v f <= w) ->
  (fst (judge upto t) = true -> true_at p x t = true) /\
  (true_at p x t = true -> snd (judge upto t) = true).
Proof.
  intro U. induction t as [g|g|t [IH1 IH2]|ts IH|ts IH] using truth_induction; cbn [judge true_at].
  - cbn [fst snd]. split.
    + unfold surely. destruct (upto (scale (-1) g)) as [w|] eqn:E; [|discriminate].
      apply U in E. rewrite worth_scale in E. intro H. apply negb_true_iff in H.
      unfold misses in H. apply orb_false_iff in H as [H _]. apply Qltb_false in H.
      apply Qle_bool_true. rewrite form_value_worth. lra.
    + intro H. apply Qle_bool_true in H. rewrite form_value_worth in H.
      unfold perhaps. destruct (upto g) as [w|] eqn:E; [|reflexivity]. apply U in E.
      unfold misses. cbn [andb]. rewrite orb_false_r. apply negb_true_iff, Qltb_false. lra.
  - cbn [fst snd]. split.
    + unfold surely. destruct (upto (scale (-1) g)) as [w|] eqn:E; [|discriminate].
      apply U in E. rewrite worth_scale in E. intro H. apply negb_true_iff in H.
      unfold misses in H. apply orb_false_iff in H as [_ H]. cbn [andb] in H.
      apply Qle_bool_false in H. apply negb_true_iff, Qle_bool_false. rewrite form_value_worth. lra.
    + intro H. apply negb_true_iff, Qle_bool_false in H. rewrite form_value_worth in H.
      unfold perhaps. destruct (upto g) as [w|] eqn:E; [|reflexivity]. apply U in E.
      unfold misses. cbn [andb]. apply negb_true_iff, orb_false_iff.
      split; [apply Qltb_false; lra|apply Qle_bool_false; lra].
  - destruct (judge upto t) as [sure may]. cbn [fst snd] in *. split; intro H.
    + apply negb_true_iff in H. apply negb_true_iff.
      destruct (true_at p x t); [|reflexivity]. rewrite IH2 in H; [discriminate|reflexivity].
    + apply negb_true_iff in H. apply negb_true_iff.
      destruct sure; [|reflexivity]. rewrite IH1 in H; [discriminate|reflexivity].
  - cbv zeta. cbn [fst snd]. rewrite !forallb_map. rewrite Forall_forall in IH. split; intro H; rewrite forallb_forall in *;
      intros t I; destruct (IH t I) as [A B]; specialize (H t I); auto.
  - cbv zeta. cbn [fst snd]. rewrite !existsb_map. rewrite Forall_forall in IH. split; intro H; apply existsb_exists in H as (t & I & H);
      apply existsb_exists; exists t; destruct (IH t I) as [A B]; auto.
Qed.

End Rows.

Theorem rows_sound {Curves : functions} q x : counterfactual q x -> forall f s, In (f, s) (all_rows q) ->
  0 <= worth (source_at (prog q) x (zs_of (prog q) x)) f /\
  (s = true -> 0 < worth (source_at (prog q) x (zs_of (prog q) x)) f).
Proof.
  intros (_ & T & C & _) f s I. unfold all_rows in I. apply in_app_or in I as [I|I].
  - apply (target_rows_hold (prog q) x (goal q) (slack q)); assumption.
  - apply in_flat_map in I as (t & It & I).
    apply (truth_rows_hold (prog q) x t (C t It)). exact I.
Qed.
