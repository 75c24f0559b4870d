"""Compare `layoutcheck.numerics.resources` with NVIDIA's `cuda_occupancy.h`, launch by launch.

    python -m benchmarks.occupancy_header [--include DIR] [--count 60000] [--seed 1] [--sample FILE]

Needs g++ and the header, which is in the CUDA toolkit (include/) and in PyPI's nvidia-cuda-runtime. It is
compiled in a temporary folder. `--sample` writes every 60th launch with the header's answer: the tests'
data. Exit status 0 if no launch differs, 1 if one does, 2 where the header or g++ is missing.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import tempfile
from pathlib import Path

from layoutcheck.numerics.resources import DEVICES, Device, occupancy

SOURCE = r"""
#include <cuda_occupancy.h>
#include <cstdio>
int main() {
  int major, minor, threads_sm, sms, threads, registers, barriers;
  size_t smem_sm, smem_cta, reserved, smem;
  while (scanf("%d %d %d %zu %zu %zu %d %d %d %zu %d", &major, &minor, &threads_sm, &smem_sm, &smem_cta,
               &reserved, &sms, &threads, &registers, &smem, &barriers) == 11) {
    cudaOccDeviceProp p;
    p.computeMajor = major; p.computeMinor = minor; p.maxThreadsPerBlock = 1024;
    p.maxThreadsPerMultiprocessor = threads_sm; p.warpSize = 32;
    p.regsPerBlock = p.regsPerMultiprocessor = 65536;
    p.sharedMemPerBlock = 48 * 1024; p.sharedMemPerMultiprocessor = smem_sm; p.numSms = sms;
    p.sharedMemPerBlockOptin = smem_cta; p.reservedSharedMemPerBlock = reserved;
    cudaOccFuncAttributes a;
    a.maxThreadsPerBlock = 1024; a.numRegs = registers; a.sharedSizeBytes = 0;
    a.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN; a.maxDynamicSharedSizeBytes = smem;
    a.numBlockBarriers = barriers;
    cudaOccDeviceState s;
    cudaOccResult r;
    int status = cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &a, &s, threads, smem);
    printf("%d\n", status == 0 ? r.activeBlocksPerMultiprocessor : -status);
  }
}
"""
INCLUDES = ("/usr/local/cuda/include",)
Launch = tuple[str, int, int, int, int]  # device, threads, registers, shared memory in bytes, barriers


def launches(count: int, seed: int) -> list[Launch]:
    """Random launches of every device: any count of warps, whole or not, and sizes around every limit."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        on = rng.choice(list(DEVICES.values()))
        threads = rng.choice(
            (rng.randint(1, 1100), 32 * rng.randint(1, 33), rng.choice((64, 96, 128, 256, 384)))
        )
        registers = rng.choice((rng.randint(1, 260), 8 * rng.randint(1, 32)))
        edge = on.smem_bytes // rng.randint(1, 8) - on.reserved_smem_bytes + rng.randint(-300, 300)
        smem = rng.choice((0, rng.randint(0, on.smem_cta_bytes + 2048), max(edge, 0)))
        found.append((on.name, threads, registers, smem, rng.choice((1, 1, rng.randint(1, 16)))))
    return found


def ask_header(include: Path, asked: list[Launch]) -> list[int]:
    """The header's answers: CTAs a multiprocessor."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "ask.cpp"), Path(folder, "ask")
        source.write_text(SOURCE)
        subprocess.run(["g++", "-O1", f"-I{include}", str(source), "-o", str(program)], check=True)
        lines = "\n".join(_line(DEVICES[name], *rest) for name, *rest in asked)
        ran = subprocess.run([str(program)], input=lines, capture_output=True, text=True, check=True)
    return [int(line) for line in ran.stdout.split()]


def _line(on: Device, threads: int, registers: int, smem: int, barriers: int) -> str:
    number = int(on.arch.removeprefix("sm_"))
    limits = (number // 10, number % 10, on.threads, on.smem_bytes, on.smem_cta_bytes, on.reserved_smem_bytes)
    return " ".join(map(str, (*limits, on.multiprocessors, threads, registers, smem, barriers)))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", type=Path, default=Path(INCLUDES[0]))
    parser.add_argument("--count", type=int, default=60000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=Path)
    arguments = parser.parse_args()
    header = arguments.include / "cuda_occupancy.h"
    if not header.exists() or not shutil.which("g++"):
        print(f"needs g++ and {header}")
        return 2
    asked = launches(arguments.count, arguments.seed)
    answers = ask_header(arguments.include, asked)
    pairs = list(zip(asked, answers, strict=True))
    different = [(one, said) for one, said in pairs if occupancy(DEVICES[one[0]], *one[1:]).ctas != said]
    failing = sum(said == 0 for said in answers)
    print(f"{len(asked)} launches, {failing} of which fail: {len(different)} differ from {header}")
    for one, said in different[:10]:
        print(f"  {one}: header {said}, model {occupancy(DEVICES[one[0]], *one[1:])}")
    if arguments.sample:
        rows = [[*one, said] for one, said in pairs[::60]]
        head = {
            "source": "cuda_occupancy.h, CUDA toolkit 13.0",
            "seed": arguments.seed,
            "count": arguments.count,
        }
        arguments.sample.parent.mkdir(parents=True, exist_ok=True)
        arguments.sample.write_text(json.dumps(head | {"launches": rows}, separators=(",", ":")) + "\n")
    return int(bool(different))


if __name__ == "__main__":
    raise SystemExit(main())
