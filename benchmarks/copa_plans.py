"""Plans that survive retraining, beside Table 1: corrections, examples, no leak, naive plans.

``corrections``: what the number of corrected members and their limit do (Figure 6).  ``examples``:
three instances of German Credit whose status may not change (Table 3).  ``leak``: SBA without the
column that gives its label away, in both directions.  ``naive``: rows of the data, and points along
the model's weights, beside DiCE, its correction and COPA.

    CFXC_DATA=… python benchmarks/copa_plans.py --part naive
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from copa import (
    EPSILON,
    LIMIT,
    PAPER,
    RADIUS,
    WEIGHTS,
    J,
    K,
    Scene,
    _all_plans,
    _cells,
    _measured,
    scene,
)
from support.dice import dice_plans
from support.parts import Section, parsed, run_parts
from support.portable import Array
from support.report import Table
from support.shifts import Shift, correction, geospatial, temporal

from cfxc.methods.plans import (
    Copa,
    Moments,
    copa_plan,
    empirical_validity,
    mahalanobis_correction,
    requirement_correction,
    validity_bounds,
)

PAGE = Path("benchmarks/results/copa.md")
PICTURE = Path("benchmarks/results/plans-corrections.svg")
MEASURES = ("proximity", "diversity", "L*", "empirical validity")
Means = dict[str, tuple[float, ...]]
"""The four measures of each plan, to three digits."""


def main() -> None:
    """Run the parts and print their tables."""
    run_parts("copa_plans", PARTS, parse(), parse([]))


def scenes(shifts: Sequence[Shift | None], options: Namespace) -> tuple[list[Scene], list[str]]:
    """The data sets that are there, and a line for each that is not."""
    here = [scene(shift, options) for shift in shifts if shift is not None]
    missing = "- A data set is not in the directory that CFXC_DATA names: skipped."
    return here, [missing] * (len(shifts) - len(here))


def improved(
    plan: Array, moments: Moments, count: int, limit: float, fixed: Sequence[int] = (-1,)
) -> Array:
    """Required, then ``count`` members improved within ``limit``."""
    first = requirement_correction(plan, moments.mean, EPSILON, fixed=fixed).plan
    return mahalanobis_correction(
        first, moments.mean, moments.covariance, RADIUS, count=count, limit=limit, fixed=fixed
    ).plan


# -- Figure 6 --------------------------------------------------------------------------------------

COUNTS = range(J + 1)
LIMITS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35)
BY_COUNT, BY_LIMIT = [(k, LIMIT) for k in COUNTS], [(K, limit) for limit in LIMITS]
Corrections = dict[tuple[int, float], Array]
"""The four measures of each instance, by count and limit."""


def run_corrections(options: Namespace) -> Section:
    """Figure 6: the improvement by how many members may move, and by how far."""
    here, lines = scenes((correction(), temporal(), geospatial()), options)
    found = {each.shift.name: _corrections(each, options) for each in here}
    tables = [
        _figure_6(found, f"by the number K of corrected members, Δ = {LIMIT}", BY_COUNT, options),
        _figure_6(found, f"by the limit Δ of a correction, K = {K}", BY_LIMIT, options),
    ]
    lines += [f"- {each.shift.name}: {len(each.people)} instances." for each in here]
    lines.append("- K = 0 is the Requirement correction alone. The paper gives no numbers.")
    if options.markdown:
        draw(found, PICTURE)
        lines += ["", f"![Corrections by their number and limit]({PICTURE.name})"]
    return tables, lines


def _corrections(here: Scene, options: Namespace) -> Corrections:
    dice = dice_plans(here.people, here.theta, here.data, J, 0)
    found = {}
    for count, limit in dict.fromkeys([*BY_COUNT, *BY_LIMIT]):
        plans = np.array([improved(plan, here.moments, count, limit) for plan in dice])
        found[count, limit] = _measured(here, plans, options.jobs)
    return found


def _figure_6(
    found: dict[str, Corrections], title: str, settings: Sequence[tuple[int, float]],
    options: Namespace,
) -> Table:  # fmt: skip
    table = Table(
        f"Figure 6, {title}: mean ± standard error over instances; J = {J}, ρ = {RADIUS}, "
        f"ε = {EPSILON}; of {options.models} models each",
        ("data", "K", "Δ", *MEASURES),
    )
    for name, by in found.items():
        for count, limit in settings:
            values = by[count, limit]
            cells = [
                f"{m:.3f} ± {s:.3f}"
                for m, s in zip(values.mean(axis=0), standard_error(values), strict=True)
            ]
            table.rows.append((name, str(count), f"{limit:g}", *cells))
    return table


def standard_error(values: Array) -> Array:
    """Of the mean of each column."""
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(len(values)))


def draw(found: dict[str, Corrections], path: Path) -> None:
    """The four measures by K above, by Δ below, as SVG."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update({"svg.hashsalt": "cfxc", "svg.fonttype": "none"})
    figure = Figure(figsize=(14, 6), layout="constrained")
    axes = figure.subplots(2, len(MEASURES))
    for row, settings, place, label in zip(
        axes, (BY_COUNT, BY_LIMIT), (0, 1), ("K", "Δ"), strict=True
    ):
        for i, (axis, measure) in enumerate(zip(row, MEASURES, strict=True)):
            for name, by in found.items():
                means = [by[each].mean(axis=0)[i] for each in settings]
                errors = [standard_error(by[each])[i] for each in settings]
                axis.errorbar([each[place] for each in settings], means, errors, label=name)
            axis.set(xlabel=label, ylabel=measure)
    axes[0, 0].legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


