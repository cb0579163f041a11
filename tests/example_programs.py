"""One table of example programs: text, inputs and exact outputs, for every evaluator and back end.

Every op occurs; ties, edges of ranges and both sides of each condition are among the cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

F = Fraction
Row = dict[str, Any]


@dataclass(frozen=True)
class Example:
    """A program and what it computes: ``cases`` are (inputs, outputs); vectors are lists."""

    name: str
    text: str
    cases: tuple[tuple[Row, Row], ...]


EXAMPLES = [
    Example(
        "arithmetic",
        """program arithmetic(x: Real, n: Int) {
             a: Real = add(x, n)
             b: Real = sub(a, 0x1p-1)
             c: Real = mul(b, -3)
             d: Real = div(c, 4)
             e: Real = neg(d)
             f: Real = abs(e)
             g: Int = mul(n, 2)
             return d = d, f = f, g = g
           }""",
        (
            ({"x": F(1, 2), "n": 2}, {"d": F(-3, 2), "f": F(3, 2), "g": 4}),
            ({"x": F(-1, 2), "n": -1}, {"d": F(3, 2), "f": F(3, 2), "g": -2}),
            ({"x": F(1, 2), "n": 0}, {"d": F(0), "f": F(0), "g": 0}),
        ),
    ),
    Example(
        "piecewise",
        """program piecewise(x: Real) {
             r: Real = relu(x)
             l: Real = leaky_relu(x, alpha=0x1p-2)
             c: Real = clip(x, lower=-1., upper=2.)
             lo: Real = minimum(x, 1)
             hi: Real = maximum(x, 1.)
             return r = r, l = l, c = c, lo = lo, hi = hi
           }""",
        (
            ({"x": F(-4)}, {"r": 0, "l": F(-1), "c": F(-1), "lo": F(-4), "hi": F(1)}),
            ({"x": F(0)}, {"r": 0, "l": F(0), "c": F(0), "lo": F(0), "hi": F(1)}),
            ({"x": F(1)}, {"r": 1, "l": F(1), "c": F(1), "lo": F(1), "hi": F(1)}),
            ({"x": F(9, 4)}, {"r": F(9, 4), "l": F(9, 4), "c": F(2), "lo": 1, "hi": F(9, 4)}),
        ),
    ),
    Example(
        "comparisons",
        """program comparisons(x: Real, y: Real) {
             le: Bool = le(x, y)
             lt: Bool = lt(x, y)
             ge: Bool = ge(x, y)
             gt: Bool = gt(x, y)
             eq: Bool = eq(x, y)
             ne: Bool = ne(x, y)
             return le = le, lt = lt, ge = ge, gt = gt, eq = eq, ne = ne
           }""",
        (
            (
                {"x": F(1), "y": F(2)},
                {"le": True, "lt": True, "ge": False, "gt": False, "eq": False, "ne": True},
            ),
            (
                {"x": F(2), "y": F(2)},
                {"le": True, "lt": False, "ge": True, "gt": False, "eq": True, "ne": False},
            ),
            (
                {"x": F(3), "y": F(2)},
                {"le": False, "lt": False, "ge": True, "gt": True, "eq": False, "ne": True},
            ),
        ),
    ),
    Example(
        "connectives",
        """program connectives(a: Bool, b: Bool) {
             both: Bool = and(a, b)
             any: Bool = or(a, b, false)
             no: Bool = not(a)
             pick: Real = select(a, 1., 2.)
             bit: Real = to_real(b)
             return both = both, any = any, no = no, pick = pick, bit = bit
           }""",
        tuple(
            (
                {"a": a, "b": b},
                {"both": a and b, "any": a or b, "no": not a, "pick": F(2 - a), "bit": F(b)},
            )
            for a in (False, True)
            for b in (False, True)
        ),
    ),
    Example(
        "categories",
        """program categories(job: Category{"clerk", 1, 0x1.0000000000000p+0, true, none}) {
             one: Bool = is_label(job, label=1)
             real: Bool = is_label(job, label=0x1.0000000000000p+0)
             missing: Bool = is_label(job, label=none)
             code: Int = lookup(job, labels={"clerk", 1, 0x1.0000000000000p+0, true, none}, \
table=i64[5](4, 3, 2, 1, 0))
             row: Real[2] = lookup(job, labels={"clerk", 1, 0x1.0000000000000p+0, true, none}, \
table=f64[5, 2](0., 1., 2., 3., 4., 5., 6., 7., 8., 9.))
             back: Category{"a", "b", "c", "d", "e"} = category(code, labels={"a", "b", "c", "d", "e"})
             kept: Category{"a", "b", "c", "d", "e"} = identity(back)
             return one = one, real = real, missing = missing, row = row, kept = kept
           }""",  # noqa: E501
        tuple(
            (
                {"job": job},
                {
                    "one": index == 1,
                    "real": index == 2,
                    "missing": index == 4,
                    "row": [F(2 * index), F(2 * index + 1)],
                    "kept": "edcba"[index],
                },
            )
            for index, job in enumerate(["clerk", 1, 1.0, True, None])
        ),
    ),
    Example(
        "vectors",
        """program vectors(x: Real, y: Real) {
             c: Real[2, 1] = constant(value=f64[2, 1](1., 0x1p-1))
             flat: Real[2] = reshape(c, shape=(2))
             v: Real[4] = concat(x, flat, y)
             w: Real[3] = take(v, indices=(3, 0, 3))
             a: Real[2] = affine(w, weight=f64[2, 3](1., 2., 3., 0., -1., 0x1p-1), \
bias=rat[2](1/3, 0))
             s: Real = reduce_sum(a)
             hi: Real = reduce_max(v)
             lo: Real = reduce_min(v)
             best: Int = argmax(v)
             third: Real = item(v, index=2)
             return a = a, s = s, hi = hi, lo = lo, best = best, third = third
           }""",
        (
            (
                {"x": F(1), "y": F(2)},
                {
                    "a": [F(31, 3), F(0)],
                    "s": F(31, 3),
                    "hi": F(2),
                    "lo": F(1, 2),
                    "best": 3,
                    "third": F(1, 2),
                },
            ),
            (
                {"x": F(1), "y": F(1)},
                {
                    "a": [F(19, 3), F(-1, 2)],
                    "s": F(35, 6),
                    "hi": F(1),
                    "lo": F(1, 2),
                    "best": 0,
                    "third": F(1, 2),
                },
            ),
            (
                {"x": F(0), "y": F(-1)},
                {
                    "a": [F(-11, 3), F(-1, 2)],
                    "s": F(-25, 6),
                    "hi": F(1),
                    "lo": F(-1),
                    "best": 1,
                    "third": F(1, 2),
                },
            ),
        ),
    ),
    Example(
        "float32",
        """program float32(x: Real) {
             y: Real = round_float32(x)
             exact: Bool = eq(x, y)
             return y = y, exact = exact
           }""",
        (
            ({"x": F(1, 8)}, {"y": F(1, 8), "exact": True}),
            ({"x": F(0.1)}, {"y": F(13421773, 2**27), "exact": False}),
            ({"x": F(2**24 + 1)}, {"y": F(2**24), "exact": False}),
            ({"x": F(2**24 + 3)}, {"y": F(2**24 + 4), "exact": False}),
        ),
    ),
    Example(
        "forest",  # x0 <= 0.5 ? 1 : (x1 <= 2 ? 2 : 3), and x1 <= 0 ? 10 : 20; base -1
        """program forest(a: Real, b: Real) {
             x: Real[2] = concat(a, b)
             y: Real[1] = tree_ensemble(x, roots=i64[2](0, 5), \
feature=i64[8](0, -1, 1, -1, -1, 1, -1, -1), \
threshold=f64[8](0x1p-1, 0., 2., 0., 0., 0., 0., 0.), \
left=i64[8](1, 0, 3, 0, 0, 6, 0, 0), right=i64[8](2, 0, 4, 0, 0, 7, 0, 0), \
value=f64[8, 1](0., 1., 0., 2., 3., 0., 10., 20.), base=f64[1](-1.)) @ "forest: 2 trees"
             score: Real = item(y, index=0)
             label: Bool = gt(score, 11)
             return score = score, label = label
           }""",
        (
            ({"a": F(1, 2), "b": F(0)}, {"score": F(10), "label": False}),
            ({"a": F(5, 8), "b": F(0)}, {"score": F(11), "label": False}),
            ({"a": F(5, 8), "b": F(2)}, {"score": F(21), "label": True}),
            ({"a": F(5, 8), "b": F(17, 8)}, {"score": F(22), "label": True}),
        ),
    ),
    Example(
        "smooth",  # at 0 the smooth functions are rational
        """program smooth(x: Real) {
             e: Real = exp(x)
             s: Real = sigmoid(x)
             t: Real = tanh(x)
             v: Real[2] = concat(x, 0.)
             p: Real[2] = softmax(v)
             return e = e, s = s, t = t, p = p
           }""",
        (({"x": F(0)}, {"e": F(1), "s": F(1, 2), "t": F(0), "p": [F(1, 2), F(1, 2)]}),),
    ),
    Example(
        "activations",  # far left softplus is 0 to all places
        """program activations(x: Real, y: Real) {
             a: Real = erf(x)
             b: Real = softplus(y)
             c: Real = softsign(x)
             d: Real = elu(x)
             e: Real = silu(x)
             f: Real = gelu(x)
             g: Real = gelu_tanh(x)
             h: Real = mish(x)
             return a = a, b = b, c = c, d = d, e = e, f = f, g = g, h = h
           }""",
        (({"x": F(0), "y": F(-3000)}, dict.fromkeys("abcdefgh", F(0))),),
    ),
    Example(
        "nested",  # the tree of the core level: both branches assign the same name
        """program nested(`a b`: Real, sex: Category{"m", "f"}) {
             c: Bool = le(`a b`, 3.)
             if c {
               m: Bool = is_label(sex, label="m")
               if m {
                 y: Int = identity(1)
               } else {
                 y: Int = identity(2)
               }
             } else {
               t: Real = mul(`a b`, 2)
               d: Bool = gt(t, 10)
               if d {
                 y: Int = identity(3)
               } else {
                 y: Int = identity(4)
               }
             }
             return y = y
           }""",
        (
            ({"a b": F(3), "sex": "m"}, {"y": 1}),
            ({"a b": F(0), "sex": "f"}, {"y": 2}),
            ({"a b": F(6), "sex": "f"}, {"y": 3}),
            ({"a b": F(5), "sex": "m"}, {"y": 4}),
        ),
    ),
    Example(
        "constant",  # no inputs, literal outputs
        """program constant() {
             v: Bool[2] = constant(value=bool[2](true, false))
             c: Category{"no", "yes"} = category(1, labels={"no", "yes"})
             return v = v, c = c, n = -7, third = 1/3, t = true
           }""",
        (({}, {"v": [True, False], "c": "yes", "n": -7, "third": F(1, 3), "t": True}),),
    ),
]

BY_NAME = {example.name: example for example in EXAMPLES}
