"""A fix as edits of source: which argument of which call is written otherwise.

Every change of a fix (`layoutcheck.copies.changes`) has calls that it may be written into: the allocation of
a tile for its alignment, `make_layout` for its strides, `make_tiled_copy_tv` for threads and values, `launch`
for the block. Where several calls may be meant, there is a candidate for each, nearest first.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, unflatten, wrap
from layoutcheck.algebra.layout import Layout, compact_col_major
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.check import Fix
from layoutcheck.copies.atom import VectorAtom
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError
from layoutcheck.fixes import code
from layoutcheck.patching.edit import Candidate, Edit, apart, span_of
from layoutcheck.patching.instead import in_its_place
from layoutcheck.patching.program import Program, Site, Source, name_of, parameter

MOST_PLACES = 4  # calls tried for one change
_FROM_HOST = ("from_dlpack", "make_ptr", "make_fake_tensor", "make_fake_compact_tensor", "make_tensor_ptr")
_ALLOCATIONS = ("allocate_tensor", "allocate", "allocate_array")


def candidates(program: Program, copy: Copy, fix: Fix, site: Site) -> Iterator[Candidate]:
    """The ways to write a fix into the program: every change of it somewhere, or none."""
    if len(fix.copies) - (fix.strategy == "transpose-in-ldmatrix") != 1:
        yield from in_its_place(program, fix, site)
        return
    options: list[list[Candidate]] = []
    for change in fix.changes:
        places = edits_of_change(program, copy, fix, site, change.argument)
        found = list(itertools.islice(places, MOST_PLACES))
        found.sort(key=lambda edits: _reach(program, edits, site))
        if not found:
            return
        options.append(found)
    for choice in itertools.product(*options):
        edits = tuple(dict.fromkeys(edit for part in choice for edit in part))
        if apart(edits):
            yield edits


def _reach(program: Program, edits: Candidate, site: Site) -> tuple[bool, bool, bool]:
    """Whether an edit is of a function that several calls share, of another file, or overwrites a name.

    What a shared function makes is made for others, too; the value of a name comes from elsewhere.
    """
    return (
        any(_is_shared(program, edit, site) for edit in edits),
        any(edit.path != site.path for edit in edits),
        any(program.sources[edit.path].text[edit.start : edit.end].isidentifier() for edit in edits),
    )


def _is_shared(program: Program, edit: Edit, site: Site) -> bool:
    """Whether an edit is in a function, not the copy's own, that is called in several places."""
    function = program.sources[edit.path].function_at(edit.start)
    return function is not None and function is not site.function and program.calls_of(function.name) > 1


def edits_of_change(program: Program, copy: Copy, fix: Fix, site: Site, argument: str) -> Iterator[Candidate]:
    """The ways to write one change of a fix, nearest first."""
    made = fix.copies[0]
    side, _, what = argument.partition(" ")
    if side in ("src", "dst") and what in ("alignment", "layout", "swizzle"):
        old, new = (one.whole(side) for one in (copy, made))
        start = program.argument(site, side)
        if start is None:
            return
        if made.tiling is not None and new.space == "rmem":
            yield ()  # a fragment follows its threads
        elif what == "alignment":
            yield from _aligned(
                program, start, max(new.proved_align_bytes, made.side(side).proved_align_bytes)
            )
        elif what == "layout":
            yield from _laid_out(program, start, old, new)
        elif new.swizzle is not None:
            yield from _swizzled(program, start, new)
        else:
            yield from unswizzled(program, start)
    elif argument == "threads and values":
        yield from _threads(program, site, fix)
    elif argument == "atom":
        yield from _atom(program, site, copy, made)
    elif argument == "threads launched" and made.tiling is not None:
        yield from _launched(program, site, made.tiling.block_threads)
    elif argument == "expected bytes" and made.issue is not None:
        yield from _expected(program, site, made.issue.expect_bytes)


def _aligned(program: Program, start: Site, need: int) -> Iterator[Candidate]:
    earlier: list[Site] = []
    for place in program.behind(start):
        call = place.node
        if isinstance(call, ast.Subscript) and is_align(call):
            assert isinstance(call.slice, ast.Tuple)
            yield (Edit(place.path, *span_of(program.sources[place.path], call.slice.elts[1]), str(need)),)
        if not isinstance(call, ast.Call):
            continue
        name = name_of(call)
        keyword = (
            "byte_alignment" if name in _ALLOCATIONS else "assumed_align" if name in _FROM_HOST else None
        )
        if keyword is not None:
            yield from _argument(program, place, keyword, str(need), _POSITIONS.get(name), earlier)
        earlier.append(place)


