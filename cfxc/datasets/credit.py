"""Credit (Default of Credit Card Clients, UCI): does a client pay next month?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..arrays import Ints
from ..space import FeatureSpace
from .source import Dataset, fetch, local_file, read_csv, require

ROWS = 29_623
_PROCESSED = "credit_default/credit_processed_mace.csv.gz"
_RAW = "credit_default/credit_raw.csv.gz"
_OPENML_ID = 42477
_PUBLISHER = (
    "https://archive.ics.uci.edu/dataset/350/default+of+credit+card+clients (its table as CSV)"
)
_TARGET = "NoDefaultNextMonth"
_NT_DOLLARS = 32.75  # per US dollar, spot rate of September 2005, as the paper's source has it
_LOW, _HIGH = 0.20, 0.80  # share of the credit limit below and above which spending counts

_PAY = ["PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6"]
_BILLS = [f"BILL_AMT{month}" for month in range(1, 7)]
_PAID = [f"PAY_AMT{month}" for month in range(1, 7)]
_RAW_TARGET = "default payment next month"
_RAW_COLUMNS = [
    *("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"),
    *_PAY,
    *_BILLS,
    *_PAID,
    _RAW_TARGET,
]
_FEATURES = [
    "isMale",
    "isMarried",
    "AgeGroup",
    "EducationLevel",
    "MaxBillAmountOverLast6Months",
    "MaxPaymentAmountOverLast6Months",
    "MonthsWithZeroBalanceOverLast6Months",
    "MonthsWithLowSpendingOverLast6Months",
    "MonthsWithHighSpendingOverLast6Months",
    "MostRecentBillAmount",
    "MostRecentPaymentAmount",
    "TotalOverdueCounts",
    "TotalMonthsOverdue",
    "HasHistoryOfOverduePayments",
]


def load_credit() -> Dataset:
    """Credit as in the paper: n = 29,623 clients who are married or single, d = 14.

    Binary: isMale, isMarried, HasHistoryOfOverduePayments. Ordinal: AgeGroup and EducationLevel,
    1 to 4. Real, in whole US dollars (the data are rounded to tens): the four amounts. Integer:
    the five counts. Target: 1 (favourable) if there is no default next month. Read from the
    processed table, else rebuilt from the raw one. Source: Karimi et al., appendix B.2, with the
    features of Ustun et al. 2019.

    Raises:
        InvalidInputError: the files are nowhere to be found, or not the published ones.
    """
    processed, raw = local_file(_PROCESSED), local_file(_RAW)
    if processed is not None:
        frame, where = read_csv(processed), str(processed)
        frame = frame.rename(columns={f"{_TARGET} (label)": _TARGET})
    elif raw is not None:
        frame, where = rebuild(read_csv(raw, encoding="utf-8-sig"), str(raw)), str(raw)
    else:
        where = f"OpenML {_OPENML_ID}"
        table = fetch("credit", _OPENML_ID, _RAW, _PUBLISHER)
        names = {f"x{i}": name for i, name in enumerate(_RAW_COLUMNS, 1)} | {"y": _RAW_TARGET}
        frame = rebuild(table.rename(columns=names), where)
    require(frame, [*_FEATURES, _TARGET], ROWS, where)
    frame = frame[[*_FEATURES, _TARGET]].astype("int64")
    data = frame[_FEATURES]
    amounts = [name for name in _FEATURES if name.endswith(("Amount", "AmountOverLast6Months"))]
    groups = ["AgeGroup", "EducationLevel"]
    space = FeatureSpace.infer(
        data, kinds=dict.fromkeys(amounts, "real"), ordinal=dict.fromkeys(groups, (1, 2, 3, 4))
    )
    return Dataset(
        name="credit",
        X=data,
        y=frame[_TARGET],
        space=space,
        favourable=1,
        description="Default of Credit Card Clients (UCI, Taiwan 2005), in the variant of Karimi "
        "et al. 2020",
    )


def rebuild(raw: pd.DataFrame, where: str) -> pd.DataFrame:
    """The 14 features and the target from the raw table, in its row order.

    Amounts become US dollars rounded to tens. A month is *overdue* if its status is positive; a
    zero balance means more paid than billed; low and high spending compare the bill with the
    limit; ``TotalOverdueCounts`` counts runs of overdue months. Neither married nor single:
    dropped.

    Raises:
        InvalidInputError: a column is missing.
    """
    require(raw, _RAW_COLUMNS, None, where)
    raw = raw[_RAW_COLUMNS].astype("int64")
    raw = raw[raw["MARRIAGE"].isin([1, 2])].reset_index(drop=True)
    bills, paid, limit = (_dollars(raw[names]) for names in (_BILLS, _PAID, ["LIMIT_BAL"]))
    overdue = np.maximum(raw[_PAY].to_numpy(), 0)
    late = (overdue > 0).astype(np.int64)
    used = bills / limit
    education = raw["EDUCATION"].map({1: 4, 2: 3, 3: 2}).fillna(1)
    columns = {
        "isMale": raw["SEX"] == 1,
        "isMarried": raw["MARRIAGE"] == 1,
        "AgeGroup": 1 + np.searchsorted([25, 40, 60], raw["AGE"], side="right"),
        "EducationLevel": education,
        "MaxBillAmountOverLast6Months": np.maximum(bills.max(axis=1), 0),
        "MaxPaymentAmountOverLast6Months": np.maximum(paid.max(axis=1), 0),
        "MonthsWithZeroBalanceOverLast6Months": (paid > bills).sum(axis=1),
        "MonthsWithLowSpendingOverLast6Months": (used < _LOW).sum(axis=1),
        "MonthsWithHighSpendingOverLast6Months": (used > _HIGH).sum(axis=1),
        "MostRecentBillAmount": np.maximum(bills[:, 0], 0),
        "MostRecentPaymentAmount": np.maximum(paid[:, 0], 0),
        "TotalOverdueCounts": (np.diff(late, axis=1, prepend=0) == 1).sum(axis=1),
        "TotalMonthsOverdue": overdue.sum(axis=1),
        "HasHistoryOfOverduePayments": late.any(axis=1),
        _TARGET: 1 - raw[_RAW_TARGET],
    }
    return pd.DataFrame(columns).astype("int64")


def _dollars(amounts: pd.DataFrame) -> Ints:
    """NT dollars as US dollars rounded to tens (halves to even), int64 of the same shape."""
    tens: Ints = np.rint(amounts.to_numpy() / _NT_DOLLARS / 10).astype(np.int64)
    return tens * 10
