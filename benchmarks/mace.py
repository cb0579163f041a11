"""Tables 2, 3, 4 and 7 of Karimi et al. (2020, MACE): cfxc beside the methods compared there.

Coverage, and how much nearer the answers of cfxc are than the minimum observable (MO), feature
tweaking (FT, PFT) and actionable recourse (AR), in our set-up and in that of the authors' code;
what it costs that age may not change; and which difference of the set-ups moves the figures.

    CFXC_DATA=… python benchmarks/mace.py --part compared --people 10
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from statistics import fmean, stdev

import pandas as pd
from support.algorithm_1 import ModelFormula
from support.cases import DATA, DISTANCES, EPSILON
from support.evidence import favourable_rows, query_of
from support.loose_bisection import distance_found
from support.parts import Section, parsed, run_parts
from support.report import Table
from support.rival_answers import (
    AR,
    FT,
    LINEAR,
    MO,
    OURS,
    PFT,
    TREES,
    Limits,
    Replies,
    Reply,
    ask,
    failures,
    observe,
    replies,
    world,
)
from support.setups import AUTHORS, USUAL, Setup, World

import cfxc

PAGE = Path("benchmarks/results/mace.md")
MODELS = ("tree", "forest(10)", "lr", "mlp(10,10)")
SETUPS = {"our set-up": USUAL, "the authors' set-up": AUTHORS}
METHODS = {"tree": TREES, "forest(10)": TREES, "lr": LINEAR, "mlp(10,10)": ()}
NINE = tuple(f"{data} {distance}" for data in ("adult", "credit", "compas")
             for distance in DISTANCES)  # fmt: skip
"""The columns of Tables 2 and 3."""

COVERAGE: dict[tuple[str, str], tuple[float | None, ...]] = {  # Table 2, in percent
    ("tree", PFT): (0, 0, 0, 68, 68, 68, 74, 74, 74),
    ("forest(10)", PFT): (0, 0, 0, 99, 99, 99, 100, 100, 100),
    ("lr", AR): (None, 18, 0.4, None, 100, 100, None, 100, 100),
}
Pairs = tuple[tuple[int, int] | None, ...]
IMPROVEMENT: dict[tuple[str, str], Pairs] = {  # Table 3, in percent: ε = 1e-3, ε = 1e-5
    ("tree", MO): ((47, 47), (80, 81), (70, 72), (67, 67), (66, 96), (47, 94),
                   (1, 1), (5, 5), (5, 5)),
    ("tree", PFT): (None, None, None, (53, 53), (87, 97), (85, 96), (14, 15), (56, 55), (54, 54)),
    ("forest(10)", MO): ((51, 51), (81, 82), (69, 71), (68, 68), (61, 97), (38, 96),
                         (1, 1), (6, 6), (6, 6)),
    ("forest(10)", PFT): (None, None, None, (53, 53), (84, 96), (81, 96),
                          (4, 4), (28, 28), (27, 27)),
    ("lr", MO): ((62, 62), (92, 93), (86, 88), (80, 80), (82, 82), (80, 81),
                 (3, 3), (8, 6), (6, 6)),
    ("lr", AR): (None, (3, 5), (89, 91), None, (39, 42), (67, 71), None, (10, 10), (38, 38)),
    ("mlp(10,10)", MO): ((60, 60), (92, 93), (91, 93), (77, 77), (85, 96), (91, 96),
                         (1, 1), (3, 3), (3, 3)),
}  # fmt: skip
AGE = {  # Tables 4 and 7, ε = 1e-5: share of people in percent, increase in percent
    ("fixed", OURS): ((13.2, 9.0), (20.4, 100.3), (84.4, 32.8)),
    ("fixed", MO): ((78.8, 50.9), (92.0, 245.7), (95.6, 193.3)),
    ("increase", OURS): ((3.6, 0.0), (7.4, 61.3), (34.2, 13.9)),
    ("increase", MO): ((24.6, 29.7), (34.6, 94.6), (34.2, 66.6)),
}
ABSOLUTE = (1e-3, 1e-5)
FACTORS: dict[str, str] = {
    "balanced": "classes balanced",
    "plain": "numbers not standardised",
    "codes": "categories as codes",
    "liblinear": "liblinear",
    "free": "real features off the grid",
    "test_rows": "MO over test rows",
    "zeros": "people predicted 0",
}
"""What the authors' set-up has otherwise than ours; see ``Setup``."""


