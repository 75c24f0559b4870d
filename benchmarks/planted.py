"""Bugs planted into real kernels, one at a time: which are detected, and which `trace --fix` repairs.

    python -m benchmarks.planted cutlass=CUTLASS/examples/python/CuTeDSL quack=QUACK flash-attention=FA
        [--only KERNEL ...] [--a-kind 1] [--jobs 1] [--seconds 0] [--run GPU] [--more FILE | --again FILE]
        [--out docs/evidence/planted.json]

A kernel is copied into a temporary folder, and one argument of one call is written otherwise there: an
order or a stride (`layout`, `pitch`), a promise or an allocation (`alignment`), `num_bits_per_copy`
(`width`), `make_swizzle`, the transposition of an ldmatrix (`major`), the block of a launch, the predicate
of a copy. The program is then traced and repaired. A change is `detected` by a verdict on a copy, by the
compiler's refusal, by an exception of the DSL or of the kernel's own checks, or by a condition on the run-
time extents that the kernel did not have (a removed predicate; `trace --fix --by guard-tail` repairs it). The
order of accesses is not checked here. `restored` says whether the repaired program makes the very copies that
the kernel made before. With `--run` the repaired program runs on that Hopper GPU
as its author wrote it, without layoutcheck, and `bits` is what its own comparison with PyTorch says. Where
a change leaves the copies as they were, the call is not reached or the argument does not matter: it is
listed and not counted. `--seconds` begins no more bugs after so many. `--again` tries the bugs of an earlier
run's file before all others, those that took longest first.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, as_completed, wait
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.evidence import head, write
from layoutcheck.errors import InputError
from layoutcheck.lint.source import Source
from layoutcheck.patching.edit import Edit, apply
from layoutcheck.patching.layouts import is_align
from layoutcheck.reports.trace import JudgedTrace
from layoutcheck.syntax import name_of
from layoutcheck.tracing import Script, repaired, traced

DRIVERS = Path(__file__).parent / "trace_drivers"

ON_HOPPER = ("sm_80", "sm_90a")  # what a Hopper GPU can run

Bug: TypeAlias = tuple[str, int, str]
"""A kernel, a line, a kind."""


@dataclass(frozen=True)
class Kernel:
    """A kernel's `file` of a checkout; run as it is, or by a `driver` (and a case) beside its `package`."""

    group: str
    file: str
    arch: str
    driver: str = ""
    case: str = ""
    package: str = ""


def _quack(name: str) -> Kernel:
    return Kernel("quack", f"quack/{name}.py", "sm_90a", "planted_quack.py", f"case_{name}", "quack")


def _flash(name: str, case: str, arch: str = "sm_90a") -> Kernel:
    file = f"flash_attn/cute/{name}.py"
    return Kernel("flash-attention", file, arch, "flash_attention_cases.py", case, "flash_attn/cute")


