"""The characteristic formulae: by paths, compact and functional ones are proved equivalent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfxc.compiler.expand import expand
from cfxc.compiler.functional import Symbolic, functional
from cfxc.compiler.terms import Pool, Term, postorder
from cfxc.compiler.transform import (
    Characteristic,
    compact_formula,
    equation,
    path_formula,
    path_formulae,
    well_sorted,
)
from cfxc.errors import InvalidInputError, UnsupportedError, VerificationError
from cfxc.ir import INT, REAL, Program, evaluate, parse_program
from cfxc.lang import compile_program
from tests.compiler.provers import proved_equivalent, status
from tests.example_programs import EXAMPLES
from tests.strategies import inputs_of, programs

F = Fraction
TRANSFORMERS = (path_formula, compact_formula)

FIGURE_2 = """program tree(x1: Int, x2: Int, x3: Real) {
  if x1 == 1 then {
    if x3 > 0 then y := 0 else y := 1
  } else {
    if x2 == 1 then { if x3 > 2 then y := 1 else y := 0 } else y := 1
  };
  return y
}"""
FIGURE_3 = """program perceptron(x1: Real, x2: Real, x3: Real) {
  z1 := x1 - x2;
  if z1 >= 0 then t1 := z1 else t1 := 0;
  z2 := 2 * x3 - x1 + 0.5;
  if z2 >= 0 then t2 := z2 else t2 := 0;
  z3 := t1 - 3 * t2 + 1;
  if z3 >= 0 then y := 1 else y := 0;
  return y
}"""
LOOP = """program total(n: Int, sector: Category{"it", "law", "art"}) {
  s := 0;
  for i = 1..3 do {
    if sector == "law" then s := s + i else { if n > i then s := s + 2 * i else skip }
  };
  if s > 4 then return kept = s, word = "high" else return kept = 0, word = "low"
}"""


def forest() -> Program:
    return parse_program(next(e.text for e in EXAMPLES if e.name == "forest"))


def perceptron() -> Program:
    """Three inputs, three hidden neurons, two classes."""
    rng = np.random.default_rng(3)

    def rational(shape: tuple[int, ...]) -> str:
        dims = ", ".join(map(str, shape))
        numbers = ", ".join(f"{int(n)}/8" for n in rng.integers(-16, 17, int(np.prod(shape))))
        return f"rat[{dims}]({numbers})"

    return parse_program(f"""program mlp(a: Real, b: Real, c: Real) {{
      x: Real[3] = concat(a, b, c)
      z: Real[3] = affine(x, weight={rational((3, 3))}, bias={rational((3,))})
      h: Real[3] = relu(z)
      o: Real[2] = affine(h, weight={rational((2, 3))}, bias={rational((2,))})
      k: Int = argmax(o)
      label: Category{{"no", "yes"}} = category(k, labels={{"no", "yes"}})
      return label = label, o = o
    }}""")


PROGRAMS: dict[str, Callable[[], Program]] = {
    "figure 2": lambda: compile_program(FIGURE_2),
    "figure 3": lambda: compile_program(FIGURE_3),
    "loop": lambda: compile_program(LOOP),
    "forest": forest,
    "perceptron": perceptron,
    **{
        example.name: lambda example=example: parse_program(example.text)
        for example in EXAMPLES
        if example.name not in ("smooth", "forest", "vectors")  # float32 is relaxed by emission
    },
}


def outcome(pool: Pool, found: Characteristic, values: Mapping[str, Any]) -> Term:
    """The output variables have the given values: terms, or concrete ones."""
    facts = []
    for name, variable in found.outputs.items():
        value = values[name]
        if not isinstance(value, Term | Symbolic):
            if isinstance(variable, Symbolic):
                here = variable.labels.position(value)
                guards = tuple(pool.truth(i == here) for i in range(len(variable.labels)))
                value = Symbolic(variable.labels, guards)
            else:
                value = pool.truth(value) if isinstance(value, bool) else pool.const(value)
        facts.append(equation(pool, variable, value))
    return pool.and_(*facts)


def situation(pool: Pool, found: Characteristic, row: Mapping[str, Any]) -> Term:
    """The input variables have the given values."""
    inputs = Characteristic(pool.true, {}, found.inputs)
    return outcome(pool, inputs, row)


def is_linear(term: Term) -> bool:
    return not any(part.kind in ("mul", "apply") for part in postorder([term]))


def assert_transformers_agree(program: Program) -> None:
    """path ⇔ compact, and both imply that the outputs are the functional terms."""
    pool = Pool()
    try:
        by_path, compact = path_formula(program, pool), compact_formula(program, pool)
        terms = functional(program, by_path.inputs, pool)
    except UnsupportedError:
        return  # a division by an expression
    if not is_linear(pool.and_(by_path.formula, compact.formula)):
        return
    assert proved_equivalent(pool, by_path.formula, compact.formula)
    sane = [well_sorted(pool, value) for value in by_path.inputs.values()]
    equal = outcome(pool, compact, terms)
    assert status(pool, [*sane, compact.formula, pool.not_(equal)]) == "unsat"


def assert_valid_iff_computed(program: Program, rows: list[dict[str, Any]]) -> None:
    """φ(x, y) has a model iff y is what the program returns on x."""
    core = expand(program)
    for transformer in TRANSFORMERS:
        pool = Pool()
        found = transformer(core, pool)
        for row in rows:
            computed = evaluate(core, row)
            facts = [found.formula, situation(pool, found, row)]
            right = outcome(pool, found, computed)
            assert status(pool, [*facts, right]) == "sat"
            assert status(pool, [*facts, pool.not_(right)]) == "unsat"


@pytest.mark.parametrize("name", PROGRAMS)
def test_transformers_are_equivalent(name: str) -> None:
    assert_transformers_agree(expand(PROGRAMS[name]()))


@pytest.mark.parametrize("name", ["figure 2", "figure 3", "loop", "forest", "perceptron", "nested"])
def test_valid_iff_computed(name: str) -> None:
    program = PROGRAMS[name]()
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(3):
        row: dict[str, Any] = {}
        for each, sort in program.inputs:
            if sort.kind == "category":
                row[each] = sort.labels[rng.integers(len(sort.labels))]
            else:
                number = F(int(rng.integers(-8, 9)), 1 if sort.kind == "int" else 4)
                row[each] = int(number) if sort.kind == "int" else number
        rows.append(row)
    assert_valid_iff_computed(program, rows)


@settings(derandomize=True, max_examples=40)
@given(programs(core=True, max_statements=5))
def test_transformers_are_equivalent_on_any_program(program: Program) -> None:
    if not any(sort.shape for sort in program.sorts.values()):
        assert_transformers_agree(program)


@settings(derandomize=True, max_examples=20)
@given(st.data())
def test_valid_iff_computed_on_any_program(data: st.DataObject) -> None:
    program = data.draw(programs(core=True, max_statements=5))
    row = data.draw(inputs_of(program))
    if any(sort.shape for sort in program.sorts.values()):
        return
    try:
        evaluate(program, row)
        pool = Pool()
        linear = is_linear(compact_formula(program, pool).formula)
    except (UnsupportedError, VerificationError):
        return
    if linear:
        assert_valid_iff_computed(program, [row])


def test_paths_of_the_tree() -> None:
    """One path formula per leaf (Figure 2c); the leftmost: x1 = 1 and x3 > 0 and y = 0."""
    pool = Pool()
    program = compile_program(FIGURE_2)
    paths = path_formulae(program, pool)
    assert len(paths) == 5
    found = path_formula(program, pool)
    x1, x3, y = found.inputs["x1"], found.inputs["x3"], found.outputs["result"]
    leaf = [pool.eq(x1, pool.one), pool.gt(x3, pool.zero), pool.eq(y, pool.zero)]
    assert [status(pool, [path, *leaf]) for path in paths].count("sat") == 1
    assert status(pool, [found.formula, *leaf[:2], pool.not_(leaf[2])]) == "unsat"


def test_sizes() -> None:
    """n conditionals in a row: 2**n paths, and a compact formula of linear size."""

    def chain(length: int) -> Program:
        steps = "; ".join(f"if n > {i} then a{i} := n else a{i} := {i}" for i in range(length))
        total = " + ".join(f"a{i}" for i in range(length))
        return compile_program(f"{steps}; return {total}", inputs={"n": INT})

    sizes = []
    for length in (10, 20, 40):
        pool = Pool()
        compact_formula(chain(length), pool)
        sizes.append(len(pool))
    assert sizes[2] - sizes[1] <= 3 * (sizes[1] - sizes[0])
    assert len(path_formulae(chain(6), Pool())) == 2**6
    with pytest.raises(InvalidInputError, match="--formula compact"):
        path_formula(chain(40), Pool())


def test_temporaries_assigned_in_both_branches() -> None:
    """They are variables too: which value they have depends on the branch."""
    program = parse_program("""program p(x: Real) {
      c: Bool = gt(x, 0)
      if c {
        %t: Real = add(x, 1)
      } else {
        %t: Real = sub(x, 5)
      }
      y: Real = mul(%t, 2)
      return y = y
    }""")
    assert_transformers_agree(program)
    assert_valid_iff_computed(program, [{"x": F(1)}, {"x": F(0)}, {"x": F(-1)}])


def test_variables_called_like_outputs_and_guards() -> None:
    program = parse_program("""program p(`y.a`: Real, c: Category{"u", "v"}, `c=0`: Bool) {
      `y.b`: Real = add(`y.a`, 1)
      u: Bool = is_label(c, label="u")
      `y.a=0`: Bool = and(u, `c=0`)
      return a = `y.b`, b = `y.a`, c = c, d = `y.a=0`
    }""")
    assert_transformers_agree(program)
    rows = [{"y.a": F(2), "c": label, "c=0": flag} for label in "uv" for flag in (True, False)]
    assert_valid_iff_computed(program, rows)


def test_ranges_of_variables_are_kept() -> None:
    program = compile_program(
        "z := x + 1; if z > 2 then return 1 else return 0", inputs={"x": REAL}
    )
    pool = Pool()
    found = compact_formula(program, pool, {"x": (0, F(1, 2))})
    one = pool.eq(found.outputs["result"], pool.one)
    assert status(pool, [found.formula, one]) == "unsat"
    assert status(pool, [found.formula, pool.not_(one)]) == "sat"
