"""LC916 unused-comment: a `# layoutcheck: ignore` comment that nothing needs any more.

## What it means

The comment names a code that no finding on its lines has, or that no rule has. The first would silence the next
finding, the second silences nothing.

The first is only reported if the finding could have been seen: the code is one that source alone shows (LC260 to LC267), or
the copy on that line was traced in this run, and every case and program was seen to its end.

## Why

The copy was repaired, or moved to another line. A comment that stays hides what comes there later.

## How to fix it

Delete the code, or the comment.

## How to silence it

`ignore = ["LC916"]` in `[tool.layoutcheck]`.
"""

from layoutcheck.lint.rule import make_rule

RULE = make_rule(__doc__, "note")
