"""Texts that an independent judge ran, and what their answers must and must not say."""

from __future__ import annotations

import pytest

from layoutcheck import versions
from layoutcheck.catalogue import Answer, answers, codes, dsl_names, installed

needs_dsl = pytest.mark.skipif(not installed.files(), reason="needs the DSL")


def said(text: str) -> str:
    """Everything that the first answer says."""
    found: Answer = answers(text)[0]
    return " ".join((found.title, found.cause, *found.facts, found.remedy))


def named(text: str) -> str:
    return answers(text)[0].entry.name


@pytest.mark.parametrize("number", [2, 201, 801, 999])
def test_a_code_beside_a_tensor_map_that_is_not_1_is_no_fault_of_the_map(number: int) -> None:
    text = f"Using FlashInfer GDN prefill kernel\nFailed to initialize the TMA descriptor {number}"
    assert named(text) == "driver.tensor-map-code"
    assert f"error {number}" in said(text) and "multiples of 16" not in said(text)


@pytest.mark.parametrize("number", [700, 702, 710, 714, 715, 716, 717, 718, 719])
def test_a_fault_beside_a_tensor_map_is_an_earlier_kernels(number: int) -> None:
    assert named(f"Failed to initialize the TMA descriptor {number}") == "cuda.earlier-fault"


@pytest.mark.parametrize(
    "text",
    ["Failed to initialize the TMA descriptor 1", "cuTensorMapEncodeTiled failed: boxDim[0] 128 bytes"],
)
def test_a_tensor_map_that_is_refused_is_at_fault(text: str) -> None:
    assert named(text) == "driver.tensor-map"


def test_a_packed_shape_is_told_where_the_elements_have_4_bits() -> None:
    shapes = "AssertionError: Shape mismatch: torch.Size([64, {}]) vs torch.Size([64, {}])"
    four = f"assert_close(out_fp4, ref_fp4)\n{shapes.format(256, 128)}"
    assert "the text names out_fp4" in said(four) and "256 elements are 128 of storage" in said(four)
    assert "Where the elements have 4 bits" in said(shapes.format(128, 256))
    assert "4 bits" not in said(shapes.format(256, 192))
    assert "pytorch" not in said(four).lower()


def test_a_check_of_the_program_is_not_sent_to_pytorch() -> None:
    told = said("AssertionError: torch.Size([3]) is wrong here")
    assert "pytorch/pytorch" not in told and "whose check it is" in told


def test_a_failed_validation_of_results_is_a_wrong_result() -> None:
    text = "RuntimeError: validation failed: full_abs=8.928038, sample_abs=2.592082"
    assert named(text) == "results-differ"
    assert named("RuntimeError: validation failed: the licence has no name") != "results-differ"


def test_the_n_of_an_mma_is_told_without_a_number_that_the_text_does_not_hold() -> None:
    text = "tile_M=128, tile_N=512\nOpError: expects the N-mode to satisfy 8 <= N <= 256"
    told = said(text)
    assert "N is ," not in told and ", and not" not in told and "(128, 256, 16)" not in told
    assert "tile_N=512 is the tile's extent: 2 instructions" in told and "wgmma" in told
    assert "in steps of 16, and not 24" in said(
        "expects the N-mode to satisfy 16 <= N <= 256 and N % 16 == 0, but got 24"
    )
    assert "and not 520" in said("expects the N-mode to satisfy 8 <= N <= 256 and N % 8 == 0. but got 520")
    assert "M must be 64 or 128, and not 96" in said(
        "OpError: expects the M-mode to be 64 or 128, but got 96"
    )


SMEM = (
    "AttributeError: module 'cutlass.cute' has no attribute 'make_smem_tensor'. "
    "Did you mean: 'make_rmem_tensor'?"
)


@needs_dsl
def test_a_name_of_another_memory_space_is_not_advised() -> None:
    """Python's own hint gives each thread registers of its own."""
    told = said(SMEM)
    assert "pip show" not in told
    assert "SmemAllocator().allocate_tensor" in told and "the installed DSL has make_rmem_tensor" not in told
    assert "gives register memory: another program" in told
    assert "pip show" in said("module 'cutlass.cute.arch' has no attribute 'CuTeDSL'")
    near = said("AttributeError: module 'cutlass.cute' has no attribute 'make_rmem_tensr'")
    assert "the installed DSL has make_rmem_tensor" in near


