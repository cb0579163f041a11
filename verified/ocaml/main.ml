(* cfxc-verified FILE...: a line for each file, why to stderr, and the worst verdict as the exit code:
   0 accepted, 1 rejected, 2 not covered.  With --beyond R, a last line: of how many nothing is as
   near as R. *)

open Core

let read path =
  if (Unix.stat path).Unix.st_kind <> Unix.S_REG then raise End_of_file;
  let channel = open_in_bin path in
  Fun.protect
    ~finally:(fun () -> close_in channel)
    (fun () -> really_input_string channel (in_channel_length channel))

let is_hashed j =
  match j with
  | JObj l -> (
      match List.assoc_opt "hash" l with
      | Some (JStr h) -> h = Sha256.to_hex (Sha256.string (Json.canonical j))
      | _ -> false)
  | _ -> false

let told (c, means) =
  let number q = Nums.q_to_string q in
  (match means with Real -> "" | Floats Doubles -> "in doubles, " | Floats Singles -> "in single floats, ")
  ^
  match c.claimed with
  | Optimal ->
      Printf.sprintf "optimal: distance %s, lower bound %s, epsilon %s" (number c.stated_distance)
        (number c.lower) (number c.gap_)
  | Feasible ->
      Printf.sprintf "feasible: distance %s, lower bound %s" (number c.stated_distance)
        (number c.lower)
  | Infeasible -> "infeasible: there is no counterfactual"

(* Each file is decided by a process of its own, which ends itself where it would take too much
   memory, and which the system ends, in whatever it does, when its processor time is up.  It sends
   its verdict, whole or not at all, to the one process that writes. *)

let seconds = ref 600.0
let most_words = 4_000_000_000 / (Sys.word_size / 8)
let usual = Gc.get ()
let lazily = { usual with space_overhead = 1000 } (* nearly all that is read is kept *)
let up = Sys.sigprof

let decided path =
  let j = Json.parse (read path) in
  if not (is_hashed j) then Wrong "hash: it is not that of the rest"
  else
    match verdict_on j with
    | Fine c -> (
        try Space.require_same j; Fine c
        with
        | Space.Differs why -> Wrong why
        | Space.Unread why -> Beyond_ why
        | Failure _ | Invalid_argument _ | Not_found -> Beyond_ "space: it cannot be read")
    | other -> other

let limited parent f =
  let watch _ =
    if Unix.getppid () <> parent then exit 2;
    let words = (Gc.quick_stat ()).heap_words in
    if words > most_words / 8 then Gc.set usual;
    if words > most_words then raise Out_of_memory
  in
  Gc.set lazily;
  let each at = { Unix.it_interval = at; it_value = at } in
  Sys.set_signal up Sys.Signal_default;
  ignore (Unix.sigprocmask Unix.SIG_UNBLOCK [ up; Sys.sigvtalrm ]);
  ignore (Unix.setitimer Unix.ITIMER_PROF (each !seconds));
  Sys.set_signal Sys.sigvtalrm (Sys.Signal_handle watch);
  ignore (Unix.setitimer Unix.ITIMER_VIRTUAL (each 0.1));
  f ()

let beyond = ref None
let counted = 3 (* the code of a file that is accepted, and counts *)

let judge path =
  match decided path with
  | Fine c ->
      let line = "accepted: " ^ told c in
      let counts = match !beyond with Some r -> is_beyond r (fst c) | None -> false in
      ((if counts then counted else 0), line, "")
  | Wrong why -> (1, "rejected", why)
  | Beyond_ why -> (2, "not covered", why)
  | exception Json.Malformed why -> (1, "rejected", why)
  | exception (Sys_error _ | Unix.Unix_error _ | End_of_file) -> (1, "rejected", "it cannot be read")
  | exception Stack_overflow -> (2, "not covered", "too deep")
  | exception (Out_of_memory | Nums.Overflow) -> (2, "not covered", "too large")

(* Control characters, and those that end a line or turn its direction, as UTF-8 has them. *)
let is_odd name =
  let at i = if i < String.length name then name.[i] else ' ' in
  let odd i =
    match (at i, at (i + 1), at (i + 2)) with
    | ('\000' .. '\031' | '\127' | '\\'), _, _
    | '\xc2', '\x80' .. '\x9f', _
    | '\xe2', '\x80', ('\x8e' | '\x8f' | '\xa8' .. '\xae')
    | '\xd8', '\x9c', _
    | '\xef', '\xbb', '\xbf'
    | '\xe2', '\x81', '\xa6' .. '\xa9' -> true
    | _ -> false
  in
  List.exists odd (List.init (String.length name) Fun.id)

let said path (code, verdict, why) =
  let name = if is_odd path then String.escaped path else path in
  Printf.printf "%s: %s\n%!" name verdict;
  (try if why <> "" then Printf.eprintf "%s: %s\n%!" name why with _ -> ());
  code

let overrun = (2, "not covered", "it takes more than there is")

let sent writer (verdict : int * string * string) =
  let channel = Unix.out_channel_of_descr writer in
  Marshal.to_channel channel verdict [];
  flush channel

let received reader : (int * string * string) option =
  let channel = Unix.in_channel_of_descr reader in
  let verdict = try Some (Marshal.from_channel channel) with _ -> None in
  close_in channel;
  verdict

let in_a_process path =
  flush stdout;
  let parent = Unix.getpid () in
  let decide reader writer =
    Unix.close reader;
    sent writer (try limited parent (fun () -> judge path) with _ -> overrun);
    Unix._exit 0
  in
  let awaited child reader writer =
    Unix.close writer;
    let verdict = received reader in
    match (verdict, snd (Unix.waitpid [] child)) with
    | Some verdict, _ -> verdict
    | None, Unix.WSIGNALED signal when signal = up ->
        (2, "not covered", Printf.sprintf "it takes more than %g seconds" !seconds)
    | None, _ -> overrun
  in
  said path
    (match Unix.pipe () with
    | exception Unix.Unix_error _ -> overrun
    | reader, writer -> (
        match Unix.fork () with
        | exception Unix.Unix_error _ -> List.iter Unix.close [ reader; writer ]; overrun
        | 0 -> decide reader writer
        | child -> awaited child reader writer))

let rec files_of = function
  | "--seconds" :: s :: rest when Option.fold ~none:false ~some:(fun s -> s > 0.0 && s < 1e9) (float_of_string_opt s) ->
      seconds := float_of_string s;
      files_of rest
  | "--beyond" :: r :: rest -> (
      match number (JStr r) with
      | Fine r ->
          beyond := Some r;
          files_of rest
      | _ -> "--beyond" :: r :: rest)
  | files -> files

let () =
  Sys.set_signal Sys.sigchld Sys.Signal_default;
  Sys.set_signal Sys.sigpipe Sys.Signal_ignore;
  let files = files_of (List.tl (Array.to_list Sys.argv)) in
  if files = [] || List.exists (fun f -> String.length f > 1 && f.[0] = '-') files then begin
    prerr_endline "usage: cfxc-verified [--seconds S] [--beyond R, such as 1/10] FILE...";
    exit 2
  end;
  let codes = List.map in_a_process files in
  let count = List.length (List.filter (fun code -> code = counted) codes) in
  (match !beyond with
  | Some r ->
      Printf.printf "nothing is as near as %s: %d of %d\n%!" (Nums.q_to_string r) count (List.length codes)
  | None -> ());
  Unix._exit (List.fold_left (fun worst code -> max worst (if code = counted then 0 else code)) 0 codes)
