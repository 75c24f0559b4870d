"""Edits that lay a shared tensor out anew where it is allocated: longer rows, or a swizzle of its pointer.

Rows grow in the program's words: `TILE` becomes `TILE + 1` in the strides, and in the number of elements that
are allocated. Which edit is right is not known here: each is traced.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.fixes import code
from layoutcheck.fixes.swizzle import begin_bytes
from layoutcheck.machine.best_swizzle import BANK_SPAN_BYTES
from layoutcheck.patching.arguments import with_keyword
from layoutcheck.patching.edit import Candidate, Edit, at_once, cute_of, rewritten
from layoutcheck.patching.program import Program, Site
from layoutcheck.patching.stages import number_of
from layoutcheck.syntax import argument_of, name_of, spans

LAYOUT_AT = {"allocate_tensor": 1, "get_tensor": 0, "make_tensor": 1}
_SWIZZLE_AT = {"allocate_tensor": 3, "get_tensor": 1}
_SIZES = {"alloc_smem": ("size_in_elems", 1), "allocate_array": ("num_elems", 1)}
SHARED = frozenset(("allocate", "allocate_tensor", "get_tensor", "data_ptr", "get_dyn_smem", *_SIZES))
"""Calls that give shared memory."""
_PADS = (1, 2, 4, 8, 16)  # elements, of a type that is not known
_WORD, _WIDEST = 32, 128  # bits
_MOST_WORDS = 20
_NUMBER = re.compile(r"[0-9]+")
_FACTORS = re.compile(r"\w+|(?:\w+|\([\w +]+\))(?: \* (?:\w+|\([\w +]+\)))+")


def tensors(program: Program, path: str, line: int) -> Iterator[Site]:
    """The calls that made the shared tensors, or views of them, of a line; nearest first, each once."""
    seen = set[int]()
    for site in expressions(program, path, line):
        node = site.node
        used = [node.value] if isinstance(node, ast.Subscript) else []
        if isinstance(node, ast.Call):
            used = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
        for place in (place for one in used for place in program.reached(replace(site, node=one))):
            new = name_of(place.call) in LAYOUT_AT and id(place.node) not in seen
            if new and is_shared(program, place):
                seen.add(id(place.node))
                yield place


def expressions(program: Program, path: str, line: int) -> Iterator[Site]:
    """What the shortest statement of a line is made of, outermost first."""
    source = program.sources[path]
    near = [node for node in ast.walk(source.tree) if isinstance(node, ast.stmt) and spans(node, line)]
    statement = min(near, key=lambda node: (node.end_lineno or node.lineno) - node.lineno, default=None)
    for node in ast.walk(statement) if statement is not None else ():
        if isinstance(node, ast.expr):
            yield Site(path, node, source.scope_at(line))


def pads(program: Program, tensors: Sequence[Site], width_bits: int) -> Sequence[int]:
    """The elements that rows may be longer by, so that accesses of that width stay whole."""
    bits = next(filter(None, (_element_bits(program, made) for made in tensors)), 0)
    unit = max(_WORD, width_bits)
    return sorted({unit // bits, 2 * unit // bits, max(unit, _WIDEST) // bits}) if bits else _PADS


def padded(program: Program, made: Site, pad: int) -> Candidate:
    """The tensor's rows with so many elements more; nothing where its layout is not understood."""
    layout = argument_of(made.call, "layout", LAYOUT_AT[name_of(made.call)])
    places = program.reached(replace(made, node=layout)) if layout is not None else ()
    rows = next((one for place in places if (one := _rows(program, place)) is not None), None)
    edits = () if rows is None else rows.longer(pad)
    return (*edits, *_sizes(program, made, rows, pad)) if rows is not None and edits else ()


