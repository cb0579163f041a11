"""Run by the peers' own Python: a line once the model is read, then a JSON line for each person.

    python peer_worker.py treecf|ocean FOLDER --seconds S

The folder holds what ``portable.write`` put there.  Imports nothing of this repository.
"""

from __future__ import annotations

import json
import time
import warnings
from argparse import ArgumentParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

WARM = 5.0  # seconds for people who are not timed


class Question:
    """The arrays and parts of a folder."""

    def __init__(self, folder: Path) -> None:
        arrays = np.load(folder / "trees.npz")
        self.people = arrays["people"]
        self.roots = arrays["roots"].tolist()
        self.columns = {key: arrays[key] for key in ("feature", "threshold", "left", "right")}
        self.value, self.base, self.cut = arrays["value"], float(arrays["base"]), arrays["cut"]
        self.parts = json.loads((folder / "parts.json").read_text(encoding="utf-8"))

    def trees(self) -> list[dict[str, Any]]:
        """Each tree's arrays, children counted from its own root."""
        found = []
        for first, last in zip(self.roots, [*self.roots[1:], len(self.value)], strict=True):
            tree = {key: column[first:last] for key, column in self.columns.items()}
            for side in ("left", "right"):
                tree[side] = np.where(tree[side] >= 0, tree[side] - first, -1)
            found.append({**tree, "value": self.value[first:last]})
        return found


def flat(part: dict[str, Any]) -> bool:
    """Whether every change of a category costs 1."""
    costs = np.array(part["costs"])
    return bool((costs == 1 - np.eye(len(costs))).all())


class Treecf:
    """treecf's exact engine, with its own distance weighted to be ours.

    A number's change is divided by its range.  A category whose changes all cost 1 is one of its
    categorical features (a tenth faster than one-hot columns).  One with an order is a one-hot
    group: the column left and the column entered share the cost of the change between them.
    """

    def __init__(self, question: Question, seconds: float) -> None:
        import treecf
        from treecf.ir.model import CategoricalFeature

        self.question, self.seconds = question, seconds
        self.names: list[str] = []
        self.home: dict[int, tuple[int, int | None]] = {}  # column → feature, code
        self.cardinality, sigma, policy = {}, [], {}
        constraints: list[Any] = []
        for part in question.parts:
            if part["costs"] is None:
                self._add(part["columns"])
                sigma.append(part["upper"] - part["lower"])
                constraints.append(treecf.Range(self.names[-1], part["lower"], part["upper"]))
                if part["step"] is not None:
                    policy[self.names[-1]] = treecf.Grid(part["step"])
            elif flat(part):
                sigma.append(1.0)
                feature = len(self.names)
                self.names.append(f"f{feature}")
                self.home.update({c: (feature, k) for k, c in enumerate(part["columns"])})
                self.cardinality[feature] = CategoricalFeature(len(part["columns"]))
            else:
                sigma.extend([1.0] * len(part["columns"]))
                constraints.append(treecf.OneHot(tuple(self._add(part["columns"]))))
        self.explainer = treecf.Explainer(
            self._ensemble(), constraints=constraints, normalizers=np.array(sigma),
            value_policy=policy,
        )  # fmt: skip
        self.target = treecf.Target.raw(op=">=", value=float(question.cut))

    def _add(self, columns: list[int]) -> list[str]:
        """A feature for each of the columns."""
        for column in columns:
            self.home[column] = len(self.names), None
            self.names.append(f"f{len(self.names)}")
        return self.names[-len(columns) :]

    def _ensemble(self) -> Any:
        from treecf.ir.model import EnsembleIR, Link, Node, SplitOp, Tree

        def node(tree: dict[str, Any], i: int) -> Any:
            if tree["left"][i] < 0:
                return Node(i, None, None, None, None, None, None, float(tree["value"][i]))
            feature, code = self.home[int(tree["feature"][i])]
            threshold = float(tree["threshold"][i])
            left, right = int(tree["left"][i]), int(tree["right"][i])
            if code is None:
                return Node(i, feature, threshold, SplitOp.LE, None, left, right, None)
            assert 0 <= threshold < 1, "a question on a one-hot column that is none"
            others = frozenset(range(self.cardinality[feature].cardinality)) - {code}
            return Node(i, feature, None, None, None, left, right, None, others)

        trees = tuple(
            Tree(tuple(node(tree, i) for i in range(len(tree["value"]))))
            for tree in self.question.trees()
        )
        base, names = self.question.base, tuple(self.names)
        return EnsembleIR(trees, base, Link.IDENTITY, len(names), names, {}, self.cardinality)

    def _enter(self, x: Any) -> Any:
        """The person's features; sets what each column of an ordered category costs them."""
        values, weights = np.zeros(len(self.names)), np.ones(len(self.names))
        for column, (feature, code) in self.home.items():
            if code is None:
                values[feature] = x[column]
            elif x[column] == 1:
                values[feature] = code
        for part in self.question.parts:
            if part["costs"] is not None and not flat(part):
                here = int(np.argmax(x[part["columns"]]))
                costs = np.array(part["costs"][here])
                leaving = np.delete(costs, here).min() / 2
                own = [self.home[column][0] for column in part["columns"]]
                weights[own] = costs - leaving
                weights[own[here]] = leaving
        self.explainer.weights = weights
        return values

    def _leave(self, values: Any) -> list[float]:
        pairs = (self.home[column] for column in range(len(self.home)))
        return [float(values[f] if code is None else values[f] == code) for f, code in pairs]

    def prepare(self, x: Any) -> Any:
        return self._enter(x)

    def answer(self, x: Any) -> dict[str, Any]:
        found = self.explainer.explain(
            x, self.target, backend="exact", time_budget_s=self.seconds, node_budget=10**15, seed=0
        )
        row, nodes = getattr(found, "x_cf", None), found.solver_stats.get("nodes_expanded")
        distance = None if row is None else found.distance
        row = None if row is None else self._leave(row)
        return {"status": found.proof, "nodes": nodes, "row": row, "objective": distance}


