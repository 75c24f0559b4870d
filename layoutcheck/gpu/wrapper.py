"""PTX around the DSL's own: fill shared memory, run the copy under test, read shared memory back.

The compiler's kernel (dsl/lower.py) becomes a device function, untouched but for its head. Around it, plain
4-byte loads and stores bring the shared image in and out, never the instructions under test; every thread
gets its own parameters from a table in global memory, so that one kernel serves any tiling.

Instructions between blocks (`st.async`, bulk copies within shared memory) get a launch as a cluster, of one
block where no more is known: without one they are illegal instructions (measured on an H200). Of a larger
cluster every block brings its own image in and out, the first one runs the copy, and none leaves before all
are done.

Copies that complete on an mbarrier find one in the first 8 bytes of the arena (TMA copies behind the image).
That of block r is told to expect `report[2 + r]` bytes; a wait longer than `WAIT_NS` sets `report[1]`. Bulk
copies to global memory are waited for as a group.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from layoutcheck.algebra.integers import round_up
from layoutcheck.copies.cluster import Cluster
from layoutcheck.errors import LayoutcheckError

# ISA of the text around the copy. The DSL's own says 9.x, which older drivers refuse; nothing here needs
# more.
VERSION = "8.7"

_ENTRY = re.compile(r"\.visible\s+\.entry\s+(\w+)\s*\(")
_PARAMETER = re.compile(
    r"\.param\s+\.align\s+([0-9]+)\s+\.b8\s+(\w+)\[([0-9]+)\]"
    r"|\.param\s+\.[bu]([0-9]+)(?:\s+\.ptr(?:\s+\.[a-z]+)*\s+\.align\s+[0-9]+)?\s+(\w+)"
)

Mapped: TypeAlias = "dict[int, int]"
WAIT_NS = 20_000_000  # a barrier that has not completed by then never will


class UnexpectedPtx(LayoutcheckError):
    """The compiler's PTX does not have the form the wrapper knows."""


class Parameter(NamedTuple):
    """One parameter of the compiler's kernel, in bytes; a scalar is passed as the bytes of a word."""

    name: str
    align: int
    size: int

    @property
    def head(self) -> str:
        """Its declaration as a function's, which has no `.ptr`."""
        return f".param .align {self.align} .b8 {self.name}[{self.size}]"


def wrap(
    kernel: str, arch: str, completion: str = "", cluster: Cluster | None = None, mapped: Mapped | None = None
) -> tuple[str, list[int]]:
    """The module's text with an entry `harness`, and the size in bytes of each of the copy's parameters.

    `mapped` are the parameters that are shared addresses of another block: their place, and the block's rank.
    """
    name, declared, body = taken_apart(kernel)
    if cluster is None and ("st.async" in kernel or "shared::cluster.shared::cta" in kernel):
        cluster = Cluster(1)
    lines, size = passed(declared, mapped=mapped)
    own = f"    mul.wide.u32 %offset, %thread, {size};\n    add.u64 %record, %record, %offset;\n"
    function = f".func {name}({', '.join(one.head for one in declared)})\n{body}"
    text = harness(completion, cluster, called(name, lines, len(declared)), own)
    return module(arch, function, text), [one.size for one in declared]


