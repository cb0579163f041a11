"""The ``cfxc`` command."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

from .interrupts import INTERRUPTED, came, heard

COLLECTED = (50_000, 20, 20)
"""Of new objects, how many there are before garbage is looked for: imports make none."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Ctrl-C is heard from the first import on: whatever it breaks off, the exit code is 130.
    """
    gc.set_threshold(*COLLECTED)
    with heard():
        try:
            from .app import run

            return run(arguments)
        except (Exception, KeyboardInterrupt) as error:
            if not came() and not isinstance(error, KeyboardInterrupt):
                raise
            print("cfxc: stopped", file=sys.stderr)
            return INTERRUPTED


__all__ = ["main"]
