"""Certificates of answers, as :mod:`cfxc.certificates.check` reads them."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...certificates import check
from ...errors import UnsupportedError
from ...frontends.domain import Domain
from ...frontends.query import Query
from ...ir import ops
from ...ir.patterns import deciding, scaling
from ...writing import write_whole
from .core import Core, CoreReader, Sources, exact, plain_label, read_program
from .steps import proof_of
from .trees import trees_of

VERSION = "cfxc certificate 1"


class Certificate:
    """One answer with all that it takes to check it; see ``docs/certificates.md``."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        digest = hashlib.sha256(check.canonical(dict(content))).hexdigest()
        self.content: dict[str, Any] = {**content, "hash": digest}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; numbers are texts, so that they are exact."""
        return self.content

    def to_json(self) -> str:
        """The same as text, on one line."""
        return json.dumps(self.content, separators=(",", ":"))

    def save(self, path: str | Path) -> Path:
        """Write it, whole or not at all; a name in ``.gz`` is compressed.  Returns the path.

        Raises:
            InvalidInputError: the file cannot be written.
        """
        path, body = Path(path), self.to_json().encode()
        write_whole(path, gzip.compress(body, mtime=0) if path.suffix == ".gz" else body)
        return path


def certify(
    query: Query,
    *,
    status: str,
    point: Mapping[str, Any] | None,
    lower: Fraction,
    epsilon: float,
    proof: Any,
    made: Mapping[str, str],
    model: Mapping[str, str] | None = None,
) -> Certificate:
    """The certificate of an answer.

    Args:
        status: ``optimal``, ``feasible`` or ``infeasible``.
        point: The counterfactual as exact values.
        lower: What was proved to be a lower bound; of l2 its square.
        epsilon: The accuracy asked for.
        proof: What the engine kept of its search; ``None`` if nothing had to be shown.
        made: Names and versions of what made it.
        model: ``name`` and ``sha256`` of the model file, if there is one.

    Raises:
        UnsupportedError: the program, the distance or the proof cannot be written down.
    """
    norms = query.distance.norms
    if norms is None:
        raise UnsupportedError("a certificate needs a distance made of l0, l1, l2 and linf")
    sources, units, labels, forms = read_program(query)
    constraints = []
    for text, program in (*query.constraints, *(("another answer", p) for p in query.excluded)):
        reader = CoreReader(program, query, sources, units)
        constraints.append((text, reader.truth(program.output("holds"))))
        if _reads_trees(_truth(constraints[-1][1])):
            raise UnsupportedError(f"a certificate cannot hold a condition on trees: {text}")
    content: dict[str, Any] = {
        "version": VERSION,
        "made": dict(made),
        "semantics": "float" if query.slack else "real",
        "claim": {},
        "model": None if model is None else dict(model),
        "space": query.space.to_toml(),
        "features": [_feature(domain) for domain in query.domains],
        "program": _program(query, sources, labels, forms),
        "question": {
            "factual": written_point(query, query.factual),
            "target": _target(query),
            "slack": exact(written_slack(query)),
            "norms": {
                name: exact(n) for name, n in zip(("l0", "l1", "linf", "l2"), norms, strict=True)
            },
            "constraints": [{"text": text, "holds": _truth(truth)} for text, truth in constraints],
        },
        "witness": None if point is None else written_point(query, point),
        "proof": {"radius": "0", "lemmas": [], "nodes": [["distance"]]},
    }  # fmt: skip
    bound = Fraction(0)
    if lower > 0 or status == "infeasible":
        given = content["features"], content["program"], content["question"]
        content["proof"], bound = proof_of(proof, given, sources)
    distance = None if point is None else query.distance_to(point)
    bound = min(bound, max(lower, Fraction(0)), *([] if distance is None else [distance]))
    content["claim"] = {
        "status": _status(query, status, distance, bound, epsilon),
        "distance": None if distance is None else exact(distance),
        "lower_bound": exact(bound),
        "epsilon": exact(Fraction(epsilon)),
    }
    return Certificate(content)


def _reads_trees(truth: Any) -> bool:
    """Whether a condition, as written, is one on the sum of trees; no range is known of these."""
    kind, *parts = truth
    if kind in ("ge", "gt"):
        return any(source[0] == "tree" for source, _ in parts[0])
    return any(_reads_trees(part) for part in parts)


def written_program(query: Query) -> tuple[list[Any], dict[str, Any]]:
    """Features and program of a query, as its certificate holds them."""
    sources, _, labels, forms = read_program(query)
    features = [_feature(domain) for domain in query.domains]
    return features, _program(query, sources, labels, forms)


def written_slack(query: Query) -> Fraction:
    """The slack of a query in the scale of the program's outputs.

    Raises:
        UnsupportedError: the query compares what is squashed, and the certificate what it is of.
    """
    if not query.slack or query.target.is_range:
        return query.slack
    definitions = {statement.name: statement.op for statement in query.program.lets()}
    decision = deciding(query.program)
    scores = None if decision is None else decision.x
    if not isinstance(scores, str) or isinstance(
        definitions.get(scores), ops.Softmax | ops.Sigmoid
    ):
        raise UnsupportedError("a certificate cannot hold the slack of squashed scores")
    is_scaled = isinstance(decision, ops.Argmax)
    return query.slack * (scaling(scores, definitions)[1] if is_scaled else 1)


def _program(
    query: Query, sources: Sources, labels: list[Any] | None, forms: list[Core]
) -> dict[str, Any]:
    ensembles = sources.ensembles.values()
    return {
        "made": [[kind, _form(form)] for kind, form in sources.made],
        "trees": [trees_of(op, splits, query) for op, splits in ensembles],
        "labels": None if labels is None else [plain_label(label) for label in labels],
        "outputs": [_form(form) for form in forms],
    }


def _status(
    query: Query, status: str, distance: Fraction | None, bound: Fraction, epsilon: float
) -> str:
    """What the bound that is written down shows."""
    if status == "optimal" and distance is not None:
        goal = query.distance.below(distance, Fraction(epsilon))
        return "optimal" if goal <= bound else "feasible"
    return status


def _form(form: Core) -> list[Any]:
    one = [[["one", 0], exact(form.constant)]] if form.constant else []
    return [*one, *([list(s), exact(f)] for s, f in form.terms.items())]


def _truth(truth: list[Any]) -> list[Any]:
    kind, *parts = truth
    return [kind, *(_form(part) if isinstance(part, Core) else _truth(part) for part in parts)]


def _target(query: Query) -> dict[str, Any]:
    target = query.target
    if not target.is_range:
        return {"label": plain_label(target.label)}
    ends = {"lower": target.lower, "upper": target.upper}
    return {name: None if end is None else exact(end) for name, end in ends.items()}


def written_point(query: Query, values: Mapping[str, Any]) -> list[Any]:
    """A point as certificates hold it."""
    return [
        plain_label(values[d.name]) if d.is_symbolic else exact(values[d.name])
        for d in query.domains
    ]


def _feature(domain: Domain) -> dict[str, Any]:
    feature = domain.feature
    low, high, step, width = None, None, None, 0
    if not feature.is_symbolic:
        low, high = map(exact, feature.bounds)
        step = None if domain.step is None else exact(domain.step)
        width = feature.storage.itemsize if feature.storage.kind == "f" else 0
        width = width or (8 if feature.kind == "real" else 0)
    return {
        "name": feature.name,
        "kind": feature.kind,
        "labels": [plain_label(label) for label in feature.labels],
        "lower": low,
        "upper": high,
        "step": step,
        "float": width,
        "weight": exact(feature.weight),
        "action": feature.action,
    }


__all__ = ["Certificate", "certify", "written_point", "written_program", "written_slack"]
