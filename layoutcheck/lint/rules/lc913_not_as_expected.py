"""LC913 not-as-expected: a registered case does not have the verdict or codes that it expects."""

from layoutcheck.lint.rule import whole

rule = whole(__doc__, "wrong")
