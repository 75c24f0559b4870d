"""A pretended GPU, so that scripts which only want to compile get that far on a machine without one.

Only for processes of a traced run that launch nothing. `torch` believes in one CUDA device, whose tensors lie
in the machine's memory (`fake_torch`); the CUDA bindings answer that all went well; the DSL's `HardwareInfo`
knows the device. What a script computes with that is worthless, which is why nothing of it is looked at.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import mmap
import os
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from layoutcheck.dsl import fake_distributed
from layoutcheck.dsl.called import (
    MEASURED,
    MOST_FRUITLESS,
    MOST_MEASURED,
    NotMeasured,
    benchmarks,
    only_calls,
)
from layoutcheck.dsl.imports import when_imported
from layoutcheck.dsl.observe import NotLaunched
from layoutcheck.dsl.true_integers import GIVEN, launched

# Multiprocessors, as the device properties of each GPU give them; scripts size persistent grids by them.
_SMS = {(8, 0): 108, (8, 9): 142, (9, 0): 132, (10, 0): 148, (10, 3): 152, (12, 0): 170}
L2_BYTES = 50 << 20
DRIVER_VERSION = 13000
_SMEM_BYTES = {8: 166912, 9: 232448, 10: 232448, 11: 232448, 12: 101376}  # opt-in, a block, by major version
_RETURNS = re.compile(r"Returns\n-+\n(.*?)(?:\n\s*\n|\Z)", re.DOTALL)
_ENTRY = re.compile(r"^\S", re.MULTILINE)
_OBJECT = re.compile(r":\s*:py:obj:`~?\.?(\w+)`")
_ADDRESS = re.compile(r"(\w*ptr\w*|pp|pbase|pHost|pDevice)\s*:", re.IGNORECASE)
_HOST = re.compile(r"cu\w*(HostAlloc|[Aa]lloc(Host|Managed))$")  # what it gives, a program may write
_MOST_WORDS = 120  # characters of an error
_BENCHMARKING = (
    "cutlass.base_dsl.utils.testing", "cutlass.testing", "cutlass.cute.testing", "triton.testing",
    "torch._inductor.utils",
)  # fmt: skip
SPARED = (
    f"of the modules that benchmarks build of one function {MOST_MEASURED}, and those that reach new lines, "
    "are judged"
)
_addresses = itertools.count(1 << 40, 1 << 32)  # of memory that nobody may read, as aligned as CUDA's
_memory: list[mmap.mmap] = []

Tell = Callable[[str], None]


def has_gpu() -> bool:
    """Whether there is an NVIDIA device that CUDA_VISIBLE_DEVICES does not hide.

    The variable's first entry empty or -1 hides all (CUDA Programming Guide, Environment Variables).
    """
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0].strip() in ("", "-1"):
        return False
    return any(Path("/dev").glob("nvidia[0-9]*"))


def install(arch: str | None, tell: Tell) -> None:
    """Pretend, as soon as the modules concerned are imported; `tell` hears what was left out of benchmarks.

    Where there is a GPU only what asks it about a compiled kernel: nothing is compiled.
    """
    when_imported("cutlass.utils.hardware_info", _clusters)
    if has_gpu():
        return
    capability = capability_of(arch or "sm_90a")
    fake_distributed.install()
    when_imported("torch", lambda module: _torch(module, capability))
    for name, prefix in (("driver", "cu"), ("runtime", "cuda")):
        when_imported(f"cuda.bindings.{name}", partial(_bindings, prefix=prefix, capability=capability))
    when_imported("cutlass.utils.hardware_info", partial(_hardware_info, capability=capability))
    when_imported("cutlass.cute.runtime", _runtime)
    for name in _BENCHMARKING:
        when_imported(name, partial(_testing, tell=tell))
    when_imported("cudnn", _cudnn)
    when_imported("triton.runtime.driver", partial(_triton_driver, capability=capability))
    when_imported("triton.runtime.jit", _triton_kernels)


def capability_of(arch: str) -> tuple[int, int]:
    """(9, 0) of "sm_90a"."""
    found = re.search(r"([0-9]+)([0-9])", arch)
    return (int(found[1]), int(found[2])) if found else (9, 0)


def multiprocessors(capability: tuple[int, int]) -> int:
    """Of the pretended GPU; an H200's where the capability is none that is known."""
    return _SMS.get(capability, _SMS[9, 0])


