"""Copies: operands, tilings, alignment, and the three answers (compiler, intent, execution)."""
