(* cfxc-verified FILE...: a line for each file, and the worst verdict as the exit code: 0 accepted,
   1 rejected, 2 not covered. *)

open Core

let read path =
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

(* A file that would take more than this of processor time or memory is left undecided. *)

let seconds = ref 600.0
let most_words = 4_000_000_000 / (Sys.word_size / 8)

exception Too_long

let limited f =
  let stop = Sys.time () +. !seconds in
  let watch () =
    if Sys.time () > stop then raise Too_long;
    if (Gc.quick_stat ()).Gc.heap_words > most_words then raise Out_of_memory
  in
  let timer = { Unix.it_interval = 0.1; it_value = 0.1 } in
  Sys.set_signal Sys.sigvtalrm (Sys.Signal_handle (fun _ -> watch ()));
  ignore (Unix.setitimer Unix.ITIMER_VIRTUAL timer);
  Fun.protect f ~finally:(fun () ->
      ignore (Unix.setitimer Unix.ITIMER_VIRTUAL { Unix.it_interval = 0.0; it_value = 0.0 }))

let judge path =
  match limited @@ fun () ->
    let j = Json.parse (read path) in
    if is_hashed j then verdict_on j else Wrong "hash: it is not that of the rest"
  with
  | Fine c -> (0, "accepted: " ^ told c)
  | Wrong why -> (1, "rejected: " ^ why)
  | Beyond_ why -> (2, "not covered: " ^ why)
  | exception Json.Malformed why -> (1, "rejected: " ^ why)
  | exception Sys_error why -> (1, "rejected: " ^ why)
  | exception Stack_overflow -> (2, "not covered: too deep")
  | exception Too_long -> (2, Printf.sprintf "not covered: it takes more than %g seconds" !seconds)
  | exception Out_of_memory -> (2, "not covered: too large")
  | exception Nums.Overflow -> (2, "not covered: too large")

let rec files_of = function
  | "--seconds" :: s :: rest when Option.fold ~none:false ~some:(fun s -> s > 0.0) (float_of_string_opt s) ->
      seconds := float_of_string s;
      files_of rest
  | files -> files

let () =
  let files = files_of (List.tl (Array.to_list Sys.argv)) in
  if files = [] || List.exists (fun f -> String.length f > 1 && f.[0] = '-') files then begin
    prerr_endline "usage: cfxc-verified [--seconds S] FILE...";
    exit 2
  end;
  let worst =
    List.fold_left
      (fun worst path ->
        let code, line = judge path in
        Printf.printf "%s: %s\n%!" path line;
        max worst code)
      0 files
  in
  exit worst
