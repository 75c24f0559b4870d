"""Shapes, coordinates, layouts and tuples: what the functions of cute.core and cute.tuple refuse."""

from __future__ import annotations

from layoutcheck.catalogue.reasons.reason import reason

_OBJECTS = (
    "cute.make_layout(shape, stride=...) makes a layout of tuples, layout.shape and layout.stride are its tuples, tensor.layout is a "
    "tensor's layout"
)

REASONS = (
    reason(
        "Expected size in shape to be strictly positive, but got 0",
        r"size in shape to be strictly positive",
        "An extent of the shape is 0 or negative. Most often a division gave it, tile // vector with a tile smaller than the vector, or a tensor is empty.",
        "Print the shape before the line. Take cute.ceil_div for a number of tiles, and a tile that is at least one vector wide",
    ),
    reason(
        "Expected size be int or Integer, but got <class 'float'>",
        r"Expected (?:size be int or Integer|Shape, which is)",
        "Each extent of a shape is a positive integer or a tuple of such. A float comes from `/` where `//` is meant; a list, a layout, a tensor or None is not a shape.",
        "Use // for extents, a tuple for a list, and layout.shape or tensor.shape where the object itself is passed",
    ),
    reason(
        "Expected Coord, whose leaves are integers or None, but got slice(None, None, None)",
        r"Expected Coord\b|coord cannot contain underscores",
        "A coordinate has integers and None alone. None keeps a mode whole; Python's slice `:`, lists, floats and layouts have no meaning in it.",
        "Write tensor[None, 0] for tensor[:, 0], a tuple for a list, and // for an index that is divided. A part of a mode is a tile: local_tile(tensor, tiler, coord)",
    ),
    reason(
        "Expected Stride, whose leaves are integers or ScaledBasis, but got (1.0, 8)",
        r"Expected Stride\b",
        "Each stride is an integer (a number of elements) or, in a layout of coordinates, a basis element (cute.E).",
        "Pass integers, computed by //; leave stride= away for a compact layout whose first mode is contiguous",
    ),
    reason(
        "Expected Tile, whose leaves are integers or Layout or None, but got [64, 64]",
        r"Expected Tile\b",
        "A tiler is an integer, a layout, None for a mode that stays whole, or a tuple of these, one for each mode. A list or a float is not one.",
        "Write the tiler as a tuple: (64, 64), or (cute.make_layout(64), None)",
    ),
    reason(
        "Expected IntTuple, whose leaves are integers, but got (None, 1)",
        r"Expected IntTuple\b|expects IntTuple or Shape|expects `a` tuple but got|expects `?a`? and `?guide`? have the same rank",
        "The function takes an integer or a nested tuple of integers. None, a float, a list, a layout or a tensor is not one, and two tuples pair entry by entry.",
        "Pass tensor.shape or layout.shape, a tuple for a list, and tuples of one length",
    ),
    reason(
        "elements in mode must be less than rank((8, 4)), got [2]",
        r"mode \[.*\] (?:has invalid values|is invalid)|elements in mode must be less than rank|invalid mode element for input of rank|invalid element in mode|Expected (?:'mode' to be a list of int|integer elements in mode)"
        r"|expects static mode|mode must be a list of integers|Mode must be a list of integers",
        "`mode` is a list of Python integers: a path into the nested modes, [0, 1] for the second mode of the first, each from 0 to rank - 1. The object has fewer modes than the path asks for, or an entry is no Python integer.",
        "Print cute.rank(x) and x.shape. Pass mode=[0] with a list, and integers that are known when the program is compiled",
        where=r"^(?!.*(?:gather|scatter))",
    ),
    reason(
        "Expected begin < end, but got 2 >= 2",
        r"Expected begin < end|expects begin|expects end in the range of",
        "group_modes(x, begin, end) joins the modes begin to end - 1. Negative numbers count from the end, and an `end` that is not given is the rank. The range holds no mode: the object has fewer modes than expected, or begin equals end.",
        "group_modes(tensor, 0, cute.rank(tensor)) joins all; print cute.rank(tensor) before, since a slice takes modes away",
    ),
    reason(
        "up_to_rank must be >= rank(input)",
        r"up_to_rank must be|No input provided for input|Input type of elem|invalid type for input, got",
        "append and prepend extend a shape or layout to a number of modes. The object already has more modes than up_to_rank, or input and element are not both layouts or both tuples.",
        "Leave up_to_rank away to add one mode, or give at least cute.rank(x); pass a layout as the element of a layout, an integer or tuple for a shape",
    ),
    reason(
        "expects dicer to be static, but got (1, ?)",
        r"expects dicer to be static",
        "dice and the proj of local_tile and local_partition choose modes while the program is compiled: each entry is 1 or None.",
        "Write the projection with Python constants: proj=(1, None, 1)",
    ),
    reason(
        "Expected tuple for proj, but got <class 'int'>",
        r"Expected tuple for proj",
        "proj says for each mode of tiler and coordinate whether it takes part: 1 keeps it, None leaves it out.",
        "Pass a tuple as long as the tiler: proj=(1, None, 1) tiles operand A of an (M, N, K) tiler",
    ),
    reason(
        "Index value should be 32-bit or smaller integer type, but got i64",
        r"Index value should be 32-bit",
        "local_partition takes the thread's index as a 32-bit integer.",
        "Convert it: cutlass.Int32(index), and move a large offset into the pointer (cute.domain_offset)",
    ),
    reason(
        "the mask may not fit into a 16-bit integer",
        r"mask may not fit into a 16-bit|expects `mode` to be in \[0, ?rank\(lay\)\)",
        "A multicast mask has one bit for each CTA of a cluster, 16 at most. The layout reaches beyond 16 CTAs, or has no such mode.",
        "Make the mask of the cluster's layout: create_tma_multicast_mask(cta_layout_vmnk, cta_coord_vmnk, mcast_mode), with a cluster of at most 16 CTAs",
    ),
    reason(
        "expects the outer (or right-most or effectively visible) layout to be an affine layout, but got S<3,4,3> o 0 o (8,64):(64,1)",
        r"outer \(or right-most|invalid composition .* o |only support(?:s)? size when inner layout|Only support size when inner",
        "make_composed_layout(inner, offset, outer) takes a plain layout as outer, and a swizzle as inner only over integer offsets: a layout of coordinates (basis strides, as of TMA tensors) is not swizzled.",
        "Pass layout.outer for a layout that is composed already; keep TMA's coordinate tensors plain",
    ),
    reason(
        "runtime comparison of composed layouts is not supported, got `S<3,4,3> o 0 o (8,?):(?,1)` and `S<3,4,3> o 0 o (8,?):(?,1)`",
        r"runtime comparison of composed layouts",
        "`==` of two composed layouts is decided while compiling, and one of them has a value that only the run knows.",
        "Compare layout.inner and the static parts, or keep the fact in a Python variable where the layout is made",
    ),
    reason(
        "Don't support <class 'float'> for ScaledBasis",
        r"ScaledBasis|basis element having a ratio|[Bb]asis must be|scale must be an integer or a ratio|numerator and denominator must be integers|Cannot (?:multiply|convert) Ratio",
        "A basis element, cute.E(0), marks the coordinate of a mode; its factor is an integer or a ratio of integers.",
        "Scale it by an integer (2 * cute.E(0)); take the values of a coordinate tensor from its entries, tensor[i][0]",
    ),
    reason(
        "new_type_bits must be an integer instead got <class 'cutlass.base_dsl.typing.Float16'>",
        r"(?:new|old)_type_bits must be an integer|src_layout must be a layout or composed layout",
        "recast_layout(new_type_bits, old_type_bits, layout) counts in bits and takes a layout.",
        "Pass widths: recast_layout(8, dtype.width, tensor.layout); recast_tensor(tensor, dtype) does it for a tensor",
    ),
    reason(
        "Expected input of type Layout, but got <class 'tuple'>",
        r"(?:[Ee]xpect(?:s|ed) (?:input of type |a )?(?:Layout(?: or ComposedLayout)?|layout or tensor|Tensor or Layout)\b|expected a Layout for (?:thr|val)_layout|unsupported type of input, got|expects a shape input)",
        "The function takes a layout (some a tensor as well), and got a tuple, an integer, a composed layout or another object.",
        _OBJECTS + "; of a composed layout pass layout.outer",
        where=r"cute/core\.py",
        at="cute/core.py:1",
    ),
    reason(
        "unsupported type in rank, got <class 'list'>",
        r"unsupported type(?: in rank, got)? <class|expects static type or value, but got|unsupported type \S",
        "rank, is_static and their kin ask a shape, stride, coordinate, layout or tensor. A list, None, a string or a torch tensor is none of them.",
        "Pass a tuple for a list, tensor.shape, or the cute tensor that the function got as its argument",
        where=r"cute/core\.py",
        at="cute/core.py:1",
    ),
    reason(
        "Expected rank(a) to be greater or equal than rank(b), but got (8, 4), (2, 2, 2)",
        r"Expected rank\(a\) to be greater or equal|Expected both inputs to be tuple|`b` to be a single integer when|inputs cannot be empty",
        "round_up(a, b) rounds each entry of a up to a multiple of the entry of b: two integers, or two tuples where b has at most as many entries as a.",
        "Give both as integers, or as tuples with one entry of b for each leading entry of a",
    ),
    reason(
        "b, m, and s must be int",
        r"b, m, and s must be int",
        "make_swizzle(b, m, s) takes Python integers: 2^b rows are permuted in units of 2^m elements (or bytes, in a pointer), s bits apart.",
        "make_swizzle(3, 4, 3) is TMA's 128-byte swizzle of a pointer, (2, 4, 3) 64 bytes, (1, 4, 3) 32 bytes",
    ),
    reason(
        "profile of input tuples doesn't match: ((1, 2), 3)",
        r"(?:and_|or_)\(\) requires|profile of input tuples|All arguments must be congruent|transform_apply requires|must have two parameters \(value, pos\)|find\(\) requires a static x|(?:pred_fn|[fg]) must be callable",
        "The function works on its arguments leaf by leaf, and takes at least one: tuples have the same nesting, and a function that is applied is a Python function of one leaf of each.",
        "Pass at least one value, tuples of one nesting (cute.flatten, cute.wrap), and a function, not its result",
    ),
    reason(
        "cannot assign value to `sA` in cute.struct::SharedStorage",
        r"cannot assign value to `|Cannot add a new field after initialization",
        "Only scalar fields of a @cute.struct are assigned. Arrays (MemRange), nested structs and new names are not.",
        "Write into an array through its tensor: storage.field.get_tensor(layout)[i] = value; declare every field in the class",
    ),
    reason(
        "unsupported argument type in printf, got <class 'tuple'>",
        r"unsupported argument type in printf|expects at least one argument to print",
        "cute.printf prints values of the running kernel: DSL numbers, tensors, layouts and pointers, after an optional format string.",
        "Pass the entries one by one: cute.printf('{} {}', x[0], x[1]); Python's print shows what is known while compiling",
    ),
    reason(
        "Expected `divby` to be a positive integer, got 0",
        r"Expected `(?:divby|pow2)`|Expected \S+ to be divisible by|Expected a positive power of two, got|Expected \S+ to be a power of two",
        "cute.assume(value, divby=n) promises the compiler that n divides the value, and pow2=True that both are powers of two. The promise is not one that can hold.",
        "Give a positive Python integer that divides every value of the run, and pow2 only for powers of two",
    ),
    reason(
        "the memory pointed to by atom_layout_tv does not exist in the data_layout.",
        r"memory pointed to by atom_layout_tv|atom_layout_tv and data_layout must be static",
        "make_cotiled_copy's atom_layout_tv maps (thread, value) to an offset in memory. An offset of it is not one of data_layout's, so the values of a thread are not where the tensor has elements: its value strides do not follow data_layout's.",
        "Make the offsets from the data layout itself (strides in elements of data_layout), both static, or use make_tiled_copy_tv with thread and value layouts over coordinates. `layoutcheck draw LAYOUT` shows both",
    ),
    reason(
        "The number value of CopyAtom's source layout 8 is greater than the size of TiledMma's LayoutC_TV 4",
        r"number value of CopyAtom's source layout",
        "One copy atom moves more values of a thread than the MMA leaves in one thread of C: the store (stmatrix.x4, for example) is wider than the accumulator's fragment of one tile.",
        "Take a narrower copy atom (num_matrices=2, fewer bits), or an MMA tile with more columns to a thread",
    ),
    reason(
        "expects rank-3 MNK atom layout, but got (2,2):(1,2)",
        r"expects rank-3 MNK atom layout|TiledMMA requires rank-3",
        "make_tiled_mma repeats the atom over warps in M, N and K: atom_layout_mnk has three modes, and permutation_mnk three entries.",
        "Pass (2, 2, 1) or cute.make_layout((2, 2, 1)); permutation_mnk=(32, 32, 16) or None in a mode",
    ),
    reason(
        "layout tv and tiler mn must be static",
        r"layout tv and tiler mn must be static|tiler_mn must be a Tile|Layout tv and tile_mn must be static|Require layout_tv to be rank 2|expects layout_tv to have rank 2",
        "A tiled copy is built of a thread-value layout of two modes (thread, value) and a tile, both known when the program is compiled.",
        "Build it of Python integers: make_tiled_copy_tv(atom, cute.make_layout((16, 8)), cute.make_layout((1, 8)))",
    ),
    reason(
        "expected an MMA Op or Atom, but got an instance of <class 'cutlass.cute.atom.CopyAtom'>",
        r"expected an MMA Op or Atom",
        "make_tiled_mma takes an operation (warp.MmaF16BF16Op(...)) or an atom of make_mma_atom.",
        "Pass the operation itself; a copy operation goes into make_tiled_copy_tv",
    ),
    reason(
        'Expects a static layout but got !cute.layout<"(?,8):(1,?)">',
        r"Expects a static layout but got|Expects a layout or a tensor as input but got",
        "A thread's share of an MMA operand is worked out while compiling, from a layout or tensor of static shape.",
        "Tile the tensor first (local_tile with a static tiler); extents that only the run knows stay behind the tile's modes",
        where=r"cute/atom\.py",
        at="cute/atom.py:1",
    ),
    reason(
        "`src` must be a Tensor or a sequence of Tensors",
        r"`[^`]+` must (?:be a Tensor or a sequence|contain at least one Tensor)|All elements of `[^`]+` must be Tensor",
        "copy, copy_atom_call and gemm take a tensor for each operand, or a list of tensors for operations with several. A pointer, a layout, a TensorSSA (values) or an empty list stands there.",
        "Pass the partitioned tensors, tAgA and tAsA, and not tensor.load() or tensor.iterator; the atom is the first argument",
    ),
    reason(
        "set not implemented, the requesting Atom has likely no runtime state",
        r"(?:set|get) not implemented, the requesting Atom",
        "Only atoms with fields that change at run time have set and get: an MMA's accumulate flag and scale factors, a TMA's descriptor.",
        "atom.set(tcgen05.Field.ACCUMULATE, value) for tcgen05 and warpgroup MMAs; leave it away for warp-level MMAs and other copies, which always accumulate or have no state",
    ),
    reason(
        "Leading mode should be unique, but got (0, 1)",
        r"Leading mode should be unique|Shape of src and dst tensors should be the same rank",
        "cute.testing.convert pairs two tensors of one rank and runs along their contiguous mode; two modes of stride 1 (an extent of 1), or tensors of different ranks, leave it undecided.",
        "Give both tensors one shape, and drop modes of extent 1 or mark the leading dimension",
    ),
    reason(
        "Alignment must be a power of 2",
        r"Alignment must be a power of (?:2|two)|aligning a TMEM pointer|expects alignment >= 1",
        "An alignment is a power of two in bytes. Pointers to tensor memory count in columns and have none.",
        "Pass 16, 128 or 1024; for tensor memory leave align() away",
    ),
    reason(
        "dtype must be a type of Numeric, but got 16",
        r"(?:dtype|value_type|value_ty|element_type|dst_ty|src_ty|internal_type|elem_ty|\w+_dtype|\S+) must be (?:a type of |a )?Numeric|expects dtype to be a type of Numeric|must be a cutlass\.Numeric subclass|must be a Numeric type, but got",
        "An element type is one of the DSL's classes. A string, a torch or numpy type, a width in bits, an instance (cutlass.Float16(0)) or a pointer is not one; nor is a swapped argument: make_rmem_tensor takes the shape first, allocate_tensor the type.",
        "Pass the class: cutlass.Float16, cutlass.BFloat16, tensor.element_type",
    ),
)
