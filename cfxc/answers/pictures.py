"""Pictures of answers: what changes, and what a whole batch costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from ..arrays import Floats
from ..errors import DataTypeError, InvalidInputError, MissingColumnError
from ..show.charts import Group, draw_bounds, draw_boxes, draw_shares
from ..show.lanes import Lane, draw_lanes
from ..show.numbers import shown
from ..show.plots import COLOURS, short
from ..space import FeatureSpace
from ..space.names import names_arguments
from ..space.tables import as_pandas
from .result import Result


@names_arguments
def plot_changes(
    answers: Result | Sequence[Result] | Mapping[str, Result],
    path: str | Path | None = None,
    *,
    data: Any = None,
    ax: Any = None,
) -> Any:
    """Answers about one instance side by side: each changed feature on its own scale.

    A feature is a line from its least to its largest value, with the factual's value and the
    counterfactual's; behind it stands how the values of a table are spread.  Where a change is too
    small a share of the range to be seen, the scale is logarithmic, and says so.

    Args:
        answers: One or several; with names as a mapping.
        path: A file to write to, of any kind that matplotlib knows, such as ``changes.svg``.
        data: A table with the space's columns; by default the space's examples, ``False`` for none.
        ax: Axes of matplotlib to draw on; by default new ones.

    Returns:
        The axes.

    Raises:
        MissingExtraError: matplotlib is not installed.
        InvalidInputError: nothing changes, there is no counterfactual, the answers are about
            different instances, or the file cannot be written.
    """
    named = _named(answers)
    space = space_of(named[0][1])
    moved = [exact_changes(answer) for _, answer in named]
    factual = space.encode_row(as_pandas(named[0][1].factual), extra="ignore", check_range=False)
    codes = codes_of(space, data)
    proved = tuple(answer.status == "optimal" for _, answer in named)
    lanes = [
        Lane(
            feature, factual[name], tuple(c.get(name, (0, factual[name]))[1] for c in moved),
            proved, codes.get(name, NONE),
        )
        for name, feature in zip(space.names, space, strict=True)
        if any(name in changes for changes in moved)
    ]  # fmt: skip
    outcomes = dict.fromkeys(_outcome(answer.outcome_after) for _, answer in named)
    heading = f"{_outcome(named[0][1].outcome_before)} → {', '.join(outcomes)}"
    later = {id(other) for _, answer in named for other in answer.alternatives}
    standing = [(name, _standing(answer, id(answer) in later)) for name, answer in named]
    titles = [f"{short(name, 30)}\n{far}" if name else far for name, far in standing]
    return draw_lanes(lanes, heading, titles, ax, path, "plotting changes")


def exact_changes(answer: Result) -> dict[str, tuple[Any, Any]]:
    """Changed features: name → (before, after), exact values.

    Raises:
        InvalidInputError: the answer does not know of what space it is.
    """
    if answer.counterfactual is None:
        return {}
    before, after = (
        space_of(answer).encode_row(as_pandas(row), extra="ignore", check_range=False)
        for row in (answer.factual, answer.counterfactual)
    )
    return {name: (old, after[name]) for name, old in before.items() if after[name] != old}


def space_of(answer: Result) -> FeatureSpace:
    """The features of an answer.

    Raises:
        InvalidInputError: it was not made by a search.
    """
    if answer.evidence is None:
        raise InvalidInputError("this answer was not made by a search, and does not know its space")
    found: FeatureSpace = answer.evidence.query.space
    return found


NONE = np.empty(0)
COSTS = ("distance", "lower_bound")


def _named(answers: Any) -> list[tuple[str, Result]]:
    """Answers with their names; those of a list are numbered."""
    if isinstance(answers, Result):
        named = [("", answers)]
    elif isinstance(answers, Mapping):
        named = [(str(name), answer) for name, answer in answers.items()]
    else:
        if not isinstance(answers, Sequence):
            raise DataTypeError(f"plot_changes draws what explain answers, and no {answers!r}")
        found = list(answers)
        named = [(str(i) if len(found) > 1 else "", one) for i, one in enumerate(found, 1)]
    if not named:
        raise InvalidInputError("plot_changes: there is no answer to draw; give at least one")
    for _, answer in named:
        if not isinstance(answer, Result):
            raise DataTypeError(f"plot_changes draws what explain answers, and no {answer!r}")
        if not answer.changes:
            raise InvalidInputError(
                f"nothing changes that could be drawn ({answer.summary()}); draw answers that have "
                "a counterfactual"
            )
    factual = as_pandas(named[0][1].factual).reset_index(drop=True)
    if any(not factual.equals(as_pandas(a.factual).reset_index(drop=True)) for _, a in named):
        raise InvalidInputError(
            "plot_changes: the answers are about different instances; draw each on its own, or "
            "their costs with cfxc.plot_costs"
        )
    return named


def codes_of(space: FeatureSpace, data: Any) -> Mapping[str, Floats]:
    """The values of a table by feature; none of what has no examples either."""
    if data is False:
        return {}
    if data is None:
        codes = space.example_codes
        return {name: codes[:, j] for j, name in enumerate(space.names)} if len(codes) else {}
    table = as_pandas(data)
    if not isinstance(table, pd.DataFrame):
        raise DataTypeError(f"data: a table with the space's columns, not {type(data).__name__}")
    columns = space.encode_frame(table, extra="ignore", check_range=False)
    return {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}


def _outcome(value: Any) -> str:
    """A label, or a number to six digits."""
    return short(f"{value:.6g}" if isinstance(value, float) else str(value), 30)


def _standing(answer: Result, further: bool) -> str:
    """How far it is, and what is proved of that."""
    assert answer.exact_distance is not None
    far = f"{answer.distance_name} distance {shown(answer.exact_distance, 1)}"
    if answer.apart is not None and answer.apart_bound is not None:
        least, most = shown(Fraction(answer.apart), -1), shown(Fraction(answer.apart_bound), 1)
        return f"{far}\ndiffers by {least} of {most} at most"
    if not answer.exact_lower_bound:
        return f"{far}\nno lower bound proved"
    what = "none other" if further else "none"
    return f"{far}\nproved: {what} below {shown(answer.exact_lower_bound, -1)}"


def plot_bounds(answer: Result, path: Any, ax: Any) -> Any:
    """See :meth:`cfxc.Result.plot_bounds`."""
    if len(answer.trace) < 2:
        raise InvalidInputError(
            "nothing was recorded of a search for this answer; draw one that explain searched for"
        )
    rows = [(p.seconds, p.lower, np.nan if p.upper is None else p.upper) for p in answer.trace]
    return draw_bounds(np.array(rows), answer.distance_name, ax, path)


@names_arguments
def plot_costs(
    answers: Any,
    path: str | Path | None = None,
    *,
    groups: Any = None,
    kind: Literal["ecdf", "box"] = "ecdf",
    ax: Any = None,
) -> Any:
    """What recourse costs the groups of a batch, and how much of that is proved.

    ``ecdf``: for every distance, the share of a group that has a counterfactual within it; a band
    reaches up to what lower bounds leave open.  A group whose curve ends below 1 has instances
    without a counterfactual.  ``box``: quartiles, the smallest and the largest, and each instance.

    Args:
        answers: What :meth:`cfxc.CompiledModel.explain_batch` gives.  Instances that need no change
            and those with errors are left out.
        path: A file to write to, of any kind that matplotlib knows, such as ``costs.svg``.
        groups: A column with the group of each row, in the rows' order, such as ``X["sex"]``; or
            the name of a column of ``answers``.  By default all are one group.
        kind: ``ecdf`` or ``box``.
        ax: Axes of matplotlib to draw on; by default new ones.

    Returns:
        The axes.

    Raises:
        MissingExtraError: matplotlib is not installed.
        InvalidInputError: no such table, groups or kind; too many groups; nobody has a cost.
    """
    table = as_pandas(answers)
    if not isinstance(table, pd.DataFrame) or any(n not in table for n in ("status", *COSTS)):
        raise InvalidInputError(
            "plot_costs draws what explain_batch gives, with the columns status, "
            f"{', '.join(COSTS)}"
        )
    if kind not in ("ecdf", "box"):
        raise InvalidInputError(f"kind: 'ecdf' or 'box', and not {kind!r}")
    found = _groups(table, groups)
    if kind == "ecdf" and len(found) > len(COLOURS):
        raise InvalidInputError(
            f"{len(found)} curves cannot be told apart: give a column of at most {len(COLOURS)} "
            "groups, or kind='box'"
        )
    return (draw_shares if kind == "ecdf" else draw_boxes)(found, ax, path)


def _groups(table: pd.DataFrame, groups: Any) -> list[Group]:
    """The costs of each group of a batch's answers."""
    if isinstance(groups, str):
        if groups not in table:
            raise MissingColumnError(
                f"the answers have no column {groups!r}: give the column itself, X[{groups!r}]"
            )
        groups = table[groups]
    cells = ["all"] * len(table) if groups is None else list(groups)
    if len(cells) != len(table):
        raise InvalidInputError(
            f"groups: {len(cells)} cells for {len(table)} answers; give the column of the very "
            "table that was asked about"
        )
    texts = ["missing" if pd.isna(cell) else str(cell) for cell in cells]
    names = np.array([text.removesuffix(" 00:00:00") for text in texts], dtype=object)
    status = table["status"].to_numpy()
    counted = ~np.isin(status, ["unchanged", "error"])
    cost = {name: pd.to_numeric(table[name]).to_numpy(np.float64) for name in COSTS}
    made = []
    for name in sorted(set(names[counted])):
        of = counted & (names == name)
        at = of & table["distance"].notna().to_numpy()
        left = of & ~at & (status != "infeasible")
        distance, lower = cost["distance"][at], np.nan_to_num(cost["lower_bound"][at | left])
        none = int((of & (status == "infeasible")).sum())
        made.append(Group(name, distance, lower, status[at] == "optimal", none, int(left.sum())))
    if not any(len(group.distance) for group in made):
        raise InvalidInputError("no row of the answers has a counterfactual, so there is no cost")
    return made
