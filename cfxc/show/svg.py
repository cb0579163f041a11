"""Small charts in SVG, made by hand: bars, histograms and ranges, their texts escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH = 640
LEFT = 190
"""Of the picture, for labels."""
ROW = 22
COLOUR = "#3b6ea5"
FONT = 'font-family="sans-serif" font-size="12"'


def bars(pairs: Sequence[tuple[str, float]], texts: Sequence[str]) -> str:
    """Horizontal bars from 0, each with a label before and a text behind it."""
    most = max((value for _, value in pairs), default=0) or 1
    room = WIDTH - LEFT - 90
    parts = []
    for place, ((label, value), text) in enumerate(zip(pairs, texts, strict=True)):
        top, length = place * ROW, room * value / most
        parts.append(_label(label, top))
        parts.append(_box(LEFT, top + 3, length, ROW - 7))
        parts.append(_text(LEFT + length + 6, top + 15, text))
    return _picture(parts, len(pairs) * ROW, ", ".join(f"{label} {t}" for (label, _), t in
                    zip(pairs, texts, strict=True)))  # fmt: skip


def histogram(counts: Sequence[int], edges: Sequence[float], what: str) -> str:
    """Upright bars of counts between edges."""
    high, most = 160, max(counts, default=0) or 1
    step = (WIDTH - 60) / max(len(counts), 1)
    parts = [_text(50, 12, str(most), "end"), _text(50, high + 12, "0", "end")]
    parts.append(f'<path d="M56 8V{high + 8}H{WIDTH - 4}" stroke="#888" fill="none"/>')
    for place, count in enumerate(counts):
        length = high * count / most
        parts.append(_box(56 + place * step, 8 + high - length, max(step - 1, 0.5), length))
    ticks = sorted({0, len(counts) // 2, len(counts)})
    for tick in ticks:
        anchor = "start" if not tick else "end" if tick == len(counts) else "middle"
        parts.append(_text(56 + tick * step, high + 24, f"{edges[tick]:.4g}", anchor))
    parts.append(_text(56 + (WIDTH - 60) / 2, high + 42, what, "middle"))
    return _picture(parts, high + 48, f"histogram of {sum(counts)} values of {what}")


def ranges(rows: Sequence[tuple[str, Sequence[float]]], what: str) -> str:
    """Lines from the lower to the upper quartile, the median a dot; empty ones are named."""
    most = max((max(quarters) for _, quarters in rows if quarters), default=0) or 1
    room = WIDTH - LEFT - 90
    parts = []
    for place, (label, quarters) in enumerate(rows):
        top = place * ROW
        parts.append(_label(label, top))
        if not quarters:
            parts.append(_text(LEFT, top + 15, "none"))
            continue
        low, middle, high = (LEFT + room * value / most for value in quarters)
        parts.append(_box(low, top + 7, max(high - low, 1), 8, "#a9c4df"))
        parts.append(f'<circle cx="{middle:.1f}" cy="{top + 11}" r="5" fill="{COLOUR}"/>')
        parts.append(_text(high + 8, top + 15, f"{quarters[1]:.4g}"))
    parts.append(_text(LEFT, len(rows) * ROW + 14, what))
    return _picture(parts, len(rows) * ROW + 20, f"{what} of {len(rows)} groups")


def _picture(parts: Sequence[str], height: float, said: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" role="img" {FONT} '
        f'aria-label="{escape(said)}">{"".join(parts)}</svg>'
    )


def _label(label: str, top: float) -> str:
    short = label if len(label) <= 28 else label[:27] + "…"
    return f"<g><title>{escape(label)}</title>{_text(LEFT - 8, top + 15, short, 'end')}</g>"


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _box(x: float, y: float, width: float, height: float, colour: str = COLOUR) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'
    )
