"""Candidates for the list of plans, timed in one run: python -m benchmarks.transpose_sweep OUT_FOLDER."""

import fcntl
import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import torch

from benchmarks.transpose_peers import triton_launch
from benchmarks.transpose_shapes import DIRECT_BYTES, SHAPES, ceilings, launch_of, medians, pair, pairs, wrong
from kernels.transpose.blocks import Blocks
from kernels.transpose.direct import Direct
from kernels.transpose.exchange import Exchange
from kernels.transpose.fastest import launcher
from kernels.transpose.flat import Flat
from kernels.transpose.narrow import Narrow
from kernels.transpose.plans import PLANS, fits
from kernels.transpose.ribbon import Ribbon
from kernels.transpose.shifted import Shifted
from kernels.transpose.stream import Stream
from kernels.transpose.whole import Whole

TINY = [
    *[Blocks(b, ls) for b in ((8, 1), (4, 1)) for ls in ((4, 8), (2, 16), (1, 32))],
    *[Blocks(b, ls) for b in ((4, 4), (2, 2), (4, 2), (2, 4), (8, 2), (8, 4)) for ls in ((8, 4), (4, 8))],
    *[Blocks((8, 8), (4, 8)), Blocks((4, 8), (8, 4)), Blocks((2, 8), (8, 4)), Blocks((1, 4), (32, 1))],
    *[Blocks((4, 4), (8, 4), (1, 4)), Blocks((4, 4), (4, 8), (4, 1)), Blocks((2, 2), (8, 4), (2, 2))],
    *[Blocks((8, 1), (4, 8), (1, 4)), Blocks((8, 1), (2, 16), (4, 1))],
    *[Direct("m", 1, 1), Direct("m", 1, 2), Direct("m", 2, 1), Direct("m", 2, 4)],
]
FLAT = [Flat(1, 256), Flat(1, 128), Flat(1, 512), Flat(2, 256), Flat(4, 128), Flat(1, 1024)]
ROWS = [Ribbon("rows", c, t) for c, t in ((256, 64), (512, 128), (512, 256), (1024, 128), (1024, 256))]
COLUMNS = [
    Ribbon("columns", c, t)
    for c, t in ((256, 64), (512, 128), (512, 256), (1024, 128), (1024, 256), (2048, 256))
]
LONG_ROWS = [
    Ribbon("rows", c, t, 320) for c, t in ((1024, 256), (2048, 256), (2048, 512), (4096, 512), (3072, 512))
]
LONG_COLUMNS = [Ribbon("columns", c, t, 320) for c, t in ((2560, 256), (2560, 512), (4096, 512), (5120, 512))]
ODD = [
    *[Stream(128, 16, 64, 5, s) for s in (4, 8, 16, 32)],
    *[Stream(128, 16, 64, 4, 16), Stream(128, 16, 64, 6, 16), Stream(128, 8, 32, 4, 16)],
    *[
        Stream(128, 8, 32, 5, 8),
        Stream(64, 16, 64, 6, 16),
        Stream(64, 8, 32, 6, 16),
        Stream(256, 16, 64, 3, 16),
    ],
    *[Shifted((128, 256), 16, 64, "plain", "evict_last"), Shifted((128, 128), 16, 64, "plain", "evict_last")],
    *[Shifted((128, 128), 8, 32, "plain", "evict_last"), Shifted((128, 256), 16, 64)],
    *[Shifted((64, 256), 16, 64, "plain", "evict_last"), Shifted((256, 128), 16, 64, "plain", "evict_last")],
]
BATCH = [Whole(1280, 128), Whole(1280, 256), Whole(1280, 512), Narrow((32, 64), 8), Narrow((64, 64), 8)]
LARGE = [
    *[
        Exchange((128, 128), 0, a, b)
        for a in ("evict_last", "evict_last no_allocate", "plain")
        for b in ("streaming", "evict_last")
    ],
    *[Exchange((128, 128), 0, "evict_last no_allocate", s) for s in ("plain", "evict_first")],
    *[
        Exchange(t, 0, "evict_last")
        for t in ((256, 128), (128, 256), (64, 256), (256, 64), (64, 512), (256, 256))
    ],
    *[Exchange((128, 128), g, "evict_last") for g in (16, 64)],
    *[Exchange((128, 128), 0, "evict_last", "plain", r) for r in (768, 1024, 1536)],
    *[Stream(128, 16, 64, 5, 16)],
]
GROUPS = {
    "64x64 256x256 512x512 100x300 17x33 1024x1024 256x128x128 2048x2048": TINY,
    "1x1000000": FLAT,
    "3x1000000 33x500000": ROWS,
    "1000000x3 500000x33": COLUMNS,
    "255x131072 300x70000": LONG_ROWS + ODD,
    "131072x255 70000x300": LONG_COLUMNS + ODD,
    "16380x16384 16383x16385 8191x8193 50257x2048 8192x8192+0+0@1 9001x7003 5000x12344 2048x50257": ODD,
    "1000x77x129": BATCH + ODD[:2],
    "16x1000x1000": ODD + [Narrow((64, 64), 8)],
    "16384x16384 8192x8192 1024x65536 32768x32768": LARGE,
    "4096x4096 3072x3072": LARGE[:6],
}
NOW = (
    *("registers", "exchange 64x64", "exchange 128x64", "exchange 128x128", "exchange 128x128 last"),
    *("exchange 128x128 last, 256", "exchange 128x128 last, 1024", "exchange 128x128 last first"),
    *("shifted 128x256 by 32 last", "shifted 128x128 by 16", "shifted 64x64", "shifted 64x128 by 16"),
    *("direct m, 1", "direct m", "direct n", "few rows", "few columns, 256", "narrow"),
)


