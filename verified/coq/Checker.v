(** * The checker: a tree of splits whose leaves are closed by rules

    Numbers of lemmas are those of docs/reference/certificate-format.md. *)

From Coq Require Import QArith Qabs Qminmax Qround ZArith List Bool.
From Cfxc Require Import Semantics Features Payments Forms Lines.
Import ListNotations.
Open Scope Q_scope.

(** ** What holds in a part besides its values *)

Inductive fact :=
  | Sign (k : nat) (up : bool)      (* z >= 0, or z <= 0 *)
  | AtMost (k : nat) (c : Q)        (* z <= c *)
  | Beyond (k : nat) (c : Q)        (* z > c *)
  | Within (h : nat).               (* within reach of hull h *)

(** What the last fact says of which [pick] takes something. *)

Fixpoint first_some {A} (pick : fact -> option A) (l : list fact) : option A :=
  match l with
  | [] => None
  | f :: l => match pick f with Some a => Some a | None => first_some pick l end
  end.

Definition sign_of (k : nat) := first_some (fun f =>
  match f with Sign i up => if Nat.eqb i k then Some up else None | _ => None end).

Definition most_of (k : nat) := first_some (fun f =>
  match f with AtMost i c => if Nat.eqb i k then Some c else None | _ => None end).

Definition beyond_of (k : nat) := first_some (fun f =>
  match f with Beyond i c => if Nat.eqb i k then Some c else None | _ => None end).

Definition is_within (h : nat) (l : list fact) : bool :=
  existsb (fun f => match f with Within i => Nat.eqb i h | _ => false end) l.

(** ** What the proof is about *)

Definition spans := list (Q * Q).

Record bound := { of_ : nat; upward : bool; limit : Q }.   (* z <= limit, or -z <= limit *)

Record context := {
  feats : features; norm_ : norms; shares : list Q; peaks : list Q; radius : Q;
  prg : program; rows : list (form * bool); faces : list (nat * form) }.

Definition update {A} (l : list A) (j : nat) (a : A) : list A :=
  firstn j l ++ match skipn j l with [] => [] | _ :: r => a :: r end.

Definition total (c : context) (ds : list Q) : Q :=
  sum (map (fun p => cost (norm_ c) (fst p) (snd p)) (combine (shares c) ds))
  + linf (norm_ c) * largest (map (fun p => fst p * snd p) (combine (peaks c) ds)).

Fixpoint map2 {A B C} (f : A -> B -> option C) (l : list A) (m : list B) : option (list C) :=
  match l, m with
  | [], [] => Some []
  | a :: l, b :: m =>
      match f a b, map2 f l m with Some c, Some r => Some (c :: r) | _, _ => None end
  | _, _ => None
  end.

Definition deltas (c : context) (parts : list part) : option (list Q) :=
  map2 nearest (feats c) parts.

(** ** Lemma 3: what of a part lies within the radius *)

Definition root_up (x : Q) : Q :=
  (inject_Z (Z.sqrt (Qceiling (x * pow2 200))) + 1) * pow2 (-100).

Definition reach_of (n : norms) (s p r : Q) : option Q :=
  let left := r - l0 n * s in
  if Qltb left 0 then Some 0
  else if negb (Qeqb (l2 n) 0 || Qeqb s 0) then Some (root_up (left / s / l2 n))
  else let slope := l1 n * s + linf n * p in
       if Qeqb slope 0 then None else Some (left / slope).

Fixpoint clip_all (c : context) (fs : features) (ss ps rs : list Q) (parts : list part)
  : option (list part) :=
  match fs, ss, ps, rs, parts with
  | [], [], [], [], [] => Some []
  | f :: fs, s :: ss, p :: ps, r :: rs, part :: parts =>
      match clip f part (reach_of (norm_ c) s p r), clip_all c fs ss ps rs parts with
      | Some a, Some b => Some (a :: b)
      | _, _ => None
      end
  | _, _, _, _, _ => None
  end.

(** A verdict: the certificate is refused, the part is closed, or something is known of it. *)

Inductive verdict (A : Type) := Refused | Closed | Known (a : A).
Arguments Refused {A}.
Arguments Closed {A}.
Arguments Known {A}.

Definition costs_of (c : context) (ds : list Q) : list Q :=
  map (fun p => cost (norm_ c) (fst p) (snd p)) (combine (shares c) ds).

(** Lemma 6: closed where the least changes are as far as the radius. *)

