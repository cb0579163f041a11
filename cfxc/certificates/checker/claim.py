"""What a certificate claims, and whether it shows it."""

from __future__ import annotations

import hashlib
import re
from fractions import Fraction as Q
from typing import Any, NamedTuple

from . import slack
from .program import Point
from .question import Question
from .reader import ODD, Clock, Rejected, canonical, members, need, number
from .rules import Proof

ENTRIES = "version made semantics claim model space features program question witness proof hash"
VERSION = "cfxc certificate 1"
STATUS = ("optimal", "feasible", "infeasible")


class Shown(NamedTuple):
    """What was checked.  Distances are as in the file: of l2, squares."""

    question: Question
    status: str
    distance: Q | None
    bound: Q
    epsilon: Q
    semantics: str
    witness: Point | None
    within_slack: bool  # whether the witness has the outcome only with the slack
    parts: dict[str, int]  # how many were closed by which rule
    model: list[Any] | None  # name and SHA-256 of its file
    space: str
    hash: str


def check(certificate: Any, clock: Clock | None = None) -> Shown:
    """What a certificate shows; ``Rejected`` if it does not show what it claims, or is none."""
    try:
        return _shown(certificate, clock or Clock())
    except ODD as error:
        why = ascii(str(error)[:100])[1:-1]
        raise Rejected(f"malformed: {type(error).__name__}: {why}") from None


def _shown(certificate: Any, clock: Clock) -> Shown:
    parts = dict(zip(ENTRIES.split(), members(certificate, ENTRIES, "certificate"), strict=True))
    need(parts["version"] == VERSION, "version: another one")
    digest = hashlib.sha256(canonical(certificate)).hexdigest()
    need(parts["hash"] == digest, "hash: it is not that of the rest")
    model, made, semantics = parts["model"], parts["made"], parts["semantics"]
    model = None if model is None else members(model, "name sha256", "model")
    texts = [parts["space"], *(model or [])]
    texts += [] if made == {} else members(made, "cfxc python engine", "made")
    need(all(type(text) is str for text in texts), "made, model, space: no text")
    need(model is None or re.fullmatch("[0-9a-f]{64}", model[1]), "model.sha256: no hash")
    proof = Proof(parts["features"], parts["program"], parts["question"], parts["proof"], clock)
    made = [*zip(proof.program.kinds, range(len(proof.program.kinds)), strict=True)]
    made += [("tree", n) for n in range(len(proof.program.trees))]
    need(not (idle := set(made) - proof.program.used), f"program: nothing reads {[*idle][:1]}")
    need(semantics in ("real", *slack.FLOATS), "semantics: of no known kind")
    least, most = (Q(0), Q(0)) if semantics == "real" else slack.bounds(proof, semantics)
    need(semantics != "real" or proof.slack == 0, "question.slack: it must be 0, in real numbers")
    need(proof.slack >= least, f"question.slack: rounding may do {float(least)}, which is more")
    status, away, bound, epsilon, point, needed = _claim(parts["claim"], parts["witness"], proof)
    why = f"the witness needs more than {float(most)}, all that rounding explains"
    need(proof.slack <= most or not needed, f"question.slack: {why}")
    return Shown(proof, status, away, bound, epsilon, semantics, point, needed, proof.walk(), model,
                 parts["space"], digest)  # fmt: skip


def _claim(claim: Any, witness: Any, proof: Proof) -> Any:
    """Lemma 14: what follows where nothing in the ball is a counterfactual nearer than r."""
    status, distance, *given = members(claim, "status distance lower_bound epsilon", "claim")
    bound, epsilon = map(number, given)
    need(status in STATUS and 0 <= epsilon < 1, "claim: status, or epsilon not from 0 to 1")
    covered = 0 <= bound <= proof.radius and bound < 2**1000
    need(covered, "claim.lower_bound: not what the proof covers")
    if status == "infeasible":
        alone = witness is None and distance is None and proof.inside is None
        need(alone, "claim: infeasible, and a witness")
        farthest = [max(map(f.delta, f.all)) for f in proof.features]
        need(proof.radius > proof.distance(farthest), "proof.radius: some rows lie beyond it")
        return status, None, bound, epsilon, None, False
    away, needed = proof.check(point := proof.point(witness))
    need(away == number(distance), "claim.distance: the witness lies elsewhere")
    need(bound <= away < 2**1000, "claim: a distance below the bound, or beyond all floats")
    goal = away * (1 - epsilon) ** (2 if proof.squared else 1)
    need(status != "optimal" or bound >= goal, "claim.epsilon: the gap exceeds it")
    return status, away, bound, epsilon, point, needed
