"""Fixes as edits of the traced program, each proven by tracing the edited program again.

`program.py` finds the statements that an operand of a copy is made by, `edits.py` writes a fix into them
(`layouts.py` and `copiers.py` say where each change goes), and `ways.py` lists what may help; `guards.py`
has the conditions for element accesses (`conditions.py` writes them, `skipped.py` says what may stand under
them), `conflicts.py` the edits for bank conflicts, which `paddings.py` writes and
`unbuilt.py` keeps from kernels that nobody traced.
`overlay.py` puts other texts in place of a program's files; `search.py` traces them and keeps an edit for a
copy, `whole.py` one for what no copy shows, and `repair.py` goes through the program.
Nothing here imports the user's code: it is parsed, and run only as the trace runs it.
"""
