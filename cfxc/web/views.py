"""What the page shows: the model, instances and answers, as plain values for JSON.

Every number is a text, written as a letter writes it; bounds are rounded to the safe side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from ..answers.conflicts import ACTIONS
from ..answers.result import FEWER, Result
from ..show.letters.words import clean, written
from ..show.numbers import shown
from ..solvers.base import Progress
from ..space import Feature
from ..space.page import values_of
from ..space.tables import as_pandas
from ..stopping import INTERRUPTED
from .asking import DISTANCES, Asked, figures_of, has_choices, moves_of, says_how_apart
from .site import Site

STEPS = 200
"""Of a slider over a range that has no resolution."""


def model_view(site: Site) -> dict[str, Any]:
    """The model, its outcomes and its features."""
    model = site.model
    classes = model.predictor.classes
    target = model.target_or_favourable(site.base.given.get("target"))
    return {
        "name": model.program.name if model.file is None else clean(model.file["name"]),
        "outcomes": None if classes is None else [clean(str(label)) for label in classes],
        "target": None if target is None else _plain_target(target),
        "features": [_feature_view(site, feature) for feature in model.space],
        "rows": None if site.people is None else len(site.people) + len(site.wrong),
        # what is shown first is asked: of a question file what it asks for where it says nothing
        "distances": sorted(DISTANCES, key=lambda d: site.files.question is None or d != "l1"),
        "distance": site.base.given.get("distance") is not None,
        "diversity": says_how_apart(site),
        "figures": figures_of(site),
        "criteria": [str(each) for each in site.base.subject_to],
    }


def _plain_target(target: Any) -> Any:
    if isinstance(target, tuple | list):
        return ["" if end is None else str(end) for end in target]
    return clean(str(target))


def _feature_view(site: Site, feature: Feature) -> dict[str, Any]:
    chosen = has_choices(feature)
    lower, upper = (None, None) if chosen else map(Fraction, feature.bounds)
    step = Fraction(1) if feature.kind != "real" else feature.resolution
    if not chosen and step is None:
        step = feature.range / STEPS
    return {
        "name": feature.name,
        "label": site.words.label(feature.name),
        "unit": clean(feature.unit.rpartition("|")[2]),
        "about": clean(values_of(feature)),
        "options": [_level(site, feature, level) for level in feature.levels] if chosen else None,
        "lower": None if lower is None else field_of(feature, lower),
        "upper": None if upper is None else field_of(feature, upper),
        "step": None if chosen or step is None else float(step),
        "start": 0 if chosen else field_of(feature, _middle(feature)),
        "missing": bool(feature.missing),
        "moves": moves_of(feature),
        "condition": clean(feature.condition),
    }


def _middle(feature: Feature) -> Fraction:
    """A number of the feature to begin with, where there is no table to pick from."""
    lower, upper = feature.bounds
    if feature.kind != "real":
        return Fraction((int(lower) + int(upper)) // 2)
    if feature.steps is None or feature.resolution is None or feature.steps[0] > feature.steps[1]:
        return Fraction(feature.held((lower + upper) / 2))
    return Fraction(feature.held(sum(feature.steps) // 2 * feature.resolution))


def _level(site: Site, feature: Feature, level: Any) -> str:
    return site.words.value(feature.name, level) if feature.is_symbolic else str(level)


def field_of(feature: Feature, value: Any) -> Any:
    """A value as the page's field holds it: a place among the levels, or a text to type."""
    if has_choices(feature):
        return feature.code(value) if feature.is_symbolic else feature.levels.index(value)
    return "" if feature.is_absent(value) else f"{written(feature, Fraction(value)):f}"


def point_view(site: Site, frame: Any) -> dict[str, Any]:
    """An instance as the page's fields hold it."""
    values = site.model.space.encode_row(as_pandas(frame), extra="ignore", check_range=False)
    return {feature.name: field_of(feature, values[feature.name]) for feature in site.model.space}


def outcome_text(outcome: Any) -> str:
    """An outcome as people write it."""
    plain = outcome.item() if hasattr(outcome, "item") else outcome
    return f"{plain:.10g}" if isinstance(plain, float) else clean(str(plain))


def progress_view(now: Progress) -> dict[str, Any]:
    """Where a search stands; its bounds rounded to the safe side."""
    return {
        "seconds": round(now.seconds, 1),
        "lower": shown(Fraction(now.lower), -1),
        "upper": None if now.upper is None else shown(Fraction(now.upper), 1),
    }


def result_view(site: Site, asked: Asked, result: Result) -> dict[str, Any]:
    """An answer: what changes, how far that is, and what is proved of it, in plain words."""
    found = [one for one in result.all() if one.counterfactual is not None]
    words = _words_of_rules(site, asked)

    def rules(texts: Iterable[str]) -> list[str]:
        return [clean(words.get(text, text)) for text in texts]

    seen: dict[str, Any] = {
        "status": "unchanged" if result.unchanged else result.status,
        "before": outcome_text(result.outcome_before),
        "target": clean(result.target),
        "headline": _headline(result),
        "proof": [] if result.unchanged else list(_proof(result)),
        "answers": [answer_view(site, one, further=i > 0) for i, one in enumerate(found)],
        "fewer": _fewer(result, asked),
        "open": _open(result, asked),
        "rules": rules(result.conflict),
        "relaxed": None,
        "seconds": f"{sum(one.seconds for one in found or [result]):.1f}",
        "summary": clean(result.summary()),
        "kept": result.evidence is not None,
    }
    if result.relaxed is not None and result.relaxed.counterfactual is not None:
        seen["relaxed"] = {"given_up": rules(result.given_up), **answer_view(site, result.relaxed)}
    return seen


