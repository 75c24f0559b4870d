"""Everything the DSL prints is read, and what is read prints the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_any_layout, parse_layout, parse_tiler
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.atoms.other import OtherAtom
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.atom import Atom
from layoutcheck.copies.memref import SPACES, Memref
from layoutcheck.copies.opaque import CoordTensor, OtherOperand
from layoutcheck.copies.tiled import TiledCopy
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import parse_arch
from layoutcheck.machine.dtypes import dtype
from layoutcheck.sources.atoms import parse_atom
from layoutcheck.sources.pointers import Defaults
from layoutcheck.sources.types import parse_memref, parse_tiled_copy

BF16 = dtype("bf16")
BARE = Defaults(BF16, "smem", 128, Swizzle(3, 4, 3))
PRINTED = (Path(__file__).parents[1] / "data" / "types.txt").read_text().splitlines()


def parse(text: str) -> object:
    if text.startswith("!cute_nvgpu.atom."):
        return parse_atom(text)
    return parse_tiled_copy(text) if text.startswith("!cute.tiled_copy") else parse_memref(text)


@pytest.mark.parametrize("text", PRINTED)
def test_what_real_kernels_print_round_trips(text: str) -> None:
    assert str(parse(text)) == text


def test_real_kernels_hold_every_kind_of_operand() -> None:
    kinds = {type(parse(text)) for text in PRINTED}
    assert kinds >= {Memref, CoordTensor, TiledCopy, UniversalCopy, CpAsync, RegisterCopy, TmaCopy}


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("(128,64):(1,128)", '!cute.memref<bf16, smem, align<128>, S<3,4,3>, "(128,64):(1,128)">'),
        ("( 128 , 64 )", '!cute.memref<bf16, smem, align<128>, S<3,4,3>, "(128,64):(1,128)">'),
        (
            "tensor<ptr<bf16, gmem, align<16>> o (128,64):(1,128)>",
            '!cute.memref<bf16, gmem, align<16>, "(128,64):(1,128)">',
        ),
        (
            "tensor<ptr<bf16, smem, align<128>, S<3,4,3>> o (64,64):(64,1)>",
            '!cute.memref<bf16, smem, align<128>, S<3,4,3>, "(64,64):(64,1)">',
        ),
        ("tensor<ptr<bf16, smem, S<3,4,3>> o (64):(64)>", '!cute.memref<bf16, smem, S<3,4,3>, "(64):(64)">'),
        (
            "raw_ptr(0x00007f1c2be00000: f32, gmem, align<4>) o (8,4):(4,1)",
            '!cute.memref<f32, gmem, align<4>, "(8,4):(4,1)">',
        ),
        (
            "tensor(raw_ptr(0x00007f1c2be00000: f32, gmem, align<4>) o (2,2):(2,1), data=\n [[1.0, 2.0]])",
            '!cute.memref<f32, gmem, align<4>, "(2,2):(2,1)">',
        ),
        (
            "Tensor<0x00007ff1a6000000@gmem o (8,5):(5,1)>",
            '!cute.memref<bf16, gmem, align<128>, S<3,4,3>, "(8,5):(5,1)">',
        ),
        (
            "FakeTensor<Float16, (?, 64), (64, 1)>",
            '!cute.memref<f16, smem, align<128>, S<3,4,3>, "(?,64):(64,1)">',
        ),
        ("(_64,_64):(_64,_1)", '!cute.memref<bf16, smem, align<128>, S<3,4,3>, "(64,64):(64,1)">'),
        *(
            (f"{text} o (_8,_64):(_64,_1)", '!cute.memref<bf16, smem, align<128>, S<2,4,3>, "(8,64):(64,1)">')
            for text in (
                "Sw<2,4,3>_smem_ptr[16b](0x7f1c2be00000)",
                "Sw<2,4,3> o smem_ptr[16b](unset)",
                "Swizzle<2,3,3> o _0",  # counts elements
            )
        ),
        ("gmem_ptr[16b](0x7f1c2be00000) o (8,4):(4,_1)", '!cute.memref<bf16, gmem, "(8,4):(4,1)">'),
        ("f32 gmem align 16 (8,4):(4,1)", '!cute.memref<f32, gmem, align<16>, "(8,4):(4,1)">'),
        (
            "tensor<ptr<f16, smem, align<1024>> o S<3,3,3> o 0 o (8,64):(64,1)>",
            '!cute.memref<f16, smem, align<1024>, "S<3,3,3> o 0 o (8,64):(64,1)">',
        ),
        ('!cute.memref<bf16, "(8):(1)">', '!cute.memref<bf16, generic, "(8):(1)">'),
        ('!cute.memref<bf16, smem, "S<2,4,3>", "(8):(1)">', '!cute.memref<bf16, smem, S<2,4,3>, "(8):(1)">'),
        (
            "!cute.memref<bf16, smem, (8,?{i64 div=4}):(1,?)>",
            '!cute.memref<bf16, smem, "(8,?{i64 div=4}):(1,?)">',
        ),
        (
            '!cute.memref<bf16,\n      smem,\n  align<16>, "(8,\n 4):(1,8)">',
            '!cute.memref<bf16, smem, align<16>, "(8,4):(1,8)">',
        ),
    ],
)
def test_forms_of_a_tensor(text: str, printed: str) -> None:
    if text.startswith("Tensor<"):  # an address says where the tensor is, not that its pointer is swizzled
        assert parse_memref(text, BARE).space == "gmem"
    assert str(parse_memref(text, BARE)) == printed


@pytest.mark.parametrize(
    "text",
    [
        '!cute.coord_tensor<"(0,0)", "(8,8):(1@0,1@1)">',
        "tensor<(0,0) o (64,64):(1@0,1@1)>",
        '!cute.memref<bf16, smem, "S<3,4,3> o 0 o (8,8):(8,1)">',
        '!cute.memref<!cute.ptr<bf16, gmem>, smem, "(8):(1)">',
    ],
)
def test_operands_that_are_no_plain_tensor_keep_their_text(text: str) -> None:
    operand = parse_memref(text)
    assert isinstance(operand, OtherOperand)
    assert str(operand) == text


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("(8,8", "unbalanced parentheses", ""),
        ("(8,8)):(1,8)", "unexpected text", ")"),
        ("(8,4):(1,(4,2))", "shape and stride do not match", "(1,(4,2))"),
        ("(0,4):(1,4)", "at least 1, not 0", "(0,4):(1,4)"),
        ("(8,-1)", "at least 1, not -1", "(8,-1)"),
        ("(8):(1@0)", "maps to coordinates", "(8):(1@0)"),
        ("(8,4):(1@0,0)", "maps to coordinates", "(8,4):(1@0,0)"),
        ("S<3,4,3> o 8 o (8,8):(8,1)", "not a swizzled tile", "S<3,4,3> o 8 o (8,8):(8,1)"),
        ("hello", "not a tensor", "h"),
        ("", "nothing to read", ""),
        ("(" * 5000, "nested more than 32 deep", "("),
        ('!cute.memref<bf17, smem, "(8):(1)">', "unknown element type 'bf17'", "bf17"),
        ('!cute.memref<bf16, shmem, "(8):(1)">', "unknown fact about a pointer", "s"),
        ('!cute.memref<bf16, smem, align<0>, "(8):(1)">', "an alignment of 0", "align<0>"),
        ("!cute.memref<bf16, smem", "'<' is never closed", "<"),
        ('!cute.memref<bf16, smem, "(8):(1)', "a quote that never ends", '"'),
        ('!cute.layout<"(8):(1)">', "a layout type says neither", "!"),
        ("ptr<bf16, gmem>", "a pointer without a layout", "p"),
        ("!cute.ptr<bf16, gmem>", "a pointer without a layout", "!"),
        ("\x00\xff\x1b[31m", "not a tensor", "\x00"),
        ("(9" + "9" * 30 + ")", "more than 64 bits", "9" * 31),
    ],
)
def test_bad_tensors_show_the_place(text: str, message: str, caret: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_memref(text, BARE)
    error = caught.value
    assert message in error.message
    if error.text is not None:
        assert error.text[error.start : error.end] == caret


def test_a_bare_layout_needs_an_element_type() -> None:
    with pytest.raises(InputError, match="the element type of src is not given"):
        parse_memref("(8):(1)", Defaults(name="src"))


def test_a_huge_operand_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="characters are too many for one operand"):
        parse_memref("(8):(1)" * 1_000_000, BARE)


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("cp.async", "!cute_nvgpu.atom.simt_async_copy<bf16, cache = always, 64 b>"),
        ("cp.async.cg", "!cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 64 b>"),
        ("CP.ASYNC.CA.128", "!cute_nvgpu.atom.simt_async_copy<bf16, cache = always, 128 b>"),
        ("universal", "!cute_nvgpu.atom.universal_copy<bf16, 64 b>"),
        ("auto", "!cute_nvgpu.atom.universal_copy<bf16>"),
        ("universal.32", "!cute_nvgpu.atom.universal_copy<bf16, 32 b>"),
        ("r2s", "!cute_nvgpu.atom.r2s<bf16 copy_bits = 64>"),
        ("CopyG2SOp", "!cute_nvgpu.atom.simt_async_copy<bf16, cache = always, 64 b>"),
        (
            "ldmatrix.x4.trans",
            '!cute_nvgpu.atom.ldsm<val_type = bf16, mode = <"(8,8)">, sz_pattern = u16, num_matrices = 4, t>',
        ),
        ("stmatrix.x2", '!cute_nvgpu.atom.stsm<bf16, mode = <"(8,8)">, num_matrices = 2, n>'),
    ],
)
def test_short_names_of_atoms(name: str, printed: str) -> None:
    assert str(parse_atom(name, BF16, 64)) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cp.asink", "unknown atom 'cp.asink'"),
        ("ldmatrix.x3", "unknown option"),
        ("!cute_nvgpu.atom.universal_copy<bf16; 128 b>", "unexpected text in the atom"),
        ("!cute_nvgpu.atom.universal_copy<bf99, 128 b>", "unknown element type"),
        ("!cute_nvgpu.atom.simt_async_copy<bf16, cache = warm, 128 b>", "unknown cache mode 'warm'"),
        ("!cute_nvgpu.atom.universal_copy<bf16, 128 b", "never closed"),
        ("!cute_nvgpu.mma<bf16>", "unexpected text"),
    ],
)
def test_bad_atoms(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_atom(text, BF16)


def test_an_unknown_family_or_attribute_keeps_its_text() -> None:
    for text in (
        "!cute_nvgpu.atom.frobnicate<bf16, <deep, (1)>>",
        "!cute_nvgpu.atom.universal_copy<bf16, 128 b, colour = red>",
    ):
        atom = parse_atom(text)
        assert isinstance(atom, OtherAtom)
        assert str(atom) == text


# Any value prints to a text that reads back as the same value.

leaves = st.one_of(
    st.integers(1, 4096), st.builds(Dynamic, st.sampled_from([1, 2, 8]), st.sampled_from([32, 64]))
)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    shape = draw(st.recursive(leaves, lambda t: st.lists(t, min_size=1, max_size=3).map(tuple), max_leaves=6))

    def strides(t: object) -> object:
        if isinstance(t, tuple):
            return tuple(strides(a) for a in t)
        return draw(st.one_of(st.integers(-512, 512), leaves))

    return Layout(shape, strides(shape))


dtypes = st.sampled_from(
    [dtype(name) for name in ("bf16", "f32", "f8E4M3FN", "f4E2M1FN", "i8", "i1", "tf32", "ui8")]
)
swizzles = st.builds(
    Swizzle, st.integers(0, 3), st.integers(0, 6), st.one_of(st.integers(3, 5), st.integers(-5, -3))
)
widths = st.sampled_from([8, 16, 32, 64, 128, 256])
atoms: st.SearchStrategy[Atom] = st.one_of(
    st.builds(UniversalCopy, dtypes, st.one_of(st.just(0), widths)),
    st.builds(
        CpAsync, dtypes, widths, st.sampled_from(["always", "global", "streaming", "last_use", "none"])
    ),
    st.builds(
        RegisterCopy,
        st.sampled_from(["g2r", "r2g", "s2r", "r2s"]),
        dtypes,
        widths,
        st.sampled_from([(), (("mem_order", "relaxed"), ("mem_scope", "gpu"))]),
    ),
    st.builds(LdMatrix, dtypes, st.sampled_from([1, 2, 4]), st.booleans(), st.just((16, 8)), st.just("u8")),
    st.builds(StMatrix, dtypes, st.sampled_from([1, 2, 4]), st.booleans()),
)


@settings(deadline=None)
@given(
    st.builds(
        Memref,
        dtypes,
        st.sampled_from(SPACES),
        layouts(),
        st.one_of(st.none(), st.integers(1, 4096)),
        st.one_of(st.none(), swizzles),
    )
)
def test_memrefs_round_trip(memref: Memref) -> None:
    assert parse_memref(str(memref)) == memref


@settings(deadline=None)
@given(atoms)
def test_atoms_round_trip(atom: Atom) -> None:
    assert parse_atom(str(atom)) == atom


@settings(deadline=None)
@given(atoms, layouts(), st.lists(layouts(), min_size=1, max_size=3))
def test_tiled_copies_round_trip(atom: Atom, layout: Layout, tiler: list[Layout]) -> None:
    tiled = TiledCopy(atom, layout, tuple(tiler))
    assert parse_tiled_copy(str(tiled)) == tiled


@pytest.mark.parametrize(
    ("text", "mode", "kind"),
    [
        ("non_exec_2d_gather4_tma_load<sm_100, bf16, copy_bits = 4096,", "gather4", "load"),
        ("non_exec_2d_scatter4_tma_store<bf16, copy_bits = 4096,", "scatter4", "store"),
        ("tma_load<bf16, copy_bits = 4096, mode = gather4, num_cta = 1,", "gather4", "load"),
        ("non_exec_im2col_tma_load<sm_90, bf16, copy_bits = 4096,", "im2col", "load"),
    ],
)
def test_modes_of_tma(text: str, mode: str, kind: str) -> None:
    """As the DSL prints them."""
    atom = parse_atom(f'!cute_nvgpu.atom.{text} tma_gbasis = <"(64,1):(1@1,1@0)">>')
    assert isinstance(atom, TmaCopy)
    assert (atom.mode, atom.kind, atom.copy_bits) == (mode, kind, 4096)


PARSED: list[tuple[Callable[[str], object], str]] = [
    (parse_layout, "(8,4):(1,8)"),
    (parse_layout, "(8,?{div=4}):(1,?{i64 div=8})"),
    (parse_layout, "(8,4):(1@0,1@1)"),
    (parse_any_layout, "S<3,4,3> o 0 o (8,64):(64,1)"),
    (parse_tiler, "[16:1;64:1]"),
    (parse_memref, '!cute.memref<bf16, smem, align<128>, S<3,4,3>, "(8,64):(64,1)">'),
    (parse_atom, "!cute_nvgpu.atom.simt_async_copy<bf16, cache = always, 128 b>"),
    (
        parse_atom,
        '!cute_nvgpu.atom.ldsm<val_type = bf16, mode = <"(8,8)">, sz_pattern = u16, num_matrices = 4, n>',
    ),
    (lambda text: parse_atom(text, dtype("bf16")), "ldmatrix.x4"),
    (lambda text: parse_atom(text, dtype("bf16")), "cp.async.128"),
    (dtype, "f8E4M3FN"),
    (parse_arch, "sm_90a"),
]


@pytest.mark.parametrize(("read", "text"), PARSED, ids=[text for _, text in PARSED])
@pytest.mark.parametrize("zero", ["\uff10", "\u0660", "\u0966", "\U0001d7ce"])  # ０, ٠, ०, 𝟎
def test_digits_of_other_scripts_are_no_digits(read: Callable[[str], object], text: str, zero: str) -> None:
    """MLIR refuses them; Python's int() would read them."""
    wanted = read(text)
    for i, letter in enumerate(text):
        if letter.isdigit():
            other = text[:i] + chr(ord(zero) + int(letter)) + text[i + 1 :]
            try:
                found = read(other)
            except InputError:
                continue
            assert found != wanted, other
