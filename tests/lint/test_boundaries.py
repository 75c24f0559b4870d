"""Where a rule about source text begins to speak, and what it must not say."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from layoutcheck.lint import resolve
from layoutcheck.lint.analyse import analyse
from layoutcheck.lint.finding import Edit
from layoutcheck.lint.fixing import _better, _changed
from layoutcheck.lint.run import _coverage
from layoutcheck.lint.source import Source
from layoutcheck.lint.text import Unreadable, decode, parsed
from tests.lint.examples import example


def codes(text: str) -> list[str]:
    return [finding.code for finding in analyse(text.encode(), "x.py").findings]


@pytest.mark.parametrize(
    ("swizzle", "dtype", "found"),
    [
        ("3, 3, 3", "BFloat16", True),
        ("1, 3, 3", "BFloat16", True),
        ("0, 3, 3", "BFloat16", False),  # no swizzle
        ("3, 4, 3", "BFloat16", False),
        ("3, 2, 3", "BFloat16", False),  # two words of 4 bytes: no vector of elements either
        ("3, 2, 3", "Float32", True),
        ("3, 1, 3", "Float64", True),
        ("3, 4, 3", "Int8", False),  # bytes are elements
        ("3, n, 3", "BFloat16", False),  # a number that is not written out
        ("n, 3, n", "BFloat16", False),
        ("3, 3", "BFloat16", False),
        ("3, 3, n", "BFloat16", False),
    ],
)
def test_lc262_speaks_of_one_vector_of_elements(swizzle: str, dtype: str, found: bool) -> None:
    shown = example("LC262")
    assert shown is not None
    text = shown.flagged.replace("(3, 3, 3)", f"({swizzle})").replace("BFloat16", dtype)
    assert codes(text) == ["LC262"] * found


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("tidx == 0", True),
        ("0 == tidx", True),
        ("tidx == 0 and warp_idx == 0", True),
        ("tidx == 0 or warp_idx == 0", False),
        ("cute.arch.elect_one()", True),
        ("cute.arch.thread_idx()[0] == 0", True),
        ("cute.arch.thread_idx()[1] == 0", False),
        ("cute.arch.lane_idx() == 0", True),
        ("tidx < 32", False),
        ("warp_idx == 0", False),
        ("gA == 0", False),
    ],
)
def test_lc263_knows_what_holds_for_one_thread(condition: str, found: bool) -> None:
    shown = example("LC263")
    assert shown is not None
    assert codes(shown.flagged.replace("tidx == 0", condition)) == ["LC263"] * found


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("    assert x.data_ptr() % 16 == 0\n", True),
        ("    assert x.data_ptr() % 16 == 0 and x.ndim == 2\n", True),
        ("    if x.data_ptr() % 16:\n        raise ValueError\n", True),
        ("    if x.data_ptr() % 16 != 0:\n        raise ValueError\n", True),
        ("    if x.data_ptr() % 16 == 0:\n        raise ValueError\n", False),
        ("    if x.data_ptr() % 16:\n        print(x)\n", False),
        ("    assert x.data_ptr() % 12 == 0\n", False),  # no power of two
        ("    assert x.data_ptr() % 16 == 4\n", False),
        ("    assert x.data_ptr() % 16 == 0\n    x = x[1:]\n", False),  # another x since then
        ("    x = x[1:]\n    assert x.data_ptr() % 16 == 0\n", True),
        ("    for x in x:\n        pass\n    assert x.data_ptr() % 16 == 0\n", False),
        ("    x = x[1:]\n    for x in x:\n        pass\n    assert x.data_ptr() % 16 == 0\n", False),
    ],
)
def test_lc266_asks_what_every_run_has_checked(body: str, found: bool) -> None:
    head = "from cutlass.cute.runtime import from_dlpack\n\n\ndef view(x):\n"
    assert codes(f"{head}{body}    return from_dlpack(x)\n") == ["LC266"] * found


POINTER = """import cutlass
from cutlass import cute


