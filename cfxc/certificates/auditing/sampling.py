"""Run a model file beside a certificate's program: on the factual, the witness, and other rows.

The checker calls this with ``--model``.  It needs pandas and what runs the model (:mod:`.models`).
"""

from __future__ import annotations

import math
import random
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from ..checker import Clock, Undecided, rounded
from .inputs import WrongInput
from .models import NotRun, Predict, computes_singles, opened

if TYPE_CHECKING:
    import pandas as pd

ROWS, MOST = 400, 20_000  # drawn, and read from a file
NEAR = {53: Fraction(1, 10**5), 24: Fraction(1, 10**4)}
"""Of the median lead of the scores, by the bits of the model's floats: less may be rounding."""
TOP = {53: 2**1023, 24: 2**127}
"""What all values stay below, by the same."""
LARGEST = Fraction(1, 10)  # of that lead, what rounding may do to a model that was compiled
FEW = 1024  # times less than that is a tie, and is not counted
EXCUSED = 0.02  # the share of rows, at most, of which labels may differ so near, or beyond floats
LEFT = 0.5  # and of those that the model alone may put beyond floats
LOST = object()
"""What a model says of a row that it does not take, or that is not finite."""
UNKNOWN = (
    "holds what the certificate lacks: a label, a step that fine, or an empty cell, where the "
    "space has none or the person asked about gave a number"
)
EMPTY: dict[str, Callable[[], Any]] = {
    "nan": lambda: math.nan,
    "none": lambda: None,
    "na": lambda: import_module("pandas").NA,
}
"""How a column of objects writes a missing cell, by what the space calls it."""


class Differs(Exception):
    """The model and the program say different things; says where."""


class Sampled(NamedTuple):
    """On how many rows a model and a program agree, and which these are."""

    rows: int
    text: str


def run(
    shown: Any, space: str, model: Path, seed: int, data: Path | None, trust_pickle: bool
) -> tuple[str, str, Sampled | None]:
    """How a model differs from a program, why it was not run, and on what it was.

    Args:
        shown: What the checker shows of the certificate.
        space: The certificate's feature space, by which rows are made.
        model: The file; of a pickle, ``trust_pickle`` says that the code in it may run.
        seed: Of the rows that are drawn.
        data: A CSV file of further rows.

    Raises:
        Undecided: running the program took longer than the checker's clock has for as many rows.
        WrongInput: the file of rows cannot be used.
    """
    try:
        single = computes_singles(model)
        if single and shown.semantics == "float":
            return "it computes in single floats, and the slack allows for doubles", "", None
        predict = opened(model, shown.question, trust_pickle)
        return "", "", compare(shown, space, predict, seed, data, single=single)
    except (Undecided, WrongInput):
        raise
    except Differs as error:
        return str(error), "", None
    except NotRun as error:
        return "", str(error), None
    except KeyError as error:
        return "", f"the model asks for columns that the certificate has not: {error}", None
    except Exception as error:  # whatever a library raises of files and tables it does not take
        reason = str(error).splitlines() or [""]
        return "", f"{type(error).__name__}: {reason[0][:200]}", None


def compare(
    shown: Any, space: str, predict: Predict, seed: int = 0, data: Path | None = None, *,
    single: bool = False, rounding: Fraction = Fraction(0),
) -> Sampled:  # fmt: skip
    """Run both on rows; says on how many, and how many labels differ within rounding.

    ``single``: whether the model computes in single floats, as ``float32`` semantics say it does.
    ``rounding``: what the model's own arithmetic may do to scores, as somebody knows who has
    compiled it: so much more may be missed, up to a share of ``LARGEST``.
    Rows whose values grow beyond floats are left out, and counted, where the model says nothing
    finite; where it differs, there may only be few of them.  Factual and witness never are.

    Raises:
        Differs: they say different things.
        Undecided: the program takes longer than the checker's clock has for as many rows.
        WrongInput: the rows of the file cannot be read.
    """
    question, rng = shown.question, random.Random(seed)
    bits = 24 if single or shown.semantics == "float32" else 53
    _wind(question.clock, ROWS)
    drawn = list(_points(question, shown.witness, rng))
    ran, read, left = _beside(question, space, drawn, predict, TOP[bits], KNOWN), 0, ""
    if data is not None:
        more, left = _given(question, data, space)
        read = len(more)
        _wind(question.clock, read)
        beside = _beside(question, space, more, predict, TOP[bits])
        ran += [each._replace(number=len(drawn) + each.number) for each in beside]
    plain = [each for each in ran if not each.beyond]
    found = [each for each in plain if each.outcome is not LOST]
    if len(found) < (1 - LEFT) * len(plain):
        lost = len(plain) - len(found)
        raise Differs(f"the model says nothing finite of {lost} of {len(plain)} rows: too many")
    near, excused = _agreed(shown, found, NEAR[bits], rounding)
    grown = [each for each in ran if each.beyond and each.outcome is not LOST]
    alike = [each for each in grown if _is_near(question.program, each, near, NEAR[bits])]
    if len(grown) - len(alike) > EXCUSED * len(ran):
        other = f"{len(grown) - len(alike)} of {len(ran)} rows"
        raise Differs(f"of {other}, with values beyond floats, it does not say the same: too many")
    where = f"{len(drawn)} rows drawn with seed {seed}"
    where += f" and {read} rows of {data.name!a}" if data is not None else ""
    where += left
    away = len(ran) - len(found) - len(alike)
    where += f"; {away} are left out, beyond floats" if away else ""
    text = f"{where}; {excused} differ within {float(near):.3g} of a tie"
    return Sampled(len(found) + len(alike), text)


