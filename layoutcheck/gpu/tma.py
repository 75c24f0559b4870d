"""TMA copies on the GPU: the DSL's own tensor map and instructions, between images as for any other copy.

The kernel that the DSL makes takes the tensor map as a parameter in constant memory. Here the map is put
into global memory instead, as PTX allows, with its base moved to where the tensor's image lies, and the
kernel's head is rewritten to take the map's address. One warp runs it; a load is waited for on an mbarrier
that was told of the bytes that the tile has, a store as a bulk group. A wait without end is broken off. A
multicast is issued by the first block of a cluster; every block has an image and a barrier of its own.
"""

from __future__ import annotations

import re

import numpy as np

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.analysis import Analysis
from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.atoms.tma.plan import gmem_side, tile_of
from layoutcheck.atoms.tma.plan import plan as tma_plan
from layoutcheck.copies.cluster import Cluster
from layoutcheck.copies.copy import Copy
from layoutcheck.dsl.session import Session
from layoutcheck.dsl.tma import make_tma
from layoutcheck.errors import InputError
from layoutcheck.gpu.completion import STALLED, fields
from layoutcheck.gpu.driver import Device, DeviceFault
from layoutcheck.gpu.images import POISON, SHARED_START, coded, packed, poison, turns, unpacked
from layoutcheck.gpu.job import Job
from layoutcheck.gpu.make_job import make_job
from layoutcheck.gpu.outcome import Outcome, Task, judge
from layoutcheck.gpu.wrapper import UnexpectedPtx, called, entry, meet, module, passed

MAP_BYTES = 128
WAITS = 2_000_000  # test_wait this often: about half a second on an H200
_ALIGN = 1 << 16
_HEAD = re.compile(r"\.visible\s+\.entry\s+(\w+)\s*\(([^)]*)\)\s*\.reqntid[^{]*\{", re.DOTALL)
_BYTES = re.compile(r"\.b8\s+\w+\[([0-9]+)\]")


def runs_here(copy: Copy) -> bool:
    """Whether the copy is a TMA copy between whole tensors."""
    return isinstance(copy.atom, TmaCopy) and copy.tma is not None


def prepare(analysis: Analysis, arch: str, session: Session) -> tuple[Task | None, str]:
    """The task, or what the compiler says instead. Raises InputError for copies that cannot be run."""
    copy = analysis.copy
    if copy.index is not None:
        raise InputError("copies of four rows are not run: the harness has no place for their indices")
    job = make_job(analysis)
    made = make_tma([(copy, job.instance, 0)], session=session)[0]
    if made.died or made.error or not made.ptx:
        return None, made.error or f"the compiler dies of signal {made.died}"
    assert isinstance(copy.atom, TmaCopy)
    cluster = (copy.cluster or Cluster(1, 1)) if copy.atom.multicast else None
    ptx, sizes = wrap(made.ptx, arch, gmem_side(copy) == "src", cluster, len(_place(copy)))
    return Task(copy, ptx, tuple(sizes), made.words), ""


def wrap(
    kernel: str, arch: str, load: bool, cluster: Cluster | None = None, place: int = 0
) -> tuple[str, list[int]]:
    """The module with an entry `harness`, and the bytes of each of the kernel's parameters after the map.

    `place` is how many of them say which tile it is: those of an im2col copy.
    """
    head = _HEAD.search(kernel)
    if head is None:
        raise UnexpectedPtx("the compiler's TMA kernel has no head as known")
    name, parameters = head[1], [p.strip() for p in head[2].split(",")]
    sizes = [int(m[1]) if (m := _BYTES.search(p)) else 4 for p in parameters]
    if sizes[0] != MAP_BYTES or len(sizes) - bool(cluster) - place not in ((3,) if place else (3, 4)):
        raise UnexpectedPtx("the compiler's TMA kernel has other parameters than known")
    taken = re.compile(rf"mov\.b64\s+(%rd[0-9]+), {name}_param_0;")
    body = taken.sub(rf"ld.param.b64 \1, [{name}_param_0];", kernel[head.end() :])
    body = body.replace("cvta.param.u64", "mov.b64")
    named = [f".param .b64 {name}_param_0"]
    named += [f".param .align 4 .b8 {name}_param_{i}[{size}]" for i, size in enumerate(sizes) if i]
    function = f".func {name}({', '.join(named)})\n{{{body}"
    return module(arch, function, _harness(name, sizes[1:], load, cluster)), sizes[1:]


