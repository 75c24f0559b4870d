"""TMA copies on the GPU: the DSL's own tensor map and instructions, between images as for any other copy.

The kernel that the DSL makes takes the tensor map as a parameter in constant memory. Here the map is put
into global memory instead, as PTX allows, with its base moved to where the tensor's image lies, and the
kernel's head is rewritten to take the map's address. One warp runs it; a load is waited for on an mbarrier
that was told of the bytes that the tile has, a store as a bulk group. A wait without end is broken off. A
multicast is issued by the first block of a cluster; every block has an image and a barrier of its own.
"""

from __future__ import annotations

import re

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
from layoutcheck.gpu.completion import fields
from layoutcheck.gpu.images import SHARED_START
from layoutcheck.gpu.job import Job
from layoutcheck.gpu.make_job import make_job
from layoutcheck.gpu.outcome import Task
from layoutcheck.gpu.wrapper import UnexpectedPtx, called, harness, module, passed, taken_apart

MAP_BYTES = 128
BARRIER_BYTES = 16  # behind the image in shared memory
THREADS = 32  # one of which the DSL elects


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
    name, all_declared, body = taken_apart(kernel)
    count = len(all_declared) - bool(cluster) - place
    if count not in ((3,) if place else (3, 4)) or all_declared[0].size != MAP_BYTES:
        raise UnexpectedPtx("the compiler's TMA kernel has other parameters than known")
    tensor_map, *declared = all_declared
    taken = re.compile(rf"mov\.b64\s+(%rd[0-9]+), {tensor_map.name};")
    body = taken.sub(rf"ld.param.b64 \1, [{tensor_map.name}];", body).replace("cvta.param.u64", "mov.b64")
    heads = [f".param .b64 {tensor_map.name}", *(one.head for one in declared)]
    lines, _ = passed(declared, 1, MAP_BYTES)
    lines = ["    .param .b64 a0;", "    st.param.b64 [a0], %record;", *lines]
    call = called(name, lines, len(declared) + 1)
    text = harness("barrier" if load else "group", cluster, call, behind=True)
    return module(arch, f".func {name}({', '.join(heads)})\n{body}", text), [one.size for one in declared]


def record(task: Task, job: Job, images: dict[str, int]) -> bytes:
    """The tensor map with its base in the tensor's image, then the kernel's other parameters."""
    copy, instance = job.copy, job.instance
    gmem, smem = (job.src, job.dst) if gmem_side(copy) == "src" else (job.dst, job.src)
    base = images[gmem_side(copy)] + gmem.place(gmem.base)
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