KNOWN = 2  # rows that are run whatever they are: the factual, and the witness


class Ran(NamedTuple):
    """What both say of a row.

    Attributes:
        number: Of the row.
        scores: What the program says; ``None`` if it cannot be told.
        beyond: Whether that is, or something on the way is, beyond the model's floats.
        outcome: What the model says.
    """

    number: int
    scores: list[Fraction] | None
    beyond: bool
    outcome: Any


def _beside(
    question: Any, space: str, rows: Sequence[Any], predict: Predict, top: int, known: int = 0
) -> list[Ran]:
    """What both say of rows; of the first ``known`` both say something finite."""
    scores = [
        _scores(question, row, None if number < known else top) for number, row in enumerate(rows)
    ]
    outcomes = _outcomes(predict, table(question, space, rows))
    _wind(question.clock, len(rows))
    numbers, found = question.program.labels is None, list[Ran]()
    for number, (own, outcome) in enumerate(zip(scores, outcomes, strict=True)):
        is_lost = outcome is LOST or (numbers and not math.isfinite(float(outcome)))
        if number < known and is_lost:
            said = "nothing" if outcome is LOST else repr(outcome)
            raise Differs(f"of {_name(number)} the model says {said}, and the program does not")
        found.append(Ran(number, *own, LOST if is_lost else outcome))
    return found


def _scores(question: Any, row: Any, top: int | None) -> tuple[list[Fraction] | None, bool]:
    """What the program says of a row, and whether anything on the way is not below ``top``."""
    program = question.program
    made = [{(kind, k): Fraction(1)} for k, kind in enumerate(program.kinds)] if top else []
    try:
        values: list[Fraction] = program.values([*program.outputs, *made], row)
    except Undecided:
        if top is None or time.process_time() > question.clock.end:
            raise
        return None, True
    beyond = top is not None and any(abs(value) >= top for value in values)
    return values[: len(program.outputs)], beyond


def _outcomes(predict: Predict, frame: pd.DataFrame) -> list[Any]:
    """What a model says of rows; each alone where it does not take all, as libraries refuse inf."""
    try:
        return list(predict(frame))
    except (ArithmeticError, ValueError):
        found = list[Any]()
        for number in range(len(frame)):
            try:
                found.extend(predict(frame.iloc[[number]]))
            except (ArithmeticError, ValueError):
                found.append(LOST)
        if all(one is LOST for one in found):
            raise
        return found


def _agreed(
    shown: Any, found: Sequence[Ran], share: Fraction, rounding: Fraction
) -> tuple[Fraction, int]:
    """What counts as near, and how many rows differ within that.

    Numbers may differ by a share of the median's size or of their own, whichever is more.
    """
    question, size = shown.question, median(_lead(each.scores or []) for each in found)
    near, excused = share * size, 0
    near, fine = max(near, min(rounding, LARGEST * size)), near
    numbers = question.program.labels is None
    for each in found:
        number, outcome = each.number, each.outcome
        if not _is_near(question.program, each, near, share):
            raise Differs(
                f"of {_name(number)} the model says {outcome!r}, and the program does not"
            )
        exact = (near if numbers else fine) / FEW
        excused += not _is_near(question.program, each, exact, share / FEW)
        witness = number == 1 and shown.witness is not None
        if witness and not _reaches(question, outcome):
            raise Differs(f"of the witness the model says {outcome!r}, which is not the target")
    if not numbers and excused > EXCUSED * len(found):
        raise Differs(f"{excused} of {len(found)} labels differ within rounding: too many")
    return near, excused


