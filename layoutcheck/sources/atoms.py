"""Copy atoms from text: as the compiler prints them, and by the short names of the command line.

    !cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>      printed by the DSL
    cp.async   cp.async.cg   universal   auto   g2r   ldmatrix.x4.trans   stmatrix.x2

An atom whose family is not modelled, or with an attribute that is not, becomes an `OtherAtom` that keeps its
text. All functions raise InputError with the place in the text.
"""

from __future__ import annotations

import re

from layoutcheck.algebra.notation import Scanner
from layoutcheck.errors import InputError
from layoutcheck.machine.atoms import (
    Atom,
    CpAsync,
    LdMatrix,
    OtherAtom,
    RegisterCopy,
    StMatrix,
    UniversalCopy,
)
from layoutcheck.machine.atoms.cp_async import CACHE_MODES
from layoutcheck.machine.atoms.register import KINDS
from layoutcheck.machine.dtypes import KNOWN, DType, dtype
from layoutcheck.sources.balanced import span_end

PREFIX = "!cute_nvgpu.atom."
NAMES = "universal, auto, cp.async, cp.async.cg, g2r, r2g, s2r, r2s, ldmatrix.x4.trans, stmatrix.x2"

_NAME = re.compile(r"[A-Za-z_]\w*")
_WORD = re.compile(r"[A-Za-z_][\w.]*")
_WIDTH = re.compile(r"(\d{1,9})\s*b(?!\w)")
_NUMBER = re.compile(r"\d{1,9}")
_MODE = re.compile(r'<\s*"\s*\(\s*(\d{1,4})\s*,\s*(\d{1,4})\s*\)\s*"\s*>')
_ATTRIBUTE = re.compile(r",?\s*[A-Za-z_]\w*\s*=")

# The DSL's Python classes, for atoms copied out of source code.
_CLASSES = {
    "copyuniversalop": "universal", "copyg2sop": "cp.async", "copyg2rop": "g2r", "copyr2gop": "r2g",
    "copys2rop": "s2r", "copyr2sop": "r2s",
}  # fmt: skip


class _UnknownAttribute(Exception):
    """Internal: the atom is well formed and has an attribute that its family's model lacks."""


def parse_atom(text: str, element: DType | None = None, bits: int | None = None) -> Atom:
    """A printed atom, or a short name given its element type and width in bits.

    `element` and `bits` are used by short names only; `bits` None means the DSL's default (auto) for
    universal copies and the widest instruction for the others.
    """
    scan = Scanner(text)
    if not scan.peek("!"):
        return named_atom(text, element, bits)
    atom = read_atom(scan)
    scan.finish("the atom")
    return atom


def read_atom(scan: Scanner) -> Atom:
    """The printed atom at the scanner's place."""
    scan.skip()
    start = scan.pos
    scan.expect(PREFIX, f"a copy atom, '{PREFIX}...'")
    name = scan.match(_NAME)
    if name is None:
        raise scan.error("an atom without a name", "universal_copy, simt_async_copy, ldsm, ...")
    if not scan.peek("<"):
        raise scan.error("unexpected text after the atom's name", "'<'")
    end = span_end(scan.text, scan.pos)
    inner = Scanner(scan.text, scan.pos + 1)
    scan.pos = end
    reader = _READERS.get(name[0])
    whole = scan.text[start:end]
    if reader is None:
        return OtherAtom(name[0], " ".join(whole.split()))
    try:
        atom = reader(inner, name[0])
    except _UnknownAttribute:
        return OtherAtom(name[0], " ".join(whole.split()))
    if inner.pos != end:
        raise inner.error("unexpected text in the atom", "'>'")
    return atom


def read_dtype(scan: Scanner) -> DType:
    """The element type at the scanner's place."""
    scan.skip()
    start = scan.pos
    name = scan.match(_WORD)
    if name is None:
        raise scan.error("no element type", KNOWN)
    try:
        return dtype(name[0])
    except InputError as error:
        raise error.within(scan.text, start) from None


def _close(scan: Scanner) -> None:
    """The end of an atom; an attribute that is not modelled makes it an OtherAtom."""
    if scan.accept(">"):
        return
    if _ATTRIBUTE.match(scan.text, scan.pos):
        raise _UnknownAttribute
    raise scan.error("unexpected text in the atom", "'>'")


def _width(scan: Scanner) -> int:
    found = scan.match(_WIDTH)
    if found is None:
        raise scan.error("not a width", "a width in bits such as '128 b'")
    return int(found[1])


def _value(scan: Scanner, key: str) -> str:
    """The value of `key = value`, which must come next."""
    scan.expect(key, f"'{key} = ...'")
    scan.expect("=", f"'=' after {key}")
    found = scan.match(_WORD) or scan.match(_NUMBER)
    if found is None:
        raise scan.error("no value", f"the value of {key}")
    return found[0]


def _universal(scan: Scanner, _name: str) -> Atom:
    element = read_dtype(scan)
    width = 0
    if scan.peek(",") and not _ATTRIBUTE.match(scan.text, scan.pos):
        scan.accept(",")
        width = _width(scan)
    _close(scan)
    return UniversalCopy(element, width)


def _cp_async(scan: Scanner, _name: str) -> Atom:
    element = read_dtype(scan)
    scan.expect(",")
    start = scan.pos
    cache = _value(scan, "cache")
    if cache not in CACHE_MODES:
        raise scan.error(f"unknown cache mode '{cache}'", " or ".join(CACHE_MODES), start=start)
    scan.expect(",")
    width = _width(scan)
    _close(scan)
    return CpAsync(element, width, cache)


