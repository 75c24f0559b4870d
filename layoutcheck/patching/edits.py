"""A fix as edits of source: which argument of which call is written otherwise.

Every change of a fix (`layoutcheck.copies.changes`) has calls that it may be written into: the allocation of
a tile for its alignment, `make_layout` for its strides, `make_tiled_copy_tv` for threads and values, `launch`
for the block. Where several calls may be meant, there is a candidate for each, nearest first.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, wrap
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.check import Fix
from layoutcheck.copies.atom import VectorAtom
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError
from layoutcheck.fixes import code
from layoutcheck.patching.program import Program, Site, Source, name_of

MOST_PLACES = 3  # calls tried for one change
_FROM_HOST = ("from_dlpack", "make_ptr", "make_fake_tensor", "make_fake_compact_tensor", "make_tensor_ptr")
_ALLOCATIONS = ("allocate_tensor", "allocate", "allocate_array")


@dataclass(frozen=True, slots=True)
class Edit:
    """The text of a file between two offsets (of characters) becomes `new`."""

    path: str
    start: int
    end: int
    new: str


Candidate = tuple[Edit, ...]


def candidates(program: Program, copy: Copy, fix: Fix, site: Site) -> Iterator[Candidate]:
    """The ways to write a fix into the program: every change of it somewhere, or none."""
    if len(fix.copies) != 1:
        return
    options: list[list[Candidate]] = []
    for change in fix.changes:
        places = _of_change(program, copy, fix, site, change.argument)
        found = list(itertools.islice(places, MOST_PLACES))
        found.sort(key=lambda edits: any(_is_variable(program, edit) for edit in edits))
        if not found:
            return
        options.append(found)
    for choice in itertools.product(*options):
        edits = tuple(dict.fromkeys(edit for part in choice for edit in part))
        if _apart(edits):
            yield edits


def _is_variable(program: Program, edit: Edit) -> bool:
    """Whether a name would be overwritten, whose value comes from elsewhere."""
    return program.sources[edit.path].text[edit.start : edit.end].isidentifier()


def _of_change(program: Program, copy: Copy, fix: Fix, site: Site, argument: str) -> Iterator[Candidate]:
    made = fix.copies[0]
    side, _, what = argument.partition(" ")
    if side in ("src", "dst") and what in ("alignment", "layout", "swizzle"):
        old, new = (one.whole(side) for one in (copy, made))
        start = program.argument(site, side)
        if start is None:
            return
        if what == "alignment":
            yield from _aligned(
                program, start, max(new.proved_align_bytes, made.side(side).proved_align_bytes)
            )
        elif what == "layout":
            yield from _laid_out(program, start, old, new)
        elif new.swizzle is not None:
            yield from _swizzled(program, start, new)
    elif argument == "threads and values":
        yield from _threads(program, site, fix)
    elif argument == "atom":
        yield from _atom(program, site, made)
    elif argument == "threads launched" and made.tiling is not None:
        yield from _launched(program, site, made.tiling.block_threads)
    elif argument == "expected bytes" and made.issue is not None:
        yield from _expected(program, site, made.issue.expect_bytes)


def _aligned(program: Program, start: Site, need: int) -> Iterator[Candidate]:
    for place in program.reached(start):
        call = place.node
        assert isinstance(call, ast.Call)
        name = name_of(call)
        keyword = (
            "byte_alignment" if name in _ALLOCATIONS else "assumed_align" if name in _FROM_HOST else None
        )
        if keyword is not None:
            source = program.sources[place.path]
            yield from _with_keyword(source, call, keyword, str(need), _POSITIONS.get(name))


_POSITIONS = {"allocate_tensor": 2, "allocate": 1, "allocate_array": 2, "from_dlpack": 1}


def _laid_out(program: Program, start: Site, old: Memref, new: Memref) -> Iterator[Candidate]:
    """Strides written otherwise in a `make_layout` of the tensor; run-time ones promised at their origin."""
    if old.layout.shape != new.layout.shape:
        return
    if not new.layout.is_static:
        yield from _promised(program, start, old, new)
        return
    ordered = _order(new)
    for place in program.reached(start):
        call = place.node
        assert isinstance(call, ast.Call)
        source = program.sources[place.path]
        stride = _stride_for(call, new)
        if stride is None:
            continue
        if name_of(call) == "make_layout":
            yield from _with_keyword(source, call, "stride", stride, None)
        elif name_of(call) == "make_ordered_layout" and call.args:
            if ordered is not None:
                yield from _with_keyword(source, call, "order", code.tree_code(ordered), 1)
            shape = source.text[slice(*_span(source, call.args[0]))]
            made = f"cute.make_layout({shape}, stride={stride})"
            yield (Edit(place.path, *_span(source, call), made),)


def _stride_for(call: ast.Call, memref: Memref) -> str | None:
    """The strides of a tensor, nested as the shape of a call is written; None where it has other modes."""
    shape = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "shape"), None)
    if not isinstance(shape, ast.Tuple):
        return None
    extents, strides = (flatten(wrap(tree)) for tree in (memref.layout.shape, memref.layout.stride))
    for kept in (list(strides), [d for n, d in zip(extents, strides, strict=True) if n != 1]):
        if len(kept) == len(_written(shape)):
            return _nested(shape, iter(kept))
    return None


def _written(shape: ast.expr) -> list[ast.expr]:
    """The leaves of a shape that is written as nested tuples."""
    if not isinstance(shape, ast.Tuple):
        return [shape]
    return [leaf for part in shape.elts for leaf in _written(part)]


def _nested(shape: ast.expr, strides: Iterator[int]) -> str:
    if not isinstance(shape, ast.Tuple):
        return str(next(strides))
    parts = [_nested(part, strides) for part in shape.elts]
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


_PROMISES = {
    "sym_int": "divisibility", "sym_int32": "divisibility", "sym_int64": "divisibility",
    "mark_compact_shape_dynamic": "divisibility", "assume": "divby",
}  # fmt: skip


def _promised(program: Program, start: Site, old: Memref, new: Memref) -> Iterator[Candidate]:
    """What a run-time stride is a multiple of, said by whoever makes it."""
    pairs = zip(flatten(wrap(old.layout.stride)), flatten(wrap(new.layout.stride)), strict=True)
    divisors = {n.divisor for o, n in pairs if isinstance(n, Dynamic) and o != n}
    if len(divisors) != 1:
        return
    for place in program.reached(start):
        call = place.node
        assert isinstance(call, ast.Call)
        keyword = _PROMISES.get(name_of(call))
        if keyword is not None:
            yield from _with_keyword(program.sources[place.path], call, keyword, str(*divisors), None)


def _order(memref: Memref) -> tuple[int, ...] | None:
    """The modes by stride, where the layout is compact in that order."""
    strides, shape = wrap(memref.layout.stride), wrap(memref.layout.shape)
    if any(type(d) is tuple for d in strides):
        return None
    at, order = 1, sorted(range(len(strides)), key=strides.__getitem__)
    for mode in order:
        if strides[mode] != at:
            return None
        at *= shape[mode]
    return tuple(order.index(mode) for mode in range(len(order)))


def _swizzled(program: Program, start: Site, new: Memref) -> Iterator[Candidate]:
    """Another `make_swizzle`: of bytes where it is the pointer's, of elements where it is a layout's."""
    swizzle = new.swizzle
    assert swizzle is not None
    element = max(1, new.dtype.bits // 8).bit_length() - 1
    for place in program.reached(start):
        call = place.node
        assert isinstance(call, ast.Call)
        if name_of(call) == "make_swizzle":
            for base in (swizzle.base - element, swizzle.base):
                text = f"cute.make_swizzle({swizzle.bits}, {base}, {swizzle.shift})"
                yield (Edit(place.path, *_span(program.sources[place.path], call), text),)
        elif name_of(call) == "allocate_tensor":
            source = program.sources[place.path]
            yield from _with_keyword(source, call, "swizzle", code.swizzle_code(swizzle), 3)


def _threads(program: Program, site: Site, fix: Fix) -> Iterator[Candidate]:
    """Thread and value layouts, taken from the fix's own code."""
    made = next(
        (
            call
            for call in ast.walk(ast.parse(fix.code))
            if isinstance(call, ast.Call) and name_of(call) == "make_tiled_copy_tv"
        ),
        None,
    )
    if made is None:
        if any(change.argument == "atom" for change in fix.changes):
            yield ()  # the same threads and values of another atom
        return
    thr, val = (ast.unparse(argument) for argument in made.args[1:3])
    for place in _tiled_copies(program, site):
        call, source = place.node, program.sources[place.path]
        assert isinstance(call, ast.Call)
        if name_of(call) == "make_tiled_copy_tv" and len(call.args) == 3:
            yield (
                Edit(place.path, *_span(source, call.args[1]), thr),
                Edit(place.path, *_span(source, call.args[2]), val),
            )


