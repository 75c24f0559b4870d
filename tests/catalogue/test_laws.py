# ruff: noqa: E501 (texts as people write them)
"""Reports in a person's words: the laws that they call for, what they say of their cause, what their code decides."""

from __future__ import annotations

import pytest

from layoutcheck.catalogue import answers, laws, snippets


def told(text: str) -> str:
    (found,) = answers(text)
    return " ".join((found.title, found.cause, *found.facts))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("my cp.async is predicated off in some threads, and they still write out of bounds of smem", "still writes zeros"),
        ("does a tiled_copy in CuTe loop internally, or must I call copy for each CPY_M?", "loops by itself"),
        ("two warpgroups consume one stage: which size has the CooperativeGroup of the consumer? 2 hangs", "counts warps"),
        ("can wgmma read an operand in the shared memory of another CTA of the cluster?", "of its own block only"),
        ("our elementwise op faults for tensors over 2^31 elements, offsets are int32", "wraps beyond 2^31"),
        ("ncu hangs on the nccl allreduce kernel, how do I profile it?", "replays each several times"),
        ("calling the @cute.jit function costs a lot, CuTe DSL launch overhead is 3 ms", "keep what it returns"),
        ("the fp8 output has a max diff of 448.0 against the reference", "E4M3 ends at 448"),
        ("racecheck is silent, but with printf the result is right and without it is wrong", "depends on timing"),
        ("what does retile_S do, I do not understand it", "move nothing"),
    ],
)  # fmt: skip
def test_the_words_of_a_report_call_for_its_law(text: str, part: str) -> None:
    assert part in told(text)


def test_the_symptom_decides_between_the_laws_of_one_thing() -> None:
    text = "my ldmatrix of a swizzled tile has bank conflicts"
    assert laws.find(text, "slow") != laws.find(text, "build")
    assert any("8 rows of 16 bytes" in law.says for law in laws.find(text, "slow"))


def test_what_a_report_says_of_its_cause_is_told_and_counts_more() -> None:
    text = (
        "Random results in my GEMM.\nIt is right if I add cp_async_wait<0>() and __syncthreads() at the end."
    )
    assert (
        "the text itself says: It is right if I add cp_async_wait<0>() and __syncthreads() at the end."
        in told(text)
    )
    assert laws.claims("I think it is the swizzle. It turns out that the stride is 3.") == (
        "It turns out that the stride is 3.",
    )
    assert laws.claims("I think it is the swizzle.") == ("I think it is the swizzle.",)
    assert laws.claims("How does it work?") == ()


@pytest.mark.parametrize(
    "text", ["hello, the weather is fine", "the race starts at ten", "We met when it rained."]
)
def test_other_prose_calls_for_no_law(text: str) -> None:
    assert laws.find(text, "ask") == []
    assert answers(text) == []


def test_the_code_of_a_report_is_read() -> None:
    cpp = (
        "auto thr = make_layout(make_shape(Int<32>{}, Int<8>{}));\nauto val = Layout<Shape<_4,_1>>{};\n"
        "make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, thr, val); Swizzle<3,2,3>{}"
    )
    copy, swizzle = snippets.facts(cpp)
    assert "256 threads x 4 values: it covers (128,8)" in copy and "LC215" in copy
    assert "4 elements together" in swizzle and "M has to be 3 or more" in swizzle
    dsl = (
        "a = cute.make_copy_atom(op, cutlass.Float16, num_bits_per_copy=32)\n"
        "t = cute.make_layout((4, 32), stride=(32, 1))\nv = cute.make_layout((1, 4))\nc = cute.make_tiled_copy_tv(a, t, v)"
    )
    (covered,) = snippets.facts(dsl)
    assert (
        covered.removeprefix("the tiled copy has ")
        == "128 threads x 4 values: it covers (4,128); one instruction moves 2 elements"
    )
    flagged = "ComposedLayout<Swizzle<3,4,3>, smem_ptr_flag_bits<16>, Layout<Shape<_8,_64>>> of half_t"
    assert snippets.facts(flagged) == (
        "Swizzle<3,4,3> of a pointer keeps 16 bytes together and repeats after 1024",
    )
    assert snippets.facts("make_tiled_copy(atom, thr, val) make_layout(M, N) Layout<Shape<_4") == ()


def test_what_is_only_compared_with_takes_no_report() -> None:
    (found,) = answers(
        "our CuTe DSL softmax is 0.6x slower than Triton on H100, vectorized loads are missing"
    )
    assert "triton-lang" not in found.remedy
    (blamed,) = answers(
        "vLLM crashes with CUDA illegal memory access. It is traced to: flag_ops/ops/index.py"
    )
    assert "flag_ops" in blamed.remedy and "vllm" not in blamed.remedy
