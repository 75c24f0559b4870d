"""What a C++ compiler says where no assertion of CuTe speaks: names, overloads, template arguments."""

from __future__ import annotations

import re

from layoutcheck.catalogue.entry import ELSEWHERE, issue, known

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
        "cpp.missing-header",
        r"(?:fatal )?error(?: C[0-9]+)?: (?:Cannot open include file: |cannot open source file )?['\"]?(?P<header>(?:cute|cutlass)/[\w./]+)['\"]?(?:: No such file| file not found|(?=.{0,20}No such file))",
        "the CUTLASS headers are not where the compiler looks: {header}",
        "CuTe's C++ headers are a part of CUTLASS, which most projects hold as a git submodule; its folder is empty, or of a version without this header.",
        "git submodule update --init --recursive in the project that is built, or give CUTLASS' folder with -I .../cutlass/include",
        (
            "flash_fwd_kernel.h(9): fatal error C1083: Cannot open include file: 'cute/tensor.hpp': No such file or directory",
            issue(1936, "huggingface/candle"),
        ),
        (
            "fatal error: cute/algorithm/copy.hpp: No such file or directory",
            issue(331, "Dao-AILab/flash-attention"),
        ),
        level=ELSEWHERE,
        instead_of=("cpp.other-error", "elsewhere.compile", "elsewhere.build"),
    ),
    known(
        "cpp.integer-type",
        r"(?:identifier \"|use of undeclared identifier '|unknown type name '|'(?:std::)?|\"std\" has no member \")(?P<what>u?int(?:_fast|_least)?(?:8|16|32|64|ptr)_t)[\"'](?: is undefined| (?:was not declared|has not been declared|does not name a type|is not a member of)|(?=[^\n]{0,200}cu(?:te|tlass)\b)|$)",
        "{what} is not declared: <cstdint> is not included before this header",
        "CUTLASS before 3.9 relies on other headers for the integer types, and the headers of GCC 13 and of nvrtc do not bring them.",
        "Include <cstdint> (with nvrtc <cuda/std/cstdint>) before CUTLASS, or give -include cstdint; newer CUTLASS has it",
        (
            'cutlass/include/cute/arch/cluster_sm90.hpp(153): error: identifier "uint32_t" is undefined',
            issue(2148),
        ),
        instead_of=("cpp.undefined", "cpp.header-mix", "cpp.other-error", "elsewhere.compile"),
    ),
    known(
        "cpp.compiler-died",
        r"'?(?P<tool>cicc|cudafe\+\+|ptxas|fatbinary|cc1plus|nvlink|gcc)'? died (?:due to signal|with status)|Killed signal terminated program (?P<killed>\w+)|[Ii]nternal error: assertion failed(?: at:?|:)? \"(?P<edg>[^\"]{1,80})"
        r"|internal compiler error: (?P<gcc>[^\n]{3,80})",
        "the C++ compiler itself ends: {tool}{killed}{edg}{gcc}",
        "Signal 9 and 'Killed' are the system's, for want of memory: CuTe's templates need several GB in each job. Signal 11 and assertions inside the compiler are its "
        "own errors, often of one deep instantiation: a copy or composition of large static layouts.",
        "Build with fewer jobs (MAX_JOBS=2, ninja -j 2). Else halve the tile or split the expression to find the statement, and try another minor version of nvcc; "
        "NVIDIA's developer site takes reports of nvcc",
        ("nvcc error : 'cicc' died due to signal 11 (Invalid memory reference)", "nvcc"),
        ("nvcc error : 'cudafe++' died with status 0xC0000005 (ACCESS_VIOLATION)", "nvcc"),
        instead_of=(
            "dsl.compiler-died",
            "elsewhere.build",
            "dsl.internal",
            "cpp.other-error",
            "elsewhere.compile",
        ),
    ),
    known(
        "cpp.language",
        r"(?:\b(?:cute|cutlass)[\w./\\+-]{0,300}?\.(?:hpp|h|inl|cuh)(?:\([0-9]+(?:,[0-9]+)?\)|:[0-9]+:[0-9]+): (?:fatal )?error(?: C[0-9]+)?: (?P<said>(?:expected an? [^\n]{2,40}?(?= detected| \^|$| [A-Z_]+ =)|\"auto\" is not allowed here|[^\n]{0,60}(?:storage class or type specifier|name followed by \"::\" must be a class or namespace name|is not a template|C\+\+(?:11|14|17|20)|fold expression|structured binding|inline specifier allowed|constexpr[\w \"]{0,30}not|attribute \"[\w:]+\" (?:does not|is not)|expects? a type specifier|explicit type is missing|inline variable)[^\n]{0,60}?))"
        r"|\bError (?:\(active\) )?(?:[EC][0-9]+ )?(?P<other>\"auto\" is not allowed here|[^\n]{0,60}(?:storage class or type specifier|name followed by \"::\" must be a class or namespace name|is not a template|C\+\+(?:11|14|17|20)|fold expression|structured binding|inline specifier allowed|constexpr[\w \"]{0,30}not|attribute \"[\w:]+\" (?:does not|is not)|expects? a type specifier|explicit type is missing|inline variable)[^\n]{0,60}?|expected an? [\w \"';:(){}]{2,30}?)(?= [^\n]{0,200}\b(?:cute|cutlass)\b[^\n]{0,200}\.(?:hpp|h|cuh|inl)))",
        "the compiler does not read CUTLASS' header: {said}{other}",
        "The error is in the header's text and not in its template arguments. CUTLASS 3 and 4 need C++17 and a host compiler that nvcc supports; a macro "
        "of the same name from a header before (FP_NAN, min, max, DIVIDE) changes the text; nvrtc and an editor's parser lack parts of the language; or headers "
        "of two CUTLASS versions are mixed on the include path, and one lacks the other's names.",
        "Compile with nvcc -std=c++17 (/Zc:__cplusplus with MSVC), include CUTLASS before the header that defines the macro, keep one CUTLASS on "
        "the include path (nvcc -H lists what is read), and read errors of the build, not the editor's list",
        ("cutlass/floating_point_nvrtc.h(50): error: expected an identifier FP_NAN =", issue(2321)),
        (
            'Error "auto" is not allowed here Cutlass Tests G:\\cutlass-3.5.0\\include\\cute\\numeric\\integral_constant.hpp 198',
            issue(1594),
        ),
        instead_of=("cpp.other-error", "elsewhere.compile", "cpp.overload"),
    ),
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
        instead_of=("cpp.other-error", "cpp.instantiation", "elsewhere.compile", "cpp.undefined"),
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
        "cpp.undefined",
        r"error(?: C[0-9]+)?: (?:namespace \"(?P<space>cu\w+)\" has no member \"(?P<member>\w+)\"|(?:identifier \"(?P<what>[\w:]{1,80})\" is undefined"
        r"|use of undeclared identifier '(?P<other>[\w:]{1,80})'|'(?P<third>[\w:]{1,80})' (?:was not declared|is not a member of))(?=.{0,3000}?\bcu(?:te|tlass)\b))",
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
        r"error(?: C[0-9]+)?: (?P<said>(?:more than one (?:instance|operator)|no suitable (?:user-defined )?(?:conversion|constructor)|call to '[\w:]+' is ambiguous"
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
        "cpp.no-member",
        r"(?:class|struct|type|in) [\"\'](?P<owner>(?:cute|cutlass)::[\w:]{1,60})[^\n]{0,1500}?has no member[\w ]* [\"\'](?P<what>\w+)|no member named '(?P<named>\w+)' in '(?P<of>(?:cute|cutlass)::[\w:]{1,60})",
        "{owner}{of} has no member {what}{named} in this version of CUTLASS",
        "Either the program was written for another version (members are renamed between minor ones), or the template has no meaning for these "
        "arguments, and the member belongs to its specialisations.",
        "Look the class up in the headers on the include path, and check out the version of CUTLASS that the program names",
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
        "cpp.header-mix",
        r"include/(?:cute|cutlass)/[\w/.]+\([0-9]+\): error: (?:name followed by \"::\" must be a class or namespace name|namespace \"(?P<space>[\w:]+)\" has no member)"
        r"|include/(?:cute|cutlass)/[\w/.]+:[0-9]+:[0-9]+: error: (?:no (?:type|template|member) named|use of undeclared identifier)",
        "one header of CUTLASS does not find what another one declares",
        "The header that fails is CUTLASS's own: headers of two versions are mixed on the include path, or the compiler is older than they ask for.",
        "Leave one CUTLASS on the include path (`nvcc -H` or `gcc -H` prints which headers are read; packages bring copies of their own), check out its "
        "submodules anew, and compare the CUDA version with the one that its README names",
        (
            'flashinfer/data/cutlass/include/cute/arch/mma_sm90.hpp(3064): error: name followed by "::" must be a class or namespace name',
            issue(1382, "flashinfer-ai/flashinfer"),
        ),
        instead_of=(
            "cpp.language",
            "cpp.other-error",
            "cpp.instantiation",
            "elsewhere.compile",
            "cpp.overload",
        ),
    ),
    known(
        "cpp.half-conversion",
        r"no (?:suitable (?:user-defined )?(?:conversion function|constructor)|operator)[^\n]{0,120}(?:__nv_bfloat16|__half|__nv_fp8_\w+|\"half\")",
        "a 16-bit or 8-bit float is converted without being told to",
        "The types of CUDA's headers convert by themselves only where their operators are declared, and PyTorch's builds switch them off "
        "(-D__CUDA_NO_HALF_CONVERSIONS__, -D__CUDA_NO_BFLOAT16_CONVERSIONS__).",
        "Convert by name (__bfloat162float, __float2half), or use cutlass::half_t and cutlass::bfloat16_t, which CuTe's copies and MMAs take",
        (
            'error: no suitable conversion function from "__nv_bfloat16" to "float" exists',
            "https://huggingface.co/docs/kernels",
        ),
        instead_of=("cpp.overload", "cpp.other-error", "elsewhere.compile"),
    ),
    known(
        "cpp.host-function",
        r"calling a (?:constexpr )?__(?P<callee>host|device|global)__ function(?:\(\"[^\"]{1,300}\"\))?[^\n]{0,200}? from a __(?P<caller>[\w ]{4,40}?)__ function",
        "a {callee} function is called in {caller} code",
        "nvcc compiles a function for the side that its declaration names: __device__, __host__, both, or neither, which is the host. "
        "constexpr functions of the host are taken on the device with a flag only.",
        "Declare it CUTE_HOST_DEVICE (CUTE_DEVICE for device code alone); for constexpr functions give nvcc --expt-relaxed-constexpr",
        ("error: calling a __host__ function from a __global__ function is not allowed", "nvcc"),
        instead_of=("cpp.overload", "cpp.other-error", "elsewhere.compile"),
    ),
    known(
        "cpp.assertion",
        r"/(?:cute|cutlass)/[\w./]+\.(?:hpp|h|inl|cuh):[0-9]+: .{0,400}?Assertion [`']?(?P<said>[^'`]{1,160}?)[`']? failed",
        "an assertion of CuTe fails at run time: {said}",
        "What is known only at run time is compared there instead of by the compiler: a size, a shape, an index, a value that must fit its type.",
        "The line is behind the path, block and thread are before it. " + _CHECK,
        ("/x/include/cute/layout.hpp:123: Assertion `size(a) == size(b)' failed.", HEADERS),
        level="wrong",
    ),
    known(
        "cpp.bare-assertion",
        r"static.assert\w* failed(?: due to requirement '(?P<required>[^'\n]{3,200})'(?!:)|:?(?: [0-9]+ \|)? static_assert\((?P<condition>[^\"\n]{3,200}?)\); ?)(?=.{0,3000}?\b(?:cute|cutlass)::)",
        "a static assertion fails, which has no message: {required}{condition}",
        "Its condition compares shapes, extents or types of the template arguments, and is false for them.",
        "Evaluate both sides for the arguments of the innermost instantiation in your own file; the layouts that the text holds stand below. "
        + _CHECK,
        (
            "matmul.h(413): error: static assertion failed static_assert(decltype(shape<2>(s2r_rA) == shape<2>(mma_rA))::value); ^ "
            'detected during instantiation of "void tb::Matmul<...>" [with T=cutlass::half_t, MMAAtom=cute::SM80_16x8x16_F16F16F16F16_TN',
            issue(58, "mirage-project/mirage"),
        ),
        instead_of=("cpp.instantiation", "cpp.other-assertion", "elsewhere.compile"),
    ),
    known(
        "cpp.other-assertion",
        r"(?:/(?P<room>(?:cute|cutlass)/[\w./]+\.(?:hpp|h|inl|cuh)):[0-9]+:[0-9]+: (?:fatal )?)?error: static.assert\w* failed(?(room)|(?=.{0,3000}?\bcu(?:te|tlass)\b))(?: due to requirement '[^\n]{1,600}?')?: "
        r"(?P<message>[^\n]{3,200}?)(?= [0-9]+ \|| static_assert\(| \S+:[0-9]+:| note:|$)"
        r"|(?:/(?P<op>(?:cute|cutlass)/[\w./]+\.(?:hpp|h|inl|cuh))(?:\([0-9]+\)|:[0-9]+:[0-9]+): (?:fatal )?error: static.assert\w*[^\"']{0,200}"
        r"|error: static.assert\w* failed[^\"']{0,200}(?=.{0,3000}?\bcu(?:te|tlass)\b))[\"'](?P<said>[^\"'\n]{1,200})[\"']"
        r"|\bstatic_assert\((?=[^\n]{0,300}?\b(?:rank|size|is_static|cute|cosize|depth|shape|stride|\w*(?:Layout|Shape|Stride|Tile|Tensor|Copy|MMA|Mma)\w*)\b)[^\"\n]{1,300}\"(?P<source>[^\"\n]{1,200})\"",
        "{said}{source}{message}",
        "{cause} It is a static assertion of CuTe or CUTLASS about its template arguments.",
        "{help}. The innermost instantiation in your own file has the layouts and types that cause it. "
        + _CHECK,
        (
            "/home/u/cutlass/include/cutlass/epilogue/collective/builders/sm120_builder.inl(158): error: static "
            'assertion failed with "CTA tile for FP6 ElementD must have a contiguous extent that is a multiple of 128."',
            issue(3211),
        ),
        general=True,
        instead_of=("cpp.instantiation",),
    ),
    known(
        "cpp.other-error",
        r"(?:\b(?:cute|cutlass|flash_?attn?|csrc)[\w./\\+-]{0,300}?\.(?:hpp|h|inl|cuh|cu)(?:\([0-9]+(?:,[0-9]+)?\)|:[0-9]+:[0-9]+): (?:fatal )?error(?: C[0-9]+)?"
        r"|(?:\([0-9]+(?:,[0-9]+)?\)|:[0-9]+:[0-9]+) ?: (?:fatal )?error(?: C[0-9]+)?(?=.{0,3000}?\b(?:cute|cutlass)::))"
        r": (?P<said>(?!static.assert)(?:[^\n]{3,160}?(?:is undefined|is not allowed|is ambiguous|the argument list|has no member \"\w+\"|declared in this scope)|[^\n]{3,160}?(?= detected during| note:| \^| [0-9]+ \||$)|[^\n]{3,160}))",
        "{said}",
        "A template of CuTe or CUTLASS does not compile for its template arguments.",
        "Read the innermost instantiation in your own file: the layouts there are the ones that cause the error. "
        + _CHECK,
        ("/include/cute/layout.hpp(1152): error: incomplete type is not allowed", "nvcc"),
        general=True,
        instead_of=("cpp.instantiation",),
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
