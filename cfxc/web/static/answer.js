// The answer: what changes, what is proved, what else could be tried, and what can be kept.

import { $, breakable, make, post, save } from "/static/api.js";

const BADGES = {
  optimal: ["proved", "✓ proved nearest"], feasible: ["open", "◌ not proved nearest"],
  infeasible: ["proved", "✕ proved: none exists"], unknown: ["open", "◌ nothing found yet"],
  unchanged: ["open", "= as it is"],
};

export function showBounds(progress) {
  $("bounds").hidden = progress === null;
  if (progress === null) return;
  const lower = Number(progress.lower);
  const upper = progress.upper === null ? null : Number(progress.upper);
  const end = upper === null ? Math.max(2 * lower, 1e-9) : Math.max(upper * 1.15, 1e-9);
  const [low, gap, best] = $("bounds").querySelector(".bar").children;
  low.style.width = `${Math.min(100, (100 * lower) / end)}%`;
  best.hidden = upper === null;
  if (upper !== null) best.style.left = `calc(${(100 * upper) / end}% - 2px)`;
  gap.style.left = low.style.width;
  gap.style.width = upper === null ? "100%" : `${Math.max(0, (100 * (upper - lower)) / end)}%`;
}

export function progressText(progress) {
  const best = progress.upper === null ? "nothing found yet" : `nearest so far ${progress.upper}`;
  const which = progress.count > 1 ? ` for answer ${progress.number} of ${progress.count}` : "";
  return `Searching${which}, ${progress.seconds.toFixed(0)} s: ${best}; proved: nothing below ${progress.lower}.`;
}

// row: the number of the row that was asked about; empty of values of one's own.
export function showAnswer(model, form, asked, answer, id, row) {
  const [kind, badge] = BADGES[answer.status];
  const parts = [
    make("p", { class: "verdict" }, make("span", { class: `badge ${kind}` }, badge), make("span", {}, `${row === "" ? "" : `Row ${row}: `}${answer.headline}`)),
    facts(answer.proof),
  ];
  answer.answers.forEach((one, i) => parts.push(changes(one, answer.before,
    answer.answers.length > 1 ? `Answer ${i + 1} of ${answer.answers.length}` : "Changes", i)));
  if (answer.fewer) parts.push(make("p", {}, answer.fewer));
  if (answer.status === "infeasible") parts.push(...reasons(answer));
  const start = answer.answers[0] || answer.relaxed;
  parts.push(tryOut(model, form, asked, start, answer.target));
  if (answer.kept) parts.push(downloads(model, answer, id, row));
  parts.push(recipes(answer.recipes, row === "" ? "row.json" : `row-${row}.json`));
  parts.push(make("details", {}, make("summary", {}, "In one line"), make("p", {}, answer.summary)));
  $("found").replaceChildren(...parts.filter((part) => part !== null));
}

const facts = (sentences) => make("ul", { class: "facts" }, ...sentences.map((text) => make("li", {}, text)));

function changes(one, before, title, place = 0) {
  if (!one.changes.length) return null;
  const rows = one.changes.map((change) => make("tr", {},
    make("th", { scope: "row" }, ...breakable(change.label)), make("td", {}, change.before), make("td", { class: "after" }, change.after)));
  return make("div", {},
    make("table", { class: "changes", "data-answer": place },
      make("caption", {}, title),
      make("thead", {}, make("tr", {}, ...["feature", "now", "instead"].map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {}, ...rows),
      make("tfoot", {}, make("tr", {}, make("th", { scope: "row" }, "outcome"), make("td", {}, before),
        make("td", { class: "after" }, one.outcome)))),
    make("p", { class: "hint" }, one.standing));
}

function reasons(answer) {
  const parts = [make("h3", {}, "Why there is none")];
  if (answer.rules.length) parts.push(make("ul", { class: "facts rules" }, ...answer.rules.map((rule) => make("li", {}, rule))));
  if (answer.open) parts.push(make("p", { class: "still-open" }, answer.open));
  if (answer.relaxed) {
    parts.push(make("p", { class: "relaxed" }, `Without “${answer.relaxed.given_up.join("” and “")}” there is one:`));
    parts.push(changes(answer.relaxed, answer.before, "Changes then"));
  }
  return parts;
}

// Sliders for what the answer changes, and for what is added; the deployed model answers live.
function tryOut(model, form, asked, start, target) {
  const point = { ...asked.fields, ...(start ? start.point : {}) };
  const outcome = make("output", { id: "try-outcome" }, start ? start.outcome : "…");
  const box = make("p", { class: "try-outcome", "aria-live": "polite" }, "The model says: ", outcome);
  const lines = make("div", {});
  const shown = new Set();
  let latest = 0;
  async function ask() {
    const mine = (latest += 1);
    try {
      const said = await (await post("/api/outcome", { fields: point })).json();
      if (mine === latest) {
        outcome.textContent = said.outcome;
        box.classList.toggle("reached", start !== null && start !== undefined && said.outcome === start.outcome);
      }
    } catch (error) {
      if (mine === latest) outcome.textContent = `nothing; ${Object.values(error.where || {})[0] || error.message}`;
    }
  }
  let timer = 0;
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(ask, 120);
  };
  const controls = [];
  function add(feature) {
    if (shown.has(feature.name)) return;
    shown.add(feature.name);
    const [line, put] = control(feature, point, soon);
    controls.push([feature.name, put]);
    lines.append(line);
  }
  const changed = start ? start.changes.map((change) => change.name) : [];
  model.features.filter((feature) => changed.includes(feature.name)).forEach(add);
  const more = make("select", { id: "try-more", "aria-label": "Another feature to try" }, make("option", { value: "" }, "another feature …"),
    ...model.features.map((feature, i) => make("option", { value: i }, feature.label)));
  more.addEventListener("change", () => {
    if (more.value !== "") add(model.features[Number(more.value)]);
    more.value = "";
  });
  const reset = (words, fields) => {
    const button = make("button", { type: "button" }, words);
    button.addEventListener("click", () => {
      Object.assign(point, fields);
      controls.forEach(([name, put]) => put(point[name]));
      ask();
    });
    return button;
  };
  if (start) box.classList.add("reached");
  else ask();
  return make("section", { class: "what-if no-print", "aria-label": "Try values" }, make("h2", {}, "Try values"),
    make("p", { class: "hint" }, "What the deployed model says of other values. It is no proof."), lines, box,
    make("div", { class: "buttons" }, more, reset("as now", asked.fields), start ? reset("as answered", start.point) : null));
}

