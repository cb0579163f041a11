"""The exact hull (ε = 0) of Maragno, Röber & Birbil (2022): answers inside it, and their proofs.

    CFXC_DATA=… python benchmarks/hulls.py --data heloc [--part tables|settings] [--models rf] …

``proofs``: of each model, the nearest counterfactual under l1 within the hull of the rows with the
favourable label, beside the nearest such row that the model accepts and the person can have (none
where what is fixed differs in all of them), and how often ours is nearer, as near, farther.  Rule:
the same 10 people of every model, 60 s each; what is not proved is told with its gap.

``tables``, ``settings``: the rows of ``criteria_tables.py`` with a trust region, by the same rules
(30 people, 3 s a search), but ε = 0 as the paper has it, beside the paper's.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from statistics import fmean, median

import pandas as pd
from criteria import HEAD, MODELS, MODELS_OF, WAYS, Row, beside_paper, fitted, trained
from criteria_tables import NAMES
from support.carla import TABLES, Table
from support.observable import minimum_observable
from support.paper_figures import MEASURED, WHO
from support.report import Table as Shown
from support.report import circumstances, write_section
from support.table_2 import as_text

import cfxc

PROOFS = ["data", "model", "people", "answered", "proved", "median, s", "most, s", "largest gap",
          "with such a row", "distance (s.e.)", "of that row (s.e.)",
          "nearer, as near, farther"]  # fmt: skip
RULES = {"proofs": (10, 60.0), "tables": (30, 3.0), "settings": (30, 3.0)}
"""How many people, and the seconds of a search."""


def main() -> None:
    """Print the tables, each row to stderr as soon as it is there, and rewrite their section."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="proofs", choices=RULES)
    parser.add_argument("--data", required=True, choices=[*TABLES])
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--people", type=int, help="10, of tables 30")
    parser.add_argument("--seconds", type=float, help="of a search: 60, of tables 3")
    parser.add_argument("--markdown", type=Path, help="rewrite this page's section")
    options = parser.parse_args()
    people, seconds = RULES[options.part]
    options.people, options.seconds = options.people or people, options.seconds or seconds
    shown = proofs(options) if options.part == "proofs" else table_3(options)
    for each in shown:
        each.show()
    if options.markdown is not None:
        asked = f"--data {options.data} --part {options.part}"
        if options.models != parser.get_default("models"):
            asked += f" --models {options.models}"
        asked += f" --people {options.people} --seconds {options.seconds:g}"
        told = circumstances(f"python benchmarks/hulls.py {asked}")
        text = "\n\n".join([told, *(each.markdown() for each in shown)])
        write_section(options.markdown, f"hulls {options.part} {options.data}", text)


def table_3(options: Namespace) -> list[Shown]:
    """The measures of tables 2 and 3 within the exact hull, the paper's after ours."""
    options.counts, options.dice, options.ways = "1,3", 0, "exact"
    found = list[Row]()
    for row in trained(options):
        name, kind, count, who, *_ = row.cells
        if who != WAYS["exact"].who:
            cells = as_text(MEASURED[name, kind, int(count)][WHO[1]])
            row = Row([name, kind, count, NAMES[WHO[1]], "30", "", *cells, "", "", ""])
        print(" | ".join([*row.cells, *row[1:]]), file=sys.stderr, flush=True)
        found.append(row)
    title = f"{options.data}: within the exact hull, counterfactuals in {MODELS_OF[options.part]}"
    return [Shown(title, HEAD, [row.cells for row in found]), beside_paper(found)]


def proofs(options: Namespace) -> list[Shown]:
    """A row of each model."""
    data = TABLES[options.data]()
    shown = Shown("Within the exact hull, l1: ours beside the nearest row", PROOFS)
    for kind in options.models.split(","):
        shown.rows.append([options.data, kind, *measured(data, kind, options)])
        print(" | ".join(shown.rows[-1]), file=sys.stderr, flush=True)
    return [shown]


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
        if result.distance is None:
            continue
        answered += 1
        assert model.predict(result.counterfactual)[0] == 1
        gaps.append(1 - result.lower_bound / result.distance if result.distance else 0.0)
        row = nearest_row(compiled, person, favoured)
        if row is not None:
            pairs.append((result.distance, row))
    own, rows = zip(*pairs, strict=True) if pairs else ((), ())
    swapped = [*zip(rows, own, strict=True)]
    nearer, farther = (sum(x < y * (1 - 1e-9) for x, y in both) for both in (pairs, swapped))
    return [
        f"{len(people)}", f"{answered}", f"{proved}", f"{median(spent):.2f}", f"{max(spent):.2f}",
        f"{max(gaps, default=0.0):.2f}", f"{len(pairs)}", mean(own), mean(rows),
        f"{nearer}, {len(pairs) - nearer - farther}, {farther}",
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
