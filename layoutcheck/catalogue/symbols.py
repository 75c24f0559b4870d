"""Whose a symbol is that a linker or a loader does not find, by its name, and what makes both ends meet."""

from __future__ import annotations

import re
from typing import NamedTuple

from layoutcheck.catalogue import owners


class Missing(NamedTuple):
    """A symbol that is missing: whose it is (`linked`, a sentence, "" where nothing tells), why it is missing, and what `help`s."""

    linked: str
    cause: str
    help: str


_TORCHS = "of PyTorch"
_HIPS = "the device code that HIP's link embeds"
# The library that defines a name, by the name's beginning. In order.
_LIBRARIES = (
    (r"nvshmemi?x?_|nvshmem\w", "of NVSHMEM: device code needs -rdc=true and -lnvshmem_device, host code -lnvshmem_host, of the same NVSHMEM"),
    (r"_?cuda_dialect_|CuteDSLRT", "the CuTe DSL's own, in libcute_dsl_runtime.so: -lcute_dsl_runtime (python -m cutlass.cute.export.aot_config --libdir names its folder; the static archive of 4.7 lacks some names)"),
    (r"(?:p?nccl)[A-Z](?!\w*unction_)", "of NCCL, a host library: -lnccl"),
    (r"cublasLt[A-Z]", "of cuBLASLt, a host library: -lcublasLt"),
    (r"cublas[A-Z]", "of cuBLAS, a host library: call it from host code and link -lcublas (CUDA 10 removed the cuBLAS of the device)"),
    (r"cudnn[A-Z]", "of cuDNN, a host library: -lcudnn"),
    (r"(?:cusparse|cusolver|cufft|curand)[A-Z]", "of a host library that its first letters name: -lcusparse, -lcusolver, -lcufft, -lcurand"),
    (r"nvrtc[A-Z]", "of NVRTC: -lnvrtc"),
    (r"_*nvJitLink|nvPTX", "of the toolkit's compilers: -lnvJitLink, -lnvptxcompiler_static"),
    (r"(?:__)?cuda(?:CDP2|GetParameterBuffer|LaunchDevice|DeviceSynchronize)", "of launches from the device: -rdc=true, and -lcudadevrt at the device link"),
    (r"__hip_(?:fatbin|gpubin)", _HIPS),
    (r"__cuda(?:Register|Unregister)LinkedBinary|__fatbinwrap", "made by the device link: nvcc -dlink of all objects that were compiled with -rdc=true"),
    (r"(?:__)?cuda[A-Z]", "of the CUDA run time: -lcudart (host), -lcudadevrt (device code with -rdc=true)"),
    (r"cu[A-Z]", "of the CUDA driver: -lcuda, on a machine without a driver with -L $CUDA_HOME/lib64/stubs"),
    (r"__assert_?fail", "what assert() calls: nvcc's headers declare it for device code, clang's only where its __clang_cuda_runtime_wrapper.h is read first (compile without assertions by -DNDEBUG, or with nvcc)"),
    (r"cutlass::library", "of CUTLASS' instance library: link libcutlass (target cutlass_library)"),
    (r"cudnn|cask_cudnn", "of cuDNN, whose libraries are of one version"),
    (r"(?:c10|at|torch|caffe2)::|THP\w|aoti_torch_", _TORCHS),
    (r"KGEN_CompilerRT_", "of Mojo's run time, which is the host's: the kernel calls what allocates or prints there (a List, a String, a size that is not known while compiling); make it an alias, or do it in the host's code"),
    (r"std::", "of the C++ library"),
)  # fmt: skip
_ANY = "not of a library that its name tells; most often it is a function of another file"
_PART = re.compile(r"[0-9]+")
_HOST = (
    "The library or object that defines it is not given to the linker, or stands before its user.",
    "Add it behind the objects that use it, of the toolkit and the compiler that they were built with (`nm -C --defined-only FILE`, `ldconfig -p`), with its folder (-L, LIBRARY_PATH; CUDA's is $CUDA_HOME/lib64)",
)
_DEVICE = (
    "ptxas takes one file as whole device code, and nvlink (-rdc=true) joins objects and static libraries that were compiled so: an inline function is not kept for others, a shared library has no device code for them, and objects of an older build may lack it.",
    "Give the object or static library that defines it, compiled with -rdc=true for the same architectures, or put a __device__ function into a header as inline; call what is of a host library from host code. Of a project that you build, empty its build folder and build anew",
)
_DLINK = (
    "Objects that were compiled with -rdc=true (-dc) hold their device code apart, and a host's linker does not join it.",
    "Link with nvcc, or add the object that nvcc -dlink makes of all of them, with -lcudadevrt; CMake: CUDA_RESOLVE_DEVICE_SYMBOLS ON for the target that links last",
)
_HIP = (
    "Its objects were compiled by HIP, with -fgpu-rdc, and the link that joins their device code was left out or done by another compiler.",
    "Link all of them by the compiler that made them: hipcc (clang++) -fgpu-rdc --hip-link, and not nvcc or ld alone",
)
_TORCH = (
    "The extension was built for another torch, or for another C++ ABI of it.",
    "Build or install it for the torch and CUDA at hand (python -m torch.utils.collect_env names them)",
)
_CUDA = (
    "Either the library at hand is older than the CUDA that the extension was built for and does not have the function yet (a driver of CUDA 12.4 has no cuGreenCtx..., which came with 12.5), or the build left the library, or the device link, out.",
    "Compare the CUDA of `nvidia-smi` and of the library with the one that the extension names: update the driver, or install its build for the older CUDA. In a build of your own link it (extra_link_args=['-lcuda'], dlink=True); `ldd FILE.so` and LD_DEBUG=libs show what is loaded",
)
_OWN = (
    "The extension was built without the file that defines it (a kernel of an architecture that the build left out), or for another version of a library that it loads: torch, CUDA or the C++ library.",
    "Build or install it for the torch and CUDA at hand (python -m torch.utils.collect_env names them), with this GPU's architecture in TORCH_CUDA_ARCH_LIST",
)
_OTHERS = (
    "The extension that calls it and the library that should have it were built from different versions.",
    "Install both in versions that go together (pip list; `nm -DC FILE.so` shows what a library has), or build the extension anew against the one at hand; of two copies of one library (the system's and a wheel's) let one alone be found (ldd FILE.so, LD_LIBRARY_PATH)",
)


