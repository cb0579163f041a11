"""Claims that are false, and proofs made for them: the checker takes none."""

from __future__ import annotations

import pytest

from cfxc.certificates import checker as check
from tests.certificates.written import NOWHERE, certificate, number, question

X = [[["x", 0], "1"]]


@pytest.mark.parametrize(("own", "action"), [(5, "free"), (5, "increase"), (12, "free")])
def test_a_factual_outside_of_the_range_is_refused(own: int, action: str) -> None:
    """A range of one value has size 0, so nothing is far; the value itself was clipped away."""
    feature = number("a", own, 10, 10, step=1, width=0, action=action)
    content = certificate(question([feature], [X]), NOWHERE)
    with pytest.raises(check.Rejected, match="the factual lies outside"):
        check.check(content)


def test_a_kind_of_numbers_has_no_labels() -> None:
    feature = {"name": "a", "kind": "real", "labels": ["u", "v"], "lower": None, "upper": None}
    feature |= {"step": None, "float": 0, "weight": "1", "action": "free"}
    content = certificate(question([(feature, "u")], [[[["is", 0, 1], "1"]]]), NOWHERE)
    with pytest.raises(check.Rejected, match="labels and numbers"):
        check.check(content)
