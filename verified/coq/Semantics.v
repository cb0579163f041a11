(** * What a certificate means

    This file and [Functions.v] are the whole statement.  It defines features and the values that may
    be chosen, the decision, the target, constraints and the distance, over exact rationals, and in
    the end [counterfactual]: a point that the question asks for.  The theorems of [Soundness.v]
    speak of these definitions and of nothing else.  An auditor reads both files and those theorems. *)

From Coq Require Import QArith Qabs Qminmax ZArith List Bool.
From Cfxc Require Export Functions.
Import ListNotations.
Open Scope Q_scope.

(** ** Numbers, and floats *)

Definition pow2 (e : Z) : Q :=
  if (0 <=? e)%Z then inject_Z (2 ^ e) else 1 # Z.to_pos (2 ^ (- e)).

(** Floats of 4 or 8 bytes: [m * 2 ^ e] with [p] binary digits, [e] at least [least].  A third
    format, of 0 bytes, is that of whole numbers, which are not rounded. *)

Inductive width := Bytes0 | Bytes4 | Bytes8.

Definition digits (w : width) : Z := match w with Bytes4 => 24 | _ => 53 end.
Definition least (w : width) : Z := match w with Bytes4 => -149 | _ => -1074 end.

Definition is_float (w : width) (x : Q) : Prop :=
  exists m e : Z,
    x == inject_Z m * pow2 e /\ (Z.abs m <= 2 ^ digits w)%Z /\ (least w <= e)%Z.

(** The nearest whole number, ties to even. *)

Definition round_even (x : Q) : Z :=
  let (n, d) := x in
  let (k, r) := Z.div_eucl n (Zpos d) in
  match Z.compare (2 * r) (Zpos d) with
  | Lt => k
  | Gt => k + 1
  | Eq => if Z.even k then k else k + 1
  end%Z.

(** The exponent [e] of the leading digit of a number: [2 ^ e <= |x| < 2 ^ (e + 1)]. *)

Definition bits (n : Z) : Z := if (n <=? 0)%Z then 0 else Z.log2 n + 1.

Definition leading (x : Q) : Z :=
  let e := (bits (Z.abs (Qnum x)) - bits (Zpos (Qden x)))%Z in
  if Qle_bool (pow2 e) (Qabs x) then e else (e - 1)%Z.

(** The place of the last digit that a float next to [x] has. *)

Definition last_place (w : width) (x : Q) : Z := Z.max (leading x - digits w + 1) (least w).

(** The float nearest to [x], ties to even; whole numbers (0 bytes) stay. *)

Definition fl (w : width) (x : Q) : Q :=
  match w with
  | Bytes0 => x
  | _ => let q := pow2 (last_place w x) in Qred (inject_Z (round_even (x / q)) * q)
  end.

(** ** Features

    A value is a number, or the place of a label.  [own] is the value of the instance that is
    explained. *)

Inductive value := Num (x : Q) | Lab (i : nat).

Inductive action := Free | Fixed | Increase | Decrease.

(** Numbers lie in a range and on a grid: multiples of [step] (as floats), or all floats.  With
    [gap] the instance's number is missing and stays so.  [absent] stands for a missing number
    that may be chosen, or filled in. *)

Record numbers := {
  low : Q; high : Q; step : option Q; bytes : width; gap : bool; absent : option Q }.

Inductive kind := Numbers (n : numbers) | Labels (count : nat) (ordinal : bool).

Record feature := { shape : kind; act : action; weight : Q; own : value }.

Definition features := list feature.
Definition point := list value.

Definition Qeqb := Qeq_bool.

Definition is_absent (n : numbers) (x : Q) : bool :=
  match absent n with Some a => Qeqb x a | None => false end.

Definition on_grid (n : numbers) (x : Q) : Prop :=
  match step n with
  | Some s => exists k : Z, x == fl (bytes n) (fl (match bytes n with Bytes0 => Bytes0 | _ => Bytes8 end)
                                                 (inject_Z k * s))
  | None => is_float (bytes n) x
  end.

(** What [action] leaves of the range. *)

Definition gone (n : numbers) (o : Q) : bool := gap n || is_absent n o.

