"""Edits for a product whose operands do not fit (LC601 to LC605, LC607): one word of the program at a time.

The tiled copy of another operand or of another tiled MMA, ldmatrix that transposes or does not, one view of a
tile for another (`views`), a layout atom or a descriptor of the other major; for registers that nothing
has written a fill (`fills`). What is proposed need not be right: `objection` holds the trace of the edited
program against the first one.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

from layoutcheck.lint.source import Source
from layoutcheck.patching.arguments import with_keyword
from layoutcheck.patching.edit import Candidate, Edit, indent_of, rewritten
from layoutcheck.patching.ordering import proof
from layoutcheck.patching.views import views
from layoutcheck.patching.words import turned
from layoutcheck.sources.traced import KernelFinding, Trace
from layoutcheck.syntax import argument_of, name_of, paired

UNWRITTEN = ("LC609", "LC610")
_MAKERS = (
    "make_rmem_tensor", "make_rmem_tensor_like", "make_fragment", "make_fragment_like", "make_fragment_C",
)  # fmt: skip


def fills(source: Source, finding: KernelFinding) -> Iterator[tuple[str, Candidate]]:
    """Titles and edits for fragments that nothing has written (LC609, LC610), the likeliest first.

    A fill stands behind the line that makes the fragment. The finding says what the fragment may begin with;
    without that there is no edit. Which fragment it is only the trace of the edited program tells: those that
    the finding's lines name come first.
    """
    value = str(finding.evidence.get("fill", ""))
    lines = [at.line for p in finding.places for at in (p.where, *p.stack) if at.file == source.path]
    named = _names(source, lines)
    around = {source.scope_at(line) for line in lines}
    made = [(stmt, name) for stmt, name in _made(source) if source.scope_of(stmt) in around] if value else []
    for stmt, name in sorted(made, key=lambda one: named.index(one[1]) if one[1] in named else len(named)):
        indent = indent_of(source, stmt)
        if indent is not None:
            end = source.span_of(stmt)[1]
            title = f"{name}.fill({value}): what nothing writes begins with it"
            yield title, (Edit(source.path, end, end, f"\n{indent}{name}.fill({value})"),)


def _names(source: Source, lines: list[int]) -> list[str]:
    """The names in lines, those of the last place first: where the registers are written."""
    by_line: dict[int, list[str]] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name):
            by_line.setdefault(node.lineno, []).append(node.id)
    return [name for line in reversed(lines) for name in by_line.get(line, ())]


def _made(source: Source) -> Iterator[tuple[ast.Assign, str]]:
    """The statements that make fragments, with the names that these get."""
    for stmt, _ in source.assignments:
        if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1:
            continue
        for target, value in paired(stmt.targets[0], stmt.value):
            if isinstance(target, ast.Name) and isinstance(value, ast.Call) and name_of(value) in _MAKERS:
                yield stmt, target.id


CODES = ("LC601", "LC602", "LC603", "LC604", "LC605", "LC607", *UNWRITTEN)
_SEEN_OTHERWISE = ("LC602", "LC603", "LC605", "LC607")  # what different views of a tile lead to
_BAD = ("rejected", "wrong")
_COPY = re.compile(r"make_tiled_copy_([ABC])")


def findings(trace: Trace) -> list[KernelFinding]:
    """What is wrong with the operands of a trace's products."""
    every = (one for report in trace.operands for one in report.findings)
    return [one for one in every if one.code in CODES and one.severity in _BAD]


def unrepaired(trace: Trace) -> list[KernelFinding]:
    """What is wrong in a trace beside its copies and has no edit: element accesses, order, other operands."""
    every = (one for report in trace.told for one in report.findings if one.severity in _BAD)
    found: dict[object, KernelFinding] = {}
    for one in every:
        if one.code not in CODES:
            found.setdefault(proof.key(one), one)
    return list(found.values())


