"""Reading layouts as CuTe and the DSL print them; the `str` of every value here parses back to an equal one.

    (8,4):(1,?{div=8})          a layout           S<3,4,3> o 0 o (8,8):(8,1)    a composed layout
    ((4,2),8)                   a tree of integers  (8,8):(1@0,1@1)               basis strides
    [16:1;64:1]                 a tiler: one layout a mode
    Sw<3,3,3> o _0 o (_8,_8):(_8,_1)    as C++ prints static integers and swizzles

All functions raise `InputError` with the place in the text.
"""

from __future__ import annotations

import re
from typing import Any

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import MAX_DEPTH, Tiler, congruent
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import ComposedLayout, Swizzle
from layoutcheck.errors import InputError

MAX_LEAVES = 4096
MAX_DIGITS = 19  # every 64-bit integer

_SPACE = re.compile(r"\s*")
_INTEGER = re.compile(r"_?(-?[0-9]+)")  # C++ prints a static one as _8
_SWIZZLE = re.compile(r"S(?:w(?:izzle)?)?\s*<")
_NO_MODE = re.compile(r"_(?![0-9-])")
_DYNAMIC_FACT = re.compile(r"\s*(i32|i64|div\s*=\s*([0-9]+))")


class Scanner:
    """A position in a text, and the few moves that a hand-written parser needs."""

    def __init__(self, text: str, pos: int = 0) -> None:
        self.text = text
        self.pos = pos
        self.leaves = 0

    def skip(self) -> None:
        """Move past white space."""
        match = _SPACE.match(self.text, self.pos)
        assert match is not None
        self.pos = match.end()

    def peek(self, token: str) -> bool:
        """Whether `token` comes next (after white space)."""
        self.skip()
        return self.text.startswith(token, self.pos)

    def accept(self, token: str) -> bool:
        """Move past `token` if it comes next."""
        if self.peek(token):
            self.pos += len(token)
            return True
        return False

    def expect(self, token: str, why: str | None = None) -> None:
        """Move past `token`, which must come next."""
        if not self.accept(token):
            raise self.error("unexpected end" if self.at_end() else "unexpected text", why or f"'{token}'")

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Move past a match of `pattern` that begins here."""
        self.skip()
        found = pattern.match(self.text, self.pos)
        if found:
            self.pos = found.end()
        return found

    def need(self, message: str, expected: str, *patterns: re.Pattern[str]) -> re.Match[str]:
        """Move past a match of the first of these patterns that begins here, as one must."""
        for pattern in patterns:
            if found := self.match(pattern):
                return found
        raise self.error(message, expected)

    def at_end(self) -> bool:
        """Whether nothing but white space is left."""
        self.skip()
        return self.pos >= len(self.text)

    def finish(self, what: str) -> None:
        """Require that nothing is left."""
        if not self.at_end():
            raise self.error(f"unexpected text after {what}", "the end")

    def error(self, message: str, expected: str | None = None, start: int | None = None) -> InputError:
        """An error at the current place, or spanning from `start` to it."""
        at = self.pos if start is None else start
        return InputError(message, text=self.text, start=at, end=self.pos, expected=expected)


def parse_layout(text: str) -> Layout:
    """`shape:stride`, or a shape alone (then compact, first mode fastest).

    `?` and `?{div=8}` are run-time values. Raises InputError, which points at the place in the text, for
    anything else; `parse_any_layout` reads composed layouts as well.

    >>> print(parse_layout("((2,4),?):((8,16),?{div=8})"))
    ((2,4),?):((8,16),?{div=8})
    """
    scan = Scanner(text)
    layout = read_any_layout(scan)
    if not isinstance(layout, Layout):
        raise scan.error("a composed layout", "a layout alone", start=0)
    scan.finish("the layout")
    return layout


def parse_any_layout(text: str) -> Layout | ComposedLayout:
    """A layout or a composed layout `S<b,m,s> o offset o layout`. Raises as `parse_layout` does."""
    scan = Scanner(text)
    layout = read_any_layout(scan)
    scan.finish("the layout")
    return layout


def parse_tree(text: str) -> Any:
    """A tree of integers: a shape, a stride or a coordinate. Raises InputError as `parse_layout` does."""
    scan = Scanner(text)
    tree = read_tree(scan, "an integer or a tuple of integers")
    scan.finish("the tuple")
    return tree


def parse_swizzle(text: str) -> Swizzle:
    """`S<b,m,s>` (also `Sw<b,m,s>`, `Swizzle<b,m,s>`). Raises InputError as `parse_layout` does."""
    scan = Scanner(text)
    swizzle = read_swizzle(scan)
    scan.finish("the swizzle")
    return swizzle


def parse_tiler(text: str) -> tuple[Layout, ...]:
    """`[16:1;64:1]` as the DSL prints a tiler, or a shape `(16,64)`: one layout a mode.

    Raises InputError as `parse_layout` does.
    """
    scan = Scanner(text)
    tiler = read_tiler(scan)
    scan.finish("the tiler")
    return tiler


def parse_tile(text: str) -> Any:
    """Any tiler that the operations take: `[4:1;_;[2:1;2:2]]` (`_` is None), or a shape `(16,(8,8))`.

    Raises InputError as `parse_layout` does.
    """
    scan = Scanner(text)
    tile = _read_tile(scan, 0) if scan.peek("[") else read_tree(scan, "a tiler", strides=False)
    scan.finish("the tiler")
    return tile


def print_tile(tile: Tiler) -> str:
    """A tiler, nested or with None for a mode, as the DSL prints it; `parse_tile` reads it."""
    if type(tile) is tuple:
        return f"[{';'.join(map(print_tile, tile))}]"
    return "_" if tile is None else str(tile)


def print_tiler(tiler: tuple[Layout, ...]) -> str:
    """One layout a mode, as the DSL prints it: `[16:1;64:1]`; `parse_tiler` reads it."""
    return f"[{';'.join(map(str, tiler))}]"


def read_any_layout(scan: Scanner) -> Layout | ComposedLayout:
    """A layout or composed layout at the scanner's place."""
    inner: Swizzle | Layout
    if scan.peek("S"):
        inner = read_swizzle(scan)
        scan.expect("o", "'o' and the offset of a composed layout")
    else:
        inner = read_layout(scan)
        if not scan.accept("o"):
            return inner
    offset = read_tree(scan, "the offset of a composed layout")
    scan.expect("o", "'o' and the outer layout: a composed layout is written 'S<3,3,3> o 0 o (64,64):(64,1)'")
    return ComposedLayout(inner, offset, read_layout(scan))


