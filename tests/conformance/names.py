"""Which public names and parameters each version of the CuTe DSL has.

    python -m tests.conformance.names --install 4.2.0 4.5.3 4.8.1 --out layoutcheck/catalogue/dsl_names.json
    python -m tests.conformance.names --cuda13 4.4.0 4.5.3 --out layoutcheck/catalogue/dsl_names.json

Each version is imported in processes of its own, from a folder of its own (some 200 MB, deleted afterwards;
`--folder` reads folders that hold one each): once to list its names, once more to try the names of the
others. The file keeps what differs between the versions: a name that all of them have has no row, and
neither has a member of a class, or a name of a module, that came or went with it.

The second command adds which of these names the same version lacks, or has alone, where its extra cu13 is
installed, whose libraries brought Python files of their own from 4.4.0 to 4.5.3.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib
import inspect
import json
import os
import pkgutil
import platform
import re
import subprocess
import sys
import tempfile
import typing
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from layoutcheck.versions import installed, numbers
from tests.conformance.versions import ROOT, install, install_cuda13

# Modules that are for the DSL's makers, or that need more than the DSL: their names are not counted.
LEFT_OUT = ("base_dsl", "cutlass_dsl", "experimental", "jax", "impl_utils", "ffi")
REST = ("args", "kwargs")  # parameters that take any other
IMPLICIT = ("self", "cls", "loc", "ip")
ADVICE = re.compile(r"[Uu]se `{0,2}(?:the )?(?P<name>[A-Za-z_][\w.]*)`{0,2}(?: with [^,]*)? instead")

Names = dict[str, list[str] | None]  # dotted name: its parameters, None of what is not called


def public(dotted: str) -> bool:
    """Whether users reach a module or name, by its own parts."""
    return not any(part.startswith("_") or part in LEFT_OUT for part in dotted.split("."))


def measure(others: Iterable[str] = ()) -> dict[str, Any]:
    """The names of the installed DSL, with what it advises in place of those that it calls deprecated.

    `others`: names of other versions, which a module may answer to though it does not list them.
    """
    warnings.simplefilter("ignore")
    import cutlass
    import cutlass.cute

    names: Names = {}
    advised: dict[str, str] = {}
    walked = pkgutil.walk_packages(cutlass.__path__, "cutlass.", onerror=lambda _: None)
    for module in sorted({"cutlass", *(one.name for one in walked if public(one.name))}):
        with contextlib.suppress(Exception):  # a module that wants a package or a GPU is not counted
            _read(importlib.import_module(module), names, advised)
    names |= {name: None for name in others if name not in names and _answered(name)}
    modules = [name for name in sorted(names) if name in sys.modules]
    return {"dsl": installed(), "modules": modules, "names": names, "advised": advised}


def _answered(dotted: str) -> bool:
    owner, _, name = dotted.rpartition(".")
    try:
        return hasattr(sys.modules[owner] if owner in sys.modules else importlib.import_module(owner), name)
    except Exception:  # a module, or a shim of one, that this version does not have
        return False


def _read(module: Any, names: Names, advised: dict[str, str]) -> None:
    """Add a module's own names, and the members of the classes that it defines."""
    names[module.__name__] = None
    for name, value in inspect.getmembers(module):
        dotted = f"{module.__name__}.{name}"
        home = dotted if getattr(value, "__name__", None) == dotted else getattr(value, "__module__", None)
        if (
            not public(name)
            or (inspect.ismodule(value) and home != dotted)
            or type(value).__module__ == "typing"
        ):
            continue
        if not (
            (isinstance(home, str) and home.startswith("cutlass."))
            or (home is None and name not in vars(typing))
        ):
            continue
        _note(dotted, value, names, advised)
        if inspect.isclass(value) and home == module.__name__:
            for member in filter(public, dir(value)):
                static = inspect.getattr_static(value, member, None)
                _note(f"{dotted}.{member}", getattr(static, "__func__", static), names, advised)


def _note(dotted: str, value: Any, names: Names, advised: dict[str, str]) -> None:
    names[dotted] = _parameters(value) if callable(value) else None
    said = getattr(value, "__deprecated__", None)
    if isinstance(said, str) and (found := ADVICE.search(said)):
        advised[dotted] = found["name"]


def _parameters(value: Any) -> list[str] | None:
    try:
        given = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return None
    return [name for name in given if name not in IMPLICIT]


