"""Compiles synthesised programs with the installed DSL: JSON lines of programs in, one verdict each out.

    python -m tests.synthesis.compile_programs sm_90a < PROGRAMS

No GPU is needed. A line has the program's `code`, and an entry for each tensor of `launch`: its element type,
then its strides, which are 1, another number or `["?", divisor]`:
`{"code": ..., "arguments": [["BFloat16", ["?", 8], 1], ...]}`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    os.environ["CUTE_DSL_ARCH"] = sys.argv[1]
os.environ["CUTE_DSL_DISABLE_FILE_CACHING"] = "1"

import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor


def module_of(code: str, folder: Path, name: str) -> Any:
    """The program as a module: the DSL reads its functions' source from a file."""
    file = folder / f"{name}.py"
    file.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(given: dict[str, Any], folder: Path, name: str) -> Any:
    """The compiled launch of one program."""
    module = module_of(given["code"], folder, name)
    shape = cute.sym_int32(), cute.sym_int32()
    tensors = [
        make_fake_tensor(
            getattr(cutlass, dtype),
            shape,
            tuple(d if isinstance(d, int) else cute.sym_int64(divisibility=d[1]) for d in strides),
            assumed_align=16,
        )
        for dtype, *strides in given["arguments"]
    ]
    extra = [cutlass.Int32(0)] if given.get("keep") else []
    return cute.compile(module.launch, *tensors, make_fake_stream(), *extra)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for n, line in enumerate(sys.stdin):
            try:
                compiled(json.loads(line), Path(folder), f"program{n}")
                answer = None
            except Exception as error:  # the DSL raises all sorts; every one is the answer
                answer = f"{type(error).__name__}: {error}"
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
