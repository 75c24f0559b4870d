"""The kernels of `guards`, compiled.

python -m tests.dsl.lowered.mode_kernels SPECS.json           # compiles them all (what a trace watches)
"""

import json
import sys
from pathlib import Path
from typing import Any

import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor

from tests.dsl.lowered.guards import THREADS


@cute.kernel
def k(x: cute.Tensor, out: cute.Tensor, spec: cutlass.Constexpr):
    t, (bx, by, bz) = cute.arch.thread_idx()[0], cute.arch.block_idx()
    columns = spec["columns"]
    at = (by * (THREADS // columns) + t // columns, bx * columns + t % columns)
    moved = (at[0] + spec["moved"][0], at[1] + spec["moved"][1])
    ok = t >= 0
    for i, of_moved, mode in spec["guards"]:
        c = (moved if of_moved else at)[i]
        ok = ok and (c >= 0 if mode < 0 else c < x.shape[mode])
    place = moved if cutlass.const_expr(not spec["rest"]) else (*moved, bz)
    if ok:
        if cutlass.const_expr(spec["store"]):
            x[place] = 1.0
        else:
            out[t] = x[place]


@cute.jit
def host(x: cute.Tensor, out: cute.Tensor, spec: cutlass.Constexpr):
    tile = (THREADS // spec["columns"], spec["columns"])
    down, along = (cute.ceil_div(x.shape[g], t) + spec["more"] for g, t in zip(spec["grid"], tile))  # noqa: B905
    down = down - spec.get("fewer", 0) if cutlass.const_expr(spec.get("fewer", 0)) else down
    k(x, out, spec).launch(grid=[along, down, max(1, spec["rest"])], block=[THREADS, 1, 1])


def main() -> None:
    """Compile all."""
    for spec in json.loads(Path(sys.argv[1]).read_text()):
        stride: list[Any] = [cute.sym_int64(), cute.sym_int64()]
        shape: list[Any] = [cute.sym_int(), cute.sym_int()]
        outermost: Any = cute.sym_int64()
        if given := spec.get("extents"):
            shape = list(given)
            stride[spec["order"][1]] = given[spec["order"][0]]
            outermost = given[0] * given[1]
            if spec["kept"]:  # the outer mode's extent is dynamic, all strides are static
                shape[spec["order"][1]] = cute.sym_int()
        stride[spec["order"][0]] = 1
        if spec["rest"]:
            shape, stride = [*shape, spec["rest"]], [*stride, outermost]
        x = make_fake_tensor(cutlass.Float32, tuple(shape), stride=tuple(stride), assumed_align=4)
        cute.compile(host, x, make_fake_tensor(cutlass.Float32, (THREADS,), stride=(1,)), spec)


if __name__ == "__main__":
    main()
