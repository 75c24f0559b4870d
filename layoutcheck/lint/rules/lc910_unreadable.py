"""LC910 unreadable: the file cannot be parsed as Python, so nothing in it was checked."""

from layoutcheck.lint.rule import make_rule

RULE = make_rule(__doc__, "unknown")
