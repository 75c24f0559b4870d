"""Edits of what a tensor is made with: its strides, its alignment, its swizzle, what is promised of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, wrap
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.simplify import coalesce
from layoutcheck.copies.memref import Memref
from layoutcheck.fixes import code
from layoutcheck.lint.source import Source
from layoutcheck.patching.arguments import argument, with_keyword
from layoutcheck.patching.copiers import literal, threads_and_values
from layoutcheck.patching.edit import Candidate, Edit, rewritten
from layoutcheck.patching.program import Program, Site
from layoutcheck.patching.stages import may_be_of, said, solved, staged
from layoutcheck.syntax import argument_of, name_of

_NUMBER = re.compile(r"\b[0-9]+\b")
_FROM_HOST = ("from_dlpack", "make_ptr", "make_fake_tensor", "make_fake_compact_tensor", "make_tensor_ptr")


_ALLOCATIONS = ("allocate_tensor", "allocate", "allocate_array")


_POSITIONS = {"allocate_tensor": 2, "allocate": 1, "allocate_array": 2, "from_dlpack": 1}


def aligned(program: Program, start: Site, need: int) -> Iterator[Candidate]:
    """The alignment, in bytes, of an allocation or of what the host promises."""
    earlier: list[Site] = []
    for place in program.behind(start):
        call = place.node
        if isinstance(call, ast.Subscript) and is_align(call):
            assert isinstance(call.slice, ast.Tuple)
            yield from _constant(program, replace(place, node=call.slice.elts[1]), need)
            yield (rewritten(program.sources[place.path], call.slice.elts[1], str(need)),)
        if not isinstance(call, ast.Call):
            continue
        name = name_of(call)
        keyword = (
            "byte_alignment" if name in _ALLOCATIONS else "assumed_align" if name in _FROM_HOST else None
        )
        if keyword is not None:
            yield from _of_keyword(program, place, keyword, need, earlier)
        earlier.append(place)


def _of_keyword(
    program: Program, place: Site, keyword: str, value: int, earlier: list[Site]
) -> Iterator[Candidate]:
    """A number that a call is given, where it comes from: an attribute, a module's constant, a parameter."""
    call, position = place.node, _POSITIONS.get(name_of(place.call))
    assert isinstance(call, ast.Call)
    node = argument_of(call, keyword, position)
    if isinstance(node, ast.Attribute) or (isinstance(node, ast.Name) and node.id.isupper()):
        yield from _constant(program, replace(place, node=node), value)
    yield from argument(program, place, keyword, str(value), position, earlier)


def _constant(program: Program, site: Site, need: int) -> Iterator[Candidate]:
    """The number that a name or an attribute is given in one place, for all who use it."""
    found = [one for one in program.behind(site) if isinstance(one.node, ast.Constant)]
    if len(found) == 1 and found[0].node is not site.node:
        yield (program.rewritten(found[0], str(need)),)


def is_align(node: ast.Subscript) -> bool:
    """`cute.struct.Align[what, bytes]`, the annotation of a struct's member."""
    value = node.value
    name = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
    return name == "Align" and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2


def laid_out(program: Program, start: Site, old: Memref, new: Memref) -> Iterator[Candidate]:
    """Strides written otherwise in a `make_layout` of the tensor; run-time ones promised at their origin.

    Not in that of one view of shared memory, if elements would lie elsewhere: whoever wrote them has another.
    Nor in one of threads or values: a thread's part of the tensor comes from these, too.
    """
    moves = new.space in ("smem", "dsmem") and coalesce(old.layout) != coalesce(new.layout)
    if old.layout.shape != new.layout.shape:
        yield from _cut(program, start, old, new, moves)
        return
    if not new.layout.is_static:
        yield from _promised(program, start, old, new)
        return
    ordered = _order(new)
    earlier: list[Site] = []
    for place in program.reached(start):
        call = place.call
        source = program.sources[place.path]
        before, earlier = earlier, [*earlier, place]
        if moves and _is_of_a_view(source, call):
            continue
        if not may_be_of(program, place, old.layout) or _is_of_threads(source, call):
            continue
        if name_of(call) == "make_ordered_layout" and ordered is not None:
            given = ast.unparse(argument_of(call, "order", 1) or call)
            if given != code.tree_code(ordered) and given.count(",") == code.tree_code(ordered).count(","):
                yield from argument(program, place, "order", code.tree_code(ordered), 1, before)
        stride = _stride_of(program, place, new)
        if stride is None:
            yield from staged(program, place, old.layout, new.layout)
            continue
        if name_of(call) == "make_layout":
            yield from solved(program, place, list(map(int, _NUMBER.findall(stride))))
            yield from _summed(program, place, old, new, before)
            words = said(program, place)
            parts = re.split(r"\b([0-9]+)\b", stride)
            parts[1::2] = [words.get(int(number), number) for number in parts[1::2]]
            stride = "".join(parts)
            yield from argument(program, place, "stride", stride, None, before)
        elif name_of(call) == "make_ordered_layout" and call.args:
            text = source.text_of(call.args[0])
            made = f"cute.make_layout({text}, stride={stride})"
            yield (rewritten(source, call, made),)


