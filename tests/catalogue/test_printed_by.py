# ruff: noqa: E501 (texts as they are printed)
"""Whose words a pasted text is, by its structure: conditions in words, frames, the line that tells most."""

from __future__ import annotations

import pytest

from layoutcheck.catalogue import answers, demands, filling, frames, guards, origin, tables, telling
from layoutcheck.errors import InputError
from layoutcheck.sources.diagnostics import read_errors


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("n % 64 == 0 and k % 128 == 0", "n is a multiple of 64 and k is a multiple of 128"),
        ("(stride[1] & 0b1111) == 0", "stride[1] is a multiple of 16"),
        ("x & 12 == 0", "x & 12 is 0"),
        ("dim == 2 or dim == 3", "dim is 2 or dim is 3"),
        ("q.is_cuda && k->size() == 3", "q is on a GPU and k.size() is 3"),
        ("out is not None", "out is given"),
        ("scale != nullptr", "scale is given"),
        ("q.stride(-1) == 1", "the elements of q are adjacent in memory along mode -1"),
        ("x.dim() == 2", "x has 2 dimensions"),
        ("w.is_contiguous()", "w is contiguous"),
        ("0 < n <= 256", "0 is less than n and n is at most 256"),
        (
            "all(t.dtype in types for t in (q, k))",
            "t.dtype is one of types, for each t of (q, k)",
        ),
        ("!causal", "`causal` is false"),
        ('len(names) == 1, f"too many: {names}"', "the length of names is 1"),
        ("this is no condition", ""),
        ("a + b", ""),
        ("cute::is_same_v<ElementA, Stride<_0, _1>>", "ElementA is Stride<0, 1>"),
        (
            "decltype(size<1>(tAgA) == size<1>(tAsA))::value",
            "the size of mode 1 of tAgA is the size of mode 1 of tAsA",
        ),
        ("!(Shape::kRow % kRows)", "Shape.kRow is a multiple of kRows"),
        (
            "is_smem<SrcEngine>::value || is_gmem<SrcEngine>::value",
            "SrcEngine is in shared memory or SrcEngine is in global memory",
        ),
        ("rank(SmemLayoutAtomA{}) == Int<2>{}", "the number of modes of SmemLayoutAtomA is 2"),
        ("0 < Stages && Stages <= 4u", "0 is less than Stages and Stages is at most 4"),
        ("dependent_false<T>", ""),
    ],
)
def test_a_condition_in_words(condition: str, words: str) -> None:
    assert guards.in_words(condition) == words


_HEADER = "/opt/cutlass/include/cute/algorithm/gemm.hpp"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'{_HEADER}(241): error: static assertion failed\n      static_assert(rank(tA) == Int<2>{{}});\n  ^', "the number of modes of tA is 2; for these"),
        (f'{_HEADER}(241): error: static assertion failed with "Static assertion failed"\n  CUTE_STATIC_ASSERT_V(size<1>(tA) == size<1>(tB));', "the size of mode 1 of tA is the size of mode 1 of tB"),
        (f"{_HEADER}:241:5: error: static assertion failed\n 241 | static_assert(kA == kB);\nnote: the comparison reduces to '(4 == 8)'", "kA is kB; here it is 4 == 8"),
        (f"{_HEADER}(241): error: static assertion failed\n   static_assert(dependent_false<T>);", "none of the cases"),
    ],
)  # fmt: skip
def test_an_assertion_of_cute_without_a_message_tells_its_condition(text: str, told: str) -> None:
    """And is CuTe's about the user's own template arguments, not another library's."""
    (answer,) = answers(text)
    assert answer.entry.name == "cpp.other-assertion" and told in answer.cause, answer
    assert "without a message" in answer.title


def test_every_way_to_fill_a_row_is_used_and_none_is_missing() -> None:
    assert {entry.fill for entry in (*tables.ENTRIES, *tables.SYMPTOMS) if entry.fill} == set(filling.WAYS)


@pytest.mark.parametrize(
    ("condition", "part"),
    [
        ("q.dtype == k.dtype", ".to(torch.bfloat16)"),
        ("q.is_cuda", ".to('cuda')"),
        ("self.dtype is not None", "belong together"),
        ("x.stride(0) == 1", ".contiguous()"),
        ("k % 64 == 0", "Pad"),
        ("ab.scalar_type() == kPackedFP4 and arch_major == 10", "of 10 B200 and B300"),
        ("a > b", ""),
    ],
)
def test_what_makes_a_condition_hold(condition: str, part: str) -> None:
    helps = guards.met_by(condition)
    assert part in helps and bool(part) == bool(helps)


