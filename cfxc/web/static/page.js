// Puts the page together: loads the model, asks when it is told to, and calls off what is stale.

import { $, get, make, post, stream } from "/static/api.js";
import { progressText, showAnswer, showBounds } from "/static/answer.js";
import { Form } from "/static/form.js";

// The fields that errors of the question itself are of, by their first word.
const WANTED = { seconds: "seconds", changes: "max_changes", probability: "probability", outcome: "low", target: "low" };
const PAUSE = 500; // milliseconds after the last edit
let form = null;
let model = null;
let searching = null;
let timer = 0;
let asking = 0;
let current = "";
let moved = false;
let standing = false; // whether what is said is of a question that has not changed since
let answered = null; // the question whose answer stands there, and what was said of it

function say(text, wrong = false) {
  $("status").textContent = text;
  $("status").classList.toggle("wrong", wrong);
}

function searchingNow(on) {
  $("stop").hidden = !on;
  $("answer").setAttribute("aria-busy", String(on));
}

function callOff() {
  if (searching) searching.abort();
  searching = null;
  searchingNow(false);
}

async function outcomeNow() {
  const mine = (asking += 1);
  try {
    const said = await (await post("/api/outcome", { fields: form.fields() })).json();
    if (mine !== asking) return;
    $("now").textContent = said.outcome;
    form.wantOther(said.outcome);
    form.mark({}, false);
  } catch (error) {
    if (mine !== asking) return;
    $("now").textContent = "not known: see the fields";
    if (!form.mark(error.where || {}, false)) $("now").textContent = error.message;
  }
}

// Shows an error of the question itself below its fields, and goes to the one that it begins with.
function markWanted(message, focus) {
  const name = Object.keys(WANTED).find((each) => message.startsWith(each));
  $("wanted-error").textContent = message;
  $("wanted-error").hidden = name === undefined;
  for (const id of Object.values(WANTED)) $(id).setAttribute("aria-invalid", String(id === WANTED[name]));
  if (name && focus) $(WANTED[name]).focus();
}

// Whether what is asked is again what the answer that stands there is of.
function isAnswered() {
  return answered !== null && $("row-error").hidden && ["", String(answered.row)].includes($("row").value)
    && answered.asked === JSON.stringify(form.question());
}

// Marks the answer that stands there as one to another question, or no longer.
function compare() {
  const back = isAnswered();
  if (back) {
    $("answer").classList.remove("stale");
    say("");
    $("status").replaceChildren(...answered.said);
  } else if (standing) {
    const old = $("found").childElementCount > 0;
    $("answer").classList.toggle("stale", old);
    say(`The question has changed${old ? "; this answer is for the one before" : ""}.`);
  }
  standing = back;
}

function edited(value) {
  markWanted("");
  if (searching) {
    callOff();
    standing = false;
    say("The question has changed; the search was called off.");
  } else compare();
  const back = standing;
  clearTimeout(timer);
  moved = moved || value;
  timer = setTimeout(async () => {
    const mine = timer;
    if ($("live").checked && !back) {
      if ((await form.picked) && mine === timer) find(false);
    } else if (moved) {
      moved = false;
      outcomeNow();
    }
  }, value ? 150 : PAUSE);
}

function told(message, asked, row) {
  current = message.waiting ? "" : message.id;
  if (message.waiting) say(`Waiting for a free search: place ${message.waiting} in the line.`);
  else if (message.starting) say("Starting a search process …");
  else if (message.progress) {
    showBounds(message.progress);
    say(progressText(message.progress));
  } else if (message.error) {
    showBounds(null);
    say(message.error, true);
    if (message.where) form.mark(message.where, true);
  } else if (message.done) {
    const answer = message.done;
    const first = answer.answers[0];
    showBounds(first && answer.status !== "unchanged" ? { lower: first.lower, upper: first.distance } : null);
    showAnswer(model, form, asked, answer, message.id, row);
    $("status").replaceChildren(`Done in ${answer.seconds} s. ${answer.fewer} `, make("span", { class: "small" }, answer.headline));
    answered = { asked: JSON.stringify(asked), row, said: [...$("status").childNodes] };
  }
}

async function find(focus) {
  callOff();
  clearTimeout(timer);
  const mine = new AbortController();
  searching = mine;
  standing = true;
  answered = null;
  current = "";
  searchingNow(true);
  say("Searching …");
  if (moved) {
    moved = false;
    await outcomeNow(); // which says what is wanted, unless somebody chose
    if (searching !== mine) return;
  }
  const asked = form.question();
  const row = form.row;
  form.mark({}, false);
  markWanted("");
  $("found").replaceChildren();
  $("answer").classList.remove("stale");
  showBounds(null);
  if (focus && matchMedia("(max-width: 860px)").matches) $("answer").scrollIntoView({ behavior: "smooth" });
  try {
    await stream("/api/explain", asked, mine.signal, (message) => searching === mine && told(message, asked, row));
  } catch (error) {
    if (error.name === "AbortError" || searching !== mine) return;
    say(error.message, true);
    showBounds(null);
    if (form.mark(error.where || {}, focus)) say("Something is wrong with a value; see beside the fields.", true);
    else markWanted(error.message, focus);
  }
  if (searching === mine) {
    searching = null;
    searchingNow(false);
  }
}

async function begin() {
  if (location.search) history.replaceState(null, "", "/");
  try {
    model = await get("/api/model");
    $("model").textContent = model.name;
    form = new Form(model, edited);
    await form.loadPeople();
  } catch (error) {
    $("broken").textContent = error.message;
    $("broken").hidden = false;
    return;
  }
  $("question").addEventListener("submit", async (event) => {
    event.preventDefault();
    searchingNow(true);
    if (await form.picked) find(true);
    else {
      callOff();
      standing = true;
      answered = null;
      $("answer").classList.remove("stale");
      $("found").replaceChildren(); // an answer for the row before would stand beside this number
      showBounds(null);
      say("Something is wrong with the row; see beside its number.", true);
    }
  });
  $("row").addEventListener("input", () => searching || compare()); // a number that is being typed
  $("stop").addEventListener("click", () => {
    if (!searching) return;
    say("Stopping …");
    if (current) post("/api/stop", { id: current }).catch((error) => say(error.message));
    else {
      callOff();
      say("Stopped.");
    }
  });
  addEventListener("pagehide", callOff);
  $("question").dataset.ready = "true";
}

begin();
