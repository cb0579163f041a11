"""What a letter says that no answer knows: who writes to whom, and in which words."""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import DataTypeError, InvalidInputError
from ...space.names import suggestion, unreadable

FOLDER = Path(__file__).parent / "templates"
ROLES = ("automated", "assisted")
"""Of a system in a decision: nobody else decided, or a person did with its output at hand."""
WORDING = "wording"
"""The table of words for features: ``[wording.NAME]`` with label, unit, format and values."""
OUTCOMES = "outcomes"
"""The table of words for outcomes: ``label = "word"``."""
REACHED = re.compile(r"[^\s@]+@[^\s@]+\.\w|https?://\S|www\.\S|\w\.[a-z]{2,}\b|\d(?:\W{0,3}\d){5,}")
"""An e-mail address, a URL or a telephone number, anywhere in a text."""
ENOUGH = 12
"""Characters of a name or address that says whom to ask."""
GIVEN = "fields"
"""What messages call fields that come from no file."""
COMMON = {
    "recipient": "name and address, in lines",
    "reference": "of the case",
    "date": "of the letter; today if none is given",
    "certificate_url": "where the certificate can be had",
    "signature": "who signs, in lines",
}
"""Fields that every template has, and none needs."""


@dataclass(frozen=True)
class Template:
    """A layout and its own fields, by name, with what they are."""

    file: str
    needs: Mapping[str, str]
    takes: Mapping[str, str]


TEMPLATES = {
    "plain": Template(
        "plain.html",
        {},
        {
            "sender": "name and address, in lines",
            "decision": "what was decided, as a sentence",
            "contact": "whom to ask",
        },
    ),
    "adverse-action": Template(
        "adverse_action.html",
        {
            "creditor": "name and address, in lines",
            "action": "the action taken, as a sentence",
            "agency": "name and address of the federal agency, in lines (Regulation B, appendix A)",
        },
        {
            "contact": "name, address and telephone number of who gives the reasons",
            "notices": "other notices, such as of the Fair Credit Reporting Act, in paragraphs",
        },
    ),
    "european": Template(
        "european.html",
        {
            "controller": "name and address, in lines",
            "contact": "whom to ask for a person's review or to contest the decision",
            "role": "of the system: automated or assisted",
        },
        {
            "decision": "what was decided, as a sentence",
            "system": "what the system is called",
            "officer": "how to reach the data protection officer",
            "authority": "the supervisory authority, for complaints",
        },
    ),
}


@dataclass(frozen=True)
class Fields:
    """The fields of one letter: texts, and words for features and outcomes."""

    texts: Mapping[str, str]
    wording: Mapping[str, Mapping[str, Any]]
    outcomes: Mapping[str, str]


def read_fields(given: Mapping[str, Any] | str | Path | None) -> tuple[dict[str, Any], str]:
    """The fields of a mapping or of a TOML file, as they are, and what messages call them.

    Raises:
        InvalidInputError, DataTypeError: no such file, no TOML, no mapping.
    """
    if given is None or isinstance(given, Mapping):
        return dict(given or {}), GIVEN
    if not isinstance(given, str | Path):
        raise DataTypeError(f"fields are a mapping, or the path of a TOML file, not {given!r}")
    try:
        return tomllib.loads(Path(given).read_text("utf-8")), str(given)
    except (OSError, ValueError) as error:
        said = unreadable(given, "the letter's fields", error, "name a TOML file")
        raise InvalidInputError(said) from error


def checked(given: dict[str, Any], where: str, template: str | None) -> Fields:
    """Fields as a template has them; ``None`` for one of the user's own, which has any.

    Raises:
        InvalidInputError, DataTypeError: a field that the template needs and is not given; one that
            it does not have; one of the wrong kind.
    """
    given = dict(given)
    wording, outcomes = (_table(given.pop(name, {}), f"{where}: {name}")
                         for name in (WORDING, OUTCOMES))  # fmt: skip
    texts = {name: _text(value, f"{where}: {name}") for name, value in given.items()}
    if template is not None:
        _refuse_odd(texts, where, template)
    words = {str(n): _table(one, f"{where}: wording.{n}") for n, one in wording.items()}
    return Fields(
        texts, words, {str(n): _text(one, f"{where}: outcomes.{n}") for n, one in outcomes.items()}
    )


def _refuse_odd(texts: Mapping[str, str], where: str, template: str) -> None:
    needs, takes = TEMPLATES[template].needs, TEMPLATES[template].takes
    known = (*needs, *takes, *COMMON)
    for name in texts:
        if name not in known:
            raise InvalidInputError(
                f"{where}: a letter of template {template!r} has no field {name!r}"
                f"{suggestion(name, [*known, WORDING, OUTCOMES])}"
            )
    missing = [name for name in needs if not texts.get(name, "").strip()]
    if missing:
        listed = "".join(f"\n  - {name}: {needs[name]}" for name in missing)
        how = "\ngive them with fields={…}, or in a TOML file (--fields)" if where == GIVEN else ""
        raise InvalidInputError(
            f"{where}: a letter of template {template!r} needs these fields:{listed}{how}"
        )
    if "role" in needs and texts["role"] not in ROLES:
        raise InvalidInputError(f"{where}: role is automated or assisted, not {texts['role']!r}")
    if template == "european":
        _refuse_unreachable(texts["contact"].strip(), where)


def _refuse_unreachable(contact: str, where: str) -> None:
    if len(contact) < ENOUGH and not REACHED.search(contact):
        raise InvalidInputError(
            f"{where}: contact {contact!r} does not say how to reach anybody; give an e-mail "
            f"address, a telephone number, a URL, or a name and address ({ENOUGH} characters "
            "or more)"
        )


def _table(given: Any, where: str) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise DataTypeError(f"{where} is a table of words by name, not {given!r}")
    return dict(given)


def _text(given: Any, where: str) -> str:
    """A text; of a list its lines, and of a day its ISO form."""
    if isinstance(given, list | tuple) and all(isinstance(line, str) for line in given):
        return "\n".join(given)
    if isinstance(given, datetime.date):
        return given.isoformat()[:10]
    if not isinstance(given, str):
        raise DataTypeError(f"{where} is a text, or a list of lines, not {given!r}")
    return given


def day_of(fields: Fields, where: str) -> datetime.date:
    """The letter's date.

    Raises:
        InvalidInputError: the field is no date.
    """
    given = fields.texts.get("date")
    if given is None:
        return datetime.date.today()
    try:
        return datetime.date.fromisoformat(given)
    except ValueError as error:
        raise InvalidInputError(f"{where}: date {given!r} is none; write 2026-11-25") from error
