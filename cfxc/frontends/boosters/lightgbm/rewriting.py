"""A LightGBM text once more, made of checked parts only.

The library follows the indices in a file without a check.  It is therefore not given the file, but
this: everything that predictions depend on, every index in its range, and nothing else (gains,
counts and training parameters are left out).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from ..forest import DamagedModelError
from .text import END, Fields, LgbModel, numbers, parts_of

INTEGERS = ("split_feature", "decision_type", "left_child", "right_child")


def rewritten_text(content: bytes, model: LgbModel) -> str:
    """The text of the same model; ``model`` is the content as read, without flaws.

    Raises:
        DamagedModelError: a part of the content is missing or malformed.
    """
    try:
        header, blocks = parts_of(content[: content.find(b"\n" + END) + 1])
        lines = [*_header(header, model), ""]
        for place, block in enumerate(blocks):
            lines += [f"Tree={place}", *_tree(block), "", ""]
    except (KeyError, ValueError, OverflowError) as error:
        raise DamagedModelError(
            f"a part of it is missing or malformed ({type(error).__name__}: {str(error)[:80]})"
        ) from error
    known = json.dumps([list(one) for one in model.categories])
    return "\n".join([*lines, END.decode(), "", f"pandas_categorical:{known}", ""])


def _header(header: Fields, model: LgbModel) -> Iterator[str]:
    yield "tree"
    yield "version=v4"
    yield f"num_class={model.outputs}"
    yield f"num_tree_per_iteration={model.outputs}"
    yield "label_index=0"
    yield f"max_feature_idx={model.columns - 1}"
    if model.objective:
        options = {
            "binary": f" sigmoid:{model.sigmoid:.17g}",
            "multiclass": f" num_class:{model.outputs}",
            "multiclassova": f" num_class:{model.outputs} sigmoid:{model.sigmoid:.17g}",
        }
        root = " sqrt" if model.link == "square" else ""
        yield f"objective={model.objective}{options.get(model.objective, root)}"
    if model.averaged is not None:
        yield "average_output"
    yield f"feature_names={' '.join(model.names)}"
    yield f"feature_infos={header['feature_infos']}"


def _tree(block: Fields) -> Iterator[str]:
    leaves, sets = int(block["num_leaves"]), int(block["num_cat"])
    yield f"num_leaves={leaves}"
    yield f"num_cat={sets}"
    if leaves > 1:
        for key in INTEGERS:
            yield _line(key, numbers(block, key, leaves - 1, int).tolist())
        yield _line("threshold", numbers(block, "threshold", leaves - 1, float).tolist())
    yield _line("leaf_value", numbers(block, "leaf_value", leaves, float).tolist())
    if sets and leaves > 1:
        ends = numbers(block, "cat_boundaries", sets + 1, int).tolist()
        yield _line("cat_boundaries", ends)
        yield _line("cat_threshold", numbers(block, "cat_threshold", ends[-1], int).tolist())
    yield "is_linear=0"
    yield "shrinkage=1"


def _line(key: str, values: list[int] | list[float]) -> str:
    cells = (str(one) if isinstance(one, int) else f"{one:.17g}" for one in values)
    return f"{key}={' '.join(cells)}"