Definition first (n : numbers) (a : action) (o : Q) : Q :=
  match a with
  | Fixed => o
  | Increase => if gap n then o else if gone n o then low n else o
  | _ => if gap n then o else low n
  end.

Definition upper (n : numbers) (a : action) (o : Q) : Q :=
  match a with
  | Fixed => o
  | Decrease => if gap n then o else if gone n o then high n else o
  | _ => if gap n then o else high n
  end.

Definition admissible_number (n : numbers) (a : action) (o x : Q) : Prop :=
  is_absent n x = true \/
  (first n a o <= x /\ x <= upper n a o /\ (on_grid n x \/ x == o)).

Definition admissible_label (count : nat) (a : action) (o i : nat) : Prop :=
  (i < count)%nat /\
  match a with
  | Free => True | Fixed => i = o | Increase => (o <= i)%nat | Decrease => (i <= o)%nat
  end.

Definition admissible_value (f : feature) (v : value) : Prop :=
  match shape f, own f, v with
  | Numbers n, Num o, Num x => admissible_number n (act f) o x
  | Labels count _, Lab o, Lab i => admissible_label count (act f) o i
  | _, _, _ => False
  end.

Definition admissible (fs : features) (x : point) : Prop := Forall2 admissible_value fs x.

(** How far a value is from the instance's own, from 0 to 1: a number over its range, an ordinal
    over its last place, another label 0 or 1, and 1 between a number and a missing one. *)

Definition over (x : Q) (size : Q) : Q := if Qeqb size 0 then 0 else x / size.

Definition places (i j : nat) : Q := inject_Z (Z.abs (Z.of_nat i - Z.of_nat j)).

Definition change (f : feature) (v : value) : Q :=
  match shape f, own f, v with
  | Numbers n, Num o, Num x =>
      if Bool.eqb (is_absent n x) (is_absent n o)
      then over (Qabs (x - o)) (high n - low n) else 1
  | Labels count true, Lab o, Lab i => over (places i o) (inject_Z (Z.of_nat count - 1))
  | Labels count false, Lab o, Lab i =>
      if Nat.eqb i o then 0 else over 1 (if Nat.leb count 1 then 0 else 1)
  | _, _, _ => 0
  end.

Definition changes (fs : features) (x : point) : list Q := map (fun p => change (fst p) (snd p)) (combine fs x).

(** ** The distance: a mix of l0, l1 and linf, or of l0 and l2 (squared) *)

Record norms := { l0 : Q; l1 : Q; linf : Q; l2 : Q }.

Definition sum (l : list Q) : Q := fold_right Qplus 0 l.
Definition largest (l : list Q) : Q := fold_right Qmax 0 l.

Definition share (fs : features) (f : feature) : Q := weight f / sum (map weight fs).
Definition peak (fs : features) (f : feature) : Q := weight f / largest (map weight fs).

Definition moved (d : Q) : Q := if Qle_bool d 0 then 0 else 1.

Definition cost (n : norms) (s d : Q) : Q := s * (l0 n * moved d + l1 n * d + l2 n * (d * d)).

Definition distance_of (fs : features) (n : norms) (ds : list Q) : Q :=
  sum (map (fun p => cost n (share fs (fst p)) (snd p)) (combine fs ds))
  + linf n * largest (map (fun p => peak fs (fst p) * snd p) (combine fs ds)).

Definition distance (fs : features) (n : norms) (x : point) : Q :=
  distance_of fs n (changes fs x).

(** ** The decision

    A form is a sum of multiples of sources.  Values are made one after the other of forms of
    those before: [max (z, 0)], whether [z >= 0], the float32 next to z, z itself; or the product
    of two.  [Made k] is what the k-th of them gives. *)

Inductive source :=
  | One
  | X (j : nat)                (* the number of feature j *)
  | Is (j i : nat)             (* 1 if feature j has label i, else 0 *)
  | Column (n c : nat)         (* column c of the trees n *)
  | Made (k : nat).

Definition form := list (source * Q).

Inductive curve := Unit | Step | Single | Form | Smooth (f : smooth).

Inductive entry := Image (c : curve) (f : form) | Product (i m : nat).

(** Left if the number is at most the cut, if the label is among those listed, or if what was
    made before (its z) is at most the cut. *)

