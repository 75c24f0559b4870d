"""Conditions around element accesses that leave their tensor, and the proof that they take away no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from layoutcheck.dsl.lowered import Lowered, resolve
from layoutcheck.dsl.lowered.faults import Outside
from layoutcheck.patching.edit import apply
from layoutcheck.patching.guards import findings, objection, unkept, unturned, ways
from layoutcheck.patching.repair import repair
from layoutcheck.patching.repaired import Repaired
from layoutcheck.patching.state import Edited, State
from layoutcheck.reports.repaired import render
from layoutcheck.reports.style import Style
from layoutcheck.sources.evaluated import Evaluated, Inside
from layoutcheck.sources.traced import ElementReport, Frame, KernelFinding, KernelPlace, Trace
from layoutcheck.sources.traced_module import TracedModule
from layoutcheck.tracing import Script, repaired
from tests.patching.broken import HEAD
from tests.patching.simulated import DESTINATION, block, compiled

ADD = """@cute.kernel
def kernel(a: cute.Tensor, c: cute.Tensor):
    i = index()
    x = a[i]  # first
    y = x + 1.0

    c[i] = y
    done(i)
"""


READ = Evaluated(0, 0x1A, True, ((0, 1, 64),))
WRITTEN = replace(READ, objects=((1, 1, 64),))
OTHER = Evaluated(0, 0x2B)


def found(line: int, what: str = "reads", code: str = "LC204", file: str = "k.py") -> KernelFinding:
    place = KernelPlace(what, Frame(file, line))
    return KernelFinding(code, "wrong", "leaves", "leaves", (place,), {"tensor_bytes": 8})


def seen(
    *told: KernelFinding, inside: int = 64, known: int = 2, run: Evaluated = READ, line: int = 4,
    none: bool = False,
) -> Trace:  # fmt: skip
    moves = ("k.py", line, (run, Inside(inside, inside, none)))
    return Trace(elements=(ElementReport("kernel", "sm_90a", told, "", 2, known, inside=(moves,)),))


def edits(text: str, *told: KernelFinding) -> list[str]:
    """The texts of all edits for the first of what was found."""
    return [apply({"k.py": text}, way.edits)["k.py"] for way in ways({"k.py": text}, told[0], seen(*told))]


def test_one_condition_stands_around_all_that_leaves_the_tensor() -> None:
    first, *_ = edits(ADD, found(4), found(7, "writes"))
    assert first == ADD.replace(
        ADD[ADD.index("    x = a") : ADD.index("    done")],
        """    if i < cute.size(a):
        x = a[i]  # first
        y = x + 1.0

        c[i] = y
""",
    )


def test_statements_that_read_what_is_bound_are_taken_along() -> None:
    first, *_ = edits(ADD, found(4))
    assert "        c[i] = y\n    done(i)" in first  # which reads y, which reads x


@pytest.mark.parametrize(
    "together", ["cute.arch.sync_threads()", "y = cute.arch.warp_reduction_sum(x)", "return"]
)
def test_what_threads_do_together_stays_outside(together: str) -> None:
    """Then 0 stands for what is not read."""
    made = edits(ADD.replace("x + 1.0", f"x + 1.0\n    {together}"), found(4), found(7, "writes"))
    zero = """    x = a.element_type(0)
    if i < cute.size(a):
        x = a[i]  # first
"""
    assert zero in made[0] and f"\n    {together}" in made[0]
    assert not any(f"        {together}" in one for one in made)


@pytest.mark.parametrize(
    "line",
    ["count = count + 1", "k[0] = 1", "cute.arch.atomic_add(k, 1)", "old = atomic_add(k)", "note()"],
)
def test_what_does_not_rest_on_what_is_read_stays_outside(line: str) -> None:
    """It was done by all threads, and what it does is read elsewhere."""
    text = ADD.replace("x + 1.0", f"x + 1.0\n    {line}").replace("done(i)", "done(i, count)")
    text = text.replace("    i = ", "    count = 0\n    i = ")
    made = edits(text, found(5), found(9, "writes"))
    assert made and not any(f"        {line}" in one for one in made)


SUM = """@cute.kernel
def kernel(a: cute.Tensor, c: cute.Tensor):
    x = zero
    for i in cutlass.range(8):
        BEFORE
        TERM
        AFTER
    c[0] = x
