"""TMA tensor copies (`cpasync.CopyBulkTensorTile...Op`): a box of a tensor in one instruction, from sm_90.

PTX ISA, cp.async.bulk.tensor: one thread names a tensor map, the box's coordinates and an address in shared
memory; a load reports its bytes to an mbarrier, a store or reduction belongs to a bulk group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.atom import Atom, AtomTraits
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import TENSOR_MEMORY, Arch, Needs
from layoutcheck.machine.dtypes import DType

KINDS = ("load", "store", "reduce")
INDEXED = ("gather4", "scatter4")  # the modes of four rows an instruction
ROWS = 4


@dataclass(frozen=True, slots=True)
class TmaCopy(Atom):
    """`kind` is one of `KINDS`; as printed by the DSL the atom has the box of one instruction as well.

    `gbasis` maps a box coordinate to steps along the global tensor's modes (its shape is the box), and
    `copy_bits` are the bits of the box. Without them the atom is still to be made, by `make_tiled_tma_atom`
    from the tensors and the tiler that the copy knows. `mode` is "tiled", "im2col", "gather4" or "scatter4",
    `num_cta` the CTAs that share an instruction, and `attributes` what else was printed.
    """

    family: ClassVar[str] = "tma"
    rules: ClassVar[str] = "tma"
    whole_copy: ClassVar[bool] = True
    by_engine: ClassVar[bool] = True

    kind: str
    dtype: DType
    gbasis: Layout | None = None
    copy_bits: int = 0
    mode: str = "tiled"
    num_cta: int = 1
    attributes: tuple[tuple[str, str], ...] = ()
    text: str = ""

    @property
    def indexed(self) -> bool:
        """Whether an instruction takes four rows, which a tensor of indices names."""
        return self.mode in INDEXED

    @property
    def override(self) -> bool:
        """Whether address, extents and strides of the global tensor come with each copy (`...OverrideOp`)."""
        return ("override", "true") in self.attributes

    @property
    def multicast(self) -> bool:
        """Whether an instruction writes into the shared memory of several CTAs, as far as was printed."""
        return ("mcast", "true") in self.attributes or any(
            key == "kind" and value.endswith("multicast") for key, value in self.attributes
        )

    @property
    def loads(self) -> bool:
        """Whether it brings data to shared memory; stores and reductions take it away."""
        return self.kind == "load"

    @property
    def needs(self) -> Needs:
        """Tiles and im2col: sm_90. gather4 to the CTA's own memory: sm_100. The rest where tcgen05 is.

        Overrides: sm_107a, by the name of the instruction in the DSL (`arch.copy.SM107.tma_load_override`).
        The DSL emits the form to the CTA's own memory where the copy is no multicast and of one CTA. PTX
        ISA, cp.async.bulk.tensor, Target ISA Notes; ptxas 13.0 agrees (docs/evidence/arch.json).
        """
        if self.override:
            return Needs(Arch(107, "a"), (10,))
        if self.mode == "scatter4" or (self.loads and self.num_cta > 1):
            return TENSOR_MEMORY
        if self.mode == "gather4" and self.multicast:
            return TENSOR_MEMORY
        return Needs(Arch(100) if self.mode == "gather4" else Arch(90))

    @property
    def spaces(self) -> tuple[str, str]:
        """Global and shared memory."""
        return ("gmem", "smem") if self.loads else ("smem", "gmem")

    @property
    def completion(self) -> str:
        """A load reports its bytes to an mbarrier; the others belong to a bulk group."""
        return "barrier" if self.loads else "group"

    @property
    def phrase(self) -> str:
        """`TMA load of bf16, boxes of (64,64) (8192 B)`."""
        box = "" if self.gbasis is None else f", boxes of {self.gbasis.shape} ({self.copy_bits // 8} B)"
        kind = (self.mode if self.indexed else self.kind) + " with override" * self.override
        mode = "im2col " if self.mode == "im2col" else ""
        return f"TMA {mode}{kind} of {self.dtype}{box}"

    def traits(self) -> AtomTraits:
        """Raises InputError."""
        raise InputError("a TMA copy has a box, not thread-value layouts")

    def __str__(self) -> str:
        if self.text:
            return self.text
        name = f"tma_{self.mode if self.indexed else self.kind}"
        mode = "im2col_" if self.mode == "im2col" else ""
        return f"{mode}{name}{'.multicast' * self.multicast}"
