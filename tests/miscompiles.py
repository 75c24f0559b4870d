"""Copies that the DSL accepts and the machine gets wrong, each beside its corrected twin.

`MISCOMPILES[name]` is `(broken, fixed, why)`. The broken copy corrupts data, faults, leaves elements uncopied
or moves bytes nobody asked for; the fixed one is the smallest change that does what was meant. Operands
are written as the DSL prints them, the way a user writes the views (before `cute.copy` groups their rest
modes). Copies of more than one thread carry the tiling that their views were partitioned from.
"""

from __future__ import annotations

import re
from dataclasses import replace

from layoutcheck.algebra.notation import parse_layout, parse_swizzle, parse_tiler
from layoutcheck.atoms.bulk import BulkCopy
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.dsmem import DsmemStore
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.atom import Atom
from layoutcheck.copies.copy import Copy, Issue, Tiling
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.tiled import TiledCopy
from layoutcheck.machine.dtypes import dtype

BF16 = dtype("bf16")
F4 = dtype("f4E2M1FN")

_ALIGN = re.compile(r"align<(\d+)>")


def memref(text: str) -> Memref:
    """`bf16 gmem align<16> S<3,4,3> (8,4):(1,8)`: the words of a memref type, the layout last."""
    name, space, *facts, layout = text.split()
    align = None
    swizzle = None
    for fact in facts:
        found = _ALIGN.fullmatch(fact)
        if found:
            align = int(found[1])
        else:
            swizzle = parse_swizzle(fact)
    return Memref(dtype(name), space, parse_layout(layout), align, swizzle)


def g(layout: str, align: int = 16, name: str = "bf16") -> Memref:
    return memref(f"{name} gmem align<{align}> {layout}")


def s(layout: str, align: int = 128, swizzle: str = "", name: str = "bf16") -> Memref:
    return memref(f"{name} smem align<{align}> {swizzle} {layout}")


def r(layout: str, align: int = 32, name: str = "bf16") -> Memref:
    return memref(f"{name} rmem align<{align}> {layout}")


def universal(bits: int = 0) -> UniversalCopy:
    return UniversalCopy(BF16, bits)


def bulk(kind: str = "g2s", bits: int = 0, name: str = "bf16") -> BulkCopy:
    return BulkCopy(kind, dtype(name), bits)


def six_bit(layout: str) -> tuple[Memref, Memref]:
    return g(layout, name="f6E2M3FN"), s(layout, name="f6E2M3FN")


BULK = bulk()
CP16 = CpAsync(BF16, 128)
CP8 = CpAsync(BF16, 64)
LDSM4 = LdMatrix(BF16, 4)


def tiled(
    atom: Atom,
    layout_tv: str,
    tiler: str,
    whole: tuple[Memref, Memref],
    views: tuple[Memref, Memref],
    block_threads: int,
) -> Copy:
    """Thread `tid`'s copy of a tile: `views` are the types that partition_S and partition_D print."""
    tc = TiledCopy(atom, parse_layout(layout_tv), parse_tiler(tiler))
    return Copy(atom, *views, tiled=tc, tiling=Tiling(tc, *whole, block_threads))


_G_ROWS = g("(32,64):(64,1)"), s("(32,64):(64,1)")
_THREAD_A_ROW = tiled(
    CP16, "(32,8):(1,32)", "[32:1;8:1]", _G_ROWS,
    (g("((8,1),1,8):((1,0),0,8)"), s("((8,1),1,8):((1,0),0,8)")), 32,
)  # fmt: skip
_WIDE_ROWS = g("(32,8):(256,1)"), s("(32,8):(8,1)")
_EIGHT_THREADS_A_ROW = ("((8,4),8):((32,1),4)", "[4:1;64:1]")
_ROWS_16 = g("(16,64):(64,1)"), s("(16,64):(64,1)")
_ROWS_18 = g("(18,64):(64,1)"), s("(18,64):(64,1)")
_HALF_BLOCK = tiled(
    CP16, "((8,8),8):((64,1),8)", "[8:1;64:1]", _ROWS_16,
    (g("((8,1),2,1):((1,0),512,0)"), s("((8,1),2,1):((1,0),512,0)", 16)), 32,
)  # fmt: skip
_WIDE_16 = g("(16,256):(256,1)"), s("(16,256):(256,1)")
_COLUMNS = g("(4,64):(1,4)"), s("(4,64):(1,4)")


