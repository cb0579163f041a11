(** * What trees pay of the costs of features

    A tree may pay a share of all of a feature's cost; or, of moves in one direction, a part of
    every layer of it, from one end to the next. *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool.
From Cfxc Require Import Semantics Features.
Import ListNotations.
Open Scope Q_scope.

Inductive way := Either | Up | Down.

Definition way_eqb (a b : way) : bool :=
  match a, b with Either, Either | Up, Up | Down, Down => true | _, _ => false end.

(** [layers] are the ends of layers and rates in them, [rest] the rate beyond the last. *)

Record pay := { payer : nat; paid_for : nat; towards : way; layers : list (Q * Q); rest : Q }.

Fixpoint climb (from : Q) (layers : list (Q * Q)) (rest c : Q) : Q :=
  match layers with
  | [] => rest * Qmax 0 (c - from)
  | (e, rate) :: layers => rate * Qmax 0 (Qmin c e - from) + climb e layers rest c
  end.

Definition pays (p : pay) (c : Q) : Q := climb 0 (layers p) (rest p) c.

(** What a certificate states: shares, and weights of layers up to an end. *)

Inductive stated :=
  | Part_of (t j : nat) (y : Q)
  | Layer_of (t j : nat) (w : way) (upto y : Q).

Definition part_of_tree (j : nat) (s : stated) : Q :=
  match s with Part_of _ i y => if Nat.eqb i j then y else 0 | _ => 0 end.

Definition same_layers (j : nat) (w : way) (s : stated) : bool :=
  match s with Layer_of _ i v _ _ => Nat.eqb i j && way_eqb v w | _ => false end.

Definition end_of (s : stated) : Q := match s with Layer_of _ _ _ e _ => e | _ => 0 end.

(** The weight, of all or of one tree, of layers that reach up to [e] at least. *)

Definition weight_at (e : Q) (s : stated) : Q :=
  match s with Layer_of _ _ _ upto y => if Qle_bool e upto then y else 0 | _ => 0 end.

Definition of_tree (t : nat) (s : stated) : bool :=
  match s with Part_of u _ _ => Nat.eqb u t | Layer_of u _ _ _ _ => Nat.eqb u t end.

Fixpoint insert (e : Q) (l : list Q) : list Q :=
  match l with
  | [] => [e]
  | x :: l' => if Qeq_bool e x then l else if Qle_bool e x then e :: l else x :: insert e l'
  end.

Definition ends (l : list stated) : list Q := fold_right (fun s => insert (end_of s)) [] l.

(** The float of 8 bytes next to [x >= 0] below. *)

Definition toward_zero (x : Q) : Q := if Qle_bool x 0 then 0 else float_down Bytes8 x.

Definition rate_at (all own : list stated) (e : Q) : Q :=
  let w := sum (map (weight_at e) all) in
  if Qeq_bool w 0 then 0 else sum (map (weight_at e) own) * toward_zero (1 / w).

Definition layer_pay (t j : nat) (w : way) (all : list stated) : pay :=
  let own := filter (of_tree t) all in
  {| payer := t; paid_for := j; towards := w; rest := 0;
     layers := map (fun e => (e, rate_at all own e)) (ends all) |}.

Definition share_pay (s : stated) : list pay :=
  match s with
  | Part_of t j y => [{| payer := t; paid_for := j; towards := Either; layers := []; rest := y |}]
  | _ => []
  end.

Definition layer_keys (l : list stated) : list (nat * nat * way) :=
  fold_right (fun s acc =>
    match s with
    | Layer_of t j w _ _ =>
        if existsb (fun k => let '(t', j', w') := k in
                             Nat.eqb t t' && Nat.eqb j j' && way_eqb w w') acc
        then acc else (t, j, w) :: acc
    | _ => acc
    end) [] l.

Definition payments (l : list stated) : list pay :=
  flat_map share_pay l ++
  map (fun k => let '(t, j, w) := k in layer_pay t j w (filter (same_layers j w) l))
      (layer_keys l).

Definition has_layers (j : nat) (l : list stated) : bool :=
  existsb (fun s => same_layers j Up s || same_layers j Down s) l.

(** The share of a feature's cost that is left to it. *)

Definition left_over (l : list stated) (j : nat) : Q :=
  if has_layers j l then 0 else 1 - sum (map (part_of_tree j) l).

(** What the reader asks: no shares below 0, of no feature more than there is, none beside layers;
    layers with ends and weights above 0, in one direction. *)

Definition payments_ok (l : list stated) : bool :=
  forallb (fun s => match s with
    | Part_of _ j y => Qle_bool 0 y && Qle_bool (sum (map (part_of_tree j) l)) 1
                       && negb (has_layers j l)
    | Layer_of _ _ w e y => Qltb 0 e && Qltb 0 y && negb (way_eqb w Either)
    end) l.

(** ** What a number adds, less what its move costs

    At most the largest of a few places: the ends of the interval, the instance's own value and
    the least number of the range as far as they lie in it, and the vertex of a parabola. *)

Definition clamp (lo hi x : Q) : Q := Qmin (Qmax x lo) hi.

Record price := { budget_ : Q; metric_ : norms; share_ : Q; peak_ : Q }.

Definition priced (p : price) (d : Q) : Q :=
  budget_ p * cost (metric_ p) (share_ p) d + peak_ p * d.

(** No number lies between what stands for a missing one and the least of the range. *)

Definition snap (n : numbers) (a : action) (o y : Q) : Q :=
  match absent n with
  | None => y
  | Some gone => if Qle_bool y gone then gone else Qmax y (first n a o)
  end.

Definition places_of (f : feature) (n : numbers) (o factor : Q) (p : price) (lo hi : Q) : list Q :=
  let size := high n - low n in
  let squares := 2 * budget_ p * l2 (metric_ p) * share_ p in
  map (snap n (act f) o)
    ([lo; hi; clamp lo hi o; clamp lo hi (first n (act f) o)]
     ++ (if Qle_bool squares 0 || Qle_bool size 0 then []
         else [clamp lo hi (o + factor * (size * size) / squares)])).