def _summed(
    program: Program, place: Site, old: Memref, new: Memref, earlier: list[Site]
) -> Iterator[Candidate]:
    """Strides that are sums, `columns + 4` or `columns + pad`, with another number in them.

    What is given for a parameter changes at the call that led here: others may need another padding.
    """
    given = argument_of(place.call, "stride")
    leaves = given.elts if isinstance(given, ast.Tuple) else []
    strides = [flatten(wrap(one.layout.stride)) for one in (old, new)]
    edits: list[Edit] = []
    for leaf, was, now in zip(leaves, *strides, strict=False):
        if was == now:
            continue
        if not isinstance(leaf, ast.BinOp) or not isinstance(leaf.op, ast.Add):
            return
        added = _given_for(replace(place, node=leaf.right), earlier)
        if not isinstance(added.node, ast.Constant) or type(added.node.value) is not int:
            return
        if (other := added.node.value + now - was) < 0:  # type: ignore[operator]
            return
        if other or added.node is not leaf.right:
            edits.append(program.rewritten(added, str(other)))
        else:
            text = program.sources[place.path].text_of(leaf.left)
            edits.append(program.rewritten(replace(place, node=leaf), text))
    if edits and len(leaves) == len(strides[0]) == len(strides[1]):
        yield tuple(edits)


def _given_for(site: Site, earlier: list[Site]) -> Site:
    """What the nearest of earlier calls gives for a parameter of its function; another expression itself."""
    name, scope = getattr(site.node, "id", ""), site.scope
    if name not in scope.parameters:
        return site
    at = scope.parameters.index(name)
    calls = (one for one in reversed(earlier) if scope.name and name_of(one.call) == scope.name)
    call = next(calls, None)
    value = None if call is None or scope.parameters[0] == "self" else argument_of(call.call, name, at)
    return site if call is None or value is None else replace(call, node=value)


def _stride_of(program: Program, place: Site, new: Memref) -> str | None:
    """The new strides, nested as the call's shape or its strides are written; None if it has other modes."""
    call = place.call
    shape = program.definition(replace(place, node=call.args[0])).node if call.args else None
    given = argument_of(call, "stride")
    for seen in (shape, given):
        stride = None if seen is None else _stride_for(seen, new)
        if stride is not None:
            return stride
    return None


def _is_of_a_view(source: Source, made: ast.Call) -> bool:
    """Whether a layout is only that of one `make_tensor` of another tensor's memory."""
    uses = uses_of(source, made)
    return any(
        name_of(call) == "make_tensor" and call.args[1:] and (call.args[1] is made or call.args[1:2] == uses)
        for call in source.calls()
    )


def _is_of_threads(source: Source, made: ast.Call) -> bool:
    """Whether a layout is that of a tiled copy's threads, or of a thread's values."""
    uses = [made, *uses_of(source, made)]
    return any(one in (threads_and_values(call) or ()) for call in source.calls() for one in uses)


