"""Registers a thread of each kernel in a cubin, read from the ELF file itself: no GPU, no CUDA tools.

The section `.nv.info` is a list of attributes, each `format:u8 attribute:u8 size:u16 data`; EIATTR_REGCOUNT
(0x2f) holds a symbol's index and its register count (layout as `cuobjdump --dump-elf` prints it).
"""

from __future__ import annotations

import struct

from layoutcheck.errors import InputError

_REGCOUNT = 0x2F
_SIZED = 0x04  # the format whose u16 is a size; in the others it is the value
_FUNCTION = 2  # ELF symbol type


def registers(cubin: bytes) -> dict[str, int]:
    """{kernel: registers a thread}; InputError where `cubin` is no CUDA ELF file."""
    try:
        sections = _sections(cubin)
        symbols = _symbols(cubin, sections)
        counts = dict(_counts(cubin, *sections[".nv.info"][:2]))
    except (struct.error, KeyError, IndexError, ValueError) as error:
        raise InputError(f"no cubin: {error!r}", expected="an ELF file with a .nv.info section") from None
    return {symbols[index]: count for index, count in counts.items() if index in symbols}


def _sections(data: bytes) -> dict[str, tuple[int, int, int]]:
    """{name: (offset, size, link)} of a 64-bit little-endian ELF file."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQII", data, table + i * size) for i in range(count)]
    names = headers[names_at][4]
    found = {}
    for header in headers:
        start = names + header[0]
        name = data[start : data.index(b"\0", start)].decode("ascii", "replace")
        found[name] = (header[4], header[5], header[6])
    return found


def _symbols(data: bytes, sections: dict[str, tuple[int, int, int]]) -> dict[int, str]:
    """{index: name} of the functions."""
    offset, size, _ = sections[".symtab"]
    names, _, _ = sections[".strtab"]
    found = {}
    for index in range(size // 24):
        name, info = struct.unpack_from("<IB", data, offset + 24 * index)
        if info & 0xF == _FUNCTION:
            start = names + name
            found[index] = data[start : data.index(b"\0", start)].decode("ascii", "replace")
    return found


def _counts(data: bytes, offset: int, size: int) -> list[tuple[int, int]]:
    """(symbol, registers) pairs of .nv.info."""
    at, end, found = offset, offset + size, []
    while at + 4 <= end:
        form, attribute, length = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == _SIZED:
            if attribute == _REGCOUNT:
                symbol, count = struct.unpack_from("<II", data, at)
                found.append((symbol, count))
            at += length
    return found
