"""Where a statement may be inserted between two lines of a program, the slots that run least often first.

`gaps(program, first, second)` compares the callers of two places: each function that both run through has
slots between its two statements. Behind a loop's last statement is between them, too, where the second access
comes in a later turn.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from layoutcheck.lint.source import Source
from layoutcheck.patching.edit import Edit, indent_of
from layoutcheck.patching.program import Program
from layoutcheck.sources.traced import Frame, KernelPlace
from layoutcheck.syntax import name_of, spans, words_of

_LOOPS = (ast.For, ast.While)


@dataclass(frozen=True, slots=True)
class Step:
    """A statement, and the block that it stands in."""

    stmt: ast.stmt
    block: list[ast.stmt]


@dataclass(frozen=True, slots=True)
class Slot:
    """Before or behind a statement; `branches` are the conditions around it that a run decides."""

    source: Source
    stmt: ast.stmt
    after: bool
    branches: int

    @property
    def line(self) -> int:
        """The line that an insertion comes before or behind."""
        return (self.stmt.end_lineno or self.stmt.lineno) if self.after else self.stmt.lineno

    def edit(self, *statements: str) -> Edit | None:
        """These statements as lines of their own; None where the slot has no line for them."""
        indent = _room(self.source, self.stmt)
        if indent is None:
            return None
        text = self.source.text
        start, end = self.source.span_of(self.stmt)
        new = "".join(f"{indent}{line}\n" for line in statements)
        if not self.after:
            at = text.rfind("\n", 0, start) + 1
            return Edit(self.source.path, at, at, new)
        at = text.find("\n", end)
        if at < 0:
            return Edit(self.source.path, len(text), len(text), "\n" + new)
        return Edit(self.source.path, at + 1, at + 1, new)


def gaps(program: Program, first: KernelPlace, second: KernelPlace) -> list[Slot]:
    """The slots between two places, those under fewest conditions first; [] where no function has both."""
    found: list[Slot] = []
    for one, other in _together(program, first, second):
        found += _between(program.sources[one.file], one.line, other.line)
    return sorted(dict.fromkeys(found), key=lambda slot: slot.branches)


def passed(program: Program, first: KernelPlace, second: KernelPlace) -> list[Slot]:
    """The slots before each statement between two places, in the block that both are in and within it."""
    found: list[Slot] = []
    for frame, other in _together(program, first, second):
        source = program.sources[frame.file]
        one, two = chain(source, frame.line), chain(source, other.line)
        depth = _shared(one, two)
        if depth is None:
            continue
        block = one[depth].block
        at, to = block.index(one[depth].stmt), block.index(two[depth].stmt)
        between = block[at + 1 : to] if at < to else [*block[at + 1 :], *block[:to]]
        found += [Slot(source, stmt, False, branches(one[: depth + 1])) for stmt in between]
        for n in range(depth + 1, len(two)):  # of a loop that the second place alone is in, and the like
            ahead = two[n].block[: two[n].block.index(two[n].stmt)]
            found += [Slot(source, stmt, False, branches(two[: n + 1])) for stmt in ahead]
    return found


def behind(program: Program, place: KernelPlace, innermost: bool = False) -> list[Slot]:
    """The slots behind a place in its own function, then in its callers.

    In each, those of the statements around it from outermost to innermost, or the `innermost` first. These
    begin in the nearest function that is called in one place: what others call, too, stays as it is.
    """
    frames = [frame for frame in (place.where, *place.stack) if frame.file in program.sources]
    own = next((n for n, frame in enumerate(frames) if not _is_shared(program, frame)), 0) if innermost else 0
    return _around(program, [*frames[own : own + 1], *frames[:own], *frames[own + 1 :]], True, innermost)


def _is_shared(program: Program, frame: Frame) -> bool:
    """Whether the function that a line is in, if it is no kernel, is called in several places."""
    scope = program.sources[frame.file].scope_at(frame.line)
    if any(words_of(one)[-1:] == ["kernel"] for one in getattr(scope.node, "decorator_list", ())):
        return False
    calls = (call for source in program.sources.values() for call in source.calls())
    return sum(name_of(call) == scope.name for call in calls) > 1


def before(program: Program, place: KernelPlace) -> list[Slot]:
    """The same before a place, from outermost to innermost."""
    frames = [frame for frame in (place.where, *place.stack) if frame.file in program.sources]
    return _around(program, frames, False, False)


def _around(program: Program, frames: Sequence[Frame], after: bool, innermost: bool) -> list[Slot]:
    found: list[Slot] = []
    for frame in frames:
        source = program.sources[frame.file]
        steps = chain(source, frame.line)
        own = [_slot(source, steps, n, after) for n in range(len(steps))]
        found += own[::-1] if innermost else own
    return found


def statement(program: Program, frame: Frame) -> tuple[Source, list[Step]] | None:
    """A line's file, and its statement with those around it, outermost first; None where there is none."""
    source = program.sources.get(frame.file)
    steps = chain(source, frame.line) if source is not None else []
    return (source, steps) if source is not None and steps else None


def chain(source: Source, line: int) -> list[Step]:
    """The statements around a line within its function, outermost first."""
    function = source.scope_at(line).node
    block = function.body if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) else []
    found: list[Step] = []
    while block:
        stmt = next((one for one in block if spans(one, line)), None)
        if stmt is None:
            break
        found.append(Step(stmt, block))
        block = next((inner for inner in _blocks(stmt) if _spans(inner, line)), [])
    return found


def branches(steps: Sequence[Step]) -> int:
    """How many of the statements around the last are conditions that a run decides."""
    return sum(_decided(step.stmt, steps[n + 1].block) for n, step in enumerate(steps[:-1]))