Definition inside (c : context) (parts : list part) : verdict (list part) :=
  match deltas c parts with
  | None => if forallb (fun p => match p with Empty | Among [] => false | _ => true end) parts
            then Refused else Closed
  | Some ds =>
      if Qle_bool (radius c) (total c ds) then Closed
      else
        let costs := costs_of c ds in
        let spare := radius c - sum costs in
        match clip_all c (feats c) (shares c) (peaks c) (map (fun d => spare + d) costs) parts with
        | Some parts => Known parts
        | None => Refused
        end
  end.

(** ** Leaves of a tree that a part meets within the radius, with what of it is left there *)

Section Leaves.

Variables (c : context) (known : spans) (facts : list fact).

Definition leaf := (list Q * list part * list Q)%type.

Definition both (a b : option (list leaf)) : option (list leaf) :=
  match a, b with Some a, Some b => Some (a ++ b) | _, _ => None end.

Definition enter (f : feature) (j : nat) (side : part) (parts : list part) (near : list Q)
  (go : list part -> list Q -> option (list leaf)) : option (list leaf) :=
  match nearest f side, nth_error near j with
  | Some d, Some old =>
      let near' := update near j d in
      if negb (Qeqb d old) && Qle_bool (radius c) (total c near') then Some []
      else go (update parts j side) near'
  | None, Some _ => Some []
  | _, None => None
  end.

Fixpoint leaves (t : tree) (parts : list part) (near : list Q) : option (list leaf) :=
  match t with
  | Leaf vs => Some [(vs, parts, near)]
  | Number j cut l r =>
      match nth_error (feats c) j, nth_error parts j with
      | Some f, Some p =>
          match sides_at f p cut with
          | Some (a, b) => both (enter f j a parts near (leaves l)) (enter f j b parts near (leaves r))
          | None => None
          end
      | _, _ => None
      end
  | Label j among l r =>
      match nth_error (feats c) j, nth_error parts j with
      | Some f, Some p =>
          match sides_among p among with
          | Some (a, b) => both (enter f j a parts near (leaves l)) (enter f j b parts near (leaves r))
          | None => None
          end
      | _, _ => None
      end
  | Test k cut l r =>
      match nth_error known k with
      | None => both (leaves l parts near) (leaves r parts near)
      | Some (lo, hi) =>
          if Qle_bool hi cut then leaves l parts near
          else if Qltb cut lo || match beyond_of k facts with Some b => Qle_bool cut b | None => false end
          then leaves r parts near
          else both (leaves l parts near) (leaves r parts near)
      end
  end.

End Leaves.

(** Cuts are doubles, as the reader makes sure. *)

Fixpoint cuts_ok (t : tree) : bool :=
  match t with
  | Leaf _ => true
  | Number _ cut l r => is_double cut && cuts_ok l && cuts_ok r
  | Label _ _ l r | Test _ _ l r => cuts_ok l && cuts_ok r
  end.

(** ** Lemma 4: between which values a form lies *)

Fixpoint split_labels (j : nat) (f : form) : list (nat * Q) * form :=
  match f with
  | (Is i l, a) :: f' =>
      if Nat.eqb i j then let (g, r) := split_labels j f' in ((l, a) :: g, r) else ([], f)
  | _ => ([], f)
  end.

Definition split_number (j : nat) (f : form) : Q * form :=
  match f with
  | (X i, a) :: f' => if Nat.eqb i j then (a, f') else (0, f)
  | _ => (0, f)
  end.

Definition split_one (f : form) : Q * form :=
  match f with (One, a) :: f' => (a, f') | _ => (0, f) end.

Fixpoint factor_of (i : nat) (g : list (nat * Q)) : Q :=
  match g with [] => 0 | (l, a) :: g => if Nat.eqb l i then a + factor_of i g else factor_of i g end.

Definition between := option (Q * Q).

Definition plus_between (a b : between) : between :=
  match a, b with Some (l, h), Some (l', h') => Some (l + l', h + h') | _, _ => None end.

Definition scaled (a : Q) (b : Q * Q) : Q * Q :=
  let (l, h) := b in if Qle_bool 0 a then (a * l, a * h) else (a * h, a * l).

Definition times (a : Q) (b : between) : between :=
  match b with Some b => Some (scaled a b) | None => None end.

Definition extreme (l : list Q) : between :=
  match smallest l, greatest l with Some a, Some b => Some (a, b) | _, _ => None end.

