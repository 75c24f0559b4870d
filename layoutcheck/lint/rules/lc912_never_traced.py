"""LC912 never-traced: no program or registered case reached these copies."""

from layoutcheck.lint.rule import make_rule

RULE = make_rule(__doc__, "note")
