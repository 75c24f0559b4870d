"""Which element of its operand a register of a warp-level MMA holds, for every thread of a tiled MMA.

A warp's fragment, PTX ISA `mma.sync`, "Matrix Fragments for mma.m16n8kK": lane 4 g + q holds, in words of r
elements (32 bits), of A rows g and g + 8, of B row (n) g, and of both the k that begin at q r, and those 4
r further. `tests/operands` compares with the DSL's own layouts.

A tiled MMA (CuTe): the operand's tile is taken in the order of the permutation, divided by the
instruction's shape, and dealt to warps; what is left over are each thread's further fragments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_layout, parse_tiler
from layoutcheck.copies.offsets import offsets_at, size
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype

Ints = NDArray[np.int64]
_LANES = 32
_TYPE = re.compile(
    r"!cute\.tiled_mma<!cute_nvgpu\.sm8[09]\.mma<([0-9]+)x([0-9]+)x([0-9]+), "
    r"elem_type = \((\w+), (\w+), (\w+)\)\s*>, "
    r'atom_layout_MNK = <"([^"]*)">(?:, permutation_MNK = <"\[([^"]*)\]">)?>'
)


@dataclass(frozen=True, slots=True)
class TiledMma:
    """A warp-level MMA m16n8kK, its warps' layout over (M, N, K), and its permutation of each, or None."""

    k: int
    bits: int
    warps: Layout
    permutation: tuple[Layout | None, Layout | None, Layout | None]

    @property
    def threads(self) -> int:
        """Threads of all warps."""
        return _LANES * size(self.warps)

    def extent(self, mode: int) -> int:
        """Elements of a tile of mode M, N or K (0, 1, 2)."""
        chosen = self.permutation[mode]
        return self.atom(mode) * size(self.warps.modes[mode]) if chosen is None else size(chosen)

    def atom(self, mode: int) -> int:
        """The instruction's extent of mode M, N or K."""
        return (16, 8, self.k)[mode]

    def coordinates(self, operand: str, values: int, rest: tuple[int, int]) -> tuple[Ints, Ints]:
        """(threads, values, rest, rest) -> the coordinates (m, k) of operand A, (n, k) of B.

        `values` are those of one instruction, `rest` the thread's fragments along both modes. InputError if
        an instruction has another number of values, or a tile does not divide.
        """
        own = (16 if operand == "A" else 8) * self.k // _LANES
        if values != own:
            raise InputError(f"{values} values", expected=f"{own} in a fragment of {operand}")
        lane, value, word = np.arange(_LANES)[:, None], np.arange(own)[None], 32 // self.bits
        inner, outer, both = value % word, value // word, 2 if operand == "A" else 1
        first = lane // 4 + 8 * (outer % both)
        second = lane % 4 * word + inner + 4 * word * (outer // both)
        warps = np.array([self._warp(w) for w in range(size(self.warps))])
        shape = (len(warps), _LANES, own, *rest)
        found = []
        for mode, atom, axis, count in (
            (0 if operand == "A" else 1, first, 3, rest[0]),
            (2, second, 4, rest[1]),
        ):
            left = np.arange(count).reshape([-1 if i == axis else 1 for i in range(5)])
            at = self._placed(
                mode, atom[None, :, :, None, None], warps[:, mode, None, None, None, None], left
            )
            found.append(np.broadcast_to(at, shape).reshape(len(warps) * _LANES, own, *rest))
        return found[0], found[1]

    def _warp(self, index: int) -> tuple[int, int, int]:
        """The coordinates (m, n, k) of a warp."""
        m, n, k = (size(mode) for mode in self.warps.modes)
        every = offsets_at(self.warps, np.arange(m * n * k))
        at = int(np.flatnonzero(every == index)[0])
        return at % m, at // m % n, at // (m * n)

    def _placed(self, mode: int, atom: Ints, warp: Ints, rest: Ints) -> Ints:
        """The coordinate of element `atom` of an instruction of that warp, the `rest`-th of its thread."""
        across, tile = self.atom(mode) * size(self.warps.modes[mode]), self.extent(mode)
        if tile % across:
            raise InputError(f"a tile of {tile}", expected=f"a multiple of {across}")
        inside = tile // across
        index = atom + self.atom(mode) * (warp + size(self.warps.modes[mode]) * (rest % inside))
        chosen = self.permutation[mode]
        placed: Ints = (index if chosen is None else offsets_at(chosen, index)) + rest // inside * tile
        return placed


def tiled_mma(text: str) -> TiledMma:
    """The tiled MMA of that type; InputError for one that is not of mma.sync's m16n8kK or not static."""
    found = _TYPE.fullmatch(text)
    if found is None or found[4] != found[5] or (found[1], found[2]) != ("16", "8"):
        raise InputError("not an m16n8k MMA of equal inputs", text=text[:120])
    bits, k = dtype(found[4]).bits, int(found[3])
    warps = parse_layout(found[7])
    modes: list[Layout | None] = [None, None, None]
    for i, part in enumerate(_split(found[8]) if found[8] else []):
        modes[i] = None if part == "_" else parse_tiler(f"[{part}]")[0]
    if bits not in (8, 16, 32) or k * bits not in (128, 256) or len(warps) != 3 or not warps.is_static:
        raise InputError("not an m16n8k MMA whose fragments are known", text=text[:120])
    if not all(mode is None or mode.is_static for mode in modes):
        raise InputError("a permutation that is not static", text=text[:120])
    if sorted(offsets_at(warps, np.arange(size(warps))).tolist()) != list(range(size(warps))):
        raise InputError("warps that are not numbered once each", text=text[:120])
    return TiledMma(k, bits, warps, (modes[0], modes[1], modes[2]))


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(";")]
