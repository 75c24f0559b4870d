"""Nine slips in one kernel with literal layouts: a trace tells each, and nothing of the right program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutcheck.cli import run

pytest.importorskip("cutlass", reason="scripts are traced through the installed DSL")

PROGRAM = """
import sys
import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import LoadCacheMode, cpasync
from cutlass.cute.runtime import make_fake_tensor

ROWS, COLUMNS, TILES = 64, 32, 4
said = dict(pitch=40, down=0, bits=128, threads=16, block=64, align=16, outer=COLUMNS, inner=1, wait=True)
said.update(eval(sys.argv[1]))
STRIDE = (said["down"] or said["pitch"], ROWS if said["down"] else 1)


@cute.kernel
def through_shared(
    src: cute.Tensor, dst: cute.Tensor, tile: cute.Layout, load: cute.TiledCopy, store: cute.TiledCopy
):
    thread, block = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    shared = cutlass.memory.SmemAllocator().allocate_tensor(src.element_type, tile, byte_alignment=16)
    here = (ROWS, COLUMNS), (block, 0)
    mine = load.get_slice(thread)
    cute.copy(load, mine.partition_S(cute.local_tile(src, *here)), mine.partition_D(shared))
    cute.arch.cp_async_commit_group()
    if cutlass.const_expr(said["wait"]):
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
    mine = store.get_slice(thread)
    values = cute.make_rmem_tensor_like(mine.partition_S(shared))
    cute.copy(store, mine.partition_S(shared), values)
    cute.copy(store, values, mine.partition_D(cute.local_tile(dst, *here)))


@cute.jit
def host(src: cute.Tensor, dst: cute.Tensor):
    tile = cute.make_layout((ROWS, COLUMNS), stride=STRIDE)
    loads = cute.make_copy_atom(
        cpasync.CopyG2SOp(LoadCacheMode.GLOBAL), src.element_type, num_bits_per_copy=said["bits"])
    stores = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), src.element_type, num_bits_per_copy=128)
    each = cute.make_layout((1, said["bits"] // 16))
    load = cute.make_tiled_copy_tv(loads, cute.make_layout((said["threads"], 4), stride=(4, 1)), each)
    rows = cute.make_layout((16, 4), stride=(4, 1))
    store = cute.make_tiled_copy_tv(stores, rows, cute.make_layout((1, 8)))
    through_shared(src, dst, tile, load, store).launch(grid=(TILES, 1, 1), block=(said["block"], 1, 1))


shape = (ROWS * TILES, COLUMNS)
src = make_fake_tensor(
    cutlass.BFloat16, shape, stride=(said["outer"], said["inner"]), assumed_align=said["align"])
dst = make_fake_tensor(cutlass.BFloat16, shape, stride=(COLUMNS, 1), assumed_align=16)
cute.compile(host, src, dst)
"""
SLIPS = {
    "{}": None,
    "dict(wait=False)": "LC501",  # read while cp.async still copies
    "dict(pitch=36)": "LC101",  # a pad of 8 bytes under 16-byte copies
    "dict(down=1)": "LC102",  # the tile in the other major order
    "dict(pitch=24)": "LC210",  # rows that overlap
    "dict(bits=16)": "LC103",  # a width that cp.async does not have
    "dict(threads=12)": "LC211",  # threads that do not divide the tile
    "dict(block=128)": "LC212",  # more threads than the tiled copy has
    "dict(align=2)": "LC101",  # no promise of alignment
    "dict(outer=1, inner=ROWS * TILES)": "LC102",  # the caller's matrix is transposed
}


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("slip", "code"), SLIPS.items(), ids=[f"{code}-{slip}" for slip, code in SLIPS.items()]
)
def test_a_slip_is_told(
    slip: str, code: str | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script, found = tmp_path / "kernel.py", tmp_path / "found.jsonl"
    script.write_text(PROGRAM)
    status = run(["trace", "--no-launch", "--format", "json", "--output", str(found), str(script), slip])
    said = found.read_text()
    assert status == (0 if code is None else 1), capfd.readouterr().err + said
    assert code is None or f'"{code}"' in said
    assert [json.loads(line) for line in said.splitlines()]
