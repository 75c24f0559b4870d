"""`python -m layoutcheck.dsl.repeated FOLDER SCRIPT ARGUMENTS`: a script run several times in one process.

`FOLDER/asked` (JSON) has the places of delays, and for each run a row of the table for each place. What
becomes of a run is left in the folder (`spool`): "delayed" (how many delays a kernel has at each place),
"begins" and "ran", with the bytes of output until then. A module that was compiled in an earlier run is not
compiled again. The process ends with the first run that fails: what a GPU does after a fault proves nothing.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from layoutcheck.dsl.delays import DriverError, Table, inserter
from layoutcheck.dsl.imports import when_imported
from layoutcheck.dsl.observe import HOME, Unsupported, watch
from layoutcheck.dsl.spool import end_with_parent, write


def main(folder: str, script: str, *arguments: str) -> None:
    """Run the script as often as is asked for."""
    end_with_parent()
    asked = json.loads((Path(folder) / "asked").read_text())
    places = [(file, line) for file, line in asked["places"]]
    table = Table(len(places)) if places else None
    sys.path[0] = str(Path(script).resolve().parent)
    when_imported(HOME, _compile_once)

    def record(event: object) -> None:
        if isinstance(event, Unsupported):
            write(folder, {"kind": "note", "message": event.message})

    def told(kernel: str, counts: dict[int, int]) -> None:
        write(folder, {"kind": "delayed", "kernel": kernel, "counts": counts})

    change = inserter(places, table.address, told) if table is not None else None
    with watch(record, change=change):
        for number, rows in enumerate(asked["runs"]):
            write(folder, {"kind": "begins", "run": number, "at": _written()})
            start = time.monotonic()
            status, said = _run(script, arguments, table, rows)
            seconds = round(time.monotonic() - start, 3)
            write(folder, {"kind": "ran", "run": number, "status": status, "said": said, "at": _written(),
                           "seconds": seconds})  # fmt: skip
            if status:
                os._exit(0)  # nothing that waits for a GPU at the end is waited for


def _run(script: str, arguments: tuple[str, ...], table: Table | None, rows: list[Any]) -> tuple[int, str]:
    """One run: its exit status, and what it said in leaving."""
    sys.argv[:] = [script, *arguments]
    try:
        if table is not None:
            table.set(rows)
        try:
            # As `python script` names its code.
            runpy.run_path(str(Path(script).absolute()), run_name="__main__")
        except SystemExit as left:
            if left.code is not None and left.code != 0:
                return (left.code, "") if isinstance(left.code, int) else (1, str(left.code))
        if table is not None:
            table.finish()
    except DriverError as error:
        return 1, str(error)
    except BaseException as error:  # as Python's own end of a program
        traceback.print_exc()
        return 1, f"{type(error).__name__}: {error}"
    return 0, ""


def _written() -> int:
    """Bytes of output so far."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return os.fstat(1).st_size


def _compile_once(module: Any) -> None:
    """Have the DSL give what it compiled before where it would compile the same module again."""
    owner = module.BaseDSL
    compile_and_cache: Callable[..., Any] = owner.compile_and_cache
    known: dict[tuple[str, str], Any] = {}

    def compiled(self: Any, built: Any, digest: Any, name: str, *rest: Any, **named: Any) -> Any:
        key = (str(built), str(rest[0]) if rest else str(named.get("pipeline")))
        if key not in known:
            known[key] = compile_and_cache(self, built, digest, name, *rest, **named)
        return known[key]

    owner.compile_and_cache = compiled


if __name__ == "__main__":
    main(*sys.argv[1:])
