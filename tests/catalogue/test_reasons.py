# ruff: noqa: E501 (messages as they are printed)
"""Families of the DSL's messages, the conditions of its statements as sentences, and messages without their code."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from layoutcheck.catalogue import ENTRIES, answers, codes, installed, operand_types, raising, reasons
from layoutcheck.catalogue.guards import Guard
from layoutcheck.catalogue.literals import plain
from layoutcheck.cli import run

LINES = (Path(__file__).parent.parent / "data" / "reported.jsonl").read_text().splitlines()
REPORTED = [json.loads(line)["text"] for line in LINES]
FAMILIES = [(one, one in reasons.OF_PYTHON) for one in (*reasons.OF_PYTHON, *reasons.OF_LIBRARY)]


def test_every_family_answers_its_example_before_the_others() -> None:
    for one, of_python in FAMILIES:
        at = one.at or ("cute/x.py:1 f" if of_python else "")
        assert one.where.search(at), (one.example, at)
        assert reasons.find(one.example, at) is one, one.example


def test_a_family_is_whole() -> None:
    for one, _ in FAMILIES:
        assert one.cause.endswith(".") and not one.helps.endswith("."), one.example
        assert len({one.example for one, _ in FAMILIES}) == len(FAMILIES)


def test_a_message_of_no_family_has_none() -> None:
    for said in ("all tests passed", "the copy took 3 ms", "loss is nan", "connection reset by peer"):
        assert reasons.find(said) is None and reasons.find(said, "cute/core.py:1 f") is None, said


def guard(source: str, *, holds: bool = True) -> Guard:
    return Guard(((ast.parse(source, mode="eval").body, holds),))


@pytest.mark.parametrize(
    ("source", "holds", "told", "asked"),
    [
        ("begin >= end", True, "begin is at least end", "begin is less than end"),
        ("x % 8 != 0", True, "x is not a multiple of 8", "x is a multiple of 8"),
        ("n & (n - 1) != 0", True, "n is not a power of two", "n is a power of two"),
        ("self.width not in (8, 16)", True, "width is not one of 8, 16", "width is one of 8, 16"),
        ("isinstance(src, (Layout, Tensor))", False, "src is not a Layout or Tensor", "src is a Layout or Tensor"),
        ("rank(order) != 3", True, "the number of modes of order is not 3", "the number of modes of order is 3"),
        ("a is None or b < 1", True, "a is not given (None) or b is less than 1", "a is given and b is at least 1"),
        ("const_expr(not callable(f))", True, "f is not a function", "f is a function"),
        ("remaining", True, "`remaining` is true", ""),
        ("all(ok(x) for x in y)", False, "`all((ok(x) for x in y))` is false", "`ok(x)` is true, for each x of y"),
    ],
)  # fmt: skip
def test_a_condition_is_a_sentence(source: str, holds: bool, told: str, asked: str) -> None:
    found = guard(source, holds=holds)
    assert (found.told(), found.asked()) == (told, asked)


def statements(source: str) -> list[tuple[str, str]]:
    """(function, what is told) of every raise of a program."""
    return [(function, guard.told()) for _, function, guard in raising.walk(ast.parse(source))]


def test_the_end_of_a_chain_lists_what_was_tried() -> None:
    chain = "def f(x):\n if x is A: pass\n elif x is B: pass\n else: raise E('m')"
    assert statements(chain) == [("f", "x is none of A, B")]
    returns = "def f(x):\n if isinstance(x, A): return 1\n if isinstance(x, B): return 2\n raise E('m')"
    assert statements(returns) == [("f", "x is none of A, B")]
    mixed = "def f(x, y):\n if x is A: pass\n elif y is B: pass\n else: raise E('m')"
    assert statements(mixed) == [("f", "y is not B")]


def test_a_handler_names_what_failed() -> None:
    assert statements("def f(x):\n try: return MAP[x]\n except KeyError as e: raise E('m') from e") == [
        ("f", "`MAP[x]` fails")
    ]


needs_dsl = pytest.mark.skipif(not installed.files(), reason="needs nvidia-cutlass-dsl")


@needs_dsl
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "ValueError: Expected begin < end, but got 2 >= 2",
            ["group_modes refuses", "where begin is at least end", "Here begin is 2, end is 2", "end: Ending index"],
        ),
        (
            "ValueError: mode must be in the range [0, 2), got: 3",
            ["gather or scatter refuses", "mode is 3", "flatten nested modes"],
        ),
        (
            "ValueError: tcgen05.ld: num must be a power of 2 in [1, 128], got 96",
            ["num is not one of 1, 2, 4, 8, 16, 32, 64, 128", "Here num is 96"],
        ),
        (
            "TypeError: invalid type for input, got <class 'list'>",
            ["prepend or append", "Here input is of type list"],
        ),
        (
            "OpError: expects the 'num_matrices' Op parameter to be one of [1,2,4] k.py:3 warp.StMatrix16x8x8bOp(True, 3)",
            ["StMatrix16x8x8bOp refuses", "num_matrices is not one of 1, 2, 4"],
        ),
        (
            'File "/x/nvidia_cutlass_dsl/python_packages/cutlass/pipeline/helpers.py", line 891, in advance\nValueError: count must be >= 1',
            ["PipelineState.advance", "A state advances by one stage or more"],
        ),
    ],
)  # fmt: skip
def test_an_answer_holds_the_condition_and_the_values(text: str, parts: list[str]) -> None:
    (answer,) = answers(text)
    said = " ".join((answer.title, answer.cause, *answer.facts, answer.remedy))
    assert [part for part in parts if part not in said] == [], said


def test_a_short_message_that_anyone_could_raise_is_not_the_dsls() -> None:
    assert answers("ValueError: count must be >= 1")[0].entry.name == "elsewhere.python"


@needs_dsl
def test_a_message_without_its_code_has_the_answer_of_its_code() -> None:
    said = "Launch grid dimension at position 0 must be an integer, but got <class 'float'>."
    (answer,) = answers(f"DSLUserCodeError: {said}")
    assert answer.entry.name == "dsl.coded" and "LAUNCH_INVALID_DIMENSION" in answer.cause
    assert "Write `//` or cute.ceil_div(n, tile)" in answer.remedy  # what the row of the code says
    (whole,) = answers(f"error[LAUNCH_INVALID_DIMENSION]: {said}")
    assert (whole.cause, whole.entry) == (answer.cause, answer.entry)


@needs_dsl
def test_a_coded_message_may_name_two_classes_with_their_modules() -> None:
    a_class = "`<class 'cutlass.experimental.task_scheduling.task.Task'>`"
    (answer,) = answers(
        "DSLUserCodeError: error[CONTAINER_STRUCTURE_CHANGED]: `self` has a different structure at the end of "
        f"this `if` than at the start (`self` changed from {a_class} with 58 parts to {a_class} with 60 parts). "
        "A value carried through a `if` must keep the same shape (same fields and the same number of parts) on "
        "every pass."
    )
    assert answer.entry.name == "dsl.coded" and "code alone" not in answer.cause
    assert answer.remedy.startswith("Give `self` the same structure on every branch")


@needs_dsl
def test_nearly_every_code_has_a_family() -> None:
    every = list(installed.coded())
    assert len(every) > 150
    assert sum(bool(codes.cause(code)) for code in every) > 0.95 * len(every)


VERIFIERS = {
    "error: expects C to have rank 2 or 3, but got C: '!cute.memref<f32, rmem, align<32>, \"((2,2),2,2,1):((1,2),4,8,0)\">'": "Slice stage and k block",
    "error: unknown: IM2COL mode requires at least 3 dimensions": "make_im2col_tma_atom",
    "loc(\"k\"(\"k.py\":3:0)): error: 'cute.gemm' op expects A/B of type f16, but got A: 'f32', B: 'f32'": "Make the fragments from this MMA",
    "error: 'cute_nvgpu.atom.make_tmem_copy' op expects a TMEM copy atom, but got '!cute_nvgpu.atom.universal_copy<f32>'": "tcgen05.Ld32x32bOp",
    "Not a canonical GMMA_K Layout: Expected stride failure.": "layoutcheck canonical",
    "warning: [C7] tcgen05.ld not statically preceded in its block by a mbarrier.wait": "replays the accesses",
}


@pytest.mark.parametrize(("text", "part"), VERIFIERS.items(), ids=range(len(VERIFIERS)))
def test_a_verifiers_message_is_answered_by_its_family(text: str, part: str) -> None:
    (answer, *_) = answers(text)
    assert part in answer.remedy, (answer.entry.name, answer.remedy)
    assert not re.search(r"MLIR compiler|another", answer.title)


def test_another_compilers_memref_is_not_cutes() -> None:
    (answer,) = answers("error: expects static layout, but got 'memref<4xf32>' in 'linalg.generic'")
    assert "MLIR" in answer.title


def test_a_pattern_is_left_out_only_where_it_cannot_match() -> None:
    """Of long texts the words that a pattern needs are looked for first."""
    texts = [text for entry in ENTRIES for text, _ in entry.examples][::4] + REPORTED[::12]
    for text in texts:
        folded = " ".join(text.split())
        said = plain(folded)
        for entry in ENTRIES:
            if not entry.words.may_match(said):
                assert entry.words.pattern.search(folded) is None, (entry.name, folded)
    idle = sum(not entry.words.may_match("step 17 loss 3.25") for entry in ENTRIES)
    assert idle > 0.98 * len(ENTRIES)


LOG = "INFO 11-28 10:00:01 [core.py:58] Initializing an engine\n(EngineCore_0 pid=314) INFO 11-28 10:00:02 starting\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("DSLRuntimeError: IR verification failed: src ptr alignment", "IR verification failed: src ptr alignment"),
        ("Invalid PipelineOp specified", "Invalid PipelineOp specified"),
    ],
)  # fmt: skip
def test_a_message_amid_the_lines_of_a_log_is_answered_as_alone(text: str, said: str) -> None:
    if said.startswith("Invalid") and not installed.files():
        pytest.skip("needs nvidia-cutlass-dsl")
    alone, amid = answers(text), answers(f"{LOG}{text}\n{LOG}")
    assert [(one.title, one.cause, one.remedy) for one in amid] == [
        (one.title, one.cause, one.remedy) for one in alone
    ]
    assert amid[0].quote.endswith(said)


def test_a_long_log_is_searched_around_its_errors_alone() -> None:
    """Work, not time: of 331 patterns, those whose words the text lacks are not searched."""
    noise = "worker 7 loaded layer.3.weight shape (4096, 4096) in 0.013 s\n" * 1500
    said = plain(f"{noise}error: unknown: weakly congruent\n{noise}")
    assert sum(entry.words.may_match(said) for entry in ENTRIES) < 40


REFUSALS = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data" / "refusals.jsonl").read_text().splitlines()
]


def explained(refusals: list[dict[str, str]]) -> list[str]:
    """The texts, as DSL 4.8.1 raised them for a program with one mistake, whose answer lacks the cause that was judged right."""
    missed = []
    for one in refusals:
        (answer, *_) = answers(one["text"])
        said = " ".join((answer.title, answer.cause, *answer.facts, answer.remedy))
        missed += [one["text"]] if one["part"] not in said else []
    return missed


@needs_dsl
def test_what_the_dsl_raises_for_a_mistake_is_explained() -> None:
    assert explained(REFUSALS[::5]) == []


@needs_dsl
@pytest.mark.sweep
def test_all_that_the_dsl_raised_is_explained() -> None:
    assert len(REFUSALS) >= 60
    assert explained(REFUSALS) == []


@pytest.mark.parametrize(
    ("said", "cause", "helps"),
    [
        (
            "operand #0 must be ViewTypeInterface instance, but got '!cute.layout<\"8:1\">'",
            "Operand 0 of the operation (counted from 0) has to be a tensor, and a layout is given: !cute.layout<\"8:1\">.",
            "cute.make_tensor(pointer, layout)",
        ),
        (
            "operand #1 must be CuTe pointer to memory spaces (smem) with byte alignment 128, but got '!cute.ptr<f16, gmem>'",
            "has to be a pointer in shared memory aligned to 128 bytes, and a pointer of another kind is given",
            "tensor.iterator",
        ),
        ("operand #0 must be signless-integer-like, but got 'f32'", "has to be an integer, and a float is given", "cutlass.Int32(x)"),
        ("expects input of type LayoutType, but got '!cute.shape<\"8\">'", "input has to be a layout, and a shape is given", "make_layout"),
        (
            "'result' must be Tiled MMA atom type., but got '!cute.tiled_copy<x>'",
            "result has to be an MMA atom, and a copy atom is given",
            "make_tiled_mma",
        ),
        ("operand #2 must be static layout, but got '!cute.layout<\"?:1\">'", "a layout known when the program is compiled", "make_layout"),
    ],
)  # fmt: skip
def test_an_operand_of_another_type_is_told_in_the_users_terms(said: str, cause: str, helps: str) -> None:
    found = operand_types.told(said)
    assert found is not None and cause in found[0] and helps in found[1], found


def test_other_messages_name_no_operands_type() -> None:
    for said in (
        "expects M to be 64 or 128, but got 96",
        "must be a list, but got 'x'",
        "expects the 'ab_dtype' Op parameter to be Float16",
    ):
        assert operand_types.told(said) is None, said


def test_a_message_about_a_copy_without_its_types_has_its_family(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Messages of `cute.copy` are read by `sources`; what has no wording there is told by its family."""
    pasted = tmp_path / "error.txt"
    pasted.write_text(
        "error: unknown: 'cute.copy' op bulk copy expected at least 128-bits, attempted copy bits 64"
    )
    assert run(["explain", str(pasted)]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "moves whole units of 16 bytes" in said and "Pad the run to 16 bytes" in said


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: mode must be 'train' or 'eval', got 'x'",
        "error: expects static shape, got tensor<?xf32>",
        "AssertionError: size mismatch, got 4 and 8",
        "ValueError: stride must be positive",
        "error: operand #0 must be tensor of floating-point values, but got 'tensor<4xi32>'",
        "ERROR: failed to verify signature of package foo",
        "error: invalid conditions, blocks out of order",
        "cluster shape must be specified in the job's file",
    ],
)
def test_other_programs_words_are_not_the_dsls(text: str) -> None:
    assert [one.entry.name for one in answers(text) if not one.entry.name.startswith("elsewhere.")] == []
