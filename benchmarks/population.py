"""A whole population: every row of Adult's training file that a forest refuses, proved.

All 32,561 rows, ``?`` as a category of its own; a forest of 100 trees of depth 8; l1, to within
0.1 %.  ``CFXC_DATA`` names the folder of the data.
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import replace

import pandas as pd
from support.report import Table
from support.tasks import Data, adult, fit, forest

import cfxc
from cfxc.datasets.source import local_file

COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation",
    "relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week",
    "native_country", "income",
)  # fmt: skip
COMPLETE = 30_162  # rows of the training file come first
UNUSED = ["fnlwgt", "race", "income"]
HEADER = ("processes", "refused", "different", "proved", "seconds", "ms each", "memory, MB")


def training_set() -> Data:
    """Adult's training file, twelve features; favourable: above 50,000 dollars."""
    path = local_file("adult/adult.data.csv.gz")
    if path is None:
        raise SystemExit("CFXC_DATA names no folder with adult/adult.data.csv.gz")
    frame = pd.read_csv(path, names=COLUMNS, skipinitialspace=True, keep_default_na=False)
    X, y = frame.drop(columns=UNUSED), (frame["income"] == ">50K").astype(int)
    return Data("Adult, training file", X, y, cfxc.FeatureSpace.infer(X), test=0)


def complete_rows() -> Data:
    """The 30,162 rows of it that miss nothing, in the variant of the other benchmarks."""
    whole = adult()
    return replace(whole, X=whole.X.iloc[:COMPLETE], y=whole.y.iloc[:COMPLETE], test=0)


def memory() -> float:
    """The largest resident size of this process and of its largest child, in MB."""
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(resource.getrusage(kind).ru_maxrss for kind in kinds) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, help="the first of those refused (all)")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--complete", action="store_true", help="without rows that miss something")
    options = parser.parse_args()
    data = complete_rows() if options.complete else training_set()
    task = fit(data, "RF 100×8", forest(100, 8))
    rows = task.people.iloc[: options.people]
    started = time.perf_counter()
    answers = task.compiled.explain_batch(rows, target=1, distance="l1", n_jobs=options.processes)
    seconds = time.perf_counter() - started
    table = Table(task.name, HEADER)
    table.rows.append(
        (str(options.processes), f"{len(rows):,}", f"{len(rows.drop_duplicates()):,}",
         f"{(answers['status'] == 'optimal').sum():,}", f"{seconds:.1f}",
         f"{1000 * seconds / len(rows):.2f}", f"{memory():.0f}")
    )  # fmt: skip
    print(table.markdown())


if __name__ == "__main__":
    main()
