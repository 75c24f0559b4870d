"""What ncu should count of a synthesised plan's tiles, and what it counted.

The prediction is that of `machine.banks`, `machine.cp_async` and `machine.sectors` at the addresses of the
launched tensors: tiles start at every multiple of their extent, so lines are cut as they lie in memory.
"""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np

METRICS = {
    "shared_load": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "matrix_load": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum",
    "matrix_store": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm.sum",
    "cp_async": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
    "contended_load": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "contended_store": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "sass_ldgsts": "smsp__sass_inst_executed_op_ldgsts.sum",
    "registers": "launch__registers_per_thread",
    "inst_executed": "smsp__inst_executed.sum",
    "sectors_read": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "sectors_written": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l2_read": "lts__t_sectors_op_read.sum",
    "dram_read": "dram__bytes_read.sum",
}
PREDICTED = (
    "shared_load", "shared_store", "matrix_load", "matrix_store", "cp_async", "sectors_read",
    "sectors_written",
)  # fmt: skip
LINE = 128


def predicted(plan: Any, extents: tuple[int, int]) -> dict[str, float]:
    """Wavefronts and sectors of a tile, and its cp.async instructions, on average over all tiles."""
    from layoutcheck.analysis import Analysis
    from layoutcheck.synthesis.copies import steps_of

    wanted = plan.wanted
    tensors = {name: _launched(getattr(wanted, name), extents) for name in ("src", "dst")}
    total = dict.fromkeys((*PREDICTED, "instructions"), 0.0)
    for move in steps_of(plan.found, replace(wanted, **tensors), numbers=True):
        for step in move:
            cost = Analysis(step.copy).cost if step.role not in ("turn", "tma load", "tma store") else None
            if cost is not None:
                for name, value in _counts(cost, wanted).items():
                    total[name] += value
    return total


def _launched(tensor: Any, extents: tuple[int, int]) -> Any:
    """The tensor with the strides that it is launched with."""
    from layoutcheck.algebra.layout import Layout

    if tensor is None:
        return None
    fast = tensor.layout.stride.index(1)
    strides = (1, extents[0]) if fast == 0 else (extents[1], 1)
    return tensor.with_layout(Layout(extents, strides))


def _counts(cost: Any, wanted: Any) -> dict[str, float]:
    found: dict[str, float] = {}
    sides = {side.side: side for side in cost.sides}
    if any(side.op.startswith("cp.async") for side in cost.sides):
        return _cp_async(sides["src"], sides["dst"], _starts(wanted.src, wanted.tile))
    for name, side in sides.items():
        if side.space == "smem":
            kind = "matrix" if "matrix" in side.op else "shared"
            found[f"{kind}_{'load' if name == 'src' else 'store'}"] = side.wavefronts
        elif side.space == "gmem":
            found["sectors_read" if name == "src" else "sectors_written"] = _sectors(
                side, _starts(wanted.src if name == "src" else wanted.dst, wanted.tile)
            )
    return found


def _starts(tensor: Any, tile: tuple[int, int]) -> list[int]:
    """The bytes past a line at which tiles start: each equally often, for a pitch of whole lines."""
    run = tile[tensor.layout.stride.index(1)] * tensor.element_bytes
    return [n * run % LINE for n in range(LINE // math.gcd(LINE, run))]


def _sectors(side: Any, starts: list[int]) -> float:
    from layoutcheck.machine.sectors import sectors

    at = side.addresses
    moved = (np.where(at < 0, at, at + start) for start in starts)
    return sum(int(sectors(one, side.width_bits).sectors.sum()) for one in moved) / len(starts)


def _cp_async(src: Any, dst: Any, starts: list[int]) -> dict[str, float]:
    from layoutcheck.machine.cp_async import bypass, cached

    spent = fetched = 0
    for start in starts:
        for to, frm in zip(dst.addresses, src.addresses, strict=True):
            lanes = (
                [None if at < 0 else int(at) for at in to],
                [None if at < 0 else int(at) + start for at in frm],
            )
            one = bypass(*lanes) if dst.op.endswith(".cg") else cached(*lanes, src.width_bits)
            spent, fetched = spent + one.wavefronts, fetched + one.sectors
    return {
        "cp_async": spent / len(starts),
        "sectors_read": fetched / len(starts),
        "instructions": float(len(src.addresses)),
    }


def counters(printed: str) -> dict[str, dict[str, float]]:
    """ncu's counters by the plan's name."""
    table = list(csv.DictReader(io.StringIO("\n".join(x for x in printed.splitlines() if x.startswith('"')))))
    found: dict[str, dict[str, float]] = {}
    for row in table:
        name = re.search(r"plan_[0-9]{3}", row.get("Kernel Name") or "")
        if name is None:
            continue
        found[name[0]] = {
            key: float(row[metric].replace(",", ""))
            for key, metric in METRICS.items()
            if _is_number(row.get(metric))
        }
    return found


def _is_number(text: str | None) -> bool:
    return text is not None and re.fullmatch(r"[0-9.,]+", text) is not None
