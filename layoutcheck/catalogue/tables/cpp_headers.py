"""What a C++ compiler says of CUTLASS' own headers: versions of CUTLASS, of CUDA and of the host compiler that do not fit."""

from __future__ import annotations

from layoutcheck.catalogue.entry import ELSEWHERE, issue, known

ENTRIES = (
    known(
        "cpp.toolkit-too-new",
        r"(?:identifier \"|undeclared identifier '|unknown type name '|')(?P<what>PFN_cu\w{3,60})[\"'](?: is undefined| was not declared| has not been declared| does not name a type|(?= |$))",
        "{what} is not declared: this CUTLASS is older than the CUDA headers",
        "CUDA 13 declares these types of functions with their version alone ({what}_v12000 in cudaTypedefs.h); CUDA 12 has the short name as well. No tensor map is refused: nothing has run.",
        "Update CUTLASS (the submodule of the project that is built) to a release for CUDA 13, or build with CUDA 12; in code of your own write {what}_v12000",
        (
            'cutlass/include/cutlass/cuda_host_adapter.hpp(147): error: identifier "PFN_cuTensorMapEncodeIm2col" is undefined',
            issue(1700, "EricLBuehler/mistral.rs"),
        ),
        level=ELSEWHERE,
        instead_of=("driver.tensor-map", "cpp.undefined", "cpp.toolkit-too-old"),
    ),
    known(
        "cpp.toolkit-of-builder",
        r"Unsupported Toolkit for (?P<what>SM[0-9]+) (?:Sparse )?Collective Builder",
        "nvcc is too old for CUTLASS' {what} kernels",
        "The builder of collectives for sm_90 wants nvcc 12.0 or newer (it tests __CUDACC_VER_MAJOR__): CUDA 11 has no wgmma.",
        "Build with CUDA 12 (12.3 or newer is what most kernels of sm_90 ask for), and look at `nvcc --version`: an older nvcc may stand first on PATH; else leave sm_90 out of the architectures of the build",
        (
            'error: static assertion failed with "Unsupported Toolkit for SM90 Collective Builder"',
            "CUTLASS 4 headers",
        ),
        level=ELSEWHERE,
    ),
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
        level=ELSEWHERE,
        instead_of=("elsewhere.missing-header",),
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
        instead_of=("cpp.undefined", "cpp.header-mix"),
    ),
    known(
        "cpp.compiler-stopped",
        r"'(?P<tool>[\w+.]{2,30})' died due to signal (?:2|15)\b",
        "the build was interrupted while {tool} ran",
        "Signals 2 and 15 are Ctrl-C, or another program (a time limit, a scheduler, make after the failure of another job) that ends the compile. Nothing is wrong with the file.",
        "Start the build again; where nobody stopped it, look up for the first error of another file, and at the time limit of the job",
        ("nvcc error : 'cicc' died due to signal 2", "nvcc"),
        level=ELSEWHERE,
    ),
    known(
        "cpp.compiler-windows",
        r"'(?P<tool>[\w+.]{2,30})' died with status (?P<status>0xC0000[0-9A-F]{3}) ?(?P<said>\([A-Z_]+\))?",
        "{tool} ends on Windows with {status} {said}",
        "0xC0000005 is an access to memory that is not its own, 0xC0000409 a check of Windows against it. Most often nvcc runs with another Visual C++ than it takes: outside of its x64 prompt, with a newer cl.exe, or with clang-cl. Where an empty program compiles it is the compiler's own error at deep templates: halve the tile, or split the expression.",
        "Start nvcc in the 'x64 Native Tools Command Prompt' of a Visual Studio that this CUDA supports, or name its cl.exe: -ccbin \"...\\\\VC\\\\Tools\\\\MSVC\\\\14.x\\\\bin\\\\Hostx64\\\\x64\"; then try another version of CUDA with an empty program",
        ("nvcc error   : 'cudafe++' died with status 0xC0000005 (ACCESS_VIOLATION)", "nvcc"),
        level=ELSEWHERE,
    ),
    known(
        "cpp.compiler-died",
        r"'?\"?(?:\$\w+/)?(?P<tool>cicc|cudafe\+\+|ptxas|fatbinary|cc1plus|nvlink|gcc|g\+\+|cl\.exe|[\w.+-]{2,30}\.exe)\"?'? died (?:due to signal (?!2\b|15\b)|with status(?! 0xC0000))|(?:Building (?:CUDA|CXX|C) object|nvcc|ninja|make)[^\n]{0,400}? (?P<system>Killed)\b(?! signal)|Killed signal terminated program (?P<killed>\w+)|[Ii]nternal error: assertion failed(?: at:?|:)? \"(?P<edg>[^\"]{1,80})"
        r"|internal compiler error: (?P<gcc>[^\n]{3,80})",
        "the C++ compiler itself ends: {tool}{killed}{system}{edg}{gcc}",
        "{cause}",
        "{help}",
        ("nvcc error : 'cicc' died due to signal 11 (Invalid memory reference)", "nvcc"),
        fill="compiler ends",
    ),
    known(
        "cpp.language",
        r"(?:\b(?:[Cc]ute|[Cc]utlass)[\w./\\+-]{0,300}?\.(?:hpp|h|inl|cuh)(?:\([0-9]+(?:,[0-9]+)?\)|:[0-9]+:[0-9]+) ?: (?:fatal )?error(?: C[0-9]+)? ?: (?P<said>(?:expected an? [^\n]{2,40}?(?= detected| \^|$| [A-Z_]+ =)|\"auto\" is not allowed here|[^\n]{0,60}(?:storage class or type specifier|namespace \"std\" has no member|name followed by \"::\" must be a class or namespace name|is not a template|C\+\+(?:11|14|17|20)|fold expression|structured binding|inline specifier allowed|constexpr[\w \"]{0,30}not|attribute \"[\w:]+\" (?:does not|is not)|expects? a type specifier|explicit type is missing|inline variable)[^\n]{0,60}?))"
        r"|\bError (?:\(active\) )?(?:[EC][0-9]+ )?(?P<other>\"auto\" is not allowed here|[^\n]{0,60}(?:storage class or type specifier|name followed by \"::\" must be a class or namespace name|is not a template|C\+\+(?:11|14|17|20)|fold expression|structured binding|inline specifier allowed|constexpr[\w \"]{0,30}not|attribute \"[\w:]+\" (?:does not|is not)|expects? a type specifier|explicit type is missing|inline variable)[^\n]{0,60}?|expected an? [\w \"';:(){}]{2,30}?)(?= [^\n]{0,200}\b(?:cute|cutlass)\b[^\n]{0,200}\.(?:hpp|h|cuh|inl)))",
        "the compiler does not read CUTLASS' header: {said}{other}",
        "The error is in the header's text and not in its template arguments. CUTLASS 3 and 4 need C++17 and a host compiler that nvcc supports; a macro "
        "of the same name from a header before (FP_NAN, min, max, DIVIDE) changes the text; nvrtc and an editor's parser lack parts of the language; or headers "
        "of two CUTLASS versions are mixed on the include path, and one lacks the other's names.",
        "Compile with nvcc -std=c++17 (/Zc:__cplusplus with MSVC), include CUTLASS before the header that defines the macro, keep one CUTLASS on "
        "the include path (nvcc -H lists what is read), and read errors of the build, not the editor's list",
        ("cutlass/floating_point_nvrtc.h(50): error: expected an identifier FP_NAN =", issue(2321)),
    ),
    known(
        "cpp.msvc",
        r"(?:cute|cutlass)[\w./\\+-]{0,300}?\.(?:hpp|h|inl|cuh)\([0-9]+(?:,[0-9]+)?\) ?: (?:fatal )?(?:error|warning) (?P<code>C(?!1083|2338|3861|2975)[0-9]{4}) ?: (?P<said>(?!static.assert)[^\n]{3,120}?(?= \w:[\\/]| \(compiling| [\w./\\]+\([0-9]|$)|[^\n]{3,120})",
        "MSVC does not read CUTLASS' header: {code}, {said}",
        "cl.exe reads templates otherwise than the compilers that CUTLASS is written with. Without /Zc:__cplusplus it says that it is C++98, and CUTLASS leaves "
        "out its constexpr; older versions, and /permissive- in some, refuse dependent names without typename, parameter packs and lambdas that others take.",
        "nvcc -std=c++17 -Xcompiler /Zc:__cplusplus,/Zc:preprocessor,/bigobj with the newest MSVC that the toolkit supports, and the newest CUTLASS; leave sources for "
        "sm_90 and newer out of a build for older GPUs. Under WSL 2 the same sources compile with GCC",
        (
            "cutlass/include/cute/stride.hpp(299,46): error C3545: 'Ints': parameter pack expects a non-type template argument",
            issue(3065),
        ),
        instead_of=("cpp.language", "cpp.header-mix", "cpp.no-overload"),
    ),
    known(
        "cpp.intrinsic-target",
        r"(?:identifier \"|undeclared identifier '|error: ')(?P<what>__(?:funnelshift_\w+|ldg|dp[24]a\w*|nanosleep|match_(?:any|all)_sync|reduce_\w+_sync|h(?:fma|add|mul|sub|max|min)2?|atomicCAS_block))[\"'](?: is undefined| was not declared)",
        "{what} is not declared for the architecture that is compiled for",
        "CUDA's headers declare it from an architecture on: __ldg and __funnelshift from sm_35, arithmetic of half from sm_53, __dp4a from sm_61, __nanosleep and __match from sm_70, __reduce of a warp and arithmetic of bfloat16 from sm_80. A target below that, most often the compiler's default or an old GPU's, does not have it; no header is missing.",
        "Name the GPU's architecture (-gencode, CMAKE_CUDA_ARCHITECTURES, --gpu-architecture of NVRTC). On an older GPU take a release of the program that has other code for it; what is loaded there else ends in 'device kernel image is invalid'",
        (
            'CryptonightR.cu(382): error: identifier "__funnelshift_l" is undefined',
            issue(246, "xmrig/xmrig-nvidia"),
        ),
        instead_of=("cpp.toolkit-too-old", "cpp.undefined", "cuda.no-function"),
        level=ELSEWHERE,
    ),
    known(
        "cpp.toolkit-too-old",
        r"(?:identifier \"|undeclared identifier '|unknown type name '|error: ')(?P<what>__[a-z]\w+|cu[A-Z]\w{3,60}|cu(?:da|blas|blasLt|sparse|dnn|rand|solver)[A-Z]\w{3,60}|CU(?:DA)?_\w{3,60}|CU[a-z]\w{3,60})[\"'](?: is undefined| was not declared| does not name a type|(?= |$))",
        "{what} is not declared: CUDA's headers at hand do not have it",
        "The name is CUDA's. Either the toolkit (or the cuda package that the include path finds first) is older than the code, or a header of CUDA is not included, "
        "or the file is compiled by the host's compiler, which has no device functions: .cu by nvcc, .cpp by the host. "
        "Arithmetic of half and bfloat16 (__hfma2) is declared from sm_53 and sm_80 on: -gencode may name an older architecture.",
        "Compare `nvcc --version` with what the project's README asks for, look with nvcc -H which cuda_runtime.h is read, and include it (cuda.h for names with CU, cuda_fp16.h, cuda_bf16.h and cuda_fp8.h for the narrow floats)",
        ('cutlass/gemm/k_split_control.h(154): error: identifier "__syncwarp" is undefined', issue(3)),
        instead_of=("cpp.undefined", "cpp.header-mix", "driver.tensor-map"),
    ),
    known(
        "cpp.template-arguments",
        r"error(?: C[0-9]+)?: too (?:few|many) (?:template )?arguments (?:for|to) (?:class |alias |function )?template \"?(?P<what>(?:cutlass|cute)::[\w:]+)"
        r"|(?:class |error(?: C[0-9]+)?: )[\"']?(?P<plain>(?:cutlass|cute)::[\w:]+)[\"']? (?:may not have a template argument list|is not a (?:class )?template)",
        "{what}{plain} has other template parameters in this version of CUTLASS",
        "Parameters are added and removed between versions, and a class becomes a template or stops to be one; the program follows another version.",
        "Compare with the class in the headers at hand, or check out the version that the program was written for",
        (
            '01_gemm_3.0.cu(51): error: too few arguments for class template "cutlass::epilogue::collective::DefaultEpilogue"',
            issue(1589),
        ),
        general=True,
        instead_of=("cpp.other-error", "cpp.instantiation", "elsewhere.compile"),
    ),
    known(
        "cpp.header-alone",
        r"include/(?P<header>(?:cute|cutlass)/[\w/.]+\.(?:hpp|h))(?:\([0-9]+\)|:[0-9]+:[0-9]+): error: '?\"?(?P<what>\w+)'?\"? is not a (?:class )?template",
        "{header} uses {what}, which is not declared before it",
        "Headers of CuTe and CUTLASS lean on others: a part that is included alone, before the header that declares {what}, does not compile. Or the header that declares it is another one than meant: of an older CUTLASS, or a file of the same name earlier on the include path.",
        "Include <cute/tensor.hpp> (of CUTLASS 2.x <cutlass/cutlass.h> and the device's header) before {header}; nvcc -H prints which files are read. The first error of the log tells, those below follow from it",
        (
            "cutlass/include/cute/util/print_tensor.hpp(84): error: smem_ptr_flag_bits is not a template",
            issue(2637),
        ),
        instead_of=("cpp.header-mix", "cpp.language"),
    ),
    known(
        "cpp.header-mix",
        r"include/(?:cute|cutlass)/[\w/.]+\([0-9]+\): error: (?:name followed by \"::\" must be a class or namespace name|namespace \"(?!std\")(?P<space>[\w:]+)\" has no member)"
        r"|include/(?:cute|cutlass)/[\w/.]+:[0-9]+:[0-9]+: error: (?:no (?:type|template|member) named|use of undeclared identifier)",
        "one header of CUTLASS does not find what another one declares",
        "The header that fails is CUTLASS's own: headers of two versions are mixed on the include path, or the compiler is older than they ask for, or newer than this CUTLASS: CUDA's own headers gain names that collide with its.",
        "Leave one CUTLASS on the include path (`nvcc -H` or `gcc -H` prints which headers are read; packages bring copies of their own), check out its "
        "submodules anew, and compare the CUDA version with the one that its README names; a newer CUDA needs a newer CUTLASS",
        (
            'flashinfer/data/cutlass/include/cute/arch/mma_sm90.hpp(3064): error: name followed by "::" must be a class or namespace name',
            issue(1382, "flashinfer-ai/flashinfer"),
        ),
        instead_of=("cpp.language",),
    ),
)
