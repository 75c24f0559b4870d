"""What single rules and the analysis say of one copy: codes, places and numbers."""

from __future__ import annotations

import re
from random import Random

import pytest

import layoutcheck as lc
from layoutcheck.analysis import Analysis
from layoutcheck.check import check
from layoutcheck.copies.compiler.prediction import Prediction
from layoutcheck.rules.conflicts import conflicted, repaired_side
from layoutcheck.sources.request import build
from tests.analysis.test_analysis import CONFLICTS, REFUSED, RIGHT
from tests.conformance.generate import random_copy
from tests.fixes.tiles import random_tile
from tests.miscompiles import _s2t

ACCEPTED, OTHER = Prediction("accepted"), Prediction("rejected", "the compiler's words", "its kind")


def codes(report: lc.Report) -> list[str]:
    return [finding.code for finding in report.findings]


@pytest.mark.parametrize(("request_", "observed", "outcome", "words", "kind"), [
    (RIGHT, ACCEPTED, "accepted", "", ""),
    (RIGHT, OTHER, "rejected", OTHER.message, OTHER.kind),
    (REFUSED, ACCEPTED, "accepted", "", ""),
    (REFUSED, OTHER, "rejected", OTHER.message, "static_strides_one"),
])  # fmt: skip
def test_what_the_compiler_was_seen_to_say_stands(
    request_: dict[str, str], observed: Prediction, outcome: str, words: str, kind: str
) -> None:
    found = Analysis(build(**request_)[0], observed)
    said = found.prediction
    assert (said.outcome, said.message, said.kind) == (outcome, words, kind)
    assert ("model" in said.evidence) == (request_ is REFUSED and observed is ACCEPTED)
    assert found.accepted == (outcome == "accepted")


def test_runs_that_were_forgotten_are_made_again() -> None:
    found = Analysis(build(**RIGHT)[0])
    before = found.runs
    assert found.runs is before
    found._forget()
    assert found.runs is not before and found.runs[0].comparison == before[0].comparison


def test_a_conflict_names_its_first_lane_and_the_fewest_instructions() -> None:
    report = lc.check(**CONFLICTS)
    [finding] = [one for one in report.findings if one.code == "LC301"]
    assert finding.where.thread == finding.evidence["lanes"][0] == 0
    assert report.execution is not None
    assert report.execution["instructions_per_thread"] == 8
    assert report.execution["ideal_instructions_per_thread"] == 2  # 32 bytes of a thread


@pytest.mark.parametrize(
    ("src", "least"),
    [
        ("(4,8):(515,1)", 32),  # rows of 2,060 B
        ("(4,8):(514,1)", 16),
        ("(4,8):(516,1)", 8),
        ("(4,8):(?,1)", 8),  # that only the run knows
        ("(3,8):(8,1)", 6),  # one run of 96 B
        ("(3,8):(1,3)", 6),
        ("(1,32):(515,1)", 8),
    ],
)
def test_no_access_is_wider_than_rows_in_global_memory_are_aligned(src: str, least: int) -> None:
    """The fewest loads of one thread, of f32; the program takes 4 B at a time."""
    shape = src.partition(":")[0]
    report = lc.check(
        f'!cute.memref<f32, gmem, align<16>, "{src}">', shape, "universal", bits=32, dst_space="rmem"
    )
    assert report.execution is not None
    assert report.execution["ideal_instructions_per_thread"] == least


def test_a_side_with_the_swizzle_that_is_proposed_has_no_conflict() -> None:
    found = Analysis(build(**CONFLICTS)[0])
    side = conflicted(found)
    assert side is not None and side.wavefronts == 1024
    repaired = repaired_side(found, side)
    assert repaired is not None and (repaired[0], repaired[1].wavefronts) == ("S<5,2,5>", 32)


@pytest.mark.parametrize(
    ("order", "code"), [("(32,8),1)):(((1@0,1@1)", None), ("(8,32),1)):(((1@1,1@0)", "LC234")]
)
@pytest.mark.parametrize("swizzle", ["", "S<3,4,3>, "])
def test_v_runs_as_the_box_does(order: str, code: str | None, swizzle: str) -> None:
    atom = (
        '!cute_nvgpu.atom.tma_load<f32, copy_bits = 8192, mode = tiled, num_cta = 1, g_stride = <"()"> '
        'tma_gbasis = <"(32,8):(1@0,1@1)">>'
    )
    there = f'!cute.coord_tensor<"(0,0)", "(({order},0))">'
    here = f'!cute.memref<f32, smem, align<1024>, {swizzle}"((256,1)):((1,0))">'
    assert codes(lc.check(there, here, atom)) == ([code] if code else [])


