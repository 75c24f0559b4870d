"""One TMA instruction at a time, its tensor map encoded here, on a real GPU: what it does and refuses.

    python -m tests.gpu.tma_probes --out docs/evidence/tma_probes.json        needs a GPU, no DSL

Every probe has a process of its own, since a fault ends it. `as_modelled` compares memory, byte by byte, with
what atoms/tma/execution.py says: rows a span apart under a swizzle, zeros outside of the tensor, stores in
whole 16 bytes past the end of dimension 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from layoutcheck.atoms.tma.descriptor import Descriptor, machine_swizzle, row_pitch_bytes
from layoutcheck.atoms.tma.words import encode
from layoutcheck.errors import InputError
from layoutcheck.gpu.driver import Device, DeviceFault
from layoutcheck.gpu.images import SHARED_START
from tests.gpu.probing import main

SHARED, GLOBAL, POISON = 16384, 1 << 17, 0xA5
PLAIN = Descriptor("BF16_RN", (256, 64), (512,), (64, 8))


@dataclass(frozen=True)
class Probe:
    """One instruction: the map, the box's coordinates, its byte in shared memory, the bytes to wait for."""

    map: Descriptor = PLAIN
    load: bool = True
    coords: tuple[int, ...] = (0, 0)
    at: int = 0
    expect: int | None = None
    base: int = 0


def probes() -> dict[str, Probe]:
    """By name."""
    out = {"plain": Probe(), "plain-store": Probe(load=False)}
    for load, name in ((True, "load"), (False, "store")):
        for box, kind in (
            ((24, 8), "64B"),
            ((8, 8), "64B"),
            ((16, 8), "128B"),
            ((48, 8), "128B"),
            ((8, 8), "32B"),
        ):
            out[f"short-rows-{kind}-{box[0] * 2}-{name}"] = Probe(replace(PLAIN, box=box, swizzle=kind), load)
        for extent in (1, 4, 7, 12):
            out[f"row-{extent * 2}-{name}"] = Probe(replace(PLAIN, box=(extent, 8)), load)
        for kind in ("32B", "64B"):
            out[f"wide-{kind}-{name}"] = Probe(replace(PLAIN, swizzle=kind), load)
        for at in (8, 16, 32, 64, 128, 256, 384):
            out[f"smem-{at}-{name}"] = Probe(replace(PLAIN, swizzle="128B"), load, at=at)
        for x in (1, 2, 4, 7, 8, 12, 16):
            out[f"coordinate-{x}-{name}"] = Probe(load=load, coords=(x, 0))
        for coords in ((-8, 0), (0, -2), (-8, -2)):
            out[f"negative-{coords[0]}-{coords[1]}-{name}"] = Probe(load=load, coords=coords)
        for extent in (97, 100, 103, 104):
            out[f"edge-{extent}-{name}"] = Probe(replace(PLAIN, dims=(extent, 5)), load, (64, 2))
    for kind in ("128B_ATOM_32B", "128B_ATOM_64B"):
        out[kind] = Probe(replace(PLAIN, swizzle=kind))
    for form in ("U4", "U4_UNPACK_U8"):
        out[form] = Probe(Descriptor(form, (512, 64), (256,), (128, 8)))
    out["stride-0"] = Probe(replace(PLAIN, strides_bytes=(0,)))
    out["stride-negative"] = Probe(replace(PLAIN, strides_bytes=(-512,)), base=512 * 16)
    out["base-2"] = Probe(base=2)
    out["expect-more"] = Probe(expect=1040)
    out["rank-5"] = Probe(
        Descriptor("BF16_RN", (8, 4, 8, 4, 4), (16, 64, 512, 2048), (8, 2, 2, 2, 2)), coords=(0, 1, 2, 3, 1)
    )
    return out


