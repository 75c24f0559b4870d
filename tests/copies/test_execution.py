from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import layoutcheck
from layoutcheck.analysis.instantiation import bases, instantiations
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.dsmem import DsmemStore
from layoutcheck.atoms.execution import execution
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.atoms.other import OtherAtom
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.moves import NOTHING
from layoutcheck.copies.offsets import CompilerFails, TooLarge
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from tests.conformance.emitted import random_copy
from tests.miscompiles import BF16, CP16, LDSM4, MISCOMPILES, g, memref, r, s, universal

SRC, DST = 1 << 20, 1 << 24


def run(copy: Copy, instance: Copy | None = None):
    return execution(copy, SRC, DST, instance)


def shape(copy: Copy) -> list[tuple[str, int, int]]:
    """(instruction, bytes, how many a thread) of each side."""
    done = run(copy)
    return [(a.op, a.width_bytes, a.addresses.shape[0]) for a in (*done.src_accesses, *done.dst_accesses)]


@pytest.mark.parametrize(
    ("copy", "expected"),
    [
        (Copy(universal(128), g("(8):(1)"), s("(8):(1)")), [("ld.global", 16, 1), ("st.shared", 16, 1)]),
        # the widest alignment that both slices are proved to have, on both sides
        (
            Copy(universal(128), g("(8,2):(1,9)"), s("(8,2):(1,8)")),
            [("ld.global", 2, 16), ("st.shared", 2, 16)],
        ),
        (
            Copy(universal(128), g("(8,2):(1,12)"), s("(8,2):(1,8)")),
            [("ld.global", 8, 4), ("st.shared", 8, 4)],
        ),
        # a run of 12 is not a multiple of 8: pieces of 4, and 16 elements moved
        (Copy(universal(128), g("(12):(1)"), s("(12):(1)")), [("ld.global", 8, 4), ("st.shared", 8, 4)]),
        # the swizzle's granule narrows
        (
            Copy(universal(128), g("(8):(1)"), s("(8):(1)", 128, "S<3,2,3>")),
            [("ld.global", 4, 4), ("st.shared", 4, 4)],
        ),
        # auto: as wide as run and alignment allow, up to 16 bytes an access
        (Copy(universal(), g("(32):(1)", 64), s("(32):(1)")), [("ld.global", 16, 4), ("st.shared", 16, 4)]),
        (Copy(universal(), g("(6):(1)"), s("(6):(1)")), [("ld.global", 4, 3), ("st.shared", 4, 3)]),
        (Copy(universal(), g("(8):(2)"), s("(8):(1)")), [("ld.global", 2, 8), ("st.shared", 2, 8)]),
        # an index into the last mode counts even where the mode has one element, elsewhere it does not
        (
            Copy(universal(128), g("(8,1):(1,9)"), s("(8,1):(1,8)")),
            [("ld.global", 2, 8), ("st.shared", 2, 8)],
        ),
        (
            Copy(universal(128), g("(8,1,1):(1,9,8)"), s("(8,1,1):(1,8,8)")),
            [("ld.global", 16, 1), ("st.shared", 16, 1)],
        ),
        # 256 bits are two accesses on sm_90
        (
            Copy(universal(256), g("(16):(1)", 32), s("(16):(1)")),
            [("ld.global", 16, 2), ("st.shared", 16, 2)],
        ),
        # g2r and its kin never narrow
        (Copy(RegisterCopy("g2r", BF16, 128), g("(8,4):(1,9)"), r("(8,4):(1,8)")), [("ld.global", 16, 4)]),
        (Copy(RegisterCopy("r2s", BF16, 64), r("(8):(1)"), s("(8):(1)")), [("st.shared", 8, 2)]),
        # cp.async: one for each V[1] and rest coordinate, whatever V's size
        (Copy(CP16, g("(16,3):(1,16)"), s("(16,3):(1,16)")), [("cp.async", 16, 3), ("cp.async", 16, 3)]),
        (
            Copy(CP16, g("((4,2),3):((1,4),8)"), s("((4,2),3):((1,4),8)")),
            [("cp.async", 16, 6), ("cp.async", 16, 6)],
        ),
        (Copy(LDSM4, s("((8,2),3):((1,64),8)"), r("((8,2),3):((1,8),16)")), [("ldmatrix.x4", 16, 6)]),
        # stmatrix counts the registers it is given
        (
            Copy(StMatrix(BF16, 1), r("((8,1),1):((1,0),0)"), s("((8,1),1):((1,0),0)")),
            [("stmatrix.x4", 16, 1)],
        ),
        (
            Copy(None, g("(32):(1)"), s("(32):(1)"), op="autovec_copy"),
            [("ld.global", 16, 4), ("st.shared", 16, 4)],
        ),
        (Copy(None, g("(8):(1)"), s("(8):(1)"), op="basic_copy"), [("ld.global", 2, 8), ("st.shared", 2, 8)]),
    ],
)
def test_instructions(copy, expected):
    assert shape(copy) == expected


