(** * Lemma 4: leaves that a part meets, and ranges of what is made *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool Lqa Lia.
From Cfxc Require Import Semantics Lines LinesProofs Features FloatsProofs FeaturesProofs Forms Payments
  Checker Sums Balls.
Import ListNotations.
Open Scope Q_scope.

Definition number_of (v : value) : Q := match v with Num q => q | Lab _ => 0 end.
Definition labels_of (g : list (nat * Q)) (v : value) : Q :=
  match v with Lab i => factor_of i g | Num _ => 0 end.

Definition numbers_worth (xs : list Q) (y : point) : Q :=
  sum (map (fun t => fst t * number_of (snd t)) (combine xs y)).
Definition labels_worths (gs : list (list (nat * Q))) (y : point) : Q :=
  sum (map (fun t => labels_of (fst t) (snd t)) (combine gs y)).

(** ** Between two numbers *)

Definition lies (q : Q) (b : between) : Prop :=
  match b with Some (lo, hi) => lo <= q /\ q <= hi | None => True end.

Lemma images_lie {Curves : functions} p k e lo hi z : true_to Curves p ->
  nth_error (made p) k = Some e -> lo <= z -> z <= hi ->
  lies (image (curve_of e) z) (images e (lo, hi)).
Proof.
  intros True_ E L H. destruct (curve_of e) as [| | | |f] eqn:C; unfold images; rewrite C;
    cbn [fst snd lies plain image]; [| | |split; assumption|].
  - split; apply Q.max_le_compat_r; assumption.
  - destruct (Qle_bool 0 lo) eqn:A0, (Qle_bool 0 z) eqn:A1, (Qle_bool 0 hi) eqn:A2; compare_all; lra.
  - split; apply fl_mono; assumption.
  - destruct e as [c0 g|]; [|discriminate]. cbn in C. subst c0. specialize (True_ k f g E).
    destruct (value_down f lo) as [a|] eqn:A; [|exact I].
    destruct (value_up f hi) as [b|] eqn:Bq; [|exact I].
    split; [apply (value_down_sound f _ True_ lo z a A L)|apply (value_up_sound f _ True_ hi z b Bq H)].
Qed.

Section Ranges.

Context {Curves : functions}.
Variables (c : context) (x : point) (zs : list Q) (in_hull : nat -> Prop).
Hypothesis G : given c x.
Hypothesis True_ : true_to Curves (prg c).

Definition z_of (k : nat) : Q := nth k zs 0.

Definition fact_holds (f : fact) : Prop :=
  match f with
  | Sign k true => 0 <= z_of k
  | Sign k false => z_of k <= 0
  | AtMost k q => z_of k <= q
  | Beyond k q => q < z_of k
  | Within h => in_hull h
  end.

Definition facts_hold (l : list fact) : Prop := Forall fact_holds l.

Definition spans_hold (known : spans) : Prop :=
  forall k lo hi, nth_error known k = Some (lo, hi) -> lo <= z_of k /\ z_of k <= hi.

Lemma first_some_in {A} (pick : fact -> option A) l a :
  first_some pick l = Some a -> exists f, In f l /\ pick f = Some a.
Proof.
  induction l as [|f l IH]; cbn; [discriminate|].
  destruct (pick f) as [b|] eqn:E.
  - intro H. injection H as <-. exists f. auto.
  - intro H. destruct (IH H) as (g & I & P). exists g. auto.
Qed.

Ltac of_fact L H :=
  apply first_some_in in H as (f & I & P); unfold facts_hold in L; rewrite Forall_forall in L;
  specialize (L f I); destruct f as [i u|i c0|i c0|h]; try discriminate;
  match type of P with context [Nat.eqb ?a ?b] => destruct (Nat.eqb_spec a b) end;
  try discriminate; injection P as <-; subst; exact L.

Lemma sign_of_holds k l up : facts_hold l -> sign_of k l = Some up ->
  if up then 0 <= z_of k else z_of k <= 0.
Proof. intros L H. of_fact L H. Qed.

Lemma most_of_holds k l q : facts_hold l -> most_of k l = Some q -> z_of k <= q.
Proof. intros L H. of_fact L H. Qed.

Lemma beyond_of_holds k l q : facts_hold l -> beyond_of k l = Some q -> q < z_of k.
Proof. intros L H. of_fact L H. Qed.

Lemma is_within_holds h l : facts_hold l -> is_within h l = true -> in_hull h.
Proof.
  induction 1 as [|f l F _ IH]; cbn; [discriminate|].
  intro H. apply orb_true_iff in H as [H|H]; auto.
  destruct f; try discriminate. apply Nat.eqb_eq in H. subst. exact F.
Qed.

(** ** Leaves *)

Variables (known : spans) (facts : list fact).
Hypothesis K : spans_hold known.
Hypothesis F : facts_hold facts.

Definition met (t : tree) (parts : list part) (near : list Q) (l : list leaf) : Prop :=
  exists here near', In (reached t x zs, here, near') l /\ in_parts x here /\
    below near' (changes (feats c) x).

