"""What a text says of its GPU, its target and its launch, next to what the hardware takes."""

from __future__ import annotations

import math
import re

from layoutcheck.catalogue.figures import sentences
from layoutcheck.machine import arch

_SHAPE = re.compile(r"[\[(]([0-9]{1,9}(?:, ?[0-9]{1,9}){1,5})[\])]")
_MOST_BLOCKS = 65_535  # in y and z of a grid (CUDA C++ Programming Guide, compute capabilities)
_MOST_GRID = (2**31 - 1, _MOST_BLOCKS, _MOST_BLOCKS)
_MOST_THREADS = (1024, 1024, 64)  # of a block: x, y and z; their product is at most the first
_LAUNCH = re.compile(
    r"(?i)(?<!\bin )\b(?P<of>grid|block)(?:_?dims?|_?size)? ?[=:]? ?(?:dim3 ?)?(?P<extents>[\[({][0-9]{1,12}(?:, ?[0-9]{1,12}){0,2},? ?[\])}])"
)
_RESULT = re.compile(
    r"\b(?P<name>[a-z_]{2,30}) ?= ?(?P<size>[0-9]{1,7}): ?(?P<result>FAIL|ERROR|OK|PASS)\b", re.IGNORECASE
)
INVALID = ("cuda.invalid-launch", "cuda.call-refused")
_TARGET = re.compile(
    r"(?i)(?:-arch[= ]|\bARCH=|ARCH(?:ITECTURES|_LIST)?[=:] ?[\"']?|code=|gpu-name[= ])(?:sm_|compute_)?(?P<major>[0-9]{1,2})\.?(?P<minor>[0-9])(?P<suffix>[af]?)\b"
)
_CAPABILITY = re.compile(
    r"(?i)compute[ _]capability\W{0,3}(?P<major>[0-9]{1,2})\.(?P<minor>[0-9])\b|Architecture: [\w ]{0,20}\(sm_(?P<number>[0-9]{2,3})\w?\)|(?:found |on an? |GPU is |\()SM_?(?P<said>[0-9]{1,2}\.[0-9]|[0-9]{2,3})[af]?\b"
)
_DEVICE = re.compile(
    r"(?<=NVIDIA )[TLA][0-9]{1,2}\b|(?<=Tesla )[TLA][0-9]{1,2}\b|(?<= on )[TL]4\b|(?<= on a )[TL]4\b|\b(?:[KMPVATHBL][0-9]{2,3}0?S?|GB?[0-9]{2,3}|(?:RTX )?[2345]0[6-9]0(?:(?= ?Ti)|\b)|RTX PRO [0-9]{4}|Jetson \w+)\b"
)
_COMPARED = re.compile(
    r"(?i)\b(?:works?|passe?s?|fine|correct|right|ok) (?:\w+ ){0,3}?on (?:an? |the |our |my )?[\w ]{2,14}"
)  # the GPU of which a text says that nothing fails there
_FIRST_OF_A = 90  # whose targets have the suffix a
_FIRST_OF_DSL = 80  # [CuTe DSL, supported architectures]
_OLDER = {"P100": 60, "P40": 61, "P4": 61, "M60": 52, "M40": 52, "K80": 37, "K40": 35}  # before what CuTe runs on [developer.nvidia.com/cuda-gpus]  # fmt: skip
_OF_SHARED = re.compile(r"(?i)\bshared[ _-]?mem|\bsmem\b")
_CONFIGURATION = re.compile(
    r"(?i)\binvalid configuration\b|cudaErrorInvalidConfiguration|too many (?:threads|blocks)\b"
)
_OF_SM = re.compile(r"(?i)multi-?processor|\b(?:per|each|an?) SM\b|\bSM has\b")
_BYTES = re.compile(r"(?<![\w.,])([0-9]{2,3},?[0-9]{3}) ?(?:B|bytes)\b")
_SHARED = re.compile(
    r"(?i)(?:shared[_ ]?mem\w*|smem|SharedStorage)[\w ]{0,30}?[ =:(]{1,3}(?P<bytes>[0-9]{5,6})\b"
)
_DEFAULT_SHARED = 48 * 1024  # of a block, before it opts in to more [CUDA C++ Programming Guide]
_OPT_IN = re.compile(r"(?i)opt-?in\)?[^\n]{0,30}?(?P<bytes>[0-9]{5,6})\b")
_ARCHES = re.compile(
    r"(?i)ARCH(?:ITECTURES?|S|_LIST)?[=:] ?[\"']?((?:[0-9]{1,2}\.?[0-9][;, ]){1,12}[0-9]{1,2}\.?[0-9])\b"
)
_GENERATION = re.compile(r"(?i)\b(?:turing|ampere|orin|ada|hopper|blackwell|thor|spark)\b")
_ANY = re.compile(r"(?i)\b(?:sm_?|compute capability )([0-9]{1,2}\.[0-9]|[0-9]{2,3})[af]?\b")
_SIZE = re.compile(r"(?<![\w.])[0-9]{5,6}(?![\w.])")
_LEAST_SHARED = 16 * 1024  # that any GPU of CUDA gives a block