def taken_apart(kernel: str) -> tuple[str, list[Parameter], str]:
    """The name of the compiler's kernel, its parameters, and its body from the brace on."""
    entry = _ENTRY.search(kernel)
    body = kernel.find("{", entry.end()) if entry else -1
    if entry is None or body < 0:
        raise UnexpectedPtx("the compiler's PTX has no entry")
    declared = []
    for align, named, size, bits, scalar in _PARAMETER.findall(kernel[entry.end() : body]):
        width = max(4, int(bits or 0) // 8)
        declared.append(Parameter(named, int(align), int(size)) if size else Parameter(scalar, width, width))
    return entry[1], declared, kernel[body:]


def module(arch: str, function: str, harness: str) -> str:
    """The text of a module: the compiler's kernel as a function, and the entry that calls it."""
    return (
        f".version {VERSION}\n.target {arch}\n.address_size 64\n\n"
        f".extern .shared .align 1024 .b8 arena[];\n\n{function}\n\n{harness}"
    )


_BEFORE = """    mov.u32 %i, %thread;
    setp.ne.u32 %p, %i, 0;
    @%p bra ANNOUNCED;
    mbarrier.init.shared::cta.b64 [%barrier], 1;
    fence.mbarrier_init.release.cluster;
    ld.global.u32 %v, [%told+8];
    mbarrier.arrive.expect_tx.shared::cta.b64 %state, [%barrier], %v;
ANNOUNCED:
    fence.proxy.async;
"""
_AFTER = f"""    mov.u64 %start, %globaltimer;
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [%barrier], 0;
    @%p bra ARRIVED;
    mov.u64 %now, %globaltimer;
    sub.u64 %now, %now, %start;
    setp.lt.u64 %p, %now, {WAIT_NS};
    @%p bra WAIT;
    mov.u32 %v, 1;
    st.global.u32 [%report+4], %v;
ARRIVED:
"""
_GROUP = """    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
"""


# Every block its own part of the image, and its own word of the report's.
_BLOCK = """    mov.u32 %block, %cluster_ctarank;
    mul.lo.u32 %i, %block, %words;
    mul.wide.u32 %offset, %i, 4;
    add.u64 %image, %image, %offset;
    mul.wide.u32 %offset, %block, 4;
    add.u64 %told, %told, %offset;
"""
_MEET = "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n"


# From word %i on, all threads in turn: shared memory from the image, and back to it.
_FILL = """FILL:
    setp.ge.u32 %p, %i, %words;
    @%p bra FILLED;
    mul.wide.u32 %offset, %i, 4;
    add.u64 %from, %image, %offset;
    ld.global.u32 %v, [%from];
    mad.lo.u32 %at, %i, 4, %arena;
    st.shared.u32 [%at], %v;
    add.u32 %i, %i, %threads;
    bra FILL;
FILLED:
"""
_DUMP = """DUMP:
    setp.ge.u32 %p, %i, %words;
    @%p bra DONE;
    mad.lo.u32 %at, %i, 4, %arena;
    ld.shared.u32 %v, [%at];
    mul.wide.u32 %offset, %i, 4;
    add.u64 %from, %image, %offset;
    st.global.u32 [%from], %v;
    add.u32 %i, %i, %threads;
    bra DUMP;
DONE:
"""


def passed(
    declared: Sequence[Parameter], first: int = 0, at: int = 0, mapped: Mapped | None = None
) -> tuple[list[str], int]:
    """The code that fills the parameters, the first being number `first`, from byte `at` of the record on.

    With it, the byte at which what it reads ends.
    """
    lines = []
    for i, (_, align, size) in enumerate(declared, first):
        lines.append(f"    .param .align {max(align, 4)} .b8 a{i}[{size}];")
        for word in range(0, size, 4):
            lines.append(f"    ld.global.u32 %v, [%record+{at + word}];")
            if word == 0 and mapped and i in mapped:
                lines.append(f"    mapa.shared::cluster.u32 %v, %v, {mapped[i]};")
            lines.append(f"    st.param.b32 [a{i}+{word}], %v;")
        at += round_up(size, 4)
    return lines, at


def called(name: str, lines: list[str], count: int) -> str:
    """The call of the compiler's kernel, whose `count` parameters the lines fill."""
    arguments = ", ".join(f"a{i}" for i in range(count))
    return "\n".join(["    {", *lines, f"    call.uni {name}, ({arguments});", "    }", ""])


def harness(
    completion: str, cluster: Cluster | None, call: str, own: str = "", *, behind: bool = False
) -> str:
    """The entry `harness`: image to shared memory, the call, its end waited for, shared memory to image.

    `own` makes a thread's record of the block's. The barrier, where there is one, is the image's first two
    words, or lies `behind` it. Of a cluster only the first block makes the call.
    """
    before = {"": "", "barrier": _BEFORE, "group": "    fence.proxy.async;\n"}[completion]
    before += meet(cluster) if completion else ""
    after = {"": "", "barrier": _AFTER, "group": _GROUP}[completion]
    barrier = "mad.lo.u32 %barrier, %words, 4, %arena" if behind else "mov.u32 %barrier, %arena"
    kept = 2 if completion == "barrier" and not behind else 0
    directives = f"\n.explicitcluster\n.reqnctapercluster {cluster.blocks}, 1, 1" if cluster else ""
    alone = "    setp.ne.u32 %p, %block, 0;\n    @%p bra CALLED;\n" if cluster else ""
    return f""".visible .entry harness(
    .param .u64 records, .param .u64 image, .param .u32 words, .param .u64 report
){directives}
{{
    .reg .b32 %v, %thread, %threads, %i, %arena, %at, %words, %barrier, %block;
    .reg .b64 %record, %image, %from, %offset, %report, %told, %start, %now, %state;
    .reg .pred %p;
    mov.u32 %thread, %tid.x;
    mov.u32 %threads, %ntid.x;
    mov.u32 %arena, arena;
    ld.param.u64 %record, [records];
    ld.param.u64 %image, [image];
    ld.param.u32 %words, [words];
    ld.param.u64 %report, [report];
{own}    mov.u64 %told, %report;
{_BLOCK if cluster else ""}    {barrier};
    mov.u32 %i, %thread;
{_FILL}    bar.sync 0;
{before}{alone}{call}CALLED:
{after}    cp.async.wait_all;
{meet(cluster)}    add.u32 %i, %thread, {kept};
{_DUMP}    st.global.u32 [%report], %arena;
    ret;
}}
"""


def meet(cluster: Cluster | None) -> str:
    """Where all threads of the block, or of the cluster, wait for each other."""
    return _MEET if cluster else "    bar.sync 0;\n"
