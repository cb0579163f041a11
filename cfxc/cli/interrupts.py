"""Ctrl-C while the command line runs, also where it breaks off the imports of a library.

Compiled modules turn an interrupt into errors of their own (``ImportError``, ``SystemError``), or
print it and go on; so it is noted here that one came.  Searches take note of it themselves
(:func:`cfxc.stopping.listening`), and end with the best answer that they have.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..stopping import may_wait

INTERRUPTED = 130
"""Exit code after Ctrl-C."""

_came = False


def came() -> bool:
    """Whether Ctrl-C was pressed since the command began."""
    return _came


@contextmanager
def heard() -> Iterator[None]:
    """Note every Ctrl-C inside, and raise ``KeyboardInterrupt`` as always.

    Left alone where something else handles the signal, or ignores it (``nohup``), and outside of
    the main thread.
    """
    global _came
    _came = False
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    hook = sys.unraisablehook
    try:
        signal.signal(signal.SIGINT, _note)
    except ValueError:  # not the main thread
        yield
        return
    sys.unraisablehook = lambda args: None if args.exc_type is KeyboardInterrupt else hook(args)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = hook


@may_wait
def _note(number: int, frame: Any) -> None:
    global _came
    _came = True
    raise KeyboardInterrupt
