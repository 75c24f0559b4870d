"""Every module that the DSL builds in this process, as printed IR, and what the verifier says of its copies.

`watch(record)` wraps `BaseDSL.build_module`, which has kept its signature since 4.3.5 and runs between
tracing and the verifier, so that a copy about to be refused is seen too; and `generate_mlir` around it, where
the Python stacks of operations are switched on and, with `stop`, the build ends. Only names, locations and
the printed text of a module are read: touching the operands of a traced operation makes the DSL's casters
emit operations of their own, which corrupts the heap (measured).
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import logging
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from layoutcheck.dsl.built import COPIES, locations_of, plain, refusals_of, sites_of
from layoutcheck.dsl.called import Called, Calls, Compiled, benchmarks, values_of
from layoutcheck.dsl.imports import uncollected, when_imported
from layoutcheck.dsl.loaded import Loaded, watch_loads
from layoutcheck.dsl.tagged import TAGGED
from layoutcheck.dsl.true_integers import writes_integers
from layoutcheck.places import in_library
from layoutcheck.versions import installed, untraceable

DSL, HOME = "cutlass", "cutlass.base_dsl.dsl"
OPERATIONS, ORDERING = "cutlass._mlir.dialects.cute", "cutlass._mlir.dialects.nvvm"
ELEMENTS = "cutlass._mlir.dialects.llvm"
STACK_DEPTH = 24  # Python frames kept with each copy; leaves the PTX as it is (measured)
# With any other operation: the user's line; its whole stack would be half of what watching costs.
OTHER_DEPTH = 1
FEW_FRAMES = 8  # with accesses of single elements: a helper and who calls it
PRODUCTS = ("cute.gemm", "cute.mma_atom_call")
_DYNAMIC = ("funcBody", "args", "kwonlyargs", "sig")  # what the DSL tells dynamic arguments by
_UNSEEN = "the build was not watched: the program has replaced BaseDSL.build_module"
INTERNAL = "<layoutcheck>"  # the DSL (4.8) takes files of such names for no user's


@dataclass(frozen=True, slots=True)
class Built:
    """A module as the DSL traced it: `text` in MLIR's generic form, `locations` those of its copies in order.

    `sites` says of every operation that moves or orders memory (`dsl/tagged.py`) which of `places` it is at.

    It is recorded twice: as traced, so that nothing is lost if the verifier dies of it; then, once that has
    come to its end, with an empty text and `refused`, the (index, message) of every copy that is refused, and
    `others`, the (name, message, location) of every other operation.

    `caller` is the user's (file, line) that had it built: frames from there on are not of what was traced.
    `host` is the function that was built, as (file, line).
    """

    number: int
    kernel: str
    arch: str
    text: str
    locations: tuple[str, ...] = ()
    sites: dict[str, tuple[int, ...]] = field(default_factory=dict)
    places: tuple[str, ...] = ()
    refused: tuple[tuple[int, str], ...] = ()
    others: tuple[tuple[str, str, str], ...] = ()
    caller: tuple[str, int] | None = None
    host: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The DSL that was imported is of a version whose builds cannot be watched; `message` says which can."""

    message: str


@dataclass(frozen=True, slots=True)
class Unbuilt:
    """A build that an exception ended before there was a module: a program may go on behind it.

    `host` is the function that was to be built, as (file, line).
    """

    error: Exception
    host: tuple[str, int] | None = None


Event: TypeAlias = "Built | Called | Loaded | Unbuilt | Unsupported"
Record = Callable[[Event], None]
Change = Callable[[Any, str], None]

_numbers = itertools.count(1)
_stopping: ContextVar[bool] = ContextVar("layoutcheck_stopping", default=False)
_building: ContextVar[tuple[int | None, bool, tuple[str, int] | None]] = ContextVar(
    "layoutcheck_building", default=(None, True, None)
)
"""The number of the module that was built last, whether it may write integers, and of what function it is."""


class _Stop(BaseException):
    """Ends a build after its trace."""


class NotLaunched:
    """Stands where a compiled function was asked for: calling it does nothing, and so does all it offers.

    `calls` counts what was not launched in this process, `left_out` other results that are not there, and
    `building` what is being built.
    """

    calls = left_out = building = 0
    __ptx__ = __cubin__ = __mlir__ = None  # what the DSL says where it was not asked to keep them

    def __init__(self, told: Calls | None = None) -> None:
        self._told = told

    def __call__(self, *args: Any, **named: Any) -> None:
        """Nothing, but counted, and what is given is told. Raises what the DSL does of tensors' alignment."""
        for value in values_of((*args, *named.values())):
            if hasattr(value, "_dltensor_wrapper"):
                value.__c_pointers__()
        NotLaunched.calls += 1
        if self._told is not None:
            self._told.take(args, named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())


