"""Mutants of lowered kernels: one thing on an operand's way changed in the lowering, and whether it is told.

    python -m tests.provenance.lowered_mutants MODULES OUT.json [--each 16] [--seed 1] [--processes 16]

MODULES is a folder of traced kernels with their lowerings (`save`). Each mutant changes one site: matrices of
one copy are transposed, a swizzle is dropped from one side's addresses, registers of a fragment change
places, a descriptor has another swizzle or its strides exchanged, a tensor map has no swizzle, a copy takes
another tensor map or exchanged coordinates, results leave through other registers. What a mutant does is
judged by numbers, not by the rules: random values for all elements, summed as the products say (`outcome`).
A mutant that leaves all sums and their places as they were is equivalent.
"""

from __future__ import annotations

import argparse
import gzip
import json
import pickle
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from layoutcheck import provenance
from layoutcheck.dsl.lowered.evaluate import tag
from layoutcheck.order.budget import Budget
from layoutcheck.order.events import WatchedKernel
from layoutcheck.provenance.instances import USUAL, Instance
from layoutcheck.provenance.judged import Judged
from layoutcheck.provenance.products import Products
from layoutcheck.provenance.refs import GLOBAL, MIXED, PRODUCT
from layoutcheck.sources.mlir import Operation, parse
from layoutcheck.sources.traced_module import TracedModule

SECONDS = 40.0
COMMAND = "python -m tests.provenance.lowered_mutants MODULES OUT.json"
_TMA = "nvvm.cp.async.bulk.tensor.shared.cluster.global"
_DESCRIPTOR = "nvvm.tcgen05.mma_smem_desc"
_SWIZZLED = re.compile(r'= "arith\.constant"\(\) <\{value = (-?[0-9]{17,}) : i64\}>')


class Mutant(NamedTuple):
    """`edits` replace text at places of the lowered module; `unswizzled` is the number of a tensor map."""

    what: str
    where: str
    edits: tuple[tuple[int, int, str], ...] = ()
    unswizzled: int = -1

    def applied(self, text: str) -> str:
        """The mutated module."""
        for start, end, new in sorted(self.edits, reverse=True):
            text = text[:start] + new + text[end:]
        return text


def save(path: Path, module: TracedModule, lowered: str) -> None:
    """Write a traced kernel for a later run."""
    with gzip.open(path, "wb") as file:
        pickle.dump((tuple(module), lowered), file)


def load(path: Path) -> tuple[TracedModule, str]:
    """A kernel that `save` wrote."""
    with gzip.open(path) as file:
        fields, lowered = pickle.load(file)
    return TracedModule(*fields), lowered


def mutants(lowered: str) -> Iterator[Mutant]:
    """Every mutant of a lowered module."""
    sites: dict[tuple[str, str], list[Operation]] = {}
    for op in parse(lowered).walk():
        site = tag(op) or f"at {op.start}"
        sites.setdefault((op.name, site), []).append(op)
        if op.name == "arith.xori" and _shifted(op):
            at = _operands(lowered, op)
            first = lowered[at[0] : at[1]].split(",")[0]
            head = lowered.rindex('"arith.xori"', 0, at[0])
            yield Mutant("a swizzle dropped", site, ((head, at[1], f'"arith.ori"({first}, {first}'),))
    for (name, site), ops in sites.items():
        if name in ("nvvm.ldmatrix", "nvvm.stmatrix"):
            yield Mutant("matrices transposed", site, tuple(_layout(lowered, op) for op in ops))
        if name == "nvvm.stmatrix" and len(ops[0].operands) > 2:
            yield Mutant("registers of C exchanged", site, tuple(_swap(lowered, op, 1, 2) for op in ops))
        if name == "nvvm.ldmatrix" and len(ops) > 1:
            yield Mutant("k-blocks exchanged", site, tuple(_exchanged(lowered, ops[0], ops[-1], 0)))
        if name == "nvvm.mma.sync":
            for what, (i, j) in {"registers of A exchanged": (1, 2), "of B": (4, 5), "of C": (6, 8)}.items():
                yield Mutant(what, site, tuple(_swap(lowered, op, i, j) for op in ops))
        if name == _TMA:
            last = len(ops[0].operands)
            yield Mutant(
                "coordinates exchanged", site, tuple(_swap(lowered, op, 2, 3) for op in ops if last > 5)
            )
            for other, others in sites.items():
                if other[0] == _TMA and other[1] != site and len(others[0].operands) == last:
                    new = others[0].operands[1].name
                    yield Mutant("another tensor map", site, tuple(_put(lowered, op, 1, new) for op in ops))
                    break
        if name == _DESCRIPTOR:
            yield Mutant("strides of a descriptor", site, tuple(_swap(lowered, op, 1, 2) for op in ops))
            yield Mutant(
                "swizzle of a descriptor",
                site,
                tuple(_put(lowered, op, 5, op.operands[3].name) for op in ops),
            )
        if (
            name == "llvm.store"
            and site.startswith("cute.")
            and len(ops) > 1
            and ops[0].operands[0].type == ops[1].operands[0].type
        ):
            yield Mutant("stored registers exchanged", site, tuple(_exchanged(lowered, ops[0], ops[1], 0)))
    for match in _SWIZZLED.finditer(lowered):
        word = int(match[1]) & ((1 << 64) - 1)
        if word >> 62:
            new = word ^ 3 << 62 if word >> 62 != 3 else word ^ 1 << 62
            signed = new - (1 << 64) if new >> 63 else new
            yield Mutant(
                "swizzle of a descriptor",
                f"at {match.start()}",
                ((match.start(1), match.end(1), str(signed)),),
            )
    for number in range(lowered.count("nvvm.prefetch.tensormap") or (len(re.findall(_TMA, lowered)) and 3)):
        yield Mutant("a tensor map without swizzle", f"map {number}", unswizzled=number)


