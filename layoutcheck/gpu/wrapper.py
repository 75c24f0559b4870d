"""PTX around the DSL's own: fill shared memory, run the copy under test, read shared memory back.

The compiler's kernel (dsl/lower.py) becomes a device function, untouched but for its head. Around it, plain
4-byte loads and stores bring the shared image in and out, never the instructions under test; every thread
gets its own parameters from a table in global memory, so that one kernel serves any tiling.
"""

from __future__ import annotations

import re

from layoutcheck.errors import LayoutcheckError

# ISA of the text around the copy. The DSL's own says 9.x, which older drivers refuse; nothing here needs
# more.
VERSION = "8.7"

_ENTRY = re.compile(r"\.visible\s+\.entry\s+(\w+)\s*\(")
_PARAMETER = re.compile(r"\.param\s+\.align\s+(\d+)\s+\.b8\s+(\w+)\[(\d+)\]|\.param\s+\.b(\d+)\s+(\w+)")


class UnexpectedPtx(LayoutcheckError):
    """The compiler's PTX does not have the form the wrapper knows."""


def wrap(kernel: str, arch: str) -> tuple[str, list[int]]:
    """The module's text with an entry `harness`, and the size in bytes of each of the copy's parameters."""
    entry = _ENTRY.search(kernel)
    body = kernel.find("{")
    if entry is None or body < 0:
        raise UnexpectedPtx("the compiler's PTX has no entry")
    name, head = entry[1], kernel[entry.end() : body]
    declared = []
    for align, _, size, bits, _ in _PARAMETER.findall(head):
        declared.append((int(align), int(size)) if size else (int(bits) // 8, int(bits) // 8))
    function = f".func {name}({head[: head.rfind(')')]})\n{kernel[body:]}"
    return (
        f".version {VERSION}\n.target {arch}\n.address_size 64\n\n"
        f".extern .shared .align 1024 .b8 arena[];\n\n{function}\n\n{_harness(name, declared)}",
        [size for _, size in declared],
    )


def _harness(name: str, declared: list[tuple[int, int]]) -> str:
    """records: the threads' parameters, 4-byte words; image: the shared memory's contents, in and out."""
    lines, at = [], 0
    for i, (align, size) in enumerate(declared):
        lines.append(f"    .param .align {max(align, 4)} .b8 a{i}[{size}];")
        for word in range(0, size, 4):
            lines.append(f"    ld.global.u32 %v, [%record+{at + word}];")
            lines.append(f"    st.param.b32 [a{i}+{word}], %v;")
        at += -(-size // 4) * 4
    arguments = ", ".join(f"a{i}" for i in range(len(declared)))
    call = "\n".join(lines)
    return f""".visible .entry harness(
    .param .u64 records, .param .u64 image, .param .u32 words, .param .u64 report
)
{{
    .reg .b32 %v, %thread, %threads, %i, %arena, %at, %words;
    .reg .b64 %record, %image, %from, %offset, %report;
    .reg .pred %p;
    mov.u32 %thread, %tid.x;
    mov.u32 %threads, %ntid.x;
    mov.u32 %arena, arena;
    ld.param.u64 %record, [records];
    ld.param.u64 %image, [image];
    ld.param.u32 %words, [words];
    ld.param.u64 %report, [report];
    mul.wide.u32 %offset, %thread, {at};
    add.u64 %record, %record, %offset;
    mov.u32 %i, %thread;
FILL:
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
    bar.sync 0;
    {{
{call}
    call.uni {name}, ({arguments});
    }}
    cp.async.wait_all;
    bar.sync 0;
    mov.u32 %i, %thread;
DUMP:
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
    st.global.u32 [%report], %arena;
    ret;
}}
"""
