"""The rules about order whose words depend on more than the kind of a problem: title and message of each."""

from __future__ import annotations

from collections.abc import Mapping

from layoutcheck.digits import many
from layoutcheck.order.rules.rule import (
    KernelPlace,
    Places,
    Problem,
    alone,
    does,
    line,
    make_rule,
    same_warp,
    two,
    where_bytes,
    who,
)


@make_rule("not-complete")
def lc501(problem: Problem, places: Places) -> tuple[str, str]:
    """The copy, the access, and the statement between them."""
    first, second = places[0], places[1]
    over = "over what" if second.kind == first.kind else "what"
    return (
        f"{line(second)} {second.what} {over} {line(first)} still {first.what}",
        f"{two(problem, places)} {_missing(problem, places)}",
    )


def _missing(problem: Problem, places: Places) -> str:
    facts, second = problem.facts, line(places[1])
    cause, wait = facts.get("cause"), places[2] if len(places) > 2 else None
    if cause == "no-tensor-wait":
        return f"Missing: tcgen05.wait::st (fence_view_async_tmem_store()) behind {line(places[0])}, before its warp arrives anywhere."
    if facts.get("memory") == "tensor":
        return f"Missing: tcgen05.commit to an mbarrier behind {line(places[0])}, and a wait for that phase before {second}."
    if places[0].what.startswith("stores") and cause is None:  # st.async completes on an mbarrier
        return f"Missing: cp_async_bulk_wait_group(0), without `read`, behind {line(places[0])}, and a barrier before {second} where another warp executes that."
    if places[0].kind != "cp_async":
        if facts.get("in_turn") and wait is not None:
            return (
                f"The copy belongs to a later phase of its mbarrier than the wait at {line(wait)} is for. If {second} is to "
                f"use what the copy brings, a wait for that phase before {second} is missing; if what the phase before "
                f"brought, the memory is given back for the next copy before {second} is done with it."
            )
        if cause == "early-wait" and wait is not None:
            return f"The wait at {line(wait)} has returned for an earlier phase: it asks for parity {facts['parity']}, and returns at once while the phase of the other parity is still running."
        return f"Missing: mbarrier_wait on the mbarrier of that copy, by the reading warp, before {second}."
    if cause == "no-commit" and wait is None:
        return (
            f"Missing: cp_async_commit_group() after {line(places[0])} and cp_async_wait_group(0) before {second}, or "
            "cp_async_mbarrier_arrive_noinc() in place of an ordinary arrival (PipelineCpAsync has it in producer_commit)."
        )
    if cause == "no-commit":
        return f"Missing: cp_async_commit_group() after {line(places[0])}: the groups that the kernel waits for do not contain the copy."
    if cause == "wait-count" and wait is not None:
        return (
            f"cp_async_wait_group({facts['pending']}) at {line(wait)} leaves the copy's group open. Missing: "
            f"cp_async_wait_group({facts['most']}) in its place, or a lower number."
        )
    if cause == "no-barrier" and not same_warp(problem):
        after = f" after the wait at {line(wait)}" if wait is not None else ""
        return f"Missing: sync_threads(){after} and before {second}: only these make a thread wait for other threads' copies."
    if cause == "no-wait" and wait is not None:  # the threads meet there
        return f"Missing: cp_async_wait_group(0) between the commit and the barrier at {line(wait)}."
    return f"Missing: cp_async_wait_group(0) before {second}" + (
        "." if same_warp(problem) else f", and sync_threads() after it ({does(places[1])})."
    )


