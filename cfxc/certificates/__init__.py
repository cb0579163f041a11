"""Certificates and their checker, which needs nothing but the standard library."""

from __future__ import annotations

from .report import Report, report

__all__ = ["Report", "report"]
