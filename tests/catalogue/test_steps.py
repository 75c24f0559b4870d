"""Where another compiler of kernels stops: its reason is found wherever the text has it, and its back end."""

from __future__ import annotations

import pytest

from layoutcheck.catalogue import answers

FRAME = 'File "/e/site-packages/triton/backends/{back_end}/compiler.py", line 304, in make_ttgir\n    run\n'
LAST = "RuntimeError: PassManager::run failed"
STATEMENT = "triton.compiler.errors.CompilationError: at 24:12:\n    x = tl.load(ptr + offs)\n        ^\n"


def told(text: str) -> str:
    answer = answers(text)[0]
    return " ".join((answer.title, answer.cause, *answer.facts, answer.remedy))


@pytest.mark.parametrize(
    ("text", "reason", "helps"),
    [
        ("a.py:7:1: error: 'tt.dot' op requires the same encoding\n" + LAST, "same encoding", "release"),
        (f"{LAST}\nUnsupported DotOp found when converting TritonGPU to LLVM", "Unsupported DotOp", "sm_89"),
        ("LLVM ERROR: Fatal pipeliner error\n" + LAST, "Fatal pipeliner error", "num_stages=1"),
        (STATEMENT + 'ValueError("arange\'s range must be a power of 2")', "power of 2", "next_power_of_2"),
        (
            "ValueError: type fp8e4nv not supported in this architecture\n\nThe above exception was the "
            f"direct cause of the following exception:\n\n{STATEMENT}",
            "fp8e4nv not supported",
            "sm_89",
        ),
    ],
)
def test_the_reason_is_found_above_and_behind(text: str, reason: str, helps: str) -> None:
    assert reason in answers(text)[0].title and helps in told(text)


def test_a_failed_pass_without_its_reason_says_where_that_stands() -> None:
    text = FRAME.format(back_end="nvidia") + LAST
    assert "printed before the traceback" in told(text) and "ttgir" in told(text)
    named = "note: Pipeline failed while executing [`TritonGPUPipeline` on 'tt.func' operation: @my_kernel]\n"
    assert "in the pass TritonGPUPipeline of the kernel my_kernel" in told(named + text)


@pytest.mark.parametrize(
    ("back_end", "project"),
    [
        ("nvidia", "triton-lang/triton"),
        ("intel", "intel/intel-xpu-backend-for-triton"),
        ("amd", "ROCm/triton"),
        ("ascend", "triton-lang/triton-ascend"),
        ("mlu", "the vendor of that back end"),
    ],
)
def test_the_back_end_of_triton_is_told_apart(back_end: str, project: str) -> None:
    assert f"Report it to {project}" in told(FRAME.format(back_end=back_end) + LAST).replace(
        "triton-lang/triton, or ", ""
    )


def test_a_word_of_amds_runtime_is_no_architecture_of_nvidias() -> None:
    text = told("RuntimeError: Triton Error [HIP]: Code: 209, no kernel image is available for execution")
    assert "rocminfo" in text and "CUTE_DSL_ARCH" not in text


@pytest.mark.parametrize(
    ("limit", "gpus"), [(65536, "sm_75"), (101376, "sm_86, sm_88, sm_89"), (232448, "sm_90, sm_100")]
)
def test_the_limit_of_shared_memory_names_the_gpus(limit: int, gpus: str) -> None:
    text = f"OutOfResources: out of resource: shared memory, Required: 300000, Hardware limit: {limit}. "
    text = f"triton.runtime.errors.{text}"
    assert f"{300000 - limit:,} B too many" in told(text) and gpus in told(text)
    assert "num_stages" in told(text) and "SmemAllocator" not in told(text)
