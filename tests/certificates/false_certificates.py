"""Whole certificates: honest ones, and such as claim more, or another thing, than is true."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Any

from cfxc.certificates import checker as check
from cfxc.certificates.checker import Question, Rejected, slack
from tests.certificates.false_claims import HAIR, Found, asked, honest_nodes
from tests.certificates.false_questions import Content, Truth, draw_question, values
from tests.certificates.written import certificate, text_of

F = Fraction
Named = tuple[str, Content]


class Honest:
    """A question with what is true of it, in some semantics, and a proof that the checker takes."""

    def __init__(self, content: Content, truth: Truth, semantics: str, proof: Content) -> None:
        self.content, self.truth, self.semantics, self.proof = content, truth, semantics, proof

    def certificate(self, **claim: Any) -> Content:
        """What is true, or something else."""
        claim = {"semantics": self.semantics, "proof": self.proof, **claim}
        if self.truth.optimum is not None and "status" not in claim:
            away, point = self.truth.counterfactuals[0]
            witness = text_of(self.content, point)
            claim = {
                "status": "optimal",
                "bound": away,
                "distance": away,
                "witness": witness,
                **claim,
            }
        return certificate(self.content, **claim)


def draw_honest(rng: Random) -> Honest:
    """A question whose proof is found by splitting."""
    while True:
        content = draw_question(rng)
        semantics = rng.choice(("real", "real", "float", "float32"))
        content["question"]["slack"] = "0"
        try:
            asking = Question(*(content[name] for name in ("features", "program", "question")))
            room = F(0) if semantics == "real" else slack.bounds(asking, semantics)[0]
            content["question"]["slack"] = str(room)
        except (Rejected, ValueError):  # or more digits than Python writes
            continue
        truth = Truth(content)
        radius = truth.farthest + 1 if truth.optimum is None else truth.optimum
        if not radius and rng.random() < 0.8:
            continue
        try:
            nodes = honest_nodes(rng, content, asked(content, radius), 60)
        except Rejected:
            continue
        if nodes is not None:
            proof = {"radius": str(radius), "lemmas": [], "nodes": nodes}
            return Honest(content, truth, semantics, proof)


def false_certificates(rng: Random, honest: Honest) -> Iterator[Named]:
    """Certificates of which each claims something that is not so."""
    yield from _slack(honest)
    if honest.truth.optimum is None:
        for _, point in rng.sample(honest.truth.all, 2):
            yield from _witness("a witness that is none", honest, point, "feasible")
        return
    yield from _bounds(rng, honest)
    reached = {point for _, point in honest.truth.counterfactuals}
    others = [point for _, point in honest.truth.all if point not in reached]
    for point in rng.sample(others, min(4, len(others))):
        yield from _witness("a witness that is none", honest, point, "feasible", "optimal")
    point = honest.truth.counterfactuals[0][1]
    yield from _witness(
        "a value that may not be", honest, _misplaced(rng, honest, point), "feasible"
    )
    for off in (HAIR, -HAIR, F(1)):
        yield "another distance", honest.certificate(distance=honest.truth.optimum + off)
    yield from _target(honest)


def _bounds(rng: Random, honest: Honest) -> Iterator[Named]:
    """More than the nearest counterfactual allows."""
    truth, best = honest.truth, honest.truth.optimum
    assert best is not None
    far = {**honest.proof, "radius": str(truth.farthest + 1)}
    for proof in (honest.proof, far):
        yield "infeasible", honest.certificate(status="infeasible", proof=proof)
    farther = [each for each in truth.counterfactuals if each[0] > best]
    for away, point in rng.sample(farther, min(2, len(farther))):
        witness = text_of(honest.content, point)
        claim = {"distance": away, "witness": witness}
        for bound in (best + HAIR, away):
            raised = {**honest.proof, "radius": str(bound)}
            for proof in (honest.proof, raised):
                more = {**claim, "bound": bound, "proof": proof}
                yield "a bound too high", honest.certificate(status="feasible", **more)
        gap = 1 - best / away  # of l2 the roots differ by less than the squares do
        squared = honest.content["question"]["norms"]["l2"] == "1"
        for epsilon in (0, gap / 2 - HAIR if squared else gap - HAIR):
            given = {**claim, "bound": best, "epsilon": max(epsilon, 0)}
            yield "a gap above epsilon", honest.certificate(status="optimal", **given)


def _witness(name: str, honest: Honest, point: Any, *statuses: str) -> Iterator[Named]:
    """A witness that is no counterfactual, at its own distance."""
    if point is None:
        return
    away = honest.truth.meaning.distance(point)
    best = away if honest.truth.optimum is None else honest.truth.optimum
    claim = {"distance": away, "bound": min(best, away), "witness": text_of(honest.content, point)}
    for status in statuses:
        yield name, honest.certificate(status=status, epsilon=F(999, 1000), **claim)


def _misplaced(rng: Random, honest: Honest, point: Any) -> Any:
    """The same with one value that is not admissible."""
    j = rng.randrange(len(point))
    feature, own = honest.content["features"][j], values(honest.content, j)
    if feature["labels"]:
        others: list[Any] = [i for i in range(len(feature["labels"])) if i not in own]
    else:
        tries = (
            own[0] - 1,
            own[-1] + 1,
            own[0] + F(1, 10**20),
            (own[0] + own[-1]) / 2,
            own[-1] + HAIR,
        )
        others = [value for value in tries if value not in own]
    return (*point[:j], rng.choice(others), *point[j + 1 :]) if others else None


def _slack(honest: Honest) -> Iterator[Named]:
    """Another slack than the semantics asks for; the proof may even hold."""
    least = F(honest.content["question"]["slack"])
    for off in (-HAIR, -least / 10**6, F(1) if honest.semantics == "real" else -2 * least - 1):
        if off and (least + off < least or honest.semantics == "real"):
            content = copy.deepcopy(honest.content)
            content["question"]["slack"] = str(least + off)
            other = Honest(content, honest.truth, honest.semantics, honest.proof)
            yield "another slack", other.certificate()


def _target(honest: Honest) -> Iterator[Named]:
    """The answer to another question."""
    content, program = copy.deepcopy(honest.content), honest.content["program"]
    point = honest.truth.counterfactuals[0][1]
    for label in program["labels"] or []:
        content["question"]["target"] = {"label": label}
        if not Truth(content).meaning.is_counterfactual(point):
            other = Honest(copy.deepcopy(content), honest.truth, honest.semantics, honest.proof)
            yield "another target", other.certificate()


def try_certificates(rng: Random, counts: Counter[str]) -> None:
    """One question: what is honest is accepted, what is false is not.

    Raises:
        Found: it is otherwise.
    """
    honest = draw_honest(rng)
    try:
        check.check(honest.certificate())
    except Rejected as error:
        raise Found(f"honest, but rejected: {error}: {honest.certificate()}") from None
    counts["honest certificates"] += 1
    for name, content in false_certificates(rng, honest):
        counts[name] += 1
        try:
            check.check(content)
        except Rejected:
            continue
        raise Found(f"{name}: {content}")


__all__ = ["draw_honest", "false_certificates", "try_certificates"]
