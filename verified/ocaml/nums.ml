(* What Coq's numbers are here: integers and fractions of Zarith.  Every function below is what the
   one of the same name in Extract.v computes; fractions are always in lowest terms. *)

type z = Z.t
type q = Q.t

(* Positive numbers by their binary digits, and integers by their signs. *)
let zero = Z.zero
let one = Z.one
let x_zero p = Z.shift_left p 1
let x_one p = Z.succ (Z.shift_left p 1)

let positive odd even last p =
  if Z.equal p Z.one then last ()
  else if Z.is_odd p then odd (Z.shift_right p 1)
  else even (Z.shift_right p 1)

let case none above below z =
  let s = Z.sign z in
  if s = 0 then none () else if s > 0 then above z else below (Z.neg z)

let case_n none above z = if Z.sign z = 0 then none () else above z

let succ = Z.succ
let pred = Z.pred
let add = Z.add
let sub = Z.sub
let mul = Z.mul
let neg = Z.neg
let abs = Z.abs
let sign z = Z.of_int (Z.sign z)
let compare = Z.compare
let equal = Z.equal
let leb = Z.leq
let ltb = Z.lt
let max = Z.max
let min = Z.min
let even = Z.is_even
let odd = Z.is_odd

(* Rounded down, as Coq does; by 0 it is 0, and leaves the number itself. *)
let div a b = if Z.sign b = 0 then Z.zero else Z.fdiv a b
let modulo a b = if Z.sign b = 0 then a else Z.sub a (Z.mul b (Z.fdiv a b))
let div_eucl a b = (div a b, modulo a b)
let gcd = Z.gcd

let pow a n = if Z.sign n < 0 then Z.zero else Z.pow a (Z.to_int n)
let sqrt z = if Z.sign z <= 0 then Z.zero else Z.sqrt z
let log2 z = if Z.sign z <= 0 then Z.zero else Z.of_int (Z.numbits z - 1)
let to_pos z = if Z.sign z <= 0 then Z.one else z
let of_nat = Z.of_int
let to_nat z = if Z.sign z <= 0 then 0 else Z.to_int z

let fraction (n, d) = Q.make n d
let parts f (x : q) = f (Q.num x) (Q.den x)
let num = Q.num
let den = Q.den
let integer = Q.of_bigint
let qadd = Q.add
let qsub = Q.sub
let qmul = Q.mul
let qneg = Q.neg
let qinv x = if Q.sign x = 0 then Q.zero else Q.inv x
let qdiv x y = if Q.sign y = 0 then Q.zero else Q.div x y
let qabs = Q.abs
let qleq = Q.leq
let qequal = Q.equal
let qcompare = Q.compare
let qmin = Q.min
let qmax = Q.max
let floor x = Z.fdiv (Q.num x) (Q.den x)
let ceiling x = Z.cdiv (Q.num x) (Q.den x)

let pow2 e =
  let e = Z.to_int e in
  if e >= 0 then Q.of_bigint (Z.shift_left Z.one e)
  else { Q.num = Z.one; Q.den = Z.shift_left Z.one (-e) }

let nat_leb (a : int) (b : int) = a <= b
let nat_ltb (a : int) (b : int) = a < b
let nat_eqb (a : int) (b : int) = a = b
let nat_compare (a : int) (b : int) = Stdlib.compare a b
let nat_max (a : int) (b : int) = if a < b then b else a
let nat_pred a = if a <= 0 then 0 else a - 1

exception Overflow = Z.Overflow

let of_string = Z.of_string
let to_string = Z.to_string
let q_to_string = Q.to_string
