"""What an installed CuTe DSL answers differently from the one that the model speaks for.

    python -m tests.conformance.versions                       this interpreter's DSL: one row, printed
    python -m tests.conformance.versions --install 4.7.1 4.8.0 --out docs/evidence/versions.json

Copies, questions and kernels come from the generators of the conformance tests, from a fixed seed, so that
every version is asked the same. A row counts agreements and shows the commonest differences. `--install` puts
each version into a folder of its own (some 200 MB, deleted afterwards) and asks it in a process of its own.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[2]
SEED = 2026
PACKAGE = "nvidia-cutlass-dsl"
AREAS = ("verifier", "python", "algebra", "partition", "ptx", "lowered")


def measure(count: int, areas: Sequence[str] = AREAS) -> dict[str, Any]:
    """One row: the installed DSL against the model, area by area."""
    from layoutcheck.dsl.session import DslUnavailable, Session
    from layoutcheck.versions import installed, untraceable

    row: dict[str, Any] = {"dsl": installed(), "traceable": not untraceable(installed()), "areas": {}}
    try:
        with Session() as session:
            for area in areas:
                agree, of, differences = globals()[f"_{area}"](session, count)
                row["areas"][area] = {"agree": agree, "of": of, "differences": _commonest(differences)}
    except DslUnavailable as error:
        row["problem"] = str(error)[:300]
    return row


def _commonest(differences: list[str]) -> list[dict[str, Any]]:
    """The commonest differences, numbers left out."""
    return [{"count": n, "what": what} for what, n in Counter(differences).most_common(6)]


def _said(text: str) -> str:
    return re.sub(r"'?!cute[^']*'?|\([0-9?{}a-z=,() ]*\)|[0-9]+", "..", text)[:160]


def _verdicts(ours: Any, theirs: Any) -> tuple[int, list[str]]:
    found = []
    for mine, dsl in zip(ours, theirs, strict=True):
        if mine.outcome != dsl.outcome:
            found.append(f"{mine.outcome} -> {dsl.outcome}: {_said(dsl.message or mine.message)}")
        elif mine.outcome == "rejected" and mine.message != dsl.message:
            found.append(f"words: {_said(mine.message)} -> {_said(dsl.message)}")
    return len(ours) - len(found), found


def _verifier(session: Any, count: int) -> tuple[int, int, list[str]]:
    """Random copies of all families to the MLIR verifier: outcome and message."""
    from layoutcheck.atoms.compiler import predict_verifier
    from layoutcheck.dsl.verifier import verify
    from tests.conformance.generate import random_copy

    rng = Random(SEED)
    copies = [random_copy(rng) for _ in range(10 * count)]
    agree, found = _verdicts(
        [predict_verifier(c) for c in copies], verify(copies, session=session, bare=True)
    )
    return agree, len(copies), found


def _python(session: Any, count: int) -> tuple[int, int, list[str]]:
    """Random copies through the DSL's own Python functions."""
    from layoutcheck.atoms.compiler import predict
    from layoutcheck.dsl.verifier import verify
    from tests.conformance.test_verifier import OPS, pythonic

    rng = Random(SEED)
    copies = [pythonic(rng, OPS[i % len(OPS)]) for i in range(count)]
    agree, found = _verdicts([predict(c) for c in copies], verify(copies, session=session))
    return agree, len(copies), found


def _algebra(_: Any, count: int) -> tuple[int, int, list[str]]:
    """Random questions to the layout algebra."""
    from tests.conformance.algebra_cases import random_case, regrouping_case
    from tests.conformance.dsl_types import Refuses, answers
    from tests.conformance.test_algebra import ours, read

    rng = Random(SEED)
    cases = [regrouping_case(rng) if i % 4 == 0 else random_case(rng) for i in range(2 * count)]
    done, found = 0, []
    for case, answer in zip(cases, answers([case.question for case in cases]), strict=True):
        if isinstance(answer, Refuses) and "invalidated" in answer.message:
            continue  # the bindings of 4.5 take the question away: the DSL was not asked
        done += 1
        mine, dsl = ours(case, strict=False), read(answer)
        if dsl is not None and isinstance(mine, str) and mine != dsl:
            found.append(f"{case.op}: another layout")
        elif isinstance(mine, str) and dsl is None:
            found.append(f"{case.op}: no answer ({_said(getattr(answer, 'message', str(answer)))})")
    return done - len(found), done, found


