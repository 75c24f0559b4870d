# ruff: noqa: E501 (texts as they are printed)
"""What ptxas says is told by its kind; what the rest of a text shows or rules out stands beside the cause."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from layoutcheck.catalogue import answers, ptx_words

SAYS = [
    ("Unexpected number of arguments specified for mma with shape '.m8'", "another number of operands"),
    ("Argument 2 of instruction 'cp.async': value '3' out of range", "constant that the message names"),
    ("Illegal state space for address operand 'a' with instruction 'mbarrier.init'", "another state space"),
    ("Instruction 'mad' requires '.f32' type", 'the constraint gives the register\'s type: "h" 16 bits'),
    ("Modifier '.multicast' cannot be combined with modifier '.reduce'", "excludes another"),
    ("Argument 2 of instruction 'cp.async': unexpected value '8', expected to be 16", "SM80_CP_ASYNC_CACHEALWAYS"),
    ("Duplicate definition of label 'LAB_WAIT'", "between braces"),
    ("Not a name of any known instruction: 'tcgen05.frob'", "does not have"),
    ("Argument vector size mismatch for instruction 'ldmatrix'", "registers in braces"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "says"), SAYS)
def test_a_message_of_ptxas_is_told_by_its_kind(message: str, says: str) -> None:
    (answer,) = answers(
        f"ptxas /tmp/x.ptx, line 47; error   : {message}\nptxas fatal   : Ptx assembly aborted due to errors"
    )
    assert says in f"{answer.cause} {answer.remedy}" and message[:40] in answer.title


@pytest.mark.sweep
def test_nearly_every_message_of_ptxas_has_a_kind() -> None:
    found = os.environ.get("PTXAS") or shutil.which("ptxas")
    if found is None:
        pytest.skip("needs ptxas: its path in $PTXAS")
    texts = {text.decode() for text in re.findall(rb"[ -~]{16,200}", Path(found).read_bytes())}
    said = [
        text
        for text in texts
        if re.match(
            r"Argument %d of|Instruction '%s'|Modifier '|Illegal |Duplicate |Unexpected |Vector ", text
        )
        and text.count(" ") > 2
    ]
    if not said:
        pytest.skip(f"needs the program itself: {found} has no messages")
    missed = [
        text
        for text in said
        if ptx_words.meaning(text.replace("%s", "mma").replace("%d", "2")) == ptx_words.OTHER
    ]
    print(f"{len(said)} messages, {1 - len(missed) / len(said):.1%} with a kind")
    assert len(said) > 100 and len(missed) < 0.08 * len(said), missed


def facts(text: str) -> str:
    return " ".join(answers(text)[0].facts)


def test_an_extent_that_no_grid_has_is_named() -> None:
    call = "q = torch.rand([1, 3, 71280, 128])\nflash_attn_func(q, k, v)\n"
    assert "71280 of the shape (1, 3, 71280, 128) is above 65,535" in facts(
        call + "CUDA error: invalid configuration argument"
    )
    assert "65,535" not in facts(
        call.replace("71280", "65535") + "CUDA error: invalid configuration argument"
    )
    assert "above 65,535" not in facts(call + "CUDA error: invalid argument")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("4 P100, make ARCH=sm_61: invalid device function", "for sm_61, and the GPU is sm_60 (P100)"),
        ("H100: nvcc -arch=sm_80: invalid device function", "for sm_80, and the GPU is sm_90 (H100)"),
        ("A10: nvcc -arch=sm_80: invalid device function", ""),
        ("compute capability: 12.0, -arch=sm_120a: invalid device function", ""),
        ("compute capability: 12.1, -arch=sm_120a: invalid device function", "the GPU is sm_121"),
        ("k(shared_mem=98304): CUDA_ERROR_INVALID_VALUE", "98,304 B of dynamic shared memory are above"),
        ("RTX 4090: smem=131072: CUDA_ERROR_INVALID_VALUE", "131,072 B of shared memory are above 101,376"),
        ("SharedStorage size: 87040, opt-in 101376: kErrorInternal", "87,040 B of shared memory are within"),
        ("k(shared_mem=32768): CUDA_ERROR_INVALID_VALUE", ""),
    ],
)  # fmt: skip
def test_the_targets_and_sizes_of_a_text_decide_between_causes(text: str, told: str) -> None:
    said = facts(text)
    assert told in said and bool(told) == bool(said)


def test_sizes_that_run_rule_shared_memory_out() -> None:
    table = "head_dim= 16: FAIL  RuntimeError: CUDA Error: cudaErrorInvalidValue\nhead_dim= 32: {}"
    assert "head_dim up to 16 fails and from 32 on runs" in facts(table.format("OK"))
    assert "runs" not in facts(table.format("FAIL"))
    assert "runs" not in facts("head_dim= 64: OK\nhead_dim= 512: FAIL cudaErrorInvalidValue")


RACE = "========= Error: Potential WAW hazard detected at __shared__ 0x404 in block (0,0,0) :\n=========     Write Thread (23,0,0) at k+0x{} in k.cu:32\n=========     Write Thread ({},0,0) at k+0x1a0 in k.cu:32\n=========     Current Value : 2, Incoming Value : {}"
OVERLAP = "`f()` stores `y[threadIdx.x]` from all 32 lanes, and the rest lies behind an `n`-int `y` region, n == {}.\n========= Error: Race reported between Write access at f+0x2f0 in k.cu:310 and {} access at f+0x410 in k.cu:336 [50 hazards]"


@pytest.mark.parametrize(
    ("text", "part", "never"),
    [
        (RACE.format("1a0", 24, 3), "they store 2 and 3, which differ", "__syncwarp()"),
        (RACE.format("1a0", 24, 2), "compute the same address", "which differ"),
        (RACE.format("1a0", 64, 3), "are of two warps, 0 and 2 ", "between the two lines"),
        (RACE.format("190", 24, 3), "__syncwarp() between the two lines orders them", "compute the same address"),
        (OVERLAP.format(16, "Write"), "lanes from 16 on write into what lies behind it, which no barrier mends", "a barrier is needed"),
        (OVERLAP.format(32, "Write"), "Where they are of two buffers these overlap", "lanes from"),
        (OVERLAP.format(16, "Read"), "a barrier is needed between them", "overlap"),
    ],
)  # fmt: skip
def test_a_barrier_is_named_only_where_it_orders_the_accesses(text: str, part: str, never: str) -> None:
    (found,) = answers(text)
    said = " ".join((found.cause, *found.facts, "", found.remedy))
    assert part in said and never not in said


def test_the_elements_of_one_vector_are_counted() -> None:
    text = (
        "/c/cute/atom/copy_traits.hpp(3): error: static assertion failed with \"In CopyAtom, dst layout doesn't vectorize "
        'into registers." detected during: instantiation of "void cute::copy_unpack(const '
        "cute::Copy_Traits<cute::SM80_CP_ASYNC_CACHEALWAYS<cutlass::uint128_t>> &) "
        "[with TS=cute::ViewEngine<cute::gmem_ptr<cutlass::{0} *>>, SLayout=cute::Layout<cute::_16, cute::_1>, "
        "TD=cute::ViewEngine<cute::smem_ptr<cutlass::{0} *>>, "
        "DLayout=cute::Layout<cute::tuple<cute::tuple<cute::_8, cute::_2>>, "
        'cute::tuple<cute::tuple<cute::_1, int>>>]" at line 7 of k.cu'
    )
    (narrow,) = answers(text.format("float_e4m3_t"))
    assert "moves 16 adjacent float_e4m3_t" in narrow.cause and "Swizzle<B,4,S>" in narrow.remedy
    (wide,) = answers(text.format("half_t"))
    assert "moves 8 adjacent half_t" in wide.cause and "Swizzle<B,3,S>" in wide.remedy


def test_a_composition_that_the_instantiations_print_is_computed() -> None:
    spew = (
        'instantiation of "auto cute::detail::composition_impl(const cute::Layout<LShape, LStride> &, '
        "const RShape &, const RStride &) [with LShape=cute::tuple<cute::_64, cute::C<3>>, "
        "LStride=cute::tuple<cute::_1, cute::C<2048>>, "
        'RShape=cute::_2, RStride=cute::_{}]" at line 911 of /x/include/cute/layout.hpp'
    )
    assert "the stride 96 is not a multiple of 64, where mode 1" in facts(spew.format(96))
    assert "has no result" not in facts(spew.format(64))


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        (
            "CUDA_ERROR_ILLEGAL_ADDRESS, the core has UTMALDG.2D as the faulting instruction",
            "multiple of 128",
        ),
        ("CUDA error: misaligned address at LDSM.16.M88.4", "each row's shared address is a multiple of 16"),
        ("CUDA error: misaligned address at LDG.E.128.CONSTANT", "its address is a multiple of 16"),
        ("CUDA error: an illegal instruction was encountered in tcgen05.mma", "one cta_group"),
    ],
)
def test_a_fault_says_what_its_instruction_asks(text: str, asks: str) -> None:
    assert any(asks in fact for fact in answers(text)[0].facts)


def test_the_ordinary_lines_of_a_log_hide_no_error() -> None:
    error = "========= Barrier error detected. Missing wait"
    log = "\n".join(
        f"ptxas info    : Used {n} registers, used 1 barriers, 400 bytes cmem[0]" for n in range(40)
    )
    assert [one.entry.name for one in answers(log)] == ["clean.resources"]
    found = answers(f"{log}\n{error}\n{log}")
    assert found[0].entry.name == answers(error)[0].entry.name == "sanitizer.barrier"


FAULT = "CUDA error: an illegal memory access was encountered"


def test_an_assertion_of_a_kernel_is_told() -> None:
    text = 'CUDA error: device-side assert triggered\nGroupMM.cuh:64: block: [0,0,0] Assertion `delta % align == 0 && "a multiple of 16"` failed.'
    assert "delta is a multiple of align, that is: a multiple of 16" in facts(text)
    assert facts("CUDA error: device-side assert triggered") == ""


@pytest.mark.parametrize(
    ("call", "part"),
    [
        ("gemm(x, torch.tensor([1433, 27], dtype=torch.int32), 1536)", "torch.tensor([1433, 27], dtype=torch.int32) is memory of the host"),
        ("it is inside entry.cudagraph.replay(), eager mode is right", "addresses, extents and tensor maps of the capture"),
    ],
)  # fmt: skip
def test_an_address_that_the_gpu_does_not_have_is_seen_in_the_text(call: str, part: str) -> None:
    assert part in facts(f"{call}\n{FAULT}")


@pytest.mark.parametrize(
    "call",
    [
        "gemm(x, torch.tensor([1, 2], device='cuda'))",
        "gemm(x, torch.randn(4, (8)).cuda())",
        "gemm(x, torch.zeros(4).to(dev))",
    ],
)
def test_a_tensor_of_the_gpu_is_no_cause(call: str) -> None:
    assert "of the host" not in facts(f"{call}\n{FAULT}")
