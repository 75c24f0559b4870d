"""What the LC22x rules ask of a bulk copy: its instructions, their size, the bytes a barrier is told of."""

from __future__ import annotations

from layoutcheck.copies.compiler.bulk import common_elements
from layoutcheck.copies.execution.bulk import emitted_bytes
from layoutcheck.copies.offsets import v_mode
from layoutcheck.copies.tma.internal import tensor_format
from layoutcheck.machine.atoms import BulkCopy, DsmemStore, TmaCopy
from layoutcheck.machine.tma import gapped
from layoutcheck.rules.facts import Facts

SOURCE = "PTX ISA, cp.async.bulk: both addresses and the size are multiples of 16"
MEASURED = "measured on an H200 (docs/evidence/cluster_probes.json)"


def bulk_atom(facts: Facts) -> BulkCopy | None:
    """The atom of a bulk copy that the compiler takes and that was followed to the machine, else None."""
    atom = facts.copy.atom
    return atom if isinstance(atom, BulkCopy) and facts.trials else None


def instructions(facts: Facts) -> int:
    """Bulk instructions that one thread issues."""
    return int(facts.trials[-1].execution.src.shape[0])


def instruction_bytes(facts: Facts) -> int:
    """The size that each states."""
    atom = facts.copy.atom
    assert isinstance(atom, BulkCopy)
    return emitted_bytes(facts.copy, atom)


def run_of_v(facts: Facts) -> int:
    """Elements that V keeps together on both sides."""
    return common_elements(v_mode(facts.copy.src.layout), v_mode(facts.copy.dst.layout))


def arriving_bytes(facts: Facts) -> int:
    """Bytes that all issuing threads' instructions report to the barrier."""
    done = facts.trials[-1].execution
    return int(done.dst.size * done.unit_bits // 8)


def asked_bytes(facts: Facts) -> int:
    """Bytes that the layouts ask for."""
    asked = facts.trials[-1].intent
    return int(asked.dst.size * asked.unit_bits // 8)


def counts_bytes(facts: Facts) -> bool:
    """Whether a barrier counts this copy's bytes, and none is switched off by a predicate."""
    atom = facts.copy.atom
    counted = isinstance(atom, DsmemStore) or (isinstance(atom, BulkCopy) and atom.counts_bytes)
    counted = counted or (isinstance(atom, TmaCopy) and atom.kind == "load")
    return counted and bool(facts.trials) and facts.copy.pred is None and not _gaps(facts)


def _gaps(facts: Facts) -> bool:
    """Whether a tensor map leaves gaps in shared memory: no document says whether a barrier counts them."""
    tile = facts.copy.tma
    return tile is not None and gapped(tensor_format(facts.copy.src.dtype, tile.internal))


def stalls(facts: Facts) -> str:
    """What becomes of the barrier of a copy that brings less than was asked for; nothing where none is."""
    if not counts_bytes(facts) or arriving_bytes(facts) >= asked_bytes(facts):
        return ""
    return (
        f" {arriving_bytes(facts)} B arrive at the barrier where the tensors hold {asked_bytes(facts)}: "
        "a wait for all of them never ends."
    )