def history(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What differs between versions, oldest first, as layoutcheck/catalogue/dsl_names.py reads it.

    `since` is "" of what the oldest version has, `until` of what the newest has; for a parameter, of those
    that have the function.
    """
    every = sorted({name for row in rows for name in row["names"]})
    span = {name: _span([name in row["names"] for row in rows], rows) for name in every}
    names: dict[str, dict[str, list[str]]] = {}
    parameters: dict[str, dict[str, list[str]]] = {}
    for name in every:
        owner, _, last = name.rpartition(".")
        if any(span[name]) and span[name] != span.get(owner):
            gone = [_instead(name, rows)] if span[name][1] else []
            names.setdefault(owner, {})[last] = [*span[name], *gone]
        listed = [(row, set(row["names"][name])) for row in rows if row["names"].get(name) is not None]
        for parameter in sorted({one for _, given in listed for one in given} - {*REST}):
            having = [parameter in given or REST[1] in given for _, given in listed]
            spanned = _span(having, [row for row, _ in listed])
            if any(spanned):  # what was away in between only is in the oldest and in the newest
                parameters.setdefault(name, {})[parameter] = list(spanned)
    return {"names": names, "parameters": parameters}


def _span(having: list[bool], rows: list[dict[str, Any]]) -> tuple[str, str]:
    """The first and the last version that has it; "" for the oldest and the newest measured one."""
    first, last = having.index(True), len(having) - 1 - having[::-1].index(True)
    return rows[first]["dsl"] if first else "", rows[last]["dsl"] if last < len(rows) - 1 else ""


def _instead(name: str, rows: list[dict[str, Any]]) -> str:
    """What the newest version has in a name's place: by the DSL's own advice, or the same name elsewhere."""
    newest = rows[-1]
    owner, _, last = name.rpartition(".")
    advice = next((row["advised"][name] for row in reversed(rows) if name in row["advised"]), "")
    if advice:
        spelt = (f"{owner}.{advice}", f"cutlass.{advice}", f"cutlass.cute.{advice}", advice)
        return next((one for one in spelt if one in newest["names"]), "")
    modules = set(newest["modules"])
    if not any(owner in row["modules"] for row in rows):
        return ""
    alike = [
        one
        for one in newest["names"]
        if one.rpartition(".")[2] == last and one.rpartition(".")[0] in modules and one not in modules
    ]
    return min(alike, key=lambda one: (one.count("."), len(one), one), default="")


def cuda13(pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, Any]:
    """What the extra cu13 of each version lacks ("without"), has alone ("only"): {owner: {name: versions}}.

    `pairs`: the rows of a version with and without it. A name that comes or goes with its owner has no row.
    """
    told: dict[str, Any] = {"without": {}, "only": {}}
    for plain, extra in pairs:
        for kind, having, lacking in (("without", plain, extra), ("only", extra, plain)):
            for name in sorted(set(having["names"]) - set(lacking["names"])):
                owner, _, last = name.rpartition(".")
                if owner in lacking["names"] and public(name):
                    told[kind].setdefault(owner, {}).setdefault(last, []).append(plain["dsl"])
    return told


def asked(folder: str, others: Iterable[str] = ()) -> dict[str, Any]:
    """The names of the DSL in a folder, or of this interpreter's (""), read in a process of its own.

    Raises CalledProcessError.
    """
    roots = [str(path) for path in Path(folder, "nvidia_cutlass_dsl").glob("*packages*")]
    path = os.pathsep.join([*roots, folder, str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "tests.conformance.names", "--json"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, input=json.dumps(sorted(others)),
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def main() -> None:
    """The command line of the module's text."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--install", nargs="*", default=[], metavar="VERSION", help="versions to install and read"
    )
    parser.add_argument("--folder", nargs="*", default=[], help="folders that hold an installed version each")
    parser.add_argument(
        "--cuda13", nargs="*", default=[], metavar="VERSION", help="versions to compare with their extra cu13"
    )
    parser.add_argument("--json", action="store_true", help="the names of this interpreter's DSL as JSON")
    parser.add_argument("--out", type=Path, help="the file to write")
    given = parser.parse_args()
    if given.json:
        print(json.dumps(measure(json.load(sys.stdin))))
        return
    if given.cuda13:
        _compare(given.cuda13, given.out)
        return
    with tempfile.TemporaryDirectory() as root:
        folders = [*given.folder, *(f"{root}/{version}" for version in given.install)]
        for version in given.install:
            install(version, f"{root}/{version}")
        every = {name for folder in folders for name in asked(folder)["names"]}
        rows = sorted((asked(folder, every) for folder in folders), key=lambda row: numbers(row["dsl"]))
    for row in rows:
        print(f"CuTe DSL {row['dsl']}: {len(row['modules'])} modules, {len(row['names'])} names")
    if given.out:
        versions = [row["dsl"] for row in rows]
        command = f"python -m tests.conformance.names --install {' '.join(versions)} --out {given.out}"
        head = {
            "date": datetime.date.today().isoformat(),
            "python": platform.python_version(),
            "command": command,
        }
        _write(given.out, {**head, "versions": versions, **history(rows)})


def _compare(versions: list[str], out: Path | None) -> None:
    """Each version with and without its extra cu13; the file gets what differs, beside what it holds."""
    pairs = []
    for version in versions:
        with tempfile.TemporaryDirectory() as root:
            install(version, f"{root}/plain")
            install_cuda13(version, f"{root}/extra")
            every = {name for kind in ("plain", "extra") for name in asked(f"{root}/{kind}")["names"]}
            pairs.append((asked(f"{root}/plain", every), asked(f"{root}/extra", every)))
        print(f"CuTe DSL {version}: {' names, with cu13 '.join(str(len(row['names'])) for row in pairs[-1])}")
    if out:
        head = {
            "date": datetime.date.today().isoformat(),
            "command": f"python -m tests.conformance.names --cuda13 {' '.join(versions)} --out {out}",
        }
        _write(
            out, {**json.loads(out.read_text()), "cuda13": {**head, "versions": versions, **cuda13(pairs)}}
        )


def _write(out: Path, kept: dict[str, Any]) -> None:
    """The file, a line for each owner of names."""
    text = json.dumps(kept, separators=(",", ":"))
    out.write_text(re.sub(r'(?<=[}\]]),"(?=[\w.]+":\{)', ',\n"', text) + "\n")


if __name__ == "__main__":
    main()
