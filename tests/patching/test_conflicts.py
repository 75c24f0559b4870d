"""Shared tensors with bank conflicts, laid out anew, and the proof that the program does what it did."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from layoutcheck.patching.cases import repair_cases
from layoutcheck.patching.conflicts import objection, wavefronts, ways
from layoutcheck.patching.edit import apply
from layoutcheck.patching.search import Search
from layoutcheck.patching.state import Edited, State
from layoutcheck.patching.unbuilt import unbuilt
from layoutcheck.patching.whole import unconflicted
from layoutcheck.reports.repaired import render
from layoutcheck.reports.style import Style
from layoutcheck.settings import Settings
from layoutcheck.sources.shared_uses import LineUse, SharedReport, SharedUses
from layoutcheck.sources.traced import ElementReport, Frame, Kernel, KernelFinding, KernelPlace, Trace
from layoutcheck.tracing import Script, repaired
from tests.patching.conflicted import CONFLICTED, allocated, program
from tests.patching.faults import RED
from tests.patching.simulated import block, compiled

LINE = next(n for n, line in enumerate(CONFLICTED["rows"][0].split("\n"), 1) if "= tile[" in line)


def found(line: int = LINE, bits: int = 32) -> KernelFinding:
    place = KernelPlace("reads", Frame("k.py", line))
    evidence = {"wavefronts": 64, "ideal_wavefronts": 2, "operations": 1, "width_bits": bits}
    return KernelFinding("LC301", "slow", "conflict", "conflict", (place,), evidence)


def edits(text: str, bits: int = 32) -> list[tuple[str, str]]:
    """The titles and texts of all ways."""
    line = next(n for n, one in enumerate(text.split("\n"), 1) if "dst[" in one)
    return [
        (title, apply({"k.py": text}, some)["k.py"])
        for title, some in ways({"k.py": text}, found(line, bits))
    ]


def edited_text(name: str) -> tuple[str, str]:
    """A program, and what the first repair makes of it."""
    text, changes = CONFLICTED[name]
    made = text
    for old, new in changes.items():
        assert made.count(old) == 1
        made = made.replace(old, new)
    return text, made


@pytest.mark.parametrize("name", CONFLICTED)
def test_the_experts_edit_is_one_of_the_ways(name: str) -> None:
    text, wanted = edited_text(name)
    assert wanted in [
        made for _, made in edits(text, {"bytes": 8, "halves": 16, "doubles": 64}.get(name, 32))
    ]


def test_rows_grow_by_whole_accesses() -> None:
    """Vectors of 128 bits stay aligned; elements of 16 bits are two to a bank."""
    text = CONFLICTED["halves"][0].replace("src.element_type", "cutlass.BFloat16")
    pads = [
        [title.split("padded by ")[-1] for title, _ in edits(text, bits) if "padded" in title]
        for bits in (16, 128)
    ]
    assert pads == [["2 elements", "4 elements", "8 elements"], ["8 elements", "16 elements"]]
    names = [title.split(":")[0] for title, _ in edits(text, 128)]
    assert set(names) == {"pad-pitch", "swizzle"} and names.count("pad-pitch") == 2
    swizzles = [title.rpartition(" ")[2] for title, _ in edits(text, 128) if "padded" not in title]
    assert swizzles == ["S<3,4,3>", "S<3,4,4>"]


@pytest.mark.parametrize(
    "made",
    [
        allocated("cute.make_layout((TILE, TILE), stride=(TILE, TILE))"),
        allocated("cute.make_layout(((8, 4), TILE), stride=((TILE, 256), 1))"),
        allocated("given"),
        "    tile = other(TILE)",
    ],
)
def test_what_is_not_understood_gets_no_longer_rows(made: str) -> None:
    assert not any("padded" in title for title, _ in edits(program(made)))


def test_a_tensor_with_a_swizzle_gets_no_other() -> None:
    text = program(allocated("given", "1024, swizzle=cute.make_swizzle(3, 4, 3)"))
    assert edits(text) == []


# ---- the proof ----

BEFORE = SharedUses((LineUse("k.py", LINE, "wavefronts of ld.shared", 512),), "same", 4096)


def traced(uses: SharedUses, *told: KernelFinding, known: int = 2) -> State:
    report = ElementReport("kernel", "sm_90a", told, "", 2, known)
    orders = (SharedReport("kernel", "sm_90a", uses=uses),)
    return State(Trace(kernels=(Kernel("cutlass_host_", "sm_90a", 0),), elements=(report,), orders=orders))


def tried(uses: SharedUses, *told: KernelFinding, known: int = 2) -> str:
    """What is said against an edit whose program is traced so."""
    text, made = edited_text("rows")
    before = traced(BEFORE, found())
    return objection(
        Edited({"k.py": text}, before, {"k.py": made}, traced(uses, *told, known=known)), found()
    )


def used(count: int = 16, line: int = LINE, digest: str = "same") -> SharedUses:
    return SharedUses((LineUse("k.py", line, "wavefronts of ld.shared", count),), digest, 4224)


def test_an_edit_is_kept_if_the_kernel_does_the_same_in_less_time() -> None:
    assert tried(used()) == ""


@pytest.mark.parametrize(
    ("uses", "told", "reason"),
    [
        (used(digest="other"), [], "would find other data"),
        (used(513), [], f"k.py:{LINE} takes 513 wavefronts of ld.shared instead of 512"),
        (used(line=LINE - 4), [], f"k.py:{LINE - 4} takes wavefronts of ld.shared"),
        (SharedUses(problem="it is too long"), [], "is not known: it is too long"),
        (used(), [replace(found(), code="LC204")], "LC204 is found instead"),
        (used(), [found(), found(3)], "LC301 is found instead"),
    ],
)
def test_an_edit_that_is_not_proven_is_refused(
    uses: SharedUses, told: list[KernelFinding], reason: str
) -> None:
    assert reason in tried(uses, *told)


@pytest.mark.parametrize(
    ("joined", "told"),
    [
        ((256, 32), "32 wavefronts instead of 256"),  # as the finding counts
        ((0, 32), "16 wavefronts instead of 512 in a launch"),
        ((256, 0), "16 wavefronts instead of 512 in a launch"),
    ],
)
def test_wavefronts_are_told_in_one_count(joined: tuple[int, int], told: str) -> None:
    text, made = edited_text("rows")
    counts = [
        replace(
            uses,
            lines=(*uses.lines, *([LineUse("k.py", LINE, "joined wavefronts of ld.shared", n)] if n else [])),
        )
        for uses, n in zip((BEFORE, used()), joined, strict=True)
    ]
    before, after = (traced(one, *some) for one, some in zip(counts, ([found()], []), strict=True))
    assert str(wavefronts(Edited({"k.py": text}, before, {"k.py": made}, after), found())) == told


def test_as_many_accesses_are_known_as_before() -> None:
    assert tried(used(), known=1) == "other accesses are known"


PITCHED = next(n for n, line in enumerate(CONFLICTED["a pitch"][0].split("\n"), 1) if "= tile[" in line)
OTHER = """

