"""Every rule about source: flagged where it should be, silent on the corrected twin, documented, quick."""

import json
from pathlib import Path

import pytest

from layoutcheck.lint.analyse import analyse
from layoutcheck.lint.rules import rules
from layoutcheck.lint.source import Source
from tests.lint.examples import example

SOURCES = Path(__file__).parent / "sources"
WITH_EXAMPLE = [(code, shown) for code in rules() if (shown := example(code)) is not None]


def codes(text):
    return [(finding.line, finding.code) for finding in analyse(text.encode(), "x.py").findings]


@pytest.mark.parametrize(("code", "shown"), WITH_EXAMPLE)
def test_flags_its_example_and_not_the_twin(code, shown):
    assert {found for _, found in codes(shown.flagged)} == {code}
    assert codes(shown.clean) == []


def test_rules_about_source_have_an_example():
    assert [code for code, _ in WITH_EXAMPLE] == [f"LC26{n}" for n in range(8)]


def test_what_an_h200_did_with_an_election_by_one_thread():
    """The page of LC263 says so."""
    evidence = json.loads((SOURCES.parents[2] / "docs/evidence/tma_election.json").read_text())
    outcomes = {run["variant"]: run["outcome"] for run in evidence["runs"]}
    assert outcomes == {
        "load warp": "right",
        "load tidx": "hangs",
        "load elect": "hangs",
        **{f"{kind} {place}": "right" for kind in ("store", "reduce") for place in ("warp", "tidx", "elect")},
    }
    assert evidence["device"] in " ".join(rules()["LC263"].doc.split()).replace("an H200", "an NVIDIA H200")


def test_a_tma_store_may_be_started_by_one_thread():
    """flashinfer does (flashinfer/moe_ep): a store contains no election, as the H200 showed."""
    assert (
        codes(
            "from cutlass import cute\nfrom cutlass.cute.nvgpu import cpasync\n"
            "def f(atom, s, g):\n    src, dst = cpasync.tma_partition(atom, 0, cute.make_layout(1), s, g)\n"
            "    with cute.arch.elect_one():\n        cute.copy(atom, src, dst)\n"
        )
        == []
    )


def test_codes_are_those_of_the_lint():
    assert all("LC260" <= code <= "LC279" or "LC910" <= code <= "LC919" for code in rules())


def marked(path):
    """What a file says of itself: `# LC102` at the end of a line, the code that is found there."""
    lines = enumerate(path.read_text().splitlines(), 1)
    return sorted(
        (number, code) for number, line in lines if "  # LC" in line for code in line.split("  # ")[1].split()
    )


@pytest.mark.parametrize("path", sorted(SOURCES.glob("*.py")), ids=lambda path: path.stem)
def test_a_known_mistake_is_found_at_its_line(path):
    """Each file is a mistake somebody reported; `*_fixed.py` is the same without it."""
    found = sorted(codes(path.read_text()))
    assert found == marked(path)
    assert (found == []) == path.stem.endswith("_fixed")


def test_every_mistake_has_a_twin():
    names = {path.stem for path in SOURCES.glob("*.py")}
    assert {name for name in names if not name.endswith("_fixed")} == {
        name.removesuffix("_fixed") for name in names if name.endswith("_fixed")
    }


@pytest.mark.parametrize(
    "text",
    [
        "d = {}\ne = d.copy()\n# cute",
        "import copy\ncopy.copy([1], 2, pred=3)  # cute",
        "from cutlass import cute\ncute.copy()\ncute.copy(*a)\ncute.copy(*a, **b)\ncute.make_tensor()",
        "from cutlass import cute\ncute.assume()\ncute.assume(x, 0)\ncute.assume(x, divby=-4)",
        "from cutlass import cute\nx = x\ncute.assume(x, divby=8)",
        "match cute:\n    case True | None | 1 | [_, *rest]:\n        cute.copy()",
        "from cutlass import cute\na = b\nb = a\ncute.copy(a, b, a)\ncute.composition(a, b)",
        "from cutlass import cute\ncute.make_copy_atom()\ncute.CopyAtom(CopyG2SOp(*x), num_bits_per_copy=7)",
        "from cutlass import cute\nf(x=(yield), *y)\ncute.make_swizzle(1, 2)\n",
        "from cutlass import cute\nfrom m import get_slice, mark_compact_shape_dynamic, data_ptr\n"
        "def f(x):\n    c = cute.compile(g, from_dlpack(x, assumed_align=16))\n    c(data_ptr(x))\n"
        "    mark_compact_shape_dynamic(x, mode=1)\n    s = get_slice(x)\n    cute.copy(s, s, s)\n"
        "    a = cute.make_tensor(s, s)\n",
        "from cutlass.cute import *\nmake_tensor(x.iterator, make_layout((1, 2)))\ncompile(f)(x)",
        "from cutlass import cute\ncute.composition(cute.make_layout((0, -1)), cute.make_layout(10**30))",
    ],
)
def test_odd_source_is_no_finding(text):
    assert codes(text) == []


def test_columns_count_characters():
    text = "from cutlass import cute\nname = 'äöü'; cute.assume(4, divby=8)\n"
    (finding,) = analyse(text.encode(), "x.py").findings
    assert (finding.line, finding.column) == (2, 15)


def test_names_are_followed_through_imports_and_scopes():
    text = """
from cutlass.cute import assume as promise
OFFSET = 4
def f(row):
    def g():
        return promise(row * 8 + OFFSET, divby=8)
    return g
"""
    assert codes(text) == [(6, "LC267")]
    source = Source("", text)
    assert [call.name for call in source.called("assume")] == ["cutlass.cute.assume"]


STAGED = """
from cutlass import cute
import cutlass
@cute.kernel
def kernel(raw, x):
    rank = cute.recast_ptr(raw + 12544, swizzle_=cute.make_swizzle(4, 3, 3), dtype=cutlass.Int16)
    ranks = cute.make_tensor(rank, cute.make_layout(1024))
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Int16, num_bits_per_copy=BITS)
    USE
"""


@pytest.mark.parametrize(
    ("use", "bits", "found"),
    [
        ("ranks[0] = cutlass.Int16(1)", 128, []),  # flashinfer 0.7.2's cake_mxfp4_situ_moe: elements alone
        ("cute.copy(atom, x, ranks)", 64, []),
        ("cute.copy(atom, x, ranks)", 128, ["LC262"]),
        ("cute.autovec_copy(ranks, x)", 64, ["LC262"]),
        ("cute.basic_copy(ranks, x)", 64, []),
    ],
)
def test_a_swizzle_of_few_bytes_is_told_where_a_wide_copy_goes_through_it(use, bits, found):
    text = STAGED.replace("USE", use).replace("BITS", str(bits))
    assert [code for _, code in codes(text) if code == "LC262"] == found


def test_a_condition_is_told_as_it_is_written() -> None:
    text = (
        "from cutlass import cute\n@cute.kernel\ndef load(atom, gA, sA, barrier, tidx):\n"
        "    if cute.arch.elect_one( ):\n        cute.copy(atom, gA, sA, tma_bar_ptr=barrier)\n"
        "    if (tidx == 0 and\n            cute.arch.elect_one()):\n"
        "        cute.copy(atom, gA, sA, tma_bar_ptr=barrier)\n"
    )
    found = [one for one in analyse(text.encode(), "k.py").findings if one.code == "LC263"]
    said = [one.evidence["condition"] for one in found]
    assert said == ["cute.arch.elect_one( )", "tidx == 0 and cute.arch.elect_one()"]
