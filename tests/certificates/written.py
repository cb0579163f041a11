"""Certificates written by hand: a question, a claim and a proof, with space and hash that fit."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from cfxc.certificates.checker import number as number_of
from tests.certificates.mutants import rehashed

F = Fraction
Content = dict[str, Any]


def space_of(features: list[Content]) -> str:
    """The feature space that says of features what a question says."""
    lines = []
    for feature in features:
        lines += ["[[feature]]", f"name = {toml(feature['name'])}", f'kind = "{feature["kind"]}"']
        lines += [f'action = "{feature["action"]}"', f'weight = "{number_of(feature["weight"])}"']
        if feature["labels"]:
            lines.append(f"labels = [{', '.join(map(toml, feature['labels']))}]")
            continue
        lines += [f'{end} = "{number_of(feature[end])}"' for end in ("lower", "upper")]
        gap = ["missing = true"] * (feature.get("missing") is True)
        lines += ['missing = "free"'] if "absent" in feature else gap
        if feature["step"] is not None and feature["kind"] != "integer":
            lines.append(f'resolution = "{number_of(feature["step"])}"')
    return "\n".join(lines)


def toml(value: Any) -> str:
    """A label in TOML."""
    if value is None:
        return "{missing = true}"
    return repr(float(number_of(value["float"]))) if isinstance(value, dict) else json.dumps(value)


def text_of(content: Content, point: Any) -> list[Any]:
    """A point as certificates hold it."""
    return [feature["labels"][value] if feature["labels"] else str(value)
            for feature, value in zip(content["features"], point, strict=True)]  # fmt: skip


def certificate(
    content: Content, proof: Any, status: str = "infeasible", *, bound: Any = 0,
    distance: Any = None, witness: Any = None, epsilon: Any = 0, semantics: str = "real",
) -> Content:  # fmt: skip
    """A certificate that claims this of a question."""
    claim = {"status": status, "distance": None if distance is None else str(distance)}
    claim |= {"lower_bound": str(bound), "epsilon": str(epsilon)}
    made = {"version": "cfxc certificate 1", "made": {}, "semantics": semantics, "claim": claim}
    made |= {"model": None, "space": space_of(content["features"]), "witness": witness, "hash": ""}
    return dict(rehashed({**made, **content, "proof": proof}))


def number(
    name: str, own: Any, low: Any, high: Any, *, step: Any = None, width: int = 8, **more: Any
) -> tuple[Content, str]:
    """A number feature and the factual's value."""
    kind = "integer" if step == 1 and not width else "real"
    feature = {"name": name, "kind": kind, "labels": [], "lower": str(low), "upper": str(high)}
    feature |= {"step": None if step is None else str(step), "float": width, "weight": "1"}
    return {**feature, "action": "free", **more}, str(own)


def question(features: list[tuple[Content, Any]], outputs: Any, **more: Any) -> Content:
    """A question whose one output is to be at least 0, if nothing else is said."""
    program = {"made": [], "trees": [], "labels": None, "outputs": outputs}
    norms = {"l0": "0", "l1": "1", "linf": "0", "l2": "0"}
    asked = {"target": {"lower": "0", "upper": None}, "slack": "0", "norms": norms}
    asked |= {"factual": [own for _, own in features], "constraints": []}
    program |= {name: more[name] for name in more if name in program}
    asked |= {name: more[name] for name in more if name in asked}
    return {"features": [feature for feature, _ in features], "program": program, "question": asked}


NOWHERE = {"radius": "2", "lemmas": [], "nodes": [["distance"]]}

__all__ = ["NOWHERE", "certificate", "number", "question", "space_of", "text_of"]
