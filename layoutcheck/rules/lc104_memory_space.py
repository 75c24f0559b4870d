"""LC104 memory-space: the atom does not move data between these memory spaces."""

from __future__ import annotations

from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused

_LOST = (
    "generic is the memory of a pointer of which nothing says where it points. It is a host array that was given to "
    "from_dlpack (move it to the GPU before, tensor.cuda()), or a pointer that was made without "
    "AddressSpace.gmem (name it in make_ptr)."
)


@make_rule("rejected")
def rule(analysis: Analysis) -> Findings:
    """The compiler's own refusal, in terms of the copy."""
    if said := refusal(analysis, "space"):
        title = f"the atom does not copy from {analysis.copy.src.space} to {analysis.copy.dst.space}"
        lost = [name for name in ("src", "dst") if getattr(analysis.copy, name).space == "generic"]
        why = f" {' and '.join(lost)}: {_LOST}" if lost else ""
        yield refused(rule, said, title, f"{analysis.copy.atom}: {said.message}.{why}")
