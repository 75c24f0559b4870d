"""The f64 chain beside mmasim 2.1.1's own C++ (`mmasim/arithmetic/fma_cpu.cpp` of its wheel), bit for bit.

    python -m kernels.numerics.f64_against_mmasim --source fma_cpu.cpp --out FILE [--seed 1]

Needs g++. mmasim calls that function for each k in ascending order, as is done here.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from layoutcheck.numerics.plain import f64_dot

COUNT = 4000


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "fma.so"
        command = ["g++", "-O2", "-mfma", "-shared", "-fPIC", "-o", str(library), str(arguments.source)]
        subprocess.run(command, check=True)
        theirs = ctypes.CDLL(str(library)).fma_f64
    theirs.restype, theirs.argtypes = None, [ctypes.c_void_p] * 4 + [ctypes.c_int]
    rng, rows = np.random.default_rng(arguments.seed), {}
    for k in (4, 8, 16):
        equal = asked = 0
        for spread in (0, 5, 30, 200, 500):

            def drawn(shape: tuple[int, ...], spread: int = spread) -> np.ndarray:
                return rng.standard_normal(shape) * 2.0 ** rng.integers(-spread, spread + 1, shape)

            a, b, c = drawn((COUNT, k)), drawn((COUNT, k)), drawn((COUNT,))
            total = c
            for i in range(k):
                out = np.empty(COUNT)
                inputs = [np.ascontiguousarray(x) for x in (a[:, i], b[:, i], total)]
                theirs(*(x.ctypes.data for x in (*inputs, out)), COUNT)
                total = out
            equal += int((f64_dot(a, b, c).view(np.int64) == total.view(np.int64)).sum())
            asked += COUNT
        rows[f"k{k}"] = {"vectors": asked, "equal": equal}
    print(rows)
    arguments.out.write_text(json.dumps({"seed": arguments.seed, "units": rows}, indent=1) + "\n")
    return int(any(row["equal"] != row["vectors"] for row in rows.values()))


if __name__ == "__main__":
    raise SystemExit(main())