@make_rule("overwritten-while-copied")
def lc502(problem: Problem, places: Places) -> tuple[str, str]:
    """The asynchronous read, the overwrite, and the wait between them."""
    first, second = places[0], places[1]
    wait = "warpgroup.wait_group(0)" if "wgmma" in first.what else "cp_async_bulk_wait_group(0, read=True)"
    if "tcgen05" in first.what:
        missing = f"Missing: tcgen05.commit to an mbarrier behind {line(first)}, and a wait for that phase before {line(second)}."
    elif problem.facts.get("cause") == "no-barrier" and len(places) > 2:
        missing = f"Missing: a barrier between the wait at {line(places[2])} and {line(second)}."
    elif problem.facts.get("cause") == "wait-count" and len(places) > 2:
        facts = problem.facts
        lower = f" (or a number up to {facts['most']})" if int(facts["most"]) else ""
        missing = (
            f"The wait at {line(places[2])} lets {facts['pending']} of the newest groups go on, this one among them. "
            f"Missing: {wait}{lower} in its place."
        )
    else:
        missing = f"Missing: {wait} by the thread that issues it, and a barrier, before {line(second)}."
    return f"{line(second)} {second.what} what {line(first)} still reads", f"{two(problem, places)} {missing}"


@make_rule("race")
def lc504(problem: Problem, places: Places) -> tuple[str, str]:
    """The two accesses."""
    first, second = places[0], places[1]
    if missing := alone(places, "thread"):
        return (
            f"{line(first)} {first.what} one place by several threads, in no order",
            f"{two(problem, places)} {missing}",
        )
    barrier = "a barrier that both execute"
    if first.block != second.block:
        barrier = "cluster_arrive() and cluster_wait() by both blocks"
    missing = f"Missing: {barrier} between {line(first)} and {line(second)}."
    if problem.unsure:
        at = next(place for place in places if place.what == "writes")
        missing = f"They race if the condition of {line(at)} holds. {missing}"
    return (
        f"{line(second)} {second.what} what another thread {first.what} at {line(first)}, with no barrier between",
        (f"{two(problem, places)} {missing}"),
    )


@make_rule("no-proxy-fence")
def lc505(problem: Problem, places: Places) -> tuple[str, str]:
    """The store, the asynchronous read, and the fence between them."""
    first, second = places[0], places[1]
    fence = '"async.global"' if problem.facts.get("memory") else '"async.shared", space="cta"'
    missing = (
        f"Missing: fence_proxy({fence}) by the writing threads, after {line(first)} and before the "
        f"barrier in front of {line(second)}."
    )
    return f"{line(second)} {second.what} what {line(first)} {first.what}, with no proxy fence between", (
        f"{two(problem, places)} A barrier orders ordinary accesses only. {missing}"
    )


LARGEST = (1 << 20) - 1  # PTX ISA, mbarrier.init


@make_rule("not-initialised", "initialisation-not-seen", "count-out-of-range")
def lc506(problem: Problem, places: Places) -> tuple[str, str]:
    """Who initialises it, if anybody does, and who uses it."""
    if problem.kind == "count-out-of-range":
        return f"{line(places[0])} {places[0].what} for {problem.facts['count']} arrivals", (
            f"{does(places[0])}. PTX has counts from 1 to {LARGEST:,}; with another the mbarrier is undefined."
        )
    if problem.kind == "not-initialised":
        return f"{line(places[0])} {_uses(places[0])} that is not initialised at that time", (
            f"{does(places[0])}; no mbarrier is initialised at byte {problem.facts['address']} of shared memory before. "
            "Possible causes: a stage index beyond the stages, or a missing barrier between the initialisation and this use."
        )
    return (
        f"{line(places[1])} {_uses(places[1])} that {line(places[0])} initialises, with no barrier between",
        f"{does(places[0])}; {does(places[1])}. Missing: mbarrier_init_fence() and sync_threads() after "
        f"{line(places[0])} and before {line(places[1])}.",
    )


def _uses(place: KernelPlace) -> str:
    return place.what if "mbarrier" in place.what else f"{place.what} with an mbarrier"


