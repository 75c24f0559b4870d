"""Numerics against the installed DSL, without a GPU: atoms name units, every kernel compiles for sm_90a."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from types import ModuleType

import pytest

from layoutcheck.errors import InputError
from layoutcheck.numerics.units import unit
from tests.environment import ROOT
from tests.forking import printed

cutlass = pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl")


# A process with its own architecture setting: the DSL reads it once, and other tests may choose another.
COMPILE = """
import json, sys
from kernels.numerics.instructions import NAMES
from kernels.numerics.grouped_gemm import compile_grouped
from kernels.numerics.decode import FORMS, compile_decode
from layoutcheck.gpu.mma import operation, tiles
from layoutcheck.machine.cubin import registers
from layoutcheck.numerics.units import unit

def texts(name):
    i = unit(name).instruction
    short = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}
    a, b = (short.get(f.name, f.name) for f in (i.a, i.b))
    op = operation(i.kind, i.n, i.k, a, b, i.accumulator.name)
    return op, [repr(op), str(op)]

chosen = [NAMES[i] for i in range(0, len(NAMES), 9)]
found = {"names": {}, "registers": {}}
for name in NAMES:
    found["names"][name] = texts(name)[1]
for name in chosen:
    tiles(texts(name)[0])
for label, kernel in (("grouped", compile_grouped(4)), *((form, compile_decode(form)) for form in FORMS)):
    found["registers"][label] = max(registers(kernel.compiled.artifacts.CUBIN).values())
json.dump(found, sys.stdout)
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    scratch = tmp_path_factory.mktemp("dsl")
    program = scratch / "compile.py"
    program.write_text(COMPILE)
    settings = {"CUTE_DSL_KEEP_CUBIN": "1", "CUTE_DSL_DUMP_DIR": str(scratch), "PYTHONWARNINGS": "ignore"}
    found: dict[str, dict[str, object]] = json.loads(
        printed(str(program), arch="sm_90a", env=settings, cwd=str(ROOT))
    )
    return found


def test_operations_as_the_dsl_prints_them_name_their_units(compiled: dict[str, dict[str, object]]) -> None:
    for name, texts in compiled["names"].items():
        assert isinstance(texts, list)
        for text in texts:
            assert unit(str(text)).instruction == unit(name).instruction


def test_every_kernel_compiles_and_keeps_its_fragments_in_registers(
    compiled: dict[str, dict[str, object]],
) -> None:
    counts = compiled["registers"]
    assert set(counts) == {"grouped", "scalar", "tensor", "tensor, P in two"}
    # At least the accumulators: 64 of a 64 x 32 warp tile; S and O of a warp; and no spill to the 255 limit.
    assert all(64 <= int(str(count)) < 255 for count in counts.values())


def test_an_instruction_that_the_dsl_lacks_is_an_input_error(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "layoutcheck.gpu.tensor_cores"
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    launcher = import_module(name).launcher
    del sys.modules[name]  # it was made with that torch
    with pytest.raises(InputError, match=r"cannot issue mma\.m8n8k4\.f32\.f16 here: expects the 'shape_mnk'"):
        launcher(unit("mma.m8n8k4.f32.f16", "sm_70"))