Lemma met_app_left t t' parts near l m :
  reached t x zs = reached t' x zs -> met t parts near l -> met t' parts near (l ++ m).
Proof.
  intros E (h & n & I & P). exists h, n. rewrite <- E. split; [apply in_or_app; auto|exact P].
Qed.

Lemma met_app_right t t' parts near l m :
  reached t x zs = reached t' x zs -> met t parts near m -> met t' parts near (l ++ m).
Proof.
  intros E (h & n & I & P). exists h, n. rewrite <- E. split; [apply in_or_app; auto|exact P].
Qed.

Lemma forall2_update {A B} (R : A -> B -> Prop) l m j a b :
  Forall2 R l m -> nth_error l j = Some a -> R a b -> Forall2 R l (update m j b).
Proof.
  intro H. revert j. induction H as [|a' b' l m R0 H IH]; intros [|j]; cbn; try discriminate.
  - injection 1 as ->. intro. constructor; assumption.
  - intros E Rab. unfold update. cbn. constructor; [assumption|]. apply (IH j E Rab).
Qed.

Lemma forall2_update_left {A B} (R : A -> B -> Prop) l m j a b :
  Forall2 R l m -> nth_error m j = Some b -> R a b -> Forall2 R (update l j a) m.
Proof.
  intro H. revert j. induction H as [|a' b' l m R0 H IH]; intros [|j]; cbn; try discriminate.
  - injection 1 as ->. intro. constructor; assumption.
  - intros E Rab. unfold update. cbn. constructor; [assumption|]. apply (IH j E Rab).
Qed.

Lemma below_nth ds es i d : below ds es -> nth_error ds i = Some d ->
  exists e, nth_error es i = Some e /\ 0 <= d /\ d <= e.
Proof.
  intro B. revert i. induction B as [|d' e' ds es D B IH]; intros [|i]; cbn; try discriminate; auto.
  injection 1 as <-. eauto.
Qed.

Lemma admissible_nth j f : nth_error (feats c) j = Some f ->
  exists v, nth_error x j = Some v /\ well_formed f /\ admissible_value f v.
