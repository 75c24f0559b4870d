"""Moves of elements, as byte addresses: those asked for (`Intent`) and those that happen (`Execution`).

`src[i, t, k]` and `dst[i, t, k]` are the absolute addresses (see addresses.py) of byte k of move i of thread
t, after the pointer's swizzle. Of a whole tile there is one "thread".
"""

from __future__ import annotations

from typing import NamedTuple

from layoutcheck.copies.offsets import IntArray

NOTHING = -1  # the address of an element that has no partner


class Intent(NamedTuple):
    """The element moves that were asked for.

    `pred[i]` is the offset, in elements of the predicate, that decides element i. `unmatched` counts
    elements, of one thread, that one side has and the other has not. With `zeros` a source of NOTHING asks
    for a zero (outside of a TMA copy's global tensor).
    """

    src: IntArray
    dst: IntArray
    unit_bits: int
    pred: IntArray | None = None
    unmatched: int = 0
    whole: bool = False
    zeros: bool = False


class Access(NamedTuple):
    """Memory instructions of one kind: `addresses[i, t]` is the byte address of the i-th of thread t.

    `op` is the PTX instruction without its type ("ld.global", "cp.async", "ldmatrix.x4"). Each access takes
    `width_bytes` from its address, a multiple of `multiple_bytes`. Where one side's accesses are wider than
    the other's, moves are as wide as the narrower and one wide access takes part in several.
    """

    op: str
    space: str
    width_bytes: int
    addresses: IntArray
    align_bytes: int = 0  # 0: its own width

    @property
    def multiple_bytes(self) -> int:
        """What each address must be a multiple of."""
        return self.align_bytes or self.width_bytes


class Execution(NamedTuple):
    """What instruction i of thread t moves: the contents of `src[i, t]` go to `dst[i, t]`.

    NOTHING as a source is a zero. Registers have moves but no accesses. `pred[i]` is the offset of the
    predicate element that guards instruction i; where it is false nothing happens, except that `cp.async`
    (`zero_fills`) writes zeros. `never` says that the predicate was folded to false. `fault` names the
    fault that an instruction raises for what it is asked, whatever its addresses. A pointer's swizzle acts on
    the first of every `chunk_bytes` of an operand; 0 where that is not known.
    """

    src: IntArray
    dst: IntArray
    unit_bits: int
    src_accesses: tuple[Access, ...] = ()
    dst_accesses: tuple[Access, ...] = ()
    pred: IntArray | None = None
    zero_fills: bool = False
    never: bool = False
    fault: str = ""
    chunk_bytes: int = 0

    @property
    def instructions(self) -> int:
        """Memory instructions of a thread, both sides, as the model counts them."""
        sides = (self.src_accesses, self.dst_accesses)
        counts = [sum(a.addresses.shape[0] for a in accesses) for accesses in sides]
        both_one = self.src_accesses and self.src_accesses[0].op.startswith("cp.async")
        return counts[0] if both_one else sum(counts)
