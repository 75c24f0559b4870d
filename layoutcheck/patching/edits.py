"""A fix as edits of source: which argument of which call is written otherwise.

Every change of a fix (`layoutcheck.copies.changes`) has calls that it may be written into: the allocation of
a tile for its alignment, `make_layout` for its strides, `make_tiled_copy_tv` for threads and values, `launch`
for the block. Where several calls may be meant, there is a candidate for each, nearest first.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from layoutcheck.check import Fix
from layoutcheck.copies.copy import Copy
from layoutcheck.lint.source import Source
from layoutcheck.patching.arguments import parts, with_keyword
from layoutcheck.patching.copiers import atom_edits, threads
from layoutcheck.patching.edit import Candidate, Edit, apart, rewritten
from layoutcheck.patching.instead import in_its_place
from layoutcheck.patching.layouts import aligned, laid_out, swizzled, unswizzled
from layoutcheck.patching.predicates import truths
from layoutcheck.patching.program import Program, Site
from layoutcheck.patching.stages import resized, spaced
from layoutcheck.syntax import argument_of, name_of

MOST_PLACES = 4  # calls tried for one change


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
    source = program.sources[edit.path]
    around = source.scope_at(source.line_at(edit.start))
    return around.name != "" and around is not site.scope and program.calls_of(around.name) > 1


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
            need = max(new.proved_align_bytes, made.side(side).proved_align_bytes)
            yield from (
                spaced(program, start, max(1, need * 8 // new.dtype.bits)) if new.space == "smem" else ()
            )
            yield from aligned(program, start, need)
        elif what == "layout":
            yield from laid_out(program, start, old, new)
        elif new.swizzle is not None:
            yield from swizzled(program, start, new)
        else:
            yield from unswizzled(program, start)
    elif argument == "threads and values":
        yield from threads(program, site, fix)
    elif argument == "atom":
        yield from atom_edits(program, site, copy, made)
    elif argument == "pred" and copy.pred is not None and made.pred is not None:
        if copy.pred.dtype != made.pred.dtype and copy.pred.layout.shape == made.pred.layout.shape:
            yield from truths(program, site)
    elif argument == "threads launched" and made.tiling is not None:
        yield from launched(program, site, made.tiling.block_threads)
    elif argument == "expected bytes" and made.issue is not None:
        yield from expected(program, site, made.issue.expect_bytes)


def launched(program: Program, site: Site, threads: int | None) -> Iterator[Candidate]:
    """The block of the kernel's launch; first that of the function that the copy stands in."""
    found: list[tuple[bool, Candidate]] = []
    for source in program.sources.values():
        for call in source.calls():
            inner = call.func.value if isinstance(call.func, ast.Attribute) else None
            if name_of(call) == "launch" and isinstance(inner, ast.Call):
                other = name_of(inner) != site.scope.name
                found += [(other, edits) for edits in _block(program, source, call, str(threads))]
    yield from dict.fromkeys(edits for _, edits in sorted(found, key=lambda one: one[0]))


def _block(program: Program, source: Source, call: ast.Call, threads: str) -> Iterator[Candidate]:
    """The launch's block: where its size is a function's parameter, first at that one's calls."""
    block = argument_of(call, "block")
    plain = isinstance(block, (ast.Tuple, ast.List)) and len(block.elts) == 3
    if not plain or any(ast.unparse(one) != "1" for one in block.elts[1:]):  # type: ignore[union-attr]
        yield from with_keyword(source, call, "block", f"({threads}, 1, 1)", None)
        return
    size = block.elts[0]  # type: ignore[union-attr]
    if isinstance(size, ast.Name):
        scope = source.scope_of(call)
        while scope.parent is not None and size.id not in scope.parameters:
            scope = scope.parent
        for place in program.given(scope, size.id):
            yield (program.rewritten(place, threads),)
    for text in parts(source, size):
        yield (rewritten(source, size, text),)
    yield from resized(program, Site(source.path, size, source.scope_of(call)), int(threads))
    yield (rewritten(source, size, threads),)


def expected(program: Program, site: Site, count: int | None) -> Iterator[Candidate]:
    """The bytes that a barrier of the copy's file expects."""
    source = program.sources[site.path]
    for call in source.calls():
        if name_of(call) in ("mbarrier_arrive_and_expect_tx", "mbarrier_expect_tx") and len(call.args) > 1:
            yield (rewritten(source, call.args[1], str(count)),)
