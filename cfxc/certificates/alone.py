"""The checker as one file that needs Python alone."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from ..version import __version__
from ..writing import write_whole

START = "from cfxc_check.auditing.__main__ import main\n\nraise SystemExit(main())\n"
ROOT = "VERSION = {!r}\n"


def write_checker(path: str | Path) -> Path:
    """Write ``cfxc-check.pyz``: ``python cfxc-check.pyz certificate.json``; the same bytes always.

    Raises:
        InvalidInputError: it cannot be written.
    """
    here, body = Path(__file__).parent, io.BytesIO(b"#!/usr/bin/env python3\n")
    body.seek(0, io.SEEK_END)
    texts = {"__main__.py": START, "cfxc_check/__init__.py": ROOT.format(__version__)}
    for file in sorted([*here.glob("auditing/*.py"), *here.glob("checker/*.py")]):
        name = file.relative_to(here).as_posix()
        texts[f"cfxc_check/{name}"] = file.read_text("utf-8")
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    write_whole(path, body.getvalue())
    return Path(path)
