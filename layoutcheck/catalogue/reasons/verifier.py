"""What the DSL's compiled library says of operations: verifiers of copies, MMAs, TMA, tensor memory, layouts, passes."""

from __future__ import annotations

from layoutcheck.catalogue.entry import EVALUATE, TRACE
from layoutcheck.catalogue.reasons.reason import reason

_UNITS = "`layoutcheck numerics units --arch ARCH` lists the instructions of an architecture"
_WORDS = "The words are the DSL's own: 'memref' is a tensor, 'rmem' registers, 'smem' shared, 'gmem' global and 'tmem' tensor memory."

REASONS = (
    reason(
        "operand #0 must be PrefetchAtomTypeInterface or TiledCopyType with PrefetchAtomTypeInterface copy atom, but got '!cute_nvgpu.atom.universal_copy<f16>'",
        r"PrefetchAtom",
        "cute.prefetch brings a tile into L2 and takes a TMA load's atom with its coordinate tensor; other copies have no prefetch.",
        "cute.prefetch(tma_atom, tAgA[...]) with the atom of make_tiled_tma_atom and the partition of its tensor",
    ),
    reason(
        "failed to verify that `src` and `dst` are the same kind",
        r"`?src`? and `?dst`? are the same kind|expects same kind for|unsupported recast_iter",
        "Source and destination of one call are of different kinds: a tensor beside a coordinate tensor, a pointer beside a coordinate, a layout beside a shape.",
        "Pass two of one kind; recast_ptr and recast_tensor take pointers and tensors of memory, not coordinates",
    ),
    reason(
        "expects C to have rank 2 or 3, but got C: '!cute.memref<f32, rmem, align<32>, \"((2,2),2,2,1):((1,2),4,8,0)\">'",
        r"expects (?:rank [0-9](?: or [0-9])? for|C to have rank|[A-D], [A-D] to have the same rank|rank [0-9] for|A's [MK] == |B's N == | ?B's N|at least one tensor for operand A)|expected exactly 1 frg|fail to form a gemm",
        "cute.gemm takes fragments (V, M, K) and (V, N, K) with an accumulator (V, M, N), the same without K, or single atoms (V). One of the operands has a mode more or less: a stage, a k tile or a sub-tile that was not sliced off; or M, N, K differ.",
        "Slice stage and k block: cute.gemm(mma, acc, tCrA[None, None, k], tCrB[None, None, k], acc); partition all of them with this MMA",
    ),
    reason(
        "expects A/B of type f16, but got A: 'f32', B: 'f32'",
        r"expects (?:all mma operands to have element type|A/B of (?:the |type)|D of type)|expects operand [a-c]? ?(?:sf[ab] )?with element type|(?:SM80|SM89) (?:FP8 )?MMA does not support|unsupported mma type|a_type and b_type must be the same|expects (?:QMMA|OMMA) acceptable|expects (?:a|b)_type attribute|expects (?:sf|sfType|sf_type|scale factor is)|expects A/B typ|expects `?vec_?[sS]ize|[Gg]iven VecSize|The scale vector size must be|expects scale (?:vector|factor)|expects same element type of sf_a|expects int or float(?: for [ab]Type)?|element type of 'cd'",
        "The MMA instruction has fixed types for its operands: A and B alike (8-bit floats may differ), its accumulator, and for block-scaled ones the scale factors' type and how many elements each serves (E8M0 with 32, E4M3 with 16). An operand has another type.",
        "Make the fragments from this MMA (make_fragment_A, _B, _C), convert the values before, and take the operation of the tensors' types. "
        + _UNITS,
    ),
    reason(
        "expects memref for operand D, but gets D: '!cute.memref<f32, rmem, align<32>, \"((128,128),1,1):((1,128),0,0)\">'",
        r"expects memref for operand [CD]\b",
        "The accumulator of tcgen05 lies in tensor memory, that of mma.sync and wgmma in registers. This operand D (or C) is of the other place.",
        "For tcgen05: tiled_mma.make_fragment_C(shape) gives the layout, TmemAllocator the columns, cute.make_tensor(tmem_ptr, layout) the operand; the epilogue reads it by tcgen05 loads. Else: registers of tiled_mma.make_fragment_C",
    ),
    reason(
        "expects rmem for input operands, but got A: '!cute.memref<f16, smem, align<16>, \"((2,2),1):((1,2),0)\">'",
        r"expects (?:rmem for input operands|memref/smem_desc_view for operand A|smem_desc_view for operand B|memref for operand [AB]|operand (?:sfa/sfb|lutb) to be tmem)|SM120 SF[AB] must be in rmem|operand '(?:cd|sf_[ab])' must be a CutePtrType|sf_a\(operand 3\) and sf_b",
        "Each MMA reads its operands from one place: mma.sync from registers; wgmma A from registers or shared memory and B from shared memory, both as descriptors; tcgen05 A from shared or tensor memory, B from shared memory, scale factors and accumulator from tensor memory (scale factors of sm_120 from registers).",
        "Copy the operand there first (ldmatrix into make_fragment_A's registers), or make the descriptor fragments from the shared tensor: tiled_mma.make_fragment_A(sA)",
    ),
    reason(
        "GMMA expects MMA_K has 256bits width, but got MMA_K (32) with (512) bits.",
        r"expects M to be 64 in GMMA|GMMA expects MMA_K|UMMA (?:expects|invalid|Sparse invalid)|expects shape_?[MK]\b|expects Mma atom layout|only 16x8x32 and 16x8x64|expects flatten rank-3|only HMMA supports|num_cta (?:attribute|equals|to be)|expects (?:num_cta|cta) (?:attribute )?to be|expects `num_cta`|c_scale_exp",
        "The MMA's shape is one instruction: wgmma has M 64 and K of 32 bytes (16 elements of 16 bits); tcgen05 M 64, 128 (one CTA) or 128, 256 (a pair) and K of 32 bytes, 64 and more elements for 4-bit types; num_cta is 1 or 2.",
        "Give the instruction's own shape and repeat it by the tile. " + _UNITS,
    ),
    reason(
        "expects K contiguous layout for shared memory buffer",
        r"(?:must be|to be|expects? .*) ?k-major|major-mode k|only support f16/bf16 with mn-major|expects K contiguous|circular SMEM|[Cc]ircular SMEM|block layout (?:to have|must be)|K size 1024b|at least 4 modes in shared memory layout|expects mode-1 major|number of blocks to be equal",
        "Operands of 8 and fewer bits, of TF32 and from tensor memory are read K-major alone: K is contiguous. Only 16-bit types have both majors. Ultra formats of sm_103 and sm_107 read a circular buffer of 128-byte blocks.",
        "Store the operand with K contiguous (transpose while loading), and make its shared layout with the K-major atom: sm100_utils.make_smem_layout_a(tiled_mma, mma_tiler, dtype, stages)",
    ),
    reason(
        "Not a canonical UMMA_K Layout: Expected MN-size multiple of 8",
        r"Not a canonical (?:UMMA|GMMA)_",
        "The shared tensor's layout is none that a matrix descriptor of wgmma or tcgen05.mma can describe: rows of eight, in units of 16 bytes, under one of four swizzles.",
        "Build it with make_smem_layout_atom and tile_to_shape; `layoutcheck canonical LAYOUT --dtype TYPE --unit wgmma` (or tcgen05) names the nearest one and the mode that differs",
    ),
    reason(
        "TMEM SF fragments expect NSF_PER_MMA to be a multiple of 4 but got 2",
        r"TMEM (?:SF |E )?fragments (?!for copy)|fragments? (?:doesn't|does not) support|Tmem allocation|NotImplementedFrgAttr|fragments expect an MMA atom|rmem fragment does not support|expect (?:shared|rmem) based input memref|unsupported atom type for (?:SM107 )?SMEM|expects size of atom val mode|expect input tensor rank|expected input tensor to have the profile|derive_elem_type|failed to verify operands for the provided atom|invalid (?:MMA|copy) atom type|invalid operand ID|copy\.make_fragment|memref/shape/layout type",
        "make_fragment_A to _C, _SFA and _SFB take what this MMA partitioned: a shape or tensor (MMA, M, N or K, ...) in the memory that the operand is read from. The input is partitioned by another atom, has another memory space or type, or too few modes.",
        "tiled_mma.make_fragment_C(tiled_mma.partition_shape_C(mma_tiler[:2])) for accumulators, make_fragment_A(sA) of the shared tensor for descriptors; scale factors come from blockscaled_utils.make_tmem_layout_sfa and _sfb",
    ),
    reason(
        "expects input tensor's address space to be tmem, but got 'rmem'",
        r"TMEM fragments for copy|expects (?:input tensor's address space to be|memref on|the layout of the) '?[tT]|expects a TMEM copy atom|expects atom and input memref to have the same element size|type sizes of atom value and memref|TMEM (?:load|store) only supports|require tmem memref aligned|src/dst need be tmem/reg|word size must be 32 bits|number of repetitions|tmem pointer (?:only|does not)|tmem expects 32bit|does not support tmem allocation|Tmem alignment|SP-compress|sparse metadata|half_split_off|expects? val_type to be|`red` to be|`num_dp` and",
        "Tensor memory is reached by tcgen05 copies alone: loads from tensor memory into registers, stores the other way, in 32-bit columns with the element width of the atom, at aligned columns, and at most 128 registers a thread. make_tmem_copy takes the atom and the tensor in tensor memory.",
        "tcgen05.make_tmem_copy(cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x32), cutlass.Float32), tAcc), then get_slice(tidx) partitions source and registers",
    ),
    reason(
        "The given UTCCP params: dp 64, bits 128, broadcast none is unsupported or illegal.",
        r"UTCCP|S2T copy (?:source|destination)|s2t_copy or|expects a static mode 0|expects the mode 0 to be rank 2|expects same value type of atom and view|Shape (?:64x128b|32x128b) requires multicast|multicast type for tcgen05\.cp",
        "tcgen05.cp copies shared to tensor memory in a few shapes: 128x256b, 128x128b, 4x256b, 64x128b with warpx2 (02_13 or 01_23), 32x128b with warpx4. The first mode of its tensors is (rows, columns) of one such shape.",
        "Take tcgen05.Cp4x32x128bOp for scale factors (warpx4), and make the tensors with tcgen05.make_s2t_copy and get_s2t_smem_desc_tensor",
    ),
    reason(
        "expects src and dst to have static shape",
        r"expects (?:src and dst|pred) to have static shape|(?:[Ss]ource and (?:data )?destination|[Oo]perands?|All operands|SFA/SFB/C operands) (?:tensors )?must have (?:the same size|static shapes?)|operand must have static shape|Src and dst must have the same size|expects static shape|Output shape must be static|coordTensor should match",
        "A copy is unrolled while compiling: shapes of source, destination and predicate are known then and pair mode by mode.",
        "Tile first (local_tile with a static tiler, a thread's partition), predicate the edge, and copy the tile",
    ),
    reason(
        "expects pred's address space to be rmem/smem/gmem/generic",
        r"expects (?:pred|identity swizzle on pred)|expects pred to",
        "The predicate is a tensor of Booleans with one entry for each atom of the copy (mode V, rest), of static shape, without a swizzle, in memory that a thread reads.",
        "cute.make_rmem_tensor of the rest modes' shape with cutlass.Boolean, filled by comparing coordinates (cute.elem_less)",
    ),
    reason(
        "expects all operands to have the same rest modes, but got: (8,2) and (8,4)",
        r"expects all operands to have the same r|expects (?:src|dst) #?|expects rank-1 layout for|expects at least one (?:tensor for (?:src|dst)|source|destination)|expects same size in|doesn't have correct shape rank|expects the rest modes|expects the rank of (?:sfa|lutb)|rest modes \(M, N, K\) of block-scaled|expects 1 tensor for operand A and B when|rest modes of src and dst must match",
        "All operands of one copy or MMA pair mode by mode: behind V each has as many atoms as the others. A stage, k tile or scale-factor mode was left on one side, or a tile has another size.",
        "Print every operand; slice the extra mode off, and partition source and destination by one atom",
    ),
    reason(
        "Src/Dst partitioning does not match the instruction requirement.",
        r"Src/Dst partitioning does not match|Image size of (?:src|dst) V layout|doesn't match atom requirement|must equal dst_V_size|required by (?:the TMEM load atom|CopyOp)|specific TMEM layout",
        "The thread's part was partitioned by another atom than the one that copies it: values and threads do not lie as the instruction takes them.",
        "Partition both sides with the tiled copy of this very atom (partition_S, partition_D), and retile register fragments of an MMA: thr_copy.retile(fragment)",
    ),
    reason(
        "bulk copy requires copy size align to 16B",
        r"bulk copy (?:expected|requires|src|dst)|must be able to divide max possible copy bits|expects copy_bits \* sparsity|expects sparsity to be|invalid copy_bits",
        "cp.async.bulk moves whole units of 16 bytes between shared and global memory, at addresses of 16 bytes; the tensor's size in bytes is a multiple of that.",
        "Pad the run to 16 bytes, name the spaces in the atom's direction (G2S or S2G), and copy what remains with another atom",
    ),
    reason(
        "LDSM is not supported with this config.",
        r"(?:LDSM|STSM) (?:is not supported|only supports)|src needs be (?:shared|reg) based memref",
        "ldmatrix reads shared memory into registers, stmatrix the other way, in few forms: 8x8 of 16 bits with 1, 2, 4 matrices; 16x16 of 8 bits transposed; 8x16 of packed 4 or 6 bits.",
        "Put the shared tensor at the shared side, and take warp.LdMatrix8x8x16bOp or StMatrix8x8x16bOp for 16-bit types",
    ),
    reason(
        "SIMT async copy only supports global memory to shared memory.",
        r"SIMT (?:a?sync) copy|Async copy must be from global|Cache mode must be specified|'cp_size' only supports|(?:src|dst) expects (?:global|shared) based|need be (?:non-tmem|smem|gmem|shared) based|(?:src|dst) needs to be (?:rmem|dsmem)|-based or generic memref|Invalid address space for SIMT|need be (?:shared|gmem) based memref|need be (?:CuteMemRef|MemRef)Type$",
        "The atom fixes both memory spaces: cp.async global to shared, a universal copy any but tensor memory with registers on one side, a distributed-shared store registers to another CTA's shared memory. "
        + _WORDS,
        "State the space when the pointer is made (AddressSpace.gmem), and take the atom for the direction; stage through registers where none exists",
    ),
    reason(
        "expects store_cache_mode to be 'write_back' when mem_order is not 'weak', but got 'streaming' and 'release'",
        r"expects (?:store|load)_cache_mode",
        "Only weak accesses take a cache hint; an access with an ordering (relaxed, acquire, release) has the default one.",
        "Leave either the cache mode or the memory order at its default",
    ),
    reason(
        "multimem.ld_reduce on floating-point supports only add, min, and max reductions",
        r"multimem\.|multimem |for [0-9]-element vectorization|unsupported vectorization",
        "multimem instructions reduce over all GPUs of a multicast address: integers of 32 or 64 bits one by one with add, min, max, and, or, xor; floats with add, min, max, in vectors of 32 to 128 bits in all (.v2 of 16 bits at least).",
        "Take copy_bits of 32 to 128 for f16, bf16 and f32, the element's own width for integers and f64",
    ),
    reason(
        "GATHER4 mode requires 5 coordinates",
        r"need be (?:CoordTensor|CuteMemRef|MemRef)Type(?: and| index)|index tensor need be|coord tensor\) need be|memref need be|(?:GATHER4|SCATTER4|[Gg]ather4|[Ss]catter4)|IM2COL|[Ii]m2[Cc]ol|im2col|expects (?:1\.\.5 coord|coordinates between 1 to 5)|expects index tensor|TMA tensor \(coord tensor\) to be|scatter4|gather4|TMA (?:Gather|Scatter)4|gmem view|spatial (?:mode|dim)|Expected 4, 6 or 8 coordinates|expects tensor_size|expects lower_stride",
        "TMA modes differ in their coordinates: tiles take one for each of 1 to 5 dimensions; im2col 3 to 5 with offsets in W, H, D; gather4 and scatter4 a column and four rows, given as a tensor of row numbers of two modes.",
        "Make atom and tensor with the maker of the mode (make_tiled_tma_atom with gmem_coord_tensor= for gather4 and scatter4, make_im2col_tma_atom for im2col), and copy what tma_partition gives",
    ),
    reason(
        "expected the SMEM layout to be a swizzle layout, but got '!cute.layout<\"(8,64):(64,1)\">'",
        r"expected (?:the )?(?:SMEM layout|GMEM and SMEM layouts|top-level shape)|unsupported layout for the GMEM tensor|expects gmem to be a|invalid smem layout type|expects smem layout to be|[Ss]mem layout (?:should be|is not static)|Computed TMA layout is invalid|TMA G-basis|Failed to construct the TMA tensor type|number of elements in the TMA bounding box|must match input gmem tensors|congruent layouts, but tensor 0|first target tensor|second target tensor|at least one (?:gmem|target) tensor",
        "make_tiled_tma_atom takes a global tensor with a plain layout of integer strides (one of them 1), and a static shared layout with the tiler's modes, plain or a swizzle over a plain one. "
        + _WORDS,
        "Make the shared layout with tile_to_shape of a swizzle atom over the tiler's shape, slice off its stages, and pass the whole global tensor (from_dlpack), not a tile of it",
    ),
    reason(
        "expects smem and gmem have the same size in the first mode",
        r"expects TMA tensor to be a CoordTensor|expects (?:smem and gmem have|static shape in the first mode|a non-exec tma)|tma copy op is not in|Expected (?:non-)?exec atom|Copy atom must be a !cute\.atom\.tma|non-executable (?:TMA|copy atom)|NumCta, mcast mask|override(?:-mode| expects| attribute| TMA)|no_fully_oob|residue layout|TMA rank|OR coord tensor expects|[Nn]on-override TMA|does not support override|missing or invalid num_multicast|return TMA load type|expects CopyAtomTma|must have mcast=true|mcast=true is not supported",
        "A TMA copy is an atom with its tensor map, a coordinate tensor and one shared tile, all made together: tma_partition groups the tile into mode 0, loads have an mbarrier, multicasts a mask, and the atom's kind (load, store, reduce, multicast) is that of the call.",
        "atom, tensor = make_tiled_tma_atom(...) on the host; in the kernel cpasync.tma_partition(atom, coord, layout, group_modes(sA, 0, 2), group_modes(gA, 0, 2)), then cute.copy(atom, tAgA[...], tAsA[...], tma_bar_ptr=...). "
        + TRACE,
    ),
    reason(
        "cluster shape must contain at most 16 CTAs.",
        r"mcast_layout must have|vmnk_layout and multicast_mode|multicast mode together|(?:preferred )?cluster[ _]shape (?:must (?:be (?:a rank|static|set|divisible|larger|greater)|contain)|requires arch)|does not match the cluster product|malformed (?:preferred_)?cluster_shape|preferredClusterShape requires|Cluster (?:shape must be greater|dimensions and cluster)",
        "A cluster has three static extents, whose product is at most 16 (8 without the kernel's permission for more), on sm_90 and later; a preferred one is a multiple of the fallback.",
        "launch(cluster=(2, 1, 1)) with Python integers; a preferred cluster together with its fallback",
    ),
    reason(
        "CTA group mismatch within pipeline: producer uses 2",
        r"CTA group|'elect_leader_cta'|uniformly 1CTA or uniformly 2CTA|2SM|Must have [0-9] inputs? with a[0-9]t[0-9x]",
        "An operation of a pair of CTAs (CtaGroup.TWO) meets one of a single CTA. MMA, tensor-memory allocation, loads, commits and barriers of one pipeline are all of one group.",
        "Pass one CtaGroup to the MMA, the TMA operation, TmemAllocator and the pipeline, and a cluster whose M is even for TWO",
    ),
    reason(
        "pipeline stages mismatch: pipeline has 4",
        r"pipeline (?:stages|must have|arrivals|locale)|arrival[_ ]mask|create_pipeline|CreatePipeline|inferEdge|barrier owner|(?:hyper_edge|topology|mbarrier_release)|edge scope|CLC producer|mbarrier pipeline|operation types must be|count per stage|keep_count|from_access|to_access|st_async_shared|Cluster scope|'accesses' subset|op_subset|stage token|mailbox locale|signaling",
        "A pipeline of the experimental API is described by producers, consumers and scope; this description has no barrier protocol: masks need cluster scope, both sides the same stages, operation types a canonical order, and pipelines are created at the kernel's start, outside of control flow.",
        "Create all pipelines in the first block of the kernel with one locale and stage count, and give an arrival mask only to pipelines of a cluster",
    ),
    reason(
        "[C7] tcgen05.ld not statically preceded in its block by a mbarrier.wait on a barrier arrived via tcgen05.commit",
        r"^\[C[0-9/C]+\]|NvvmDiag|mbarrier\.init (?:sets|count|is not)|statically[- ]visible|In the single-issuer protocol|The pass found a TMEM load|The load is in a block where|expects transaction bytes scaled|never retired|not guarded by a single-issuer",
        "A check of the DSL's back end for synchronization, a warning: it looks for init, fence, arrive, commit, wait and allocation in the order that PTX asks for, and does not see one of them. Where it stands on another path, in another function or behind an elect, the warning is void.",
        "Look at the named instruction: init once, then cute.arch.mbarrier_init_fence and a barrier of the CTA; commit by one elected thread (cute.arch.elect_one); wait before tensor memory is read. `layoutcheck trace --no-launch SCRIPT` replays the accesses with their order and names those that nothing orders",
    ),
    reason(
        "unable to compute crd2idx with '!cute.layout<\"(8,4):(4,1)\">' and '!cute.coord<\"(1,2,3)\">'",
        r"unable to (?:compute|filter|infer|perform|construct)|failed to (?:get coordinate|construct an|infer|resolve operand|dice)|(?:invalid|unexpected) (?:tiler|coordinate|buffer|agent_id) type|arith (?:mod|div) by zero|expects (?:same kind|only static order|target shape and order|`?input`? to be static|an input with static|static layout without)|is invalid for|(?:shape|stride) must be congruent with target|kernel shapes must be congruent|size does not match input shape|failed to construct a valid coordinate|expects (?:`?coord\w*`?|a coordinate|scalar coord)|weakly congruent|failed to (?:partition|perform a valid division)|expects rank\(|expects rank of block|unable to (?:partition|make|recast|coalesce|match)|expects layout_tv|expects layout shape and stride|expects same profile|expect input shape and g_stride|expects positive (?:shape|size)|expects `?(?:dst|src)`? mode|expects inputs? that|expects (?:a )?(?:shape|stride) operand|invalid swizzle (?:parameters|config)|expects no error|can't derive meaningful cosize|Expect rank-2 vec_mode|Expect concrete values",
        "An operation of the layout algebra has no result for these operands: a coordinate, tiler or divisor does not pair with the modes of the layout, or does not divide them.",
        EVALUATE
        + ". A run-time extent (?) is divided only by what divides every value: cute.assume(extent, divby=n)",
    ),
    reason(
        "swizzle layout expects scalar `offset` and `outer` without scaled basis, but got offset (0,0)",
        r"swizzle layout expects|commutative law of add_offset|swizzle requires an explicit layout|explicit swizzle attribute|expects the composed layout's offset|requires normal layout|normal layouts? for|need to be (?:normal layout|LayoutType)|to be normal layout|composed layout (?:requires|outer|type)|affine layout|composed inner and outer|doesn't support composed layout|expects layout type, but|expects a view type with a normal",
        "A swizzle stands in one of two places: in the layout (S o 0 o L, over integer offsets) or in the pointer. The operation takes a plain layout here, and the tensor's is composed (or its offset is no plain integer).",
        "Move the swizzle into the pointer: cute.make_tensor(cute.recast_ptr(ptr, layout.inner, dtype), layout.outer), or allocate_tensor(dtype, layout.outer, byte_alignment=1024, swizzle=layout.inner)",
    ),
    reason(
        "expected iterator and layout codomain to have congruent profiles, but got iterator (0,0)",
        r"offset of pointer as integer rather|iterator type to be a arith tuple|iterator and layout codomain|scaled[ _]basis|ArithTuple|coordinate offset|AddOffset|add_offset|offset and base|both offset and base|not valid for `src`|lhs` and `rhs` are addable",
        "A coordinate tensor counts in tuples: its iterator (the start) and its strides (basis elements, cute.E) have the same modes. A pointer counts in integers. Here one of each kind meets.",
        "cute.make_identity_tensor(shape) makes a whole one; move its start by cute.domain_offset with a coordinate of its modes",
    ),
    reason(
        "expects result alignment divides source's divisibility",
        r"expects (?:result (?:alignment|equals|divisibility)|same src/dst|alignment)|requires source operand to satisfy alignment|byte alignment|-byte alignment|Expected memref (?:alignment|to be byte)|tma descriptor pointer to have alignment|compatible alignment|ptr alignment|is not byte-aligned|address space mismatch|ptrcast must|must be CuTe (?:pointer|memref) to|must be memref in|pointer in memory space|Expected cute\.ptr|in shared (?:address|memory)|shared address space",
        "The operation needs a pointer in one memory space with a proved alignment; the tensor's type states another space, or less alignment. The compiler believes the type, not the address.",
        "State both where the pointer is made: make_ptr(dtype, address, AddressSpace.smem, assumed_align=128), allocate_tensor(..., byte_alignment=1024), from_dlpack(t, assumed_align=16); descriptors in global memory take 64 bytes, mbarriers 8",
    ),
    reason(
        "Failed to perform copy partitioning chain analysis",
        r"partitioning chain|predication|Copy Partitioning|partitioner chain|v-map|converted type|join(?: the)? inferred types|incompatible types along different dataflow|multicast layout analysis|TMA (?:multicast|tensor|coord tensor) analysis|Require predication origin|rematerialize|cannot find smem for prefetch|expected TMA atom to b|ancestor cute_nvgpu|at the call site for multicast|grid constant|TMA descriptor source|external function argument",
        "A pass of the experimental compiler follows each tensor from its use back to the argument or allocation that it comes from (tile, slice, partition), and meets something that it cannot follow: a block argument of a loop or branch, a call, a view of unknown origin.",
        "Make tile, partition and atom in the function that copies, outside of loops and branches, from the kernel's own arguments; slice inside the loop",
    ),
    reason(
        "i1 element type is only supported for tensors in rmem, but got smem",
        r"physical element type|i1 element type|unsupported (?:element type|address space for memref)|npow2 sub-byte|non-pow2 sub-byte|non-byte-aligned vector|element (?:bitwidth <= 32|types? to (?:be|have) )|have the same element size|element to have size|layout must be dense|elemsPerChunk|bitlayout|copy_bits(?: \(|\{| to be| > |\()|atom strides of src and dst",
        "Elements are moved in whole bytes of equal width on both sides: Booleans live in registers (as bytes in memory), types of 6 bits and the like in packed forms, and copy_bits is a multiple of the element's bits.",
        "Store Booleans as cutlass.Uint8, recast narrow types to Uint8 (cute.recast_tensor), and take num_bits_per_copy that both element types divide",
    ),
    reason(
        "shared memory allocation with dynamic layout is not supported.",
        r"shared memory (?:allocation|usage|carveout)|[Dd]ynamic smem size|cannot allocate shared memory|memory-layouts? must be static|!cute\.memref (?:must|layouts|tmem|holds)|tile storage size|device workspaces?|Buffer (?:layout|address)|Number of (?:elements|columns) to allocate|TMEM static allocations|GMEM-mode TMA descriptor",
        "Shared and tensor memory are laid out while compiling: layouts, alignments and numbers of elements or columns are constants, and positive.",
        "Build the layout of Python integers (cutlass.Constexpr), and sum the kernel's allocations against the capacity: 227 KB a CTA on sm_90 and sm_100",
    ),
    reason(
        "TiledMMA requires rank-3 atomLayoutMNK",
        r"TiledMMA requires|expects a TiledMma and a shape|atom (?:type )?interface|AtomType|(?:Atom|Tiled)\w*TypeInterface|value type must match|unsupported (?:MMA|Copy|TMA|input) atom|invalid TMA atom|unsupported MMA Atom|invalid type for the layout atom|field name string|requires a Cute copy atom|requires !cute_nvgpu|requires copy_atom|lir\.\w+",
        "The operation takes an atom of another kind, or an atom whose value type is not the tensors': an MMA atom where a copy atom is meant, a plain copy for tensor memory, an operation without its atom.",
        "Make the atom for the tensors' element type, cute.make_copy_atom(op, tensor.element_type) or make_tiled_mma(op, (m, n, 1)), and pass it as the first argument",
    ),
    reason(
        "in host context can only print view in host memory space, got gmem",
        r"in host context can only print|unable to print|can be printed by",
        "cute.printf in a @cute.jit host function prints values of the host; a tensor of the GPU has its elements elsewhere.",
        "Print the tensor inside the kernel, or its layout with Python's print",
    ),
    reason(
        "expects expand-ops pass to expand `cute.group_modes` on ViewTypeInterface",
        r"expects (?:expand-ops|cute-desugar) |must be expanded|`InferTypeOpInterface`|type converter should lower|is read only|should not be used|must not be used for make_fragment|MmaAtomAttr",
        "A pass of the compiler meets an operation that an earlier pass should have replaced: a fault of the compiler with this combination, not of your layout.",
        "Upgrade nvidia-cutlass-dsl; write the view in another way (index the layout and make the tensor anew with cute.make_tensor); report it to NVIDIA/cutlass",
    ),
    reason(
        "expected reduction t map size to be a power of 2, but got 12",
        r"reduction t map|intra-warp reduce|(?:input|output) (?:layouts?|to be in rmem|and output)|threads per reduce",
        "The reduction across a warp takes register tensors of static, equal layouts and types, and a map of 1 to 32 threads, a power of two.",
        "Give input and output one shape and type in registers, and a power of two of threads",
    ),
    reason(
        "dynamic value must hold an integer",
        r"dynamic value must hold|dynamic integer|expects (?:Integer or Constrained|quotient and divisor|operand and result's width|a tuple-like|an input of ValueType|result to be static|input type implementing|IntTupleType)|(?:operand|result) #[0-9]+ must be (?:variadic of )?(?:ValueType|Refinable|MaybeStatic|static|32-bit|signless integer|integer or|XTuple)|static constant|property mismatch|not compatible with properties",
        "An entry of a shape, stride or coordinate is not an integer of 32 or 64 bits, or entries of different widths meet.",
        "Convert every entry to one type before, cutlass.Int32(x); floats and Booleans are no extents",
    ),
    reason(
        "operand #0 must be signless-non-zero-bitwidth-integer-like, but got 'f32'",
        r"must be integer/(?:index/)?float type|(?:signless|floating-point|integer)[\w-]*-like|must be (?:floating|signless)[\w -]*, but got|(?:lhs|rhs|operands?|result)\b.* (?:have|has) (?:the )?same (?:element )?type",
        "The arithmetic has an operand of another kind: integers (shifts, bit operations, %) and floats (exp, division by /) are not mixed in one operation, and both sides have one type.",
        "Convert before the line: cutlass.Int32(x), x.to(cutlass.Float32); print type(x) of both sides",
    ),
    reason(
        "operand #1 must be A memory reference type that represents a tensor view with an iterator and layout, but got '!cute.layout<\"8:1\">'",
        r"must be (?:variadic of )?(?:A memory reference type|ViewType|of ranks 1 or ViewType)",
        "The operand is a tensor: a pointer with a layout. A layout, a pointer, a shape or the values of a tensor (TensorSSA) stand there.",
        "cute.make_tensor(pointer, layout) makes one; pass the tensor itself, not tensor.layout, tensor.iterator or tensor.load()",
    ),
    reason(
        "operand #0 must be Cute shape type, but got '!cute.layout<\"8:1\">'",
        r"must be (?:variadic of )?(?: ?Cute (?:shape|coord|stride)|(?: ?(?:Generalized|CuTe) )?(?:layout|Layout|composed layout)|a CuteShapeType|IntTuple)|CuTe (?:composed )?[Ll]ayout [Tt]ype|expects (?:AtomTypeInterface|ShapeType|LayoutType|CoordType)|Expected \w+Type for",
        "The operand is of another kind than the call takes: a shape, a coordinate, a layout and a tensor are different objects.",
        "layout.shape is a shape, tensor.layout a layout, cute.make_layout(shape) a layout of a shape; of a composed layout .outer is the plain part",
    ),
    reason(
        "requires attribute 'num_dp'",
        r"core\.bump_allocator|failed to verify that (?!.*(?:`src`|lhs|rhs|operand|result)\b.*same (?:element )?type)|expects one of \{|requires (?:attribute|`next)|expected (?:string or keyword|keyword|SSA|type instead)|mode shorthand|bitfield|region terminator|must be a direct child|more than one block|Terminator of|property",
        "The compiler's own IR is not well formed: an operation was built by one part of the DSL in a form that another part refuses. No layout or argument of yours has this word.",
        "Install nvidia-cutlass-dsl and its -libs packages in one version; shrink the function to the call that the place names, and report it to NVIDIA/cutlass",
    ),
    reason(
        "cannot load vector from non-contiguous sequence of elements",
        r"(?:load|store) vector (?:from|to) non-|mask vector|pass_thru vector",
        "load() and store() of a whole tensor as one vector take elements that follow one another, whole bytes at a time, and masks as long as the vector.",
        "Copy it element by element or with cute.copy, make the tensor contiguous in its first mode, or load a tile whose elements are",
    ),
    reason(
        "MIN/MAX reduction require float type",
        r"(?:ADD/MUL|MIN/MAX) reduction require",
        "A reduction of values adds and multiplies integers and floats, and takes minimum and maximum of floats.",
        "Convert before: values.to(cutlass.Float32).reduce(...)",
    ),
    reason(
        "Memrefs in cmem are read only and do not support store operations.",
        r"cmem are read only",
        "The tensor is in constant memory, which a kernel reads and does not write.",
        "Put what is written into global or shared memory",
    ),
    reason(
        "new register size must be multiple of 8",
        r"new register size|setmaxregister|setmaxnreg",
        "setmaxnreg gives each thread of a warp group a literal number of registers: a multiple of 8 from 24 to 256.",
        "cute.arch.setmaxregister_increase(232) for consumers and setmaxregister_decrease(40) for producers; the sum over all warps stays within 65,536 registers",
    ),
)
