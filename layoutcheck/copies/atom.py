"""`Atom`: what one `cute.copy` instruction is asked to be, as far as every copy needs to know it.

The atoms themselves are families of `layoutcheck.atoms`, a folder each. An atom says of itself what is cheap
to say; what the compiler and the machine make of it its folder knows (`layoutcheck.atoms.family`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from layoutcheck.algebra.integers import ceil_div
from layoutcheck.algebra.layout import Layout
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import EVERYWHERE, Needs
from layoutcheck.machine.dtypes import DType

if TYPE_CHECKING:
    from typing_extensions import Self

WARP = 32


class AtomTraits(NamedTuple):
    """`threads` that execute the atom together, and (thread, value) -> bit on each side: CuTe's Copy_Traits.

    Both sides number the same data, so that (thread t, bit v) of the source and (thread t', bit v') of the
    destination are one bit where the layouts give the same index. A single-thread atom maps value v to bit v
    on both sides. For ldmatrix and stmatrix one side is shared memory, where lane t supplies the address of
    one 128-bit row, and the other side the register fragment of each lane:

        ldmatrix x4      src (32,128):(128,1)                lane t brings row t
                         dst (32,(32,4)):(32,(1,1024))       lane t gets 32 bits of each of 4 matrices

    Identical to what the DSL prints for `layout_src_tv` and `layout_dst_tv` of an atom
    (tests/conformance/test_partition.py). `ref` is the side whose (thread, value) a TiledCopy's layout_tv
    speaks of: for matrices the fragment.
    """

    threads: int
    src: Layout
    dst: Layout
    ref: Layout

    def elements(self, bits: int) -> AtomTraits:
        """The same with values of `bits` bits: (thread, value) -> element."""
        src, dst = _upcast(self.src, bits), _upcast(self.dst, bits)
        return AtomTraits(self.threads, src, dst, dst if self.ref == self.dst else src)


def line(width_bits: int) -> AtomTraits:
    """Of one thread whose value v is bit v; of width 0 (auto) one value, 1:0."""
    layout = Layout((1, width_bits), (0, 1)) if width_bits > 0 else Layout((1, 1), (0, 0))
    return AtomTraits(1, layout, layout, layout)


def thread_values(lanes: Layout, values: list[tuple[int, int]]) -> Layout:
    """The layout of `lanes` and of the (extent, stride) of every mode of the values."""
    if len(values) == 1:
        return Layout((lanes.shape, values[0][0]), (lanes.stride, values[0][1]))
    return Layout((lanes.shape, tuple(n for n, _ in values)), (lanes.stride, tuple(d for _, d in values)))


def _upcast(layout: Layout, n: int) -> Layout:
    """Layout of units n times as large, leaf by leaf, as CuTe's `upcast` of a static layout."""

    def leaf(shape: Any, stride: Any) -> tuple[Any, Any]:
        if type(shape) is tuple:
            pairs = [leaf(s, d) for s, d in zip(shape, stride, strict=True)]
            return tuple(s for s, _ in pairs), tuple(d for _, d in pairs)
        if stride == 0:
            return shape, stride
        return ceil_div(shape, ceil_div(n, stride)), ceil_div(stride, n)

    return Layout(*leaf(layout.shape, layout.stride))


