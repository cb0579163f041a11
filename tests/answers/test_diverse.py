"""``Diverse``: every answer, difference and bound beside all rows of small spaces."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import cfxc
from cfxc.answers import spreading
from cfxc.answers.spreading import MORE, Spread
from cfxc.arrays import Floats
from cfxc.errors import DataTypeError, InvalidInputError
from cfxc.solvers.base import Limits
from cfxc.solvers.box_search import apart
from cfxc.stopping import left, poll

MODELS = {
    "forest": RandomForestClassifier(9, max_depth=5, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=12, random_state=0),
    "logistic": LogisticRegression(),
    "network": MLPClassifier((3,), max_iter=300, random_state=0),
}
WEIGHED = "program d(delta: Real[J]) { return 20*delta[1] + delta[2] + delta[3] + delta[4] }"
DISTANCES: dict[str, Any] = {
    "l0": "l0", "l1": "l1", "l2": "l2", "linf": "linf", "sparse": "sparse",
    "a mix": {"l0": 0.4, "linf": 0.6},
    "a program": WEIGHED,
}  # fmt: skip
CLOSE = 1e-9
OVER = {"least": "min", "mean": "mean"}


def table() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 8, 300),
            "pay": rng.integers(0, 9, 300) / 4,
            "sector": rng.choice(["art", "it", "law"], 300),
            "grade": rng.choice(["low", "mid", "top"], 300),
        }
    )


X = table()
SPACE = cfxc.FeatureSpace.infer(
    X, ordinal={"grade": ["low", "mid", "top"]}, resolution={"pay": 0.25}
)
ROWS = pd.DataFrame(
    itertools.product(range(8), np.arange(9) / 4, ["art", "it", "law"], ["low", "mid", "top"]),
    columns=X.columns,
).astype({"age": X["age"].dtype})
PLACES = {"low": 0, "mid": 1, "top": 2}


def fitted(kind: str) -> Any:
    encode = make_column_transformer(
        (OneHotEncoder(), ["sector", "grade"]), remainder="passthrough"
    )
    wanted = X["age"] / 4 + X["pay"] - (X["sector"] == "art") + X["grade"].map(PLACES) / 2 > 2.6
    return make_pipeline(encode, MODELS[kind]).fit(X, np.where(wanted, "yes", "no"))


def deltas(rows: pd.DataFrame, other: pd.Series[Any]) -> Floats:
    return np.column_stack(
        [
            abs(rows["age"] - other["age"]) / 7,
            abs(rows["pay"] - other["pay"]) / 2,
            rows["sector"] != other["sector"],
            abs(rows["grade"].map(PLACES) - PLACES[other["grade"]]) / 2,
        ]
    ).astype(float)


def norm(name: str, delta: Floats) -> Floats:
    changed, mean = (delta > 0).mean(1), delta.mean(1)
    found: dict[str, Floats] = {
        "l0": changed, "l1": mean, "linf": delta.max(1), "l2": np.sqrt((delta**2).mean(1)),
        "sparse": (4 * changed + mean) / 5, "a mix": 0.4 * changed + 0.6 * delta.max(1),
        "a program": delta @ [20, 1, 1, 1],
    }  # fmt: skip
    return found[name]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("aggregate", ["least", "mean"])
@pytest.mark.parametrize("within", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("measure", ["l1", "l0", "linf"])
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("kind", MODELS)
def test_all_rows_are_compared(
    kind: str, distance: str, measure: Any, within: float, aggregate: Any
) -> None:
    pipeline = fitted(kind)
    model, outcomes = cfxc.compile(pipeline, SPACE), pipeline.predict(ROWS)
    rng = np.random.default_rng(len(kind + distance + measure))
    person = X.iloc[[int(rng.integers(len(X)))]]
    target = "no" if pipeline.predict(person)[0] == "yes" else "yes"
    tolerance = 0.1
    answer = model.explain(
        person, target=target, distance=DISTANCES[distance], count=3,
        diversity=cfxc.Diverse(within, measure, tolerance, aggregate=aggregate),
    )  # fmt: skip
    far = norm(distance, deltas(ROWS, person.iloc[0]))
    least, limit = far[outcomes == target].min(), (1 + within) * float(answer.distance)  # type: ignore[arg-type]
    assert answer.distance == pytest.approx(least, rel=1e-3)
    near, over = ROWS[(outcomes == target) & (far <= limit + CLOSE)], getattr(np, OVER[aggregate])
    for number, other in enumerate(answer.alternatives, 1):
        row = other.counterfactual
        assert pipeline.predict(row)[0] == target
        assert other.distance <= limit + CLOSE  # type: ignore[operator]
        before = [one.counterfactual.iloc[0] for one in answer.all()[:number]]
        assert not any(deltas(row, one).sum() == 0 for one in before)
        new = near[np.min([deltas(near, one).sum(1) for one in before], axis=0) > 0]
        apart = over([norm(measure, deltas(new, one)) for one in before], axis=0).max()
        own = over([norm(measure, deltas(row, one))[0] for one in before])
        assert other.apart == pytest.approx(own)
        assert own <= apart + CLOSE <= other.apart_bound + 2 * CLOSE  # type: ignore[operator]
        if other.reason != MORE:
            assert (1 - tolerance) * apart - CLOSE <= own
    if len(answer.all()) < 3:
        assert (answer.stop_reason, len(near)) == ("infeasible", len(answer.all()))


@pytest.mark.parametrize("distance", ["l1", "l0", "l2"])
def test_a_million_times_as_far_is_anywhere(distance: str) -> None:
    model = cfxc.compile(fitted("forest"), SPACE)
    person = X[model.predict(X) == "no"].iloc[[0]]
    answer = model.explain(
        person, target="yes", distance=distance, count=3, diversity=cfxc.Diverse(1e6)
    )
    assert len(answer.all()) == 3


def test_nothing_else_is_near() -> None:
    model = cfxc.compile(fitted("forest"), SPACE)
    person = X[model.predict(X) == "no"].iloc[[0]]
    answer = model.explain(person, distance="l0", count=400, diversity=cfxc.Diverse(0, "linf"))
    assert answer.stop_reason == "infeasible"
    assert len({tuple(one.counterfactual.iloc[0]) for one in answer.all()}) == len(answer.all())


def test_little_effort_finds_the_rows_that_there_are() -> None:
    model = cfxc.compile(fitted("forest"), SPACE)
    for i in range(12):
        person = X[model.predict(X) == "no"].iloc[[i]]
        answer = model.explain(
            person, target="yes", count=3, diversity=cfxc.Diverse(8.0, effort=1e-6),
            subject_to=[cfxc.MaxChanges(3)],
        )  # fmt: skip
        far = norm("l1", deltas(ROWS, person.iloc[0]))
        few = (deltas(ROWS, person.iloc[0]) > 0).sum(1) <= 3
        limit = 9 * float(answer.distance) + CLOSE  # type: ignore[arg-type]
        there = int(((model.predict(ROWS) == "yes") & few & (far <= limit)).sum())
        assert len(answer.all()) == min(3, there)


@pytest.mark.parametrize("distance", ["l0", "l1"])
@pytest.mark.parametrize("kind", ["forest", "logistic"])
def test_what_was_given_up_says_so(kind: str, distance: str) -> None:
    """Also of an answer as near as the nearest; it is no matter of the time limit."""
    model = cfxc.compile(fitted(kind), SPACE)
    seen = set[str]()
    for i in range(4):
        answer = model.explain(
            X[model.predict(X) == "no"].iloc[[i]], target="yes", distance=distance, count=4,
            diversity=cfxc.Diverse(0.2, effort=1e-9), time_limit=60.0,
        )  # fmt: skip
        for one in answer.alternatives:
            assert one.apart_bound is not None
            assert one.apart_bound <= 1
            as_asked = one.apart >= 0.9 * (1 - 1e-8) * one.apart_bound
            assert one.is_settled == as_asked
            assert one.reason == MORE or as_asked
            seen.add(one.reason)
    assert MORE in seen


@pytest.mark.parametrize("distance", ["l1", "l2", "linf"])
def test_rows_of_wide_ranges_are_no_near_copies(distance: str) -> None:
    """Where solvers cannot tell the border from the inside, rows are drawn."""
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({
        "a": rng.integers(0, 10**12, 300), "b": np.round(rng.random(300) * 1e-6, 9),
        "c": rng.random(300) * 1e12,
    })  # fmt: skip
    wanted = rows["a"] / 1e12 + rows["b"] * 1e6 + rows["c"] / 1e12 > 1.6
    network = make_pipeline(StandardScaler(), MLPClassifier((4,), max_iter=200, random_state=0))
    model = cfxc.compile(
        network.fit(rows, wanted), cfxc.FeatureSpace.infer(rows, resolution={"b": 1e-9})
    )
    answer = model.explain(
        rows[~model.predict(rows)].iloc[[5]], target=True, distance=distance, count=3,
        diversity=cfxc.Diverse(0.5),
    )  # fmt: skip
    assert [one.apart > 0.1 * one.apart_bound for one in answer.alternatives] == [True] * 2  # type: ignore[operator]


@pytest.mark.parametrize("measure", ["l1", "linf"])
def test_bounds_hold_of_narrow_ranges_far_from_zero(measure: Any) -> None:
    """Solvers take for one what differs by less than their tolerance."""
    first, steps, step = np.array([1024.0, 1.0, 1.0]), np.array([4, 6, 4]), 2.0**-30
    grid = np.array(list(itertools.product(*[range(n + 1) for n in steps])))
    rows = pd.DataFrame(first + grid * step, columns=list("abc"))
    wanted = (grid[:, 1] > 3) & (grid[:, 0] > 0)
    tree = make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(rows, wanted)
    features = [
        cfxc.Feature(
            name, "real", lower=low, upper=low + n * step, resolution=Fraction(1, 2**30)
        ) for name, low, n in zip(rows, first, steps, strict=True)
    ]  # fmt: skip
    model = cfxc.compile(tree, cfxc.FeatureSpace(features))
    diversity = cfxc.Diverse(within=1000, measure=measure)
    answers = model.explain(
        rows[:1], target=True, count=3, method="mio", diversity=diversity, time_limit=8
    ).all()
    least = np.full(len(grid), inf)
    for answer, other in itertools.pairwise(answers):
        assert answer.counterfactual is not None
        own = (answer.counterfactual.to_numpy(np.float64)[0] - first) / step
        parts = np.abs(grid - own) / steps
        least = np.minimum(least, parts.mean(1) if measure == "l1" else parts.max(1))
        assert other.apart_bound is not None
        assert other.apart_bound >= least[wanted].max() * (1 - 1e-9)
    assert len(answers) == 3


def test_a_least_difference_is_of_other_answers() -> None:
    with pytest.raises(InvalidInputError, match=r"apart is for diversity='points'.*leave one"):
        cfxc.Question(count=3, apart=0.3, diversity=cfxc.Diverse())


def test_no_feature_is_moved_apart_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of hundreds of features each takes a while; rows that are moved are only sooner found."""
    asked = {"target": "yes", "count": 3, "diversity": cfxc.Diverse(0.5)}
    model = cfxc.compile(fitted("boosting"), SPACE)
    person = X[model.predict(X) == "no"].iloc[[0]]
    whole = model.explain(person, **asked)
    moves = list[bool]()
    monkeypatch.setattr(apart, "is_over", lambda: True)
    monkeypatch.setattr(apart.FarthestSearch, "_move", lambda *_: moves.append(True))
    answer = model.explain(person, **asked)
    assert not moves
    assert [one.apart for one in answer.all()] == [one.apart for one in whole.all()]


