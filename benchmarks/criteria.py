"""Realistic counterfactuals after Maragno, Röber & Birbil (2022), beside others.

    CFXC_DATA=… python benchmarks/criteria.py --part hull|baselines …

``hull``: a trust region over 30,000 rows of 50 columns.  ``baselines``: table 2, of forests, beside
classical methods and DiCE (genetic) in the Python that ``CFXC_PEER_PYTHON`` names.

Also the rows of ``criteria_tables.py``, ``criteria_authors.py`` and ``hulls.py``: Adult, COMPAS,
HELOC and Give Me Some Credit as CARLA prepares them, six kinds of models, 1 and 3 counterfactuals,
with and without a trust region.  ``settings``: models of the settings that the paper's own have,
and numbers that may be fractions, as there.  ``authors``: those models themselves and the paper's
people, from a copy of its repository.
"""

from __future__ import annotations

import resource
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from support import table_2
from support.authors import FILES, Authors
from support.carla import TABLES, Table
from support.dice_peer import ask_dice
from support.frontier import Candidates, Frontier, Measured, nearest
from support.paper_figures import DIVERSITY, PAPER, of_paper
from support.paper_program import PaperProgram
from support.report import Table as Shown
from support.report import circumstances, write_section

import cfxc
from cfxc import metrics

Key = tuple[str, str, str]
"""Data, model, and how many counterfactuals."""
MODELS = {
    "rf": RandomForestClassifier(50, max_depth=6, random_state=0),
    "lr": LogisticRegression(max_iter=1000),
    "cart": DecisionTreeClassifier(max_depth=6, random_state=0),
    "mlp": MLPClassifier((20,), max_iter=100, random_state=0),
    "gbm": GradientBoostingClassifier(n_estimators=30, max_depth=4, random_state=0),
    "svm": LinearSVC(random_state=0),
}


MODELS_OF = {
    "tables": "the benchmark CARLA",
    "settings": "models of the paper's settings",
    "authors": "the paper's own models",
}


class Row(NamedTuple):
    """A row of the table; of ours, too, the figures where the paper's sparsity is asked for."""

    cells: list[str]
    proximity: str = ""
    sparsity: str = ""
    most: str = ""  # of the sparsity of any answers, as proved


class Way(NamedTuple):
    """How rows are asked for: their name, ε of a trust region, ranges that numbers may leave."""

    who: str
    epsilon: float | None = None
    beyond: int = 0


WAYS = {
    "plain": Way("cfxc"),
    "free": Way("cfxc, beyond the data", beyond=1),
    "hull": Way("cfxc, trust region", 0.1),
    "exact": Way("cfxc, exact hull", 0.0),
}
THEIR_PROGRAM = "program"
APART = 0.02  # of a range: by how much whole answers differ at least
EDGE = 2e-6  # of a range: what a solver's tolerance makes of a threshold
FAR = 10**9  # of numbers that nothing bounds
AS_THEIRS = 1e-4  # of a range: by how much the paper's answers differ at least
HEAD = ["data", "model", "k", "who", "people", "found", "valid", "cat. prox.", "cont. prox.",
        "sparsity", "cat. div.", "cont. div.", "sparsity div.", "proved", "s per answer",
        "most"]  # fmt: skip


def fitted(data: Table, model: Any) -> Any:
    """The model of the data: two-valued categories in one column, numbers in [0, 1]."""
    columns = make_column_transformer(
        (OneHotEncoder(sparse_output=False, drop="if_binary"), data.categories),
        (MinMaxScaler(), data.numbers),
    )
    return make_pipeline(columns, model).fit(data.X, data.y)