def _tiled_copies(program: Program, site: Site) -> Iterator[Site]:
    for role in ("atom", "src", "dst"):
        start = program.argument(site, role)
        if start is not None:
            yield from program.reached(start)


def _atom(program: Program, site: Site, made: Copy) -> Iterator[Candidate]:
    """Another width, cache mode or transposition."""
    atom = made.atom
    if atom is None:
        return
    start = program.argument(site, "atom")
    if start is None:
        return
    for place in program.reached(start):
        call, source = place.node, program.sources[place.path]
        assert isinstance(call, ast.Call)
        if name_of(call) == "make_copy_atom" and isinstance(atom, VectorAtom) and call.args:
            text = f"{atom.constructor}"
            wide = list(_with_keyword(source, call, "num_bits_per_copy", str(atom.width_bits), None))
            yield from ((Edit(place.path, *_span(source, call.args[0]), text), *edits) for edits in wide)
            yield from wide
        elif isinstance(atom, (LdMatrix, StMatrix)) and name_of(call).startswith(("LdMatrix", "StMatrix")):
            yield from turned(source, call, atom.transpose)


def coarser(program: Program, site: Site, element_bits: int) -> Iterator[Candidate]:
    """Every `make_swizzle` behind the operands with units of 16 bytes, in elements and in bytes."""
    for role in ("src", "dst"):
        start = program.argument(site, role)
        for place in program.reached(start) if start is not None else ():
            call = place.node
            if isinstance(call, ast.Call) and name_of(call) == "make_swizzle" and len(call.args) == 3:
                source = program.sources[place.path]
                for base in ((128 // element_bits).bit_length() - 1, 4):
                    edit = Edit(place.path, *_span(source, call.args[1]), str(base))
                    if source.text[edit.start : edit.end] != edit.new:
                        yield (edit,)


def turned(source: Source, call: ast.Call, transpose: bool) -> Iterator[Candidate]:
    """`LdMatrix8x8x16bOp(True, 4)` and the like with its transposition written."""
    yield from _with_keyword(source, call, "transpose", str(transpose), 0)


def _launched(program: Program, site: Site, threads: int | None) -> Iterator[Candidate]:
    """The block of the kernel's launch; first that of the function that the copy stands in."""
    found: list[tuple[bool, Candidate]] = []
    for source in program.sources.values():
        for call in source.calls():
            inner = call.func.value if isinstance(call.func, ast.Attribute) else None
            if name_of(call) == "launch" and isinstance(inner, ast.Call):
                other = name_of(inner) != getattr(site.function, "name", "")
                edits = _with_keyword(source, call, "block", f"({threads}, 1, 1)", None)
                found += [(other, edit) for edit in edits]
    yield from (edit for _, edit in sorted(found, key=lambda one: one[0]))


def _expected(program: Program, site: Site, count: int | None) -> Iterator[Candidate]:
    source = program.sources[site.path]
    for call in source.calls():
        if name_of(call) in ("mbarrier_arrive_and_expect_tx", "mbarrier_expect_tx") and len(call.args) > 1:
            yield (Edit(site.path, *_span(source, call.args[1]), str(count)),)


def _with_keyword(
    source: Source, call: ast.Call, keyword: str, value: str, position: int | None
) -> Iterator[Candidate]:
    """The call with an argument, by its name or its position, written so; nothing where it is."""
    for one in call.keywords:
        if one.arg == keyword:
            start, end = _span(source, one.value)
            if source.text[start:end] != value:
                yield (Edit(source.path, start, end, value),)
            return
    if position is not None and len(call.args) > position:
        start, end = _span(source, call.args[position])
        if source.text[start:end] != value:
            yield (Edit(source.path, start, end, value),)
        return
    ends = [_span(source, one)[1] for one in (*call.args, *(k.value for k in call.keywords))]
    text = f"{keyword}={value}"
    end = max(ends, default=_span(source, call)[1] - 1)
    yield (Edit(source.path, end, end, f", {text}" if ends else text),)


def _span(source: Source, node: ast.expr) -> tuple[int, int]:
    """The offsets of a node in its file's text; columns of `ast` count bytes."""
    assert node.end_lineno is not None and node.end_col_offset is not None
    lines = source.text.split("\n")
    return _offset(lines, node.lineno, node.col_offset), _offset(lines, node.end_lineno, node.end_col_offset)


def _offset(lines: list[str], line: int, column: int) -> int:
    before = sum(len(one) + 1 for one in lines[: line - 1])
    return before + len(lines[line - 1].encode()[:column].decode())


def cute_of(source: Source) -> str:
    """The name that a file has for `cutlass.cute`."""
    for node in ast.walk(source.tree):
        for one in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
            if one.name == "cutlass.cute":
                return one.asname or one.name
            if one.name == "cute" and isinstance(node, ast.ImportFrom) and node.module == "cutlass":
                return one.asname or one.name
    return "cute"


def _apart(edits: Candidate) -> bool:
    """Whether no two edits touch."""
    ordered = sorted(edits, key=lambda e: (e.path, e.start))
    return (
        bool(edits)
        and all(a.path != b.path or a.end <= b.start for a, b in itertools.pairwise(ordered))
        and len({(e.path, e.start) for e in edits}) == len(edits)
    )


def apply(texts: dict[str, str], edits: Candidate) -> dict[str, str]:
    """The texts with the edits in them. Raises InputError where two are for one place."""
    if not _apart(edits):
        raise InputError("two fixes change the same text")
    out = dict(texts)
    for edit in sorted(edits, key=lambda e: e.start, reverse=True):
        text = out[edit.path]
        name = cute_of(Source(edit.path, texts[edit.path]))
        new = edit.new if name == "cute" else re.sub(r"\bcute\.", f"{name}.", edit.new)
        out[edit.path] = text[: edit.start] + new + text[edit.end :]
    return out
