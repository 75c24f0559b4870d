"""`make_tma`: what the installed DSL makes of TMA copies of whole tensors: tensor map, partition and PTX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.atoms.tma.descriptor import Descriptor
from layoutcheck.atoms.tma.plan import gmem_side, smem_side, tile_of
from layoutcheck.atoms.tma.words import decode
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.dsl.session import Session


@dataclass(frozen=True, slots=True)
class MadeTma:
    """`words` are the tensor map's, as the host code stores them for the base and run-time values asked.

    `atom`, `coord`, `here`, `there` and `rows` are printed types: the atom, the coordinate tensor, and the
    partition of the shared, of the coordinate, and of the index tensor. `ptx` is a kernel of the tensor map
    (128 bytes), the coordinate tensor, the index tensor of gather4 and scatter4, the shared tensor's address,
    the barrier's and, of a multicast, the mask (16 bits). `error` is the DSL's, where it refuses.
    """

    error: str = ""
    died: int = 0
    words: tuple[int, ...] = ()
    atom: str = ""
    coord: str = ""
    here: str = ""
    there: str = ""
    rows: str = ""
    ptx: str = ""

    @property
    def descriptor(self) -> Descriptor:
        """The words, read."""
        return decode(self.words)


def make_tma(
    copies: Sequence[tuple[Copy, Copy, int]], *, lower: bool = True, timeout: float | None = None,
    session: Session | None = None,
) -> list[MadeTma]:  # fmt: skip
    """Each `(copy, instance, base)` built: run-time values as in the static instance, the tensor at `base`.

    Raises DslUnavailable where the DSL cannot be asked, or `timeout` seconds have passed.
    """
    if session is None:
        with Session() as session:
            return make_tma(copies, lower=lower, timeout=timeout, session=session)
    answers = session.ask("tma", [item(*one, lower) for one in copies], timeout)
    names = [one.name for one in fields(MadeTma)]
    made = [MadeTma(**{name: answer[name] for name in names if name in answer}) for answer in answers]
    return [replace(one, words=tuple(one.words)) for one in made]


def item(copy: Copy, instance: Copy, base: int, lower: bool) -> dict[str, Any]:
    """The copy as the worker takes it."""
    assert isinstance(copy.atom, TmaCopy)
    tile = tile_of(copy)
    gmem, smem = copy.side(gmem_side(copy)), copy.side(smem_side(copy))
    static = instance.side(gmem_side(copy))
    leaves: list[list[Any]] = [[], []]
    for typed, known in ((gmem, static), (copy.index, instance.index)):
        for found, memref in zip(leaves, (typed, known), strict=True):
            found += [] if memref is None else flatten((memref.layout.shape, memref.layout.stride))
    return {
        "kind": f"{copy.atom.kind}{'.multicast' * copy.atom.multicast}",
        "gmem": str(gmem),
        "smem": str(smem),
        "described": composed(tile.described or smem),
        "tiler": list(tile.tiler),
        "internal": str(tile.internal or ""),
        "coord": list(tile.coord or (0,) * len(tile.tiler)),
        "arch": copy.arch,
        "base": base,
        "values": [int(value) for leaf, value in zip(*leaves, strict=True) if isinstance(leaf, Dynamic)],
        "lower": lower,
        **({} if tile.im2col is None else {"im2col": asdict(tile.im2col), "described": _composed(copy)}),
        "index": "" if copy.index is None else str(copy.index),
    }


def _composed(copy: Copy) -> str:
    """The layout of an im2col copy, which is refused where it is not composed, be it with no swizzle."""
    tile = tile_of(copy)
    described = tile.described or copy.side(smem_side(copy))
    if tile.described is None and described.swizzle is None:
        return f"S<0,4,3> o 0 o {described.layout}"
    return composed(described)


def composed(smem: Memref) -> str:
    """A shared tensor's layout as `make_tiled_tma_atom` takes it: the swizzle composed with it, in bytes."""
    return f"{smem.swizzle} o 0 o {smem.layout}" if smem.swizzle is not None else str(smem.layout)
