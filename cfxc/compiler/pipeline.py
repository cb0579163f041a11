"""The lowering, read top to bottom.

=====================  ====================================================================
``frontends``          model, distance, constraints → tensor-level programs
``simplified``         a target program made small by exact rewrites (once per model)
``prune_trees``        ensembles restricted to a ball (once per radius)
``functional``         program → one term per output                         (the oracle)
``expand``             tensor level → core level                             (to show, to relate)
``compact_formula``    core level → characteristic formula, linear size
``path_formula``       core level → characteristic formula, by definition
``emit.smtlib``        formula → SMT-LIB text
=====================  ====================================================================

``CFXC_CHECK=1`` verifies the program after every pass; ``CFXC_SKIP=NAME,…``, set before the process
starts, leaves passes out.  ``CFXC_DEBUG=1..3`` writes to stderr: 1 passes and sizes, 2 also every
solver call, 3 also the SMT-LIB text of each call.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial

from ..errors import InvalidInputError
from ..ir import Program, verify
from ..stopping import poll
from .passes import fold_into_trees, narrow_argmax
from .splits import RawSplits

Pass = Callable[[Program], Program]

PASSES: Mapping[str, Pass] = {
    "narrow_argmax": narrow_argmax,
    "fold_into_trees": fold_into_trees,
}
"""What makes a target program small, by name and in order; each can be left out."""


def skipped() -> tuple[str, ...]:
    """The passes that ``CFXC_SKIP`` leaves out.

    Raises:
        InvalidInputError: a name that is no pass.
    """
    names = tuple(filter(None, os.environ.get("CFXC_SKIP", "").split(",")))
    if unknown := [name for name in names if name not in PASSES]:
        raise InvalidInputError(f"CFXC_SKIP: no pass {unknown[0]!r}; there are {', '.join(PASSES)}")
    return names


def run_passes(program: Program, last: str = "", skip: Sequence[str] = ()) -> Program:
    """The program after all passes, or after ``last``; each keeps the meaning of the outputs."""
    chosen = list(PASSES)[: list(PASSES).index(last) + 1] if last else list(PASSES)
    for step in (PASSES[name] for name in chosen if name not in skip):
        poll()
        program = step(program)
        if os.environ.get("CFXC_CHECK", "") not in ("", "0"):
            verify(program)
        debug(1, partial(_size, step, program))
    return program


def _size(step: Pass, program: Program) -> str:
    return f"{getattr(step, '__name__', step)}: {sum(1 for _ in program.lets())} assignments"


def simplified(target: Program) -> tuple[Program, dict[str, RawSplits | None]]:
    """A target program made small, and its ensembles' raw splits (filled on use).

    Cached by content: all instances refused by one model share it.
    """
    return _simplified(target, skipped())


@lru_cache(maxsize=32)
def _simplified(
    target: Program, skip: tuple[str, ...]
) -> tuple[Program, dict[str, RawSplits | None]]:
    return run_passes(target, skip=skip), {}


def debug(level: int, message: Callable[[], str]) -> None:
    """Write to stderr if ``CFXC_DEBUG`` is at least ``level``; the text is made on demand."""
    chosen = os.environ.get("CFXC_DEBUG", "0")
    if chosen.isdigit() and int(chosen) >= level:
        print(f"cfxc: {message()}", file=sys.stderr)
