"""Numbers of synchronisation that a finding about order shows to be wrong, written otherwise.

Groups that a wait leaves open, bytes that an mbarrier expects, its arrivals, the parity of a wait, the
threads and the number of a named barrier, the role and the stages of a pipeline's state.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from layoutcheck.lint.source import Source
from layoutcheck.patching.edit import Candidate, rewritten
from layoutcheck.patching.ordering import slots
from layoutcheck.patching.ordering.slots import Slot
from layoutcheck.patching.ordering.spelling import free_barrier, why
from layoutcheck.patching.program import Program
from layoutcheck.sources.traced import Frame, KernelFinding
from layoutcheck.syntax import name_of, spans

_BAR = ("barrier", "barrier_arrive", "NamedBarrier")
_WAITS = ("cp_async_wait_group", "cp_async_bulk_wait_group", "wait_group")
_ANNOUNCES = ("mbarrier_arrive_and_expect_tx", "mbarrier_expect_tx")


def changed(program: Program, finding: KernelFinding, threads: int) -> Iterator[tuple[str, Candidate]]:
    """Titles and edits, the likeliest first. `threads` are those of a block."""
    one = _Numbers(program, finding, threads)
    facts = finding.evidence
    kind, cause = str(facts.get("kind")), facts.get("cause")
    if cause == "wait-count":
        yield from one.groups()
    if kind in ("barrier-shared", "barrier-counts-differ") or facts.get("what") == "barrier":
        yield from one.named_barriers()
    if kind in ("too-few-bytes", "bytes-never-arrive"):
        yield from one.announced()
    if kind in ("race", "deadlock", "too-many-arrivals", "count-out-of-range", "overwritten-by-copy"):
        yield from one.arrivals()
    if cause == "early-wait" or kind in ("deadlock", "overwritten-by-copy", "not-initialised"):
        yield from one.parities()
        yield from one.states()
        yield from one.steps()


class _Numbers:
    def __init__(self, program: Program, finding: KernelFinding, threads: int) -> None:
        self.program, self.finding, self.threads = program, finding, threads
        self.facts, self.places = finding.evidence, finding.places
        frames = (frame for place in self.places for frame in (place.where, *place.stack))
        self.files = [f for f in dict.fromkeys(frame.file for frame in frames) if f in program.sources]
        self.executing = [int(n) or threads for n in self.facts.get("executing", ())]

    def groups(self) -> Iterator[tuple[str, Candidate]]:
        """The groups that a wait leaves open."""
        most, pending = int(self.facts.get("most", 0)), int(self.facts.get("pending", 0))
        for source, call in self._at(_WAITS):
            for value in call.args[:1]:
                text = source.text_of(value)
                plain = isinstance(value, ast.Constant)
                for new in ([] if plain else [_less(source, value, pending - most)]) + [str(most)]:
                    said = f"{name_of(call)}({new}), not {text}; no more than {most} later groups stay open"
                    yield _way(said, source, value, new)

    def named_barriers(self) -> Iterator[tuple[str, Candidate]]:
        """The threads that a named barrier counts, and its number."""
        arrived = int(self.facts.get("arrived", 0))
        seen = (*self.executing, arrived, int(self.facts.get("first", 0)))
        counts = list(dict.fromkeys(-(-n // 32) * 32 for n in seen if n))  # PTX counts whole warps
        for source, call in self._at(_BAR):
            for value in _arguments(call, "number_of_threads", "num_threads", 1):
                for count in counts:
                    said = f"number_of_threads={count}; as many threads arrive there"
                    yield _way(said, source, value, str(count))
        for source, call in self._at(_BAR):
            for value in _arguments(call, "barrier_id", "barrier_id", 0):
                new = str(free_barrier(source))
                yield _way(
                    f"barrier_id={new}; no other group of threads uses that number", source, value, new
                )

    def announced(self) -> Iterator[tuple[str, Candidate]]:
        """The bytes that an mbarrier expects."""
        said_now = int(self.facts.get("announced", self.facts.get("expected", 0)))
        new = said_now + int(self.facts.get("missing_bytes", 0)) - int(self.facts.get("bytes", 0))
        why_enough = f"expect {new} bytes; that is what the copies of a phase bring"
        for source, call in self._at(_ANNOUNCES):
            for value in call.args[1:2] or _arguments(call, "bytes", "bytes", 9):
                yield _way(why_enough, source, value, str(new))
        for source, call in self._calls("create"):
            for value in _arguments(call, "tx_count", "tx_count", 99):
                yield _way(why_enough, source, value, str(new))

    def arrivals(self) -> Iterator[tuple[str, Candidate]]:
        """The arrivals that an mbarrier is initialised for."""
        count, pending = int(self.facts.get("count", 0)), int(self.facts.get("pending", 0))
        wanted = [count - pending, int(self.facts.get("arrivals", 0)), *self.executing]
        wanted += [n // 32 for n in self.executing if n % 32 == 0]
        for source, call in self._calls("mbarrier_init"):
            for value in call.args[1:2] or _arguments(call, "cnt", "cnt", 9):
                for new in dict.fromkeys(n for n in wanted if n > 0):
                    said = f"initialise the mbarrier for {new} arrivals; as many arrive in a phase"
                    yield _way(said, source, value, str(new))
        for source, value in self._groups():
            for new in dict.fromkeys(n for n in wanted if n > 0):
                yield _way(f"a group of {new}; as many arrive in a phase", source, value, str(new))

    def _groups(self) -> Iterator[tuple[Source, ast.expr]]:
        """The sizes of the groups that pipelines are made with, those of the finding's pipeline first."""
        for source, call in self._at(("create",)):
            groups = (one.value for one in call.keywords if one.arg in ("consumer_group", "producer_group"))
            yield from ((source, one.args[-1]) for one in groups if isinstance(one, ast.Call) and one.args)
        for source, call in self._calls("CooperativeGroup"):
            yield from ((source, size) for size in _arguments(call, "size", "size", 1))

    def parities(self) -> Iterator[tuple[str, Candidate]]:
        """The parity that a wait is for: of the turn, or the other one.

        A wait that returns too early is the one that the finding names. Of waits that never return only
        those on mbarriers that no copy completes on: with the other parity a reader would take a stage
        before its data.
        """
        early = self.facts.get("cause") == "early-wait"
        for source, call in self._at(("mbarrier_wait", "mbarrier_try_wait")):
            if not early and _root(call.args[0]) in _loaded(source):
                continue
            for value in call.args[1:2]:
                text = source.text_of(value)
                loop = slots.loop_around(slots.chain(source, call.lineno))
                options = [f"{target} % 2"] if (target := slots.counter(loop)) else []
                options += [{"0": "1", "1": "0"}.get(text, f"1 - ({text})")]
                for new in options:
                    if new != text:
                        said = f"wait for parity {new}; the copy completes in the phase of that parity"
                        yield _way(said, source, value, new)

    def states(self) -> Iterator[tuple[str, Candidate]]:
        """The role and the stages of a pipeline's states, as the file has them elsewhere."""
        made = self._calls("make_pipeline_state")
        for source, call in made:
            for value in call.args[:1]:
                for new in _roles(source, _side(source, call)):
                    if new != source.text_of(value):
                        said = f"a state of {new}; its first phase is the one that this side needs"
                        yield _way(said, source, value, new)
        counts = [
            source.text_of(value)
            for source, create in self._calls("create")
            for value in _arguments(create, "num_stages", "num_stages", 99)
        ]
        for new in dict.fromkeys(counts):
            others = [
                (source, value)
                for source, call in made
                for value in call.args[1:2]
                if new != source.text_of(value)
            ]
            edits = [_way(f"states of {new} stages, as the pipeline has", *one, new) for one in others]
            yield from (
                edits if len(edits) < 2 else [(edits[0][0], tuple(edit for _, (edit,) in edits)), *edits]
            )

    def steps(self) -> Iterator[tuple[str, Candidate]]:
        """What a pipeline's loop leaves out: the next stage, the release, the acquire."""
        for path in self.files:
            source = self.program.sources[path]
            for loop in (node for node in ast.walk(source.tree) if isinstance(node, (ast.For, ast.While))):
                yield from _left_out(source, loop)

    def _at(self, names: tuple[str, ...]) -> Iterator[tuple[Source, ast.Call]]:
        """The calls of such names at the finding's lines; else all in its files."""
        found = []
        for frame in (frame for place in self.places for frame in (place.where, *place.stack)):
            found += [one for one in self._named(names) if _spans(one, frame)]
        yield from dict.fromkeys(found or self._named(names))

    def _named(self, names: tuple[str, ...]) -> list[tuple[Source, ast.Call]]:
        sources = map(self.program.sources.__getitem__, self.files)
        return [(source, call) for source in sources for call in source.calls() if name_of(call) in names]

    def _calls(self, name: str) -> list[tuple[Source, ast.Call]]:
        return self._named((name,))


