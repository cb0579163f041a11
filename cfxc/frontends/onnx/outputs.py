"""What the outputs of a graph mean: a label with its scores and probabilities, or numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import Any
from typing import Literal as OneOf

import numpy as np

from ...arrays import Array
from ...errors import InvalidInputError
from ...ir import Label, LabelTuple, Literal, Operand, ops
from ..predictor import Task, Wanted
from .context import Context
from .rules.arithmetic import HALF, choice_of
from .rules.labels import decide
from .values import Choice, Columns, Monotone, Refusal, Rows, Value, size_of

Reading = OneOf["label", "bit", "largest", "above", "second", "value"]
LABEL_NAMES = ("output_label", "label", "predicted_label", "class")
"""Of several outputs that hold labels, these names go first."""


@dataclass(frozen=True)
class Answer:
    """How the graph answers.

    Attributes:
        task: classifier or regressor.
        classes: The labels of a classifier, in order.
        outputs: The program's outputs.
        source: The graph's output that the prediction is read from.
        reading: How: the labels themselves, booleans as 0 and 1, the position of the largest
            number, whether the number (or the second of two) is above ``bound``, or the numbers
            themselves.
        bound: 1/2 for probabilities, 0 for other numbers, or the cut that was given.
        chances: Whether the source holds the probabilities, of all classes or of the second.
        index: Which of the classes it is, in the program, where a number is compared with a bound.
    """

    task: Task
    classes: tuple[Label, ...] | None
    outputs: Mapping[str, Operand]
    source: str
    reading: Reading
    bound: Fraction = Fraction(0)
    chances: bool = False
    index: Operand | None = None

    def read(self, output: Any) -> Array:
        """The predictions for n rows from what the source holds for them."""
        numbers = np.asarray(output)
        if self.task == "regressor":
            values = numbers.astype(np.float64)
            return values.reshape(len(values)) if values.size == len(values) else values
        if self.reading == "label":
            labels: Array = numbers.reshape(-1)
            return labels
        assert self.classes is not None
        place: Array
        if self.reading == "largest":
            place = np.asarray(numbers.argmax(axis=1))
        else:
            one = numbers[:, 1] if self.reading == "second" else numbers.reshape(-1)
            place = (one.astype(np.float64) > float(self.bound)).astype(np.int64)
        if self.classes == tuple(range(len(self.classes))):
            return place
        labels = np.array(self.classes, dtype=object)
        return np.asarray(labels[place])

    def shares(self, output: Any) -> Array:
        """The probabilities (n, k) that the source holds."""
        numbers = np.asarray(output)
        if numbers.ndim == 2 and numbers.shape[1] > 1:
            return numbers
        one = numbers.reshape(-1)
        return np.column_stack([1 - one, one])


def answer_of(context: Context, outputs: Mapping[str, Value | None], wanted: Wanted) -> Answer:
    """The meaning of the graph's ``outputs``, by name.

    Raises:
        Refusal: no output depends on the input, or several could be the prediction.
        InvalidInputError: what is wanted contradicts the outputs.
    """
    choices = {name: v for name, v in outputs.items() if isinstance(v, Choice)}
    numbers = {
        name: context.numeric(value)
        for name, value in outputs.items()
        if isinstance(value, Rows) or (isinstance(value, Columns) and value.dtype != "string")
    }
    task, own = wanted.task, list(outputs)
    if wanted.output is not None:
        own = [_named(context, tuple(outputs), wanted.output)]
    if wanted.cut is not None:
        name = own[0] if len(own) == 1 else _the_chance(context, numbers)
        return _cut(context, numbers, choices, name, wanted)
    choices = {name: v for name, v in choices.items() if name in own}
    bits = {name: v for name, v in numbers.items() if v.dtype == "bool" and name in own}
    numbers = {name: v for name, v in numbers.items() if v.dtype != "bool"}
    if choices:
        name = _the_label(choices)
        return _classifier(context, choices[name], name, "label", numbers, task)
    if bits:
        name, rows = _only(bits)
        label = choice_of(context, rows, (0, 1), "int")
        return _classifier(context, label, name, "bit", numbers, task)
    numbers = {name: v for name, v in numbers.items() if name in own}
    if not numbers:
        raise Refusal("no output depends on the inputs")
    name, rows = _only(numbers)
    if task == "regressor" or (task is None and not rows.chance):
        return _regressor(context, rows, name)
    return _from_numbers(context, rows, name)


def _named(context: Context, names: tuple[str, ...], output: str | int) -> str:
    """The output that is meant by name or position."""
    if output in names:
        return str(output)
    if isinstance(output, str) and output.isdecimal():
        output = int(output)
    if not isinstance(output, bool) and isinstance(output, int) and 0 <= output < len(names):
        return names[output]
    raise InvalidInputError(
        f"{context.builder.name}: no output {output!r}; output= is one of {list(names)[:7]}, or "
        "its position from 0"
    )


def _the_chance(context: Context, numbers: Mapping[str, Rows]) -> str:
    """The only output that a cut can be of: a probability, or the only one of numbers."""
    chances = [name for name, rows in numbers.items() if rows.chance]
    found = chances if len(chances) == 1 else list(numbers)
    if len(found) != 1:
        raise InvalidInputError(
            f"{context.builder.name}: cut= needs output=, the output that is compared with it: one "
            f"of {sorted(numbers)[:7]}"
        )
    return found[0]


def _cut(
    context: Context, numbers: Mapping[str, Rows], choices: Mapping[str, Choice], name: str,
    wanted: Wanted,
) -> Answer:  # fmt: skip
    """The second of two classes iff a number, or the second of two probabilities, exceeds it."""
    rows, cut, where = numbers.get(name), wanted.cut, f"{context.builder.name}: output {name!r}"
    if wanted.task == "regressor":
        raise InvalidInputError(f"{where}: cut= makes a classifier; leave task='regressor' out")
    if isinstance(cut, bool) or not isinstance(cut, int | float) or not isfinite(cut):
        raise InvalidInputError(f"cut={cut!r} is no number; a probability's cut is in (0, 1)")
    if rows is None or rows.dtype == "bool":
        raise InvalidInputError(f"{where} holds no numbers to compare with cut={cut}")
    count = size_of(rows.dims)
    if count > 2 or (count == 2 and not rows.chance):
        raise InvalidInputError(
            f"{where} holds {count} {'probabilities' if rows.chance else 'numbers'}; cut= is for a "
            "single number, or the probabilities of two classes"
        )
    if rows.chance and not 0 <= cut < 1:
        raise InvalidInputError(f"{where} holds a probability; cut={cut} is not in [0, 1)")
    labels = [c.labels for c in choices.values() if len(c.labels) == 2 and size_of(c.dims) == 1]
    one = context.numeric(context.take(rows, np.array([count - 1]), (None,)))
    reading: Reading = "above" if count == 1 else "second"
    made = _above(context, one, rows, name, reading, Fraction(cut))
    return made if not labels else _relabelled(context, made, labels[0])


def _relabelled(context: Context, answer: Answer, labels: tuple[Label, ...]) -> Answer:
    """The same with the classes that the graph itself names."""
    index = answer.index
    assert index is not None
    label = context.let(ops.Category(index, LabelTuple(labels)))
    return replace(answer, classes=labels, outputs={**answer.outputs, "label": label})


def _the_label(choices: Mapping[str, Choice]) -> str:
    first = sorted(choices, key=lambda name: (name not in LABEL_NAMES, name))[0]
    same = {(str(choice.index), choice.labels) for choice in choices.values()}
    if first not in LABEL_NAMES and len(same) > 1:
        raise Refusal(f"several outputs hold labels: {sorted(choices)}")
    return first


def _only(found: Mapping[str, Rows]) -> tuple[str, Rows]:
    if len(found) > 1:
        raise Refusal(f"several outputs could be the prediction: {sorted(found)}")
    return next(iter(found.items()))


def _classifier(
    context: Context, choice: Choice, name: str, reading: Reading,
    numbers: Mapping[str, Rows], task: Task | None,
) -> Answer:  # fmt: skip
    if task == "regressor":
        raise InvalidInputError(
            f"{context.builder.name}: the model is a classifier (output {name!r} holds labels); "
            "leave task='regressor' out"
        )
    if size_of(choice.dims) != 1 or not all(map(_is_plain, choice.labels)):
        raise Refusal(f"output {name!r} holds more than one label")
    classes, index = _distinct(context, choice)
    label = context.let(ops.Category(index, LabelTuple(classes)))
    outputs: dict[str, Operand] = {"label": label}
    chance, raw = _scores(context, numbers, len(classes))
    score = raw if choice.score is None else choice.score
    if score is not None:
        outputs["score"] = score
    if chance is not None:
        outputs["probability"] = chance
    return Answer("classifier", classes, outputs, name, reading)


def _is_plain(label: Label) -> bool:
    return isinstance(label, str | int | float)


def _distinct(context: Context, choice: Choice) -> tuple[tuple[Label, ...], Operand]:
    """The different labels, and which of them is chosen; a table may repeat some."""
    classes = tuple({(type(label), label): label for label in choice.labels}.values())
    if len(classes) == len(choice.labels):
        return classes, choice.index
    index: Operand = Literal(classes.index(choice.labels[-1]))
    for position in reversed(range(len(choice.labels) - 1)):
        here = context.let(ops.Eq(choice.index, Literal(position)))
        place = Literal(classes.index(choice.labels[position]))
        index = context.let(ops.Select(here, place, index))
    return classes, index


def _scores(
    context: Context, numbers: Mapping[str, Rows], count: int
) -> tuple[Operand | None, Operand | None]:
    """Probabilities of all ``count`` classes, and other scores, among a classifier's outputs."""
    chances = [rows for rows in numbers.values() if rows.chance]
    whole = [rows.operand for rows in chances if size_of(rows.dims) == count]
    probability = whole[0] if whole else None
    if not whole and len(chances) == count and all(size_of(r.dims) == 1 for r in chances):
        probability = context.let(ops.Concat(tuple(rows.operand for rows in chances)))
    others = [r.operand for r in numbers.values() if not r.chance and len(r.dims) <= 2]
    return probability, others[0] if len(others) == 1 else None


