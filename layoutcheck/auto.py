"""`import layoutcheck.auto`: check every copy that this process compiles, and say at its end what is wrong.

The same for a program that is not changed at all: `LAYOUTCHECK=1 python program.py`. The installed package
has a `layoutcheck.pth`, one line that imports this module at Python's start where that variable is set (the
standard library's `site` reads such files). Nothing is imported before the program imports the DSL, kernels
compile to the same code, and what is found goes to standard error when the program ends. Copies whose layouts
cannot be followed are lowered then, by a process of the DSL's own, for no longer than `LOWERING_SECONDS`;
LAYOUTCHECK_LOWERED=0 leaves them to their types. In the same time the order of accesses is checked, which
LAYOUTCHECK_ORDER=0 turns off.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from functools import partial
from pathlib import Path

from layoutcheck.dsl.observe import Event, watch

LOWERING_SECONDS = 60.0  # of all modules together: the program is done, and its user waits

_events: list[Event] = []
_watching = contextlib.ExitStack()  # never left: it ends with the process


def _tell(pid: int) -> None:
    """Judge what was seen, in the process that saw it."""
    if not _events or os.getpid() != pid:
        return
    from layoutcheck.dsl.collect import Collector
    from layoutcheck.dsl.lowered.resolve import Lowering
    from layoutcheck.dsl.spool import as_dict
    from layoutcheck.order import check_module
    from layoutcheck.provenance import check_products
    from layoutcheck.reports.style import Style
    from layoutcheck.reports.trace import render
    from layoutcheck.settings import find, order_seconds, wants_lowered, wants_order
    from layoutcheck.tracing import judge
    from layoutcheck.versions import installed

    try:
        settings = find(Path())
        lowered, order = wants_lowered(settings), wants_order(settings)
        check = partial(check_module, seconds=order_seconds(settings))
        with Lowering(
            LOWERING_SECONDS, copies=lowered, order=check if order else None, products=check_products
        ) as lowering:
            collector = Collector(lowering=lowering if lowered or order else None)
            collector.take(as_dict(event) for event in _events)
            collector.take([{"kind": "process", "dsl": installed(), "python": ""}])
            collector.resolve()
        text = render(judge(collector.trace()), Style(ascii=True))
    except Exception as error:  # the program is done; its own result stands
        text = f"layoutcheck could not judge the copies of this program: {error}\n"
    sys.stderr.write("\nlayoutcheck:\n" + text)


if not _events and "LAYOUTCHECK_SPOOL" not in os.environ:
    _watching.enter_context(watch(_events.append))
    atexit.register(_tell, os.getpid())
