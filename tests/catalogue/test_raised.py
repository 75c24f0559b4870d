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
