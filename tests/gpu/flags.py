"""What hands data from one block to another by a flag? `python tests/gpu/flags.py FILE`.

Pairs of blocks: 32 lanes of the first store a turn's number to a line each, meet, and one lane sets a flag to
it. One lane of the second waits for the flag, then all lanes meet and load the lines, which their L1 has from
the turn before. Counted are loads that bring an earlier number, and waits that were given up. It needs the
driver and nothing else.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import sys
from pathlib import Path
from typing import Any

PAIRS, TURNS, PITCH_BYTES, SPINS = 60, 4000, 4224, 1 << 13
BYTES = 64 * PITCH_BYTES  # of a pair: 32 lines, the flag, the answer, and its counts
SETS = {
    "weak": "st.global.u32",
    "relaxed": "st.relaxed.gpu.global.u32",
    "release": "st.release.gpu.global.u32",
}
WAITS = {
    "weak": "ld.global.u32",
    "relaxed": "ld.relaxed.gpu.global.u32",
    "acquire": "ld.acquire.gpu.global.u32",
}
FENCE = "fence.acq_rel.gpu;"
PTX = r"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry pass(.param .u64 out)
{
 .reg .u32 b,l,r,i,v,x,k,bad,never; .reg .u64 o,line,off; .reg .pred p,q,lead;
 ld.param.u64 o,[out]; mov.u32 b,%ctaid.x; mov.u32 l,%tid.x;
 and.b32 r,b,1; shr.u32 b,b,1; mul.wide.u32 off,b,@BYTES; add.u64 o,o,off;
 mul.wide.u32 off,l,@PITCH; add.u64 line,o,off;
 setp.eq.u32 lead,l,0; setp.eq.u32 q,r,1; mov.u32 i,1; mov.u32 bad,0; mov.u32 never,0;
 @q bra READER;
WRITER:
 st.global.u32 [line],i;
 bar.warp.sync 0xffffffff;
 @!lead bra WROTE;
 @RELEASES
 @SETS [o+@FLAG],i;
 mov.u32 k,0;
ANSWERED: ld.acquire.gpu.global.u32 x,[o+@ANSWER]; add.u32 k,k,1;
 setp.lt.u32 p,x,i; setp.lt.and.u32 p,k,@MORE,p; @p bra ANSWERED;
WROTE: bar.warp.sync 0xffffffff;
 add.u32 i,i,1; setp.le.u32 p,i,@TURNS; @p bra WRITER; ret;
READER:
 @!lead bra CAME;
 mov.u32 k,0;
LOOK: @WAITS x,[o+@FLAG]; add.u32 k,k,1;
 setp.lt.u32 p,x,i; setp.lt.and.u32 p,k,@SPINS,p; @p bra LOOK;
 setp.lt.u32 p,x,i; @p add.u32 never,never,1;
 @ACQUIRES
CAME: bar.warp.sync 0xffffffff;
 ld.global.u32 v,[line]; setp.lt.u32 p,v,i; @p add.u32 bad,bad,1;
 bar.warp.sync 0xffffffff;
 @lead st.release.gpu.global.u32 [o+@ANSWER],i;
 add.u32 i,i,1; setp.le.u32 p,i,@TURNS; @p bra READER;
 red.global.add.u32 [o+@COUNTS],bad; @lead red.global.add.u32 [o+@COUNTS+4],never; ret;
}
"""


def program(sets: str, behind: bool, waits: str, before: bool) -> str:
    """The PTX whose flag is set and waited for so; with a fence before the store, behind the load."""
    words = {
        "@SETS": SETS[sets], "@WAITS": WAITS[waits], "@RELEASES": FENCE * behind, "@ACQUIRES": FENCE * before,
        "@BYTES": BYTES, "@PITCH": PITCH_BYTES, "@TURNS": TURNS, "@SPINS": SPINS, "@MORE": 64 * SPINS,
        "@FLAG": 40 * PITCH_BYTES, "@ANSWER": 44 * PITCH_BYTES, "@COUNTS": 48 * PITCH_BYTES,
    }  # fmt: skip
    text = PTX
    for name, value in words.items():
        text = text.replace(name, str(value))
    return text


def run(cuda: ctypes.CDLL, text: str) -> tuple[int, int]:
    """Loads that brought an earlier number, and waits that were given up, of all pairs."""

    def call(function: str, *given: Any) -> None:
        error = getattr(cuda, function)(*given)
        if error:
            raise RuntimeError(f"{function}: error {error} of the driver")

    module, kernel, buffer = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cuModuleLoadData", ctypes.byref(module), text.encode())
    call("cuModuleGetFunction", ctypes.byref(kernel), module, b"pass")
    call("cuMemAlloc_v2", ctypes.byref(buffer), ctypes.c_size_t(BYTES * PAIRS))
    call("cuMemsetD8_v2", buffer, 0, ctypes.c_size_t(BYTES * PAIRS))
    given = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.pointer(buffer), ctypes.c_void_p))
    call("cuLaunchKernel", kernel, 2 * PAIRS, 1, 1, 32, 1, 1, 0, None, given, None)
    call("cuCtxSynchronize")
    host = ctypes.create_string_buffer(BYTES * PAIRS)
    call("cuMemcpyDtoH_v2", host, buffer, ctypes.c_size_t(len(host.raw)))
    call("cuMemFree_v2", buffer)
    call("cuModuleUnload", module)
    at = [BYTES * pair + 48 * PITCH_BYTES for pair in range(PAIRS)]
    counts = [[int.from_bytes(host.raw[a + d : a + d + 4], "little") for d in (0, 4)] for a in at]
    return sum(bad for bad, _ in counts), sum(never for _, never in counts)


def main() -> None:
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context, name = ctypes.c_int(), ctypes.c_void_p(), ctypes.create_string_buffer(64)
    for error in (
        cuda.cuInit(0),
        cuda.cuDeviceGet(ctypes.byref(device), 0),
        cuda.cuDeviceGetName(name, 64, device),
        cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device),
        cuda.cuCtxSetCurrent(context),
    ):
        if error:
            raise RuntimeError(f"error {error} of the driver")
    rows = []
    for sets, behind, waits, before in itertools.product(SETS, (False, True), WAITS, (False, True)):
        old, given_up = run(cuda, program(sets, behind, waits, before))
        rows.append(
            {
                "store": sets,
                "fence_before": behind,
                "load": waits,
                "fence_behind": before,
                "loads": 32 * PAIRS * TURNS,
                "old": old,
                "waits": PAIRS * TURNS,
                "given_up": given_up,
            }
        )
        print(rows[-1], flush=True)
    Path(sys.argv[1]).write_text(json.dumps({"device": name.value.decode(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