def with_block(copy: Copy, block_threads: int) -> Copy:
    """The same copy launched with another number of threads."""
    assert copy.tiling is not None
    return replace(copy, tiling=replace(copy.tiling, block_threads=block_threads))


def _recast_f32(original: Memref, layout: str) -> Memref:
    return replace(original, dtype=dtype("f32"), layout=parse_layout(layout), recast_from=original)


MISCOMPILES: dict[str, tuple[Copy, Copy, str]] = {
    "h01": (
        Copy(CP16, g("(8):(1)"), s("(8):(64)")),
        Copy(CP16, g("(8):(1)"), s("(8):(1)")),
        "one 16-byte cp.async over a destination of stride 64: seven of eight elements land elsewhere",
    ),
    "h01-src": (
        Copy(CP16, g("(8):(64)"), s("(8):(1)")),
        Copy(CP16, g("(8):(1)"), s("(8):(1)")),
        "one 16-byte cp.async over a source of stride 64: seven of eight elements come from elsewhere",
    ),
    "h02": (
        Copy(CP16, g("((4,2)):((1,4))"), s("((4,2)):((1,4))")),
        Copy(CP16, g("((8,1)):((1,0))"), s("((8,1)):((1,0))")),
        "V=(4,2) is read as atom 4, rest 2: two 16-byte cp.async 8 bytes apart",
    ),
    "h03-more": (
        Copy(CP16, g("(16):(1)"), s("(16):(1)")),
        Copy(CP16, g("((8,2)):((1,8))"), s("((8,2)):((1,8))")),
        "V has 16 elements, the one cp.async moves 8",
    ),
    "h03-fewer": (
        Copy(CP16, g("(4):(1)"), s("(4):(1)")),
        Copy(CP8, g("(4):(1)"), s("(4):(1)")),
        "V has 4 elements, the one cp.async moves 8: 8 bytes out of bounds on both sides",
    ),
    "h04": (
        Copy(CP16, g("(8,4):(1,9)"), s("(8,4):(1,8)")),
        Copy(CP16, g("(8,4):(1,16)"), s("(8,4):(1,8)")),
        "rows 9 elements apart start at +18, +36, +54 bytes: misaligned 16-byte cp.async",
    ),
    "h05-v": (
        Copy(CP16, g("(8):(?)"), s("(8):(1)")),
        Copy(CP16, g("(8):(1)"), s("(8):(1)")),
        "a dynamic stride of V is silently taken to be 1",
    ),
    "h05-pitch": (
        Copy(CP16, g("(8,4):(1,?)"), s("(8,4):(1,8)")),
        Copy(CP16, g("(8,4):(1,?{div=8})"), s("(8,4):(1,8)")),
        "a dynamic pitch is silently taken to be a multiple of 16 bytes",
    ),
    "h06": (
        Copy(CP16, g("(8,2):(1,8)"), s("(8,2):(1,8)"), pred=memref("i8 gmem align<16> (8,2):(1,8)")),
        Copy(CP16, g("((8,1),2):((1,0),8)"), s("((8,1),2):((1,0),8)"), pred=memref("i8 gmem (1,2):(0,1)")),
        "a predicate an element for a cp.async of 8: only every eighth is read",
    ),
    "h07": (
        Copy(CP16, g("((8,1),2):((1,0),8)"), s("((8,1),2):((1,0),8)"), pred=memref("bf16 gmem (1,2):(0,1)")),
        Copy(CP16, g("((8,1),2):((1,0),8)"), s("((8,1),2):((1,0),8)"), pred=memref("i8 gmem (1,2):(0,1)")),
        "a floating-point predicate is folded to false: cp.async zero-fills the destination",
    ),
    "h08": (
        Copy(CP16, g("(8,8):(1,8)"), s("(8,8):(1,8)", 1024, "S<3,2,3>")),
        Copy(CP16, g("(8,8):(1,8)"), s("(8,8):(1,8)", 1024, "S<3,4,3>")),
        "S<3,2,3> scatters 4-byte granules, a 16-byte cp.async keeps 16 bytes together",
    ),
    "h08-universal": (
        Copy(universal(128), g("(8,8):(1,8)"), s("(8,8):(1,8)", 1024, "S<3,2,3>")),
        Copy(universal(128), g("(8,8):(1,8)"), s("(8,8):(1,8)", 1024, "S<3,4,3>")),
        "S<3,2,3> scatters 4-byte granules, a 16-byte store keeps 16 bytes together",
    ),
    "h09": (
        Copy(universal(128), g("(12):(1)"), s("(12):(1)")),
        Copy(universal(64), g("(12):(1)"), s("(12):(1)")),
        "V of 12 elements is rounded up to two vectors of 8: out of bounds on both sides",
    ),
    "h09-rest": (
        Copy(universal(128), g("(4,2):(1,4)"), s("(4,2):(1,4)")),
        Copy(universal(64), g("(4,2):(1,4)"), s("(4,2):(1,4)")),
        "V of 4 elements is moved by vectors of 8: out of bounds on both sides",
    ),
    "h10": (
        Copy(universal(128), g("(8):(?{div=2})"), s("(8):(2)")),
        Copy(universal(16), g("(8):(?{div=2})"), s("(8):(2)")),
        "with a dynamic stride of V contiguity is not checked on either side: stride 1 is assumed",
    ),
    "h11": (
        Copy(universal(128), g("((8,1),2):((1,0),16)"), s("((16,1),2):((1,0),16)")),
        Copy(universal(128), g("((8,1),2):((1,0),16)"), s("((8,1),2):((1,0),16)")),
        "the atom's part of V is 8 elements in the source and 16 in the destination: half is never written",
    ),
    "h12": (
        Copy(universal(128), g("((4,2)):((1,1))"), s("((4,2)):((1,1))")),
        Copy(universal(128), g("((4,2)):((1,4))"), s("((4,2)):((1,4))")),
        "(4,2):(1,1) passes the contiguity test because the product of its strides is 1",
    ),
    "h12-negative": (
        Copy(universal(128), g("((2,4)):((-1,-1))"), s("((2,4)):((-1,-1))")),
        Copy(universal(128), g("((2,4)):((1,2))"), s("((2,4)):((1,2))")),
        "(2,4):(-1,-1) passes the contiguity test because the product of its strides is 1",
    ),
    "h13": (
        Copy(universal(), g("((8,4)):((1,?))"), s("((8,4)):((1,8))")),
        Copy(universal(), g("(8,4):(1,?)"), s("(8,4):(1,8)")),
        "a dynamic stride inside V does not enter the alignment: 16-byte loads at any multiple of 2 bytes",
    ),
    "h13b": (
        Copy(universal(128), g("((8,4)):((1,?))"), s("((8,4)):((1,8))")),
        Copy(universal(128), g("(8,4):(1,?)"), s("(8,4):(1,8)")),
        "a dynamic stride inside V does not enter the alignment: 16-byte loads at any multiple of 2 bytes",
    ),
    "h14": (
        Copy(RegisterCopy("g2r", BF16, 128), g("(8,4):(1,9)"), r("(8,4):(1,8)")),
        Copy(RegisterCopy("g2r", BF16, 128), g("(8,4):(1,16)"), r("(8,4):(1,8)")),
        "g2r never narrows: 16-byte loads at +18, +36, +54 bytes",
    ),
    "h15": (
        Copy(None, g("(8,4):(1,?)"), r("(8,4):(1,8)"), op="autovec_copy", evict_priority=True),
        Copy(None, g("(8,4):(1,?{div=8})"), r("(8,4):(1,8)"), op="autovec_copy", evict_priority=True),
        "autovec_copy ignores the dynamic pitch and with an eviction priority picks g2r, which never narrows",
    ),
    "h16": (
        Copy(None, g("(8):(1)"), s("(16):(1)"), op="autovec_copy"),
        Copy(None, g("(16):(1)"), s("(16):(1)"), op="autovec_copy"),
        "autovec_copy of 8 elements to 16 reads 8 elements past the source",
    ),
    "h17": (
        Copy(universal(128), g("(8,2):(2,16)", 2), s("(8,2):(1,8)"), op="copy_atom_call"),
        Copy(universal(128), g("(8,2):(1,16)", 2), s("(8,2):(1,8)"), op="copy_atom_call"),
        "unroll_factor= goes through copy_atom_call, which checks no stride: stride 2 is copied as stride 1",
    ),
    "h17-cp-async": (
        Copy(CP16, g("(8,2):(2,16)", 2), s("(8,2):(1,8)"), op="copy_atom_call"),
        Copy(CP16, g("(8,2):(1,16)", 16), s("(8,2):(1,8)"), op="copy_atom_call"),
        "unroll_factor= goes through copy_atom_call, which checks no alignment: 16-byte cp.async at +2 bytes",
    ),
    "h18": (
        Copy(LDSM4, s("((8,1),1):((1,0),0)"), r("((2,1),1):((1,0),0)")),
        Copy(LDSM4, s("((8,1),1):((1,0),0)"), r("((8,1),1):((1,0),0)")),
        "ldmatrix.x4 returns 8 values to a V of 2: six neighbours are overwritten",
    ),
    "h18-stride": (
        Copy(LDSM4, s("((8,1),1):((1,0),0)"), r("((8,1),1):((2,0),0)")),
        Copy(LDSM4, s("((8,1),1):((1,0),0)"), r("((8,1),1):((1,0),0)")),
        "ldmatrix writes 32-bit registers: a stride of 2 between the two values of a register is ignored",
    ),
    "h19-stride": (
        Copy(LDSM4, s("((8,1),1):((64,0),0)"), r("((8,1),1):((1,0),0)")),
        Copy(LDSM4, s("((8,1),1):((1,0),0)"), r("((8,1),1):((1,0),0)")),
        "ldmatrix reads 16 contiguous bytes a row: the source's stride 64 is ignored",
    ),
    "h19-half": (
        Copy(LDSM4, s("((4,1),1):((1,0),0)", 8), r("((8,1),1):((1,0),0)")),
        Copy(LDSM4, s("((8,1),1):((1,0),0)", 16), r("((8,1),1):((1,0),0)")),
        "a source V of 4 asks for 8-byte alignment, ldmatrix needs 16",
    ),
    "h19-pitch": (
        Copy(LDSM4, s("((8,1),2):((1,0),9)"), r("((8,1),2):((1,0),8)")),
        Copy(LDSM4, s("((8,1),2):((1,0),16)"), r("((8,1),2):((1,0),8)")),
        "the second ldmatrix starts 18 bytes after the first",
    ),
    "h20-more": (
        Copy(StMatrix(BF16, 1), r("((8,1),1):((1,0),0)"), s("((8,1),1):((1,0),0)")),
        Copy(StMatrix(BF16, 4), r("((8,1),1):((1,0),0)"), s("((8,1),1):((1,0),0)")),
        "an x1 atom with 8 source values becomes stmatrix.x4",
    ),
    "h20-fewer": (
        Copy(StMatrix(BF16, 4), r("((2,1),1):((1,0),0)"), s("((8,1),1):((1,0),0)")),
        Copy(StMatrix(BF16, 4), r("((8,1),1):((1,0),0)"), s("((8,1),1):((1,0),0)")),
        "an x4 atom with 2 source values becomes stmatrix.x1",
    ),
    "h21": (
        Copy(BULK, g("(64,2):(1,65)"), s("(64,2):(1,64)")),
        Copy(BULK, g("(64,2):(1,72)"), s("(64,2):(1,64)")),
        "the second row of a bulk copy begins 130 bytes after the first: not a multiple of 16",
    ),
    "h21-gmem": (
        Copy(BULK, g("(64):(1)", 2), s("(64):(1)")),
        Copy(BULK, g("(64):(1)", 16), s("(64):(1)")),
        "a bulk copy from a global address that is only known to be 2-byte aligned",
    ),
    "h21-smem": (
        Copy(BULK, g("(64):(1)"), s("(64):(1)", 8)),
        Copy(BULK, g("(64):(1)"), s("(64):(1)", 16)),
        "a bulk copy to a shared address that is only known to be 8-byte aligned",
    ),
    "h21-store": (
        Copy(bulk("s2g"), s("(64,2):(1,64)"), g("(64,2):(1,68)")),
        Copy(bulk("s2g"), s("(64,2):(1,64)"), g("(64,2):(1,72)")),
        "the second row of a bulk store begins 136 bytes after the first: not a multiple of 16",
    ),
    "h21-cluster": (
        Copy(bulk("s2s"), s("(64,2):(1,68)"), s("(64,2):(1,64)")),
        Copy(bulk("s2s"), s("(64,2):(1,72)"), s("(64,2):(1,64)")),
        "the second row of a bulk copy within shared memory begins 136 bytes after the first",
    ),
    "h22": (
        Copy(BULK, g("(512):(1)"), s("(512):(1)", 1024, "S<3,4,3>")),
        Copy(BULK, g("(512):(1)"), s("(512):(1)", 1024)),
        "a bulk copy is linear: the destination's swizzle is dropped",
    ),
    "h22-store": (
        Copy(bulk("s2g"), s("(64,8):(1,64)", 1024, "S<3,4,3>"), g("(64,8):(1,64)")),
        Copy(bulk("s2g"), s("(64,8):(1,64)", 1024), g("(64,8):(1,64)")),
        "a bulk copy is linear: the source's swizzle is dropped",
    ),
    "h31": (
        Copy(bulk(bits=1024), g("(32,2):(1,32)"), s("(32,2):(1,32)")),
        Copy(bulk(bits=512), g("(32,2):(1,32)"), s("(32,2):(1,32)")),
        "1024 bits divide the whole layout and not V: no instruction is emitted",
    ),
    "h31-rest": (
        Copy(bulk("s2g", 1024), s("(96,2):(1,96)"), g("(96,2):(1,96)")),
        Copy(bulk("s2g", 512), s("(96,2):(1,96)"), g("(96,2):(1,96)")),
        "1024 bits divide the whole layout and leave a remainder of V: no instruction is emitted",
    ),
    "h40": (
        Copy(BULK, g("(12,2):(1,12)"), s("(12,2):(1,12)")),
        Copy(BULK, g("((12,2)):((1,12))"), s("((12,2)):((1,12))")),
        "rows of 24 bytes are one run of 48 to the verifier and two bulk copies of 24 in the end",
    ),
    "h40-transposed": (
        Copy(BULK, g("(8,8):(8,1)"), s("(8,8):(8,1)")),
        Copy(BULK, g("((8,8)):((8,1))"), s("((8,8)):((8,1))")),
        "both sides permuted alike are one run to the verifier and 64 bulk copies of 2 bytes in the end",
    ),
    "h41": (
        Copy(BULK, g("(64):(1)", name="f32"), s("(64):(1)", name="f32")),
        Copy(bulk(name="f32"), g("(64):(1)", name="f32"), s("(64):(1)", name="f32")),
        "a bf16 atom counts f32 elements at 2 bytes: half of them are copied",
    ),
    "h41-wide": (
        Copy(bulk(name="f32"), g("(64):(1)"), s("(64):(1)")),
        Copy(BULK, g("(64):(1)"), s("(64):(1)")),
        "an f32 atom counts bf16 elements at 4 bytes: twice as much is copied",
    ),
    "h42": (
        Copy(BULK, g("(64):(1)"), s("(64):(1)"), issue=Issue(1, 256)),
        Copy(BULK, g("(64):(1)"), s("(64):(1)"), issue=Issue(1, 128)),
        "the barrier expects 256 bytes and 128 arrive: the wait never ends",
    ),
    "h43": (
        Copy(BULK, g("(64):(1)"), s("(64):(1)"), issue=Issue(32)),
        Copy(BULK, g("(64):(1)"), s("(64):(1)"), issue=Issue(1)),
        "no thread is elected: a warp issues the copy 32 times",
    ),
    "h44": (
        Copy(bulk(name="f6E2M3FN"), *six_bit("(128,2):(1,128)")),
        Copy(bulk(name="f6E2M3FN"), *six_bit("((128,2)):((1,128))")),
        "rows of 128 6-bit elements are 96 bytes and are taken 128 bytes apart",
    ),
    "h45": (
        Copy(DsmemStore(BF16, 128), r("(8,2):(1,8)"), memref("bf16 dsmem align<128> (8,2):(1,9)")),
        Copy(DsmemStore(BF16, 128), r("(8,2):(1,8)"), memref("bf16 dsmem align<128> (8,2):(1,16)")),
        "the second st.async stores 16 bytes 18 bytes after the first",
    ),
    "h23": (
        tiled(
            CP16, "(32,4):(1,32)", "[32:1;4:1]", _G_ROWS,
            (g("((8,1),1,16):((1,0),0,4)"), s("((8,1),1,16):((1,0),0,4)")), 32,
        ),
        _THREAD_A_ROW,
        "4 values a thread and an atom of 8: V is widened, slices overlap and every other is misaligned",
    ),
    "h24": (
        tiled(
            universal(128), "(32,4):(1,32)", "[32:1;4:1]", _WIDE_ROWS,
            (g("((8,1),1,2):((1,0),0,4)"), s("((8,1),1,2):((1,0),0,4)", 16)), 32,
        ),
        tiled(
            universal(128), "(32,8):(1,32)", "[32:1;8:1]", _WIDE_ROWS,
            (g("((8,1),1,1):((1,0),0,0)"), s("((8,1),1,1):((1,0),0,0)", 16)), 32,
        ),
        "4 values a thread and an atom of 8: each row overwrites the beginning of the next one",
    ),
    "h25": (
        tiled(
            CP16, *_EIGHT_THREADS_A_ROW, _ROWS_18,
            (g("((8,1),5,1):((1,0),256,0)"), s("((8,1),5,1):((1,0),256,0)", 16)), 32,
        ),
        tiled(
            CP16, *_EIGHT_THREADS_A_ROW, _ROWS_16,
            (g("((8,1),4,1):((1,0),256,0)"), s("((8,1),4,1):((1,0),256,0)", 16)), 32,
        ),
        "18 rows in steps of 4: rows 18 and 19 are read and written out of bounds",
    ),
    "h26": (
        _HALF_BLOCK,
        with_block(_HALF_BLOCK, 64),
        "64 threads share the tile, 32 are launched: half the tile is never copied",
    ),
    "h27": (
        tiled(
            CP16, "(32,8):(8,1)", "[256:1]", _WIDE_16,
            (g("((8,1),1,256):((256,0),0,1)"), s("((8,1),1,256):((256,0),0,1)")), 32,
        ),
        tiled(
            CP16, "(32,8):(8,1)", "[1:0;256:1]", _WIDE_16,
            (g("((8,1),16,1):((1,0),256,0)"), s("((8,1),16,1):((1,0),256,0)", 16)), 32,
        ),
        "a tiled copy of rank 1 over a row-major tile of rank 2: V walks down the rows",
    ),
    "h28": (
        Copy(universal(128), g("(8):(1)"), s("(8):(1)", name="f16")),
        Copy(universal(128), g("(8):(1)"), s("(8):(1)")),
        "bf16 to f16 copies bits, it does not convert",
    ),
    "h29": (
        Copy(
            UniversalCopy(dtype("f32"), 32),
            _recast_f32(g("(8,8):(63,1)"), "(8,4):(32,1)"),
            s("(8,4):(4,1)", name="f32"),
        ),
        Copy(
            UniversalCopy(dtype("f32"), 32),
            _recast_f32(g("(8,8):(64,1)"), "(8,4):(32,1)"),
            s("(8,4):(4,1)", name="f32"),
        ),
        "recast to a wider type rounds the pitch 63 up to 32 of the wider: rows come from elsewhere",
    ),
    "h33": (
        Copy(UniversalCopy(F4), g("(8):(2)", name="f4E2M1FN"), g("(8):(1)", name="f4E2M1FN")),
        Copy(UniversalCopy(F4), g("(8):(1)", name="f4E2M1FN"), g("(8):(1)", name="f4E2M1FN")),
        "every second 4-bit element is copied as one contiguous 32-bit word",
    ),
    "h33-clobber": (
        Copy(UniversalCopy(F4), g("(2):(2)", name="f4E2M1FN"), g("(2):(2)", name="f4E2M1FN")),
        Copy(UniversalCopy(F4), g("(2):(1)", name="f4E2M1FN"), g("(2):(1)", name="f4E2M1FN")),
        "a strided 4-bit store writes the whole byte and clobbers the neighbour",
    ),
    "h46": (
        Copy(UniversalCopy(dtype("i1")), g("(16):(1)", name="i1"), g("(16):(1)", name="i1")),
        Copy(UniversalCopy(dtype("i8")), g("(16):(1)", name="i8"), g("(16):(1)", name="i8")),
        "sixteen booleans are sixteen bytes, and the vector of them moves sixteen bits",
    ),
    "h34": (
        Copy(None, g("(8):(1)"), g("(8):(1)"), pred=memref("i8 rmem align<32> (4):(1)"), op="basic_copy_if"),
        Copy(None, g("(8):(1)"), g("(8):(1)"), pred=memref("i8 rmem align<32> (8):(1)"), op="basic_copy_if"),
        "four predicates for eight elements: the last four are read past the end",
    ),
    "h35": (
        tiled(
            universal(128), "(32,8):(8,1)", "[4:1;16:1]", _COLUMNS,
            (g("((8,1),1,4):((1,0),0,64)"), s("((8,1),1,4):((1,0),0,64)", 16)), 32,
        ),
        tiled(
            universal(128), "(32,8):(8,1)", "[4:1;64:1]", _COLUMNS,
            (g("((8,1),1,1):((1,0),0,0)"), s("((8,1),1,1):((1,0),0,0)", 16)), 32,
        ),
        "the thread-value layout names 256 elements of a tiler of 64: threads past the tile overlap others",
    ),
    "h36": (
        Copy(universal(256), s("(16):(1)", 32, "S<3,4,3>"), r("(16):(1)")),
        Copy(universal(128), s("(16):(1)", 32, "S<3,4,3>"), r("(16):(1)")),
        "a 32-byte load from S<3,4,3> is two 16-byte loads at swz(p) and swz(p)+16, not swz(p+16)",
    ),
    "h37": (
        Copy(universal(128), g("(8,16):(1,8)"), s("(8,16):(1,12)", 1024, "S<3,4,3>")),
        Copy(universal(64), g("(8,16):(1,8)"), s("(8,16):(1,12)", 1024, "S<3,4,3>")),
        "slices of pitch 12 are stored in 8-byte pieces at swz(p)+8 instead of swz(p+8)",
    ),
    "h38": (
        Copy(universal(128), g("((8,2)):((1,8))"), s("((8,2)):((1,-8))", 1024, "S<3,4,3>")),
        Copy(universal(128), g("(8,2):(1,8)"), s("(8,2):(1,-8)", 1024, "S<3,4,3>")),
        "a negative constant offset from a swizzled pointer loses its sign: the store lands 2^29 bytes away",
    ),
    "h47": (
        Copy(universal(), g("((4,4)):((16,1))", 64), g("((4,4)):((16,1))", 64)),
        Copy(universal(16), g("((4,4)):((16,1))", 64), g("((4,4)):((16,1))", 64)),
        "the compiler counts the run of V in the order of its strides and takes it in the order of its modes",
    ),
}  # fmt: skip


