# ruff: noqa: E501 (what programs print)
"""What the installed DSL raises for a newcomer's mistakes is answered by the entry that is meant for it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from layoutcheck.catalogue import ENTRIES, answers, installed
from layoutcheck.catalogue.tables import called
from layoutcheck.sources.pasted import readings
from tests.thinned import thinned

pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl")

SCRIPT = Path(__file__).with_name("errors.py")
NAMES = re.findall(
    r'^def ((?:dsl|elsewhere)_\w+)|^    "((?:dsl|elsewhere)_\w+)": lambda', SCRIPT.read_text(), re.M
)


def plain(name: str) -> str:
    return re.sub(r"[._-]", "", name)


@pytest.fixture(scope="module")
def raised() -> dict[str, str]:
    env = {**os.environ, "CUTE_DSL_ARCH": "sm_90a", "FORCE_COLOR": "1"}
    child = subprocess.run(
        [sys.executable, str(SCRIPT)], env=env, capture_output=True, text=True, check=False
    )
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", thinned([a or b for a, b in NAMES], 2))
def test_a_mistake_is_answered_by_its_entry(raised: dict[str, str], name: str) -> None:
    assert raised[name], "the DSL accepts it"
    (first, *_) = answers(next(readings(raised[name])))
    others = map(called, ("dsl.raised", "elsewhere.raised"))
    known = {plain(entry.name): entry for entry in (*ENTRIES, *others)}
    assert first.entry is known[plain(name.partition("__")[0])], raised[name]


def test_the_advice_of_the_dsl_is_given(raised: dict[str, str]) -> None:
    """Beneath its coded errors, or, where only the first line was pasted, from its own catalogue."""
    (whole,) = answers(next(readings(raised["dsl_coded__kernel"])))
    assert "Compile the @cute.jit function that launches" in whole.remedy
    (line,) = answers("error[CALL_KERNEL_TARGET]: `k` is decorated with @cute.kernel.")
    assert "Compile the @cute.jit function that launches" in line.remedy


def test_names_are_looked_up_in_the_installed_dsl(raised: dict[str, str]) -> None:
    (first, *_) = answers(raised["dsl_not_sliced"])
    assert any("ThrCopy.partition_S(src) in cute/atom.py" in fact for fact in first.facts)
    (keyword, *_) = answers(raised["dsl_call"])
    assert any("local_tile(input, tiler, coord, proj)" in fact for fact in keyword.facts)
    assert installed.defined("__getattr__") == () and installed.defined("no_such_name_at_all") == ()


def test_a_line_of_the_dsl_that_asks_a_number_for_a_member_is_the_callers() -> None:
    """No name of the DSL's own: an attribute that only instances have."""
    at = 'File "/e/site-packages/nvidia_cutlass_dsl/dsl_packages/cutlass/pipeline/helpers.py", line 152, in f'
    raised = "AttributeError: 'int' object has no attribute 'no_name_of_any'"
    assert answers(f"{at}\n{raised}")[0].entry.name == "dsl.given-python"
    assert answers(raised)[0].entry.name == "elsewhere.library-version"


def test_the_type_that_is_given_is_told_where_it_stands_far_behind(raised: dict[str, str]) -> None:
    (first, *_) = answers(next(readings(raised["dsl_lowered_operation__tensor"])))
    assert "a tensor is given" in first.cause and "tensor.iterator" in first.remedy


def test_a_division_by_zero_is_told() -> None:
    at = (
        'File "/e/site-packages/nvidia_cutlass_dsl/dsl_packages/cutlass/cute/core.py", line 3645, in ceil_div'
    )
    (first, *_) = answers(f"{at}\nZeroDivisionError: integer division or modulo by zero")
    assert "A divisor is 0" in first.cause


def traceback(inside: str, function: str, source: str, said: str) -> tuple[str, str]:
    """(a traceback that ends at the last statement of the DSL's function which begins so, that place)."""
    (path, text) = next(one for one in installed.files() if installed.short(one[0]) == inside)
    behind = text.index(f"def {function}(")
    line = text.count("\n", 0, text.index(source, behind)) + 1
    frame = f'  File "{path}", line {line}, in {function.rpartition(".")[2]}\n    {source}'
    return (
        f'Traceback (most recent call last):\n  File "k.py", line 7, in f\n    g(x)\n{frame}\n{said}',
        f"{inside}:{line}",
    )


@pytest.mark.parametrize(
    ("inside", "function", "source", "said", "told"),
    [
        # repeat_as_tuple has the same words, and stands before it
        ("cute/core.py", "repeat", 'raise ValueError("n must be >= 1")', "ValueError: n must be >= 1", "n is less than 1"),
        # the message is made elsewhere
        ("base_dsl/common.py", "_coerce_to_cuda_version", "raise DSLUserCodeError(", "DSLUserCodeError: 5", "none of None, DSLCudaVersion, str"),
        # an entry of its own, which does not say where
        ("cute/nvgpu/warpgroup/mma.py", "_verify", "raise DSLUserCodeError(", "DSLUserCodeError: expects the 'ab_dtype' Op parameter to be one of Float16 or BFloat16", "Float16"),
    ],
)  # fmt: skip
def test_the_last_frame_tells_the_statement(
    inside: str, function: str, source: str, said: str, told: str
) -> None:
    text, place = traceback(inside, function, source, said)
    (first, *_) = answers(text)
    whole = " ".join((first.cause, *first.facts))
    assert f"raises it at {place} where" in whole
    assert told in whole


def test_a_frame_of_another_version_is_not_taken_for_the_line() -> None:
    """Which has another statement there."""
    text, place = traceback("cute/core.py", "make_swizzle", 'raise ValueError("b, m', "ValueError: 5")
    text = re.sub("raise ValueError.*", "raise ValueError(found)", text)
    assert place not in " ".join(f"{one.cause} {one.facts}" for one in answers(text))