def _harness(name: str, sizes: list[int], load: bool, cluster: Cluster | None) -> str:
    """records: the map, then the parameters; report: [0] where the arena begins, [1] a wait without end."""
    lines, _ = passed([(4, size) for size in sizes], 1, MAP_BYTES)
    mine = ["    .param .b64 a0;", "    st.param.b64 [a0], %record;"]
    announce = """    ld.global.u32 %v, [%told+8];
    mbarrier.init.shared.b64 [%barrier], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared.b64 %state, [%barrier], %v;
"""
    wait = f"""    mov.u32 %i, 0;
WAIT:
    mbarrier.test_wait.parity.shared.b64 %p, [%barrier], 0;
    @%p bra ARRIVED;
    add.u32 %i, %i, 1;
    setp.lt.u32 %p, %i, {WAITS};
    @%p bra WAIT;
    mov.u32 %v, 1;
    st.global.u32 [%report+4], %v;
ARRIVED:
"""
    group = "    cp.async.bulk.commit_group;\n    cp.async.bulk.wait_group 0;\n"
    before = f"""    setp.ne.u32 %p, %thread, 0;
    @%p bra ANNOUNCED;
{announce if load else ""}ANNOUNCED:
    fence.proxy.async;
{meet(cluster)}"""
    start = "    mad.lo.u32 %barrier, %words, 4, %arena;\n    mov.u32 %i, %thread;\n"
    call = called(name, [*mine, *lines], len(sizes) + 1)
    return entry(cluster, "", start, before, call, wait if load else group, "    mov.u32 %i, %thread;\n")


def run(device: Device, task: Task, job: Job) -> Outcome:
    """The outcome of a task with a tensor map."""
    try:
        module, function = device.load(task.ptx)
    except DeviceFault as refused:
        return Outcome(error=f"the driver refuses the module: {refused}")
    load = gmem_side(job.copy) == "src"
    results = []
    stalled = False
    unit = job.src.unit_bits
    for turn in range(turns(job.src.units, unit)):
        source = coded(np.arange(job.src.units), turn, unit, np.array(0))
        blank = coded(np.full(job.dst.units, POISON), turn, unit, poison(job.dst.units, turn, unit))
        data = {"src": packed(source, unit), "dst": packed(blank, unit) * job.blocks}
        at, used = {}, _ALIGN
        for side in ("src", "dst"):
            at[side] = used
            used += -(-(len(data[side]) + 1) // _ALIGN) * _ALIGN
            device.write(at[side], data[side])
        device.write(used, _record(task, job, device.buffer + at[gmem_side(job.copy)]))
        device.write(0, bytes(8) + job.expect)
        shared = job.dst if load else job.src
        words = shared.size_bytes // 4
        image = device.buffer + at["dst" if load else "src"]
        try:
            arguments = (device.buffer + used, image, words, device.buffer)
            device.launch(function, 32, words * 4 + 16, arguments, job.blocks)
        except DeviceFault as fault:
            return Outcome(fault=str(fault), expected_fault=job.fault)
        start = int.from_bytes(device.read(0, 3), "little")  # the fourth byte is the block's rank
        if start != SHARED_START:
            return Outcome(error=f"dynamic shared memory begins at {start}, not at {SHARED_START}")
        stalled |= bool(device.read(4, 4)[0])
        seen = unpacked(device.read(at["dst"], len(data["dst"])), unit)
        results.append(seen.reshape(job.blocks, -1))
    device.unload(module)
    if stalled:
        return Outcome(fault=STALLED, expected_fault=job.fault)
    return judge(job, results)


def _record(task: Task, job: Job, image: int) -> bytes:
    """The tensor map with its base at the image, then the kernel's other parameters."""
    copy, instance = job.copy, job.instance
    gmem, smem = (job.src, job.dst) if gmem_side(copy) == "src" else (job.dst, job.src)
    base = image + gmem.place(gmem.base)
    words = (base & ~15, *task.words[1:])
    out = b"".join(word.to_bytes(8, "little") for word in words).ljust(MAP_BYTES, b"\0")
    mask = b"".join(value.to_bytes(4, "little") for _, value in fields(copy))
    place = _place(copy)
    if len(task.sizes) - bool(mask) - len(place) == 3:  # coordinates have run-time extents and steps
        out += _coordinates(copy, instance).ljust(task.sizes[0], b"\0")[: task.sizes[0]]
    out += (SHARED_START + smem.place(smem.base)).to_bytes(4, "little")
    out += (SHARED_START + smem.size_bytes).to_bytes(4, "little")  # the barrier is behind the image
    return out + b"".join(at.to_bytes(4, "little") for at in place) + mask


def _place(copy: Copy) -> tuple[int, ...]:
    """Which tile of an im2col copy's matrix it is, which its kernel is told at run time."""
    tile = tile_of(copy)
    return () if tile.im2col is None else tile.coord or (0, 0)


def _coordinates(copy: Copy, instance: Copy) -> bytes:
    """The run-time leaves of the coordinate tensor: extents of the tensor, then steps of merged modes."""
    typed, static = (one.side(gmem_side(copy)).layout for one in (copy, instance))
    leaves = zip(flatten(typed.shape), flatten(static.shape), strict=True)
    values = [int(value) for leaf, value in leaves if isinstance(leaf, Dynamic)]
    made = tma_plan(copy, instance)
    for mode, (dimension, step) in enumerate(made.scales):
        several = dimension is not None and dimension > 0 and len(made.sides[dimension].modes) > 1
        if several or (dimension == 0 and isinstance(flatten(typed.stride)[mode], Dynamic)):
            values.append(step)
    return b"".join(value.to_bytes(4, "little", signed=True) for value in values)
