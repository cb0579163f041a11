"""Files, and the values in them: JSON, numbers, labels.  What is too large is refused unread."""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Iterable
from fractions import Fraction as Q
from functools import lru_cache
from pathlib import Path
from typing import Any

BYTES, MEMORY = 2**26, 400_000_000  # of a file, unpacked; that its values may take, at most
DIGITS, BITS = 1000, 2**17  # of a numerator or denominator: in a file; that is computed
KEPT = 2**16  # values, terms, or parts of features kept at a time, or some times as many
DEPTH = 50  # of conditions within conditions
SECONDS, PER_MEGABYTE = 8.0, 20.0  # of time, if nothing else is asked for
ODD = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
NUMBER = re.compile(rf"-?[0-9]{{1,{DIGITS}}}(/[1-9][0-9]{{0,{DIGITS - 1}}})?", re.ASCII)
DOUBLE = re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}", re.ASCII)


class Rejected(Exception):
    """The certificate does not show what it claims; says where, and why."""


class Undecided(Rejected):
    """A limit of this checker was reached before a verdict; says which."""


def need(condition: object, why: str) -> None:
    """Reject unless a condition holds; without a verdict where it is one of ``limits:``."""
    if not condition:
        raise (Undecided if why.startswith("limits: ") else Rejected)(why)


class Clock:
    """A deadline of processor time, which every loop asks about."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds, self.end = seconds, time.process_time() + seconds

    def tick(self) -> None:
        if time.process_time() > self.end:
            more = f"give it --seconds {max(200, 10 * self.seconds):g}"
            raise Undecided(f"limits: it takes more than {self.seconds:g} seconds; {more}")


def members(value: Any, names: str, where: str) -> list[Any]:
    """The members of an object that has exactly these."""
    need(isinstance(value, dict), f"{where}: no object")
    odd = sorted(set(value) ^ set(names.split()))
    need(not odd, f"{where}: unknown or missing: {odd[:1]!a}")
    return [value[name] for name in names.split()]


def listed(value: Any, where: str) -> list[Any]:
    """A list, and nothing like one: the letters of a text are none."""
    if type(value) is not list:
        raise Rejected(f"{where}: no list")
    return value


@lru_cache(2**17)
def number(value: Any, is_double: bool = False) -> Q:
    """A rational as text: 7, -1/3, or a double in hexadecimal digits."""
    need(type(value) is str, "a number is not in quotes")
    if DOUBLE.fullmatch(value):
        return Q(float.fromhex(value))
    need(NUMBER.fullmatch(value), f"not a number, or too long: {value[:40]!a}")
    need(not is_double or Q(float(Q(value))) == Q(value), "a cut is no double")
    return Q(value)


def whole(value: Any, least: int = 0) -> int:
    """A whole number, at least this: the place of something in a list."""
    if type(value) is not int or not least <= value < 2**53:
        raise Rejected(f"a place is out of range: {ascii(value)[:40]}")
    return value


def key(label: Any) -> tuple[str, Any]:
    """A label by type and value: 1 is not true."""
    if isinstance(label, dict):
        return "float", number(*members(label, "float", "a label"))
    need(label is None or isinstance(label, str | bool | int), "a label of an unknown type")
    return type(label).__name__, label


def distinct(labels: Any, where: str) -> list[tuple[str, Any]]:
    """Labels by type and value, no two of one value: they would be printed alike."""
    keys = [key(label) for label in listed(labels, where)]
    need(len({value for _, value in keys}) == len(keys), f"{where}: two alike, such as 1 and true")
    return keys


def small(value: Q) -> Q:
    """A number that was computed, unless its digits outgrow all use."""
    if value.denominator.bit_length() > BITS or value.numerator.bit_length() > BITS:
        raise Undecided("limits: numbers grow too long")
    return value


def size(value: Q) -> int:
    """Bytes that a term of a sum takes, about."""
    return 256 + (value.numerator.bit_length() + value.denominator.bit_length()) // 7


def total(values: Iterable[Q]) -> Q:
    """A sum, unless its digits outgrow all use."""
    found = Q(0)
    for value in values:
        found = small(found + value)
    return found


def canonical(certificate: dict[str, Any]) -> bytes:
    """The bytes that are hashed."""
    kept = {name: value for name, value in certificate.items() if name != "hash"}
    return json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()


def parse(body: bytes) -> Any:
    """JSON of ASCII, without floats and members twice; ValueError, RecursionError if none."""
    sizes = zip((232, 88, 112), map(body.count, (b"{", b"[", b",")), strict=True)
    need(sum(s * n for s, n in sizes) + 3 * len(body) <= MEMORY, "limits: the values are too many")
    need(body.isascii(), "characters beyond ASCII are to be escaped")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        need(len({name for name, _ in pairs}) == len(pairs), "a member twice")
        return dict(pairs)

    text = body.decode("ascii")  # and not what JSON may be written in else
    return json.loads(text, object_pairs_hook=once, parse_float=number, parse_constant=number)


def read(path: Path) -> tuple[bytes, Clock]:
    """The bytes of a certificate's file, gzipped or not, and the time that its size may take."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
        body = stream.read(BYTES + 1)
    need(len(body) <= BYTES, "limits: the file is too large")
    return body, Clock(SECONDS + PER_MEGABYTE * len(body) / 1e6)
