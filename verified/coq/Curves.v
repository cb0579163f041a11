(** * Smooth functions between whole multiples of 2^-160 (Lemma 15)

    All that is multiplied and added up is at least 0, so what is rounded down at each step is at
    most the exact number, and what is rounded up is at least that. *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool.
From Cfxc Require Import Semantics.
Open Scope Z_scope.

Definition one : Z := 2 ^ 160.
Definition grid (n : Z) : Q := n # (2 ^ 160).
Definition far : Z := 1024 * one.

Definition over (n d : Z) (up : bool) : Z := if up then - (- n / d) else n / d.

(** e^x of 0 <= x <= 1/32: twenty terms, and the last one for all that follow.  The series' numbers
    may be multiples of less. *)

Fixpoint exp_series (unit : Z) (k : nat) (x : Z) (up : bool) : Z * Z :=
  match k with
  | O => (unit, unit)
  | S m =>
      let (term, total) := exp_series unit m x up in
      let term := over (term * x) (Z.of_nat k * one) up in (term, total + term)
  end.

Definition exp_small (x : Z) (up : bool) : Z :=
  let (term, total) := exp_series one 20 x up in if up then total + term else total.

Fixpoint squared (k : nat) (y : Z) (up : bool) : Z :=
  match k with O => y | S k => squared k (over (y * y) one up) up end.

(** Of others, halved until they are so small, and squared as often. *)

Definition exp_positive (x : Z) (up : bool) : Z :=
  let halvings := Z.max (bits x - 160) 0 + 5 in
  squared (Z.to_nat halvings) (exp_small (over x (2 ^ halvings) up) up) up.

Definition exp_at (x : Z) (up : bool) : option Z :=
  if x <? 0
  then Some (if x <? - far then if up then 1 else 0
             else over (one * one) (exp_positive (- x) (negb up)) up)
  else if far <? x then None else Some (exp_positive x up).

(** 1 / (1 + e^-x), and left of 0 e^x / (1 + e^x). *)

Definition sigmoid_at (x : Z) (up : bool) : option Z :=
  match exp_at (- Z.abs x) (Bool.eqb up (x <? 0)) with
  | Some small => Some (over (one * (if x <? 0 then small else one)) (one + small) up)
  | None => None
  end.

(** The slope of that. *)

Definition steep_at (x : Z) (up : bool) : option Z :=
  match sigmoid_at x up, sigmoid_at (- x) up with
  | Some a, Some b => Some (over (a * b) one up)
  | _, _ => None
  end.

(** log (1 + e^x) is max (x, 0) + log (1 + y), y = e^-|x|: 2 (w + w^3 / 3 + ...) with w = y / (2 + y).
    The sum is tried: e^sum, among multiples of 2^-256, is on its side of 1 + y. *)

Fixpoint odd_series (k : nat) (n power square total : Z) (up : bool) : Z :=
  match k with
  | O => 2 * (total + if up then power else 0)
  | S k =>
      odd_series k (n + 2) (over (power * square) one up) square (total + over power n up) up
  end.

Definition fine : Z := 2 ^ 256.

Definition log_of (small : Z) (up : bool) : option Z :=
  let power := over (one * small) (2 * one + small) up in
  let found := odd_series 53 1 power (over (power * power) one up) 0 up in
  let (term, total) := exp_series fine 45 found (negb up) in
  let wanted := (one + small) * 2 ^ 96 in
  if (0 <=? found) && (if up then wanted <=? total else (found <=? one) && (total + term <=? wanted))
  then Some found else None.

Definition softplus_at (x : Z) (up : bool) : option Z :=
  match exp_at (- Z.abs x) up with
  | Some small =>
      match log_of small up with Some l => Some (Z.max x 0 + l) | None => None end
  | None => None
  end.

(** The normal law of x >= 0, 1/2 + e^(-x^2/2) / sqrt (2 pi) (x + x^3/3 + x^5/(3 * 5) + ...), and of
    others 1 less that of -x; and its slope. *)

Definition root (up : bool) : Z :=
  398942280401432677939946059934381868475858631164934657 + if up then 1 else 0.
Definition root_places : Z := 10 ^ 54.

Fixpoint normal_series (k : nat) (x square : Z) (up : bool) : Z * Z :=
  match k with
  | O => (x, x)
  | S m =>
      let (term, total) := normal_series m x square up in
      let term := over (term * square) (Z.of_nat (2 * k + 1) * one) up in (term, total + term)
  end.

Definition wide : Z := 16 * one.

Definition half_square (x : Z) (up : bool) : Z := over (x * x) (2 * one) up.

Definition bell_at (x : Z) (up : bool) : option Z :=
  match exp_at (- half_square x (negb up)) up with
  | Some e => Some (over (e * root up) root_places up)
  | None => None
  end.

Definition normal_positive (x : Z) (up : bool) : option Z :=
  if up && (wide <? x) then Some one
  else
    let square := over (x * x) one up in
    let (term, total) := normal_series (Z.to_nat ((138 + 5 * square / one) / 2)) x square up in
    let total := if up then total + term else total in
    match exp_at (half_square x (negb up)) (negb up) with
    | Some e =>
        Some (Z.min (one / 2 + over (over (total * one) e up * root up) root_places up) one)
    | None => None
    end.

Definition normal_at (x : Z) (up : bool) : option Z :=
  if x <? 0 then match normal_positive (- x) (negb up) with Some a => Some (one - a) | None => None end
  else normal_positive x up.
