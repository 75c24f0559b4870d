"""Canonical operand layouts against a GPU's wgmma, in three steps: the GPU's machine needs numpy alone.

    python -m tests.gpu.canonical prepare FOLDER       random layouts and their images of shared memory
    python FOLDER/on_gpu.py FOLDER/cases.npz OUT       every product (this file's own copy; no other import)
    python -m tests.gpu.canonical judge FOLDER OUT/products.npz docs/evidence

A is 64 x 16 bf16 in shared memory, written element by element where its layout and swizzle say, zeros
elsewhere; the descriptor is the one that the compiler makes of the layout (`decide`). Legal layouts must give
A @ B, wrong ones the product of what the descriptor describes (`described`), and that must differ.
"""

from __future__ import annotations

import ctypes
import datetime
import json
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

M, N, K = 64, 8, 16
IMAGE_BYTES = 1 << 16

PTX = """.version 8.3
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 memory[];
.visible .entry harness(.param .u64 image, .param .u64 words, .param .u64 out, .param .u64 a, .param .u64 b) {
  .reg .b32 %r<16>; .reg .b64 %d<16>; .reg .f32 %f<4>; .reg .pred %p;
  ld.param.u64 %d0, [image]; ld.param.u64 %d1, [words]; ld.param.u64 %d2, [out];
  ld.param.u64 %d3, [a]; ld.param.u64 %d4, [b];
  cvta.to.global.u64 %d0, %d0; cvta.to.global.u64 %d2, %d2;
  mov.u32 %r0, %tid.x; mov.u32 %r1, memory; cvt.u32.u64 %r2, %d1;
  shl.b32 %r3, %r0, 4;
loop:
  setp.ge.u32 %p, %r3, %r2;
  @%p bra done;
  cvt.u64.u32 %d5, %r3; add.u64 %d5, %d0, %d5; add.u32 %r4, %r1, %r3;
  ld.global.v4.b32 {%r5,%r6,%r7,%r8}, [%d5];
  st.shared.v4.b32 [%r4], {%r5,%r6,%r7,%r8};
  add.u32 %r3, %r3, 2048;
  bra loop;
done:
  fence.proxy.async;
  bar.sync 0;
  and.b32 %r9, %r1, 262143; shr.u32 %r9, %r9, 4; cvt.u64.u32 %d6, %r9; or.b64 %d3, %d3, %d6;
  add.u32 %r10, %r1, IMAGE; and.b32 %r10, %r10, 262143; shr.u32 %r10, %r10, 4;
  cvt.u64.u32 %d7, %r10; or.b64 %d4, %d4, %d7;
  mov.f32 %f0, 0f00000000; mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f00000000;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0,%f1,%f2,%f3}, %d3, %d4, 0, 1, 1, TRANSPOSE, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  mul.wide.u32 %d8, %r0, 16; add.u64 %d8, %d2, %d8;
  st.global.v4.f32 [%d8], {%f0,%f1,%f2,%f3};
  ret;
}
"""


def kernel(transpose: int) -> str:
    """The PTX for A in K-major (0) or MN-major (1) order; B's image follows A's."""
    return PTX.replace("IMAGE", str(IMAGE_BYTES)).replace("TRANSPOSE", str(transpose))


def descriptor(leading_bytes: int, stride_bytes: int, swizzle_bits: int) -> int:
    """The 64-bit matrix descriptor without its start address (PTX ISA, wgmma, Matrix Descriptor Format)."""
    mode = {0: 0, 3: 1, 2: 2, 1: 3}[swizzle_bits]
    return (leading_bytes >> 4 & 0x3FFF) << 16 | (stride_bytes >> 4 & 0x3FFF) << 32 | mode << 62


