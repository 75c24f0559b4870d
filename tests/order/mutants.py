"""Every synchronisation of real kernels deleted, or changed by one, one at a time: is it noticed?

    python -m tests.order.mutants collect SCRIPT ... --out modules.jsonl    # no GPU needed
    python -m tests.order.mutants run modules.jsonl --out docs/evidence/order_mutants.json

A mutant is a kernel in which one operation of the lowered module is left out, or has another number: a wait
for one group more, a parity flipped, a count of arrivals more or less by one (of threads by 32), bytes by 16.
Control flow does not depend on these operations: the mutant's events are those of the kernel, with one
changed. It is

    found      a finding of level `wrong` that the kernel itself does not have
    noted      only a new note (what ptxas or today's hardware mends)
    redundant  its events show, without the replay, that nothing changes: `redundant` has the arguments
    missed     everything else
"""

from __future__ import annotations

import argparse
import json
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered import argument_types
from layoutcheck.dsl.lowered.instructions import tma_transfers
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.trace import trace_script
from layoutcheck.order import engine
from layoutcheck.order.budget import Budget, OutOfTime
from layoutcheck.order.events import WatchedKernel, kernels
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.replays import Replays
from layoutcheck.order.runs import Run
from layoutcheck.order.runs import runs as all_runs
from layoutcheck.order.tell import Teller
from layoutcheck.order.watched import Event, Watched, lanes_of
from layoutcheck.sources.mlir import Operation, without_locations
from layoutcheck.sources.traced import KernelFinding, OrderReport
from layoutcheck.sources.traced_module import TracedModule

SECONDS = 60.0  # of processor time for one mutant
PART = 250_000  # characters of a traced module whose mutants one process judges
TRIPS = 9  # other numbers: a grid, trip counts
# kind -> the operand that is changed, and by how much
NUMBERS = {"barrier": (-1, 32), "barrier_arrive": (-1, 32), "mbar_init": (1, 1), "mbar_expect": (1, 16)}
GROUPS = ("cp_wait", "bulk_wait", "wgmma_wait")
DELETED = (
    "cp_commit", "cp_wait", "cp_arrive", "barrier", "barrier_arrive", "warp_sync", "mbar_init",
    "mbar_arrive", "mbar_expect", "mbar_wait", "mbar_token", "bulk_commit", "bulk_wait", "fence_proxy",
    "fence_init", "fence", "cluster_arrive", "cluster_wait", "wgmma_fence", "wgmma_commit", "wgmma_wait",
    "tc_commit", "tmem_wait",
)  # fmt: skip
WAITS = ("cp_wait", "mbar_wait", "mbar_token", "bulk_wait", "wgmma_wait", "cluster_wait")
QUIET = (*DELETED, "elect", "registers")  # events that access no memory


@dataclass(frozen=True)
class Mutation:
    """`change` is "deleted", or says the new number: operand `operand` plus `step`, of groups one more."""

    op: Operation
    meaning: Meaning
    change: str
    operand: int = 0
    step: int = 0

    def event(self, event: Event) -> Event | None:
        """The event in the mutant; None where it is left out."""
        if event.meaning is not self.meaning:
            return event
        if self.change == "deleted":
            return None
        if self.change == "parity flipped":
            return replace(event, values=(event.values[0], event.values[1] ^ 1))
        if self.meaning.kind in GROUPS:
            return replace(event, meaning=replace(self.meaning, count=self.meaning.count + 1))
        values = list(event.values)
        values[self.operand] = values[self.operand] + self.step
        return replace(event, values=tuple(values))

    def of(self, block: Watched) -> Watched:
        """What a block does in the mutant."""
        events = (self.event(event) for event in block.events)
        return replace(block, events=[event for event in events if event is not None])


