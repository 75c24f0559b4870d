"""One instruction between the blocks of a cluster at a time, on a real GPU: what it does and refuses.

    python -m tests.gpu.cluster_probes --out docs/evidence/cluster_probes.json        needs a GPU, no DSL

Hand-written PTX, so that neither the compiler nor the confirm harness has a part in it. Block 0 of a cluster
issues one instruction of 64 bytes; every block's shared memory is read back, and whether its barrier
completed.
Every probe has a process of its own, since a fault ends it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutcheck.gpu.driver import Device, DeviceFault
from tests.gpu.probing import main

BYTES = 64  # of one instruction
WORDS = 64  # of shared memory: the barrier at byte 0, the source from byte 64 on, the destination from 128
WAIT_NS = 20_000_000
ST_ASYNC = "\n".join(
    f"st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%d+{at}], "
    f"{{%w{at // 4}, %w{at // 4 + 1}, %w{at // 4 + 2}, %w{at // 4 + 3}}}, [%b];"
    for at in range(0, BYTES, 16)
)
READ = "\n".join(f"ld.shared.b32 %w{i}, [%src+{4 * i}];" for i in range(BYTES // 4))
S2S = f"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%d], [%src], {BYTES}, [%b];"
G2S = f"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%d], [%from], {BYTES}, [%b];"
PLAIN = "st.shared::cluster.b32 [%d], %w0;"


def multicast(mask: int) -> str:
    """A bulk load to the blocks of `mask`, at the issuing block's addresses."""
    return (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        f"[%dst], [%from], {BYTES}, [%bar], {mask};"
    )


def to(block: int, issue: str, barrier: int | None = None) -> str:
    """`issue` with its destination in `block` and its barrier in `barrier` (None: the same)."""
    return (
        f"mapa.shared::cluster.u32 %d, %dst, {block};\n"
        f"mapa.shared::cluster.u32 %b, %bar, {block if barrier is None else barrier};\n{READ}\n{issue}"
    )


@dataclass(frozen=True)
class Probe:
    """What block 0 issues, the blocks of a cluster (0: none is launched), the bytes each barrier expects."""

    issue: str
    cluster: int = 2
    expect: tuple[int, ...] = (0, BYTES)
    early: bool = False  # the other blocks leave at once
    blocks: int = 0  # of the grid; 0: one cluster