# -- Table 3 ---------------------------------------------------------------------------------------

NUMBERS = ["duration", "amount", "age"]  # the first entries of a vector, in this order
AGE, STATUS = NUMBERS.index("age"), slice(len(NUMBERS), -1)
SIZE = 3
INSTANCES = ((30, 4249, "A94", 28), (42, 7174, "A92", 30), (24, 4526, "A93", 74))
COLUMNS = (
    "instance", "plan", *(f"{i + 1}: duration / amount / age" for i in range(SIZE)), "L*",
    "empirical validity",
)  # fmt: skip
Printed = tuple[list[tuple[float, float, float]], float, float]
TABLE_3: tuple[dict[str, Printed], ...] = (
    {
        "DiCE": ([(49.4, 596.4, 28), (72, 4330.2, 28), (59.7, 13776.4, 28)], 0.00, 0.005),
        "Mahalanobis": ([(42.5, 69.8, 30), (40.8, 1153.9, 30), (27.4, 10047.3, 30)], 0.15, 0.802),
        "COPA": ([(4, 18424, 28), (72, 9410.3, 28), (40.3, 250, 28)], 0.11, 0.797),
    },
    {
        "DiCE": ([(11.8, 250, 30), (4, 7167.4, 30), (13.4, 13386.8, 30)], 0.38, 0.88),
        "Mahalanobis": ([(7.9, 523.7, 33), (3.6, 5500.1, 32), (9.1, 12234.5, 32)], 0.61, 0.968),
        "COPA": ([(4, 3884.7, 30), (16.3, 3280.8, 30), (15.5, 250, 30)], 0.88, 1.000),
    },
    {
        "DiCE": ([(72, 2165.7, 74), (72, 9907.4, 74), (72, 18424, 74)], 0.00, 0.080),
        "Mahalanobis": ([(62.1, 1766.4, 75), (55.6, 8881, 75), (48.8, 16680.9, 75)], 0.01, 0.614),
        "COPA": ([(4, 250, 74), (44.8, 3070.5, 74), (4, 18424, 74)], 0.59, 0.997),
    },
)  # fmt: skip
"""Duration, amount and age of each member, L* and empirical validity; the status is kept."""


def run_examples(options: Namespace) -> Section:
    """Table 3; the same with age kept, too; the paper's own plans under the same models."""
    here, lines = scenes((correction(),), options)
    if not here:
        return [], lines
    chosen, said = _instances(here[0])
    status = [*range(here[0].data.shape[1])[STATUS]]
    tables = [
        _examples(chosen, "status", [*status, -1], options),
        _examples(chosen, "status and age", [AGE, *status, -1], options),
        _printed(chosen, options),
    ]
    return tables, [*lines, *said]


def _instances(here: Scene) -> tuple[Scene, list[str]]:
    """The scene with the paper's instances, and what today's model says of them."""
    now, rows, lines = here.shift.now, [], []
    for each in INSTANCES:
        same = np.flatnonzero(
            (now[["duration", "amount", "status_sex", "age"]] == [*each]).all(axis=1)
        )
        rows.append(int(same[0]))
        x = here.data[rows[-1]]
        lines.append(
            f"- {_named(each)}: {len(same)} row of the data; today's model gives it the score "
            f"{x @ here.theta:.3f}, the mean of the retrained ones {x @ here.moments.mean:.3f} "
            f"({'refused' if x @ here.theta <= 0 else 'accepted'})."
        )
    return replace(here, people=here.data[rows]), lines


