"""A block of threads run through PTX in lockstep, on bytes: a judge that shares no code with layoutcheck.

`run(ptx, arguments, images, ...)` executes a whole kernel for all threads of one block. Registers are numpy
arrays over the threads; threads that branch apart run at the lowest program counter first, which keeps the
barriers of forward control flow. Every memory instruction is logged with its addresses, the threads that took
part, and the number of barriers before it (`epoch`), so that a test can tell the copy from what surrounds it.

It knows what the kernels of this folder compile to; `Unknown` names anything else. cp.async is done at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

U64 = np.uint64
SHARED_WINDOW = 1 << 48  # generic addresses of shared memory; global arenas lie below
LOCAL_WINDOW = 1 << 49
_STEPS = 400_000

_LINE = re.compile(r"(?:@(!?)(%\w+)\s+)?([a-z][\w.:]*)\s*(.*)\Z", re.DOTALL)
_ADDRESS = re.compile(r"\[\s*([%\w$]+)\s*(?:\+\s*(-?\w+))?\s*\]\Z")
_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+(?:\.ptr\S*\s+)*(\w+)(?:\[(\d+)\])?")


class Unknown(Exception):
    """An instruction that this machine does not know."""


class Fault(Exception):
    """What a GPU would raise: a misaligned address, or one outside every image."""


@dataclass(eq=False)
class Access:
    """One memory instruction of all threads: `address` in bytes (of its space), `mask` who executed it."""

    epoch: int
    name: str
    kind: str  # "read" or "write"
    space: str  # "global", "shared", "local"
    width: int
    address: Any
    mask: Any


@dataclass(eq=False)
class Run:
    accesses: list[Access] = field(default_factory=list)
    fault: str = ""


def parameters(ptx: str) -> list[tuple[str, int]]:
    """Name and bytes of each kernel parameter."""
    head = ptx[ptx.index(".entry") : ptx.index("{", ptx.index(".entry"))]
    return [(m[2], int(m[3]) if m[3] else int(m[1][1:]) // 8) for m in _PARAMETER.finditer(head)]


def run(
    ptx: str, arguments: list[bytes], images: dict[int, Any], shared: Any, threads: int, grid_id: int = 0
) -> Run:
    """Execute; `images` maps a global base address to its bytes (changed in place), as `shared` is."""
    machine = Machine(ptx, arguments, images, shared, threads)
    try:
        machine.execute()
    except Fault as fault:
        machine.out.fault = str(fault)
    return machine.out


def _mask_of(width: int) -> Any:
    return U64((1 << width) - 1)


def _signed(value: Any, width: int) -> Any:
    shift = U64(64 - width)
    return (value << shift).astype(np.int64) >> np.int64(64 - width)


class Machine:
    """Registers by name; `Machine(...).execute()` runs the kernel to its end."""

    def __init__(
        self, ptx: str, arguments: list[bytes], images: dict[int, Any], shared: Any, threads: int
    ) -> None:
        self.threads = threads
        self.images = images
        self.shared = shared
        self.out = Run()
        self.registers: dict[str, Any] = {}
        self.tid = np.arange(threads, dtype=U64)
        self.params = {name: data for (name, _), data in zip(parameters(ptx), arguments, strict=True)}
        start = ptx.index("{", ptx.index(".entry"))
        body = ptx[start + 1 : ptx.index("\n}", start)]
        body = re.sub(r"//[^\n]*", "", body)
        self.code: list[tuple[str, str, str, list[str]]] = []
        self.labels: dict[str, int] = {}
        depots = re.findall(r"\.local\s+\.align\s+\d+\s+\.b8\s+(\w+)\[(\d+)\]", body)
        self.local_names: dict[str, int] = {}
        size = 0
        for name, count in depots:
            self.local_names[name] = size
            size += (int(count) + 15) // 16 * 16
        self.local = np.zeros((threads, max(size, 16)), np.uint8)
        for raw in re.split(r";|(?<=:)\s*\n", body):
            text = raw.strip()
            while (label := re.match(r"(\$[\w$]+):\s*", text)) is not None:
                self.labels[label[1]] = len(self.code)
                text = text[label.end() :]
            if not text or text.startswith("."):
                continue
            text = text.strip("{} \n") if text[0] in "{}" else text
            found = _LINE.match(text)
            if found is None:
                if text in ("{", "}", ""):
                    continue
                raise Unknown(text[:80])
            self.code.append((found[1] or "", found[2] or "", found[3], _split(found[4])))
        self.pc = np.zeros(threads, np.int64)
        self.epoch = np.zeros(threads, np.int64)

    def execute(self) -> None:
        end = len(self.code)
        for _ in range(_STEPS):
            at = int(self.pc.min())
            if at >= end:
                return
            here = self.pc == at
            negate, predicate, name, operands = self.code[at]
            mask = here
            if predicate:
                value = self.registers[predicate].astype(bool)
                mask = here & (~value if negate else value)
            words = name.split(".")
            self.pc[here] = at + 1
            if words[0] == "bra":
                self.pc[mask] = self.labels[operands[0]]
            elif words[0] in ("ret", "exit"):
                self.pc[mask] = end
            elif words[0] in ("bar", "barrier"):
                self.epoch[mask] += 1
            elif mask.any():
                self.step(name, words, operands, mask)
        raise Unknown("runs too long")

    # Operands.

    def value(self, operand: str) -> Any:
        if operand in self.registers:
            return self.registers[operand]
        if operand == "%tid.x":
            return self.tid
        if operand in ("%tid.y", "%tid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%cluster_ctarank"):
            return np.zeros(self.threads, U64)
        if operand == "%ntid.x":
            return np.full(self.threads, self.threads, U64)
        if operand in ("%laneid",):
            return self.tid % U64(32)
        if operand.startswith("%"):
            return np.zeros(self.threads, U64)  # undefined: read before written
        if operand in self.local_names:
            return np.full(self.threads, LOCAL_WINDOW + self.local_names[operand], U64)
        if operand.startswith("__dynamic_shmem"):
            return np.zeros(self.threads, U64)
        if re.match(r"0[fFdD]", operand):
            return np.full(self.threads, int(operand[2:], 16), U64)
        if operand in ("true", "false"):
            return np.full(self.threads, int(operand == "true"), U64)
        return np.full(self.threads, int(operand.rstrip("U"), 0) % (1 << 64), U64)

    def put(self, register: str, value: Any, mask: Any) -> None:
        old = self.registers.get(register)
        if old is None:
            old = np.zeros(self.threads, U64)
        self.registers[register] = np.where(mask, value.astype(U64), old)

    def address(self, operand: str) -> Any:
        found = _ADDRESS.match(operand)
        if found is None:
            raise Unknown(operand)
        offset = int(found[2], 0) if found[2] else 0
        return self.value(found[1]) + U64(offset % (1 << 64))

    # Memory.

    def log(self, name: str, kind: str, space: str, width: int, address: Any, mask: Any) -> None:
        epoch = int(self.epoch[mask][0])
        self.out.accesses.append(Access(epoch, name, kind, space, width, address.astype(np.int64), mask))
        wrong = mask & (address % U64(width) != 0)
        if wrong.any():
            t = int(wrong.argmax())
            raise Fault(f"misaligned {name} of thread {t} at {int(address[t]):#x}")

    def window(self, space: str, address: Any, mask: Any) -> tuple[str, Any]:
        if space == "generic":
            first = int(address[mask][0])
            if first >= LOCAL_WINDOW:
                return "local", address - U64(LOCAL_WINDOW)
            if first >= SHARED_WINDOW:
                return "shared", address - U64(SHARED_WINDOW)
            return "global", address
        if space == "shared":
            return "shared", address & U64(0xFFFFFFFF)
        if space == "local":
            return "local", np.where(address >= U64(LOCAL_WINDOW), address - U64(LOCAL_WINDOW), address)
        return space, address

    def load(self, space: str, address: Any, width: int, mask: Any) -> Any:
        """Bytes [thread, width]."""
        out = np.zeros((self.threads, width), np.uint8)
        at = address.astype(np.int64)
        index = at[:, None] + np.arange(width)
        if space == "local" and (index[mask].min() < 0 or index[mask].max() >= self.local.shape[1]):
            raise Fault("a thread's registers read outside")
        if space == "local":
            out[mask] = self.local[np.flatnonzero(mask)[:, None], index[mask]]
            return out
        for base, image in [(0, self.shared)] if space == "shared" else list(self.images.items()):
            inside = mask & (at >= base) & (at + width <= base + len(image))
            out[inside] = image[index[inside] - base]
            mask = mask & ~inside
        if mask.any():
            raise Fault(f"{space} read outside, thread {int(mask.argmax())}, at {int(at[mask.argmax()]):#x}")
        return out

    def store(self, space: str, address: Any, data: Any, mask: Any) -> None:
        width = data.shape[1]
        at = address.astype(np.int64)
        index = at[:, None] + np.arange(width)
        if space == "local" and (index[mask].min() < 0 or index[mask].max() >= self.local.shape[1]):
            raise Fault("a thread's registers written outside")
        if space == "local":
            self.local[np.flatnonzero(mask)[:, None], index[mask]] = data[mask]
            return
        for base, image in [(0, self.shared)] if space == "shared" else list(self.images.items()):
            inside = mask & (at >= base) & (at + width <= base + len(image))
            image[index[inside] - base] = data[inside]
            mask = mask & ~inside
        if mask.any():
            raise Fault(f"{space} write outside, thread {int(mask.argmax())}, at {int(at[mask.argmax()]):#x}")

    def memory(self, name: str, words: list[str], operands: list[str], mask: Any) -> None:
        loads = words[0] == "ld"
        space = next((w for w in words if w in ("global", "shared", "local", "param")), "generic")
        each = _width(words) // 8
        target, where = (operands[0], operands[1]) if loads else (operands[1], operands[0])
        registers = _vector(target)
        if space == "param":
            found = _ADDRESS.match(where)
            assert found is not None
            at = int(found[2], 0) if found[2] else 0
            for i, register in enumerate(registers):
                piece = self.params[found[1]][at + i * each : at + (i + 1) * each]
                self.put(register, np.full(self.threads, int.from_bytes(piece, "little"), U64), mask)
            return
        width = each * len(registers)
        space, address = self.window(space, self.address(where), mask)
        self.log(name, "read" if loads else "write", space, width, address, mask)
        if loads:
            data = self.load(space, address, width, mask)
            for i, register in enumerate(registers):
                self.put(register, _number(data[:, i * each : (i + 1) * each]), mask)
        else:
            data = np.concatenate([_bytes(self.value(r), each) for r in registers], axis=1)
            self.store(space, address, data, mask)

    def cp_async(self, name: str, operands: list[str], mask: Any) -> None:
        target, source = self.address(operands[0]) & U64(0xFFFFFFFF), self.address(operands[1])
        width = int(operands[2], 0)
        taken = self.value(operands[3]) if len(operands) > 3 else np.full(self.threads, width, U64)
        reads = mask & (taken > 0)
        if reads.any():
            self.log(name, "read", "global", width, source, reads)
        elif (mask & (source % U64(width) != 0)).any():
            raise Fault(f"misaligned {name} that reads nothing")  # faults all the same (H200)
        self.log(name, "write", "shared", width, target, mask)
        data = self.load("global", source, width, reads)
        data[np.arange(width)[None, :] >= taken.astype(np.int64)[:, None]] = 0
        self.store("shared", target, data, mask)

    def matrix(self, name: str, words: list[str], operands: list[str], mask: Any) -> None:
        """ldmatrix and stmatrix of 8x8 16-bit elements, plain and .trans (PTX ISA)."""
        if "m8n8" not in words:
            raise Unknown(name)
        load = words[0] == "ldmatrix"
        address = self.address(operands[1] if load else operands[0]) & U64(0xFFFFFFFF)
        registers = _vector(operands[0] if load else operands[1])
        count = len(registers)
        lanes = np.arange(self.threads) % 32
        rows_of = mask & (lanes < 8 * count)
        self.log(name, "read" if load else "write", "shared", 16, address, rows_of)
        lane = np.arange(32)
        transposed = "trans" in words
        row = (
            lane[:, None] // 4 + 0 * np.arange(2)
            if not transposed
            else 2 * (lane[:, None] % 4) + np.arange(2)
        )
        column = (
            2 * (lane[:, None] % 4) + np.arange(2)
            if not transposed
            else lane[:, None] // 4 + 0 * np.arange(2)
        )
        for first in range(0, self.threads, 32):
            warp = slice(first, first + 32)
            if not mask[warp].all():
                if mask[warp].any():
                    raise Fault(f"{name} by part of a warp")
                continue
            only = np.zeros(self.threads, bool)
            for m, register in enumerate(registers):
                starts = address[warp][8 * m : 8 * m + 8].astype(np.int64)
                at = starts[:, None] + np.arange(16)
                if at.min() < 0 or at.max() >= len(self.shared):
                    raise Fault(f"shared {name} outside")
                only[:] = False
                only[warp] = True
                if load:
                    cells = self.shared[at].reshape(8, 8, 2).view(np.uint16)[..., 0].astype(np.uint64)
                    pair = cells[row, column]
                    full = np.zeros(self.threads, U64)
                    full[warp] = pair[:, 0] | pair[:, 1] << U64(16)
                    self.put(register, full, only)
                else:
                    value = self.value(register)[warp]
                    cells = np.zeros((8, 8), np.uint16)
                    cells[row[:, 0], column[:, 0]] = (value & U64(0xFFFF)).astype(np.uint16)
                    cells[row[:, 1], column[:, 1]] = (value >> U64(16) & U64(0xFFFF)).astype(np.uint16)
                    self.shared[at] = cells.view(np.uint8).reshape(8, 16)

    # Everything else.

    def step(self, name: str, words: list[str], operands: list[str], mask: Any) -> None:
        head = words[0]
        if head in ("ld", "st", "ldu"):
            self.memory(name, words, operands, mask)
        elif name.startswith("cp.async.c") and len(operands) >= 3:
            self.cp_async(name, operands, mask)
        elif name.startswith(
            ("cp.async.commit", "cp.async.wait", "fence", "membar", "prefetch", "griddepcontrol")
        ):
            pass
        elif head in ("ldmatrix", "stmatrix"):
            self.matrix(name, words, operands, mask)
        elif head == "mov":
            self.move(words, operands, mask)
        elif head == "shfl":  # only of a value that all lanes share here
            self.put(operands[0].split("|")[0], self.value(operands[1]), mask)
        elif head == "cvta":
            self.cvta(words, operands, mask)
        else:
            self.compute(words, operands, mask)

    def cvta(self, words: list[str], operands: list[str], mask: Any) -> None:
        value = self.value(operands[1])
        base = {"shared": SHARED_WINDOW, "local": 0}.get(words[-2], 0)
        if words[1] == "to":
            value = value - U64(base)
        elif not operands[1].startswith("__") and words[-2] == "local":
            pass
        else:
            value = value + U64(base)
        self.put(operands[0], value, mask)

    def move(self, words: list[str], operands: list[str], mask: Any) -> None:
        targets, sources = _vector(operands[0]), _vector(operands[1])
        total = _width(words)
        if len(sources) > 1:
            each = total // len(sources)
            value = np.zeros(self.threads, U64)
            for i, source in enumerate(sources):
                value = value | (self.value(source) & _mask_of(each)) << U64(i * each)
        else:
            value = self.value(sources[0])
        each = total // len(targets)
        for i, target in enumerate(targets):
            if target != "_":
                self.put(target, value >> U64(i * each) & _mask_of(each), mask)

    def compute(self, words: list[str], operands: list[str], mask: Any) -> None:
        head, target, sources = words[0], operands[0], operands[1:]
        with np.errstate(over="ignore"):
            value = self.result(head, words, sources)
        self.put(target, value, mask)

    def result(self, head: str, words: list[str], sources: list[str]) -> Any:
        kind = words[-1]
        width = 1 if kind == "pred" else _width(words)
        signed = kind.startswith("s")
        raw = [self.value(s) for s in sources]
        if head == "cvt":
            kinds = [w for w in words[1:] if re.fullmatch(r"[bsuf]\d+", w)]
            if any(k.startswith("f") for k in kinds):
                raise Unknown(".".join(words))
            came, to = kinds[1], kinds[0]
            value = raw[0] & _mask_of(int(came[1:]))
            if came.startswith("s"):
                value = _signed(value, int(came[1:])).astype(U64)
            return value & _mask_of(int(to[1:]))
        if head == "selp":
            return np.where(raw[2].astype(bool), raw[0], raw[1]) & _mask_of(width)
        cut = [v & _mask_of(width) for v in raw]
        number = [_signed(v, width) if signed else v for v in cut]
        if head == "setp":
            if len(words) > 3:
                raise Unknown(".".join(words))
            return COMPARE[words[1]](*number[:2]).astype(U64)
        if head in ("mul", "mad"):
            if "wide" in words:
                if not signed:
                    number = [v.astype(U64) for v in number]
                product = number[0] * number[1]
                wide = product.astype(U64) + (raw[2] if head == "mad" else U64(0))
                return wide & _mask_of(2 * width)
            if "hi" in words:
                if width > 32:
                    raise Unknown("mul.hi.64")
                return (number[0] * number[1] >> type(number[0][0])(width)).astype(U64) & _mask_of(width)
            value = cut[0] * cut[1] + (cut[2] if head == "mad" else U64(0))
            return value & _mask_of(width)
        if head in ("shl", "shr"):
            by = raw[1] & U64(0xFFFFFFFF)
            far = by >= U64(width)
            by = np.where(far, U64(width - 1 if signed else 0), by)
            if head == "shl":
                return np.where(far, U64(0), cut[0] << by) & _mask_of(width)
            if signed:
                return (number[0] >> by.astype(np.int64)).astype(U64) & _mask_of(width)
            return np.where(far, U64(0), cut[0] >> by)
        if head == "shf":
            low, high, by = (v & _mask_of(32) for v in raw)
            both = high << U64(32) | low
            by = by % U64(32)
            shifted = both << by >> U64(32) if words[1] == "l" else both >> by
            return shifted & _mask_of(32)
        if head == "prmt":
            both = (cut[1] << U64(32)) | cut[0]
            out = np.zeros(self.threads, U64)
            for i in range(4):
                select = raw[2] >> U64(4 * i) & U64(15)
                byte = both >> (U64(8) * (select & U64(7))) & U64(255)
                sign = np.where(byte & U64(128), U64(255), U64(0))
                out |= np.where(select & U64(8), sign, byte) << U64(8 * i)
            return out
        if head == "bfe":
            length = raw[2] & U64(255)
            out = (cut[0] >> (raw[1] & U64(255))) & ((U64(1) << length) - U64(1))
            if signed:
                raise Unknown("bfe.s")
            return out
        if head == "bfi":
            start, length = raw[2] & U64(255), raw[3] & U64(255)
            hole = ((U64(1) << length) - U64(1)) << start
            return ((cut[1] & ~hole) | (cut[0] << start & hole)) & _mask_of(width)
        if head == "lop3":
            table, out = int(sources[3], 0), np.zeros(self.threads, U64)
            a, b, c = cut[:3]
            for k in range(8):
                if table >> k & 1:
                    out |= (a if k & 4 else ~a) & (b if k & 2 else ~b) & (c if k & 1 else ~c)
            return out & _mask_of(width)
        if head in ("div", "rem"):
            a, b = number[:2]
            if not signed:
                return (a // b if head == "div" else a % b) & _mask_of(width)
            quotient = np.trunc(a / b).astype(np.int64)
            return (quotient if head == "div" else a - quotient * b).astype(U64) & _mask_of(width)
        if head not in SIMPLE:
            raise Unknown(".".join(words))
        return SIMPLE[head](*number).astype(U64) & _mask_of(width)


COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
SIMPLE: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "not": np.invert, "min": np.minimum, "max": np.maximum, "neg": lambda a: (~a.astype(U64)) + U64(1),
    "abs": np.abs,
}  # fmt: skip


def _split(text: str) -> list[str]:
    return [p.strip() for p in re.split(r",(?![^{]*\})(?![^\[]*\])", text)] if text.strip() else []


def _vector(operand: str) -> list[str]:
    return [r.strip() for r in operand[1:-1].split(",")] if operand.startswith("{") else [operand]


def _width(words: list[str]) -> int:
    for word in reversed(words):
        if re.fullmatch(r"[bsuf]\d+(x2)?", word):
            return int(word.rstrip("x2")[1:] or 2) if word.endswith("x2") else int(word[1:])
        if word == "pred":
            return 1
    return 1


def _bytes(value: Any, count: int) -> Any:
    return np.stack([(value >> U64(8 * i) & U64(255)).astype(np.uint8) for i in range(count)], axis=1)


def _number(data: Any) -> Any:
    value = np.zeros(data.shape[0], U64)
    for i in range(data.shape[1]):
        value |= data[:, i].astype(U64) << U64(8 * i)
    return value
