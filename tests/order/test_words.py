"""Sentences that findings of order share."""

from __future__ import annotations

from collections import defaultdict

from layoutcheck.order.problems import Problem
from layoutcheck.order.rules.rule import alone
from layoutcheck.order.rules.worded import worded
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


def test_every_sentence_of_the_table_has_what_it_names() -> None:
    facts = defaultdict[str, int | str](lambda: 7)
    places = [KernelPlace("writes", Frame(f"k{n}.py", n), thread=n) for n in (1, 2, 3)]
    told = {
        kind: rule.tell(Problem(kind, None, None, facts=facts), places)
        for rule in worded()
        for kind in rule.kinds - {"overlapping-tensors"}  # that names a byte
    }
    assert len(told) == 31 and all(title and message for title, message in told.values())
    assert told["narrow-release"][1].startswith(
        "Thread 1 writes at k1.py:1; thread 2 writes at k2.py:2; both"
    )
    rule = next(rule for rule in worded() if "registers-not-fenced" in rule.kinds)
    by_itself = rule.tell(Problem("registers-not-fenced", None, None), places[:1])[0]
    assert by_itself == "no warpgroup.fence() precedes the wgmma of k1.py:1"
