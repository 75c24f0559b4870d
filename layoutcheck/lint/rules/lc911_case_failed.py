"""LC911 case-failed: a registered case could not be traced to its end."""

from layoutcheck.lint.rule import whole

rule = whole(__doc__, "unknown")
