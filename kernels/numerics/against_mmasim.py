"""The model beside PyPI's mmasim 2.1.1 (MMA-Sim), unit by unit, and the speed of both beside numpy's product.

    python -m kernels.numerics.against_mmasim --out FILE [--seed 1]

Needs torch, mmasim and g++, and no GPU. `kernels.numerics.tolerances --part speed` measures the speed.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kernels.numerics.vectors import KINDS, vectors
from layoutcheck.errors import InputError
from layoutcheck.numerics.scaled import scaled_unit
from layoutcheck.numerics.units import decode, encode, unit

ARCHS = {
    "Volta": "sm_70", "Turing": "sm_75", "Ampere": "sm_80", "Ada Lovelace": "sm_89", "Hopper": "sm_90",
    "Blackwell": "sm_100", "RTX Blackwell": "sm_120",
}  # fmt: skip
COUNT = 1500
_INTS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _mmasim() -> Any:
    """The package. Its f64 FMA, compiled at import, is compiled by g++ alone."""
    import torch.utils.cpp_extension as extension

    def load(name: str, sources: list[str], **_: object) -> str:
        library = Path(tempfile.mkdtemp()) / f"{name}.so"
        subprocess.run(["g++", "-O2", "-shared", "-fPIC", "-o", str(library), *sources], check=True)
        return str(library)

    extension.load = load
    from mmasim import nv_ptx

    return nv_ptx


def units() -> Iterator[tuple[str, str, str, Callable[[], Any], bool]]:
    """(architecture there, our name, its name, its unit, whether it has scales): one a form, N = 8."""
    sim = _mmasim()
    from mmasim.nv_ptx import isa_mma, isa_tcgen05mma, isa_wgmma

    def dense(table: dict[str, list[str]], kind: str, made: Any) -> Iterator[Any]:
        for arch, names in table.items():
            for name in names:
                if kind != "mma" and "n8k" not in name:
                    continue
                parts = [part for part in name.split(".") if not part.startswith("kind::")]
                ours = f"{kind}.{'.'.join(parts if parts[-1] != parts[1] else parts[:-1])}"
                yield arch, ours, name, (lambda a=arch, n=name: made(a, n)), False

    def scaled(table: dict[str, list[str]], kind: str, made: Any) -> Iterator[Any]:
        for arch, names in table.items():
            for name in names:
                if kind == "tcgen05" and "n8k" not in name:
                    continue
                shape, what, block, d, a, b, *rest = name.split(".")
                ours = f"{kind}.{shape}.{what.removeprefix('kind::')}.{block}.{d}.{a}.{b}.{rest[-1]}"
                yield arch, ours, name, (lambda x=arch, n=name: made(x, n)), True

    yield from dense(isa_mma.mma_shape_and_type, "mma", sim.MMA)
    yield from dense(isa_wgmma.wgmma_shape_and_type, "wgmma", sim.WGMMA)
    yield from dense(isa_tcgen05mma.tcgen05mma_shape_and_type, "tcgen05", sim.TCGen05MMA)
    yield from scaled(isa_mma.mma_block_scale_shape_and_type, "mma", sim.MMABlockScale)
    yield from scaled(
        isa_tcgen05mma.tcgen05mma_block_scale_shape_and_type, "tcgen05", sim.TCGen05MMABlockScale
    )


def agreement(seed: int) -> dict[str, object]:
    """For each unit of mmasim: vectors asked, equal, and what the model says where it has no such unit."""
    rows: dict[str, dict[str, object]] = {}
    for arch, ours, name, made, has_scales in units():
        label = f"{ARCHS[arch]} {ours}"
        try:
            rows[label] = (
                _scaled(ours, ARCHS[arch], made(), seed)
                if has_scales
                else _dense(ours, name, ARCHS[arch], made(), seed)
            )
        except InputError as refused:
            rows[label] = {"not modelled": str(refused)}
        except Exception as error:
            rows[label] = {"failed": repr(error)}
    vectors_asked = sum(int(str(row.get("vectors", 0))) for row in rows.values())
    equal = sum(int(str(row.get("equal", 0))) for row in rows.values())
    differ = {
        label: row for label, row in rows.items() if row.get("equal") != row.get("vectors") or "failed" in row
    }
    refused = [label for label, row in rows.items() if "not modelled" in row]
    print(f"mmasim: {len(rows)} units, {equal} of {vectors_asked} vectors equal, {len(refused)} not modelled")
    for label, row in list(differ.items())[:12]:
        print("  differs:", label, row)
    for label in refused[:5]:
        print("  not modelled:", label, rows[label])
    return {"units": rows, "vectors": vectors_asked, "equal": equal}


def _tensor(raw: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    words = torch.from_numpy(
        raw.astype({1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}[raw.dtype.itemsize])
    )
    return words if dtype == torch.uint8 else words.view(dtype)


def _dense(ours: str, name: str, arch: str, sim: Any, seed: int) -> dict[str, object]:
    u = unit(ours, arch)
    found: dict[str, object] = {"vectors": 0, "equal": 0}
    kinds: dict[str, int] = {}
    for kind in KINDS:
        if kind in ("sticky", "floor") and u.k < 4:
            continue
        a, b, c = vectors(u, kind, COUNT // len(KINDS), seed)
        args = []
        for raw, dtype, format_ in ((a, sim.a_type, u.instruction.a), (b, sim.b_type, u.instruction.b)):
            # mmasim holds FP4 in bits 5:2 of a byte.
            args.append(_tensor(raw << 2 if format_.bits == 4 else raw, dtype))
        if u.rule.addend is not None:
            c = u.rule.addend.encode(u.rule.accumulator.decode(c))
        got = sim.dpa(*args, _tensor(c, sim.c_type)).contiguous()
        theirs = got.view(_INTS[got.element_size()]).numpy().view(f"u{got.element_size()}")
        mine = u.fma(a, b, c)
        equal = mine == theirs
        if u.rule.accumulator.bits == 64:  # x86's NaN, whatever the GPU's is
            equal |= np.isnan(decode(mine, "f64")) & np.isnan(decode(theirs, "f64"))
        kinds[kind] = int((~equal).sum())
        found["vectors"] = int(str(found["vectors"])) + len(c)
        found["equal"] = int(str(found["equal"])) + int(equal.sum())
    different = {kind: count for kind, count in kinds.items() if count}
    return found | ({"differ": different} if different else {})


def _scaled(ours: str, arch: str, sim: Any, seed: int) -> dict[str, object]:
    u = scaled_unit(ours, arch)
    rng = np.random.default_rng([seed, *ours.encode()])
    codes = []
    for f in (u.instruction.a, u.instruction.b):
        raw = rng.integers(0, 1 << f.bits, (COUNT, u.k)).astype(np.uint8)
        codes.append(np.where(np.isfinite(f.decode(raw)), raw, 0).astype(np.uint8))
    exponents = u.instruction.scales == "ue8m0"
    scales = [
        rng.integers(100 if exponents else 0, 150 if exponents else 127, (COUNT, u.scales)) for _ in range(2)
    ]
    scales = [x.astype(np.uint8) for x in scales]
    c = encode(rng.standard_normal(COUNT) * 2.0 ** rng.integers(-40, 40, COUNT), "f32")
    args = []
    for raw, dtype, f in zip(
        codes, (sim.a_type, sim.b_type), (u.instruction.a, u.instruction.b), strict=True
    ):
        if u.instruction.scaling == "mxf8f6f4":
            args.append(_tensor(raw << 2 if f.bits == 4 else raw, dtype))
        else:  # two to a byte, the first in the high half
            args.append(torch.from_numpy((raw[:, ::2] << 4 | raw[:, 1::2]).astype(np.uint8)))
    kind = torch.float8_e8m0fnu if exponents else torch.float8_e4m3fn
    got = sim.dpa(*args, _tensor(c, torch.float32), *(torch.from_numpy(x).view(kind) for x in scales))
    theirs = got.contiguous().view(torch.int32).numpy().view(np.uint32)
    return {"vectors": COUNT, "equal": int((u.fma(*codes, c, *scales) == theirs).sum())}


def speed() -> dict[str, object]:
    """Seconds (wall, and CPU of all threads) of a 1024^3 GEMM: the model, mmasim, and numpy in float64."""
    sim = _mmasim()
    rng = np.random.default_rng(0)
    values = rng.standard_normal((1024, 1024)), rng.standard_normal((1024, 1024))
    found: dict[str, object] = {"numpy float64": _timed(lambda: values[0] @ values[1])}
    for ours, arch, theirs, dtype in (
        ("mma.m16n8k16.f32.f16", "sm_90", "m16n8k16.f32.f16.f16.f32", torch.float16),
        ("mma.m16n8k16.f32.bf16", "sm_90", "m16n8k16.f32.bf16.bf16.f32", torch.bfloat16),
    ):
        u = unit(ours, arch)
        raw = [encode(x, u.instruction.a.name) for x in values]
        u.matmul(raw[0][:64], raw[1])  # numba compiles here, once
        u.matmul(*raw)
        found[f"layoutcheck {ours}"] = _timed(lambda u=u, raw=raw: u.matmul(*raw))
        other = sim.MMA("Hopper", theirs)
        left, right = (_tensor(x, dtype) for x in raw)
        c = torch.zeros((1024, 1024))
        equal = u.matmul(raw[0][:64], raw[1])
        answer = other(left[:64], right, c[:64]).contiguous().view(torch.int32).numpy().view(np.uint32)
        found[f"mmasim {theirs}"] = {**_timed(lambda o=other, x=left, y=right, z=c: o(x, y, z), 1),
                                     "equal": int((equal == answer).sum()), "of": equal.size}  # fmt: skip
    import importlib.util

    found["numba"] = importlib.util.find_spec("numba") is not None
    for name, row in found.items():
        print(f"  {name:40} {row}", flush=True)
    return found


def _timed(work: Callable[[], object], repeats: int = 3) -> dict[str, float]:
    best = {"wall_s": float("inf"), "cpu_s": float("inf")}
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        best["wall_s"] = min(best["wall_s"], time.perf_counter() - wall)
        best["cpu_s"] = min(best["cpu_s"], time.process_time() - cpu)
    return best


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    result = {
        "date": time.strftime("%Y-%m-%d"), "torch": str(torch.__version__), "numpy": np.__version__,
        "python": platform.python_version(), "seed": arguments.seed,
        "command": f"python -m kernels.numerics.against_mmasim --out FILE --seed {arguments.seed}",
        **agreement(arguments.seed),
    }  # fmt: skip
    arguments.out.write_text(json.dumps(result, indent=1) + "\n")
    return int(result["equal"] != result["vectors"])


if __name__ == "__main__":
    raise SystemExit(main())
