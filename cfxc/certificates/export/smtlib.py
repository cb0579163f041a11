"""Certificates as SMT-LIB: a script for each of the two bounds.

``lower`` asks for an admissible point with the target outcome nearer than the bound, and is
unsatisfiable; ``upper`` asks whether the witness is one at its distance, and is satisfiable.  Both
are written from the features, program and question of a certificate, and from nothing else.  Where
cells round multiples of a step, and where a program rounds to float32, the scripts allow all that
lies within half a unit in the last place: what they refute, the question refutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import Any

from ...errors import UnsupportedError
from ..auditing.report import quoted
from ..checker import CONSTANT, HALF_ULP, LEAST, Feature, Form, Proof, Question, number, rounded
from ..checker.smooth import CURVES

ZERO = Fraction(0)
ITSELF = "hand in the certificate itself: cfxc-check reads them"


def upper(certificate: Mapping[str, Any]) -> str:
    """The script of the witness: it is admissible, has the outcome, and lies as far as said."""
    script = Script(certificate["features"], certificate["program"], certificate["question"])
    script.write_all(None)
    script.write_witness(certificate["witness"], number(certificate["claim"]["distance"]))
    return script.text(certificate, "sat")


def lower(certificate: Mapping[str, Any], *, cut: bool = False) -> tuple[str, Fraction | None]:
    """The script of the lower bound, and the bound that it shows; None: there is no point at all.

    It holds all ranges and whole trees, and the distance as an assertion.  ``cut`` leaves out what
    of them lies beyond the bound: a smaller script, which trusts this package for that.  Where the
    witness lies no farther than the bound and what rounding may change, as much less is shown.
    """
    claim = certificate["claim"]
    bound = None if claim["status"] == "infeasible" else number(claim["lower_bound"])
    script = Script(certificate["features"], certificate["program"], certificate["question"])
    script.write_all(bound, cut=cut)
    if bound is None:
        return script.text(certificate, "unsat"), None
    blur, distance = script.blur(), claim["distance"]
    is_near = distance is None or number(distance) < bound + blur
    shown = bound - blur if is_near else bound
    script.add(f"(assert (< distance {real(shown)}))")
    return script.text(certificate, "unsat"), shown


class Script:
    """A question as commands."""

    def __init__(self, features: Any, program: Any, question: Any) -> None:
        self.question = Question(features, program, question)
        if self.question.region is not None:
            raise UnsupportedError("SMT-LIB: trust regions are not written", remedy=ITSELF)
        self.features, self.program = self.question.features, self.question.program
        self.lines: list[str] = []
        self.grids, self.apart = set[int](), set[int]()  # numbers on grids; whose own is not on it
        self.gaps = set[int]()  # numbers that may be missing, or not
        self.slack: dict[int, Fraction] = {}  # how far numbers may be from what cells hold
        self.parts: list[Any] = [feature.all for feature in self.features]

    def text(self, certificate: Mapping[str, Any], status: str) -> str:
        """The script, with what it is about in comments."""
        squares = self.question.norms[3] or self.program.factors
        head = [
            f"; cfxc certificate {certificate['hash']}",
            *(f"; x.{j}: {' '.join(f.name.split())}" for j, f in enumerate(self.features)),
            f"(set-logic {'QF_NIRA' if squares else 'QF_LIRA'})",
            f"(set-info :status {status})",
        ]
        return "\n".join([*head, *self.lines, "(check-sat)", "(exit)", ""])

    def write_all(self, bound: Fraction | None, *, cut: bool = False) -> None:
        """All that is admissible with the target outcome; ``cut`` to what may be within a bound."""
        if bound is not None and cut:
            self.parts = [clipped(self.question, j, bound) for j in range(len(self.features))]
        for j in range(len(self.features)):
            self.write_feature(j)
        for k in range(len(self.program.made) + 1):  # trees once all is made that they test
            for n, needed in enumerate(self.program.needs):
                if needed == k:
                    self.write_trees(n)
            if k < len(self.program.made):
                self.write_made(k)
        for form, strict in self.question.target_rows:
            self.add(f"(assert ({'>' if strict else '>='} {self.form(form)} 0.0))")
        for truth in self.question.truths:
            self.add(f"(assert {self.truth(truth)})")
        self.write_distance()

    def blur(self) -> Fraction:
        """By how much slack may change a distance: a number and its cell may differ by two."""
        question, total = self.question, ZERO
        _, l1, linf, l2 = question.norms
        for j, slack in self.slack.items():
            feature = self.features[j]
            if slack and feature.size:
                off, top = 2 * slack / feature.size, max(map(feature.delta, self.parts[j]))
                slope = (l1 + l2 * (2 * top + off)) * question.shares[j] + linf * question.peaks[j]
                total += off * slope
        return total

    def write_witness(self, given: Any, distance: Fraction) -> None:
        """The witness, and that it lies as far as stated."""
        for j, value in enumerate(self.question.point(given, "witness")):
            is_label = bool(self.features[j].labels)
            self.add(f"(assert {f'is.{j}.{value}' if is_label else f'(= x.{j} {real(value)})'})")
        self.add(f"(assert (= distance {real(distance)}))")

    def add(self, *lines: str) -> None:
        self.lines += lines

    def define(self, name: str, term: str) -> None:
        """A name for a term: an equation, which cvc5 has rules for, as it has not for macros."""
        self.add(f"(declare-const {name} Real)", f"(assert (= {name} {term}))")

    # -- features ---------------------------------------------------------------------------------

    def write_feature(self, j: int) -> None:
        """The admissible values of a feature."""
        feature, part = self.features[j], self.parts[j]
        if feature.labels:
            names = [f"is.{j}.{i}" for i in sorted(part)]
            for i, name in zip(sorted(part), names, strict=True):
                label = " ".join(quoted(feature.labels[i][1]).split())
                self.add(f"(declare-const {name} Bool) ; {label}")
            self.add(f"(assert {joined('or', names)})")
            pairs = [(a, b) for i, a in enumerate(names) for b in names[:i]]
            self.add(*(f"(assert (or (not {a}) (not {b})))" for a, b in pairs))
            return
        if None in part:  # nothing of it lies within the bound
            self.add(f"(declare-const x.{j} Real)", "(assert false)")
            return
        if feature.absent is not None and part[0] == feature.absent < part[1]:
            self.gaps.add(j)
            part = (feature.near(feature.first, 1), part[1])
            self.add(f"(declare-const gone.{j} Bool)")
        if feature.step is not None:
            self.write_grid(j, feature, part)
        else:
            x = self.number(j)
            self.add(
                f"(declare-const {x} Real)", f"(assert {within(real(part[0]), x, real(part[1]))})"
            )
        if j in self.gaps:
            self.define(f"x.{j}", f"(ite gone.{j} {real(feature.absent)} {self.number(j)})")

    def number(self, j: int) -> str:
        """The name of a number where it is there."""
        return f"number.{j}" if j in self.gaps else f"x.{j}"

    def write_grid(self, j: int, feature: Any, part: Any) -> None:
        """Multiples of a step as cells round them, or the instance's own value.

        Rounding is monotone: what a cell is compared with, its multiple is compared with exactly.
        """
        self.grids.add(j)
        self.add(f"(declare-const k.{j} Int)", f"(assert {self.between(j, *part)})")
        x, slack = self.multiple(j), grid_slack(feature, max(map(abs, part)))
        own_k, number = last_at_most(feature, feature.own), self.number(j)
        away = part[0] <= feature.own and held(feature, own_k * feature.step) != feature.own
        if not slack and not away:
            self.define(number, x)
            return
        self.slack[j] = slack
        off, error = f"(- {number} {x})", real(slack)
        self.add(f"(declare-const {number} Real)")
        near = f"(and (<= {off} {error}) (<= (- {error}) {off}))" if slack else f"(= {off} 0.0)"
        if not away:
            self.add(f"(assert {near})")
            return
        self.apart.add(j)  # the instance's own value is none of the others
        own = f"(= {number} {real(feature.own)})"
        self.add(f"(declare-const own.{j} Bool)", f"(assert (ite own.{j} {own} {near}))")

    def multiple(self, j: int) -> str:
        return f"(* {real(self.features[j].step)} (to_real k.{j}))"

    def between(self, j: int, low: Any, high: Any) -> str:
        """That a multiple's cell lies between two admissible values."""
        first, last = last_at_most(self.features[j], low), last_at_most(self.features[j], high)
        cell = held(self.features[j], first * (self.features[j].step or ZERO))
        first += int(cell < low)
        return within(whole(first), f"k.{j}", whole(last))

    # -- the program ------------------------------------------------------------------------------

    def write_trees(self, n: int) -> None:
        """The columns of an ensemble that are used, node by node, leaves first."""
        roots, nodes = self.program.trees[n]
        every = [*self.program.made, *self.program.outputs]
        every += [form for truth in self.question.truths for form in forms_of(truth)]
        columns = sorted(
            {source[2] for form in every for source in form if source[:2] == ("tree", n)}
        )
        names: dict[tuple[int, int], str] = {}
        for place, left, right, test in reversed(list(self.reached(n))):
            for c in columns:
                if left is None:
                    names[place, c] = real(nodes[place][c])
                    continue
                sides = [names[child, c] for child in (left, right) if child is not None]
                if right is None or sides[0] == sides[1]:
                    names[place, c] = sides[0]
                    continue
                names[place, c] = name = f"node.{n}.{place}.{c}"
                self.define(name, f"(ite {test} {sides[0]} {sides[1]})")
        for c in columns:
            total = joined("+", [names[root, c] for root in roots], "0.0")
            self.define(f"tree.{n}.{c}", total)

    def reached(self, n: int) -> Iterator[tuple[int, int | None, int | None, str]]:
        """The nodes of an ensemble that parts meet: place, children (of one, it alone), test.

        A parent comes before its children, and trees may share nodes.
        """
        roots, nodes = self.program.trees[n]
        open_, done = list(roots), dict[int, Any]()
        while open_:
            place = open_.pop()
            if place in done:
                continue
            if not isinstance(node := nodes[place], tuple):
                done[place] = (None, None, "")
                continue
            j, test, *children = node
            if isinstance(j, tuple):
                done[place] = (*children, f"(<= form.{j[1]} {real(test)})")
                open_ += children
                continue
            halves = zip(children, self.features[j].sides(self.parts[j], test), strict=True)
            kept = [child for child, half in halves if self.features[j].nearest(half) is not None]
            if len(kept) == 1:
                done[place] = (kept[0], None, "")
            else:
                kept = children
                done[place] = (*children, self.test(j, test))
            open_ += kept
        yield from ((place, *done[place]) for place in sorted(done))

    def test(self, j: int, test: Any) -> str:
        """What goes left of a split."""
        feature = self.features[j]
        if j in self.grids:
            below = f"(<= k.{j} {whole(last_at_most(feature, test))})"
            own = str(feature.own <= test).lower()
            below = f"(ite own.{j} {own} {below})" if j in self.apart else below
            gone = str(feature.absent is not None and feature.absent <= test).lower()
            return f"(ite gone.{j} {gone} {below})" if j in self.gaps else below
        if not feature.labels:
            return f"(<= x.{j} {real(test)})"
        return joined("or", [f"is.{j}.{i}" for i in sorted(test & self.parts[j])], "false")

    def write_made(self, k: int) -> None:
        """A form that was made on the way, and its image."""
        kind, z = self.program.kinds[k], f"made.{k}"
        if kind == "product":
            self.define(
                f"product.{k}", f"(* {' '.join(f'form.{i}' for i in self.program.factors[k])})"
            )
            return
        if kind in CURVES:
            raise UnsupportedError(f"SMT-LIB: '{kind}' is smooth, and not in its arithmetic")
        self.define(z, self.form(self.program.made[k]))
        if kind == "unit":
            self.define(f"unit.{k}", f"(ite (>= {z} 0.0) {z} 0.0)")
        elif kind == "step":
            self.define(f"step.{k}", f"(ite (>= {z} 0.0) 1.0 0.0)")
        elif kind == "form":
            self.define(f"form.{k}", z)
        else:
            size = f"(ite (>= {z} 0.0) {z} (- {z}))"
            off = f"(- single.{k} {z})"
            error = f"(+ (* {real(HALF_ULP)} {size}) {real(LEAST)})"
            self.add(
                f"(declare-const single.{k} Real)",
                f"(assert (and (<= {off} {error}) (<= (- {error}) {off})))",
            )

    def form(self, form: Form) -> str:
        """A sum of multiples of sources."""
        terms = []
        for source, factor in form.items():
            name = self.source(source)
            if factor and name:
                constant = source == CONSTANT
                same = factor == 1 and not constant
                terms.append(name if same else real(factor) if constant else product(factor, name))
        return joined("+", terms, "0.0")

    def source(self, source: Any) -> str:
        """The term of a source; empty for a label that is not admissible."""
        kind, k, *rest = source
        if kind == "is":
            return f"(ite is.{k}.{rest[0]} 1.0 0.0)" if rest[0] in self.parts[k] else ""
        return ".".join(map(str, [kind, k, *rest]))

    def truth(self, truth: Any) -> str:
        """A constraint."""
        kind, of = truth
        if kind in ("ge", "gt"):
            return f"({'>' if kind == 'gt' else '>='} {self.form(of[0])} 0.0)"
        parts = [self.truth(part) for part in of]
        return (
            f"(not {parts[0]})"
            if kind == "not"
            else joined(kind, parts, str(kind == "and").lower())
        )

    # -- the distance -----------------------------------------------------------------------------

    def write_distance(self) -> None:
        """δ of every feature, and the distance; of l2, its square."""
        question = self.question
        l0, l1, linf, l2 = question.norms
        terms, worst = [], "0.0"
        for j, feature in enumerate(self.features):
            self.define(f"delta.{j}", self.delta(j, feature))
            share, peak, delta = question.shares[j], question.peaks[j], f"delta.{j}"
            if l0 * share:
                terms.append(product(l0 * share, f"(ite (> {delta} 0.0) 1.0 0.0)"))
            if l1 * share:
                terms.append(product(l1 * share, delta))
            if l2 * share:
                terms.append(product(l2 * share, f"(* {delta} {delta})"))
            if linf * peak:
                name, each = f"worst.{j}", product(peak, delta)
                self.define(name, f"(ite (>= {each} {worst}) {each} {worst})")
                worst = name
        if linf:
            terms.append(product(linf, worst))
        self.define("distance", joined("+", terms, "0.0"))

    def delta(self, j: int, feature: Any) -> str:
        if feature.labels:
            pairs = [(i, feature.delta(i)) for i in sorted(self.parts[j])]
            worth = [f"(ite is.{j}.{i} {real(delta)} 0.0)" for i, delta in pairs if delta]
            return joined("+", worth, "0.0")
        if j in self.gaps:
            is_own = feature.own == feature.absent
            there = "1.0" if is_own else self.away(j, feature)
            return f"(ite gone.{j} {'0.0' if is_own else '1.0'} {there})"
        if feature.absent is not None and feature.absent in (self.parts[j][0], feature.own):
            return real(feature.delta(self.parts[j][0]))
        return self.away(j, feature)

    def away(self, j: int, feature: Any) -> str:
        """How far a number that is there is from the factual's, over its range."""
        if not feature.size:
            return "0.0"
        if j in self.grids and j not in self.slack:
            own = whole(last_at_most(feature, feature.own))
            away = f"(ite (>= k.{j} {own}) (- k.{j} {own}) (- {own} k.{j}))"
            return product(feature.step / feature.size, f"(to_real {away})")
        away = f"(- {self.number(j)} {real(feature.own)})"
        return product(1 / feature.size, f"(ite (>= {away} 0.0) {away} (- {away}))")


