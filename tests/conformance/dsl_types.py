"""Ask the installed DSL which type an operation would have, in a child process that may die doing it.

MLIR infers result types when an operation is built (0.2 ms a question). Written in the generic form with a
wrong result type, an operation makes the parser answer "inferred type(s) '...' are incompatible".
A question that kills the process (SIGFPE, SIGABRT) is answered `Aborts`; a fresh fork takes the next one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

CHILD = r"""
import json, os, re, sys
import cutlass
from cutlass._mlir import ir
from cutlass._mlir.dialects import func
QUOTED = re.compile(r'"(.*)"')
INFERRED = re.compile(r"inferred type\(s\) (.*?) are incompatible with return type", re.S)

def built(op, types, attributes):
    operands = [ir.Type.parse(t) for t in types]
    attributes = {k: ir.Attribute.parse(v) for k, v in attributes.items()}
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        block = func.FuncOp("f", (operands, [])).add_entry_block()
    with ir.InsertionPoint(block):
        operands = list(block.arguments)
        built = ir.Operation.create(op, operands=operands, attributes=attributes, infer_type=True)
    return QUOTED.search(str(built.results[0].type))[1]

def parsed(op, types, attributes, wrong):
    args = [f"%a{i}" for i in range(len(types))]
    heads = ", ".join(f"{a}: {t}" for a, t in zip(args, types))
    text = (f'func.func @f({heads}) {{ %r = "{op}"({", ".join(args)}) {attributes} : '
            f'({", ".join(types)}) -> {wrong} return }}')
    try:
        ir.Module.parse("module { " + text + " }")
    except Exception as error:
        found = INFERRED.search(str(error))
        if found is None:
            raise
        return re.findall(r"'(.*?)'(?=, '|$)", found[1], re.S)[0]
    raise ValueError("parsed: " + text)

while child := os.fork():
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status):
        os._exit(0)
    print(json.dumps(["died", os.WTERMSIG(status)]), flush=True)
context = ir.Context()
context.__enter__()
ir.Location.unknown().__enter__()
for number, line in enumerate(sys.stdin):
    how, *question = json.loads(line)
    try:
        answer = ["type", globals()[how](*question)]
    except Exception as error:
        answer = ["error", str(error)]
    print(json.dumps(answer), flush=True)
    if number % 4000 == 3999:
        context.__exit__(None, None, None)
        context = ir.Context()
        context.__enter__()
        ir.Location.unknown().__enter__()
os._exit(0)
"""

MEMREF = '!cute.memref<i1, tmem, align<1>, "1:0">'
INT_TUPLE = '!cute.int_tuple<"77777">'
LAYOUT = '!cute.layout<"(7,7,7):(7,7,7)">'
POINTER = "!cute.ptr<i1, tmem, align<1>>"


@dataclass(frozen=True)
class Question:
    """An operation, the types of its operands, and its attributes in MLIR's own text."""

    op: str
    types: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Aborts:
    """The DSL's process died; `signal` is what killed it."""

    signal: int


@dataclass(frozen=True)
class Refuses:
    """The DSL raised an error."""

    message: str


def answers(questions: Iterable[Question]) -> list[str | Refuses | Aborts]:
    """What each question's result type holds between its quotes, or why there is none."""
    return [_asked("built", one.op, one.types, dict(one.attributes)) for one in questions]


def infer(op: str, *types: str, attributes: str = "", wrong: str = MEMREF) -> str | Refuses | Aborts:
    """The printed result type; `wrong` is a type of the right kind that the result surely does not have."""
    return _asked("parsed", op, types, attributes, wrong)


def _asked(*question: Any) -> str | Refuses | Aborts:
    child = _child()
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(json.dumps(question) + "\n")
    child.stdin.flush()
    kind, value = json.loads(child.stdout.readline())
    return Aborts(value) if kind == "died" else value if kind == "type" else Refuses(value)


@cache
def _child() -> subprocess.Popen[str]:
    """One for all tests of this process; it ends with its input."""
    return subprocess.Popen(
        [sys.executable, "-c", CHILD],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
