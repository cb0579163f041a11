"""What was checked, in words: made from what the rules read, and from nothing else."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction as Q
from typing import Any

from ..checker import CONSTANT, Feature, Form, Question, Shown, Undecided, misses, need
from ..checker.smooth import CURVES

LARGE = Q(1, 100)  # of epsilon, and of the gap between witness and bound
TEXT = 2**20  # characters of a space, or of a constraint as it is printed

NEARER = "The change leads to the target outcome; no admissible change nearer than the bound does"
CLAIMS = {
    "optimal": f"{NEARER}, and the two differ by at most epsilon times the distance.",
    "feasible": f"{NEARER}, but one between the two may.",
    "infeasible": "No change within these ranges, grids and constraints has the target outcome.",
}
SEMANTICS = {
    "real": "exact arithmetic; the model as it runs may round otherwise at ties",
    "float": "the program evaluated in doubles: scores may be off by the slack",
    "float32": "the program evaluated in single floats: scores may be off by the slack",
}
WORDS = {"about", "always", "and", "float32", "max", "never", "not", "or"}
MOVES = {"free": "any", "conditional": "any", "fixed": "may not change", "increase": "up only",
         "decrease": "down only"}  # fmt: skip
HOLDS = "accepted: the proof holds; "
UNKNOWN = HOLDS + "the model was not run"
ANEW = HOLDS + "the program was compiled anew from the model and is the same"
SAME = HOLDS + "the program is the compiled model's"
UNRUN = "not run: that the program is the model's is not shown"
PAGES = (".md", ".txt")
NOT_SHOWN = "Not shown: that the model is any good, or that its data were honest."


def printable(text: str) -> str:
    """Text without what moves a cursor, turns lines around, or cannot be written."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def quoted(value: Any) -> str:
    """A label as text."""
    if isinstance(value, Q):
        return exact(value)
    if isinstance(value, str):
        return '"' + printable(value.replace("\\", r"\\").replace('"', r"\"")) + '"'
    return str(value)


def exact(value: Q) -> str:
    """A number as a decimal that is exactly it, or as a fraction; long ones to 17 digits."""
    if abs(value) >= 2**1000:
        return f"about {'-' if value < 0 else ''}2^{abs(value).__floor__().bit_length() - 1}"
    text = repr(float(value)).removesuffix(".0")
    if Q(text) == value or Q(float(value)) == value:
        return text
    is_short = value.numerator.bit_length() + value.denominator.bit_length() < 200
    return str(value) if is_short and len(str(value)) < 25 else f"about {text}"


def _double(value: Q, power: int, side: int) -> float:
    """The double next to the root of a distance: none that is smaller, or (``side`` -1) larger."""
    fine = 2**1100  # finer than doubles, so that only few of these lie between
    root = value if power == 1 else Q(math.isqrt(math.floor(value * fine**2)), fine)
    found = float(root)
    while side * (Q(found) ** power - value) < 0:
        found = math.nextafter(found, side * math.inf)
    return found


def figure(value: Q) -> str:
    """A number in a constraint: doubles as decimals, what is none as a fraction, never alike."""
    is_double = abs(value) < 2**1000 and Q(float(value)) == value
    if is_double or exact(value).startswith("about "):
        return exact(value)
    return str(value) if len(str(value)) < 25 else f"about {exact(value)}"


def name_of(text: str) -> str:
    """A feature's name, in quotes unless it is one word that stands for nothing else."""
    return text if re.fullmatch(r"[^\W\d]\w*", text) and text not in WORDS else quoted(text)


