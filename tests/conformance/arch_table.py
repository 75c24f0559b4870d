"""Which PTX instruction ptxas takes for which target.

`python -m tests.conformance.arch_table docs/evidence` assembles one kernel with one instruction each for
every target that ptxas 13 knows. `ATOMS` says which of them each atom of layoutcheck is;
tests/machine/test_arch_table.py compares.
"""

from __future__ import annotations

import datetime
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from layoutcheck.atoms.bulk import BulkCopy
from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.atoms.dsmem import DsmemStore
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.s2t import S2TCopy
from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.atoms.tmem import TmemLoad, TmemStore
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.atom import Atom
from layoutcheck.machine.dtypes import dtype

# The targets, then `name: instruction` a line each, in registers that `_KERNEL` declares.
_FILE = Path(__file__).parents[1] / "data" / "instructions.txt"
INSTRUCTIONS = dict(line.split(": ", 1) for line in _FILE.read_text(encoding="utf-8").splitlines())
TARGETS = INSTRUCTIONS.pop("targets").split()

_BF16, _I8 = dtype("bf16"), dtype("i8")
ATOMS: dict[str, tuple[Atom, ...]] = {
    "ld.global": (UniversalCopy(_BF16, 128), RegisterCopy("g2r", _BF16, 128)),
    "cp.async": (CpAsync(_BF16, 128, "global"),),
    "ldmatrix.m8n8": (LdMatrix(_BF16, 4),),
    "ldmatrix.m16n16.b8": (LdMatrix(_I8, 1, True, (16, 16), "u8"),),
    "ldmatrix.m8n16.b6": (LdMatrix(_I8, 1, False, (8, 16), "u6x16p32to8"),),
    "ldmatrix.m8n16.b4": (LdMatrix(_I8, 1, False, (8, 16), "u4x16p64to8"),),
    "stmatrix.m8n8": (StMatrix(_BF16, 4),),
    "stmatrix.m16n8.b8": (StMatrix(_I8, 1, True, (16, 8)),),
    "cp.async.bulk g2s": (BulkCopy("g2s", _BF16, 128),),
    "cp.async.bulk s2g": (BulkCopy("s2g", _BF16, 128),),
    "cp.async.bulk s2g cp_mask": (BulkCopy("s2g", _BF16, 128, byte_mask=True),),
    "cp.async.bulk s2s": (BulkCopy("s2s", _BF16, 128),),
    "st.async": (DsmemStore(_BF16, 32),),
    "tma load": (TmaCopy("load", _BF16), TmaCopy("load", _BF16, mode="im2col")),
    "tma load 2 cta": (TmaCopy("load", _BF16, num_cta=2),),
    "tma store": (TmaCopy("store", _BF16),),
    "tma reduce": (TmaCopy("reduce", _BF16),),
    "tma gather4 cta": (TmaCopy("load", _BF16, mode="gather4"),),
    "tma gather4 multicast": (
        TmaCopy("load", _BF16, mode="gather4", attributes=(("mcast", "true"),)),
        TmaCopy("load", _BF16, mode="gather4", num_cta=2),
    ),
    "tma scatter4": (TmaCopy("store", _BF16, mode="scatter4"),),
    "tcgen05.ld": (TmemLoad(_BF16, 32, 32, 1),),
    "tcgen05.st": (TmemStore(_BF16, 32, 32, 1),),
    "tcgen05.cp": (S2TCopy(_BF16, 32, 128, 1, "x4"),),
}

_KERNEL = """.version 9.0
.target {target}
.address_size 64
.visible .entry k() {{
.reg .b32 %r<16>; .reg .b64 %rd<4>; .reg .b16 %rs<4>; .reg .f32 %f<8>;
{instruction}
ret;
}}
"""


def assembles(instruction: str, target: str, folder: Path, ptxas: str) -> bool:
    """Whether ptxas takes the instruction for the target."""
    source = folder / "k.ptx"
    source.write_text(_KERNEL.format(target=target, instruction=instruction), encoding="utf-8")
    command = [ptxas, "-arch", target, str(source), "-o", str(folder / "k.cubin")]
    return subprocess.run(command, capture_output=True).returncode == 0


def main(out: str) -> None:
    """Ask ptxas everything and write OUT/arch.json."""
    ptxas = shutil.which("ptxas")
    if ptxas is None:
        sys.exit("ptxas is not installed")
    said = subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=True).stdout
    release = next(word for word in said.replace(",", " ").split() if word.startswith("V"))
    with tempfile.TemporaryDirectory() as folder:
        table = {
            name: [target for target in TARGETS if assembles(text, target, Path(folder), ptxas)]
            for name, text in INSTRUCTIONS.items()
        }
    found = {
        "command": f"python -m tests.conformance.arch_table {out}",
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "device": "none: ptxas alone",
        "versions": {"ptxas": release.removeprefix("V")},
        "targets": list(TARGETS),
        "instructions": INSTRUCTIONS,
        "assembles": table,
    }
    Path(out, "arch.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs/evidence")
