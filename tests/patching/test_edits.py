"""Edits of source: which statement an argument comes from, and what stays as it was."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

import layoutcheck as lc
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.check import Fix
from layoutcheck.copies.changes import Change
from layoutcheck.copies.copy import Copy
from layoutcheck.errors import InputError
from layoutcheck.judge import judge
from layoutcheck.lint.source import Source
from layoutcheck.machine.dtypes import dtype
from layoutcheck.patching.arguments import parts, with_keyword
from layoutcheck.patching.copiers import flipped, own_width
from layoutcheck.patching.edit import Edit, apply, cute_of
from layoutcheck.patching.edits import candidates, launched
from layoutcheck.patching.layouts import _stride_for as stride_for
from layoutcheck.patching.program import Program
from layoutcheck.patching.tiles import Site, turned
from layoutcheck.sources.types import parse_memref
from layoutcheck.syntax import name_of

PATH = "kernel.py"
TEXT = """
import cutlass.cute as ct

class Kernel:
    def __init__(self, rows):
        self.layout = ct.make_layout((rows, 64), stride=(68, 1))

    @ct.kernel
    def kernel(self, m, tiled):
        smem = allocator.allocate_tensor(m.element_type, self.layout)  # 16 bytes would do
        own = tiled.get_slice(0)
        tS, tD = own.partition_S(m), own.partition_D(smem)
        ct.copy(
            tiled,
            tS[None, None, 0],
            tD[None, None, 0],
        )

    def __call__(self, m):
        atom = ct.make_copy_atom(op(), m.element_type, num_bits_per_copy=128)
        threads = ct.make_layout((16, 8))
        tiled = ct.make_tiled_copy_tv(atom, threads, ct.make_layout((1, 8)))
        self.kernel(m, tiled).launch(grid=(1, 1, 1), block=(256, 1, 1))
"""


def reached(role: str) -> list[str]:
    program = Program({PATH: TEXT})
    site = program.copy_at(PATH, TEXT[: TEXT.index("tS[None")].count("\n") + 1)
    assert site is not None
    start = program.argument(site, role)
    assert start is not None
    return [name_of(place.node) for place in program.reached(start)]  # type: ignore[arg-type]


def test_an_operand_is_followed_to_its_allocation_and_its_layout() -> None:
    found = reached("dst")
    assert found.index("partition_D") < found.index("allocate_tensor") < found.index("make_layout")
    assert "make_copy_atom" not in found[: found.index("allocate_tensor")]


def test_a_parameter_is_followed_to_the_call() -> None:
    found = reached("atom")
    assert found[0] == "make_tiled_copy_tv"
    assert "make_copy_atom" in found


def test_no_copy_where_there_is_none() -> None:
    program = Program({PATH: TEXT})
    assert program.copy_at(PATH, 3) is None
    assert program.copy_at("other.py", 3) is None


def written(text: str, keyword: str, value: str, position: int | None = None) -> list[str]:
    source = Source(PATH, text)
    call = next(iter(source.calls()))
    return [
        apply({PATH: text}, edits)[PATH] for edits in with_keyword(source, call, keyword, value, position)
    ]


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("f()", "f(k=1)"),
        ("f(a)", "f(a, k=1)"),
        ("f(a, k=0)", "f(a, k=1)"),
        ("f(a, k=g(2),)  # why", "f(a, k=1,)  # why"),
        ("f(\n    a,  # first\n    b=2,\n)\n", "f(\n    a,  # first\n    b=2, k=1,\n)\n"),
        ("x = 'é', f(a)", "x = 'é', f(a, k=1)"),
        ("f(a)\r\ny = 1\r\n", "f(a, k=1)\r\ny = 1\r\n"),
    ],
)
def test_an_argument_is_written_and_nothing_else(text: str, after: str) -> None:
    assert written(text, "k", "1") == [after]
    ast.parse(after)


def test_an_argument_that_is_there_is_no_edit() -> None:
    assert written("f(a, k=1)", "k", "1") == []
    assert written("f(a, 1)", "k", "1", 1) == []
    assert written("f(a, 0)", "k", "1", 1) == ["f(a, 1)"]


def test_starred_arguments_stay_before_it() -> None:
    """Where it is among those, Python says so, and the edit is not proven."""
    assert written("f(*a)", "k", "1") == ["f(*a, k=1)"]
    assert written("f(**a)", "k", "1") == ["f(**a, k=1)"]


def test_the_files_own_name_of_cute_is_used() -> None:
    assert cute_of(Source(PATH, TEXT)) == "ct"
    assert cute_of(Source(PATH, "from cutlass import cute as c")) == "c"
    at = TEXT.index("ct.make_layout((16, 8))")
    edit = Edit(PATH, at, at + len("ct.make_layout((16, 8))"), "cute.make_layout((32, 4))")
    assert "threads = ct.make_layout((32, 4))" in apply({PATH: TEXT}, (edit,))[PATH]


@pytest.mark.parametrize(
    ("head", "name", "after"),
    [
        ("import cutlass\n", "cutlass.cute", "import cutlass\n"),
        ("import cutlass as cl\n", "cl.cute", "import cutlass as cl\n"),
        ('"""Doc."""\nimport torch\n', "cute", '"""Doc."""\nimport torch\nfrom cutlass import cute\n'),
        ("import torch\r\n", "cute", "import torch\r\nfrom cutlass import cute\r\n"),
        ("", "cute", "from cutlass import cute\n"),
    ],
)
def test_what_an_edit_needs_is_imported(head: str, name: str, after: str) -> None:
    text = f"{head}x = f(1)\n"
    at = text.index("f(1)")
    found = apply({PATH: text}, (Edit(PATH, at, at + 4, "cute.make_layout(2)"),))[PATH]
    assert found == f"{after}x = {name}.make_layout(2)\n"
    assert apply({PATH: text}, (Edit(PATH, at, at + 4, "g(2)"),))[PATH] == f"{head}x = g(2)\n"


def test_the_types_of_an_edit_are_imported_too() -> None:
    text = "from cutlass import cute\nx = f(1)\n"
    at = text.index("f(1)")
    edit = Edit(PATH, at, at + 4, "cute.make_copy_atom(op, cutlass.Int8)")
    assert apply({PATH: text}, (edit,))[PATH].splitlines()[1] == "import cutlass"
    known = f"import cutlass.cute\n{text}"
    edit = Edit(PATH, known.index("f(1)"), known.index("f(1)") + 4, edit.new)
    assert "import cutlass\n" not in apply({PATH: known}, (edit,))[PATH]


SHARED = """import cutlass; from cutlass import cute
def made(dtype, bits=128):
    return cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=bits)

