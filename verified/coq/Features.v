(** * Values that may be chosen: the next one, what a split leaves, what lies within reach *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool.
From Cfxc Require Import Semantics.
Import ListNotations.
Open Scope Q_scope.

(** A part of what may be chosen: a closed interval of numbers, some labels, or nothing. *)

Inductive part := Interval (lo hi : Q) | Among (ls : list nat) | Empty.

Definition in_part (v : value) (p : part) : Prop :=
  match v, p with
  | Num x, Interval lo hi => lo <= x /\ x <= hi
  | Lab i, Among ls => In i ls
  | _, _ => False
  end.

Definition Qltb (x y : Q) : bool := negb (Qle_bool y x).

(** ** The next number of a grid

    Multiples of a step, as floats, grow with their count, so the first from [v] on is found by
    bisection; that it is the first is asked in the end, so nothing depends on the search. *)

Definition cell (n : numbers) (s : Q) (k : Z) : Q :=
  fl (bytes n) (fl (match bytes n with Bytes0 => Bytes0 | _ => Bytes8 end) (inject_Z k * s)).

Fixpoint bisect (fuel : nat) (holds : Z -> bool) (lo hi : Z) : Z :=
  match fuel with
  | O => hi
  | S fuel =>
      if (hi - lo <=? 1)%Z then hi
      else let middle := ((lo + hi) / 2)%Z in
           if holds middle then bisect fuel holds lo middle else bisect fuel holds middle hi
  end.

Fixpoint lower_end (fuel : nat) (holds : Z -> bool) (lo by_ : Z) : Z :=
  match fuel with
  | O => lo
  | S fuel => if holds lo then lower_end fuel holds (lo - by_) (2 * by_) else lo
  end%Z.

(** More steps than doubling takes it past all that rounds to a float: it asks less than 1 + |v|. *)

Definition enough (s v : Q) : nat := Z.to_nat (bits (Z.abs (Qnum v)) + bits (Zpos (Qden s)) + 2).

Definition earliest (fuel : nat) (holds : Z -> bool) (lo hi : Z) : option Z :=
  let lo := lower_end fuel holds lo 1 in
  let k := bisect (Z.to_nat (Z.log2 (Z.max 1 (hi - lo)) + 2)) holds lo hi in
  if holds k && negb (holds (k - 1)%Z) then Some k else None.

(** The float beside a number: the least one from it on, and the largest one up to it. *)

Definition float_up (w : width) (v : Q) : Q :=
  let q := pow2 (last_place w v) in Qred (inject_Z (Qceiling (v / q)) * q).

Definition float_down (w : width) (v : Q) : Q :=
  let q := pow2 (last_place w v) in Qred (inject_Z (Qfloor (v / q)) * q).

Definition least_double : Q := pow2 (-1075).

(** The least value of the grid from [v] on or, if [strict], above [v], a double. *)

Definition grid_up (n : numbers) (strict : bool) (v : Q) : option Q :=
  match step n with
  | None => Some (float_up (bytes n) (if strict then v + least_double else v))
  | Some s =>
      let from := Qceiling (v / s) in
      let upto := match bytes n with
                  | Bytes0 => from
                  | w => Qceiling (float_up w (if strict then v + least_double else v) / s)
                  end in
      let holds k := if strict then Qltb v (cell n s k) else Qle_bool v (cell n s k) in
      match earliest (enough s v) holds (from - 2) (Z.max from upto + 1) with
      | Some k => Some (cell n s k)
      | None => None
      end
  end.

Definition grid_down (n : numbers) (v : Q) : option Q :=
  match step n with
  | None => Some (float_down (bytes n) v)
  | Some s =>
      let from := (- Qfloor (v / s))%Z in
      let upto := match bytes n with
                  | Bytes0 => from
                  | w => (- Qfloor (float_down w v / s))%Z
                  end in
      match earliest (enough s v) (fun k => Qle_bool (cell n s (- k)) v) (from - 2) (Z.max from upto + 1) with
      | Some k => Some (cell n s (- k))
      | None => None
      end
  end.

(** [None] where the search failed: then the certificate is refused.  [Some None] where no
    admissible number is left. *)

Definition smallest (l : list Q) : option Q :=
  match l with [] => None | x :: l => Some (fold_left Qmin l x) end.
Definition greatest (l : list Q) : option Q :=
  match l with [] => None | x :: l => Some (fold_left Qmax l x) end.

Definition some_list {A} (o : option A) : list A := match o with Some a => [a] | None => [] end.

Definition in_range (n : numbers) (a : action) (o x : Q) : bool :=
  Qle_bool (first n a o) x && Qle_bool x (upper n a o).

Definition near_up (n : numbers) (a : action) (o : Q) (strict : bool) (v : Q) : option (option Q) :=
  let f := first n a o in
  let beyond x := if strict then Qltb v x else Qle_bool v x in
  match (if Qle_bool f v then grid_up n strict v else grid_up n false f) with
  | None => None
  | Some g =>
      Some (smallest (filter beyond (filter (in_range n a o) [g; o] ++ some_list (absent n))))
  end.

Definition near_down (n : numbers) (a : action) (o v : Q) : option (option Q) :=
  let u := upper n a o in
  match grid_down n (Qmin v u) with
  | None => None
  | Some g =>
      Some (greatest (filter (fun x => Qle_bool x v)
                        (filter (in_range n a o) [g; o] ++ some_list (absent n))))
  end.

(** What the reader makes sure of. *)

Definition well_formed (f : feature) : Prop :=
  0 <= weight f /\
  match shape f, own f with
  | Numbers n, Num o =>
      low n <= high n /\
      (if gone n o then o < low n else low n <= o /\ o <= high n) /\
      (match absent n with
       | Some a => a < low n /\ gap n = false /\ act f <> Fixed
       | None => True
       end) /\
      match step n with Some s => 0 < s | None => bytes n <> Bytes0 end
  | Labels count _, Lab o => (o < count)%nat
  | _, _ => False
  end.

Definition is_double (c : Q) : bool := Qeqb (fl Bytes8 c) c.

(** ** What a split leaves on its left and on its right *)

Definition bounded (lo hi : option Q) : part :=
  match lo, hi with Some lo, Some hi => if Qle_bool lo hi then Interval lo hi else Empty | _, _ => Empty end.

Definition sides_at (f : feature) (p : part) (cut : Q) : option (part * part) :=
  match shape f, own f, p with
  | Numbers n, Num o, Interval lo hi =>
      if Qle_bool hi cut then Some (p, Empty)
      else if Qltb cut lo then Some (Empty, p)
      else match near_down n (act f) o cut, near_up n (act f) o true cut with
           | Some before, Some after => Some (bounded (Some lo) before, bounded after (Some hi))
           | _, _ => None
           end
  | Numbers _, Num _, Empty => Some (Empty, Empty)
  | _, _, _ => None
  end.

Definition sides_among (p : part) (ls : list nat) : option (part * part) :=
  match p with
  | Among is_ =>
      let inside i := existsb (Nat.eqb i) ls in
      Some (Among (filter inside is_), Among (filter (fun i => negb (inside i)) is_))
  | Empty => Some (Empty, Empty)
  | Interval _ _ => None
  end.

(** ** All of a feature; what of a part lies within reach; the least change in a part *)

Definition everything (f : feature) : option part :=
  match shape f, own f with
  | Numbers n, Num o =>
      let lo := match absent n with Some a => a | None => first n (act f) o end in
      match near_up n (act f) o false lo, near_down n (act f) o (upper n (act f) o) with
      | Some a, Some b => Some (bounded a b)
      | _, _ => None
      end
  | Labels count _, Lab o =>
      let keeps i := match act f with
                     | Free => true | Fixed => Nat.eqb i o
                     | Increase => Nat.leb o i | Decrease => Nat.leb i o
                     end in
      Some (Among (filter keeps (seq 0 count)))
  | _, _ => None
  end.

Definition intersect (p : part) (lo hi : option Q) : part :=
  match p, lo, hi with
  | Interval a b, Some lo, Some hi => bounded (Some (Qmax a lo)) (Some (Qmin b hi))
  | _, _, _ => Empty
  end.

(** What of a part is changed by at most [most] ([None]: there is no limit). *)

Definition clip (f : feature) (p : part) (most : option Q) : option part :=
  match most, shape f, own f, p with
  | None, _, _, _ => Some p
  | Some most, Labels _ _, Lab _, Among ls =>
      Some (Among (filter (fun i => Qle_bool (change f (Lab i)) most) ls))
  | Some most, Numbers n, Num o, Interval _ _ =>
      if Qle_bool 1 most && match absent n with Some _ => true | None => false end then Some p
      else
        let around := if is_absent n o then 0 else most * (high n - low n) in
        let lo := Qmax (o - around) (Qmin o (first n (act f) o)) in
        match near_up n (act f) o false lo, near_down n (act f) o (o + around) with
        | Some a, Some b => Some (intersect p a b)
        | _, _ => None
        end
  | Some _, _, _, Empty => Some Empty
  | _, _, _, _ => None
  end.

(** The least change in a part, [None] of an empty one. *)

Definition nearest (f : feature) (p : part) : option Q :=
  match own f, p with
  | Num o, Interval lo hi =>
      if Qle_bool lo hi then Some (Qmin 1 (change f (Num (Qmin (Qmax o lo) hi)))) else None
  | Lab _, Among ls => smallest (map (fun i => change f (Lab i)) ls)
  | _, _ => None
  end.