def ptx(rank: int, load: bool) -> str:
    """records: the map, five coordinates, the byte in shared memory, the bytes to expect."""
    coords = ", ".join(f"%c{i}" for i in range(rank))
    loads = "\n".join(f"ld.global.b32 %c{i}, [%rec+{128 + 4 * i}];" for i in range(rank))
    issue = (
        f"mbarrier.arrive.expect_tx.shared.b64 %st, [%bar], %tx;\n"
        f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        f"[%at], [%rec, {{{coords}}}], [%bar];\nmov.u32 %i, 0;\n"
        "L: mbarrier.test_wait.parity.shared.b64 %q, [%bar], 0; @%q bra ISSUED; add.u32 %i, %i, 1;\n"
        "setp.lt.u32 %p, %i, 2000000; @%p bra L; mov.u32 %late, 1;"
        if load
        else f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group [%rec, {{{coords}}}], [%at];\n"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
    )
    return f""".version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 arena[];
.visible .entry harness(.param .u64 records, .param .u64 image, .param .u32 words, .param .u64 report)
{{
.reg .b32 %v, %t, %n, %i, %arena, %at, %words, %bar, %c<5>, %off, %tx, %late;
.reg .b64 %rec, %img, %from, %o, %rep, %st;
.reg .pred %p, %q;
mov.u32 %t, %tid.x; mov.u32 %n, %ntid.x; mov.u32 %arena, arena; mov.u32 %late, 0;
ld.param.u64 %rec, [records]; ld.param.u64 %img, [image]; ld.param.u32 %words, [words];
ld.param.u64 %rep, [report];
mad.lo.u32 %bar, %words, 4, %arena;
mov.u32 %i, %t;
FILL: setp.ge.u32 %p, %i, %words; @%p bra FILLED;
mul.wide.u32 %o, %i, 4; add.u64 %from, %img, %o; ld.global.u32 %v, [%from];
mad.lo.u32 %at, %i, 4, %arena; st.shared.u32 [%at], %v; add.u32 %i, %i, %n; bra FILL;
FILLED: setp.ne.u32 %p, %t, 0; @%p bra READY; mbarrier.init.shared.b64 [%bar], 1;
READY: fence.proxy.async.shared::cta; bar.sync 0;
setp.ne.u32 %p, %t, 0; @%p bra ISSUED;
{loads}
ld.global.b32 %off, [%rec+148]; ld.global.b32 %tx, [%rec+152]; add.u32 %at, %arena, %off;
{issue}
ISSUED: bar.sync 0;
mov.u32 %i, %t;
DUMP: setp.ge.u32 %p, %i, %words; @%p bra DUMPED;
mad.lo.u32 %at, %i, 4, %arena; ld.shared.u32 %v, [%at]; mul.wide.u32 %o, %i, 4;
add.u64 %from, %img, %o; st.global.u32 [%from], %v; add.u32 %i, %i, %n; bra DUMP;
DUMPED: setp.ne.u32 %p, %t, 0; @%p bra DONE; st.global.u32 [%rep+4], %late;
DONE: ret;
}}"""


def source(probe: Probe) -> np.ndarray:
    """What is copied from: every second byte pair has its own number."""
    count = (GLOBAL if probe.load else SHARED) // 2
    return (np.arange(count) % 65535).astype(np.uint16).view(np.uint8)


def expected(probe: Probe) -> np.ndarray:
    """The other memory after the copy, by the model."""
    map_ = probe.map
    width = map_.element_bits // 8
    out = np.full(SHARED if probe.load else GLOBAL, POISON, dtype=np.uint8)
    from_ = source(probe)
    swizzle = machine_swizzle(map_.swizzle, 90)
    pitch = row_pitch_bytes(map_.inner_bytes, map_.swizzle)
    steps = (width, *map_.strides_bytes)
    for number, index in enumerate(np.ndindex(*map_.box[::-1])):
        box = index[::-1]
        coords = [c + b for c, b in zip(probe.coords, box, strict=True)]
        inside = all(0 <= c < n for c, n in zip(coords, map_.dims, strict=True))
        reached = all(0 <= c < n for c, n in zip(coords[1:], map_.dims[1:], strict=True))
        reached &= 0 <= coords[0] * width // 16 * 16 < map_.dims[0] * width
        there = probe.base // 16 * 16 + sum(c * d for c, d in zip(coords, steps, strict=True))
        for byte in range(width):
            here = SHARED_START + probe.at + number // map_.box[0] * pitch + box[0] * width + byte
            here = (here if swizzle is None else swizzle(here)) - SHARED_START
            if here >= SHARED:
                continue
            if probe.load:
                out[here] = from_[there + byte] if inside else 0
            elif reached:
                out[there + byte] = from_[here]
    return out


def measure(name: str) -> dict[str, Any]:
    """The fault, or whether memory is as modelled."""
    probe = probes()[name]
    try:
        with Device() as device:
            _, function = device.load(ptx(probe.map.rank, probe.load))
            shared, gmem = 1 << 16, 1 << 20
            blank = np.full(SHARED if probe.load else GLOBAL, POISON, dtype=np.uint8)
            device.write(gmem, (source(probe) if probe.load else blank).tobytes())
            device.write(shared, (blank if probe.load else source(probe)).tobytes())
            words = encode(replace(probe.map, base=device.buffer + gmem + probe.base))
            record = b"".join(word.to_bytes(8, "little") for word in words).ljust(128, b"\0")
            bytes_ = probe.map.box_bytes if probe.expect is None else probe.expect
            numbers = [*[*probe.coords, 0, 0, 0, 0, 0][:5], probe.at, bytes_]
            device.write(4096, record + np.array(numbers, dtype=np.int32).tobytes())
            device.write(0, bytes(16))
            arguments = (device.buffer + 4096, device.buffer + shared, SHARED // 4, device.buffer)
            device.launch(function, 32, SHARED + 16, arguments)
            late = bool(device.read(4, 4)[0])
            got = np.frombuffer(device.read(*((shared, SHARED) if probe.load else (gmem, GLOBAL))), np.uint8)
    except DeviceFault as fault:
        return {"fault": str(fault)}
    try:
        same = bool((got == expected(probe)).all())
    except (InputError, IndexError, ZeroDivisionError):
        same = None
    return {"fault": "", "barrier_completes": not late, "as_modelled": same}


if __name__ == "__main__":
    main("tests.gpu.tma_probes", __doc__, probes(), measure)
