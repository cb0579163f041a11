"""How a command ends: exit codes, messages without tracebacks, files written whole or not."""

from __future__ import annotations

import functools
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import ParamSpec

import typer

from ..errors import CfxcError, InvalidInputError, MissingExtraError

INFEASIBLE, LIMIT, FAULT, INTERRUPTED = 3, 4, 1, 130
"""No counterfactual exists, proved; a limit was reached; a fault of ours; Ctrl-C."""

PICTURES = (".png", ".svg", ".pdf", ".jpg")

P = ParamSpec("P")


def guarded(command: Callable[P, int | None]) -> Callable[P, None]:
    """The command with its result as exit code, and every error as a message on stderr."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        raise typer.Exit(_code(lambda: command(*args, **kwargs)))

    return run


def _code(run: Callable[[], int | None]) -> int:
    try:
        return run() or 0
    except CfxcError as error:
        print(f"cfxc: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("cfxc: stopped", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever reads the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # nothing a user does may end here
        if os.environ.get("CFXC_DEBUG"):
            traceback.print_exc()
        print(
            f"cfxc: internal error: {type(error).__name__}: {error}\n"
            "this is a fault of cfxc; please report it (CFXC_DEBUG=1 shows where it happened)",
            file=sys.stderr,
        )
        return FAULT


def check_writable(path: Path | None) -> None:
    """Refuse an output file that cannot be made, before any work.

    Raises:
        InvalidInputError: its folder does not exist or cannot be written, or it is a folder.
    """
    if path is None:
        return
    folder = path.parent
    if not folder.is_dir():
        raise InvalidInputError(f"{path}: cannot write: no folder {folder}")
    if path.is_dir():
        raise InvalidInputError(f"{path}: cannot write: it is a folder")
    if not os.access(folder, os.W_OK):
        raise InvalidInputError(f"{path}: cannot write: no permission in {folder}")


def check_picture(path: Path | None, purpose: str) -> None:
    """Refuse a picture that cannot be drawn, before any work.

    Raises:
        InvalidInputError, MissingExtraError: no such kind; it cannot be written; no matplotlib.
    """
    if path is None:
        return
    if path.suffix.lower() not in PICTURES:
        raise InvalidInputError(f"{path}: a picture is {', '.join(PICTURES)}")
    check_writable(path)
    if find_spec("matplotlib") is None:
        raise MissingExtraError("plot", "matplotlib", purpose)


def deliver(text: str, path: Path | None) -> None:
    """Write to the file, whole or not at all; to stdout without one.

    Raises:
        InvalidInputError: the file cannot be written.
    """
    if path is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with written_whole(path) as file:
        file.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A new file of the same suffix, to be written; it takes the place of ``path`` at the end.

    Raises:
        InvalidInputError: the file cannot be written.
    """
    try:
        with _replacing(path) as new:
            yield new
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot write: {error.strerror or error}") from error


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    if path.exists() and not path.is_file():  # a device is written to, never replaced
        yield path
        return
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
        os.chmod(name, _mode(path))
        os.replace(name, path)
    except BaseException:  # Ctrl-C too must not leave the half-written file
        os.unlink(name)
        raise


def _mode(path: Path) -> int:
    """The permissions of the file that is replaced, or those of a new file."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