def _named(instance: tuple[object, ...]) -> str:
    return " / ".join(map(str, instance))


def _examples(here: Scene, kept: str, fixed: Sequence[int], options: Namespace) -> Table:
    table = Table(
        f"Table 3, {kept} may not change: J = {SIZE}, ρ = {RADIUS}, ε = {EPSILON}, K = {SIZE}, "
        f"Δ = {LIMIT}; of {options.models} models each; in brackets the paper's",
        COLUMNS,
    )
    plans = _small_plans(here, fixed, options)
    for i, (instance, printed) in enumerate(zip(INSTANCES, TABLE_3, strict=True)):
        for name, found in plans.items():
            paper = printed[name.partition(" (")[0]]
            table.rows.append((_named(instance), name, *_example(here, found[i], paper)))
    return table


def _printed(here: Scene, options: Namespace) -> Table:
    table = Table(
        "The paper's plans of Table 3 under the same models: "
        f"ρ = {RADIUS}; of {options.models} models each; in brackets the paper's",
        COLUMNS,
    )
    for i, (instance, printed) in enumerate(zip(INSTANCES, TABLE_3, strict=True)):
        for name, paper in printed.items():
            plan = _encoded(here, i, paper[0])
            table.rows.append((_named(instance), name, *_example(here, plan, paper)))
    return table


def _small_plans(here: Scene, fixed: Sequence[int], options: Namespace) -> dict[str, Array]:
    moments = here.moments
    dice = dice_plans(here.people, here.theta, here.data, SIZE, 0, fixed)
    better = [improved(plan, moments, SIZE, LIMIT, fixed) for plan in dice]
    found = {"DiCE": dice, "Mahalanobis": np.array(better)}
    for near, apart in WEIGHTS:
        found[f"COPA ({near:g}, {apart:g})"] = copa_plan(
            here.people, moments.mean, moments.covariance,
            Copa(SIZE, near, apart, EPSILON, starts=options.starts),
            lower=np.zeros(moments.size), upper=np.ones(moments.size), fixed=fixed,
        )  # fmt: skip
    return found


def _example(here: Scene, plan: Array, paper: Printed) -> list[str]:
    """The members in original units, L* and validity."""
    low, width = _ranges(here)
    members = plan[:, : len(NUMBERS)] * width + low
    least, _ = validity_bounds(plan, here.moments.mean, here.moments.covariance, RADIUS)
    return [
        *(" / ".join(f"{value:.1f}" for value in member) for member in members),
        f"{least:.3f} [{paper[1]:.2f}]",
        f"{empirical_validity(plan, here.futures):.3f} [{paper[2]:.3f}]",
    ]


def _encoded(here: Scene, i: int, members: Sequence[Sequence[float]]) -> Array:
    """Vectors of members of the i-th instance's plan that are in original units."""
    low, width = _ranges(here)
    made = np.repeat(here.people[i][None], len(members), axis=0)
    made[:, : len(NUMBERS)] = (np.array(members) - low) / width
    return made


def _ranges(here: Scene) -> tuple[Array, Array]:
    numbers = here.shift.now[NUMBERS]
    low = numbers.min().to_numpy(float)
    return low, numbers.max().to_numpy(float) - low


# -- SBA without the leak --------------------------------------------------------------------------


def run_leak(options: Namespace) -> Section:
    """Table 1 for SBA without ChgOffPrinGr, in both directions."""
    years = temporal(leak=False)
    here, lines = scenes((years, None if years is None else years.reversed()), options)
    table = Table(
        "Table 1 for SBA without ChgOffPrinGr, both directions: mean ± deviation over instances; "
        f"of {options.models} models each; in brackets the paper's, which has that column",
        ("data", "plan", *MEASURES),
    )
    for each in here:
        for name, plans in _all_plans(each, options).items():
            values = _measured(each, plans, options.jobs)
            table.rows.append((each.shift.name, name, *_cells(values, PAPER["Temporal"][name])))
        accuracy = float(np.mean((each.data @ each.theta > 0) == each.shift.labels))
        lines.append(
            f"- {each.shift.name}: {len(each.people)} instances; today's model agrees with "
            f"{accuracy:.3f} of the present labels; the moments of later models are "
            f"{each.away:.2f} from today's."
        )
    return [table], lines


# -- naive plans -----------------------------------------------------------------------------------

