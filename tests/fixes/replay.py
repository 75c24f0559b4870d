"""The code of a fix, run on the copy that it repairs: what it makes, to be held against what was checked.

`cute`, `cutlass`, ... are stand-ins whose calls build layoutcheck's own layouts, tensors and atoms; `src`,
`dst` and the other names that the user has are the given copy's. A name that is none of these is an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, unflatten, wrap
from layoutcheck.algebra.layout import Layout, compact_col_major
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.atoms.bulk import BulkCopy
from layoutcheck.atoms.cp_async import CACHE_MODES, CpAsync
from layoutcheck.atoms.dsmem import DsmemStore
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.register.attributes import ATTRIBUTES
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.atom import Atom
from layoutcheck.copies.copy import Copy, Tiling
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.tiled import TiledCopy, make_tiled_copy, make_tiled_copy_tv, partition
from layoutcheck.machine.dtypes import CLASSES, DType, dtype

FRAGMENT_ALIGN = 32
BASIC = "basic_copy"


class Tensor:
    """A memref with what the DSL's tensors offer."""

    def __init__(self, memref: Memref) -> None:
        self.memref = memref
        self.layout = memref.layout
        self.shape, self.stride = memref.layout.shape, memref.layout.stride

    @property
    def iterator(self) -> Memref:
        return self.memref

    def load(self) -> Tensor:
        return self

    def to(self, element: DType) -> Tensor:
        return Tensor(replace(self.memref, dtype=element))

    def store(self, values: Tensor) -> None:
        assert values.memref.dtype == self.memref.dtype


class Cut:
    """`tiled_copy.get_slice(tidx)`."""

    def __init__(self, tiled: TiledCopy) -> None:
        self.tiled = tiled

    def partition_S(self, tensor: Tensor) -> Tensor:
        return Tensor(partition(self.tiled, "src", tensor.memref).view)

    def partition_D(self, tensor: Tensor) -> Tensor:
        return Tensor(partition(self.tiled, "dst", tensor.memref).view)


class Tiled:
    def __init__(self, tiled: TiledCopy) -> None:
        self.tiled = tiled
        self.layout_tv_tiled, self.tiler_mn = tiled.layout_tv, tiled.tiler

    def get_slice(self, tid: object) -> Cut:
        return Cut(self.tiled)


class Thread:
    def __init__(self, seen: dict[str, Any]) -> None:
        self.seen = seen

    def __lt__(self, count: int) -> bool:
        self.seen["block"] = count
        return True


class HostTensor:
    """`src_tensor`, a torch tensor."""

    def __init__(self, memref: Memref) -> None:
        self.memref = memref

    def float(self) -> HostTensor:
        return HostTensor(replace(self.memref, dtype=dtype("f32")))


def replayed(given: Copy, code: str) -> dict[str, Any]:
    """The names that the code leaves: `src`, `dst`, `atom`, ..., and `copied`, the calls of cute.copy."""
    seen: dict[str, Any] = {"copied": [], "block": given.tiling.block_threads if given.tiling else None}
    names = _names(given, seen)
    exec(compile(code, "fix", "exec"), names)
    return {**{k: v for k, v in names.items() if k != "__builtins__"}, **seen}


def _names(given: Copy, seen: dict[str, Any]) -> dict[str, Any]:
    whole = {s: given.tiling.side(s) if given.tiling else given.side(s) for s in ("src", "dst")}
    names: dict[str, Any] = {"__builtins__": {}}
    for side, memref in whole.items():
        names[side] = Tensor(memref)
        names[f"{side}_tile"] = Tensor(given.side(side))
        names[f"{side}_tensor"] = HostTensor(memref)
    names |= {
        "atom": given.atom,
        "tiled_copy": Tiled(given.tiling.tiled) if given.tiling else None,
        "pred": given.pred,
        "tidx": Thread(seen),
        "grid": None,
        "mbar_ptr": None,
        "phase": 0,
        "mcast_mask": None,
        "kernel": lambda *_: SimpleNamespace(launch=lambda *_, **told: _launched(seen, told)),
        "allocator": SimpleNamespace(allocate_tensor=_allocate),
        "cute": _cute(seen),
        "cutlass": SimpleNamespace(**{v: dtype(k) for k, v in CLASSES.items()}),
    }
    return names


