"""Distances: programs of the core language from the changes of the features to a number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from importlib.resources import files
from math import inf, nextafter, sqrt
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from ...errors import (
    DataTypeError,
    InvalidInputError,
    UnsupportedError,
    VerificationError,
)
from ...ir import REAL, If, Let, Literal, Operand, Program, Sort, evaluate, ops, walk
from ...ir.evaluator import enclose
from ...ir.interval import Bounds, Choice, Interval, floor_float
from ...lang import ast, lower_program, parse_program
from ...space import FeatureSpace
from ...space.feature import sort_of
from ...space.names import read_text, suggestion
from ...space.values import as_written, decimal_text
from ...writing import path_of
from .delta import delta_name
from .enclosure import enclosed
from .mahalanobis import Mahalanobis, Whitening, whitened_program
from .written import ALIASES, EUCLIDEAN, MAHALANOBIS, NORMS, SPARSE, coefficients_in

#: The only output of a distance.
RESULT: Final = "result"

#: Nearer points are not told apart by searches that could go on for ever.
FINEST: Final = Fraction(1, 10**9)

_COEFFICIENTS: Final = ("alpha", "beta", "gamma")


class Norms(NamedTuple):
    """What a distance is made of: ``l0 * ||δ||₀ + l1 * ||δ||₁ + linf * ||δ||∞ + l2 * ||δ||₂²``.

    ``l2`` is that of the square of the Euclidean norm: 1 where the distance is l2, and beside a
    penalty on l0 alone less than 1.
    """

    l0: Fraction
    l1: Fraction
    linf: Fraction
    l2: Fraction = Fraction(0)


def mixed(norms: Norms, changes: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    """The distance of weights and changes δ_j, as the programs of the norms define it."""
    heaviest = max(weight for weight, _ in changes)
    total = sum((weight for weight, _ in changes), Fraction(0))
    added, worst = Fraction(0), Fraction(0)
    for weight, delta in changes:
        if delta:
            added += weight * (norms.l0 + delta * (norms.l1 + norms.l2 * delta))
            worst = max(worst, weight * delta)
    return added / total + norms.linf * worst / heaviest


@dataclass(frozen=True)
class OfNorms:
    """A mix of norms over a space: few questions need its program, and a parser takes long to make.

    ``name``: what the program is called; ``file``: which of the texts here it is.
    """

    norms: Norms
    space: FeatureSpace
    name: str
    file: str

    @property
    def text(self) -> str:
        """The program's text."""
        return files(__package__).joinpath(f"{self.file}.cfl").read_text(encoding="utf-8")

    def __call__(self) -> Program:
        """The program, with its coefficients and weights."""
        norms = self.norms
        factors = {"mix": zip(_COEFFICIENTS, norms[:3], strict=True),
                   "squares": (("alpha", norms.l0), ("beta", norms.l2))}  # fmt: skip
        fixed = dict(factors.get(self.file, ()))
        return _lower(parse_program(self.text, f"{self.file}.cfl"), self.space, self.name, fixed)


@dataclass(frozen=True)
class Distance:
    """A distance d between a counterfactual and the factual.

    Attributes:
        name: ``l1``, ``0.3*l0 + 0.7*l1``, or what the user's program is called.
        definition: Its ``program``, or what of norms that is made of when it is asked for.
        norms: What it is made of if that is norms, else ``None``.
        text: The program's text.
        lower: d is never smaller; 0 for combinations of the norms, -infinity if nothing is known.
        whitening: What it is made of if it is a Mahalanobis distance.
        is_absolute: Whether ε is absolute: so it is of what plans minimise, which is no distance
            from an instance.
        per_change: Of ``sparse``, what each changed feature adds; else 0.
        scale: How many times what ``program`` gives is reported.
    """

    name: str
    definition: Program | OfNorms
    norms: Norms | None
    text: str
    lower: float = 0.0
    whitening: Whitening | None = None
    is_absolute: bool = False
    per_change: Fraction = Fraction(0)
    scale: Fraction = Fraction(1)

    @cached_property
    def program(self) -> Program:
        """From ``delta.1`` … ``delta.J`` (each in [0, 1]) to ``result: Real``.

        A user's program also reads ``x.<feature>`` and ``factual.<feature>``.
        """
        return self.definition() if isinstance(self.definition, OfNorms) else self.definition

    @property
    def is_squared(self) -> bool:
        """Whether ``program`` gives the square of the distance: under l2 and Mahalanobis."""
        return self.whitening is not None or (self.norms is not None and self.norms.l2 == 1)

    @property
    def has_squares(self) -> bool:
        """Whether squares are part of it: under l2, a penalty beside it, and Mahalanobis."""
        return self.whitening is not None or (self.norms is not None and bool(self.norms.l2))

    def below(self, value: Fraction, epsilon: Fraction) -> Fraction:
        """``(1 - ε) d`` as ``program`` gives it, of l2 its square; -1 where d is 0.

        The one meaning of ε, which is relative: a proof that nothing lies nearer than this closes
        the gap of a point with ``value``.  Nothing is nearer than 0.  Of ``sparse``, ε is of the l1
        part alone: that nothing changes fewer features is proved, whatever ε is.
        """
        if self.is_absolute:
            return value - epsilon
        if value <= 0:
            return Fraction(-1)
        if self.per_change:
            return value - epsilon * (value % self.per_change or self.per_change)
        share = 1 - epsilon
        return value * (share * share if self.is_squared else share)

    def is_enough(self, lower: Fraction, value: Fraction, epsilon: Fraction) -> bool:
        """Whether a search may end: its gap is closed, or its point nearer than ``FINEST``.

        Where a target's end is open, points come ever nearer, and no gap is ever closed.
        """
        finest = FINEST * FINEST if self.is_squared else FINEST
        return lower >= self.below(value, epsilon) or (value <= finest and not self.is_absolute)

    def root(self, value: Fraction, side: int) -> Fraction:
        """The distance for a value of ``program``: of l2 a double below (-1) or above (1) it."""
        if not self.is_squared:
            return value * self.scale
        return Fraction(root_below(value) if side < 0 else root_above(value))

    def shown(self, value: Fraction) -> str:
        """The distance for a value of ``program`` as short text."""
        return f"{float(self.root(value, 1)):.6g}"