def unsupported() -> str:
    """Why the installed DSL cannot be watched, "" where it can."""
    return untraceable(installed())


@contextlib.contextmanager
def watch(record: Record, *, stop: bool = False, change: Change | None = None) -> Iterator[None]:
    """Call `record` for every module built while this lasts, whether or not the DSL is imported by then.

    `stop` ends every build after its trace: nothing is compiled, and what would be launched does nothing.
    `change` gets every module, and its kernel's name, after it was recorded and before it is compiled.
    """
    undo = contextlib.ExitStack()

    def wrap(module: Any) -> None:
        problem = unsupported()
        if problem:
            record(Unsupported(problem))
        else:
            undo.callback(_wrap(module, record, stop, change))

    with undo:
        undo.callback(when_imported(DSL, lambda _: None, uncollected))
        undo.callback(when_imported(HOME, wrap))
        for dialect in (OPERATIONS, ORDERING, ELEMENTS):
            undo.callback(when_imported(dialect, lambda module: undo.callback(_deepen(module))))
        undo.callback(watch_loads(record, _internal))
        yield


def _wrap(module: Any, record: Record, stop: bool, change: Change | None = None) -> Callable[[], None]:
    """Put ourselves around the builds; the function that takes us away again."""
    owner = module.BaseDSL
    build, generate = owner.build_module, owner.generate_mlir
    signature, compiled = inspect.signature(generate), Compiled(_internal)
    _hide_library_frames(module)

    @_internal
    def build_module(self: Any, built: Any, function_name: str) -> Any:
        refused = False
        with contextlib.suppress(Exception):  # an observer's trouble is no reason for a build to fail
            refused = _observe(self, built, str(function_name), record)
        if stop and _stopping.get():
            if not refused:
                build(self, built, function_name)  # which raises where the module as a whole is not valid
            raise _Stop
        if change is not None:
            change(built, str(function_name))
        return build(self, built, function_name)

    @_internal
    def generate_mlir(self: Any, *args: Any, **named: Any) -> Any:
        code = getattr(signature.bind(self, *args, **named).arguments["funcBody"], "__code__", None)
        benchmarks.begin(code)
        host = None if code is None else (code.co_filename, code.co_firstlineno)
        token, before = _stopping.set(True), _building.set((None, True, host))
        NotLaunched.building += 1
        try:
            _hide_patches()
            with _callers_told(self.envar), _unprinted(self):
                made = generate(self, *args, **named)
            if stop:
                raise RuntimeError(_UNSEEN)
            told = _tell_call(self, signature, args, named, record)
            if told is not None:
                compiled.hear(made, told)
            return made
        except _Stop:
            told = _tell_call(self, signature, args, named, record)
            if told is not None:
                return NotLaunched(told)
            NotLaunched.calls += 1
            return None
        except Exception as error:
            _tell_unbuilt(error, record)
            raise
        finally:
            NotLaunched.building -= 1
            _stopping.reset(token)
            _building.reset(before)

    owner.build_module, owner.generate_mlir = build_module, generate_mlir

    def undo() -> None:
        owner.build_module, owner.generate_mlir = build, generate
        compiled.undo()

    return undo


@contextlib.contextmanager
def _callers_told(envar: Any) -> Iterator[None]:
    """Operations have the callers of their line, unless the program itself says how many."""
    depth = getattr(envar, "loc_tracebacks", None)
    if depth == 0 and not getattr(envar, "lineinfo", False):
        deep = getattr(sys.modules.get(OPERATIONS), "copies_are_deep", False)
        envar.loc_tracebacks = OTHER_DEPTH if deep else STACK_DEPTH
    try:
        yield
    finally:
        if depth == 0:
            envar.loc_tracebacks = depth


