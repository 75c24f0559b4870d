"""The parser of the generic operation form.

    %r:2 = "name"(%a, %b#1)[^bb1] <{properties}> ({regions}) {attributes} : (types) -> (types) loc(...)

Names of values are looked up from the inside out; an operation that is isolated from above starts afresh,
since the printer numbers values anew there. A value may be used before its definition (blocks are printed in
any order), so that a name's first mention makes it and its definition fills it in.
"""

from __future__ import annotations

import re

from layoutcheck.sources.mlir.cursor import Cursor
from layoutcheck.sources.mlir.ir import Block, Module, Operation, Region, Value
from layoutcheck.sources.mlir.scan import unescape

MAX_DEPTH = 200  # regions in regions; real kernels have about 15
NEVER_DEFINED = "is never defined"  # what an error about a value ends with
ISOLATED = frozenset(
    ("builtin.module", "gpu.module", "cuda.kernel", "gpu.func", "func.func", "llvm.func", "spirv.func")
)

_VALUE = r"%(?:[0-9]+|[A-Za-z$._-][\w$.-]*)"
_HEAD = re.compile(
    rf'(?:({_VALUE}(?::[0-9]{{1,4}})?(?:\s*,\s*{_VALUE}(?::[0-9]{{1,4}})?)*)\s*=\s*)?"([^"\\\n]*(?:\\.[^"\\\n]*)*)"\s*\(([^()]*)\)'
)
_NAME = re.compile(_VALUE)
_USE = re.compile(rf"({_VALUE})(?:#([0-9]{{1,4}}))?\Z")
_GROUP = re.compile(rf"({_VALUE})(?::([0-9]{{1,4}}))?\Z")
_LABEL = re.compile(r"\^[\w$.-]+")
_ALIAS = re.compile(r"([#!][\w$.-]+)\s*=\s*")
_RESOURCES = "{-#"


class _Scope:
    """Names of values inside one region, and those mentioned before they were defined."""

    __slots__ = ("known", "outer", "pending")

    def __init__(self, outer: _Scope | None) -> None:
        self.outer = outer
        self.known: dict[str, Value] = {}
        self.pending: dict[str, int] = {}

    def use(self, name: str, at: int) -> Value:
        scope: _Scope | None = self
        while scope is not None:
            value = scope.known.get(name)
            if value is not None:
                return value
            scope = scope.outer
        self.pending[name] = at
        self.known[name] = value = Value(name)
        return value

    def define(self, name: str, type_: str, index: int) -> Value | None:
        """The value, new or as its first mention made it; None where it is defined already."""
        value = self.known.get(name)
        if value is None:
            self.known[name] = value = Value(name)
        elif self.pending.pop(name, None) is None:
            return None
        value.type, value.index = type_, index
        return value


