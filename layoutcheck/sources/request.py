"""A `Copy` from what a user says about it, and what had to be assumed because it was not said.

build(src, dst, atom)                 the operands of one cute.copy, as a thread sees them
build(src, dst, atom, thr=, val=)     whole tiles, and the thread and value layouts that partition them
build(src, dst, tiled=)               whole tiles, and the tiled copy that partitions them
build(gmem, smem, "tma_load")         whole tensors, of which a TMA copy moves the tile `tiler` at `coord`
"""

from __future__ import annotations

import re
from typing import Any

from layoutcheck.algebra.inttuple import product
from layoutcheck.algebra.measure import cosize
from layoutcheck.copies.atom import Atom, ThreadAtom
from layoutcheck.copies.cluster import MOST_BLOCKS, Cluster
from layoutcheck.copies.copy import OPS, Copy, Issue, Tiling
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand, is_composed
from layoutcheck.copies.tiled import TiledCopy, make_tiled_copy_tv, partition
from layoutcheck.errors import InputError, option_of, said_of
from layoutcheck.machine.arch import MAX_BLOCK_THREADS, has, parse_arch
from layoutcheck.machine.dtypes import DType, dtype
from layoutcheck.request import Request, takes_request
from layoutcheck.sources.atom_names import short_name
from layoutcheck.sources.live import to_atom, to_layout, to_memref
from layoutcheck.sources.operands import operand, predicate, second_destination, spaces_of, swizzle_of
from layoutcheck.sources.pointers import Defaults
from layoutcheck.sources.tma import every_mode, plain_smem, tma_index, tma_tile
from layoutcheck.sources.types import unswizzled
from layoutcheck.sources.unused import refuse_unused

# Names that stand for a function of the DSL rather than for an atom.
_FUNCTIONS = {
    "autovec": "autovec_copy",
    "autovec_copy": "autovec_copy",
    "basic": "basic_copy",
    "basic_copy": "basic_copy",
}
ONE_THREAD = "src and dst are one thread's views: thr and val would make them whole tiles"
PAST_EDGE = "the predicate is true in the tile, and false past its edge"
DEFAULT_ARCH = "sm_90a"
NARROW_ARCH = "sm_100a"  # 4- and 6-bit elements in a tensor map: PTX ISA, cp.async.bulk.tensor (LC242)


@takes_request(Request)
def build(*given: Any, **options: Any) -> tuple[Copy, tuple[str, ...]]:
    """The copy and the assumptions made. The arguments are those of a `Request`; raises InputError."""
    return read(Request(*given, **options))


def read(given: Request) -> tuple[Copy, tuple[str, ...]]:
    """The copy that is asked about, and what was assumed of it. Raises InputError."""
    op = given.op
    arch = None if given.arch is None else str(parse_arch(given.arch))
    _check(given)
    assumed: list[str] = []
    atom = given.atom if given.tiled is None else given.tiled
    element = _element(given.dtype, atom, (given.src, given.dst))
    moved, whole, op = _atom(given.atom, given.tiled, element, given.bits, op, assumed)
    if moved is not None and op in _FUNCTIONS:
        raise InputError(f"--op {op}: cute.{op} takes no atom", expected="an atom, or --op alone")
    arch = arch or _default_arch(moved, assumed)
    spaces = spaces_of(moved, given.src_space, given.dst_space)
    pointer = swizzle_of(given.swizzle)
    source = operand("src", given.src, element, spaces[0], given.src_space, given.src_align, pointer, assumed)
    target = operand("dst", given.dst, element, spaces[1], given.dst_space, given.dst_align, pointer, assumed)
    _in_shared_memory(arch, src=source, dst=target)
    guard = predicate(given.pred)
    named = tma_index(moved, source, target, given.index, assumed)
    second = second_destination(moved, target, given.aux, assumed)
    source, target, described = plain_smem(moved, source, target, given.described, assumed)
    source, target, tiler, coord, described = every_mode(
        moved, source, target, given.tiler, given.coord, described, assumed
    )
    told = {"tiler": tiler, "coord": coord, "described": described}
    told |= {"internal_type": given.internal_type, "im2col": given.im2col}
    tma = tma_tile(moved, source, target, told, assumed)
    between = read_cluster(moved, given.cluster, given.mcast_mask, given.cta_rank, given.waits_rank)
    issue = _issue(moved, given.block, given.expect_bytes, between)
    tiled, evict = _partitioning(given, moved, whole, source, target, assumed), given.evict_priority
    if tiled is None:
        if whole is None and _like_a_tile(moved, source) and all(map(_is_bare, (given.src, given.dst))):
            assumed.append(ONE_THREAD)
        copy = Copy(moved, source, target, guard, whole, None, op, arch, evict, issue, tma, named, second)
    else:
        views = (partition(tiled, "src", source).view, partition(tiled, "dst", target).view)
        tiling = Tiling(tiled, source, target, given.block)
        if guard is not None and any(map(tiling.reaches_past, ("src", "dst"))):
            assumed.append(PAST_EDGE)
        copy = Copy(tiled.atom, *views, guard, tiled, tiling, op, arch, evict, aux=second)
    refuse_unused(given, element, copy)
    return copy, tuple(assumed)


