"""The catalogue of errors: every example is recognised, what C++ prints is read, nothing else is claimed."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from layoutcheck.catalogue import ENTRIES, answers
from layoutcheck.catalogue.cpp_causes import told
from layoutcheck.catalogue.cpp_stack import asserted
from layoutcheck.catalogue.cpp_types import placed
from layoutcheck.catalogue.entry import CLEAN, ELSEWHERE, Known
from layoutcheck.catalogue.filling import of_header
from layoutcheck.catalogue.tables import SYMPTOMS
from layoutcheck.catalogue.tensor_map import faults
from layoutcheck.cli import run
from layoutcheck.rulebook import rules
from tests.thinned import thinned

Captured = pytest.CaptureFixture[str]
EXAMPLES = [(entry, text) for entry in ENTRIES for text, _ in entry.examples]


def test_every_example_is_answered_by_its_own_entry_first() -> None:
    for entry, text in EXAMPLES:
        (first, *_) = answers(text)
        assert first.entry is entry, (entry.name, first.entry.name, text)
        assert not re.search(r"\{\w+\}", first.title + first.cause + first.remedy), entry.name


def test_an_entry_is_whole() -> None:
    for entry in ENTRIES:
        assert entry.examples and all(text and source for text, source in entry.examples), entry.name
        assert entry.level in ("rejected", "wrong", "slow", CLEAN, ELSEWHERE), entry.name
        assert entry.rule is None or entry.rule in rules() or entry.rule.startswith("LC26"), entry.name
        assert entry.cause.endswith((".", "{cause}")) and not entry.remedy.endswith("."), entry.name
        assert entry.level != "slow" or entry.rule or "`layoutcheck " in entry.remedy, entry.name


def test_names_are_unique() -> None:
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)


def test_an_entry_only_names_those_that_it_must_displace() -> None:
    """A general entry gives way to any other by itself."""
    general = {entry.name: entry.general for entry in (*ENTRIES, *SYMPTOMS)}
    for entry in (entry for entry in ENTRIES if not entry.general):
        assert not [one for one in entry.instead_of if general[one]], entry.name


def explained(text: str, folder: Path, captured: Captured) -> tuple[int, str]:
    """The exit status and the output of `layoutcheck explain` on a pasted text."""
    pasted = folder / "pasted.txt"
    pasted.write_text(text)
    status = run(["explain", str(pasted)])
    return status, " ".join(captured.readouterr().out.split())


@pytest.mark.parametrize(("entry", "text"), EXAMPLES[::6], ids=[e.name for e, _ in EXAMPLES[::6]])
def test_wrapped_and_coloured_text_is_recognised(
    entry: Known, text: str, tmp_path: Path, capsys: Captured
) -> None:
    wrapped = "\n".join(
        f"\x1b[31m{line}\x1b[0m" for line in re.sub(r"(.{1,60})(?:\s|$)", r"\1\n", text).split("\n")
    )
    status, _ = explained(wrapped, tmp_path, capsys)
    assert status == (2 if entry.level == ELSEWHERE else 0 if entry.level in ("slow", CLEAN) else 1)


@pytest.mark.parametrize(
    "text",
    [
        "all 4096 tests passed",
        "cutlass 4.2 installed",
        "the copy took 3 ms",
        "loss is nan at step 700",
    ],
)
def test_what_is_no_known_error_gets_no_answer(text: str) -> None:
    assert answers(text) == []


NAMED = {
    "unsupported shared memory layout for MMAv3\nAborted (core dumped)": (
        "elsewhere.named",
        "triton-lang/triton",
    ),
    "Aborted (core dumped)": ("dsl.compiler-died", ""),
    "IndexError: Index -1 out of bounds 1": ("elsewhere.python", "whole traceback"),
    'k.cu(6): error: no instance of function "load" matches, ggml_cuda_mma::tile<8>': (
        "elsewhere.compile",
        "",
    ),
    "[rank3]: assert test, msg [rank3]: AssertionError: flash_attn: no head_dim=256": (
        "elsewhere.python",
        "Dao-AILab/flash-attention",
    ),
    "assert n % 64 == 0 and k % 128 == 0\nAssertionError": ("elsewhere.python", "k % 128 == 0 is false"),
}


@pytest.mark.parametrize(("text", "entry", "project"), [(text, *want) for text, want in NAMED.items()])
def test_another_compilers_error_goes_to_its_project(text: str, entry: str, project: str) -> None:
    (answer, *_) = answers(text)
    assert answer.entry.name == entry and project in answer.title + answer.remedy


@pytest.mark.parametrize("marks", ["`{}`", "\u2018{}\u2019", "'{}'"])
def test_quotes_are_quotes(marks: str) -> None:
    said = f"Unable to convert dynamic {marks.format('Boolean')} value to bool at compile time."
    assert answers(said)[0].entry.name == "dsl.dynamic-condition"


def test_a_counter_of_zero_is_no_conflict() -> None:
    counter = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"
    assert [answers(f"{counter} {count}")[0].entry.name for count in (0, 10)] == [
        "ncu.no-conflicts", "ncu.uncoalesced-shared",
    ]  # fmt: skip


def test_a_static_assertion_is_told_by_its_message_whoever_compiles() -> None:
    path, message = "/x/include/cute/layout.hpp", "Expected sparse iter"
    for text in (
        f'{path}(7): error: static assertion failed with "{message}"',
        f"{path}:7:1: error: static assertion failed due to requirement 'C<3>::value == 4': {message}",
        f"{path}:7:1: error: static assertion failed: {message}",
    ):
        assert answers(text)[0].title == message


def test_an_error_in_the_middle_of_a_long_log_is_found(tmp_path: Path, capsys: Captured) -> None:
    noise = "step 17 loss 3.25 ((((\n" * 40_000
    error = "TypeError: OpError: incompatible layout with swizzle\n"
    pasted = tmp_path / "pasted.txt"
    pasted.write_text(noise + error + noise)
    assert run(["explain", str(pasted)]) == 1
    said = capsys.readouterr()
    assert "has a swizzle already" in said.out
    assert (
        said.err == f"note: of {2 * len(noise) + len(error):,} characters those around the errors are read\n"
    )
    pasted.write_text(noise[:1000] + error)
    assert run(["explain", str(pasted)]) == 1
    assert capsys.readouterr().err == ""


def cpp_layout(random_: random.Random, depth: int = 0) -> tuple[str, str, str, str]:
    """(shape in C++, stride in C++, shape, stride), random."""
    if depth < 2 and random_.random() < 0.5:
        parts = [cpp_layout(random_, depth + 1) for _ in range(random_.randint(1, 3))]
        return tuple(  # type: ignore[return-value]
            f"cute::tuple<{', '.join(p[i] for p in parts)}>"
            if i < 2
            else f"({','.join(p[i] for p in parts)})"
            for i in range(4)
        )

    def leaf(value: int) -> tuple[str, str]:
        forms = [
            f"cute::C<{value}>",
            f"cute::_{value}",
            f"cute::C<(int){value}>",
            f"cute::constant<int, {value}>",
        ]
        return (random_.choice(forms), str(value)) if random_.random() < 0.9 else ("int", "?")

    (shape, extent), (stride, step) = leaf(random_.randint(1, 256)), leaf(random_.randint(0, 512))
    return shape, stride, extent, step


def test_random_cpp_layouts_are_read() -> None:
    for seed in range(200):
        shape, stride, extents, steps = cpp_layout(random.Random(seed))
        text = f"instantiation of f [with SLayout=cute::Layout<{shape}, {stride}>, X=int]"
        assert [layout for _, layout in placed(text)] == [f"{extents}:{steps}"], seed


def test_a_composed_layout_is_read() -> None:
    text = (
        "cute::ComposedLayout<cute::Swizzle<3, 4, 3>, cute::C<0>, "
        "cute::Layout<cute::tuple<cute::_8, cute::_64>, cute::tuple<cute::_64, cute::_1>>>"
    )
    assert "S<3,4,3> o 0 o (8,64):(64,1)" in [layout for _, layout in placed(text)]


@pytest.mark.parametrize(
    "unit",
    thinned(
        [
            "SLayout=cute::tuple<",
            "cute::Layout<",
            "<",
            "Invalid __",
            "a",
            "cute.",
            "static assertion failed ",
            "'",
            "1",
            "gemm_",
            "make_layout(",
            "step 3 loss 3.25\n",
        ],
        2,
    ),
)
@pytest.mark.parametrize("letters", [12_000, pytest.param(45_000, marks=pytest.mark.sweep)])
def test_hostile_repetition_ends(unit: str, letters: int) -> None:
    """A pattern whose time grows with the square of the text needs minutes for one of the long ones."""
    text = unit * (letters // len(unit))
    answers(text)
    told(text)


def dump(**changes: object) -> str:
    fields = {
        "format": 6, "dim": 2, "gmem_address": "0x7f0000000000", "globalDim": "(1024,1024,1,1,1)",
        "globalStrides": "(2,2048,0,0,0)", "boxDim": "(64,128,1,1,1)", "elementStrides": "(1,1,1,1,1)",
        "interleave": 0, "swizzle": 3, "l2Promotion": 0, "oobFill": 0, **changes,
    }  # fmt: skip
    return "TMA Desc Addr: 0x7ffd " + " ".join(f"{key} {value}" for key, value in fields.items())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"gmem_address": "0"}, ["gmem_address is 0"]),
        ({"gmem_address": "0x7f0000000008"}, ["not a multiple of 16"]),
        ({"globalStrides": "(2,2056,0,0,0)"}, ["globalStrides[1] is 2056"]),
        ({"boxDim": "(64,256,1,1,1)"}, []),
        ({"boxDim": "(64,257,1,1,1)"}, ["boxDim[1] is 257"]),
        ({"boxDim": "(72,128,1,1,1)"}, ["144 B, not at most the swizzle's span of 128"]),
        ({"boxDim": "(4,128,1,1,1)"}, ["8 B, not a multiple of 16"]),
        ({"globalDim": "(1024,0,1,1,1)"}, ["globalDim[1] is 0"]),
        ({"swizzle": 0, "boxDim": "(72,128,1,1,1)"}, []),
        ({"format": 2, "boxDim": "(64,128,1,1,1)"}, ["256 B, not at most the swizzle's span of 128"]),
        ({"elementStrides": "(1,9,1,1,1)"}, ["elementStrides[1] is 9, not 1 to 8"]),
    ],
)
def test_a_printed_tensor_map_is_judged_field_by_field(changes: dict[str, object], said: list[str]) -> None:
    found = faults(dump(**changes))
    assert found is not None and len(found) == len(said)
    assert all(part in fault for part, fault in zip(said, found, strict=True))


def test_a_tensor_map_of_unknown_fields_is_not_judged() -> None:
    assert all(faults(dump(**change)) is None for change in ({"format": 13}, {"swizzle": 9}))


def test_the_script_of_a_traceback_is_named_in_the_command() -> None:
    text = 'File "/home/me/gemm.py", line 88, in <module>\nRuntimeError: CUDA error: misaligned address'
    (answer,) = answers(text)
    assert answer.place == "/home/me/gemm.py:88"
    assert "`layoutcheck trace --no-launch /home/me/gemm.py`" in answer.remedy


def test_no_tensor_is_shown_where_no_layout_is_at_fault() -> None:
    text = (
        'error: "k.py":80:0: operand #0 does not dominate this use\n'
        'note: %1 = "cute.make_fragment_like"(%0) : (!cute.memref<f32, rmem, align<32>, "2:1">) -> ()'
    )
    (answer,) = answers(text)
    assert answer.entry.level == "elsewhere" and answer.facts == ()


def test_a_program_is_not_read_as_an_error(capsys: Captured) -> None:
    assert run(["explain", "kernel.py"]) == 2
    assert capsys.readouterr().err == "error: no script 'kernel.py'; expected a Python file\n"


def test_a_bare_assertion_of_the_dsl_names_its_function_and_place() -> None:
    dsl = "/x/site-packages/nvidia_cutlass_dsl/python_packages/cutlass/cute/nvgpu"
    frame = f'File "{dsl}/tcgen05/helpers.py", line 77, in commit'
    own = 'File "/home/me/gemm.py", line 88, in kernel'
    (answer,) = answers(f"{own}\n{frame}\n    assert cta_group == CtaGroup.TWO\nAssertionError")
    assert answer.entry.name == "dsl.asserted" and answer.place == "/home/me/gemm.py:88"
    assert "commit" in answer.title and "cute/nvgpu/tcgen05/helpers.py:77" in answer.cause
    (other,) = answers(f"{own}\n    assert cta_group == CtaGroup.TWO\nAssertionError")
    assert other.entry.name == "elsewhere.python"


@pytest.mark.parametrize("function", ["set_name_prefix", "exp2"])
def test_pythons_own_words_are_no_statement_of_the_dsl(function: str) -> None:
    said = f"TypeError: A.<locals>.{function}() got an unexpected keyword argument 'approx' k.py:130: in f"
    (answer,) = answers(said)
    assert answer.title == f"{function}() got an unexpected keyword argument 'approx'"


def test_the_tensors_that_a_report_prints_are_kept() -> None:
    tensor = "tensor<ptr<f16, smem, align<1024>> o S<3,4,3> o 0 o ((8,16),(64,1)):((64,512),(1,0))>"
    (answer,) = answers(
        f"error: unable to compute the following composition\nsA: {tensor}\nsB: {tensor[:40]}"
    )
    assert answer.facts == (f"sA: {tensor}", f"sB: {tensor[:40]}")


def test_the_condition_of_an_assertion_is_shown_with_the_arguments_that_it_names() -> None:
    text = (
        'iterator.h(356): error: static assertion failed with "m" static_assert('
        "!(Map::kElements % Access::kElements), ^ detected during: instantiation of class X "
        "[with Shape_=Q<32, 128>, Map_=R<P<16, 2>, 1>, Access=Array<double, 2>] at line 3"
    )
    failure = asserted(text)
    assert failure is not None
    assert failure.named == (
        "the condition is !(Map::kElements % Access::kElements)",
        "Map_=R<P<16, 2>, 1>",
        "Access=Array<double, 2>",
    )
    for cut in range(len(text)):
        asserted(text[:cut])  # never raises
    assert asserted("no assertion at all") is None


@pytest.mark.parametrize(
    ("message", "path", "part"),
    [
        ("Invalid layout.", "cutlass/gemm/collective/builders/sm1xx_common.inl", "collective builder"),
        (
            "Accessing too many elements",
            "cutlass/epilogue/threadblock/output_tile_thread_map.h",
            "CUTLASS 2.x",
        ),
        ("StrideC must be rank-3", "cutlass/gemm/kernel/sm90_gemm.hpp", "(M,N,L)"),
        ("N must be multiple of 8.", "cutlass/numeric_conversion.h", "whole vectors"),
    ],
)
def test_a_part_of_cutlass_says_what_it_asks_for(message: str, path: str, part: str) -> None:
    assert part in of_header(message, path)[0]


def test_a_frame_of_another_library_is_told_beside_the_fault() -> None:
    text = (
        "========= Invalid __shared__ read of size 16 bytes ========= at void cub::Reduce<float>+0x10 "
        "========= Address 0x8 is misaligned"
    )
    assert [one.entry.name for one in answers(text)] == [
        "sanitizer.misaligned",
        "sanitizer.of-another-library",
    ]
    own = text.replace("cub::Reduce", "my_kernel")
    assert [one.entry.name for one in answers(own)] == ["sanitizer.misaligned"]
