"""What is asked of an outcome, and when a program reaches it.

Cuts of logistic functions and exponentials become cuts of what they are functions of:

``sigmoid(z) >= t`` is ``z >= log(t / (1 - t))``, an entry of the softmax of two scores is the
sigmoid of their difference, and ``exp(z) >= t`` is ``z >= log t``.  The logarithm is irrational for
all rational t but where it is 0: the cut is moved by less than 1e-39 to the side that admits more,
so that nothing is missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import CfxcError, InvalidInputError, brief
from ..ir import Builder, Label, Literal, Operand, Program, Tensor, ops
from ..ir.linear import LinearForm
from ..ir.patterns import before_scaling, deciding, keep_outputs, scaling
from ..ir.sorts import label_key, preview
from ..space.names import meant
from ..space.values import exact

DIGITS = Context(prec=50)
ERROR = Fraction(1, 10**40)  # more than what ``DIGITS`` lose
HALF = Fraction(1, 2)
Chances = LinearForm[Any]  # of the ops that give them
Comparison = ops.Le | ops.Lt | ops.Ge | ops.Gt


def logit(chance: Fraction, side: int = 1) -> Fraction:
    """``log(p / (1 - p))`` to 40 digits, rounded upward (``side`` 1) or downward (-1)."""
    if chance == HALF and side < 0:
        return Fraction(0)
    return _log(chance / (1 - chance), side)


def _log(value: Fraction, side: int) -> Fraction:
    """``log(value)`` to 40 digits, rounded upward (``side`` 1) or downward (-1)."""
    ratio = DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))
    return Fraction(DIGITS.ln(ratio)) + side * ERROR


def logistic_cut(
    builder: Builder, program: Program, relation: type[Comparison], x: Operand, y: Operand,
    margin: Fraction,
) -> Operand | None:  # fmt: skip
    """``relation(x, y + margin)``, where one side is a chance or an exponential: of its argument.

    ``None`` where neither side is one, or both are.
    """
    left, right = _form(x, program), _form(y, program)
    if left is None or right is None:
        return None
    form = left - right
    if [abs(factor) for factor in form.terms.values()] != [1]:
        return None
    ((chance, sign),) = form.terms.items()
    rises = issubclass(relation, ops.Ge | ops.Gt) == (sign > 0)  # whether p is to be large
    cut = sign * (margin - form.constant)
    source = program.definition(chance.x) if isinstance(chance, ops.Item) else chance
    raised = isinstance(source, ops.Exp)
    if cut <= 0 or (cut >= 1 and not raised):
        return Literal(rises == (cut <= 0))
    z = _argument(builder, chance, program)
    inverse = _log if raised else logit
    if cut == (1 if raised else HALF):
        strict = issubclass(relation, ops.Gt | ops.Lt)
        least, most = (ops.Gt, ops.Lt) if strict else (ops.Ge, ops.Le)
        return builder.let((least if rises else most)(z, Literal(Fraction(0))))
    if rises:
        return builder.let(ops.Ge(z, Literal(inverse(cut, -1))))
    return builder.let(ops.Le(z, Literal(inverse(cut, 1))))


def _form(operand: Operand, program: Program) -> Chances | None:
    """A scalar as a form of chances; ``None`` if it is something else."""
    if isinstance(operand, Literal):
        return LinearForm.of(operand.value)
    op = program.definition(operand)
    if isinstance(op, ops.Identity):
        return _form(op.x, program)
    if isinstance(op, ops.Sigmoid | ops.Exp):
        return LinearForm.one(op)
    if isinstance(op, ops.Item):
        return _entry(op, program)
    if isinstance(op, ops.Neg):
        inner = _form(op.x, program)
        return None if inner is None else -inner
    if isinstance(op, ops.Add | ops.Sub):
        x, y = _form(op.x, program), _form(op.y, program)
        if x is None or y is None:
            return None
        return x + y if isinstance(op, ops.Add) else x - y
    return None


def _entry(op: ops.Item, program: Program) -> Chances | None:
    """An entry of several chances, or of numbers put side by side."""
    vector = program.definition(op.x)
    if isinstance(vector, ops.Concat):
        scalars = all(isinstance(p, Literal) or not program.sorts[p].shape for p in vector.parts)
        return _form(vector.parts[op.index], program) if scalars else None
    chances = ops.Sigmoid | ops.Softmax | ops.Exp
    if not isinstance(vector, chances) or not isinstance(vector.x, str):
        return None
    if isinstance(vector, ops.Softmax) and program.sorts[vector.x].shape != (2,):
        return None
    return LinearForm.one(op)


def _argument(
    builder: Builder, chance: ops.Sigmoid | ops.Exp | ops.Item, program: Program
) -> Operand:
    """z, where the chance is its sigmoid, or what it is the exponential of."""
    if not isinstance(chance, ops.Item):
        return chance.x
    vector = program.definition(chance.x)
    assert isinstance(vector, ops.Sigmoid | ops.Softmax | ops.Exp)
    if not isinstance(vector, ops.Softmax):
        return builder.let(ops.Item(vector.x, chance.index))
    return _lead_of_two(builder, vector.x, chance.index)


def _lead_of_two(builder: Builder, x: Operand, place: int) -> Operand:
    """By how much an entry of two is larger than the other."""
    signs = Tensor(np.array([[-1.0, 1.0]] if place else [[1.0, -1.0]]))
    lead = builder.let(ops.Affine(x, signs, Tensor(np.zeros(1))))
    return builder.let(ops.Item(lead, 0))


HOPELESS = Fraction(1000)
"""A rival's lead at which no probability that a double holds is reached; exp of more overflows."""


