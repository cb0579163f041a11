// The question: fields for the instance, what is wanted, and what may change.

import { $, breakable, get, make } from "/static/api.js";

const MOVES = {
  free: "free", fixed: "keep", increase: "only up", decrease: "only down", conditional: "if …",
};
const MEASURES = {
  sparse: "fewest changes, then smallest", l1: "smallest sum of changes (l1)", l0: "fewest changes (l0)",
  l2: "smallest, large ones count more (l2)", linf: "smallest largest change (l∞)",
};

export class Form {
  constructor(model, changed) {
    this.model = model;
    this.changed = changed;
    this.people = null;
    this.picked = Promise.resolve(true); // whether the row chosen last is in the fields, once it could be
    this.picks = 0;
    this.here = this.loaded = 0; // the row that the next step goes on from, and the last one that came
    this.row = ""; // the row that the fields are of; empty once they were edited
    this.filled = ""; // what they were when it came
    this.parts = new Map();
    this.buildWanted();
    this.buildFeatures();
    const isMenu = (event) => event.target.tagName === "SELECT"; // chosen at once, unlike text
    $("question").addEventListener("input", (event) => isMenu(event) || this.edited(event));
    $("question").addEventListener("change", (event) => isMenu(event) && this.edited(event));
  }

  edited(event) {
    if (event.target.closest("#picker") || event.target.id === "live") return;
    const feature = event.target.dataset && event.target.dataset.value;
    if (feature !== undefined) this.typed();
    this.changed(feature !== undefined);
  }

  buildWanted() {
    const { outcomes, target, distances, distance, criteria, figures, seconds } = this.model;
    if (outcomes === null) {
      for (const id of ["low-line", "high-line"]) $(id).hidden = false;
      $("target-line").hidden = true;
      if (Array.isArray(target)) [$("low").value, $("high").value] = target;
    } else {
      $("target").append(...outcomes.map((label) => make("option", { value: label }, label)));
      if (target !== null) $("target").value = target;
      this.follows = target === null && outcomes.length === 2;
      $("target").addEventListener("change", () => (this.follows = false));
    }
    if (distance) $("distance").append(make("option", { value: "" }, "as in the question file"));
    for (const name of distances) $("distance").append(make("option", { value: name }, MEASURES[name] || name));
    for (let n = 1; n <= 8; n += 1) $("count").append(make("option", { value: n }, String(n)));
    $("count").addEventListener("change", () => ($("diversity-line").hidden = !this.several()));
    for (const name of figures) $(name).parentElement.hidden = false;
    $("seconds").value = Math.min(10, seconds);
    $("seconds").placeholder = seconds; // of what is left empty
    if (criteria.length) {
      $("criteria").textContent = `Always asked for besides: ${criteria.join("; ")}`;
      $("criteria").hidden = false;
    }
  }

  buildFeatures() {
    const heads = ["feature", "may change?", "value", "at least", "at most"];
    const line = make("div", { class: "heads", "aria-hidden": "true" }, ...heads.map((text) => make("span", {}, text)));
    $("features").append(line, ...this.model.features.map((feature, i) => this.buildFeature(feature, i)));
  }

  buildFeature(feature, i) {
    const id = `f${i}`;
    const described = `${id}-about ${id}-error`;
    const unit = feature.unit ? ` (${feature.unit})` : "";
    const name = make("div", { class: "name" },
      make("label", { for: id }, ...breakable(feature.label), unit),
      make("span", { class: "hint", id: `${id}-about` }, feature.options ? null : feature.about));
    const value = feature.options
      ? make("select", { id, "data-value": "", "aria-describedby": described },
        ...feature.options.map((text, place) => make("option", { value: place }, text)))
      : make("input", { id, "data-value": "", inputmode: "decimal", autocomplete: "off", "aria-describedby": described,
        placeholder: feature.missing ? "missing" : "" });
    const moves = make("select", { "aria-label": `${feature.label}: may it change?` },
      ...feature.moves.map((move) => make("option", { value: move },
        move === "conditional" ? `if ${feature.condition}` : MOVES[move])));
    moves.disabled = feature.moves.length < 2;
    const limits = feature.options || moves.disabled ? [] : ["at least", "at most"].map((words, end) => make("input", {
      inputmode: "decimal", autocomplete: "off", "aria-label": `${feature.label}: ${words}`,
      "aria-describedby": `${id}-error`, placeholder: end ? `≤ ${feature.upper}` : `≥ ${feature.lower}` }));
    const error = make("p", { class: "error", id: `${id}-error`, hidden: true });
    this.parts.set(feature.name, { feature, value, moves, limits, error });
    return make("div", { class: feature.options ? "feature choice" : "feature" }, name, moves, value, ...limits, error);
  }

  // Of two outcomes the other one is wanted, until somebody chooses.
  wantOther(outcome) {
    if (this.follows) $("target").value = this.model.outcomes.find((label) => label !== outcome);
  }

  fields() {
    const found = {};
    for (const [name, { feature, value }] of this.parts) found[name] = feature.options ? Number(value.value) : value.value;
    return found;
  }

  // The instance as one text: 2.50 says what 2.5 does.
  said() {
    const plain = (value) => (String(value).trim() && String(value).length < 16 && !isNaN(value) ? Number(value) : value);
    return JSON.stringify(Object.values(this.fields()).map(plain));
  }

