"""What the machine decides of the instructions, targets, groups and registers in a text."""

import pytest

from layoutcheck.catalogue import answers, devices, machines


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


def test_the_block_of_a_fault_is_no_extent() -> None:
    assert devices.refused("invalid configuration argument ... by thread (14,0,0) in block (0,0,0)") == ()


@pytest.mark.parametrize(("text", "gpu"), [("on GB10 (SM12.1)", 121), ("on SM8.6", 86), ("(sm_75)", 75)])
def test_a_target_is_written_with_a_dot_as_well(text: str, gpu: int) -> None:
    assert [number for _, number in devices.named(text)][-1] == gpu
    assert bool(devices.too_old(f"the kernel fails {text}")) == (gpu < 80)