"""


@pytest.mark.parametrize(
    ("before", "term", "after", "guarded"),
    [
        ("pass", "x = x + a[i]", "pass", "x = x + a[i]"),
        ("pass", "x += a[i]", "pass", "x += a[i]"),
        ("pass", "y = a[i]", "x = y if y > x else x", "y = a[i]\n            x = y if y > x else x"),
        ("pass", "y = a[i]", "if y > x: x = y", "y = a[i]\n            if y > x: x = y"),
        ("pass", "x = a[i]", "pass", "x = a[i]"),
        ("c[i] = x", "x = a[i]", "pass", "x = a[i]"),
    ],
)
def test_a_sum_has_one_summand_less_and_other_values_are_0(
    before: str, term: str, after: str, guarded: str
) -> None:
    """The last turn's value would stand for one that is not read."""
    first, *_ = edits(SUM.replace("BEFORE", before).replace("TERM", term).replace("AFTER", after), found(6))
    assert f"if i < cute.size(a):\n            {guarded}" in first
    assert ("x = a.element_type(0)\n" in first) == (term == "x = a[i]")


def test_a_value_of_an_earlier_turn_that_nobody_reads_is_no_loss() -> None:
    text = SUM.replace("BEFORE", "pass").replace("TERM", "x = a[i]").replace("AFTER", "c[i] = x")
    first, *_ = edits(text.replace("c[0] = x", "pass"), found(6), found(7, "writes"))
    assert "            x = a[i]\n            c[i] = x\n" in first and "element_type" not in first


def test_a_value_that_the_next_turn_reads_is_0_where_it_is_not_read() -> None:
    text = SUM.replace("BEFORE", "note(x)").replace("TERM", "x = a[i]").replace("AFTER", "pass")
    first, *_ = edits(text.replace("c[0] = x", "pass"), found(6))
    assert "x = a.element_type(0)\n" in first


def test_a_function_that_waits_for_other_threads_stays_outside() -> None:
    text = (
        ADD.replace("x + 1.0", "turned(x)")
        + "def turned(v):\n    return again(v)\ndef again(v):\n    {}\n    return v\n"
    )
    around = "        y = turned(x)"
    made = [
        edits(text.format(one), found(4), found(7, "writes")) for one in ("f(v)", "cute.arch.sync_threads()")
    ]
    assert around in made[0][0] and not any(around in one for one in made[1])


def test_a_value_that_is_read_elsewhere_gets_its_zero_before() -> None:
    text = ADD.replace("a[i]  # first", "(a[i] + b[i]).to(cutlass.Float32) * s[0]").replace(
        "y = ", "arrive(); y = "
    )
    zero = "    x = (a.element_type(0) + b.element_type(0)).to(cutlass.Float32) * s[0]\n"
    assert any(zero in one for one in edits(text, found(4)))


def test_what_is_stored_elsewhere_is_0_where_it_is_not_read() -> None:
    """A fragment, or shared memory, would hold what nobody wrote."""
    text = ADD.replace("x = a[i]", "s[127 - i] = a[i]")
    made = edits(text, found(4))
    zero = "    s[127 - i] = a.element_type(0)\n    if i < cute.size(a):\n        s[127 - i] = a[i]"
    assert any(zero in one for one in made)
    assert not any("element_type" in one for one in edits(ADD, found(7, "writes")))


def test_the_coordinates_are_those_of_the_whole_tensor() -> None:
    text = ADD.replace("i = index()", "a = cute.local_tile(a_, (8, 8), (m, n))").replace(
        "a[i]", "a[i, j + 1]"
    )
    text = text.replace("a: cute.Tensor", "a_: cute.Tensor").replace("done(i)", "coords = 1")
    first, *_ = edits(text, found(4))
    assert "    coords_2 = cute.local_tile(cute.make_identity_tensor(a_.shape), (8, 8), (m, n))\n" in first
    assert "    if cute.elem_less(coords_2[i, j + 1], a_.shape):\n" in first
    [whole, *_] = edits(ADD.replace("a[i]", "a[i, j + 1]"), found(4))
    assert "if cute.elem_less((i, j + 1), a.shape):\n" in whole


