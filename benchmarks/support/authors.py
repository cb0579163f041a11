"""The models and people of Maragno, Röber & Birbil (2022), from a copy of their repository.

``github.com/tabearoeber/CE-OCL``, folder ``numerical experiments/data``: data scaled to [0, 1],
pickled models of scikit-learn 1.1 and 30 people for each table.  Pickles run code: read only a copy
that you trust.  The models become pipelines over the data's own units.
"""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree

from .carla import Table

FOLDERS = {
    "adult": "adult", "compas": "compas", "heloc": "heloc", "credit": "give_me_some_credit",
}  # fmt: skip
FILES = {"rf": "RF", "lr": "LINEAR", "cart": "CART", "mlp": "MLP", "gbm": "GBM"}
NODE = Tree(1, np.array([2], dtype=np.intp), 1).__getstate__()["nodes"].dtype


class _Tree(Tree):
    """A tree pickled before scikit-learn 1.3: no missing values, and counts in its leaves."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        nodes = np.zeros(state["nodes"].shape, NODE)
        for name in state["nodes"].dtype.names:
            nodes[name] = state["nodes"][name]
        values = state["values"]
        if values.shape[2] > 1:
            values = values / values.sum(axis=2, keepdims=True)
        super().__setstate__({**state, "nodes": nodes, "values": values})


class _Gone:
    """What stands for classes that are no more, and that predictions do not need."""

    def __init__(self, *_: Any) -> None:
        pass


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("sklearn.tree._tree", "Tree"):
            return _Tree
        if module == "sklearn.ensemble._gb_losses":
            return _Gone
        return super().find_class(module, name)


def _load(path: Path) -> Any:
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        return _Unpickler(file).load()


class Authors:
    """One data set of theirs: its table, its people, and its models."""

    def __init__(self, root: Path, name: str) -> None:
        self.folder, self.name = root / "numerical experiments" / "data" / FOLDERS[name], name
        told = self._told()
        target = told["target"][0]
        scaled = self._read(f"dataset_carla_{FOLDERS[name]}.csv")
        whole = scaled is not None
        if scaled is None:  # too large for some copies
            scaled = self._read(f"test_carla_{FOLDERS[name]}.csv")
        assert scaled is not None
        people = self._read(f"factuals_{FOLDERS[name]}.csv")
        assert people is not None
        self.numbers = [c for c in scaled if c in told["continuous"]]
        self.dummies = [c for c in scaled if c not in (*self.numbers, target)]
        ends = _load(self.folder / f"scaler_{FOLDERS[name]}")
        low, size = (
            pd.Series(one, index=told["continuous"])[self.numbers]
            for one in (ends.data_min_, ends.data_range_)
        )
        fixed = [c for c in scaled if c in told["immutables"]]
        fixed += [c for c in self.dummies if c.rsplit("_", 1)[0] in told["immutables"]]
        X, self.people = (
            (rows[self.numbers] * size + low).assign(**self._labels(rows))
            for rows in (scaled, people)
        )
        corners = pd.DataFrame([low, low + size]).reset_index(drop=True)
        every = [X, self.people]  # ranges hold the people too
        if not whole:  # and those rows that were lost, whose ends the scaler knows
            every.append(corners.assign(**X[self.dummies].iloc[0]))
        self.X = pd.concat(every, ignore_index=True)
        self.columns = make_column_transformer(
            (MinMaxScaler(), self.numbers), (OrdinalEncoder(), self.dummies)
        ).fit(corners.assign(**{dummy: ["0", "1"] for dummy in self.dummies}))
        y = np.append(scaled[target], np.zeros(len(self.X) - len(scaled)))
        self.table = Table(name, self.X, pd.Series(y.astype(int)), tuple(fixed))

    def model(self, kind: str) -> Any:
        """One of their models, over the data's own units."""
        own = _load(self.folder / f"{FILES[kind]}_{FOLDERS[self.name]}.pkl")
        vars(own).pop("feature_names_in_", None)
        if isinstance(own, RandomForestClassifier):
            own.estimator = DecisionTreeClassifier()
            for tree in own.estimators_:
                tree.monotonic_cst = None
        if isinstance(own, GradientBoostingClassifier):
            assert own.init == "zero"
            rows = np.random.default_rng(0).random((20, own.n_features_in_))
            made = GradientBoostingClassifier(
                n_estimators=len(own.estimators_), learning_rate=own.learning_rate, init="zero"
            ).fit(rows, np.arange(20) % 2)
            made.estimators_, own = own.estimators_, made
        return make_pipeline(self.columns, own)

    def _told(self) -> dict[str, list[str]]:
        text = (self.folder / "README.txt").read_text(encoding="utf-8")
        pairs = (line.split(":", 1) for line in text.splitlines() if ":" in line)
        plain = str.maketrans("[],'", "    ")
        return {name.strip(): values.translate(plain).split() for name, values in pairs}

    def _read(self, name: str) -> pd.DataFrame | None:
        path = self.folder / name
        return pd.read_csv(path) if path.exists() and path.stat().st_size else None

    def _labels(self, rows: pd.DataFrame) -> dict[str, Any]:
        return {c: rows[c].astype(int).astype(str) for c in self.dummies}


__all__ = ["FILES", "Authors"]
