"""What the rest of a text says of its error: numbers that it holds, next to what the hardware or an instruction takes."""

from __future__ import annotations

import math
import re

from layoutcheck.algebra import composition, parse_layout
from layoutcheck.catalogue import cpp_types
from layoutcheck.errors import InputError
from layoutcheck.machine import arch

_SHAPE = re.compile(r"[\[(]([0-9]{1,9}(?:, ?[0-9]{1,9}){1,5})[\])]")
_MOST_BLOCKS = 65_535  # in y and z of a grid (CUDA C++ Programming Guide, compute capabilities)
_MOST_GRID = (2**31 - 1, _MOST_BLOCKS, _MOST_BLOCKS)
_MOST_THREADS = (1024, 1024, 64)  # of a block: x, y and z; their product is at most the first
_LAUNCH = re.compile(
    r"(?i)\b(?P<of>grid|block)(?:_?dims?|_?size)? ?[=:]? ?(?:dim3 ?)?(?P<extents>[\[({][0-9]{1,12}(?:, ?[0-9]{1,12}){0,2},? ?[\])}])"
)
_RESULT = re.compile(
    r"\b(?P<name>[a-z_]{2,30}) ?= ?(?P<size>[0-9]{1,7}): ?(?P<result>FAIL|ERROR|OK|PASS)\b", re.IGNORECASE
)
_COMPOSITION = re.compile(
    r"composition_impl\([^\[]{0,400}\[with LShape=(?P<shape>.{1,600}?), LStride=(?P<stride>.{1,600}?), RShape=(?P<by>.{1,200}?), RStride=(?P<step>.{1,200}?)\]"
)
_COMPARED = re.compile(
    r"[\[(](?P<left>[0-9]+(?:, ?[0-9]+)*),?[\])]\)? ?(?:vs\.?|!=|and|,|==) ?(?:torch\.Size\()?[\[(](?P<right>[0-9]+(?:, ?[0-9]+)*),?[\])]"
)
_TILE_N = re.compile(r"(?i)\b(?:tile_?n|bn|block_?n)\b ?[=:] ?(?P<n>[0-9]{1,6})\b")
_FOUR_BITS = re.compile(r"(?i)[a-z_]*(?:fp4|float4_?e2m1|e2m1|nvf4|mxf4)\w*")
_REFUSED = re.compile(
    r"`(?P<name>[\w@.-]{2,40})` is not supported because: (?P<why>.{3,200}?)(?= `[\w@.-]{2,40}` is not| HINT:| File |$)"
)
_HINT = re.compile(r"\bHINT: (?P<said>.{10,240}?)(?=\. [A-Z`]|$)")
_MOST_REFUSED = 4
_ON_THE_GPU = ("cuda.", "sanitizer.", "kernel-hangs", "driver.xid")
_FRAME = re.compile(
    r"\bin (?P<kernel>[A-Za-z_][\w:]{2,100})(?:<[^<>]{0,200}>)?(?:\([^()]{0,200}\))? ?<<<\("
)  # of cuda-gdb
_TRIGGERED = re.compile(
    r"triggered at PC 0x[0-9a-f]+ (?:in |\()?(?P<kernel>(?!for\b|The\b|Thread\b)[a-z_]\w{3,100})\b"
)
_STATUS = re.compile(r"(?:\] Error|exit (?:code|status):?|returned non-zero exit status) ([0-9]{1,3})\b")
_EXITS = {
    "126": "Error 126: the command is there and cannot be run (permissions, another processor)",
    "127": "Error 127: the shell does not find the command (nvcc, nvlink or a script is not in PATH)",
    "134": "134: the command aborted (SIGABRT); its own message stands above",
    "137": "137: the system killed the command, most often for want of memory",
    "139": "139: the command itself crashed (SIGSEGV)",
}
_INVALID = ("cuda.invalid-launch", "cuda.call-refused")
_BUILT = (*_INVALID, "cpp.launch-refused", "cuda.no-function", "elsewhere.driver", "elsewhere.gpu-too-old")
_TARGET = re.compile(
    r"(?i)(?:-arch[= ]|\bARCH=|ARCH(?:ITECTURES|_LIST)?[=:] ?[\"']?|code=|gpu-name[= ])(?:sm_|compute_)?(?P<major>[0-9]{1,2})\.?(?P<minor>[0-9])(?P<suffix>[af]?)\b"
)
_CAPABILITY = re.compile(
    r"(?i)compute[ _]capability\W{0,3}(?P<major>[0-9]{1,2})\.(?P<minor>[0-9])\b|Architecture: [\w ]{0,20}\(sm_(?P<number>[0-9]{2,3})\w?\)|(?:found |on an? |GPU is |\()SM_?(?P<said>[0-9]{2,3})\b"
)
_DEVICE = re.compile(
    r"(?<=NVIDIA )[TLA][0-9]{1,2}\b|(?<=Tesla )[TLA][0-9]{1,2}\b|(?<= on )[TL]4\b|(?<= on a )[TL]4\b|\b(?:[KMPVATHBL][0-9]{2,3}0?S?|GB?[0-9]{2,3}|(?:RTX )?[2345]0[6-9]0(?:(?= ?Ti)|\b)|RTX PRO [0-9]{4}|Jetson \w+)\b"
)
_FIRST_OF_DSL = 80  # [CuTe DSL, supported architectures]
_OLDER = {"P100": 60, "P40": 61, "P4": 61, "M60": 52, "M40": 52, "K80": 37, "K40": 35}  # before what CuTe runs on [developer.nvidia.com/cuda-gpus]  # fmt: skip
_SHARED = re.compile(
    r"(?i)(?:shared[_ ]?mem\w*|smem|SharedStorage)[\w ]{0,30}?[ =:(]{1,3}(?P<bytes>[0-9]{5,6})\b"
)
_DEFAULT_SHARED = 48 * 1024  # of a block, before it opts in to more [CUDA C++ Programming Guide]
_OPT_IN = re.compile(r"(?i)opt-?in\)?[^\n]{0,30}?(?P<bytes>[0-9]{5,6})\b")
_SIZE = re.compile(r"(?<![\w.])[0-9]{5,6}(?![\w.])")
_LEAST_SHARED = 16 * 1024  # that any GPU of CUDA gives a block
_DIFFERING = re.compile(r"Mismatched elements: (?P<some>[0-9]+) ?/ ?(?P<all>[0-9]+)")
_GREATEST = re.compile(
    r"[Gg]reatest absolute difference: (?P<have>[0-9.]+(?:e[-+]?[0-9]+)?) .{0,80}?\(up to (?P<allowed>[0-9.]+(?:e[-+]?[0-9]+)?) allowed"
)
_FEW_DIFFER, _MANY_DIFFER = 0.01, 0.3  # of the elements
_NEAR, _FAR = 10, 1000  # times what is allowed
_VECTOR = ("cpp.copy-does-not-vectorize",)
_INTERNAL = re.compile(r"CopyInternalType ?= ?(?:cutlass::)?(?P<type>\w+)")
_MOVES = re.compile(r"uint(?P<bits>[0-9]{2,3})_t\b")
_LAYOUT = re.compile(r"(?P<side>[SD])Layout = \(*(?P<first>[0-9]+)[,)].*?:\(*(?P<stride>[0-9]+|\?)")


