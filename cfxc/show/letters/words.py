"""Values, numbers and features in the words of a language."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import DataTypeError, InvalidInputError, needs
from ...space import Feature
from ...space.feature import WORDING
from ...space.names import suggestion
from ...space.values import Key, Label, key
from .fields import Fields

CATALOGUES = Path(__file__).parent / "locales"
LANGUAGES = tuple(sorted(path.stem for path in CATALOGUES.glob("*.toml")))
"""The languages that letters are written in."""
DIGITS = 1000
"""More than any double has."""
TURNING = {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
"""Letters that turn a line around."""


def clean(text: str) -> str:
    """Text without what no page can hold, or what turns its lines around."""
    return "".join("\ufffd" if _is_odd(letter) else letter for letter in text)


def _is_odd(letter: str) -> bool:
    code = ord(letter)
    control = (code < 0x20 and letter != "\n") or 0x7F <= code < 0xA0
    return control or letter in TURNING or 0xD800 <= code < 0xE000


class Words:
    """What a letter in a language calls features, values, numbers and outcomes.

    ``texts``: the sentences of the language, by part and name; ``labels``: those of the model.
    """

    def __init__(
        self, locale: str, features: Iterable[Feature], fields: Fields, where: str,
        labels: Iterable[Label] = (),
    ) -> None:  # fmt: skip
        self.locale = locale_of(locale)
        self.texts, labels = catalogue(self.locale.language), list(labels)
        words = {name: clean(word) for name, word in fields.outcomes.items()}
        self.outcomes = by_label(words, labels, f"{where}: outcomes: the model has no outcome")
        known = {feature.name: feature for feature in features}
        for name in fields.wording:
            if name not in known:
                near = suggestion(name, known)
                raise InvalidInputError(f"{where}: wording: there is no feature {name!r}{near}")
        self.features = {
            name: _Worded.of(feature, fields.wording.get(name, {}), f"{where}: wording.{name}")
            for name, feature in known.items()
        }
        called = [(name, one.label) for name, one in self.features.items()]
        _require_apart(called, f"{where}: wording: features")
        called = [(self._plain(one), self._named(one, self.outcomes)) for one in labels]
        _require_apart(called, f"{where}: outcomes")
        for name, one in self.features.items():
            named = [(self._plain(x), self._named(x, one.values)) for x in one.feature.labels]
            _require_apart(named, f"{where}: wording.{name}.values")

    def text(self, place: str, **values: str) -> str:
        """A sentence of the catalogue, such as ``proof.equal``, with values put in."""
        part, name = place.split(".")
        return self.texts[part][name].format(**values)

    def label(self, name: str) -> str:
        """What a feature is called."""
        return self.features[name].label

    def heading(self, name: str) -> str:
        """The same where a line begins with it; names of columns stay as they are."""
        label = self.label(name)
        return label[:1].upper() + label[1:] if self.features[name].is_named else label

    def value(self, name: str, value: Any) -> str:
        """An exact value of a feature, as it would be typed in, in its unit."""
        worded = self.features[name]
        feature = worded.feature
        if feature.is_symbolic:
            return self._named(value, worded.values)
        if feature.is_absent(value):
            return self.text("words.missing")
        number, unit = self.bare(name, value), self._unit(worded.unit, Fraction(value))
        return f"{number}\u00a0{unit}" if unit else number

    def bare(self, name: str, value: Any) -> str:
        """A number of a feature without its unit."""
        worded = self.features[name]
        return self.number(written(worded.feature, Fraction(value)), worded.format)

    def _unit(self, unit: str, value: Fraction) -> str:
        """The unit beside a number: of ``month|months`` the first with one, or, in French, less."""
        one, bar, many = unit.partition("|")
        alone = abs(value) < 2 if self.locale.language == "fr" else abs(value) == 1
        return one if alone or not bar else many

    def step(self, name: str, step: Any) -> str:
        """A feature's step; units that are words would have to agree with it, and are left out."""
        is_word = any(letter.isalpha() for letter in self.features[name].unit)
        return self.bare(name, step) if is_word else self.value(name, step)

    def count(self, number: int) -> str:
        """How many there are of something."""
        return self.number(Decimal(number))

    def _named(self, label: Any, words: Mapping[Key, str]) -> str:
        """A category or an outcome, in words if there are some for it."""
        found = words.get(key(label))
        return self._plain(label) if found is None else found

    def _plain(self, label: Any) -> str:
        """A category or an outcome as the model calls it."""
        if label is None:
            return self.text("words.missing")
        if isinstance(label, bool):
            return self.text("words.yes" if label else "words.no")
        return clean(label) if isinstance(label, str) else self.number(decimal_of(label))

    def number(self, number: Decimal, pattern: str = "") -> str:
        """A number with all its digits: a pattern adds zeros, and takes none away."""
        from babel.numbers import format_decimal

        if pattern.endswith("%"):  # each language has its own space before the sign
            sign = self.locale.percent_formats[None].suffix[0]
            pattern = pattern.removesuffix("%").rstrip() + sign
        with localcontext(prec=DIGITS):
            kept = pattern or None
            return format_decimal(number, kept, self.locale, decimal_quantization=False)

    def share(self, share: Fraction) -> str:
        """A share in percent, rounded down to a tenth."""
        return self._tenths(floor(share * 1000))

    def share_above(self, share: Fraction) -> str:
        """A share in percent, rounded up to a tenth."""
        return self._tenths(ceil(share * 1000))

    def _tenths(self, tenths: int) -> str:
        from babel.numbers import format_percent

        share = Decimal(tenths) / 1000
        return format_percent(share, locale=self.locale, decimal_quantization=False)

    def chance(self, share: Fraction) -> str:
        """A probability in percent, with all its digits: rounded, it would be another question."""
        from babel.numbers import format_percent

        exact = decimal_of(float(share * 100)) / 100
        return format_percent(exact, locale=self.locale, decimal_quantization=False)

    def listed(self, items: Iterable[str], style: Any = "standard") -> str:
        """``a, b and c``."""
        from babel.lists import format_list

        return format_list(list(items), style, self.locale)

    def joined(self, items: Iterable[str]) -> str:
        """Items that may hold commas, one after the other."""
        return self.text("words.semicolon").join(items)

    def day(self, day: Any) -> str:
        """A date, its month as a word."""
        from babel.dates import format_date

        return format_date(day, "long", self.locale)

    def outcome(self, label: Any) -> str:
        """A label of the model, in quotes."""
        text = self._named(label, self.outcomes)
        return self.text("words.quoted", text=text)

    def output(self, number: Any) -> str:
        """What a model of numbers gave."""
        return self.number(decimal_of(number))

    def wanted(self, target: Any) -> str:
        """What was asked for: an outcome, or a range of numbers."""
        if target.is_range:
            ends = {
                name: self.number(decimal_of(float(end)))
                for name, end in (("low", target.lower), ("high", target.upper))
                if end is not None
            }
            which = "between" if len(ends) == 2 else "at_least" if "low" in ends else "at_most"
            return self.text(f"words.{which}", **ends)
        text = self.outcome(target.label)
        if target.chance is not None:
            text = self.text("words.likely", outcome=text, share=self.chance(target.chance))
        if target.margin:
            margin = self.number(decimal_of(float(target.margin)))
            text = self.text("words.margin", outcome=text, margin=margin)
        return text


