"""What each line of a kernel's source costs in shared and global memory, by the lowered addresses.

No copy has to be understood for this: the instructions are the compiler's, their addresses evaluated, and the
models of banks and sectors count them (machine/banks.py, machine/sectors.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from layoutcheck.analysis.cost import SideCost, cost
from layoutcheck.copies.moves import Execution, Places
from layoutcheck.dsl.lowered import Lowered
from layoutcheck.dsl.lowered.lowered_op import LoweredOp, memory_accesses
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import WARP, parse_arch
from layoutcheck.sources.traced import Frame

NOWHERE = Frame("", 0)
_NOWHERE = Places(np.empty((0, 0), np.int64), 0)


@dataclass(frozen=True, slots=True)
class LineCost:
    """One side of what a line does: `side` has the counts of one execution by the whole block.

    `count` operations of the line (of `kernels`) do the same. `kind` is that of their addresses, `reached`
    False where block 0 never comes by.
    """

    where: Frame
    operation: str
    side: SideCost
    kind: str
    kernels: tuple[str, ...]
    count: int = 1
    reached: bool = True

    @property
    def extra_wavefronts(self) -> int:
        """Passes through shared memory beyond what as many bytes need."""
        return self.side.wavefronts - self.side.ideal_wavefronts


def line_costs(lowered: Lowered, arch: str, place: Callable[[str], Sequence[Frame]]) -> list[LineCost]:
    """Every side in shared or global memory of a module's operations, alike ones of a line together.

    `lowered` is what the passes made of the module; `place` tells where a tag stands. By file and line.
    Raises InputError where the architecture is unknown.
    """
    found: list[LineCost] = []
    for kernel in lowered.kernels:
        for tag, op in kernel.lowered_ops.items():
            where, name = next(iter(place(tag)), NOWHERE), tag.partition("#")[0]
            found += [
                LineCost(where, name, side, op.kind, (kernel.name,), 1, op.reached)
                for side in side_costs(op, arch)
            ]
    return merged(found)


def merged(costs: Iterable[LineCost]) -> list[LineCost]:
    """Equal costs of one line counted together, sorted by file and line, the most ways first."""
    groups: dict[object, LineCost] = {}
    for one in costs:
        side = one.side
        key = (
            one.where, one.operation, side.side, side.op, side.space, side.width_bits, side.instructions,
            side.wavefronts, side.ideal_wavefronts, side.ways, side.sectors, side.ideal_sectors, one.kind,
        )  # fmt: skip
        known = groups.get(key)
        if known is None:
            groups[key] = one
        else:
            kernels = tuple(dict.fromkeys((*known.kernels, *one.kernels)))
            reached = known.reached or one.reached
            groups[key] = replace(known, count=known.count + one.count, kernels=kernels, reached=reached)
    return sorted(groups.values(), key=lambda c: (c.where.file, c.where.line, -c.side.ways, c.side.op))


def side_costs(op: LoweredOp, arch: str) -> Iterator[SideCost]:
    """The sides of one execution of an operation that lie in shared or global memory, with their counts."""
    widest = parse_arch(arch).widest_access_bits // 8
    bypass = any(access.op == "cp.async.cg" for access in op.accesses)
    src, dst = memory_accesses(op.once, op.threads, widest, joined=True)
    if not src and not dst:
        return
    if op.threads % WARP and any("matrix" in access.op for access in (*src, *dst)):
        return
    try:
        whole = cost(Execution(_NOWHERE, _NOWHERE, 8, src, dst), arch, bypass)
    except InputError:  # an access of a width that no instruction has
        return
    for side in whole.sides:
        if side.space in ("smem", "dsmem", "gmem", "generic") and (side.addresses >= 0).any():
            yield side
