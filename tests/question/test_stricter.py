"""Probabilities, margins, other models' words, pools, and criteria that are given up."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

import cfxc
from cfxc import Accepts
from cfxc.certificates.checker.reader import key
from cfxc.compiler.linear_reader import requirements
from cfxc.compiler.pipeline import simplified
from cfxc.question.target import resolve_target, score_scale, target_program
from tests.asking import within
from tests.certificates.mutants import rehashed
from tests.certificates.oracle import Meaning, is_true
from tests.question.test_criteria import GRID, NUMBERS, SPACE, WORTH, X, case

__all__ = ["case"]  # a fixture

SIZES = {name: float(SPACE[name].range) for name in NUMBERS}
GRADES = pd.cut(WORTH, 3, labels=["poor", "fair", "good"]).astype(str)
DENSITY = IsolationForest(n_estimators=12, random_state=0).fit(X[["duration", "amount"]])
PRICE = LinearRegression().fit(X[["duration", "rate"]], X.amount)


def away(row: pd.DataFrame, table: pd.DataFrame) -> np.ndarray:
    """The distance l1, by definition."""
    parts = [np.abs(table[name] - row[name].iloc[0]) / SIZES[name] for name in NUMBERS]
    parts.append((table.job != row.job.iloc[0]).astype(float))
    return np.column_stack(parts).mean(axis=1)


def agrees(result: cfxc.Result, row: pd.DataFrame, fits: np.ndarray) -> None:
    if not fits.any():
        assert result.status == "infeasible"
        return
    truth = away(row, GRID[fits]).min()
    assert result.status == "optimal", result.reason
    assert result.lower_bound - 1e-9 <= truth <= result.distance + 1e-9
    assert result.distance <= truth + 1e-3 + 1e-9


def chances(model: cfxc.CompiledModel, rows: pd.DataFrame, label: Any) -> np.ndarray:
    estimator = model.predictor.estimator
    found: np.ndarray = estimator.predict_proba(rows)[:, list(estimator.classes_).index(label)]
    return found


def test_probabilities(case: Any) -> None:
    model, _, people, engines = case
    if "probability" not in dict(model.program.outputs):
        with pytest.raises(cfxc.UnsupportedError, match="probabilities"):
            model.explain(people.iloc[[0]], subject_to=[cfxc.Probability(0.7)])
        return
    likely = chances(model, GRID, 1)
    for number, chance in enumerate((0.3, 0.6, 0.8, 0.95)):
        row = people.iloc[[number]]
        fits = (likely >= chance) & (model.predict(GRID) == 1)
        for method in engines:
            result = model.explain(
                row,
                target=1,
                subject_to=[cfxc.Probability(chance)],
                method=method,
            )
            agrees(result, row, fits)
            if result.counterfactual is not None:
                assert chances(model, result.counterfactual, 1)[0] >= chance


def test_margins(case: Any) -> None:
    model, _, people, engines = case
    estimator, margin = model.predictor.estimator, 0.4
    if hasattr(estimator, "decision_function"):
        lead = estimator.decision_function(GRID)
    elif isinstance(estimator[-1], MLPClassifier):
        odds = estimator.predict_proba(GRID)
        lead = np.log(odds[:, 1]) - np.log(odds[:, 0])
    else:
        lead = chances(model, GRID, 1) - chances(model, GRID, 0)
    row = people.iloc[[1]]
    if np.abs(lead - margin).min() < 1e-9:
        margin += 1e-6
    for method in engines:
        agrees(
            model.explain(
                row,
                target=1,
                subject_to=[cfxc.Margin(margin)],
                method=method,
            ),
            row,
            lead >= margin,
        )


@pytest.mark.parametrize(
    "kind", [LogisticRegression(), RandomForestClassifier(6, max_depth=4, random_state=0)]
)
def test_margins_over_every_rival(kind: Any) -> None:
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), ["job"]),
                                      remainder="passthrough")  # fmt: skip
    model = cfxc.compile(make_pipeline(encoder, kind).fit(X, GRADES), SPACE)
    estimator = model.predictor.estimator
    scores = (
        estimator.decision_function(GRID) if isinstance(kind, LogisticRegression)
        else estimator.predict_proba(GRID)
    )  # fmt: skip
    place = list(estimator.classes_).index("good")
    lead = scores[:, place] - np.delete(scores, place, axis=1).max(axis=1)
    row = X[model.predict(X) == "poor"].iloc[[0]]
    agrees(model.explain(row, target="good", subject_to=[cfxc.Margin(0.21)]), row, lead >= 0.21)
    if not isinstance(kind, LogisticRegression):
        likely = chances(model, GRID, "good")
        agrees(
            model.explain(row, target="good", subject_to=[cfxc.Probability(0.71)]),
            row,
            likely >= 0.71,
        )


@pytest.mark.parametrize(
    "kind",
    [
        AdaBoostClassifier(n_estimators=5, random_state=0),
        AdaBoostClassifier(LogisticRegression(), n_estimators=3, random_state=0),
        GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0),
        LogisticRegression(max_iter=500),
        MLPClassifier((3,), max_iter=300, random_state=0),
    ],
    ids=["ada boost", "ada boost of lines", "boosting", "linear", "network"],
)
def test_probabilities_of_three_labels_by_softmax(kind: Any) -> None:
    """Against enumeration: the condition is Σ exp(x_j - x_k) <= 1/p - 1."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 9, (300, 2)), columns=["a", "b"])
    kind.fit(table, np.digitize(table.a + table.b, [6, 10]))
    grid = pd.DataFrame(np.stack(np.meshgrid(range(9), range(9)), -1).reshape(-1, 2))
    grid = grid.set_axis(["a", "b"], axis=1)
    odds, labels = kind.predict_proba(grid)[:, 2], kind.predict(grid)
    row = table[kind.predict(table) != 2].iloc[[0]]
    model = cfxc.compile(kind, cfxc.FeatureSpace.infer(table))
    apart = (grid - row.to_numpy()[0]).abs().sum(axis=1) / 16
    for chance in (0.34, 0.8 * odds.max(), min(1.01 * odds.max(), 0.9999)):
        chance = round(float(chance), 4)
        assert np.abs(odds - chance).min() > 1e-9, "no tie that rounding decides"
        fits = (odds >= chance) & (labels == 2)
        answer = model.explain(
            row,
            target=2,
            subject_to=[cfxc.Probability(chance)],
            time_limit=15,
        )
        if not fits.any():
            assert answer.status in ("infeasible", "unknown"), answer.summary()
            continue
        truth = apart[fits].min()
        assert answer.distance is not None
        assert answer.lower_bound <= truth <= answer.distance + 1e-12
        if not isinstance(kind, LogisticRegression):  # which takes z3 long
            assert answer.status == "optimal", answer.summary()
            assert answer.distance == pytest.approx(truth, abs=1e-12)
        assert answer.counterfactual is not None
        assert kind.predict_proba(answer.counterfactual)[0, 2] >= chance


