"""What tests of letters share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .letter_cases import answers_of, fitted

if TYPE_CHECKING:
    import cfxc
    from cfxc.answers.result import Result


@pytest.fixture(scope="module")
def letter_model() -> cfxc.CompiledModel:
    """A tree over pay, sector, membership and a fixed age."""
    return fitted()


@pytest.fixture(scope="module")
def answers(letter_model: cfxc.CompiledModel) -> dict[str, Result]:
    """Answers about one person, by status."""
    return answers_of(letter_model)