SITE = "/usr/lib/python3.12/dist-packages"
TORCH = f'File "{SITE}/torch/_ops.py", line 854, in __call__ return self._op(*args)'


@pytest.mark.parametrize(
    ("text", "package", "project"),
    [
        (
            f'File "{SITE}/vllm/_custom_ops.py", line 6, in f x() {TORCH} RuntimeError: bad',
            "vLLM",
            "vllm-project/vllm",
        ),
        (
            'File "/x/site-packages/deep_gemm-1.0-py3.11.egg/deep_gemm/gemm.py", line 1, in f assert n == 2 AssertionError',
            "DeepGEMM",
            "deepseek-ai/DeepGEMM",
        ),
        (
            'File "/root/.cache/huggingface/modules/transformers_modules/m.py", line 1, in f ValueError: no',
            "the model's own code",
            "page",
        ),
        (
            'File "/tmp/torchinductor_u/ab/c.py", line 9, in call NameError: name',
            "PyTorch (code that Inductor wrote)",
            "pytorch/pytorch",
        ),
        (
            "flash_attn/cute/interface.py:534: in flash_attn_func E AssertionError: no",
            "FlashAttention",
            "Dao-AILab/flash-attention",
        ),
        ("File /x/site-packages/quack/gemm.py:181, in gemm(a, b) ValueError: no", "QuACK", "Dao-AILab/quack"),
        (
            'File "C:\\\\venv\\\\Lib\\\\site-packages\\\\sglang\\\\srt.py", line 2, in f ValueError: no',
            "SGLang",
            "sgl-project/sglang",
        ),
        ('File "/home/me/train.py", line 3, in <module> ValueError: no', "your program", "that line"),
        (f"{TORCH} RuntimeError: bad", "a Python library", "does not say"),
    ],
)
def test_the_innermost_frame_that_computes_says_whose_it_is(text: str, package: str, project: str) -> None:
    found = frames.find(text)
    assert found is not None
    assert found.package == package and project in found.whose


@pytest.mark.parametrize(
    ("text", "world", "project", "evidence"),
    [
        ("triton.compiler.errors.CompilationError: at 3:1: no", "compiler", "triton-lang/triton", "its class is triton.compiler.errors.CompilationError"),
        ("error: 'ttg.local_load' op operand #0 of cutlass must fit", "compiler", "triton-lang/triton", "ttg.local_load is of its dialect"),
        ("error: 'cute.gemm' op operand #0 of triton must fit", "dsl", "NVIDIA/cutlass", "cute.gemm is of its dialect"),
        (f'File "{SITE}/vllm/a.py", line 1, in f raise ValueError("cute") ValueError: cute', "library", "vllm-project/vllm", "vllm/a.py is its file"),
        (f'File "{SITE}/vllm/a.py", line 1, in f x(cute) DSLRuntimeError: cute', "dsl", "NVIDIA/cutlass", "its class is DSLRuntimeError"),
        ('File "/usr/lib/python3.12/inspect.py", line 1, in f raise OSError() OSError: no', "library", "", ""),
        ("/w/lib/third_party/cutlass/include/cute/a.hpp(3): error: no", "cpp", "lib", "cutlass/include/cute/a.hpp is its file"),
        ("/w/flash_attn/a.cu(3): error: no", "cpp", "Dao-AILab/flash-attention", "/w/flash_attn/a.cu is its file"),
        ("vLLM cannot start", "named", "vllm-project/vllm", "its words are in the text"),
        ('ERROR: relation "tensors" does not exist', "foreign", "whoever", ""),
        ("the kernel fails", "", "", ""),
    ],
)  # fmt: skip
def test_the_origin_is_decided_by_what_shows_it_most(
    text: str, world: str, project: str, evidence: str
) -> None:
    found = origin.find(text)
    assert (found.world, found.evidence) == (world, evidence)
    assert found.project.startswith(project) and bool(found.project) == bool(project)


