"""`@layoutcheck.case`: a kernel and fake arguments that layoutcheck may build, to see the copies in it.

import layoutcheck

@layoutcheck.case(arch="sm_80", expect="rejected")
def broken():
    return kernel, (fake_x, fake_y)          # what `cute.compile(kernel, fake_x, fake_y)` takes

The decorator records nothing and runs nothing: `layoutcheck lint` and `layoutcheck confirm` find it in the
text of the files under `[tool.layoutcheck] paths`, and call the function in a child process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

Builder = TypeVar("Builder", bound=Callable[[], Any])


@overload
def case(builder: Builder, /) -> Builder: ...


@overload
def case(
    *,
    arch: str | Sequence[str] | None = None,
    expect: str | Sequence[str] | None = None,
    name: str | None = None,
) -> Callable[[Builder], Builder]: ...


def case(
    builder: Builder | None = None,
    /,
    *,
    arch: str | Sequence[str] | None = None,
    expect: str | Sequence[str] | None = None,
    name: str | None = None,
) -> Builder | Callable[[Builder], Builder]:
    """Register a function without parameters that returns `(kernel, arguments)`.

    - `arch`: the architecture it is built for, or several ("sm_80", "sm_90a"); the default is the settings'
    - `expect`: the verdict that is meant ("rejected", "wrong", "slow", "legal"), or the codes of the findings
      that are meant ("LC102"): they are not reported, and it is a finding if they do not come
    - `name`: how the case is called in reports; the default is the function's name

    All three are read from the text, so they are written as literals.
    """
    del arch, expect, name  # read from the source, see `lint.cases`
    if builder is not None and not callable(builder):
        raise TypeError("@layoutcheck.case stands at a function; its options are given by their names")
    if builder is not None:
        return builder
    return lambda function: function
