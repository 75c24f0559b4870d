"""Which values of a kernel are made of the block's index, and whether control comes by an operation by it."""

from __future__ import annotations

from layoutcheck.dsl.lowered.needed import Needed, terminator
from layoutcheck.sources.mlir import Block, Operation, Value

_INDEX = ("nvvm.read.ptx.sreg.ctaid", "nvvm.read.ptx.sreg.clusterid", "nvvm.read.ptx.sreg.cluster.cta")


class ByBlock:
    """`values` are those made of the block's index, through loops, branches and registers in memory."""

    def __init__(self, kernel: Operation, needed: Needed) -> None:
        self.values: set[Value] = set()
        self._arrays: set[Operation | None] = set()  # registers in memory; None: any of them
        self._needed = needed
        before = (-1, -1)
        while before != (len(self.values), len(self._arrays)):
            before = (len(self.values), len(self._arrays))
            for op in kernel.walk():
                self._follow(op)

    def guards(self, op: Operation) -> bool:
        """Whether it rests on the block's index how often control comes by an operation."""
        return any(value in self.values for around in op.around() for value in _deciding(around))

    def _follow(self, op: Operation) -> None:
        if op.name.startswith(_INDEX):
            self.values.update(op.results)
            return
        if op.name == "scf.for":
            block = op.regions[0].blocks[0]
            if any(value in self.values for value in op.operands[:3]):
                self.values.update((block.arguments[0], *op.results))
            self._hand(op.operands[3:], block.arguments[1:])
            self._hand(terminator(block).operands, block.arguments[1:])
            self._hand(block.arguments[1:], op.results)
            return
        if op.name == "scf.while":
            first, second = (region.blocks[0] for region in op.regions)
            ends = terminator(first).operands
            self._hand(op.operands, first.arguments)
            self._hand(terminator(second).operands, first.arguments)
            self._hand(ends[1:], second.arguments)
            self._hand(ends[1:], op.results)
            if ends and ends[0] in self.values:
                self.values.update(op.results)
            return
        if op.regions:
            if any(value in self.values for value in op.operands):
                self.values.update(op.results)
            for block in (block for region in op.regions for block in region.blocks[-1:]):
                self._hand(terminator(block).operands, op.results)
            return
        made = any(value in self.values for value in op.operands)
        if op.name == "llvm.store" and made:
            base = self._needed.base(op.operands[1])
            if base is not False:
                self._arrays.add(base if isinstance(base, Operation) else None)
        if op.name == "llvm.load" and not made and self._arrays:
            base = self._needed.base(op.operands[0])
            made = base is not False and (None in self._arrays or base is None or base in self._arrays)
        if made:
            self.values.update(op.results)

    def _hand(self, values: list[Value], others: list[Value]) -> None:
        self.values.update(
            other for value, other in zip(values, others, strict=False) if value in self.values
        )


def _deciding(op: Operation) -> list[Value]:
    """What decides how often the regions of an operation run."""
    if op.name in ("scf.if", "scf.index_switch"):
        return list(op.operands[:1])
    if op.name == "scf.for":
        return list(op.operands[:3])
    if op.name == "scf.while":
        first: Block = op.regions[0].blocks[0]
        return list(terminator(first).operands[:1])
    return []
