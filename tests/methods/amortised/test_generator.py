"""What is returned: valid, admissible, distinct, in the instances' own columns; and what is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cfxc
from cfxc.errors import CfxcError, DataTypeError, InvalidInputError, MissingColumnError
from cfxc.ir import evaluate
from cfxc.methods.amortised import menus
from cfxc.question.query import make_query

from .loans import LABELS, NUMBERS, QUICK, compiled, fitted, loans, refused

pytestmark = pytest.mark.usefixtures("one_torch_thread")


def check(
    model: cfxc.CompiledModel, instances: pd.DataFrame, rows: pd.DataFrame, **asked: Any
) -> None:
    """Every row against the exact program, the rules of its instance, and the original model."""
    assert (rows.dtypes == instances.dtypes).all()
    assert (
        not rows.reset_index().duplicated(subset=[rows.index.names[0] or "row", *instances]).any()
    )
    assert (model.predict(rows) == 1).all()
    for label, own in rows.groupby(level=0):
        factual = model.space.encode_row(instances.loc[[label]])
        query = make_query(model.program, model.space, factual, target=1, **asked)
        assert list(own.index.get_level_values("k")) == list(range(len(own)))
        for i in range(min(len(own), 4)):
            point = model.space.encode_row(own.iloc[[i]])
            assert query.violated(point) == []
            assert evaluate(model.program, point)["label"] == 1


@pytest.mark.parametrize(
    ("kind", "diversity"),
    [("forest", "maxmin"), ("boosting", "dpp"), ("linear", None), ("network", "maxmin")],
)
def test_rows_are_counterfactuals(kind: str, diversity: str | None) -> None:
    model, instances = compiled(kind), refused(compiled(kind), 20)
    made = fitted(kind)
    rows = made.generate(instances, n=20, target=1, diversity=diversity)
    check(model, instances, rows)
    report = made.last_report
    assert report is not None
    assert (report.index == instances.index).all()
    counts = rows.groupby(level=0).size().reindex(instances.index, fill_value=0)
    assert (report["returned"] == counts).all()
    assert set(report["status"]) <= {"full", "fewer", "none"}
    assert ((report["status"] == "full") == (counts == 20)).all()
    assert (counts > 0).mean() >= 0.99


def test_what_time_leaves_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks, the first one always; whose turn does not come has no rows."""
    model, instances = compiled("forest"), refused(compiled("forest"), 20)
    made = fitted("forest")
    full = made.generate(instances, n=10, target=1, exact=False)
    monkeypatch.setattr(menus, "BLOCK", 30)
    assert made.generate(instances, n=10, target=1, exact=False).equals(full)
    rows = made.generate(instances, n=10, target=1, exact=False, time_limit=1e-9)
    check(model, instances, rows)
    assert made.last_report is not None
    returned = made.last_report["returned"].to_numpy()
    assert 0 < (returned > 0).sum() <= 4
    assert (made.last_report["status"] == np.where(returned, "full", "none")).all()


def test_coverage_is_all_that_the_levels_hold() -> None:
    """Beside enumeration of every row over the levels, for a model without a gradient."""
    X, model = loans(), compiled("forest")
    made = fitted("forest")
    assert made._stored is not None
    levels = made._stored.levels
    instances = refused(model, 4)
    rows = made.generate(instances, n=10_000, target=1)
    raw = model.space.encode_frame(instances)
    codes = levels.codes(raw)
    reach = levels.reach(raw, codes)
    for i, label in enumerate(instances.index):
        axes = [np.flatnonzero(reach[i, k]) for k in range(levels.free.size)]
        every = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(axes))
        grid = np.repeat(codes[[i]], len(every), axis=0)
        grid[:, levels.free] = every
        columns = levels.columns(raw, np.full(len(grid), i), codes, grid)
        frame = pd.DataFrame({name: columns[name] for name in NUMBERS})
        for name in LABELS:
            frame[name] = np.array(model.space[name].labels, object)[columns[name]]
        valid = int((model.predict(frame[X.columns]) == 1).sum())
        assert len(rows.loc[label]) >= 0.9 * valid
        assert len(rows.loc[label]) <= valid


def test_what_does_not_change_stays_as_it_is() -> None:
    instances = refused(compiled("linear"), 5)
    housing = pd.CategoricalDtype(["rent", "own", "free"])
    instances = instances.astype({"age": "int32", "amount": "float64", "housing": housing})
    rows = fitted("linear").generate(instances, n=30, target=1)
    check(compiled("linear"), instances, rows)
    assert (
        rows["job"] == instances["job"].reindex(rows.index.get_level_values(0)).to_numpy()
    ).all()
    older = instances["age"].reindex(rows.index.get_level_values(0)).to_numpy()
    assert (rows["age"] >= older).all()
    assert (rows["age"] == older).any()


