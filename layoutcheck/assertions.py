"""For tests of kernels: a copy that must be legal, an access that must not cost more than its budget.

import layoutcheck as lc

def test_the_load() -> None:
lc.assert_legal("(128,64):(64,1)", "(128,64):(64,1)", "cp.async", bits=128, dtype="bf16",
thr="(16,16):(16,1)", val="(1,8)", src_space="gmem", dst_space="smem")
"""

from __future__ import annotations

from typing import Any

from layoutcheck.api import check
from layoutcheck.check import Report
from layoutcheck.errors import InputError

__tracebackhide__ = True  # a failing test shows its own line


def assert_legal(*operands: Any, slow: bool = False, **options: Any) -> Report:
    """Raise AssertionError, with the whole report, unless the copy is `legal`; return the report.

    Takes what `layoutcheck.check` takes. With `slow=True` a copy that is correct but wasteful passes as well.
    An `unknown` copy never passes. Raises InputError for unusable input.
    """
    return expect(check(*operands, **options), ("legal", "slow") if slow else ("legal",))


def expect(report: Report, allowed: tuple[str, ...]) -> Report:
    """Raise AssertionError, with the whole report, unless its verdict is allowed; return the report."""
    if report.verdict not in allowed:
        wanted = " or ".join(allowed)
        codes = ", ".join(
            dict.fromkeys(one.code for one in report.findings if one.severity == report.verdict)
        )
        said = f"{codes}: " if codes else ""  # first: pytest's summary cuts the line
        raise AssertionError(f"{said}the copy is {report.verdict}, not {wanted}\n\n{report.text()}")
    return report


def assert_wavefronts(most: int, *operands: Any, **options: Any) -> Report:
    """Raise AssertionError unless a block needs at most `most` shared-memory wavefronts; return the report.

    After the budget it takes the arguments of `layoutcheck.check`. A wavefront is one pass of a
    shared-memory access through the 32 banks (NVIDIA Nsight Compute, l1tex__data_pipe_lsu_wavefronts). The
    copy must be accepted and right, and its addresses known: where they are not, the error says so. Raises
    InputError for unusable input.
    """
    must_be_budget(most)
    return within(most, assert_legal(*operands, slow=True, **options))


def must_be_budget(most: object) -> None:
    """Raise InputError for what is no number of wavefronts."""
    if isinstance(most, bool) or not isinstance(most, int) or most < 0:
        raise InputError(
            f"{most!r} is not a budget of wavefronts", expected="an integer, 0 or more, before the copy"
        )


def within(most: int, report: Report) -> Report:
    """Raise AssertionError unless the copy's wavefronts are known and at most so many; return the report."""
    counted = report.execution.get("smem_wavefronts")
    if counted is None:
        raise AssertionError(f"the copy's shared-memory wavefronts are not known\n\n{report.text()}")
    if counted > most:
        raise AssertionError(f"{counted} shared-memory wavefronts, {most} allowed\n\n{report.text()}")
    return report