Definition number_range (p : part) (a : Q) : between :=
  if Qeqb a 0 then Some (0, 0)
  else match p with Interval lo hi => Some (scaled a (lo, hi)) | _ => None end.

Definition label_range (p : part) (g : list (nat * Q)) : between :=
  match g, p with
  | [], _ => Some (0, 0)
  | _, Among ls => extreme (map (fun i => factor_of i g) ls)
  | _, _ => None
  end.

(** The factors of all numbers, and those of all labels, feature by feature; and what is left. *)

Fixpoint number_slots (j : nat) (parts : list part) (f : form) : list Q * form :=
  match parts with
  | [] => ([], f)
  | _ :: parts =>
      let (a, f) := split_number j f in
      let (rest, f) := number_slots (S j) parts f in (a :: rest, f)
  end.

Fixpoint label_slots (j : nat) (parts : list part) (f : form) : list (list (nat * Q)) * form :=
  match parts with
  | [] => ([], f)
  | _ :: parts =>
      let (g, f) := split_labels j f in
      let (rest, f) := label_slots (S j) parts f in (g :: rest, f)
  end.

(** What is made where z lies in a range; and of all but smooth functions, of a z. *)

Definition plain (c : curve) (z : Q) : Q := image (F := no_functions) c z.

Definition images (e : entry) (b : Q * Q) : between :=
  match curve_of e with
  | Smooth f =>
      match value_down f (fst b), value_up f (snd b) with
      | Some lo, Some hi => Some (lo, hi)
      | _, _ => None
      end
  | c => Some (plain c (fst b), plain c (snd b))
  end.

Fixpoint sum_between (l : list between) : between :=
  match l with [] => Some (0, 0) | b :: l => plus_between b (sum_between l) end.

Section Ranges.

Variables (c : context) (facts : list fact) (parts : list part) (near : list Q).

Definition tree_range (known : spans) (n col : nat) : between :=
  sum_between
    (map (fun t => match leaves c known facts t parts near with
                   | Some met => extreme (map (fun l => nth col (fst (fst l)) 0) met)
                   | None => None
                   end)
         (nth n (trees (prg c)) [])).

Definition term_range (known : spans) (t : source * Q) : between :=
  let (s, a) := t in
  match s with
  | Column n col => times a (tree_range known n col)
  | Made k => match nth_error (made (prg c)) k, nth_error known k with
              | Some e, Some b => times a (images e b)
              | _, _ => None
              end
  | _ => None
  end.

Definition range (known : spans) (f : form) : between :=
  let (one, f) := split_one f in
  let (xs, f) := number_slots 0 parts f in
  let (gs, f) := label_slots 0 parts f in
  plus_between (Some (one, one))
    (plus_between (sum_between (map (fun t => number_range (fst t) (snd t)) (combine parts xs)))
       (plus_between (sum_between (map (fun t => label_range (fst t) (snd t)) (combine parts gs)))
          (sum_between (map (term_range known) f)))).

(** Where a product, less multiples of its factors, is least and largest. *)

Definition corners (square : bool) (u v : Q * Q) (vertex : Q) : list (Q * Q) :=
  let (a, b) := u in
  let (l, h) := v in
  if square then let m := clamp a b vertex in [(a, a); (m, m); (b, b)]
  else [(a, l); (a, h); (b, l); (b, h)].

Definition entry_range (known : spans) (e : entry) : between :=
  match e with
  | Image _ f => range known f
  | Product i m =>
      match nth_error known i, nth_error known m with
      | Some u, Some v =>
          extreme (map (fun p => fst p * snd p) (corners (Nat.eqb i m) u v 0))
      | _, _ => None
      end
  end.

Definition lowered (k : nat) (bounds : list bound) : list Q :=
  flat_map (fun b => if Nat.eqb (of_ b) k && negb (upward b) then [- limit b] else []) bounds.
Definition raised (k : nat) (bounds : list bound) : list Q :=
  flat_map (fun b => if Nat.eqb (of_ b) k && upward b then [limit b] else []) bounds.

Definition float_below (x : Q) : Q := float_down Bytes8 x.
Definition float_above (x : Q) : Q := float_up Bytes8 x.

Definition small_single (x : Q) : bool := Qltb (Qabs (fl Bytes4 x)) (pow2 128).

