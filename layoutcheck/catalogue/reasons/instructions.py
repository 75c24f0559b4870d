"""What the DSL's compiled library says of single instructions: barriers, fences, tcgen05, mma.sync, wgmma, TMA, atomics, launches.

Most are verifiers of MLIR's nvvm operations, which the DSL's own functions build. The sources are the PTX ISA's pages of the
instructions.
"""

from __future__ import annotations

from layoutcheck.catalogue.entry import TRACE
from layoutcheck.catalogue.reasons.reason import reason

_UNITS = "`layoutcheck numerics units --arch ARCH` lists the instructions of an architecture"

REASONS = (
    reason(
        "load_cache_modifier and eviction priority are not allowed together",
        r"not allowed together|mutually exclusive|cannot (?:both )?be (?:combined|used together|given together)|exclusive with",
        "Two parameters exclude one another, and the call gives both.",
        "Leave one of the two out (of a load either the cache operator, cop, or an eviction priority)",
    ),
    reason(
        "'nvvm.load.ext' op Unsupported FP type for ExtLoadOp",
        r"Unsupported FP type for Ext(?:Load|Store)Op|[Uu]nsupported (?:FP|float\w*) type for \w*(?:[Ll]oad|[Ss]tore)",
        "cute.arch.load and cute.arch.store move integers and 32- and 64-bit floats; they have no form for 16-bit and narrower floats (bf16, f16, FP8), which the operation's result type is.",
        "Load an integer of the same width and reinterpret it (cutlass.Uint16, then .bitcast or a recast pointer), or read through a tensor: cute.make_tensor(ptr, layout)[0]",
    ),
    reason(
        "mbarrier in shared_cluster space cannot return any value",
        r"mbarrier (?:in shared_cluster|scope must|with relaxed)|unsupported scope for mbarrier|return-value is not supported when|Invalid TxnKind in MBarrier",
        "An arrival at an mbarrier of another block of the cluster returns no state, and has scope cluster; one of the own block may return its state, with scope cta or cluster. A predicated form has neither a result nor relaxed order.",
        "Leave the result unused for a remote barrier (mapa or a cluster address), give scope cta or cluster, and put the arrival in a branch where the predicate is not allowed",
    ),
    reason(
        "waits for parity 1 on what appears to be a single-use barrier; the barrier initializes in phase 0, so the first wait must use parity=0 (PTX ISA 9.7.13)",
        r"single-use barrier|first wait must use parity|bytes; if an async TMA completion retires|the barrier may stall",
        "A barrier begins in phase 0, and a wait for parity 0 returns once that phase completes. A first wait for parity 1 returns at once, before the data is there; a phase whose expected bytes are not the bytes that arrive never completes.",
        "Begin consumers with phase 0 and producers, whose first wait must pass, with phase 1 (pipeline.make_pipeline_state does so); expect as many bytes as the TMA copies of one stage bring. "
        + TRACE,
    ),
    reason(
        "Number of threads participating in barrier must be in multiple of warp size",
        r"Number of threads participating in barrier|barrier id is missing|number of threads (?:in|for) (?:the )?barrier|reduction predicate and reduction operation must",
        "bar.sync takes an id from 0 to 15 and a number of threads that is a multiple of 32, because whole warps arrive; a reduction takes predicate and operation together.",
        "Give cutlass.pipeline.NamedBarrier an id of 1 to 15 (0 is sync_threads) and the threads of all warps that reach it",
    ),
    reason(
        "generic->async proxy fences are not supported for scope wider than cluster",
        r"(?:generic->async|async_shared|non-sync_restrict|tensormap) ?(?:proxy )?fence|proxy fences? (?:are|is|only)|fence requires space",
        "fence.proxy orders accesses of two kinds (generic and async, generic and tensor map) for one block or cluster: its scope is cta or cluster, and async.shared names shared memory.",
        "cute.arch.fence_proxy('async.shared', space='cta') before a TMA store or an MMA that reads what threads wrote; fence_acq_rel_gpu for other blocks",
    ),
    reason(
        "invalid result type length 8 for shape shape_32x32b in tcgen05.ld Op",
        r"invalid (?:result type|input) length .* in tcgen05\.(?:ld|st)|16x32bx2 requires|stat must have layout|stat result type|half split offset",
        "tcgen05.ld and st move (shape, repeat) of tensor memory into a fixed number of 32-bit registers a thread: 32x32b x N takes N, 16x64b N, 16x128b 2N, 16x256b 4N; 16x32bx2 takes the offset of its second half as well. Statistics exist for 32x32b and 16x32bx2.",
        "Take the register tensor from the tiled copy of the atom, tcgen05.make_tmem_copy(atom, tensor), partitioned and shaped by it, in place of one of your own length",
    ),
    reason(
        "unsupported ScaleVecSize and BlockScaleFormat attributes for mma.m16n8k64.mxf4nvf4",
        r"unsupported (?:BlockScaleFormat|Kind|MMATypes|ScaleVecSize|Geom)[\w ,]* (?:attributes? )?for mma|ashift is not supported|blockscale|uri width",
        "Block-scaled MMAs exist in three kinds: mxf8f6f4 (8, 6 and 4 bits, K 32, one E8M0 factor for 32 elements), mxf4 (E2M1, K 64, two E8M0 factors) and mxf4nvf4 (E2M1, K 64, two E8M0 or four E4M3 factors). Types, vector size or factors are of different kinds.",
        "MXFP8 and MXFP4: scale factors Float8E8M0FNU with vectors of 32; NVFP4: Float8E4M3FN with vectors of 16. "
        + _UNITS,
    ),
    reason(
        "shape 'm' must be 64",
        r"shape '[mk]' must be|does not fit into warp-group level|requires layoutA = #nvvm|aFragKind should be|invalid accumulator/result vector shape|requires rank-3 A/E/B layouts|Invalid MMA (?:AType|Frag|Layout|MNK|Opcode|Rounding|Shape|Type)|invalid shape or multiplicand type|layout of A/B/D",
        "The operands' types, layouts and shape name an instruction that does not exist: wgmma has M 64 and K of 32 bytes, its TF32 and 8-bit operands are K-major; mma.sync takes A row and B column, its fragments in modes (V, M, K).",
        "Take shape and types together from one operation (warp.MmaF16BF16Op, warpgroup.MmaF16BF16Op), and fragments from that MMA. "
        + _UNITS,
    ),
    reason(
        "expected row layout for m8n16 shape",
        r"expected (?:row|col|column) layout for m|Transposed layout is not supported for m8n16|Unsupported layout for nvvm\.(?:ld|st)matrix|expected layout to be col",
        "ldmatrix and stmatrix transpose only some shapes: m8n8 of 16 bits both ways, m16n16 of 8 bits always transposed (.trans), m8n16 of 6 and 4 bits never.",
        "Give transpose=True for 16x16 of 8 bits, and False for 8x16; where the tile has the other major order, store it so in shared memory",
    ),
    reason(
        "CG cache modifier is only support for 16 bytes copy.",
        r"CG cache modifier|shared src should be specified with bytemask|requires source and destination of",
        "cp.async with cache = global (.cg) skips L1 and moves 16 bytes only; with cache = always (.ca) it moves 4, 8 or 16.",
        "Use LoadCacheMode.ALWAYS for narrower copies, or vectors of 128 bits",
    ),
    reason(
        "'src' cannot vectorize copy to 8 elements (static strides must be 1)",
        r".{0,40}cannot vectorize copy to|\[vectorize=true\] Failed to get layout",
        "A vector copy moves adjacent elements: the innermost stride of both operands is a static 1, and the other strides are multiples of the vector. One of them is not, or only the run knows it.",
        "Print both layouts: state the stride (mark_layout_dynamic(leading_dim=...), a static 1) and the divisor of the others; `layoutcheck explain SRC DST --atom ATOM` names the mode that ends the vector",
    ),
    reason(
        "2CTA Mode for CpAsyncBulkTensorG2S not supported on this architecture",
        r"2CTA Mode|Scatter mode unsupported|Multicast requires shared|unsupported tma op|unsupported TiledTmaLoadEnum|tensor and tile must be at most|gmem_(?:coord|index)_layout (?:gather|scatter)|tensor must have same rank as tile|TMA eviction priority|expects the auto TMA multicast",
        "TMA has tile, im2col, gather4 and scatter4 modes with up to five modes (gather and scatter two, and four rows at a time); pairs of CTAs (cta_group 2) begin with sm_100, multicast writes shared memory of the cluster. The copy combines what does not go together.",
        "Take the operation of the mode (CopyBulkTensorTileG2SOp, its MulticastOp with a cluster, make_im2col_tma_atom), CtaGroup.ONE on sm_90, and index tensors of at least four rows for gather4 and scatter4",
    ),
    reason(
        "the tensormap descriptor must have last dimension of 64",
        r"the (?:tensor ?map|shape of tensor ?map|element type of tensor map)|memref and tensor map shapes mismatch|(?:source memref )?most minor (?:memref )?dim must have|the destination memref (?:has|must)|TmaDescType type|failed to (?:create SM107|extract) descriptor",
        "A tensor map describes a box of 1 to 5 modes whose innermost is contiguous, and a shared tile of the same element type, rank and extents; with a swizzle the innermost extent is at most its span.",
        "Make both from one call: cpasync.make_tiled_tma_atom(op, gmem, smem_layout, cta_tiler) checks them against each other; `layoutcheck explain GMEM SMEM --atom tma_load` names the field that is wrong",
    ),
    reason(
        "Failed to convert named barrier pipeline type",
        r"invalid pipeline|Failed to (?:convert (?:collective )?(?:named barrier )?pipeline|insert pipeline)",
        "A pass of the compiler makes barriers of a pipeline object, and cannot follow this one: its number of stages or its participants are not known where it is used, or it is handed through a branch or a loop.",
        "Make the pipeline in the kernel with a Python number of stages, and carry only its PipelineState through loops",
    ),
    reason(
        "128b atomic rmw requires Hopper (SM 9.0+)",
        r"128b atomic|Support for b128 atomics|Invalid AtomicType|unsupported (?:ordering|atomic operation) for|memOrder attribute|vector atomics not supported|only fadd supports floating|unsupported reduction mode for redux|Unsupported non _add",
        "Atomics exist for some pairs of type and operation: integers of 32 and 64 bits all of them, floats add (min and max only as integers), f16x2 and bf16x2 add, vectors of f32 with .v2 and .v4 in global memory and 128 bits by exchange and compare on sm_90. redux.sync takes 32-bit integers, and f32 from sm_100a.",
        "Convert the value, or take a pair that exists: cute.arch.atomic_add on Float32, atomic_fmax for floats",
    ),
    reason(
        "cuda.launch grid and block must be 3 dims or less",
        r"cuda\.launch|cluster size (?:must be all|operand)|Cluster maximum blocks|blocksareclusters|types of the cluster dim|If any cluster dim|(?:\.reqnctapercluster|a function that is not __global__)|launch (?:stream|workspace) operand|found multiple cluster_shape|attribute must be present only on kernel|requires (?:an input backed by a grid-constant|its input to resolve to a kernel)",
        "A launch has up to three extents for grid and block; cluster extents are given all or none, and one of cluster shape and maximum; kernel attributes and tensor maps (grid constants) belong to the kernel's own arguments.",
        "kernel(...).launch(grid=(x, y, z), block=(n, 1, 1), cluster=(a, b, 1)); hand a TMA atom to the kernel as an argument, not through a structure that is rebuilt on the way",
    ),
    reason(
        "random_bits not supported for RN and RZ rounding modes.",
        r"random_bits not supported|relu is not supported with|unsupported rounding mode|rounding mode must be|sw_emulation only supports|invalid rounding mode|rounding mode is not supported",
        "A conversion has the roundings of its pair of types: RN and RZ for narrower floats, RNA for TF32, RS (with random bits) for packed FP8, FP6 and FP4 on sm_100a; ReLU and saturation only with some of them.",
        "Leave the rounding at its default, or take RS with random bits and RN or RZ without. " + _UNITS,
    ),
    reason(
        "operand #0 must be Cute smem_desc_view type, but got '!cute.memref<f16, smem>'",
        r"(?:operand #[0-9]+ |'\w+' |result #[0-9]+ )?must be (?:Cute|Core SSA|Tile-like|A type interface|SM[0-9]+|Tiled copy|allowable descriptor|Descriptors used|PipelineTypeInterface|static (?:layout|shape)|variadic of .*ViewTypeInterface|mbarrier barrier)|expects (?:`\w+` (?:is|to be) )?(?:a |an )?(?:input of )?(?:type )?(?:view|[Ll]ayout(?: type)?|SmemDesc\w*|TiledCopy\w*|LayoutType\w*)\b|expected (?:a gmem memref|SmemDescType|pointer to be in gmem)|Expect (?:dstView|srcView|second destination)",
        "An operand has another type of the DSL's than the operation takes: a layout, a tensor, a descriptor of shared memory (made by an MMA's make_fragment_A or _B), a tiled copy, a pointer in one memory space. The message names both.",
        "Look at the argument that it prints: tensor.layout for a layout, tiled_mma.make_fragment_A(sA) for a descriptor, make_tmem_copy or make_s2t_copy for a tiled copy of tensor memory",
    ),
    reason(
        "attribute 'space' failed to satisfy constraint: NVVM MBarrier space kind",
        r".{0,80}failed to satisfy constraint: (?:NVVM|MMA|TMA|Cute|Cache|Copy|Matrix|Modes? |List of Load|Element type for|Broadcast|Major mode|Attribute for MMA|Enums for|Floating point rounding|Enumerated type|Describes|Bits| static)",
        "A parameter of the operation is one of an enumeration, and another value stands there: a string or a number that was not converted, or a value of another operation's enumeration.",
        "Pass the value of the operation's own enumeration (tcgen05.CtaGroup, cute.nvgpu.LoadCacheMode, nvvm.MBarrierSpaceKind, ...); help(function) names it",
    ),
    reason(
        "unsupported swizzle, got S<5,4,3>",
        r"unsupported swizzle|invalid swizzle|Comma is expected after 'swizzle|cannot have both a swizzle",
        "A pointer's swizzle is S<B,4,3> with B 0 to 3 for TMA and matrix descriptors (32, 64 and 128 bytes), in bytes; the swizzle is in the pointer or in the layout, once.",
        "cute.make_swizzle(B, 4, 3) with B 1, 2 or 3, given to allocate_tensor(..., swizzle=) with a plain layout",
    ),
)
