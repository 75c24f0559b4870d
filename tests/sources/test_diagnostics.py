"""Real compiler output of DSL 4.0 to 4.8, as it comes out of terminals, test runners and CI logs."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from layoutcheck.catalogue import Answer
from layoutcheck.errors import InputError
from layoutcheck.sources.diagnostics import (
    Diagnostic,
    _score,
    copies_from_error,
    read_diagnostics,
    read_errors,
)
from layoutcheck.sources.messages import explain, is_message

DATA = Path(__file__).parents[1] / "data" / "errors"
SAMPLES = sorted(path.stem for path in DATA.glob("*.txt"))
RED = "\x1b[91m\x1b[1m"


def sample(name: str) -> str:
    return (DATA / f"{name}.txt").read_text(encoding="utf-8")


def squeezed(found: list[Diagnostic]) -> list[tuple[object, ...]]:
    return [("".join(d.message.split()), d.copy, d.location, str(d.atom), d.dsl) for d in found]


def prefixed(prefix: str) -> Callable[[str], str]:
    return lambda text: "\n".join(prefix + line for line in text.split("\n"))


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def wrapped(width: int) -> Callable[[str], str]:
    def wrap(text: str) -> str:
        lines = plain(text).split("\n")
        return "\n".join(line[i : i + width] for line in lines for i in range(0, max(1, len(line)), width))

    return wrap


def tmux(text: str) -> str:
    return "\n".join(f"│{line.ljust(72)}│" for line in wrapped(72)(text).split("\n"))


def test_a_message_with_types_gives_the_copy() -> None:
    (found,) = read_diagnostics(sample("4.3.5_cp_async_alignment"))
    assert found.copy is not None and found.copy.tiled is not None
    assert str(found.copy.src) == '!cute.memref<bf16, gmem, align<16>, "((8,1),(1,4)):((1,0),(0,2048))">'
    assert str(found.copy.dst) == '!cute.memref<bf16, smem, "((8,1),(1,4)):((64,0),(0,16))">'
    assert str(found.copy.atom) == "!cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>"
    assert str(found.copy.tiled).endswith(
        'layout_copy_tv = <"((16,16),8):((128,8),1)">, tiler_mn = <"[128:1;16:1]">>'
    )
    assert found.message.endswith("ptr alignment does not meet requirement")
    assert found.location == "/home/me/kernels/load.py:29"
    assert found.dsl == "before 4.5"


def test_a_message_alone_gives_its_atom() -> None:
    (found,) = read_diagnostics(sample("4.8.1_cp_async_alignment"))
    assert found.copy is None
    assert str(found.atom) == "!cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>"
    assert found.message == (
        "dst ptr alignment (16 bits) does not meet requirement (128 bits) of atom "
        "'!cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>'"
    )
    assert (found.location, found.dsl) == (None, "4.8")


@pytest.mark.parametrize(
    ("text", "code", "atom"),
    [
        (
            "src ptr alignment (16 bits) does not meet requirement (128 bits) of atom "
            "'!cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>'",
            "LC101",
            True,
        ),
        (
            "cute.copy op dst ptr alignment (64 bits) does not meet requirement (128 bits) of atom "
            "simt_async_copy<bf16, cache = global, 128 b>",
            "LC101",
            True,
        ),
        (
            "error: cute.copy op src ptr alignment (16 bits) does not meet requirement (128 bits)",
            "LC101",
            False,
        ),
        ('It fails with "alignment does not meet requirement". Why?', "LC101", False),
        ("when I call it:\n  can't vectorize copy to 8 elements\nwhat does it mean?", "LC102", False),
        ("'cp_size' only supports (32, 64, 128), but got 16", "LC103", False),
        ("dst expects shared based memref,\nbut got generic", "LC104", False),
        ("to have the same size in mode-1, but got 4 and 2", "LC105", False),
    ],
)
def test_a_message_without_its_operation_is_read(text: str, code: str, atom: bool) -> None:
    (found,) = read_errors(text)
    assert isinstance(found, Diagnostic) and found.copy is None
    meaning = explain(found.message)
    assert meaning is not None and (meaning.code, found.atom is not None) == (code, atom)
    assert not found.message.startswith(("error", "cute.copy"))


def test_words_that_other_operations_say_are_no_copys_message() -> None:
    for text in (
        "the tensors need to have the same element size",
        "expects pred",
        "expected to be statically shaped",
    ):
        assert not is_message(text)


def test_the_source_line_is_found_where_the_compiler_prints_it() -> None:
    for name in ("4.8.1_cp_async_alignment_lineinfo", "4.8.1_cp_async_alignment_debug", "4.2.1_size"):
        (found,) = read_diagnostics(sample(name))
        assert found.location is not None and re.fullmatch(r"/home/me/kernels/load\.py:\d+", found.location)


@pytest.mark.parametrize("prefix", ["", "[rank0]: "])
def test_the_traceback_tells_the_line_where_the_message_names_none(prefix: str) -> None:
    """The innermost line of the user's own code, as of a log that keeps no location."""
    lines = (
        'Traceback (most recent call last):\n  File "/home/me/run.py", line 7, in main\n    load(a)\n'
        '  File "/home/me/k.py", line 61, in load\n    cute.copy(tiled, a, s)\n'
        '  File "/venv/lib/python3.12/site-packages/nvidia_cutlass_dsl/x.py", line 9, in f\n    raise e\n'
        "error: 'cute.copy' op src ptr alignment (16 bits) does not meet requirement (128 bits) of atom "
        "'!cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>'\n"
    )
    (found,) = read_diagnostics("".join(prefix + line for line in lines.splitlines(keepends=True)))
    assert found.location == "/home/me/k.py:61"


