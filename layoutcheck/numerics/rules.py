"""The rules `LC4xx`; their pages are in docs/rules.

`layoutcheck.rules` is about copies, so numerics has its own list; `layoutcheck rule` and docs/rules/ show
both. An example is a command line, because what numerics checks is asked by one.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from layoutcheck.markdown import Page, heading


@dataclass(frozen=True, slots=True)
class Rule(Page):
    """`severity` is the worst the finding has; `flagged` and `clean` are the words after `layoutcheck`."""

    flagged: tuple[str, ...]
    clean: tuple[str, ...]

    def page(self) -> str:
        """The rule's page, in Markdown."""
        return self.with_commands(*(shlex.join(("layoutcheck", *one)) for one in (self.flagged, self.clean)))


def _rule(line: str, severity: str, flagged: str, clean: str) -> Rule:
    """The rule of a line `CODE name: summary`; its examples follow `layoutcheck numerics`."""
    words, twin = (tuple(shlex.split(f"numerics {text}")) for text in (flagged, clean))
    return Rule(*heading(line, severity), words, twin)


_RULES = (
    _rule(
        "LC401 different-roundings: two paths round at different places, "
        "and their results differ beyond the tolerance.",
        "wrong",
        "path cute-f32f16f16f32 torch-f16-matmul-f32-add",
        "path cute-f32f16f16f32-rounded torch-f16-matmul-f32-add",
    ),
    _rule(
        "LC402 bit-equality-test: the tolerance is below one step of the output, so it tests bit equality.",
        "wrong",
        "tol -K 512 --in f16 --out f16 --atol 1e-2 --rtol 0",
        "tol -K 512 --in f16 --out f16 --atol 0.01 --rtol 1e-3",
    ),
    _rule(
        "LC403 blind-tolerance: the tolerance cannot see a missing product.",
        "note",
        "tol -K 4096 --in f16 --out f32 --atol 0 --rtol 1e-3",
        "tol -K 512 --in f16 --out f32 --atol 0 --rtol 1e-4",
    ),
    _rule(
        "LC404 tolerance-below-bound: "
        "the tolerance is smaller than the error that a correct kernel may have.",
        "wrong",
        "tol -K 4096 --in f16 --out f32 --atol 1e-6 --rtol 1e-6",
        "tol -K 4096 --in f16 --out f32 --atol 0.8 --rtol 0",
    ),
    _rule(
        "LC405 narrow-accumulator: the accumulator keeps fewer bits than its type promises.",
        "note",
        "tol -K 4096 --in e4m3 --out f32 --unit wgmma.m64n8k32.f32.e4m3",
        "tol -K 4096 --in e4m3 --out f32 --unit mma.m16n8k32.f32.e4m3",
    ),
    _rule(
        "LC406 not-this-hardware: the hardware returns other bits than the model.",
        "wrong",
        "probe mma.m16n8k16.f32.f16 --arch sm_80 --gpu",
        "probe mma.m16n8k16.f32.f16 --arch sm_90a --gpu",
    ),
)


def rules() -> dict[str, Rule]:
    """Every rule by its code, in the order of the codes."""
    return {rule.code: rule for rule in _RULES}
