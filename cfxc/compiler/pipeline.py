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

``CFXC_CHECK=1`` verifies the program after every pass.  ``CFXC_DEBUG=1..3`` writes to stderr:
1 passes and sizes, 2 also every solver call, 3 also the SMT-LIB text of each call.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

from ..ir import Program, verify
from ..stopping import poll
from .passes import fold_into_trees, narrow_argmax
from .splits import RawSplits

Pass = Callable[[Program], Program]

TARGET_PASSES: tuple[Pass, ...] = (narrow_argmax, fold_into_trees)


def run_passes(program: Program, passes: Sequence[Pass]) -> Program:
    """Apply passes in order; each keeps the meaning of the outputs."""
    for step in passes:
        poll()
        program = step(program)
        if os.environ.get("CFXC_CHECK", "") not in ("", "0"):
            verify(program)
        debug(1, partial(_size, step, program))
    return program


def _size(step: Pass, program: Program) -> str:
    return f"{getattr(step, '__name__', step)}: {sum(1 for _ in program.lets())} assignments"


@lru_cache(maxsize=32)
def simplified(target: Program) -> tuple[Program, dict[str, RawSplits | None]]:
    """A target program made small, and its ensembles' raw splits (filled on use).

    Cached by content: all instances refused by one model share it.
    """
    return run_passes(target, TARGET_PASSES), {}


def debug(level: int, message: Callable[[], str]) -> None:
    """Write to stderr if ``CFXC_DEBUG`` is at least ``level``; the text is made on demand."""
    chosen = os.environ.get("CFXC_DEBUG", "0")
    if chosen.isdigit() and int(chosen) >= level:
        print(f"cfxc: {message()}", file=sys.stderr)
