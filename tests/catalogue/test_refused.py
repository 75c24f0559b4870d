# ruff: noqa: E501 (messages as they are printed)
"""Messages without an entry are answered by their kind and by what refuses. All are as DSL 4.8.1 prints them."""

from __future__ import annotations

import re

import pytest

from layoutcheck.catalogue import answers, installed, raised, refused

KINDS = {
    "Enforce sparsity S": "sparsity",
    "TMEM MMA allocations require StorageType big enough for ValueType.": "room",
    "Arithmetic tuple op+ error!": "unhandled",
    "No static/dynamic overlap allowed in MixedBits.": "overlap",
    "expects a pointer to an mbarrier to be provided via the tma_bar_ptr kw argument": "missing",
    "expects an input with static shape, but got '!cute.layout<\"(?,8):(1,?)\">'": "static",
    "expects end in the range of [-rank+1 , rank], but got end [5] and rank [2]": "mode",
    'mode [4] has invalid values for input type !cute.layout<"(128,64):(64,1)">': "mode",
    "elements in mode must be less than rank((128,64):(64,1)), got [5]": "mode",
    "expects target shape and order operands have same rank, but got (128,64) vs (0,1,2)": "rank",
    "cta_layout_vmnk must be rank 4, but got (2,1):(1,0)": "rank",
    "expects rank-3 MNK atom layout, but got (2,2):(1,2)": "rank",
    "failed to verify that rank must be a positive integer": "value",
    "Alignment must be a power of 2": "choice",
    "size must be non-negative": "choice",
    "expects the M-mode to be 64 or 128, but got 96": "choice",
    "expects the 'ab_dtype' Op parameter to be one of Float16 or BFloat16": "element type",
    "expects atom and input memref to have the same element size but got 'f32' for the atom while tmem memref type is 'f16'": "element type",
    "expects A/B of the same type (mixed integer signedness is allowed), but got A: 'f16', B: 'f32'": "element type",
    "expects rmem for input operands, but got A: '!cute.memref<f16, gmem, align<16>, \"(8,1):(1,0)\">'": "memory space",
    "operand #0 must be LLVM pointer in address space 3, but got '!llvm.ptr<1>'": "memory space",
    "shared-memory operand stride at mode 1 is 16 bits, not a multiple of the required 128-bit TMA smem alignment": "alignment",
    "CTA tile for FP6 ElementD must have a contiguous extent that is a multiple of 128.": "multiple",
    "expects A's M == D'M and B's N == D'N": "size",
    "src_shape and target_shape must be the same when src_shape is not 1, but got 4 and 3": "size",
    "expects inputs that are congruent, but got '!cute.coord<\"(1,2)\">' and '!cute.coord<\"(3)\">'": "nesting",
    "Expected Shape, which is a positive integer or tuple of Shapes, but got tensor<ptr<f16, gmem, align<16>> o 8:1>": "argument",
    "src must be a Layout or ComposedLayout or Tensor, got <class 'tuple'>": "argument",
    "expects a bulk tensor (TMA) Copy Op, but got universal Copy Operation": "argument",
    "tensor<ptr<f16, gmem, align<16>> o (128,64):(64,1)> to integer conversion is not supported": "one value",
    "Cannot convert <cutlass.cute.arch.elect.IfOpRegion object at 0x7f9320a06290> to Boolean": "one value",
    "Vector is immutable. Element assignment (vec[i] = value) is not supported": "read-only",
    'failed to perform a valid division of \'!cute.layout<"(12,10):(59,13)">\' by #cute.layout<"5:7">': "division",
    "expects arch to be at least sm_90, but got sm_80": "architecture",
    "using value defined outside the region": "region",
    "Could not build a collective epilogue for given parameters.": "combination",
    "Expected smem src for SM90_TMA_REDUCE_ADD": "memory space",
    "bulk copy src expects shared based memref, but got !cute.memref<f16, gmem>": "memory space",
    'expects LayoutType tiler, but got !cute.shape<"(8,8)">': "argument",
    "expects 1 src operand (smem) and 2 dst operands (gmem + coord), got 1 and 1": "operands",
    "GATHER4 mode requires 5 coordinates": "operands",
    ". MMA, TMEM allocation, and S2T copy operations must all use the same CTA group.": "CTA group",
    "Must have 3 inputs with a0tx and multicast": "CTA group",
    "!cute.atom.tma_load must have mcast=true.": "CTA group",
    "expects the coord to have no underscore, but got (_,0)": "underscore",
    "Failed to perform TMA tensor analysis": "pass",
    "expected TMA atom to belong to a function": "pass",
    "when using `!cute_nvgpu.atom.universal_copy`, copy_bits must not be 0.": "atom",
    "expects block layout to have 128B 1st mode, but got": "layout",
    "unable to recast layout": "algebra",
    "Signed integer literal 300 does not fit in i8": "number",
    "Cannot convert float NaN to integer": "number",
    "num_columns must be between 32 and 512, and must be pow of 2 except for arch-specific exceptions (sm_107), but got 48": "value",
    "n_dim=12 out of range: must be a multiple of 8 in [8, 256]": "value",
    "Invalid value for environment variable CUTE_DSL_X=a. Expected a base-10 integer": "value",
    "sparse_id2 must be in [0, 3], got 4": "value",
    "Unsupported block-scaled tcgen05 input dtype: f64": "element type",  # the 5 is no count of inputs
    "Sm80 EVT does not support Array Gemm.": "unsupported",
    "ElementA and ElementB must match.": "element type",
    "tcgen05.ld: offset is only valid for '16x32bx2', not '32x32b'": "together",
}


