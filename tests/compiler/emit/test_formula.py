"""The readable formula says what the terms say: read back and evaluated, it agrees with them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cfxc.compiler.expand import expand
from cfxc.compiler.terms import Pool, evaluate_term
from cfxc.compiler.transform import Characteristic, compact_formula, path_formula
from cfxc.errors import UnsupportedError
from cfxc.ir import If, Program, evaluate, parse_program
from cfxc.ir.evaluator import run
from cfxc.ir.ops.smooth import smooth_kinds
from cfxc.ir.sorts import label_key, parse_name
from cfxc.show.formula import emit_formula, number_text
from tests.compiler.formulas import FUNCTIONS
from tests.example_programs import EXAMPLES
from tests.strategies import inputs_of, programs

TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>`(?:[^`\\]|\\.)*`)|(?P<text>"(?:[^"\\]|\\.)*")"""
    r"""|(?P<number>\d+/\d+|\d+(?:\.\d+)?(?:e[+-]?\d+)?)|(?P<name>[%A-Za-z_φ][\w.]*)"""
    r"""|(?P<sign>[∧∨¬↔≤≥≠=<>·+\-(),]))"""
)
RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda x, y: x == y,
    "≠": lambda x, y: x != y,
    "≤": lambda x, y: x <= y,
    "≥": lambda x, y: x >= y,
    "<": lambda x, y: x < y,
    ">": lambda x, y: x > y,
}


@dataclass(frozen=True)
class Labelled:
    """The value of a category; compared with literals of labels."""

    key: tuple[str, Any]


class Reader:
    """Evaluates the text of a formula in an environment: name → value."""

    def __init__(self, text: str, values: Mapping[str, Any]) -> None:
        self.values = values
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while text[at:].strip():
            match = TOKEN.match(text, at)
            assert match, text[at : at + 40]
            self.tokens.append((str(match.lastgroup), str(match[str(match.lastgroup)])))
            at = match.end()
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, wanted: str = "") -> tuple[str, str]:
        token = self.tokens[self.at]
        assert wanted in ("", token[1])
        self.at += 1
        return token

    def formula(self) -> Any:
        if self.peek() == "if":
            self.take()
            condition = self.formula()
            self.take("then")
            x = self.formula()
            self.take("else")
            y = self.formula()
            return x if condition else y
        result = self.atom()
        while self.peek() in ("∧", "∨", "↔"):
            sign = self.take()[1]
            other = self.atom()
            result = {"∧": result and other, "∨": result or other, "↔": result == other}[sign]
        return result

    def atom(self) -> Any:
        if self.peek() == "¬":
            self.take()
            return not self.primary()
        left = self.sum()
        if self.peek() not in RELATIONS:
            return left
        relation = RELATIONS[self.take()[1]]
        return relation(left, self.label() if isinstance(left, Labelled) else self.sum())

    def label(self) -> Labelled:
        kind, text = self.tokens[self.at]
        if kind in ("quoted", "name") and text not in ("true", "false", "none"):
            value = self.primary()
            assert isinstance(value, Labelled)
            return value
        minus = text == "-"
        self.at += 1 + minus
        text = "-" * minus + self.tokens[self.at - 1][1]
        words = {"true": True, "false": False, "none": None}
        return Labelled(label_key(words[text] if text in words else json.loads(text)))

    def sum(self) -> Any:
        negative = self.peek() == "-"
        self.at += negative
        total = -self.product() if negative else self.product()
        while self.peek() in ("+", "-"):
            sign = self.take()[1]
            other = self.product()
            total = total + other if sign == "+" else total - other
        return total

    def product(self) -> Any:
        result = self.primary()
        while self.peek() == "·":
            self.take()
            result = result * self.primary()
        return result

    def primary(self) -> Any:
        kind, text = self.take()
        if text == "(":
            result = self.formula()
            self.take(")")
            return result
        if kind == "number":
            return Fraction(text) if "/" in text or text.isdigit() else Fraction(float(text))
        if text in ("true", "false"):
            return text == "true"
        if text == "max" and self.peek() == "(":
            self.take("(")
            parts = [self.formula()]
            while self.take()[1] == ",":
                parts.append(self.formula())
            return max(parts)
        if text in FUNCTIONS and self.peek() == "(":
            self.take("(")
            result = FUNCTIONS[text](self.formula())
            self.take(")")
            return result
        assert kind in ("quoted", "name"), text
        return self.values[parse_name(text[1:-1]) if kind == "quoted" else text]