@pytest.mark.parametrize(("element", "bits"), [("f6E2M3FN", 6), ("f6E3M2FN", 6), ("f4E2M1FN", 4)])
def test_a_box_of_narrow_elements_fills_a_tile_of_bytes(element: str, bits: int) -> None:
    """Each element has a byte of the tile, `copy_bits` counts its own bits; the PTX has one instruction."""
    atom = (
        f"!cute_nvgpu.atom.tma_load<{element}, copy_bits = {128 * 128 * bits}, mode = tiled, num_cta = 1, "
        'g_stride = <"()"> tma_gbasis = <"(128,128):(1@1,1@0)">>'
    )
    there = '!cute.coord_tensor<"(?{div=128},?)", "(((128,128),1),(1)):(((1@0,1@1),0),(0))">'
    here = '!cute.memref<i8, smem, align<1024>, S<3,4,3>, "((16384,1),(1)):((1,0),(0))">'
    report = lc.check(there, here, atom, arch="sm_100a")
    assert (report.verdict, report.execution["instructions_per_thread"]) == ("legal", 1)
    assert report.execution["bytes_per_thread"] == report.execution["bytes_asked"] == 16384


def test_another_pattern_than_the_machine_s_is_said_once() -> None:
    atom = (
        '!cute_nvgpu.atom.tma_load<f32, copy_bits = 8192, mode = tiled, num_cta = 1, g_stride = <"()"> '
        'tma_gbasis = <"(32,8):(1@0,1@1)">>'
    )
    there = '!cute.coord_tensor<"(0,0)", "(((8,32),1)):(((1@1,1@0),0))">'
    here = '!cute.memref<f32, smem, align<1024>, S<3,3,3>, "((256,1)):((1,0))">'
    assert codes(lc.check(there, here, atom)) == ["LC233"]


@pytest.mark.parametrize(("kind", "word"), [("ld", "pack"), ("st", "unpack")])
def test_packing_is_named_as_ptx_does(kind: str, word: str) -> None:
    view = '!cute.memref<f32, tmem, align<16>, "(((16,32),1),1):(((2,131072),0),0)">'
    fragment = '!cute.memref<f32, rmem, align<32>, "((8,1),1):((1,0),0)">'
    src, dst = (view, fragment) if kind == "ld" else (fragment, view)
    report = lc.check(src, dst, f"tcgen05.{kind}.32x32b.x8.{word}16b", dtype="f32", arch="sm_100a")
    [finding] = [one for one in report.findings if one.code == "LC255"]
    assert finding.message.startswith(f"tcgen05.{kind}.32x32b.x8.{word}::16b moves the lower 16 bits")


@pytest.mark.parametrize(("step", "code"), [(4, "LC256"), (10, "LC254"), (18, "LC254")])
def test_a_step_within_a_column_is_its_own_trouble(step: int, code: str) -> None:
    report = lc.check(**_s2t(f"(((32,16,4),1),4):(((262144,1,8388608),0),{step})"))
    assert codes(report)[0] == code and len({"LC254", "LC256"} & set(codes(report))) == 1


def test_the_first_box_that_begins_amiss_is_named() -> None:
    there = '!cute.memref<bf16, gmem, align<16>, "(256,256):(256,1)">'
    report = lc.check(there, '!cute.memref<bf16, smem, align<128>, "(8,(12,2)):(12,(1,96))">', "tma_load")
    [finding] = [one for one in report.findings if one.code == "LC238"]
    assert finding.where.instruction == 1 and finding.evidence["value"] == 24


def test_no_more_than_a_vector_is_drawn() -> None:
    drawn = Analysis(build(**RIGHT)[0]).drawing
    assert (drawn["elements"], drawn["element_bytes"], drawn["width_bytes"]) == (8, 2, 16)


def test_no_finding_shows_an_address_that_the_model_made_up() -> None:
    """Registers of two threads lie 2**47 apart in the model; no text has a number of twelve digits."""
    rng = Random(11)
    findings = [
        finding
        for n in range(120)
        for finding in check(random_tile(rng) if n % 2 else random_copy(rng)).findings
        if finding.severity == "wrong"
    ]
    assert len(findings) > 20
    texts = [f"{one.title} {one.message} {one.evidence}" for one in findings]
    assert not [text for text in texts if re.search(r"\d{12}", text)]
