"""Tables 2 and 3 of Maragno, Röber & Birbil (2022) on the paper's own models and people.

    CFXC_DATA=… python benchmarks/criteria_authors.py --authors FOLDER --data adult …

``FOLDER`` is a copy of the paper's repository.  Rows and rules are those of ``criteria.py``, each
data set in a section of its own; the paper's rows have its standard errors.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from criteria import HEAD, MODELS, MODELS_OF, Row, authors, beside_paper
from criteria_tables import NAMES
from support.carla import TABLES
from support.paper_figures import MEASURED
from support.report import Table, circumstances, write_section
from support.table_2 import as_text


def rows(options: Namespace) -> Iterator[Row]:
    """A row of each way, the paper's with their standard errors."""
    named = {who: key for key, who in NAMES.items()}
    for row in authors(options):
        name, kind, count, who, *_ = row.cells
        if who in named:
            cells = as_text(MEASURED[name, kind, int(count)][named[who]])
            yield Row([name, kind, count, who, "30", "", *cells, "", "", ""])
        else:
            yield row


def main() -> None:
    """Print the tables, each row to stderr as soon as it is there."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--authors", type=Path, required=True, help="a copy of the repository")
    parser.add_argument("--data", required=True, choices=[*TABLES])
    parser.add_argument("--seconds", type=float, default=3.0, help="limit of one counterfactual")
    parser.add_argument("--markdown", type=Path, help="rewrite this page's section")
    options = parser.parse_args()
    options.part, options.models, options.counts = "authors", ",".join(MODELS), "1,3"
    options.ways = "plain,free,hull,program"
    found = list[Row]()
    for one in rows(options):
        print(" | ".join([*one.cells, *one[1:]]), file=sys.stderr, flush=True)
        found.append(one)
    table = Table(f"{options.data}: counterfactuals in {MODELS_OF[options.part]}", HEAD)
    table.rows += [row.cells for row in found]
    shown = [table, beside_paper(found)]
    for each in shown:
        each.show()
    if options.markdown is not None:
        asked = f"--authors FOLDER --data {options.data}"
        if options.seconds != parser.get_default("seconds"):
            asked += f" --seconds {options.seconds:g}"
        told = circumstances(f"python benchmarks/criteria_authors.py {asked}")
        text = "\n\n".join([told, *(each.markdown() for each in shown)])
        write_section(options.markdown, f"criteria authors {options.data}", text)


if __name__ == "__main__":
    main()
