"""Is what was copied what the MMA reads: `check_mma`, for layouts without a kernel.

Registers are compared one by one (`given`), shared memory with what a matrix descriptor can say
(`machine.canonical`). An order of k that A and B share, of m that A and C share, or of n that B and C share
changes no product and is no fault.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from layoutcheck.algebra.inttuple import shown
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import ComposedLayout, Swizzle
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.display import Text
from layoutcheck.errors import InputError, said_of
from layoutcheck.machine.canonical import Canonical, canonical
from layoutcheck.machine.mma import LETTERS
from layoutcheck.machine.pointers import parse_tile
from layoutcheck.operands.fragments import Ints, TiledMma, one_order
from layoutcheck.operands.given import Held, Unfit, held
from layoutcheck.operands.naming import read_mma
from layoutcheck.sources.types import parse_memref

NAMES = {"A": "mk", "B": "nk", "C": "mn"}
_UNITS = {"warpgroup": "wgmma", "tcgen05": "tcgen05"}


@dataclass(frozen=True, slots=True)
class OperandAnswer:
    """Whether operand `letter` is what the MMA reads: `verdict` "legal", "wrong", "rejected" or "unknown".

    Of registers, `thread` and `register` are the first that hold another element, `held` instead of `taken`;
    `differ` of `of` do. `fits` is the layout that fits, `code` the source that makes it.
    """

    letter: str
    given: str
    where: str
    verdict: str
    title: str
    message: str = ""
    fits: str = ""
    code: str = ""
    thread: int = 0
    register: int = 0
    held: tuple[int, int] = (0, 0)
    taken: tuple[int, int] = (0, 0)
    differ: int = 0
    of: int = 0
    elements: Held | None = field(default=None, compare=False, repr=False)
    canonical: Canonical | None = field(default=None, compare=False, repr=False)
    layout: Layout | ComposedLayout | None = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        found: dict[str, Any] = {
            "operand": self.letter, "given": self.given, "where": self.where, "verdict": self.verdict,
            "title": self.title, "message": self.message, "fits": self.fits, "code": self.code,
        }  # fmt: skip
        if self.differ:
            found |= {
                "thread": self.thread, "register": self.register, "held": list(self.held),
                "taken": list(self.taken), "differ": self.differ, "registers": self.of,
            }  # fmt: skip
        return found | ({} if self.canonical is None else {"canonical": self.canonical.to_dict()})


@dataclass(frozen=True, slots=True)
class MmaReport(Text):
    """The answers about a tiled MMA's operands. `verdict` is the worst of theirs.

    Printed, it is what `layoutcheck explain --mma` prints.
    """

    mma: TiledMma
    answers: tuple[OperandAnswer, ...]

    @property
    def verdict(self) -> str:
        """The worst of the answers: `rejected`, `wrong`, `unknown` or `legal`."""
        found = {one.verdict for one in self.answers}
        return next((v for v in ("rejected", "wrong", "unknown") if v in found), "legal")

    def __repr__(self) -> str:
        return f"<MmaReport {self.verdict} {self.mma.atom.name}>"

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the MMA with its thread-value layouts, and each operand's answer."""
        atom = self.mma.atom
        layouts = {
            letter: {
                "where": atom.where(letter),
                "tv": str(atom.tv(letter)),
                "tile": list(self.mma.extents(letter)),
            }
            for letter in LETTERS
        }
        return {
            "mma": atom.name, "verdict": self.verdict, "shape_mnk": list(atom.shape),
            "threads": self.mma.threads, "atom_layout_mnk": str(self.mma.warps),
            "majors": list(atom.majors), "layouts": layouts,
            "operands": [one.to_dict() for one in self.answers],
        }  # fmt: skip


