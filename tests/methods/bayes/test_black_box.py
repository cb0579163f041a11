"""Questions about outputs of models that are called: what is found, kept to, shared, refused."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from onnxruntime import InferenceSession
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import cfxc
from cfxc.errors import CfxcError
from cfxc.methods.bayes import search
from cfxc.methods.bayes.search import inputs_of
from cfxc.methods.bayes.task import Region
from cfxc.question.criteria import criteria_of
from cfxc.question.rules import make_rules
from tests.asking import at_most

RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "area": RNG.integers(30, 60, 200),
        "rooms": RNG.integers(1, 6, 200),
        "town": RNG.choice(["a", "b", "c"], 200),
        "age": RNG.integers(0, 40, 200) / 4,
    }
)
SPACE = cfxc.FeatureSpace.infer(X, fixed=["town"], increase=["age"]).replace("age", resolution=0.25)
ROW = X.iloc[[3]]


def price(rows: pd.DataFrame) -> np.ndarray[Any, Any]:
    town = rows["town"].map({"a": 0.0, "b": 40.0, "c": 90.0})
    return np.asarray(2.0 * rows["area"] + 10.0 * rows["rooms"] + town - rows["age"], np.float64)


FOREST = make_pipeline(
    make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough"),
    RandomForestRegressor(8, max_depth=4, random_state=0),
).fit(X, price(X))


def every_row(row: pd.DataFrame, changes: int) -> pd.DataFrame:
    """All admissible rows of the space with at most so many changes."""
    own = row.iloc[0]
    ages = np.arange(own["age"], X["age"].max() + 0.25, 0.25)
    grid = product(range(30, 60), range(1, 6), ages)
    rows = pd.DataFrame(list(grid), columns=["area", "rooms", "age"]).assign(town=own["town"])
    rows = rows[list(X.columns)].astype(X.dtypes.to_dict())
    return rows[(rows != own.to_numpy()).sum(axis=1) <= changes]


@pytest.mark.parametrize("target", [cfxc.SEP(12), cfxc.AEP(12), cfxc.AEP(12, "-")], ids=str)
def test_the_output_is_about_as_far_away_as_asked_for(target: Any) -> None:
    found = cfxc.BlackBox(price, SPACE).explain(ROW, target, budget=40)
    assert found.status == "optimal"
    assert found.counterfactual is not None
    after = float(price(found.counterfactual)[0])
    assert after == found.outcome_after
    assert found.potential == float(target(after, price(ROW)[0])) >= 0.99 / np.e
    assert list(found.trace) == sorted(found.trace)
    assert len(found.trace) == found.evaluations == len(found.data) <= 40
    assert found.counterfactual["town"].iloc[0] == ROW["town"].iloc[0]
    assert found.counterfactual["age"].iloc[0] >= ROW["age"].iloc[0]
    assert found.counterfactual.dtypes.equals(ROW.dtypes)


@pytest.mark.parametrize("changes", [1, 2])
def test_few_changes_and_constraints_are_kept_to(changes: int) -> None:
    found = cfxc.BlackBox(price, SPACE).explain(
        ROW,
        cfxc.AEP(9),
        budget=60,
        subject_to=[
            "rooms <= factual.rooms",
            cfxc.MaxChanges(changes),
        ],
    )
    rows = every_row(ROW, changes)
    rows = rows[rows["rooms"] <= ROW["rooms"].iloc[0]]
    best = cfxc.AEP(9)(price(rows), price(ROW)[0]).max()
    assert found.potential >= 0.99 * best
    assert len(found.changes) <= changes
    tried = found.data.to_frame().iloc[1:]
    assert (tried["rooms"] <= ROW["rooms"].iloc[0]).all()
    assert ((tried[list(X.columns)] != ROW.iloc[0].to_numpy()).sum(axis=1) <= changes).all()


@pytest.mark.parametrize("width", [8.0, 60.0, 400.0])
def test_exact_engines_bracket_the_best_potential(width: float) -> None:
    model = cfxc.compile(FOREST, SPACE)
    target = cfxc.AEP(width)
    found = model.explain(ROW, target=target, method="bayes", budget=15, epsilon=0.01)
    rows = every_row(ROW, 4)
    best = float(target(FOREST.predict(rows), FOREST.predict(ROW)[0]).max()) * np.e
    assert found.share <= best + 1e-12
    assert best <= found.bound + 1e-9
    if found.status == "optimal":
        assert best >= 0.99
    else:
        assert found.status == "infeasible"
        assert best < 0.99
        assert found.gap <= 0.0101
        assert found.provers


def test_a_target_in_reach_of_the_exact_engine_alone_is_found_by_it() -> None:
    model = cfxc.compile(FOREST, SPACE)
    found = model.explain(ROW, target=cfxc.AEP(10), budget=2, epsilon=0.05)
    assert found.status == "optimal"
    assert found.by_proof
    assert found.evaluations == len(found.trace) == len(found.data) >= 3
    assert found.trace[-1] == found.share


def test_evaluations_of_another_model_are_refused() -> None:
    data = cfxc.BlackBox(price, SPACE).explain(ROW, cfxc.AEP(15), budget=12).data
    with pytest.raises(CfxcError, match="of another model"):
        cfxc.BlackBox(FOREST.predict, SPACE).explain(ROW, cfxc.AEP(15), data=data)


def test_evaluations_of_the_same_model_in_single_precision_are_taken(tmp_path: Path) -> None:
    """Of many rows at once, sums of single floats are taken in another order than of one."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 12)).astype(np.float32)).add_prefix("x")
    linear = LinearRegression().fit(table.to_numpy(), np.sin(table.sum(axis=1)))
    proto = convert_sklearn(linear, initial_types=[("X", FloatTensorType([None, 12]))])
    space = cfxc.FeatureSpace.infer(table)
    model = cfxc.compile(proto, space)
    ask = {"budget": 20, "epsilon": 1e-6, "prove": False}
    first = cfxc.BlackBox(model).explain(table.iloc[[3]], cfxc.AEP(1.0), **ask)
    first.data.save(tmp_path / "seen.json")
    data = cfxc.Evaluations.load(tmp_path / "seen.json", space)
    assert cfxc.BlackBox(model).explain(table.iloc[[3]], cfxc.AEP(1.2), data=data, **ask)