@make_rule("too-few-bytes", "bytes-never-arrive")
def lc507(problem: Problem, places: Places) -> tuple[str, str]:
    """What was announced, and what was copied."""
    facts = problem.facts
    if problem.kind == "too-few-bytes":
        return f"{line(places[0])} announces fewer bytes than the copies bring", (
            f"Phase {facts['phase']} of the mbarrier expects {facts['expected']} bytes ({line(places[0])}) and is over "
            f"while {facts['missing_bytes']} bytes of copies are still under way ({line(places[1])}). Missing: the bytes of all copies of a "
            "phase in what is announced."
        )
    if int(facts["bytes"]) < 0:
        return f"{line(places[0])} announces fewer bytes than the copies bring", (
            f"The copies bring {-int(facts['bytes'])} bytes more than {line(places[0])} announces: {does(places[1])}, and the phase "
            "ends before all bytes are there, or never. Missing: the bytes of all copies of a phase in what is announced."
        )
    return f"{line(places[0])} announces bytes that no copy brings", (
        f"{facts['bytes']} bytes are announced and never copied ({line(places[0])}): {does(places[1])} and never continues; {many(int(facts['warps']), 'warp of the block waits', 'warps of the block wait')}."
    )


def _state(facts: Mapping[str, int | str], place: str) -> str:
    """What the mbarrier that is waited for at a place still lacks, as a sentence."""
    nothing = facts["phase"] == 0 and facts["pending"] == facts["count"]
    never = ": nothing has arrived since it was initialised" if nothing else ""
    return (
        f"The mbarrier of {place}, at byte {facts['address']} of shared memory, is in phase {facts['phase']} with "
        f"{facts['pending']} of {facts['count']} arrivals and {facts['bytes']} bytes to come{never}."
    )


@make_rule("deadlock")
def lc510(problem: Problem, places: Places) -> tuple[str, str]:
    """Who waits where, and what for."""
    facts = problem.facts
    waits = "; ".join(does(place) for place in places)
    if facts.get("what") == "mbarrier":
        lacks = f"{_state(facts, line(places[0]))} The wait is for the end of a phase of parity {facts['parity']}."
        if "other" in facts:
            other = {name.removeprefix("other_"): fact for name, fact in facts.items()}
            lacks += f" {_state(other, line(places[int(facts['other'])]))}"
    elif facts.get("what") == "barrier":
        lacks = f"Barrier {facts['id']} waits for {facts['expected']} threads, of which {facts['arrived']} arrived."
    else:
        lacks = "The wait is for blocks of the cluster, or warps, that have not arrived."
    return (
        f"{line(places[0])} {places[0].what} and never continues",
        f"{waits}; {many(int(facts['warps']), 'warp')} cannot continue. {lacks}",
    )


@make_rule("peer-gone", "peer-not-begun")
def lc513(problem: Problem, places: Places) -> tuple[str, str]:
    """The access, and the block that may be gone, or not there yet."""
    block = problem.facts["block"]
    if problem.kind == "peer-not-begun":
        return f"{line(places[0])} {places[0].what} shared memory of a block that may not have begun", (
            f"{does(places[0])}, in shared memory of block {block} of the cluster, and nothing before it says that block {block} has begun. "
            "Missing: cluster_arrive() and cluster_wait() before the first remote access."
        )
    arrives = "mbarrier" in places[0].what
    reached, where = ("", ", in") if arrives else (" shared memory", " from shared memory of")
    return f"{line(places[0])} {places[0].what}{reached} of a block that may have exited", (
        f"{does(places[0])}{where} block {block} of the cluster, and block {block} does not wait for anything after it. Missing: cluster_arrive() and cluster_wait() after the last remote access."
    )


_MISSING = {  # why nothing orders the two, and what would
    "not-released": (
        "no release covers the store",
        "a barrier of the block between the store and the release: a release covers what its own thread knows of.",
    ),
    "not-written": (
        "no release covers the copy",
        "cp_async_bulk_wait_group(0) by the thread that copies, without read=True, between the copy and the release; "
        "and a barrier of the block, if another thread releases.",
    ),
    "not-acquired": (
        "no acquire comes before the load",
        "a barrier of the block between the acquire and the load: other threads know nothing of an acquire.",
    ),
    "race-between-blocks": (
        "nothing orders them",
        "a release at the scope of the GPU by the first block and an acquire by the second, or a second kernel.",
    ),
}


