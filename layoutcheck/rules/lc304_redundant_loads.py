"""LC304 redundant-loads: a thread asks for the same bytes several times within one cp.async copy."""

from __future__ import annotations

import numpy as np

from layoutcheck.algebra.modes import dotted, leaves
from layoutcheck.analysis.instantiation import is_static
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.copies.offsets import distinct
from layoutcheck.digits import many
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


@make_rule("slow")
def rule(analysis: Analysis) -> Findings:
    """A working cp.async whose source view repeats itself, seen from its first thread."""
    copy = analysis.copy
    if not isinstance(copy.atom, CpAsync) or not is_static(copy):
        return
    modes = leaves(copy.src.layout)
    broadcast = [(path, extent) for path, extent, stride in modes if stride == 0 and extent > 1]
    if not broadcast or not analysis.right:
        return
    accesses = analysis.runs[-1].execution.src_accesses
    if not accesses:
        return
    loads = np.concatenate([access.addresses[:, 0] for access in accesses])
    addresses = distinct(loads)
    if loads.size < 2 * addresses:
        return
    path, extent = max(broadcast, key=lambda mode: mode[1])
    yield rule.finding(
        f"{loads.size} loads a thread from {many(addresses, 'address')}",
        f"Mode {dotted(path)} of the source {copy.src.layout} has extent {extent} and "
        f"stride 0: every step along it loads the same bytes again.",
        Where("src", path),
        {"loads": int(loads.size), "distinct": addresses, "ratio": round(loads.size / addresses, 2)},
    )
