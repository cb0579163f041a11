"""Tables 2 and 3 of Maragno, Röber & Birbil (2022), whole, one data set after the other.

    CFXC_DATA=… python benchmarks/criteria_tables.py --data adult [--part settings] …

Rows and rules are those of ``criteria.py``, each data set in a section of its own, as they take up
to an hour and a half.  The paper's rows have its standard errors, and what it says of DiCE.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from criteria import HEAD, MODELS, MODELS_OF, Row, beside_paper, trained
from support.carla import TABLES
from support.paper_figures import MEASURED, WHO
from support.report import Table, circumstances, write_section
from support.table_2 import as_text

NAMES = dict(zip(WHO, ("paper", "paper, trust region", "paper, DiCE"), strict=True))


def rows(options: Namespace) -> Iterator[Row]:
    """A row of each way, the paper's after them."""
    for row in trained(options):
        name, kind, count, who, *_ = row.cells
        if not who.startswith("paper"):
            yield row
        elif who == NAMES[WHO[0]]:
            for each, cells in MEASURED[name, kind, int(count)].items():
                told = [name, kind, count, NAMES[each], "30", "", *as_text(cells), "", "", ""]
                yield Row(told)


def main() -> None:
    """Print the tables, each row to stderr as soon as it is there."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="tables", choices=("tables", "settings"))
    parser.add_argument("--data", required=True, choices=[*TABLES])
    parser.add_argument("--people", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=3.0, help="limit of one counterfactual")
    parser.add_argument("--ways", default="plain,free,hull,dice", help="which rows")
    parser.add_argument("--markdown", type=Path, help="rewrite this page's section")
    options = parser.parse_args()
    options.models, options.counts, options.dice = ",".join(MODELS), "1,3", options.people
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
        asked = "".join(
            f" --{name} {value:g}" if isinstance(value, float) else f" --{name} {value}"
            for name in ("people", "seconds", "ways")
            if (value := getattr(options, name)) != parser.get_default(name)
        )
        named = f" --part {options.part}" if options.part != "tables" else ""
        told = circumstances(
            f"python benchmarks/criteria_tables.py --data {options.data}{named}{asked}"
        )
        text = "\n\n".join([told, *(each.markdown() for each in shown)])
        write_section(options.markdown, f"criteria {options.part} {options.data}", text)


if __name__ == "__main__":
    main()
