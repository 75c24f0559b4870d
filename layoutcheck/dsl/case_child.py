"""`python -m layoutcheck.dsl.case_child FILE FUNCTION`: the child that `trace_callable` starts.

Imports the file as a module, calls the function, and compiles the (kernel, arguments) it returns, if any.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any


def main(path: str, name: str) -> None:
    """Call `name` of the file at `path`; what it imports is found beside it and in the working folder."""
    sys.path[0:1] = [str(Path(path).resolve().parent), str(Path.cwd())]
    sys.argv[:] = [path]
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    target: Any = module
    for part in name.split("."):
        target = getattr(target, part)
    build(target())


def build(made: Any) -> None:
    """Compile `(kernel, arguments)`."""
    if isinstance(made, tuple) and len(made) == 2 and callable(made[0]):
        from cutlass import cute

        kernel, arguments = made
        cute.compile(kernel, *(arguments if isinstance(arguments, (tuple, list)) else (arguments,)))


if __name__ == "__main__":
    main(*sys.argv[1:3])
