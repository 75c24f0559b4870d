"""LC913 not-as-expected: a registered case is not what it says it is.

## What it means

`@layoutcheck.case(expect=...)` states a verdict, or codes of findings; the traced copies have another verdict, or lack
a code. The verdict of a case is the worst of its copies; copies of which nothing is known do not count.

## Why

An expectation that nobody checks is a comment. A kernel that is registered as `rejected` to document a trap, and is
accepted by the next DSL, documents nothing.

## How to fix it

Correct the kernel, or the expectation.

## How to silence it

Leave out `expect`: the findings are then reported as any others.
"""

from layoutcheck.lint.rule import make_rule

RULE = make_rule(__doc__, "wrong")
