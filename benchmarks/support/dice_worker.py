"""Run by the peers' own Python: DiCE on the people of a folder, one JSON line each.

    python dice_worker.py FOLDER --count K [--method random] [--desired opposite] [--seconds S]

The folder holds ``model.joblib``, ``data.csv`` (features and the column ``y``), ``people.csv`` and
``names.json``.  Imports nothing of this repository.
"""

from __future__ import annotations

import json
import time
import warnings
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd


class Sure:
    """A classifier without probabilities, as one that is always sure."""

    def __init__(self, model: Any) -> None:
        self.model, self.classes_ = model, model.classes_

    def predict(self, rows: pd.DataFrame) -> Any:
        return self.model.predict(rows)

    def predict_proba(self, rows: pd.DataFrame) -> Any:
        likely = 1 / (1 + np.exp(-self.model.decision_function(rows)))
        return np.column_stack([1 - likely, likely])


def main() -> None:
    """Answer everybody; the first one, who is not timed, twice."""
    warnings.simplefilter("ignore")
    np.random.seed(0)  # noqa: NPY002 (what the library draws from)
    parser = ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--method", choices=("genetic", "random"), default="genetic")
    parser.add_argument("--desired", default="1", help="a class, or opposite")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="then no more people")
    options = parser.parse_args()
    import dice_ml

    names = json.loads((options.folder / "names.json").read_text(encoding="utf-8"))
    table, people = (
        pd.read_csv(options.folder / f"{part}.csv", dtype=names["dtypes"])
        for part in ("data", "people")
    )
    model = joblib.load(options.folder / "model.joblib")
    model = model if hasattr(model, "predict_proba") else Sure(model)
    data = dice_ml.Data(dataframe=table, continuous_features=names["numbers"], outcome_name="y")
    engine = dice_ml.Dice(
        data, dice_ml.Model(model=model, backend="sklearn"), method=options.method
    )
    desired = options.desired if options.desired == "opposite" else int(options.desired)
    # the step after the search changes only final_cfs_df_sparse, which nobody reads here
    extra = {"posthoc_sparsity_param": None} if options.method == "random" else {}
    began = time.perf_counter()
    for i in [0, *range(len(people))]:
        if time.perf_counter() - began > options.seconds:
            break
        started = time.perf_counter()
        try:
            found = engine.generate_counterfactuals(
                people.iloc[[i]], total_CFs=options.count, desired_class=desired,
                features_to_vary=names["free"], verbose=False, **extra,
            )  # fmt: skip
            rows = found.cf_examples_list[0].final_cfs_df
        except Exception as error:  # the library's own errors share no base but this one
            rows, note = None, f"{type(error).__name__}: {error}"[:200]
        else:
            note = ""
        seconds = time.perf_counter() - started
        answer = [] if rows is None else rows.drop(columns="y").to_dict("records")
        print(
            json.dumps({"rows": answer, "seconds": seconds, "note": note}, default=str), flush=True
        )


if __name__ == "__main__":
    main()
