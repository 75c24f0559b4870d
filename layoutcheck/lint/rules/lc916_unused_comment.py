"""LC916 unused-comment: a `# layoutcheck: ignore` comment that nothing needs any more."""

from layoutcheck.lint.rule import make_rule

RULE = make_rule(__doc__, "note")