def truth(text: str, values: Mapping[str, Any]) -> bool:
    """The truth of an emitted formula; declarations are taken for granted."""
    known = dict(values)
    body: list[str] = []
    for block in re.split(r"\n(?=φ|∧ |  \S)", "\n" + text):
        if re.match(r"(∧ |  )(`(?:[^`\\]|\\.)*`|\S+) ∈ ", block) or not block.strip():
            continue
        name, defined, definition = block.partition(" := ")
        if defined and name.startswith("φ"):
            known[name] = Reader(definition, known).formula()
        else:
            body.append(block[2:])
    return all(Reader(conjunct, known).formula() for conjunct in body)


def variables(program: Program, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Values of everything assigned on inputs, and of the outputs as ``y.<name>``."""
    values = dict(inputs)
    run(program.body, values)
    return values | {f"y.{name}": value for name, value in evaluate(program, inputs).items()}


def compare(
    program: Program, make: Callable[[Program, Pool], Characteristic], values: Mapping[str, Any]
) -> bool:
    """Assert that text and terms have one truth at ``values``; return it."""
    pool = Pool()
    found = make(program, pool)
    sorts = dict(program.sorts) | {f"y.{n}": s for n, s in program.output_sorts.items()}
    assignment: dict[str, Any] = {}
    named: dict[str, Any] = {}
    for name, sort in sorts.items():
        # what was not assigned on this path can have any value
        default = sort.labels[0] if sort.kind == "category" else sort.kind != "bool" and Fraction(0)
        value = values.get(name, default)
        named[name] = Labelled(label_key(value)) if sort.kind == "category" else value
        if sort.kind == "category":
            assignment |= {
                f"{name}={i}": label_key(value) == label_key(label)
                for i, label in enumerate(sort.labels)
            }
        else:
            assignment[name] = value
    expected = bool(evaluate_term(found.formula, assignment))
    assert truth(emit_formula(program, found, pool), named) == expected
    return expected


def moved(values: Mapping[str, Any], program: Program) -> dict[str, Any]:
    """The same values with another value of the first output, where there is one."""
    name, sort = next(iter(program.output_sorts.items()))
    old = values[f"y.{name}"]
    new: Any = (not old) if sort.kind == "bool" else old
    if sort.kind == "category":
        new = sort.labels[(sort.index(old) + 1) % len(sort.labels)]
    elif sort.kind != "bool":
        new = old + 1
    return {**values, f"y.{name}": new}


def has_vectors(program: Program) -> bool:
    return any(sort.shape for sort in program.sorts.values())


TRANSFORMERS = [compact_formula, path_formula]


@pytest.mark.parametrize("make", TRANSFORMERS)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples(example: Any, make: Any) -> None:
    program = parse_program(example.text)
    if any(sort.shape for _, sort in program.inputs):
        return  # vectors are split: the cases do not fit any more
    program = expand(program)
    try:
        make(program, Pool())
    except UnsupportedError:
        return
    inexact = (*smooth_kinds(), "round_float32")
    if any(f"{op}(" in str(program) for op in inexact):
        return
    for inputs, _ in example.cases:
        values = variables(program, inputs)
        assert compare(program, make, values)
        compare(program, make, moved(values, program))


@settings(max_examples=60)
@given(st.data())
def test_any_program(data: st.DataObject) -> None:
    program = data.draw(programs(exact=True, max_statements=4))
    assume(not (any(isinstance(s, If) for s in program.body) and has_vectors(program)))
    program = expand(program)
    assume(program.outputs)  # all of them may be vectors without entries
    results = {f"y.{name}" for name, _ in program.outputs}
    assume(not any(name in results or "=" in name for name in program.sorts))  # would be primed
    assume(not any(name.startswith("φ") for name, _ in program.inputs))
    inputs = data.draw(inputs_of(program))
    make = data.draw(st.sampled_from(TRANSFORMERS))
    try:
        make(program, Pool())
    except UnsupportedError:
        return
    values = variables(program, inputs)
    assert compare(program, make, values)
    compare(program, make, moved(values, program))


TREE = """program tree(age: Int, `pay gap`: Real, sector: Category{"it", "law"}) {
  old: Bool = gt(age, 0x1.94p+5)
  if old {
    rich: Bool = le(`pay gap`, 0x1.3be76c8b43958p+5)
    if rich { v: Real = identity(1.) } else { v: Real = identity(0x1.8p-1) }
  } else {
    law: Bool = is_label(sector, label="law")
    if law { v: Real = identity(0x1p-2) } else { v: Real = identity(0.) }
  }
  z: Real = mul(0x1.999999999999ap-4, v)
  high: Bool = gt(z, 0x1p-4)
  if high { y: Category{"no", "yes"} = category(1, labels={"no", "yes"}) }
  else { y: Category{"no", "yes"} = category(0, labels={"no", "yes"}) }
  return label = y
}"""


def test_golden(golden: Callable[[str, str], None]) -> None:
    program, pool = parse_program(TREE), Pool()
    golden("formula/compact.txt", emit_formula(program, compact_formula(program, pool), pool))
    pool = Pool()
    golden("formula/path.txt", emit_formula(program, path_formula(program, pool), pool, ["Paths"]))


def test_shared_formulae_are_named_and_long_ones_broken() -> None:
    terms = " ".join(f"a{i}: Real = mul({i + 2}, x{i})" for i in range(30))
    sums = " ".join(f"s{i}: Real = add({f's{i - 1}' if i else 'a0'}, a{i})" for i in range(30))
    inputs = ", ".join(f"x{i}: Real" for i in range(30))
    text = f"program wide({inputs}) {{ {terms} {sums} return score = s29 }}"
    text = re.sub(r"\b([as]\d+)\b", r"%\1", text)  # temporaries: one long sum
    program, pool = parse_program(text), Pool()
    lines = emit_formula(program, compact_formula(program, pool), pool).splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[-1].lstrip().startswith("+")


def test_deep_programs_print() -> None:
    depth = 3000
    opening = "".join(f"t{i}: Bool = le(x, {i}) if t{i} {{ y: Int = identity({i}) }} else {{ "
                      for i in range(depth))  # fmt: skip
    text = f"program deep(x: Real) {{ {opening} y: Int = identity(-1) {'}' * depth} return y = y }}"
    program, pool = parse_program(text), Pool()
    emitted = emit_formula(program, compact_formula(program, pool), pool)
    assert f"x ≤ {depth - 1}" in emitted
    assert len(emitted) < 400 * depth


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(3), "3"),
        (Fraction(-(10**15)), "-1000000000000000"),
        (Fraction(10**30 + 1), f"{10**30 + 1}/1"),
        (Fraction(2**80), repr(float(2**80))),
        (Fraction(0.1), "0.1"),
        (Fraction(1, 10), "1/10"),
        (Fraction(-1, 3), "-1/3"),
    ],
)
def test_numbers_are_exact(value: Fraction, text: str) -> None:
    assert number_text(value) == text
    assert Fraction(text) == value or Fraction(float(text)) == value


def test_names_that_clash_are_primed() -> None:
    program, pool = (
        parse_program(
            """program clash(y.a: Real, y.b: Category{"u", "v"}) {
                 w: Category{"u", "v"} = identity(y.b)
                 s: Real = add(y.a, 1)
                 return a = s, b = w
               }"""
        ),
        Pool(),
    )
    lines = emit_formula(program, compact_formula(program, pool), pool).splitlines()
    assert [line[2:].split(" ∈ ")[0] for line in lines[:4]] == ["y.a", "y.b", "`y.a'`", "`y.b'`"]
    assert "∧ s = y.a + 1" in lines
    assert "∧ `y.a'` = s" in lines
    assert {"∧ w = y.b", "∧ `y.b'` = w"} <= set(lines)
