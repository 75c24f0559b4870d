"""Whose a line of code is: the user's, or that of a library through which the user's call went."""

from __future__ import annotations

import re

_LIBRARY = re.compile(
    r"[\\/]?nvidia_cutlass_dsl[\\/]"
    r"|(?:site-packages|dsl_packages|python_packages)[\\/]cutlass[\\/]"
    r"|[\\/]layoutcheck[\\/]dsl[\\/]"
    # What wraps a function: `functools.wraps` has no frame, the wrapper of `deprecated` has one.
    r"|[\\/]typing_extensions\.py\Z|[\\/]python3[.0-9]*[\\/](?:functools|contextlib|warnings)\.py\Z"
    r"|\A<|\A-\Z"
)


def in_library(path: str) -> bool:
    """Whether a frame of this file is the DSL's, layoutcheck's, a decorator's or of no file at all."""
    return _LIBRARY.search(path) is not None
