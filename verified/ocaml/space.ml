(* Whether "space", a text in TOML, says of features what "features" does, of which alone the proof
   is.  What FeatureSpace.to_toml writes is read.  Files are only rejected here, or not covered. *)

module Whole = Z
module Ratio = Q
open Core

exception Unread of string
exception Differs of string

let unread why = raise (Unread ("space: " ^ why))
let need holds why = if not holds then raise (Differs why)

(* The UTF-16 units of a string as Json keeps it. *)
let units s =
  let rec go i found =
    if i >= String.length s then Array.of_list (List.rev found)
    else if s.[i] <> '\\' then go (i + 1) (Char.code s.[i] :: found)
    else
      match s.[i + 1] with
      | 'u' -> go (i + 6) (int_of_string ("0x" ^ String.sub s (i + 2) 4) :: found)
      | c ->
          let code = match c with 'n' -> 10 | 'r' -> 13 | 't' -> 9 | 'f' -> 12 | 'b' -> 8 | c -> Char.code c in
          go (i + 2) (code :: found)
  in
  go 0 []

let is_digit c = c >= '0' && c <= '9'
let is_whole s = s <> "" && String.for_all is_digit s && (s.[0] <> '0' || s = "0")
let ten k = Whole.pow (Whole.of_int 10) k

(* A decimal, with an exponent or not; exact. *)
let decimal text =
  let cut c s = match String.index_opt s c with
    | Some i -> (String.sub s 0 i, Some (String.sub s (i + 1) (String.length s - i - 1)))
    | None -> (s, None)
  in
  let unsigned s = if s <> "" && s.[0] = '-' then String.sub s 1 (String.length s - 1) else s in
  let mantissa, exponent = cut 'e' (String.lowercase_ascii text) in
  let whole, places = cut '.' (unsigned mantissa) in
  let places = Option.value places ~default:"" in
  let power = match exponent with
    | None -> 0
    | Some e ->
        let size = match e with "" -> "" | e -> if e.[0] = '+' then String.sub e 1 (String.length e - 1) else unsigned e in
        if size = "" || String.length size > 4 || not (String.for_all is_digit size) then unread "a number"
        else if e.[0] = '-' then -int_of_string size else int_of_string size
  in
  if not (is_whole whole && is_whole ("1" ^ places)) || mantissa.[String.length mantissa - 1] = '.' then
    unread "a number";
  let digits = Whole.of_string (whole ^ places) in
  let shift = power - String.length places in
  let size = if shift >= 0 then Ratio.of_bigint (Whole.mul digits (ten shift)) else Ratio.make digits (ten (-shift)) in
  if text.[0] = '-' then Ratio.neg size else size

