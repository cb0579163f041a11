"""Certificates of answers, as :mod:`cfxc.certificates.check` reads them."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...certificates.auditing.report import exact as exact_text
from ...certificates.checker import canonical, number
from ...compiler.linear_reader import Form
from ...errors import UnsupportedError
from ...ir import Program, ops
from ...ir.interval import ceil_float
from ...ir.linear import ONE, ZERO, LinearForm
from ...ir.patterns import deciding
from ...markup import card, changes, text
from ...question.domain import Domain
from ...question.query import Query
from ...question.target import score_scale, target_program
from ...space import FeatureSpace
from ...space.names import names_arguments
from ...stopping import left
from ...writing import path_of, write_whole
from .core import CoreReader, Sources, exact, plain_label, read_program, trees_of
from .products import Products
from .prover import unproved
from .region import written_inside, written_point, written_region
from .steps import proof_of

VERSION = "cfxc certificate 1"
DOUBLE = Fraction(1, 2**53)
SECONDS = 60.0
"""What a proof may take which the search did not keep, unless the time is up before."""


class Certificate:
    """One answer with all that it takes to check it; see ``docs/how-to/certificates.md``."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        digest = hashlib.sha256(canonical(dict(content))).hexdigest()
        self.content: dict[str, Any] = {**content, "hash": digest}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; numbers are texts, so that they are exact."""
        return self.content

    def __repr__(self) -> str:
        claim = self.content["claim"]
        far = claim["distance"]
        found = "no counterfactual" if far is None else f"distance {exact_text(number(far))}"
        squared = " squared" * (number(self.content["question"]["norms"]["l2"]) != 0)
        return (
            f"Certificate({claim['status']}: {found}, proved lower bound "
            f"{exact_text(number(claim['lower_bound']))}{squared}; "
            f"{len(self.content['proof']['nodes']):,} nodes, sha256 {self.content['hash'][:12]}…)"
        )

    def _repr_html_(self) -> str:
        names = [feature["name"] for feature in self.content["features"]]
        own, point = self.content["question"]["factual"], self.content["witness"]
        before, after = (
            [_text(*each) for each in zip(row, own, self.content["features"], strict=True)]
            for row in (own, own if point is None else point)
        )
        rows = [] if point is None else [after]
        return card(repr(self), changes(names, before, rows, ["counterfactual"], text(HOLDS)))

    def to_json(self) -> str:
        """The same as text, on one line."""
        return json.dumps(self.content, separators=(",", ":"))

    @names_arguments
    def save(self, path: str | Path) -> Path:
        """Write it, whole or not at all; a name in ``.gz`` is compressed.  Returns the path.

        Raises:
            InvalidInputError: the file cannot be written.
        """
        path, body = path_of(path), self.to_json().encode()
        write_whole(path, gzip.compress(body, mtime=0) if path.suffix == ".gz" else body)
        return path


HOLDS = "cfxc.check(certificate) checks it again; certificate.save(path) keeps it for others."


def _text(value: Any, factual: Any, feature: Mapping[str, Any]) -> str:
    """A written value as people write it."""
    if feature["labels"]:
        return "missing" if value is None else str(value)
    is_missing = feature.get("missing") and value == factual
    return "missing" if is_missing else exact_text(number(value))


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
    target, scales, constraints = _target(query, sources, units, labels, forms)
    beside = len(constraints)
    for program in (*(each.program for each in query.constraints), *query.excluded):
        reader = CoreReader(program, query, sources, units)
        constraints.append(_truth(reader.truth(program.output("holds"))))
    content: dict[str, Any] = {
        "version": VERSION,
        "made": dict(made),
        "semantics": written_semantics(query),
        "claim": {},
        "model": None if model is None else dict(model),
        "space": _space(query).to_toml(),
        "features": [_feature(domain) for domain in query.domains],
        "program": _program(query, sources, labels, forms),
        "question": {
            "factual": written_point(query, query.factual),
            "target": target,
            "slack": exact(written_slack(query)),
            "norms": {
                name: exact(n) for name, n in zip(("l0", "l1", "linf", "l2"), norms, strict=True)
            },
            "constraints": constraints,
            **written_region(query),
        },
        "witness": None if point is None else written_point(query, point),
    }  # fmt: skip
    given, bound = (content["features"], content["program"], content["question"]), Fraction(0)
    content["proof"] = {**unproved(given), "nodes": [["distance"]]}
    if lower > 0 or status == "infeasible":
        content["proof"] = proof_of(proof, given, scales, min(SECONDS, left()), beside)
        bound = number(content["proof"]["radius"])
    if query.hulls and point is not None:
        content["proof"]["inside"] = written_inside(query, point)
    distance = None if point is None else query.distance_to(point)
    bound = min(bound, max(lower, Fraction(0)), *([] if distance is None else [distance]))
    content["claim"] = {
        "status": _status(query, status, distance, bound, Fraction(epsilon)),
        "distance": None if distance is None else exact(distance),
        "lower_bound": exact(bound),
        "epsilon": exact(Fraction(epsilon)),
    }
    return Certificate(content)


def _space(query: Query) -> FeatureSpace:
    """The space as the query has it, without words for readers: no proof speaks of these."""
    return replace(query.space, features=tuple(d.feature for d in query.domains)).unworded


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
    decision = deciding(query.program)
    scores = None if decision is None else decision.x
    if not isinstance(scores, str) or isinstance(
        query.program.definition(scores), ops.Softmax | ops.Sigmoid
    ):
        raise UnsupportedError("a certificate cannot hold the slack of squashed scores")
    return query.slack * score_scale(query.program, query.target)


def _program(
    query: Query, sources: Sources, labels: list[Any] | None, forms: list[Form]
) -> dict[str, Any]:
    ensembles = sources.ensembles.values()
    return {
        "made": [
            [kind, *form] if kind == "product" else [kind, _form(form)]
            for kind, form in sources.made
        ],
        "trees": [trees_of(ensemble, query) for ensemble in ensembles],
        "labels": None if labels is None else [plain_label(label) for label in labels],
        "outputs": [_form(form) for form in forms],
    }


def _status(
    query: Query, status: str, distance: Fraction | None, bound: Fraction, epsilon: Fraction
) -> str:
    """What the bound that is written down shows."""
    if status == "optimal" and distance is not None:
        norms = query.distance.norms
        power = 2 if norms is not None and norms.l2 == 1 else 1
        return "optimal" if bound >= distance * (1 - epsilon) ** power else "feasible"
    return status


def _form(form: Form) -> list[Any]:
    one = [[["one", 0], exact(form.constant)]] if form.constant else []
    return [*one, *([list(s), exact(f)] for s, f in form.terms.items())]


def _truth(truth: list[Any]) -> list[Any]:
    kind, *parts = truth
    return [
        kind,
        *(_form(part) if isinstance(part, LinearForm) else _truth(part) for part in parts),
    ]


def written_semantics(query: Query) -> str:
    """In what arithmetic the bound holds."""
    if not query.slack:
        return "real"
    return "float32" if query.unit > DOUBLE else "float"


def _target(
    query: Query, sources: Sources, units: Products, labels: list[Any] | None, forms: list[Form]
) -> tuple[dict[str, Any], list[Fraction], list[Any]]:
    """The target over the outputs; by how much the searches' requirements are larger; and a
    probability as a constraint, where it is neither an output nor known from a lead.
    """
    target = query.target
    if target.is_range:
        ends = {"lower": target.lower, "upper": target.upper}
        return {name: None if end is None else exact(end) for name, end in ends.items()}, [ONE], []
    label, scales = plain_label(target.label), [1 / score_scale(query.program, target)]
    if target.is_plain:
        return {"label": label}, scales, []
    margin, least, beside = target.margin, None, list[Any]()
    if target.chance is not None:
        reader = CoreReader(_likely(query), query, sources, units)
        place = [plain_label(each) for each in labels or ()].index(label)  # in the order of forms
        truth = reader.truth(reader.program.output("in_target"))
        while truth[0] == "and":
            truth = truth[-1]
        found = _chance(truth, place, forms)
        if found is None:
            beside = [_truth(_printable(truth, query))]
        lead, least, scale = found or (ZERO, None, ONE)
        margin, scales = max(margin, lead), scales * (len(forms) - 1) + [scale]
    if beside and not margin:
        return {"label": label}, scales, beside
    return {
        "label": label, "margin": exact(margin), "least": None if least is None else exact(least),
    }, scales, beside  # fmt: skip


def _likely(query: Query) -> Program:
    return target_program(query.program, replace(query.target, margin=Fraction(0)), Fraction(0))


def _printable(truth: list[Any], query: Query) -> list[Any]:
    """A condition that a constant of many digits makes a little wider, so that it is a double."""
    if query.slack:
        raise UnsupportedError(
            "a certificate cannot hold how this probability is reached in floats; "
            "ask with semantics='real'"
        )
    if truth[0] not in ("ge", "gt") or not exact_text(truth[1].constant).startswith("about "):
        return truth
    return [truth[0], LinearForm(truth[1].terms, Fraction(ceil_float(truth[1].constant)))]


def _chance(
    truth: list[Any], own: int, forms: list[Form]
) -> tuple[Fraction, Fraction | None, Fraction] | None:
    """By what a label must lead, or what its score must be, for the probability asked for; and
    how many times that the search's requirement is.  ``None`` if neither says it.
    """
    score = forms[own]
    leads = [score - other for i, other in enumerate(forms) if i != own]
    for each, is_lead in ((leads[0], len(leads) == 1), (score, True)):
        factor = _multiple(truth[1], each) if truth[0] == "ge" and is_lead else None
        if factor:
            end = each.constant - truth[1].constant / factor
            return (max(end, ZERO), None, factor) if each is leads[0] else (ZERO, end, factor)
    return None


def _multiple(form: Form, other: Form) -> Fraction | None:
    """How many times another form a form is, constants aside; ``None`` if it is no multiple."""
    if set(form.terms) != set(other.terms):
        return None
    ratios = {factor / other.terms[source] for source, factor in form.terms.items()}
    return ratios.pop() if len(ratios) == 1 and min(ratios) > 0 else None


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
        **_gap(domain),
    }


def _gap(domain: Domain) -> dict[str, Any]:
    """That a number is missing and stays so, or what stands for a missing one that may be."""
    if domain.first is not None:
        return {"absent": exact(domain.lower)}
    return {"missing": True} if not domain.is_symbolic and domain.is_absent else {}