def test_encoded_groups_come_back_encoded() -> None:
    X = loans()
    wide = pd.get_dummies(X[[*NUMBERS, "housing"]], columns=["housing"], dtype=int)
    from sklearn.linear_model import LogisticRegression

    y = compiled("linear").predict(X)
    space = cfxc.FeatureSpace.infer(wide, one_hot=["housing_"])
    model = cfxc.compile(LogisticRegression(max_iter=2000).fit(wide, y), space)
    instances = wide[model.predict(wide) == 0].iloc[:10]
    rows = cfxc.Generator(model, **QUICK).fit(wide).generate(instances, n=10, target=1)
    check(model, instances, rows)
    group = rows[[c for c in rows if c.startswith("housing_")]]
    assert (group.sum(axis=1) == 1).all()
    assert group.drop_duplicates().shape[0] > 1


def test_limits_and_constraints_hold() -> None:
    model, instances = compiled("network"), refused(compiled("network"), 15)
    made, texts = (
        fitted("network"),
        ["amount >= 20 * age", "housing == factual.housing || rate <= 5"],
    )
    rows = made.generate(
        instances, n=15, target=1, sparsity=0.5, subject_to=[*texts, cfxc.MaxChanges(3)]
    )
    check(model, instances, rows, subject_to=[*texts, cfxc.MaxChanges(3)])
    own = instances.loc[rows.index.get_level_values(0)].to_numpy()
    changed = rows.to_numpy() != own
    numbers = [instances.columns.get_loc(name) for name in NUMBERS]
    assert changed[:, numbers].sum(axis=1).max() == 2
    assert changed.sum(axis=1).max() == 3


def test_who_gets_none_is_told() -> None:
    instances, made = refused(compiled("linear"), 3), fitted("linear")
    said = f"age != {instances['age'].iloc[0]} && factual.amount != {instances['amount'].iloc[1]}"
    rows = made.generate(instances, n=5, target=1, subject_to=[said, "rate == 100 || gain >= 0"])
    assert made.last_report is not None
    assert made.last_report["status"].iloc[1] == "impossible"
    assert (made.last_report["returned"].iloc[[0, 2]] > 0).all()
    empty = made.generate(instances, n=5, target=1, subject_to=["rate == 100"])
    assert len(empty) == 0
    assert list(empty.columns) == list(instances.columns)
    assert (made.last_report["status"] == "impossible").all()
    assert set(rows.index.get_level_values(0)) == set(instances.index[[0, 2]])


def test_conditional_features_change_only_where_they_may() -> None:
    X = loans()
    space = compiled("linear").space.replace("housing", action="conditional", condition="rate <= 5")
    made = cfxc.Generator(compiled("linear"), space, **QUICK).fit(X)
    instances = refused(compiled("linear"), 15)
    rows = made.generate(instances, n=20, target=1)
    check(replace(compiled("linear"), space=space), instances, rows)
    own = instances["housing"].loc[rows.index.get_level_values(0)].to_numpy()
    moved = rows["housing"].to_numpy() != own
    assert moved.any()
    assert (rows["rate"][moved] <= 5).all()


def test_diversity_is_chosen() -> None:
    instances, made = refused(compiled("network"), 10), fitted("network")

    def spread(diversity: str | None) -> float:
        rows = made.generate(instances, n=10, target=1, diversity=diversity)
        apart = [
            (own.to_numpy()[:, None] != own.to_numpy()[None]).sum(axis=2)[
                ~np.eye(len(own), dtype=bool)
            ]
            for _, own in rows.groupby(level=0)
        ]
        return float(np.mean([each.mean() for each in apart]))

    assert spread("maxmin") > spread(None)
    assert spread("dpp") > spread(None)
    assert spread("harmonic") > spread(None)


def test_rows_are_chosen_by_bands() -> None:
    model = compiled("network")
    instances = refused(model, 10)
    made = cfxc.Generator(model, **QUICK, buckets=8).fit(loans())
    bands = {"age": [30.0, 45.0], "amount": [float(loans()["amount"].median())]}

    def spread(**asked: Any) -> float:
        """The mean share of bands and labels in which two rows differ."""
        rows = made.generate(instances, n=10, target=1, diversity="maxmin", **asked)
        check(model, instances, rows)
        for name, edges in bands.items():
            rows[name] = np.searchsorted(edges, rows[name])
        others = [name for name in rows if name in LABELS or name in bands]
        apart = [
            (own.to_numpy()[:, None] != own.to_numpy()[None]).mean()
            for _, own in rows[others].groupby(level=0)
        ]
        return float(np.mean(apart))

    ignored = {name: [] for name in model.space.names if name in NUMBERS and name not in bands}
    assert spread(bands=bands | ignored) > spread()
    coarse = {name: [] for name in NUMBERS if name != "gain"} | {"gain": [0.0]}
    for diversity in ("maxmin", "dpp", "harmonic"):  # many rows are in the same bands
        rows = made.generate(instances, n=40, target=1, diversity=diversity, bands=coarse)
        assert not rows.reset_index().duplicated(subset=["row", *instances]).any()
        assert len(rows) == made.last_report["found"].clip(upper=40).sum()


