"""TMA copies that the DSL accepts and the machine gets wrong, each beside its corrected twin.

`TMA_MISCOMPILES[name]` is `(broken, fixed, code, field, why)`: the arguments of `layoutcheck.check` of both
copies, the rule that names the cause, and the field of the tensor map that it names.
"""

from __future__ import annotations

from typing import Any


def g(layout: str = "(256,256):(256,1)", align: int = 16, name: str = "bf16") -> str:
    return f'!cute.memref<{name}, gmem, align<{align}>, "{layout}">'


def s(layout: str = "(64,64):(64,1)", align: int = 1024, swizzle: str = "", name: str = "bf16") -> str:
    facts = f"align<{align}>, {swizzle}" if swizzle else f"align<{align}>"
    return f'!cute.memref<{name}, smem, {facts}, "{layout}">'


def load(gmem: str, smem: str, **more: Any) -> dict[str, Any]:
    return {"src": gmem, "dst": smem, "atom": "tma_load", **more}


def store(smem: str, gmem: str, **more: Any) -> dict[str, Any]:
    return {"src": smem, "dst": gmem, "atom": "tma_store", **more}


SW128, SW64 = "S<3,4,3>", "S<2,4,3>"

TMA_MISCOMPILES: dict[str, tuple[dict[str, Any], dict[str, Any], str, str, str]] = {
    "t1": (load(g(align=2), s()), load(g(), s()), "LC230", "globalAddress",
           "the base is divided by 16 when the map is written"),
    "t1-store": (store(s(), g(align=8)), store(s(), g()), "LC230", "globalAddress",
                 "the base is divided by 16 when the map is written"),
    "t2": (load(g("(256,250):(250,1)"), s()), load(g("(256,250):(256,1)"), s()), "LC231", "globalStrides",
           "a pitch of 500 B is stored as 496 B"),
    "t3": (load(g("(256,128):(256,2)"), s()), load(g("(256,128):(256,1)"), s()), "LC232",
           "stride of dimension 0", "every second element is asked for, adjacent ones arrive"),
    "t4": (load(g("(256,256):(1,256)"), s()), load(g("(256,256):(1,256)"), s("(64,64):(1,64)")), "LC232",
           "stride of dimension 0", "a column-major tensor into a row-major tile"),
    "t5": (load(g(), s(swizzle="S<3,4,4>")), load(g(), s(swizzle=SW128)), "LC233", "swizzle",
           "S<3,4,4> is written into the map as the 128-byte swizzle"),
    "t5-base": (load(g(), s(swizzle="S<2,5,3>")), load(g(), s(swizzle=SW128)), "LC233", "swizzle",
                "an atom of 32 bytes, which Hopper does not have"),
    "t6": (load(g(), s("(64,64):(1,64)", swizzle=SW128), described="(64,64):(64,1)"),
           load(g(), s(swizzle=SW128), described="S<3,4,3> o 0 o (64,64):(64,1)"), "LC234", "smem layout",
           "the map is made of another layout than the copy uses"),
    "t6-swizzle": (load(g(), s(), described="S<3,4,3> o 0 o (64,64):(64,1)"), load(g(), s()), "LC234",
                   "smem layout", "the map swizzles, the tensor does not"),
    "t7": (load(g(), s(align=8)), load(g(), s(align=128)), "LC235", "smem address",
           "a destination 24 B into shared memory"),
    "t8": (load(g("(?,?):(?,1)"), s()), load(g("(?,?):(?{div=8},1)"), s()), "LC231", "globalStrides",
           "a run-time pitch that is promised to be a multiple of nothing"),
    "padded": (load(g(), s("(64,64):(72,1)")), load(g(), s(swizzle=SW128)), "LC235", "smem address",
               "rows of 144 B in shared memory: boxes of one row that begin in between"),
    "odd-swizzle": (load(g(), s(swizzle="S<3,3,3>")), load(g(), s(swizzle=SW128)), "LC235", "smem address",
                    "an 8-byte swizzle: boxes of 64 B, every second in between"),
    "box-row": (load(g(), s("(64,7):(7,1)")), load(g(), s("(64,8):(8,1)")), "LC236", "boxDim[0]",
                "14 B along the first dimension"),
    "short-rows": (load(g(), s("(64,32):(32,1)", swizzle=SW128)),
                   load(g(), s("(64,32):(32,1)", swizzle=SW64)), "LC237", "boxDim[0]",
                   "rows of 64 B under the 128-byte swizzle lie 128 B apart"),
    "short-rows-store": (store(s("(64,16):(16,1)", swizzle=SW64), g()),
                         store(s("(64,32):(32,1)", swizzle=SW64), g()), "LC237", "boxDim[0]",
                         "rows of 32 B under the 64-byte swizzle lie 64 B apart"),
    "coordinate": (load(g(), s("(64,12):(12,1)"), coord="(0,1)"),
                   load(g(), s("(64,16):(16,1)"), coord="(0,1)"), "LC238", "coordinate 0",
                   "the second tile of 12 elements begins at byte 24"),
    "store-tail": (store(s(swizzle=SW128), g("(250,196):(256,1)"), coord="(3,3)"),
                   store(s(swizzle=SW128), g("(250,200):(256,1)"), coord="(3,3)"), "LC239", "globalDim[0]",
                   "rows of 392 B are written to 400 B"),
    "box-skips": (load(g("(512,1024,8):(1024,1,524288)"), s("(300,16,4):(16,1,4800)")),
                  load(g("(512,1024,8):(1024,1,524288)"), s("(150,16,4):(16,1,2400)")), "LC241", "boxDim[1]",
                  "300 rows are cut to 150, the slabs after them are not"),
    "negative": (load(g("(256,256):(-256,1)"), s()), load(g(), s()), "LC243", "globalStrides",
                 "a negative pitch is stored as a huge one"),
    "barrier": (load(g(), s(), expect_bytes=16384), load(g(), s(), expect_bytes=8192), "LC225", "",
                "a barrier that waits for twice the bytes never completes"),
}  # fmt: skip
