"""The model against the hardware outputs that Khattak & Mikaitis published for eight GPUs (BSD-2).

    python -m kernels.numerics.published MATLAB-tensor-core/model_validation [--out FILE]

The argument is that folder of a checkout of github.com/north-numerical-computing/MATLAB-tensor-core.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.formats import FORMATS
from layoutcheck.numerics.units import unit

GPUS = {"V100": 70, "A100": 80, "A2": 86, "Ada": 89, "L40S": 89, "H100": 90, "H200": 90, "B200": 100}
INPUTS = {"fp16": "f16", "bf16": "bf16", "tf32": "tf32", "E4M3": "e4m3", "E5M2": "e5m2"}


def hexadecimal(path: Path) -> np.ndarray:
    """Rows of f32 values written as hexadecimal words."""
    rows = [
        [int(word, 16) for word in line.split()] for line in path.read_text().splitlines() if line.strip()
    ]
    return FORMATS["f32"].decode(np.array(rows, np.uint32))


def binary(path: Path) -> np.ndarray:
    """One f32 value a line, as 32 binary digits."""
    words = [int(line, 2) for line in path.read_text().split()]
    return FORMATS["f32"].decode(np.array(words, np.uint32))


def named(gpu: str, inputs: str, accumulator: str) -> tuple[Unit, bool]:
    """The unit those files were made with, and whether it read c (their wgmma runs started from zero)."""
    arch = f"sm_{GPUS[gpu]}"
    short = INPUTS[inputs]
    if inputs.startswith("E"):
        # H100 and H200: f32 through wgmma, f16 through mma.sync. The others: mma.sync.
        if GPUS[gpu] == 90 and accumulator == "f32":
            return unit(f"wgmma.m64n8k32.f32.{short}", arch), False
        return unit(f"mma.m16n8k32.{accumulator}.{short}", arch), True
    if gpu == "V100":
        return unit(f"mma.m8n8k4.{accumulator}.{short}", arch), True
    return unit(f"mma.m16n8k{4 if inputs == 'tf32' else 16}.{accumulator}.{short}", arch), True


def compare(folder: Path) -> list[dict[str, object]]:
    """One row a data set."""
    rows: list[dict[str, object]] = []
    for gpu in GPUS:
        for inputs in INPUTS:
            where = folder / gpu / inputs
            for accumulator in ("f32", "f16"):
                answers = where / f"d_{gpu}_{'fp32' if accumulator == 'f32' else 'fp16'}.txt"
                if not answers.exists():
                    continue
                u, reads_c = named(gpu, inputs, accumulator)
                a, b = (hexadecimal(where / f"{x}_{gpu}_{inputs}.txt") for x in "ab")
                c, d = binary(where / f"c_{gpu}_fp32.txt"), binary(answers)
                short = u.k - a.shape[1]
                a, b = (np.pad(x, ((0, 0), (0, max(short, 0)))) for x in (a, b))
                raw_a, raw_b = u.instruction.a.encode(a), u.instruction.b.encode(b)
                raw_c = u.rule.accumulator.encode(c if reads_c else np.zeros_like(c))
                equal = u.rule.accumulator.decode(u.fma(raw_a, raw_b, raw_c)) == d
                rows.append(
                    {
                        "gpu": gpu,
                        "unit": u.name,
                        "equal": int(equal.sum()),
                        "vectors": len(d),
                        "files": str(answers),
                    }
                )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rows = compare(arguments.folder)
    for row in rows:
        row["files"] = str(Path(str(row["files"])).relative_to(arguments.folder))
        print(f"{row['files']!s:36s} {row['unit']!s:28s} {row['equal']}/{row['vectors']}")
    total = {key: sum(int(str(row[key])) for row in rows) for key in ("equal", "vectors")}
    print(f"all: {total['equal']} of {total['vectors']}")
    if arguments.out:
        source = "github.com/north-numerical-computing/MATLAB-tensor-core, model_validation (BSD-2)"
        run = {
            "date": time.strftime("%Y-%m-%d"),
            "numpy": np.__version__,
            "command": "python -m kernels.numerics.published FOLDER --out FILE",
            "source": source,
        }
        arguments.out.write_text(json.dumps({**run, **total, "sets": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