def probes() -> dict[str, Probe]:
    """By name."""
    two, four = (0, BYTES), (0, 0, 0, BYTES)
    local = f"mov.u32 %d, %dst; mov.u32 %b, %bar;\n{READ}\n"
    return {
        "nothing": Probe("", expect=(0, 0)),
        "plain-store-to-1": Probe(to(1, PLAIN), expect=(0, 0)),
        "st.async-to-1": Probe(to(1, ST_ASYNC)),
        "st.async-to-0": Probe(to(0, ST_ASYNC), expect=(BYTES, 0)),
        "st.async-to-3-of-4": Probe(to(3, ST_ASYNC), 4, four),
        "st.async-to-1-barrier-of-0": Probe(to(1, ST_ASYNC, 0)),
        "st.async-to-1-local-barrier": Probe(
            f"mapa.shared::cluster.u32 %d, %dst, 1; mov.u32 %b, %bar;\n{READ}\n{ST_ASYNC}"
        ),
        "s2s-to-1": Probe(to(1, S2S)),
        "s2s-to-0": Probe(to(0, S2S), expect=(BYTES, 0)),
        "s2s-to-3-of-4": Probe(to(3, S2S), 4, four),
        "s2s-to-1-barrier-of-0": Probe(to(1, S2S, 0)),
        "s2s-to-1-local-barrier": Probe(f"mapa.shared::cluster.u32 %d, %dst, 1; mov.u32 %b, %bar;\n{S2S}"),
        "s2s-local-destination-barrier-of-1": Probe(
            f"mov.u32 %d, %dst; mapa.shared::cluster.u32 %b, %bar, 1;\n{S2S}", expect=(BYTES, 0)
        ),
        "g2s-to-1": Probe(to(1, G2S)),
        "g2s-to-1-barrier-of-0": Probe(to(1, G2S, 0)),
        "multicast-1": Probe(multicast(1), expect=(BYTES, 0)),
        "multicast-2": Probe(multicast(2)),
        "multicast-3": Probe(multicast(3), expect=(BYTES, BYTES)),
        "multicast-13-of-4": Probe(multicast(13), 4, (BYTES, 0, BYTES, BYTES)),
        "multicast-0": Probe(multicast(0), expect=(BYTES, 0)),
        "multicast-outside": Probe(multicast(7), expect=(BYTES, BYTES)),
        "multicast-only-outside": Probe(multicast(4), expect=(0, 0)),
        "multicast-far-outside": Probe(multicast(0x8001), expect=(BYTES, 0)),
        "multicast-1-no-cluster": Probe(multicast(1), 0, (BYTES,)),
        "multicast-3-no-cluster": Probe(multicast(3), 0, (BYTES,)),
        "st.async-outside": Probe(to(2, ST_ASYNC), expect=(0, 0)),
        "s2s-outside": Probe(to(2, S2S), expect=(0, 0)),
        "plain-store-outside": Probe(to(2, PLAIN), expect=(0, 0)),
        "st.async-no-cluster": Probe(to(0, ST_ASYNC), 0, (BYTES,)),
        "s2s-no-cluster": Probe(to(0, S2S), 0, (BYTES,)),
        "s2s-unmapped-no-cluster": Probe(local + S2S, 0, (BYTES,)),
        "s2s-to-1-of-a-grid-without-cluster": Probe(to(1, S2S), 0, (0, BYTES), blocks=2),
        "s2s-to-1-grid-too-small": Probe(to(1, S2S), blocks=1),
        "st.async-unmapped": Probe(local + ST_ASYNC, expect=(BYTES, 0)),
        "s2s-unmapped": Probe(local + S2S, expect=(BYTES, 0)),
        "st.async-peer-told-too-much": Probe(to(1, ST_ASYNC), expect=(0, BYTES + 16)),
        "s2s-peer-told-too-much": Probe(to(1, S2S), expect=(0, BYTES + 16)),
        "multicast-peer-told-too-much": Probe(multicast(3), expect=(BYTES, BYTES + 16)),
        "st.async-peer-gone": Probe(to(1, ST_ASYNC), expect=two, early=True),
        "s2s-peer-gone": Probe(to(1, S2S), expect=two, early=True),
        "multicast-peer-gone": Probe(multicast(3), expect=(BYTES, BYTES), early=True),
    }


