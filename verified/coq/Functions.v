(** * What is said of smooth functions

    Their values are no fractions, so the decision is evaluated with any function that is
    [faithful]: that rises, and is never off by more than [tiny].  First e^z.  Of z >= 0 it is the
    least number that no sum of z^i / i! exceeds; of others 1 / e^-z.  [exp_least a z] says that a is at most e^z, and
    [exp_most b z] that b is at least that. *)

From Coq Require Import QArith Qabs Qminmax ZArith.
Open Scope Q_scope.

Inductive smooth := Exp | Sigmoid | Softplus | Normal.

Definition of_nat (n : nat) : Q := inject_Z (Z.of_nat n).

Fixpoint exp_term (n : nat) (z : Q) : Q :=
  match n with O => 1 | S m => exp_term m z * (z / of_nat n) end.

Fixpoint exp_sum (n : nat) (z : Q) : Q :=
  match n with O => 1 | S m => exp_sum m z + exp_term n z end.

Definition exp_least (a z : Q) : Prop :=
  if Qle_bool 0 z then exists n, a <= exp_sum n z else forall n, a * exp_sum n (- z) <= 1.

Definition exp_most (b z : Q) : Prop :=
  if Qle_bool 0 z then forall n, exp_sum n z <= b else exists n, 1 <= b * exp_sum n (- z).

(** e^(-z^2/2) / sqrt (2 pi), the slope of the normal law; and z + z^3/3 + z^5/(3 * 5) + ..., which
    times that slope is what the law adds to 1/2. *)

Definition root_low : Q := 398942280401432677939946059934381868475858631164934657 # (10 ^ 54).
Definition root_high : Q := 398942280401432677939946059934381868475858631164934658 # (10 ^ 54).

Definition bell_least (a z : Q) : Prop :=
  exists e, 0 <= e /\ exp_least e (- (z * z / 2)) /\ a <= e * root_low.

Definition bell_most (b z : Q) : Prop :=
  exists e, exp_most e (- (z * z / 2)) /\ e * root_high <= b.

Fixpoint normal_term (n : nat) (z : Q) : Q :=
  match n with O => z | S m => normal_term m z * (z * z / of_nat (2 * n + 1)) end.

Fixpoint normal_sum (n : nat) (z : Q) : Q :=
  match n with O => z | S m => normal_sum m z + normal_term n z end.

Definition normal_above (a z : Q) : Prop :=   (* a is at most the law at z >= 0 *)
  exists n s, bell_least s z /\ a <= (1 # 2) + s * normal_sum n z.

Definition normal_below (b z : Q) : Prop :=
  1 <= b \/ exists s t, bell_most s z /\ (forall n, normal_sum n z <= t) /\ (1 # 2) + s * t <= b.

(** What the value of a function at z is not below, and what it does not exceed: e^z, 1/(1 + e^-z),
    log (1 + e^z), which is max (z, 0) + log (1 + e^-|z|), and the normal law. *)

Definition value_least (f : smooth) (a z : Q) : Prop :=
  match f with
  | Exp => exp_least a z
  | Sigmoid => exists e, 0 <= e /\ exp_least e z /\ a <= e / (1 + e)
  | Softplus => exists e, exp_least e (- Qabs z) /\ exp_most (1 + e) (a - Qmax z 0)
  | Normal => if Qle_bool 0 z then normal_above a z else normal_below (1 - a) (- z)
  end.

Definition value_most (f : smooth) (b z : Q) : Prop :=
  match f with
  | Exp => exp_most b z
  | Sigmoid => exists e, exp_most e z /\ e / (1 + e) <= b
  | Softplus => exists e, exp_most e (- Qabs z) /\ exp_least (1 + e) (b - Qmax z 0)
  | Normal => if Qle_bool 0 z then normal_below b z else normal_above (1 - b) (- z)
  end.

(** The same of their slopes.  Three are nowhere steeper than this. *)

Definition steepest (f : smooth) : option Q :=
  match f with Exp => None | Sigmoid => Some (1 # 4) | Softplus => Some 1 | Normal => Some (2 # 5) end.

Definition slope_least (f : smooth) (s z : Q) : Prop :=
  s <= 0 \/
  match f with
  | Exp => exp_least s z
  | Sigmoid => exists a b, 0 <= a /\ 0 <= b /\ value_least Sigmoid a z /\
                           value_least Sigmoid b (- z) /\ s <= a * b
  | Softplus => value_least Sigmoid s z
  | Normal => bell_least s z
  end.

Definition slope_most (f : smooth) (s z : Q) : Prop :=
  match steepest f with Some k => k <= s | None => False end \/
  match f with
  | Exp => exp_most s z
  | Sigmoid => exists a b, value_most Sigmoid a z /\ value_most Sigmoid b (- z) /\ a * b <= s
  | Softplus => value_most Sigmoid s z
  | Normal => bell_most s z
  end.

(** Where they are convex, and where concave. *)

Definition convex (f : smooth) (z : Q) : Prop :=
  match f with Exp | Softplus => True | Sigmoid | Normal => z <= 0 end.
Definition concave (f : smooth) (z : Q) : Prop :=
  match f with Exp | Softplus => False | Sigmoid | Normal => 0 <= z end.

(** A function has these values if it lies between the multiples of 2^-1000 next to them. *)

Definition multiple (n : Z) : Q := n # (2 ^ 1000).
Definition tiny : Q := multiple 1.

Definition has_values (f : smooth) (F : Q -> Q) : Prop := forall z n,
  (value_least f (multiple n) z -> multiple n <= F z) /\
  (value_most f (multiple n) z -> F z <= multiple n).

(** It lies beside its tangents and chords, but for what this leaves of each.  Of e^z and
    1/(1 + e^-z) that follows ([shape_of]); of the others it is what is meant by them. *)

Record shaped (f : smooth) (F : Q -> Q) : Prop := {
  has_slopes : forall y z s t, slope_least f s y -> slope_most f t y ->
    (convex f y -> convex f z ->
       F y + Qmin (s * (z - y)) (t * (z - y)) - 2 * tiny <= F z) /\
    (concave f y -> concave f z ->
       F z <= F y + Qmax (s * (z - y)) (t * (z - y)) + 2 * tiny);
  bends : forall x y z, x <= y -> y <= z ->
    let chord := (z - y) * F x + (y - x) * F z in
    (convex f x -> convex f z -> (z - x) * F y <= chord + (z - x) * (2 * tiny)) /\
    (concave f x -> concave f z -> chord <= (z - x) * (F y + 2 * tiny)) }.

Record faithful (f : smooth) (F : Q -> Q) : Prop := {
  rises : forall y z, y <= z -> F y <= F z;
  values : has_values f F;
  has_shape : match f with Exp | Sigmoid => True | Softplus | Normal => shaped f F end }.

Class functions := value_of : smooth -> Q -> Q.

Definition no_functions : functions := fun _ _ => 0.