def is_align(node: ast.Subscript) -> bool:
    """`cute.struct.Align[what, bytes]`, the annotation of a struct's member."""
    value = node.value
    name = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
    return name == "Align" and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2


_POSITIONS = {"allocate_tensor": 2, "allocate": 1, "allocate_array": 2, "from_dlpack": 1}


def _laid_out(program: Program, start: Site, old: Memref, new: Memref) -> Iterator[Candidate]:
    """Strides written otherwise in a `make_layout` of the tensor; run-time ones promised at their origin."""
    if old.layout.shape != new.layout.shape:
        yield from _cut(program, start, old, new)
        return
    if not new.layout.is_static:
        yield from _promised(program, start, old, new)
        return
    ordered = _order(new)
    earlier: list[Site] = []
    for place in program.reached(start):
        call = place.node
        assert isinstance(call, ast.Call)
        source = program.sources[place.path]
        before, earlier = earlier, [*earlier, place]
        if name_of(call) == "make_ordered_layout" and ordered is not None:
            given = ast.unparse(_order_of(call) or call)
            if given != code.tree_code(ordered) and given.count(",") == code.tree_code(ordered).count(","):
                yield from _argument(program, place, "order", code.tree_code(ordered), 1, before)
        stride = _stride_of(program, place, new)
        if stride is None:
            continue
        if name_of(call) == "make_layout":
            yield from _argument(program, place, "stride", stride, None, before)
        elif name_of(call) == "make_ordered_layout" and call.args:
            text = source.text[slice(*span_of(source, call.args[0]))]
            made = f"cute.make_layout({text}, stride={stride})"
            yield (Edit(place.path, *span_of(source, call), made),)


def _order_of(call: ast.Call) -> ast.expr | None:
    """The order that `make_ordered_layout` is given."""
    named = next((one.value for one in call.keywords if one.arg == "order"), None)
    return named if named is not None or len(call.args) < 2 else call.args[1]


def _stride_of(program: Program, place: Site, new: Memref) -> str | None:
    """The new strides, nested as the call's shape or its strides are written; None if it has other modes."""
    call = place.node
    assert isinstance(call, ast.Call)
    shape = program.definition(replace(place, node=call.args[0])).node if call.args else None
    given = next((one.value for one in call.keywords if one.arg == "stride"), None)
    for seen in (shape, given):
        stride = None if seen is None else _stride_for(seen, new)
        if stride is not None:
            return stride
    return None


def _cut(program: Program, start: Site, old: Memref, new: Memref) -> Iterator[Candidate]:
    """Another shape, too, where the very layout of the view is written in numbers."""
    for place in program.reached(start):
        made = _literal(place.node)
        if made is not None and _flat(made) == _flat(old.layout) and new.layout.is_static:
            span = span_of(program.sources[place.path], place.node)
            yield (Edit(place.path, *span, code.layout_code(new.layout)),)


def unswizzled(program: Program, start: Site) -> Iterator[Candidate]:
    """An allocation without the swizzle that it is given."""
    earlier: list[Site] = []
    for place in program.reached(start):
        call = place.node
        assert isinstance(call, ast.Call)
        if name_of(call) == "allocate_tensor" and any(one.arg == "swizzle" for one in call.keywords):
            yield from _argument(program, place, "swizzle", "None", 3, earlier)
        earlier.append(place)


def _stride_for(shape: ast.expr, memref: Memref) -> str | None:
    """The strides of a tensor, nested as a shape is written; None where it has other modes."""
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
    earlier: list[Site] = []
    for place in program.reached(start):
        call = place.node
        assert isinstance(call, ast.Call)
        keyword = _PROMISES.get(name_of(call))
        if keyword is not None:
            yield from _argument(program, place, keyword, str(*divisors), None, earlier)
        elif name_of(call) == "make_layout":
            yield from _assumed(program, place, new, *divisors)
        earlier.append(place)


