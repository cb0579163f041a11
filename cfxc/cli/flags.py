"""Arguments that commands share; flags of options and criteria, made from the tables of these.

The tables need what models are read with, which is slow to import.  So a command that takes such
flags has them from the moment it is called: its group completes it then.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup

from .remedies import note_options

if TYPE_CHECKING:
    from ..question.criteria import Criterion
    from ..question.question import Question

Columns = list[str] | None
NAMES = "NAMES"
ModelFile = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help=".onnx, .skops; XGBoost .json, .ubj; LightGBM .txt; CatBoost .json, .cbm; with "
        "--trust-pickle .pkl, .joblib",
    ),
]
SpaceFile = Annotated[Path, typer.Option("--space", help="Feature space (TOML).")]
Trust = Annotated[
    bool, typer.Option("--trust-pickle", help="Open a pickle, which runs the code in it.")
]
Output = Annotated[
    Path | None, typer.Option("-o", "--out", help="File to write; stdout without it.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that are there.")]
COUNTED = "rows below the header count from 0"
"""How rows of a table are counted, wherever they are."""
Factual = Annotated[
    str, typer.Option(metavar="ROW", help=f"row.json, row.csv, or data.csv:17; {COUNTED}.")
]
Favourable = Annotated[
    str | None,
    typer.Option(metavar="LABEL", help="The favourable outcome, where --target names none."),
]
QuestionFile = Annotated[
    Path | None,
    typer.Option(
        "--question", metavar="FILE", help="What is asked (TOML); flags go before what it says."
    ),
]
Range = Annotated[
    str | None, typer.Option("--range", metavar="LO:HI", help="Wanted range of a number.")
]
ALL = "constraints", "max_changes", "causal", "trust_region", "probability", "margin", "accepts"
"""The kinds of criteria."""
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]


class Kind(StrEnum):
    """What a model is."""

    classifier = "classifier"
    regressor = "regressor"


Task = Annotated[
    Kind | None,
    typer.Option(help="What a network is whose output is numbers alone, such as two logits."),
]
Decides = Annotated[
    str | None,
    typer.Option(
        "--output", metavar="NAME", help="Of a network: the output that decides, or its position."
    ),
]
Cut = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER", help="Of a network: what that must exceed for the second class."
    ),
]


@dataclass(frozen=True)
class Reading:
    """How a model is read."""

    task: Task = None
    output: Decides = None
    cut: Cut = None
    trust_pickle: Trust = False


def grouped(command: Callable[..., int]) -> Callable[..., int]:
    """A command with a flag for each field of those of its parameters that are dataclasses."""
    groups: dict[str, Any] = {}
    parameters = []
    for name, each in inspect.signature(command, eval_str=True).parameters.items():
        if name == "requested" or not is_dataclass(each.annotation):
            parameters.append(each.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        groups[name] = each.annotation
        hints = get_type_hints(each.annotation, include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, annotation=hints[field.name],
                default=inspect.Parameter.empty if field.default is MISSING else field.default,
            )
            for field in fields(each.annotation)
        ]  # fmt: skip

    @functools.wraps(command)
    def run(**given: Any) -> int:
        made = {
            name: kind(**{field.name: given.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        return command(**given, **made)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what inspect reads
    run.__annotations__ = {}
    return run


@dataclass(frozen=True)
class Asked:
    """What the flags of a command say: options that were given, and criteria."""

    options: Mapping[str, Any]
    subject_to: Sequence[Criterion]

    def question(self, base: Question | None = None, **more: Any) -> Question:
        """A question with what the flags say; criteria are added to those of ``base``.

        Of a kind that there can be one of, the flag's takes the place of the other.
        """
        from ..question.question import asked_of

        kept = [] if base is None else list(base.subject_to)
        kinds = tuple(type(each) for each in self.subject_to if each.once)
        kept = [each for each in kept if not isinstance(each, kinds)]
        given = {name: value for name, value in more.items() if value is not None}
        return asked_of(base, {**self.options, **given, "subject_to": [*kept, *self.subject_to]})


@dataclass(frozen=True)
class Flags:
    """What a command takes: options and kinds of criteria, by their names."""

    command: Callable[..., Any]
    options: bool
    criteria: tuple[str, ...]
    without: tuple[str, ...] = ()

    def own(self) -> list[inspect.Parameter]:
        """The command's own parameters."""
        found = inspect.signature(self.command).parameters
        return [each for name, each in found.items() if name != "requested"]

    def signature(self) -> inspect.Signature:
        """All parameters; those that must be given first."""
        both = [*self.own(), *self._options(), *self._criteria()]
        both = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in both]
        return inspect.Signature(both)

    def _options(self) -> Iterator[inspect.Parameter]:
        from ..question.options import OPTIONS, Options

        hints = get_type_hints(Options)
        for name, option in OPTIONS.items() if self.options else ():
            if option.flag is None or name in self.without:
                continue
            kind = hints[name] if hints[name] in (float, int, str) else str
            kind = list[str] if isinstance(option.default, tuple) else kind
            reported = "" if option.default in (None, ()) else f"  [default: {option.default}]"
            flag = option.flag or f"--{name.replace('_', '-')}"
            yield _flag(name, flag, kind, option.metavar, option.short + reported)

    def _criteria(self) -> Iterator[inspect.Parameter]:
        from ..question.criteria import CRITERIA

        for name in self.criteria:
            kind = CRITERIA[name]
            yield _flag(name, kind.flag, kind.flag_type, kind.metavar, kind.help)

    def requested(self, given: dict[str, Any]) -> Asked:
        """What was said by flags, which are taken out of the command's arguments."""
        from ..question.criteria import CRITERIA
        from ..question.options import OPTIONS

        options = {name: given.pop(name) for name in OPTIONS if self.options and name in given}
        found: list[Criterion] = []
        for name in self.criteria:
            value = given.pop(name)
            listed = [] if value is None else value if isinstance(value, list) else [value]
            found += CRITERIA[name].from_flags(listed) if listed else []
        return Asked({n: value for n, value in options.items() if value not in (None, [])}, found)


