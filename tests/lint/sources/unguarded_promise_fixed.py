"""An alignment promised of an address that nobody checks (flashinfer#4466), repaired."""

import cutlass
from cutlass import cute


@cute.jit
def host(address: cutlass.Int64, n: cutlass.Int32):
    pointer = cute.make_ptr(cutlass.Float16, address, cute.AddressSpace.gmem, assumed_align=32)
    scale(cute.make_tensor(pointer, cute.make_layout(n))).launch(grid=(1, 1, 1), block=(128, 1, 1))


@cute.kernel
def scale(x: cute.Tensor):
    cute.printf("{}", x[0])


def entry(x):
    assert x.data_ptr() % 32 == 0
    cute.compile(host, x.data_ptr(), x.numel())
