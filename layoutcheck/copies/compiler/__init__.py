"""What DSL 4.8.1 says of a copy, predicted without the DSL: accepted, rejected (with its message) or aborts.

`predict` follows a copy through the Python function it was written with (`python_layer`), the types of its
atom and pointers (`types`), the shapes of its operands (`operands`) and the checks of its atom's family
(`universal`, `cp_async`, `register`, `matrix`). All of it was measured; tests/conformance/test_verifier.py
holds it against the installed DSL.
"""

from __future__ import annotations

from layoutcheck.copies.compiler.predict import predict
from layoutcheck.copies.compiler.prediction import OUTCOMES, Prediction
from layoutcheck.copies.compiler.verifier import predict_verifier

__all__ = ["OUTCOMES", "Prediction", "predict", "predict_verifier"]