def test_a_repeated_error_is_one_diagnostic() -> None:
    text = sample("4.8.1_cp_async_alignment_stacktrace")
    assert text.count("'cute.copy' op") == 2  # once with its types, once in the summary
    (found,) = read_diagnostics(text)
    assert found.copy is not None


def test_several_errors_in_one_paste() -> None:
    text = (
        sample("4.3.5_size")
        + "\n$ python other.py\n"
        + sample("4.8.1_cp_async_width")
        + sample("4.5.0_memory_space")
    )
    assert read_diagnostics(text)[0].message.startswith("expects same size")
    assert len(read_diagnostics(text)) == 3
    assert len(copies_from_error(text)) == 2


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_is_understood(name: str) -> None:
    (found,) = read_diagnostics(sample(name))
    assert found.problem is None
    assert explain(found.message) is not None
    with_types = "see current operation" in sample(name)
    assert (found.copy is not None) == with_types


@pytest.mark.parametrize(
    "mangle",
    [
        plain,
        wrapped(80),
        wrapped(97),
        tmux,
        prefixed("E       "),
        prefixed("[rank3]: "),
        prefixed("2026-05-01T12:00:00.1234567Z "),
        prefixed("2026-05-01 12:00:00,123 "),
        prefixed("worker-1  | "),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\n".join(line.rstrip() for line in wrapped(80)(text).split("\n")),
        lambda text: f"{RED}{text}\x1b[0m",
    ],
    ids=[
        "plain",
        "80",
        "97",
        "tmux",
        "pytest",
        "torchrun",
        "github",
        "logging",
        "compose",
        "crlf",
        "trimmed",
        "red",
    ],
)
def test_terminals_and_test_runners_change_nothing(mangle: Callable[[str], str]) -> None:
    for name in SAMPLES:
        expected = squeezed(read_diagnostics(sample(name)))
        found = squeezed(read_diagnostics(mangle(sample(name))))
        if "autovec" in name:  # its only location is inside the DSL, and the call stack is what names it
            expected, found = [d[:2] for d in expected], [d[:2] for d in found]
        assert found == expected, name