def _check(given: Request) -> None:
    """Raises InputError for an operation or a number that no copy has."""
    op = given.op
    if op not in OPS:
        raise InputError(f"unknown operation '{op[:40]}'", text=op, end=len(op), expected=" or ".join(OPS))
    for name in ("block", "bits", "src_align", "dst_align", "expect_bytes"):
        count = getattr(given, name)
        most = MAX_BLOCK_THREADS if name == "block" else 1 << 20
        if count is not None and not 1 <= count <= most:
            raise InputError(f"{option_of(name)} is {str(count)[:40]}", expected=f"a number from 1 to {most}")


def _partitioning(
    given: Request, moved: Atom | None, whole: TiledCopy | None, source: Any, target: Any, assumed: list[str]
) -> TiledCopy | None:
    """The tiled copy that partitions src and dst; None where they are the views of one thread."""
    if given.thr is not None or given.val is not None:
        if given.tiled is not None or isinstance(whole, TiledCopy):
            raise InputError(
                "a tiled copy has thread and value layouts of its own", expected="one or the other"
            )
        whole = _tiled_by(moved, given.thr, given.val)
    elif given.tiled is None and isinstance(whole, TiledCopy) and _tiles(whole, source, target):
        assumed.append(
            "src and dst are whole tiles, which the tiled copy partitions: they have its tiler's modes"
        )
    elif given.tiled is None:
        return None
    for name, view in (("src", source), ("dst", target)):
        if isinstance(view, OtherOperand):
            plain = unswizzled(view.text)
            what = f"{view.name} of a composed layout" if is_composed(view) else view.name
            meant = "a tensor in memory" if plain is None else f"its pointer swizzled in bytes, {plain}"
            raise InputError(f"{name}: a {what} cannot be partitioned here", expected=meant)
    return whole


def _in_shared_memory(arch: str, **operands: Memref) -> None:
    """Raises InputError for a tensor that is larger than the shared memory of a block."""
    most = parse_arch(arch).smem_per_block_bytes
    for name, memref in operands.items():
        if memref.space != "smem" or isinstance(memref, OtherOperand) or not memref.layout.is_static:
            continue
        taken = cosize(memref.layout)
        if isinstance(taken, int) and taken * memref.dtype.bits > 8 * most:
            room = f"at most {most:,} B, which a block of {arch} can have"
            raise InputError(
                f"{name} takes {taken * memref.dtype.bits // 8:,} B of shared memory",
                expected=f"{room}, or {option_of(name)}-space 'gmem'",
            )