def main() -> None:
    """Run the parts and print their tables."""
    run_parts("mace", PARTS, parse(), parse([]))


# -- Tables 2 and 3 --------------------------------------------------------------------------------


def run_compared(options: Namespace) -> Section:
    """Coverage and improvement, in both set-ups, and why answers are missing."""
    tables, lines = [], []
    for said, setup in SETUPS.items():
        found = {(data, model): _replies(setup, data, model, options)
                 for data in DATA for model in MODELS}  # fmt: skip
        tables += [_coverage(found, said, options), _improvement(found, said, options)]
        tables.append(_failures(found, said))
        lines += _summary(found, said)
    return tables, lines


def _replies(setup: Setup, data: str, model: str, options: Namespace) -> Replies:
    return replies(setup, data, model, _limits(options), METHODS[model])


def _limits(options: Namespace) -> Limits:
    return Limits(options.people, options.seconds, options.epsilon)


Found = dict[tuple[str, str], Replies]


def _coverage(found: Found, said: str, options: Namespace) -> Table:
    table = Table(
        f"Table 2, {said}: people of {options.people} with a verified answer, in % [paper]",
        ("model", "method", *NINE),
    )
    for model in MODELS:
        for method in (OURS, MO, *METHODS[model]):
            theirs = COVERAGE.get((model, method), (None,) * 9)
            cells = []
            for column, paper in zip(NINE, theirs, strict=True):
                data, distance = column.split()
                own = found[data, model].get((method, distance))
                share = "" if own is None else f"{100 * _share(own):.0f}"
                cells.append(share + ("" if paper is None else f" [{paper}]"))
            table.rows.append((model, method, *cells))
    return table


def _share(own: Sequence[Reply]) -> float:
    return fmean(reply.distance is not None for reply in own)


def _improvement(found: Found, said: str, options: Namespace) -> Table:
    table = Table(
        f"Table 3, {said}, ε = {options.epsilon:g} of the distance: 100·E[1 − δ/δ_other] ± s.e. "
        "(people) [paper at ε = 1e-3, 1e-5]",
        ("model", "against", *NINE),
    )
    for model in MODELS:
        for method in (MO, *METHODS[model]):
            if method == FT:
                continue  # it never answers
            theirs = IMPROVEMENT.get((model, method), (None,) * 9)
            cells = []
            for column, paper in zip(NINE, theirs, strict=True):
                data, distance = column.split()
                gains = _gains(found[data, model], method, distance)
                own = f"{spread(gains)} ({len(gains)})" if gains else ""
                cells.append(own + ("" if paper is None else f" [{paper[0]}, {paper[1]}]"))
            table.rows.append((model, method, *cells))
    return table


def _gains(found: Replies, method: str, distance: str) -> list[float]:
    """1 - δ / δ_other of those whom both answer."""
    pairs = zip(found[OURS, distance], found.get((method, distance), ()), strict=False)
    return [
        float(1 - mine.distance / other.distance)
        for mine, other in pairs
        if mine.distance is not None and other.distance
    ]


def spread(values: Sequence[float]) -> str:
    """Mean ± standard error, in percent."""
    error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{100 * fmean(values):.0f} ± {100 * error:.0f}"


def _failures(found: Found, said: str) -> Table:
    """Over the three distances, or two of AR."""
    kinds = ("no candidate", "implausible", "not flip")
    table = Table(
        f"Answers that are missing, {said}", ("data", "model", "method", "asked", *kinds, "other")
    )
    for (data, model), own in found.items():
        for method in (OURS, MO, *METHODS[model]):
            every = [r for distance in DISTANCES for r in own.get((method, distance), ())]
            count = failures(every)
            if count:
                cells = [str(count[kind]) for kind in (*kinds, "other")]
                table.rows.append((data, model, method, str(len(every)), *cells))
    return table


