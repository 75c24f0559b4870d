"""LC914 unusable-comment: a `# layoutcheck: ignore` comment that silences nothing."""

from layoutcheck.lint.rule import whole

rule = whole(__doc__, "unknown")