Fixpoint extend (bounds : list bound) (k : nat) (es : list entry) (known : spans) : verdict spans :=
  match es with
  | [] => Known known
  | e :: es =>
      match entry_range known e with
      | None => Refused
      | Some (lo, hi) =>
          let lo := fold_left Qmax (lowered k bounds) lo in
          let hi := fold_left Qmin (raised k bounds) hi in
          let lo := match sign_of k facts with Some true => Qmax lo 0 | _ => lo end in
          let hi := match sign_of k facts with Some false => Qmin hi 0 | _ => hi end in
          let lo := match beyond_of k facts with Some b => Qmax lo b | None => lo end in
          let hi := match most_of k facts with Some b => Qmin hi b | None => hi end in
          if Qltb hi lo then Closed
          else if match e with Image Single _ => small_single lo && small_single hi | _ => true end
          then extend bounds (S k) es (known ++ [(float_below lo, float_above hi)])
          else Refused
      end
  end.

(** Ranges of the first [upto] that are made, of which some are known. *)

Definition spans_of (bounds : list bound) (known : spans) (upto : nat) : verdict spans :=
  extend bounds (length known) (skipn (length known) (firstn upto (made (prg c)))) known.

End Ranges.

(** ** Lemma 8: inequalities *)

Inductive ineq :=
  | Row (i : nat)
  | Face (i : nat)
  | Signed (k : nat)
  | Above (k : nat)
  | Chord (k : nat)
  | Least_ (k : nat)
  | Most_ (k : nat)
  | Plane (k : nat) (over : bool) (p q : Q).

Record multipliers := {
  budget : Q; ineqs : list (ineq * Q); peaked : list (nat * Q); shared : list stated }.

Definition no_multipliers : multipliers :=
  {| budget := 0; ineqs := []; peaked := []; shared := [] |}.

Definition one_term (s : source) (a : Q) : form := [(s, a)].
Definition constant (a : Q) : form := one_term One a.

Definition is_unit (p : program) (k : nat) : bool :=
  match nth_error (made p) k with Some (Image Unit _) => true | _ => false end.

(** The form of what is made before its image: of a product, the product itself. *)

Definition inner (p : program) (k : nat) : option form :=
  match nth_error (made p) k with
  | Some (Image _ f) => Some f
  | Some (Product _ _) => Some (one_term (Made k) 1)
  | None => None
  end.

Definition inequality (c : context) (facts : list fact) (known : spans) (i : ineq) : option form :=
  match i with
  | Row i => match nth_error (rows c) i with Some (f, _) => Some f | None => None end
  | Face i =>
      match nth_error (faces c) i with
      | Some (h, f) => if is_within h facts then Some f else None
      | None => None
      end
  | Signed k =>
      match sign_of k facts, inner (prg c) k with
      | Some up, Some z => Some (scale (if up then 1 else -1) z)
      | _, _ => None
      end
  | Above k =>
      if is_unit (prg c) k then
        match inner (prg c) k with
        | Some z => Some (add (one_term (Made k) 1) (-1) z)
        | None => None
        end
      else None
  | Chord k =>
      if is_unit (prg c) k then
        match inner (prg c) k, nth_error known k with
        | Some z, Some (lo, hi) =>
            if Qltb lo 0 && Qltb 0 hi then
              let steep := fl Bytes8 (hi / (hi - lo)) in
              Some (add (add (constant (Qmax (- (steep * lo)) (hi - steep * hi))) steep z)
                        (-1) (one_term (Made k) 1))
            else Some []
        | _, _ => None
        end
      else None
  | Least_ k =>
      match inner (prg c) k, nth_error known k with
      | Some z, Some (lo, _) => Some (add (constant (- lo)) 1 z)
      | _, _ => None
      end
  | Most_ k =>
      match inner (prg c) k, nth_error known k with
      | Some z, Some (_, hi) => Some (add (constant hi) (-1) z)
      | _, _ => None
      end
  | Plane k over p q =>
      match nth_error (made (prg c)) k with
      | Some (Product i m) =>
          match nth_error known i, nth_error known m,
                nth_error (made (prg c)) i, nth_error (made (prg c)) m with
          | Some u, Some v, Some (Image Form _), Some (Image Form _) =>
              let side := if over then 1 else -1 in
              match smallest (map (fun e => side * (fst e * snd e - q * fst e - p * snd e))
                                  (corners (Nat.eqb i m) u v ((p + q) / 2))) with
              | Some least =>
                  Some (add (add (add (constant (- least)) side (one_term (Made k) 1))
                                 (- (side * q)) (one_term (Made i) 1))
                            (- (side * p)) (one_term (Made m) 1))
              | None => None
              end
          | _, _, _, _ => None
          end
      | Some (Image (Smooth f) z) =>
          match nth_error known k with
          | Some (lo, hi) =>
              let side := if over then 1 else -1 in
              match beside f over p q lo hi with
              | Some least =>
                  Some (add (add (constant (- least)) side (one_term (Made k) 1)) (- (side * p)) z)
              | None => None
              end
          | None => None
          end
      | _ => None
      end
  end.

