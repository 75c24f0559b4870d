"""The BF16 transpose load of NVIDIA/cutlass#2320, broken and repaired, and the transposes built from it."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from kernels.transpose.blocks import Blocks, build_blocks
from kernels.transpose.common import Kernel
from kernels.transpose.cp_async import (
    build_broken,
    build_broken_at_run_time,
    build_broken_silently,
    build_fp32_elementwise,
    build_match_layout,
)
from kernels.transpose.exchange import Exchange, build_exchange
from kernels.transpose.few_columns import FewColumns, build_few_columns
from kernels.transpose.few_rows import FewRows, build_few_rows
from kernels.transpose.flat import build_flat
from kernels.transpose.ldmatrix import build_ldmatrix_trans, build_swizzled
from kernels.transpose.narrow import build_narrow
from kernels.transpose.padded import Padded, build_padded
from kernels.transpose.registers import build_registers
from kernels.transpose.runs import Runs, build_runs
from kernels.transpose.shifted import Shifted, build_shifted
from kernels.transpose.staged import build_staged
from kernels.transpose.tma import build_tma
from kernels.transpose.whole import build_whole


class Variant(NamedTuple):
    """A kernel, the verdict layoutcheck must reach on it, why, and the oldest architecture it runs on.

    `most`: rows and columns of `x` that it takes at most.
    """

    builder: Callable[..., Kernel]
    verdict: str
    note: str
    arch: str = "sm_80"
    most: tuple[int, int] | None = None


VARIANTS = {
    "broken": Variant(
        build_broken,
        "rejected",
        "the report's copy: 8 elements 64 apart in shared memory, 16 bytes at a time",
    ),
    "broken_silently": Variant(
        build_broken_silently,
        "wrong",
        "every address aligned: 8 elements of a column land in one row, 7/8 stay unwritten",
    ),
    "broken_at_run_time": Variant(
        build_broken_at_run_time,
        "wrong",
        "only the first of 64 destinations is aligned: misaligned-address fault",
    ),
    "match_layout": Variant(
        build_match_layout,
        "slow",
        "strategy 1: shared memory ordered as global memory, 2-byte reads transpose",
    ),
    "fp32_elementwise": Variant(
        build_fp32_elementwise, "slow", "strategy 2: one 4-byte element a copy, the smallest cp.async"
    ),
    "staged": Variant(
        build_staged, "slow", "strategy 3: 16-byte loads to registers, 2-byte stores to shared memory"
    ),
    "ldmatrix_trans": Variant(
        build_ldmatrix_trans,
        "slow",
        "ldmatrix transposes on the way out of shared memory; 8-way bank conflicts",
    ),
    "swizzled": Variant(build_swizzled, "legal", "the same without conflicts"),
    "tma": Variant(
        build_tma, "legal", "bulk copies both ways, ldmatrix.trans and stmatrix in between", "sm_90"
    ),
    "narrow": Variant(build_narrow, "slow", "any strides: one 2-byte element an access, coalesced both ways"),
    "registers": Variant(build_registers, "legal", "8x8 blocks turned in registers, no shared memory"),
    "exchange": Variant(
        build_exchange, "legal", "8x8 blocks turned in registers, traded for whole lines both ways"
    ),
    "exchange_async": Variant(
        partial(build_exchange, Exchange(load="async")),
        "legal",
        "the best that layoutcheck.synthesize finds: cp.async, blocks turned on the way out",
    ),
    "shifted": Variant(
        partial(build_shifted, Shifted((56, 128), 8, 16, most=5, fetch=True)),
        "legal",
        "any pitch and base: aligned 16-byte chunks both ways, shifted in between",
    ),
    "few_rows": Variant(
        partial(build_few_rows, FewRows(33, 96, 6)),
        "slow",
        "33 rows: y as one run of 16-byte chunks; up to 3-way bank conflicts",
        most=(33, 2**31),
    ),
    "padded": Variant(
        partial(build_padded, Padded(33, 64, 32)),
        "slow",
        "33 rows, pads in y: whole sectors by chunks, the rest an element a lane",
        most=(33, 2**31),
    ),
    "few_columns": Variant(
        partial(build_few_columns, FewColumns(33)),
        "legal",
        "33 columns: x as one run of 16-byte chunks",
        most=(2**31, 33),
    ),
    "whole": Variant(
        build_whole,
        "slow",
        "a batch of small matrices: a block holds one, both sides as runs of chunks; 4-way bank conflicts",
        most=(77, 129),
    ),
    "blocks": Variant(
        partial(build_blocks, Blocks((4, 4))),
        "legal",
        "tiny matrices: 4x4 blocks turned in registers, 8-byte vectors both ways",
    ),
    "flat": Variant(build_flat, "legal", "one row or one column: a copy of 16-byte chunks", most=(1, 2**31)),
    "runs": Variant(
        partial(build_runs, Runs("columns", 5, 3, 2)),
        "legal",
        "5 columns: x as one run of 16-byte chunks, elements from whole sectors of y on",
        most=(2**31, 5),
    ),
}