def mutations(kernel: WatchedKernel) -> Iterator[Mutation]:
    """Every mutation of a kernel, in the order of its operations."""
    for op, meaning in kernel.meanings.items():
        if meaning.kind not in DELETED:
            continue
        yield Mutation(op, meaning, "deleted")
        if meaning.kind == "mbar_wait":
            yield Mutation(op, meaning, "parity flipped")
        if meaning.kind in GROUPS:
            yield Mutation(op, meaning, f"waits for {meaning.count + 1}")
        found = NUMBERS.get(meaning.kind)
        if meaning.kind == "mbar_arrive" and meaning.facts.get("form") == "tx":
            found = (1, 16)
        if found is not None and (not meaning.kind.startswith("barrier") or meaning.facts.get("threads")):
            operand = found[0] % len(meaning.operands)
            for step in (found[1], -found[1]):
                yield Mutation(op, meaning, f"{step:+d}", operand, step)


@dataclass(frozen=True)
class Kept:
    """A run of the kernel; `longer` is the same with more turns of loops that are cut."""

    run: Run
    longer: list[Watched] | None

    def has(self, mutation: Mutation) -> bool:
        """Whether any block comes by what is mutated: it does what the kernel does otherwise."""
        return any(event.meaning is mutation.meaning for block in self.run.blocks for event in block.events)


def kept(kernel: WatchedKernel) -> Iterator[Kept]:
    """The runs that the judge makes; of those with other numbers the first, with one outcome of trials."""
    others = set[int]()
    for run in all_runs(kernel, Budget(SECONDS)):
        if not run.first:
            others.add(id(run.cluster.kernel))
            if len(others) > TRIPS:
                return
            if run.cluster.token:
                continue
        cut = run.first and any(block.cut for block in run.blocks)
        yield Kept(run, run.longer() if cut else None)


def judged(
    replays: Replays, runs: list[Kept], mutation: Mutation | None, base: Any = ()
) -> dict[Any, KernelFinding]:
    """The findings of a kernel, or of a mutant until one is wrong, by code and places."""
    found: dict[Any, KernelFinding] = {}
    for one in runs:
        if mutation is not None and not one.has(mutation):
            continue
        blocks, longer = one.run.blocks, None
        if mutation is not None:
            blocks = _mutated(blocks, mutation)
            longer = partial(_mutated, one.longer, mutation) if one.longer is not None else None
        replays.replay(blocks, one.run.orders, longer)
        if one.run.given:
            replays.problem = ""
        found = {
            (f.code, f.evidence["kind"], *((p.where.file, p.where.line) for p in f.places[:2])): f
            for f in replays.kept()
        }
        if mutation is not None and any(
            f.severity == "wrong" and key not in base for key, f in found.items()
        ):
            break
    return found


def _ends(runs: list[Kept], mutation: Mutation, sizes: dict[str, int]) -> bool:
    return all(engine.run(_mutated(one.run.blocks, mutation), sizes).stopped == "" for one in runs)


def _mutated(blocks: list[Watched], mutation: Mutation) -> list[Watched]:
    return [mutation.of(block) for block in blocks]


def redundant(mutation: Mutation, runs: list[Kept], ends: Callable[[], bool]) -> str:
    """Why a mutant does what the kernel does; "" where its events do not show it.

    `ends` says whether every warp of the mutant comes to its end.
    """
    kind = mutation.meaning.kind
    if kind == "fence_init":
        return "fence.mbarrier_init emits nothing"
    blocks = [block for one in runs for block in one.run.blocks]
    programs = [events for block in blocks for events in _warps(block) if _has(events, mutation)]
    if not programs:
        return "no warp of the runs executes it"
    if kind == "mbar_init":
        return _unused(mutation, blocks)
    if (
        mutation.change == "parity flipped"
        and all(_is_last(events, mutation) for events in programs)
        and ends()
    ):
        return "nothing follows it that accesses shared memory, and it does not wait"
    if mutation.change != "deleted" and kind not in GROUPS:
        return ""
    reasons: list[tuple[bool, Any, str]] = [
        (kind == "mbar_token", _waits_again, "a wait for the same phase follows every trial"),
        (
            kind in ("mbar_wait", "mbar_token"),
            _at_once,
            "it waits for the phase before the first, which is over",
        ),
        (kind in GROUPS, _ends_nothing, "every group that it ends is empty or has ended"),
        (kind in WAITS or kind == "barrier", _is_last, "nothing follows it that accesses shared memory"),
        (kind in WAITS or kind == "barrier", _repeated, "the same precedes it, with no access between"),
        (
            kind == "fence_proxy",
            _covers_nothing,
            "no access of shared memory since the last fence and barrier",
        ),
        (
            kind == "wgmma_fence",
            _nothing_set,
            "only wgmma has accessed the accumulators since the last fence",
        ),
    ]
    for applies, shows, reason in reasons:
        if applies and all(shows(events, mutation) for events in programs):
            return reason
    if kind == "barrier" and all(_parts_nothing(block, mutation) for block in blocks):
        return "the warps' accesses before and after it, up to the next barriers, are of different bytes"
    return ""