def ptx(probe: Probe) -> str:
    """records: per block the bytes to expect; image: what is copied, then each block's memory."""
    cluster = f"\n.explicitcluster\n.reqnctapercluster {probe.cluster}, 1, 1" if probe.cluster else ""
    meet = (
        "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" if probe.cluster else "bar.sync 0;"
    )
    rank = "mov.u32 %cta, %cluster_ctarank;" if probe.cluster else "mov.u32 %cta, 0;"
    leave = "setp.ne.u32 %p, %cta, 0; @%p bra DONE;" if probe.early else ""
    end = "" if probe.early else meet
    words = ", ".join(f"%w{i}" for i in range(BYTES // 4))
    return f""".version 8.7
.target sm_90a
.address_size 64
.extern .shared .align 128 .b8 arena[];
.visible .entry harness(
.param .u64 records, .param .u64 image, .param .u32 words, .param .u64 report
){cluster}
{{
.reg .b32 %cta, %t, %n, %i, %v, %at, %arena, %bar, %src, %dst, %d, %b, {words};
.reg .b64 %rec, %img, %from, %mine, %o, %rep, %st, %start, %now;
.reg .pred %p;
{rank}
mov.u32 %t, %tid.x; mov.u32 %n, %ntid.x;
ld.param.u64 %rec, [records]; ld.param.u64 %from, [image]; ld.param.u64 %rep, [report];
mul.wide.u32 %o, %cta, 4; add.u64 %rec, %rec, %o; add.u64 %rep, %rep, %o;
mul.wide.u32 %o, %cta, {4 * WORDS}; add.u64 %mine, %from, %o; add.u64 %mine, %mine, {4 * WORDS};
mov.u32 %arena, arena; mov.u32 %bar, %arena; add.u32 %src, %arena, 64; add.u32 %dst, %arena, 128;
mov.u32 %i, %t;
FILL: setp.ge.u32 %p, %i, {WORDS}; @%p bra FILLED;
mul.wide.u32 %o, %i, 4; add.u64 %o, %mine, %o; ld.global.u32 %v, [%o];
mad.lo.u32 %at, %i, 4, %arena; st.shared.u32 [%at], %v; add.u32 %i, %i, %n; bra FILL;
FILLED: bar.sync 0;
setp.ne.u32 %p, %t, 0; @%p bra READY;
mbarrier.init.shared::cta.b64 [%bar], 1; fence.mbarrier_init.release.cluster;
ld.global.u32 %v, [%rec]; mbarrier.arrive.expect_tx.shared::cta.b64 %st, [%bar], %v;
READY: fence.proxy.async;
{meet}
{leave}
setp.ne.u32 %p, %t, 0; @%p bra ISSUED;
setp.ne.u32 %p, %cta, 0; @%p bra ISSUED;
{probe.issue}
ISSUED: bar.sync 0;
mov.u64 %start, %globaltimer;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p, [%bar], 0; @%p bra CAME;
mov.u64 %now, %globaltimer; sub.u64 %now, %now, %start; setp.lt.u64 %p, %now, {WAIT_NS}; @%p bra WAIT;
mov.u32 %v, 2; st.global.u32 [%rep], %v;
bra WAITED;
CAME: mov.u32 %v, 1; st.global.u32 [%rep], %v;
WAITED: bar.sync 0;
{end}
mov.u32 %i, %t;
DUMP: setp.ge.u32 %p, %i, {WORDS}; @%p bra DONE;
mad.lo.u32 %at, %i, 4, %arena; ld.shared.u32 %v, [%at];
mul.wide.u32 %o, %i, 4; add.u64 %o, %mine, %o; st.global.u32 [%o], %v; add.u32 %i, %i, %n; bra DUMP;
DONE: ret;
}}"""


def measure(name: str) -> dict[str, Any]:
    """The fault; or, for every block, whether its barrier completed and which words of it were written."""
    probe = probes()[name]
    blocks = probe.blocks or max(1, probe.cluster)
    image = np.arange((blocks + 1) * WORDS, dtype=np.uint32) + 1000  # all different
    try:
        with Device() as device:
            _, function = device.load(ptx(probe))
            device.write(4096, np.array(probe.expect, dtype=np.uint32).tobytes())
            device.write(8192, image.tobytes())
            device.write(0, bytes(64))
            buffer = device.buffer
            device.launch(function, 32, 4 * WORDS, (buffer + 4096, buffer + 8192, WORDS, buffer), blocks)
            flags = np.frombuffer(device.read(0, 4 * blocks), np.uint32)
            seen = np.frombuffer(device.read(8192, image.nbytes), np.uint32).reshape(-1, WORDS)
    except DeviceFault as fault:
        return {"fault": str(fault)}
    image = image.reshape(-1, WORDS)
    written = []
    for block in range(blocks):
        before, after = image[block + 1], seen[block + 1].copy()
        after[:2] = before[:2]  # the barrier
        changed = np.flatnonzero(before != after)
        source = image[0][:16] if "shared::cluster.global" in probe.issue else image[1][16:32]
        as_asked = changed.tolist() == list(range(32, 48)) and bool((after[32:48] == source).all())
        one = changed.tolist() == [32] and int(after[32]) == int(source[0])
        written.append(
            "source" if as_asked else "one word" if one else "other" if changed.size else "nothing"
        )
    completes = {0: "left", 1: "completes", 2: "waits"}
    return {"fault": "", "barriers": [completes[int(flag)] for flag in flags], "written": written}


if __name__ == "__main__":
    main("tests.gpu.cluster_probes", __doc__, probes(), measure)
