"""The pretended GPU, as other libraries ask for it."""

from __future__ import annotations

import ctypes
import importlib
import os
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from layoutcheck.dsl import fake_cuda, loaded
from layoutcheck.dsl.called import MOST_FRUITLESS, MOST_MEASURED, Benchmarks, NotMeasured, only_calls
from layoutcheck.dsl.loaded import Loaded, watch_loads


def test_triton_finds_a_driver_and_launches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    targets: list[tuple[object, ...]] = []
    compiler = ModuleType("triton.backends.compiler")
    compiler.GPUTarget = lambda *words: targets.append(words) or words  # type: ignore[attr-defined]
    for name, module in (
        ("triton", ModuleType("triton")),
        ("triton.backends", ModuleType("triton.backends")),
    ):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "triton.backends.compiler", compiler)
    active: list[SimpleNamespace] = []
    fake_cuda._triton_driver(SimpleNamespace(driver=SimpleNamespace(set_active=active.append)), (10, 0))
    (driver,) = active
    assert driver.get_current_target() == ("cuda", 100, 32) == targets[0]
    assert driver.get_current_device() == 0 and driver.is_active()
    assert driver.get_benchmarker()(lambda: 1 / 0) == 1.0

    class Kernel:
        def run(self, *_args: object, **_named: object) -> None:
            raise AssertionError("it is launched")

    fake_cuda._triton_kernels(SimpleNamespace(JITFunction=Kernel))
    assert Kernel().run(1, grid=(1,), warmup=False) is None


def test_cudnn_gives_a_handle_where_it_has_such_functions() -> None:
    def refuse() -> int:
        raise RuntimeError("cudnnHandle Create failed")

    module = SimpleNamespace(create_handle=refuse, version="1.23")
    fake_cuda._cudnn(module)
    assert module.create_handle() == 0 and vars(module).keys() == {"create_handle", "version"}


def test_a_benchmark_calls_once_what_it_measures() -> None:
    """With the arguments that it is given or that a function makes; what goes wrong there ends nothing."""
    module = SimpleNamespace(benchmark=None, do_bench=None, other=None, get_workspace_count=None)
    told: list[str] = []
    fake_cuda._testing(module, told.append)
    assert module.other is None and module.get_workspace_count() == 1
    called: list[object] = []

    def measured(*args: object, **named: object) -> None:
        called.append((args, named, only_calls.get()))
        raise ValueError

    given = SimpleNamespace(args=(3,), kwargs={"scale": 5})
    assert module.do_bench(measured, warmup=5, rep=25) == 1.0
    assert module.benchmark(measured, kernel_arguments=given, iterations=100) == 1.0
    assert module.benchmark(measured, workspace_generator=lambda: given, workspace_count=9) == 1.0
    assert module.benchmark(measured, workspace_generator=lambda: 1 / 0) == 1.0
    assert called == [((), {}, True), ((3,), {"scale": 5}, True), ((3,), {"scale": 5}, True)]
    median, low, high = module.do_bench(fn=measured, quantiles=[0.5, 0.2, 0.8])
    assert median == low == high == module.do_bench(measured, quantiles=[0.5]) == 1.0 and len(called) == 5
    assert module.do_bench(measured, return_mode="all") == [1.0]
    assert module.benchmark(callable=measured, kernel_arguments=given) == 1.0 and called[-1] == called[1]
    assert not only_calls.get()

    def more() -> None:
        raise NotMeasured

    assert module.do_bench(more) == 1.0
    assert set(told) == {
        "what a benchmark calls fails here: ValueError: ",
        "what a benchmark calls fails here: ZeroDivisionError: division by zero",
        "what a benchmark calls would build more here: 8 builds in turn reach no new line",
    }


def test_a_benchmark_builds_on_while_that_reaches_new_lines() -> None:
    """The first builds of each function are judged whatever they reach, and all that no benchmark calls."""
    kept = Benchmarks()

    def build(function: str, *lines: int) -> bool:
        kept.begin(function)
        return kept.keep(
            f'loc(callsite("cute.copy"("k.py":{line}:4) at "main"("m.py":3:1)))' for line in lines
        )

    assert [build("f", 1) for _ in range(20)] == [True] * 20 and not kept.spared
    token = only_calls.set(True)
    try:
        assert [build("g", 1) for _ in range(6)] == [True] * MOST_MEASURED + [False] * 2 and kept.spared == 2
        assert build("g", 1, 2) and not build("g", 2)
        assert not any(build("g", 1) for _ in range(MOST_FRUITLESS - 1))
        with pytest.raises(NotMeasured):
            build("g", 3)
        assert build("h", 1)
    finally:
        only_calls.reset(token)
    assert build("g", 1)