@pytest.mark.parametrize("aggregate", ["least", "mean"])
@pytest.mark.parametrize("far", ["whitened", "(1 + x.age) * delta[1] + delta[2]"])
def test_distances_that_read_values_limit_them_too(far: str, aggregate: Any) -> None:
    known, rows = X[["age", "pay"]], ROWS[["age", "pay"]].drop_duplicates()
    space = cfxc.FeatureSpace.infer(known, resolution={"pay": 0.25})
    tree = DecisionTreeClassifier(max_depth=4).fit(known, known["age"] / 4 + known["pay"] > 2)
    person, distance = known[~tree.predict(known)].iloc[[0]], cfxc.Mahalanobis(known)
    moved = (rows - person.iloc[0]).to_numpy(float)
    away = np.sqrt((moved @ np.linalg.inv(np.cov(known.T, ddof=0)) * moved).sum(1))
    if far != "whitened":
        distance = f"program d(delta: Real[J]) {{ return {far} }}"
        away = (1 + rows["age"].to_numpy()) * abs(moved[:, 0]) / 7 + abs(moved[:, 1]) / 2
    answer = cfxc.compile(tree, space).explain(
        person, target=True, distance=distance, count=3,
        diversity=cfxc.Diverse(1.0, aggregate=aggregate),
    )  # fmt: skip
    there = tree.predict(rows)
    assert answer.distance == pytest.approx(away[there].min(), rel=1e-3)
    near = rows[there & (away <= 2 * float(answer.distance) + CLOSE)]  # type: ignore[arg-type]
    assert len(answer.all()) == min(3, len(near))
    for number, other in enumerate(answer.alternatives, 1):
        before = [one.counterfactual.iloc[0] for one in answer.all()[:number]]
        apart = [(abs(near - one) / [7, 2]).to_numpy(float).mean(1) for one in before]
        new = np.min(apart, axis=0) > 0
        best = getattr(np, OVER[aggregate])(apart, axis=0)[new].max()
        assert other.apart <= best + CLOSE <= other.apart_bound + 2 * CLOSE  # type: ignore[operator]
        assert other.reason == MORE or other.apart >= 0.9 * best - CLOSE  # type: ignore[operator]


