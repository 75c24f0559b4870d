"""Does a block reach a peer's shared memory before the peer has begun? `python tests/gpu/peer_begun.py FILE`.

Clusters of two blocks. One stores to (loads from, adds to) the other's shared memory as its first action.
Both note %globaltimer when they begin, the first also when its access is over. The other waits for what was
stored, at once or after a sleep. Blocks are small, or fill half of an SM or all of it, and half of the SMs
may be busy with another kernel. It needs the driver and nothing else.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import struct
import sys
from pathlib import Path
from typing import Any

CLUSTERS = 20_000
SIZES = (1024, 110 * 1024, 220 * 1024)  # bytes of shared memory of a block
ACCESSES = (("st", 0), ("st", 20_000), ("ld", 0), ("atom", 0))  # and how many ns the peer sleeps
_MODES = {"st": 0, "ld": 1, "atom": 2}
_MOST_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_RECORD = struct.Struct(
    "<QQQII"
)  # began, was done, the peer began, whether it saw the store, how often it looked
PTX = r"""
.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 sm[];
.visible .entry spin(.param .u64 out, .param .u32 us)
{
 .reg .u64 t,e,d; .reg .u32 u; .reg .pred p;
 ld.param.u32 u,[us]; mul.wide.u32 d,u,1000; mov.u64 t,%globaltimer; add.u64 e,t,d;
L: mov.u64 t,%globaltimer; setp.lt.u64 p,t,e; @p bra L; ret;
}
.visible .entry early(
 .param .u64 out, .param .u32 nonce, .param .u32 slow, .param .u32 writer, .param .u32 mode)
.explicitcluster .reqnctapercluster 2,1,1
{
 .reg .u32 r,v,w,a,b,x,k,i,tid,m,ok,n; .reg .u64 o,t,u,off; .reg .pred p,q;
 mov.u64 t,%globaltimer;
 mov.u32 tid,%tid.x; setp.ne.u32 p,tid,0; @p bra DONE;
 mov.u32 r,%cluster_ctarank; ld.param.u32 w,[writer]; ld.param.u32 n,[nonce]; ld.param.u32 m,[mode];
 mov.u32 k,%ctaid.x; shr.u32 k,k,1; add.u32 v,k,n;
 ld.param.u64 o,[out]; mul.wide.u32 off,k,32; add.u64 o,o,off;
 mov.u32 a,sm; setp.ne.u32 p,r,w; @p bra READER;
 xor.b32 x,r,1; mapa.shared::cluster.u32 b,a,x;
 setp.eq.u32 q,m,1; @q bra LOADS;
 setp.eq.u32 q,m,2; @q bra ADDS;
 st.shared::cluster.u32 [b],v; bra WROTE;
LOADS: ld.shared::cluster.u32 x,[b]; st.shared.u32 [a+4],x; bra WROTE;
ADDS: atom.shared::cluster.add.u32 x,[b+8],1;
WROTE: mov.u64 u,%globaltimer; st.global.u64 [o],t; st.global.u64 [o+8],u; bra DONE;
READER: st.global.u64 [o+16],t;
 ld.param.u32 x,[slow]; setp.eq.u32 p,x,0; @p bra GO; nanosleep.u32 x;
GO: mov.u32 ok,0; mov.u32 i,0;
 setp.ne.u32 q,m,0; @q bra OVER;
L2: ld.volatile.shared.u32 x,[a]; setp.eq.u32 p,x,v; selp.u32 ok,1,0,p; @p bra OVER;
 add.u32 i,i,1; setp.lt.u32 p,i,200000; @p bra L2;
OVER: st.global.u32 [o+24],ok; st.global.u32 [o+28],i;
DONE: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;
}
"""


class Driver:
    """The driver, with both kernels loaded."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, self.buffer, module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        context, name = ctypes.c_void_p(), ctypes.create_string_buffer(64)
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDeviceGetName", name, 64, device)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuModuleLoadData", ctypes.byref(module), PTX.encode())
        self.call("cuMemAlloc_v2", ctypes.byref(self.buffer), ctypes.c_size_t(_RECORD.size * CLUSTERS))
        self.device, self.streams, self.kernels = name.value.decode(), [], {}
        for kernel in ("spin", "early"):
            self.kernels[kernel] = found = ctypes.c_void_p()
            self.call("cuModuleGetFunction", ctypes.byref(found), module, kernel.encode())
            self.call("cuFuncSetAttribute", found, _MOST_SHARED, max(SIZES))
            self.streams.append(ctypes.c_void_p())
            self.call("cuStreamCreate", ctypes.byref(self.streams[-1]), 1)

    def call(self, function: str, *given: Any) -> None:
        error = getattr(self.cuda, function)(*given)
        if error:
            raise RuntimeError(f"{function}: error {error} of the driver")

    def launch(self, kernel: str, blocks: int, shared: int, stream: int, *numbers: int) -> None:
        values = [self.buffer, *(ctypes.c_uint32(one) for one in numbers)]
        given = [ctypes.cast(ctypes.pointer(one), ctypes.c_void_p) for one in values]
        at = (ctypes.c_void_p * len(given))(*given)
        shape = (blocks, 1, 1, 32, 1, 1, shared)
        self.call("cuLaunchKernel", self.kernels[kernel], *shape, self.streams[stream], at, None)

    def records(self) -> list[tuple[int, int, int, int, int]]:
        self.call("cuCtxSynchronize")
        host = ctypes.create_string_buffer(_RECORD.size * CLUSTERS)
        self.call("cuMemcpyDtoH_v2", host, self.buffer, ctypes.c_size_t(len(host.raw)))
        return list(_RECORD.iter_unpack(host.raw))


def counted(
    driver: Driver, nonce: int, size: int, busy: int, access: str, sleep: int, rank: int
) -> dict[str, Any]:
    """What became of the accesses of the blocks of `rank`."""
    driver.call("cuMemsetD8_v2", driver.buffer, 0, ctypes.c_size_t(_RECORD.size * CLUSTERS))
    if busy:
        driver.launch("spin", 66, max(SIZES), 0, 3000)
    driver.launch("early", 2 * CLUSTERS, size, 1, nonce, sleep, rank, _MODES[access])
    rows = driver.records()
    return {
        "smem": size, "busy": busy, "access": access, "peer_sleeps_ns": sleep, "writer_rank": rank,
        "clusters": CLUSTERS,
        "writer_began_first": sum(began < peer for began, _, peer, _, _ in rows),
        "done_before_peer_began": sum(done < peer for _, done, peer, _, _ in rows),
        "lost": sum(not seen for _, _, _, seen, _ in rows) if access == "st" else 0,
    }  # fmt: skip


def main() -> None:
    driver, rows = Driver(), []
    every = itertools.product(SIZES, (0, 1), ACCESSES, (0, 1))
    for number, (size, busy, (access, sleep), rank) in enumerate(every, 1):
        rows.append(counted(driver, 1_000_003 * number, size, busy, access, sleep, rank))
        print(rows[-1], flush=True)
    Path(sys.argv[1]).write_text(json.dumps({"device": driver.device, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
