"""``cfxc models``: which models are supported, and why others are not."""

from __future__ import annotations

import json


def models(name: str | None, as_json: bool) -> int:
    """Print what the registries know, of all or of one name."""
    from ..show import models as shown

    found = shown.sections() if name is None else shown.of_name(name)
    text = shown.as_text(found, shares=name is None)
    print(json.dumps(shown.as_json(found), ensure_ascii=False) if as_json else text, end="")
    return 0