@pytest.mark.parametrize(("share", "refused"), [(0.9e-5, False), (1.1e-5, True)])
def test_how_far_outputs_of_one_model_may_differ(share: float, refused: bool) -> None:
    box = cfxc.BlackBox(MODEL)
    data = box.explain(ROW, cfxc.AEP(15), budget=6, prove=False).data
    data.outputs[2] += share * max(map(abs, data.outputs))
    data.owner = None  # as if from a file
    with pytest.raises(CfxcError, match="of row 2") if refused else nullcontext():
        box.explain(ROW, cfxc.AEP(16), budget=9, prove=False, data=data)


def test_the_probability_of_a_binary_classifier() -> None:
    classifier = make_pipeline(
        FOREST[0], RandomForestClassifier(20, max_depth=5, random_state=0)
    ).fit(X, price(X) > 150)
    model = cfxc.compile(classifier, SPACE)
    chances = classifier.predict_proba(X)[:, 1]
    row = X.iloc[[int(np.argmax(chances < 0.2))]]
    found = model.explain(row, target=cfxc.AEP(0.4), budget=60, epsilon=0.05)
    assert found.outcome_before == classifier.predict_proba(row)[0, 1]
    assert found.outcome_after == classifier.predict_proba(found.counterfactual)[0, 1]
    assert found.bound == 1
    assert not found.provers


def test_questions_share_evaluations_and_keep_to_their_own_rules() -> None:
    box = cfxc.BlackBox(price, SPACE)
    rows = X.iloc[[3, 8]]
    both = box.explain_all(rows, [cfxc.AEP(15), cfxc.AEP(15, "-")], budget=80)
    assert [found.status for found in both] == ["optimal", "optimal"]
    assert both[0].data is both[1].data
    for found, (_, own) in zip(both, rows.iterrows(), strict=True):
        assert found.counterfactual is not None
        assert found.counterfactual["town"].iloc[0] == own["town"]
        assert found.counterfactual["age"].iloc[0] >= own["age"]


