# ruff: noqa: E501 (texts as they are printed)
"""Texts without a known error: what their words show is told, and no cause that they do not hold."""

from __future__ import annotations

import json

import jsonschema
import pytest

from docs.schemas.reports import schema
from layoutcheck.catalogue import Answer, answers, figures
from layoutcheck.catalogue.symptoms import is_prose, layouts
from layoutcheck.errors import InputError
from layoutcheck.reports.json import to_dict
from layoutcheck.reports.outcome import Explained
from layoutcheck.sources.diagnostics import read_errors


def answer(text: str) -> Answer:
    (found,) = answers(text)
    return found


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("the second launch never returns on 2 of 8 ranks", "symptom.hang"),
        ("shm_broadcast.py:681 No available shared memory broadcast block found.", "symptom.hang"),
        ("the output has garbage data for odd M", "symptom.wrong"),
        ("print_tensor gives other numbers, it does not agree with the host's", "symptom.wrong"),
        ("random garbage in the last column tile, the other tiles agree with torch", "symptom.wrong"),
        ("my split-K GEMM gives slightly different results each run, no error", "symptom.wrong"),
        ("results are correct with cute.printf in the kernel, and wrong when I remove it", "symptom.wrong"),
        ("since the upgrade my blockscaled gemm returns zeros in half of C", "symptom.wrong"),
        ("half of the columns are swapped after stmatrix", "symptom.wrong"),
        ("memcheck reports 0 errors but the result of my copy is still wrong", "symptom.wrong"),
        ("with num_stages=2 the kernel's tile has old data in it", "symptom.wrong"),
        ("the loss becomes NaN with our CuTe DSL rmsnorm, all unit tests pass", "symptom.wrong"),
        ("on the 5090 every second element of the tile is zero", "symptom.wrong"),
        ("our GEMM is slower than cuBLAS, 310 TFLOPS", "symptom.slow"),
        ("WARNING[Outside]: A tensor operation outside of the loop will not be fused.", "symptom.warning"),
        ("tAsA : ptr[16b](0x0) o ((_8,_1),_4):((_1,_0),_64)", "symptom.layouts"),
    ],
)  # fmt: skip
def test_a_symptom_is_told(text: str, entry: str) -> None:
    assert answer(text).entry.name == entry


@pytest.mark.parametrize(
    ("text", "entry", "told"),
    [
        ("all lanes store to SMEM but one elected lane arrives, racecheck flags RAW hazards", "symptom.race", "that lane's own writes"),
        ("it may overwrite the reduction scratch before all warps finish reading it, incorrect output", "results-differ", "behind its last read"),
        ("deadlock when the load warp waits at NamedBarrier(256, 2) after an early return", "kernel-hangs", "arrive and sync alike"),
        ("cuda-gdb stops on UTMALDG.2D and the manual speaks of a misaligned access", "question", "multiple of 16 bytes"),
        ("copy_if with a predicate is not enough where the tile is smaller than the tiled copy", "question", "each vector has a predicate"),
        ("the predicated copy without ZFILL leaves old values, CP_ASYNC on sm_80", "symptom.wrong", "leaves the destination as it is"),
        ("why does slicing the result of `tiled_divide` not work like zipped_divide does?", "question", "((tile, ...), rest, ...)"),
        ("it takes two minutes to compile this small kernel of ours", "question", "unrolled"),
        ("the grid swizzle derives bid_m from a group width of 8 that does not divide it", "question", "every tile once"),
        ("are A scales row-major in the grouped GEMM with blockwise scaling on Hopper?", "question", "M-major"),
        ("how can I catch the compiled kernel and write its cubin into a file?", "question", "CUTE_DSL_KEEP"),
        ("the grouped GEMM works for 3 groups, with 4 groups the result is wrong, why?", "symptom.wrong", "offset of the second tile"),
    ],
)  # fmt: skip
def test_a_note_or_question_is_told_the_law_of_what_it_is_about(text: str, entry: str, told: str) -> None:
    found = answer(text)
    assert found.entry.name == entry
    assert told in " ".join((found.cause, *found.facts))
    assert found.entry.level in ("wrong", "unknown")
    jsonschema.validate(json.loads(json.dumps(to_dict(Explained(found)))), schema())