def _summary(found: Found, said: str) -> list[str]:
    every = [r for own in found.values() for d in DISTANCES for r in own[OURS, d]]
    proved = sum(reply.proved for reply in every)
    faults = sum(reply.distance is None for reply in every)
    nearer = [
        gain
        for own in found.values()
        for distance in DISTANCES
        for method in (MO, *TREES, *LINEAR)
        for gain in _gains(own, method, distance)
        if gain < 0
    ]
    by = f", by {-100 * min(nearer):.2g} % at most" if nearer else ""
    return [
        f"- In {said}, of {len(every)} answers of cfxc: {faults} with a fault, {proved} proved "
        f"optimal; {len(nearer)} by any other method are nearer{by}."
    ]


# -- Tables 4 and 7 --------------------------------------------------------------------------------


def run_age(options: Namespace) -> Section:
    """Whose nearest counterfactual changes age, and how much farther the next one is without."""
    table = Table(
        f"Tables 4 and 7: forest on Adult, {options.people} people; 100·E[δ_restr./δ − 1] ± s.e. "
        "over those whose age changed (fell) [paper, ε = 1e-5]",
        ("set-up", "age may not", "d", "method", "people, % [paper]", "increase, % [paper]",
         "people", "as near without"),
    )  # fmt: skip
    for said, setup in SETUPS.items():
        where = world(setup, "adult", "forest(10)")
        found = _replies(setup, "adult", "forest(10)", options)
        for action, verb in (("fixed", "change"), ("increase", "fall")):
            barred = restricted(where, action)
            for at, distance in enumerate(DISTANCES):
                for method in (OURS, MO):
                    pairs = _without(barred, found[method, distance], distance, method, options)
                    share, rise = AGE[action, method][at]
                    kept = [float(b / a) - 1 for a, b in pairs if b is not None]
                    asked = len(found[method, distance])
                    table.rows.append((
                        said, verb, distance, method,
                        f"{100 * len(pairs) / asked:.0f} [{share}]",
                        f"{spread(kept) if kept else '–'} [{rise}]",
                        str(len(kept)), str(sum(not value for value in kept)),
                    ))  # fmt: skip
    return [table], []


def restricted(where: World, action: str) -> World:
    """The same model, where age is fixed or may only increase."""
    case = where.case
    data = replace(case.data, space=case.data.space.replace("age", action=action))
    compiled = cfxc.compile(case.pipeline, data.space)
    return replace(where, case=replace(case, data=data, compiled=compiled))


def _without(
    barred: World, found: Sequence[Reply], distance: str, method: str, options: Namespace
) -> list[tuple[Fraction, Fraction | None]]:
    """Distances with and without the restriction, of those who break it."""
    case, pairs = barred.case, []
    fixed = case.data.space["age"].action == "fixed"
    favourable = pd.Series(favourable_rows(case), index=case.train.index)
    for i, reply in enumerate(found):
        if reply.distance is None or reply.row is None:
            continue
        person = case.people.iloc[[i]]
        old, new = person["age"].iloc[0], reply.row["age"].iloc[0]
        if new == old or (not fixed and new > old):
            continue
        query = query_of(case, person, distance)
        if method == MO:
            ages = case.train["age"]
            allowed = favourable & ((ages == old) if fixed else (ages >= old))
            again = observe(barred, query, person, allowed.tolist())
        else:
            again = ask(barred, query, person, None, _limits(options))
        pairs.append((reply.distance, again.distance))
    return pairs


# -- why the improvement over MO differs -----------------------------------------------------------


def run_why(options: Namespace) -> Section:
    """Our set-up with one thing at a time as the authors' code has it, then with all of them."""
    table = Table(
        f"Improvement over MO of {options.people} people, in %: l0 / l1 / linf; in our set-up, "
        "with one thing changed, with all changed; empty: nothing changes",
        ("data", "model", "paper, ε = 1e-5", "ours", *FACTORS.values(), "all"),
    )
    away: dict[str, list[float]] = {}
    for number, data in enumerate(("adult", "credit", "compas")):
        for model in MODELS:
            paper = [pair[1] for pair in IMPROVEMENT[model, MO][3 * number :][:3] if pair]
            found = _by_setup(data, model, options)
            cells = [_triple(found[name]) if name in found else "" for name in (*FACTORS, "all")]
            table.rows.append((data, model, _triple(paper), _triple(found["ours"]), *cells))
            for name in ("ours", *FACTORS, "all"):
                means = found.get(name, found["ours"])
                away.setdefault(name, []).extend(
                    mean - theirs for mean, theirs in zip(means, paper, strict=True)
                )
    for said, of in (("mean difference from the paper", fmean),
                     ("mean absolute difference", lambda v: fmean(map(abs, v)))):  # fmt: skip
        table.rows.append((said, "", "", *(f"{of(values):.1f}" for values in away.values())))
    return [table], []


