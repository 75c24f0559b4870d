"""A plan as a CuTe DSL program: a kernel that moves tile after tile through its stages, and its launch.

The program compiles as it stands. What the threads hold at the end is written to `out`, so that it can be run
and compared with the source; a kernel has its MMA there.
"""

from __future__ import annotations

from typing import Any

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.modes import make_layout
from layoutcheck.copies.memref import Memref
from layoutcheck.fixes import code, tma_code
from layoutcheck.machine.arch import LINE_BYTES
from layoutcheck.synthesis.copies import Step
from layoutcheck.synthesis.moved import Ending, Moves, indented
from layoutcheck.synthesis.search import Found
from layoutcheck.synthesis.wanted import Wanted, fast_mode

WIDTH = 96
"""Columns of a line, where it can be broken."""


def blocks_of(wanted: Wanted, extents: tuple[int, int]) -> int:
    """Blocks of a launch for a tensor of these extents."""
    rows, columns = (-(-extent // tile) for extent, tile in zip(extents, wanted.tile, strict=True))
    return rows * -(-columns // each(wanted)) if wanted.divided else rows


def each(wanted: Wanted) -> int:
    """Tiles of a block where blocks share a row: one a stage, or as many as have lines of src.

    That is where neighbours are rows of tiles, as dst lies along MN: what one tile takes of a line is not
    asked for again soon.
    """
    along_k = wanted.dst is not None and fast_mode(wanted.dst) != 0
    if along_k or wanted.accumulator or fast_mode(wanted.src) == 0:
        return wanted.stages
    run = wanted.tile[1] * wanted.src.element_bytes
    return max(wanted.stages, -(-LINE_BYTES // run))


def program(found: Found, steps: list[list[Step]], wanted: Wanted, ending: Ending = Ending.WRITE) -> str:
    """The source of a module with `kernel` and `launch(src, out..., [dst,] stream[, keep])`."""
    return code.folded("\n".join(_Program(found, steps, wanted, ending).lines()) + "\n", WIDTH)


def takes_keep(wanted: Wanted, ending: Ending) -> bool:
    """Whether the launch takes `keep`: not where all goes to global memory as it is."""
    return ending is not Ending.WRITE and any(one.target != "gmem" for one in wanted.consumers)


def statements(found: Found, steps: list[Step], wanted: Wanted, waits: bool) -> str:
    """A writer's statements in place of a copy: `src` and `dst` are its tiles, `tidx` the thread.

    With `waits` they wait for what cp.async brings; else the program does as it did before.
    """
    made = _Program(found, [steps], wanted, Ending.WRITE)
    made.together = False  # the place may be one that a part of a warp reaches
    lines = made.setup() + made.threads(0, "src", "dst")
    if waits and steps[0].role == "async":
        lines += ["cute.arch.cp_async_commit_group()", "cute.arch.cp_async_wait_group(0)"]
    return code.folded("\n".join(lines))


class _Program(Moves):
    """The module around the moves."""

    def lines(self) -> list[str]:
        """The module."""
        atoms = [name for name, used in (("load", self.load), ("store", self.store)) if used]
        tensors = ["src", *self.outs, *(["dst"] if self.wanted.dst is not None else [])]
        parameters = [f"{name}: cute.Tensor" for name in tensors] + [
            f"{name}: cute.CopyAtom" for name in atoms
        ]
        parted = self.wanted.divided
        extra = ["keep: cutlass.Int32"] if takes_keep(self.wanted, self.ending) else []
        return [
            "import cutlass",
            "from cutlass import cute",
            *(["from cutlass.cute.nvgpu import cpasync"] if atoms else []),
            "",
            f"TILE = {self.wanted.tile}  # {', '.join(self._promises())}".rstrip(" #"),
            f"THREADS, STAGES = {self.wanted.threads}, {self.stages}",
            *([f"EACH = {each(self.wanted)}  # tiles of a block, side by side along K"] if parted else []),
            "",
            "",
            "@cute.kernel",
            f"def kernel({', '.join([*parameters, *extra])}):",
            *indented(self._kernel()),
            "",
            "",
            "@cute.jit",
            f"def launch({', '.join([*(f'{name}: cute.Tensor' for name in tensors), 'stream', *extra])}):",
            *indented(self._host(tensors, atoms, [one.partition(":")[0] for one in extra])),
        ]

    def _promises(self) -> list[str]:
        """What a tile of the program is."""
        pairs = ["bytes, two elements each"] if self.wanted.packed else []
        return pairs if self.wanted.tails else [*pairs, "the extents are multiples of it"]

    def _host(self, tensors: list[str], atoms: list[str], extra: list[str]) -> list[str]:
        packed = self.wanted.packed is not None
        lines = [_view("src", self.wanted.src, packed)]
        lines += [_view(name, self.wanted.src, packed) for name in self.outs if packed]
        if self.wanted.dst is not None:
            lines.append(_view("dst", self.wanted.dst, packed))
        rows = "cute.ceil_div(cute.size(src, mode=[0]), TILE[0])"
        if self.wanted.divided:
            columns = "cute.ceil_div(cute.size(src, mode=[1]), TILE[1])"
            lines += [f"rows = {rows}", f"columns = {columns}"]
            lines.append("grid = (rows * cute.ceil_div(columns, EACH), 1, 1)")
        else:
            lines.append(f"grid = ({rows}, 1, 1)")
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
        lines = ["tidx, _, _ = cute.arch.thread_idx()", *self._row()]
        lines += [
            "tiles = cute.local_tile(src, TILE, (row, None))  # (MN, K, tiles along K)",
            "count = cute.size(tiles, mode=[2])",
            *(f"{name}_tiles = cute.local_tile({name}, TILE, (row, None))" for name in self._written()),
        ]
        if self.wanted.tails:
            lines.append("places = cute.local_tile(cute.make_identity_tensor(src.shape), TILE, (row, None))")
        if self.wanted.divided:
            moved = ["tiles", "dst_tiles", *(["places"] if self.wanted.tails else [])]
            lines += [
                "first = part * EACH",
                "count = min(EACH, count - first)",
                *(f"{name} = cute.domain_offset((0, 0, first), {name})" for name in moved),
            ]
        if self.found.shared is None:
            return [*lines, *self.setup(), "for k in cutlass.range(count):", *indented(self._direct())]
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

    def _row(self) -> list[str]:
        """Which tiles are this block's: a row of them, or a part that lies beside the next block's in dst."""
        if self.wanted.dst is None or not self.wanted.divided:
            return ["row, _, _ = cute.arch.block_idx()"]
        lines = ["block, _, _ = cute.arch.block_idx()"]
        if fast_mode(self.wanted.dst) == 0:
            rows = "rows = cute.ceil_div(cute.size(src, mode=[0]), TILE[0])"
            return [*lines, rows, "row, part = block % rows, block // rows  # along MN, as dst lies"]
        columns = "cute.ceil_div(cute.size(src, mode=[1]), TILE[1])"
        parts = f"parts = cute.ceil_div({columns}, EACH)"
        return [*lines, parts, "row, part = block // parts, block % parts  # along K, as dst lies"]

    def _written(self) -> list[str]:
        return [*self.outs, *(["dst"] if self.wanted.dst is not None else [])]

    def _loop(self) -> list[str]:
        commit = ["cute.arch.cp_async_commit_group()"] if self.asynchronous else []
        if self.stages == 1:
            return [
                "for k in cutlass.range(count):",
                *indented([*self._fill("k", "0"), *commit, *self._wait("k", "0", 0)]),
                *indented(
                    [*self._drain("0"), "cute.arch.sync_threads()  # before the stage is written again"]
                ),
            ]
        return [
            "for k in cutlass.range_constexpr(STAGES - 1):",
            "    if k < count:",
            *indented(indented(self._fill("k", "k"))),
            *indented(commit),
            "for k in cutlass.range(count):",
            "    stage = k % STAGES",
            *indented(self._wait("k", "stage", self.stages - 2)),
            "    ahead = k + STAGES - 1",
            "    if ahead < count:",
            "        free = ahead % STAGES",
            *indented(indented(self._fill("ahead", "free"))),
            *indented(commit),
            *indented(self._drain("stage")),
        ]

    def _fill(self, k: str, stage: str) -> list[str]:
        """Start the copy of tile `k` into a stage."""
        if self.load:
            size = f"{self.wanted.tile[0] * self.wanted.tile[1] * self.wanted.element_bytes}"
            return [
                f"barrier = arrived + {stage}",
                "if warp == 0:  # the whole warp: the copy elects a thread",
                "    with cute.arch.elect_one():",
                f"        cute.arch.mbarrier_arrive_and_expect_tx(barrier, {size})",
                f"    cute.copy(load, from_tile[None, {k}], to_stage[None, {stage}], tma_bar_ptr=barrier)",
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

    def _drain(self, stage: str) -> list[str]:
        """Every consumer of a stage."""
        lines: list[str] = []
        outs = iter(self.outs)
        for move, consumer in enumerate(self.wanted.consumers, 1):
            at = f"smem[None, None, {stage}]"
            if consumer.target == "gmem" and self.steps[move][0].role == "tma store":
                lines += [
                    "if warp == 0:",
                    f"    cute.copy(store, of_stage[None, {stage}], to_tile[None, k])",
                    "    cute.arch.cp_async_bulk_commit_group()",
                    "    cute.arch.cp_async_bulk_wait_group(0, read=True)",
                ]
            elif consumer.target == "gmem":
                lines += self.threads(move, at, "dst_tiles[None, None, k]", k="k")
            elif not self.steps[move]:
                lines += self._operand(at, f"{next(outs)}_tiles[None, None, k]", str(consumer))
            else:
                lines += self.threads(move, at, "", f"{next(outs)}_tiles[None, None, k]", "k")
        return lines

    def _operand(self, stage: str, out: str, name: str) -> list[str]:
        body = [
            f"operand, written = {stage}, {out}",
            *(["place = places[None, None, k]"] if self.wanted.tails else []),
            "for i in cutlass.range(tidx, cute.size(TILE), THREADS):",
            *indented(self.if_inside("place[i]", "written[i] = operand[i]")),
        ]
        said = f"# {name} reads the stage: its descriptor describes it as it lies"
        return [said, *(body if self.ending is Ending.WRITE else ["if keep != 0:", *indented(body)])]

    def _direct(self) -> list[str]:
        if self.wanted.dst is not None:
            return self.threads(0, "tiles[None, None, k]", "dst_tiles[None, None, k]", k="k")
        return self.threads(0, "tiles[None, None, k]", "", f"{self.outs[0]}_tiles[None, None, k]", "k")


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
