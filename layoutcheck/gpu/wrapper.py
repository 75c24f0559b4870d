"""PTX around the DSL's own: fill shared memory, run the copy under test, read shared memory back.

The compiler's kernel (dsl/lower.py) becomes a device function, untouched but for its head. Around it, plain
4-byte loads and stores bring the shared image in and out, never the instructions under test; every thread
gets its own parameters from a table in global memory, so that one kernel serves any tiling.

Instructions between blocks (`st.async`, bulk copies within shared memory) get a launch as a cluster, of one
block where no more is known: without one they are illegal instructions (measured on an H200). Of a larger
cluster every block brings its own image in and out, the first one runs the copy, and none leaves before all
are done.

Copies that complete on an mbarrier find one in the first 8 bytes of the arena, block r's told to expect
`report[2 + r]` bytes; a wait longer than `WAIT_NS` sets `report[1]`. Bulk copies to global memory are waited
for as a group.
"""

from __future__ import annotations

import re
from typing import TypeAlias

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


def wrap(
    kernel: str, arch: str, completion: str = "", cluster: Cluster | None = None, mapped: Mapped | None = None
) -> tuple[str, list[int]]:
    """The module's text with an entry `harness`, and the size in bytes of each of the copy's parameters.

    `mapped` are the parameters that are shared addresses of another block: their place, and the block's rank.
    """
    entry = _ENTRY.search(kernel)
    body = kernel.find("{")
    if entry is None or body < 0:
        raise UnexpectedPtx("the compiler's PTX has no entry")
    name, head = entry[1], kernel[entry.end() : body]
    declared = []
    heads = []
    for align, named, size, bits, scalar in _PARAMETER.findall(head):
        # A scalar is passed as the bytes of a word: a function's parameters have no `.ptr`.
        declared.append((int(align), int(size)) if size else (max(4, int(bits) // 8),) * 2)
        heads.append(f".param .align {declared[-1][0]} .b8 {named or scalar}[{declared[-1][1]}]")
    function = f".func {name}({', '.join(heads)})\n{kernel[body:]}"
    if cluster is None and ("st.async" in kernel or "shared::cluster.shared::cta" in kernel):
        cluster = Cluster(1)
    text = _harness(name, declared, completion, cluster, mapped or {})
    return module(arch, function, text), [size for _, size in declared]


def module(arch: str, function: str, harness: str) -> str:
    """The text of a module: the compiler's kernel as a function, and the entry that calls it."""
    return (
        f".version {VERSION}\n.target {arch}\n.address_size 64\n\n"
        f".extern .shared .align 1024 .b8 arena[];\n\n{function}\n\n{harness}"
    )


_BEFORE = """    mov.u32 %i, %thread;
    setp.ne.u32 %p, %i, 0;
    @%p bra ANNOUNCED;
    mbarrier.init.shared::cta.b64 [%arena], 1;
    fence.mbarrier_init.release.cluster;
    ld.global.u32 %v, [%told+8];
    mbarrier.arrive.expect_tx.shared::cta.b64 %state, [%arena], %v;
ANNOUNCED:
    fence.proxy.async;
"""
_AFTER = f"""    mov.u64 %start, %globaltimer;
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [%arena], 0;
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


def _harness(
    name: str, declared: list[tuple[int, int]], completion: str, cluster: Cluster | None, mapped: Mapped
) -> str:
    """records: the threads' parameters, 4-byte words; image: the shared memory's contents, in and out."""
    lines, size = passed(declared, mapped=mapped)
    mine = f"""    mul.wide.u32 %offset, %thread, {size};
    add.u64 %record, %record, %offset;
"""
    before = {
        "": "",
        "barrier": _BEFORE + meet(cluster),
        "group": "    fence.proxy.async;\n    bar.sync 0;\n",
    }
    after = {"": "", "barrier": _AFTER, "group": _GROUP}
    kept = 2 if completion == "barrier" else 0  # words that are the barrier, not the image
    return entry(
        cluster,
        mine,
        "    mov.u32 %i, %thread;\n",
        f"    bar.sync 0;\n{before[completion]}",
        called(name, lines, len(declared)),
        f"{after[completion]}    cp.async.wait_all;\n",
        f"    add.u32 %i, %thread, {kept};\n",
    )


def passed(
    declared: list[tuple[int, int]], first: int = 0, at: int = 0, mapped: Mapped | None = None
) -> tuple[list[str], int]:
    """The code that fills the parameters from number `first` on, and where what it reads of the record ends.

    `declared` has each one's alignment and bytes; it is read at byte `at` of the record.
    """
    lines = []
    for i, (align, size) in enumerate(declared, first):
        lines.append(f"    .param .align {max(align, 4)} .b8 a{i}[{size}];")
        for word in range(0, size, 4):
            lines.append(f"    ld.global.u32 %v, [%record+{at + word}];")
            if word == 0 and mapped and i in mapped:
                lines.append(f"    mapa.shared::cluster.u32 %v, %v, {mapped[i]};")
            lines.append(f"    st.param.b32 [a{i}+{word}], %v;")
        at += -(-size // 4) * 4
    return lines, at


def called(name: str, lines: list[str], count: int) -> str:
    """The call of the compiler's kernel, whose `count` parameters the lines fill."""
    arguments = ", ".join(f"a{i}" for i in range(count))
    return "\n".join(["    {", *lines, f"    call.uni {name}, ({arguments});", "    }", ""])


def entry(
    cluster: Cluster | None, begin: str, first: str, before: str, call: str, after: str, rest: str
) -> str:
    """The entry `harness`: image to shared memory, `before`, the call, `after`, shared memory to image.

    `begin` is said before anything else; `first` and `rest` set %i to the word at which a thread begins to
    read the image and to write it back. Of a cluster only the first block makes the call.
    """
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
{begin}    mov.u64 %told, %report;
{_BLOCK if cluster else ""}{first}{_FILL}{before}{alone}{call}CALLED:
{after}{meet(cluster)}{rest}{_DUMP}    st.global.u32 [%report], %arena;
    ret;
}}
"""


def meet(cluster: Cluster | None) -> str:
    """Where all threads of the block, or of the cluster, wait for each other."""
    return _MEET if cluster else "    bar.sync 0;\n"