def empties(shape):
    """`x` and `y`, whose memory nobody touches."""
    found = []
    for rows, columns, pad in ((shape.m, shape.n, shape.pad_x), (shape.n, shape.m, shape.pad_y)):
        whole = torch.empty(
            shape.off + shape.batch * rows * (columns + pad), dtype=torch.bfloat16, device="cuda"
        )
        inside = whole[shape.off :].view(shape.batch, rows, columns + pad)[:, :, :columns]
        found.append(inside[0] if shape.batch == 1 else inside)
    return found


def group(number: int, out: Path, until: float) -> None:
    names, plans = list(GROUPS.items())[number]
    shapes = [next(one for one in SHAPES if one.name == name) for name in names.split()]
    every = {str(plan): plan for plan in plans} | {key: PLANS[key] for key in NOW}
    path = Path(__file__).parents[1] / "docs" / "evidence" / "transpose_shapes.json"
    before = {row["name"]: row for row in json.loads(path.read_text())["rows"]}
    rows, broken, bad, failed = [], {}, {}, set()
    for shape in shapes:
        x, y = empties(shape)
        for key, plan in every.items():
            if key not in failed and fits(plan, x, y):
                try:
                    launcher(plan, x, y)
                except Exception as error:
                    failed.add(key)
                    broken[key] = str(error)[-600:]
        del x, y
    torch.cuda.empty_cache()
    print(f"group {number} compiled", flush=True)
    with (out / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        began = time.time()
        a, b = pair(SHAPES[7])
        for _ in range(2000):
            b.copy_(a)
        del a, b
        for shape in shapes:
            if time.time() > until:
                print("no time for", shape.name)
                break
            x, y = pair(shape)
            sets = pairs(shape)
            ours = {}
            for key, plan in every.items():
                if key in failed or not fits(plan, x, y):
                    continue
                try:
                    if found := wrong(shape, partial(launch_of, plan)):
                        bad[f"{shape.name} {key}"] = found
                    else:
                        ours[key] = [launch_of(plan, *both) for both in sets]
                except Exception as error:
                    broken[key] = str(error)[-600:]
            quick = {k: v for k, v in before[shape.name]["quick_us"].items() if k.startswith("triton")}
            for key in sorted(quick, key=lambda k: quick[k])[:2]:
                tile, warps, strip = key.split()[1:]
                tiling = (*map(int, tile.split("x")), int(warps), int(strip))
                ours[key] = [triton_launch(*both, tiling) for both in sets]
            final = medians(ceilings(shape) | ours, 7, 4 * shape.elements >= DIRECT_BYTES)
            rows.append({"name": shape.name, "us": final})
            result = {"device": torch.cuda.get_device_name(), "rows": rows, "broken": broken, "wrong": bad}
            (out / f"transpose_sweep{number}.json").write_text(json.dumps(result, indent=1) + "\n")
            ranked = sorted(final, key=lambda k: final[k])
            top = "; ".join(f"{final[k]:.2f} {k}" for k in ranked[:9])
            print(f"[{time.time() - began:5.1f}] {shape.name}: {top}", flush=True)
            del sets, ours, x, y
            torch.cuda.empty_cache()
        print(f"group {number} wrong:", bad, "broken:", broken, flush=True)


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) > 2:
        group(int(sys.argv[2]), out, float(sys.argv[3]))
        return
    until = str(time.time() + 125)
    command = [sys.executable, "-m", "benchmarks.transpose_sweep", str(out)]
    children = [subprocess.Popen([*command, str(number), until]) for number in range(len(GROUPS))]
    for child in children:
        child.wait()


if __name__ == "__main__":
    main()
