"""Conversions in registers, compiled by the installed DSL; run as a module: `ARCH < PAIRS`. Needs no GPU.

Reads a JSON list of [from, to] from stdin, names of `cutlass`, and prints a JSON line for each: whether four
values are converted.
"""

import json
import os
import sys

if __name__ == "__main__":
    os.environ["CUTE_DSL_ARCH"] = sys.argv[1]
os.environ["CUTE_DSL_DISABLE_FILE_CACHING"] = "1"

import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor

COUNT = 4


def compiles(given: str, made: str) -> bool:
    """Whether the DSL compiles the conversion."""
    before, after = getattr(cutlass, given), getattr(cutlass, made)

    @cute.kernel
    def kernel(src: cute.Tensor, dst: cute.Tensor):
        held = cute.make_rmem_tensor((COUNT,), before)
        cute.basic_copy(src, held)
        values = held.load().to(after)
        converted = cute.make_rmem_tensor((COUNT,), after)
        converted.store(values)
        cute.basic_copy(converted, dst)

    @cute.jit
    def launch(src: cute.Tensor, dst: cute.Tensor):
        kernel(src, dst).launch(grid=(1, 1, 1), block=(32, 1, 1))

    tensors = [make_fake_tensor(one, (COUNT,), (1,), assumed_align=16) for one in (before, after)]
    try:
        cute.compile(launch, *tensors)
    except Exception:  # the DSL raises all sorts; every one is the answer
        return False
    return True


if __name__ == "__main__":
    for pair in json.load(sys.stdin):
        print(json.dumps(compiles(*pair)), flush=True)
