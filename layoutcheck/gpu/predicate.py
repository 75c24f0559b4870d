"""The predicate that each thread of a job is given, and which moves it lets through.

Every thread has its own, as kernels do that guard the edge of a tile: false for what lies past it. The other
entries are false now and then where that shows something: every third, and not the same of every thread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from layoutcheck.algebra.integers import round_up
from layoutcheck.copies.atom import WarpAtom
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.moves import Execution, Intent
from layoutcheck.copies.offsets import IntArray, offsets
from layoutcheck.copies.plan import pred_of_elements
from layoutcheck.copies.tails import excess
from layoutcheck.gpu.images import FAR_BYTES, SHARED, NotRunnable

BoolArray = npt.NDArray[np.bool_]
_APART_BYTES = 64  # between the entries of two threads: no promise of alignment is larger in the DSL's rmem


@dataclass(frozen=True, slots=True)
class Predicate:
    """`truth[t, i]` is entry i of thread t, whose entries begin at byte `t * pitch_bytes` of `image`.

    `beyond[e, t]` says that element e of thread t is past the tile's edge; None where none is.
    """

    truth: BoolArray
    image: bytes = b""
    pitch_bytes: int = 0
    beyond: BoolArray | None = None

    def lets(self, pred: IntArray | None, moves: IntArray, never: bool = False) -> BoolArray:
        """Which of the moves [move, thread, ...] happen, by [move, thread]; `pred` has the entry of each."""
        if never or pred is None:
            return np.full(moves.shape[:2], not never)
        return self.truth[: moves.shape[1], pred.reshape(-1)].T


def predicate_of(
    copy: Copy, instance: Copy, done: Execution, asked: Intent, mixed: bool, alone: IntArray | None = None
) -> Predicate:
    """The predicates of a copy's threads.

    Where not `mixed`, all entries within the tile are true, so that nothing that goes wrong is switched off.
    Else some are, or the entries `alone`.
    Raises NotRunnable for a predicate in shared memory, or too large.
    """
    threads = max(done.src.shape[1], asked.src.shape[1])  # a block may be smaller than what its tile asks for
    if copy.pred is None or instance.pred is None:
        return Predicate(np.ones((threads, 0), dtype=np.bool_))
    if copy.pred.space in SHARED:
        raise NotRunnable("predicates in shared memory are not run")
    named = [offsets(instance.pred.layout)]
    named += [p.reshape(-1) for p in (done.pred, asked.pred) if p is not None]
    everything = np.unique(np.concatenate(named))
    if everything.min() < 0 or everything.max() > FAR_BYTES:
        raise NotRunnable(f"the predicate {copy.pred.layout} is too large")
    count = int(everything.max()) + 1
    truth = np.ones((threads, count), dtype=np.bool_)
    warps = isinstance(copy.atom, WarpAtom)  # all lanes issue such an instruction, or none
    if mixed:
        number = np.arange(count) + np.arange(threads)[:, None] * (not warps)
        truth = number % 3 != 1 if alone is None else np.tile(np.isin(np.arange(count), alone), (threads, 1))
    entries, beyond = pred_of_elements(instance), excess(instance, threads)
    if entries is None or beyond is None or warps or done.pred is None or entries.size != beyond.shape[0]:
        beyond = None
    else:
        beyond = beyond.copy()
        for entry in np.unique(entries):
            guards = entries == entry
            off = beyond[guards].all(axis=0)
            truth[:, entry] &= ~off
    image, pitch = _image(copy, truth)
    return Predicate(truth, image, pitch, beyond)


def _image(copy: Copy, truth: BoolArray) -> tuple[bytes, int]:
    """All threads' entries as memory holds them."""
    assert copy.pred is not None
    width = max(1, copy.pred.dtype.bits // 8)
    if copy.pred.dtype.kind == "float":
        one = np.array([1.0], dtype=np.float32).tobytes()[4 - width :] if width <= 4 else b"\1" * width
    else:
        one = (1).to_bytes(width, "little")
    rows = [b"".join(one if entry else b"\0" * width for entry in row) for row in truth.tolist()]
    apart = max(_APART_BYTES, copy.pred.proved_align_bytes)
    pitch = round_up(len(rows[0]), apart)
    return b"".join(row.ljust(pitch, b"\0") for row in rows), pitch
