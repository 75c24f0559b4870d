"""Shared-memory layouts for the GEMM family."""

from cutlass import cute

PAD = 8


def padded_rows(rows, cols, stages, pad=PAD):
    pitch = cols + pad
    return cute.make_layout((rows, cols, stages), stride=(pitch, 1, rows * pitch))


def operand_rows(rows, cols, stages):
    atom = cute.make_composed_layout(
        cute.make_swizzle(2, 3, 3), 0, cute.make_layout((8, cols), stride=(cols, 1))
    )
    return cute.tile_to_shape(atom, (rows, cols, stages), (0, 1, 2))


def loader(atom, dtype, threads, cols, vector_bits=128):
    vec = vector_bits // dtype.width
    per_row = cols // vec
    return cute.make_tiled_copy_tv(
        atom,
        cute.make_ordered_layout((threads // per_row, per_row), order=(1, 0)),
        cute.make_layout((1, vec)),
    )
