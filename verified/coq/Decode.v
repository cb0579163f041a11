(** * Reading certificates

    What the reader demands of a file (docs/reference/certificate-format.md, sections 1 to 5), from
    JSON to the [certificate] of Claims.v.  Strings are as the reader of bytes gives them: ASCII,
    other characters escaped in one way only. *)

From Coq Require Import String Ascii Orders Mergesort FMapPositive.
From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool.
From Cfxc Require Import Semantics Features Payments Forms Checker Rows Scopes Regions Claims.
From Cfxc Require Rounding.
Import ListNotations.
Open Scope Q_scope.
Open Scope string_scope.
Open Scope list_scope.

Inductive json :=
  | JNull
  | JBool (b : bool)
  | JInt (z : Z)
  | JStr (s : string)
  | JList (l : list json)
  | JObj (l : list (string * json)).

(** Something was read; or it is wrong, or beyond what is covered here, and why. *)

Inductive result (A : Type) := Fine (a : A) | Wrong (why : string) | Beyond_ (why : string).
Arguments Fine {A}.
Arguments Wrong {A}.
Arguments Beyond_ {A}.

Definition bind {A B} (r : result A) (f : A -> result B) : result B :=
  match r with Fine a => f a | Wrong w => Wrong w | Beyond_ w => Beyond_ w end.

Notation "'take' x 'from' a ; b" := (bind a (fun x => b))
  (at level 200, x pattern, a at level 100, b at level 200, right associativity).
Notation "'need' c 'or' w ; b" := (if c then b else Wrong w)
  (at level 200, c at level 100, w at level 0, b at level 200, right associativity).

Fixpoint each {A B} (f : A -> result B) (l : list A) : result (list B) :=
  match l with
  | [] => Fine []
  | a :: l => take b from f a; take r from each f l; Fine (b :: r)
  end.

Fixpoint each_from {A B} (f : nat -> A -> result B) (j : nat) (l : list A) : result (list B) :=
  match l with
  | [] => Fine []
  | a :: l => take b from f j a; take r from each_from f (S j) l; Fine (b :: r)
  end.

Definition some {A} (o : option A) (w : string) : result A :=
  match o with Some a => Fine a | None => Wrong w end.

(** ** Maps by place *)

Module M := PositiveMap.

Definition key_of (n : nat) : positive := Z.to_pos (Z.of_nat n + 1).
Definition look {A} (n : nat) (m : M.t A) : option A := M.find (key_of n) m.

Fixpoint placed {A} (j : nat) (l : list A) (m : M.t A) : M.t A :=
  match l with [] => m | a :: l => placed (S j) l (M.add (key_of j) a m) end.

(** ** Duplicates: by sorting *)

Fixpoint before_eq (a b : list Q) : bool :=
  match a, b with
  | [], _ => true
  | _, [] => false
  | x :: a, y :: b => if Qltb x y then true else if Qltb y x then false else before_eq a b
  end.

Fixpoint same (a b : list Q) : bool :=
  match a, b with
  | [], [] => true
  | x :: a, y :: b => Qeqb x y && same a b
  | _, _ => false
  end.

Module Keys_order <: TotalLeBool.
  Definition t := list Q.
  Definition leb := before_eq.
  Infix "<=?" := leb.
  Theorem leb_total : forall a b, a <=? b = true \/ b <=? a = true.
  Proof.
    unfold leb. induction a as [|x a IH]; intros [|y b]; cbn; auto.
    destruct (Qltb x y) eqn:E; auto.
    destruct (Qltb y x); auto.
  Qed.
End Keys_order.
Module Sort_keys := Sort Keys_order.

