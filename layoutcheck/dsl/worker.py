"""The child process that asks the DSL: `python -m layoutcheck.dsl.worker`. Nothing else imports the DSL here.

Reads one request a line from standard input, `{"task": ..., "items": [...]}`, and answers with one JSON
line an item, in order. The DSL is imported and an MLIR context opened once; every batch runs in a fork
of this process, so that

- an input that kills the compiler (SIGABRT, SIGFPE) costs one fork (10 ms): the item is answered
  `{"died": signal}` and a fresh fork takes the rest;
- the types that the context never forgets die with the fork, and memory stays flat.

Tasks, an item being a dict of operand types as text (`layoutcheck.dsl.session.item`):

verify   parse a function holding the bare `cute.copy` operation: the verifier alone (100 us)
parse    parse a function of the given arguments and body: what their operations' verifiers say
build    call the DSL's own Python function (`cute.copy`, `cute.autovec_copy`, ...), then verify (5 ms)
lower    build inside a kernel, run the DSL's pipeline for `arch`, answer its PTX (25 ms)
tma      make_tiled_tma_atom, tma_partition and cute.copy: the tensor map's words and PTX (40 ms)
passes   run the DSL's first passes on a traced module (`layoutcheck.dsl.lowered.passes`; 100 ms)
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

Item = dict[str, Any]

# Items a fork, which bound what its copy of the context grows by: a verdict leaves a kilobyte or two (types
# are kept forever), a lowered kernel its binary and more.
BATCH = {"verify": 10_000, "parse": 10_000, "build": 2_000, "lower": 128, "tma": 128, "passes": 16}
MEMORY_BYTES = 8 << 30  # a fork that wants more dies of it, and not the machine
# The fields of an atom: its family, the field, its type, and what its printed type holds where it has it.
_SHARED_BARRIER = "!cute.ptr<i64, smem, align<8>>"
FIELDS = (
    ("bulk_copy_g2s", "bulkg2s<tma_bar", _SHARED_BARRIER, ""),
    ("bulk_copy_g2s", "bulkg2s<mcast_mask", "i16", "mcast = true"),
    ("bulk_copy_s2g", "bulks2g<byte_mask", "i16", "mask = true"),
    ("bulk_copy_s2s", "bulks2s<tma_bar", _SHARED_BARRIER, ""),
    ("bulk_copy_s2s", "bulks2s<cta_rank", "i32", ""),
    ("dsmem_store", "dsmem_store<mbar_ptr", "!cute.ptr<i64, dsmem, align<8>>", ""),
)
KERNELS = 16  # kernels lowered together: most of the cost of a module is per module

# What `cute.compile` runs (printed by DSL 4.8.1's Compiler.compile), with a path to dump the PTX at.
PIPELINE = (
    "builtin.module(cute-to-nvvm{{check-inline-asm=false cubin-format=bin opt-level=3 enable-pyir=false "
    "rdc=false enable-assertions=false preserve-line-info=false dump-ptx-path='{path}' cubin-chip={arch} "
    "enable-cuda-dialect=true cuda-dialect-external-module=true}})"
)


def main() -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever the DSL prints is not an answer
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    unlimited = most == resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES if unlimited else min(most, MEMORY_BYTES), most))
    try:
        import cutlass
        from cutlass._mlir import ir
    except ImportError as error:
        say(answers, {"missing": str(error)})
        return
    with ir.Context() as context, ir.Location.unknown():
        context.enable_multithreading(False)  # threads do not survive a fork
        say(answers, {"version": str(getattr(cutlass, "__version__", "unknown")), **foreign()})
        for line in sys.stdin:
            request = json.loads(line)
            task = request["task"]
            for answer in forked(request["items"], task):
                say(answers, answer)


def say(stream: Any, answer: Any) -> None:
    """One answer as a line, at once."""
    stream.write(json.dumps(answer) + "\n")
    stream.flush()


def foreign() -> Item:
    """{} where this DSL accepts a plain copy as these tasks write it, else what it says instead."""
    view = '!cute.memref<f32, gmem, align<4>, "4:1">'
    plain = {"atom": "!cute_nvgpu.atom.universal_copy<f32, 32 b>", "src": view, "dst": view}
    answer = verify_one(plain)
    return {"foreign": str(answer)} if answer else {}


def forked(items: list[Item], task: str) -> Iterator[Item]:
    """The task in forks; the answer of an item that killed its fork is `{"died": signal}`."""
    group = KERNELS if task == "lower" else 1
    done = alone = 0  # items before `alone` are worked on one by one: their group died
    while done < len(items):
        size, stop = (1, alone) if done < alone else (group, min(done + BATCH[task], len(items)))
        status = yield from one_fork(items[done:stop], TASKS[task], size)
        done += status.answered
        if status.signal and size == 1:
            yield {"died": status.signal}
            done += 1
        elif status.signal:
            alone = min(done + size, len(items))


class Status:
    """How a fork ended: items answered, and the signal that killed it (0: none)."""

    answered = 0
    signal = 0


def one_fork(
    items: list[Item], work: Callable[..., Iterator[Item]], size: int
) -> Generator[Item, None, Status]:
    """Stream the answers of one fork, and return how it ended."""
    status = Status()
    inlet, outlet = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(inlet)
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # LLVM's stack traces
            with os.fdopen(outlet, "w") as stream:
                for answer in work(items, size):
                    say(stream, answer)
            code = 0
        finally:
            os._exit(code)
    os.close(outlet)
    with os.fdopen(inlet) as stream:
        for line in stream:
            status.answered += 1
            yield json.loads(line)
    _, wait = os.waitpid(pid, 0)
    status.signal = os.WTERMSIG(wait) if os.WIFSIGNALED(wait) else os.WEXITSTATUS(wait)
    return status


def verify(items: list[Item], _size: int) -> Iterator[Item]:
    """The MLIR verifier's word on the operands as they stand: {} or {"error", "stage"}."""
    return map(verify_one, items)


