"""``cfxc models``: which models are supported, and why others are not."""

from __future__ import annotations

import json


def models(as_json: bool) -> int:
    """Print what the registries know."""
    from ..show import models as shown

    found = shown.sections()
    text = shown.as_text(found)
    print(json.dumps(shown.as_json(found), ensure_ascii=False) if as_json else text, end="")
    return 0
