"""`MmaAtom`: what one tensor-core instruction multiplies, and which element of it each thread's value is.

Thread-value layouts are CuTe's: (thread, value) -> index into (M,K), (N,K) or (M,N), the first mode fastest.

A warp's fragments (PTX ISA, mma.sync, "Matrix Fragments"): lane 4 g + q has, in words of r elements, of A
the rows g and g + 8, of B the row (n) g, and of both the k from q r on and those 4 r further; of C the rows
g and g + 8 and the columns 2 q, 2 q + 1. Warp w of a warpgroup has rows 16 w to 16 w + 15 of wgmma's A and
C, each as a warp's ("Register Fragments"). What a matrix descriptor names is not dealt to threads: the
layout has the whole operand, for every thread (wgmma) or block (tcgen05). `pytest -m sweep
tests/operands/test_every_atom.py` compares every layout with the DSL's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from layoutcheck.algebra.layout import Layout
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import DType, dtype

LANES = 32
LETTERS = "ABC"
_PRINTED = re.compile(
    r"!?cute_nvgpu\.(?:sm|SM)([0-9]{2,3})\.mma(_sp|_bs|_bs_sp|)<\s*([0-9]{1,4})x([0-9]{1,4})x([0-9]{1,4}),(.*)>\s*\Z",
    re.DOTALL,
)
_TYPES = re.compile(r"elem_type = \((\w+), (\w+), (\w+)\)")
_MAJORS = re.compile(r"ab_major = \((k|mn), (k|mn)\)")
_SOURCE = re.compile(r"frag_kind = ([rst])s")
_BLOCKS = re.compile(r"num_cta = ([12])")
EXPECTED = "an MMA atom as the DSL prints it, such as !cute_nvgpu.sm80.mma<16x8x16, elem_type = (...)>"


@dataclass(frozen=True, slots=True)
class MmaAtom:
    """One instruction: `level` is "warp", "warpgroup" or "tcgen05", `shape` (M, N, K), `types` of A, B and C.

    `majors` of A and B are "K" or "MN"; `a_from` is "registers", "smem" or "tmem"; `blocks` execute it
    together (tcgen05's pairs); `form` is "", "sparse" or "block-scaled".
    """

    level: str
    shape: tuple[int, int, int]
    types: tuple[DType, DType, DType]
    majors: tuple[str, str] = ("K", "K")
    a_from: str = "registers"
    blocks: int = 1
    form: str = ""

    @property
    def threads(self) -> int:
        """Threads of the thread-value layouts: lanes, the threads of a warpgroup, or blocks."""
        return {"warp": LANES, "warpgroup": 4 * LANES}.get(self.level, self.blocks)

    @property
    def name(self) -> str:
        """A short name: `mma.m16n8k16.f32.bf16.bf16`."""
        m, n, k = self.shape
        a, b, c = (str(one) for one in self.types)
        kind = {"warp": "mma", "warpgroup": "wgmma"}.get(self.level, self.level)
        return f"{kind}.m{m}n{n}k{k}.{c}.{a}.{b}{'.' + self.form if self.form else ''}"

    def where(self, letter: str) -> str:
        """Where the instruction takes operand A or B, or has C: "registers", "smem" or "tmem"."""
        if self.level == "warp":
            return "registers"
        if letter == "A":
            return self.a_from
        return "smem" if letter == "B" else "registers" if self.level == "warpgroup" else "tmem"

    def extents(self, letter: str) -> tuple[int, int]:
        """(M, K), (N, K) or (M, N) of operand A, B or C."""
        m, n, k = self.shape
        return {"A": (m, k), "B": (n, k), "C": (m, n)}[letter]

    def tv(self, letter: str) -> Layout:
        """(thread, value) -> index into `extents(letter)`."""
        rows, columns = self.extents(letter)
        if self.level == "tcgen05":
            own = rows // self.blocks
            return Layout((self.blocks, (own, columns)), (own, (1, rows)))
        if self.where(letter) == "smem":
            return Layout((self.threads, (rows, columns)), (0, (1, rows)))
        word = 2 if letter == "C" else self.word
        warps = ((4,), (16,)) if self.level == "warpgroup" else ((), ())
        values = register_values(letter, rows, columns, word)
        return Layout(((4, 8, *warps[0]), values.shape), ((word * rows, 1, *warps[1]), values.stride))

    @property
    def word(self) -> int:
        """Adjacent k in one 32-bit register of A or B: narrow types that mix lie in bytes."""
        a, b, _ = self.types
        return 32 // max(a.bits, b.bits)


def register_values(letter: str, rows: int, columns: int, word: int) -> Layout:
    """Value of lane 0 -> index into `rows` by `columns` of operand A, B or C, `word` of them adjacent.

    Lane l is l // 4 rows and word * (l % 4) columns on: PTX ISA, mma.sync, "Matrix Fragments for m16n8kK".
    """
    steps = [(word, rows), (1 if letter == "B" else 2, 8), (columns // (4 * word), 4 * word * rows)]
    kept = [(n, d) for n, d in steps if n > 1] or [(1, 0)]
    shape, stride = (tuple(x) if len(kept) > 1 else x[0] for x in zip(*kept, strict=True))
    return Layout(shape, stride)


def printed_atom(text: str) -> MmaAtom:
    """The atom that the DSL prints so. InputError for another text, and for fragments that are not known."""
    found = _PRINTED.fullmatch(text.strip())
    types = _TYPES.search(found[6]) if found else None
    if found is None or types is None:
        raise InputError("no MMA atom", text=text[:160], expected=EXPECTED)
    arch, rest = int(found[1]), found[6]
    level = "tcgen05" if 100 <= arch < 120 else "warpgroup" if arch == 90 else "warp"
    majors, source, blocks = _MAJORS.search(rest), _SOURCE.search(rest), _BLOCKS.search(rest)
    form = "sparse" if found[2].endswith("sp") else "block-scaled" if found[2] else ""
    return checked(
        MmaAtom(
            level,
            (int(found[3]), int(found[4]), int(found[5])),
            (dtype(types[1]), dtype(types[2]), dtype(types[3])),
            (majors[1].upper(), majors[2].upper()) if majors else ("K", "K"),
            {"s": "smem", "t": "tmem"}.get(source[1] if source else "r", "registers"),
            int(blocks[1]) if blocks else 1,
            form,
        ),
        text,
    )


def checked(atom: MmaAtom, text: str) -> MmaAtom:
    """The atom, if its fragments are known. Raises InputError."""
    m, n, k = atom.shape
    a, b, _ = atom.types
    bits = max(a.bits, b.bits)
    fits = (
        bits <= 32
        and {
            "warp": (m, n) == (16, 8) and k * bits in (128, 256),
            "warpgroup": m == 64 and 8 <= n <= 256 and n % 8 == 0 and k * bits == 256,
            "tcgen05": m in (64, 128, 256)
            and 8 <= n <= 256
            and n % 8 == 0
            and k >= 8
            and m % atom.blocks == 0,
        }[atom.level]
    )
    if not fits or (atom.level == "warp" and atom.form == "sparse"):
        raise InputError(
            f"an MMA whose fragments are not known: m{m}n{n}k{k} of {a} and {b}", text=text[:160],
            expected="m16n8k of a warp with 128 or 256 bits of k, m64 of a warpgroup, or tcgen05's",
        )  # fmt: skip
    return atom