def test_allocations_have_addresses_and_host_memory_is_there() -> None:
    def pretended(name: str, prefix: str) -> Any:
        module = SimpleNamespace(**vars(importlib.import_module(f"cuda.bindings.{name}")))
        fake_cuda._bindings(module, prefix, (9, 0))
        return module

    runtime, driver = pretended("runtime", "cuda"), pretended("driver", "cu")
    (_, first), (_, second), (_, third, pitch) = (
        runtime.cudaMalloc(4), runtime.cudaMallocAsync(4, 0), driver.cuMemAllocPitch(64, 8, 4),
    )  # fmt: skip
    assert isinstance(third, driver.CUdeviceptr) and pitch == 1
    assert 0 < first < second < int(third) and not {first % 256, second % 256, int(third) % 256} - {0}
    for _, address in (
        runtime.cudaMallocHost(9), runtime.cudaHostAlloc(9, 0), runtime.cudaMallocManaged(9, 1),
        driver.cuMemAllocHost(9), driver.cuMemHostAlloc(9, 0), driver.cuMemAllocManaged(9, 1),
    ):  # fmt: skip
        ctypes.memset(int(address), 7, 9)
        assert ctypes.string_at(int(address), 10) == bytes([7] * 9 + [0])


@pytest.mark.parametrize(("content", "foreign"), [(b"\0kernel_cutlass_k_0", False), (b"other", True)])
def test_what_ctypes_and_other_packages_give_the_driver_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, foreign: bool
) -> None:
    """`memcmp` stands for a function of the driver, called as such; it compares nothing here."""
    (tmp_path / "image").write_bytes(content)
    monkeypatch.setattr(loaded, "_LOADS", re.compile("memcmp|cuModuleLoad"))
    monkeypatch.setattr(loaded, "_BY_NAME", "strlen")
    cupy = ModuleType("cupy")
    vars(cupy).update(RawModule=type("RawModule", (), {"__init__": lambda self, **named: None}))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    own, told = cupy.RawModule, list[Loaded]()
    undo = watch_loads(told.append, lambda function: function)
    library = ctypes.CDLL(None)
    library.memcmp.restype = ctypes.c_long
    kept = ctypes.create_string_buffer(content, len(content))
    for image in (content, kept, ctypes.c_char_p(content)):
        assert library.memcmp(None, image, ctypes.c_size_t(0)) == 0
    assert (
        library["memcmp"](None, None, ctypes.c_size_t(0)) == 0 == library.memcmp(None, ctypes.c_void_p(0), 0)
    )
    assert library.memcmp.restype is ctypes.c_long and library.strlen(b"cuModuleLoadData") == 16
    assert library.strlen(b"kernel_cutlass_") == 15 and library.getpid() == os.getpid()
    assert isinstance(cupy.RawModule(code=content), own) and cupy.RawModule(path=str(tmp_path / "image"))
    names = [one.path.partition(" at ")[0] for one in told]
    assert names == [*["memcmp"] * 4, "strlen", "cupy.RawModule", str(tmp_path / "image")]
    assert [one.foreign for one in told] == [*[foreign] * 3, True, True, foreign, foreign]
    assert all(f"{__file__}:" in one.path for one in told[:-1])
    helper = "/v/lib/python3.12/site-packages/cuda/core/module.py"
    exec(compile("load(None, b'', 0)", helper, "exec"), {"load": library.memcmp})
    exec(compile("load(None, b'', 0)", "/lib/python3.12/json.py", "exec"), {"load": library.memcmp})
    assert len(told) == 8 and f"{__file__}:" in told[-1].path
    undo()
    assert cupy.RawModule is own and ctypes.CDLL(None).memcmp(None, content, 0) == 0 and len(told) == 8


@pytest.mark.parametrize("function", ["cuModuleLoadData", "cudaLibraryLoadFromFile"])
@pytest.mark.parametrize(("content", "foreign"), [(b"\0kernel_cutlass_k_0", False), (b"other", True)])
def test_what_the_driver_loads_is_the_dsls_by_its_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, content: bytes, foreign: bool
) -> None:
    """Of the user's calls: those of the DSL, and of nothing, are none."""
    (tmp_path / "image").write_bytes(content)
    given: Any = content if function.endswith("Data") else str(tmp_path / "image").encode()
    driver = ModuleType("cuda.bindings.driver")
    loads = SimpleNamespace(**{function: lambda image, *_: (0, image), "cuInit": None})
    vars(driver).update(vars(loads))
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", driver)
    for name in ("cuda.bindings.runtime", "cuda.cuda", "cuda.cudart", "tvm_ffi.module"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    vars(sys.modules["tvm_ffi.module"])["load_module"] = len
    told: list[Loaded] = []
    undo = watch_loads(told.append, lambda function: function)
    load = vars(driver)[function]
    assert load(given, 3) == (0, given) and load(None) == (0, None)
    where = f"{function} at {__file__}:" if function.endswith("Data") else str(tmp_path / "image")
    assert [(one.path.startswith(where), one.foreign) for one in told] == [(True, foreign)]
    exec(compile("load(given)", "/lib/python3.12/json.py", "exec"), {"load": load, "given": given})
    vars(sys.modules["tvm_ffi.module"])["load_module"](str(tmp_path / "image"))
    assert len(told) == 1 + (not foreign)
    undo()
    assert (
        vars(driver)[function] is vars(loads)[function] and sys.modules["tvm_ffi.module"].load_module is len
    )