def condition(question: Question, truth: Any, inner: bool = False) -> str:
    """A constraint as text, from what is checked."""
    kind, parts = truth
    if kind == "ge" and (cap := _cap(question, parts[0])):
        return cap
    if kind in ("ge", "gt"):
        if not set(parts[0]) - {CONSTANT}:
            return "never" if misses(parts[0].get(CONSTANT, Q(0)), kind == "gt") else "always"
        left, right = (_side(parts[0], sign) for sign in (1, -1))
        constant = parts[0].get(CONSTANT, Q(0))
        sides = (right, left, constant, "<") if not left else (left, right, -constant, ">")
        first, last, end, relation = sides
        both = {**last, CONSTANT: end} if end or not last else last
        relation += "=" if kind == "ge" else ""
        return f"{_sum(question, first)} {relation} {_sum(question, both)}"
    if kind == "not":
        return f"not ({condition(question, parts[0])})"
    neutral, decisive = ("always", "never") if kind == "and" else ("never", "always")
    texts = [condition(question, part, True) for part in parts]
    kept = [text for text in texts if text != neutral]
    if decisive in kept or not kept:
        return decisive if kept else neutral
    text = f" {kind} ".join(kept)
    return f"({text})" if inner and len(kept) > 1 else text


def _cap(question: Question, form: Form) -> str:
    """``at most k of n features change``, if a form ≥ 0 says just that; else nothing.

    It adds up [x = own label] of labels, and [x ≥ own] + [x ≤ own] of numbers: what stays has 1,
    or 2 instead of 1.
    """
    ends: dict[int, set[int]] = {}  # of features: 0 for a label, or the signs of its steps
    for source, factor in form.items():
        if source == CONSTANT:
            continue
        kind, k, *rest = source
        held = ({} if kind != "step" else question.program.made[k]).items()
        inputs = [(part, sign) for part, sign in held if part != CONSTANT]
        if kind == "is":
            j, end, own = k, 0, rest[0] == question.features[k].own
        elif len(inputs) == 1 and inputs[0][0][0] == "x" and abs(inputs[0][1]) == 1:
            j, end = inputs[0][0][1], int(inputs[0][1])
            own = question.program.made[k].get(CONSTANT, Q(0)) == -end * question.features[j].own
        else:
            return ""
        if factor != 1 or not own or end in ends.setdefault(j, set()):
            return ""
        ends[j].add(end)
    if not ends or any(found not in ({0}, {1, -1}) for found in ends.values()):
        return ""
    most = sum(map(len, ends.values())) + form.get(CONSTANT, Q(0))
    if most < 0 or most.denominator != 1:
        return ""
    every = len(ends) == len(question.features)
    which = "" if every else ": " + ", ".join(name_of(question.features[j].name) for j in ends)
    return f"at most {most} of {'all ' if every else ''}{len(ends)} features change{which}"


def _conditions(question: Question) -> list[str]:
    found, size = list[str](), 0
    for truth in question.truths:
        found.append(condition(question, truth))
        size += len(found[-1])
        need(size <= 8 * TEXT, "limits: the constraints are too long to be printed")
    return found + ([] if question.region is None else [_region(question.region)])


def _region(region: Any) -> str:
    """A trust region as text; its hash tells its rows and coordinates from others."""
    sizes = [len(rows) for rows in region.hulls]
    hulls = "the hull" if len(sizes) == 1 else f"one of the {len(sizes)} hulls"
    counts = ", ".join(map(str, sizes[:10])) + ", …" * (len(sizes) > 10)
    rows = f"{counts} row{'s' * (sizes != [1])} (SHA-256 {region.hash})"
    return f"within {figure(region.reach)} by {region.norm}, over ranges, of {hulls} of {rows}"


MADE = {
    "unit": "max(0, {})", "step": "[{} >= 0]", "single": "float32({})", "form": "({})",
    "product": "({})*({})", **{kind: kind + "({})" for kind in CURVES},
}  # fmt: skip


def _side(form: Form, sign: int) -> Form:
    return {s: f * sign for s, f in form.items() if f * sign > 0 and s != CONSTANT}


