"""Kernels that may begin before the kernel in front of them has ended, and never wait for it.

A launch that allows programmatic stream serialization (`use_pdl=True`) lets a kernel begin early. What the
kernel in front of it writes is there behind griddepcontrol.wait only (PTX ISA, griddepcontrol; CUDA C++
Programming Guide, Programmatic Dependent Launch and Synchronization).
"""

from __future__ import annotations

from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.problems import Party, Problem
from layoutcheck.order.watched import Watched, first_thread
from layoutcheck.sources.mlir import Operation

_WAIT = "griddepcontrol"


def begins_early(kernel: WatchedKernel, block: Watched) -> list[Problem]:
    """The first read of global memory by such a kernel."""
    if not kernel.launch.early or any(map(_waits, kernel.operation.walk())):
        return []
    for event in block.events:
        if any(map(_reads_globally, event.meaning.all)):
            return [Problem("begins-early", Party(event, 0, first_thread(event, block)), None)]
    return []


def _waits(op: Operation) -> bool:
    """Whether an operation waits, or may: a function that is called is not looked into."""
    if op.name == "nvvm.griddepcontrol":
        return "wait" in op.attributes.get("kind", "")
    if op.name == "nvvm.griddepcontrol.wait" or op.name == "llvm.call":
        return True
    text = op.attributes.get("asm_string", "") + op.attributes.get("ptxCode", "")
    return _WAIT in text and ".wait" in text


def _reads_globally(meaning: Meaning) -> bool:
    return meaning.kind in ("cp_async", "bulk_load") or (meaning.kind == "read" and meaning.space == "gmem")