def _partition(_: Any, count: int) -> tuple[int, int, list[str]]:
    """Per-thread views of random tiled copies."""
    from layoutcheck.copies.tiled import partition
    from layoutcheck.errors import InputError
    from layoutcheck.machine.dtypes import dtype
    from tests.conformance.dsl_types import infer
    from tests.conformance.test_partition import Tilings, dsl_tiled_copy

    make, done, found = Tilings(SEED, wild=False), 0, []
    while done < count // 2:
        kind = dtype(make.rng.choice(["bf16", "f32", "i8", "f64"]))
        atom = make.atom(kind)
        tiled, _ = dsl_tiled_copy(atom, *make.thread_value(atom))
        done += 1
        if tiled is None:
            continue
        side, tensor = make.rng.choice(["src", "dst"]), make.tensor(kind, tiled.tiler)
        op = f"cute.tiled.copy.partition_{'S' if side == 'src' else 'D'}"
        theirs = infer(op, str(tiled), str(tensor), '!cute.coord<"?">')
        try:
            mine = str(partition(tiled, side, tensor).view)
        except InputError:
            mine = ""
        if mine != (theirs if isinstance(theirs, str) else ""):
            found.append(f"partition: {'another view' if isinstance(theirs, str) else 'refused'}")
    return done - len(found), done, found


def _ptx(session: Any, count: int) -> tuple[int, int, list[str]]:
    """Random copies lowered, and their PTX executed: whether they compile, and what is moved."""
    from layoutcheck.analysis import Analysis
    from layoutcheck.copies.offsets import CompilerFails
    from layoutcheck.dsl.lower import lower
    from tests.conformance.emitted import differences, random_copy, sub_byte_copy

    rng, copies = Random(SEED), []
    while len(copies) < count // 4:
        copy = (sub_byte_copy if len(copies) % 3 == 0 else random_copy)(rng)
        analysis = Analysis(copy)
        if analysis.accepted and (analysis.obstacle is None or isinstance(analysis.obstacle, CompilerFails)):
            copies.append(copy)
    found = []
    for number, (copy, lowered) in enumerate(
        zip(copies, lower(copies, "sm_90a", session=session), strict=True)
    ):
        fails = Analysis(copy).obstacle is not None
        name = copy.op if copy.atom is None else copy.atom.family
        if fails != (lowered.ptx is None):
            found.append(f"{name}: {'compiles' if fails else 'no code: ' + _said(lowered.error or '')}")
        elif lowered.ptx is not None:
            try:
                if differences(lowered.ptx, copy, Random(number)):
                    found.append(f"{name}: other bytes or accesses")
            except Exception as error:  # an instruction that the PTX interpreter does not know
                found.append(f"{name}: {type(error).__name__} reading the PTX")
    return len(copies) - len(found), len(copies), found