class Atom(ABC):
    """The base of every atom: a frozen dataclass that prints as the DSL prints it (`str`).

    Class variables, with their defaults. A class whose atoms differ has a property of that name:

    - `family`: its folder under `layoutcheck/atoms`
    - `rules`: rules whose name begins so speak of this atom and its like alone; "" for no such rules
    - `modelled`: False where nothing but the name is known
    - `whole_copy`: its copies are predicted and run whole, extents known at run time and all, as those of a
      tensor map; whatever function a copy was written with
    - `destinations`: 2 where `cute.copy` takes a list of two, the second of which is `Copy.aux`
    - `six_bits`: it moves 6-bit elements outside of a tensor map
    - `booleans`: how it moves booleans, each stored as a byte, is known
    - `folds_float_pred`: code generation takes a floating-point predicate, as false
    - `by_engine`: one thread starts it and an engine moves the data; it has no accesses of a warp
    - `drops_composed`: the lowering forgets a layout that is still composed with a run-time swizzle
    - `walks_v`: all of V is moved in vectors, whatever its nesting; else one instruction takes V[0] of (n, m)
    - `needs`: where the instruction exists; by default everywhere
    - `instruction_bits`: adjacent bits of memory that one thread's instruction moves; 0: the compiler's
      choice, or none
    - `run_sides`: the operands on which one instruction needs its elements side by side
    - `spaces`: the memory spaces of source and destination; None where the atom leaves them open
    - `completion`: what says that the data arrived: a "barrier" that counts bytes, a "group", "" (the thread)
    - `multicast`: whether one instruction writes into the shared memory of several CTAs
    - `to_rank`: whether it writes into the shared memory of one CTA of the cluster, which a rank names
    - `data_side`: the operand whose thread-value layout counts every element once: not rows of addresses
    - `constructor`: the DSL's operation as code, `cute.nvgpu.CopyUniversalOp()`; "" where none is to show
    - `call_options`: what `make_copy_atom` takes beside type and width, as code
    """

    __slots__ = ()
    family: ClassVar[str]
    rules: ClassVar[str] = ""
    modelled: ClassVar[bool] = True
    whole_copy: ClassVar[bool] = False
    destinations: ClassVar[int] = 1
    six_bits: ClassVar[bool] = False
    booleans: ClassVar[bool] = False
    folds_float_pred: ClassVar[bool] = False
    by_engine: ClassVar[bool] = False
    drops_composed: ClassVar[bool] = False
    walks_v: ClassVar[bool] = False
    needs: ClassVar[Needs] = EVERYWHERE
    instruction_bits: ClassVar[int] = 0
    run_sides: ClassVar[tuple[str, ...]] = ("src", "dst")
    spaces: ClassVar[tuple[str, str] | None] = None
    completion: ClassVar[str] = ""
    multicast: ClassVar[bool] = False
    to_rank: ClassVar[bool] = False
    data_side: ClassVar[str] = "src"
    constructor: ClassVar[str] = ""
    call_options: ClassVar[str] = ""
    dtype: DType

    @property
    def address_bytes(self) -> int:
        """What the instruction's addresses must be a multiple of; 0 as `instruction_bits`."""
        return self.instruction_bits // 8

    @property
    @abstractmethod
    def phrase(self) -> str:
        """One readable phrase: `cp.async 128 bits (8 x bf16), cache = global`."""

    def traits(self) -> AtomTraits:
        """The thread-value layouts of both sides. Raises InputError for forms that do not exist."""
        raise InputError(f"the thread-value layouts of '{str(self)[:60]}' are not modelled")


class VectorAtom(Atom):
    """An atom of one thread whose instruction moves `width_bits` adjacent bits."""

    __slots__ = ()
    walks_v: ClassVar[bool] = True
    width_bits: int

    @property
    def instruction_bits(self) -> int:
        """The width; 0 is auto."""
        return self.width_bits

    @property
    def width_phrase(self) -> str:
        """`128 bits (8 x bf16)`."""
        bits, element = self.width_bits, self.dtype
        if not bits:
            return f"of {element.name}, width chosen by the compiler"
        count = f"{bits // element.bits} x " if bits % element.bits == 0 else ""
        return f"{bits} bits ({count}{element.name})"

    def traits(self) -> AtomTraits:
        """Value v is bit v on both sides; a copy of width 0 (auto) has one value, 1:0."""
        return line(self.width_bits)


class ThreadAtom(VectorAtom):
    """One of which every thread of a tiled copy moves vectors of its own, by loads and stores."""

    __slots__ = ()
    least_bits: ClassVar[int] = 8  # of the narrowest instruction there is
    past_l1: ClassVar[bool] = False  # whether the data of a 16-byte instruction stays out of the L1 cache

    def with_width(self, width_bits: int) -> Self:
        """The same atom of another width."""
        return replace(self, width_bits=width_bits)  # type: ignore[type-var]


class WarpAtom(Atom):
    """An atom that the 32 lanes of a warp execute together, between registers and memory.

    `loads` says which way: from memory to registers, or back; `memory` is the space that it is in.
    """

    __slots__ = ()
    loads: ClassVar[bool]
    memory: ClassVar[str]

    @property
    def spaces(self) -> tuple[str, str]:
        """Memory on one side and registers on the other."""
        return (self.memory, "rmem") if self.loads else ("rmem", self.memory)

    @property
    def memory_side(self) -> str:
        """The operand in memory, "src" or "dst"."""
        return "src" if self.loads else "dst"

    @property
    def register_side(self) -> str:
        """The operand in registers."""
        return "dst" if self.loads else "src"

    @property
    def data_side(self) -> str:
        """Registers."""
        return self.register_side


@lru_cache(maxsize=1024)
def traits(atom: Atom) -> AtomTraits:
    """`atom.traits()`, worked out once for equal atoms."""
    return atom.traits()
