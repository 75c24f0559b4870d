"""What linkers of host and device code report: nothing of it is a layout's fault."""

from __future__ import annotations

import re

from layoutcheck.catalogue.entry import ELSEWHERE, issue, known

# The library that defines a name, by the name's beginning. In order.
_LIBRARIES = (
    (r"nvshmemi?x?_", "of NVSHMEM: device code needs -rdc=true and -lnvshmem_device, host code -lnvshmem_host"),
    (r"(?:p?nccl)[A-Z]", "of NCCL, a host library: -lnccl"),
    (r"cublasLt[A-Z]", "of cuBLASLt, a host library: -lcublasLt"),
    (r"cublas[A-Z]", "of cuBLAS, a host library: call it from host code and link -lcublas (CUDA 10 removed the cuBLAS of the device)"),
    (r"cudnn[A-Z]", "of cuDNN, a host library: -lcudnn"),
    (r"(?:cusparse|cusolver|cufft|curand)[A-Z]", "of a host library that its first letters name: -lcusparse, -lcusolver, -lcufft, -lcurand"),
    (r"nvrtc[A-Z]", "of NVRTC: -lnvrtc"),
    (r"nvJitLink|nvPTX", "of the toolkit's compilers: -lnvJitLink, -lnvptxcompiler_static"),
    (r"(?:__)?cuda(?:CDP2|GetParameterBuffer|LaunchDevice|DeviceSynchronize)", "of launches from the device: -rdc=true, and -lcudadevrt at the device link"),
    (r"__cuda(?:Register|Unregister)LinkedBinary|__fatbinwrap", "made by the device link: nvcc -dlink of all objects that were compiled with -rdc=true"),
    (r"(?:__)?cuda[A-Z]", "of the CUDA run time: -lcudart (host), -lcudadevrt (device code with -rdc=true)"),
    (r"cu[A-Z]", "of the CUDA driver: -lcuda, on a machine without a driver with -L $CUDA_HOME/lib64/stubs"),
    (r"__assert_?fail", "what assert() calls: nvcc's headers declare it for device code, clang's only where its __clang_cuda_runtime_wrapper.h is read first (compile without assertions by -DNDEBUG, or with nvcc)"),
    (r"cutlass::library|_ZN7cutlass7library", "of CUTLASS' instance library: link libcutlass (target cutlass_library)"),
)  # fmt: skip
_ANY = "not of a library that its prefix names; most often it is a function of another file"


def library(symbol: str) -> str:
    """Whose a symbol is and how it is linked, as the end of a sentence: by the prefix of its name."""
    return next((says for prefix, says in _LIBRARIES if re.match(prefix, symbol)), _ANY)


ENTRIES = (
    known(
        "elsewhere.unresolved-extern",
        r"Unresolved extern (?P<what>function|variable) '(?P<symbol>[^'\n]{1,200})'",
        "device code uses the {what} {symbol}, which no file that is compiled with it defines",
        "ptxas compiles one file as whole device code, and there everything that it uses must be defined. {symbol} is {linked}.",
        "For a __device__ function of another file: compile both with -rdc=true and link the device code with nvcc, or put the definition into a header as __device__ inline. A function of a host library is called from "
        "host code instead",
        ("ptxas fatal : Unresolved extern function 'cublasCreate_v2'", issue(1100, "kokkos/kokkos")),
        level=ELSEWHERE,
        instead_of=("ptxas.other", "elsewhere.build", "elsewhere.cublas"),
    ),
    known(
        "elsewhere.undefined-cuda",
        r"undefined symbol ?:? ?(?P<symbol>(?:__cuda[A-Z]|cuda[A-Z]|cu[A-Z]|cublas(?:Lt)?[A-Z]|cudnn[A-Z]|nvrtc[A-Z]|p?nccl[A-Z]|__?nvJitLink)\w{2,80})",
        "a compiled extension calls {symbol}, and no library that is loaded has it",
        "{symbol} is {linked}. Either the library at hand is older than the CUDA that the extension was built for and does not have the function yet (a driver of CUDA 12.4 has no cuGreenCtx..., which came with 12.5), or the build left the library, or the device link, out.",
        "Compare the CUDA of `nvidia-smi` and of the library with the one that the extension names: update the driver, or install its build for the older CUDA. In a build of your own link what {symbol} is of (extra_link_args=['-lcuda'], dlink=True); `ldd FILE.so` and LD_DEBUG=libs show what is loaded",
        (
            "ImportError: flash_attn_3.so: undefined symbol: cuDriverGetVersion",
            issue(2116, "Dao-AILab/flash-attention"),
        ),
        level=ELSEWHERE,
        instead_of=("elsewhere.undefined-symbol", "elsewhere.cublas", "elsewhere.nccl"),
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
        instead_of=("elsewhere.link", "elsewhere.build", "elsewhere.device-library"),
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
        instead_of=("elsewhere.link", "elsewhere.build"),
    ),
    known(
        "elsewhere.device-twice",
        r"nvlink error ?: Multiple definition of '(?P<symbol>[^'\n]{1,200})'(?: in '(?P<file>[^'\n]{1,200})')?",
        "device code defines one name in several files: {symbol}",
        "A __device__ or __constant__ variable, or a function that is not inline, stands in a header. With -rdc=true each file that includes it has its own copy, and nvlink joins them all.",
        "Make a function in a header inline, static or a template; declare a variable extern in the header and define it in one file (or inline, C++17); or compile without -rdc=true. A library that has a setting for relocatable "
        "device code (Kokkos) is built with it",
        (
            "nvlink error   : Multiple definition of 'kokkos_impl_cuda_constant_memory_buffer' in 'FileA.cpp.o', first defined in 'FileB.cpp.o'",
            issue(1100, "kokkos/kokkos"),
        ),
        level=ELSEWHERE,
        instead_of=("elsewhere.device-link", "elsewhere.link", "elsewhere.build"),
    ),
    known(
        "elsewhere.link-library",
        r"[Uu]ndefined reference to [`']?(?P<symbol>(?:p?nccl[A-Z]|cublas[A-Z]|cublasLt[A-Z]|cudnn[A-Z]|cusparse[A-Z]|cusolver[A-Z]|cufft[A-Z]|curand[A-Z]|nvrtc[A-Z]|nvJitLink|(?:__)?cuda[A-Z]|__fatbinwrap)\w{0,80})",
        "the linker does not find {symbol}",
        "{symbol} is {linked}.",
        "Add that library behind the objects that use it, of the toolkit with which they were compiled (nvcc --version, ldconfig -p)",
        ("nvlink error : Undefined reference to 'cudaGetParameterBufferV2' in 'a.o'", "nvlink"),
        ("main.cu:(.text+0x1f): undefined reference to `cublasLtCreate'", "ld"),
        level=ELSEWHERE,
        instead_of=("elsewhere.link", "elsewhere.build", "elsewhere.cublas"),
    ),
)