def verify_one(item: Item) -> Item:
    """`verify` for one item."""
    from cutlass._mlir import ir

    operands = [item[name] for name in ("atom", "src", "dst", "pred") if item.get(name)]
    names = [f"%{i}" for i in range(len(operands))]
    heads = ", ".join(f"{n}: {t}" for n, t in zip(names, operands, strict=True))
    call = f"cute.copy({', '.join(names)}) : ({', '.join(operands)})"
    try:
        ir.Module.parse(f"func.func @f({heads}) {{ {call} return }}")
    except ir.MLIRError as error:
        return verifier_error(error)
    return {}


def parse(items: list[Item], _size: int) -> Iterator[Item]:
    """{} or {"error", "stage"} for a function with the item's `arguments` and `body`."""
    return map(parse_one, items)


def parse_one(item: Item) -> Item:
    """`parse` for one item."""
    from cutlass._mlir import ir

    try:
        ir.Module.parse(f"func.func @f({item['arguments']}) {{ {item['body']} return }}")
    except ir.MLIRError as error:
        return verifier_error(error)
    return {}


def verifier_error(error: Any) -> Item:
    """The first diagnostic of an MLIR error; stage "type" where an operand's type cannot exist."""
    found = error.error_diagnostics
    message = found[0].message if found else str(error)
    return {"error": message, "stage": "verifier" if message.startswith("'cute.") else "type"}


def python_error(error: BaseException) -> Item:
    """The verifier's own error where one lies under what Python raised, else Python's."""
    from cutlass._mlir import ir

    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, ir.MLIRError):
            return verifier_error(inner)
        inner = getattr(inner, "cause", None) or inner.__cause__
    return {"error": str(error), "stage": type(error).__name__}


def build(items: list[Item], _size: int) -> Iterator[Item]:
    """The DSL's Python function and the verifier: {"ops": [...]} (the copies built) or {"error", "stage"}."""
    return map(build_one, items)


def build_one(item: Item) -> Item:
    """`build` for one item."""
    from cutlass._mlir import ir

    try:
        module = ir.Module.parse(f"func.func @f({arguments(item)}) {{ return }}")
        emit(item, module.body.operations[0])
        module.operation.verify()
    except Exception as error:
        return python_error(error)
    lines = module.operation.get_asm(use_local_scope=True).splitlines()
    return {"ops": [line.strip() for line in lines if "cute.copy" in line]}


def arguments(item: Item) -> str:
    """The operands as a function's arguments: %src, %dst, %pred where there is one, the atom's fields."""
    operands = [f"%{name}: {item[name]}" for name in ("src", "dst", "pred") if item.get(name)]
    return ", ".join([*operands, *(f"%field{i}: {kind}" for i, (_, kind) in enumerate(fields(item)))])


def fields(item: Item) -> list[tuple[str, str]]:
    """What an atom carries besides its type, as (attribute, type): barriers, masks and ranks."""
    atom = item.get("atom") or ""
    found = []
    for family, name, kind, flag in FIELDS:
        if f"atom.{family}<" in atom and flag in atom:
            found.append((f"#cute_nvgpu.atom_copy_field_{name}>", kind))
    return found


