"""A disagreement as a Python file of its own: the copy as text, and the run that shows it."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError
from layoutcheck.sources.request import build
from layoutcheck.whole import write_whole

_UNSAFE = re.compile(r"[^\w.-]+")


def arguments(copy: Copy) -> dict[str, Any]:
    """The arguments of `sources.request.build` that make this copy, but for what was recast from what."""
    tiling = copy.tiling
    moved = copy.tiled if copy.tiled is not None else copy.atom
    given = {
        "src": str(copy.whole("src")),
        "dst": str(copy.whole("dst")),
        "atom": None if tiling or moved is None else str(moved),
        "tiled": str(tiling.tiled) if tiling else None,
        "block": tiling.block_threads if tiling else copy.issue.threads if copy.issue else None,
        "expect_bytes": copy.issue.expect_bytes if copy.issue else None,
        **_cluster(copy),
        "pred": None if copy.pred is None else str(copy.pred),
        "op": None if copy.op == "copy" else copy.op,
        "arch": copy.arch,
        "evict_priority": copy.evict_priority or None,
    }
    return {name: value for name, value in given.items() if value is not None}


def _cluster(copy: Copy) -> dict[str, Any]:
    """The cluster of a copy between blocks."""
    if copy.cluster is None:
        return {}
    said = asdict(copy.cluster)
    return {"cluster": said.pop("blocks"), **said}


def script(name: str, copy: Copy) -> str:
    """The file's text. Run, it confirms the one copy and exits 1 where model and machine still disagree."""
    given = arguments(copy)
    lines = [
        f'"""layoutcheck and the machine disagree about this copy: {_plain(name)}.',
        "",
        "Run it where layoutcheck[dsl] is installed; without a GPU the simulator runs it.",
        '"""',
        "",
        *_imports(copy, given),
        "",
        "copy, _ = build(",
        *(f"    {key}={value!r}," for key, value in given.items()),
        ")",
        *_remainder(copy, given),
        "",
        'if __name__ == "__main__":',
        f"    (found,), machine = confirm([({_plain(name)!r}, copy)])",
        "    print(machine)",
        "    print(found)",
        "    raise SystemExit(int(found.disagrees))",
    ]
    return "\n".join(lines) + "\n"


def write(folder: Path, name: str, copy: Copy) -> Path:
    """Write the script into `folder` and say where it is. Raises InputError where it cannot be written."""
    path = folder / f"layoutcheck-{_UNSAFE.sub('-', name)[:80].strip('-.') or 'copy'}.py"
    try:
        write_whole(path, script(name, copy).encode("utf-8"))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    return path


def _plain(name: str) -> str:
    return "".join(c for c in name if c.isprintable() and c not in "\\\"'")[:200]


def _imports(copy: Copy, given: dict[str, Any]) -> list[str]:
    more = bool(_remainder(copy, given))
    return [
        *(["from dataclasses import replace", ""] if more else []),
        "from layoutcheck.gpu.confirm import confirm",
        "from layoutcheck.sources.request import build",
        *(["from layoutcheck.sources.types import parse_memref"] if more else []),
    ]


def _remainder(copy: Copy, given: dict[str, Any]) -> list[str]:
    """What the arguments do not say: views that are no plain partition, and what tensors were recast from."""
    if build(**given)[0] == copy:
        return []
    views = ", ".join(f"{side}={_memref(copy.side(side))}" for side in ("src", "dst"))
    lines = [f"copy = replace(copy, {views})"]
    if copy.tiling is not None:
        tiles = ", ".join(f"{side}={_memref(copy.tiling.side(side))}" for side in ("src", "dst"))
        lines.append(f"copy = replace(copy, tiling=replace(copy.tiling, {tiles}))")
    if copy.tiled is None:
        lines.append("copy = replace(copy, tiled=None)")
    return lines


def _memref(memref: Memref) -> str:
    """An expression for a tensor."""
    text = f"parse_memref({str(memref)!r})"
    more = "" if memref.spare is None else f", spare={memref.spare}"
    if memref.recast_from is not None:
        more += f", recast_from={_memref(memref.recast_from)}"
    return f"replace({text}{more})" if more else text
