"""Programs traced and lowered, by one process of the DSL's passes for all tests of the folder."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

from layoutcheck.dsl.trace import trace_script
from layoutcheck.sources.traced import Trace
from tests.forking import traced_in_forks
from tests.lowering import SharedLowering

__all__ = ["traced_in_forks"]

Traced: TypeAlias = Callable[[str], Trace]


@pytest.fixture(scope="session")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    """What a program's text is seen to compile for sm_90a, its copies lowered."""
    with contextlib.ExitStack() as stack:
        lowering = stack.enter_context(SharedLowering())

        def run(text: str) -> Trace:
            nonlocal lowering
            if lowering.problem:  # a program ended the process: the next one gets its own answer
                lowering = stack.enter_context(SharedLowering())
            script = tmp_path_factory.mktemp("traced") / "program.py"
            script.write_text(text)
            return trace_script(str(script), launch=False, arch="sm_90a", timeout_s=200, lowering=lowering)

        yield run
