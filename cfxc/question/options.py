"""The options of a question, each spelled once: name, type, default, check, and what it means.

``explain``, ``explain_batch``, robust plans, :class:`.Question`, ``question.toml`` and the command
line read :data:`OPTIONS`.  A new one is an entry of :class:`Options`, and nothing else.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from textwrap import fill
from typing import Annotated, Any, NamedTuple, TypedDict, TypeVar, get_type_hints

from ..errors import DataTypeError, InvalidInputError
from ..space.names import meant
from .checks import (
    anything,
    non_negative,
    one_of,
    positive_number,
    processors,
    proper_share,
    whole_from,
)
from .criteria import CRITERIA, Condition, Criterion, criteria_of
from .diversity import Diverse, as_diversity

F = TypeVar("F", bound=Callable[..., Any])
METHODS = ("auto", "box", "mio", "smt")
SEMANTICS = ("auto", "real", "float")
DIVERSITY = ("points", "features", "pool", "clusters")
RELAXABLE = (*(name for name in CRITERIA if name not in ("margin", "probability")), "actions")
"""What may be given up: kinds of criteria, and the actions of features."""


class Option(NamedTuple):
    """One option: its default, its check, and what it means.

    Attributes:
        check: The value as searches use it, from a value and the option's name; raises
            ``DataTypeError`` or ``InvalidInputError``.
        help: The first sentence is for ``--help``, all of it for the reference.
        metavar: Of the flag, where the type does not tell.
        in_file: Whether ``question.toml`` can hold it.
        flag: Where it is not the name with hyphens; ``None`` if the command line has none.
    """

    default: Any
    check: Callable[[Any, str], Any]
    help: str
    metavar: str | None = None
    in_file: bool = True
    flag: str | None = ""

    @property
    def short(self) -> str:
        """The first sentence."""
        return self.help.split(".  ", maxsplit=1)[0].rstrip(".") + "."


def _method(value: Any, name: str) -> str:
    if isinstance(value, str) and value == "bayes":
        raise InvalidInputError("method 'bayes' answers potentials: give target=cfxc.SEP(width=…)")
    return one_of(*METHODS)(value, name)


def _diversity(value: Any, name: str) -> str | Diverse:
    return as_diversity(value, name, DIVERSITY)


def _criteria(value: Any, name: str) -> tuple[Criterion, ...]:
    return criteria_of(value)


def _relax(value: Any, name: str) -> tuple[str, ...]:
    """Names of kinds, criteria and texts, as texts."""
    listed = (value,) if isinstance(value, str | Criterion) else value
    if not isinstance(listed, Sequence):
        raise DataTypeError(f"relax is a list of criteria, not {value!r}")
    for each in listed:
        if not isinstance(each, str | Criterion):
            raise DataTypeError(f"relax is a list of criteria; {each!r} is none")
    return tuple(str(each) for each in listed)


class Options(TypedDict, total=False):
    """What may be said of a question; see :data:`OPTIONS`."""

    target: Annotated[
        Any,
        Option(
            None,
            anything,
            "Wanted outcome.  By default the favourable label, else the other one of two; a "
            "range is ``(low, high)``, either end ``None`` for open; or a potential such as "
            "``cfxc.SEP(width=10)``: an output about so much away, found by calling the model "
            "(:class:`cfxc.BlackBox`).",
            "LABEL",
        ),
    ]
    distance: Annotated[
        Any,
        Option(
            "l1",
            anything,
            "sparse, l0, l1, l2, linf, l0=0.3,l1=0.7, mahalanobis=data.csv, or a file.cfl.  "
            "``sparse``: fewest changes, and l1 among those, both proved.  In Python also "
            "a mapping of weights, a :class:`cfxc.Mahalanobis`, or the text of a ``.cfl`` file.",
        ),
    ]
    subject_to: Annotated[
        str | Criterion | Sequence[str | Criterion],
        Option(
            (),
            _criteria,
            "What else must hold: conditions in the core language over ``x`` and ``factual``, and "
            "criteria such as :class:`cfxc.MaxChanges`.",
            flag=None,
        ),
    ]
    epsilon: Annotated[
        float,
        Option(
            1e-3,
            proper_share,
            "Accuracy, a share of the distance.  0 < ε < 1: an answer is ``optimal`` if its lower "
            "bound is at least ``(1 - ε) · distance``.",
        ),
    ]
    semantics: Annotated[
        str,
        Option(
            "auto",
            one_of(*SEMANTICS),
            "Of the bound: real (exact program), float (as deployed) or auto.  ``float`` widens "
            "the target by what rounding may do; ``auto`` takes it where trees are added up in "
            "single precision (ONNX, XGBoost), since the votes of such forests tie.",
        ),
    ]
    method: Annotated[
        str,
        Option(
            "auto",
            _method,
            "auto, box (tree ensembles), mio or smt.  ``mio``, mixed-integer search, is for all "
            "that is piecewise linear, ``smt`` for everything; ``auto`` takes the fastest.",
        ),
    ]
    solver: Annotated[
        str,
        Option(
            "auto",
            anything,
            "auto; z3, cvc5, pysmt:NAME (smt); highs, scip, gurobi (mio).  By default ``smt`` asks "
            "z3 and cvc5 in turn, and ``mio`` HiGHS.",
        ),
    ]
    count: Annotated[
        int,
        Option(
            1,
            whole_from(1),
            "How many counterfactuals.  Each is nearest to within a share of epsilon, so two may "
            "be out of order by as much.",
        ),
    ]
    diversity: Annotated[
        str | Diverse,
        Option(
            "points",
            _diversity,
            "points, features (each changes others), pool, clusters, diverse, or "
            "within=0.5,effort=8.  "
            "``points``: each another row; ``diverse``, or such as ``within=0.5,measure=l1``, in "
            "Python also a :class:`cfxc.Diverse`: within a share of the optimum, as different as "
            "they can be; ``features``: "
            "none changes what an earlier one changed (Russell 2019), but for what follows from "
            "them; ``pool``: incumbents that one mixed-integer search met on its way, nearest "
            "first; ``clusters``: one per cluster of the trust region.",
        ),
    ]
    apart: Annotated[
        float,
        Option(
            0.0,
            non_negative,
            "Of its range, by which one number differs.  Of two answers, unless another feature "
            "does; 0 for any difference.",
            "SHARE",
        ),
    ]
    change_penalty: Annotated[
        float,
        Option(
            0.0,
            non_negative,
            "What each changed feature costs more.  α >= 0: minimised is ``(d + α n) / (1 + α J)``,"
            " where n of J features change (with weights, n is J times the weighted share of those "
            "that change); of l2 with its square.  ``distance`` and bounds are of that.",
            "ALPHA",
        ),
    ]
    relax: Annotated[
        str | Criterion | Sequence[str | Criterion],
        Option(
            (),
            _relax,
            "To give up if there is no answer; in this order.  One at a time until there is one: "
            f"kinds ({', '.join(RELAXABLE)}), each whole, criteria of ``subject_to``, or "
            "conditions' texts.  "
            "The answer says what had to go (``given_up``), and has the nearest one then "
            "(``relaxed``).",
            "CRITERION",
        ),
    ]
    seeds: Annotated[
        Any,
        Option(
            None,
            anything,
            "Rows to start from, or a fitted :class:`cfxc.Generator` that proposes some.  Valid "
            "ones (by box search all, else the three nearest) are moved towards the factual, "
            "verified, and bound the distance from above.  The answer says how many ``seeds`` "
            "there were, and how many valid.  By default the space's examples, where a search "
            "finds nothing else to start from.",
            in_file=False,
            flag=None,
        ),
    ]
    time_limit: Annotated[
        float,
        Option(
            60.0,
            positive_number,
            "Seconds per counterfactual, kept to within 0.2 s and 5 %.  Ctrl-C ends the search "
            "with the best answer so far; pressed again, it raises ``KeyboardInterrupt``.",
        ),
    ]
    random_state: Annotated[
        int, Option(0, whole_from(0), "Seed of the local search.", "N", flag="--seed")
    ]
    n_jobs: Annotated[
        int,
        Option(
            1,
            processors,
            "Threads of a hard box search; in a batch, processes; -1 for all processors.  Other "
            "engines use one thread; processes are whatever joblib's back end in use runs.",
            flag="--jobs",
        ),
    ]


OPTIONS: Mapping[str, Option] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(Options, include_extras=True).items()
}
"""Every option by its name."""


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Every option's value, its default where none is given.

    Raises:
        DataTypeError, InvalidInputError: naming the option and what it may be.
    """
    if odd := sorted(set(given) - set(OPTIONS)):
        raise DataTypeError(
            f"no option {odd[0]!r}{_advice(odd[0])}; there are {', '.join(OPTIONS)}"
        )
    found = {
        name: option.check(given.get(name, option.default), name)
        for name, option in OPTIONS.items()
    }
    sure = [
        text
        for each in found["subject_to"] if each.name in ("margin", "probability")
        for text in (str(each), each.name)
    ]  # fmt: skip
    texts = [str(each) for each in found["subject_to"]]
    for each in found["relax"]:
        if each in sure:
            raise InvalidInputError(
                f"relax: {each} is part of the outcome that is asked for; ask again with less, or "
                "without it"
            )
        if each not in (*RELAXABLE, *texts):
            named = [str(c) for c in found["subject_to"] if isinstance(c, Condition)]
            listed = f"none of the conditions asked for ({'; '.join(named)})"
            raise InvalidInputError(
                f"relax: {each!r}{meant(each, [*RELAXABLE, *named])} is none of the kinds "
                f"({', '.join(RELAXABLE)}), and {listed if named else 'no condition is asked for'}"
            )
    return found