NEAR_MARGINS, FAR_MARGINS = (0.0, 0.5, 1.0, 1.5, 2.0), (2.0, 3.0, 4.0, 5.0, 6.0)
HALVINGS = 60
RULES = {
    "random rows": f"{J} rows of today's data that today's model accepts, drawn at random, seed 0",
    "nearest rows": f"the {J} such rows nearest to the instance, by the distance of proximity",
    "along the weights": "the instance plus the least multiple of the model's weights, clipped to "
    f"[0, 1], whose score is {EPSILON} + {', '.join(f'{m:g}' for m in NEAR_MARGINS)}",
    "far along the weights": "the same with "
    f"{EPSILON} + {', '.join(f'{m:g}' for m in FAR_MARGINS)}",
}


def run_naive(options: Namespace) -> Section:
    """Plans that anyone would try first, beside DiCE, its correction and COPA."""
    here, lines = scenes((correction(), temporal(), geospatial()), options)
    rules = Table(
        "Naive plans: their rules, fixed before any result; equal rows count once, and a score "
        "beyond reach in [0, 1] is replaced by the largest one",
        ("plan", "rule"),
        [*RULES.items()],
    )
    table = Table(
        f"Naive plans beside the others: mean ± deviation over instances; J = {J}, ρ = {RADIUS}, "
        f"ε = {EPSILON}; of {options.models} models each",
        ("data", "plan", *MEASURES),
    )
    for each in here:
        naive, short = naive_plans(each)
        means: Means = {}
        for name, plans in {**naive, **_all_plans(each, options)}.items():
            values = _measured(each, plans, options.jobs)
            table.rows.append((each.shift.name, name, *_cells(values, None)))
            means[name] = tuple(round(float(mean), 3) for mean in values.mean(axis=0))
        lines.append(
            f"- {each.shift.name}: {len(each.people)} instances; for {short} of them some score "
            f"along the weights is beyond reach. {_no_worse(means)}"
        )
    return [rules, table], lines


def naive_plans(here: Scene) -> tuple[dict[str, Array], int]:
    """The plans of the rules, and for how many instances a score is beyond reach."""
    favoured = np.unique(here.data[here.data @ here.theta > 0], axis=0)
    rng = np.random.default_rng(0)
    drawn = [favoured[rng.choice(len(favoured), J, replace=False)] for _ in here.people]
    near = [favoured[np.argsort(_away(favoured, x), kind="stable")[:J]] for x in here.people]
    ways = [
        np.array([[along(x, here.theta, EPSILON + m) for m in margins] for x in here.people])
        for margins in (NEAR_MARGINS, FAR_MARGINS)
    ]
    wanted = EPSILON + max(FAR_MARGINS)
    short = int((ways[1][:, -1] @ here.theta < wanted - 1e-9).sum())
    made = (np.array(drawn), np.array(near), *ways)
    return dict(zip(RULES, made, strict=True)), short


def _away(rows: Array, x: Array) -> Array:
    return np.asarray(np.linalg.norm(rows - x, axis=1))


def along(x: Array, theta: Array, score: float) -> Array:
    """x plus the least multiple of the weights, clipped to [0, 1], that has the score, if any."""
    weights = np.append(theta[:-1], 0.0)
    low, high = 0.0, 1 / np.abs(weights[weights != 0]).min()  # where every entry is at an end
    if moved(x, weights, high) @ theta < score:
        return moved(x, weights, high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        enough = moved(x, weights, middle) @ theta >= score
        low, high = (low, middle) if enough else (middle, high)
    return moved(x, weights, high)


def moved(x: Array, weights: Array, step: float) -> Array:
    return np.asarray(np.clip(x + step * weights, 0.0, 1.0))


def _no_worse(means: Means) -> str:
    """Which naive plans are as good as another one in all four measures."""
    gains = {name: (-values[0], *values[1:]) for name, values in means.items()}
    said = []
    for name in means:
        better = [
            naive
            for naive in RULES
            if all(own >= other for own, other in zip(gains[naive], gains[name], strict=True))
        ]
        if name not in RULES and better:
            said.append(f"{name}: {', '.join(better)}")
    return f"Naive plans no worse in all four: {'; '.join(said) or 'none, than any other plan'}."


PARTS: dict[str, Callable[[Namespace], Section]] = {
    "corrections": run_corrections,
    "examples": run_examples,
    "leak": run_leak,
    "naive": run_naive,
}


def parse(arguments: Sequence[str] | None = None) -> Namespace:
    parser = ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--models", type=int, default=500, help="retrained on each data set")
    parser.add_argument("--starts", type=int, default=4, help="of COPA's gradient search")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--markdown", type=Path, help=f"page whose sections are rewritten: {PAGE}")
    return parsed(parser, PARTS, arguments)


if __name__ == "__main__":
    main()
