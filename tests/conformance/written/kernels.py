# ruff: noqa: E501 (lines of code that are written)
"""Random small kernels as users write them, from a seed: source text, not types.

`kernel(seed)` gives a `Written`: a module whose `build(reference)` compiles one kernel that fills memory, does
one copy (or, as the reference, what its layouts say, element by element) and dumps memory. How tensors
are made, divided, sliced, partitioned and copied is drawn from what CuTe kernels do; about half of it is
then done slightly wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

IMAGE_BYTES = 1 << 18
MIDDLE = 1 << 16  # tensors in global memory begin here, so that an address can be wrong and still be mapped
FRAGMENTS = 3 << 16  # what registers are filled with begins here
TYPES = {
    "BFloat16": 16, "Float16": 16, "Float32": 32, "Int8": 8, "Int32": 32, "Float64": 64, "Int64": 64,
    "Int16": 16, "Uint8": 8, "Uint32": 32, "Float8E4M3FN": 8, "Float8E5M2": 8, "Float4E2M1FN": 4, "Int4": 4,
}  # fmt: skip


@dataclass
class Written:
    """`source` of the module; the numbers its kernel is to be run with; `threads` of its block."""

    source: str
    threads: int
    align: int
    divisor: int
    shared_bytes: int
    style: str
    dtype: str


@dataclass
class Draft:
    rng: Random
    dtype: str = "BFloat16"
    threads: int = 128
    lines: list[str] = field(default_factory=list)
    align: int = 16
    divisor: int = 8
    dynamic: list[str] = field(default_factory=list)

    @property
    def bits(self) -> int:
        return TYPES[self.dtype]

    def say(self, line: str) -> None:
        self.lines.append(line)

    def any(self, *choices):
        return self.rng.choice(choices)

    def maybe(self, chance: float) -> bool:
        return self.rng.random() < chance


HEAD = """import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.runtime import make_fake_compact_tensor, make_fake_tensor
from tests.conformance.written import support

copy, autovec_copy, basic_copy = (support.spied(n) for n in ("copy", "autovec_copy", "basic_copy"))
copy_atom_call, basic_copy_if = support.spied("copy_atom_call"), support.spied("basic_copy_if")


@cute.kernel
def kernel(gI: cute.Tensor, gO: cute.Tensor, gD: cute.Tensor, gA: cute.Tensor, gB: cute.Tensor, n0: cutlass.Int32,
           n1: cutlass.Int32, n2: cutlass.Int32, REF: cutlass.Constexpr):
    tid = cute.arch.thread_idx()[0]
    alloc = cutlass.memory.SmemAllocator()
    T = cutlass.{dtype}
"""
TAIL = """

@cute.jit
def host(gI: cute.Tensor, gO: cute.Tensor, gD: cute.Tensor, gA: cute.Tensor, gB: cute.Tensor, n0: cutlass.Int32,
         n1: cutlass.Int32, n2: cutlass.Int32, REF: cutlass.Constexpr):
    kernel(gI, gO, gD, gA, gB, n0, n1, n2, REF).launch(grid=(1, 1, 1), block=({threads}, 1, 1))


def build(reference):
    image = make_fake_compact_tensor(cutlass.Uint8, ({size},), assumed_align={align})
    pitch = cute.sym_int(divisibility={divisor})
    argument = make_fake_tensor(
        cutlass.{dtype}, (cute.sym_int(), cute.sym_int()), {pitches}, assumed_align={align}
    )
    return cute.compile(host, image, image, image, argument, argument, cutlass.Int32(1), cutlass.Int32(1), cutlass.Int32(1), reference)