def test_unproved_strides_narrow_whatever_their_values_are():
    """A pitch that happens to be 16 at run time is still copied element by element."""
    copy = Copy(universal(128), g("(8,2):(1,?)"), s("(8,2):(1,8)"))
    instance = replace(copy, src=g("(8,2):(1,16)"))
    assert run(copy, instance).src.shape == (16, 1, 2)
    assert run(instance).src.shape == (2, 1, 16)


def test_a_dynamic_stride_of_v_is_taken_for_one():
    copy, _, _ = MISCOMPILES["h10"]
    instance = replace(copy, src=g("(8):(6)"))
    assert (run(copy, instance).src[:, 0].reshape(-1) - SRC).tolist() == list(range(16))


def test_pieces_follow_the_swizzled_address_of_the_vector():
    copy = MISCOMPILES["h37"][0]
    done = run(copy)
    second_row = done.dst[2:4, 0, 0] - DST  # two pieces of 8 bytes from +24
    assert second_row.tolist() == [24, 32]


def test_negative_constant_offsets_under_a_swizzle_lose_their_sign():
    broken, fixed, _ = MISCOMPILES["h38"]
    assert run(broken).dst[1, 0, 0] == run(fixed).dst[1, 0, 0] + (1 << 29)
    multiple = replace(broken, dst=s("((8,2)):((1,-1024))", 1024, "S<3,4,3>"))
    assert run(multiple).dst[1, 0, 0] == DST - 2048


def test_so_do_those_to_the_shared_memory_of_another_block():
    apart = memref("f32 dsmem align<32> S<3,3,3> (2):(-1)")
    done = run(Copy(DsmemStore(dtype("f32"), 32), r("(2):(1)", name="f32"), apart))
    assert (done.dst[:, 0, 0] - DST).tolist() == [0, (1 << 29) - 60]  # -4 ^ 56


def test_so_do_those_of_generic_pointers():
    copy = MISCOMPILES["h38"][0]
    generic = replace(copy, dst=replace(copy.dst, space="generic"))
    assert run(generic).dst[1, 0, 0] == run(copy).dst[1, 0, 0]


def test_threads_of_a_tiling():
    copy = MISCOMPILES["h26"][1]
    done = run(copy)
    assert done.dst.shape == (2, 64, 16)
    assert (done.src_accesses[0].addresses[0] - SRC).tolist() == [16 * t for t in range(64)]
    half = run(MISCOMPILES["h26"][0])
    assert half.dst.shape == (2, 32, 16)


def test_threads_past_the_tiling_leave_the_tile():
    copy = MISCOMPILES["h25"][1]
    many = replace(copy, tiling=replace(copy.tiling, block_threads=64))
    past = run(many).src_accesses[0].addresses[0, 32:] - SRC
    assert past.min() == 4 * 128  # row 4 is thread 0's second step already


def test_predicates():
    broken, fixed, _ = MISCOMPILES["h06"]
    assert run(fixed).pred.tolist() == [0, 1]
    assert run(broken).pred.tolist() == [0, 8]
    by_element = Copy(
        RegisterCopy("g2r", BF16, 64), g("(8):(1)"), r("(8):(1)"), pred=memref("i8 gmem (8):(1)")
    )
    assert run(by_element).pred.tolist() == [0, 1]  # chunk j asks entry j, not the entry of its elements
    one_first = replace(by_element, src=g("((1,8)):((0,1))"), dst=r("((1,8)):((0,1))"))
    assert run(one_first).pred.tolist() == [0, 1]
    two_first = replace(by_element, src=g("((2,4)):((1,2))"), dst=r("((2,4)):((1,2))"))
    assert run(two_first).pred.tolist() == [0, 1]  # an entry for each element
    assert run(replace(two_first, pred=memref("i8 gmem (4):(1)"))).pred.tolist() == [0, 2]
    assert run(MISCOMPILES["h07"][0]).never
    assert run(fixed).zero_fills and not run(by_element).zero_fills


