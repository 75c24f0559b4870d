"""What the order of its accesses costs a transpose: copies that read or write in runs, and two transposes.

    python -m benchmarks.transpose_order OUT_FOLDER

needs nvcc and a GPU of sm_90. Compiles and runs transpose_order.cu; the result is
OUT_FOLDER/transpose_order.json.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write

SOURCE = Path(__file__).with_name("transpose_order.cu")

SIZES = ((16384, 15), (32768, 11))
"""Rows and columns, and rounds."""


def main() -> None:
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "order"
        subprocess.run(["nvcc", "-arch=sm_90a", "-O3", "-std=c++17", SOURCE, "-o", program], check=True)
        for size, rounds in SIZES:
            command = [program, str(size), str(size), str(rounds)]
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            for line in printed.splitlines():
                m, n, us, tenth, ninetieth, name = line.split(maxsplit=5)
                times = {"us": float(us), "us_p10": float(tenth), "us_p90": float(ninetieth)}
                rows.append({"name": name, "m": int(m), "n": int(n), **times})
                print(line)
    write({**head("benchmarks.transpose_order"), "rows": rows}, Path(sys.argv[1]) / "transpose_order.json")


if __name__ == "__main__":
    main()