def root_below(value: Fraction) -> float:
    """The largest double whose square is at most ``value``."""
    root = sqrt(floor_float(value))
    while Fraction(root) ** 2 > value:
        root = nextafter(root, 0)
    while Fraction(more := nextafter(root, inf)) ** 2 <= value:
        root = more
    return root


def root_above(value: Fraction) -> float:
    """The smallest double whose square is at least ``value``."""
    root = root_below(value)
    return root if Fraction(root) ** 2 == value else nextafter(root, inf)


DistanceLike: TypeAlias = str | Path | Mapping[str, object] | Mahalanobis | Distance


def resolve_distance(spec: DistanceLike, space: FeatureSpace) -> Distance:
    """Return the distance that ``spec`` means over the features of ``space``.

    Args:
        spec: ``"l0"``, ``"l1"``, ``"l2"`` or ``"linf"``; ``"sparse"``, (n + l1) / (J + 1), where n
            features change: fewest changes first, and l1 among those; a convex combination such as
            ``{"l0": 0.3, "l1": 0.7}`` (floats are the decimals they print as); a
            :class:`Mahalanobis`; the path of a ``.cfl`` file; or a program's text.  A program may
            declare ``delta: Real[J]`` and ``weight: Real[J]``, and read ``x.<feature>``,
            ``factual.<feature>`` and ``J``.

    Raises:
        InvalidInputError: an unknown name, coefficients that are negative or do not sum to 1, an
            unreadable file, weights that are all 0, or a distance that is negative somewhere.
        DataTypeError: ``spec`` or a coefficient is of the wrong type.
        LanguageError: the program is not one, with line and column.
    """
    if isinstance(spec, Distance):
        return spec
    if isinstance(spec, Mahalanobis):
        return _whitened(spec, space)
    if isinstance(spec, Mapping) and dict(spec) != {EUCLIDEAN: 1}:
        return combination(_coefficients(spec), space)
    if isinstance(spec, Mapping) or (isinstance(spec, str) and spec == EUCLIDEAN):
        norms = Norms(Fraction(0), Fraction(0), Fraction(0), Fraction(1))
        return combination(norms, space)
    if isinstance(spec, Path):
        return _from_file(spec, space)
    if not isinstance(spec, str):
        raise DataTypeError(
            f"a distance is a name, a mapping of coefficients, a path or a program, not "
            f"{type(spec).__name__}"
        )
    if spec.strip() == SPARSE:
        return _sparse(space)
    if spec in NORMS:
        return combination(_coefficients({spec: 1}), space)
    if spec.strip().endswith(".cfl") and "\n" not in spec:
        return _from_file(path_of(spec.strip(), "a distance"), space)
    written = coefficients_in(spec)
    if written is not None:
        return combination(_coefficients(written), space)
    return _from_text(spec, "distance", space)