def check_mma(
    mma: str | TiledMma,
    a: str | Layout | ComposedLayout | Memref | None = None,
    b: str | Layout | ComposedLayout | Memref | None = None,
    c: str | Layout | ComposedLayout | Memref | None = None,
    *,
    atom_layout: str | Layout | tuple[int, ...] | None = None,
    permutation: str | tuple[int | Layout | None, ...] | None = None,
) -> MmaReport:
    """Whether what was copied into the operands of an MMA is what the MMA reads.

    - `mma`: the MMA as code (`"warp.MmaF16BF16Op(cutlass.BFloat16, cutlass.Float32, (16, 8, 16))"`,
      `"cute.make_tiled_mma(...)"`), as the DSL prints it, or an instruction's name
      (`"mma.m16n8k16.f32.bf16"`, `"wgmma.m64n128k16.f32.f16.rs.k.mn"`); `atom_layout`, (2,2,1), and
      `permutation`, (32,32,16), of an atom, as text or as tuples
    - `a`, `b`, `c` of an operand in registers: a thread-value layout over the MMA's tile, a printed tiled
      copy, `"make_tiled_copy_A"` (also `_B`, `_C`, of another MMA in brackets),
      `"make_tiled_copy_tv(THR, VAL)"`, or `"ldmatrix LAYOUT"` and `"ldmatrix.trans LAYOUT"` of a shared tile
      (MN,K). Of an operand in shared memory: its layout (MN,K), composed with a swizzle of elements, or a
      memref, whose swizzle is of bytes. Layouts and memrefs may be objects

    What is not given is taken to be the MMA's own. Raises InputError for unusable input, and for no operand.
    """
    if a is None and b is None and c is None:
        raise InputError("no operand of the MMA is given", expected="a, b or c")
    for name, value in (("a", a), ("b", b), ("c", c)):
        if not isinstance(value, str | Layout | ComposedLayout | Memref | None):
            raise InputError(f"{name}: an object of type {type(value).__name__} is not an operand")
    atoms, tiles = _text("atom_layout", atom_layout, ","), _text("permutation", permutation, ";")
    try:
        return answered(
            mma, *(None if one is None else str(one) for one in (a, b, c)),
            atom_layout=atoms, permutation=tiles,
        )  # fmt: skip
    except InputError as error:
        raise error.in_python() from None


def _text(name: str, value: object, between: str) -> str | None:
    """A layout or a tuple as the text that `answered` reads. Raises InputError for another object."""
    if isinstance(value, tuple) and all(isinstance(one, Integral | Layout | None) for one in value):
        modes = between.join("_" if one is None else str(one) for one in value)
        return f"({modes})" if between == "," else f"[{modes}]"
    if isinstance(value, str | Layout | None):
        return None if value is None else str(value)
    raise InputError(
        f"'{name}' is {shown(value)}", expected="a text, such as '(2,2,1)', or a tuple of integers"
    )


def answered(
    mma: str | TiledMma,
    a: str | None = None,
    b: str | None = None,
    c: str | None = None,
    *,
    atom_layout: str | None = None,
    permutation: str | None = None,
) -> MmaReport:
    """`check_mma` of texts, whose errors name options of the command line."""
    tiled = mma if isinstance(mma, TiledMma) else read_mma(mma, atom_layout, permutation)
    texts = {letter: text for letter, text in zip(LETTERS, (a, b, c), strict=True) if text is not None}
    registers: dict[str, Held | Unfit] = {}
    answers = []
    for letter, text in texts.items():
        if tiled.atom.where(letter) == "registers":
            with said_of(f"--{letter.lower()}"):
                try:
                    registers[letter] = held(tiled, letter, text)
                except Unfit as why:
                    registers[letter] = why
    for letter, text in texts.items():
        with said_of(f"--{letter.lower()}"):
            answers.append(
                _in_registers(tiled, letter, text, registers)
                if letter in registers
                else in_memory(tiled, letter, text)
            )
    return MmaReport(tiled, tuple(answers))