@pytest.mark.parametrize(
    "text",
    [
        "Failed to find a suitable instruction for tcgen05.st. Check your layout.",
        "ValueError: the TMA descriptor of this library has no swizzle for such a tile here",
        "[rank0] the multicast group could not be made by this process at all",
    ],
)
def test_what_a_program_prints_is_no_question(text: str) -> None:
    assert all(found.entry.name != "question" or not is_prose(text) for found in answers(text))
    assert not is_prose(text)


@pytest.mark.parametrize(
    "text",
    [
        "the race starts at ten, bring a barrier and a fence; parity of teams must match",
        "I align the third of my page's columns",
        "loss is nan at step 700",
        "hello",
        "the build took 40 s",
        "(2,3): (see below)",
    ],
)
def test_other_prose_has_no_symptom(text: str) -> None:
    assert answers(text) == []


def test_a_symptom_leaves_its_cause_open() -> None:
    for text in (
        "the kernel launch never returns",
        "it prints 3 but not 4, no match: garbage data",
        "slower than before",
    ):
        assert answer(text).cause.startswith("The text does not state the cause."), text


def test_layouts_of_a_text_are_told() -> None:
    printed = "sA: Sw<3,4,3> o smem_ptr[16b](0x0) o ((_8,_1),(_2,4)):((_1,_0),(_16,?)) gA o (64,32):(0,_1)"
    (first, second) = layouts(printed)
    assert first.startswith("((8,1),(2,4)):((1,0),(16,?)): adjacent along its mode 0")
    assert "run time" in first
    assert second == (
        "(64,32):(0,1): 2048 coordinates in 32 elements, adjacent along its mode 1 (flattened)"
        "; a stride of 0 repeats elements"
    )
    assert layouts("f(a):(b) and (1,2) : (3") == ()
    assert {first, second} <= set(answer(f"wrong values in row 3 {printed}").facts)


def test_a_warning_beside_an_error_is_not_the_answer() -> None:
    text = "WARNING: slow path.\nTraceback (most recent call last):\nValueError: batch must be positive"
    assert answer(text).entry.name != "symptom.warning"
    assert (
        "Report it to pytorch/helion"
        in answer("WARNING[Outside]: helion: a tensor operation is outside.").remedy
    )


def test_a_candidate_that_a_tuner_drops_is_no_wrong_result() -> None:
    dropped = "[15s] Skipping config with accuracy mismatch: helion.Config(block_sizes=[8])\n"
    differs = "Tensor-likes are not close!\nMismatched elements: 65249 / 65536 (99.6%)"
    assert answer(dropped + differs).entry.name == "elsewhere.tuner-skips"
    assert answer(differs).entry.name == "results-differ"


def test_a_compilers_inner_check_is_no_demand_on_the_caller() -> None:
    text = "tvm.error.InternalError: Check failed: undefined.size() == 0 (2 vs. 0) : In PrimFunc kernel"
    assert "One of its own steps stops" in answer(text).cause and "extents" not in answer(text).cause


def test_a_message_is_quoted_to_its_closing_quote() -> None:
    path = "include/cutlass/epilogue/fusion/sm90_visitor.hpp(566): error: static assertion failed with"
    assert (
        answer(f'/w/{path} "Row broadcast doesn\'t support smem usage"').title
        == "Row broadcast doesn't support smem usage"
    )


def test_stack_frames_and_counters_tell_no_error() -> None:
    frame = "1       0x7fac7ac778fd tensorrt_llm::common::throwRuntimeError(char const*, int) + 97"
    text = f"[TRT-LLM] [E] Failed to initialize: Assertion failed: Error occurred when running GEMM!\n{frame}"
    assert "Error occurred when running GEMM" in answer(text).title
    counted = "[41s] Initial population: error=200 min=inf\nhelion.exc.NoConfigFound: No working config found"
    assert "NoConfigFound" in answer(counted).title


