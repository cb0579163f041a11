(** * Rounding: what a decision evaluated in floats may be, and the slack that covers it

    The first part is the model: [machine], what an evaluation of a program in floats may give.
    An auditor reads it and the theorems of RoundingProofs.v; these show too that operations which
    give the nearest float, fused or not, are what the model says of operations ([nearest_adds] and
    those beside it).  The second part is the computation of the slack, that of slack.py (Lemma 13).

    What the model takes as given: the machine evaluates the program as it is written, form by form;
    it reads numbers as the floats next to them; and trees compare exact numbers with their cuts. *)

From Coq Require Import QArith Qabs Qminmax ZArith List Bool Permutation FMapPositive.
From Cfxc Require Import Semantics Features Payments Forms Checker Rows Witness Claims.
Import ListNotations.
Open Scope Q_scope.

(** ** The model *)

Inductive floats := Doubles | Singles.

Definition format (f : floats) : width := match f with Doubles => Bytes8 | Singles => Bytes4 end.

(** Half a unit in the last place of 1; half of the least float; half of the power of two that is
    beyond all floats; whole numbers up to [wholes] are floats. *)

Definition unit_ (f : floats) : Q := match f with Doubles => pow2 (-53) | Singles => pow2 (-24) end.
Definition eta (f : floats) : Q := match f with Doubles => pow2 (-1075) | Singles => pow2 (-150) end.
Definition top (f : floats) : Q := match f with Doubles => pow2 1023 | Singles => pow2 127 end.
Definition wholes (f : floats) : Q := inject_Z (2 ^ digits (format f)).

(** One operation whose exact result is [e] gives [y]: off by half a unit in the last place, or by
    [lost] where it may underflow; and rightly if [e] is a float.  Of what is too large nothing is
    said. *)

Definition gives (f : floats) (lost e y : Q) : Prop :=
  Qabs e < top f ->
  Qabs (y - e) <= unit_ f * Qabs e + lost /\ (is_float (format f) e -> y == e).

(** A product of a factor [a] and a value [s].  The factor is rounded, and the product; times 0, 1
    or -1 nothing is lost.  (A product that is added unrounded, as fused operations do, is one
    that is off by 0; and what these lose by underflow the product may lose.) *)

Definition is_trivial (a : Q) : Prop := a == 0 \/ Qabs a == 1.

Definition multiplied (f : floats) (a s y : Q) : Prop :=
  exists b, gives f (eta f) a b /\ gives f (eta f) (b * s) y /\
            (is_trivial b \/ is_trivial s -> y == b * s).

(** Numbers are added in any order, two sums at a time; sums of floats do not underflow.  (Where
    evaluation starts at 0, or adds zeros, nothing is lost, so these are no additions.) *)

Inductive added (f : floats) : list Q -> Q -> Prop :=
  | added_none y : y == 0 -> added f [] y
  | added_one t y : y == t -> added f [t] y
  | added_two l m a b y : l <> [] -> m <> [] -> added f l a -> added f m b ->
      gives f 0 (a + b) y -> added f (l ++ m) y
  | added_order l m y : Permutation l m -> added f l y -> added f m y.

(** [gamma n] is n' u / (1 - n' u), where n' is n + 2: the bound on n' roundings, one after another
    (Higham, Accuracy and Stability of Numerical Algorithms, Lemma 3.1). *)

Definition gamma (f : floats) (n : nat) : option Q :=
  let part := (inject_Z (Z.of_nat n) + 2) * unit_ f in
  if Qltb part 1 then Some (Qred (part / (1 - part))) else None.

(** Column [c] of trees.  They compare numbers as they are, and what was made as it was computed.
    The leaves, each rounded once, are added in any order. *)

Definition summed_leaves (f : floats) (ls : list Q) (v : Q) : Prop :=
  exists ps, Forall2 (gives f (eta f)) ls ps /\ added f ps v.

Definition leaves_at (ts : list tree) (c : nat) (x : point) (vals : list Q) : list Q :=
  map (fun t => nth c (reached t x vals) 0) ts.

Section Machine.

Context {Curves : functions}.

(** A source, where [vals] was made before.  A number is read as the float next to it. *)

Definition machine_source (f : floats) (p : program) (x : point) (vals : list Q) (s : source)
  (v : Q) : Prop :=
  match s with
  | One => v == 1
  | X j => Qabs (number_at x j) < top f -> v == fl (format f) (number_at x j)
  | Is j i => v == (if has_label x j i then 1 else 0)
  | Column n c => summed_leaves f (leaves_at (nth n (trees p) []) c x vals) v
  | Made k => v == nth k vals 0
  end.

