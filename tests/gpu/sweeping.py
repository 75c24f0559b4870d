"""The command line of a sweep on the GPU: `prepare` draws and compiles copies, `run` runs them."""

from __future__ import annotations

import argparse
import collections
import json
import pickle
import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.atoms.tma.plan import gmem_side, plan
from layoutcheck.check import check
from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError
from layoutcheck.gpu.confirm import run
from layoutcheck.gpu.outcome import Confirmation
from layoutcheck.gpu.prepare import Prepared, prepare
from layoutcheck.sources.request import build
from layoutcheck.versions import MODELLED

RIGHT_OR_WRONG = {"wrong": "wrong", "legal": "right", "slow": "right"}
About = Mapping[str, Mapping[str, Any]]

_DRIVER = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]


def options(text: str | None, count: int, families: Sequence[str] = ()) -> argparse.Namespace:
    """The words after the module's name; `count` copies are drawn by default."""
    parser = argparse.ArgumentParser(description=text)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("prepare")
    one.add_argument("--count", type=int, default=count)
    one.add_argument("--seed", type=int, default=1)
    if families:
        one.add_argument("--family", choices=tuple(families), default=families[0])
    one.add_argument("--out", type=Path, required=True)
    two = commands.add_parser("run")
    two.add_argument("file", type=Path)
    two.add_argument("--out", type=Path, required=True)
    two.add_argument("--workers", type=int, default=12)
    return parser.parse_args()


def write_prepared(named: Sequence[tuple[str, Copy]], out: Path) -> None:
    """Compile the copies into a file that `run` takes, and say what cannot run and why."""
    prepared = prepare(named)
    out.write_bytes(pickle.dumps(prepared))
    print(f"{len(prepared)} copies, {sum(p.task is not None for p in prepared)} of them ready to run")
    notes = collections.Counter(f"{p.note[:90]} | {p.compiler[:80]}" for p in prepared if p.task is None)
    for note, number in notes.most_common(9):
        print(f"{number:6d}  {note}")


def read_prepared(file: Path) -> list[Prepared]:
    """What `write_prepared` wrote, under today's verdicts, whatever was said when it was prepared."""
    return [_with_verdict(one) for one in pickle.loads(file.read_bytes())]


def _with_verdict(one: Prepared) -> Prepared:
    report = check(one.copy)
    codes = tuple(finding.code for finding in report.findings if finding.severity != "note")
    return replace(one, verdict=report.verdict, codes=codes)


