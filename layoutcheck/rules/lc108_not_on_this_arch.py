"""LC108 not-on-this-arch: the target architecture does not have this instruction."""

from __future__ import annotations

from layoutcheck.machine.arch import TARGETS, Arch, has, parse_arch
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


@make_rule("rejected")
def rule(analysis: Analysis) -> Findings:
    """An atom that is younger than the target, or needs its architecture-specific form."""
    atom = analysis.resolved.atom
    if atom is None or not atom.modelled:
        return
    arch = parse_arch(analysis.copy.arch)
    if has(arch, atom.needs):
        return
    need = atom.needs
    where = [name for name in TARGETS if has(parse_arch(name), need)]
    bare = not arch.suffix and has(Arch(arch.number, "a"), need)  # a suffix is all that is missing
    yield rule.finding(
        f"{arch} does not have this instruction",
        f"{atom} needs {need.first} or later; of the usual targets, {', '.join(where)} have it."
        + " A target without a suffix has no architecture-specific instructions." * bare,
        Where("atom"),
        {"arch": str(arch), "first_arch": str(need.first), "targets": where},
    )
