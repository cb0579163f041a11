"""The command line once more, changed so that it works: the ``try:`` below a message."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

_arguments: list[str] = []

NEAREST = re.compile(
    r"(?P<wrong>'[^']*'|\"[^\"]*\")[^'\"\n]*\(nearest: (?P<right>'[^']*'|\"[^\"]*\")"
)
"""A misspelt name and the one that is meant, in a message."""
FILE = re.compile(r"^(?P<wrong>[^\n]+): cannot read [^\n]*\(nearest: '(?P<right>[^'\n]+)'\)")
"""The same of a file."""
MEANT = re.compile(r"'(?P<wrong>\w+)' is unknown; did you mean (?P<right>\w+)\?")
"""The same of a condition."""
LEVELS = re.compile(r"ordinal=\{'(?P<name>[^'\n]*)': \[(?P<levels>'[^\]\n…]*')\]\}")
"""A column whose categories are to be put in order."""
NUMBERED = re.compile(r"^(?P<file>.+): expected one row, found [1-9]")
"""A table where one row was to be named."""
TRUSTS = "--trust-pickle"


def begin(arguments: Sequence[str]) -> None:
    """Note the command line that is run."""
    _arguments[:] = arguments


def with_more(*more: str) -> list[str]:
    """The same command with more options."""
    return ["cfxc", *_arguments, *more]


def again(*more: str, changed: Mapping[str, str] | None = None) -> str:
    """The same command with more options, and some names in it changed: ``try: cfxc …``."""
    words = with_more(*more)
    for wrong, right in (changed or {}).items():
        words = [_replaced(word, wrong, right) for word in words]
    return f"try: {shlex.join(words)}"


def remedy(message: str) -> str:
    """The command that a message's hint amounts to; empty if it has one, or none is known."""
    if "\ntry: " in message or not _arguments:
        return ""
    if (found := FILE.search(message)) is not None:
        return again(changed={found["wrong"]: found["right"]})
    found = NEAREST.search(message)
    if found is not None and len(found["wrong"]) > 2:
        changed = {found["wrong"][1:-1]: found["right"][1:-1]}
        return line if (line := again(changed=changed)) != again() else ""
    if (found := MEANT.search(message)) is not None:
        return again(changed={found["wrong"]: found["right"]})
    if (found := LEVELS.search(message)) is not None:
        levels = ",".join(re.findall(r"'([^']*)'", found["levels"]))
        return again("--ordinal", f"{found['name']}={levels}")
    if TRUSTS in message and TRUSTS not in _arguments and "runs the code" in message:
        return again(TRUSTS)
    if (found := NUMBERED.search(message)) is not None:
        return again(changed={found["file"]: f"{found['file']}:0"})
    return ""


def _replaced(word: str, wrong: str, right: str) -> str:
    """A name in an argument, which may hold others too: ``a,b``, ``size=small``, a condition."""
    return re.sub(rf"(?<![\w.-]){re.escape(wrong)}(?![\w-])", lambda _: right, word)
