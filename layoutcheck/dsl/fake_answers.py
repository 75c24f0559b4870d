"""What `torch.cuda` says of the one device that `fake_torch` makes torch believe in."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

CUDA = "13.0"  # torch.version.cuda, of a torch that was built without
_NAMES = {  # as torch gives them: scripts look up peak rates by them
    (8, 0): "NVIDIA A100-SXM4-80GB", (8, 9): "NVIDIA L40S", (9, 0): "NVIDIA H200", (10, 0): "NVIDIA B200",
    (10, 3): "NVIDIA GB300", (12, 0): "NVIDIA GeForce RTX 5090",
}  # fmt: skip


class _Anything:
    """An event, a stream, a graph or a context: whatever is asked of it does nothing."""

    cuda_stream = cuda_event = 0
    device_index = 0
    device: ClassVar[Any] = None  # torch's first CUDA device, once torch is there

    def __init__(self, *_args: Any, **_named: Any) -> None:
        pass

    def __enter__(self) -> _Anything:
        return self

    def __exit__(self, *_args: Any) -> None:
        pass

    def __call__(self, function: Any = None, *_args: Any, **_named: Any) -> Any:
        return function

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing()

    def elapsed_time(self, *_args: Any) -> float:
        """A millisecond."""
        return 1.0

    def query(self) -> bool:
        """Done."""
        return True


def _nothing() -> Any:
    """A function that does nothing; one of its own for each name, as torch.compile wants it."""
    return lambda *_args, **_named: None


def answer(torch: Any, capability: tuple[int, int], sms: int) -> None:
    """Let `torch.cuda` and its kin speak of one device; what they are told to do, they leave."""
    cuda = torch.cuda
    torch.version.cuda = torch.version.cuda or CUDA
    major, minor = capability
    properties = SimpleNamespace(
        name=_NAMES.get(capability, f"pretended sm_{major}{minor}"), major=major, minor=minor,
        multi_processor_count=sms,
        total_memory=140 << 30, warp_size=32, max_threads_per_multi_processor=2048, L2_cache_size=50 << 20,
        shared_memory_per_block=49152, shared_memory_per_block_optin=232448,
        shared_memory_per_multiprocessor=233472,
        regs_per_multiprocessor=65536, is_integrated=0, is_multi_gpu_board=0, gcnArchName="", uuid="",
        clock_rate=1980000, memory_clock_rate=3201000, memory_bus_width=6144,  # kHz and bits, an H200's
    )  # fmt: skip
    stream = _Anything()
    _Anything.device = torch.device("cuda", 0)
    answers: dict[str, Any] = {
        "is_available": True, "device_count": 1, "current_device": 0, "is_initialized": True,
        "get_device_capability": capability, "get_device_properties": properties,
        "get_device_name": properties.name, "current_stream": stream, "default_stream": stream,
        "is_current_stream_capturing": False, "is_bf16_supported": True,
        "mem_get_info": (130 << 30, 140 << 30),
        "memory_allocated": 0, "max_memory_allocated": 0, "memory_reserved": 0, "max_memory_reserved": 0,
        "memory_stats": {}, "memory_summary": "", "current_blas_handle": 0, "can_device_access_peer": False,
        "get_arch_list": [f"sm_{major}{minor}"], "get_rng_state": torch.ByteTensor(16),
    }  # fmt: skip
    for module in (cuda, cuda.memory):
        _answer(module, answers)
    _accelerator(torch)
    answers = {"getDevice": 0, "getDeviceCount": 1, "exchangeDevice": 0, "maybeExchangeDevice": 0}
    _answer(torch._C, {f"_cuda_{name}": answer for name, answer in answers.items()})
    _answer(torch._C, dict.fromkeys(("_cuda_init", "_cuda_setDevice", "_cuda_synchronize")))
    _answer(cuda, {"_exchange_device": 0, "_maybe_exchange_device": 0})
    for name in (
        "init", "_lazy_init", "synchronize", "empty_cache", "set_device", "manual_seed", "manual_seed_all",
        "set_stream", "set_rng_state", "reset_peak_memory_stats", "ipc_collect", "cudart",
    ):  # fmt: skip
        setattr(cuda, name, _nothing())
    for name in (
        "Stream", "Event", "ExternalStream", "CUDAGraph", "graph", "stream", "device", "StreamContext",
    ):  # fmt: skip
        setattr(cuda, name, _Anything)
    for name in ("range_push", "range_pop", "mark", "range"):
        setattr(cuda.nvtx, name, _Anything if name == "range" else _nothing())

    class Generator(torch.Generator):  # type: ignore[misc]
        """A generator of random numbers on the CPU, whatever device was asked for."""

        def __new__(cls, *_args: Any, **_named: Any) -> Any:
            return super().__new__(cls, "cpu")

    torch.Generator = Generator


def _accelerator(torch: Any) -> None:
    """The device under its general name, which torch has from 2.6 on."""
    answers: dict[str, Any] = {
        "is_available": True, "device_count": 1, "current_device_index": 0, "current_device_idx": 0,
        "current_accelerator": torch.device("cuda"), "current_stream": _Anything(), "synchronize": None,
        "set_device_index": None, "set_device_idx": None, "set_stream": None,
    }  # fmt: skip
    _answer(getattr(torch, "accelerator", None), answers)


def _answer(module: Any, answers: dict[str, Any]) -> None:
    """Make functions of a module return these values; those that this torch lacks stay away."""
    for name, value in answers.items():
        if hasattr(module, name):
            setattr(module, name, lambda *_args, value=value, **_named: value)
