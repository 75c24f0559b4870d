"""LC910 unreadable: the file cannot be parsed as Python, so nothing in it was checked."""

from layoutcheck.lint.rule import whole

rule = whole(__doc__, "unknown")
