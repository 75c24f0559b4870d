"""Numbers, places and owners in a text decide between answers that its words alone would not."""

from __future__ import annotations

import pytest

from layoutcheck.catalogue import answers
from layoutcheck.catalogue.entry import CLEAN
from layoutcheck.catalogue.tensor_map import extents

USAGE = (
    "ptxas info : Function properties for k {} bytes stack frame, {} bytes spill stores, {} bytes spill loads"
)
DIVIDES = "tile_to_shape: block shape does not divide the target shape."
COUNTS = (
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum {} "
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum {}"
)


def named(text: str) -> str:
    found = answers(text)
    return found[0].entry.name if found else ""


@pytest.mark.parametrize(
    ("numbers", "entry"),
    [
        ((0, 0, 0), "ptxas.no-spills"),
        ((352, 0, 0), "ptxas.stack-frame"),
        ((40, 48, 48), "ptxas.registers"),
        ((40, 0, 48), "ptxas.registers"),
        ((10, 100, 100), "ptxas.registers"),
    ],
)
def test_the_numbers_of_ptxas_are_read(numbers: tuple[int, int, int], entry: str) -> None:
    assert named(USAGE.format(*numbers)) == entry


def test_of_several_functions_the_one_that_spills_is_told() -> None:
    assert named(USAGE.format(0, 0, 0) + " " + USAGE.format(8, 16, 16)) == "ptxas.registers"
    assert named(USAGE.format(0, 0, 0) + " " + USAGE.format(8, 0, 0)) == "ptxas.stack-frame"


def test_each_message_of_ptxas_that_says_something_else_is_told() -> None:
    """Once however often it stands, and not where another entry is about the same line."""
    lost = "ptxas info : (C75{}) Potential Performance Loss"
    serial = f"{lost}: wgmma.mma_async instructions are serialized due to {{}} in function 'f'\n"
    ill = serial.format(14, "ill formed pipeline stage")
    text = serial.format(11, "insufficient register resources for the wgmma pipeline") + 2 * ill
    told = [(one.entry.name, "ill formed" in one.title) for one in answers(text)]
    assert told == [("ptxas.wgmma-registers", False), ("ptxas.performance-loss", True)]
    assert named(ill) == "ptxas.performance-loss"


def test_what_stands_in_the_text_is_not_advised_again() -> None:
    text = "tilelang.layout.InternalError: Layout infer conflict between A_local and B_local"
    once, (again,) = answers(text), answers(f"T.annotate_layout({{A_shared: mine}})\n{text}")
    assert "annotate_layout" in once[0].remedy and "annotate_layout" not in again.remedy
    assert "multiples of the threads" in again.remedy and "tile-ai/tilelang" in again.remedy


def test_a_clean_function_excuses_no_error_of_the_log() -> None:
    assert named(USAGE.format(0, 0, 0) + " error: the frobnicator failed") != "ptxas.no-spills"


@pytest.mark.parametrize(
    ("wavefronts", "conflicts", "few"),
    [("6508", "12", True), ("6,508", "12", True), ("6508", "4000", False), ("6508", "0", False)],
)
def test_conflicts_are_weighed_against_the_wavefronts(wavefronts: str, conflicts: str, few: bool) -> None:
    assert (named(COUNTS.format(wavefronts, conflicts)) == "ncu.few-conflicts") is few


def test_source_lines_of_a_compile_error_are_no_errors_of_the_driver() -> None:
    line = (
        "x.hpp(147): error: the frobnicator failed return CUDA_ERROR_UNKNOWN; cuTensorMapEncodeTiled(args...)"
    )
    assert not named(line).startswith(("cuda.", "driver."))
    assert named("cuTensorMapEncodeTiled failed: CUDA_ERROR_INVALID_VALUE") == "driver.tensor-map"


def test_an_error_type_answers_where_no_error_stands_before_it() -> None:
    late = (
        'instantiation of "x" [with MMA_Atom=<error-type>] cute/atom/mma_atom.hpp(229): error: "MMA_Atom" is'
    )
    assert named(late) == "cpp.error-type"
    first = 'a.cu(3): error: identifier "Foo" is undefined cute::f '
    assert named(first + late) == "cpp.undefined"


def test_who_builds_a_library_is_not_told_to_change_its_layouts() -> None:
    error = f'cute/layout.hpp(1792): error: static assertion failed with "{DIVIDES}"'
    (alone,) = answers(error)
    (built,) = answers(f"/src/flash-attention/csrc/{error}")
    assert "only build" not in alone.remedy
    assert "only build FlashAttention" in built.remedy and built.remedy.endswith(alone.remedy)
    assert any("FlashAttention" in fact for fact in built.facts)


