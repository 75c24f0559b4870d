"""`!cute_nvgpu.atom.ldsm<...>` and `stsm<...>`; short `ldmatrix.x4.trans`, `stmatrix.x2`."""

from __future__ import annotations

import re

from layoutcheck.algebra.notation import Scanner
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.atoms.reading import NAME, NUMBER, Reading, Short, close, read_dtype, value
from layoutcheck.copies.atom import Atom

_MODE = re.compile(r'<\s*"\s*\(\s*([0-9]{1,4})\s*,\s*([0-9]{1,4})\s*\)\s*"\s*>')


def _mode(scan: Scanner) -> tuple[int, int]:
    scan.expect("mode", "'mode = <\"(8,8)\">'")
    scan.expect("=")
    found = scan.need("not a matrix shape", 'a shape such as <"(8,8)">', _MODE)
    return int(found[1]), int(found[2])


def _matrices(scan: Scanner) -> tuple[int, bool]:
    scan.expect("num_matrices", "'num_matrices = N'")
    scan.expect("=")
    count = scan.need("not a number of matrices", "1, 2 or 4", NUMBER)
    scan.expect(",")
    letter = scan.match(NAME)
    if letter is None or letter[0] not in ("n", "t"):
        raise scan.error("neither plain nor transposed", "'n' or 't'")
    return int(count[0]), letter[0] == "t"


def _read(scan: Scanner, name: str) -> Atom:
    if scan.accept("val_type"):
        scan.expect("=")
    element = read_dtype(scan)
    scan.expect(",")
    mode = _mode(scan)
    scan.expect(",")
    pattern = ""
    if name == "ldsm":
        pattern = value(scan, "sz_pattern")
        scan.expect(",")
    count, transpose = _matrices(scan)
    close(scan)
    if name == "ldsm":
        return LdMatrix(element, count, transpose, mode, pattern)
    return StMatrix(element, count, transpose, mode)


def _build(short: Short) -> Atom | None:
    if any(option not in ("x1", "x2", "x4", "t", "trans", "n") for option in short.options):
        return None
    counts = [int(option[1]) for option in short.rest if option in ("x1", "x2", "x4")]
    transpose = any(option in ("t", "trans") for option in short.rest)
    matrix = LdMatrix if short.family == "ldmatrix" else StMatrix
    return matrix(short.element, counts[0] if counts else 4, transpose)


READING = Reading(
    since=75,
    readers={"ldsm": _read, "stsm": _read},
    names=("ldmatrix", "stmatrix"),
    build=_build,
    shown=("ldmatrix.x4.trans", "stmatrix.x2"),
)
