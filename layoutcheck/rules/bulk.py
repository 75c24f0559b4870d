"""What the LC22x rules ask of a bulk copy: its instructions, their size, the bytes a barrier is told of."""

from __future__ import annotations

from layoutcheck.analysis import Analysis
from layoutcheck.analysis.comparison import observables
from layoutcheck.atoms.bulk import BulkCopy
from layoutcheck.atoms.bulk.compiler import common_elements
from layoutcheck.atoms.bulk.execution import emitted_bytes
from layoutcheck.copies.offsets import v_mode

SOURCE = "PTX ISA, cp.async.bulk: both addresses and the size are multiples of 16"
MEASURED = "measured on an H200 (docs/evidence/cluster_probes.json)"


def bulk_atom(analysis: Analysis) -> BulkCopy | None:
    """The atom of a bulk copy that the compiler takes and that was followed to the machine, else None."""
    atom = analysis.copy.atom
    return atom if isinstance(atom, BulkCopy) and analysis.runs else None


def instructions(analysis: Analysis) -> int:
    """Bulk instructions that one thread issues."""
    return int(analysis.runs[-1].execution.source.shape[0])


def instruction_bytes(analysis: Analysis) -> int:
    """The size that each states."""
    atom = analysis.copy.atom
    assert isinstance(atom, BulkCopy)
    return emitted_bytes(analysis.copy, atom)


def run_of_v(analysis: Analysis) -> int:
    """Elements that V keeps together on both sides."""
    return common_elements(v_mode(analysis.copy.src.layout), v_mode(analysis.copy.dst.layout))


def arriving_bytes(analysis: Analysis) -> int:
    """Bytes that all issuing threads' instructions report to the barrier."""
    return observables.arriving_bytes(analysis.runs[-1].execution)


def asked_bytes(analysis: Analysis) -> int:
    """Bytes that the layouts ask for."""
    return observables.asked_bytes(analysis.runs[-1].intent)


def stalls(analysis: Analysis) -> str:
    """What becomes of the barrier of a copy that brings less than was asked for; nothing where none is."""
    counted = bool(analysis.runs) and observables.counts_bytes(analysis.copy)
    if not counted or arriving_bytes(analysis) >= asked_bytes(analysis):
        return ""
    return f" {arriving_bytes(analysis)} B arrive at the barrier, but the tensors hold {asked_bytes(analysis)}: a wait for all of them never ends."
