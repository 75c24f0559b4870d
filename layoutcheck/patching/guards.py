"""Edits for element accesses that leave their tensor: an `if` on their coordinates, and when it is proven.

The condition is made of the coordinates of the tensor's elements, as `predicates.py` does it for copies. The
`if` stands around the statements from the first to the last that leave the tensor, so that it is asked once;
else around one of them. What such a statement reads is 0 where the condition does not hold.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Sequence

from layoutcheck.lint.source import Source
from layoutcheck.patching.conditions import Condition, accesses, conditions, guarded, read_before, zeroed
from layoutcheck.patching.edit import Candidate, Way
from layoutcheck.patching.predicates import STRATEGY
from layoutcheck.patching.program import Program, Site
from layoutcheck.patching.skipped import Statement, leaves, skippable, stays_in_block
from layoutcheck.patching.state import BAD, Edited, Place, State, instead
from layoutcheck.patching.tiles import retested, turned
from layoutcheck.sources.evaluated import NOTHING
from layoutcheck.sources.traced import KernelFinding, Trace
from layoutcheck.syntax import spans

VERDICT = "in bounds"
_TITLE = f"{STRATEGY}: what has coordinates outside of the tensor is not accessed"
_ZERO = f"{_TITLE}; what is not read is 0"


def findings(trace: Trace, of: Sequence[str] = ("tensor_bytes", "mode_extent")) -> list[KernelFinding]:
    """The element accesses that leave a tensor in global memory, each line once."""
    found: dict[Place, KernelFinding] = {}
    for one in _bad(trace):
        if one.code == "LC204" and not one.evidence.keys().isdisjoint(of):
            found.setdefault(one.lines[0], one)
    return list(found.values())


def in_shared(trace: Trace) -> list[KernelFinding]:
    """The element accesses that leave what is allocated for them in shared memory, each line once."""
    return findings(trace, ("member_bytes", "allocation_bytes", "shared_bytes"))


def leaving(trace: Trace) -> set[Place]:
    """The lines of both."""
    return {one.lines[0] for one in (*findings(trace), *in_shared(trace))}


def ways(texts: dict[str, str], finding: KernelFinding, trace: Trace) -> Iterator[Way]:
    """Edits for a finding; first one that is for others of the `trace`, too."""
    path, line = finding.lines[0]
    program = Program(texts)
    at = _statement(program.sources[path], line) if path in texts else None
    if at is None:
        return
    below, writes = finding.evidence.get("address", 0) < 0, finding.places[0].what == "writes"
    asked: dict[str, tuple[ast.Subscript, list[Condition]]] = {}
    for access in accesses(at.node if _is_simple(at.node) else _read(at.node) or at.node, writes):
        made = list(conditions(program, at, access, below))
        asked.setdefault(at.source.text_of(access), (access, made))
    every = sorted(asked.values(), key=lambda one: at.source.span_of(one[0]))
    inside = [
        (counts.most, run.objects[-1][-1] if run.objects else 0)
        for one in trace.elements for file, at, (run, counts) in one.inside if (file, at) == (path, line)
    ]  # fmt: skip
    shifted = "shifted" in finding.evidence
    partly = any(count != size for count, size in inside)  # of which a tail leaves nothing out
    none = not any(count for count, _ in inside)
    if not shifted:
        yield from itertools.starmap(Way, retested(at.source, at.scope.node, at.node, partly, none))
    for access, _ in every if shifted or partly else ():
        for title, edits in turned(program, Site(path, access, at.scope), shifted):
            yield Way(title, edits, moves=True)
    if shifted:
        return
    lines = [line, *(one.lines[0][1] for one in findings(trace) if one.lines[0][0] == path)]
    yield from _skipping(program, at, lines, every[:1]) if _is_simple(at.node) else ()
    yield from _apart(at, every) if not writes else ()
    yield from _skipping(program, at, lines, every[1:]) if _is_simple(at.node) else ()


def _skipping(
    program: Program,
    at: Statement,
    lines: Sequence[int],
    asked: Sequence[tuple[ast.Subscript, list[Condition]]],
) -> Iterator[Way]:
    """An `if` around all that leaves a tensor, or around one statement, which is done with 0 else.

    What shared memory or registers get is not left away: they would hold what nobody wrote.
    """
    whole = skippable(at, [n for n, one in enumerate(at.suite) if leaves(one, lines)], lines)
    single = skippable(at, [at.suite.index(at.node)], lines)
    if isinstance(at.node, ast.Assign) and stays_in_block(program, at):
        whole = single = []
    for access, made in asked:
        zero = zeroed(at.node, access)
        for condition in made:
            for title, statements, first in (
                (_TITLE, whole, ""),
                (_TITLE, single, ""),
                (_ZERO, [at.node] if zero else [], zero),
            ):
                edits, bare = (guarded(at, statements, one, first) for one in (condition, condition.holds))
                if edits:
                    yield Way(title, edits, bare=bare)


def _apart(at: Statement, asked: Sequence[tuple[ast.Subscript, list[Condition]]]) -> Iterator[Way]:
    """One read, two or all of them, each in a name that is 0 where its condition does not hold."""
    where = _read(at.node)
    every = [(access, made[0]) for access, made in asked if made]
    counts = sorted({1, min(2, len(every)), len(every)} - {0})
    for some in (some for count in counts for some in itertools.combinations(every, count)):
        if where is not None:
            edits = read_before(at, where, some)
            bare = read_before(at, where, [(access, condition.holds) for access, condition in some])
            if edits:
                yield Way(_ZERO, edits, bare=bare)


def _read(statement: ast.stmt) -> ast.expr | None:
    """The part of a statement that is evaluated once, before it does anything else."""
    if isinstance(statement, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)):
        return statement.value
    return statement.test if isinstance(statement, ast.If) else None


def _is_simple(statement: ast.stmt) -> bool:
    return isinstance(statement, (ast.Assign, ast.AugAssign, ast.Expr))


def objection(edited: Edited, finding: KernelFinding) -> str:
    """What is worse with an edit, of element accesses; "" where nothing is."""
    there = edited.places(finding.lines[0])
    bad = [_bad(state.trace) for state in (edited.before, edited.after)]
    if any(one.code == finding.code and one.lines[0] in there for one in bad[1]):
        return f"{finding.code} remains"
    if why := instead(*bad):
        return why
    unknown = [
        sum(one.accesses - one.known for one in trace.elements)
        for trace in (edited.before.trace, edited.after.trace)
    ]
    return "fewer accesses are known" if unknown[1] > unknown[0] else ""


def unturned(edited: Edited, finding: KernelFinding, more: bool) -> str:
    """Why other coordinates, or comparisons, are not shown to access what the line did; "" where they are.

    With `more` some of it must be more: an edit may only move what a tail leaves outside.
    """
    place = finding.lines[0]
    before, after = edited.before.inside({place}), edited.after.inside(set(edited.places(place)))
    counts = [(before[run].most, after.get(run, NOTHING).most) for run in before]
    if any(now < was for was, now in counts):
        return "fewer elements of the tensor would be accessed"
    enough = any(now > was for was, now in counts) if more else any(now for _, now in counts)
    return "" if enough else "no more elements of the tensor would be accessed"


def unkept(edited: Edited, bare: Callable[[], State], finding: KernelFinding, edits: Candidate) -> str:
    """Why it is not shown that an edit takes away just what leaves the tensor; "" where it is.

    `bare` gives the program with the same statement under a condition that always holds: what is evaluated of
    it is then what is evaluated of the edited program. It is asked where the program as it was differs.
    """
    block = edits[0]
    first, last = (edited.texts[block.path].count("\n", 0, at) + 1 for at in (block.start, block.end))
    lines = {(block.path, line) for line in range(first, last + 1)}
    there = {one for line in lines for one in edited.places(line)}
    moved = edited.after.inside(there)
    if moved and not any(counts.bytes or counts.most for counts in moved.values()):
        return "nothing of the tensor would be accessed: its coordinates or a condition may be wrong"
    if why := edited.after.unwritten(there):
        return why
    if any(counts.none and not run.extent for run, counts in edited.before.inside(lines).items()):
        return "a part of it is outside in every block that was evaluated: its coordinates may be wrong"
    if not edited.keeps(lines, there, edited.before):
        return ""
    asked = bare()
    if not any(one.lines[0] in there for one in findings(asked.trace)):
        return f"{finding.code} is not found of what it takes away"
    return edited.keeps(there, there, asked)


def repaired(edited: Edited) -> list[KernelFinding]:
    """What was leaving something before an edit and is not after it."""
    left, was = leaving(edited.after.trace), edited.before.trace
    return [one for one in (*findings(was), *in_shared(was)) if left.isdisjoint(edited.places(one.lines[0]))]


def _bad(trace: Trace) -> list[KernelFinding]:
    """What is wrong with a trace's element accesses."""
    every = (one for report in trace.elements for one in report.findings)
    return [one for one in every if one.severity in BAD and one.places]


def _statement(source: Source, line: int) -> Statement | None:
    """The simple statement of a line with an element in it, else the branch whose condition has one there."""
    scope = source.scope_at(line)
    suites = (getattr(node, name, None) for node in ast.walk(scope.node) for name in ("body", "orelse"))
    every = [(one, suite) for suite in suites if isinstance(suite, list) for one in suite if _read(one)]
    every.sort(key=lambda pair: isinstance(pair[0], ast.If))
    for one, suite in every:
        where = _read(one) if isinstance(one, ast.If) else one
        elements = (isinstance(node, ast.Subscript) for node in ast.walk(where)) if where is not None else ()
        if where is not None and spans(where, line) and any(elements):
            return Statement(source, one, suite, scope)
    return None
