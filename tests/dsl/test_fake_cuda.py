"""The pretended GPU, as other libraries ask for it."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from layoutcheck.dsl import fake_cuda


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
