"""How many bytes an SM keeps in flight: what `machine.cost` knows of L1 while loads wait, measured.

    python -m benchmarks.in_flight OUT

needs nvcc and a GPU of sm_90. Compiles and runs in_flight.cu, and writes OUT/in_flight.json.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.evidence import head, write

SOURCE = Path(__file__).with_name("in_flight.cu")
COLUMNS = ("op", "row_bytes", "at_once", "shared_kb", "source_mb", "gb_per_s")


def main() -> None:
    out = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "in_flight"
        subprocess.run(["nvcc", "-arch=sm_90a", "-O3", str(SOURCE), "-o", str(program)], check=True)
        printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    rows = []
    for line in printed.splitlines():
        op, *numbers, speed, outcome = line.split(maxsplit=6)
        if outcome != "no error":
            print(f"{line}: not counted", file=sys.stderr)
            continue
        rows.append(dict(zip(COLUMNS, (op, *map(int, numbers), float(speed)), strict=True)))
    write({**head("benchmarks.in_flight"), "rows": rows}, out / "in_flight.json")
    print(
        f"{'':>12} row  {'at once':>8} {'source':>8}"
        + "".join(f"{kb:>8} KB" for kb in (66, 100, 132, 164, 196, 226))
    )
    for key in dict.fromkeys((r["op"], r["row_bytes"], r["at_once"], r["source_mb"]) for r in rows):
        mine = [r["gb_per_s"] for r in rows if (r["op"], r["row_bytes"], r["at_once"], r["source_mb"]) == key]
        op, row, once, mb = key
        print(f"{op:>12} {row:>4} {once:>8} {mb:>8}" + "".join(f"{speed:>8.0f}   " for speed in mine))


if __name__ == "__main__":
    main()