ELSEWHERE = {
    "constraints": "subject_to", "constraint": "subject_to", "norm": "distance",
    "metric": "distance", "timeout": "time_limit", "seed": "random_state", "jobs": "n_jobs",
    "desired_class": "target", "desired_range": "target", "total_CFs": "count", "k": "count",
    "tolerance": "epsilon", "tol": "epsilon", "engine": "method",
}  # fmt: skip
"""What options are called elsewhere, by the name that they have here."""


def _advice(name: str) -> str:
    """What was meant by a name that no option has."""
    if name in CRITERIA and name != "constraints":
        kind = CRITERIA[name].__name__
        return f": it is a criterion, given as subject_to=[cfxc.{kind}(…)]"
    if name in ELSEWHERE:
        return f" (nearest: {ELSEWHERE[name]!r})"
    return meant(name, OPTIONS)


def lists_options(function: F) -> F:
    """A function with ``**options``: its docstring and signature list them."""
    if function.__doc__ and "{options}" in function.__doc__:
        pad = " " * 12
        listed = [f"{name}: {option.help}" for name, option in OPTIONS.items()]
        filled = [fill(pad + each, 100, subsequent_indent=pad + "    ") for each in listed]
        function.__doc__ = function.__doc__.replace(f"{pad}{{options}}", "\n".join(filled))
    signature = inspect.signature(function)
    kept = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    kept += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option.default)
        for name, option in OPTIONS.items()
    ]
    shown = signature.replace(parameters=kept)
    function.__signature__ = shown  # type: ignore[attr-defined]  # which inspect reads
    return function
