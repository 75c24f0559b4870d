"""LC232 tma-major: the contiguous mode of the shared tensor of a TMA copy is not contiguous in the global tensor."""

from __future__ import annotations

from layoutcheck.atoms.tma.descriptor import DRIVER
from layoutcheck.atoms.tma.plan import gmem_side
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, step_of_view, whole_tma


@make_rule("wrong", explains=EFFECTS)
def rule(analysis: Analysis) -> Findings:
    """A first dimension whose stride is not one element."""
    found = whole_tma(analysis)
    if found is None:
        yield from _of_tiles(analysis)
        return
    mode, typed, value = found.mode_of(0)
    if value == 1 or found.map.dims[0] == 1:
        return
    yield rule.finding(
        f"dimension 0 of the tensor map has stride {typed} in global memory, but a box reads it with stride 1",
        f"Mode {mode} is contiguous in shared memory {found.described.layout} and has stride {typed} in the global "
        f"tensor {found.gmem.layout}. A tensor map has no stride for its first dimension: a box takes "
        f"{found.map.box[0]} adjacent elements where the layout asks for elements {value} apart.",
        Where(gmem_side(analysis.copy)),
        demanded("stride of dimension 0", value, "1 element", DRIVER, mode=mode),
    )


def _of_tiles(analysis: Analysis) -> Findings:
    """The same of coordinates: neighbours of a box, along dimension 0, whose coordinates are not neighbours."""
    step = step_of_view(analysis)
    if step is None:
        return
    yield rule.finding(
        f"dimension 0 of the tensor map has stride {step} in global memory, but a box reads it with stride 1",
        f"The elements that are adjacent in shared memory are {step} coordinates apart in dimension 0 of the tensor map. "
        "A box takes adjacent ones: a tensor map has no stride for its first dimension.",
        Where(gmem_side(analysis.copy)),
        demanded("stride of dimension 0", str(step), "1 element", DRIVER),
    )
