"""The copy that autovec_copy makes, as the DSL made it (test_verifier.py asks it about random ones)."""

from __future__ import annotations

import pytest

from layoutcheck.atoms.autovec import resolve
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.check import check
from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype
from tests.miscompiles import memref

BF16 = dtype("bf16")


def autovec(src: str, dst: str, evict: bool = False) -> Copy:
    return resolve(Copy(None, memref(src), memref(dst), op="autovec_copy", evict_priority=evict))


G = "bf16 gmem align<256> "
S = "bf16 smem align<256> "


@pytest.mark.parametrize(
    ("src", "dst", "width", "views"),
    [
        (G + "(8,4):(1,?)", S + "(8,4):(1,8)", 128, "(8,4):(1,?) (8,4):(1,8)"),
        (G + "(8,4):(1,9)", S + "(8,4):(1,8)", 16, "(1,(8,4)):(0,(1,9)) (1,32):(0,1)"),
        (G + "(8,4):(1,60)", S + "(8,4):(1,60)", 64, "(4,(2,4)):(1,(4,60)) (4,(2,4)):(1,(4,60))"),
        (G + "(4,8):(16,1)", S + "(4,8):(?,1)", 128, "(8,4):(1,16) (8,4):(1,?)"),
        (G + "(8,4):(4,1)", S + "(8,4):(1,8)", 16, "(8,4):(4,1) (8,4):(1,8)"),  # nothing in common
        (G + "(64):(1)", S + "(64):(1)", 256, "(16,4):(1,16) (16,4):(1,16)"),
        (G + "(64):(1)", "bf16 smem align<24> (64):(1)", 64, "(4,16):(1,4) (4,16):(1,4)"),
        (G + "(64):(1)", "bf16 smem align<256> S<3,3,3> (64):(1)", 64, "(4,16):(1,4) (4,16):(1,4)"),
        (G + "(64):(1)", "bf16 smem align<256> S<0,2,3> (64):(1)", 256, "(16,4):(1,16) (16,4):(1,16)"),
        (G + "(64):(1)", "bf16 rmem (64):(1)", 256, "(16,4):(1,16) (16,4):(1,16)"),
        ("bf16 rmem S<3,3,3> (64):(1)", "bf16 rmem (64):(1)", 64, "(4,16):(1,4) (4,16):(1,4)"),
        (G + "(8):(1)", S + "(16):(1)", 128, "(8,2):(1,8) (8,2):(1,8)"),
    ],
)
def test_the_width_and_the_views(src: str, dst: str, width: int, views: str) -> None:
    made = autovec(src, dst)
    assert (made.op, made.atom) == ("copy", UniversalCopy(BF16, width))
    assert f"{made.src.layout} {made.dst.layout}" == views


def test_an_eviction_priority_takes_other_atoms() -> None:
    made = autovec(G + "(8,4):(1,?)", "bf16 rmem align<32> (8,4):(1,8)", evict=True)
    assert made.atom == RegisterCopy("g2r", BF16, 128, (("l1_cache_evict_priority", "evict_first"),))
    assert not made.evict_priority


def test_basic_copies_move_single_elements() -> None:
    plain = Copy(None, memref(G + "(8,2):(1,9)"), memref(S + "(8,2):(1,8)"), op="basic_copy")
    made = resolve(plain)
    assert (made.op, made.atom, made.src) == ("copy", UniversalCopy(BF16, 16), plain.src)
    looped = resolve(Copy(None, plain.src, plain.dst, memref("i8 rmem (8,2):(1,8)"), op="basic_copy_if"))
    assert (looped.op, looped.atom) == ("basic_copy_if", UniversalCopy(BF16, 16))


def test_one_bit_elements_are_copied_as_the_bytes_they_are_stored_in() -> None:
    made = autovec("i1 gmem align<16> (32):(1)", "i1 smem align<16> (32):(1)")
    assert made.atom == UniversalCopy(dtype("i8"), 128)


def test_other_copies_stay_as_they_are() -> None:
    copy = Copy(UniversalCopy(BF16, 64), memref(G + "8:1"), memref(S + "8:1"))
    assert resolve(copy) is copy


def test_what_the_dsl_cannot_compose_is_an_error() -> None:
    with pytest.raises(InputError, match="inadmissible"):
        autovec(G + "(6,1):(1,64)", S + "16:1")


@pytest.mark.parametrize(
    ("src", "dst", "codes"),
    [
        ("gmem align<16> ((16,2)):((1,16))", "rmem align<16> ((16,2)):((1,?))", ["LC191"]),
        ("gmem align<16> ((16,2)):((1,16))", "rmem align<16> ((16,2)):((1,?{div=2}))", []),
        ("gmem align<16> ((16,1)):((1,16))", "rmem align<16> ((16,1)):((1,?))", []),
        ("smem align<2> ((8,2)):((1,?))", "rmem align<2> ((8,2)):((1,?{div=8}))", ["LC191"]),
        ("smem align<2> (8,2):(1,24)", "rmem align<2> (8,2):(1,8)", []),
        ("gmem align<16> ((2,2)):((1,4))", "rmem ((2,2)):((1,2))", ["LC191"]),
    ],
)
def test_vectors_of_4_bit_elements_begin_with_a_byte_or_do_not_compile(
    src: str, dst: str, codes: list[str]
) -> None:
    """Of registers without a stated alignment, too (measured; tests/conformance/test_emitted.py)."""
    report = check(Copy(None, memref(f"i4 {src}"), memref(f"i4 {dst}"), op="autovec_copy"))
    assert [one.code for one in report.findings if one.severity == "rejected"] == codes
