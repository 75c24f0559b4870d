"""Mutants of real kernels: one thing of an operand's way changed, and whether the check tells.

    python -m tests.provenance.mutants CUTLASS OUT.json [--only TEXT] [--processes 2]

CUTLASS is `examples/python/CuTeDSL/cute` of a checkout. Each mutant of a script is written to a folder of its
own, traced without a GPU, and counted: refused by the DSL (or by Python), told by a finding of LC6xx, said
not to be followed, equivalent, or silent. Equivalent are those whose kernels sum and store what the script's
own do, for random values of all elements (`lowered_mutants.outcome`): a pointer's swizzle that is taken away
where the tile has its swizzle in its layout. A survivor's `said` is what the report says of it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.trace import trace_script
from layoutcheck.sources.traced import OperandReport
from layoutcheck.sources.traced_module import TracedModule
from tests.provenance.lowered_mutants import Answer, judged

HELPERS = """
def _plain(tensor):
    pointer = cute.recast_ptr(tensor.iterator, cute.make_swizzle(0, 4, 3), dtype=tensor.element_type)
    return cute.make_tensor(pointer, tensor.layout)


def _other(mma, *warps):
    op = cute.nvgpu.warp.MmaF16BF16Op({element}, cutlass.Float32, (16, 8, 16))
    rows = cute.make_layout((8, 2, warps[0]), stride=(1, 8 * warps[0], 8))
    columns = cute.make_layout((8, 2, warps[1]), stride=(1, 8 * warps[1], 8))
    if warps[1] == 1:
        columns = cute.make_layout((4, 2, 2), stride=(1, 8, 4))
    return cute.make_tiled_mma(op, warps, permutation_mnk=(rows, columns, 16))


def _next(coord, count):
    return (None, None, (coord[2] + 1) % count, coord[3])


def _flipped(layout):
    kinds = cutlass.utils.LayoutEnum
    return kinds.COL_MAJOR if layout == kinds.ROW_MAJOR else kinds.ROW_MAJOR