Fixpoint neighbours {A} (eq : A -> A -> bool) (l : list A) : bool :=
  match l with
  | a :: ((b :: _) as l') => eq a b || neighbours eq l'
  | _ => false
  end.

Definition twice (l : list (list Q)) : bool := neighbours same (Sort_keys.sort l).

Definition of_nat (n : nat) : Q := inject_Z (Z.of_nat n).

(** ** Numbers *)

Definition digit (c : ascii) : option Z :=
  let n := (Z.of_nat (nat_of_ascii c) - 48)%Z in
  if ((0 <=? n) && (n <=? 9))%Z then Some n else None.

Definition hex_digit (c : ascii) : option Z :=
  let n := (Z.of_nat (nat_of_ascii c) - 87)%Z in
  if ((10 <=? n) && (n <=? 15))%Z then Some n else digit c.

(** Digits at the beginning: their number, how many there are, and the rest. *)

Fixpoint leading_digits (of : ascii -> option Z) (base : Z) (l : list ascii) (value : Z) (n : nat)
  : Z * nat * list ascii :=
  match l with
  | c :: l' =>
      match of c with
      | Some d => leading_digits of base l' (base * value + d)%Z (S n)
      | None => (value, n, l)
      end
  | [] => (value, n, l)
  end.

Definition decimal := leading_digits digit 10.
Definition most_digits : nat := 1000.

Definition within_digits (n most : nat) : bool := Nat.leb 1 n && Nat.leb n most.

Definition plain (l : list ascii) : option Q :=
  let '(p, n, l) := decimal l 0%Z 0%nat in
  if within_digits n most_digits then
    match l with
    | [] => Some (inject_Z p)
    | "/"%char :: ((c :: _) as l) =>
        let '(q, m, l) := decimal l 0%Z 0%nat in
        if within_digits m most_digits && negb (Ascii.eqb c "0")
        then match l with [] => Some (p # Z.to_pos q) | _ => None end
        else None
    | _ => None
    end
  else None.

Definition largest_float (w : width) : Q := pow2 (match w with Bytes4 => 128 | _ => 1024 end).

Definition is_finite (w : width) (x : Q) : bool := Qltb (Qabs x) (largest_float w).

(** What follows "0x": of numbers too small for it the float nearest. *)

Definition double (l : list ascii) : option Q :=
  match l with
  | c :: "."%char :: l =>
      if Ascii.eqb c "0" || Ascii.eqb c "1" then
        let '(m, n, l) := leading_digits hex_digit 16 l (if Ascii.eqb c "1" then 1 else 0)%Z 0%nat in
        match l with
        | "p"%char :: s :: l =>
            let '(e, k, l) := decimal l 0%Z 0%nat in
            if within_digits n 13 && within_digits k 4 && (Ascii.eqb s "+" || Ascii.eqb s "-") then
              match l with
              | [] =>
                  let e := if Ascii.eqb s "-" then (- e)%Z else e in
                  let x := fl Bytes8 (inject_Z m * pow2 (e - 4 * Z.of_nat n)) in
                  if is_finite Bytes8 x then Some x else None
              | _ => None
              end
            else None
        | _ => None
        end
      else None
  | _ => None
  end.

Definition unsigned (l : list ascii) : option Q :=
  match l with
  | "0"%char :: "x"%char :: l => double l
  | _ => plain l
  end.

Definition numeral (s : string) : option Q :=
  match list_ascii_of_string s with
  | "-"%char :: l => match unsigned l with Some x => Some (- x) | None => None end
  | l => unsigned l
  end.

Definition number (j : json) : result Q :=
  match j with
  | JStr s => some (numeral s) "not a number, or too long"
  | _ => Wrong "a number is not in quotes"
  end.

Definition double_number (j : json) : result Q :=
  take x from number j;
  need is_finite Bytes8 x && is_double x or "a cut is no double"; Fine x.

Definition number_or_null (j : json) : result (option Q) :=
  match j with JNull => Fine None | _ => take x from number j; Fine (Some x) end.

Definition whole (j : json) : result nat :=
  match j with
  | JInt z => need (0 <=? z)%Z && (z <? 2 ^ 53)%Z or "a place is out of range"; Fine (Z.to_nat z)
  | _ => Wrong "a place is out of range"
  end.

Definition below_ (j : json) (count : nat) (why : string) : result nat :=
  take k from whole j; need Nat.ltb k count or why; Fine k.

(** ** Lists and objects *)

Definition listed (j : json) (why : string) : result (list json) :=
  match j with JList l => Fine l | _ => Wrong why end.

Fixpoint find_member (name : string) (l : list (string * json)) : option json :=
  match l with
  | [] => None
  | (n, j) :: l => if String.eqb n name then Some j else find_member name l
  end.

Definition member (name : string) (j : json) : option json :=
  match j with JObj l => find_member name l | _ => None end.

(** The members of an object that has exactly these. *)

Definition members (j : json) (names : list string) (why : string) : result (list json) :=
  match j with
  | JObj l =>
      need Nat.eqb (length l) (length names) or why;
      each (fun n => some (find_member n l) why) names
  | _ => Wrong why
  end.

Definition text (j : json) (why : string) : result string :=
  match j with JStr s => Fine s | _ => Wrong why end.

(** ** Labels, by type and value *)

Inductive key := KNull | KBool (b : bool) | KInt (z : Z) | KFloat (x : Q) | KStr (s : string).

Definition key_of_label (j : json) : result key :=
  match j with
  | JNull => Fine KNull
  | JBool b => Fine (KBool b)
  | JInt z => Fine (KInt z)
  | JStr s => Fine (KStr s)
  | JObj _ =>
      take l from members j ["float"] "a label: unknown or missing";
      match l with [x] => take x from number x; Fine (KFloat x) | _ => Wrong "a label" end
  | JList _ => Wrong "a label of an unknown type"
  end.

Definition key_eqb (a b : key) : bool :=
  match a, b with
  | KNull, KNull => true
  | KBool a, KBool b => Bool.eqb a b
  | KInt a, KInt b => Z.eqb a b
  | KFloat a, KFloat b => Qeqb a b
  | KStr a, KStr b => String.eqb a b
  | _, _ => false
  end.

(** Numbers that are the same are alike, such as 1 and true. *)

Definition number_of_key (k : key) : option Q :=
  match k with
  | KBool b => Some (if b then 1 else 0)
  | KInt z => Some (inject_Z z)
  | KFloat x => Some x
  | _ => None
  end.

Definition string_leb (a b : string) : bool :=
  match String.compare a b with Gt => false | _ => true end.

Module Names_order <: TotalLeBool.
  Definition t := string.
  Definition leb := string_leb.
  Infix "<=?" := leb.
  Theorem leb_total : forall a b, a <=? b = true \/ b <=? a = true.
  Proof.
    intros a b. unfold leb, string_leb. rewrite (String.compare_antisym b a).
    destruct (String.compare a b); auto.
  Qed.
End Names_order.
Module Sort_names := Sort Names_order.

Definition names_twice (l : list string) : bool := neighbours String.eqb (Sort_names.sort l).

Definition two_alike (l : list key) : bool :=
  names_twice (flat_map (fun k => match k with KStr s => [s] | _ => [] end) l)
  || twice (flat_map (fun k => match number_of_key k with Some x => [[x]] | None => [] end) l)
  || Nat.ltb 1 (length (filter (fun k => match k with KNull => true | _ => false end) l)).

Definition distinct (j : json) (why : string) : result (list key) :=
  take l from listed j why;
  take ks from each key_of_label l;
  need negb (two_alike ks) or why; Fine ks.

Fixpoint index_of (k : key) (l : list key) (i : nat) : option nat :=
  match l with [] => None | a :: l => if key_eqb a k then Some i else index_of k l (S i) end.

Definition place_of (j : json) (l : list key) (why : string) : result nat :=
  take k from key_of_label j; some (index_of k l 0) why.

(** ** Features *)

Record column_ := { it : feature; labels_ : list key; name_ : string }.

Definition action_of (j : json) : result action :=
  take s from text j "a feature's action";
  if String.eqb s "free" || String.eqb s "conditional" then Fine Free
  else if String.eqb s "fixed" then Fine Fixed
  else if String.eqb s "increase" then Fine Increase
  else if String.eqb s "decrease" then Fine Decrease
  else Wrong "a feature's action".

Definition bytes_of (j : json) : result width :=
  match j with
  | JInt 0 | JBool false => Fine Bytes0
  | JInt 4 => Fine Bytes4
  | JInt 8 => Fine Bytes8
  | _ => Wrong "a feature's float"
  end.

Definition is_null (j : json) : bool := match j with JNull => true | _ => false end.
Definition is_bytes0 (w : width) : bool := match w with Bytes0 => true | _ => false end.

Definition wholes_within : Q := inject_Z (2 ^ 53).

Definition numbers_ok (n : numbers) (a : action) (o : Q) (whole_ : bool) : bool :=
  let other := match absent n with Some x => x | None => o end in
  (match step n with
   | Some s => if whole_ then Qeqb s 1 else Qltb 0 s
   | None => negb whole_
   end) && (whole_ || negb (is_bytes0 (bytes n))) &&
  is_double o && is_finite Bytes8 o && is_double other && is_finite Bytes8 other &&
  (if is_bytes0 (bytes n)
   then forallb (fun x => Qle_bool (Qabs x) wholes_within) [o; other; low n; high n]
   else is_finite (bytes n) (float_up (bytes n) (first n a o)) &&
        is_finite (bytes n) (float_down (bytes n) (upper n a o))).

Definition feature_names : list string :=
  ["name"; "kind"; "action"; "labels"; "weight"; "float"; "lower"; "upper"; "step"].

Definition feature_of (given : json) (own_ : json) : result column_ :=
  let lost := match member "missing" given with Some (JBool true) => true | _ => false end in
  let opens := match member "absent" given with Some _ => true | None => false end in
  take l from members given (feature_names ++ (if lost then ["missing"] else [])
                             ++ (if opens then ["absent"] else []))
              "a feature: unknown or missing members";
  match l with
  | name :: kind :: action :: labels :: weight :: bytes :: lower :: upper :: step :: more =>
      take absent_ from match more with
                        | [a] => if opens then number_or_null a else Fine None
                        | [_; a] => number_or_null a
                        | _ => Fine None
                        end;
      need negb (opens && match absent_ with None => true | _ => false end) or "absent is no number";
      take name from text name "a feature's name";
      take kind from text kind "a feature's kind";
      take labels from distinct labels "a feature's labels";
      take weight from number weight;
      take act_ from action_of action;
      take w from bytes_of bytes;
      take lo from number_or_null lower;
      take hi from number_or_null upper;
      take st from number_or_null step;
      need Qle_bool 0 weight or "a feature's weight";
      let is_ k := String.eqb kind k in
      match labels with
      | _ :: _ =>
          need (is_ "ordinal" || is_ "categorical" || is_ "binary") && is_bytes0 w
               && is_null lower && is_null upper && is_null step && negb (lost || opens)
            or "a feature: labels or numbers";
          take o from place_of own_ labels "the factual: no label";
          Fine {| it := {| shape := Labels (length labels) (is_ "ordinal"); act := act_;
                           weight := weight; own := Lab o |};
                  labels_ := labels; name_ := name |}
      | [] =>
          need is_ "real" || is_ "integer" || is_ "ordinal" or "a feature: labels or numbers";
          take o from number own_;
          match lo, hi with
          | Some lo, Some hi =>
              let n := {| low := lo; high := hi; step := st; bytes := w; gap := lost;
                          absent := absent_ |} in
              let f := {| shape := Numbers n; act := act_; weight := weight; own := Num o |} in
              need formed f or "a feature: range, or the factual lies outside of it";
              need numbers_ok n act_ o (negb (is_ "real")) or "a feature: step, float or doubles";
              Fine {| it := f; labels_ := []; name_ := name |}
          | _, _ => Wrong "a feature: no range"
          end
      end
  | _ => Wrong "a feature"
  end.

Fixpoint both_ways {A B} (f : A -> B -> result column_) (l : list A) (m : list B) (why : string)
  : result (list column_) :=
  match l, m with
  | [], [] => Fine []
  | a :: l, b :: m => take c from f a b; take r from both_ways f l m why; Fine (c :: r)
  | _, _ => Wrong why
  end.

(** A point: numbers, and places of labels. *)

Fixpoint point_of (cs : list column_) (l : list json) (why : string) : result point :=
  match cs, l with
  | [], [] => Fine []
  | c :: cs, j :: l =>
      take v from match labels_ c with
                  | [] => take x from number j; Fine (Num x)
                  | ls => take i from place_of j ls why; Fine (Lab i)
                  end;
      take r from point_of cs l why; Fine (v :: r)
  | _, _ => Wrong why
  end.

(** ** Forms, each source once, in the order of [compare] *)

Definition source_leb (s t : source * Q) : bool :=
  match compare (fst s) (fst t) with Gt => false | _ => true end.

Lemma compare_antisym s t : compare t s = CompOpp (compare s t).
Proof.
  unfold compare. destruct (code s) as [[a b] c], (code t) as [[a' b'] c'].
  rewrite (Nat.compare_antisym a a'). destruct (Nat.compare a a'); cbn; auto.
  rewrite (Nat.compare_antisym b b'). destruct (Nat.compare b b'); cbn; auto.
  apply Nat.compare_antisym.
Qed.

Module Terms_order <: TotalLeBool.
  Definition t := (source * Q)%type.
  Definition leb := source_leb.
  Infix "<=?" := leb.
  Theorem leb_total : forall a b, a <=? b = true \/ b <=? a = true.
  Proof.
    intros a b. unfold leb, source_leb. rewrite (compare_antisym (fst a)).
    destruct (compare (fst a) (fst b)); auto.
  Qed.
End Terms_order.
Module Sort_terms := Sort Terms_order.

Definition same_source (s t : source * Q) : bool :=
  match compare (fst s) (fst t) with Eq => true | _ => false end.

(** What forms may read: features; of ensembles how many entries they need and columns they have;
    the kinds of what was made before. *)

Record scope := {
  columns_ : M.t column_; ensembles : list (nat * nat); kinds : M.t string; so_far : nat }.

Definition is_kind (s : scope) (k : nat) (kind : string) : bool :=
  match look k (kinds s) with Some t => String.eqb t kind | None => false end.

Definition source_of (s : scope) (l : list json) : result source :=
  match l with
  | JStr kind :: k :: rest =>
      take k from whole k;
      match rest with
      | [] =>
          if String.eqb kind "one" then need Nat.eqb k 0 or "a source"; Fine One
          else if String.eqb kind "x" then
            match look k (columns_ s) with
            | Some c => match labels_ c with [] => Fine (X k) | _ => Wrong "a source: no number" end
            | None => Wrong "a source: no feature"
            end
          else need is_kind s k kind or "a source that was not made"; Fine (Made k)
      | [i] =>
          take i from whole i;
          if String.eqb kind "is" then
            match look k (columns_ s) with
            | Some c => need Nat.ltb i (length (labels_ c)) or "a source: no label"; Fine (Is k i)
            | None => Wrong "a source: no feature"
            end
          else if String.eqb kind "tree" then
            match nth_error (ensembles s) k with
            | Some (needed, columns) =>
                need Nat.leb needed (so_far s) && Nat.ltb i columns or "a source: no tree";
                Fine (Column k i)
            | None => Wrong "a source: no tree"
            end
          else Wrong "a source"
      | _ => Wrong "a source"
      end
  | _ => Wrong "a source"
  end.

Definition term_of (s : scope) (j : json) : result (source * Q) :=
  match j with
  | JList [JList source; factor] =>
      take t from source_of s source; take a from number factor; Fine (t, a)
  | _ => Wrong "a form"
  end.

Definition form_of (s : scope) (j : json) : result form :=
  take l from listed j "a form";
  take ts from each (term_of s) l;
  let f := Sort_terms.sort ts in
  need negb (neighbours same_source f) or "a form: a source twice"; Fine f.

(** ** Trees, from the last node back: each takes its children *)

Definition child (j : json) (m : M.t tree) : result (tree * M.t tree) :=
  take k from whole j;
  match look k m with
  | Some t => Fine (t, M.remove (key_of k) m)
  | None => Wrong "program.trees: nodes are not those of trees"
  end.

Definition children (l r : json) (m : M.t tree) : result (tree * tree * M.t tree) :=
  take (a, m) from child l m; take (b, m) from child r m; Fine (a, b, m).

Definition split_of (cs : M.t column_) (j : nat) (test : json) (l r : tree) : result tree :=
  match look j cs with
  | None => Wrong "a split of no feature"
  | Some c =>
      match labels_ c with
      | [] => take cut from double_number test; Fine (Number j cut l r)
      | ls =>
          take among from listed test "a split by labels";
          take among from each whole among;
          need forallb (fun i => Nat.ltb i (length ls)) among
               && negb (twice (map (fun i => [of_nat i]) among))
            or "a split by a label twice, or by none";
          Fine (Label j among l r)
      end
  end.

(** What was read so far: trees that nothing refers to, leaves' lengths, and forms that are tested. *)

Definition forest := (M.t tree * option nat * list nat)%type.

Definition node (cs : M.t column_) (place : nat) (j : json) (f : forest) : result forest :=
  let '(m, width, tested) := f in
  let leaf l :=
    take vs from each number l;
    let n := length vs in
    need match width with Some w => Nat.eqb n w | None => true end
      or "program.trees: leaves of different lengths";
    Fine (M.add (key_of place) (Leaf vs) m, Some n, tested) in
  match j with
  | JList [JStr kind; k; test; l; r] =>
      if String.eqb kind "form" then
        take k from whole k;
        take cut from number test;
        take (a, b, m) from children l r m;
        Fine (M.add (key_of place) (Test k cut a b) m, width, k :: tested)
      else leaf [JStr kind; k; test; l; r]
  | JList [JInt j; test; l; r] =>
      take j from whole (JInt j);
      take (a, b, m) from children l r m;
      take t from split_of cs j test a b;
      Fine (M.add (key_of place) t m, width, tested)
  | JList (v :: vs) => leaf (v :: vs)
  | _ => Wrong "program.trees: no node"
  end.

(** Nodes in reverse; the first has place [count - 1]. *)

Fixpoint nodes_back (cs : M.t column_) (l : list json) (count : nat) (f : forest) : result forest :=
  match l with
  | [] => Fine f
  | j :: l => take f from node cs (Nat.pred count) j f; nodes_back cs l (Nat.pred count) f
  end.

Fixpoint roots_of (l : list json) (m : M.t tree) : result (list tree * M.t tree) :=
  match l with
  | [] => Fine ([], m)
  | j :: l =>
      take (t, m) from child j m; take (ts, m) from roots_of l m; Fine (t :: ts, m)
  end.

(** Trees, the length of their leaves, and the forms that they test. *)

Definition ensemble_of (cs : M.t column_) (j : json) : result (list tree * nat * list nat) :=
  take l from members j ["roots"; "nodes"] "program.trees: unknown or missing members";
  match l with
  | [roots; nodes] =>
      take nodes from listed nodes "program.trees: nodes";
      take (m, width, tested) from
        nodes_back cs (rev_append nodes []) (length nodes) (M.empty tree, None, []);
      take roots from listed roots "program.trees: roots";
      take (ts, m) from roots_of roots m;
      need M.is_empty m or "program.trees: nodes are not those of trees";
      match width with
      | Some w => Fine (ts, w, tested)
      | None => Wrong "program.trees: no leaves"
      end
  | _ => Wrong "program.trees"
  end.

(** ** The program *)

Definition curves : list (string * curve) :=
  [("unit", Unit); ("step", Step); ("single", Single); ("form", Form); ("exp", Smooth Exp);
   ("sigmoid", Smooth Sigmoid); ("softplus", Smooth Softplus); ("normal", Smooth Normal)].

Definition curve_named (s : string) : option curve :=
  option_map snd (find (fun t => String.eqb s (fst t)) curves).

Definition entry_of (s : scope) (j : json) : result (entry * string) :=
  match j with
  | JList [JStr kind; a] =>
      match curve_named kind with
      | Some c => take f from form_of s a; Fine (Image c f, kind)
      | None => Wrong "program.made: an unknown kind of source"
      end
  | JList [JStr kind; i; m] =>
      need String.eqb kind "product" or "program.made: no entry";
      take i from whole i;
      take m from whole m;
      need is_kind s i "form" && is_kind s m "form" or "program.made: a product of no forms";
      Fine (Product i m, kind)
  | _ => Wrong "program.made: no entry"
  end.

Fixpoint entries_of (s : scope) (l : list json) : result (list entry * scope) :=
  match l with
  | [] => Fine ([], s)
  | j :: l =>
      take (e, kind) from entry_of s j;
      let s' := {| columns_ := columns_ s; ensembles := ensembles s;
                   kinds := M.add (key_of (so_far s)) kind (kinds s); so_far := S (so_far s) |} in
      take (es, s') from entries_of s' l;
      Fine (e :: es, s')
  end.

Record decision := {
  program_ : program; scope_ : scope; outcomes : option (list key); tests : list nat }.

Definition program_of (cs : M.t column_) (j : json) : result decision :=
  take l from members j ["made"; "trees"; "labels"; "outputs"] "program: unknown or missing members";
  match l with
  | [made_; trees_; labels; outputs_] =>
      take ts from listed trees_ "program.trees";
      take es from each (ensemble_of cs) ts;
      let needed (l : list nat) := fold_right (fun k => Nat.max (S k)) 0%nat l in
      let s := {| columns_ := cs; so_far := 0; kinds := M.empty string;
                  ensembles := map (fun e => let '(_, w, tested) := e in (needed tested, w)) es |} in
      take ms from listed made_ "program.made";
      take (ms, s) from entries_of s ms;
      let tested := flat_map (fun e => snd e) es in
      need forallb (fun k => is_kind s k "form") tested or "program.trees: a test of no form";
      take labels from match labels with
                       | JNull => Fine None
                       | _ => take ks from distinct labels "program.labels"; Fine (Some ks)
                       end;
      take os from listed outputs_ "program.outputs";
      take os from each (form_of s) os;
      let count := match labels with Some ks => length ks | None => 1%nat end in
      need Nat.eqb (length os) count && Nat.ltb 0 count or "program.outputs: not one for each label";
      Fine {| program_ := {| made := ms; trees := map (fun e => fst (fst e)) es; outputs := os |};
              scope_ := s; outcomes := labels; tests := tested |}
  | _ => Wrong "program"
  end.

(** Every entry and every ensemble is read by something. *)

Definition reads := (M.t unit * M.t unit)%type.

Definition read_form (r : reads) (f : form) : reads :=
  fold_left (fun r t =>
    let '(ms, ts) := r in
    match fst t with
    | Made k => (M.add (key_of k) tt ms, ts)
    | Column n _ => (ms, M.add (key_of n) tt ts)
    | _ => r
    end) f r.

Fixpoint forms_in (t : truth) : list form :=
  match t with
  | Nonneg f | Positive f => [f]
  | Not t => forms_in t
  | And ts | Or ts => flat_map forms_in ts
  end.

Definition one_made (k : nat) : form := [(Made k, 1)].

Definition forms_of_entry (e : entry) : list form :=
  match e with Image _ f => [f] | Product i m => [one_made i; one_made m] end.

Definition all_read (d : decision) (ts : list truth) : bool :=
  let p := program_ d in
  let fs := flat_map forms_of_entry (made p) ++ outputs p ++ flat_map forms_in ts
            ++ map one_made (tests d) in
  let '(ms, es) := fold_left read_form fs (M.empty unit, M.empty unit) in
  forallb (fun k => M.mem (key_of k) ms) (seq 0 (length (made p))) &&
  forallb (fun n => M.mem (key_of n) es) (seq 0 (length (trees p))).

(** ** The question *)

Definition norms_of (j : json) : result norms :=
  take l from members j ["l0"; "l1"; "linf"; "l2"] "question.norms: unknown or missing members";
  take l from each number l;
  match l with
  | [a; b; c; d] =>
      let n := {| l0 := a; l1 := b; linf := c; l2 := d |} in
      need metric_ok n or "question.norms: no distance"; Fine n
  | _ => Wrong "question.norms"
  end.

Definition target_of (d : decision) (j : json) : result target :=
  match outcomes d with
  | None =>
      take l from members j ["lower"; "upper"] "question.target: unknown or missing members";
      take l from each number_or_null l;
      match l with
      | [lo; hi] =>
          need match lo, hi with
               | None, None => false
               | Some lo, Some hi => Qle_bool lo hi
               | _, _ => true
               end or "question.target: everything, or nothing, is the target";
          Fine (Between lo hi)
      | _ => Wrong "question.target"
      end
  | Some ks =>
      let find label := place_of label ks "question.target: no label of the program" in
      match j with
      | JObj [(only, label)] =>
          need String.eqb only "label" or "question.target: unknown or missing members";
          take own from find label; Fine (Wins own 0 None)
      | _ =>
          take l from members j ["label"; "margin"; "least"]
                      "question.target: unknown or missing members";
          match l with
          | [label; margin; least] =>
              take own from find label;
              take margin from number margin;
              take least from number_or_null least;
              need Qle_bool 0 margin or "question.target: margin";
              Fine (Wins own margin least)
          | _ => Wrong "question.target"
          end
      end
  end.

Fixpoint truth_of (s : scope) (depth : nat) (j : json) : result truth :=
  match depth with
  | O => Wrong "question.constraints: too deep"
  | S depth =>
      match j with
      | JList (JStr kind :: parts) =>
          if String.eqb kind "and" then take ts from each (truth_of s depth) parts; Fine (And ts)
          else if String.eqb kind "or" then take ts from each (truth_of s depth) parts; Fine (Or ts)
          else
            match parts with
            | [part] =>
                if String.eqb kind "not" then take t from truth_of s depth part; Fine (Not t)
                else if String.eqb kind "ge" then take f from form_of s part; Fine (Nonneg f)
                else if String.eqb kind "gt" then take f from form_of s part; Fine (Positive f)
                else Wrong "question.constraints: no condition"
            | _ => Wrong "question.constraints: no condition"
            end
      | _ => Wrong "question.constraints: no condition"
      end
  end.

Definition may_miss (c : column_) : bool :=
  match shape (it c) with
  | Numbers n => gap n || match absent n with Some _ => true | None => false end
  | _ => false
  end.

Definition is_empty {A} (l : list A) : bool := match l with [] => true | _ => false end.

Definition trust_of (cs : list column_) (j : json) : result trust :=
  take l from members j ["norm"; "reach"; "hulls"] "question.region: unknown or missing members";
  match l with
  | [norm; reach; hulls] =>
      take norm from text norm "question.region: norm";
      take norm from if String.eqb norm "l1" then Fine L1 else if String.eqb norm "l2" then Fine L2
                     else if String.eqb norm "linf" then Fine Linf
                     else Wrong "question.region: norm";
      take reach from number reach;
      need Qle_bool 0 reach or "question.region: reach";
      need negb (existsb may_miss cs) or "question.region: numbers may be missing";
      take hulls from listed hulls "question.region: hulls";
      take hulls from each (fun h =>
        take rows from listed h "question.region: rows";
        each (fun row => take row from listed row "question.region: a row";
                         point_of cs row "question.region: a row") rows) hulls;
      need negb (is_empty (axes_from 0 (map it cs))) && negb (is_empty hulls) && negb (existsb is_empty hulls)
        or "question.region: no rows, or nothing varies";
      Fine {| trust_norm := norm; trust_reach := reach; trust_hulls := hulls |}
  | _ => Wrong "question.region"
  end.

(** ** The proof *)

(** What multipliers may name: kinds of what was made, counts of rows, features and roots of trees;
    hulls of faces; the norms. *)

Record naming := {
  in_scope : scope; row_count : nat; feature_count : nat; root_count : nat; face_hulls : list nat;
  norms_ : norms }.

(** What was split on the way: units by their signs, and hulls. *)

Record trail := { signs_ : M.t unit; hulls_ : M.t unit }.

Definition kind_at (n : naming) (k : nat) (kind : string) : bool := is_kind (in_scope n) k kind.

Definition ineq_of (n : naming) (t : trail) (name : string) (k : nat) (slopes : list Q) : option ineq :=
  let is_ s := String.eqb name s in
  let only (b : bool) (i : ineq) : option ineq := match slopes with [] => if b then Some i else None | _ => None end in
  if is_ "row" then only (Nat.ltb k (row_count n)) (Row k)
  else if is_ "face" then
    only (match nth_error (face_hulls n) k with
          | Some h => M.mem (key_of h) (hulls_ t)
          | None => false
          end) (Face k)
  else if is_ "sign" then only (M.mem (key_of k) (signs_ t)) (Signed k)
  else if is_ "above" then only (kind_at n k "unit") (Above k)
  else if is_ "chord" then only (kind_at n k "unit") (Chord k)
  else if is_ "least" then only (Nat.ltb k (so_far (in_scope n))) (Least_ k)
  else if is_ "most" then only (Nat.ltb k (so_far (in_scope n))) (Most_ k)
  else if is_ "over" || is_ "under" then
    match slopes with
    | [p; q] =>
        if kind_at n k "product" || existsb (kind_at n k) ["exp"; "sigmoid"; "softplus"; "normal"]
        then Some (Plane k (is_ "over") p q) else None
    | _ => None
    end
  else None.

(** By their names, as numbers. *)

Definition name_of (i : ineq) : list Q :=
  match i with
  | Row k => [0; of_nat k] | Face k => [1; of_nat k] | Signed k => [2; of_nat k]
  | Above k => [3; of_nat k] | Chord k => [4; of_nat k] | Least_ k => [5; of_nat k]
  | Most_ k => [6; of_nat k] | Plane k over p q => [if over then 7 else 8; of_nat k; p; q]
  end.

Definition multiplier_of (n : naming) (t : trail) (j : json) : result (ineq * Q + nat * Q) :=
  match j with
  | JList (JStr name :: k :: y :: slopes) =>
      take k from whole k;
      take y from number y;
      take slopes from each number slopes;
      if String.eqb name "peak" then
        need Nat.ltb k (feature_count n) && is_empty slopes or "a multiplier of no inequality";
        Fine (inr (k, y))
      else
        take i from some (ineq_of n t name k slopes) "a multiplier of no inequality";
        Fine (inl (i, y))
  | _ => Wrong "a multiplier of no inequality"
  end.

Definition share_of (n : naming) (j : json) : result stated :=
  match j with
  | JList (t :: j :: y :: rest) =>
      take t from below_ t (root_count n) "a share of no tree";
      take j from below_ j (feature_count n) "a share of no feature";
      take y from number y;
      match rest with
      | [] => Fine (Part_of t j y)
      | [e] =>
          take e from number e;
          need negb (Qeqb e 0) && Qltb 0 y or "a weight of nothing";
          Fine (Layer_of t j (if Qltb 0 e then Up else Down) (Qabs e) y)
      | _ => Wrong "a share"
      end
  | _ => Wrong "a share"
  end.

Definition name_of_share (s : stated) : list Q :=
  match s with
  | Part_of t j _ => [of_nat t; of_nat j]
  | Layer_of t j w e _ => [of_nat t; of_nat j; if way_eqb w Up then 1 else 0; e]
  end.

Definition measured_by (n : norms) : context :=
  {| feats := []; norm_ := n; shares := []; peaks := []; radius := 0;
     prg := {| made := []; trees := []; outputs := [] |}; rows := []; faces := [] |}.

Definition multipliers_of (n : naming) (t : trail) (mu rows_ shares_ : json) : result multipliers :=
  take mu from number mu;
  take rows_ from listed rows_ "multipliers";
  take rows_ from each (multiplier_of n t) rows_;
  take shares_ from listed shares_ "shares";
  take shares_ from each (share_of n) shares_;
  let ys := flat_map (fun r => match r with inl i => [i] | inr _ => [] end) rows_ in
  let vs := flat_map (fun r => match r with inr v => [v] | inl _ => [] end) rows_ in
  let by_ := {| budget := mu; ineqs := ys; peaked := vs; shared := shares_ |} in
  need negb (twice (map (fun i => name_of (fst i)) ys))
       && negb (twice (map (fun v => [of_nat (fst v)]) vs))
       && negb (twice (map name_of_share shares_)) or "a multiplier twice";
  need multipliers_ok (measured_by (norms_ n)) by_ or "multipliers: below 0, or more than there is";
  Fine by_.

Definition lemma_of (n : naming) (t : trail) (j : json) : result lemma_ :=
  match j with
  | JList [k; JInt side; bound; mu; rows_; shares_] =>
      take k from below_ k (so_far (in_scope n)) "proof.lemmas: of no form";
      need Z.eqb (Z.abs side) 1 or "proof.lemmas: of no side";
      take bound from number bound;
      take by_ from multipliers_of n t mu rows_ shares_;
      Fine {| states := {| of_ := k; upward := Z.eqb side 1; limit := bound |}; shown_by := by_ |}
  | _ => Wrong "proof.lemmas"
  end.

Definition name_of_lemma (l : lemma_) : list Q :=
  [of_nat (of_ (states l)); if upward (states l) then 1 else 0].

(** Nodes from the root on; each is taken from those that are left. *)

Section Nodes.

Variables (n : naming) (count : nat).

Fixpoint all_hulls (grow : json -> trail -> M.t json -> result (proof * M.t json)) (t : trail)
  (h : nat) (l : list json) (rest_ : M.t json) : result (list proof * M.t json) :=
  match l with
  | [] => Fine ([], rest_)
  | j :: l =>
      let t' := {| signs_ := signs_ t; hulls_ := M.add (key_of h) tt (hulls_ t) |} in
      take (p, rest_) from grow j t' rest_;
      take (ps, rest_) from all_hulls grow t (S h) l rest_;
      Fine (p :: ps, rest_)
  end.

Fixpoint grow (fuel : nat) (place : json) (t : trail) (rest_ : M.t json) : result (proof * M.t json) :=
  match fuel with
  | O => Wrong "proof: no tree"
  | S fuel =>
      take k from whole place;
      take j from some (look k rest_) "proof: no tree";
      let rest_ := M.remove (key_of k) rest_ in
      let pair l r tl tr rest_ (make : proof -> proof -> proof) :=
        take (a, rest_) from grow fuel l tl rest_;
        take (b, rest_) from grow fuel r tr rest_;
        Fine (make a b, rest_) in
      match j with
      | JList [JStr kind] =>
          if String.eqb kind "distance" then Fine (Close Distance, rest_)
          else if String.eqb kind "constraint" then Fine (Close Constraint, rest_)
          else Wrong "proof: no rule"
      | JList (JStr kind :: node) =>
          if String.eqb kind "hull" then
            need Nat.eqb (length node) count or "proof: not a child for each hull";
            take (ps, rest_) from all_hulls (grow fuel) t 0 node rest_;
            Fine (Hulls ps, rest_)
          else
            match node with
            | [j; c; l; r] =>
                if String.eqb kind "cut" then
                  take j from whole j;
                  take f from some (look j (columns_ (in_scope n))) "proof: a cut of no feature";
                  need is_empty (labels_ f) or "proof: a cut of labels";
                  take c from double_number c;
                  pair l r t t rest_ (Cut j c)
                else if String.eqb kind "label" then
                  take j from whole j;
                  take f from some (look j (columns_ (in_scope n))) "proof: a label of no feature";
                  take i from place_of c (labels_ f) "proof: a split by no label";
                  pair l r t t rest_ (Split j i)
                else if String.eqb kind "at" then
                  take k from below_ j (so_far (in_scope n)) "proof: a split of no form";
                  take c from number c;
                  pair l r t t rest_ (At k c)
                else Wrong "proof: no rule"
            | [a; l; r] =>
                if String.eqb kind "sign" then
                  take k from whole a;
                  need kind_at n k "unit" or "proof: the sign of no unit";
                  let t' := {| signs_ := M.add (key_of k) tt (signs_ t); hulls_ := hulls_ t |} in
                  pair l r t' t' rest_ (Signs k)
                else if String.eqb kind "bound" then
                  take by_ from multipliers_of n t a l r; Fine (Close (Bound by_), rest_)
                else Wrong "proof: no rule"
            | _ => Wrong "proof: no rule"
            end
      | _ => Wrong "proof: no rule"
      end
  end.

End Nodes.

Definition face_of_json (r : region) (j : json) : result (nat * list Q) :=
  match j with
  | JList [h; normal] =>
      take h from below_ h (length (hulls r)) "proof.faces: of no hull";
      take l from listed normal "proof.faces";
      take l from each number l;
      need Nat.eqb (length l) (length (axes r)) or "proof.faces: not a number for each coordinate";
      Fine (h, l)
  | _ => Wrong "proof.faces"
  end.

Definition inside_of (r : region) (j : json) : result (nat * list (nat * Q)) :=
  match j with
  | JList [h; ws] =>
      take h from whole h;
      take rows from some (nth_error (hulls r) h) "proof.inside: of no hull";
      let count := length rows in
      take ws from listed ws "proof.inside";
      take ws from each (fun w =>
        match w with
        | JList [i; w] =>
            take i from below_ i count "proof.inside: of no row"; take w from number w; Fine (i, w)
        | _ => Wrong "proof.inside"
        end) ws;
      need negb (is_empty ws) && forallb (fun t => Qltb 0 (snd t)) ws
           && negb (twice (map (fun t => [of_nat (fst t)]) ws)) or "proof.inside: weights";
      Fine (h, ws)
  | _ => Wrong "proof.inside"
  end.

(** ** The certificate *)

Inductive meaning := Real | Floats (kind : Rounding.floats).

Definition far : Q := pow2 1000.

Definition is_hex (c : ascii) : bool := match hex_digit c with Some _ => true | None => false end.

Definition texts (names : list string) (j : json) (why : string) : result (list string) :=
  take l from members j names why; each (fun j => text j why) l.

Definition prelude (space made_ model : json) : result unit :=
  take _ from text space "space: no text";
  take _ from match made_ with
              | JObj [] => Fine (@nil string)
              | _ => texts ["cfxc"; "python"; "engine"] made_ "made: no texts"
              end;
  match model with
  | JNull => Fine tt
  | _ =>
      take l from texts ["name"; "sha256"] model "model: no texts";
      match l with
      | [_; h] =>
          let h := list_ascii_of_string h in
          need Nat.eqb (length h) 64 && forallb is_hex h or "model.sha256: no hash"; Fine tt
      | _ => Wrong "model"
      end
  end.

Definition status_of (j : json) : result status :=
  take s from text j "claim.status";
  if String.eqb s "optimal" then Fine Optimal
  else if String.eqb s "feasible" then Fine Feasible
  else if String.eqb s "infeasible" then Fine Infeasible
  else Wrong "claim.status".

Definition question_of (features program_j question_j : json)
  : result (question * list column_ * decision) :=
  let limited := match member "region" question_j with Some _ => true | None => false end in
  take l from members question_j (["factual"; "target"; "slack"; "norms"; "constraints"]
                                  ++ (if limited then ["region"] else []))
              "question: unknown or missing members";
  match l with
  | factual :: target_j :: slack_j :: norms_j :: rules :: more =>
      take fs from listed features "features";
      take own from listed factual "question.factual";
      take cs from both_ways feature_of fs own "question.factual: not a value for each feature";
      need negb (names_twice (map name_ cs)) or "features: a name twice";
      take d from program_of (placed 0 cs (M.empty column_)) program_j;
      take n from norms_of norms_j;
      need Qltb 0 (sum (map (fun c => weight (it c)) cs)) or "features: all weights are 0";
      take slack_ from number slack_j;
      take goal_ from target_of d target_j;
      take rules from listed rules "question.constraints";
      take ts from each (truth_of (scope_ d) 50) rules;
      take r from match more with
                  | [r] => take r from trust_of cs r; Fine (Some r)
                  | _ => Fine None
                  end;
      Fine ({| fs := map it cs; prog := program_ d; goal := goal_; slack := slack_; metric := n;
               constraints := ts; where_ := r |}, cs, d)
  | _ => Wrong "question"
  end.

Record argument := {
  radius_ : Q; lemmas_ : list lemma_; faces_ : list (nat * list Q); tree_ : proof; inside_j : json }.

Definition proof_of (q : question) (cs : list column_) (d : decision) (j : json) : result argument :=
  let limited := match where_ q with Some _ => ["faces"; "inside"] | None => [] end in
  take l from members j (["radius"; "lemmas"; "nodes"] ++ limited)
              "proof: unknown or missing members";
  match l with
  | radius_j :: lemmas_j :: nodes_j :: more =>
      take radius_ from number radius_j;
      take (faces_, inside_j) from
        match region_in q, more with
        | Some r, [faces_j; inside_j] =>
            take l from listed faces_j "proof.faces";
            take l from each (face_of_json r) l;
            Fine (l, inside_j)
        | _, _ => Fine ([], JNull)
        end;
      let count := length (hulls_of q) in
      let n := {| in_scope := scope_ d; row_count := length (all_rows q);
                  feature_count := length cs;
                  root_count := fold_left (fun n ts => n + length ts)%nat (trees (prog q)) 0%nat;
                  face_hulls := map fst faces_; norms_ := metric q |} in
      let start := {| signs_ := M.empty unit;
                      hulls_ := if Nat.eqb count 1 then M.add (key_of 0) tt (M.empty unit)
                                else M.empty unit |} in
      take lemmas_ from listed lemmas_j "proof.lemmas";
      take lemmas_ from each (lemma_of n start) lemmas_;
      need negb (twice (map name_of_lemma lemmas_)) or "proof.lemmas: one twice";
      take nodes from listed nodes_j "proof.nodes";
      take (tree_, rest_) from
        grow n count (length nodes) (JInt 0) start (placed 0 nodes (M.empty json));
      need M.is_empty rest_ or "proof: nodes that nothing leads to";
      Fine {| radius_ := radius_; lemmas_ := lemmas_; faces_ := faces_; tree_ := tree_;
              inside_j := inside_j |}
  | _ => Wrong "proof"
  end.

Definition entries : list string :=
  ["version"; "made"; "semantics"; "claim"; "model"; "space"; "features"; "program"; "question";
   "witness"; "proof"; "hash"].

Definition decode (j : json) : result (certificate * meaning) :=
  take l from members j entries "certificate: unknown or missing members";
  match l with
  | [version; made_; semantics; claim; model; space; features; program_j; question_j; witness_j;
     proof_j; hash] =>
      take version from text version "version: another one";
      need String.eqb version "cfxc certificate 1" or "version: another one";
      take _ from prelude space made_ model;
      take semantics from text semantics "semantics: of no known kind";
      take means from if String.eqb semantics "real" then Fine Real
                      else if String.eqb semantics "float" then Fine (Floats Rounding.Doubles)
                      else if String.eqb semantics "float32" then Fine (Floats Rounding.Singles)
                      else Wrong "semantics: of no known kind";
      take (q, cs, d) from question_of features program_j question_j;
      need all_read d (constraints q) or "program: nothing reads some entry";
      take p from proof_of q cs d proof_j;
      take l from members claim ["status"; "distance"; "lower_bound"; "epsilon"]
                  "claim: unknown or missing members";
      match l with
      | [status_j; distance_j; lower_j; epsilon_j] =>
          take st from status_of status_j;
          take lower_ from number lower_j;
          take epsilon_ from number epsilon_j;
          need Qltb lower_ far or "claim.lower_bound: beyond all floats";
          need match means with Real => Qeqb (slack q) 0 | Floats _ => Qle_bool 0 (slack q) end
            or "question.slack: it must be 0, in real numbers";
          let made_of x away inside :=
            {| asked := q; claimed := st; stated_distance := away; lower := lower_;
               gap_ := epsilon_; witness := x; inside_ := inside; ball := radius_ p;
               learned := lemmas_ p; normals := faces_ p; shown := tree_ p |} in
          match st with
          | Infeasible =>
              need is_null witness_j && is_null distance_j && is_null (inside_j p)
                or "claim: infeasible, and a witness";
              Fine (made_of [] 0 None, means)
          | _ =>
              take away from number distance_j;
              need Qltb away far or "claim.distance: beyond all floats";
              take x from listed witness_j "witness: no list";
              take x from point_of cs x "witness: no point";
              take inside from match region_in q with
                               | Some r => take i from inside_of r (inside_j p); Fine (Some i)
                               | None => Fine None
                               end;
              Fine (made_of x away inside, means)
          end
      | _ => Wrong "claim"
      end
  | _ => Wrong "certificate"
  end.

(** ** The verdict on a file *)

Definition slack_fits (c : certificate) (m : meaning) : bool :=
  match m with
  | Real => Qeqb (slack (asked c)) 0
  | Floats f => Rounding.slack_ok c f
  end.

Definition verdict_on (j : json) : result (certificate * meaning) :=
  take (c, means) from decode j;
  need question_ok (asked c) or "question: not well formed";
  need slack_fits c means or "question.slack: it must be 0, or what rounding may do and explains";
  take _ from if claim_ok c then Fine tt
              else if undecided c
              then need covers c or "proof: it does not close all parts"; Beyond_ "a witness too near to an edge"
              else Wrong "claim: the witness or the numbers do not hold";
  need covers c or "proof: it does not close all parts";
  Fine (c, means).

(** What is accepted was checked: so the theorems of Soundness.v hold of it and, in floats, those of
    RoundingProofs.v. *)

Theorem verdict_checked j c m : verdict_on j = Fine (c, m) ->
  check c = true /\ match m with Real => slack (asked c) == 0 | Floats f => Rounding.slack_ok c f = true end.
Proof.
  unfold verdict_on, check. destruct (decode j) as [[d n]| |]; cbn [bind]; try discriminate.
  destruct (question_ok (asked d)) eqn:Q; try discriminate.
  destruct (slack_fits d n) eqn:S; try discriminate.
  destruct (claim_ok d) eqn:C.
  2:{ destruct (undecided d); [destruct (covers d)|]; discriminate. }
  destruct (covers d) eqn:V; try discriminate.
  intro H. injection H as <- <-. rewrite Q, C, V. split; [reflexivity|].
  destruct n; [apply Qeq_bool_eq; exact S|exact S].
Qed.
