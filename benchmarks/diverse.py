"""Three answers as different as the paper's: table 3 of Maragno, Röber & Birbil (2022).

    CFXC_DATA=… python benchmarks/diverse.py --data adult [--people 30] …

Of each model ``cfxc.Diverse`` with the mean of differences: the nearest answer, and two within
(1 + w) of its distance that differ most.  Rules, fixed before the run:

* *own units*: the distance is l1 in the data's units, a category counts as a standard deviation of
  the widest number; two features more change than the fewest that are enough.  *Shares*: the same,
  but l1 of shares of ranges, as ``explain`` has it by default.  Of both w = 1/2, 2, 8, … 2048, up
  to the first with which everybody has three answers and all three means of diversity are at least
  the paper's, to the digits it prints.
* *the paper's distance*, with 0, 1 and 2 features more than the fewest, in own units: w is what
  makes the mean distance of everybody's set as much as the paper's mean, if the others use it up.

``at most``: the mean difference (of all features, in the row's units) that no three with the
nearest one exceed, as proved; in own units no continuous diversity does.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from criteria import MODELS, fitted
from support.carla import TABLES
from support.diverse_sets import COUNT, Person, Sets
from support.paper_figures import MEASURED, WHO
from support.report import Table, circumstances, write_section
from support.table_2 import Cell, as_text, mean_and_error

import cfxc

WITHIN = tuple(4.0**k / 2 for k in range(7))
MORE = 2  # changes beyond the fewest
HEAD = ["data", "model", "who", "within", "people", "answers", "valid", "cat. prox.", "cont. prox.",
        "sparsity", "cat. div.", "cont. div.", "sparsity div.", "difference", "at most",
        "diversities", "with proximity", "nearest proved", "s for one", "s for three"]  # fmt: skip


def main() -> None:
    """Print the table, each row to stderr as soon as it is there, and rewrite its section."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, choices=[*TABLES])
    parser.add_argument("--people", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=3.0, help="limit of one search")
    parser.add_argument("--markdown", type=Path, help="rewrite this page's section")
    options = parser.parse_args()
    table = Table(f"{options.data}: three answers by Diverse beside the paper's", HEAD)
    for row in rows(options):
        print(" | ".join(row), file=sys.stderr, flush=True)
        table.rows.append(row)
    table.show()
    if options.markdown is not None:
        asked = "".join(
            f" --{name} {value:g}"
            for name in ("people", "seconds")
            if (value := getattr(options, name)) != parser.get_default(name)
        )
        told = circumstances(f"python benchmarks/diverse.py --data {options.data}{asked}")
        write_section(options.markdown, f"diverse {options.data}", f"{told}\n\n{table.markdown()}")


def rows(options: Namespace) -> Iterator[list[str]]:
    """The paper's row of each model, and ours after it."""
    name, data = options.data, TABLES[options.data]()
    space = cfxc.FeatureSpace.infer(data.X, fixed=data.fixed)
    for kind in MODELS:
        paper = MEASURED.get((name, kind, COUNT))
        if paper is None:
            continue
        theirs = paper[WHO[0]]
        yield [name, kind, "paper", "", "30", "", *as_text(theirs), *[""] * 7]
        model = fitted(data, MODELS[kind])
        refused = data.X[model.predict(data.X) == 0]
        people = refused.sample(min(options.people, len(refused)), random_state=0)
        for row in of_model(model, space, data.X, people, theirs, options.seconds):
            yield [name, kind, *row]


def of_model(
    model: object, space: cfxc.FeatureSpace, X: pd.DataFrame, people: pd.DataFrame,
    theirs: list[Cell], seconds: float,
) -> Iterator[list[str]]:  # fmt: skip
    """Our rows of one model."""
    for who in ("own units", "shares"):  # shares: added when own units missed Adult's tree
        sets = Sets(model, space, X, seconds, shares=who == "shares")
        known = answered(sets, people, MORE)
        for within in WITHIN:
            row = measured(sets, known, [within] * len(known), theirs)
            yield [who, f"{within:g}", f"{len(people)}", *row]
            if row[HEAD.index("diversities") - HEAD.index("answers")] == "yes":
                break
    sets, moved = Sets(model, space, X, seconds, shares=False), theirs[2]
    assert moved is not None
    for more in range(MORE + 1):
        known = answered(sets, people, more)
        widths = [sets.within_of(one, -moved[0]) for one in known]
        row = measured(sets, known, widths, theirs)
        yield [f"the paper's distance, {more} more", "", f"{len(people)}", *row]


def answered(sets: Sets, people: pd.DataFrame, more: int) -> list[Person]:
    """The people who have an answer."""
    asked = [sets.person(people.iloc[[i]], more) for i in range(len(people))]
    return [one for one in asked if one is not None]


def measured(
    sets: Sets, known: list[Person], widths: list[float], theirs: list[Cell]
) -> list[str]:  # fmt: skip
    """The cells from the number of answers on."""
    asked = [sets.several(one, within) for one, within in zip(known, widths, strict=True)]
    whole = [(one, own.found) for one, own in zip(known, asked, strict=True) if len(own.found) > 1]
    figures = np.array([sets.figures(one.row, found) for one, found in whole]).reshape(-1, 7)
    cells = [mean_and_error(each) for each in figures.T]
    apart = np.array([sets.difference(found) for _, found in whole]).reshape(-1, 2).mean(axis=0)
    answers = sum(len(own.found) for own in asked)
    reached = [
        paper is None or (ours is not None and round(ours[0], 2) >= paper[0])
        for ours, paper in zip(cells, theirs, strict=True)
    ]
    every = answers == COUNT * len(known) and reached[0]
    diverse, near = sum(reached[4:]), sum(reached[1:4])
    told = "yes" if every and diverse == 3 else f"{diverse} of 3"
    both = "yes" if told == "yes" and near == 3 else f"{diverse + near} of 6"
    proved = sum(one.nearest.status == "optimal" for one in known)
    spent = [np.median([one.seconds for one in each]) for each in (known, asked)]
    digits = 0 if apart.max(initial=0.0) > 1000 else 3
    return [
        f"{answers}", *as_text(cells), *(f"{one:,.{digits}f}" for one in apart), told, both,
        f"{proved}", *(f"{one:.2f}" for one in spent),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