@dataclass(frozen=True)
class _Worded:
    """A feature with its words: the letter's own, else the space's, else its name."""

    feature: Feature
    label: str
    unit: str
    format: str
    values: Mapping[Key, str]
    is_named: bool

    @classmethod
    def of(cls, feature: Feature, given: Mapping[str, Any], where: str) -> _Worded:
        own = dict(given)
        values = _mapping(own.pop("values", {}), f"{where}.values")
        for name in own:
            if name not in WORDING:
                near = suggestion(name, [*WORDING, "values"])
                raise InvalidInputError(f"{where}: there is no {name!r}{near}")
        texts = {label: clean(_word(word, f"{where}.values.{label}"))
                 for label, word in values.items()}  # fmt: skip
        words = by_label(texts, feature.labels, f"{where}.values: no category")
        try:
            replace(feature, **own)  # the same checks as in a space
        except (InvalidInputError, DataTypeError) as error:
            said = str(error).removeprefix(f"feature {feature.name!r}: ")
            raise type(error)(f"{where}: {said}") from error
        label, unit, pattern = (own.get(name) or getattr(feature, name) for name in WORDING)
        if re.match(r"[\s.,'’]*\d", unit):
            raise InvalidInputError(
                f"{where}: unit {unit!r} begins with a digit, and would be read as part of the "
                "number; write it in words"
            )
        name = clean(label or feature.name)
        return cls(feature, name, clean(unit), pattern, words, is_named=bool(label))


