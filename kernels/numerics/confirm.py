"""Everything numerics claims, on the GPU at hand: one run, one JSON file, no number typed by hand.

    python -m kernels.numerics.confirm --out DIR [--seed 1] [--only reports,decode]

Parts: record, probes, report000, report001, torch_paths, decode, gemms, instructions. DIR/numerics.json has a
key for each, beside date, device, driver, versions and command; DIR/recorded.json the answers tests keep.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import cutlass
import numpy as np
import torch

from kernels.numerics.vectors import KINDS, vectors
from layoutcheck.gpu.tensor_cores import run_matmul, run_vectors, to_device
from layoutcheck.machine.cubin import registers as registers_of
from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.bounds import rates
from layoutcheck.numerics.formats import FORMATS, round_to
from layoutcheck.numerics.paths import compare, path
from layoutcheck.numerics.paths import run as run_path
from layoutcheck.numerics.probes import identify, predict, probes, stacked, summary
from layoutcheck.numerics.resources import decode_attention, resources
from layoutcheck.numerics.sample import rms_error
from layoutcheck.numerics.tolerance import derive
from layoutcheck.numerics.units import decode, encode, unit

from . import instructions
from .decode import FORMS, GROUP, HEAD, compile_decode
from .grouped_gemm import compile_grouped, plan

F16, F32 = FORMATS["f16"], FORMATS["f32"]
DOT = "dot(mma.m16n8k16.f32.f16)"
CHAIN = f"{DOT} round(f16)"
SAMPLE = 16  # vectors of each kind and unit that the tests keep


def machine() -> dict[str, str]:
    """Device, driver and versions."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    name, driver = (
        subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().split(", ")
    )
    return {
        "device": name,
        "driver": driver,
        "torch": str(torch.__version__),
        "cuda": str(torch.version.cuda),
        "nvidia-cutlass-dsl": cutlass.__version__,
        "numpy": np.__version__,
    }


def milliseconds(work: Callable[[], object], repeats: int = 30) -> float:
    """Median time of `work` on the GPU, each run between two events, after three to warm up."""
    for _ in range(3):
        work()
    times = []
    for _ in range(repeats):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        work()
        last.record()
        torch.cuda.synchronize()
        times.append(first.elapsed_time(last))
    return float(np.median(times))


def raw(tensor: torch.Tensor) -> np.ndarray:
    """The encodings of a GPU tensor."""
    kind = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[tensor.element_size()]
    return tensor.contiguous().view(kind).cpu().numpy().view(f"u{tensor.element_size()}")


def probe_answers() -> dict[str, object]:
    """Every probe on every instruction: differences from the prediction, and the parameters identified."""
    found: dict[str, object] = {}
    for name in instructions.NAMES:
        u = unit(name)
        chosen = probes(u)
        answers = run_vectors(u, *stacked(u, chosen))
        differ = [p.name for p, x, y in zip(chosen, answers, predict(u, chosen), strict=True) if x != y]
        printed = [p for p in chosen if p.printed is not None]
        as_published = sum(
            int(x) == p.printed for p, x in zip(chosen, answers, strict=True) if p.printed is not None
        )
        found[u.name] = {
            "probes": len(chosen),
            "differ": differ,
            "published": [as_published, len(printed)],
            "identified": summary(identify(u, chosen, answers)),
        }
        print(u.name, len(chosen), "differ", differ, found[u.name]["identified"], flush=True)
    return found


