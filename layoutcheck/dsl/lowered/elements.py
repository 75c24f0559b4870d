"""Element accesses: the loads and stores of a kernel that are not copies, judged by their lowered addresses.

`tensor[i]`, `tensor.load()`, an instruction on a pointer: each at its line, by the rules that judge a copy's
addresses (`rules.lowered`). Alike findings of one line are one, with the number of operations.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from math import prod
from typing import NamedTuple

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_any_layout, parse_tree
from layoutcheck.dsl.lowered import Kernel, Lowered, host_types
from layoutcheck.dsl.lowered.calls import strayed
from layoutcheck.dsl.lowered.evaluate import tag as tag_of
from layoutcheck.dsl.lowered.faults import KNOWN, Beside, Outside, addresses, with_faults, written
from layoutcheck.dsl.lowered.inline_ptx import NOT_HELD, UNREAD
from layoutcheck.dsl.lowered.instructions import in_shared_by_ptx, written_in_ptx
from layoutcheck.dsl.lowered.lowered_op import SINGLE, LoweredOp
from layoutcheck.dsl.lowered.shared_bounds import IN_SHARED, MEANT
from layoutcheck.errors import InputError
from layoutcheck.findings import Finding, Where, verdict
from layoutcheck.rules import rule
from layoutcheck.rules.lowered import findings
from layoutcheck.sources.evaluated import NOTHING, Evaluated, Inside
from layoutcheck.sources.printed import COPIES
from layoutcheck.sources.traced import (
    HOST,
    ON_THE_CALLER,
    Addresses,
    ElementReport,
    Frame,
    KernelFinding,
    KernelPlace,
    in_lines,
)
from layoutcheck.sources.traced_module import TracedModule, tags

_SPACES = ("gmem", "smem", "dsmem", "generic")
_ACCESS = re.compile(
    r'^\s*(?:%[\w:]+ = )?"(?:cute\.(?:memref\.(?:load|store)\w*|atomic\w*)'
    r"|llvm\.(?:load|store|atomicrmw|cmpxchg)"
    r'|nvvm\.(?:ldmatrix|stmatrix|st\.|ld\.|red|load|store|atomic)[\w.]*)"\('
    r".*(?:, (?:[gs]mem|generic)|!llvm\.ptr)"
    r'|"llvm\.inline_asm"\(.*asm_string = "[^"]*(?:ld|st|red|atom|cp|multimem)\.',
    re.MULTILINE,
)
_OPERATION = re.compile(r'^\s*(?:%[\w:]+ = )?"([\w.]+)"\(')
_WITHOUT_STRIDES = ("cute.get_iter", "cute.get_layout", "cute.get_shape", "cute.size", "cuda.", "func.func")
_MBARRIER = "nvvm.mbarrier."
_VERBS = {"src": "reads", "dst": "writes"}


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
    judged = _Elements(module, lowered, beyond)
    judged.found.update(enumerate(dropped(module)))
    for tag, access in registers_beyond(module.text) if lowered.kernels else ():
        judged.tell([beyond_registers(access)], lowered.kernels[0], tag)
    for tag, why in beyond.unchecked.items():
        if tag.startswith(_MBARRIER) and why.endswith(MEANT):
            judged.leave(f"bounds {why}", tag)
    try:
        for kernel in lowered.kernels:
            judged.beside(kernel)
            judged.accesses(kernel)
    except InputError as error:
        return ElementReport(module.kernel, module.arch, problem=error.message)
    return judged.report()


class _Elements:
    """What is said of a module: `where` are the lines of accesses whose bounds are not known."""

    def __init__(self, module: TracedModule, lowered: Lowered, beyond: Outside) -> None:
        self.module, self.lowered, self.beyond = module, lowered, beyond
        self.seen, self.known = 0, 0
        self.unchecked: Counter[str] = Counter()
        self.where: defaultdict[str, list[Frame]] = defaultdict(list)
        self.found: dict[object, KernelFinding] = {}
        self.verdicts: Counter[str] = Counter()
        self.lines: dict[tuple[str, int], None] = {}
        self.inside: dict[tuple[str, int, Evaluated], Inside] = {}

    def leave(self, why: str, tag: str) -> None:
        """An access that is not checked."""
        self.unchecked[why] += 1
        self.where[why] += self.module.frames(tag)[:1]

    def tell(self, told: Iterable[Finding], kernel: Kernel, tag: str) -> None:
        """Findings about an access; those of one line are one."""
        for one in told:
            placed = _placed(one, self.module, kernel, tag)
            place = placed.places[0].where
            same = self.found.setdefault((one.code, one.severity, place.file, place.line), placed)
            same.evidence["operations"] += 1

    def beside(self, kernel: Kernel) -> None:
        """Work on mbarriers, and inline PTX."""
        operations = list(kernel.grid.kernel.walk()) if kernel.grid else []
        left = {tag for tag in self.beyond.faults if tag.startswith(_MBARRIER)}
        for tag in left & set(map(tag_of, operations)) if left else ():
            threads, faults = self.beyond.faults[tag]
            last = tuple([one for one in faults if one.side == "dst"] or faults)
            self.tell(findings(Addresses(threads, (), last), "work on an mbarrier"), kernel, tag)
        for asm in operations:
            if written_in_ptx(asm) == UNREAD:
                self.leave(f"bounds in global memory: {UNREAD}", tag_of(asm))
                self.seen += 1
            elif in_shared_by_ptx(asm):
                self.leave(f"bounds {IN_SHARED}{NOT_HELD}", tag_of(asm))

    def accesses(self, kernel: Kernel) -> None:
        """Loads and stores. Raises InputError."""
        ops = {tag: op for tag, op in kernel.lowered_ops.items() if _is_element(op)}
        stored = written(self.lowered, dict.fromkeys(ops))
        places = {tag: self.module.frames(tag) for tag in ops}
        alike: dict[tuple[str, ...], Beside] = {}  # those of an unrolled loop, by their place
        beside = {tag: alike.setdefault(tuple(map(str, frames)), Beside()) for tag, frames in places.items()}
        for tag, op in ops.items():
            beside[tag].append(op)
        for tag, op in ops.items():
            self.seen += 1
            for frame in places[tag][:1]:
                self.lines[frame.file, frame.line] = None
                for run, counts in self.beyond.inside.get(tag, {}).items():
                    at = frame.file, frame.line, run
                    self.inside[at] = self.inside.get(at, NOTHING).and_of(counts)
            threads, faults = self.beyond.faults.get(tag, (0, []))
            if op.kind not in KNOWN and not faults:
                self.unchecked[op.reasons[-1] if op.reasons else "its addresses are not known"] += 1
                continue
            if why := self.beyond.unchecked.get(tag, ""):
                self.leave(f"bounds {'' if why.startswith(IN_SHARED) else 'in global memory: '}{why}", tag)
            if why := self.beyond.conditions.get(tag, ""):
                self.leave(f"{ON_THE_CALLER}{why}", tag)
            self.known += 1
            at = Addresses(threads)
            if op.kind in KNOWN:
                at = addresses(None, kernel, op, self.module.arch, stored.get(tag, ()), beside[tag])
            if at.untold:
                self.leave(f"cost in global memory: {at.untold}", tag)
            told = list(findings(with_faults(at, faults), "access"))
            self.verdicts[verdict(told)] += 1
            self.tell(told, kernel, tag)

    def report(self) -> ElementReport:
        """All of it."""
        unchecked = ((f"{why}{in_lines(self.where[why])}", n) for why, n in self.unchecked.items())
        return ElementReport(
            self.module.kernel, self.module.arch, tuple(self.found.values()), "", self.seen, self.known,
            tuple(sorted(unchecked)), tuple(sorted(self.verdicts.items())), tuple(self.lines),
            tuple((file, line, (run, n)) for (file, line, run), n in self.inside.items()),
        )  # fmt: skip


def dropped(module: TracedModule) -> Iterator[KernelFinding]:
    """Of each tensor that a call gives with other strides than its type has for good."""
    hosts = host_types(module.text)
    found = list(dict.fromkeys(strayed(module.calls, hosts[0]) if len(hosts) == 1 else ()))
    text = module.text if found else ""
    for given, taken, mode in (one for one in found if _strides_used(text, one[1])):
        element = ",".join(str(int(i == mode)) for i in range(len(given)))
        step, other = flatten(given.stride)[mode], flatten(taken.stride)[mode]
        message = (
            f"The program gives it {given}, and its type is {taken}: element ({element}) lies at offset "
            f"{step}, and the kernel takes offset {other}. A compiled kernel keeps the static strides of its "
            "types, and mark_compact_shape_dynamic without stride_order computes them from the extents. "
            "mark_layout_dynamic keeps the tensor's own strides; .contiguous() makes it compact."
        )
        title = "the kernel is given a tensor whose strides are not those of its type"
        evidence = {"given": str(given), "type": str(taken), "kernel": module.kernel, "arch": module.arch}
        place = KernelPlace("has the kernel built", module.caller, thread=HOST)
        yield KernelFinding("LC264", "wrong", title, message, (place,), evidence)


def _strides_used(text: str, layout: Layout) -> bool:
    """Whether a module takes more of a tensor of this layout, or of the layout, than pointer and extents."""
    lines = (line for line in text.splitlines() if f'"{layout}">' in line)
    names = [op[1] for line in lines if (op := _OPERATION.match(line))]
    return not names or any(not name.startswith(_WITHOUT_STRIDES) for name in names)


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
    place = module.place(tag, _VERBS[one.where.operand or "src"], one.where.thread or 0)
    evidence = {**one.evidence, "kernel": kernel.name, "arch": module.arch, "operations": 0}
    return KernelFinding(one.code, one.severity, one.title, one.message, (place,), evidence)


_REGISTER_ACCESS = re.compile(
    r'"(cute\.memref\.(load|store))"\('
    r'(?:[^\n]*?\) : \(!cute\.memref<[^",]*, rmem[^"\n]*"([^"\n]*)">, !cute\.coord<"([^"\n?_]*)">)?'
)


class Beyond(NamedTuple):
    """An element that is written, or read: the tensor's layout, where, the elements of the mode it is in.

    The layout gives it `offset`, and the tensor's last element `last`.
    """

    write: bool
    layout: str
    at: str
    elements: int
    offset: int
    last: int


def registers_beyond(text: str) -> Iterator[tuple[str, Beyond]]:
    """(tag, access) of a traced module's elements in registers at an index that their tensor does not have.

    The DSL takes a layout for the function that it is, and checks no index: of (1):(0) index 1 is element 0
    again, of 4:1 index 4 is whatever register lies behind. Neither is what the index says, though both
    compile. Only indices are looked at that are numbers in the module, as those of unrolled loops are.
    """
    every = [match.groups() for match in _REGISTER_ACCESS.finditer(text)]
    for tag, (_, kind, layout, index) in zip(tags(name for name, *_ in every), every, strict=True):
        found = _outside(layout, index) if layout is not None else None
        if found is not None:
            yield tag, Beyond(kind == "store", layout, index, *found)


@cache
def _outside(text: str, index: str) -> tuple[int, int, int] | None:
    """The elements of the mode that an index leaves, its offset and the last element's; None inside."""
    try:
        layout, at = parse_any_layout(text), parse_tree(index)
    except InputError:
        return None
    if not isinstance(layout, Layout) or not layout.is_static:
        return None
    size = prod(map(int, flatten(layout.shape)))
    modes = [(at, size)] if isinstance(at, int) else []
    if isinstance(at, tuple) and len(at) == len(layout):
        counts = (prod(map(int, flatten(mode.shape))) for mode in layout.modes)
        modes = list(zip(at, counts, strict=True))
    left = [count for one, count in modes if isinstance(one, int) and one >= count]
    return (left[0], int(layout(at)), int(layout(size - 1))) if left else None
