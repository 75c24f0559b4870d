"""LC912 never-traced: no registered case reached these copies.

## What it means

The file has calls that copy, and no traced case came by: their layouts are not known, and nothing says that they are
right. Reported only where cases were traced, once a file.

## Why

Of 789 `cute.copy` calls in CUTLASS's examples, quack and FlashAttention, the text alone settles the layouts of at most
4 %: tiles and types come from constructors and callers. A trace sees them all, where it comes by.

## How to fix it

Register a case for the configuration that leads there (`@layoutcheck.case`).

## How to silence it

It is a note and never fails a run. `ignore = ["LC912"]` in `[tool.layoutcheck]`.
"""

from layoutcheck.lint.rule import make_rule

RULE = make_rule(__doc__, "note")
