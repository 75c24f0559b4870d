"""What may order accesses of global memory, beside barriers: PTX ISA, Memory Consistency Model."""

from __future__ import annotations

import re

from layoutcheck.dsl.lowered.evaluate import KERNELS
from layoutcheck.sources.mlir import Operation

_FENCE = re.compile(r"(?:nvvm|llvm)\.(?:membar|fence|memory\.barrier)")
_NO_FENCE = re.compile(r"proxy|mbarrier")
_NARROW = re.compile(r"proxy|mbarrier|cta|block|cluster")  # fences of less than the GPU
_WORDS = re.compile(r"acquire|release|acq_rel|seq_cst|\bsc\b")
_NUMBER = re.compile(r"^([0-9]+)\b")
_INLINE = re.compile(r"\b(?:acquire|release|acq_rel|membar|fence\.(?:sc|acq)|volatile|mmio)\b")
FENCES, PAIRS = "a fence", "release and acquire"
_ORDERING = 4  # LLVM's atomic orderings from here on: acquire, release, acq_rel, seq_cst


def ordering(within: Operation, block: bool = False) -> str:
    """What may order threads beside barriers, in the kernel of an operation; "" for nothing.

    Release and acquire, or a fence: of the GPU, or any for threads of one `block`.
    """
    left_out = _NO_FENCE if block else _NARROW
    words = set[str]()
    for op in within.outer(*KERNELS).walk():
        if not op.name.startswith(("nvvm.", "llvm.")):
            continue
        if _INLINE.search(op.attributes.get("asm_string", "") or op.attributes.get("ptxCode", "")):
            return "inline PTX"
        if op.name == "llvm.load" and "volatile_" in op.attributes:
            return "a volatile load"
        given = " ".join(value for key, value in op.attributes.items() if "order" in key.lower())
        if _FENCE.match(op.name) and not left_out.search(" ".join((op.name, *op.attributes.values()))):
            return FENCES
        words.update(_WORDS.findall(given))
        words.update("both" for number in _NUMBER.findall(given) if int(number) >= _ORDERING)
    if words & {"acq_rel", "sc", "seq_cst", "both"} or {"acquire", "release"} <= words:
        return PAIRS
    return ""