def _assumed(program: Program, place: Site, new: Memref, divisor: int) -> Iterator[Candidate]:
    """`cute.assume` around a run-time stride of a `make_layout` that has the tensor's modes."""
    call, source = place.node, program.sources[place.path]
    assert isinstance(call, ast.Call)
    given = next((one.value for one in call.keywords if one.arg == "stride"), None)
    strides = flatten(wrap(new.layout.stride))
    if given is None or len(_written(given)) != len(strides):
        return
    for leaf, stride in zip(_written(given), strides, strict=True):
        if isinstance(stride, Dynamic) and stride.divisor == divisor and isinstance(leaf, ast.Name):
            start, end = span_of(source, leaf)
            made = f"cute.assume({source.text[start:end]}, divby={divisor})"
            yield (Edit(place.path, start, end, made),)


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
                yield (Edit(place.path, *span_of(program.sources[place.path], call), text),)
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
    for place in _tiled_copies(program, site):
        call = place.node
        assert isinstance(call, ast.Call)
        if name_of(call) == "make_tiled_copy_tv" and len(call.args) == 3:
            pairs = zip(call.args[1:], made.args[1:3], strict=True)
            whole = [_layout(program, replace(place, node=old), new) for old, new in pairs]
            yield tuple(edit for edits in whole for edit in edits[:1])
            yield tuple(edit for edits in whole for edit in edits[-1:])


def _layout(program: Program, old: Site, new: ast.expr) -> list[Edit]:
    """A layout written otherwise at its one definition, and in its place; nothing where it is that layout."""
    made, given = program.definition(old), ast.unparse(new)
    wanted, there = _literal(new), _literal(made.node)
    if wanted is not None and wanted == there:
        return []
    return [Edit(one.path, *span_of(program.sources[one.path], one.node), given) for one in (made, old)]


def _literal(node: ast.expr) -> Layout | None:
    """The layout of `make_layout` of numbers, its modes of extent 1 with stride 0."""
    if not isinstance(node, ast.Call) or name_of(node) != "make_layout" or len(node.args) != 1:
        return None
    try:
        shape = ast.literal_eval(node.args[0])
        given = [ast.literal_eval(one.value) for one in node.keywords if one.arg == "stride"]
        layout = Layout(shape, *(given or [compact_col_major(shape)]))
        steps = zip(flatten(layout.shape), flatten(layout.stride), strict=True)
        return Layout(layout.shape, unflatten(iter([0 if n == 1 else d for n, d in steps]), layout.shape))
    except (ValueError, TypeError, InputError):
        return None


def _flat(layout: Layout) -> list[tuple[object, object]]:
    """Extents and strides of its modes, those of extent 1 left out."""
    pairs = zip(flatten(wrap(layout.shape)), flatten(wrap(layout.stride)), strict=True)
    return [(n, d) for n, d in pairs if n != 1]


def _tiled_copies(program: Program, site: Site) -> Iterator[Site]:
    for role in ("atom", "src", "dst"):
        start = program.argument(site, role)
        if start is not None:
            yield from program.reached(start)


def _atom(program: Program, site: Site, copy: Copy, made: Copy) -> Iterator[Candidate]:
    """Another width, operation, cache mode or transposition."""
    given, atom = copy.atom, made.atom
    if atom is None:
        return
    start = program.argument(site, "atom")
    if start is None:
        return
    earlier: list[Site] = []
    for place in program.reached(start):
        call, source = place.node, program.sources[place.path]
        assert isinstance(call, ast.Call)
        if name_of(call) == "make_copy_atom" and isinstance(atom, VectorAtom) and call.args:
            wide = list(_argument(program, place, "num_bits_per_copy", str(atom.width_bits), None, earlier))
            if given is None or atom.constructor == given.constructor:
                yield from wide
                continue
            operation = Edit(place.path, *span_of(source, call.args[0]), atom.constructor)
            yield from ((operation, *edits) for edits in wide or [()])
        elif isinstance(atom, (LdMatrix, StMatrix)) and name_of(call).startswith(("LdMatrix", "StMatrix")):
            yield from turned(source, call, atom.transpose)
        earlier.append(place)
    if copy.tiling is None and isinstance(atom, VectorAtom) and atom.constructor:
        yield (Edit(start.path, *span_of(program.sources[start.path], start.node), code.atom_code(atom)),)


