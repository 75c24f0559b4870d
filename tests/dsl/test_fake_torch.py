"""torch that is made to believe in a GPU: how its tensors get to the DSL."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from layoutcheck.dsl.fake_torch import no_shortcuts
from tests.environment import python_path

HUGE = """
import torch
from layoutcheck.dsl.fake_torch import HUGE, pretend
pretend(torch, (9, 0), 132)
def computed(size, **named):
    made = torch.zeros(size // 2, 2, **named).T + 1
    assert made.shape == (2, size // 2) and made.stride() == (1, 2)
    return made[1, 5].item() == 1
print(*(computed(HUGE + 2 * more, **named) for more in (0, 1) for named in (
    {}, {"dtype": torch.int32}, {"requires_grad": True}, {"dtype": torch.float64})))
print((torch.zeros(HUGE + 1) + torch.zeros(HUGE + 1).half()).dtype, torch.zeros(HUGE + 1).half().dtype)
"""


@pytest.mark.parametrize("names", [(), ("__dlpack_c_exchange_api__",), ("__c_dlpack_exchange_api__",)])
def test_a_tensor_has_no_way_past_its_dlpack(names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Past it a tensor lies on the CPU, and a copy of it is refused: its pointer is generic."""
    monkeypatch.setenv("TVM_FFI_DISABLE_TORCH_C_DLPACK", "0")
    tensor = type("Tensor", (), dict.fromkeys(names))
    no_shortcuts(tensor)
    assert not [name for name in names if hasattr(tensor, name)]
    assert os.environ["TVM_FFI_DISABLE_TORCH_C_DLPACK"] == "1"  # its extension would put one back


def test_arithmetic_of_huge_floats_is_left_out() -> None:
    """That of integers, of fewer numbers or with a gradient is not; shapes and types are as ever."""
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", HUGE], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([python_path(), os.environ.get("PYTHONPATH", "")])},
    )  # fmt: skip
    few, many = "True True True True", "False True True False"
    assert done.stdout.split("\n")[:2] == [f"{few} {many}", "torch.float32 torch.float16"], done.stderr
