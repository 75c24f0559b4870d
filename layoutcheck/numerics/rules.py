"""The rules `LC4xx`; their pages are in docs/rules.

`layoutcheck.rules` is about copies, so numerics has its own list; `layoutcheck rule` shows both.
"""

from __future__ import annotations

from layoutcheck.markdown import Page, heading

_RULES = (
    ("wrong", "LC401 different-roundings: two paths round at different places, "
     "and their results differ beyond the tolerance."),
    ("wrong", "LC402 bit-equality-test: "
     "the tolerance is below one step of the output, so it tests bit equality."),
    ("note", "LC403 blind-tolerance: the tolerance cannot see a missing product."),
    ("wrong", "LC404 tolerance-below-bound: "
     "the tolerance is smaller than the error that a correct kernel may have."),
    ("note", "LC405 narrow-accumulator: the accumulator keeps fewer bits than its type promises."),
    ("wrong", "LC406 not-this-hardware: the hardware returns other bits than the model."),
)  # fmt: skip


def rules() -> dict[str, Page]:
    """Every rule by its code, in the order of the codes."""
    return {line[:5]: Page(*heading(line, severity)) for severity, line in _RULES}