# Which operand of an event is an mbarrier.
MBARRIER_AT = {"cp_arrive": 0, "tc_commit": 0, "bulk_load": 1, "st_async": 1}


def _unused(mutation: Mutation, blocks: list[Watched]) -> str:
    """Why the initialisation of an mbarrier does not matter: nobody uses it, or nobody waits for it."""
    places, count = set[int](), 1
    for event in blocks[0].events:
        if event.meaning is mutation.meaning:
            places |= set(np.unique(np.asarray(event.values[0]) & 0xFFFFFF).tolist())
            count = min(count, int(np.min(event.values[1])) + mutation.step)
    used = waited = False
    for block in blocks:
        for event in block.events:
            kind = event.meaning.kind
            at = MBARRIER_AT.get(kind, 0 if kind.startswith("mbar") and kind != "mbar_init" else -1)
            if at >= 0 and places & set(np.unique(np.asarray(event.values[at]) & 0xFFFFFF).tolist()):
                used = True
                waited |= kind in ("mbar_wait", "mbar_token")
    if not used:
        return "nothing uses the mbarrier"
    if not waited and mutation.change != "deleted" and count > 0:
        return "nobody waits for the mbarrier"
    return ""


def _warps(block: Watched) -> Iterator[list[Event]]:
    """The events of each warp."""
    threads = block.launch.threads
    masks = {id(event.mask): lanes_of(event, threads) for event in block.events}
    for first in range(0, threads, 32):
        yield [event for event in block.events if masks[id(event.mask)][first : first + 32].any()]


def _has(events: list[Event], mutation: Mutation) -> bool:
    return any(event.meaning is mutation.meaning for event in events)


def _number(value: Any) -> Any:
    return value if isinstance(value, int) else tuple(value.tolist())


def _waits_again(events: list[Event], mutation: Mutation) -> bool:
    for i, event in enumerate(events):
        if event.meaning is not mutation.meaning:
            continue
        wanted = [_number(v) for v in event.values[:2]]
        for later in events[i + 1 :]:
            same = [_number(v) for v in later.values[:2]] == wanted
            if later.meaning.kind in ("mbar_wait", "mbar_token") and same:
                break
            if later.meaning.kind not in QUIET and later.meaning.space != "gmem":
                return False
        else:
            return False
    return True


def _is_last(events: list[Event], mutation: Mutation) -> bool:
    first = next(i for i, event in enumerate(events) if event.meaning is mutation.meaning)
    return all(
        e.meaning.kind in (*WAITS, "barrier", "elect", "fence_proxy") or e.meaning.space == "gmem"
        for e in events[first:]
    )


def _repeated(events: list[Event], mutation: Mutation) -> bool:
    before: Event | None = None
    for event in events:
        if event.meaning is mutation.meaning:
            same = before is not None and before.meaning.kind == event.meaning.kind
            if not same or before is None or before.meaning.count > event.meaning.count:
                return False
            if [_number(v) for v in before.values] != [_number(v) for v in event.values]:
                return False
        before = event
    return True