"""


def kernel(seed: int) -> Written:
    rng = Random(seed)
    draft = Draft(rng)
    draft.threads = rng.choice((32, 64, 128, 128, 128, 256))
    draft.dtype = rng.choice(("BFloat16", "BFloat16", "Float16", "Float32", *TYPES))
    draft.align = rng.choice((16, 16, 16, 32, 128, 8, 4))
    draft.divisor = rng.choice((1, 2, 4, 8, 8, 16, 16))
    style = rng.choices(
        ("tiled", "matrix", "divided", "plain", "cotiled", "partitioned"), (10, 5, 4, 3, 2, 3)
    )[0]
    if style == "matrix":
        draft.dtype = rng.choice(("BFloat16", "Float16"))
        draft.threads = rng.choice((32, 64, 128))
    STYLES[style](draft)
    return module(draft, style, rng.choice(("(pitch, 1)", "(1, pitch)")))


def module(draft: Draft, style: str, pitches: str = "(pitch, 1)") -> Written:
    """The whole module around the lines of a kernel."""
    align = max(draft.align, draft.bits // 8)
    body = "\n".join(f"    {line}" for line in draft.lines)
    tail = TAIL.format(
        threads=draft.threads, size=IMAGE_BYTES, align=align, dtype=draft.dtype, divisor=draft.divisor,
        pitches=pitches,
    )  # fmt: skip
    source = f"{HEAD.replace('{dtype}', draft.dtype)}{body}\n{tail}"
    return Written(source, draft.threads, align, draft.divisor, 1 << 18, style, draft.dtype)


# ---- memory ----


def tile_layout(d: Draft, m: int, n: int, *, stages: int = 0, smem: bool = False) -> str:
    """Code of a layout of (m, n) elements, mostly of one of the two orders, maybe padded or pitched."""
    rows = d.maybe(0.5)
    first, second = (n, m) if rows else (m, n)
    pad = d.any(0, 0, 0, 8, 8, 1, 4, 16, 3) if d.maybe(0.4) else 0
    pitch: object = first + pad
    if not smem and d.maybe(0.3):
        pitch = d.any("n0", "cute.assume(n0, 8)", "cute.assume(n0, 16)", "cute.assume(n0, 2)")
        d.dynamic.append(str(pitch))
    unit: object = 1
    if d.maybe(0.06):
        unit = d.any(2, 4, 0)
        if not smem and d.maybe(0.3):
            unit = "n2"
    if isinstance(pitch, int) and isinstance(unit, int) and unit > 1:
        pitch = pitch * unit
    strides = [pitch, unit] if rows else [unit, pitch]
    shape: list[object] = [m, n]
    if d.maybe(0.12) and m % 2 == 0 and m > 2 and isinstance(strides[0], int):  # a nested mode
        shape[0] = f"({m // 2}, 2)"
        strides[0] = f"({strides[0]}, {d.any(strides[0] * (m // 2), m * n)})"
    if stages:
        shape.append(stages)
        size = second * (pitch if isinstance(pitch, int) else 80)
        strides.append(d.any(size, size, size, size + 8, size + 1))
    return f"cute.make_layout(({', '.join(map(str, shape))}), stride=({', '.join(map(str, strides))}))"


def gmem(d: Draft, name: str, image: str, m: int, n: int, stages: int = 0) -> None:
    if d.maybe(0.3) and not stages:  # an argument of dynamic layout, of which this block takes a tile
        whole = {"gI": "gA", "gO": "gB"}[image]
        if d.maybe(0.2):
            d.say(
                f"{whole} = cute.domain_offset(({d.any('n2', '0', '8')}, {d.any('n2', '0', '8', '4')}), {whole})"
            )
        if d.maybe(0.7):
            d.say(f"{name} = cute.local_tile({whole}, ({m}, {n}), ({d.any('0', 'n2')}, {d.any('0', 'n2')}))")
        else:
            d.say(f"{name} = cute.zipped_divide({whole}, ({m}, {n}))[(None, None), ({d.any('0', 'n2')}, 0)]")
        return
    d.say(f"{name}p = cute.recast_ptr({image}.iterator + {MIDDLE}, dtype=T)")
    if d.maybe(0.1):
        step = d.any(1, 2, 4, 8, "n2", "n2 * 8", "cute.assume(n2 * 8, 8)")
        d.say(f"{name}p = {name}p + {step}")
    d.say(f"{name} = cute.make_tensor({name}p, {tile_layout(d, m, n, stages=stages)})")


def smem(d: Draft, name: str, m: int, n: int, stages: int = 0) -> None:
    """An allocation with a swizzle on its pointer, a composed layout, or neither; and `<name>_raw`."""
    if d.maybe(0.3):
        d.say(f"pad = alloc.allocate({d.any(16, 48, 8, 1, 128)}, byte_alignment=1)")
    kind = d.any("plain", "plain", "swizzled", "swizzled", "swizzled", "composed", "atom")
    if kind == "swizzled" and d.maybe(0.5):  # the textbook: rows of a whole period
        pass
    align = d.any(16, 128, 128, 1024, 1024, 8, 32)
    log = {4: 0, 8: 0, 16: 1, 32: 2, 64: 3}[d.bits]
    base = d.any(4, 4, 4, 3) if kind == "swizzled" else 4
    triple = (d.any(3, 3, 2, 1), base, d.any(3, 3, 3, 4, 2))
    room = f"alloc.allocate({name}_words * 4, byte_alignment={align})"
    if kind in ("composed", "atom"):
        elements = (triple[0], max(0, 4 - log), 3)
        if d.maybe(0.15):
            elements = triple
        row = max(8, 64 * 2 * 8 // d.bits // d.any(1, 1, 2, 4))
        if kind == "atom":
            inner = d.any(f"(8, {row}), stride=({row}, 1)", f"({row}, 8), stride=(1, {row})")
            d.say(
                f"atom_layout = cute.make_composed_layout(cute.make_swizzle{elements}, 0, "
                f"cute.make_layout({inner}))"
            )
            shape = f"({m}, {n}, {stages})" if stages else f"({m}, {n})"
            order = d.any("(0, 1, 2)", "(1, 0, 2)") if stages else d.any("(0, 1)", "(1, 0)")
            d.say(f"{name}_layout = cute.tile_to_shape(atom_layout, {shape}, {order})")
        else:
            d.say(
                f"{name}_layout = cute.make_composed_layout(cute.make_swizzle{elements}, 0, "
                f"{tile_layout(d, m, n, stages=stages, smem=True)})"
            )
        d.say(words(name))
        if d.maybe(0.7):  # as kernels do: the swizzle on the pointer, the outer layout
            d.say(f"{name}_raw = {room}")
            d.say(
                f"{name} = cute.make_tensor(cute.recast_ptr({name}_raw, {name}_layout.inner, dtype=T), "
                f"{name}_layout.outer)"
            )
        else:
            d.say(f"{name}_raw = {room}")
            d.say(f"{name} = cute.make_tensor(cute.recast_ptr({name}_raw, dtype=T), {name}_layout)")
    else:
        swizzle = f", cute.make_swizzle{triple}" if kind == "swizzled" else ""
        d.say(f"{name}_layout = {tile_layout(d, m, n, stages=stages, smem=True)}")
        d.say(words(name))
        d.say(f"{name}_raw = {room}")
        d.say(
            f"{name} = cute.make_tensor(cute.recast_ptr({name}_raw{swizzle or ', None'}, dtype=T), {name}_layout)"
        )


def words(name: str) -> str:
    """32-bit words that hold a layout, and a swizzle's period more."""
    return f"{name}_words = cute.cosize({name}_layout) * T.width // 32 + 1024"


