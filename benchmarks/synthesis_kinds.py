"""Synthesised plans of every kind, run on a GPU: tails, conversions, 4-bit elements, epilogues, more readers.

    python -m benchmarks.synthesis_kinds OUT [--each 3]

needs torch, the DSL and a GPU. Of each request some plans are compiled and run; where the request has tails,
the tensors' extents are not multiples of the tile's. What the plans write is compared bit by bit, and what
lies past the tensors' edges must stay as it was. Writes OUT/synthesis_kinds.json, and prints a line for each.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write
from layoutcheck.errors import InputError
from layoutcheck.fixes.code import dtype_code
from layoutcheck.synthesis.plans import Plan, synthesize
from layoutcheck.synthesis.reading import read
from layoutcheck.synthesis.request import TileRequest
from layoutcheck.synthesis.wanted import Wanted

MARGIN = 32
"""Rows and columns of a tensor's memory beyond its extents."""


def requests() -> Iterator[TileRequest]:
    """One of each kind, and tiles that are no powers of two."""
    k, mn = "(?,?{div=8}):(?{div=8},1)", "(?{div=8},?):(1,?{div=8})"
    odd, odd_mn = "(?,?):(?,1)", "(?,?):(1,?)"
    pairs = "(?,?{div=32}):(?{div=32},1)"
    for tile in ((64, 64), (96, 48), (80, 112), (192, 32)):
        yield TileRequest(tile, k, "ldmatrix", tails=True, threads=32)
        yield TileRequest(tile, odd, "gmem", dst=odd_mn, tails=True)
        yield TileRequest(tile, k, "gmem", dst=mn, tails=True, stages=2)
        yield TileRequest(tile, mn, "registers", tails=True)
        yield TileRequest(tile, "accumulator", "gmem", dst=k, tails=True, threads=32)
    yield TileRequest((64, 64), "accumulator", "gmem", dst=mn, dtype="f16")
    yield TileRequest((64, 64), "accumulator", "gmem", dst=k, dtype="f16", dst_dtype="f32")
    for src in (k, mn):
        yield TileRequest((64, 64), src, "wgmma.A", src_dtype="f32", major="K")
        yield TileRequest((64, 96), src, "ldmatrix", src_dtype="f32", stages=2)
        yield TileRequest((64, 64), src, "registers", src_dtype="f32", tails=True)
    yield TileRequest((64, 64), k, "gmem", dst=mn, dst_dtype="f32")
    yield TileRequest((64, 64), k, "gmem", dst=k, dtype="f32", dst_dtype="bf16", tails=True)
    yield TileRequest((64, 128), pairs, "gmem", dst=pairs, dtype="f4E2M1FN")
    yield TileRequest((64, 128), pairs, "ldmatrix", dtype="i4", stages=2)
    yield TileRequest((64, 32), k, "ldmatrix,ldmatrix.trans^T")
    yield TileRequest((64, 64), k, "ldmatrix,gmem", dst=mn, stages=2)


def plans_of(request: TileRequest, each: int) -> list[Plan]:
    """Some of the request's plans."""
    try:
        found = synthesize(read(request))
    except InputError as error:
        print(f"{request.tile} {request.to}: {error.message}")
        return []
    return random.Random(1).sample(found.plans, min(each, len(found.plans)))


class Tensor:
    """Random values of an element type, contiguous along the mode `fast`, with memory around them."""

    def __init__(self, kind: str, extents: tuple[int, int], fast: int) -> None:
        import torch

        types = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "ui8": torch.uint8}
        long, rows = extents[fast], extents[1 - fast]
        whole = torch.randint(0, 100, (rows + MARGIN, long + MARGIN), device="cuda").to(types[kind])
        self.whole = whole
        view = whole[:rows, :long]
        self.view = view if fast == 1 else view.t()

    def stray(self, before: Any) -> int:
        """Elements around the values that are not as they were."""
        after = self.whole.clone()
        rows, long = (n - MARGIN for n in after.shape)
        after[:rows, :long] = before[:rows, :long]
        return int((after != before).sum())


