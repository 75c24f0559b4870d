"""Random synthesised plans on a GPU: their bits, their counters and their times, against what was predicted.

    python -m benchmarks.synthesis_plans OUT [--plans 100] [--seed 1] [--processes 12] [--to gmem,epilogue]

needs torch, the DSL, a GPU and ncu. Requests are drawn at random; of each, several plans of different kinds
are compiled and run. Every plan's output is compared bit for bit; its wavefronts and sectors are counted by
ncu, with one stage (of cp.async under a predicate, which a prologue needs, ncu counts a part); its time is
measured, one process at a time. Writes OUT/synthesis.json and prints a table.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks.evidence import head
from benchmarks.synthesis_counters import METRICS, PREDICTED, counters, predicted

TENSOR_BYTES = 1 << 30
"""Bytes of a source: 20 times the L2, and 10 to 40 blocks for each SM, so that the last ones weigh little."""
PITCH = 1024
"""Elements along K: a block takes 8 to 32 tiles, one after the other."""
ROUNDS = 16
LAUNCHES = 3
"""Of a plan in each round."""
PIECES = 16
"""That outputs are compared in."""
MOST_PLANS = 6
"""Of a request."""
COMPILE_SECONDS = 45
"""For the plans of a request, a hundred times what they take."""
APART = 1.05
"""How far two plans' times are apart to be a pair whose order counts."""
IN_ROUNDS = 0.9
"""In how many rounds the slower plan of a pair was the slower one: else the pair is noise."""

TARGETS = ("gmem", "ldmatrix", "registers", "wgmma.A", "gmem", "ldmatrix.trans", "epilogue")


