"""The file that a reader starts with is true, example by example and line by line of its table."""

import doctest

import layoutcheck.analysis as analysis
from layoutcheck.analysis import Analysis
from layoutcheck.sources.request import build


def test_the_examples_are_true() -> None:
    result = doctest.testmod(analysis)
    assert result.failed == 0 and result.attempted >= 9


def test_the_table_is_what_the_model_says() -> None:
    run = Analysis(build("(8):(1)", "(8):(64)", "cp.async", bits=128, dtype="bf16")[0]).worst
    assert run is not None
    rows = {
        "read, asked and done": run.intent.src[:, 0, 0] - run.src_base,
        "written, asked": run.intent.dst[:, 0, 0] - run.dst_base,
        "written, done": run.execution.dst[0, 0, ::2] - run.dst_base,
    }
    assert (run.execution.src[0, 0, ::2] - run.src_base == rows["read, asked and done"]).all()
    text = analysis.__doc__ or ""
    for name, addresses in rows.items():
        (line,) = (line for line in text.splitlines() if line.strip().startswith(f"{name} "))
        assert [int(word) for word in line.split() if word.startswith("+")] == addresses.tolist()
