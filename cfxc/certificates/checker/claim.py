"""What a certificate claims, and whether it shows it."""

from __future__ import annotations

import hashlib
import re
from fractions import Fraction as Q
from typing import Any, NamedTuple

from . import policy, slack
from .program import Point
from .question import Question
from .reader import Clock, Rejected, canonical, members, need, number
from .rules import Proof

ENTRIES = "version made semantics claim model space features program question witness proof hash"
ODD = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
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
    within_slack: bool
    parts: dict[str, int]
    model: tuple[str, str] | None
    hash: str


def check(certificate: Any, clock: Clock | None = None) -> Shown:
    """What a certificate shows; ``Rejected`` if it does not show what it claims, or is none."""
    try:
        return shown(certificate, clock or Clock())
    except ODD as error:
        why = str(error)[:100]
        raise Rejected(f"malformed: {type(error).__name__}: {ascii(why)[1:-1]}") from None


def shown(certificate: Any, clock: Clock) -> Shown:
    """The same; raises whatever is wrong with it."""
    parts = dict(zip(ENTRIES.split(), members(certificate, ENTRIES, "certificate"), strict=True))
    need(parts["version"] == VERSION, "version: another one")
    digest = hashlib.sha256(canonical(certificate)).hexdigest()
    need(parts["hash"] == digest, "hash: it is not that of the rest")
    texts = members(parts["made"], "cfxc python engine", "made") if parts["made"] else []
    need(all(isinstance(text, str) for text in texts), "made: no text")
    model, semantics = _model(parts["model"]), parts["semantics"]
    proof = Proof(*(parts[name] for name in ("features", "program", "question", "proof")), clock)
    _require_all_used(proof)
    policy.require_same(policy.stated(parts["space"], "space"), proof.features)
    need(semantics in ("real", *slack.FLOATS), "semantics: of no known kind")
    least = Q(0) if semantics == "real" else slack.least(proof, semantics)
    enough = proof.slack == 0 if semantics == "real" else proof.slack >= least
    need(enough, f"question.slack: rounding may do {float(least):.3g}, and it allows for another")
    status, away, bound, epsilon, point, needed = _claim(parts["claim"], parts["witness"], proof)
    return Shown(
        proof, status, away, bound, epsilon, semantics, point, needed, proof.walk(), model, digest
    )


def _claim(claim: Any, witness: Any, proof: Proof) -> Any:
    """Lemma 14: what follows where nothing in the ball is a counterfactual nearer than r."""
    status, distance, *given = members(claim, "status distance lower_bound epsilon", "claim")
    bound, epsilon = map(number, given)
    need(status in STATUS and 0 <= epsilon < 1, "claim: status, or epsilon beyond 0 to 1")
    covered = 0 <= bound <= proof.radius and bound < 2**1000
    need(covered, "claim.lower_bound: not what the proof covers")
    if status == "infeasible":
        need(witness is None and distance is None, "claim: infeasible, and a witness")
        farthest = [max(map(f.delta, f.all)) for f in proof.features]
        need(proof.radius > proof.distance(farthest), "proof.radius: some rows lie beyond it")
        return status, None, bound, epsilon, None, False
    away, needed = proof.check(point := proof.point(witness, "witness"))
    need(away == number(distance), "claim.distance: the witness lies elsewhere")
    need(bound <= away, "claim.lower_bound: above the distance")
    goal = away * (1 - epsilon) ** (2 if proof.squared else 1)
    need(status != "optimal" or bound >= goal, "claim.epsilon: the gap exceeds it")
    return status, away, bound, epsilon, point, needed


def _model(given: Any) -> tuple[str, str] | None:
    if given is None:
        return None
    name, digest = members(given, "name sha256", "model")
    need(isinstance(name, str) and isinstance(digest, str), "model: no text")
    need(re.fullmatch("[0-9a-f]{64}", digest), "model.sha256: no hash")
    return name, digest


def _require_all_used(proof: Proof) -> None:
    """Nothing is made, and no tree grows, that nothing reads."""
    for k, kind in enumerate(proof.program.kinds):
        need((kind, k) in proof.program.used, f"program.made[{k}]: nothing reads it")
    for n in range(len(proof.program.trees)):
        need(("tree", n) in proof.program.used, f"program.trees[{n}]: nothing reads it")