def requests(seed: int, plans: int, targets: Sequence[str] = TARGETS) -> list[dict[str, Any]]:
    """Requests as `synthesis.wanted.read` takes them, each for up to `MOST_PLANS` plans."""
    rng = random.Random(seed)
    found = []
    for n in range(-(-plans // MOST_PLANS)):
        to = targets[n % len(targets)]
        dtype = rng.choice(["bf16", "f16"] if to == "ldmatrix.trans" else ["bf16", "f32", "f8E4M3FN", "f16"])
        if to == "wgmma.A" and dtype == "f32":
            dtype = "bf16"
        tile = rng.choice([64, 96, 128, 192]), rng.choice([32, 48, 64, 96, 128])
        if to == "wgmma.A":
            tile = rng.choice([64, 128]), rng.choice([32, 64, 128])
        div = 16 if dtype == "f8E4M3FN" else rng.choice([8, 8, 8, 4 if dtype == "f32" else 2])
        contiguous = rng.choice(["MN", "K"])
        src = _tensor(contiguous, div)
        if to == "epilogue":
            to, dtype, src, div = "gmem", rng.choice(["bf16", "f16"]), "accumulator", 8
        found.append(
            {
                "tile": tile,
                "to": to,
                "dtype": dtype,
                "src": src,
                "dst": _tensor(rng.choice(["MN", "K"]), div) if to == "gmem" else None,
                "threads": rng.choice([128, 128, 256]),
                "stages": rng.choice([1, 2, 3]),
                "seed": rng.randrange(1 << 30),
            }
        )
    return found


def _tensor(contiguous: str, div: int) -> str:
    if contiguous == "MN":
        return f"(?{{div={div}}},?):(1,?{{div={div}}})"
    return f"(?,?{{div={div}}}):(?{{div={div}}},1)"


def plans_of(request: dict[str, Any], first: int) -> list[dict[str, Any]]:
    """Up to `MOST_PLANS` plans of different kinds, with their programs and predictions."""
    from layoutcheck.errors import InputError
    from layoutcheck.fixes.code import dtype_code
    from layoutcheck.machine.cost import CLOCK_GHZ, SMS
    from layoutcheck.synthesis.moved import Ending
    from layoutcheck.synthesis.plans import synthesize
    from layoutcheck.synthesis.program import blocks_of, program, takes_keep
    from layoutcheck.synthesis.reading import read
    from layoutcheck.synthesis.request import TileRequest

    given = {name: value for name, value in request.items() if name != "seed"}
    try:
        made = synthesize(read(TileRequest(**given)), compiler=compiled_apart)
    except InputError as error:
        print(f"{request}: {error.message}", file=sys.stderr)
        return []
    rng = random.Random(request["seed"])
    chosen = rng.sample(range(len(made.plans)), min(MOST_PLANS, len(made.plans)))
    m, k = extents(request, made.wanted.element_bytes)
    tiles = m // request["tile"][0] * (k // request["tile"][1])
    rows = []
    for n, place in enumerate(sorted(chosen)):
        plan = made.plans[place]
        name = f"plan_{first + n:03d}"
        alone = replace(made.wanted, stages=1)
        code, timed, counted = (
            program(plan.found, plan.steps, wanted, ending)
            .replace("def kernel(", f"def {name}(")
            .replace("    kernel(", f"    {name}(")
            for wanted, ending in (
                (made.wanted, Ending.KEEP), (made.wanted, Ending.LOOK), (alone, Ending.LOOK),
            )
        )  # fmt: skip
        rows.append(
            {
                "name": name,
                "request": request,
                "kind": plan.kind,
                "rank": place,
                "shared": None if plan.shared is None else str(plan.shared),
                "cycles": plan.cycles,
                "shared_bytes": plan.shared_bytes,
                "predicted_us": tiles / SMS * plan.cycles / CLOCK_GHZ / 1000,
                "expected_us": tiles / SMS * replace(plan, made=None).cycles / CLOCK_GHZ / 1000,
                "tiles": tiles,
                "blocks": blocks_of(plan.wanted, (m, k)),
                "compiled": plan.made,
                "demand": plan.demand._asdict(),
                "predicted": {key: value * tiles for key, value in predicted(plan, (m, k)).items()},
                "code": code,
                "timed": timed,
                "counting": counted,
                "dtype": dtype_code(made.wanted.dtype).removeprefix("cutlass."),
                "keep": takes_keep(made.wanted, Ending.LOOK),
                "tma": "tma" in plan.kind,
            }
        )
    return rows


def compiled_apart(plans: Sequence[Any], wanted: Any) -> list[Any]:
    """As `dsl.programs.compiled`, in a process that is no fork; None of those that take too long."""
    from layoutcheck.synthesis.compiled import items, made_of

    command = ["timeout", "-s", "ABRT", str(COMPILE_SECONDS), sys.executable, "-X", "faulthandler"]
    path = os.pathsep.join(str(Path(one).absolute()) for one in sys.path)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*command, "-m", "benchmarks.synthesis_plans", folder, "--compile"],
            input=json.dumps(items(plans, wanted)), capture_output=True, text=True, cwd=folder, check=False,
            env=os.environ | {"PYTHONPATH": path},
        )  # fmt: skip
    if done.returncode:
        print(f"not compiled ahead: {done.stderr[-1500:]}", file=sys.stderr, flush=True)
        return [None] * len(plans)
    return [made_of(answer) for answer in json.loads(done.stdout.splitlines()[-1])]