def _left_out(source: Source, loop: ast.For | ast.While) -> Iterator[tuple[str, Candidate]]:
    """Methods of pipelines that a loop's body does not call, though it calls their counterparts."""
    called: dict[tuple[str, str], dict[str, ast.stmt]] = {}
    for stmt in loop.body:
        for call in (node for node in ast.walk(stmt) if isinstance(node, ast.Call)):
            if isinstance(call.func, ast.Attribute) and call.func.attr.split("_")[0] in _ROLES and call.args:
                key = ast.unparse(call.func.value), source.text_of(call.args[0])
                called.setdefault(key, {})[call.func.attr] = stmt
    steps = {
        ast.unparse(call.func.value): stmt
        for stmt in loop.body
        for call in ast.walk(stmt)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "advance"
    }
    last = Slot(source, loop.body[-1], True, 0)
    for (pipe, state), methods in called.items():
        end = Slot(source, steps[state], False, 0) if state in steps else last
        role = next(iter(methods)).split("_")[0]
        if state not in steps and state.isidentifier():
            yield from _put(last, f"{state}.advance()")
        if role == "consumer" and "consumer_release" not in methods:
            yield from _put(end, f"{pipe}.consumer_release({state})")
        if role == "consumer" and not {"consumer_wait", "consumer_try_wait"} & set(methods):
            yield from _put(Slot(source, loop.body[0], False, 0), f"{pipe}.consumer_wait({state})")
        if role == "producer" and "producer_acquire" not in methods:
            yield from _put(
                Slot(source, next(iter(methods.values())), False, 0), f"{pipe}.producer_acquire({state})"
            )
        if role == "producer" and "producer_commit" not in methods:
            yield from _put(end, f"{pipe}.producer_commit({state})")


