"""LC911 case-failed: a registered case could not be traced to its end.

## What it means

The function raised, ran longer than `timeout`, or its process died (the DSL can abort). Copies built before that are
checked; the others were not seen. The other cases are not affected.

Or it ended without an error but built no kernel: it neither compiled one nor returned a pair
`(kernel, arguments)`.

## Why

Every case runs in a process of its own, without network.

## How to fix it

Run the function by itself: `python -c "import module; module.case()"`. A case needs no GPU; build its arguments with
`make_fake_tensor`. `timeout = SECONDS` in `[tool.layoutcheck]` gives it longer.

## How to silence it

`ignore = ["LC911"]` in `[tool.layoutcheck]`.
"""

from layoutcheck.lint.rule import make_rule

RULE = make_rule(__doc__, "unknown")
