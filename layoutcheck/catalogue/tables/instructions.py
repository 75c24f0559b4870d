"""Copies, MMAs and barriers that the DSL refuses: architectures, operands, descriptors, memory spaces."""

from __future__ import annotations

from layoutcheck.catalogue.entry import issue, known

DSL = "DSL 4.8.1"

ENTRIES = (
    known(
        "dsl.arch-not-admissible",
        r"[Ee]xpects (?:arch to be )?(?:one of \[)?(?P<admissible>(?:Arch\.)?sm_\w+(?=,? (?:but )?got)|[^\]]{1,400}(?=\]))\]?,? (?:but )?got (?:Arch\.)?(?P<arch>sm_\w+)",
        "{arch} does not have this operation; these do: {admissible}",
        "The operation is an instruction of another architecture family. tcgen05 and tensor memory exist on "
        "sm_100, sm_101, sm_103 and sm_110 only; sm_120 and sm_121 (GeForce Blackwell, DGX Spark) have warp-level "
        "mma.sync; wgmma exists on sm_90a only.",
        "Choose the operation of your GPU's family (cute.nvgpu.warp for sm_80, sm_89, sm_120 and sm_121). If you "
        "compile for another GPU than this machine's, set CUTE_DSL_ARCH, for example CUTE_DSL_ARCH=sm_100a",
        (
            "cutlass.cute.nvgpu.common.OpError: OpError: expects arch to be one of ['sm_100a', 'sm_100f'], "
            "but got sm_121a\nError Code: MmaF16BF16Op error",
            issue(2802),
        ),
        rule="LC108",
    ),
    known(
        "dsl.arch-unknown",
        r"KeyError: '(?P<arch>sm_\w+)'|(?:[Uu]nsupported|[Uu]nknown|[Ii]nvalid) (?:GPU )?(?:arch\w*|target)[^\n]{0,40}?(?P<other>sm_[0-9]\w*)",
        "the installed DSL does not know {arch}{other}",
        "Each version of the DSL has a list of architectures; newer GPUs are added with newer versions.",
        "Upgrade nvidia-cutlass-dsl, or set CUTE_DSL_ARCH to the GPU's family (sm_100f) or to an architecture that it knows",
        (
            "compiler.py, in compile File enum.py, in __getitem__ KeyError: 'sm_107a'",
            "https://github.com/flashinfer-ai/flashinfer/pull/4649",
        ),
    ),
    known(
        "dsl.gemm-layouts",
        r"'cute\.gemm' op invalid layout of A/B/D\.? ?(?P<said>[^\n]{0,160})",
        "cute.gemm refuses the layouts of its operands: {said}",
        "The fragments are not partitioned by this MMA, or the tile is one atom wide: (1,1):(0,0) is what DSL 4.5 makes of "
        "m64n8 (NVIDIA/cutlass#3290).",
        "Partition with this MMA (partition_A, make_fragment_A); take a tile of 16 columns or more",
        (
            "'cute.gemm' op invalid layout of A/B/D. A: (1,1):(0,0), B: (1,1):(0,0), D:((2,2),1,1):((1,2),0,0)",
            issue(3290),
        ),
    ),
    known(
        "dsl.gemm-ranks",
        r"`a` and `b` must have the same rank|`c` and `d` must have the same rank|`c` must have rank",
        "the operands of cute.gemm differ in their number of modes",
        "gemm takes (V, M, K), (V, N, K) and (V, M, N), or all three of them without K.",
        "Slice the stage or the k block off both operands: tCrA[None, None, k] and tCrB[None, None, k]",
        ("ValueError: `a` and `b` must have the same rank", DSL),
    ),
    known(
        "dsl.composed-operand",
        r"Expected affine layout for [\s\S]{0,200}?operand (?P<operand>[AB]), but got composed layout instead",
        "the swizzle of operand {operand} is part of its layout, and must be part of its pointer",
        "A matrix descriptor has the swizzle of a pointer; a composed layout applies it to offsets.",
        "Allocate the tile with both apart: allocate_tensor(dtype, layout.outer, byte_alignment=1024, "
        "swizzle=layout.inner); or move the swizzle with cute.recast_ptr(ptr, layout.inner, dtype)",
        (
            "DSLUserCodeError: error: Expected affine layout for <cutlass.cute.nvgpu.warpgroup.mma.MmaF16BF16Trait object "
            "at 0x7f>'s operand A, but got composed layout instead: S<3,4,3> o 0 o ((64,16),1,4):((64,1),0,16)",
            DSL,
        ),
    ),
    known(
        "dsl.wgmma-descriptor",
        r"make_gmma_smem_desc",
        "the shared-memory layout is not one that wgmma reads",
        "wgmma reads its operands through a descriptor, which describes tiles of eight swizzle atoms only.",
        "Build it from make_smem_layout_atom and tile_to_shape; "
        "`layoutcheck canonical LAYOUT --dtype TYPE --unit wgmma` names the nearest one",
        (
            "failed to legalize operation 'cute_nvgpu.make_gmma_smem_desc' that was explicitly marked illegal",
            issue(3078),
        ),
    ),
    known(
        "dsl.tcgen05-descriptor",
        r"make_umma_smem_desc",
        "the shared-memory layout is not one that tcgen05.mma reads",
        "tcgen05.mma reads its operands through a descriptor, which describes tiles of eight swizzle atoms only.",
        "Build it from make_smem_layout_atom and tile_to_shape; "
        "`layoutcheck canonical LAYOUT --dtype TYPE --unit tcgen05` names the nearest one",
        ("error: 'cute_nvgpu.make_umma_smem_desc' op failed to verify", DSL),
    ),
    known(
        "dsl.tmem-allocation",
        r"[Tt]mem alignment must be a multiple of|TMEM static allocations must be uniformly|TMEM (?:SF |E )?fragments expects?"
        r"|tcgen05\.alloc(?!' not supported)|number of columns .{0,60}power of (?:two|2)",
        "tensor memory is allocated or described incorrectly",
        "Tensor memory is allocated in columns, a power of two from 32 to 512, by one warp; its fragments have the "
        "M of the MMA (64 or 128) and one or two CTAs throughout.",
        "Use cutlass.utils.TmemAllocator and tiled_mma.make_fragment_C(tiled_mma.partition_shape_C(...))",
        ("error: TMEM fragments expect M to be 64 or 128, but got 32", DSL),
    ),
    known(
        "dsl.type-refused",
        r"Inputs are incorrect for type: ?(?P<type>[\w.]+) (?P<said>[^\n]{5,160}?)(?= -->| note:|$)",
        "{type}: {said}",
        "The type of the atom or tensor cannot hold these parameters.",
        "num_bits_per_copy is 0 (the widest that layouts and alignment allow) or a power of two from 8 on; "
        "`layoutcheck explain SRC DST --atom ATOM --bits N` says which widths the copy has",
        (
            "TypeError: Inputs are incorrect for type: cute.nvgpu.CopyAtomSIMTSyncCopyType expected copy_bits to be 0 "
            "(auto) or a power of 2 (>= 8), but got 24",
            DSL,
        ),
        rule="LC103",
    ),
    known(
        "dsl.fragment-space",
        r"expect rmem based input memref with rmem related frag type",
        "a register fragment is made from a tensor that is not in registers",
        "make_fragment_C takes a shape or a register tensor. In DSL 4.0 it refuses a partition of a global tensor for "
        "wgmma (mended in 4.1).",
        "Give it the shape: thr_mma.make_fragment_C(tCgC.shape)",
        ("error: expect rmem based input memref with rmem related frag type.", issue(2347)),
    ),
    known(
        "dsl.no-instruction",
        r"target architecture: (?P<arch>sm_\w+).{0,400}unsupported operation",
        "{arch} does not have an instruction of this kernel",
        "libNVVM finds no instruction of this architecture for an operation: clusters, TMA, mbarrier transactions and fences of the async "
        "proxy begin with sm_90, tensor memory with sm_100.",
        "Set CUTE_DSL_ARCH to the GPU that will run the kernel, or leave the operation out for this architecture with cutlass.const_expr",
        (
            "note: target architecture: sm_80 note: backend log: Failed to generate PTX, libNVVM extra log: Error: unsupported operation",
            DSL,
        ),
        rule="LC108",
        instead_of=("dsl.code-generation",),
    ),
)
