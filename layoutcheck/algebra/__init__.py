"""The layout algebra: integers, layouts, swizzles, their operations and their notation. No GPU word here.

    >>> from layoutcheck.algebra import Layout, composition, logical_divide, parse_layout
    >>> a = parse_layout("(8,8):(8,1)")
    >>> print(composition(a, Layout((4, 2), (1, 8))))
    (4,2):(8,1)
    >>> print(logical_divide(a, (4, 4)))
    ((4,2),(4,2)):((8,32),(1,4))

Everything is eager and exact: values are immutable, integers unbounded, and what cannot be answered raises
`InputError` with the mode that stands in the way. Where the DSL answers differently, see
docs/algebra-differences.md.
"""

from types import FunctionType

from layoutcheck.algebra.arguments import checked
from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.complement import complement
from layoutcheck.algebra.composition import composition
from layoutcheck.algebra.divide import flat_divide, logical_divide, tiled_divide, zipped_divide
from layoutcheck.algebra.image import image
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inverse import (
    left_inverse,
    max_common_layout,
    max_common_vector,
    nullspace,
    right_inverse,
)
from layoutcheck.algebra.layout import Layout, compact_col_major, compact_row_major, crd2idx, idx2crd
from layoutcheck.algebra.measure import cosize, depth, max_alignment, rank, size
from layoutcheck.algebra.modes import (
    append,
    flatten_layout,
    get,
    group_modes,
    make_identity_layout,
    make_layout,
    prepend,
    select,
    zip_modes,
)
from layoutcheck.algebra.notation import (
    parse_any_layout,
    parse_layout,
    parse_swizzle,
    parse_tile,
    parse_tiler,
    parse_tree,
    print_tile,
    print_tiler,
)
from layoutcheck.algebra.product import (
    blocked_product,
    flat_product,
    logical_product,
    make_ordered_layout,
    raked_product,
    tile_to_shape,
    tiled_product,
    zipped_product,
)
from layoutcheck.algebra.recast import downcast, recast_is_exact, recast_layout, upcast
from layoutcheck.algebra.simplify import coalesce, filter, filter_zeros  # noqa: A004 - CuTe's name
from layoutcheck.algebra.slicing import dice, slice_, slice_and_offset
from layoutcheck.algebra.swizzle import ComposedLayout, Swizzle

for _name, _function in list(globals().items()):
    if isinstance(_function, FunctionType) and _function is not checked:
        globals()[_name] = checked(_function)
slice = slice_  # noqa: A001 - CuTe's name

__all__ = [
    "Basis", "ComposedLayout", "Dynamic", "Layout", "Swizzle", "append", "blocked_product", "coalesce",
    "compact_col_major", "compact_row_major", "complement", "composition", "cosize", "crd2idx", "depth",
    "dice", "downcast", "filter", "filter_zeros", "flat_divide", "flat_product", "flatten_layout", "get",
    "group_modes", "idx2crd", "image", "left_inverse", "logical_divide", "logical_product",
    "make_identity_layout", "make_layout", "make_ordered_layout", "max_alignment", "max_common_layout",
    "max_common_vector", "nullspace", "parse_any_layout", "parse_layout", "parse_swizzle", "parse_tile",
    "parse_tiler", "parse_tree", "prepend", "print_tile", "print_tiler", "raked_product", "rank",
    "recast_is_exact", "recast_layout", "right_inverse", "select", "size", "slice", "slice_",
    "slice_and_offset", "tile_to_shape", "tiled_divide", "tiled_product", "upcast", "zip_modes",
    "zipped_divide", "zipped_product",
]  # fmt: skip
