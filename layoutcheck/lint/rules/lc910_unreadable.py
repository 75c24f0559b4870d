"""LC910 unreadable: the file cannot be parsed as Python, so nothing in it was checked.

## What it means

It does not parse, is not UTF-8, is larger than 8 MiB, or nests deeper than Python's own parser goes. The rest of
the run is not affected.

## Why

The lint reads files with Python's parser, in the version it runs under: a file for a newer Python
does not parse.

## How to fix it

The message names the place. Run layoutcheck under the Python that the code is written for.

## How to silence it

`exclude = ["path"]` or `per-file-ignores` in `[tool.layoutcheck]`.
"""

from layoutcheck.lint.rule import make_rule

RULE = make_rule(__doc__, "unknown")
