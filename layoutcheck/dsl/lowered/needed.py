"""Which operations have to be evaluated to know the address of every memory instruction of interest.

A kernel is mostly arithmetic on data, which no address depends on. From the addresses and guards of the
wanted instructions this walks definitions backwards, through loops and branches and through registers kept
in memory. A value is needed as a *number*, or only as *data*: to see which bytes it was loaded from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from layoutcheck.dsl.lowered.steps.maps import ENCODED
from layoutcheck.dsl.lowered.types import GENERIC, parse_type
from layoutcheck.sources.mlir import Block, Operation, Value

DATA, NUMBER = 1, 2

# Operations that hand bytes on without changing them.
CARRIERS = frozenset(
    (
        "vector.extract", "vector.insert", "vector.bitcast", "vector.shape_cast", "vector.to_elements",
        "vector.from_elements", "vector.shuffle", "vector.extract_strided_slice", "llvm.bitcast",
        "arith.bitcast", "llvm.extractvalue", "llvm.insertvalue", "llvm.extractelement",
        "llvm.insertelement", "vector.insert_strided_slice", "builtin.unrealized_conversion_cast",
    )
)  # fmt: skip
SOURCES = frozenset(("llvm.load", "nvvm.ldmatrix"))
BRANCHES = ("scf.if", "scf.for", "scf.while", "scf.index_switch")
_READERS = ("llvm.load", ENCODED)  # what takes numbers out of registers in memory
_TRANSPARENT = frozenset(
    ("llvm.getelementptr", "llvm.bitcast", "llvm.addrspacecast", "llvm.ptrtoint", "llvm.inttoptr",
     "arith.andi", "arith.xori", "arith.ori", "arith.addi", "arith.extui", "arith.trunci")
)  # fmt: skip


class Needed:
    """`levels` of values and the `operations` to evaluate; `wanted` decides which instructions matter."""

    def __init__(
        self,
        kernel: Operation,
        roots: Iterable[tuple[Operation, list[Value], list[Value]]],
        *,
        guards: bool = True,
    ) -> None:
        """`roots`: instructions with the operands needed as numbers and those needed as data.

        Without `guards` what decides whether an operation is executed is left out.
        """
        self._guards = guards
        self.levels: dict[Value, int] = {}
        self.operations: set[Operation] = set()
        self.arrays: set[Operation] = set()
        self._all_arrays = False
        self._queue: list[Value] = []
        self._stored_in: dict[Operation, set[Operation | bool | None]] = {}
        self._bases: dict[Value, Operation | bool | None] = {}
        self._stores: dict[Operation | None, list[Operation]] = defaultdict(list)
        for op in kernel.walk():
            if op.name == "llvm.store":
                base = self.base(op.operands[1])
                if base is not False:
                    assert base is not True
                    self._stores[base].append(op)
        for op, numbers, data in roots:
            self.add(op, numbers, data)

    def add(self, op: Operation, numbers: Iterable[Value], data: Iterable[Value] = ()) -> None:
        """Evaluate `op`, and what its operands come from."""
        self._keep(op)
        for value in numbers:
            self._mark(value, NUMBER)
        for value in data:
            self._mark(value, DATA)
        while self._queue:
            self._trace(self._queue.pop())

    def _mark(self, value: Value, level: int) -> None:
        if self.levels.get(value, 0) < level:
            self.levels[value] = level
            self._queue.append(value)

    def _keep(self, op: Operation | None) -> None:
        while op is not None and op not in self.operations:
            self.operations.add(op)
            if not self._guards:
                return
            for value in condition(op) if op.name in BRANCHES else ():
                self._mark(value, NUMBER)
            op = op.parent_operation

    def _trace(self, value: Value) -> None:
        level, owner = self.levels[value], value.owner
        op = owner.parent.parent if isinstance(owner, Block) else owner
        if op is None:
            return
        if op.regions:
            self._handed(value, op, level)
            return
        if level == DATA and op.name not in CARRIERS and op.name not in SOURCES:
            if op.name == "arith.select" or op.name == "llvm.select":
                self._keep(op)
                self._mark(op.operands[0], NUMBER)
                for operand in op.operands[1:]:
                    self._mark(operand, DATA)
            return
        self._keep(op)
        for operand in op.operands:
            self._mark(operand, NUMBER if op.name in SOURCES else level)
        if op.name in _READERS and level == NUMBER:
            for base in [self.base(v) for v in op.operands if parse_type(v.type).kind == "pointer"]:
                if base is None:
                    self._want_all()
                elif isinstance(base, Operation):
                    self._want(base)

    def _handed(self, value: Value, op: Operation, level: int) -> None:
        """A result or variable of a loop or branch is needed: so is what is handed on as that."""
        given = handed_on(value)
        if given or not isinstance(value.owner, Block) or op.name == "scf.for":
            self._keep(op)
        for one in given:
            self._mark(one, level)
        if op.name == "scf.for" and not isinstance(value.owner, Block):
            self._mark(op.regions[0].blocks[0].arguments[1 + value.index], level)

    def _want(self, array: Operation) -> None:
        """The contents of registers in memory are needed: so is all that is stored there."""
        if array not in self.arrays:
            self.arrays.add(array)
            for store in (*self._stores[array], *(self._stores[None] if len(self.arrays) == 1 else ())):
                self._keep(store)
                self._mark(store.operands[0], NUMBER)
                self._mark(store.operands[1], NUMBER)

    def stores_registers(self, store: Operation) -> bool:
        """Whether a store writes registers in memory whose contents are needed."""
        base = self.base(store.operands[1])
        return base in self.arrays if isinstance(base, Operation) else base is None and bool(self.arrays)

    def stored_in(self, around: Operation) -> set[Operation | bool | None]:
        """The registers that stores inside an operation may write: what `base` says of their pointers."""
        found = self._stored_in.get(around)
        if found is None:
            found = {self.base(op.operands[1]) for op in around.walk() if op.name == "llvm.store"}
            self._stored_in[around] = found
        return found

    def _want_all(self) -> None:
        if not self._all_arrays:
            self._all_arrays = True
            for array in list(self._stores):
                if array is not None:
                    self._want(array)

    def base(self, value: Value) -> Operation | bool | None:
        """The `llvm.alloca` that a pointer points into, None where it may be any, False where it is none."""
        chain: list[Value] = []
        at: Value | None = value
        while at is not None and at not in self._bases:
            chain.append(at)
            found, at = _base(at)
        if at is not None:
            found = self._bases[at]
        self._bases.update(dict.fromkeys(chain, found))
        return found


def _base(value: Value) -> tuple[Operation | bool | None, Value | None]:
    """What `Needed.base` says of a pointer, or the value that says the same."""
    kind, op = parse_type(value.type), value.definition
    if kind.kind == "pointer" and kind.space != GENERIC:
        return False, None
    if op is None:
        owner = value.owner
        entry = isinstance(owner, Block) and owner.parent.parent.name not in ("scf.for", "scf.while")
        return False if entry else None, None
    if op.name == "llvm.alloca":
        return op, None
    if op.name == "llvm.extractvalue":
        inner = inserted(op)
        return None if op.operands[0].definition is not None else False, inner
    if op.name in _TRANSPARENT:
        return None, op.operands[0]
    return False if op.name.startswith(("llvm.mlir", "nvvm.", "llvm.load")) else None, None


def terminator(block: Block) -> Operation:
    """The last operation of a block; one without operands where the block is empty."""
    return block.operations[-1] if block.operations else Operation("scf.yield")


def condition(op: Operation) -> list[Value]:
    """What says which region of a branch runs, or how often that of a loop does."""
    if op.name == "scf.while":
        return terminator(op.regions[0].blocks[0]).operands[:1]
    return op.operands[: 3 if op.name == "scf.for" else 1]


def handed_on(value: Value) -> list[Value]:
    """What a loop or branch of `scf` hands on as a result or variable; a loop begins with the first."""
    owner, index = value.owner, value.index
    op = owner.parent.parent if isinstance(owner, Block) else owner
    blocks = [region.blocks[-1] for region in op.regions if region.blocks] if op is not None else []
    if op is None or (isinstance(owner, Block) and op.name not in ("scf.for", "scf.while")):
        return []
    if op.name == "scf.for":
        index -= isinstance(owner, Block)  # the first variable counts the turns
        return [op.operands[3 + index], terminator(blocks[0]).operands[index]] if index >= 0 else []
    if op.name == "scf.while" and owner is blocks[0]:
        return [op.operands[index], terminator(blocks[1]).operands[index]]
    if op.name == "scf.while":
        return [terminator(blocks[0]).operands[1 + index]]  # behind the condition
    return [end for block in blocks for end in terminator(block).operands[index : index + 1]]


def inserted(extract: Operation) -> Value | None:
    """The value that `llvm.extractvalue` takes out again, where an `insertvalue` put it in; else None."""
    want = extract.attributes.get("position")
    struct = extract.operands[0]
    while (op := struct.definition) is not None and op.name == "llvm.insertvalue":
        if op.attributes.get("position") == want:
            return op.operands[1]
        struct = op.operands[0]
    return None


def fast_part(kernel: Operation, full: Needed) -> Needed:
    """What carries state through loops: carried numbers, conditions, and registers that are read back."""
    fast = Needed(kernel, ())
    for op in kernel.walk():
        if op not in full.operations:
            continue
        if op.name == "scf.for":
            ends = terminator(op.regions[0].blocks[0]).operands
            carried = zip(op.regions[0].blocks[0].arguments[1:], ends, strict=False)
            fast.add(op, [end for argument, end in carried if full.levels.get(argument, 0) == NUMBER])
        elif op.name == "scf.while":
            last, end = terminator(op.regions[0].blocks[0]), terminator(op.regions[1].blocks[0])
            carried = zip(op.regions[0].blocks[0].arguments, end.operands, strict=False)
            needed = [value for argument, value in carried if full.levels.get(argument, 0) == NUMBER]
            fast.add(op, [*last.operands[:1], *needed])
        elif op.name == "llvm.store" and full.stores_registers(op):
            fast.add(op, op.operands)
    return fast