def clipped(question: Question, j: int, radius: Fraction) -> Any:
    """What of a feature lies within a radius, and perhaps a little more."""
    clip: Any = Proof.clip  # it asks for nothing that a question does not have
    return clip(question, j, question.features[j].all, radius)


def grid_slack(feature: Any, most: Fraction) -> Fraction:
    """How far a cell may be from the multiple of the step that it holds, up to a size."""
    if not feature.width:
        return ZERO
    bits, least = (24, 149) if feature.width == 4 else (53, 1074)
    units = feature.step.denominator
    if not units & (units - 1) and most * units < 2**bits and units.bit_length() <= least:
        return ZERO
    double = most / 2**52 + Fraction(1, 2**1074)  # first to a double, then to the column's float
    return double + (most / 2**24 + LEAST if feature.width == 4 else ZERO) * 2


def held(feature: Feature, value: Fraction) -> Fraction:
    """What a cell of the feature's float width keeps of a multiple of its step."""
    return rounded(rounded(value, 8), feature.width) if feature.width else value


def last_at_most(feature: Any, value: Fraction) -> int:
    """The last multiple of a feature's step whose cell is at most a value."""
    k: int = floor(value / feature.step)
    while held(feature, (k + 1) * feature.step) <= value:
        k += 1
    while held(feature, k * feature.step) > value:
        k -= 1
    return k


def forms_of(truth: Any) -> Iterator[Form]:
    """The forms of a constraint."""
    kind, of = truth
    for part in of:
        if kind in ("ge", "gt"):
            yield part
        else:
            yield from forms_of(part)


def real(value: Any) -> str:
    """A rational of SMT-LIB."""
    value = Fraction(value)
    top, bottom = f"{abs(value.numerator)}.0", value.denominator
    size = top if bottom == 1 else f"(/ {top} {bottom}.0)"
    return size if value >= 0 else f"(- {size})"


def whole(value: Any) -> str:
    """A whole number of SMT-LIB."""
    return str(int(value)) if value >= 0 else f"(- {int(-value)})"


def within(low: str, term: str, high: str) -> str:
    """That a term lies between two; no chain, so that proofs assume the very same term."""
    return f"(and (<= {low} {term}) (<= {term} {high}))"


def product(factor: Fraction, term: str) -> str:
    """``factor · term`` in SMT-LIB."""
    return term if factor == 1 else f"(* {real(factor)} {term})"


def joined(kind: str, terms: Sequence[str], empty: str = "false") -> str:
    """The terms under one function."""
    return f"({kind} {' '.join(terms)})" if len(terms) > 1 else terms[0] if terms else empty
