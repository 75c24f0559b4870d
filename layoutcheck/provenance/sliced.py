"""`Slice`: the operations that decide what the readers of suspects find in registers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from layoutcheck.dsl.lowered.needed import DATA, NUMBER, Needed
from layoutcheck.dsl.lowered.types import SHARED, parse_type
from layoutcheck.provenance.gaps import meets
from layoutcheck.provenance.labels import hands_on
from layoutcheck.provenance.matrix import accumulator_count, is_product, is_wgmma, scale_of
from layoutcheck.provenance.suspects import Suspects, stored_by
from layoutcheck.sources.mlir import Operation, integers
from layoutcheck.sources.mlir import Value as SsaValue


class Slice(Needed):
    """What is needed to follow data: operands of arithmetic as data, conditions and addresses as numbers."""

    def __init__(self, kernel: Operation, suspects: Suspects) -> None:
        self._followed: set[Operation] = set()
        self._suspects = suspects.values
        roots: list[Any] = [(op, *_operands(op)) for op in suspects.readers]
        roots += [(op, [], []) for op in kernel.walk() if suspects.timed and meets(op)]
        super().__init__(kernel, roots)

    def _trace(self, value: SsaValue) -> None:
        op = value.definition
        if self.levels[value] == DATA and value not in self._suspects:
            return  # it is written
        if self.levels[value] == NUMBER or op is None or op.regions:
            super()._trace(value)
        elif op.name == "llvm.load":
            base = self.base(op.operands[0])
            if base is not False or parse_type(op.operands[0].type).space == SHARED:
                self._keep(op)
                self._mark(op.operands[0], NUMBER)
            for array in self._stores if base is None else () if base is False else (base,):
                self._follow(array)
        elif hands_on(op):
            self._keep(op)
            apart = _apart(op)
            for operand in op.operands:
                self._mark(operand, NUMBER if operand in apart else DATA)

    def _follow(self, array: Any) -> None:
        """The labels in an array are needed: so are those of all that is stored there."""
        if array not in self._followed:
            self._followed.add(array)
            for store in (*self._stores[array], *self._stores[None]):
                self._keep(store)
                self._mark(store.operands[0], DATA)
                self._mark(store.operands[1], NUMBER)


@lru_cache(maxsize=2)
def sliced(kernel: Operation, suspects: Suspects, kind: type[Slice] = Slice) -> Slice:
    """A slice of a kernel, which several evaluations of it share."""
    return kind(kernel, suspects)


def _operands(op: Operation) -> tuple[list[SsaValue], list[SsaValue]]:
    """The operands of a store or product that must be known as numbers, and those that are followed."""
    stored = stored_by(op)
    if stored is not None:
        return [op.operands[stored[0]]], [op.operands[stored[1]]]
    if is_product(op):
        return scale_of(op) if is_wgmma(op) else [], [v for part in parts_of(op).values() for v in part]
    return [], op.operands


def parts_of(product: Operation) -> dict[str, list[SsaValue]]:
    """The registers of each operand of a product of warps or a warpgroup."""
    if is_wgmma(product):
        count = accumulator_count(product)
        rest = product.operands[count:]
        descriptor = next((i for i, v in enumerate(rest) if v.type == "i64"), 0)
        return {"A": rest[:descriptor], "C": product.operands[:count]}
    if product.name != "nvvm.mma.sync":
        return {}
    a, b, c = (integers(product.attributes.get("operandSegmentSizes", "")) or (0, 0, 0))[:3]
    every = product.operands
    return {"A": every[:a], "B": every[a : a + b], "C": every[a + b : a + b + c]}


def _apart(op: Operation) -> list[SsaValue]:
    """The operands of which the results are no arithmetic: a choice, the lane of a shuffle."""
    if op.name.endswith(".select"):
        return op.operands[:1]
    return [v for i, v in enumerate(op.operands) if i != 1] if op.name == "nvvm.shfl.sync" else []