def _sparse(space: FeatureSpace) -> Distance:
    """``(n + l1) / (J + 1)``, n features changed: since l1 is at most n / J, fewest come first."""
    if len({feature.weight for feature in space}) != 1:
        raise InvalidInputError(
            "the distance 'sparse' counts changed features, and their weights differ; mix norms "
            "instead: {'l0': 0.9, 'l1': 0.1}"
        )
    unit = Fraction(1, len(space) + 1)
    mixed = combination(Norms(len(space) * unit, unit, Fraction(0)), space)
    return replace(mixed, name=SPARSE, per_change=unit)


def penalised(distance: Distance, penalty: Fraction, space: FeatureSpace) -> Distance:
    """The distance d with a penalty α on each of the n features that change.

    ``(d + α n) / (1 + α J)``, which is a mix of norms; of l2 its square is taken: ``d²``.  (A
    feature's weight over the mean weight counts for n as it does for l0.)

    Raises:
        UnsupportedError: d is not made of norms.
    """
    if distance.norms is None:
        raise UnsupportedError(
            f"a penalty on changes beside the distance '{distance.name}'",
            remedy="use a mix of norms, or max_changes",
        )
    whole = 1 + penalty * len(space)
    l0, *others = (coefficient / whole for coefficient in distance.norms)
    return combination(Norms(l0 + penalty * len(space) / whole, *others), space)


# -- the norms -----------------------------------------------------------------------------------


def _coefficients(spec: Mapping[str, object]) -> Norms:
    values = dict.fromkeys(NORMS, Fraction(0))
    for name, value in spec.items():
        if name == EUCLIDEAN:
            raise InvalidInputError(
                "l2 is a root and cannot be mixed: use it alone, or add up squares of delta in a "
                "program of your own"
            )
        if name not in values:
            alias = ALIASES.get(str(name).lower())
            near = f" (nearest: {alias!r})" if alias in NORMS else suggestion(name, NORMS)
            raise InvalidInputError(f"unknown distance {name!r}{near}")
        values[name] = as_written(value, f"the coefficient of {name}")
        if values[name] < 0:
            shown = decimal_text(values[name])
            raise InvalidInputError(f"the coefficient of {name} is {shown}; it must be at least 0")
    total = sum(values.values(), Fraction(0))
    if total != 1:
        raise InvalidInputError(
            f"the coefficients of a distance must sum to exactly 1, not {decimal_text(total)}; "
            "a third is written '1/3'"
        )
    return Norms(values["l0"], values["l1"], values["linf"])


@lru_cache(maxsize=64)
def combination(norms: Norms, space: FeatureSpace) -> Distance:
    """The mix of norms over a space, with its weights.

    Raises:
        InvalidInputError: every weight is 0.
    """
    if not any(feature.weight for feature in space):
        raise InvalidInputError("every feature has weight 0, so nothing has a distance")
    known = (*NORMS, EUCLIDEAN if norms.l2 == 1 else f"{EUCLIDEAN}²")
    terms = [(factor, name) for factor, name in zip(norms, known, strict=True) if factor]
    if len(terms) == 1:
        name = file = terms[0][1]
    else:
        name = " + ".join(f"{decimal_text(factor)}*{each}" for factor, each in terms)
        file = "squares" if norms.l2 else "mix"
    definition = OfNorms(norms, space, name, file)
    return Distance(name, definition, norms, definition.text)


@lru_cache(maxsize=16)
def _whitened(spec: Mahalanobis, space: FeatureSpace) -> Distance:
    whitening = spec.whitening(space)
    program = whitened_program(whitening, space)
    return Distance(MAHALANOBIS, program, None, str(program), whitening=whitening)


# -- the user's ----------------------------------------------------------------------------------


def _from_file(path: Path, space: FeatureSpace) -> Distance:
    text = read_text(path, "the distance", "name its file")
    return _from_text(text, str(path), space)


def _from_text(text: str, source: str, space: FeatureSpace) -> Distance:
    tree = parse_program(text, source)
    known = ("delta", "weight")
    for parameter in tree.parameters:
        if parameter.name not in known:
            place = f"{source}:{parameter.line}:{parameter.column}"
            raise InvalidInputError(
                f"{place}: '{parameter.name}' is no parameter of a distance"
                f"{suggestion(parameter.name, known)}; features are read as x.age, factual.age"
            )
    program = _lower(tree, space, tree.name or "distance", {})
    box = _box(program, space)
    _refuse_divisors(program, source)
    try:
        low, high = _bounds(program, box)
        largest = float(high)
    except OverflowError:
        largest = inf
    divides = any(isinstance(let.op, ops.Div) for let in program.lets())  # whose bounds are loose
    if largest == inf and (high != inf or not divides):
        raise InvalidInputError(f"{source}: this distance has numbers beyond doubles")
    if high < 0:
        raise InvalidInputError(f"{source}: this distance is negative everywhere")
    for point in _corners(program):
        value = evaluate(program, point)[RESULT]
        if value < 0:
            where = ", ".join(f"{name} = {point[name]}" for name in list(point)[:4])
            raise InvalidInputError(
                f"{source}: a distance is at least 0, and this one is {float(value):.6g} at {where}"
            )
    if high == 0:
        raise InvalidInputError(
            f"{source}: this distance is 0 everywhere, so no row is nearer than another; add what "
            "a change counts, such as delta[1]"
        )
    return Distance(
        program.name, program, None, text, low if isinstance(low, float) else floor_float(low)
    )


