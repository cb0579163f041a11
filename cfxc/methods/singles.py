"""Which single changes suffice: the nearest value of every feature alone, or that none is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from ..answers.explaining import Explainer
from ..answers.pictures import NONE, codes_of, exact_changes
from ..answers.result import Result
from ..errors import InvalidInputError
from ..frontends.compiled import Compiled
from ..markup import card, table
from ..question.question import Question
from ..show.lanes import Lane, draw_lanes
from ..show.numbers import shown
from ..show.progress import begin
from ..show.values import value_text
from ..space import FeatureSpace
from ..stopping import INTERRUPTED

Verdict = Literal["sufficient", "insufficient", "unknown", "fixed"]
ORDER: tuple[Verdict, ...] = ("sufficient", "unknown", "insufficient", "fixed")


@dataclass(frozen=True)
class Single:
    """What changing one feature alone does.

    Attributes:
        verdict: ``sufficient``: a value of it has the target outcome; ``insufficient``: none has,
            proved; ``unknown``: none was found in time; ``fixed``: it may not change.
        before, after: Exact values; ``after`` is ``None`` unless one suffices.
        answer: What was searched; ``None`` for a fixed feature.
    """

    feature: str
    verdict: Verdict
    before: Any
    after: Any
    answer: Result | None = field(repr=False)

    @property
    def proved(self) -> bool:
        """Whether ``after`` is proved to be the nearest one, or that there is none."""
        return self.answer is not None and self.answer.status in ("optimal", "infeasible")


@dataclass(frozen=True)
class Singles:
    """For every feature alone, the nearest value that suffices; those that do first, by distance.

    Attributes:
        singles: One for each feature.
    """

    singles: tuple[Single, ...]
    space: FeatureSpace = field(repr=False)
    outcome: str

    def to_frame(self) -> pd.DataFrame:
        """Rows ``verdict``, ``before``, ``after``, ``distance``, ``lower_bound`` by feature."""
        rows = {
            one.feature: {
                "verdict": one.verdict,
                "before": value_text(self.space[one.feature], one.before),
                "after": "" if one.after is None else self._after(one),
                "distance": None if one.answer is None else one.answer.distance,
                "lower_bound": _bound(one),
            }
            for one in self.singles
        }
        made = pd.DataFrame.from_dict(rows, orient="index").rename_axis("feature")
        return made.astype({"distance": float, "lower_bound": float})

    def _after(self, one: Single) -> str:
        return value_text(self.space[one.feature], one.after)

    def summary(self) -> str:
        """A line for each feature that may change."""
        return "\n".join(
            f"{one.feature}: {_said(one, self.space)}"
            for one in self.singles
            if one.verdict != "fixed"
        )

    def plot(self, path: str | Path | None = None, *, data: Any = None, ax: Any = None) -> Any:
        """Each feature that may change on its own scale; returns the axes.

        Args:
            path: A file to write to, such as ``single.svg``.
            data: A table with the space's columns; by default the space's examples, ``False`` for
                none.
            ax: Axes of matplotlib to draw on; by default new ones.

        Raises:
            MissingExtraError: matplotlib is not installed.
            InvalidInputError: no feature may change, or the file cannot be written.
        """
        codes = codes_of(self.space, data)
        lanes = [
            Lane(
                self.space[one.feature], one.before,
                (one.before if one.verdict != "sufficient" else one.after,), (one.proved,),
                codes.get(one.feature, NONE), _note(one), one.verdict == "insufficient",
            )
            for one in self.singles
            if one.verdict != "fixed"
        ]  # fmt: skip
        if not lanes:
            raise InvalidInputError("no feature may change, so that there is nothing to draw")
        heading = f"single changes to {self.outcome}"
        return draw_lanes(lanes, heading, [""], ax, path, "plotting single changes")

    def __repr__(self) -> str:
        lines = [
            f"  {one.feature}: {_said(one, self.space)}"
            for one in self.singles
            if one.verdict == "sufficient"
        ]
        return "\n".join([f"Singles({self._head()})", *lines])

    def _head(self) -> str:
        """How many there are of each kind."""
        counts = [sum(one.verdict == each for one in self.singles) for each in ORDER]
        found = ", ".join(f"{n} {each}" for n, each in zip(counts, ORDER, strict=True) if n)
        return f"changes of one feature to {self.outcome}: {found}"

    def _repr_html_(self) -> str:
        rows = [
            [one.feature, value_text(self.space[one.feature], one.before), _said(one, self.space)]
            for one in self.singles
            if one.verdict != "fixed"
        ]
        return card(self._head(), table(["feature", "now", "alone"], rows))


def _bound(one: Single) -> float | None:
    """What is proved: no value below, or none at all."""
    if one.answer is None:
        return None
    return inf if one.verdict == "insufficient" else one.answer.lower_bound


def _note(one: Single) -> str:
    """What is said at the end of a lane."""
    assert one.answer is not None
    if one.verdict == "insufficient":
        return "none suffices"
    if one.answer.exact_distance is None:
        return "none found yet"
    far = f"distance {shown(one.answer.exact_distance, 1)}"
    return far if one.proved else f"{far}\nnone below {shown(one.answer.exact_lower_bound, -1)}"


def _said(one: Single, space: FeatureSpace) -> str:
    """A feature's line."""
    assert one.answer is not None
    if one.verdict == "insufficient":
        return f"no value suffices (proved by {one.answer.proved_by})"
    if one.verdict == "unknown":
        return one.answer.summary()
    before, after = (value_text(space[one.feature], value) for value in (one.before, one.after))
    return f"{before} → {after} suffices; {one.answer.summary()}"


def singles_of(
    model: Compiled, question: Question, row: pd.DataFrame, watch: Callable[..., None] | None
) -> Singles:
    """See :meth:`cfxc.CompiledModel.single_changes`."""
    explainer = replace(Explainer.of(model, question, watch), conflicts=False)
    factual = model.space.encode_row(row, extra="ignore")
    found, outcome = list[Single](), ""
    for number, (name, answer) in enumerate(explainer.by_feature(row), 1):
        begin(watch, f"searching, {number} of {len(model.space)} features done")
        if answer is None:
            found.append(Single(name, "fixed", factual[name], None, None))
            continue
        outcome = answer.target
        verdict: Verdict = "sufficient"
        if answer.distance is None:
            verdict = "insufficient" if answer.status == "infeasible" else "unknown"
        after = exact_changes(answer).get(name, (None, None))[1]
        found.append(Single(name, verdict, factual[name], after, answer))
        if answer.reason == INTERRUPTED:
            break
    known = [one.answer.exact_distance if one.answer else None for one in found]
    order = sorted(
        range(len(found)), key=lambda i: (ORDER.index(found[i].verdict), known[i] or 0, i)
    )
    return Singles(tuple(found[i] for i in order), model.space, outcome)