(* Dots in lines, squared and summed: Python's reader takes as long, and has this limit. *)
let dots u =
  let add (sum, line) c = if c = 10 then (sum + (line * line), 0) else (sum, if c = 46 then line + 1 else line) in
  let sum, line = Array.fold_left add (0, 0) u in
  sum + (line * line)

let most = 1 lsl 20 (* units of the text *)
let most_entries = 40 (* of a table; all that are known are fewer *)

(* Characters, as Python counts them. *)
let length u =
  let add (count, last) c =
    ((if c land 0xfc00 = 0xdc00 && last land 0xfc00 = 0xd800 then count else count + 1), c)
  in
  fst (Array.fold_left add (0, 0) u)

let a_float = "." (* what no entry is named: its value is the text of a float *)

(* The entries of the text, and those of each [[feature]]. *)
let read s =
  let u = units s and at = ref 0 in
  need (length u <= most && dots u <= 1_000_000_000) "space: too long";
  let peek k = if !at + k < Array.length u then u.(!at + k) else -1 in
  let is c = peek 0 = Char.code c in
  let skip c = if is c then incr at else unread ("no " ^ String.make 1 c) in
  let rec blanks lines =
    if is ' ' || is '\t' || (lines && (is '\n' || (is '\r' && peek 1 = 10))) then (incr at; blanks lines)
    else if lines && is '#' then begin
      while peek 0 >= 0 && not (is '\n') do
        if (peek 0 < 32 && not (is '\t' || (is '\r' && peek 1 = 10))) || peek 0 = 127 then unread "a comment";
        incr at
      done;
      blanks lines
    end
  in
  let run holds =
    let start = !at in
    while peek 0 >= 0 && peek 0 < 128 && holds (Char.chr (peek 0)) do incr at done;
    String.init (!at - start) (fun i -> Char.chr u.(start + i))
  in
  let is_bare = function 'a' .. 'z' | 'A' .. 'Z' | '0' .. '9' | '_' | '-' -> true | _ -> false in
  let text () =
    skip '"';
    let b = Buffer.create 16 in
    let hex count =
      let h = String.init count (fun i -> if peek i >= 0 && peek i < 128 then Char.chr (peek i) else '?') in
      let is_hex = function '0' .. '9' | 'a' .. 'f' | 'A' .. 'F' -> true | _ -> false in
      if not (String.for_all is_hex h) then unread "an escape";
      at := !at + count;
      let code = int_of_string ("0x" ^ h) in
      if code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) then unread "an escape";
      if code < 0x10000 then Json.put b code
      else begin
        Json.put b (0xd800 + ((code - 0x10000) lsr 10));
        Json.put b (0xdc00 + ((code - 0x10000) land 1023))
      end
    in
    while not (is '"') do
      let c = peek 0 in
      if (c < 32 && c <> 9) || c = 127 then unread "a text";
      incr at;
      if c <> 92 then Json.put b c
      else begin
        let e = peek 0 in
        incr at;
        match if e >= 0 && e < 128 then Char.chr e else '?' with
        | ('"' | '\\') as c -> Json.put b (Char.code c)
        | 'b' -> Json.put b 8
        | 't' -> Json.put b 9
        | 'n' -> Json.put b 10
        | 'f' -> Json.put b 12
        | 'r' -> Json.put b 13
        | 'u' -> hex 4
        | 'U' -> hex 8
        | _ -> unread "an escape"
      end
    done;
    incr at;
    if Buffer.length b = 0 && is '"' then unread "a text of several lines";
    Buffer.contents b
  in
  let rec value depth =
    if depth = 0 then unread "too deep";
    if is '"' then JStr (text ())
    else if is '[' then begin
      incr at; blanks true;
      let found = ref [] in
      while not (is ']') do
        found := value (depth - 1) :: !found;
        blanks true;
        if not (is ']') then (skip ','; blanks true)
      done;
      incr at; JList (List.rev !found)
    end
    else if is '{' then begin
      incr at; blanks false;
      let found = ref [] in
      while not (is '}') do
        found := entry (depth - 1) !found;
        blanks false;
        if not (is '}') then (skip ','; blanks false; if is '}' then unread "an entry")
      done;
      incr at; JObj !found
    end
    else
      match run (fun c -> is_bare c || c = '+' || c = '.') with
      | "true" -> JBool true
      | "false" -> JBool false
      | word when String.length word > 4300 -> unread "a number"
      | word when is_whole word -> JInt (Whole.of_string word)
      | word when String.length word > 1 && word.[0] = '-' && is_whole (String.sub word 1 (String.length word - 1)) ->
          JInt (Whole.of_string word)
      | word -> if word = "" then unread "a value"; ignore (decimal word); JObj [ (a_float, JStr word) ]
  and entry depth found =
    let name = run is_bare in
    blanks false;
    if name = "" || List.mem_assoc name found then unread "an entry";
    if List.length found >= most_entries then unread "many entries";
    skip '='; blanks false;
    (name, value depth) :: found
  in
  let rec tables top features =
    blanks true;
    if peek 0 < 0 then (top, List.rev features)
    else if is '[' then begin
      if run (fun c -> c = '[' || c = ']' || is_bare c) <> "[[feature]]" then unread "a table";
      ended (); tables top ([] :: features)
    end
    else
      match features with
      | [] -> let top = entry 9 top in ended (); tables top []
      | own :: rest -> let own = entry 9 own in ended (); tables top (own :: rest)
  and ended () =
    blanks false;
    if not (peek 0 < 0 || is '\n' || is '#' || (is '\r' && peek 1 = 10)) then unread "an entry"
  in
  tables [] []

(* Numbers as they are written; of ends and labels, a float is the double. *)
let written t =
  let from = if t <> "" && t.[0] = '-' then 1 else 0 in
  let are_digits most s = s <> "" && String.length s <= most && String.for_all is_digit s in
  let after c = match String.index_opt t c with
    | Some i -> Some (String.sub t from (i - from), String.sub t (i + 1) (String.length t - i - 1))
    | None -> None
  in
  let size = match (after '/', after '.') with
    | Some (n, d), None ->
        need (are_digits 400 n && are_digits 401 d && d.[0] <> '0') "space: no number";
        Ratio.make (Whole.of_string n) (Whole.of_string d)
    | None, Some (n, places) ->
        need (are_digits 400 n && are_digits 400 places) "space: no number";
        Ratio.make (Whole.of_string (n ^ places)) (ten (String.length places))
    | None, None ->
        let n = String.sub t from (String.length t - from) in
        need (are_digits 400 n) "space: no number";
        Ratio.of_bigint (Whole.of_string n)
    | Some _, Some _ -> raise (Differs "space: no number")
  in
  if from = 1 then Ratio.neg size else size

(* Of weights and steps it is the decimal that Python prints of the double, the shortest; one that
   differs from it is not read, nor where the nearest of so many digits need not be that: subnormal
   numbers, and powers of two, below which doubles lie closer. *)
let printed t =
  let x = float_of_string t in
  let is_same text = float_of_string text = x in
  let shorter = List.filter is_same [ Printf.sprintf "%.15g" x; Printf.sprintf "%.16g" x ] in
  let is_subnormal = x <> 0.0 && abs_float x < min_float in
  if is_subnormal || (shorter = [] && abs_float (fst (frexp x)) = 0.5) then unread "a number";
  let shortest = match shorter with text :: _ -> text | [] -> Printf.sprintf "%.17g" x in
  if not (Ratio.equal (decimal t) (decimal shortest)) then unread "a number";
  decimal t

