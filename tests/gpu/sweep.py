"""A sweep of random copies on a real GPU: what `layoutcheck.gpu.confirm` finds, written as evidence.

    python -m tests.gpu.sweep prepare --count 2400 --seed 1 --out FILE     needs the DSL, no GPU
    python -m tests.gpu.sweep prepare --family bulk --count 600 --out FILE bulk copies and st.async only
    python -m tests.gpu.sweep prepare --family tails --count 400 --out FILE     predicated, tails of tiles
    python -m tests.gpu.sweep run FILE --out confirm.json                  needs a GPU, no DSL

Half of the random copies are ones that layoutcheck calls wrong. Copies that the compiler accepts only: all
families, static and dynamic, one thread and whole tiles, swizzles, predicates; and every reproducer of
tests/miscompiles.py.
"""

from __future__ import annotations

import collections
import platform
import random
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from layoutcheck.algebra.inttuple import product
from layoutcheck.algebra.layout import Layout, compact_col_major
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.atoms.bulk import BulkCopy
from layoutcheck.atoms.compiler import predict
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.dsmem import DsmemStore
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.check import check
from layoutcheck.copies.copy import Copy, Issue
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import size
from layoutcheck.copies.tails import excess
from layoutcheck.copies.tiled import make_tiled_copy_tv
from layoutcheck.copies.tiling import tile
from layoutcheck.errors import InputError
from layoutcheck.gpu.confirm import run
from layoutcheck.machine.dtypes import dtype
from tests.conformance import drawn
from tests.gpu.sweeping import (
    RIGHT_OR_WRONG,
    evidence_of,
    head,
    options,
    read_prepared,
    row_of_guards,
    write,
    write_prepared,
)
from tests.miscompiles import MISCOMPILES


def random_bulk(rng: random.Random) -> Copy:
    """A bulk copy or st.async of one CTA, now and then announced wrongly.

    Small ones: the compiler takes the longer the more instructions there are.
    """
    while True:
        copy = drawn.bulk(rng)
        size = product(copy.src.layout.shape)
        run = size if isinstance(copy.atom, BulkCopy) else 8  # of st.async every element may be one
        if isinstance(size, int) and size <= min(8192, 64 * run):
            break
    if rng.random() < 0.1 and copy.pred is None:
        size_bytes = size * copy.src.dtype.bits // 8
        copy = replace(copy, issue=Issue(1, max(16, size_bytes + rng.choice((0, 16, 128, 1024)))))
    return copy


