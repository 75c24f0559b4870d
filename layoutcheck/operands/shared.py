"""The shared operands of wgmma and tcgen05 in a traced kernel, against what a matrix descriptor can say.

`make_fragment_A` and `_B` make a descriptor of the MMA's partition of a shared tile, ((MN,K), rest, ...):
mode 0 is what one instruction reads.
"""

from __future__ import annotations

import re
from collections import Counter

from layoutcheck.algebra.modes import make_layout
from layoutcheck.brackets import closing, split
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.errors import InputError
from layoutcheck.machine.canonical.modes import K_BITS
from layoutcheck.operands.answers import OperandAnswer, in_memory
from layoutcheck.operands.fragments import TiledMma, tiled_mma
from layoutcheck.operands.rules import lc607
from layoutcheck.sources.traced import KernelFinding
from layoutcheck.sources.traced_module import TracedModule
from layoutcheck.sources.types import parse_memref

_MADE = '"cute.mma.make_fragment"('
_OPERAND = re.compile(r"operand_id = ([01]) : i32")


def shared_operands(module: TracedModule) -> tuple[list[KernelFinding], list[str]]:
    """A finding for each layout that no descriptor has, and why others were not compared. Raises nothing."""
    findings: dict[tuple[object, ...], KernelFinding] = {}
    reasons: Counter[str] = Counter()
    at = -1
    for number in range(module.text.count(_MADE)):
        at = module.text.index(_MADE, at + 1)
        try:
            answer = _answer(module.text, at)
        except InputError as error:
            reasons[error.message] += 1
            continue
        if answer is None or answer.verdict == "legal":
            continue
        one = _finding(module, number, answer)
        findings.setdefault((answer.letter, one.places[0].where), one)
    unchecked = [f"descriptors of {n} operands in shared memory: {why}" for why, n in reasons.items()]
    return list(findings.values()), unchecked


def _answer(text: str, at: int) -> OperandAnswer | None:
    """What there is to say of the fragment that is made at `at`; None where it is not of shared memory."""
    begin = text.index(" : (", at) + 3
    line = text.find("\n", at)
    if " smem," not in text[begin : None if line < 0 else line]:
        return None
    letter = _OPERAND.search(text, at, begin)
    mma_type, view = split(text[begin + 1 : closing(text, begin) - 1])
    if letter is None or not view.startswith("!cute.memref<"):
        return None
    memref, mma = parse_memref(view), tiled_mma(mma_type)
    if isinstance(memref, OtherOperand) or memref.space != "smem":
        return None
    index = int(letter[1])
    if mma.atom.where("AB"[index]) != "smem":
        return None
    _comparable(mma, index, str(memref.dtype))
    first, modes = memref.layout[0], memref.layout.modes
    if len(modes) < 3 or len(first) != 2:
        raise InputError("a view that is not ((MN,K), rest, rest)")
    whole = make_layout(make_layout(first[0], modes[1]), make_layout(first[1], modes[2]))
    return in_memory(mma, "AB"[index], str(memref.with_layout(first)), whole)


def _comparable(mma: TiledMma, index: int, element: str) -> None:
    """Raises InputError for an operand whose descriptor is not modelled."""
    atom = mma.atom
    if atom.form == "sparse":
        raise InputError("sparse MMAs")
    if element not in (str(atom.types[index]), str(atom.types[index]).lstrip("su")):
        raise InputError(f"{atom.types[index]} that lie in memory as {element}")
    if atom.shape[2] * atom.types[index].bits != K_BITS:
        raise InputError(f"an instruction that takes {atom.shape[2]} k of {element}")


def _finding(module: TracedModule, number: int, answer: OperandAnswer) -> KernelFinding:
    place = module.place(f"cute.mma.make_fragment#{number}", f"the fragment of {answer.letter}")
    evidence = {"kernel": module.kernel, "arch": module.arch, **answer.to_dict()}
    return KernelFinding(lc607.page.code, answer.verdict, *lc607.tell(answer), (place,), evidence)