@pytest.mark.parametrize(
    "line", ["x = a[None, i]", "x = a[i:j]", "x = f(a)", "x = a[i]; z = 1", 'x = a[i] if """\n""" else 0']
)
def test_what_is_no_plain_access_gets_no_condition(line: str) -> None:
    text = ADD.replace("x = a[i]  # first", line)
    assert edits(text, found(4)) == []


VALUE = "value = a.element_type(0)\n{0}if {1}:\n{0}    value = {2}\n{0}"


@pytest.mark.parametrize(
    ("line", "condition", "read", "left"),
    [
        ("return a[i] * 2", "i < cute.size(a)", "a[i]", "return value * 2"),
        ("x, y = a[i, 0], b", "cute.elem_less((i, 0), a.shape)", "a[i, 0]", "x, y = value, b"),
        ("if a[i] > 0: done(i)", "i < cute.size(a)", "a[i]", "if value > 0: done(i)"),
        ("note(a[i], a[i])", "i < cute.size(a)", "a[i]", "note(value, value)"),
    ],
)
def test_what_stands_elsewhere_is_read_before(line: str, condition: str, read: str, left: str) -> None:
    made = edits(ADD.replace("x = a[i]  # first", line), found(4))
    wanted = VALUE.format("    ", condition, read) + left
    assert any(f"\n    {wanted}\n" in one for one in made)


def test_reads_before_a_tensor_are_asked_for_both_ends() -> None:
    below = replace(found(4), evidence={"tensor_bytes": 8, "address": -4})
    text = ADD.replace("a[i]  # first", "a[i - 1] + a[i + 1]")
    made = edits(text, below)
    both = VALUE.format("    ", "i - 1 >= 0 and i - 1 < cute.size(a)", "a[i - 1]")
    more = VALUE.format("    ", "i + 1 < cute.size(a)", "a[i + 1]").replace("value", "value_2")
    assert any(f"    {both}x = value + a[i + 1]\n" in one for one in made)
    assert any(f"    {both}{more}x = value + value_2\n" in one for one in made)
    assert not any(" >= 0" in one for one in edits(text, found(4)))


@pytest.mark.parametrize(
    ("line", "header"),
    [
        ("for k in cutlass.range(4): c[i] = a[i]", "for k in cutlass.range(4):"),
        ("if k > 0: c[i] = a[i]  # so", "if k > 0:"),
    ],
)
def test_a_body_in_the_line_of_its_header_gets_lines_of_its_own(line: str, header: str) -> None:
    first, *_ = edits(ADD.replace("x = a[i]  # first", line), found(4))
    assert f"\n    {header}\n        if i < cute.size(a):\n            c[i] = a[i]" in first
    assert edits(ADD.replace("x = a[i]  # first", f"{line.partition('  #')[0]}; z = 1"), found(4)) == []


def test_lines_go_in_by_tabs_where_the_file_has_them() -> None:
    text = ADD.replace("x = a[i]  # first", "c[i] = a[i]").replace("    ", "\t")
    first, *_ = edits(text, found(4))
    assert "\n\tif i < cute.size(a):\n\t\tc[i] = a[i]" in first


@pytest.mark.parametrize(
    "line", ["x = 0 if i > 4 else a[i]", "x = i < 4 and a[i] > 0", "return [a[k] for k in range(4)]"]
)
def test_what_may_not_be_evaluated_is_not_read_before(line: str) -> None:
    assert not any("value = " in one for one in edits(ADD.replace("x = a[i]  # first", line), found(4)))


def test_nothing_is_read_between_the_branches_of_a_condition() -> None:
    branch = "if i > 4:\n        done(i)\n    elif a[i] > 0:\n        done(i)"
    assert edits(ADD.replace("x = a[i]  # first", branch), found(6)) == []


def test_a_line_of_another_file_or_of_no_statement_gets_none() -> None:
    assert edits(ADD, found(4, file="other.py")) == [] and edits(ADD, found(2)) == []


# ---- the proof ----


def tried(after: Trace, bare: Trace | None = None, text: str = ADD, **was: Any) -> str:
    """What is said against the first edit, whose program is traced so."""
    one, texts = found(4), {"k.py": text}
    before = seen(one, found(7, "writes"), **was)
    way = next(ways(texts, one, before))
    edited = Edited(texts, State(before), apply(texts, way.edits), State(after))
    asked = State(bare or seen(found(5), line=5))
    return objection(edited, one) or unkept(edited, lambda: asked, one, way.edits)


