"""The command line once more, changed so that it works: the ``try:`` below a message."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ..suffixes import MODELS, TABLES

_arguments: list[str] = []
_options: list[str] = []

NEAREST = re.compile(
    r"(?P<wrong>'[^']*'|\"[^\"]*\")[^'\"\n]*\(nearest: (?P<right>'[^']*'|\"[^\"]*\")"
)
"""A misspelt name and the one that is meant, in a message."""
FILE = re.compile(r"^(?P<wrong>[^\n]+): cannot (be )?read\b[^\n]*\(nearest: '(?P<right>[^'\n]+)'\)")
"""The same of a file."""
MEANT = re.compile(r"'(?P<wrong>\w+)' is unknown; did you mean (?P<right>\w+)\?")
"""The same of a condition."""
LEVELS = re.compile(r"ordinal=\{'(?P<name>[^'\n]*)': \[(?P<levels>'[^\]\n…]*')\]\}")
"""A column whose categories are to be put in order."""
NUMBERED = re.compile(r"^(?P<file>.+): expected one row, found [1-9]")
"""A table where one row was to be named."""
TRUSTS = "--trust-pickle"
MODEL, SPACE, QUESTION, TABLE = "a model file", "a feature space", "a question", "a table"
GIVEN = {"--space": SPACE, "--question": QUESTION, "--factual": TABLE, "--rows": TABLE}
"""What the file of an option is to be."""
ARGUMENT = re.compile(r"\w+(?= (must be|lies|is a|is for) )|(TrustRegion|relax)(?=: )")
"""Whose value a message refuses."""
FLAGS = {
    "n_jobs": ("--jobs",), "random_state": ("--seed",), "n": ("-n", "--count", "--retrainings"),
    "TrustRegion": ("--trust-region",),
}  # fmt: skip
"""Flags that are not called as in Python."""
ADVICE = (
    (re.compile(r"\bcount=(\d+)"), r"--count \1"),
    (re.compile(r"ordinal=\{'([^'\n]*)': \[[^\]\n]*\]\}"), r"--ordinal '\1=first,second,…'"),
    (re.compile(r"kinds=\{'([^'\n]*)': 'categorical'\}"), r"--categorical '\1'"),
    (re.compile(r"\bshrinkage='?([\w.-]+)'?"), r"--shrinkage \1"),
    (re.compile(r"\bwith fields=\{…\}, or "), ""),
)
"""What a message advises in Python, and how that is said on a command line."""
MADE = ", a TOML file that cfxc new or cfxc space infer makes from a table"
ROW = re.compile(r":\d+$")
"""Of a table, as ``--factual`` names it."""
FIRST = {
    "new": (MODEL, TABLE), "infer": (TABLE,), "run": (MODEL,), "train": (MODEL,),
    "check": ("a certificate",),
    **dict.fromkeys(("batch", "compile", "explain", "plan", "regress", "serve"), (MODEL,)),
}  # fmt: skip
"""The same of the words that come first, by the command."""
ASKS = re.compile(r"^(# )?(target|distance|subject_to) = ", re.MULTILINE)
"""What a file of a question says, or has beside a mark of a comment."""


def begin(arguments: Sequence[str]) -> None:
    """Note the command line that is run."""
    _arguments[:], _options[:] = arguments, ()


def note_options(options: Iterable[str]) -> None:
    """Note the options that its command has."""
    _options[:] = options


def with_more(*more: str) -> list[str]:
    """The same command with more options."""
    return ["cfxc", *_arguments, *more]


def again(*more: str, changed: Mapping[str, str] | None = None) -> str:
    """The same command with more options, and some names in it changed: ``try: cfxc …``."""
    words = with_more(*more)
    for wrong, right in (changed or {}).items():
        words = [_replaced(word, wrong, right) for word in words]
    return f"try: {shlex.join(words)}"


def by_flag(message: str) -> str:
    """A message about an argument in Python, with its flag, and with advice for this line."""
    for python, ours in ADVICE:
        message = python.sub(ours, message)
    if (found := ARGUMENT.match(message)) is None:
        return message
    flags = FLAGS.get(found[0], (f"--{found[0].replace('_', '-')}",))
    given = [flag for flag in flags if any(_is_given(flag, word) for word in _arguments)]
    return given[0] + message[found.end() :] if given else message


def _is_given(flag: str, word: str) -> bool:
    """Whether a word of the command line is the flag, with its value or without."""
    short = not flag.startswith("--")
    return word.startswith(flag) if short else word.partition("=")[0] == flag


def remedy(message: str) -> str:
    """The command that a message's hint amounts to; empty if it has one, or none is known."""
    if "\ntry: " in message or not _arguments:
        return ""
    if (found := FILE.search(message)) is not None:
        return _misplaced() or again(changed={found["wrong"]: found["right"]})
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
    if "holds answers to another question" in message:
        return again("--overwrite")
    if "say how many, such as count=3" in message:
        return again("--count", "3")
    if (found := NUMBERED.search(message)) is not None:
        return again(changed={found["file"]: f"{found['file']}:0"})
    return _misplaced()


def _misplaced() -> str:
    """What a file looks like that stands where one of another kind belongs; whether two do."""
    wanted = dict(_places())
    odd = {
        place: looks
        for place, kind in wanted.items()
        if (looks := _looks(_arguments[place])) and looks != kind
    }
    for one, looks in odd.items():
        said = f"{_arguments[one]} looks like {looks}, and is given as {wanted[one]}"
        for other, back in odd.items():
            if (looks, back) == (wanted[other], wanted[one]):
                words = with_more()
                words[1 + one], words[1 + other] = words[1 + other], words[1 + one]
                row = next((r[0] for i in (one, other) if (r := ROW.search(_arguments[i]))), ":0")
                for place in (one, other):
                    words[place + 1] = ROW.sub("", words[place + 1])
                    if _arguments[place - 1] == "--factual":
                        words[place + 1] += row
                return f"{said}: swap it and {_arguments[other]}\ntry: {shlex.join(words)}"
        could = [name for name, kind in GIVEN.items() if kind == looks and name in _options]
        if options := " or ".join(name for name in could if name not in _arguments):
            return f"{said}; did you mean {options}?"
        return f"{said}; name {wanted[one]}{MADE if wanted[one] == SPACE else ''}"
    return ""


def _places() -> Iterator[tuple[int, str]]:
    """The places of files in the command line, and what each is to be."""
    start = next((i for i, word in enumerate(_arguments) if word in FIRST), len(_arguments))
    for place, kind in enumerate(FIRST.get("".join(_arguments[start : start + 1]), ()), start + 1):
        if place < len(_arguments) and not _arguments[place].startswith("-"):
            yield place, kind
    for place, word in enumerate(_arguments[:-1]):
        if word in GIVEN:
            yield place + 1, GIVEN[word]


def _looks(word: str) -> str:
    """What kind of file a word names, as far as its name or its text tells."""
    path = Path(ROW.sub("", word))
    suffix = path.suffix.lower()
    if suffix in TABLES:
        return TABLE
    if suffix in MODELS and suffix not in (".json", ".txt"):  # which may be anything
        return MODEL
    try:
        text = path.read_text("utf-8") if suffix == ".toml" else ""
    except (OSError, ValueError):
        return ""
    return SPACE if "[[feature]]" in text else QUESTION if ASKS.search(text) else ""


def _replaced(word: str, wrong: str, right: str) -> str:
    """A name in an argument, which may hold others too: ``a,b``, ``size=small``, a condition."""
    return re.sub(rf"(?<![\w.-]){re.escape(wrong)}(?![\w-])", lambda _: right, word)
