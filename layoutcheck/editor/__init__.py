"""The language server: what `lint` and `trace` know, at the lines of an editor.

`seen` turns a judged trace into what is said of each line, `moved` keeps lines right while the user types,
and `server` speaks the protocol (pygls, the extra `lsp`).
"""
