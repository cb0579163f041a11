"""What every criterion is: a condition beside the target, and how it is written and read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os.path import isfile
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from ...errors import InvalidInputError, UnsupportedError
from ...frontends.csv_files import number, truth
from ...frontends.row_files import once
from ...ir import Let, Literal, Program, Sort, ops
from ...lang import compile_constraint
from ...space import FeatureSpace
from ...space.cells import absent_of
from ...space.feature import sort_of
from ...space.names import shown
from ..domain import Domain
from ..effects import Effect
from ..hull import Hull
from ..target import Target

if TYPE_CHECKING:
    import pandas as pd


def settings_of(
    value: Any, kind: str, file: str, names: Sequence[str]
) -> tuple[str, dict[str, Any]]:
    """The file of a criterion and its settings: a table, or ``data.csv,epsilon=0.1`` as text.

    A file's name may have commas, if the file is there.  ``kind``: the criterion, ``file``: what
    the table calls its file, ``names``: of settings.

    Raises:
        InvalidInputError: another setting, one given twice, or no file.
    """
    if isinstance(value, str):
        parts = value.split(",")
        starts = [",".join(parts[:count]) for count in range(len(parts), 0, -1)]
        path = next((start for start in starts if isfile(start.strip())), parts[0])
        parts = parts[path.count(",") + 1 :]
        if odd := next((part for part in parts if "=" not in part), None):
            raise InvalidInputError(
                f"{kind}: {odd.strip()!r} is no setting, such as {names[0]}=…; or there is no file "
                f"{f'{path},{odd}'!r}"
            )
        pairs = [part.partition("=") for part in parts]
        value = once([(name.strip(), _figure(text.strip())) for name, _, text in pairs])
        value = {**value, file: path.strip()}
    if not isinstance(value, Mapping) or not isinstance(value.get(file), str):
        raise InvalidInputError(f"{kind}: a table with {file} = 'file', not {value!r}")
    settings = {name: each for name, each in value.items() if name != file}
    for name in settings:
        if name not in names:
            known = ", ".join(f"{each}=…" for each in names)
            raise InvalidInputError(f"{kind}: '{name}' is none of {known}")
    return value[file], settings


def _figure(text: str) -> Any:
    """A whole number, a number, a truth value, or the text itself."""
    for read in (number, truth):
        if (found := read(text)) is not None:
            return found
    return text


LONGEST = 40
"""Letters of a condition that messages quote."""


class Constraint(NamedTuple):
    """One condition of a query: its text, its meaning, and the criterion that asks for it.

    ``program``: features and ``factual.<feature>`` → ``holds``; ``by`` is ``None`` for what a
    feature's action or an engine adds.
    """

    text: str
    program: Program
    by: Criterion | None = None


@dataclass(frozen=True)
class Instance:
    """The factual that criteria are about: exact values, and what may become of each feature."""

    space: FeatureSpace
    factual: Mapping[str, Any]
    domains: tuple[Domain, ...]

    @cached_property
    def _sorts(self) -> dict[str, Sort]:
        return {feature.name: sort_of(feature) for feature in self.space}

    def compile(self, text: str) -> Program:
        """The program of a condition in the core language, over ``x`` and ``factual``.

        Raises:
            LanguageError: with line and column.
        """
        first = text.strip().splitlines()[0][:LONGEST] if text.strip() else ""
        source = f"constraint '{first}'" if "'" not in first else f"constraint: {first}"
        rising = [f.name for f in self.space if f.kind == "ordinal" and f.labels]
        cells = {f.name: f.held for f in self.space if f.kind == "real"}
        return compile_constraint(text, self._sorts, source, ordered=rising, cells=cells)

    def refuse_missing(self, what: str, names: Iterable[str], *, gaps: bool = True) -> None:
        """Refuse what reads features, or their ``factual.…``, whose number the factual lacks.

        ``gaps``: also numbers that an answer may fill in or lose; else these are for ``there``.

        Raises:
            InvalidInputError: naming them.
        """
        read = set(names)
        kept = {name.removeprefix("factual.") for name in read if name.startswith("factual.")}
        asked = [domain for domain in self.domains if domain.name in read | kept]
        open_ = [domain.name for domain in asked if domain.first is not None]
        own = kept if not gaps else kept.union(open_)
        lacking = [d.name for d in asked if d.is_absent and (d.name in own or d.first is None)]
        if lacking:
            raise InvalidInputError(
                f"{what} reads {shown(lacking)}, which is missing in this instance; leave it out, "
                "or give the number"
            )
        if gaps and open_:
            raise InvalidInputError(
                f"{what} reads {shown(open_)}, which an answer may lose; leave it out, or set "
                "missing = true in the feature space, so that the number is kept"
            )

    def there(self, program: Program) -> Program:
        """A condition that holds only where every number is there that it reads.

        Where a number is missing a comparison has no truth value, and what is not known to hold is
        not kept to.
        """
        read = dict(program.inputs)
        body, there = list(program.body), list[str]()
        for domain in self.domains:
            if domain.first is not None and domain.name in read:
                there.append(f"%there {domain.name}")
                absent = Literal(absent_of(domain.feature))
                body.append(Let(there[-1], ops.Gt(domain.name, absent)))
        if not there:
            return program
        body.append(Let("%all there", ops.And((program.output("holds"), *there))))
        return replace(program, body=tuple(body), outputs=(("holds", "%all there"),))


class Criterion:
    """Something that a counterfactual must keep to, beside the target: an entry of ``subject_to``.

    A subclass says in one file what it means, by whichever of the methods below it needs, how it is
    written in ``question.toml`` and on the command line, and its text (``str``).

    Attributes:
        name: Its key in ``question.toml``, its flag, and its name in ``relax``.
        once: Whether a question can have only one of the kind.
        flag, flag_type, metavar, help: Of its flag on the command line.
    """

    name: ClassVar[str]
    once: ClassVar[bool] = True
    flag: ClassVar[str]
    flag_type: ClassVar[Any] = list[str]
    metavar: ClassVar[str]
    help: ClassVar[str]

    def constraints(self, instance: Instance) -> Sequence[Constraint]:
        """The conditions that it sets for one factual."""
        return ()

    def effects(self, instance: Instance) -> Sequence[Effect]:
        """Features that follow from others, if it is a causal model."""
        return ()

    def stricter(self, program: Program, target: Target) -> Target:
        """The target, as it asks for it."""
        return target

    def hulls(
        self,
        space: FeatureSpace,
        target: Target,
        predict: Callable[[pd.DataFrame], Any],
        owner: object,
    ) -> Sequence[Hull]:
        """The hulls of which a counterfactual lies in one, if it asks for any."""
        return ()

    def to_toml(self) -> Any:
        """What ``question.toml`` holds of it.

        Raises:
            UnsupportedError: it holds an object that no text stands for.
        """
        raise UnsupportedError(f"{self}: a question with it cannot be written to a file")

    @classmethod
    def from_toml(cls, value: Any) -> Self:
        """It, from what :meth:`to_toml` gave."""
        return cls(value)  # type: ignore[call-arg] # of those that take one value

    @classmethod
    def from_flags(cls, given: Sequence[Any]) -> Sequence[Self]:
        """Them, from the values of their flag on the command line, one at least."""
        return [cls.from_toml(value) for value in given]
