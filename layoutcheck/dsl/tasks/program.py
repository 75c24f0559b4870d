"""A whole program of ours, compiled by the DSL: registers, PTX, and what a turn of the loop takes.

An item is `{"code", "arch", "arguments", "scalars", "looks"}`: the source of a module with `launch`, an
architecture, for each tensor its element type and strides (`["BFloat16", ["?", 8], 1]`, numbers or
divisors), how many 32-bit integers `launch` takes after the stream, and whether it looks at registers
without storing them.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from layoutcheck.dsl.tasks import Item, python_error
from layoutcheck.dsl.tasks.machine_code import turn
from layoutcheck.machine.cubin import registers

_COUNT = itertools.count()


def compile_program(item: Item) -> Item:
    """`{"registers", "ptx"}` and for sm_90 `"turn"` (`machine_code.Turn`), or `{"error"}`."""
    os.environ["CUTE_DSL_ARCH"], os.environ["CUTE_DSL_DISABLE_FILE_CACHING"] = item["arch"], "1"
    with ThreadPoolExecutor(1) as apart:  # a thread has no MLIR context yet: the DSL opens its own
        try:
            return apart.submit(_compiled, item).result()
        except Exception as caught:  # the DSL raises all sorts
            return {"error": python_error(caught)["error"]}


def _compiled(item: Item) -> Item:
    import cutlass
    from cutlass import cute
    from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

    shape = cute.sym_int32(), cute.sym_int32()
    tensors = [
        make_fake_tensor(
            getattr(cutlass, dtype),
            shape,
            tuple(d if isinstance(d, int) else cute.sym_int64(divisibility=d[1]) for d in strides),
            assumed_align=16,
        )
        for dtype, *strides in item["arguments"]
    ]
    scalars = [cutlass.Int32(0)] * item["scalars"]
    module = _module(item["code"])
    made = cute.compile[cute.KeepCUBIN, cute.KeepPTX](module.launch, *tensors, make_fake_stream(), *scalars)
    known = {"turn": turn(made.__cubin__, item["looks"])} if item["arch"].startswith("sm_90") else {}
    return {"registers": max(registers(made.__cubin__).values()), "ptx": made.__ptx__} | known


def _module(code: str) -> Any:
    """The DSL reads a function's source from its file."""
    file = Path(f"program{next(_COUNT)}_{os.getpid()}.py").absolute()
    file.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
