"""Trial of candidates: python -m benchmarks.transpose_trial OUT_FOLDER [GROUP UNTIL | ncu]."""

import fcntl
import json
import subprocess
import sys
import time
from pathlib import Path

import torch
from cuda.bindings.driver import CUstream
from cutlass import cute

from benchmarks.transpose_peers import triton_launch
from benchmarks.transpose_shapes import DIRECT_BYTES, SHAPES, ceilings, medians, pair, pairs, wrong
from kernels.transpose.blocks import Blocks
from kernels.transpose.direct import Direct
from kernels.transpose.exchange import Exchange
from kernels.transpose.fastest import as_cute
from kernels.transpose.flat import Flat
from kernels.transpose.narrow import Narrow
from kernels.transpose.plans import ALIGNED, BUILDERS, CHUNK_BYTES, TINY, fits
from kernels.transpose.registers import Plan
from kernels.transpose.ribbon import Ribbon
from kernels.transpose.shifted import Shifted as S
from kernels.transpose.slim import Slim
from kernels.transpose.whole import Whole

LAST = "evict_last"
BEST = S((128, 256), 16, 32, "plain", LAST)
ODD = [
    *[BEST, BEST._replace(load="evict_last 128"), BEST._replace(load="evict_last 256")],
    *[BEST._replace(load="plain 256"), BEST._replace(load="async"), BEST._replace(store="evict_first")],
    *[BEST._replace(align=16), BEST._replace(align=64), BEST._replace(align=8), BEST._replace(most=1)],
]
ODD_TILES = [
    *[
        BEST,
        BEST._replace(warps=32),
        S((256, 128), 16, 32, "plain", LAST),
        S((192, 256), 16, 32, "plain", LAST),
    ],
    *[S((64, 256), 16, 32, "plain", LAST), S((128, 384), 16, 32, "plain", LAST), S((128, 128), 8, 16)],
    *[
        S((128, 128), 8, 16, "plain", LAST),
        S((64, 128), 8, 16, "plain", LAST),
        S((128, 128), 16, 32, "plain", LAST),
    ],
]
THIN_M = [
    *[S((n, 320), w, 8) for n in (32, 64) for w in (4, 8)],
    *[S((128, 320), w, 8) for w in (8, 16)],
    *[S((256, 320), 16, 8), S((64, 320), 16, 16), S((128, 320), 16, 16)],
    *[S((128, 320), 16, 8, "plain", "async", 1), S((64, 320), 16, 8, "plain", "async", 2)],
    *[
        Ribbon("rows", c, t, 320)
        for c, t in ((1024, 256), (1024, 512), (2048, 256), (2048, 512), (3584, 512))
    ],
    *[S((128, 128), 8, 16), S((64, 128), 4, 16), S((64, 128), 8, 8)],
]
FEW_M = [
    *[
        Ribbon("rows", c, t)
        for c, t in ((256, 64), (256, 128), (512, 128), (512, 256), (1024, 256), (1024, 512))
    ],
    *[S((128, 64), 8, 8), S((256, 64), 16, 8), S((128, 64), 4, 8), S((256, 64), 8, 8), S((64, 64), 4, 8)],
]
THIN_N = [
    *[
        Ribbon("columns", c, t, 320)
        for c, t in ((640, 128), (640, 320), (1280, 256), (1280, 320), (1280, 640), (2560, 512), (2560, 640))
    ],
    *[Ribbon("columns", c, t, 320) for c, t in ((2560, 1024 - 384), (3840, 640), (3840, 960), (5120, 1024))],
    *[
        S((320, 128), 16, 8),
        S((320, 128), 16, 16),
        S((320, 64), 16, 8),
        S((256, 64), 8, 8),
        S((256, 128), 16, 16),
    ],
    *[S((256, 128), 16, 16, "plain", LAST), S((64, 64), 4, 8), S((64, 128), 8, 16), S((160, 128), 8, 16)],
]
FEW_N = [
    *[
        Ribbon("columns", c, t)
        for c, t in (
            (144, 144),
            (288, 144),
            (288, 288),
            (576, 288),
            (576, 576),
            (1152, 576),
            (256, 128),
            (512, 256),
        )
    ],
    *[S((48, 128), 4, 16), S((48, 256), 4, 16), S((64, 256), 8, 32), S((48, 192), 4, 16)],
]
MIDDLE = [
    *[
        Exchange(t, 0, "no_allocate", "streaming", r)
        for t in ((64, 64), (128, 64), (64, 128), (128, 128))
        for r in (768, 1280)
    ],
    *[Exchange(t, 0, LAST, "plain", r) for t in ((64, 64), (128, 128)) for r in (256, 768)],
    *[
        Exchange((128, 128), 0, "evict_last 256", "plain", 768),
        Plan((8, 4), (1, 1), 0, "no_allocate", "streaming"),
    ],
    *[
        Plan((8, 4), (2, 4), 0, "no_allocate", "streaming"),
        Plan((16, 2), (1, 2), 0, "no_allocate", "streaming"),
    ],
    *[Plan((8, 4), (1, 2), 0, "no_allocate", "streaming"), Narrow((64, 64), 8), Narrow()],
    *[S((128, 128), 8, 16), S((64, 64), 4, 8), BEST],
]
LARGE = [
    *[
        Exchange((128, 128), 0, load, "plain", 768)
        for load in (LAST, "evict_last 256", "evict_last 128", "plain 256")
    ],
    *[Exchange((128, 128), 0, LAST, "plain", 256), Exchange((256, 128), 0, LAST, "plain", 512)],
    *[Exchange((256, 128), 0, "evict_last 256", "plain", 512), Exchange((128, 256), 0, LAST, "plain", 512)],
    *[Exchange((128, 128), 0, LAST, "plain", 512), Exchange((128, 128), 0, LAST, "plain", 1280)],
    *[
        Exchange((128, 128), 0, "evict_last 256", "streaming", 768),
        Exchange((128, 128), 0, "no_allocate", "streaming"),
    ],
    *[Exchange((128, 128), 128, LAST, "plain", 768), Exchange((512, 128), 0, LAST, "plain", 1024)],
    *[Exchange((128, 128), 0, "evict_first", s, 768) for s in ("plain", "evict_last")],
    *[Exchange((128, 128), 0, LAST, s, 768) for s in ("evict_first", "streaming")],
]
TINY_ONES = [
    *[Blocks((8, 1), (2, 16)), Blocks((2, 4), (4, 8)), Blocks((4, 4), (4, 8)), Blocks((8, 4), (4, 8))],
    *[Direct("m", 1, 8), Direct("m"), Direct("n"), Plan((8, 4), (1, 1), 0, "no_allocate", "streaming")],
    *[Exchange((64, 64), 0, "no_allocate", "streaming"), Flat(2, 256), Flat(1, 256), Flat(4, 128)],
    *[Slim(few, 3) for few in ("rows", "columns")],
]
WHOLE = [Whole(1280, t) for t in (128, 256, 512)] + [
    Narrow(),
    Narrow((64, 64), 8),
    S((160, 128), 8, 8),
    S((160, 128), 10, 8),
]
GROUPS = [
    ("8191x8193 8192x8192+0+0@1 16384x16380", ODD),
    ("8191x8193 9001x7003 16384x16380 16x1000x1000", ODD_TILES),
    ("255x131072 300x70000", THIN_M[:11]),
    ("300x70000 255x131072", THIN_M[11:] + THIN_M[4:5]),
    ("131072x255 70000x300", THIN_N[:10]),
    ("70000x300 131072x255", THIN_N[10:] + THIN_N[5:6]),
    ("33x500000", FEW_M),
    ("500000x33", FEW_N),
    ("16x1000x1000 4096x4096 8192x8192 5000x12344", MIDDLE),
    ("2048x2048 3072x3072 256x128x128 1024x1024", MIDDLE),
    ("16384x16384 32768x32768 8192x28672 32768x4096 65536x1024 4096x32768", LARGE),
    ("64x64 256x256 512x512 100x300 17x33 1x1000000 3x1000000 1000000x3", TINY_ONES),
    ("1000x77x129", WHOLE),
    (
        "8192x8192+3+5@0 2048x50257 50257x2048 7777x9999 16383x16385 16380x16384",
        ODD[:1] + ODD[2:3] + ODD_TILES[3:4],
    ),
]
COMPILED = {}


