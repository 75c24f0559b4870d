"""The copies of a module that the compiler printed in MLIR's generic form with locations."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

from layoutcheck.atoms.compiler import predict
from layoutcheck.atoms.matrix import StMatrix
from layoutcheck.copies.copy import Copy, Tiling
from layoutcheck.copies.coverage import coverage, ragged
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.copies.plan import surplus
from layoutcheck.copies.tiled import TiledCopy, threads
from layoutcheck.errors import InputError
from layoutcheck.places import in_library
from layoutcheck.sources.chains import NoOrigin, Origin, origin, shifted, whole
from layoutcheck.sources.diagnostics import copies_from_error
from layoutcheck.sources.mlir import Operation, Value, parse
from layoutcheck.sources.mlir.scan import unescape
from layoutcheck.sources.tensor_maps import bytes_past, launches, map_of, mapped_tensor, moved_through
from layoutcheck.sources.threads import Workers, workers
from layoutcheck.sources.traced import Frame, Partitioned, TracedCopy
from layoutcheck.sources.types import parse_memref

NOWHERE = Frame("", 0)
MAX_SOURCE_BYTES = 1 << 24

COPIES = ("cute.copy", "cute.copy_atom_call")
COPY = '"cute.copy'  # what no module without a copy has in it
# One such copy (CUTLASS, blackwell_geforce) is lowered to other addresses than `partition` gives its threads.
UNSETTLED = "the threads of stmatrix under a tiler that permutes its modes are not settled"
_PLACE = re.compile(r'(?:"((?:[^"\\]|\\.)*)"\()?"((?:[^"\\]|\\.)+)":([0-9]+):([0-9]+)')
_FUNCTION = re.compile(r"[\w.<>]+\Z")
_COPIES = re.compile(r"copy|\A(?:load|store|fill)\Z", re.IGNORECASE)


def read_module(text: str, kernel: str, arch: str, locations: Sequence[str] = ()) -> list[TracedCopy]:
    """The copies in the order of the text, repeats included. Raises InputError for text that is no module.

    `locations` are theirs, where the text is printed without.
    """
    if COPY not in text:
        return []
    module = parse(text)
    copies = [op for op in module.walk() if op.name in COPIES]
    launched = launches(module)
    places = locations if len(locations) == len(copies) else [op.location_text for op in copies]
    return [_traced(op, place, kernel, arch, launched) for op, place in zip(copies, places, strict=True)]


def _traced(
    op: Operation, location: str, kernel: str, arch: str, launched: dict[str, Operation]
) -> TracedCopy:
    types = ", ".join(value.type for value in op.operands)
    names = ", ".join(value.name for value in op.operands)
    operation = f'"{op.name}"({names}) : ({types}) -> ()'
    frames = where_of(location) or [NOWHERE]
    copy, problem = _copy(f'"{op.name}"(%0) : ({types}) -> ()', arch)
    address_source, missing = "types", problem
    warps: tuple[int, ...] = ()
    partitioned, unmapped = None, ""
    if copy is not None:
        copy, missing, warps, partitioned = with_threads(op, copy)
        copy = with_recasts(op, copy)
        if behind := surplus(copy):  # until the lowered module says whether anything reads these registers
            copy = copy.on_side("dst", partial(replace, spare=behind))
            unmapped = "what reads the registers behind its destination is not known"
        address_source = "types" if missing else "threads"
        if copy.needs_map:
            copy, unmapped = _with_map(op, copy, launched)
    return TracedCopy(
        copy, operation, frames[0], tuple(frames[1:]), kernel, arch, address_source, missing,
        in_dsl=made_in_library(frames[0]), warps=warps, partitioned=partitioned, unbounded=unmapped,
        shifted=tuple(side for side, at in (("src", 1), ("dst", 2)) if shifted(op.operands[at], launched)),
    )  # fmt: skip


def _with_map(op: Operation, copy: Copy, launched: dict[str, Operation]) -> tuple[Copy, str]:
    """A TMA copy with what the host's code says of its tensor map, and what was not checked of it."""
    made = map_of(op.operands[0], launched)
    if made is None:
        return copy, "its tensor map is not found in the host's code"
    shared = next((one for one in (copy.src, copy.dst) if not isinstance(one, OtherOperand)), None)
    swizzle = None if shared is None else moved_through(op, shared, copy.arch, launched)
    known = None if isinstance(swizzle, str) else swizzle
    found = replace(copy, mapped=mapped_tensor(made), map_past=bytes_past(made) or 0, map_swizzle=known)
    return found, swizzle if isinstance(swizzle, str) else ""