def random_tail(rng: random.Random) -> Copy:
    """A tile that the tiled copy does not divide, under a predicate of one entry an instruction.

    Every other cp.async fits its tile: where it does not, its zeros land past the tile in shared memory. Now
    and then the predicate is the same along a mode, as kernels have it that guard one mode alone.
    """
    while True:
        element = dtype(rng.choice(("bf16", "bf16", "f32", "i8")))
        op = rng.choice(("cp.async", "cp.async", "universal", "universal", "basic_copy_if"))
        bits = rng.choice((128, 64, 32)) if op == "cp.async" else rng.choice((128, 64, 32, element.bits))
        n = max(1, bits // element.bits)
        others, along = rng.choice((2, 4, 8)), rng.choice((1, 2, 4))
        fits = op == "cp.async" and rng.random() < 0.5
        rows = others * rng.choice((1, 2, 3)) - rng.choice((0, 1, 1, others // 2, others - 1))
        vectors = along * rng.choice((1, 2, 3)) - rng.choice((0, 0, 1, along - 1))
        columns = max(1, vectors) * n - (rng.choice((0, 1)) if rng.random() < 0.1 else 0)
        if fits:
            rows, columns = others * rng.choice((1, 2, 3)), along * n * rng.choice((1, 2, 3))
        elif columns % (along * n) == 0 and rows % others == 0:
            continue
        rows = max(1, rows)
        pads = [rng.choice((0, 0, n)) for _ in range(2)]
        pitches = [-(-columns // n) * n + pad for pad in pads]
        flip = rng.random() < 0.5  # the fast mode first

        def two(a: int, b: int, flip: bool = flip) -> tuple[int, int]:
            return (b, a) if flip else (a, b)

        spaces = rng.choice(
            (("gmem", "smem"), ("gmem", "smem"), ("smem", "gmem"), ("gmem", "rmem"), ("rmem", "gmem"))
        )
        if op == "cp.async":
            spaces = ("gmem", "smem")
        atom = (
            CpAsync(element, n * element.bits, "always")
            if op == "cp.async"
            else UniversalCopy(element, n * element.bits)
        )
        swizzle = rng.choice((None, None, Swizzle(1, 4, 3))) if "smem" in spaces and pads == [0, 0] else None
        src, dst = (
            Memref(
                element,
                space,
                Layout(two(rows, columns), two(pitch, 1)),
                128,
                swizzle if space == "smem" else None,
            )
            for space, pitch in zip(spaces, pitches, strict=True)
        )
        threads = Layout(two(others, along), two(along, 1))
        tiled = make_tiled_copy_tv(atom, threads, Layout(two(1, n), two(1, 1)))
        copy = tile(tiled, src, dst, block_threads=others * along)
        view = copy.src.layout
        shape = view.shape if op == "basic_copy_if" else (view.shape[0][1], *view.shape[1:])
        stride = compact_col_major(shape)
        if rng.random() < 0.3:
            stride = (stride[0], *(0 if rng.random() < 0.4 else step for step in stride[1:]))
        pred = Memref(dtype("i8"), "rmem", Layout(shape, stride), 32)
        if op == "basic_copy_if":
            return replace(copy, atom=None, tiled=None, op=op, pred=pred)
        return replace(copy, pred=pred)


def is_bulk(copy: Copy) -> bool:
    """Whether the copy is of the families of --family bulk."""
    return isinstance(copy.atom, (BulkCopy, DsmemStore))


def sample(count: int, seed: int, make: Callable[[random.Random], Copy]) -> list[tuple[str, Copy]]:
    """`count` accepted copies, half of them wrong; then the holes of the same families and their twins."""
    rng = random.Random(seed)
    wanted = {"wrong": count // 2, "right": count - count // 2}
    named: list[tuple[str, Copy]] = []
    while any(wanted.values()):
        try:
            copy = make(rng)
            if not predict(copy).accepted:
                continue
            report = check(copy)
            verdict = report.verdict
            if "LC210" in {finding.code for finding in report.findings} and rng.random() < 0.8:
                continue  # a destination that overlaps itself is wrong on its face: a few are enough
        except InputError:
            continue
        kind = RIGHT_OR_WRONG.get(verdict)
        if kind is None or not wanted[kind]:
            continue
        wanted[kind] -= 1
        named.append((f"random-{seed}-{len(named)}", copy))
    for name, (broken, fixed, _) in MISCOMPILES.items() if make is not random_tail else ():
        if is_bulk(fixed) == (make is random_bulk):
            named += [(f"{name}-broken", broken), (f"{name}-fixed", fixed)]
    return named


FAMILIES = {"first": drawn.first, "bulk": random_bulk, "tails": random_tail}


def family(copy: Copy) -> str:
    """What is said of a copy in the counts: its instruction, predicated or not, with a tail or without."""
    name = copy.op if copy.atom is None else type(copy.atom).__name__
    if copy.pred is None:
        return name
    tail = copy.tiling is not None and excess(copy, size(copy.tiling.tiled.layout_tv[0])) is not None
    return f"{name}, predicated" + (", with a tail" if tail else "")


def main() -> None:
    given = options(__doc__, 2400, tuple(FAMILIES))
    if given.command == "prepare":
        write_prepared(sample(given.count, given.seed, FAMILIES[given.family]), given.out)
        return
    start = time.time()
    prepared = read_prepared(given.file)
    found, machine = run(prepared, workers=given.workers)
    parts = ("op", "atom", "src", "dst", "pred", "tiling")
    about = {p.name: {part: str(getattr(p.copy, part)) for part in parts} for p in prepared}
    ran = [c for c in found if c.ran != "nothing"]
    evidence = {
        **head(machine, "python -m tests.gpu.sweep " + " ".join(sys.argv[1:]), start),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "families": dict(collections.Counter(family(p.copy) for p in prepared)),
        "counts": dict(collections.Counter(str(c.agrees) for c in found)),
        **evidence_of(found, ran, about, row_of_guards),
    }
    write(evidence, given.out)


if __name__ == "__main__":
    main()