def _mapping(given: Any, where: str) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping):
        raise DataTypeError(f"{where}: a table of words by category, not {given!r}")
    return given


def names_of(label: Label) -> tuple[str, ...]:
    """What a file of fields may call a label: as Python writes it, and as TOML does."""
    if label is None:
        return ("missing",)
    text = str(label)
    if isinstance(label, bool):
        return text, text.lower()
    return (text, text.removesuffix(".0")) if isinstance(label, float) else (text,)


def by_label(words: Mapping[str, str], labels: Iterable[Label], what: str) -> dict[Key, str]:
    """Words by the labels that they are for; a name that two labels share is of the first.

    Raises:
        InvalidInputError: no label is called so; ``what`` begins the message.
    """
    names: dict[str, Key] = {}
    for place in (0, -1):  # a text "true" goes before the truth value
        for label in labels:
            names.setdefault(names_of(label)[place], key(label))
    for name in words:
        if str(name) not in names:
            raise InvalidInputError(f"{what} {name!r}{suggestion(name, names)}")
    return {names[str(name)]: word for name, word in words.items()}


def _require_apart(called: list[tuple[str, str]], where: str) -> None:
    """Raise ``InvalidInputError`` where a word is that of another, or another's own name."""
    names = Counter(name.casefold() for name, _ in called)
    words = Counter(word.casefold() for _, word in called)
    for name, word in called:
        folded = word.casefold()
        others = words[folded] - 1 + names[folded] - (folded == name.casefold())
        if word != name and others:
            raise InvalidInputError(
                f"{where}: {name!r} is called {word!r}, and so is another one: a reader could not "
                "tell them apart"
            )


def _word(given: Any, where: str) -> str:
    if not isinstance(given, str):
        raise DataTypeError(f"{where}: a text, not {given!r}")
    return given


def written(feature: Feature, value: Fraction) -> Decimal:
    """The number that a person types in: the shortest decimal that the column's cell holds."""
    held = feature.held(value)
    if feature.storage == np.float32 and isinstance(held, float):
        return Decimal(str(np.float32(held)))
    return decimal_of(held)


def decimal_of(number: float) -> Decimal:
    """The shortest decimal of a double; a whole number is itself."""
    text = repr(number)
    return Decimal(text.removesuffix(".0") if isinstance(number, float) else text)


def locale_of(name: str) -> Any:
    """A language with its customs, such as ``de`` or ``fr-CH``.

    Raises:
        InvalidInputError: letters are not written in it.
        MissingExtraError: Babel is not installed.
    """
    with needs("report", "a letter", "babel"):
        from babel import Locale, UnknownLocaleError
    try:
        locale = Locale.parse(str(name).replace("-", "_"))
        if locale.language in LANGUAGES:
            return locale
    except (ValueError, UnknownLocaleError):
        pass
    raise InvalidInputError(
        f"locale {name!r}: letters are written in {', '.join(LANGUAGES)}, also with a region such "
        "as de-AT; write your own template for another language"
    )


def catalogue(language: str) -> dict[str, dict[str, str]]:
    """The sentences of a language."""
    return tomllib.loads((CATALOGUES / f"{language}.toml").read_text("utf-8"))
