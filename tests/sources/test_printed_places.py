"""Whose a frame is: a decorator's wrapper between the user's call and the DSL is nobody's place."""

from __future__ import annotations

import pytest

from layoutcheck.places import in_library
from layoutcheck.sources.printed import where_of


@pytest.mark.parametrize(
    ("path", "library"),
    [
        ("/venv/lib/python3.12/site-packages/nvidia_cutlass_dsl/dsl_packages/cutlass/cute/core.py", True),
        ("/venv/lib/python3.12/site-packages/typing_extensions.py", True),
        ("/usr/lib/python3.12/functools.py", True),
        ("/usr/lib/python3.12/contextlib.py", True),
        ("<frozen runpy>", True),
        ("-", True),
        ("/home/me/functools.py", False),
        ("/home/me/kernels/copy_utils.py", False),
        ("/venv/lib/python3.12/site-packages/quack/copy_utils.py", False),
    ],
)
def test_whose_a_file_is(path: str, library: bool) -> None:
    assert in_library(path) is library


def test_the_place_of_a_copy_is_the_call_of_the_deprecated_function() -> None:
    """Between quack's call and the DSL stands the wrapper that `typing_extensions.deprecated` makes."""
    inner, outer = (
        f'callsite("{name}"("{path}":{line}:12 to :40) at '
        for name, path, line in (
            (
                "deprecated.__call__.<locals>.wrapper",
                "/venv/lib/python3.12/site-packages/typing_extensions.py",
                3140,
            ),
            ("copy_tma", "/home/me/copy_utils.py", 1258),
        )
    )
    found = where_of(f'loc({inner}{outer}"load"("/home/me/gemm.py":9:4)))')
    assert [(frame.file, frame.line) for frame in found] == [
        ("/home/me/copy_utils.py", 1258),
        ("/home/me/gemm.py", 9),
    ]
