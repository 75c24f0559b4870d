"""TMA tensor copies (`cpasync.CopyBulkTensorTile...Op`): a box of a tensor in one instruction, from sm_90.

PTX ISA, cp.async.bulk.tensor: one thread names a tensor map, the box's coordinates and an address in shared
memory; a load reports its bytes to an mbarrier, a store or reduction belongs to a bulk group.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutcheck.algebra.layout import Layout
from layoutcheck.machine.dtypes import DType

KINDS = ("load", "store", "reduce")
INDEXED = ("gather4", "scatter4")  # the modes of four rows an instruction
ROWS = 4


@dataclass(frozen=True, slots=True)
class TmaCopy:
    """`kind` is one of `KINDS`; as printed by the DSL the atom has the box of one instruction as well.

    `gbasis` maps a box coordinate to steps along the global tensor's modes (its shape is the box), and
    `copy_bits` are the bits of the box. Without them the atom is still to be made, by `make_tiled_tma_atom`
    from the tensors and the tiler that the copy knows. `mode` is "tiled", "im2col", "gather4" or "scatter4",
    `num_cta` the CTAs that share an instruction, and `attributes` what else was printed.
    """

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
    def multicast(self) -> bool:
        """Whether an instruction writes into the shared memory of several CTAs, as far as was printed."""
        return ("mcast", "true") in self.attributes or any(
            key == "kind" and value.endswith("multicast") for key, value in self.attributes
        )

    def __str__(self) -> str:
        if self.text:
            return self.text
        name = f"tma_{self.mode if self.indexed else self.kind}"
        mode = "im2col_" if self.mode == "im2col" else ""
        return f"{mode}{name}{'.multicast' * self.multicast}"
