"""What the process's environment says: ``CFXC_DEBUG``, ``CFXC_CHECK`` and ``CFXC_SKIP``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable


def debug(level: int, message: Callable[[], str]) -> None:
    """Write to stderr if ``CFXC_DEBUG`` is at least ``level``; the text is made on demand.

    1: passes and sizes; 2: also every solver call; 3: also the SMT-LIB text of each call.
    """
    chosen = os.environ.get("CFXC_DEBUG", "0")
    if chosen.isdigit() and int(chosen) >= level:
        print(f"cfxc: {message()}", file=sys.stderr)


def has_checks() -> bool:
    """Whether ``CFXC_CHECK`` asks that every program is verified after every pass."""
    return os.environ.get("CFXC_CHECK", "") not in ("", "0")


def skipped_passes() -> tuple[str, ...]:
    """The names in ``CFXC_SKIP=NAME,…``: passes to leave out, as the user wrote them."""
    return tuple(filter(None, os.environ.get("CFXC_SKIP", "").split(",")))
