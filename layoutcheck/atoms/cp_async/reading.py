"""`!cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>`; short `cp.async`, `cp.async.cg`."""

from __future__ import annotations

from layoutcheck.algebra.notation import Scanner
from layoutcheck.atoms.cp_async import CACHE_MODES, CpAsync
from layoutcheck.atoms.reading import Reading, Short, close, read_dtype, value, width
from layoutcheck.copies.atom import Atom


def _read(scan: Scanner, _name: str) -> Atom:
    element = read_dtype(scan)
    scan.expect(",")
    start = scan.pos
    cache = value(scan, "cache")
    if cache not in CACHE_MODES:
        raise scan.error(f"unknown cache mode '{cache}'", " or ".join(CACHE_MODES), start=start)
    scan.expect(",")
    bits = width(scan)
    close(scan)
    return CpAsync(element, bits, cache)


def _build(short: Short) -> Atom | None:
    cache = _cache_mode(short.rest)
    if cache is None:
        return None
    return CpAsync(short.element, 128 if short.width_bits is None else short.width_bits, cache)


def _cache_mode(options: tuple[str, ...]) -> str | None:
    """CuTe's name of the cache mode or PTX's (`ca`, `cg`); "always" is the DSL's default."""
    modes = {"ca": "always", "cg": "global", **{mode: mode for mode in CACHE_MODES}}
    if not options:
        return "always"
    return modes.get(options[0]) if len(options) == 1 else None


READING = Reading(
    since=80,
    readers={"simt_async_copy": _read},
    names=("cp.async",),
    build=_build,
    shown=("cp.async", "cp.async.cg"),
    classes={"copyg2sop": "cp.async"},
)