def _tmem(
    layout: str, registers: str, atom: str, name: str = "f32", align: int = 16, store: bool = False
) -> dict[str, str]:
    view = f'!cute.memref<{name}, tmem, align<{align}>, "{layout}">'
    fragment = f'!cute.memref<{name}, rmem, align<32>, "{registers}">'
    src, dst = (fragment, view) if store else (view, fragment)
    return {"src": src, "dst": dst, "atom": atom, "dtype": name, "arch": "sm_100a"}


def _s2t(view: str, name: str = "f8E8M0FNU", atom: str = "tcgen05.cp.32x128b.warpx4") -> dict[str, str]:
    src = '!cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "((1,1),4):((0,0),32)">'
    dst = f'!cute.memref<{name}, tmem, align<16>, "{view}">'
    return {"src": src, "dst": dst, "atom": atom, "dtype": name, "arch": "sm_100a"}


_PACKED = "tcgen05.ld.32x32b.x4.pack16b"
_LD32 = _tmem("(((32,32),1),1):(((1,65536),0),0)", "((32,1),1):((1,0),0)", "tcgen05.ld.32x32b.x32")

# Tensor memory, compiler-verified only: `TENSOR_MEMORY[name]` is `(broken, fixed, code, why)`, as lc.check
# takes them.
TENSOR_MEMORY: dict[str, tuple[dict[str, str], dict[str, str], str, str]] = {
    "h30-repeat": (
        _tmem("(((32,32),1),1):(((1,65536),0),0)", "((8,1),1):((1,0),0)", "tcgen05.ld.32x32b.x32"),
        _LD32,
        "LC252",
        "the repetition comes from the fragment: an atom of x32 loads 8 of 32 columns",
    ),
    "h30-stride": (
        _tmem("(((32,32),1),1):(((2,65536),0),0)", "((32,1),1):((1,0),0)", "tcgen05.ld.32x32b.x32"),
        _LD32,
        "LC251",
        "strides of tensor memory are not looked at: 32 adjacent columns are loaded",
    ),
    "atom-type": (
        _tmem(
            "(((8,32),1),1):(((1,131072),0),0)", "((8,1),1):((1,0),0)",
            "!cute_nvgpu.atom.tmem_load<f32, 32 DP, 32 bit, x4>", "bf16",
        ),
        _tmem(
            "(((8,32),1),1):(((1,131072),0),0)", "((8,1),1):((1,0),0)",
            "!cute_nvgpu.atom.tmem_load<bf16, 32 DP, 32 bit, x4>", "bf16",
        ),
        "LC252",
        "registers are counted in the atom's type: x8 instead of x4, past the fragment's end",
    ),
    "register-stride": (
        _tmem("(((4,32),1),1):(((1,65536),0),0)", "((4,1),1):((2,0),0)", "tcgen05.st.32x32b.x4", store=True),
        _tmem("(((4,32),1),1):(((1,65536),0),0)", "((4,1),1):((1,0),0)", "tcgen05.st.32x32b.x4", store=True),
        "LC252",
        "registers are adjacent, whatever the fragment's stride",
    ),
    "warp-lanes": (
        _tmem(
            "(((8,32),1),2):(((1,65536),0),2097152)",
            "((8,1),2):((1,0),8)",
            "tcgen05.st.32x32b.x8",
            store=True,
        ),
        _tmem("(((8,32),1),2):(((1,65536),0),8)", "((8,1),2):((1,0),8)", "tcgen05.st.32x32b.x8", store=True),
        "LC250",
        "the second instruction writes the lanes of the next warp",
    ),
    "half-column": (
        _tmem("(((8,32),1),2):(((1,131072),0),9)", "((8,1),2):((1,0),8)", "tcgen05.ld.32x32b.x4", "bf16"),
        _tmem("(((8,32),1),2):(((1,131072),0),8)", "((8,1),2):((1,0),8)", "tcgen05.ld.32x32b.x4", "bf16"),
        "LC254",
        "9 bf16 elements are 4 and a half columns: the half becomes lane 32768",
    ),
    "odd-column": (
        _tmem("(((8,16),1),2):(((1,65536),0),9)", "((4,1),2):((1,0),4)", "tcgen05.ld.16x256b.x1"),
        _tmem("(((8,16),1),2):(((1,65536),0),8)", "((4,1),2):((1,0),4)", "tcgen05.ld.16x256b.x1"),
        "LC254",
        "16x256b wants an even column; only the base is checked",
    ),
    "columns": (
        _tmem("(((64,32),1),9):(((1,65536),0),64)", "((64,1),9):((1,0),64)", "tcgen05.ld.32x32b.x64"),
        _tmem("(((64,32),1),8):(((1,65536),0),64)", "((64,1),8):((1,0),64)", "tcgen05.ld.32x32b.x64"),
        "LC253",
        "nine times 64 columns are more than 512",
    ),
    "pack": (
        _tmem("(((8,32),1),1):(((1,131072),0),0)", "((8,1),1):((1,0),0)", _PACKED, "f16"),
        _tmem("(((8,32),1),1):(((2,131072),0),0)", "((8,1),1):((1,0),0)", _PACKED, "f16"),
        "LC255",
        "packing takes the lower half of each column; these elements lie two to a column",
    ),
    "s2t-replicas": (
        _s2t("(((32,16),1),4):(((262144,1),0),16)"),
        _s2t("(((32,16,4),1),4):(((262144,1,8388608),0),16)"),
        "LC256",
        "warpx4 writes the lanes of all four warps, the view names those of one",
    ),
    "s2t-overlap": (
        _s2t("(((32,16,4),1),4):(((262144,1,8388608),0),4)"),
        _s2t("(((32,16,4),1),4):(((262144,1,8388608),0),16)"),
        "LC256",
        "each instruction writes 4 columns and the next begins one further on",
    ),
}  # fmt: skip