(** ** Lemma 9: what a form does not exceed, without what is made *)

Definition half_ulp : Q := pow2 (-24).
Definition half_least : Q := pow2 (-150).

Fixpoint weigh (c : context) (facts : list fact) (known : spans) (l : list (ineq * Q)) (f : form)
  : option form :=
  match l with
  | [] => Some f
  | (i, y) :: l =>
      match inequality c facts known i with
      | Some g => weigh c facts known l (add f y g)
      | None => None
      end
  end.

(** One entry is taken out: a constant to add, and the form without it. *)

Definition take_out (c : context) (known : spans) (k : nat) (f : form) : option (Q * form) :=
  let (a, rest) := pop (Made k) f in
  if Qeqb a 0 then Some (0, rest)
  else
    match nth_error (made (prg c)) k, nth_error known k with
    | Some (Product _ _), Some (lo, hi) => Some (Qmax (a * lo) (a * hi), rest)
    | Some (Image Step _ as e), Some b | Some (Image (Smooth _) _ as e), Some b =>
        match images e b with
        | Some (lo, hi) => Some (Qmax (a * lo) (a * hi), rest)
        | None => None
        end
    | Some (Image Form z), Some _ => Some (0, add rest a z)
    | Some (Image Single z), Some (lo, hi) =>
        Some (Qabs a * (half_ulp * Qmax (Qabs lo) (Qabs hi) + half_least), add rest a z)
    | Some (Image Unit z), Some (lo, hi) =>
        if Qle_bool 0 lo then Some (0, add rest a z)
        else if Qltb 0 hi then Some (Qmax (a * hi) 0, rest)
        else Some (0, rest)
    | _, _ => None
    end.

Fixpoint take_all (c : context) (known : spans) (k : nat) (value : Q) (f : form)
  : option (Q * form) :=
  match k with
  | O => Some (value, f)
  | S k =>
      match take_out c known k f with
      | Some (more, f) => take_all c known k (value + more) f
      | None => None
      end
  end.

(** ** Lemmas 10 and 11: tree by tree and feature by feature *)

Definition option_list {A B} (f : A -> option B) (l : list A) : option (list B) :=
  fold_right (fun a acc => match f a, acc with Some b, Some r => Some (b :: r) | _, _ => None end)
    (Some []) l.

Definition worths := list (Q * Q).   (* what each leaf or value adds, and what it pays *)

Definition way_of (f : feature) (p : part) : way :=
  match own f, p with
  | Num o, Interval lo hi => if Qltb o lo then Up else if Qltb hi o then Down else Either
  | _, _ => Either
  end.

Section Pieces.

Variables (c : context) (facts : list fact) (known : spans) (parts : list part) (near : list Q).
Variables (mu : Q) (pay_list : list pay).

Definition paid_at (ps : list pay) (here : list part) (near : list Q) : Q :=
  sum (map (fun p =>
    match nth_error (feats c) (paid_for p), nth_error here (paid_for p),
          nth_error near (paid_for p), nth_error (shares c) (paid_for p) with
    | Some f, Some part, Some d, Some s =>
        if way_eqb (towards p) Either || way_eqb (towards p) (way_of f part)
        then pays p (cost (norm_ c) s d) else 0
    | _, _, _, _ => 0
    end) ps).

Definition columns_of (n : nat) (f : form) : list (nat * Q) :=
  flat_map (fun t => match fst t with
                     | Column m col => if Nat.eqb m n then [(col, snd t)] else []
                     | _ => []
                     end) f.

Definition leaf_worth (own : list (nat * Q)) (vs : list Q) : Q :=
  sum (map (fun t => snd t * nth (fst t) vs 0) own).

