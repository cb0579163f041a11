(* JSON in ASCII, without floats and members twice.  A string is kept as Python's json writes it:
   equal strings are written alike, and what is hashed is what is kept. *)

open Core

exception Malformed of string

let fail why = raise (Malformed why)
let most_digits = 4300 (* of an integer, as Python's *)

(* A UTF-16 unit, as Python's json writes it. *)
let put b code =
  match Char.unsafe_chr (code land 255) with
  | '"' when code < 128 -> Buffer.add_string b "\\\""
  | '\\' when code < 128 -> Buffer.add_string b "\\\\"
  | '\n' when code < 128 -> Buffer.add_string b "\\n"
  | '\r' when code < 128 -> Buffer.add_string b "\\r"
  | '\t' when code < 128 -> Buffer.add_string b "\\t"
  | '\012' when code < 128 -> Buffer.add_string b "\\f"
  | '\b' when code < 128 -> Buffer.add_string b "\\b"
  | c when code >= 32 && code <= 126 -> Buffer.add_char b c
  | _ -> Buffer.add_string b (Printf.sprintf "\\u%04x" code)

let parse (s : string) : json =
  let n = String.length s in
  let at = ref 0 in
  let peek () = if !at < n then s.[!at] else '\000' in
  let rec blanks () =
    match peek () with ' ' | '\t' | '\n' | '\r' when !at < n -> incr at; blanks () | _ -> ()
  in
  let expect c = if !at < n && s.[!at] = c then incr at else fail "JSON: unexpected character" in
  let word w value =
    let l = String.length w in
    if !at + l <= n && String.sub s !at l = w then (at := !at + l; value)
    else fail "JSON: unexpected character"
  in
  let hex4 () =
    if !at + 4 > n then fail "JSON: an escape";
    let digit c =
      match c with
      | '0' .. '9' -> Char.code c - 48
      | 'a' .. 'f' -> Char.code c - 87
      | 'A' .. 'F' -> Char.code c - 55
      | _ -> fail "JSON: an escape"
    in
    let value = ref 0 in
    for i = !at to !at + 3 do value := (16 * !value) + digit s.[i] done;
    at := !at + 4;
    !value
  in
  let text () =
    expect '"';
    let b = Buffer.create 16 in
    let rec go () =
      if !at >= n then fail "JSON: a string without end";
      let c = s.[!at] in
      incr at;
      match c with
      | '"' -> ()
      | '\\' ->
          let e = peek () in
          incr at;
          (match e with
          | '"' | '\\' | '/' -> put b (Char.code e)
          | 'b' -> put b 8
          | 'f' -> put b 12
          | 'n' -> put b 10
          | 'r' -> put b 13
          | 't' -> put b 9
          | 'u' -> put b (hex4 ())
          | _ -> fail "JSON: an escape");
          go ()
      | c when Char.code c < 32 -> fail "JSON: a control character"
      | c when Char.code c > 127 -> fail "characters beyond ASCII are to be escaped"
      | c -> put b (Char.code c); go ()
    in
    go ();
    Buffer.contents b
  in
  let whole () =
    let start = !at in
    if peek () = '-' then incr at;
    let first = !at in
    while match peek () with '0' .. '9' -> true | _ -> false do incr at done;
    let digits = !at - first in
    if digits = 0 || digits > most_digits || (digits > 1 && s.[first] = '0') then fail "JSON: a number";
    (match peek () with '.' | 'e' | 'E' -> fail "JSON: a float" | _ -> ());
    JInt (Nums.of_string (String.sub s start (!at - start)))
  in
  let rec value depth =
    if depth = 0 then fail "JSON: too deep";
    blanks ();
    match peek () with
    | '"' -> JStr (text ())
    | '[' ->
        incr at; blanks ();
        if peek () = ']' then (incr at; JList []) else JList (items (depth - 1) [])
    | '{' ->
        incr at; blanks ();
        if peek () = '}' then (incr at; JObj [])
        else begin
          let names = Hashtbl.create 16 in
          JObj (pairs (depth - 1) names [])
        end
    | 't' -> word "true" (JBool true)
    | 'f' -> word "false" (JBool false)
    | 'n' -> word "null" JNull
    | _ -> whole ()
  and items depth found =
    let found = value depth :: found in
    blanks ();
    match peek () with
    | ',' -> incr at; items depth found
    | _ -> expect ']'; List.rev found
  and pairs depth names found =
    blanks ();
    let name = text () in
    if Hashtbl.mem names name then fail "a member twice";
    Hashtbl.add names name ();
    blanks (); expect ':';
    let found = (name, value depth) :: found in
    blanks ();
    match peek () with
    | ',' -> incr at; pairs depth names found
    | _ -> expect '}'; List.rev found
  in
  let found = value 900 in
  blanks ();
  if !at < n then fail "JSON: something behind it";
  found

(* The bytes that are hashed: sorted members, no blanks, without the member "hash". *)

let canonical (j : json) : string =
  let b = Buffer.create 65536 in
  let separated f l = List.iteri (fun i x -> if i > 0 then Buffer.add_char b ','; f x) l in
  let rec write = function
    | JNull -> Buffer.add_string b "null"
    | JBool x -> Buffer.add_string b (if x then "true" else "false")
    | JInt z -> Buffer.add_string b (Nums.to_string z)
    | JStr s -> quoted s
    | JList l -> Buffer.add_char b '['; separated write l; Buffer.add_char b ']'
    | JObj l ->
        Buffer.add_char b '{';
        separated (fun (name, x) -> quoted name; Buffer.add_char b ':'; write x)
          (List.sort (fun (x, _) (y, _) -> String.compare x y) l);
        Buffer.add_char b '}'
  and quoted s = Buffer.add_char b '"'; Buffer.add_string b s; Buffer.add_char b '"' in
  (match j with JObj l -> write (JObj (List.filter (fun (name, _) -> name <> "hash") l)) | j -> write j);
  Buffer.contents b
