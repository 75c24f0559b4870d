"""What an ELF file of CUDA holds, without CUDA tools: its sections, and the registers of its kernels."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from layoutcheck.errors import InputError

_REGCOUNT = 0x2F
_SIZED = 0x04  # the format whose u16 is a size; in the others it is the value
_FUNCTION = 2  # ELF symbol type


def registers(cubin: bytes) -> dict[str, int]:
    """{kernel: registers a thread} of a cubin; InputError where it is no CUDA ELF file.

    The section `.nv.info` is a list of attributes, each `format:u8 attribute:u8 size:u16 data`;
    EIATTR_REGCOUNT (0x2f) holds a symbol's index and its register count (layout as `cuobjdump --dump-elf`
    prints it).
    """
    try:
        found = dict(sections(cubin))
        symbols = _functions(found[".symtab"], found[".strtab"])
        counts = dict(_counts(found[".nv.info"]))
    except (struct.error, KeyError, IndexError, ValueError) as error:
        raise InputError(f"no cubin: {error!r}", expected="an ELF file with a .nv.info section") from None
    return {symbols[index]: count for index, count in counts.items() if index in symbols}


def sections(cubin: bytes) -> Iterator[tuple[str, bytes]]:
    """The names and contents of its sections. Raises ValueError for what is no 64-bit ELF file."""
    if cubin[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + i * size) for i in range(count)]
    for name, _, _, _, offset, length in headers:
        yield _text(cubin, headers[names][4] + name), cubin[offset : offset + length]


def _text(data: bytes, at: int) -> str:
    """The string that begins there."""
    return data[at : data.index(b"\0", at)].decode("ascii", "replace")


def _functions(symbols: bytes, names: bytes) -> dict[int, str]:
    """{index: name} of the functions in a symbol table."""
    entries = (struct.unpack_from("<IB", symbols, at) for at in range(0, len(symbols) // 24 * 24, 24))
    return {i: _text(names, name) for i, (name, info) in enumerate(entries) if info & 0xF == _FUNCTION}


def _counts(info: bytes) -> Iterator[tuple[int, int]]:
    """(symbol, registers) pairs of `.nv.info`."""
    at = 0
    while at + 4 <= len(info):
        form, attribute, length = struct.unpack_from("<BBH", info, at)
        at += 4
        if form == _SIZED:
            if attribute == _REGCOUNT:
                symbol, count = struct.unpack_from("<II", info, at)
                yield symbol, count
            at += length