_ROLES = ("consumer", "producer")


def _put(slot: Slot, statement: str) -> Iterator[tuple[str, Candidate]]:
    edit = slot.edit(statement)
    if edit is not None:
        yield (
            f"synchronise: insert {statement}; {why((statement,)) or 'the other side waits for it'}",
            (edit,),
        )


def _roles(source: Source, side: str) -> list[str]:
    """A role as the file names it: `PipelineUserType.Producer`."""
    owners = {
        source.text_of(node.value)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and node.attr in ("Producer", "Consumer")
    }
    return [f"{owner}.{side}" for owner in sorted(owners)] if side else []


def _side(source: Source, call: ast.Call) -> str:
    """The role of the methods that a state is given to, from where it is made on; "" for both or none."""
    names = {
        target.id
        for node, _ in source.assignments
        if node.value is call and isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    steps = slots.chain(source, call.lineno)
    block = steps[-1].block if steps else []
    sides = {
        name_of(node).split("_")[0]
        for stmt in block
        for node in ast.walk(stmt)
        if isinstance(node, ast.Call) and any(isinstance(a, ast.Name) and a.id in names for a in node.args)
    } & set(_ROLES)
    return sides.pop().capitalize() if len(sides) == 1 else ""


def _way(said: str, source: Source, value: ast.expr, new: str) -> tuple[str, Candidate]:
    return f"synchronise: {said}", (rewritten(source, value, new),)


def _less(source: Source, value: ast.expr, by: int) -> str:
    """An expression that is so much less: `STAGES - 2` for `STAGES - 1`."""
    text = source.text_of(value)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub):
        last = source.text_of(value.right)
        if re.fullmatch("[0-9]+", last):
            return f"{source.text_of(value.left)} - {int(last) + by}"
    return f"{text if text.isidentifier() or text.endswith(')') else f'({text})'} - {by}"


def _arguments(call: ast.Call, keyword: str, other: str, position: int) -> list[ast.expr]:
    named = [one.value for one in call.keywords if one.arg in (keyword, other)]
    return named or call.args[position : position + 1]


def _spans(one: tuple[Source, ast.Call], frame: Frame) -> bool:
    source, call = one
    return source.path == frame.file and spans(call, frame.line)


def _root(node: ast.expr) -> str:
    """The name that an expression of a pointer begins with: `full` of `full + stage`."""
    return next((one.id for one in ast.walk(node) if isinstance(one, ast.Name)), "")


def _loaded(source: Source) -> set[str]:
    """The names of mbarriers that copies complete on."""
    found = [call.args[0] for call in source.calls() if name_of(call) in _ANNOUNCES and call.args]
    named = ("mbar_ptr", "tma_bar_ptr")
    found += [one.value for call in source.calls() for one in call.keywords if one.arg in named]
    return {_root(node) for node in found}
