"""Bulk copy and st.async atoms from text: as the DSL prints them, by short names, by the DSL's classes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.atoms.bulk import KINDS, BulkCopy
from layoutcheck.atoms.dsmem import DsmemStore
from layoutcheck.atoms.other import OtherAtom
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import has, parse_arch
from layoutcheck.machine.dtypes import dtype
from layoutcheck.sources.atoms import named_atom, parse_atom

TYPES = st.sampled_from(["bf16", "f32", "i8", "f4E2M1FN", "f6E2M3FN"]).map(dtype)
WIDTHS = st.one_of(st.just(0), st.integers(1, 1 << 20))


@given(st.sampled_from(KINDS), TYPES, WIDTHS, st.booleans())
def test_a_printed_bulk_copy_is_read_back(kind: str, element, width: int, flag: bool) -> None:
    atom = BulkCopy(kind, element, width, flag and kind == "g2s", flag and kind == "s2g")
    assert parse_atom(str(atom)) == atom


@given(TYPES, WIDTHS)
def test_a_printed_store_is_read_back(element, width: int) -> None:
    assert parse_atom(str(DsmemStore(element, width))) == DsmemStore(element, width)


@pytest.mark.parametrize(
    ("text", "atom"),
    [
        ("bulk.g2s", BulkCopy("g2s", dtype("bf16"))),
        ("bulk.s2g.512", BulkCopy("s2g", dtype("bf16"), 512)),
        ("bulk.g2s.multicast", BulkCopy("g2s", dtype("bf16"), multicast=True)),
        ("bulk.s2g.mask", BulkCopy("s2g", dtype("bf16"), byte_mask=True)),
        ("CopyBulkS2SOp", BulkCopy("s2s", dtype("bf16"))),
        ("CopyBulkS2GByteMaskOp", BulkCopy("s2g", dtype("bf16"), byte_mask=True)),
        ("st.async", DsmemStore(dtype("bf16"), 128)),
        ("CopyDsmemStoreOp", DsmemStore(dtype("bf16"), 128)),
    ],
)
def test_short_names(text: str, atom: BulkCopy | DsmemStore) -> None:
    assert named_atom(text, dtype("bf16")) == atom


@pytest.mark.parametrize("text", ["bulk.s2s.multicast", "bulk.s2g.multicast", "bulk.g2s.mask", "bulk.g2g"])
def test_what_does_not_exist(text: str) -> None:
    with pytest.raises(InputError):
        named_atom(text, dtype("bf16"))


def test_an_attribute_that_is_not_known_keeps_the_text() -> None:
    text = "!cute_nvgpu.atom.bulk_copy_s2s<bf16 mcast = true>"
    assert parse_atom(text) == OtherAtom("bulk_copy_s2s", text)


def test_where_they_exist() -> None:
    assert str(BulkCopy("g2s", dtype("bf16")).needs.first) == "sm_90"
    masked = BulkCopy("s2g", dtype("bf16"), byte_mask=True)
    assert not has(parse_arch("sm_90a"), masked.needs) and has(parse_arch("sm_100"), masked.needs)
    assert not has(parse_arch("sm_89"), DsmemStore(dtype("f32")).needs)
