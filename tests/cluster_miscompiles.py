"""Copies between blocks that the DSL accepts and the machine gets wrong, each beside its corrected twin.

`CLUSTER_MISCOMPILES[name]` is `(broken, fixed, code, why)`: the arguments of `layoutcheck.check` of both
copies, and the rule that names the cause.
"""

from __future__ import annotations

from typing import Any

_SPACES = {
    "bulk.g2s.multicast": ("gmem", "smem"),
    "bulk.s2s": ("smem", "smem"),
    "st.async": ("rmem", "dsmem"),
}
_TMA = "tma_load.multicast"


def to(atom: str, layout: str = "(64):(1)", blocks: int = 2, **more: Any) -> dict[str, Any]:
    """A copy of bf16 between blocks; of TMA, of a tile of 64 x 64."""
    if atom == _TMA:
        views = {
            "src": '!cute.memref<bf16, gmem, align<16>, "(256,256):(256,1)">',
            "dst": '!cute.memref<bf16, smem, align<1024>, S<3,4,3>, "(64,64):(64,1)">',
        }
    else:
        spaces = zip(("src", "dst"), _SPACES[atom], strict=True)
        views = {side: f'!cute.memref<bf16, {space}, align<128>, "{layout}">' for side, space in spaces}
    width = {"bits": 128} if atom == "st.async" else {}
    return {**views, "atom": atom, "cluster": blocks, **width, **more}


_FRAGMENT = "(8,2):(1,8)"
CLUSTER_MISCOMPILES: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "mask-outside": (
        to("bulk.g2s.multicast", mcast_mask="0b101"),
        to("bulk.g2s.multicast", mcast_mask="0b11"),
        "LC229",
        "a multicast names block 2 of a cluster of 2",
    ),
    "mask-empty": (
        to("bulk.g2s.multicast", mcast_mask=0),
        to("bulk.g2s.multicast", mcast_mask=1),
        "LC229",
        "a multicast names no block",
    ),
    "tma-mask-outside": (
        to(_TMA, mcast_mask="0b1011", blocks=2),
        to(_TMA, mcast_mask="0b1011", blocks=4),
        "LC229",
        "a TMA multicast names block 3 of a cluster of 2",
    ),
    "tma-mask-empty": (
        to(_TMA, mcast_mask=0),
        to(_TMA, mcast_mask=2),
        "LC229",
        "a TMA multicast names no block",
    ),
    "rank-outside": (
        to("bulk.s2s", cta_rank=2),
        to("bulk.s2s", cta_rank=1),
        "LC229",
        "a bulk copy within shared memory to block 2 of a cluster of 2",
    ),
    "store-outside": (
        to("st.async", _FRAGMENT, cta_rank=5, blocks=4),
        to("st.async", _FRAGMENT, cta_rank=3, blocks=4),
        "LC229",
        "st.async to block 5 of a cluster of 4",
    ),
    "mask-told-of-all": (
        to("bulk.g2s.multicast", mcast_mask="0b11", expect_bytes=256),
        to("bulk.g2s.multicast", mcast_mask="0b11", expect_bytes=128),
        "LC225",
        "every block's barrier is told of the bytes of both blocks",
    ),
    "tma-told-of-all": (
        to(_TMA, mcast_mask="0b11", expect_bytes=16384),
        to(_TMA, mcast_mask="0b11", expect_bytes=8192),
        "LC225",
        "every block's barrier is told of the bytes of both blocks",
    ),
    "peer-told-of-more": (
        to("bulk.s2s", cta_rank=1, expect_bytes=144),
        to("bulk.s2s", cta_rank=1, expect_bytes=128),
        "LC225",
        "the receiving block's barrier is told of 16 bytes more than come",
    ),
    "store-told-of-more": (
        to("st.async", _FRAGMENT, cta_rank=1, expect_bytes=48),
        to("st.async", _FRAGMENT, cta_rank=1, expect_bytes=32),
        "LC225",
        "the receiving block's barrier is told of 16 bytes more than come",
    ),
    "sender-waits": (
        to("bulk.s2s", cta_rank=1, waits_rank=0),
        to("bulk.s2s", cta_rank=1, waits_rank=1),
        "LC298",
        "the sending block's barrier is waited on, and the receiving one's is told",
    ),
    "other-waits": (
        to("st.async", _FRAGMENT, cta_rank=3, waits_rank=2, blocks=4),
        to("st.async", _FRAGMENT, cta_rank=3, waits_rank=3, blocks=4),
        "LC298",
        "a third block's barrier is waited on, and the receiving one's is told",
    ),
    "misaligned-at-peer": (
        to("bulk.s2s", "(64,2):(1,68)", cta_rank=1),
        to("bulk.s2s", "(64,2):(1,72)", cta_rank=1),
        "LC220",
        "the second row begins at 136 bytes in the other block",
    ),
}