def tile(layout, align=16):
    return allocator.allocate_tensor(BF, layout, byte_alignment=align)

def kernel(m):
    cute.copy(made(BF), tile(one), tile(other, 32))
"""


def edits_of(argument: str, **changed: object) -> list[str]:
    """The lines that a change of one argument may be written as, in order."""
    program = Program({PATH: SHARED})
    site = program.copy_at(PATH, SHARED[: SHARED.index("cute.copy(")].count("\n") + 1)
    assert site is not None
    view = "((8,1),4):((1,0),64)"
    given = lc.check(view, view, "universal", bits=128, dtype="bf16", src_space="smem", dst_space="smem").copy
    made = replace(given, **changed)
    fix = Fix("s", "t", "legal", "", (made,), (Change(argument, "a", "b"),), {}, ("model",), "")
    found = [apply({PATH: SHARED}, edits)[PATH] for edits in candidates(program, given, fix, site)]
    old = SHARED.splitlines()
    return [new for text in found for new, was in zip(text.splitlines(), old, strict=True) if new != was]


def test_a_function_that_others_call_is_edited_at_the_call() -> None:
    atom = UniversalCopy(dtype("bf16"), 64)
    assert edits_of("atom", atom=atom) == [
        "    cute.copy(made(BF, bits=64), tile(one), tile(other, 32))",
        "    cute.copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.BFloat16, "
        "num_bits_per_copy=64), tile(one), tile(other, 32))",
        "    return cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=64)",
    ]
    copy = lc.check("((8,1),4):((1,0),64)", "((8,1),4):((1,0),64)", "universal", bits=128, dtype="bf16").copy
    dst = replace(copy.dst, space="smem", align_bytes=128)
    assert edits_of("dst alignment", dst=dst)[0] == "    cute.copy(made(BF), tile(one), tile(other, 128))"
    assert (
        edits_of("src alignment", src=dst)[0]
        == "    cute.copy(made(BF), tile(one, align=128), tile(other, 32))"
    )


def test_two_edits_of_one_place_are_refused() -> None:
    with pytest.raises(InputError, match="two fixes change the same text"):
        apply({PATH: TEXT}, (Edit(PATH, 5, 9, "a"), Edit(PATH, 8, 10, "b")))


def test_a_transposition_by_position() -> None:
    text = "LdMatrix8x8x16bOp(trans, 4)"
    source = Source(PATH, text)
    [edits] = with_keyword(source, next(iter(source.calls())), "transpose", "False", 0)
    assert apply({PATH: text}, edits)[PATH] == "LdMatrix8x8x16bOp(False, 4)"


@pytest.mark.parametrize(
    ("shape", "layout", "stride"),
    [
        ("(rows, 64)", "(128,64):(72,1)", "(72, 1)"),
        ("((8, rows), 64)", "((8,16),64):((1,8),128)", "((1, 8), 128)"),
        ("(8, 4)", "((8,1),(4)):((1,0),(16))", "(1, 16)"),
        ("(8,)", "(8):(1)", "(1,)"),
        ("(8, 4, 2)", "(8,4):(1,8)", None),
        ("shape", "(8,4):(1,8)", None),
    ],
)
def test_strides_are_nested_as_the_shape_is_written(shape: str, layout: str, stride: str | None) -> None:
    call = next(iter(Source(PATH, f"make_layout({shape})").calls())).args[0]
    tensor = parse_memref(f'!cute.memref<bf16, smem, align<16>, "{layout}">')
    assert stride_for(call, tensor) == stride


def test_no_python_is_said_so() -> None:
    with pytest.raises(InputError, match=f"'{PATH}' does not parse"):
        Program({PATH: "def f(:"}).copy_at(PATH, 1)


STORAGE = """
def kernel(m):
    @cute.struct
    class Storage:
        bar: cute.struct.MemRange[cutlass.Int64, 2]
        tile: cute.struct.Align[cute.struct.MemRange[cutlass.Float16, 4096], 8]

    storage = smem.allocate(Storage)
    tile = storage.tile.get_tensor(layout)
    cute.copy(atom, tile, held)
