"""The process that looks at modules for another: `python -m layoutcheck.dsl.judge FD FOLDER`.

It is given what there is to look at, then one `Task` after another, through the pipe `FD`, and sends an
`Answer` to each. It ends with the process that started it, and its temporary files are in `FOLDER`.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import sys
import tempfile
from multiprocessing.connection import Connection

from layoutcheck.dsl.look import look
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.spool import end_with_parent
from layoutcheck.dsl.worker import limit_memory


def main(descriptor: int, folder: str) -> None:
    """Answer until nothing more is asked."""
    end_with_parent()
    tempfile.tempdir = folder
    os.set_inheritable(descriptor, False)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit_memory()
    with Connection(descriptor) as pipe, contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        copies, order, products = pipe.recv()
        gc.freeze()  # what is imported by now, which no collection need look through
        gc.set_threshold(50_000)  # as in the process that started it
        with Lowering(copies=copies, order=order, products=products) as lowering:
            while True:
                pipe.send(look(lowering, pipe.recv()))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
