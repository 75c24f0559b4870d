"""The code of TMA fixes pasted into a host function and a kernel; run as a module it compiles each.

Its argument is the architecture. Reads a JSON list of [name, element type, layout of the global tensor,
tile's coordinate, code] from stdin and prints one JSON line each: its name and what `cute.compile` said, or
null. No GPU is needed.
"""

import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["CUTE_DSL_ARCH"] = sys.argv[1]
os.environ["CUTE_DSL_DISABLE_FILE_CACHING"] = "1"

import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_compact_tensor

TEMPLATE = """
import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync


@cute.kernel
def kernel(atom: cute.CopyAtom, tma_tensor: cute.Tensor, index: cute.Tensor):
    allocator = cutlass.memory.SmemAllocator()
    {layout}
    coord = {coord}
{kernel}


@cute.jit
def launch(m: cute.Tensor, numbers: cute.Tensor):
    gmem = cute.make_tensor(m.iterator, {gmem})
    rows = numbers.iterator
    index = numbers
{host}
    kernel(atom, tma_tensor, index).launch(grid=(1, 1, 1), block=(128, 1, 1))
"""


def error_of(folder: Path, number: int, element: str, gmem: str, coord: str, code: str) -> str | None:
    """What the DSL says of the kernel; it reads the source again, so that comes from a file."""
    path = folder / f"pasted_{number}.py"
    host, kernel = code.split("# in the kernel\n")
    layout = host.split("# on the host")[0].strip()
    indented = ["\n".join(f"    {line}" for line in part.split("\n")) for part in (host, kernel)]
    path.write_text(
        TEMPLATE.format(
            layout=" ".join(layout.split()), coord=coord, gmem=gmem, host=indented[0], kernel=indented[1]
        )
    )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tensor = make_fake_compact_tensor(getattr(cutlass, element), (1 << 24,), assumed_align=128)
    numbers = make_fake_compact_tensor(cutlass.Int32, (1 << 12,), assumed_align=16)
    try:
        cute.compile(module.launch, tensor, numbers)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, *parts) in enumerate(json.load(sys.stdin)):
            print(json.dumps([name, error_of(Path(folder), number, *parts)]), flush=True)


if __name__ == "__main__":
    main()
