"""NVIDIA's own passes, run on a traced module: the kernel as integer arithmetic on the thread index.

Runs in the DSL's worker process: passes may abort, and their names are private and may change. What comes out
is `arith`, `llvm` and `nvvm`, in which each memory instruction still carries the tag of the operation that it
comes from, as its location ("cute.copy#3" is the fourth `cute.copy` of the text).

The host's function stays, so that its arithmetic on the kernel's arguments can be evaluated; its launch is
renamed first, for the passes would refuse a launch whose kernel has been lowered before it.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from layoutcheck.brackets import split
from layoutcheck.dsl.tagged import SHARED_SIZE, TAGGED
from layoutcheck.dsl.tasks import Item, earlier

_NO_SUCH_PASS = re.compile(r"'([\w-]+)' does not refer to a registered pass")

RENAMED = {"cuda.launch_ex": "layoutcheck.launch", "cuda.launch": "layoutcheck.launch",
           "cute.kernel_smem_size": "layoutcheck.smem_size"}  # fmt: skip

# `cute-remove-static-args` is left out, so that a launch fits its kernel.
_COPY = re.compile(r'\s*"(cute\.copy(?:_atom_call)?)"\(([^()]*)\)(.*?) : \((.*)\) -> \(\)')
_FOLD = "canonicalize,cse,cute-desugar,canonicalize,cute-fold-static,canonicalize,cse"
_TO_ARITH = (
    "convert-cute-types-in-scf-ops,convert-cute-to-core,canonicalize,cse,core-to-arith,canonicalize,cse"
)
WITH_HOST = (
    f"builtin.module({_FOLD},any(cute-expand-ops),cute-desugar,cute-fold-static,"
    f"gpu.module({_TO_ARITH}),func.func({_TO_ARITH}))"
)
KERNELS_ONLY = (
    f"builtin.module({_FOLD},gpu.module(cute-expand-ops),cute-desugar,cute-fold-static,"
    f"gpu.module({_TO_ARITH}))"
)
# Where `convert-cute-to-core` is missing (DSL 4.3 to 4.5), with the host's code and without.
_TO_LLVM = "canonicalize,cse,convert-cute-types-in-scf-ops,canonicalize,cse,convert-to-llvm,canonicalize,cse"
_TO_CORE = "convert-cute-to-core"
EARLIER_WITH_HOST = f"builtin.module({_FOLD},any(cute-expand-ops),cute-desugar,cute-fold-static,{_TO_LLVM})"
EARLIER_KERNELS_ONLY = (
    f"builtin.module({_FOLD},gpu.module(cute-expand-ops),cute-desugar,cute-fold-static,{_TO_LLVM})"
)
_LATER = "core-to-arith"  # DSL 4.8's; before, `convert-cute-to-core` makes arith of everything
PRELOWER = "builtin.module(pyir-prelower)"  # the PyIR frontend's references to values
PLACES = "builtin.module(infer-kernel-smem-usage)"  # where shared allocations begin: `cute-to-nvvm` has it
_NAME = "layoutcheck.name"
_GIVEN_NAME = re.compile(rf'{re.escape(_NAME)} = "([^"]*)"(?:, )?')
_LOCATION = re.compile(r"loc\((?:unknown|\"[^\"]*\")\)\Z")
_OFFSET = re.compile(r'!cute\.int_tuple<"([0-9]+)">\Z')


def lower_traced(item: Item) -> Item:
    """`{"module": text}` -> `{"lowered", "host", "refused", "seconds"}`, or `{"problem"}` in words.

    "unordered" and "unfollowed" say why the order of accesses, or elements, are not followed in the text.

    `text` is a module in generic form; its locations are of no use here and cost time. "refused" are the tags
    of copies that the verifier refuses: they are left out, and the others lowered.
    """
    start = time.process_time()
    answer = _lower(item)
    return {**answer, "seconds": time.process_time() - start}


def _lower(item: Item) -> Item:
    from cutlass._mlir import ir

    text = item["module"]
    for old, new in RENAMED.items():
        text = text.replace(f'"{old}"(', f'"{new}"(')
    if _is_earlier():
        text = earlier.held(text)
    refused: list[str] = []
    with ir.Context() as context, ir.Location.unknown():
        context.enable_multithreading(False)
        context.allow_unregistered_dialects = True
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError as error:
            text, refused = _without_refused(ir, text)
            if not refused:
                return {"problem": f"the module does not verify: {_first(error)}"}
            try:
                module = ir.Module.parse(text)
            except ir.MLIRError as again:
                return {"problem": f"the module does not verify: {_first(again)}", "refused": refused}
        for host in (True, False):
            try:
                lowered = _run(ir, module if host else ir.Module.parse(text), host, refused)
            except Exception as error:
                reason = _first(error)
                missing = _NO_SUCH_PASS.search(reason)
                if missing is not None:
                    return {"problem": f"this DSL lacks the pass '{missing[1]}'", "refused": refused}
                if not host:
                    return {"problem": f"the passes fail: {reason}", "refused": refused}
                continue
            answer = {"lowered": lowered, "host": host, "refused": refused}
            return {**answer, **earlier.unfit(lowered)} if _is_earlier() else answer
    raise AssertionError("unreachable")


@cache
def _is_earlier() -> bool:
    """Whether this DSL is one of those that `earlier` speaks of."""
    from cutlass._mlir import ir, passmanager

    with ir.Context():
        try:
            passmanager.PassManager.parse(f"builtin.module({_TO_CORE})")
        except ValueError as error:
            return _NO_SUCH_PASS.search(str(error)) is not None
    return False


def _run(ir: Any, module: Any, host: bool, refused: list[str]) -> str:
    from cutlass._mlir import passmanager

    def run_passes(pipeline: str, on: Any = None) -> None:
        try:
            passes = passmanager.PassManager.parse(pipeline)
        except ValueError as error:
            if _LATER not in str(error):
                raise
            passes = passmanager.PassManager.parse(pipeline.replace(f"{_LATER},", ""))
        passes.enable_verifier(False)  # as the DSL has it: what it compiles need not verify between passes
        passes.run((module if on is None else on).operation)

    run_passes("builtin.module(strip-debuginfo)")
    names, allocated = _tag(ir, module, refused)
    module = _named(ir, module)
    if allocated:
        _place(ir, module, run_passes)
        module = _named(ir, module)
    if any(name.startswith("pyir.") for name in names):
        run_passes(PRELOWER)
    if not host:
        for op in list(module.body.operations):
            if op.operation.name == "func.func":
                op.operation.erase()
    if _is_earlier():
        functions = _functions(module)
        run_passes(EARLIER_WITH_HOST if host else EARLIER_KERNELS_ONLY)
        return earlier.as_later(_printed(module), functions)
    run_passes(WITH_HOST if host else KERNELS_ONLY)
    return _printed(module)


def _functions(module: Any) -> dict[str, str]:
    """The operation of each function of the module and of its GPU modules, by the function's name."""
    return {
        op.attributes["sym_name"].value: op.name
        for top in (module.operation, *_inside(module))
        if top.name in ("builtin.module", "gpu.module")
        for op in _inside(top)
        if "sym_name" in op.attributes
    }


