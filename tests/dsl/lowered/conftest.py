"""Programs traced and lowered, by one process of the DSL's passes for the tests of a module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.trace import trace_script
from layoutcheck.sources.traced import Trace

Traced: TypeAlias = Callable[[str], Trace]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    """What a program's text is seen to compile for sm_90a, its copies lowered."""
    with Lowering() as lowering:

        def run(text: str) -> Trace:
            script = tmp_path_factory.mktemp("traced") / "program.py"
            script.write_text(text)
            return trace_script(str(script), launch=False, arch="sm_90a", timeout_s=200, lowering=lowering)

        yield run
