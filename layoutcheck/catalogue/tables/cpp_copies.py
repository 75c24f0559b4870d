"""Static assertions of CuTe in C++ about layouts, copies and TMA."""

from __future__ import annotations

from layoutcheck.catalogue.entry import issue, known

HEADERS = "CUTLASS 4 headers"
_CHECK = "`layoutcheck explain SRC DST --atom ATOM` with both layouts shows the elements of one instruction"

ENTRIES = (
    known(
        "cpp.dynamic-stride",
        r"make_stride\((?:1, ?\w|[^()\n]{0,60}(?:\([^()\n]{0,40}\)[^()\n]{0,40})?, ?1\)).{0,4000}?(?P<side>\w{3}) (?:failed to|layout doesn't) vectorize|(?P<other>\w{3}) (?:failed to|layout doesn't) vectorize.{0,4000}?(?:make_stride\((?:1, ?\w|[^()\n]{0,60}(?:\([^()\n]{0,40}\)[^()\n]{0,40})?, ?1\))"
        r"|Stride=cute::tuple<(?:int|long|int64_t|long long)(?:, ?(?:int|long|int64_t|long long))*>)",
        "the {side}{other} tensor has a run-time stride where the copy needs one that is known to be 1",
        "make_stride(N, 1) keeps 1 as a run-time integer: the type does not say that the elements are adjacent, so that no vector can be made of them, whatever the value is.",
        "Write the contiguous mode's stride as a static integer: make_stride(N, Int<1>{}) row-major, make_stride(Int<1>{}, M) column-major; or make_layout(shape, LayoutRight{}). Its extent may stay a run-time integer, "
        "the tile and the thread-value layout are static",
        (
            'make_layout(make_shape(M, N), make_stride(N, 1)); error: static assertion failed with "Copy_Traits: src failed to vectorize into registers. Layout is incompatible with this CopyOp."',
            "CUTLASS 4 headers",
        ),
        rule="LC102",
        instead_of=("cpp.copy-does-not-vectorize",),
    ),
    known(
        "cpp.tma-tile",
        r"TMA requires CTA_Tile and SLayout top-level (?:size|shape) equivalence",
        "the shared layout of a TMA copy is not the layout of its tile",
        "make_tma_copy takes a shared layout with as many elements as the tile (CTA_Tile, of the cluster's slice), mode by mode, and runs along the tensor's contiguous mode first. In a kernel of the collective builder both come from tile shape and schedule: "
        "a tile below what the schedule cuts (64 rows for each consumer warpgroup, scale blocks of 128) leaves a shared layout that does not fit. Divisibility errors beside it follow from the same tile.",
        "Take a tile shape that an example of this schedule and architecture uses, or the cooperative schedule instead of pingpong (or auto); in code of your own build the shared layout by tile_to_shape(atom, tile shape) and give make_tma_copy one stage of it. "
        "`layoutcheck explain GMEM SMEM --atom tma_load` checks the pair",
        (
            'error: static assertion failed with "TMA requires CTA_Tile and SLayout top-level size equivalence."',
            "CUTLASS 4 headers",
        ),
        rule="LC113",
        instead_of=("cpp.tma", "cpp.shape-div"),
    ),
    known(
        "cpp.copy-does-not-vectorize",
        r"(?:Copy_Traits: )?\b(?P<operand>src|dst) failed to vectorize into registers"
        r"|(?:In )?CopyAtom ?, (?P<side>src|dst)[ /dst]{0,8} layout doesn't vectorize into registers",
        "the {operand}{side} elements of one instruction are not adjacent, or their number differs from what it moves",
        "The atom moves a fixed number of adjacent elements. The value layout gives a thread fewer of them, or the "
        "layout puts them apart (a row-major view copied along columns). {moves}.",
        "Give the tiled copy as many values along the contiguous mode as the atom moves ({values}), use the same major on both sides, give a swizzle a base M of log2 of that number or more, or use a narrower atom. "
        + _CHECK,
        (
            'static assertion failed with "Copy_Traits: src failed to vectorize into registers. Layout is '
            'incompatible with this CopyOp."',
            issue(1905),
        ),
        rule="LC102",
        fill="vectors",
    ),
    known(
        "cpp.tiled-copy-too-few-values",
        r"TiledCopy uses too few (?P<what>vals|thrs) for selected CopyAtom",
        "the tiled copy gives one instruction too few {what}",
        "The thread-value layout must hold a whole number of instructions: ldmatrix.x4 fills 8 values of 16 bits in each "
        "of 32 threads.",
        "Use an atom that fills fewer registers (x2, x1), or more values for each thread: a larger tile or permutation of the MMA",
        (
            'copy_atom.hpp(206): error: static assertion failed with "TiledCopy uses too few vals for selected CopyAtom"',
            issue(964, "tile-ai/tilelang"),
        ),
        rule="LC217",
    ),
    known(
        "cpp.shape-div",
        r"Static shape_div failure|\bshape_div (?:error|failure|fail(?:s|ed)|assert\w*)\b|(?:Shape |Stride )?Divisibility [Cc]ondition|Static safe_div requires t % u == 0"
        r"|Expected divisibility",
        "two extents or strides do not divide one another",
        "The tiler, the thread layout or the atom splits a layout, and an extent is neither a multiple nor a divisor of the piece.",
        "Make each tile extent a multiple of what divides it: threads times values in each mode for a partition, the "
        "atom's M, N and K for an MMA. layoutcheck.logical_divide and composition name the mode",
        (
            "error: static assertion failed due to requirement 'C<3>::value % C<2>::value == 0 || C<2>::value % "
            "C<3>::value == 0': Static shape_div failure",
            issue(1499),
        ),
    ),
    known(
        "cpp.tile-to-shape",
        r"tile_to_shape: block shape does not divide the target shape",
        "the layout atom does not divide the shape that it should fill",
        "tile_to_shape repeats the atom a whole number of times in every mode.",
        "Take a smaller swizzle atom (SW64 or SW32 instead of SW128), or a tile that is a multiple of the atom",
        (
            'layout.hpp(1792): error: static assertion failed with "tile_to_shape: block shape does not divide the '
            'target shape."',
            issue(566, "mirage-project/mirage"),
        ),
    ),
    known(
        "cpp.smem-atom-does-not-divide",
        r"(?P<atom>\b\w{0,60}SmemLayoutAtom\w{0,60}) must evenly divide(?: the)? tile"
        r"|BLK_(?P<mode>K|MN)0 must be a multiple of size<[0-9]>\(GMMA::Layout_\w+_Atom"
        r"|SmemLayout\w* K must be",
        "the shared-memory layout atom does not divide the tile",
        "Operands of wgmma and tcgen05 lie in whole swizzle atoms: at least 8 rows of 16 bytes (INTER), at most 8 rows of "
        "128 bytes (SW128).",
        "Choose a tile extent that is a multiple of the atom's, or a narrower atom (INTER, SW32, SW64)",
        ('static assertion failed with "SmemLayoutAtom must evenly divide tile shape."', HEADERS),
    ),
    known(
        "cpp.cp-async-operands",
        r"Expected gmem source for cp\.async|Expected smem destination for cp\.async|cp\.async sizeof\(TS\) is not supported"
        r"|cp\.async requires sizeof\(src_value_type\)|Minimum alignment required for cp\.async is 4B|sub-16B alignment not",
        "cp.async cannot make this copy",
        "cp.async moves 4, 8 or 16 bytes from global to shared memory, with source and destination of one type.",
        "Tag the pointers with make_gmem_ptr and make_smem_ptr, and take a width of 4, 8 or 16 bytes; else load to "
        "registers and store. " + _CHECK,
        ('static assertion failed with "Expected smem destination for cp.async."', HEADERS),
        rule="LC103",
    ),
    known(
        "cpp.copy-ranks",
        r"CopyAtom rank-mismatch|Expected rank-1 (?:src|dst) tensor|Mismatched [Rr]anks"
        r"|CopyAtom: Src/Dst partitioning does not match",
        "source and destination of the copy differ in their modes",
        "copy pairs the modes of both tensors: the instruction's values first, then the repetitions in the same order.",
        "Partition both sides with the same tiled copy, retile register fragments, and slice a stage or k mode off",
        ('static assertion failed with "CopyAtom rank-mismatch."', HEADERS),
        rule="LC105",
    ),
    known(
        "cpp.tma",
        r"Unsupported TMA"
        r"|Expected (?:smem src|gmem dst) for SM90_TMA_STORE|requires the destination be shared memory"
        r"|Tensor must point to GPU global memory|Expected at least 128-bits for BLKCP",
        "TMA cannot move this tile",
        "A TMA tile has at most five modes, each of at most 256 elements, strides that are multiples of 16 bytes, and a "
        "shared layout whose contiguous mode is the tensor's.",
        "Give make_tma_copy the shared layout of one tile (a stage sliced off) and a global tensor whose contiguous mode "
        "is the same; `layoutcheck explain GMEM SMEM --atom tma_load` checks box, swizzle and strides",
        ('static assertion failed with "Unsupported TMA"', HEADERS),
    ),
    known(
        "cpp.alignment",
        r"detail::is_aligned<|Should meet TMA alignment requirement",
        "an operand's alignment is below the 16 bytes that TMA needs",
        "The builder is given an alignment in elements for A, B, C and D. Times the element's size it must be a multiple of 16 bytes for a schedule "
        "with TMA.",
        "Give 128 / bits of the element (8 for 16-bit types) and pad the tensors to it, or take a schedule without TMA (KernelCpAsyncWarpSpecialized, "
        "an epilogue without shared memory)",
        ('error: static assertion failed with "Should meet TMA alignment requirement"', HEADERS),
        rule="LC240",
    ),
    known(
        "cpp.tensor-map-assert",
        r"Assertion [`'](?P<said>[^'`]{0,80}(?:gmem_address|gmem_prob_(?P<field>shape|stride)\[(?P<mode>[0-9])\]|smem_box_(?P<box>shape|stride)\[(?P<at>[0-9])\])[^'`]{0,80})' failed",
        "the tensor map of a TMA copy breaks a limit of the hardware: {said}",
        "make_tma_copy tests what the driver would refuse: an address that is a multiple of 16 bytes, extents of 1 to 2^32, strides in bytes "
        "that are multiples of 16 and below 2^40, a contiguous mode of stride 1 that is contiguous in shared memory as well, boxes of 1 to 256 elements.",
        "Print the global tensor: pad the pitch to 16 bytes (8 elements of 16 bits, 16 of 8 bits), and do not pass an empty tensor. "
        "`layoutcheck explain GMEM SMEM --atom tma_load` checks every field",
        ("Assertion `(gmem_prob_stride[1] & 0b1111) == 0' failed.", issue(38, "meta-pytorch/applied-ai")),
        rule="LC240",
        instead_of=("cpp.assertion",),
    ),
    known(
        "cpp.mode-out-of-range",
        r"static.assert[^\n]{0,300}?Index out of range",
        "a mode that the tuple or layout does not have is asked for",
        "get<I>, size<I>, shape<I> and layout<I> count modes from 0 and end below the rank; a copy or partition of a tensor with fewer modes "
        "asks so as well.",
        "Print the rank (cute::rank(x)) and compare it with the index in your line; the layouts that the text holds stand below",
        ('tuple.hpp(247): error: static assertion failed with "Index out of range"', HEADERS),
        general=True,
        rule="LC105",
        instead_of=("cpp.instantiation", "cpp.other-assertion"),
    ),
    known(
        "cpp.algebra",
        r"Non-injective Layout detected in complement|Shape and Stride must be congruent|Mismatched tuple_size"
        r"|Too many modes in tiler|Left inverse divisibility|Require(?:s|d)? (?:Swizzle )?offset == 0|Requires pow2 shape\*stride",
        "an operation of the layout algebra has no result",
        "complement and the products need a layout that reaches each address once; shapes and strides must have the same nesting; a tiler has at most as many modes as the tensor.",
        "Evaluate the call without a compiler: layoutcheck.complement, logical_divide and zipped_divide name the mode",
        ('static assertion failed with "Non-injective Layout detected in complement."', HEADERS),
    ),
    known(
        "cpp.static-shape",
        r"(?:TileShape\w*|BlockShapeMNK|Accumulator layout|ClusterShape\W*) (?:must be|has to be) (?:static|rank)"
        r"|Dynamic owning tensors not supported|vec_mode should be static|static.assert[^\n]{0,200}(?:requires?|[Ee]xpected|must be|needs?) (?:a )?static\b[^\n\"]{0,60}",
        "a shape must be known at compile time and is not, or it has other modes",
        "Tiles, atoms and register tensors have static shapes (Int<N>{}, _128{}), not run-time integers.",
        "Write Int<N>{} or decltype of a constexpr shape",
        ('static assertion failed with "TileShape_MNK must be static."', HEADERS),
    ),
    known(
        "cpp.memory-space",
        r"static.assert[^\n]{0,300}?(?:[\"\']|: )(?P<said>[\w ]{0,80}(?:[Ee]xpect(?:ed|s)|can only be constructed on|must be) (?:an? )?(?:shared |global )?(?:gmem|smem|tmem|rmem|TMEM|shared|global)(?:_desc)?\b[^\"\n]{0,60})",
        "a tensor is in another memory space than the operation takes: {said}",
        "The memory space is in the pointer's type: make_gmem_ptr, make_smem_ptr, make_tmem_ptr. A raw pointer has none.",
        "Tag the pointer where the tensor is made, and pass shared tensors (not descriptors or registers) where smem is expected",
        ('error: static assertion failed with "UMMA Descriptors can only be constructed on smem."', HEADERS),
        general=True,
        instead_of=("cpp.other-assertion",),
        rule="LC104",
    ),
    known(
        "cpp.rank",
        r"static.assert[^\n]{0,300}?(?:[\"\']|: )(?P<said>[\w ]{0,60}(?:[Ee]xpected|[Rr]equires?)[\w ,-]{0,80} rank-?[0-9]?\b[^\"\n]{0,60}|Rank of [^\"\n]{3,80}|[\w ]{0,60}(?:requires|only supports) [0-9]D tensors?|Need equal rank[^\"\n]{0,60}|[^\"\n]{0,100}rank-[0-9] tensors?)",
        "a tensor or layout has another number of modes: {said}",
        "A copy or MMA takes a tensor with its own number of modes: instruction values first, then one mode for each mode of the tile. A stage or k mode that is left on, or a slice too many, changes it.",
        "Print the layout (cute::print), slice the extra mode off, tensor(_, _, stage), or group modes (group_modes<0,2>)",
        ('error: static assertion failed with "Rank of tensor to be partitioned too small."', issue(1284)),
        general=True,
        instead_of=("cpp.other-assertion",),
        rule="LC105",
    ),
    known(
        "cpp.arguments-not-set",
        r"Extra arguments not set|Params must be set via \.with|Set \.with\(\) before use",
        "the atom lacks the arguments that each call gives",
        "A TMA copy needs its mbarrier and mask, a block-scaled MMA its scale factors, a predicated atom its predicate: they are not part of the type.",
        "Pass the atom with them: copy(tma.with(mbarrier, mask), src, dst), mma.with(scale_a, scale_b)",
        ('error: static assertion failed with "Extra arguments not set. Set .with() before use."', HEADERS),
    ),
    known(
        "cpp.swizzle-parameters",
        r"abs\(SShift\) must be|BBits must be|MBase must be|Number of bits in Y and Z don't match",
        "the swizzle's parameters do not fit together",
        "Swizzle<B,M,S> exchanges B bits from bit M on with those S bits higher: B and M are not negative, and |S| is at least B.",
        "128-byte swizzles of 16-bit elements are Swizzle<3,3,3> in elements, Swizzle<3,4,3> in bytes; `layoutcheck draw` shows one",
        ('error: static assertion failed with "abs(SShift) must be more than BBits."', HEADERS),
    ),
    known(
        "cpp.type-width",
        r"same type-width as the Tensor|sizeof\(OtherValueType\) must be same|Size of Element must not be greater than Storage|No support for subbyte copying",
        "the atom's element type has another width than the tensor's",
        "Copy_Atom<Op, T> counts values of T; a tensor of another width is cut in the wrong places.",
        "Use the tensor's value type in Copy_Atom, or recast<T>(tensor) first",
        (
            'error: static assertion failed with "Expected a CopyAtom with the same type-width as the Tensor."',
            HEADERS,
        ),
        rule="LC106",
    ),
    known(
        "cpp.misaligned-operand",
        r"Error Misaligned Operand|kErrorMisalignedOperand",
        "an extent or stride of the problem is not a multiple of the kernel's alignment",
        "can_implement compares the leading dimensions and pointers with the alignment that the kernel was built for "
        "(16 bytes for TMA and 128-bit loads).",
        "Pad the leading dimensions to a multiple of 16 bytes, or build the kernel with a smaller alignment",
        ("Got cutlass error: Error Misaligned Operand at: 127", issue(506)),
        rule="LC240",
    ),
    known(
        "cpp.copy-overflow",
        r"AddressSanitizer.{0,400}(?:copy_unpack|copy_traits\.hpp|copy_atom\.hpp)",
        "a CuTe copy on the host writes beyond its destination",
        "Copy_Atom moves whole instructions: where one side has the instruction's number of elements, the other side is "
        "rounded up to it (NVIDIA/cutlass#3488).",
        "Give both sides a whole number of instructions. " + _CHECK,
        (
            "ERROR: AddressSanitizer: stack-buffer-overflow #3 cute::copy_unpack<...> include/cute/atom/copy_traits.hpp:133",
            "https://github.com/NVIDIA/cutlass/pull/3656",
        ),
        level="wrong",
        rule="LC217",
    ),
)
