"""COMPAS (ProPublica 2016): does a defendant re-offend within two years?"""

from __future__ import annotations

import pandas as pd

from ..space import FeatureSpace
from .source import Dataset, local_file, not_found, read_csv, require

ROWS = 5_278
_FILE = "compas/compas-scores-two-years.csv.gz"
_PUBLISHER = (
    "https://github.com/propublica/compas-analysis (compas-scores-two-years.csv); the tables of "
    "that name on OpenML are recoded and do not serve"
)
_FEATURES = ["age_cat", "race", "sex", "priors_count", "c_charge_degree"]
_TARGET = "two_year_recid"
_FILTERS = ["days_b_screening_arrest", "is_recid", "score_text"]
_MAX_DAYS = 30  # between charge and screening: beyond it, the score may belong to another offence
AGE_GROUPS = ("Less than 25", "25 - 45", "Greater than 45")


def load_compas() -> Dataset:
    """COMPAS as in the paper: n = 5,278 defendants, d = 5.

    ProPublica's filter (screened within 30 days of the charge, recidivism known, no ordinary
    traffic offence, score present), and race African-American or Caucasian. Ordinal: age_cat.
    Binary: race, sex, c_charge_degree. Real, in whole counts: priors_count. Target
    ``two_year_recid``: 0 (no new offence) is favourable. Source: Karimi et al., appendix B.2.

    Raises:
        InvalidInputError: the file is nowhere to be found, or not the published one.
    """
    path = local_file(_FILE)
    if path is None:
        raise not_found("compas", _FILE, _PUBLISHER)
    raw = read_csv(path)
    require(raw, [*_FEATURES, _TARGET, *_FILTERS], None, str(path))
    frame = raw[_usual(raw) & raw["race"].isin(["African-American", "Caucasian"])]
    frame = frame.reset_index(drop=True)
    require(frame, _FEATURES, ROWS, f"{path}, filtered")
    data = frame[_FEATURES]
    space = FeatureSpace.infer(
        data, kinds={"priors_count": "real"}, ordinal={"age_cat": AGE_GROUPS}
    )
    return Dataset(
        name="compas",
        X=data,
        y=frame[_TARGET],
        space=space,
        favourable=0,
        description="COMPAS (ProPublica, Broward County), in the variant of Karimi et al. 2020",
    )


def _usual(raw: pd.DataFrame) -> pd.Series[bool]:
    """ProPublica's row filter."""
    return (
        raw["days_b_screening_arrest"].between(-_MAX_DAYS, _MAX_DAYS)
        & (raw["is_recid"] != -1)
        & (raw["c_charge_degree"] != "O")
        & raw["score_text"].notna()
    )
