"""What cfxc and the methods that Karimi et al. (2020) compare with answer, verified alike."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pandas as pd

from cfxc.errors import CfxcError
from cfxc.question.query import Query

from .cases import DISTANCES
from .encodings import decoded
from .evidence import checked, favourable_rows, query_of, verified
from .observable import minimum_observable
from .portable import Array
from .recourse import Recourse
from .setups import Setup, World, load, prepare
from .tweaking import Tweaking

PUBLISHED, SMALL = 0.5, 0.01  # tolerances of feature tweaking, in standard deviations
OURS, MO = "cfxc", "MO"
FT, PFT, NEAR, CODED = "FT", "PFT", "PFT, near", "PFT, as coded"
AR, LARGEST, METRIC = "AR", "AR, largest", "AR, δ as cost"
TREES, LINEAR = (FT, PFT, NEAR, CODED), (AR, LARGEST, METRIC)


@dataclass(frozen=True)
class Reply:
    """The exact distance of an answer that passed, or why there is none.

    ``row`` is what was returned, whatever is wrong with it.
    """

    distance: Fraction | None
    reason: str = ""
    row: pd.DataFrame | None = None
    proved: bool = False


Replies = dict[tuple[str, str], list[Reply]]
"""Of each method and distance, one for each person."""


@dataclass(frozen=True)
class Limits:
    """How many people are asked about, for how long, and how near to the optimum (a share)."""

    people: int
    seconds: float
    epsilon: float


@cache
def world(setup: Setup, data: str, model: str) -> World:
    """A fitted model in a set-up."""
    if setup.test_rows:
        return world(replace(setup, test_rows=False), data, model).observing_test_rows()
    return prepare(load(data, setup), model, setup)


@cache
def replies(
    setup: Setup, data: str, model: str, limits: Limits, methods: tuple[str, ...]
) -> Replies:
    """Everybody's replies by every method; cfxc and the minimum observable are always asked."""
    where = world(setup, data, model)
    favourable = favourable_rows(where.case)
    asked = rivals(where, methods)
    found: Replies = {}
    started = time.perf_counter()
    for i in range(min(limits.people, len(where.case.people))):
        person = where.case.people.iloc[[i]]
        for distance in DISTANCES:
            query = query_of(where.case, person, distance)
            observed = observe(where, query, person, favourable)
            own = {MO: observed, OURS: ask(where, query, person, observed.distance, limits)}
            for name, rival in asked.items():
                if name not in LINEAR or distance != "l0":
                    own[name] = _rival(where, query, person, rival, name == LARGEST)
            for name, reply in own.items():
                found.setdefault((name, distance), []).append(reply)
    spent = time.perf_counter() - started
    print(f"{data}, {model}, {setup.named()}: {spent:.0f} s", file=sys.stderr, flush=True)
    return found


def ask(
    where: World, query: Query, person: pd.DataFrame, observable: Fraction | None, limits: Limits
) -> Reply:
    """What cfxc answers; a fault of any kind is no answer."""
    case = where.case
    answer = case.compiled.explain(
        person, target=case.data.favourable, distance=query.distance.name,
        epsilon=limits.epsilon, time_limit=limits.seconds,
    )  # fmt: skip
    finding = checked(case, query, answer, observable)
    if finding.faults:
        return Reply(None, "; ".join(finding.faults), answer.counterfactual)
    return Reply(finding.distance, "", answer.counterfactual, answer.status == "optimal")


def observe(where: World, query: Query, person: pd.DataFrame, favourable: Sequence[bool]) -> Reply:
    """The minimum observable."""
    nearest = minimum_observable(query, where.case.train, where.case.deployed(person), favourable)
    if nearest is None:
        return Reply(None, "no candidate")
    row = where.case.data.space.decode(nearest.point, like=person)
    return judged(where, query, person, row)


Rival = Callable[[Array, str], Array | None]
"""Encoded factual and distance → encoded answer."""


def rivals(where: World, methods: Iterable[str]) -> dict[str, Rival]:
    """The methods asked for that there are for the model."""
    case, model = where.case, where.estimator
    rows = np.asarray(case.pipeline[0].transform(where.fitted_on), dtype=np.float64)
    goal, found = case.data.favourable, dict[str, Rival]()
    if case.model == "lr":
        ar = Recourse(model, where.layout, goal, rows)
        metric = Recourse(model, where.layout, goal, rows, "distance")
        found = {AR: cache_last(ar.nearest), METRIC: metric.nearest}
        found[LARGEST] = found[AR]
    elif hasattr(model, "tree_") or hasattr(model, "estimators_"):
        spread = rows.std(axis=0)
        literal = Tweaking(model, where.layout, goal, spread, PUBLISHED)
        near = Tweaking(model, where.layout, goal, spread, SMALL, "near")
        # the authors' codes of categories begin with 1, ours with 0
        offsets = np.array([
            float(part.kind == "code" and part.levels[0] != 0)
            for part in where.layout for _ in range(part.start, part.stop)
        ])  # fmt: skip
        coded = Tweaking(model, where.layout, goal, spread, PUBLISHED, "coded", offsets)
        found = {
            FT: partial(literal.nearest, plausible=False),
            PFT: partial(literal.nearest, plausible=True),
            NEAR: partial(near.nearest, plausible=True),
            CODED: partial(coded.nearest, plausible=True),
        }
    return {name: rival for name, rival in found.items() if name in methods}


def cache_last(rival: Rival) -> Rival:
    """The same, that need not be asked twice in a row."""
    last: list[tuple[bytes, str, Array | None]] = []

    def ask(own: Array, distance: str) -> Array | None:
        if not last or last[0][:2] != (own.tobytes(), distance):
            last[:] = [(own.tobytes(), distance, rival(own, distance))]
        return last[0][2]

    return ask


def _rival(where: World, query: Query, person: pd.DataFrame, rival: Rival, lenient: bool) -> Reply:
    case = where.case
    own = np.asarray(case.pipeline[0].transform(person), dtype=np.float64)[0]
    found = rival(own, query.distance.name)
    if found is None:
        return Reply(None, "no candidate")
    values = decoded(where.layout, query.factual, own, found, lenient)
    if isinstance(values, str):
        return Reply(None, values)
    try:
        row = case.data.space.decode(values, like=person)
    except CfxcError as error:
        return Reply(None, f"implausible: {error}")
    return judged(where, query, person, row)


def judged(where: World, query: Query, person: pd.DataFrame, row: pd.DataFrame) -> Reply:
    """A row by whomever, verified."""
    distance, faults = verified(where.case, query, person, row)
    return Reply(None, "; ".join(faults), row) if faults else Reply(distance, "", row)


def failures(of: Sequence[Reply]) -> Counter[str]:
    """Why there is no answer: how often which of the three reasons comes first."""
    kinds = ("no candidate", "implausible", "not flip")
    return Counter(
        next((kind for kind in kinds if kind in reply.reason), "other")
        for reply in of if reply.distance is None
    )  # fmt: skip
