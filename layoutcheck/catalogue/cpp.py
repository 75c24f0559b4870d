"""Static assertions of CuTe and CUTLASS in C++: what each says about layouts, copies and operands.

Wordings of CUTLASS 4.x headers (`include/cute`, `include/cutlass`) unless a report is cited.
"""

from __future__ import annotations

import re

from layoutcheck.catalogue.entry import issue, known

HEADERS = "CUTLASS 4 headers"
_CHECK = "`layoutcheck explain SRC DST --atom ATOM` with both layouts shows the elements of one instruction"

ROOMS = (
    (re.compile(r"/builders/|collective_builder|tile_scheduler|/kernel/"),
     "The builder takes tile shape, cluster, element types, alignments and schedule together: start from the defaults (auto) of the architecture"),
    (re.compile(r"epilogue/"),
     "The epilogue takes an epilogue tile that divides the CTA tile, C and D in global memory, and a copy for each of its steps"),
    (re.compile(r"gemm/collective/|transform/collective"),
     "The mainloop takes A as (M,K,L) and B as (N,K,L) in global memory, shared layout atoms that divide the tile, and copy atoms of its own kind"),
    (re.compile(r"/arch/mma|/atom/mma|mma_traits|/warp/|mma_"),
     "The instruction fixes its element types, its tile and where each operand lies; take the MMA that is made for them"),
    (re.compile(r"/copy|copy_traits|copy_atom"),
     "The copy atom fixes the memory spaces, the width and the values of one instruction; compare them with both tensors"),
    (re.compile(r"numeric_|float|bfloat|half|integer|exmy"),
     "Convert through a type that both sides support, or in vectors of the width that the converter has"),
    (re.compile(r"layout|tensor|int_tuple|swizzle|algorithm/|stride|tuple"),
     "Print both layouts with cute::print before the line: extents, nesting and static (_8) against run-time integers"),
)  # fmt: skip


def helps(path: str) -> str:
    """What the code of a header takes, by the header's path."""
    return next(
        (said for words, said in ROOMS if words.search(path)), "Read the condition in the header's line"
    )


