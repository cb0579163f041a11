"""False claims, and how many proofs of them were tried: the checker takes none.

    python benchmarks/false_claims.py [--minutes 60] [--proofs 1000000] [--processes 2] [--seed 0]
    python benchmarks/false_claims.py --hostile

Four searches in turn: proofs of false claims; parts that the rules close, beside what lies in them;
whole certificates with one thing false; programs in floats, beside the slack that the checker
allows.  Ends with whichever of time and proofs comes first; exits with 1 if anything was found.
``--hostile``: how files that are made to stop the checker are decided, in what time and memory.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.report import Table

from tests.certificates.false_certificates import try_certificates
from tests.certificates.false_claims import Found, Search, false_claims
from tests.certificates.false_regions import try_regions
from tests.certificates.hostile_files import FAMILIES
from tests.certificates.measured import run
from tests.certificates.rounded_programs import KINDS, Refused, draw_program, worst
from tests.certificates.rule_properties import (
    Wrong,
    check_bounds,
    check_closings,
    check_features,
    draw_case,
)  # fmt: skip

CLAIMS, PROOFS = 8, 1500  # of one batch, and of one claim
Counts = Counter[tuple[str, str]]


def batch(seed: int) -> tuple[Counts, list[str]]:
    """One turn of all searches: what was tried, and what should not have been found."""
    rng, counts, found = Random(seed), Counter[tuple[str, str]](), list[str]()
    search = Search(seed)
    for _, claim in zip(range(CLAIMS), false_claims(search.rng), strict=False):
        try:
            search.run(claim, PROOFS)
        except Found as error:
            found.append(str(error))
    counts.update({("false claims", kind): n for kind, n in search.claims.items()})
    counts.update({("proofs tried", kind): n for kind, n in search.tried.items()})
    others = Counter[str]()
    for _ in range(10):
        case = draw_case(rng)
        try:
            check_features(rng, case, others)
            check_closings(rng, case, 12, others)
            for _ in range(8):
                check_bounds(rng, case, others)
        except Wrong as error:
            found.append(str(error))
    counts.update({("parts", kind): n for kind, n in others.items()})
    found += certificates(rng, counts)
    found += programs(rng, counts)
    return counts, found


def certificates(rng: Random, counts: Counts) -> list[str]:
    tried = Counter[str]()
    try:
        for _ in range(3):
            try_certificates(rng, tried)
        try_regions(rng, tried, 100)
    except Found as error:
        return [str(error)]
    finally:
        counts.update({("certificates", kind): n for kind, n in tried.items()})
    return []


def programs(rng: Random, counts: Counts) -> list[str]:
    found = []
    for _ in range(20):
        content = draw_program(rng)
        for kind in KINDS:
            try:
                share = worst(content, kind, rng)
            except Refused:
                counts["programs in floats", "refused"] += 1
                continue
            counts["programs in floats", f"{kind}: within the slack"] += 1
            if share > 1:
                found.append(f"slack: {kind} {float(share)} {content}")
    return found


def hostile() -> int:
    """A table of hostile files; how many of them are not decided as they should be."""
    table = Table("Hostile files", ("kind", "file", "kB", "exit code", "s", "MiB"), [])
    wrong = 0
    with TemporaryDirectory() as folder:
        for family in FAMILIES:
            for name, content in family():
                path = Path(folder) / ("c.json.gz" if name.endswith(".gz") else "c.json")
                path.write_bytes(content)
                done = run(path, "--seconds", "8")
                figures = (f"{len(content) / 1e3:.0f}", str(done.code), f"{done.seconds:.1f}")
                kind = family.__name__.removeprefix("of_")
                table.rows.append((kind, name, *figures, f"{done.memory:.0f}"))
                wrong += not done.is_decided
    print(table.markdown(), f"\n{wrong} of {len(table.rows)} not decided", flush=True)
    return wrong


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--proofs", type=int, default=1_000_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hostile", action="store_true")
    options = parser.parse_args()
    if options.hostile:
        return bool(hostile())
    counts, found, start = Counter[tuple[str, str]](), list[str](), time.monotonic()
    with ProcessPoolExecutor(options.processes) as pool:
        seed = options.seed * 10**6
        waiting = {pool.submit(batch, seed + i) for i in range(options.processes * 2)}
        seed += len(waiting)
        while waiting:
            done = next(as_completed(waiting))
            waiting.remove(done)
            each, wrong = done.result()
            counts.update(each)
            found += wrong
            report(wrong, counts, start)
            if not is_over(options, counts, start):
                waiting.add(pool.submit(batch, seed))
                seed += 1
    rows = [(what, kind, f"{count:,}") for (what, kind), count in sorted(counts.items())]
    table = Table("False claims", ("what", "kind", "count"), rows)
    print(table.markdown(), f"\n{len(found)} found that should not be", flush=True)
    return bool(found)


def tried(counts: Counts) -> int:
    return sum(n for (what, _), n in counts.items() if what == "proofs tried")


def is_over(options: Namespace, counts: Counts, start: float) -> bool:
    return tried(counts) >= options.proofs or time.monotonic() - start > options.minutes * 60


def report(wrong: list[str], counts: Counts, start: float) -> None:
    """Whatever is found, at once; and now and then how far it came."""
    for text in wrong:
        print("FOUND", text, flush=True)
    print(f"{time.monotonic() - start:.0f} s: {tried(counts)} proofs", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
