"""Exact constant arrays: the parameters of ops.

A :class:`Tensor` holds doubles (``f64``, meaning the rationals they are), integers (``i64``),
booleans (``bool``) or arbitrary rationals (``rat``); NaN and infinities are refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import lcm, prod
from typing import Any, Literal

import numpy as np

from ..arrays import Array, Floats, Ints
from ..errors import VerificationError
from ..stopping import poll
from .sorts import Kind, format_rational

DType = Literal["f64", "i64", "bool", "rat"]
LONG = 4096  # bits of a common denominator
_NUMPY: dict[DType, Any] = {"f64": np.float64, "i64": np.int64, "bool": np.bool_, "rat": object}
_KIND: dict[DType, Kind] = {"f64": "real", "rat": "real", "i64": "int", "bool": "bool"}
ZERO = Fraction(0)


class Tensor:
    """An immutable dense array of exact numbers with value equality."""

    __slots__ = ("_coded", "_digest", "_exact", "_floats", "_whole", "array", "dtype")

    def __init__(self, values: Any, dtype: DType | None = None) -> None:
        given = np.asarray(values)
        self.dtype: DType = dtype or _infer(given)
        if given.dtype.kind == "f" and not np.isfinite(given).all():
            raise VerificationError("a constant holds NaN or an infinity")
        array = _as_fractions(given) if self.dtype == "rat" else _as_numbers(given, self.dtype)
        if self.dtype == "f64":
            array += 0.0  # -0.0 is the rational 0
        array.flags.writeable = False
        self.array: Array = array
        self._digest: bytes | None = None
        self._exact: Array | None = None
        self._coded: tuple[list[Any], Ints] | None = None
        self._whole: tuple[Array, int] | None = None
        self._floats: Floats | None = None

    @classmethod
    def of(cls, rationals: Array) -> Tensor:
        """Rationals: doubles where all of them are."""
        doubles = rationals.astype(np.float64)
        held = bool((rationals == doubles).all())
        return cls(doubles, "f64") if held else cls(rationals, "rat")

    def __reduce__(self) -> tuple[type[Tensor], tuple[Any, DType]]:
        return Tensor, (self.array, self.dtype)  # keeps copies and pickles immutable

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def kind(self) -> Kind:
        """Element kind of the values: ``real``, ``int`` or ``bool``."""
        return _KIND[self.dtype]

    def exact(self) -> Array:
        """The values as an object array of ``Fraction`` (real), ``int`` or ``bool``."""
        if self._exact is None:
            flat = self.array.ravel().tolist()
            exact = np.empty(len(flat), dtype=object)
            if self.dtype == "f64":  # most of a large matrix is often zero
                flat = [Fraction(v) if v else ZERO for v in flat]
            exact[:] = flat
            self._exact = exact.reshape(self.array.shape)
            self._exact.flags.writeable = False
        return self._exact

    def take(self, places: Ints) -> Tensor:
        """The entries of a vector at some places, in their shape; many may be the same."""
        made = Tensor.__new__(Tensor)
        made.dtype, made.array = self.dtype, self.array[places]
        made.array.flags.writeable = False
        made._digest, made._exact, made._whole, made._floats = None, None, None, None
        rational = self.dtype == "rat"
        made._coded = (self.array.tolist(), places.ravel()) if rational else None
        return made

    @property
    def coded(self) -> tuple[list[Any], Ints]:
        """Values, and which of them each entry is: few fill a large tensor of rationals."""
        if self._coded is None:
            every = self.array.ravel().tolist()
            own = list(map(id, every))  # of fractions, quicker told apart than their values
            places = {name: place for place, name in enumerate(dict.fromkeys(own))}
            values = list(dict(zip(own, every, strict=True)).values())
            codes = np.fromiter(map(places.__getitem__, own), dtype=np.int64, count=len(own))
            self._coded = values, codes
        return self._coded

    def whole(self) -> tuple[Array, int]:
        """Whole numbers and what to divide them by; 0 if that is too large to be of use."""
        if self._whole is None:
            numbers, shared = self.exact().ravel().tolist(), 1
            for below in {number.denominator for number in numbers}:
                shared = lcm(shared, below)
                if shared.bit_length() > LONG:
                    self._whole = np.empty(0, dtype=object), 0
                    return self._whole
            scaled = np.empty(len(numbers), dtype=object)
            scaled[:] = [n.numerator * (shared // n.denominator) for n in numbers]
            self._whole = scaled.reshape(self.array.shape), shared
        return self._whole

    def affine(self, x: Array, bias: Tensor) -> Array:
        """``W x + b`` of a matrix W (m, n) and rationals x (n,), b (m,), exactly, as Fractions.

        Whole numbers are added up many times faster than fractions.
        """
        (weight, below), (added, under) = self.whole(), bias.whole()
        if not (below and under):
            return np.asarray(np.frompyfunc(Fraction, 1, 1)(self.exact().dot(x) + bias.exact()))
        numbers = x.tolist()
        shared = lcm(*(number.denominator for number in numbers))
        scaled = np.empty(len(numbers), dtype=object)
        scaled[:] = [n.numerator * (shared // n.denominator) for n in numbers]
        whole = lcm(below * shared, under)
        total = weight.dot(scaled) * (whole // (below * shared)) + added * (whole // under)
        found = np.empty(weight.shape[0], dtype=object)
        found[:] = [Fraction(above, whole) for above in total.tolist()]
        return found

    def exact_sum(self, rows: Sequence[int] | Ints) -> Array:
        """The exact sum of some rows of a matrix, one entry per column."""
        chosen = self.array[np.asarray(rows, dtype=np.int64)]
        sums = np.empty(chosen.shape[1], dtype=object)
        if self.dtype != "f64":
            sums[:] = [sum(column, Fraction(0)) for column in chosen.T.tolist()]
        elif (limbs := _limbs(chosen)) is not None:
            high, low = (part.sum(axis=0).tolist() for part in limbs)
            sums[:] = [Fraction((h << 53) + k, 1 << 85) for h, k in zip(high, low, strict=True)]
        else:
            sums[:] = [sum(map(Fraction, column), Fraction(0)) for column in chosen.T.tolist()]
        return sums

    def floats(self) -> Floats:
        """The values rounded to doubles (identical for all but ``rat``)."""
        if self.dtype != "rat":
            return self.array.astype(np.float64)
        if self._floats is None:
            if self._whole is not None and self._whole[1]:
                above, below = self._whole  # a quotient of integers is rounded as a fraction is
                self._floats = np.asarray(above / below, dtype=np.float64)
            else:
                values, codes = self.coded
                flat = np.array(list(map(float, values)), np.float64)[codes]
                self._floats = flat.reshape(self.array.shape)
            self._floats.flags.writeable = False
        return self._floats

    def digest(self) -> bytes:
        """SHA-256 of dtype, shape and values."""
        if self._digest is None:
            poll()
            body = (
                self._text().encode()
                if self.dtype == "rat"
                else self.array.astype(self.array.dtype.newbyteorder("<"), copy=False).data
            )
            poll()
            made = hashlib.sha256(f"{self.dtype}{self.shape}".encode())
            made.update(body)
            self._digest = made.digest()
        return self._digest

    def _text(self) -> str:
        """Rationals by commas."""
        values, codes = self.coded
        texts = list(map(format_rational, values))
        return ",".join(map(texts.__getitem__, codes.tolist()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tensor) and self.digest() == other.digest()

    def __hash__(self) -> int:
        return hash(self.digest())

    def __repr__(self) -> str:
        return f"Tensor({self.dtype}{list(self.shape)})"

    def __str__(self) -> str:
        flat = self.array.ravel().tolist()
        body = ", ".join(map(_FORMAT[self.dtype], flat))
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]({body})"


def parse_tensor(text: str) -> Tensor:
    """Read the textual form ``f64[2, 3](…)`` back; inverse of ``str``.

    Raises ``ValueError`` (``VerificationError`` is one) for anything else.
    """
    head, _, body = text.partition("(")
    name, _, sizes = head.partition("[")
    shape = tuple(int(size) for size in sizes.rstrip("] ").split(",") if size.strip())
    body = body.strip().removesuffix(")").strip()
    items = body.split(",") if body else []
    dtype: DType = name.strip()  # type: ignore[assignment]  # the grammar admits only these four
    if len(items) != prod(shape):
        raise VerificationError(f"{len(items)} values do not fill {head.strip()}")
    values = list(map(_PARSE[dtype], items))
    array = np.empty(len(values), dtype=_NUMPY[dtype])
    array[:] = values
    return Tensor(array.reshape(shape), dtype)


_INFERRED: dict[str, DType] = {"O": "rat", "b": "bool", "i": "i64", "u": "i64", "f": "f64"}


def _infer(array: Array) -> DType:
    try:
        return _INFERRED[array.dtype.kind]
    except KeyError:
        raise VerificationError(f"a constant holds numbers, not {array.dtype}") from None


def _as_fractions(array: Array) -> Array:
    out = np.empty(array.size, dtype=object)
    try:
        flat = array.ravel().tolist()
        out[:] = [v if type(v) is Fraction else Fraction(v) for v in flat]
    except (TypeError, ValueError, OverflowError) as error:
        raise VerificationError(f"a constant holds no rational number: {error}") from None
    return out.reshape(array.shape)


def _as_numbers(given: Array, dtype: DType) -> Array:
    """A fresh array of ``dtype`` with exactly the given values, or ``VerificationError``."""
    if given.dtype == _NUMPY[dtype]:
        return np.array(given, order="C")
    if given.dtype.kind == "c":
        raise VerificationError("a constant holds real numbers, not complex ones")
    try:
        with np.errstate(all="ignore"):
            array = np.array(given, dtype=_NUMPY[dtype], order="C")
        same = array.ravel().tolist() == given.ravel().tolist()  # Python compares exactly
    except (TypeError, ValueError, OverflowError):
        same = False
    if not same:
        raise VerificationError(f"a constant of {given.dtype} does not fit {dtype} exactly")
    return array


def _format_f64(value: float) -> str:
    return f"{int(value)}." if value.is_integer() and abs(value) < 2**53 else value.hex()


def _parse_f64(text: str) -> float:
    if "0x" in text:
        return float.fromhex(text)
    if (text := text.strip()).endswith("."):
        return float(text)
    raise ValueError(f"a Real is written 3. or 0x1.8p+0, not {text!r}")


def _format_bool(value: bool) -> str:
    return "true" if value else "false"


def _parse_bool(text: str) -> bool:
    if (text := text.strip()) not in ("true", "false"):
        raise ValueError(f"a Bool is written true or false, not {text!r}")
    return text == "true"


def _parse_rat(text: str) -> Fraction:
    text = text.strip()
    return Fraction(float.fromhex(text)) if "0x" in text else Fraction(text)


_FORMAT: dict[DType, Callable[[Any], str]] = {
    "f64": _format_f64,
    "i64": str,
    "bool": _format_bool,
    "rat": format_rational,
}
_PARSE: dict[DType, Callable[[str], Any]] = {
    "f64": _parse_f64,
    "i64": int,
    "bool": _parse_bool,
    "rat": _parse_rat,
}


def _limbs(doubles: Array) -> tuple[Array, Array] | None:
    """Whole h and k below 2**53 with ``doubles = (2**53 h + k) / 2**85``, all signs as theirs.

    ``None`` where there are none, or sums along the first axis may not fit 64 bits.  Every step is
    exact: scaling by powers of 2, and taking off the part before the point.
    """
    with np.errstate(all="ignore"):  # where something overflows, there are none
        scaled = doubles * 2.0**32
        high = np.trunc(scaled)
        low = (scaled - high) * 2.0**53
    small = len(doubles) < 2**10 and bool((np.abs(scaled) < 2.0**53).all())
    if not small or (low != np.trunc(low)).any():
        return None
    return high.astype(np.int64), low.astype(np.int64)


def fractions(values: Sequence[Any]) -> Array:
    """An object vector of ``Fraction``."""
    return _as_fractions(np.array(list(values), dtype=object))
