(** * Programs whose entries read what was made before them *)

From Coq Require Import QArith ZArith List Bool Lia.
From Cfxc Require Import Semantics.
Import ListNotations.

Definition is_form (p : program) (k : nat) : bool :=
  match nth_error (made p) k with Some (Image Form _) => true | _ => false end.

(** How many entries a tree needs. *)

Fixpoint needs (t : tree) : nat :=
  match t with
  | Leaf _ => 0
  | Number _ _ l r | Label _ _ l r => Nat.max (needs l) (needs r)
  | Test k _ l r => Nat.max (S k) (Nat.max (needs l) (needs r))
  end.

Definition all_need (ts : list tree) : nat := fold_right (fun t => Nat.max (needs t)) 0%nat ts.

(** The same of each ensemble; it is found once. *)

Definition needed (p : program) : list nat := map all_need (trees p).

Definition source_scoped (needed_ : list nat) (k : nat) (s : source) : bool :=
  match s with
  | Made i => Nat.ltb i k
  | Column n _ => Nat.leb (nth n needed_ 0%nat) k
  | _ => true
  end.

Definition form_scoped (needed_ : list nat) (k : nat) (f : form) : bool :=
  forallb (fun t => source_scoped needed_ k (fst t)) f.

Definition entry_scoped (p : program) (needed_ : list nat) (k : nat) (e : entry) : bool :=
  match e with
  | Image _ f => form_scoped needed_ k f
  | Product i m => Nat.ltb i k && Nat.ltb m k && is_form p i && is_form p m
  end.

Fixpoint entries_scoped (p : program) (needed_ : list nat) (k : nat) (es : list entry) : bool :=
  match es with
  | [] => true
  | e :: es => entry_scoped p needed_ k e && entries_scoped p needed_ (S k) es
  end.

(** Trees test only forms that are made. *)

Fixpoint tests_forms (p : program) (t : tree) : bool :=
  match t with
  | Leaf _ => true
  | Number _ _ l r | Label _ _ l r => tests_forms p l && tests_forms p r
  | Test k _ l r => is_form p k && tests_forms p l && tests_forms p r
  end.

Definition scoped (p : program) : bool :=
  let needed_ := needed p in
  entries_scoped p needed_ 0 (made p) &&
  forallb (form_scoped needed_ (length (made p))) (outputs p) &&
  forallb (forallb (tests_forms p)) (trees p).

(** ** Then later entries change nothing *)

Section Scopes.

Context {Curves : functions}.
Variables (p : program) (x : point).

Lemma nth_extend (zs more : list Q) k : (k < length zs)%nat -> nth k (zs ++ more) 0%Q = nth k zs 0%Q.
Proof. intro H. apply app_nth1. exact H. Qed.

Lemma reached_extend t zs more : (needs t <= length zs)%nat -> reached t x (zs ++ more) = reached t x zs.
Proof.
  induction t as [vs|j c l IHl r IHr|j a l IHl r IHr|k c l IHl r IHr]; cbn [needs reached]; intro H.
  - reflexivity.
  - rewrite IHl, IHr by lia. reflexivity.
  - rewrite IHl, IHr by lia. reflexivity.
  - rewrite nth_extend, IHl, IHr by lia. reflexivity.
Qed.

Lemma column_extend ts c zs more : (all_need ts <= length zs)%nat -> column ts c x (zs ++ more) = column ts c x zs.
Proof.
  unfold column. induction ts as [|t ts IH]; cbn [all_need fold_right map]; intro H; [reflexivity|].
  unfold all_need in IH. cbn [sum fold_right]. unfold sum in IH.
  rewrite IH by lia. rewrite reached_extend by lia. reflexivity.
Qed.

Lemma needed_nth n : nth n (needed p) 0%nat = all_need (nth n (trees p) []).
Proof. unfold needed. exact (map_nth all_need (trees p) [] n). Qed.