Proof.
  pose proof (g_formed _ _ G) as W. pose proof (g_admissible _ _ G) as A.
  unfold admissible in A. revert j W. generalize dependent x. generalize (feats c).
  intros fs y _ A. induction A as [|f' v' fs y A' _ IH]; intros [|j] W; cbn; try discriminate.
  - injection 1 as <-. inversion W; subst. eauto.
  - inversion W; subst. apply IH; assumption.
Qed.

Lemma enter_met f j v side parts near go l t :
  nth_error (feats c) j = Some f -> nth_error x j = Some v ->
  well_formed f -> admissible_value f v ->
  in_part v side -> in_parts x parts -> below near (changes (feats c) x) ->
  (forall parts near l, in_parts x parts -> below near (changes (feats c) x) ->
     go parts near = Some l -> met t parts near l) ->
  enter c f j side parts near go = Some l -> met t parts near l.
Proof.
  intros Ef Ev W A I P B Go. unfold enter.
  destruct (nearest_sound f side v W A I) as (d & -> & D0 & D1).
  destruct (nth_error near j) as [old|] eqn:O; [|discriminate].
  pose proof (nth_changes c x j f v Ef Ev) as C.
  assert (B' : below (update near j d) (changes (feats c) x)).
  { apply forall2_update_left with (change f v); auto. }
  destruct (negb _ && _) eqn:E.
  - apply andb_true_iff in E as [_ E]. compare_all.
    pose proof (total_mono c x G _ _ B'). pose proof (g_near _ _ G). lra.
  - intro E'. apply Go in E'; auto.
    apply forall2_update with v; auto.
Qed.

Lemma number_at_nth j q : nth_error x j = Some (Num q) -> number_at x j = q.
Proof. unfold number_at. intros ->. reflexivity. Qed.

Lemma in_parts_nth parts j v p :
  in_parts x parts -> nth_error x j = Some v -> nth_error parts j = Some p -> in_part v p.
Proof.
  unfold in_parts. intro H. clear G. revert j.
  induction H as [|v' p' y parts V H IH]; intros [|j]; cbn; try discriminate; auto.
  - injection 1 as <-. injection 1 as <-. assumption.
  - apply IH.
Qed.

Lemma is_number f v p l r cut : well_formed f -> admissible_value f v -> in_part v p ->
  sides_at f p cut = Some (l, r) -> exists q, v = Num q.
Proof.
  intros W A I. unfold sides_at. unfold admissible_value in A.
  destruct (shape f), (own f), v, p; cbn in I; try contradiction; try discriminate; eauto.
Qed.

Lemma is_label v p ls l r : in_part v p -> sides_among p ls = Some (l, r) -> exists i, v = Lab i.
Proof.
  destruct v, p; cbn; intro I; try contradiction; try discriminate; eauto.
Qed.

Lemma leaves_sound t : forall parts near l,
  cuts_ok t = true -> in_parts x parts -> below near (changes (feats c) x) ->
  leaves c known facts t parts near = Some l -> met t parts near l.
Proof.
  induction t as [vs|j cut tl IHl tr IHr|j among tl IHl tr IHr|k cut tl IHl tr IHr];
    intros parts near l C P B; cbn [leaves cuts_ok] in *.
  - injection 1 as <-. exists parts, near. cbn. auto.
  - apply andb_true_iff in C as [C Cr]. apply andb_true_iff in C as [Cd Cl].
    destruct (nth_error (feats c) j) as [f|] eqn:Ef; [|discriminate].
    destruct (nth_error parts j) as [p|] eqn:Ep; [|discriminate].
    destruct (sides_at f p cut) as [[a b]|] eqn:E; [|discriminate].
    destruct (admissible_nth j f Ef) as (v & Ev & W & A).
    pose proof (in_parts_nth _ _ _ _ P Ev Ep) as I.
    destruct (is_number f v p a b cut W A I E) as [q ->].
    pose proof (sides_at_sound f p cut a b q W Cd A I E) as S.
    unfold both.
    destruct (enter c f j a parts near (leaves c known facts tl)) as [la|] eqn:Ea; [|discriminate].
    destruct (enter c f j b parts near (leaves c known facts tr)) as [lb|] eqn:Eb; [|discriminate].
    injection 1 as <-.
    destruct (Qle_bool q cut) eqn:Q0.
    + apply met_app_left with tl; [cbn; rewrite (number_at_nth j q Ev), Q0; reflexivity|].
      apply (enter_met f j (Num q) a parts near (leaves c known facts tl)); auto.
    + apply met_app_right with tr; [cbn; rewrite (number_at_nth j q Ev), Q0; reflexivity|].
      apply (enter_met f j (Num q) b parts near (leaves c known facts tr)); auto.
  - apply andb_true_iff in C as [Cl Cr].
    destruct (nth_error (feats c) j) as [f|] eqn:Ef; [|discriminate].
    destruct (nth_error parts j) as [p|] eqn:Ep; [|discriminate].
    destruct (sides_among p among) as [[a b]|] eqn:E; [|discriminate].
    destruct (admissible_nth j f Ef) as (v & Ev & W & A).
    pose proof (in_parts_nth _ _ _ _ P Ev Ep) as I.
    destruct (is_label v p among a b I E) as [i ->].
    pose proof (sides_among_sound p among a b i I E) as S.
    unfold both.
    destruct (enter c f j a parts near (leaves c known facts tl)) as [la|] eqn:Ea; [|discriminate].
    destruct (enter c f j b parts near (leaves c known facts tr)) as [lb|] eqn:Eb; [|discriminate].
    injection 1 as <-.
    assert (R : among_labels x j among = existsb (Nat.eqb i) among).
    { unfold among_labels, label_at. rewrite Ev. reflexivity. }
    destruct (existsb (Nat.eqb i) among) eqn:Q0.
    + apply met_app_left with tl; [cbn; rewrite R; reflexivity|].
      apply (enter_met f j (Lab i) a parts near (leaves c known facts tl)); auto.
    + apply met_app_right with tr; [cbn; rewrite R; reflexivity|].
      apply (enter_met f j (Lab i) b parts near (leaves c known facts tr)); auto.
  - apply andb_true_iff in C as [Cl Cr].
    assert (All : both (leaves c known facts tl parts near) (leaves c known facts tr parts near) = Some l ->
                  met (Test k cut tl tr) parts near l).
    { unfold both.
      destruct (leaves c known facts tl parts near) as [la|] eqn:Ea; [|discriminate].
      destruct (leaves c known facts tr parts near) as [lb|] eqn:Eb; [|discriminate].
      injection 1 as <-. destruct (Qle_bool (nth k zs 0) cut) eqn:Q0.
      - apply met_app_left with tl; [cbn; rewrite Q0; reflexivity|]. apply IHl; auto.
      - apply met_app_right with tr; [cbn; rewrite Q0; reflexivity|]. apply IHr; auto. }
    destruct (nth_error known k) as [[lo hi]|] eqn:Ek; [|exact All].
    destruct (K k lo hi Ek) as [Lo Hi].
    destruct (Qle_bool hi cut) eqn:E1; [|destruct (Qltb cut lo || _) eqn:E2; [|exact All]].
    + intro E. apply IHl in E; auto. destruct E as (h & n & E).
      exists h, n. cbn. compare_all.
      replace (Qle_bool (nth k zs 0) cut) with true; [exact E|].
      symmetry. apply Qle_bool_true. unfold z_of in *. lra.
    + intro E. apply IHr in E; auto. destruct E as (h & n & E).
      exists h, n. cbn.
      replace (Qle_bool (nth k zs 0) cut) with false; [exact E|].
      symmetry. apply Qle_bool_false. fold (z_of k).
      apply orb_true_iff in E2 as [E2|E2]; [compare_all; lra|].
      destruct (beyond_of k facts) as [q|] eqn:Eq; [|discriminate].
      apply beyond_of_holds in Eq; [|exact F]. compare_all. lra.
Qed.

(** ** Ranges *)

Variables (parts : list part) (near : list Q).
Hypothesis P : in_parts x parts.
Hypothesis B : below near (changes (feats c) x).
Hypothesis Cuts : forallb (forallb cuts_ok) (trees (prg c)) = true.

Definition v : source -> Q := source_at (prg c) x zs.

Lemma lies_plus q r a b : lies q a -> lies r b -> lies (q + r) (plus_between a b).
Proof.
  destruct a as [[l h]|], b as [[l' h']|]; cbn; try tauto. intros [] []. split; lra.
Qed.

Lemma lies_sum {A} (f : A -> Q) (g : A -> between) l :
  (forall a, In a l -> lies (f a) (g a)) -> lies (sum (map f l)) (sum_between (map g l)).
Proof.
  induction l as [|a l IH]; intro H; [cbn; lra|].
  cbn [map sum_between]. rewrite sum_cons.
  apply lies_plus; [apply H; left; reflexivity|apply IH; intros; apply H; right; assumption].
Qed.

Lemma lies_eq q r b : q == r -> lies q b -> lies r b.
Proof. intro E. destruct b as [[l h]|]; cbn; [|auto]. rewrite E. auto. Qed.

Lemma lies_scaled q a lo hi : lo <= q -> q <= hi -> lies (a * q) (Some (scaled a (lo, hi))).
Proof.
  intros L H. unfold scaled. destruct (Qle_bool 0 a) eqn:E; compare_all; cbn; split; nra.
Qed.

Lemma lies_times q a b : lies q b -> lies (a * q) (times a b).
Proof. destruct b as [[lo hi]|]; [|tauto]. intros []. apply lies_scaled; assumption. Qed.

Lemma lies_extreme q l : In q l -> lies q (extreme l).
Proof.
  intro I. unfold extreme.
  destruct (smallest l) as [a|] eqn:E1; [|exact Logic.I].
  destruct (greatest l) as [b|] eqn:E2; [|exact Logic.I].
  split; [apply (smallest_le l a E1 q I)|apply (greatest_ge l b E2 q I)].
Qed.

Lemma split_one_worth f : let (a, r) := split_one f in worth v f == a + worth v r.
Proof.
  destruct f as [|[s a] f]; [cbn; unfold worth; cbn; lra|].
  destruct s; cbn [split_one]; try (rewrite Qplus_0_l; reflexivity).
  rewrite worth_cons. cbn. lra.
Qed.

Lemma split_number_worth j f : let (a, r) := split_number j f in worth v f == a * number_at x j + worth v r.
Proof.
  destruct f as [|[s a] f]; [cbn; unfold worth; cbn; lra|].
  destruct s; cbn [split_number]; try lra.
  destruct (Nat.eqb_spec j0 j); [subst; rewrite worth_cons; reflexivity|lra].
Qed.

Definition labels_worth (j : nat) (g : list (nat * Q)) : Q :=
  sum (map (fun t => snd t * (if has_label x j (fst t) then 1 else 0)) g).

Lemma split_labels_worth j f : let (g, r) := split_labels j f in
  worth v f == labels_worth j g + worth v r.
Proof.
  induction f as [|[s a] f IH]; [cbn; unfold worth, labels_worth; cbn; lra|].
  destruct s as [| |i l| |]; cbn [split_labels];
    try (unfold labels_worth; cbn [map]; rewrite sum_nil; lra).
  destruct (Nat.eqb_spec i j); [subst|unfold labels_worth; cbn [map]; rewrite sum_nil; lra].
  destruct (split_labels j f) as [g r]. rewrite worth_cons, IH.
  unfold labels_worth. cbn [map]. rewrite sum_cons. cbn. lra.
Qed.

Lemma labels_worth_at j i g : nth_error x j = Some (Lab i) -> labels_worth j g == factor_of i g.
Proof.
  intro E. unfold labels_worth. induction g as [|[l a] g IH]; [reflexivity|].
  cbn [map factor_of]. rewrite sum_cons. cbn [fst snd].
  unfold has_label at 1, label_at. rewrite E.
  rewrite Nat.eqb_sym. destruct (Nat.eqb l i); rewrite IH; lra.
Qed.

Definition suffix (j : nat) (y : point) : Prop :=
  forall i w, nth_error y i = Some w -> nth_error x (j + i) = Some w.

Lemma suffix_next j w y : suffix j (w :: y) -> nth_error x j = Some w /\ suffix (S j) y.
Proof.
  intro H. split; [specialize (H 0%nat w eq_refl); rewrite Nat.add_0_r in H; exact H|].
  intros i u E. rewrite Nat.add_succ_comm. apply (H (S i)). exact E.
Qed.

Lemma number_slots_worth (ps : list part) : forall j y f, suffix j y -> length y = length ps ->
  let (xs, r) := number_slots j ps f in
  worth v f == numbers_worth xs y + worth v r /\ length xs = length ps.
Proof.
  induction ps as [|p ps IH]; intros j y f S L; cbn [number_slots].
  - unfold numbers_worth. cbn. split; [lra|reflexivity].
  - destruct y as [|w y]; [discriminate|]. apply suffix_next in S as [N S].
    pose proof (split_number_worth j f) as W. destruct (split_number j f) as [a f'].
    specialize (IH (Datatypes.S j) y f' S ltac:(cbn in L; lia)).
    destruct (number_slots (Datatypes.S j) ps f') as [xs r]. destruct IH as [E Len].
    split; [|cbn; lia]. unfold numbers_worth in *. cbn [combine map]. rewrite sum_cons.
    cbn [fst snd].
    assert (Nw : number_at x j = number_of w).
    { unfold number_at. rewrite N. destruct w; reflexivity. }
    rewrite W, E, Nw. lra.
Qed.

Lemma labels_worth_number j q g : nth_error x j = Some (Num q) -> labels_worth j g == 0.
Proof.
  intro E. unfold labels_worth. induction g as [|[l a] g IH]; [reflexivity|].
  cbn [map]. rewrite sum_cons, IH. cbn [fst snd]. unfold has_label, label_at. rewrite E. lra.
Qed.

Lemma label_slots_worth (ps : list part) : forall j y f, suffix j y -> length y = length ps ->
  let (gs, r) := label_slots j ps f in
  worth v f == labels_worths gs y + worth v r /\ length gs = length ps.
Proof.
  induction ps as [|p ps IH]; intros j y f S L; cbn [label_slots].
  - unfold labels_worths. cbn. split; [lra|reflexivity].
  - destruct y as [|w y]; [discriminate|]. apply suffix_next in S as [N S].
    pose proof (split_labels_worth j f) as W. destruct (split_labels j f) as [g f'].
    specialize (IH (Datatypes.S j) y f' S ltac:(cbn in L; lia)).
    destruct (label_slots (Datatypes.S j) ps f') as [gs r]. destruct IH as [E Len].
    split; [|cbn; lia]. unfold labels_worths in *. cbn [combine map]. rewrite sum_cons.
    cbn [fst snd].
    assert (Lw : labels_worth j g == labels_of g w).
    { destruct w as [q|i]; cbn [labels_of].
      - apply (labels_worth_number j q). exact N.
      - apply labels_worth_at. exact N. }
    rewrite W, E, Lw. lra.
Qed.

(** A number, or a label, of a part. *)

Lemma number_range_lies w p a : in_part w p -> lies (a * number_of w) (number_range p a).
Proof.
  intro I. unfold number_range. destruct (Qeqb a 0) eqn:E.
  { compare_all. cbn. rewrite E. split; lra. }
  destruct p as [lo hi| |]; try exact Logic.I.
  destruct w as [q|i]; [|contradiction]. destruct I. apply lies_scaled; assumption.
Qed.

Lemma label_range_lies w p g : in_part w p -> lies (labels_of g w) (label_range p g).
Proof.
  intro I. unfold label_range. destruct g as [|t g].
  { destruct w; cbn; split; lra. }
  destruct p as [|ls|]; try exact Logic.I.
  destruct w as [q|i]; [contradiction|]. apply lies_extreme. apply in_map_iff. exists i. auto.
Qed.

Lemma numbers_lie xs : forall y ps, in_parts y ps -> length xs = length ps ->
  lies (numbers_worth xs y) (sum_between (map (fun t => number_range (fst t) (snd t)) (combine ps xs))).
Proof.
  induction xs as [|a xs IH]; intros y ps I L; destruct I as [|w p y ps W I]; try discriminate L;
    [cbn; split; lra|].
  unfold numbers_worth. cbn [combine map sum_between fst snd]. rewrite sum_cons.
  apply lies_plus; [apply number_range_lies; exact W|]. apply IH; [exact I|cbn in L; lia].
Qed.

Lemma labels_lie gs : forall y ps, in_parts y ps -> length gs = length ps ->
  lies (labels_worths gs y) (sum_between (map (fun t => label_range (fst t) (snd t)) (combine ps gs))).
Proof.
  induction gs as [|g gs IH]; intros y ps I L; destruct I as [|w p y ps W I]; try discriminate L;
    [cbn; split; lra|].
  unfold labels_worths. cbn [combine map sum_between fst snd]. rewrite sum_cons.
  apply lies_plus; [apply label_range_lies; exact W|]. apply IH; [exact I|cbn in L; lia].
Qed.

Lemma trees_cuts n t : In t (nth n (trees (prg c)) []) -> cuts_ok t = true.
Proof.
  intro I. rewrite forallb_forall in Cuts.
  destruct (nth_in_or_default n (trees (prg c)) []) as [H|H].
  - specialize (Cuts _ H). rewrite forallb_forall in Cuts. auto.
  - rewrite H in I. destruct I.
Qed.

Lemma tree_range_lies n col : lies (v (Column n col)) (tree_range c facts parts near known n col).
Proof.
  unfold v, source_at, column, tree_range. apply lies_sum. intros t I.
  destruct (leaves c known facts t parts near) as [l|] eqn:E; [|exact Logic.I].
  destruct (leaves_sound t parts near l (trees_cuts n t I) P B E) as (h & n' & M & _).
  apply lies_extreme. apply in_map_iff. exists (reached t x zs, h, n'). auto.
Qed.

Lemma made_lies k e lo hi : nth_error (made (prg c)) k = Some e -> nth_error known k = Some (lo, hi) ->
  lies (v (Made k)) (images e (lo, hi)).
Proof.
  intros E S. unfold v, source_at. rewrite E. destruct (K k lo hi S). fold (z_of k).
  apply (images_lie (prg c) k); assumption.
Qed.

Lemma term_range_lies t : lies (snd t * v (fst t)) (term_range c facts parts near known t).
Proof.
  destruct t as [s a]. destruct s as [| | |n col|k]; try exact Logic.I; cbn [term_range fst snd].
  - apply lies_times. apply tree_range_lies.
  - destruct (nth_error (made (prg c)) k) as [e|] eqn:E1; [|exact Logic.I].
    destruct (nth_error known k) as [[l h]|] eqn:E2; [|exact Logic.I].
    apply lies_times. apply made_lies; assumption.
Qed.

Lemma range_lies f : lies (worth v f) (range c facts parts near known f).
Proof.
  unfold range. pose proof (split_one_worth f) as S1. destruct (split_one f) as [one f1].
  assert (Sx : suffix 0 x) by (intros i u E; exact E).
  assert (Lx : length x = length parts) by (apply (forall2_length in_part); exact P).
  pose proof (number_slots_worth parts 0 x f1 Sx Lx) as S2.
  destruct (number_slots 0 parts f1) as [xs f2]. destruct S2 as [E2 L2].
  pose proof (label_slots_worth parts 0 x f2 Sx Lx) as S3.
  destruct (label_slots 0 parts f2) as [gs f3]. destruct S3 as [E3 L3].
  apply lies_eq with (one + (numbers_worth xs x + (labels_worths gs x + worth v f3)));
    [rewrite S1, E2, E3; lra|].
  apply lies_plus; [cbn; lra|]. apply lies_plus; [apply numbers_lie; assumption|].
  apply lies_plus; [apply labels_lie; assumption|].
  unfold worth. apply lies_sum. intros t _. apply term_range_lies.
Qed.

(** ** Ranges of what is made *)

Lemma corners_lies u w a b l h square vertex (E : square = true -> u == w) s q p :
  a <= u -> u <= b -> l <= w -> w <= h -> s == 1 \/ s == - (1) ->
  (square = true -> vertex == (p + q) / 2) ->
  exists e, In e (corners square (a, b) (l, h) vertex) /\
    s * (fst e * snd e - q * fst e - p * snd e) <= s * (u * w - q * u - p * w).
Proof.
  intros A B' L H S V. destruct square; cbn [corners].
  - specialize (E eq_refl). specialize (V eq_refl).
    set (m := clamp a b vertex).
    assert (M : (vertex <= a /\ m == a) \/ (b <= vertex /\ m == b) \/ (a <= vertex <= b /\ m == vertex)).
    { unfold m, clamp. destruct (Qlt_le_dec vertex a).
      - left. split; [lra|]. rewrite (Q.max_r vertex a) by lra. apply Q.min_l. lra.
      - rewrite (Q.max_l vertex a) by lra. destruct (Qlt_le_dec b vertex).
        + right; left. split; [lra|]. apply Q.min_r. lra.
        + right; right. split; [lra|]. apply Q.min_l. lra. }
    assert (V2 : p + q == 2 * vertex) by (rewrite V; field).
    destruct S as [S|S].
    + exists (m, m). split; [cbn; auto|]. cbn [fst snd]. rewrite S, <- E.
      assert (Sq : (m - vertex) * (m - vertex) <= (u - vertex) * (u - vertex)).
      { destruct M as [[? M]|[[? M]|[? M]]]; rewrite M.
        - assert (0 <= (u - a) * (u + a - 2 * vertex)) by (apply Qmult_le_0_compat; lra). lra.
        - assert (0 <= (b - u) * (2 * vertex - u - b)) by (apply Qmult_le_0_compat; lra). lra.
        - pose proof (square_nonneg (u - vertex)). lra. }
      setoid_replace (1 * (m * m - q * m - p * m)) with ((m - vertex) * (m - vertex) - vertex * vertex)
        by (setoid_replace (1 * (m * m - q * m - p * m)) with (m * m - (p + q) * m) by ring;
            rewrite V2; ring).
      setoid_replace (1 * (u * u - q * u - p * u)) with ((u - vertex) * (u - vertex) - vertex * vertex)
        by (setoid_replace (1 * (u * u - q * u - p * u)) with (u * u - (p + q) * u) by ring;
            rewrite V2; ring).
      lra.
    + destruct (Qlt_le_dec (u - vertex) 0).
      * exists (a, a). split; [cbn; auto|]. cbn [fst snd]. rewrite S, <- E.
        assert ((p + q) * (u - a) == 2 * vertex * (u - a)) by (rewrite V2; ring).
        assert (0 <= (u - a) * (2 * vertex - u - a)) by (apply Qmult_le_0_compat; lra). lra.
      * exists (b, b). split; [cbn; auto|]. cbn [fst snd]. rewrite S, <- E.
        assert ((p + q) * (b - u) == 2 * vertex * (b - u)) by (rewrite V2; ring).
        assert (0 <= (b - u) * (b + u - 2 * vertex)) by (apply Qmult_le_0_compat; lra). lra.
  - destruct (least_end (s * (w - q)) u a b A B') as (u' & U & HU).
    destruct (least_end (s * (u' - p)) w l h L H) as (w' & W & HW).
    exists (u', w'). split.
    + destruct U as [-> | ->], W as [-> | ->]; cbn; tauto.
    + cbn [fst snd].
      setoid_replace (s * (u' * w' - q * u' - p * w')) with (s * (u' - p) * w' - s * q * u') by ring.
      setoid_replace (s * (u * w - q * u - p * w)) with (s * (w - q) * u - s * p * w) by ring.
      setoid_replace (s * (w - q) * u') with (s * (u' - p) * w - s * q * u' + s * p * w) in HU by ring.
      lra.
Qed.

Lemma product_lies u w a b l h square : (square = true -> u == w) ->
  a <= u -> u <= b -> l <= w -> w <= h ->
  lies (u * w) (extreme (map (fun p => fst p * snd p) (corners square (a, b) (l, h) 0))).
Proof.
  intros Sq A1 A2 L1 L2. unfold extreme.
  destruct (smallest _) as [lo|] eqn:E1; [|exact Logic.I].
  destruct (greatest _) as [hi|] eqn:E2; [|exact Logic.I]. cbn. split.
  - destruct (corners_lies u w a b l h square 0 Sq 1 0 0 A1 A2 L1 L2 (or_introl (Qeq_refl 1)))
      as (e & I & H); [intros; field|].
    assert (J : lo <= fst e * snd e) by (apply (smallest_le _ _ E1); apply in_map_iff; eauto). lra.
  - destruct (corners_lies u w a b l h square 0 Sq (- (1)) 0 0 A1 A2 L1 L2 (or_intror (Qeq_refl _)))
      as (e & I & H); [intros; field|].
    assert (J : fst e * snd e <= hi) by (apply (greatest_ge _ _ E2); apply in_map_iff; eauto). lra.
Qed.

Lemma entry_range_lies e : lies (entry_at (prg c) x zs e) (entry_range c facts parts near known e).
Proof.
  destruct e as [cv f|i m]; cbn [entry_range entry_at].
  - apply range_lies.
  - destruct (nth_error known i) as [[a b]|] eqn:Ei; [|exact Logic.I].
    destruct (nth_error known m) as [[l h]|] eqn:Em; [|exact Logic.I].
    destruct (K i a b Ei) as [A1 A2]. destruct (K m l h Em) as [L1 L2].
    apply product_lies; try assumption.
    intro H. apply Nat.eqb_eq in H. subst. reflexivity.
Qed.

End Ranges.

(** ** All of them, one after the other *)

Section Extend.

Context {Curves : functions}.
Variables (c : context) (x : point) (zs : list Q) (in_hull : nat -> Prop).
Hypothesis G : given c x.
Hypothesis True_ : true_to Curves (prg c).
Variables (facts : list fact) (parts : list part) (near : list Q).
Hypothesis F : facts_hold zs in_hull facts.
Hypothesis P : in_parts x parts.
Hypothesis B : below near (changes (feats c) x).
Hypothesis Cuts : forallb (forallb cuts_ok) (trees (prg c)) = true.
Hypothesis Z : forall k e, nth_error (made (prg c)) k = Some e -> z_of zs k == entry_at (prg c) x zs e.

Definition bound_holds (b : bound) : Prop :=
  if upward b then z_of zs (of_ b) <= limit b else - z_of zs (of_ b) <= limit b.

Variable bounds : list bound.
Hypothesis Bounds : Forall bound_holds bounds.

Lemma lowered_holds k q : In q (lowered k bounds) -> q <= z_of zs k.
Proof.
  unfold lowered. intro H. apply in_flat_map in H as (b & Ib & H).
  rewrite Forall_forall in Bounds. specialize (Bounds b Ib). unfold bound_holds in Bounds.
  destruct (Nat.eqb_spec (of_ b) k); [|destruct H].
  destruct (upward b); cbn in H; [destruct H|]. destruct H as [<-|[]]. subst. lra.
Qed.

Lemma raised_holds k q : In q (raised k bounds) -> z_of zs k <= q.
Proof.
  unfold raised. intro H. apply in_flat_map in H as (b & Ib & H).
  rewrite Forall_forall in Bounds. specialize (Bounds b Ib). unfold bound_holds in Bounds.
  destruct (Nat.eqb_spec (of_ b) k); [|destruct H].
  destruct (upward b); cbn in H; [|destruct H]. destruct H as [<-|[]]. subst. lra.
Qed.

Lemma spans_hold_app known k lo hi :
  spans_hold zs known -> length known = k -> lo <= z_of zs k -> z_of zs k <= hi ->
  spans_hold zs (known ++ [(lo, hi)]).
Proof.
  intros K E L H i a b N.
  destruct (Nat.lt_ge_cases i (length known)) as [I|I].
  - rewrite nth_error_app1 in N by assumption. apply (K i a b N).
  - rewrite nth_error_app2 in N by assumption.
    destruct (i - length known)%nat as [|n] eqn:D; cbn in N.
    + injection N as <- <-. replace i with k by lia. split; assumption.
    + destruct n; discriminate.
Qed.

Lemma extend_sound es : forall k known,
  spans_hold zs known -> length known = k ->
  (forall i e, nth_error es i = Some e -> nth_error (made (prg c)) (k + i) = Some e) ->
  match extend c facts parts near bounds k es known with
  | Refused => True
  | Closed => False
  | Known known' => spans_hold zs known'
  end.
Proof.
  induction es as [|e es IH]; intros k known K L E; cbn [extend]; [exact K|].
  pose proof (entry_range_lies c x zs in_hull G True_ known facts K F parts near P B Cuts e) as R.
  destruct (entry_range c facts parts near known e) as [[lo hi]|]; [|exact I].
  assert (Ze : z_of zs k == entry_at (prg c) x zs e).
  { apply Z. specialize (E 0%nat e eq_refl). rewrite Nat.add_0_r in E. exact E. }
  cbn in R. rewrite <- Ze in R. destruct R as [R1 R2].
  set (lo1 := fold_left Qmax (lowered k bounds) lo).
  set (hi1 := fold_left Qmin (raised k bounds) hi).
  assert (L1 : lo1 <= z_of zs k) by (apply fold_Qmax_lub; [exact R1|apply lowered_holds]).
  assert (H1 : z_of zs k <= hi1) by (apply fold_Qmin_glb; [exact R2|apply raised_holds]).
  set (lo2 := match sign_of k facts with Some true => Qmax lo1 0 | _ => lo1 end).
  set (hi2 := match sign_of k facts with Some false => Qmin hi1 0 | _ => hi1 end).
  assert (L2 : lo2 <= z_of zs k).
  { unfold lo2. destruct (sign_of k facts) as [[]|] eqn:S; auto.
    pose proof (sign_of_holds zs in_hull k facts true F S). cbn in H. apply Q.max_lub; assumption. }
  assert (H2 : z_of zs k <= hi2).
  { unfold hi2. destruct (sign_of k facts) as [[]|] eqn:S; auto.
    pose proof (sign_of_holds zs in_hull k facts false F S). cbn in H. apply Q.min_glb; assumption. }
  set (lo3 := match beyond_of k facts with Some b => Qmax lo2 b | None => lo2 end).
  set (hi3 := match most_of k facts with Some b => Qmin hi2 b | None => hi2 end).
  assert (L3 : lo3 <= z_of zs k).
  { unfold lo3. destruct (beyond_of k facts) eqn:S; auto.
    pose proof (beyond_of_holds zs in_hull k facts _ F S). apply Q.max_lub; [assumption|lra]. }
  assert (H3 : z_of zs k <= hi3).
  { unfold hi3. destruct (most_of k facts) eqn:S; auto.
    pose proof (most_of_holds zs in_hull k facts _ F S). apply Q.min_glb; assumption. }
  destruct (Qltb hi3 lo3) eqn:D; [compare_all; lra|].
  destruct (match e with Image Single _ => _ | _ => _ end); [|exact I].
  apply IH.
  - apply (spans_hold_app known k); auto.
    + apply Qle_trans with lo3; [apply float_down_le|exact L3].
    + apply Qle_trans with hi3; [exact H3|apply float_up_ge].
  - rewrite app_length. cbn. lia.
  - intros i e' N. specialize (E (S i) e' N). rewrite Nat.add_succ_comm. exact E.
Qed.

Lemma spans_of_sound known upto :
  spans_hold zs known ->
  match spans_of c facts parts near bounds known upto with
  | Refused => True
  | Closed => False
  | Known known' => spans_hold zs known'
  end.
Proof.
  intro K. unfold spans_of. apply extend_sound; auto.
  intros i e N.
  set (n := length known) in *.
  assert (H : nth_error (skipn n (firstn upto (made (prg c)))) i
              = nth_error (firstn upto (made (prg c))) (n + i)).
  { generalize (firstn upto (made (prg c))). clear. induction n as [|n IH]; intros l; [reflexivity|].
    destruct l; [destruct i; reflexivity|]. cbn. apply IH. }
  rewrite H in N.
  assert (J : (n + i < upto)%nat).
  { assert (n + i < length (firstn upto (made (prg c))))%nat by (apply nth_error_Some; congruence).
    rewrite firstn_length in H0. lia. }
  rewrite <- N. clear -J. revert J. generalize (n + i)%nat, (made (prg c)).
  induction upto as [|u IH]; intros j l J; [lia|].
  destruct l; [destruct j; reflexivity|]. destruct j; [reflexivity|]. cbn. apply IH. lia.
Qed.

End Extend.
