"""Multicast by two blocks that multiply together: whose mbarrier the bytes arrive at."""

from __future__ import annotations

import pytest

from layoutcheck.dsl.lowered.machine import Launch
from layoutcheck.order.budget import Budget
from layoutcheck.order.engine import Engine
from layoutcheck.order.watched import Watched


@pytest.mark.parametrize(
    ("receives", "named", "pair", "signalled"),
    [(0, 0, True, 0), (1, 0, True, 0), (3, 0, True, 2), (2, 1, True, 3), (1, 0, False, 1), (3, 2, False, 3)],
)
def test_a_pair_completes_on_the_block_that_the_mbarrier_names(
    receives: int, named: int, pair: bool, signalled: int
) -> None:
    blocks = [Watched(Launch((32, 1, 1), cluster=(4, 1, 1), index=(i, 0, 0))) for i in range(4)]
    copies = Engine(blocks, {}, False, Budget()).copies
    assert copies._signalled(receives, named, pair) == signalled
