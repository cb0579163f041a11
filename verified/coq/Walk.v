(** * The proof covers the ball, and each of its parts is closed *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool Lqa Lia.
From Cfxc Require Import Semantics Features FeaturesProofs Payments PaymentsProofs Forms Checker
  Sums Balls Ranges Inequalities Pieces Most.
Import ListNotations.
Open Scope Q_scope.

(** A proof holds lists of proofs: what holds of all in them. *)

Section Induction.

Variable holds : proof -> Prop.
Hypothesis cut : forall j a l r, holds l -> holds r -> holds (Cut j a l r).
Hypothesis split : forall j i l r, holds l -> holds r -> holds (Split j i l r).
Hypothesis signs : forall k l r, holds l -> holds r -> holds (Signs k l r).
Hypothesis at_ : forall k a l r, holds l -> holds r -> holds (At k a l r).
Hypothesis hulls : forall each, Forall holds each -> holds (Hulls each).
Hypothesis close : forall r, holds (Close r).

Fixpoint proof_induction (p : proof) : holds p :=
  match p with
  | Cut j a l r => cut j a l r (proof_induction l) (proof_induction r)
  | Split j i l r => split j i l r (proof_induction l) (proof_induction r)
  | Signs k l r => signs k l r (proof_induction l) (proof_induction r)
  | At k a l r => at_ k a l r (proof_induction l) (proof_induction r)
  | Hulls each =>
      hulls each ((fix all (each : list proof) : Forall holds each :=
                     match each with
                     | [] => Forall_nil _
                     | p :: each => Forall_cons p (proof_induction p) (all each)
                     end) each)
  | Close r => close r
  end.

End Induction.

Section Walk.

Context {Curves : functions}.
Variables (c : context) (x : point) (zs : list Q) (in_hull : nat -> Prop).
Hypothesis G : given c x.
Hypothesis Cuts : forallb (forallb cuts_ok) (trees (prg c)) = true.
Hypothesis Z : forall k e, nth_error (made (prg c)) k = Some e -> z_of zs k == entry_at (prg c) x zs e.
Hypothesis True_ : true_to Curves (prg c).

Notation v := (source_at (prg c) x zs).

Hypothesis Rows : forall f s, In (f, s) (rows c) -> 0 <= worth v f /\ (s = true -> 0 < worth v f).
Hypothesis Faces : forall h f, In (h, f) (faces c) -> in_hull h -> 0 <= worth v f.

Variable truths : list truth.
Hypothesis Judged : forall upto t, In t truths ->
  (forall f w, upto f = Some w -> worth v f <= w) -> snd (judge upto t) = true.

Variable bounds : list bound.
Hypothesis Bounds : Forall (bound_holds zs) bounds.

Variable number : nat.
Hypothesis Some_hull : (number <> 0)%nat -> exists h, (h < number)%nat /\ in_hull h.

Lemma no_multipliers_ok : multipliers_ok c no_multipliers = true.
Proof.
  unfold multipliers_ok, no_multipliers. cbn [budget ineqs peaked shared].
  repeat (apply andb_true_iff; split); reflexivity.
Qed.

Lemma contradicts_false facts known parts :
  facts_hold zs in_hull facts -> spans_hold zs known -> in_parts x parts ->
  contradicts c facts known parts truths = true -> False.
Proof.
  intros F K P. unfold contradicts. intro H. apply existsb_exists in H as (t & I & H).
  rewrite Judged in H; [discriminate|exact I|].
  intros f w E.
  destruct (most_sound c x zs in_hull G facts known parts F K P Cuts Z True_ Rows Faces
              no_multipliers no_multipliers_ok None f w E (or_introl eq_refl))
    as (gain & G0 & _ & L).
  cbn [budget no_multipliers] in L. lra.
Qed.

Lemma closes_false r parts facts :
  facts_hold zs in_hull facts -> in_parts x parts -> closes c truths bounds r parts facts = true -> False.
Proof.
  intros F P. unfold closes.
  destruct (inside c parts) as [| |near_parts] eqn:E; [discriminate| |].
  { intros _. apply (inside_closed c x G parts P E). }
  pose proof (inside_known c x G parts near_parts P E) as P'.
  destruct (deltas_sound c x G near_parts P') as (near & -> & B).
  assert (Main : match spans_of c facts near_parts near bounds [] (length (made (prg c))) with
          | Refused => True | Closed => False | Known known => spans_hold zs known end).
  { apply (spans_of_sound c x zs in_hull G True_ facts near_parts near F P' B Cuts Z bounds Bounds).
    intros k lo hi H. destruct k; discriminate. }
  destruct r as [| |by_]; [discriminate| |];
    destruct (spans_of _ _ _ _ _ _ _) as [| |known]; try discriminate; try contradiction.
  - apply contradicts_false; assumption.
  - intro H. unfold outweighs in H. assert (Ok : multipliers_ok c by_ = true) by (apply andb_true_iff in H; tauto).
    apply (outweighs_false c x zs in_hull G facts known near_parts F Main P' Cuts Z True_ Rows Faces by_ Ok H).
Qed.

Lemma split_number parts j f at_ a b :
  is_double at_ = true -> in_parts x parts -> nth_error (feats c) j = Some f ->
  split_feature c parts j (fun f p => sides_at f p at_) = Some (a, b) ->
  in_parts x a \/ in_parts x b.
Proof.
  intros D P Ef. unfold split_feature. rewrite Ef.
  destruct (nth_error parts j) as [p|] eqn:Ep; [|discriminate].
  destruct (sides_at f p at_) as [[l r]|] eqn:E; [|discriminate].
  intro H. apply pair_inj in H as [<- <-].
  destruct (admissible_nth c x G j f Ef) as (w & Ew & Wf & Aw).
  pose proof (in_parts_nth x parts j w p P Ew Ep) as I.
  destruct (is_number f w p l r at_ Wf Aw I E) as [q ->].
  pose proof (sides_at_sound f p at_ l r q Wf D Aw I E) as S.
  destruct (Qle_bool q at_); [left|right]; (apply forall2_update with (Num q); auto).
Qed.

Lemma split_label parts j f ls a b :
  in_parts x parts -> nth_error (feats c) j = Some f ->
  split_feature c parts j (fun _ p => sides_among p ls) = Some (a, b) ->
  in_parts x a \/ in_parts x b.
Proof.
  intros P Ef. unfold split_feature. rewrite Ef.
  destruct (nth_error parts j) as [p|] eqn:Ep; [|discriminate].
  destruct (sides_among p ls) as [[l r]|] eqn:E; [|discriminate].
  intro H. apply pair_inj in H as [<- <-].
  destruct (admissible_nth c x G j f Ef) as (w & Ew & Wf & Aw).
  pose proof (in_parts_nth x parts j w p P Ew Ep) as I.
  destruct (is_label w p ls l r I E) as [i ->].
  pose proof (sides_among_sound p ls l r i I E) as S.
  destruct (existsb (Nat.eqb i) ls); [left|right]; (apply forall2_update with (Lab i); auto).
Qed.

Theorem walk_false p : forall parts facts,
  facts_hold zs in_hull facts -> in_parts x parts ->
  walk c truths bounds number p parts facts = true -> False.
Proof.
  induction p as [j a l r IHl IHr|j i l r IHl IHr|k l r IHl IHr|k a l r IHl IHr|each IH|r]
    using proof_induction; intros parts facts F P; cbn [walk].
  - intro H. apply andb_true_iff in H as [D H].
    destruct (nth_error (feats c) j) as [f|] eqn:Ef.
    2:{ unfold split_feature in H. rewrite Ef in H. discriminate. }
    destruct (split_feature _ _ _ _) as [[pa pb]|] eqn:E; [|discriminate].
    apply andb_true_iff in H as [H1 H2].
    destruct (split_number parts j f a pa pb D P Ef E) as [S|S]; eauto.
  - destruct (nth_error (feats c) j) as [f|] eqn:Ef.
    2:{ unfold split_feature. rewrite Ef. discriminate. }
    destruct (split_feature _ _ _ _) as [[pa pb]|] eqn:E; [|discriminate].
    intro H. apply andb_true_iff in H as [H1 H2].
    destruct (split_label parts j f [i] pa pb P Ef E) as [S|S]; eauto.
  - intro H. apply andb_true_iff in H as [H H2]. apply andb_true_iff in H as [_ H1].
    destruct (Qlt_le_dec (z_of zs k) 0) as [S|S].
    + apply (IHl parts (Sign k false :: facts)); auto. constructor; [|exact F]. cbn. lra.
    + apply (IHr parts (Sign k true :: facts)); auto. constructor; [|exact F]. exact S.
  - intro H. apply andb_true_iff in H as [H H2]. apply andb_true_iff in H as [_ H1].
    destruct (Qlt_le_dec a (z_of zs k)) as [S|S].
    + apply (IHr parts (Beyond k a :: facts)); auto. constructor; [exact S|exact F].
    + apply (IHl parts (AtMost k a :: facts)); auto. constructor; [exact S|exact F].
  - intro H. apply andb_true_iff in H as [H H2]. apply andb_true_iff in H as [H0 H1].
    apply negb_true_iff, Nat.eqb_neq in H0. apply Nat.eqb_eq in H1.
    destruct (Some_hull H0) as (h & Lh & Ih). rewrite <- H1 in Lh.
    clear H1 H0.
    assert (Gen : forall each n, Forall (fun p => forall parts facts, facts_hold zs in_hull facts ->
        in_parts x parts -> walk c truths bounds number p parts facts = true -> False) each ->
      (fix all (h : nat) (each : list proof) : bool :=
         match each with
         | [] => true
         | p :: each => walk c truths bounds number p parts (Within h :: facts) && all (S h) each
         end) n each = true ->
      (n <= h)%nat -> (h < n + length each)%nat -> False).
    { clear -F P Ih. induction each as [|p each IHe]; intros n Fa H Le Lt; [cbn in Lt; lia|].
      apply andb_true_iff in H as [Hp Hs]. inversion Fa as [|? ? Hd Tl]; subst.
      destruct (Nat.eq_dec n h) as [E|E].
      - subst n. apply (Hd parts (Within h :: facts)); auto. constructor; [exact Ih|exact F].
      - apply (IHe (S n) Tl Hs); [lia|cbn in Lt; lia]. }
    apply (Gen each 0%nat IH H2); lia.
  - intro H. apply (closes_false r parts facts F P H).
Qed.

End Walk.

(** ** Lemma 12: bounds of what is made *)

Section Learn.

Context {Curves : functions}.
Variables (c : context) (x : point) (zs : list Q) (in_hull : nat -> Prop).
Hypothesis G : given c x.
Hypothesis Cuts : forallb (forallb cuts_ok) (trees (prg c)) = true.
Hypothesis Z : forall k e, nth_error (made (prg c)) k = Some e -> z_of zs k == entry_at (prg c) x zs e.
Hypothesis True_ : true_to Curves (prg c).

Notation v := (source_at (prg c) x zs).

Hypothesis Rows : forall f s, In (f, s) (rows c) -> 0 <= worth v f /\ (s = true -> 0 < worth v f).
Hypothesis Faces : forall h f, In (h, f) (faces c) -> in_hull h -> 0 <= worth v f.

Variables (parts : list part) (near : list Q) (facts : list fact).
Hypothesis P : in_parts x parts.
Hypothesis B : below near (changes (feats c) x).
Hypothesis F : facts_hold zs in_hull facts.

Lemma spans_hold_firstn known n : spans_hold zs known -> spans_hold zs (firstn n known).
Proof.
  intros K k lo hi E. apply (K k lo hi). clear K.
  revert k known E. induction n as [|n IH]; intros k known E; [destruct k; discriminate|].
  destruct known as [|s known]; [destruct k; discriminate|].
  destruct k as [|k]; [exact E|]. apply (IH k known E).
Qed.

Lemma shows_sound before l earlier :
  spans_hold zs before -> Forall (bound_holds zs) earlier ->
  match shows c parts near facts before l earlier with
  | Refused => True
  | Closed => False
  | Known known => spans_hold zs known /\ bound_holds zs (states l)
  end.
Proof.
  intros K Bs. unfold shows. set (k := of_ (states l)).
  set (upto := match trees (prg c) with [] => S k | _ => length (made (prg c)) end).
  assert (Main : match spans_of c facts parts near earlier (firstn k before) upto with
          | Refused => True | Closed => False | Known known => spans_hold zs known end).
  { apply (spans_of_sound c x zs in_hull G True_ facts parts near F P B Cuts Z earlier Bs).
    apply spans_hold_firstn. exact K. }
  destruct (spans_of _ _ _ _ _ _ _) as [| |known]; auto.
  destruct (side_form c (states l)) as [z|] eqn:E; [|exact I].
  destruct (multipliers_ok c (shown_by l) && _) eqn:H; [|exact I].
  split; [exact Main|].
  apply andb_true_iff in H as [Ok H].
  destruct (most c facts known parts (shown_by l) None z) as [w|] eqn:M; [|discriminate].
  apply Qle_bool_true in H.
  destruct (most_sound c x zs in_hull G facts known parts F Main P Cuts Z True_ Rows Faces
              (shown_by l) Ok None z w M (or_introl eq_refl)) as (gain & G0 & _ & Le).
  assert (Pos : 0 <= budget (shown_by l) * (radius c - away_x c x)).
  { apply Qmult_le_0_compat; [apply (ok_budget c _ Ok)|]. pose proof (g_near _ _ G). unfold away_x. lra. }
  unfold side_form in E. destruct (inner (prg c) (of_ (states l))) as [i|] eqn:Ei; [|discriminate].
  apply some_inj in E. subst z. rewrite worth_scale, (inner_worth c x zs Z _ _ Ei) in Le.
  unfold bound_holds. destruct (upward (states l)); lra.
Qed.

Theorem learn_sound ls : forall before earlier,
  spans_hold zs before -> Forall (bound_holds zs) earlier ->
  match learn c parts near facts before ls earlier with
  | Refused => True
  | Closed => False
  | Known bounds => Forall (bound_holds zs) bounds
  end.
Proof.
  induction ls as [|l ls IH]; intros before earlier K Bs; cbn [learn]; [exact Bs|].
  pose proof (shows_sound before l earlier K Bs) as S.
  destruct (shows c parts near facts before l earlier) as [| |known]; [exact I|contradiction|].
  destruct S as [S1 S2]. apply IH; [apply spans_hold_firstn; exact S1|].
  constructor; assumption.
Qed.

End Learn.
