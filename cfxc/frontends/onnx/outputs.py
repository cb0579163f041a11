"""What the outputs of a graph mean: a label with its scores and probabilities, or numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal as OneOf

from ...errors import InvalidInputError
from ...ir import Label, LabelTuple, Literal, Operand, ops
from ..predictor import Task
from .context import Context
from .rules.arithmetic import HALF, choice_of
from .rules.labels import decide
from .values import Choice, Columns, Monotone, Refusal, Rows, Value, size_of

Reading = OneOf["label", "bit", "largest", "half", "sign", "value"]
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
            number, whether a number is above 1/2 or above 0, or the numbers themselves.
    """

    task: Task
    classes: tuple[Label, ...] | None
    outputs: Mapping[str, Operand]
    source: str
    reading: Reading


def answer_of(context: Context, outputs: Mapping[str, Value | None], task: Task | None) -> Answer:
    """The meaning of the graph's ``outputs``, by name.

    Raises:
        Refusal: no output depends on the input, or several could be the prediction.
        InvalidInputError: a ``task`` that contradicts the outputs.
    """
    choices = {name: v for name, v in outputs.items() if isinstance(v, Choice)}
    numbers = {
        name: context.numeric(value)
        for name, value in outputs.items()
        if isinstance(value, Rows) or (isinstance(value, Columns) and value.dtype != "string")
    }
    bits = {name: rows for name, rows in numbers.items() if rows.dtype == "bool"}
    numbers = {name: rows for name, rows in numbers.items() if name not in bits}
    if choices:
        name = _the_label(choices)
        return _classifier(context, choices[name], name, "label", numbers, task)
    if bits:
        name, rows = _only(bits)
        label = choice_of(context, rows, (0, 1), "int")
        return _classifier(context, label, name, "bit", numbers, task)
    if not numbers:
        raise Refusal("no output depends on the inputs")
    name, rows = _only(numbers)
    if task == "regressor" or (task is None and not rows.chance):
        return _regressor(context, rows, name)
    return _from_numbers(context, rows, name)


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
        return _classifier(context, choice, name, "largest", {name: rows}, None)
    logit = rows.note.of if isinstance(rows.note, Monotone) else None
    reading: Reading = "half" if rows.chance else "sign"
    bound = HALF if rows.chance and logit is None else Fraction(0)
    z = rows if logit is None else logit
    above = Rows(context.let(ops.Gt(z.operand, Literal(bound))), (None,), "bool")
    choice = choice_of(context, above, (0, 1), "int", None if bound else z.operand)
    numbers: dict[str, Rows] = {}
    if rows.chance:
        other = context.let(ops.Sub(Literal(Fraction(1)), rows.operand))
        both = context.let(ops.Concat((other, rows.operand)))
        numbers[name] = Rows(both, (None, 2), rows.dtype, None, True)
    return _classifier(context, choice, name, reading, numbers, None)
