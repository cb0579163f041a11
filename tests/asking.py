"""Criteria that a test may ask for, or not."""

from __future__ import annotations

from typing import Any

import cfxc


def at_most(most: int | None) -> list[cfxc.MaxChanges]:
    """So many changes; ``None``: any."""
    return [] if most is None else [cfxc.MaxChanges(most)]


def following(equations: dict[str, Any] | None) -> list[cfxc.Causal]:
    """A causal model; ``None``: none."""
    return [] if equations is None else [cfxc.Causal(equations)]


def within(region: cfxc.TrustRegion | None) -> list[cfxc.TrustRegion]:
    """A trust region; ``None``: none."""
    return [] if region is None else [region]
