"""LC914 unusable-comment: a `# layoutcheck: ignore` comment that silences nothing.

## What it means

The comment names no code, or something that is not a code. Findings on its line are still reported.

## Why

A comment that silences everything would also silence future findings.

## How to fix it

`# layoutcheck: ignore[LC301] reason`, or several codes: `ignore[LC301,LC302]`. `LC3` stands for all
codes that begin with it.

## How to silence it

`ignore = ["LC914"]` in `[tool.layoutcheck]`.
"""

from layoutcheck.lint.rule import make_rule

RULE = make_rule(__doc__, "unknown")