def uses_of(source: Source, made: ast.expr) -> list[ast.expr]:
    """Where the names stand that a file gives to what an expression makes."""
    names = {
        target.id
        for node, _ in source.assignments
        if isinstance(node, ast.Assign) and node.value is made
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    loads = [node for node in ast.walk(source.tree) if isinstance(node, ast.Name) and node.id in names]
    return [node for node in loads if isinstance(node.ctx, ast.Load)]


def _cut(program: Program, start: Site, old: Memref, new: Memref, moves: bool) -> Iterator[Candidate]:
    """Another shape, too, where the very layout of the view is written in numbers."""
    for place in program.reached(start):
        made = literal(place.node)
        if made is None or (moves and _is_of_a_view(program.sources[place.path], place.node)):  # type: ignore[arg-type]
            continue
        if _flat(made) == _flat(old.layout) and new.layout.is_static:
            yield (program.rewritten(place, code.layout_code(new.layout)),)


def unswizzled(program: Program, start: Site) -> Iterator[Candidate]:
    """An allocation without the swizzle that it is given."""
    earlier: list[Site] = []
    for place in program.reached(start):
        call = place.call
        if name_of(call) == "allocate_tensor" and any(one.arg == "swizzle" for one in call.keywords):
            yield from argument(program, place, "swizzle", "None", 3, earlier)
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
    divisor = divisors.pop()
    earlier: list[Site] = []
    for place in program.reached(start):
        call = place.call
        keyword = _PROMISES.get(name_of(call))
        if keyword is not None:
            yield from _of_keyword(program, place, keyword, divisor, earlier)
        elif name_of(call) == "make_layout":
            yield from _assumed(program, place, new, divisor)
        if name_of(call).startswith("mark_"):
            yield from _marked(program.sources[place.path], call, new, divisor)
        earlier.append(place)


def _marked(source: Source, call: ast.Call, new: Memref, divisor: int) -> Iterator[Candidate]:
    """A tensor of the host whose strides are marked dynamic: the extent that they follow is a multiple, too.

    That extent is of the mode of stride 1: as `leading_dim` says, as the tile has it, or one further, where
    the tile leaves a batch away. The DSL refuses extents that are no multiples, and modes that are not there.
    """
    given = [one.value for one in call.keywords if one.arg == "leading_dim"]
    given += call.args[:1] if name_of(call) == "mark_layout_dynamic" else []
    strides = flatten(wrap(new.layout.stride))
    near = strides.index(1) if strides.count(1) == 1 else len(strides) - 1
    modes = [source.text_of(one) for one in given] or [str(near), str(near + 1)]
    end = source.span_of(call)[1]
    for mode in modes:
        made = f".mark_compact_shape_dynamic(mode={mode}, divisibility={divisor})"
        yield (Edit(source.path, end, end, made),)


def _assumed(program: Program, place: Site, new: Memref, divisor: int) -> Iterator[Candidate]:
    """`cute.assume` around a run-time stride of a `make_layout` that has the tensor's modes."""
    call, source = place.call, program.sources[place.path]
    given = argument_of(call, "stride")
    strides = flatten(wrap(new.layout.stride))
    if given is None or len(_written(given)) != len(strides):
        return
    for leaf, stride in zip(_written(given), strides, strict=True):
        if isinstance(stride, Dynamic) and stride.divisor == divisor and isinstance(leaf, ast.Name):
            yield (rewritten(source, leaf, f"cute.assume({source.text_of(leaf)}, divby={divisor})"),)


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


def swizzled(program: Program, start: Site, new: Memref) -> Iterator[Candidate]:
    """Another `make_swizzle`: of bytes where it is the pointer's, of elements where it is a layout's."""
    swizzle = new.swizzle
    assert swizzle is not None
    element = max(1, new.dtype.bits // 8).bit_length() - 1
    for place in program.reached(start):
        call = place.call
        if name_of(call) == "make_swizzle":
            for base in (swizzle.base - element, swizzle.base):
                text = f"cute.make_swizzle({swizzle.bits}, {base}, {swizzle.shift})"
                yield (rewritten(program.sources[place.path], call, text),)
        elif name_of(call) == "allocate_tensor":
            source = program.sources[place.path]
            yield from with_keyword(source, call, "swizzle", code.swizzle_code(swizzle), 3)


def coarser(program: Program, site: Site, element_bits: int) -> Iterator[Candidate]:
    """Every `make_swizzle` behind the operands with units of 16 bytes, in elements and in bytes."""
    for place in program.reached_by(site, "src", "dst"):
        parts = swizzle_parts(program, place)
        for base in ((128 // element_bits).bit_length() - 1, 4) if parts else ():
            if program.sources[parts[1].path].text_of(parts[1].node) != str(base):
                yield (program.rewritten(parts[1], str(base)),)


def swizzle_parts(program: Program, place: Site) -> list[Site]:
    """Where the numbers of `make_swizzle(3, 4, 3)` or `make_swizzle(*given)` are written; else nothing."""
    call = place.node
    if not isinstance(call, ast.Call) or name_of(call) != "make_swizzle":
        return []
    if len(call.args) == 1 and isinstance(call.args[0], ast.Starred):
        whole = program.definition(replace(place, node=call.args[0].value))
        given = whole.node.elts if isinstance(whole.node, ast.Tuple) else []
        found = [replace(whole, node=one) for one in given]
    else:
        found = []
        for one in call.args:
            made = program.definition(replace(place, node=one))
            found.append(made if isinstance(made.node, ast.Constant) else replace(place, node=one))
    return found if len(found) == 3 else []


def _flat(layout: Layout) -> list[tuple[object, object]]:
    """Extents and strides of its modes, those of extent 1 left out."""
    pairs = zip(flatten(wrap(layout.shape)), flatten(wrap(layout.stride)), strict=True)
    return [(n, d) for n, d in pairs if n != 1]
