"""From a view that `cute.copy` is given back to the partition that made it, through printed IR.

A thread's view is a slice, a regrouping, a loop's variable, ... of `thr.partition_S(tensor)`. `origin`
follows it to there; `whole` says which part of the tensor the copy then moves, so that partitioning *that*
gives the view again. The last step is checked and not believed: a view that the partition does not give has
no origin.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from layoutcheck.algebra.composition import composition
from layoutcheck.algebra.integers import Dynamic, divisor
from layoutcheck.algebra.inttuple import flatten, wrap
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.modes import make_layout
from layoutcheck.algebra.simplify import coalesce
from layoutcheck.brackets import split
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import offsets, rest_modes, size, v_mode
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.copies.tiled import Partition, TiledCopy, partition
from layoutcheck.errors import InputError
from layoutcheck.sources.mlir import Operation, Value
from layoutcheck.sources.tensor_maps import argument
from layoutcheck.sources.types import parse_memref, parse_tiled_copy, unswizzled

MAX_STEPS = 200
MAX_ELEMENTS = 1 << 16  # of a view whose offsets are compared one by one

_PARTITIONS = {"cute.tiled.copy.partition_S": "src", "cute.tiled.copy.partition_D": "dst"}
_REGROUPED = frozenset(
    ("cute.logical_divide", "cute.coalesce", "cute.filter_zeros", "cute.flatten", "cute.append_to_rank",
     "cute.zipped_divide", "cute.prepend_to_rank")
)  # fmt: skip

_Label: TypeAlias = "int | tuple[_Label, ...]"  # which modes of the partition a mode of the view is made of


class NoOrigin(Exception):
    """Why a view cannot be led back to a partition; the reason in words is its argument."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A view is what is left of `tiled`'s `side` partition of `tensor` by thread `index`.

    `kept` are the modes of the partition (V is 0) that the view still has; the others were fixed by a slice.
    """

    tiled: TiledCopy
    side: str
    tensor: Memref
    index: Value = field(compare=False)
    kept: tuple[int, ...] = ()


def origin(value: Value) -> Origin:
    """Where a view comes from. Raises NoOrigin."""
    path: list[Operation] = []
    for _ in range(MAX_STEPS):
        made = value.definition
        if made is None:
            value = _before_loop(value)
            continue
        if made.name in _PARTITIONS:
            return _partitioned(made, path)
        if made.name == "scf.if":
            return _either(made, value.index, path)
        if made.name == "scf.for":
            value = made.operands[3 + value.index]
            continue
        if made.name == "cute.make_view":
            path.append(made)
            value = made.operands[0]
            continue
        if made.name not in ("cute.get_iter", "cute.slice", "cute.group_modes", *_REGROUPED):
            raise NoOrigin(f"its view comes from {made.name}")
        if made.name != "cute.get_iter":
            path.append(made)
        value = made.operands[0]
    raise NoOrigin("its view has too long a history")


_ALIGN = re.compile(r"align<([0-9]+)>")
_STATIC = re.compile(r'"[0-9(),]+"')


def shifted(value: Value, launched: Mapping[str, Operation]) -> bool:
    """Whether a view begins a constant number of elements past an address that is better aligned than it.

    Then no promise about that address makes the view's aligned. `launched` are the launches of kernels by
    name: the address may be moved on before.
    """
    for _ in range(MAX_STEPS):
        made = value.definition
        if made is None:
            given = argument(value, launched)
            if given is None:
                return False
            value = given
            continue
        if not made.operands:
            return False
        if made.name == "cute.add_offset":
            pointer, offset = made.operands[0].type, made.operands[1].type
            before, after = _ALIGN.search(pointer), _ALIGN.search(made.results[0].type)
            if before and int(before[1]) > (int(after[1]) if after else 1) and _STATIC.search(offset):
                return True
        elif made.name not in _REGROUPED | {
            "cute.get_iter",
            "cute.make_view",
            "cute.slice",
            "cute.group_modes",
        }:
            if made.name not in _PARTITIONS:
                return False
            value = made.operands[1]
            continue
        value = made.operands[0]
    return False


def whole(found: Origin, view: Memref, side: str) -> tuple[Memref, Memref]:
    """The part of the tensor that all threads' views make up, and the view that its partition is.

    Raises NoOrigin where that is another view. It is the same one but for a composed layout, which the DSL
    swizzles thread by thread: then the view returned has the plain layout under the pointer's swizzle.

    `side` is the operand that the view is. `partition_S` does for a destination where it hands out the same
    as `partition_D`.
    """
    layout = found.tensor.layout
    sliced = len(found.kept) < len(layout) + 1 and len(layout) > 1
    tensor = replace(
        found.tensor,
        layout=make_layout(*_kept_modes(found)),
        align_bytes=max(view.proved_align_bytes, _part_align(found)) if sliced else found.tensor.align_bytes,
    )
    try:
        made = partition(found.tiled, side, tensor)
        if found.side != side and partition(found.tiled, found.side, tensor) != made:
            raise NoOrigin(f"its {side} was partitioned as the {found.side} of its tiled copy")
    except (InputError, AttributeError) as error:  # AttributeError: an atom without traits
        reason = error.message if isinstance(error, InputError) else "its atom is not modelled"
        raise NoOrigin(f"its partition cannot be repeated: {reason}") from None
    if not _same_threads(made.thread, partition(found.tiled, side, found.tensor).thread):
        raise NoOrigin("its part of the tensor is not what its threads' offsets say")
    alike = _alike if tensor.swizzle != view.swizzle else _same
    if not alike(made.view.layout, view.layout):
        raise NoOrigin(f"its view {view.layout} is not the partition {made.view.layout}")
    if tensor.swizzle == view.swizzle:
        return tensor, view
    if tensor.swizzle is not None and not _distributes(tensor, made, view.layout):
        raise NoOrigin("its view steps past the swizzle, and the compiler takes the steps for even ones")
    grouped = made.view.layout
    if len(view.layout) == 2:  # cute.copy makes one mode of all that follow V
        grouped = make_layout(v_mode(grouped), make_layout(*rest_modes(grouped).modes))
    return tensor, replace(view, layout=grouped, swizzle=tensor.swizzle)


def _kept_modes(found: Origin) -> Iterator[Layout]:
    """The modes of the tensor that the view keeps, with the first tile of those that the tiler divides."""
    layout, tiler = found.tensor.layout, found.tiled.tiler
    for i, mode in enumerate(layout.modes):
        kept = i + 1 in found.kept
        if i < len(tiler):
            yield mode if kept or len(layout) == 1 else _first_tile(mode, tiler[i])
        elif kept:
            yield mode


def _part_align(found: Origin) -> int:
    """What the address of every part of the tensor is a multiple of: its own, and the steps to the parts."""
    tensor, tiler = found.tensor, found.tiled.tiler
    bits = tensor.proved_align_bytes * 8
    for i, mode in enumerate(tensor.layout.modes):
        if i + 1 in found.kept:
            continue
        strides = flatten(wrap(mode.stride))
        tile = size(tiler[i]) if i < len(tiler) and len(strides) == 1 else 1
        for stride in strides:
            bits = math.gcd(bits, divisor(stride) * tile * tensor.dtype.bits)
    return max(1, (bits & -bits) // 8)


def _first_tile(mode: Layout, tile: Layout) -> Layout:
    """The elements of a mode that its first tile takes, in the mode's own order."""
    count = size(tile)
    if set(offsets(tile).reshape(-1).tolist()) != set(range(count)):
        raise NoOrigin(f"a tile {tile} takes elements of its mode that are not adjacent")
    try:
        first: Layout = composition(mode, Layout(count, 1), strict=False)
    except InputError:
        raise NoOrigin(f"a tile {tile} of mode {mode} is not static") from None
    return first


