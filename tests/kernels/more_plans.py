"""Plans that are compiled for the tests beside the variants, for sm_90a: what pitches and sizes change."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

from kernels.transpose.common import AFTER
from kernels.transpose.exchange import Exchange, build_exchange
from kernels.transpose.few_columns import FewColumns, build_few_columns
from kernels.transpose.few_rows import FewRows, build_few_rows
from kernels.transpose.narrow import Small, build_small
from kernels.transpose.padded import Padded, build_padded
from kernels.transpose.runs import Runs, build_runs
from kernels.transpose.shifted import Shifted, build_shifted
from kernels.transpose.spliced import Spliced, build_spliced
from kernels.transpose.whole import Whole, build_whole

THIN = {
    # Lanes two columns apart; one apart, each two elements ahead of the one before.
    **{f"rows, {slope}": FewRows(21, 32, 2, slope, fetch=slope == 2) for slope in (2, 1)},
    # And, with an even number of columns, a chunk left out after every run of 8 rows.
    **{
        f"columns, {slope}": FewColumns(22 - slope % 2, 64, 4, 16, slope, fetch=slope == 2)
        for slope in (2, 1)
    },
    "columns, loose": FewColumns(21, 64, 4, 16, 1, loose=True, fetch=True),
    "columns, loose, even": FewColumns(38, 64, 4, 16, 1, loose=True, fetch=True),
    "rows, loose": FewRows(21, 32, 2, 1, loose=True, eager=True),
    "rows, async": FewRows(21, 32, 1, 2, fetch=True, loose=True, load="async", eager=True),
    # Elements of other sizes; fewer rows than a chunk has elements.
    **{f"rows, {size} bytes": FewRows(21, 64 // size, 2, 1, size=size) for size in (1, 4, 8)},
    **{
        f"columns, {size} bytes": FewColumns(21, 128 // size, 4, 16 // size, 1, size=size)
        for size in (1, 4, 8)
    },
    "columns, pads": FewColumns(21, 64, 4, 16, 1, loose=True, fetch=True, pad=3),
    "rows, few": FewRows(3, 256, 16, 1, fetch=True),
}
# Elements of every size, by each way of loading them; tiles of a width that is known when they are launched.
SHIFTED = {
    "shifted, 1": Shifted((32, 128), 8, 32, size=1),
    "shifted, 2": Shifted((24, 64), 4, 16, most=1, ahead=False),
    "shifted, 4": Shifted((28, 32), 4, 8, most=2, fetch=True, size=4),
    "shifted, 8": Shifted((30, 16), 4, 4, size=8, edges=True),
}
WHOLE = {
    "whole, known": Whole((21, 17), 1, 63),
    # Stores of a thread that have no places in common; pads on both sides; elements and words for chunks.
    "whole, apart": Whole((21, 17), 1, 32),
    "whole, pads": Whole((21, 17), 1, 64, pads=(3, 1)),
    "whole, singly": Whole((5, 7), 3, 64, 1, (1, 2), 1),
    **{f"whole, several, {size}": Whole((5, 7), 3, 64, size, (size % 3, 0)) for size in (1, 2, 8)},
    # Alike in each pass, in each other one, in none; rows of `x` on chunks; pads.
    "whole, words": Whole((5, 7), 6, 35, 1, store=4),
    "whole, words, 2": Whole((5, 7), 12, 70, 2, store=4),
    "whole, words, other": Whole((5, 6), 9, 45, 1, store=4),
    "whole, words, spread": Whole((3, 16), 8, 48, 1, store=4),
    "whole, words, pads": Whole((9, 7), 3, 40, 1, (2, 1), store=4),
}
# Elements of every size; as many columns side by side as a block has, and fewer, as a variant has.
PADDED = {
    f"padded, {plan.size}, {plan.columns}": plan
    for plan in (
        Padded(33, 32, 32, size=1, slope=5),
        Padded(41, 48, 16, soon=True, slope=2),
        Padded(9, 16, 8, size=4, slope=3),
        Padded(5, 8, 8, size=8),
    )
}
# More elements of a thread than one, and one; rows that end within a chunk of the run.
RUNS = {
    f"runs, {plan.few}, {plan.size}": plan
    for plan in (
        Runs("rows", 3, 2, 4, 128),
        Runs("rows", 2, 1, 8, 64),
        Runs("columns", 5, 3, 2, 64),
        Runs("columns", 3, 1, 4, 128),
        Runs("columns", 2, 2, 8, 64),
    )
}

# Rows in bulk, of elements of more than one size; the first tile has more rows than threads.
EXCHANGES = {
    f"exchange, {size}": Exchange(tile, 0, "evict_last", "bulk", 256, size, fetch=size == 2)
    for size, tile in ((2, (128, 32)), (8, (32, 32)))
}
SPLICED = {
    f"spliced, {plan.few}, {plan.size}": plan
    for plan in (Spliced("rows", 3, 2, 2, 64), Spliced("columns", 5, 1, 1), Spliced("columns", 2, 4, 2, 128))
}
SMALL = {"small": Small((64, 32))}

BUILDERS = {
    **{name: partial(build_few_rows, plan) for name, plan in THIN.items() if isinstance(plan, FewRows)},
    **{name: partial(build_few_columns, plan) for name, plan in THIN.items() if isinstance(plan, FewColumns)},
    **{name: partial(build_shifted, plan) for name, plan in SHIFTED.items()},
    **{name: partial(build_whole, plan) for name, plan in WHOLE.items()},
    **{name: partial(build_padded, plan) for name, plan in PADDED.items()},
    **{name: partial(build_runs, plan) for name, plan in RUNS.items()},
    **{name: partial(build_spliced, plan, early=AFTER) for name, plan in SPLICED.items()},
    **{name: partial(build_small, plan) for name, plan in SMALL.items()},
    **{name: partial(build_exchange, plan) for name, plan in EXCHANGES.items()},
}
for name in ("shifted, 8", "rows, few"):
    BUILDERS[name] = partial(BUILDERS[name], early=AFTER)

# A third of a second each to compile: the others are for the sweep. What a plan can ask for is in one of
# these, or in a variant's own plan.
QUICK = {
    *("rows, 2", "rows, async", "rows, 8 bytes", "rows, few"),
    *("columns, 2", "columns, loose, even", "columns, pads", "columns, 8 bytes"),
    *("shifted, 1", "shifted, 2", "shifted, 8"),
    *("whole, singly", "whole, pads", "whole, several, 8", "whole, words, other", "whole, words, pads"),
    *("padded, 2, 48", "padded, 4, 16"),
    *("runs, rows, 4", "runs, columns, 2"),
    *("exchange, 2", "spliced, rows, 2", "spliced, columns, 1", "small"),
}


def few(names: Iterable[str]) -> list[Any]:
    """Parameters of a test: the plans that are not compiled in the normal run are for the sweep."""
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.sweep) for name in names]