def _launched(seen: dict[str, Any], told: dict[str, Any]) -> None:
    if "block" in told:
        seen["block"] = told["block"][0]
    if "cluster" in told:
        seen["cluster"] = math.prod(told["cluster"])


def _allocate(element: DType, layout: Layout, byte_alignment: int, swizzle: Swizzle | None = None) -> Tensor:
    assert isinstance(layout, Layout)
    return Tensor(Memref(element, "smem", layout, byte_alignment, swizzle))


def _cute(seen: dict[str, Any]) -> Any:
    def make_layout(shape: Any, stride: Any = None) -> Layout:
        return Layout(shape, compact_col_major(shape) if stride is None else stride)

    def make_rmem_tensor(layout: Any, element: DType) -> Tensor:
        if not isinstance(layout, Layout):
            layout = Layout(layout, _compact(layout))
        return Tensor(Memref(element, "rmem", layout, FRAGMENT_ALIGN))

    def from_dlpack(tensor: HostTensor, assumed_align: int) -> Tensor:
        return Tensor(replace(tensor.memref, align_bytes=assumed_align))

    def group_modes(tensor: Tensor, begin: int, end: int) -> Tensor:
        layout = tensor.layout
        if type(layout.shape) is not tuple or len(layout.shape) == 1:
            return tensor
        return Tensor(tensor.memref.with_layout(Layout.trusted((layout.shape,), (layout.stride,))))

    def copy(atom: Any, src: Tensor, dst: Tensor, *_: Any, pred: Any = None) -> None:
        seen["copied"].append((atom.tiled.atom if isinstance(atom, Tiled) else atom, src, dst, pred))

    def autovec_copy(src: Tensor, dst: Tensor) -> None:
        seen["copied"].append((None, src, dst, None))

    def expect(bar: object, count: int) -> None:
        seen["expected"] = count

    def elect_one() -> Any:
        seen["elected"] = True
        return _Nothing()

    return SimpleNamespace(
        make_layout=make_layout,
        make_tensor=lambda memref, layout: Tensor(memref.with_layout(layout)),
        make_rmem_tensor=make_rmem_tensor,
        make_rmem_tensor_like=lambda t, element: Tensor(replace(t.memref, dtype=element)),
        make_swizzle=Swizzle,
        make_copy_atom=lambda op, element, num_bits_per_copy=0, **told: _told(
            op(element, num_bits_per_copy), told
        ),
        make_tiled_copy=lambda atom, tv, tiler: Tiled(make_tiled_copy(atom, tv, tiler)),
        make_tiled_copy_tv=lambda atom, thr, val: Tiled(make_tiled_copy_tv(atom, thr, val)),
        assume=_assume,
        recast_tensor=_recast,
        group_modes=group_modes,
        rank=lambda t: len(wrap(t.shape)),
        copy=copy,
        autovec_copy=autovec_copy,
        basic_copy=lambda src, dst: seen["copied"].append((BASIC, src, dst, None)),
        runtime=SimpleNamespace(from_dlpack=from_dlpack),
        arch=SimpleNamespace(mbarrier_arrive_and_expect_tx=expect, elect_one=elect_one),
        nvgpu=_ops(),
    )


def _told(atom: Atom, told: dict[str, str]) -> Atom:
    """The atom with its memory attributes."""
    names = {
        "memory_order": "mem_order",
        "memory_scope": "mem_scope",
        "l1c_evict_priority": "l1_cache_evict_priority",
    }
    options = tuple((names.get(name, name), str(value).lower()) for name, value in told.items())
    return replace(atom, options=options) if options else atom


class _Nothing:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def _recast(tensor: Tensor, element: DType) -> Tensor:
    from layoutcheck.algebra.recast import recast_layout

    memref = tensor.memref
    layout = recast_layout(element.bits, memref.dtype.bits, memref.layout)
    return Tensor(replace(memref, dtype=element, layout=layout))


def _assume(value: Dynamic, divby: int) -> Dynamic:
    assert isinstance(value, Dynamic)  # a run-time value, of the tensor that the user has
    return Dynamic(divby, value.bits)


def _compact(shape: Any) -> Any:
    steps, step = [], 1
    for extent in flatten(shape):
        steps.append(0 if extent == 1 else step)
        step *= extent
    return unflatten(iter(steps), shape)