@dataclass(frozen=True)
class Target:
    """What the outcome must be: a label of a classifier, or a closed range of a regressor.

    Attributes:
        label: The target label.
        lower, upper: Ends of the range; ``None``: open.
        chance: The least probability that the model must give to the label.
        margin: By how much the score that decides must be won.
    """

    label: Label = None
    lower: Fraction | None = None
    upper: Fraction | None = None
    is_range: bool = False
    chance: Fraction | None = None
    margin: Fraction = Fraction(0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        ends = self.lower, self.upper, self.is_range
        return label_key(self.label), *ends, self.chance, self.margin

    def __str__(self) -> str:
        if not self.is_range:
            chance = "" if self.chance is None else f", with probability {float(self.chance)!r}"
            margin = f", by {float(self.margin)!r}" if self.margin else ""
            return f"{self.label!r}{chance}{margin}"
        low = "-∞" if self.lower is None else float(self.lower)
        high = "∞" if self.upper is None else float(self.upper)
        return f"[{low}, {high}]"

    @property
    def values(self) -> tuple[Any, ...]:
        """The label alone, or both ends of the range (``None``: open)."""
        if not self.is_range:
            return (self.label,)
        return tuple(None if end is None else float(end) for end in (self.lower, self.upper))

    @property
    def is_plain(self) -> bool:
        """Whether the outcome alone tells."""
        return self.chance is None and not self.margin

    def holds(self, outcome: Any) -> bool:
        """Whether an outcome (label or number) is in the target."""
        if not self.is_range:
            return label_key(outcome) == label_key(self.label)
        value = Fraction(outcome)
        above = self.lower is None or value >= self.lower
        return above and (self.upper is None or value <= self.upper)


OUTCOMES = 20
"""Labels that a message lists."""


def resolve_target(program: Program, target: Any, outcome: Mapping[str, Any]) -> Target:
    """The target a user named, checked against the program's outcome."""
    if "label" not in dict(program.outputs):
        return _range_target(target)
    labels = program.output_sorts["label"].labels
    if target is None:
        others = [label for label in labels if label_key(label) != label_key(outcome["label"])]
        if not others:
            raise InvalidInputError(
                f"the model has only one outcome, {preview(labels)[1:-1]}: nothing can change it"
            )
        if len(others) > 1:
            raise InvalidInputError(
                f"the model has {len(labels)} outcomes; name one as target: "
                f"{preview(labels, OUTCOMES)}"
            )
        return Target(others[0])
    if isinstance(target, np.generic):
        target = target.item()
    if labels.has(target):
        return Target(target)
    same = [label for label in labels if label == target]
    if len(same) == 1 and not isinstance(target, tuple | list):
        return Target(same[0])
    raise InvalidInputError(
        f"target {brief(target)} is no outcome of the model{meant(target, labels)}: "
        f"{preview(labels, OUTCOMES)}"
    )


def check_favourable(program: Program, favourable: Any) -> Any:
    """The favourable outcome, as a label or a range.

    Raises:
        InvalidInputError: the model has no such outcome.
    """
    try:
        target = resolve_target(program, favourable, {})
    except InvalidInputError as error:
        raise InvalidInputError(f"favourable: {error}") from error
    return tuple(favourable) if target.is_range else target.label


def _range_target(target: Any) -> Target:
    if not isinstance(target, tuple | list) or len(target) != 2:
        raise InvalidInputError(
            "a regression target is a range (low, high), such as (100, None) for at least 100, "
            f"not {brief(target)}; None leaves an end open"
        )
    ends: list[Fraction | None] = []
    for end in target:
        try:
            plain = end.item() if isinstance(end, np.generic) else end
            ends.append(None if plain is None else exact(plain))
        except CfxcError:
            raise InvalidInputError(f"target range: {brief(end)} is not a finite number") from None
    low, high = ends
    if low is None and high is None:
        raise InvalidInputError("the target range is open at both ends: every outcome is in it")
    if low is not None and high is not None and low > high:
        raise InvalidInputError(f"target range: {target[0]} exceeds {target[1]}")
    return Target(lower=low, upper=high, is_range=True)


@lru_cache(maxsize=32)
def target_program(program: Program, target: Target, margin: Fraction) -> Program:
    """Features → ``in_target``; with a margin, on the score behind the label where it is known.

    Cached: instances refused by one model share it.
    """
    builder = Builder(program.name)
    for name, sort in program.inputs:
        builder.input(name, sort)
    builder.reserve(program.sorts)
    builder.extend(program.body)
    if target.is_range:
        decided = _in_range(builder, program, target, margin)
    elif _is_likeliest(program) and 2 * (target.chance or 0) > 1 and not target.margin:
        # no other label is likelier then
        decided = _likely(builder, program, target, margin)
    else:
        decided = _decisions(builder, program, target, margin)
        if target.chance is not None:
            likely = _likely(builder, program, target, margin)
            decided = builder.let(ops.And((decided, likely)))
    return keep_outputs(builder.build(in_target=decided), ["in_target"])


def _is_likeliest(program: Program) -> bool:
    """Whether the label is known to be the likeliest one: thresholds may say otherwise."""
    decision, probability = deciding(program), dict(program.outputs).get("probability")
    if not isinstance(decision, ops.Argmax):
        return decision is not None and decision.y == Literal(Fraction(0))
    op = None if probability is None else program.definition(probability)
    likely = op.x if isinstance(op, ops.Softmax) else probability
    scores = [
        before_scaling(each, program.definitions)
        for each in (likely, decision.x)
        if isinstance(each, str)
    ]
    return len(scores) == 2 and scores[0] == scores[1]


def _in_range(builder: Builder, program: Program, target: Target, margin: Fraction) -> Operand:
    value = program.output("value")
    tests: list[Operand] = []
    if target.lower is not None:
        tests.append(_test(builder, program, ops.Ge, value, Literal(target.lower), margin))
    if target.upper is not None:
        tests.append(_test(builder, program, ops.Le, value, Literal(target.upper), -margin))
    return builder.let(ops.And(tuple(tests)))


def _test(
    builder: Builder, program: Program, relation: type[Comparison], x: Operand, y: Operand,
    margin: Fraction,
) -> Operand:  # fmt: skip
    """``relation(x, y + margin)``, of logits where it is of a chance."""
    cut = logistic_cut(builder, program, relation, x, y, margin)
    if cut is not None:
        return cut
    return builder.let(relation(x, _plus(builder, y, margin)))


def _decisions(builder: Builder, program: Program, target: Target, margin: Fraction) -> Operand:
    """``label == target`` as comparisons of scores, looking through argmax and sign tests."""
    label, sorts = program.output("label"), program.sorts
    plain = ops.IsLabel(label, target.label)
    op = program.definition(label)
    if not isinstance(op, ops.Category):
        return builder.let(plain)
    position = op.labels.position(target.label)
    decision = program.definition(op.index)
    if isinstance(decision, ops.Argmax):
        assert isinstance(decision.x, str)  # a vector, so no literal
        x, larger = scaling(decision.x, program.definitions)
        return _wins(builder, x, sorts[x].shape[0], position, margin + target.margin / larger)
    if isinstance(decision, ops.Select):
        chosen = [Literal(0), Literal(1)]
        test = program.definition(decision.condition)
        if isinstance(test, ops.Gt | ops.Ge) and [decision.y, decision.x] == chosen:
            opposite = ops.Le if isinstance(test, ops.Gt) else ops.Lt
            margin += target.margin
            relation, margin = (type(test), margin) if position else (opposite, -margin)
            return _test(builder, program, relation, test.x, test.y, margin)
    return builder.let(plain)


def score_scale(program: Program, target: Target) -> Fraction:
    """By how much a program's scores are larger than those that :func:`target_program` compares.

    Scores that an argmax orders are compared before they are divided, as averages are.
    """
    decision = None if target.is_range else deciding(program)
    if not isinstance(decision, ops.Argmax) or not isinstance(decision.x, str):
        return Fraction(1)
    return scaling(decision.x, program.definitions)[1]


def compares_logits(program: Program) -> bool:
    """Whether a probability is compared as the logit that it is a function of."""
    op = program.definition(program.output("probability"))
    if isinstance(op, ops.Concat) and len(op.parts) == 2:
        return isinstance(program.definition(op.parts[1]), ops.Sigmoid)
    return isinstance(op, ops.Softmax) and len(program.output_sorts["label"].labels) == 2


def _likely(builder: Builder, program: Program, target: Target, margin: Fraction) -> Operand:
    """The label's probability is at least ``chance``: as a score, where it is a function of one."""
    assert target.chance is not None
    places = program.output_sorts["label"].labels
    probability, place = program.output("probability"), places.position(target.label)
    op = program.definition(probability)
    if isinstance(op, ops.Concat) and len(places) == 2:  # (1 - p, p)
        share = program.definition(op.parts[1])
        if isinstance(share, ops.Sigmoid):
            bound = logit(target.chance) + margin
            if place:
                return builder.let(ops.Ge(share.x, Literal(bound)))
            return builder.let(ops.Le(share.x, Literal(-bound)))
    if isinstance(op, ops.Softmax) and len(places) == 2:
        lead = _lead_of_two(builder, op.x, place)
        return builder.let(ops.Ge(lead, Literal(logit(target.chance) + margin)))
    if isinstance(op, ops.Softmax):
        return _likely_of_many(builder, op.x, len(places), place, target.chance, margin)
    entry = builder.let(ops.Item(probability, place))
    return builder.let(ops.Ge(entry, Literal(target.chance + margin)))


def _likely_of_many(
    builder: Builder, x: Operand, width: int, place: int, chance: Fraction, margin: Fraction
) -> Operand:
    """``Σ_j exp(x_j - x_k) <= 1/p - 1`` over the rivals j: softmax without its division."""
    weight = -_leads(width, place)
    shift = np.array([Fraction(margin)] * len(weight), dtype=object)
    behind = builder.let(ops.Affine(x, Tensor(weight), Tensor(shift, "rat")))
    bounded = builder.let(ops.Minimum(behind, Literal(HOPELESS)))
    total = builder.let(ops.ReduceSum(builder.let(ops.Exp(bounded))))
    return builder.let(ops.Le(total, Literal(1 / chance - 1)))


def _plus(builder: Builder, operand: Operand, margin: Fraction) -> Operand:
    if isinstance(operand, Literal):
        return Literal(Fraction(operand.value) + margin)
    return builder.let(ops.Add(operand, Literal(margin))) if margin else operand


def _wins(builder: Builder, x: Operand, width: int, position: int, margin: Fraction) -> Operand:
    """Entry ``position`` beats every earlier entry strictly and every later one at least."""
    rivals = [rival for rival in range(width) if rival != position]
    if not rivals:
        return Literal(True)
    weight = _leads(width, position)
    leads = builder.let(ops.Affine(x, Tensor(weight), Tensor(np.zeros(len(rivals)))))
    tests = []
    for row, rival in enumerate(rivals):
        relation = ops.Gt if rival < position else ops.Ge
        lead = builder.let(ops.Item(leads, row))
        tests.append(builder.let(relation(lead, Literal(margin))))
    return builder.let(ops.And(tuple(tests)))


def _leads(width: int, position: int) -> Floats:
    """The matrix of ``x[position] - x[rival]`` for all rivals, in order."""
    rivals = [rival for rival in range(width) if rival != position]
    weight = np.zeros((len(rivals), width))
    weight[:, position] = 1.0
    weight[np.arange(len(rivals)), rivals] = -1.0
    return weight
