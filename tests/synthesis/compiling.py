"""Programs, compiled by one process of the installed DSL for each architecture (`compile_programs`)."""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any


@cache
def _process(arch: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.synthesis.compile_programs", arch]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(process.kill)
    return process


def compiled_by_dsl(jobs: Iterable[dict[str, Any]], arch: str = "sm_90a") -> list[str | None]:
    """What the DSL says of each program; None of one that it compiles."""
    process, answers = _process(arch), []
    assert process.stdin is not None and process.stdout is not None
    for job in jobs:
        process.stdin.write(json.dumps(job) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        if not answer:
            _process.cache_clear()
            raise AssertionError(f"a program ends the DSL's process:\n{job['code']}")
        answers.append(json.loads(answer))
    return answers
