"""Many kernels of `kernels`, compiled, judged and (with --gpu) run, in several processes.

    python -m tests.conformance.written.sweep --first 10000 --seconds 100 --jobs 2 --out FILE

writes one JSON line a kernel.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.conformance.written import judge
from tests.conformance.written.kernels import Written, kernel


class Child:
    """A process that answers a line with a line; started again where it ended."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.process: subprocess.Popen[str] | None = None

    def ask(self, request: Any) -> Any:
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", self.module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer = json.loads(line) if line else None
        if answer is None or "fault" in answer:  # it ends
            self.process.wait()
        return answer

    def close(self) -> None:
        if self.process is not None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.wait()


def compiler() -> Child:
    return Child("tests.conformance.written.compile")


def one(seed: int, compiling: Child, device: Child | None, lowering: Any) -> dict[str, Any]:
    written = kernel(seed)
    answer = compiling.ask([[f"k{seed}", written.source]])
    if answer is None:
        return {"seed": seed, "outcome": "the child died", "wrongs": []}
    try:
        found = judge.judge(written, answer, lowering)
    except Exception as error:
        return {"seed": seed, "outcome": "judge", "wrongs": [("judge", f"{type(error).__name__}: {error}")]}
    out = {
        "seed": seed, "style": written.style, "outcome": found.outcome, "wrongs": found.wrongs,
        "verdicts": dict(found.verdicts), "notes": dict(found.notes),
        "codes": sorted({f.code for _, r in found.reports if r is not None for f in r.findings}),
    }  # fmt: skip
    if device is not None and found.outcome == "compiled" and "reference_ptx" in answer and found.tries:
        out["gpu"] = on_device(written, answer, device, found, out["wrongs"])
    return out


def on_device(
    written: Written, answer: dict[str, Any], device: Child, found: Any, wrongs: list[Any]
) -> dict[str, int]:
    """The same runs on the GPU: memory as the machine has it, and the verdict held against it."""
    seen: Counter[str] = Counter()
    differs = False
    for numbers, memory in found.tries:
        results = {}
        for key in ("reference", "copy"):
            entry = re.search(r"\.entry\s+(\w+)", answer[f"{key}_ptx"])
            assert entry is not None
            request = {
                "cubin": answer[f"{key}_cubin"],
                "entry": entry[1],
                "numbers": numbers,
                "written": asdict(written),
            }
            request["written"]["source"] = ""
            results[key] = device.ask(request) or {"fault": "no answer"}
            mine = memory[key]
            theirs = results[key].get("digest", "fault")
            if mine == theirs:
                seen["as the machine"] += 1
            else:
                seen["not as the machine"] += 1
                wrongs.append((f"GPU and machine differ ({key})", f"{numbers}: {mine[:9]} {results[key]}"))
        if "fault" in results["reference"]:
            seen["reference faults"] += 1
        else:
            differs |= results["copy"].get("digest") != results["reference"]["digest"]
    verdicts = set(found.verdicts)
    seen["differs" if differs else "same"] += 1
    if differs and not verdicts & {"wrong", "unknown"}:
        wrongs.append(("GPU corrupts, said " + "/".join(sorted(verdicts)), ""))
    return dict(seen)


def work(first: int, step: int, seconds: float, gpu: bool, out: str) -> None:
    from layoutcheck.dsl.lowered.resolve import Lowering

    end, seed = time.monotonic() + seconds, first
    compiling, device = compiler(), Child("tests.conformance.written.device") if gpu else None
    with Lowering() as lowering, Path(out).open("w") as stream:
        while time.monotonic() < end:
            stream.write(json.dumps(one(seed, compiling, device, lowering)) + "\n")
            stream.flush()
            seed += step
    compiling.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--out", default="written.jsonl")
    given = parser.parse_args()
    parts = [f"{given.out}.{i}" for i in range(given.jobs)]
    jobs = [
        multiprocessing.Process(
            target=work, args=(given.first + i, given.jobs, given.seconds, given.gpu, part)
        )
        for i, part in enumerate(parts)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    lines = [line for part in parts for line in Path(part).read_text().splitlines()]
    for part in parts:
        Path(part).unlink()
    Path(given.out).write_text("".join(line + "\n" for line in lines))
    print(summary([json.loads(line) for line in lines]))


def summary(records: list[dict[str, Any]]) -> str:
    outcomes: Counter[str] = Counter(r["outcome"] for r in records)
    verdicts: Counter[str] = Counter()
    notes: Counter[str] = Counter()
    gpu: Counter[str] = Counter()
    wrongs: Counter[str] = Counter()
    for record in records:
        verdicts.update(record.get("verdicts", {}))
        notes.update(record.get("notes", {}))
        gpu.update(record.get("gpu", {}))
        wrongs.update({what for what, _ in record["wrongs"]})
    parts = {
        "kernels": len(records), "outcomes": dict(outcomes), "verdicts": dict(verdicts), "gpu": dict(gpu),
        "notes": dict(notes.most_common(40)), "disagreements": dict(wrongs.most_common()),
    }  # fmt: skip
    return json.dumps(parts, indent=1)


if __name__ == "__main__":
    main()
