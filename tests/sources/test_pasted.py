"""One error in every form in which it is pasted: the answer stays the same."""

from __future__ import annotations

import html
import json
import random
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from layoutcheck.catalogue import Answer
from layoutcheck.errors import InputError
from layoutcheck.sources.diagnostics import read_errors
from layoutcheck.sources.pasted import readings

Form = Callable[[str], str]
LINES = (Path(__file__).parent.parent / "data" / "reported.jsonl").read_text().splitlines()
TEXTS = [json.loads(line)["text"] for line in LINES]


def led_by(lead: str) -> Form:
    """What a test runner, a quotation or a log puts before each line."""
    return lambda text: "\n".join(f"{lead}{line}" for line in text.split("\n"))


def logged(text: str) -> str:
    """As Python's logging prints it: the lead is before the first line alone."""
    return f"2026-11-20 10:11:12,123 - kernels.run - ERROR - {text}"


def wrapped(text: str) -> str:
    """Broken at spaces, as mail does."""
    lines = text.split("\n")
    return "\n".join("\n".join(textwrap.wrap(line, 76, break_long_words=False) or [""]) for line in lines)


def surrounded(text: str) -> str:
    """Amid the lines of a run."""
    noise = "".join(f"step {step} of 900, 3.25 s\n" for step in range(60))
    return f"{noise}{text}\n{noise}"


FORMS: dict[str, Form] = {
    "colours": led_by("\x1b[1;31m"),
    "quotation": led_by("> "),
    "quotation twice": led_by("> > "),
    "wrapped": wrapped,
    "wrapped quotation": lambda text: led_by("> ")(wrapped(text)),
    "Windows": lambda text: text.replace("\n", "\r\n"),
    "pytest": led_by("E       "),
    "GitHub": led_by("2026-11-20T10:11:12.1234567Z "),
    "torchrun": led_by("[rank0]: "),
    "vLLM": led_by("(EngineCore_DP0 pid=4242) ERROR 11-20 10:11:12 [core.py:708] "),
    "Ray": led_by("\x1b[36m(RayWorkerWrapper pid=123, ip=10.0.0.2)\x1b[0m "),
    "Kubernetes": led_by("2026-11-20T10:11:12.123456789Z stderr F "),
    "compose": led_by("worker-1  | "),
    "docker build": led_by("#12 103.4 "),
    "mpirun": led_by("[1,0]<stderr>: "),
    "srun": led_by("3: "),
    "glog": led_by("E1120 10:11:12.123456 12345 run.cc:123] "),
    "bold": lambda text: "\n".join(f"**{line}**" if line.strip() else line for line in text.split("\n")),
    "diff": led_by("+"),
    "logging": logged,
    "JSON": json.dumps,
    "JSON object": lambda text: json.dumps({"level": "error", "message": text}),
    "HTML": html.escape,
    "HTML page": lambda text: f'<div class="log"><pre><code>{html.escape(text)}</code></pre></div>',
    "fenced": lambda text: f"```\n{text}\n```",
    "indented": led_by("    "),
    "prose": lambda text: f"When I run my kernel I get this:\n\n{text}\n\nAny ideas? Thanks!",
    "run": surrounded,
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "mark": lambda text: f"\ufeff{text}",
}


@cache
def outcome(text: str) -> str:
    """The name of the first entry that answers, "copy" for an error about one copy, "" for none."""
    try:
        first = read_errors(text)[0]
    except InputError as error:
        return error.message.partition("\n")[0]
    return first.entry.name if isinstance(first, Answer) else "copy"


def changed(form: Form, texts: list[str]) -> Iterator[tuple[str, str, str]]:
    """(text, answer, answer to the form) where the two differ."""
    for text in texts:
        before, after = outcome(text), outcome(form(text))
        if squeezed(before) != squeezed(after):
            yield text, before, after


def squeezed(said: str) -> str:
    """A title quotes the text; spaces and line ends in it are the form's."""
    return "".join(said.split())[:60]


@pytest.mark.parametrize("name", FORMS)
def test_a_form_changes_no_answer(name: str) -> None:
    sample = random.Random(name).sample(TEXTS, 2)
    assert list(changed(FORMS[name], sample)) == []


@pytest.mark.sweep
@pytest.mark.parametrize("name", FORMS)
def test_a_form_changes_hardly_any_answer_of_all_reported_texts(name: str) -> None:
    differing = list(changed(FORMS[name], TEXTS))
    print(name, len(differing), differing[:5])
    assert len(differing) <= 0.015 * len(TEXTS)


@pytest.mark.parametrize(
    "text",
    [
        "ptxas info    : (C7512) Potential Performance Loss: wgmma.mma_async instructions are serialized "
        "due to insufficient register resources for the function 'k'",
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 262160, "
        "Hardware limit: 232448",
        "     Verification: OFF\n      Disposition: Failed",
        "CUDA Failure at a.cu:31: misaligned address",
    ],
)
def test_an_error_amid_a_log_that_is_not_read_whole_is_found(text: str) -> None:
    noise = "".join(f"[{step}/2000] Building CUDA object k{step}.dir/a.cu.o\n" for step in range(2000))
    assert outcome(f"{noise}{text}\n\n{noise}") == outcome(text) != ""


RESHAPE = """  File "/home/me/kern/k09.py", line 7, in kernel
    w = v.reshape((2,3))
ValueError: expected reshaped size to be the same: (8,) -> (2, 3)
"""
PIP = "ERROR: Could not find a version that satisfies the requirement flash-attn-4 (from versions: none)\n"
FAULT = "RuntimeError: CUDA error: an illegal memory access was encountered\n"


