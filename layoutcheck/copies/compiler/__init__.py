"""What DSL 4.8.1 says of a copy, predicted without the DSL: accepted, rejected (with its message) or aborts."""

from __future__ import annotations

from layoutcheck.copies.compiler.prediction import Prediction

__all__ = ["Prediction"]
