"""The lint: Python source read for what needs no values, never imported; cases and programs, traced.

`source` parses a file once and indexes it; `rules/` holds one rule a file over that index. `cases` and
`programs` find what can be run, `runs` runs it in child processes, `judged` judges what was traced. `run`
puts it together, with `settings`, `suppressions`, `baseline`, `leftovers` and `cache`; `initial` is what
`layoutcheck init` writes.
"""
