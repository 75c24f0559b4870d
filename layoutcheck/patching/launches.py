"""Edits of a launch's block and of the bytes that a barrier expects."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layoutcheck.patching.arguments import parts, with_keyword
from layoutcheck.patching.edit import Candidate, rewritten
from layoutcheck.patching.program import Program, parameter
from layoutcheck.patching.source import Site, Source
from layoutcheck.patching.stages import resized
from layoutcheck.syntax import argument_of, name_of


def launched(program: Program, site: Site, threads: int | None) -> Iterator[Candidate]:
    """The block of the kernel's launch; first that of the function that the copy stands in."""
    found: list[tuple[bool, Candidate]] = []
    for source in program.sources.values():
        for call in source.calls():
            inner = call.func.value if isinstance(call.func, ast.Attribute) else None
            if name_of(call) == "launch" and isinstance(inner, ast.Call):
                other = name_of(inner) != getattr(site.function, "name", "")
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
        function = source.owners.get(call)
        while function is not None and parameter(function, size.id) is None:
            function = source.owners.get(function)
        for place in program.given(function, size.id):
            yield (program.rewritten(place, threads),)
    for text in parts(source, size):
        yield (rewritten(source, size, text),)
    yield from resized(program, Site(source.path, size, source.owners.get(call)), int(threads))
    yield (rewritten(source, size, threads),)


def expected(program: Program, site: Site, count: int | None) -> Iterator[Candidate]:
    """The bytes that a barrier of the copy's file expects."""
    source = program.sources[site.path]
    for call in source.calls():
        if name_of(call) in ("mbarrier_arrive_and_expect_tx", "mbarrier_expect_tx") and len(call.args) > 1:
            yield (rewritten(source, call.args[1], str(count)),)
