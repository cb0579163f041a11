"""How a command ends: exit codes, and messages without tracebacks."""

from __future__ import annotations

import errno
import functools
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import Any, ParamSpec, TextIO, cast

import typer

from ..errors import CfxcError, InvalidInputError
from ..show.plots import require
from ..suffixes import PICTURES
from ..writing import check_writable, is_special, write_whole
from .interrupts import INTERRUPTED, came
from .remedies import again, by_flag, remedy

INFEASIBLE, LIMIT, FAULT = 3, 4, 1
"""No counterfactual exists, proved; a limit was reached; a fault of ours."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a stream says that takes no more."""


P = ParamSpec("P")


def guarded(command: Callable[P, int | None]) -> Callable[P, None]:
    """The command with its result as exit code, and every error as a message on stderr."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        raise typer.Exit(ended(lambda: command(*args, **kwargs)))

    return run


def ended(run: Callable[[], int | None]) -> int:
    """The exit code of what runs, with all that it printed on its way."""
    try:
        with redirect_stdout(cast(TextIO, _Heard(sys.stdout))):
            code = run() or 0
            sys.stdout.flush()
        return code
    except CfxcError as error:
        said, hint = by_flag(str(error)), remedy(str(error))
        return _refused(f"{said}\n{hint}" if hint else said, error.exit_code)
    except KeyboardInterrupt:
        return _refused("stopped", INTERRUPTED)
    except Exception as error:  # nothing a user does may end as a fault of ours
        return _failed(error)


class _Heard:
    """A stream whose reader may go away (``| head``): what was found is told by the exit code."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, or let it be."""
        with _unless_gone():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Pass on what was kept back, or let it be."""
        with _unless_gone():
            self._stream.flush()


@contextmanager
def _unless_gone() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        _abandon_stdout()


def _failed(error: Exception) -> int:
    """What broke off by Ctrl-C, by a disk or a file, or by a fault of ours."""
    if os.environ.get("CFXC_DEBUG"):
        traceback.print_exc()
    if came():
        return _refused("stopped", INTERRUPTED)
    if isinstance(error, OSError) and error.filename is not None:
        return _refused(f"{error.filename}: {error.strerror}; name a file that can be used", 2)
    if isinstance(error, OSError) and error.errno in FULL:
        _abandon_stdout()
        return _refused(f"cannot write the output: {error.strerror}; make room", 2)
    if isinstance(error, MemoryError):
        return _refused("out of memory; ask about a smaller model or table", LIMIT)
    return _refused(
        f"internal error: {type(error).__name__}: {error}\n"
        "this is a fault of cfxc; please report it (CFXC_DEBUG=1 shows where it happened)",
        FAULT,
    )


def _refused(message: str, code: int) -> int:
    with suppress(OSError):  # there may be no room for messages either
        if sys.stderr.isatty():
            _show(f"cfxc: {message}")
        else:
            print(f"cfxc: {message}", file=sys.stderr, flush=True)
    return code


def _show(message: str) -> None:
    """A message on a terminal: whose it is, and the command to try, stand out (not if NO_COLOR)."""
    from rich.console import Console
    from rich.text import Text

    text = Text(message)
    text.highlight_regex(r"^cfxc:", "bold red")
    text.highlight_regex(r"(?m)^try: .*$", "bold")
    Console(stderr=True, highlight=False).print(text, soft_wrap=True)


def _abandon_stdout() -> None:
    """Nothing more is written, and what is still kept back fails no more at the end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def keep_present(overwrite: bool, *paths: Path | None) -> None:
    """Refuse to replace files that are there, unless that was asked for, before any work.

    Raises:
        InvalidInputError: naming the first of them.
    """
    for path in paths:
        if path is not None and path.exists() and not overwrite and not is_special(path):
            raise InvalidInputError(
                f"{path} is there already; write to another place, or replace it\n"
                f"{again('--overwrite')}"
            )


def check_picture(path: Path | None, purpose: str) -> None:
    """Refuse a picture that cannot be drawn, before any work."""
    if path is None:
        return
    if path.suffix.lower() not in PICTURES:
        raise InvalidInputError(f"{path}: a picture is {', '.join(PICTURES)}")
    check_writable(path)
    require(purpose)


def deliver(text: str, path: Path | None) -> None:
    """Write to the file, whole or not at all; to stdout without one."""
    if path is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    write_whole(path, text)