def figures(
    space: cfxc.FeatureSpace, people: pd.DataFrame, answers: list[pd.DataFrame], model: Any
) -> list[str]:
    """The measures of the paper: means over people with an answer, in brackets standard errors.

    The paper adds numbers' changes up (its table 5 shows it), where ``metrics`` takes their mean.
    """
    rows: list[list[float]] = []
    numbers = sum(not feature.is_symbolic for feature in space)
    for i, found in enumerate(answers):
        if not len(found):
            continue
        row = people.iloc[[i]]
        several = len(found) > 1
        rows.append(
            [
                metrics.validity(model.predict, found, 1),
                metrics.categorical_proximity(space, row, found),
                numbers * metrics.continuous_proximity(space, row, found, scale="none"),
                metrics.sparsity(space, row, found),
                metrics.categorical_diversity(space, found) if several else np.nan,
                numbers * metrics.continuous_diversity(space, found, scale="none")
                if several
                else np.nan,
                metrics.sparsity_diversity(space, found) if several else np.nan,
            ]
        )
    return table_2.as_text(
        [table_2.mean_and_error(each) for each in np.array(rows).reshape(-1, 7).T]
    )


def ours(
    own: Key, data: Table, model: Any, people: pd.DataFrame, way: Way, options: Any
) -> Row:  # fmt: skip
    """A row of the table: cfxc, with a trust region or without."""
    asked, spent = list[Candidates](), list[float]()
    whole, count, region = options.part == "tables", int(own[2]), None
    apart = APART if whole else AS_THEIRS
    if way.epsilon is not None:
        region = cfxc.TrustRegion(data.X, data.y, epsilon=way.epsilon)
    frontier = Frontier(model, _space(data, whole), data.X, region, way.beyond)
    frontier.candidates(people.iloc[[0]], count, apart, options.seconds)
    for i in range(len(people)):
        started = time.perf_counter()
        asked.append(frontier.candidates(people.iloc[[i]], count, apart, options.seconds))
        answered = len(frontier.cheapest(asked[-1].answers, count, apart))
        spent.append((time.perf_counter() - started) / max(answered, 1))
    chosen = [frontier.cheapest(each.answers, count, apart) for each in asked]
    frames = [[one.counterfactual for one in each] for each in chosen]
    answers = [pd.concat(each) if each else people.iloc[:0] for each in frames]
    proved = sum(one.status == "optimal" for each in chosen for one in each)
    found = sum(map(len, answers))
    line = _line(frontier.space, people, answers, model, spent, found, f"{proved}")
    paper = _theirs(own, way)
    if paper is None or not found:
        return Row([*own, way.who, *line])
    return Row([*own, way.who, *line], *_as_sparse(frontier, people, asked, count, apart, paper))


def _as_sparse(
    frontier: Frontier, people: pd.DataFrame, asked: list[Candidates], count: int, apart: float,
    paper: Sequence[float | None],
) -> list[str]:  # fmt: skip
    """The least movement at the paper's sparsity, that sparsity, and the most that is possible."""
    options = list[list[Measured]]()
    fewest = [each.fewest for each in asked if each.answers]
    for i in range(len(asked)):
        own = asked[i].answers
        if own:
            each = dict(zip(map(id, own), frontier.measured(people.iloc[[i]], own), strict=True))
            sets = frontier.sets(own, count, apart)
            options.append(
                [Measured(*np.mean([each[id(one)] for one in chosen], axis=0)) for chosen in sets]
            )
    kept, _, sparsity = paper
    assert sparsity is not None
    best = nearest(options, Measured(0.0, sparsity, kept or 0.0))
    means = np.mean([own[i] for own, i in zip(options, best, strict=True)], axis=0)
    most = 1 - np.mean(fewest) / len(list(frontier.space))
    return [f"{means[0]:,.2f}", f"{means[1]:.2f}", f"{most:.3f}"]


def _space(data: Table, whole: bool) -> cfxc.FeatureSpace:
    if whole:
        return cfxc.FeatureSpace.infer(data.X, fixed=data.fixed)
    return cfxc.FeatureSpace.infer(data.X, fixed=data.fixed, resolution=None)


