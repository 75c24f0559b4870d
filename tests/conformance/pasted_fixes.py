"""The code of fixes pasted into kernels; run as a module it compiles each for sm_90a. No GPU is needed.

Reads a JSON list of [name, source, destination, code] from stdin, the operands as code
of their own, and prints one JSON line each: its name and what `cute.compile` said, or null.
"""

import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["CUTE_DSL_ARCH"] = "sm_90a"
os.environ["CUTE_DSL_DISABLE_FILE_CACHING"] = "1"

import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_compact_tensor

TEMPLATE = """
import cutlass
from cutlass import cute


class Host:
    def __init__(self, tensor):
        self.tensor = tensor

    def float(self):
        return self


@cute.kernel
def kernel(m: cute.Tensor, ld: cutlass.Int32):
    tidx = cute.arch.thread_idx()[0]
    allocator = cutlass.memory.SmemAllocator()
    src = {src}
    dst = {dst}
    src_tensor, dst_tensor = Host(src), Host(dst)
{code}


@cute.jit
def launch(m: cute.Tensor, ld: cutlass.Int32):
    kernel(m, ld).launch(grid=(1, 1, 1), block=(128, 1, 1))
"""


def error_of(folder: Path, number: int, src: str, dst: str, code: str) -> str | None:
    """What the DSL says of the kernel; it reads the source again, so that comes from a file."""
    path = folder / f"pasted_{number}.py"
    indented = "\n".join(f"    {line}" for line in code.split("\n"))
    path.write_text(TEMPLATE.format(src=src, dst=dst, code=indented))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.cute.runtime.from_dlpack = lambda host, assumed_align: host.tensor  # which is in a kernel here
    tensor = make_fake_compact_tensor(cutlass.BFloat16, (1 << 20,), assumed_align=128)
    try:
        cute.compile(module.launch, tensor, cutlass.Int32(64))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, src, dst, code) in enumerate(json.load(sys.stdin)):
            print(json.dumps([name, error_of(Path(folder), number, src, dst, code)]), flush=True)


if __name__ == "__main__":
    main()
