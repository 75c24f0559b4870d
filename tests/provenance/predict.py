"""What a path's kernel returns, by the elements that were followed: sums of the executed products."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP, object_at
from layoutcheck.order.budget import Budget
from layoutcheck.provenance import kernels_of
from layoutcheck.provenance.examine import examine
from layoutcheck.provenance.products import Products
from layoutcheck.provenance.refs import GLOBAL, PRODUCT, UNKNOWN
from layoutcheck.sources.traced_module import TracedModule

BLANK = -99.0


@dataclass
class Predicted:
    """C as it is predicted (NaN where memory that was never written goes into it), and as it should be."""

    result: Any
    right: Any


def inputs(seed: int, rows: int = 64, depth: int = 64) -> tuple[Any, Any]:
    """Small integers: every product and sum of them is exact."""
    draw = np.random.default_rng(seed)
    return draw.integers(-3, 4, (rows, depth)), draw.integers(-3, 4, (rows, depth))


def predict(module: TracedModule, lowered: str, one: Any) -> Predicted:
    """The result of the kernel of a path: A, B (two bytes an element) and C (four), by what was followed."""
    (kernel,) = kernels_of(module, lowered)
    products, _ = examine(kernel, module.text, Budget(math.inf), blank=PRODUCT | UNKNOWN)
    a, b = inputs(one.number, depth=64 * one.wide.stages)
    return Predicted(result(products, a, b, (len(a), len(b))), right(a, b, one.wide))


def right(a: Any, b: Any, wide: Any) -> Any:
    """What a path is to return."""
    if wide.form == "negative":
        a, b = a[::-1], b[::-1]
    if wide.form == "broadcast":
        b = np.repeat(b[:1], len(b), 0)
    there = (np.arange(a.shape[1]) % 64 < wide.depth) & (np.arange(len(a)) < wide.rows)[:, None]
    return wide.repeats * (a * there) @ (b * there).T


def result(products: Products, a: Any, b: Any, shape: tuple[int, int]) -> Any:
    """C: BLANK where nothing is stored, NaN where what is not known is."""
    (block,) = products.replay.blocks
    sums = np.zeros(block.references)
    sums[UNKNOWN] = np.nan  # no accumulator has this number
    both = (a.reshape(-1), b.reshape(-1))
    for one in products.executions:
        left, right = _values(one.a.labels, both), _values(one.b.labels, both)
        sums[one.sums] += np.einsum("gmk,gnk->gmn", left, right)
    found = np.full(shape, BLANK).reshape(-1)
    for stored in products.replay.stored:
        offset = stored.at - object_at(3)
        whole = offset % 4 == 0
        found[offset[whole] // 4] = sums[stored.labels[whole]]
    return found.reshape(shape)


def _values(labels: Any, both: tuple[Any, Any]) -> Any:
    """The numbers at addresses of A and B; 0 for bytes that are constants."""
    found = np.zeros(labels.shape)
    for number, values in enumerate(both, 1):
        mine = (labels >= GLOBAL) & (labels // GLOBAL_STEP == number)
        index = np.where(mine, labels - object_at(number), 0) // 2
        found = np.where(mine, values[np.clip(index, 0, len(values) - 1)], found)
    unknown = (labels != 0) & (labels < GLOBAL) | (labels >= PRODUCT)
    return np.where(unknown, np.nan, found)