def coarser(program: Program, site: Site, element_bits: int) -> Iterator[Candidate]:
    """Every `make_swizzle` behind the operands with units of 16 bytes, in elements and in bytes."""
    for role in ("src", "dst"):
        start = program.argument(site, role)
        for place in program.reached(start) if start is not None else ():
            call = place.node
            if isinstance(call, ast.Call) and name_of(call) == "make_swizzle" and len(call.args) == 3:
                source = program.sources[place.path]
                for base in ((128 // element_bits).bit_length() - 1, 4):
                    edit = Edit(place.path, *span_of(source, call.args[1]), str(base))
                    if source.text[edit.start : edit.end] != edit.new:
                        yield (edit,)


def width(program: Program, start: Site, bits: int) -> Iterator[Candidate]:
    """`num_bits_per_copy` of every atom behind an argument written so."""
    earlier: list[Site] = []
    for place in program.reached(start):
        if name_of(place.node) == "make_copy_atom":  # type: ignore[arg-type]
            yield from _argument(program, place, "num_bits_per_copy", str(bits), None, earlier)
        earlier.append(place)


def turned(source: Source, call: ast.Call, transpose: bool) -> Iterator[Candidate]:
    """`LdMatrix8x8x16bOp(True, 4)` and the like with its transposition written."""
    yield from _with_keyword(source, call, "transpose", str(transpose), 0)


def counted(source: Source, call: ast.Call, matrices: int) -> Iterator[Candidate]:
    """`LdMatrix8x8x16bOp(False, 4)` and the like with another number of matrices."""
    yield from _with_keyword(source, call, "num_matrices", str(matrices), 1)


def _launched(program: Program, site: Site, threads: int | None) -> Iterator[Candidate]:
    """The block of the kernel's launch; first that of the function that the copy stands in."""
    found: list[tuple[bool, Candidate]] = []
    for source in program.sources.values():
        for call in source.calls():
            inner = call.func.value if isinstance(call.func, ast.Attribute) else None
            if name_of(call) == "launch" and isinstance(inner, ast.Call):
                other = name_of(inner) != getattr(site.function, "name", "")
                found += [(other, edits) for edits in _block(program, source, call, str(threads))]
    yield from (edits for _, edits in sorted(found, key=lambda one: one[0]))


def _block(program: Program, source: Source, call: ast.Call, threads: str) -> Iterator[Candidate]:
    """The launch's block: where its size is a function's parameter, first at that one's calls."""
    block = next((one.value for one in call.keywords if one.arg == "block"), None)
    plain = isinstance(block, (ast.Tuple, ast.List)) and len(block.elts) == 3
    if not plain or any(ast.unparse(one) != "1" for one in block.elts[1:]):  # type: ignore[union-attr]
        yield from _with_keyword(source, call, "block", f"({threads}, 1, 1)", None)
        return
    size = block.elts[0]  # type: ignore[union-attr]
    if isinstance(size, ast.Name):
        function = source.owners.get(call)
        while function is not None and parameter(function, size.id) is None:
            function = source.owners.get(function)
        for place in program.given(function, size.id):
            yield (Edit(place.path, *span_of(program.sources[place.path], place.node), threads),)
    yield (Edit(source.path, *span_of(source, size), threads),)


def _expected(program: Program, site: Site, count: int | None) -> Iterator[Candidate]:
    source = program.sources[site.path]
    for call in source.calls():
        if name_of(call) in ("mbarrier_arrive_and_expect_tx", "mbarrier_expect_tx") and len(call.args) > 1:
            yield (Edit(site.path, *span_of(source, call.args[1]), str(count)),)


def _argument(
    program: Program, place: Site, keyword: str, value: str, position: int | None, earlier: list[Site]
) -> Iterator[Candidate]:
    """An argument of a call written otherwise; where it is a parameter, first at the calls that led here.

    So a function that others call, too, stays as it is.
    """
    call, function = place.node, place.function
    assert isinstance(call, ast.Call)
    node = next((one.value for one in call.keywords if one.arg == keyword), None)
    if node is None and position is not None and len(call.args) > position:
        node = call.args[position]
    if isinstance(node, ast.Name) and isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        at = parameter(function, node.id)
        for one in reversed(earlier):
            if at is not None and isinstance(one.node, ast.Call) and name_of(one.node) == function.name:
                bound = isinstance(one.node.func, ast.Attribute) and function.args.args[0].arg == "self"
                yield from _with_keyword(program.sources[one.path], one.node, node.id, value, at - bound)
    yield from _with_keyword(program.sources[place.path], call, keyword, value, position)


def _with_keyword(
    source: Source, call: ast.Call, keyword: str, value: str, position: int | None
) -> Iterator[Candidate]:
    """The call with an argument, by its name or its position, written so; nothing where it is."""
    for one in call.keywords:
        if one.arg == keyword:
            start, end = span_of(source, one.value)
            if source.text[start:end] != value:
                yield (Edit(source.path, start, end, value),)
            return
    if position is not None and len(call.args) > position:
        start, end = span_of(source, call.args[position])
        if source.text[start:end] != value:
            yield (Edit(source.path, start, end, value),)
        return
    ends = [span_of(source, one)[1] for one in (*call.args, *(k.value for k in call.keywords))]
    text = f"{keyword}={value}"
    end = max(ends, default=span_of(source, call)[1] - 1)
    yield (Edit(source.path, end, end, f", {text}" if ends else text),)