def ways(texts: dict[str, str], finding: KernelFinding) -> Iterator[tuple[str, Candidate]]:
    """Titles and edits for a finding, in the files that its places name; the likeliest first."""
    frames = [frame for place in finding.places for frame in (place.where, *place.stack)]
    letter = str(finding.evidence.get("operand", ""))
    for path in dict.fromkeys(frame.file for frame in frames):
        if path in texts:
            source = Source(path, texts[path])
            if finding.code in UNWRITTEN:
                yield from fills(source, finding)
                continue
            if finding.code in _SEEN_OTHERWISE:
                yield from views(source)
            if finding.code not in ("LC605", "LC607"):
                yield from _copies(source, letter)
                yield from _transposed(source)
            if finding.code != "LC605":
                yield from _majors(source)


def _copies(source: Source, letter: str) -> Iterator[tuple[str, Candidate]]:
    """The tiled copy of that operand, and of the MMA that multiplies."""
    products = {ast.unparse(call.args[0]) for call in source.calls() if name_of(call) == "gemm" and call.args}
    for call in source.calls():
        found = _COPY.fullmatch(name_of(call))
        if found is None:
            continue
        yield from of_others(source, call, letter)
        for product in sorted(products) if len(call.args) > 1 else ():
            if ast.unparse(call.args[1]) != product:
                title = f"{found[0]} of {product}, which multiplies"
                yield title, (rewritten(source, call.args[1], product),)


def of_others(source: Source, call: ast.Call, letters: str = "ABC") -> Iterator[tuple[str, Candidate]]:
    """The tiled copy of another operand, one of these."""
    found = _COPY.fullmatch(name_of(call))
    for letter in letters if found is not None else "":
        if found is not None and letter != found[1]:
            _, end = source.span_of(call.func)
            title = f"make_tiled_copy_{letter} for {found[0]}"
            yield title, (Edit(source.path, end - 1, end, letter),)


def _transposed(source: Source) -> Iterator[tuple[str, Candidate]]:
    """The other value of ldmatrix's `transpose`."""
    for call in source.calls():
        value = argument_of(call, "transpose", 0)
        had = value.value if isinstance(value, ast.Constant) else None if value else False
        if name_of(call).startswith("LdMatrix") and isinstance(had, bool):
            for edits in with_keyword(source, call, "transpose", str(not had), 0):
                yield f"ldmatrix with transpose={not had}", edits


def _majors(source: Source) -> Iterator[tuple[str, Candidate]]:
    """The layout atom, or the operation's operand, of the other major."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute):
            yield from itertools.islice(turned(source, node), 1)


def objection(before: Trace, after: Trace, finding: KernelFinding) -> str:
    """Why a program is not shown to be better; "" where it is.

    The finding is gone, nothing else is found, and as many products are followed as before; of a tile that
    two sides see differently, more bytes arrive in order.
    """
    old, new = (Counter(map(_kind, findings(trace))) for trace in (before, after))
    if new - old:
        return f"{next(iter(new - old))[0]} is found instead"
    if new[_kind(finding)] >= old[_kind(finding)]:
        return f"{finding.code} remains"
    if _counted(after) < _counted(before):
        return "fewer products are followed"
    if finding.code == "LC605" and _in_order(after) <= _in_order(before):
        return "the tile's elements are not seen to arrive in order"
    return ""


Key: TypeAlias = "tuple[proof.Key, str]"


def key(finding: KernelFinding) -> Key:
    """Which finding it is: of the operands of one product, each has its own."""
    return proof.key(finding), _kind(finding)[1]


def _kind(finding: KernelFinding) -> tuple[str, str]:
    return finding.code, str(finding.evidence.get("operand", ""))


def _in_order(trace: Trace) -> int:
    """Bytes that kernels without a product move through shared memory, each to its place."""
    return sum(one.in_order for one in trace.operands)


def _counted(trace: Trace) -> tuple[int, int]:
    """Products that are followed, and reasons that are not given."""
    return (sum(one.followed for one in trace.operands), -sum(len(one.unchecked) for one in trace.operands))
