"""The condition of an assertion in words: what must hold, and what makes it hold.

`n % 64 == 0 and k % 128 == 0` is "n is a multiple of 64, and k is a multiple of 128". Python's syntax is read; of C++ what
differs from it only by its operators.
"""

from __future__ import annotations

import ast
import re

_LONGEST = 300  # characters of a condition that are read
_CPP = (("&&", " and "), ("||", " or "), ("->", "."), ("::", "."), ("nullptr", "None"))
_NOT = re.compile(r"!(?!=)")
_ORDERS = {
    ast.Eq: "{} equals {}",
    ast.NotEq: "{} differs from {}",
    ast.Lt: "{} is below {}",
    ast.LtE: "{} is at most {}",
    ast.Gt: "{} is above {}",
    ast.GtE: "{} is at least {}",
    ast.Is: "{} is {}",
    ast.IsNot: "{} is not {}",
    ast.In: "{} is one of {}",
    ast.NotIn: "{} is none of {}",
}
_MET = (
    (r"is (?:not )?None|nullptr", "Look at which arguments belong together: one is given without the other, or one too many"),
    (r"is_cuda|\.device\b|device_type|\.cuda\b", "Move the tensors to one GPU: tensor.to('cuda')"),
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
        r"capability|\barch\b|is_sm[0-9]*|sm_?(?:version|arch|major)|\bmajor\b",
        "The function is for other GPUs: take one of its architecture, or another back end of the library",
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
    """What must hold, in words; "" where the condition is not one that Python can read, or says no more in words."""
    text = condition.strip().rstrip(";")
    if not text or len(text) > _LONGEST:
        return ""
    for cpp, python in _CPP:
        text = text.replace(cpp, python)
    try:
        tree = ast.parse(_NOT.sub(" not ", text).strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ""
    words = _words(tree)
    return words if words and words != text else ""


def met_by(condition: str) -> str:
    """What makes such a condition hold, by what it reads; "" where that does not tell."""
    return next((helps for words, helps in _MET if re.search(words, condition)), "")


def _words(node: ast.expr) -> str:
    if isinstance(node, ast.Tuple) and len(node.elts) == 2:  # "condition, message" of an assert statement
        return _words(node.elts[0])
    if isinstance(node, ast.BoolOp):
        parts = [_words(value) for value in node.values]
        joint = ", and " if isinstance(node.op, ast.And) else ", or "
        return joint.join(parts) if all(parts) else ""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _compared(node.left, node.ops[0], node.comparators[0])
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        parts = [_compared(operands[at], op, operands[at + 1]) for at, op in enumerate(node.ops)]
        return ", and ".join(parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return f"{ast.unparse(node.operand)} is false or not given"
    if isinstance(node, ast.Attribute) and node.attr == "is_cuda":
        return f"{ast.unparse(node.value)} is on a GPU"
    if isinstance(node, ast.Call):
        return _called(node)
    return f"{ast.unparse(node)} is true or given" if isinstance(node, (ast.Name, ast.Attribute)) else ""


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute) and node.func.attr == "is_contiguous" and not node.args:
        return f"{ast.unparse(node.func.value)} is contiguous"
    if isinstance(node.func, ast.Name) and node.func.id == "isinstance" and len(node.args) == 2:
        return f"{ast.unparse(node.args[0])} is of the type {ast.unparse(node.args[1])}"
    if (
        isinstance(node.func, ast.Name)
        and node.func.id == "all"
        and isinstance(node.args[0], ast.GeneratorExp)
    ):
        each, loop = node.args[0].elt, node.args[0].generators[0]
        words = _words(each)
        return f"{words}, for each {ast.unparse(loop.target)} of {ast.unparse(loop.iter)}" if words else ""
    return ""


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr) -> str:
    of = _multiple(left) if isinstance(op, ast.Eq) and ast.unparse(right) == "0" else None
    if of:
        return of
    if isinstance(right, ast.Constant) and right.value is None and isinstance(op, (ast.IsNot, ast.NotEq)):
        return f"{ast.unparse(left)} is given"
    if isinstance(right, ast.Constant) and right.value is None and isinstance(op, (ast.Is, ast.Eq)):
        return f"{ast.unparse(left)} is not given"
    if isinstance(left, ast.Call) and isinstance(left.func, ast.Attribute) and isinstance(op, ast.Eq):
        of_tensor, to = ast.unparse(left.func.value), ast.unparse(right)
        if left.func.attr == "stride" and to == "1":
            return (
                f"the elements of {of_tensor} are adjacent in memory along mode {ast.unparse(left.args[0])}"
                if left.args
                else ""
            )
        if left.func.attr == "dim":
            return f"{of_tensor} has {to} dimensions"
    if isinstance(left, ast.Attribute) and left.attr == "ndim" and isinstance(op, ast.Eq):
        return f"{ast.unparse(left.value)} has {ast.unparse(right)} dimensions"
    words = _ORDERS.get(type(op))
    return words.format(ast.unparse(left), ast.unparse(right)) if words else ""


def _multiple(node: ast.expr) -> str | None:
    """What `x % n` and `x & (n - 1)` say where they are compared with zero: that x is a multiple of n."""
    if not isinstance(node, ast.BinOp):
        return None
    if isinstance(node.op, ast.Mod):
        return f"{ast.unparse(node.left)} is a multiple of {ast.unparse(node.right)}"
    if (
        isinstance(node.op, ast.BitAnd)
        and isinstance(node.right, ast.Constant)
        and isinstance(node.right.value, int)
    ):
        below = node.right.value + 1
        return f"{ast.unparse(node.left)} is a multiple of {below}" if below & (below - 1) == 0 else None
    return None
