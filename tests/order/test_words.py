"""Sentences that findings of order share."""

from __future__ import annotations

from layoutcheck.order.rules.rule import alone
from layoutcheck.sources.traced import Frame, KernelPlace


def test_one_statement_of_several_threads_lacks_a_place_for_each() -> None:
    """Not of two turns of a loop, which a barrier orders."""
    here = KernelPlace("writes", Frame("k.py", 3), turns=(0,))
    one = "Missing: a place for each thread, or a condition by which one thread does it."
    assert alone([here, KernelPlace("writes", Frame("k.py", 3), thread=9, turns=(0,))], "thread") == one
    both = alone([here, KernelPlace("reads", Frame("k.py", 3), turns=(0,))], "block")
    assert both.startswith("Missing: a place for each block, an atomic operation, or")
    for other in (
        KernelPlace("writes", Frame("k.py", 3), turns=(1,)),
        KernelPlace("writes", Frame("k.py", 4)),
    ):
        assert alone([here, other], "thread") == ""
