"""Why no counterfactual exists: a smallest set of rules that leave none, and what giving up costs.

Rules are the user's constraints and the features' actions.  A set of rules that rule everything out
is shrunk by leaving one out after the other: what stays infeasible without a rule does without it.
In the end every rule matters, which a search without it has shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..question.domain import Domain, freed
from ..question.query import Query
from ..question.rules import conditional_constraint
from ..solvers.base import Deployed, Limits, Outcome
from ..solvers.engines import engine_for
from ..stopping import STOPS, now, reason_of, until
from .from_search import result_of
from .original import Original
from .result import Result

Ask = Callable[[Query, float], Outcome]
"""A search of a query within some seconds."""


@dataclass(frozen=True)
class Rule:
    """One thing a user asked for: a constraint, the action of a feature, or the trust region.

    ``criterion``: the kind it is of, one of :data:`.options.RELAXABLE`.
    """

    text: str
    criterion: str
    constraint: str | None = None
    feature: str | None = None

    def lifted(self, query: Query) -> Query:
        """The same question without this rule."""
        if self.criterion == "trust_region":
            return replace(query, hulls=())
        if self.constraint is not None:
            kept = tuple(one for one in query.constraints if one.text != self.constraint)
            effects = tuple(e for e in query.effects if e.mechanism.text != self.constraint)
            return replace(query, constraints=kept, effects=effects)
        domains = tuple(_free(d) if d.name == self.feature else d for d in query.domains)
        return replace(query, domains=domains)


def _free(domain: Domain) -> Domain:
    """The same feature, free to change within its range; as it is, if it cannot be."""
    free = freed(domain)
    return domain if free.is_too_large else free


@dataclass(frozen=True)
class Conflict:
    """Rules that together leave no counterfactual.

    Attributes:
        rules: As texts; empty if there is none even without any rule.
        shrunk: Whether each of them is needed: without it, a counterfactual was found.
        relaxed: The cheapest to give up: rules whose absence leaves a counterfactual, and the
            nearest one then; ``None`` if none was found in time.
    """

    rules: tuple[str, ...]
    shrunk: bool
    relaxed: tuple[tuple[str, ...], Query, Outcome] | None = None


ACTIONS = {
    "fixed": "{} may not change",
    "increase": "{} may only increase",
    "decrease": "{} may only decrease",
}


def rules_of(query: Query) -> list[Rule]:
    """Constraints, conditional actions among them, and actions that bind."""
    conditional = {
        conditional_constraint(d.feature): f"{d.name} may change only if {d.feature.condition}"
        for d in query.domains
        if d.feature.action == "conditional"
    }
    found = []
    for text, _, by in query.constraints:
        kind = "actions" if by is None else by.name
        found.append(Rule(conditional.get(text, text), kind, text))
    for domain in query.domains:
        action = ACTIONS.get(domain.feature.action)
        if action and _free(domain) != domain:
            found.append(Rule(action.format(domain.name), "actions", feature=domain.name))
    if query.hulls:
        found.append(Rule(f"within {query.hulls[0].text}", "trust_region"))
    return found


def given_up_in_order(query: Query, ask: Ask, seconds: float, order: Sequence[str]) -> Conflict:
    """Criteria of an infeasible query given up one at a time, until there is a counterfactual.

    Those are kept after all that need not be given up, in this order too.
    """
    deadline, rules = now() + seconds, rules_of(query)
    dropped = list[list[Rule]]()

    def without(groups: Sequence[Sequence[Rule]]) -> tuple[tuple[str, ...], Query, Outcome] | None:
        wider, lifted = query, {rule.text: rule for group in groups for rule in group}
        for rule in lifted.values():
            wider = rule.lifted(wider)
        outcome = ask(wider, left) if (left := deadline - now()) > 0 else Outcome()
        if outcome.best is None:
            return None
        return tuple(lifted), wider, outcome

    for criterion in order:
        dropped.append([rule for rule in rules if criterion in (rule.criterion, rule.text)])
        if not dropped[-1] or (found := without(dropped)) is None:
            continue
        for group in [each for each in dropped[:-1] if each]:
            fewer = [each for each in dropped if each is not group]
            if (enough := without(fewer)) is not None:
                dropped, found = fewer, enough
        return Conflict((), False, found)
    return Conflict((), False)


def conflict_of(query: Query, ask: Ask, seconds: float) -> Conflict:
    """Shrink what rules out every counterfactual of an infeasible query, and relax it cheaply.

    ``ask`` searches one query; all searches together take about ``seconds``.
    """
    deadline = now() + seconds
    needed: list[tuple[Rule, Outcome]] = []
    candidates, known = rules_of(query), query
    shrunk = True
    for rule in candidates:
        left = deadline - now()
        without = rule.lifted(known)
        outcome = ask(without, left) if left > 0 else Outcome()
        if outcome.infeasible:
            known = without
        else:
            needed.append((rule, outcome))
            shrunk = shrunk and outcome.best is not None
    texts = tuple(rule.text for rule, _ in needed)
    return Conflict(texts, shrunk, _cheapest(query, [rule for rule, _ in needed], ask, deadline))


def _cheapest(
    query: Query, needed: Sequence[Rule], ask: Ask, deadline: float
) -> tuple[tuple[str, ...], Query, Outcome] | None:
    """One rule to give up, the one that leaves the nearest counterfactual; else more of them.

    A rule that alone opens the way is part of every conflict, so of this one.  Where none does,
    other rules forbid the same thing, and are given up one after the other.
    """
    found: list[tuple[tuple[str, ...], Query, Outcome]] = []
    for rule in needed:
        left = deadline - now()
        lifted = rule.lifted(query)
        outcome = ask(lifted, left) if left > 0 else Outcome()
        if outcome.best is not None:
            found.append(((rule.text,), lifted, outcome))
    if found:
        return min(found, key=lambda each: each[2].best.distance if each[2].best else 0)
    return _fewest(query, rules_of(query), ask, deadline)


def _fewest(
    query: Query, rules: Sequence[Rule], ask: Ask, deadline: float
) -> tuple[tuple[str, ...], Query, Outcome] | None:
    """Rules to give up: all, less those that may be kept after all, one after the other."""
    dropped, best = list(rules), None
    for kept in [None, *rules]:
        trial = [rule for rule in dropped if rule is not kept]
        relaxed = query
        for rule in trial:
            relaxed = rule.lifted(relaxed)
        left = deadline - now()
        outcome = ask(relaxed, left) if left > 0 else Outcome()
        if outcome.best is not None:
            dropped, best = trial, (relaxed, outcome)
    return None if best is None else (tuple(rule.text for rule in dropped), *best)


def asker(deployed: Deployed, limits: Limits, method: str, solver: str) -> Ask:
    """Searches of questions like the one asked, by the engine that suits each."""

    def ask(query: Query, seconds: float) -> Outcome:
        deadline = now() + seconds
        try:
            with until(deadline):
                engine = engine_for(query, method, solver)
        except STOPS as stop:
            return Outcome(reason=reason_of(stop))
        return engine.search(query, deployed, replace(limits, seconds=deadline - now()))

    return ask


def with_conflict(original: Original, result: Result, conflict: Conflict) -> Result:
    """An infeasible answer with what rules everything out, and what giving some of it up costs."""
    if conflict.relaxed is None:
        return replace(result, conflict=conflict.rules)
    given_up, query, outcome = conflict.relaxed
    relaxed = result_of(
        query, original, outcome, result.epsilon, result.solver, result.evidence.model
    )
    return replace(result, conflict=conflict.rules, given_up=given_up, relaxed=relaxed)