def _sum(question: Question, form: Form, depth: int = 50) -> str:
    need(depth, "limits: a constraint is too deep to be printed")
    question.clock.tick()
    terms = [_term(question, source, factor, depth) for source, factor in form.items()]
    need(sum(map(len, terms)) <= TEXT, "limits: a constraint is too long to be printed")
    signs = [" - " if term.startswith("-") else " + " for term in terms[1:]]
    rest = (term.removeprefix("-") for term in terms[1:])
    return "".join([*terms[:1], *(s + t for s, t in zip(signs, rest, strict=True))]) or "0"


def _term(question: Question, source: Any, factor: Q, depth: int) -> str:
    if source == CONSTANT:
        return figure(factor)
    kind, k, *rest = source
    if kind in ("x", "is"):
        feature = question.features[k]
        label = "" if kind == "x" else f" = {quoted(feature.labels[rest[0]][1])}"
        text = f"[{name_of(feature.name)}{label}]" if label else name_of(feature.name)
    elif kind == "tree":
        text = f"trees{k}#{_digest(question, k, depth)}[{rest[0]}]"
    else:
        program = question.program
        forms = [program.made[i] for i in program.factors.get(k, (k,))]
        inner = [_sum(question, form, depth - 1) for form in forms]
        text = MADE[kind].format(*inner)
    return text if factor == 1 else f"{figure(factor)}*{text}"


def _digest(question: Question, k: int, depth: int) -> str:
    """What tells trees from others: of what was checked of them, its hash's first 16 digits."""
    roots, nodes = question.program.trees[k]
    held = [
        tuple(sorted(part) if isinstance(part, frozenset) else part for part in n) for n in nodes
    ]
    tested = sorted({n[0][1] for n in nodes if isinstance(n, tuple) and isinstance(n[0], tuple)})
    if tested:
        held += [tuple(_sum(question, question.program.made[i], depth - 1) for i in tested)]
    return hashlib.sha256(repr((roots, held)).encode()).hexdigest()[:16]


def undecided(why: str) -> str:
    """The verdict where a limit of the checker was reached."""
    return f"UNDECIDED: {why.removeprefix('limits: ')[:1000]}"


def agreed(rows: int) -> str:
    """The verdict where the model was run beside the program."""
    return f"{HOLDS}the program agreed with the model on {rows} rows (sampled)"


def mix(norms: Sequence[Q]) -> str:
    """A distance, as the factors of l0, l1, linf and l2 that it mixes."""
    names = zip(("l0", "l1", "linf", "l2"), norms, strict=True)
    return " + ".join(f"{exact(n)} {name}" for name, n in names if n)


def facts(shown: Shown, run: str = UNRUN, verdict: str = UNKNOWN) -> dict[str, Any]:
    """Question, claim and proof as plain values; ``run``: whether the model was run, on what."""
    q, power = shown.question, 2 if shown.question.squared else 1
    outcome, had = _outcome(q)
    return {
        "verdict": verdict,
        "status": shown.status,
        "model": None if shown.model is None else printable(shown.model[0]),
        "sha256": None if shown.model is None else shown.model[1],
        "run": run,
        "target": _target(q),
        "outcome": outcome,
        "distance by": mix(q.norms),
        "features": [_feature(q, j) for j in range(len(q.features))],
        "may change": sum(not is_still(feature) for feature in q.features),
        "constraints": _conditions(q),
        "semantics": SEMANTICS[shown.semantics],
        "slack": exact(q.slack),
        "epsilon": exact(shown.epsilon),
        "distance": None if shown.distance is None else _double(shown.distance, power, 1),
        "lower bound": _double(shown.bound, power, -1),
        "changes": {} if shown.witness is None else dict(_changes(q, shown.witness)),
        "parts closed": shown.parts,
        "warnings": list(_warnings(shown, outcome, had)),
        "hash": shown.hash,
    }


def is_still(feature: Feature) -> bool:
    """Whether the factual's own value is the only admissible one."""
    return len(feature.all) == 1 if feature.labels else feature.lower == feature.upper


