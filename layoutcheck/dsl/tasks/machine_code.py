"""What the DSL's cubin says of a kernel: its registers, and in how many rounds its loop waits for loads.

ptxas mixes the loads of a tile with the stores of what they brought, to need fewer registers. A store waits
for its loads, and the loads behind it begin only then: PTX does not show that, the machine code does. It
unrolls loops too, so that one turn takes several tiles: how many, its loads say.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

_REGISTERS = 0x2F
"""The attribute of `.nv.info` that holds a kernel's registers (EIATTR_REGCOUNT, as cuobjdump names it)."""
_SIZED = 4
"""The format of attributes that are followed by as many bytes as they say."""
_BYTES = 16
"""Of an instruction."""
_ASYNC, _ALWAYS = 0xFAE, 0x7
"""`LDGSTS`, which is cp.async, and the guard of what is under no predicate: bits 12 to 15."""
_NAMES = {0x981: "LDG", 0x388: "STS", 0x988: "STS", 0x986: "STG", 0x947: "BRA"}
"""The lowest 12 bits of sm_90's instructions, as nvdisasm 13.0 names them."""


def registers(cubin: bytes) -> int:
    """Of the kernel of an ELF file, by its section `.nv.info`; 0 where that does not say."""
    for name, content in _sections(cubin):
        if name == b".nv.info":
            return _attribute(content)
    return 0


def rounds(cubin: bytes) -> tuple[float, int]:
    """How many latencies of memory a thread of sm_90 waits in a turn of the loop over tiles, and its loads.

    (1, 0) where it loads or stores nothing. Loads and stores are issued in order. The first of n stores needs
    the first n-th of the loads, and so on.
    """
    code = next((content for name, content in _sections(cubin) if name.startswith(b".text.")), b"")
    loop = _loop(code)
    kind = "STS" if "STS" in loop else "STG"
    loads, stores = loop.count("LDG"), loop.count(kind)
    if not loads or not stores:
        return 1.0, 0
    first = loop.index("LDG")
    issued: list[float] = []
    now, stored = 0.0, 0
    for name in (*loop[first:], *loop[:first]):
        if name == "LDG":
            issued.append(now)
        elif name == kind:
            stored += 1
            needed = min(-(-stored * loads // stores), len(issued))
            now = max(now, issued[needed - 1] + 1)
    return now, loads


def guarded(cubin: bytes) -> bool:
    """Whether a cp.async stands under a predicate of its own: ncu counts its wavefronts in another way."""
    code = next((content for name, content in _sections(cubin) if name.startswith(b".text.")), b"")
    words = (struct.unpack_from("<Q", code, at)[0] for at in range(0, len(code), _BYTES))
    return any(low & 0xFFF == _ASYNC and low >> 12 & 0xF != _ALWAYS for low in words)


def _loop(code: bytes) -> Sequence[str]:
    """The names of the longest loop with loads or stores, "" of what has none; of all code without a loop."""
    words = [struct.unpack_from("<QQ", code, at) for at in range(0, len(code), _BYTES)]
    names = [_NAMES.get(low & 0xFFF, "") for low, _ in words]
    loops = []
    for at, (low, high) in enumerate(words):
        if names[at] == "BRA":
            first = at + 1 + _distance(low, high) // _BYTES
            if 0 <= first < at and {"LDG", "STS", "STG"} & set(names[first:at]):
                loops.append(names[first:at])
    return max(loops, key=len, default=names)


def _distance(low: int, high: int) -> int:
    """Bytes from behind a branch to its target, in units of 4: bits 16 to 23, then 34 to 81."""
    upper = low >> 34 | (high & (1 << 18) - 1) << 30
    upper -= (upper >> 47) << 48
    return 4 * (upper << 8 | low >> 16 & 0xFF)


def _sections(cubin: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Names and contents of an ELF file's sections."""
    start = struct.unpack_from("<Q", cubin, 40)[0]
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    sections = [struct.unpack_from("<IIQQQQ", cubin, start + n * size) for n in range(count)]
    for name, _, _, _, offset, length in sections:
        at = sections[names][4] + name
        yield cubin[at : cubin.index(b"\0", at)], cubin[offset : offset + length]


def _attribute(info: bytes) -> int:
    at = 0
    while at < len(info):
        form, name, length = struct.unpack_from("<BBH", info, at)
        if name == _REGISTERS:
            return int(struct.unpack_from("<II", info, at + 4)[1])
        at += 4 + (length if form == _SIZED else 0)
    return 0