Inductive tree :=
  | Leaf (values : list Q)
  | Number (j : nat) (cut : Q) (left right : tree)
  | Label (j : nat) (among : list nat) (left right : tree)
  | Test (k : nat) (cut : Q) (left right : tree).

Record program := { made : list entry; trees : list (list tree); outputs : list form }.

Definition number_at (x : point) (j : nat) : Q :=
  match nth_error x j with Some (Num q) => q | _ => 0 end.

Definition label_at (x : point) (j : nat) : option nat :=
  match nth_error x j with Some (Lab i) => Some i | _ => None end.

Definition has_label (x : point) (j i : nat) : bool :=
  match label_at x j with Some l => Nat.eqb l i | None => false end.

Definition among_labels (x : point) (j : nat) (ls : list nat) : bool :=
  match label_at x j with Some l => existsb (Nat.eqb l) ls | None => false end.

Fixpoint reached (t : tree) (x : point) (zs : list Q) : list Q :=
  match t with
  | Leaf vs => vs
  | Number j cut l r => if Qle_bool (number_at x j) cut then reached l x zs else reached r x zs
  | Label j ls l r => if among_labels x j ls then reached l x zs else reached r x zs
  | Test k cut l r => if Qle_bool (nth k zs 0) cut then reached l x zs else reached r x zs
  end.

Definition column (ts : list tree) (c : nat) (x : point) (zs : list Q) : Q :=
  sum (map (fun t => nth c (reached t x zs) 0) ts).

Section Decision.

Context {F : functions}.

(** What is made of z.  Of a product, and of [Form], it is z.  The float32 has no largest one here:
    the checker refuses witnesses, and ranges in proofs, with one of [2 ^ 128] or more. *)

Definition image (c : curve) (z : Q) : Q :=
  match c with
  | Unit => Qmax z 0
  | Step => if Qle_bool 0 z then 1 else 0
  | Single => fl Bytes4 z
  | Form => z
  | Smooth f => value_of f z
  end.

Definition curve_of (e : entry) : curve := match e with Image c _ => c | Product _ _ => Form end.

Definition source_at (p : program) (x : point) (zs : list Q) (s : source) : Q :=
  match s with
  | One => 1
  | X j => number_at x j
  | Is j i => if has_label x j i then 1 else 0
  | Column n c => column (nth n (trees p) []) c x zs
  | Made k => match nth_error (made p) k with
              | Some e => image (curve_of e) (nth k zs 0)
              | None => 0
              end
  end.

Definition form_at (p : program) (x : point) (zs : list Q) (f : form) : Q :=
  sum (map (fun t => snd t * source_at p x zs (fst t)) f).

Definition entry_at (p : program) (x : point) (zs : list Q) (e : entry) : Q :=
  match e with
  | Image _ f => form_at p x zs f
  | Product i m => nth i zs 0 * nth m zs 0
  end.

(** The z of all entries, each of those before it. *)

Definition zs_of (p : program) (x : point) : list Q :=
  fold_left (fun zs e => zs ++ [entry_at p x zs e]) (made p) [].

Definition form_value (p : program) (x : point) (f : form) : Q := form_at p x (zs_of p x) f.

(** ** What is asked *)

Inductive truth :=
  | Nonneg (f : form)           (* f >= 0 *)
  | Positive (f : form)         (* f > 0 *)
  | Not (t : truth)
  | And (ts : list truth)
  | Or (ts : list truth).

Fixpoint true_at (p : program) (x : point) (t : truth) : bool :=
  match t with
  | Nonneg f => Qle_bool 0 (form_value p x f)
  | Positive f => negb (Qle_bool (form_value p x f) 0)
  | Not t => negb (true_at p x t)
  | And ts => forallb (true_at p x) ts
  | Or ts => existsb (true_at p x) ts
  end.

(** The target is a range of the only output; or a label, whose output leads by a margin, the
    first of the largest deciding, and is at least [least_score].  [slack] makes it larger. *)

Inductive target :=
  | Between (lower upper : option Q)
  | Wins (own : nat) (margin : Q) (least_score : option Q).

Definition output (p : program) (x : point) (r : nat) : Q :=
  form_value p x (nth r (outputs p) []).