Lemma source_extend s zs more : source_scoped (needed p) (length zs) s = true ->
  source_at p x (zs ++ more) s = source_at p x zs s.
Proof.
  destruct s as [| | |n c|k]; cbn [source_scoped source_at]; intro H; try reflexivity.
  - apply Nat.leb_le in H. rewrite needed_nth in H. apply column_extend. exact H.
  - apply Nat.ltb_lt in H. rewrite nth_extend by exact H. reflexivity.
Qed.

Lemma form_extend f zs more : form_scoped (needed p) (length zs) f = true ->
  form_at p x (zs ++ more) f = form_at p x zs f.
Proof.
  unfold form_at, form_scoped. induction f as [|t f IH]; cbn [forallb map]; intro H; [reflexivity|].
  apply andb_true_iff in H as [H1 H2]. cbn [sum fold_right]. unfold sum in IH.
  rewrite IH by exact H2. rewrite source_extend by exact H1. reflexivity.
Qed.

Lemma entry_extend e zs more : entry_scoped p (needed p) (length zs) e = true ->
  entry_at p x (zs ++ more) e = entry_at p x zs e.
Proof.
  destruct e as [cv f|i m]; cbn [entry_scoped entry_at]; intro H; [apply form_extend; exact H|].
  apply andb_true_iff in H as [H _]. apply andb_true_iff in H as [H _].
  apply andb_true_iff in H as [H1 H2]. apply Nat.ltb_lt in H1, H2.
  rewrite !nth_extend by assumption. reflexivity.
Qed.

Definition run (es : list entry) (zs : list Q) : list Q :=
  fold_left (fun zs e => zs ++ [entry_at p x zs e]) es zs.

Lemma run_extends es : forall zs, exists more, run es zs = zs ++ more /\ length more = length es.
Proof.
  induction es as [|e es IH]; intro zs; cbn [run fold_left].
  - exists []. rewrite app_nil_r. auto.
  - destruct (IH (zs ++ [entry_at p x zs e])) as (more & E & L).
    exists (entry_at p x zs e :: more). unfold run in E. rewrite E, <- app_assoc. cbn. auto.
Qed.

Lemma run_fixed es : forall zs, entries_scoped p (needed p) (length zs) es = true ->
  forall i e, nth_error es i = Some e -> nth (length zs + i) (run es zs) 0%Q = entry_at p x (run es zs) e.
Proof.
  induction es as [|e es IH]; intros zs S i e' E; [destruct i; discriminate|].
  cbn [entries_scoped] in S. apply andb_true_iff in S as [S1 S2].
  cbn [run fold_left]. fold (run es (zs ++ [entry_at p x zs e])).
  destruct i as [|i]; cbn [nth_error] in E.
  - injection E as <-.
    destruct (run_extends es (zs ++ [entry_at p x zs e])) as (more & -> & _).
    rewrite <- app_assoc, entry_extend by exact S1.
    rewrite Nat.add_0_r, app_nth2, Nat.sub_diag by lia. reflexivity.
  - specialize (IH (zs ++ [entry_at p x zs e])). rewrite app_length in IH. cbn [length] in IH.
    rewrite Nat.add_1_r in IH. rewrite Nat.add_succ_r. apply (IH S2 i e' E).
Qed.

Theorem zs_fixed : scoped p = true -> length (zs_of p x) = length (made p) /\
  forall k e, nth_error (made p) k = Some e -> nth k (zs_of p x) 0%Q = entry_at p x (zs_of p x) e.
Proof.
  intro S. unfold scoped in S. cbv zeta in S. apply andb_true_iff in S as [S _].
  apply andb_true_iff in S as [S _]. split.
  - destruct (run_extends (made p) []) as (more & E & L). unfold zs_of. fold (run (made p) []).
    rewrite E. exact L.
  - intros k e E. apply (run_fixed (made p) [] S k e E).
Qed.

End Scopes.
