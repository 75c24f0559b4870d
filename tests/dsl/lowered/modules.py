"""Modules made up: kernels that do one copy each, as the DSL prints what it traced."""

from __future__ import annotations

from collections.abc import Sequence

from layoutcheck.copies.copy import Copy


def module_of(copies: Sequence[Copy], threads: int = 128) -> str:
    """One kernel a copy, `k0`, `k1`, ...; copy i is `cute.copy#i`."""
    kernels = "\n".join(kernel(copy, f"k{i}", threads) for i, copy in enumerate(copies))
    return (
        '"builtin.module"() ({\n"gpu.module"() <{sym_name = "kernels"}> ({\n'
        f"{kernels}\n}}) : () -> ()\n}}) {{gpu.container_module}} : () -> ()\n"
    )


def kernel(copy: Copy, name: str, threads: int) -> str:
    """A kernel that partitions its arguments where the copy has a tiling, and copies."""
    arguments: list[tuple[str, str]] = []
    body: list[str] = []
    operands = []
    tiled = copy.tiling.tiled if copy.tiling else copy.tiled
    atom = str(copy.atom)
    body.append(f'%atom = "cute.make_atom"() : () -> {atom}')
    first = ("%atom", atom)
    if tiled is not None:
        body.append(f'%tiled = "cute.make_tiled_copy"(%atom) : ({atom}) -> {tiled}')
        first = ("%tiled", str(tiled))
    if copy.tiling:
        body.append('%tid = "nvvm.read.ptx.sreg.tid.x"() : () -> i32')
        body.append('%crd = "cute.make_coord"(%tid) : (i32) -> !cute.coord<"?">')
    for side in ("src", "dst"):
        view = copy.side(side)
        if copy.tiling and view.space != "rmem":
            whole = copy.tiling.side(side)
            arguments.append((f"%{side}", str(whole)))
            letter = "S" if side == "src" else "D"
            body.append(
                f'%{side}v = "cute.tiled.copy.partition_{letter}"(%tiled, %{side}, %crd) : '
                f'({tiled}, {whole}, !cute.coord<"?">) -> {view}'
            )
            operands.append((f"%{side}v", str(view)))
        elif view.space == "rmem" and view.layout.is_static:
            body.append(f'%{side} = "cute.memref.alloca"() : () -> {view}')
            operands.append((f"%{side}", str(view)))
        else:
            arguments.append((f"%{side}", str(view)))
            operands.append((f"%{side}", str(view)))
    if copy.pred is not None:
        arguments.append(("%pred", str(copy.pred)))
        operands.append(("%pred", str(copy.pred)))
    given = [first, *operands]
    body.append(
        f'"cute.copy"({", ".join(n for n, _ in given)}) '
        f"<{{operandSegmentSizes = array<i32: 1, 1, 1, {int(copy.pred is not None)}>}}> : "
        f"({', '.join(t for _, t in given)}) -> ()"
    )
    types = ", ".join(t for _, t in arguments)
    return (
        f'"cuda.kernel"() <{{function_type = ({types}) -> (), sym_name = "{name}"}}> ({{\n'
        f"^bb0({', '.join(f'{n}: {t}' for n, t in arguments)}):\n"
        + "\n".join(body)
        + '\n"cuda.return"() : () -> ()\n}) {cute.kernel, gpu.kernel, '
        + f"nvvm.reqntid = array<i32: {threads}, 1, 1>}} : () -> ()"
    )


# One kernel a case: every thread copies 8 values from global to shared memory, from and to where it says.
ADDRESSES = """import sys
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor
CASES = {
    "clean": lambda t, _: (t * 8, t * 8),
    "pairs": lambda t, _: (t * 16, t * 8),
    "pitch": lambda t, _: (t * 8, t * 32),
    "misaligned": lambda t, _: (t * 8, t * 12),
    "outside": lambda t, _: (t * 8, 32 * 128 - 8 + t * 8),
    "race": lambda t, _: (t * 8, t // 2 * 8),
    "same": lambda t, _: (t // 2 * 8, t // 2 * 8),
    "apart": lambda t, _: (t * 64, t * 8),
    "promised": lambda t, _: (t * 8, t * 8),
    "short": lambda t, _: (t * 8, t * 12),
    "gathered": lambda t, index: (index[t], t * 8),
}
def places(case, t, index):
    return CASES[case](t, index)
def view(tensor, at, space, align=16):
    address = tensor.iterator.toint() + at * 2
    pointer = cute.make_ptr(cutlass.BFloat16, address, space, assumed_align=align)
    return cute.make_tensor(pointer, cute.make_layout((8, 1)))
@cute.kernel
def k(a: cute.Tensor, index: cute.Tensor, case: cutlass.Constexpr):
    tid = cute.arch.thread_idx()[0]
    s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.BFloat16, cute.make_layout(32 * 128), 128)
    source, target = places(case, tid, index)
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.BFloat16, num_bits_per_copy=128)
    given = view(a, source, cute.AddressSpace.gmem)
    if cutlass.const_expr(case in ("promised", "short")):  # the type of the target says 2
        taken = view(s, target, cute.AddressSpace.smem, 2)
        cute.copy_atom_call(atom, given[None, 0], taken[None, 0])
    else:
        cute.copy(atom, given, view(s, target, cute.AddressSpace.smem))
@cute.jit
def host(a: cute.Tensor, index: cute.Tensor, case: cutlass.Constexpr):
    k(a, index, case).launch(grid=[1, 1, 1], block=[128, 1, 1])
if __name__ == "__main__":
    a = make_fake_tensor(cutlass.BFloat16, (1 << 16,), stride=(1,), assumed_align=16)
    index = make_fake_tensor(cutlass.Int32, (128,), stride=(1,), assumed_align=16)
    for case in sys.argv[1:] or CASES:
        cute.compile(host, a, index, case)
"""


# A bulk copy whose source the DSL types with less alignment than its own operation demands, and compiles.
UNVERIFIABLE = """import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor
@cute.kernel
def k(a: cute.Tensor):
    allocator = cutlass.utils.SmemAllocator()
    barrier = allocator.allocate_array(cutlass.Int64, 1)
    s = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(64), 128)
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyBulkG2SOp(), cutlass.Float32)
    cute.copy(atom, cute.make_tensor(a.iterator + 1, cute.make_layout(64)), s, mbar_ptr=barrier)
@cute.jit
def host(a: cute.Tensor):
    k(a).launch(grid=[1, 1, 1], block=[32, 1, 1])
if __name__ == "__main__":
    cute.compile(host, make_fake_tensor(cutlass.Float32, (1024,), stride=(1,), assumed_align=16))
"""
