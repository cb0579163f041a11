"""Constant arrays: exact, immutable, equal by value."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cfxc.errors import VerificationError
from cfxc.ir import Tensor
from cfxc.ir.tensor import parse_tensor

shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
finite = st.floats(allow_nan=False, allow_infinity=False)
tensors = st.one_of(
    hnp.arrays(np.float64, shapes, elements=finite),
    hnp.arrays(np.float32, shapes, elements=st.floats(-(2.0**90), 2.0**90, width=32)),
    hnp.arrays(np.int64, shapes),
    hnp.arrays(np.uint8, shapes),
    hnp.arrays(np.bool_, shapes),
    hnp.arrays(object, shapes, elements=st.fractions(), fill=st.nothing()),
).map(Tensor)


@given(tensors)
def test_text_round_trip(tensor: Tensor) -> None:
    again = parse_tensor(str(tensor))
    assert again == tensor
    assert (again.dtype, again.shape, again.kind) == (tensor.dtype, tensor.shape, tensor.kind)
    assert again.exact().tolist() == tensor.exact().tolist()
    assert hash(again) == hash(tensor)


@given(tensors)
def test_copies_and_pickles_are_equal_and_immutable(tensor: Tensor) -> None:
    for again in (copy.deepcopy(tensor), pickle.loads(pickle.dumps(tensor))):
        assert again == tensor
        assert again.dtype == tensor.dtype
        assert not again.array.flags.writeable


@given(tensors)
def test_exact_and_floats_agree(tensor: Tensor) -> None:
    exact, floats = tensor.exact(), tensor.floats()
    assert exact.shape == floats.shape == tensor.shape
    wanted = {"real": Fraction, "int": int, "bool": bool}[tensor.kind]
    for value, double in zip(exact.ravel().tolist(), floats.ravel().tolist(), strict=True):
        assert type(value) is wanted
        assert float(value) == double
    again = Tensor(tensor.array, tensor.dtype)
    again.whole()  # quotients of whole numbers then
    assert again.floats().tolist() == floats.tolist()


@pytest.mark.parametrize(
    ("values", "dtype", "text"),
    [
        (1.5, "f64", "f64[](0x1.8000000000000p+0)"),
        ([], "f64", "f64[0]()"),
        (np.zeros((2, 0)), "f64", "f64[2, 0]()"),
        ([1.0, -2.0], "f64", "f64[2](1., -2.)"),
        ([-0.0], "f64", "f64[1](0.)"),
        ([2.0**53, 2.0**53 - 1], "f64", "f64[2](0x1.0000000000000p+53, 9007199254740991.)"),
        ([5e-324], "f64", "f64[1](0x0.0000000000001p-1022)"),
        ([[1, 2], [3, -4]], "i64", "i64[2, 2](1, 2, 3, -4)"),
        ([-(2**63), 2**63 - 1], "i64", "i64[2](-9223372036854775808, 9223372036854775807)"),
        ([True, False], "bool", "bool[2](true, false)"),
        (np.array([Fraction(1, 3), 2], object), "rat", "rat[2](1/3, 2)"),
        (np.array([Fraction(1, 2)], object), "rat", "rat[1](0x1.0000000000000p-1)"),
        ([2**70], "rat", f"rat[1]({2**70})"),
        (np.float32(0.1), "f64", "f64[](0x1.99999a0000000p-4)"),
    ],
)
def test_dtype_and_text(values: Any, dtype: str, text: str) -> None:
    tensor = Tensor(values)
    assert tensor.dtype == dtype
    assert str(tensor) == text
    assert parse_tensor(text) == tensor


def test_equal_numbers_of_different_dtypes_or_shapes_are_different_tensors() -> None:
    ones = [
        Tensor([1.0]), Tensor([1]), Tensor([True]), Tensor([1.0], "rat"), Tensor(1.0),
        Tensor([[1.0]]), Tensor([1.0, 1.0]),
    ]  # fmt: skip
    assert len({tensor.digest() for tensor in ones}) == len(ones)
    assert len(set(ones)) == len(ones)
    assert Tensor([1.0]) != [1.0]


def test_minus_zero_is_zero() -> None:
    assert Tensor([-0.0]) == Tensor([0.0])
    assert Tensor([-0.0]).digest() == Tensor([0.0]).digest()


def test_layout_in_memory_does_not_matter() -> None:
    array = np.arange(6.0).reshape(2, 3)
    for same in (np.asfortranarray(array), array[:, ::-1][:, ::-1], array.astype(">f8")):
        assert Tensor(same) == Tensor(array)
        assert str(Tensor(same)) == str(Tensor(array))


def test_a_tensor_does_not_share_memory_and_cannot_be_written() -> None:
    array = np.array([1.0, 2.0])
    tensor = Tensor(array)
    array[0] = 9.0
    assert tensor.array.tolist() == [1.0, 2.0]
    for view in (tensor.array, tensor.exact()):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 3
    tensor.floats()[0] = 7.0  # a copy
    assert tensor.array.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([np.nan], None),
        ([np.inf], None),
        ([np.nan], "rat"),
        ([-np.inf], "rat"),
        (np.array([np.nan], object), None),
        (np.array([None], object), None),
        (np.array(["a"], object), None),
        (["1.5"], None),
        (["1.5"], "f64"),
        ([1j], None),
        ([1j], "f64"),
        (["2020-01-01T00:00"], None),
        (np.array(["2020-01-01"], "datetime64[D]"), None),
        ([1.5], "i64"),
        ([2], "bool"),
        (np.array([2**64 - 1], np.uint64), None),
        ([2**53 + 1], "f64"),
        (np.array([Fraction(1, 3)], object), "f64"),
        (np.array([2**70], object), "i64"),
        (np.array([1e19]), "i64"),
    ],
)
def test_what_does_not_fit_exactly_is_refused(values: Any, dtype: Any) -> None:
    with pytest.raises(VerificationError, match="a constant"):
        Tensor(values, dtype)


@pytest.mark.parametrize(
    ("values", "dtype", "exact"),
    [
        ([1, 2], "f64", [1, 2]),
        ([1.0, 2.0], "i64", [1, 2]),
        ([1, 0], "bool", [True, False]),
        (np.array([Fraction(1, 2)], object), "f64", [Fraction(1, 2)]),
        ([0.1], "rat", [Fraction(0.1)]),
        (np.array([2**63 - 1], np.uint64), None, [2**63 - 1]),
    ],
)
def test_what_fits_exactly_is_converted(values: Any, dtype: Any, exact: list[Any]) -> None:
    tensor = Tensor(values, dtype)
    assert tensor.dtype == (dtype or "i64")
    assert tensor.exact().tolist() == exact


@pytest.mark.parametrize(
    "text",
    [
        "f64[2](1.)", "f64[](1., 2.)", "f64[1]()", "f64[0](1.)", "f64[1](1)", "f64[1](1.5)",
        "f64[1](1e5)", "f64[1](nan.)", "f64[1](inf)", "f64[2](1.,, 2.)", "f64[1](0xg)", "f64[1](.)",
        "i64[1](1.)", "i64[1](0x1)", "bool[1](1)", "bool[1](True)", "rat[1](1/)", "rat[1](a)",
    ],
)  # fmt: skip
def test_malformed_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_tensor(text)


class TestWholeNumbers:
    """What is computed over whole numbers is what fractions say."""

    def test_an_affine_map_is_that_of_fractions(self) -> None:
        rng = np.random.default_rng(0)
        exact = np.vectorize(lambda v: Fraction(v).limit_denominator(97), otypes=[object])
        for rational in (False, True):
            weight, bias = rng.normal(size=(5, 7)), rng.normal(size=5)
            tensor = Tensor(exact(weight) if rational else weight)
            added = Tensor(exact(bias) if rational else bias)
            x = np.array([3, *(Fraction(int(k), 7) for k in rng.integers(-9, 9, 6))], dtype=object)
            found = tensor.affine(x, added)
            assert found.tolist() == (tensor.exact().dot(x) + added.exact()).tolist()
            assert {type(value) for value in found} == {Fraction}

    def test_where_no_common_denominator_is_of_use_fractions_are_added(self) -> None:
        primes = [Fraction(1, 10**600 + 2 * k + 1) for k in range(9)]
        tensor = Tensor(np.array([primes], dtype=object))
        assert tensor.whole()[1] == 0
        ones = np.array([1] * 9, dtype=object)
        assert tensor.affine(ones, Tensor([1])).tolist() == [sum(primes) + 1]
        assert Tensor(np.ones((9, 1))).affine(ones[:1], Tensor(primes)).tolist() == [
            prime + 1 for prime in primes
        ]

    def test_of_nothing_the_map_is_its_bias(self) -> None:
        nothing = np.empty(0, dtype=object)
        found = Tensor(np.zeros((2, 0))).affine(nothing, Tensor([0.5, 3.0]))
        assert found.tolist() == [Fraction(1, 2), 3]


class TestTaken:
    def test_it_is_what_its_entries_make(self) -> None:
        values = [Fraction(1, 3), Fraction(2), Fraction(1, 3)]
        places = np.array([[0, 1], [2, 2]])
        taken, made = Tensor(values).take(places), Tensor(np.array(values, dtype=object)[places])
        assert taken == made
        assert str(taken) == str(made)
        assert taken.floats().tolist() == made.floats().tolist()

    def test_doubles_too(self) -> None:
        places = np.array([1, 0, 1])
        assert Tensor([0.5, 0.1]).take(places) == Tensor([0.1, 0.5, 0.1])

    def test_codes_say_which_value_each_entry_is(self) -> None:
        tensor = Tensor(np.array([[Fraction(1, 3), Fraction(1, 7)], [Fraction(1, 3), 5]]))
        values, codes = tensor.coded
        assert [values[code] for code in codes] == tensor.array.ravel().tolist()


class TestExactSums:
    @pytest.mark.parametrize(
        "scale", [1.0, 1e-9, 2.0**-60, 2.0**20, 2.0**40, 1e300, 5e-324], ids=str
    )
    def test_a_sum_is_that_of_fractions(self, scale: float) -> None:
        """Whether the doubles fit two whole numbers or not."""
        rng = np.random.default_rng(0)
        values = rng.normal(size=(50, 3)) * scale
        found = Tensor(values).exact_sum(np.arange(50))
        assert found.tolist() == [sum(map(Fraction, column)) for column in values.T.tolist()]

    def test_of_many_rows(self) -> None:
        values = np.full((3000, 1), 0.1)
        assert Tensor(values).exact_sum(np.arange(3000)).tolist() == [3000 * Fraction(0.1)]

    def test_small_negative_numbers_beside_large_ones(self) -> None:
        values = np.array([[-(2.0**-70)], [1.0], [-3.5], [2.0**-85]])
        found = Tensor(values).exact_sum(np.arange(4)).tolist()
        assert found == [sum(map(Fraction, values.ravel().tolist()))]
