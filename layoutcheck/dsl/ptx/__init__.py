"""Reading PTX: what the memory instructions of a kernel do to memory, run for one thread.

The interpreter executes straight-line and branching integer code on concrete addresses, while the data that
is loaded stays symbolic: every bit read from a tensor is a name, `(space, bit address)`, that follows the
data through packing, shifts and permutes until it is stored. So the result says which source bit reaches
which destination bit, and in which accesses, for whatever register shuffling the compiler chose.

    trace = run(ptx, params={"kernel_param_0": ...})
    trace.accesses       every executed memory instruction: name, direction, width, byte address
    trace.memory         final contents: (space, byte address) -> 8 bits, each 0, 1 or a name

One thread runs. Register n of a `tcgen05.ld` at tensor-memory address a holds ("tmem", 32 * (256a + n) +
bit); tcgen05.st and cp store nothing and are recorded, as every access of tensor memory is, with the
address in its columns and the immediate or descriptor operand. Register n of an `ldmatrix` at address a
holds the names ("matrix", 32 * (4a + n) + bit); `stmatrix` stores nothing but records the registers it
was given. `cp.async` is executed at once. Kernel parameters are given as bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from layoutcheck.dsl.ptx.bits import Bit
from layoutcheck.dsl.ptx.text import PARAMETER
from layoutcheck.dsl.ptx.thread import TensorMemoryAccess, Thread, ThreadAccess, ThreadRun

__all__ = ["TensorMemoryAccess", "ThreadAccess", "ThreadRun", "parameters", "run"]


def parameters(ptx: str) -> list[str]:
    """The names of the kernel's parameters, in order."""
    return PARAMETER.findall(ptx[: ptx.find("{")])


def run(
    ptx: str,
    params: dict[str, bytes],
    read_bit: Callable[[str, int], Bit] = lambda space, address: (space, address),
) -> ThreadRun:
    """Execute the kernel in `ptx` for one thread.

    `params` holds the bytes of each parameter by name; `read_bit(space, bit address)` says what memory holds
    that was never written ("global", "shared" or "generic"). Raises InputError for an instruction it does
    not know and for runaway loops.
    """
    return Thread(ptx, params, read_bit).run()
