"""Data sets in the paper's variants: counts, kinds, and what happens without the files."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import URLError

import pandas as pd
import pytest

from cfxc import datasets
from cfxc.datasets import adult, credit
from cfxc.errors import CfxcError, InvalidInputError

DATA = os.environ.get("CFXC_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="CFXC_DATA is not set: no data files")

Fetch = Callable[[Callable[..., Any]], None]


@pytest.fixture
def openml(monkeypatch: pytest.MonkeyPatch) -> Fetch:
    """No data directory, and OpenML as the given function says."""

    def use(fetch_openml: Callable[..., Any]) -> None:
        monkeypatch.delenv("CFXC_DATA", raising=False)
        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)

    return use


KINDS = {
    "credit": ["binary"] * 2
    + ["ordinal"] * 2
    + ["real"] * 2
    + ["integer"] * 3
    + ["real"] * 2
    + ["integer"] * 2
    + ["binary"],
    "compas": ["ordinal", "binary", "binary", "real", "binary"],
    "adult": ["binary", "integer", "binary", "categorical", "integer", "ordinal"]
    + ["categorical"] * 3
    + ["real", "real", "integer"],
}


@needs_data
@pytest.mark.parametrize(
    ("name", "rows", "columns", "favourable", "favourable_rows"),
    [
        ("credit", 29_623, 14, 1, 23_076),
        ("compas", 5_278, 5, 0, 2_795),
        ("adult", 45_222, 12, 1, 11_208),
    ],
)
def test_the_papers_variants(
    name: str, rows: int, columns: int, favourable: int, favourable_rows: int
) -> None:
    data = datasets.load(name)
    assert data.name == name
    assert data.favourable == favourable
    assert data.X.shape == (rows, columns)
    assert len(data.space) == columns
    assert data.y.shape == (rows,)
    assert set(data.y) == {0, 1}
    assert int((data.y == favourable).sum()) == favourable_rows
    assert data.X.index.equals(data.y.index)
    assert data.X.index.equals(pd.RangeIndex(rows))
    assert [feature.kind for feature in data.space] == KINDS[name]
    assert {feature.action for feature in data.space} == {"free"}
    assert all(feature.range > 0 and not feature.missing for feature in data.space)
    data.space.encode_frame(data.X)
    assert type(data.space).from_toml(data.space.to_toml()) == data.space


@needs_data
def test_widths_when_encoded_are_the_papers() -> None:
    """Appendix B.2: 51, 20 and 7 columns with one-hot categories and thermometer levels."""
    widths = {}
    for name in datasets.LOADERS:
        space = datasets.load(name).space
        spread = [f for f in space if f.kind in ("categorical", "ordinal")]
        widths[name] = len(space) - len(spread) + sum(len(f.levels) for f in spread)
    assert widths == {"adult": 51, "credit": 20, "compas": 7}


@needs_data
def test_adult_values() -> None:
    data = datasets.load_adult()
    assert data.X.iloc[0].to_dict() == {
        "sex": "Male",
        "age": 39,
        "native_country": "United-States",
        "workclass": "State-gov",
        "education_num": 13,
        "education": "Bachelors",
        "marital_status": "Never-married",
        "occupation": "Adm-clerical",
        "relationship": "Not-in-family",
        "capital_gain": 2174,
        "capital_loss": 0,
        "hours_per_week": 40,
    }
    assert data.space["education"].labels == adult.EDUCATION_LEVELS
    assert set(data.X["native_country"]) == {"United-States", "Other"}
    merged = data.X.groupby("education")["education_num"].agg(["min", "max"])
    assert merged.loc["Primary-middle-school"].tolist() == [1, 4]
    assert merged.loc["High-school"].tolist() == [5, 8]


@needs_data
def test_compas_orders_its_age_groups() -> None:
    assert datasets.load_compas().space["age_cat"].labels == (
        "Less than 25",
        "25 - 45",
        "Greater than 45",
    )


def raw_credit() -> pd.DataFrame:
    path = Path(str(DATA)) / "credit_default" / "credit_raw.csv.gz"
    return pd.read_csv(path, encoding="utf-8-sig")


@needs_data
def test_credit_rebuilt_from_the_raw_table_is_the_processed_one() -> None:
    data = datasets.load_credit()
    rebuilt = credit.rebuild(raw_credit(), "raw")
    pd.testing.assert_frame_equal(rebuilt[list(data.X)], data.X)
    pd.testing.assert_series_equal(rebuilt["NoDefaultNextMonth"], data.y)


@needs_data
def test_credit_falls_back_to_the_raw_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = datasets.load_credit()
    (tmp_path / "credit_default").mkdir()
    raw = Path(str(DATA)) / "credit_default" / "credit_raw.csv.gz"
    (tmp_path / "credit_default" / "credit_raw.csv.gz").symlink_to(raw)
    monkeypatch.setenv("CFXC_DATA", str(tmp_path))
    pd.testing.assert_frame_equal(datasets.load_credit().X, expected.X)


@needs_data
def test_credit_from_openml(openml: Fetch) -> None:
    expected, raw = datasets.load_credit(), raw_credit().drop(columns="ID")
    raw.columns = pd.Index([*(f"x{i}" for i in range(1, 24)), "y"])
    raw["y"] = raw["y"].astype(str).astype("category")

    def fetch(*, data_id: int, **_: object) -> SimpleNamespace:
        assert data_id == 42477
        return SimpleNamespace(frame=raw)

    openml(fetch)
    found = datasets.load_credit()
    pd.testing.assert_frame_equal(found.X, expected.X)
    assert found.space == expected.space
    assert found.y.equals(expected.y)


@needs_data
def test_adult_from_openml(openml: Fetch) -> None:
    expected = datasets.load_adult()
    folder = Path(str(DATA)) / "adult"
    frame = adult._read(folder / "adult.data.csv.gz", folder / "adult.test.csv.gz")
    frame["income"] = frame["income"].str.rstrip(".")
    frame = frame.rename(columns={"income": "class"})
    frame.columns = frame.columns.str.replace("_", "-")
    texts = frame.columns[[not pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes]]
    frame = frame.astype(dict.fromkeys(texts, "category"))

    def fetch(*, data_id: int, **_: object) -> SimpleNamespace:
        assert data_id == 1590
        return SimpleNamespace(frame=frame)

    openml(fetch)
    found = datasets.load_adult()
    pd.testing.assert_frame_equal(found.X, expected.X)
    assert found.space == expected.space
    assert found.y.equals(expected.y)


def offline(**_: object) -> Any:
    raise URLError("no network")


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("credit", "credit_default/credit_raw.csv.gz"),
        ("adult", "adult/adult.data.csv.gz"),
        ("compas", "compas/compas-scores-two-years.csv.gz"),
    ],
)
@pytest.mark.parametrize("directory", [False, True])
def test_without_files_and_network_the_error_says_what_to_do(
    name: str,
    file: str,
    directory: bool,
    openml: Fetch,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    openml(offline)
    if directory:
        monkeypatch.setenv("CFXC_DATA", str(tmp_path))
    with pytest.raises(CfxcError) as caught:
        datasets.load(name)
    message = str(caught.value)
    assert file in message
    assert "https://" in message
    assert "$CFXC_DATA" in message
    assert (str(tmp_path) in message) is directory
    assert message.count("\n") < 10
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", ["credit", "adult"])
def test_another_table_on_openml_is_refused(name: str, openml: Fetch) -> None:
    openml(lambda **_: SimpleNamespace(frame=pd.DataFrame({"x1": [1], "y": [1]})))
    with pytest.raises(InvalidInputError, match=r"OpenML .* lacks the columns"):
        datasets.load(name)


RAW_CLIENT = {
    "LIMIT_BAL": 3275,
    "SEX": 2,
    "EDUCATION": 5,
    "MARRIAGE": 2,
    "AGE": 40,
    "PAY_0": 2,
    "PAY_2": 1,
    "PAY_3": 0,
    "PAY_4": -2,
    "PAY_5": 3,
    "PAY_6": -1,
    "BILL_AMT1": 3275,
    "BILL_AMT2": -3275,
    "BILL_AMT3": 655,
    "BILL_AMT4": 0,
    "BILL_AMT5": 2620,
    "BILL_AMT6": 2947.5,
    "PAY_AMT1": 327.5,
    "PAY_AMT2": 0,
    "PAY_AMT3": 982.5,
    "PAY_AMT4": 0,
    "PAY_AMT5": 0,
    "PAY_AMT6": 0,
    "default payment next month": 1,
}


def test_credit_features_of_one_client() -> None:
    """Limit 100 dollars; bills 100, -100, 20, 0, 80, 90; payments 10, 0, 30, 0, 0, 0."""
    raw = pd.DataFrame([RAW_CLIENT, RAW_CLIENT | {"MARRIAGE": 3}])
    money = [name for name in raw if "AMT" in str(name)]
    raw[money] = raw[money].round().astype("int64")
    rebuilt = credit.rebuild(raw, "raw")
    assert rebuilt.to_dict("records") == [
        {
            "isMale": 0,
            "isMarried": 0,
            "AgeGroup": 3,
            "EducationLevel": 1,
            "MaxBillAmountOverLast6Months": 100,
            "MaxPaymentAmountOverLast6Months": 30,
            "MonthsWithZeroBalanceOverLast6Months": 2,
            "MonthsWithLowSpendingOverLast6Months": 2,
            "MonthsWithHighSpendingOverLast6Months": 2,
            "MostRecentBillAmount": 100,
            "MostRecentPaymentAmount": 10,
            "TotalOverdueCounts": 2,
            "TotalMonthsOverdue": 6,
            "HasHistoryOfOverduePayments": 1,
            "NoDefaultNextMonth": 0,
        }
    ]


def test_damaged_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFXC_DATA", str(tmp_path))
    file = tmp_path / "compas" / "compas-scores-two-years.csv.gz"
    file.parent.mkdir()
    header = "age_cat,race,sex,priors_count,c_charge_degree,two_year_recid,"
    header += "days_b_screening_arrest,is_recid,score_text\n"
    row = "25 - 45,Caucasian,Male,1,F,0,0,0,Low\n"
    for content, words in (
        (gzip.compress((header + row).encode())[:-9], "cannot be read"),
        (b"text", "cannot be read"),
        (gzip.compress(b"a,b\n1,2\n"), "lacks the columns"),
        (gzip.compress((header + row).encode()), "1 rows instead of 5278"),
    ):
        file.write_bytes(content)
        with pytest.raises(InvalidInputError, match=words) as caught:
            datasets.load_compas()
        assert str(file) in str(caught.value)


def test_unknown_data_set() -> None:
    with pytest.raises(InvalidInputError, match=r"'adlt'.*'adult'"):
        datasets.load("adlt")
