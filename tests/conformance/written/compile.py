"""The child that compiles: `python -m tests.conformance.written.compile` reads a JSON list a line.

Each item is [name, source]; each source is compiled twice in a fork of its own, as a copy and as its
reference, for sm_90a without a GPU. One JSON line an item: what the DSL said, what layoutcheck's observer
saw, and PTX and cubin of both.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")
os.environ["CUTE_DSL_DISABLE_FILE_CACHING"] = "1"
os.environ["CUTE_DSL_KEEP"] = "ptx,cubin"
FOLDER = tempfile.mkdtemp(prefix="written-")
os.environ["CUTE_DSL_DUMP_DIR"] = FOLDER


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import cutlass  # noqa: F401
    from cutlass import cute  # noqa: F401

    import tests.conformance.written.support  # noqa: F401

    for line in sys.stdin:
        for name, source in json.loads(line):
            answers.write(json.dumps(forked(name, source)) + "\n")
            answers.flush()


def forked(name: str, source: str) -> dict[str, Any]:
    """The answer of a fork, or the signal that it died of."""
    inlet, outlet = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(inlet)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        with os.fdopen(outlet, "w") as stream:
            try:
                work(name, source, stream)
            except BaseException as error:
                say(stream, {"broken": f"{type(error).__name__}: {error}"})
            os._exit(0)
    os.close(outlet)
    with os.fdopen(inlet) as stream:
        found: dict[str, Any] = {"name": name, "built": []}
        for line in stream:
            part = json.loads(line)
            if "built" in part:
                found["built"].append(part["built"])
            else:
                found.update(part)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        found["died"] = os.WTERMSIG(status)
    return found


def say(stream: Any, part: dict[str, Any]) -> None:
    stream.write(json.dumps(part) + "\n")
    stream.flush()


def work(name: str, source: str, stream: Any) -> None:
    from layoutcheck.dsl.observe import watch
    from layoutcheck.dsl.spool import as_dict
    from tests.conformance.written import support

    path = Path(FOLDER) / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)

    def record(event: Any) -> None:
        say(stream, {"built": as_dict(event), "calls": support.CALLS})

    for reference in (False, True):  # the reference of some types kills the compiler
        support.CALLS.clear()
        support.EXTENTS.clear()
        key = "reference" if reference else "copy"
        say(stream, {"compiling": key})
        part: dict[str, Any] = {}
        try:
            if reference:
                module.build(True)
            else:
                with watch(record):
                    module.build(False)
        except Exception as error:
            part = {f"{key}_error": f"{type(error).__name__}: {error}", f"{key}_causes": causes(error)}
        dumps = sorted(Path(FOLDER).glob("*.ptx"))
        for dump in dumps:
            part[f"{key}_ptx"] = dump.read_text()
            dump.unlink()
        for dump in sorted(Path(FOLDER).glob("*.cubin")):
            part[f"{key}_cubin"] = base64.b64encode(dump.read_bytes()).decode()
            dump.unlink()
        part["calls" if not reference else "calls_of_reference"] = list(support.CALLS)
        part["extents"] = list(support.EXTENTS)
        say(stream, part)


def causes(error: BaseException) -> list[str]:
    found = []
    inner: BaseException | None = error
    while inner is not None and len(found) < 6:
        found.append(f"{type(inner).__name__}: {inner}"[:8000])
        inner = getattr(inner, "cause", None) or inner.__cause__ or inner.__context__
    return found


if __name__ == "__main__":
    main()