def test_the_same_seed_gives_the_same_rows() -> None:
    instances, made = refused(compiled("forest"), 5), fitted("forest")
    first = made.generate(instances, n=10, target=1)
    assert first.equals(made.generate(instances, n=10, target=1))
    assert not first.equals(made.generate(instances, n=10, target=1, random_state=5))


def test_one_instance_as_a_mapping_or_a_series() -> None:
    instance = refused(compiled("linear"), 1)
    rows = fitted("linear").generate(instance.iloc[0].to_dict(), n=5, target=1)
    assert len(rows) == 5
    assert rows.index.names == ["row", "k"]
    assert len(fitted("linear").generate(instance.iloc[0], n=5)) == 5


def test_rows_the_original_refuses_are_not_returned() -> None:
    """A deployed model that differs from the compiled one: what it says is final."""
    model, instances = compiled("forest"), refused(compiled("forest"), 10)

    class Stricter:
        task, classes, unit_roundoff, adds_singles = (
            model.predictor.task, model.predictor.classes, model.predictor.unit_roundoff, False,
        )  # fmt: skip

        def predict(self, frame: pd.DataFrame) -> Any:
            return np.where(frame["rate"] < 5, model.predict(frame), 0)

        def probabilities(self, frame: pd.DataFrame) -> Any:
            return None

    made = cfxc.Generator(replace(model, predictor=Stricter()), **QUICK).fit(loans())
    rows = made.generate(instances, n=15, target=1)
    assert (rows["rate"] < 5).all()
    assert len(rows) > 0
    assert made.last_report is not None
    assert made.last_report["refused"].sum() > 0


def test_polishing_keeps_what_changes_and_comes_nearer() -> None:
    model, instances = compiled("boosting"), refused(compiled("boosting"), 3)
    made = fitted("boosting")
    plain = made.generate(instances, n=4, target=1)
    near = made.generate(instances, n=4, target=1, polish=True)
    check(model, instances, near)
    assert made.last_report is not None
    assert (made.last_report["polished"] > 0).all()

    def facts(rows: pd.DataFrame, label: Any) -> dict[frozenset[str], float]:
        factual = model.space.encode_row(instances.loc[[label]])
        query = make_query(model.program, model.space, factual, target=1)
        found: dict[frozenset[str], float] = {}
        for i in range(len(rows.loc[label])):
            point = model.space.encode_row(rows.loc[label].iloc[[i]])
            moved = frozenset(name for name in point if point[name] != factual[name])
            away = float(query.distance_to(point))
            found[moved] = min(found.get(moved, 1.0), away)
        return found

    for label in instances.index:
        before, after = facts(plain, label), facts(near, label)
        assert before.keys() == after.keys()
        assert all(after[moved] <= before[moved] for moved in before)
        assert sum(after.values()) < sum(before.values())


def test_instances_who_are_there_already_get_none() -> None:
    X, model = loans().iloc[:20], compiled("linear")
    rows = fitted("linear").generate(X, n=3, target=1)
    report = fitted("linear").last_report
    assert report is not None
    there = model.predict(X) == 1
    assert (report["status"][there] == "in target").all()
    assert not set(X.index[there]) & set(rows.index.get_level_values(0))
    with pytest.raises(InvalidInputError, match="every instance already has"):
        fitted("linear").generate(X[there], target=1)
    both = fitted("linear").generate(X, n=3)
    assert set(both.index.get_level_values(0)) == set(X.index)
    assert (model.predict(both) != model.predict(X.loc[both.index.get_level_values(0)])).all()


def test_a_feature_with_one_level_does_not_change() -> None:
    X = loans().assign(flat=7)
    from sklearn.linear_model import LogisticRegression

    columns = [*NUMBERS, "flat"]
    model = cfxc.compile(
        LogisticRegression(max_iter=2000).fit(X[columns], compiled("linear").predict(X)),
        cfxc.FeatureSpace.infer(X[columns]),
    )
    made = cfxc.Generator(model, **QUICK).fit(X[columns])
    rows = made.generate(X[columns][model.predict(X[columns]) == 0].iloc[:5], n=5, target=1)
    assert (rows["flat"] == 7).all()
    with pytest.raises(InvalidInputError, match="nothing can change"):
        cfxc.Generator(model, model.space.subset(columns), bucket_rows=300).fit(X[columns])


