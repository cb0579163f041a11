"""Every op is complete: meaning, interval, batch rule, strategy, text."""

from __future__ import annotations

import dataclasses
import inspect

import pytest
from hypothesis import Phase, given, seed, settings

from cfxc.ir import Literal, Program, Tensor, ops
from cfxc.ir.batch import RULES
from cfxc.ir.op import ATTRIBUTE_TYPES, REGISTRY, Op, layout, register
from cfxc.ir.parser import _CONVERT as CONVERTERS
from tests.strategies import CORE, INEXACT, MAKERS, programs

each_op = pytest.mark.parametrize("cls", REGISTRY.values(), ids=list(REGISTRY))


def test_the_registry_is_what_the_package_exports() -> None:
    exported = {getattr(ops, name) for name in ops.__all__}
    assert exported == {*REGISTRY.values(), ops.PiecewiseLinear, ops.Smooth}  # bases
    assert len(exported) == len(ops.__all__)


@each_op
def test_defines_sort_meaning_and_interval(cls: type[Op]) -> None:
    for method in ("sort", "evaluate", "interval"):
        assert getattr(cls, method) is not getattr(Op, method), method
    assert inspect.getdoc(cls)
    assert dataclasses.is_dataclass(cls)
    assert cls.__dataclass_params__.frozen


@each_op
def test_has_a_batch_rule(cls: type[Op]) -> None:
    assert RULES.keys() & set(cls.__mro__)


def test_no_rule_is_for_an_unknown_op() -> None:
    assert set(RULES) <= {*REGISTRY.values(), ops.PiecewiseLinear}


@each_op
def test_attributes_can_be_checked_and_read(cls: type[Op]) -> None:
    shape = layout(cls)
    for attribute in shape.attributes:
        assert shape.types[attribute] in ATTRIBUTE_TYPES
        assert shape.types[attribute] in CONVERTERS


@each_op
def test_is_drawn_by_the_strategies(cls: type[Op]) -> None:
    assert cls in MAKERS


def _drawn(wanted: set[type[Op]], *, exact: bool, core: bool) -> set[type[Op]]:
    """The ops in drawn programs; stops early once all wanted ones were seen."""
    found: set[type[Op]] = set()
    for number in range(8):

        @seed(number)
        @settings(max_examples=100, database=None, phases=[Phase.generate])
        @given(programs(exact=exact, core=core))
        def collect(program: Program) -> None:
            found.update(type(let.op) for let in program.lets())

        collect()
        if found >= wanted:
            break
    return found


def test_strategies_reach_every_op() -> None:
    wanted = set(REGISTRY.values())
    assert _drawn(wanted, exact=False, core=False) == wanted


def test_exact_strategies_reach_all_rational_ops() -> None:
    wanted = set(REGISTRY.values()) - INEXACT
    assert _drawn(wanted, exact=True, core=False) == wanted


def test_core_strategies_reach_the_core_and_stay_in_it() -> None:
    assert CORE <= _drawn(CORE, exact=True, core=True) <= CORE | {ops.Constant, ops.Argmax}


def test_a_name_is_registered_once() -> None:
    with pytest.raises(TypeError, match="'add' is registered twice"):
        register("add")(ops.Sub)


def test_only_the_last_operand_may_be_variadic() -> None:
    @dataclasses.dataclass(frozen=True)
    class Odd(Op):
        many: tuple[Literal, ...]
        one: Literal

    Odd.__dataclass_fields__["many"].type = "tuple[Operand, ...]"
    Odd.__dataclass_fields__["one"].type = "Operand"
    with pytest.raises(TypeError, match="only the last operand may be variadic"):
        layout(Odd)


def test_attributes_of_unknown_type_are_refused() -> None:
    @dataclasses.dataclass(frozen=True)
    class Odd(Op):
        value: Tensor
        rate: float

    with pytest.raises(TypeError, match="no attribute may be a"):
        layout(Odd)


def test_the_base_class_has_no_meaning() -> None:
    for method in (Op().sort, Op().evaluate, Op().interval):
        with pytest.raises(TypeError, match="Op defines no"):
            method()
