"""The duration of taxi trips of Spooner et al. (2021), and all that its Table 2 could have reached.

Section 4 asks what makes a short trip longer by a share; appendix D.2 trains the model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor

import cfxc
from cfxc.datasets.source import local_file, read_csv

from .portable import Array

FILE = "nyc_taxi/train-sample0.05.csv.gz"
EARTH = 6371.0
"""Radius in km."""

TREES = 100  # the paper does not say how many; LightGBM's default
SHORT = 0.25  # the lower tail: the share of trips that take least
LENGTH = 0.41  # of the paper's query, in km
AROUND = 2  # steps of weekday and hour, and passengers more
GRID = "0.01"  # km
GROUPS = ("vendor_id_", "store_and_fwd_flag_")
FREE = ("passenger_count", "weekday", "hour", "distance")


@dataclass(frozen=True)
class Taxi:
    """A fitted model of log seconds, a short trip, and what may change about it.

    Attributes:
        X: n rows of what the model sees, the training rows.
        model: Its output is the logarithm of the duration in seconds.
        query: One row of ``X``.
        space: Passengers may rise by two; weekday and hour move by two, inside the week and the
            day; distance by one standard deviation, above 0 and on a grid of 0.01 km.
    """

    X: pd.DataFrame
    model: LGBMRegressor
    query: pd.DataFrame
    space: cfxc.FeatureSpace

    def predict_seconds(self, frame: pd.DataFrame) -> Array:
        """Durations of n rows, shape (n,), in seconds."""
        return np.exp(np.asarray(self.model.predict(frame[list(self.X.columns)]), np.float64))


def taxi() -> Taxi | None:
    """The model as in appendix D.2, on 5 % of its rows; ``None`` without the file of ``CFXC_DATA``.

    As in the example that the paper follows, all rows train.  Bagging, which LightGBM leaves off
    unless told how often, draws anew for every tree.
    """
    path = local_file(FILE)
    if path is None:
        return None
    X, seconds = _prepare(read_csv(path, parse_dates=["pickup_datetime"]))
    model = LGBMRegressor(
        n_estimators=TREES, learning_rate=0.1, max_depth=25, num_leaves=1000, colsample_bytree=0.9,
        subsample=0.5, subsample_freq=1, max_bin=1000, random_state=123, deterministic=True,
        force_row_wise=True, n_jobs=1, verbose=-1,
    )  # fmt: skip
    model.fit(X, np.log(seconds))
    query = _query(X, seconds)
    return Taxi(X, model, query, _space(X, query))


def brute_force(taxi: Taxi, changes: int) -> pd.DataFrame:
    """All rows of the space with at most ``changes`` features unlike the query's, itself included.

    Returns:
        The columns of ``X``, the number of ``changes`` and the predicted ``seconds``.
    """
    own = taxi.query.iloc[0]
    choices = [_choices(taxi.space[name], own[name]) for name in FREE]
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*choices, indexing="ij")], axis=1)
    changed = (grid != own[list(FREE)].to_numpy(np.float64)).sum(axis=1)
    grid, changed = grid[changed <= changes], changed[changed <= changes]
    rows = taxi.query.iloc[np.zeros(len(grid), dtype=int)].reset_index(drop=True)
    rows = rows.assign(**dict(zip(FREE, grid.T, strict=True))).astype(taxi.X.dtypes)
    return rows.assign(changes=changed, seconds=taxi.predict_seconds(rows))


def _prepare(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """Features and seconds of the trips that are sensible.

    The minute is that of the hour; the paper's "minutes of the day" would say the hour again, and
    contradict it once it changes.  Speed is in m/s and only a filter, since it gives the duration
    away: 30 m/s keeps all but six trips; the paper names no unit.
    """
    table = table[
        (table.trip_duration < 5900)
        & (table.passenger_count > 0)
        & (table.pickup_longitude > -100)
        & (table.pickup_latitude < 50)
    ]
    when = table.pickup_datetime.dt
    X = pd.get_dummies(
        table.drop(columns=["id", "pickup_datetime", "dropoff_datetime", "trip_duration"]).assign(
            month=when.month, week=when.isocalendar().week, weekday=when.day_of_week,
            hour=when.hour, minute=when.minute, distance=_distance(table),
            direction=_direction(table),
        ),
        columns=[group.rstrip("_") for group in GROUPS],
    )  # fmt: skip
    whole = X.columns[[dtype.kind != "f" for dtype in X.dtypes]]
    X = X.astype(dict.fromkeys(whole, "int64"))
    kept = (X.distance < 200) & (1000 * X.distance / table.trip_duration < 30)
    return X[kept].reset_index(drop=True), table.trip_duration[kept].reset_index(drop=True)


def _distance(table: pd.DataFrame) -> pd.Series:
    """Great-circle distance in km, by the haversine formula."""
    start, end = np.radians(table.pickup_latitude), np.radians(table.dropoff_latitude)
    east = np.radians(table.dropoff_longitude - table.pickup_longitude)
    half = np.sin((end - start) / 2) ** 2 + np.cos(start) * np.cos(end) * np.sin(east / 2) ** 2
    return 2 * EARTH * np.arcsin(np.sqrt(half))


def _direction(table: pd.DataFrame) -> pd.Series:
    """Initial bearing in degrees, in (-180, 180]; 0 is north, 90 east."""
    start, end = np.radians(table.pickup_latitude), np.radians(table.dropoff_latitude)
    east = np.radians(table.dropoff_longitude - table.pickup_longitude)
    north = np.cos(start) * np.sin(end) - np.sin(start) * np.cos(end) * np.cos(east)
    return np.degrees(np.arctan2(np.sin(east) * np.cos(end), north))


def _query(X: pd.DataFrame, seconds: pd.Series) -> pd.DataFrame:
    """The short trip nearest to the paper's: one person, 410 m, on a Monday in May at 10 AM."""
    wanted = {"passenger_count": 1, "month": 5, "weekday": 0, "hour": 10}
    alike = (X[list(wanted)] == pd.Series(wanted)).all(axis=1)
    found = X[alike & (seconds <= seconds.quantile(SHORT))]
    return found.loc[[(found.distance - LENGTH).abs().idxmin()]]