def _shifted(op: Operation) -> bool:
    """Whether an exclusive or is a swizzle: what it adds comes from a shift."""
    owner = op.operands[1].owner
    return isinstance(owner, Operation) and owner.name in ("arith.shrsi", "arith.shrui", "llvm.lshr")


def _operands(text: str, op: Operation) -> tuple[int, int]:
    """Where the operands of an operation stand."""
    start = text.index("(", text.index(f'"{op.name}"', op.start)) + 1
    return start, text.index(")", start)


def _words(text: str, op: Operation) -> tuple[int, int, list[str]]:
    start, end = _operands(text, op)
    return start, end, text[start:end].split(", ")


def _swap(text: str, op: Operation, i: int, j: int) -> tuple[int, int, str]:
    start, end, words = _words(text, op)
    words[i], words[j] = words[j], words[i]
    return start, end, ", ".join(words)


def _put(text: str, op: Operation, i: int, new: str) -> tuple[int, int, str]:
    start, end, words = _words(text, op)
    words[i] = new
    return start, end, ", ".join(words)


def _exchanged(text: str, one: Operation, other: Operation, i: int) -> Iterator[tuple[int, int, str]]:
    words = _words(text, one)[2], _words(text, other)[2]
    yield _put(text, one, i, words[1][i])
    yield _put(text, other, i, words[0][i])


def _layout(text: str, op: Operation) -> tuple[int, int, str]:
    start = text.index("mma_layout<", op.start) + len("mma_layout<")
    end = text.index(">", start)
    return start, end, "row" if text[start:end] == "col" else "col"


def outcome(products: Products) -> dict[str, Any]:
    """What a kernel stores, or else what it sums, where each element of global memory has a random value."""
    sums = [np.zeros(len(names)) for names in products.row_of]
    for one in products.executions:
        mine = sums[one.block]
        left, right = (_values(side.labels, mine) for side in (one.a, one.b))
        mine[one.sums] += np.einsum("gmk,gnk->gmn", left, right)
    stored: dict[str, Any] = {}
    for one in products.replay.stored:
        at = stored.setdefault(str(one.block), {})
        at.update(zip(one.at.tolist(), np.round(sums[one.block][one.labels], 6).tolist(), strict=True))
    return stored or {str(i): np.round(one, 6).tolist() for i, one in enumerate(sums)}


def _values(labels: Any, sums: Any) -> Any:
    known = np.where((labels >= GLOBAL) & (labels < PRODUCT), _random(labels), (labels == 1) * 0.37)
    product = ((labels & PRODUCT) != 0) & (labels > 0)
    index = np.where(product, labels & ~(PRODUCT | MIXED), 0)
    return np.where(product & (index < len(sums)), np.sin(sums[np.minimum(index, len(sums) - 1)]), known)


def _random(labels: Any) -> Any:
    """A value between -1 and 1 for each number (the mixing steps of splitmix64)."""
    word = labels.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        word = (word ^ word >> np.uint64(shift)) * np.uint64(factor)
    return (word >> np.uint64(11)).astype(float) / 2.0**52 - 1


