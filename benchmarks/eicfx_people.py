"""Figure 4 of Spooner et al. (2021) by person: the errors of ``eicfx.py``'s means on Adult.

    CFXC_DATA=… python benchmarks/eicfx_people.py

There all runs of one person count as independent.  Here each person is one: errors are those of
means over people, of what their seeds give in the mean.  Methods share the seeds, so their
differences are taken person by person.  Rule: the 15, 20 and 50 evaluations that the page quotes.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from eicfx import MOVED, PAGE, _adult_run
from joblib import Parallel, delayed
from support.income import income
from support.parts import Section, parsed, run_parts
from support.portable import Array
from support.report import Table
from support.rivals import METHODS

import cfxc

TICKS = (15, 20, 50)
OURS = "EI-CFX"


def by_person(options: Namespace) -> Section:
    """Potentials and their differences, and changes: means ± errors over people."""
    found = income()
    if found is None:
        return [], ["Adult skipped: it is not in the directory that CFXC_DATA names."]
    compiled = cfxc.compile(found.pipeline, found.space)
    people = found.queries if options.people is None else found.queries.iloc[: options.people]
    runs = Parallel(n_jobs=options.jobs, batch_size=4)(
        delayed(_adult_run)(name, compiled, people.iloc[[i]], 1000 * i + seed, max(TICKS))
        for name in METHODS for i in range(len(people)) for seed in range(options.seeds)
    )  # fmt: skip
    shape = (len(METHODS), len(people), options.seeds)
    traces = np.array([trace for trace, *_ in runs]).reshape(*shape, -1).mean(axis=2)
    traces = traces[..., [n - 1 for n in TICKS]]
    nowhere = (np.nan,) * 3
    moved = np.array([change or nowhere for _, change, _ in runs]).reshape(*shape, 3)
    columns = [f"{n} evaluations" for n in TICKS]
    title = f"{len(people)} people, means of {options.seeds} seeds"
    best = Table(f"Best potential: {title}, mean ± s.e. over people", ("method", *columns))
    ahead = Table(
        "EI-CFX minus the other, person by person; in brackets people with more, with less",
        ("other", *columns),
    )
    changes = Table(
        "Mean change ± s.e. over people; in brackets its mean size, then the paper's mean",
        ("method", "age", "capital gain + loss", "hours"),
    )
    ours = traces[list(METHODS).index(OURS)]
    for name, own, change in zip(METHODS, traces, moved, strict=True):
        best.rows.append((name, *(told(column, 4) for column in own.T)))
        signed, size = (np.nanmean(values, axis=1) for values in (change, np.abs(change)))
        changes.rows.append((name, *(
            f"{told(here, 1)} ({told(there, 1)}; {paper:,})"
            for here, there, paper in zip(signed.T, size.T, MOVED[name], strict=True)
        )))  # fmt: skip
        if name != OURS:
            ahead.rows.append((name, *(
                f"{told(column, 4)} ({(column > 0).sum()}, {(column < 0).sum()})"
                for column in (ours - own).T
            )))  # fmt: skip
    return [best, ahead, changes], []


def told(values: Array, digits: int) -> str:
    """A mean and its standard error."""
    known = values[~np.isnan(values)]
    error = known.std(ddof=1) / np.sqrt(len(known))
    return f"{known.mean():,.{digits}f} ± {error:,.{digits}f}"


def parse(arguments: Sequence[str] | None = None) -> Namespace:
    parser = ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--people", type=int, help="by default all")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--markdown", type=Path, help=f"page whose section is rewritten: {PAGE}")
    return parsed(parser, PARTS, arguments)


PARTS = {"people": by_person}


if __name__ == "__main__":
    run_parts("eicfx_people", PARTS, parse(), parse([]))
