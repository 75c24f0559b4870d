"""Which element of its operand each register holds, for every thread of a tiled MMA.

A tiled MMA (CuTe): the operand's tile is taken in the order of the permutation, divided by the
instruction's shape, and dealt to the atoms of `atom_layout_mnk`; what is left over are each thread's further
fragments. `tests/operands` compares with the DSL's own layouts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from layoutcheck.algebra.composition import composition
from layoutcheck.algebra.inverse import right_inverse
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.modes import make_layout
from layoutcheck.algebra.notation import parse_layout, parse_tiler
from layoutcheck.copies.offsets import offsets_at, size
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import MAX_BLOCK_THREADS
from layoutcheck.machine.mma import MmaAtom, printed_atom

Ints = NDArray[np.int64]
ONE = Layout((1, 1, 1), (0, 0, 0))
_TYPE = re.compile(
    r'!?cute\.tiled_mma<(.*), atom_layout_MNK = <"([^"]*)">(?:, permutation_MNK = <"\[([^"]*)\]">)?>',
    re.DOTALL,
)
_MODES = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}


@dataclass(frozen=True, slots=True)
class TiledMma:
    """An MMA atom, the layout of atoms over (M, N, K), and the permutation of each mode, or None."""

    atom: MmaAtom
    warps: Layout = ONE
    permutation: tuple[Layout | None, Layout | None, Layout | None] = (None, None, None)

    @property
    def threads(self) -> int:
        """Threads of all atoms."""
        return self.atom.threads * size(self.warps)

    def extent(self, mode: int) -> int:
        """Elements of a tile of mode M, N or K (0, 1, 2)."""
        chosen = self.permutation[mode]
        return self.atom.shape[mode] * size(self.warps.modes[mode]) if chosen is None else size(chosen)

    def extents(self, letter: str) -> tuple[int, int]:
        """The tile of operand A, B or C."""
        first, second = _MODES[letter]
        return self.extent(first), self.extent(second)

    def values(self, letter: str) -> int:
        """Values of one instruction's fragment in a thread."""
        return size(self.atom.tv(letter).modes[1])

    def tiles(self, letter: str) -> tuple[int, int]:
        """How many fragments of a thread lie along both modes of one tile."""
        first, second = (
            max(1, self.extent(mode) // (self.atom.shape[mode] * size(self.warps.modes[mode])))
            for mode in _MODES[letter]
        )
        return first, second

    def coordinates(self, letter: str, values: int, rest: tuple[int, int]) -> tuple[Ints, Ints]:
        """(threads, values, rest, rest) -> the coordinates (m, k) of operand A, (n, k) of B, (m, n) of C.

        `values` are those of one instruction, `rest` the thread's fragments along both modes. InputError if
        an instruction has another number of values, or a tile does not divide.
        """
        own = self.values(letter)
        if values != own:
            raise InputError(f"{values} values", expected=f"{own} in a fragment of {letter}")
        tv, rows = self.atom.tv(letter), self.atom.extents(letter)[0]
        index = offsets_at(tv, np.arange(size(tv))).reshape(own, self.atom.threads).T
        warps = np.array([self._warp(w) for w in range(size(self.warps))])
        shape = (len(warps), self.atom.threads, own, *rest)
        found = []
        for mode, at, axis in zip(_MODES[letter], (index % rows, index // rows), (3, 4), strict=True):
            left = np.arange(rest[axis - 3]).reshape([-1 if i == axis else 1 for i in range(5)])
            placed = self._placed(
                mode, at[None, :, :, None, None], warps[:, mode, None, None, None, None], left
            )
            found.append(np.broadcast_to(placed, shape).reshape(len(warps) * self.atom.threads, own, *rest))
        return found[0], found[1]

    def taken(self, letter: str, repeat: tuple[int, int] = (1, 1)) -> Ints:
        """(threads, registers, 2): what each register of `repeat` tiles is taken for, values fastest."""
        first, second = self.tiles(letter)
        found = self.coordinates(letter, self.values(letter), (first * repeat[0], second * repeat[1]))
        return np.stack([x.transpose(0, 3, 2, 1).reshape(self.threads, -1) for x in found], 2)

    def tv(self, letter: str) -> Layout:
        """(thread, value) -> index into one tile, the first mode fastest."""
        rows, columns = self.extents(letter)
        first, second = _MODES[letter]
        shape, atoms = self.atom.shape, [size(mode) for mode in self.warps.modes]
        own = composition(Layout(self.atom.extents(letter), (1, rows)), self.atom.tv(letter), strict=False)
        steps = [0, 0, 0]
        steps[first], steps[second] = shape[first], shape[second] * rows
        warp = composition(Layout(tuple(atoms), tuple(steps)), right_inverse(self.warps), strict=False)
        rest = Layout(self.tiles(letter), (shape[first] * atoms[first], shape[second] * atoms[second] * rows))
        dealt = make_layout(
            make_layout(own[0], warp) if size(warp) > 1 else own[0],
            make_layout(own[1], rest) if size(rest) > 1 else own[1],
        )
        modes = [self.permutation[i] or Layout(n) for i, n in ((first, rows), (second, columns))]
        scaled = composition(Layout(columns, rows), modes[1], strict=False)
        return composition(make_layout(modes[0], scaled), dealt, strict=False)

    def _warp(self, index: int) -> tuple[int, int, int]:
        """The coordinates (m, n, k) of an atom."""
        m, n, k = (size(mode) for mode in self.warps.modes)
        every = offsets_at(self.warps, np.arange(m * n * k))
        at = int(np.flatnonzero(every == index)[0])
        return at % m, at // m % n, at // (m * n)

    def _placed(self, mode: int, atom: Ints, warp: Ints, rest: Ints) -> Ints:
        """The coordinate of element `atom` of an instruction of that warp, the `rest`-th of its thread."""
        own = self.atom.shape[mode]
        across, tile = own * size(self.warps.modes[mode]), self.extent(mode)
        if tile % across:
            raise InputError(f"a tile of {tile}", expected=f"a multiple of {across}")
        inside = tile // across
        index = atom + own * (warp + size(self.warps.modes[mode]) * (rest % inside))
        chosen = self.permutation[mode]
        return (index if chosen is None else offsets_at(chosen, index)) + rest // inside * tile


def tiled_mma(text: str) -> TiledMma:
    """The tiled MMA of that printed type, or of one atom alone. InputError for what is not known."""
    found = _TYPE.fullmatch(text.strip())
    if found is None:
        return TiledMma(printed_atom(text))
    modes = [
        None if part.strip() == "_" else parse_tiler(f"[{part}]")[0]
        for part in (found[3] or "_;_;_").split(";")
    ]
    return made(printed_atom(found[1]), parse_layout(found[2]), modes, text)


def made(atom: MmaAtom, warps: Layout, modes: list[Layout | None], text: str) -> TiledMma:
    """A tiled MMA, if it is static and its atoms are numbered once each. Raises InputError."""
    if len(warps) != 3 or not warps.is_static or len(modes) != 3:
        raise InputError("not (M,N,K) atoms and permutations", text=text[:160], expected="three static modes")
    if not all(mode is None or mode.is_static for mode in modes):
        raise InputError("a permutation that is not static", text=text[:160])
    threads = atom.threads * size(warps)
    if threads > MAX_BLOCK_THREADS:
        raise InputError(
            f"atoms of {threads} threads",
            text=text[:160],
            expected=f"at most {MAX_BLOCK_THREADS}, those of a block",
        )
    if sorted(offsets_at(warps, np.arange(size(warps))).tolist()) != list(range(size(warps))):
        raise InputError("atoms that are not numbered once each", text=text[:160])
    return TiledMma(atom, warps, (modes[0], modes[1], modes[2]))


def one_order(taken: Ints, held: Ints) -> Ints | None:
    """The coordinate that is there for each that is taken, where that is one for all registers."""
    order = np.full(int(taken.max()) + 1, -1)
    order[taken.reshape(-1)] = held.reshape(-1)
    return order if (order[taken] == held).all() else None