def _lowered(session: Any, count: int) -> tuple[int, int, list[str]]:
    """Random copies lowered by the DSL's passes: the addresses of every thread, against the model's."""
    from tests.dsl.lowered.compare import Silent
    from tests.dsl.lowered.test_lowered import compared, plain_copies, tiled_copy

    rng, found, done = Random(SEED), [], 0
    tiled = [copy for _ in range(count) if (copy := tiled_copy(rng)) is not None][: count // 2]
    for copies, threads in ((plain_copies(rng, count // 2), 32), (tiled, 128)):
        for copy, answer in compared(copies, session, threads):
            if not isinstance(answer, Silent):
                done += 1
                found += [f"{copy.atom.family if copy.atom else copy.op}: {_said(answer)}"] if answer else []
            elif answer.reason == "problem":
                done += 1
                found.append("a module that the passes cannot lower")
    return done - len(found), done, found


def install(version: str, folder: str) -> None:
    """The DSL and its own libraries in a folder of their own. Raises CalledProcessError."""
    pip = [sys.executable if _has_pip() else "python3", "-m", "pip", "install", "-q"]
    plan = [*pip, "--dry-run", "--ignore-installed", "--report", "-", f"{PACKAGE}=={version}"]
    report = json.loads(subprocess.run(plan, check=True, capture_output=True, text=True).stdout)
    named = [one["metadata"] for one in report["install"] if one["metadata"]["name"].startswith(PACKAGE)]
    # All at once: they share a folder, which a second call would not add to.
    wanted = [f"{one['name']}=={one['version']}" for one in named]
    subprocess.run([*pip, "--no-deps", "--target", folder, *wanted], check=True, capture_output=True)


def install_cuda13(version: str, folder: str) -> None:
    """The DSL in a folder, the libraries of its extra cu13 over the others. Raises CalledProcessError."""
    install(version, folder)
    pip = [sys.executable if _has_pip() else "python3", "-m", "pip", "install", "-q", "--no-deps"]
    with tempfile.TemporaryDirectory() as over:
        subprocess.run(
            [*pip, "--target", over, f"{PACKAGE}-libs-cu13=={version}"], check=True, capture_output=True
        )
        shutil.copytree(over, folder, dirs_exist_ok=True)


def _has_pip() -> bool:
    return subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0


def asked(folder: str, count: int, areas: Sequence[str]) -> dict[str, Any]:
    """The row of the DSL in a folder, measured in a process of its own."""
    roots = [str(path) for path in Path(folder, "nvidia_cutlass_dsl").glob("*packages*")]
    path = os.pathsep.join([*roots, folder, str(ROOT), os.environ.get("PYTHONPATH", "")])
    asking = ["--count", str(count), "--areas", *areas, "--json"]
    command = [sys.executable, "-m", "tests.conformance.versions", *asking]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    if done.returncode:
        return {"dsl": Path(folder).name, "areas": {}, "problem": done.stderr.strip().splitlines()[-1][:300]}
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def shown(row: dict[str, Any]) -> str:
    """A row as text."""
    lines = [f"CuTe DSL {row['dsl']}" + (f": {row['problem']}" if "problem" in row else "")]
    for area, found in row["areas"].items():
        lines.append(f"  {area:10} {found['agree']} of {found['of']} agree")
        lines += [f"    {one['count']:5} x {one['what']}" for one in found["differences"]]
    return "\n".join(lines)


def _within(before: dict[str, Any], evidence: dict[str, Any]) -> dict[str, Any]:
    """What was measured of some areas within what there is; `later` has the date and the command of it."""
    rows = {row["dsl"]: row for row in before["rows"]}
    for row in evidence.pop("rows"):
        known = rows.setdefault(row["dsl"], {**row, "areas": {}})
        known["areas"] |= row["areas"]
    ordered = sorted(rows.values(), key=lambda row: [*map(int, row["dsl"].split("."))], reverse=True)
    return {**before, "later": evidence, "rows": ordered}


def main() -> None:
    """The command line of the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--count", type=int, default=400, help="copies asked in each area, more where it is cheap"
    )
    parser.add_argument(
        "--install", nargs="*", default=[], metavar="VERSION", help="versions to install and ask"
    )
    parser.add_argument("--folder", nargs="*", default=[], help="folders that hold an installed version each")
    parser.add_argument("--areas", nargs="*", default=AREAS, choices=AREAS, help="areas to ask for")
    parser.add_argument("--json", action="store_true", help="the row as JSON")
    parser.add_argument("--out", type=Path, help="the evidence file to write")
    given = parser.parse_args()
    rows = []
    for folder in given.folder:
        rows.append(asked(folder, given.count, given.areas))
        print(shown(rows[-1]), flush=True)
    for version in given.install:
        with tempfile.TemporaryDirectory() as folder:
            install(version, folder)
            rows.append(asked(folder, given.count, given.areas))
        print(shown(rows[-1]), flush=True)
    if not rows:
        row = measure(given.count, given.areas)
        rows = [row]
        print(json.dumps(row) if given.json else shown(row))
    if given.out:
        from layoutcheck.versions import MODELLED

        asking = "" if tuple(given.areas) == AREAS else f" --areas {' '.join(given.areas)}"
        evidence = {
            "date": datetime.date.today().isoformat(), "python": platform.python_version(), "model": MODELLED,
            "command": f"python -m tests.conformance.versions --install {' '.join(r['dsl'] for r in rows)} "
            f"--count {given.count}{asking} --out {given.out}",
            "rows": rows,
        }  # fmt: skip
        if asking and given.out.exists():
            evidence = _within(json.loads(given.out.read_text()), evidence)
        given.out.write_text(json.dumps(evidence, indent=1) + "\n")


if __name__ == "__main__":
    main()