def _space(X: pd.DataFrame, query: pd.DataFrame) -> cfxc.FeatureSpace:
    """What Table 2 may change; a Monday has no day before it, as the week is not a circle here."""
    own, spread = query.iloc[0], X.distance.std()
    named = {group.rstrip("_") for group in GROUPS}
    fixed = [name for name in X if name not in FREE and not str(name).startswith(GROUPS)]
    space = cfxc.FeatureSpace.infer(X, fixed=[*fixed, *named], one_hot=GROUPS)
    most = min(int(own.passenger_count) + AROUND, int(X.passenger_count.max()))
    least = int(own.passenger_count)
    space = space.replace("passenger_count", lower=least, upper=most, action="increase")
    for name, last in (("weekday", 6), ("hour", 23)):
        low, high = max(int(own[name]) - AROUND, 0), min(int(own[name]) + AROUND, last)
        space = space.replace(name, lower=low, upper=high)
    low, high = max(own.distance - spread, float(GRID)), own.distance + spread
    return space.replace("distance", lower=low, upper=high, resolution=GRID)


def _choices(feature: cfxc.Feature, own: float) -> Array:
    """What a number may become, the query's own value included."""
    low, high = map(float, feature.bounds)
    if feature.kind == "integer":
        return np.arange(low, high + 1)
    assert feature.steps is not None
    assert feature.resolution is not None
    first, last = feature.steps
    held = [float(feature.held(k * feature.resolution)) for k in range(first, last + 1)]
    return np.unique([*held, own])


__all__ = ["Taxi", "brute_force", "taxi"]