def test_printed_ir_and_aliases() -> None:
    text = """
    !rmem = !cute.memref<bf16, rmem, align<32>, "(8):(1)">
    !memref_gmem_bf16_ = !cute.memref<bf16, gmem, align<16>, "(8):(1)">
    !copy_simt = !cute_nvgpu.atom.universal_copy<bf16, 128 b>
      cute.copy(%atom, %3, %4) : (!copy_simt, !memref_gmem_bf16_, !rmem)
      cute.copy(%atom, %3, %4, %p) {x = 1 : i32} : (!copy_simt, !memref_gmem_bf16_,
          !rmem, !cute.memref<i8, rmem, "(8):(1)">)
      cute.copy_atom_call(%atom, %3, %4) : (!copy_simt, !memref_gmem_bf16_, !rmem) -> ()
    """
    found = read_diagnostics(text)
    assert [d.message for d in found] == ["", "", ""]
    assert [d.copy is not None and d.copy.op for d in found] == ["copy", "copy", "copy_atom_call"]
    assert found[1].copy is not None and str(found[1].copy.pred) == '!cute.memref<i8, rmem, "(8):(1)">'


def test_a_truncated_paste_says_what_is_broken() -> None:
    text = sample("4.3.5_cp_async_alignment")
    cut = text[: text.index("!cute.memref<bf16, smem") + 20]
    (found,) = read_diagnostics(cut)
    assert found.copy is None
    assert found.problem is not None and "never closed" in found.problem
    assert "ptr alignment" in found.message


@pytest.mark.parametrize(
    ("message", "code", "operand", "evidence"),
    [
        (
            "S ptr alignment (64 bits) does not meet requirement (128 bits) of atom",
            "LC101",
            "src",
            {"have_bits": 64, "need_bits": 128},
        ),
        (
            "expects dst ptr bit alignment to be divisible by copy_bits(128), but got 64",
            "LC101",
            "dst",
            {"have_bits": 64, "need_bits": 128},
        ),
        ("cannot vectorize copy to 8 elements (static strides must match)", "LC102", None, {"elements": 8}),
        (
            "'cp_size' only supports (32, 64, 128), but got 16.",
            "LC103",
            None,
            {"supported": "32,64,128", "need_bits": 16},
        ),
        (
            "src expects global based memref, but got generic",
            "LC104",
            "src",
            {"expected": "global", "space": "generic"},
        ),
        ("`src.rank() = 2` != `dst.rank() = 1`", "LC105", None, {}),
        ("src and dst need to have the same element size", "LC106", None, {}),
        ("expects pred to have compatible shape with: (1,(1)) but got", "LC107", None, {}),
    ],
)
def test_what_a_message_means(
    message: str, code: str, operand: str | None, evidence: dict[str, object]
) -> None:
    found = explain(message)
    assert found is not None
    assert (found.code, found.operand, found.evidence) == (code, operand, evidence)


@pytest.mark.parametrize(
    ("need", "atom", "promise", "divisor"),
    [
        (128, " of atom '!cute_nvgpu.atom.universal_copy<f32, 128 b>'", 16, 4),
        (64, " of atom '!cute_nvgpu.atom.simt_async_copy<bf16, cache = always, 64 b>'", 8, 4),
        (32, " of atom '!cute_nvgpu.atom.universal_copy<f8E4M3FN, 32 b>'", 4, 4),
        (128, "", 16, 8),
    ],
)
def test_the_promise_to_make_has_the_numbers_of_the_message(
    need: int, atom: str, promise: int, divisor: int
) -> None:
    found = explain(f"src ptr alignment (8 bits) does not meet requirement ({need} bits){atom}")
    assert found is not None
    assert f"assumed_align={promise} in from_dlpack" in found.meaning
    assert f"divisibility={divisor})" in found.meaning and f"divby={divisor})" in found.meaning