def is_loose(shown: Shown) -> bool:
    """Whether of as many changes, sizes may exist that are less than these by more than epsilon.

    Of a mix with l0, epsilon is a share of a distance that is count for the most part.
    """
    q = shown.question
    if not q.norms[0] or shown.distance is None or q.norms[0] == 1:
        return False
    deltas = map(type(q.features[0]).delta, q.features, shown.witness or ())
    count = q.norms[0] * sum(share for share, d in zip(q.shares, deltas, strict=True) if d)
    return shown.distance - shown.bound > shown.epsilon * (shown.distance - count)


def _warnings(shown: Shown, outcome: str, had: bool) -> Iterator[str]:
    """What makes a claim worth less than it sounds."""
    q, power = shown.question, 2 if shown.question.squared else 1
    free, every = sum(not is_still(feature) for feature in q.features), len(q.features)
    if had:
        yield "The factual has the target outcome already."
    elif q.program.labels is not None and outcome == quoted(q.program.labels[q.place][1]):
        yield "The factual has the target label already, and misses what is asked of its score."
    if not free:
        yield "No feature may change."
    elif free * 3 < every:
        yield f"Only {free} of {every} features may change."
    for feature in q.features:
        if not feature.weight and not is_still(feature):
            yield f"Changes of {name_of(feature.name)} cost nothing."
    if shown.witness is None and (count := len(q.truths) + (q.region is not None)):
        yield f"Constraints: {count}. Without them a change may exist."
    if shown.distance and not shown.bound:
        yield "The bound is 0: nothing is shown of what is nearer."
    if shown.epsilon > LARGE:
        yield f"Epsilon is {exact(shown.epsilon)}: something nearer by as large a share may exist."
    if shown.distance is not None and shown.bound < shown.distance * (1 - LARGE) ** power:
        yield "The witness is farther than the bound by more than 1 %: something nearer may exist."
    elif is_loose(shown):
        yield "Of as many changes, ones that are smaller by more than epsilon may exist."
    if shown.within_slack:
        yield "In exact arithmetic the witness misses the outcome by less than the slack."


def _outcome(q: Question) -> tuple[str, bool]:
    """The program's outcome of the factual, and whether it is the target.

    A smooth function's may be beyond what the checker can tell, and the proof need not ask for it.
    """
    try:
        scores = q.program.values(q.program.outputs, [feature.own for feature in q.features])
    except Undecided as error:
        return f"unknown ({str(error).removeprefix('limits: ')})", False
    parts = (sum((f * scores[r] for r, f in row.items()), c) for row, c, _ in q.stated)
    had = not any(v < 0 or (v == 0 and row[2]) for v, row in zip(parts, q.stated, strict=True))
    if q.program.labels is None:
        return exact(scores[0]), had
    return quoted(q.program.labels[scores.index(max(scores))][1]), had


def _target(q: Question) -> str:
    if q.program.labels is None:
        ends = {factors[0]: -factors[0] * constant for factors, constant, _ in q.stated}
        ends_text = [f"at {'least' if s > 0 else 'most'} {exact(end)}" for s, end in ends.items()]
        return " and ".join(ends_text)
    text = quoted(q.program.labels[q.place][1])
    text += f", by a margin of {exact(q.margin)}{_chance(q)}" if q.margin else ""
    return text + (f", with a score of at least {exact(q.least)}" if q.least is not None else "")


def _chance(q: Question) -> str:
    """The probability that a lead is the logit of, rounded, where it can be one."""
    outputs = q.program.outputs
    bent = any(source in CURVES for form in outputs for source, *_ in form)
    if len(outputs) != 2 or bent or q.margin > 30:
        return ""
    chance = 1 / (1 + math.exp(-q.margin))
    return f" (a probability of {chance:.6g}, rounded, if the scores are log odds)"