def test_a_generic_cause_needs_its_own_words() -> None:
    left = (
        "failed to legalize operation 'cute.derefine' "
        '(cute.derefine of !cute.tile<"N:1"> -> !cute.tile<"?:1">)'
    )
    assert (
        "CUTE_DSL_ARCH" not in answer(left).remedy and "no question of the architecture" in answer(left).cause
    )
    counts = (
        "DSLRuntimeError: input args/kwargs length does not match runtime function signature! "
        "input args length: 11 function signature args length: 8"
    )
    assert answer(counts).title == "the compiled function takes 8 arguments and is called with 11"
    other = 'k.cu(3): error: no instance of function template "paged_wrapper" matches the argument list'
    assert "cute::copy" not in answer(other).remedy


def test_warnings_beside_a_bare_error_are_told() -> None:
    warned = "Warning: FullyFusedMLP is not supported for the selected architecture 61."
    facts = answer(f"{warned}\nGot cutlass error: Error Internal at: 394").facts
    assert facts == (f"beside it: {warned}",)
    assert answer("Got cutlass error: Error Internal at: 394").facts == ()


def test_a_kernel_and_an_exit_code_are_told() -> None:
    fault = "CUDA Exception: Warp MMU Fault\n#0 0x00007c98 in embed_gather<<<(16,1,1),(256,1,1)>>> ()"
    assert "the kernel is embed_gather" in answer(fault).facts
    (fact,) = answer("make[3]: *** [CMakeFiles/lib.dir/cmake_device_link.o] Error 127").facts
    assert "does not find the command" in fact


def test_a_librarys_reasons_are_listed() -> None:
    text = (
        "NotImplementedError: No operator found for `attention` with inputs: "
        "`fa3F@0.0.0` is not supported because: requires capability (9, 0) "
        "`cutlassF-pt` is not supported because: stride(-2) % 8 != 0 HINT: slice a bigger one"
    )
    assert answer(text).facts == (
        "fa3F@0.0.0: requires capability (9, 0)",
        "cutlassF-pt: stride(-2) % 8 != 0",
        "the message's hint: slice a bigger one",
    )


def test_a_message_behind_a_place_is_no_assertion_that_is_cut() -> None:
    cut = "python: /w/mirage/src/transpiler/hopper.cc:326: mirage::Result mirage::Transpiler::transpile"
    assert "ends before its condition" in answer(cut).title
    told = "MIOpen Error: hipoc_kernel.cpp:106: Failed to launch kernel: invalid configuration argument"
    assert "condition" not in answer(told).title


def test_prose_makes_no_demand_of_an_unnamed_library() -> None:
    """Its words ('even', 'type', 'dimension') are no message's."""
    found = answer("Why can we not reach the same performance even if the arguments are consistent?")
    assert found.entry.name == "symptom.slow"
    assert answers("I wonder whether the order of the dimensions must be the same in both of them") == []


def test_a_library_that_is_only_compared_with_takes_no_report() -> None:
    assert "NVIDIA's forums" not in answer("our kernel is 10% slower than cublas on this tile").remedy


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("The CuTe kernel no longer hangs, but it reaches only 40 % of cuBLAS.", "symptom.slow"),
        ("Throughput of my CuTe GEMM is stuck at 300 TFLOPS, whatever tile I take.", "symptom.slow"),
        ("No illegal memory access any more, but the results of the TMA kernel are wrong.", "symptom.wrong"),
        ("This PR fixes the misaligned address in the epilogue. It is 3 % slower on H100.", "symptom.slow"),
        ("With the hang fixed the tcgen05 kernel runs but produces wrong results.", "results-differ"),
        (
            "racecheck reports 0 hazards, still the output of the TMA kernel differs from run to run.",
            "symptom.wrong",
        ),
        ("The cute kernel hangs, and not with an error message.", "kernel-hangs"),
        ("The swizzle avoids shared memory bank conflicts; how do I make the TMA atom?", "question"),
        ("My ldmatrix tile has shared memory bank conflicts, how do I avoid them?", "symptom.conflicts"),
        ("Why does it not hang without the barrier? The kernel hangs with it.", "kernel-hangs"),
    ],
)
def test_a_trouble_that_is_over_is_none(text: str, entry: str) -> None:
    assert answers(text)[0].entry.name == entry