def test_a_program_answers_only_with_what_it_prints() -> None:
    """The same words in another dialect are another compiler's; in a compile log no code of CUDA has been returned."""
    words = "op failed to verify"
    (ours,) = answers(f"error: 'cute_nvgpu.make_umma_smem_desc' {words}")
    (other,) = answers(f"error: 'ttng.make_umma_smem_desc' {words}; cute")
    assert ours.entry in tables.DSL and other.entry not in tables.DSL
    assert "triton-lang/triton (ttng.make_umma_smem_desc is of its dialect)" in other.remedy


def test_frames_below_an_exception_are_of_a_later_one() -> None:
    text = (
        f'File "{SITE}/transformer_engine/a.py", line 1, in f assert ( AssertionError: FlashAttention maximum version 2.5.8 is supported. '
        'During handling of the above exception, another exception occurred: Traceback (most recent call last): File "/w/megatron/b.py", line 2, in g'
    )
    found = frames.find(text)
    assert found is not None
    assert found.package == "Transformer Engine"
    assert found.said == "FlashAttention maximum version 2.5.8 is supported."


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (
            f'File "{SITE}/flashinfer/prefill.py", line 374, in get_module module = build()',
            "prefill.py:374 get_module, of FlashInfer",
        ),
        (
            "Exception raised from mha_fwd at /w/flash_attn/flash_api.cpp:566 (most recent call first):",
            "mha_fwd at flash_api.cpp:566, of FlashAttention",
        ),
        (
            "RuntimeError Traceback (most recent call last) /x/site-packages/quack/a.py in f(self, x) 17 return g()",
            "a.py f, of QuACK",
        ),
    ],
)
def test_a_traceback_without_its_end_is_told(text: str, part: str) -> None:
    (answer,) = answers(text)
    assert answer.entry.name == "elsewhere.cut-traceback" and part in answer.title
    assert "Paste" in answer.remedy


@pytest.mark.parametrize(
    ("said", "part"),
    [
        ("q must have dtype torch.bfloat16, got torch.float32", "another element type"),
        ("Invalid activation type.", "combination of options"),
        ("weight must be on the same device as input", "on the CPU or on another GPU"),
        ("quack requires nvidia-cutlass-dsl>=4.6.2", "another package"),
        ("K must be divisible by 64", "whole tiles"),
        ("block-sparse requires q_dtype == kv_dtype", ""),
        ("only supported on SM100", "certain GPUs"),
        ("head_dim 576 is not supported on SM90", "extents"),
        ("Only 91.3% of elements within tight tolerance", "reference"),
        ("run_kernel requires generate_inputs first", "A step that has to come before"),
        ("TMA gather requires gather_A=True", "without another that it goes with"),
        ("routing_bias are only consumed by in-kernel routing", "without another that it goes with"),
        ("inputs must be a list or tuple", "another form or value"),
        ("K mismatch: a has 64, b has 128", "extents"),
        ("weight must live on cuda:1", "on the CPU or on another GPU"),
        ("fault tolerance is off", ""),
    ],
)
def test_what_a_library_asks_for(said: str, part: str) -> None:
    found = demands.demand(said)
    assert (part in found.cause) if part and found else not part


def test_the_line_that_tells_most() -> None:
    log = "step 1\nFAILED: a.o\nk.cu(7): error: expected a ;\nk.cu(9): error: later\nninja: build stopped: subcommand failed."
    assert telling.line(log) == "k.cu(7): error: expected a ;"
    assert telling.line("ValueError: first\nwarn\nKeyError: last") == "KeyError: last"
    assert telling.line("all is well\nstep 2") == ""


def test_a_text_of_nobody_is_quoted() -> None:
    with pytest.raises(
        InputError, match="layoutcheck does not know this message: the frobnicator failed"
    ) as raised:
        read_errors("starting up\nthe frobnicator failed to start\n")
    assert "last frame" in str(raised.value)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("height divisible by 8 and width divisible by 16, but got dims=[37, 768]", ("37 is no multiple of 8: the next is 40", "37 is no multiple of 16: the next is 48")),
        ("head_dim must be at most 256, got 512", ("512 is more than 256",)),
        ("expects N to be a multiple of 8, but got 64", ()),
        ("K must be a multiple of 64", ()),
        ("must be at most 4.5, got version 4.8.1", ()),
    ],
)  # fmt: skip
def test_the_values_of_a_message_are_measured_by_what_it_asks(said: str, told: tuple[str, ...]) -> None:
    assert demands.broken(said) == told