def _printed(module: Any) -> str:
    """In generic form, with each operation's location."""
    text: str = module.operation.get_asm(
        print_generic_op_form=True, enable_debug_info=True, use_local_scope=True
    )
    return text


def _tag(ir: Any, module: Any, refused: list[str]) -> tuple[set[str], int]:
    """Give each operation of interest its tag for a location; the refused, which are gone, keep theirs.

    The names of all operations, and the number of shared allocations, which get "smem#0" and so on.
    """
    names: set[str] = set()
    allocated = 0
    seen: Counter[str] = Counter()
    gone = set(refused)

    def visit(op: Any) -> Any:
        nonlocal allocated
        name = op.name
        names.add(name)
        if TAGGED.match(name):
            while f"{name}#{seen[name]}" in gone:
                seen[name] += 1
            _name(ir, op, f"{name}#{seen[name]}")
            seen[name] += 1
        elif _in_shared(op):
            _name(ir, op, f"smem#{allocated}")
            allocated += 1
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return names, allocated


def _in_shared(op: Any) -> bool:
    return op.name == "cute.memref.alloca" and ", smem" in str(op.results[0].type)


def _sets_locations(ir: Any) -> bool:
    """Whether the location of an operation can be changed, as from DSL 4.6 on."""
    return ir.Operation.location.fset is not None


def _name(ir: Any, op: Any, name: str) -> None:
    """Make a name, "" for none, the location of an operation; if it cannot be changed, `_named` does."""
    if _sets_locations(ir):
        op.location = ir.Location.name(name, ir.Location.unknown()) if name else ir.Location.unknown()
    else:
        op.attributes[_NAME] = ir.StringAttr.get(name)


