"""A plan as a CuTe DSL program: a kernel that moves tile after tile through its stages, and its launch.

The program compiles as it stands. What the threads hold at the end is written to `out`, so that it can be run
and compared with the source; a kernel has its MMA there.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.modes import make_layout
from layoutcheck.copies.memref import Memref
from layoutcheck.fixes import code, tma_code
from layoutcheck.synthesis.copies import Step
from layoutcheck.synthesis.search import Found
from layoutcheck.synthesis.wanted import Wanted

_PAD = "    "
_NEVER = 1234567891


class Ending(Enum):
    """What a program does with what the threads hold at the end; an epilogue with what it begins with.

    `WRITE` writes it, `KEEP` only where its argument `keep` is not 0. `LOOK` never does, as the addresses of
    that alone cost as much as some plans: it only looks at every register, so that none is left out.
    """

    WRITE = "write"
    KEEP = "keep"
    LOOK = "look"


def program(found: Found, steps: list[list[Step]], wanted: Wanted, ending: Ending = Ending.WRITE) -> str:
    """The source of a module with `kernel` and `launch(src, out..., [dst,] stream[, keep])`."""
    return code.folded("\n".join(_Program(found, steps, wanted, ending).lines()) + "\n")


def takes_keep(wanted: Wanted, ending: Ending) -> bool:
    """Whether the launch takes `keep`: not where all goes to global memory as it is."""
    return ending is not Ending.WRITE and any(one.target != "gmem" for one in wanted.consumers)


def statements(found: Found, steps: list[Step], wanted: Wanted, waits: bool) -> str:
    """A writer's statements in place of a copy: `src` and `dst` are its tiles, `tidx` the thread.

    With `waits` they wait for what cp.async brings; else the program does as it did before.
    """
    made = _Program(found, [steps], wanted, Ending.WRITE)
    lines = made.setup() + made.threads(0, "src", "dst")
    if waits and steps[0].role == "async":
        lines += ["cute.arch.cp_async_commit_group()", "cute.arch.cp_async_wait_group(0)"]
    return code.folded("\n".join(lines))


class _Program:
    def __init__(self, found: Found, steps: list[list[Step]], wanted: Wanted, ending: Ending) -> None:
        self.found, self.steps, self.wanted, self.ending = found, steps, wanted, ending
        self.dtype = code.dtype_code(wanted.dtype)
        self.stages = wanted.stages if found.shared is not None else 1
        roles = [step.role for move in steps for step in move]
        self.load = "tma load" in roles
        self.store = "tma store" in roles
        self.asynchronous = "async" in roles
        # A descriptor, or nothing after the last step: what there is goes to `out`.
        self.outs = [f"out{n or ''}" for n, one in enumerate(wanted.consumers) if one.target != "gmem"]

    def lines(self) -> list[str]:
        """The module."""
        atoms = [name for name, used in (("load", self.load), ("store", self.store)) if used]
        tensors = ["src", *self.outs, *(["dst"] if self.wanted.dst is not None else [])]
        parameters = [f"{name}: cute.Tensor" for name in tensors] + [
            f"{name}: cute.CopyAtom" for name in atoms
        ]
        extra = ["keep: cutlass.Int32"] if takes_keep(self.wanted, self.ending) else []
        return [
            "import cutlass",
            "from cutlass import cute",
            *(["from cutlass.cute.nvgpu import cpasync"] if atoms else []),
            "",
            f"TILE = {self.wanted.tile}" + ("  # bytes, two elements each" if self.wanted.packed else ""),
            f"THREADS, STAGES = {self.wanted.threads}, {self.stages}",
            "",
            "",
            "@cute.kernel",
            f"def kernel({', '.join([*parameters, *extra])}):",
            *_indented(self._kernel()),
            "",
            "",
            "@cute.jit",
            f"def launch({', '.join([*(f'{name}: cute.Tensor' for name in tensors), 'stream', *extra])}):",
            *_indented(self._host(tensors, atoms, [one.partition(":")[0] for one in extra])),
        ]

    def _host(self, tensors: list[str], atoms: list[str], extra: list[str]) -> list[str]:
        packed = self.wanted.packed is not None
        lines = [_view("src", self.wanted.src, packed)]
        lines += [_view(name, self.wanted.src, packed) for name in self.outs if packed]
        if self.wanted.dst is not None:
            lines.append(_view("dst", self.wanted.dst, packed))
        lines.append("grid = (cute.ceil_div(cute.size(src, mode=[0]), TILE[0]), 1, 1)")
        if atoms:
            assert self.found.shared is not None
            shared = self.found.shared.memref
            lines.append(f"layout = {code.layout_code(shared.layout)}")
            composed = "layout"
            if shared.swizzle is not None:
                composed = f"cute.make_composed_layout({code.swizzle_code(shared.swizzle)}, 0, layout)"
            for name, tensor in (("load", "src"), ("store", "dst")):
                if name in atoms:
                    lines.append(
                        f"{name}, {tensor} = cpasync.make_tiled_tma_atom(cpasync.{tma_code.OPS[name]}(), "
                        f"{tensor}, {composed}, TILE)"
                    )
        given = ", ".join([*tensors, *atoms, *extra])
        return [*lines, f"kernel({given}).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)"]

    def _kernel(self) -> list[str]:
        lines = [
            "tidx, _, _ = cute.arch.thread_idx()",
            "row, _, _ = cute.arch.block_idx()",
            "tiles = cute.local_tile(src, TILE, (row, None))  # (MN, K, tiles along K)",
            "count = cute.size(tiles, mode=[2])",
            *(f"{name}_tiles = cute.local_tile({name}, TILE, (row, None))" for name in self._written()),
        ]
        if self.wanted.tails:
            lines.append("places = cute.local_tile(cute.make_identity_tensor(src.shape), TILE, (row, None))")
        if self.found.shared is None:
            return [*lines, *self.setup(), "for k in cutlass.range(count):", *_indented(self._direct())]
        shared = self.found.shared
        tile: Any = shared.memref.layout
        stride = shared.size // self.wanted.element_bytes
        staged = make_layout(*tile.modes, Layout(self.stages, stride if self.stages > 1 else 0))
        smem = code.allocation_code(
            Memref(shared.element, "smem", staged, shared.align, shared.swizzle), code.layout_code(staged)
        )
        lines += ["allocator = cutlass.memory.SmemAllocator()", f"smem = {smem}"]
        if self.load:
            lines += [
                "arrived = allocator.allocate_array(cutlass.Int64, STAGES)",
                "warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())",
                "if warp == 0:",
                "    with cute.arch.elect_one():",
                "        for stage in cutlass.range_constexpr(STAGES):",
                "            cute.arch.mbarrier_init(arrived + stage, 1)",
                "    cute.arch.mbarrier_init_fence()",
                "cute.arch.sync_threads()",
                "to_stage, from_tile = cpasync.tma_partition(load, 0, cute.make_layout(1), "
                "cute.group_modes(smem, 0, 2), cute.group_modes(tiles, 0, 2))",
            ]
        if self.store:
            if not self.load:
                lines.append("warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())")
            lines.append(
                "of_stage, to_tile = cpasync.tma_partition(store, 0, cute.make_layout(1), "
                "cute.group_modes(smem, 0, 2), cute.group_modes(dst_tiles, 0, 2))"
            )
        lines += self.setup()
        return [*lines, *self._loop()]

    def _written(self) -> list[str]:
        return [*self.outs, *(["dst"] if self.wanted.dst is not None else [])]

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
            tiled = step.copy.tiling.tiled
            if step.split is not None:
                thr, val = (code.layout_code(layout) for layout in step.split)
                copy = f"cute.make_tiled_copy_tv({name}_atom, {thr}, {val})"
            else:
                tiler = code.tree_code(tuple(mode.shape for mode in tiled.tiler))
                copy = f"cute.make_tiled_copy({name}_atom, {code.layout_code(tiled.layout_tv)}, {tiler})"
            lines += [
                f"{name}_atom = {atom}",
                f"{name}_tiled = {copy}",
                f"{name} = {name}_tiled.get_slice(tidx)",
            ]
        return lines

    def _loop(self) -> list[str]:
        commit = ["cute.arch.cp_async_commit_group()"] if self.asynchronous else []
        if self.stages == 1:
            return [
                "for k in cutlass.range(count):",
                *_indented([*self._fill("k", "0"), *commit, *self._wait("k", "0", 0)]),
                *_indented(
                    [*self._drain("k", "0"), "cute.arch.sync_threads()  # before the stage is written again"]
                ),
            ]
        ahead = "k + STAGES - 1"
        return [
            "for k in cutlass.range_constexpr(STAGES - 1):",
            "    if k < count:",
            *_indented(_indented(self._fill("k", "k"))),
            *_indented(commit),
            "for k in cutlass.range(count):",
            "    stage = k % STAGES",
            *_indented(self._wait("k", "stage", self.stages - 2)),
            f"    if {ahead} < count:",
            *_indented(_indented(self._fill(f"({ahead})", f"(({ahead}) % STAGES)"))),
            *_indented(commit),
            *_indented(self._drain("k", "stage")),
        ]

    def _fill(self, k: str, stage: str) -> list[str]:
        """Start the copy of tile `k` into a stage."""
        if self.load:
            size = f"{self.wanted.tile[0] * self.wanted.tile[1] * self.wanted.element_bytes}"
            return [
                "if warp == 0:  # the whole warp: the copy elects a thread",
                "    with cute.arch.elect_one():",
                f"        cute.arch.mbarrier_arrive_and_expect_tx(arrived + {stage}, {size})",
                f"    cute.copy(load, from_tile[None, {k}], to_stage[None, {stage}], "
                f"tma_bar_ptr=arrived + {stage})",
            ]
        return self.threads(0, f"tiles[None, None, {k}]", f"smem[None, None, {stage}]", k=k)

    def _wait(self, k: str, stage: str, groups: int) -> list[str]:
        """Tile `k` is there, for every thread."""
        lines = []
        if self.load:
            lines.append(f"cute.arch.mbarrier_wait(arrived + {stage}, ({k} // STAGES) % 2)")
        elif self.asynchronous:
            lines.append(f"cute.arch.cp_async_wait_group({groups})")
        read_by_engine = self.store or any(not steps for steps in self.steps[1:])
        if read_by_engine and not self.load:
            lines.append('cute.arch.fence_proxy("async.shared", space="cta")')
        return [*lines, "cute.arch.sync_threads()"]

    def _drain(self, k: str, stage: str) -> list[str]:
        """Every consumer of a stage."""
        lines: list[str] = []
        outs = iter(self.outs)
        for move, consumer in enumerate(self.wanted.consumers, 1):
            at = f"smem[None, None, {stage}]"
            if consumer.target == "gmem" and self.steps[move][0].role == "tma store":
                lines += [
                    "if warp == 0:",
                    f"    cute.copy(store, of_stage[None, {stage}], to_tile[None, {k}])",
                    "    cute.arch.cp_async_bulk_commit_group()",
                    "    cute.arch.cp_async_bulk_wait_group(0, read=True)",
                ]
            elif consumer.target == "gmem":
                lines += self.threads(move, at, f"dst_tiles[None, None, {k}]", k=k)
            elif not self.steps[move]:
                lines += self._operand(at, f"{next(outs)}_tiles[None, None, {k}]", str(consumer), k)
            else:
                lines += self.threads(move, at, "", f"{next(outs)}_tiles[None, None, {k}]", k)
        return lines

    def _operand(self, stage: str, out: str, name: str, k: str) -> list[str]:
        body = [
            f"operand, written = {stage}, {out}",
            *([f"place = places[None, None, {k}]"] if self.wanted.tails else []),
            "for i in cutlass.range(tidx, cute.size(TILE), THREADS):",
            *_indented(self._if_inside("place[i]", "written[i] = operand[i]")),
        ]
        said = f"# {name} reads the stage: its descriptor describes it as it lies"
        return [said, *(body if self.ending is Ending.WRITE else ["if keep != 0:", *_indented(body)])]

    def _if_inside(self, place: str, line: str) -> list[str]:
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
            f"{held}_at, {held}_from, {held}_to = {view}, {source}, {target}",
            f"for i in cutlass.range_constexpr(cute.size({held}_at)):",
            *_indented(self._if_inside(f"{held}_at[i]", f"{held}_to[i] = {held}_from[i]")),
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
            return [*looked, f"if (keep != 0) | (total == {_NEVER}):", *_indented(body)]
        first = "cute.make_tensor(cute.recast_ptr(out.iterator, dtype=cutlass.Int32), cute.make_layout(1))"
        return [*looked, f"if total == {_NEVER}:", f"{_PAD}first = {first}", _PAD + "first[0] = total"]

    def _direct(self) -> list[str]:
        if self.wanted.dst is not None:
            return self.threads(0, "tiles[None, None, k]", "dst_tiles[None, None, k]", k="k")
        return self.threads(0, "tiles[None, None, k]", "", f"{self.outs[0]}_tiles[None, None, k]", "k")

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
                lines += [
                    "# your accumulators, converted: here they come from a tensor that stands for them",
                    f"{held} = cute.make_rmem_tensor({name}.partition_S({dst}).shape, {self.dtype})",
                    *(
                        [f"{held}.fill(cutlass.Float32(tidx).to({self.dtype}))"]
                        if self.ending is Ending.LOOK
                        else self._element_by_element(
                            held, f"{name}.partition_S({src})", held, f"{name}.partition_S({place})"
                        )
                    ),
                    f"cute.copy({name}_atom, {held}, {name}.partition_D({dst}))",
                ]
            elif step.role in ("load", "matrix"):
                dtype = code.dtype_code(step.copy.dst.dtype)
                lines += [
                    f"{held} = cute.make_rmem_tensor({name}.partition_D({src}).shape, {dtype})",
                    *([f"{code.as_bits_code(held, step.copy.dst.dtype)}.fill(0)"] if guard else []),
                    f"cute.copy({name}_atom, {name}.partition_S({src}), {held}{guard})",
                    *self._converted(held, move, step),
                ]
                if out:
                    written = self._element_by_element(
                        held, held, f"{name}.partition_D({out})", f"{name}.partition_D({place})"
                    )
                    lines += self._ended(held, written)
            elif step.role == "turn":
                shape = code.tree_code(step.copy.dst.layout.shape)
                dtype = code.dtype_code(step.copy.dst.dtype)
                turned = code.layout_code(step.copy.src.layout)
                lines += [
                    f"{held}_turned = cute.make_tensor({held}.iterator, {turned})",
                    f"{held} = cute.make_rmem_tensor({shape}, {dtype})",
                    f"cute.basic_copy({held}_turned, {held})",
                ]
            else:
                if step.copy.src.layout != self._last(move).dst.layout:
                    layout = code.layout_code(step.copy.src.layout)
                    lines.append(f"{held} = cute.make_tensor({held}.iterator, {layout})")
                lines.append(f"cute.copy({name}_atom, {held}, {name}.partition_D({dst}){guard})")
        active = min(step.threads for step in self.steps[move] if step.role != "turn")
        return [f"if tidx < {active}:", *_indented(lines)] if active < self.wanted.threads else lines

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

    def _last(self, move: int) -> Any:
        """The copy before a move's store."""
        return self.steps[move][-2].copy


def _view(name: str, tensor: Memref, packed: bool = False) -> str:
    """The tensor with the strides that the plan was made for; `packed`, its bytes, two elements each."""
    stride: Any = tensor.layout.stride
    texts = []
    for mode, one in enumerate(stride):
        given = f"{name}.stride[{mode}]" + (" // 2" if packed else "")
        if not isinstance(one, Dynamic):
            texts.append(str(one))
        elif one.divisor == 1:
            texts.append(given)
        else:
            texts.append(f"cute.assume({given}, divby={one.divisor})")
    shape, pointer = f"{name}.shape", f"{name}.iterator"
    if packed:
        fast = stride.index(1)
        shape = ", ".join(f"{shape}[{mode}]" + (" // 2" if mode == fast else "") for mode in (0, 1))
        shape, pointer = f"({shape})", f"cute.recast_ptr({pointer}, dtype=cutlass.Uint8)"
    return f"{name} = cute.make_tensor({pointer}, cute.make_layout({shape}, stride=({', '.join(texts)})))"


def _indented(lines: Iterable[str]) -> list[str]:
    return [_PAD + line for line in lines]