def test_a_library_of_the_link_line_owns_nothing() -> None:
    error = "nvcc k.cu -lcublasLt -lcublas cute/layout.hpp(1): error: incomplete type is not allowed"
    assert not any("cuBLAS" in fact for fact in answers(error)[0].facts)


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        (
            "========= Invalid __shared__ read of size 4 bytes at k.cu:3 0x10 is out of bounds cute::copy",
            False,
        ),
        ("File train.py CUDA error: an illegal memory access was encountered", True),
    ],
)
def test_a_trace_is_offered_for_python_alone(text: str, offered: bool) -> None:
    assert ("layoutcheck trace" in answers(text)[0].remedy) is offered


def test_the_line_of_the_sanitizer_wins_over_that_of_the_framework() -> None:
    text = (
        "CUDA error: an illegal memory access was encountered\n========= Invalid __shared__ read of size 16"
    )
    assert [answer.entry.name for answer in answers(text)] == ["sanitizer.invalid-access"]


def test_a_quote_has_no_margin_and_a_title_no_open_bracket() -> None:
    (sanitizer,) = answers(
        "========= Invalid __shared__ write of size 16 bytes\n=========     at k+0x390 in fa.cu:97\n"
        "=========     by thread (1,0,0) in block (0,0,0)\n=========     Address 0x82 is misaligned"
    )
    assert "=" not in sanitizer.quote and "16 bytes; at k+0x390" in sanitizer.quote
    (cut,) = answers("cutlass/x.hpp(3): error: no conversion from cute::Layout<cute::tuple<cute::C<2>,")
    assert cut.title.count("<") == cut.title.count(">")


def test_extents_that_stand_alone_are_judged() -> None:
    assert extents("globalDim (1,1,1,1,1) boxDim (128,1,1,1,1)") == [
        "globalDim[0] is 1, and the box takes 128 there: the tensor has another shape than the kernel was "
        "made for (one value where a vector is meant, an axis too few)"
    ]
    assert extents("globalDim (0,4) boxDim (512,4)") == [
        "globalDim[0] is 0, not 1 to 4294967296",
        "boxDim[0] is 512, not 1 to 256",
    ]
    assert extents("globalDim (1024,1024) boxDim (64,128)") == []


def test_shapes_are_named_once() -> None:
    shape, stride = "cute::tuple<cute::C<16>, cute::C<64>>", "cute::tuple<cute::_64, cute::_1>"
    target = "cute::tuple<cute::C<16>, cute::C<32>>"
    text = (
        f'cute/layout.hpp(1792): error: static assertion failed with "Differs" instantiation of "auto '
        f'cute::tile_to_shape(...) [with Shape={shape}, Stride={stride}, TrgShape={target}]" '
        f"[with B=cute::Layout<{shape}, {stride}>, Shape={target}]"
    )
    facts = [fact for fact in answers(text)[0].facts if "code" not in fact]
    layouts = [fact.rpartition(" = ")[2] for fact in facts]
    assert layouts and len(layouts) == len(set(layouts))


@pytest.mark.parametrize(
    ("text", "said", "never"),
    [
        (
            '/y/TileFusion/include/cell/copy.hpp(422): error: static assertion failed with "k must be less"'
            "\nflash_attn.hpp",
            "Report it to TileFusion (TileFusion/include/cell/copy.hpp is its file)",
            "Dao-AILab",
        ),
        (
            "/w/ThunderKittens/include/base_types.cuh(242): error: invalid narrowing conversion\n"
            "      inline constexpr char2 pack(const char &i)",
            "char is unsigned on AArch64",
            "older C++ standard",
        ),
        (
            'AllocatorTests.cu(381): error: more than one instance of overloaded function "make_tensor"'
            '\n    function template "auto matx::make_tensor<T>(T)"',
            "fit no declaration",
            "cute::copy",
        ),
    ],
)
def test_a_file_of_another_project_is_told_as_its_own(text: str, said: str, never: str) -> None:
    (answer, *_) = answers(text)
    whole = " ".join((answer.title, answer.cause, answer.remedy))
    assert said in whole and never not in whole, whole


def test_a_condition_is_told_beside_the_value_that_breaks_it() -> None:
    text = (
        'include/cutlass/epilogue/fusion/visitor.hpp(566): error: static assertion failed with "no smem"\n'
        '    static_assert(Stages == 0, "no smem");\n    ^\n  detected during:\n'
        '    instantiation of class "Sm90RowBroadcast<Stages> [with Stages=1, Element=cutlass::half_t'
    )
    (answer,) = answers(text)
    assert answer.cause.startswith("It must hold that Stages is 0; here Stages is 1.")
    assert answer.remedy.startswith("Give Stages = 0.")


