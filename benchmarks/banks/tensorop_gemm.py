"""CUTLASS's ampere/tensorop_gemm.py example: shared-memory wavefronts predicted and measured.

    python -m benchmarks.banks.tensorop_gemm tensorop_gemm.py OUT_DIRECTORY    # the DSL, torch, ncu, a GPU

Its tiles are 128 x 32 (fp16) and 128 x 64 (fp8), K-major rows of 64 bytes either way. The swizzle of a
shared-memory pointer counts bytes, so both need S<2,4,3>; the example computes the shift from the *element*
width (`log2(128 // width)`), which is 3 for fp16 and 4 for fp8: S<2,4,4>, under which rows 0 and 2 of each
8 x 16 byte matrix share their banks.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.banks import counters
from benchmarks.banks.evidence import host, write
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.machine.tiles import TileCost, analyse_tile, matrix_access, vector_access

LDSM = "smsp__inst_executed_op_ldsm.sum"
METRICS = (
    counters.SHARED_LD,
    counters.CONFLICTS_LD,
    counters.SHARED_ST,
    counters.CONFLICTS_ST,
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum",
    LDSM,
    "smsp__inst_executed_op_shared_st.sum",
)
SIZE = (256, 256, 256)  # M, N, K: four blocks of 128 x 128
FP8 = "--a_major k --b_major k --ab_dtype Float8E4M3FN"
RUNS = {  # name: (flags, element bits, shift of the swizzle, whether the file is patched)
    "fp16, K-major": ("--a_major k --b_major k", 16, 3, False),
    "fp8, K-major": (FP8, 8, 4, False),
    "fp8, K-major, shift 3": (FP8, 8, 3, True),
}
FIX = ("shift_bits = int(math.log2(copy_bits // dtype.width))", "shift_bits = 3")


def tile_table(element_bits: int, shift: int) -> list[TileCost]:
    """One stage of A (B is alike): the producer's cp.async and the consumer's ldmatrix."""
    columns = 512 // element_bits
    tile = Layout((128, columns), (columns, 1))
    each = 128 // element_bits
    tv = Layout(((columns // each, 32), each), ((each * 128, 1), 128))
    writes = vector_access(tile, element_bits, "cp.async.cg", "cp.async.cg", 128, tv)
    return analyse_tile(tile, element_bits, [writes, matrix_access(tile, element_bits)], Swizzle(2, 4, shift))


def predicted(element_bits: int, shift: int) -> dict[str, int]:
    """Whole-kernel counts for `SIZE`, from the table, the loop and the epilogue.

    128 threads a block; a warp reads, for each 32 bytes of K, four ldmatrix.x4 of A and four of B, one step
    ahead of the loop. Before the loop A and B (4 stages of 8 KiB each) are zero-filled 16 bytes at a time;
    the epilogue stores 128 x 128 halves 4 bytes at a time and reads them back by 16, free of conflicts.
    """
    m, n, k = SIZE
    blocks = m // 128 * (n // 128)
    steps = k * element_bits // 8 // 32 + 1
    ldsm = blocks * 4 * steps * 8
    row = tile_table(element_bits, shift)[1]
    back = blocks * 128 * 128 * 2 // 512
    fill, out = blocks * 2 * 4 * 8192 // 512, blocks * 128 * 128 * 2 // 128
    return {
        LDSM: ldsm,
        counters.SHARED_LD: ldsm * row.wavefronts // row.instructions + 4 * back,
        counters.CONFLICTS_LD: ldsm * (row.wavefronts - row.ideal) // row.instructions,
        counters.SHARED_ST: 4 * fill + out,
        counters.CONFLICTS_ST: 0,
    }


def main(example: Path, out: Path) -> None:
    """Profile the example as it is, and with the shift in bytes."""
    m, n, k = SIZE
    runs: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        patched = Path(folder) / "patched.py"
        patched.write_text(example.read_text().replace(*FIX))
        for name, (flags, bits, shift, fixed) in RUNS.items():
            command = [
                "ncu", "--clock-control", "none", "--cache-control", "none", "--csv", "--page", "raw",
                "-k", "regex:TensorOpGemm", "--launch-count", "1", "--metrics", ",".join(METRICS),
                sys.executable, str(patched if fixed else example), "--mnkl", f"{m},{n},{k},1",
                "--warmup_iterations", "0", "--iterations", "1", "--benchmark", "none", *flags.split(),
            ]  # fmt: skip
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            measured = {metric: int(value) for metric, value in counters.parse(text, METRICS)[0].items()}
            runs.append(
                {
                    "run": name,
                    "flags": flags,
                    "shift": shift,
                    "passed": bool(re.search("^PASS$", text, re.MULTILINE)),
                    "predicted": predicted(bits, shift),
                    "measured": measured,
                }
            )
    told = {
        "example": f"{example.name}, sha256 {hashlib.sha256(example.read_bytes()).hexdigest()}",
        "command": f"python -m benchmarks.banks.tensorop_gemm {example.name} OUT",
        "profiler": " ".join(command[: command.index(sys.executable)]),
    }
    write(out / "tensorop_gemm.json", {**told, "host": host(), "runs": runs})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
