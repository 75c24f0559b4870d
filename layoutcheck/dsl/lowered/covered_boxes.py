"""The rows of boxes that TMA stores write, for all blocks of a grid: see `covered`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from layoutcheck.atoms.tma.descriptor import Descriptor
from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered.blocks import Blocks
from layoutcheck.dsl.lowered.record import Recorded
from layoutcheck.dsl.lowered.spaces import in_object
from layoutcheck.dsl.lowered.values import for_all

TMA_STORE = "tma.store"


class Rows(NamedTuple):
    """Where writes begin in their tensor, how many bytes each has, and whose thread it is, of all blocks."""

    at: IntArray
    bytes_: IntArray
    thread: IntArray


def stored_boxes(blocks: Blocks, access: Recorded, map_: Descriptor | None) -> Rows | None:
    """The rows of the boxes, cut at the ends of the tensor; None of a map that has others."""
    if map_ is None or map_.corners is not None or map_.data_bits < 8 or len(access.coordinates) != map_.rank:
        return None
    if any(step != 1 for step in map_.element_strides) or access.facts.get("mode", "tile") != "tile":
        return None
    total, size = blocks.threads * len(blocks.at), map_.data_bits // 8
    thread = np.arange(total) if access.active is None else np.flatnonzero(access.active)
    if not thread.size:
        return Rows(thread, thread, thread)
    corner = np.stack([for_all(one, total)[thread] for one in access.coordinates])
    corner, first = np.unique(corner, axis=1, return_index=True)
    inside = np.indices(map_.box[1:]).reshape(map_.rank - 1, 1, math.prod(map_.box[1:]))
    rows = corner[1:, :, None] + inside
    dims = np.array(map_.dims)
    kept = ((rows >= 0) & (rows < dims[1:, None, None])).all(0)
    low, high = np.clip(corner[0], 0, dims[0]), np.clip(corner[0] + map_.box[0], 0, dims[0])
    steps = np.array(map_.strides_bytes, np.int64).reshape(-1, 1, 1)
    at = (rows * steps).sum(0) + low[:, None] * size + int(in_object("gmem", map_.base)[1])
    bytes_ = np.where(kept, ((high - low) * size)[:, None], 0)
    whose = np.broadcast_to(thread[first][:, None], at.shape)
    return Rows(at.ravel(), bytes_.ravel(), whose.ravel())
