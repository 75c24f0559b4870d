"""`Execution`: what the machine does, as byte addresses."""

from __future__ import annotations

from dataclasses import dataclass

from layoutcheck.copies.offsets import IntArray


@dataclass(frozen=True, slots=True)
class Access:
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


@dataclass(frozen=True, slots=True)
class Execution:
    """`src[i, t, k]` is the address whose contents instruction i of thread t puts at `dst[i, t, k]`.

    Addresses count units of `unit_bits` (8, or 4 for 4-bit types); NOTHING as a source is a zero. Registers
    are private: thread t's begin at `PRIVATE * t` (see intent.py); they have moves but no accesses. `pred[i]`
    is the offset of the predicate element that guards instruction i; where it is false nothing happens,
    except that `cp.async` (`zero_fills`) writes zeros. `never` says that the predicate was folded to false.
    `fault` names the fault that an instruction raises for what it is asked, whatever its addresses.
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

    @property
    def instructions(self) -> int:
        """Memory instructions of a thread, both sides, as the model counts them."""
        sides = (self.src_accesses, self.dst_accesses)
        counts = [sum(a.addresses.shape[0] for a in accesses) for accesses in sides]
        both_one = self.src_accesses and self.src_accesses[0].op.startswith("cp.async")
        return counts[0] if both_one else sum(counts)