def swizzled(program: Program, made: Site, width_bits: int) -> Iterator[tuple[Swizzle, Candidate]]:
    """The pointer with a swizzle that keeps accesses of that width whole, then those of 16 bytes."""
    call, name = made.call, name_of(made.call)
    source, position = program.sources[made.path], _SWIZZLE_AT.get(name)
    given = argument_of(call, "swizzle", position)
    if position is None or not (given is None or ast.unparse(given) == "None"):
        return
    align = argument_of(call, "byte_alignment", 2) if name == "allocate_tensor" else None
    have = 0 if align is None else number_of(program, replace(made, node=align)) or 0
    span = BANK_SPAN_BYTES.bit_length() - 1
    for base in dict.fromkeys((max(2, (width_bits // 8 - 1).bit_length()), 4)):
        bits = span - base
        for shift in (max(3, bits), bits + 1):
            swizzle = Swizzle(bits, base, shift)
            wanted = [("swizzle", code.swizzle_code(swizzle), position)]
            if name == "allocate_tensor" and have < begin_bytes(swizzle):
                wanted.insert(0, ("byte_alignment", str(begin_bytes(swizzle)), 2))
            edits = [next(with_keyword(source, call, *one), ()) for one in wanted]
            yield swizzle, at_once(edit for some in edits for edit in some)


def _element_bits(program: Program, made: Site) -> int:
    """The bits of an element, by its type's name; 0 where that is not known."""
    types = made.call.args[:1] if name_of(made.call) == "allocate_tensor" else []
    for site in (site for one in types for site in program.behind(replace(made, node=one))):
        if isinstance(site.node, ast.Attribute) and (found := _NUMBER.search(site.node.attr)):
            return int(found[0])
    return 0


class _Rows(NamedTuple):
    """A layout as it is written: its call, the extents, and its modes from the contiguous one outwards."""

    program: Program
    place: Site
    extents: list[Site]
    order: list[int]

    def longer(self, pad: int) -> Candidate:
        """The strides with rows of `pad` more elements; nothing where one of them is not understood."""
        call, program = self.place.call, self.program
        stride = argument_of(call, "stride") if name_of(call) == "make_layout" else None
        if stride is not None:
            strides = _elements(program, replace(self.place, node=stride))
            found = [self.grown(one, pad) for i, one in enumerate(strides) if i != self.order[0]]
            return () if None in found else tuple(dict.fromkeys(one for one in found if one is not None))
        source = program.sources[self.place.path]
        shape, written = source.text_of(call.args[0]), f"stride={self._strides(pad)}"
        if name_of(call) == "make_layout":
            _, end = source.span_of(call.args[0])
            return (Edit(self.place.path, end, end, f", {written}"),)
        return (rewritten(source, call, f"cute.make_layout({shape}, {written})"),)

    def _strides(self, pad: int) -> str:
        """The strides that the order of the modes means, with longer rows."""
        strides, reach = [""] * len(self.extents), "1"
        for mode in self.order:
            strides[mode], extent = reach, _text(self.program, self.extents[mode])
            row = _sum(extent, pad)
            reach = row if reach == "1" else f"{_factor(reach)} * {_factor(extent)}"
        return f"({', '.join(strides)})"

    def grown(self, site: Site, pad: int) -> Edit | None:
        """A stride or a size that is the rows' length, or a product with it, for longer rows."""
        node, program = site.node, self.program
        if self._is_run(site):
            return program.rewritten(site, _sum(_text(program, site), pad))
        for part in _factors(node):
            inner = replace(site, node=part)
            if self._is_run(inner):
                return program.rewritten(inner, _factor(_sum(_text(program, inner), pad)))
            if isinstance(part, ast.BinOp) and (found := self.grown(inner, pad)) is not None:
                return found
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):  # longer rows by now
            left, right = (replace(site, node=one) for one in (node.left, node.right))
            if self._is_run(left):
                more = program.definition(right)
                number = isinstance(more.node, ast.Constant)
                changed = more if number else right
                return program.rewritten(changed, _sum(_text(program, changed), pad))
        value, run = number_of(program, site), number_of(program, self.extents[self.order[0]])
        if isinstance(node, ast.Constant) and value is not None and run and value % run == 0:
            return program.rewritten(site, str(value // run * (run + pad)))
        return None

    def _is_run(self, site: Site) -> bool:
        """Whether an expression is the length of a row."""
        run = self.extents[self.order[0]]
        if not isinstance(site.node, ast.Constant) and _text(self.program, site) == _text(self.program, run):
            return True
        value = number_of(self.program, site)
        return value is not None and value == number_of(self.program, run)


def _rows(program: Program, place: Site) -> _Rows | None:
    """Of `make_layout` or `make_ordered_layout` with a flat shape; None for any other call."""
    name, call = name_of(place.call), place.call
    if name not in ("make_layout", "make_ordered_layout") or not call.args:
        return None
    extents = _elements(program, replace(place, node=call.args[0]))
    keyword, position = ("order", 1) if name == "make_ordered_layout" else ("stride", None)
    given = argument_of(call, keyword, position)
    written = [] if given is None else _elements(program, replace(place, node=given))
    numbers = [number_of(program, one) for one in written]
    modes = list(range(len(extents)))
    if name == "make_ordered_layout":
        if sorted(n for n in numbers if n is not None) != modes:
            return None
        modes.sort(key=lambda mode: numbers[mode] or 0)
    elif given is not None:
        if len(numbers) != len(extents) or numbers.count(1) != 1:
            return None
        modes.insert(0, modes.pop(numbers.index(1)))
    return _Rows(program, place, extents, modes) if len(modes) > 1 else None


def _text(program: Program, site: Site) -> str:
    return program.sources[site.path].text_of(site.node)


def _sum(text: str, pad: int) -> str:
    return str(int(text) + pad) if _NUMBER.fullmatch(text) else f"{text} + {pad}"


def _factor(text: str) -> str:
    """A text as one factor of a product."""
    return text if _FACTORS.fullmatch(text) else f"({text})"


def _factors(node: ast.expr) -> list[ast.expr]:
    """The two factors of a product, the last first."""
    return [node.right, node.left] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else []


def _elements(program: Program, site: Site) -> list[Site]:
    """What a tuple is written with, here or where its name is given it."""
    made = program.definition(site)
    return [replace(made, node=one) for one in made.node.elts] if isinstance(made.node, ast.Tuple) else []


def _sizes(program: Program, made: Site, rows: _Rows, pad: int) -> Iterator[Edit]:
    """What is allocated for the tensor, where its number of elements is written beside the layout."""
    for size in _counts(program, made):
        if isinstance(size.node, ast.Call):  # cute.cosize(layout) grows with it; cute.size does not
            if name_of(size.node) == "size":
                yield rewritten(program.sources[size.path], size.node.func, "cute.cosize")
            return
        edit = rows.grown(program.definition(size), pad)
        if edit is not None:
            yield edit
            return


def _counts(program: Program, made: Site) -> Iterator[Site]:
    """The numbers of elements that are allocated for a tensor of a pointer or of a struct's member."""
    call, name = made.call, name_of(made.call)
    start = call.args[0] if name == "make_tensor" else None
    if name == "get_tensor" and isinstance(call.func, ast.Attribute):
        start = call.func.value
    for site in program.behind(replace(made, node=start)) if start is not None else ():
        node, size = site.node, None
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("MemRange"):
            size = node.slice.elts[1] if isinstance(node.slice, ast.Tuple) else None
        elif isinstance(node, ast.Call) and name_of(node) in _SIZES:
            size = argument_of(node, *_SIZES[name_of(node)])
        if size is not None:
            yield replace(site, node=size)


def fitted(program: Program, path: str, line: int) -> Iterator[tuple[str, Candidate]]:
    """What is allocated for a line's shared tensors, as many elements as their layouts reach."""
    for made in tensors(program, path, line):
        layout = argument_of(made.call, None, LAYOUT_AT[name_of(made.call)])
        size = next(_counts(program, made), None)
        if layout is None or size is None:
            continue
        same = [replace(made, node=layout)]  # the layout in other words, such as the host's
        for site in same:
            same += program.alternatives(site) if len(same) < _MOST_WORDS else []
            if reached := _reached(program, site, size):
                title = f"allocation: {reached} elements, as many as the layout reaches"
                yield title, (program.rewritten(size, reached),)


def _reached(program: Program, layout: Site, size: Site) -> str:
    """The elements that a layout reaches, in words that are known where the size stands; "" for none."""
    text = _text(program, layout)
    near = layout.path == size.path and (layout.scope is size.scope or text.startswith("self."))
    if near and isinstance(layout.node, (ast.Name, ast.Attribute)):
        return f"{cute_of(program.sources[size.path])}.cosize({text})"
    call = layout.node
    if not isinstance(call, ast.Call) or name_of(call) != "make_layout" or not call.args:
        return ""
    stride = argument_of(call, "stride")
    if near and stride is None and not isinstance(call.args[0], ast.Tuple):
        return _text(program, replace(layout, node=call.args[0]))
    rows = _rows(program, layout)
    strides = _elements(program, replace(layout, node=stride)) if stride is not None else []
    numbers = [[number_of(program, one) for one in some] for some in (rows.extents if rows else [], strides)]
    if not strides or any(number is None for some in numbers for number in some):
        return ""
    return str(1 + sum((n - 1) * d for n, d in zip(*numbers, strict=True)))  # type: ignore[operator]


def pitches(program: Program, path: str, line: int) -> Iterator[tuple[int, Candidate]]:
    """(elements, edits): a number with a name, of an index into shared memory, so much larger."""
    found: dict[int, Site] = {}
    for site in expressions(program, path, line):
        node = site.node
        index = node.slice if isinstance(node, ast.Subscript) else node
        tensor = node.value if isinstance(node, ast.Subscript) else node
        if isinstance(node, (ast.Subscript, ast.BinOp)) and is_shared(program, replace(site, node=tensor)):
            products = (one for one in ast.walk(index) if isinstance(one, ast.expr) and _factors(one))
            for number in (part for one in products for part in program.behind(replace(site, node=one))):
                if isinstance(number.node, ast.Constant) and type(number.node.value) is int:
                    found.setdefault(id(number.node), number)
    named = [site for site in found.values() if _is_named(program, site)]
    for pad, site in itertools.product(_PADS, named):
        yield pad, (program.rewritten(site, str(int(_text(program, site)) + pad)),)


def is_shared(program: Program, site: Site) -> bool:
    """Whether an expression is made of a shared allocation."""
    return any(name_of(one.call) in SHARED for one in program.reached(site))


def _is_named(program: Program, site: Site) -> bool:
    """Whether a number is all that a name is given."""
    return any(node.value is site.node for node, _ in program.sources[site.path].assignments)
