"""From a letter's facts to its page: HTML by a template, and PDF from that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ...errors import InvalidInputError, UnsupportedError, needs
from ...space.names import suggestion
from ...writing import path_of
from .fields import COMMON, FOLDER, TEMPLATES

LIBRARIES = (
    "PDF needs Pango: on Debian apt-get install libpango-1.0-0 libpangoft2-1.0-0 (with its "
    "libraries), on macOS brew install pango; or write a letter in .html"
)
NOWHERE = "http://nowhere.invalid/"
"""Where a page in PDF is, so that what it names without an address is asked for, and refused."""
KINDS = (".html", ".htm", ".pdf")
PARTS = frozenset(
    {"answers", "reasons", "head", "foot", "size", "check", "given", "promise", "t", "values"}
)
"""What a page has beside fields; see :func:`cfxc.answers.letters.page_of`."""


class Layout:
    """A template, one of ours or a user's, ready to be filled.

    Attributes:
        name: Of ours; ``None`` for a user's.
        shown: What messages call it.
    """

    def __init__(self, template: str | Path) -> None:
        self.name = template if isinstance(template, str) and template in TEMPLATES else None
        self.shown = f"template {template}"
        self.environment = environment()
        text = self._source(template)
        with _told(self.shown):
            self.template = self.environment.from_string(text)
        self.text = text

    def _source(self, template: str | Path) -> str:
        if self.name is not None:
            return (FOLDER / TEMPLATES[self.name].file).read_text("utf-8")
        try:
            return Path(template).read_text("utf-8")
        except (OSError, ValueError, TypeError) as error:
            why = getattr(error, "strerror", None) or "no text"
            raise InvalidInputError(
                f"template {template!r}: there is none{suggestion(template, TEMPLATES)}, and no "
                f"file of your own ({why})"
            ) from error

    def refuse_unused(self, names: Mapping[str, Any], where: str) -> None:
        """Refuse fields that a user's template does not mention.

        Raises:
            InvalidInputError: naming the first.
        """
        from jinja2 import meta

        parsed = self.environment.parse(self.text)
        used = meta.find_undeclared_variables(parsed)
        framed = next(meta.find_referenced_templates(parsed), None) is not None
        for name in names:
            if name not in used and not (framed and name in COMMON):
                fields = sorted(used - PARTS)
                raise InvalidInputError(
                    f"{where}: {self.shown} has no field {name!r}{suggestion(name, fields)}"
                )

    def uses(self, part: str) -> bool:
        """Whether the template, or one that it takes in, reads a part of the letter."""
        from jinja2 import meta

        waiting, seen = [self.text], set[str]()
        while waiting:
            parsed = self.environment.parse(waiting.pop())
            if part in meta.find_undeclared_variables(parsed):
                return True
            for name in meta.find_referenced_templates(parsed):
                if name is None:  # which one is known only when the page is made
                    return True
                if name not in seen and (FOLDER / name).is_file():
                    seen.add(name)
                    waiting.append((FOLDER / name).read_text("utf-8"))
        return False

    def fill(self, content: Mapping[str, Any]) -> str:
        """The page in HTML.

        Raises:
            InvalidInputError: the template asks for a field that is not there, or for what no
                template may do.
        """
        with _told(self.shown):
            page: str = self.template.render(content)
        return page


def environment() -> Any:
    """Templates that see plain values alone, escape all of them, and miss nothing silently."""
    with needs("report", "a letter or report", "jinja2"):
        from jinja2 import FileSystemLoader, StrictUndefined
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    return ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(FOLDER), undefined=StrictUndefined, autoescape=True,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip


@contextmanager
def _told(shown: str) -> Iterator[None]:
    """What goes wrong in a template, as a message that names it."""
    from jinja2 import TemplateSyntaxError, UndefinedError
    from jinja2.exceptions import SecurityError

    try:
        yield
    except SecurityError as error:
        raise InvalidInputError(f"{shown}: a template may not do this: {error}") from error
    except UndefinedError as error:
        raise InvalidInputError(
            f"{shown}: {error}; give it among the fields, or take it out of the template"
        ) from error
    except TemplateSyntaxError as error:
        raise InvalidInputError(f"{shown}: line {error.lineno}: {error.message}") from error
    except Exception as error:  # whatever an expression of a template does
        raise InvalidInputError(f"{shown}: {type(error).__name__}: {error}") from error


def check_kind(path: str | Path) -> None:
    """Refuse a file of another kind, or PDF where it cannot be made.

    Raises:
        InvalidInputError, MissingExtraError, UnsupportedError: with what to install.
    """
    if path_of(path).suffix.lower() not in KINDS:
        raise InvalidInputError(f"{path}: a letter is .html or .pdf")
    if path_of(path).suffix.lower() == ".pdf":
        _weasyprint()


def as_pdf(page: str, shown: str) -> bytes:
    """A page in PDF, tagged for readers of screens; it may load nothing from anywhere.

    Raises:
        InvalidInputError: the page asks for a file or an address.
        MissingExtraError, UnsupportedError: it cannot be made here.
    """
    weasyprint = _weasyprint()
    from weasyprint.urls import FatalURLFetchingError, URLFetcher

    refused: list[str] = []

    class Nothing(URLFetcher):  # type: ignore[misc]  # its functions have no types
        def fetch(self, url: str, headers: Any = None) -> Any:
            refused.append(url)
            raise ValueError("nothing is loaded")

    fetcher, made = Nothing(allowed_protocols=(), fail_on_errors=True), b""
    with suppress(FatalURLFetchingError):
        document = weasyprint.HTML(string=page, base_url=NOWHERE, url_fetcher=fetcher)
        made = document.write_pdf(pdf_variant="pdf/ua-1")
    if refused:  # also what is passed over, such as pictures in pictures
        raise InvalidInputError(
            f"{shown}: a letter holds all that it shows, and may load nothing, as "
            f"{refused[0].removeprefix(NOWHERE)!r}"
        )
    return made


def _weasyprint() -> Any:
    try:
        with needs("report", "a letter in PDF", "weasyprint"):
            import weasyprint
    except OSError as error:  # of the libraries that it loads
        raise UnsupportedError(f"{LIBRARIES}\n({str(error).splitlines()[0]})") from error
    return weasyprint


def qr_code(text: str) -> Any:
    """A text as a picture that phones read, in SVG.

    Raises:
        MissingExtraError: segno is not installed.
    """
    with needs("report", "a QR code", "segno"):
        import segno
    from markupsafe import Markup

    code = segno.make(text, error="m", micro=False)
    return Markup(code.svg_inline(border=0, omitsize=True, svgclass="qr", lineclass=None))
