"""Random well-sorted programs of the core language, and an interpreter that walks their trees.

The interpreter is what the language means: assignments change an environment, loops run, ``ite``
and the connectives compute only what they need.
"""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from cfxc.ir import INT, REAL, Sort, category
from cfxc.lang import ast

J = 3
INPUTS: dict[str, Sort] = {
    "n": INT,
    "r": REAL,
    "s": category("u", "v", "w"),
    "g": category(0, 1),
    "m": category(True, False, None),
    "k": category(1, 2, 0.5),
    **{f"d.{i}": REAL for i in range(1, J + 1)},
}
HEADER = (
    'program p(n: Int, r: Real, s: Category{"u", "v", "w"}, g: Category{0, 1}, '
    "m: Category{true, false, none}, k: Category{1, 2, 0.5}, d: Real[J])"
)
VALUES = st.fixed_dictionaries(
    {
        "n": st.integers(-4, 4),
        "r": st.integers(-8, 8).map(lambda v: Fraction(v, 4)),
        "s": st.sampled_from("uvw"),
        "g": st.sampled_from([0, 1]),
        "m": st.sampled_from([True, False, None]),
        "k": st.sampled_from([1, 2, 0.5]),
        **{f"d.{i}": st.integers(-4, 4).map(lambda v: Fraction(v, 2)) for i in range(1, J + 1)},
    }
)

# -- the interpreter -------------------------------------------------------------------------------

_BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge, "max": max, "min": min,
}  # fmt: skip


def interpret(program: ast.Program, inputs: dict[str, Any]) -> dict[str, Any]:
    """Run ``program``; the inputs are named as in the IR."""
    return _run(program.body, dict(inputs))


def _run(command: ast.Command, state: dict[str, Any]) -> dict[str, Any]:
    """Change ``state``; return the outputs if the command returns."""
    if isinstance(command, ast.Assign):
        state[command.target] = value_of(command.value, state)
    elif isinstance(command, ast.Sequence):
        for each in command.commands:
            if outputs := _run(each, state):
                return outputs
    elif isinstance(command, ast.If):
        chosen = _truth(value_of(command.guard, state))
        return _run(command.then if chosen else command.otherwise, state)
    elif isinstance(command, ast.For):
        first, last = value_of(command.first, state), value_of(command.last, state)
        for index in range(int(first), int(last) + 1):
            state[command.variable] = index
            _run(command.body, state)
    elif isinstance(command, ast.Return):
        return {each.name or "result": value_of(each.value, state) for each in command.outputs}
    return {}


def _truth(value: Any) -> bool:
    assert value in (0, 1)
    return bool(value)


def _number(value: Any) -> Any:
    return Fraction(str(value)) if isinstance(value, float) else value


def value_of(expr: ast.Expr, state: dict[str, Any]) -> Any:
    """The value of an expression: a number, a Boolean or a label."""
    if isinstance(expr, ast.Number | ast.Boolean | ast.Label):
        return expr.value
    if isinstance(expr, ast.Missing):
        return None
    if isinstance(expr, ast.Name):
        return state[".".join(expr.parts)]
    if isinstance(expr, ast.Index):
        return state[f"{expr.base.root}.{int(value_of(expr.index, state))}"]
    if isinstance(expr, ast.Member):
        found = value_of(expr.operand, state)
        return any(_same(found, value_of(item, state)) for item in expr.items)
    if isinstance(expr, ast.Unary):
        inner = value_of(expr.operand, state)
        return not _truth(inner) if expr.operator == "!" else -_number(inner)
    if isinstance(expr, ast.Call):
        return _called(expr, state)
    assert isinstance(expr, ast.Binary)
    return _binary(expr, state)


def _binary(expr: ast.Binary, state: dict[str, Any]) -> Any:
    left = value_of(expr.left, state)
    if expr.operator in ("&&", "||", "->"):
        decided = _truth(left) is (expr.operator == "||")
        if decided:
            return expr.operator != "&&"
        return _truth(value_of(expr.right, state))
    right = value_of(expr.right, state)
    if expr.operator in ("==", "!="):
        return _same(left, right) is (expr.operator == "==")
    if expr.operator == "<->":
        return _truth(left) is _truth(right)
    if expr.operator == "/":
        return Fraction(_number(left)) / Fraction(_number(right))
    return _BINARY[expr.operator](_number(left), _number(right))


def _same(left: Any, right: Any) -> bool:
    """Equality of labels, truth values and numbers; a truth value may be compared with 0 and 1."""
    return bool(_number(left) == _number(right))


def _called(expr: ast.Call, state: dict[str, Any]) -> Any:
    if expr.function == "ite":
        condition, then, otherwise = expr.arguments
        return value_of(then if _truth(value_of(condition, state)) else otherwise, state)
    values = [_number(value_of(each, state)) for each in expr.arguments]
    if expr.function == "relu":
        return max(values[0], 0)
    if expr.function == "real":
        return Fraction(values[0])
    return abs(values[0]) if expr.function == "abs" else _BINARY[expr.function](*values)


# -- random programs -------------------------------------------------------------------------------


def _name(*parts: str) -> ast.Name:
    return ast.Name(parts)


def _constant(value: int | Fraction) -> ast.Number:
    return ast.Number(Fraction(value))


LABELS = st.sampled_from([ast.Label(each) for each in "uvw"])
NUMBERS = st.integers(-6, 6).map(lambda v: _constant(Fraction(v, 2)))
#: Variables that every program assigns first: two numbers, a truth value, a label.
START = {"x": _constant(0), "y": _name("r"), "b": ast.Boolean(True), "c": _name("s")}


