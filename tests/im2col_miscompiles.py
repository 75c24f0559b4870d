"""im2col copies that the DSL accepts and the machine gets wrong, each beside its corrected twin.

`IM2COL_MISCOMPILES[name]` is `(broken, fixed, code, field, why)` as in tests/tma_miscompiles.py.
"""

from __future__ import annotations

from typing import Any

from tests.tma_miscompiles import SW128, g, s

FLAT = g("((14,12,3),64):((64,896,10752),1)")  # W, H, N and C
DEEP = g("((40,12,6,3),64):((64,2560,30720,184320),1)")  # W, H, D, N and C
WIDE = g("((300,3,2),64):((64,19200,57600),1)")
LONG = g("((300,4),64):((64,19200),1)")  # W, N and C


def load(gmem: str, im2col: str, smem: str = "", **more: Any) -> dict[str, Any]:
    shared = smem or s(swizzle=SW128)
    return {"src": gmem, "dst": shared, "atom": "im2col_tma_load", "im2col": im2col, **more}


def store(smem: str, gmem: str, **more: Any) -> dict[str, Any]:
    return {"src": smem, "dst": gmem, "atom": "im2col_tma_store", **more}


PLAIN = "filter=(3,3) padding=(1,1)"

IM2COL_MISCOMPILES: dict[str, tuple[dict[str, Any], dict[str, Any], str, str, str]] = {
    "corner-5d": (
        load(DEEP, "filter=(3,3,1) dilation=(9,1,1)"),
        load(DEEP, "filter=(3,3,1) dilation=(8,1,1)"),
        "LC246",
        "pixelBoxUpperCorner",
        "two taps of dilation 9: the upper corner is -18, 5 bits hold -16",
    ),
    "corner-5d-lower": (
        load(DEEP, "filter=(3,1,1) padding=(17,0,0)"),
        load(DEEP, "filter=(3,1,1) padding=(15,0,0)"),
        "LC246",
        "pixelBoxLowerCorner",
        "17 pixels of padding in a 3-d convolution",
    ),
    "corner-4d": (
        load(g("((200,3,2),64):((64,12800,38400),1)"), "filter=(3,1) dilation=(65,1)", coord="(1,0)"),
        load(g("((200,3,2),64):((64,12800,38400),1)"), "filter=(3,1) dilation=(64,1)", coord="(1,0)"),
        "LC246",
        "pixelBoxUpperCorner",
        "two taps of dilation 65: -130, 8 bits hold -128",
    ),
    "empty-box": (
        load(g("((14,2,3),64):((64,896,1792),1)"), "filter=(1,3) stride=(1,2)"),
        load(g("((14,2,3),64):((64,896,1792),1)"), "filter=(1,3) padding=(0,1) stride=(1,2)"),
        "LC246",
        "pixelBoxUpperCorner",
        "three taps over two rows without padding: no place for them",
    ),
    "offset-5d": (
        load(DEEP, "filter=(3,1,1) padding=(16,0,0) dilation=(16,1,1)", coord="(0,2)"),
        load(DEEP, "filter=(3,1,1) padding=(15,0,0) dilation=(15,1,1)", coord="(0,2)"),
        "LC247",
        "im2colOffsets[0]",
        "the third tap of dilation 16 is 32 away, 5 bits hold 31",
    ),
    "offset-spills": (
        load(DEEP, "filter=(3,3,1) padding=(16,1,0) dilation=(16,1,1)", coord="(0,5)"),
        load(DEEP, "filter=(3,3,1) padding=(15,1,0) dilation=(15,1,1)", coord="(0,5)"),
        "LC247",
        "im2colOffsets[0]",
        "32 pixels along W are one along H, where there is one already",
    ),
    "offset-4d": (
        load(
            g("((300,3,2),64):((64,19200,57600),1)"),
            "filter=(3,1) padding=(128,0) dilation=(128,1)",
            coord="(1,2)",
        ),
        load(
            g("((300,3,2),64):((64,19200,57600),1)"),
            "filter=(3,1) padding=(127,0) dilation=(127,1)",
            coord="(1,2)",
        ),
        "LC247",
        "im2colOffsets[0]",
        "the third tap of dilation 128 is 256 away, 8 bits hold 255",
    ),
    "offset-negative": (
        load(FLAT, "filter=(3,3) padding=(1,1) lower_srt=(-1,0)"),
        load(FLAT, PLAIN),
        "LC247",
        "im2colOffsets[0]",
        "the first tap before the first pixel",
    ),
    "stride-9": (
        load(g("((90,14,3),64):((64,5760,80640),1)"), "filter=(3,3) padding=(1,1) stride=(9,1)"),
        load(g("((90,14,3),64):((64,5760,80640),1)"), "filter=(3,3) padding=(1,1) stride=(8,1)"),
        "LC248",
        "elementStrides",
        "9 pixels a step: the map has 3 bits, and its neighbour's change",
    ),
    "stride-16": (
        load(LONG, "filter=(3) padding=(1) stride=(16)"),
        load(LONG, "filter=(3) padding=(1) stride=(8)"),
        "LC248",
        "elementStrides",
        "16 pixels a step, and two images a step",
    ),
    "two-taps": (
        load(FLAT, "filter=(4,3) padding=(1,1)", s("(64,128):(128,1)")),
        load(FLAT, "filter=(4,3) padding=(1,1)", s("(64,(64,2)):(64,(1,4096))", swizzle=SW128)),
        "LC249",
        "channelsPerPixel",
        "128 columns are two taps of 64 channels, and one instruction",
    ),
    "wide-row": (
        load(g("((14,12,3),128):((128,1792,21504),1)"), PLAIN, s("(64,128):(128,1)", swizzle=SW128)),
        load(g("((14,12,3),128):((128,1792,21504),1)"), PLAIN, s("(64,(64,2)):(64,(1,4096))", swizzle=SW128)),
        "LC236",
        "channelsPerPixel",
        "256 B of channels under the 128-byte swizzle",
    ),
    "short-row": (
        load(FLAT, PLAIN, s("(64,32):(32,1)", swizzle=SW128)),
        load(FLAT, PLAIN, s("(64,32):(32,1)", swizzle="S<2,4,3>")),
        "LC237",
        "channelsPerPixel",
        "rows of 64 B under the 128-byte swizzle lie 128 B apart",
    ),
    "base": (
        load(g("((14,12,3),64):((64,896,10752),1)", align=8), PLAIN),
        load(FLAT, PLAIN),
        "LC230",
        "globalAddress",
        "the base is divided by 16 when the map is written",
    ),
    "pitch": (
        load(g("((14,12,3),60):((60,840,10080),1)"), PLAIN, s("(64,32):(32,1)", swizzle="S<2,4,3>")),
        load(g("((14,12,3),60):((64,896,10752),1)"), PLAIN, s("(64,32):(32,1)", swizzle="S<2,4,3>")),
        "LC231",
        "globalStrides",
        "pixels 120 B apart are stored as 112 B apart",
    ),
    "swizzle": (
        load(FLAT, PLAIN, s(swizzle="S<3,4,4>")),
        load(FLAT, PLAIN),
        "LC233",
        "swizzle",
        "S<3,4,4> is written into the map as the 128-byte swizzle",
    ),
    "channels-last": (
        load(g("((14,12,3),64):((1,14,10752),168)"), "filter=(1,1)"),
        load(FLAT, "filter=(1,1)"),
        "LC232",
        "stride of dimension 0",
        "a tensor whose channels are not contiguous",
    ),
    "smem": (
        load(FLAT, PLAIN, s(align=8, swizzle=SW128)),
        load(FLAT, PLAIN),
        "LC235",
        "smem address",
        "a destination 8 B into shared memory",
    ),
    "other-tile": (
        load(FLAT, PLAIN, s(swizzle=SW128), described="S<2,4,3> o 0 o (64,(32,2)):(32,(1,2048))"),
        load(FLAT, PLAIN, s(swizzle=SW128), described="S<3,4,3> o 0 o (64,64):(64,1)"),
        "LC234",
        "smem layout",
        "the map is made of another layout than the copy uses",
    ),
    "barrier": (
        load(FLAT, PLAIN, expect_bytes=16384),
        load(FLAT, PLAIN, expect_bytes=8192),
        "LC225",
        "",
        "a barrier that waits for twice the bytes never completes",
    ),
    "store-tail": (
        store(s("(64,16):(16,1)", swizzle="S<1,4,3>"), g("((14,12,3),28):((32,448,5376),1)"), coord="(0,1)"),
        store(s("(64,16):(16,1)", swizzle="S<1,4,3>"), g("((14,12,3),24):((32,448,5376),1)"), coord="(0,1)"),
        "LC239",
        "globalDim[0]",
        "56 B of channels are written as 64",
    ),
}
