"""What a C++ compiler says where no assertion of CuTe speaks: names, overloads, template arguments."""

from __future__ import annotations

import re
from typing import NamedTuple

from layoutcheck.catalogue import refused
from layoutcheck.catalogue.entry import issue, known

HEADERS = "CUTLASS 4 headers"
CHECK = "`layoutcheck explain SRC DST --atom ATOM` with both layouts shows the elements of one instruction"


class Room(NamedTuple):
    """A part of CUTLASS, by the path of its headers: what it asks of its template arguments, and what helps."""

    path: re.Pattern[str]
    asks: str
    helps: str


def _room(path: str, helps: str, asks: str = "") -> Room:
    return Room(re.compile(path), asks, helps)


ROOMS = (
    _room(r"mixed_input|mixed_dtype",
          "Give the narrow operand as the one that is converted, K-major, with scales and zeros in the types, layout and group size of the example of this architecture",
          "A GEMM of mixed types converts one operand on its way: it takes certain pairs of types, the narrow one K-major, and scales of one layout for whole groups along K."),
    _room(r"/builders/|collective_builder|tile_scheduler|collective/collective_\w+\.hpp|dispatch_policy",
          "The builder takes tile shape, cluster, element types, alignments and schedule together: start from the defaults (auto) of the architecture, and change one at a time",
          "The collective builder has one implementation for each combination that it knows of architecture, operand types, majors, alignment, tile shape and schedule. This combination is not one of them."),
    _room(r"wmma_sm|/arch/wmma", "Take a listed shape, or mma.sync (OpClassTensorOp) instead of wmma",
          "wmma has a few shapes for each type of operand."),
    _room(r"conv/", "Take the iterator algorithm (kOptimized, kAnalytic), alignment and types of an example of the same convolution",
          "An implicit GEMM of a convolution has iterators for certain strides, filter sizes, alignments and types."),
    _room(r"epilogue/(?:threadblock|warp|thread)/",
          "Set the epilogue's elements for each access (128 / bits of the output) so that threads x elements fit a row of the warp's tile; threadblock and warp shapes of the default configuration of this architecture fit",
          "An epilogue of CUTLASS 2.x divides the warps' accumulators among its threads: elements for each access, the warp's tile and the threadblock's must divide one another."),
    _room(r"epilogue/",
          "The epilogue takes an epilogue tile that divides the CTA tile, C and D in global memory, and a copy for each of its steps",
          "A collective epilogue takes C and D with strides (M,N,L), an epilogue tile that divides the CTA tile, accumulators in the partition of its mainloop, and a schedule that its fusion has."),
    _room(r"gemm/kernel/.*(?:sm90|sm100|sm120|universal)",
          "Give problem shapes <M,N,K,L>, strides of rank 3, and a scheduler and warpgroup count that the kernel's schedule names; the examples of the architecture have one for each",
          "A kernel of CUTLASS 3.x takes problem shapes (M,N,K) or (M,N,K,L), strides (M,K,L), (N,K,L), (M,N,L), and the tile scheduler and number of warpgroups of its schedule."),
    _room(r"gemm/collective/|transform/collective",
          "The mainloop takes A as (M,K,L) and B as (N,K,L) in global memory, shared layout atoms that divide the tile, and copy atoms of its own kind",
          "A collective mainloop takes tile, shared layout atoms, copies and MMA that fit each other: atoms of rank 2 that divide the tile, two stages or more, and operands in the majors and types that its instruction reads."),
    _room(r"gemm/(?:warp|thread|threadblock|device|kernel)/|transform/|/layout/tensor_op|layout/pitch",
          "Take threadblock, warp and instruction shapes of the default configuration of this architecture (DefaultGemmConfiguration), and change one at a time; alignments of 128 / bits of the element",
          "CUTLASS 2.x divides three shapes: the threadblock's by the warp's, the warp's by the instruction's, and each tile of memory by threads x elements for each access. Shapes, alignments and types must fit all three."),
    _room(r"/arch/mma|/atom/mma|mma_traits|/warp/|mma_",
          "The instruction fixes its element types, its tile and where each operand lies; take the MMA that is made for them",
          "An MMA atom takes fragments of its own types and modes, in the memory that its name says (SS, RS, TS)."),
    _room(r"/copy|copy_traits|copy_atom",
          "The copy atom fixes the memory spaces, the width and the values of one instruction; compare them with both tensors",
          "A copy atom takes tensors of its own element width in the memory spaces of its instruction."),
    _room(r"numeric_|float|bfloat|half|integer|exmy|subbyte",
          "Convert through a type that both sides support, or in vectors of the width that the converter has",
          "Conversions and narrow types work on whole vectors: a count of elements that fills bytes or registers."),
    _room(r"layout|tensor|int_tuple|swizzle|algorithm/|stride|tuple",
          "Print both layouts with cute::print before the line: extents, nesting and static (_8) against run-time integers"),
)  # fmt: skip
_VAGUE = (
    "choice",
    "argument",
    "size",
    "unhandled",
    "division",
    "static",
)  # kinds that say less than the part of CUTLASS does