class _Parser(Cursor):
    """Operations, regions and blocks at the cursor."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.aliases: dict[str, str] = {}
        self.tails: dict[str, tuple[dict[str, str], list[str], list[str]]] = {}

    def module(self) -> Module:
        scope = _Scope(None)
        found: list[Operation] = []
        while True:
            self.skip()
            if self.at >= len(self.text) or self.text.startswith(_RESOURCES, self.at):
                break
            if not self.alias():
                found.append(op := self.operation(scope, None, 0))
                if op.successors:
                    raise self.error("a branch outside every region", start=op.start)
        self.finish(scope)
        return Module(self.text, found)

    def alias(self) -> bool:
        match = _ALIAS.match(self.text, self.at)
        if match is None:
            return False
        self.at = match.end()
        if self.text.startswith("loc(", self.at):
            self.aliases[match[1]] = self.location()
        else:
            end = self.text.find("\n", self.at)
            end = len(self.text) if end < 0 else end
            self.aliases[match[1]], self.at = self.text[self.at : end], end
        return True

    def finish(self, scope: _Scope) -> None:
        for name, at in scope.pending.items():
            raise self.error(f"{name[:40]} {NEVER_DEFINED}", start=at)

    def operation(self, scope: _Scope, block: Block | None, depth: int) -> Operation:
        text, start = self.text, self.at
        head = _HEAD.match(text, start)
        if head is None:
            raise self.error("not an operation in the generic form", "'%result = \"name\"(%operand)'")
        op = Operation(unescape(head[2]), parent=block, start=start, aliases=self.aliases)
        if head[3] and not head[3].isspace():
            op.operands = [self.use(scope, name, head.start(3)) for name in head[3].split(",")]
        self.at = head.end()
        operand_types, result_types = self.tail(op, scope, depth)
        if len(operand_types) != len(op.operands):
            raise self.error(
                f"{op.name[:40]} has {len(op.operands)} operands and {len(operand_types)} types", start=start
            )
        for value, type_ in zip(op.operands, operand_types, strict=True):
            if not value.type:  # of a value mentioned before its definition
                value.type = type_
        self.results(op, scope, head[1], result_types, start)
        op.location_text = self.location()
        return op

    def tail(self, op: Operation, scope: _Scope, depth: int) -> tuple[list[str], list[str]]:
        """What follows the operands, up to the location; the types of operands and results.

        Lines that end alike are read once.
        """
        start, end = self.at, self.text.find("\n", self.at)
        text = self.text[start : end if end >= 0 else None].partition(" loc(")[0]
        if (known := self.tails.get(text)) is not None:
            self.at = start + len(text)
            op.attributes = dict(known[0])
            return known[1:]
        if self.accept("["):
            self.successors(op)
        if self.accept("<{"):
            self.at -= 1
            op.attributes = self.dictionary()
            self.expect(">")
        if self.accept("("):
            self.regions(op, scope, depth)
        self.skip()
        if self.text.startswith("{", self.at):
            op.attributes |= self.dictionary()
        self.expect(":")
        operands, results = self.signature()
        if self.at == start + len(text) and not op.successors and not op.regions:
            self.tails[text] = dict(op.attributes), operands, results
        return operands, results

    def use(self, scope: _Scope, text: str, at: int) -> Value:
        name = text.strip()
        value = scope.known.get(name)  # the common case, before looking closer
        if value is not None:
            return value
        match = _USE.match(name)
        if match is None:
            raise self.error(f"'{name[:40]}' is not a value", "%name or %name#n", start=at)
        return scope.use(match[1] if match[2] in (None, "0") else name, at)

    def successors(self, op: Operation) -> None:
        while True:
            self.skip()
            label = _LABEL.match(self.text, self.at)
            if label is None:
                raise self.error("not a block", "'^bb1'")
            self.at = label.end()
            op.successors.append(Block(label[0], Region(op)))  # the name, until the region is read
            if not self.accept(","):
                break
        self.expect("]")

    def results(self, op: Operation, scope: _Scope, names: str | None, types: list[str], start: int) -> None:
        defined: list[str] = []
        for group in names.split(",") if names else ():
            match = _GROUP.match(group.strip())
            if match is None:
                raise self.error(f"'{group.strip()[:40]}' is not a result", start=start)
            defined += [match[1] if k == 0 else f"{match[1]}#{k}" for k in range(int(match[2] or 1))]
        if len(defined) != len(types):
            said = f"{op.name[:40]} has {len(defined)} results and {len(types)} types"
            raise self.error(said, start=start)
        for index, (name, type_) in enumerate(zip(defined, types, strict=True)):
            value = scope.define(name, type_, index)
            if value is None:
                raise self.error(f"{name[:40]} is defined twice", start=start)
            value.owner = op
            op.results.append(value)

    def regions(self, op: Operation, scope: _Scope, depth: int) -> None:
        """`{blocks}, {blocks})`; the opening parenthesis is read."""
        if depth >= MAX_DEPTH:
            raise self.error(f"regions nested more than {MAX_DEPTH} deep")
        while True:
            self.expect("{")
            op.regions.append(self.region(op, _Scope(None if op.name in ISOLATED else scope), depth + 1))
            if not self.accept(","):
                break
        self.expect(")")

    def region(self, op: Operation, scope: _Scope, depth: int) -> Region:
        region = Region(op)
        labels: dict[str, Block] = {}
        block: Block | None = None
        while not self.accept("}"):
            if self.at >= len(self.text):
                raise self.error("a region that never ends", "'}'")
            if (label := _LABEL.match(self.text, self.at)) is not None:
                block = Block(label[0], region)
                if labels.setdefault(label[0], block) is not block:
                    raise self.error(f"{label[0][:40]} stands twice in one region")
                self.at = label.end()
                if self.accept("("):
                    self.arguments(block, scope)
                self.expect(":")
                region.blocks.append(block)
                continue
            if block is None:
                block = Block("", region)
                region.blocks.append(block)
            if not self.alias():
                block.operations.append(self.operation(scope, block, depth))
        for one in region.blocks:
            for inner in one.operations:
                if inner.successors:
                    inner.successors = [self.block(labels, named.label, inner) for named in inner.successors]
        self.finish(scope)
        return region

    def block(self, labels: dict[str, Block], label: str, op: Operation) -> Block:
        if label not in labels:
            raise self.error(f"there is no block {label[:40]}", start=op.start)
        return labels[label]

    def arguments(self, block: Block, scope: _Scope) -> None:
        """`%a: type loc(...), ...)`; the opening parenthesis is read."""
        while not self.accept(")"):
            if block.arguments:
                self.expect(",")
                self.skip()
            start = self.at
            match = _NAME.match(self.text, self.at)
            if match is None:
                raise self.error("not a block's argument", "'%name: type'")
            self.at = match.end()
            self.expect(":")
            self.skip()
            value = scope.define(match[0], self.type(), len(block.arguments))
            if value is None:
                raise self.error(f"{match[0][:40]} is defined twice", start=start)
            value.owner = block
            value.location_text = self.location()
            block.arguments.append(value)


def parse(text: str) -> Module:
    """The module that `text` is, in the generic operation form. Raises InputError with the place.

    Time is linear in the length of the text: 4,000 operations with locations take about 50 ms.
    """
    return _Parser(text).module()
