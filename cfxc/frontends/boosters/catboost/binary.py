"""CatBoost's binary format (``.cbm``) as the document that its JSON format holds.

The numbers are those of the fields in the library's FlatBuffers schemas: model, features and
ctr_data.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ..forest import DamagedModelError, reading
from .ctr import COUNTS, KINDS, MEANS
from .document import DEEPEST, Document
from .flatbuffer import Table, root

START = b"CBM1"
FORMAT = "FlabuffersModel_v1"
TABLES = "static_provider_v1"  # what may follow the trees
TREATMENTS = ("AsIs", "AsFalse", "AsTrue")
CTR_KINDS = (
    "Borders", "Buckets", "BinarizedTargetMeanValue", "FloatTargetMeanValue", "Counter",
    "FeatureFreq",
)  # fmt: skip
BUCKET = np.dtype([("hash", "<u8"), ("index", "<u4")])
NOTHING = 2**64 - 1  # the hash in an empty bucket
FLOAT_SPLIT = np.dtype([("column", "<i4"), ("border", "<f4")])
EQUAL_SPLIT = np.dtype([("column", "<i4"), ("value", "<i4")])
STEP = np.dtype([("left", "<u2"), ("right", "<u2")])
MEAN = np.dtype([("sum", "<f4"), ("count", "<i4")])


def parse_binary(content: bytes) -> Document:
    """The document in a binary file."""
    if not content.startswith(START):
        raise DamagedModelError("it is no CatBoost model (it does not begin with 'CBM1')")
    with reading():
        (size,) = struct.unpack_from("<I", content, 4)
        core, rest = content[8 : 8 + size], content[8 + size :]
        if len(core) < size:
            raise DamagedModelError("it ends in the middle")
        return _document(root(core), rest)


def _document(core: Table, rest: bytes) -> Document:
    if core.text(0) != FORMAT:
        raise DamagedModelError(f"it is of another version than {FORMAT}")
    trees, parts = core.table(1), core.texts(3)
    if any(part != TABLES for part in parts) or len(parts) > 1:
        raise DamagedModelError(
            f"it has parts that cannot be read ({', '.join(parts)[:80]}), as models on text and "
            "embeddings have; turn such columns into numbers before training"
        )
    info = {each.text(0): _told(each.text(0), each.text(1)) for each in core.tables(2)}
    bias = trees.array(16, "<f8").tolist() or [trees.number(15, "d", 0.0)]
    outputs = trees.number(0, "i")
    if len(bias) == 1 and bias[0] == 0:
        bias = [0.0] * max(0, min(outputs, 2**16))
    return {
        "model_info": info,
        **_trees(trees, outputs),
        "features_info": _features(trees),
        "ctr_data": _by_name(rest) if parts else {},
        "scale_and_bias": [trees.number(14, "d", 1.0), bias],
    }


def _told(key: str, text: str) -> Any:
    return json.loads(text) if key.endswith("params") and text else text


def _features(trees: Table) -> Document:
    equal = {one.number(0, "i", -1): one.array(1, "<i4").tolist() for one in trees.tables(6)}
    made = {
        "float_features": [
            {
                "has_nans": bool(one.number(0, "B")),
                "feature_index": one.number(1, "i", -1),
                "flat_feature_index": one.number(2, "i", -1),
                "borders": one.array(3, "<f4").tolist(),
                "feature_id": one.text(4),
                "nan_value_treatment": TREATMENTS[one.number(5, "B")],
            }
            for one in trees.tables(5)
        ],
        "categorical_features": [
            {
                "feature_index": one.number(0, "i", -1),
                "flat_feature_index": one.number(1, "i", -1),
                "feature_id": one.text(2),
                "values": equal.pop(one.number(0, "i", -1), []),
            }
            for one in trees.tables(4)
        ],
        "ctrs": [
            {
                **_named(one.table(0).table(0)),
                "target_border_idx": one.table(0).number(1, "i"),
                "prior_numerator": one.table(0).number(2, "f"),
                "prior_denomerator": one.table(0).number(3, "f", 1.0),
                "shift": one.table(0).number(4, "f"),
                "scale": one.table(0).number(5, "f", 1.0),
                "borders": one.array(1, "<f4").tolist(),
            }
            for one in trees.tables(7)
        ],
        "text_features": len(trees.tables(12)),
        "embedding_features": len(trees.tables(18)),
    }
    if equal or trees.tables(13):
        raise DamagedModelError("it asks for columns that it does not have")
    return made


def _named(base: Table) -> Document:
    """What a CTR is about, as its JSON says it."""
    combination = base.table(0)
    elements: list[Document] = [
        {"combination_element": "cat_feature_value", "cat_feature_index": one}
        for one in combination.array(0, "<i4").tolist()
    ]
    elements += [
        {"combination_element": "float_feature", "float_feature_index": at, "border": border}
        for at, border in combination.array(1, FLOAT_SPLIT).tolist()
    ]
    elements += [
        {"combination_element": "cat_feature_exact_value", "cat_feature_index": at, "value": value}
        for at, value in combination.array(2, EQUAL_SPLIT).tolist()
    ]
    return {"ctr_type": CTR_KINDS[base.number(1, "B")], "elements": elements}


def _trees(trees: Table, outputs: int) -> Document:
    splits, sizes = trees.array(1, "<i4").tolist(), trees.array(2, "<i4").tolist()
    leaves = trees.array(8, "<f8")
    if outputs < 1 or any(size < 0 for size in sizes) or sum(sizes) != len(splits):
        raise DamagedModelError("its trees do not have the sizes that it says")
    ends = np.cumsum([0, *sizes]).tolist()
    parts = [splits[a:b] for a, b in pairwise(ends)]
    steps = trees.array(10, STEP)
    if steps.size:
        ids = trees.array(11, "<u4").tolist()
        if len(steps) != len(splits) or len(ids) != len(splits):
            raise DamagedModelError("its trees do not have the nodes that it says")
        nodes = _Nodes(steps.tolist(), ids, splits, leaves, outputs)
        return {"trees": [nodes.tree(a, b) for a, b in pairwise(ends)]}
    if any(size > DEEPEST for size in sizes):
        raise DamagedModelError("a tree in it is deeper than the library makes them")
    counts = [2**size * outputs for size in sizes]
    if sum(counts) != leaves.size:
        raise DamagedModelError("its trees do not have the leaves that it says")
    at = np.cumsum([0, *counts]).tolist()
    return {
        "oblivious_trees": [
            {"splits": [{"split_index": one} for one in part], "leaf_values": leaves[a:b].tolist()}
            for part, a, b in zip(parts, at, at[1:], strict=False)
        ]
    }


class _Nodes:
    """The nodes of trees that are not oblivious, each with the way to its children."""

    def __init__(self, steps: Any, ids: Any, splits: Any, leaves: Any, outputs: int) -> None:
        self.steps, self.ids, self.splits = steps, ids, splits
        self.leaves, self.outputs = leaves, outputs

    def tree(self, start: int, end: int) -> Document:
        """A tree of the nodes in [start, end), whose children come after their parent."""
        made: dict[int, Document] = {}
        for node in reversed(range(start, end)):
            left, right = self.steps[node]
            if not (left or right):
                made[node] = self._leaf(node)
                continue
            sides = [
                made.pop(node + step, None) if step else self._leaf(node) for step in (left, right)
            ]
            if None in sides:
                raise DamagedModelError("a node of a tree has no child, or two parents")
            split = {"split_index": self.splits[node]}
            made[node] = {"split": split, "left": sides[0], "right": sides[1]}
        if list(made) != [start]:
            raise DamagedModelError("a tree in it has nodes that nothing leads to")
        return made[start]

    def _leaf(self, node: int) -> Document:
        at = self.ids[node]
        held = self.leaves[at : at + self.outputs].tolist()
        if len(held) != self.outputs:
            raise DamagedModelError("a leaf in it does not exist")
        return {"value": held if self.outputs > 1 else held[0]}


def _by_name(rest: bytes) -> Document:
    made: Document = {}
    for name, table in _tables(rest):
        if name in made:  # JSON, as which the library opens it, has one table of a name
            raise DamagedModelError(
                "its CTRs cut the target at different borders; train it with one TargetBorderCount"
            )
        made[name] = table
    return made


def _tables(rest: bytes) -> Iterator[tuple[str, Document]]:
    (count,) = struct.unpack_from("<I", rest, 0)
    at = 4
    for _ in range(count):
        (size,) = struct.unpack_from("<I", rest, at)
        if at + 4 + size > len(rest):
            raise DamagedModelError("it ends in the middle")
        table = root(rest[at + 4 : at + 4 + size])
        at += 4 + size
        named = _named(table.table(0))
        name = {"identifier": named["elements"], "type": named["ctr_type"]}
        yield json.dumps(name), _table(table, named["ctr_type"])


def _table(table: Table, kind: str) -> Document:
    buckets = np.frombuffer(bytes(table.array(1, "u1")), dtype=BUCKET)
    buckets = buckets[buckets["hash"] != NOTHING]
    blob = bytes(table.array(2, "u1"))
    width = 1 if kind in (*MEANS, *COUNTS) else table.number(4, "i")
    if kind not in KINDS or width < 1:
        raise DamagedModelError("a table of a CTR does not fit its width")
    cells = np.frombuffer(blob, dtype=MEAN if kind in MEANS else np.dtype("<i4"))
    rows = cells.reshape(-1, width)
    if (buckets["index"] >= len(rows)).any():
        raise DamagedModelError("a table of a CTR asks for a row that it does not have")
    made: list[Any] = []
    for key, place in buckets.tolist():
        held = rows[place].tolist()
        made += [str(key), *(held[0] if kind in MEANS else held)]
    return {
        "hash_map": made,
        "hash_stride": 3 if kind in MEANS else width + 1,
        "counter_denominator": table.number(3, "i"),
    }
