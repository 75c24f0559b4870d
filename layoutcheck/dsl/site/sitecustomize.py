"""Python imports this at the start of every process of a traced run, its folder being first on PYTHONPATH.

It begins the trace and hands over to the `sitecustomize` of the environment, where there is one.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - nothing more is imported than needed


def _next() -> None:
    paths = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]  # noqa: PTH100
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", paths)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


_next()
if "LAYOUTCHECK_SPOOL" in os.environ:
    _HOME = os.path.dirname(os.path.dirname(os.path.dirname(_HERE)))  # noqa: PTH120
    sys.path.insert(0, _HOME)
    try:
        from layoutcheck.dsl.spool import begin
    finally:
        sys.path.remove(_HOME)  # what is installed beside us must not stand before the script's own path

    begin()
