"""The statements of synchronisation, spelled as the file spells them, and why each is enough."""

from __future__ import annotations

import ast
import itertools

from layoutcheck.lint.source import Source
from layoutcheck.syntax import name_of

_ARCH = (
    "thread_idx", "block_idx", "warp_idx", "make_warp_uniform", "sync_threads", "barrier", "sync_warp",
    "elect_one", "mbarrier_init", "mbarrier_init_fence", "mbarrier_wait", "mbarrier_arrive",
    "mbarrier_arrive_and_expect_tx", "fence_proxy", "cp_async_commit_group", "cp_async_wait_group",
    "cp_async_bulk_commit_group", "cp_async_bulk_wait_group", "cluster_arrive", "cluster_wait",
)  # fmt: skip
_WARPGROUP = ("commit_group", "wait_group", "fence")

WHY = {
    "sync_threads": "no thread goes on before all of the block have arrived",
    "barrier": "none of its threads goes on before all of them have arrived",
    "cluster_arrive": "no thread goes on before all of the cluster have arrived",
    "cp_async_commit_group": "the copies are then in a group that a wait can name",
    "cp_async_wait_group": "the issuing threads wait until the copies are there",
    "cp_async_bulk_commit_group": "the store is then in a group that a wait can name",
    "cp_async_bulk_wait_group": "the issuing thread waits until the store has read its source",
    "fence_proxy": "the writing threads make their stores visible to the asynchronous proxy",
    "mbarrier_init_fence": "the initialisation is made visible before it is used",
    "mbarrier_wait": "each reader waits for the phase in which the copy completes",
    "consumer_wait": "each reader waits for the stage to be full",
    "producer_acquire": "the producer waits until the stage has been released",
    "consumer_release": "the stage is released after it was read",
    "producer_tail": "the store has read its source before the block exits",
    "advance": "each turn then takes the next stage, and the next phase",
    "sync_warp": "the lanes of the warp have arrived before any goes on",
    "fence": "registers that were accessed are ordered before the multiplication",
    "wait_group": "the warpgroup waits until the multiplications are done",
    "fence_view_async_tmem_load": "the warp waits until its loads from tensor memory are done",
    "fence_view_async_tmem_store": "the warp waits until its stores to tensor memory are done",
}


class Spelling:
    """How one file names what it calls."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._arch = _owner(source, _ARCH, "") or _imported(source, "arch") or "cute.arch"
        warpgroup = _owner(source, _WARPGROUP, "warpgroup") or _imported(source, "warpgroup")
        self._warpgroup = warpgroup or "cute.nvgpu.warpgroup"

    def arch(self, call: str) -> str:
        """A call of `cute.arch`."""
        return f"{self._arch}.{call}"

    def warpgroup(self, call: str) -> str:
        """A call of `cute.nvgpu.warpgroup`."""
        return f"{self._warpgroup}.{call}"

    def meeting(self, threads: int, of: int) -> str:
        """A barrier of `threads` threads of a block of `of`, all or under a number that is free."""
        if threads == of:
            return self.arch("sync_threads()")
        return self.arch(f"barrier(barrier_id={free_barrier(self.source)}, number_of_threads={threads})")


def why(statements: tuple[str, ...]) -> str:
    """Why statements are enough, in the order in which they stand."""
    names = [one.partition("(")[0].rsplit(".", 1)[-1] for one in statements]
    return "; ".join(dict.fromkeys(WHY[name] for name in names if name in WHY))


def free_barrier(source: Source) -> int:
    """A number of a named barrier that no literal of the file names."""
    taken = {
        one.value.value
        for call in source.calls()
        for one in call.keywords
        if one.arg == "barrier_id" and isinstance(one.value, ast.Constant)
    }
    return next(n for n in itertools.count(1) if n not in taken)


def _owner(source: Source, names: tuple[str, ...], last: str) -> str:
    """What stands before the dot in calls of such names: `arch`, `cute.arch`."""
    for call in source.calls():
        if name_of(call) in names and isinstance(call.func, ast.Attribute):
            owner = ast.unparse(call.func.value)
            if owner.rsplit(".", 1)[-1].endswith(last or "arch"):
                return owner
    return ""


def _imported(source: Source, name: str) -> str:
    """What a file calls a module that it imports from a package of the DSL."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cutlass.cute"):
            for one in node.names:
                if one.name == name:
                    return one.asname or one.name
    return ""
