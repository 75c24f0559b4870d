"""Problems as findings: who, where in the user's source, in which turn of which loop, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.order.problems import Party, Problem, Undecided
from layoutcheck.order.rules import rule_of
from layoutcheck.sources.traced import Frame, KernelFinding, KernelPlace
from layoutcheck.sources.traced_module import TracedModule

_NOWHERE = Frame("", 0)
ASYNCHRONOUS = ("cp_async", "bulk_load", "bulk_store", "bulk_peer", "st_async", "wgmma", "tc_mma", "tc_copy")


class Teller:
    """Knows where the operations of one module stand."""

    def __init__(self, module: TracedModule) -> None:
        self.module = module
        self._frames: dict[str, list[Frame]] = {}

    def frames(self, site: str) -> list[Frame]:
        """The place of an operation and its callers, innermost first; [] where it has none."""
        if site not in self._frames:
            self._frames[site] = self.module.frames(site)
        return self._frames[site]

    def place(self, party: Party) -> KernelPlace:
        """A party's place."""
        frames = self.frames(party.event.meaning.site)
        where = frames[0] if frames else _NOWHERE
        return KernelPlace(
            action(party),
            where,
            tuple(frames[1:]),
            party.thread,
            party.block,
            party.event.turns,
            party.event.meaning.kind,
        )

    def findings(self, problems: list[Problem]) -> Iterator[KernelFinding]:
        """The findings, one for each kind and pair of lines."""
        seen = set()
        for problem in problems:
            rule = rule_of(problem.kind)
            parties = [p for p in (problem.first, problem.second) if p is not None]
            others = [p for p in problem.parties if all(p.event is not q.event for q in parties)]
            places = tuple(self.place(party) for party in (*parties, *others[:3]))
            severity = "note" if problem.unsure else rule.severity
            lines = ((one.where.file, one.where.line) for one in places[:2])
            key: tuple[object, ...] = (rule.code, severity, *lines)
            if problem.kind == "barrier-shared":  # one clash is told again by every use that follows
                key = rule.code, problem.facts["id"]
            if key in seen:
                continue
            seen.add(key)
            title, message = rule.tell(problem, places)
            evidence = self._evidence(problem)
            missing = message.partition("Missing: ")[2]
            if missing:
                evidence["missing"] = missing.rstrip(".")
            yield KernelFinding(rule.code, severity, title, message, places, evidence)

    def _evidence(self, problem: Problem) -> dict[str, object]:
        found: dict[str, object] = {"kind": problem.kind, **problem.facts}
        at = problem.second or problem.first
        if at is not None and at.address >= 0 and "address" not in found:
            found["shared_bytes"] = [at.address, at.address + max(1, at.size)]
        found["kernel"], found["arch"] = self.module.kernel, self.module.arch
        parties = [p for p in (problem.first, problem.second) if p is not None]
        found["executing"] = [*map(_threads, parties), _together(parties)]
        found["timeline"] = [self._moment(role, party) for role, party in problem.timeline]
        return found

    def _moment(self, role: str, party: Party) -> dict[str, object]:
        """One line of the timeline: who does what where, in words and numbers that JSON has."""
        place = self.place(party)
        return {
            "role": role, "what": place.what, "file": place.where.file, "line": place.where.line,
            "block": party.block, "warp": party.warp, "thread": party.thread, "turns": list(place.turns),
            "asynchronous": party.event.meaning.kind in ASYNCHRONOUS,
        }  # fmt: skip

    def undecided(self, error: Undecided) -> str:
        """Why a kernel is not checked, with the place."""
        frames = self.frames(error.event.meaning.site) if error.event is not None else []
        what = error.event.meaning.kind.replace("_", " ") if error.event is not None else ""
        return f"{frames[0]}: {what}: {error}" if frames else str(error)

    def fits(self, problem: Problem) -> str:
        """What is not said of a wait whose two sides go by other input."""
        frames = self.frames(problem.second.event.meaning.site) if problem.second is not None else []
        where = f"whether the wait at {frames[0]} ends" if frames else "whether a wait ends"
        return f"{where}: what it waits for happens as often as other loaded values say"


def _threads(party: Party) -> int:
    """How many threads of its block execute a party's operation; 0 for all."""
    mask = party.event.mask
    return 0 if mask is None else int(mask.sum())


def _together(parties: list[Party]) -> int:
    """The threads of the warps that execute either operation; 0 for all of the block."""
    masks = [party.event.mask for party in parties]
    if any(mask is None for mask in masks):
        return 0
    return 32 * len({int(thread) // 32 for mask in masks if mask is not None for thread in mask.nonzero()[0]})


_ACTIONS = {
    "read": "reads", "write": "writes", "atomic": "updates", "matrix_read": "reads (ldmatrix)",
    "matrix_write": "writes (stmatrix)", "cp_async": "copies (cp.async)", "bulk_load": "loads in bulk",
    "bulk_store": "stores in bulk", "bulk_peer": "copies to a peer",
    "st_async": "stores to a peer (st.async)", "wgmma": "multiplies (wgmma)",
    "tc_mma": "multiplies (tcgen05.mma)", "tc_copy": "copies (tcgen05.cp)",
    "tmem_read": "reads (tcgen05.ld)", "tmem_write": "writes (tcgen05.st)",
    "tmem_free": "frees (tcgen05.dealloc)", "tmem_wait": "waits for tcgen05.st",
    "mbar_wait": "waits for an mbarrier",
    "mbar_token": "tries an mbarrier", "mbar_arrive": "arrives at an mbarrier",
    "cp_wait": "waits for cp.async", "bulk_wait": "waits for bulk stores", "wgmma_wait": "waits for wgmma",
    "mbar_expect": "announces bytes to an mbarrier", "mbar_init": "initialises an mbarrier",
    "barrier": "waits at a barrier", "barrier_arrive": "arrives at a barrier", "elect": "elects a lane",
    "cp_commit": "commits a group", "bulk_commit": "commits a group", "wgmma_commit": "commits a group",
    "fence_proxy": "fences the proxies", "wgmma_fence": "fences wgmma", "warp_sync": "waits for its warp",
    "cluster_wait": "waits for the cluster", "cluster_arrive": "arrives at the cluster's barrier",
    "cp_arrive": "arrives at an mbarrier (cp.async)", "tc_commit": "commits tcgen05 work to an mbarrier",
    "shuffle": "shuffles", "vote": "votes", "redux": "reduces over its warp",
    "match": "compares with its warp",
}  # fmt: skip


def action(party: Party) -> str:
    """What a party does, as a verb; a bulk copy with a tensor map is a TMA copy."""
    meaning = party.event.meaning
    if meaning.facts.get("constant") == "tmem":
        return "allocates tensor memory"
    if meaning.facts.get("tensor"):
        return "loads by TMA" if meaning.kind == "bulk_load" else "stores by TMA"
    if limit := meaning.facts.get("limit"):
        return f"{limit}s its registers to {meaning.count} (setmaxnreg)"
    if meaning.kind == "registers" or (meaning.reads and meaning.space == "gmem"):
        return "reads an accumulator" if meaning.reads else "writes an accumulator"
    return _ACTIONS.get(meaning.kind, meaning.kind)
