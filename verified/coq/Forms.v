(** * Forms with each source once *)

From Coq Require Import QArith Qabs Qminmax ZArith List Bool Lqa Lia.
From Cfxc Require Import Semantics.
Import ListNotations.
Open Scope Q_scope.

Definition code (s : source) : nat * nat * nat :=
  match s with
  | One => (0, 0, 0) | X j => (1, j, 0) | Is j i => (2, j, i) | Column n c => (3, n, c)
  | Made k => (4, k, 0)
  end%nat.

Definition compare (s t : source) : comparison :=
  let '(a, b, c) := code s in
  let '(a', b', c') := code t in
  match Nat.compare a a' with
  | Eq => match Nat.compare b b' with Eq => Nat.compare c c' | other => other end
  | other => other
  end.

Lemma compare_eq s t : compare s t = Eq -> s = t.
Proof.
  unfold compare.
  destruct s, t; cbn; try discriminate; auto;
    repeat (match goal with |- context [Nat.compare ?a ?b] =>
              destruct (Nat.compare_spec a b); subst; try discriminate end; cbn); auto.
Qed.

(** [f + c * g], of sorted forms a sorted one. *)

Definition scale (c : Q) (g : form) : form := map (fun t => (fst t, c * snd t)) g.

Fixpoint add (f : form) (c : Q) : form -> form :=
  match f with
  | [] => scale c
  | (s, a) :: f' =>
      fix inner (g : form) : form :=
        match g with
        | [] => (s, a) :: f'
        | (t, b) :: g' =>
            match compare s t with
            | Lt => (s, a) :: add f' c g
            | Eq => (s, a + c * b) :: add f' c g'
            | Gt => (t, c * b) :: inner g'
            end
        end
  end.

Definition sorted (f : form) : form := fold_left (fun acc t => add acc 1 [t]) f [].

(** Its value where sources are worth [v]. *)

Definition worth (v : source -> Q) (f : form) : Q := sum (map (fun t => snd t * v (fst t)) f).

Lemma worth_cons v s a f : worth v ((s, a) :: f) = a * v s + worth v f.
Proof. reflexivity. Qed.

Lemma worth_scale v c g : worth v (scale c g) == c * worth v g.
Proof.
  induction g as [|[t b] g IH]; [unfold worth; cbn; lra|].
  change (scale c ((t, b) :: g)) with ((t, c * b) :: scale c g).
  rewrite !worth_cons, IH. ring.
Qed.

Lemma worth_add v c f g : worth v (add f c g) == worth v f + c * worth v g.
Proof.
  revert g. induction f as [|[s a] f IHf]; intro g.
  - cbn [add]. rewrite worth_scale. unfold worth; cbn. lra.
  - induction g as [|[t b] g IHg]; [cbn [add]; unfold worth; cbn; lra|].
    cbn [add]. destruct (compare s t) eqn:E.
    + apply compare_eq in E. subst t. rewrite !worth_cons, IHf. ring.
    + rewrite !worth_cons, IHf, worth_cons. ring.
    + rewrite worth_cons. cbn [add] in IHg. rewrite IHg, !worth_cons. ring.
Qed.

Lemma worth_sorted v f : worth v (sorted f) == worth v f.
Proof.
  unfold sorted.
  assert (H : forall acc, worth v (fold_left (fun acc t => add acc 1 [t]) f acc)
                          == worth v acc + worth v f).
  { induction f as [|[t b] f IH]; intro acc; cbn [fold_left].
    - unfold worth at 3; cbn. lra.
    - rewrite IH, worth_add, !worth_cons. unfold worth at 2; cbn. lra. }
  rewrite H. unfold worth at 1; cbn. lra.
Qed.

(** The factor of a source, and the rest. *)

Fixpoint pop (s : source) (f : form) : Q * form :=
  match f with
  | [] => (0, [])
  | (t, b) :: f' =>
      match compare s t with
      | Eq => (b, f')
      | Lt => (0, f)
      | Gt => let (a, rest) := pop s f' in (a, (t, b) :: rest)
      end
  end.

Lemma worth_pop v s f : let (a, rest) := pop s f in worth v f == a * v s + worth v rest.
Proof.
  induction f as [|[t b] f IH]; cbn [pop].
  - unfold worth; cbn. lra.
  - destruct (compare s t) eqn:E; [apply compare_eq in E; subst; rewrite worth_cons; lra|lra|].
    destruct (pop s f) as [a rest]. rewrite !worth_cons, IH. ring.
Qed.

Definition factor (s : source) (f : form) : Q := fst (pop s f).

Lemma worth_ext v w f : (forall s, v s == w s) -> worth v f == worth w f.
Proof.
  intro H. induction f as [|[s a] f IH]; [reflexivity|]. rewrite !worth_cons, IH, H. reflexivity.
Qed.

Global Opaque add scale fl Qmax Qmin.
