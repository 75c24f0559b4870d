"""A whole program of ours, compiled by the DSL: its kernel's registers, and its PTX.

An item is `{"code", "arch", "arguments", "scalars"}`: the source of a module with `launch`, an architecture,
for each tensor its element type and strides (`["BFloat16", ["?", 8], 1]`, numbers or divisors), and how many
32-bit integers `launch` takes after the stream.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from layoutcheck.dsl.tasks import Item
from layoutcheck.dsl.tasks.errors import python_error

_REGISTERS = 0x2F
"""The attribute of `.nv.info` that holds a kernel's registers (EIATTR_REGCOUNT, as cuobjdump names it)."""
_SIZED = 4
"""The format of attributes that are followed by as many bytes as they say."""
_COUNT = itertools.count()


def compile_program(item: Item) -> Item:
    """`{"registers", "ptx"}`, or `{"error"}`."""
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
    return {"registers": registers(made.__cubin__), "ptx": made.__ptx__}


def _module(code: str) -> Any:
    """The DSL reads a function's source from its file."""
    file = Path(f"program{next(_COUNT)}_{os.getpid()}.py").absolute()
    file.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def registers(cubin: bytes) -> int:
    """Of the kernel of an ELF file, by its section `.nv.info`; 0 where that does not say."""
    start = struct.unpack_from("<Q", cubin, 40)[0]
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    sections = [struct.unpack_from("<IIQQQQ", cubin, start + n * size) for n in range(count)]
    for name, _, _, _, offset, length in sections:
        at = sections[names][4] + name
        if cubin[at : cubin.index(b"\0", at)] == b".nv.info":
            return _attribute(cubin[offset : offset + length])
    return 0


def _attribute(info: bytes) -> int:
    at = 0
    while at < len(info):
        form, name, length = struct.unpack_from("<BBH", info, at)
        if name == _REGISTERS:
            return int(struct.unpack_from("<II", info, at + 4)[1])
        at += 4 + (length if form == _SIZED else 0)
    return 0