def prologue(d: Draft, spaces: tuple[str, str], shared: tuple[str, ...], fragments: tuple[str, ...]) -> None:
    for name in shared:
        d.say(f"support.move_words({name}_raw, gI.iterator, {name}_words, {d.threads})")
    for name in fragments:
        d.say(f"support.fill({name}, gI.iterator + {FRAGMENTS}, {d.threads})")
    for name, space in zip(("src", "dst"), spaces, strict=True):
        if space != "rmem":
            d.say(f"support.extent({name}={name})")
    d.say("cute.arch.sync_threads()")


def epilogue(d: Draft, shared: tuple[str, ...], fragments: tuple[str, ...]) -> None:
    d.say("cute.arch.cp_async_commit_group()")
    d.say("cute.arch.cp_async_wait_group(0)")
    d.say("cute.arch.sync_threads()")
    for name in shared:
        d.say(f"support.move_words(gD.iterator, {name}_raw, {name}_words, {d.threads})")
    for name in fragments:
        d.say(f"support.dump({name}, gD.iterator + {1 << 17}, {d.threads})")


def tensors(d: Draft, m: int, n: int, spaces: tuple[str, str], stages: int = 0) -> None:
    """`src` and `dst` of (m, n) where they are in memory."""
    for name, space, image in (("src", spaces[0], "gI"), ("dst", spaces[1], "gO")):
        if space == "gmem":
            gmem(d, name, image, m, n, stages)
        elif space == "smem":
            smem(d, name, m, n, stages)


# ---- atoms ----


