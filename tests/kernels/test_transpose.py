"""The transposes of kernels/, compiled without a GPU: verdicts of the compiler and what the PTX shows."""

import fcntl
import json
import os
import re
import struct
from collections import Counter
from functools import cache
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from tests.environment import ROOT
from tests.forking import printed
from tests.kernels.ptx_run import Memory, Program
from tests.thinned import thinned

pytest.importorskip("cutlass", reason="kernels/ needs nvidia-cutlass-dsl")


from kernels.transpose.common import AFTER
from kernels.transpose.padded import Padded
from kernels.transpose.shifted import Shifted
from kernels.transpose.whole import Whole
from tests.kernels.more_plans import (
    BUILDERS,
    EXCHANGES,
    PADDED,
    QUICK,
    RUNS,
    SHIFTED,
    SMALL,
    SPLICED,
    THIN,
    WHOLE,
    few,
)

REPAIRED = [
    "match_layout",
    "staged",
    "ldmatrix_trans",
    "swizzled",
    "narrow",
    "registers",
    "exchange",
    "exchange_async",
    "shifted",
    "few_rows",
    "padded",
    "few_columns",
    "whole",
    "blocks",
    "flat",
    "runs",
]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """By architecture: {name: {"ptx": text} or {"error": text}} of every variant, and more plans for sm_90a.

    With `rest`: the plans of the sweep. The processes of a run compile them once: who comes later waits for
    the file.
    """
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder

    @cache
    def of(arch, *rest):
        with (shared / f"transposes-{arch}-{len(rest)}.json").open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            if not (text := file.read()):
                text = compile_all(arch, *rest)
                file.write(text)
        return json.loads(text)

    return of


def compile_all(arch, *rest):
    with TemporaryDirectory() as folder:
        env = {"CUTE_DSL_KEEP": "ptx", "CUTE_DSL_DUMP_DIR": folder, "CUTE_DSL_DISABLE_FILE_CACHING": "1"}
        told = printed("-m", "tests.kernels.compile_all", *rest, arch=arch, env=env, cwd=str(ROOT))
    return told.splitlines()[-1]


EVERY = "sm_90a, every plan"


@pytest.fixture(
    scope="module",
    params=["sm_90a", *(pytest.param(each, marks=pytest.mark.sweep) for each in ("sm_80", EVERY))],
)
def built(request, compiled):
    arch, rest = request.param.partition(",")[0], request.param == EVERY
    return request.param, compiled(arch) | (compiled(arch, "rest") if rest else {})


class Plans(dict):
    """What is compiled in the normal run; who asks for another plan has the rest compiled."""

    def __init__(self, compiled):
        super().__init__(compiled("sm_90a"))
        self.compiled = compiled

    def __missing__(self, name):
        return self.compiled("sm_90a", "rest")[name]


@pytest.fixture(scope="module")
def hopper(compiled):
    return Plans(compiled)


def memory_ops(ptx: str) -> Counter:
    """How often each memory instruction occurs."""
    return Counter(re.findall(r"^\s*(?:@!?%\w+ )?((?:ld|st|cp|ldmatrix|stmatrix)\.(?!param)\S+)", ptx, re.M))


def matching(ops: Counter, pattern: str) -> Counter:
    return Counter({op: count for op, count in ops.items() if re.match(pattern, op)})


def test_only_the_report_s_copy_is_rejected(built):
    arch, found = built
    assert [name for name, result in found.items() if "error" in result] == ["broken"]
    expected = {"fp32_elementwise", "broken_silently", "broken_at_run_time", *REPAIRED} | (
        {"tma", *(BUILDERS if arch == EVERY else QUICK)} if "90" in arch else set()
    )
    assert {name for name in found if name != "broken"} == expected


def test_rejected_with_the_report_s_message(built):
    assert (
        "'cute.copy' op dst ptr alignment (16 bits) does not meet requirement (128 bits) of atom "
        "'!cute_nvgpu.atom.simt_async_copy<bf16, cache = global, 128 b>'"
    ) in built[1]["broken"]["error"]