def run(plan: Plan, folder: Path, name: str) -> dict[str, Any]:
    """Compile and launch a plan; elements that differ, of all, and those that were written past an edge."""
    import cutlass
    import torch
    from cuda.bindings.driver import CUstream
    from cutlass import cute
    from cutlass.cute.runtime import from_dlpack

    from tests.synthesis.compile_programs import module_of

    wanted = plan.wanted
    extents = _extents(wanted)
    src = Tensor(wanted.src.dtype.name, extents, _fast(wanted.src))
    outs = [
        Tensor(wanted.dtype.name, extents, _fast(wanted.src))
        for one in wanted.consumers
        if one.unit != "gmem"
    ]
    made = [src, *outs]
    if wanted.dst is not None:
        made.append(Tensor(wanted.dst.dtype.name, extents, _fast(wanted.dst)))
    stream = CUstream(torch.cuda.current_stream().cuda_stream)

    def as_cute(tensor: Tensor) -> Any:
        found = from_dlpack(tensor.view, assumed_align=16)
        if wanted.packed is not None:
            shape, stride = list(tensor.view.shape), list(tensor.view.stride())
            shape[1], stride[0] = 2 * shape[1], 2 * stride[0]
            pointer = cute.runtime.make_ptr(
                getattr(cutlass, dtype_code(wanted.packed).split(".")[1]), tensor.view.data_ptr(),
                cute.AddressSpace.gmem, assumed_align=16,
            )  # fmt: skip
            return pointer, tuple(shape), tuple(stride)
        return found.mark_layout_dynamic(leading_dim=_fast_of(tensor.view))

    code = plan.code
    given = [as_cute(tensor) for tensor in made]
    if wanted.packed is not None:
        code = _with_pointers(code, len(made))
        given = [word for one in given for word in (one[0], *one[1], one[2][0])]
    module = module_of(code, folder, name)
    before = [tensor.whole.clone() for tensor in made]
    cute.compile(module.launch, *given, stream)(*given, stream)
    torch.cuda.synchronize()
    expected = src.view.to(outs[0].view.dtype if outs else made[-1].view.dtype)
    wrong = sum(int((one.view != expected.to(one.view.dtype)).sum()) for one in made[1:])
    stray = sum(one.stray(old) for one, old in zip(made[1:], before[1:], strict=True))
    return {"wrong": wrong, "elements": src.view.numel() * len(made[1:]), "stray": stray}


def _with_pointers(code: str, count: int) -> str:
    """The program with a launch that makes its 4-bit tensors of pointers, which DLPack does not have."""
    words = [
        f"p{n}: cute.Pointer, m{n}: cutlass.Int32, k{n}: cutlass.Int32, s{n}: cutlass.Int64"
        for n in range(count)
    ]
    tensors = [
        f"cute.make_tensor(p{n}, cute.make_layout((m{n}, k{n}), stride=(cute.assume(s{n}, divby=32), 1)))"
        for n in range(count)
    ]
    tail = (
        f"\n\n@cute.jit\ndef launch({', '.join(words)}, stream):\n    inner({', '.join(tensors)}, stream)\n"
    )
    return code.replace("def launch(", "def inner(") + tail


def _extents(wanted: Wanted) -> tuple[int, int]:
    """Two tiles and a bit in each mode where the tile may be cut, else two and three."""
    found = []
    for mode, extent in enumerate(wanted.tile):
        known = [
            getattr(tensor.layout.shape[mode], "divisor", 1)
            for tensor in (wanted.src, wanted.dst)
            if tensor is not None
        ]
        step = max(known)
        found.append(2 * extent + step * (extent // (2 * step) or 1) if wanted.tails else (2 + mode) * extent)
    return found[0], found[1]


def _fast(tensor: Any) -> int:
    return int(tensor.layout.stride.index(1))


def _fast_of(view: Any) -> int:
    return 0 if view.stride(0) == 1 else 1


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("out", type=Path)
    options.add_argument("--each", type=int, default=3)
    given = options.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for n, request in enumerate(requests()):
            for m, plan in enumerate(plans_of(request, given.each)):
                row: dict[str, Any] = {"request": str(request), "kind": plan.kind}
                try:
                    row |= run(plan, Path(folder), f"kind_{n}_{m}")
                except Exception as error:  # the DSL and CUDA raise all sorts; every one is told
                    row["failed"] = f"{type(error).__name__}: {error}"[:600]
                rows.append(row)
                print(
                    plan.wanted.title,
                    request.to,
                    plan.kind,
                    {k: row[k] for k in row if k not in ("request", "kind")},
                    flush=True,
                )
    right = sum(row.get("wrong") == row.get("stray") == 0 for row in rows)
    write(
        {**head("benchmarks.synthesis_kinds", "torch"), "right": right, "plans": rows},
        given.out / "synthesis_kinds.json",
    )
    print(f"{right} of {len(rows)} plans right, bit by bit")


if __name__ == "__main__":
    main()