def test_a_name_of_one_package_of_a_version_is_not_promised_by_its_number() -> None:
    """A user of 4.5.2 with cu13 was told that his version has ProxyKind."""
    missing = "module 'cutlass.cute.arch' has no attribute '{}'"
    for name in ("ProxyKind", "SharedSpace", "RoundingModeKind", "ReduxKind", "AtomicOpKind"):
        told = said(missing.format(name))
        assert "nvidia-cutlass-dsl[cu13] lacks it in 4.4.0 to 4.5.3" in told
        assert "packages" in told and "fence_proxy('async.shared', space='cta')" in told
    alone = said(missing.format("activemask"))
    assert "since 4.6.0" in alone
    assert "nvidia-cutlass-dsl[cu13] has it, and the plain package has not, in 4.5.0 to 4.5.3" in alone
    assert "[cu13]" not in said("cannot import name 'make_fragment' from 'cutlass.cute'")
    assert dsl_names.never("cutlass.cute.arch", "activemask") == ()


@needs_dsl
def test_a_name_that_no_version_has_is_told_where_it_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no CuTe DSL from 4.2.0 to" in said(SMEM)
    assert dsl_names.never("cutlass.cute", "make_rmem_tensor") == ()  # a row: some versions have it
    assert dsl_names.never("cutlass.cute", "make_layout") == ()  # all have it
    assert dsl_names.never("cutlass.unheard_of", "make_smem_tensor") == ()
    monkeypatch.setattr(versions, "installed", lambda: "4.9.0")
    assert dsl_names.never("cutlass.cute", "make_smem_tensor") == ()


@needs_dsl
def test_a_launch_of_a_plain_function_is_told_what_it_lacks() -> None:
    told = said("AttributeError: 'function' object has no attribute 'launch'")
    assert "@cute.kernel" in told and "kernel(args).launch" in told and "cute.size" not in told


def test_an_mlir_value_that_is_asked_for_is_the_dsls() -> None:
    told = said("elems = [state[k].ir_value for k in r]\nAssertionError: isinstance(arg, _cext.ir.Value)")
    assert "x.ir_value()" in told and "Python library" not in told


def test_a_table_of_counters_is_read() -> None:
    sectors = "| Global Load Efficiency | **4.2/32 bytes** (13.1%) |"
    conflicts = "| Shared Load Bank Conflicts | **2.6-way** (13.26% conflicts) |"
    told = said(f"{sectors}\n{conflicts}")
    assert [one.entry.name for one in answers(f"{sectors}\n{conflicts}")] == [
        "ncu.sector-use",
        "ncu.bank-conflicts",
    ]
    assert "use 4.2 of the 32 bytes" in told and "32/4.2 times" in told
    assert named(conflicts) == "ncu.bank-conflicts" and "2.6 ways on average" in said(conflicts)
    assert answers("| Global Load Efficiency | 32/32 bytes | Bank Conflicts | 1.0-way |") == []
    counted = (
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum 300 "
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum 1,200"
    )
    assert "25% of the wavefronts are bank conflicts" in said(counted)


def test_multicast_memory_of_nccl_is_left_out_by_its_switch() -> None:
    text = "ncclUnhandledCudaError: Failed to bind NVLink SHARP (NVLS) Multicast memory ... CUDA error 401"
    assert "NCCL_NVLS_ENABLE=0" in said(text) and "401" in answers(text)[0].title
    assert named("ncclUnhandledCudaError: Call to CUDA function failed.") == "elsewhere.nccl"


def test_a_file_that_is_cut_off_is_fetched_again() -> None:
    assert "fetch it again" in said("RuntimeError: Truncated Zstd-compressed stream")


def test_a_misaligned_kernel_of_another_compiler_is_not_aligned_by_hand() -> None:
    at = "========= Misaligned shared or local address\n=========     at {}+0x64c0 in k.py:25"
    assert "pytorch/helion" in said(at.format("_helion_jsd_forward")) and "alignas" not in said(
        at.format("_helion_jsd")
    )
    assert "alignas" in said(at.format("kernel_cutlass_gemm"))


@needs_dsl
def test_each_code_of_the_dsl_is_answered_by_its_own_meaning() -> None:
    """A text that holds the code alone has what the installed DSL says of it, without fields."""
    known = installed.coded()
    assert len(known) == 192
    for code in set(known) - {"UNSUP_NO_SOURCE"}:  # which has an entry of its own
        told = codes.meaning(code)
        assert told is not None and "{" not in told.said + told.helps, code
        for text in (f"DSLUserCodeError: error[{code}]", f"expected failure: error[{code}]"):
            (answer,) = answers(text)
            assert answer.entry.name == "dsl.code-alone" and code in answer.title, code
            assert told.said in answer.cause and told.helps.rstrip(". ") in answer.remedy, code


@pytest.mark.parametrize(
    "text",
    [
        "ImportError: cannot import name 'primitives' from 'cutlass' (/x/cutlass/__init__.py)",
        "ModuleNotFoundError: No module named 'cutlass.primitives'",
    ],
)
def test_a_module_of_the_dsl_is_found_where_it_lies(text: str) -> None:
    assert "the DSL that is installed here has the module cutlass.experimental.primitives" in said(text)