def emit(item: Item, function: Any) -> None:
    """Call the DSL's own Python function on the arguments of `function`, before its return."""
    from cutlass import cute
    from cutlass._mlir import ir
    from cutlass._mlir.dialects.cute_nvgpu import atom_set_value
    from cutlass.cute.atom import make_atom
    from cutlass.cute.tensor import _Tensor

    block = function.regions[0].blocks[0]
    with ir.InsertionPoint(block.operations[len(block.operations) - 1]):
        values = list(block.arguments)
        extra = fields(item)
        given = [values.pop() for _ in extra][::-1]
        src, dst, *rest = (_Tensor(value) for value in values)
        pred = rest[0] if rest else None
        call = item["call"]
        if call == "autovec_copy":
            named = {"l1c_evict_priority": cute.nvgpu.CacheEvictionPriority.EVICT_FIRST}
            cute.autovec_copy(src, dst, **(named if item.get("evict") else {}))
        elif call == "basic_copy":
            cute.basic_copy(src, dst)
        elif call == "basic_copy_if":
            cute.basic_copy_if(pred, src, dst)
        else:
            made = raw(make_atom(ir.Type.parse(item["atom"])))
            for (attribute, _), value in zip(extra, given, strict=True):
                made = raw(atom_set_value(made, ir.Attribute.parse(attribute), raw(value)))
            atom = Atom(made)
            if call == "copy":
                cute.copy(atom, src, dst, pred=pred)
            elif cute.rank(src) == cute.rank(dst) == 1:
                cute.copy_atom_call(atom, src, dst, pred=pred)
            else:  # the loop of `cute.copy(unroll_factor=...)` around copy_atom_call
                cute.copy(atom, src, dst, pred=pred, unroll_factor=item["rest"])


def raw(value: Any) -> Any:
    """The MLIR value under what the DSL's casters make of one."""
    from cutlass._mlir import ir

    if isinstance(value, ir.Value):
        return value
    return value.value if hasattr(value, "value") else value.ir_value()


class Atom:
    """As much of a `cute.CopyAtom` as the copy functions use: a value of the atom's type."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def _unpack(self, **_: Any) -> Any:
        return self.value


def lower(items: list[Item], size: int) -> Iterator[Item]:
    """{"ptx", "error"} of each item; `size` of them share a module."""
    for i in range(0, len(items), size):
        group = items[i : i + size]
        answers = lower_module(group)
        if answers is None:  # one of them fails the whole module
            for item in group:
                yield from lower_module([item]) or []
        else:
            yield from answers


def lower_module(items: list[Item]) -> list[Item] | None:
    """The kernels `k0`, `k1`, ... of one module; None where several were given and the pipeline failed.

    The pipeline leaves the PTX in the working directory, which is the session's own.
    """
    from cutlass._mlir import ir, passmanager

    kernels = "\n".join(
        f"cuda.kernel @k{i}({arguments(item)}) attributes "
        "{cute.kernel, gpu.kernel, nvvm.reqntid = array<i32: 1, 1, 1>} { return }"
        for i, item in enumerate(items)
    )
    error = ""
    try:
        module = ir.Module.parse(
            f"module attributes {{gpu.container_module}} {{ gpu.module @m {{{kernels}}} }}"
        )
        gpu_module = module.body.operations[0].regions[0].blocks[0].operations
        for i, item in enumerate(items):
            emit(item, gpu_module[i])
        module.operation.verify()
        pipeline = PIPELINE.format(path=Path.cwd() / "m", arch=items[0]["arch"])
        passes = passmanager.PassManager.parse(pipeline)
        passes.enable_verifier(False)
        passes.run(module.operation)
    except Exception as caught:
        if len(items) > 1:
            return None
        error = python_error(caught)["error"]
    dumps = list(Path.cwd().glob("*.ptx"))
    ptx = dumps[0].read_text() if dumps else ""
    for dump in dumps:
        dump.unlink()
    return [{"ptx": entry_of(ptx, f"k{i}"), "error": error} for i in range(len(items))]


def entry_of(ptx: str, name: str) -> str:
    """The text of one kernel out of a module's PTX, from `.visible .entry` to its closing brace."""
    start = ptx.find(f".visible .entry {name}(")
    end = ptx.find("\n}", start)
    return ptx[start : end + 2] if start >= 0 else ""


def tma(items: list[Item], _size: int) -> Iterator[Item]:
    """TMA copies of whole tensors, through `make_tiled_tma_atom`, `tma_partition` and `cute.copy`."""
    from layoutcheck.dsl.tensor_map import tma_one

    return map(tma_one, items)


def passes(items: list[Item], _size: int) -> Iterator[Item]:
    """Traced modules as integer arithmetic: {"lowered", ...} or {"problem"}."""
    from layoutcheck.dsl.lowered.passes import lower as lower_traced

    return map(lower_traced, items)


TASKS: dict[str, Callable[..., Iterator[Item]]] = {
    "verify": verify,
    "parse": parse,
    "build": build,
    "lower": lower,
    "tma": tma,
    "passes": passes,
}

if __name__ == "__main__":
    main()
