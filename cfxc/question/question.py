"""A question as one value: what is asked of every factual, saved and read as TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import tomli_w

from ..errors import DataTypeError, InvalidInputError, UnsupportedError, as_written_in_code
from ..space import toml
from ..space.names import meant, names_arguments
from ..space.values import as_written
from ..writing import write_whole
from .criteria import CRITERIA, Condition, Criterion
from .diversity import Diverse
from .options import OPTIONS, Options, checked


class Question:
    """What is asked: target, distance, criteria, accuracy; the same for every factual.

    The options are :meth:`cfxc.CompiledModel.explain`'s, as attributes, checked::

        question = cfxc.Question(target="good", subject_to=["age >= factual.age"])
        model.explain(row, question)
        question.to_toml("question.toml")

    Attributes:
        given: The options that were given, as they were given.

    Raises:
        DataTypeError, InvalidInputError: an option that no question can have.
    """

    if TYPE_CHECKING:  # every option is an attribute

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, *unnamed: Any, **options: Unpack[Options]) -> None:
        if unnamed:
            raise DataTypeError(
                f"Question takes options by name, as Question(target={unnamed[0]!r}); there are "
                f"{', '.join(OPTIONS)}"
            )
        self.given: dict[str, Any] = dict(options)
        self.__dict__.update(checked(self.given))
        if self.apart and isinstance(self.diversity, Diverse):
            raise InvalidInputError(
                "apart is for diversity='points'; Diverse makes answers as different as they can "
                "be: leave one of the two out"
            )

    def with_(self, **options: Unpack[Options]) -> Question:
        """The same question, some options given anew."""
        return Question(**{**self.given, **options})

    def __repr__(self) -> str:
        given = (f"{name}={as_written_in_code(value)}" for name, value in self.given.items())
        return f"Question({', '.join(given)})"

    def of(self, kind: type[Criterion]) -> list[Any]:
        """The criteria of a kind."""
        return [each for each in self.subject_to if isinstance(each, kind)]

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions, as texts."""
        return tuple(each.text for each in self.of(Condition))

    def to_toml(self, path: str | Path | None = None) -> str:
        """The options that were given as TOML, written to a file if one is named.

        Raises:
            UnsupportedError: one that no text stands for: a fitted model, a table.
        """
        text = tomli_w.dumps({name: _plain(name, value) for name, value in self.given.items()})
        if path is not None:
            write_whole(path, text)
        return text

    @classmethod
    @names_arguments
    def from_toml(cls, source: str | Path) -> Question:
        """A question from a file, or from its text.

        Raises:
            InvalidInputError: no such file, no TOML, or an option that there is not.
        """
        text, where = toml.read(source, "question", "name its file")
        try:
            options = tomllib.loads(text)
        except ValueError as error:  # no TOML, or whole numbers of thousands of digits
            raise InvalidInputError(
                f"{where}: cannot be read as a question: {error}; name its file"
            ) from error
        for name in options:
            if name not in OPTIONS or not OPTIONS[name].in_file:
                known = [each for each in OPTIONS if OPTIONS[each].in_file]
                hint = f"{meant(name, known)}; there are {', '.join(known)}"
                if name in ("version", "feature"):
                    hint = ", so this is a feature space; name the file of a question"
                if name in CRITERIA:
                    hint = f": it is a criterion; write subject_to = [{{ {name} = … }}]"
                raise InvalidInputError(f"{where}: no option {name!r}{hint}")
        if "subject_to" in options:
            listed = options["subject_to"]
            listed = listed if isinstance(listed, list) else [listed]
            options["subject_to"] = [_criterion(each, where) for each in listed]
        if isinstance(options.get("target"), dict):
            ends = options["target"]
            options["target"] = tuple(ends.get(end) for end in ("lower", "upper"))
        try:
            return cls(**options)
        except (DataTypeError, InvalidInputError) as error:
            raise type(error)(f"{where}: {error}") from error


def asked_of(question: Question | None, options: Mapping[str, Any]) -> Question:
    """A question with options given beside it.

    Raises:
        DataTypeError: it is none.
    """
    return Question(**given_of(question, options))


def given_of(question: Question | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a question, and those beside it, which go before.

    Raises:
        DataTypeError: it is no question.
    """
    if question is not None and not isinstance(question, Question):
        raise DataTypeError(
            f"question is a cfxc.Question, not {type(question).__name__}; options are given by "
            "name: target='yes'"
        )
    return {**({} if question is None else question.given), **options}


def _plain(name: str, value: Any) -> Any:
    """An option's value as TOML holds it."""
    option = OPTIONS[name]
    if isinstance(value, Diverse):
        return str(value)
    if name == "subject_to":
        listed = [value] if isinstance(value, str | Criterion) else value
        return [each if isinstance(each, str) else _table(each) for each in listed]
    if name == "relax":
        return [str(each) for each in ([value] if isinstance(value, str | Criterion) else value)]
    if name == "target" and isinstance(value, tuple | list):
        ends = zip(("lower", "upper"), value, strict=True)
        return {end: _exactly(one) for end, one in ends if one is not None}
    if isinstance(value, dict) and name == "distance":
        return {norm: _exactly(weight) for norm, weight in value.items()}
    if isinstance(value, Fraction | Decimal):  # as the option is held: exact, or a double
        value = option.check(value, name)
        value = str(value) if isinstance(value, Fraction) else value
    if not option.in_file or not isinstance(value, str | bool | int | float):
        raise UnsupportedError(f"{name}: {value!r} cannot be written to a file")
    return value


def _exactly(value: Any) -> Any:
    """A number as TOML holds it: of fractions the text."""
    return value if isinstance(value, str | int | float) else str(as_written(value))


def _table(criterion: Criterion) -> Any:
    plain = criterion.to_toml()
    return plain if isinstance(criterion, Condition) else {criterion.name: plain}


def _criterion(given: Any, where: str) -> Any:
    """A criterion as :func:`_table` gave it."""
    if isinstance(given, str):
        return given
    if not isinstance(given, dict) or len(given) != 1 or next(iter(given)) not in CRITERIA:
        name = next(iter(given)) if isinstance(given, dict) and given else ""
        if name in CRITERIA:
            each = ", ".join(f"{{{one} = …}}" for one in given)
            raise InvalidInputError(f"{where}: one criterion a table: subject_to = [{each}]")
        raise InvalidInputError(
            f"{where}: subject_to lists conditions as texts, and tables of one of "
            f"{', '.join(CRITERIA)}; {given!r} is none{meant(name, CRITERIA)}"
        )
    ((name, value),) = given.items()
    return CRITERIA[name].from_toml(value)