def excess(asked: int, allowed: int) -> str:
    """By how much the shared memory that is asked for is above what is allowed, and which GPUs allow so much."""
    names = [f"sm_{number}" for number in arch.numbers() if arch.most_shared(number) == allowed]
    of = f"{allowed / 1024:g} KiB is the most of a block on {', '.join(names)}" if names else ""
    if allowed == _DEFAULT_SHARED:
        of = "48 KiB is what a block has without opting in to more (cudaFuncAttributeMaxDynamicSharedMemorySize)"
    return f"{asked:,} B are asked for, {allowed:,} B allowed: {asked - allowed:,} B too many" + (
        f"; {of}" if of else ""
    )


def listed(folded: str) -> tuple[str, ...]:
    """The shared memory of a block by each target that the text builds for, where it is not the same."""
    found = _ARCHES.search(folded)
    names = [int(one.replace(".", "")) for one in re.findall(r"[0-9]+\.?[0-9]", found[1])] if found else []
    rooms = {one: arch.most_shared(one) or _DEFAULT_SHARED for one in names}
    if len(set(rooms.values())) < 2:
        return ()
    return (
        f"a block has at most {', '.join(f'{room / 1024:g} KiB on sm_{one}' for one, room in rooms.items())}: where it is 48 KiB nothing raises it, and only a smaller tile fits",
    )


def named(said: str) -> list[tuple[str, int]]:
    """Each GPU, generation or target that a text names, "A100 (sm_80)", with its compute capability as major * 10 + minor."""
    names = dict.fromkeys((*_DEVICE.findall(said), *_GENERATION.findall(said)))
    known = {name: target for name in names if (target := arch.called(name))}
    numbers = {name: arch.parse_arch(one).number for name, one in known.items()}
    told = [(f"{name} (sm_{number})", number) for name, number in numbers.items()]
    plain = dict.fromkeys(int(one[1].replace(".", "")) for one in _ANY.finditer(said))
    return [*told, *((f"sm_{number}", number) for number in plain)]


def sizes(said: str) -> tuple[str, ...]:
    """The excess of shared memory, where a message has two sizes: what is asked for and what there is."""
    found = sorted({int(one) for one in _SIZE.findall(said)})
    return (excess(found[1], found[0]),) if len(found) == 2 and found[0] > _LEAST_SHARED else ()


def room(folded: str) -> int:
    """The bytes of shared memory that a block has on the GPU or architecture which the text names; 0 where it names none."""
    (gpu, _), target = _gpu(folded), _ANY.search(folded)
    return arch.most_shared(gpu or (int(target[1].replace(".", "")) if target else 0))


