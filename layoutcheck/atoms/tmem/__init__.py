"""`tcgen05.ld` and `tcgen05.st`: a warp moves a rectangle of tensor memory from or to its registers.

Tensor memory is 128 lanes by 512 columns of 32 bits (PTX ISA, tcgen05, Tensor Memory). Warp w of a warpgroup
reaches lanes 32 (w mod 4) to 32 (w mod 4) + 31 only (Tensor Memory Access Restrictions). An address holds
the lane in its upper 16 bits and the column in its lower 16, so that lanes lie 65536 columns apart.

    shape      .xN takes         registers a thread
    32x32b     32 lanes x N      N
    16x64b     16 lanes x 2N     N
    16x128b    16 lanes x 4N     2N
    16x256b    16 lanes x 8N     4N
    16x32bx2   16 lanes x 2 N    N   (two pieces of N columns; the DSL puts the second right behind the first)

Blackwell only (sm_100f and sm_110f families). What is said of these atoms stands on the compiler and on the
PTX ISA; none of it was run on a Blackwell GPU.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.atom import WARP, Atom, AtomTraits, WarpAtom, thread_values
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import TENSOR_MEMORY, Needs
from layoutcheck.machine.dtypes import DType

LANES = 128
COLUMNS = 512
COLUMN_BITS = 32
LANE_STEP = 1 << 16  # columns between the addresses of two lanes
WARP_LANES = 32

REPEATS = (1, 2, 4, 8, 16, 32, 64, 128)
# (lanes, bits): 32-bit registers of a thread for one repetition, and the most repetitions (PTX ISA,
# tcgen05.ld).
FORMS: dict[tuple[int, int], tuple[int, int]] = {
    (32, 32): (1, 128),
    (16, 32): (1, 128),
    (16, 64): (1, 128),
    (16, 128): (2, 64),
    (16, 256): (4, 32),
}


class TensorMemoryAtom(Atom):
    """An atom that moves data to or from tensor memory."""

    __slots__ = ()
    rules: ClassVar[str] = "tmem"
    # PTX ISA, tcgen05, Target ISA Notes; ptxas 13.0 agrees (docs/evidence/arch.json).
    needs: ClassVar[Needs] = TENSOR_MEMORY
    # Whether the verifier demands a base at an even column (measured).
    wants_even_columns: ClassVar[bool] = False

    @property
    @abstractmethod
    def memory_side(self) -> str:
        """The operand in tensor memory."""

    @property
    @abstractmethod
    def title(self) -> str:
        """`tcgen05.ld.32x32b.x32`."""

    @abstractmethod
    def rectangle_phrase(self, element: DType) -> str:
        """What the instruction moves, in lanes, columns and the strides that name it."""


@dataclass(frozen=True, slots=True)
class TmemCopy(WarpAtom, TensorMemoryAtom):
    """What `TmemLoad` and `TmemStore` share: `lanes` x `width_bits` is the PTX shape, `repeat` its .xN.

    (16, 32) is the shape `16x32bx2`.
    """

    family: ClassVar[str] = "tmem"
    memory: ClassVar[str] = "tmem"
    name: ClassVar[str]
    packing: ClassVar[tuple[str, str]]  # as the DSL prints it, and as PTX has it
    repeat_of_fragment: ClassVar[bool] = True  # else of the atom: how often an instruction repeats

    dtype: DType
    lanes: int
    width_bits: int
    repeat: int
    packed: bool = False

    def __str__(self) -> str:
        kind = "load" if self.loads else "store"
        form = f"{self.dtype}, {self.lanes} DP, {self.width_bits} bit, x{self.repeat}"
        return f"!cute_nvgpu.atom.tmem_{kind}<{form}{f', {self.packing[0]}' * self.packed}>"

    @property
    def title(self) -> str:
        """`tcgen05.ld.32x32b.x32`."""
        return f"{self.name}.{shape_name(self)}.x{self.repeat}"

    @property
    def split_columns(self) -> int:
        """How many columns on the second piece of 16x32bx2 lies: right behind the first (measured)."""
        return self.repeat

    def fitted(self, element: DType, packed: bool) -> TmemCopy:
        """The same atom for elements of that type."""
        return replace(self, dtype=element, packed=packed)

    @property
    def wants_even_columns(self) -> bool:
        """The shapes wider than 32 bits and the packing ones."""
        return self.width_bits > COLUMN_BITS or self.packed

    def rectangle_phrase(self, element: DType) -> str:
        """As many columns as registers ask for."""
        step = 2 if self.packed and element.bits == 16 else 1
        return (
            f"{self.title} takes {self.lanes} lanes x {columns(self)} columns: stride {step} along a lane, "
            f"{LANE_STEP * COLUMN_BITS // element.bits} elements of {element} from lane to lane"
        )

    @property
    def phrase(self) -> str:
        """`tcgen05.ld.16x64b.x4.pack::16b (bf16)`."""
        return f"{self.title}{self.packing[1] * self.packed} ({self.dtype})"

    def traits(self) -> AtomTraits:
        """The rectangle on one side, the fragment of registers (the PTX ISA's figures) on the other.

        The tensor-memory side belongs to nobody: all threads name the same rectangle, bits along a lane
        first, then the lanes. Packing 16-bit halves does not show in these layouts (measured).
        """
        if not exists(self):
            raise InputError(f"{self} does not exist", expected="a shape and a repetition that PTX has")
        n = self.repeat
        row = 32 * n * max(1, self.width_bits // 32)  # bits of one lane
        lanes: Layout
        values: list[tuple[int, int]]
        if self.lanes == 32:
            lanes, values = Layout(WARP, row), [(row, 1)]
        elif self.width_bits == 32:
            row *= 2
            lanes, values = Layout((16, 2), (row, row // 2)), [(row // 2, 1)]
        elif self.width_bits == 64:
            lanes, values = Layout((2, 2, 8), (8 * row, 32, row)), [(32, 1), (n, 64)]
        else:
            piece = self.width_bits // 4
            lanes, values = Layout((4, 8), (piece, row)), [(piece, 1), (2, 8 * row), (n, self.width_bits)]
        if n == 1 and len(values) > 1:
            values.pop()
        rectangle = Layout((WARP, row * self.lanes), (0, 1))
        fragment = thread_values(lanes, values)
        if self.loads:
            return AtomTraits(WARP, rectangle, fragment, rectangle)
        return AtomTraits(WARP, fragment, rectangle, rectangle)


@dataclass(frozen=True, slots=True)
class TmemLoad(TmemCopy):
    """`tcgen05.ld`; `packed` is `.pack::16b`: each register gets the lower halves of two columns."""

    loads: ClassVar[bool] = True
    name: ClassVar[str] = "tcgen05.ld"
    packing: ClassVar[tuple[str, str]] = ("pack16b", ".pack::16b")


@dataclass(frozen=True, slots=True)
class TmemStore(TmemCopy):
    """`tcgen05.st`; `packed` is `.unpack::16b`."""

    loads: ClassVar[bool] = False
    name: ClassVar[str] = "tcgen05.st"
    packing: ClassVar[tuple[str, str]] = ("expand16b", ".unpack::16b")


def shape_name(atom: TmemCopy) -> str:
    """The PTX shape: `32x32b`, `16x32bx2`, ..."""
    return f"{atom.lanes}x{atom.width_bits}b" + ("x2" if (atom.lanes, atom.width_bits) == (16, 32) else "")


def exists(atom: TmemCopy) -> bool:
    """Whether PTX has this shape with this number of repetitions."""
    _, most = FORMS.get((atom.lanes, atom.width_bits), (0, 0))
    return atom.repeat in REPEATS and atom.repeat <= most


def columns(atom: TmemCopy) -> int:
    """Columns of 32 bits that one instruction takes in every lane."""
    pieces = 2 if (atom.lanes, atom.width_bits) == (16, 32) else 1
    return atom.repeat * pieces * atom.width_bits // COLUMN_BITS * (2 if atom.packed else 1)


def registers(atom: TmemCopy) -> int:
    """32-bit registers of a thread."""
    return FORMS[atom.lanes, atom.width_bits][0] * atom.repeat