def _covers_nothing(events: list[Event], mutation: Mutation) -> bool:
    dirty = False
    for event in events:
        kind = event.meaning.kind
        if event.meaning is mutation.meaning and dirty:
            return False
        if kind == "fence_proxy":
            dirty = False
        elif kind not in QUIET and event.meaning.space != "gmem":
            dirty = True
        elif kind in ("barrier", "mbar_wait", "cluster_wait"):
            dirty = True  # others' accesses are known now
    return True


def _at_once(events: list[Event], mutation: Mutation) -> bool:
    waited = set[Any]()
    for event in events:
        if event.meaning.kind in ("mbar_wait", "mbar_token"):
            place, parity = _number(event.values[0]), _number(event.values[1])
            if event.meaning is mutation.meaning and (parity != 1 or place in waited):
                return False
            waited.add(place)
    return True


ISSUES = {"cp_wait": ("cp_async",), "bulk_wait": ("bulk_store", "bulk_peer"), "wgmma_wait": ("wgmma",)}
COMMITS = {"cp_wait": "cp_commit", "bulk_wait": "bulk_commit", "wgmma_wait": "wgmma_commit"}


def _ends_nothing(events: list[Event], mutation: Mutation) -> bool:
    kind, groups, filled = mutation.meaning.kind, list[bool](), False
    for event in events:
        if event.meaning.kind in ISSUES[kind]:
            filled = True
        elif event.meaning.kind == COMMITS[kind]:
            groups.append(filled)
            filled = False
        elif event.meaning.kind == kind:
            ended = max(0, len(groups) - event.meaning.count)
            kept = ended - 1 if mutation.change != "deleted" else 0
            if event.meaning is mutation.meaning and any(groups[max(0, kept) : ended]):
                return False
            groups[:ended] = [False] * ended
    return True


def _nothing_set(events: list[Event], mutation: Mutation) -> bool:
    fenced = changed = False
    for event in events:
        if event.meaning is mutation.meaning and (changed or not fenced):
            return False
        if event.meaning.kind == "wgmma_fence":
            fenced, changed = True, False
        changed = changed or bool(event.meaning.sets)
    return True


_PLAIN = ("read", "write", "matrix_read", "matrix_write", "atomic")
_SILENT = ("elect", "registers", "warp_sync", "cp_commit", "bulk_commit", "fence_proxy", "wgmma_fence")


def _parts_nothing(block: Watched, mutation: Mutation) -> bool:
    """Whether no warp accesses behind a barrier of all threads what another accesses before it."""
    threads = block.launch.threads
    whole = [i for i, e in enumerate(block.events) if _of_all(e, threads)]
    for number, i in enumerate(whole):
        if block.events[i].meaning is not mutation.meaning:
            continue
        before = block.events[whole[number - 1] + 1 if number else 0 : i]
        after = block.events[i + 1 : whole[number + 1] if number + 1 < len(whole) else len(block.events)]
        one = [e for e in before if e.meaning.kind in (*_PLAIN, "mbar_init") and e.meaning.space != "gmem"]
        known = (*_PLAIN, *_SILENT, "cp_async", "bulk_store", "mbar_init", "fence_init")
        others = [e for e in before if e.meaning.kind not in known]
        if any(e.meaning.kind != "bulk_wait" or e.meaning is mutation.meaning for e in others):
            return False
        if any(e.meaning.kind == "bulk_wait" for e in others) and not all(
            _ends_nothing(events, Mutation(e.meaning.op, e.meaning, "deleted"))
            for e in others if e.meaning.op is not None for events in _warps(block) if e in events
        ):  # fmt: skip
            return False
        if one and any(e.meaning.kind not in (*_PLAIN, *_SILENT, *WAITS, "cp_async") for e in after):
            return False
        two = [e for e in after if e.meaning.kind in (*_PLAIN, "cp_async") and e.meaning.space != "gmem"]
        if one and two and _clash(one, two, threads):
            return False
    return any(block.events[i].meaning is mutation.meaning for i in whole) or not _has(block.events, mutation)


def _of_all(event: Event, threads: int) -> bool:
    """Whether an event is a barrier of all threads of the block."""
    if event.meaning.kind != "barrier" or not lanes_of(event, threads).all():
        return False
    return not event.meaning.facts.get("threads") or event.values[-1] == threads


