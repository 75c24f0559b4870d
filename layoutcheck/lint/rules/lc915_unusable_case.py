"""LC915 unusable-case: a registered case that cannot be called."""

from layoutcheck.lint.rule import make_rule

RULE = make_rule(__doc__, "unknown")