(** A form that is one value, or its negative: nothing is multiplied or added. *)

Definition one_value (g : form) : bool :=
  match g with
  | [(One, _)] => false
  | [(_, a)] => Qeqb (Qabs a) 1
  | _ => false
  end.

Definition machine_form (f : floats) (p : program) (x : point) (vals : list Q) (g : form) (z : Q)
  : Prop :=
  exists vs, Forall2 (fun t v => machine_source f p x vals (fst t) v) g vs /\
  if one_value g then z == sum (map (fun t => snd (fst t) * snd t) (combine g vs))
  else exists ps, Forall2 (fun t y => multiplied f (snd (fst t)) (snd t) y) (combine g vs) ps /\
                  added f ps z.

(** What is made of a computed z.  A float32 is the one next to it, unless that is too large.  Smooth
    functions are off by 63 units in the last place of |z| + 1, which is larger than their value. *)

Definition machine_image (f : floats) (c : curve) (z v : Q) : Prop :=
  match c with
  | Single => Qabs z < pow2 127 -> v == fl Bytes4 z
  | Smooth s => Qabs (v - value_of s z) <= 126 * unit_ f * (Qabs z + 1) + eta f
  | c => v == image c z
  end.

Definition machine_entry (f : floats) (p : program) (x : point) (vals : list Q) (e : entry) (v : Q)
  : Prop :=
  match e with
  | Image c g => exists z, machine_form f p x vals g z /\ machine_image f c z v
  | Product i m => gives f (eta f) (nth i vals 0 * nth m vals 0) v
  end.

(** An evaluation of a program: what is made, one after the other, and the outputs. *)

Definition machine (f : floats) (p : program) (x : point) (vals outs : list Q) : Prop :=
  (forall k e, nth_error (made p) k = Some e -> machine_entry f p x vals e (nth k vals 0)) /\
  Forall2 (machine_form f p x vals) (outputs p) outs.

End Machine.

(** The outcome of outputs: [in_target] of Semantics.v, of what was computed and without slack. *)

Definition outs_in_target (t : target) (outs : list Q) : Prop :=
  let out r := nth r outs 0 in
  match t with
  | Between lower upper =>
      at_least lower (out 0%nat) 0 /\
      match upper with Some b => out 0%nat <= b | None => True end
  | Wins o margin least_score =>
      at_least least_score (out o) 0 /\
      forall r, (r < length outs)%nat -> r <> o ->
        let lead := out o - out r - margin in
        if Nat.ltb r o then 0 < lead else 0 <= lead
  end.

(** ** The slack that covers it: sizes, and errors *)

Module P := PositiveMap.

Definition key_of (n : nat) : positive := Z.to_pos (Z.of_nat n + 1).
Definition look {A} (n : nat) (m : P.t A) : option A := P.find (key_of n) m.
Definition put {A} (n : nat) (a : A) (m : P.t A) : P.t A := P.add (key_of n) a m.

Fixpoint placed {A} (j : nat) (l : list A) (m : P.t A) : P.t A :=
  match l with [] => m | a :: l => placed (S j) l (put j a m) end.

(** No larger than [size_], and off by at most [off]; [bit]: it is 0 or 1. *)

Record bound_ := { size_ : Q; off : Q; bit : bool }.

Definition exact (size : Q) (bit : bool) : bound_ := {| size_ := size; off := 0; bit := bit |}.

Definition summed (l : list Q) : Q := fold_right (fun a s => Qred (a + s)) 0 l.

(** A number of a feature: its size, and whether all admissible values are floats.  (Of doubles they
    always are: the reader makes sure of what is asked here.) *)

Definition is_held (f : floats) (n : numbers) (o size : Q) : bool :=
  let w := format f in
  match bytes n, f with
  | Bytes4, _ | Bytes8, Doubles => true
  | _, _ => match step n with Some s => Qeqb s 1 && Qle_bool size (wholes f) | None => false end
  end && forallb (fun a => Qeqb (fl w a) a) (o :: some_list (absent n)).

Definition number_bound (f : floats) (t : feature) : option bound_ :=
  match shape t, own t with
  | Numbers n, Num o =>
      match everything t with
      | None => None
      | Some p =>
          let size := match p with Interval lo hi => Qmax (Qabs lo) (Qabs hi) | _ => 0 end in
          Some {| size_ := size; bit := false;
                  off := if is_held f n o size then 0 else Qred (unit_ f * size + eta f) |}
      end
  | _, _ => None
  end.

