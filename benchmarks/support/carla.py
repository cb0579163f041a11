"""Adult, COMPAS, HELOC and Give Me Some Credit as the benchmark CARLA prepares them.

Maragno, Röber & Birbil (2022) compare on these; the directory that ``CFXC_DATA`` names holds them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Table:
    """Features, their label (1: favourable), and what a person cannot change."""

    name: str
    X: pd.DataFrame
    y: pd.Series
    fixed: tuple[str, ...]

    @property
    def categories(self) -> list[str]:
        return [name for name in self.X if not pd.api.types.is_numeric_dtype(self.X[name])]

    @property
    def numbers(self) -> list[str]:
        return [name for name in self.X if pd.api.types.is_numeric_dtype(self.X[name])]


def _file(*relative: str) -> Path:
    return Path(os.environ["CFXC_DATA"]).joinpath(*relative)


def adult() -> Table:
    """n = 48,832; categories are two-valued, ``?`` is the value of the row above."""
    names = ["age", "workclass", "fnlwgt", "education", "education_num", "marital_status",
             "occupation", "relationship", "race", "sex", "capital_gain", "capital_loss",
             "hours_per_week", "native_country", "income"]  # fmt: skip
    parts = [
        pd.read_csv(_file("adult", f"adult.{part}.csv.gz"), names=names, skipinitialspace=True,
                    skiprows=int(part == "test"))
        for part in ("data", "test")
    ]  # fmt: skip
    table = pd.concat(parts, ignore_index=True).replace("?", np.nan).ffill()
    table = table[table.workclass != "Never-worked"].reset_index(drop=True)
    y = table.income.str.startswith(">50K").astype(int)
    kept = {
        "workclass": ["Private"],
        "marital_status": ["Married-civ-spouse", "Married-AF-spouse"],
        "occupation": ["Adm-clerical", "Exec-managerial", "Machine-op-inspct", "Prof-specialty"],
        "relationship": ["Husband"],
        "race": ["White"],
        "native_country": ["United-States"],
    }
    for name, values in kept.items():
        table[name] = np.where(table[name].isin(values), values[0], "other")
    return Table("Adult", table.drop(columns=["education", "income"]), y, ("age", "race", "sex"))


def compas() -> Table:
    """n = 6,172; favourable unless the score is high."""
    raw = pd.read_csv(_file("compas", "compas-scores-two-years.csv.gz"))
    near = raw.days_b_screening_arrest.between(-30, 30)
    raw = raw[near & (raw.is_recid != -1) & (raw.c_charge_degree != "O")].reset_index(drop=True)
    stay = pd.to_datetime(raw.c_jail_out) - pd.to_datetime(raw.c_jail_in)
    table = raw[["age", "two_year_recid", "priors_count"]].assign(
        length_of_stay=stay.dt.days.astype("int64"),
        c_charge_degree=raw.c_charge_degree,
        race=np.where(raw.race == "African-American", "African-American", "other"),
        sex=raw.sex,
        two_year_recid=np.where(raw.two_year_recid == 1, "yes", "no"),
    )
    return Table("COMPAS", table, (raw.score_text != "High").astype(int), ("age", "race", "sex"))


def heloc() -> Table:
    """n = 9,871, 21 counts; flags become numbers as in CARLA."""
    raw = pd.read_csv(_file("heloc", "heloc_dataset_v1.csv"))
    y = (raw.pop("RiskPerformance") == "Good").astype(int)
    raw = raw.drop(columns=["MaxDelq2PublicRecLast12M", "MaxDelqEver"])
    present = ~(raw == -9).all(axis=1)
    raw, y = raw[present].reset_index(drop=True), y[present].reset_index(drop=True)
    table = raw.astype("float64").mask(raw == -7, raw.max(), axis=1)
    for label in (0, 1):
        rows = y == label
        means = table[rows].where(raw[rows] >= 0).mean().round()
        table[rows] = table[rows].where(table[rows] >= 0, means, axis=1)
    return Table("HELOC", table.astype("int64"), y, ())


def credit() -> Table:
    """n = 115,527 complete rows without extreme values; favourable: no delinquency."""
    raw = pd.read_csv(_file("give_me_some_credit", "cs-training.csv.gz"), index_col=0).dropna()
    y = 1 - raw.pop("SeriousDlqin2yrs")
    usual = (((raw - raw.mean()) / raw.std()).abs() < 3).all(axis=1)
    raw, y = raw[usual].reset_index(drop=True), y[usual].reset_index(drop=True)
    table = raw.rename(columns=lambda name: name.replace("-", "_"))
    whole = [name for name in table if (table[name] == table[name].round()).all()]
    return Table("Credit", table.astype(dict.fromkeys(whole, "int64")), y.astype(int), ("age",))


TABLES: dict[str, Callable[[], Table]] = {
    "adult": adult,
    "compas": compas,
    "heloc": heloc,
    "credit": credit,
}

__all__ = ["TABLES", "Table"]
