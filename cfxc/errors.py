"""Every error that cfxc raises on purpose.

All derive from :class:`CfxcError`; each subclass doubles as the built-in it resembles, so that
``except ValueError`` keeps working.  A message says where, what, and what to do.  ``exit_code`` is
what the command line returns for it: 2 for bad input, 1 for a fault of ours.

This module imports nothing of cfxc and may be imported by every layer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

SHOWN = 60
"""Characters of a value that a message shows."""


def as_written_in_code(value: object) -> str:
    """``repr``, also of whole numbers that Python does not print."""
    try:
        return repr(value)
    except ValueError:
        return f"{type(value).__name__} of thousands of digits"


def brief(value: object) -> str:
    """How a message names a wrong value."""
    text = as_written_in_code(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} …"


class CfxcError(Exception):
    """Root of all errors raised on purpose; ``str(error)`` is a complete message."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return self.message


class InvalidInputError(CfxcError, ValueError):
    """A value, row, option or query is not acceptable."""


class NoChangeNeededError(InvalidInputError):
    """An instance has the target outcome already; ``target``: which one that is."""

    def __init__(self, message: str, target: object) -> None:
        super().__init__(message)
        self.target = target

    def __reduce__(self) -> tuple[type, tuple[str, object]]:
        return type(self), (self.message, self.target)


class MissingColumnError(CfxcError, KeyError):
    """A table lacks a column that the model or the feature space needs."""


class DataTypeError(CfxcError, TypeError):
    """A value or column has the wrong type."""


class UnsupportedError(CfxcError, TypeError):
    """A model, op or option is outside what a back end takes; all offences are listed at once."""

    def __init__(self, what: str, offences: Sequence[str] = (), remedy: str = "") -> None:
        shown = [f"  - {offence}" for offence in offences[:7]]
        if len(offences) > 7:
            shown.append(f"  … and {len(offences) - 7} more")
        self.offences = tuple(offences)
        super().__init__("\n".join([what, *shown] + ([remedy] if remedy else [])))


class OutOfTimeError(UnsupportedError):
    """Nothing was found within the time limit, which may be raised."""

    exit_code = 4


class LanguageError(CfxcError, SyntaxError):
    """A text (core language, IR or constraint) does not parse or is not well-formed.

    ``line`` and ``column`` count from 1; 0 when unknown.
    """

    def __init__(self, message: str, *, line: int = 0, column: int = 0, source: str = "") -> None:
        self.line, self.column = line, column
        where = (
            f"{source or 'text'}:{line}:{column}: " if line else (f"{source}: " if source else "")
        )
        super().__init__(where + message)


class VerificationError(CfxcError, ValueError):
    """An IR program breaks a rule of the IR (sorts, single assignment, scoping)."""


class ModelFileError(CfxcError, OSError):
    """A model file is missing, truncated, of an unknown kind, or unsafe to open."""


class MissingExtraError(CfxcError, ImportError):
    """An optional dependency is needed; the message names the extra to install."""

    def __init__(self, extra: str, package: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}': pip install 'cfxc[{extra}]' and try again"
        )
        self.extra = extra


@contextmanager
def needs(extra: str, purpose: str, package: str = "", of: Collection[str] = ()) -> Iterator[None]:
    """Import what an extra brings: ``package``, or whichever of it (only ``of``) is not there.

    Raises:
        MissingExtraError: it is not there.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        name = str(error.name)
        if of and name.partition(".")[0] not in of:
            raise
        raise MissingExtraError(extra, package or name, purpose) from error


class SolverError(CfxcError, RuntimeError):
    """A solver failed or contradicted the exact evaluator: a fault to report, never an answer."""

    exit_code = 1