def _name(number: int) -> str:
    return ("the factual", "the witness")[number] if number < KNOWN else f"row {number}"


def _wind(clock: Clock, rows: int) -> None:
    """Give the program its time again, for each 400 rows: libraries and other steps took some."""
    clock.end = time.process_time() + clock.seconds * max(1, rows / ROWS)


def _reaches(question: Any, outcome: Any) -> bool:
    """Whether an outcome of the model is the target, as it says it: a label, or a number."""
    if question.program.labels is not None:
        plain = outcome.item() if hasattr(outcome, "item") else outcome
        return _is_same(question.program.labels[question.place][1], plain)
    value = Fraction(float(outcome))
    return all(factors[0] * value + constant >= 0 for factors, constant, _ in question.stated)


def _lead(scores: list[Fraction]) -> Fraction:
    """By how much the largest score leads, or how large the only one is."""
    ordered = sorted(scores, reverse=True)
    return ordered[0] - ordered[1] if len(ordered) > 1 else abs(ordered[0])


def _is_near(program: Any, each: Ran, near: Fraction, share: Fraction) -> bool:
    """Whether a program misses what a model says of a row by what counts as near, or by less."""
    if each.scores is None:
        return False
    miss = _miss(program, each.scores, each.outcome)
    own = share * abs(each.scores[0]) if program.labels is None else 0
    return miss is not None and miss <= max(near, own)


def _miss(program: Any, scores: list[Fraction], outcome: Any) -> Fraction | None:
    """By how much the program misses an outcome; ``None`` if it does not know it."""
    if program.labels is None:
        return abs(scores[0] - Fraction(float(outcome)))
    plain = outcome.item() if hasattr(outcome, "item") else outcome
    same = [i for i, (_, label) in enumerate(program.labels) if _is_same(label, plain)]
    if not same:
        return None
    return Fraction(0) if scores.index(max(scores)) == same[0] else max(scores) - scores[same[0]]


def _is_same(label: Any, outcome: Any) -> bool:
    """Labels that libraries write differently: 1, 1.0 and true are one, "1" is another."""
    return isinstance(label, str) == isinstance(outcome, str) and label == outcome


# -- rows -----------------------------------------------------------------------------------------


def _points(question: Any, witness: Any, rng: random.Random) -> Iterator[list[Any]]:
    """The factual, the witness, rows like these, and rows from all over; at cuts where they may."""
    own = [feature.own for feature in question.features]
    cuts: list[list[Any]] = [[] for _ in own]
    for node in (node for _, nodes in question.program.trees for node in nodes):
        if isinstance(node, tuple) and not isinstance(node[0], tuple):
            cuts[node[0]].append(node[1])
    known = [own, own if witness is None else list(witness)]
    yield from known
    for number in range(ROWS):
        base, count = known[number % 2], 1 + number % 4 if number % 3 else len(own)
        point = list(base)
        for j in rng.sample(range(len(own)), min(count, len(own))):
            point[j] = _any_of(question.features[j], cuts[j], rng)
        yield point


def _any_of(feature: Any, cuts: list[Any], rng: random.Random) -> Any:
    """A value of a feature's range, fixed or not; of a number, half of them right beside a cut."""
    if feature.gap:
        return feature.own
    if feature.labels:
        return rng.randrange(len(feature.labels))
    if feature.absent is not None and rng.random() < 1 / 4:
        return feature.absent
    value = feature.low + (feature.high - feature.low) * Fraction(rng.random())
    if cuts and rng.random() < 1 / 2:
        value = rng.choice(cuts)
    side = rng.choice((1, -1))
    if side > 0 and value in cuts:
        value = Fraction(math.nextafter(float(value), math.inf))
    near = feature.on_grid(value, side)
    return near if feature.low <= near <= feature.high else feature.own