def _tiled_by(atom: Atom | None, thr: Any, val: Any) -> TiledCopy:
    if thr is None or val is None:
        raise InputError("thread and value layouts must be given together", expected="both --thr and --val")
    if atom is None or atom.family == "tma":
        raise InputError(
            "--thr and --val need an atom that threads execute",
            expected="an atom such as cp.async or universal",
        )
    threads = to_layout(thr, "thr")
    count = product(threads.shape)
    if isinstance(count, int) and count > MAX_BLOCK_THREADS:
        raise InputError(
            f"--thr has {count:,} threads", expected=f"at most {MAX_BLOCK_THREADS}, those of a block"
        )
    return make_tiled_copy_tv(atom, threads, to_layout(val, "val"))


def _like_a_tile(atom: Atom | None, view: Memref | OtherOperand) -> bool:
    """Whether the first mode is longer than the one instruction of a thread's view: perhaps a whole tile."""
    if not isinstance(atom, ThreadAtom) or isinstance(view, OtherOperand):
        return False
    size = product(view.layout.modes[0].shape)
    values = atom.width_bits // view.dtype.bits
    return len(view.layout) > 1 and values > 0 and isinstance(size, int) and size > values


def _tiles(tiled: TiledCopy, *views: Memref | OtherOperand) -> bool:
    """Whether all operands have the tiler's modes, each a multiple of its extent: no thread's view does."""
    extents = [product(mode.shape) for mode in tiled.tiler]
    for view in views:
        if isinstance(view, OtherOperand) or len(view.layout) != len(extents):
            return False
        for mode, extent in zip(view.layout.modes, extents, strict=True):
            size = product(mode.shape)
            if not isinstance(size, int) or not isinstance(extent, int) or size < extent or size % extent:
                return False
    return True


def _is_bare(given: Any) -> bool:
    """Whether an operand is the text of a layout alone."""
    return isinstance(given, str) and given.lstrip().startswith("(")


def _issue(
    atom: Atom | None, block: int | None, expect_bytes: int | None, cluster: Cluster | None
) -> Issue | None:
    """Who issues a bulk copy, TMA copy or st.async, and what its barrier is told; None for other atoms."""
    if expect_bytes is not None and (atom is None or atom.completion != "barrier"):
        raise InputError(
            "--expect-bytes is for copies that a barrier counts",
            expected="a bulk or TMA copy into shared memory, or st.async",
        )
    if atom is None or not atom.completion:
        return None
    if block is None and expect_bytes is None and cluster is None:
        return None
    return Issue(block or 1, expect_bytes, cluster)


def _element(given: Any, atom: Any, operands: tuple[Any, Any]) -> DType | None:
    """The element type for what does not state its own: as given, else another operand's or the atom's."""
    if given is not None:
        return dtype(given)
    for name, value in zip(("src", "dst"), operands, strict=True):
        try:
            with said_of(name):
                memref = to_memref(value, Defaults(space="smem"))
        except InputError as error:
            if error.text is not None:  # no operand, whatever its type
                raise
            continue
        if is_composed(memref) and (made := unswizzled(str(memref))) is not None:
            return made.dtype
        if not isinstance(memref, OtherOperand):
            return memref.dtype
    try:
        found = to_atom(atom, None, None)
    except InputError:
        return None
    inner = found.atom if isinstance(found, TiledCopy) else found
    return getattr(inner, "dtype", None)


