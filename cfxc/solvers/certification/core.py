"""Programs as certificates hold them: forms over features, units, steps, roundings and trees.

A program over tensors is read output by output, as ``compiler.units`` reads networks, with tree
ensembles beside; what is left are a few kinds of sources that an auditor can evaluate by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ...compiler.additive import Additive, Entries, constant, mixed
from ...compiler.splits import RawSplits, raw_splits
from ...compiler.units import UnitReader, Units
from ...errors import UnsupportedError
from ...ir import Let, Operand, Program, ops
from ...question.query import Query

ZERO, ONE = Fraction(0), Fraction(1)
FINE = 2.0**-900  # doubles above are multiples of 2⁻¹⁰⁰⁰
Source = tuple[Any, ...]


@dataclass(frozen=True)
class Core:
    """A form in core sources: ``x``, ``is``, ``tree``; ``unit``, ``step``, ``single``."""

    constant: Fraction
    terms: Mapping[Source, Fraction]

    @property
    def key(self) -> tuple[Any, ...]:
        """The same for equal forms."""
        return self.constant, frozenset(self.terms.items())

    def less(self, other: Core) -> Core:
        """The difference to another form."""
        sources = dict.fromkeys([*self.terms, *other.terms])
        terms = {s: self.terms.get(s, ZERO) - other.terms.get(s, ZERO) for s in sources}
        kept = {source: factor for source, factor in terms.items() if factor}
        return Core(self.constant - other.constant, kept)

    def times(self, other: Core) -> Fraction | None:
        """How many times another form this is, constants aside; ``None`` if it is no multiple."""
        if set(self.terms) != set(other.terms):
            return None
        ratios = {factor / other.terms[source] for source, factor in self.terms.items()}
        return ratios.pop() if len(ratios) == 1 and min(ratios) > 0 else None


@dataclass
class Sources:
    """The forms that sources stand for, in order, and the ensembles with their splits."""

    features: dict[str, int]
    made: list[tuple[str, Core]] = field(default_factory=list)
    places: dict[Any, int] = field(default_factory=dict)
    ensembles: dict[str, tuple[ops.TreeEnsemble, RawSplits]] = field(default_factory=dict)

    def make(self, kind: str, form: Core) -> Source:
        """A source for a form; the same for equal ones."""
        known = (kind, form.key)
        if known not in self.places:
            self.places[known] = len(self.made)
            self.made.append((kind, form))
        return kind, self.places[known]

    def core(self, form: Additive, units: Units) -> Core:
        """A form as ``UnitReader`` gives it, in core sources."""
        total, terms = form.constant, dict[Source, Fraction]()

        def add(source: Source, factor: Fraction) -> None:
            terms[source] = terms.get(source, Fraction(0)) + factor

        for source, factor in form.terms.items():
            kind, what = source[0], source[1]
            if kind == "x":
                add(("x", self.features[what]), factor)
            elif kind == "is":
                add(("is", self.features[what], source[2]), factor)
            elif kind == "tree":
                add(("tree", list(self.ensembles).index(what), source[2]), factor)
            elif kind == "unit":
                add(self.make("unit", self.core(units.forms[what], units)), factor)
            elif kind == "step":
                step = units.steps[what]
                form_of = self.core(step.form.scaled(-ONE) if step.strict else step.form, units)
                total += factor if step.strict else 0  # above 0: not at most 0
                add(self.make("step", form_of), -factor if step.strict else factor)
            else:  # what rounding changes: the rounded form less the form
                rounded = self.core(units.rounded[what], units)
                add(self.make("single", rounded), factor)
                total -= factor * rounded.constant
                for inner, own in rounded.terms.items():
                    add(inner, -factor * own)
        return Core(total, {source: factor for source, factor in terms.items() if factor})


class CoreReader(UnitReader):
    """Reads programs with trees; squashed scores only where they are compared."""

    def __init__(self, program: Program, query: Query, sources: Sources, units: Units) -> None:
        numbers, labels = declared(query)
        super().__init__(program, numbers, labels, units)
        self.sources = sources

    def truth(self, operand: Operand) -> list[Any]:
        """A Boolean as nested lists of ``ge`` and ``gt`` of forms, ``and``, ``or`` and ``not``."""
        if not isinstance(operand, str):
            return ["and"] if operand.value else ["or"]
        op = self.definitions.get(operand)
        if isinstance(op, ops.And | ops.Or):
            kind = "and" if isinstance(op, ops.And) else "or"
            return [kind, *(self.truth(part) for part in op.operands())]
        if isinstance(op, ops.Not):
            return ["not", self.truth(op.x)]
        if isinstance(op, ops.IsLabel):
            return ["ge", self._core(self.is_label(op).plus(constant(-1)))]
        if isinstance(op, ops.Le | ops.Lt | ops.Ge | ops.Gt | ops.Eq | ops.Ne):
            x, y = self._compared(op)
            difference = x.plus(y.scaled(-ONE))
            if isinstance(op, ops.Eq | ops.Ne):
                both = ["and", *(["ge", self._core(difference.scaled(s))] for s in (ONE, -ONE))]
                return both if isinstance(op, ops.Eq) else ["not", both]
            less = isinstance(op, ops.Le | ops.Lt)
            strict = isinstance(op, ops.Lt | ops.Gt)
            return ["gt" if strict else "ge", self._core(difference.scaled(-ONE if less else ONE))]
        raise UnsupportedError(f"a certificate cannot hold a condition by '{_kind(op)}'")

    def decision(self, operand: Operand) -> tuple[list[Any], list[Core]]:
        """The labels of a category and a form for each: the first of the largest decides."""
        category = self.definitions.get(operand) if isinstance(operand, str) else None
        if not isinstance(category, ops.Category) or not isinstance(category.index, str):
            raise UnsupportedError("a certificate cannot hold how the label is chosen")
        labels, index = list(category.labels), self.definitions.get(category.index)
        if isinstance(index, ops.Argmax):
            entries = self.entries(self._scores(index.x))
            return labels, [self._core(entry) for entry in entries]
        if isinstance(index, ops.Select) and isinstance(index.condition, str):
            ends = [end.value if hasattr(end, "value") else None for end in (index.x, index.y)]
            truth = self.truth(index.condition)
            nothing = Core(Fraction(0), {})
            if ends == [1, 0] and len(labels) == 2 and truth[0] in ("ge", "gt"):
                strict = truth[0] == "gt"  # a tie goes to the first
                pair = [nothing, truth[1]]
                return (labels, pair) if strict else (labels[::-1], pair[::-1])
        raise UnsupportedError("a certificate cannot hold how the label is chosen")

    def _scores(self, operand: Operand) -> Operand:
        """What a softmax orders."""
        op = self.definitions.get(operand) if isinstance(operand, str) else None
        return self._scores(op.x) if isinstance(op, ops.Softmax) else operand

    def _compared(self, op: Any) -> tuple[Additive, Additive]:
        """The two sides; a logistic function and one half as what it squashes and 0."""
        inner = self.definitions.get(op.x) if isinstance(op.x, str) else None
        place = 0
        if isinstance(inner, ops.Item) and isinstance(inner.x, str):
            place, inner = inner.index, self.definitions.get(inner.x)
        (y,) = self.entries(op.y)
        if isinstance(inner, ops.Sigmoid) and y == constant(Fraction(1, 2)):
            return self.entries(inner.x)[place], constant(0)
        (x,) = self.entries(op.x)
        return x, y

    def _core(self, form: Additive) -> Core:
        return self.sources.core(form, self.units)


def _kind(op: Any) -> str:
    return "a feature" if op is None else type(op).__name__.lower()


def _ensemble(reader: Any, name: str, op: ops.TreeEnsemble) -> Entries:
    reader.sources.ensembles.setdefault(name, (op, _splits(reader.program, op)))
    base = op.base.exact()
    return [Additive(Fraction(base[k]), {("tree", name, k): ONE}) for k in range(op.base.shape[0])]


def _whole(reader: Any, name: str, op: ops.ToReal) -> Entries:
    """Truth values of equalities as steps, of labels as they are; all else as networks have it."""
    compared = reader.definitions.get(op.x)
    if isinstance(compared, ops.IsLabel):
        return [reader.is_label(compared)]
    if isinstance(compared, ops.Eq | ops.Ne):
        x, y = reader.entries(compared.x), reader.entries(compared.y)
        size = max(len(x), len(y))
        pairs = zip(x * (size // len(x)), y * (size // len(y)), strict=True)
        both = [_equal(reader.units, a.plus(b.scaled(-ONE))) for a, b in pairs]
        if isinstance(compared, ops.Ne):
            return [mixed([(-ONE, each)], ONE) for each in both]
        return both
    entries: Entries = UnitReader.rules[ops.ToReal](reader, name, op)
    return entries


def _equal(units: Units, form: Additive) -> Additive:
    """1 where a form is 0: not below and not above it."""
    return mixed(
        [(ONE, units.step(form, False)), (ONE, units.step(form.scaled(-ONE), False))], -ONE
    )


def _splits(program: Program, op: ops.TreeEnsemble) -> RawSplits:
    found = raw_splits(program, op)
    if found is None:
        raise UnsupportedError("a certificate cannot hold a tree that splits what is no feature")
    return found


CoreReader.rules = {**UnitReader.rules, ops.TreeEnsemble: _ensemble, ops.ToReal: _whole}


def exact(value: Fraction | int | float) -> str:
    """A number as text: whole, a double in hexadecimal digits, or a fraction."""
    if isinstance(value, float) and (not value or abs(value) > FINE):  # the same, quicker
        return str(int(value)) if value.is_integer() else value.hex()
    value = Fraction(value)
    if value.denominator == 1:
        return str(value.numerator)
    if value.denominator & (value.denominator - 1) == 0 and value.denominator < 2**1000:
        near = float(value)
        if Fraction(near) == value:
            return near.hex()
    return str(value)


def plain_label(label: Any) -> Any:
    """A label for JSON, in which 1 and 1.0 are the same."""
    return {"float": exact(label)} if isinstance(label, float) else label


def written_label(label: tuple[str, Any]) -> Any:
    """A label of the checker's, by type and value, for JSON."""
    kind, value = label
    return {"float": exact(value)} if kind == "float" else value


