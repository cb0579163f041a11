"""Certificates and their checker, which needs nothing but the standard library."""

from __future__ import annotations

from .alone import write_checker
from .export import export
from .report import Report, report

__all__ = ["Report", "export", "report", "write_checker"]
