"""What the child process does with the DSL: a kind of question a module. The DSL is imported when asked."""

from __future__ import annotations

from typing import Any

Item = dict[str, Any]  # a question, and its answer


def verifier_error(error: Any) -> Item:
    """The first diagnostic of an MLIR error; stage "type" where an operand's type cannot exist."""
    found = error.error_diagnostics
    message = found[0].message if found else str(error)
    return {"error": message, "stage": "verifier" if message.startswith("'cute.") else "type"}


def python_error(error: BaseException) -> Item:
    """The verifier's own error where one lies under what Python raised, else Python's."""
    from cutlass._mlir import ir

    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, ir.MLIRError):
            return verifier_error(inner)
        inner = getattr(inner, "cause", None) or inner.__cause__
    return {"error": str(error), "stage": type(error).__name__}
