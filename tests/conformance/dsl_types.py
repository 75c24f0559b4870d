"""Ask the installed DSL which type an operation would have, in a child process that may die doing it.

MLIR infers result types when an operation is built. Written in the generic form with a wrong result type,
an operation makes the parser answer "inferred type(s) '...' are incompatible": the answer costs no trace.
A question that kills the process (SIGFPE, SIGABRT) is answered `Aborts`; a fresh fork takes the next one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

CHILD = r"""
import json, os, re, sys
import cutlass
from cutlass._mlir import ir
INFERRED = re.compile(r"inferred type\(s\) (.*?) are incompatible with return type", re.S)
print("ready", flush=True)
while child := os.fork():
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status):
        os._exit(0)
    print(json.dumps(["died", os.WTERMSIG(status)]), flush=True)
context = ir.Context()
context.__enter__()
ir.Location.unknown().__enter__()
for number, line in enumerate(sys.stdin):
    op, types, attributes, wrong = json.loads(line)
    args = [f"%a{i}" for i in range(len(types))]
    heads = ", ".join(f"{a}: {t}" for a, t in zip(args, types))
    text = (f'func.func @f({heads}) {{ %r = "{op}"({", ".join(args)}) {attributes} : '
            f'({", ".join(types)}) -> {wrong} return }}')
    try:
        ir.Module.parse("module { " + text + " }")
        answer = ["error", "parsed: " + text]
    except Exception as error:
        found = INFERRED.search(str(error))
        if found:
            answer = ["type", [t[1:-1] for t in re.findall(r"'.*?'(?=, '|$)", found[1], re.S)]]
        else:
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
class Aborts:
    """The DSL's process died; `signal` is what killed it."""

    signal: int


@dataclass(frozen=True)
class Refuses:
    """The DSL raised an error."""

    message: str


class Compiler:
    """`infer(op, operand types)` -> the printed result type, `Refuses` or `Aborts`."""

    def __init__(self) -> None:
        self.child: subprocess.Popen[str] | None = None

    def infer(
        self, op: str, *types: str, attributes: str = "", wrong: str = MEMREF
    ) -> str | Refuses | Aborts:
        """`wrong` is a type of the right kind that the result surely does not have."""
        child = self.child or self._start()
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps([op, types, attributes, wrong]) + "\n")
        child.stdin.flush()
        kind, value = json.loads(child.stdout.readline())
        if kind == "died":
            return Aborts(value)
        return value[0] if kind == "type" else Refuses(value)

    def close(self) -> None:
        if self.child is not None:
            assert self.child.stdin is not None
            self.child.stdin.close()
            self.child.wait()
            self.child = None

    def _start(self) -> subprocess.Popen[str]:
        self.child = subprocess.Popen(
            [sys.executable, "-c", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.child.stdout is not None
        assert self.child.stdout.readline() == "ready\n"
        return self.child