@pytest.mark.parametrize("method", ["box", "mio"])
def test_what_prepares_the_search_for_a_row_looks_at_the_clock(
    method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is known of a forest takes longer than a short limit: seconds, once."""
    seen = list[float]()

    def told(*_: object) -> str:
        seen.append(left())
        poll()
        return ""

    monkeypatch.setattr(spreading, "examples_of", told)
    monkeypatch.setattr(spreading.mio, "refuses", told)
    monkeypatch.setattr(spreading.box_search, "moved", lambda *_: [])
    model = cfxc.compile(fitted("forest"), SPACE)
    person = X[model.predict(X) == "no"].iloc[[0]]
    model.explain(
        person, target="yes", count=3, diversity=cfxc.Diverse(8.0, effort=1e-9), method=method,
        time_limit=7.0,
    )  # fmt: skip
    assert seen
    assert all(seconds <= 7.0 for seconds in seen)


def test_no_bisection_begins_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mixed-integer search may have used it all up, and found no row."""
    asked = list[float]()

    def without_time(self: Spread, *_: object) -> Any:
        self.known = []
        return Limits(Fraction(0), 0.0)

    def search(*_: object) -> Any:
        asked.append(left())

    monkeypatch.setattr(Spread, "_limits", without_time)
    monkeypatch.setattr(Spread, "_search", search)
    model = cfxc.compile(fitted("logistic"), SPACE)
    person = X[model.predict(X) == "no"].iloc[[0]]
    found = model.explain(
        person, target="yes", distance="l1", count=3, diversity=cfxc.Diverse(), method="smt"
    )
    assert not asked
    assert (found.status, found.stop_reason, found.alternatives) == ("optimal", "unknown", ())


@pytest.mark.parametrize("effort", [1e-9, inf])
def test_bisection_goes_on_for_as_long_as_the_effort_lasts(
    effort: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[Any]()
    search = Spread._search
    monkeypatch.setattr(Spread, "_search", lambda *given: asked.append(1) or search(*given))
    model = cfxc.compile(fitted("forest"), SPACE)
    answer = model.explain(
        X[model.predict(X) == "no"].iloc[[0]], target="yes", count=3,
        diversity=cfxc.Diverse(2.0, tolerance=0.0, effort=effort),
        subject_to=[cfxc.TrustRegion(X)],
    )  # fmt: skip
    given_up = [one.reason == MORE for one in answer.alternatives]
    assert given_up == [effort < 1] * 2
    assert len(asked) == 2 if effort < 1 else len(asked) > 20


@pytest.mark.parametrize("aggregate", ["least", "mean"])
@pytest.mark.parametrize("size", [10**6, 10**9, 10**12])
def test_rows_that_differ_by_little_are_told_apart_or_said_not_to_be(
    size: int, aggregate: Any
) -> None:
    rows = pd.DataFrame({"a": [0, 499, 500, size], "b": [0, 1, 0, 1]})
    tree = DecisionTreeClassifier().fit(rows[["a"]].assign(b=0), [0, 0, 1, 1])
    space = cfxc.FeatureSpace.infer(rows, fixed=["b"])
    answer = cfxc.compile(tree, space).explain(
        {"a": 499, "b": 0}, target=1, count=5, time_limit=5.0,
        diversity=cfxc.Diverse(3.0, aggregate=aggregate),
    )  # fmt: skip
    values = [int(one.counterfactual["a"].iloc[0]) for one in answer.all()]
    assert values[0] == 500
    assert len(set(values)) == len(values)
    assert set(values) <= {500, 501, 502, 503}
    for number, other in enumerate(answer.alternatives, 1):
        if other.reason.endswith("to within 10 %"):
            rest = {500, 501, 502, 503} - set(values[:number])
            over = np.min if aggregate == "least" else np.mean
            best = max(over([abs(one - v) for v in values[:number]]) for one in rest)
            assert over([abs(values[number] - v) for v in values[:number]]) >= 0.9 * best


def test_features_of_no_weight_tell_rows_apart() -> None:
    model = cfxc.compile(fitted("forest"), SPACE.replace("pay", weight=0))
    refused, repeated = X[model.predict(X) == "no"], 0
    for i in range(12):
        answer = model.explain(
            refused.iloc[[i]], target="yes", count=6, diversity=cfxc.Diverse(0.0, effort=inf)
        )
        rows = [tuple(one.counterfactual.iloc[0]) for one in answer.all()]
        assert len(set(rows)) == len(rows)
        repeated += answer.distance == 0 and len(rows) > 2
    assert repeated


def test_seeds_are_rows_to_begin_with() -> None:
    model = cfxc.compile(fitted("boosting"), SPACE)
    person = X[model.predict(X) == "no"].iloc[[0]]
    options: dict[str, Any] = {"target": "yes", "count": 3, "diversity": cfxc.Diverse()}
    plain, seeded = model.explain(person, **options), model.explain(person, seeds=ROWS, **options)
    for one, other in zip(plain.alternatives, seeded.alternatives, strict=True):
        assert other.apart == pytest.approx(one.apart, rel=0.12)
        assert other.apart_bound is not None


@pytest.mark.parametrize("number", ["1e-330", "1e31", "1e308"])
def test_what_cannot_be_weighed_is_refused_where_answers_are_to_differ(number: str) -> None:
    tree, person = fitted("forest"), X[fitted("forest").predict(X) == "no"].iloc[[0]]
    far = f"program d(delta: Real[J]) {{ return {number}*delta[1] + max(delta[2], delta[3]) }}"
    heavy = SPACE.replace("age", weight=number)
    for space, options in ((heavy, {}), (SPACE, {"distance": far})):
        model = cfxc.compile(tree, space)
        alone = model.explain(person, target="yes", time_limit=5, **options)
        assert alone.counterfactual is not None
        with pytest.raises(InvalidInputError, match="neither 0 nor from 1e-30 to 1e30"):
            model.explain(person, target="yes", count=2, diversity=cfxc.Diverse(), **options)


def test_as_text() -> None:
    wanted = cfxc.Diverse(within=1, measure="l0")
    question = cfxc.Question(target="yes", count=3, diversity=wanted)
    assert cfxc.Question.from_toml(question.to_toml() + "\n").diversity == wanted
    assert cfxc.Question(diversity="diverse").diversity == cfxc.Diverse()
    assert cfxc.Question(diversity=" within = 1/2 ").diversity == cfxc.Diverse(0.5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("divers", "unknown diversity 'divers'.* .nearest: 'diverse'"),
        ("within=", "within: '' is not a finite number"),
        ("within=-1", "within must be at least 0"),
        ("within=1e400", "within"),
        ("within=1e308", "within is at most 1000000"),
        ("within=1,within=2", "each of within, measure, tolerance, effort, aggregate once"),
        ("nothing=1", "each of within, measure, tolerance, effort, aggregate once"),
        ("measure=l3", "'l3' is none of l1, l0, linf"),
        ("tolerance=1", "tolerance is below 1"),
        ("tolerance=2", "tolerance is a share from 0 to 1"),
    ],
)
def test_wrong_diversity(given: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        cfxc.Question(diversity=given)
    with pytest.raises(DataTypeError, match=r"or a cfxc\.Diverse, not 3"):
        cfxc.Question(diversity=3)  # type: ignore[arg-type]  # that is what is tested


def test_a_copy_but_for_rounding_is_no_other_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.random((80, 2)), columns=["u", "v"])
    line = LogisticRegression().fit(rows, rows.u + rows.v > 1)
    model = cfxc.compile(line, cfxc.FeatureSpace.infer(rows, resolution=None))
    person = rows[line.predict(rows) == 0].iloc[[0]]
    asked = {"target": True, "count": 2, "diversity": cfxc.Diverse(0.5)}
    assert len(model.explain(person, **asked).all()) == 2
    farthest = Spread._farthest

    def nearly(self: Spread, *given: Any) -> Any:
        found = farthest(self, *given)
        point = {**self.chosen[0], "u": self.chosen[0]["u"] + Fraction(1, 10**12)}
        return replace(found, candidate=replace(found.candidate, point=point))

    monkeypatch.setattr(Spread, "_farthest", nearly)
    answer = model.explain(person, **asked)
    assert len(answer.all()) == 1
    assert answer.stop_reason == "unknown"
