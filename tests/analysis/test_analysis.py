"""One analysis a copy: every part worked out once, by whoever asks first; nothing changes; cheap to keep."""

import pickle
from collections import Counter
from dataclasses import FrozenInstanceError, replace

import pytest

import layoutcheck as lc
from layoutcheck import analysis as home
from layoutcheck.analysis import Analysis, instantiation
from layoutcheck.analysis.memory import Memory
from layoutcheck.check import Report
from layoutcheck.copies.compiler.prediction import Prediction
from layoutcheck.copies.copy import Copy
from layoutcheck.judge import judge, judge_traced
from layoutcheck.reports import renderer
from layoutcheck.reports.style import Style
from layoutcheck.sources.cases import case, case_names
from layoutcheck.sources.request import build
from layoutcheck.sources.traced import Frame, TracedCopy
from tests.miscompiles import MISCOMPILES

RIGHT = {"src": "(8):(1)", "dst": "(8):(1)", "atom": "universal", "bits": 128, "dtype": "bf16"}
REFUSED = {"src": "(8):(1)", "dst": "(8):(64)", "atom": "universal", "bits": 128, "dtype": "bf16"}
CONFLICTS = {
    "src": '!cute.memref<f32, rmem, align<32>, "(32,32):(1,32)">',
    "dst": '!cute.memref<f32, smem, align<16>, "(32,32):(32,1)">',
    "atom": "universal",
    "bits": 32,
    "thr": "(32,4):(1,32)",
    "val": "(1,1)",
}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, Copy]]:
    """How often each answer was worked out, by its name and its copy."""
    seen: Counter[tuple[str, Copy]] = Counter()

    def spy(name: str, at: int) -> None:
        real = getattr(home, name)

        def counting(*arguments: object, **named: object) -> object:
            copy = arguments[at]
            assert isinstance(copy, Copy)
            where = tuple(a for a in arguments if isinstance(a, int))  # one run of several: other addresses
            seen[name, copy, where] += 1  # type: ignore[index]
            return real(*arguments, **named)

        monkeypatch.setattr(home, name, counting)

    for name, at in (("predict", 0), ("intent", 0), ("execution", 0), ("compare", 2)):
        spy(name, at)
    return seen


def _worked_out(seen: Counter[tuple[str, Copy]], copy: Copy) -> dict[str, int]:
    """The most often that each answer of the copy, or of an instance of it at one place, was worked out."""
    own = {copy, *_instances(copy)}
    most: dict[str, int] = {}
    for (name, of, _), count in seen.items():  # type: ignore[misc]
        if of in own:
            most[name] = max(most.get(name, 0), count)
    return most


def _instances(copy: Copy) -> tuple[Copy, ...]:
    try:
        return instantiation.instantiations(copy)
    except lc.InputError:
        return ()


@pytest.mark.parametrize("format_", ["html", "text", "json", "sarif"])
@pytest.mark.parametrize("name", ["issue-2320", *sorted(MISCOMPILES)[:12], "right", "refused", "conflicts"])
def test_nothing_is_worked_out_twice(counted: Counter[tuple[str, Copy]], name: str, format_: str) -> None:
    """From the question to the page: findings, fixes, pictures and tables ask one analysis."""
    if name == "issue-2320":
        copy = build(**case(name).copies[0])[0]
    elif name in MISCOMPILES:
        copy = MISCOMPILES[name][0]
    else:
        copy = build(**{"right": RIGHT, "refused": REFUSED, "conflicts": CONFLICTS}[name])[0]
    counted.clear()
    report = judge(copy)
    renderer(format_)([report], Style())
    found = _worked_out(counted, copy)
    assert found["predict"] == 1
    assert all(count == 1 for count in found.values()), found


def test_the_parts_are_not_made_before_they_are_asked_for(counted: Counter[tuple[str, Copy]]) -> None:
    analysis = Analysis(build(**RIGHT)[0])
    assert not counted
    assert analysis.accepted
    assert {name for name, *_ in counted} == {"predict"}
    assert analysis.worst is None and analysis.right
    assert {name for name, *_ in counted} == {"predict"}  # its layouts settle it (analysis.agreement)
    assert analysis.runs[-1].comparison.clean
    assert {name for name, *_ in counted} == {"predict", "intent", "execution", "compare"}


def test_nothing_can_be_changed() -> None:
    report = lc.check(**RIGHT)
    with pytest.raises(FrozenInstanceError):
        report.analysis.observed = Prediction("rejected")  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        report.verdict = "wrong"  # type: ignore[misc]


def test_a_report_is_pickled_without_its_runs() -> None:
    report = lc.check(**{**CONFLICTS, "src": '!cute.memref<f32, rmem, align<32>, "(128,128):(1,128)">',
                         "dst": '!cute.memref<f32, smem, align<16>, "(128,128):(128,1)">'})  # fmt: skip
    assert report.verdict == "slow" and report.execution["smem_wavefronts"] > 0
    kept = pickle.dumps(report)
    assert len(kept) < 20_000 < report.analysis.runs[-1].execution.src.nbytes
    again = pickle.loads(kept)
    assert again == report and again.to_dict() == report.to_dict()
    assert "_runs" not in again.analysis.__dict__
    assert again.analysis.runs[-1].comparison.clean  # made anew
    lean = report.lean()
    assert lean.to_dict() == report.to_dict() and "_runs" not in lean.analysis.__dict__
    assert len(repr(report)) < 10_000


