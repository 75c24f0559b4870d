"""LC911 case-failed: a registered case could not be traced to its end."""

from layoutcheck.lint.rule import make_rule

RULE = make_rule(__doc__, "unknown")
