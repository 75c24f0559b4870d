# ruff: noqa: E501 (texts as people write them)
"""Limits of GPUs and demands of instructions: rows that a question finds by its subject and aspect, judged by ptxas where it is."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from layoutcheck.catalogue import answers, laws, machines, questions
from layoutcheck.catalogue.questions import asking, specs
from layoutcheck.machine.arch import parse_arch
from layoutcheck.numerics.resources import DEVICES, most_registers, most_threads

_REGISTERS = ("384 threads: 65,536 / 384 = 170", "at most 168 registers a thread")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("How many registers can each thread use if I launch 384 threads per block on H100?", _REGISTERS),
        ("max registers per thread on sm_90?", ("at most 255 registers",)),
        ("If I want 2 CTAs per SM with 256 threads, how many registers does each thread get at most?", ("2 blocks x 256 threads: 65,536 / 512 = 128",)),
        ("What does __launch_bounds__(256, 2) imply for the maximum number of registers per thread?", ("2 blocks x 256 threads", "at most 128 registers")),
        ("how many threads can my block have at most if each takes 168 registers?", ("168 registers a thread let a block have 384 threads",)),
        ("How many registers does an SM have on Ada?", ("65,536 32-bit registers (256 KiB)",)),
        ("In what granularity are registers allocated to a warp?", ("units of 256", "33 registers a thread take 40")),
        ("What is the maximum number of resident warps per SM on A100, RTX 4090 and B200?", ("A100 (sm_80) 64, RTX 4090 (sm_89) 48, B200 (sm_100) 64",)),
        ("how many thread blocks can be resident on one SM on Turing?", ("Turing (sm_75) 16", "Turing (sm_75) 32")),
        ("Can a CTA on sm_120 use 128 KB of shared memory? What is the limit?", ("sm_120 101,376 B (99 KiB)",)),
        ("How much static shared memory can a kernel declare without opting in?", ("48 KiB (49,152 B)", "232,448 B (227 KiB) on sm_90")),
        ("Is there a limit on gridDim.y? My launch with 70000 blocks in y fails.", ("65,535 in y",)),
        ("What's the maximum block size in z?", ("64 in z",)),
        ("Is 16 CTAs per cluster possible on B200?", ("8 blocks portably", "16 on H100")),
        ("How many named barriers does a block have?", ("ids 0 to 15",)),
        ("What is the largest tx-count that an mbarrier can expect?", ("1,048,575",)),
        ("How big is TMEM?", ("128 lanes x 512 columns", "32 to 512")),
        ("How many dimensions can a CUtensorMap describe?", ("1 to 5", "1 to 256 elements")),
        ("Can cp.async.cg copy 8 bytes?", ("16 alone with .cg",)),
        ("What sizes does CopyG2SOp support and how must pointers be aligned?", ("multiples of the size of the copy", "num_bits_per_copy 32, 64, 128")),
        ("Which lanes supply addresses in LdMatrix8x8x16bOp with num_matrices=4?", ("0 to 15 for .x2, all 32 for .x4",)),
        ("what alignment do make_tiled_tma_atom sources need?", ("multiple of 128 bytes",)),
        ("Who has to execute setmaxnreg and what values are allowed?", ("multiple of 8 from 24 to 256", "All warps of a warpgroup")),
        ("How aligned does shared memory need to be for wgmma with 128B swizzle?", ("1024 bytes for 128B",)),
        ("Must N be a multiple of 8 or 16 for wgmma m64n96k16?", ("wgmma: the shape is m64nNkK with N a multiple of 8",)),
        ("How many threads should issue tcgen05.mma? Is it one thread or the whole warp?", ("one thread issues it",)),
        ("Does redux.sync work for float, and on which architecture?", ("never .add", "for sm_100a and sm_103a alone")),
        ("which mma.sync shapes exist for int8 and from which compute capability on?", ("m8n8k16 from sm_75 on",)),
        ("Is griddepcontrol.wait available on Ampere?", ("from sm_90 on",)),
    ],
)  # fmt: skip
def test_a_question_is_answered_by_the_row_of_its_subject(text: str, parts: tuple[str, ...]) -> None:
    (answer,) = answers(text)
    said = " ".join((answer.cause, *answer.facts))
    assert answer.entry.name == "question"
    assert [part for part in parts if part not in said] == [], said
    assert "register" not in text or "shared memory" not in answer.cause


@pytest.mark.parametrize(
    "text",
    [
        "Why is my TMA box limited to 256?",
        "How do I choose the number of registers for my kernel?",
        "What is the best tile size for GEMM on H100?",
        "How many pipeline stages fit in shared memory if each stage takes 32 KB on H100?",
        "What is the difference between stmatrix and st.shared on Hopper?",
        "How many registers does my kernel use?",
        "What is the meaning of stride in tCrA: GMMA::DescriptorIterator o (_1,_2,(_4,_2)) of M, N and K?",
        "Must the input of wgmma be in this block when it is in smem?",
        "How many registers do the accumulators of a 128x128 fp32 tile need with 128 threads per block?",
        "How many bank conflicts does my ldmatrix cause with 64 threads?",
    ],
)
def test_what_asks_for_no_limit_gets_none(text: str) -> None:
    assert specs.told(asking.read(text)) == ()


@pytest.mark.parametrize("name", [one for one in DEVICES if one != "V100"])
def test_the_tables_have_the_limits_of_the_occupancy_model(name: str) -> None:
    device = DEVICES[name]
    number = str(parse_arch(device.arch).number)
    values = {
        row.name: dict(one.split() for one in row.field("each").split(", "))[number]
        for row in specs._rows("limits")
        if row.name in ("warps-sm", "blocks-sm", "threads-sm")
    }
    assert values == {
        "warps-sm": str(device.threads // 32),
        "blocks-sm": str(device.ctas),
        "threads-sm": str(device.threads),
    }


@pytest.mark.parametrize(
    ("threads", "blocks", "most"), [(32, 1, 255), (256, 1, 255), (288, 1, 168), (384, 1, 168), (1024, 1, 64), (256, 3, 80), (1024, 2, 32)]
)  # fmt: skip
def test_registers_of_a_thread(threads: int, blocks: int, most: int) -> None:
    assert most_registers(threads, blocks) == most
    assert blocks > 1 or most_threads(most) >= threads


@pytest.mark.parametrize("name", ["wgmma", "setmaxnreg", "cp.async.bulk", "stmatrix", "cp.async", "ldmatrix"])
def test_a_row_and_a_refused_target_have_one_first_architecture(name: str) -> None:
    row = next(one for one in specs._rows("instructions") if one.name == name)
    (need,) = (need for called, _, need in machines._INSTRUCTIONS if called == name)
    assert re.findall(r"sm_[0-9]+a?", row.field("arch"))[0] == str(need.first)


_WAYS = (
    "What does {} do?", "Do I need {}?", "How do I use {}?", "why {}", "Can someone explain what {} is for?",
    "I don't understand {}.", "What is the difference between {} and ld.global?", "When is {} required?",
)  # fmt: skip
_LIMITS = ("What is the limit of {}?", "What is the maximum of {}?", "How many {} are possible?", "what's the largest {} allowed", "max {}?")  # fmt: skip


def _said(text: str) -> str:
    told = questions.find(text, text)
    return " ".join((told.answer, *told.others)) if told else ""


@pytest.mark.parametrize("way", _WAYS)
def test_an_instruction_that_is_named_is_told_in_all_its_aspects(way: str) -> None:
    for row in specs._rows("instructions"):
        aspects = [row.field(one).rstrip(".").lower() for one in specs._EVERY]
        for name in row.name.split(", "):
            said = _said(way.format(name)).lower()
            assert aspects[0] and [one for one in aspects if one not in said] == [], name


@pytest.mark.parametrize("way", _WAYS[::3])
def test_a_law_is_told_to_who_asks_for_one_of_its_names(way: str) -> None:
    """A name that three laws have tells none of them apart."""
    assert len(laws._KEYS) > 250
    for name, of in laws._KEYS.items():
        said = _said(way.format(name)) if len(of) <= laws._FEW else ""
        assert any(one.says in said for one in of) or " besides: " in said or len(of) > laws._FEW, name


@pytest.mark.parametrize("way", _LIMITS)
def test_a_limit_is_told_to_who_asks_for_it_by_its_words(way: str) -> None:
    for row in specs._rows("limits"):
        words = " ".join(one.split()[0].replace("_", " ") for one in row.fields["about"])
        assert row.field("says").partition("{")[0] in _said(way.format(words)), row.name


def test_words_beside_a_name_choose_what_comes_first() -> None:
    first = {
        "Do I need stmatrix?": "it stores registers",
        "How is stmatrix aligned?": "each row's address",
        "Who runs stmatrix?": "all 32 lanes",
    }
    for text, begins in first.items():
        told = questions.find(text, text)
        assert told and told.answer.startswith(f"stmatrix: {begins}")
        assert all(begins not in one for one in told.others)
    told = questions.find(text := "Why is my stmatrix tile permuted in shared memory?", text)
    assert (
        told and not told.answer.startswith("stmatrix") and "stmatrix besides: it stores" in told.others[-1]
    )


_TARGETS = ("sm_75", "sm_80", "sm_89", "sm_90")
_MMA = "mma.sync.aligned"
_BODIES = {
    "ldmatrix": "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r0}, [s];",
    "stmatrix": "stmatrix.sync.aligned.m8n8.x1.shared.b16 [s], {r0};",
    "movmatrix": "movmatrix.sync.aligned.m8n8.trans.b16 r0, r1;",
    "cp.async": "cp.async.cg.shared.global [s], [d0], 16;",
    "redux.sync": "redux.sync.add.s32 r0, r1, 0xffffffff;",
    "fence.proxy.async": "fence.proxy.async;",
    "griddepcontrol": "griddepcontrol.wait;",
    "mbarrier": "mbarrier.init.shared.b64 [s], 1;",
    "mma.sync of fp8": f"{_MMA}.m16n8k32.row.col.f32.e4m3.e4m3.f32 {{x0,x1,x2,x3}},{{r4,r5,r6,r7}},{{r8,r9}},{{x4,x5,x6,x7}};",
    "mma.sync of tf32": f"{_MMA}.m16n8k4.row.col.f32.tf32.tf32.f32 {{x0,x1,x2,x3}},{{r4,r5}},{{r6}},{{x4,x5,x6,x7}};",
    "mma.sync of 8-bit integers": f"{_MMA}.m8n8k16.row.col.s32.s8.s8.s32 {{r0,r1}},{{r2}},{{r3}},{{r4,r5}};",
}  # fmt: skip


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="needs ptxas")
@pytest.mark.parametrize("name", _BODIES)
def test_ptxas_has_it_from_the_architecture_of_its_row_on(name: str, tmp_path: Path) -> None:
    called, _, kind = name.partition(" of ")
    row = next(one for one in specs._rows("instructions") if one.name == called)
    (first, *_) = re.findall(rf"{kind}.*?(sm_[0-9]+)", row.field("arch"))
    taken = []
    for target in _TARGETS:
        code = f".version 8.7\n.target {target}\n.address_size 64\n.shared .align 16 .b8 s[256];\n.visible .entry k() {{ .reg .b32 r<20>; .reg .b64 d<4>; .reg .f32 x<8>; {_BODIES[name]} ret; }}\n"
        (tmp_path / "k.ptx").write_text(code)
        command = ["ptxas", f"-arch={target}", "k.ptx", "-o", "k.cubin"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        taken += [target] if done.returncode == 0 else []
    assert taken == list(_TARGETS[_TARGETS.index(first) :])