def test_an_edit_stays_if_all_that_is_inside_moves() -> None:
    assert tried(seen(line=5)) == ""


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (seen(found(5), line=5), "LC204 remains"),
        (seen(found(9, code="LC301"), line=5), "LC301 is found instead"),
        (seen(known=1, line=5), "fewer accesses are known"),
        (seen(inside=60, line=5), "elements inside of the tensor would not be moved"),
        (seen(run=OTHER, line=5), "which elements it moves is not known"),
        (Trace(), "which elements it moves is not known"),
    ],
)
def test_an_edit_that_is_not_proven_is_refused(after: Trace, reason: str) -> None:
    assert tried(after) == reason


def test_what_is_compared_with_has_to_leave_the_tensor_still() -> None:
    """Else the condition that always holds changed what was evaluated. It is asked if the program differs."""
    other = {"run": replace(READ, blocks=3)}
    assert tried(seen(line=5), seen(line=5), **other) == "LC204 is not found of what it takes away"
    assert tried(seen(line=5), **other) == tried(seen(line=5), seen(line=5)) == ""


NOTHING = "nothing of the tensor would be accessed: its coordinates or a condition may be wrong"
OUTSIDE = "a part of it is outside in every block that was evaluated: its coordinates may be wrong"
SOME = replace(WRITTEN, whole=False)
HIDDEN = "only 40 of 64 B would be written: coordinates may be wrong"


@pytest.mark.parametrize(
    ("inside", "none", "run", "why"),
    [(0, True, SOME, NOTHING), (64, True, SOME, OUTSIDE), (64, True, replace(SOME, extent=8), ""),
     (40, False, WRITTEN, HIDDEN), (40, False, SOME, ""), (40, False, replace(WRITTEN, extent=8), ""),
     (40, False, replace(WRITTEN, objects=((0, 2, 80), (1, 1, 64))), "")],
)  # fmt: skip
def test_a_condition_does_not_hide_that_coordinates_are_wrong(
    inside: int, none: bool, run: Evaluated, why: str
) -> None:
    """Of a tensor that a launch is seen to write only in part; of blocks that are not all, nobody knows."""
    assert tried(seen(inside=inside, run=run, none=none, line=5), inside=inside, run=run, none=none) == why


def test_comparisons_are_tried_before_conditions() -> None:
    text = ADD.replace("    x = a[i]  # first\n", "    m, n = sizes\n    if i < m:\n        x = a[i]\n")

    def conditions(inside: int, test: str) -> list[str]:
        given = {"k.py": text.replace("i < m", test)}
        every = ways(given, found(6), seen(inside=inside, line=6))
        made = [apply(given, one.edits)["k.py"] for one in every if one.bare is None]
        return [line.strip() for one in made for line in one.splitlines() if "if " in line]

    assert conditions(64, "i < m") == [] and conditions(64, "i <= m") == ["if i < m:"]
    assert conditions(40, "i < m") == ["if i < n:"] and conditions(0, "i > m")[0] == "if i < m:"
    assert conditions(40, "i < n and j < m")[0] == "if i < m and j < n:"


def test_coordinates_are_swapped_where_that_brings_more_inside() -> None:
    """In the place of an `if`, which would leave the rest of the tensor away: not for a tail."""
    text = ADD.replace("a[i]", "a[j, i]")
    whole, part = replace(found(4), evidence={"tensor_bytes": 128}), replace(READ, objects=((0, 1, 128),))
    [way, *others] = ways({"k.py": text}, whole, seen(whole, run=part))
    assert apply({"k.py": text}, way.edits)["k.py"] == text.replace("a[j, i]", "a[i, j]")
    assert way.bare is None and others and all(one.bare is not None for one in others)
    assert all(one.bare is not None for one in ways({"k.py": text}, found(4), seen(found(4))))
    shifted = replace(whole, evidence={"tensor_bytes": 128, "shifted": True})
    one = {"k.py": text.replace("a[j, i]", "a[i + 1]")}
    [way_] = ways(one, shifted, seen(shifted, inside=124))
    assert apply(one, way_.edits)["k.py"] == text.replace("a[j, i]", "a[i]")
    more = "no more elements of the tensor would be accessed"
    less = "fewer elements of the tensor would be accessed"
    for after, why in ((seen(inside=128), ""), (seen(), more), (seen(run=OTHER), less), (Trace(), less)):
        changed = apply({"k.py": text}, way.edits)
        edited = Edited({"k.py": text}, State(seen(whole)), changed, State(after))
        assert unturned(edited, whole, more=True) == why and unturned(
            edited, whole, more=False
        ) == why.replace(more, "")


