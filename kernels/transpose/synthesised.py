"""What `layoutcheck.synthesize` returns for a tile of the transpose, and which of it `exchange` is.

Two of its plans go through shared memory without a bank conflict, 16 bytes an access all the way: the best,
whose loads are asynchronous, and the one whose threads turn their blocks before they store them. `exchange`
is the one or the other. A test holds both to the synthesis, address by address.
"""

from __future__ import annotations

import layoutcheck as lc
from kernels.transpose.exchange import Exchange
from layoutcheck.synthesis.plans import Synthesis

KINDS = {
    True: "cp.async, MN-contiguous, swizzled, universal",
    False: "universal, K-contiguous, swizzled, universal",
}
"""The kind of plan that `exchange` is, by whether its loads are asynchronous. N is its MN, M its K."""


def plans(exchange: Exchange) -> Synthesis:
    """What is found for the tile and the threads of `exchange`, best first."""
    return lc.synthesize(
        tile=exchange.tile,
        dtype="bf16",
        src="gmem (?,?):(1,?{div=8})",
        dst="gmem (?,?):(?{div=8},1)",
        to="gmem",
        threads=exchange.threads,
        arch="sm_90a",
        engine="cp.async,universal",
    )
