"""COPA beside its own settings: more weight on diversity, farther naive plans, a search once more.

``weights``: ten times the weight on diversity.  ``farther``: points along the model's weights with
larger scores than those of ``copa_plans.py``.  ``search``: DiCE's plans for a model that differs by
a factor of 1 + 10⁻¹².

    CFXC_DATA=… python benchmarks/copa_checks.py --part farther
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from copa import EPSILON, RADIUS, WEIGHTS, J, _cells, _measured
from copa_plans import MEASURES, PAGE, along, scenes
from support.dice import dice_plans
from support.parts import Section, parsed, run_parts
from support.report import Table
from support.shifts import correction, geospatial, temporal

from cfxc.methods.plans import Copa, copa_plan

MORE = 10
FARTHER = (
    (6.0, 7.0, 8.0, 9.0, 10.0),
    (10.0, 12.5, 15.0, 17.5, 20.0),
    (20.0, 25.0, 30.0, 35.0, 40.0),
)
NEARLY = 1 + 1e-12


def main() -> None:
    """Run the parts and print their tables."""
    run_parts("copa_checks", PARTS, parse(), parse([]))


def _table(title: str, options: Namespace) -> Table:
    setting = f"J = {J}, ρ = {RADIUS}, ε = {EPSILON}; of {options.models} models each"
    return Table(
        f"{title}: mean ± deviation over instances; {setting}", ("data", "plan", *MEASURES)
    )


def run_weights(options: Namespace) -> Section:
    """COPA with the paper's weights, and with ten times the one on diversity."""
    here, lines = scenes((correction(), temporal(), geospatial()), options)
    table = _table(f"COPA, the weight on diversity once and {MORE} times", options)
    for each in here:
        moments = each.moments
        for near, apart in (pair for w in WEIGHTS for pair in (w, (w[0], MORE * w[1]))):
            plans = copa_plan(
                each.people, moments.mean, moments.covariance,
                Copa(J, near, apart, EPSILON, starts=options.starts),
                lower=np.zeros(moments.size), upper=np.ones(moments.size), fixed=[-1],
            )  # fmt: skip
            values = _measured(each, plans, options.jobs)
            name = f"COPA ({near:g}, {apart:g})"
            table.rows.append((each.shift.name, name, *_cells(values, None)))
    return [table], lines


def run_farther(options: Namespace) -> Section:
    """The instance moved along the model's weights, farther and farther."""
    here, lines = scenes((correction(), temporal(), geospatial()), options)
    table = _table(
        "Points along the weights, the largest score in [0, 1] where one is beyond reach", options
    )
    for each in here:
        for margins in FARTHER:
            wanted = [EPSILON + margin for margin in margins]
            plans = np.array([[along(x, each.theta, s) for s in wanted] for x in each.people])
            values = _measured(each, plans, options.jobs)
            name = f"scores {EPSILON:g} + {margins[0]:g} to {margins[-1]:g}"
            table.rows.append((each.shift.name, name, *_cells(values, None)))
            short = int((plans[:, -1] @ each.theta < wanted[-1] - 1e-9).sum())
            lines.append(f"- {each.shift.name}, {name}: beyond reach for {short} instances.")
    lines.append("- The scores were fixed before any result.")
    return [table], lines


def run_search(options: Namespace) -> Section:
    """What rounding does to DiCE's search."""
    here, lines = scenes((correction(), temporal(), geospatial()), options)
    table = _table("DiCE's plans, and those of the model times 1 + 10⁻¹²", options)
    for each in here:
        both = [dice_plans(each.people, t * each.theta, each.data, J, 0) for t in (1.0, NEARLY)]
        for name, plans in zip(("θ", "θ (1 + 10⁻¹²)"), both, strict=True):
            values = _measured(each, plans, options.jobs)
            table.rows.append((each.shift.name, f"DiCE, {name}", *_cells(values, None)))
        most = float(np.abs(both[0] - both[1]).max())
        lines.append(f"- {each.shift.name}: an entry of a plan moves by {most:.3f} at most.")
    return [table], lines


PARTS: dict[str, Callable[[Namespace], Section]] = {
    "weights": run_weights,
    "farther": run_farther,
    "search": run_search,
}


def parse(arguments: Sequence[str] | None = None) -> Namespace:
    """The options."""
    parser = ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--models", type=int, default=500, help="retrained on each data set")
    parser.add_argument("--starts", type=int, default=4, help="of COPA's gradient search")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--markdown", type=Path, help=f"page whose sections are rewritten: {PAGE}")
    return parsed(parser, PARTS, arguments)


if __name__ == "__main__":
    main()