def test_no_swap_is_made_where_another_is_as_good(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    for index, swaps in (("j, i", 1), ("j, i, k", 0)):
        path.write_text(ADD.replace("a[i]", f"a[{index}]"))

        def traced(script: str, inside: int, *told: KernelFinding) -> Trace:
            moves = (script, 4, (replace(READ, objects=((0, 1, 128),)), Inside(inside, inside)))
            return Trace(elements=(ElementReport("kernel", "sm_90a", told, "", 2, 2, inside=(moves,)),))

        one = replace(found(4, file=str(path)), evidence={"tensor_bytes": 128})
        made = repair(str(path), traced(str(path), 64, one), lambda script, _, **__: traced(script, 128))
        assert len(made.repairs) == swaps
        assert ["not known which is meant" in one.reason for one in made.sketches] == [True] * (1 - swaps)


def test_accesses_in_shared_memory_are_not_guarded() -> None:
    one, shared = found(4), replace(found(3), evidence={"allocation_bytes": 8})
    behind_a_row = replace(found(7), evidence={"mode_extent": 8})
    assert findings(seen(shared, one, one, behind_a_row)) == [one, behind_a_row]


def test_a_module_at_other_lines_is_told_at_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found of a text is kept, and the text has no lines: an edit above a kernel moves them."""
    text = '"cute.memref.load"(%0) : (!cute.memref<f32, gmem, "1:0">) -> f32'
    told: list[Frame] = []

    def check(module: TracedModule, *_: object) -> ElementReport:
        told.extend(module.lines)
        return ElementReport("", "", lines=tuple((one.file, one.line) for one in module.lines))

    monkeypatch.setattr(resolve, "check_elements", check)
    monkeypatch.setattr(resolve.Lowering, "_judged", lambda *_: (Lowered(), Outside()))
    lowering = resolve.Lowering()
    modules = [TracedModule(text, "", "sm_90a", {"": (0,)}, (f'loc("k.py":{n}:1)',)) for n in (3, 4, 3)]
    found = [lowering.elements(one) for one in modules]
    assert [one and one.lines for one in found] == [(("k.py", n),) for n in (3, 4, 3)]
    assert [one.line for one in told] == [3, 4]


# ---- whole programs ----

LOOP = (
    HEAD
    + """
@cute.kernel
def kernel(src: cute.Tensor, dst: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    mine = cute.local_tile(src, (32, 32), (row, 0))
    out = cute.local_tile(dst, (32, 32), (row, 0))
    for i in cutlass.range(32):
        out[i, tid] = mine[i, tid]


@cute.jit
def host(src: cute.Tensor, dst: cute.Tensor):
    kernel(src, dst).launch(grid=(2, 1, 1), block=(32, 1, 1))


a, b = (make_fake_tensor(cutlass.Float32, (40, 32), stride=(32, 1), assumed_align=16) for _ in range(2))
cute.compile(host, a, b)
"""
)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "kernel.py"
    script.write_text(LOOP)
    return script


@pytest.fixture
def guarded(program: Path) -> Repaired:
    return repaired(Script(str(program), launch=False))


def test_a_store_in_a_loop_is_guarded_and_every_element_is_written(program: Path, guarded: Repaired) -> None:
    """By the trace, and by the PTX of the repaired program: every element of dst, and nothing behind it."""
    [one] = guarded.repairs
    assert (
        one.verdict == "in bounds" and [place.line for place in one.repaired] == [14] and not guarded.sketches
    )
    assert "accesses now in bounds: kernel.py:14" in render(guarded, [], Style())
    ptx = compiled(guarded.after[str(program)])
    written = {to - DESTINATION for at in range(2) for to in block(ptx, (at, 0)).written}
    assert written == set(range(4 * 40 * 32))
