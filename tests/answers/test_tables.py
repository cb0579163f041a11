"""Tables of polars and pyarrow: taken in at the public functions, and given back as they came."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import cfxc
from cfxc.errors import CfxcError, DataTypeError, InvalidInputError
from cfxc.ir import evaluate
from cfxc.ir.batch import BatchEvaluator
from cfxc.space.tables import as_given, as_pandas, as_tables, kind_of

pl = pytest.importorskip("polars")
N = 300
RNG = np.random.default_rng(0)
CELLS: dict[str, list[Any]] = {
    "age": RNG.integers(18, 60, N).tolist(),
    "pay": (RNG.integers(0, 400, N) / 64).tolist(),
    "job": [["cook", "nurse", None][k] for k in RNG.integers(0, 3, N)],
    "town": [["x", "y", "z"][k] for k in RNG.integers(0, 3, N)],
    "size": [["low", "high"][k] for k in RNG.integers(0, 2, N)],
    "member": (RNG.integers(0, 2, N) == 1).tolist(),
    "debts": [None if k == 0 else k for k in RNG.integers(0, 6, N).tolist()],
    "rate": [None if k == 0 else k / 8 for k in RNG.integers(0, 20, N).tolist()],
}
DTYPES = {
    "age": pl.UInt8, "pay": pl.Float32, "job": pl.String, "town": pl.Categorical,
    "size": pl.Enum(["low", "high"]), "member": pl.Boolean, "debts": pl.Int32, "rate": pl.Float64,
}  # fmt: skip
X = pl.DataFrame({name: pl.Series(cells, dtype=DTYPES[name]) for name, cells in CELLS.items()})
SCORE = np.array(CELLS["age"]) + 9.0 * np.array([job is None for job in CELLS["job"]])
SCORE += 8 * np.array(CELLS["pay"]) + 12 * np.array(CELLS["member"])
Y = (SCORE > 70).astype(int)


@pytest.fixture(scope="module")
def fitted() -> Any:
    encode = make_column_transformer(
        (OneHotEncoder(), ["job", "town", "size"]), remainder="passthrough"
    )
    return make_pipeline(encode, RandomForestClassifier(15, max_depth=5, random_state=0)).fit(X, Y)


@pytest.fixture(scope="module")
def model(fitted: Any) -> cfxc.CompiledModel:
    return cfxc.compile(fitted, cfxc.FeatureSpace.infer(X), favourable=1)


@pytest.fixture(scope="module")
def refused(fitted: Any) -> Any:
    """Rows that the model refuses."""
    return X.filter(pl.Series(fitted.predict(X) == 0))


# -- the boundary ---------------------------------------------------------------------------------


def test_cells_are_the_same_in_pandas_and_back() -> None:
    frame = as_pandas(X)
    assert frame.dtypes.map(str).to_dict() == {
        "age": "uint8", "pay": "float32", "job": "object", "town": "category", "size": "category",
        "member": "bool", "debts": "Int32", "rate": "float64",
    }  # fmt: skip
    for name, cells in CELLS.items():
        assert [None if pd.isna(cell) else cell for cell in frame[name]] == cells
    again = as_given(frame, X)
    assert again.schema == X.schema
    assert again.equals(X)


def test_a_library_of_its_own_gets_the_same_cells() -> None:
    made = as_tables(as_pandas(X), "polars")
    assert made.to_dict(as_series=False) == {
        **CELLS, "rate": pytest.approx(made["rate"].to_list(), nan_ok=True)
    }  # fmt: skip
    assert made["age"].dtype == pl.UInt8
    assert made["pay"].dtype == pl.Float32
    assert made["debts"].dtype == pl.Int32
    assert as_tables(as_pandas(X), "pandas").equals(as_pandas(X))


def test_columns_without_a_value_are_no_numbers() -> None:
    frame = pd.DataFrame({"a": pd.Series([None, None], dtype=object), "b": [1.0, 2.0]})
    assert as_tables(frame, "polars").schema == {"a": pl.String, "b": pl.Float64}


def test_null_and_nan_stay_what_they_were() -> None:
    table = pl.DataFrame({"a": [1.0, None, float("nan")], "b": [1, 2, 3]})
    frame = as_pandas(table).assign(a=[2.0, np.nan, np.nan])
    cells = as_given(frame, table)["a"].to_list()
    assert cells[:2] == [2.0, None]
    assert np.isnan(cells[2])


@pytest.mark.parametrize(
    ("dtype", "cell", "after"),
    [("UInt8", 300, "Int64"), ("Float32", 0.1, "Float64"), ("Enum", "c", "String")],
)
def test_a_dtype_that_cannot_hold_an_answer_gives_way(dtype: str, cell: Any, after: str) -> None:
    own = pl.Enum(["a", "b"]) if dtype == "Enum" else getattr(pl, dtype)
    given = pl.DataFrame({"a": pl.Series(["a"] if dtype == "Enum" else [1], dtype=own)})
    made = as_given(pd.DataFrame({"a": [cell]}), given)
    assert made["a"].dtype == getattr(pl, after)
    assert made["a"].to_list() == [cell]


def test_what_is_no_table_stays_as_it_is() -> None:
    for thing in (None, "rows.csv", {"a": 1}, [1], np.ones(2), 3, object):
        assert as_pandas(thing) is thing
        assert kind_of(thing) == "pandas"
    with pytest.raises(DataTypeError, match="collect it first"):
        cfxc.FeatureSpace.infer(X.lazy())


def test_tables_of_pyarrow() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": pa.array([1, 5, 9], pa.int16()), "b": ["u", None, "v"]})
    space = cfxc.FeatureSpace.infer(table)
    assert (space.tables, space["a"].dtype, space["b"].labels) == (
        "pandas", "int16", ("u", "v", None)
    )  # fmt: skip
    made = space.decode({"a": 5, "b": "u"}, like=table.slice(0, 1))
    assert made.schema == table.schema
    assert made.to_pylist() == [{"a": 5, "b": "u"}]


# -- spaces ---------------------------------------------------------------------------------------


def test_a_space_says_whose_tables_it_is_of() -> None:
    space = cfxc.FeatureSpace.infer(X)
    assert space.tables == "polars"
    assert 'tables = "polars"' in space.to_toml()
    again = cfxc.FeatureSpace.from_toml(space.to_toml())
    assert (again, again.tables) == (space, "polars")
    assert space.replace("age", action="fixed").subset(["age", "pay"]).tables == "polars"
    assert "tables" not in cfxc.FeatureSpace.infer(as_pandas(X)).to_toml()
    with pytest.raises(InvalidInputError, match=r"'polar'.*'polars'"):
        cfxc.FeatureSpace.from_toml('version = 1\ntables = "polar"\n')


def test_a_space_reads_and_writes_rows_of_polars() -> None:
    space = cfxc.FeatureSpace.infer(X)
    frame, columns = as_pandas(X), space.encode_frame(X)
    for name, column in space.encode_frame(frame).items():
        np.testing.assert_array_equal(columns[name], column)
    values = space.encode_row(X[3])
    assert values == space.encode_row(frame.iloc[[3]])
    assert values["pay"] == Fraction(CELLS["pay"][3])
    changed = {**values, "age": 33, "job": None, "town": "z", "size": "low", "member": True}
    made = space.decode(changed, like=X[3])
    assert made.schema == X.schema
    assert made.row(0, named=True) == {
        **X.row(3, named=True), "age": 33, "job": None, "town": "z", "size": "low", "member": True
    }  # fmt: skip
    assert space.with_mad_weights(X)["age"].weight == space.with_mad_weights(frame)["age"].weight
    assert len(space.with_examples(X[:7]).example_codes) == 7


DATES = [datetime.date(2024, 2, 28), None, datetime.date(2024, 3, 1), datetime.date(2024, 3, 2)]


def _of_pandas(column: str) -> Any:
    kinds: dict[str, Any] = {
        "datetime64[us]": lambda: pd.to_datetime(pd.Series(DATES)),
        "with a zone": lambda: pd.to_datetime(pd.Series(DATES)).dt.tz_localize("Asia/Tokyo"),
        "objects": lambda: pd.Series(DATES, dtype=object),
        "date32[day][pyarrow]": lambda: pd.Series(DATES, dtype="date32[day][pyarrow]"),
        "timestamp[ms][pyarrow]": lambda: pd.Series(DATES, dtype="timestamp[ms][pyarrow]"),
    }
    return pd.DataFrame({"day": kinds[column](), "n": [1, 2, 3, 4]})


@pytest.mark.parametrize(
    ("table", "library"),
    [
        *((_of_pandas(name), pd) for name in (
            "datetime64[us]", "with a zone", "objects", "date32[day][pyarrow]",
            "timestamp[ms][pyarrow]",
        )),
        (pl.DataFrame({"day": DATES, "n": [1, 2, 3, 4]}), pl),
        (pl.DataFrame({"day": pl.Series(DATES, dtype=pl.Datetime), "n": [1, 2, 3, 4]}), pl),
    ],
)  # fmt: skip
def test_dates_are_refused_with_the_line_that_converts_them(table: Any, library: Any) -> None:
    with pytest.raises(DataTypeError, match=r"'day': dates.*days since") as caught:
        cfxc.FeatureSpace.infer(table)
    line = str(caught.value).split(":  ")[1]
    names: dict[str, Any] = {"X": table, "pd": pd, "pl": library}
    exec(line, names)
    space = cfxc.FeatureSpace.infer(names["X"])
    assert (space["day"].kind, space["day"].missing) == ("integer", True)
    first = (DATES[0] - datetime.date(1970, 1, 1)).days  # type: ignore[operator]
    assert space["day"].bounds == (first, first + 3)


# -- models ---------------------------------------------------------------------------------------


def test_programs_agree_with_the_model_on_rows_of_polars(
    fitted: Any, model: cfxc.CompiledModel
) -> None:
    expected = fitted.predict(X)
    np.testing.assert_array_equal(model.predict(X), expected)
    labels = BatchEvaluator(model.program)(model.space.encode_frame(X))["label"]
    np.testing.assert_array_equal(np.asarray(labels), expected)
    for i in range(0, N, 30):
        values = dict(model.space.encode_row(X[i]))
        assert evaluate(model.program, values)["label"] == expected[i]


def test_the_estimator_gets_tables_of_the_library_it_was_trained_on(
    fitted: Any, model: cfxc.CompiledModel
) -> None:
    predictor: Any = model.predictor
    made = predictor.table(as_pandas(X))
    assert isinstance(made, pl.DataFrame)
    assert made.columns == list(fitted.feature_names_in_)
    plain = cfxc.compile(fitted, cfxc.FeatureSpace.infer(as_pandas(X)))
    assert isinstance(plain.predictor.table(as_pandas(X)), pd.DataFrame)  # type: ignore[attr-defined]
    array = DecisionTreeClassifier(max_depth=3).fit(X.select("age", "pay").to_numpy(), Y)
    space = cfxc.FeatureSpace.infer(X.select("age", "pay"))
    compiled: Any = cfxc.compile(array, space)
    assert isinstance(compiled.predictor.table(as_pandas(X)), np.ndarray)


def test_answers_are_rows_of_polars(model: cfxc.CompiledModel, refused: Any, fitted: Any) -> None:
    pandas = cfxc.compile(fitted, cfxc.FeatureSpace.infer(as_pandas(X)), favourable=1)
    for i in range(4):
        row = refused[i]
        answer = model.explain(row, count=2)
        assert answer.factual.equals(row)
        assert [one.counterfactual.schema for one in answer.all()] == [X.schema] * 2
        assert fitted.predict(answer.counterfactual).tolist() == [1]
        assert answer.exact_distance == pandas.explain(as_pandas(row), count=2).exact_distance
        after = answer.counterfactual.row(0, named=True)
        for name, old in row.row(0, named=True).items():
            new = answer.changes.get(name, (old, old))[1]
            assert after[name] == (np.float32(new) if name == "pay" else new)
        frame = answer.to_frame()
        assert frame["row"].to_list() == ["factual", "counterfactual 1", "counterfactual 2"]
        assert frame.drop("row").schema == X.schema
        assert answer.to_dict()["counterfactual"].keys() == set(X.columns)
        assert "<table" in answer._repr_html_()
        assert answer.certificate is not None


def test_a_batch_is_a_table_of_polars(
    model: cfxc.CompiledModel, fitted: Any, refused: Any, tmp_path: Any
) -> None:
    rows = pl.concat([refused[:3], X.filter(pl.Series(model.predict(X) == 1))[:2]])
    answers = model.explain_batch(rows)
    assert answers["status"].to_list() == ["optimal"] * 3 + ["unchanged"] * 2
    found = answers.select(pl.col("^counterfactual\\..*$")).rename(
        lambda name: name.removeprefix("counterfactual.")
    )
    assert found.schema == X.schema
    assert found[3:].equals(rows[3:])
    assert model.predict(found).tolist() == [1] * 5
    kept = model.explain_batch(rows, out=tmp_path / "answers")
    assert kept.drop("seconds").equals(answers.drop("seconds"))
    space = cfxc.FeatureSpace.infer(X, fixed=[name for name in X.columns if name != "town"])
    none = cfxc.compile(fitted, space, favourable=1).explain_batch(rows[:2])
    assert none["status"].to_list() == ["infeasible"] * 2
    assert none["counterfactual.age"].null_count() == 2
    assert none.schema["counterfactual.age"] == pl.UInt8


def test_everything_else_takes_tables_of_polars(model: cfxc.CompiledModel, fitted: Any) -> None:
    table = X.select("age", "rate", "town", "member").fill_null(1.0)
    encode = make_column_transformer((OneHotEncoder(), ["town"]), remainder=StandardScaler())
    linear = make_pipeline(encode, LogisticRegression()).fit(table, Y)
    space = cfxc.FeatureSpace.infer(table)
    compiled = cfxc.compile(linear, space, favourable=1)
    frame, plain = as_pandas(table), cfxc.compile(linear, cfxc.FeatureSpace.infer(as_pandas(table)))
    row = table.filter(pl.Series(linear.predict(table) == 0))[0]
    for question in (
        lambda rows: {"distance": cfxc.Mahalanobis(rows)},
        lambda rows: {"subject_to": [cfxc.TrustRegion(rows, Y, epsilon=0.1)]},
        lambda rows: {"seeds": rows[:50]},
    ):
        answer = compiled.explain(row, **question(table))
        other = plain.explain(as_pandas(row), target=1, **question(frame))
        assert answer.counterfactual.schema == table.schema
        assert answer.distance == other.distance
    assert len(cfxc.retrained(linear, table, Y, 2, space=space)) == 2
    found = compiled.explain(row, count=3)
    rows = pl.concat([each.counterfactual for each in found.all()])
    measured = cfxc.metrics.summary(compiled, row, rows, 1, data=table)
    pandas = cfxc.metrics.summary(plain, as_pandas(row), as_pandas(rows), 1, data=frame)
    assert measured == pandas
    with pytest.raises(CfxcError, match="rows"):
        compiled.predict(table[:0])


def test_potentials_take_tables_of_polars() -> None:
    pytest.importorskip("botorch")
    table = X.select("age", "pay")
    regressor = DecisionTreeRegressor(max_depth=3).fit(table, SCORE)
    seen: list[type] = []

    def function(rows: Any) -> Any:
        seen.append(type(rows))
        return regressor.predict(rows)

    box: Callable[[Any], Any] = cfxc.BlackBox(function, cfxc.FeatureSpace.infer(table)).explain
    answer: Any = box(table[0], target=cfxc.SEP(width=5), budget=12)  # type: ignore[call-arg]
    assert set(seen) == {pl.DataFrame}
    assert answer.factual.equals(table[0])
    assert answer.to_frame()["row"][0] == "factual"


def test_generators_take_tables_of_polars(model: cfxc.CompiledModel) -> None:
    pytest.importorskip("torch")
    table = X.select("age", "pay", "town")
    tree = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough"),
        DecisionTreeClassifier(max_depth=4),
    ).fit(table, Y)
    compiled = cfxc.compile(tree, cfxc.FeatureSpace.infer(table), favourable=1)
    rows = table.filter(pl.Series(tree.predict(table) == 0))[:3]
    generator = cfxc.Generator(compiled, epochs=2, bucket_rows=20).fit(table)
    found = generator.generate(rows, n=4, time_limit=5)
    assert found.columns == ["row", "k", *table.columns]
    assert found.drop("row", "k").schema == table.schema
    assert tree.predict(found.drop("row", "k")).tolist() == [1] * len(found)


def test_plans_take_tables_of_polars() -> None:
    pytest.importorskip("cvxpy")
    pytest.importorskip("torch")
    from cfxc.methods.plans import retrained_moments, robust

    table = X.select("age", "pay").with_columns(pl.col("pay").cast(pl.Float64))
    linear = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, Y)
    space = cfxc.FeatureSpace.infer(table)
    compiled = cfxc.compile(linear, space)
    row = table.filter(pl.Series(linear.predict(table) == 0))[0]
    moments = retrained_moments(compiled, table, Y, n=20)
    assert (
        moments.mean.tolist()
        == retrained_moments(compiled, as_pandas(table), Y, n=20).mean.tolist()
    )
    plan = compiled.plan(row, size=2, moments=moments, steps=50, starts=1)
    assert plan.plan.schema == table.schema
    assert plan.to_frame()["row"].to_list() == ["factual", "plan 1", "plan 2"]
    several = robust(compiled, row, cfxc.retrained(linear, table, Y, 3, space=space), size=2)
    assert several.rows.schema == table.schema
    assert several.to_frame()["counterfactual.age"].dtype == pl.UInt8
