"""What the LC22x rules ask of a bulk copy: its instructions, their size, the bytes a barrier is told of."""

from __future__ import annotations

from layoutcheck.analysis import Analysis
from layoutcheck.atoms.bulk import BulkCopy
from layoutcheck.atoms.bulk.compiler import common_elements
from layoutcheck.atoms.bulk.execution import emitted_bytes
from layoutcheck.atoms.tma.descriptor import gapped
from layoutcheck.atoms.tma.internal import tensor_format
from layoutcheck.copies.offsets import v_mode

SOURCE = "PTX ISA, cp.async.bulk: both addresses and the size are multiples of 16"
MEASURED = "measured on an H200 (docs/evidence/cluster_probes.json)"


def bulk_atom(analysis: Analysis) -> BulkCopy | None:
    """The atom of a bulk copy that the compiler takes and that was followed to the machine, else None."""
    atom = analysis.copy.atom
    return atom if isinstance(atom, BulkCopy) and analysis.runs else None


def instructions(analysis: Analysis) -> int:
    """Bulk instructions that one thread issues."""
    return int(analysis.runs[-1].execution.src.shape[0])


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
    done = analysis.runs[-1].execution
    return int(done.dst.size * done.unit_bits // 8)


def asked_bytes(analysis: Analysis) -> int:
    """Bytes that the layouts ask for."""
    asked = analysis.runs[-1].intent
    return int(asked.dst.size * asked.unit_bits // 8)


def counts_bytes(analysis: Analysis) -> bool:
    """Whether a barrier counts this copy's bytes, and none is switched off by a predicate."""
    atom = analysis.copy.atom
    counted = atom is not None and atom.completion == "barrier"
    return counted and bool(analysis.runs) and analysis.copy.pred is None and not _gaps(analysis)


def _gaps(analysis: Analysis) -> bool:
    """Whether a tensor map leaves gaps in shared memory: no document says whether a barrier counts them."""
    tile = analysis.copy.tma
    return tile is not None and gapped(tensor_format(analysis.copy.src.dtype, tile.internal))


def stalls(analysis: Analysis) -> str:
    """What becomes of the barrier of a copy that brings less than was asked for; nothing where none is."""
    if not counts_bytes(analysis) or arriving_bytes(analysis) >= asked_bytes(analysis):
        return ""
    return (
        f" {arriving_bytes(analysis)} B arrive at the barrier where the tensors hold {asked_bytes(analysis)}: "
        "a wait for all of them never ends."
    )
