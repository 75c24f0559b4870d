"""Tensor-core arithmetic: model, error bounds, probes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from layoutcheck.numerics.block_unit import Unit
    from layoutcheck.numerics.checks import assert_attention, assert_bits, assert_within
    from layoutcheck.numerics.fused import attention
    from layoutcheck.numerics.tolerance import derive
    from layoutcheck.numerics.units import decode, encode, unit

__all__ = [
    "Unit", "assert_attention", "assert_bits", "assert_within", "attention", "decode", "derive", "encode",
    "unit",
]  # fmt: skip

_HOMES = {
    "assert_attention": "checks",
    "assert_bits": "checks",
    "assert_within": "checks",
    "attention": "fused",
    "derive": "tolerance",
}


def __getattr__(name: str) -> Any:
    # numpy is imported on the first use of the model, not by importing the package or its command line.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"layoutcheck.numerics.{_HOMES.get(name, 'units')}"), name)
