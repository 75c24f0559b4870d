"""The lint: Python source read for what needs no values, never imported; and registered cases, traced.

`source` parses a file once and indexes it; `rules/` holds one rule a file over that index; `literal` follows
layouts that are written out, so that `check` can judge those copies; `cases` runs registered cases in child
processes; `run` puts it together, with `settings`, `suppressions`, `baseline` and `cache`.
"""
