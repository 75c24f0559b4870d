"""LC230 tma-base: the base address of a TMA copy's global tensor is not known to be a multiple of 16 bytes.

## What it means

The tensor map does not store the low four bits of an address. The DSL divides the address by 16
when it writes the map, without a check, so every box begins up to 15 bytes too early.

## Why

CUDA Driver API, cuTensorMapEncodeTiled: globalAddress must be a multiple of 16 bytes. The DSL never
calls it; its host code stores address / 16 * 16 (read in the lowered code, and run on an H200).

## How to fix it

Give the tensor an address that is a multiple of 16 bytes and say so: `assumed_align=16`, or
`make_ptr(..., assumed_align=16)`. A view that begins inside a tensor keeps the tensor's own base: address
the tile by its coordinates instead.

## How to silence it

Promise the alignment where the tensor is made.
"""

from __future__ import annotations

from layoutcheck.atoms.tma.descriptor import DRIVER, PIECE_BYTES, WHOLE_PIECES
from layoutcheck.atoms.tma.plan import gmem_side
from layoutcheck.rules.rule import TMA, Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, mapped_tensor, whole_tma


def find(analysis: Analysis) -> Findings:
    """A proved alignment below 16 bytes."""
    mapped, past = mapped_tensor(analysis), analysis.copy.map_past
    if mapped is not None and past:
        yield RULE.finding(
            f"the tensor map rounds its address down: its tensor begins {past} B past a multiple of 16 B",
            f"The host steps {past} B past an aligned pointer and makes the tensor map there. The DSL stores the address divided by 16, without a check, so every box begins {past} B too early.",
            Where(gmem_side(analysis.copy)),
            demanded("globalAddress", f"16n + {past}", WHOLE_PIECES, DRIVER),
        )
    elif mapped is not None and mapped.proved_align_bytes % PIECE_BYTES:
        have = mapped.proved_align_bytes
        yield RULE.finding(
            f"the tensor map's address is only known to be a multiple of {have} B",
            "The DSL stores the address divided by 16, without a check: if the address is not a multiple of 16, every box begins too early. Promise the alignment (assumed_align=16) and check it on the host.",
            Where(gmem_side(analysis.copy)),
            demanded("globalAddress", f"a multiple of {have} B", WHOLE_PIECES, DRIVER),
            severity="note",
        )
    found = whole_tma(analysis)
    if found is None or found.gmem.proved_align_bytes % PIECE_BYTES == 0:
        return
    have = found.gmem.proved_align_bytes
    side = gmem_side(analysis.copy)
    yield RULE.finding(
        f"the tensor map rounds its address down to 16 bytes, but the tensor is only aligned to {have}",
        f"globalAddress is a multiple of {have} B, but the tensor map demands a multiple of 16 B. The DSL stores the address "
        f"divided by 16, without a check: at an address of 16n + {have} every box begins {have} B too early.",
        Where(side),
        demanded("globalAddress", f"a multiple of {have} B", WHOLE_PIECES, DRIVER),
    )


RULE = make_rule(
    "wrong",
    find,
    flagged=TMA | {"src": '!cute.memref<bf16, gmem, align<2>, "(256,256):(256,1)">'},
    twin={"src": TMA["src"]},
    explains=EFFECTS,
)
