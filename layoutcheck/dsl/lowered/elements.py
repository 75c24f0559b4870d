"""Element accesses: the loads and stores of a kernel that are not copies, judged by their lowered addresses.

`tensor[i]`, `tensor.load()`, an instruction on a pointer: each at its line, by the rules that judge a copy's
addresses (`rules.lowered`). Alike findings of one line are one, with the number of operations.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from layoutcheck.dsl.lowered import Kernel, Lowered
from layoutcheck.dsl.lowered.evaluate import tag as tag_of
from layoutcheck.dsl.lowered.faults import KNOWN, Outside, addresses, with_faults, written
from layoutcheck.dsl.lowered.inline_ptx import NOT_HELD, UNREAD
from layoutcheck.dsl.lowered.instructions import in_shared_by_ptx, written_in_ptx
from layoutcheck.dsl.lowered.lowered_op import SINGLE, LoweredOp
from layoutcheck.dsl.lowered.register_index import Beyond
from layoutcheck.dsl.lowered.register_index import beyond as registers_beyond
from layoutcheck.dsl.lowered.shared_bounds import IN_SHARED, MEANT
from layoutcheck.errors import InputError
from layoutcheck.findings import Finding, Where, verdict
from layoutcheck.rules import rule
from layoutcheck.rules.lowered import findings
from layoutcheck.sources.printed import COPIES
from layoutcheck.sources.traced import Addresses, ElementReport, Frame, KernelFinding, KernelPlace, in_lines
from layoutcheck.sources.traced_module import TracedModule

_SPACES = ("gmem", "smem", "dsmem", "generic")
_ACCESS = re.compile(
    r'^\s*(?:%[\w:]+ = )?"(?:cute\.(?:memref\.(?:load|store)\w*|atomic\w*)'
    r"|llvm\.(?:load|store|atomicrmw|cmpxchg)"
    r'|nvvm\.(?:ldmatrix|stmatrix|st\.|ld\.|red|load|store|atomic)[\w.]*)"\('
    r".*(?:, (?:[gs]mem|generic)|!llvm\.ptr)"
    r'|"llvm\.inline_asm"\(.*asm_string = "[^"]*(?:ld|st|red|atom|cp|multimem)\.',
    re.MULTILINE,
)
_MBARRIER = "nvvm.mbarrier."
_VERBS = {"src": "reads", "dst": "writes"}
_NOWHERE = Frame("", 0)


def has_elements(text: str) -> bool:
    """Whether a traced module has accesses to memory that are not copies."""
    return _ACCESS.search(text) is not None


def has_mbarriers(text: str) -> bool:
    """Whether it works on mbarriers, of which only the place is judged."""
    return f'"{_MBARRIER}' in text


def check_elements(module: TracedModule, lowered: Lowered, beyond: Outside) -> ElementReport:
    """What is wrong with, or slow about, the element accesses of a lowered module. Raises nothing."""
    if lowered.problem:
        return ElementReport(module.kernel, module.arch, problem=lowered.problem)
    seen, known = 0, 0
    unchecked: Counter[str] = Counter()
    where: defaultdict[str, list[Frame]] = defaultdict(list)  # whose bounds are not known

    def leave(why: str, tag: str) -> None:
        unchecked[why] += 1
        where[why] += module.frames(tag)[:1]

    found: dict[object, KernelFinding] = {}
    verdicts: Counter[str] = Counter()
    lines: dict[tuple[str, int], None] = {}

    def tell(told: Iterable[Finding], kernel: Kernel, tag: str) -> None:
        for one in told:
            placed = _placed(one, module, kernel, tag)
            place = placed.places[0].where
            same = found.setdefault((one.code, one.severity, place.file, place.line), placed)
            same.evidence["operations"] += 1

    for tag, access in registers_beyond(module.text) if lowered.kernels else ():
        tell([beyond_registers(access)], lowered.kernels[0], tag)
    for tag, why in beyond.unchecked.items():
        if tag.startswith(_MBARRIER) and why.endswith(MEANT):
            leave(f"bounds {why}", tag)
    for kernel in lowered.kernels:
        left = {tag for tag in beyond.faults if tag.startswith(_MBARRIER)}
        for tag in left & {tag_of(op) for op in kernel.grid.kernel.walk()} if left and kernel.grid else ():
            threads, faults = beyond.faults[tag]
            last = tuple([one for one in faults if one.side == "dst"] or faults)
            tell(findings(Addresses(threads, (), last), "work on an mbarrier"), kernel, tag)
        for asm in kernel.grid.kernel.walk() if kernel.grid else ():
            unread = written_in_ptx(asm) == UNREAD
            if unread:
                leave(f"bounds in global memory: {UNREAD}", tag_of(asm))
            elif in_shared_by_ptx(asm):
                leave(f"bounds {IN_SHARED}{NOT_HELD}", tag_of(asm))
            seen += unread
        ops = {tag: op for tag, op in kernel.lowered_ops.items() if _is_element(op)}
        stored = written(lowered, dict.fromkeys(ops))
        for tag, op in ops.items():
            seen += 1
            lines.update(((frame.file, frame.line), None) for frame in module.frames(tag)[:1])
            threads, faults = beyond.faults.get(tag, (0, []))
            if op.kind not in KNOWN and not faults:
                unchecked[op.reasons[-1] if op.reasons else "its addresses are not known"] += 1
                continue
            if tag in beyond.unchecked:
                why = beyond.unchecked[tag]
                leave(f"bounds {'' if why.startswith(IN_SHARED) else 'in global memory: '}{why}", tag)
            if tag in beyond.conditions:
                leave(f"bounds rest on the caller: {beyond.conditions[tag]}", tag)
            known += 1
            at = Addresses(threads)
            try:
                if op.kind in KNOWN:
                    at = addresses(None, kernel, op, module.arch, stored.get(tag, ()))
            except InputError as error:
                return ElementReport(module.kernel, module.arch, problem=error.message)
            told = list(findings(with_faults(at, faults), "access"))
            verdicts[verdict(told)] += 1
            tell(told, kernel, tag)
    return ElementReport(
        module.kernel, module.arch, tuple(found.values()), "", seen, known,
        tuple(sorted((f"{why}{in_lines(where[why])}", n) for why, n in unchecked.items())),
        tuple(sorted(verdicts.items())), tuple(lines),
    )  # fmt: skip


def beyond_registers(access: Beyond) -> Finding:
    """A note on an element of registers that the tensor does not have."""
    side = "dst" if access.write else "src"
    what = "the element of another index" if access.offset <= access.last else "whatever register is there"
    message = (
        f"Index {access.at} of {access.layout} is behind the {access.elements} elements of its mode, and the "
        f"DSL does not check it. The layout gives it offset {access.offset}, and the tensor's last element "
        f"{access.last}: it is {what}."
    )
    title = f"the access {_VERBS[side]} an element that its tensor in registers does not have"
    evidence = {
        "index": access.at, "layout": access.layout, "elements": access.elements, "offset": access.offset
    }  # fmt: skip
    return Finding(rule("LC204").code, "note", title, message, Where(side, None, 0), evidence)


def _is_element(op: LoweredOp) -> bool:
    return op.tag.partition("#")[0] not in COPIES and any(
        access.space in _SPACES and (access.op in ("ld", "st", *SINGLE) or "matrix" in access.op)
        for access in op.accesses
    )


def _placed(one: Finding, module: TracedModule, kernel: Kernel, tag: str) -> KernelFinding:
    frames: list[Frame] = module.frames(tag)
    side, thread = one.where.operand or "src", one.where.thread or 0
    place = KernelPlace(_VERBS[side], frames[0] if frames else _NOWHERE, tuple(frames[1:]), thread)
    evidence = {**one.evidence, "kernel": kernel.name, "arch": module.arch, "operations": 0}
    return KernelFinding(one.code, one.severity, one.title, one.message, (place,), evidence)