def dice(data: Table, model: Any, people: pd.DataFrame, count: int) -> list[str] | None:
    """The same of DiCE's genetic search; ``None`` without its Python."""
    replies = ask_dice(model, data.X, data.y, people, data.numbers, data.fixed, count)
    if not replies:
        return None
    space = _space(data, whole=True)
    answers = [reply.rows for reply in replies]
    spent = [reply.seconds / max(len(reply.rows), 1) for reply in replies]
    found = sum(map(len, answers))
    return _line(space, people, answers, model, spent, found, "")


def their_program(
    given: Authors, model: Any, people: pd.DataFrame, seconds: float
) -> Iterator[list[str]]:
    """The same of the paper's own program, solved by HiGHS: what the model says of its answers.

    A second row counts those as valid, too, that would be if every tree could move all numbers by
    ``EDGE`` of their ranges: they lie at a threshold.  Both are of the rows before rounding.
    """
    program = PaperProgram(given, model)
    real = dict.fromkeys(given.numbers, "real")  # all of them, there
    space = cfxc.FeatureSpace.infer(given.X, kinds=real, resolution=None)
    for name in given.numbers:
        space = space.replace(name, lower=-FAR, upper=FAR)
    answers, spent = list[pd.DataFrame](), list[float]()
    valid, nearly = list[bool](), list[bool]()
    for i in range(len(people)):
        started, person = time.perf_counter(), people.iloc[[i]]
        answer = program.answer(person, seconds)
        spent.append(time.perf_counter() - started)
        answers.append(people.iloc[:0] if answer is None else program.rounded(person, answer))
        if answer is not None:
            valid.append(bool(model.predict(answer)[0] == 1))
            nearly.append(valid[-1] or program.reaches(answer, EDGE))
    line = _line(space, people, answers, model, spent, sum(map(len, answers)), "")
    for who, share in (("the paper's program, HiGHS", valid), ("the same, to 2e-6", nearly)):
        line[HEAD.index("valid") - HEAD.index("people")] = f"{np.mean(share):.2f}"
        yield [who, *line]


def _line(
    space: cfxc.FeatureSpace, people: pd.DataFrame, answers: list[pd.DataFrame], model: Any,
    spent: list[float], found: int, proved: str,
) -> list[str]:  # fmt: skip
    measured = figures(space, people, answers, model)
    times = [f"{np.median(spent):.2f}", f"{max(spent):.2f}"]
    return [str(len(people)), str(found), *measured, proved, *times]


def trained(options: Any) -> Iterator[Row]:
    """The rows of both tables, of models trained here."""
    for name in options.data.split(","):
        data = TABLES[name]()
        for kind in options.models.split(","):
            unfitted = MODELS if options.part == "tables" else of_paper(name)
            model = fitted(data, unfitted[kind])
            refused = data.X[model.predict(data.X) == 0]
            people = refused.sample(min(options.people, len(refused)), random_state=0)
            for count in map(int, options.counts.split(",")):
                own = (name, kind, str(count))
                yield from _rows(own, data, model, people, options)
                yield from _of_paper(own, options.ways)
                row = (
                    dice(data, model, people.iloc[: options.dice], count)
                    if options.dice and "dice" in options.ways
                    else None
                )
                if row is not None:
                    yield Row([*own, "DiCE", *row])


def authors(options: Any) -> Iterator[Row]:
    """The same of the paper's own models and people."""
    for name in options.data.split(","):
        given = Authors(options.authors, name)
        for kind in FILES:
            model = given.model(kind)
            people = given.people[model.predict(given.people) == 0]
            if kind not in options.models.split(",") or not len(people):
                continue  # some have what they ask for already
            for count in map(int, options.counts.split(",")):
                own = (name, kind, str(count))
                yield from _rows(own, given.table, model, people, options)
                if THEIR_PROGRAM in options.ways and (kind, count) == ("rf", 1):
                    rows = their_program(given, model, people, options.seconds)
                    yield from (Row([*own, *each]) for each in rows)
                yield from _of_paper(own, options.ways)


