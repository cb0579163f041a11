"""A compiled program beside the deployed model, row by row; exact arithmetic referees.

Where the two say different labels, exact arithmetic says by how much the deployed label is missed:
less than the slack of ``semantics="float"`` at that row is a *tie*, which rounding decides.  Where
no such slack is known, it is a *near tie* if something that the program compares lies within the
bound of its rounding error at that row; all else is a disagreement.  Numbers disagree where they
are further apart than rounding may take them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

import cfxc
from cfxc.arrays import Floats
from cfxc.compiler.rounding_error import LAST, SLACK, RoundingError
from cfxc.compiler.rounding_error import _largest_leaves as largest_leaves
from cfxc.errors import UnsupportedError
from cfxc.frontends.predictor import plain_item
from cfxc.ir import BatchEvaluator, Literal, Operand, Program, evaluate, ops
from cfxc.ir.interval import Choice, Interval
from cfxc.question.target import Target, target_program
from cfxc.solvers.rounding import slack_within

REFEREED = 60  # numbers furthest apart that exact arithmetic decides; of labels, all
SAMPLE = 15  # of all rows
CHUNK = 25_000


@dataclass
class Tally:
    """What was found on some rows."""

    rows: int = 0
    differ: int = 0  # batch evaluation and deployed model
    ties: int = 0  # of those refereed
    near: int = 0  # of those refereed
    wrong: int = 0  # of those refereed
    unrefereed: int = 0
    shown: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Both."""
        for name in ("rows", "differ", "ties", "near", "wrong", "unrefereed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.shown = [*self.shown, *other.shown][:6]


def check(
    compiled: cfxc.CompiledModel, frame: pd.DataFrame, rng: np.random.Generator, seconds: float
) -> Tally:
    """The program and the deployed model on all rows; exact arithmetic has seconds for a chunk."""
    tally = Tally()
    for start in range(0, len(frame), CHUNK):
        chunk = frame.iloc[start : start + CHUNK].reset_index(drop=True)
        tally.add(_checked(compiled, chunk, rng, seconds))
    return tally


def _checked(
    compiled: cfxc.CompiledModel, frame: pd.DataFrame, rng: np.random.Generator, seconds: float
) -> Tally:
    deployed = np.asarray(compiled.predict(frame))
    found = BatchEvaluator(compiled.program)(compiled.space.encode_frame(frame, check_range=False))
    if compiled.predictor.task == "classifier":
        labels = np.array(compiled.program.output_sorts["label"].labels, dtype=object)
        apart = labels[found["label"]] != deployed.astype(object)
        far = np.flatnonzero(apart)
    else:
        own = np.asarray(found["value"], dtype=float).reshape(len(frame), -1)
        said = deployed.astype(float).reshape(len(frame), -1)
        with np.errstate(invalid="ignore"):
            off = np.abs(own - said).max(axis=1) / (1 + np.abs(said).max(axis=1))
        off[~np.isfinite(off)] = np.inf
        order = np.argsort(-off, kind="stable")
        apart = off > 1e-6
        far = order[: max(REFEREED, int(apart.sum()))][
            off[order][: max(REFEREED, int(apart.sum()))] > 0
        ]
    tally = Tally(rows=len(frame), differ=int(apart.sum()))
    asked = rng.permutation(far) if compiled.predictor.task == "classifier" else far
    others = rng.choice(len(frame), min(SAMPLE, len(frame)), replace=False)
    stop = time.process_time() + seconds
    for place in [*others, *asked]:
        if time.process_time() > stop:
            tally.unrefereed += int(apart[place])
            continue
        said = _verdict(compiled, frame.iloc[[place]], deployed[place])
        if said == "":
            continue
        if said == "tie":
            tally.ties += 1
        elif said == "near":
            tally.near += 1
        else:
            tally.wrong += 1
            if len(tally.shown) < 3:
                tally.shown.append(f"{said}: {dict(frame.iloc[place])}")
    return tally


def _verdict(compiled: cfxc.CompiledModel, row: pd.DataFrame, deployed: Any) -> str:
    """``""`` where exact arithmetic says what is deployed, ``tie``, or what is wrong."""
    point = compiled.space.encode_row(row, check_range=False)
    exact = evaluate(compiled.program, point)
    box = tuple(
        (name, None if sort.labels else (Fraction(point[name]), Fraction(point[name])))
        for name, sort in compiled.program.inputs
    )
    unit = compiled.predictor.unit_roundoff
    if compiled.predictor.task == "classifier":
        label = plain_item(deployed)
        if exact["label"] == label:
            return ""
        wanted = f"exactly {exact['label']!r}, deployed {label!r}"
        target = Target(label=label)
        try:
            slack = slack_within(compiled.program, target, box, unit)
            wider = target_program(compiled.program, target, -slack)
        except UnsupportedError as error:
            return _near(compiled.program, point, unit, f"{wanted} (no slack: {error})")
        held = evaluate(wider, point)
        return "tie" if all(held.values()) else f"{wanted}, beyond {float(slack):.3g}"
    return _numbers(compiled, exact["value"], deployed, point, box, unit)


def _numbers(compiled: Any, exact: Any, deployed: Any, point: Any, box: Any, unit: Fraction) -> str:
    own = np.ravel(np.asarray(exact, dtype=object))
    said = np.ravel(deployed)
    if not np.isfinite(said.astype(float)).all():
        return f"deployed {said.tolist()}, exactly {[float(x) for x in own]}"
    off = max(abs(Fraction(a) - Fraction(float(b))) for a, b in zip(own, said, strict=True))
    if off == 0:
        return ""
    try:
        slack = slack_within(compiled.program, Target(is_range=True), box, unit)
    except UnsupportedError as error:
        scale = 1 + max(abs(float(a)) for a in own)
        if off <= Fraction(scale) * unit * 2**12:
            return ""  # as near as a sum of thousands of terms
        text = f"numbers {float(off):.3g} apart of {scale:.3g} (no slack: {error})"
        return _near(compiled.program, point, unit, text)
    return "" if off <= slack else f"numbers {float(off):.3g} apart, more than {float(slack):.3g}"


def _near(program: Program, point: Mapping[str, Any], unit: Fraction, text: str) -> str:
    """``near``, or the text with what else is known."""
    try:
        return "near" if Comparisons(program, point, unit).near else f"{text}, and nothing is near"
    except UnsupportedError as error:
        return f"{text}; {error}"


DECIDES = (ops.Le, ops.Lt, ops.Ge, ops.Gt, ops.Eq, ops.Ne, ops.Argmax, ops.TreeEnsemble)


class Comparisons(RoundingError):
    """All that a program compares at a point, beside the bounds of what rounding may do to it.

    Attributes:
        near: Whether rounding may change the outcome of one of them.

    Raises:
        UnsupportedError: the rounding of something that is compared has no bound.
    """

    def __init__(self, program: Program, point: Mapping[str, Any], unit: Fraction) -> None:
        sorts = dict(program.inputs)
        box: dict[str, Any] = {
            name: Choice.among(sorts[name].labels, [value])
            if sorts[name].labels
            else Interval.exact(Fraction(value), Fraction(value))
            for name, value in point.items()
        }
        super().__init__(program, box, unit)
        self.near = False
        for name, statement in self.definitions.items():
            if isinstance(statement.op, DECIDES):
                self.error(name)

    def error(self, operand: Operand) -> Floats:
        """As its base; comparisons, trees and labels are exact unless they are near."""
        statement = None if isinstance(operand, Literal) else self.definitions.get(operand)
        if statement is None or operand in self._known:
            return super().error(operand)
        op = statement.op
        if isinstance(op, ops.TreeEnsemble):
            self._trees(op)
        elif isinstance(op, ops.Argmax):
            self._largest(op.x)
        elif isinstance(op, ops.Exp):
            most = np.exp(np.asarray(self._upper(op.x)))
            off = np.asarray(self.error(op.x))
            self._known[operand] = most * (np.expm1(off) + LAST * self.unit) * SLACK
            return self._known[operand]
        elif not isinstance(op, ops.Category | ops.Lookup | ops.IsLabel):
            return super().error(operand)
        else:
            self.error(op.index if isinstance(op, ops.Category) else op.x)
        self._known[operand] = np.zeros(1)
        if isinstance(op, ops.TreeEnsemble):
            total = np.abs(np.asarray(op.base.array, dtype=float)) + largest_leaves(op)
            self._known[operand] = self.gamma(op.roots.array.size + 2) * total
        return self._known[operand]

    def require_exact(self, operand: Operand, op: Any) -> None:
        """Note whether what it compares lies within the bounds of its errors."""
        if not isinstance(op, ops.Le | ops.Lt | ops.Ge | ops.Gt | ops.Eq | ops.Ne):
            return
        x, y = (np.asarray(self._middle(part)) for part in (op.x, op.y))
        room = np.asarray(self.error(op.x)) + np.asarray(self.error(op.y))
        self.near |= bool(np.any((np.abs(x - y) <= room) & (room > 0)))

    def _middle(self, operand: Operand) -> Any:
        if isinstance(operand, Literal):
            return float(operand.value)
        bounds = self.bounds[operand]
        return (np.asarray(bounds.lower) + np.asarray(bounds.upper)) / 2

    def _upper(self, operand: Operand) -> Any:
        return float(operand.value) if isinstance(operand, Literal) else self.bounds[operand].upper

    def _trees(self, op: ops.TreeEnsemble) -> None:
        room = np.broadcast_to(self.error(op.x), self.size(op.x).shape)
        x, inner = np.broadcast_to(self._middle(op.x), room.shape), op.feature.array >= 0
        which = op.feature.array[inner]
        off = np.abs(x[which] - op.threshold.array[inner])
        self.near |= bool(np.any((off <= room[which]) & (room[which] > 0)))

    def _largest(self, operand: Operand) -> None:
        room, values = np.ravel(self.error(operand)), np.ravel(self._middle(operand))
        room = np.broadcast_to(room, values.shape)
        top = int(np.argmax(values))
        others = np.arange(values.size) != top
        lead = values[top] - values[others]
        self.near |= bool(np.any(lead <= room[top] + room[others]))


__all__ = ["Tally", "check"]
