"""Hypothesis strategies for IR programs, their inputs and boxes around them.

``programs()`` draws valid programs of both levels in which every op can occur.  With
``exact=True`` all numbers are small dyadic rationals, and sizes are tracked so that every
intermediate value is a double: the batch evaluator must then agree with the exact one to the bit.
``op_programs(name)`` draws a single op whose operands are all inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from cfxc.ir import (
    BOOL,
    INT,
    REAL,
    Builder,
    LabelTuple,
    Literal,
    Operand,
    Program,
    Sort,
    Tensor,
    category,
    ops,
)
from cfxc.ir.op import REGISTRY, Op
from cfxc.ir.sorts import label_key

NAMES = ["age", "x.1", "%3", "if", "true", "a b", "`q`", "naïve", "line\nbreak", "", "back\\n", "0"]
LABELS = [1, 1.0, True, False, None, 0, -3, 0.1, -2.5, 10**20, "", "a", "none", "1", 'say "hi"\n',
          "naïve", "\\", "\ud800", "a, b}"]  # fmt: skip

names = st.one_of(st.sampled_from(NAMES), st.text(max_size=6))
labels = st.one_of(
    st.sampled_from(LABELS),
    st.text(max_size=4),
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=False, allow_infinity=False),
)
categories = st.lists(labels, min_size=1, max_size=4, unique_by=label_key).map(
    lambda found: category(*found)
)
dyadics = st.integers(-64, 64).map(lambda k: Fraction(k, 8))
rationals = st.one_of(dyadics, st.fractions(-100, 100), st.floats(-1e6, 1e6).map(Fraction))


@dataclass(frozen=True)
class Size:
    """Bound on a value: a multiple of ``2**-fraction`` below ``2**whole`` in magnitude."""

    whole: int
    fraction: int

    def fits(self) -> bool:
        return self.whole + self.fraction <= 50


SMALL = Size(4, 3)
COUNT = Size(3, 0)


def join(*sizes: Size) -> Size:
    return Size(max(s.whole for s in sizes), max(s.fraction for s in sizes))


@dataclass
class Value:
    """An operand in scope."""

    operand: Operand
    sort: Sort
    size: Size


Draw = Callable[[st.SearchStrategy[Any]], Any]


class Maker:
    """Draws statements into a builder; operands come from scope, literals or new inputs."""

    def __init__(self, draw: Draw, *, exact: bool, inputs_only: bool = False) -> None:
        self.draw, self.exact, self.inputs_only = draw, exact, inputs_only
        self.builder = Builder(draw(names))
        self.scope: list[Value] = []

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def number(self) -> Fraction:
        return self.draw(dyadics if self.exact else rationals)

    def tensor(self, shape: tuple[int, ...], kind: str = "real") -> Tensor:
        count = int(np.prod(shape))
        if kind == "bool":
            values = [self.draw(st.booleans()) for _ in range(count)]
            return Tensor(np.array(values, dtype=bool).reshape(shape))
        if kind == "int":
            return Tensor(np.array([self.integer(-8, 8) for _ in range(count)], int).reshape(shape))
        array = np.empty(count, dtype=object)
        array[:] = [self.number() for _ in range(count)]
        doubles = all(Fraction(float(v)) == v for v in array)
        dtype = "f64" if doubles and self.draw(st.booleans()) else "rat"
        return Tensor(array.reshape(shape), dtype)

    def add(self, op: Op, sort: Sort, size: Size = SMALL, name: str = "") -> Value:
        self.builder.origin = self.draw(st.sampled_from(["", "", "m.onnx: node 'A_1'", '"\n\\']))
        value = Value(self.builder.let(op, name), sort, size)
        self.scope.append(value)
        return value

    def input(self, sort: Sort) -> Value:
        taken = {name for name, _ in self.builder.inputs}
        name = self.draw(names.filter(lambda n: n not in taken and not n.startswith("%")))
        value = Value(self.builder.input(name, sort), sort, COUNT if sort.kind == "int" else SMALL)
        self.scope.append(value)
        return value

    def pick(self, *kinds: str, shape: tuple[int, ...] = (), labels: LabelTuple | None = None,
             small: bool = False) -> Value:  # fmt: skip
        """A value of one of the kinds and of the shape; made if there is none, or by chance."""
        if self.inputs_only:
            kind = self.draw(st.sampled_from(kinds))
            if kind == "category":
                return self.input(Sort(kind, (), labels) if labels else self.draw(categories))
            return self.input(Sort(kind, shape))
        found = [
            value
            for value in self.scope
            if value.sort.kind in kinds and value.sort.shape == shape
            and (labels is None or value.sort.labels == labels)
            and not (small and join(value.size, SMALL) != SMALL)
        ]  # fmt: skip
        if found and self.integer(0, 7):
            return self.draw(st.sampled_from(found))
        return self.fresh(self.draw(st.sampled_from(kinds)), shape, labels)

    def fresh(self, kind: str, shape: tuple[int, ...], labels: LabelTuple | None) -> Value:
        """A constant of the sort: a literal for scalars, an op for the rest."""
        if kind == "category":
            sort = Sort("category", (), labels) if labels else self.draw(categories)
            index = Literal(self.integer(0, len(sort.labels) - 1))
            return self.add(ops.Category(index, sort.labels), sort)
        if shape:
            return self.add(ops.Constant(self.tensor(shape, kind)), Sort(kind, shape))
        if kind == "bool":
            return Value(Literal(self.draw(st.booleans())), BOOL, SMALL)
        if kind == "int":
            return Value(Literal(self.integer(-8, 8)), INT, SMALL)
        return Value(Literal(self.number()), REAL, SMALL)

    def vector(self, *kinds: str, small: bool = False) -> Value:
        sizes = [v.sort.shape for v in self.scope if len(v.sort.shape) == 1 and v.sort.shape[0]]
        shape = self.draw(st.sampled_from([*sizes, (self.integer(1, 4),)]))
        return self.pick(*kinds, shape=shape, small=small)

    def shaped(self, *kinds: str, small: bool = False) -> Value:
        """A scalar or a vector."""
        if self.draw(st.booleans()):
            return self.vector(*kinds, small=small)
        return self.pick(*kinds, small=small)

    def like(self, value: Value, *kinds: str, small: bool = False) -> Value:
        """A second elementwise operand: of the same shape or a scalar."""
        shape = value.sort.shape if self.draw(st.booleans()) else ()
        return self.pick(*kinds, shape=shape, small=small)


def _sort(kind: str, *values: Value) -> Sort:
    return Sort(kind, np.broadcast_shapes(*(v.sort.shape for v in values)))


def _joined(*values: Value) -> str:
    return "real" if any(v.sort.kind == "real" for v in values) else "int"


Make = Callable[[Maker, type[Op]], tuple[Op, Sort, Size]]
MAKERS: dict[type[Op], Make] = {}


def makes(*classes: type[Op]) -> Callable[[Make], Make]:
    def enter(function: Make) -> Make:
        MAKERS.update(dict.fromkeys(classes, function))
        return function

    return enter


@makes(ops.Add, ops.Sub, ops.Mul, ops.Minimum, ops.Maximum)
def _binary(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    small = cls is ops.Mul
    x = m.shaped("real", "int", small=small)
    y = m.like(x, "real", "int", small=small)
    if m.draw(st.booleans()):
        x, y = y, x
    size = join(x.size, y.size)
    if cls is ops.Mul:
        size = Size(x.size.whole + y.size.whole, x.size.fraction + y.size.fraction)
    elif cls in (ops.Add, ops.Sub):
        size = Size(size.whole + 1, size.fraction)
    return cls(x.operand, y.operand), _sort(_joined(x, y), x, y), size


@makes(ops.Div)
def _div(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    x = m.shaped("real", "int")
    if m.exact:
        y = Value(Literal(m.draw(st.sampled_from([Fraction(2), Fraction(-1, 2), -4]))), REAL, SMALL)
    elif m.inputs_only:
        y = m.like(x, "real", "int")
    else:
        y = Value(Literal(m.number() or Fraction(3)), REAL, SMALL)
    return (
        cls(x.operand, y.operand),
        _sort("real", x, y),
        Size(x.size.whole + 1, x.size.fraction + 2),
    )


@makes(ops.Neg, ops.Abs, ops.Relu, ops.RoundFloat32)
def _unary(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    x = m.shaped("real", "int")
    kind = "real" if cls is ops.RoundFloat32 else x.sort.kind
    return cls(x.operand), _sort(kind, x), Size(x.size.whole + 1, x.size.fraction)


@makes(ops.LeakyRelu)
def _leaky(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    x = m.shaped("real", "int")
    alpha = Fraction(m.integer(0, 8), 8) if m.exact else m.draw(st.fractions(0, 1))
    return cls(x.operand, alpha), _sort("real", x), Size(x.size.whole, x.size.fraction + 3)


@makes(ops.Clip)
def _clip(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    x = m.shaped("real", "int")
    low, high = sorted([m.number(), m.number()])
    return cls(x.operand, low, high), _sort("real", x), join(x.size, SMALL)


@makes(ops.Affine)
def _affine(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    x, rows = m.vector("real", "int", small=True), m.integer(1, 3)
    op = cls(x.operand, m.tensor((rows, x.sort.shape[0])), m.tensor((rows,)))
    return op, Sort("real", (rows,)), Size(x.size.whole + 8, x.size.fraction + 3)


@makes(ops.ReduceSum, ops.ReduceMax, ops.ReduceMin)
def _reduce(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    x = m.vector("real", "int")
    return cls(x.operand), x.sort.with_shape(()), Size(x.size.whole + 3, x.size.fraction)


@makes(ops.Le, ops.Lt, ops.Ge, ops.Gt, ops.Eq, ops.Ne)
def _comparison(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    x = m.shaped("real", "int")
    y = m.like(x, "real", "int")
    return cls(x.operand, y.operand), _sort("bool", x, y), SMALL


@makes(ops.And, ops.Or)
def _connective(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    parts = [m.shaped("bool")]
    parts += [m.like(parts[0], "bool") for _ in range(m.integer(0, 2))]
    return cls(tuple(p.operand for p in parts)), _sort("bool", *parts), SMALL


@makes(ops.Not)
def _not(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    x = m.shaped("bool")
    return cls(x.operand), x.sort, SMALL


@makes(ops.IsLabel)
def _is_label(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    x = m.pick("category")
    return cls(x.operand, m.draw(st.sampled_from(list(x.sort.labels)))), BOOL, SMALL


@makes(ops.Select)
def _select(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    x = m.pick("category") if m.integer(0, 3) == 0 else m.shaped("real", "int", "bool")
    if x.sort.kind == "category":
        c, y = m.pick("bool"), m.pick("category", labels=x.sort.labels)
        return cls(c.operand, x.operand, y.operand), x.sort, SMALL
    c = m.like(x, "bool")
    y = m.like(x, *(["bool"] if x.sort.kind == "bool" else ["real", "int"]))
    kind = "bool" if x.sort.kind == "bool" else _joined(x, y)
    return cls(c.operand, x.operand, y.operand), _sort(kind, c, x, y), join(x.size, y.size)


@makes(ops.Argmax)
def _argmax(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    return cls(m.vector("real", "int").operand), INT, COUNT


@makes(
    ops.Exp, ops.Sigmoid, ops.Tanh, ops.Elu, ops.Erf, ops.Gelu, ops.GeluTanh, ops.Mish,
    ops.Silu, ops.Softplus, ops.Softsign,
)  # fmt: skip
def _smooth(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    x = m.shaped("real", "int")
    return cls(_bounded(m, x).operand), _sort("real", x), SMALL


@makes(ops.Softmax)
def _softmax(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    x = m.vector("real", "int")
    return cls(_bounded(m, x).operand), _sort("real", x), SMALL


def _bounded(m: Maker, x: Value) -> Value:
    if m.inputs_only:
        return x
    return m.add(ops.Clip(x.operand, Fraction(-8), Fraction(8)), _sort("real", x))


@makes(ops.Identity)
def _identity(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    x = m.pick("category") if m.draw(st.booleans()) else m.shaped("real", "int", "bool")
    return cls(x.operand), x.sort, x.size


@makes(ops.Constant)
def _constant(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    shape = m.draw(st.sampled_from([(), (0,), (1,), (3,), (2, 2), (0, 2)]))
    kind = m.draw(st.sampled_from(["real", "int", "bool"]))
    return cls(m.tensor(shape, kind)), Sort(kind, shape), SMALL


@makes(ops.Concat)
def _concat(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    parts = [m.shaped("real", "int") for _ in range(m.integer(1, 3))]
    length = sum(p.sort.shape[0] if p.sort.shape else 1 for p in parts)
    sort = Sort(_joined(*parts), (length,))
    return cls(tuple(p.operand for p in parts)), sort, join(*(p.size for p in parts))


@makes(ops.Take)
def _take(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    x = m.vector("real", "int", "bool")
    chosen = tuple(m.integer(0, x.sort.shape[0] - 1) for _ in range(m.integer(0, 3)))
    return cls(x.operand, chosen), x.sort.with_shape((len(chosen),)), x.size


@makes(ops.Item)
def _item(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    x = m.vector("real", "int", "bool")
    return cls(x.operand, m.integer(0, x.sort.shape[0] - 1)), x.sort.with_shape(()), x.size


@makes(ops.Reshape)
def _reshape(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    x = m.shaped("real", "int", "bool")
    count = int(np.prod(x.sort.shape))
    options = [(count,), (1, count), (count, 1)] + ([()] if count == 1 else [])
    shape = m.draw(st.sampled_from(options))
    return cls(x.operand, shape), x.sort.with_shape(shape), x.size


@makes(ops.Lookup)
def _lookup(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    x = m.pick("category")
    shape = m.draw(st.sampled_from([(), (1,), (3,)]))
    kind = m.draw(st.sampled_from(["real", "int", "bool"]))
    table = m.tensor((len(x.sort.labels), *shape), kind)
    return cls(x.operand, x.sort.labels, table), Sort(kind, shape), SMALL


@makes(ops.Category)
def _category(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    sort = m.draw(categories)
    if m.inputs_only:
        index = m.pick("int").operand
    elif m.draw(st.booleans()):
        vector = m.pick("real", shape=(m.integer(1, len(sort.labels)),))
        index = m.add(ops.Argmax(vector.operand), INT, COUNT).operand
    else:
        index = Literal(m.integer(0, len(sort.labels) - 1))
    return cls(index, sort.labels), sort, SMALL


@makes(ops.ToReal)
def _to_real(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    x = m.shaped("real", "int", "bool")
    return cls(x.operand), _sort("real", x), x.size


@makes(ops.TreeEnsemble)
def _trees(m: Maker, cls: Any) -> tuple[Op, Sort, Size]:
    x = m.vector("real", "int")
    op = m.draw(tree_ensembles(x.sort.shape[0], operand=x.operand, numbers=m.number))
    return op, Sort("real", op.base.shape), Size(7, 3)


@st.composite
def tree_ensembles(
    draw: Draw,
    features: int,
    *,
    operand: Operand = "x",
    numbers: Callable[[], Fraction] | None = None,
    max_trees: int = 3,
    max_depth: int = 3,
) -> ops.TreeEnsemble:
    """Random ensembles over a vector of length ``features``; numbers are dyadic by default."""
    number = numbers or (lambda: draw(dyadics))
    outputs = draw(st.integers(1, 2))
    nodes: list[list[Any]] = []  # feature, threshold, left, right, values

    def grow(depth: int) -> int:
        own = len(nodes)
        nodes.append([-1, Fraction(0), 0, 0, [Fraction(0)] * outputs])
        if depth and draw(st.booleans()):
            nodes[own][0] = draw(st.integers(0, features - 1))
            nodes[own][1] = number()
            nodes[own][2], nodes[own][3] = grow(depth - 1), grow(depth - 1)
        else:
            nodes[own][4] = [number() for _ in range(outputs)]
        return own

    roots = [grow(max_depth) for _ in range(draw(st.integers(1, max_trees)))]
    columns = list(zip(*nodes, strict=True))
    feature, left, right = (Tensor(np.array(columns[i], dtype=np.int64)) for i in (0, 2, 3))
    rows = np.array(columns[4], dtype=object).reshape(len(nodes), outputs)
    base = np.array([number() for _ in range(outputs)], dtype=object)
    return ops.TreeEnsemble(
        operand, Tensor(np.array(roots)), feature, Tensor(np.array(columns[1], dtype=object)),
        left, right, Tensor(rows), Tensor(base),
    )  # fmt: skip


INEXACT = {
    ops.Exp, ops.Sigmoid, ops.Tanh, ops.Softmax, ops.Elu, ops.Erf, ops.Gelu, ops.GeluTanh, ops.Mish,
    ops.Silu, ops.Softplus, ops.Softsign,
}  # fmt: skip
CORE = {
    ops.Add, ops.Sub, ops.Mul, ops.Div, ops.Neg, ops.Abs, ops.Minimum, ops.Maximum, ops.Le, ops.Lt,
    ops.Ge, ops.Gt, ops.Eq, ops.Ne, ops.And, ops.Or, ops.Not, ops.Identity, ops.IsLabel,
    ops.ToReal, ops.Category,
}  # fmt: skip


def _statement(m: Maker, choices: list[type[Op]]) -> None:
    cls = m.draw(st.sampled_from(choices))
    op, sort, size = MAKERS[cls](m, cls)
    if not m.exact or size.fits():
        m.add(op, sort, size)


def _branch(m: Maker, choices: list[type[Op]], targets: list[tuple[str, Sort]], depth: int) -> None:
    """Fill one branch so that at its end every target is assigned."""
    outside = list(m.scope)
    for _ in range(m.integer(0, 2)):
        _statement(m, choices)
    rest = list(targets)
    if depth and m.draw(st.booleans()):
        inner = rest[: m.integer(0, len(rest))]
        rest = rest[len(inner) :]
        _conditional(m, choices, inner, depth - 1)
    for name, sort in rest:
        value = m.pick(sort.kind, shape=sort.shape, labels=sort.labels or None, small=True)
        m.builder.let(ops.Identity(value.operand), name)
    m.scope = outside


def _conditional(
    m: Maker, choices: list[type[Op]], targets: list[tuple[str, Sort]], depth: int
) -> None:
    condition = m.pick("bool").operand
    m.builder.branch(
        condition,
        lambda: _branch(m, choices, targets, depth),
        lambda: _branch(m, choices, targets, depth),
    )
    m.scope += [Value(name, sort, SMALL) for name, sort in targets]


@st.composite
def programs(
    draw: Draw, *, exact: bool = False, core: bool | None = None, max_statements: int = 7
) -> Program:
    """Valid programs: straight tensor code, core-level code with nested ifs, or both mixed."""
    m = Maker(draw, exact=exact)
    if core is None:
        core = draw(st.booleans())
    scalars = st.one_of(st.sampled_from([REAL, INT, BOOL]), categories)
    vectors = st.builds(
        Sort, st.sampled_from(["real", "int", "bool"]), st.tuples(st.integers(1, 4))
    )
    for _ in range(draw(st.integers(0, 4))):
        m.input(draw(scalars if core or draw(st.booleans()) else vectors))
    choices = [cls for cls in REGISTRY.values() if not (exact and cls in INEXACT)]
    if core:
        choices = [cls for cls in choices if cls in CORE]
    for _ in range(draw(st.integers(1, max_statements))):
        if core and draw(st.booleans()):
            sorts = [draw(scalars) for _ in range(draw(st.integers(0, 2)))]
            targets = [(m.builder.fresh("y"), sort) for sort in sorts]
            _conditional(m, choices, targets, depth=2)
        else:
            _statement(m, choices)
    if not m.scope:
        m.fresh("real", (1,), None)
    found = draw(st.lists(st.sampled_from(m.scope), min_size=1, max_size=4))
    keys = draw(st.lists(names, min_size=len(found), max_size=len(found), unique=True))
    return m.builder.build_with(
        {key: value.operand for key, value in zip(keys, found, strict=True)}
    )


@st.composite
def op_programs(draw: Draw, name: str, *, exact: bool = False) -> Program:
    """``y = op(…)`` for the op of that name, all operands being inputs."""
    m = Maker(draw, exact=exact, inputs_only=True)
    cls = REGISTRY[name]
    op, _, _ = MAKERS[cls](m, cls)
    return m.builder.build(y=m.builder.let(op))


def values(sort: Sort, numbers: st.SearchStrategy[Fraction] = dyadics) -> st.SearchStrategy[Any]:
    """Exact values of a sort, as the evaluator takes them."""
    if sort.shape:
        scalar, count = values(sort.with_shape(()), numbers), int(np.prod(sort.shape))
        return st.lists(scalar, min_size=count, max_size=count).map(lambda v: _array(v, sort.shape))
    if sort.kind == "category":
        return st.sampled_from(list(sort.labels))
    if sort.kind == "bool":
        return st.booleans()
    return st.integers(-7, 7) if sort.kind == "int" else numbers


def _array(flat: list[Any], shape: tuple[int, ...]) -> Any:
    out = np.empty(len(flat), dtype=object)
    out[:] = flat
    return out.reshape(shape)


def inputs_of(
    program: Program, numbers: st.SearchStrategy[Fraction] = dyadics
) -> st.SearchStrategy[dict[str, Any]]:
    """Input values for a program."""
    return st.fixed_dictionaries({name: values(sort, numbers) for name, sort in program.inputs})


def columns_of(program: Program, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Exact rows as the columns that the batch evaluator takes."""
    return {
        name: np.array([encoded(row[name], sort) for row in rows]).reshape(len(rows), *sort.shape)
        for name, sort in program.inputs
    }


def encoded(value: Any, sort: Sort) -> Any:
    """An exact value in batch form: doubles, Booleans, codes."""
    if sort.kind == "category":
        return sort.index(value)
    if sort.kind == "bool":
        return np.array(value, dtype=bool)
    return np.array(value, dtype=object).astype(np.float64)