def declared(query: Query) -> tuple[dict[str, list[Additive]], dict[str, str | int]]:
    """Features, and ``factual.…``, as a ``UnitReader`` reads them: forms, and labels by place."""
    numbers: dict[str, list[Additive]] = {}
    labels: dict[str, str | int] = {}
    for domain in query.domains:
        name, own = domain.name, domain.factual
        if domain.is_symbolic:
            labels[name] = name
            labels[f"factual.{name}"] = domain.labels.position(own)
        else:
            numbers[name] = [Additive(ZERO, {("x", name): ONE})]
            numbers[f"factual.{name}"] = [constant(own)]
    return numbers, labels


def read_program(query: Query) -> tuple[Sources, Units, list[Any] | None, list[Core]]:
    """The deployed program of a query: sources, labels (of a classifier) and output forms.

    Raises:
        UnsupportedError: it does more than forms, units, steps, roundings and trees can say.
    """
    sources = Sources({domain.name: j for j, domain in enumerate(query.domains)})
    units = Units()
    program = query.program
    if any(not isinstance(statement, Let) for statement in program.body):
        raise UnsupportedError("a certificate cannot hold a program that branches")
    reader = CoreReader(program, query, sources, units)
    if query.target.is_range:
        (value,) = reader.entries(program.output("value"))
        return sources, units, None, [sources.core(value, units)]
    labels, forms = reader.decision(program.output("label"))
    return sources, units, labels, forms


__all__ = ["Core", "CoreReader", "Sources", "exact", "plain_label", "read_program", "written_label"]