Definition at_least (bound : option Q) (v slack : Q) : Prop :=
  match bound with Some b => b <= v + slack | None => True end.

Definition in_target (p : program) (t : target) (slack : Q) (x : point) : Prop :=
  match t with
  | Between lower upper =>
      at_least lower (output p x 0) slack /\
      match upper with Some b => output p x 0 <= b + slack | None => True end
  | Wins o margin least_score =>
      at_least least_score (output p x o) slack /\
      forall r, (r < length (outputs p))%nat -> r <> o ->
        let lead := output p x o - output p x r - margin + slack in
        if Nat.ltb r o then 0 < lead else 0 <= lead
  end.

End Decision.

(** A trust region: within a reach of the convex hull of rows, or of one of several hulls.  The
    coordinates of a point are a number over its range; the place of an ordinal over the last; and
    of other labels whether each is there, of two whether the second is.  A feature that cannot
    vary has none. *)

Inductive norm := L1 | L2 | Linf.

Record trust := { trust_norm : norm; trust_reach : Q; trust_hulls : list (list point) }.

Definition axes_at (j : nat) (f : feature) : list form :=
  match shape f with
  | Numbers n =>
      let size := high n - low n in if Qeqb size 0 then [] else [[(X j, 1 / size)]]
  | Labels count true =>
      if Nat.leb count 1 then []
      else [map (fun i => (Is j i, inject_Z (Z.of_nat i) / inject_Z (Z.of_nat count - 1)))
                (seq 1 (count - 1))]
  | Labels count false =>
      if Nat.leb count 1 then []
      else map (fun i => [(Is j i, 1)]) (if Nat.eqb count 2 then [1%nat] else seq 0 count)
  end.

Fixpoint axes_from (j : nat) (l : features) : list form :=
  match l with [] => [] | f :: l => axes_at j f ++ axes_from (S j) l end.

Record region := { in_norm : norm; reach : Q; axes : list form; hulls : list (list point) }.

Definition region_of (l : features) (t : trust) : region :=
  {| in_norm := trust_norm t; reach := trust_reach t; axes := axes_from 0 l;
     hulls := trust_hulls t |}.

Definition features_only : program := {| made := []; trees := []; outputs := [] |}.

Definition coordinate (x : point) (axis : form) : Q :=
  form_value (F := no_functions) features_only x axis.

Definition mean (shares zs : list Q) : Q := sum (map (fun p => fst p * snd p) (combine shares zs)).

Definition size_in (n : norm) (reach : Q) (d : list Q) : Prop :=
  match n with
  | L1 => sum (map Qabs d) <= reach
  | Linf => largest (map Qabs d) <= reach
  | L2 => sum (map (fun a => a * a) d) <= reach * reach
  end.

Definition within_hull (r : region) (rows : list point) (x : point) : Prop :=
  exists shares : list Q,
    length shares = length rows /\ Forall (fun s => 0 <= s) shares /\ sum shares == 1 /\
    size_in (in_norm r) (reach r)
      (map (fun axis => mean shares (map (fun row => coordinate row axis) rows)
                        - coordinate x axis) (axes r)).

Record question := {
  fs : features; prog : program; goal : target; slack : Q; metric : norms;
  constraints : list truth; where_ : option trust }.

Definition region_in (q : question) : option region := option_map (region_of (fs q)) (where_ q).

Definition in_region (r : option region) (x : point) : Prop :=
  match r with
  | None => True
  | Some r => exists rows, In rows (hulls r) /\ within_hull r rows x
  end.

(** Functions that are faithful where the program has them. *)

Definition true_to (F : functions) (p : program) : Prop :=
  forall k f g, nth_error (made p) k = Some (Image (Smooth f) g) -> faithful f (F f).

(** What is asked for: an admissible point with the wanted outcome that breaks no constraint. *)

Definition counterfactual {F : functions} (q : question) (x : point) : Prop :=
  admissible (fs q) x /\ in_target (prog q) (goal q) (slack q) x /\
  (forall t, In t (constraints q) -> true_at (prog q) x t = true) /\
  in_region (region_in q) x.

(** Its distance from the instance; of l2, squared. *)

Definition away (q : question) (x : point) : Q := distance (fs q) (metric q) x.