class _Unprinted:
    """A module in the making, which is not written out where it is put into a text."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


@contextlib.contextmanager
def _unprinted(dsl: Any) -> Iterator[None]:
    """The DSL logs its module before each kernel, and writes it out for that even where no log is kept."""
    enter: Any = getattr(dsl, "_enter_gpu_module", None)

    def enter_unprinted() -> Any:
        module, dsl.gpu_module = dsl.gpu_module, _Unprinted(dsl.gpu_module)
        try:
            return enter()
        finally:
            dsl.gpu_module = module

    if not logging.getLogger(dsl.name).isEnabledFor(logging.INFO):
        dsl._enter_gpu_module = enter_unprinted
    try:
        yield
    finally:
        vars(dsl).pop("_enter_gpu_module", None)


def _tell_unbuilt(error: Exception, record: Record) -> None:
    """Tell what ended the outermost build, if there was no module yet."""
    if _building.get()[0] is None and NotLaunched.building == 1:
        with contextlib.suppress(Exception):
            record(Unbuilt(error, _building.get()[2]))


def _tell_call(dsl: Any, signature: inspect.Signature, args: Any, named: Any, record: Record) -> Calls | None:
    """Tell the call that built a module; where it was only compiled, what is to be told of its calls."""
    given = signature.bind(dsl, *args, **named).arguments
    number, writes, _ = _building.get()
    told = Calls(number, record, writes)
    if given.get("compile_only"):
        return told
    with contextlib.suppress(Exception):  # constants, which the module does not take, are left out
        told.take(*dsl.extract_dynamic_args(*(given[name] for name in _DYNAMIC)))
    return None


def _deepen(module: Any) -> Callable[[], None]:
    """Have operations of a dialect keep more of their Python stack than one frame; as `_wrap`.

    Where the DSL's frames have no limit that can be changed (before 4.6.1) all stay as they are.
    """
    frames = getattr(sys.modules["cutlass._mlir.ir"], "_globals", None)
    if not hasattr(frames, "set_loc_tracebacks_frame_limit"):
        return lambda: None
    undo, names = contextlib.ExitStack(), set[str]()
    for owner in dict.fromkeys(one for one in vars(module).values() if isinstance(one, type)):
        name = str(getattr(owner, "OPERATION_NAME", ""))
        if TAGGED.match(name):
            undo.callback(_deep(owner, frames, _depth(name)))
            names.add(name)
    module.copies_are_deep = names >= set(COPIES)
    undo.callback(setattr, module, "copies_are_deep", False)
    return undo.close


def _depth(name: str) -> int:
    """The frames that an operation keeps: its whole stack where there is little of it, as of barriers."""
    return STACK_DEPTH if name in (*COPIES, *PRODUCTS) or name.startswith("nvvm.") else FEW_FRAMES


def _deep(owner: Any, frames: Any, most: int) -> Callable[[], None]:
    """One kind of operation, whatever the depth is when it is made (0: no stacks at all)."""
    build = owner.__init__

    @_internal
    def __init__(self: Any, *args: Any, **named: Any) -> None:  # noqa: N807
        depth = frames.loc_tracebacks_frame_limit()
        frames.set_loc_tracebacks_frame_limit(max(depth, most))
        try:
            build(self, *args, **named)
        finally:
            frames.set_loc_tracebacks_frame_limit(depth)

    owner.__init__ = __init__
    return partial(setattr, owner, "__init__", build)


def _internal(function: Any) -> Any:
    """A function whose frames the DSL takes for its own: an error that it raises names the caller's line."""
    function.__code__ = function.__code__.replace(co_filename=INTERNAL)
    return function


def _hide_library_frames(module: Any) -> None:
    """Keep the DSL's own frames, and ours, out of the Python stacks; before 4.6.1 there are none."""
    with contextlib.suppress(Exception):
        exclude = module.ir._globals.register_traceback_file_exclusion
        for path in (Path(module.__file__).parents[1], Path(__file__).parent):
            exclude(str(path))
        exclude("<frozen ")
        exclude(INTERNAL)


def _hide_patches() -> None:
    """Keep subscripts that a program has put in place of the DSL's (quack does) out of its stacks."""
    tensors = sys.modules.get("cutlass.cute.tensor")
    for owner in ("_Tensor", "TensorSSA"):
        for name in ("__getitem__", "__setitem__"):
            function = getattr(getattr(tensors, owner, None), name, None)
            while function is not None:
                if hasattr(function, "__code__") and not in_library(function.__code__.co_filename):
                    _internal(function)
                function = getattr(function, "__wrapped__", None)


def _observe(dsl: Any, built: Any, kernel: str, record: Record) -> bool:
    """Record a module, and what the verifier refuses in it; whether it refuses any operation."""
    operation = plain(built.operation)
    sites, places = sites_of(operation)
    if not benchmarks.keep(places):
        return False
    text = operation.get_asm(print_generic_op_form=True, use_local_scope=True)
    arch = str(getattr(dsl.envar, "arch", "") or "sm_90a")
    number = next(_numbers)
    host = _building.get()[2]
    _building.set((number, writes_integers(text), host))
    locations = locations_of(operation) if COPIES[0] in text else ()
    record(Built(number, kernel, arch, text, locations, sites, places, caller=_caller(), host=host))
    copies, others = (), ()
    try:
        operation.verify()
    except Exception:
        copies, others = refusals_of(operation)
    record(Built(number, kernel, arch, "", refused=copies, others=others))
    return bool(copies or others)


def _caller() -> tuple[str, int] | None:
    """The user's frame around the build."""
    frame, inside = inspect.currentframe(), True
    while frame is not None:
        code = frame.f_code
        if not inside and code.co_filename != INTERNAL and not in_library(code.co_filename):
            return code.co_filename, frame.f_lineno
        inside = inside and (code.co_name, code.co_filename) != ("generate_mlir", INTERNAL)
        frame = frame.f_back
    return None