class Answer(NamedTuple):
    """What a kernel does, the codes that it is told, and what was not followed."""

    result: dict[str, Any]
    codes: list[str]
    unchecked: list[str]


def judged(module: TracedModule, lowered: str, unswizzled: int = -1) -> Answer:
    """Follow a kernel. Raises nothing: a module that cannot be followed has no result."""
    maps, whole = provenance.tensor_maps, provenance.examine
    result: dict[str, Any] = {}

    def without(given: Any) -> Any:
        found = maps(given)
        for number, (place, one) in enumerate(sorted(found.items())):
            if number == unswizzled and one is not None:
                found[place] = replace(one, swizzle="none")
        return found

    def kept(
        kernel: WatchedKernel, text: str, budget: Budget, instance: Instance = USUAL
    ) -> tuple[Products, Judged]:
        products, found = whole(kernel, text, budget, instance)
        result[f"{kernel.name} {instance}"] = outcome(products)
        return products, found

    provenance.tensor_maps, provenance.examine = without, kept
    try:
        report = provenance.check_products(module, lowered, "", SECONDS)
    finally:
        provenance.tensor_maps, provenance.examine = maps, whole
    unchecked = list(report.unchecked)
    if report.followed < report.products and not unchecked:
        unchecked = ["products that are not followed"]
    return Answer(result, sorted({f.code for f in report.findings}), unchecked)


@cache
def kernel(path: Path) -> tuple[TracedModule, str, Answer]:
    """A kernel as it is."""
    module, lowered = load(path)
    return module, lowered, judged(module, lowered)


def examine(path: Path, which: int, seed: int) -> dict[str, Any]:
    """One mutant of a kernel: the number `which` of its shuffled list; nothing where there are fewer."""
    module, lowered, right = kernel(path)
    every = list(mutants(lowered))
    random.Random(f"{seed} {path.name}").shuffle(every)
    if which >= len(every):
        return {}
    one, start = every[which], time.monotonic()
    found = judged(module, one.applied(lowered), one.unswizzled)
    live, said = found.result != right.result, found.unchecked != right.unchecked
    answer = "told" if found.codes else "not followed" if said else "silent"
    if not live:
        answer = "told, equivalent" if found.codes else "equivalent"
    return {
        "module": path.name.split(".")[0], "what": one.what, "where": one.where,
        "answer": answer if found.result else "refused", "codes": found.codes, "said": found.unchecked,
        "before": right.codes + right.unchecked, "seconds": round(time.monotonic() - start, 1),
    }  # fmt: skip


def main() -> None:
    """Run all mutants; write and print what became of them, after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--each", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="start no more after this many")
    given = parser.parse_args()
    paths = sorted(given.modules.glob("*.gz"))
    start, rows = time.monotonic(), []
    with ProcessPoolExecutor(given.processes, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(examine, p, i, given.seed) for i in range(given.each) for p in paths]
        for job in as_completed(jobs):
            if time.monotonic() - start > given.seconds:
                for other in jobs:
                    other.cancel()
            if job.cancelled() or not job.result():
                continue
            rows.append(job.result())
            print(*(rows[-1].get(key) for key in ("module", "what", "where", "answer", "codes")), flush=True)
            given.output.write_text(json.dumps(evidence(rows, given), indent=1) + "\n")
    print(
        json.dumps(
            {k: v for k, v in evidence(rows, given).items() if k not in ("survivors", "rows")}, indent=1
        )
    )


def evidence(rows: list[dict[str, Any]], given: argparse.Namespace) -> dict[str, Any]:
    """The counts, and every survivor."""
    counts = Counter(row["answer"] for row in rows)
    live = counts["told"] + counts["not followed"] + counts["silent"]
    return {
        "date": time.strftime("%Y-%m-%d"),
        "command": f"{COMMAND} --each {given.each} --seed {given.seed}",
        "kernels": len({row["module"] for row in rows}), "mutants": len(rows), "answers": dict(counts),
        "live": live, "told_share": round(counts["told"] / max(1, live), 3),
        "by_change": {what: dict(Counter(r["answer"] for r in rows if r["what"] == what))
                      for what in sorted({r["what"] for r in rows})},
        "survivors": [row for row in rows if row["answer"] in ("silent", "not followed", "told, equivalent")],
    }  # fmt: skip


if __name__ == "__main__":
    main()