def extents(request: dict[str, Any], size: int) -> tuple[int, int]:
    """Extents of the tensors: whole tiles, about `PITCH` along K, whole lines; so many bytes in all."""
    m, k = request["tile"]
    along = k * (PITCH // k)
    while along * size % 128:
        along += k
    rows = request.get("tensor_bytes", TENSOR_BYTES) // (along * size) // m
    while rows * m * size % 128:
        rows += 1
    return rows * m, along


# One process of those that compile, check and time.


def child(folder: Path, mine: list[dict[str, Any]], profile: bool) -> None:
    """Compile and check all its plans; then, alone on the device, time them."""
    import torch

    from tests.synthesis.compile_programs import module_of

    ready: list[tuple[dict[str, Any], Any]] = []
    tensors: dict[str, Any] = {}
    for row in mine:
        key = json.dumps(row["request"])
        if key not in tensors:
            tensors = {key: _tensors(row)}
        row["tensors"] = tensors[key]
        try:
            if not profile:
                row["wrong"] = _wrong(row, _compiled(row, module_of(row["code"], folder, row["name"])))
            code = row["counting" if profile else "timed"]
            row["run"] = run = _compiled(row, module_of(code, folder, row["name"] + "_looks"))
        except Exception as error:  # the DSL raises all sorts; every one is told, and the others go on
            row["failed"] = f"{type(error).__name__}: {error}"[:1000]
            del row["tensors"]
            continue
        ready.append((row, run))
        if profile:
            with (folder / "turn").open("w") as turn:  # L2 and memory count what all processes do
                fcntl.flock(turn, fcntl.LOCK_EX)
                run(0)
                torch.cuda.synchronize()
                torch.cuda.profiler.start()
                run(0)
                torch.cuda.synchronize()
                torch.cuda.profiler.stop()
        del row["tensors"], row["run"]
    if not profile:
        (folder / f"ready{os.environ['PLANS_PLACE']}").touch()
        while len(list(folder.glob("ready*"))) < int(os.environ["PLANS_PROCESSES"]):
            time.sleep(0.05)
        groups: dict[str, list[tuple[dict[str, Any], Any]]] = {}
        for row, run in ready:
            groups.setdefault(json.dumps(row["request"]), []).append((row, run))
        with (folder / "turn").open("w") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            for group in groups.values():
                _time(group)
    print(
        json.dumps([{k: v for k, v in row.items() if k not in ("code", "timed", "counting")} for row in mine])
    )


def _tensors(row: dict[str, Any]) -> dict[str, Any]:
    import torch

    from layoutcheck.machine.dtypes import dtype

    request = row["request"]
    size = dtype(request["dtype"]).bits // 8
    bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[size]
    m, k = extents(request, size)

    def empty(text: str) -> Any:
        if text.endswith(",1)") or text == "accumulator":
            return torch.zeros((m, k), dtype=bits, device="cuda")
        return torch.zeros((k, m), dtype=bits, device="cuda").t()

    src = empty(request["src"])
    whole = src if src.is_contiguous() else src.t()
    low, high = (0, 256) if size == 1 else (torch.iinfo(bits).min, torch.iinfo(bits).max)
    whole.random_(low, high)
    return {"src": src, "dst": empty(request["dst"] or request["src"])}


def _compiled(row: dict[str, Any], module: Any) -> Any:
    """`run(keep)`: one launch. Says in the row whether a cp.async of the program is under a predicate."""
    import cutlass
    import torch
    from cuda.bindings.driver import CUstream
    from cutlass import cute
    from cutlass.cute.runtime import from_dlpack

    from layoutcheck.dsl.tasks.machine_code import guarded

    def as_cute(tensor: Any) -> Any:
        made = from_dlpack(tensor, assumed_align=16)
        made.element_type = getattr(cutlass, row["dtype"])
        return made.mark_layout_dynamic(leading_dim=0 if tensor.stride(0) == 1 else 1)

    given = [as_cute(row["tensors"]["src"]), as_cute(row["tensors"]["dst"])]
    stream = CUstream(torch.cuda.current_stream().cuda_stream)
    extra = [cutlass.Int32(0)] if row["keep"] else []
    function = cute.compile[cute.KeepCUBIN](module.launch, *given, stream, *extra)
    row["guarded"] = guarded(function.__cubin__)

    def run(keep: int) -> None:
        function(*given, stream, *([cutlass.Int32(keep)] if row["keep"] else []))

    return run


def _wrong(row: dict[str, Any], run: Any) -> int:
    import torch

    src, dst = row["tensors"]["src"], row["tensors"]["dst"]
    whole = dst if dst.is_contiguous() else dst.t()
    whole.copy_(~(src if dst.is_contiguous() else src.t()))
    run(1)
    torch.cuda.synchronize()
    # In pieces: a sum of truth values takes 8 bytes for each while it runs, and all processes share memory.
    return sum(int((a != b).sum()) for a, b in zip(src.chunk(PIECES), dst.chunk(PIECES), strict=True))


def _time(group: list[tuple[dict[str, Any], Any]]) -> None:
    """Microseconds of each plan of a request, in each of `ROUNDS` rounds, plans in random order in each."""
    import torch

    for row, run in group:
        row["rounds_us"] = []
        run(0)
    for _ in range(ROUNDS):
        random.shuffle(group)
        for row, run in group:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            run(0)
            begin.record()
            for _ in range(LAUNCHES):
                run(0)
            end.record()
            torch.cuda.synchronize()
            row["rounds_us"].append(round(1000 / LAUNCHES * begin.elapsed_time(end), 2))
    for row, _ in group:
        row["us"] = statistics.median(row["rounds_us"])


# The whole run.


def _children(shares: list[list[dict[str, Any]]], profile: list[str]) -> tuple[list[dict[str, Any]], str]:
    """All shares' results, and what ncu printed. A process that ends early holds up nobody."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        running = []
        for place, share in enumerate(shares):
            (folder / f"share{place}.json").write_text(json.dumps(share))
            dump = folder / f"dump{place}"  # of the DSL: programs of two processes have files of one name
            dump.mkdir()
            environment = os.environ | {
                "PLANS_PROCESSES": str(len(shares)), "PLANS_PLACE": str(place),
                "CUTE_DSL_DUMP_DIR": str(dump),
            }  # fmt: skip
            command = [sys.executable, "-m", "benchmarks.synthesis_plans", name, "--child", str(place)]
            with (folder / f"out{place}").open("w") as out, (folder / f"err{place}").open("w") as err:
                running.append(
                    subprocess.Popen(
                        [*profile, *command, *(["--profile"] if profile else [])],
                        stdout=out, stderr=err, env=environment,
                    )
                )  # fmt: skip
        while any(process.poll() is None for process in running):
            for place, process in enumerate(running):
                if process.poll() is not None:
                    (folder / f"ready{place}").touch()
            time.sleep(0.1)
        rows, printed = [], ""
        for place in range(len(shares)):
            said_out, said_err = ((folder / f"{which}{place}").read_text() for which in ("out", "err"))
            found = [line for line in said_out.splitlines() if line.startswith('[{"')]
            printed += said_out
            if found:
                rows += json.loads(found[-1])
            else:
                print(
                    f"a process failed:\n{said_err[-3000:]}\n{said_out[-1000:]}", file=sys.stderr, flush=True
                )
        return rows, printed


def tau(rows: list[dict[str, Any]]) -> tuple[float, int, int]:
    """Kendall's tau over the pairs that are `apart`; agreeing and all pairs. A tie agrees with neither."""
    agree = against = 0
    for a, b in combinations(rows, 2):
        if apart(a, b):
            order = (a["us"] - b["us"]) * (a["predicted_us"] - b["predicted_us"])
            agree, against = agree + (order > 0), against + (order <= 0)
    pairs = agree + against
    return ((agree - against) / pairs if pairs else 0.0), agree, pairs


def apart(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Whether they are plans of one request, and measured more than `APART` apart in nearly all rounds."""
    if a["request"] != b["request"] or "us" not in a or "us" not in b:
        return False
    fast, slow = sorted((a, b), key=lambda row: float(row["us"]))
    above = sum(y > x for x, y in zip(fast["rounds_us"], slow["rounds_us"], strict=True))
    return bool(slow["us"] > APART * fast["us"] and above >= IN_ROUNDS * ROUNDS)


def repeated(rows: list[dict[str, Any]]) -> float:
    """The same tau of the even rounds' order against the odd rounds': the most that a prediction can have."""
    halves = [
        row
        | {
            "us": statistics.median(row["rounds_us"][::2]),
            "predicted_us": statistics.median(row["rounds_us"][1::2]),
        }
        for row in rows
        if "us" in row
    ]
    return tau(halves)[0]


def noise(rows: list[dict[str, Any]]) -> dict[str, float]:
    """A plan's even rounds beside its odd ones: the median and the 95th percentile of how far they part."""
    parted = sorted(
        abs(statistics.median(row["rounds_us"][::2]) / statistics.median(row["rounds_us"][1::2]) - 1)
        for row in rows
        if "us" in row
    )
    return {"median": parted[len(parted) // 2], "p95": parted[int(0.95 * len(parted))]} if parted else {}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("out", type=Path)
    options.add_argument("--plans", type=int, default=100)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--processes", type=int, default=12)
    options.add_argument("--to", default=",".join(TARGETS), help="what is drawn in turn, of TARGETS")
    options.add_argument("--child", type=int)
    options.add_argument("--compile", action="store_true")
    options.add_argument("--uncounted", action="store_true", help="no counters: half of the time")
    options.add_argument("--profile", action="store_true")
    given = options.parse_args()
    if given.compile:
        from layoutcheck.dsl.tasks.program import compile_program

        print(json.dumps([compile_program(item) for item in json.load(sys.stdin)]))
        return
    if given.child is not None:
        child(given.out, json.loads((given.out / f"share{given.child}.json").read_text()), given.profile)
        return
    from concurrent.futures import ProcessPoolExecutor

    begun = time.monotonic()
    asked = requests(given.seed, given.plans, given.to.split(","))
    said(begun, f"{len(asked)} requests")
    groups = []
    with ProcessPoolExecutor(given.processes) as pool:
        for group in pool.map(plans_of, asked, range(0, MOST_PLANS * len(asked), MOST_PLANS)):
            groups.append(group)
            said(begun, f"request {len(groups)}: {len(group)} plans")
    count = min(given.processes, len(groups))
    shares = [[row for group in groups[n::count] for row in group] for n in range(count)]
    rows, _ = _children([share for share in shares if share], [])
    said(begun, f"{len(rows)} compiled, run and timed")
    ncu = [
        "ncu", "--clock-control", "none", "--cache-control", "none", "--profile-from-start", "off", "--csv",
        "--page", "raw", "--metrics", ",".join(METRICS.values()),
    ]  # fmt: skip
    counted: dict[str, dict[str, float]] = {}
    under: dict[str, bool] = {}
    if shutil.which("ncu") and not given.uncounted:
        profiled, printed = _children([share for share in shares if share], ncu)
        counted = counters(printed)
        under = {row["name"]: row.get("guarded", False) for row in profiled}
    for row in rows:
        row["counted"], row["guarded"] = counted.get(row["name"]), under.get(row["name"], False)
    value, agree, pairs = tau(rows)
    result = {
        **head("benchmarks.synthesis_plans", "torch"),
        "tau": value,
        "pairs": pairs,
        "agreeing": agree,
        "tau_expected": tau([row | {"predicted_us": row["expected_us"]} for row in rows])[0],
        "tau_repeated": repeated(rows),
        "noise": noise(rows),
        "plans": sorted(rows, key=lambda row: row["name"]),
    }
    (given.out / "synthesis.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    failed = [row for row in rows if "failed" in row]
    wrong = [row["name"] for row in rows if row.get("wrong")]
    print("\n".join(f"{row['name']} {row['failed']}" for row in failed))
    exact = [row for row in rows if row["counted"] and matches(row)]
    seen = [row for row in rows if row["counted"]]
    ran = len(rows) - len(failed)
    print(f"bits: {ran - len(wrong)} of {ran} right; wrong: {wrong}; {len(failed)} did not run")
    under_predicates = sum(row["guarded"] for row in seen)
    print(f"counters: {len(exact)} of {len(seen)} as predicted, {under_predicates} without those of cp.async")
    print(f"tau {value:.3f} ({agree} of {pairs} pairs)")
    print(f"without the compiler: tau {result['tau_expected']:.3f}")
    print(f"even rounds against odd ones: tau {repeated(rows):.3f}, noise {noise(rows)}")
    for row in sorted(rows, key=lambda row: row["name"]):
        print(
            f"{row['name']} {row.get('us', 0):8.1f} us, {row['predicted_us']:8.1f} predicted, "
            f"wrong {row.get('wrong')}, {'' if row['counted'] is None or matches(row) else row['counted']} "
            f"{'' if row['counted'] is None or matches(row) else row['predicted']} "
            f"{row['request']['tile']} {row['request']['dtype']} {row['request']['to']}: {row['kind']}"
        )
    said(begun, "done")


def said(begun: float, text: str) -> None:
    """How far it is, at once: a run that is ended says where it stood."""
    print(f"[{time.monotonic() - begun:5.0f} s] {text}", flush=True)


def matches(row: dict[str, Any]) -> bool:
    """Whether wavefronts and sectors are those predicted: but wavefronts of cp.async under a predicate."""
    asked = row["predicted"]
    compared = [key for key in PREDICTED if key != "cp_async" or not row.get("guarded")]
    return all(abs(row["counted"].get(key, -1) - asked[key]) <= 0.01 * asked[key] + 64 for key in compared)


if __name__ == "__main__":
    main()