KERNELS = {
    "elementwise_add": Kernel("cutlass", "cute/ampere/kernel/elementwise/elementwise_add.py", "sm_80"),
    "elementwise_apply": Kernel("cutlass", "cute/ampere/kernel/elementwise/elementwise_apply.py", "sm_80"),
    "sgemm": Kernel("cutlass", "cute/ampere/kernel/dense_gemm/sgemm.py", "sm_80"),
    "tensorop_gemm": Kernel("cutlass", "cute/ampere/kernel/dense_gemm/tensorop_gemm.py", "sm_80"),
    "flash_attention_v2": Kernel("cutlass", "cute/ampere/kernel/attention/flash_attention_v2.py", "sm_80"),
    "hstu_attention": Kernel("cutlass", "cute/ampere/kernel/attention/hstu_attention.py", "sm_80"),
    "dense_gemm": Kernel("cutlass", "cute/hopper/kernel/dense_gemm/dense_gemm.py", "sm_90a"),
    "dense_gemm_persistent": Kernel(
        "cutlass", "cute/hopper/kernel/dense_gemm/dense_gemm_persistent.py", "sm_90a"
    ),
    "fmha": Kernel("cutlass", "cute/hopper/kernel/attention/fmha.py", "sm_90a"),
    "rmsnorm": _quack("rmsnorm"),
    "softmax": _quack("softmax"),
    "cross_entropy": _quack("cross_entropy"),
    "topk": _quack("topk"),
    "cta_norm": Kernel("cutlass", "cute/hopper/kernel/cta_norm/cta_norm.py", "sm_90a"),
    "blackwell_rmsnorm": Kernel("cutlass", "cute/blackwell/kernel/rmsnorm/rmsnorm.py", "sm_100a"),
    "blackwell_gemm": Kernel("cutlass", "cute/blackwell/kernel/dense_gemm/dense_gemm.py", "sm_100a"),
    "flash_fwd": _flash("flash_fwd_sm90", "case_forward"),
    "flash_fwd_sm80": _flash("flash_fwd", "case_forward", "sm_80"),
    "flash_bwd": _flash("flash_bwd_sm90", "case_backward"),
    "flash_bwd_preprocess": _flash("flash_bwd_preprocess", "case_backward"),
    "flash_bwd_postprocess": _flash("flash_bwd_postprocess", "case_backward"),
    "flash_fwd_sm100": _flash("flash_fwd_sm100", "case_forward", "sm_100a"),
    "flash_fwd_sm120": _flash("flash_fwd_sm120", "case_forward", "sm_120a"),
    "autotuned_add": Kernel("cutlass", "cute/ampere/tutorial/elementwise_add_autotune.py", "sm_80"),
    "fp8_gemm": Kernel("cutlass", "cute/hopper/kernel/dense_gemm/dense_gemm_fp8_2xacc.py", "sm_90a"),
    "grouped_gemm": Kernel("cutlass", "cute/hopper/kernel/grouped_gemm/grouped_gemm.py", "sm_90a"),
    "geforce_gemm": Kernel("cutlass", "cute/blackwell_geforce/kernel/dense_gemm/dense_gemm.py", "sm_120a"),
    "tma_v0": Kernel("cutlass", "cute/blackwell/tutorial/tutorial_tma/tma_v0.py", "sm_100a"),
    "tma_v1": Kernel("cutlass", "cute/blackwell/tutorial/tutorial_tma/tma_v1.py", "sm_100a"),
    "tma_v2": Kernel("cutlass", "cute/blackwell/tutorial/tutorial_tma/tma_v2.py", "sm_100a"),
    "tutorial_gemm": Kernel("cutlass", "cute/blackwell/tutorial/tutorial_gemm/fp16_gemm_0.py", "sm_100a"),
    "mixed_input_gemm": Kernel(
        "cutlass", "cute/blackwell/kernel/mixed_input_gemm/mixed_input_gemm.py", "sm_100a"
    ),
    "blockwise_gemm": Kernel(
        "cutlass", "cute/blackwell/kernel/blockwise_gemm/blockwise_gemm.py", "sm_100a"
    ),
    "rotary": _quack("rotary"),
    "quack_gemm": Kernel("quack", "quack/gemm_sm90.py", "sm_90a", "planted_quack.py", "case_gemm", "quack"),
    "quack_gemm_sm120": Kernel(
        "quack", "quack/gemm_sm120.py", "sm_120a", "planted_quack.py", "case_gemm", "quack"
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Plant:
    """One bug: its kind, the line, and the edit that makes it."""

    kind: str
    line: int
    call: str
    edit: Edit


def plants(source: Source) -> Iterator[Plant]:
    """Every bug that can be planted into a file."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Subscript) and is_align(node) and isinstance(node.slice, ast.Tuple):
            edit = Edit(source.path, *source.span_of(node.slice.elts[1]), "4")
            yield Plant("alignment", node.lineno, "Align", edit)
    for call in source.calls():
        name, text = name_of(call), source.text
        keywords = {one.arg: one.value for one in call.keywords if one.arg}

        def plant(kind: str, node: ast.expr, new: str, call: ast.Call = call, name: str = name) -> Plant:
            return Plant(kind, call.lineno, name, Edit(source.path, *source.span_of(node), new))

        def written(node: ast.expr, text: str = text) -> str:
            return text[slice(*source.span_of(node))]

        for key in ("order", "stride"):
            given = keywords.get(key)
            if name in ("make_layout", "make_ordered_layout") and isinstance(given, ast.Tuple):
                if len(given.elts) == 2:
                    a, b = (written(one) for one in given.elts)
                    yield plant("layout", given, f"({b}, {a})")
                if key == "stride" and len(given.elts) == 2:
                    pitch = next((e for e in given.elts if written(e) != "1"), None)
                    if pitch is not None:
                        yield plant("pitch", pitch, f"({written(pitch)}) + 1")
        for key in ("byte_alignment", "assumed_align"):
            if key in keywords:
                yield plant("alignment", keywords[key], "4")
        if name == "allocate_tensor" and len(call.args) > 2:
            yield plant("alignment", call.args[2], "4")
        if "divisibility" in keywords:
            yield plant("alignment", keywords["divisibility"], "1")
        if "num_bits_per_copy" in keywords:
            yield plant(
                "width", keywords["num_bits_per_copy"], f"2 * ({written(keywords['num_bits_per_copy'])})"
            )
        if name == "make_swizzle" and len(call.args) == 3:
            yield plant("swizzle", call.args[1], f"({written(call.args[1])}) - 1")
        if name.startswith(("LdMatrix8x8x16b", "StMatrix8x8x16b")) and call.args:
            yield plant("major", call.args[0], f"not ({written(call.args[0])})")
        block = keywords.get("block")
        if name == "launch" and isinstance(block, (ast.List, ast.Tuple)) and block.elts:
            yield plant("block", block.elts[0], f"2 * ({written(block.elts[0])})")
        if name == "copy" and "pred" in keywords:
            yield plant("predicate", keywords["pred"], "None")


def chosen(source: Source, a_kind: int) -> list[Plant]:
    """So many plants of a kind, spread over the file."""
    found: dict[str, list[Plant]] = {}
    for plant in sorted(plants(source), key=lambda one: one.edit.start):
        found.setdefault(plant.kind, []).append(plant)
    step = max(1, a_kind)
    return [p for kind in found.values() for p in kind[:: max(1, -(-len(kind) // step))][:a_kind]]


@contextmanager
def copied(kernel: Kernel, root: Path) -> Iterator[tuple[Path, Path, list[str]]]:
    """A copy in a temporary folder: the script to run, the file to plant into, the script's arguments."""
    with tempfile.TemporaryDirectory(prefix="planted-") as name:
        folder = Path(name).resolve()
        (folder / ".git").mkdir()  # all of it is one project
        if not kernel.driver:
            shutil.copytree(root, folder, dirs_exist_ok=True, ignore=_other_than_python)
        else:
            shutil.copytree(root / kernel.package, folder / kernel.package)
            shutil.copy(DRIVERS / kernel.driver, folder)
        _writable(folder)
        script = folder / (kernel.driver or kernel.file)
        yield script, folder / kernel.file, [kernel.case] if kernel.case else []


def _other_than_python(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not (name.endswith(".py") or Path(folder, name).is_dir())]


def _writable(folder: Path) -> None:
    for path in folder.rglob("*"):
        path.chmod(path.stat().st_mode | 0o200)


def copies_of(judged: JudgedTrace) -> Counter[Any]:
    """What the copies are, whatever lines they stand at."""
    return Counter((str(one.copy), one.refused) for one in judged.trace.copies)


def conditions_of(judged: JudgedTrace) -> set[str]:
    """What the caller has to keep so that copies stay in their tensors."""
    return {one.bounded_if for one in judged.trace.copies if one.bounded_if}


def tried(kernel: Kernel, root: Path, plant: Plant, right: dict[str, Any], run: str) -> dict[str, Any]:
    """What became of one bug."""
    row: dict[str, Any] = {"kind": plant.kind, "call": plant.call, "line": plant.line}
    with copied(kernel, root) as (script, file, args):
        text = file.read_text(encoding="utf-8")
        edit = Edit(str(file), plant.edit.start, plant.edit.end, plant.edit.new)
        row["planted"] = f"{text[edit.start : edit.end]} -> {edit.new}"
        file.write_text(apply({str(file): text}, (edit,))[str(file)], encoding="utf-8")
        what = Script(str(script), args, launch=False, arch=kernel.arch, timeout_s=300)
        seen = traced(what, order=False)
        verdicts = seen.verdicts()
        row["verdicts"] = {name: count for name, count in verdicts.items() if count}
        row["failures"] = [f"{one.kind}: {one.message[:160]}" for one in seen.trace.failures]
        row["differs"] = copies_of(seen) != right["copies"] or bool(seen.trace.failures)
        bad = verdicts["rejected"] + verdicts["wrong"]
        row["conditions"] = sorted(conditions_of(seen) - right["conditions"])
        told = (bad, "a copy"), (row["failures"], "a failure"), (row["conditions"], "a condition")
        row["detected"] = next((name for found, name in told if found), "")
        if row["detected"]:
            by = "guard-tail" if row["detected"] == "a condition" else None
            found = repaired(what, order=False, by=by)
            row["repaired"] = bool(found.repairs) and not found.sketches
            row["edits"] = [one.title for one in found.repairs]
            diff = found.diff().splitlines()
            row["lines"] = [line for line in diff if line[:1] in "+-" and line[:3] not in ("+++", "---")]
            row["left"] = [one.reason for one in found.sketches]
            if found.repairs:
                found.write()
                after = traced(what, order=False)
                row["restored"] = copies_of(after) == right["copies"]
                row["conditions_left"] = sorted(conditions_of(after) - right["conditions"])
                runs = row["repaired"] and right["bits"] == "right"
                row["bits"] = ran(script, args, run) if runs else "not run"
    return row


def ran(script: Path, args: list[str], gpu: str) -> str:
    """What the program says of its own results on a GPU: "right", or how it ended."""
    try:
        done = subprocess.run(
            [sys.executable, script.name, *args], cwd=script.parent, capture_output=True, text=True,
            env={**os.environ, "PLANTED_BITS": "1", "CUDA_VISIBLE_DEVICES": gpu}, timeout=100, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "timeout"
    if done.returncode == 0 and re.search(r"PASS|verified|successful", done.stdout):
        return "right"
    return f"exit {done.returncode}: {(done.stderr.strip() or done.stdout.strip()).splitlines()[-1][:300]}"


def right_of(name: str, root: Path, a_kind: int, run: str, again: set[Bug]) -> dict[str, Any]:
    """A kernel as it is: its copies, what its results are, and the bugs to plant; why it cannot be used."""
    kernel = KERNELS[name]
    with copied(kernel, root) as (script, file, args):
        what = Script(str(script), args, launch=False, arch=kernel.arch, timeout_s=300)
        right = traced(what, order=False)
        source = Source(str(file), file.read_text(encoding="utf-8"))
        verdicts = right.verdicts()
        bits = ran(script, args, run) if run and kernel.arch in ON_HOPPER else "not run"
    copies, conditions = copies_of(right), conditions_of(right)
    known = [one for one in plants(source) if (name, one.line, one.kind) in again]
    out = {
        "copies": copies,
        "conditions": conditions,
        "bits": bits,
        "plants": known + [one for one in chosen(source, a_kind) if one not in known],
        "problem": "",
    }
    if verdicts["rejected"] or verdicts["wrong"] or not right.trace.copies or right.trace.failures:
        bad = [r for _, r in right.reports if r is not None and r.verdict in ("rejected", "wrong")]
        told = [
            f"{r.subject}: {[one.title for one in r.findings]} {r.compiler.message[:80]}" for r in bad[:3]
        ]
        out["problem"] = f"not right as it is: {dict(verdicts)}, {right.trace.failures}, {told}"[:1200]
    return out


def _unusable(error: BaseException) -> dict[str, Any]:
    return {"bits": "not run", "plants": [], "problem": f"cannot be traced: {error!r}"[:1200]}


def one_bug(name: str, root: Path, plant: Plant, right: dict[str, Any], run: str) -> dict[str, Any]:
    """A row of the evidence."""
    began = time.time()
    try:
        row = tried(KERNELS[name], root, plant, right, run)
    except InputError as error:
        row = {"kind": plant.kind, "call": plant.call, "line": plant.line, "differs": True,
               "failures": [str(error)], "detected": "a failure"}  # fmt: skip
    return {"kernel": name, **row, "seconds": round(time.time() - began, 1)}


def all_bugs(
    kernels: dict[str, Path],
    given: argparse.Namespace,
    tried: set[Bug],
    again: dict[Bug, float],
    save: Callable[[list[dict[str, Any]], dict[str, Any]], None],
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The rows, and what was found of each kernel as it is; saved after each."""
    began, rows = time.time(), list[dict[str, Any]]()
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
        starts = {
            pool.submit(right_of, name, root, given.a_kind, given.run, set(again)): name
            for name, root in kernels.items()
        }
        rights: dict[str, dict[str, Any]] = {}
        pending: dict[Future[dict[str, Any]], None] = {}
        queue: list[tuple[str, Plant]] = []
        for done in as_completed(starts):
            name, error = starts[done], done.exception()
            right = _unusable(error) if error is not None else done.result()
            rights[name] = right
            sys.stderr.write(f"{name}: {right['bits']} {right['problem']}\n")
            left = [one for one in right["plants"] if (name, one.line, one.kind) not in tried]
            queue += [(name, plant) for plant in left if not right["problem"]]
        # The earlier ones, the longest first; then a bug of each kernel in turn.
        queue.sort(
            key=lambda pair: (
                -again.get((pair[0], pair[1].line, pair[1].kind), 0),
                rights[pair[0]]["plants"].index(pair[1]),
            )
        )
        known = {name: {"bits": one["bits"], "problem": one["problem"]} for name, one in rights.items()}
        while queue or pending:
            late = given.seconds and time.time() - began > given.seconds
            while queue and len(pending) < given.jobs and not late:
                name, plant = queue.pop(0)
                task = pool.submit(one_bug, name, kernels[name], plant, rights[name], given.run)
                pending[task] = None
            if not pending:
                break
            for task in wait(pending, return_when=FIRST_COMPLETED).done:
                del pending[task]
                if task.exception() is not None:
                    sys.stderr.write(f"a bug is left out: {task.exception()!r}\n")
                    continue
                rows.append(task.result())
                sys.stderr.write(f"{rows[-1]}\n")
                save(rows, known)
    return rows, known


def bug_of(row: dict[str, Any]) -> Bug:
    """Which bug a row is of."""
    return row["kernel"], row["line"], row["kind"]


def summary(rows: list[dict[str, Any]], known: dict[str, Any]) -> dict[str, Any]:
    """The counts, and the rows."""
    bugs = [row for row in rows if row["differs"]]
    faults = [row for row in bugs if row["detected"]]
    return {
        "kernels": known,
        "plants": len(rows),
        "differing": len(bugs),
        "differing_kernels": len({row["kernel"] for row in bugs}),
        "detected": len(faults),
        "detected_in_a_copy": sum(row["detected"] == "a copy" for row in faults),
        "detected_as_a_condition": sum(row["detected"] == "a condition" for row in faults),
        "repaired": sum(row.get("repaired", False) for row in faults),
        "restored": sum(row.get("restored", False) for row in faults),
        "ran": sum(row.get("bits", "not run") != "not run" for row in faults),
        "right_bits": sum(row.get("bits") == "right" for row in faults),
        "rows": sorted(rows, key=lambda row: (row["kernel"], row["line"], row["kind"])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("roots", nargs="+", metavar="NAME=DIR")
    parser.add_argument("--only", nargs="+", default=[], help="kernels, by name; default: all")
    parser.add_argument("--a-kind", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument(
        "--run", default="", metavar="GPU", help="its number: the repaired programs run on it"
    )
    parser.add_argument("--more", type=Path, help="an earlier run's file: its bugs are kept, not tried again")
    parser.add_argument("--again", type=Path, help="an earlier run's file: its bugs are tried first")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    roots = {name: Path(place).resolve() for name, _, place in (one.partition("=") for one in given.roots)}
    kernels = {
        name: roots[kernel.group]
        for name, kernel in KERNELS.items()
        if kernel.group in roots and (not given.only or name in given.only)
    }
    before = json.loads(given.more.read_text(encoding="utf-8")) if given.more else {"rows": [], "kernels": {}}
    told = head("benchmarks.planted")
    if given.more:
        told["earlier"] = {
            key: before[key] for key in ("date", "command", "device", "python") if key in before
        }

    def save(rows: list[dict[str, Any]], known: dict[str, Any]) -> None:
        both = {name: known.get(name, before["kernels"].get(name)) for name in before["kernels"] | known}
        write({**told, **summary([*before["rows"], *rows], both)}, given.out)

    rows = json.loads(given.again.read_text(encoding="utf-8"))["rows"] if given.again else []
    again = {bug_of(row): row.get("seconds", 1.0) for row in rows}
    save(*all_bugs(kernels, given, {bug_of(row) for row in before["rows"]}, again, save))


if __name__ == "__main__":
    main()
