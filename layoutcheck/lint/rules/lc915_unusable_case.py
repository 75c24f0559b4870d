"""LC915 unusable-case: a registered case that cannot be called."""

from layoutcheck.lint.rule import whole

rule = whole(__doc__, "unknown")