  fill(fields) {
    for (const [name, { value }] of this.parts) value.value = fields[name];
  }

  // Whether it is to be chosen how answers differ: of several, where the question file says nothing.
  several() {
    return Number($("count").value) > 1 && !this.model.diversity;
  }

  question() {
    const moves = {};
    const limits = {};
    for (const [name, part] of this.parts) {
      moves[name] = part.moves.value;
      if (part.limits.some((input) => input.value.trim())) limits[name] = part.limits.map((input) => input.value);
    }
    const asked = {
      fields: this.fields(), moves, limits, count: Number($("count").value), distance: $("distance").value,
      conditions: $("conditions").value.split("\n").filter((line) => line.trim()),
    };
    for (const name of this.model.figures) asked[name] = $(name).value;
    if (this.several()) asked.diversity = $("diversity").value;
    const seconds = $("seconds").value.trim();
    if (seconds) asked.seconds = Number(seconds) || 0; // which is refused, of what is no number
    if (this.model.outcomes === null) {
      const range = [$("low").value.trim(), $("high").value.trim()];
      if (range[0] || range[1]) asked.range = range.join(":");
    } else asked.target = $("target").value;
    return asked;
  }

  // Shows what is wrong beside the fields, and goes to the first.
  mark(where, focus) {
    let first = null;
    for (const [name, { value, limits, error }] of this.parts) {
      const said = where[name];
      error.textContent = said || "";
      error.hidden = !said;
      for (const input of [value, ...limits]) input.setAttribute("aria-invalid", said ? "true" : "false");
      if (said && !first) first = value;
    }
    if (first && focus) first.focus();
    return first !== null;
  }

  // The fields are what is asked about, and no longer a row of the table, unless they say the same.
  typed() {
    this.picks += 1; // a row that is still to come does not replace what was typed
    this.picked = Promise.resolve(true);
    const same = this.said() === this.filled;
    this.row = same ? this.loaded : "";
    $("row-error").hidden = true;
    $("row").value = this.row;
    $("row").placeholder = same ? "" : "edited";
  }

  pick(row) {
    if (row !== "none") $("row").value = this.here = row; // where the next step goes on from
    $("row").placeholder = "";
    this.picked = this.load(row, (this.picks += 1));
    return this.picked;
  }

  // Whether the row came, and no other one was chosen meanwhile.
  async load(row, pick) {
    const { rows } = this.people;
    $("row-error").hidden = true;
    try {
      const { fields } = await get(`/api/people/${encodeURIComponent(row)}`);
      if (pick !== this.picks) return this.picked;
      this.loaded = this.row = row;
      this.fill(fields);
      this.filled = this.said();
      this.changed(true);
      return true;
    } catch (error) {
      if (pick !== this.picks) return this.picked;
      const known = rows.length ? `rows ${rows[0]} to ${rows[rows.length - 1]}` : "no rows";
      const none = row === "none" ? "A row is asked for by its number" : `There is no row ${row}`;
      const still = this.row === "" ? "" : ` The values below are still those of row ${this.row}.`;
      $("row-error").textContent = (error.message === "Not Found" ? `${none}; the table has ${known}.` : error.message) + still;
      $("row-error").hidden = false;
      this.here = this.loaded;
      this.changed(false);
      return false;
    }
  }

  async loadPeople() {
    if (!this.model.rows) {
      this.fill(Object.fromEntries(this.model.features.map((feature) => [feature.name, feature.start])));
      this.changed(true);
      return;
    }
    this.people = await get("/api/people");
    const { rows, outcomes, wrong } = this.people;
    $("picker").hidden = false;
    const skipped = Object.keys(wrong).length;
    $("rows").textContent = `0 to ${this.model.rows - 1}${skipped ? `, ${skipped} of them wrong` : ""}`;
    const different = outcomes && this.model.outcomes ? [...new Set(outcomes)].sort() : [];
    $("only-line").hidden = different.length < 2;
    $("only").append(make("option", { value: "" }, "any"), ...different.map((each) =>
      make("option", { value: each }, `${each} (${outcomes.filter((one) => one === each).length})`)));
    $("row").addEventListener("change", () => this.pick($("row").value || "none"));
    $("previous").addEventListener("click", () => this.step(-1));
    $("next").addEventListener("click", () => this.step(1));
    $("only").addEventListener("change", () => this.step(0));
    const wanted = $("target").value;
    const start = different.length > 1 ? rows.find((row, i) => outcomes[i] !== wanted) : rows[0];
    if (rows.length) await this.pick(start === undefined ? rows[0] : start);
  }

  step(by) {
    const { rows, outcomes } = this.people;
    const only = $("only").value;
    const known = rows.filter((row, i) => !only || outcomes[i] === only);
    if (!known.length) return;
    const here = Number(this.here);
    const next = by > 0 ? known.find((row) => row > here) : by < 0 ? known.filter((row) => row < here).pop()
      : known.find((row) => row >= here);
    const chosen = next === undefined ? known[by < 0 ? known.length - 1 : 0] : next;
    if (!by && this.row === "") return; // values of one's own are no row
    if (by || String(chosen) !== String(this.row)) this.pick(chosen); // else it is there already
  }
}
