"""The passes that make a program small before an engine reads it.

A pass takes a straight-line :class:`Program` and returns one whose outputs are the same functions
of the same inputs, by identities of exact arithmetic.  ``PASSES`` lists them in order.  To add one,
write the function in ``passes/`` and enter it here, and its outputs beside the program's own, by
exact arithmetic, in ``tests/compiler/passes``; to look at it, run ``cfxc compile --emit ir --after
NAME``; to do without, set ``CFXC_SKIP=NAME,NAME``.

Before: a front end reads the model as a program, and :func:`question.target.target_program` makes
of it the *target program*, whose one output ``in_target`` says whether a row has the outcome asked
for.  After: each engine brings the simplified target program into the form that it searches
(inequalities over trees, a formula, a mixed-integer program).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache, partial

from ..environment import debug, has_checks, skipped_passes
from ..errors import InvalidInputError
from ..ir import Program, verify
from ..stopping import poll
from .passes import fold_into_trees, multiply_out, narrow_argmax

Pass = Callable[[Program], Program]

PASSES: Mapping[str, Pass] = {
    "multiply_out": multiply_out,  # Σ_i a_i (v_i x + c)² → x' Q x + w x + b
    "narrow_argmax": narrow_argmax,  # argmax of two scores → the sign of their difference
    "fold_into_trees": fold_into_trees,  # W (Σ trees) + b → trees with leaves W v, base b
}
"""All passes, by name and in order."""


def simplified(target: Program) -> Program:
    """A target program after all passes but those in ``CFXC_SKIP``; cached by what the program is.

    Passes of a cached program do not run again, so nothing of them is checked or logged then.

    Raises:
        InvalidInputError: ``CFXC_SKIP`` names no pass.
    """
    return _simplified(target, _checked(skipped_passes()))


@lru_cache(maxsize=32)
def _simplified(target: Program, skip: tuple[str, ...]) -> Program:
    return run_passes(target, skip=skip)


def run_passes(program: Program, last: str | None = None, skip: Collection[str] = ()) -> Program:
    """The program after every pass up to ``last`` (``None``: after all), but those in ``skip``.

    Where ``last`` is itself in ``skip``, the passes before it are run.

    Raises:
        InvalidInputError: a name that is no pass.
        VerificationError: with ``CFXC_CHECK=1``, a pass made a program that is not well formed.
    """
    _checked([*skip, *([] if last is None else [last])])
    for name, simplify in PASSES.items():
        if name not in skip:
            poll()  # work may be broken off between two passes
            program = simplify(program)
            if has_checks():
                verify(program)
            debug(1, partial(_size, name, program))
        if name == last:
            break
    return program


def _size(name: str, program: Program) -> str:
    return f"{name}: {sum(1 for _ in program.lets())} assignments"


def _checked(names: Collection[str]) -> tuple[str, ...]:
    """The names as they are, once each is known to be a pass's."""
    for name in names:
        if name not in PASSES:
            raise InvalidInputError(f"no pass {name!r}; there are {', '.join(PASSES)}")
    return tuple(names)
