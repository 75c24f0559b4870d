"""What the DSL says of every copy, whatever its atom: operands, pointers, `cute.copy` itself.

What it says of an atom's own copies stands in the atom's folder; `atoms.compiler.predict` has both.
"""
