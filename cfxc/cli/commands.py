"""What the commands do, apart from reading options."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .emission import Emit, Transformer, emission
from .guard import INFEASIBLE, LIMIT, check_writable, deliver
from .report import progress, show
from .tables import (
    column_names,
    read_csv,
    read_distance,
    read_factual,
    read_target,
    without_target,
)

if TYPE_CHECKING:
    from ..api import CompiledModel
    from ..solvers.result import Result


@dataclass(frozen=True)
class Question:
    """The options of ``cfxc explain`` that say what is asked and how."""

    factual: str
    target: str | None
    range: str | None
    distance: str
    epsilon: float
    method: str
    solver: str
    count: int
    constraints: Sequence[str]
    time_limit: float


def infer_space(
    table: Path,
    target: str | None,
    output: Path | None,
    fixed: list[str] | None,
    increase: list[str] | None,
    decrease: list[str] | None,
    one_hot: list[str] | None,
) -> int:
    """Write the feature space of a table as TOML."""
    from ..frontends.space import FeatureSpace

    check_writable(output)
    frame = without_target(read_csv(table), target, table)
    columns = list(map(str, frame.columns))
    space = FeatureSpace.infer(
        frame,
        fixed=column_names(fixed, columns),
        increase=column_names(increase, columns),
        decrease=column_names(decrease, columns),
        one_hot=column_names(one_hot, columns),
    )
    deliver(space.to_toml(), output)
    return 0


def compile_model(
    source: Path,
    space: Path,
    kind: Emit,
    transformer: Transformer | None,
    outputs: Sequence[str],
    trust_pickle: bool,
    output: Path | None,
) -> int:
    """Print a model as IR, core-language program, formula or SMT-LIB."""
    check_writable(output)
    model = load(source, space, trust_pickle)
    deliver(emission(model, source.name, kind, transformer, outputs), output)
    return 0


def explain(
    source: Path, space: Path, question: Question, trust_pickle: bool, as_json: bool
) -> int:
    """Print the nearest counterfactual of one person, and what is proved about it."""
    model = load(source, space, trust_pickle)
    row = read_factual(question.factual, model.space)
    target = read_target(model, question.target, question.range)
    with progress(f"searching, for at most {question.time_limit:g} s …"):
        result = model.explain(
            row,
            target=target,
            distance=read_distance(question.distance),
            epsilon=question.epsilon,
            constraints=question.constraints,
            method=question.method,
            solver=question.solver,
            time_limit=question.time_limit,
            count=question.count,
        )
    if as_json:
        print(json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False))
    else:
        _show_all(result, question.count)
    return exit_code(result)


def _show_all(result: Result, count: int) -> None:
    found = result.all()
    for number, one in enumerate(found, start=1):
        if count > 1:
            print(f"{chr(10) * (number > 1)}{number} of {len(found)} found, {count} asked for")
        show(one)


def load(source: Path, space: Path, trust_pickle: bool) -> CompiledModel:
    """The model in a file, compiled over the feature space in another."""
    from ..api import compile
    from ..frontends.space import FeatureSpace

    return compile(source, FeatureSpace.from_toml(space), trust_pickle=trust_pickle)


def exit_code(result: Result) -> int:
    """0 proved nearest, 3 proved that there is none, 4 a limit was reached before either."""
    if result.status == "infeasible":
        return INFEASIBLE
    return 0 if all(one.status == "optimal" for one in result.all()) else LIMIT
