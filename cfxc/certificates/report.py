"""What the checker says of a certificate, for people."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError
from . import check as checker


@dataclass(frozen=True)
class Report:
    """Whether a certificate holds.

    Attributes:
        ok: Whether everything that it claims was shown.
        reason: What was wrong with it; empty if nothing was.
        shown: What was shown: status, distance, lower bound, parts closed, and the changes.
        content: The certificate.
    """

    ok: bool
    reason: str
    shown: Mapping[str, str]
    content: Mapping[str, Any] = field(repr=False)

    def summary(self) -> str:
        """A few lines of plain words."""
        if not self.ok:
            return f"rejected: {self.reason}"
        lines = ["accepted", *(f"  {name}: {value}" for name, value in self.shown.items())]
        return "\n".join([*lines, checker.SHOWN[self.shown["status"]], checker.NOT_SHOWN])

    def to_markdown(self) -> str:
        """One page: who asked what, what was shown and how, and what was not."""
        content, verdict = self.content, "holds" if self.ok else f"was **rejected**: {self.reason}"
        question, model = content["question"], content["model"] or {}
        target = question["target"]
        wanted = (
            f"the label `{_label(target['label'])}`"
            if "label" in target
            else f"a value from {_end(target['lower'], '-∞')} to {_end(target['upper'], '∞')}"
        )
        norms = [f"{_end(v, '')} {name}" for name, v in question["norms"].items() if v != "0"]
        rows = [
            f"| {f['name']} | {_plain(f, own)} | {_plain(f, new)} |"
            for f, own, new in zip(
                content["features"], question["factual"], content["witness"] or (), strict=False
            )
            if own != new
        ]
        changes = ["", "| Feature | Was | Would be |", "|---|---|---|", *rows] if rows else []
        rules = [f"- `{one['text']}`" for one in question["constraints"]]
        shown = [f"- {name}: {value}" for name, value in list(self.shown.items())[:4]]
        nodes = len(content["proof"]["nodes"])
        return "\n".join(
            [
                "# Certificate of a counterfactual",
                "",
                f"The certificate {verdict}{'.' if self.ok else ''}",
                "",
                f"- asked for: {wanted}, at the least {' + '.join(norms)} distance",
                f"- model: {model.get('name', 'not a file')}",
                f"- semantics: {content['semantics']}{_slack(content)}",
                f"- SHA-256 of the model: {model.get('sha256', 'none')}",
                f"- SHA-256 of the certificate: {content['hash']}",
                *changes,
                *(["", "Conditions that had to hold:", "", *rules] if rules else []),
                *(["", "Shown, in exact arithmetic:", "", *shown] if shown else []),
                f"- nodes of the proof: {nodes}",
                "",
                checker.SHOWN.get(self.shown.get("status", ""), ""),
                "",
                checker.NOT_SHOWN,
                "",
            ]
        )


def report(source: Any) -> Report:
    """Check a certificate: a path, the values of its JSON, or what ``Result.certificate`` gives.

    Raises:
        InvalidInputError: there is no such file, or it is none that can be read.
    """
    content = source
    if isinstance(source, str | Path):
        try:
            content = checker.read(Path(source))
        except OSError as error:
            raise InvalidInputError(f"{source}: cannot be read: {error.strerror}") from None
        except (EOFError, zlib.error) as error:
            raise InvalidInputError(f"{source}: no gzip file: {error}") from None
        except (ValueError, RecursionError, checker.Rejected) as error:
            raise InvalidInputError(f"{source}: no certificate: {str(error)[:100]}") from None
    elif hasattr(source, "to_dict"):
        content = source.to_dict()
    try:
        return Report(True, "", checker.check(content), content)
    except checker.Rejected as error:
        return Report(False, str(error), {}, content if isinstance(content, dict) else {})


def _slack(content: Mapping[str, Any]) -> str:
    """By how much the outcome may be missed, where rounding is allowed for."""
    if content["semantics"] == "real":
        return " (of the exact program)"
    return (
        f" (of the model as it runs: scores may be off by {_end(content['question']['slack'], '')})"
    )


def _label(label: Any) -> Any:
    return _end(label["float"], "") if isinstance(label, dict) else label


def _end(value: str | None, infinite: str) -> str:
    return infinite if value is None else f"{float(checker.number(value)):.12g}"


def _plain(feature: Mapping[str, Any], value: Any) -> str:
    return str(_label(value)) if feature["labels"] else _end(value, "")


__all__ = ["Report", "report"]