def facts(name: str, folded: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Facts about the error of this entry; `known` are the layouts that were read out of the text."""
    if name == "results-shape":
        return _packed(folded)
    if name == "dsl.mma-n":
        wide = _TILE_N.search(folded)
        return (
            (f"{wide[0]} is the tile's extent: {-(-int(wide['n']) // 256)} instructions of N 256 or less",)
            if wide and int(wide["n"]) > 256
            else ()
        )
    told = _built(folded) if name in _BUILT else ()
    told += (
        _shared(name, folded) if name in (*_INVALID, "cpp.launch-refused", "cuda.shared-attribute") else ()
    )
    if name.startswith((*_ON_THE_GPU, *_BUILT)):
        return (
            *told,
            *kernel(folded),
            *(() if name not in _INVALID else (*_launched(folded), *_grid(folded), *_by_size(folded))),
        )
    if name == "elsewhere.build":
        return _exit(folded)
    if name.startswith("cpp."):
        return (*_composed(folded), *(_vector(folded, known) if name in _VECTOR else ()))
    return ()


def excess(asked: int, allowed: int) -> str:
    """By how much the shared memory that is asked for is above what is allowed, and which GPUs allow so much."""
    names = [f"sm_{number}" for number in arch.numbers() if arch.most_shared(number) == allowed]
    of = f"{allowed / 1024:g} KiB is the most of a block on {', '.join(names)}" if names else ""
    if allowed == _DEFAULT_SHARED:
        of = "48 KiB is what a block has without opting in to more (cudaFuncAttributeMaxDynamicSharedMemorySize)"
    return f"{asked:,} B are asked for, {allowed:,} B allowed: {asked - allowed:,} B too many" + (
        f"; {of}" if of else ""
    )


def sizes(said: str) -> tuple[str, ...]:
    """The excess of shared memory, where a message has two sizes: what is asked for and what there is."""
    found = sorted({int(one) for one in _SIZE.findall(said)})
    return (excess(found[1], found[0]),) if len(found) == 2 and found[0] > _LEAST_SHARED else ()


def rounding(folded: str) -> tuple[str, ...]:
    """What the counts of a comparison of results decide: rounding, or data that is elsewhere."""
    count, size = _DIFFERING.search(folded), _GREATEST.search(folded)
    part = int(count["some"]) / max(int(count["all"]), 1) if count else 1
    if count and size is None and part < _FEW_DIFFER / 100:
        return (
            f"{count['some']} of {count['all']} elements differ: rounding at a few values; data in the wrong place differs in whole rows, vectors or tiles",
        )
    if count is None or size is None or not float(size["allowed"]):
        return ()
    times = float(size["have"]) / float(size["allowed"])
    told = f"{count['some']} of {count['all']} elements differ, the worst by {times:.2g} times of what is allowed: "
    if part < _FEW_DIFFER and times < _NEAR:
        return (f"{told}rounding against a tolerance that is too tight for the type, and no wrong layout",)
    return (f"{told}not rounding",) if part > _MANY_DIFFER or times > _FAR else ()


_NO_RACE = "racecheck found no hazard, and it watches shared memory alone: a race between blocks, through global memory, stays unseen"


def refusals(folded: str) -> tuple[str, ...]:
    """Why a library's kernels refuse a call, each by its name, where the message lists them; the hint below; what a tool saw."""
    found = [f"{one['name']}: {one['why'].strip()}" for one in _REFUSED.finditer(folded)]
    hint = _HINT.search(folded)
    seen = (_NO_RACE,) if "RACECHECK SUMMARY: 0 hazards" in folded else ()
    return (*found[:_MOST_REFUSED], *((f"the message's hint: {hint['said']}",) if hint else ()), *seen)


def kernel(folded: str) -> tuple[str, ...]:
    """Which kernel cuda-gdb or the tool names, where the text has it."""
    found = _FRAME.search(folded) or _TRIGGERED.search(folded)
    return (f"the kernel is {found['kernel']}",) if found else ()


def _gpu(folded: str) -> tuple[int, str]:
    """(compute capability as major * 10 + minor, the words that say so) of the GPU that the text names; (0, "") for none."""
    found = _CAPABILITY.search(folded)
    if found:
        number = found["number"] or found["said"] or found["major"] + found["minor"]
        return int(number), found[0]
    for name in _DEVICE.findall(folded):
        known = arch.called(name)
        if known or name in _OLDER:
            return (arch.parse_arch(known).number if known else _OLDER[name]), name
    return 0, ""


def too_old(folded: str) -> tuple[str, ...]:
    """That the DSL does not compile for the GPU which the text names."""
    gpu, said = _gpu(folded)
    old = 0 < gpu < _FIRST_OF_DSL
    return (
        (f"the GPU is sm_{gpu} ({said}): the DSL compiles for sm_80 and newer, take another back end",)
        if old
        else ()
    )


def _built(folded: str) -> tuple[str, ...]:
    """For which architecture the text compiles, where its GPU does not run that."""
    gpu, said = _gpu(folded)
    targets = {
        int(found["major"] + found["minor"]): found["suffix"].lower() for found in _TARGET.finditer(folded)
    }
    runs = any(
        target // 10 == gpu // 10 and target <= gpu and (suffix != "a" or target == gpu)
        for target, suffix in targets.items()
    )
    if not gpu or not targets or runs:
        return ()
    names = ", ".join(f"sm_{target}{suffix}" for target, suffix in targets.items())
    return (
        f"the text compiles for {names}, and the GPU is sm_{gpu} ({said}): machine code runs on its own major number and the same or a higher minor one",
    )


def _shared(name: str, folded: str) -> tuple[str, ...]:
    """What the shared memory that the text prints comes to, next to what a block may have."""
    asked = max((int(one["bytes"]) for one in _SHARED.finditer(folded)), default=0)
    gpu, said = _gpu(folded)
    stated = _OPT_IN.search(folded)
    most = int(stated["bytes"]) if stated else arch.most_shared(gpu)
    if asked and most and asked > most:
        return (f"{asked:,} B of shared memory are above {most:,}, the most that a block of this GPU has",)
    if asked and most and name == "cpp.launch-refused":
        return (f"{asked:,} B of shared memory are within the {most:,} B of a block: they are not the cause",)
    if asked > _DEFAULT_SHARED and name in _INVALID:
        return (
            f"{asked:,} B of dynamic shared memory are above {_DEFAULT_SHARED:,}, which a block has without asking: before the launch the kernel's attribute cudaFuncAttributeMaxDynamicSharedMemorySize is set "
            "(CuPy: kernel.max_dynamic_shared_size_bytes)",
        )
    return (f"the GPU is sm_{gpu} ({said}): a block has at most {most:,} B of shared memory",) if most else ()


def _exit(folded: str) -> tuple[str, ...]:
    """What the status means with which make says that a command ended."""
    status = next((_EXITS[one] for one in _STATUS.findall(folded) if one in _EXITS), "")
    return (status,) if status else ()


def _packed(folded: str) -> tuple[str, ...]:
    """What explains two shapes whose last extents differ by 2, where the text names elements of 4 bits."""
    found = _COMPARED.search(folded)
    if found is None:
        return ()
    left, right = ([int(one) for one in found[side].split(",") if one.strip()] for side in ("left", "right"))
    ends = sorted((left[-1:], right[-1:]))
    if left[:-1] != right[:-1] or not all(ends) or ends[1][0] != 2 * ends[0][0]:
        return ()
    named = _FOUR_BITS.search(folded)
    packed = f"two elements of 4 bits lie in one byte (torch.float4_e2m1fn_x2, uint8): {ends[1][0]} elements are {ends[0][0]} of storage"
    return (
        (f"the text names {named[0]}: {packed}; one side has the elements' extent, the other the packed one",)
        if named
        else (f"the last extents differ by exactly 2. Where the elements have 4 bits, {packed}",)
    )


def _composed(folded: str) -> tuple[str, ...]:
    """What the composition that the instantiations print comes to: the mode that does not divide, where it has no result."""
    for found in _COMPOSITION.finditer(folded):
        parts = [cpp_types.printed(found[name]) for name in ("shape", "stride", "by", "step")]
        if not all(parts):
            continue
        left, right = f"{parts[0]}:{parts[1]}", f"{parts[2]}:{parts[3]}"
        try:
            composition(parse_layout(left), parse_layout(right))
        except InputError as error:
            return (f"composition({left}, {right}) has no result: {error.message}",)
    return ()


def _launched(folded: str) -> tuple[str, ...]:
    """Which extents of a grid or block that the text prints are beyond what a launch takes."""
    told: dict[str, None] = {}
    for found in _LAUNCH.finditer(folded):
        extents = [int(one) for one in re.findall(r"[0-9]+", found["extents"])]
        most = _MOST_THREADS if found["of"].lower() == "block" else _MOST_GRID
        over = [
            f"{value:,} in {axis} (at most {limit:,})"
            for axis, value, limit in zip("xyz", extents, most, strict=False)
            if value > limit
        ]
        if math.prod(extents) > _MOST_THREADS[0] and most is _MOST_THREADS and not over:
            over = [f"{math.prod(extents):,} threads (at most {_MOST_THREADS[0]:,})"]
        over += ["an extent of 0"] if 0 in extents else []
        if over:
            told[f"the {found['of'].lower()} {found['extents']} has {' and '.join(over)}"] = None
    return tuple(told)


def _grid(folded: str) -> tuple[str, ...]:
    """An extent of a shape in the text that y and z of a grid cannot have."""
    if "configuration" not in folded.lower():
        return ()
    for shape in _SHAPE.findall(folded):
        large = [int(one) for one in shape.split(",") if int(one) > _MOST_BLOCKS]
        if large:
            return (
                f"{large[0]} of the shape ({shape}) is above 65,535, the most blocks in y and z of a grid: a function that takes its modes in another "
                "order (flash_attn: batch, sequence, heads, head dimension) launches that many",
            )
    return ()


def _by_size(folded: str) -> tuple[str, ...]:
    """What a table of sizes, some of which fail, rules out."""
    found = [
        (one["name"], int(one["size"]), one["result"].upper() in ("FAIL", "ERROR"))
        for one in _RESULT.finditer(folded)
    ]
    failing = [size for _, size, fails in found if fails]
    running = [size for _, size, fails in found if not fails]
    if not failing or not running or max(failing) > min(running):
        return ()
    return (
        f"{found[0][0]} up to {max(failing)} fails and from {min(running)} on runs: it is not shared memory, which grows with it, but a tile or a TMA box that is "
        "too narrow. Pad it to the smallest that runs, and report it to the library whose kernel it is",
    )


def vectors(folded: str) -> dict[str, str]:
    """What one instruction of the text moves, and the value layout that gives a thread as much."""
    most, internal, bits = _moved(folded) or (8, "half_t", "128")
    side = f"Layout<Shape<_1,_{most}>> for uint{bits}_t of {internal}"
    return {"moves": f"uint{bits}_t takes {most} values of {internal}", "values": side}


def _moved(folded: str) -> tuple[int, str, str] | None:
    """(elements of one instruction, their type, its bits), where the text holds both types."""
    internal, moves = _INTERNAL.search(folded), _MOVES.search(folded)
    bits = cpp_types.bits_of(internal["type"]) if internal else 0
    return (
        (int(moves["bits"]) // bits, internal["type"], moves["bits"]) if internal and moves and bits else None
    )


def _vector(folded: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """How many elements one instruction moves, and how many of each layout are adjacent."""
    moved = _moved(folded)
    if moved is None:
        return ()
    most, internal, bits = moved
    told = [f"one instruction moves {bits} bits = {most} elements of {internal}"]
    for layout in known:
        match = _LAYOUT.match(layout)
        if match and int(match["first"]) < most and match["stride"] == "1":
            run = int(match["first"])
            told.append(
                f"{match['side']}Layout has {run} adjacent elements, and behind them a stride that is not known to be {run}: where the shared layout is swizzled, its base must be "
                f"log2({most}) = {most.bit_length() - 1} or more (Swizzle<B,{most.bit_length() - 1},S>)"
            )
    return tuple(told)