def test_rows_of_inf_are_no_result() -> None:
    (found,) = answers("M | 1024 | 2048 | 4096 |\ncublas | inf | inf | inf |\nmine | inf | inf | inf |")
    assert found.entry.name == "symptom.nothing-ran"
    (found,) = answers("M | 1024 | 2048 | 4096 |\ncublas | 3.1 | 3.2 | 3.3 |\nmine | 3.0 | inf | 2.0 |")
    assert found.entry.name == "clean.table"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("My cute results are right for M=128 but wrong for M=130.", "128, and 130 leaves 2"),
        ("The CuTe kernel works with 4096. It fails with 4097: garbage in the last row.", "4097 leaves 1"),
        ("My cute copy is correct for N=1024 and 2048, and has wrong results for N=1000.", "1024, 2048 are multiples of 256, and 1000 leaves 232"),
        ("cute attention is only right if lengths are multiples of the tile, wrong results with seqlen = 192, tile_m = 128", "seqlen = 192 leaves 64 of a tile of 128"),
        ("The cute GEMM gives wrong results for some sizes, here m = 5427, n = 217, tile_m = tile_n = 5000.", "m = 5427 leaves 427 of a tile of 5000"),
    ],
)  # fmt: skip
def test_sizes_that_are_right_and_wrong_tell_the_edge(text: str, said: str) -> None:
    (first, *_) = answers(text)
    assert said in first.cause
    assert "At the edge each vector has a predicate" in first.cause


@pytest.mark.parametrize(
    "text",
    [
        "My cute results are right for M=128 but wrong for M=256.",
        "The cute kernel works on CUDA 12 and gives wrong results with CUDA 13.",
        "The cute kernel gives wrong results, 3 of 129 elements. It works on the 64 others.",
        "The cute kernel works with 2 stages, wrong results with 5 ms delay.",
    ],
)
def test_other_numbers_tell_no_edge(text: str) -> None:
    assert "leaves" not in " ".join(" ".join((one.cause, *one.facts)) for one in answers(text))


def test_sizes_that_divide_alike_tell_what_begins_between_them() -> None:
    (first, *_) = answers("My cute results are right for M=128 but wrong for M=256.")
    assert any("up to 128 it is right, from 256 on it is not" in one for one in first.facts)


def test_stages_are_multiplied_out() -> None:
    text = "num_stages={} fails with invalid argument (cudaErrorInvalidValue), 128x256x64 bf16, sm_90"
    assert "245,760 B, above the 232,448 B" in answers(text.format(5))[0].cause
    assert not any("stages" in one for one in answers(text.format(4))[0].facts)


def test_memory_that_ran_out_comes_first() -> None:
    text = (
        "Error: Failed to initialize the TMA descriptor\nCUDA warning: out of memory (function destroyEvent)"
    )
    assert "memory ran out" in answers(text)[0].facts[0]


def test_a_crash_in_the_launcher_is_none_of_the_compiler() -> None:
    (found,) = answers("FA4 segfaults on GB200 during the first kernel launch after cute.compile()")
    assert found.entry.name == "dsl.launcher-died"
    (found,) = answers("cute.compile of my kernel ends with a segfault")
    assert found.entry.name == "dsl.compiler-died"
    (found,) = answers("Thread 1 received signal SIGSEGV\n#0 0x7f in ?? ()\n#1 0x7e in TVMFFIFunctionCall ()")
    assert found.entry.name == "dsl.ffi-died"