def _same_threads(a: Layout, b: Layout) -> bool:
    """Whether every thread has the same offset."""
    if a.is_static and b.is_static:
        return size(a) == size(b) and bool((offsets(a) == offsets(b)).all())
    same: bool = coalesce(a) == coalesce(b)
    return same


def _distributes(tensor: Memref, made: Partition, view: Layout) -> bool:
    """Whether the steps that the view takes for even ones are so, from every element of every thread.

    The DSL finds a partition's strides under a composed layout from the bits of the strides alone
    (measured): those of a pitch that is not a multiple of the swizzle's unit carry into swizzled bits.
    """
    swizzle, scale = tensor.swizzle, max(1, tensor.dtype.bits // 8)
    shape, ours, theirs = (flatten(t) for t in (made.view.layout.shape, made.view.layout.stride, view.stride))
    static = made.view.layout.is_static and made.thread.is_static
    if swizzle is None or len(ours) != len(theirs) or not static:
        return True
    if size(made.thread) * size(made.view.layout) > MAX_ELEMENTS:
        return True
    for i, (extent, step, seen) in enumerate(zip(shape, ours, theirs, strict=True)):
        if extent == 1 or isinstance(seen, Dynamic):
            continue
        before = Layout.trusted((*shape[:i], int(extent) - 1, *shape[i + 1 :]), tuple(ours))
        at = (offsets(made.thread).reshape(-1)[:, None] + offsets(before).reshape(-1)) * scale
        if ((swizzle(at + step * scale) - swizzle(at)) != seen * scale).any():
            return False
    return True


def _alike(a: Layout, b: Layout) -> bool:
    """Whether two views have as many elements a vector, and in all; a swizzle's strides differ by thread."""
    return size(v_mode(a)) == size(v_mode(b)) and size(a) == size(b)


def _same(a: Layout, b: Layout) -> bool:
    """Whether two views step through the same elements: alike, or (static) the same set of offsets."""
    if a.is_static and b.is_static:
        if size(a) != size(b) or size(a) > MAX_ELEMENTS:
            return False
        return bool((np.sort(offsets(a).reshape(-1)) == np.sort(offsets(b).reshape(-1))).all())
    return coalesce(v_mode(a)) == coalesce(v_mode(b)) and _rest(a) == _rest(b)


def _rest(layout: Layout) -> Layout:
    merged: Layout = coalesce(rest_modes(layout))
    return merged


def _before_loop(value: Value) -> Value:
    """What a block's argument is before the loop begins."""
    block = value.owner
    if block is None or isinstance(block, Operation):
        raise NoOrigin("its view has no definition")
    around = block.parent.parent
    if around.name == "scf.for" and value.index >= 1:
        return around.operands[2 + value.index]
    if around.name in ("cuda.kernel", "func.func", "gpu.func"):
        raise NoOrigin("its view is an argument of the kernel, not partitioned there")
    raise NoOrigin(f"its view is a variable of {around.name}")


def _either(made: Operation, index: int, path: list[Operation]) -> Origin:
    """The origin of what both branches of an `scf.if` yield, where it is the same."""
    found: list[Origin] = []
    for region in made.regions:
        last = region.blocks[-1].operations[-1] if region.blocks and region.blocks[-1].operations else None
        if last is None or index >= len(last.operands):
            raise NoOrigin("its view comes from a branch that yields none")
        inner = origin(last.operands[index])
        found.append(inner)
    first, *others = found
    if any(
        (o.tiled, o.side, o.tensor, o.kept) != (first.tiled, first.side, first.tensor, first.kept)
        for o in others
    ):
        raise NoOrigin("its view comes from branches that differ")
    labels: list[_Label] | None = list(first.kept)
    return replace(first, kept=_kept(labels, path))


def _partitioned(made: Operation, path: list[Operation]) -> Origin:
    try:
        tiled = parse_tiled_copy(made.operands[0].type)
        tensor = unswizzled(made.operands[1].type) or parse_memref(made.operands[1].type)
        view = parse_memref(made.results[0].type)
    except InputError as error:
        raise NoOrigin(f"its partition cannot be read: {error.message}") from None
    if isinstance(tensor, OtherOperand) or isinstance(view, OtherOperand):
        raise NoOrigin("its tensor is not one in memory")
    kept = _kept(list(range(len(view.layout))), path)
    if 0 not in kept:
        raise NoOrigin("its view is a slice of a thread's values")
    return Origin(tiled, _PARTITIONS[made.name], tensor, made.operands[2], kept)


def _kept(labels: list[_Label] | None, path: list[Operation]) -> tuple[int, ...]:
    """The partition's modes that are left after the operations of `path`, the last of which came first."""
    left = tuple(_leaves(labels or []))
    for made in reversed(path):
        if made.name == "cute.slice":
            if labels is None:
                raise NoOrigin("its view is sliced after it was regrouped")
            labels = _sliced(labels, made.operands[1].type)
            left = tuple(_leaves(labels))
        elif labels is None:
            continue
        elif made.name == "cute.group_modes":
            labels = _grouped(labels, made)
        elif made.name != "cute.make_view" or len(labels) > _rank(made):
            labels = None
    return left


def _sliced(labels: list[_Label], coord: str) -> list[_Label]:
    """What a slice by `!cute.coord<"(_,?,0)">` leaves."""
    text = coord[coord.find('"') + 1 : coord.rfind('"')].strip()
    parts = split(text[1:-1]) if text.startswith("(") else [text]
    kept: list[_Label] = []
    for i, part in enumerate(parts):
        if "_" in part and part != "_":
            raise NoOrigin(f"its view is sliced inside a mode, by {text}")
        if part == "_" and i < len(labels):
            kept.append(labels[i])
    return kept + labels[len(parts) :]


def _grouped(labels: list[_Label], made: Operation) -> list[_Label]:
    from layoutcheck.sources.mlir import integer

    begin = integer(made.attributes.get("begin", "")) or 0
    end = integer(made.attributes.get("end", ""))
    end = len(labels) if end is None else end
    return [*labels[:begin], tuple(labels[begin:end]), *labels[end:]]


def _rank(made: Operation) -> int:
    try:
        return len(parse_memref(made.results[0].type).layout)
    except InputError:
        return 0


def _leaves(labels: list[_Label] | tuple[_Label, ...]) -> list[int]:
    found: list[int] = []
    for label in labels:
        found += _leaves(label) if isinstance(label, tuple) else [label]
    return found