def simt_atom(d: Draft, spaces: tuple[str, str], bits: int | None = None) -> tuple[str, int]:
    """Code of an atom that is right for the spaces, mostly, and its width in bits (0: auto)."""
    width = bits if bits is not None else d.any(128, 128, 128, 64, 32, d.bits, 16, 256, 0)
    width = width if width == 0 else max(width, d.bits)
    kinds = ["cute.nvgpu.CopyUniversalOp()"] * 3
    if spaces == ("gmem", "smem"):
        kinds += ["cpasync.CopyG2SOp()"] * 5
        kinds += ["cpasync.CopyG2SOp(cpasync.LoadCacheMode.GLOBAL)"] * 2
    if ("smem" in spaces and "rmem" in spaces) or ("gmem" in spaces and "rmem" in spaces):
        letters = {"gmem": "G", "smem": "S", "rmem": "R"}
        kinds += [f"cute.nvgpu.Copy{letters[spaces[0]]}2{letters[spaces[1]]}Op()"] * 2
    kind = d.any(*kinds)
    if "G2SOp" in kind:
        width = width if width in (32, 64, 128) or d.maybe(0.1) else d.any(128, 64, 32)
        width = max(width, d.bits)
    dtype = "T" if d.maybe(0.96) else d.any("cutlass.Float32", "cutlass.BFloat16", "cutlass.Uint8")
    named = "" if width == 0 else f", num_bits_per_copy={width}"
    if "2" in kind and "Op()" in kind and width == 0 and "G2SOp" not in kind:
        named = ""
    return f"cute.make_copy_atom({kind}, {dtype}{named})", width


SPACES = (
    ("gmem", "smem"), ("gmem", "smem"), ("gmem", "smem"), ("smem", "gmem"), ("gmem", "rmem"), ("rmem", "gmem"),
    ("smem", "rmem"), ("rmem", "smem"), ("gmem", "gmem"), ("smem", "rmem"),
)  # fmt: skip


# ---- styles ----


