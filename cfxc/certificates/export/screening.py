"""Which commands a proof in CPC may hold, and that it refutes a given script and nothing else.

``ethos`` obeys whatever a proof says: one may declare its own rules, include other files or refer
to another script, and is still called correct.  So a proof may only name terms, assume what the
script asserts, and make steps by rules of cvc5's signature.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from ...errors import VerificationError

SIZE, DEPTH = 2**28, 10_000  # characters of a file, and of how deeply its terms may be nested
TOKEN = re.compile(
    r"""[ \t\r\n]+ | ;[^\n]* | (?P<paren>[()])
      | (?P<word> (?: [A-Za-z0-9~!@$%^&*_+=<>.?/:-]+ | \|[^|\\]*\| | "(?:[^"]|"")*" )
                  (?= [\s();] | \Z) )
    """,
    re.VERBOSE,
)
SIMPLE = re.compile(r"\|[A-Za-z~!$%^&*_+=<>.?/-][A-Za-z0-9~!@$%^&*_+=<>.?/-]*\|")
DECIMAL = re.compile(r"[0-9]+\.[0-9]+")
NAMED, PROVED = re.compile(r"@t[0-9]+"), re.compile(r"@p[0-9]+")
RULE = re.compile(r"[a-z][a-z0-9_-]*")
NO_RULES = ("trust",)  # steps by these prove nothing
PARTS = (":rule", ":premises", ":args")
REFERENCE = re.compile(r'((?:;[^\n]*\n)*)\(reference "([^"/\\\n]+)"\)\n')

Term = Any  # a word, or a list of terms


def commands(text: str) -> Iterator[list[Term]]:
    """The commands of a text, each a list of words and lists.

    Raises:
        VerificationError: it is too large, nested too deeply, or no sequence of lists.
    """
    _need(len(text) <= SIZE, f"it has more than {SIZE} characters")
    stack: list[list[Term]] = []
    place = 0
    while place < len(text):
        found = TOKEN.match(text, place)
        if found is None:
            line = text.count("\n", 0, place) + 1
            raise VerificationError(f"line {line}: not a word, a list or a comment")
        place = found.end()
        if word := found["word"]:
            _need(stack, f"{word[:40]!r} stands outside of any command")
            stack[-1].append(word)
        elif found["paren"] == "(":
            _need(len(stack) < DEPTH, f"terms are nested more than {DEPTH} deep")
            stack.append([])
        elif found["paren"]:
            _need(stack, "a ')' too many")
            done = stack.pop()
            if not stack:
                yield done
            else:
                stack[-1].append(done)
    _need(not stack, "the last command has no end")


class Terms:
    """Terms as numbers: the same number for the same term, however it is written or named."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.named: dict[str, int] = {}

    def number(self, term: Term) -> int:
        """The number of a term; decimals and fractions are compared by value."""
        open_: list[tuple[Iterator[Term], list[int]]] = [(iter([term]), [])]
        while True:
            rest, done = open_[-1]
            part = next(rest, None)
            if isinstance(part, list):
                open_.append((iter(part), []))
            elif part is not None:
                done.append(self._word(part))
            elif len(open_) == 1:
                return done[0]
            else:
                open_.pop()
                open_[-1][1].append(self._known(tuple(done)))

    def _word(self, word: str) -> int:
        if SIMPLE.fullmatch(word):
            word = word[1:-1]  # |x| and x are one symbol
        elif word[0] not in '|"':
            _need(word[0] != ":" and "::" not in word, f"a term with {word[:40]!r} in it")
        if (named := self.named.get(word)) is not None:
            return named
        _need(not NAMED.fullmatch(word), f"{word} is used before it is defined")
        if DECIMAL.fullmatch(word):
            value = Fraction(word)
            word = f"{value.numerator}/{value.denominator}"
        return self._known(word)

    def _known(self, key: Any) -> int:
        return self.numbers.setdefault(key, len(self.numbers))


def screened(proof: str, script: str) -> None:
    """Refuse a proof that does anything but refute the assertions of a script.

    ``proof`` is what follows the reference to the script.  That its steps are right is for
    ``ethos`` to say.

    Raises:
        VerificationError: says which command is not allowed, and why.
    """
    terms = Terms()
    asserted = {
        terms.number(command[1])
        for command in commands(script)
        if command[:1] == ["assert"] and len(command) == 2
    }
    screen = _Screen(terms, asserted)
    for count, command in enumerate(commands(proof), 1):
        try:
            screen.command(command)
        except VerificationError as error:
            raise VerificationError(f"command {count} of the proof: {error}") from None
    _need(len(screen.scopes) == 1, "an assumption of the proof is never dropped")
    _need(screen.refutes, "the last command of the proof does not conclude false")


