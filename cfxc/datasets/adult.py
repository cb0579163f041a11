"""Adult (Census Income, UCI): does an adult earn more than 50,000 dollars a year?"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from ..space import FeatureSpace
from .source import Dataset, fetch, local_file, read_csv, require

ROWS = 45_222
_OPENML_ID = 1590
_TRAIN, _TEST = "adult/adult.data.csv.gz", "adult/adult.test.csv.gz"
_PUBLISHER = "https://archive.ics.uci.edu/dataset/2/adult (adult.data and adult.test)"

_COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "income",
]
_FEATURES = [
    "sex",
    "age",
    "native_country",
    "workclass",
    "education_num",
    "education",
    "marital_status",
    "occupation",
    "relationship",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
]
_WHOLE = ["age", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
_EDUCATION = {
    "Primary-middle-school": ["Preschool", "1st-4th", "5th-6th", "7th-8th"],
    "High-school": ["9th", "10th", "11th", "12th"],
}
EDUCATION_LEVELS = (
    *_EDUCATION,
    "HS-grad",
    "Some-college",
    "Bachelors",
    "Masters",
    "Doctorate",
    "Assoc-voc",
    "Assoc-acdm",
    "Prof-school",
)
"""In the paper's code order, 1 to 10; the last three are out of place in the real order."""


def load_adult() -> Dataset:
    """Adult as in the paper: n = 45,222 adults without missing values, d = 12.

    Integer: age, education_num, hours_per_week. Real, in whole dollars: capital_gain,
    capital_loss. Binary: sex, native_country (United-States or Other). Categorical: workclass,
    marital_status, occupation, relationship. Ordinal: education, 10 levels in the paper's code
    order (:data:`EDUCATION_LEVELS`). ``fnlwgt`` and ``race`` are dropped. Target ``income``:
    1 (favourable) above 50,000 dollars. Source: Karimi et al., appendix B.2.

    Raises:
        InvalidInputError: the files are nowhere to be found, or not the published ones.
    """
    train, test = local_file(_TRAIN), local_file(_TEST)
    if train is not None and test is not None:
        frame, where = _read(train, test), str(train.parent)
    else:
        required = _TRAIN if train is None else _TEST
        frame = fetch("adult", _OPENML_ID, required, _PUBLISHER).rename(columns={"class": "income"})
        where = f"OpenML {_OPENML_ID}"
    require(frame, _COLUMNS, None, where)
    frame = frame[_COLUMNS].dropna(ignore_index=True)
    require(frame, _COLUMNS, ROWS, where)
    data = _prepare(frame)
    space = FeatureSpace.infer(
        data,
        kinds={"capital_gain": "real", "capital_loss": "real"},
        ordinal={"education": EDUCATION_LEVELS},
    )
    income = frame["income"].astype(str).str.startswith(">50K").astype("int64")
    return Dataset(
        name="adult",
        X=data,
        y=income.rename("income"),
        space=space,
        favourable=1,
        description="Adult (UCI, 1994 census), in the variant of Karimi et al. 2020",
    )


def _read(train: Path, test: Path) -> pd.DataFrame:
    """Both files; ``?`` is missing, and the test file starts with a line that is no data."""
    parts = [
        read_csv(
            path,
            names=_COLUMNS,
            skipinitialspace=True,
            skiprows=skip,
            na_values=["?"],
            keep_default_na=False,
        )
        for path, skip in ((train, 0), (test, 1))
    ]
    return pd.concat(parts, ignore_index=True)


def _prepare(frame: pd.DataFrame) -> pd.DataFrame:
    merged = {old: new for new, olds in _EDUCATION.items() for old in olds}
    columns = {}
    for name in _FEATURES:
        if name in _WHOLE:
            columns[name] = frame[name].astype("int64")
        else:
            columns[name] = pd.Series([str(cell) for cell in frame[name]])
    columns["education"] = columns["education"].replace(merged)
    country = columns["native_country"]
    columns["native_country"] = country.where(country == "United-States", "Other")
    return pd.DataFrame(columns)