def _bounds(program: Program, box: Mapping[str, Bounds]) -> tuple[Fraction | float, ...]:
    """Bounds of the result on the whole box, closer ones where doubles do not show it positive."""
    found = program.output(RESULT)
    if isinstance(found, Literal):
        return Fraction(found.value), Fraction(found.value)
    doubles = enclose(program, box)[found]
    assert isinstance(doubles, Interval)
    low, high = float(doubles.lower), float(doubles.upper)
    return (low, high) if low >= 0 < high else enclosed(program, box)


def _refuse_divisors(program: Program, source: str) -> None:
    """Refuse what divides by a number that differs from row to row: it may be 0, as delta is."""
    varies = {name for name, _ in program.inputs if not name.startswith("factual.")}
    for let in program.lets():
        if varies.intersection(o for o in let.op.operands() if not isinstance(o, Literal)):
            varies.add(let.name)
            if isinstance(let.op, ops.Div) and let.op.y in varies:
                raise InvalidInputError(
                    f"{let.origin or source}: this distance divides by a number that is not the "
                    "same for all rows, and may be 0; divide by a constant or by a value of the "
                    "instance (factual.age)"
                )


def _lower(
    tree: ast.Program, space: FeatureSpace, name: str, fixed: Mapping[str, Fraction]
) -> Program:
    """Return the program over delta and the features it reads, weights and ``fixed`` filled in."""
    inputs: dict[str, Sort] = {}
    weights: dict[str, Fraction] = {}
    for position, feature in enumerate(space, start=1):
        inputs[delta_name(position)] = REAL
        weights[f"weight.{position}"] = feature.weight
    for record in ("x", "factual"):
        inputs |= {f"{record}.{feature.name}": sort_of(feature) for feature in space}
    lowered = lower_program(
        tree, name=name, inputs=inputs, constants={"J": len(space)}, fixed={**weights, **fixed}
    )
    used = set(_operands(lowered))
    kept = tuple(
        (each, sort)
        for each, sort in lowered.inputs
        if each in used or not each.startswith(("x.", "factual."))
    )
    body, result = _as_real(lowered, tree)
    return Program(name, kept, body, ((RESULT, result),))


def _as_real(program: Program, tree: ast.Program) -> tuple[tuple[Let | If, ...], Operand]:
    names = list(program.output_sorts)
    sort = program.output_sorts[names[0]]
    if names != [RESULT] or not sort.is_numeric:
        found = f"a {sort}" if names == [RESULT] else f"the outputs {', '.join(names)}"
        raise InvalidInputError(
            f"{tree.source}: a distance returns one number without a name, not {found}"
        )
    result = program.output(RESULT)
    if sort == REAL:
        return program.body, result
    if isinstance(result, Literal):
        return program.body, Literal(Fraction(result.value))
    return (*program.body, Let("%real", ops.ToReal(result))), "%real"


def _operands(program: Program) -> Iterator[Operand]:
    for tag, statement in walk(program.body):
        if isinstance(statement, Let):
            yield from statement.op.operands()
        elif tag == "if":
            yield statement.condition
    yield from (operand for _, operand in program.outputs)


def _box(program: Program, space: FeatureSpace) -> dict[str, Bounds]:
    """Return the range of every input."""
    box: dict[str, Bounds] = {}
    for name, sort in program.inputs:
        if name.startswith("delta."):
            box[name] = Interval.of(0.0, 1.0)
        elif sort.kind == "category":
            box[name] = Choice.among(sort.labels, sort.labels)
        else:
            box[name] = Interval.exact(*space[name.partition(".")[2]].extent)
    return box


def _corners(program: Program) -> Iterator[dict[str, int]]:
    """Yield a few points of the unit cube: nothing, everything and each feature alone changed.

    None if the program also reads features, or divides by what is 0 there.
    """
    names = [name for name, _ in program.inputs]
    if not all(name.startswith("delta.") for name in names):
        return
    points = [dict.fromkeys(names, 0), dict.fromkeys(names, 1)]
    points += [{each: int(each == name) for each in names} for name in names]
    for point in points:
        try:
            evaluate(program, point)
        except VerificationError:
            continue
        yield point
