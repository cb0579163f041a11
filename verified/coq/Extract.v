(** * The checker as an OCaml program

    What is trusted besides Coq's extraction: the realizers in ocaml/nums.ml (numbers of Zarith),
    and natural numbers as machine integers, which count what is in a file. *)

(* Whole names: of Coq's library all but pow2.  No other file replaces anything; `make check` looks,
   and has the hash of this one as it was reviewed. *)
From Coq Require Extraction.
From Coq Require Import ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlNativeString.
From Coq Require Import String Ascii QArith Qabs Qminmax Qround ZArith List.
From Cfxc Require Import Semantics Features Payments Forms Checker Claims Decode.

Extract Inductive Coq.Numbers.BinNums.positive => "Nums.z"
  [ "Nums.x_one" "Nums.x_zero" "Nums.one" ] "Nums.positive".
Extract Inductive Coq.Numbers.BinNums.Z => "Nums.z"
  [ "Nums.zero" "(fun p -> p)" "Nums.neg" ] "Nums.case".
Extract Inductive Coq.Numbers.BinNums.N => "Nums.z" [ "Nums.zero" "(fun p -> p)" ] "Nums.case_n".
Extract Inductive Coq.QArith.QArith_base.Q => "Nums.q" [ "Nums.fraction" ] "Nums.parts".
Extract Inductive Coq.Init.Datatypes.comparison => "int" [ "0" "(-1)" "1" ]
  "(fun eq lt gt c -> if c = 0 then eq () else if c < 0 then lt () else gt ())".

Extract Inlined Constant Coq.PArith.BinPos.Pos.succ => "Nums.succ".
Extract Inlined Constant Coq.PArith.BinPos.Pos.add => "Nums.add".
Extract Inlined Constant Coq.PArith.BinPos.Pos.mul => "Nums.mul".
Extract Inlined Constant Coq.PArith.BinPos.Pos.pow => "Nums.pow".
Extract Inlined Constant Coq.PArith.BinPos.Pos.compare => "Nums.compare".
Extract Inlined Constant Coq.PArith.BinPos.Pos.eqb => "Nums.equal".
Extract Inlined Constant Coq.PArith.BinPos.Pos.leb => "Nums.leb".
Extract Inlined Constant Coq.PArith.BinPos.Pos.ltb => "Nums.ltb".
Extract Inlined Constant Coq.ZArith.BinInt.Z.succ => "Nums.succ".
Extract Inlined Constant Coq.ZArith.BinInt.Z.pred => "Nums.pred".
Extract Inlined Constant Coq.ZArith.BinInt.Z.add => "Nums.add".
Extract Inlined Constant Coq.ZArith.BinInt.Z.sub => "Nums.sub".
Extract Inlined Constant Coq.ZArith.BinInt.Z.mul => "Nums.mul".
Extract Inlined Constant Coq.ZArith.BinInt.Z.opp => "Nums.neg".
Extract Inlined Constant Coq.ZArith.BinInt.Z.abs => "Nums.abs".
Extract Inlined Constant Coq.ZArith.BinInt.Z.sgn => "Nums.sign".
Extract Inlined Constant Coq.ZArith.BinInt.Z.compare => "Nums.compare".
Extract Inlined Constant Coq.ZArith.BinInt.Z.eqb => "Nums.equal".
Extract Inlined Constant Coq.ZArith.BinInt.Z.leb => "Nums.leb".
Extract Inlined Constant Coq.ZArith.BinInt.Z.ltb => "Nums.ltb".
Extract Inlined Constant Coq.ZArith.BinInt.Z.max => "Nums.max".
Extract Inlined Constant Coq.ZArith.BinInt.Z.min => "Nums.min".
Extract Inlined Constant Coq.ZArith.BinInt.Z.even => "Nums.even".
Extract Inlined Constant Coq.ZArith.BinInt.Z.odd => "Nums.odd".
Extract Inlined Constant Coq.ZArith.BinInt.Z.div_eucl => "Nums.div_eucl".
Extract Inlined Constant Coq.ZArith.BinInt.Z.div => "Nums.div".
Extract Inlined Constant Coq.ZArith.BinInt.Z.modulo => "Nums.modulo".
Extract Inlined Constant Coq.ZArith.BinInt.Z.gcd => "Nums.gcd".
Extract Inlined Constant Coq.ZArith.BinInt.Z.pow => "Nums.pow".
Extract Inlined Constant Coq.ZArith.BinInt.Z.sqrt => "Nums.sqrt".
Extract Inlined Constant Coq.ZArith.BinInt.Z.log2 => "Nums.log2".
Extract Inlined Constant Coq.ZArith.BinInt.Z.to_pos => "Nums.to_pos".
Extract Inlined Constant Coq.ZArith.BinInt.Z.of_nat => "Nums.of_nat".
Extract Inlined Constant Coq.ZArith.BinInt.Z.to_nat => "Nums.to_nat".

