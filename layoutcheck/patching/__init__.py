"""Fixes as edits of the traced program, each proven by tracing the edited program again.

`program.py` finds the statements that an operand of a copy is made by, `edits.py` writes a fix into them
(`layouts.py`, `copiers.py` and `launches.py` say where each change goes),
`overlay.py` puts other texts in place of a program's files, and `repair.py` tries, proves and writes.
Nothing here imports the user's code: it is parsed, and run only as the trace runs it.
"""