@pytest.mark.parametrize(
    "text",
    [
        "The outputs of two cute kernels don't match with 1e-2 tolerance, dtype = torch.bfloat16",
        "ld.global.b16 is not vectorized in my kernel, K=776",
        "My cute kernel is slow for K=777 in fp16",
        "My fp32 cute kernel has a max error of 0.25, is that wrong?",
        "My bf16 cute kernel has a max error of 12.5%, is that wrong?",
        "My bf16 cute kernel has a max error of 0.0, is that wrong?",
    ],
)
def test_figures_that_decide_nothing_are_not_told(text: str) -> None:
    found = answers(text)[0]
    assert not any("keeps" in one or "begin at multiples" in one for one in (found.cause, *found.facts))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the launch requests 100,352 bytes but the kernel uses 99,000 of shared memory", ""),
        ("a TMA load into shared memory at an offset of 192", "192 is 64 behind a multiple of 128"),
        ("a TMA load into shared memory at an offset of 384", ""),
        ("a plain load from shared memory at an offset of 192", ""),
        ("the TMA version runs; the cp.async one reads smem at an offset of 192", ""),
        ("TMA fills sA, and sB at smem offset 192 is read by ldmatrix", ""),
        ("TMA loads A while threads store the scales into smem at offset 192", ""),
        ("TMA is disabled, smem offset 192", ""),
        ("a tensor map is refused for TMA: N=1072, K=1152", ""),
        ("x = torch.zeros(99, dtype=torch.bfloat16); x[6:] is misaligned", "x[6:] of a one-dimensional tensor of bfloat16 begins 12 B"),
        ("x = torch.zeros(99, dtype=torch.bfloat16); x[8:] is misaligned", ""),
        ("x = torch.zeros(99, dtype=torch.bfloat16); x[6:] is wrong", ""),
        ("x = torch.zeros(99, 8, dtype=torch.bfloat16); x[6:] is misaligned", ""),
        ("misaligned address in my bf16 kernel: main(sys.argv[1:])", ""),
        ("misaligned address in my bf16 kernel: main(names[1:])", ""),
        ("misaligned address: x[1:] of a bf16 tensor", "x[1:] of a one-dimensional tensor of bf16 begins 2 B"),
        ("TMA fills (3, 32) fp16 in shared memory", "32 elements of fp16 is 64 B: the next begins at 64"),
        ("TMA fills (3, 8, 16) fp8 in smem", ""),
        ("TMA: the smem buffer has an offset a bit wrong", ""),
        ("TMA: the smem buffer has offset fed by the host", ""),
        ("a TMA load into smem at offset 0x90", "144 is 16 behind a multiple of 128"),
        ("a TMA load into smem at offset 0200", "200 is 72 behind a multiple of 128"),
        ("a TMA load, its mbarrier in shared memory at offset 8", ""),
        ("with TMA, buf + 1 is the next stage", ""),
        ("with TMA, smem + 192 elements", ""),
        ("with TMA, smem + 192", "192 is 64 behind"),
    ],
)  # fmt: skip
def test_what_the_numbers_of_a_text_come_to(text: str, said: str) -> None:
    told = figures.told(text)
    assert [said in one for one in told] == [True] * bool(said)


def test_a_compiler_that_hangs_is_no_gpu_that_waits() -> None:
    assert answers("The DSL compiler hangs with this copy atom")[0].entry.name == "symptom.compiler"


@pytest.mark.parametrize(
    "text",
    [
        "error: NameError in `run`: name 'idx' is not defined\n --> k.py:7\n  = note: Caused exception: name 'idx'",
        "DSLUserCodeError: NameError in `__call__`: cannot access local variable 'idx' where it is not associated"
        " with a value\n --> flash_fwd_sm90.py:893",
    ],
)
def test_a_name_of_a_staged_branch_is_told_as_one(text: str) -> None:
    (found,) = answers(text)
    assert found.entry.name == "dsl.name-undefined" and "before the dynamic if" in found.remedy


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("full_bar is initialised with count 32, but only one lane arrives: the consumer waits forever", "count is the number"),
        ("empty_mbar gets arrivals of two warpgroups, its init count is 1: stages are overwritten", "count is the number"),
        ("softmax writes P into TMEM with the S accumulator's fragment; O is NaN after the next UMMA", "An A operand in tensor"),
    ],
)  # fmt: skip
def test_the_law_of_a_barriers_count_and_of_an_operand_in_tensor_memory(text: str, law: str) -> None:
    (found, *_) = answers(text)
    assert any(law in one for one in (found.cause, *found.facts))


def test_a_log_of_one_kind_of_error_longer_than_is_read_whole_has_its_answer() -> None:
    line = "ptxas /tmp/t{}.ptx, line 7; error   : Feature 'cp.async' requires .target sm_80 or higher\n"
    (found,) = read_errors("".join(map(line.format, range(3000))))
    assert isinstance(found, Answer) and found.entry.name == "ptxas.target-too-old"


def test_a_compile_error_amid_a_long_log_is_quoted_without_its_source() -> None:
    text = '/src/a.cu(31): error: identifier "foo" is undefined\n    foo(1);\n    ^\n'
    assert answers("x = 1\n" * 9000 + text)[0].title == answers(text)[0].title


