(** * The checker as an OCaml program

    What is trusted besides Coq's extraction: the realizers in ocaml/nums.ml (numbers of Zarith),
    and natural numbers as machine integers, which count what is in a file. *)

From Coq Require Extraction.
From Coq Require Import ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlNativeString.
From Coq Require Import String Ascii QArith Qabs Qminmax Qround ZArith List.
From Cfxc Require Import Semantics Features Payments Forms Checker Claims Decode.

Extract Inductive positive => "Nums.z"
  [ "Nums.x_one" "Nums.x_zero" "Nums.one" ] "Nums.positive".
Extract Inductive Z => "Nums.z" [ "Nums.zero" "(fun p -> p)" "Nums.neg" ] "Nums.case".
Extract Inductive N => "Nums.z" [ "Nums.zero" "(fun p -> p)" ] "Nums.case_n".
Extract Inductive Q => "Nums.q" [ "Nums.fraction" ] "Nums.parts".
Extract Inductive comparison => "int" [ "0" "(-1)" "1" ]
  "(fun eq lt gt c -> if c = 0 then eq () else if c < 0 then lt () else gt ())".

Extract Inlined Constant Pos.succ => "Nums.succ".
Extract Inlined Constant Pos.add => "Nums.add".
Extract Inlined Constant Pos.mul => "Nums.mul".
Extract Inlined Constant Pos.pow => "Nums.pow".
Extract Inlined Constant Pos.compare => "Nums.compare".
Extract Inlined Constant Pos.eqb => "Nums.equal".
Extract Inlined Constant Pos.leb => "Nums.leb".
Extract Inlined Constant Pos.ltb => "Nums.ltb".
Extract Inlined Constant Z.succ => "Nums.succ".
Extract Inlined Constant Z.pred => "Nums.pred".
Extract Inlined Constant Z.add => "Nums.add".
Extract Inlined Constant Z.sub => "Nums.sub".
Extract Inlined Constant Z.mul => "Nums.mul".
Extract Inlined Constant Z.opp => "Nums.neg".
Extract Inlined Constant Z.abs => "Nums.abs".
Extract Inlined Constant Z.sgn => "Nums.sign".
Extract Inlined Constant Z.compare => "Nums.compare".
Extract Inlined Constant Z.eqb => "Nums.equal".
Extract Inlined Constant Z.leb => "Nums.leb".
Extract Inlined Constant Z.ltb => "Nums.ltb".
Extract Inlined Constant Z.max => "Nums.max".
Extract Inlined Constant Z.min => "Nums.min".
Extract Inlined Constant Z.even => "Nums.even".
Extract Inlined Constant Z.odd => "Nums.odd".
Extract Inlined Constant Z.div_eucl => "Nums.div_eucl".
Extract Inlined Constant Z.div => "Nums.div".
Extract Inlined Constant Z.modulo => "Nums.modulo".
Extract Inlined Constant Z.gcd => "Nums.gcd".
Extract Inlined Constant Z.pow => "Nums.pow".
Extract Inlined Constant Z.sqrt => "Nums.sqrt".
Extract Inlined Constant Z.log2 => "Nums.log2".
Extract Inlined Constant Z.to_pos => "Nums.to_pos".
Extract Inlined Constant Z.of_nat => "Nums.of_nat".
Extract Inlined Constant Z.to_nat => "Nums.to_nat".

Extract Inlined Constant inject_Z => "Nums.integer".
Extract Inlined Constant Qnum => "Nums.num".
Extract Inlined Constant Qden => "Nums.den".
Extract Inlined Constant Qplus => "Nums.qadd".
Extract Inlined Constant Qminus => "Nums.qsub".
Extract Inlined Constant Qmult => "Nums.qmul".
Extract Inlined Constant Qopp => "Nums.qneg".
Extract Inlined Constant Qinv => "Nums.qinv".
Extract Inlined Constant Qdiv => "Nums.qdiv".
Extract Inlined Constant Qabs.Qabs => "Nums.qabs".
Extract Inlined Constant Qred => "(fun q -> q)".
Extract Inlined Constant Qle_bool => "Nums.qleq".
Extract Inlined Constant Qeq_bool => "Nums.qequal".
Extract Inlined Constant Qcompare => "Nums.qcompare".
Extract Inlined Constant Qmin => "Nums.qmin".
Extract Inlined Constant Qmax => "Nums.qmax".
Extract Inlined Constant Qfloor => "Nums.floor".
Extract Inlined Constant Qceiling => "Nums.ceiling".
Extract Inlined Constant Semantics.pow2 => "Nums.pow2".

Extract Inlined Constant Nat.leb => "Nums.nat_leb".
Extract Inlined Constant Nat.ltb => "Nums.nat_ltb".
Extract Inlined Constant Nat.eqb => "Nums.nat_eqb".
Extract Inlined Constant Nat.compare => "Nums.nat_compare".
Extract Inlined Constant Nat.max => "Nums.nat_max".
Extract Inlined Constant Nat.pred => "Nums.nat_pred".
Extract Inlined Constant nat_of_ascii => "Char.code".
Extract Inlined Constant String.compare => "Stdlib.compare".
Extract Inlined Constant app => "List.append".
Extract Inlined Constant rev_append => "List.rev_append".

Extraction "ocaml/core.ml" Decode.verdict_on Decode.number Claims.is_beyond.
