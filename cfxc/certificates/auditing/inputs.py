"""What an auditor hands to the checker: each file is what it should be, or a message says why not.

Wrong input says nothing about a certificate, so it is never a rejection.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ..checker import VERSION, Clock, Rejected, parse, read

PLACES = {
    "program": "the program", "layers": "the program", "smooth": "the program",
    "question": "the question", "region": "the trust region", "rules": "the proof",
    "claim": "the certificate", "slack": "the slack",
}  # fmt: skip
ALIKE = 0.85  # so that names with suffixes of other kinds are not
REMEDY = "name the file that was handed to you"
TABLES = {".csv", ".parquet", ".pq", ".xlsx"}  # suffixes that no model has
EXPORTED = (".smt2", ".vipr", ".cpc", ".manifest.json")
MARK = VERSION.rstrip("0123456789")  # what certificates of every version say that they are


class WrongInput(Exception):
    """What was handed in cannot be used; says which, why, and what it should be."""


def certificate(path: Path) -> tuple[Any, Clock]:
    """The values of a certificate's file, gzipped or not, and the time that it may take.

    Raises:
        WrongInput: it cannot be read, or holds no certificate that this checker knows.
        Rejected: it says that it is one, and is not well-formed.
    """
    try:
        body, clock = read(path)
    except IsADirectoryError:
        raise WrongInput(f"{path}: a folder; name one certificate in it") from None
    except OSError as error:
        raise _unread(path, error) from None
    except (EOFError, zlib.error) as error:
        raise WrongInput(f"{path}: cannot be read: no gzip file: {error}") from None
    if body.startswith(b"\x1f\x8b"):
        raise _none(path, "it is compressed; name it .json.gz")
    if not body.isascii():
        if b"{" not in body[:4]:
            raise _none(path, f"no JSON: it begins with {body[:8].decode('latin-1')!a}")
        raise _none(path, "it holds other bytes than ASCII; take the file as it was written")
    try:
        content = parse(body)
    except Rejected as error:
        if MARK.encode() in body:
            raise
        raise _none(path, str(error)) from None
    except (ValueError, RecursionError) as error:
        raise _none(path, f"no JSON: {str(error)[:100]}") from None
    version = content.get("version") if isinstance(content, dict) else None
    if type(version) is not str or not version.startswith(MARK):
        raise _none(path, f"it has no version {VERSION!a}")
    if version != VERSION:
        raise WrongInput(f"{path}: its version is {version[:40]!a}; this checker reads {VERSION!a}")
    return content, clock


def _unread(path: Path, error: OSError) -> WrongInput:
    """The message about a file that cannot be read: which is nearest, where there is none."""
    beside = list[str]()
    if isinstance(error, FileNotFoundError):
        with suppress(OSError):
            beside = [one.name for one in path.parent.iterdir()]
    longer = [name for name in beside if name.startswith(f"{path.name}.")]  # .gz, left out
    close = longer or get_close_matches(path.name, sorted(beside), 1, ALIKE)
    near = f" (nearest: {str(path.with_name(close[0]))!r})" if close else ""
    return WrongInput(f"{path}: cannot be read: {error.strerror or error}{near}; {REMEDY}")


def _none(path: Path, why: str) -> WrongInput:
    if path.name.lower().endswith(EXPORTED):
        why = "it is one of the files that cfxc export makes of one; name the certificate itself"
    return WrongInput(f"{path}: this is no cfxc certificate: {why}")


def text_of(path: Path) -> str:
    """A text in UTF-8, with or without a mark at its beginning.

    Raises:
        WrongInput: it cannot be read.
    """
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise _unread(path, error) from None
    except UnicodeDecodeError:
        raise WrongInput(f"{path}: cannot be read: not UTF-8 text; {REMEDY}, in UTF-8") from None


def require_model(path: Path) -> None:
    """Raises ``WrongInput`` for what is no file of a model."""
    kind = "a table" if path.suffix.lower() in TABLES else ""
    with suppress(OSError, EOFError, ValueError, zlib.error, Rejected):
        kind = kind or ("a certificate" if MARK.encode() in read(path)[0] else "")
    if kind:
        raise WrongInput(f"{path}: {kind} is no model; name the model's file")


def require_file(path: Path) -> None:
    """Raises ``WrongInput`` if a file cannot be read."""
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise _unread(path, error) from None


def reason_of(error: Rejected) -> str:
    """Why a certificate was rejected; of one that is malformed, in which part."""
    cause, found = error.__context__, ""
    trace = None if cause is None else cause.__traceback__
    while trace is not None:
        place = PLACES.get(trace.tb_frame.f_globals["__name__"].rpartition(".")[2])
        found, trace = f", in {place}" if place else found, trace.tb_next
    return f"{error}{found if str(error).startswith('malformed: ') else ''}"