RAISED = """Traceback (most recent call last):
  File "/home/me/gemm.py", line 88, in kernel
    cute.copy(tiled_copy, tAgA[None, None, 0], tAsA)
  File "/venv/lib/nvidia_cutlass_dsl/python_packages/cutlass/cute/core.py", line 3100, in copy
    raise ValueError(
"""


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("Expected source and destination tensors to have the same rank, but got 2 and 3", "LC105"),
        ("Expected source and destination tensors to have the same size in mode-1, but got 4 and 8", "LC105"),
        ("`copy` currently only supports equal source and destination element type bit width", "LC106"),
        (
            "expects smem and gmem have the same size in the first rank, but got smemShape: "
            "(((8,8),(64,1))) and gmemShape: ((64,32))",
            "LC113",
        ),
        ("unable to partition input tensors for TMA", "LC113"),  # NVIDIA/cutlass#2345
        ("expects arch to be at least sm_100, but got sm_90a", "LC108"),
        (
            "'cute_nvgpu.atom.make_non_exec_im2col_tma_load' op operand #1 must be CuTe composed layout "
            "type, but got '!cute.layout<\"(64,64):(64,1)\">'",
            "LC113",
        ),
        ("gmem_coord_layout must be 2D for 2D gather4 TMA load, but got rank 1", "LC115"),
        ("gmem_index_layout scatter mode size must be at least 4, but got 3", "LC115"),
        ("gmem_coord_tensor is required for gather4 TMA ops", "LC115"),
        ("TMA Gather/Scatter only expects TMA G-basis with rank 2, but got rank 1", "LC115"),
    ],
)
def test_what_the_python_layer_raises_is_explained(message: str, code: str) -> None:
    (found,) = read_diagnostics(f"{RAISED}ValueError: {message}\n")
    meaning = explain(found.message)
    assert meaning is not None and meaning.code == code
    assert found.python and found.location == "/home/me/gemm.py:88"


def test_the_line_that_the_dsl_points_at_below_its_message() -> None:
    (found,) = read_diagnostics(
        "\x1b[91m\x1b[1merror:\x1b[0m expects arch to be at least sm_100, but got sm_90a\n"
        "  \x1b[94m-->\x1b[0m /home/me/gather.py:14:43\n   |\n"
        "  \x1b[92msuggestion:\x1b[0m Ensure env CUTE_DSL_ARCH matches your GPU architecture\n"
    )
    assert found.location == "/home/me/gather.py:14"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("torch.AcceleratorError: CUDA error: an illegal memory access was encountered", "layoutcheck trace"),
        ("call cuLaunchKernel/cuLaunchKernelEx failed, got error code: 716", "layoutcheck trace"),
        ("========= Invalid __shared__ read of size 16 bytes", "layoutcheck trace"),
        ("failed to legalize operation 'cute_nvgpu.make_gmma_smem_desc'", "layoutcheck canonical"),
        ("ValueError: shape and stride must be congruent", "each mode must meet one of the same nesting"),
        ("'cute.gemm' op invalid layout of A/B/D. A: (1,1):(0,0), B: (1,1):(0,0)", "cute.gemm"),
        ("error: unknown: 'cute.slice' op coord does not fit", "cute.slice"),
        ("Segmentation fault (core dumped)", "without a message"),
    ],
)
def test_what_is_not_about_a_copy_is_answered_by_the_catalogue(text: str, said: str) -> None:
    with pytest.raises(InputError, match=r"no cute\.copy error"):
        read_diagnostics(text)
    (answer, *_) = read_errors(text)
    assert isinstance(answer, Answer) and said in answer.title + answer.cause + answer.remedy


def test_an_error_that_another_tool_answers_is_refused_with_its_name() -> None:
    with pytest.raises(InputError, match=r"made inside a branch"):
        read_errors("operand #0 does not dominate this use")


def test_types_that_a_report_kept_are_used() -> None:
    (found,) = read_diagnostics(
        "MLIRError: 'cute.copy' op S ptr alignment (64 bits) does not meet requirement (128 bits)\n"
        "  of atom '!cute_nvgpu.atom.universal_copy<i128, 128 b>'\n"
        '  ... (!cute.memref<i128, smem, align<8>, "1:0">, !cute.memref<i128, rmem, align<32>, "1:0">)\n'
    )
    assert found.message.endswith("'!cute_nvgpu.atom.universal_copy<i128, 128 b>'")
    assert found.copy is not None and str(found.copy.dst) == '!cute.memref<i128, rmem, align<32>, "1:0">'


def test_an_unknown_message_is_not_explained() -> None:
    assert explain("the moon is in the wrong house") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "nothing to read"),
        ("\x00\xff" * 1000, "no cute.copy error"),
        ("cute.copy(%a, %b", "whose types cannot be read: .* never closed"),
        ("cute.copy(%a, %b)", "whose types cannot be read: the operation's types are missing"),
    ],
)
def test_text_without_a_copy_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_diagnostics(text)


