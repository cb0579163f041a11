"""Every op of ONNX has an entry: how it is read, or why not."""

from __future__ import annotations

from onnx.defs import get_all_schemas_with_history

from cfxc.frontends.onnx.coverage import ENCLOSED, NOTES, OPSETS, REASONS, coverage
from cfxc.frontends.onnx.rules import RULES


def test_every_op_has_an_entry() -> None:
    rows = coverage()
    known = {
        (schema.domain or "ai.onnx", schema.name)
        for schema in get_all_schemas_with_history()
        if schema.since_version <= OPSETS.get(schema.domain or "ai.onnx", 0)
    }
    assert {(row.domain, row.op) for row in rows} == known
    assert len(known) > 200
    assert all(row.note for row in rows if row.mark == "refused")
    read = {f"{row.domain}.{row.op}" for row in rows if row.mark != "refused"}
    later = {"ai.onnx.Swish"}  # of op set 24
    assert read | later == set(RULES) | {"ai.onnx.Constant"}


def test_no_op_is_both_read_and_refused() -> None:
    ops = {kind.rpartition(".")[2] for kind in RULES}
    assert not ops & set(REASONS)
    assert set(ENCLOSED) <= ops
    assert set(NOTES) <= ops
