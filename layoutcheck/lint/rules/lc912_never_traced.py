"""LC912 never-traced: no program or registered case reached these copies.

## What it means

The file has calls that copy, but no program or case that was traced executed them: their layouts are not known, so they
were not checked. The rule reports once for each file, and only if something was traced. After `layoutcheck ci`, in which
all programs came to their ends, it also names files whose kernels have no call that copies and of which no line was seen
in a traced kernel.

## Why

Of 789 `cute.copy` calls in CUTLASS's examples, quack and FlashAttention, the text alone settles the layouts of at
most 4 %: tiles and types come from constructors and callers. A trace sees the layouts of every call that it executes.

## How to fix it

`layoutcheck ci`: add a test or a script that builds the kernel with the options that lead there; the summary
says what stood in the way. `layoutcheck lint`: register a case that does (`@layoutcheck.case`).

## How to silence it

It is a note and never fails a run. `ignore = ["LC912"]` in `[tool.layoutcheck]`.
"""

from layoutcheck.lint.rule import make_rule

RULE = make_rule(__doc__, "note")
