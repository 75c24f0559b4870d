"""One thread that runs a kernel: registers, memory and program counter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from layoutcheck.dsl.ptx.bits import (
    ARITHMETIC,
    BITWISE,
    COMPARE,
    Bit,
    Bits,
    as_signed,
    extend,
    fit,
    of_int,
    to_int,
)
from layoutcheck.dsl.ptx.text import (
    ADDRESS,
    LABEL,
    LINE,
    cvt_source,
    literal,
    operands_of,
    registers_in,
    width_of,
)
from layoutcheck.errors import InputError


@dataclass(frozen=True, slots=True)
class ThreadAccess:
    """One executed memory instruction. `kind` is "read" or "write"; a cp.async is one of each."""

    name: str
    kind: str
    space: str
    width_bytes: int
    address: int
    multiple_bytes: int = 0  # what the address must be a multiple of; 0: of the width


@dataclass(frozen=True, slots=True)
class TensorMemoryAccess:
    """A tcgen05.ld, st or cp: its 32-bit address, the half split or the descriptor, the registers stored."""

    name: str
    address: int
    extra: int | None = None
    stored: tuple[Bits, ...] = ()


@dataclass(frozen=True, slots=True)
class TensorCopy:
    """A cp.async.bulk.tensor, of which nothing is moved: coordinates, filter offsets, shared address."""

    name: str
    coords: tuple[int, ...]
    filter_offsets: tuple[int, ...]
    shared: int


@dataclass(slots=True)
class ThreadRun:
    """What a thread did: its accesses in program order, the final memory, the registers given to stmatrix."""

    accesses: list[ThreadAccess] = field(default_factory=list)
    memory: dict[tuple[str, int], Bits] = field(default_factory=dict)
    matrix_stores: list[tuple[int, tuple[Bits, ...]]] = field(default_factory=list)
    arrived_bytes: int = 0  # counted at mbarriers by bulk copies and st.async
    tensor_memory: list[TensorMemoryAccess] = field(default_factory=list)
    tensor_copies: list[TensorCopy] = field(default_factory=list)


_MAX_STEPS = 200_000


class Thread:
    """Registers, memory and program counter of one thread."""

    def __init__(self, ptx: str, params: dict[str, bytes], read_bit: Callable[[str, int], Bit]) -> None:
        self.params = params
        self.read_bit = read_bit
        self.registers: dict[str, Bits] = {}
        self.trace = ThreadRun()
        self.code: list[tuple[str, str, str, list[str]]] = []
        self.labels: dict[str, int] = {}
        body = ptx[ptx.find("{", ptx.find(")", ptx.find(".entry"))) + 1 :]
        for line in body.splitlines():
            label = LABEL.match(line)
            if label:
                self.labels[label[1]] = len(self.code)
                continue
            match = LINE.match(line)
            if match:
                self.code.append((match[1] or "", match[2] or "", match[3], operands_of(match[4])))

    def run(self) -> ThreadRun:
        """Run to the end. Raises InputError for an unknown instruction and for runaway loops."""
        at = steps = 0
        while at < len(self.code):
            steps += 1
            if steps > _MAX_STEPS:
                raise InputError("the PTX runs too long")
            negate, guard, name, operands = self.code[at]
            at += 1
            if guard and (self.number(guard) != 0) == (negate == "!"):
                continue
            if name == "ret":
                break
            if name.split(".")[0] == "bra":
                at = self.labels[operands[0]]
            else:
                self.step(name, operands)
        return self.trace

    def step(self, name: str, operands: list[str]) -> None:
        """One instruction that is no branch."""
        words = name.split(".")
        if words[0] == "ld" and words[1] == "param":
            self.load_param(name, operands)
        elif words[0] == "st" and words[1] == "async":
            self.load_store(name, operands[:2])
            self.trace.arrived_bytes += self.trace.accesses[-1].width_bytes
        elif words[0] in ("ld", "st"):
            self.load_store(name, operands)
        elif name.startswith("cp.async.c"):
            self.cp_async(name, operands)
        elif name.startswith("cp.async.bulk.tensor."):
            self.tensor_copy(name, operands)
        elif name.startswith("cp.async.bulk."):
            self.bulk(name, operands)
        elif words[0] == "mapa":  # one CTA: its own rank
            self.registers[operands[0]] = self.value(operands[1])
        elif words[0] in ("ldmatrix", "stmatrix"):
            self.matrix(name, operands)
        elif words[0] == "tcgen05":
            self.tensor_memory(name, operands)
        elif name == "elect.sync":  # the thread that runs is the one elected
            register, predicate = operands[0].split("|")
            self.registers[register], self.registers[predicate] = of_int(0, 32), (1,)
        else:
            self.compute(words, operands)

    # Memory.

    def address(self, operand: str) -> int:
        """The number of `[register + constant]`."""
        found = ADDRESS.fullmatch(operand)
        if found is None:
            raise InputError(f"not an address: {operand[:80]}")
        return self.number(found[1]) + (int(found[2], 0) if found[2] else 0)

    def read(self, space: str, address: int) -> Bits:
        """A byte of memory."""
        known = self.trace.memory.get((space, address))
        if known is not None:
            return known
        return tuple(self.read_bit(space, 8 * address + i) for i in range(8))

    def record(self, name: str, kind: str, space: str, width_bytes: int, address: int) -> None:
        """Note an access."""
        self.trace.accesses.append(ThreadAccess(name, kind, space, width_bytes, address))

    def load_param(self, name: str, operands: list[str]) -> None:
        """`ld.param`."""
        found = ADDRESS.fullmatch(operands[-1])
        assert found is not None
        data = self.params[found[1]]
        at = int(found[2]) if found[2] else 0
        each = width_of(name) // 8
        for target in registers_in(operands[0]):
            self.registers[target] = of_int(int.from_bytes(data[at : at + each], "little"), 8 * each)
            at += each

    def load_store(self, name: str, operands: list[str]) -> None:
        """`ld` and `st`, of vectors too."""
        words = name.split(".")
        space = next((w for w in words if w in ("global", "shared", "local")), "generic")
        if "shared::cluster" in words:
            space = "shared"
        load = words[0] == "ld"
        each = width_of(name) // 8
        registers = registers_in(operands[0] if load else operands[1])
        address = self.address(operands[1] if load else operands[0])
        self.record(name, "read" if load else "write", space, each * len(registers), address)
        for i, register in enumerate(registers):
            at = address + i * each
            if load:
                self.registers[register] = tuple(bit for k in range(each) for bit in self.read(space, at + k))
            else:
                value = fit(self.value(register), 8 * each)
                for k in range(each):
                    self.trace.memory[space, at + k] = value[8 * k : 8 * k + 8]

    def cp_async(self, name: str, operands: list[str]) -> None:
        """`cp.async [dst], [src], size, taken`: what is not taken is filled with zeros."""
        target, source = self.address(operands[0]), self.address(operands[1])
        width = int(operands[2], 0)
        taken = self.number(operands[3]) if len(operands) > 3 else width
        self.record(name, "read", "global", taken, source)
        self.record(name, "write", "shared", width, target)
        for k in range(width):
            byte = self.read("global", source + k) if k < taken else (0,) * 8
            self.trace.memory["shared", target + k] = byte

    def bulk(self, name: str, operands: list[str]) -> None:
        """`cp.async.bulk.dst.src.completion [dst], [src], size, ...`, at once."""
        to, source = ("global" if "global" in word else "shared" for word in name.split(".")[3:5])
        at, start, count = self.address(operands[0]), self.address(operands[1]), self.number(operands[2])
        for kind, space, address in (("read", source, start), ("write", to, at)):
            self.trace.accesses.append(
                ThreadAccess(name, kind, space, count, address, 16 if count >= 16 else 1)
            )
        count -= count % 16  # what is left over is not moved (measured on an H200)
        for k in range(count):
            self.trace.memory[to, at + k] = tuple(
                self.read_bit(source, 8 * (start + k) + i) for i in range(8)
            )
        if "mbarrier::complete_tx::bytes" in name:
            self.trace.arrived_bytes += count

    def tensor_copy(self, name: str, operands: list[str]) -> None:
        """`[shared], [map, {coordinates}], [barrier], {filter offsets}, ...`; a store's map comes first."""
        inside = next(operand for operand in operands if operand.startswith("[") and "{" in operand)
        coords = inside[inside.index("{") : inside.index("}") + 1]
        away = next((operand for operand in operands if operand.startswith("{")), None)
        self.trace.tensor_copies.append(
            TensorCopy(
                name,
                tuple(as_signed(self.number(one), 32) for one in registers_in(coords)),
                tuple(as_signed(self.number(one), 16) for one in registers_in(away)) if away else (),
                self.address(next(operand for operand in operands if ADDRESS.fullmatch(operand))),
            )
        )

    def matrix(self, name: str, operands: list[str]) -> None:
        """`ldmatrix` and `stmatrix`."""
        load = name.startswith("ldmatrix")
        address = self.address(operands[1] if load else operands[0])
        self.record(name, "read" if load else "write", "shared", 16, address)
        registers = registers_in(operands[0] if load else operands[1])
        if not load:
            self.trace.matrix_stores.append((address, tuple(self.value(r) for r in registers)))
            return
        for n, register in enumerate(registers):
            self.registers[register] = tuple(("matrix", 32 * (4 * address + n) + i) for i in range(32))

    def tensor_memory(self, name: str, operands: list[str]) -> None:
        """ld: registers, red, [address], split; st: [address], split, registers; cp: [address], extra."""
        load = name.startswith("tcgen05.ld")
        found = ADDRESS.fullmatch(next(operand for operand in operands if operand.startswith("[")))
        if found is None:
            raise InputError(f"not an address: {operands}")
        address = (self.number(found[1]) + (int(found[2], 0) if found[2] else 0)) % (1 << 32)
        braced = next((operand for operand in operands if operand.startswith("{")), None)
        registers = registers_in(braced) if braced is not None else []
        others = [o for o in operands if not o.startswith(("[", "{"))]
        reduced = others.pop(0) if ".red." in name else None
        extra = self.number(others[0]) if others else None
        stored = () if load else tuple(fit(self.value(register), 32) for register in registers)
        self.trace.tensor_memory.append(TensorMemoryAccess(name, address, extra, stored))
        if load:
            for n, register in enumerate(registers):
                self.registers[register] = tuple(("tmem", 32 * (256 * address + n) + i) for i in range(32))
        if reduced is not None:
            self.registers[reduced] = tuple(("tmem.red", 32 * address + i) for i in range(32))

    # Registers.

    def value(self, operand: str) -> Bits:
        """The bits of a register or of a literal."""
        if operand in self.registers:
            return self.registers[operand]
        if operand.startswith("%"):
            return (("undefined", 0),) * 64
        if operand in self.params:  # its address, which only tensor maps are taken of
            return of_int(0, 64)
        return of_int(literal(operand), 64)

    def number(self, operand: str) -> int:
        """The same as a number. Raises InputError where bits of it are names."""
        return to_int(self.value(operand), operand)

    def compute(self, words: list[str], operands: list[str]) -> None:
        """An instruction on registers."""
        kind = words[0]
        width = width_of(".".join(words))
        if kind == "mov":
            self.move(width, operands)
            return
        target, sources = operands[0], operands[1:]
        if kind in ("cvt", "cvta"):
            value = fit(self.value(sources[0]), cvt_source(words))
            self.registers[target] = extend(value, width, signed=words[-1].startswith("s"))
            return
        if kind in BITWISE:
            values = [fit(self.value(s), width) for s in sources]
            if kind == "shr" and words[-1].startswith("s"):
                values[0] = extend(values[0], 2 * width, signed=True)
            self.registers[target] = BITWISE[kind](values, [self.value(s) for s in sources])
            return
        if kind == "shf":  # of a double word, by at most 31 bits
            low, high, by = (self.number(source) % (1 << 32) for source in sources)
            both = high << 32 | low
            shifted = both << by % 32 >> 32 if words[1] == "l" else both >> by % 32
            self.registers[target] = of_int(shifted, 32)
            return
        if kind not in ARITHMETIC:
            raise InputError(f"unknown PTX instruction '{'.'.join(words)}'")
        signed = words[-1].startswith("s")
        numbers = [
            as_signed(self.number(s), width) if signed else self.number(s) % (1 << width) for s in sources
        ]
        out = 2 * width if "wide" in words else width
        if kind == "setp":
            self.registers[target] = of_int(int(COMPARE[words[1]](numbers[0], numbers[1])), 1)
            return
        if "wide" in words and kind == "mad":
            numbers[2] = self.number(sources[2])
        result = ARITHMETIC[kind](numbers)
        self.registers[target] = of_int(result >> width if "hi" in words else result, out)

    def move(self, width: int, operands: list[str]) -> None:
        """mov, also as pack `mov.b32 %r, {a, b}` and unpack `mov.b32 {a, b}, %r`."""
        targets, sources = registers_in(operands[0]), registers_in(operands[1])
        each = width // len(sources)
        value = tuple(bit for s in sources for bit in fit(self.value(s), each))
        each = width // len(targets)
        for i, target in enumerate(targets):
            if target != "_":
                self.registers[target] = value[i * each : (i + 1) * each]