def _clash(one: list[Event], two: list[Event], threads: int) -> bool:
    """Whether two warps access one byte, one in `one` and the other in `two`, one of them writing."""
    a, b = _touched(one, threads), _touched(two, threads)
    both = np.intersect1d(a[:, 0], b[:, 0])
    if not both.size:
        return False
    rows = np.concatenate([a[np.isin(a[:, 0], both)], b[np.isin(b[:, 0], both)]])
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    begins = np.flatnonzero(np.diff(rows[:, 0], prepend=-1))
    least, most = (pick.reduceat(rows[:, 1], begins) for pick in (np.minimum, np.maximum))
    return bool(((least != most) & np.maximum.reduceat(rows[:, 2], begins).astype(bool)).any())


def _touched(events: list[Event], threads: int) -> Any:
    """[access, (byte, warp, whether it writes)], each once."""
    parts = []
    for event in events:
        meaning, lanes = event.meaning, lanes_of(event, threads).copy()
        if meaning.kind.startswith("matrix"):
            lanes &= np.arange(threads) % 32 < meaning.count
        thread = np.flatnonzero(lanes)
        start = event.numbers(0, threads)[thread] & 0xFFFFFF
        size = 8 if meaning.kind == "mbar_init" else meaning.size
        byte = (start[:, None] + np.arange(size)).ravel()
        warp = np.repeat(thread // 32, size)
        write = meaning.kind in ("write", "matrix_write", "atomic", "cp_async", "mbar_init")
        parts.append(np.stack([byte, warp, np.full_like(byte, write)], axis=1))
    return np.unique(np.concatenate(parts), axis=0)


def of_kernel(
    name: str, kernel: WatchedKernel, module: TracedModule, share: tuple[int, int] = (0, 1)
) -> dict[str, Any]:
    """The mutants of one kernel: number `share[0]` of every `share[1]`."""
    teller, sizes = Teller(module), tma_transfers(module.text)

    def replays() -> Replays:
        return Replays(teller, sizes, Budget(SECONDS))

    runs = list(kept(kernel))
    first = replays()
    base = judged(first, runs, None)
    counts, missed, reasons = Counter[str](), list[dict[str, str]](), Counter[str]()
    for mutation in islice(mutations(kernel), share[0], None, share[1]):
        one = replays()
        try:
            told = judged(one, runs, mutation, base)
            new = [f for key, f in told.items() if key not in base]
        except OutOfTime:
            new = [f for f in one.kept() if f.code not in {b.code for b in base.values()}]
        wrong = [f for f in new if f.severity == "wrong"]
        result = "found" if wrong else "noted" if new else "missed"
        reason = "" if wrong else redundant(mutation, runs, partial(_ends, runs, mutation, sizes))
        if reason:
            result, reasons[reason] = "redundant", reasons[reason] + 1
        counts[result] += 1
        if result in ("missed", "noted"):
            frames = teller.frames(mutation.meaning.site)
            place = f"{Path(frames[0].file).name}:{frames[0].line}" if frames else mutation.meaning.site
            codes = ", ".join(sorted({f.code for f in new}))
            missed.append(
                {"result": result, "operation": mutation.op.name, "change": mutation.change, "place": place,
                 "told": codes or one.problem}
            )  # fmt: skip
    total = sum(counts.values())
    return {
        "kernel": name, "arch": module.arch, "problem": first.problem, "base": sorted({k[0] for k in base}),
        "judged_parts": 1, "parts": share[1],
        "mutants": total, **{k: counts[k] for k in ("found", "noted", "redundant", "missed")},
        "redundant_because": dict(reasons), "not_found": missed,
    }  # fmt: skip


def collect(scripts: list[str], out: Path, arch: str | None) -> None:
    """Trace the scripts; a line of JSON for each kernel."""
    with out.open("w") as file:
        for script in scripts:

            def keep(module: TracedModule, lowered: str, problem: str, script: str = script) -> OrderReport:
                if not problem:
                    kept = {"script": script, "lowered": lowered, **module._asdict()}
                    file.write(json.dumps(kept) + "\n")
                return OrderReport(module.kernel, module.arch)

            with Lowering(copies=False, order=keep) as lowering:
                path, *args = shlex.split(script)
                trace_script(path, args, launch=False, arch=arch, timeout_s=300, lowering=lowering)


def run_all(given: list[Path], out: Path | None, jobs: int) -> None:
    """Mutate every kernel of files that `collect` made, small ones first: what is cut has whole ones."""
    lines = sorted((line for file in given for line in file.read_text().splitlines()), key=len)
    found: dict[tuple[int, int], dict[str, Any]] = {}
    with ProcessPoolExecutor(jobs) as pool:
        parts = {}
        for number, line in enumerate(lines):
            many = min(jobs, 1 + len(line) // PART)
            for share in range(many):
                parts[pool.submit(of_line, line, (share, many))] = number
        for done in as_completed(parts):
            for kernel, row in enumerate(done.result()):
                key = parts[done], kernel
                found[key] = _joined(found[key], row) if key in found else row
            if out is not None:
                _write(out, sorted(found.values(), key=lambda row: (row["arch"], row["kernel"])))


def _joined(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    """Two parts of one kernel's mutants as one."""
    keys = ("mutants", "found", "noted", "redundant", "missed", "not_found", "judged_parts")
    sums = {k: one[k] + two[k] for k in keys}
    sums["not_found"].sort(key=lambda row: (row["place"], row["operation"], row["change"]))
    because = Counter(one["redundant_because"]) + Counter(two["redundant_because"])
    return {**one, **sums, "redundant_because": dict(because)}


def of_line(line: str, share: tuple[int, int] = (0, 1)) -> list[dict[str, Any]]:
    """The mutants of the kernels of one module, or a part of them."""
    one = json.loads(line)
    module = TracedModule(one["text"], one["kernel"], one["arch"], one["sites"], one["places"])
    start, found = time.process_time(), []
    for kernel in kernels(one["lowered"], argument_types(without_locations(module.text))):
        if not any(m.kind in DELETED for m in kernel.meanings.values()):
            continue
        name = f"{Path(shlex.split(one['script'])[0]).name}: {kernel.name[:70]}"
        row = of_kernel(name, kernel, module, share)
        found.append(row)
        shown = {k: row[k] for k in ("mutants", "found", "noted", "redundant", "missed", "problem")}
        print(row["kernel"][:60], share, shown, f"{time.process_time() - start:.0f} s", flush=True)
    return found


def _write(out: Path, found: list[dict[str, Any]]) -> None:
    whole = [row for row in found if row["judged_parts"] == row["parts"]]
    checked = [row for row in whole if not row["problem"]]
    total = {k: sum(row[k] for row in checked) for k in ("mutants", "found", "noted", "redundant", "missed")}
    not_redundant = total["mutants"] - total["redundant"]
    total["percent_told"] = round(100 * (total["found"] + total["noted"]) / max(1, not_redundant), 1)
    command = f"python -m tests.order.mutants run modules.jsonl --out docs/evidence/{out.name}"
    evidence = {"date": datetime.now(timezone.utc).strftime("%Y-%m-%d"), "command": command, "gpu": "none",
                "total": {"kernels": len(checked), **total}, "kernels": whole,
                "in_part": [row for row in found if row not in whole]}  # fmt: skip
    out.write_text(json.dumps(evidence, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("collect")
    one.add_argument("scripts", nargs="+", help="a script, or a script with its arguments in one word")
    one.add_argument("--arch")
    one.add_argument("--out", type=Path, required=True)
    two = commands.add_parser("run")
    two.add_argument("modules", type=Path, nargs="+")
    two.add_argument("--jobs", type=int, default=1)
    two.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.command == "collect":
        collect(given.scripts, given.out, given.arch)
    else:
        run_all(given.modules, given.out, given.jobs)


if __name__ == "__main__":
    main()
