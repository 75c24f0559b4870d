"""LC912 never-traced: no program or registered case reached these copies."""

from layoutcheck.lint.rule import whole

rule = whole(__doc__, "note")