let number_by of_float = function
  | JInt z -> written (Nums.to_string z)
  | JStr t -> written t
  | JObj [ (name, JStr t) ] when name = a_float -> of_float t
  | _ -> raise (Differs "space: no number")

let exact = number_by printed

let double =
  number_by (fun t ->
      let x = fl Bytes8 (decimal t) in
      if not (is_finite Bytes8 x) then unread "a number";
      x)

let label = function
  | JObj [ ("missing", JBool true) ] -> KNull
  | JObj [ (name, _) ] as j when name = a_float -> KFloat (double j)
  | (JStr _ | JInt _ | JBool _) as j -> ( match key_of_label j with Fine k -> k | _ -> unread "a label")
  | _ -> unread "a label"

let known =
  [ "name"; "kind"; "lower"; "upper"; "resolution"; "labels"; "missing"; "missing_as"; "action"; "condition";
    "weight"; "encoding"; "columns"; "dtype"; "label"; "unit"; "format" ]

let taken = function Fine x -> x | Wrong why | Beyond_ why -> raise (Differs why)
let optional f = function None | Some JNull -> None | Some j -> Some (f j)
let stated j = taken (number j)

let same_feature given own factual =
  let get name = List.assoc_opt name given and has name = List.assoc_opt name own in
  let differs name = "features: the space has another " ^ name in
  let text name default = Option.value (get name) ~default = Option.value (has name) ~default:JNull in
  need (List.for_all (fun (name, _) -> List.mem name known) given) "space: an unknown entry";
  List.iter
    (fun (name, default) -> need (text name default) (differs name))
    [ ("name", JNull); ("kind", JNull); ("action", JStr "free") ];
  let rational f name = optional f (get name) in
  let same name mine its = need (Option.equal Ratio.equal mine its) (differs name) in
  same "weight" (Some (Option.value (rational exact "weight") ~default:Ratio.one)) (optional stated (has "weight"));
  List.iter (fun end_ -> same end_ (rational double end_) (optional stated (has end_))) [ "lower"; "upper" ];
  let listed f = function None -> [] | Some (JList l) -> List.map f l | Some _ -> unread "labels" in
  let mine = listed label (get "labels") in
  let its = listed (fun j -> taken (key_of_label j)) (has "labels") in
  need (List.length mine = List.length its && List.for_all2 key_eqb mine its) (differs "labels");
  let counts = get "kind" = Some (JStr "integer") || (get "kind" = Some (JStr "ordinal") && mine = []) in
  let resolution = rational exact "resolution" in
  need (not counts || Option.equal Ratio.equal resolution None || Option.equal Ratio.equal resolution (Some Ratio.one))
    (differs "resolution");
  same "resolution" (if counts then Some Ratio.one else resolution) (optional stated (has "step"));
  let is_text = function JStr _ -> true | _ -> false in
  (match get "dtype" with
  | None | Some (JStr _) -> ()
  | Some (JList l) when List.for_all is_text l -> ()
  | Some _ -> unread "dtype");
  (* what may be missing *)
  let said = Option.value (get "missing") ~default:(JBool false) in
  need (List.mem said [ JBool false; JBool true; JStr "keep"; JStr "may fill"; JStr "free" ]) (differs "missing");
  let gap = has "missing" = Some (JBool true) in
  need (said <> JBool false || not gap) "features: it cannot be missing";
  let absent = optional stated (has "absent") in
  let gone = gap || (absent <> None && Option.equal Ratio.equal absent (optional stated (Some factual))) in
  let opens = said = JStr "free" || (gone && said = JStr "may fill") in
  need ((opens && get "action" <> Some (JStr "fixed")) = (absent <> None)) "features: the space has other gaps"

let require_same j =
  let at name = function JObj l -> List.assoc_opt name l | _ -> None in
  let factual = Option.bind (at "question" j) (at "factual") in
  match (at "space" j, at "features" j, factual) with
  | Some (JStr text), Some (JList features), Some (JList factual) ->
      let top, given = read text in
      if List.mem_assoc "feature" top then unread "features";
      need (List.for_all (fun (name, _) -> List.mem name [ "version"; "columns"; "tables" ]) top) "space: an unknown entry";
      (match List.assoc_opt "version" top with
      | None -> ()
      | Some (JInt v) -> need (v = Whole.one) "space: another version"
      | Some (JStr v) -> need (v = "1") "space: another version"
      | Some _ -> unread "a version");
      need (List.length given = List.length features) "space: not one entry for each feature";
      List.iter2
        (fun given (own, factual) ->
          match own with JObj own -> same_feature given own factual | _ -> unread "features")
        given (List.combine features factual)
  | _ -> raise (Differs "space: no text")
