(** * Certificates, and the check of all that they claim *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool.
From Cfxc Require Import Semantics Features Payments Forms Checker Rows Scopes Regions
  Witness.
Import ListNotations.
Open Scope Q_scope.

Inductive status := Optimal | Feasible | Infeasible.

(** [lower]: the bound that is claimed; [ball]: the radius that the proof covers.  [inside_]: the
    hull that the witness lies in, and weights of its rows. *)

Record certificate := {
  asked : question;
  claimed : status;
  stated_distance : Q;
  lower : Q;
  gap_ : Q;
  witness : point;
  inside_ : option (nat * list (nat * Q));
  ball : Q;
  learned : list lemma_;
  normals : list (nat * list Q);
  shown : proof }.

(** ** What the reader makes sure of *)

Definition formed (f : feature) : bool :=
  Qle_bool 0 (weight f) &&
  match shape f, own f with
  | Numbers n, Num o =>
      Qle_bool (low n) (high n) &&
      (if gone n o then Qltb o (low n) else Qle_bool (low n) o && Qle_bool o (high n)) &&
      match absent n with
      | Some a => Qltb a (low n) && negb (gap n) && match act f with Fixed => false | _ => true end
      | None => true
      end &&
      match step n with
      | Some s => Qltb 0 s
      | None => match bytes n with Bytes0 => false | _ => true end
      end
  | Labels count _, Lab o => Nat.ltb o count
  | _, _ => false
  end.

Definition metric_ok (n : norms) : bool :=
  Qle_bool 0 (l0 n) && Qle_bool 0 (l1 n) && Qle_bool 0 (linf n) && Qle_bool 0 (l2 n) &&
  Qeqb (l0 n + l1 n + linf n + l2 n) 1 &&
  (Qeqb (l2 n) 0 || (Qeqb (l1 n) 0 && Qeqb (linf n) 0)).

Definition target_ok (p : program) (t : target) : bool :=
  match t with
  | Between _ _ => Nat.eqb (length (outputs p)) 1
  | Wins o margin _ => Nat.ltb o (length (outputs p)) && Qle_bool 0 margin
  end.

Definition region_ok (r : option region) : bool :=
  match r with None => true | Some r => axes_ok r end.

Definition question_ok (q : question) : bool :=
  forallb formed (fs q) && Qltb 0 (sum (map weight (fs q))) && metric_ok (metric q) &&
  scoped (prog q) && forallb (forallb cuts_ok) (trees (prog q)) && target_ok (prog q) (goal q) &&
  region_ok (region_in q).

(** ** What the proof is about *)

Definition shares_of_features (l : features) : list Q :=
  let every := sum (map weight l) in map (fun f => weight f / every) l.

Definition peaks_of_features (l : features) : list Q :=
  let most := largest (map weight l) in map (fun f => weight f / most) l.

Definition hulls_of (q : question) : list (list point) :=
  match region_in q with Some r => hulls r | None => [] end.

Definition face_of (q : question) (n : nat * list Q) : option (nat * form) :=
  match region_in q with
  | None => None
  | Some r =>
      match nth_error (hulls r) (fst n) with
      | Some rows =>
          match face_form r rows (snd n) with Some f => Some (fst n, f) | None => None end
      | None => None
      end
  end.

Definition context_of (c : certificate) (faces : list (nat * form)) : context :=
  let q := asked c in
  {| feats := fs q; norm_ := metric q; shares := shares_of_features (fs q);
     peaks := peaks_of_features (fs q); radius := ball c; prg := prog q; rows := all_rows q;
     faces := faces |}.

(** All that is admissible, clipped to the ball. *)

Definition root (c : context) : option (list part) :=
  match option_list everything (feats c) with
  | Some all =>
      clip_all c (feats c) (shares c) (peaks c) (map (fun _ => radius c) (feats c)) all
  | None => None
  end.

Definition covers (c : certificate) : bool :=
  match option_list (face_of (asked c)) (normals c) with
  | None => false
  | Some faces =>
      let k := context_of c faces in
      let count := length (hulls_of (asked c)) in
      let start := if Nat.eqb count 1 then [Within 0] else [] in
      match root k with
      | None => false
      | Some parts =>
          let near := match deltas k parts with Some near => near | None => [] end in
          match learn k parts near start [] (learned c) [] with
          | Known bounds => walk k (constraints (asked c)) bounds count (shown c) parts start
          | _ => false
          end
      end
  end.

(** ** The witness *)

Definition may_be (f : feature) (v : value) : bool :=
  match shape f, own f, v with
  | Numbers n, Num o, Num x =>
      is_absent n x ||
      (in_range n (act f) o x &&
       (Qeqb x o ||
        match step n with
        | None => Qeqb (fl (bytes n) x) x
        | Some _ => match grid_up n false x with Some u => Qeqb u x | None => false end
        end))
  | Labels count _, Lab o, Lab i =>
      Nat.ltb i count &&
      match act f with
      | Free => true | Fixed => Nat.eqb i o | Increase => Nat.leb o i | Decrease => Nat.leb i o
      end
  | _, _, _ => false
  end.

Fixpoint may_all (l : features) (x : point) : bool :=
  match l, x with
  | [], [] => true
  | f :: l, v :: x => may_be f v && may_all l x
  | _, _ => false
  end.

Definition lies_in (r : option region) (inside : option (nat * list (nat * Q))) (x : point) : bool :=
  match r with
  | None => true
  | Some r =>
      match inside with
      | Some (h, ws) =>
          match nth_error (hulls r) h with Some rows => inside_ok r rows ws x | None => false end
      | None => false
      end
  end.

(** No float32 is as large as [2 ^ 128]. *)

Definition singles_fit (p : program) (zs : spans) : bool :=
  forallb (fun t => match fst t with
                    | Image Single _ => small_single (fst (snd t)) && small_single (snd (snd t))
                    | _ => true
                    end) (combine (made p) zs).

Definition answers (q : question) (inside : option (nat * list (nat * Q))) (x : point) : bool :=
  may_all (fs q) x && lies_in (region_in q) inside x &&
  match spots (prog q) x with
  | Some zs =>
      wins (prog q) zs (goal q) (slack q) x &&
      forallb (surely_true (prog q) zs x) (constraints q) && singles_fit (prog q) zs
  | None => false
  end.

(** ** The claim *)

(** The largest change there is in a part. *)

Definition farthest (f : feature) (p : part) : option Q :=
  match own f, p with
  | Num _, Interval lo hi =>
      match shape f with
      | Numbers n => match absent n with
                     | Some _ => Some 1
                     | None => greatest [change f (Num lo); change f (Num hi)]
                     end
      | _ => None
      end
  | Lab _, Among ls => greatest (map (fun i => change f (Lab i)) ls)
  | _, _ => None
  end.

Definition beyond_all (c : certificate) : bool :=
  match option_list (fun f => match everything f with Some p => farthest f p | None => None end)
                    (fs (asked c)) with
  | Some ds => Qltb (total (context_of c []) ds) (ball c)
  | None => false
  end.

Definition squared (n : norms) : bool := Qeqb (l2 n) 1.

Definition near_enough (c : certificate) : bool :=
  let keep := 1 - gap_ c in
  let keep := if squared (metric (asked c)) then keep * keep else keep in
  Qle_bool (stated_distance c * keep) (lower c).

(** All that is claimed, where [answer] says whether the witness is one. *)

Definition claim_by (answer : bool) (c : certificate) : bool :=
  Qle_bool 0 (lower c) && Qle_bool (lower c) (ball c) && Qle_bool 0 (gap_ c) && Qltb (gap_ c) 1 &&
  match claimed c with
  | Infeasible => beyond_all c
  | s =>
      answer &&
      Qeqb (total (context_of c []) (changes (fs (asked c)) (witness c))) (stated_distance c) &&
      Qle_bool (lower c) (stated_distance c) &&
      match s with Optimal => near_enough c | _ => true end
  end.

Definition claim_ok (c : certificate) : bool :=
  claim_by (answers (asked c) (inside_ c) (witness c)) c.

(** Whether the witness may be one, though it is not known: too near to an edge for what is known of
    smooth functions, or beyond their limits.  (Nothing follows from that.) *)

Definition may_answer (q : question) (inside : option (nat * list (nat * Q))) (x : point) : bool :=
  may_all (fs q) x && lies_in (region_in q) inside x &&
  match spots (prog q) x with
  | Some zs =>
      let upto := not_above (prog q) x zs in
      forallb (fun row => perhaps upto (fst row) (snd row)) (target_rows (prog q) (goal q) (slack q)) &&
      forallb (fun t => snd (judge upto t)) (constraints q) && singles_fit (prog q) zs
  | None => true
  end.

Definition undecided (c : certificate) : bool :=
  match claimed c with
  | Infeasible => false
  | _ => negb (answers (asked c) (inside_ c) (witness c)) &&
         claim_by (may_answer (asked c) (inside_ c) (witness c)) c
  end.

Definition check (c : certificate) : bool := question_ok (asked c) && covers c && claim_ok c.

(** Of many certificates: whether one shows that nothing is as near as [r]. *)

Definition is_beyond (r : Q) (c : certificate) : bool :=
  match claimed c with Infeasible => true | _ => Qltb r (lower c) end.

Definition count_beyond (r : Q) (cs : list certificate) : nat := length (filter (is_beyond r) cs).
