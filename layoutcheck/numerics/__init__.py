"""Tensor-core arithmetic: model, error bounds, probes."""

from layoutcheck.numerics.unit import Unit, decode, encode, unit

__all__ = ["Unit", "decode", "encode", "unit"]
