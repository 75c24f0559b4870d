"""LC913 not-as-expected: a registered case does not have the verdict or codes that it expects.

## What it means

`@layoutcheck.case(expect=...)` states a verdict, or codes of findings; the traced copies have
another verdict, or lack a code. The verdict of a case is the worst verdict of its copies; copies
with verdict `unknown` do not count.

## Why

An expectation that is not checked is only a comment. If a kernel is registered as `rejected` to
document a trap and the next DSL accepts it, it documents nothing.

## How to fix it

Correct the kernel, or the expectation.

## How to silence it

Leave out `expect`: the findings are then reported like any others. Or
`ignore = ["LC913"]` in `[tool.layoutcheck]`.
"""

from layoutcheck.lint.rule import make_rule

RULE = make_rule(__doc__, "wrong")