def _regressor(context: Context, rows: Rows, name: str) -> Answer:
    if len(rows.dims) > 2 or rows.dims[0] is not None:
        raise Refusal(f"output {name!r} has sizes {list(rows.dims)}")
    value = rows.operand
    if isinstance(value, Literal):
        raise Refusal("no output depends on the inputs")
    return Answer("regressor", None, {"value": value}, name, "value")


def _from_numbers(context: Context, rows: Rows, name: str) -> Answer:
    """A classifier with classes 0 … K-1: K scores, or a single probability or logit."""
    if len(rows.dims) > 2 or rows.dims[0] is not None:
        raise Refusal(f"output {name!r} has sizes {list(rows.dims)}")
    if size_of(rows.dims) > 1:
        choice = decide(context, rows, (None,))
        made = _classifier(context, choice, name, "largest", {name: rows}, None)
        return replace(made, chances=rows.chance)
    return _above(context, rows, rows, name, "above", HALF if rows.chance else Fraction(0))


def _above(
    context: Context, one: Rows, rows: Rows, name: str, reading: Reading, bound: Fraction
) -> Answer:
    """A classifier with classes 0 and 1: 1 iff ``one``, of the output's ``rows``, is above.

    A sigmoid is above 1/2 where its argument is above 0; what keeps the sign, above 0 likewise.
    """
    note, compared, at = one.note, one, bound
    if isinstance(note, Monotone):
        same = {"sigmoid": HALF, "tanh": Fraction(0)}.get(note.kind)
        if same == bound:
            compared, at = note.of, Fraction(0)
    above = Rows(context.let(ops.Gt(compared.operand, Literal(at))), (None,), "bool")
    choice = choice_of(context, above, (0, 1), "int", None if at else compared.operand)
    numbers: dict[str, Rows] = {}
    if rows.chance:
        pair = rows.operand
        if size_of(rows.dims) == 1:
            other = context.let(ops.Sub(Literal(Fraction(1)), rows.operand))
            pair = context.let(ops.Concat((other, rows.operand)))
        numbers[name] = Rows(pair, (None, 2), rows.dtype, None, True)
    made = _classifier(context, choice, name, reading, numbers, None)
    return replace(made, bound=bound, chances=rows.chance, index=choice.index)
