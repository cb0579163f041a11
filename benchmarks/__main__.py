"""The tables and figures of one paper, by one command.

    CFXC_DATA=… python -m benchmarks mace|eicfx|ceocl|l2c|copa [--full]

Quick runs take few people, seeds and models, print their tables and write nothing.  ``--full``
takes those of the published pages, and rewrites their sections under ``benchmarks/results/``.
"""

from __future__ import annotations

import subprocess
import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path

HOME = Path(__file__).parent
PAPERS = {
    "mace": "Karimi et al. 2020: nearest counterfactuals by satisfiability",
    "eicfx": "Spooner et al. 2021: counterfactuals of regression by Bayesian optimisation",
    "ceocl": "Maragno et al. 2022: counterfactuals by mixed-integer optimisation",
    "l2c": "Vo et al. 2023: learned diverse generation",
    "copa": "Bui et al. 2022: plans that survive retraining",
}
CARLA = ("adult", "compas", "heloc", "credit")
HULLS = ("proofs", "tables", "settings")
QUICK = {
    "mace": [
        "mace.py --people 3 --bisected 1 --reference-seconds 10",
        "mace_curves.py --people 2 --reference-seconds 1",
        "mace_seconds.py --people 3 --epsilon-people 2 --timed-people 1 --reference-seconds 1",
    ],
    "eicfx": [
        "eicfx.py --part adult --people 5 --seeds 1 --evaluations 30 --jobs 2",
        "eicfx.py --part taxi --seeds 1 --taxi-budget 40",
        "eicfx.py --part functions --seeds 1 --jobs 2",
        "eicfx.py --part acquisition --seeds 1", "eicfx_people.py --people 2 --seeds 1",
    ],
    "ceocl": [
        "criteria_tables.py --data adult --ways plain,hull --people 1 --seconds 2",
        "criteria_tables.py --data heloc --ways plain,hull --people 1 --seconds 2",
        "criteria_tables.py --data adult --part settings --ways plain --people 1 --seconds 2",
        "diverse.py --data compas --seconds 2 --people 1",
        "criteria.py --part baselines --seconds 2 --people 2",
        "hulls.py --data compas --people 2 --seconds 2",
        "hulls.py --data compas --part tables --people 1 --seconds 2", "case_study.py --seconds 2",
    ],
    "l2c": [
        "l2c.py --part tables --people 10 --seeds 1",
        "l2c.py --part rejected --people 5 --seeds 1",
        "l2c.py --part rivals --people 2 --seeds 1",
        "l2c.py --part selector --people 10 --seeds 1",
        "l2c.py --part threshold --people 10 --seeds 1",
        "l2c.py --part shifted --people 10 --seeds 1",
        "l2c_naive.py --people 2 --seeds 1",
    ],
    "copa": [
        "copa.py --part table --people 20 --models 200",
        "copa.py --part settings --people 10 --models 100",
        "copa.py --part figures --people 20 --futures 200",
        "copa.py --part laws --people 20 --laws 10000",
        "copa.py --part networks --people 10 --networks 20",
        "copa_plans.py --people 5 --models 100",
        "copa_checks.py --people 5 --models 100",
    ],
}  # fmt: skip
FULL = {
    "mace": [
        "mace.py --people 15", "mace_curves.py --part distances",
        "mace_curves.py --part calls --people 5", "mace_curves.py --part john",
        "mace_seconds.py --people 500",
    ],
    "eicfx": [
        "eicfx.py --part adult", "eicfx.py --part taxi", "eicfx.py --part functions",
        "eicfx.py --part acquisition --seeds 3", "eicfx.py --part shared", "eicfx.py --part speed",
        "eicfx_people.py",
    ],
    "ceocl": [
        *(f"criteria_tables.py --data {data}" for data in CARLA),
        *(f"criteria_tables.py --data {data} --part settings --ways plain,free,hull"
          for data in CARLA),
        *(f"diverse.py --data {data}" for data in CARLA), "criteria.py --part hull",
        "criteria.py --part baselines",
        *(f"hulls.py --data {data} --part {part}" for data in CARLA for part in HULLS),
        "case_study.py",
    ],
    "l2c": [
        "l2c.py --part tables --people 60",
        "l2c.py --part rejected --people 25", "l2c.py --part rivals --people 25",
        "l2c.py --part selector --people 60",
        "l2c.py --part threshold --people 60 --seeds 3", "l2c.py --part speed",
        "l2c.py --part trees --data sba,german --people 60 --seeds 1",
        "l2c.py --part shifted --seeds 2", "l2c.py --part seeds", "l2c_naive.py",
    ],
    "copa": [
        "copa.py --part table", "copa.py --part settings",
        "copa.py --part figures --samples 1000000",
        "copa.py --part laws", "copa.py --part rows", "copa.py --part networks", "copa_plans.py",
        "copa_checks.py",
    ],
}  # fmt: skip
PAGES = {
    "mace": "mace.md", "eicfx": "ei-cfx.md", "ceocl": "criteria.md", "l2c": "l2c.md",
    "copa": "copa.md",
}  # fmt: skip


def main() -> int:
    """Run the commands of a paper, one after the other; the largest exit code."""
    told = "\n".join(f"  {name:6} {what}" for name, what in PAPERS.items())
    parser = ArgumentParser(
        "python -m benchmarks", epilog=told, formatter_class=RawDescriptionHelpFormatter,
        description=__doc__,
    )  # fmt: skip
    parser.add_argument("paper", choices=[*PAPERS])
    parser.add_argument("--full", action="store_true", help="all people; rewrite the page")
    options = parser.parse_args()
    started, worst = time.monotonic(), 0
    for line in (FULL if options.full else QUICK)[options.paper]:
        name, *rest = line.split()
        if options.full:
            rest += ["--markdown", str(HOME / "results" / PAGES[options.paper])]
        print(f"== python benchmarks/{name} {' '.join(rest)}", flush=True)
        worst = max(worst, abs(subprocess.run([sys.executable, HOME / name, *rest]).returncode))
    print(f"{options.paper}: {(time.monotonic() - started) / 60:.1f} min")
    return worst


if __name__ == "__main__":
    sys.exit(main())
