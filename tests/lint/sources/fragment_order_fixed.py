"""A row of a column-major fragment stored, one element at a time (NVIDIA/cutlass#3463), repaired."""

import cutlass
from cutlass import cute


@cute.kernel
def store(y: cute.Tensor):
    row = cute.make_tensor(y.iterator, cute.make_layout(8))
    fragment = cute.make_rmem_tensor(cute.make_layout(8), cutlass.BFloat16)
    cute.autovec_copy(fragment, row)