class Ocean:
    """OCEAN with CP-SAT; its distance cannot be made ours.

    Numbers are scaled to their range, but move to the edge of a cell, not to the next whole value;
    any change of a category costs 1, also of one whose labels have an order.
    """

    def __init__(self, question: Question, seconds: float) -> None:
        import ocean
        import pandas as pd
        from ocean.abc import Mapper
        from ocean.feature import Feature

        self.question, self.seconds = question, seconds
        width = question.people.shape[1]
        self.low, self.size = np.zeros(width), np.ones(width)
        features, labels = {}, [("", "")] * width
        for part in question.parts:
            name, columns = part["name"], part["columns"]
            if part["costs"] is not None:
                codes = [str(k) for k in range(len(columns))]
                features[name] = Feature(Feature.Type.ONE_HOT_ENCODED, codes=codes)
                for column, code in zip(columns, codes, strict=True):
                    labels[column] = name, code
                continue
            features[name] = Feature(Feature.Type.CONTINUOUS, levels=(-0.5, 1.5))
            labels[columns[0]] = name, ""
            self.low[columns], self.size[columns] = part["lower"], part["upper"] - part["lower"]
        ordered = {name: features[name] for name in dict.fromkeys(name for name, _ in labels)}
        columns = pd.MultiIndex.from_tuples(labels)
        self.explainer = ocean.ConstraintProgrammingExplainer(
            self._ensemble(), mapper=Mapper(ordered, columns=columns)
        )

    def _ensemble(self) -> list[Any]:
        """Objects with the arrays that OCEAN reads of scikit-learn's trees."""
        question, made = self.question, []
        trees = question.trees()
        for tree in trees:
            feature = tree["feature"]
            value = np.empty((len(feature), 1, 2))
            value[:, 0, 0] = question.cut - question.base  # OCEAN cuts at 1e-10: scores are a mean
            value[:, 0, 1] = tree["value"] * len(trees)
            arrays = SimpleNamespace(
                node_count=len(feature), max_depth=0, feature=feature,
                threshold=(tree["threshold"] - self.low[feature]) / self.size[feature],
                children_left=tree["left"], children_right=tree["right"],
                n_node_samples=np.ones(len(feature), int), value=value,
            )  # fmt: skip
            made.append(SimpleNamespace(tree_=arrays))
        return made

    def prepare(self, x: Any) -> Any:
        return (x - self.low) / self.size

    def answer(self, x: Any) -> dict[str, Any]:
        found = self.explainer.explain(x, y=1, norm=1, max_time=self.seconds, num_workers=1)
        status = self.explainer.get_solving_status().lower()
        solver = self.explainer.solver
        value = None if found is None else self.explainer.get_objective_value()
        return {"status": status, "nodes": solver.NumBranches(), "row": None, "objective": value}


def main() -> None:
    parser = ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("engine", choices=("treecf", "ocean"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--warm", type=int, default=0, help="people at the start, not timed")
    parser.add_argument("--first", type=int, default=0, help="where to begin")
    parser.add_argument("--seconds", type=float, required=True, help="limit per person")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    question = Question(options.folder)
    engine = {"treecf": Treecf, "ocean": Ocean}[options.engine](question, options.seconds)
    print("ready", flush=True)
    for number, x in enumerate(question.people[options.first :], options.first):
        prepared = engine.prepare(x)
        engine.seconds = options.seconds if number >= options.warm else WARM
        wall, cpu = time.perf_counter(), time.process_time()
        answer = engine.answer(prepared)
        answer["seconds"] = time.perf_counter() - wall
        answer["cpu"] = time.process_time() - cpu
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
