"""Functions of a program that measure another one: from their second call on, their loops have two turns.

A function measures if it is given a function, waits for the GPU (`torch.cuda.synchronize`), and its `range`s
do not go through something (`len`). A hundred turns build what the first has built, and take the time in
which the program would come to its other kernels. What runs already goes on.
"""

from __future__ import annotations

import builtins
import dis
import gc
import sys
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Any

MEASURING = "measures another function: the loops of what does so have two turns here"
_NAME = "__layoutcheck_turns__"  # among the builtins: in place of `range`
_looked_at = set[CodeType]()


def synchronize(tell: Callable[[str], None], *_args: Any, **_named: Any) -> None:
    """`torch.cuda.synchronize`, which has nothing to wait for."""
    frame = sys._getframe(1)
    if frame.f_code not in _looked_at and _measures(frame):
        setattr(builtins, _NAME, _turns)
        if _shorten(frame.f_code):
            tell(f"{frame.f_code.co_name} {MEASURING}")
    _looked_at.add(frame.f_code)


def _turns(*args: Any) -> range:
    return range(*args)[:2]


def _measures(frame: FrameType) -> bool:
    code = frame.f_code
    given = (
        frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    )
    if "len" in code.co_names or not any(callable(one) and not isinstance(one, type) for one in given):
        return False
    loads = [one.opname for one in dis.get_instructions(code) if one.argval == "range"]
    return bool(loads) and set(loads) == {"LOAD_GLOBAL"}


def _shorten(code: CodeType) -> bool:
    """Whether there is a function of this code; it begins otherwise from now on."""
    functions = [one for one in gc.get_referrers(code) if isinstance(one, FunctionType)]
    names = tuple(_NAME if name == "range" else name for name in code.co_names)
    for one in functions:
        one.__code__ = code.replace(co_names=names)
    return bool(functions)