@pytest.mark.parametrize(("said", "kind"), KINDS.items(), ids=list(KINDS.values()))
def test_a_message_has_its_kind(said: str, kind: str) -> None:
    found = refused.kind(said)
    assert found is not None and found.name == kind


def test_every_kind_is_met() -> None:
    assert {kind.name for kind in refused.KINDS} - set(KINDS.values()) <= {"swizzle", "divisor"}
    assert refused.kind("the copy took 3 ms") is None


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            'failed to perform a valid division of \'!cute.layout<"(12,10):(59,13)">\' by #cute.layout<"5:7">',
            "stride divisibility fails in mode 0",
        ),
        (
            "unable to compute crd2idx with '!cute.layout<\"(128,64):(64,1)\">' and '!cute.coord<\"(1,2,3)\">'",
            "coordinate (1,2,3) does not fit shape (128,64)",
        ),
        ("unable to compute the following composition: (8,4):(4,1) o 6:2", "(8,4):(4,1) o 6:2"),
    ],
)
def test_operands_in_the_text_are_evaluated(said: str, reason: str) -> None:
    (first, *_) = answers(f"error: unknown: {said}")
    assert reason[1:] in first.cause
    assert not any(reason in fact for fact in first.facts)


def test_operands_that_only_the_run_knows_are_not_evaluated() -> None:
    assert refused.reason('division of \'!cute.layout<"(12,10):(59,13)">\' by #cute.tile<"x:x">') is None
    assert refused.reason("following composition: (8,4):(4,1) o 4:1") is None  # it has a result


@pytest.mark.parametrize(
    ("said", "where", "part"),
    [
        ("expects the M-mode to be 64 or 128", "cute/nvgpu/tcgen05/mma.py:495 MmaOp", "numerics units"),
        ("expects a pointer to an mbarrier", "cute/nvgpu/cpasync/copy.py:251 unpack", "tma_bar_ptr"),
        ("Unsupported agent type", "pipeline/helpers.py:130 CooperativeGroup", "count of arrivals"),
        ("expected a Pointer, but got 3", "cute/core.py:360 f", "layout.shape is a shape"),
        ("expects target shape and order to have the same rank", "", "logical_divide"),
    ],
)
def test_what_refuses_says_what_helps(said: str, where: str, part: str) -> None:
    assert part in refused.answer(said, where)[1]


needs_dsl = pytest.mark.skipif(not installed.files(), reason="needs nvidia-cutlass-dsl")


@needs_dsl
@pytest.mark.parametrize(
    ("text", "entry", "fact"),
    [
        (
            "TypeError: copy() missing 1 required positional argument: 'dst'",
            "dsl.call",
            "copy(atom, src, dst",
        ),
        (
            "TypeError: MmaF16BF16Op.__init__() missing 3 required positional arguments: 'a_src', 'a_major_mode', and 'b_major_mode'",
            "dsl.call",
            "a_src, a_major_mode, b_major_mode",
        ),
        (
            "TypeError: PipelineTmaAsync.create() missing 1 required keyword-only argument: 'tx_count'",
            "dsl.call",
            "PipelineTmaAsync.create(",
        ),
        ("AttributeError: '_Tensor' object has no attribute 'permute'", "dsl.no-member", "tensor.iterator"),
        (
            "AttributeError: 'int' object has no attribute 'to_llvm_ptr'",
            "dsl.given-python",
            "Pointer.to_llvm_ptr",
        ),
        ("ValueError: 3 is not a valid Repetition", "dsl.enumeration", "x128"),
        (
            "AttributeError: module 'cutlass.cute.arch' has no attribute 'threadIdx'",
            "dsl.api-moved",
            "thread_idx",
        ),
        ("TypeError: 'tuple' object is not callable", "dsl.python-types", "make_layout(shape"),
    ],
)
def test_the_installed_dsl_is_looked_up(text: str, entry: str, fact: str) -> None:
    (first, *_) = answers(text)
    assert first.entry.name == entry
    assert any(fact in one for one in first.facts), first.facts


