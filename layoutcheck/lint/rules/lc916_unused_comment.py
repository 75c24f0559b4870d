"""LC916 unused-comment: a `# layoutcheck: ignore` comment that nothing needs any more."""

from layoutcheck.lint.rule import whole

rule = whole(__doc__, "note")