function control(feature, point, changed) {
  const label = feature.label + (feature.unit ? ` (${feature.unit})` : "");
  if (feature.options) {
    const choice = make("select", { "aria-label": label, "data-try": feature.name }, ...feature.options.map((text, i) => make("option", { value: i }, text)));
    choice.value = point[feature.name];
    choice.addEventListener("change", () => {
      point[feature.name] = Number(choice.value);
      changed();
    });
    return [make("div", { class: "try" }, make("span", {}, ...breakable(label)), choice), (value) => (choice.value = value)];
  }
  const slider = make("input", { type: "range", min: feature.lower, max: feature.upper, step: feature.step || "any", "aria-label": `${label}, slider`, "data-try": feature.name });
  const box = make("input", { inputmode: "decimal", autocomplete: "off", "aria-label": label });
  const put = (value) => {
    slider.value = value;
    box.value = value;
  };
  put(point[feature.name]);
  slider.addEventListener("input", () => {
    box.value = slider.value;
    point[feature.name] = slider.value;
    changed();
  });
  box.addEventListener("input", () => {
    slider.value = box.value;
    point[feature.name] = box.value;
    changed();
  });
  return [make("div", { class: "try" }, make("span", {}, ...breakable(label)), slider, box), put];
}

function downloads(model, answer, id, row) {
  const whose = row === "" ? "" : `-row-${row}`;
  const said = make("p", { class: "error", role: "alert", hidden: true });
  const note = make("p", { class: "hint", role: "status", hidden: true });
  const locale = make("select", { "aria-label": "Language of the letter" }, ...model.locales.map((each) => make("option", { value: each }, each)));
  locale.value = "en";
  const button = (words, path, body, name) => {
    const made = make("button", { type: "button", "data-save": name }, words);
    made.addEventListener("click", async () => {
      said.hidden = true;
      made.disabled = true;
      made.textContent = "working …";
      try {
        const response = await post(path, { id, locale: locale.value, ...body });
        save(await response.blob(), name.replace(".", `${whose}.`));
        const lacks = decodeURIComponent(response.headers.get("x-cfxc-lacks") || "");
        note.textContent = lacks && `For whoever serves this page: ${lacks}`;
        note.hidden = !note.textContent;
        unsaved.delete(body.number);
        before.hidden = unsaved.size === 0;
      } catch (error) {
        said.textContent = error.message;
        said.hidden = false;
      }
      made.textContent = words;
      made.disabled = false;
    });
    return made;
  };
  const numbers = answer.answers.length > 1 ? answer.answers.map((_, i) => i + 1) : [1];
  const unsaved = new Set(numbers);
  const certificates = numbers.map((number) => button(numbers.length > 1 ? `Certificate of answer ${number} (JSON)` : "Certificate (JSON)",
    "/api/certificate", { number }, number > 1 ? `certificate-${number}.json` : "certificate.json"));
  const before = make("p", { class: "hint" }, numbers.length > 1 ? "A letter names the certificates, by which it can be checked, that were saved first."
    : "A letter names the certificate by which it can be checked if that was saved first.");
  const letters = model.letters.map((kind) => button(`Letter (${kind.toUpperCase()})`, "/api/letter", { kind }, `letter.${kind}`));
  const without = Object.values(model.no_letters).map((why) => make("p", { class: "hint" }, why));
  const asked = answer.relaxed ? "Both are about the question as it was asked, for which there is none." : null;
  return make("div", { class: "downloads" }, make("h3", {}, "Keep it"), asked && make("p", { class: "hint" }, asked),
    make("div", { class: "buttons" }, ...certificates, ...letters,
      letters.length ? locale : null), letters.length ? before : null, said, note, ...without);
}

// name: of the file that the instance is saved as.
function recipes(given, name) {
  const file = make("button", { type: "button" }, name);
  file.addEventListener("click", () => save(new Blob([JSON.stringify(given.row, null, 2)], { type: "application/json" }), name));
  const block = (title, text) => {
    const copy = make("button", { type: "button" }, "Copy");
    const pre = make("pre", { tabindex: "0", "aria-label": title }, text);
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
        copy.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(pre);
        copy.textContent = "Selected";
      }
      setTimeout(() => (copy.textContent = "Copy"), 1500);
    });
    return [make("h3", {}, title), pre, copy];
  };
  return make("details", { class: "recipes" }, make("summary", {}, "The same outside of this page"),
    make("p", { class: "hint" }, "The command reads the instance from the file ", file, "."),
    ...block("On the command line", given.command.replace(`--factual ${given.file}`, `--factual ${name}`)), ...block("In Python", given.python));
}
