(** * The outcome at a point, between two numbers where functions are smooth *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool Lqa Lia.
From Cfxc Require Import Semantics Features FloatsProofs FeaturesProofs Forms Payments Checker Rows
  Scopes Sums Ranges.
Import ListNotations.
Open Scope Q_scope.

Definition just (q : Q) : between := Some (q, q).

(** Of a tree, the leaf that is reached, if it is clear which. *)

Fixpoint leaf_at (t : tree) (x : point) (zs : spans) : option (list Q) :=
  match t with
  | Leaf vs => Some vs
  | Number j cut l r => if Qle_bool (number_at x j) cut then leaf_at l x zs else leaf_at r x zs
  | Label j ls l r => if among_labels x j ls then leaf_at l x zs else leaf_at r x zs
  | Test k cut l r =>
      match nth_error zs k with
      | Some (lo, hi) =>
          if Qle_bool hi cut then leaf_at l x zs
          else if Qltb cut lo then leaf_at r x zs else None
      | None => None
      end
  end.

Definition source_between (p : program) (x : point) (zs : spans) (s : source) : between :=
  match s with
  | One => just 1
  | X j => just (number_at x j)
  | Is j i => just (if has_label x j i then 1 else 0)
  | Column n c =>
      sum_between (map (fun t => match leaf_at t x zs with
                                 | Some vs => just (nth c vs 0)
                                 | None => None
                                 end) (nth n (trees p) []))
  | Made k =>
      match nth_error (made p) k, nth_error zs k with
      | Some e, Some b => images e b
      | _, _ => None
      end
  end.

Definition form_between (p : program) (x : point) (zs : spans) (f : form) : between :=
  sum_between (map (fun t => times (snd t) (source_between p x zs (fst t))) f).

Definition entry_between (p : program) (x : point) (zs : spans) (e : entry) : between :=
  match e with
  | Image _ f => form_between p x zs f
  | Product i m =>
      match nth_error zs i, nth_error zs m with
      | Some u, Some v => extreme (map (fun c => fst c * snd c) (corners false u v 0))
      | _, _ => None
      end
  end.

Fixpoint spots_from (p : program) (x : point) (es : list entry) (zs : spans) : option spans :=
  match es with
  | [] => Some zs
  | e :: es =>
      match entry_between p x zs e with
      | Some b => spots_from p x es (zs ++ [b])
      | None => None
      end
  end.

(** The z of all entries. *)

Definition spots (p : program) (x : point) : option spans := spots_from p x (made p) [].

Definition not_above (p : program) (x : point) (zs : spans) (f : form) : option Q :=
  match form_between p x zs f with Some (_, hi) => Some hi | None => None end.

(** Whether the target is surely reached, and a condition surely true. *)

Definition wins (p : program) (zs : spans) (t : target) (slack : Q) (x : point) : bool :=
  forallb (fun row => surely (not_above p x zs) (fst row) (snd row)) (target_rows p t slack).

Definition surely_true (p : program) (zs : spans) (x : point) (t : truth) : bool :=
  fst (judge (not_above p x zs) t).

(** ** They are right *)

Section Witness.

Context {Curves : functions}.
Variables (p : program) (x : point).
Hypothesis True_ : true_to Curves p.

Notation zs := (zs_of p x).
Notation v := (source_at p x zs).

Variable known : spans.
Hypothesis K : spans_hold zs known.

Lemma leaf_at_reached t vs : leaf_at t x known = Some vs -> reached t x zs = vs.
Proof.
  induction t as [ws|j c l IHl r IHr|j a l IHl r IHr|k c l IHl r IHr]; cbn [leaf_at reached].
  - apply some_inj.
  - destruct (Qle_bool _ _); assumption.
  - destruct (among_labels _ _ _); assumption.
  - destruct (nth_error known k) as [[lo hi]|] eqn:E; [|discriminate].
    destruct (K k lo hi E) as [L H]. unfold z_of in *.
    destruct (Qle_bool hi c) eqn:A; [|destruct (Qltb c lo) eqn:B; [|discriminate]]; compare_all.
    + replace (Qle_bool (nth k zs 0) c) with true by (symmetry; apply Qle_bool_true; lra). exact IHl.
    + replace (Qle_bool (nth k zs 0) c) with false by (symmetry; apply Qle_bool_false; lra). exact IHr.
Qed.

Lemma just_lies q : lies q (just q).
Proof. cbn. split; apply Qle_refl. Qed.

Lemma source_lies s : lies (v s) (source_between p x known s).
Proof.
  destruct s as [| j | j i | n c | k]; cbn [source_between source_at]; try apply just_lies.
  - unfold column. apply lies_sum. intros t _.
    destruct (leaf_at t x known) as [vs|] eqn:E; [|exact I].
    rewrite (leaf_at_reached t vs E). apply just_lies.
  - destruct (nth_error (made p) k) as [e|] eqn:E; [|exact I].
    destruct (nth_error known k) as [[lo hi]|] eqn:S; [|exact I].
    destruct (K k lo hi S). apply (images_lie p k); assumption.
Qed.

Lemma form_lies f : lies (worth v f) (form_between p x known f).
Proof. unfold worth, form_between. apply lies_sum. intros t _. apply lies_times, source_lies. Qed.

Lemma entry_lies e : lies (entry_at p x zs e) (entry_between p x known e).
Proof.
  destruct e as [c f|i m]; cbn [entry_at entry_between]; [apply form_lies|].
  destruct (nth_error known i) as [[a b]|] eqn:Ei; [|exact I].
  destruct (nth_error known m) as [[l h]|] eqn:Em; [|exact I].
  destruct (K i a b Ei) as [A1 A2]. destruct (K m l h Em) as [L1 L2].
  apply product_lies; try assumption. discriminate.
Qed.

Lemma not_above_holds f w : not_above p x known f = Some w -> worth v f <= w.
Proof.
  unfold not_above. pose proof (form_lies f) as L.
  destruct (form_between p x known f) as [[lo hi]|]; [|discriminate].
  intro H. apply some_inj in H. subst. apply L.
Qed.

Lemma wins_sound t slack_ :
  match t with Between _ _ => True | Wins o _ _ => (o < length (outputs p))%nat end ->
  wins p known t slack_ x = true -> in_target p t slack_ x.
Proof.
  intros O H. unfold wins in H. rewrite forallb_forall in H.
  apply target_rows_suffice; [exact O|]. intros f s I. specialize (H (f, s) I). cbn [fst snd] in H.
  unfold surely in H. destruct (not_above p x known (scale (-1) f)) as [w|] eqn:E; [|discriminate].
  apply not_above_holds in E. rewrite worth_scale in E.
  apply negb_true_iff in H. unfold misses in H. apply orb_false_iff in H as [H1 H2]. compare_all.
  split; [lra|]. intros ->. cbn [andb] in H2. compare_all. lra.
Qed.

Lemma surely_true_sound t : surely_true p known x t = true -> true_at p x t = true.
Proof. apply judge_sound. apply not_above_holds. Qed.

End Witness.

Section Spots.

Context {Curves : functions}.
Variables (p : program) (x : point).
Hypothesis True_ : true_to Curves p.
Hypothesis Scoped : scoped p = true.

Lemma spots_from_hold es : forall known more,
  spans_hold (zs_of p x) known ->
  (forall i e, nth_error es i = Some e -> nth_error (made p) (length known + i) = Some e) ->
  spots_from p x es known = Some more -> spans_hold (zs_of p x) more.
Proof.
  induction es as [|e es IH]; intros known more K E; cbn [spots_from].
  - intro H. apply some_inj in H. subst. exact K.
  - pose proof (entry_lies p x True_ known K e) as L.
    destruct (entry_between p x known e) as [[lo hi]|]; [|discriminate].
    destruct (zs_fixed p x Scoped) as [_ Zf].
    pose proof (E 0%nat e eq_refl) as E0. rewrite Nat.add_0_r in E0.
    rewrite <- (Zf _ e E0) in L. destruct L as [L1 L2].
    apply IH; [apply (spans_hold_app _ known (length known)); auto|].
    intros i e' N. rewrite app_length. cbn [length].
    replace (length known + 1 + i)%nat with (length known + S i)%nat by lia. apply E. exact N.
Qed.

Lemma spots_hold known : spots p x = Some known -> spans_hold (zs_of p x) known.
Proof.
  apply spots_from_hold; [|auto]. intros k lo hi E. destruct k; discriminate.
Qed.

End Spots.