def tiled(d: Draft) -> None:
    """make_tiled_copy_tv or make_tiled_copy, partition_S and partition_D, sometimes rest loops and predicates."""
    spaces = d.any(*SPACES)
    atom, width = simt_atom(d, spaces)
    v = max(1, (width or d.any(d.bits, 64, 128)) // d.bits)
    if d.maybe(0.12):
        v = max(1, d.any(v // 2, v * 2, v + 1, 3, 1))
    tm = d.any(*[t for t in (1, 2, 4, 8, 16, 32, 64, 128, 256) if t <= d.threads])
    tn = d.threads // tm
    if d.maybe(0.06):
        tn = max(1, d.any(tn // 2, tn * 2, tn))
    rows = d.maybe(0.6)
    vm, vn = (1, v) if rows else (v, 1)
    if d.maybe(0.15):
        vm, vn = vm * d.any(1, 2), vn * d.any(1, 2)
    while tm * tn * vm * vn * d.bits // 8 > 16384 and max(vm, vn) > 1:
        vm, vn = max(1, vm // 2), max(1, vn // 2)
    rm, rn = d.any((1, 1), (1, 1), (2, 1), (1, 2), (2, 2), (1, 4), (3, 1))
    m, n = tm * vm * rm, tn * vn * rn
    if m * n * d.bits // 8 > 16384:
        m, n = tm * vm, tn * vn
    if d.maybe(0.06):
        m, n = max(1, m + d.any(-1, 1, -vm, 2)), n
    swapped = d.maybe(0.12)  # the threads run along the other mode
    thr = f"({tm}, {tn}), stride=({tn}, 1)" if rows != swapped else f"({tm}, {tn}), stride=(1, {tm})"
    val = f"({vm}, {vn})" + (d.any("", f", stride=({vn}, 1)", f", stride=(1, {vm})"))
    stages = d.any(0, 0, 0, 2, 3)
    tensors(d, m, n, spaces, stages)
    d.say(f"atom = {atom}")
    if d.maybe(0.8):
        d.say(f"tc = cute.make_tiled_copy_tv(atom, cute.make_layout({thr}), cute.make_layout({val}))")
    else:
        order = d.any(
            f"(({tn}, {tm}), ({vn}, {vm})), stride=(({vn * tm * vm}, {vm}), ({tm * vm}, 1))",
            f"(({tm}, {tn}), ({vm}, {vn})), stride=(({vm}, {tm * vm * vn}), (1, {tm * vm}))",
        )
        d.say(f"tc = cute.make_tiled_copy(atom, cute.make_layout({order}), ({tm * vm}, {tn * vn}))")
    if d.maybe(0.06):
        d.say(f"tc = cute.make_tiled_copy_{d.any('S', 'D')}(atom, tc)")
    d.say(f"thr = tc.get_slice({d.any('tid', 'tid', 'tid', f'tid % {d.threads}', f'{d.threads - 1} - tid')})")
    shift = ""
    if d.maybe(0.08):
        c = d.any("(0, 8)", "(1, 0)", "(0, n2)", "(n2, 0)", "(2, 2)")
        shift = c if not stages else c[:-1] + ", 0)"
    for side, letter, space in (("src", "S", spaces[0]), ("dst", "D", spaces[1])):
        if space != "rmem":
            if shift and d.maybe(0.7):
                d.say(f"{side} = cute.domain_offset({shift}, {side})")
            where = letter if d.maybe(0.95) else d.any("S", "D")
            d.say(f"t{side} = thr.partition_{where}({side})")
            if stages:
                stage = d.any("0", "1", "n2", "n2")
                d.say(f"t{side} = t{side}[None, None, None, {stage}]")
    for side, other, space in (("src", "dst", spaces[0]), ("dst", "src", spaces[1])):
        if space == "rmem":
            made = d.any("make_fragment_like", "make_fragment_like", "make_rmem_tensor_like")
            if d.maybe(0.1):
                d.say(f"t{side} = cute.make_rmem_tensor(t{other}.shape, T)")
            else:
                d.say(f"t{side} = cute.{made}(t{other})")
    finish(d, spaces, tiled_copy=True, identity=(m, n))


def finish(
    d: Draft,
    spaces: tuple[str, str],
    *,
    tiled_copy: bool,
    identity: tuple[int, int] | None = None,
    shared: tuple[str, ...] | None = None,
) -> None:
    """The copy of tsrc to tdst, and all around it."""
    shared_names = tuple(n for n, s in zip(("src", "dst"), spaces, strict=True) if s == "smem")
    fragments = tuple(f"t{n}" for n, s in zip(("src", "dst"), spaces, strict=True) if s == "rmem")
    prologue(d, spaces, shared_names, fragments)
    operand = d.any("tc", "tc", "atom") if tiled_copy else "atom"
    form = d.any(
        "copy",
        "copy",
        "copy",
        "copy",
        "loop",
        "autovec",
        "basic",
        "pred",
        "group",
        "runtime",
        "filter",
        "unroll",
        "call",
        "recast",
    )
    if not tiled_copy and form in ("pred", "loop", "runtime", "unroll"):
        form = "copy"
    d.say(f"# {form}")
    ref = "support.elements(tsrc, tdst)"
    done = f"copy({operand}, tsrc, tdst)"
    if form == "autovec":
        done = "autovec_copy(tsrc, tdst)"
    elif form == "basic":
        done = "basic_copy(tsrc, tdst)"
    elif form == "filter":
        d.say("fsrc, fdst = cute.filter_zeros(tsrc), cute.filter_zeros(tdst)")
        done = f"copy({operand}, fsrc, fdst)"
    elif form == "group":
        d.say("gsrc, gdst = (cute.group_modes(t, 0, cute.rank(t)) for t in (tsrc, tdst))")
        done = (
            f"copy({operand}, gsrc, gdst)"
            if d.maybe(0.5)
            else (
                f"copy({operand}, cute.group_modes(tsrc, 1, cute.rank(tsrc)), cute.group_modes(tdst, 1, cute.rank(tdst)))"
            )
        )
    elif form == "unroll":
        done = f"copy({operand}, tsrc, tdst, unroll_factor=2)"
    elif form == "call":
        done = f"copy_atom_call({operand}, tsrc[None, 0, 0], tdst[None, 0, 0])"
        ref = "support.elements(tsrc[None, 0, 0], tdst[None, 0, 0])"
        if not tiled_copy:
            done, ref = "autovec_copy(tsrc, tdst)", "support.elements(tsrc, tdst)"
    elif form == "recast":
        wide = d.any("cutlass.Int32", "cutlass.Int64", "cutlass.Uint8", "cutlass.Int16")
        d.say(f"rsrc, rdst = (cute.recast_tensor(t, {wide}) for t in (tsrc, tdst))")
        done = d.any(
            "autovec_copy(rsrc, rdst)",
            f"copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), {wide}), rsrc, rdst)",
        )
    if form == "loop":
        d.say("for k in cutlass.range_constexpr(cute.size(tsrc, mode=[2])):")
        d.say("    if cutlass.const_expr(REF):")
        d.say("        support.elements(tsrc[None, None, k], tdst[None, None, k])")
        d.say("    else:")
        d.say(f"        copy({operand}, tsrc[None, None, k], tdst[None, None, k])")
    elif form == "runtime" and "rmem" not in spaces:
        d.say("for k in cutlass.range(cute.size(tsrc, mode=[2]), unroll=1):")
        d.say("    if cutlass.const_expr(REF):")
        d.say("        support.elements(tsrc[None, None, k], tdst[None, None, k])")
        d.say("    else:")
        d.say(f"        copy({operand}, tsrc[None, None, k], tdst[None, None, k])")
    elif form == "pred" and identity is not None:
        m, n = identity
        d.say(f"cta = thr.partition_S(cute.make_identity_tensor(({m}, {n})))")
        d.say(
            "pred = cute.make_rmem_tensor(cute.make_layout((cute.size(cta, mode=[0, 1]), cute.size(cta, mode=[1]), "
            "cute.size(cta, mode=[2]))), cutlass.Boolean)"
        )
        d.say("for v in cutlass.range_constexpr(cute.size(cta, mode=[0, 1])):")
        d.say("    for i in cutlass.range_constexpr(cute.size(cta, mode=[1])):")
        d.say("        for j in cutlass.range_constexpr(cute.size(cta, mode=[2])):")
        limit = d.any("n1", f"{max(1, m - 3)}", "n1")
        d.say(
            f"            pred[v, i, j] = cute.elem_less(cta[(0, v), i, j], ({limit}, {n + d.any(0, 0, -1)}))"
        )
        d.say("if cutlass.const_expr(REF):")
        d.say(f"    support.elements_if(pred, tsrc, tdst, zero_fill={'G2SOp' in _atom(d)})")
        d.say("else:")
        d.say(f"    copy({operand}, tsrc, tdst, pred=pred)")
    else:
        d.say("if cutlass.const_expr(REF):")
        d.say(f"    {ref}")
        d.say("else:")
        d.say(f"    {done}")
    epilogue(d, shared_names[-1:] if spaces[1] == "smem" else (), fragments if spaces[1] == "rmem" else ())


def _atom(d: Draft) -> str:
    return next((line for line in d.lines if line.startswith("atom = ")), "")


def plain(d: Draft) -> None:
    """Views written by hand, as in unit tests and epilogues: V and rest, a run-time coordinate of the thread."""
    spaces = d.any(*SPACES)
    atom, width = simt_atom(d, spaces)
    v = max(1, (width or 128) // d.bits) * d.any(1, 1, 1, 2)
    if d.maybe(0.1):
        v = max(1, v // 2)
    rest = d.any(1, 2, 4)
    shape = d.any(f"({v}, {rest})", f"(({v}, 1), {rest})", f"(({v}, {rest}),)", f"({v},)")
    for side, space, image in (("src", spaces[0], "gI"), ("dst", spaces[1], "gO")):
        if space == "rmem":
            d.say(f"t{side} = cute.make_rmem_tensor(cute.make_layout({shape}), T)")
            continue
        pitch = v * rest + d.any(0, 0, 0, 8, 1, v, 4)
        inner = d.any(v, v, v, v + 1, d.threads * v, 2 * v, v + 4)
        one = d.any(1, 1, 1, 1, 1, 2, "n2", 64)
        stride = {
            f"({v}, {rest})": f"({one}, {inner})", f"(({v}, 1), {rest})": f"(({one}, 0), {inner})",
            f"(({v}, {rest}),)": f"(({one}, {inner}),)", f"({v},)": f"({one},)",
        }[shape]  # fmt: skip
        inner_shape = shape[1:-1].rstrip(",")
        inner_stride = stride[1:-1].rstrip(",")
        outer = d.any(pitch, pitch, "n0", "cute.assume(n0, 8)", v)
        if space == "smem" and not isinstance(outer, int):
            outer = pitch
        d.say(
            f"layout_{side} = cute.make_layout(({inner_shape}, {d.threads}), stride=({inner_stride}, {outer}))"
        )
        if space == "gmem":
            d.say(f"p_{side} = cute.recast_ptr({image}.iterator + {MIDDLE}, dtype=T)")
        else:
            d.say(f"{side}_layout = layout_{side}")
            d.say(words(side))
            d.say(f"{side}_raw = alloc.allocate({side}_words * 4, byte_alignment={d.any(16, 128, 8)})")
            swizzle = d.any("None", f"cute.make_swizzle({d.any(1, 2, 3)}, {d.any(4, 4, 3)}, 3)")
            d.say(f"p_{side} = cute.recast_ptr({side}_raw, {swizzle}, dtype=T)")
        d.say(f"{side} = cute.make_tensor(p_{side}, layout_{side})")
        count = (
            inner_shape.count(",") + 1
            if not inner_shape.startswith("(")
            else (1 if shape.endswith("),)") else 2)
        )
        coordinate = ", ".join(["None"] * count + ["tid"])
        d.say(f"t{side} = {side}[{coordinate}]")
    d.say(f"atom = {atom}")
    finish(d, spaces, tiled_copy=False)


def divided(d: Draft) -> None:
    """zipped_divide, logical_divide, flat_divide or local_tile, and a slice by the thread."""
    spaces = d.any(*[s for s in SPACES if "rmem" not in s or d.maybe(0.5)])
    atom, width = simt_atom(d, spaces)
    v = max(1, (width or 128) // d.bits)
    a, b = d.any((1, v), (v, 1), (2, v), (1, 2 * v), (4, 4), (v, 2))
    tm = d.any(*[t for t in (1, 4, 8, 16, 32) if t <= d.threads])
    tn = d.threads // tm
    m, n = a * tm, b * tn
    if m * n * d.bits // 8 > 16384:
        a, b = (1, v) if a * b > 2 * v else (a, b)
        m, n = a * tm, b * tn
    tensors(d, m, n, spaces)
    how = d.any("zipped", "zipped", "local", "logical", "flat", "tiled")
    for side, space in zip(("src", "dst"), spaces, strict=True):
        if space == "rmem":
            continue
        i, j = f"tid // {tn}", f"tid % {tn}"
        if how == "zipped":
            where = "tid" if d.maybe(0.5) else f"({i}, {j})"
            d.say(f"t{side} = cute.zipped_divide({side}, ({a}, {b}))[None, {where}]")
        elif how == "local":
            d.say(f"t{side} = cute.local_tile({side}, ({a}, {b}), ({i}, {j}))")
        elif how == "logical":
            d.say(f"t{side} = cute.logical_divide({side}, ({a}, {b}))[(None, {i}), (None, {j})]")
        elif how == "flat":
            d.say(f"t{side} = cute.flat_divide({side}, ({a}, {b}))[None, None, {i}, {j}]")
        else:
            d.say(f"t{side} = cute.tiled_divide({side}, ({a}, {b}))[None, {i}, {j}]")
    regroup = d.any("none", "none", "group", "coalesce", "flatten")
    for side, other, space in (("src", "dst", spaces[0]), ("dst", "src", spaces[1])):
        if space == "rmem":
            d.say(f"t{side} = cute.make_fragment_like(t{other})")
    if regroup == "group":
        d.say("tsrc, tdst = (cute.group_modes(t, 0, cute.rank(t)) for t in (tsrc, tdst))")
    elif regroup == "flatten":
        d.say("tsrc, tdst = cute.flatten(tsrc), cute.flatten(tdst)")
    d.say(f"atom = {atom}")
    finish(d, spaces, tiled_copy=False)


def partitioned(d: Draft) -> None:
    """local_partition by a thread layout."""
    spaces = d.any(("gmem", "smem"), ("smem", "gmem"), ("gmem", "gmem"), ("gmem", "rmem"), ("rmem", "smem"))
    atom, _ = simt_atom(d, spaces, d.any(d.bits, d.bits, 0, 32, 64, 128))
    tm = d.any(*[t for t in (1, 4, 8, 16, 32) if t <= d.threads])
    tn = d.threads // tm
    m, n = tm * d.any(1, 2, 4), tn * d.any(1, 2, 4)
    if m * n * d.bits // 8 > 16384:
        m, n = tm, tn
    tensors(d, m, n, spaces)
    layout = d.any(f"({tm}, {tn}), stride=({tn}, 1)", f"({tm}, {tn})")
    for side, space in zip(("src", "dst"), spaces, strict=True):
        if space != "rmem":
            d.say(f"t{side} = cute.local_partition({side}, cute.make_layout({layout}), tid)")
    for side, other, space in (("src", "dst", spaces[0]), ("dst", "src", spaces[1])):
        if space == "rmem":
            d.say(f"t{side} = cute.make_fragment_like(t{other})")
    d.say(f"atom = {atom}")
    finish(d, spaces, tiled_copy=False)


def cotiled(d: Draft) -> None:
    """make_cotiled_copy: threads and values by their offsets in the tensor."""
    spaces = d.any(("gmem", "smem"), ("smem", "rmem"), ("gmem", "rmem"), ("smem", "gmem"))
    atom, width = simt_atom(d, spaces)
    v = max(1, (width or 128) // d.bits)
    n = d.any(v, 2 * v, 4 * v, 64)
    m = max(1, d.threads * v // n) * d.any(1, 2)
    if m * n * d.bits // 8 > 16384:
        m, n = max(1, d.threads * v // n), n
    tensors(d, m, n, spaces)
    d.say(f"atom = {atom}")
    data = d.any(f"({m}, {n}), stride=({n}, 1)", f"({m}, {n}), stride=({n}, 1)", f"({m}, {n})")
    d.say(
        f"tc = cute.make_cotiled_copy(atom, cute.make_layout(({d.threads}, {v}), stride=({v}, 1)), "
        f"cute.make_layout({data}))"
    )
    d.say("thr = tc.get_slice(tid)")
    for side, letter, space in (("src", "S", spaces[0]), ("dst", "D", spaces[1])):
        if space != "rmem":
            d.say(f"t{side} = thr.partition_{letter}({side})")
    for side, other, space in (("src", "dst", spaces[0]), ("dst", "src", spaces[1])):
        if space == "rmem":
            d.say(f"t{side} = cute.make_fragment_like(t{other})")
    finish(d, spaces, tiled_copy=True, identity=(m, n))


def matrix(d: Draft) -> None:
    """ldmatrix and stmatrix (or plain copies) by the operand layouts of an MMA."""
    warps = d.threads // 32
    wm, wn = d.any(*[(w, warps // w) for w in (1, 2, 4) if warps % w == 0])
    shape = d.any("(16, 8, 16)", "(16, 8, 16)", "(16, 8, 8)")
    permute = d.any(
        "",
        f", permutation_mnk=({16 * wm}, {16 * wn}, {shape.split()[-1][:-1]})",
        f", permutation_mnk=({16 * wm}, {16 * wn}, {shape.split()[-1][:-1]})",
    )
    k = int(shape.split()[-1][:-1]) * d.any(1, 2, 4)
    m, n = 16 * wm * d.any(1, 2), 16 * wn * d.any(1, 2)
    operand = d.any("A", "A", "B", "B", "C", "C")
    d.say(
        f"mma = cute.make_tiled_mma(warp.MmaF16BF16Op(T, cutlass.Float32, {shape}), "
        f"cute.make_layout(({wm}, {wn}, 1)){permute})"
    )
    rows, columns = {"A": (m, k), "B": (n, k), "C": (m, n)}[operand]
    load = operand != "C" or d.maybe(0.15)
    spaces = ("smem", "rmem") if load else ("rmem", "smem")
    name = "src" if load else "dst"
    smem(d, name, rows, columns)
    trans = d.any("False", "True", "False")
    count = d.any(4, 4, 4, 2, 2, 1)
    if d.maybe(0.15):
        atom = f"cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), T, num_bits_per_copy={d.any(16, 32, 128)})"
    elif load:
        atom = f"cute.make_copy_atom(warp.LdMatrix8x8x16bOp({trans}, {count}), T)"
    else:
        atom = f"cute.make_copy_atom(warp.StMatrix8x8x16bOp({trans}, {count}), T)"
    d.say(f"atom = {atom}")
    d.say(f"tc = cute.make_tiled_copy_{operand}(atom, mma)")
    d.say("thr = tc.get_slice(tid)")
    d.say("own = mma.get_slice(tid)")
    frag = f"make_fragment_{operand}"
    part = f"own.partition_{operand}({name})"
    d.say(f"part = {part}")
    if operand == "C":
        d.say(
            "frag = cute.make_fragment_like(part)"
            if d.maybe(0.7)
            else f"frag = cute.make_rmem_tensor(mma.partition_shape_C(({rows}, {columns})), T)"
        )
    else:
        d.say(f"frag = mma.{frag}(part)")
    prologue(d, spaces, (name,), ("frag",))
    given, taken = (
        ("thr.partition_S(src)", "thr.retile(frag)") if load else ("thr.retile(frag)", "thr.partition_D(dst)")
    )
    d.say(f"tsrc, tdst = {given}, {taken}")
    operand = d.any("tc", "tc", "atom")
    d.say("if cutlass.const_expr(REF):")
    d.say("    support.elements(part, frag)" if load else "    support.elements(frag, part)")
    d.say("else:")
    if d.maybe(0.4):
        d.say("    for k in cutlass.range_constexpr(cute.size(tsrc, mode=[2])):")
        d.say(f"        copy({operand}, tsrc[None, None, k], tdst[None, None, k])")
    else:
        d.say(f"    copy({operand}, tsrc, tdst)")
    epilogue(d, () if load else (name,), ("frag",) if load else ())


STYLES = {
    "tiled": tiled, "plain": plain, "divided": divided, "partitioned": partitioned, "cotiled": cotiled,
    "matrix": matrix,
}  # fmt: skip
