"""LC915 unusable-case: a registered case that cannot be called.

## What it means

The function has parameters without defaults, or an argument of `@layoutcheck.case` is not a literal, or states neither
a verdict nor a code.

## Why

Cases are found by reading the text; nothing is imported to find them. The function is then called without arguments.

## How to fix it

Write `arch`, `expect` and `name` as strings or lists of strings, and one function for each kernel.

## How to silence it

`ignore = ["LC915"]` in `[tool.layoutcheck]`.
"""

from layoutcheck.lint.rule import make_rule

RULE = make_rule(__doc__, "unknown")