def _in_registers(mma: TiledMma, letter: str, text: str, every: dict[str, Held | Unfit]) -> OperandAnswer:
    found, name = every[letter], f"cute.make_tiled_copy_{letter}(copy_atom, tiled_mma)"
    fits = f"thread-value layout {mma.tv(letter)} over {' x '.join(map(str, mma.extents(letter)))}"
    copy = f"copy_{letter.lower()}"
    code = f"{copy} = {name}\nthr = {copy}.get_slice(tidx)  # partition_S, retile(fragment)"
    if isinstance(found, Unfit):
        title = f"{letter}: {found.message}; expected {found.expected}"
        return OperandAnswer(letter, text, "registers", "wrong", title, "", fits, code)
    off = (found.elements != found.taken).any(2)
    if not off.any():
        title = f"{letter}: every register holds what the MMA reads ({found.how})"
        return OperandAnswer(letter, text, "registers", "legal", title, elements=found, of=off.size)
    thread, at = (int(i) for i in np.argwhere(off)[0])
    there, wanted = ((int(x[thread, at, 0]), int(x[thread, at, 1])) for x in (found.elements, found.taken))
    shared = _shared(letter, every)
    if shared:
        title = f"{letter}: registers in another order, which {shared}: no product changes"
        verdict, message = "legal", ""
    else:
        title = f"{letter}: {off.sum():,} of {off.size:,} registers hold other elements than the MMA reads"
        verdict, message = "wrong", _words(letter, thread, at, there, wanted, found)
    if text.startswith("ldmatrix") and not shared:
        fits, code = _other_ldmatrix(mma, letter, text, fits, code)
    return OperandAnswer(
        letter, text, "registers", verdict, title, message, fits, code if message else "", thread, at, there,
        wanted, int(off.sum()), off.size, found,
    )  # fmt: skip


def _words(
    letter: str, thread: int, at: int, there: tuple[int, int], wanted: tuple[int, int], found: Held
) -> str:
    register = f"{letter.lower()}{at}"
    holds = f"{letter}[{there[0]}, {there[1]}]" if there[0] >= 0 else "no element of the tile"
    first = (
        f"thread {thread}'s {register} holds {holds}, the MMA reads it as {letter}[{wanted[0]}, {wanted[1]}]"
    )
    if found.how.startswith("ldmatrix"):
        run = "M or N" if found.how.startswith("ldmatrix.trans") else "K"
        rest = f"ldmatrix takes 16 adjacent bytes of the tile for elements along {run}; they are not."
    elif (_sorted(found.elements) == _sorted(found.taken)).all():
        rest = "Each thread has its own elements, in other registers: `retile` the fragment for the copy."
    else:
        rest = f"The elements are another thread's: no retile mends that, make_tiled_copy_{letter} does."
    return f"{first} ({'/'.join(NAMES[letter])} coordinates). {rest}"


def _sorted(elements: Ints) -> Ints:
    """The elements of each thread, in one order."""
    return np.sort(elements[:, :, 0] * (1 << 24) + elements[:, :, 1], axis=1)


def _shared(letter: str, every: dict[str, Held | Unfit]) -> str:
    """Who has each of the operand's modes in the same other order, in words; "" where one has not."""
    partners = []
    for mode, name in enumerate(NAMES[letter]):
        mine = _order(every[letter], mode)
        if mine is None:
            return ""
        if (mine == np.arange(len(mine))).all():
            continue
        other = next(x for x in LETTERS if x != letter and name in NAMES[x])
        theirs = _order(every[other], NAMES[other].index(name)) if other in every else None
        if theirs is None or (mine[: len(theirs)] != theirs[: len(mine)]).any():
            return ""
        partners.append(f"{other} has for {name} too")
    return " and ".join(partners)


def _order(found: Held | Unfit, mode: int) -> Ints | None:
    """The coordinate that is there for each that is taken, where that is one for all registers."""
    if isinstance(found, Unfit):
        return None
    return one_order(found.taken[:, :, mode], found.elements[:, :, mode])