@cute.jit
def launch(address: cutlass.Int64, count: cutlass.Int32, stream):
{body}    pointer = cute.make_ptr(cutlass.BFloat16, address, cute.AddressSpace.gmem, assumed_align=16)
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("", True),
        ("    assert address % 16 == 0\n", False),
        ("    assert address & 15 == 0\n", False),
        ("    assert count % 16 == 0\n", False),  # something is asked for: the author knows
        ("    assert count > 16\n", True),
        ("    check_alignment(address)\n", False),
        ("    check_alignment(count)\n", True),
    ],
)
def test_lc260_of_an_address_that_is_checked(body: str, found: bool) -> None:
    assert codes(POINTER.format(body=body)) == ["LC260"] * found


def test_what_is_no_text_is_named_by_its_place() -> None:
    with pytest.raises(Unreadable, match="not UTF-8: byte 0xff") as one:
        decode(b"x = 1\ny = '\xff'\n")
    assert (one.value.line, one.value.column) == (2, 6)
    with pytest.raises(Unreadable, match="not UTF-8: byte 0x80") as first:
        decode(b"\x80")
    assert (first.value.line, first.value.column) == (1, 1)
    with pytest.raises(Unreadable, match="does not parse") as two:
        parsed("x = 1\ny = (\n")
    assert two.value.line == 2
    assert decode(b"\xef\xbb\xbfx = 1") == "x = 1"


@pytest.mark.parametrize(
    ("expression", "bits"),
    [("64 + 64", True), ("256 - 128", True), ("16 * 8", True), ("257 // 2", True), ("-(-128)", True),
     ("128 // 0", False), ("1 << 7", False), ("1 << 62", False), ("n", False)],
)  # fmt: skip
def test_integers_are_worked_out_where_they_are_written_out(expression: str, bits: bool) -> None:
    """LC262 leaves copies alone that are narrower than 128 bits, where the width can be read."""
    text = f"""import cutlass
from cutlass import cute


@cute.kernel
def stage(x: cute.Tensor, n: int):
    smem = cutlass.memory.SmemAllocator()
    layout = cute.make_layout((64, 64), stride=(64, 1))
    tile = smem.allocate_tensor(cutlass.BFloat16, layout, 128, swizzle=cute.make_swizzle(3, 3, 3))
    width = {expression} - 64
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.BFloat16, num_bits_per_copy=width)
    cute.copy(atom, x, tile)
"""
    assert codes(text) == ([] if bits else ["LC262"])


def test_sites_are_counted_once_each() -> None:
    """Of four sites a trace reached two, one of them at its last line."""
    places = [(3, 3), (7, 9), (12, 12), (20, 20)]
    sites = [SimpleNamespace(line=line, end_line=end, cell=0) for line, end in places]
    file = SimpleNamespace(path="k.py", reading=SimpleNamespace(sites=sites))
    reached = {("k.py", 3): "", ("k.py", 9): "", ("other.py", 20): ""}
    assert _coverage([file], reached, True) == (2, {"k.py": (12, 20)})  # type: ignore[list-item]
    assert _coverage([file], reached, False) == (0, {"k.py": (3, 7, 12, 20)})  # type: ignore[list-item]


def test_an_edit_is_better_where_its_finding_goes_and_nothing_comes() -> None:
    finding = SimpleNamespace(code="LC265", title="width")
    before, after = SimpleNamespace(findings=[finding, finding]), SimpleNamespace(findings=[finding])
    assert _better(before, after, finding)  # type: ignore[arg-type]
    assert not _better(before, before, finding)  # type: ignore[arg-type]
    worse = SimpleNamespace(findings=[finding, SimpleNamespace(code="LC260", title="new")])
    assert not _better(before, worse, finding)  # type: ignore[arg-type]


