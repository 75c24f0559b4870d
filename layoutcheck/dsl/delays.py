"""Delays put into the kernels that a process builds: `nanosleep` in chosen warps and blocks, at chosen lines.

Before every operation of such a line that moves or orders memory (`tagged`) stands inline PTX, which the
compiler moves no memory access across. It reads its line's row of a table in global memory, so that a kernel
is compiled once and runs with many delays. Bit `w % 32` of the row's first word says whether warp w of a
block sleeps, bit `b % 32` of the second the same of block b along x; the third is the time in ns. PTX ISA,
nanosleep: it suspends a thread for 0 to twice the time, and the time is 1 ms at most.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from layoutcheck.dsl.tagged import TAGGED

Place = tuple[str, int]  # file and line
Row = tuple[int, int, int]  # warps, blocks, ns
REST: Row = (0, 0, 0)
_ROW_BYTES = 16
_PTX = (
    "{{ .reg .pred p; .reg .b32 a, b, c, w, k, n, u; .reg .b64 t; mov.b64 t, {row}; "
    "ld.volatile.global.v4.b32 {{w, k, n, u}}, [t]; "
    "mov.u32 a, %tid.z; mov.u32 b, %ntid.y; mov.u32 c, %tid.y; "
    "mad.lo.u32 a, a, b, c; mov.u32 b, %ntid.x; mov.u32 c, %tid.x; mad.lo.u32 a, a, b, c; shr.u32 a, a, 5; "
    "and.b32 a, a, 31; shr.u32 w, w, a; mov.u32 a, %ctaid.x; and.b32 a, a, 31; shr.u32 k, k, a; "
    "and.b32 w, w, k; and.b32 w, w, 1; setp.ne.u32 p, w, 0; @p nanosleep.u32 n; }}"
)


class DriverError(Exception):
    """The CUDA driver answers with an error; the message names it."""


class Table:
    """The rows of all places, in the memory of device 0; in the host's where there is no GPU to read them."""

    def __init__(self, places: int) -> None:
        self.rows = (ctypes.c_uint32 * (4 * max(1, places)))()
        self.address = ctypes.addressof(self.rows)
        self._context = ctypes.c_void_p()
        self._cuda: ctypes.CDLL | None = None
        try:
            self._cuda = ctypes.CDLL("libcuda.so.1")
        except OSError:
            return
        device, found = ctypes.c_int(), ctypes.c_uint64()
        self._call("cuInit", 0)
        self._call("cuDeviceGet", ctypes.byref(device), 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        with self._current():
            self._call("cuMemAlloc_v2", ctypes.byref(found), ctypes.c_size_t(ctypes.sizeof(self.rows)))
        self.address = found.value

    def set(self, rows: Sequence[Row]) -> None:
        """Write all rows. Raises DriverError."""
        for i, row in enumerate(rows):
            self.rows[4 * i : 4 * i + 3] = [*row]
        if self._cuda is not None:
            size = ctypes.c_size_t(ctypes.sizeof(self.rows))
            with self._current():
                self._call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.address), self.rows, size)

    def finish(self) -> None:
        """Wait for all that runs on device 0. Raises DriverError where a kernel has failed."""
        if self._cuda is not None:
            with self._current():
                self._call("cuCtxSynchronize")

    @contextlib.contextmanager
    def _current(self) -> Iterator[None]:
        self._call("cuCtxPushCurrent_v2", self._context)
        try:
            yield
        finally:
            self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            if self._cuda is not None:
                self._cuda.cuGetErrorName(status, ctypes.byref(text))
            raise DriverError(f"{name}: {(text.value or b'?').decode()}")


def inserter(
    places: Sequence[Place], address: int, told: Callable[[str, dict[int, int]], None]
) -> Callable[[Any, str], None]:
    """What puts delays at `places` into a module that was traced; their rows begin at `address`.

    `told` gets the kernel's name, and how many stand at each place, by its number.
    """
    from layoutcheck.sources.printed import where_of

    numbers = {place: i for i, place in enumerate(places)}

    def insert(module: Any, kernel: str) -> None:
        ir = sys.modules["cutlass._mlir.ir"]
        found: list[tuple[Any, int]] = []

        def visit(op: Any) -> Any:
            if TAGGED.match(op.name):
                frames = where_of(str(op.location))
                number = numbers.get((frames[0].file, frames[0].line)) if frames else None
                if number is not None:
                    found.append((op, number))
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
        for op, number in found:
            _before(ir, op, address + _ROW_BYTES * number)
        told(kernel, dict(Counter(number for _, number in found)))

    return insert


def _before(ir: Any, op: Any, row: int) -> None:
    llvm = importlib.import_module("cutlass._mlir.dialects.llvm")
    with op.context, ir.Location.unknown(), ir.InsertionPoint(op):
        llvm.inline_asm(
            None, [], _PTX.format(row=row), "~{memory}", has_side_effects=True,
            asm_dialect=llvm.AsmDialect.AD_ATT,
        )  # fmt: skip