def report_000(out: Path) -> dict[str, object]:
    """CUTLASS issue 2214 on its own inputs: five configurations and the repair, model against hardware."""
    torch.manual_seed(10086)
    _, k, v = (torch.randn(1, 512, 1, 64).half() for _ in range(3))
    k, v = k[0, :, 0].reshape(8, 64, 64), v[0, :, 0].reshape(8, 64, 64)
    np.savez_compressed(out / "report_000_inputs.npz", k=raw(k), v=raw(v))
    a, b = decode(raw(k), "f16").transpose(0, 2, 1), decode(raw(v), "f16")
    gk, gv = k.cuda(), v.cuda()

    def cute(name: str, add: torch.dtype, rounded: bool) -> np.ndarray:
        u = unit(name)
        running, outputs = torch.zeros(64, 64, dtype=add, device="cuda"), []
        for i in range(8):
            zero = np.zeros((64, 64), u.rule.accumulator.raw_dtype)
            s = run_matmul(u, raw(k[i]).T.copy(), raw(v[i]), zero)
            value = (
                to_device(s).view(torch.float16 if u.rule.accumulator is F16 else torch.float32).view(64, 64)
            )
            running = running + (value.half() if rounded else value).to(add)
            outputs.append(running.double().cpu().numpy())
        return np.stack(outputs)

    def plain(inputs: torch.dtype, add: torch.dtype) -> np.ndarray:
        running, outputs = torch.zeros(64, 64, dtype=add, device="cuda"), []
        for i in range(8):
            running = running + torch.matmul(gk[i].to(inputs).T, gv[i].to(inputs)).to(add)
            outputs.append(running.double().cpu().numpy())
        return np.stack(outputs)

    half, full = "mma.m16n8k16.f16.f16", "mma.m16n8k16.f32.f16"
    torch.backends.cuda.matmul.allow_tf32 = False
    measured = {
        "cute-f16f16f16f16": cute(half, torch.float16, False),
        "torch-f16": plain(torch.float16, torch.float16),
        "cute-f32f16f16f32": cute(full, torch.float32, False),
        "torch-f16-matmul-f32-add": plain(torch.float16, torch.float32),
        "torch-f32": plain(torch.float32, torch.float32),
        "cute-f32f16f16f32-rounded": cute(full, torch.float32, True),
    }
    found: dict[str, object] = {}
    for one, other in (
        ("cute-f16f16f16f16", "torch-f16"),
        ("cute-f32f16f16f32", "torch-f16-matmul-f32-add"),
        ("cute-f32f16f16f32", "torch-f32"),
        ("cute-f32f16f16f32-rounded", "torch-f16-matmul-f32-add"),
    ):
        x, y = measured[one], measured[other]
        outside = np.abs(x - y) > 1e-5 + 1e-3 * np.abs(y)
        model = compare(path(one), path(other), a, b)
        found[f"{one} / {other}"] = {
            "measured": outside.sum((1, 2)).tolist(),
            "predicted": list(model.out_of_tolerance),
            "measured_bits_differ": (x != y).sum((1, 2)).tolist(),
            "predicted_bits_differ": list(model.bits_differ),
        }
    found["outputs equal to the model's"] = {
        name: [int((run_path(path(name), a, b) == values).sum()), values.size]
        for name, values in measured.items()
    }
    return found


def _one_by_one(pairs: list[tuple[torch.Tensor, torch.Tensor]]) -> list[torch.Tensor]:
    return [a @ b.T for a, b in pairs]


