"""Bulk copies and st.async: their instructions, worked out by hand; what the compiler dies of; repairs."""

from __future__ import annotations

import pytest

from layoutcheck.algebra.notation import parse_layout
from layoutcheck.analysis.instantiation import DST_REGION, SRC_REGION
from layoutcheck.api import check, check_copy
from layoutcheck.atoms.execution import execution
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.offsets import CompilerFails
from tests.miscompiles import BF16, MISCOMPILES, bulk, g, memref, s

FLAGGED = {
    "h21": "LC220", "h21-gmem": "LC220", "h21-smem": "LC220", "h21-store": "LC220", "h21-cluster": "LC220",
    "h22": "LC222", "h22-store": "LC222", "h31": "LC223", "h31-rest": "LC223", "h40": "LC221",
    "h40-transposed": "LC221", "h41": "LC224", "h41-wide": "LC224", "h42": "LC225", "h43": "LC226",
    "h44": "LC227", "h45": "LC202",
}  # fmt: skip


def instructions(
    src: str, dst: str, bits: int = 0, name: str = "bf16", atom: str = ""
) -> list[tuple[int, ...]]:
    """(source, destination, size) of each instruction, in bytes from the bases."""
    copy = Copy(bulk("g2s", bits, atom or name), g(src, name=name), s(dst, name=name))
    run = execution(copy, SRC_REGION, DST_REGION)
    (read,), (write,) = run.src_accesses, run.dst_accesses
    return [
        (int(a) - SRC_REGION, int(b) - DST_REGION, read.width_bytes)
        for a, b in zip(read.addresses[:, 0], write.addresses[:, 0], strict=True)
    ]


def test_a_run_of_v_is_one_instruction() -> None:
    assert instructions("(64):(1)", "(64):(1)") == [(0, 0, 128)]
    assert instructions("(64,2):(1,72)", "(64,2):(1,64)") == [(0, 0, 128), (144, 128, 128)]
    assert instructions("((8,2,4)):((1,8,20))", "((8,2,4)):((1,8,16))") == [
        (0, 0, 32), (40, 32, 32), (80, 64, 32), (120, 96, 32),
    ]  # fmt: skip


def test_a_v_permuted_alike_is_one_run() -> None:
    assert instructions("((8,8)):((8,1))", "((8,8)):((8,1))") == [(0, 0, 128)]
    assert instructions("((8,8,2)):((8,1,128))", "((8,8,2)):((8,1,64))") == [(0, 0, 128), (256, 128, 128)]


def test_a_width_cuts_the_run_or_leaves_nothing() -> None:
    assert instructions("(48):(1)", "(48):(1)", 256) == [(0, 0, 32), (32, 32, 32), (64, 64, 32)]
    assert instructions("(32,2):(1,32)", "(32,2):(1,32)", 1024) == []
    assert instructions("(96,2):(1,96)", "(96,2):(1,96)", 1024) == []


def test_the_atom_counts_in_its_own_type() -> None:
    assert instructions("(64):(1)", "(64):(1)", name="f32", atom="bf16") == [(0, 0, 128)]
    assert instructions("(8):(1)", "(8):(1)", 128, "bf16", "f32") == [(0, 0, 16), (8, 8, 16)]


def test_six_bits_in_a_size_and_eight_in_an_address() -> None:
    assert instructions("(128,2):(1,128)", "(128,2):(1,128)", name="f6E2M3FN") == [(0, 0, 96), (128, 128, 96)]
    assert instructions("(64,2):(1,96)", "(64,2):(1,64)", name="f4E2M1FN") == [(0, 0, 32), (48, 32, 32)]


