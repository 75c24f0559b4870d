"""What the pages of LC260 and LC263 say of the DSL, asked of the DSL, in child processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cutlass", reason="needs nvidia-cutlass-dsl")

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.sweep

ALIGNMENT = """
import json
import numpy as np
import cutlass
from cutlass import cute
from cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor, make_ptr

raw = np.zeros(128, np.int16)
start = -raw.ctypes.data % 16 // 2
aligned, slipped = raw[start : start + 96], raw[start + 1 : start + 97]
assert aligned.ctypes.data % 16 == 0 and slipped.ctypes.data % 16 == 2

@cute.jit
def takes_tensor(x: cute.Tensor):
    print(x.type)

@cute.jit
def takes_pointer(x: cute.Pointer):
    print(x.type)

@cute.jit
def takes_address(x: cutlass.Int64):
    print(cute.make_ptr(cutlass.Int16, x, cute.AddressSpace.gmem, assumed_align=16).type)

def outcome(run):
    try:
        run()
        return "taken"
    except BaseException as error:
        return type(error).__name__

gmem = cute.AddressSpace.gmem
pointer = make_ptr(cutlass.Int16, aligned.ctypes.data, gmem, assumed_align=16)
tensors = cute.compile(takes_tensor, from_dlpack(aligned, assumed_align=16))
fake = make_fake_compact_tensor(cutlass.Int16, (96,), assumed_align=16)
pointers = cute.compile(takes_pointer, pointer)
addresses = cute.compile(takes_address, cutlass.Int64(aligned.ctypes.data))
print(json.dumps({
    "from_dlpack promises": outcome(lambda: tensors(from_dlpack(slipped, assumed_align=16))),
    "make_ptr promises": outcome(
        lambda: make_ptr(cutlass.Int16, slipped.ctypes.data, gmem, assumed_align=16)
    ),
    "compiled, tensor that promises nothing": outcome(lambda: tensors(from_dlpack(slipped))),
    "compiled for a fake, tensor that promises nothing": outcome(
        lambda: cute.compile(takes_tensor, fake)(from_dlpack(slipped))
    ),
    "compiled, pointer that promises less": outcome(
        lambda: pointers(make_ptr(cutlass.Int16, slipped.ctypes.data, gmem, assumed_align=2))
    ),
    "compiled, address promised inside": outcome(lambda: addresses(cutlass.Int64(slipped.ctypes.data))),
}))
"""

ELECTION = """
import os, re, tempfile
from pathlib import Path
folder = tempfile.mkdtemp()
os.environ.update(CUTE_DSL_KEEP="ptx", CUTE_DSL_DUMP_DIR=folder, CUTE_DSL_DISABLE_FILE_CACHING="1")
import json
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_ptr
from benchmarks.tma_election import VARIANTS, kernel

found = {}
for variant in VARIANTS:
    pointers = [make_ptr(cutlass.Float16, 0, cute.AddressSpace.gmem, assumed_align=16) for _ in range(2)]
    cute.compile(kernel(), *pointers, variant)
    (path,) = Path(folder).glob("*.ptx")
    found[variant] = len(re.findall(r"elect\\.sync", path.read_text()))
    path.unlink()
print(json.dumps(found))
"""


def asked(code, folder):
    """The JSON that the program prints last; the DSL reads a kernel's source, so it is a file."""
    (folder / "asked.py").write_text(code)
    env = {**os.environ, "CUTE_DSL_ARCH": "sm_90a", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(folder / "asked.py")]
    child = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout.splitlines()[-1])


def test_which_promises_the_dsl_checks(tmp_path):
    """LC260: where a promise is made it is checked, where it is not renewed it is not."""
    assert asked(ALIGNMENT, tmp_path) == {
        "from_dlpack promises": "RuntimeError",
        "make_ptr promises": "AssertionError",
        "compiled, tensor that promises nothing": "taken",
        "compiled for a fake, tensor that promises nothing": "taken",
        "compiled, pointer that promises less": "taken",
        "compiled, address promised inside": "taken",
    }


def test_which_tma_copies_elect_their_own_thread(tmp_path):
    """LC263: loads and reductions do, and once more under `elect_one`; stores do not."""
    assert asked(ELECTION, tmp_path) == {
        "load warp": 1,
        "load tidx": 1,
        "load elect": 2,
        "store warp": 0,
        "store tidx": 0,
        "store elect": 1,
        "reduce warp": 1,
        "reduce tidx": 1,
        "reduce elect": 2,
    }
