"""Why the DSL refuses: families of its messages, each with one cause and one repair. `find` looks a message up.

A family is a row of a text file in this folder (`catalogue.rows`). The general kinds of refusal (`catalogue.refused`) answer
what no family does.
"""

from __future__ import annotations

from layoutcheck.catalogue.reasons.reason import Reason, reason
from layoutcheck.catalogue.rows import rows

PYTHON = ("scheduling", "layouts", "tensors", "copies", "kernels", "primitives", "host")
LIBRARY = ("verifier", "instructions")


def of(*files: str) -> tuple[Reason, ...]:
    """The families of these files."""
    return tuple(reason(row) for file in files for row in rows(f"reasons/{file}.txt"))


OF_PYTHON, OF_LIBRARY = of(*PYTHON), of(*LIBRARY)


def find(said: str, where: str = "") -> Reason | None:
    """The family of a message; `where` is the operation, or the DSL's file and function, that prints it ("" if unknown)."""
    families = (*OF_PYTHON, *OF_LIBRARY) if ".py" in where else (*OF_LIBRARY, *OF_PYTHON)
    return next((one for one in families if one.fits(said, where)), None)
