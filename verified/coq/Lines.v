(** * Lemma 15: smooth functions between two numbers, and lines beside them *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool.
From Cfxc Require Import Semantics Curves.
Open Scope Q_scope.

Definition at_grid (f : smooth) (x : Z) (up : bool) : option Z :=
  match f with
  | Exp => exp_at x up
  | Sigmoid => sigmoid_at x up
  | Softplus => softplus_at x up
  | Normal => normal_at x up
  end.

Definition slope_at (f : smooth) (x : Z) (up : bool) : option Z :=
  match f with
  | Exp => exp_at x up
  | Sigmoid => steep_at x up
  | Softplus => sigmoid_at x up
  | Normal => bell_at x up
  end.

(** The multiple of 2^-160 below a number, or above. *)

Definition grid_of (z : Q) (up : bool) : Z :=
  if up then Qceiling (z * inject_Z one) else Qfloor (z * inject_Z one).

Definition in_reach (z : Q) : bool := negb (Qle_bool (pow2 1024) (Qabs z)).

(** What no faithful function is below from z on, and above up to z.  Beyond 16 the law's sums are no
    longer formed: less than 2^-160 is missing to 1. *)

Definition is_normal (f : smooth) : bool := match f with Normal => true | _ => false end.

Definition value_down (f : smooth) (z : Q) : option Q :=
  let x := grid_of z false in
  if negb (in_reach z) then None
  else if is_normal f && (wide <? x)%Z then Some (grid (one - 1))
  else option_map grid (at_grid f x false).

Definition value_up (f : smooth) (z : Q) : option Q :=
  let x := grid_of z true in
  if negb (in_reach z) then None
  else if is_normal f && (x <? - wide)%Z then Some (grid 1)
  else option_map grid (at_grid f x true).

Section Beside.

(** [side (f - slope)], where side is 1 ([above]) or -1. *)

Variables (f : smooth) (above : bool) (slope place : Q).

Definition side : Q := if above then 1 else -1.

Definition value_side (z : Q) : option Q := if above then value_down f z else value_up f z.

(** On a piece where that is concave, it is least at an end. *)

Definition by_ends (a b : Q) : option Q :=
  match value_side a, value_side b with
  | Some u, Some v => Some (Qmin (side * (u - slope * a)) (side * (v - slope * b)) - 2 * tiny)
  | _, _ => None
  end.

(** Where it is convex, it is nowhere below its tangent at the multiple next to the place. *)

Definition by_tangent (a b : Q) : option Q :=
  let x := grid_of (Qmin (Qmax place a) b) false in
  let c := grid x in
  match value_side c, slope_at f x false, slope_at f x true with
  | Some v, Some s, Some t =>
      let at_ e := side * (v - slope * e)
                   + Qmin (side * (grid s * (e - c))) (side * (grid t * (e - c))) in
      Some (Qmin (at_ a) (at_ b) - 2 * tiny)
  | _, _, _ => None
  end.

Definition is_convex (left : bool) : bool :=
  match f with Exp | Softplus => true | Sigmoid | Normal => left end.

Definition on_piece (left : bool) (a b : Q) : option Q :=
  if Bool.eqb (is_convex left) above then by_tangent a b else by_ends a b.

(** Left and right of 0 apart. *)

Definition beside_both (low high : Q) : option Q :=
  let right_ := on_piece false (Qmax low 0) high in
  let left_ := on_piece true low (Qmin high 0) in
  if Qle_bool low 0 then
    if Qle_bool 0 high then
      match left_, right_ with Some u, Some v => Some (Qmin u v) | _, _ => None end
    else left_
  else right_.

End Beside.

Definition beside (f : smooth) (above : bool) (slope place low high : Q) : option Q :=
  beside_both f above slope place low high.
