"""One period of a copy against all of it: copies small enough to be followed both ways."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

import layoutcheck as lc
from layoutcheck.analysis import Analysis
from layoutcheck.analysis.period import of_the_whole, one_period
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.offsets import TooLarge
from layoutcheck.errors import InputError
from layoutcheck.reports import renderer
from layoutcheck.reports.style import Style
from layoutcheck.sources import request
from layoutcheck.sources.request import build

ATOMS = (("universal", 128), ("universal", 64), ("universal", 16), ("cp.async", 128), ("cp.async", 32))


def random_tile(rng: Random) -> Copy:
    """A tiled copy of a regular tensor of some thousand elements, its pitches often wrong or overlapping."""
    rows, columns = rng.choice((64, 96, 128)), rng.choice((64, 128, 256))
    atom, bits = rng.choice(ATOMS)
    width = bits // 16

    def layout() -> str:
        pitch = columns + rng.choice((0, 0, 0, 8, 4, 1, 2, 16, -8, 64))
        step = rng.choice((1,) * 12 + (2,))
        if rng.random() < 0.15:
            return f"({rows},{columns}):(1,{rows + rng.choice((0, 8, 1))})"
        return f"({rows},{columns}):({pitch * step},{step})"

    threads = rng.choice((1, 2, 4, 8)), rng.choice((1, 2, 4))
    swizzle = rng.choice((None, None, None, None, "S<3,4,3>", "S<3,3,3>", "S<2,4,3>", "S<3,4,5>"))
    copy, _ = build(
        src=layout(), dst=layout(), atom=atom, bits=bits, dtype="bf16", src_space="gmem", dst_space="smem",
        swizzle=swizzle, src_align=16, dst_align=rng.choice((16, 128, 1024)),
        thr=f"({threads[0]},{threads[1]}):({threads[1]},1)", val=f"(1,{width})",
    )  # fmt: skip
    return copy


def effects(copy: Copy) -> frozenset[str] | None:
    """What goes wrong; None where the copy is refused or cannot be followed."""
    analysis = Analysis(copy)
    if not analysis.accepted or analysis.obstacle is not None:
        return None
    return frozenset(analysis.effect.kinds if analysis.effect else ())


@pytest.mark.parametrize(("seed", "count"), [(1, 60), pytest.param(2, 3000, marks=pytest.mark.sweep)])
def test_one_period_goes_wrong_exactly_where_the_whole_does(seed: int, count: int) -> None:
    rng, seen = Random(seed), Counter[str]()
    while sum(seen.values()) < count:
        try:
            copy = random_tile(rng)
        except InputError:
            continue
        whole = effects(copy)
        part = one_period(copy, copy)
        if whole is None or part is None:
            continue
        assert part.times > 1
        (*_, run) = Analysis(part.copy).runs
        try:
            found = frozenset(of_the_whole(run.comparison).kinds)
        except TooLarge:
            seen["outside alone"] += 1
            continue
        assert bool(found) == bool(whole) and found <= whole, (found, whole, copy, part.copy)
        seen["wrong" if whole else "right"] += 1
    assert min(seen["wrong"], seen["right"]) > count // 10 and seen["outside alone"] < count // 10, seen


def test_elements_that_share_a_place_have_no_period() -> None:
    tall, _ = build(src="(64,64):(64,1)", dst="(64,64):(56,1)", atom="universal", bits=128, dtype="bf16",
                    src_space="gmem", dst_space="gmem", thr="(8,8):(8,1)", val="(1,8)")  # fmt: skip
    assert one_period(tall, tall) is None


@pytest.mark.parametrize("n", [2048, 4096, 16384])
def test_a_large_tile_is_answered_and_counted_whole(n: int) -> None:
    report = lc.check(f"({n},{n}):({n},1)", f"({n},{n}):({n + 8},1)", "universal", bits=128, dtype="bf16",
                      src_space="gmem", dst_space="gmem", thr="(16,16):(16,1)", val="(1,8)")  # fmt: skip
    assert report.verdict == "legal"
    assert report.execution["bytes_asked"] == 2 * n * n
    assert report.execution["instructions_per_thread"] * 16 * 256 == 2 * n * n * 2  # loads and stores
    (note,) = (finding for finding in report.findings if finding.code == "LC902")
    assert note.severity == "note" and note.evidence["times"] == (n // 64) * (n // 512)


def test_a_large_tile_that_goes_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A swizzle finer than the vector (miscompile h08), and a finding's numbers are those of one period."""
    monkeypatch.setattr(request, "_in_shared_memory", lambda *_, **__: None)  # more than a block has
    report = lc.check("(4096,4096):(4096,1)", "(4096,4096):(4096,1)", "cp.async", bits=128, dtype="bf16",
                      src_space="gmem", dst_space="smem", thr="(16,16):(16,1)", val="(1,8)",
                      swizzle="S<3,2,3>")  # fmt: skip
    assert report.verdict == "wrong"
    assert {"LC205", "LC902"} <= {finding.code for finding in report.findings}
    for name in ("text", "json", "html"):
        assert "LC902" in renderer(name)([report], Style())
