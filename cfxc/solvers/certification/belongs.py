"""Whether a certificate's program is the one that a model file compiles to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from ...certificates.auditing.inputs import WrongInput
from ...certificates.auditing.sampling import Differs, Sampled, compare
from ...certificates.checker import Rejected, Shown, Undecided, check, number
from ...errors import (
    CfxcError,
    InvalidInputError,
    ModelFileError,
    UnsupportedError,
    VerificationError,
)
from ...frontends.files import load_model
from ...frontends.predictor import DOUBLE, Predictor, Task, plain_item
from ...ir import Program
from ...question.query import Query, make_query
from ...space import FeatureSpace
from ..rounding import deployed_slack, multiplied_out
from .evidence import covered
from .writer import written_program, written_semantics, written_slack


def require_program_of(
    content: Mapping[str, Any], model: Any, *, shown: Shown | None = None,
    trust_pickle: bool = False, seed: int = 0, rows: Path | None = None,
    output: str | int | None = None, cut: float | None = None,
) -> Sampled:  # fmt: skip
    """Compile a model anew and compare: hash of its file, features, program, outcomes of rows.

    Args:
        model: A model file, a fitted model, or what ``cfxc.compile`` gave, which is taken as it is.
        shown: What the checker showed of it; it is checked again otherwise.
        seed: Of the rows that are drawn.
        rows: A CSV file of further rows.
        output, cut: As the model was compiled with (:func:`cfxc.compile`).

    Returns:
        On which rows both were run.

    Raises:
        VerificationError: the certificate belongs to another model.
        InvalidInputError: the rows cannot be read.
        Undecided: running the program on the rows took longer than the checker's clock has.
        ModelFileError, UnsupportedError: the file cannot be opened or compiled.
    """
    held, is_file = (content["model"] or {}).get("sha256"), isinstance(model, str | Path)
    if is_file and held is not None and held != file_hash(model):
        raise VerificationError(f"the certificate was made for another model file than {model}")
    try:
        space = FeatureSpace.from_toml(content["space"])
    except CfxcError as error:
        raise VerificationError(f"the certificate's feature space: {error}") from None
    if isinstance(getattr(model, "program", None), Program):
        program, predictor = model.program, model.predictor
    else:
        task: Task | None = "classifier" if "label" in content["question"]["target"] else None
        program, predictor = load_model(
            Path(model) if is_file else model, space, trust_pickle=trust_pickle, task=task,
            output=output, cut=cut,
        )  # fmt: skip
    query = _asked_again(content, space, program, predictor)
    _require_same(content, space, query, str(model) if is_file else "the model")
    try:
        shown = check(dict(content)) if shown is None else shown
        single = predictor.unit_roundoff > DOUBLE
        run = partial(compare, shown, content["space"], predictor.predict, seed, rows)
        try:
            return run(single=single)
        except Differs:
            if not (rounding := _rounding(query, predictor.unit_roundoff)):
                raise
            return run(single=single, rounding=rounding)
    except Undecided:
        raise
    except WrongInput as error:
        raise InvalidInputError(str(error)) from None
    except (Differs, Rejected) as error:
        raise VerificationError(f"the certificate's program: {error}") from None


def _asked_again(
    content: Mapping[str, Any], space: FeatureSpace, program: Program, predictor: Predictor
) -> Query:
    """The certificate's question, asked of a program; without its constraints."""
    target = content["question"]["target"]
    given = zip(space, content["question"]["factual"], strict=True)
    factual = {f.name: _value(value) if f.labels else _number(f, value) for f, value in given}
    required = (
        _value(target["label"])
        if "label" in target
        else tuple(None if e is None else number(e) for e in target.values())
    )
    had = plain_item(predictor.predict(space.decode(factual))[0])
    query = make_query(program, space, factual, target=required, before=had, may_hold=True)
    query = multiplied_out(query)
    if content["semantics"] == "real":
        return query
    unit = predictor.unit_roundoff
    return covered(replace(query, slack=deployed_slack(query, unit), unit=unit))


def _rounding(query: Query, unit: Fraction) -> Fraction:
    """What the model's own arithmetic may do to its scores; 0 if nothing is known of that.

    It is derived from the model, which was shown to compute the program that is stated, and from
    nothing in the certificate.
    """
    try:
        return written_slack(replace(query, slack=deployed_slack(query, unit), unit=unit))
    except UnsupportedError:
        return Fraction(0)


def _require_same(
    content: Mapping[str, Any], space: FeatureSpace, query: Query, model: str
) -> None:
    """Raise ``VerificationError`` unless a certificate states what is written of a query."""
    if content["semantics"] != written_semantics(query):
        raise VerificationError("the certificate's semantics is not the arithmetic of the model")
    features, made = written_program(query)
    stated = content["program"]
    known = {**stated, "made": stated["made"][: len(made["made"])]}  # constraints add to them
    names = [feature["name"] for feature in content["features"]]
    if names != list(space.names) or content["features"] != features:
        raise VerificationError("the certificate's features are not those of its feature space")
    if known != made:
        raise VerificationError(f"the certificate's program is not what {model} computes")
    if number(content["question"]["slack"]) < written_slack(query):
        raise VerificationError("the certificate allows less than the model rounds")


def file_hash(path: str | Path) -> str:
    """SHA-256 of a model file.

    Raises:
        ModelFileError: it cannot be read.
    """
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror}") from None


def _value(label: Any) -> Any:
    return float(number(label["float"])) if isinstance(label, dict) else label


def _number(feature: Any, value: str) -> Any:
    exact = number(value)
    return int(exact) if feature.kind != "real" and exact.denominator == 1 else exact
