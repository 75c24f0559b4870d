"""Kernels that confirm layoutcheck.numerics on a GPU."""