def _runtime(module: Any) -> None:
    """A tensor of the DSL keeps what it was made of, in which its elements can be read."""
    owner = module._Tensor
    begin = owner.__init__

    def __init__(self: Any, tensor: Any, *args: Any, **named: Any) -> None:  # noqa: N807
        begin(self, tensor, *args, **named)
        setattr(self, GIVEN, tensor)

    owner.__init__ = __init__


def _torch(module: Any, capability: tuple[int, int]) -> None:
    from layoutcheck.dsl.fake_torch import pretend

    pretend(module, capability, multiprocessors(capability))


def _clusters(module: Any) -> None:
    """The DSL compiles an empty kernel, loads it and asks the driver how many clusters of it are active."""

    def get_max_active_clusters(self: Any, cluster_size: int, *_args: Any, **_named: Any) -> int:
        return self.get_device_multiprocessor_count() // max(1, cluster_size)  # type: ignore[no-any-return]

    module.HardwareInfo.get_max_active_clusters = get_max_active_clusters


def _hardware_info(module: Any, capability: tuple[int, int]) -> None:
    owner = module.HardwareInfo

    def __init__(self: Any, device_id: int = 0) -> None:  # noqa: N807
        self.device_id = device_id
        self.device, self.context, self.driver_version = 0, None, DRIVER_VERSION

    owner.__init__ = __init__
    owner.get_l2_cache_size_in_bytes = lambda _self: L2_BYTES
    owner.get_device_multiprocessor_count = lambda _self: multiprocessors(capability)


def _testing(module: Any, tell: Tell) -> None:
    """A benchmark that runs nothing takes a millisecond."""
    for name in ("benchmark", "do_bench", "do_bench_cudagraph", "do_bench_using_profiling"):
        if hasattr(module, name):
            setattr(module, name, partial(_measured, tell))
    if hasattr(module, "get_workspace_count"):
        module.get_workspace_count = lambda *_args, **_named: 1


def _measured(
    tell: Tell, *args: Any, kernel_arguments: Any = None, workspace_generator: Any = None,
    quantiles: Any = None, return_mode: str = "mean", **named: Any,
) -> float | list[float]:  # fmt: skip
    """A benchmark: it calls once what it measures.

    A program may have no other call of its kernel. The DSL's benchmark is given the arguments, or what makes
    them; Triton's is given none, and may be asked for quantiles or all times. An autotuner would build its
    kernel for every configuration: what reaches nothing new is left out (`Benchmarks`). What goes wrong
    within is of a result that nothing uses.
    """
    function: Any = args[0] if args else named.get("fn", named.get("callable"))
    before = only_calls.set(True)
    try:
        given = kernel_arguments if workspace_generator is None else workspace_generator()
        function(*getattr(given, "args", ()), **getattr(given, "kwargs", {}))
    except NotMeasured:
        tell(f"{MEASURED} would build more here: {MOST_FRUITLESS} builds in turn reach no new line")
    except Exception as error:
        tell(f"{MEASURED} fails here: {type(error).__name__}: {' '.join(str(error).split())[:_MOST_WORDS]}")
    finally:
        only_calls.reset(before)
        if benchmarks.spared:
            tell(SPARED)
    if quantiles is not None:
        return 1.0 if len(quantiles) == 1 else [1.0 for _ in quantiles]
    return [1.0] if return_mode == "all" else 1.0


def _cudnn(module: Any) -> None:
    """cuDNN's frontend gives a handle, which its tests make before all else; nothing is built with it."""
    for name in ("create_handle", "destroy_handle", "set_stream", "get_stream"):
        if hasattr(module, name):
            setattr(module, name, partial(_constant, 0))