def _ops() -> Any:
    Op = Callable[[DType, int], Atom]
    cache = {mode.upper(): SimpleNamespace(name=mode) for mode in CACHE_MODES}

    def cp_async(mode: Any = None) -> Op:
        return lambda element, bits: CpAsync(element, bits, "always" if mode is None else mode.name)

    def register(kind: str) -> Callable[[], Op]:
        return lambda: lambda element, bits: RegisterCopy(kind, element, bits)

    def bulk(kind: str, **told: bool) -> Callable[[], Op]:
        return lambda: lambda element, bits: BulkCopy(kind, element, bits, **told)

    def matrix(made: type[LdMatrix] | type[StMatrix], mode: tuple[int, int]) -> Callable[[bool, int], Op]:
        return lambda trans, count: lambda element, _: made(element, count, transpose=trans, mode=mode)

    words = {
        spelled.rpartition(".")[2]: SimpleNamespace(**{value.upper(): value for value in values})
        for _, spelled, values in ATTRIBUTES.values()
    }
    found: dict[str, Any] = {f"Copy{k.upper()}Op": register(k) for k in ("g2r", "r2g", "s2r", "r2s")}
    warp = {
        f"{name}{rows}x{columns}x{bits}bOp": matrix(made, (rows, columns))
        for name, made in (("LdMatrix", LdMatrix), ("StMatrix", StMatrix))
        for rows, columns, bits in ((8, 8, 16), (16, 8, 8), (16, 16, 8))
    }
    cpasync: dict[str, Any] = {"CopyG2SOp": cp_async, "LoadCacheMode": SimpleNamespace(**cache)}
    for kind in ("g2s", "s2g", "s2s"):
        cpasync[f"CopyBulk{kind.upper()}Op"] = bulk(kind)
        cpasync[f"CopyBulk{kind.upper()}MulticastOp"] = bulk(kind, multicast=True)
        cpasync[f"CopyBulk{kind.upper()}ByteMaskOp"] = bulk(kind, byte_mask=True)
    cpasync["CopyDsmemStoreOp"] = lambda: DsmemStore
    return SimpleNamespace(
        CopyUniversalOp=lambda: UniversalCopy,
        cpasync=SimpleNamespace(**cpasync),
        warp=SimpleNamespace(**warp),
        **words,
        **found,
    )


def made_by(given: Copy, code: str) -> tuple[Copy, ...]:
    """The copies that the program makes once the code is in place of, or before, the given one."""
    left = replayed(given, code)
    if len(left["copied"]) > 1 or (left["copied"] and given.tiling is None and "elected" not in left):
        return tuple(
            replace(
                given,
                atom=None if atom == BASIC else atom,
                op=given.op if atom is None else BASIC if atom == BASIC else "copy",
                src=src.memref,
                dst=dst.memref,
            )
            for atom, src, dst, _ in left["copied"]
        )
    pred = left["pred"]
    made = replace(given, atom=left["atom"], pred=pred.memref if isinstance(pred, Tensor) else pred)
    if given.tiling is None:
        views = {side: _viewed(given.side(side), left, side) for side in ("src", "dst")}
        return (replace(made, **views),)
    tiled: TiledCopy = left["tiled_copy"].tiled
    src, dst = left["src"].memref, left["dst"].memref
    views = {"src": src, "dst": dst}
    tiles = {"src": src, "dst": dst}
    for side, view in views.items():
        if view.space != "rmem":
            views[side] = partition(tiled, side, view).view
        else:  # a thread's own registers: those that it has, or new ones
            tiles[side] = given.tiling.side(side)
            views[side] = given.side(side) if view == tiles[side] else view
    return (
        replace(made, tiled=tiled, tiling=Tiling(tiled, tiles["src"], tiles["dst"], left["block"]), **views),
    )


def _viewed(view: Memref, left: dict[str, Any], side: str) -> Memref:
    """The operand: what the code calls by its name, or the given view of the tile that it made."""
    tile: Memref = left[f"{side}_tile"].memref
    now: Memref = left[side].memref
    if view.space == "dsmem":  # the same allocation, of another block
        now = replace(now, space=view.space)
    if tile == view or not isinstance(tile, Memref):
        return now
    return replace(now, align_bytes=tile.align_bytes, swizzle=tile.swizzle)
