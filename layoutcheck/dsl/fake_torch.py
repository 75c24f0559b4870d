"""torch without a GPU, made to believe in one: see `fake_cuda`.

A `TorchFunctionMode` sends every "cuda" to the CPU and lets tensors say that they are on the device. What is
computed there, `torch_work` decides.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import os
import sys
import threading
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

from layoutcheck.dsl.fake_answers import answer
from layoutcheck.dsl.imports import when_imported
from layoutcheck.dsl.observe import NotLaunched
from layoutcheck.dsl.torch_work import Work
from layoutcheck.dsl.true_integers import addressed
from layoutcheck.dsl.true_integers import made as made_of

ALIGN_BYTES = 256  # what CUDA's allocator gives, and scripts promise
_HOST_ALIGN_BYTES = 64  # what torch's allocator for the CPU gives: other memory is the program's own
_DEVICE = (
    "_layoutcheck_device"  # of a storage: whether it is the device's; False if it may be the host's, too
)
_DEVICE_KEYS = ("CPU", "CUDA", "CompositeExplicitAutograd")  # what an operator does, and not how it differs
_REGISTERING = ("torch.library", "torch._library.custom_ops", "functools")


def pretend(torch: Any, capability: tuple[int, int], sms: int) -> None:
    """Make `torch` (just imported) believe in one CUDA device."""
    answer(torch, capability, sms)
    _mode(torch)
    when_imported("torch.nn.attention", _any_backend)
    when_imported("torch.autograd.profiler", _profiler)
    torch.testing.assert_close = lambda *_args, **_named: None
    dlpack = torch.Tensor.__dlpack__

    def __dlpack__(self: Any, *_args: Any, **_named: Any) -> Any:  # noqa: N807
        with torch._C.DisableTorchFunction():
            inside = 0
            with contextlib.suppress(RuntimeError):  # no storage
                if getattr(self.untyped_storage(), _DEVICE, False):
                    inside = self.storage_offset() * self.element_size()
            return on_device(dlpack(self.detach()), inside)

    torch.Tensor.__dlpack__ = __dlpack__
    torch.Tensor.__dlpack_device__ = lambda _self: (2, 0)
    torch.Tensor.data_ptr = _rounded(torch.Tensor.data_ptr)
    torch.Tensor.record_stream = lambda *_args: None  # torch refuses a stream of ours before it asks the mode
    no_shortcuts(torch.Tensor)


def _any_backend(module: Any) -> None:
    """Attention is computed by what there is: the backends that a program asks for are those of a GPU."""

    @contextlib.contextmanager
    def sdpa_kernel(*_args: Any, **_named: Any) -> Iterator[None]:
        yield

    module.sdpa_kernel = sdpa_kernel


def _profiler(module: Any) -> None:
    """Profiled is what runs: no kernel does."""
    begin = module.profile.__init__

    def __init__(self: Any, *args: Any, **named: Any) -> None:  # noqa: N807
        named = {key: value for key, value in named.items() if key not in ("use_cuda", "use_device")}
        begin(self, *args, **{**named, "use_cpu": True})

    module.profile.__init__ = __init__


def no_shortcuts(tensor: type) -> None:
    """Take tvm-ffi's ways past `__dlpack__` away: torch's own, and the one that its extension adds later.

    Through them a tensor is where it really is, and its pointer is generic instead of global.
    """
    os.environ["TVM_FFI_DISABLE_TORCH_C_DLPACK"] = "1"
    for name in ("__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__"):
        with contextlib.suppress(AttributeError):
            delattr(tensor, name)


def on_device(capsule: Any, inside: int = 0) -> Any:
    """A DLPack capsule whose tensor lies on CUDA device 0, at an address that nobody may read.

    It is `inside` bytes behind the beginning of its allocation, which is aligned.
    `DLTensor` begins: void* data; DLDevice {int32 device_type (2 = CUDA), int32 device_id}; ... (DLPack 0.8;
    https://dmlc.github.io/dlpack/latest/c_api.html). A versioned tensor has a header of 32 bytes before it.
    """
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    found = name(capsule)
    address = pointer(capsule, found) + (32 if found == b"dltensor_versioned" else 0)
    data = ctypes.c_void_p.from_address(address)
    data.value = _up((data.value or 0) - inside) + inside
    ctypes.c_int32.from_address(address + 8).value = 2
    ctypes.c_int32.from_address(address + 12).value = 0
    return capsule


def _up(address: int) -> int:
    return -(-address // ALIGN_BYTES) * ALIGN_BYTES


def _rounded(function: Any) -> Any:
    """`data_ptr` of a whole allocation is aligned; a view keeps its distance from it.

    Memory that the program brings (`torch.frombuffer`) lies where it does, until it is copied to the device.
    """

    def data_ptr(self: Any) -> int:
        offset, address = int(self.storage_offset() * self.element_size()), int(function(self))
        if (address - offset) % _HOST_ALIGN_BYTES == 0:
            address = _up(address - offset) + offset
        addressed(self, address)
        return address

    return data_ptr


def _operators(mode: Any, work: Work) -> None:
    """Operators that a library registers for CUDA tensors are those of all tensors, and run in the mode.

    torch leaves the mode for them, as it does for an autograd.Function.
    """
    with contextlib.suppress(ImportError, AttributeError):
        library: Any = importlib.import_module("torch.library")
        kernel: Any = getattr(library, "get_kernel", None)
        custom_op, impl, apart = library.custom_op, library.Library.impl, library.fallthrough_kernel
        for_cuda: set[tuple[str, str]] = set()  # what has an implementation for CUDA, by library and name

        def anywhere(function: Any) -> Any:
            def again(*args: Any, **named: Any) -> Any:
                named.pop("device_types", None)
                return function(*args, **named)

            return again

        def implement(self: Any, name: Any, function: Any, key: str = "", **named: Any) -> Any:
            key = key or self.dispatch_key
            if function is apart or _torch_registers() or key not in _DEVICE_KEYS:
                return impl(self, name, function, key, **named)
            operator = (self.ns, str(name))
            if key == "CUDA":
                for_cuda.add(operator)
                key, named["allow_override"] = "CPU", True
            elif key == "CPU" and operator in for_cuda:
                return None
            return impl(self, name, _within(mode, function), key, **named)

        def kernel_of(operator: Any, key: Any) -> Any:  # torch's own for CUDA would ask the driver
            if "CUDA" not in str(key):
                return kernel(operator, key)
            try:
                return kernel(operator, "CPU")
            except RuntimeError:  # there is none
                return SimpleNamespace(call_boxed=partial(_by_shapes, work, operator))

        if kernel is not None:
            library.get_kernel = kernel_of
        library.custom_op = anywhere(custom_op)
        library.Library.impl = implement


def _by_shapes(work: Work, operator: Any, _keys: Any, *args: Any) -> Any:
    """Of an operator's results, or of those of a name such as "aten::add", the shapes and types alone."""
    if isinstance(operator, str):
        library, _, name = operator.partition("::")
        name, _, overload = name.partition(".")
        operator = getattr(getattr(getattr(work.torch.ops, library), name), overload or "default")
    NotLaunched.left_out += 1
    return work.shaped(operator, args, {})


def _torch_registers() -> bool:
    """Whether torch implements an operator of its own, and not somebody's by torch's functions."""
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__") in _REGISTERING:
        frame = frame.f_back
    return frame is not None and str(frame.f_globals.get("__name__")).startswith("torch.")


def _within(mode: Any, function: Any) -> Any:
    @functools.wraps(function)
    def again(*args: Any, **named: Any) -> Any:
        with mode():
            return function(*args, **named)

    return again


def _place(torch: Any, value: Any) -> Any:
    """A device, or whatever was given, where "cuda" is the CPU."""
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("cpu")
    if isinstance(value, str) and value.split(":")[0] == "cuda":
        return "cpu"
    return value


class _Memory:
    """Whose memory a tensor has: the device's, as far as that is known."""

    def __init__(self, torch: Any) -> None:
        self.torch, self.begins = torch, torch.Tensor.data_ptr

    def brought(self, made: Any) -> Any:
        """A copy to the device is an allocation of its own; so is one of a part of the host's memory."""
        with contextlib.suppress(Exception), self.torch._C.DisableTorchFunction():  # it may have no memory
            inside = made.storage_offset() * made.element_size()
            there = getattr(made.untyped_storage(), _DEVICE, None)
            if (self.begins(made) - inside) % _HOST_ALIGN_BYTES or (inside and not there):
                given, made, there = made, made.clone(), None
                made_of("clone", (given,), made)
            if there is None:
                setattr(made.untyped_storage(), _DEVICE, True)
        return made

    def derived(self, name: str, given: Any, made: Any) -> None:
        """What is made of the device's memory is there, too.

        A copy on the host is the same tensor here: nobody knows whose it is.
        """
        with contextlib.suppress(Exception), self.torch._C.DisableTorchFunction():
            tensors = [one for one in given if isinstance(one, self.torch.Tensor)]
            if any(getattr(one.untyped_storage(), _DEVICE, False) for one in tensors):
                host = name == "cpu" or (name == "to" and "cpu" in map(str, given))
                for one in made if isinstance(made, (tuple, list)) else (made,):
                    if host or all(one is not other for other in tensors):
                        setattr(one.untyped_storage(), _DEVICE, not host)


def _mode(torch: Any) -> None:
    from torch.overrides import TorchFunctionMode

    place, work, memory = functools.partial(_place, torch), Work(torch), _Memory(torch)
    is_cuda, device_of = torch.Tensor.is_cuda.__get__, torch.Tensor.device.__get__
    device = torch.device("cuda", 0)

    def where(func: Any, name: str, args: Any) -> Any:
        """What a tensor says of its device; None where something else is asked."""
        if name == "__get__" and func == is_cuda:
            return True
        if name == "__get__" and func == device_of and func(*args).type == "cpu":
            return device
        if name == "get_device" and args[0].device.type == "cpu":
            return 0
        return memory.brought(args[0]) if name == "cuda" else args[0] if name == "pin_memory" else None

    class Pretended(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.device:  # made to be looked at; where it is used, it is the CPU
                return func(*args, **(kwargs or {}))
            name = getattr(func, "__name__", "")
            if (said := where(func, name, args)) is not None:
                return said
            given, named = list(args), dict(kwargs or {})
            named.pop("pin_memory", None)
            if name == "to" and len(given) > 1 and type(given[1]) is int:  # the index of a GPU
                given[1] = device
            if type(named.get("device")) is int:
                named["device"] = device
            args, placed = tuple(map(place, given)), {key: place(value) for key, value in named.items()}
            made = work.do(func, name, args, placed)
            moved = [*map(id, args), *map(id, placed.values())] != [*map(id, given), *map(id, named.values())]
            if moved:
                return memory.brought(made)
            memory.derived(name, (*args, *placed.values()), made)
            return made

    Pretended().__enter__()
    _threads(Pretended)
    _autograd(torch, Pretended)
    _operators(Pretended, work)
    _default_device(torch)
    _classes(torch, Pretended)


def _classes(torch: Any, mode: Any) -> None:
    """A library's own class of tensors: torch makes one around others past the mode, and leaves it there.

    Where the device of such a tensor is none that torch has, an operation on it aborts.
    """
    make = torch.Tensor._make_wrapper_subclass

    def _make_wrapper_subclass(*args: Any, **named: Any) -> Any:
        named = {key: _place(torch, value) for key, value in named.items() if key != "pin_memory"}
        return make(*args, **named)

    torch.Tensor._make_wrapper_subclass = staticmethod(_make_wrapper_subclass)
    _back_within(mode, torch.Tensor, classmethod, ("__torch_function__", "__torch_dispatch__"), "torch")


def _back_within(mode: Any, owner: Any, kind: Any, names: tuple[str, ...], apart: str = "") -> None:
    """Methods of this kind and of these names run in the mode, in classes derived of `owner`.

    Those of the package `apart` are left as they are.
    """

    def __init_subclass__(cls: Any, **named: Any) -> None:  # noqa: N807
        super(owner, cls).__init_subclass__(**named)
        for name in names if cls.__module__.partition(".")[0] != apart else ():
            if isinstance(cls.__dict__.get(name), kind):
                setattr(cls, name, kind(_within(mode, cls.__dict__[name].__func__)))

    hook: Any = __init_subclass__
    owner.__init_subclass__ = classmethod(hook)


def _default_device(torch: Any) -> None:
    """`with torch.device("cuda")` and `set_default_device` name a device below our mode: the CPU."""
    context = importlib.import_module("torch.utils._device").DeviceContext
    begin = context.__init__

    def __init__(self: Any, device: Any) -> None:  # noqa: N807
        begin(self, device)
        if self.device.type == "cuda":
            self.device = torch.device("cpu")

    context.__init__ = __init__


def _threads(mode: Any) -> None:
    """torch has a mode for each thread: what a program starts gets its own."""
    start = threading.Thread.start

    def within(self: Any) -> None:
        self.run = _within(mode, self.run)
        start(self)

    threading.Thread.start = within  # type: ignore[method-assign]


def _autograd(torch: Any, mode: Any) -> None:
    """torch leaves the mode for the functions of an autograd.Function; go back to it there."""
    _back_within(mode, torch.autograd.Function, staticmethod, ("forward", "backward"))
