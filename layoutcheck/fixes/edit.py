"""What strategies share: the same copy with another atom, other threads or other tensors, and the code of it.

A strategy says what it changes; `replaced`, `rewoven` and `with_tensors` leave everything else as it was
given, and `edit_code` writes every difference between the two copies, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.inttuple import is_static
from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.atom import ThreadAtom
from layoutcheck.copies.copy import Copy, Tiling
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.copies.tiled import make_tiled_copy_tv, partition
from layoutcheck.copies.tiled import threads as threads_of
from layoutcheck.copies.tiling import like, of_tiles
from layoutcheck.copies.vectors import WIDEST_BITS, contiguous_mode
from layoutcheck.errors import InputError
from layoutcheck.fixes import code
from layoutcheck.fixes.draft import Draft, fragment, thread_value

OTHER = {"src": "dst", "dst": "src"}


class Woven(NamedTuple):
    """A copy by new thread and value layouts, and these."""

    copy: Copy
    thr: Layout
    val: Layout


def block_of(tiling: Tiling) -> int:
    """Threads that there are to copy with: those launched, else those that the tiled copy is written for."""
    return tiling.block_threads or threads_of(tiling.tiled)


def vector_of(atom: ThreadAtom, memref: Memref) -> int:
    """Elements of one instruction; of an atom without a width, the most that there could be."""
    return max(1, (atom.width_bits or WIDEST_BITS) // memref.dtype.bits)


def with_tensors(copy: Copy, src: Memref, dst: Memref) -> Copy:
    """The same copy of other tensors: whole tiles where it has them. Raises what `partition` raises."""
    if copy.tiling is None:
        return replace(copy, src=src, dst=dst)
    return of_tiles(copy, src, dst)


def rewoven(
    copy: Copy, atom: ThreadAtom, *, along: str = "src", threads: int | None = None,
    src: Memref | None = None, dst: Memref | None = None,
) -> Woven | None:  # fmt: skip
    """The copy by threads along the contiguous mode of its tile `along`, a whole vector of `atom` each.

    `src` and `dst` are other tiles. None where the threads do not divide the tile, for a copy with a
    predicate (which is made for the vectors it has), and where its views are not its tiles' partitions: then
    nobody knows what they would be under other threads.
    """
    tiling = copy.tiling
    if tiling is None or copy.pred is not None or not _are_partitions(copy):
        return None
    src, dst = src or tiling.src, dst or tiling.dst
    tile = src if along == "src" else dst
    fast = contiguous_mode(tile.layout)
    if fast is None:
        return None
    values = vector_of(atom, src)
    split = thread_value(tile.layout, fast, values, threads or block_of(tiling))
    if split is None:
        return None
    tiled = make_tiled_copy_tv(atom, *split)
    views = {
        side: like(copy.side(side), partition(tiled, side, memref))
        for side, memref in (("src", src), ("dst", dst))
    }
    for side in ("src", "dst"):
        if _is_fragment(copy, side):
            views[side] = copy.side(side) if tiled == tiling.tiled else fragment(views[OTHER[side]])
    block = tiling.block_threads if threads is None else threads
    made = replace(
        copy,
        atom=atom,
        tiled=tiled,
        tiling=Tiling(tiled, src, dst, block),
        src=views["src"],
        dst=views["dst"],
    )
    return Woven(made, *split)


def _are_partitions(copy: Copy) -> bool:
    """Whether the views are what the tiled copy makes of the tiles, aligned as these say, or fragments for it."""
    tiling = copy.tiling
    assert tiling is not None
    for side in ("src", "dst"):
        if _is_fragment(copy, side):
            continue
        made = partitioned(copy, side)  # None: which is what the copy is refused for
        if made is not None and (
            made.layout != copy.side(side).layout
            or made.proved_align_bytes > copy.side(side).proved_align_bytes
        ):
            return False
    return True


def partitioned(copy: Copy, side: str) -> Memref | None:
    """The view that the tiled copy makes of a side's tile; None where it makes none, and for registers."""
    tiling = copy.tiling
    if tiling is None or _is_fragment(copy, side):
        return None
    try:
        return like(copy.side(side), partition(tiling.tiled, side, tiling.side(side)))
    except InputError:
        return None


def _is_fragment(copy: Copy, side: str) -> bool:
    """Whether that side of a copy of tiles is registers, which every thread has of its own."""
    return copy.tiling is not None and copy.side(side).space == "rmem"


def edited(strategy: str, title: str, given: Copy, made: Copy | Woven, note: str = "") -> Draft:
    """The draft whose code is every difference between the copies. Raises InputError as `edit_code` does."""
    if isinstance(made, Woven):
        return Draft(strategy, title, edit_code(given, made.copy, (made.thr, made.val)), (made.copy,), note)
    return Draft(strategy, title, edit_code(given, made), (made,), note)