def _rows(own: Key, data: Table, model: Any, people: pd.DataFrame, options: Any) -> Iterator[Row]:
    """What is ours in the table, of one model and count."""
    for way in (WAYS[each] for each in options.ways.split(",") if each in WAYS):
        yield ours(own, data, model, people, way, options)


def beside_paper(rows: Sequence[Row]) -> Shown:
    """Where proximity and sparsity are at least the paper's: each row, to the digits it prints."""
    head = ["data", "model", "k", "who", "paper", "ours", "at the paper's sparsity",
            "sparsity at most", "at least the paper's"]  # fmt: skip
    shown = Shown("Proximity and sparsity beside the paper's", head)
    x, y = HEAD.index("cont. prox."), HEAD.index("sparsity")
    for cells, *asked, most in rows:
        paper = next(
            (each.cells for each in rows
             if each.cells[3].startswith("paper") and each.cells[:3] == cells[:3]
             and _in_hull(each.cells) == _in_hull(cells)),
            None,
        )  # fmt: skip
        if not most or paper is None:
            continue
        usual, theirs = (cells[x], cells[y]), (paper[x], paper[y])
        if all(map(_at_least, usual, theirs)):
            told = "yes"
        elif all(map(_at_least, asked, theirs)):
            told = "at its sparsity"
        else:
            impossible = not _at_least(f"{float(most):.2f}", theirs[1])
            told = "**no**, proved impossible" if impossible else "**no**"
        shown.rows.append([*cells[:4], *map(", ".join, (theirs, usual, asked)), most, told])
    return shown


def _in_hull(cells: Sequence[str]) -> bool:
    """Whether the row, of ours or of the paper, is of answers within a hull of the data."""
    return cells[3].endswith(("trust region", "exact hull"))


def _at_least(ours: str, theirs: str) -> bool:
    return _mean(ours) >= _mean(theirs)


def _mean(cell: str) -> float:
    return float(cell.partition(" (")[0].replace(",", ""))


def _theirs(own: Key, way: Way) -> tuple[float | None, ...] | None:
    """The paper's figures: categorical and continuous proximity, sparsity."""
    paper = PAPER.get((own[0], own[1], int(own[2])))
    return None if paper is None else paper[way.epsilon is not None]


def _of_paper(own: Key, ways: str) -> Iterator[Row]:
    paper = PAPER.get((own[0], own[1], int(own[2])))
    shown = {
        "paper": "plain" in ways or "free" in ways,
        "paper, trust region": "hull" in ways or "exact" in ways,
    }
    for number, who in enumerate(shown):
        if paper is not None and shown[who]:
            several = DIVERSITY[own[0], own[1]] if own[2] == "3" and not number else [None] * 3
            cells = ["" if x is None else f"{x:,.2f}" for x in (*paper[number], *several)]
            yield Row([*own, who, "30", "", "1.00", *cells, "", "", ""])


def baselines(options: Any) -> Iterator[list[str]]:
    """One answer of a forest: ours, classical methods, DiCE, and what the paper says of them."""
    for name in options.data.split(","):
        data = TABLES[name]()
        model = fitted(data, MODELS["rf"])
        refused = data.X[model.predict(data.X) == 0]
        people = refused.sample(min(options.people, len(refused)), random_state=0)
        where = table_2.Encoded(data, model.predict, model.predict_proba)
        for way in (WAYS["plain"], WAYS["hull"]):
            frames, seconds = answers_of(data, model, people, way, options)
            cells = table_2.as_text(table_2.measured(where, people, frames))
            found = sum(one is not None for one in frames)
            yield [name, way.who, str(len(people)), str(found), *cells, f"{seconds:.2f}"]
        replies = ask_dice(model, data.X, data.y, people, data.numbers, data.fixed, 1)
        if replies:
            frames = [one.rows if len(one.rows) else None for one in replies]
            cells = table_2.as_text(table_2.measured(where, people, frames))
            found = sum(one is not None for one in frames)
            seconds = float(np.median([one.seconds for one in replies]))
            yield [name, "DiCE", str(len(people)), str(found), *cells, f"{seconds:.2f}"]
        yield from table_2.classical_rows(name, data, model, people)
        yield from table_2.paper_rows(name)


