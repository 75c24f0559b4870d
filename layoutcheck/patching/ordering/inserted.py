"""Statements that a finding about order lacks, and where they may go: the cheapest first.

    for title, edits in inserted(program, finding, threads): ...

What is proposed need not be right: `proof.py` holds the trace of the edited program against the first one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from layoutcheck.lint.source import Source
from layoutcheck.patching.edit import Candidate, Edit
from layoutcheck.patching.ordering import slots
from layoutcheck.patching.ordering.given_back import later
from layoutcheck.patching.ordering.slots import Slot
from layoutcheck.patching.ordering.spelling import Spelling, why
from layoutcheck.patching.program import Program
from layoutcheck.sources.traced import KernelFinding
from layoutcheck.syntax import name_of

Way: TypeAlias = "tuple[str, Candidate]"
MOST_SLOTS = 4  # places tried for one statement


class Missing:
    """The statements that one finding lacks. `threads` are those of a block."""

    def __init__(self, program: Program, finding: KernelFinding, threads: int) -> None:
        self.program, self.finding, self.threads = program, finding, threads
        self.facts = finding.evidence
        self.places = finding.places
        executing = finding.evidence.get("executing", ())
        self.together = (int(executing[-1]) if executing else 0) or threads
        self.first, self.second = self.places[0], self.places[min(1, len(self.places) - 1)]

    def ways(self) -> Iterator[Way]:
        """By the kind of the finding."""
        for part in _KINDS.get(str(self.facts.get("kind")), ()):
            yield from part(self)

    def barrier(self) -> Iterator[Way]:
        """A barrier between the two accesses, of the cluster where two of its blocks make them.

        First one that stands there, under a condition that some threads do not meet, is taken out of it.
        """
        for source, call in self.barriers_between():
            yield from _moved_out(source, slots.chain(source, call.lineno))
        for slot in self.between():
            yield from self.put(slot, *self.meeting(slot))

    def fenced_barrier(self) -> Iterator[Way]:
        """The initialisation of mbarriers made visible: a fence and a barrier."""
        here = self.between() if len(self.places) > 1 else self.initialised()
        for slot in sorted(here, key=lambda slot: not slot.after):  # behind it: a copy may use it, too
            fence = Spelling(slot.source).arch("mbarrier_init_fence()")
            yield from self.put(slot, fence, *self.meeting(slot))

    def init_fence(self) -> Iterator[Way]:
        """The fence behind the initialisation."""
        for slot in slots.behind(self.program, self.first):
            yield from self.put(slot, Spelling(slot.source).arch("mbarrier_init_fence()"))

    def arrived_copies(self) -> Iterator[Way]:
        """cp.async: the commit, the wait, and the barrier that hands the copies to other threads."""
        if self.first.kind != "cp_async":
            return
        cause, most = self.facts.get("cause"), int(self.facts.get("most", 0))
        alone = self.first.thread // 32 == self.second.thread // 32 and self.first.block == self.second.block
        if cause == "no-barrier":
            for slot in self.behind_wait():
                yield from self.put(slot, *self.meeting(slot))
            yield from self.barrier()
            return
        commits: Sequence[Candidate] = (
            [()] if cause != "no-commit" else self.commits("cp_async_commit_group()")
        )
        for commit in commits:
            if commit:
                yield self.titled(commit, "cp_async_commit_group()")
            for slot in self.before_barriers() if cause != "wait-count" else ():
                for pending in range(most, -1, -1):
                    yield from self.put(
                        slot, Spelling(slot.source).arch(f"cp_async_wait_group({pending})"), also=commit
                    )
            for pending in range(most, -1, -1):
                for slot in self.between() if cause != "wait-count" else ():
                    wait = Spelling(slot.source).arch(f"cp_async_wait_group({pending})")
                    if alone:
                        yield from self.put(slot, wait, also=commit)
                    yield from self.put(slot, wait, *self.meeting(slot), also=commit)

    def arrived_loads(self) -> Iterator[Way]:
        """Bulk and TMA loads: a wait for their mbarrier, or for their stage of a pipeline."""
        if self.first.kind != "bulk_load" or self.facts.get("cause") == "early-wait":
            return
        yield from self.piped("consumer_wait", self.between())
        bar = self.mbarrier_of_copy()
        for slot in self.between() if bar else ():
            for phase in self.phases(slot):
                yield from self.put(slot, Spelling(slot.source).arch(f"mbarrier_wait({bar}, {phase})"))

    def tensor_memory(self) -> Iterator[Way]:
        """The warp's own wait for its accesses of tensor memory."""
        kind = self.facts.get("kind")
        word = "load" if kind in ("load-in-flight", "load-before-wait") else "store"
        if word == "store" and kind != "store-before-wait" and self.facts.get("cause") != "no-tensor-wait":
            return
        for slot in slots.behind(self.program, self.first, innermost=True):
            yield from self.put(slot, Spelling(slot.source).arch(f"fence_view_async_tmem_{word}()"))

    def read_sources(self) -> Iterator[Way]:
        """A bulk store's or a multiplication's operands: a wait for their reads, and a barrier."""
        if self.first.kind == "wgmma":
            for slot in self.between():
                wait = Spelling(slot.source).warpgroup("wait_group(0)")
                waits = () if self.facts.get("cause") == "no-barrier" else (wait,)
                yield from self.put(slot, *waits)
                yield from self.put(slot, *waits, *self.meeting(slot))
            return
        if self.first.kind != "bulk_store":
            return
        if self.facts.get("cause") == "no-barrier":
            yield from self.barrier()
            return
        yield from self.piped("producer_acquire", self.between(), stateless=True)
        for pending in (1, 0):
            call = f"cp_async_bulk_wait_group({pending}, read=True)"
            for edits in self.waits_behind(call):
                yield self.titled(edits, call)
                for slot in self.between()[:2]:
                    yield from self.put(slot, *self.meeting(slot), also=edits)

    def left_sources(self) -> Iterator[Way]:
        """A bulk store at the end of a kernel: its reads are waited for."""
        last = slots.behind(self.program, self.first)
        yield from self.piped("producer_tail", last, stateless=True)
        for wait in self.waits_behind("cp_async_bulk_wait_group(0, read=True)"):
            yield self.titled(wait, "cp_async_bulk_wait_group(0, read=True)")

    def free_stage(self) -> Iterator[Way]:
        """A copy over what is still read: a barrier, or the acquire of the stage."""
        yield from self.piped("producer_acquire", slots.before(self.program, self.second))
        yield from self.barrier()

    def proxies(self) -> Iterator[Way]:
        """A fence between the proxies by the threads that wrote, else with a barrier that is missing, too."""
        kind = '"async.global"' if self.facts.get("memory") == "global" else '"async.shared", space="cta"'
        here = self.few(slots.gaps(self.program, self.first, self.second), 2 * MOST_SLOTS)
        here.sort(key=lambda slot: not slot.after)  # behind the stores, and before the barrier that follows
        for slot in here or self.few(slots.behind(self.program, self.first), MOST_SLOTS):
            yield from self.put(slot, Spelling(slot.source).arch(f"fence_proxy({kind})"))
        for slot in self.between():
            fence = Spelling(slot.source).arch(f"fence_proxy({kind})")
            yield from self.put(slot, fence, *self.meeting(slot))

    def peers(self) -> Iterator[Way]:
        """The blocks of a cluster wait for one another behind the last access of a peer's, or before."""
        begins = self.facts.get("kind") == "peer-not-begun"
        for slot in (slots.before if begins else slots.behind)(self.program, self.first):
            yield from self.put(slot, *self.cluster(slot))

    def registers(self) -> Iterator[Way]:
        """Accumulators: the fence before wgmma, or the wait before they are read."""
        read = self.facts.get("kind") == "accumulator-before-wait"
        call = "wait_group(0)" if read else "fence()"
        here = self.between() if len(self.places) > 1 else []
        here += slots.before(self.program, self.second)
        for slot in self.few(here, 2 * MOST_SLOTS):
            yield from self.put(slot, Spelling(slot.source).warpgroup(call))

    def lanes(self) -> Iterator[Way]:
        """The lanes of a warp meet."""
        for slot in [*self.between(), *slots.behind(self.program, self.first, innermost=True)]:
            yield from self.put(slot, Spelling(slot.source).arch("sync_warp()"))

    def elected(self) -> Iterator[Way]:
        """One lane of the warp alone: of calls only, as what lanes do for themselves would be lost."""
        place = self.second
        for frame in (place.where, *place.stack):
            found = slots.statement(self.program, frame)
            if found is not None and isinstance(found[1][-1].stmt, ast.Expr):
                source, steps = found
                head = f"with {Spelling(source).arch('elect_one()')}:"
                edit = slots.within(source, steps[-1].stmt, head)
                if edit is not None:
                    yield "synchronise: under elect_one(); one lane of the warp executes it", (edit,)

    def later(self) -> Iterator[Way]:
        """What gives the buffer back too early, behind the access that comes after it."""
        yield from later(self.program, self.first)

    def moved_out(self) -> Iterator[Way]:
        """The statement taken out of the conditions around it, behind them."""
        found = slots.statement(self.program, self.first.where)
        if found is not None:
            yield from _moved_out(*found)

    def barriers_between(self) -> Iterator[tuple[Source, ast.Call]]:
        """The barriers of the block between both lines of one file, where a run decides who executes them."""
        one, other = self.first.where, self.second.where
        source = self.program.sources.get(one.file)
        for call in source.calls() if source is not None and one.file == other.file else ():
            inside = one.line < call.lineno < other.line
            if source is None or not inside or name_of(call) not in _BARRIERS:
                continue
            if slots.branches(slots.chain(source, call.lineno)):
                yield source, call

    def piped(self, method: str, here: Sequence[Slot], stateless: bool = False) -> Iterator[Way]:
        """A method of a pipeline of the kernel, with the state that its other calls have."""
        wanted = "" if stateless else "state"
        for slot in self.few(here, 2 * MOST_SLOTS):
            for pipe, state in _pipes(slot.source, slot.stmt, method):
                if bool(state) == bool(wanted):
                    yield from self.put(slot, f"{pipe}.{method}({state})")

    def between(self) -> list[Slot]:
        """The slots between both places, behind the statement that is there and does not do it."""
        found = slots.gaps(self.program, self.first, self.second) if len(self.places) > 1 else []
        return self.few(found, MOST_SLOTS)

    def behind_wait(self) -> list[Slot]:
        """Behind the last wait for copies before the second place, in its function."""
        where = self.second.where
        source = self.program.sources.get(where.file)
        waits = [
            call.lineno for call in (source.calls() if source is not None else ())
            if name_of(call) == "cp_async_wait_group" and call.lineno < where.line
        ]  # fmt: skip
        if source is None or not waits or source.scope_at(waits[-1]) is not source.scope_at(where.line):
            return []
        steps = slots.chain(source, max(waits))
        return self.few([Slot(source, steps[-1].stmt, True, slots.branches(steps))], 1)

    def before_barriers(self) -> list[Slot]:
        """The slots between both places before a barrier of the block, which hands on what is waited for."""
        found = slots.passed(self.program, self.first, self.second) if len(self.places) > 1 else []
        return self.few([one for one in found if _is_call(one.stmt, *_BARRIERS)], MOST_SLOTS)

    def initialised(self) -> list[Slot]:
        """The slots behind the file's initialisations of mbarriers."""
        found = []
        for frame in (self.first.where, *self.first.stack):
            source = self.program.sources.get(frame.file)
            for call in source.calls() if source is not None else ():
                if source is not None and name_of(call) == "mbarrier_init":
                    steps = slots.chain(source, call.lineno)
                    found += [Slot(source, step.stmt, True, 0) for step in steps]
        return self.few(found, MOST_SLOTS)

    def few(self, found: Sequence[Slot], most: int) -> list[Slot]:
        """Those of some slots that have lines of their own, the first of them."""
        return [slot for slot in found if slot.edit("pass") is not None][:most]

    def meeting(self, slot: Slot) -> tuple[str, ...]:
        """A barrier of the threads that come by a slot."""
        if self.first.block != self.second.block:
            return self.cluster(slot)
        threads = self.together if slot.branches else self.threads
        return (Spelling(slot.source).meeting(threads, self.threads),)

    def cluster(self, slot: Slot) -> tuple[str, ...]:
        """The barrier of a cluster."""
        spelling = Spelling(slot.source)
        return spelling.arch("cluster_arrive()"), spelling.arch("cluster_wait()")

    def commits(self, call: str) -> Sequence[Candidate]:
        """A commit behind the copy, innermost first."""
        found = slots.behind(self.program, self.first, innermost=True)
        edits = (slot.edit(Spelling(slot.source).arch(call)) for slot in found)
        return [(edit,) for edit in edits if edit is not None][:MOST_SLOTS]

    def waits_behind(self, wait: str) -> Iterator[Candidate]:
        """A wait of the issuing thread, behind its commit; with one where the copy has none."""
        for slot in slots.behind(self.program, self.first, innermost=True):
            spelling = Spelling(slot.source)
            steps = slots.chain(slot.source, slot.stmt.lineno)
            block = next((one.block for one in steps if one.stmt is slot.stmt), [])
            commit = next((one for one in block if _is_call(one, "cp_async_bulk_commit_group")), None)
            if commit is not None:
                edit = Slot(slot.source, commit, True, slot.branches).edit(spelling.arch(wait))
                if edit is not None:
                    yield (edit,)
                return
        for slot in slots.behind(self.program, self.first, innermost=True):
            spelling = Spelling(slot.source)
            edit = slot.edit(spelling.arch("cp_async_bulk_commit_group()"), spelling.arch(wait))
            if edit is not None:
                yield (edit,)
                return

    def mbarrier_of_copy(self) -> str:
        """The mbarrier that the copy names, as it is written there."""
        found = slots.statement(self.program, self.first.where)
        for node in ast.walk(found[1][-1].stmt) if found is not None else ():
            for one in node.keywords if isinstance(node, ast.Call) else ():
                if one.arg in ("mbar_ptr", "tma_bar_ptr") and found is not None:
                    return found[0].text_of(one.value)
        return ""

    def phases(self, slot: Slot) -> list[str]:
        """The parities that a wait may be for: of the first use, or of each turn."""
        counter = slots.counter(slots.loop_around(slots.chain(slot.source, slot.stmt.lineno)))
        return [f"{counter} % 2", "0"] if counter else ["0"]

    def put(self, slot: Slot, *statements: str, also: Candidate = ()) -> Iterator[Way]:
        """The statements in a slot, with other edits."""
        edit: Edit | None = slot.edit(*statements) if statements else None
        if edit is not None:
            here = next((one for one in also if replace(one, new=edit.new) == edit), None)
            if here is not None:  # one insertion, in the order of the statements
                if _blanks(here) != _blanks(edit):
                    return
                edit = replace(edit, new=here.new + edit.new)
            yield self.titled((*(one for one in also if one is not here), edit), *statements)

    def titled(self, edits: Candidate, *statements: str) -> Way:
        """Edits, with what they insert and why that is enough."""
        said = ", ".join(one.removeprefix("cute.arch.").removeprefix("arch.") for one in statements)
        return f"synchronise: insert {said}; {why(statements)}", edits