Definition tree_piece (own : list (nat * Q)) (number : nat) (t : tree) : option (list worths) :=
  let ps := filter (fun p => Nat.eqb (payer p) number) pay_list in
  match own, ps with
  | [], [] => Some []
  | _, _ =>
      match leaves c known facts t parts near with
      | Some met => Some [map (fun l => let '(vs, here, near) := l in
                                        (leaf_worth own vs, mu * paid_at ps here near)) met]
      | None => None
      end
  end.

Fixpoint tree_pieces (own : list (nat * Q)) (number : nat) (ts : list tree) : option (list worths) :=
  match ts with
  | [] => Some []
  | t :: ts =>
      match tree_piece own number t, tree_pieces own (S number) ts with
      | Some a, Some b => Some (a ++ b)
      | _, _ => None
      end
  end.

Fixpoint ensemble_pieces (f : form) (n number : nat) (es : list (list tree)) : option (list worths) :=
  match es with
  | [] => Some []
  | ts :: es =>
      match tree_pieces (columns_of n f) number ts,
            ensemble_pieces f (S n) (number + length ts) es with
      | Some a, Some b => Some (a ++ b)
      | _, _ => None
      end
  end.

End Pieces.

(** A feature in a piece: what it adds is the factor of its number, or those of its labels. *)

Record slot := {
  feature_ : feature; part_ : part; factor_ : Q; factors_ : list (nat * Q); price_ : price }.

Definition slot_worths (s : slot) (p : part) : option worths :=
  match shape (feature_ s), own (feature_ s), p with
  | Numbers n, Num o, Interval lo hi =>
      if Qle_bool lo hi then
        Some (map (fun y => (factor_ s * y, priced (price_ s) (change (feature_ s) (Num y))))
                  (places_of (feature_ s) n o (factor_ s) (price_ s) lo hi))
      else Some []
  | Labels _ _, Lab _, Among ls =>
      Some (map (fun i => (factor_of i (factors_ s),
                           priced (price_ s) (change (feature_ s) (Lab i)))) ls)
  | _, _, _ => None
  end.

