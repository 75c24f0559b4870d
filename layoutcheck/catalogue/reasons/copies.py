"""Copies, copy atoms, TMA and tensor maps: cute.algorithm, cute.nvgpu.cpasync, warp and tcgen05 copies."""

from __future__ import annotations

from layoutcheck.catalogue.entry import TRACE
from layoutcheck.catalogue.reasons.reason import reason

REASONS = (
    reason(
        "`copy` currently only supports equal source and destination element type bit width",
        r"only supports equal source and destination element type bit width",
        "A copy moves bits. Source and destination have elements of different widths, so it would have to convert.",
        "Convert in registers: fragment.store(loaded.load().to(dtype)), and copy the fragment of the destination's type",
    ),
    reason(
        "unroll_factor must be a positive integer, but got 0",
        r"unroll_factor must be",
        "cute.copy unrolls its loop over the rest modes by unroll_factor, a positive Python integer.",
        "Leave it away, or pass 1, 2, 4",
    ),
    reason(
        "multicast_dim must be 'M' or 'N', got 'K'",
        r"tma_multicast|multicast_dim must be|Argument \S+ is required|Copy op \S+ is not supported yet",
        "The block-level copy takes its options as a dictionary with all the keys that the message names; a multicast runs along M (operand B's CTAs) or N (operand A's).",
        "Pass every key that is named, multicast_dim='M' or 'N'; for another copy operation use cute.copy with partitioned tensors",
        where=r"algorithm\.py|block\.py",
        at="algorithm.py:1",
    ),
    reason(
        "Memory attributes {'cache_hint'} are not supported for AddressSpace.rmem -> AddressSpace.rmem copies (no specialized op available).",
        r"Memory attributes .* are not supported for",
        "Cache and ordering hints belong to instructions that reach memory: global loads and stores, shared loads and stores. This pair of spaces has no such instruction.",
        "Leave the attributes away, or copy between registers and global or shared memory",
    ),
    reason(
        "'num_bits_per_copy' must be a non-negative int when creating a copy Atom for 'CopyUniversalOp'",
        r"'?num_bits_per_copy'?\s(?:must be|kw argument)",
        "num_bits_per_copy is a Python integer in bits: 0, where it is allowed, means what layouts and alignment permit; cp.async takes 32, 64 or 128, a distributed-shared store 32, 64 or 128, a bulk copy a multiple of 128. A value of the run, a float or a count of bytes is refused.",
        "Pass num_bits_per_copy=128, the bits of one thread's copy (8 elements of 16 bits). `layoutcheck explain SRC DST --atom ATOM --bits N` says which widths the copy has",
    ),
    reason(
        "CopyUniversalOp._make_trait() got an unexpected keyword argument 'cache_mode'",
        r"_make_trait\(\) got an unexpected keyword argument",
        "make_copy_atom hands its keywords to the operation, and this operation does not have that one: parameters of the operation itself (cache_mode of cp.async, transpose of ldmatrix) are given when the operation is made.",
        "cute.make_copy_atom(cpasync.CopyG2SOp(cache_mode=...), dtype, num_bits_per_copy=128)",
    ),
    reason(
        "unrecognized self.cta_group",
        r"unrecognized self\.cta_group",
        "cta_group is not a tcgen05.CtaGroup.",
        "Pass tcgen05.CtaGroup.ONE or tcgen05.CtaGroup.TWO",
    ),
    reason(
        "cute.ReductionOp.MUL is not a valid TMA reduction kind. Valid kinds: ['ADD', 'MIN', 'MAX'].",
        r"is not a valid TMA reduction kind|reduction_kind must be cute\.ReductionKind|tma_reduce_store: unsupported kind|red_kind must be",
        "A TMA reduction (cp.reduce.async.bulk.tensor) has operations of its own; cute.ReductionOp names those of register vectors.",
        "Pass a cute.ReductionKind that the message lists, ReductionKind.ADD for example",
    ),
    reason(
        "smem_layout must be non-staged (rank(smem_layout) == rank(cta_tiler)) or staged (rank(smem_layout) == rank(cta_tiler) + 1)",
        r"(?<![abc]_)smem_layout must be non-staged",
        "The shared layout has one mode for each mode of the tiler, and at most one more, the stages. A shared layout of an MMA operand has (atom, rest_m, rest_k) and belongs to make_tiled_tma_atom_A or _B; another layout keeps a mode too many, or the tiler lacks one.",
        "Compare cute.rank of both: take one stage off with cute.select or slice_(layout, (None, None, 0)), give the tiler one entry for each mode, or use make_tiled_tma_atom_A/B for an MMA operand",
    ),
    reason(
        "a_smem_layout must be non-staged (atom, rest_m, rest_k) or staged (atom, rest_m, rest_k, stage), but got rank = 2",
        r"[abc]_smem_layout must be non-staged",
        "make_tiled_tma_atom_A, _B and _C take the shared layout of an MMA operand, as make_smem_layout_a and _b give it: the atom's tile, the repeats in M or N and K, and the stages.",
        "Make it with sm100_utils.make_smem_layout_a(tiled_mma, mma_tiler, dtype, stages) and its kin; for a plain (M, K) layout use cpasync.make_tiled_tma_atom",
    ),
    reason(
        "expects lower_corner_whd, upper_corner_whd, lower_padding_whd, upper_padding_whd, stride_whd, lower_srt, stride_srt to be provided for load mode (GMEM -> SMEM), but got None",
        r"lower_corner_whd",
        "An im2col load describes the filter's window: corners, padding and strides in W, H, D, offsets in S, R, T. A store takes none of them.",
        "Give all seven tuples for a load, each with one entry for every spatial dimension",
    ),
    reason(
        "cta_layout_vmnk must be rank 4, but got (2,1):(1,0)",
        r"cta_(?:layout|coord)_vmnk must be rank 4|vmnk_layout must have rank 4|multicast_mode must be less than",
        "The cluster's layout for multicast has four modes: V (the CTAs of one MMA, 1 or 2), M, N and K.",
        "cta_layout_vmnk = cute.tiled_divide(cute.make_layout((*cluster_shape_mn, 1)), (tiled_mma.thr_id.shape,)) for tcgen05; cute.make_layout((1, m, n, 1)) for one CTA an MMA, with cta_layout_vmnk.get_flat_coord(rank) for the coordinate",
    ),
    reason(
        "TmaInfo index out of range: 2",
        r"TmaInfo index out of range",
        "A TmaInfo unpacks into two: the atom and its tensor.",
        "atom, tensor = make_tiled_tma_atom(...)",
    ),
    reason(
        "x64 and x128 repetition is not supported",
        r"x[0-9]+ repetition is not supported",
        "A tensor-memory load or store moves at most 128 registers a thread: a wider shape (16x256b takes four registers, 16x128b two) has fewer repetitions than 32x32b.",
        "Take a repetition that the suggestion names, and more of these copies; sm100_utils.get_tmem_load_op chooses one for a tile",
    ),
    reason(
        "expects 'atom' to be a TMEM copy, but got Copy Atom",
        r"to be a TMEM copy|atom must be a TMEM store|expects a TMEM copy atom|expects 'op' to be an SMEM to TMEM copy",
        "The helper reads the shape of a tcgen05 copy (Ld32x32bOp and its kin, or Cp operations for shared to tensor memory); the atom given is of another kind.",
        "Make the atom with cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x32), dtype)",
    ),
    reason(
        "expects the SMEM operand of a broadcasting SMEM to TMEM copy to have a hierarchical (MN, K) mode 0 followed by at least one further mode, but got (128,4):(4,1)",
        r"broadcasting SMEM to TMEM copy",
        "A tcgen05.cp that repeats its rows (warpx4, warpx2) reads scale factors of the layout that the block-scaled helpers make, with (MN, K) nested in the first mode.",
        "Build the shared layout with blockscaled_utils.make_smem_layout_sfa and _sfb, and filter its zeros (cute.filter_zeros) before the copy",
    ),
    reason(
        "expects the 'num_matrices' Op parameter to be one of [1,2,4]",
        r"'num_matrices' Op parameter|Op doesn't support (?:unpacking|transpose)|Op only supports transpose|Op unpack bits must be",
        "Each class of warp.LdMatrix and StMatrix is one form of ldmatrix or stmatrix: 8x8x16b takes 1, 2 or 4 matrices with or without transpose; 8x16x8b 1, 2 or 4, never transposed; 16x16x8b 1 or 2 and 16x8x8b stores 1, 2 or 4, always transposed. unpack_bits is 4 or 6, for loads of 8 bits.",
        "Pass a number that the message lists, and transpose and unpack_bits as the class has them",
    ),
    reason(
        "basic_copy expects the size of source, destination, and predicate tensors to match",
        r"basic_copy expects the size",
        "basic_copy pairs elements one by one; source, destination and predicate have different sizes.",
        "Give all three one shape: partition them alike, and the predicate as well",
    ),
    reason(
        "Unsupported TensorMap dtype/format combination: dtype=Float16, tma_format=TensorMapDataType.uint8",
        r"Unsupported TensorMap|Unsupported type for TensorMap|No \S+ preset for|Unsupported swizzle (?:name|conversion)|has no Tcgen05SmemSwizzle|Unknown TensorMapDataType",
        "A tensor map has a format for each element type and a few swizzles (none, 32B, 64B, 128B and the forms of 128B with other atoms). This type, pair or name is not among them.",
        "Leave tma_format away to derive it from the type, recast narrow or unusual types (uint8), and take a swizzle by its member",
    ),
    reason(
        "TensorMap swizzle TensorMapSwizzle.s128b requires the bounding-box inner dimension to be at most 128B, got 256B",
        r"TensorMap (?:swizzle|format) ",
        "The first dimension of a box is at most the swizzle's span (32, 64 or 128 bytes); formats of 4 and 6 bits have fixed boxes, alignments of 32 bytes and swizzles of their own.",
        "Narrow box_dims[0] to span / element bytes (64 elements of 16 bits for 128B) and issue more boxes, or take a swizzle that the format allows",
    ),
    reason(
        "Expected box_dims rank to match rank(global_dims) (=2), got 3",
        r"box_dims rank|rank\((?:global|traversal)_strides\)|tensor rank to be between 1 and 5|flattened layout, got|flat integer strides|leading \(stride-1\) dimension|unique stride order|create_tensor_map_tiled",
        "A tensor map has 1 to 5 dimensions: sizes, box and traversal strides have one entry for each, global strides one fewer (the first is one element). A view gives them by its flat layout with one mode of stride 1.",
        "Flatten the tensor (cute.coalesce, cute.group_modes), give each tuple its length, and stride_order where strides are equal or known only at run time",
    ),
    reason(
        "tma_load multicast requires vmnk_layout",
        r"tma_load(?:_multicast)? (?:multicast )?requires",
        "A multicast load is given with all of its parts: an operation type of a multicast, the cluster's vmnk_layout and the mode along which it is shared.",
        "Pass tma_operation_type, vmnk_layout and multicast_mode together, or none of them for a plain load",
    ),
    reason(
        "Invalid address space: AddressSpace.smem for tensormap",
        r"Invalid address space: \S+ for tensormap",
        "A tensor map that a kernel changes lies in global memory, behind a generic or global pointer.",
        "get_tensormap_ptr(pointer, cute.AddressSpace.generic) for the copy, gmem for its update. " + TRACE,
    ),
    reason(
        "Expected source and destination tensors to have the same rank, but got 3 and 2",
        r"Expected source and destination tensors to have the same (?:rank|size)",
        "cute.copy pairs the modes of both views: V, then the rest, which count a thread's atoms. One side still has a mode that the other does not have (a stage, a k tile), or the two tiles differ.",
        "Slice the extra mode off (tAsA[None, None, None, stage]), and partition both sides with one tiled copy",
    ),
    reason(
        "V-mode (mode-0) with rank > 2 is not supported yet, but got rank(src, mode=[0]) = 3 and rank(dst, mode=[0]) = 1",
        r"V-mode \(mode-0\) with rank > 2",
        "copy_atom_call takes one atom: its first mode is (values, rest) at most. A tensor with a deeper first mode is no partition of one atom.",
        "Use cute.copy for whole partitions; or group the first mode: cute.group_modes(tensor, 0, n)",
    ),
)