def launch_of(plan, early, x, y):
    align = CHUNK_BYTES if isinstance(plan, ALIGNED) else 2
    fixed = isinstance(plan, Blocks | Direct) and x.numel() <= TINY
    args = as_cute(x, align, fixed), as_cute(y, align, fixed)
    key = (plan, early, x.dim(), (tuple(x.shape), x.stride(), y.stride()) if fixed else None)
    if key not in COMPILED:
        COMPILED[key] = cute.compile(BUILDERS[type(plan)](plan, early).host, *args, CUstream(0))
    function = COMPILED[key]
    return lambda: function(*args, CUstream(torch.cuda.current_stream().cuda_stream))


def group(number, out, until):
    names, plans = GROUPS[number]
    shapes = [next(one for one in SHAPES if one.name == name) for name in names.split()]
    every = {str(plan): (plan, True) for plan in plans}
    every |= {"LATE " + str(plan): (plan, False) for plan in plans[:: max(len(plans) // 3, 1)]}
    path = Path(__file__).parents[1] / "docs" / "evidence" / "transpose_shapes.json"
    before = {row["name"]: row for row in json.loads(path.read_text())["rows"]}
    rows, broken, bad, failed = [], {}, {}, set()
    small = {s: pair(s) for s in shapes if s.elements < 1 << 28}
    for shape, both in small.items():
        for key, (plan, early) in every.items():
            if key not in failed and fits(plan, *both):
                try:
                    launch_of(plan, early, *both)
                except Exception as error:
                    failed.add(key)
                    broken[key] = str(error)[-600:]
    del small
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
            for key, (plan, early) in every.items():
                if key in failed or not fits(plan, x, y):
                    continue
                try:
                    if found := wrong(shape, lambda x, y: launch_of(plan, early, x, y)):
                        bad[f"{shape.name} {key}"] = found
                    else:
                        ours[key] = [launch_of(plan, early, *both) for both in sets]
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
            (out / f"trial{number}.json").write_text(json.dumps(result, indent=1) + "\n")
            ranked = sorted(final, key=lambda k: final[k])
            limit = min(final["copy"], final["elementwise"])
            print(f"[{time.time() - began:5.1f}] {shape.name} limit {limit:.2f}", flush=True)
            for key in ranked[:9]:
                print(f"    {final[key]:9.2f} {limit / final[key]:.3f} {key}", flush=True)
            del sets, ours, x, y
            torch.cuda.empty_cache()
        print(f"group {number} wrong:", bad, "broken:", broken, flush=True)


COUNTED = {
    "8191x8193": [BEST, S((128, 128), 8, 16)],
    "8192x8192": [Exchange((128, 128), 0, LAST, "plain", 768)],
    "255x131072": [S((128, 320), 16, 8), Ribbon("rows", 3584, 512, 320)],
    "70000x300": [Ribbon("columns", 2560, 512, 320), S((320, 128), 16, 8)],
    "33x500000": [Ribbon("rows", 512, 128)],
    "1000x77x129": [Whole(1280, 512)],
}


def counted():
    """One launch of each, for ncu."""
    for shape in (one for one in SHAPES if one.name in COUNTED):
        x, y = pair(shape)
        for plan in COUNTED[shape.name]:
            print("counted", shape.name, plan, flush=True)
            launch_of(plan, False, x, y)()
        torch.bitwise_not(x.contiguous().view(torch.int16))
        torch.cuda.synchronize()


METRICS = (
    "gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors_op_read.sum,"
    "lts__t_sectors_op_write.sum,smsp__inst_executed.sum,sm__inst_executed.avg.per_cycle_elapsed,"
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum,sm__warps_active.avg.pct_of_peak_sustained_active,"
    "smsp__issue_active.avg.pct_of_peak_sustained_active,launch__registers_per_thread,launch__occupancy_limit_registers,"
    "launch__occupancy_limit_shared_mem,launch__waves_per_multiprocessor"
)


def main():
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    if sys.argv[2:] == ["ncu"]:
        counted()
        return
    if len(sys.argv) > 2:
        group(int(sys.argv[2]), out, float(sys.argv[3]))
        return
    until = str(time.time() + 150)
    command = [sys.executable, "-m", "benchmarks.transpose_trial", str(out)]
    children = [subprocess.Popen([*command, str(number), until]) for number in range(len(GROUPS))]
    for child in children:
        try:
            child.wait(timeout=max(1.0, float(until) + 20 - time.time()))
        except subprocess.TimeoutExpired:
            child.kill()
    ncu = [
        "ncu",
        "--clock-control",
        "none",
        "--metrics",
        METRICS,
        "--csv",
        "--page",
        "raw",
        "--log-file",
        str(out / "ncu.csv"),
    ]
    ncu += ["-k", "regex:kernel_|transpose|turn|elementwise", *command, "ncu"]
    try:
        print(subprocess.run(ncu, capture_output=True, text=True, timeout=45).stdout[-3000:])
    except Exception as error:
        print(error)


if __name__ == "__main__":
    main()