def test_rivals_far_ahead_do_not_overflow() -> None:
    """Leads of millions, as of networks on numbers that nobody scaled."""
    table = pd.DataFrame({"a": np.arange(9)})
    line = LogisticRegression().fit(table, table.a // 3)
    line.coef_ = np.array([[-1e8], [0.0], [1e8]])
    line.intercept_ = np.array([2.5e8, 0.0, -5.5e8])
    model = cfxc.compile(line, cfxc.FeatureSpace.infer(table))
    answer = model.explain(table.iloc[[0]], target=2, subject_to=[cfxc.Probability(0.9)])
    assert answer.changes == {"a": (0, 6)}


def test_a_person_may_be_accepted_but_not_clearly(case: Any) -> None:
    model, _, _, _ = case
    if "probability" not in dict(model.program.outputs):
        return
    likely = chances(model, X, 1)
    row = X[(model.predict(X) == 1) & (likely < 0.7)].iloc[[0]]
    with pytest.raises(cfxc.InvalidInputError, match="already"):
        model.explain(row, target=1)
    fits = (chances(model, GRID, 1) >= 0.75) & (model.predict(GRID) == 1)
    agrees(model.explain(row, target=1, subject_to=[cfxc.Probability(0.75)]), row, fits)


@pytest.mark.parametrize("asked", [
    {"relax": "everything"}, {"relax": 3}, {"subject_to": [DENSITY]},
    {"subject_to": [cfxc.Margin(0.1), cfxc.Margin(0.2)]},
    {"diversity": "pool", "method": "box", "count": 2}, {"apart": 0.3}, {"diversity": "features"},
])  # fmt: skip
def test_bad_arguments(case: Any, asked: dict[str, Any]) -> None:
    model, _, people, _ = case
    with pytest.raises(cfxc.CfxcError):
        model.explain(people.iloc[[0]], target=1, **asked)


@pytest.mark.parametrize(("kind", "value"), [
    (cfxc.Probability, 0), (cfxc.Probability, 1), (cfxc.Probability, "much"), (cfxc.Margin, -1),
    (cfxc.Margin, "wide"),
])  # fmt: skip
def test_criteria_that_are_none(kind: Any, value: Any) -> None:
    with pytest.raises(cfxc.CfxcError):
        kind(value)


def test_another_model_s_word(case: Any) -> None:
    """An isolation forest, a regressor's range, a tree; beside a constraint of the language."""
    model, _, people, engines = case
    tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X[["rate", "duration"]], X.amount)
    words = [
        (Accepts(DENSITY, label=1), DENSITY.predict(GRID[["duration", "amount"]]) == 1),
        (Accepts(tree, at_least=12), tree.predict(GRID[["rate", "duration"]]) >= 12),
        (
            Accepts(PRICE, at_least=8.123, at_most=15.321),
            np.abs(PRICE.predict(GRID[["duration", "rate"]]) - 11.722) <= 3.599,
        ),
    ]
    fits = model.predict(GRID) == 1
    for number, (word, holds) in enumerate(words):
        row = people.iloc[[number]]
        for method in engines:
            result = model.explain(
                row, target=1, subject_to=[word, "x.rate >= 2"], method=method
            )  # fmt: skip
            agrees(result, row, fits & holds & (GRID.rate >= 2))