def removed(source: Source, step: Step) -> Edit | None:
    """The statement's lines taken out; `pass` where it was alone in its block."""
    indent = _indent(source, step.stmt)
    if indent is None:
        return None
    start, end = _lines(source, step.stmt)
    return Edit(source.path, start, end, "" if len(step.block) > 1 else f"{indent}pass\n")


def elsewhere(source: Source, step: Step, to: Slot) -> Edit | None:
    """The statement, written in another slot."""
    start, end = _lines(source, step.stmt)
    return to.edit(*textwrap.dedent(source.text[start:end]).rstrip("\n").split("\n"))


def within(source: Source, stmt: ast.stmt, head: str) -> Edit | None:
    """The statement, under a head such as `with elect_one():`."""
    indent = _indent(source, stmt)
    if indent is None:
        return None
    start, end = _lines(source, stmt)
    return Edit(
        source.path, start, end, f"{indent}{head}\n" + textwrap.indent(source.text[start:end], "    ")
    )


def loop_around(steps: Sequence[Step]) -> ast.For | ast.While | None:
    """The innermost loop of the kernel around the last statement."""
    return next((one.stmt for one in reversed(steps[:-1]) if isinstance(one.stmt, _LOOPS)), None)


def counter(loop: ast.stmt | None) -> str:
    """The variable of a loop that begins at 0 and goes up by 1; "" for another loop."""
    if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
        return ""
    call = loop.iter
    plain = isinstance(call, ast.Call) and len(call.args) == 1
    return loop.target.id if plain else ""


def _between(source: Source, first: int, second: int) -> Iterator[Slot]:
    """The slots between two lines of one function."""
    one, other = chain(source, first), chain(source, second)
    depth = _shared(one, other)
    if depth is None:
        return
    a, b = one[depth], other[depth]
    at, to = a.block.index(a.stmt), b.block.index(b.stmt)
    loop = loop_around(one[: depth + 1])
    if at < to:
        yield _slot(source, other, depth, after=False)
        yield _slot(source, one, depth, after=True)
        yield from (_slot(source, other, n, after=False) for n in range(depth + 1, len(other)))
        yield from (_slot(source, one, n, after=True) for n in range(depth + 1, len(one)))
    elif loop is not None:
        yield _slot(source, one, depth, after=True)
        outer = next(n for n, step in enumerate(one) if step.stmt is loop)
        last = [*one[: outer + 1], Step(loop.body[-1], loop.body)]
        yield _slot(source, last, outer + 1, after=True)
        yield _slot(source, other, depth, after=False)
        yield from (_slot(source, one, n, after=True) for n in range(depth + 1, len(one)))
    if at < to and loop is not None:
        yield _slot(source, [*one[:depth], Step(a.block[-1], a.block)], depth, after=True)


def _slot(source: Source, steps: Sequence[Step], at: int, after: bool) -> Slot:
    return Slot(source, steps[at].stmt, after, branches(steps[: at + 1]))


def _together(program: Program, first: KernelPlace, second: KernelPlace) -> Iterator[tuple[Frame, Frame]]:
    """The frames of both places in each function that both run through, innermost first."""
    seen = set()
    for one in (first.where, *first.stack):
        for other in (second.where, *second.stack):
            source = program.sources.get(one.file)
            if source is None or one.file != other.file:
                continue
            scope = source.scope_at(one.line)
            if scope.parent is None or scope is not source.scope_at(other.line):
                continue
            if scope not in seen:
                seen.add(scope)
                yield one, other
            break


def _shared(one: Sequence[Step], other: Sequence[Step]) -> int | None:
    """How deep the statements of two lines stand in the same block."""
    deep = None
    for n, (a, b) in enumerate(zip(one, other, strict=False)):
        if a.block is not b.block:
            break
        deep = n
    return deep


def _decided(stmt: ast.stmt, block: list[ast.stmt]) -> bool:
    """Whether a run decides who executes a block of a statement."""
    if isinstance(stmt, ast.If):
        test = stmt.test
        return not (isinstance(test, ast.Call) and name_of(test) == "const_expr")
    if isinstance(stmt, ast.With):
        items = (item.context_expr for item in stmt.items)
        return any(isinstance(one, ast.Call) and name_of(one) == "elect_one" for one in items)
    return isinstance(stmt, ast.While) and block is stmt.body


def _blocks(stmt: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        inner = getattr(stmt, name, None)
        if isinstance(inner, list) and inner and not isinstance(stmt, (ast.FunctionDef, ast.ClassDef)):
            yield inner


def _spans(block: list[ast.stmt], line: int) -> bool:
    return block[0].lineno <= line <= (block[-1].end_lineno or block[-1].lineno)


def _indent(source: Source, stmt: ast.stmt) -> str | None:
    """The blanks before a statement that has its lines for itself and is no `elif`."""
    start, _ = source.span_of(stmt)
    return None if source.text.startswith("elif", start) else indent_of(source, stmt)


def _room(source: Source, stmt: ast.stmt) -> str | None:
    """The blanks of a statement's line, if all in it (`a; b`) begin and end there."""
    start, stop = _lines(source, stmt)
    line = source.text[start:stop]
    try:
        plain = not any(hasattr(one, "body") for one in ast.parse(textwrap.dedent(line)).body)
    except SyntaxError:
        plain = False
    return line[: len(line) - len(line.lstrip())] if plain else _indent(source, stmt)


def _lines(source: Source, stmt: ast.stmt) -> tuple[int, int]:
    """The offsets of a statement's lines, with the last one's end."""
    start, end = source.span_of(stmt)
    stop = source.text.find("\n", end)
    return source.text.rfind("\n", 0, start) + 1, len(source.text) if stop < 0 else stop + 1