def _blanks(edit: Edit) -> int:
    return len(edit.new) - len(edit.new.lstrip(" "))


def _moved_out(source: Source, steps: Sequence[slots.Step]) -> Iterator[Way]:
    """The last of some statements behind each condition around it that a run decides."""
    for n in range(len(steps) - 2, -1, -1):
        if not slots.branches(steps) - slots.branches(steps[: n + 1]):
            continue
        slot = Slot(source, steps[n].stmt, True, 0)
        edits = slots.removed(source, steps[-1]), slots.elsewhere(source, steps[-1], slot)
        if edits[0] is not None and edits[1] is not None:
            title = "synchronise: out of the condition around it; all that come there execute it"
            yield title, (edits[0], edits[1])


def _is_call(stmt: ast.stmt, *names: str) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) and name_of(stmt.value) in names


_BARRIERS = ("barrier", "sync_threads")


_CONSUMER = ("consumer_wait", "consumer_release", "consumer_try_wait")
_PRODUCER = ("producer_acquire", "producer_commit", "producer_get_barrier", "producer_try_acquire")


def _pipes(source: Source, stmt: ast.stmt, method: str) -> list[tuple[str, str]]:
    """(pipeline, state) of the calls of methods of the same role in the function of a statement."""
    role = _CONSUMER if method.startswith("consumer") else _PRODUCER
    scope = source.scope_of(stmt)
    found: dict[tuple[str, str], None] = {}
    for call in source.calls():
        named = name_of(call) in role and source.scope_of(call) is scope
        if named and isinstance(call.func, ast.Attribute):
            state = source.text_of(call.args[0]) if call.args else ""
            found[ast.unparse(call.func.value), state] = None
    return list(found)