def test_words_that_do_not_fit() -> None:
    with pytest.raises(cfxc.InvalidInputError, match="nothing that the model is to answer; give"):
        Accepts(PRICE)
    with pytest.raises(cfxc.InvalidInputError, match="both a label and ends"):
        Accepts(PRICE, at_least=1, label=1)
    with pytest.raises(cfxc.InvalidInputError):
        Accepts(PRICE, at_least=1, output="price")
    for word in (Accepts(PRICE, label=3), Accepts(DENSITY, label="yes")):
        with pytest.raises(cfxc.InvalidInputError, match="no such label"):
            word.program(SPACE)
    with pytest.raises(cfxc.UnsupportedError, match="no single number"):
        Accepts(DENSITY, at_least=0).program(SPACE)
    assert str(Accepts(PRICE, at_least=1, at_most=2)) == "1 <= LinearRegression <= 2"
    assert str(Accepts(DENSITY, label=1)) == "IsolationForest says 1"


def test_a_compiled_model_s_word() -> None:
    """It counts as the model that it was made of; over other features it is refused by name."""
    columns = ["duration", "amount"]
    compiled = cfxc.compile(DENSITY, SPACE.subset(columns))
    word, same = Accepts(compiled, label=1), Accepts(DENSITY, label=1)
    assert word.program(SPACE) == same.program(SPACE)
    with pytest.raises(cfxc.InvalidInputError, match=r"no such label; its labels are -1, 1"):
        Accepts(compiled, label=7).program(SPACE)
    with pytest.raises(cfxc.InvalidInputError, match=r"'amount' of sort .* is no feature here"):
        word.program(SPACE.subset(["duration", "rate"]))
    other = cfxc.FeatureSpace.infer(X, kinds={"amount": "real"})
    with pytest.raises(cfxc.InvalidInputError, match="'amount' of sort Int is of sort Real here"):
        word.program(other)


def test_pools(case: Any) -> None:
    """As many as asked for, different, all of them counterfactuals; the first is the nearest."""
    model, wanted, people, _ = case
    for region in (None, cfxc.TrustRegion(X, epsilon=0.1)):
        row = people.iloc[[3]]
        result = model.explain(row, target=1, count=3, diversity="pool", subject_to=within(region))
        every = result.all()
        assert len(every) == 3
        assert len({tuple(one.counterfactual.iloc[0]) for one in every}) == 3
        for one in every:
            assert model.predict(one.counterfactual)[0] == 1
            assert one.distance == pytest.approx(away(row, one.counterfactual)[0])
        if region is None:
            truth = away(row, wanted).min()
            assert truth - 1e-9 <= result.distance <= truth + 1e-3
            assert all(one.lower_bound <= one.distance for one in every)