"""
# script, architecture, its arguments, element of its operands, warps of its tiled MMA
SCRIPTS = (
    ("ampere/kernel/dense_gemm/tensorop_gemm.py", "sm_80", "--a_major k", "cutlass.Float16", "2, 2, 1"),
    ("ampere/kernel/attention/flash_attention_v2.py", "sm_80", "", "cutlass.BFloat16", "4, 1, 1"),
    ("ampere/kernel/attention/hstu_attention.py", "sm_80", "", "cutlass.BFloat16", "4, 1, 1"),
    ("hopper/kernel/dense_gemm/dense_gemm.py", "sm_90a", "", "cutlass.Float16", "4, 1, 1"),
    ("hopper/kernel/attention/fmha.py", "sm_90a", "", "cutlass.Float16", "4, 1, 1"),
)  # fmt: skip
DESCRIPTORS = "swizzle of the descriptors"
# what is changed, what is searched for, what stands there instead
CHANGES = (
    ("A for B", r"make_tiled_copy_A\((?=\w+, tiled_mma)", "make_tiled_copy_B("),
    ("B for A", r"make_tiled_copy_B\((?=\w+, tiled_mma)", "make_tiled_copy_A("),
    ("another TV layout", r"(make_tiled_copy_[ABC]\(\w+, )tiled_mma\)", r"\1_other(tiled_mma, {warps}))"),
    ("a dropped retile", r"= \w+\.retile\((\w+)\)", r"= \1"),
    ("ldmatrix transposes", r"transpose=False", "transpose=True"),
    ("ldmatrix does not transpose", r"transpose=True", "transpose=False"),
    ("ldmatrix the other way", r"(self\.[ab]_major_mode) !=( utils\.LayoutEnum\.ROW_MAJOR, 4)", r"\1 ==\2"),
    ("swizzle of the reader", r"partition_S\((s[ABQKV]t?)\)", r"partition_S(_plain(\1))"),
    ("swizzle of the writer", r"partition_D\((s[ABQKV])\)", r"partition_D(_plain(\1))"),
    (DESCRIPTORS, r"(tCs[AB] = thr_mma\.partition_[AB]\()(s[AB])\)", r"\1_plain(\2))"),
    ("k-block of one operand", r"(?<=[\s.])(t\w+s\w+\[None, None, )k_(?:block_)?next\]", r"\g<1>0]"),
    ("k-block of B", r"(= tCrB\[)k_block_coord\]", r"\1_next(k_block_coord, num_k_blocks)]"),
    ("MN for K in shared memory", r"(smem_layout_[ab]\(\s*)((?:self\.)?[abqkv]_layout)", r"\1_flipped(\2)"),
)  # fmt: skip


def mutants(root: Path) -> Iterator[dict[str, Any]]:
    """Every mutant: where, what, and the changed text."""
    for script, arch, arguments, element, warps in SCRIPTS:
        text = (root / script).read_text()
        head = text.index("import cutlass.cute as cute\n") + len("import cutlass.cute as cute\n")
        for what, pattern, replacement in CHANGES:
            if what == DESCRIPTORS and not script.startswith("hopper"):
                continue  # elsewhere only the shape of a fragment comes from there
            for match in re.finditer(pattern, text):
                new = match.expand(replacement.replace("{warps}", warps))
                changed = text[: match.start()] + new + text[match.end() :]
                before = changed.index("\n\n", max(head, changed.rindex("import ", 0, head + 4000)))
                helpers = HELPERS.replace("{element}", element)
                yield {
                    "script": script, "arguments": arguments, "arch": arch, "what": what,
                    "line": text.count("\n", 0, match.start()) + 1,
                    "text": changed[:before] + "\n" + helpers + changed[before:],
                }  # fmt: skip


def run(root: Path, one: dict[str, Any]) -> dict[str, Any]:
    """Trace one mutant."""
    own = (root / one["script"]).read_text()
    traced, failure, refused = _traced(root, {**one, "text": own})
    right = {name: answer.result for name, answer in traced.items()}
    traced, failure, refused = _traced(root, one)
    codes = sorted({code for answer in traced.values() for code in answer.codes})
    unchecked = sorted({words for answer in traced.values() for words in answer.unchecked})
    if codes:
        answer = "told"
    elif failure or not traced or refused:
        answer = "refused"
    elif {name: one.result for name, one in traced.items()} == right:
        answer = "equivalent"
    else:
        answer = "not followed" if unchecked else "silent"
    row = {key: one[key] for key in ("script", "arguments", "line", "what")}
    return {**row, "answer": answer, "codes": codes, "said": unchecked, "refused": failure[:160]}


def _traced(root: Path, one: dict[str, Any]) -> tuple[dict[str, Answer], str, bool]:
    """What is said of each kernel of a script, what ended it, and whether a copy was refused."""
    answers: dict[str, Answer] = {}

    def look(module: TracedModule, lowered: str, _problem: str) -> OperandReport:
        answers[f"{len(answers)} {module.arch}"] = judged(module, lowered)
        return OperandReport(module.kernel, module.arch)

    folder = (root / one["script"]).parent
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryFile() as log:
        path = Path(made) / Path(one["script"]).name
        path.write_text(one["text"].replace("__file__", repr(str(folder / path.name))))
        with Lowering(copies=False, products=look) as lowering:
            trace = trace_script(
                str(path), one["arguments"].split(), launch=False, arch=one["arch"], timeout_s=120,
                output=log, cwd=str(folder), lowering=lowering,
            )  # fmt: skip
    failure = next((f.message for f in trace.failures if f.kind != "timeout"), "")
    return answers, failure, any(c.refused for c in trace.copies)


def main() -> None:
    """Run all mutants; write and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    root, rows = given.root.resolve(), list[dict[str, Any]]()
    every = [one for one in mutants(root) if given.only in f"{one['script']} {one['what']}"]
    with ProcessPoolExecutor(given.processes, mp_context=get_context("spawn")) as pool:
        for row in pool.map(run, itertools.repeat(root), every):
            rows.append(row)
            print(*(row[key] for key in ("script", "line", "what", "answer", "codes")), flush=True)
            given.output.write_text(json.dumps(evidence(rows), indent=1) + "\n")
    print(evidence(rows)["answers"])


def evidence(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The counts, and every survivor."""
    counts = Counter(row["answer"] for row in rows)
    live = len(rows) - counts["refused"] - counts["equivalent"]
    return {
        "date": time.strftime("%Y-%m-%d"), "command": "python -m tests.provenance.mutants CUTLASS OUT.json",
        "mutants": len(rows), "answers": dict(counts), "live": live,
        "told_share": round(counts["told"] / max(1, live), 3),
        "by_change": {
            what: dict(Counter(r["answer"] for r in rows if r["what"] == what)) for what, _, _ in CHANGES
        },
        "survivors": [row for row in rows if row["answer"] in ("silent", "not followed")],
    }  # fmt: skip


if __name__ == "__main__":
    main()