def of_width(strategy: str, copy: Copy, atom: ThreadAtom) -> Iterator[Draft]:
    """The copy by the same atom of another width; whole tiles are split anew, a whole vector a thread."""
    made = replace(copy, atom=atom) if copy.tiling is None else rewoven(copy, atom)
    if made is not None:
        yield edited(strategy, f"copy {atom.width_bits} bits at a time", copy, made)


def edit_code(given: Copy, made: Copy, split: tuple[Layout, Layout] | None = None) -> str:
    """The statements that make `made` of `given`: its tensors, its atom, its threads, its predicate.

    `split` is the thread and value layout where they are new. Raises InputError where a difference cannot be
    written.
    """
    lines: list[str] = []
    for side in ("src", "dst"):
        lines += _tensor_lines(side, given, made)
    if made.atom is not None and made.atom != given.atom:
        lines.append(f"atom = {code.atom_code(made.atom)}")
    old, new = given.tiling, made.tiling
    if new is not None and old is not None and new.tiled != old.tiled:
        if split is None:
            lines.append(
                "tiled_copy = cute.make_tiled_copy(atom, tiled_copy.layout_tv_tiled, tiled_copy.tiler_mn)"
            )
        else:
            thr, val = (code.layout_code(layout) for layout in split)
            lines.append(f"tiled_copy = cute.make_tiled_copy_tv(atom, {thr}, {val})")
        lines += _fragment_lines(given, made)
    if made.pred is not None and made.pred != given.pred:
        lines.append(f"pred = cute.make_rmem_tensor({code.layout_code(made.pred.layout)}, cutlass.Boolean)")
    if new is not None and old is not None and new.block_threads != old.block_threads:
        lines += _guarded(given, new.block_threads, block_of(old))
    return "\n".join(lines)


def _fragment_lines(given: Copy, made: Copy) -> Iterator[str]:
    for side, cut in (("src", "D"), ("dst", "S")):
        if _is_fragment(given, side) and made.side(side) != given.side(side):
            view = f"tiled_copy.get_slice(tidx).partition_{cut}({OTHER[side]})"
            yield code.fragment_code(view, made.side(side).dtype, side)


def _guarded(given: Copy, threads: int | None, block: int) -> list[str]:
    """Fewer threads copy than are launched."""
    assert threads is not None and threads < block
    src, dst = (
        side if _is_fragment(given, side) else f"own.partition_{cut}({side})"
        for side, cut in (("src", "S"), ("dst", "D"))
    )
    return [
        f"if tidx < {threads}:",
        "    own = tiled_copy.get_slice(tidx)",
        f"    cute.copy(tiled_copy, {src}, {dst})",
    ]


def _tensor_lines(side: str, given: Copy, made: Copy) -> Iterator[str]:
    """The tensor of a side as it is to be made."""
    whole = given.tiling is not None
    old, new = given.whole(side), made.whole(side)
    aligned = given.side(side).proved_align_bytes == made.side(side).proved_align_bytes
    cut_anew = given.tiling is None or made.tiling is None or given.tiling.tiled != made.tiling.tiled
    if old == new and (aligned or cut_anew):
        return
    if isinstance(new, OtherOperand) or old.space != new.space or not is_static(new.layout.shape):
        raise InputError(f"no code makes {new} of {old}")
    values = code.run_time(new.layout, old.layout, side)
    if new.space == "rmem":
        yield f"{side} = cute.make_rmem_tensor({code.layout_code(new.layout)}, {code.dtype_code(new.dtype)})"
    elif new.space in ("smem", "dsmem"):
        if new.layout != old.layout or (whole and not _is_slice(new.layout)):
            yield f"{side} = {code.allocation_code(new, code.layout_code(new.layout))}"
        else:
            yield f"# {side}_tile: the tensor that {side} is a part of"
            yield f"{side}_tile = {code.allocation_code(new, f'{side}_tile.layout')}"
    else:
        yield from _global_lines(side, old, new, values)


def _is_slice(layout: Layout) -> bool:
    """Whether what lies between its rows is as long as they are: a pad is shorter."""
    shape, stride = inttuple.flatten(layout.shape), inttuple.flatten(layout.stride)
    reach = 1
    for step, extent in sorted(
        (d, n) for n, d in zip(shape, stride, strict=True) if type(d) is int and n > 1
    ):
        if step >= 2 * reach:
            return True
        reach = max(reach, step * extent)
    return False


def _global_lines(side: str, old: Memref, new: Memref, values: list[str]) -> Iterator[str]:
    if new.space not in ("gmem", "generic") or new.swizzle != old.swizzle:
        raise InputError(f"no code makes {new} of {old}")
    if new.dtype != old.dtype or new.proved_align_bytes != old.proved_align_bytes:
        tensor = f"{side}_tensor" if new.dtype == old.dtype else f"{side}_tensor.float()"
        yield "# on the host; likewise make_ptr(..., assumed_align=...)"
        yield f"{side} = cute.runtime.from_dlpack({tensor}, assumed_align={new.proved_align_bytes})"
    if new.layout != old.layout:
        yield f"{side} = cute.make_tensor({side}.iterator, {code.layout_code(new.layout, values)})"
