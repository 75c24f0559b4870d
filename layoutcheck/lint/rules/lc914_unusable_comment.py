"""LC914 unusable-comment: a `# layoutcheck: ignore` comment that silences nothing."""

from layoutcheck.lint.rule import make_rule

RULE = make_rule(__doc__, "unknown")
