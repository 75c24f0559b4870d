"""The condition of an assertion in words: what must hold, and what makes it hold.

`n % 64 == 0 and k % 128 == 0` is "n is a multiple of 64 and k is a multiple of 128". Python's syntax is read (`guards.py`), and
C++ that is near to it (`cpp_conditions.py`).
"""

from __future__ import annotations

import ast
import re

from layoutcheck.catalogue import cpp_conditions
from layoutcheck.catalogue.guards import clause, read

_LONGEST = 300  # characters of a condition that are read
_MET = (
    (r"is (?:not )?None|nullptr|has_value", "Look at which arguments belong together: one is given without the other, or one too many"),
    (r"is_cuda|\.device\b|device_type|\.cuda\b", "Move the tensors to one GPU: tensor.to('cuda')"),
    (r"stride[^=!<>&|]{0,20}%|%[^=!<>&|]{0,20}stride", "Pad the extent that the stride counts (K of a K-major operand, the leading dimension) to such a multiple, or allocate the rows wider and slice them"),
    (
        r"is_contiguous|stride|contiguous",
        "Lay the tensor out anew, tensor.contiguous(), so that its last mode has stride 1 and the others go on in order",
    ),
    (
        r"data_ptr|align",
        "Give a tensor that begins at such an address: a fresh one does, a slice of another (x[:, 1:]) need not",
    ),
    (r"dtype|element_size|itemsize|\.width\b", "Convert the tensor, tensor.to(torch.bfloat16), to a type that the condition names"),
    (
        r"capability|\barch(?:_major)?\b|is_sm[0-9]*|sm_?(?:version|arch|major)|\bmajor\b",
        "The function is for other GPUs (of major 9 is Hopper, of 10 B200 and B300, of 12 GeForce 50, RTX PRO and GB10): take one of its architecture, or another back end of the library",
    ),
    (r"version", "Install a version that the condition allows"),
    (
        r"_AVAILABLE|_ENABLED|\bHAS_\w+|_available\b|\bhas_\w+|is not None\b.*\b(?:module|lib)",
        "A part of the library is missing: its import failed, or it was built without it; `python -c 'import MODULE'` of that part prints why",
    ),
    (r"%|& ?0[bx]", "Pad the extent to such a multiple, or take another tile"),
    (
        r"shape|ndim|\.dim\(|\.size\(|\blen\(|seqlen|num_|\bn?heads?\b|dim",
        "Print the shapes of the arguments before the call, and compare them with the function's documentation",
    ),
)  # fmt: skip


def in_words(condition: str) -> str:
    """What must hold, in words; "" where the condition is not one that Python can read, or has no words."""
    text = condition.strip().rstrip(";")
    if not text or len(text) > _LONGEST:
        return ""
    tree = read(text)
    if isinstance(tree, ast.Tuple) and len(tree.elts) == 2:  # "condition, message" of an assert statement
        tree = tree.elts[0]
    if not isinstance(tree, ast.BoolOp | ast.Compare | ast.UnaryOp | ast.Call | ast.Name | ast.Attribute):
        return ""
    words = clause(tree, True)
    if isinstance(tree, ast.Call) and words.startswith("`"):
        return ""
    return words.replace("[", "<").replace("]", ">") if cpp_conditions.CPP.search(text) else words


def met_by(condition: str) -> str:
    """What makes such a condition hold, by what it reads; "" where that does not tell."""
    return next((helps for words, helps in _MET if re.search(words, condition)), "")