def helps(path: str) -> str:
    """What the code of a header takes, by the header's path."""
    return next(
        (room.helps for room in ROOMS if room.path.search(path)), "Read the condition in the header's line"
    )


def cause(message: str, path: str) -> str:
    """Why an assertion of a header fails: by the kind of its message, and by what the header asks for."""
    kind = refused.kind(message)
    asks = next((room.asks for room in ROOMS if room.path.search(path)), "")
    if asks and (kind is None or kind.name in _VAGUE):
        return asks
    return " ".join(filter(None, (refused.cause(message), asks)))


ENTRIES = (
    known(
        "cpp.not-sliced",
        r"(?:class|struct|type) [\"']cute::(?P<whole>TiledCopy|TiledMMA)<.{0,1500}?has no member[\w ]* [\"'](?P<what>(?:partition|retile|make_fragment)\w*)|no member named '(?P<named>(?:partition_[SDABC]|retile_[SD]))' in 'cute::(?P<of>TiledCopy|TiledMMA)<",
        "{whole}{of} has no {what}{named}: one thread partitions, not the whole",
        "A tiled copy or MMA describes all threads; what partitions a tensor is the slice of one of them.",
        "auto thr = tiled.get_slice(threadIdx.x); then thr.{what}{named}(tensor)",
        (
            'k.cu(6): error: class "cute::TiledCopy<cute::Copy_Atom<cute::UniversalCopy<cute::uint128_t>, cutlass::half_t>, ...>" has no member "partition_S"',
            "nvcc 13.0",
        ),
        instead_of=("cpp.undefined",),
    ),
    known(
        "cpp.no-overload",
        r"(?!.{0,400}?argument types are: \(<error-type>)no (?:instance of|matching) (?:overloaded )?(?:member )?(?:function|constructor)(?: template)?(?: for call to| for initialization of)? [\"'](?P<what>(?:cute|cutlass)::[\w:~]{1,80}(?=[<(])|[\w:~]{1,80}(?=[\"']|[<(](?=[^\n]{0,600}\bcute::)))(?:[^\"'\n]{0,600}[\"'] matches the argument list)?"
        r"|function \"(?P<called>(?:cute|cutlass)::[\w:~]{1,100})(?=[<(])[^\n]{0,4000}?\" cannot be called with the given argument list",
        "no form of {what}{called} takes these arguments",
        "The arguments' types do not fit: a tensor of another rank, a tiled copy where a thread's slice is meant (or the "
        "reverse), a tuple of other length, fragments (Array<T, N>) of another size or type, or a namespace that hides cute's function of the same name. "
        "Where every line of the text is in CuTe's own headers, the compiler may be older than they need (nvcc 11 on Windows: NVIDIA/cutlass#1126).",
        "Compare the argument types in the text with the declaration. In a namespace of your own call cute::copy and its kin by their full names",
        (
            'error: no instance of function template "flash::copy" matches the argument list',
            issue(428, "Dao-AILab/flash-attention"),
        ),
    ),
    known(
        "cpp.get-of-a-class",
        r"no instance of (?:overloaded )?function(?: template)? \"cute::get\" matches the argument list argument types are: \((?:const )?(?P<type>(?!cute::|int|long|unsigned|auto|<)[\w:]+) ?&?\)",
        "cute::get is called on {type}, which is no tuple",
        "get<I> takes a cute::tuple, an array or an integer constant; {type} is a class of its own there. The problem shape of a GEMM is a tuple, that of a convolution (ConvProblemShape) and of a grouped GEMM is a class: "
        "a tile scheduler or a collective that was written for GEMMs (StreamKScheduler) does not take it.",
        "Leave the scheduler at its default (void), or take one that the examples of the same kind of kernel use; where CUTLASS should have the combination, report it to NVIDIA/cutlass",
        (
            'tuple_algorithms.hpp(494): error: no instance of overloaded function "cute::get" matches the argument list argument types are: (const ProblemShape)',
            issue(2679),
        ),
        instead_of=("cpp.no-overload",),
    ),
    known(
        "cpp.recast-ratio",
        r"(?:up|down)cast<(?:cute::)?R<(?P<from>[0-9]+), ?(?P<to>[0-9]+)>|recast_layout of a Swizzle needs a power-of-two ratio",
        "a swizzled layout is recast between types whose widths have no power of two between them ({from} and {to})",
        "A swizzle exchanges bits of the address: it can be counted in elements of another width only where one width is a power of two times the other. "
        "6-bit types beside 8-bit ones are not.",
        "Keep such types packed in bytes and recast the pointer to uint8_t, or take the swizzle off before the recast; layoutcheck.recast_layout shows both layouts",
        (
            "error: no matching function for call to 'upcast<cute::R<6, 8>::num>(<unresolved overloaded function type>)'",
            "https://github.com/NVIDIA/cutlass/pull/3460",
        ),
        instead_of=("cpp.no-overload",),
    ),
    known(
        "cpp.standard-of-msvc",
        r"namespace \"cutlass::platform\" has no member \"(?P<what>\w+_v)\"|'(?P<other>\w+_v)': is not a member of 'cutlass::platform'",
        "cutlass::platform::{what}{other} is hidden: the compiler is not in C++17 mode",
        "CUTLASS declares it only where __cplusplus says C++17 or later. MSVC keeps __cplusplus at C++98 unless it is told otherwise.",
        "Compile with -std=c++17, on Windows also -Xcompiler /Zc:__cplusplus (and -Xcompiler /std:c++17)",
        (
            'error: namespace "cutlass::platform" has no member "is_unsigned_v"',
            issue(1715, "Dao-AILab/flash-attention"),
        ),
        instead_of=("cpp.other-revision",),
    ),
    known(
        "cpp.other-revision",
        r"namespace \"(?P<space>(?:cutlass|cute)(?:::\w+)+)\" has no member \"(?P<what>\w+)\"|'(?P<member>\w+)' (?:is not|was not declared|: is not) (?:a member of|in) '(?P<of>(?:cutlass|cute)(?:::\w+)+)'|no (?:member|type) named '(?P<named>\w+)' in namespace '(?P<in>(?:cutlass|cute)(?:::\w+)*)'",
        "{space}{of}{in} of the CUTLASS at hand has no {what}{member}{named}",
        "The program was written for another revision of CUTLASS: schedules, policies and atoms are added and renamed between releases. Or the header that declares it is not included.",
        "Check out the revision that the project pins (git submodule update --init --recursive, its CMake GIT_TAG) and build from a clean folder; an older CUTLASS earlier on the include path (-I, /usr/include) hides the right one",
        (
            'csrc/scaled_mm_blockwise_sm100_fp8_dispatch.cuh(234): error: namespace "cutlass::epilogue" has no member "BlockwiseNoSmemWarpSpecialized1Sm"',
            issue(26041, "vllm-project/vllm"),
        ),
        instead_of=("cpp.undefined",),
    ),
    known(
        "cpp.undefined",
        r"error(?: C[0-9]+)?: (?:namespace \"(?P<space>cu\w+)\" has no member \"(?P<member>\w+)\"|(?:identifier \"(?P<what>[\w:]{1,80})\" is undefined"
        r"|use of undeclared identifier '(?P<other>[\w:]{1,80})'|'(?P<third>[\w:]{1,80})' (?:was not declared|is not a member of))(?=.{0,3000}?\bcu(?:te|tlass)\b))"
        r"|\bcu(?:te|tlass)\b.{0,3000}?[Uu]se of undeclared identifier '(?P<clangd>[\w:]{1,80})'",
        "{what}{other}{third}{clangd}{space} {member} is not declared here",
        "The header that declares it is not included, the namespace is not open, or this version of CUTLASS has another name "
        "for it. Errors below this one (incomplete type, error-type) follow from it.",
        "Include <cute/tensor.hpp> (and the atom's own header) before its use, with `using namespace cute;`, and compare the "
        "program's CUTLASS version with the headers on the include path",
        (
            'src/main.cu(104): error: identifier "X" is undefined Tensor gA = local_tile(mA, cta_tiler, cta_coord, Step<_1, X,_1>{}); '
            "./cutlass/include/cute/container/tuple.hpp(175): error: incomplete type is not allowed",
            issue(1854),
        ),
    ),
    known(
        "cpp.overload",
        r"error(?: C[0-9]+)?: (?P<said>(?:more than one (?:instance(?! of [\w ]{0,40}\"flash::)|operator)|no suitable (?:user-defined )?(?:conversion|constructor)|call to '[\w:]+' is ambiguous"
        r"|no matching member function|function \"[^\"]{1,200}\" cannot be called|expression must have a constant value)"
        r"(?:[^\n]{0,200}?(?= detected during| note:| \^| [0-9]+ \||$)|[^\n]{120}))",
        "{said}",
        "The call's argument types fit no declaration, or several: a static integer (Int<8>{}) where a run-time one is given or the "
        "reverse, a tensor where one element is taken, an array where a pointer is, a composed layout where a plain one is, or a function of another "
        "namespace with the same name.",
        "Take an element, tensor(i, j), or a tagged pointer, make_smem_ptr(&array[0]); write the full name (cute::copy); print the types with cute::print_type, and compare them with the declaration",
        (
            'error: more than one instance of overloaded function "cute::print" matches the argument list',
            "nvcc",
        ),
        general=True,
        instead_of=("cpp.other-error", "cpp.instantiation", "elsewhere.compile"),
    ),
    known(
        "cpp.expired-storage",
        r"expression must have a constant value.{0,600}?attempt to access (?P<what>expired storage|run-?time storage)",
        "a constexpr of a layout function is refused: attempt to access {what}",
        "A function that is evaluated while compiling returns a reference to a temporary of its own. Static layouts have all their numbers in the type, and need no constexpr; some CuTe functions (right_inverse and its kin in layout.hpp) returned such references in older revisions.",
        "Write `auto` instead of `constexpr auto` (decltype of it stays static), or take a newer CUTLASS",
        (
            "error: expression must have a constant value include/cute/layout.hpp(1143): note #2700-D: attempt to access expired storage",
            issue(1285),
        ),
    ),
    known(
        "cpp.not-constexpr",
        r"cannot call non-constexpr function \"(?P<what>(?:cutlass|cute)::\w+)",
        "{what} is not constexpr for this compiler: it is not in C++17 mode",
        "CUTLASS declares such functions constexpr only where __cplusplus says C++14 or later. MSVC keeps __cplusplus at 199711 unless it is told otherwise.",
        "Compile with -std=c++17, on Windows also -Xcompiler /Zc:__cplusplus; newer revisions of CUTLASS do not ask __cplusplus there",
        (
            'output_tile_thread_map.h(246): note #2703-D: cannot call non-constexpr function "cutlass::const_min"',
            issue(1403),
        ),
        instead_of=("cpp.msvc",),
    ),
    known(
        "cpp.macro-undefined",
        r"(?:identifier \"|')(?P<what>(?:CUTE|CUTLASS)_[A-Z0-9_]+)(?:\" is undefined|' (?:was not declared|undeclared|is not defined))",
        "CuTe's own macro {what} is not defined where it is used",
        "An inner header of CuTe is included alone, or before the one that defines the macro; or headers of two checkouts are mixed.",
        "Include <cute/tensor.hpp> (or <cute/config.hpp>, <cutlass/cutlass.h>) first, and keep one CUTLASS on the include path (nvcc -H prints which are read)",
        ('error: identifier "CUTE_STL_NAMESPACE" is undefined', "nvcc"),
        instead_of=("cpp.undefined", "cpp.header-mix"),
    ),
    known(
        "cpp.no-member",
        r"(?:class|struct|type|in|error:) [\"\'](?P<owner>(?:cute|cutlass)::[\w:]{1,60})[^\n]{0,1500}?has no member[\w ]* [\"\'](?P<what>\w+)|no member named '(?P<named>\w+)' in '(?P<of>(?:cute|cutlass)::[\w:]{1,60})",
        "{owner}{of} has no member {what}{named}",
        "Where the line is in CUTLASS' own header, header and class are of one checkout: the class is a template argument that does not suit this kernel (GemmBatched takes GemmBatchedIdentityThreadblockSwizzle), a template without a meaning for these arguments, or CUTLASS lacks the member for this type. "
        "Where the line is in other code, that was most often written for another version: members are renamed between minor ones.",
        "Compare the template arguments with an example of the same kernel; take the version of CUTLASS that the program names, and report what CUTLASS itself lacks to NVIDIA/cutlass",
        (
            'fused_mha_kernel.cu(877): error: class "cute::TiledMMA<cute::MMA_Atom<cute::SM70_8x8x4_F32F16F16F32_TN>>" has no member '
            '"TiledShape_MNK"',
            issue(4, "ZRayZzz/flash-attention-v100"),
        ),
        general=True,
        instead_of=("cpp.other-error", "cpp.instantiation", "elsewhere.compile", "cpp.overload"),
    ),
    known(
        "cpp.template-name",
        r"argument list for (?:class|alias|variable) template \"?(?P<what>(?:cutlass|cute)::[\w:]+)\"? is missing|use of (?:class|alias) template '?(?P<named>(?:cutlass::|cute::)?(?:Tensor|Layout|TiledCopy|TiledMMA|ComposedLayout))'? requires template arguments",
        "{what}{named} is a template: its name alone is no type",
        "The type of a tensor holds its engine and its layout, that of a layout its shape and strides; each tensor has another type.",
        "Make the function a template, `template <class Engine, class Layout> f(cute::Tensor<Engine, Layout> t)`, or take `auto&& t`; a local "
        "variable is `auto` or, with C++17 and nvcc 11.4 or newer, `Tensor t = make_tensor(...)`",
        ('error: argument list for class template "cute::Tensor" is missing', issue(1363)),
        general=True,
        instead_of=("cpp.other-error", "cpp.instantiation", "elsewhere.compile", "cpp.overload"),
    ),
    known(
        "cpp.packed-cast",
        r"no suitable (?:user-defined )?(?:conversion function|constructor)[^\n]{0,60}?\"(?:const )?__nv_\w+x[24]_\w+\"",
        "a packed pair or four of 8-bit floats is cast to a vector type, and the cast is read as a list of members",
        "float2(x) of a packed x calls x's conversion to float2 in C++17. C++20 lets parentheses initialize the members of an aggregate, and float2 is one: nvcc then looks for a conversion of x to its first member, a float.",
        "Compile that file with -std=c++17, or write float2 y = x, which calls the conversion; in a library's file (NCCL, PyTorch) take a release that knows C++20, and report it there",
        (
            'error: no suitable conversion function from "__nv_fp8x2_e5m2" to "float" exists',
            issue(1770, "NVIDIA/nccl"),
        ),
        instead_of=("cpp.half-conversion",),
    ),
    known(
        "cpp.half-conversion",
        r"(?:no (?:suitable (?:user-defined )?(?:conversion function|constructor)|operator)|more than one (?:operator|conversion function))[^\n]{0,120}(?:__nv_bfloat16|__half|__nv_fp8_\w+|\"half\"|\bhalf\b|c10::Half)",
        "a 16-bit or 8-bit float is converted or computed with, and no operator or several fit",
        "The types of CUDA's headers convert and compute by themselves only where their operators are declared, and PyTorch's builds switch them off "
        "(-D__CUDA_NO_HALF_OPERATORS__, -D__CUDA_NO_HALF_CONVERSIONS__, -D__CUDA_NO_BFLOAT16_CONVERSIONS__), because a class of their own has the same ones (c10::Half). Code for an architecture below sm_53, which is nvcc's choice where none is named, has none for half. volatile "
        "values have none.",
        "Convert by name (__bfloat162float, __float2half), or use cutlass::half_t and cutlass::bfloat16_t, which CuTe's copies and MMAs take",
        (
            'error: no suitable conversion function from "__nv_bfloat16" to "float" exists',
            "https://huggingface.co/docs/kernels",
        ),
    ),
    known(
        "cpp.class-type",
        r"expression must have (?P<what>(?:pointer-to-)?(?:class|struct|union|pointer)[\w -]{0,40}?) type(?: but it has type \"(?P<given>[^\"\n]{1,200})\")?",
        "an expression has the type {given}, and the line uses it as a {what}",
        "The member operator does not fit the value: '.' on a pointer, a number or a function, or '->' on an object. const T *const is a pointer, T &() a function (a declaration that was meant as an object). No layout is concerned.",
        "Use -> or an index where the value is a pointer, '.' where it is an object. Look up the declaration: a parameter of CUTLASS (params.ptr_A) is a plain pointer and has no members; in a template write typename and template before dependent names",
        (
            'implicit_gemm_convolution.h(369): error: expression must have class type but it has type "const ElementInputB *const"',
            issue(1987),
        ),
    ),
    known(
        "cpp.host-function",
        r"calling a (?:constexpr )?__(?P<callee>host|device|global)__ function(?:\(\"[^\"]{1,300}\"\))?[^\n]{0,200}? from a __(?P<caller>[\w ]{4,40}?)__ function",
        "a __{callee}__ function is called in a __{caller}__ function",
        "nvcc compiles a function for the side that its declaration names: __device__, __host__, both, or neither, which is the host. "
        "constexpr functions of the host are taken on the device with a flag only.",
        "Declare it __host__ __device__ (in CuTe CUTE_HOST_DEVICE, or CUTE_DEVICE for device code alone). A lambda that runs on the device is marked as well, [] __device__ (...), KOKKOS_LAMBDA, with nvcc --extended-lambda; constexpr functions of the host are taken with --expt-relaxed-constexpr",
        ("error: calling a __host__ function from a __global__ function is not allowed", "nvcc"),
    ),
    known(
        "cpp.shared-variable",
        r"dynamic initialization is not supported for a __shared__ variable|(?:initializer|constructor)[^\n]{0,40}not allowed[^\n]{0,30}__shared__|__shared__ variables? cannot have (?:an? )?(?:initializ|construct)\w*",
        "a __shared__ variable has a constructor or an initialiser",
        "Shared memory has no moment at which a constructor could run: its variables hold what was there before. Types with constructors (cutlass::half_t arrays of some versions, structures with default "
        "values, mbarriers) are refused.",
        "Declare bytes, extern __shared__ __align__(128) char smem[];, and view them: reinterpret_cast<Storage*>(smem), or make_tensor(make_smem_ptr<T>(smem), layout); inside a structure take "
        "alignas(128) cute::ArrayEngine<T, N>",
        ("error: dynamic initialization is not supported for a __shared__ variable", "nvcc"),
    ),
    known(
        "cpp.assertion",
        r"/(?:cute|cutlass)/[\w./]+\.(?:hpp|h|inl|cuh):[0-9]+: .{0,400}?Assertion [`']?(?P<said>[^'`]{1,160}?)[`']? failed",
        "an assertion of CuTe fails at run time: {said}",
        "What is known only at run time is compared there instead of by the compiler: a size, a shape, an index, a value that must fit its type.",
        "The line is behind the path, block and thread are before it. " + CHECK,
        ("/x/include/cute/layout.hpp:123: Assertion `size(a) == size(b)' failed.", HEADERS),
        level="wrong",
    ),
    known(
        "cpp.bare-assertion",
        r"static.assert\w* failed(?: due to requirement '(?P<required>[^'\n]{3,200})'(?!:)|:?(?: [0-9]+ \|)? static_assert\((?P<condition>[^\"\n]{3,200}?)\); ?)(?=.{0,3000}?\b(?:cute|cutlass)::)",
        "a static assertion fails, which has no message: {required}{condition}",
        "Its condition compares shapes, extents or types of the template arguments, and is false for them.",
        "Evaluate both sides for the arguments of the innermost instantiation in your own file; the layouts that the text holds stand below. "
        + CHECK,
        (
            "matmul.h(413): error: static assertion failed static_assert(decltype(shape<2>(s2r_rA) == shape<2>(mma_rA))::value); ^ "
            'detected during instantiation of "void tb::Matmul<...>" [with T=cutlass::half_t, MMAAtom=cute::SM80_16x8x16_F16F16F16F16_TN',
            issue(58, "mirage-project/mirage"),
        ),
    ),
    known(
        "cpp.other-assertion",
        r"(?:/(?P<room>(?:cute|cutlass)/[\w./]+\.(?:hpp|h|inl|cuh)):[0-9]+:[0-9]+: (?:fatal )?)?error: static.assert\w* failed(?(room)|(?=.{0,3000}?\bcu(?:te|tlass)\b))(?: due to requirement '[^\n]{1,600}?')?: "
        r"(?P<message>[^\n]{3,200}?)(?= [0-9]+ \|| static_assert\(| \S+:[0-9]+:| note:|$)"
        r"|(?:/(?P<op>(?:cute|cutlass)/[\w./]+\.(?:hpp|h|inl|cuh))(?:\([0-9]+\)|:[0-9]+:[0-9]+): (?:fatal )?error: static.assert\w*[^\"']{0,200}"
        r"|error: static.assert\w* failed[^\"']{0,200}(?=.{0,3000}?\bcu(?:te|tlass)\b))(?P<quote>[\"'])(?P<said>(?!Static assertion failed|\()(?:(?!(?P=quote))[^\n]){1,200})(?P=quote)"
        r"|\bstatic_assert\((?=[^\n]{0,300}?\b(?:rank|size|is_static|cute|cosize|depth|shape|stride|\w*(?:Layout|Shape|Stride|Tile|Tensor|Copy|MMA|Mma)\w*)\b)[^\"\n]{1,300}\"(?P<source>[^\"\n]{1,200})\""
        r"|/(?P<plain>(?:cute|cutlass)/[\w./]+\.(?:hpp|h|inl|cuh))(?:\([0-9]+\)|:[0-9]+:[0-9]+): (?:fatal )?error: static.assert\w* failed(?: with \"(?:Static assertion failed)?\")?(?=$| static_assert\b| CUTE_STATIC| detected| \^| [0-9]+ \|| \S+[(:][0-9])",
        "{said}{source}{message}",
        "{cause} It is a static assertion of CuTe or CUTLASS about its template arguments.",
        "{help}. The innermost instantiation in your own file has the layouts and types that cause it. "
        + CHECK,
        (
            "/home/u/cutlass/include/cutlass/epilogue/collective/builders/sm120_builder.inl(158): error: static "
            'assertion failed with "CTA tile for FP6 ElementD must have a contiguous extent that is a multiple of 128."',
            issue(3211),
        ),
        general=True,
        instead_of=("cpp.instantiation",),
        fill="assertion",
    ),
    known(
        "cpp.other-error",
        r"(?:\b(?:cute|cutlass|flash_?attn?|csrc)[\w./\\+-]{0,300}?\.(?:hpp|h|inl|cuh|cu)(?:\([0-9]+(?:,[0-9]+)?\)|:[0-9]+:[0-9]+): (?:fatal )?error(?: C[0-9]+)?"
        r"|(?:(?:\([0-9]+(?:,[0-9]+)?\)|:[0-9]+:[0-9]+) ?: (?:fatal )?|^)error(?: C[0-9]+)?(?=.{0,3000}?\b(?:cute|cutlass)::))"
        r": (?P<said>(?!static.assert)(?:[^\n]{3,160}?(?:is undefined|is not allowed|is ambiguous|the argument list|has no member \"\w+\"|declared in this scope)|[^\n]{3,160}?(?= detected during| note:| \^| [0-9]+ \||$)|[^\n]{3,160}))",
        "{said}",
        "{cause}",
        "{help}",
        ("/include/cute/layout.hpp(1152): error: incomplete type is not allowed", "nvcc"),
        general=True,
        instead_of=("cpp.instantiation",),
        fill="template",
    ),
    known(
        "cpp.instantiation",
        r"(?:instantiation of (?:function |class )?|instantiating (?:function|class|variable) definition )[\"'](?:auto |void |decltype\(auto\) )?(?=[^\"']{0,4000}?\bcu(?:te|tlass)::)(?P<what>[\w:]{1,60})",
        "the template {what} does not compile for its arguments",
        "The text shows the instantiations and not the error itself, which stands above them.",
        "Read the innermost instantiation in your own file: the layouts there are the ones that cause the error. "
        + CHECK,
        ('instantiation of "auto cute::composition(const cute::Layout<LShape, LStride> &)"', issue(3393)),
        general=True,
    ),
)
