"""What the threads of a plan's program do: tiled copies, the steps of a move, what they hold at its end."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum
from typing import Any

from layoutcheck.fixes import code
from layoutcheck.machine.arch import WARP
from layoutcheck.synthesis.copies import Step
from layoutcheck.synthesis.moves import Direct
from layoutcheck.synthesis.search import Found
from layoutcheck.synthesis.threads import Threads
from layoutcheck.synthesis.wanted import Wanted

_PAD = "    "
_NEVER = 1234567891
TOGETHER_WORDS = 64  # registers of a thread that loads fill at once: more would leave too few for the rest


class Ending(Enum):
    """What a program does with what the threads hold at the end; an epilogue with what it begins with.

    `WRITE` writes it, `KEEP` only where its argument `keep` is not 0. `LOOK` never does, as the addresses of
    that alone cost as much as some plans: it only looks at every register, so that none is left out.
    """

    WRITE = "write"
    KEEP = "keep"
    LOOK = "look"


class Moves:
    """The steps of a plan by its threads, as statements."""

    def __init__(self, found: Found, steps: list[list[Step]], wanted: Wanted, ending: Ending) -> None:
        self.found, self.steps, self.wanted, self.ending = found, steps, wanted, ending
        self.dtype = code.dtype_code(wanted.dtype)
        self.stages = wanted.stages if found.shared is not None else 1
        roles = [step.role for move in steps for step in move]
        self.load = "tma load" in roles
        self.store = "tma store" in roles
        self.asynchronous = "async" in roles
        self.together = together(found, wanted)
        # A descriptor, or nothing after the last step: what there is goes to `out`.
        self.outs = [f"out{n or ''}" for n, one in enumerate(wanted.consumers) if one.target != "gmem"]

    def setup(self) -> list[str]:
        """Tiled copies of the steps of threads."""
        made: dict[str, Step] = {}
        for move, steps in enumerate(self.steps):
            for step in steps:
                if step.role in ("load", "store", "async", "matrix", "matrix store"):
                    made.setdefault(self._name(move, step), step)
        lines = []
        for name, step in made.items():
            atom = code.atom_code(step.copy.needed_atom)
            assert step.copy.tiling is not None
            if step.split is not None:
                thr, val = (code.layout_code(layout) for layout in step.split)
                tiled = f"cute.make_tiled_copy_tv({name}_atom, {thr}, {val})"
            else:
                copy = step.copy.tiling.tiled
                tiler = code.tree_code(tuple(mode.shape for mode in copy.tiler))
                tiled = f"cute.make_tiled_copy({name}_atom, {code.layout_code(copy.layout_tv)}, {tiler})"
            lines += [f"{name}_atom = {atom}", f"{name} = {tiled}.get_slice(tidx)"]
        return lines

    def if_inside(self, place: str, line: str) -> list[str]:
        """The line, of elements that the tensor has."""
        if not self.wanted.tails:
            return [line]
        return [f"if cute.elem_less({place}, src.shape):", _PAD + line]

    def _element_by_element(self, held: str, source: str, target: str, view: str) -> list[str]:
        """Registers and a global tensor that stands for something else; `view` are the elements' places."""
        if not self.wanted.tails:
            return [f"cute.basic_copy({source}, {target})"]
        source, target = (code.as_bits_code(one, self.wanted.dtype) for one in (source, target))
        return [
            f"{held}_at = {view}",
            f"{held}_from = {source}",
            f"{held}_to = {target}",
            f"for i in cutlass.range_constexpr(cute.size({held}_at)):",
            *indented(self.if_inside(f"{held}_at[i]", f"{held}_to[i] = {held}_from[i]")),
        ]

    def _ended(self, held: str, body: list[str]) -> list[str]:
        """The body that writes the registers `held`, or what stands in its place."""
        if self.ending is Ending.WRITE:
            return ["# what each thread holds: the MMA takes it from here", *body]
        looked = [
            f"words = cute.recast_tensor({held}, cutlass.Int32)",
            "total = words[0]",
            "for word in cutlass.range_constexpr(1, cute.size(words)):",
            _PAD + "total = total ^ words[word]",
        ]
        if self.ending is Ending.KEEP:
            return [*looked, f"if (keep != 0) | (total == {_NEVER}):", *indented(body)]
        first = "cute.make_tensor(cute.recast_ptr(out.iterator, dtype=cutlass.Int32), cute.make_layout(1))"
        return [*looked, f"if total == {_NEVER}:", f"{_PAD}first = {first}", _PAD + "first[0] = total"]

    def threads(self, move: int, src: str, dst: str, out: str = "", k: str = "") -> list[str]:
        """The steps of a move of threads, from one tile to another, or to registers and on to `out`."""
        lines: list[str] = []
        guarded: set[str] = set()
        held = f"held{move or ''}"
        place = f"places[None, None, {k}]"
        for step in self.steps[move]:
            name = self._name(move, step)
            guard = f", pred={name}_inside" if step.copy.pred is not None else ""
            if guard and name not in guarded:
                guarded.add(name)
                lines += self._inside(step, name, f"{name}.partition_S({place})")
            if step.role == "async":
                lines.append(
                    f"cute.copy({name}_atom, {name}.partition_S({src}), {name}.partition_D({dst}){guard})"
                )
            elif step.role == "matrix store":
                lines += self._accumulators(name, held, src, dst, place)
            elif step.role in ("load", "matrix"):
                lines += self._loaded(step, name, held, src, guard)
                if self.together and move == 0:
                    lines.append("cute.arch.sync_warp()  # all loads are on their way before a store")
                lines += self._converted(held, move, step)
                if out:
                    ends = (f"{name}.partition_D({one})" for one in (out, place))
                    lines += self._ended(held, self._element_by_element(held, held, *ends))
            elif step.role == "turn":
                lines += _turned(step, held)
            else:
                if step.copy.src.layout != self.steps[move][-2].copy.dst.layout:
                    layout = code.layout_code(step.copy.src.layout)
                    lines.append(f"{held} = cute.make_tensor({held}.iterator, {layout})")
                lines.append(f"cute.copy({name}_atom, {held}, {name}.partition_D({dst}){guard})")
        active = min(step.threads for step in self.steps[move] if step.role != "turn")
        return [f"if tidx < {active}:", *indented(lines)] if active < self.wanted.threads else lines

    def _accumulators(self, name: str, held: str, src: str, dst: str, place: str) -> list[str]:
        """What an epilogue begins with, and its stmatrix."""
        filled = [f"{held}.fill(cutlass.Float32(tidx).to({self.dtype}))"]
        if self.ending is not Ending.LOOK:
            ends = f"{name}.partition_S({src})", held, f"{name}.partition_S({place})"
            filled = self._element_by_element(held, *ends)
        return [
            "# your accumulators, converted: here they come from a tensor that stands for them",
            f"{held} = cute.make_rmem_tensor({name}.partition_S({dst}).shape, {self.dtype})",
            *filled,
            f"cute.copy({name}_atom, {held}, {name}.partition_D({dst}))",
        ]

    def _loaded(self, step: Step, name: str, held: str, src: str, guard: str) -> list[str]:
        dtype = step.copy.dst.dtype
        return [
            f"{held} = cute.make_rmem_tensor({name}.partition_D({src}).shape, {code.dtype_code(dtype)})",
            *([f"{code.as_bits_code(held, dtype)}.fill(0)"] if guard else []),
            f"cute.copy({name}_atom, {name}.partition_S({src}), {held}{guard})",
        ]

    def _converted(self, held: str, move: int, step: Step) -> list[str]:
        """The registers in the tile's type, and in that of the step that stores them."""
        after = [one.copy.src.dtype for one in self.steps[move] if one is not step]
        lines, last = [], step.copy.dst.dtype
        for kind in (self.wanted.dtype, *after[-1:]):
            if kind != last:
                lines += [
                    f"{held}_values = {held}.load().to({code.dtype_code(kind)})",
                    f"{held} = cute.make_rmem_tensor({held}.shape, {code.dtype_code(kind)})",
                    f"{held}.store({held}_values)",
                ]
                last = kind
        return lines

    def _inside(self, step: Step, name: str, places: str) -> list[str]:
        """The predicate of a step: of each access whether its first element is one of the tensor's."""
        assert step.copy.pred is not None
        shape: Any = step.copy.pred.layout.shape
        return [
            f"{name}_at = {places}[(0, None), {', '.join(['None'] * (len(shape) - 1))}]",
            f"{name}_inside = cute.make_rmem_tensor({code.tree_code(shape)}, cutlass.Boolean)",
            f"for i in cutlass.range_constexpr(cute.size({name}_inside)):",
            f"{_PAD}{name}_inside[i] = cute.elem_less({name}_at[i], src.shape)",
        ]

    def _name(self, move: int, step: Step) -> str:
        """Of a step's tiled copy: a load and a store have one, where it is the same."""
        first = "fill" if move == 0 else "read" if move == 1 else f"read{move}"
        if step.role not in ("load", "store"):
            return first
        ends = [(one.copy.atom, one.split) for one in self.steps[move] if one.role in ("load", "store")]
        return first if ends.count(ends[0]) == len(ends) else f"{first}_{step.role}"


def together(found: Found, wanted: Wanted) -> bool:
    """Whether a warp starts all loads of a tile before it stores what they bring: ptxas would mix them."""
    first = found.moves[0]
    if not isinstance(first, (Threads, Direct)) or wanted.accumulator:
        return False
    stores = len(first.sides) > 1 if isinstance(first, Direct) else not first.asynchronous
    words = math.prod(wanted.tile) * wanted.element_bytes / 4 / first.deal.threads
    return stores and first.deal.threads % WARP == 0 and words <= TOGETHER_WORDS


def _turned(step: Step, held: str) -> list[str]:
    """The registers in another order."""
    shape = code.tree_code(step.copy.dst.layout.shape)
    return [
        f"{held}_turned = cute.make_tensor({held}.iterator, {code.layout_code(step.copy.src.layout)})",
        f"{held} = cute.make_rmem_tensor({shape}, {code.dtype_code(step.copy.dst.dtype)})",
        f"cute.basic_copy({held}_turned, {held})",
    ]


def indented(lines: Iterable[str]) -> list[str]:
    """As the body of a statement."""
    return [_PAD + line for line in lines]
