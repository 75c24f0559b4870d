"""Small functions whose answers other tests only see from far away."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest

from layoutcheck.algebra.integers import Dynamic, minimum
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.atoms.autovec.compiler import _store
from layoutcheck.atoms.bulk import BulkCopy
from layoutcheck.atoms.bulk.execution import plan as bulk_plan
from layoutcheck.atoms.intent import intent
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.register.compiler import wants_strides
from layoutcheck.atoms.s2t import S2TCopy
from layoutcheck.atoms.tma.internal import _recast
from layoutcheck.atoms.tma.plan import descriptor
from layoutcheck.atoms.tmem_spcompress import TmemLoadSPCompress
from layoutcheck.atoms.tmem_spcompress.compiler import operands
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.atoms.universal.execution import plan as universal_plan
from layoutcheck.copies.alignment import _split
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.lanes import lane_offsets, matrix_iterations
from layoutcheck.copies.offsets import TooLarge
from layoutcheck.copies.plan import kept, surplus, vectors
from layoutcheck.errors import InputError
from layoutcheck.machine.canonical import Decision
from layoutcheck.machine.canonical.described import first_wrong
from layoutcheck.machine.dtypes import dtype
from layoutcheck.sources.atoms import parse_atom
from layoutcheck.sources.im2col import _numbers
from layoutcheck.sources.operands import second_destination
from layoutcheck.sources.records import MAX_EMPTY, read_lines
from layoutcheck.sources.request import build
from layoutcheck.sources.threads import Workers, told_by
from layoutcheck.sources.types import parse_memref


def test_a_run_time_minimum_is_as_wide_as_the_wider() -> None:
    assert minimum(Dynamic(4, 64), Dynamic(6, 32)) == Dynamic(2, 64)
    assert minimum(Dynamic(4, 32), 6) == Dynamic(2, 32)
    assert minimum(Dynamic(4, 64), 1) == 1


@pytest.mark.parametrize(
    ("src", "dst", "kind"),
    [
        ("bf16", "bf16", None),
        ("bf16", "f32", None),
        ("i8", "i32", None),
        ("f32", "bf16", "element_width"),
        ("i8", "f32", "element_width"),
        ("i16", "bf16", "element_type"),
    ],
)
def test_a_store_widens_within_a_kind(src: str, dst: str, kind: str | None) -> None:
    found = _store(dtype(src), dtype(dst))
    assert (found and found.kind) == kind


@pytest.mark.parametrize(("kind", "composed", "wants"), [
    ("r2s", "dst", True), ("r2s", "src", False), ("s2r", "src", True), ("s2r", "dst", False),
])  # fmt: skip
def test_the_side_in_memory_is_the_one_that_may_be_composed(kind: str, composed: str, wants: bool) -> None:
    plain = parse_memref('!cute.memref<bf16, rmem, align<16>, "(8,4):(1,8)">')
    other = parse_memref('!cute.memref<bf16, smem, align<16>, "S<3,3,3> o 0 o (8,4):(1,8)">')
    src, dst = (other, plain) if composed == "src" else (plain, other)
    assert wants_strides(Copy(RegisterCopy(kind, dtype("bf16"), 128), src, dst)) == wants


@pytest.mark.parametrize("value", [(1, 1 << 40), "(1,?)", (1, "x"), (1,), (1, 2, 3), True])
def test_a_convolutions_numbers_are_small_and_whole(value: object) -> None:
    with pytest.raises(InputError, match="is not 2 whole numbers"):
        _numbers("stride", value, 2)
    assert _numbers("stride", (1, -2), 2) == (1, -2) and _numbers("stride", 3, 2) == (3, 3)


FRAGMENT = parse_memref('!cute.memref<f32, rmem, align<32>, "((4,1),1):((1,0),0)">')


@pytest.mark.parametrize(("red", "second", "kind"), [
    (False, False, "operand_count"), (False, True, "aux_kind"),
    (True, False, "operand_count"), (True, True, "unsupported_atom"),
])  # fmt: skip
def test_a_load_that_compresses_has_two_or_three_destinations(red: bool, second: bool, kind: str) -> None:
    atom = TmemLoadSPCompress(dtype("f32"), 32, 32, 4, red=red)
    view = parse_memref('!cute.memref<f32, tmem, align<16>, "(((4,32),1),1):(((1,65536),0),0)">')
    assert operands(atom, Copy(atom, view, FRAGMENT, aux=FRAGMENT if second else None)).kind == kind
    assert parse_atom(str(atom)) == atom


@pytest.mark.parametrize(("v", "unmatched"), [("128,8", 0), ("128,16", 1024), ("256,8", 1024)])
def test_elements_beside_what_one_cp_writes_are_counted(v: str, unmatched: int) -> None:
    src = '!cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "((1,1),1):((0,0),0)">'
    dst = f'!cute.memref<f32, tmem, align<16>, "((({v}),1),1):(((65536,1),0),0)">'
    copy, _ = build(src, dst, "tcgen05.cp.128x256b", dtype="f32")
    assert intent(copy, 0, 0).unmatched == unmatched


def test_a_bulk_copy_too_large_to_follow_is_not_followed() -> None:
    tensor = '!cute.memref<f32, {}, align<16>, "(4,262145):(1,4)">'  # one chunk of 16 bytes too many
    src, dst = (parse_memref(tensor.format(space)) for space in ("gmem", "smem"))
    copy = Copy(BulkCopy("bulk.g2s", dtype("f32")), src, dst)
    with pytest.raises(TooLarge, match="4194320 bytes"):
        bulk_plan(copy, copy, copy.atom)


def test_a_nested_tensor_is_recast_whole() -> None:
    nested = parse_memref('!cute.memref<bf16, smem, align<128>, "((8,8),(16,4)):((16,128),(1,1024))">')
    assert str(_recast(nested, dtype("i8")).layout) == "((8,8),(32,4)):((32,256),(1,2048))"


def test_no_access_is_narrower_than_a_byte() -> None:
    tensor = parse_memref('!cute.memref<i4, gmem, align<16>, "((8,1),1):((1,0),0)">')
    copy = Copy(UniversalCopy(dtype("i4"), 4), tensor, tensor)
    with pytest.raises(InputError, match="no instruction moves 4 bits"):
        vectors(copy, copy, np.arange(8, dtype=np.int64), 4, 1)


def test_a_flat_fragment_has_a_second_destination_of_one_value_each() -> None:
    flat = parse_memref('!cute.memref<f32, rmem, align<32>, "(8,2):(1,8)">')
    made = second_destination(parse_atom("tcgen05.ld.red.32x32b.x8.max", dtype("f32")), flat, None, [])
    assert made is not None and str(made.layout) == "(1,2):(0,1)"


@pytest.mark.parametrize("threads", [64, 128])
def test_a_block_smaller_than_its_tiled_copy_has_the_threads_it_has(threads: int) -> None:
    found = told_by(np.arange(64), np.ones(64, dtype=np.bool_), threads)
    assert isinstance(found, Workers) and found.block == 64 and not found.doubt


def test_half_a_block_leaves_a_doubt() -> None:
    found = told_by(np.arange(64), np.arange(64) >= 32, 64)
    assert isinstance(found, Workers) and found.block is None and found.doubt


@pytest.mark.parametrize(("gmem", "smem", "tiler", "bytewise", "dims", "step"), [
    ('bf16, gmem, align<16>, "((4,8),64):((1,4),32)"', "(32,64):(1,32)", (32, 64), False, (32, 64), 64),
    ('bf16, gmem, align<16>, "(64,(4,4)):(1,(0,0))"', "(64,16):(1,64)", (64, 16), False, (64, 4), 0),
    ('f6E2M3FN, gmem, align<32>, "(64,(2,4)):(1,(67,134))"', "(64,8):(1,64)", (64, 8), True, (64, 355), 1),
    ('f4E2M1FN, gmem, align<32>, "(64,(2,4)):(1,(67,134))"', "(64,8):(1,64)", (64, 8), True, (64, 236), 1),
])  # fmt: skip
def test_modes_of_one_dimension_reach_as_far_as_all_of_them(
    gmem: str, smem: str, tiler: tuple[int, ...], bytewise: bool, dims: tuple[int, ...], step: int
) -> None:
    there = parse_memref(f"!cute.memref<{gmem}>")
    here = parse_memref(f'!cute.memref<{there.dtype}, smem, align<128>, "{smem}">')
    found = descriptor(there, here, tiler, bytewise=bytewise)
    assert (found.dims, found.strides_bytes) == (dims, (step,))


def test_a_cp_of_128_rows_writes_16_bytes_to_each_lane() -> None:
    traits = S2TCopy(dtype("f32"), 128, 128).traits()
    assert str(traits.src) == str(traits.dst) == "(1,16384):(0,1)"


def test_a_k_step_begins_at_whole_16_bytes() -> None:
    at = Layout(((8, 8), (8, 2, 4)), ((8, 128), (1, 64, 1025)))
    found = first_wrong(at, 16, "K", Swizzle(0, 4, 3), Decision(leading_bytes=128, stride_bytes=256))
    assert found is not None and found[1] == {"k": 16, "offset_bits": 1025 * 16}


def test_lines_without_words_come_to_an_end() -> None:
    assert not list(read_lines(BytesIO(b"\n" * MAX_EMPTY)))
    with pytest.raises(InputError, match=f"{MAX_EMPTY} empty lines"):
        list(read_lines(BytesIO(b"\n" * (MAX_EMPTY + 1))))


def test_the_index_of_a_run_time_element_leaves_no_rest_in_what_divides_it() -> None:
    assert _split(Dynamic(8), (4, 5)) == (0, Dynamic(2))
    assert _split(Dynamic(2), (4, 5)) == (Dynamic(2), Dynamic(1))


def into_registers(src: str, dst: str) -> Copy:
    return build(
        src=src, dst=dst, atom="universal", bits=128, dtype="f16", src_space="gmem", dst_space="rmem"
    )[0]


@pytest.mark.parametrize(("layout", "spare", "starts", "pieces"), [
    ("(12):(1)", 4, [0, 8], [True, True, True, False]),  # nobody reads the last half
    ("((8,2)):((1,4))", 0, [0, 4], [True, False, True, True]),  # the second vector writes it again
])  # fmt: skip
def test_what_nobody_reads_of_a_vector_is_not_loaded(
    layout: str, spare: int, starts: list[int], pieces: list[bool]
) -> None:
    copy = into_registers(layout, layout)
    assert isinstance(copy.atom, UniversalCopy) and surplus(copy) == spare
    plan = universal_plan(copy, copy, copy.atom)
    left = kept(plan, copy.dst, spare)
    assert (left.dst_at.tolist(), left.pieces.tolist()) == (starts, pieces)
    guarded = kept(plan._replace(pred=np.zeros(2, np.int64)), copy.dst, spare)  # the later one may not happen
    assert guarded.pieces.tolist() == [True, True, True, spare == 0]


def test_elements_of_less_than_a_byte_have_no_surplus() -> None:
    copy = build(
        src="(12):(1)", dst="(12):(1)", atom="universal", bits=64, dtype="f4E2M1FN", src_space="gmem",
        dst_space="rmem",
    )[0]  # fmt: skip
    assert surplus(copy) == 0


def test_a_warps_atom_has_whole_warps_and_as_many_iterations_as_both_sides() -> None:
    copy = build(
        src='!cute.memref<f16, smem, align<128>, "((8,1),2):((1,0),64)">',
        dst='!cute.memref<f16, rmem, align<32>, "((8,1),3):((1,0),8)">',
        atom="ldmatrix.x4",
    )[0]
    assert [at.tolist() for at in matrix_iterations(copy)] == [[0, 64], [0, 8]]
    assert lane_offsets(copy, "dst", 64).shape == (2, 32)
    with pytest.raises(InputError, match="48 threads are not whole warps"):
        lane_offsets(copy, "dst", 48)
