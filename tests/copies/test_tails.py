"""Tails under a predicate: what one entry can guard, against brute force over coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.execution import execution
from layoutcheck.atoms.intent import intent
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.check import check
from layoutcheck.copies.copy import Copy, Tiling
from layoutcheck.copies.moves import NOTHING
from layoutcheck.copies.tails import guarded
from layoutcheck.copies.tiled import make_tiled_copy_tv, partition
from layoutcheck.sources.request import build

VECTOR = 4  # f32 values of 128 bits


def predicated(rows: int, columns: int, pitch: int, thread_rows: int, thread_columns: int) -> Copy:
    """A gmem tile (rows,columns):(pitch,1) into registers, a predicate entry for every vector of a thread."""
    f32 = build("(4):(1)", "(4):(1)", "universal", bits=128, dtype="f32")[0]
    assert isinstance(f32.atom, UniversalCopy)
    gmem = replace(f32.src, space="gmem", layout=Layout((rows, columns), (pitch, 1)), align_bytes=16)
    tiled = make_tiled_copy_tv(
        f32.atom, Layout((thread_rows, thread_columns), (thread_columns, 1)), Layout((1, VECTOR), (0, 1))
    )
    view = partition(tiled, "src", gmem).view
    _, down, across = (mode.shape for mode in view.layout.modes)
    fragment = replace(
        gmem, space="rmem", layout=Layout(view.layout.shape, ((1, 0), 4, 4 * down)), align_bytes=32
    )
    pred = replace(
        build("(1):(1)", "(1):(1)", "universal", bits=8, dtype="i8")[0].src,
        space="rmem",
        layout=Layout((1, down, across), (0, 1, down)),
        align_bytes=32,
    )
    return Copy(f32.atom, view, fragment, pred=pred, tiling=Tiling(tiled, gmem, fragment))


def straddles(rows: int, columns: int, thread_rows: int, thread_columns: int) -> bool:
    """Whether some vector lies partly inside of the tile."""
    step = thread_columns * VECTOR
    starts = range(0, -(-columns // step) * step, VECTOR)
    return any(start < columns < start + VECTOR for start in starts)


@given(
    st.integers(1, 9),
    st.integers(1, 40),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([1, 2, 4]),
    st.booleans(),
)
def test_a_predicate_guards_whole_vectors(
    rows: int, columns: int, thread_rows: int, thread_columns: int, padded: bool
) -> None:
    pitch = -(-columns // VECTOR) * VECTOR + (VECTOR if padded else 0)
    copy = predicated(rows, columns, pitch, thread_rows, thread_columns)
    report = check(copy)
    if straddles(rows, columns, thread_rows, thread_columns):
        assert report.verdict == "wrong", (copy.src, report.findings)
    else:
        assert report.verdict in ("legal", "slow"), (copy.src, report.findings)
    bare = check(replace(copy, pred=None))
    overhang = rows % thread_rows or columns % (thread_columns * VECTOR)
    assert (bare.verdict == "wrong") == bool(overhang)


@given(
    st.integers(1, 9),
    st.integers(1, 40),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([1, 2, 4]),
    st.booleans(),
)
def test_what_is_off_is_what_lies_outside_vector_by_vector(
    rows: int, columns: int, thread_rows: int, thread_columns: int, padded: bool
) -> None:
    """A vector's entry switches off the whole vector or nothing: it is off where no element is inside."""
    pitch = -(-columns // VECTOR) * VECTOR + (VECTOR if padded else 0)
    copy = predicated(rows, columns, pitch, thread_rows, thread_columns)
    asked, done = intent(copy, 0, 0), execution(copy, 0, 0)
    seen, ran = guarded(asked, done, copy)
    down = -(-rows // thread_rows)
    for k in range(done.src.shape[0]):
        for t in range(done.src.shape[1]):
            row = k % down * thread_rows + t // thread_columns
            first = (k // down * thread_columns + t % thread_columns) * VECTOR
            inside = row < rows and first < columns
            assert np.array_equal(ran.src[k, t], done.src[k, t] if inside else np.full(16, NOTHING))
            assert np.array_equal(ran.dst[k, t], done.dst[k, t] if inside else np.full(16, NOTHING))
            expected = done.src_accesses[0].addresses[k, t] if inside else 0
            assert ran.src_accesses[0].addresses[k, t] == expected
            for i in range(VECTOR):
                wanted = row < rows and first + i < columns
                element = asked.src[k * VECTOR + i, t]
                assert np.array_equal(seen.src[k * VECTOR + i, t], element if wanted else np.full(4, NOTHING))
    assert np.array_equal(seen.dst, asked.dst)


@given(st.integers(2, 6), st.integers(1, 8), st.integers(1, 8))
def test_elements_past_a_row_share_addresses_only_without_a_predicate(
    rows: int, vectors: int, past: int
) -> None:
    """A tile wider than the tensor's rows: what lies past a row has the address of the next one's begin."""
    pitch, columns = vectors * VECTOR, (vectors + past) * VECTOR
    loaded = predicated(rows, columns, pitch, rows, 1)
    assert loaded.tiling is not None and loaded.pred is not None
    whole = loaded.tiling.src
    stored = Tiling(loaded.tiling.tiled, replace(whole, space="rmem"), whole)
    copy = replace(loaded, src=loaded.dst, dst=loaded.src, tiling=stored)
    codes = {one.code for one in check(replace(copy, pred=None)).findings if one.severity == "wrong"}
    assert codes == {"LC210"}
    assert check(copy).verdict in ("legal", "slow")
    shared = replace(stored, dst=replace(whole, space="smem"))  # it has no tail
    assert check(replace(copy, dst=replace(copy.dst, space="smem"), tiling=shared)).verdict == "wrong"


def test_zeros_are_written_past_the_edge_all_the_same() -> None:
    copy, _ = build(
        "(18,64):(64,1)",
        "(18,64):(64,1)",
        "cp.async",
        bits=128,
        dtype="bf16",
        thr="(4,8):(8,1)",
        val="(1,8)",
        pred='!cute.memref<i8, rmem, align<32>, "(1,5,1):(1,1,0)">',
    )
    report = check(copy)
    assert report.verdict == "wrong"
    assert "LC211" in {finding.code for finding in report.findings}
    done = execution(copy, 0, 0)
    _, ran = guarded(intent(copy, 0, 0), done, copy)
    # Rows 16 to 19 are the fifth instruction's: threads 0 to 15 have rows 16 and 17.
    assert (ran.src[4, 16:] == NOTHING).all() and np.array_equal(ran.src[:4], done.src[:4])
    assert np.array_equal(ran.src[4, :16], done.src[4, :16])
    assert np.array_equal(ran.dst, done.dst) and ran.dst_accesses == done.dst_accesses