def test_an_error_is_found_in_a_long_log() -> None:
    noise = '2026-05-01 12:00:00 step 17 loss 3.25 (((( <<<< "quote\n' * 180_000
    text = noise[: len(noise) // 2] + sample("4.3.5_size") + noise[len(noise) // 2 :]
    assert len(text) > 9_000_000
    start = time.process_time()
    (found,) = read_diagnostics(text)
    assert found.copy is not None
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    "unit", ["'cute.copy' op ", '"cute.copy"(%', "(", '"', "<", "cute.copy(%a) : (", "\x1b["]
)
def test_hostile_repetition_stays_fast(unit: str) -> None:
    text = unit * (500_000 // len(unit))
    start = time.process_time()
    with contextlib.suppress(InputError):
        read_diagnostics(text)
    assert time.process_time() - start < 3


def test_a_reading_is_better_without_broken_types():
    assert _score([Diagnostic("what")]) == (0, 0, 0, 1)
    assert _score([Diagnostic("what", problem="a type breaks off")]) == (0, 0, 0, 0)
    assert _score([Diagnostic("what"), Diagnostic("what", problem="a type breaks off")])[3] == 1


EQUIVALENCE = (
    "error: make_tiled_tma_atom_B: expected top-level shape equivalence between the\nSMEM layout and the CTA "
    "V-map, but got\n"
    "'!cute.layout<\"((((32,4),1),(16,(4,2))),1,2):((((16,4),0),(0,(1,512))),0,1024)\">'\nand\n"
    "'!cute.layout<\"(((32,4),(16,4)),1,2):(((1@0@0,1@1@0),(1@0@1,1@1@1)),0,1@1@1)\">'"
)


def test_two_layouts_of_a_message_are_compared() -> None:
    (found,) = read_diagnostics(EQUIVALENCE)
    meaning = explain(found.message)
    assert meaning is not None and meaning.code == "LC113"
    assert (
        "Mode 0.1.1 is (4,2) (8 elements) in the shared layout and 4 (4 elements) in the tile"
        in meaning.meaning
    )
    alike = explain(found.message.replace("(16,(4,2))", "(16,(2,2))"))
    unknown = explain(found.message.replace("(16,(4,2))", "(16,?)"))
    assert alike is not None and unknown is not None
    assert alike.meaning == unknown.meaning and "Mode" not in alike.meaning


def test_a_matrix_copy_needs_whole_rows() -> None:
    atom = "'ldsm<val_type={}, mode=(8,8)>'"
    said = f"src ptr alignment (64 bits) does not meet requirement (128 bits) of atom {atom}"
    narrow, half = explain(said.format("f4E2M1FN")), explain(said.format("f16"))
    assert narrow is not None and "32 elements" in narrow.meaning and "M of 5" in narrow.meaning
    assert half is not None and "8 elements" in half.meaning and "M of 3" in half.meaning


def test_errors_of_two_tools_without_a_blank_line_are_told_both() -> None:
    text = (
        "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'\n"
        "RuntimeError: CUDA error: misaligned address\n"
    )
    (found,) = read_errors(text)
    assert not isinstance(found, Diagnostic) and found.entry.name == "cuda.misaligned-address"
    assert any("sm_121a" in fact and "TRITON_PTXAS_PATH" in fact for fact in found.facts)


@pytest.mark.parametrize(
    ("text", "times"), [("RuntimeError: no such thing", 1), ("ValueError: of two\nlines", 2)]
)
def test_a_text_is_looked_up_once_in_each_way_to_read_it(
    text: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("layoutcheck.catalogue.answers", lambda reading: asked.append(reading) or [])
    with pytest.raises(InputError):
        read_errors(text)
    assert len(asked) == len(set(asked)) == times and {"".join(one.split()) for one in asked} == {
        "".join(text.split())
    }


@pytest.mark.parametrize(
    "atom", ["simt_async_copy<bf16, cache = global, 128 b>", "'universal_copy<bf16, 128 b>'"]
)
def test_the_atom_of_a_message_gives_the_elements_whatever_it_lost(atom: str) -> None:
    """Without the dialect's name, and without quotation marks."""
    told = explain(f"src ptr alignment (64 bits) does not meet requirement (128 bits) of atom {atom}")
    assert told is not None and "multiples of 8 bytes, 4 elements" in told.meaning