@pytest.mark.parametrize(
    ("layout", "name"),
    [
        ("((32,2)):((1,?))", "bf16"),  # SIGSEGV
        ("(64,2):(1,65)", "f4E2M1FN"),  # a slice begins inside a byte
        ("(64,2):(1,?)", "f4E2M1FN"),
        ("(128,2):(1,130)", "f6E2M3FN"),
        ("(64,2):(1,64)", "i24"),  # SIGABRT
    ],
)
def test_what_the_compiler_fails_on(layout: str, name: str) -> None:
    copy = Copy(bulk(name=name), g(layout, name=name), s(layout, name=name))
    with pytest.raises(CompilerFails):
        execution(copy, SRC_REGION, DST_REGION)


@pytest.mark.parametrize("name", FLAGGED)
def test_holes_are_flagged_with_field_value_demand_and_source_and_repaired(name: str) -> None:
    broken, fixed, _ = MISCOMPILES[name]
    report = check_copy(broken)
    assert report.verdict == "wrong"
    first = report.findings[0]
    assert first.code == FLAGGED[name]
    assert first.code == "LC202" or {"field", "value", "demand", "source"} <= first.evidence.keys()
    assert report.fixes and all(fix.verdict in ("legal", "slow") for fix in report.fixes)
    assert check_copy(fixed).verdict == "legal"


def test_the_linear_copy_ignores_the_swizzle_and_the_readers_do_not() -> None:
    found = check_copy(MISCOMPILES["h22"][0]).findings[0]
    assert found.evidence["value"] == "S<3,4,3>" and found.evidence["wrong"] == 896  # of 1024 bytes


def test_more_threads_whose_bytes_are_announced_are_only_wasteful() -> None:
    arguments = {"dtype": "bf16", "block": 4}
    assert check("(64):(1)", "(64):(1)", "bulk.g2s", **arguments).verdict == "wrong"
    assert check("(64):(1)", "(64):(1)", "bulk.g2s", expect_bytes=512, **arguments).verdict == "slow"
    assert check("(64):(1)", "(64):(1)", "bulk.s2g", **arguments).verdict == "slow"


def test_a_barrier_is_only_a_bulk_copys() -> None:
    with pytest.raises(Exception, match="expect_bytes is for copies that a barrier counts"):
        check("(8):(1)", "(8):(1)", "cp.async", dtype="bf16", expect_bytes=16)


@pytest.mark.parametrize(
    ("kind", "dst"), [("s2g", "i8 gmem align<16> (16):(1)"), ("s2s", "i8 smem align<16> (16):(1)")]
)
def test_a_swizzle_is_dropped_at_a_base_that_its_bits_move(kind: str, dst: str) -> None:
    def verdict(align: int) -> tuple[str, list[str]]:
        tile = memref(f"i8 smem align<{align}> S<2,4,3> (16):(1)")
        report = check_copy(Copy(bulk(kind, 128, "i8"), tile, memref(dst)))
        return report.verdict, [one.code for one in report.findings if one.severity == "wrong"]

    assert verdict(16) == ("wrong", ["LC222"])  # an H200: not as asked at a base of 128 B
    assert verdict(512) == ("legal", [])


def test_st_async_checks_its_base_and_not_its_pitch() -> None:
    fragment = memref("bf16 rmem align<32> (8,2):(1,8)")
    for layout, verdict in (
        ("(8,2):(1,16)", "legal"),
        ("(8,2):(1,12)", "wrong"),
        ("(8,2):(2,16)", "rejected"),
    ):
        tile = memref(f"bf16 dsmem align<16> {layout}")
        report = check(fragment, tile, "st.async", dtype=BF16, bits=128)
        assert report.verdict == verdict
    assert str(report.copy.dst.layout) == str(parse_layout("(8,2):(2,16)"))


def test_four_bit_vectors_are_slow_and_bytes_are_not() -> None:
    report = check("(32,2):(1,32)", "(32,2):(1,32)", "universal", bits=128, dtype="f4E2M1FN")
    assert report.verdict == "slow" and report.execution["width_bits"] == 64
    (fix,) = [fix for fix in report.fixes if fix.strategy == "recast"]
    assert fix.verdict == "legal" and fix.predicted["width_bits"] == 128
    assert str(fix.copies[0].src.layout) == "(16,2):(1,16)"