def test_a_predicate_guards_each_ldmatrix_and_stmatrix():
    """By V[1] and the rest, as of other atoms."""
    pred = memref("i8 rmem (2,3):(1,2)")
    load = Copy(LDSM4, s("((8,2),3):((1,8),64)"), r("((8,2),3):((1,8),16)"), pred=pred)
    assert run(load).pred.tolist() == [0, 1, 2, 3, 4, 5]
    store = Copy(StMatrix(BF16, 4), r("((8,2),3):((1,8),16)"), s("((8,2),3):((1,8),64)"), pred=pred)
    assert run(store).pred.tolist() == [0, 1, 2, 3, 4, 5]


PRED_TYPES = {  # what becomes of a predicate: of a copy, of cp.async, of basic_copy_if
    "bf16": ("fails", "never", "read"),
    "f32": ("fails", "never", "read"),
    "f8E4M3FN": ("read", "never", "fails"),
    "tf32": ("read", "never", "fails"),
    "i24": ("fails", "fails", "fails"),
    "i128": ("read", "read", "read"),
}


@pytest.mark.parametrize("element", PRED_TYPES)
def test_types_of_predicates(element):
    sides = g("((8,2)):((1,8))"), s("((8,2)):((1,8))")
    pred = memref(f"{element} gmem (2):(1)")
    copies = [
        Copy(universal(128), *sides, pred=pred),
        Copy(CP16, *sides, pred=pred),
        Copy(None, g("(2):(1)"), s("(2):(1)"), op="basic_copy_if", pred=pred),
    ]
    for copy, expected in zip(copies, PRED_TYPES[element], strict=True):
        if expected == "fails":
            with pytest.raises(CompilerFails, match=f"predicate of {element}"):
                run(copy)
        else:
            assert run(copy).never == (expected == "never")


def test_a_predicate_makes_auto_take_one_element():
    """Booleans one by one; 4-bit elements then begin inside bytes."""
    sides = [memref(f"i1 {space} align<16> (16):(1)") for space in ("gmem", "smem")]
    booleans = Copy(UniversalCopy(dtype("i1")), *sides)
    assert run(booleans).src.shape[0] == 1
    assert run(replace(booleans, pred=memref("i8 gmem (16):(1)"))).pred.tolist() == list(range(16))
    sides = [memref(f"i4 {space} align<16> (8):(1)") for space in ("gmem", "smem")]
    with pytest.raises(CompilerFails, match="inside a byte"):
        run(Copy(UniversalCopy(dtype("i4")), *sides, pred=memref("i8 gmem (8):(1)")))


def test_a_swizzle_of_registers_narrows_accesses():
    made = Copy(UniversalCopy(dtype("f64"), 64), *(memref(f"f64 {m} (2):(1)") for m in ("smem", "rmem")))
    assert shape(made) == [("ld.shared", 8, 2)]
    swizzled = replace(made, dst=memref("f64 rmem align<8> S<2,2,3> (2):(1)"))
    assert shape(swizzled) == [("ld.shared", 4, 4)]


def test_registers_of_negative_strides_run_backwards():
    copy = Copy(StMatrix(BF16, 2), r("(4):(-1)"), s("(4):(1)"))
    assert (run(copy).src[0, 0] - SRC).tolist() == [0, 1, 2, 3, -4, -3, -2, -1]


def test_single_nibbles_clear_their_neighbour():
    done = run(MISCOMPILES["h33-clobber"][0])
    assert done.unit_bits == 4
    assert (done.src[:, 0, 1] == NOTHING).all()
    assert done.dst[:, 0].tolist() == [[2 * DST, 2 * DST + 1], [2 * DST + 2, 2 * DST + 3]]


@pytest.mark.parametrize(
    ("copy", "reason"),
    [
        (Copy(OtherAtom("tmem_load", "!x"), g("(8):(1)"), s("(8):(1)")), "not modelled"),
        (Copy(StMatrix(BF16, 4), r("((16,1),1):((1,0),0)"), s("((8,1),1):((1,0),0)")), "does not exist"),
        (
            Copy(
                LdMatrix(BF16, 4, False, (8, 16), "u4to8"), s("((8,1),1):((1,0),0)"), r("((8,1),1):((1,0),0)")
            ),
            "not modelled",
        ),
        (Copy(CpAsync(BF16, 128), g("(8):(1)"), s("(8):(1)", name="f32")), "differ in width"),
        (Copy(universal(8), g("(8):(1)"), s("(8):(1)"), op="copy_atom_call"), "narrower than bf16"),
        (Copy(UniversalCopy(BF16), g("(8,?):(1,8)"), s("(8,?):(1,8)")), "dynamic extent"),
    ],
)
def test_what_cannot_be_followed_says_so(copy, reason):
    with pytest.raises(InputError, match=reason):
        run(copy)