def _other_ldmatrix(mma: TiledMma, letter: str, text: str, fits: str, code: str) -> tuple[str, str]:
    """The other of ldmatrix and ldmatrix.trans, if it brings what the MMA reads."""
    name, _, layout = text.partition(" ")
    other = "ldmatrix" if name.endswith(".trans") else "ldmatrix.trans"
    try:
        found = held(mma, letter, f"{other} {layout}")
    except InputError:
        return fits, code
    if (found.elements != found.taken).any():
        return fits, code
    run = "M or N" if other.endswith(".trans") else "K"
    flag = str(other.endswith(".trans"))
    return (
        f"{other}: the tile is contiguous along {run}",
        f"op = cute.nvgpu.warp.LdMatrix8x8x16bOp(transpose={flag}, num_matrices=4)\n"
        f"copy_{letter.lower()} = cute.make_tiled_copy_{letter}(cute.make_copy_atom(op, dtype), tiled_mma)",
    )


def in_memory(mma: TiledMma, letter: str, text: str, whole: Layout | None = None) -> OperandAnswer:
    """The answer about an operand that is not in registers: a layout (MN,K), or a printed memref's.

    `whole` is the tile (MN,K) that the layout is a part of: what fits is said of all of it.
    """
    atom = mma.atom
    where = atom.where(letter)
    if where == "tmem":
        title = (
            f"{letter}: not checked, {atom.name} has it in tensor memory, where it is placed by its address"
        )
        return OperandAnswer(letter, text, where, "unknown", title)
    index = "AB".index(letter)
    major, element, unit = atom.majors[index], atom.types[index], _UNITS[atom.level]
    layout, swizzle = _operand(text)
    shown = parse_tile(layout, element.bits)[0] if isinstance(layout, str) else layout
    found = canonical(layout, element, major, swizzle, unit)
    told = partial(OperandAnswer, letter, text, where, canonical=found, layout=shown)
    if unit == "wgmma" and major == "MN" and element.bits != 16:
        title = f"{letter}: wgmma reads {element} along K alone"
        why = "PTX ISA, wgmma.mma_async: only .f16 and .bf16 operands in shared memory may be transposed."
        fits = (
            f"K-major {letter}: OperandMajorMode.K, and a layout atom of K_SW128, K_SW64, K_SW32 or K_INTER"
        )
        return told("rejected", title, why, fits)
    if found.verdict == "legal":
        title = f"{letter}: {found.name}, as the MMA's descriptor reads it ({major}-major)"
        return told("legal", title)
    other = "MN" if major == "K" else "K"
    turned = canonical(layout, element, other, swizzle, unit)
    if turned.verdict == "legal":
        title = f"{letter}: the tile is {other}-major ({turned.name}), and the MMA reads it {major}-major"
        kind = turned.name.partition("_")[2]
        fits = f"{letter.lower()}_major_mode=OperandMajorMode.{other}, or a tile of {major}_{kind}"
        code = f"OperandMajorMode.{other}  # {letter.lower()}_major_mode of the operation"
        return told(found.verdict, title, found.reason, fits, code)
    refused = found.verdict == "rejected"
    said = "no descriptor has its layout" if refused else "the descriptor reads other elements"
    near = found if whole is None else canonical(whole, element, major, swizzle, unit)
    near = near if near.nearest else found
    fits = f"{near.nearest_name}: {near.nearest}, {near.nearest_swizzle} on the pointer (bytes)"
    title = f"{letter}: {said} ({major}-major)"
    return told(found.verdict, title, found.reason, fits if near.nearest else "", near.code)


def _operand(text: str) -> tuple[Any, Swizzle | None]:
    """A layout as text, or a printed memref's layout and its pointer's swizzle."""
    if not text.strip().startswith("!"):
        return text, None
    memref = parse_memref(text)
    if isinstance(memref, OtherOperand):
        raise InputError(
            "no tensor in shared memory", text=text[:200], expected="a memref or a layout (MN,K)"
        )
    return memref.layout, memref.swizzle or Swizzle(0, 4, 3)