def test_a_message_about_multiples_is_no_message_about_types() -> None:
    (answer,) = answers("AssertionError: FP8 requires a width divisible by 16, but got dims=[37, 768]")
    assert "whole tiles" in answer.cause and "37 is no multiple of 16: the next is 48" in answer.facts


def test_a_note_that_names_a_library_is_sent_to_it() -> None:
    (answer,) = answers("I found that flash_attn_cute has head_dim 128 on B200 and none of 64")
    assert answer.title.startswith("a text without an error that names FlashAttention")
    assert "states no error" in answer.cause and "Dao-AILab/flash-attention" in answer.remedy


def test_a_launch_failure_follows_from_the_kernels_own_assertion() -> None:
    """The kernel's library takes it, and not what launched it."""
    (answer,) = answers(
        "Assertion failed: deep_gemm/include/impls/smxx_layout.cuh:131, condition: n % 4 == 0\n"
        "tvm.error.InternalError: CUDA driver error (smxx_layout.hpp:72): 719 (CUDA_ERROR_LAUNCH_FAILED)"
    )
    assert answer.entry.name == "elsewhere.device-assertion" and "n is a multiple of 4" in answer.cause
    assert "smxx_layout.cuh:131" in answer.cause and "deepseek-ai/DeepGEMM" in answer.remedy


@pytest.mark.parametrize(
    ("said", "entry", "part"),
    [
        ("Sm80 EVT does not support Array Gemm.", "cpp.other-assertion", "has no form for what the message names"),
        ("A tensor must be gmem resident.", "cpp.other-assertion", "another memory space"),
        ("SmemLayout must be rank 3 (M/N, K, PIPE)", "cpp.other-assertion", "number of modes"),
        ("CUTLASS GEMM kernel failed: 7", "cpp.launch-refused", "another architecture"),
        ("Gemm::can_implement() failed", "cpp.can-implement", "strides and alignments"),
        ("CUTLASS's Ada FP8 GEMM example requires a device of compute capability 89 or higher.", "elsewhere.gpu-too-old", "targets of a build"),
        ("ERROR - results miscompared.", "results-differ", "wrong place"),
    ],
)  # fmt: skip
def test_what_cutlass_prints_is_answered_without_the_lines_around_it(
    said: str, entry: str, part: str
) -> None:
    (answer,) = answers(said)
    assert answer.entry.name == entry and part in answer.cause


@pytest.mark.parametrize(
    "said",
    [
        "must the TileShape of my kernel be larger?",  # a question
        "N must be a multiple of 8.",  # whose?
        "LayoutError: the TileShape must divide",  # of a program that says who it is
    ],
)
def test_other_demands_are_no_assertions_of_cutlass(said: str) -> None:
    assert all(one.entry.name != "cpp.other-assertion" for one in answers(said))


def test_a_condition_in_a_log_that_goes_on_behind_it_is_read() -> None:
    said = "RuntimeError: Failed: Assertion error /w/csrc/deep_ep.cpp:629 'num_tokens % 8 == 0'"
    (answer,) = answers(said + "\nloaded shard 7 of 900, 12.3 GiB in epoch 3" * 40)
    assert answer.cause == "It must hold that num_tokens is a multiple of 8; here it does not."


@pytest.mark.parametrize(
    ("text", "project"),
    [
        # mentions, of what a person compares with, calls or has installed
        ("My cute kernel has wrong results when the shape is dynamic, and right ones when it is static. I print the offsets of all threads, which are the same for both, and the strides. I have no more ideas of what could be the cause. I pass a PyTorch tensor, and vLLM is installed too.", ""),
        ("The layout of my cute kernel gives wrong results, and I cannot see which of its modes is in the wrong place: all of them look as I mean them, when they are printed. After a while I looked at how others write such a kernel: the one of " "flash_attn/cute/flash_fwd.py and that of TileLang have another swizzle, and both seem to be right for the same shapes.", ""),
        # what it is about
        ("TileLang gives wrong results when I copy a view.", "tile-ai/tilelang"),
        ("I get wrong results where sequence lengths differ from the block size, for the example of the documentation that I copied here, which " "should be right for any length, as far as I can see from its text and comments.\nimport jax\nfrom jax.experimental import pallas", "jax-ml/jax"),
    ],
)  # fmt: skip
def test_the_project_of_prose_is_what_it_is_about(text: str, project: str) -> None:
    owner = origin.find(text.replace("\n", " ")).owner
    assert (owner.project if owner else "") == project