def test_criteria_are_given_up_in_order(case: Any) -> None:
    model, _, people, _ = case
    row = people.iloc[[0]]
    own = row.iloc[0]
    rules = [f'x.job == "{own.job}"', f"x.duration == {own.duration}"]
    impossible = "x.rate + x.duration >= 100 * x.amount + 20"
    one = cfxc.MaxChanges(1)
    asked: dict[str, Any] = {"target": 1, "subject_to": [*rules, impossible, one]}
    with pytest.raises(cfxc.CfxcError):
        model.explain(row, **asked)  # no row at all can meet these
    still = [f"x.rate == {own.rate}", f"x.amount == {own.amount}"]
    asked = {"target": 1, "subject_to": [*rules, *still, one]}
    result = model.explain(row, **asked, relax=[one, rules[1], "constraints"])
    assert result.status == "infeasible"
    assert result.relaxed is not None
    few = "at most 1 feature may change"
    assert set(result.given_up) - {few} in ({rules[1]}, {*rules, *still})  # one after the other
    assert model.predict(result.relaxed.counterfactual)[0] == 1
    kept = [each for each in (*rules, *still) if each not in result.given_up]
    again = model.explain(row, target=1, subject_to=[*kept, one])
    assert (few in result.given_up) == (again.status == "infeasible")  # none without need
    region = cfxc.TrustRegion(X)
    both = {"target": 1, "subject_to": [*rules, *still, one, region]}
    free = model.explain(row, **both, relax=["trust_region", "constraints"])
    inside = model.explain(row, target=1, subject_to=[one, region])
    needed = ["within"] * (inside.status == "infeasible")
    assert [each[:6] for each in free.given_up if each not in (*rules, *still)] == needed
    assert [each for each in free.given_up if each in (*rules, *still)] == [*rules, *still]
    none = model.explain(row, **asked, relax="max_changes")
    assert none.relaxed is None


def test_weights_by_the_median_absolute_deviation() -> None:
    space = SPACE.with_mad_weights(X)
    for name in NUMBERS:
        spread = np.median(np.abs(X[name] - X[name].median()))
        assert float(space[name].weight) == pytest.approx(SIZES[name] / spread)
    assert space["job"].weight == 1
    still = SPACE.with_mad_weights(X.assign(rate=2))
    assert still["rate"].weight == 1


def test_answers_that_are_apart(case: Any) -> None:
    """Numbers differ by a share of their range, or another feature does; with pools too."""
    model, _, people, engines = case
    row = people.iloc[[2]]
    asked: dict[str, Any] = {"target": 1, "count": 4, "apart": 0.5}
    ways: list[dict[str, Any]] = [*({"method": method} for method in engines)]
    for way in [*ways, {"diversity": "pool"}]:
        every = model.explain(row, **asked, **way).all()
        assert len(every) == 4
        for i, one in enumerate(every):
            for other in every[:i]:
                first, second = one.counterfactual.iloc[0], other.counterfactual.iloc[0]
                wide = [abs(first[n] - second[n]) >= 0.5 * SIZES[n] for n in NUMBERS]
                assert any(wide) or first.job != second.job
        far = [one.distance for one in every]
        assert far[0] <= min(far) + 1e-3


def test_one_answer_per_cluster(case: Any) -> None:
    model, _, people, _ = case
    row = people.iloc[[1]]
    with pytest.raises(cfxc.InvalidInputError, match="clusters"):
        model.explain(row, target=1, count=2, diversity="clusters")
    region = cfxc.TrustRegion(X, clusters=3)
    result = model.explain(row, target=1, count=5, diversity="clusters", subject_to=[region])
    every = result.all()
    assert len(every) <= 3
    assert result.stop_reason in ("infeasible", "unknown")
    assert all(model.predict(one.counterfactual)[0] == 1 for one in every)
    assert len({tuple(one.counterfactual.iloc[0]) for one in every}) == len(every)