def answers_of(
    data: Table, model: Any, people: pd.DataFrame, way: Way, options: Any
) -> tuple[list[pd.DataFrame | None], float]:
    """The answer that the tables show of each person, and the median of seconds."""
    region = None
    if way.epsilon is not None:
        region = cfxc.TrustRegion(data.X, data.y, epsilon=way.epsilon)
    frontier = Frontier(model, _space(data, whole=True), data.X, region, way.beyond)
    found, spent = list[pd.DataFrame | None](), list[float]()
    for i in range(len(people)):
        started = time.perf_counter()
        answers = frontier.candidates(people.iloc[[i]], 1, APART, options.seconds).answers
        best = frontier.cheapest(answers, 1, APART)
        found.append(best[0].counterfactual if best else None)
        spent.append(time.perf_counter() - started)
    return found, float(np.median(spent))


def hull(people: int) -> Iterator[list[str]]:
    """A trust region over 30,000 rows of 50 columns: seconds per person, and memory."""
    values, labels = make_classification(
        30_000, 50, n_informative=20, n_redundant=10, random_state=0
    )
    X = pd.DataFrame(values, columns=[f"x{i}" for i in range(50)])
    space = cfxc.FeatureSpace.infer(X, resolution=None)
    for name in ("lr", "svm", "mlp", "cart", "gbm"):
        model = make_pipeline(StandardScaler(), MODELS[name]).fit(X, labels)
        compiled, region = cfxc.compile(model, space), cfxc.TrustRegion(X)
        refused = X[model.predict(X) == 0].iloc[: people + 1]
        spent, proved = [], 0
        for i in range(len(refused)):
            started = time.perf_counter()
            result = compiled.explain(refused.iloc[[i]], target=1, subject_to=[region],
                                      time_limit=8)  # fmt: skip
            spent.append(time.perf_counter() - started)
            proved += i > 0 and result.status == "optimal"
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        yield [name, str(people), str(proved), f"{spent[0]:.2f}", f"{np.median(spent[1:]):.2f}",
               f"{max(spent[1:]):.2f}", f"{memory:,.0f}"]  # fmt: skip


def main() -> None:
    """Print the table, each row to stderr as soon as it is there."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--part", required=True, choices=("hull", "baselines"))
    parser.add_argument("--data", default=",".join(TABLES), help="of baselines")
    parser.add_argument("--people", type=int, help="12, of baselines 30")
    parser.add_argument("--seconds", type=float, default=3.0, help="limit of one answer there")
    parser.add_argument("--markdown", type=Path, help="rewrite this page's section")
    options = parser.parse_args()
    options.people = options.people or (12 if options.part == "hull" else 30)
    if options.part == "hull":
        head = ["model", "people", "proved", "first, s", "median, s", "most, s", "memory, MB"]
        shown = Shown("A trust region over 30,000 rows of 50 columns", head)
        asked, rows = f" --people {options.people}", hull(options.people)
    else:
        title = "Table 2: one counterfactual of a forest, means (standard errors)"
        shown, rows = Shown(title, table_2.HEAD), baselines(options)
        asked = f" --people {options.people} --seconds {options.seconds:g}"
        if options.data != parser.get_default("data"):
            asked += f" --data {options.data}"
    for row in rows:
        print(" | ".join(row), file=sys.stderr, flush=True)
        shown.rows.append(row)
    shown.show()
    if options.markdown is not None:
        told = circumstances(f"python benchmarks/criteria.py --part {options.part}{asked}")
        section = f"criteria {options.part}"
        write_section(options.markdown, section, f"{told}\n\n{shown.markdown()}")


if __name__ == "__main__":
    main()
