"""The exact hull (ε = 0) of Maragno, Röber & Birbil (2022): answers inside it, and their proofs.

Of each data set and model, the nearest counterfactual under l1 within the hull of the rows with the
favourable label, beside the nearest such row that the model accepts and the person can have (none
where what is fixed differs in all of them).  Rule: the same 10 people of
every model, 60 s each; what is not proved is told with its gap.

    CFXC_DATA=… python benchmarks/hulls.py [--data heloc --models rf]
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, median

import pandas as pd
from criteria import MODELS, fitted
from support.carla import TABLES, Table
from support.observable import minimum_observable
from support.report import Table as Shown
from support.report import circumstances, write_section

import cfxc

HEAD = ["data", "model", "people", "answered", "proved", "median, s", "most, s", "largest gap",
        "with such a row", "distance (s.e.)", "of that row (s.e.)", "nearer"]  # fmt: skip


def main() -> None:
    """Print the table, and rewrite its section."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=",".join(TABLES))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--markdown", type=Path, help="rewrite this page's section")
    options = parser.parse_args()
    shown = Shown("Within the exact hull, l1: ours beside the nearest row", HEAD)
    for row in rows(options):
        print(" | ".join(row), flush=True)
        shown.rows.append(row)
    shown.show()
    if options.markdown is not None:
        told = circumstances(
            f"python benchmarks/hulls.py --people {options.people} --seconds {options.seconds:g}"
        )
        write_section(options.markdown, "hulls exact", f"{told}\n\n{shown.markdown()}")


def rows(options: Namespace) -> Iterator[list[str]]:
    """A row of each data set and model."""
    for name in options.data.split(","):
        data = TABLES[name]()
        for kind in options.models.split(","):
            yield [name, kind, *measured(data, kind, options)]


def measured(data: Table, kind: str, options: Namespace) -> list[str]:
    """The cells of one model."""
    model = fitted(data, MODELS[kind])
    compiled = cfxc.compile(model, cfxc.FeatureSpace.infer(data.X, fixed=data.fixed))
    region = cfxc.TrustRegion(data.X, data.y, epsilon=0)
    refused = data.X[model.predict(data.X) == 0]
    people = refused.sample(min(options.people, len(refused)), random_state=0)
    favoured = data.X[(data.y == 1) & (model.predict(data.X) == 1)]
    spent, gaps, pairs = list[float](), list[float](), list[tuple[float, float]]()
    answered = proved = 0
    for i in range(len(people)):
        person, started = people.iloc[[i]], time.process_time()
        result = compiled.explain(
            person, target=1, distance="l1", subject_to=[region], time_limit=options.seconds
        )
        spent.append(time.process_time() - started)
        proved += result.status in ("optimal", "infeasible")
        if result.counterfactual is None:
            continue
        answered += 1
        assert model.predict(result.counterfactual)[0] == 1
        gaps.append(1 - result.lower_bound / result.distance if result.distance else 0.0)
        row = nearest_row(compiled, person, favoured)
        if row is not None:
            pairs.append((result.distance, row))
    own, rows = zip(*pairs, strict=True) if pairs else ((), ())
    nearer = sum(x < y * (1 - 1e-9) for x, y in pairs)
    return [
        f"{len(people)}", f"{answered}", f"{proved}", f"{median(spent):.2f}", f"{max(spent):.2f}",
        f"{max(gaps, default=0.0):.2f}", f"{len(pairs)}", mean(own), mean(rows), f"{nearer}",
    ]  # fmt: skip


def nearest_row(
    compiled: cfxc.CompiledModel, person: pd.DataFrame, favoured: pd.DataFrame
) -> float | None:
    """The distance of the nearest row of the hull that is accepted and that the person can have."""
    query = compiled.explain(person, target=1, distance="l1", time_limit=5).evidence.query
    found = minimum_observable(query, favoured, lambda _: True)
    return None if found is None else float(found.distance)


def mean(values: tuple[float, ...]) -> str:
    """A mean, and its standard error."""
    if not values:
        return ""
    error = pd.Series(values).sem() if len(values) > 1 else 0.0
    return f"{fmean(values):.4f} ({error:.4f})"


if __name__ == "__main__":
    main()
