"""Which operations of a traced module keep a name through the lowering, and a place in the user's source.

An operation's tag is its name and its number among those of that name, in the order of the text:
"cute.copy#3" is the fourth `cute.copy`. A shared allocation has its first byte: "smem@96".
"""

from __future__ import annotations

import re

# Operations that move memory or order it, and those of lower dialects that a user may have written himself.
TAGGED = re.compile(
    r"cute\.(?:copy|copy_atom_call|gemm|mma_atom_call|mma\.make_fragment|prefetch|atomic\w*|"
    r"memref\.(?:load|store|load_vec|store_vec))\Z"
    r"|cute_nvgpu\.(?:copy|bulk|.*tma|arch\.sm100\.\w*tmem|arch\.make_warp_uniform)\w*"
    r"|llvm\.(?:inline_asm|load|store|atomicrmw|cmpxchg|fence)\Z"
    r"|nvvm\.(?:ldmatrix|stmatrix|cp\.|tcgen05|st\.|ld\.|red|load|store|atomic|bar|mbarrier|fence|membar|memory|"
    r"cluster\.|clusterlaunchcontrol\.try|elect|wgmma|setmaxregister|inline_ptx|(?:shfl|vote|match)\.sync)"
)

SHARED_SIZE = "layoutcheck.shared_bytes"
"""An attribute of a kernel: the bytes that the compiler counts for its shared allocations."""