def test_a_project_is_named_once() -> None:
    told = answer(
        "@triton.jit\ndef kernel(x_ptr): tl.store(x_ptr, 1)\nthe result of my kernel is garbage for odd M"
    )
    assert "Look at what Triton's kernel is given. Report it to triton-lang/triton" in told.remedy
    assert told.remedy.count("triton-lang/triton") == 1


SPOKEN = "The epilogue writes sO with generic stores, __syncthreads, then a TMA store reads it: sometimes stale data."


@pytest.mark.parametrize(
    "beside",
    [
        "[rank1]:[W1130 ProcessGroupNCCL.cpp:1496] Warning: destroy_process_group() was not called before exit",
        "terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error\nAborted (core dumped)",
        "ninja: build stopped: subcommand failed.\nRuntimeError: Error compiling objects for extension",
        "FAILED tests/test_k.py::test_copy[8] - RuntimeError\n1 failed, 3 passed in 12.31s",
    ],
)
def test_what_only_follows_takes_no_answer_from_a_persons_sentence(beside: str) -> None:
    (found, *_) = read_errors(f"{SPOKEN}\n{beside}\n")
    assert isinstance(found, Answer)
    assert "it may be this: Threads write by the generic proxy" in found.cause
    assert found.quote == SPOKEN


def test_a_law_leads_where_the_text_names_it_and_advice_is_short() -> None:
    text = "My kernel deadlocks: inside the loop mbarrier.init(bar, 1), a TMA copy and wait(phase), and no arrive.expect_tx call."
    (found, *_) = answers(text)
    assert "it may be this: A phase of an mbarrier ends when its pending arrivals" in found.cause
    assert (
        found.cause.startswith("The text does not state the cause. By its words")
        and "It is this where the barrier gets no arrive.expect_tx" in found.cause
        and "Where a library" not in found.remedy
    )
    assert len(found.remedy) <= 222


def test_a_guard_is_answered_for_the_gpu_that_the_text_names() -> None:
    text = "TMA Descriptor Prefetch without CUTE_ARCH_TMA_SM90_ENABLED"
    assert "compute_90a" in answers(text)[0].remedy
    own = answers(f"{text}\nbuilt with arch=compute_120 on an RTX 5090")[0].remedy
    assert "compute_120a,code=sm_120a" in own and "90a" not in own
    fence = "Attempting to use wgmma.fence without CUTE_ARCH_MMA_SM90A_ENABLED on an RTX 5090"
    assert "no such instruction under any target" in answers(fence)[0].remedy


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("(cute.derefine of !cute.tile<\"N:1\"> -> !cute.tile<\"?:1\">) at cute.ceil_div(m, n)", "cute.derefine N:1 ?:1"),
        ("Argument Storage: The DSL attempted to convert it into Dynamic Expression (aka MLIR values) but failed.", "argument Storage is a Python object"),
        ("match the instruction requirement.\"\n\ncopy(copyA, gA, sA);", "partitioned as its instruction asks"),
    ],
)  # fmt: skip
def test_a_message_that_is_cut_at_its_first_line_is_an_error(text: str, title: str) -> None:
    (found, *_) = answers(text)
    assert title in found.title and found.entry.level == "rejected"


def test_of_one_statement_ptxas_is_told_once() -> None:
    """It prints a message for each feature that a statement lacks."""
    says = "ptxas a.ptx, line {}; error   : Feature '{}' requires .target sm_70 or higher"
    same = answers("\n".join(says.format(606, what) for what in ("mma", ".m8n8k4")))
    apart = answers("\n".join((says.format(606, "mma"), says.format(607, ".m8n8k4"))))
    assert [one.title.split()[5] for one in same] == ["mma,"]
    assert [one.title.split()[5] for one in apart] == ["mma,"]
    told = [
        [fact.split()[8] for fact in one.facts if fact.startswith("the same cause")]
        for one in (same[0], apart[0])
    ]
    assert told == [[], [".m8n8k4,"]]