@make_rule(*tuple(_MISSING))
def lc514(problem: Problem, places: Places) -> tuple[str, str]:
    """The two accesses, each with its block."""
    first, second = places[0], places[1]
    done = [
        f"thread {p.thread} of block {p.block} of the grid {p.what} at {line(p)}" for p in (first, second)
    ]
    what = f"{done[0][:1].upper()}{done[0][1:]}; {done[1]}; both access the same global memory."
    if missing := alone(places, "block"):
        return f"{line(first)} {first.what} one place by several blocks, in no order", f"{what} {missing}"
    why, missing = _MISSING[problem.kind]
    return (
        f"{line(second)} {second.what} global memory that another block {first.what} at {line(first)}, and {why}",
        f"{what} Missing: {missing}",
    )


@make_rule("never-written")
def lc525(problem: Problem, places: Places) -> tuple[str, str]:
    """The reader, and how many bytes it reads."""
    place, count = places[0], problem.facts["bytes"]
    if problem.facts.get("early"):
        return f"{line(place)} {place.what} shared memory that nothing has written by then", (
            f"{who(place).capitalize()} {place.what} {where_bytes(problem)}. Nothing has written any of these {count} bytes "
            "by then: it takes another buffer, or stage, than the one that was filled."
        )
    adds = " Atomic operations that add to what is there do not count." if problem.facts.get("adds") else ""
    return f"{line(place)} {place.what} shared memory that nothing writes", (
        f"{who(place).capitalize()} {place.what} {where_bytes(problem)}. Nothing in the kernel writes them, nor any "
        f"other of the {count} bytes that this operation reads at once.{adds}"
    )


@make_rule("phase-passed")
def lc528(problem: Problem, places: Places) -> tuple[str, str]:
    """The wait, and the arrival that ends one phase more."""
    facts, wait, other = problem.facts, places[-1], places[0]
    ends = f"{does(other)} ends" if len(places) > 1 else "other warps end"
    return (
        f"{line(wait)} {wait.what} that goes on without it, and may come to a later phase",
        f"{does(wait)}, for the end of a phase of parity {facts['parity']}. Without waiting for it, {ends} phase "
        f"{int(facts['phase']) - 1}: a later wait of that parity is for the end of phase {facts['phase']}.",
    )


@make_rule("read-swizzled")
def lc532(problem: Problem, places: Places) -> tuple[str, str]:
    """The read, and both swizzles."""
    seen, mapped = (problem.facts.get(name, "no swizzle") for name in ("seen", "mapped"))
    return (
        f"{line(places[0])} {places[0].what} a tile that TMA has written through another swizzle",
        f"{does(places[0])}, through {seen}; the tensor map of the tile has {mapped}. "
        f"{many(int(problem.facts['threads']), 'thread gets', 'threads get')} another element than the one that "
        f"{'it asks' if problem.facts['threads'] == 1 else 'they ask'} for.",
    )


@make_rule("never-read")
def lc535(problem: Problem, places: Places) -> tuple[str, str]:
    """The warp whose number is left out, and a thread that reads the others."""
    store, count, of = places[0], problem.facts["read"], problem.facts["of"]
    first = problem.first
    assert first is not None
    at = f"byte {first.address} of shared memory"
    if len(places) < 2:
        return f"nothing reads the {of} partial results that {line(store)} stores", (
            f"{does(store).capitalize()} a sum or a maximum to {at}, and nothing reads what any thread stores there."
        )
    read, warp = places[1], problem.facts["warp"]
    mine, others, each = "a partial result", many(int(count), "other"), f"{count} of {of} partial results"
    if warp != -1:
        mine, others = f"the number of warp {warp}", f"the numbers of {many(int(count), 'other warp')}"
        each = f"the numbers of {count} of {of} warps"
    return f"{line(read)} reads {each} that {line(store)} stores", (
        f"{does(store).capitalize()} {mine} to {at}, and nothing reads it. {does(read).capitalize()} {others}."
    )


@make_rule("pair-freed")
def lc536(problem: Problem, places: Places) -> tuple[str, str]:
    """The deallocation, and the access by the other block."""
    freed, other = sorted(places[:2], key=lambda place: "frees" not in place.what)
    return (
        f"{line(freed)} frees tensor memory that the other block of the pair {other.what} at {line(other)}",
        f"{two(problem, places)} Missing: cluster_arrive() and cluster_wait() by both blocks before {line(freed)}.",
    )