def test_the_silent_one_issues_one_aligned_copy_a_thread(built):
    ops = memory_ops(built[1]["broken_silently"]["ptx"])
    assert matching(ops, "cp.async.c[ag]") == {"cp.async.cg.shared.global": 1}


def test_the_fault_is_in_the_addresses(built):
    """64 copies of 16 bytes, each 2 bytes after the one before."""
    steps = re.findall(
        r"cp\.async\.cg\.shared\.global \[%r\d+(?:\+(\d+))?\]", built[1]["broken_at_run_time"]["ptx"]
    )
    assert [int(step or 0) for step in steps] == [2 * i for i in range(64)]


@pytest.mark.parametrize("name", ["swizzled", "ldmatrix_trans"])
def test_ldmatrix_does_the_transpose(built, name):
    ops = memory_ops(built[1][name]["ptx"])
    assert matching(ops, "cp.async.c[ag]") == {"cp.async.cg.shared.global": 4}
    assert matching(ops, "ldmatrix") == {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16": 4}
    assert matching(ops, "st.global") == {"st.global.v4.b32": 4}
    assert not matching(ops, "(ld|st).shared")


def test_tma_moves_whole_tiles(built):
    arch, found = built
    if "90" not in arch:
        pytest.skip("TMA needs sm_90")
    ops = memory_ops(found["tma"]["ptx"])
    assert not matching(ops, "(ld|st).global")
    assert sum(matching(ops, "cp.async.bulk.tensor.2d.shared").values()) == 2
    assert sum(matching(ops, "cp.async.bulk.tensor.2d.global").values()) == 1


def test_narrow_moves_single_elements(built):
    ops = memory_ops(built[1]["narrow"]["ptx"])
    assert set(ops) == {"ld.global.b16", "st.shared.b16", "ld.shared.b16", "st.global.b16"}


@pytest.mark.parametrize("name", ["registers", "exchange", "exchange_async"])
def test_16_bytes_on_both_sides(built, name):
    """Every global access of whole blocks is 16 bytes wide; the 2-byte ones are the loop over an edge."""
    ops = memory_ops(built[1][name]["ptx"])
    wide = matching(ops, r"(ld|st)\.global.*\.v4\.b32|cp\.async\.cg")
    single = matching(ops, r"(ld|st)\.global.*\.b16")
    assert sum(single.values()) == 2
    assert matching(ops, r"(ld|st)\.global|cp\.async\.c[ag]") == wide + single
    assert sum(matching(wide, "st").values()) % 8 == 0 and sum(matching(wide, "ld|cp").values()) % 8 == 0


@pytest.mark.parametrize("name", ["shifted", "whole"])
def test_16_bytes_on_both_sides_at_any_pitch(built, name):
    """The 2-byte accesses are those of the first and the last chunk of a row or of the tensor."""
    ops = memory_ops(built[1][name]["ptx"])
    loads, stores = matching(ops, r"cp\.async\.c[ag]|ld\.global"), matching(ops, r"st\.global")
    loads.pop("ld.global.L2::cache_hint.v4.b32", None)  # those past no shared memory, of `whole`
    assert set(loads) == {"cp.async.cg.shared.global", "ld.global.b16"}
    assert set(stores) == {"st.global.v4.b32", "st.global.b16"}
    assert set(matching(ops, "ld.shared")) == {"ld.shared.b16"}


@pytest.mark.parametrize(
    ("name", "loads", "chunks", "places"), [("few_rows", 2, 2, 8), ("few_columns", 3, 3, 1)]
)
def test_a_chunk_of_a_thin_matrix_is_read_at_known_places(built, name, loads, chunks, places):
    """What a thread adds up for its first chunk serves for all; those at the edges are in a loop."""
    ptx = built[1][name]["ptx"]
    ops = memory_ops(ptx)
    wide = sum(matching(ops, r"ld\.global.*v4").values())
    assert (wide, ops["cp.async.cg.shared.global"], ops["st.shared.v4.b32"]) == (loads, 1, loads + 1)
    assert (ops["ld.shared.b16"], ops["st.global.v4.b32"]) == (8 * (chunks + 1), chunks + 1)
    bases = Counter(re.findall(r"ld\.shared\.b16 \t%rs\d+, \[(%r\d+)", ptx))
    assert sum(count == 8 * chunks // places for count in bases.values()) == places


def test_nothing_goes_through_local_memory(built):
    found = {name: result["ptx"] for name, result in built[1].items() if name in {*REPAIRED, *BUILDERS}}
    assert len(found) >= len(REPAIRED)
    assert [name for name, ptx in found.items() if ".local" in ptx] == []


def test_what_starts_early_touches_no_memory_before_the_kernel_ahead_has_ended(built):
    arch, found = built
    early = {name for name, result in found.items() if "griddepcontrol" in result.get("ptx", "")}
    others = {"broken", "broken_silently", "broken_at_run_time", "match_layout", "fp32_elementwise", "staged"}
    expected = set(found) - others - {"ldmatrix_trans", "swizzled", "tma"} if "90" in arch else set()
    assert early == expected
    for name in early:
        before, after = found[name]["ptx"].split("griddepcontrol.wait;")
        # To the L2, where the writes of the kernel ahead meet, but no nearer.
        fetches = name in (
            "shifted",
            "shifted, 4",
            "rows, async",
            "rows, 2",
            "rows, few",
            "columns, 2",
            "columns, loose",
            "columns, loose, even",
            "columns, pads",
            *(name for name, plan in WHOLE.items() if plan.items > 1),
            *("padded", *PADDED),
        )
        fetched = {"cp.async.bulk.prefetch.L2.global.L2::cache_hint": 1} if fetches else {}
        assert matching(memory_ops(before), "(ld|st).global|cp") == fetched, name
        assert not matching(memory_ops(after), "cp.async.bulk.prefetch"), name
        assert ("prefetch.global.L2 [" in before) == (name in PADDED and PADDED[name].soon), name
        by_lines = name in SPLICED or name in SMALL or (name in EXCHANGES and EXCHANGES[name].fetch)
        assert ["::evict_last [" in part for part in (before, after)] == [by_lines, False], name
        waited = getattr(BUILDERS.get(name), "keywords", {}).get("early") == AFTER
        assert ["griddepcontrol.launch_dependents" in part for part in (before, after)] == [
            not waited,
            waited,
        ]
        assert matching(memory_ops(after), "ld.global|cp") and matching(memory_ops(after), "st.global"), name


program = cache(Program)  # a plan runs for many shapes
X, Y = 0x7F0000000000, 0x7F8000000000
"""Where the tensors of `moved` lie, but for what their bases are off."""


def moved(
    ptx: str,
    grid: tuple[int, int, int],
    args: tuple[int | bytes, ...],
    m: int,
    n: int,
    pitches: tuple[int, int],
    offs: tuple[int, int] = (0, 0),
    dtype: type[np.unsignedinteger] = np.uint16,
    asks: bool = False,
    fetches: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """`y` (n,m) after the kernel has run, gaps included, and as it should be. Random bits in both before.

    No more memory can be touched than from the first element of a tensor to the last, and none written twice.
    No sector of `y` is asked for but, where rows have pads, those in which they start and end; `asks`: all.
    No line of `x` is; `fetches`: all in which it has elements.
    """
    bits = np.random.default_rng(m * n)
    size, most = np.dtype(dtype).itemsize, np.iinfo(dtype).max
    x = bits.integers(0, most, (m - 1) * pitches[0] + n, dtype=dtype, endpoint=True)
    y = bits.integers(0, most, (n - 1) * pitches[1] + m, dtype=dtype, endpoint=True)
    right = y.copy()
    rows = np.lib.stride_tricks.as_strided(x, (m, n), (size * pitches[0], size))
    np.lib.stride_tricks.as_strided(right, (n, m), (size * pitches[1], size))[:] = rows.T
    out = bytearray(y.tobytes())
    memory = Memory((X + size * offs[0], bytearray(x.tobytes())), (Y + size * offs[1], out), once=True)
    program(ptx).run(grid, memory, *args)
    ends = (Y + size * (offs[1] + row * pitches[1] + end) for row in range(n) for end in (0, m))
    parts = {end // 32 for end in ends if end % 32 and pitches[1] != m}
    asked = {sector for sector in memory.asked if sector >= Y // 32}
    assert asked == parts if asks else asked <= parts
    starts = (X + size * (offs[0] + row * pitches[0]) for row in range(m))
    lines = {line for at in starts for line in range(at // 128, (at + size * n - 1) // 128 + 1)}
    assert {sector // 4 for sector in memory.asked - asked} == (lines if fetches else set())
    return np.frombuffer(out, dtype), right


@pytest.mark.parametrize(
    ("m", "n", "pitches", "off"),
    [(260, 66, (67, 263), 3), (140, 57, (64, 140), 0), (17, 120, (121, 17), 5)],
)
def test_shifted_moves_every_bit(built, m, n, pitches, off):
    """Tiles with edges on any side and none; rows that start anywhere; a partial pass over the columns."""
    plan = Shifted((56, 128), 8, 16, fetch=True)
    starts = off % 8, off % plan.align
    grid = (-(-(m + plan.align - 1) // plan.tile[1]), -(-n // plan.tile[0]), 1)
    reach = starts[0] + (m - 1) * pitches[0] + n
    bases = X + 2 * (off - starts[0]), Y + 2 * (off - starts[1])
    args = (*bases, m, n, *pitches, 0, 0, *starts, starts[0], reach, plan.tile[0])
    found, right = moved(built[1]["shifted"]["ptx"], grid, args, m, n, pitches, (off, off))
    assert (found == right).all()


@pytest.mark.parametrize("name", few(SHIFTED))
@pytest.mark.parametrize(
    ("size", "more", "offs"),
    [((1, 70), (1, 2), (3, 9)), ((3, 61), (0, 0), (5, 2)), ((2, 18), (9, 4), (0, 1))],
)
def test_shifted_moves_every_bit_of_elements_of_any_size(hopper, name, size, more, offs):
    """`size`: chunks of rows, and columns. The tiles are a chunk narrower than the plan's if they can be."""
    plan = SHIFTED[name]
    m, n = plan.tile[1] * size[0] + 3, size[1]
    pitches, starts = (n + more[0], m + more[1]), (offs[0] % plan.chunk, offs[1] % plan.align)
    columns = plan.tile[0] - plan.chunk
    grid = (-(-(m + plan.align - 1) // plan.tile[1]), -(-n // columns), 1)
    bases = X + plan.size * (offs[0] - starts[0]), Y + plan.size * (offs[1] - starts[1])
    args = (*bases, m, n, *pitches, 0, 0, *starts, starts[0], starts[0] + (m - 1) * pitches[0] + n, columns)
    dtype = np.dtype(f"u{plan.size}").type
    found, right = moved(hopper[name]["ptx"], grid, args, m, n, pitches, offs, dtype, asks=True)
    assert (found == right).all()


@pytest.mark.parametrize("name", few(["rows, loose", "rows, async", "rows, 2"]))
@pytest.mark.parametrize(("n", "offs"), [(149, (5, 3)), (128, (0, 0)), (8, (1, 6)), (64, (3, 9))])
def test_matrices_of_a_batch_start_anywhere(hopper, name, n, offs):
    """Two of them, and what is between; no element of one is written with those of its neighbour.

    Without "loose", both matrices of `y` start on 16 bytes.
    """
    plan, bits = THIN[name], np.random.default_rng(n)
    offs = offs if plan.loose else (offs[0], 0)
    starts, pitch = (offs[0] % 8, offs[1] % 8), n + (plan.slope - n) % 8
    apart = 21 * pitch + 3, 21 * n + (1 if plan.loose else -21 * n % 8)
    x, y = (bits.integers(0, 65535, 2 * step, dtype=np.uint16, endpoint=True) for step in apart)
    right, out = y.copy(), bytearray(y.tobytes())
    for item in range(2):
        rows = np.lib.stride_tricks.as_strided(x[item * apart[0] :], (21, n), (2 * pitch, 2))
        right[item * apart[1] :][: 21 * n] = rows.T.reshape(-1)
    memory = Memory((X + 2 * offs[0], bytearray(x.tobytes())), (Y + 2 * offs[1], out), once=True)
    bases = X + 2 * (offs[0] - starts[0]), Y + 2 * (offs[1] - starts[1])
    whole = starts[0], starts[0] + apart[0] + 20 * pitch + n
    args = (*bases, n, pitch, *apart, *starts, *whole)
    tiles = n // plan.columns + 1 if plan.loose else -(-n // plan.columns)
    program(hopper[name]["ptx"]).run((tiles, 2, 1), memory, *args)
    assert (np.frombuffer(out, np.uint16) == right).all()


@pytest.mark.parametrize("name", ["padded", *few(PADDED)])
@pytest.mark.parametrize(
    ("n", "pads", "gap", "offs"),
    [(70, (3, 1), 5, (1, 3)), (32, (0, 0), 0, (0, 0)), (33, (1, 3), 0, (5, 2)), (3, (2, 40), 7, (3, 19))],
)
def test_rows_of_y_with_pads_move_every_bit(hopper, name, n, pads, gap, offs):
    """Two matrices; pads within a chunk, over two and over whole ones, and none; what lies between stays."""
    plan = PADDED.get(name, Padded(33, 64, 32))
    bits, view = np.random.default_rng(n), np.lib.stride_tricks.as_strided
    size, dtype = plan.size, np.dtype(f"u{plan.size}").type
    pitches = n + pads[0] + (plan.slope - n - pads[0]) % plan.chunk, plan.count + pads[1]
    apart = plan.count * pitches[0] + gap, n * pitches[1] + gap
    most = np.iinfo(dtype).max
    x, y = (bits.integers(0, most, 2 * step, dtype=dtype, endpoint=True) for step in apart)
    right, out = y.copy(), bytearray(y.tobytes())
    for item in range(2):
        rows = view(x[item * apart[0] :], (plan.count, n), (size * pitches[0], size))
        view(right[item * apart[1] :], rows.T.shape, (size * pitches[1], size))[:] = rows.T
    memory = Memory((X + size * offs[0], bytearray(x.tobytes())), (Y + size * offs[1], out), once=True)
    starts = offs[0] % plan.chunk, offs[1] % plan.sector
    bases = X + size * (offs[0] - starts[0]), Y + size * (offs[1] - starts[1])
    whole = starts[0], starts[0] + apart[0] + (plan.count - 1) * pitches[0] + n
    args = (*bases, n, *pitches, *apart, *starts, *whole)
    program(hopper[name]["ptx"]).run((-(-n // plan.columns), 2, 1), memory, *args)
    assert (np.frombuffer(out, dtype) == right).all()
    rows = [offs[1] + item * apart[1] + row * pitches[1] for item in range(2) for row in range(n)]
    ends = [Y + size * (row + end) for row in rows for end in (0, plan.count)]
    assert memory.asked == {end // 32 for end in ends if end % 32}


@pytest.mark.parametrize(("m", "ldy"), [(200, 208), (8, 8), (257, 264)])
def test_few_columns_move_every_bit(built, m, ldy):
    args = (X, Y, m, ldy, 0, 0, m * 33)
    found, right = moved(built[1]["few_columns"]["ptx"], (-(-m // 128), 1, 1), args, m, 33, (33, ldy))
    assert (found == right).all()


@pytest.mark.parametrize(("n", "ldx"), [(200, 208), (8, 8), (96, 104), (97, 104)])
def test_few_rows_move_every_bit(built, n, ldx):
    args = (X, Y, n, ldx, 0, 0, 0, 0, 0, 32 * ldx + n)
    found, right = moved(built[1]["few_rows"]["ptx"], (-(-n // 96), 1, 1), args, 33, n, (ldx, 33))
    assert (found == right).all()


@pytest.mark.parametrize("slope", thinned([2, 1], 2))
@pytest.mark.parametrize(("along", "off"), [(301, 5), (9, 0), (128, 8)])
def test_thin_matrices_of_any_pitch_move_every_bit(hopper, slope, along, off):
    """Blocks at both ends and none; the long rows may start anywhere."""
    pitch = along + (slope - along) % 8
    plan = THIN[f"columns, {slope}"]
    start = off % plan.align
    grid = (-(-(along + plan.align - 1) // plan.rows), 1, 1)
    args = (X, Y + 2 * (off - start), along, pitch, start, 0, along * plan.count)
    ptx, pitches = hopper[f"columns, {slope}"]["ptx"], (plan.count, pitch)
    found, right = moved(ptx, grid, args, along, plan.count, pitches, (0, off))
    assert (found == right).all()
    start = off % 8
    args = (X + 2 * (off - start), Y, along, pitch, 0, 0, start, 0, start, start + 20 * pitch + along)
    grid = (-(-along // THIN[f"rows, {slope}"].columns), 1, 1)
    found, right = moved(hopper[f"rows, {slope}"]["ptx"], grid, args, 21, along, (pitch, 21), (off, 0))
    assert (found == right).all()


@pytest.mark.parametrize("name", few(["columns, loose", "columns, loose, even", "columns, pads"]))
@pytest.mark.parametrize(("m", "off"), [(201, 0), (128, 0), (64, 3), (9, 13)])
def test_few_columns_move_every_bit_wherever_they_start(hopper, name, m, off):
    plan, starts = THIN[name], (off % 8, (off + 5) % 16)
    grid = (-(-(m + plan.align - 1) // plan.rows), 1, 1)
    bases = X + 2 * (off - starts[0]), Y + 2 * (off + 5 - starts[1])
    pitch = m + (1 - m) % 8
    args = (*bases, m, pitch, starts[1], starts[0], starts[0] + plan.pitch * m - plan.pad)
    ptx, pitches = hopper[name]["ptx"], (plan.pitch, pitch)
    found, right = moved(ptx, grid, args, m, plan.count, pitches, (off, off + 5))
    assert (found == right).all()


@pytest.mark.parametrize("size", thinned([8, 1, 4], 3))
@pytest.mark.parametrize(("along", "off"), [(301, 5), (9, 0), (128, 8)])
def test_thin_matrices_of_elements_of_any_size_move_every_bit(hopper, size, along, off):
    dtype, plan = np.dtype(f"u{size}").type, THIN[f"columns, {size} bytes"]
    pitch, start = along + (1 - along) % plan.chunk, off % plan.align
    grid = (-(-(along + plan.align - 1) // plan.rows), 1, 1)
    args = (X, Y + size * (off - start), along, pitch, start, 0, along * plan.count)
    ptx, pitches = hopper[f"columns, {size} bytes"]["ptx"], (plan.count, pitch)
    found, right = moved(ptx, grid, args, along, plan.count, pitches, (0, off), dtype)
    assert (found == right).all()
    name, start = f"rows, {size} bytes", off % plan.chunk
    args = (X + size * (off - start), Y, along, pitch, 0, 0, start, 0, start, start + 20 * pitch + along)
    grid = (-(-along // THIN[name].columns), 1, 1)
    found, right = moved(hopper[name]["ptx"], grid, args, 21, along, (pitch, 21), (off, 0), dtype)
    assert (found == right).all()


@pytest.mark.parametrize(("n", "off"), [(701, 5), (8, 0), (256, 8)])
def test_fewer_rows_than_a_chunk_has_elements_move_every_bit(hopper, n, off):
    pitch, start = n + (1 - n) % 8, off % 8
    args = (X + 2 * (off - start), Y, n, pitch, 0, 0, start, 0, start, start + 2 * pitch + n)
    ptx, grid = hopper["rows, few"]["ptx"], (-(-n // 256), 1, 1)
    found, right = moved(ptx, grid, args, 3, n, (pitch, 3), (off, 0))
    assert (found == right).all()


@pytest.mark.parametrize("name", ["whole", *few(WHOLE)])
@pytest.mark.parametrize(
    ("items", "gap", "offs"), [(1, 0, (0, 3)), (4, 0, (13, 5)), (3, 11, (2, 0)), (13, 0, (5, 0))]
)
def test_whole_matrices_move_every_bit(built, name, items, gap, offs):
    """A block full of them, one and a part, one alone; with memory in between if a block has one."""
    if name not in built[1]:
        pytest.skip("compiled for sm_90a only")
    plan = WHOLE.get(name, Whole((77, 129)))
    (m, n), size, view = plan.shape, plan.size, np.lib.stride_tricks.as_strided
    apart = [run + gap * (plan.items == 1) for run in plan.apart]
    dtype, bits = np.dtype(f"u{size}").type, np.random.default_rng(items)
    reach = [(items - 1) * run + plan.apart[side] - plan.pads[side] for side, run in enumerate(apart)]
    x, y = (bits.integers(0, np.iinfo(dtype).max, count, dtype=dtype, endpoint=True) for count in reach)
    right, steps = (
        y.copy(),
        [[size * run, size * pitch, size] for run, pitch in zip(apart, plan.pitches, strict=True)],
    )
    view(right, (items, n, m), steps[1])[:] = view(x, (items, m, n), steps[0]).transpose(0, 2, 1)
    out = bytearray(y.tobytes())
    memory = Memory((X + size * offs[0], bytearray(x.tobytes())), (Y + size * offs[1], out), once=True)
    starts = [off % plan.chunk for off in offs]
    bases = X + size * (offs[0] - starts[0]), Y + size * (offs[1] - starts[1])
    args = (*bases, *starts, *apart, starts[0], starts[0] + reach[0], items)
    grid, room = (-(-items // plan.items), 1, 1), 16 * plan.room
    program(built[1][name]["ptx"]).run(grid, memory, *args, room=room)
    assert (np.frombuffer(out, dtype) == right).all()


@pytest.mark.parametrize("name", few(EXCHANGES))
@pytest.mark.parametrize("edge", [0, 16, 1])
def test_exchanges_move_every_bit_whatever_the_size_of_an_element(hopper, name, edge):
    """A whole tile; edges of whole blocks; edges that go through registers, element by element."""
    plan = EXCHANGES[name]
    n, m = plan.tile[0] + edge, plan.tile[1] + edge // 2
    line = 128 // plan.size  # rows of `x` start on lines
    pitches = (-(-n // line) + 1) * line, (-(-m // plan.block) + 2) * plan.block
    args = tuple(struct.pack("<qiiq", base, n, m, pitch) for base, pitch in zip((X, Y), pitches, strict=True))
    grid, dtype = (-(-m // plan.tile[1]), -(-n // plan.tile[0]), 1), np.dtype(f"u{plan.size}").type
    found, right = moved(hopper[name]["ptx"], grid, args, m, n, pitches, dtype=dtype, fetches=plan.fetch)
    assert (found == right).all()


@pytest.mark.parametrize("name", few(SPLICED))
@pytest.mark.parametrize(
    ("long", "pad", "offs"), [(5003, 0, (0, 0)), (2500, 3, (1, 2)), (6, 1, (3, 3)), (1, 0, (0, 1))]
)
def test_spliced_words_move_every_bit_wherever_they_start(hopper, name, long, pad, offs):
    plan, pitch = SPLICED[name], long + pad
    flat, pitched = X + plan.size * offs[0], Y + plan.size * offs[1]
    shape, pitches = (long, plan.count), (plan.count, pitch)
    if plan.few == "rows":
        flat, pitched = Y + plan.size * offs[1], X + plan.size * offs[0]
        shape, pitches = (plan.count, long), (pitch, plan.count)
    words, dtype = long // plan.vector + 2, np.dtype(f"u{plan.size}").type
    grid = (-(-words // (plan.long - 1)), 1, 1)
    found, right = moved(
        hopper[name]["ptx"], grid, (flat, pitched, long, pitch), *shape, pitches, offs, dtype, fetches=True
    )
    assert (found == right).all()


@pytest.mark.parametrize("name", few(RUNS))
@pytest.mark.parametrize(
    ("long", "pad", "offs"),
    [(1003, 0, (0, 5)), (1003, 5, (1, 0)), (191, 5, (15, 17)), (6, 1, (3, 3)), (1, 0, (0, 1))],
)
def test_runs_move_every_bit_wherever_they_start(hopper, name, long, pad, offs):
    """Blocks at both ends and in between, and one that is both; `offs`: of the run and of the rows."""
    plan, pitch = RUNS[name], long + pad
    starts = offs[0] % plan.start, offs[1] % plan.sector
    flat, pitched, shape, pitches = X, Y, (long, plan.count), (plan.count, pitch)
    more = plan.sector - 1
    if plan.few == "rows":
        flat, pitched, shape, pitches = Y, X, shape[::-1], pitches[::-1]
        more = -(-starts[0] // plan.count)
    bases = flat + plan.size * (offs[0] - starts[0]), pitched + plan.size * (offs[1] - starts[1])
    grid = (-(-(long + more) // plan.long), 1, 1)
    at = offs if plan.few == "columns" else offs[::-1]
    args, dtype = (*bases, long, pitch, *starts), np.dtype(f"u{plan.size}").type
    found, right = moved(hopper[name]["ptx"], grid, args, *shape, pitches, at, dtype)
    assert (found == right).all()


@pytest.mark.parametrize("name", few(RUNS))
def test_runs_are_chunks_on_one_side_and_elements_on_the_other(hopper, name):
    """Chunks at the ends of the run, which others share, go by elements."""
    plan = RUNS[name]
    ops, bits = memory_ops(hopper[name]["ptx"]), 8 * plan.size
    run, rows = ("ld", "st") if plan.few == "columns" else ("st", "ld")
    wide = matching(ops, rf"{run}\.global.*\.v")
    assert sum(wide.values()) == plan.passes and not matching(ops, rf"{rows}\.global.*\.v")
    assert ops[f"{rows}.global.b{bits}"] == plan.count * plan.each
    ends = plan.chunk * (plan.passes if plan.few == "rows" else 1)
    assert ops[f"{run}.global.b{bits}"] == ends


@pytest.mark.parametrize("name", few(SPLICED))
def test_spliced_loads_and_stores_words(hopper, name):
    """Single elements are those of the ends; a word more is loaded of each run, where it starts in one."""
    plan = SPLICED[name]
    ops, bits = memory_ops(hopper[name]["ptx"]), 8 * plan.size
    words = plan.count * plan.each
    assert f".minnctapersm {plan.residents}\n" in hopper[name]["ptx"]
    assert ops["ld.global.b32"] == words + (plan.each if plan.few == "columns" else words)
    assert ops["st.global.b32"] == words and ops["ld.shared.b32"] == 2 * words
    assert ops[f"ld.global.b{bits}"] == ops[f"st.global.b{bits}"] == plan.vector * words


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize(
    ("m", "n", "pitches", "offs"),
    [
        (70, 65, (66, 73), (1, 0)),
        (32, 64, (64, 32), (0, 0)),
        (1, 1, (1, 1), (1, 3)),
        (33, 3, (5, 33), (2, 1)),
        (8, 60, (200, 9), (40, 1)),  # rows that lie in two lines each
    ],
)
def test_small_tiles_move_every_bit(hopper, name, m, n, pitches, offs):
    plan = SMALL[name]
    args = (
        struct.pack("<qiii", X + 2 * offs[0], n, m, pitches[0]),
        struct.pack("<qiii", Y + 2 * offs[1], n, m, pitches[1]),
    )
    grid = (-(-m // plan.tile[1]), -(-n // plan.tile[0]), 1)
    found, right = moved(hopper[name]["ptx"], grid, args, m, n, pitches, offs, asks=True, fetches=True)
    assert (found == right).all()


def test_what_runs_kernels_sees_a_wrong_bit_and_a_wrong_access(built):
    ptx, (m, n) = built[1]["shifted"]["ptx"], (21, 59)
    args = (X, Y, m, n, n, m, 0, 0, 0, 0, 0, m * n, 56)
    found, right = moved(ptx, (1, 2, 1), args, m, n, (n, m))
    assert (found == right).all()
    before, barrier, after = ptx.rpartition("bar.sync")
    broken = before + barrier + after.replace("selp.b32", "max.s32")
    found, right = moved(broken, (1, 2, 1), args, m, n, (n, m))
    assert (found != right).any()
    with pytest.raises(AssertionError, match="are nobody's"):
        moved(ptx, (1, 2, 1), (*args[:-2], m * n + 8, 56), m, n, (n, m))
    if "90" in built[0]:
        hasty = ptx.replace("griddepcontrol.wait", "griddepcontrol.launch_dependents")
        with pytest.raises(AssertionError, match="before the wait"):
            moved(hasty, (1, 2, 1), args, m, n, (n, m))
