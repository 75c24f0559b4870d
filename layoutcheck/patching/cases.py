"""`layoutcheck lint --fix` on registered cases: their copies are traced, and repaired in the files.

A case that is registered with `expect` is meant to be as it is, and stays.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path

from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.trace import Script, trace_callable
from layoutcheck.lint import cases, files
from layoutcheck.order import check_module
from layoutcheck.order.uses import check_with_uses
from layoutcheck.patching.overlay import project_of
from layoutcheck.patching.repair import repair
from layoutcheck.patching.repaired import Repaired
from layoutcheck.provenance import check_products
from layoutcheck.settings import Settings
from layoutcheck.sources.traced import Trace


def repair_cases(paths: Sequence[str], settings: Settings) -> list[tuple[str, Repaired]]:
    """The repairs of every file with registered cases, written; without a DSL to trace with, none.

    Raises InputError where a file cannot be written.
    """
    done: list[tuple[str, Repaired]] = []
    if cases.require_dsl() is not None:
        return done
    for path in files.collect(paths, settings):
        found = cases.all_of([path], settings.arch)
        mine = [one for one in found if not (one.problem or one.expect)]
        if mine and cases.registered(path, settings):
            repaired = _of_file(path, mine, settings)
            repaired.write()
            done.append((path, repaired))
    return done


def _of_file(path: str, found: Sequence[cases.RegisteredCase], settings: Settings) -> Repaired:
    main = Path(path).resolve()
    project, root = project_of(main), settings.root.resolve()
    inside = root.relative_to(project) if root.is_relative_to(project) else Path()

    def retrace(script: str, cwd: str | None, *, uses: bool = False) -> Trace:
        del cwd  # a case runs in its project's root, wherever lint is called from
        there = Path(script).resolve().parents[len(main.relative_to(project).parts) - 1]
        check = partial(check_with_uses if uses else check_module, seconds=settings.order_seconds)
        with Lowering(
            copies=settings.lowered, order=check if settings.order else None, products=check_products
        ) as lowering:
            used = lowering if settings.lowered or settings.order else None
            file = Script(script, timeout_s=settings.timeout, cwd=str(there / inside), lowering=used)
            runs = [trace_callable(replace(file, arch=case.arch), case.function) for case in found]
        return reduce(Trace.merged, runs)

    began = time.time()
    return repair(path, retrace(str(main), None), retrace, since=began)
