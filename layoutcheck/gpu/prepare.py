"""Copies made ready to be confirmed: judged, compiled for the machine, wrapped into kernels that run them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from layoutcheck.check import check
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.dsl.lower import Lowered, lower
from layoutcheck.dsl.session import Session
from layoutcheck.errors import InputError
from layoutcheck.gpu import tma
from layoutcheck.gpu.completion import completion, mapped
from layoutcheck.gpu.outcome import Task
from layoutcheck.gpu.wrapper import UnexpectedPtx, wrap
from layoutcheck.machine.arch import has, parse_arch

BATCH = 32  # copies compiled between two reports of progress
# What is being done ("compile" or "run"), copies done, of how many.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A named copy with its verdict and, where it can run, its task, compiled for `arch`."""

    name: str
    copy: Copy
    verdict: str
    codes: tuple[str, ...]
    compiler: str
    task: Task | None
    note: str = ""
    arch: str = "sm_90a"


def prepare(
    named: Sequence[tuple[str, Copy]],
    machine: str | None = None,
    *,
    session: Session | None = None,
    progress: Progress | None = None,
) -> list[Prepared]:
    """Verdict, compiler's answer and task of every copy. Raises DslUnavailable without a usable DSL.

    `machine` is the architecture of the GPU that will run them; None compiles each copy for its own.
    """
    if session is None:
        with Session() as session:
            return prepare(named, machine, session=session, progress=progress)
    prepared: list[Prepared] = []
    for at in range(0, len(named), BATCH):
        if progress:
            progress("compile", at, len(named))
        batch = named[at : at + BATCH]
        targets = [target(copy, machine) for _, copy in batch]
        plain = [i for i, (_, copy) in enumerate(batch) if not tma.runs_here(copy)]
        lowered = lower([batch[i][1] for i in plain], [targets[i] for i in plain], session=session)
        made = dict(zip(plain, lowered, strict=True))
        prepared += [
            _prepared(name, copy, arch, made.get(i, session))
            for i, ((name, copy), arch) in enumerate(zip(batch, targets, strict=True))
        ]
    if progress:
        progress("compile", len(named), len(named))
    return prepared


def target(copy: Copy, machine: str | None) -> str:
    """What the copy is compiled for: the machine's architecture where that has its instruction, else its own.

    The architecture-specific target (suffix a) of the machine is taken from sm_90 on, as the DSL does.
    """
    own = parse_arch(copy.arch)
    if machine is None:
        return str(own)
    there = parse_arch(machine)
    if there.number >= 90 and not there.suffix:
        there = replace(there, suffix="a")
    if copy.atom is not None and not has(there, copy.atom.needs) and has(own, copy.atom.needs):
        return str(own)
    return str(there)


def _prepared(name: str, copy: Copy, arch: str, made: Lowered | Session) -> Prepared:
    """`made` is what the compiler made of the copy; of a TMA copy, the process that makes it."""
    report = check(copy)
    codes = tuple(finding.code for finding in report.findings if finding.severity != "note")
    compiler, note, task = "accepted", "", None
    try:
        if isinstance(made, Lowered):
            task, refused = _task(copy, arch, made)
        else:
            task, refused = tma.prepare(report.analysis, arch, made)
        if refused:
            compiler, note = refused, "the compiler made nothing"
    except InputError as error:
        compiler = "accepted" if report.compiler.accepted else report.compiler.message
        note = error.message
    except UnexpectedPtx as error:
        note = str(error).splitlines()[0]
    return Prepared(name, copy, report.verdict, codes, compiler, task, note, arch)


def _task(copy: Copy, arch: str, low: Lowered) -> tuple[Task | None, str]:
    """The task, or what the compiler says instead. Raises InputError for copies that cannot be run."""
    if low.ptx is None or low.error:
        return None, low.error or "no PTX"
    foreign = next((view for view in (copy.src, copy.dst) if isinstance(view, OtherOperand)), None)
    if foreign is not None:  # its address is in a descriptor, which the harness does not make
        raise InputError(f"{foreign.name}: this harness runs copies between tensors in memory")
    ptx, sizes = wrap(low.ptx, arch, completion(copy), copy.cluster, mapped(copy))
    return Task(copy, ptx, tuple(sizes)), ""
