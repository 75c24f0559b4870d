"""Ask the installed DSL's layout algebra, many questions at a time, in a child process that may die doing it.

The child builds each operation in a module and reads off the type that MLIR infers: about 0.2 ms a question.
A question that kills the child is answered `Aborts`, and a fresh child takes the rest.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass

CHILD = r"""
import json, os, re, sys
import cutlass
from cutlass._mlir import ir
from cutlass._mlir.dialects import func
QUOTED = re.compile(r'"(.*)"')
context = ir.Context()
context.__enter__()
ir.Location.unknown().__enter__()
print("ready", flush=True)
for number, line in enumerate(sys.stdin):
    op, types, attributes = json.loads(line)
    try:
        operands = [ir.Type.parse(t) for t in types]
        attributes = {k: ir.Attribute.parse(v) for k, v in attributes.items()}
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            block = func.FuncOp("f", (operands, [])).add_entry_block()
        with ir.InsertionPoint(block):
            operands = list(block.arguments)
            built = ir.Operation.create(op, operands=operands, attributes=attributes, infer_type=True)
        answer = ["type", QUOTED.search(str(built.results[0].type))[1]]
    except Exception as error:
        answer = ["error", str(error)]
    print(json.dumps(answer), flush=True)
    if number % 20000 == 19999:
        context.__exit__(None, None, None)
        context = ir.Context()
        context.__enter__()
        ir.Location.unknown().__enter__()
os._exit(0)
"""

BATCH = 100  # questions in the pipe at once: they must fit its buffer


@dataclass(frozen=True)
class Question:
    """An operation, the types of its operands, and its attributes in MLIR's own text."""

    op: str
    types: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...] = ()

    def line(self) -> str:
        return json.dumps([self.op, self.types, dict(self.attributes)]) + "\n"


@dataclass(frozen=True)
class Refuses:
    """The DSL raised an error."""

    message: str


@dataclass(frozen=True)
class Aborts:
    """The DSL's process died; `signal` is what killed it."""

    signal: int


def answers(questions: Iterable[Question]) -> list[str | Refuses | Aborts]:
    """What each question's result type holds between its quotes, or why there is none."""
    todo = list(questions)
    out: list[str | Refuses | Aborts] = []
    while len(out) < len(todo):
        with subprocess.Popen(
            [sys.executable, "-c", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            died = False
            while len(out) < len(todo) and not died:
                batch = todo[len(out) : len(out) + BATCH]
                try:
                    child.stdin.write("".join(q.line() for q in batch))
                    child.stdin.flush()
                except BrokenPipeError:
                    pass  # it died of a question in this batch; what it answered before is still to be read
                for _ in batch:
                    line = child.stdout.readline()
                    if not line:
                        died = True
                        break
                    kind, value = json.loads(line)
                    out.append(value if kind == "type" else Refuses(value))
            if died:
                out.append(Aborts(-child.wait()))
            else:
                child.stdin.close()
    return out