CERTIFIED: dict[str, list[Any]] = {
    "cap": [cfxc.MaxChanges(2)],
    "cap and condition": [cfxc.MaxChanges(1), "x.rate + x.duration <= 9"],
    "equation": [cfxc.Causal({"amount": "3 * duration"})],
    "regression": [cfxc.Causal({"amount": (PRICE, ["duration", "rate"])})],
    "price": [Accepts(PRICE, at_least=8.1)],
}
STRICTER: dict[str, list[Any]] = {
    "probability": [cfxc.Probability(0.7)],
    "margin": [cfxc.Margin(0.4)],
    "both": [cfxc.Probability(0.6), cfxc.Margin(0.1)],
    "probability and condition": [cfxc.Probability(0.8), "x.rate >= 2"],
}


@pytest.mark.parametrize("name", STRICTER)
def test_certificates_of_stricter_targets_are_true(case: Any, name: str) -> None:
    """What the certificate's own program asks of each row is what the model does."""
    model, _, people, _ = case
    asked = STRICTER[name]
    least = next((each.least for each in asked if isinstance(each, cfxc.Probability)), None)
    if least is not None and "probability" not in dict(model.program.outputs):
        return
    result = model.explain(people.iloc[[1]], target=1, epsilon=1e-6, subject_to=asked)
    found = cfxc.check(result.certificate)
    assert found.ok, found.reason
    assert found.shown is not None
    assert set(found.content["question"]["target"]) == {"label", "margin", "least"}
    rows = GRID.iloc[::7]
    fits = model.predict(rows) == 1
    if least is not None:
        fits &= chances(model, rows, 1) >= least
    meaning, features = Meaning(found.content), found.shown.question.features
    points = [
        [f.labels.index(key(v)) if f.labels else Fraction(v)
         for f, v in zip(features, row, strict=True)]
        for row in rows.itertuples(index=False)
    ]  # fmt: skip
    wanted = np.array([meaning.reached(point) for point in points])
    assert (wanted <= fits).all()
    assert any(isinstance(each, cfxc.Margin) for each in asked) or (wanted == fits).all()
    assert is_true(found.content)
    raised = {**found.content, "claim": {**found.content["claim"], "lower_bound": "9"}}
    assert not cfxc.check(rehashed(raised)).ok


@pytest.mark.parametrize("name", CERTIFIED)
def test_certificates_of_linear_criteria(case: Any, name: str) -> None:
    """Mixed-integer runs with linear conditions have one that the checker accepts."""
    model, _, people, _ = case
    result = model.explain(people.iloc[[0]], target=1, subject_to=CERTIFIED[name])
    if result.status in ("optimal", "infeasible"):
        content = result.certificate.to_dict()
        assert cfxc.check(content).ok, cfxc.check(content).reason
        raised = {**content, "claim": {**content["claim"], "lower_bound": "9"}}
        assert not cfxc.check(rehashed(raised)).ok


def test_conditions_on_trees_beside_networks_have_one(case: Any) -> None:
    """By box search, and by linear programs over leaves."""
    model, _, people, _ = case
    tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X[["rate", "duration"]], X.amount)
    word = Accepts(tree, at_least=12)
    result = model.explain(people.iloc[[0]], target=1, subject_to=[word])
    found = cfxc.check(result.certificate)
    assert found.ok, found.reason
    if "TreeEnsemble" in str(model.program.body):
        assert is_true(found.content)


@pytest.mark.parametrize("trees", [1, 3, 7])
def test_scores_are_compared_before_they_are_averaged(trees: int) -> None:
    """What ``target_program`` compares, times ``score_scale``, is what the model calls a score."""
    table = pd.DataFrame({"a": range(12), "b": [n * n % 7 for n in range(12)]})
    labels = [("no", "maybe", "yes")[n % 3] for n in range(12)]
    forest = RandomForestClassifier(trees, random_state=0).fit(table, labels)
    program = cfxc.compile(forest, cfxc.FeatureSpace.infer(table)).program
    target = resolve_target(program, "yes", {"label": "no"})
    assert score_scale(program, target) == Fraction(1, trees)
    votes = requirements(simplified(target_program(program, target, Fraction(0))), "in_target")
    leaves = {source for each in votes for source in each.form.terms}
    assert len(leaves) == len(votes) == 2  # one column of leads for each of the other labels