@cute.kernel
def other(out: cute.Pointer):
    (out + made_of(1)).store(0.0)


def made_of(row):
    return row * PITCH + TILE
"""


def pitched(*kernels: str) -> str:
    """What is said against a longer pitch of the module's, where these are built."""
    text, made = edited_text("a pitch")
    texts, changed = {"k.py": text + OTHER}, {"k.py": made + OTHER}
    return unbuilt(texts, changed, [f"cutlass_{name}_Tensorgmem" for name in kernels])


def test_kernels_that_are_not_built_stay_as_they_are() -> None:
    """The other's rows of global memory have the same pitch: nothing that is traced proves it right."""
    assert pitched("host") == "other"
    assert pitched("host", "other") == ""
    text, made = edited_text("rows")  # of the built kernel alone
    assert unbuilt({"k.py": text + OTHER}, {"k.py": made + OTHER}, ["cutlass_host_Tensor"]) == ""
    method = "class Gemm:\n    def __call__(self): self.run()\n    @cute.kernel\n    def run(self): PITCH\n"
    texts = [{"k.py": f"PITCH = {n}\n{method}"} for n in (32, 33)]
    assert unbuilt(*texts, ["cutlass___call_____main__Gemm_object_at__Tensor"]) == ""
    assert unbuilt(*texts, ["cutlass___call_____main__Other_object_at__Tensor"]) == "run"
    search = Search(Path(), Path("k.py"), lambda *_, **__: pytest.fail("it is traced"), None, None)
    made, why = unconflicted(
        search, traced(BEFORE), found(PITCHED), {"k.py": CONFLICTED["a pitch"][0] + OTHER}
    )
    assert made is None and why == "a kernel that this run does not build would change as well: other"


# ---- whole programs ----

DEFAULT = ("a view with a pitch of its own",)


@pytest.mark.parametrize(
    "name", [one if one in DEFAULT else pytest.param(one, marks=pytest.mark.sweep) for one in CONFLICTED]
)
def test_the_repair_is_an_experts_and_moves_the_same_bytes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the PTX of both programs: the same bytes at the same places, and no wavefront more than phases."""
    pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "kernel.py"
    text, wanted = edited_text(name)
    script.write_text(text)
    done = repaired(Script(str(script), launch=False, arch="sm_90a"))
    assert done.after[str(script)] == wanted
    assert [one.verdict for one in done.repairs] == ["free of bank conflicts"] and not done.slow
    line = next(n for n, one in enumerate(text.split("\n"), 1) if "dst[" in one)
    assert f"now free of bank conflicts: kernel.py:{line}" in render(done, [], Style())
    before, after = (block(compiled(one), (1, 0)) for one in (text, wanted))
    phases = 2 if name == "doubles" else 1
    assert after.written == before.written and len(after.written) % 1024 == 0
    assert before.wavefronts > after.wavefronts == 8 * 8 * phases


def test_a_registered_case_is_freed_of_bank_conflicts_too(tmp_path: Path) -> None:
    """Its traces are asked for what reads find, as those of a script are."""
    pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")
    case = "import layoutcheck\n\n\n@layoutcheck.case\ndef reduce():\n    return host, (tensor(), tensor())\n"
    script = tmp_path / "kernel.py"
    script.write_text(RED.replace("cute.compile(host, tensor(), tensor())\n", case))
    [(path, done)] = repair_cases([str(script)], Settings(root=tmp_path, paths=(".",)))
    assert path == str(script) and [one.verdict for one in done.repairs] == ["free of bank conflicts"]
    assert "32 * 33" in script.read_text()