def on_gpu(cases: str, out: str) -> None:
    """Run every case and write OUT/products.npz. Needs numpy and the driver only."""
    given = np.load(cases)
    cuda: Any = ctypes.CDLL("libcuda.so.1")

    def call(name: str, *arguments: Any) -> None:
        status = getattr(cuda, name)(*arguments)
        if status:
            raise SystemExit(f"{name}: error {status}")

    call("cuInit", 0)
    device, context, driver = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_int()
    name = ctypes.create_string_buffer(128)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDeviceGetName", name, 128, device)
    call("cuDriverGetVersion", ctypes.byref(driver))
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    functions = []
    for transpose in (0, 1):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(module), kernel(transpose).encode() + b"\0")
        call("cuModuleGetFunction", ctypes.byref(function), module, b"harness")
        call("cuFuncSetAttribute", function, 8, 2 * IMAGE_BYTES)  # dynamic shared memory
        functions.append(function)
    image, product = ctypes.c_uint64(), ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(image), 2 * IMAGE_BYTES)
    call("cuMemAlloc_v2", ctypes.byref(product), 2048)
    found = np.zeros((len(given["a"]), 128, 4), np.float32)
    for i in range(len(found)):
        both = np.concatenate([given["a"][i], given["b"][i]]).tobytes()
        call("cuMemcpyHtoD_v2", image, both, ctypes.c_size_t(len(both)))
        values = [image, ctypes.c_uint64(len(both)), product]
        values += [ctypes.c_uint64(int(given[key][i])) for key in ("a_descriptor", "b_descriptor")]
        pointers = (ctypes.c_void_p * 5)(*(ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values))
        function = functions[int(given["transpose"][i])]
        call("cuLaunchKernel", function, 1, 1, 1, 128, 1, 1, 2 * IMAGE_BYTES, None, pointers, None)
        call("cuCtxSynchronize")
        call("cuMemcpyDtoH_v2", found[i].ctypes.data_as(ctypes.c_void_p), product, ctypes.c_size_t(2048))
    about = json.dumps({"name": name.value.decode(), "driver": driver.value})
    np.savez_compressed(Path(out) / "products.npz", products=found, device=about)


