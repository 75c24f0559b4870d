"""Tensor-core arithmetic: model, error bounds, probes."""
