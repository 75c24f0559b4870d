"""Triton's own tests of layout conversion, converted by Triton and by `lc.exchange`: widths and wavefronts.

    python -m benchmarks.triton_conversions OUT [--processes 1] [--seconds 3600] [--keep]

needs Triton, no GPU. The layouts are those between which Triton's tests convert in one block on NVIDIA's GPUs
(python/test/gluon/test_lowerings.py: one and two dimensions, MMA to MMA, within a warp; figures read, no
code). Triton compiles each conversion for sm_90; what its PTX has of loads and stores of
shared memory is counted, without any conflict: the least that it can cost. Writes OUT/synthesis_triton.json
as it goes, and prints what is not at least as good on either side. What that file has of the same Triton is
not compiled again, only compared again (`--keep`: nor that, where an interrupted run did it); what was not
reached in time is there without a comparison.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write

SHAPES = ((64, 1), (64, 64), (64, 128), (1, 64))
MMA_SHAPES = ((16, 16), (64, 1), (1, 64), (64, 64), (128, 128), (256, 256))
KERNEL = """
from triton.experimental import gluon
from triton.experimental.gluon import language as ttgl


@gluon.jit
def two(src, dst, M: ttgl.constexpr, N: ttgl.constexpr, a: ttgl.constexpr, b: ttgl.constexpr):
    row = ttgl.arange(0, M, layout=ttgl.SliceLayout(1, a))
    column = ttgl.arange(0, N, layout=ttgl.SliceLayout(0, a))
    given = ttgl.load(src + row[:, None] * N + column[None, :])
    made = ttgl.convert_layout(given, layout=b)
    row = ttgl.arange(0, M, layout=ttgl.SliceLayout(1, b))
    column = ttgl.arange(0, N, layout=ttgl.SliceLayout(0, b))
    ttgl.store(dst + row[:, None] * N + column[None, :], made)


@gluon.jit
def one(src, dst, M: ttgl.constexpr, N: ttgl.constexpr, a: ttgl.constexpr, b: ttgl.constexpr):
    given = ttgl.load(src + ttgl.arange(0, M, layout=a))
    ttgl.store(dst + ttgl.arange(0, M, layout=b), ttgl.convert_layout(given, layout=b))