def name(symbol: str) -> str:
    """The qualified name in a mangled symbol of C++, "tvm::ffi::ReprPrint"; another symbol as it is."""
    start = re.match(r"_?_Z(?:T[ISVT])?(?P<nested>N[KVrRO]*)?(?=[0-9])", symbol)
    at, parts = start.end() if start else 0, list[str]()
    while start and (length := _PART.match(symbol, at)):
        at = length.end() + int(length[0])
        parts.append(symbol[length.end() : at])
        if not start["nested"]:
            break
    return "::".join(parts) or symbol


def unlinked(symbol: str, device: bool) -> Missing:
    """Why a linker of host or device code does not find a symbol."""
    whose = _whose(name(symbol))
    why = _HIP if whose is _HIPS else _DLINK if whose.startswith("made by") else _DEVICE if device else _HOST
    return Missing(_told(symbol, whose), *why)


def unloaded(symbol: str) -> Missing:
    """Why a loader does not find a symbol ("" where the text does not name it) in the libraries that an extension needs."""
    plain = name(symbol)
    whose = _whose(plain)
    told = _told(symbol, whose) if symbol else ""
    if whose == _TORCHS:
        return Missing(told, *_TORCH)
    if "::" in plain:
        return Missing(told, *_OTHERS)
    return Missing(told, *(_OWN if whose == _ANY else _CUDA))


def _told(symbol: str, whose: str) -> str:
    plain = name(symbol)
    return f"{symbol}{f' ({plain})' if plain != symbol else ''} is {whose}."


def _whose(plain: str) -> str:
    known = next((says for prefix, says in _LIBRARIES if re.match(prefix, plain)), "")
    space = plain.partition("::")[0] if "::" in plain else ""
    owner = owners.of_words(plain) if space else None
    return known or (f"of {owner.name}" if owner else f"of the namespace {space}" if space else _ANY)