def with_threads(op: Operation, copy: Copy) -> tuple[Copy, str, tuple[int, ...], Partitioned | None]:
    """The copy with the tiling that its operands were partitioned by; or as it is, and what is missing.

    Then which threads of the tiled copy each warp of the block works as (`Workers.warps`); and, where all
    that is missing is which threads come by, what it is once that is known.
    """
    sides = {"src": op.operands[1], "dst": op.operands[2]}
    if any(isinstance(copy.side(side), OtherOperand) for side in sides):
        alone = copy.atom is not None and copy.atom.by_engine
        return copy, "" if alone else "an operand is not a tensor in memory", (), None
    memory = {side: value for side, value in sides.items() if copy.side(side).space != "rmem"}
    if not memory:
        return copy, "", (), None  # registers to registers: every thread has its own
    try:
        origins = _origins(memory)
        tensors = {side: whole(found, copy.side(side), side) for side, found in origins.items()}
    except NoOrigin as reason:
        return copy, str(reason), (), None
    first = next(iter(origins.values()))
    if isinstance(copy.atom, StMatrix) and any(type(mode.shape) is tuple for mode in first.tiled.tiler):
        return copy, UNSETTLED, (), None
    count = threads(first.tiled)
    told = _workers(op, list(origins.values()), count)
    if isinstance(told, str):
        return copy, told, (), None
    doubt = next((one.doubt for one in told if one.doubt), "")
    absent = bool(doubt)
    if doubt and _each_element_once(first.tiled, [tensor for tensor, _ in tensors.values()]):
        doubt = ""
    placed = {side: tensor for side, (tensor, _) in tensors.items()}
    full = replace(copy, tiling=_tiling(first.tiled, placed, copy, {one.block for one in told}))
    for side, (_, view) in tensors.items():
        full = full.with_side(side, view)
    if predict(full).outcome != predict(copy).outcome:
        return copy, "the compiler judges its view otherwise than the swizzled tensor's", (), None
    partitioned = Partitioned(full, told[0].index, count) if absent else None
    return (copy, doubt, (), partitioned) if doubt else (full, "", told[0].warps, partitioned)


def _origins(memory: dict[str, Value]) -> dict[str, Origin]:
    """Where each side's tensor comes from. Raises NoOrigin where two tiled copies partitioned them."""
    origins = {side: origin(value) for side, value in memory.items()}
    first, *rest = origins.values()
    if any(found.tiled != first.tiled for found in rest):
        raise NoOrigin("its sides were partitioned by different tiled copies")
    return origins


def _workers(op: Operation, origins: list[Origin], count: int) -> list[Workers] | str:
    """The threads that each view is of; or why they are not known."""
    told = []
    for found in origins:
        one = workers(op, found.index, count)
        if isinstance(one, str):
            return one
        told.append(one)
    if any(one.warps != told[0].warps for one in told):
        return "a thread's views are those of two threads of its tiled copy"
    return told


def _tiling(tiled: TiledCopy, tensors: dict[str, Memref], copy: Copy, blocks: set[int | None]) -> Tiling:
    """The tiling of the tensors in memory; what lies in registers has the other one's layout."""
    src = tensors["src"] if "src" in tensors else _in_registers(tensors["dst"], copy.src)
    dst = tensors["dst"] if "dst" in tensors else _in_registers(tensors["src"], copy.dst)
    return Tiling(tiled, src, dst, blocks.pop() if len(blocks) == 1 else None)


def _each_element_once(tiled: TiledCopy, tensors: Sequence[Memref]) -> bool:
    """Whether no two threads share an element and none lies outside, so that any of them may be left out."""
    try:
        return coverage(tiled).bijective and not any(ragged(tiled, tensor) for tensor in tensors)
    except InputError:
        return False


def _in_registers(tensor: Memref, view: Memref) -> Memref:
    """The tile that a thread's registers are a share of: as the one in memory, all that is known of it."""
    return replace(view, layout=tensor.layout)