@pytest.mark.parametrize("name", case_names())
def test_what_a_pickle_keeps_says_the_same(name: str) -> None:
    for arguments in case(name).copies:
        report = lc.check(**arguments)
        again = pickle.loads(pickle.dumps(report))
        assert again.to_dict() == report.to_dict()
        assert (again.compiler, again.drawing) == (report.compiler, report.drawing)


def _traced(arguments: dict[str, object], refused: str | None) -> TracedCopy:
    copy = build(**arguments)[0]  # type: ignore[arg-type]
    return TracedCopy(copy, "cute.copy", Frame("k.py", 3), (), "k", "sm_90a", refused=refused)


@pytest.mark.parametrize(
    ("arguments", "refused", "outcome", "message", "asked"),
    [
        (RIGHT, None, "accepted", "", None),
        (RIGHT, "'cute.copy' op no", "rejected", "no", "rejected"),
        (REFUSED, None, "accepted", "", "accepted"),
        (REFUSED, "'cute.copy' op in other words", "rejected", "in other words", "rejected"),
    ],
)
def test_what_the_compiler_said_counts(
    arguments: dict[str, object], refused: str | None, outcome: str, message: str, asked: str | None
) -> None:
    report = judge_traced(_traced(arguments, refused))
    assert report is not None
    assert (report.compiler.outcome, report.compiler.message) == (outcome, message)
    assert (report.verdict == "rejected") == (outcome == "rejected")
    assert (None if report.asked is None else report.asked.outcome) == asked
    model = Analysis(build(**arguments)[0]).prediction  # type: ignore[arg-type]
    if model.outcome == "rejected":  # the cause is the model's
        known = report.compiler.evidence["model"] if refused is None else report.compiler.kind
        assert known == (model.message if refused is None else model.kind)


def test_fixes_of_a_trace_are_those_asked_for() -> None:
    one = _traced(REFUSED, "'cute.copy' op no")
    assert judge_traced(one).fixes  # type: ignore[union-attr]
    assert judge_traced(one, fixes_for=("wrong",)).fixes == ()  # type: ignore[union-attr]


def test_what_is_derived_is_made_once() -> None:
    analysis, made = Analysis(build(**RIGHT)[0]), []

    def make(of: Analysis, side: str) -> str:
        made.append(side)
        return side if of is analysis else "another"

    assert [analysis.derive(make, side) for side in ("src", "dst", "src")] == ["src", "dst", "src"]
    assert made == ["src", "dst"]
    assert replace(analysis).derive(make, "src") == "another" and made == ["src", "dst", "src"]


def test_runs_of_old_reports_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """And made again, with the same result, where they are asked for; the newest are never forgotten."""
    monkeypatch.setattr(home, "MEMORY", Memory(most_bytes=1 << 16))
    sources = [CONFLICTS["src"].replace("align<32>", f"align<{n}>") for n in (16, 32, 64)]
    copies = [build(**{**CONFLICTS, "src": source})[0] for source in sources]
    kept = [Analysis(copy) for copy in copies]
    first = [analysis.runs[-1].comparison for analysis in kept]
    held = ["_runs" in analysis.__dict__ for analysis in kept]
    assert held == [False, False, True]
    assert [analysis.runs[-1].comparison for analysis in kept] == first
    monkeypatch.setattr(home, "MEMORY", Memory(most_bytes=1 << 20))
    again = [Analysis(copy) for copy in copies]
    assert all(analysis.runs for analysis in again) and all("_runs" in one.__dict__ for one in again)


def test_what_a_type_promises_of_an_address_is_no_fault() -> None:
    """`copy_atom_call` takes any alignment; an offset's type often promises less than is true of it."""

    def judged(
        strides: str,
        align: str = "",
        shifted: tuple[str, ...] = (),
        shared: str = "align<16>, ",
        known: int = 0,
    ) -> Report:
        src = f'!cute.memref<f8E4M3FN, gmem, {align}"(4,2):(1,{strides})">'
        dst = f'!cute.memref<f8E4M3FN, smem, {shared}"(4,2):(1,4)">'
        copy = build(src=src, dst=dst, atom="cp.async", bits=32, op="copy_atom_call")[0]
        place = Frame("k.py", 1)
        report = judge_traced(
            TracedCopy(
                copy, "cute.copy_atom_call", place, (), "k", "sm_90a", shifted=shifted, box_align=known
            )
        )
        assert report is not None and {one.code for one in report.findings} <= {"LC202"}
        return report

    unsure = judged("4")
    assert unsure.verdict == "unknown" and unsure.findings[0].title.endswith("its type promises less")
    assert "fault" not in unsure.findings[0].message
    for sure in (judged("4", shifted=("src",)), judged("5", "align<16>, "), judged("5")):
        assert sure.verdict == "wrong"
    in_shared = [judged("4", "align<16>, ", shared="", known=known) for known in (0, 2, 4)]
    assert [one.verdict for one in in_shared] == ["unknown", "wrong", "legal"]
    assert judged("4", known=16).verdict == "unknown"  # of shared memory, and the source is not there