def head(machine: dict[str, Any], command: str, start: float) -> dict[str, Any]:
    """What evidence begins with: when, where and how it was measured."""
    try:
        driver = subprocess.run(_DRIVER, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        driver = ""
    return {
        "date": date.today().isoformat(),
        "device": machine,
        "driver": driver,
        "compiler": f"nvidia-cutlass-dsl {MODELLED}",
        "command": command,
        "seconds": round(time.time() - start, 1),
    }


def fits(copy: Copy, most_bytes: int) -> bool:
    """Whether a TMA copy's tensor fits an image of so many bytes, and its boxes are not too many."""
    gmem = copy.side(gmem_side(copy))
    steps = zip(flatten(gmem.layout.shape), flatten(gmem.layout.stride), strict=True)
    if sum((n - 1) * abs(d) for n, d in steps) * gmem.dtype.bits // 8 > most_bytes:
        return False
    try:
        return plan(copy).boxes <= 64
    except InputError:
        return False


def draw_tma(
    count: int, seed: int, draw: Callable[[random.Random], Copy], most_bytes: int, alike: int, stores: int
) -> list[tuple[str, Copy]]:
    """Two thirds right, of them `stores` at most; one third wrong, `alike` at most with the same findings."""
    rng = random.Random(seed)
    wanted = {"right": count * 2 // 3, "wrong": count - count * 2 // 3}
    named: list[tuple[str, Copy]] = []
    seen: collections.Counter[Any] = collections.Counter()
    while any(wanted.values()):
        copy = draw(rng)
        if not fits(copy, most_bytes):
            continue
        report = check(copy)
        kind = RIGHT_OR_WRONG.get(report.verdict)
        store = kind == "right" and gmem_side(copy) == "dst"
        if kind is None or not wanted[kind] or (store and not stores):
            continue
        codes = tuple(sorted(f.code for f in report.findings))
        if kind == "wrong" and seen[codes] >= alike:
            continue
        stores -= store
        seen[codes] += kind == "wrong"
        wanted[kind] -= 1
        named.append((f"random-{seed}-{len(named)}", copy))
    return named


def holes(miscompiles: Mapping[str, Sequence[Any]]) -> list[tuple[str, Copy]]:
    """Every broken copy and its twin, given as arguments of `layoutcheck.check`."""
    pairs = ((name, one[:2]) for name, one in miscompiles.items())
    return [
        (f"{name}-{which}", build(**arguments)[0])
        for name, pair in pairs
        for which, arguments in zip(("broken", "fixed"), pair, strict=True)
    ]


def counted(copies: Sequence[Confirmation], about: About, key: str) -> dict[str, int]:
    """How many copies there are of each value."""
    return dict(collections.Counter(str(about[one.name].get(key)) for one in copies))


def table(found: Sequence[Confirmation]) -> list[str]:
    """A line for each combination of verdict, expectation and outcome."""
    rows = collections.Counter(
        (
            c.verdict,
            c.ran,
            c.expected_fault or "no fault",
            c.fault or "no fault",
            {True: "as predicted", False: "NOT AS PREDICTED", None: "-"}[c.as_predicted],
            {True: "as asked", False: "not as asked", None: "-"}[c.as_asked],
            {True: "agrees", False: "DISAGREES", None: "-"}[c.agrees],
        )
        for c in found
    )
    return [f"{count:6d}  " + " | ".join(row) for row, count in sorted(rows.items(), key=lambda r: -r[1])]


def evidence_of(
    found: Sequence[Confirmation],
    ran: Sequence[Confirmation],
    about: About,
    row: Callable[[Confirmation], Any],
) -> dict[str, Any]:
    """What every sweep keeps of its copies; `row` of a random one."""
    return {
        "table": table(found),
        "holes": [c.to_dict() for c in found if not c.name.startswith("random")],
        "random": [row(c) for c in ran if c.name.startswith("random")],
        "disagreements": [{**c.to_dict(), **about[c.name]} for c in found if c.agrees is False],
        "not_run": dict(collections.Counter(c.note[:120] for c in found if c.ran != "gpu")),
    }


def row_of_codes(c: Confirmation) -> list[Any]:
    """A random copy with its findings."""
    return [c.name, c.verdict, list(c.codes), c.expected_fault, c.fault, c.as_predicted, c.as_asked]


def row_of_guards(c: Confirmation) -> list[Any]:
    """A random copy, and whether what lies around it stayed as it was."""
    return [c.name, c.verdict, c.expected_fault, c.fault, c.as_predicted, c.as_asked, c.guard_untouched]


def sweep(
    text: str | None,
    count: int,
    sample: Callable[[int, int], list[tuple[str, Copy]]],
    described: Callable[[Prepared], dict[str, Any]],
    more: Callable[[list[Prepared], list[Confirmation], About], dict[str, Any]],
    row: Callable[[Confirmation], Any] = row_of_codes,
) -> None:
    """The program of a sweep: `described` is what was run, `more` what this sweep alone keeps."""
    given = options(text, count)
    if given.command == "prepare":
        write_prepared(sample(given.count, given.seed), given.out)
        return
    start = time.time()
    prepared = read_prepared(given.file)
    found, machine = run(prepared, workers=given.workers)
    about = {p.name: described(p) for p in prepared}
    ran = [c for c in found if c.ran == "gpu"]
    evidence = {
        **head(machine, f"python -m {sys.modules['__main__'].__spec__.name} prepare, then run", start),
        "ran": len(ran),
        "agree": sum(c.agrees is True for c in ran),
        "by_kind": counted(ran, about, "kind"),
        **more(prepared, ran, about),
        **evidence_of(found, ran, about, row),
    }
    write(evidence, given.out)


def write(evidence: dict[str, Any], out: Path) -> None:
    """Keep it, and print what a reader looks at first."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(evidence, indent=1) + "\n")
    for one in evidence["disagreements"][:25]:
        print({key: value for key, value in one.items() if key not in ("compiler", "note")})
    print(*evidence["table"], sep="\n")
    print(evidence["device"], f"{evidence['seconds']} s", evidence["not_run"])
