"""What a module consists of: operations, values, regions and blocks, compared by identity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar


@dataclass(slots=True, eq=False)
class Value:
    """An SSA value: result `index` of an operation, or argument `index` of a block. `type` is its text."""

    name: str
    type: str = ""
    owner: Operation | Block | None = None
    index: int = 0
    location_text: str = ""

    def __repr__(self) -> str:
        return f"{self.name}: {self.type}"

    @property
    def definition(self) -> Operation | None:
        """The operation that this is a result of; None for a block's argument."""
        return self.owner if isinstance(self.owner, Operation) else None

    @property
    def carried(self) -> tuple[Operation | None, int]:
        """The `scf.for` that it is a variable or result of, and which of its variables; else (None, -1)."""
        loop, index = self.definition, self.index
        if isinstance(self.owner, Block):
            loop, index = self.owner.parent.parent, self.index - 1
        known = loop is not None and loop.name == "scf.for" and index >= 0
        return (loop, index) if known else (None, -1)


@dataclass(slots=True, eq=False)
class Operation:
    """One operation. `attributes` maps names to raw text, properties included; a unit attribute is "".

    `start` is where it begins in the module's text. `location_text` is what `loc(...)` holds, in which
    `aliases` may stand.
    """

    name: str
    operands: list[Value] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)
    successors: list[Block] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    regions: list[Region] = field(default_factory=list)
    parent: Block | None = None
    start: int = 0
    location_text: str = ""
    aliases: dict[str, str] = field(default_factory=dict, repr=False)
    _inside: tuple[Operation, ...] = field(default=(), init=False, repr=False)

    def __repr__(self) -> str:
        results = ", ".join(value.name for value in self.results)
        operands = ", ".join(value.name for value in self.operands)
        return f"{results}{' = ' if results else ''}{self.name}({operands})"

    @property
    def parent_operation(self) -> Operation | None:
        """The operation in whose region this one lies."""
        return None if self.parent is None else self.parent.parent.parent

    def around(self) -> Iterator[Operation]:
        """The operations in whose regions this one lies, from within."""
        op: Operation | None = self
        while op is not None and (op := op.parent_operation) is not None:
            yield op

    def outer(self, *names: str) -> Operation:
        """The nearest of it and the operations around it with one of these names; else the outermost."""
        op = self
        while op.name not in names and (above := op.parent_operation) is not None:
            op = above
        return op

    def walk(self) -> Iterator[Operation]:
        """The operation and all inside it, in the order of the text; the first walk settles what that is."""
        if not self._inside:
            found: list[Operation] = [self]
            for block in (block for region in self.regions for block in region.blocks):
                for op in block.operations:
                    if op.regions:
                        found.extend(op.walk())
                    else:
                        found.append(op)
            self._inside = tuple(found)
        return iter(self._inside)


@dataclass(slots=True, eq=False)
class Block:
    """`label` is "^bb0" and the like; the entry block's may be left out of the text and is "" then."""

    label: str
    parent: Region
    arguments: list[Value] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Region:
    """The blocks of one region of `parent`; the first is the entry."""

    parent: Operation
    blocks: list[Block] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Module:
    """A whole text: its top-level operations (one `builtin.module`, as printed)."""

    text: str = field(repr=False)
    operations: list[Operation]

    def walk(self) -> Iterator[Operation]:
        """Every operation, outer before inner, in the order of the text."""
        for op in self.operations:
            yield from op.walk()


T = TypeVar("T")


def each_once(queue: list[T]) -> Iterator[T]:
    """The items of a queue, the last first, each once; who follows them adds to the queue meanwhile."""
    seen = set[T]()
    while queue:
        one = queue.pop()
        if one not in seen:
            seen.add(one)
            yield one
