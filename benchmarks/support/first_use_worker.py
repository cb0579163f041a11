"""Run by a tool's own Python: answers people as the tool's first pages do it, one JSON line each.

    python first_use_worker.py TOOL FOLDER --seconds S

The folder holds ``model.joblib``, ``data.csv`` (features and the column ``y``), ``people.csv`` and
``names.json`` (``whole``: columns of whole numbers; ``fixed``).  Favourable is the class 0.
Imports nothing of this repository but cfxc itself, where that is the tool.
"""

from __future__ import annotations

import json
import time

START = time.perf_counter()

import warnings  # noqa: E402
from argparse import ArgumentParser  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import joblib  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

Answer = Callable[[int], tuple[Any, str]]  # of a person: the row or None, what the tool says of it


class Case:
    """What every tool is given."""

    def __init__(self, folder: Path, seconds: float) -> None:
        table = pd.read_csv(folder / "data.csv")
        self.y, self.X = table.pop("y"), table
        self.people = pd.read_csv(folder / "people.csv").astype(self.X.dtypes)
        names = json.loads((folder / "names.json").read_text(encoding="utf-8"))
        self.whole, self.fixed = names["whole"], names["fixed"]
        self.model, self.seconds = joblib.load(folder / "model.joblib"), seconds
        self.ranges = (self.X.max() - self.X.min()).to_numpy(float)


def cfxc(case: Case) -> Answer:
    import cfxc

    space = cfxc.FeatureSpace.infer(case.X, fixed=case.fixed)
    model = cfxc.compile(case.model, space)

    def answer(i: int) -> tuple[Any, str]:
        found = model.explain(case.people.iloc[[i]], target=0, time_limit=case.seconds)
        row = found.counterfactual
        return None if row is None else row.to_numpy(float)[0], found.status

    return answer


def dice(case: Case, method: str) -> Answer:
    import dice_ml

    np.random.seed(0)  # noqa: NPY002 (what the library draws from)
    data = dice_ml.Data(
        dataframe=case.X.assign(y=case.y), continuous_features=list(case.X), outcome_name="y"
    )
    engine = dice_ml.Dice(data, dice_ml.Model(model=case.model, backend="sklearn"), method=method)
    free = [name for name in case.X if name not in case.fixed]

    def answer(i: int) -> tuple[Any, str]:
        found = engine.generate_counterfactuals(
            case.people.iloc[[i]], total_CFs=1, desired_class=0, features_to_vary=free,
            verbose=False,
        )  # fmt: skip
        rows = found.cf_examples_list[0].final_cfs_df
        return (None, "none") if rows is None or rows.empty else (
            rows[list(case.X)].to_numpy(float)[0], "found")  # fmt: skip

    return answer


def treecf(case: Case, backend: str) -> Answer:
    from treecf import Explainer, Freeze, Target

    engine = Explainer(
        case.model, background=case.X, constraints=[Freeze(name) for name in case.fixed],
        normalizers=case.ranges, value_policy=dict.fromkeys(case.whole, "integer"),
    )  # fmt: skip
    target = Target.raw(op="<=", value=0.4999999)  # the mean vote for the class 1

    def answer(i: int) -> tuple[Any, str]:
        found = engine.explain(
            case.people.iloc[i].to_numpy(float), target, backend=backend,
            time_budget_s=case.seconds, seed=0,
        )  # fmt: skip
        return getattr(found, "x_cf", None), found.proof

    return answer


def ocean(case: Case) -> Answer:
    """Its own copy of the forest, fitted to the table as it parses it, unscaled."""
    from ocean import ConstraintProgrammingExplainer
    from ocean.feature import parse_features

    X, mapper = parse_features(case.X, discretes=tuple(case.whole), scale=False)
    model = type(case.model)(**case.model.get_params()).fit(X, case.y)
    engine = ConstraintProgrammingExplainer(model, mapper=mapper)

    def answer(i: int) -> tuple[Any, str]:
        found = engine.explain(
            case.people.iloc[i].to_numpy(float), y=0, norm=1, max_time=int(case.seconds),
            num_workers=1,
        )  # fmt: skip
        row = None if found is None else np.asarray(found.to_numpy(), float).ravel()
        return row, engine.get_solving_status().lower()

    return answer


def alibi(case: Case) -> Answer:
    """Counterfactuals guided by prototypes, with k-d trees, as for models that are called."""
    import tensorflow as tf

    tf.compat.v1.disable_v2_behavior()
    from alibi.explainers import CounterfactualProto

    low, high = (np.atleast_2d(bound.to_numpy(float)) for bound in (case.X.min(), case.X.max()))
    engine = CounterfactualProto(
        lambda rows: case.model.predict_proba(pd.DataFrame(rows, columns=case.X.columns)),
        (1, case.X.shape[1]), use_kdtree=True, theta=10.0, feature_range=(low, high),
    )  # fmt: skip
    engine.fit(case.X.to_numpy(float))

    def answer(i: int) -> tuple[Any, str]:
        found = engine.explain(case.people.iloc[[i]].to_numpy(float), target_class=[0])
        return (None, "none") if found.cf is None else (found.cf["X"].ravel(), "found")

    return answer


TOOLS: dict[str, Callable[[Case], Answer]] = {
    "cfxc": cfxc,
    "treecf": lambda case: treecf(case, "genetic"),
    "treecf-exact": lambda case: treecf(case, "exact"),
    "ocean": ocean,
    "dice": lambda case: dice(case, "random"),
    "dice-genetic": lambda case: dice(case, "genetic"),
    "alibi": alibi,
}


def main() -> None:
    """The seconds of each answer; the first has those of importing and setting up."""
    warnings.simplefilter("ignore")
    parser = ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("tool", choices=TOOLS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, required=True, help="limit per person")
    options = parser.parse_args()
    case, began = Case(options.folder, options.seconds), START
    answer = TOOLS[options.tool](case)
    for i in range(len(case.people)):
        try:
            row, said = answer(i)
        except Exception as error:  # the tools' own errors share no base but this one
            row, said = None, f"{type(error).__name__}: {error}"[:200]
        seconds, began = time.perf_counter() - began, time.perf_counter()
        row = None if row is None else [float(value) for value in row]
        print(json.dumps({"row": row, "said": said, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
