"""Encoders and scalers give exactly what the fitted transformers give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from cfxc.errors import UnsupportedError
from cfxc.frontends.sklearn import lower
from cfxc.frontends.sklearn.lowering import Lowering, Raw, column_dtype
from cfxc.frontends.sklearn.structure import transform
from cfxc.ir import BatchEvaluator, Program, evaluate, ops
from cfxc.space import FeatureSpace

NAN = float("nan")
TEXT = ["red", "green", "blue", "red", "grey", "red", "green", "red"]
CODES = [3, 5, 9, 3, 3, 5, 9, 3]


def program_of(fitted: Any, space: FeatureSpace) -> Program:
    lowering = Lowering("columns", space)
    refs = tuple(
        Raw(column, column_dtype(feature.dtype)) for feature in space for column in feature.columns
    )
    made = lowering.vector(transform(lowering, "", fitted, refs))
    lowering.finish()
    return lowering.builder.build(made=made)


def assert_same(fitted: Any, space: FeatureSpace, frame: pd.DataFrame) -> Program:
    """Equal on all rows: to the bit in doubles, and to rounding in exact arithmetic."""
    program = program_of(fitted, space)
    made = fitted.transform(frame)
    expected = np.asarray(made.toarray() if hasattr(made, "toarray") else made, dtype=float)
    columns = space.encode_frame(frame, check_range=False)
    outputs = np.broadcast_to(BatchEvaluator(program)(columns)["made"], expected.shape)
    assert np.array_equal(outputs, expected)
    for row in range(len(frame)):
        exact = evaluate(program, space.encode_row(frame.iloc[[row]], check_range=False))
        np.testing.assert_allclose(
            exact["made"].astype(float), expected[row], rtol=1e-13, atol=1e-14
        )
    return program


ONE_HOT: dict[str, dict[str, Any]] = {
    "plain": {},
    "dense": {"sparse_output": False},
    "drop first": {"drop": "first"},
    "drop if binary": {"drop": "if_binary"},
    "drop named": {"drop": ["green", 5]},
    "infrequent by count": {"min_frequency": 2},
    "infrequent by number": {"max_categories": 2},
    "infrequent and dropped": {"max_categories": 3, "drop": "first"},
    "infrequent and dropped by name": {"min_frequency": 2, "drop": ["green", 3]},
    "two left, one dropped": {"max_categories": 2, "drop": "if_binary"},
    "all infrequent": {"min_frequency": 100},
    "ignore": {"handle_unknown": "ignore"},
    "ignore and drop": {"handle_unknown": "ignore", "drop": "first"},
    "ignore, with infrequent ones": {"handle_unknown": "ignore", "max_categories": 2},
    "infrequent if it exists": {"handle_unknown": "infrequent_if_exist", "max_categories": 2},
    "infrequent, but none": {"handle_unknown": "infrequent_if_exist"},
    "given categories": {"categories": [["grey", "blue", "green", "red", "pink"], [1, 3, 5, 9]]},
    "single precision": {"dtype": np.float32},
}
ORDINAL: dict[str, dict[str, Any]] = {
    "plain": {},
    "unknown value": {"handle_unknown": "use_encoded_value", "unknown_value": -1},
    "infrequent": {"min_frequency": 2},
    "given categories": {"categories": [["grey", "blue", "green", "red"], [3, 5, 9]]},
}


def admits_unknown(options: dict[str, Any]) -> bool:
    return options.get("handle_unknown", "error") != "error"


@pytest.mark.parametrize("codes", ["categorical", "integer"])
@pytest.mark.parametrize(
    ("cls", "options"),
    [
        pytest.param(cls, options, id=f"{cls.__name__} {name}")
        for cls, table in ((OneHotEncoder, ONE_HOT), (OrdinalEncoder, ORDINAL))
        for name, options in table.items()
    ],
)
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_encoders(cls: type, options: dict[str, Any], codes: str) -> None:
    """Text and numbers; numbers declared as categories, or left as integers."""
    frame = pd.DataFrame({"colour": TEXT, "code": CODES})
    fitted = cls(**options).fit(frame)
    tested = frame
    if admits_unknown(options):
        tested = pd.concat([frame, pd.DataFrame({"colour": ["pink", "red"], "code": [3, 4]})])
        tested = tested.reset_index(drop=True)
    space = FeatureSpace.infer(tested, kinds={"code": codes})
    if codes == "integer" and not admits_unknown(options):
        with pytest.raises(UnsupportedError, match=r"'code' can hold .*4.* not know"):
            program_of(fitted, space)
    else:
        assert_same(fitted, space, tested)


def test_integers_that_are_all_known_need_no_categories() -> None:
    frame = pd.DataFrame({"grade": [1, 2, 3, 2]})
    space = FeatureSpace.infer(frame)
    assert space["grade"].kind == "integer"
    for encoder in (OneHotEncoder(), OneHotEncoder(drop="first"), OrdinalEncoder()):
        assert_same(encoder.fit(frame), space, frame)


def test_an_unknown_value_that_no_one_can_have_does_not_matter() -> None:
    frame = pd.DataFrame({"grade": [1, 2, 3, 2]})
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=NAN).fit(frame)
    assert_same(encoder, FeatureSpace.infer(frame), frame)
    wider = FeatureSpace.infer(frame).replace("grade", upper=4)
    with pytest.raises(UnsupportedError, match="turns unknown values of column 'grade'"):
        program_of(encoder, wider)


def test_one_known_number() -> None:
    frame = pd.DataFrame({"grade": [3, 3]})
    assert_same(OrdinalEncoder().fit(frame), FeatureSpace.infer(frame), frame)
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=5).fit(frame)
    wider = pd.DataFrame({"grade": [3, 4]})
    space = FeatureSpace.infer(wider, kinds={"grade": "integer"})
    assert_same(encoder, space, wider)


def test_reals_are_compared_with_each_known_number() -> None:
    frame = pd.DataFrame({"dose": [0.1, 0.25, 0.5, 0.1]})
    space = FeatureSpace.infer(frame)
    tested = pd.DataFrame({"dose": [0.1, 0.25, 0.3, np.nextafter(0.1, 1), 0.5]})
    assert_same(OneHotEncoder(handle_unknown="ignore").fit(frame), space, tested)
    with pytest.raises(UnsupportedError, match="'dose' can hold any number"):
        program_of(OneHotEncoder().fit(frame), space)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([True, False, True], "bool"),
        ([1.5, 2.0, 2.5], "float64"),
        ([1.5, NAN, 2.5], "float64"),
        (["a", None, "b"], "object"),
        (["a", NAN, "b"], "object"),
        (["a", None, "b"], "str"),
        (["a", None, "b"], "category"),
        ([0, 1, 1], "int64"),
    ],
    ids=str,
)
@pytest.mark.parametrize("cls", [OneHotEncoder, OrdinalEncoder])
def test_kinds_of_categories(cls: type, values: list[Any], dtype: str) -> None:
    frame = pd.DataFrame({"x": pd.Series(values, dtype=dtype)})
    space = FeatureSpace.infer(frame, kinds={"x": "categorical"})
    missing = None in space["x"].labels
    options = {"encoded_missing_value": -7} if missing and cls is OrdinalEncoder else {}
    assert_same(cls(**options).fit(frame), space, frame)


def test_a_missing_category_needs_a_code() -> None:
    frame = pd.DataFrame({"x": ["a", None, "b"]})
    space = FeatureSpace.infer(frame)
    with pytest.raises(UnsupportedError, match="'x', of which an earlier step turns None"):
        program_of(OrdinalEncoder().fit(frame), space)
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=NAN)
    encoder.fit(frame.dropna())
    with pytest.raises(UnsupportedError, match="'x', of which an earlier step turns None"):
        program_of(encoder, space)


def test_none_and_nan_are_two_categories_to_the_encoder_only() -> None:
    frame = pd.DataFrame({"x": pd.Series(["a", None, NAN], dtype=object)})
    model = make_pipeline(OneHotEncoder(), LinearRegression()).fit(frame, [1, 2, 3])
    with pytest.raises(UnsupportedError, match="tells None from NaN"):
        lower(model, FeatureSpace.infer(frame))


@pytest.mark.parametrize("cls", [OneHotEncoder, OrdinalEncoder])
@pytest.mark.parametrize(("trained", "said"), [(None, "none"), (NAN, "nan")])
def test_a_missing_value_is_written_as_the_encoder_knows_it(
    cls: type, trained: Any, said: str
) -> None:
    """To the deployed encoder None and NaN are two things: the other one is unknown to it."""
    frame = pd.DataFrame({"x": pd.Series(["a", trained, "b", "a"], dtype=object)})
    codes = {"encoded_missing_value": -1} if cls is OrdinalEncoder else {}
    fitted = cls(**codes).fit(frame)
    space = FeatureSpace.infer(frame)
    assert_same(fitted, space, space.decode({"x": None}))
    other = "nan" if said == "none" else "none"
    with pytest.raises(UnsupportedError, match=f"'x' as '{said}', and the space writes '{other}'"):
        program_of(fitted, space.replace("x", missing_as=other))


def test_category_unknown_to_the_encoder_is_refused_with_the_remedy() -> None:
    frame = pd.DataFrame({"sector": ["a", "b", "c"], "other": ["p", "q", "r"]})
    known = frame.iloc[:2]
    model = make_pipeline(OneHotEncoder(), LinearRegression()).fit(known, [1, 2])
    with pytest.raises(UnsupportedError) as caught:
        lower(model, FeatureSpace.infer(frame))
    text = str(caught.value)
    assert "'onehotencoder' (OneHotEncoder): column 'sector' can hold 'c'" in text
    assert "column 'other' can hold 'r'" in text
    assert "labels ['a', 'b'] of feature 'sector' in the space drop it" in text
    assert len(text.splitlines()) <= 10
    space = FeatureSpace.infer(frame).replace("sector", labels=("a", "b"))
    lower(model, space.replace("other", labels=("p", "q")))


def test_one_hot_of_text_is_one_lookup() -> None:
    frame = pd.DataFrame({"colour": TEXT})
    program = assert_same(OneHotEncoder().fit(frame), FeatureSpace.infer(frame), frame)
    assert [type(let.op) for let in program.lets()] == [ops.Lookup]


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        StandardScaler(with_mean=False, with_std=False),
        MinMaxScaler(),
        MinMaxScaler((-2, 0.3)),
        MinMaxScaler(clip=True),
        MinMaxScaler((-1, 1), clip=True),
    ],
    ids=str,
)
def test_scalers(scaler: Any) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"n": rng.integers(-9, 99, 30), "x": rng.normal(5, 2, 30), "constant": np.ones(30)}
    )
    scaler.fit(frame)
    beyond = pd.concat([frame, frame * 3, frame - 200], ignore_index=True)
    space = FeatureSpace.infer(beyond, kinds=dict.fromkeys(frame, "real"))
    assert_same(scaler, space, beyond)


def test_encoders_follow_each_other() -> None:
    frame = pd.DataFrame({"x": ["a", "b", "c", "b"]})
    space = FeatureSpace.infer(frame)
    chain = make_pipeline(OrdinalEncoder(), OneHotEncoder(handle_unknown="ignore"))
    assert_same(chain.fit(frame), space, frame)
    strict = make_pipeline(OrdinalEncoder(), OneHotEncoder()).fit(frame)
    with pytest.raises(UnsupportedError, match="made by an earlier step can hold any number"):
        program_of(strict, space)


def test_one_hot_columns_of_the_table_can_be_encoded_again() -> None:
    frame = pd.DataFrame({"s_a": [1, 0, 0], "s_b": [0, 1, 0], "s_c": [0, 0, 1]})
    space = FeatureSpace.infer(frame, one_hot=["s_"])
    columns = ColumnTransformer([("again", OneHotEncoder(), ["s_a", "s_c"])])
    assert_same(columns.fit(frame), space, frame)


def test_thermometer_columns_can_be_encoded_again() -> None:
    frame = pd.DataFrame({"edu_1": [0, 1, 1, 1], "edu_2": [0, 0, 1, 1], "edu_3": [0, 0, 0, 1]})
    space = FeatureSpace.infer(frame, thermometer=["edu_"])
    assert_same(OneHotEncoder().fit(frame), space, frame)
    assert_same(StandardScaler().fit(frame), space, frame)


@pytest.mark.parametrize("size", [10**18, 10**19, 10**300])
def test_integers_of_any_size(size: int) -> None:
    """Ranges of more than 2**63 numbers have no length in Python."""
    frame = pd.DataFrame({"x": [0, 1, 2, 3]})
    space = FeatureSpace.infer(frame).replace("x", lower=-size, upper=size, dtypes=("float64",))
    outcome = [0.0, 5.0, 7.0, 2.0]
    for encoder in (
        OneHotEncoder(handle_unknown="ignore"),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    ):
        model = make_pipeline(encoder, LinearRegression()).fit(frame, outcome)
        program = lower(model, space)
        for x in (2, 7, size):
            wanted = model.predict(pd.DataFrame({"x": [float(x)]}))[0]
            assert float(evaluate(program, {"x": x})["value"]) == pytest.approx(wanted)
    model = make_pipeline(OneHotEncoder(), LinearRegression()).fit(frame, outcome)
    with pytest.raises(UnsupportedError, match="which the encoder does not know"):
        lower(model, space)
