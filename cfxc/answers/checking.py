"""Whether a certificate holds, and whether it is about a given model."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from math import inf
from os import PathLike
from os.path import exists
from pathlib import Path
from typing import Any

import pandas as pd

from ..certificates import Report, report
from ..certificates import export as _export
from ..certificates.auditing.inputs import WrongInput, require_model
from ..certificates.auditing.report import ANEW, SAME
from ..certificates.checker import Undecided
from ..certificates.verified import ACCEPTED, REJECTED, ask
from ..errors import DataTypeError, InvalidInputError, VerificationError
from ..frontends.predictor import plain_item
from ..question.checks import positive_number, whole_number
from ..space.names import names_arguments, unreadable
from ..space.tables import as_pandas
from ..writing import path_of

export = names_arguments(_export)
export.__module__ = __name__  # where it is found, also by pickle

LARGE, BITS = 400, 4000
"""Digits before or behind the point of a decimal, and bits of a fraction, that no cell has."""


@names_arguments
def check(
    certificate: Any,
    *,
    model: Any = None,
    rows: str | Path | None = None,
    seed: int | None = None,
    output: str | int | None = None,
    cut: float | None = None,
    trust_pickle: bool = False,
    policy: str | Path | None = None,
    factual: str | Path | Mapping[str, Any] | pd.DataFrame | pd.Series[Any] | None = None,
    hash: str | None = None,
    seconds: float | None = None,
    verified: bool = False,
) -> Report:
    """Check a certificate: that it holds, and if a model is given, that it is about this model.

    Args:
        certificate: A path, the values of its JSON, or what ``Result.certificate`` gives.
        model: A model file or a fitted model, compiled anew; or what ``cfxc.compile`` gave.  Its
            program must be the certificate's, and it is run beside it on some rows.
        rows: A CSV file of further rows to run both on.
        seed: Of the rows that are drawn; by default a random one.
        output, cut, trust_pickle: As the model was compiled with (:func:`cfxc.compile`).
        policy: A file of what a question must allow at least; see ``docs/how-to/certificates.md``.
        factual: The row that it is to be about: ``people.csv:11`` (counted from 0), ``row.json``;
            a table of one row, or its cells by column.
        hash: What its hash is to be, as a letter names it, or the first 16 digits or more.
        seconds: Of processor time that the check may take; by default what its size asks for.
        verified: Ask ``cfxc-verified`` too, a checker proved sound, which is to be on PATH.

    Returns:
        What was shown; ``ok`` says whether it holds, ``reason`` why not, ``undecided`` whether a
        limit was reached before a verdict.

    Raises:
        DataTypeError: the row is none.
        InvalidInputError: there is nothing to check: a file cannot be read, or is no certificate,
            no policy, no row; an option of the model without one; ``cfxc-verified`` is not there.
        ModelFileError, UnsupportedError: the model cannot be opened or compiled.
    """
    options = {"rows": rows, "seed": seed, "output": output, "cut": cut}
    if model is None and (odd := [name for name, value in options.items() if value is not None]):
        raise InvalidInputError(f"{odd[0]} has no effect without a model; give the model too")
    if hasattr(model, "program") and (
        odd := [one for one in ("output", "cut") if options[one] is not None]
    ):
        raise InvalidInputError(f"{odd[0]} has no effect on a compiled model; compile it so")
    _refuse_types(certificate, model, hash)
    certificate = _there(certificate, "the certificate")
    model = _there(model, "the model")
    policy = _there(policy, "the policy", always=True)
    if seed is not None:
        seed = whole_number(seed, "seed", 0)
    if rows is not None and not path_of(rows, "a CSV file of rows").is_file():
        said = unreadable(rows, "the rows", "no such file", "name a CSV file of rows")
        raise InvalidInputError(said)
    if seconds is not None:
        seconds = positive_number(seconds, "seconds")
    found = report(certificate, policy=policy, factual=_row(factual), hash=hash, seconds=seconds)
    if verified and found.ok:
        found = _verified(found, seconds)
    if model is None or not found.ok:
        return found
    from ..solvers.certification import require_program_of

    try:
        sampled = require_program_of(
            found.content, model, shown=found.shown, trust_pickle=trust_pickle,
            seed=secrets.randbits(32) if seed is None else seed,
            rows=None if rows is None else Path(rows), output=output, cut=cut,
        )  # fmt: skip
    except VerificationError as error:
        return replace(found, ok=False, reason=str(error), facts={}, shown=None)
    except Undecided as error:
        return replace(found, ok=False, reason=str(error), facts={}, undecided=True)
    named = "" if found.content["model"] else "the certificate names no model file; "
    made, verdict = ("", SAME) if hasattr(model, "program") else ("compiled anew, and ", ANEW)
    said = f"{named}{made}the same program; run beside it: {sampled.text}"
    return replace(found, facts={**found.facts, "run": said, "verdict": verdict})


def _verified(found: Report, seconds: float | None) -> Report:
    """What is left of a report once the verified checker was asked too."""
    line, code = ask(found.content, seconds)
    if code == ACCEPTED:
        return replace(found, facts={**found.facts, "verified": line})
    return replace(found, ok=False, reason=line, facts={}, undecided=code != REJECTED)


def _there(given: Any, what: str, *, always: bool = False) -> Any:
    """A file's path, where one is given or there ``always`` is to be one; else what was given.

    Raises:
        DataTypeError, InvalidInputError: it is no path; there is no such file.
    """
    if given is None or not (always or isinstance(given, str | PathLike)):
        return given
    path = path_of(given, what)
    if not exists(path):
        raise InvalidInputError(unreadable(path, what, "no such file", "name its file"))
    return path


def _refuse_types(certificate: Any, model: Any, hash: Any) -> None:
    """Refuse what can be none of these, before any work."""
    if not (hasattr(certificate, "content") or isinstance(certificate, str | PathLike | Mapping)):
        raise DataTypeError(
            "check takes a certificate: its file, the values of its JSON, or result.certificate; "
            f"not {type(certificate).__name__}"
        )
    if isinstance(model, pd.DataFrame | pd.Series):
        raise DataTypeError(f"model is a file or a fitted model, not {type(model).__name__}")
    if isinstance(model, str | PathLike):
        try:
            require_model(Path(model))
        except WrongInput as error:
            raise InvalidInputError(str(error)) from None
    if not isinstance(hash, str | None):
        raise DataTypeError(f"hash is a text of 16 digits or more, not {hash!r}")


def _row(factual: Any) -> str | dict[str, Any] | None:
    """What names a row, or its cells."""
    if factual is None:
        return None
    if isinstance(factual, str | PathLike):
        named = str(path_of(factual, "the row"))
        if not exists(named):
            _there(re.sub(r":\d+$", "", named), "the row")
        return named
    factual = as_pandas(factual)
    if isinstance(factual, pd.DataFrame):
        if len(factual) != 1:
            raise InvalidInputError(f"factual has {len(factual)} rows; give one, such as X[:1]")
        factual = {name: factual[name].iloc[0] for name in factual.columns}
    if not isinstance(factual, Mapping | pd.Series):
        raise DataTypeError(
            "factual is a row's name, such as people.csv:11, a table of one row, or its cells by "
            f"column; not {type(factual).__name__}"
        )
    cells = {str(name): _cell(name, cell) for name, cell in factual.items()}
    if len(cells) < len(factual):
        raise InvalidInputError("factual has a column twice; give each once")
    return cells


def _cell(name: Any, cell: Any) -> Any:
    """A cell as a plain value; ``None`` where it is missing."""
    if not (pd.api.types.is_scalar(cell) or getattr(cell, "ndim", None) == 0):
        kind = type(cell).__name__
        raise DataTypeError(f"factual: a cell is one value, and {str(name)!r} has a {kind}")
    cell = plain_item(cell)
    if cell is pd.NA or cell is pd.NaT or (isinstance(cell, Decimal) and cell.is_nan()):
        return None
    if isinstance(cell, Decimal):
        if not cell.is_finite() or (cell and abs(cell.adjusted()) > LARGE):
            return inf
        return Fraction(cell) if cell else 0
    if (
        isinstance(cell, int | Fraction)
        and sum(map(int.bit_length, cell.as_integer_ratio())) > BITS
    ):
        return inf
    return cell
