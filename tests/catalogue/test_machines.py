"""What the machine decides of the instructions, targets, groups and registers in a text."""

import pytest

from layoutcheck.catalogue import answers, devices, machines
from layoutcheck.errors import InputError
from layoutcheck.numerics.units import unit

SHAPES = ["m64n100k16", "m64n96k16", "m64n264k16", "m64n128k8", "m128n128k16"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("called", "kind", "arch"), [("wgmma", "wgmma", "sm_90a"), ("UMMA", "tcgen05", "sm_100a")]
)
def test_a_shape_that_the_unit_does_not_have(called: str, kind: str, arch: str, shape: str) -> None:
    try:
        unit(f"{kind}.{shape}.f32.bf16", arch)
        has = True
    except InputError:
        has = False
    told = machines.told(f"my {called} {shape} of bf16 gives garbage")
    assert len(told) == (not has)
    assert all(f"{arch} has no {kind}.{shape}.f32.bf16: it takes a shape" in one for one in told)


@pytest.mark.parametrize(
    "text",
    [
        "sparse wgmma m64n64k32 of bf16",
        "tcgen05 block-scaled m128n128k64, nvfp4 with fp8 scales",
        "wgmma m64n100k16",
        "wgmma m64n64k32 with bf16 here and fp8 there",
    ],
)
def test_no_shape_is_judged_whose_form_or_type_is_open(text: str) -> None:
    assert machines.told(text) == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("error: wgmma.mma_async on sm_100a", "sm_100a has no wgmma: it begins with the target sm_90a"),
        ("wgmma fails to assemble for sm_90", "sm_90 has no wgmma: it begins with the target sm_90a"),
        ("tcgen05.mma on sm_90a fails", "sm_90a has no tcgen05: it begins with the target sm_100a"),
        ("UMMA is not supported on sm_120a", "sm_120a has no tcgen05: it begins with the target sm_100a"),
        ("cp.async is illegal, target sm_75", "sm_75 has no cp.async: it begins with the target sm_80"),
        ("stmatrix fails on sm_80", "sm_80 has no stmatrix: it begins with the target sm_90"),
        ("wgmma fails on sm_90a", ""),
        ("tcgen05.mma fails on sm_110a", ""),
        ("cp.async fails on sm_80", ""),
        ("wgmma for sm_90a, the fallback for sm_80 fails", ""),
        ("wgmma on sm_100a", ""),
        ("It is built for sm_80. wgmma isn't used. ldmatrix fails", ""),
        ("error in mma_sm90.hpp: cute::SM90::GMMA and wgmma", ""),
    ],
)
def test_a_target_without_the_instruction(text: str, told: str) -> None:
    found = machines.told(text)
    assert [one.partition(", and only")[0] for one in found] == ([told] if told else [])


@pytest.mark.parametrize(
    ("count", "left", "told"),
    [
        (3, 3, "waits for none of them: the first has landed behind a wait for 2 or fewer"),
        (3, 2, "has the oldest landed, and not the youngest 2"),
        (4, 1, "has the oldest 3 landed, and not the youngest:"),
        (3, 0, ""),
    ],
)
@pytest.mark.parametrize(
    "words",
    [
        "cp_async_commit_group() is called {} times, then cp_async_wait_group({})",
        "{} commits, cp.async.wait_group {}",
    ],
)
def test_groups_of_cp_async(words: str, count: int, left: int, told: str) -> None:
    found = machines.told(f"{words.format(count, left)}; the tile is garbage")
    assert len(found) == bool(told)
    assert all(told in one for one in found)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("256x256 fp32 accumulator, 128 threads: registers spill", "512 registers in each, above the 255"),
        ("accumulator of (128, 64), 128 threads: how many registers?", "64 registers in each, of the 255"),
        ("a 256x256 accumulator with 384 threads, producer warp: registers spill", ""),
        ("a 256x256 accumulator with 128 threads", ""),
        ("a 128x256 accumulator in tmem, 128 threads: registers spill", ""),
    ],
)  # fmt: skip
def test_registers_of_an_accumulator(text: str, told: str) -> None:
    found = machines.told(text)
    assert len(found) == bool(told)
    assert all(told in one for one in found)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "block=(1024, 2, 1) gives invalid configuration argument",
            "the block (1024, 2, 1) has 2,048 threads",
        ),
        ("grid = (1, 70000, 1) invalid configuration", "the grid (1, 70000, 1) has 70,000 in y"),
    ],
)
def test_a_refused_launch_leads_with_its_extents(text: str, told: str) -> None:
    (answer,) = answers(text)
    assert told in answer.cause or answer.title.startswith(told)
    assert not any(told in one for one in answer.facts)
    assert devices.refused(text.replace("invalid configuration", "a crash")) == ()
