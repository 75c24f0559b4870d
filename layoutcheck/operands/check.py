"""The fragments of a traced kernel's products, led back to the copies that fill them.

A fragment is made for a tiled MMA from the MMA's own partition of a tensor. `retile` shows it to a tiled
copy, which partitions the same tensor for itself. Both say which element of the tensor goes into each
register of each thread: the fragment's layout and the MMA's permutation (`fragments`), the retiled layout
and the copy's layout_tv. They are compared register by register, for all threads.

An order that differs need not be wrong: the same other order of k for A and for B leaves every product as it
is. What a `Filling` shows is therefore judged for the whole `Product`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.offsets import offsets_at, size
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.copies.tiled import TiledCopy
from layoutcheck.errors import InputError
from layoutcheck.operands.fragments import Ints, TiledMma, one_order, tiled_mma
from layoutcheck.sources.mlir import Operation, Value, each_once, parse
from layoutcheck.sources.types import parse_memref, parse_tiled_copy, unswizzled

_MOST = 1 << 20  # registers of all threads that are compared
_BOUNDS = 3  # operands of scf.for before its variables: from, to, step
_THROUGH = ("cute.get_iter", "cute.make_view", "cute.slice", "cute.group_modes", "cute.add_offset")
WARP = "cute_nvgpu.sm80.mma"
# The operand that an operation writes registers of.
_WRITTEN = {
    "cute.copy": 2, "cute.copy_atom_call": 2, "cute.autovec_copy": 1, "cute.basic_copy": 1,
    "cute.memref.store": 0, "cute.memref.store_vec": 1, "cute.gemm": 1, "cute.mma_atom_call": 1,
}  # fmt: skip


class NotFollowed(Exception):
    """Why a fragment's filling is not known; the reason in words is its argument."""


@dataclass(frozen=True, slots=True)
class Filling:
    """What a copy puts into a fragment: where its registers part from what the MMA takes them for.

    `held` and `taken` are coordinates (m or n, k) at `thread` and `register`, the first that differ. `order`
    maps the k that the MMA takes to the k that is there, where it is the same for all threads and registers.
    """

    copy: Operation | None = None
    across: bool = False  # the copy moves m, or n
    along: bool = False  # the copy moves k
    order: tuple[int, ...] | None = None
    thread: int = 0
    register: int = 0
    held: tuple[int, int] = (0, 0)
    taken: tuple[int, int] = (0, 0)
    differ: int = 0
    of: int = 0


