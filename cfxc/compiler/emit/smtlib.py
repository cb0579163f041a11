"""Formulae as SMT-LIB 2 text: what every solver reads, and what ``--emit smt2`` shows.

Shared terms become ``define-fun``, so the text is linear in the formula.  ``max`` bounded only
from above becomes a variable with ``>=`` facts, elsewhere an ``ite``.  Rounding to float32 becomes
a variable within half an ulp, and smooth functions one within a piecewise-linear enclosure (both
weaken the formula: refutations carry over, points must be checked).  With ``counting="pb"`` sums
of finite choices become pseudo-Boolean constraints (an extension of z3; see ``pseudo_boolean``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import inf, isfinite
from typing import Literal

from ...errors import UnsupportedError
from ...ir.interval import ceil_float, floor_float
from ...stopping import poll
from ..enclosures import enclose
from ..pseudo_boolean import AtMost, Counter, is_pseudo_boolean
from ..rewriting import two_sided
from ..terms import EVERY, Pool, Term, postorder

Counting = Literal["arithmetic", "pb"]
_SORTS = {"bool": "Bool", "int": "Int", "real": "Real"}


def emit(
    pool: Pool,
    assertions: Iterable[Term],
    *,
    counting: Counting = "arithmetic",
    comments: Sequence[str] = (),
    footer: Sequence[str] = (),
    equations: bool = False,
) -> str:
    """A complete script: declarations, ranges, definitions, one ``assert`` per formula.

    ``equations``: shared terms are constants with an equation each, for proof checkers that do not
    unfold definitions.

    Raises ``UnsupportedError`` for smooth functions and rounding of unbounded arguments.
    """
    writer = _Writer(pool, counting == "pb", equations)
    body = list(assertions)
    writer.one_sided = _one_sided(pool.and_(*body))
    for formula in body:
        writer.add(formula)
    logic = [] if counting == "pb" else [f"(set-logic {writer.logic()})"]
    header = [f"; {line}" for line in comments] + logic
    return "\n".join([*header, *writer.lines, *footer]) + "\n"


# Symbols with a meaning in some solver (those made of punctuation aside), and what is defined here.
_RESERVED = re.compile(
    r"_|as|par|let|true|false|not|and|or|xor|ite|distinct|forall|exists|abs|div|mod|div_total"
    r"|mod_total|to_real|to_int|is_int|int\.log2|int\.pow2|piand|t\d+|[^\w ]*"
)


def symbol(name: str) -> str:
    """A name as an SMT-LIB symbol; :func:`name_of` reads it back.

    What symbols cannot hold, and the ``@`` or ``.`` they cannot start with, is written as its code
    between ``∖`` and ``;``, and a final ``∖`` tells a name from a reserved word.
    """
    body = "".join(
        character
        if character.isprintable() and character not in ("@.\\|∖" if i == 0 else "\\|∖")
        else f"∖{ord(character):x};"
        for i, character in enumerate(name)
    )
    return f"|{body}{'∖' * bool(_RESERVED.fullmatch(body))}|"


def name_of(quoted: str) -> str:
    """The name that a symbol (with or without its bars) stands for."""
    body = quoted.removeprefix("|").removesuffix("|").removesuffix("∖")
    return re.sub("∖([0-9a-f]+);", lambda match: chr(int(match[1], 16)), body)


def _one_sided(formula: Term) -> set[Term]:
    both = two_sided(formula)
    return {t for t in postorder([formula]) if t.kind == "max" and t not in both}


def number(value: Fraction, sort: str) -> str:
    """A numeral of sort Int, or a Real as a decimal or a quotient; exact."""
    if sort == "int":
        return str(value.numerator) if value >= 0 else f"(- {-value.numerator})"
    size = abs(value)
    text = f"{size.numerator}.0"
    if size.denominator != 1:
        text = f"(/ {text} {size.denominator}.0)"
    return text if value >= 0 else f"(- {text})"


def _outwards(term: Term) -> list[Fraction | None]:
    """Bounds of a term as doubles: exp(-10**6) exactly has more digits than Python writes."""
    ends = list[Fraction | None]()
    for end, rounded in ((term.lower, floor_float), (term.upper, ceil_float)):
        near = inf if end is None else rounded(end)
        ends.append(Fraction(near) if isfinite(near) else end)
    return ends


class _Writer:
    def __init__(self, pool: Pool, count: bool, equations: bool = False) -> None:
        self.pool, self.equations = pool, equations
        self.lines: list[str] = []
        self.texts: dict[Term, str] = {}
        self.one_sided: set[Term] = set()
        self.counter = Counter(pool) if count else None
        self.uses: dict[Term, int] = {}
        self.kinds = {"int": False, "real": False, "nonlinear": False}
        self._names = 0

    def number(self, value: Fraction, sort: str) -> str:
        self.kinds[sort] = True
        return number(value, sort)

    def logic(self) -> str:
        """The smallest standard logic that covers what was written."""
        arithmetic = "I" * self.kinds["int"] + "R" * self.kinds["real"]
        if not arithmetic:
            return "QF_UF"
        return f"QF_{'N' if self.kinds['nonlinear'] else 'L'}{arithmetic}A"

    def add(self, formula: Term) -> None:
        parts = formula.args if formula.kind == "and" else (formula,)
        for part in parts:
            text = self.write(part)
            self.lines.append(f"(assert {text})")

    def write(self, root: Term) -> str:
        """The text of a term, after whatever declarations and definitions it needs."""
        if root in self.texts:
            return self.texts[root]
        self._count_uses(root)
        stack = [root]
        while stack:
            term = stack[-1]
            if term in self.texts:
                stack.pop()
                continue
            if not len(self.texts) % EVERY:
                poll()
            needed = self._needed(term)
            waiting = [arg for arg in needed if arg not in self.texts]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            text = self._text(term)
            if self.uses.get(term, 0) > 1 and text.startswith("("):
                text = self._define(text, term.sort)
            self.texts[term] = text
        return self.texts[root]

    def _count_uses(self, root: Term) -> None:
        for term in postorder([root]):
            for arg in term.args:
                self.uses[arg] = self.uses.get(arg, 0) + 1

    def _needed(self, term: Term) -> tuple[Term, ...]:
        if self._is_count(term):
            return ()  # its trees are counted, not written as numbers
        return term.args

    def _is_count(self, term: Term) -> bool:
        return self.counter is not None and term.kind in ("le", "lt") and is_pseudo_boolean(term)

    def _define(self, text: str, sort: str) -> str:
        name = f"t{self._names}"
        self._names += 1
        if self.equations:
            self.lines += [f"(declare-const {name} {_SORTS[sort]})", f"(assert (= {name} {text}))"]
        else:
            self.lines.append(f"(define-fun {name} () {_SORTS[sort]} {text})")
        return name

    def _declare(self, term: Term) -> str:
        name = symbol(term.data)
        self.lines.append(f"(declare-const {name} {_SORTS[term.sort]})")
        if term.sort != "bool":
            self.kinds[term.sort] = True
            for bound, relation in ((term.lower, ">="), (term.upper, "<=")):
                if bound is not None:
                    self.lines.append(
                        f"(assert ({relation} {name} {self.number(bound, term.sort)}))"
                    )
        return name

    def _text(self, term: Term) -> str:
        kind = term.kind
        if kind == "const":
            if term.sort == "bool":
                return "true" if term.data else "false"
            return self.number(term.data, term.sort)
        if kind == "var":
            return self._declare(term)
        if kind in ("le", "lt"):
            return self._count(term) if self._is_count(term) else self._atom(term)
        if kind == "linear":
            return self._linear(term)
        if kind == "ite" and term.sort != "bool":
            condition, x, y = term.args
            branches = f"{self.as_sort(x, term.sort)} {self.as_sort(y, term.sort)}"
            return f"(ite {self.texts[condition]} {branches})"
        if kind == "max":
            return self._max(term)
        if kind == "apply":
            return self._apply(term)
        if kind == "mul":
            self.kinds["nonlinear"] = True
            return "(* " + " ".join(self.as_sort(arg, term.sort) for arg in term.args) + ")"
        return f"({kind} " + " ".join(self.texts[arg] for arg in term.args) + ")"

    def as_sort(self, term: Term, sort: str) -> str:
        """The text of a numeric term where ``sort`` is expected."""
        if term.sort == sort:
            return self.texts[term]
        if term.kind == "const":
            return self.number(term.data, sort)
        self.kinds["real"] = self.kinds["int"] = True
        return f"(to_real {self.texts[term]})"

    def _linear(self, term: Term) -> str:
        parts = []
        for factor, arg in zip(term.data.coefficients, term.args, strict=True):
            text = self.as_sort(arg, term.sort)
            parts.append(text if factor == 1 else f"(* {self.number(factor, term.sort)} {text})")
        if term.data.constant:
            parts.append(self.number(term.data.constant, term.sort))
        return parts[0] if len(parts) == 1 else f"(+ {' '.join(parts)})"

    def _atom(self, term: Term) -> str:
        body = term.args[0]
        self.kinds[body.sort] = True
        relation = "<" if term.kind == "lt" else "<="
        return f"({relation} {self.texts[body]} {self.number(term.data, body.sort)})"

    def _max(self, term: Term) -> str:
        if term in self.one_sided:
            variable = self.pool.fresh("max", term.sort, term.lower, term.upper)
            name = self._declare(variable)
            for arg in term.args:
                self.lines.append(f"(assert (>= {name} {self.as_sort(arg, term.sort)}))")
            return name
        best = self.as_sort(term.args[0], term.sort)
        for arg in term.args[1:]:
            other = self.as_sort(arg, term.sort)
            if best.startswith("("):
                best = self._define(best, term.sort)
            best = f"(ite (>= {best} {other}) {best} {other})"
        return best

    def _apply(self, term: Term) -> str:
        (x,) = term.args
        if term.data != "round_float32":
            name = self._declare(self.pool.fresh(term.data, "real", *_outwards(term)))
            self._enclose(term.data, name, x)
            return name
        name = self._declare(self.pool.fresh(term.data, "real", term.lower, term.upper))
        sizes = [abs(end) for end in (x.lower, x.upper) if end is not None]
        if len(sizes) < 2:
            raise UnsupportedError("rounding to float32 needs a bounded feature")
        half_ulp = self.number(max(max(sizes) / 2**24, Fraction(1, 2**150)), "real")
        value = self.as_sort(x, "real")
        self.lines.append(f"(assert (<= (- {name} {value}) {half_ulp}))")
        self.lines.append(f"(assert (<= (- {value} {name}) {half_ulp}))")
        return name

    def _enclose(self, function: str, name: str, x: Term) -> None:
        """``name`` lies within a piecewise-linear enclosure of ``function(x)``."""
        value = self.as_sort(x, "real")
        for part in enclose(function, x.lower, x.upper):
            start, end = self.number(part.start, "real"), self.number(part.end, "real")
            low, high = self._line(part.low, value), self._line(part.high, value)
            self.lines.append(
                f"(assert (=> (and (<= {start} {value}) (<= {value} {end})) "
                f"(and (<= {low} {name}) (<= {name} {high}))))"
            )

    def _line(self, line: tuple[Fraction, Fraction], value: str) -> str:
        offset, slope = (self.number(number, "real") for number in line)
        return f"(+ {offset} (* {slope} {value}))"

    def _count(self, atom: Term) -> str:
        assert self.counter is not None
        constraint = self.counter.at_most(atom)
        if isinstance(constraint, AtMost):
            return self._at_most(constraint)
        return "true" if constraint else "false"

    def _at_most(self, constraint: AtMost) -> str:
        literals = " ".join(self.write(literal) for literal in constraint.literals)
        if not literals:
            return "true" if constraint.bound >= 0 else "false"
        weights = " ".join(map(str, constraint.weights))
        return f"((_ pble {constraint.bound} {weights}) {literals})"