ENTRIES = (
    known(
        "cpp.copy-does-not-vectorize",
        r"Copy_Traits: (?P<operand>src|dst) failed to vectorize into registers"
        r"|In CopyAtom, (?P<side>src|dst) layout doesn't vectorize into registers",
        "the {operand}{side} elements of one instruction are not adjacent, or their number differs from what it moves",
        "The atom moves a fixed number of adjacent elements. The value layout gives a thread fewer of them, or the "
        "layout puts them apart (a row-major view copied along columns). uint128_t takes 8 values of 16 bits.",
        "Give the tiled copy as many values along the contiguous mode as the atom moves (Layout<Shape<_1,_8>> for uint128_t of half_t), use the same major on both sides, or use a narrower atom. "
        + _CHECK,
        (
            'static assertion failed with "Copy_Traits: src failed to vectorize into registers. Layout is '
            'incompatible with this CopyOp."',
            issue(1905),
        ),
        (
            "static assertion failed with \"In CopyAtom, dst layout doesn't vectorize into registers. This dst "
            'layout is incompatible with this tiled copy."',
            HEADERS,
        ),
        rule="LC102",
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
        r"Static shape_div failure|(?:Shape |Stride )?Divisibility Condition|Static safe_div requires t % u == 0"
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
        (
            'int_tuple.hpp(408): error: static assertion failed with "Divisibility Condition"',
            "https://github.com/NVIDIA/cutlass/pull/2946",
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
        r"(?P<atom>\w*SmemLayoutAtom\w*) must evenly divide(?: the)? tile"
        r"|BLK_(?P<mode>K|MN)0 must be a multiple of size<[0-9]>\(GMMA::Layout_\w+_Atom"
        r"|SmemLayout\w* K must be",
        "the shared-memory layout atom does not divide the tile",
        "Operands of wgmma and tcgen05 lie in whole swizzle atoms: at least 8 rows of 16 bytes (INTER), at most 8 rows of "
        "128 bytes (SW128).",
        "Choose a tile extent that is a multiple of the atom's, or a narrower atom (INTER, SW32, SW64)",
        ('static assertion failed with "SmemLayoutAtom must evenly divide tile shape."', HEADERS),
        (
            'sm90_common.inl(321): error: static assertion failed with "BLK_K0 must be a multiple of '
            'size<1>(GMMA::Layout_K_INTER_Atom<ElementType>{})"',
            issue(3646),
        ),
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
        ('static assertion failed with "cp.async sizeof(TS) is not supported"', HEADERS),
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
        (
            'error: static assertion failed with "CopyAtom: Src/Dst partitioning does not match the instruction '
            'requirement."',
            HEADERS,
        ),
        rule="LC105",
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
        ('static assertion failed with "Not a canonical UMMA_MN Layout: Expected stride failure."', HEADERS),
        ('static_assert failed "Unsupported layout swizzle"', HEADERS),
    ),
    known(
        "cpp.mma-tile",
        r"Tile_(?P<mode>[MNK]) must be a multiple of (?P<of>[0-9]+)|No eligible GMMA operator|Invalid M_MMA value"
        r"|M-mode size should be|N-mode size should be|Invalid TileShape_(?P<side>[MN])",
        "no tensor-core instruction has the tile's shape",
        "wgmma has M = 64 and N a multiple of 8 up to 256; tcgen05 has M = 64 or 128 a CTA; K is 32 bytes an instruction.",
        "Choose tile extents that are multiples of the instruction's",
        ('static assertion failed with "Tile_N must be a multiple of 8."', HEADERS),
        ('static assertion failed with "No eligible GMMA operator for request configuration."', HEADERS),
    ),
    known(
        "cpp.mma-major",
        r"Major(?P<operand>[AB]) must be (?:GMMA|UMMA)::Major::K|must have K[- ]major(?: A)? layout"
        r"|This MMA does not support transpose|A from TMEM can't be transposed|B from SMEM requires non-transpose",
        "this tensor-core instruction reads the operand K-major only",
        "Only 16-bit types may be MN-major in wgmma; an operand in registers or tensor memory is K-major.",
        "Store the operand K-major (transpose it on the way in), or source it from shared memory with a 16-bit type",
        ('static assertion failed with "MajorA must be GMMA::Major::K for this config."', HEADERS),
        ('static assertion failed with "Register source operand A must have K major layout."', HEADERS),
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
        ('static assertion failed with "Accumulator must be MMA-partitioned: (MMA, MMA_M, MMA_N)"', HEADERS),
    ),
    known(
        "cpp.tma",
        r"Unsupported TMA|detail::is_aligned<|Should meet TMA alignment requirement"
        r"|Expected (?:smem src|gmem dst) for SM90_TMA_STORE|requires the destination be shared memory"
        r"|TMA requires CTA_Tile and SLayout|Tensor must point to GPU global memory|Expected at least 128-bits for BLKCP",
        "TMA cannot move this tile",
        "A TMA tile has at most five modes, each of at most 256 elements, strides that are multiples of 16 bytes, and a "
        "shared layout whose contiguous mode is the tensor's.",
        "Give make_tma_copy the shared layout of one tile (a stage sliced off) and a global tensor whose contiguous mode "
        "is the same; `layoutcheck explain GMEM SMEM --atom tma_load` checks box, swizzle and strides",
        ('static assertion failed with "Unsupported TMA"', HEADERS),
    ),
    known(
        "cpp.algebra",
        r"Non-injective Layout detected in complement|Shape and Stride must be congruent|Mismatched tuple_size"
        r"|Too many modes in tiler|Index out of range|Left inverse divisibility|Require(?:s|d)? (?:Swizzle )?offset == 0|Requires pow2 shape\*stride",
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
        "cpp.capacity",
        r"Smem usage is too high|SMEM usage exceeded capacity|Not enough SMEM or TMEM capacity|Requesting more TMEM than is available|smem reduction buffer not large enough",
        "the tile and its stages do not fit shared or tensor memory",
        "Stages times the bytes of A and B, and the epilogue's buffer, exceed what one block may have.",
        "Use fewer stages or a smaller tile",
        ('static assertion failed with "Not enough SMEM or TMEM capacity for selected tile size"', HEADERS),
    ),
    known(
        "cpp.no-instruction",
        r"Arch conditional MMA instruction used|must be compiled with .?sm_?[0-9]+|cutlass::arch::ldsm.{0,300}not implemented|Attempting to use .{1,80} without (?P<macro>CUTE_ARCH_\w+)"
        r"|__PRETTY_FUNCTION__.? failed",
        "the kernel was compiled for an architecture without this instruction",
        "CUTE_ARCH_* guards remove the instruction if -gencode names an older architecture, or one without the "
        "suffix a (sm_90 instead of sm_90a).",
        "Compile with the GPU's own target: -gencode arch=compute_90a,code=sm_90a",
        (
            "void cutlass::arch::ldsm(cutlass::Array<unsigned int, MatrixCount, true> &, const void *) [with Layout = "
            "cutlass::layout::RowMajor; int MatrixCount = 4] not implemented",
            issue(1610),
        ),
        rule="LC108",
    ),
    known(
        "cpp.no-overload",
        r"no (?:instance of|matching) (?:overloaded )?function(?: template)?(?: for call to)? [\"'](?P<what>[\w:]{1,80})[\"'](?: matches the argument list)?",
        "no form of {what} takes these arguments",
        "The arguments' types do not fit: a tensor of another rank, a tiled copy where a thread's slice is meant (or the "
        "reverse), a tuple of other length, or a namespace that hides cute's function of the same name.",
        "Compare the argument types in the text with the declaration. In a namespace of your own call cute::copy and its kin by their full names",
        (
            'error: no instance of function template "flash::copy" matches the argument list',
            issue(428, "Dao-AILab/flash-attention"),
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
        (
            'gemm.h(213): error: incomplete type "cutlass::gemm::device::DefaultGemmConfiguration<MMAOp, SmArch, ...>" is not allowed',
            issue(2461),
        ),
    ),
    known(
        "cpp.undefined",
        r"error(?: C[0-9]+)?: (?=.{0,3000}?\bcu(?:te|tlass)\b)(?:identifier \"(?P<what>[\w:]{1,80})\" is undefined|use of undeclared identifier '(?P<other>[\w:]{1,80})'"
        r"|namespace \"(?P<space>cu\w+)\" has no member \"(?P<member>\w+)\"|'(?P<third>[\w:]{1,80})' (?:was not declared|is not a member of))",
        "{what}{other}{third}{space} {member} is not declared here",
        "The header that declares it is not included, the namespace is not open, or this version of CUTLASS has another name "
        "for it. Errors below this one (incomplete type, error-type) follow from it.",
        "Include <cute/tensor.hpp> (and the atom's own header) before its use, with `using namespace cute;`, and compare the "
        "program's CUTLASS version with the headers on the include path",
        (
            'src/main.cu(104): error: identifier "X" is undefined Tensor gA = local_tile(mA, cta_tiler, cta_coord, Step<_1, X,_1>{}); '
            "./cutlass/include/cute/container/tuple.hpp(175): error: incomplete type is not allowed",
            issue(1854),
        ),
        ('error: namespace "cute" has no member "SM90_TMA_LOAD"', "nvcc"),
    ),
    known(
        "cpp.template-arguments",
        r"error(?: C[0-9]+)?: too (?:few|many) (?:template )?arguments (?:for|to) (?:class |alias |function )?template \"?(?P<what>(?:cutlass|cute)::[\w:]+)",
        "{what} has other template parameters in this version of CUTLASS",
        "Parameters are added and removed between versions; the program follows another one.",
        "Compare with the class in the headers at hand, or check out the version that the program was written for",
        (
            '01_gemm_3.0.cu(51): error: too few arguments for class template "cutlass::epilogue::collective::DefaultEpilogue"',
            issue(1589),
        ),
    ),
    known(
        "cpp.overload",
        r"error(?: C[0-9]+)?: (?P<said>(?:more than one (?:instance|operator)|no suitable (?:user-defined )?conversion|call to '[\w:]+' is ambiguous"
        r"|no matching member function|function \"[^\"]{1,200}\" cannot be called|calling a __host__ function|expression must have a constant value)"
        r"[^\n]{0,200}?)(?= detected during| note:| \^| [0-9]+ \||$)",
        "{said}",
        "The call's argument types fit no declaration, or several: a static integer (Int<8>{}) where a run-time one is given or the "
        "reverse, a composed layout where a plain one is taken, or a function of another namespace with the same name.",
        "Write the full name (cute::copy), print the types with cute::print_type, and compare them with the declaration",
        (
            'error: more than one instance of overloaded function "cute::print" matches the argument list',
            "nvcc",
        ),
        general=True,
    ),
    known(
        "cpp.problem-refused",
        r"(?:[Gg]ot )?cutlass error: (?P<said>Error (?!Internal|Misaligned)[\w ]{3,40}?)(?= at:|$|[.\n])|Status::kError(?P<status>NotSupported|InvalidProblem|WorkspaceNull|ArchMismatch|InvalidLayout)",
        "CUTLASS refuses the problem: {said}{status}",
        "can_implement or initialize compares extents, strides, alignments, workspace and architecture with what the kernel was "
        "built for. Not Supported is also what a kernel for another architecture answers.",
        "Call gemm.can_implement(arguments) with CUTLASS_DEBUG_TRACE_LEVEL=1, which prints the test that fails",
        ("Got cutlass error: Error Not Supported at: 345", "CUTLASS examples"),
    ),
    known(
        "cpp.assertion",
        r"/(?:cute|cutlass)/[\w./]+\.(?:hpp|h|inl|cuh):[0-9]+: .{0,400}?Assertion [`'](?P<said>[^'`]{1,160})' failed",
        "an assertion of CuTe fails at run time: {said}",
        "Sizes and shapes that are known only at run time are compared there instead of by the compiler.",
        "The line is behind the path, block and thread are before it. " + _CHECK,
        ("/x/include/cute/layout.hpp:123: Assertion `size(a) == size(b)' failed.", HEADERS),
        level="wrong",
    ),
    known(
        "cpp.mma-types",
        r"static.assert[^\n]{0,300}?(?P<said>[\w ]*supports (?:types with leq )?[0-9]+ ?bit types|Unknown type for \w+|No MMA matches[^\"\n]{0,80}|\w* ?result type can only be[^\"\n]{0,40}"
        r"|[Ss]caling factor vector size[^\"\n]{0,80}|[\w ]*Vector size can only be[^\"\n]{0,60}|Only supports 16bit base types|MMA_Traits not implemented for this MMA_Operation)",
        "no tensor-core instruction has these operand types: {said}",
        "Each instruction takes a few element types, and block scales of one vector size: NVFP4 (e2m1, ue4m3) 16, MXFP4 and MXFP8 (ue8m0) 32.",
        "Choose the MMA by its operand types (F16BF16, TF32, F8F6F4, S8, MXF8F6F4, MXF4NVF4); `layoutcheck numerics units --arch ARCH` lists those of an architecture",
        ('error: static assertion failed with "SM100_MMA_F16BF16_SS supports 16bit types"', HEADERS),
    ),
    known(
        "cpp.memory-space",
        r"static.assert[^\n]{0,300}?(?P<said>[\w ]*(?:[Ee]xpect(?:ed|s)|can only be constructed on|must be) (?:an? )?(?:shared |global )?(?:gmem|smem|tmem|rmem|TMEM|shared|global)(?:_desc)?\b[^\"\n]{0,60})",
        "a tensor is in another memory space than the operation takes: {said}",
        "The memory space is in the pointer's type: make_gmem_ptr, make_smem_ptr, make_tmem_ptr. A raw pointer has none.",
        "Tag the pointer where the tensor is made, and pass shared tensors (not descriptors or registers) where smem is expected",
        ('error: static assertion failed with "UMMA Descriptors can only be constructed on smem."', HEADERS),
        general=True,
        rule="LC104",
    ),
    known(
        "cpp.rank",
        r"static.assert[^\n]{0,300}?(?P<said>(?:[Ee]xpected|[Rr]equires?)[\w ,-]* rank-?[0-9]?\b[^\"\n]{0,60}|Rank of [^\"\n]{3,80}|[\w ]*(?:requires|only supports) [0-9]D tensors?|Need equal rank[^\"\n]{0,60}|[^\"\n]{0,60}rank-[0-9] tensors?)",
        "a tensor or layout has another number of modes: {said}",
        "A copy or MMA takes a tensor with its own number of modes: instruction values first, then one mode for each mode of the tile. A stage or k mode that is left on, or a slice too many, changes it.",
        "Print the layout (cute::print), slice the extra mode off, tensor(_, _, stage), or group modes (group_modes<0,2>)",
        ('error: static assertion failed with "Rank of tensor to be partitioned too small."', issue(1284)),
        general=True,
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
        "cpp.no-builder",
        r"Could not build a collective for given parameters|no matching collective builder",
        "CUTLASS has no collective for these types, layouts and schedules",
        "CollectiveBuilder is specialised by architecture, operand types, alignment and schedule; this combination has no "
        "specialisation. A schedule of one architecture (…Sm100) fits no other.",
        "Use KernelScheduleAuto and the architecture tag of your GPU, alignments of 16 bytes, and types that a builder of "
        "that architecture names",
        (
            'static_assert failed with "Could not build a collective for given parameters."',
            "https://github.com/guoqingbao/xinfer/pull/302",
        ),
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
        "cpp.launch-refused",
        r"Failed to launch the CUTLASS kernel|cutlass error: Error Internal|Status::kErrorInternal|Failed to initialize cutlass|cluster_launch\.hpp",
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
    known(
        "cpp.other-assertion",
        r"(?:/(?P<op>(?:cute|cutlass)/[\w./]+\.(?:hpp|h|inl|cuh))(?:\([0-9]+\)|:[0-9]+:[0-9]+): (?:fatal )?error: static.assert\w*[^\"']{0,200}"
        r"|error: static.assert\w* failed[^\"']{0,200}(?=.{0,3000}?\bcu(?:te|tlass)\b))[\"'](?P<said>[^\"'\n]{1,200})[\"']"
        r"|\bstatic_assert\((?=[^\n]{0,300}?\b(?:rank|size|is_static|cute|cosize|depth|shape|stride|\w*(?:Layout|Shape|Stride|Tile|Tensor|Copy|MMA|Mma)\w*)\b)[^\"\n]{1,300}\"(?P<source>[^\"\n]{1,200})\"",
        "{said}{source}",
        "{cause} It is a static assertion of CuTe or CUTLASS about its template arguments.",
        "{help}. The innermost instantiation in your own file has the layouts and types that cause it. "
        + _CHECK,
        (
            "/home/u/cutlass/include/cutlass/epilogue/collective/builders/sm120_builder.inl(158): error: static "
            'assertion failed with "CTA tile for FP6 ElementD must have a contiguous extent that is a multiple of 128."',
            issue(3211),
        ),
        general=True,
    ),
    known(
        "cpp.other-error",
        r"(?:\b(?:cute|cutlass|flash_?attn?|csrc)[\w./\\+-]*\.(?:hpp|h|inl|cuh|cu)(?:\([0-9]+(?:,[0-9]+)?\)|:[0-9]+:[0-9]+): (?:fatal )?error(?: C[0-9]+)?"
        r"|(?:\([0-9]+(?:,[0-9]+)?\)|:[0-9]+:[0-9]+) ?: (?:fatal )?error(?: C[0-9]+)?(?=.{0,3000}?\b(?:cute|cutlass)::))"
        r": (?P<said>(?!static.assert)(?:[^\n]{3,160}?(?:is undefined|is not allowed|is ambiguous|the argument list|has no member \"\w+\"|declared in this scope)|[^\n]{3,160}?(?= detected during| note:| \^| [0-9]+ \||$)|[^\n]{3,160}))",
        "{said}",
        "A template of CuTe or CUTLASS does not compile for its template arguments.",
        "Read the innermost instantiation in your own file: the layouts there are the ones that cause the error. "
        + _CHECK,
        ("/include/cute/layout.hpp(1152): error: incomplete type is not allowed", "nvcc"),
        general=True,
    ),
    known(
        "cpp.instantiation",
        r"instantiation of (?:function |class )?[\"'](?:auto |void |decltype\(auto\) )?(?=[^\"']{0,4000}?\bcute::)(?P<what>[\w:]{1,60})",
        "the template {what} does not compile for its arguments",
        "The text shows the instantiations and not the error itself, which stands above them.",
        "Read the innermost instantiation in your own file: the layouts there are the ones that cause the error. "
        + _CHECK,
        ('instantiation of "auto cute::composition(const cute::Layout<LShape, LStride> &)"', issue(3393)),
        general=True,
    ),
)
