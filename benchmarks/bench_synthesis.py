"""Processor time of a synthesis for 66 common tiles, beside another checkout's, which must answer the same.

    python -m benchmarks.bench_synthesis [--old CHECKOUT] [--rounds 3] [--drawn 300] [--out FILE]

Each checkout answers in a process of its own, by turns; a tile's time is the least of the rounds. `--drawn`
random requests are answered by both, without their limits of time: every plan with its counts, its program
and its place, the reasons and the space must be equal. Aim: 1 s.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.evidence import head, write
from benchmarks.measure import quantiles

ROOT = Path(__file__).resolve().parents[1]
TILES = (
    (64, 32), (64, 64), (64, 128), (96, 64), (112, 48), (128, 32), (128, 64), (128, 128), (192, 64),
    (256, 32), (256, 64),
)  # fmt: skip
K, MN = "(?,?{div=8}):(?{div=8},1)", "(?{div=8},?):(1,?{div=8})"
READERS: tuple[dict[str, Any], ...] = (
    {"to": "ldmatrix", "src": K},
    {"to": "ldmatrix.trans", "src": MN},
    {"to": "wgmma.A", "src": K},
    {"to": "wgmma.B", "src": K},
    {"to": "registers", "src": K},
    {"to": "gmem", "src": MN, "dst": K},
)
"""Of bf16, by 128 threads, in two stages; the last is a transpose."""
Request = dict[str, Any]


def common() -> list[Request]:
    """The common tiles: 11 extents, six readers."""
    return [{"tile": tile, "stages": 2, **reader} for tile, reader in product(TILES, READERS)]


def odd() -> list[Request]:
    """40 requests that are not: extents, edges, element types, readers and conversions."""
    tiles = (48, 80), (96, 112), (192, 48), (112, 96), (80, 192)
    kinds: tuple[Request, ...] = (
        {"to": "gmem", "src": "(?,?):(1,?)", "dst": "(?,?):(?,1)", "dtype": "f32", "tails": True},
        {"to": "registers", "src": "(?,?{div=32}):(?{div=32},1)", "dtype": "i4", "threads": 96},
        {"to": "gmem", "src": MN, "dst": K, "dtype": "f64", "stages": 2},
        {"to": "ldmatrix,ldmatrix.trans^T", "src": K, "stages": 3},
        {"to": "gmem", "src": "accumulator", "dst": MN},
        {"to": "gmem", "src": K, "dst": MN, "src_dtype": "f32", "stages": 2},
        {"to": "wgmma.B", "src": "(?,?{div=16}):(?{div=16},1)", "dtype": "f8E4M3FN", "stages": 2},
        {
            "to": "registers",
            "src": "(?{div=16},?):(1,?{div=16})",
            "dtype": "i8",
            "threads": 256,
            "tails": True,
        },
    )
    return [{"tile": tile, **kind} for kind, tile in product(kinds, tiles)]


def command(request: Request) -> list[str]:
    """A request on the command line."""
    words = [sys.executable, "-m", "layoutcheck", "synth"]
    for name, value in request.items():
        option = "--" + name.replace("_", "-")
        text = f"({value[0]},{value[1]})" if name == "tile" else str(value)
        words += [option] if value is True else [option, text]
    return words


def drawn(seed: int) -> Request:
    """A random request of any kind that there is; not all can be served."""
    rng = random.Random(f"drawn {seed}")
    div = rng.choice([1, 2, 4, 8, 8, 16, 16])

    def tensor() -> str:
        return rng.choice(
            [f"(?{{div={div}}},?):(1,?{{div={div}}})", f"(?,?{{div={div}}}):(?{{div={div}}},1)"]
        )

    extents = [16, 32, 48, 64, 80, 96, 112, 128] if rng.random() < 0.8 else [8, 24, 40, 64, 192, 256]
    kinds: tuple[Request, ...] = (
        *(
            {"to": to}
            for to in ("ldmatrix", "ldmatrix.trans", "wgmma.A", "wgmma.B", "registers", "registers")
        ),
        {"to": "tcgen05.A", "arch": "sm_100a"},
        {"to": "ldmatrix,ldmatrix.trans^T"},
        *({"to": "gmem", "dst": tensor()} for _ in range(2)),
        {"to": "gmem", "dst": tensor(), "src": "accumulator", "dtype": rng.choice(["bf16", "f16"])},
        {"to": "gmem", "dst": tensor(), "src_dtype": rng.choice(["f32", "f16", "bf16"])},
        {"to": "gmem", "dst": tensor(), "tails": True},
        {"to": "registers", "tails": True},
        {"to": "registers", "dtype": "i4"},
    )
    request = {
        "tile": (rng.choice(extents), rng.choice(extents)),
        "src": tensor(),
        "dtype": rng.choice(["bf16", "bf16", "f16", "f32", "i8", "f8E4M3FN", "f64"]),
        "threads": rng.choice([64, 96, 128, 128, 256]),
        "stages": rng.choice([1, 2, 3]),
        "engine": rng.choice([None, None, "cp.async", "universal", "tma", "tma,universal"]),
        **rng.choice(kinds),
    }
    if request["to"] in ("registers", "wgmma.A", "wgmma.B"):
        request["major"] = rng.choice([None, "K", "MN"])
    return request


def answer(requests: list[Request], unlimited: bool) -> None:
    """In a process of its own, with the checkout on its path: a line of JSON for each request."""
    from layoutcheck.errors import InputError
    from layoutcheck.synthesis import plans
    from layoutcheck.synthesis.reading import read
    from layoutcheck.synthesis.request import TileRequest

    if unlimited:
        plans.SEARCH_SECONDS = plans.MOST_SECONDS = 1e6
    plans.synthesize(read(TileRequest((32, 32), K, "registers")))  # loads what is loaded late
    for request in requests:
        begun = time.process_time()
        try:
            found = plans.synthesize(read(TileRequest(**{**request, "tile": tuple(request["tile"])})))
        except InputError as error:
            spent, text = time.process_time() - begun, str(error)
        else:
            spent = time.process_time() - begun
            said = [repr((one.kind, one.shared, one.counts, one.found.key, one.code)) for one in found.plans]
            text = "\n".join([*said, found.why, *found.space, repr(found.dropped), repr(found.cut)])
        print(json.dumps([spent, text]), flush=True)


def asked(tree: Path, requests: list[Request], unlimited: bool = False) -> list[tuple[float, str]]:
    """Seconds and answers of a checkout."""
    code = (
        "import runpy, sys; sys.path.insert(0, sys.argv[1]); "
        "import layoutcheck; from pathlib import Path; "
        "assert Path(layoutcheck.__file__).is_relative_to(sys.argv[1]), layoutcheck.__file__; "
        "runpy.run_path(sys.argv[2], run_name='answers')['answer'](__import__('json').load(sys.stdin), "
        "sys.argv[3] == 'True')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tree), __file__, str(unlimited)],
        input=json.dumps(requests), capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONPATH": f"{tree}{os.pathsep}{ROOT}"},
    )  # fmt: skip
    return [(float(spent), text) for spent, text in map(json.loads, done.stdout.splitlines())]


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--old", type=Path)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--drawn", type=int, default=300)
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    trees = {"new": ROOT, **({"old": given.old.resolve()} if given.old else {})}
    tiles = common()
    rounds: dict[str, list[list[tuple[float, str]]]] = {name: [] for name in trees}
    for _ in range(given.rounds):
        for name, tree in trees.items():
            rounds[name].append(asked(tree, tiles))
    least = {name: [min(one[n][0] for one in rounds[name]) for n in range(len(tiles))] for name in trees}
    found: dict[str, Any] = {
        **head("benchmarks.bench_synthesis"),
        "tiles": len(tiles),
        **{name: quantiles(times) for name, times in least.items()},
        "over_1_s": {name: sum(one > 1 for one in times) for name, times in least.items()},
        "rows": [
            {**tile, **{name: round(times[n], 3) for name, times in least.items()}}
            for n, tile in enumerate(tiles)
        ],
    }
    different: list[Any] = []
    if given.old:
        ratios = [old / new for old, new in zip(least["old"], least["new"], strict=True)]
        found["ratio"] = quantiles(ratios)
        some = [*tiles, *map(drawn, range(given.drawn))]
        answers = [asked(tree, some, True) for tree in trees.values()]
        different = [one for one, a, b in zip(some, *answers, strict=True) if a[1] != b[1]]
        found["compared"], found["different"] = len(some), different
    write(found, given.out)
    for name in trees:
        print(name, found[name], f"over 1 s: {found['over_1_s'][name]} of {len(tiles)}", file=sys.stderr)
    if given.old:
        print("old/new", found["ratio"], f"{len(different)} of {found['compared']} differ", file=sys.stderr)
    return int(bool(different) or found["over_1_s"]["new"] > 0)


if __name__ == "__main__":
    sys.exit(main())
