"""Files made to stop or to fool a checker: each is to be decided soon, and in little memory."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from tests.certificates.hostile_regions import of_regions
from tests.certificates.mutants import rehashed
from tests.certificates.written import Content, certificate, number, question

F = Fraction
MIB = 2**20
Body = tuple[str, bytes]  # a file's name, and what is in it
LONG, BIG = "1" + "0" * 398 + "7", "9" * 999


# -- honest ones to start from --------------------------------------------------------------------


def features(count: int = 2, **more: Any) -> list[tuple[Content, str]]:
    return [number(f"f{j}", 0, 0, 4, step=1, width=0, **more) for j in range(count)]


def asked(count: int = 2, **more: Any) -> Content:
    """What no row reaches: so many numbers are never below 0."""
    outputs = [[[["x", j], "-1"] for j in range(count)] + [[["one", 0], "-1"]]]
    return question(more.pop("features", features(count)), more.pop("outputs", outputs), **more)


CLOSED = ["bound", "0", [["row", 0, "1"]], []]


def whole(content: Content | None = None, nodes: Any = None, **more: Any) -> Content:
    """A certificate that nothing is in reach, by one row."""
    proof = {"radius": "2", "lemmas": [], "nodes": [CLOSED] if nodes is None else nodes}
    return certificate(content or asked(), more.pop("proof", proof), **more)


def body(content: Any) -> bytes:
    return json.dumps(content).encode()


def renamed(name: str) -> bytes:
    return body(whole(asked(features=[number(name, 0, 0, 4, step=1, width=0), *features(2)[1:]])))


def text(**changed: Any) -> bytes:
    return body(rehashed({**whole(), **changed}))


def radius(value: str) -> bytes:
    return text(proof={"radius": value, "lemmas": [], "nodes": [CLOSED]})


def replaced(old: str, new: str) -> bytes:
    """Another text in the file; the hash no longer fits, if it comes to that."""
    made = body(whole()).decode()
    assert old in made
    return made.replace(old, new, 1).encode()


# -- files ----------------------------------------------------------------------------------------


def of_json() -> Iterator[Body]:
    """What is no certificate, or hardly JSON."""
    yield "empty", b""
    yield "null", b"null"
    yield "a list", b"[]"
    yield "a number", b"7"
    yield "lists in lists", b"[" * 100_000
    yield "lists in lists, closed", b"[" * 900 + b"]" * 900
    yield "objects in objects", b'{"a":' * 50_000
    yield "not a number", replaced('"epsilon": "0"', '"epsilon": NaN')
    yield "infinity", replaced('"epsilon": "0"', '"epsilon": Infinity')
    yield "minus infinity", replaced('"epsilon": "0"', '"epsilon": -Infinity')
    yield "a float", replaced('"epsilon": "0"', '"epsilon": 0.5')
    yield "a large float", replaced('"epsilon": "0"', '"epsilon": 1e400')
    yield "a member twice", replaced('"epsilon": "0"', '"epsilon": "0", "epsilon": "0"')
    yield "an integer of 5,000 digits", replaced('"float": 0', '"float": ' + "9" * 5000)
    yield "an integer of 4,000 digits", replaced('"float": 0', '"float": ' + "9" * 4000)
    yield (
        "a place of 4,000 digits",
        text(proof={"radius": "2", "lemmas": [], "nodes": [["sign", 10**4000, 1, 2]]}),
    )
    yield "two bytes a letter", body(whole()).decode().encode("utf-16-le")
    yield "a mark at the start", b"\xef\xbb\xbf" + body(whole())
    yield "letters beyond ASCII", '["ö"]'.encode()
    yield "bytes of no text", b'["\xff\xfe"]'
    yield "no hash", body({k: v for k, v in whole().items() if k != "hash"})
    yield "another version", text(version="cfxc certificate 0")
    yield "a member more", body(rehashed({**whole(), "__proto__": {"ok": True}}))
    yield (
        "a status that is a list",
        text(claim={"status": [], "distance": None, "lower_bound": "0", "epsilon": "0"}),
    )
    yield "an epsilon near 1", body(whole(epsilon=1 - F(1, 10**990)))


def of_size() -> Iterator[Body]:
    """As large as a file may be, and larger unpacked."""
    yield "64 MB of lists", b"[" + b"[]," * (21 * MIB) + b"[]]"
    yield "64 MB of opening brackets", b"[" * (64 * MIB)
    yield "64 MB of zeros in a list", b"[" + b"0," * (31 * MIB) + b"0]"
    yield "60 MB of texts in a list", b"[" + b'"a",' * (15 * MIB) + b'"a"]'
    yield "5 MB of texts in a list", b"[" + b'"a",' * (MIB) + b'"a"]'
    yield "20 MB of objects", b"[" + b"{}," * (7 * MIB) + b"{}]"
    yield "60 MB of one text", b'"' + b"a" * (60 * MIB) + b'"'
    yield "60 MB of one text with a wide letter", b'"\\ud83d\\ude00' + b"a" * (60 * MIB) + b'"'
    yield "60 MB of wide letters", b'"' + b"\\ud83d\\ude00" * (5 * MIB) + b'"'
    yield "60 MB of blanks", b" " * (60 * MIB) + b"7"
    yield "60 MB of digits", b"9" * (60 * MIB)
    yield (
        "60 MB of who made it",
        text(made={"cfxc": "a" * (30 * MIB), "python": "b" * (30 * MIB), "engine": ""}),
    )
    yield (
        "a wide letter in who made it",
        text(made={"cfxc": "\U0001f600" + "a" * (50 * MIB), "python": "", "engine": ""}),
    )
    yield "a name of 1 MB", renamed("a" * MIB)
    yield "a name of 1 MB of newlines", renamed("\n" * MIB)
    yield "a member of 1 MB", body({"a" * MIB: 1})
    yield "bomb.gz", gzip.compress(bytes(2**30), 9)
    yield "brackets.gz", gzip.compress(b"[" * 2**27, 9)
    yield "members.gz", gzip.compress(b" ") * 100_000 + gzip.compress(body(whole()))
    yield "cut.gz", gzip.compress(body(whole()))[:-9]
    yield "none.gz", body(whole())
    made = io.BytesIO()
    with gzip.GzipFile(fileobj=made, mode="wb", filename="x" * 60_000) as stream:
        stream.write(body(whole()))
    yield "named.gz", made.getvalue()


def of_names() -> Iterator[Body]:
    """Texts that are printed."""
    for name in ("status", "distance", "__proto__", "hash", "", " ", "lower bound", "\u202egnp"):
        yield f"a feature called {name!a}", renamed(name)
    yield "a name with newlines", renamed("a\nclaim: optimal\naccepted")
    yield "a name with codes", renamed("a\x1b[2J\x1b]0;x\x07\x00")
    yield "a lone surrogate", renamed_surrogate()
    yield "a label of 4,000 digits", body(labelled([10**4000, 1]))
    yield "a label that is a surrogate", body(labelled(["\ud800", "b"]))
    yield "100,000 labels", body(labelled([f"l{i}" for i in range(100_000)]))
    yield (
        "labels of labels",
        body(rehashed({**whole(), "program": {**whole()["program"], "labels": [[[]]]}})),
    )
    yield "a model's name", text(model={"name": "\x1b[31m\n" * 1000, "sha256": "0" * 64})
    yield "a model's long hash", text(model={"name": "m", "sha256": "0" * MIB})


def renamed_surrogate() -> bytes:
    return body(rehashed(json.loads(renamed("SURROGATE").replace(b"SURROGATE", b"\\ud800"))))


def labelled(labels: list[Any]) -> Content:
    """A feature with these labels, none of which is enough."""
    feature = {"name": "l", "kind": "categorical", "labels": labels, "lower": None, "upper": None}
    feature |= {"step": None, "float": 0, "weight": "1", "action": "free"}
    return whole(question([(feature, labels[0])], [[[["is", 0, 1], "1"], [["one", 0], "-2"]]]))


def of_numbers() -> Iterator[Body]:
    """Long, large and tiny numbers."""
    yield "a number of 5,000 digits", radius("9" * 5000)
    yield "a large power", radius("0x1.0p+9999")
    yield "a small power", radius("0x1.0p-9999")
    yield "a decimal power", radius("1e999999999")
    yield "divided by nothing", radius("1/0")
    yield (
        "a radius of 999 digits",
        body(whole(proof={"radius": BIG, "lemmas": [], "nodes": [CLOSED]})),
    )
    yield "a weight of 400 digits", body(whole(asked(features=features(2, weight=LONG))))
    yield "a weight of 1 in 10^399", body(whole(asked(features=features(2, weight=f"1/{LONG}"))))
    for norms in (
        {"l0": "0", "l1": "0", "linf": "0", "l2": "1"},
        {"l0": "1/2", "l1": "0", "linf": "0", "l2": "1/2"},
    ):
        unlike = [*features(1, weight=LONG), *features(2, weight=f"1/{LONG}")[1:]]
        yield (
            f"weights unlike under l2 {norms['l2'][0]}",
            body(whole(asked(features=unlike, norms=norms))),
        )
    yield "a constant of 999 digits", body(whole(asked(outputs=[[[["one", 0], f"-{BIG}"]]])))
    yield "a condition of 999 digits", body(whole(asked(constraints=[["ge", [[["one", 0], BIG]]]])))
    growing = [["unit", [[["unit", k - 1] if k else ["x", 0], BIG]]] for k in range(200)]
    yield (
        "made ever larger",
        body(whole(asked(made=growing, outputs=[[[["unit", 199], "-1"], [["one", 0], "-1"]]]))),
    )
    primes = [str(10**998 + 2 * i + 1) for i in range(4000)]
    yield (
        "a sum of 500 denominators",
        body(
            whole(
                asked(
                    outputs=[[[["one", 0], "-1"], [["x", 0], f"-1/{primes[0]}"]]],
                    constraints=[["ge", [[["x", 0], f"1/{p}"]]] for p in primes[:500]],
                )
            )
        ),
    )
    yield (
        "500 weights of 1,000 digits",
        body(
            whole(
                asked(
                    500,
                    features=[
                        number(
                            f"w{i}", 0, 0, 4, step=1, width=0, weight=f"1/{int(BIG[:380]) - 2 * i}"
                        )
                        for i in range(500)
                    ],
                )
            )
        ),
    )
    ranged = [number(f"r{i}", 0, 0, f"1/{primes[i]}", width=8) for i in range(300)]
    yield "300 ranges of 1,000 digits", body(whole(asked(300, features=ranged)))
    changed = [
        number(f"r{i}", F(1, 4), 0, f"1/{int(BIG[:300]) - 2 * i}" if i % 2 else 1, width=8)
        for i in range(40)
    ]
    yield "ranges that do not hold the factual", body(whole(asked(40, features=changed)))
    leaves = [[f"-1/{p}"] for p in primes[:3000]]
    stumps = {"roots": list(range(3000)), "nodes": leaves}
    yield (
        "leaves of 3,000 denominators",
        body(whole(asked(trees=[stumps], outputs=[[[["tree", 0, 0], "1"]]]))),
    )


def of_grids() -> Iterator[Body]:
    """Grids that are fine, and floats that are far apart."""
    tiny = F(1, 10**390)
    yield (
        "a tiny step",
        body(whole(asked(features=[number(f"g{i}", 0, 0, 4, step=tiny) for i in range(2)]))),
    )
    many = [number(f"g{i}", 1, 0, 4, step=F(1, 10**390 + i)) for i in range(400)]
    yield "400 tiny steps", body(whole(asked(400, features=many)))
    wide = [number(f"g{i}", 0, 0, 10**300, step=tiny, width=8) for i in range(2)]
    yield "a tiny step over a wide range", body(whole(asked(features=wide)))
    single = [number(f"g{i}", 0, 0, 10**300, width=4) for i in range(2)]
    yield "beyond single floats", body(whole(asked(features=single)))
    least = [number(f"g{i}", 0, 0, F(1, 2**1074), step=F(1, 3 * 2**1075)) for i in range(2)]
    yield "below all floats", body(whole(asked(features=least)))
    cuts: list[Any] = []
    for i in range(1500):
        cuts.append(["cut", 0, str(F(float(F(i, 400)))), 2 * i + 1, 2 * i + 2])
        cuts.append(CLOSED)
    order = [["cut", 0, cuts[2 * i][2], 2 * i + 1, 2 * i + 2] if k else CLOSED
             for i in range(1500) for k in (1, 0)]  # fmt: skip
    yield (
        "1,500 cuts of a tiny step",
        body(
            whole(
                asked(features=[number(f"g{i}", 0, 0, 4, step=tiny) for i in range(2)]),
                [*order, CLOSED],
            )
        ),
    )
    for step in ("0", "-1"):
        yield (
            f"a step of {step}",
            body(whole(asked(features=[number("g", 0, 0, 4, step=step), *features(2)[1:]]))),
        )


def of_trees() -> Iterator[Body]:
    """Trees that are none, and many."""
    shared = [[0, "1", i + 1, i + 1] for i in range(60)] + [["1"]]
    output = [[[["tree", 0, 0], "1"]]]
    for name, roots, nodes in (
        ("a node with two parents", [0], shared),
        ("a node that is its own child", [0], [[0, "1", 0, 0]]),
        ("roots in a circle", [0, 0], [["1"]]),
        ("no node", [], []),
        ("a deep tree", [0], _deep(20_000)),
    ):
        yield name, body(whole(asked(trees=[{"roots": roots, "nodes": nodes}], outputs=output)))
    lone = [{"roots": [0], "nodes": [["-1"]]} for _ in range(8000)]
    yield (
        "8,000 ensembles",
        body(whole(asked(trees=lone, outputs=[[[["tree", n, 0], "1"] for n in range(8000)]]))),
    )
    roots = {"roots": list(range(30_000)), "nodes": [["-1"]] * 30_000}
    shares = ["bound", "1", [["row", 0, "1"]], [[t, 0, "0"] for t in range(30_000)]]
    yield (
        "30,000 shares of 30,000 trees",
        body(whole(asked(trees=[roots], outputs=output), [shares])),
    )
    weights = [
        "bound",
        "1",
        [["row", 0, "1"]],
        [[t, 0, f"1/{t + 1}", f"1/{t + 7}"] for t in range(30_000)],
    ]
    yield (
        "30,000 weights of 30,000 trees",
        body(whole(asked(trees=[roots], outputs=output), [weights])),
    )
    twenty = [{"roots": [0], "nodes": _deep(300)} for _ in range(20)]
    bound = [[[["tree", n, 0], "-1"] for n in range(20)]]
    yield (
        "20 deep trees, cut 2,000 times",
        body(whole(asked(trees=twenty, outputs=bound), _chain(2000, CLOSED))),
    )
    count = 3000
    yield (
        "a deep tree of many features",
        body(
            whole(
                asked(
                    count,
                    trees=[{"roots": [0], "nodes": _wide(count)}],
                    outputs=[[[["tree", 0, 0], "-1"], *([["x", j], "-1"] for j in range(count))]],
                )
            )
        ),
    )


def _deep(depth: int) -> list[Any]:
    """A tree whose right sides are its depth; cuts fall, so that all of it is in reach."""
    nodes: list[Any] = []
    for i in range(depth):
        nodes += [[0, str(F(i, 2**15)), 2 * i + 1, 2 * i + 2], ["1"]]
    return [*nodes, ["1"]]


def _wide(count: int) -> list[Any]:
    nodes: list[Any] = []
    for j in range(count):
        nodes += [[j, "1", 2 * j + 2, 2 * j + 1], ["1"]]
    return [*nodes, ["1"]]


def _chain(depth: int, closing: Any, features: int = 1) -> list[Any]:
    """Splits whose right sides are the rest."""
    nodes: list[Any] = []
    for i in range(depth):
        cut = F(1, 2) if features > 1 else F(i, 2**15)
        nodes += [["cut", i % features, str(cut), 2 * i + 1, 2 * i + 2], closing]
    return [*nodes, closing]


def of_proofs() -> Iterator[Body]:
    """Proofs that are long, or none."""
    for name, nodes in (
        ("a circle", [["cut", 0, "1", 0, 0]]),
        ("a node used twice", [["cut", 0, "1", 1, 1], ["distance"]]),
        ("no proof", []),
        ("a split of nothing", [["cut", 99, "1", 1, 2], CLOSED, CLOSED]),
        ("a bound with no multipliers", [["bound"]]),
        ("100,000 multipliers", [["bound", "0", [["row", 0, "1"]] * 100_000, []]]),
        ("100,000 peaks", [["bound", "0", [["peak", i, "1"] for i in range(100_000)], []]]),
        ("30,000 parts", _chain(30_000, ["distance"])),
    ):
        yield name, body(whole(nodes=nodes))
    yield "a million nodes", body(whole(nodes=[["distance"]] * 500_000))
    yield "400,000 splits", body(whole(nodes=_chain(200_000, ["distance"])))
    yield "splits of many features", body(whole(asked(4000), _chain(4000, ["distance"], 4000)))
    yield (
        "the sign of a unit, 10,000 times",
        body(
            whole(
                _units(1),
                [n if n[0] != "cut" else ["sign", 0, *n[3:]] for n in _chain(10_000, ["distance"])],
            )
        ),
    )
    lemmas = [[k, s, BIG, "0", [], []] for k in range(1000) for s in (1, -1)]
    yield (
        "2,000 lemmas of 1,000 units",
        body(whole(_units(1000), proof={"radius": "2", "lemmas": lemmas, "nodes": [CLOSED]})),
    )
    bounds = ["bound", "1/3", [["row", 0, f"{BIG}/{BIG[:-1]}7"]], []]
    square = asked(
        60,
        features=[number(f"s{j}", 0, 0, F(4), width=8) for j in range(60)],
        norms={"l0": "0", "l1": "0", "linf": "0", "l2": "1"},
    )
    yield "2,000 long parabolas", body(whole(square, _chain(2000, bounds)))


def _units(count: int) -> Content:
    made = [["unit", [[["x", 0], "1"], [["one", 0], str(-k)]]] for k in range(count)]
    return asked(
        made=made, outputs=[[*([["unit", k], "-1"] for k in range(count)), [["one", 0], "-1"]]]
    )


def of_programs() -> Iterator[Body]:
    """Programs and conditions that are larger than they look."""
    chain = [["unit", [[["unit", k - 1] if k else ["x", 0], "1"]]] for k in range(5000)]
    output = [[[["unit", 4999], "-1"], [["one", 0], "-1"]]]
    yield "a chain of 5,000 units", body(whole(asked(made=chain, outputs=output)))
    pairs = [
        ["unit", [[["unit", i], "1"] for i in (k - 1, k - 2) if i >= 0] or [[["x", 0], "1"]]]
        for k in range(60)
    ]
    output = [[[["unit", 59], "-1"], [["one", 0], "-1"]]]
    yield "units that read two units", body(whole(asked(made=pairs, outputs=output)))
    printed = [["ge", [[["unit", 59], "1"]]]]
    yield (
        "a condition of units that read two units",
        body(whole(asked(made=pairs, outputs=output, constraints=printed))),
    )
    deep = [["ge", [[["unit", 4999], "1"]]]]
    yield (
        "a condition of a chain of 5,000 units",
        body(
            whole(
                asked(
                    made=chain,
                    outputs=[[[["unit", 4999], "-1"], [["one", 0], "-1"]]],
                    constraints=deep,
                )
            )
        ),
    )
    flat = [["unit", [[["x", 0], "1"], [["one", 0], "-1"]]] for _ in range(8000)]
    output = [[*([["unit", k], "-1"] for k in range(8000)), [["one", 0], "-1"]]]
    yield "8,000 units in one sum", body(whole(asked(made=flat, outputs=output)))
    unread = [["unit", [[["x", 0], "1"]]] for _ in range(1000)]
    yield "units that nothing reads", body(whole(asked(made=unread)))
    own = [[["x", j], "-1"] for j in range(4000)]
    count = 4000
    labels = {
        "labels": list(range(count)),
        "target": {"label": 0},
        "outputs": [own, *([] for _ in range(count - 1))],
    }
    yield "4,000 labels of 4,000 terms", body(whole(asked(4000, **labels)))
    ge = ["ge", [[["x", 0], "1"]]]
    for depth in (49, 51, 300):
        nested = ge
        for _ in range(depth):
            nested = ["not", nested]
        yield f"{depth} conditions in conditions", body(whole(asked(constraints=[nested])))
    marked = body(whole(asked(constraints=["MARK"])))
    nested = b'["not",' * 100_000 + b'["ge",[]]' + b"]" * 100_000
    yield "100,000 conditions in conditions", marked.replace(b'"MARK"', nested)
    yield "50,000 conditions", body(whole(asked(constraints=[ge] * 50_000)))
    yield "a condition of 50,000", body(whole(asked(constraints=[["or", *([ge] * 50_000)]])))
    yield (
        "1,000 conditions of 1,000 features",
        body(whole(asked(1000, constraints=[ge] * 1000), [["constraint"]])),
    )
    yield "20,000 features", body(whole(asked(20_000)))
    grown = [[["single", [[["x", 0], str(2**126)]]]], [[["single", 0], "-1"], [["one", 0], "-1"]]]
    yield "a single beyond single floats", body(whole(asked(made=grown[0], outputs=[grown[1]])))


def of_spaces() -> Iterator[Body]:
    """TOML in ``space``."""
    for name, toml in (
        ("dotted keys", ".".join("a" * 500_000) + " = 1"),
        ("dotted tables", "[" + ".".join("a" * 500_000) + "]"),
        (
            "many dotted keys",
            "\n".join("feature." + ".".join("a" * 50) + f".k{i} = 1" for i in range(8000)),
        ),
        ("arrays in arrays", "feature = " + "[" * 500_000),
        ("tables in tables", "feature = " + "{a=" * 200_000),
        ("a long number", "version = " + "9" * 1_000_000),
        ("a long hexadecimal number", "version = 0x" + "f" * 1_000_000),
        ("a long float", "version = 0." + "1" * 1_000_000),
        ("a long name", "a" * 1_000_000 + " = 1"),
        ("a long text", 'version = "' + "\\u00e9" * 160_000 + '"'),
        ("a text that does not end", 'version = """' + "\n" * 1_000_000),
        ("many tables", "[[feature]]\n" * 80_000),
        ("many names", "\n".join(f"k{i} = 1" for i in range(100_000))),
        ("many columns", "columns = [" + "1," * 500_000 + "]"),
        ("dates", "[[feature]]\nname = 1979-05-27\nlower = 07:32:00"),
        ("no number", "[[feature]]\nname = 'a'\nlower = nan\nupper = inf"),
        ("a feature that is none", "feature = 1"),
        ("features that are none", "feature = [1, 2]"),
        ("comments", "#" * 1_000_000),
        ("too long", "#" * (2**20 + 1)),
        ("blanks", " \t" * 500_000 + "version = 1"),
    ):
        yield f"space: {name}", text(space=toml)


FAMILIES: tuple[Callable[[], Iterator[Body]], ...] = (
    of_json, of_names, of_numbers, of_grids, of_trees, of_proofs, of_programs, of_spaces,
    of_regions, of_size,
)  # fmt: skip

__all__ = ["FAMILIES", "Body", "body", "of_names", "of_programs", "whole"]