def beyond(folded: str) -> tuple[str, ...]:
    """That bytes of shared memory are more than a block has, where one sentence of the text names them and the GPU."""
    for said in sentences(folded) if _OF_SHARED.search(folded) else ():
        sizes_of = [int(one[1].replace(",", "")) for one in _BYTES.finditer(said)]
        most, asked = room(said), max(sizes_of, default=0)
        if most and most < asked < 4 * most and not _OF_SM.search(said):
            return (
                f"{asked:,} B of shared memory are {asked - most:,} above the {most:,} that a block of this GPU has: the launch is refused; take smaller tiles or fewer stages",
            )
    return ()


def _gpu(folded: str) -> tuple[int, str]:
    """(compute capability as major * 10 + minor, the words that say so) of the GPU that the text names; (0, "") for none."""
    folded = _COMPARED.sub(" ", folded)
    found = _CAPABILITY.search(folded)
    if found:
        number = found["number"] or found["said"] or found["major"] + found["minor"]
        return int(number.replace(".", "")), found[0].strip("( )")
    for name in _DEVICE.findall(folded):
        known = arch.called(name)
        if known or name in _OLDER:
            return (arch.parse_arch(known).number if known else _OLDER[name]), name
    return 0, ""


def too_old(folded: str) -> tuple[str, ...]:
    """That the DSL does not compile for the GPU which the text names."""
    gpu, said = _gpu(folded)
    if 0 < gpu < _FIRST_OF_DSL:
        return (f"the GPU is sm_{gpu} ({said}): the DSL compiles for sm_80 and newer, take another back end",)
    return ()


def guarded(macro: str, folded: str) -> str:
    """For which target the text's GPU is compiled so that it has what a guard of CUTLASS stands around; "" where it names no GPU."""
    gpu, said = _gpu(folded)
    if not gpu:
        return ""
    target = arch.Arch(gpu, "a" if gpu >= _FIRST_OF_A else "")
    need = next((need for words, need in arch.GUARDS.items() if words in macro), arch.EVERYWHERE)
    if not arch.has(target, need):
        return f"The GPU is sm_{gpu} ({said}), which has no such instruction under any target: take a kernel that is made for it"
    plain = str(target).removeprefix("sm_")
    return f"The GPU is sm_{gpu} ({said}): compile for its own target, -gencode arch=compute_{plain},code=sm_{plain}"


def built(folded: str) -> tuple[str, ...]:
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


def shared(name: str, folded: str) -> tuple[str, ...]:
    """What the shared memory that the text prints comes to, next to what a block may have."""
    asked = max((int(one["bytes"]) for one in _SHARED.finditer(folded)), default=0)
    gpu, said = _gpu(folded)
    stated = _OPT_IN.search(folded)
    most = int(stated["bytes"]) if stated else arch.most_shared(gpu)
    if asked and most and asked > most:
        return (f"{asked:,} B of shared memory are above {most:,}, the most that a block of this GPU has",)
    if asked and most and name == "cpp.launch-refused":
        return (f"{asked:,} B of shared memory are within the {most:,} B of a block: they are not the cause",)
    if asked > _DEFAULT_SHARED and name in INVALID:
        return (
            f"{asked:,} B of dynamic shared memory are above {_DEFAULT_SHARED:,}, which a block has without asking: before the launch the kernel's attribute cudaFuncAttributeMaxDynamicSharedMemorySize is set "
            "(CuPy: kernel.max_dynamic_shared_size_bytes)",
        )
    name = f"sm_{gpu}" if said.endswith(f"{gpu}") else f"sm_{gpu} ({said})"
    return (f"the GPU is {name}: a block has at most {most:,} B of shared memory",) if most else ()


def refused(folded: str) -> tuple[str, ...]:
    """The extents of `launched`, in a text that a launch was refused for its configuration."""
    return launched(folded) if _CONFIGURATION.search(folded) else ()


def launched(folded: str) -> tuple[str, ...]:
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


def grid(folded: str) -> tuple[str, ...]:
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


def by_size(folded: str) -> tuple[str, ...]:
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