def test_absurd_sizes_are_refused():
    with pytest.raises(TooLarge):
        run(Copy(CP16, g("(8,99999999):(1,8)"), s("(8,99999999):(1,8)")))


def test_random_copies_have_consistent_moves():
    """Every access is made of moves: same bytes, once each; nothing but InputError escapes."""
    rng = random.Random(7)
    for _ in range(400):
        copy = random_copy(rng)
        try:
            instance = instantiations(copy)[0]
            done = execution(copy, *bases(instance)[0], instance)
        except InputError:
            continue
        assert done.src.shape == done.dst.shape
        for moves, accesses in ((done.src, done.src_accesses), (done.dst, done.dst_accesses)):
            for access in accesses:
                if access.op.startswith(("ldmatrix", "stmatrix")) or done.unit_bits == 4:
                    continue
                spread = access.addresses[..., None] + np.arange(access.width_bytes)
                assert np.array_equal(np.sort(spread, axis=None), np.sort(moves, axis=None))


@pytest.mark.parametrize(
    ("layout", "bits", "fails"),
    [
        # Measured on the DSL, with 700 random copies: 4-bit elements without an address.
        ("((32,2)):((1,1))", 128, True),
        ("((32,2)):((1,2))", 128, False),
        ("((8,3)):((1,3))", 0, True),
        ("((8,3)):((1,4))", 0, False),
        ("((8,1)):((3,0))", 0, True),
        ("((8,1)):((?,0))", 0, True),
        ("((8,1)):((2,0))", 0, False),
    ],
)
def test_four_bit_elements_that_begin_inside_a_byte(layout, bits, fails):
    whole = memref("f4E2M1FN gmem align<32> " + layout.split(":")[0] + ":" + layout.split(":")[1])
    into = memref("f4E2M1FN smem align<32> " + layout.split(":")[0] + (":((1,96))" if bits else ":((2,96))"))
    copy = Copy(UniversalCopy(whole.dtype, bits), whole, into)
    if fails:
        with pytest.raises(CompilerFails):
            run(copy, instantiations(copy)[0])
    else:
        assert run(copy).src_accesses


def test_a_short_cp_async_writes_four_bytes_and_wants_their_alignment():
    """`cp.async.ca 4, 2`: through copy_atom_call, which no verifier sees (measured)."""
    copy = Copy(CpAsync(BF16, 16), g("(1):(1)"), s("(1):(1)"), op="copy_atom_call")
    done = run(copy)
    assert [a.width_bytes for a in (*done.src_accesses, *done.dst_accesses)] == [4, 4]
    assert (done.src.ravel() == NOTHING).tolist() == [False, False, True, True]
    with pytest.raises(CompilerFails):
        run(replace(copy, atom=CpAsync(BF16, 256)))


@pytest.mark.parametrize(
    ("src", "dst", "verdict"),
    [
        ("(8,2):(1,512)", "((4,2),2):((1,4),8)", "legal"),  # gn-kernels, sm120_gated_gemm_nvfp4.py:285
        ("(8,2):(1,512)", "((4,2),2):((1,16),8)", "legal"),
        ("((8,2),2):((1,16),512)", "((8,2),2):((1,8),16)", "legal"),
        ("((4,2),2):((1,8),512)", "((4,2),2):((1,4),8)", "wrong"),
        ("((8,1),2):((1,0),512)", "(8,2):(1,8)", "rejected"),
        ("((2,2,2),2):((1,2,4),512)", "(8,2):(1,8)", "rejected"),
    ],
)
def test_v_is_atom_and_rest_where_it_is_on_both_sides(src: str, dst: str, verdict: str) -> None:
    """As PTX of DSL 4.8.1 shows: a flat source takes all of both, and the compiler dies of a source alone."""
    sides = (f'!cute.memref<f16, smem, align<16>, "{src}">', f'!cute.memref<f16, rmem, align<32>, "{dst}">')
    report = layoutcheck.check(*sides, "ldmatrix.x4")
    assert report.verdict == verdict