"""


def test_the_alignment_of_a_structs_member_is_its_annotations() -> None:
    program = Program({PATH: STORAGE})
    site = program.copy_at(PATH, STORAGE[: STORAGE.index("cute.copy(")].count("\n") + 1)
    assert site is not None
    given = lc.check(
        '!cute.memref<f16, smem, align<8>, "((8,1),2):((1,0),64)">',
        '!cute.memref<f16, rmem, align<32>, "((8,1),2):((1,0),8)">', "ldmatrix.x4",
    )  # fmt: skip
    [fix] = [fix for fix in given.fixes if fix.strategy == "promise-alignment"]
    first = next(iter(candidates(program, given.copy, fix, site)))
    assert apply({PATH: STORAGE}, first)[PATH] == STORAGE.replace("4096], 8]", "4096], 16]")


def edited(text: str, copy: Copy, strategy: str) -> list[str]:
    """The lines that the fix of a copy in a text comes to, a candidate each."""
    program = Program({PATH: text})
    site = program.copy_at(PATH, text[: text.index("cute.copy(")].count("\n") + 1)
    assert site is not None
    fix = next(fix for fix in judge(copy).fixes if fix.strategy == strategy)
    texts = [apply({PATH: text}, edits)[PATH] for edits in candidates(program, copy, fix, site)]
    old = text.splitlines()
    return ["\n".join(line for line in one.splitlines() if line not in old) for one in texts]


SMEM = '!cute.memref<{}, smem, align<128>, "{}">'
HEAD = "import cutlass; from cutlass import cute\n"


def test_a_copy_without_a_tiled_copy_is_written_anew_with_its_own_operands() -> None:
    copy = lc.check(
        '!cute.memref<bf16, gmem, align<16>, "(8):(1)">', SMEM.format("f16", "(8):(1)"), "universal", bits=128
    ).copy
    [text] = edited(f"{HEAD}cute.copy(atom, given[0], tile)\n", copy, "convert-in-registers")
    assert "cute.copy(load_atom, given[0], fragment)" in text
    assert text.endswith("cute.copy(store_atom, converted, tile)")


def test_a_run_time_stride_is_assumed_where_the_layout_is_made() -> None:
    copy = lc.check(
        '!cute.memref<bf16, gmem, align<16>, "(8,4):(1,?)">', SMEM.format("bf16", "(8,4):(1,8)"),
        "cp.async", bits=128,
    ).copy  # fmt: skip
    text = f"{HEAD}g = cute.make_tensor(p, cute.make_layout((8, 4), stride=(1, ld)))\ncute.copy(a, g, s)\n"
    first = edited(text, copy, "promise-alignment")[0]
    assert first == text.splitlines()[1].replace("ld", "cute.assume(ld, divby=8)")


@pytest.mark.parametrize(
    ("made", "marks"),
    [
        ("mark_layout_dynamic()", ["mode=0", "mode=1"]),  # of the tile; one further where a batch is cut away
        ("mark_layout_dynamic(leading_dim=2)", ["mode=2"]),
        ("mark_layout_dynamic(major)", ["mode=major"]),
        ("mark_compact_shape_dynamic(mode=1)", ["mode=0", "mode=1"]),
    ],
)
def test_a_stride_that_is_marked_dynamic_is_promised_by_the_extent_it_follows(
    made: str, marks: list[str]
) -> None:
    copy = lc.check(
        '!cute.memref<bf16, gmem, align<2>, "(8,4):(1,?)">', SMEM.format("bf16", "(8,4):(1,8)"),
        "cp.async", bits=128,
    ).copy  # fmt: skip
    text = f"{HEAD}g = from_dlpack(t).{made}\ncute.copy(a, g, s)\n"
    found = edited(text, copy, "promise-alignment")
    whole = f"g = from_dlpack(t, assumed_align=16).{made}"
    appended = [f"{whole}.mark_compact_shape_dynamic({mode}, divisibility=8)" for mode in marks]
    own = f"{whole[:-1]}, divisibility=8)"
    assert found == ([own] if "compact" in made else []) + appended


PADDED = f"""{HEAD}def tile(rows, cols, pad=8):
    return cute.make_layout((rows, cols), stride=(PITCH, 1))

