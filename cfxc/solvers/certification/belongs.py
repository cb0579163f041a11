"""Whether a certificate's program is the one that a model file compiles to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...certificates import check
from ...errors import CfxcError, ModelFileError, VerificationError
from ...frontends.domain import Domain
from ...frontends.files import load_model
from ...frontends.predictor import Predictor
from ...frontends.query import Query, make_query
from ...frontends.space import FeatureSpace
from ..rounding import deployed_slack
from .core import exact, plain_label
from .writer import written_point, written_program, written_slack

ROWS = 200  # on which the model is run
ROOM = Fraction(1, 10**5)  # of the scores: less may be rounding, in single floats too


def require_program_of(
    content: Mapping[str, Any], model: str | Path, *, trust_pickle: bool = False
) -> None:
    """Compile a model file anew and compare: hash, features, program, outcomes of some rows.

    Raises:
        VerificationError: the certificate belongs to another model.
        ModelFileError, UnsupportedError: the file cannot be opened or compiled.
    """
    held = (content["model"] or {}).get("sha256")
    if held is not None and held != file_hash(model):
        raise VerificationError(f"the certificate was made for another model file than {model}")
    try:
        space = FeatureSpace.from_toml(content["space"])
    except CfxcError as error:
        raise VerificationError(f"the certificate's feature space: {error}") from None
    program, predictor = load_model(Path(model), space, trust_pickle=trust_pickle)
    names, target = [feature.name for feature in space], content["question"]["target"]
    given = zip(space, content["question"]["factual"], strict=True)
    factual = {f.name: _value(value) if f.labels else _number(f, value) for f, value in given}
    wanted = (
        _value(target["label"])
        if "label" in target
        else tuple(None if e is None else check.number(e) for e in target.values())
    )
    query = make_query(program, space, factual, target=wanted)
    if content["semantics"] == "float":
        query = replace(query, slack=deployed_slack(query, predictor.unit_roundoff))
    features, made = written_program(query)
    stated = content["program"]
    known = {**stated, "made": stated["made"][: len(made["made"])]}  # constraints add to them
    if [f["name"] for f in content["features"]] != names or content["features"] != features:
        raise VerificationError("the certificate's features are not those of its feature space")
    if known != made:
        raise VerificationError(f"the certificate's program is not what {model} computes")
    if content["question"]["slack"] != exact(written_slack(query)):
        raise VerificationError("the certificate's slack is not what the model's rounding may do")
    require_same_outcomes(content, query, predictor)


def require_same_outcomes(content: Mapping[str, Any], query: Query, predictor: Predictor) -> None:
    """Run the model and the certificate's program on the witness and on rows drawn at random.

    Raises:
        VerificationError: they differ by more than rounding.
    """
    asked = check.Question(content["features"], content["program"], content["question"])
    rng = np.random.default_rng(0)
    points = [[_any_of(domain, rng) for domain in query.domains] for _ in range(ROWS)]
    if content["witness"] is not None:
        given = zip(query.space, content["witness"], strict=True)
        points.append([_value(v) if f.labels else _number(f, v) for f, v in given])
    named = [dict(zip(query.space.names, point, strict=True)) for point in points]
    rows = pd.concat([query.space.decode(point) for point in named], ignore_index=True)
    for point, outcome in zip(named, predictor.predict(rows).tolist(), strict=True):
        if not _says(asked, asked.point(written_point(query, point)), outcome):
            raise VerificationError(
                f"the model says {outcome!r} of a row of which the certificate's program does not"
            )


def _any_of(domain: Domain, rng: np.random.Generator) -> Any:
    """An admissible value of a feature."""
    if domain.is_symbolic:
        return domain.allowed[int(rng.integers(len(domain.allowed)))]
    low, high = domain.lower, domain.upper
    value = domain.floor(low + (high - low) * Fraction(float(rng.random())))
    value = domain.ceil(low) if value is None else value
    return int(value) if value is not None and domain.sort.kind == "int" else value


def _says(asked: check.Question, point: list[Any], outcome: Any) -> bool:
    """Whether the certificate's program has an outcome too, but for rounding."""
    program = asked.program
    scores = [program.at(form, point) for form in program.outputs]
    room = ROOM * max([Fraction(1), *map(abs, scores)])
    if program.labels is None:
        return bool(abs(scores[0] - Fraction(outcome)) <= room)
    label = check.key(plain_label(outcome))
    return label in program.labels and max(scores) - scores[program.labels.index(label)] <= room


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
    return float(check.number(label["float"])) if isinstance(label, dict) else label


def _number(feature: Any, value: str) -> Any:
    number = check.number(value)
    return int(number) if feature.kind != "real" and number.denominator == 1 else Fraction(number)


__all__ = ["file_hash", "require_program_of"]
