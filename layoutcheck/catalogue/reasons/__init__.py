"""Why the DSL refuses: families of its messages, each with one cause and one repair. `find` looks a message up.

The general kinds of refusal (`catalogue.refused`) answer what no family does.
"""

from __future__ import annotations

from layoutcheck.catalogue.reasons import (
    copies,
    host,
    instructions,
    kernels,
    layouts,
    primitives,
    scheduling,
    tensors,
    verifier,
)
from layoutcheck.catalogue.reasons.reason import Reason

OF_PYTHON: tuple[Reason, ...] = (
    *scheduling.REASONS,
    *layouts.REASONS,
    *tensors.REASONS,
    *copies.REASONS,
    *kernels.REASONS,
    *primitives.REASONS,
    *host.REASONS,
)
OF_LIBRARY: tuple[Reason, ...] = (*verifier.REASONS, *instructions.REASONS)


def find(said: str, where: str = "") -> Reason | None:
    """The family of a message; `where` is the operation, or the DSL's file and function, that prints it ("" if unknown)."""
    families = (*OF_PYTHON, *OF_LIBRARY) if ".py" in where else (*OF_LIBRARY, *OF_PYTHON)
    return next((one for one in families if one.fits(said, where)), None)
