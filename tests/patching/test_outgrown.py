"""Allocations that are too small for the tensor made of them: as many elements as its layout reaches."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutcheck.patching.edit import apply
from layoutcheck.patching.paddings import fitted
from layoutcheck.patching.program import Program
from layoutcheck.tracing import Script, repaired
from tests.patching.outgrown import COPY, ELEMENTS

MADE = """def kernel(wide):
    @cute.struct
    class Storage:
        a: cute.struct.MemRange[cutlass.Float32, 4096]
    st = smem.allocate(Storage)
    {tensor}
    s[tid, 0] = 1.0
"""


@pytest.mark.parametrize(
    ("tensor", "new"),
    [
        ("s = st.a.get_tensor(wide)", "cute.cosize(wide)"),
        ("s = st.a.get_tensor(cute.make_layout(n))", "n"),
        ("s = st.a.get_tensor(wide.outer, swizzle=wide.inner)", "cute.cosize(wide.outer)"),
        ("s = st.a.get_tensor(cute.make_layout((64, 64), stride=(65, 1)))", "4159"),
        ("s = cute.make_tensor(st.a.data_ptr(), cute.make_layout((8, 2, 4), stride=(1, 100, 300)))", "1008"),
        ("s = cute.make_tensor(st.a.data_ptr(), cute.make_layout((n, 2), stride=(1, 100)))", ""),
    ],
)
def test_the_number_of_elements_is_that_of_the_layout(tensor: str, new: str) -> None:
    text = MADE.format(tensor=tensor)
    made = [apply({"k.py": text}, edits)["k.py"] for _, edits in fitted(Program({"k.py": text}), "k.py", 7)]
    assert made[:1] == [text.replace("4096", new)] * bool(new)


def test_names_of_another_function_are_not_taken() -> None:
    """The struct stands in the host, which calls the layout otherwise."""
    text = MADE.format(tensor="s = storage.a.get_tensor(wide)").replace("def kernel(wide)", "def host(outer)")
    host, kernel = text.split("    s = ")
    kernel = "def kernel(storage, wide):\n    s = " + kernel.replace("4096", "")
    text = f"{host}    kernel(st, outer).launch()\n{kernel}"
    line = 1 + text.split("\n").index("    s[tid, 0] = 1.0")
    [(title, edits)] = fitted(Program({"k.py": text}), "k.py", line)
    assert apply({"k.py": text}, edits)["k.py"] == text.replace("4096", "cute.cosize(outer)")
    assert title == "allocation: cute.cosize(outer) elements, as many as the layout reaches"


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("text", "edits"),
    [
        (ELEMENTS, {"64 * 64": "cute.cosize(sl)"}),
        (COPY, {"M * K]": "cute.cosize(sA_layout)]"}),
    ],
)
def test_what_leaves_its_member_gets_a_larger_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, edits: dict[str, str]
) -> None:
    """And no barrier is written for what two members share: they share nothing then."""
    pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "kernel.py"
    script.write_text(text)
    found = repaired(Script(str(script), launch=False))
    for old, new in edits.items():
        text = text.replace(old, new)
    assert found.after[str(script)] == text
    assert all(one.title.startswith("allocation: ") for one in found.repairs) and not found.sketches