@pytest.mark.parametrize("text", [f"{RESHAPE}\n{PIP}", f"{PIP}\n{RESHAPE}"])
def test_of_two_errors_that_of_cute_comes_first_and_the_other_is_named(text: str) -> None:
    pytest.importorskip("cutlass")
    (found,) = read_errors(text)
    assert isinstance(found, Answer) and "reshape" in found.title
    assert "flash-attn-4" in found.facts[-1]


def test_of_two_errors_of_gpus_both_are_answered() -> None:
    pytest.importorskip("cutlass")
    found = [one.entry.name for one in read_errors(f"{FAULT}\n{RESHAPE}") if isinstance(one, Answer)]
    assert found == ["cuda.illegal-access", "dsl.raised"]
    assert outcome(f"{PIP}\n\nsee also: undefined symbol: cuTensorMapEncodeTiled") == outcome(PIP)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\\_\\_global\\_\\_ read of sm\\_100a", "__global__ read of sm_100a"),
        ("C:\\new\\_x is open", "C:\\new\\_x is open"),
        ("[rank0]: error: a\n[rank1]: error: a\n[rank0]: b\n[rank1]: b", "error: a\nb"),
        ("load: 50%|##   | 1/2 [00:01<00:01, 2.0it/s]\nerror: x", "error: x"),
        ("\u2018cute.copy\u2019 op \u201cx\u201d", "'cute.copy' op \"x\""),
        ("Compiling 1/10\rerror: x", "error: x"),
        ("I get\n> error: a long\n> message\nany idea?", "I get\nerror: a long\nmessage\nany idea?"),
        ("I get\n>       assert x\nE  is false", "I get\n>       assert x\nis false"),
        ("step 1 loss 2.5\rstep 2 loss 2.25\rTraceback", "step 2 loss 2.25\nTraceback"),
        ('Traceback\r  File "a.py"\r  File "b.py"', 'Traceback\n  File "a.py"\n  File "b.py"'),
        (f"weights {'a0' * 1101} error: x", f"weights {'a0' * 100}... error: x"),
        (f"weights {'a0' * 1099} error: x", f"weights {'a0' * 1099} error: x"),
        ("cublas | inf | inf |\nmine | inf | inf |", "cublas | inf | inf |\nmine | inf | inf |"),
        ("8192 12.3 TFLOPS\n4096 11.2 TFLOPS", "8192 12.3 TFLOPS\n4096 11.2 TFLOPS"),
        ("#12 103.4 hello there\n#12 103.9 nvcc fatal : x", "hello there\nnvcc fatal : x"),
    ],
)
def test_what_stands_around_a_message_is_left_out(text: str, shown: str) -> None:
    assert next(readings(text)) == shown


def test_lines_that_end_at_the_width_of_a_terminal_are_joined_first() -> None:
    long = "ValueError: expected reshaped size to be the same: (8,) -> (2, 3) in the function reshape of k"
    text = "\n".join(f"{line[:80]}\n{line[80:]}" for line in (long, long.replace("k", "q")))
    assert next(readings(text)).split("\n")[0] == long


# What a program prints because of an error that stands above it.
CONSEQUENCES = (
    "terminate called after throwing an instance of 'c10::Error'\nAborted (core dumped)",
    "ninja: build stopped: subcommand failed.",
    '1 error detected in the compilation of "k.cu".',
    "subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.",
    "Segmentation fault (core dumped)",
    "[rank0]:[W1120 ProcessGroupNCCL.cpp:1250] Warning: destroy_process_group() was not called",
    "make: *** [Makefile:12: k.o] Error 255",
)


@pytest.mark.parametrize("consequence", CONSEQUENCES)
@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("OpError: expects arch to be one of ['sm_100a'], but got sm_90a", "dsl.arch-not-admissible"),
        ("RuntimeError: CUDA error: misaligned address", "cuda.misaligned-address"),
        (
            'cute/layout.hpp(7): error: static assertion failed with "Static shape_div failure"',
            "cpp.shape-div",
        ),
    ],
)
def test_the_first_cause_is_answered_first(text: str, entry: str, consequence: str) -> None:
    assert outcome(f"{text}\n{consequence}\n") == entry


def test_escapes_are_undone_where_a_text_is_written_in_them() -> None:
    assert next(readings('"one\\n\\u001b[31mtwo\\t\\"x\\""')).startswith('"one\ntwo')
    path = "C:\\new\\tmp\\k.cu(3): error: x"
    assert next(readings(path)) == path
    assert next(readings("a &lt;b&gt;<br>c")) == "a <b>\nc"
    assert next(readings("Layout<b>x")) == "Layout<b>x"  # no page: its tags are template arguments


def test_a_quotation_is_one_where_nearly_all_lines_are_marked() -> None:
    assert next(readings("> one\n>\n> two")) == "one\n\ntwo"
    for text in (">>> print(1)\n>>> x", "a<\n> b\nc\nd"):
        assert next(readings(text)) == text


@pytest.mark.parametrize("at", [0, 1], ids=["before", "behind"])
def test_an_error_beside_a_megabyte_of_printed_code_is_found(at: int) -> None:
    lines = (
        f'%{line} = "cute.crd2idx"(%a, %b) : (!cute.coord<"(_,{line})">, !cute.layout<"8:1">) -> i32\n'
        for line in range(10_000)
    )
    parts = ["".join(lines)]
    parts.insert(at, "error: unable to compute the following composition: (8,4):(4,1) o 6:2\n")
    assert outcome("".join(parts)) == "dsl.algebra-refused"


def test_the_border_at_a_lines_end_is_left_out() -> None:
    assert next(readings("│ error: x   │\n│ y ┃ \n│ z  ")).split("\n") == ["error: x", "y", "z  "]