def _register(scan: Scanner, name: str) -> Atom:
    element = read_dtype(scan)
    scan.accept(",")
    scan.expect("copy_bits", "'copy_bits = N'")
    scan.expect("=")
    width = scan.match(_NUMBER)
    if width is None:
        raise scan.error("not a width", "a number of bits")
    options: list[tuple[str, str]] = []
    while not scan.accept(">"):
        scan.accept(",")
        key = scan.match(_NAME)
        if key is None:
            raise scan.error("unexpected text in the atom", "'key = value' or '>'")
        scan.expect("=", f"'=' after {key[0]}")
        value = scan.match(_WORD) or scan.match(_NUMBER)
        if value is None:
            raise scan.error("no value", f"the value of {key[0]}")
        options.append((key[0], value[0]))
    return RegisterCopy(name, element, int(width[0]), tuple(options))


def _mode(scan: Scanner) -> tuple[int, int]:
    scan.expect("mode", "'mode = <\"(8,8)\">'")
    scan.expect("=")
    found = scan.match(_MODE)
    if found is None:
        raise scan.error("not a matrix shape", 'a shape such as <"(8,8)">')
    return int(found[1]), int(found[2])


def _matrices(scan: Scanner) -> tuple[int, bool]:
    scan.expect("num_matrices", "'num_matrices = N'")
    scan.expect("=")
    count = scan.match(_NUMBER)
    if count is None:
        raise scan.error("not a number of matrices", "1, 2 or 4")
    scan.expect(",")
    letter = scan.match(_NAME)
    if letter is None or letter[0] not in ("n", "t"):
        raise scan.error("neither plain nor transposed", "'n' or 't'")
    return int(count[0]), letter[0] == "t"


def _ldsm(scan: Scanner, _name: str) -> Atom:
    if scan.accept("val_type"):
        scan.expect("=")
    element = read_dtype(scan)
    scan.expect(",")
    mode = _mode(scan)
    scan.expect(",")
    pattern = _value(scan, "sz_pattern")
    scan.expect(",")
    count, transpose = _matrices(scan)
    _close(scan)
    return LdMatrix(element, count, transpose, mode, pattern)


def _stsm(scan: Scanner, _name: str) -> Atom:
    if scan.accept("val_type"):
        scan.expect("=")
    element = read_dtype(scan)
    scan.expect(",")
    mode = _mode(scan)
    scan.expect(",")
    count, transpose = _matrices(scan)
    _close(scan)
    return StMatrix(element, count, transpose, mode)


_READERS = {
    "universal_copy": _universal,
    "simt_async_copy": _cp_async,
    "ldsm": _ldsm,
    "stsm": _stsm,
    **dict.fromkeys(KINDS, _register),
}


def named_atom(text: str, element: DType | None = None, bits: int | None = None) -> Atom:
    """The atom of a short name: a family, then options after dots (`cp.async.cg`, `ldmatrix.x4.trans`)."""
    name = text.strip().lower()
    name = _CLASSES.get(name, name)
    family, options = _family(name)
    if family is None:
        raise InputError(
            f"unknown atom '{text.strip()[:40]}'",
            text=text,
            start=0,
            end=len(text),
            expected=f"one of {NAMES}, or a printed '{PREFIX}...<...>'",
        )
    if element is None:
        raise InputError(
            f"atom '{text.strip()[:40]}' needs an element type", expected="--dtype, such as bf16"
        )
    widths = [int(option) for option in options if option.isdigit() and len(option) < 9]
    rest = [option for option in options if not option.isdigit()]
    width = widths[0] if widths else bits
    atom: Atom | None = None
    if family in ("universal", "auto"):
        atom = UniversalCopy(element, 0 if family == "auto" else width or 0) if not rest else None
    elif family == "cp.async":
        cache = _cache_mode(rest)
        atom = CpAsync(element, 128 if width is None else width, cache) if cache else None
    elif family in KINDS:
        atom = RegisterCopy(family, element, 128 if width is None else width) if not rest else None
    else:
        counts = [int(option[1]) for option in rest if option in ("x1", "x2", "x4")]
        transpose = any(option in ("t", "trans") for option in rest)
        if all(option in ("x1", "x2", "x4", "t", "trans", "n") for option in rest) and not widths:
            matrix = LdMatrix if family == "ldmatrix" else StMatrix
            atom = matrix(element, counts[0] if counts else 4, transpose)
    if atom is None:
        raise InputError(
            f"unknown option in atom '{text.strip()[:40]}'",
            text=text,
            start=len(text) - len(text.lstrip()) + len(family),
            end=len(text),
            expected=f"one of {NAMES}",
        )
    return atom


def _family(name: str) -> tuple[str | None, list[str]]:
    for family in ("universal", "auto", "cp.async", *KINDS, "ldmatrix", "stmatrix"):
        if name == family or name.startswith(family + "."):
            return family, name[len(family) + 1 :].split(".") if len(name) > len(family) else []
    return None, []


def _cache_mode(options: list[str]) -> str | None:
    """`cp.async`'s cache mode: CuTe's name or PTX's (`ca`, `cg`); "always" is the DSL's default."""
    modes = {"ca": "always", "cg": "global", **{mode: mode for mode in CACHE_MODES}}
    if not options:
        return "always"
    return modes.get(options[0]) if len(options) == 1 else None
