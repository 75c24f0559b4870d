"""Hardware counters of single warp-level memory instructions, read with Nsight Compute (`ncu`).

Each `Probe` becomes one launch of one warp that executes one instruction at the given addresses
(`probe.cu`, compiled with `nvcc`); one `ncu` run profiles them all. This is what judges `machine/banks.py`
and `machine/sectors.py`.
"""

from __future__ import annotations

import csv
import io
import shutil
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutcheck.errors import InputError, LayoutcheckError

SOURCE = Path(__file__).with_name("probe.cu")

_BY_WIDTH = ("ld.shared", "st.shared", "ld.global", "st.global")
_MATRIX = ("ldmatrix.x#", "ldmatrix.x#.trans", "stmatrix.x#", "stmatrix.x#.trans")

# The order of `enum Kind` in probe.cu.
KINDS: tuple[tuple[str, int], ...] = (
    *((op, bits) for op in _BY_WIDTH[:2] for bits in (8, 16, 32, 64, 128)),
    *((op.replace("#", str(n)), 128) for op in _MATRIX for n in (1, 2, 4)),
    *(("cp.async.ca", bits) for bits in (32, 64, 128)),
    ("cp.async.cg", 128),
    *((op, bits) for op in _BY_WIDTH[2:] for bits in (8, 16, 32, 64, 128)),
)  # fmt: skip

SHARED_BYTES = 48 * 1024
GLOBAL_BYTES = 1 << 24

SHARED_LD = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
SHARED_ST = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"
CONFLICTS_LD = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"
CONFLICTS_ST = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"
SECTORS_LD = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
SECTORS_ST = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
REQUESTS_LD = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
REQUESTS_ST = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"
METRICS = (
    SHARED_LD,
    SHARED_ST,
    CONFLICTS_LD,
    CONFLICTS_ST,
    SECTORS_LD,
    SECTORS_ST,
    REQUESTS_LD,
    REQUESTS_ST,
)


@dataclass(frozen=True, slots=True)
class Probe:
    """One instruction of one warp: `op` and `width_bits` as in `KINDS`, 32 byte addresses (None: lane off).

    `shared` lies in a buffer of `SHARED_BYTES`, aligned to 1024 bytes; `globl` in one of `GLOBAL_BYTES`,
    aligned to 256. Which of them the instruction uses follows from `op`; the other may be empty.
    """

    op: str
    width_bits: int
    shared: tuple[int | None, ...] = ()
    globl: tuple[int | None, ...] = ()

    def pack(self) -> bytes:
        """The record that probe.cu reads."""
        try:
            kind = KINDS.index((self.op, self.width_bits))
        except ValueError:
            raise InputError(f"no probe for {self.op} of {self.width_bits} bits") from None
        lanes = self.shared or self.globl
        mask = sum(1 << lane for lane, at in enumerate(lanes) if at is not None)
        columns = [[at or 0 for at in column] or [0] * 32 for column in (self.shared, self.globl)]
        return struct.pack("<66I", kind, mask, *columns[0], *columns[1])


def build(directory: Path) -> Path:
    """Compile probe.cu; raises LayoutcheckError without nvcc or where it fails."""
    binary = directory / "probe"
    _run_tool("nvcc", ["-O2", "-arch=sm_90a", "-o", str(binary), str(SOURCE)])
    return binary


def command(binary: Path, cases: Path, metrics: Sequence[str] = METRICS) -> list[str]:
    """The ncu command line that `measure` runs."""
    return [
        "ncu", "--clock-control", "none", "--cache-control", "none", "--csv", "--page", "raw",
        "--metrics", ",".join(metrics), str(binary), str(cases),
    ]  # fmt: skip


def measure(
    probes: Sequence[Probe], directory: Path, metrics: Sequence[str] = METRICS
) -> list[dict[str, float]]:
    """The counters of each probe, in order. `directory` keeps the binary, the cases and ncu's own output."""
    binary = directory / "probe" if (directory / "probe").exists() else build(directory)
    cases = directory / "cases.bin"
    cases.write_bytes(b"".join(probe.pack() for probe in probes))
    head, *rest = command(binary, cases, metrics)
    text = _run_tool(head, rest)
    (directory / "ncu.csv").write_text(text)
    rows = parse(text, metrics)
    if len(rows) != len(probes):
        raise LayoutcheckError(f"ncu profiled {len(rows)} launches of {len(probes)}")
    return rows


def cycles(probes: Sequence[Probe], directory: Path) -> list[tuple[float, float]]:
    """Clock cycles an instruction takes back to back: of one warp alone, and of eight warps together."""
    binary = directory / "probe" if (directory / "probe").exists() else build(directory)
    cases = directory / "timed.bin"
    cases.write_bytes(b"".join(probe.pack() for probe in probes))
    lines = _run_tool(str(binary), ["--time", str(cases)]).splitlines()
    return [(float(line.split()[0]), float(line.split()[1])) for line in lines]


def parse(text: str, metrics: Sequence[str] = METRICS) -> list[dict[str, float]]:
    """The rows of `ncu --csv --page raw`: one a launch, in launch order; a counter ncu left out is absent."""
    start = text.find('"ID"')
    if start < 0:
        raise LayoutcheckError(f"ncu printed no table: {text[-400:]}")
    rows = [row for row in csv.DictReader(io.StringIO(text[start:])) if (row.get("ID") or "").isdigit()]
    rows.sort(key=lambda row: int(row["ID"]))
    return [
        {m: float(row[m].replace(",", "")) for m in metrics if row.get(m) not in (None, "")} for row in rows
    ]


def _run_tool(name: str, arguments: list[str]) -> str:
    path = shutil.which(name)
    if path is None:
        raise LayoutcheckError(f"{name} is not on the PATH")
    done = subprocess.run([path, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise LayoutcheckError(f"{name} failed ({done.returncode}): {(done.stdout + done.stderr)[-2000:]}")
    return done.stdout or "\n"