def prepare(folder: str, count: int = 300) -> None:
    """Random layouts that the compiler accepts, right and wrong, with their images."""
    from layoutcheck.algebra.image import image as offsets_of
    from layoutcheck.machine.canonical import canonical
    from layoutcheck.machine.canonical.decide import decide
    from layoutcheck.machine.dtypes import dtype

    rng, random_numbers = random.Random(7), np.random.default_rng(7)
    cases: list[dict[str, Any]] = []
    arrays: dict[str, list[Any]] = {
        key: [] for key in ("a", "b", "a_descriptor", "b_descriptor", "transpose")
    }
    matrices = []
    seen: dict[tuple[str, str, str], int] = {}
    while len(cases) < count:
        layout, major, swizzle = _random(rng)
        decision = decide(layout, dtype("bf16"), major, swizzle, "wgmma")
        at = offsets_of(layout[0])[:, None] + offsets_of(layout[1])
        if not decision.accepted or at.min() < 0 or np.unique(at).size != at.size:
            continue
        if (
            2 * int(at.max()) + 2 > IMAGE_BYTES // 2
            or max(decision.leading_bytes, decision.stride_bytes) * 10 > IMAGE_BYTES
        ):
            continue
        verdict = canonical(layout, "bf16", major, swizzle).verdict
        kind = (major, str(swizzle), verdict)
        if seen.get(kind, 0) >= (60 if verdict == "wrong" else 30):
            continue
        seen[kind] = seen.get(kind, 0) + 1
        a, b = (random_numbers.integers(-4, 5, shape).astype(np.float32) for shape in ((M, K), (K, N)))
        memory = np.zeros(IMAGE_BYTES // 2, np.uint16)
        memory[swizzle(at * 2) // 2] = _bf16(a)
        arrays["a"].append(memory)
        arrays["b"].append(_image_of_b(b))
        arrays["a_descriptor"].append(descriptor(decision.leading_bytes, decision.stride_bytes, swizzle.bits))
        arrays["b_descriptor"].append(descriptor(128, 256, 0))
        arrays["transpose"].append(int(major == "MN"))
        matrices.append((a, b))
        cases.append({"layout": str(layout), "major": major, "swizzle": str(swizzle), "verdict": verdict})
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        place / "cases.npz",
        **{key: np.array(v, np.uint64 if "desc" in key else None) for key, v in arrays.items()},
    )
    np.savez_compressed(
        place / "matrices.npz", a=np.array([m[0] for m in matrices]), b=np.array([m[1] for m in matrices])
    )
    (place / "cases.json").write_text(json.dumps(cases))
    shutil.copy(__file__, place / "on_gpu.py")
    print(len(cases), "cases", seen)


def _random(rng: random.Random) -> tuple[Any, str, Any]:
    """A layout of (64, 16) near a canonical one."""
    from layoutcheck.algebra.layout import Layout
    from layoutcheck.algebra.swizzle import Swizzle

    bits = rng.randrange(4)
    run = 8 << bits
    major = rng.choice(("K", "MN"))

    def spoil(x: int) -> int:
        return x if rng.random() < 0.8 else rng.choice((x - 4, x - 1, x + 1, 2 * x, x + 8, 2, 1))

    if major == "K":
        row = spoil(run)
        mn = rng.choice(
            (Layout(64, row), Layout((8, 8), (row, spoil(rng.choice((8 * row, 16 * row, 1024))))))
        )
        k = Layout(16, spoil(1))
        if bits == 0 or rng.random() < 0.3:
            k = Layout((8, 2), (spoil(1), spoil(rng.choice((8, 64, 512, 1024)))))
    else:
        mn = Layout(64, spoil(1))
        if run < 64:
            mn = Layout((run, 64 // run), (spoil(1), spoil(rng.choice((8 * run, 16 * run, 1024)))))
        column = spoil(run)
        k = rng.choice(
            (Layout(16, column), Layout((8, 2), (column, spoil(rng.choice((8 * column, 512, 1024))))))
        )
    return Layout((mn.shape, k.shape), (mn.stride, k.stride)), major, Swizzle(bits, 4, 3)


def _bf16(values: Any) -> Any:
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def _image_of_b(b: Any) -> Any:
    """B, (K, N), as two 8 x 8 core matrices of N rows: K-major without a swizzle."""
    memory = np.zeros(512, np.uint16)
    n, k = np.arange(N)[:, None], np.arange(K)
    memory[n * 8 + k % 8 + k // 8 * 64] = _bf16(b.T)
    return memory


def judge(folder: str, products: str, out: str) -> None:
    """Compare the products with A @ B and with what the descriptors describe; write OUT/canonical.json."""
    from layoutcheck.algebra.notation import parse_layout, parse_swizzle
    from layoutcheck.machine.canonical.decide import decide
    from layoutcheck.machine.canonical.described import described
    from layoutcheck.machine.canonical.modes import NONE
    from layoutcheck.machine.dtypes import dtype

    place = Path(folder)
    cases = json.loads((place / "cases.json").read_text())
    given, matrices, run = np.load(place / "cases.npz"), np.load(place / "matrices.npz"), np.load(products)
    lane = np.arange(128)
    rows = 16 * (lane // 32) + lane % 32 // 4
    results = []
    for i, case in enumerate(cases):
        layout, swizzle = parse_layout(case["layout"]), parse_swizzle(case["swizzle"])
        got = np.zeros((M, N), np.float32)
        for register in range(4):
            got[rows + 8 * (register // 2), 2 * (lane % 4) + register % 2] = run["products"][i][:, register]
        decision = decide(layout, dtype("bf16"), case["major"], swizzle if swizzle.bits else NONE, "wgmma")
        at = described((M, K), 16, case["major"], swizzle if swizzle.bits else NONE, decision) // 8
        memory = given["a"][i].astype(np.uint32)[swizzle(at) // 2] << 16
        a, b = matrices["a"][i], matrices["b"][i]
        results.append(
            {
                **case,
                "is_the_product": bool(np.array_equal(got, a @ b)),
                "is_what_the_descriptor_says": bool(np.array_equal(got, memory.view(np.float32) @ b)),
            }
        )
    device = json.loads(str(run["device"]))
    table: dict[str, dict[str, int]] = {}
    for one in results:
        row = table.setdefault(one["verdict"], {"layouts": 0, "products": 0, "as_described": 0})
        row["layouts"] += 1
        row["products"] += one["is_the_product"]
        row["as_described"] += one["is_what_the_descriptor_says"]
    evidence = {
        "command": "python -m tests.gpu.canonical prepare FOLDER; "
        "python FOLDER/on_gpu.py FOLDER/cases.npz OUT; "
        "python -m tests.gpu.canonical judge FOLDER OUT/products.npz docs/evidence",
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "device": device["name"],
        "driver": f"CUDA {device['driver'] // 1000}.{device['driver'] % 1000 // 10}",
        "instruction": "wgmma.mma_async.m64n8k16.f32.bf16.bf16",
        "summary": table,
        "layouts": results,
    }
    Path(out, "canonical.json").write_text(json.dumps(evidence) + "\n")
    print(table)


if __name__ == "__main__":
    if sys.argv[1] == "prepare":
        prepare(sys.argv[2])
    elif sys.argv[1] == "judge":
        judge(*sys.argv[2:5])
    else:
        on_gpu(*sys.argv[1:3])
