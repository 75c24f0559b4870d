"""Whose a line of code is: the user's, or that of a library through which the user's call went."""

from __future__ import annotations

import re

SOURCES = ("src", "python", "torch-ext")
"""Folders of a repository that hold its packages: the src layout, and Hugging Face's kernel-builder."""

PROJECT = ("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "pytest.toml")
"""Files by which a folder is a project of its own."""

_LIBRARY = re.compile(
    r"[\\/]?nvidia_cutlass_dsl[\\/]"
    r"|(?:site-packages|dsl_packages|python_packages)[\\/]cutlass[\\/]"
    r"|[\\/]layoutcheck[\\/]dsl[\\/]"
    r"|[\\/]typing_extensions\.py\Z"  # the wrapper of `deprecated` has a frame
    r"|[\\/]lib[\\/]python3[.0-9]*[\\/](?!(?:site|dist)-packages[\\/])"
    r"|\A<|\A-\Z"
)


def in_library(path: str) -> bool:
    """Whether a frame of this file is the DSL's, Python's own, layoutcheck's or of no file at all."""
    return _LIBRARY.search(path) is not None