def report_001(seed: int) -> dict[str, object]:
    """Triton issue 6544: a grouped GEMM of squares against torch, and larger ones; two orders of one sum."""
    found: dict[str, object] = {}
    for label, sizes in (("report", (1024, 512, 256, 128)), ("larger", (4096, 2048, 2048, 1024))):
        torch.manual_seed(seed)
        pairs = [(torch.rand(n, n).half().cuda(), torch.rand(n, n).half().cuda()) for n in sizes]
        rows: list[dict[str, object]] = []
        results: dict[int, list[torch.Tensor]] = {}
        launches = {}
        for split in (1, 2):
            outputs = [torch.full((n, n), float("nan"), dtype=torch.float16, device="cuda") for n in sizes]
            where = [
                (a.data_ptr(), b.data_ptr(), c.data_ptr()) for (a, b), c in zip(pairs, outputs, strict=True)
            ]
            table, blocks = plan([(n, n, n) for n in sizes], where)
            on_gpu = torch.tensor(table, dtype=torch.int64, device="cuda")
            run = compile_grouped(len(sizes), split)
            run(on_gpu.data_ptr(), blocks)
            torch.cuda.synchronize()
            results[split] = outputs
            launches[split] = (run, on_gpu, blocks)
        reference = [a @ b.T for a, b in pairs]
        for index, n in enumerate(sizes):
            a, b = pairs[index]
            exact = a.double() @ b.double().T
            size = exact
            rows_checked = min(n, 128)
            left, right = a[:rows_checked].double().cpu().numpy(), b.double().cpu().numpy().T.copy()
            model = encode(run_path(path(CHAIN), left[None], right[None])[0], "f16")
            in_two = np.stack(np.split(left, 2, 1)), np.stack(np.split(right, 2, 0))
            model_split = encode(round_to(run_path(path(f"{DOT} add(f32)"), *in_two)[-1], F16), "f16")
            c1 = float(rates(unit("mma.m16n8k16.f32.f16")).grown(n // 16))
            row: dict[str, object] = {"n": n}
            named = {"grouped": results[1][index], "split 2": results[2][index], "torch": reference[index]}
            for name, value in named.items():
                expected = model_split if name == "split 2" else model
                error = (value.double() - exact).abs()
                u = F16.unit_roundoff
                allowed = c1 * size + u * (exact.abs() + c1 * size) + F16.smallest / 2
                row[name] = {
                    "equal_to_model": [int((raw(value[:rows_checked]) == expected).sum()), model.size],
                    "max_error_over_S": float((error / size).max()),
                    "least_bound_over_error": float((allowed / error.clamp_min(1e-300)).min()),
                }
            for one, other in (("grouped", "torch"), ("split 2", "torch"), ("split 2", "grouped")):
                difference = (named[one].double() - named[other].double()).abs()
                flips = difference > 0
                step = 2.0 ** (torch.floor(torch.log2(named[other].double().abs())) - 10)
                row[f"{one} - {other}"] = {
                    "flips": int(flips.sum()),
                    "norm": float(difference.norm()),
                    "norm_from_flips": float(torch.sqrt((step[flips] ** 2).sum())),
                    "largest_in_steps": float((difference / step).max()),
                    "allclose(atol=1e-2, rtol=0)": bool((difference <= 1e-2).all()),
                    "allclose(derived)": bool(
                        (difference <= 2 * c1 * size + 2 * F16.unit_roundoff * exact.abs() * 1.001).all()
                    ),
                }
            rows.append(row)
            print(label, json.dumps(row), flush=True)
        run, on_gpu, blocks = launches[1]
        flops = 2 * sum(n**3 for n in sizes)
        grouped = milliseconds(partial(run, on_gpu.data_ptr(), blocks))
        one_by_one = milliseconds(partial(_one_by_one, pairs))
        found[label] = {
            "problems": rows,
            "grouped_ms": grouped,
            "torch_ms": one_by_one,
            "grouped_tflops": flops / grouped / 1e9,
            "torch_tflops": flops / one_by_one / 1e9,
        }
        print(label, grouped, one_by_one, flush=True)
    verdict = derive(512, "f16", "f16", atol=1e-2, rtol=0.0)
    found["atol=1e-2, rtol=0"] = [finding.title for finding in verdict.findings]
    return found


def kernel_names(work: Callable[[], object]) -> list[str]:
    """The kernels that `work` launches."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        work()
        torch.cuda.synchronize()
    return [event.key for event in profile.key_averages()]


def split_k(u: Unit, a: np.ndarray, b: np.ndarray, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """Ways to cut K into parts (whole tiles of 64 each) and to add the parts up, with what each returns."""
    k, zero = a.shape[1], np.zeros((a.shape[0], b.shape[1]))
    for parts in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 32):
        length = -(-k // (64 * parts)) * 64
        sums = [u.chain(a[:, at : at + length], b[at : at + length], zero) for at in range(0, k, length)]
        if len(sums) != parts:
            continue
        if parts == 1:
            yield "one chain", encode(sums[0], name)
            continue
        for label, order in (("ascending", sums), ("descending", sums[::-1])):
            total = zero
            for part in order:
                total = round_to(total + part, F32)
            yield f"{parts} parts, {label}", encode(total, name)
        total = zero
        for part in sums:
            total = round_to(total + decode(encode(part, name), name), F32)
        yield f"{parts} parts, each rounded to {name}", encode(total, name)


def torch_paths(seed: int, out: Path) -> dict[str, object]:
    """Which path `torch.matmul` and `torch._scaled_mm` follow, told by counting equal outputs."""
    found: dict[str, object] = {}
    answers: dict[str, np.ndarray] = {}
    m = n = 128
    zero = np.zeros((m, n))
    for k in (512, 4096):
        rng = np.random.default_rng([seed, k])
        for name, dtype in (("f16", torch.float16), ("bf16", torch.bfloat16)):
            a, b = encode(rng.random((m, k)), name), encode(rng.random((k, n)), name)
            left = to_device(a).view(dtype).view(m, k)
            right = to_device(b.T.copy()).view(dtype).view(n, k)
            label = f"matmul {name} K={k}"
            got = answers[label] = raw(left @ right.T)
            u = unit(f"mma.m16n8k16.f32.{name}")
            ways = split_k(u, decode(a, name), decode(b, name), name)
            equal = {way: int((value == got).sum()) for way, value in ways}
            best = dict(sorted(equal.items(), key=lambda item: -item[1])[:4])
            names = kernel_names(partial(torch.matmul, left, right.T))
            found[label] = {"outputs": m * n, "equal": best, "kernels": names}
            print(label, best, names, flush=True)
        a, b = encode(rng.random((m, k)), "e4m3"), encode(rng.random((k, n)), "e4m3")
        left = to_device(a).view(torch.float8_e4m3fn).view(m, k)
        right = to_device(b.T.copy()).view(torch.float8_e4m3fn).view(n, k).t()
        one = torch.ones((), device="cuda")
        values = decode(a, "e4m3"), decode(b, "e4m3")
        exact, u = values[0] @ values[1], unit("wgmma.m64n8k32.f32.e4m3")
        for fast in (True, False):
            got = raw(torch._scaled_mm(left, right, one, one, out_dtype=torch.float32, use_fast_accum=fast))
            row = {"chain": int((encode(u.chain(*values, zero), "f32") == got).sum())}
            for every in (32, 64, 128, 256):
                promoted = run_path(path(f"dot({u.name},promote={every})"), values[0][None], values[1][None])
                row[f"promoted every {every}"] = int((encode(promoted[0], "f32") == got).sum())
            error = float(np.mean((decode(got, "f32") - exact) / exact))
            label = f"_scaled_mm e4m3 fast_accum={fast} K={k}"
            found[label] = {"outputs": m * n, "equal": row, "mean_error_over_S": error}
            print(label, row, error, flush=True)
    np.savez_compressed(out / "torch_answers.npz", **answers)
    return found


def decode_times(requests: int = 57, keys: int = 8192, kv_heads: int = 8) -> dict[str, object]:
    """FlashInfer issue 703's configuration: three kernels, their differences, what causes them, resources."""
    torch.manual_seed(0)
    shape = (requests, keys, kv_heads, HEAD)
    k, v = (torch.randn(shape, dtype=torch.float16, device="cuda") for _ in range(2))
    q = torch.randn(requests, kv_heads * GROUP, HEAD, dtype=torch.float16, device="cuda")
    scale = math.log2(math.e) / math.sqrt(HEAD)
    outputs, found = {}, {}
    for form in FORMS:
        run = compile_decode(form)
        o = torch.full_like(q, float("nan"))
        addresses = [t.data_ptr() for t in (q, k, v, o)]
        run(*addresses, requests, keys, kv_heads, scale)
        torch.cuda.synchronize()
        outputs[form] = o
        took = milliseconds(partial(run, *addresses, requests, keys, kv_heads, scale), 10)
        counts = registers_of(run.compiled.artifacts.CUBIN or b"") if run.compiled.artifacts.CUBIN else {}
        registers = max(counts.values(), default=None)
        row: dict[str, object] = {"ms": took, "registers": registers, "GB_per_s": 2 * k.nbytes / took / 1e6}
        found[form] = row
        print(form, row, flush=True)
    some = slice(0, 4)  # requests the reference is computed for
    wide = [t[some].double() for t in (q, k, v)]
    grouped = wide[0].view(-1, kv_heads, GROUP, HEAD)
    s = torch.einsum("rhgd,rkhd->rhgk", grouped, wide[1]) * scale
    p = torch.exp2(s - s.amax(-1, keepdim=True))
    exact = torch.einsum("rhgk,rkhd->rhgd", p, wide[2]) / p.sum(-1, keepdim=True)
    rounded = p.half().double()
    modelled = torch.einsum("rhgk,rkhd->rhgd", rounded, wide[2]) / rounded.sum(-1, keepdim=True)
    exact, modelled = (t.reshape(-1, kv_heads * GROUP, HEAD).cpu().numpy() for t in (exact, modelled))
    half = round_to(exact, F16), round_to(modelled, F16)
    values = {form: o.double().cpu().numpy() for form, o in outputs.items()}
    for form in FORMS:
        found[form]["rms_error"] = rms_error(values[form][some], exact)
        found[form]["unwritten"] = int(np.isnan(values[form]).sum())
    found["f16 output rounding alone, rms"] = rms_error(half[0], exact)
    found["rounding P, predicted"] = {"rms": rms_error(half[1], half[0]), **relative(half[1], half[0])}
    for one, other in (("tensor", "scalar"), ("tensor, P in two", "scalar")):
        x, y = values[one], values[other]
        found[f"{one} - {other}"] = {"rms": rms_error(x, y), **relative(x, y), "outputs": x.size}
    found["torch sdpa"] = {"ms": _sdpa(q, k, v, kv_heads)}
    found["time ratio, scalar / tensor"] = found["scalar"]["ms"] / found["tensor"]["ms"]
    found["resources"] = {
        form: resources(
            decode_attention(
                batch=requests,
                kv_heads=kv_heads,
                tensor_cores=form != "scalar",
                registers=found[form]["registers"],
            ),
            "H200",
        )["waves"]
        for form in FORMS
        if found[form]["registers"]
    }
    print(json.dumps(found), flush=True)
    return found


def _sdpa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, kv_heads: int) -> float:
    from torch.nn.functional import scaled_dot_product_attention

    turned = [t.transpose(1, 2) for t in (k, v)]
    asked = q.view(q.shape[0], kv_heads * GROUP, 1, HEAD)
    return milliseconds(lambda: scaled_dot_product_attention(asked, *turned, enable_gqa=True), 5)


def relative(x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """The issue's own metrics, to compare with it: mean and largest |x - y| / |y|, and bits that differ."""
    over = np.abs(x - y) / np.maximum(np.abs(y), 1e-8)
    return {
        "mean_relative": float(over.mean()),
        "max_relative": float(over.max()),
        "bits_differ": int((x != y).sum()),
    }


def record(out: Path) -> dict[str, object]:
    """The few answers a kind and unit that tests compare the model with."""
    counts = dict.fromkeys(KINDS, SAMPLE)
    answers: dict[str, dict[str, list[str]]] = {}
    for name in instructions.NAMES:
        u = unit(name)
        digits = u.rule.accumulator.bits // 4
        answers[u.name] = {
            kind: [f"{int(word):0{digits}x}" for word in run_vectors(u, *vectors(u, kind, SAMPLE, 1))]
            for kind in KINDS
        }
    kept = {"device": machine()["device"], "date": time.strftime("%Y-%m-%d"), "seed": 1, "counts": counts}
    (out / "recorded.json").write_text(json.dumps(kept | {"answers": answers}, separators=(",", ":")) + "\n")
    return {"vectors": SAMPLE * len(KINDS) * len(instructions.NAMES)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    out, seed = arguments.out, arguments.seed
    out.mkdir(parents=True, exist_ok=True)
    parts: dict[str, Callable[[], object]] = {
        "record": lambda: record(out),
        "probes": probe_answers,
        "report000": lambda: report_000(out),
        "report001": lambda: report_001(seed),
        "torch_paths": lambda: torch_paths(seed, out),
        "decode": decode_times,
        "gemms": lambda: instructions.measure_gemms(seed),
        "instructions": lambda: instructions.measure_vectors(seed, {}),
    }
    wanted = arguments.only.split(",") if arguments.only else list(parts)
    result: dict[str, object] = {
        "date": time.strftime("%Y-%m-%d"),
        **machine(),
        "command": f"python -m kernels.numerics.confirm --out DIR --seed {seed}",
        "seed": seed,
    }
    for name in wanted:
        start = time.perf_counter()
        try:
            result[name] = parts[name]()
        except Exception:
            # The other parts of a run on borrowed hardware are still worth having; the file says what failed.
            result[name] = {"failed": traceback.format_exc()}
            print(name, "FAILED", traceback.format_exc(), flush=True)
        print(f"== {name}: {time.perf_counter() - start:.1f} s", flush=True)
        (out / "numerics.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