def takes(
    *criteria: str, options: bool = False, without: Sequence[str] = ()
) -> Callable[[Callable[..., int]], Any]:
    """A command, grouped, with flags for criteria and options; ``requested`` has what they say."""

    def decorate(command: Callable[..., int]) -> Any:
        command = grouped(command)
        flags = Flags(command, options, criteria, tuple(without))

        @functools.wraps(command)
        def run(**given: Any) -> int:
            requested = flags.requested(given)
            return command(requested=requested, **given)

        run.flags = flags  # type: ignore[attr-defined]  # for Group
        run.__signature__ = inspect.Signature(flags.own())  # type: ignore[attr-defined]  # for typer
        run.__annotations__ = {}
        return run

    return decorate


class Group(TyperGroup):
    """Commands, of which those that take flags of options and criteria get them when called."""

    def resolve_command(self, ctx: Any, args: Any) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        completed = _completed(command)
        note_options(option for each in completed.params for option in each.opts)
        return name, completed, rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            if hasattr(error, "option_name") and hasattr(error, "possibilities"):
                _advise(error)
            raise


def _advise(error: Any) -> None:
    """Of an unknown option, name the best of those alike; or where it is one."""
    flags = getattr(error.ctx.command.callback, "flags", None)
    name = error.option_name.lstrip("-").replace("-", "_")
    if flags is not None and name in flags.without:
        error.message += "; a batch gives one answer each: ask cfxc explain about a single row"
        error.possibilities = None
    elif error.possibilities:
        error.possibilities = error.possibilities[:1]


def _completed(command: Any) -> Any:
    flags = getattr(getattr(command, "callback", None), "flags", None)
    if flags is None:
        return command
    inner = command.callback.__wrapped__

    @functools.wraps(inner)
    def run(**given: Any) -> Any:
        return inner(**given)

    run.__signature__ = flags.signature()  # type: ignore[attr-defined]  # for typer
    run.__annotations__ = {}
    alone = typer.Typer(
        context_settings=command.context_settings, add_completion=False,
        pretty_exceptions_enable=False, rich_markup_mode=None,
    )  # fmt: skip
    alone.command(command.name)(run)
    return typer.main.get_command(alone)


def _flag(name: str, flag: str, kind: Any, metavar: str | None, reported: str) -> inspect.Parameter:
    option = typer.Option(flag, metavar=metavar, help=reported, show_default=False)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None,
        annotation=Annotated[kind | None, option],
    )  # fmt: skip
