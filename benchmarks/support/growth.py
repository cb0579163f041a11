"""How seconds per person grow with the number of trees, their depth, and the features."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from .race import Answer, ours
from .report import Table
from .tasks import Data, Task, adult, fit, forest, made

TREES = (10, 30, 100, 300, 1000, 2000)
DEPTHS = (3, 5, 8, 10, 12, 15, None)  # None: unrestricted, drawn at the depth it comes to
FEATURES = (5, 10, 20, 50, 100)
EPSILON = 1e-6
HEADER = ("what", "value", "people", "proved", "median, s", "max, s", "CPU median", "nodes")
Point = tuple[str, int, list[Answer]]  # what grows, its value, the answers


def cases(base: Data | None) -> Iterator[tuple[str, int, Task]]:
    """What grows, how far it has grown, and the model there."""
    if base is not None:
        for trees in TREES:
            yield "trees", trees, fit(base, f"RF {trees}×8", forest(trees, 8))
        for depth in DEPTHS:
            task = fit(base, f"RF 100×{depth}", forest(100, depth))
            grown = max(tree.get_depth() for tree in task.pipeline[-1].estimators_)
            yield "depth", grown, task
    for width in FEATURES:
        yield "features", width, fit(made(width), "RF 100×4", forest(100, 4))


def measure(people: int, seconds: float) -> list[Point]:
    """cfxc on a few people of every case; a line on stderr for each."""
    found = []
    for what, value, task in cases(adult()):
        answers = ours(task, people, EPSILON, seconds)
        found.append((what, value, answers))
        print(what, value, [round(a.seconds, 3) for a in answers], file=sys.stderr, flush=True)
    return found


def table(points: list[Point], seconds: float) -> Table:
    """The figures; an unproved person counts with the seconds spent."""
    made_table = Table(f"growth: ε = 10⁻⁶, limit {seconds:g} s", HEADER)
    for what, value, answers in points:
        wall, cpu = [a.seconds for a in answers], [a.cpu for a in answers]
        proved = sum(a.proved for a in answers)
        made_table.rows.append(
            (what, f"{value:,}", str(len(answers)), f"{proved}/{len(answers)}",
             f"{median(wall):.3f}", f"{max(wall):.3f}", f"{median(cpu):.3f}",
             f"{median(a.result.nodes for a in answers):,.0f}")
        )  # fmt: skip
    return made_table


def draw(points: list[Point], path: Path) -> bool:
    """A panel for each of the three, processor seconds on logarithmic axes; needs matplotlib."""
    try:
        import matplotlib as mpl
    except ImportError:
        return False
    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "cfxc", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    titles = {
        "trees": "Adult, forest of depth 8: trees",
        "depth": "Adult, forest of 100: depth",
        "features": "100 × depth 4: continuous features",
    }
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.7), sharey=True, layout="constrained")
    for (what, title), axis in zip(titles.items(), axes, strict=True):
        own = [(value, [a.cpu for a in answers]) for name, value, answers in points if name == what]
        if not own:
            continue
        values = [value for value, _ in own]
        dots = [(value, seconds) for value, cpu in own for seconds in cpu]
        axis.plot(*zip(*dots, strict=True), "o", color="#9db8d6", markersize=3)
        axis.plot(values, [median(cpu) for _, cpu in own], "-", color="#1f4e8c", linewidth=1.5)
        axis.set(xscale="log", yscale="log", title=title)
        axis.title.set_fontsize(9)
        axis.set_xticks(values, [str(value) for value in values])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.grid(alpha=0.3, which="major")
    axes[0].set_ylabel("processor seconds per person")
    axes[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes[0].yaxis.set_minor_formatter(NullFormatter())
    axes[0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return True