class _Screen:
    """The commands that were met so far."""

    def __init__(self, terms: Terms, asserted: set[int]) -> None:
        self.terms, self.asserted = terms, asserted
        self.false = terms.number("false")
        self.scopes = [set[str]()]  # names of steps: outside, and under each assumption
        self.refutes = False

    def command(self, command: list[Term]) -> None:
        kind, *rest = command or [""]
        make = {
            "define": self.define, "assume": self.assume, "assume-push": self.push,
            "step": self.step, "step-pop": self.pop,
        }.get(kind if isinstance(kind, str) else "")  # fmt: skip
        _need(make, f"{str(kind)[:40]!r} is no command that a proof may hold")
        assert make is not None
        self.refutes = False
        make(rest)

    def define(self, rest: list[Term]) -> None:
        _need(len(rest) == 3 and rest[1] == [], "define takes a name, () and a term")
        name, _, term = rest
        fits = isinstance(name, str) and NAMED.fullmatch(name) and name not in self.terms.named
        _need(fits, f"{str(name)[:40]!r} is no new name of a term (@t1, @t2, …)")
        self.terms.named[name] = self.terms.number(term)

    def assume(self, rest: list[Term]) -> None:
        _need(len(rest) == 2, "assume takes a name and a term")
        self._name(rest[0])
        number = self.terms.number(rest[1])
        _need(number in self.asserted, f"{rest[0]} assumes what the script does not assert")
        self.refutes = number == self.false and len(self.scopes) == 1

    def push(self, rest: list[Term]) -> None:
        _need(len(rest) == 2, "assume-push takes a name and a term")
        self.scopes.append(set())
        self._name(rest[0])
        self.terms.number(rest[1])

    def pop(self, rest: list[Term]) -> None:
        _need(len(self.scopes) > 1, "step-pop without an assumption to drop")
        self._require_step(rest)
        self.scopes.pop()
        self._conclude(rest)

    def step(self, rest: list[Term]) -> None:
        self._require_step(rest)
        self._conclude(rest)

    def _conclude(self, rest: list[Term]) -> None:
        self._name(rest[0])
        stated = rest[1] not in PARTS and self.terms.number(rest[1]) == self.false
        self.refutes = stated and len(self.scopes) == 1

    def _require_step(self, rest: list[Term]) -> None:
        """A name, perhaps what is concluded, a rule, premises shown before, and arguments."""
        _need(len(rest) > 2, "a step has a name and a rule")
        parts = rest[1:]
        if parts[0] not in PARTS:
            self.terms.number(parts.pop(0))
        names, values = parts[::2], parts[1::2]
        fits = len(names) == len(values) and all(name in PARTS for name in names)
        _need(fits and len(set(map(str, names))) == len(names), "a step has parts of its own")
        given = dict(zip(names, values, strict=True))
        rule = given.get(":rule")
        _need(isinstance(rule, str) and RULE.fullmatch(rule), "a step has no rule")
        _need(rule not in NO_RULES, f"the rule {rule!r} proves nothing")
        for name in (":premises", ":args"):
            _need(isinstance(given.get(name, []), list), f"{name} is no list")
        for premise in given.get(":premises", []):
            known = isinstance(premise, str) and any(premise in names for names in self.scopes)
            _need(known, f"{str(rest[0])[:40]} rests on what was not shown before")
        self.terms.number(given.get(":args", []))

    def _name(self, name: Term) -> None:
        fits = isinstance(name, str) and PROVED.fullmatch(name)
        _need(
            fits and not any(name in names for names in self.scopes),
            f"{str(name)[:40]!r} is no new name of a step (@p1, @p2, …)",
        )
        self.scopes[-1].add(name)


def parted(text: str) -> tuple[str, str]:
    """The name of the script that a proof refers to, and what follows.

    Raises:
        VerificationError: the file does not begin with a reference to a script beside it.
    """
    found = REFERENCE.match(text)
    _need(found, 'the proof does not begin with (reference "…") to a script beside it')
    assert found is not None
    return found[2], text[found.end() :]


def _need(condition: object, why: str) -> None:
    if not condition:
        raise VerificationError(why)
