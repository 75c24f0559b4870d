"""What intent and execution differ in beside bytes: types, a barrier's count, lanes and bounds.

A copy may put every byte where it belongs and still be wrong: the destination reads the bits as another type,
a barrier waits for bytes that never come, a warp reaches lanes that it does not own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from layoutcheck.analysis.comparison.kinds import Observable, Offender
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.moves import Execution, Intent
from layoutcheck.copies.opaque import OtherOperand


def observe(
    copy: Copy, intent: Intent, execution: Execution, src_base: int, dst_base: int
) -> dict[str, Observable]:
    """What differs, by name, for the static `copy` that both were made of, at the same bases."""
    found: dict[str, Observable] = {}
    if isinstance(copy.src, OtherOperand) or isinstance(copy.dst, OtherOperand):
        return found
    if reinterpreted(copy):
        found["type"] = Observable(str(copy.src.dtype), str(copy.dst.dtype))
    atom = copy.atom
    if atom is None:
        return found
    if counts_bytes(copy):
        told = None if copy.issue is None else copy.issue.expect_bytes
        arriving, asked = arriving_bytes(execution), asked_bytes(intent)
        if arriving != (told or asked):
            found["barrier"] = Observable(told or asked, arriving)
    if atom.completion == "barrier":  # under a predicate, too: another block's barrier gets none of the bytes
        cluster = copy.cluster
        waits = None if cluster is None or cluster.outside else cluster.waits_rank
        if cluster is not None and waits is not None and waits not in cluster.named:
            found["waiting"] = Observable(waits, cluster.named[0])
    if atom.rules == "tmem":
        found |= _tensor_memory(copy, execution, src_base, dst_base)
    return found


def reinterpreted(copy: Copy) -> bool:
    """Whether the types have one width and mean different values by the same bits.

    The coordinates that TMA takes in place of a tensor have none of the tensor's.
    """
    if isinstance(copy.src, OtherOperand) or isinstance(copy.dst, OtherOperand):
        return False
    src, dst = copy.src.dtype, copy.dst.dtype
    return src != dst and src.bits == dst.bits and not src.kind == dst.kind == "int"


def counts_bytes(copy: Copy) -> bool:
    """Whether a barrier counts the copy's bytes, none of which is switched off by a predicate."""
    atom = copy.atom
    return atom is not None and atom.completion == "barrier" and copy.pred is None and not _gaps(copy)


def arriving_bytes(execution: Execution, live: npt.NDArray[np.bool_] | None = None) -> int:
    """Bytes that all issuing threads' instructions, or the `live` ones, report to the barrier."""
    units = execution.target.size if live is None else execution.dst[live].size
    return int(units * execution.unit_bits // 8)


def asked_bytes(intent: Intent) -> int:
    """Bytes that the layouts ask for."""
    return int(intent.target.size * intent.unit_bits // 8)


def _gaps(copy: Copy) -> bool:
    """Whether a tensor map leaves gaps in shared memory: no document says whether a barrier counts them."""
    if copy.tma is None:
        return False
    from layoutcheck.atoms.tma.descriptor import gapped  # of whole tensors alone
    from layoutcheck.atoms.tma.internal import tensor_format

    return gapped(tensor_format(copy.src.dtype, copy.tma.internal))


def _tensor_memory(copy: Copy, execution: Execution, src_base: int, dst_base: int) -> dict[str, Observable]:
    """Lanes and columns reached, relative to the base of the view (of the whole tile, with a tiling)."""
    from layoutcheck.atoms.tmem import COLUMNS, LANES, WARP_LANES, TensorMemoryAtom, TmemCopy
    from layoutcheck.atoms.tmem.addresses import offset_bits, touched

    assert isinstance(copy.atom, TensorMemoryAtom)
    found: dict[str, Observable] = {}
    lane, column = touched(copy.atom, execution, src_base, dst_base)
    if isinstance(copy.atom, TmemCopy):
        warps = np.arange(lane.shape[1]) // WARP_LANES % (LANES // WARP_LANES)
        owned = (warps * WARP_LANES * (copy.tiling is not None))[None, :, None]
        strange = (lane < owned) | (lane >= owned + WARP_LANES)
        strange &= (lane >= 0) & (lane < LANES)  # an address that is none at all is out of bounds
        if strange.any():
            instruction, thread, _ = (int(i) for i in np.argwhere(strange)[0])
            first = Offender(thread, instruction)
            found["lanes"] = Observable(int(owned[0, thread, 0]), int(lane[strange][0]), first)
    outside = (lane < 0) | (lane >= LANES) | (column >= COLUMNS)
    odd = offset_bits(copy, copy.atom) % 32 != 0  # no whole column: misaligned, wherever it is
    outside[odd[: outside.shape[0]]] = False
    if outside.any():
        instruction, thread, _ = (int(i) for i in np.argwhere(outside)[0])
        place = int(lane[outside][0]), int(column[outside][0])
        found["bounds"] = Observable((LANES, COLUMNS), place, Offender(thread, instruction))
    return found