_KINDS = {
    "race": (Missing.later, Missing.barrier),
    "not-complete": (Missing.arrived_copies, Missing.arrived_loads, Missing.tensor_memory),
    "overwritten-while-copied": (Missing.read_sources,),
    "overwritten-by-copy": (Missing.later, Missing.free_stage),
    "no-proxy-fence": (Missing.proxies,),
    "no-proxy-fence-before-overwrite": (Missing.proxies,),
    "fence-by-reader": (Missing.proxies,),
    "initialisation-not-seen": (Missing.fenced_barrier,),
    "not-initialised": (Missing.fenced_barrier,),
    "initialisation-not-fenced": (Missing.init_fence,),
    "too-many-arrivals": (Missing.elected,),
    "copied-by-many": (Missing.elected,),
    "elect-in-divergence": (Missing.moved_out,),
    "barrier-in-divergence": (Missing.moved_out,),
    "peer-gone": (Missing.peers,),
    "peer-not-begun": (Missing.peers,),
    "exit-while-copied": (Missing.left_sources,),
    "registers-not-fenced": (Missing.registers,),
    "accumulator-before-wait": (Missing.registers,),
    "load-in-flight": (Missing.tensor_memory,),
    "load-before-wait": (Missing.tensor_memory,),
    "store-before-wait": (Missing.tensor_memory,),
    "lanes": (Missing.lanes,),
    "lane-arrives": (Missing.lanes,),
}