def table(question: Any, space: str, rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """Points of the certificate's features as a table with the columns of its feature space.

    Raises:
        Differs: the space's types change values.
    """
    import pandas as pd

    document = tomllib.loads(space)
    made: dict[str, Any] = {}
    for j, (given, feature) in enumerate(zip(document["feature"], question.features, strict=True)):
        values, encoding = [row[j] for row in rows], given.get("encoding", "plain")
        for i, (name, dtype) in enumerate(_columns(given)):
            cells: list[Any] = [int(value > i) for value in values]
            if encoding == "one_hot":
                cells = [int(value == i) for value in values]
            elif encoding == "plain" and feature.labels:
                labels = [_cell(label) for _, label in feature.labels]
                cells = [labels[value] for value in values]
                if dtype == "category":
                    known = [label for label in labels if label is not None]
                    dtype = pd.CategoricalDtype(known, ordered=feature.kind == "ordinal")
            elif encoding == "plain":
                cells = [int(v) if v.denominator == 1 else float(v) for v in values]
                gone = (feature.own if feature.gap else feature.absent,)
                cells = [None if v in gone else c for v, c in zip(values, cells, strict=True)]
            empty = EMPTY[given.get("missing_as", "nan")]() if dtype == "object" else None
            series = pd.Series([empty if c is None else c for c in cells], dtype=object)
            if dtype == "bool" and None in cells:
                raise Differs(f"the column {name!a} of truth values holds no missing one")
            made[name] = series.astype(dtype)
            if not all(c is None or _is_same(c, x) for c, x in zip(cells, made[name], strict=True)):
                raise Differs(f"as {dtype}, the column {name!a} has other values")
    return pd.DataFrame({name: made[name] for name in document.get("columns", made)})


def _columns(given: dict[str, Any]) -> list[tuple[str, Any]]:
    """Columns of a feature and their types."""
    names = given.get("columns", [given["name"]])
    dtypes = given.get("dtype", [])
    dtypes = dtypes if isinstance(dtypes, list) else [dtypes]
    if not dtypes:
        raise Differs(f"the space states no dtype of {given['name']!a}")
    return [(name, dtypes[i % len(dtypes)]) for i, name in enumerate(names)]


def _cell(label: Any) -> Any:
    return float(label) if isinstance(label, Fraction) else label


def _given(question: Any, data: Path, space: str) -> tuple[list[list[Any]], str]:
    """The rows of a CSV file whose values the program knows, and what is said of the others."""
    import pandas as pd

    document = tomllib.loads(space)
    names = [name for given in document["feature"] for name, _ in _columns(given)]
    try:
        frame = pd.read_csv(data, nrows=MOST)
    except (OSError, ValueError) as error:
        raise WrongInput(f"{data}: no CSV file of rows: {str(error)[:100]}") from None
    if lacking := [name for name in names if name not in frame]:
        raise WrongInput(f"{data.name}: no column {lacking[0]!a}")
    _wind(question.clock, len(frame))
    points, odd = list[list[Any]](), list[str]()
    for number, cells in enumerate(frame[names].itertuples(index=False, name=None)):
        here, point = iter(cells), []
        for given, feature in zip(document["feature"], question.features, strict=True):
            own = [next(here) for _ in _columns(given)]
            point.append(_value(feature, own, given.get("encoding", "plain")))
        if None in point:
            odd.append(f"{question.features[point.index(None)].name!a} in row {number}")
        else:
            points.append(point)
    if not points:
        why = f": {odd[0]} {UNKNOWN}" if odd else ", as the file has none"
        raise WrongInput(f"{data.name}: no row that the program knows all values of{why}")
    return points, f"; {len(odd)} others are left out, as {odd[0]} {UNKNOWN}" if odd else ""


def _value(feature: Any, cells: list[Any], encoding: str) -> Any:
    """The value of a feature in its columns; ``None`` if it is none of those known."""
    if encoding == "one_hot":
        return cells.index(1) if cells.count(1) == 1 else None
    if encoding == "thermometer":
        return int(sum(cells))
    (cell,) = cells
    cell = cell.item() if hasattr(cell, "item") else cell
    missing = cell is None or cell != cell
    if feature.labels:
        known = [i for i, (_, x) in enumerate(feature.labels) if _is_same(x, cell)]
        known = [i for i, (_, x) in enumerate(feature.labels) if x is None] if missing else known
        return known[0] if known else None
    if feature.gap:
        return feature.own if missing else None
    if missing and feature.absent is not None:
        return feature.absent
    plain = not missing and not isinstance(cell, str) and math.isfinite(cell)
    held = Fraction(cell) if plain else None
    if held is not None and feature.width == 4 and abs(held) < TOP[24]:
        held = rounded(held, 4)
    return held if held is not None and feature.on_grid(held, 1) == held else None