def _atom(
    atom: Any, tiled: Any, element: DType | None, bits: int | None, op: str, assumed: list[str]
) -> tuple[Atom | None, TiledCopy | None, str]:
    """The atom, the tiled copy it came in, and the operation."""
    if tiled is not None:
        if isinstance(tiled, str) and not tiled.lstrip().startswith("!"):
            raise InputError(
                f"'{tiled.strip()[:40]}' is not a tiled copy",
                expected="'!cute.tiled_copy<...>', as the DSL prints it; or --thr and --val",
            )
        found = to_atom(tiled, element, bits)
        if not isinstance(found, TiledCopy):
            raise InputError("this is an atom, not a tiled copy", expected="'!cute.tiled_copy<...>'")
        if atom is not None and to_atom(atom, element, bits) != found.atom:
            raise InputError("the tiled copy has another atom than the one given", expected="one of the two")
        return found.atom, found, op
    if atom is None:
        if op == "copy":
            assumed.append("no atom given: taken as cute.autovec_copy(src, dst)")
            op = "autovec_copy"
        return None, None, op
    if isinstance(atom, str) and short_name(atom) in _FUNCTIONS:
        function = _FUNCTIONS[short_name(atom)]
        if op not in ("copy", function):
            raise InputError(
                f"the atom '{atom.strip()}' names a function, and --op another one", expected="one of the two"
            )
        return None, None, function
    found = to_atom(atom, element, bits)
    if isinstance(found, TiledCopy):
        return found.atom, found, op
    return found, None, op


def _default_arch(atom: Atom | None, assumed: list[str]) -> str:
    """sm_90a, or the first architecture that has the atom (of a tensor map, its element type as well)."""
    if atom is not None and atom.whole_copy and atom.dtype.bits in (4, 6):
        what = f"tensor maps of {atom.dtype}"
        assumed.append(f"no architecture given: taken as {NARROW_ARCH}, the first with {what}")
        return NARROW_ARCH
    if atom is None or has(parse_arch(DEFAULT_ARCH), atom.needs):
        return DEFAULT_ARCH
    first = str(atom.needs.first)
    assumed.append(f"no architecture given: taken as {first}, the first that has the atom")
    return first


_WHOLE = re.compile(r"0[bB][01]{1,64}|0[xX][0-9a-fA-F]{1,16}|0|[1-9][0-9]{0,8}")


def read_cluster(
    atom: Atom | None, blocks: int | None, mcast_mask: Any, cta_rank: int | None, waits_rank: int | None
) -> Cluster | None:
    """None where nothing is said. Raises InputError for what such a copy does not take, or does not say."""
    said = {"cluster": blocks, "mcast_mask": mcast_mask, "cta_rank": cta_rank, "waits_rank": waits_rank}
    if all(value is None for value in said.values()):
        return None
    multicast, single = (False, False) if atom is None else (atom.multicast, atom.to_rank)
    if not multicast and not single:
        first = next(name for name, value in said.items() if value is not None)
        raise InputError(
            f"{option_of(first)} is for copies between the blocks of a cluster only",
            expected="bulk.g2s.multicast, tma_load.multicast, bulk.s2s or st.async",
        )
    wants, other = ("mcast_mask", "cta_rank") if multicast else ("cta_rank", "mcast_mask")
    if said[other] is not None or (multicast and waits_rank is not None):
        named = other if said[other] is not None else "waits_rank"
        raise InputError(f"{atom} takes no {option_of(named)}", expected=option_of(wants))
    if blocks is None or said[wants] is None:
        raise InputError(
            f"a copy between blocks needs both --cluster and {option_of(wants)}", expected="both"
        )
    mask = None if mcast_mask is None else _mask(mcast_mask)
    for name, count, low, high in (
        ("cluster", blocks, 1, MOST_BLOCKS),
        ("mcast_mask", mask, 0, 0xFFFF),
        ("cta_rank", cta_rank, 0, 0xFFFF),
        ("waits_rank", waits_rank, 0, blocks - 1),
    ):
        if count is not None and not low <= count <= high:
            raise InputError(f"{option_of(name)} is at least {low} and at most {high}, not {count}")
    return Cluster(blocks, mask, cta_rank, waits_rank)


def _mask(given: Any) -> int:
    if isinstance(given, str) and _WHOLE.fullmatch(given.strip()):
        return int(given, 0)
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    raise InputError(f"--mcast-mask is a number, not '{str(given)[:40]}'", expected="0b11, 0x3 or 3")