def test_saved_evaluations_answer_later_questions(tmp_path: Path) -> None:
    box = cfxc.BlackBox(price, SPACE)
    first = box.explain(ROW, cfxc.AEP(15), budget=30)
    first.data.save(tmp_path / "seen.json")
    data = cfxc.Evaluations.load(tmp_path / "seen.json", SPACE)
    assert data.points == first.data.points
    assert data.outputs == first.data.outputs
    again = box.explain(ROW, cfxc.AEP(15), budget=30, data=data)
    assert again.status == "optimal"
    assert again.evaluations == 0


@pytest.mark.parametrize(
    "text", ["", "[]", '{"format": "other"}', '{"format": "cfxc evaluations 1", "features": []}']
)
def test_files_that_are_no_evaluations(text: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CfxcError, match=r"odd\.json"):
        cfxc.Evaluations.load(path, SPACE)


def test_rows_without_an_output_are_avoided_and_counted() -> None:
    def flaky(rows: pd.DataFrame) -> Any:
        if (rows["area"] > 55).any():
            raise ValueError("too large")
        return np.where(rows["rooms"] > 4, np.nan, price(rows))

    row = X[(X["area"] < 50) & (X["rooms"] < 4)].iloc[[0]]
    found = cfxc.BlackBox(flaky, SPACE).explain(row, cfxc.SEP(12), budget=60)
    assert found.status == "optimal"
    assert found.failures == len(found.data.failures) > 0
    assert {why.split(":")[0] for why in found.data.failures.values()} <= {
        "ValueError",
        "no finite number",
    }


def test_a_noisy_model_is_believed_on_average() -> None:
    rng = np.random.default_rng(1)

    def noisy(rows: pd.DataFrame) -> Any:
        return price(rows) + rng.normal(0, 2.0, len(rows))

    found = cfxc.BlackBox(noisy, SPACE, noisy=True).explain(ROW, cfxc.AEP(25), budget=40)
    assert found.counterfactual is not None
    assert abs(float(price(found.counterfactual)[0] - price(ROW)[0]) - 25) < 7


def test_batches_of_proposals_differ() -> None:
    asked: list[int] = []

    def counted(rows: pd.DataFrame) -> Any:
        asked.append(len(rows))
        return price(rows)

    box = cfxc.BlackBox(counted, SPACE)
    found = box.explain(ROW, cfxc.AEP(500), budget=24, initial=8, batch=4)
    assert asked[-4:] == [4, 4, 4, 3]
    assert len(found.data) == 24 == len(found.data.to_frame().drop_duplicates())


def test_the_same_seed_gives_the_same_run() -> None:
    runs = [
        cfxc.BlackBox(price, SPACE).explain(ROW, cfxc.AEP(60), budget=16, random_state=4)
        for _ in range(2)
    ]
    assert runs[0].data.points == runs[1].data.points


@pytest.mark.parametrize("most", [None, 1, 2])
def test_rows_of_a_region_are_admissible_exactly(most: int | None) -> None:
    odd = cfxc.FeatureSpace(
        [
            cfxc.Feature("a", "real", lower=0, upper=1, resolution="0.1"),
            cfxc.Feature("b", "real", lower=-1, upper=2, dtypes=("float32",)),
            cfxc.Feature("c", "integer", lower=-3, upper=9, action="decrease"),
            cfxc.Feature("d", "ordinal", labels=("x", "y", "z"), action="increase"),
            cfxc.Feature("e", "categorical", labels=("p", "q", "r")),
            cfxc.Feature(
                "f", "binary", labels=(False, True), action="conditional", condition="a >= 0.5"
            ),
        ]
    )
    start = {"a": 0.35, "b": 0.5, "c": 4, "d": "y", "e": "q", "f": False}
    rules = make_rules(
        odd, odd.encode_row(odd.decode(start)), criteria_of(["x.a + x.b <= 2", *at_most(most)])
    )
    region, rng = Region(rules), np.random.default_rng(0)
    for rows in (region.sample(80, rng), region.spread(20, rng)):
        moved = region.around(rows, 80, rng)
        for row in np.vstack([rows, moved]):
            point = region.point(row)
            assert not rules.violated(point)
            assert odd.encode_row(odd.decode(point)) == point
        inputs = inputs_of(odd, rows)
        assert inputs.shape == (len(rows), 8)
        assert inputs.min() >= 0
        assert inputs.max() <= 1