@needs_dsl
def test_a_call_of_another_library_is_not_the_dsls() -> None:
    (first,) = answers("TypeError: load_checkpoint() missing 1 required positional argument: 'path'")
    assert first.entry.name == "elsewhere.argument-missing"


@needs_dsl
def test_a_message_that_is_put_together_is_found() -> None:
    """`message = f"..."`, `message += "..."`, raised under its name; and one whose words stand between values."""
    found = raised.find(
        "ValueError: num_columns must be between 32 and 512, and must be pow of 2 except for arch-specific exceptions "
        "(e.g., exclusive allocation for sm_107), but got 100."
    )
    assert found is not None and found.function.startswith("alloc_tmem")
    short = raised.find("AssertionError: pointer must be 16 bytes aligned")
    assert short is not None and short.place.startswith("cute/runtime.py")


@needs_dsl
def test_statements_that_fit_alike_are_all_named_unless_the_text_names_one() -> None:
    said = "error: expects the 'num_matrices' Op parameter to be one of [1,2,4]"
    alone, named = raised.find(said), raised.find(f"{said} --> k.py:3 | warp.StMatrix8x8x16bOp(False, 8)")
    assert alone is not None and " (or " in alone.called
    assert named is not None and named.called == "StMatrix8x8x16bOp"


def test_the_dsls_own_code_comes_before_other_readings() -> None:
    (first,) = answers(
        "DSLUserCodeError: error[LAUNCH_INVALID_DIMENSION]: Launch grid dimension at position 0 must be an integer, but got "
        "<class 'float'>. --> k.py:3:26 suggestion: Ensure all elements of grid are integers, e.g. `grid=[1, 256, 1]`."
    )
    assert first.entry.name == "dsl.coded" and "A float comes of `/`" in first.cause


@needs_dsl
def test_a_message_worded_by_another_version_is_found() -> None:
    (first,) = answers("TypeError: expects input of type Layout, but got <class 'nanobind.nb_type_0'>")
    assert first.entry.name == "dsl.raised" and "right_inverse" in first.title


def test_modes_of_run_time_extents_that_follow_one_another_are_named() -> None:
    said = "following composition: '!cute.layout<\"(192,?):(1,{})\">' o '!cute.layout<\"(256,192):(1,256)\">'"
    found = refused.reason(said.format(192))
    assert found is not None and "the result is (256,192):(1,256)" in found and "cute.size(layout)" in found
    assert "the result is" not in (refused.reason(said.format(200)) or "")


GEMM = "'cute.gemm' op refuses note: \"cute.gemm\"(%1, %2, %3) : (!cute.tiled_mma<x>, {}) -> ()"


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (("((2,2),2,4)", "((2,2,2),2,4)", "((2,2),2,4)"), ("N is 4 in D, 2 in B",)),
        (("(4,2,2)", "(8,4,4)", "(4,2,8)"), ("M is 2 in D, 4 in A and K is 4 in A, 8 in B",)),
        (("(4,2,2)", "(8,2,4)", "(4,2,4)"), ()),
        (("(4,2,2)", "(8,2,4,3)", "(4,2,4)"), ("A has 4 modes, (8,2,4,3), and not (V,M,K)",)),
        (("(4,2,2)", "(8,?,4)", "(4,2,4)"), ("M is 2 in D, ? in A",)),
        (("(4,2,2)", "(8,2,4)"), ()),
    ],
)
def test_which_extents_of_a_gemm_differ(shapes: tuple[str, ...], said: tuple[str, ...]) -> None:
    strides = {shape: re.sub(r"[0-9?]+", "0", shape) for shape in shapes}
    printed = ", ".join(f'!cute.memref<f16, rmem, align<16>, "{one}:{strides[one]}">' for one in shapes)
    told = refused.product(GEMM.format(printed))
    assert tuple(one.partition(" (in")[0] for one in told) == said
    assert refused.product(printed) == ()


@pytest.mark.parametrize("bombs", ["", "\U0001f4a5\U0001f4a5\U0001f4a5 "])
def test_what_the_dsl_prints_around_an_exception_is_not_its_title(bombs: str) -> None:
    raised = "expected tiler to be weakly congruent to layout, but got (8,(16,2)) and (128,64):(64,1)"
    wrapped = f"DSLRuntimeError: {bombs}Error during runtime code generation for function `kernel` {bombs}\n  Caused exception: {raised}"
    (answer,) = answers(wrapped)
    assert raised in answer.title
    assert "code generation" not in answer.title
    assert answer.cause.startswith(
        "Mode 1 of tiler (16,2) has 2 modes where mode 1 of the layout has the one extent 64. "
    )
