"""The cluster of a copy between its blocks, from what a user says of it: the DSL's own keyword arguments."""

from __future__ import annotations

import re
from typing import Any

from layoutcheck.copies.atom import Atom
from layoutcheck.copies.cluster import MOST_BLOCKS, Cluster
from layoutcheck.errors import InputError, option_of

_WHOLE = re.compile(r"0[bB][01]{1,64}|0[xX][0-9a-fA-F]{1,16}|0|[1-9][0-9]{0,8}")


def read_cluster(
    atom: Atom | None, blocks: int | None, mcast_mask: Any, cta_rank: int | None, waits_rank: int | None
) -> Cluster | None:
    """None where nothing is said. Raises InputError for what such a copy does not take, or does not say."""
    said = {"cluster": blocks, "mcast_mask": mcast_mask, "cta_rank": cta_rank, "waits_rank": waits_rank}
    if all(value is None for value in said.values()):
        return None
    multicast, single = (False, False) if atom is None else (atom.multicast, atom.to_rank)
    if not multicast and not single:
        first = next(name for name, value in said.items() if value is not None)
        raise InputError(
            f"{option_of(first)} is for copies between the blocks of a cluster only",
            expected="bulk.g2s.multicast, tma_load.multicast, bulk.s2s or st.async",
        )
    wants, other = ("mcast_mask", "cta_rank") if multicast else ("cta_rank", "mcast_mask")
    if said[other] is not None or (multicast and waits_rank is not None):
        named = other if said[other] is not None else "waits_rank"
        raise InputError(f"{atom} takes no {option_of(named)}", expected=option_of(wants))
    if blocks is None or said[wants] is None:
        raise InputError(
            f"a copy between blocks needs both --cluster and {option_of(wants)}", expected="both"
        )
    mask = None if mcast_mask is None else _mask(mcast_mask)
    for name, count, low, high in (
        ("cluster", blocks, 1, MOST_BLOCKS),
        ("mcast_mask", mask, 0, 0xFFFF),
        ("cta_rank", cta_rank, 0, 0xFFFF),
        ("waits_rank", waits_rank, 0, blocks - 1),
    ):
        if count is not None and not low <= count <= high:
            raise InputError(f"{option_of(name)} is at least {low} and at most {high}, not {count}")
    return Cluster(blocks, mask, cta_rank, waits_rank)


def _mask(given: Any) -> int:
    if isinstance(given, str) and _WHOLE.fullmatch(given.strip()):
        return int(given, 0)
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    raise InputError(f"--mcast-mask is a number, not '{str(given)[:40]}'", expected="0b11, 0x3 or 3")