(** The largest value of a column in a tree's leaves. *)

Fixpoint tallest (c : nat) (t : tree) : Q :=
  match t with
  | Leaf vs => Qabs (nth c vs 0)
  | Number _ _ l r | Label _ _ l r | Test _ _ l r => Qmax (tallest c l) (tallest c r)
  end.

Definition trees_bound (f : floats) (ts : list tree) (c : nat) : option bound_ :=
  let size := summed (map (tallest c) ts) in
  match gamma f (length ts) with
  | None => None
  | Some g =>
      let off := Qred (g * size + (1 + g) * (inject_Z (Z.of_nat (length ts)) * eta f)) in
      if Qltb (size + off) (top f) then Some {| size_ := size; off := off; bit := false |} else None
  end.

Section Slack.

Variables (f : floats) (ensembles : P.t (list tree)) (numbers_ : P.t (option bound_)).

Definition source_bound (known : P.t bound_) (s : source) : option bound_ :=
  match s with
  | One => Some (exact 1 false)
  | Is _ _ => Some (exact 1 true)
  | X j => match look j numbers_ with
           | Some (Some b) => if Qltb (size_ b) (top f) then Some b else None
           | _ => None
           end
  | Column n c => match look n ensembles with Some ts => trees_bound f ts c | None => None end
  | Made k => look k known
  end.

(** Each term of a form with what is known of its source. *)

Definition term_bound (known : P.t bound_) (t : source * Q) : option (source * Q * bound_) :=
  match source_bound known (fst t) with
  | Some b => if Qltb (Qabs (snd t)) (top f) then Some (t, b) else None
  | None => None
  end.

Definition terms_bound (known : P.t bound_) (g : form) := option_list (term_bound known) g.

Definition factor_size (t : source * Q * bound_) : Q := Qabs (snd (fst t)).

Definition fitting (size off : Q) : option (Q * Q) :=
  if Qltb (size + off) (top f) then Some (size, off) else None.

(** A sum of products: how large, and how far off. *)

Definition form_bound (g : form) (l : list (source * Q * bound_)) : option (Q * Q) :=
  let size := summed (map (fun t => factor_size t * size_ (snd t)) l) in
  let carried := summed (map (fun t => factor_size t * off (snd t)) l) in
  if one_value g then fitting size carried
  else
    match gamma f (length g) with
    | None => None
    | Some c =>
        let under := summed (map (fun t => 1 + 2 * (size_ (snd t) + off (snd t))) l) in
        let lost := Qred (carried + eta f * under) in
        fitting size (Qred (lost + c * (size + lost)))
    end.

(** Whether the sign of a sum is computed rightly: wholes, or an exact number against a float. *)

Definition is_whole (a : Q) : bool := Pos.eqb (Qden (Qred a)) 1.

Definition is_constant (t : source * Q) : bool := match fst t with One => true | _ => false end.

Definition is_column (s : source) : bool := match s with Column _ _ => true | _ => false end.

Definition float_held (c : Q) : bool :=
  let c := Qred c in
  Qle_bool (inject_Z (Z.abs (Qnum c))) (wholes f) &&
  Qle_bool (inject_Z (Zpos (Qden c))) (pow2 140) && Qeqb (fl (format f) c) c.

Definition exact_sign (g : form) (l : list (source * Q * bound_)) : bool :=
  let inner := filter (fun t => negb (is_constant (fst t))) l in
  if forallb (fun t => bit (snd t) && Qeqb (off (snd t)) 0) inner
  then forallb (fun t => is_whole (snd t)) g &&
       Qle_bool (summed (map (fun t => Qabs (snd t)) g)) (wholes f)
  else
    match inner, filter is_constant g with
    | [(s, a, b)], constants =>
        Qeqb (Qabs a) 1 && negb (is_column s) && Qeqb (off b) 0 &&
        match constants with [] => true | [(_, c)] => float_held c | _ => false end
    | _, _ => false
    end.

Definition of_number (g : form) : bool :=
  match g with [(X _, a)] => Qeqb (Qabs a) 1 | _ => false end.

(** A float32 may be rounded to another one.  One that is the number of a feature is not: of doubles
    because these are held, of singles because what was read is rounded to itself. *)

Definition single_bound (g : form) (size off_ : Q) : option bound_ :=
  if Qltb (size + off_) (pow2 127) then
    let more := Qred (pow2 (-24) * (size + off_) + pow2 (-150)) in
    let singles := match f with Singles => true | Doubles => false end in
    Some {| size_ := Qred (size + more); bit := false;
            off := if of_number g && singles then 0
                   else if negb (Qeqb off_ 0) || singles then Qred (off_ + 2 * more) else off_ |}
  else None.

Definition image_bound (c : curve) (g : form) (l : list (source * Q * bound_)) (size off_ : Q)
  : option bound_ :=
  match c with
  | Step => if exact_sign g l then Some (exact 1 true) else None
  | Single => single_bound g size off_
  | Unit | Form => Some {| size_ := size; off := off_; bit := false |}
  | Smooth s =>
      match steepest s with
      | Some k =>
          let size := Qred (size + off_ + 1) in
          Some {| size_ := size; bit := false;
                  off := Qred (k * off_ + 128 * unit_ f * size + eta f) |}
      | None => None
      end
  end.

(** A product, rounded once. *)

Definition product_bound (a b : bound_) : option bound_ :=
  let off_ := Qred (size_ a * off b + off a * size_ b + off a * off b) in
  let size := Qred (size_ a * size_ b) in
  if Qltb (size + off_) (top f)
  then Some {| size_ := size; off := Qred (off_ + unit_ f * (size + off_) + eta f); bit := false |}
  else None.

Definition entry_bound (known : P.t bound_) (e : entry) : option bound_ :=
  match e with
  | Image c g =>
      match terms_bound known g with
      | None => None
      | Some l => match form_bound g l with
                  | Some (size, off_) => image_bound c g l size off_
                  | None => None
                  end
      end
  | Product i m =>
      match look i known, look m known with
      | Some a, Some b => product_bound a b
      | _, _ => None
      end
  end.

Fixpoint entries_bound (k : nat) (known : P.t bound_) (es : list entry) : option (P.t bound_) :=
  match es with
  | [] => Some known
  | e :: es => match entry_bound known e with
               | Some b => entries_bound (S k) (put k b known) es
               | None => None
               end
  end.

(** Trees test only what is computed without error. *)

Fixpoint tests_exact (known : P.t bound_) (t : tree) : bool :=
  match t with
  | Leaf _ => true
  | Number _ _ l r | Label _ _ l r => tests_exact known l && tests_exact known r
  | Test k _ l r =>
      match look k known with Some b => Qeqb (off b) 0 | None => false end &&
      tests_exact known l && tests_exact known r
  end.

Definition output_bound (known : P.t bound_) (g : form) : option (Q * Q) :=
  match terms_bound known g with Some l => form_bound g l | None => None end.

End Slack.

(** The rows of a target: of each what its outputs' bounds [of] sum up to. *)

Definition rows_sum (t : target) (of : list Q) : list Q :=
  match t with
  | Between lower upper =>
      map (fun _ => nth 0 of 0) (some_list lower ++ some_list upper)
  | Wins o _ least_score =>
      let own_ := nth o of 0 in
      map (fun r => Qred (own_ + snd r))
          (filter (fun r => negb (Nat.eqb (fst r) o)) (combine (seq 0 (length of)) of)) ++
      map (fun _ => own_) (some_list least_score)
  end.

Definition outputs_bound (q : question) (f : floats) : option (list (Q * Q)) :=
  let p := prog q in
  let ensembles := placed 0 (trees p) (P.empty _) in
  let numbers_ := placed 0 (map (number_bound f) (fs q)) (P.empty _) in
  match entries_bound f ensembles numbers_ 0 (P.empty _) (made p) with
  | None => None
  | Some known =>
      if forallb (forallb (tests_exact known)) (trees p)
      then option_list (output_bound f ensembles numbers_ known) (outputs p) else None
  end.

(** The least slack that covers rounding, and the most that may be given where the witness needs
    it. *)

Definition slack_bounds (q : question) (f : floats) : option (Q * Q) :=
  match outputs_bound q f with
  | None => None
  | Some ends =>
      let off_ := largest (rows_sum (goal q) (map snd ends)) in
      let size := largest (rows_sum (goal q) (map fst ends)) in
      Some (off_, Qred (1024 * (off_ + unit_ f * size)))
  end.

(** Whether a point that has the outcome has it only with the slack. *)

Definition needs_slack (q : question) (x : point) : bool :=
  match spots (prog q) x with Some zs => negb (wins (prog q) zs (goal q) 0 x) | None => true end.

(** What is asked of the slack of a certificate in floats. *)

Definition slack_ok (c : certificate) (f : floats) : bool :=
  let q := asked c in
  match slack_bounds q f with
  | None => false
  | Some (least, most) =>
      Qle_bool least (slack q) &&
      (Qle_bool (slack q) most ||
       match claimed c with Infeasible => true | _ => negb (needs_slack q (witness c)) end)
  end.