Extract Inlined Constant Coq.QArith.QArith_base.inject_Z => "Nums.integer".
Extract Inlined Constant Coq.QArith.QArith_base.Qnum => "Nums.num".
Extract Inlined Constant Coq.QArith.QArith_base.Qden => "Nums.den".
Extract Inlined Constant Coq.QArith.QArith_base.Qplus => "Nums.qadd".
Extract Inlined Constant Coq.QArith.QArith_base.Qminus => "Nums.qsub".
Extract Inlined Constant Coq.QArith.QArith_base.Qmult => "Nums.qmul".
Extract Inlined Constant Coq.QArith.QArith_base.Qopp => "Nums.qneg".
Extract Inlined Constant Coq.QArith.QArith_base.Qinv => "Nums.qinv".
Extract Inlined Constant Coq.QArith.QArith_base.Qdiv => "Nums.qdiv".
Extract Inlined Constant Coq.QArith.Qabs.Qabs => "Nums.qabs".
Extract Inlined Constant Coq.QArith.Qreduction.Qred => "(fun q -> q)".
Extract Inlined Constant Coq.QArith.QArith_base.Qle_bool => "Nums.qleq".
Extract Inlined Constant Coq.QArith.QArith_base.Qeq_bool => "Nums.qequal".
Extract Inlined Constant Coq.QArith.QArith_base.Qcompare => "Nums.qcompare".
Extract Inlined Constant Coq.QArith.Qminmax.Qmin => "Nums.qmin".
Extract Inlined Constant Coq.QArith.Qminmax.Qmax => "Nums.qmax".
Extract Inlined Constant Coq.QArith.Qround.Qfloor => "Nums.floor".
Extract Inlined Constant Coq.QArith.Qround.Qceiling => "Nums.ceiling".
Extract Inlined Constant Cfxc.Semantics.pow2 => "Nums.pow2".

Extract Inlined Constant Coq.Arith.PeanoNat.Nat.leb => "Nums.nat_leb".
Extract Inlined Constant Coq.Arith.PeanoNat.Nat.ltb => "Nums.nat_ltb".
Extract Inlined Constant Coq.Arith.PeanoNat.Nat.eqb => "Nums.nat_eqb".
Extract Inlined Constant Coq.Arith.PeanoNat.Nat.compare => "Nums.nat_compare".
Extract Inlined Constant Coq.Arith.PeanoNat.Nat.max => "Nums.nat_max".
Extract Inlined Constant Coq.Arith.PeanoNat.Nat.pred => "Nums.nat_pred".
Extract Inlined Constant Coq.Strings.Ascii.nat_of_ascii => "Char.code".
Extract Inlined Constant Coq.Strings.String.compare => "Stdlib.compare".
Extract Inlined Constant Coq.Init.Datatypes.app => "List.append".
Extract Inlined Constant Coq.Lists.List.rev_append => "List.rev_append".

Extraction "ocaml/core.ml" Cfxc.Decode.verdict_on Cfxc.Decode.number Cfxc.Claims.is_beyond.