def _called_with(function: str, *arguments: ast.Expr) -> ast.Call:
    return ast.Call(function, arguments)


def _chosen(guards: Any, values: Any) -> Any:
    return st.builds(_called_with, st.just("ite"), guards, values, values)


def _divided(left: ast.Expr, right: ast.Expr) -> ast.Expr:
    """``left / right``, 0 where that is undefined."""
    return ast.Call(
        "ite",
        (
            ast.binary("==", _as_number(right), _constant(0)),
            _constant(0),
            _safe_quotient(left, right),
        ),
    )


def _safe_quotient(left: ast.Expr, right: ast.Expr) -> ast.Expr:
    if isinstance(right, ast.Number) and not right.value:
        return left
    return ast.divide(left, right)


def _as_number(expr: ast.Expr) -> ast.Expr:
    """A category by itself would be compared label by label, and 3 is no label of g."""
    may_be_label = isinstance(expr, ast.Name) or (
        isinstance(expr, ast.Call) and expr.function == "ite"
    )
    return ast.binary("+", expr, _constant(0)) if may_be_label else expr


def expressions(loop: bool) -> tuple[Any, Any, Any]:
    """Strategies for numbers, guards and labels; in a loop ``i`` is a number and an index."""
    names = [_name(each) for each in ("x", "y", "n", "r", "g", "k")] + [_name("i")] * loop
    index = _name("i") if loop else _constant(2)
    leaves = st.one_of(NUMBERS, st.sampled_from(names), st.just(ast.Index(_name("d"), index)))
    label_leaves = st.one_of(LABELS, st.sampled_from([_name("s"), _name("c")]))
    simple_guards = st.one_of(
        st.sampled_from([_name("g"), _name("b"), ast.Boolean(True)]),
        st.builds(ast.binary, st.sampled_from(["==", "!="]), label_leaves, LABELS),
        st.builds(ast.binary, st.sampled_from(["==", "!="]), label_leaves, label_leaves),
        st.builds(ast.Member, label_leaves, st.lists(LABELS, min_size=1, max_size=2).map(tuple)),
        st.sampled_from(
            [
                ast.binary("==", _name("m"), ast.Missing()),
                ast.binary("!=", _name("m"), ast.Boolean(True)),
                ast.Member(_name("k"), (_constant(Fraction(1, 2)), _constant(2))),
            ]
        ),
        st.builds(ast.binary, st.sampled_from(["<", "<=", ">", ">="]), leaves, NUMBERS),
    )
    guards = st.recursive(
        simple_guards,
        lambda inner: st.one_of(
            st.builds(ast.unary, st.just("!"), inner),
            st.builds(ast.binary, st.sampled_from(["&&", "||", "->", "<->"]), inner, inner),
        ),
        max_leaves=3,
    )
    numbers = st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(ast.binary, st.sampled_from("+-"), inner, inner),
            st.builds(ast.binary, st.just("*"), inner, leaves),
            st.builds(_divided, inner, inner),
            st.builds(
                lambda f, x: ast.Call(f, (x,)), st.sampled_from(["abs", "relu", "real"]), inner
            ),
            st.builds(lambda f, *a: ast.Call(f, a), st.sampled_from(["max", "min"]), inner, inner),
            st.builds(ast.negate, inner),
            _chosen(guards, inner),
        ),
        max_leaves=4,
    )
    sides = numbers.map(_as_number)
    compared = st.builds(ast.binary, st.sampled_from(["<", "<=", ">=", "!=", "=="]), sides, sides)
    return (
        numbers,
        st.one_of(guards, compared),
        st.one_of(label_leaves, _chosen(guards, label_leaves)),
    )


def _commands(loop: bool) -> Any:
    numbers, guards, labels = expressions(loop)
    assignments = st.one_of(
        st.builds(ast.Assign, st.sampled_from("xy"), numbers),
        st.builds(ast.Assign, st.just("b"), guards.filter(lambda e: e != _name("g"))),
        st.builds(ast.Assign, st.just("c"), labels),
    )
    return st.recursive(
        st.one_of(assignments, st.just(ast.Skip())),
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map(ast.sequence),
            st.builds(ast.If, guards, inner, inner),
        ),
        max_leaves=6,
    )


def _returns() -> Any:
    numbers, guards, labels = expressions(loop=False)
    truths = guards.filter(lambda expr: expr != _name("g"))
    return st.one_of(
        st.builds(lambda x: ast.Return((ast.Output(None, x),)), numbers),
        st.builds(
            lambda x, b, c: ast.Return(
                (ast.Output("x", x), ast.Output("y.1", b), ast.Output("c", c))
            ),
            numbers,
            truths,
            labels,
        ),
    )


@st.composite
def core_programs(draw: Any) -> ast.Program:
    """Programs over :data:`INPUTS` that assign :data:`START`, compute, and return."""
    steps: list[ast.Command] = [ast.Assign(name, value) for name, value in START.items()]
    for _ in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            bounds = _constant(draw(st.integers(1, 2))), _constant(draw(st.integers(0, J)))
            steps.append(ast.For("i", *bounds, draw(_commands(loop=True))))
        else:
            steps.append(draw(_commands(loop=False)))
    first = draw(_returns())
    shape = first.names
    if draw(st.booleans()):
        second = draw(_returns().filter(lambda r: r.names == shape))
        guard = draw(expressions(loop=False)[1])
        steps.append(ast.If(guard, first, second))
    else:
        steps.append(first)
    return ast.Program(None, (), ast.sequence(steps))
