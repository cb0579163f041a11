"""Generators on disk: what was read back gives the same rows; files that are none are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cfxc
from cfxc.errors import CfxcError, InvalidInputError, ModelFileError

from .loans import QUICK, compiled, fitted, loans, refused


def saved(folder: Path) -> Path:
    fitted("forest").save(folder)
    return folder


def test_what_was_saved_generates_the_same(tmp_path: Path) -> None:
    made, instances = fitted("forest"), refused(compiled("forest"), 4)
    again = cfxc.Generator.load(saved(tmp_path / "new"), compiled("forest"))
    assert again.generate(instances, n=10, target=1).equals(
        made.generate(instances, n=10, target=1)
    )
    assert again.losses == made.losses
    assert again.targets == made.targets
    assert again.settings == made.settings
    assert again.space == made.space
    assert {each.name for each in (tmp_path / "new").iterdir()} == {
        "generator.json", "weights.safetensors",
    }  # fmt: skip


def test_another_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="trained for another model"):
        cfxc.Generator.load(saved(tmp_path), compiled("boosting"))


def test_what_is_not_fitted_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="not fitted"):
        cfxc.Generator(compiled("linear")).save(tmp_path)


def in_head(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        head = json.loads((folder / "generator.json").read_text())
        head.update(changes)
        text = json.dumps({name: value for name, value in head.items() if value is not None})
        (folder / "generator.json").write_text(text)

    return change


def in_part(name: str, **changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        head = json.loads((folder / "generator.json").read_text())
        part = {**head[name], **changes}
        in_head(**{name: {k: v for k, v in part.items() if v is not None}})(folder)

    return change


def with_level(
    name: str, at: int, change: Callable[[list[float]], float]
) -> Callable[[Path], None]:
    """One level of a feature edited, still in rising order."""

    def spoil(folder: Path) -> None:
        levels = json.loads((folder / "generator.json").read_text())["levels"]
        values = next(each["values"] for each in levels if each["feature"] == name)
        values[at] = change(values)
        in_head(levels=levels)(folder)

    return spoil


def spoil_weights(folder: Path) -> None:
    content = bytearray((folder / "weights.safetensors").read_bytes())
    content[-1] ^= 1
    (folder / "weights.safetensors").write_bytes(bytes(content))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda f: (f / "generator.json").unlink(), "cannot read"),
        (lambda f: (f / "generator.json").write_text("{"), "not JSON"),
        (lambda f: (f / "generator.json").write_text("[]"), "not a generator"),
        (lambda f: (f / "weights.safetensors").unlink(), "cannot read"),
        (spoil_weights, "not the weights"),
        (in_head(version=2), "version 2"), (in_head(version=None), "version None"),
        (in_head(format="pickle"), "not a generator"), (in_head(more=1), "more"),
        (in_head(rows=None), "rows"), (in_head(rows="many"), "rows is no int"),
        (in_head(targets=[]), "targets"), (in_head(targets=[5]), "targets"),
        (in_head(levels=[]), "levels"), (in_head(losses=["low"]), "losses"),
        (with_level("age", -1, lambda v: 1e9), "level 1e.09 of 'age' is none that was learned"),
        (with_level("age", 0, lambda v: v[0] + 0.5), "level .*off its grid"),
        (with_level("age", 0, lambda v: -3.0), "level -3 of 'age'"),
        (with_level("age", 0, lambda v: v[1] - 1), "level .* or bucket"),
        (with_level("rate", -1, lambda v: v[-1] + 0.001), "level .* of 'rate'"),
        (with_level("job", 1, lambda v: 7.0), "level 7 of 'job'"),
        (in_head(space="[[feature]]\nname = 3\n"), "generator.json"),
        (in_part("settings", epochs=0), "epochs"), (in_part("settings", epochs=None), "epochs"),
        (in_part("settings", momentum=1), "momentum"),
        (in_part("settings", hidden=[3]), "weights of other networks"),
    ],
)  # fmt: skip
def test_damaged_files_are_refused(
    spoil: Callable[[Path], None], said: str, tmp_path: Path
) -> None:
    folder = saved(tmp_path)
    spoil(folder)
    with pytest.raises(ModelFileError, match=said) as caught:
        cfxc.Generator.load(folder, compiled("forest"))
    assert isinstance(caught.value, CfxcError)


def test_the_space_of_a_generator_is_its_own(tmp_path: Path) -> None:
    model = compiled("linear")
    space = model.space.replace("rate", action="fixed")
    cfxc.Generator(model, space, **QUICK).fit(loans()).save(tmp_path)
    again = cfxc.Generator.load(tmp_path, model)
    instances = refused(model, 3)
    rows = again.generate(instances, n=5, target=1)
    own = instances["rate"].loc[rows.index.get_level_values(0)].to_numpy()
    assert (rows["rate"].to_numpy() == own).all()
