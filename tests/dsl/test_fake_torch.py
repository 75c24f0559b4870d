"""torch that is made to believe in a GPU: how its tensors get to the DSL."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from typing import Any

import pytest

from layoutcheck.dsl.fake_cuda import capability_of, multiprocessors
from layoutcheck.dsl.fake_torch import no_shortcuts, on_device
from layoutcheck.numerics.resources import DEVICES as REAL
from tests.environment import python_path

HUGE = """
import torch
from layoutcheck.dsl.fake_torch import pretend
from layoutcheck.dsl.torch_work import HUGE
pretend(torch, (9, 0), 132)
def computed(size, **named):
    made = torch.zeros(size // 2, 2, **named).T + 1
    assert made.shape == (2, size // 2) and made.stride() == (1, 2)
    return made[1, 5].item() == 1
print(*(computed(HUGE + 2 * more, **named) for more in (0, 1) for named in (
    {}, {"dtype": torch.int32}, {"requires_grad": True}, {"dtype": torch.float64})))
print((torch.zeros(HUGE + 1) + torch.zeros(HUGE + 1).half()).dtype, torch.zeros(HUGE + 1).half().dtype)
"""

OPERATORS = """
import torch
from layoutcheck.dsl.fake_torch import pretend
pretend(torch, (9, 0), 132)
seen, S = [], {"schema": "(Tensor x) -> Tensor", "mutates_args": ()}
def look(x): seen.append(x.device.type); return x + 1
def never(x): raise RuntimeError("that of the CPU")
own = torch.library.custom_op("n::a", look, **S)
cuda = torch.library.custom_op("n::b", look, device_types="cuda", **S)
late = torch.library.custom_op("n::c", never, **S)
late.register_kernel("cuda", look)
late.register_kernel("cpu", never)
torch.library.define("n::d", "(Tensor x) -> Tensor")
torch.library.impl("n::d", "CUDA", look)
library = torch.library.Library("m", "DEF")
library.define("e(Tensor x) -> Tensor")
library.impl("e", never, "CPU")
library.impl("e", look, "CUDA")
for one in (own, cuda, late, torch.ops.n.d, torch.ops.m.e): one(torch.zeros(2, device="cuda"))
get_kernel = getattr(torch.library, "get_kernel", None)  # to fall back to torch's own kernel for CUDA
if get_kernel is not None:
    assert "CPU" in str(get_kernel("aten::neg", "CUDA"))
    given = torch.zeros(3, 8), torch.ones(3, 8), [8], torch.ones(3, 1), torch.ones(8), [True, True]
    made = get_kernel("aten::_fused_rms_norm_backward", "CUDA").call_boxed(None, *given)  # the CPU has none
    assert [(one.shape, one.any().item()) for one in made] == [((3, 8), False), ((8,), False)]
print(*seen)
"""

DEVICES = """
import torch
from tests.dsl.test_fake_torch import begins
from layoutcheck.dsl.fake_torch import pretend
from layoutcheck.dsl.torch_work import BIG
pretend(torch, (9, 0), 132)
many, two = torch.randn(BIG + 1, device=0), torch.zeros(2)
print(*(one.device for one in (torch.zeros(2, device=0), two.to(0), two.to(device=0), many)))
print(two.to(0, torch.float16).dtype, many.isfinite().all().item())
assert all(one.min() == one.max() == 0.5 for one in (many, torch.rand((BIG, 2))))
two.record_stream(torch.cuda.current_stream())
assert two.get_device() == 0 and two.to("meta").get_device() == -1
assert torch.cuda.get_device_name() == "NVIDIA H200"  # benchmarks divide by the peak rate of a name
of = torch.cuda.get_device_properties(0)  # plots name the peak
assert of.memory_clock_rate * 1e3 * 2 * of.memory_bus_width / 8 > 4.5e12 and of.clock_rate and of.uuid == ""
assert str(torch.cuda.current_stream().device) == "cuda:0"  # tvm_ffi.use_torch_stream reads it
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor() as threads:
    print(threads.submit(lambda: torch.zeros(2, device="cuda").device).result())
print(*(torch.randint(0, 8, (BIG + 1,), device=0, **named).dtype for named in ({}, {"dtype": torch.int32})))
assert torch.cuda.current_blas_handle() == torch.cuda.memory.memory_allocated() == 0
assert torch.cuda.memory_stats() == {}
memory = bytearray(512)  # which the program brings: it lies where it does, and a copy on the device does not
base = torch.frombuffer(memory, dtype=torch.uint8)
odd = torch.frombuffer(memory, dtype=torch.uint8, offset=(1 - base.data_ptr()) % 16, count=128)
assert odd.data_ptr() % 16 == 1
there = odd.cuda(), odd.to("cuda"), odd.to(0), odd.to(device=0), torch.as_tensor(odd, device="cuda")
assert all(one.data_ptr() % 256 == 0 for one in there) and two.cuda() is two is two.to("cuda")
assert two[1:].data_ptr() % 256 == two[1:].cuda().data_ptr() % 256 == 4
one, more = torch.zeros(2)[1:].cuda(), torch.zeros(2)  # a copy of a part is an allocation of its own
one.fill_(3), more.copy_(two)
two.cpu()  # which is `two` here: nobody knows whose its parts are
placed = one, (torch.zeros(3, device=0) + 1)[1:], two[1:], more[1:].cuda(), more[1:]
print(*(begins(one.__dlpack__()) % 256 for one in placed), one.item())
from torch.nn.attention import SDPBackend, sdpa_kernel
with sdpa_kernel([SDPBackend.CUDNN_ATTENTION]):
    print(tuple(torch.nn.functional.scaled_dot_product_attention(*[two.reshape(1, 1, 2, 1)] * 3).shape))
"""

ACCELERATOR = """
import torch
from layoutcheck.dsl.fake_torch import pretend
pretend(torch, (9, 0), 132)
print(torch.accelerator.current_accelerator().type, torch.accelerator.is_available())
print(torch.accelerator.device_count(), torch.accelerator.synchronize())
"""

PROFILED = """
import torch
from torch.profiler import ProfilerActivity, profile
from layoutcheck.dsl.fake_torch import pretend
pretend(torch, (10, 0), 132)
with profile(activities=[ProfilerActivity.CUDA], record_shapes=True) as seen: torch.zeros(2).add(1)
print("aten::add " in seen.key_averages().table(sort_by="cuda_time_total", row_limit=20))
"""

CLASSES = """
import torch
from layoutcheck.dsl.fake_torch import pretend
from layoutcheck.dsl.torch_work import BIG
pretend(torch, (10, 0), 132)
seen = []
class Wrapped(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        given = {"dtype": inner.dtype, "device": inner.device, "requires_grad": inner.requires_grad}
        made = torch.Tensor._make_wrapper_subclass(cls, inner.size(), **given)
        made.inner = inner
        return made
    @classmethod
    def __torch_function__(cls, function, types, args=(), named={}):
        if function is torch.matmul:
            seen.append((args[1].inner.device.type, torch.zeros(2, device="cuda").is_cuda))
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **named)
    @classmethod
    def __torch_dispatch__(cls, operator, types, args, named={}):
        if operator.name() != "aten::_to_copy":
            seen.append((operator.name(), torch.zeros(2, device="cuda").is_cuda))
        return operator(*(one.inner if isinstance(one, cls) else one for one in args), **(named or {}))
class Unwrapped(torch.autograd.Function):
    @staticmethod
    def forward(context, one): return one.inner
    @staticmethod
    def backward(context, gradient): return gradient
side = int((2 * BIG) ** 0.5)
weight = Wrapped(torch.ones(side, side, device="cuda"))
print(torch.matmul(torch.ones(2, side), weight).sum().item() == 2 * side**2)
print(*(Wrapped(torch.ones(2)) + 1).tolist(), Wrapped(torch.ones(2)).device, *seen[:2])
print(Unwrapped.apply(Wrapped(torch.ones(2, device="cuda", requires_grad=True))).sum().item())
"""

GRADIENTS = """
import torch
from layoutcheck.dsl.fake_torch import pretend
from layoutcheck.dsl.torch_work import BIG
from layoutcheck.dsl.observe import NotLaunched
pretend(torch, (10, 0), 132)
one, two = (torch.ones(BIG, size, device="cuda", requires_grad=size == 2) for size in (2, 3))
made = torch.einsum("ij,ik->jk", one, two) + torch.mm(one.T, two)
torch.mm(one.T, two)[0].mul_(2)  # it is no view, which could not be changed
print(NotLaunched.left_out - 1, made.requires_grad, torch.mm(two.T, two).requires_grad)
made.sum().backward()
print(one.grad.shape == one.shape, one.grad.any().item(), two.grad)
with torch.no_grad(): print(torch.mm(one.T, two).requires_grad)
"""

OF_A_GPU = """
import torch
from layoutcheck.dsl.fake_torch import pretend
from layoutcheck.dsl.observe import NotLaunched
pretend(torch, (10, 0), 132)
given, mask = torch.ones(2, 4, device="cuda").half(), torch.ones(2, 4, dtype=torch.uint8)
into = torch.zeros_like(given)
made = torch._masked_scale(given, mask, 2.0)
print(made.dtype, made.numel(), made.stride(), made.device, NotLaunched.left_out)
print(torch.ops.aten._masked_scale.out(given, mask, 2.0, out=into) is into, NotLaunched.left_out)
try: torch._masked_scale(given.float().to_sparse(), mask, 2.0)
except NotImplementedError as error: print("Sparse" in str(error), NotLaunched.left_out)
tall = torch.ones(4, 4, device="cuda").bfloat16()
means, norm = torch.zeros(4, 1), torch.ops.aten.native_layer_norm_backward
made = norm(tall, tall, [4], means, means, tall[0], None, [True, True, False])
print(made[0].dtype, made[0].device, made[1].dtype, NotLaunched.left_out)
try: torch.zeros(2, 2) @ torch.zeros(3, 3)
except RuntimeError as error: print("cannot be multiplied" in str(error))
"""

DISTRIBUTED = """
import os, torch, torch.distributed as dist, torch.distributed._symmetric_memory as symmetric
from layoutcheck.dsl import fake_distributed
from layoutcheck.dsl.fake_torch import pretend
pretend(torch, (9, 0), 132)
for name in ("RANK", "WORLD_SIZE"): os.environ.pop(name, None)
try: os.environ["RANK"]
except KeyError: fake_distributed.install()
print(os.environ["RANK"], os.environ.get("RANK"), os.getenv("WORLD_SIZE", "none"), "RANK" in os.environ)
try: os.environ["NO_SUCH_NAME"]
except KeyError: print(os.environ.setdefault("WORLD_SIZE", "2"))
dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
tensor = torch.ones(3, device="cuda")
dist.all_reduce(tensor)
dist.barrier(group=dist.new_group([0], backend="nccl"))
print(dist.get_rank(), dist.get_world_size(), tensor.tolist())
handle = symmetric.rendezvous(symmetric.empty(4, 8, dtype=torch.float16, device="cuda"), dist.group.WORLD)
print(len(handle.buffer_ptrs), handle.get_buffer(1, (4, 8), torch.float16).device, handle.barrier(channel=0))
dist.destroy_process_group()
dist.init_process_group("nccl", rank=3, world_size=4)
print(dist.get_rank(), dist.get_world_size())
"""


def begins(capsule: Any) -> int:
    """The address in a DLPack capsule, whose `DLTensor` begins with it."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.c_void_p.from_address(get(capsule, b"dltensor")).value or 0


def test_a_view_keeps_its_distance_from_its_allocation() -> None:
    """Which is aligned as CUDA's are: a promise of 16 bytes that the view breaks is refused by the DSL."""
    numpy = pytest.importorskip("numpy")
    memory = numpy.zeros(64, numpy.float32)
    assert begins(on_device(memory[1:].__dlpack__(), 4)) % 256 == 4
    assert begins(on_device(memory[1:].__dlpack__())) % 256 == 0


@pytest.mark.parametrize("names", [(), ("__dlpack_c_exchange_api__",), ("__c_dlpack_exchange_api__",)])
def test_a_tensor_has_no_way_past_its_dlpack(names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Past it a tensor lies on the CPU, and a copy of it is refused: its pointer is generic."""
    monkeypatch.setenv("TVM_FFI_DISABLE_TORCH_C_DLPACK", "0")
    tensor = type("Tensor", (), dict.fromkeys(names))
    no_shortcuts(tensor)
    assert not [name for name in names if hasattr(tensor, name)]
    assert os.environ["TVM_FFI_DISABLE_TORCH_C_DLPACK"] == "1"  # its extension would put one back


def printed(program: str) -> tuple[str, str]:
    """What a program of torch writes: its output, and its errors."""
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([python_path(), os.environ.get("PYTHONPATH", "")])},
    )  # fmt: skip
    return done.stdout, done.stderr


def test_arithmetic_of_huge_floats_is_left_out() -> None:
    """That of integers, of fewer numbers or with a gradient is not; shapes and types are as ever."""
    out, errors = printed(HUGE)
    few, many = "True True True True", "False True True False"
    assert out.split("\n")[:2] == [f"{few} {many}", "torch.float32 torch.float16"], errors


def test_operators_for_cuda_run_and_see_their_tensors_there() -> None:
    """However they are registered; one of the same name for the CPU does not come before."""
    out, errors = printed(OPERATORS)
    assert out.split() == ["cuda"] * 5, errors


def test_a_device_may_be_an_index_and_random_numbers_are_numbers() -> None:
    out, errors = printed(DEVICES)
    told = [*["cuda:0"] * 4, "torch.float16", "True", "cuda:0", "torch.int64", "torch.int32"]
    assert out.split() == [*told, "0", "4", "0", "0", "0", "3.0", "(1,", "1,", "2,", "1)"], errors


def test_the_device_has_its_general_name() -> None:
    """`torch.testing._internal` asks by it while it is imported."""
    out, errors = printed(ACCELERATOR)
    assert out.splitlines() == ["cuda True", "1 None"], errors


def test_a_profiler_of_the_gpu_sees_what_runs() -> None:
    out, errors = printed(PROFILED)
    assert out.split() == ["True"], errors


def test_a_class_of_tensors_computes_what_it_says() -> None:
    """Its product is not left out, for it may call kernels; what it makes on the device is there.

    torch 2.14 ends with SIGABRT where a wrapper of a device that it has not is given to an autograd.Function.
    """
    out, errors = printed(CLASSES)
    told = "2.0 2.0 cuda:0 ('cuda', True) ('aten::mm', True)"
    assert out.splitlines() == ["True", told, "2.0"], errors


def test_what_is_left_out_has_a_gradient() -> None:
    """A program that asks for it goes on to the kernels of its own backward pass."""
    out, errors = printed(GRADIENTS)
    assert out.splitlines() == ["2 True False", "True False None", "False"], errors


def test_an_operator_that_torch_has_for_a_gpu_alone_gives_a_tensor() -> None:
    out, errors = printed(OF_A_GPU)
    assert out.splitlines() == [
        "torch.float16 8 (4, 1) cuda:0 1", "True 2", "True 2", "torch.bfloat16 cuda:0 torch.bfloat16 3",
        "True",
    ], errors  # fmt: skip


def test_a_script_for_torchrun_is_one_rank_of_as_many_as_it_says() -> None:
    """A launcher's variables are there for a script that cannot do without them, and for no other."""
    out, errors = printed(DISTRIBUTED)
    assert out.splitlines() == [
        "0 None none False", "2", "0 2 [1.0, 1.0, 1.0]", "2 cuda:0 None", "3 4",
    ], errors  # fmt: skip


def test_a_pretended_gpu_has_as_many_multiprocessors_as_the_real_one() -> None:
    """Programs choose kernels by them: one for a GB300 asks for its 152."""
    known = {capability_of(one.arch): one.multiprocessors for one in REAL.values()}
    assert multiprocessors((10, 3)) == 152 and multiprocessors((9, 9)) == 132
    assert {each: multiprocessors(each) for each in known if each >= (8, 9)} == {
        each: count for each, count in known.items() if each >= (8, 9)
    }