@dataclass(frozen=True, slots=True)
class Operand:
    """Operand "A" or "B" of a product: its fragment, and what is known of each copy into it."""

    letter: str
    fillings: tuple[Filling, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Product:
    """A `cute.gemm` of warp-level MMAs; `plain`: C is partitioned by the same MMA, from a natural tensor."""

    gemm: Operation
    a: Operand
    b: Operand
    plain: bool


@dataclass(slots=True)
class _Module:
    """The operations that products are made of; `writes` maps a make_fragment to what writes it."""

    gemms: list[Operation] = field(default_factory=list)
    partitions: list[Operation] = field(default_factory=list)
    writes: dict[Operation, list[Operation]] = field(default_factory=dict)
    known: dict[tuple[Operation, Operation, str], Filling | str] = field(default_factory=dict)


def products(text: str) -> Iterator[Product]:
    """Every product by warp-level MMAs in a traced module. InputError where the module cannot be read."""
    module = _Module()
    for op in parse(text).walk():
        if op.name == "cute.gemm" and WARP in op.operands[0].type:
            module.gemms.append(op)
        elif op.name == "cute.tiled.mma.partition":
            module.partitions.append(op)
        written = op.operands[_WRITTEN[op.name]] if op.name in _WRITTEN else None
        if written is not None and (made := _source(written)[0]) is not None:
            module.writes.setdefault(made, []).append(op)
    for gemm in module.gemms:
        a, b = (_operand(module, gemm, index, letter) for index, letter in ((2, "A"), (3, "B")))
        yield Product(gemm, a, b, _stored_plainly(module, gemm))


def _source(value: Value) -> tuple[Operation | None, list[Operation]]:
    """The one operation that a view comes from, and the retilings on the way.

    Slices and regroupings are gone through, and so are loops and branches: where these bring views of several
    operations, or of none that is known, it is None.
    """
    roots: set[Operation | None] = set()
    retiled: list[Operation] = []
    waiting = [value]
    for one in each_once(waiting):
        made = one.definition
        if made is None or made.name == "scf.for":
            around, index = one.carried
            if around is None:
                roots.add(None)
            else:
                waiting += [around.operands[_BOUNDS + index], *_yielded(around, index)]
        elif made.name == "scf.if":
            waiting += _yielded(made, one.index)
        elif made.name == "cute.tiled.copy.retile":
            retiled.append(made)
            waiting.append(made.operands[1])
        elif made.name in _THROUGH:
            waiting.append(made.operands[0])
        else:
            roots.add(made)
    return (roots.pop() if len(roots) == 1 else None), retiled


def _yielded(around: Operation, index: int) -> list[Value]:
    """What the regions of a loop or branch yield as result `index`."""
    ends = [region.blocks[-1].operations[-1] for region in around.regions if region.blocks]
    return [end.operands[index] for end in ends]


def _operand(module: _Module, gemm: Operation, index: int, letter: str) -> Operand:
    fragment, _ = _source(gemm.operands[index])
    if fragment is None or fragment.name != "cute.mma.make_fragment":
        return Operand(letter, unknown=(f"the fragment of {letter} is not made from a partition",))
    fillings, unknown = [], []
    for op in module.writes.get(fragment, []):
        key = (fragment, op, gemm.operands[0].type + letter)
        if key not in module.known:
            module.known[key] = _told(gemm, fragment, op, letter)
        found = module.known[key]
        if isinstance(found, Filling):
            fillings.append(found)
        else:
            unknown.append(found)
    if not fillings and not unknown:
        unknown.append(f"nothing that is followed writes the fragment of {letter}")
    return Operand(letter, tuple(fillings), tuple(unknown))


def _told(gemm: Operation, fragment: Operation, copy: Operation, letter: str) -> Filling | str:
    """The filling, or why it is not known."""
    try:
        return _filling(gemm, fragment, copy, letter)
    except NotFollowed as reason:
        return str(reason)
    except InputError as error:
        return error.message


def _filling(gemm: Operation, fragment: Operation, copy: Operation, letter: str) -> Filling:
    """What `copy` puts into the fragment. Raises NotFollowed and InputError."""
    if copy.name != "cute.copy":
        raise NotFollowed(f"{copy.name} writes the fragment of {letter}")
    part, _ = _source(fragment.operands[1])
    _, retiled = _source(copy.operands[2])
    own, _ = _source(copy.operands[1])
    if part is None or part.name != "cute.tiled.mma.partition" or len(retiled) != 1:
        raise NotFollowed(f"the fragment of {letter} is not one partition, retiled once")
    if own is None or own.name != "cute.tiled.copy.partition_S":
        raise NotFollowed(f"the source of {letter}'s copy is not a partition")
    if part.operands[1] is not own.operands[1]:
        raise NotFollowed(f"the fragment of {letter} and its copy partition two tensors")
    types = {gemm.operands[0].type, fragment.operands[0].type, part.operands[0].type}
    number = {fragment.attributes.get("operand_id", ""), part.attributes.get("operand_id", "")}
    if len(types) != 1 or {n.split(":")[0].strip() for n in number} != {"01"["AB".index(letter)]}:
        raise NotFollowed(f"the fragment of {letter} is made for another MMA or operand")
    if not {own.operands[0].type, retiled[0].operands[0].type} == {copy.operands[0].type}:
        raise NotFollowed(f"the copy of {letter} is not the one that partitioned and retiled")
    if not _natural(part.operands[1].type):
        raise NotFollowed(f"the tensor of {letter} may be a permuted view")
    views = [made.results[0].type for made in (fragment, retiled[0])]
    return replace(
        compare(gemm.operands[0].type, letter, views[0], copy.operands[0].type, views[1]), copy=copy
    )


@lru_cache(maxsize=256)
def compare(mma_type: str, letter: str, fragment_type: str, copy_type: str, view_type: str) -> Filling:
    """The elements of a tensor in each register: by the MMA's fragment, and by the copy's retiled view.

    Both are (V, rest, rest) over registers. Raises NotFollowed and InputError. The filling has no copy yet.
    """
    mma, tiled = tiled_mma(mma_type), parse_tiled_copy(copy_type)
    fragment, view = _layout(fragment_type), _layout(view_type)
    registers, taken = _taken(mma, letter, fragment)
    places, held = _held(tiled, view)
    if mma.threads != len(held) or mma.threads * len(registers) > _MOST:
        raise NotFollowed(f"the copy of {letter} is made for {len(held)} threads, the MMA for {mma.threads}")
    if sorted(registers.tolist()) != sorted(places.tolist()):
        raise NotFollowed(f"the copy of {letter} fills other registers than the fragment has")
    taken, held = taken[:, np.argsort(registers)], held[:, np.argsort(places)]
    off = (taken != held).any(2)
    if not off.any():
        return Filling()
    thread, at = (int(i) for i in np.argwhere(off)[0])
    across, along = ((taken != held)[:, :, mode].any() for mode in (0, 1))
    there, wanted = ((int(x[thread, at, 0]), int(x[thread, at, 1])) for x in (held, taken))
    order = one_order(taken[:, :, 1], held[:, :, 1])
    return Filling(
        None, bool(across), bool(along), None if order is None else tuple(order.tolist()), thread, at, there,
        wanted, int(off.sum()), off.size,
    )  # fmt: skip


def _taken(mma: TiledMma, letter: str, fragment: Layout) -> tuple[Ints, Ints]:
    """The fragment's registers, and (threads, registers, 2) the coordinates that the MMA takes them for."""
    values, first, second = _three(fragment, letter)
    found = mma.coordinates(letter, values, (first, second))
    each = [x.transpose(0, 3, 2, 1).reshape(mma.threads, -1) for x in found]  # values fastest
    return offsets_at(fragment, np.arange(size(fragment))), np.stack(each, 2)


def _held(tiled: TiledCopy, view: Layout) -> tuple[Ints, Ints]:
    """The registers of a retiled view, and (threads, registers, 2) the coordinates that are put there."""
    values, first, second = _three(view, "the copy")
    threads, own = size(tiled.layout_tv.modes[0]), size(tiled.layout_tv.modes[1])
    if own != values or len(tiled.tiler) != 2 or any(mode.stride != 1 for mode in tiled.tiler):
        raise NotFollowed(
            "the tile of the copy is not of adjacent elements, or its values are not the view's"
        )
    rows, columns = (size(mode) for mode in tiled.tiler)
    index = offsets_at(tiled.layout_tv, np.arange(threads * own)).reshape(own, threads)
    x = index[None, None] % rows + rows * np.arange(first)[None, :, None, None]
    k = index[None, None] // rows + columns * np.arange(second)[:, None, None, None]
    shape = (second, first, own, threads)
    each = [np.broadcast_to(a, shape).reshape(-1, threads).T for a in (x, k)]
    return offsets_at(view, np.arange(size(view))), np.stack(each, 2)


def _three(layout: Layout, what: str) -> tuple[int, int, int]:
    if len(layout) != 3 or not layout.is_static:
        raise NotFollowed(f"the registers of {what} are {layout}, not static (V, rest, rest)")
    return size(layout.modes[0]), size(layout.modes[1]), size(layout.modes[2])


def _layout(text: str) -> Layout:
    memref = parse_memref(text)
    if isinstance(memref, OtherOperand):
        raise NotFollowed("its registers have no layout")
    return memref.layout


def _natural(text: str) -> bool:
    """Whether a tensor's first two modes step through memory in ascending order, as no permuted view does."""
    try:
        memref = unswizzled(text) or parse_memref(text)
    except InputError:
        return False
    if isinstance(memref, OtherOperand) or len(memref.layout) < 2:
        return False
    for mode in memref.layout.modes[:2]:
        steps = [d for s, d in zip(flatten(mode.shape), flatten(mode.stride), strict=True) if s != 1]
        if not all(isinstance(d, int) for d in steps[1:]) or steps[1:] != sorted(steps[1:]):
            return False
        if len(steps) > 1 and not (isinstance(steps[0], int) and steps[0] <= steps[1]):
            return False
    return True


def _stored_plainly(module: _Module, gemm: Operation) -> bool:
    """Whether the kernel partitions C, always by the product's MMA and from natural tensors."""
    mma, kernel = gemm.operands[0].type, _kernel(gemm)
    found = [
        op
        for op in module.partitions
        if op.attributes.get("operand_id", "").startswith("2") and _kernel(op) is kernel
    ]
    return bool(found) and all(op.operands[0].type == mma and _natural(op.operands[1].type) for op in found)


def _kernel(op: Operation) -> Operation:
    """The function that an operation stands in."""
    return op.outer("cuda.kernel", "gpu.func", "func.func")
