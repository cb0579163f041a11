"""Programs as certificates hold them: forms over features, units, steps, roundings and trees.

A program over tensors is read output by output, as ``UnitReader`` reads networks, with tree
ensembles beside; what is left are a few kinds of sources that an auditor can evaluate by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isinf, isnan
from typing import Any

import numpy as np

from ...compiler.linear_reader import Entries, Form, UnitReader, Units, kind_of, spread
from ...compiler.splits import RawSplits, raw_splits, resolve_columns
from ...compiler.splits import Unary as RawColumn
from ...errors import UnsupportedError
from ...ir import Let, Operand, Program, Tensor, ops
from ...ir.linear import ONE, Inequality, LinearForm
from ...question.query import Query
from .products import Products

FINE = 2.0**-900  # doubles above are multiples of 2⁻¹⁰⁰⁰
Source = tuple[Any, ...]


@dataclass
class Ensemble:
    """Trees, and their splits: of a column c that is a form by input ``offset + c``.

    ``places``: of the forms, among what is made.
    """

    op: ops.TreeEnsemble
    splits: RawSplits
    offset: int
    forms: dict[int, Form]
    places: dict[int, int] = field(default_factory=dict)


@dataclass
class Sources:
    """The forms that sources stand for, in order, and the ensembles with their splits.

    ``known``: what those of a ``UnitReader`` are.
    """

    features: dict[str, int]
    made: list[tuple[str, Any]] = field(default_factory=list)
    places: dict[Any, int] = field(default_factory=dict)
    ensembles: dict[str, Ensemble] = field(default_factory=dict)
    known: dict[Source, Form] = field(default_factory=dict)

    def make(self, kind: str, form: Any) -> Source:
        """A source for a form, or for two factors; the same for equal ones."""
        known = (kind, form.key if isinstance(form, LinearForm) else form)
        if known not in self.places:
            self.places[known] = len(self.made)
            self.made.append((kind, form))
        return kind, self.places[known]

    def core(self, form: Form, units: Products) -> Form:
        """A form as ``UnitReader`` gives it, in core sources."""
        total, terms = form.constant, dict[Source, Fraction]()
        for source, factor in form.terms.items():
            if source not in self.known:  # once: each unit of a layer reads all of those before
                self.known[source] = self._of(source, units)
            own = self.known[source]
            total += factor * own.constant
            for inner, part in own.terms.items():
                terms[inner] = terms.get(inner, Fraction(0)) + factor * part
        return LinearForm({source: factor for source, factor in terms.items() if factor}, total)

    def _of(self, source: Source, units: Products) -> Form:
        """One source that ``UnitReader`` gives."""
        kind, what = source[0], source[1]
        if kind == "x":
            return LinearForm.one(("x", self.features[what]))
        if kind == "is":
            return LinearForm.one(("is", self.features[what], source[2]))
        if kind == "tree":
            ensemble = self.ensembles[what]
            for column, tested in ensemble.forms.items():
                ensemble.places[column] = self.make("form", self.core(tested, units))[1]
            return LinearForm.one(("tree", list(self.ensembles).index(what), source[2]))
        if kind == "unit":
            return LinearForm.one(self.make("unit", self.core(units.forms[what], units)))
        if kind == "product":
            both = (self.make("form", self.core(each, units)) for each in units.products[what])
            return LinearForm.one(self.make("product", tuple(place for _, place in both)))
        if kind == "curve":  # of a form with a place of its own, which can be split
            name, inner = units.curves[what]
            held = self.make("form", self.core(inner, units))
            return LinearForm.one(self.make(name, LinearForm.one(held)))
        if kind == "step":
            step = units.steps[what]
            if not step.strict:
                return LinearForm.one(self.make("step", self.core(step.form, units)))
            # above 0: not at most 0
            return 1 - LinearForm.one(self.make("step", self.core(-step.form, units)))
        rounded = self.core(units.rounded[what], units)  # what rounding changes
        return LinearForm.one(self.make("single", rounded)) - rounded


class CoreReader(UnitReader):
    """Reads programs with trees; squashed scores only where they are compared."""

    units: Products

    def __init__(self, program: Program, query: Query, sources: Sources, units: Products) -> None:
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
            return ["ge", self._core(self.is_label(op) - 1)]
        if isinstance(op, ops.Le | ops.Lt | ops.Ge | ops.Gt | ops.Eq | ops.Ne):
            x, y = self._compared(op)
            difference = x - y
            if isinstance(op, ops.Eq | ops.Ne):
                both = ["and", *(["ge", self._core(s * difference)] for s in (ONE, -ONE))]
                return both if isinstance(op, ops.Eq) else ["not", both]
            less = isinstance(op, ops.Le | ops.Lt)
            strict = isinstance(op, ops.Lt | ops.Gt)
            return ["gt" if strict else "ge", self._core((-ONE if less else ONE) * difference)]
        raise UnsupportedError(f"a certificate cannot hold a condition by '{kind_of(op)}'")

    def decision(self, operand: Operand) -> tuple[list[Any], list[Form]]:
        """The labels of a category and a form for each: the first of the largest decides."""
        category = self.program.definition(operand)
        if not isinstance(category, ops.Category) or not isinstance(category.index, str):
            raise UnsupportedError("a certificate cannot hold how the label is chosen")
        labels, index = list(category.labels), self.definitions.get(category.index)
        if isinstance(index, ops.Argmax):
            entries = self.entries(self._scores(index.x))
            return labels, [self._core(entry) for entry in entries]
        if isinstance(index, ops.Select) and isinstance(index.condition, str):
            ends = [end.value if hasattr(end, "value") else None for end in (index.x, index.y)]
            truth = self.truth(index.condition)
            nothing: Form = LinearForm({})
            if ends == [1, 0] and len(labels) == 2 and truth[0] in ("ge", "gt"):
                strict = truth[0] == "gt"  # a tie goes to the first
                pair = [nothing, truth[1]]
                return (labels, pair) if strict else (labels[::-1], pair[::-1])
        raise UnsupportedError("a certificate cannot hold how the label is chosen")

    def step(self, form: Form, strict: bool) -> Form:
        """1 where a form is at least 0 (or above it), else 0; where a tree says so, that tree."""
        source = next(iter(form.terms)) if len(form.terms) == 1 else None
        if source is not None and source[0] == "tree" and self._tells(source):
            ends = form.constant, form.constant + form.terms[source]
            low, high = (int(end > 0 or (end == 0 and not strict)) for end in ends)
            return low + (high - low) * LinearForm.one(source)
        if len(form.terms) < 2 and (source is None or source[0] == "x"):
            return self.units.step(form, strict)
        self.units.steps.append(Inequality(form, strict))
        return LinearForm.one(("step", len(self.units.steps) - 1))

    def _tells(self, source: Source) -> bool:
        """Whether a column of an ensemble is that of one tree, and 0 or 1."""
        op = self.sources.ensembles[source[1]].op
        column = op.value.exact()[:, source[2]].tolist()
        return op.roots.array.size == 1 and set(column) <= {0, 1}

    def _scores(self, operand: Operand) -> Operand:
        """What a softmax orders."""
        op = self.program.definition(operand)
        return self._scores(op.x) if isinstance(op, ops.Softmax) else operand

    def _compared(self, op: Any) -> tuple[Form, Form]:
        """The two sides; a logistic function and one half as what it squashes and 0."""
        inner, place = self.program.definition(op.x), 0
        if isinstance(inner, ops.Item):
            place, inner = inner.index, self.program.definition(inner.x)
        (y,) = self.entries(op.y)
        if isinstance(inner, ops.Sigmoid) and y == LinearForm.of(Fraction(1, 2)):
            return self.entries(inner.x)[place], LinearForm.of(0)
        (x,) = self.entries(op.x)
        return x, y

    def _core(self, form: Form) -> Form:
        return self.sources.core(form, self.units)


def _ensemble(reader: Any, name: str, op: ops.TreeEnsemble) -> Entries:
    if name not in reader.sources.ensembles:
        reader.sources.ensembles[name] = _read(reader, op)
    base = op.base.exact()
    return [LinearForm.one(("tree", name, k)) + Fraction(base[k]) for k in range(op.base.shape[0])]


def _whole(reader: Any, name: str, op: ops.ToReal) -> Entries:
    """Truth values of equalities as steps, of labels as they are; all else as networks have it."""
    compared = reader.definitions.get(op.x)
    if isinstance(compared, ops.IsLabel):
        return [reader.is_label(compared)]
    if isinstance(compared, ops.Eq | ops.Ne):
        both = [_equal(reader.units, x - y) for x, y in reader.pairs(compared)]
        return [1 - each for each in both] if isinstance(compared, ops.Ne) else both
    entries: Entries = UnitReader.rules[ops.ToReal](reader, name, op)
    return entries


def _times(reader: Any, name: str, op: ops.Mul) -> Entries:
    return [reader.units.product(x, y) for x, y in reader.pairs(op)]


def _selected(reader: Any, name: str, op: ops.Select) -> Entries:
    """``y + [condition] (x - y)``."""
    count = max(len(reader.entries(each)) for each in (op.x, op.y))
    x, y = (spread(reader.entries(each), count) for each in (op.x, op.y))
    chosen = spread(_truths(reader, op.condition), count)
    return [
        other + reader.units.product(here, own - other)
        for here, own, other in zip(chosen, x, y, strict=True)
    ]


def _truths(reader: Any, operand: Operand) -> Entries:
    """Truth values as numbers."""
    if not isinstance(operand, str):
        return [LinearForm.of(int(operand.value))]
    op = reader.definitions.get(operand)
    if isinstance(op, ops.IsLabel):
        return [reader.is_label(op)]
    if isinstance(op, ops.Not):
        return [1 - each for each in _truths(reader, op.x)]
    if isinstance(op, ops.Le | ops.Lt | ops.Ge | ops.Gt):
        less, strict = isinstance(op, ops.Le | ops.Lt), isinstance(op, ops.Lt | ops.Gt)
        forms = [y - x if less else x - y for x, y in reader.pairs(op)]
        return [reader.step(form, strict) for form in forms]
    raise UnsupportedError(f"a certificate cannot hold a choice by '{kind_of(op)}'")


def _equal(units: Units, form: Form) -> Form:
    """1 where a form is 0: not below and not above it."""
    return units.step(form, False) + units.step(-form, False) - 1


def _read(reader: Any, op: ops.TreeEnsemble) -> Ensemble:
    """An ensemble with its splits: of raw features, or else of the forms that columns are."""
    program, feature = reader.program, op.feature.array
    columns = resolve_columns(program).get(op.x) if isinstance(op.x, str) else None
    used = np.unique(feature[feature >= 0]).tolist()
    mixed = [c for c in used if columns is None or not isinstance(columns[c], RawColumn)]
    there = np.isin(feature, mixed)
    plain = replace(op, feature=Tensor(np.where(there, -1, feature)))
    splits, offset = raw_splits(program, plain), len(program.inputs)
    assert splits is not None
    splits.input[: feature.size][there] = offset + feature[there]
    entries = reader.entries(op.x) if mixed else []
    return Ensemble(op, splits, offset, {c: entries[c] for c in mixed})


def _softmax(reader: Any, name: str, op: ops.Softmax) -> Entries:
    """Of two scores: logistic functions of their differences."""
    entries = reader.entries(op.x)
    if len(entries) != 2:
        raise UnsupportedError("a certificate cannot hold a softmax of more than two scores")
    x, y = entries
    return [reader.units.curve("sigmoid", x - y), reader.units.curve("sigmoid", y - x)]


def _unary(function: Callable[[Products, Form], Form]) -> Any:
    return lambda reader, _, op: [function(reader.units, x) for x in reader.entries(op.x)]


def _unknown(reader: Any, name: str, op: Any) -> Entries:
    raise UnsupportedError(f"a certificate cannot hold the function '{op.name}'")


def _tanh(units: Products, x: Form) -> Form:
    return 2 * units.curve("sigmoid", 2 * x) - 1


def _elu(units: Products, x: Form) -> Form:
    """``max(x, 0) + exp(min(x, 0)) - 1``."""
    above = units.positive(x)
    return above + units.curve("exp", x - above) - 1


def _mish(units: Products, x: Form) -> Form:
    """``x tanh(softplus(x))``."""
    return units.product(x, _tanh(units, units.curve("softplus", x)))


SMOOTH: dict[type, Callable[[Products, Form], Form]] = {
    ops.Exp: lambda units, x: units.curve("exp", x),
    ops.Sigmoid: lambda units, x: units.curve("sigmoid", x),
    ops.Softplus: lambda units, x: units.curve("softplus", x),
    ops.Tanh: _tanh,
    ops.Elu: _elu,
    ops.Silu: lambda units, x: units.weighted(x, "sigmoid"),
    ops.Gelu: lambda units, x: units.weighted(x, "normal"),
    ops.Mish: _mish,
}
"""Smooth ops as the functions that certificates hold, and products with them."""

CoreReader.rules = {
    **UnitReader.rules,
    ops.TreeEnsemble: _ensemble,
    ops.ToReal: _whole,
    ops.Mul: _times,
    ops.Select: _selected,
    ops.Softmax: _softmax,
    **{op: _unary(function) for op, function in SMOOTH.items()},
    **dict.fromkeys((ops.Erf, ops.GeluTanh, ops.Softsign), _unknown),
}


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


def declared(query: Query) -> tuple[dict[str, list[Form]], dict[str, str | int]]:
    """Features, and ``factual.…``, as a ``UnitReader`` reads them: forms, and labels by place."""
    numbers: dict[str, list[Form]] = {}
    labels: dict[str, str | int] = {}
    for domain in query.domains:
        name, own = domain.name, domain.factual
        if domain.is_symbolic:
            labels[name] = name
            labels[f"factual.{name}"] = domain.labels.position(own)
        else:
            numbers[name] = [LinearForm.one(("x", name))]
            numbers[f"factual.{name}"] = [LinearForm.of(own)]
    return numbers, labels


def read_program(query: Query) -> tuple[Sources, Products, list[Any] | None, list[Form]]:
    """The deployed program of a query: sources, labels (of a classifier) and output forms.

    Raises:
        UnsupportedError: it does more than forms, units, steps, roundings and trees can say.
    """
    sources = Sources({domain.name: j for j, domain in enumerate(query.domains)})
    units = Products()
    program = query.program
    if any(not isinstance(statement, Let) for statement in program.body):
        raise UnsupportedError("a certificate cannot hold a program that branches")
    reader = CoreReader(program, query, sources, units)
    if query.target.is_range:
        (value,) = reader.entries(program.output("value"))
        return sources, units, None, [sources.core(value, units)]
    labels, forms = reader.decision(program.output("label"))
    return sources, units, labels, forms


COPIES = 20  # of a node, on average, at most


def trees_of(ensemble: Ensemble, query: Query) -> dict[str, Any]:
    """Roots, and nodes: feature, what goes left (a cut or places of labels), links; or values.

    Nodes that send every number the same way are left out.
    """
    op, table = ensemble.op, Table(ensemble.splits, ensemble.op)
    roots, order, links = _order(op.roots.array.tolist(), table)
    value = op.value.array.tolist()
    return {
        "roots": roots,
        "nodes": [
            [exact(v) for v in value[node]]
            if table.input[node] < 0
            else _split(node, table, ensemble, query, children)
            for node, children in zip(order, links, strict=True)
        ],
    }


class Table:
    """Splits as lists: nodes are read one by one."""

    def __init__(self, splits: RawSplits, op: ops.TreeEnsemble) -> None:
        self.threshold = op.threshold.array.tolist()
        self.input, self.cut = splits.input.tolist(), splits.cut.tolist()
        self.below, self.mask = splits.below.tolist(), splits.mask.tolist()
        self.left, self.right = splits.left.tolist(), splits.right.tolist()

    def telling(self, node: int) -> int:
        """The first node on the way that is a leaf, or tells some values from others."""
        while self.input[node] >= 0 and isinf(self.cut[node]):
            goes_left = (self.cut[node] > 0) == self.below[node]
            node = (self.left if goes_left else self.right)[node]
        return node

    def children(self, node: int) -> list[int]:
        """Where both sides of a split lead."""
        return [self.telling(self.left[node]), self.telling(self.right[node])]


def _split(
    node: int, table: Table, ensemble: Ensemble, query: Query, links: list[int]
) -> list[Any]:
    j, cut = table.input[node], table.cut[node]
    if j >= ensemble.offset:
        place = ensemble.places[j - ensemble.offset]
        return ["form", place, exact(Fraction(table.threshold[node])), *links]
    if isnan(cut):
        bits = table.mask[node]
        count = len(query.domains[j].feature.labels)
        return [j, [i for i in range(count) if bits[i // 64] >> (i % 64) & 1], *links]
    return [j, exact(cut), *(links if table.below[node] else links[::-1])]


def _order(roots: list[int], table: Table) -> tuple[list[int], list[int], list[list[int]]]:
    """Places of roots; nodes, parents first; places of children.

    What several splits lead to, as where a value is missing, stands once for each of them.
    """
    tops: list[int] = []
    order: list[int] = []
    links: list[list[int]] = []
    stack = [(table.telling(root), -1) for root in roots[::-1]]
    while stack:
        node, parent = stack.pop()
        (tops if parent < 0 else links[parent]).append(len(order))
        if table.input[node] >= 0:
            stack += [(child, len(order)) for child in table.children(node)[::-1]]
        order.append(node)
        links.append([])
        if len(order) > COPIES * len(table.input):
            raise UnsupportedError("a certificate cannot hold trees with so many shared nodes")
    return tops, order, links