(** The multipliers' part in the price of a feature. *)

Definition price_of (c : context) (by_ : multipliers) (j : nat) (s p : Q) : price :=
  {| budget_ := budget by_ * left_over (shared by_) j; metric_ := norm_ c; share_ := s;
     peak_ := factor_of j (peaked by_) * p |}.

Fixpoint slots (c : context) (by_ : multipliers) (j : nat) (fs : features) (ss ps : list Q)
  (parts : list part) (xs : list Q) (gs : list (list (nat * Q))) : list slot :=
  match fs, ss, ps, parts, xs, gs with
  | f :: fs, s :: ss, p :: ps, part :: parts, x :: xs, g :: gs =>
      {| feature_ := f; part_ := part; factor_ := x; factors_ := g;
         price_ := price_of c by_ j s p |} :: slots c by_ (S j) fs ss ps parts xs gs
  | _, _, _, _, _, _ => []
  end.

Inductive piece := Tree_piece (w : worths) | Slot_piece (s : slot).

Definition piece_worths (p : piece) : option worths :=
  match p with Tree_piece w => Some w | Slot_piece s => slot_worths s (part_ s) end.

Definition net (w : worths) : option Q := greatest (map (fun t => fst t - snd t) w).
Definition top (w : worths) : option Q := greatest (map fst w).

(** Lemma 10. *)

Fixpoint together (value : Q) (l : list piece) : option Q :=
  match l with
  | [] => Some value
  | p :: l =>
      match piece_worths p with
      | Some w => match net w with Some m => together (value + m) l | None => None end
      | None => None
      end
  end.

(** Lemma 11: what of a piece may be there if the only inequality holds. *)

Definition misses (v : Q) (strict : bool) : bool := Qltb v 0 || (strict && Qle_bool v 0).

Definition kept (strict : bool) (least : Q) (p : piece) : option worths :=
  let few w := Some (filter (fun t => negb (misses (fst t - least) strict)) w) in
  match p with
  | Tree_piece w => few w
  | Slot_piece s =>
      match part_ s with
      | Interval lo hi =>
          if Qeqb (factor_ s) 0
          then match slot_worths s (part_ s) with Some w => few w | None => None end
          else
            let e := least / factor_ s in
            slot_worths s (if Qltb 0 (factor_ s) then Interval (Qmax lo e) hi
                           else Interval lo (Qmin hi e))
      | _ => match slot_worths s (part_ s) with Some w => few w | None => None end
      end
  end.

Fixpoint tops (l : list piece) : option (list Q) :=
  match l with
  | [] => Some []
  | p :: l =>
      match piece_worths p with
      | Some w => match top w, tops l with Some m, Some r => Some (m :: r) | _, _ => None end
      | None => None
      end
  end.

Fixpoint alone (strict : bool) (spare value : Q) (l : list (piece * Q)) : option Q :=
  match l with
  | [] => Some value
  | (p, m) :: l =>
      match kept strict (m - spare) p with
      | Some [] => Some (- (1))
      | Some w => match net w with Some m => alone strict spare (value + m) l | None => None end
      | None => None
      end
  end.

Definition apart (by_ : multipliers) (r : Q) (value : Q) (only : option bool) (l : list piece)
  : option Q :=
  match only with
  | None => together value l
  | Some strict =>
      match tops l with
      | Some ms => alone strict (value - budget by_ * r + sum ms) value (combine l ms)
      | None => None
      end
  end.

Definition is_column (t : source * Q) : bool := match fst t with Column _ _ => true | _ => false end.

(** What [form + sum y g + mu (r - d)] does not exceed in a part of the ball. *)

Definition most (c : context) (facts : list fact) (known : spans) (parts : list part)
  (by_ : multipliers) (only : option bool) (f : form) : option Q :=
  match deltas c parts, weigh c facts known (ineqs by_) f with
  | Some near, Some f =>
      match take_all c known (length (made (prg c))) (budget by_ * radius c) f with
      | Some (value, f) =>
          let (one, f) := split_one f in
          let (xs, f) := number_slots 0 parts f in
          let (gs, f) := label_slots 0 parts f in
          if forallb is_column f then
            match ensemble_pieces c facts known parts near (budget by_) (payments (shared by_))
                    f 0 0 (trees (prg c)) with
            | Some ws =>
                apart by_ (radius c) (value + one) only
                  (map Tree_piece ws ++
                   map Slot_piece (slots c by_ 0 (feats c) (shares c) (peaks c) parts xs gs))
            | None => None
            end
          else None
      | None => None
      end
  | _, _ => None
  end.

(** What the reader asks of multipliers. *)

Definition multipliers_ok (c : context) (by_ : multipliers) : bool :=
  Qle_bool 0 (budget by_) && forallb (fun t => Qle_bool 0 (snd t)) (ineqs by_)
  && forallb (fun t => Qle_bool 0 (snd t)) (peaked by_)
  && Qle_bool (sum (map snd (peaked by_))) (budget by_ * linf (norm_ c))
  && payments_ok (shared by_).

(** Lemma 7. *)

Definition strict_row (c : context) (i : ineq) : bool :=
  match i with Row i => match nth_error (rows c) i with Some (_, s) => s | None => false end
          | _ => false end.

Definition outweighs (c : context) (facts : list fact) (known : spans) (parts : list part)
  (by_ : multipliers) : bool :=
  let used := filter (fun t => Qltb 0 (snd t)) (ineqs by_) in
  let strict := existsb (fun t => strict_row c (fst t)) used in
  let only := match used with [_] => Some strict | _ => None end in
  multipliers_ok c by_ &&
  match most c facts known parts by_ only [] with
  | Some w => Qltb w 0 || (Qle_bool w 0 && (Qltb 0 (budget by_) || strict))
  | None => false
  end.

(** Lemma 5: whether a condition is true all over a part, and whether it may be anywhere. *)

Section Truths.

Variable upto : form -> option Q.   (* what a form does not exceed *)

Definition at_most (f : form) : Q * bool :=
  match upto f with Some w => (w, true) | None => (0, false) end.

Definition surely (f : form) (strict : bool) : bool :=
  match upto (scale (-1) f) with Some w => negb (misses (- w) strict) | None => false end.

Definition perhaps (f : form) (strict : bool) : bool :=
  match upto f with Some w => negb (misses w strict) | None => true end.

Fixpoint judge (t : truth) : bool * bool :=
  match t with
  | Nonneg f => (surely f false, perhaps f false)
  | Positive f => (surely f true, perhaps f true)
  | Not t => let (sure, may) := judge t in (negb may, negb sure)
  | And ts => let found := map judge ts in (forallb fst found, forallb snd found)
  | Or ts => let found := map judge ts in (existsb fst found, existsb snd found)
  end.

End Truths.

Definition contradicts (c : context) (facts : list fact) (known : spans) (parts : list part)
  (truths : list truth) : bool :=
  existsb (fun t => negb (snd (judge (most c facts known parts no_multipliers None) t))) truths.

(** ** The proof *)

Inductive rule := Distance | Constraint | Bound (by_ : multipliers).

Inductive proof :=
  | Cut (j : nat) (at_ : Q) (left right : proof)
  | Split (j : nat) (l : nat) (left right : proof)
  | Signs (k : nat) (left right : proof)
  | At (k : nat) (c : Q) (left right : proof)
  | Hulls (each : list proof)
  | Close (r : rule).

Section Walk.

Variables (c : context) (truths : list truth) (bounds : list bound) (count : nat).

Definition closes (r : rule) (parts : list part) (facts : list fact) : bool :=
  match inside c parts with
  | Refused => false
  | Closed => true
  | Known near_parts =>
      match r, deltas c near_parts with
      | Distance, _ => false
      | _, None => false
      | _, Some near =>
          match spans_of c facts near_parts near bounds [] (length (made (prg c))) with
          | Refused => false
          | Closed => true
          | Known known =>
              match r with
              | Bound by_ => outweighs c facts known near_parts by_
              | _ => contradicts c facts known near_parts truths
              end
          end
      end
  end.

Definition split_feature (parts : list part) (j : nat) (two : feature -> part -> option (part * part))
  : option (list part * list part) :=
  match nth_error (feats c) j, nth_error parts j with
  | Some f, Some p =>
      match two f p with
      | Some (a, b) => Some (update parts j a, update parts j b)
      | None => None
      end
  | _, _ => None
  end.

Fixpoint walk (p : proof) (parts : list part) (facts : list fact) : bool :=
  match p with
  | Close r => closes r parts facts
  | Cut j at_ l r =>
      is_double at_ &&
      match split_feature parts j (fun f p => sides_at f p at_) with
      | Some (a, b) => walk l a facts && walk r b facts
      | None => false
      end
  | Split j i l r =>
      match split_feature parts j (fun _ p => sides_among p [i]) with
      | Some (a, b) => walk l a facts && walk r b facts
      | None => false
      end
  | Signs k l r =>
      is_unit (prg c) k && walk l parts (Sign k false :: facts) && walk r parts (Sign k true :: facts)
  | At k cut l r =>
      Nat.ltb k (length (made (prg c))) &&
      walk l parts (AtMost k cut :: facts) && walk r parts (Beyond k cut :: facts)
  | Hulls each =>
      negb (Nat.eqb count 0) && Nat.eqb (length each) count &&
      (fix all (h : nat) (each : list proof) : bool :=
         match each with
         | [] => true
         | p :: each => walk p parts (Within h :: facts) && all (S h) each
         end) 0%nat each
  end.

(** Lemma 12: bounds of what is made, at every counterfactual in the ball. *)

Record lemma_ := { states : bound; shown_by : multipliers }.

Definition side_form (b : bound) : option form :=
  match inner (prg c) (of_ b) with
  | Some z => Some (scale (if upward b then 1 else -1) z)
  | None => None
  end.

Definition shows (parts : list part) (near : list Q) (facts : list fact) (before : spans)
  (l : lemma_) (earlier : list bound) : verdict spans :=
  let k := of_ (states l) in
  let upto := match trees (prg c) with [] => S k | _ => length (made (prg c)) end in
  match spans_of c facts parts near earlier (firstn k before) upto with
  | Refused => Refused
  | Closed => Closed
  | Known known =>
      match side_form (states l) with
      | Some z =>
          if multipliers_ok c (shown_by l) &&
             match most c facts known parts (shown_by l) None z with
             | Some w => Qle_bool w (limit (states l)) | None => false end
          then Known known else Refused
      | None => Refused
      end
  end.

End Walk.

(** The bounds of all lemmas, each shown with those before it.  [Closed]: the ball is empty. *)

Fixpoint learn (c : context) (parts : list part) (near : list Q) (facts : list fact)
  (before : spans) (ls : list lemma_) (earlier : list bound) : verdict (list bound) :=
  match ls with
  | [] => Known earlier
  | l :: ls =>
      match shows c parts near facts before l earlier with
      | Refused => Refused
      | Closed => learn c parts near facts [] ls (states l :: earlier)
      | Known known =>
          learn c parts near facts (firstn (of_ (states l)) known) ls (states l :: earlier)
      end
  end.
