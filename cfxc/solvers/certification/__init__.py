"""Certificates of answers: what was asked and shown, written for ``cfxc.certificates.check``."""

from __future__ import annotations

from .belongs import file_hash, require_program_of
from .evidence import Evidence
from .writer import Certificate

__all__ = ["Certificate", "Evidence", "file_hash", "require_program_of"]
