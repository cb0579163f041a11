"""Mutated certificates: none that makes a claim false is accepted, and none breaks the checker."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.certificates import checker as check
from tests.certificates.mutants import crossed, mutants, rehashed
from tests.certificates.oracle import is_true
from tests.certificates.samples import SAMPLES, answered

LEAST = {"forest": 5000, "boosting l2": 3300, "l2 and penalty": 2500,
         "constraints": 5000, "network": 4600, "range": 3000,
         "float": 2500, "infeasible": 3500}  # fmt: skip
NONE = (check.Rejected, ValueError, RecursionError)
"""What is raised of bytes that are no certificate."""


def accepted(content: Any) -> bool:
    """Whether the checker accepts it; it must not fail in any other way, nor take long."""
    started = time.monotonic()
    try:
        check.check(content)
    except check.Rejected:
        return False
    finally:
        assert time.monotonic() - started < 20
    return True


@pytest.mark.parametrize("name", SAMPLES)
def test_no_false_claim_is_accepted(name: str, step: int) -> None:
    """Of each one accepted, enumeration shows that its claim is true; 20,000 and more in all."""
    content = answered(name).certificate.to_dict()
    assert accepted(content)
    assert is_true(content)
    tried, passed = 0, 0
    for path, mutant in islice(mutants(content), 0, None, step):
        tried += 1
        if accepted(mutant):
            passed += 1
            assert is_true(mutant), path
    assert tried >= LEAST[name] // step, tried
    assert passed < 0.35 * tried, passed


@pytest.mark.parametrize("name", SAMPLES)
def test_parts_of_another_certificate(name: str, step: int) -> None:
    content = answered(name).certificate.to_dict()
    for other in SAMPLES:
        both = crossed(content, answered(other).certificate.to_dict())
        for path, mutant in islice(both, 0, None, step):
            if accepted(mutant):
                assert is_true(mutant), (other, path)


def test_a_changed_certificate_has_another_hash() -> None:
    content = answered("forest").certificate.to_dict()
    for path, mutant in mutants(content):
        changed = {**mutant, "hash": content["hash"]} if isinstance(mutant, dict) else mutant
        assert changed == content or not accepted(changed), path


def test_a_bound_that_is_too_large_by_a_billionth() -> None:
    """Where nothing shows more than what is claimed."""
    content = answered("forest").certificate.to_dict()
    for place in ("claim", "proof"):
        changed = json.loads(json.dumps(content))
        name = "lower_bound" if place == "claim" else "radius"
        more = check.number(changed[place][name]) + Fraction(1, 10**9)
        changed[place][name] = str(more)
        if place == "proof":
            changed["claim"]["lower_bound"] = str(more)
        assert not accepted(rehashed(changed))


@pytest.mark.parametrize("text", ["x", "[" * 10**6, '{"a":' * 10**6, "NaN", "1.5", '{"a":1,"a":1}'])
def test_what_is_no_certificate(text: str) -> None:
    with pytest.raises(NONE):
        check.check(check.parse(text.encode()))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes(body: bytes) -> None:
    with pytest.raises(NONE):
        check.check(check.parse(body))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_bytes_changed_anywhere(data: st.DataObject) -> None:
    body = bytearray(answered("network").certificate.to_json().encode())
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = check.parse(bytes(body))
    except NONE:
        return
    if found != answered("network").certificate.to_dict():
        assert not accepted(found)


def test_deep_conditions_and_long_chains_are_rejected() -> None:
    content = json.loads(answered("constraints").certificate.to_json())
    deep: Any = ["ge", []]
    for _ in range(10**5):
        deep = ["not", deep]
    content["question"]["constraints"][0] = deep
    with pytest.raises(check.Rejected):
        check.check({**content, "hash": ""})


def test_it_gives_up_in_time() -> None:
    content = answered("forest").certificate.to_dict()
    with pytest.raises(check.Rejected, match="takes more than -1 seconds"):
        check.check(content, check.Clock(-1.0))