def test_a_title_ends_with_the_quoted_message() -> None:
    """A message in backticks, in the middle of a person's sentence."""
    said = "'setmaxnreg' ignored; unable to determine register count at entry"
    (found, *_) = answers(f"The test outputs `ptxas info : (C7508) {said}.` if compiled with ptxas_verbose.")
    assert found.title == "ptxas ignores setmaxnreg: unable to determine register count at entry"


def test_the_end_of_a_build_stays_the_end_of_its_traceback() -> None:
    frames = 'Traceback (most recent call last):\n  File "/usr/lib/python3/dist-packages/flashinfer/jit/cpp_ext.py", line 287, in run_ninja\n    subprocess.run(\n'
    told = "Scheduler hit an exception of the first call, before any kernel of it runs\n"
    end = "subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1."
    with pytest.raises(InputError, match="a build fails, and the text has only who noticed it"):
        read_errors(f"{told}{frames}{end}\n")


def test_no_law_leads_where_two_fit_alike() -> None:
    """As in a public report of an election in each of four warps, in which the law of initialising weighed a little more."""
    text = (
        "Hangs: elect_one in each of 4 warps, each elected thread does mbarrier.arrive on a barrier with count 1; "
        "mbarrier.init by thread 0, then a wait of the phase, expect_tx."
    )
    found = answers(text)[0]
    assert "do not prove it" not in found.cause


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("my cute kernel: warp out of range address", "cuda.out-of-range"),
        ("my cute kernel: CUDA Exception: Warp Out-of-range Address", "cuda.out-of-range"),
        ("my cute kernel: out of range shared or local address", "sanitizer.shared-range"),
        ("my cute kernel ends with a misaligned shared or local address", "sanitizer.shared-misaligned"),
        ("my cute kernel: Warp Illegal Address", "cuda.illegal-access"),
    ],
)
def test_a_message_is_known_as_people_write_it(text: str, name: str) -> None:
    """Without hyphens, in lower case: the memory that is named decides, so that no global allocation is spoken of."""
    assert answers(text)[0].entry.name == name


def test_the_cause_that_a_report_states_stands_beside_an_error_that_is_known() -> None:
    text = "We hit TYPE_UNSTABLE_JOIN on n_block_first while the kernel is compiled. It is fixed in 4.6.2 of the DSL."
    (first, *_) = answers(text)
    assert first.entry.name == "dsl.code-alone"
    assert "n_block_first has type T on one path and U on another" in first.cause
    assert "the text itself says: It is fixed in 4.6.2 of the DSL" in first.facts


def test_the_statements_of_sample_code_call_no_law() -> None:
    told = (
        "My cute kernel gives wrong results with static sizes: garbage values in the last rows.\n```\n{}\n```"
    )
    code = 'for i in cutlass.range_constexpr(4):\n    if cutlass.const_expr(i > 2):\n        cute.printf("{}", i)'
    with_code, without = (answers(told.format(one))[0] for one in (code, "..."))
    assert with_code.cause == without.cause
    assert with_code.facts == without.facts


def test_an_error_that_is_only_named_asks_for_its_message() -> None:
    (first, *_) = answers("Our kernels of the CuTe DSL fail with an internal compiler error on this GPU.")
    assert "names the error and not its message" in first.remedy
    (first, *_) = answers("[Internal Error] internal compiler error\nTraceback (most recent call last):\n")
    assert "names the error and not its message" not in first.remedy


def test_a_note_that_states_its_repair_is_told_it_and_what_to_run() -> None:
    text = "[BUG] CuTe DSL: the comparison of two TensorSSA values has another type\nA workaround is to wrap it in cute.Boolean.\n```\n@cute.jit\ndef f(): ...\n```"
    (first, *_) = answers(text)
    assert first.entry.name == "question"
    assert "the text itself says: A workaround is to wrap it in cute.Boolean" in first.facts
    assert "layoutcheck trace --no-launch" in first.remedy
    assert "paste them" in first.remedy


def test_a_size_that_is_no_multiple_leaves_a_misaligned_address_its_own_cause() -> None:
    (first, *_) = answers(
        "When I set k as odd, my cutlass kernel has the problem Misaligned address. With m=1 it runs ok."
    )
    assert "a row whose pitch (leading dimension) is none" in first.cause