"""


def mma(version: int, warps: list[int], shape: list[int], minor: int = 0) -> Any:
    from triton.experimental.gluon import language as ttgl

    return ttgl.NVMMADistributedLayout(version=[version, minor], warps_per_cta=warps, instr_shape=shape)


def conversions() -> Iterator[tuple[tuple[int, ...], Any, Any, int]]:
    """The shape, both layouts and the element's bits, of every conversion."""
    from triton.experimental.gluon import language as ttgl

    def operand(parent: Any, index: int, width: int) -> Any:
        return ttgl.DotOperandLayout(parent=parent, operand_index=index, k_width=width)

    three, two = mma(3, [4, 1], [16, 32, 16]), mma(2, [4, 1], [16, 8])
    flat = [
        ttgl.BlockedLayout([1, 1], [32, 1], [2, 2], [0, 1]),
        ttgl.BlockedLayout([1, 16], [8, 4], [4, 1], [1, 0]),
        three,
        operand(three, 0, 2),
        operand(three, 0, 1),
        two,
        operand(two, 1, 2),
        operand(mma(2, [2, 2], [16, 8]), 0, 2),
        operand(two, 0, 8),
        ttgl.SliceLayout(dim=1, parent=operand(mma(3, [4, 1, 1], [16, 32, 16]), 0, 2)),
        ttgl.SliceLayout(dim=1, parent=operand(mma(2, [4, 1, 1], [1, 16, 8]), 1, 2)),
    ]
    for shape in SHAPES:
        yield from ((shape, a, b, 16) for a in flat for b in flat if str(a) != str(b))
    pairs = [
        (mma(2, [1, 4], [16, 8]), mma(2, [4, 1], [16, 8])),
        (mma(2, [2, 8], [16, 8]), mma(2, [8, 2], [16, 8])),
        (mma(2, [1, 4], [16, 8], 1), mma(2, [4, 1], [16, 8], 1)),
        (mma(2, [2, 8], [16, 8], 1), mma(2, [8, 2], [16, 8], 1)),
        (mma(3, [4, 1], [16, 32, 32]), mma(3, [4, 1], [16, 64, 32])),
        (mma(3, [1, 4], [16, 32, 32]), mma(3, [4, 1], [16, 64, 32])),
        (mma(3, [2, 8], [16, 64, 32]), mma(3, [8, 2], [16, 32, 32])),
        (mma(3, [4, 1], [16, 128, 16]), mma(3, [4, 1], [16, 64, 16])),
    ]
    for shape in MMA_SHAPES:
        for a, b in pairs:
            yield from ((shape, *both, 16) for both in ((a, b), (b, a)))
    lines = [
        ttgl.SliceLayout(dim, parent)
        for parent in (
            ttgl.BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0]),
            ttgl.BlockedLayout([1, 4], [1, 32], [2, 2], [1, 0]),
            three,
            two,
            operand(three, 0, 2),
            operand(mma(2, [2, 2], [16, 8]), 0, 2),
        )
        for dim in (0, 1)
    ]
    for extent in (64, 128, 256):
        yield from (
            ((extent,), a, b, bits) for a in lines for b in lines if str(a) != str(b) for bits in (32, 8)
        )
    local = [
        ttgl.BlockedLayout([1, each], [32 // lanes, lanes], [1, 1], [1, 0])
        for each in (1, 4)
        for lanes in (1, 2, 4, 8, 16, 32)
    ]
    local += [ttgl.BlockedLayout([32 >> n, 1], [1 << n, 32 >> n], [1, 1], [1, 0]) for n in (0, 1)]
    for shape in ((32, 32), (64, 64)):
        yield from ((shape, a, b, 16) for a in local for b in local if a is not b and _near(a, b))


def _near(a: Any, b: Any) -> bool:
    """Whether Triton's test of conversions within a warp takes the pair."""
    rows, columns = (x // y for x, y in zip(a.threads_per_warp, b.threads_per_warp, strict=True))
    return (rows or columns) <= 2


class Linear:
    """Layouts as Triton has them: bases of registers, lanes and warps."""

    def __init__(self) -> None:
        from triton._C.libtriton import gluon_ir, ir
        from triton.backends.compiler import GPUTarget
        from triton.backends.nvidia.compiler import CUDABackend

        self._context = ir.context()
        ir.load_dialects(self._context)
        CUDABackend(GPUTarget("cuda", 90, 32)).load_dialects(self._context)
        self._builder = gluon_ir.GluonOpBuilder(self._context)

    def bases(self, layout: Any, shape: tuple[int, ...]) -> list[list[list[int]]]:
        """[registers, lanes, warps], each a list of coordinates."""
        found = self._builder.to_linear_layout(layout._to_ir(self._builder), list(shape))
        return [found.reg_bases, found.lane_bases, found.warp_bases]


def triton_s(module: Any, shape: tuple[int, ...], a: Any, b: Any, bits: int, warps: int) -> dict[str, Any]:
    """What a warp of Triton's PTX has of shared memory and of shuffles: instructions by their names."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.experimental.gluon._runtime import GluonASTSource

    kind = {8: "*i8", 16: "*fp16", 32: "*fp32"}[bits]
    names = {"src": kind, "dst": kind, **dict.fromkeys(("M", "N", "a", "b"), "constexpr")}
    m, n = (*shape, 1)[:2]
    source = GluonASTSource(
        fn=module.two if len(shape) == 2 else module.one,
        signature=names,
        constexprs={"M": m, "N": n, "a": a, "b": b},
        attrs={(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]]},
    )
    ptx = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps}).asm["ptx"]
    found: dict[str, int] = {}
    for name in re.findall(
        r"^\s*(?:@%p\d+ )?((?:st|ld)\.shared\S*|(?:ld|st)matrix\S*|shfl\S*)", ptx, re.MULTILINE
    ):
        found[name] = found.get(name, 0) + 1
    return found


def cost(instructions: dict[str, int], store: bool) -> tuple[int, int, int]:
    """Bits of the widest, instructions and wavefronts of a warp's stores or loads, without conflicts."""
    widest = issued = wavefronts = 0
    for name, count in instructions.items():
        if name.startswith("shfl") or name.startswith("st") != store:
            continue
        words = re.search(r"\.v([24])", name)
        if "matrix" in name:
            bits = 32 * int(re.search(r"\.x([124])", name)[1])  # type: ignore[index]
        else:
            bits = int(re.search(r"\.[bufs](\d+)$", name)[1]) * (int(words[1]) if words else 1)  # type: ignore[index]
        widest, issued = max(widest, bits), issued + count
        wavefronts += count * max(1, bits // 32)
    return widest, issued, wavefronts


def compared(row: dict[str, Any]) -> dict[str, Any]:
    """Ours beside Triton's, both for a block: bits, instructions and wavefronts of each side.

    `no_worse`: no more wavefronts and no more instructions, both sides together. `either_side`: no more
    wavefronts on either side, too; where that is not so, `even` is the quickest way with no more on either,
    None for none. `as_wide`: no side's accesses are narrower.
    """
    import layoutcheck as lc
    from layoutcheck.errors import InputError
    from layoutcheck.synthesis.exchange import ways

    shape = (*row["shape"], 1)[:2]
    kind = {8: "i8", 16: "bf16", 32: "f32"}[row["bits"]]
    theirs = {}
    for name, side in (("write", "src"), ("read", "dst")):
        warps = 1 << len(row[side][2])
        width, issued, wavefronts = cost(row["triton"], name == "write")
        theirs[name] = [width, issued * warps, wavefronts * warps]

    def fits(sides: dict[str, list[int]]) -> bool:
        return all(sides[name][2] <= theirs[name][2] for name in sides)

    try:
        src, dst = (_layout_tv(row[side], shape) for side in ("src", "dst"))
        ours = _sides(lc.exchange(shape, src, dst, kind))
    except (InputError, ValueError) as error:
        return {"refused": str(error)[:300]}
    found = {
        "ours": ours,
        "theirs": theirs,
        "no_worse": all(sum(ours[n][k] for n in ours) <= sum(theirs[n][k] for n in ours) for k in (1, 2)),
        "either_side": fits(ours),
        "as_wide": all(ours[name][0] >= theirs[name][0] for name in ours),
    }
    if not found["either_side"]:
        others = (one for one in ways(shape, src, dst, kind, "sm_90a") if fits(_sides(one)))
        even = min(others, key=lambda one: one.cycles, default=None)
        found["even"] = even and _sides(even)
    return found


def _sides(found: Any) -> dict[str, list[int]]:
    return {
        name: [side.width_bits, side.instructions, side.wavefronts]
        for name, side in (("write", found.write), ("read", found.read))
    }


def _layout_tv(bases: list[list[list[int]]], shape: tuple[int, ...]) -> Any:
    """(thread, value) -> index into the tile. Raises ValueError where bases overlap: CuTe has no XOR."""
    from layoutcheck.algebra.layout import Layout

    registers, lanes, warps = bases

    def steps(some: list[list[int]]) -> tuple[int, ...]:
        return tuple(one[0] + (one[1] if len(one) > 1 else 0) * shape[0] for one in some)

    every = [n for one in (registers, lanes, warps) for n in steps(one)]
    if any(n & (n - 1) for n in every):
        raise ValueError("a base of more than one bit")
    threads, values = steps([*lanes, *warps]), steps(registers)
    return Layout(((2,) * len(threads), (2,) * max(1, len(values))), (threads, values or (0,)))


class Converter:
    """Compiles and compares the conversions of a process, each given by its number."""

    def __init__(self) -> None:
        from tests.synthesis.compile_programs import module_of

        self._folder = tempfile.TemporaryDirectory()
        os.environ["TRITON_CACHE_DIR"] = self._folder.name
        self._module = module_of(KERNEL, Path(self._folder.name), "conversion")
        self._linear = Linear()
        self._every = list(conversions())

    def row(self, number: int) -> dict[str, Any]:
        """Both layouts and what Triton's PTX has."""
        shape, a, b, bits = self._every[number]
        row: dict[str, Any] = {"shape": list(shape), "bits": bits, "from": str(a), "to": str(b)}
        row["src"], row["dst"] = self._linear.bases(a, shape), self._linear.bases(b, shape)
        row["triton"] = triton_s(self._module, shape, a, b, bits, 1 << len(row["src"][2]))
        return row


_converter: list[Converter] = []


def one(task: tuple[int, dict[str, Any] | None, float]) -> tuple[int, dict[str, Any] | None]:
    """The conversion of that number, compiled where no row is given; as given where time is up."""
    number, row, until = task
    if time.time() > until or (row is not None and _done(row)):
        return number, row
    if row is None:
        if not _converter:
            _converter.append(Converter())
        row = _converter[0].row(number)
    through = any(not name.startswith("shfl") for name in row["triton"])
    return number, row | (compared(row) if through else {"no_shared": True})


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row["shape"]), row["bits"], row["from"], row["to"]


def _done(row: dict[str, Any]) -> bool:
    return not row.keys().isdisjoint(("ours", "refused", "no_shared"))


def known(file: Path, keep: bool) -> dict[tuple[Any, ...], dict[str, Any]]:
    """What Triton does, of an earlier run of the same Triton; with the comparison too, to `keep` it."""
    earlier = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
    if earlier is None or earlier["versions"].get("triton") != version("triton"):
        return {}
    kept = ("shape", "bits", "from", "to", "src", "dst", "triton")
    return {_key(row): row if keep else {name: row[name] for name in kept} for row in earlier["conversions"]}


def summary(rows: list[dict[str, Any]], every: int) -> dict[str, Any]:
    """The rows as evidence, counted."""
    done = [row for row in rows if "ours" in row or "refused" in row]

    def count(name: str) -> int:
        return sum(row.get(name, False) for row in done)

    return {
        **head("benchmarks.triton_conversions", "triton"),
        "in_all": every,
        "reached": len(done) + sum("no_shared" in row for row in rows),
        "through_shared_memory": len(done),
        "refused": sum("refused" in row for row in done),
        "no_worse": count("no_worse"),
        "either_side": count("either_side"),
        "even": sum(row.get("even") is not None for row in done),
        "as_wide": count("as_wide"),
        "conversions": rows,
    }


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("out", type=Path)
    options.add_argument("--processes", type=int, default=1)
    options.add_argument("--seconds", type=float, default=3600)
    options.add_argument("--keep", action="store_true")
    given = options.parse_args()
    file, until = given.out / "synthesis_triton.json", time.time() + given.seconds
    earlier = known(file, given.keep)
    keys = [(tuple(shape), bits, str(a), str(b)) for shape, a, b, bits in conversions()]
    tasks = [(n, earlier.get(key), until) for n, key in enumerate(keys)]
    tasks.sort(key=lambda task: (math.prod(keys[task[0]][0]), task[1] is not None))
    found = {n: row for n, row, _ in tasks if row is not None}
    written = time.time()
    with get_context("spawn").Pool(given.processes) as pool:
        for done, (number, row) in enumerate(pool.imap_unordered(one, tasks), 1):
            if row is None:
                continue
            found[number] = row
            if not row.get("either_side", True) or "refused" in row:
                print(json.dumps({name: row[name] for name in row if name not in ("src", "dst")}))
            if time.time() > written + 20:
                write(summary([found[n] for n in sorted(found)], len(keys)), file)
                written = time.time()
                print(f"{done} of {len(keys)} conversions", flush=True)
    all_of_them = summary([found[n] for n in sorted(found)], len(keys))
    write(all_of_them, file)
    print({name: value for name, value in all_of_them.items() if name != "conversions"})


if __name__ == "__main__":
    main()