def where_of(location: str) -> list[Frame]:
    """The user's frames that a printed location names, innermost first."""
    return [
        Frame(path, int(line), int(column) + 1, name if _FUNCTION.match(name) else "")
        for name, path, line, column in (map(unescape, found) for found in _PLACE.findall(location))
        if not in_library(path)
    ]


def made_in_library(where: Frame) -> bool:
    """Whether the call that stands there, in the user's file, is one of no copy: library code makes it."""
    called = _calls(where.file).get((where.line, where.column - 1))
    return called is not None and not any(_COPIES.search(name) for name in called)


@lru_cache(maxsize=1024)
def _copy(operation: str, arch: str) -> tuple[Copy | None, str]:
    """The copy, or why there is none; loops and similar kernels have copies of the same types."""
    try:
        found = copies_from_error(operation, arch)
    except InputError as error:
        return None, error.message
    return (found[0][0], "") if found else (None, "its types cannot be read")


@lru_cache(maxsize=256)
def _calls(path: str) -> dict[tuple[int, int], set[str]]:
    """The names called by the calls that begin at each (line, column from 0) of a source file."""
    try:
        source = Path(path)
        if source.stat().st_size > MAX_SOURCE_BYTES:
            return {}
        tree = ast.parse(source.read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return {}
    found: dict[tuple[int, int], set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            name = getattr(called, "attr", getattr(called, "id", ""))  # of `a.b()` and of `b()`
            found.setdefault((node.lineno, node.col_offset), set()).add(name)
    return found


MAX_STEPS = 64

# Operations whose result is a view of their first operand.
_VIEWS = frozenset(
    ("cute.slice", "cute.group_modes", "cute.get_iter", "cute.add_offset", "cute.coalesce",
     "cute.filter_zeros", "cute.flatten", "cute.append_to_rank", "cute.prepend_to_rank",
     "cute.logical_divide", "cute.zipped_divide", "cute.tiled_divide", "cute.flat_divide",
     "cute.local_tile", "cute.local_partition", "cute.composition", "cute.domain_offset",
     "cute.make_view", "cute.select", "cute.tiled.copy.retile")
)  # fmt: skip
_PARTITIONS = {"cute.tiled.copy.partition_S", "cute.tiled.copy.partition_D"}


def with_recasts(op: Operation, copy: Copy) -> Copy:
    """The copy whose operands, and the tensors they are partitions of, know what they were recast from."""
    for side, value in (("src", op.operands[1]), ("dst", op.operands[2])):
        view = copy.side(side)
        if isinstance(view, OtherOperand) or view.space == "rmem":
            continue
        found = recast_from(value)
        if found is None:
            continue
        copy = copy.on_side(side, partial(replace, recast_from=found))
    return copy


def recast_from(value: Value) -> Memref | None:
    """The tensor that `recast_tensor` was given, where a view was made through one and it has to be known.

    The DSL recasts a tensor's pointer and its layout each by itself (measured): a pointer without the swizzle
    of the old one, strides rounded up, and of elements that are not adjacent only the first part of each. The
    types of a copy do not show it; the operations that made its operands do.
    """
    for _ in range(MAX_STEPS):
        made = value.definition
        if made is None or not made.operands:
            return None
        if made.name == "cute.make_view":
            found = _recast(made)
            if found is not None:
                return found
        if made.name in _PARTITIONS:
            value = made.operands[1]
        elif made.name in _VIEWS:
            value = made.operands[0]
        else:
            return None
    return None


def _recast(made: Operation) -> Memref | None:
    """The tensor of which pointer and layout were recast to make this view."""
    if len(made.operands) < 2:
        return None
    pointer, layout = made.operands[0].definition, made.operands[1].definition
    if pointer is None or layout is None:
        return None
    if pointer.name != "cute.recast_iter" or layout.name != "cute.recast_layout":
        return None
    iterator, given = pointer.operands[0].definition, layout.operands[0].definition
    if iterator is None or iterator.name != "cute.get_iter":
        return None
    tensor = iterator.operands[0]
    if given is not None and given.name == "cute.get_layout" and given.operands[0] is not tensor:
        return None
    try:
        found = parse_memref(tensor.type)
    except InputError:
        return None
    return None if isinstance(found, OtherOperand) else found
