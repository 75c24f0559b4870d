"""SIGTERM, with which CI ends a job whose time is up: what was seen until then is reported."""

from __future__ import annotations

import atexit
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layoutcheck.sources.traced import Trace

ENDED = "SIGTERM came before it had ended"
_SAME_SIGNAL_SECONDS = 5.0


class Terminated(BaseException):
    """SIGTERM."""


@contextmanager
def sigterm_raises() -> Iterator[None]:
    """The first SIGTERM raises `Terminated` here, in the main thread; a later one ends the process.

    One within five seconds is the first again: `timeout` sends its signal to the process and to its group.
    In the command line's own process the first one that comes later is let pass: the report is nearly there.
    In others the handler that was there is there again.
    """
    first, traced = 0.0, False

    def end(*_: object) -> None:
        nonlocal first
        if not first:
            first = time.monotonic()
            if traced:
                return
            raise Terminated
        if time.monotonic() - first > _SAME_SIGNAL_SECONDS:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        traced = True
        if not getattr(before, "ends_the_process", False):
            signal.signal(signal.SIGTERM, before)
        else:  # the report is written by then, and Python takes its handlers away before it ends
            atexit.register(signal.signal, signal.SIGTERM, signal.SIG_IGN)


def unseen() -> Trace:
    """The trace of a program of which nothing was seen before the signal."""
    from layoutcheck.sources.traced import Trace, TraceFailure

    return Trace(failures=(TraceFailure("ended", ENDED),))