def _named(ir: Any, module: Any) -> Any:
    """The module with the names that `_name` left in attributes as locations."""
    if _sets_locations(ir):
        return module
    lines = _printed(module).split("\n")
    for i, line in enumerate(lines):
        found = _GIVEN_NAME.search(line)
        if found is not None:
            said = f'loc("{found[1]}")' if found[1] else "loc(unknown)"
            lines[i] = _LOCATION.sub(said, line[: found.start()] + line[found.end() :])
    return ir.Module.parse("\n".join(lines))


def _place(ir: Any, module: Any, run_passes: Callable[[str, Any], None]) -> None:
    """Say where the compiler puts each shared allocation, as its location ("smem@96"), and what all take.

    On a copy the pass makes offsets of them, at the begin of each kernel, and a number of each kernel's size.
    Where the pass is missing or fails, nothing is said.
    """
    copy = module.operation.clone()
    functions = [op.regions[0].blocks for op in _inside(copy) if op.name == "func.func"]
    hosts = [blocks[0] for blocks in functions if len(blocks)]
    for kernel in _kernels(copy) if hosts else ():
        symbols = [kernel.parent.attributes["sym_name"].value, kernel.attributes["sym_name"].value]
        ir.Operation.create(
            "cute.kernel_smem_size",
            results=[ir.IntegerType.get_signless(64)],
            attributes={"kernel_name": ir.SymbolRefAttr.get(symbols)},
            loc=ir.Location.name(symbols[1]),
            ip=ir.InsertionPoint.at_block_begin(hosts[0]),
        )
    with contextlib.suppress(ValueError, ir.MLIRError):  # a DSL without the pass, or a module that it refuses
        run_passes(PLACES, copy)
    places: dict[str, str] = {}
    for op in (op for kernel in _kernels(copy) for op in kernel.regions[0].blocks[0].operations):
        if op.operation.name == "cute.make_int_tuple" and (offset := _OFFSET.match(str(op.results[0].type))):
            places.setdefault(str(op.location), offset[1])

    def name(op: Any) -> Any:
        if _in_shared(op):
            place = places.get(str(op.location))
            _name(ir, op, "" if place is None else f"smem@{place}")
        return ir.WalkResult.ADVANCE

    module.operation.walk(name)
    sizes = {
        str(op.location): op.operation.attributes["value"]
        for op in (hosts[0].operations if hosts else ())
        if op.operation.name == "arith.constant"
    }
    for kernel in _kernels(module):
        size = sizes.get(str(ir.Location.name(kernel.attributes["sym_name"].value)))
        if size is not None:
            kernel.attributes[SHARED_SIZE] = size


def _kernels(module: Any) -> Iterator[Any]:
    for top in _inside(module):
        yield from (op for op in _inside(top) if op.name == "cuda.kernel") if top.name == "gpu.module" else ()


def _inside(op: Any) -> list[Any]:
    """The operations of the one block of a module."""
    return [one.operation for one in op.operation.regions[0].blocks[0].operations]


def _without_refused(ir: Any, text: str) -> tuple[str, list[str]]:
    """The module without the copies that the verifier refuses, each asked by itself; their tags."""
    lines, seen, refused = text.split("\n"), Counter[str](), []
    for i, line in enumerate(lines):
        match = _COPY.match(line)
        if match is None:
            continue
        name = match[1]
        try:
            ir.Module.parse(_alone(match))
        except ir.MLIRError:
            refused.append(f"{name}#{seen[name]}")
            lines[i] = ""
        seen[name] += 1
    return "\n".join(lines), refused


def _alone(copy: re.Match[str]) -> str:
    """A module that holds nothing but one copy, its operands the arguments of a function."""
    name, operands, attributes, types = copy.groups()
    kinds = split(types)
    values = [f"%a{i}" for i in range(len(split(operands)))]
    arguments = ", ".join(f"{v}: {t}" for v, t in zip(values, kinds, strict=True))
    return (
        f'"builtin.module"() ({{ "func.func"() <{{function_type = ({types}) -> (), sym_name = "f"}}> ({{\n'
        f'^bb0({arguments}):\n"{name}"({", ".join(values)}){attributes}: ({types}) -> ()\n'
        f'"func.return"() : () -> ()\n}}) : () -> () }}) : () -> ()'
    )


def _first(error: BaseException) -> str:
    found = getattr(error, "error_diagnostics", None)
    text = found[0].message if found else str(error)
    if "Traceback (most recent call last)" in text:  # of a callback; its last line is the reason
        text = text.strip().splitlines()[-1]
    return " ".join(text.split())[:400]