BOX = cfxc.BlackBox(price, SPACE)
MODEL = cfxc.compile(FOREST, SPACE)
BUMP = cfxc.CustomPotential(lambda y, c: np.exp(-((y - c) ** 2)), 1.0)
BAD: list[tuple[Any, str]] = [
    (lambda: BOX.explain(ROW, 12), "a potential such as"),
    (lambda: BOX.explain(X.iloc[:2], cfxc.SEP(2)), "expected one row, got 2"),
    (lambda: BOX.explain_all([], cfxc.SEP(2)), "no rows"),
    (lambda: BOX.explain_all(X.iloc[:2], [cfxc.SEP(2)]), "1 potentials for 2 rows"),
    (lambda: BOX.explain(ROW, cfxc.SEP(2), budget=0), "budget must be"),
    (lambda: BOX.explain(ROW, cfxc.SEP(2), budget=1), "give at least 2"),
    (lambda: BOX.explain(ROW, cfxc.SEP(2), budget=5, initial=9), "less than 1 for the row"),
    (lambda: BOX.explain(ROW, cfxc.SEP(2), epsilon=1), "between 0 and 1"),
    (lambda: BOX.explain(ROW, cfxc.SEP(2), kernel="linear"), "matern"),
    (lambda: BOX.explain(ROW, cfxc.SEP(2), subject_to=["height > 2"]), "'height' is unknown"),
    (lambda: BOX.explain(ROW, cfxc.SEP(2), subject_to=[2]), "no criterion: give a condition"),
    (lambda: BOX.explain(ROW, cfxc.SEP(2), subject_to=[cfxc.MaxChanges(0)]), "max_changes must be"),
    (lambda: BOX.explain(ROW, cfxc.SEP(2), time_limit=0), "time_limit must be"),
    (lambda: BOX.explain(ROW, cfxc.SEP(2), data=[]), "Evaluations"),
    (lambda: BOX.explain(ROW, BUMP), "asks for no change"),
    (lambda: cfxc.BlackBox(FOREST, SPACE), r"give model\.predict"),
    (lambda: cfxc.BlackBox(price), "needs a FeatureSpace"),
    (lambda: cfxc.BlackBox(lambda d: "no", SPACE).explain(ROW, cfxc.SEP(2)), "not a number for"),
    (lambda: cfxc.BlackBox(lambda d: [1, 2], SPACE).explain(ROW, cfxc.SEP(2)), "for 1 rows"),
    (lambda: cfxc.BlackBox(lambda d: [np.nan] * len(d), SPACE).explain(ROW, cfxc.SEP(2)), "finite"),
    (lambda: cfxc.BlackBox(lambda d: 1 / 0, SPACE).explain(ROW, cfxc.SEP(2)), "ZeroDivisionError"),
    (lambda: MODEL.explain(ROW, target=cfxc.SEP(2), count=2, apart=0.5), "count, apart: not for"),
    (lambda: MODEL.explain(ROW, target=cfxc.SEP(2), method="smt"), "method 'bayes', not 'smt'"),
    (lambda: MODEL.explain(ROW, method="bayes"), "give target=cfxc.SEP"),
    (lambda: MODEL.explain(ROW, target=(1, 2), budget=5), "budget is for potentials"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_wrong_input_is_told_apart(call: Any, message: str) -> None:
    with pytest.raises(CfxcError, match=message):
        call()


def test_plain_values_and_a_picture(tmp_path: Path) -> None:
    found = BOX.explain(ROW, cfxc.SEP(12), budget=20)
    plain = found.to_dict()
    assert plain["status"] == "optimal"
    assert plain["changes"] == {name: list(pair) for name, pair in found.changes.items()}
    assert found.to_frame().index.tolist() == ["factual", "counterfactual"]
    assert found.summary().startswith("optimal: output")
    found.plot(tmp_path / "trace.svg")
    assert (tmp_path / "trace.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_sessions_of_onnxruntime() -> None:
    numbers = ["area", "rooms", "age"]
    matrix = LinearRegression().fit(X[numbers].to_numpy(np.float32), price(X))
    one = convert_sklearn(matrix, initial_types=[("X", FloatTensorType([None, 3]))])
    types = [
        (name, StringTensorType([None, 1]) if name == "town" else FloatTensorType([None, 1]))
        for name in X
    ]
    many = convert_sklearn(FOREST, initial_types=types)
    for proto, space, model in (
        (one, SPACE.subset(numbers), lambda d: matrix.predict(d.to_numpy(np.float32))),
        (many, SPACE, FOREST.predict),
    ):
        session = InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        row = ROW[list(space.columns)]
        found = cfxc.BlackBox(session, space).explain(row, cfxc.SEP(12), budget=40)
        assert found.status == "optimal"
        assert found.outcome_after == pytest.approx(model(found.counterfactual)[0], rel=1e-5)


def test_a_function_that_assigns_to_its_table_changes_no_row_of_the_caller() -> None:
    def careless(rows: pd.DataFrame) -> Any:
        rows["area"] = rows["area"] * 0
        return price(X.loc[rows.index]) if rows.index.isin(X.index).all() else np.zeros(len(rows))

    row = ROW.copy()
    cfxc.BlackBox(careless, SPACE).explain(row, cfxc.AEP(15), budget=6)
    pd.testing.assert_frame_equal(row, ROW)


def test_known_rows_of_a_file_are_not_asked_again(tmp_path: Path) -> None:
    asked = []

    def noted(rows: pd.DataFrame) -> Any:
        asked.append(len(rows))
        return price(rows)

    first = cfxc.BlackBox(noted, SPACE).explain(ROW, cfxc.AEP(15), budget=30)
    assert sum(asked) == first.evaluations
    first.data.save(tmp_path / "seen.json")
    data = cfxc.Evaluations.load(tmp_path / "seen.json", SPACE)
    asked.clear()
    again = cfxc.BlackBox(noted, SPACE).explain(ROW, cfxc.AEP(15), budget=30, data=data)
    assert again.status == "optimal"
    assert asked == []


def test_a_service_that_fails_is_said_to_and_asked_no_further() -> None:
    asked = []

    def down(rows: pd.DataFrame) -> Any:
        asked.append(len(rows))
        if len(asked) > 3:
            raise ConnectionError("no route")
        return price(rows)

    found = cfxc.BlackBox(down, SPACE).explain(ROW, cfxc.AEP(1000), budget=60, initial=2)
    assert found.reason == "the model failed on 10 rows in a row: ConnectionError: no route"
    assert found.failures == 10
    assert found.evaluations == len(asked) == 13
    assert "the model gave no number on 10 of 13 rows" in found.summary()


def test_rows_of_a_proof_are_counted_apart_from_the_budget() -> None:
    found = cfxc.compile(FOREST, SPACE).explain(ROW, target=cfxc.AEP(10), budget=2, epsilon=0.05)
    assert found.beyond >= 1
    assert found.evaluations - found.beyond <= 2


def test_no_fit_of_the_surrogate_outlasts_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = []

    def fit(objective: Any, optimizer_kwargs: dict[str, Any]) -> None:
        allowed.append(optimizer_kwargs["timeout_sec"])

    monkeypatch.setattr(search, "fit_gpytorch_mll", fit)
    BOX.explain(ROW, cfxc.SEP(300), budget=15, time_limit=60)
    assert allowed
    assert all(0 < seconds <= 60 for seconds in allowed)
