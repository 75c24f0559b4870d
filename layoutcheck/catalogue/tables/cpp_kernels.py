"""Static assertions of CuTe and CUTLASS in C++ about MMAs and whole kernels, and CUTLASS' status at run time."""

from __future__ import annotations

from layoutcheck.catalogue.entry import issue, known

HEADERS = "CUTLASS 4 headers"

ENTRIES = (
    known(
        "cpp.no-setmaxnreg",
        r"setmaxnreg[^\n]{0,120}(?:compiled out|not compiled in|is not emitted|never emitted)|CUDA_CTA_RECONFIG_ACTIVATED",
        "CUTLASS leaves setmaxnreg out for this architecture",
        "cutlass/arch/reg_reconfig.h emits it only for the architectures that its condition (CUDA_CTA_RECONFIG_ACTIVATED) lists. Where one is missing, as sm_110 was, all warps keep the registers of the entry and the computing ones spill (NVIDIA/cutlass#3308).",
        "Compile for the target with its suffix a, and take a CUTLASS whose condition lists it; -Xptxas -v prints the spills, `layoutcheck resources` counts what a tile needs",
        (
            "`setmaxnreg` is silently compiled out for `__CUDA_ARCH__ == 1100`",
            "https://github.com/NVIDIA/cutlass/pull/3308",
        ),
        level="slow",
        rule="LC511",
        instead_of=("ptxas.registers",),
    ),
    known(
        "cpp.incomplete-kernel",
        r"(?:incomplete type|implicit instantiation of undefined template) [\"'](?:class |struct )?cutlass::(?P<what>(?:gemm|conv|epilogue)::(?:kernel|device|collective)::(?!Default)\w+)<",
        "the CUTLASS headers at hand do not define {what} for these arguments",
        "Its general form is only declared; a definition exists for each kind of collective that the headers know. They are of another revision than the code, the CollectiveBuilder inside it has no form for this architecture, types and schedule, "
        "or nvcc is too old for the architecture's part of the headers, which is then left out (12.8 for sm_100 and sm_120, 12.0 for sm_90).",
        "Read the first error of the log, and compare `nvcc --version` and the CUTLASS on the include path with what the project names; an older CUTLASS earlier on the path (-I) hides the right one",
        (
            'cutlass_kernel_file_3.generated.cu(15): error: incomplete type "cutlass::gemm::kernel::GemmUniversal<tensorrt_llm::TmaWarpSpecializedGroupedGemmInput::ProblemShape, cutlass::gemm::collective::CollectiveBuilder<cutlass::arch::Sm100',
            "FlashInfer",
        ),
        instead_of=("cpp.no-traits",),
    ),
    known(
        "cpp.error-type",
        r"(?P<what>\w{1,60}) ?= ?<error-type>|argument types are: \(<(?P<argument>error-type)>",
        "{what}{argument} has no type: an earlier error of the log left it without one",
        "nvcc writes <error-type> for a name whose own declaration does not compile, and every template that gets it fails as well: TiledMMA, MMA_Atom and their kin are not at fault. For an MMA the usual reason is that the program declares no instruction "
        "for these operand types, transposes and this architecture; for headers of CuTe that fail so, an older C++ standard than C++17, or a compiler that is older than they need.",
        "Read the first error of the log, above these lines; it names the declaration. Take operand types, transposes or an architecture that the code has an instruction for",
        (
            'instantiation of class "cute::TiledMMA<MMA_Atom, AtomLayoutMNK, PermutationMNK> [with MMA_Atom=<error-type>, AtomLayoutMNK=',
            issue(303, "tile-ai/tilelang"),
        ),
        general=True,
        instead_of=(
            "cpp.other-error",
            "cpp.instantiation",
            "cpp.bare-assertion",
            "cpp.other-assertion",
            "elsewhere.compile",
        ),
    ),
    known(
        "cpp.epilogue-tile",
        r"EPI_TILE_(?P<mode>[MN]) must divide (?P<of>CTA|MMA_TILE)_[MN]",
        "the epilogue tile does not divide the tile along {mode}",
        "The epilogue stores the accumulators tile by tile. EpilogueTileAuto of older CUTLASS takes 32 columns (64 for 8-bit outputs), which do not divide an N such as 112; newer ones take the greatest common divisor with N.",
        "Give the epilogue's builder a tile that divides, Shape<_64, _16> for N = 112, instead of EpilogueTileAuto; take a tile shape whose N is a multiple of 32; or update CUTLASS",
        (
            'static_assert(size<1>(CtaTileMNK{}) % size<1>(shape(EpilogueTile{})) == 0, "EPI_TILE_N must divide CTA_N");',
            issue(2133),
        ),
        instead_of=("cpp.bare-assertion",),
    ),
    known(
        "cpp.print-latex",
        r"no operator \"[<!=]+\" matches[^\n]{0,200}?cute::(?P<what>MMA_Atom|TiledMMA|Copy_Atom|TiledCopy|ThrMMA|ThrCopy)<|void cute::(?P<function>print_(?:latex|svg|layout))\(const Layout\w* ?&\) \[with Layout\w*=cute::(?P<given>MMA_Atom|TiledMMA|Copy_Atom|TiledCopy)<",
        "a function for layouts gets a {what}{given}, which is no layout",
        "print_latex, print_layout and their kin take a layout, and have forms of their own for TiledMMA and TiledCopy; the form for an MMA_Atom came with a later CUTLASS. Of an atom none of them can read a shape.",
        "print_latex(make_tiled_mma(atom)), print_latex(tiled_copy), or update CUTLASS; `layoutcheck draw` draws layouts without a compiler",
        (
            'cute/layout.hpp(1783): error: no operator "<" matches these operands operand types are: int < cute::MMA_Atom<cute::SM80_16x8x16_F16F16F16F16_TN>',
            issue(1444),
        ),
    ),
    known(
        "cpp.no-default-gemm",
        r"cutlass/gemm/device/\w{1,60}\.h\([0-9]{1,6}\): error: incomplete type is not allowed[^\n]{0,2500}?ArchTag_?=cutlass::arch::Sm(?P<arch>[0-9]{2,3})(?:[^\n]{0,800}?InstructionShape_?=cutlass::gemm::GemmShape<(?P<shape>[0-9, ]{5,20})>)?(?:[^\n]{0,800}?Stages=(?P<stages>[0-9]{1,2}))?",
        "CUTLASS 2.x has no GEMM for this combination: Sm{arch}, instruction {shape}, stages {stages}",
        "device::Gemm picks a specialization of kernel::DefaultGemm by architecture, element types, layouts, instruction shape and stages, and there is none for these. Sm75 has 16x8x8 of half, 8x8x16 of 8 bits and 8x8x32 of 4 bits, with 2 stages; "
        "more stages (cp.async), 16x8x16, 16x8x32 and 16x8x64 begin with Sm80.",
        "Give arch::Sm80 with 3 stages or more and the larger instructions, or Sm75's own instruction with 2 stages; take all parameters of one unit test of CUTLASS (test/unit/gemm/device) and change one at a time",
        (
            'cutlass/gemm/device/gemm.h(249): error: incomplete type is not allowed detected during: instantiation of class "cutlass::gemm::device::Gemm<...>" [with ElementA_=cutlass::int4b_t, ArchTag_=cutlass::arch::Sm75, '
            "ThreadblockShape_=cutlass::gemm::GemmShape<128, 128, 256>, InstructionShape_=cutlass::gemm::GemmShape<16, 8, 64>, Stages=4",
            issue(436),
        ),
    ),
    known(
        "cpp.no-mma-instruction",
        r"incomplete type (?:\"[^\"\n]{0,200}\" )?is not allowed[^\n]{0,60}?\bMma ?<[^\n]{0,500}?\barch::(?P<operator>Op(?:MultiplyAdd|Xor|And)\w*)",
        "cutlass::arch::Mma has no instruction for these template arguments ({operator})",
        "arch::Mma is declared for each instruction that exists, by shape, element types, layouts and operator. On Sm75 half has GemmShape<16,8,8> with OpMultiplyAdd, 8-bit integers 8,8,16 and 4-bit ones 8,8,32, both with OpMultiplyAdd or OpMultiplyAddSaturate. Whoever changes the element type changes shape and operator with it.",
        "Give the shape and the operator of the element type: cutlass/arch/mma_sm75.h (mma_sm80.h) lists them; the accumulator of half is half_t or float",
        (
            "error: incomplete type is not allowed Mma<InstructionShape, 32, ElementInputA, cutlass::layout::RowMajor, ElementInputB, cutlass::layout::ColumnMajor, ElementAccumulator, cutlass::layout::RowMajor, cutlass::arch::OpMultiplyAddSaturate>",
            issue(1106),
        ),
    ),
    known(
        "cpp.canonical-port",
        r"Not a canonical (?P<unit>GMMA|UMMA)_(?P<major>K|MN) layout(?:: (?P<said>[^\n]{3,100}?)(?= N=| Traceback| File \"|$))?",
        "the shared layout is not one that {unit} reads as {major}-major: {said}",
        "A library that makes the descriptor in Python (TileLang and other ports of CuTe's make_gmma_desc) compares the shared tile with the canonical layouts. stride<1,0> is the stride between the units W of one row of a swizzle atom, and W "
        "is 1, 2, 4 or 8 units of 16 bytes. A tile whose contiguous extent is not a multiple of the atom (64, 32 or 16 elements of 2 bytes) is laid out without a swizzle, and fails.",
        "Take a tile whose contiguous extent is a multiple of the swizzle atom (N = 64, 32 or 16 for bf16), or pad it. `layoutcheck canonical LAYOUT --dtype TYPE` says whether tensor cores read a layout and names the nearest one that they do",
        (
            "AssertionError: Not a canonical GMMA_MN layout: stride<1,0>=13 != W=1",
            issue(2593, "tile-ai/tilelang"),
        ),
    ),
    known(
        "cpp.canonical-operand",
        r"Not a canonical (?P<unit>GMMA|UMMA)_(?P<major>K|MN) Layout|Unsupported layout swizzle"
        r"|Unrecognized MajorMode|SWIZZLE_128B_BASE32B is invalid",
        "the tensor core's descriptor cannot express the shared-memory layout",
        "wgmma (GMMA) and tcgen05 (UMMA) read operands through descriptors: whole swizzle atoms, K-major or MN-major, of "
        "16, 32, 64 or 128 bytes.",
        "Build the layout with tile_to_shape of GMMA::Layout_K_SW128_Atom<T> or its kin; `layoutcheck canonical LAYOUT "
        "--dtype TYPE` names the nearest layout",
        ('static assertion failed with "Not a canonical GMMA_K Layout: Expected stride failure."', HEADERS),
    ),
    known(
        "cpp.mma-tile",
        r"Tile_(?P<mode>[MNK]) must be a multiple of (?P<of>[0-9]+)|No eligible GMMA operator|Invalid M_MMA value"
        r"|M-mode size should be|N-mode size should be|Invalid TileShape_(?P<side>[MN])",
        "no tensor-core instruction has the tile's shape",
        "wgmma has M = 64 and N a multiple of 8 up to 256; tcgen05 has M = 64 or 128 a CTA; K is 32 bytes an instruction.",
        "Choose tile extents that are multiples of the instruction's",
        ('static assertion failed with "Tile_N must be a multiple of 8."', HEADERS),
    ),
    known(
        "cpp.mma-major",
        r"Major(?P<operand>[AB]) must be (?:GMMA|UMMA)::Major::K|must have K[- ]major(?: A)? layout"
        r"|This MMA does not support transpose|A from TMEM can't be transposed|B from SMEM requires non-transpose",
        "this tensor-core instruction reads the operand K-major only",
        "Only 16-bit types may be MN-major in wgmma; an operand in registers or tensor memory is K-major.",
        "Store the operand K-major (transpose it on the way in), or source it from shared memory with a 16-bit type",
        ('static assertion failed with "MajorA must be GMMA::Major::K for this config."', HEADERS),
    ),
    known(
        "cpp.mma-operands",
        r"Expected (?:tmem|desc registers|registers) in MMA_Atom::call|Accumulators? must be MMA-partitioned"
        r"|GMMA C and D (?:value_type|layouts) must match|TiledMMA must match partitioned ShapeMN"
        r"|MMA atom must (?:source|have|A operand)|Expected (?:post-partitioned shape|an MMA[\w-]* ?partitioned tensor)",
        "an operand of the MMA is in another memory space, or partitioned in another way, than the instruction needs",
        "Each operand must come from this MMA's partition_fragment_A, B or C (descriptors for shared memory, tensor memory "
        "for tcgen05 accumulators).",
        "Partition with the same TiledMMA, and retile_D copies into its fragments",
        ('static assertion failed with "Expected tmem in MMA_Atom::call"', HEADERS),
    ),
    known(
        "cpp.capacity",
        r"Smem usage is too high|SMEM usage exceeded capacity|Not enough SMEM or TMEM capacity|Requesting more TMEM than is available|smem reduction buffer not large enough",
        "the tile and its stages do not fit shared or tensor memory",
        "Stages times the bytes of A and B, and the epilogue's buffer, exceed what one block may have.",
        "Use fewer stages or a smaller tile",
        ('static assertion failed with "Not enough SMEM or TMEM capacity for selected tile size"', HEADERS),
    ),
    known(
        "cpp.no-instruction",
        r"Arch conditional MMA instruction used|must be compiled with .?sm_?[0-9]+|cutlass::arch::(?:ldsm|\w*[Mm]ma|Sparse\w+|Wmma)\b.{0,800}? not implemented|\bwithout (?P<macro>CUTE_ARCH_\w+)"
        r"|__PRETTY_FUNCTION__.? failed|/(?:cute|cutlass)/[\w./]+\.(?:hpp|h|inl|cuh):[0-9]+: .{0,600}?Assertion [`']?(?:0|false)\b",
        "the kernel was compiled for an architecture without this instruction",
        "CUTE_ARCH_* guards remove the instruction if -gencode names an older architecture, one without the suffix a (sm_90 instead of "
        "sm_90a), or another family's. clang as the CUDA compiler lacks some that nvcc has (wmma: NVIDIA/cutlass#2006).",
        "Compile for the architecture that the instruction's or the macro's name has, if it is the GPU's: -gencode "
        "arch=compute_89,code=sm_89 for SM89, and with the suffix a from SM90 on, arch=compute_90a,code=sm_90a",
        (
            "void cutlass::arch::ldsm(cutlass::Array<unsigned int, MatrixCount, true> &, const void *) [with Layout = "
            "cutlass::layout::RowMajor; int MatrixCount = 4] not implemented",
            issue(1610),
        ),
        rule="LC108",
    ),
    known(
        "cpp.fragment-size",
        r"size\(r(?P<operand>[ABCD])\) == Int<RegNum[ABCD]>",
        "the fragment of {operand} holds another number of values than one instruction takes",
        "Mode 0 of a fragment is what one MMA takes from a thread: m16n8k16 of 16 bits takes 8 values of A, 4 of B and 4 of C.",
        "Make it with this MMA: thr_mma.partition_fragment_{operand}(tensor), or make_tensor with a mode 0 of that size; the layouts of the text "
        "stand below",
        (
            "mma_traits.hpp(141): error: static assertion failed static_assert(decltype(size(rA) == Int<RegNumA>{})::value);",
            HEADERS,
        ),
        instead_of=("cpp.bare-assertion",),
    ),
    known(
        "cpp.mma-types",
        r"static.assert[^\n]{0,300}?(?:[\"\']|: )(?P<said>[\w ]{0,60}supports (?:types with leq )?[0-9]+ ?bit types|Unknown type for \w+|No MMA matches[^\"\n]{0,80}|\w* ?result type can only be[^\"\n]{0,40}"
        r"|[Ss]caling factor vector size[^\"\n]{0,80}|[\w ]{0,60}Vector size can only be[^\"\n]{0,60}|Only supports 16bit base types|MMA_Traits not implemented for this MMA_Operation)",
        "no tensor-core instruction has these operand types: {said}",
        "Each instruction takes a few element types, and block scales of one vector size: NVFP4 (e2m1, ue4m3) 16, MXFP4 and MXFP8 (ue8m0) 32.",
        "Choose the MMA by its operand types (F16BF16, TF32, F8F6F4, S8, MXF8F6F4, MXF4NVF4); `layoutcheck numerics units --arch ARCH` lists those of an architecture",
        ('error: static assertion failed with "SM100_MMA_F16BF16_SS supports 16bit types"', HEADERS),
    ),
    known(
        "cpp.generic-architecture",
        r"[Cc]ompiled for the generic architecture|utilizing[\s#>|*]*family-specific[\s#>|*]*features|[Pp]lease compile for sm\w{2,5}[af] architecture|requires? (?:an? )?(?:arch(?:itecture)?|family)-(?:specific|accelerated|conditional) (?:target|architecture|features?)",
        "the target is the generic architecture, and the code uses features of one family or GPU",
        "Instructions such as tcgen05, block-scaled MMA and some conversions exist for a family (sm_100f, sm_103f, sm_120f) or one GPU (sm_100a, sm_121a), not for plain sm_100 or sm_120.",
        "Build with the suffix: -gencode arch=compute_100f,code=sm_100f (nvcc 12.9 or newer) or 100a; CMAKE_CUDA_ARCHITECTURES=100f, TORCH_CUDA_ARCH_LIST='10.0a', NVTE_CUDA_ARCHS of Transformer Engine",
        (
            'error: static assertion failed with "Compiled for the generic architecture, while utilizing family-specific features. Please compile for smXXXf architecture instead of smXXX architecture."',
            "Transformer Engine",
        ),
        instead_of=("cpp.no-instruction",),
    ),
    known(
        "cpp.thread-map",
        r"ThreadMap::(?:Iterations::)?k\w+ must be > ?[0-9]|Iteration Count (?:Row|Column) must be|Accessing too many elements per access|Vectors implied by the thread map must be divisible by the access type|(?:ThreadblockShape|Shape|[Tt]ile|thread ?map)[\w ':]{0,60}(?:divisible|divide)[\w ':]{0,40}(?:warp ?raked|thread ?map|warp arrangement|access|kElementsPerAccess)"
        r"|Number of iterations must be (?:greater|non-zero|at least)[\w ]{0,20}|ShapeInAccesses must be divisible by WarpThreadArrangement|kElementsPerAccess (?:must|should)[\w ]{0,40}",
        "an iterator of CUTLASS 2.x accesses more elements at once than its thread map gives",
        "AlignmentA, AlignmentB or the epilogue's count sets the width of one access. The tile divided among the threads (the thread map) must have that many adjacent elements for each thread; a tile that is small, or whose contiguous mode is the other one, has fewer.",
        "Set the alignment of that operand to what the thread map has (1 for f64 and for an operand read across its contiguous mode), or take a larger threadblock tile or fewer warps. Of an epilogue (kColumn must be > 0) the tile's N is too narrow for all threads, or the warps' K is not the block's",
        (
            'include/cutlass/transform/threadblock/predicated_tile_access_iterator.h(356): error: static assertion failed with "Vectors implied by the thread map must be divisible by the access type."',
            issue(922),
        ),
    ),
    known(
        "cpp.no-traits",
        r"(?:class|struct) [\"'](?:cute::)?(?P<traits>(?:MMA|Copy)_Traits<[^\"']{1,120}>)[\"'] has no member|implicit instantiation of undefined template '(?:cute::)?(?P<undefined>(?:MMA|Copy)_Traits<[^']{1,120}>)'"
        r"|No (?:Copy|MMA)_Traits|incomplete type [\"'](?:cute::)?(?P<incomplete>(?:MMA|Copy)_Traits<[^\"']{1,120}>|cutlass::(?:\w+::)*Default\w+)",
        "CUTLASS has no specialisation for these arguments: {traits}{undefined}{incomplete}",
        "Each instruction's layouts are in a specialisation of Copy_Traits or MMA_Traits, and defaults of the 2.x kernels in "
        "one for each architecture. There is none for these template arguments in this version, or its header is not included.",
        "Include the header of its architecture (cute/atom/mma_traits_sm100.hpp and its kin), or use an instruction that has traits",
        (
            'error: class "cute::MMA_Traits<cute::SM100_MMA_F8F6F4_2x1SM_SS>" has no member "ValTypeA"',
            issue(3207),
        ),
    ),
    known(
        "cpp.no-default",
        r"incomplete type (?:\"[^\"\n]{0,200}\" )?is not allowed(?=.{0,200}?\b(?P<what>Default(?:Gemm|Mma|Conv|Gemv|Epilogue|Symm|Trmm|Rank)\w*)<)",
        "CUTLASS has no {what} for this combination of template arguments",
        "The default configurations of 2.x are specialisations: one for each pair of operator class and architecture, with the element types, layouts, alignments and instruction shape that it has an instruction for. OpClassSimt takes GemmShape<1, 1, 1> as instruction shape; OpClassTensorOp the shapes of its architecture (16x8x16 for 16 bits on Sm80, 8x8x4 for f64). "
        "No specialisation has these.",
        "Take all of operator class, architecture, instruction shape and alignments from one unit test of CUTLASS (test/unit/gemm/device) with the same element types, and change one at a time",
        (
            "default_gemm_grouped.h(214): error: incomplete type is not allowed using DefaultGemmKernel = typename kernel::DefaultGemm< ElementA",
            issue(1973),
        ),
        instead_of=("cpp.no-traits",),
    ),
    known(
        "cpp.no-builder",
        r"Could not build a collective(?: \w+)? for given parameters|no matching collective builder",
        "CUTLASS has no collective for these types, layouts and schedules",
        "CollectiveBuilder is specialised by architecture, operand types, alignment and schedule; this combination has no "
        "specialisation. A schedule of one architecture (…Sm100) fits no other, and most architecture tags have no builders of their own: sm_101, sm_103 and sm_110 take those of arch::Sm100, "
        "sm_121 those of Sm120.",
        "Use KernelScheduleAuto and the architecture tag of your GPU, alignments of 16 bytes, and types that a builder of "
        "that architecture names",
        (
            'static_assert failed with "Could not build a collective for given parameters."',
            "https://github.com/guoqingbao/xinfer/pull/302",
        ),
    ),
    known(
        "cpp.problem-refused",
        r"(?:[Gg]ot )?cutlass error: (?P<said>Error (?!Internal|Misaligned)[\w ]{3,40}?|Invalid status)(?= ?at:|$|[.\n])|(?i:cutlass)[^\n]{0,60}?(?P<wrapped>cannot implement|Error (?:Invalid (?:Data Type|Layout|Problem)|Not Supported|Workspace Null|Architecture Mismatch|Insufficient Driver))|(?:RuntimeError|what\(\)): (?P<bare>Error (?:Misaligned Operand|Invalid (?:Data Type|Layout|Problem)|Not Supported|Workspace Null|Architecture Mismatch|Insufficient Driver))\b|cutlass\w*[^\n]{0,120}, (?P<other>Invalid status)|\bkError(?P<status>NotSupported|InvalidProblem|WorkspaceNull|ArchMismatch|InvalidLayout)",
        "CUTLASS refuses the problem: {said}{wrapped}{bare}{other}{status}",
        "can_implement or initialize compares extents, strides, alignments, workspace and architecture with what the kernel was "
        "built for. Not Supported is also what a kernel for another architecture answers, and cutlass::library (its Handle, the profiler) where it was built without a kernel for these types, layouts and alignments (CUTLASS_LIBRARY_KERNELS).",
        "Call gemm.can_implement(arguments) with CUTLASS_DEBUG_TRACE_LEVEL=1, which prints the test that fails",
        ("Got cutlass error: Error Not Supported at: 345", "CUTLASS examples"),
    ),
    known(
        "cpp.can-implement",
        r"CAN IMPLEMENT: (?P<said>(?!Ignoring)[^\n]{5,160}?)(?=\.(?: |$)|$)",
        "CUTLASS refuses the problem: {said}",
        "can_implement tests extents, strides and alignments. TMA needs every stride but the contiguous one, and every address, to be a "
        "multiple of 16 bytes: with 8-bit elements a contiguous extent that is a multiple of 16.",
        "Pad the contiguous extent, take the other major, or a schedule without TMA for that operand (an epilogue without shared memory for a small M)",
        (
            "sm90_epilogue_tma_warpspecialized.hpp:325 CAN IMPLEMENT: Problem Size doesn't meet the minimum alignment requirements for TMA.",
            issue(1523),
        ),
        rule="LC240",
    ),
    known(
        "cpp.launch-refused",
        r"Failed to launch the CUTLASS kernel|Failed to query occupancy|(?i:cutlass)[^\n]{0,60}\bError Internal\b|(?i:\binternal error\b[^\n]{0,40}\bcutlass\b|\bcutlass\b[^\n]{0,300}\binternal error\b)|\bkErrorInternal\b|(?:RuntimeError|what\(\)): (?:Error Internal|Invalid status)\b|Failed to initialize cutlass|(?i:cutlass)[^\n]{0,60}\b(?:initiali[sz](?:e|ation)|launch|run) (?:has )?failed|cluster_launch\.hpp(?!:[0-9]+: (?!invalid argument))",
        "CUTLASS cannot launch the kernel",
        "initialize or the launch fails, most often because the kernel's shared memory exceeds what the GPU allows a block "
        "(99 KiB on sm_120 and sm_121), or because the kernel was built for another architecture (example 77 for sm_100 on sm_120).",
        "Print sizeof(SharedStorage) and cudaDevAttrMaxSharedMemoryPerBlockOptin; build for this GPU, with fewer stages or a smaller tile",
        (
            "Failed to launch the CUTLASS kernel. Last CUDA error is: no error",
            issue(2342, "flashinfer-ai/flashinfer"),
        ),
        instead_of=("cuda.invalid-launch",),
    ),
)