def _feature(q: Question, j: int) -> dict[str, str]:
    f = q.features[j]
    if f.labels:
        span = ", ".join(quoted(label) for _, label in f.labels)
        grid = "in order" if f.kind == "ordinal" else "labels"
    else:
        assert f.low is not None
        assert f.high is not None
        span = f"{exact(f.low)} to {exact(f.high)}"
        floats = f"floats of {f.width} bytes" if f.width else ""
        usual = not f.width or (f.width == 8 and max(abs(f.low), abs(f.high)) <= 2**53)
        grid = "" if f.step is None else f"steps of {exact(f.step)}"
        grid = grid + ("" if usual else f", {floats}") if grid else floats
    own = quoted(f.labels[f.own][1]) if f.labels else exact(f.own)
    own, moves = (f"missing (as {own})", "stays missing") if f.gap else (own, MOVES[f.action])
    if f.absent is not None:
        own, moves = (
            (f"missing (as {own})", "may be filled in")
            if f.own == f.absent
            else (own, f"{moves}; may be lost")
        )
    return {"name": name_of(f.name), "factual": own, "range": span, "grid": grid,
            "may change": moves, "weight": exact(f.weight)}  # fmt: skip


def _changes(q: Question, witness: Any) -> Iterator[tuple[str, str]]:
    for f, value in zip(q.features, witness, strict=True):
        if value != f.own:
            pair = (
                quoted(f.labels[v][1]) if f.labels else "missing" if v == f.absent else exact(v)
                for v in (f.own, value)
            )
            yield name_of(f.name), " -> ".join(pair)


def text(found: dict[str, Any]) -> str:
    """A page for a terminal."""
    model = f"{quoted(found['model'])}, SHA-256 {found['sha256']}" if found["sha256"] else "no file"
    closed = ", ".join(f"{n} by {rule}" for rule, n in found["parts closed"].items())
    lines = [found["verdict"], f"model: {model}; {found['run']}", f"target: {found['target']}"]
    compared = found.get("compared with") or ["no policy, no row, no letter's hash"]
    lines.insert(2, f"compared with: {'; '.join(compared)}")
    lines += [f"factual's outcome: {found['outcome']}", f"distance: {found['distance by']}"]
    free = f"{found['may change']} of {len(found['features'])} may change"
    lines.append(f"features, of which {free} (factual; range; grid; change; weight):")
    lines += ["  {name}: {factual}; {range}; {grid}; {may change}; {weight}".format(**f)
              for f in found["features"]]  # fmt: skip
    lines += [f"constraint {i}: {one}" for i, one in enumerate(found["constraints"], 1)]
    lines += [f"semantics: {found['semantics']} (slack {found['slack']})"]
    lines += [f"epsilon: {found['epsilon']}", f"claim: {found['status']}"]
    if found["distance"] is not None:
        lines += [f"  distance {found['distance']}, lower bound {found['lower bound']}"]
        lines += [f"  {name}: {change}" for name, change in found["changes"].items()]
    lines += [f"proof: parts closed: {closed}", f"hash: {found['hash']}"]
    lines += [found["verified"]] if "verified" in found else []
    lines += [f"NOTE: {warning}" for warning in found["warnings"]]
    return "\n".join([*lines, CLAIMS[found["status"]], NOT_SHOWN])


def markdown(found: dict[str, Any]) -> str:
    """A page to read."""
    rows = [list(found["features"][0]), *(list(f.values()) for f in found["features"])]
    table = ["| " + " | ".join(_plain(cell) for cell in row) + " |" for row in rows]
    table.insert(1, "| --- " * len(rows[0]) + "|")
    body = [f"    {line}" for line in text(found).splitlines()]
    changes = [f"- {_plain(name)}: {_plain(c)}" for name, c in found["changes"].items()]
    verdict = found["verdict"].capitalize() + "."
    head = ["# Certificate of a counterfactual", "", CLAIMS[found["status"]], "", verdict, ""]
    return "\n".join([*head, *changes, "", *table, "", "As it was checked:", "", *body, ""])


def _plain(text: str) -> str:
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text)