def _triton_driver(module: Any, capability: tuple[int, int]) -> None:
    """What Triton asks its driver, which looks for libcuda; a benchmark takes a millisecond."""
    from triton.backends.compiler import GPUTarget  # type: ignore[import-not-found,import-untyped,unused-ignore]

    major, minor = capability
    answers = {
        "is_active": True,
        "get_current_target": GPUTarget("cuda", 10 * major + minor, 32),
        "get_current_device": 0,
        "get_current_stream": 0,
        "get_benchmarker": lambda *_args, **_named: 1.0,
    }
    driver = SimpleNamespace(**{name: partial(_constant, value) for name, value in answers.items()})
    driver.get_active_torch_device = lambda: sys.modules["torch"].device("cuda", 0)
    driver.get_device_interface = lambda: sys.modules["torch"].cuda
    module.driver.set_active(driver)


def _triton_kernels(module: Any) -> None:
    """A Triton kernel is neither compiled nor launched: its results stay as they were allocated."""

    def run(*args: Any, **named: Any) -> None:
        NotLaunched.left_out += 1
        launched((*args, *named.values()))

    module.JITFunction.run = run


def _constant(value: Any, *_args: Any, **_named: Any) -> Any:
    return value


def _bindings(module: Any, prefix: str, capability: tuple[int, int]) -> None:
    """Every function of the bindings answers success and as many values as its documentation lists."""
    result = module.CUresult.CUDA_SUCCESS if prefix == "cu" else module.cudaError_t.cudaSuccess
    values = _attributes(module, prefix, capability)
    counts = {f"{prefix}DeviceGetCount": 1, f"{prefix}GetDeviceCount": 1, f"{prefix}GetDevice": 0}
    versions = dict.fromkeys(
        (f"{prefix}DriverGetVersion", f"{prefix}RuntimeGetVersion", "cudaRuntimeGetVersion"), DRIVER_VERSION
    )
    for name in dir(module):
        function = getattr(module, name)
        if not re.match(rf"{prefix}[A-Z]", name) or isinstance(function, type) or not callable(function):
            continue
        setattr(
            module, name, _answer(module, function.__doc__ or "", result, {**counts, **versions}.get(name))
        )

    def get_attribute(attribute: Any, *_args: Any) -> Any:
        return result, values.get(getattr(attribute, "name", ""), 1)

    setattr(module, f"{prefix}DeviceGetAttribute", get_attribute)
    if hasattr(module, "cuGetErrorString"):
        module.cuGetErrorString = lambda *_: (result, b"no error")


def _answer(module: Any, doc: str, result: Any, value: Any) -> Callable[..., Any]:
    found = _RETURNS.search(doc)
    entries = [] if found is None else [e for e in found[1].split("\n") if _ENTRY.match(e)]
    host = _HOST.match(doc.partition("(")[0]) is not None

    def made(entry: str, *args: Any) -> Any:
        if value is not None:
            return value
        named = _OBJECT.search(entry)
        with contextlib.suppress(Exception):
            if _ADDRESS.match(entry):
                address = _host_memory(int(args[0])) if host else next(_addresses)
                return getattr(module, named[1])(address) if named else address
            return getattr(module, named[1])() if named else 1
        return None

    return lambda *args, **_named: (result, *(made(entry, *args) for entry in entries[1:]))


def _host_memory(size: int) -> int:
    """The address of memory that is there, until the process ends."""
    _memory.append(mmap.mmap(-1, max(1, size)))
    return ctypes.addressof(ctypes.c_char.from_buffer(_memory[-1]))


def _attributes(module: Any, prefix: str, capability: tuple[int, int]) -> dict[str, int]:
    major, minor = capability
    smem = _SMEM_BYTES.get(major, 232448)
    return {
        "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR": major,
        "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR": minor,
        "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT": multiprocessors(capability),
        "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": smem,
        "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": smem + 1024,
        "CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE": L2_BYTES,
        "cudaDevAttrComputeCapabilityMajor": major,
        "cudaDevAttrComputeCapabilityMinor": minor,
        "cudaDevAttrMultiProcessorCount": multiprocessors(capability),
        "cudaDevAttrMaxSharedMemoryPerBlockOptin": smem,
        "cudaDevAttrL2CacheSize": L2_BYTES,
    }
