"""Which proofs in CPC are let through, and which are not."""

from __future__ import annotations

import pytest

from cfxc.certificates.export import screening
from cfxc.certificates.export.screening import parted, screened
from cfxc.errors import VerificationError

SCRIPT = """; comment with ( and "
(set-logic QF_LRA)
(declare-const |x| Real) ; 'a label (with a parenthesis'
(assert (<= x (/ 1.0 2.0)))
(assert (not (<= |x| 0.5)))
(assert (>= x 0.25))
(check-sat)
"""
PROOF = """(define @t1 () (/ 1/1 2/1))
(define @t2 () (<= x @t1))
(assume @p1 @t2) ; "a comment"
(assume-push @p2 (not (<= x 1/2)))
(step @p3 :rule evaluate :args (@t1))
(step-pop @p4 :rule scope :premises (@p3))
(assume @p5 (not (<= x 1/2)))
(assume-push @p6 @t2)
(step @p3 false :rule contra :premises (@p1 @p5))
(step-pop @p7 :rule scope :premises (@p3))
(step @p8 false :rule chain_m_resolution :premises (@p1 @p7 @p4) :args (false (@list true)))
"""


def test_a_proof() -> None:
    screened(PROOF, SCRIPT)
    screened("(assume @p1 false)\n", "(assert false)")


@pytest.mark.parametrize(
    ("extra", "why"),
    [
        ("(declare-rule lie () :conclusion false)", "'declare-rule' is no command"),
        ("(declare-const y Real)", "'declare-const' is no command"),
        ("(declare-axiom a false)", "'declare-axiom' is no command"),
        ("(program p () :signature (Bool) Bool)", "'program' is no command"),
        ('(include "other.eo")', "'include' is no command"),
        ('(reference "other.smt2")', "'reference' is no command"),
        ("(set-option :x true)", "'set-option' is no command"),
        ("(reset)", "'reset' is no command"),
        ("((step @p9 :rule refl))", "is no command"),
        ("()", "'' is no command"),
        ("(define x () true)", "no new name of a term"),
        ("(define @t1 () true)", "no new name of a term"),
        ("(define @t9 ((y Bool)) y)", r"takes a name, \(\) and a term"),
        ("(define @t9 () true :type Bool)", r"takes a name, \(\) and a term"),
        ("(define @t9 () @t10)", "@t10 is used before it is defined"),
        ("(define @t9 () (eo::define x y))", "a term with 'eo::define'"),
        ("(define @t9 () (! x :named y))", "a term with ':named'"),
        ("(assume @p9 (<= x 2/3))", "@p9 assumes what the script does not assert"),
        ("(assume @p9 (>= x @t1))", "@p9 assumes what the script does not assert"),
        ("(assume @p9 false)", "@p9 assumes what the script does not assert"),
        ("(assume @p1 @t2)", "'@p1' is no new name of a step"),
        ("(assume p9 @t2)", "'p9' is no new name of a step"),
        ("(assume @p9)", "takes a name and a term"),
        ("(assume-push @p9)", "takes a name and a term"),
        ("(step @p9 false :rule trust)", "the rule 'trust' proves nothing"),
        ("(step @p9 false)", "a name and a rule"),
        ("(step @p9 false :args (x))", "a step has no rule"),
        ("(step @p9 false :rule (x y))", "a step has no rule"),
        ("(step @p9 false :rule refl :rule refl)", "parts of its own"),
        ("(step @p9 false :rule refl :assumption x)", "parts of its own"),
        ("(step @p9 false :rule refl :premises @p1)", ":premises is no list"),
        ("(step @p9 false :rule refl :premises (@p10))", "not shown before"),
        ("(step @p9 false :rule refl :premises (@p3))", "not shown before"),
        ("(step @p9 false :rule refl :premises ((f)))", "not shown before"),
        ("(step-pop @p9 :rule scope :premises (@p1))", "without an assumption"),
        ("(step @p9 #b01 :rule refl)", "not a word, a list or a comment"),
        ("(step @p9 x|y| :rule refl)", "not a word, a list or a comment"),
        ('(step @p9 "open :rule refl)', "not a word, a list or a comment"),
        ("x", "stands outside of any command"),
        (")", r"a '\)' too many"),
        ("(step @p9 true :rule refl", "has no end"),
        ("(step @p9 true :rule refl)", "does not conclude false"),
        ("(step @p9 :rule refl)", "does not conclude false"),
        ("(assume-push @p9 x)(step @p10 false :rule refl)", "is never dropped"),
        ("(assume-push @p9 false)(step-pop @p10 :rule scope)", "does not conclude false"),
    ],
)
def test_what_is_refused(extra: str, why: str) -> None:
    with pytest.raises(VerificationError, match=why):
        screened(f"{PROOF}{extra}\n", SCRIPT)


def test_another_script_is_refused() -> None:
    """The same proof of a script that may be satisfied."""
    with pytest.raises(VerificationError, match=r"command 7 .*: @p5 assumes what the script"):
        screened(PROOF, SCRIPT.replace("(not (<= |x| 0.5))", "(not (<= |x| 0.25))"))


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(VerificationError, match="nested more than"):
        screened("(" * 20_000, SCRIPT)
    monkeypatch.setattr(screening, "SIZE", 1000)
    with pytest.raises(VerificationError, match="more than 1000 characters"):
        screened(PROOF + " " * 1000, SCRIPT)


def test_terms_that_double_are_compared_by_number() -> None:
    """Sixty terms, each twice the one before: 2^60 words if they were written out."""
    more = "".join(f"(define @t{i + 1} () (and @t{i} @t{i}))\n" for i in range(2, 62))
    screened(
        f"(define @t1 () x)\n(define @t2 () (<= x 1/2))\n{more}(assume @p1 false)\n",
        "(assert false)",
    )


def test_the_reference() -> None:
    assert parted('; c\n(reference "a b.smt2")\n(step)') == ("a b.smt2", "(step)")
    for text in (
        '(reference "../a.smt2")\n', '(reference "")\n', "(step)",
        '(include "a")\n(reference "b")\n', '(reference "a" normalize)\n',
        '(reference "a\\"b")\n',
    ):  # fmt: skip
        with pytest.raises(VerificationError, match="does not begin with"):
            parted(text)
