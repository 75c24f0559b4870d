"""`layoutcheck server`: the language server."""

from __future__ import annotations

import sys
from typing import Annotated

from layoutcheck.cli.arguments import Option
from layoutcheck.errors import InputError


def server(
    watch: Annotated[
        str | None, Option("a script that is run and traced now, and again when a file of it is saved")
    ] = None,
) -> int:
    """Speak the language server protocol on standard input and output, for an editor.

    Static findings follow every keystroke. A program is run, without a launch, only by the editor's command
    `layoutcheck.trace`, by `layoutcheck.repair`, or with --watch.
    """
    if watch is not None:
        from layoutcheck.dsl.trace import check_script

        check_script(watch)
    try:
        from layoutcheck.editor.server import serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise InputError(
            "the language server needs pygls", expected="pip install 'layoutcheck[lsp]'"
        ) from None
    if sys.stdin.isatty() and sys.stderr.isatty():
        sys.stderr.write("An editor starts this, and speaks to it on standard input; Ctrl-C ends it.\n")
    serve(watch)
    return 0