BAD_ROWS: list[tuple[Any, type[CfxcError], str]] = [
    (lambda X: X.drop(columns="age"), MissingColumnError, "age"),
    (lambda X: X.assign(housing="tent"), InvalidInputError, "'tent' is not a category"),
    (lambda X: X.assign(rate=np.nan), InvalidInputError, "missing value"),
    (lambda X: X.assign(age=200), InvalidInputError, "outside of the range"),
    (lambda X: X.iloc[:0], InvalidInputError, "no rows"),
    (lambda X: X.to_numpy(), DataTypeError, "DataFrame"),
]


@pytest.mark.parametrize(("spoil", "kind", "said"), BAD_ROWS)
def test_bad_rows_are_refused(spoil: Any, kind: type[CfxcError], said: str) -> None:
    with pytest.raises(kind, match=said):
        fitted("linear").generate(spoil(loans().iloc[:3]), n=3)
    with pytest.raises(kind, match=said):
        cfxc.Generator(compiled("linear"), **QUICK).fit(spoil(loans()))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"n": 0}, "n must be a whole number from 1"), ({"n": 2.5}, "whole number"),
        ({"sparsity": 1.2}, "share from 0 to 1"), ({"sparsity": "x"}, "share"),
        ({"subject_to": cfxc.Margin(1)}, "and no Margin"),
        ({"diversity": "most"}, "unknown diversity"),
        ({"bands": [1]}, "by name"), ({"bands": {"ages": [1]}}, "is no number of the space"),
        ({"bands": {"age": [2, 1]}}, "inner edges"), ({"bands": {"age": "x"}}, "inner edges"),
        ({"bands": {"age": [float("nan")]}}, "inner edges"), ({"bands": {"job": [1]}}, "no number"),
        ({"polish": 1}, "True or False"), ({"target": "maybe"}, "no outcome"),
        ({"time_limit": 0}, "time_limit"), ({"subject_to": "salary > 3"}, "salary"),
        ({"progress": 3}, "function"), ({"target": (0, 1)}, "no outcome"),
    ],
)  # fmt: skip
def test_bad_requests_are_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(CfxcError, match=said):
        fitted("linear").generate(refused(compiled("linear"), 2), **asked)


def test_what_can_be_asked_of_nobody_is_refused() -> None:
    X, model = loans(), compiled("linear")
    with pytest.raises(InvalidInputError, match="not fitted"):
        cfxc.Generator(model).generate(X)
    still = model.space
    for name in still.names:
        still = still.replace(name, action="fixed")
    with pytest.raises(InvalidInputError, match="nothing can change"):
        cfxc.Generator(model, still)
    with pytest.raises(InvalidInputError, match="to none of these rows"):
        cfxc.Generator(model, **QUICK).fit(X[model.predict(X) == 0], target=1)
    with pytest.raises(InvalidInputError, match="to none of these rows"):
        cfxc.Generator(model, **QUICK).fit(X[model.predict(X) == 0])
    with pytest.raises(InvalidInputError, match="no outcome of the model"):
        cfxc.Generator(model, **QUICK).fit(X, target=7)
    with pytest.raises(InvalidInputError, match="compiled for"):
        cfxc.Generator(model, model.space.subset(NUMBERS))
    only = cfxc.Generator(model, **QUICK).fit(X, target=1)
    with pytest.raises(InvalidInputError, match="not trained for target 0"):
        only.generate(X, target=0)


def test_a_regressor_is_refused() -> None:
    from sklearn.linear_model import LinearRegression

    X = loans()[NUMBERS]
    model = cfxc.compile(LinearRegression().fit(X, X["rate"]), cfxc.FeatureSpace.infer(X))
    with pytest.raises(InvalidInputError, match="takes classifiers"):
        cfxc.Generator(model)


@pytest.mark.parametrize(
    "setting",
    [
        {"buckets": 0}, {"bucket_rows": 1.5}, {"hidden": ()}, {"hidden": 50}, {"temperature": 0},
        {"alpha": -1}, {"learning_rate": float("inf")}, {"epochs": 0}, {"batch_size": 0},
        {"selector": 1}, {"gradient": "best"}, {"draws": 1}, {"held_out": 1}, {"patience": 0},
        {"random_state": -1}, {"space": "space.toml"},
    ],
)  # fmt: skip
def test_bad_settings_are_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(CfxcError, match=next(iter(setting))):
        cfxc.Generator(compiled("linear"), **setting)