def test_a_message_with_numbers_wins_over_the_bare_code() -> None:
    text = (
        "error: cudaErrorInvalidValue (error code: 1)\nError: kernel 'k' launch shared memory exceeds "
        "current GPU arch sm_89 allowed. Allocated: 131072 bytes. Max: 101376 bytes."
    )
    (answer,) = answers(text)
    assert answer.entry.name == "cuda.shared-capacity"
    assert answer.facts == (
        "131,072 B are asked for, 101,376 B allowed: 29,696 B too many; 99 KiB is the most of a block on "
        "sm_86, sm_88, sm_89, sm_120, sm_121",
    )


def test_a_numeric_check_is_a_difference_and_no_condition() -> None:
    text = "FAILED test_flash_attn.py::t - AssertionError: assert 0.0078125 <= ((2 * 0.0) + 3e-05)"
    assert "rounds by more than the tolerance" in answers(text)[0].cause


# Texts whose answer was judged wrong or too general once: what it has to say, and what it must not.
JUDGED = [
    ("AssertionError: SharedStorage 238KB exceeds 227KB limit", "fewer stages", "Print the value"),
    ("AssertionError: self.tmem_total <= 512", "512 columns", "A size, a count"),
    ("RuntimeError: Cluster size 16 is not portable; max is 8", "at most 8 blocks", "head dimensions"),
    (
        "ptxas error : Value of threads per SM for entry k is out of range. .minnctapersm will be ignored",
        "1,536 on sm_86",
        "barrier ids",
    ),
    ("module 'cutlass.cute' has no attribute 'launch'", "kernel(args).launch(", "pip show"),
    ("module 'cutlass.cute' has no attribute 'maximum'", "Tensor.maximum(other)", "pip show"),
    ("module 'cutlass.cute' has no attribute 'runtime'", "lists runtime", "In no version"),
    (
        "AttributeError: 'int' object has no attribute 'type' in cute.assume",
        "isinstance(x, int)",
        "Atom.type",
    ),
    (
        "TVMError: CUDALaunch Error: CUDA_ERROR_INVALID_VALUE grid=(2048,1,1), block=(2048,1,1)",
        "the block (2048,1,1) has 2,048 in x (at most 1,024)",
        "the grid (",
    ),
    (
        "CUDA_ERROR_INVALID_VALUE grid=(1,1,70000) block=(32,32,2)",
        "block (32,32,2) has 2,048 threads",
        "tcgen05",
    ),
    (
        "- `expects target shape and order operands have same rank`\n- `unable to compute crd2idx`",
        "one number for each mode",
        "commutative",
    ),
    (
        "'sm_107a' is not a recognized processor for this target\nLLVM ERROR: Cannot select: %llvm.nvvm.shfl",
        "does not know sm_107a",
        "CUTE_DSL_ARCH",
    ),
    (
        'MSVC/include\\type_traits(1065): error: static assertion failed with "std::aligned_storage"',
        "_ENABLE_EXTENDED_ALIGNED_STORAGE",
        "cp.async",
    ),
    (
        'Failure while executing pass pipeline: note: see current operation: "tensor.pad"(%8)',
        "another MLIR compiler",
        "layoutcheck trace",
    ),
    (
        'loc("x"("/v/site-packages/flash_attn/cute/pack_gqa.py":140:5)): error: unable to compute crd2idx',
        "report it to Dao-AILab/flash-attention",
        "pip show",
    ),
    (
        "UserWarning: PyTorch does not support non-writable tensors.",
        "a warning, and no error",
        "no kernel for",
    ),
    ("malloc(): unaligned tcache chunk detected", "ran earlier", "CUTE_DSL_KEEP"),
    ("cuModuleLoadData failed with 222", "update the driver", "layoutcheck trace"),
    (
        "numba.cuda.cudadrv.driver.CudaAPIError: [222] CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        "update the driver",
        "tile",
    ),
    ("OpError: expects Arch.sm_90a, got Arch.sm_120a", "wgmma exists on sm_90a only", "Print the arguments"),
    (
        "ICE: builtin.unrealized_conversion_cast: atom.tmem_load -> tiled_copy remained live",
        "scf.for",
        "sub-byte",
    ),
    (
        'Assertion error (jit/compiler.hpp:183): false and "NVCC compilation failed"',
        "DG_JIT_DEBUG",
        "a shape",
    ),
    (
        'error: class "Flash_fwd_params" has no member "x"\nerror: more than one instance of "flash::f"',
        "of another version than the code",
        "cute::copy",
    ),
    ("error[E0308]: mismatched types\n --> src/main.rs:4:18", "Rust's compiler", "extents"),
    (
        "org.postgresql.util.PSQLException: ERROR: deadlock detected\n at tuple in relation",
        "a program in Java",
        "project org",
    ),
    (
        "error: Expected primary expression, got continue\n --> example/while.zap:5:2",
        "compiler of another language",
        "comes out of a kernel",
    ),
    ("x.tsx(35,19)\n TS2345: Argument of type 'unknown' is not assignable", "TypeScript", "the lines around"),
    (
        "cute/layout_composed.hpp(478): catastrophic error : out of memory\n zipped_divide(a) tritonbuild",
        "host's memory",
        "Triton",
    ),
    (
        "800 (CUDA_ERROR_NOT_PERMITTED, operation not permitted) in deepgemm-src/csrc/jit/handle.hpp:154",
        "captured into a CUDA graph",
        "missing on the device",
    ),
    (
        "nvidia-cutlass-dsl 4.7.0\nnvidia-cutlass-dsl-libs-cu13 4.6.2\nerrors of CuTe DSL",
        "nvidia-cutlass-dsl 4.7.0, nvidia-cutlass-dsl-libs-cu13 4.6.2",
        "@cute.jit",
    ),
    ("RuntimeError: requires SM100+, found SM80", "found SM80", "attention"),
    ("nvcc error : 'cicc' died due to signal 2\nmake: *** [k.o] Interrupt", "was interrupted", "memory"),
    (
        "RuntimeError: CUTLASS FP4 GEMM not compiled for this architecture\nwhat(): cudaErrorInvalidDevice",
        "not compiled for this",
        "attention",
    ),
    (
        "on CUDA API call: INVALID_VALUE (error 1) on CUDA API call to cuPointerGetAttributes",
        "memory of the host",
        "cluster",
    ),
    (
        "RuntimeError: cutlass_scaled_mm_sm80_epilogue, csrc/w8a8/scaled_mm_c2x.cu:89",
        "vllm-project/vllm",
        "whole traceback",
    ),
    (
        "NoValidChoicesError: x\nAttributeError: module 'cutlass' has no attribute 'CACHE_FILE'",
        "pytorch/pytorch",
        "misspelt",
    ),
    (
        "Failed to set the allowed dynamic shared memory size to 143808 on a RTX 4090",
        "101,376, the most that a block",
        "head dim",
    ),
    ("DSLRuntimeError: ICE on T4 of cute", "the DSL compiles for sm_80 and newer", "sm_90"),
    (
        "error: 'cf.cond_br' op operand #0 must be 1-bit integer, but got 'tensor<4xi1>'",
        "triton-lang/triton",
        "cutlass.range",
    ),
    ("nvlink error : Undefined reference to '_Z3dotPf' in 'a.o'", "-rdc=true", "libcutlass"),
    ("nvlink error : Prototype doesn't match for '_Z3foo1S' in 'b.o'", "declared otherwise", "who noticed"),
    ('assert `m && "tn not met"`\nRuntimeError: PassManager::run failed', "triton-lang/triton", "CUTE_DSL"),
    ("assert 280.0 <= (2 * 0.001953125)\nAssertionError", "280.0 is 71,680 times the 0.0039", "1 times"),
    (
        "CUDA: unspecified launch failure\ncreate_tensor_map(int): Assertion `x == CUDA_SUCCESS' failed",
        "tensor map",
        "kernel died",
    ),
    (
        "examples/jax/call.py:33: in <module>\nAttributeError: module 'jax' has no attribute 'tree_util'",
        "same name that Python's path finds first",
        "misspelt",
    ),
    ("error: 'nvvm.read.ptx.sreg.clusterid.x' op is not supported on sm_75", "begin with sm_90", "integer"),
]


@pytest.mark.parametrize(("text", "said", "never"), JUDGED, ids=[said for _, said, _ in JUDGED])
def test_an_answer_says_what_is_wrong_here_and_nothing_else(text: str, said: str, never: str) -> None:
    told = " ".join(" ".join((one.title, one.cause, one.remedy, *one.facts)) for one in answers(text))
    assert said in told and never not in told, told


def test_a_record_that_says_that_it_has_no_error_has_none() -> None:
    (answer,) = answers('{"layers":[{"heads":32,"layout":"NHWC","alignment":16}],"error":null}')
    assert answer.entry.level == CLEAN and "error: null" in answer.title
    assert answers('{"alignment":16,"error":"CUDA error: misaligned address"}')
