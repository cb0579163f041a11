"""What the page is about: a model over a space, a table of instances, and a question to begin with.

The server and each of its workers read it from the same files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..frontends.row_files import read_people
from ..model import CompiledModel, compile
from ..question.outcomes import read_favourable
from ..question.question import Question
from ..show.letters.fields import GIVEN, checked
from ..show.letters.words import Words
from ..space import FeatureSpace

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Files:
    """Where everything is, and how the model is to be read; plain values, for a line of JSON."""

    model: str
    space: str
    data: str | None = None
    question: str | None = None
    favourable: str | None = None
    trust_pickle: bool = False
    task: str | None = None
    output: str | None = None
    cut: float | None = None

    def load(self) -> Site:
        """Read all of it."""
        space, people, wrong = FeatureSpace.from_toml(Path(self.space)), None, dict[int, str]()
        if self.data is not None:
            people, wrong = read_people(Path(self.data), space)
            space = space.with_examples(people) if len(people) else space
        task: Any = self.task
        model = compile(
            self.model, space, trust_pickle=self.trust_pickle, task=task, output=self.output,
            cut=self.cut, progress=False,
        )  # fmt: skip
        if self.favourable is not None:
            model = read_favourable(model, self.favourable)
        base = Question() if self.question is None else Question.from_toml(Path(self.question))
        return Site(self, model, base, people, wrong)


@dataclass(frozen=True)
class Site:
    """All of it, read.

    Attributes:
        people: The instances to pick from, by the rows' numbers from 0; ``None`` without a table.
        wrong: What is wrong with rows of the table that cannot be picked.
    """

    files: Files
    model: CompiledModel
    base: Question
    people: pd.DataFrame | None = None
    wrong: Mapping[int, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Tells models apart: of the file, if there is one, and of the program."""
        file = self.model.file
        return f"{'' if file is None else file['sha256']} {self.model.program.digest}"

    @cached_property
    def words(self) -> Words:
        """What features, values and outcomes are called."""
        return Words("en", self.model.space, checked({}, GIVEN, "plain"), GIVEN)

    def over(self, moves: Mapping[str, str]) -> CompiledModel:
        """The model over the same space, where some features may move less."""
        space = self.model.space
        for name, action in moves.items():
            space = space.replace(name, action=action, condition="")
        return replace(self.model, space=space)
