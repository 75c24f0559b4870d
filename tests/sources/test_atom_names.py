"""The DSL's class names and our short names make the atoms they should, and code names the DSL's types."""

from __future__ import annotations

import subprocess
import sys

import pytest

import layoutcheck as lc
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.family import family, folder_names
from layoutcheck.atoms.s2t import S2TCopy
from layoutcheck.atoms.s2t.compiler import check_type
from layoutcheck.errors import InputError
from layoutcheck.fixes.code import dtype_code
from layoutcheck.machine.dtypes import dtype
from layoutcheck.sources.atoms import known, parse_atom

# The operations of cutlass.cute.nvgpu, and what the same atom is called in short.
CLASSES = {
    "CopyUniversalOp": "universal",
    "CopyG2ROp": "g2r",
    "CopyR2GOp": "r2g",
    "CopyS2ROp": "s2r",
    "CopyR2SOp": "r2s",
    "CopyG2SOp": "cp.async",
    "CopyBulkG2SOp": "bulk.g2s",
    "CopyBulkG2SMulticastOp": "bulk.g2s.multicast",
    "CopyBulkS2GOp": "bulk.s2g",
    "CopyBulkS2GByteMaskOp": "bulk.s2g.mask",
    "CopyBulkS2SOp": "bulk.s2s",
    "CopyDsmemStoreOp": "st.async",
    "CopyBulkTensorTileG2SOp": "tma_load",
    "CopyBulkTensorTileG2SMulticastOp": "tma_load.multicast",
    "CopyBulkTensorTileS2GOp": "tma_store",
    "CopyReduceBulkTensorTileS2GOp": "tma_reduce",
    "CopyBulkTensorIm2ColG2SOp": "im2col_tma_load",
    "CopyBulkTensorIm2ColG2SMulticastOp": "im2col_tma_load.multicast",
    "CopyBulkTensorIm2ColS2GOp": "im2col_tma_store",
    "CopyBulkTensor2DGather4G2SOp": "tma_gather4",
    "CopyBulkTensor2DGather4G2SMulticastOp": "tma_gather4.multicast",
    "CopyBulkTensor2DScatter4S2GOp": "tma_scatter4",
}


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_is_its_short_name(name: str) -> None:
    bf16 = dtype("bf16")
    made = parse_atom(name, bf16)
    assert made == parse_atom(CLASSES[name], bf16) == parse_atom(name.lower(), bf16)
    assert str(made) != str(parse_atom("universal" if name != "CopyUniversalOp" else "cp.async", bf16))


def test_every_class_that_is_read_is_listed() -> None:
    assert {name.lower(): short for name, short in CLASSES.items()} | known().classes == known().classes


def test_a_folder_called_as_a_name_begins_has_all_such_names() -> None:
    """Only that folder is looked into, so no other family's name may begin so and be longer."""
    names = [(name, reading) for reading in known().readings for name in reading.names]
    assert len({name for name, _ in names}) == len(names)
    for folder in folder_names():
        mine = family(folder).reading
        own = [name for name, reading in names if reading is mine]
        for name, reading in names:
            if f"{name}.".startswith(f"{folder.replace('_', '.')}."):
                assert not any(name.startswith(f"{short}.") for short in own) or reading is mine