@pytest.mark.parametrize(("sum_", "known"), [
    ("(1 << 2)", None), (f"{2**62 - 1} + 1", 2**62), (f"{2**62} + 1", None), (f"-{2**62 - 1} - 1", -(2**62)),
    (f"1 - {2**62}", None), ("7 // 2", 3), ("7 // 0", None), ("-3 * 4", -12),
])  # fmt: skip
def test_numbers_of_a_machine_word_are_worked_out(sum_: str, known: int | None) -> None:
    source = Source("", f"from cutlass import cute\ncute.assume(x, divby={sum_})\n")
    [call] = source.called("assume")
    assert resolve.integer(call.scope, call.argument(None, "divby")) == known


@pytest.mark.parametrize(("called", "known"), [
    ("f = lambda: cute.assume(x, divby=n)", 8), ("f = lambda n: cute.assume(x, divby=n)", None),
    ("cute.assume(x, n)", 8), ("cute.assume(*x, n)", None),
])  # fmt: skip
def test_a_parameter_of_a_lambda_and_what_a_star_hides_are_not_known(called: str, known: int | None) -> None:
    [call] = Source("", f"from cutlass import cute\nn = 8\n{called}\n").called("assume")
    assert resolve.integer(call.scope, call.argument(1, "divby")) == known


@pytest.mark.parametrize(
    "around", ["if 0.5:\n    {}", "f = lambda: 0.5\n{}", "@g(0.5)\ndef f(x=0.5):\n    {}"]
)
def test_numbers_that_are_no_integers_are_read_over(around: str) -> None:
    source = Source("", "from cutlass import cute\n" + around.format("cute.assume(x, divby=8)\n"))
    assert len(list(source.called("assume"))) == 1


@pytest.mark.parametrize(("written", "found"), [
    ("atom", True), ("tiled.get_slice(0)", True), ("tiled.retile(x)", True), ("tiled.other(0)", False),
    ("get_slice(0)", False),
])  # fmt: skip
def test_the_atom_is_behind_a_slice_and_behind_no_other_method(written: str, found: bool) -> None:
    source = Source(
        "",
        "from cutlass import cute\natom = cute.make_copy_atom(op, t)\n"
        f"tiled = cute.make_tiled_copy_tv(atom, t, v)\ncute.copy({written}, a, b)\n",
    )
    [call] = source.called("copy")
    assert bool(resolve.atom_of(source, call.scope, call.argument(0, "atom"))) == found


@pytest.mark.parametrize("mode", ["ALWAYS", "GLOBAL", "STREAMING", "LAST_USE", "NONE"])
def test_lc265_knows_the_cache_modes(mode: str) -> None:
    text = (
        "from cutlass import cute\nfrom cutlass.cute.nvgpu import cpasync\n"
        f"op = cpasync.CopyG2SOp(cpasync.LoadCacheMode.{mode})\n"
        "cute.make_copy_atom(op, t, num_bits_per_copy=16)\n"
    )
    assert codes(text) == ["LC265"] and codes(text.replace(mode, "OTHER")) == []


@pytest.mark.parametrize("tensor", ["y", "x.part", "x[0]"])
def test_lc264_speaks_of_parameters(tensor: str) -> None:
    shown = example("LC264")
    assert shown is not None and codes(shown.flagged) == ["LC264"]
    other = shown.flagged.replace("(x.iterator", f"({tensor}.iterator")
    assert other != shown.flagged and codes(other) == []


@pytest.mark.parametrize(("call", "made"), [
    ("f()", "f(n=1)"), ("f(a)", "f(a, n=1)"), ("f(a,)", "f(a,n=1,)"), ("f(a,\n  b,)", "f(a,\n  b,\n  n=1,)"),
    ("f(a, b,\n)", "f(a, b, n=1,\n)"), ("f(\n  a,\n  b,  # why\n)", "f(\n  a,\n  b,  # why\n  n=1,\n)"),
])  # fmt: skip
def test_an_argument_is_added_as_the_others_are_written(call: str, made: str) -> None:
    libcst = pytest.importorskip("libcst")
    node = _changed(libcst.parse_expression(call), Edit("n", "1", "title"))
    assert libcst.Module([]).code_for_node(node) == made