def _by_setup(data: str, model: str, options: Namespace) -> dict[str, list[float]]:
    """The improvement in each set-up that differs from ours, in percent, by distance."""
    found = {}
    for name in ("ours", *FACTORS, "all"):
        if name in FACTORS and not applies(name, data, model):
            continue
        if name in FACTORS:
            setup = replace(USUAL, **{name: True})
            own = replies(setup, data, model, _limits(options), ())
        else:
            own = _replies(AUTHORS if name == "all" else USUAL, data, model, options)
        found[name] = [100 * fmean(_gains(own, MO, distance)) for distance in DISTANCES]
    return found


def applies(factor: str, data: str, model: str) -> bool:
    """Whether a difference of the set-ups concerns a data set and a model."""
    if factor == "plain":
        return model in ("lr", "mlp(10,10)")
    if factor == "liblinear":
        return model == "lr"
    if factor == "free":
        return data != "compas"
    return factor != "zeros" or data == "compas"


def _triple(values: Sequence[float]) -> str:
    return " / ".join(f"{value:.0f}" for value in values)


# -- what an absolute ε does -----------------------------------------------------------------------


def run_epsilon(options: Namespace) -> Section:
    """The tree on Credit in the authors' set-up, asked by Algorithm 1 with an absolute ε."""
    table = Table(
        "Improvement over MO ± s.e. in %, tree on Credit, the authors' set-up: Algorithm 1 with an "
        "absolute ε as printed there, and cfxc; and the mean distances",
        ("d", "people", *(f"ε = {e:g} [paper]" for e in ABSOLUTE), "cfxc", "mean δ, cfxc",
         "mean δ, MO"),
    )  # fmt: skip
    where = world(AUTHORS, "credit", "tree")
    formula = ModelFormula.of(where.case.compiled.program)
    own = _replies(AUTHORS, "credit", "tree", options)
    for distance, paper in (("l1", (66, 96)), ("linf", (47, 94))):
        parts = len(where.case.data.space) if distance == "linf" else 1
        lines = []
        pairs = zip(own[OURS, distance], own[MO, distance], strict=True)
        for i, (mine, other) in enumerate(list(pairs)[: options.bisected]):
            query = query_of(where.case, where.case.people.iloc[[i]], distance)
            loose = [
                distance_found(formula, query, Fraction(epsilon), options.reference_seconds, parts)
                for epsilon in ABSOLUTE
            ]
            if mine.distance and other.distance and None not in loose:
                lines.append([mine.distance, other.distance, *filter(None, loose)])
        gains = [[float(1 - line[k] / line[1]) for line in lines] for k in (2, 3, 0)]
        means = [f"{fmean(map(float, each)):.5f}" for each in list(zip(*lines, strict=True))[:2]]
        table.rows.append((
            distance, str(len(lines)), f"{spread(gains[0])} [{paper[0]}]",
            f"{spread(gains[1])} [{paper[1]}]", spread(gains[2]), *means,
        ))  # fmt: skip
    return [table], []


PARTS: dict[str, Callable[[Namespace], Section]] = {
    "compared": run_compared,
    "age": run_age,
    "why": run_why,
    "epsilon": run_epsilon,
}


def parse(arguments: Sequence[str] | None = None) -> Namespace:
    parser = ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--people", type=int, default=50, help="per model and set-up")
    parser.add_argument("--seconds", type=float, default=10.0, help="limit of one answer of cfxc")
    parser.add_argument("--epsilon", type=float, default=EPSILON, help="a share of the distance")
    parser.add_argument("--bisected", type=int, default=8, help="people of part epsilon")
    parser.add_argument("--reference-seconds", type=float, default=60.0, help="of one bisection")
    parser.add_argument("--markdown", type=Path, help=f"page whose sections are rewritten: {PAGE}")
    return parsed(parser, PARTS, arguments)


if __name__ == "__main__":
    main()
