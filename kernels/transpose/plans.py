"""The plans that `transpose` chooses from."""

from __future__ import annotations

from typing import Any

from kernels.transpose.common import Kernel
from kernels.transpose.exchange import Exchange, build_exchange
from kernels.transpose.narrow import Narrow, build_narrow
from kernels.transpose.registers import BLOCK, Plan, build_registers
from kernels.transpose.ribbon import FEW, Ribbon, build_ribbon
from kernels.transpose.shifted import Shifted, build_shifted

CHUNK_BYTES = 2 * BLOCK
"""Bytes of the widest access."""

AnyPlan = Plan | Exchange | Shifted | Ribbon | Narrow

PLANS: dict[str, AnyPlan] = {
    "registers 1x1": Plan((8, 4), (1, 1), 0, "no_allocate", "streaming"),
    "registers 1x2": Plan((8, 4), (1, 2), 0, "no_allocate", "streaming"),
    "registers 2x4 last": Plan((8, 4), (2, 4), 0, "evict_last", "plain"),
    "exchange 64x64": Exchange((64, 64), 0, "no_allocate", "streaming"),
    "exchange 128x64": Exchange((128, 64), 0, "no_allocate", "streaming"),
    "exchange 128x128": Exchange((128, 128), 0, "no_allocate", "streaming"),
    "exchange 128x128 last": Exchange((128, 128), 0, "evict_last", "plain"),
    "exchange 128x128 last 256": Exchange((128, 128), 0, "evict_last", "plain", 256),
    "exchange 128x128 last first": Exchange((128, 128), 0, "evict_last", "evict_first"),
    "exchange 128x128 plain first": Exchange((128, 128), 0, "plain", "evict_first"),
    "exchange 128x256 last": Exchange((128, 256), 0, "evict_last", "plain"),
    "exchange 256x128 last": Exchange((256, 128), 0, "evict_last", "plain"),
    "shifted 32x64 2": Shifted((32, 64), 2, 8),
    "shifted 64x64 4": Shifted((64, 64), 4, 8),
    "shifted 64x128 4": Shifted((64, 128), 4, 8),
    "shifted 64x128 4 stream": Shifted((64, 128), 4, 8, "streaming"),
    "shifted 64x128 4 first": Shifted((64, 128), 4, 8, "evict_first"),
    "shifted 64x128 8": Shifted((64, 128), 8, 8),
    "shifted 64x128 4 by 16": Shifted((64, 128), 4, 16),
    "shifted 64x256 4 by 16": Shifted((64, 256), 4, 16),
    "shifted 64x256 8 by 32": Shifted((64, 256), 8, 32),
    "shifted 128x128 8": Shifted((128, 128), 8, 8),
    "shifted 128x128 8 by 16": Shifted((128, 128), 8, 16),
    "shifted 128x256 8 by 16": Shifted((128, 256), 8, 16),
    "shifted 128x64 4": Shifted((128, 64), 4, 8),
    "ribbon rows": Ribbon("rows"),
    "ribbon rows 256": Ribbon("rows", 256, 128),
    "ribbon rows 1024": Ribbon("rows", 1024, 256),
    "ribbon columns": Ribbon("columns"),
    "ribbon columns 256": Ribbon("columns", 256, 128),
    "ribbon columns 1024": Ribbon("columns", 1024, 256),
    "narrow": Narrow(),
}


def build(plan: AnyPlan) -> Kernel:
    """The kernel of `plan`."""
    if isinstance(plan, Plan):
        return build_registers(plan)
    if isinstance(plan, Exchange):
        return build_exchange(plan)
    if isinstance(plan, Ribbon):
        return build_ribbon(plan)
    return build_shifted(plan) if isinstance(plan, Shifted) else build_narrow(plan)


def candidates(x: Any, y: Any) -> list[AnyPlan]:
    """The plans that fit these two; `narrow` only if no other does."""
    found = [plan for plan in PLANS.values() if fits(plan, x, y)]
    return found[:-1] or found


def fits(plan: AnyPlan, x: Any, y: Any) -> bool:
    """Whether the kernel of `plan` takes these two."""
    if isinstance(plan, Narrow):
        return True
    if x.stride(-1) != 1 or y.stride(-1) != 1:
        return False
    if isinstance(plan, Ribbon):
        thin, whole = (x.shape[-2], y) if plan.few == "rows" else (x.shape[-1], x)
        return x.dim() == 2 and thin <= FEW and whole.stride(0) == thin and x.numel() < 2**31
    return isinstance(plan, Shifted) or (whole_chunks(x) and whole_chunks(y))


def whole_chunks(t: Any) -> bool:
    """Whether every 8th element of a row starts a 16-byte vector."""
    pitches = [t.stride(mode) for mode in range(t.dim() - 1)]
    return t.data_ptr() % CHUNK_BYTES == 0 and all(pitch % BLOCK == 0 for pitch in pitches)