def copier(vec):
    return cute.make_tiled_copy_tv(atom, cute.make_layout((128 // vec, vec), stride=(vec, 1)), VALUES)

def kernel(m, layout, tiled):
    smem = allocator.allocate_tensor(cutlass.Float16, layout)
    own = tiled.get_slice(0)
    cute.copy(tiled, own.partition_S(m), own.partition_D(smem))

def host(m, n):
    kernel(m, tile(n, n, 4), copier(n // 8)).launch()
    other(m, tile(n, n), copier(n // 8)).launch()
"""


@pytest.mark.parametrize(
    ("pitch", "strategy", "first"),
    [
        ("cols + 4", "pad-pitch", "    return cute.make_layout((rows, cols), stride=(cols + 8, 1))"),
        ("cols + pad", "pad-pitch", "    kernel(m, tile(n, n, 8), copier(n // 8)).launch()"),
        ("cols + 4", "match-layout", "    return cute.make_layout((rows, cols), stride=(cols, 1))"),
        ("cols + pad", "match-layout", "    kernel(m, tile(n, n, 0), copier(n // 8)).launch()"),
    ],
)
def test_the_number_in_a_sum_changes_where_it_is_given(pitch: str, strategy: str, first: str) -> None:
    """Not the whole stride, which others may need otherwise; and never the layout of the threads."""
    copy = lc.check(
        "(64,64):(64,1)", "(64,64):(68,1)", "cp.async", bits=128, dtype="f16", thr="(16,8):(8,1)",
        val="(1,8)",
    ).copy  # fmt: skip
    text = PADDED.replace("PITCH", pitch).replace("VALUES", "cute.make_layout((1, 8))")
    whole = "72" if strategy == "pad-pitch" else "64"
    lines = [first, f"    return cute.make_layout((rows, cols), stride=({whole}, 1))"]
    assert edited(text, copy, strategy) == lines


def test_nothing_less_than_nothing_is_added() -> None:
    copy = lc.check(
        "(64,64):(64,1)", "(64,64):(132,1)", "cp.async", bits=128, dtype="f16", thr="(16,8):(8,1)",
        val="(1,8)",
    ).copy  # fmt: skip
    text = PADDED.replace("PITCH", "wide + 4").replace("VALUES", "cute.make_layout((1, 8))")
    whole = "    return cute.make_layout((rows, cols), stride=(64, 1))"
    assert edited(text, copy, "match-layout") == [whole]


def test_values_along_the_other_mode_are_written_in_the_programs_words() -> None:
    copy = lc.check(
        "(64,64):(64,1)", "(64,64):(72,1)", "cp.async", bits=128, dtype="f16", thr="(16,8):(8,1)",
        val="(8,1)",
    ).copy  # fmt: skip
    text = PADDED.replace("PITCH", "cols + pad").replace(
        "VALUES", "cute.make_layout((vec, 1), stride=(1, 0))"
    )
    found = edited(text, copy, "fit-threads")
    assert "cute.make_layout((1, vec), stride=(0, 1)))" in found[0]
    assert "cute.make_layout((1, 8)))" in found[1]
    right = text.replace("(vec, 1), stride=(1, 0)", "(1, vec), stride=(0, 1)")
    assert "(vec, 1), stride=(1, 0)" not in "".join(edited(right, copy, "fit-threads"))


def test_a_view_of_too_few_registers_is_cut_anew() -> None:
    copy = lc.check(
        SMEM.format("f16", "((8,1),1):((1,0),0)"),
        '!cute.memref<f16, rmem, align<32>, "((2,1),1):((1,0),0)">', "ldmatrix.x4",
    ).copy  # fmt: skip
    text = f"{HEAD}r = cute.make_tensor(p, cute.make_layout(((2, 1), 1)))\ncute.copy(a, s, r)\n"
    [line] = edited(text, copy, "retile-fragment")
    assert "cute.make_layout(((8, 1), 1" in line


def test_the_block_is_written_where_its_size_comes_from() -> None:
    tiles = {"src": "(128,64):(64,1)", "dst": "(128,64):(64,1)", "atom": "cp.async", "bits": 128,
             "dtype": "bf16", "thr": "(16,8):(8,1)", "val": "(1,8)", "block": 256}  # fmt: skip
    text = (
        f"{HEAD}def kernel():\n    cute.copy(tiled, a, b)\n\n"
        "def run(threads):\n    kernel().launch(grid=(1, 1, 1), block=[threads, 1, 1])\n\nrun(256)\n"
    )
    assert edited(text, lc.check(**tiles).copy, "launch") == [
        "run(128)",
        "    kernel().launch(grid=(1, 1, 1), block=[128, 1, 1])",
    ]


MADE = """
class Norm:
    def __call__(self, pointer, rows):
        return cute.make_tensor(pointer, rows(1))

class Other:
    def __call__(self, pointer, rows):
        return pointer

norm = Norm(width)
compiled = cute.compile(norm, make_ptr(kind, assumed_align=8), 4)
norm(make_ptr(kind, assumed_align=4), 4)
other = Other()
other(make_ptr(kind, assumed_align=2), 4)

def run(made):
    made(make_ptr(kind, assumed_align=1), 4)
    run(made)
"""


def test_a_call_of_an_instance_is_its_classs_call() -> None:
    program = Program({PATH: MADE})
    scope = program.sources[PATH].scopes[1]
    found = [ast.unparse(one.node) for one in program.given(scope, "pointer")]
    assert found == ["make_ptr(kind, assumed_align=8)", "make_ptr(kind, assumed_align=4)"]
    assert [ast.unparse(one.node) for one in program.given(scope, "rows")] == ["4", "4"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2 * bits", ["bits"]),
        ("self.a // 2 + b", ["self.a // 2", "b", "self.a"]),
        ("bits", []),
        ("2 * 64", []),
    ],
)
def test_what_stands_within_a_product_is_tried(text: str, found: list[str]) -> None:
    source = Source(PATH, text)
    assert parts(source, source.tree.body[0].value) == found  # type: ignore[attr-defined]


def test_a_width_and_a_block_lose_what_multiplies_them() -> None:
    head = "atom = make_copy_atom(op, kind, num_bits_per_copy=2 * bits)\n"
    text = head + "def k():\n    copy(atom, a, b)\nk().launch(block=(threads // 2, 1, 1))\n"
    program = Program({PATH: text})
    site = program.copy_at(PATH, 3)
    assert site is not None
    start = program.argument(site, "atom")
    assert start is not None
    edits = [*own_width(program, start), *launched(program, site, 128)]
    assert [(text[one.start : one.end], one.new) for (one,) in edits] == [
        ("2 * bits", "bits"), ("threads // 2", "threads"), ("threads // 2", "128"),
    ]  # fmt: skip


PARTIAL = """
from functools import partial

def kernel(tiled, s, r):
    load = partial(cute.copy, tiled)
    stored = partial(cute.autovec_copy)
    for k in range(4):
        load(s[None, k], r[None, k], pred=p)
        stored(r, s)
    print(s)
"""


def test_a_copy_through_a_partial_has_the_arguments_of_both() -> None:
    program = Program({PATH: PARTIAL})
    load, stored = (program.copy_at(PATH, line) for line in (8, 9))
    assert load is not None and stored is not None
    roles = ("atom", "src", "dst", "pred")
    found = [program.argument(load, role) for role in roles]
    assert [one and ast.unparse(one.node) for one in found] == ["tiled", "s[None, k]", "r[None, k]", "p"]
    found = [program.argument(stored, role) for role in roles]
    assert [one and ast.unparse(one.node) for one in found] == [None, "r", "s", None]
    assert program.copy_at(PATH, 10) is None


@pytest.mark.parametrize(
    ("given", "new"),
    [
        ("(major == 'n', 4)", "(not (major == 'n'), 4)"),
        ("(not (b.is_n_major()), 4)", "(b.is_n_major(), 4)"),
        ("(num_matrices=4, transpose=b.is_n_major())", "(num_matrices=4, transpose=not b.is_n_major())"),
        ("(a and b)", "(not (a and b))"),
        ("(True, 4)", None),
        ("()", None),
    ],
)
def test_a_transposition_is_flipped_in_the_programs_own_words(given: str, new: str | None) -> None:
    text = f"op = LdMatrix8x8x16bOp{given}\n"
    program = Program({PATH: text})
    place = Site(PATH, next(program.sources[PATH].calls()), program.sources[PATH].scopes[0])
    made = [apply({PATH: text}, edits)[PATH] for edits in flipped(program, place)]
    assert made == ([] if new is None else [f"op = LdMatrix8x8x16bOp{new}\n"])


SPREAD = """
class Scheduler:
    def __init__(self, params, memory):
        self.memory = memory

    @classmethod
    def create(cls, memory):
        return cls(0, memory)

def kernel(sA, sB):
    operands = (sA, sB)
    work(*operands, sched=Scheduler(1, memory=sB))
    late(*unknown, sA)
    other = Scheduler.create(sA)

def work(a, b, sched):
    cute.autovec_copy(b, sched.memory)

def late(a, b):
    cute.autovec_copy(a, b)
"""


def test_tuples_that_are_spread_and_what_objects_are_made_with_are_followed() -> None:
    program = Program({PATH: SPREAD})

    def names(line: int, role: str) -> list[str]:
        site = program.copy_at(PATH, line)
        start = None if site is None else program.argument(site, role)
        assert start is not None
        behind = program.behind(start)
        return [one.node.id for one in behind if isinstance(one.node, ast.Name) and one.node.id[0] == "s"]

    assert names(17, "src") == ["sB"]
    assert [one for one in names(17, "dst") if one in ("sA", "sB")] == ["sB", "sA"]
    assert names(20, "dst") == []  # behind a tuple of unknown length


TILES = """
import cutlass.cute as cute

def kernel(a, b, atom):
    bx, by, _ = cute.arch.block_idx()
    src = cute.local_tile(a, (32, 64), (bx, by))
    dst = cute.local_tile(b, (64, 32), (bx, by))
    cute.copy(atom, src, dst)
"""


@pytest.mark.parametrize(
    ("change", "swaps"),
    [
        (("", ""), []),  # dst is (32, 64) or at (by, bx): it is not known which is meant
        (("(64, 32)", "(32, 64)"), ["(by, bx)"]),
        (("(32, 64), (bx, by)", "(32, 64), (by, bx)"), ["(by, bx)"]),
        (("    bx", "    smem = allocator.allocate_tensor(kind, layout)\n    bx"), ["(by, bx)"]),
    ],
)
def test_coordinates_are_not_swapped_where_the_extents_may_be_what_is_wrong(
    change: tuple[str, str], swaps: list[str]
) -> None:
    text = TILES.replace(*change, 1) if change[0] else TILES
    program = Program({PATH: text})
    site = program.copy_at(PATH, text[: text.index("cute.copy(")].count("\n") + 1)
    start = program.argument(site, "dst") if site is not None else None
    assert start is not None
    assert [title.split()[1:3] for title, _ in turned(program, start)] == [one.split() for one in swaps]