def test_a_short_name_loads_its_own_family_alone() -> None:
    program = (
        "import sys; from layoutcheck.sources.atoms import parse_atom as p; from layoutcheck.machine.dtypes"
        " import dtype; p('cp.async.cg', dtype('bf16')); p('universal', dtype('bf16'));"
        "print(*sorted(name.split('.')[2] for name in sys.modules if name.startswith('layoutcheck.atoms.')"
        " and name.endswith('.reading') and name.count('.') == 3))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["cp_async", "universal"]


@pytest.mark.parametrize(
    ("short", "printed"),
    [
        ("tcgen05.ld.32x32b.x8", "tmem_load<bf16, 32 DP, 32 bit, x8>"),
        ("tcgen05.ld.16x64b.x4.pack16b", "tmem_load<bf16, 16 DP, 64 bit, x4, pack16b>"),
        ("tcgen05.ld.16x128b", "tmem_load<bf16, 16 DP, 128 bit, x1>"),
        ("tcgen05.ld.16x256b.x2", "tmem_load<bf16, 16 DP, 256 bit, x2>"),
        ("tcgen05.ld.16x32bx2.x16", "tmem_load<bf16, 16 DP, 32 bit, x16>"),
        ("tcgen05.st.32x32b.x8", "tmem_store<bf16, 32 DP, 32 bit, x8>"),
        ("tcgen05.st.32x32b.x8.unpack16b", "tmem_store<bf16, 32 DP, 32 bit, x8, expand16b>"),
        ("tcgen05.st.32x32b.x8.expand16b", "tmem_store<bf16, 32 DP, 32 bit, x8, expand16b>"),
        ("cp.async.cg", "simt_async_copy<bf16, cache = global, 128 b>"),
        ("universal.64", "universal_copy<bf16, 64 b>"),
    ],
)
def test_a_short_name_is_the_printed_atom(short: str, printed: str) -> None:
    atom = parse_atom(short, dtype("bf16"))
    assert str(atom) == f"!cute_nvgpu.atom.{printed}"
    assert parse_atom(str(atom)) == atom


@pytest.mark.parametrize(
    "short",
    [
        "tcgen05.ld.32x32b.x8.x4",  # two repetitions
        "tcgen05.ld.x8",  # no shape
        "tcgen05.ld.16x32b.x8",  # 16x32b is x2 in one instruction
        "tcgen05.ld.32x32bx2.x8",
        "tcgen05.ld.32x32b.x8.zip",
        "cp.async.never",
    ],
)
def test_an_option_that_is_none_is_refused(short: str) -> None:
    with pytest.raises(InputError, match="unknown option"):
        parse_atom(short, dtype("bf16"))


@pytest.mark.parametrize(
    ("names", "code"),
    [
        ("bf16 f16 f32 f64 tf32", "BFloat16 Float16 Float32 Float64 TFloat32"),
        ("f8E4M3FN f8E5M2 f8E8M0FNU", "Float8E4M3FN Float8E5M2 Float8E8M0FNU"),
        ("f8E4M3B11FNUZ f8E4M3", "Float8E4M3B11FNUZ Float8E4M3"),
        ("f6E2M3FN f6E3M2FN f4E2M1FN", "Float6E2M3FN Float6E3M2FN Float4E2M1FN"),
        ("i1 i4 i8 i16 i32 i64 i128", "Boolean Int4 Int8 Int16 Int32 Int64 Int128"),
        ("ui8 ui16 ui32 ui64", "Uint8 Uint16 Uint32 Uint64"),
    ],
)
def test_a_type_in_code_is_the_dsls_class(names: str, code: str) -> None:
    assert [dtype_code(dtype(name)) for name in names.split()] == [f"cutlass.{one}" for one in code.split()]
    for name, one in zip(names.split(), code.split(), strict=True):
        if not name.startswith(("ui", "i1")):  # a Boolean takes a byte, an unsigned tensor prints as i8
            assert dtype(f"cutlass.{one}") == dtype(name)


@pytest.mark.parametrize(
    ("short", "phrase"),
    [
        ("cp.async", "cp.async 128 bits (8 x bf16)"),
        ("cp.async.cg", "cp.async 128 bits (8 x bf16), cache = global"),
        ("cp.async.64", "cp.async 64 bits (4 x bf16)"),
    ],
)
def test_an_atom_in_a_sentence(short: str, phrase: str) -> None:
    atom = parse_atom(short, dtype("bf16"))
    assert isinstance(atom, CpAsync) and atom.phrase == phrase


@pytest.mark.parametrize(("broadcast", "word"), [("", "none"), ("x4", "x4")])
def test_a_shape_that_tcgen05_cp_does_not_have_is_refused(broadcast: str, word: str) -> None:
    refused = check_type(S2TCopy(dtype("f32"), 64, 128, 1, broadcast))
    assert refused is not None and refused.evidence["broadcast"] == word
    assert f"broadcast {word} is unsupported" in refused.message


@pytest.mark.parametrize(
    ("elsewhere", "ours"),
    [
        ("SM80_CP_ASYNC_CACHEGLOBAL<cute::uint128_t>", "cp.async.cg.128"),
        ("SM80_CP_ASYNC_CACHEALWAYS_ZFILL<uint64_t>", "cp.async.64"),
        ("SM75_U32x4_LDSM_N", "ldmatrix.x4"),
        ("SM75_U16x8_LDSM_T", "ldmatrix.x4.trans"),
        ("SM90_U16x2_STSM_T", "stmatrix.x1.trans"),
        ("UniversalCopy<float>", "universal.32"),
        ("SM90_TMA_LOAD_MULTICAST", "tma_load.multicast"),
        ("SM90_BULK_COPY_S2G", "bulk.s2g"),
        ("LdMatrix8x8x16bOp", "ldmatrix.x1"),
        ("cute.nvgpu.warp.StMatrix8x8x16bOp(transpose=True, num_matrices=4)", "stmatrix.x4.trans"),
        ("ld.global.L1::no_allocate.v2.u64", "g2r.128"),
        ("st.shared.b32", "r2s.32"),
        ("cp.async.cg.shared.global", "cp.async.cg"),
        ("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", "ldmatrix.x2.trans"),
    ],
)
def test_an_atom_goes_by_the_names_of_cpp_the_dsl_and_ptx(elsewhere: str, ours: str) -> None:
    bf16 = dtype("bf16")
    assert parse_atom(elsewhere, bf16) == parse_atom(ours, bf16)


@pytest.mark.parametrize(
    "name", ["AutoVectorizingCopy", "AutoVectorizingCopyWithAssumedAlignment<128>", "DefaultCopy"]
)
def test_a_vectorizing_copy_of_cpp_is_the_dsls_function(name: str) -> None:
    assert lc.check("(8):(1)", "(8):(1)", name, dtype="bf16").copy.op == "autovec_copy"
