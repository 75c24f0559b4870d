"""torch that is made to believe in a GPU: how its tensors get to the DSL."""

from __future__ import annotations

import os

import pytest

from layoutcheck.dsl.fake_torch import no_shortcuts


@pytest.mark.parametrize("names", [(), ("__dlpack_c_exchange_api__",), ("__c_dlpack_exchange_api__",)])
def test_a_tensor_has_no_way_past_its_dlpack(names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Past it a tensor lies on the CPU, and a copy of it is refused: its pointer is generic."""
    monkeypatch.setenv("TVM_FFI_DISABLE_TORCH_C_DLPACK", "0")
    tensor = type("Tensor", (), dict.fromkeys(names))
    no_shortcuts(tensor)
    assert not [name for name in names if hasattr(tensor, name)]
    assert os.environ["TVM_FFI_DISABLE_TORCH_C_DLPACK"] == "1"  # its extension would put one back