def read_layout(scan: Scanner) -> Layout:
    """A layout at the scanner's place."""
    scan.skip()
    start = scan.pos
    shape = read_tree(scan, "a shape", strides=False)
    stride = None
    if scan.accept(":"):
        scan.skip()
        stride_start = scan.pos
        stride = read_tree(scan, "a stride", strides=True)
        if not congruent(shape, stride):
            raise scan.error("shape and stride do not match", "the same nesting in both", start=stride_start)
    try:
        return Layout(shape, stride)
    except InputError as error:
        raise scan.error(error.message, error.expected, start=start) from None


def read_swizzle(scan: Scanner) -> Swizzle:
    """A swizzle at the scanner's place."""
    scan.skip()
    start = scan.pos
    if scan.match(_SWIZZLE) is None:
        raise scan.error("not a swizzle", "S<bits,base,shift>, such as S<3,4,3>")
    numbers = [_read_int(scan, "the swizzle's bits")]
    scan.expect(",")
    numbers.append(_read_int(scan, "the swizzle's base"))
    scan.expect(",")
    numbers.append(_read_int(scan, "the swizzle's shift"))
    scan.expect(">")
    try:
        return Swizzle(*numbers)
    except InputError as error:
        raise scan.error(error.message, error.expected, start=start) from None


def read_tiler(scan: Scanner) -> tuple[Layout, ...]:
    """A tiler at the scanner's place."""
    if scan.accept("["):
        modes = [read_layout(scan)]
        while scan.accept(";"):
            modes.append(read_layout(scan))
        scan.expect("]", "';' and another mode, or ']'")
        return tuple(modes)
    shape = read_layout(scan)
    return shape.modes


def _read_tile(scan: Scanner, depth: int) -> Any:
    if scan.match(_NO_MODE):
        return None
    if not scan.accept("["):
        return read_layout(scan)
    if depth >= MAX_DEPTH:
        raise scan.error(f"nested more than {MAX_DEPTH} deep")
    modes = [_read_tile(scan, depth + 1)]
    while scan.accept(";"):
        modes.append(_read_tile(scan, depth + 1))
    scan.expect("]", "';' and another mode, or ']'")
    return tuple(modes)


def read_tree(scan: Scanner, what: str, *, strides: bool = True, depth: int = 0) -> Any:
    """An integer, a dynamic integer, a basis element (where strides are allowed) or a tuple of them."""
    if scan.peek("("):
        if depth >= MAX_DEPTH:
            raise scan.error(f"nested more than {MAX_DEPTH} deep")
        start = scan.pos
        scan.accept("(")
        if scan.accept(")"):
            raise scan.error("an empty tuple", what, start=start)
        modes = [read_tree(scan, what, strides=strides, depth=depth + 1)]
        while scan.accept(","):
            if scan.peek(")"):  # Python's own (8,)
                break
            modes.append(read_tree(scan, what, strides=strides, depth=depth + 1))
        if not scan.accept(")"):
            message = "unbalanced parentheses" if scan.at_end() else "unexpected text"
            raise scan.error(message, "',' or ')'")
        return tuple(modes)
    return _read_leaf(scan, what, strides)


def _read_leaf(scan: Scanner, what: str, strides: bool) -> Any:
    scan.leaves += 1
    if scan.leaves > MAX_LEAVES:
        raise scan.error(f"more than {MAX_LEAVES} integers in one layout")
    if scan.accept("?"):
        value: Any = _read_dynamic(scan)
    else:
        value = _read_int(scan, what)
    if strides and scan.peek("@"):
        path: list[int] = []
        while scan.accept("@"):
            path.append(_read_int(scan, "the mode of a basis stride"))
            if path[-1] < 0:
                raise scan.error("a basis stride steps along a mode 0, 1, ..")
        return Basis(value, tuple(reversed(path)))
    return value


def _read_dynamic(scan: Scanner) -> Dynamic:
    if not scan.text.startswith("{", scan.pos):
        return Dynamic()
    start = scan.pos
    scan.pos += 1
    bits, div = 32, 1
    while not scan.accept("}"):
        fact = scan.match(_DYNAMIC_FACT)
        if fact is None or (fact[2] and (len(fact[2]) > MAX_DIGITS or int(fact[2]) == 0)):
            raise scan.error("unknown fact about a dynamic integer", "'i64', 'div=N' or '}'", start=start)
        if fact[2]:
            div = int(fact[2])
        elif fact[1] == "i64":
            bits = 64
    return Dynamic(div, bits)


def _read_int(scan: Scanner, what: str) -> int:
    scan.skip()
    start = scan.pos
    found = scan.match(_INTEGER)
    if found is None:
        message = "unexpected end" if scan.at_end() else "unexpected text"
        raise scan.error(message, what)
    if len(found[1].lstrip("-")) > MAX_DIGITS:
        raise scan.error("an integer of more than 64 bits", what, start=start)
    return int(found[1])
