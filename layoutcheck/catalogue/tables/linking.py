"""What linkers and loaders of host and device code report: nothing of it is a layout's fault."""

from __future__ import annotations

from layoutcheck.catalogue.entry import ELSEWHERE, issue, known

ENTRIES = (
    known(
        "elsewhere.needed",
        r"(?P<needs>lib[\w.+-]{2,80}), needed by (?P<by>\S{3,200}), not found",
        "the linker does not find {needs}, which {by} needs",
        "A shared library names others that it needs, and the linker looks for them as well. The undefined references below are of that one.",
        "Give its folder (-Wl,-rpath-link=DIR, LD_LIBRARY_PATH), or install it: parts of the driver are of one version (libcuda.so of another than the rest), and on a machine without a driver $CUDA_HOME/lib64/stubs/libcuda.so takes its place. Report it to {project} if you only build it",
        ("ld: warning: libnvidia-fatbinaryloader.so.418.67, needed by /usr/lib/x86_64-linux-gnu/libcuda.so, not found; libcuda.so: undefined reference to `elf_size'", issue(156, "stereolabs/zed-sdk")),
        level=ELSEWHERE,
        instead_of=("elsewhere.link",),
    ),
    known(
        "elsewhere.link",
        r"(?:(?P<device>nvlink error ?: )?[Uu]ndefined reference to|(?P<ptxas>Unresolved extern) (?:function|variable)|ld(?:\.\w+)?: (?:error: )?undefined symbol:|[Uu]ndefined symbols? for architecture|unresolved external symbol)[^\w]{0,4}(?P<symbol>[\w:~@?$]{1,100})(?: in '(?P<file>[^'\n]{1,200})')?",
        "the linker does not find the definition of {symbol}",
        "{linked} {cause}",
        "{help}. Report it to {project} if you only build it",
        ("in function `launch': undefined reference to `cuTensorMapEncodeTiled'", issue(1112, "NVIDIA/TensorRT-LLM")),
        level=ELSEWHERE,
        instead_of=("driver.tensor-map", "elsewhere.cublas"),
        fill="link",
    ),
    known(
        "elsewhere.undefined-symbol",
        r"undefined symbol(?: ?: ?(?P<symbol>\w+)|\b(?!: ))|DLL load failed|version `(?P<version>[\w.]+)' not found",
        "a compiled extension does not fit a library that it loads: {symbol}{version}",
        "{linked} {cause}",
        "{help}. The versions that go together are named by {project}",
        ("ImportError: /path/to/vllm/_C.abi3.so: undefined symbol: _Z20cutlass_moe_mm_sm100RN2at6TensorERKS0", issue(29030, "vllm-project/vllm")),
        level=ELSEWHERE,
        instead_of=("elsewhere.import", "elsewhere.library-version", "elsewhere.cublas", "elsewhere.nccl", "driver.tensor-map"),
        fill="load",
    ),
    known(
        "elsewhere.defined-twice",
        r"[Mm]ultiple definitions? of [^\w]?(?P<twice>[\w:~]{1,80})(?:.{0,400}?: (?P<first>[\w./+-]{1,200}:[0-9]+): first defined here)?|\b(?P<other>[\w:~@?$]{1,80}) already defined in",
        "two objects of the link define {twice}{other} {first}",
        "Each name that is visible outside of its file has one definition in a program. A kernel, function or variable stands in two files, or in a header without inline, static or template; or a file is linked twice. With -rdc=true this holds for __device__ and __constant__ names as well. Of the DSL: two functions were exported with one prefix.",
        "Rename one, make it static or put it into an unnamed namespace; mark what a header defines inline, or declare it extern there and define it in one file; export each function of the DSL with a prefix of its own. A library that has a setting for relocatable device code (Kokkos) is built with it",
        ("multiple definition of `InclusiveScanKernel(int*)'", "https://github.com/NVIDIA/cccl/pull/2169"),
        level=ELSEWHERE,
        instead_of=("elsewhere.link", "cuda.no-function"),
    ),
    known(
        "elsewhere.device-link",
        r"nvlink error ?: (?P<said>entry function '[^']{1,80}' with max regcount of [0-9]+ calls function '[^']{1,80}' with regcount of [0-9]+|(?:Size|Prototype) doesn't match for '[^']{1,80}')",
        "device code of several files does not link: {said}",
        "A function in another file was compiled without the limit of registers that its kernel has (__launch_bounds__, -maxrregcount), or a name is declared otherwise in two files (an incomplete type).",
        "Give both files the same -maxrregcount, or put the function into the kernel's file so that it is inlined; declare the name in one header",
        ("nvlink error : entry function 'k' with max regcount of 64 calls function 'f' with regcount of 90", "nvlink"),
        level=ELSEWHERE,
        instead_of=("elsewhere.link",),
    ),
    known(
        "elsewhere.too-large",
        r"relocation truncated to fit: (?P<kind>R_\w{3,40})(?: against (?:undefined )?symbol [`'](?P<symbol>[^'\n]{1,200})')?|relocation (?P<other>R_\w{3,40}) out of range",
        "the library or program is larger than its addresses reach: {kind}{other}",
        "Relative addresses of x86-64 have 32 bits, and code and data that refer to each other lie more than 2 GiB apart. Kernels for many architectures and types make such files (CUTLASS_LIBRARY_KERNELS=all).",
        "Build fewer kernels and architectures (-DCUTLASS_LIBRARY_KERNELS=NAMES, -DCUTLASS_NVCC_ARCHS=90a), compress them (nvcc -Xfatbin -compress-all), or split the library; -Xcompiler -mcmodel=medium moves large data apart",
        (
            "(.init+0xb): relocation truncated to fit: R_X86_64_REX_GOTPCRELX against undefined symbol `__gmon_start__'",
            issue(319),
        ),
        level=ELSEWHERE,
        instead_of=("elsewhere.link",),
    ),
    known(
        "elsewhere.abi",
        r"[Uu]ndefined reference to [`'](?P<symbol>[\w:~]{1,80})(?![\w:~])[^'\n]{0,600}?\bstd::(?:__)?(?P<abi>cxx11|__1)\b",
        "the linker does not find {symbol} for std::{abi}: the C++ libraries of two objects differ, or its object is not linked",
        "The name holds the version of the standard library (std::__cxx11 is GCC's since 5, std::__1 is LLVM's). nvcc compiles with its own host compiler: where that differs from the C++ compiler, or _GLIBCXX_USE_CXX11_ABI does, the same function has two names.",
        "Give nvcc the same host compiler (-DCMAKE_CUDA_HOST_COMPILER=$CXX, CUDAHOSTCXX, -ccbin) and build anew from an empty folder; extensions of PyTorch take its ABI (torch.compiled_with_cxx11_abi()). `nm -C FILE.o` shows which name "
        "the object that should define it has",
        (
            "visualize_layout.cpp: error: undefined reference to 'RegisterLayouts(std::map<std::__cxx11::basic_string<char, std::char_traits<char> >, int>&)'",
            issue(1136),
        ),
        level=ELSEWHERE,
        instead_of=("elsewhere.link",),
    ),
)  # fmt: skip
