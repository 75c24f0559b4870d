"""Docstrings as Markdown: an interactive session in one becomes a code block."""

from __future__ import annotations

import re
from typing import Any

import griffe

_SESSION = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.DOTALL | re.MULTILINE)


class Sessions(griffe.Extension):
    """Fences what begins with `>>>`, which Markdown would take for a quotation."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for every object that was read."""
        if obj.docstring is not None:
            obj.docstring.value = _SESSION.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