def _words_of_rules(site: Site, asked: Asked) -> dict[str, str]:
    """Plain words for what an answer says of limits and of how features may move."""
    return dict(asked.words) | {
        text.format(feature.name): text.format(site.words.label(feature.name))
        for feature in site.model.space
        for text in ACTIONS.values()
    }


def answer_view(site: Site, result: Result, *, further: bool = False) -> dict[str, Any]:
    """One counterfactual; a ``further`` one must differ from those before."""
    space = site.model.space
    before, after = (
        space.encode_row(as_pandas(row), extra="ignore", check_range=False)
        for row in (result.factual, result.counterfactual)
    )
    changed = [feature for feature in space if before[feature.name] != after[feature.name]]
    value = site.words.value
    return {
        "changes": [
            {
                "name": f.name,
                "label": site.words.label(f.name),
                "before": value(f.name, before[f.name]),
                "after": value(f.name, after[f.name]),
            }
            for f in changed
        ],
        "point": {feature.name: field_of(feature, after[feature.name]) for feature in space},
        "outcome": outcome_text(result.outcome_after),
        "distance": "0" if result.exact_distance is None else shown(result.exact_distance, 1),
        "lower": shown(result.exact_lower_bound, -1),
        "standing": _standing(result, further),
    }


def _standing(result: Result, further: bool) -> str:
    """How far an answer is, and what is proved of that."""
    far = "0" if result.exact_distance is None else shown(result.exact_distance, 1)
    sentence = f"Distance ({clean(result.distance_name)}): at most {far}; "
    if result.differs:
        return f"{sentence}differs by {result.differs}."
    proved = "nothing is proved"
    if result.exact_lower_bound:
        what = "nothing that differs as asked" if further else "nothing"
        proved = f"proved: {what} below {shown(result.exact_lower_bound, -1)}"
    nearer = "" if result.status == "optimal" else f"; something nearer may exist ({result.reason})"
    return f"{sentence}{proved}{nearer}."


def _headline(result: Result) -> str:
    """The answer in one sentence."""
    before, after = outcome_text(result.outcome_before), outcome_text(result.outcome_after)
    if result.unchanged:
        return f"Nothing needs to change: the outcome is {before} already."
    if result.status == "infeasible":
        return "No change that is allowed gives what was asked for."
    if result.exact_distance is None:
        return f"Nothing was found: {result.reason}. There may be a change all the same."
    many = len(result.changes)
    changes = "1 change is" if many == 1 else f"{many} changes are"
    if before == after:  # it was to be surer
        return f"{changes} enough for {clean(result.target)}."
    return f"{changes} enough: {before} → {after}."


def _proof(result: Result) -> Iterator[str]:
    """What is proved, in sentences, and no more than that."""
    whose = "the exact program" if result.semantics == "real" else "the model as deployed"
    by = ", ".join("exact arithmetic" if each == "bounds" else each for each in result.provers)
    lower, far = shown(result.exact_lower_bound, -1), result.exact_distance
    if result.status == "infeasible":
        yield f"Proved by {by}, of {whose}."
        if result.beyond:
            yield f"{result.beyond[0].upper()}{result.beyond[1:]}."
        return
    if result.status == "optimal":
        share = f"to within {100 * result.epsilon:g} %"
        if far == 0:
            yield "No distance is smaller."
        else:
            yield f"Proved: nothing nearer exists, {share}. Nothing at all lies below {lower}."
    elif far is not None:
        yield (
            f"Not proved to be the nearest: something nearer than {shown(far, 1)} may exist. "
            f"Searched {result.seconds:.1f} s ({result.reason})."
        )
    if result.status != "optimal":
        yield f"Proved: nothing lies below {lower}." if result.proved_by else "Nothing is proved."
    if result.proved_by and far != 0:
        yield f"By {by}, of {whose}."
    if far is not None:
        yield "The deployed model was run on the changed values, and this is what it said."


def _fewer(result: Result, asked: Asked) -> str:
    """Why there are fewer answers than were asked for."""
    wanted, found = asked.question.count, len(result.all())
    if found < wanted and result.all()[-1].reason == INTERRUPTED:
        return f"{found} of {wanted}: the search was called off."
    return f"{found} of {wanted}: {FEWER[result.stop_reason]}." if result.stop_reason else ""


def _open(result: Result, asked: Asked) -> str:
    """Why it is not known what to give up, where none exists."""
    if result.status != "infeasible" or result.relaxed is not None:
        return ""
    if not result.conflict:
        return "No row of the feature space is as was asked for, whatever may change."
    if asked.question.relax:
        return "Without what the question gives up there is none either, or none was found in time."
    return (
        "The search ended before it was known which of these are needed, and which one to give up; "
        "with more seconds it may be."
    )


def people_view(site: Site, outcomes: list[str] | None) -> dict[str, Any]:
    """Which rows there are, and what the model says of each."""
    assert site.people is not None
    return {
        "rows": [int(row) for row in site.people.index],
        "outcomes": outcomes,
        "wrong": {row: clean(why) for row, why in site.wrong.items()},
    }
