"""Copy atoms, a family a folder: what one is, how it is read, what compiler and machine make of its copies.

`family` says which modules a folder has. Adding an atom touches its folder.
"""
