"""`TensorMemory`: a block's tensor memory, who reads what nothing wrote, and who does not reach a lane."""

from __future__ import annotations

import numpy as np

from layoutcheck.atoms.tmem import WARP_LANES
from layoutcheck.dsl.lowered.record import Mask
from layoutcheck.provenance.deeds import Deed
from layoutcheck.provenance.refs import FLAGS, GLOBAL, UNKNOWN, Array
from layoutcheck.sources.mlir import Operation

LANES, COLUMN_BYTES = 128, 4 * 512  # PTX ISA, Tensor Memory
_WARPS = LANES // WARP_LANES


class TensorMemory:
    """`labels` and `begun` are (lanes, bytes): what is there, and whether something has written it.

    `bare` are the stores to global memory of what nothing has written: the load of it, the first thread, and
    how many bytes. `foreign` are the loads and stores by warps that do not reach the lane: (thread, lane).
    """

    def __init__(self, references: int, begun: bool) -> None:
        self.labels = np.zeros((LANES, COLUMN_BYTES), np.int64)
        self.begun = np.full((LANES, COLUMN_BYTES), begun)
        self.bare: dict[Operation, tuple[Operation, int, int]] = {}
        self.foreign: dict[Operation, tuple[int, int]] = {}
        self._loads: list[Operation] = []
        self._unset = np.zeros(references, np.int32)  # of each reference: the load that found it so, from 1

    def load(self, deed: Deed, active: Mask) -> Array | None:
        """The labels that come into the registers of threads; None beyond the last column."""
        rows, lanes, bytes_ = self._cells(deed, active)
        if not bytes_.size or int(bytes_.max()) >= COLUMN_BYTES:
            return None
        unset = ~self.begun[lanes, bytes_]
        if unset.any():
            self._loads.append(deed.op)
            index = deed.base + rows[:, None] * deed.width + np.arange(deed.width)
            self._unset[index[unset]] = len(self._loads)
        return self.labels[lanes, bytes_]

    def store(self, deed: Deed, active: Mask, labels: Array) -> bool:
        """Whether labels of threads' registers could be put in their places."""
        _, lanes, bytes_ = self._cells(deed, active)
        if not bytes_.size or int(bytes_.max()) >= COLUMN_BYTES:
            return False
        self.labels[lanes, bytes_] = labels
        self.begun[lanes, bytes_] = True
        return True

    def forget(self) -> None:
        """Something was written anywhere."""
        self.labels[:] = UNKNOWN
        self.begun[:] = True

    def unset(self, refs: Array) -> Array | None:
        """Which references are those of bytes that nothing had written; None if none is."""
        pending = ((refs & ~FLAGS) > 0) & ((refs & ~FLAGS) < GLOBAL)
        last = len(self._unset) - 1
        found = self._unset[np.where(pending, np.minimum(refs & ~FLAGS, last), 0)]
        return found != 0 if found.any() else None

    def stored(self, op: Operation, refs: Array) -> None:
        """A store puts what is referred to into global memory."""
        unset = self.unset(refs)
        if unset is not None and op not in self.bare:
            first = int(refs[unset][0]) & ~FLAGS
            thread = int(np.flatnonzero(unset.any(1))[0])
            self.bare[op] = self._loads[int(self._unset[first]) - 1], thread, int(unset.sum())

    def _cells(self, deed: Deed, active: Mask) -> tuple[Array, Array, Array]:
        """Threads, and the lanes and bytes that their registers' bytes have.

        A warp has one address. Where its threads give others, the first one's is taken: in CUTLASS'
        mixed_input_fmha_prefill_d512 each gives its own lane.
        """
        rows = np.flatnonzero(active)
        at = np.broadcast_to(np.asarray(deed.at, np.int64), active.shape)[rows - rows % WARP_LANES, None]
        lanes, bytes_ = deed.facts["cells"] or (np.zeros((WARP_LANES, 1), np.int64),) * 2
        lanes = (at >> 16) + lanes[rows % WARP_LANES]
        own = (rows // WARP_LANES % _WARPS)[:, None]
        away = lanes // WARP_LANES != own
        if away.any() and deed.facts["cells"]:
            thread, column = (int(i[0]) for i in np.nonzero(away))
            self.foreign.setdefault(deed.op, (int(rows[thread]), int(lanes[thread, column])))
        return rows, lanes % LANES, 4 * (at & 0xFFFF) + bytes_[rows % WARP_LANES]
