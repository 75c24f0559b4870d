"""What the rest of a text says of its error: the kernel, what refuses a call and why, the types that C++ prints."""

from __future__ import annotations

import math
import re

from layoutcheck.algebra import composition, parse_layout
from layoutcheck.catalogue import cpp_stack, devices, guards, results
from layoutcheck.catalogue.meanings import named, read
from layoutcheck.digits import is_number
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import WARP

_ALLOCATED = re.compile(r"(?i)\b(?P<bytes>[0-9][0-9,]{3,8}) (?:bytes|B) (?:of )?(?:dynamic )?shared memory")
_BASE = re.compile(r"(?i)\bbase(?: address)?(?: is| of| at|[ :=]){1,3}(0x[0-9a-f]+)")
_AT_SHARED = re.compile(
    r"Invalid __shared__ \S+ of size (?P<size>[0-9]+).{0,600}?(?P<address>0x[0-9a-f]+) is out of bounds"
)
_RACED = re.compile(
    r"\b(?P<way>Write|Read) access at (?:(?! access at ).){1,600}? in (?P<place>\S{1,200}:[0-9]+)(?: \[(?P<count>[0-9]+) hazards?\])?"
)
_VALUES = re.compile(r"Current Value ?: ?(?P<current>\w+), Incoming Value ?: ?(?P<incoming>\w+)")
_WRITERS = re.compile(r"(?i)\b(?:all|each of the|every one of the) (?P<count>[0-9]{1,4}) (?:lanes|threads)\b")
_ROOM = re.compile(
    r"(?P<count>[0-9]{1,5}|\b[A-Za-z]\w*)`?[- ](?:\w+[- ])?(?:int|float|half|word|byte|element|entry|slot)s?\b[^.;]{0,24}?\b(?:region|array|buffer|row|slice|scratch)"
)
_TILE_N = re.compile(r"(?i)\b(?:tile_?n|bn|block_?n)\b ?[=:] ?(?P<n>[0-9]{1,6})\b")
_REFUSED = re.compile(
    r"`(?P<name>[\w@.-]{2,40})` is not supported because: (?P<why>.{3,200}?)(?= `[\w@.-]{2,40}` is not| HINT:| File |$)"
)
_HINT = re.compile(r"\bHINT: (?P<said>.{10,240}?)(?=\. [A-Z`]|$)")
_MOST_REFUSED = 4
_OF_WRITES = "sanitizer.race-of"
_ON_THE_GPU = ("cuda.", "sanitizer.", "kernel-hangs", "driver.xid")
# of cuda-gdb
_FRAME = re.compile(r"\bin (?P<kernel>[A-Za-z_][\w:]{2,100})(?:<[^<>]{0,200}>)?(?:\([^()]{0,200}\))? ?<<<\(")
_DISTANCE = re.compile(
    r"Invalid __global__ \w+ of size (?P<width>[0-9]{1,2})\b(?:(?!Invalid __).){0,900}? and is (?P<away>[0-9,]{1,11}) bytes (?P<side>after|before) the nearest allocation at 0x[0-9a-f]+ of size (?P<size>[0-9,]{1,15}) bytes"
)
_MISALIGNED = re.compile(
    r"Invalid __\w+__ \S+ of size (?P<size>[0-9]{1,3})\b(?:(?!Invalid __).){0,600}?(?:Address|Access (?:to|at)) (?P<address>0x[0-9a-f]{1,16}) is misaligned"
)
_COUNTED = re.compile(r"ERROR SUMMARY: (?P<errors>[0-9]+) errors?\b")
# "by thread (3,0,0) in block (1,0,0)", "Write Thread (24, 0, 0)", cuda-gdb's "block (0,0,0), thread (0,6,0)".
_THREAD = re.compile(
    r"(?:block \((?P<before>[0-9, ]+)\), )?(?P<way>Read |Write )?[Tt]hread \((?P<thread>[0-9]+, ?[0-9]+, ?[0-9]+)\)(?: in block \((?P<block>[0-9, ]+)\))?"
)
_BLOCK = re.compile(r"<<<\([0-9, ]+\), ?\((?P<x>[0-9]+), ?(?P<y>[0-9]+), ?[0-9]+\)>>>")
_TRIGGERED = re.compile(
    r"triggered at PC 0x[0-9a-f]+ +(?:in |\()?(?:void )?(?P<kernel>(?!for\b|The\b|Thread\b)[a-z_][\w:]{3,100})\b"
)
_STATUS = re.compile(r"(?:\] Error|exit (?:code|status):?|returned non-zero exit status) ([0-9]{1,3})\b")
_EXITS = named("exits")
_BUILT = (
    *devices.INVALID,
    "cpp.launch-refused",
    "cuda.no-function",
    "elsewhere.driver",
    "elsewhere.gpu-too-old",
)
_ASKS = read("addresses")
_ASSERTED = re.compile(
    r"[Aa]ssertion [`'\"](?P<condition>.{2,200}?)(?: && \\?\"(?P<said>[^\"]{5,200})\"?\\?)?[`'\"] failed"
)
_REPLAYED = re.compile(
    r"(?i)cuda_?graphs?\b.{0,60}\breplay|graph\.replay\(|replay\w* (?:of )?(?:the |a )?(?:cuda )?graph"
)
_REPLAY = "a replay of a CUDA graph uses the addresses, extents and tensor maps of the capture: a workspace or an input that was freed, moved or resized since then (or lives in a pool that another graph reuses) is such an address; where the same call is right without the graph, look at what the launch got at its capture"
_MADE = re.compile(
    r"\b(?:torch\.(?:tensor|as_tensor|from_numpy|zeros|ones|empty|full|arange|randn?|randint)|np\.\w+)\((?:[^()]|\([^()]*\)){0,200}\)(?!\.(?:cuda|to)\()"
)
_NO_RACE = "racecheck found no hazard, and it watches shared memory alone: a race between blocks, through global memory, stays unseen"


def facts(name: str, folded: str) -> tuple[str, ...]:
    """Facts about the error of this entry."""
    if name == "results-shape":
        return results.packed(folded)
    if name == "dsl.mma-n":
        wide = _TILE_N.search(folded)
        if wide is None or int(wide["n"]) <= 256:
            return ()
        return (f"{wide[0]} is the tile's extent: {-(-int(wide['n']) // 256)} instructions of N 256 or less",)
    told = devices.built(folded) if name in _BUILT else ()
    if name in (*devices.INVALID, "cpp.launch-refused", "cuda.shared-attribute"):
        told += devices.shared(name, folded)
    extents = (devices.launched, devices.grid, devices.by_size) if name in devices.INVALID else ()
    if name.startswith((*_ON_THE_GPU, *_BUILT)):
        return (
            *(asserted(folded) if name == "cuda.assert" else pointers(folded)),
            *told,
            *kernel(folded),
            *(asked(folded) if "misaligned" in name or not name.startswith("sanitizer.") else ()),
            *distance(folded),
            *misaligned(folded),
            *threads(folded, name.endswith("-of-one")),
            *(overlapping(folded) if name.startswith(_OF_WRITES) else raced(folded)),
            *overrun(folded),
            *(fact for of in extents for fact in of(folded)),
        )
    if name == "elsewhere.build":
        return _exit(folded)
    if name.startswith("cpp."):
        return _composed(folded)
    return ()


def overrun(folded: str) -> tuple[str, ...]:
    """Where a shared address lies beside the end of the block's memory, in a text that names its bytes, its base and the access."""
    size, base, at = _ALLOCATED.search(folded), _BASE.search(folded), _AT_SHARED.search(folded)
    if not (size and base and at):
        return ()
    end = int(base[1], 16) + int(size[1].replace(",", ""))
    address, count = int(at["address"], 16), int(at["size"])
    past = address + count - end
    warp = f"the {count // 4} B of one warp of four end at {address + count // 4:#x}"
    inside = ", inside" * (address + count // 4 <= end)
    where = f"{past} B behind it; {warp}{inside}" if past > 0 else "inside"
    return (
        f"the block's shared memory ends at {end:#x}: {count} B at {address:#x} end at {address + count:#x}, {where}",
    )


def raced(folded: str) -> tuple[str, ...]:
    """The lines of the accesses of which racecheck says that they race, with its counts."""
    every = [(one["way"].lower(), one["place"], one["count"]) for one in _RACED.finditer(folded)]
    if len({way for way, *_ in every}) < 2 and len(every) < 2:
        return ()
    (way, place, _), *others = dict.fromkeys(every)
    said = ", ".join(
        f"the {other} at {at}" + (f" ({count} hazards)" if count else "") for other, at, count in others
    )
    tile = " Among threads of one tile of 32 its sync(), or __syncwarp(), is enough." * (
        "thread_block_tile<(unsigned int)32" in folded or "thread_block_tile<32" in folded
    )
    return (
        f"the {way} at {place} races with {said}: a barrier is needed between them in the order of the program, and in a loop on the way back as well (a read before the next write).{tile}",
    )


def overlapping(folded: str) -> tuple[str, ...]:
    """That more lanes write than their region has elements, or what two lanes of one instruction store, where a text tells it."""
    writers, room = _WRITERS.search(folded), _ROOM.search(folded)
    given = re.search(rf"\b{room['count']}`? ?(?:==?|is|of) ?([0-9]{{1,5}})\b", folded) if room else None
    extent = room["count"] if room and is_number(room["count"]) else given[1] if given else ""
    values = _VALUES.search(folded)
    if writers and room and extent and int(writers["count"]) > int(extent):
        return (
            f"the text itself tells it: {writers[0]} write, and the {room[0].rpartition(' ')[2]} has {extent} elements: lanes from {extent} on write into what lies behind it, which no barrier mends",
        )
    if values is None or values["current"] == values["incoming"]:
        return ()
    return (f"they store {values['current']} and {values['incoming']}, which differ",)


def refusals(folded: str) -> tuple[str, ...]:
    """Why a library's kernels refuse a call, each by its name, where the message lists them; the hint below; what a tool saw."""
    found = [f"{one['name']}: {one['why'].strip()}" for one in _REFUSED.finditer(folded)]
    hint = _HINT.search(folded)
    seen = (_NO_RACE,) if "RACECHECK SUMMARY: 0 hazards" in folded else ()
    return (*found[:_MOST_REFUSED], *((f"the message's hint: {hint['said']}",) if hint else ()), *seen)


def distance(folded: str) -> tuple[str, ...]:
    """How far an access lies from an allocation, in elements of its own size, where compute-sanitizer prints both."""
    found = _DISTANCE.search(folded)
    if found is None:
        return ()
    away, size, width = (int(found[name].replace(",", "")) for name in ("away", "size", "width"))
    # The first byte behind an allocation is 1 byte after it.
    index = (away - 1 + (size if found["side"] == "after" else 0)) // width
    where = (
        f"at index {index} of its {size // width}"
        if found["side"] == "after"
        else f"{away} B before it, at index {-(-away // width) * -1}: an index that is negative (-1 for none, a product that wrapped, an offset taken off)"
    )
    return (f"of elements of {width} B the access is {where}, in an allocation of {size:,} B",)


def threads(folded: str, alone: bool = False) -> tuple[str, ...]:
    """Which threads and blocks a tool names: the warps of two that race (by one instruction `alone`), the lane of one that faults, what many have in common.

    Without the extents of the block its threads are in a line where no thread of the text has y or z.
    """
    launch = _BLOCK.search(folded)
    extents = (int(launch["x"]), int(launch["y"])) if launch else (0, 0)
    every = list(_THREAD.finditer(folded))
    places = [tuple(map(int, one["thread"].split(","))) for one in every]
    if not places or (launch is None and any(y or z for _, y, z in places)):
        return ()
    lines = [x + extents[0] * (y + extents[1] * z) for x, y, z in places]
    warps = [line // WARP for line in lines]
    ways = [(one["way"] or "").strip().lower() for one in every]
    if all(ways[:2]) and len(every) > 1 and lines[0] != lines[1]:
        return (_racing(lines, warps, ways, alone),)
    blocks = sorted({one["block"] or one["before"] for one in every} - {None})
    if len(set(lines)) == 1:
        of = f" of block ({blocks[0]})" if len(blocks) == 1 else f" of {len(blocks)} blocks" if blocks else ""
        return (f"thread {lines[0]}{of} does it: lane {lines[0] % WARP} of warp {warps[0]}",)
    counted = _COUNTED.search(folded)
    every_one = counted is not None and int(counted["errors"]) == len(every)
    whose = f"block ({blocks[0]})" if len(blocks) == 1 else f"{len(blocks)} blocks"
    of_warps = f"warp {warps[0]}" if len(set(warps)) == 1 else f"warps {min(warps)} to {max(warps)}"
    named = f"{min(lines)} to {max(lines)} ({of_warps}), of {whose}"
    return (
        f"{len(set(lines))} threads do it, {named}{' alone' * (len(blocks) == 1)}: the condition that lets them in is the one to look at"
        if every_one
        else f"the text names threads {named}; more may do it",
    )


def _racing(lines: list[int], warps: list[int], ways: list[str], alone: bool) -> str:
    """What orders the two accesses of a race: a barrier of the warp, or one of the block; nothing within one instruction `alone`."""
    pair = f"thread {lines[0]} ({ways[0]}) and thread {lines[1]} ({ways[1]})"
    if warps[0] == warps[1]:
        return f"{pair} are lanes {lines[0] % WARP} and {lines[1] % WARP} of one warp, {warps[0]}{': __syncwarp() between the two lines orders them' * (not alone)}"
    ordered = ": __syncwarp() does not order them; it takes __syncthreads(), a named barrier or an mbarrier between the two lines"
    return f"{pair} are of two warps, {warps[0]} and {warps[1]}{ordered * (not alone)}"


def misaligned(folded: str) -> tuple[str, ...]:
    """To how much the addresses are aligned that compute-sanitizer calls misaligned, and so which access would fit them all."""
    found = list(_MISALIGNED.finditer(folded))
    shared = math.gcd(*(int(one["address"], 16) for one in found)) if found else 0
    width = max((int(one["size"]) for one in found), default=0)
    fits = math.gcd(shared, width)
    if not 0 < fits < width:
        return ()
    several = f"the {len(found)} addresses are multiples"
    those = several if len(found) > 1 else f"{found[0]['address']} is a multiple"
    return (
        f"{those} of {fits} B alone, and the access takes {width}: a base, pitch or offset is a multiple of {fits} B and of no more; accesses of {fits} B or less fit",
    )


def asked(folded: str) -> tuple[str, ...]:
    """What the instruction asks of its addresses that a report of a fault names first."""
    found = [(match, one) for one in _ASKS if (match := one.words.search(folded))]
    match, one = min(found, key=lambda one: one[0].start(), default=(None, None))
    return (f"the text names {match[0]}: of {one.name} {one.cause}",) if match and one else ()


def asserted(folded: str) -> tuple[str, ...]:
    """What the assertion of a kernel says that has failed."""
    found = _ASSERTED.search(folded)
    if found is None:
        return ()
    said = f", that is: {found['said']}" if found["said"] else ""
    words = guards.in_words(found["condition"]) or found["condition"]
    return (f"what has to hold, and does not: {words}{said}",)


def pointers(folded: str) -> tuple[str, ...]:
    """Where the text itself hands a kernel an address that its GPU does not have: of the host, or of a graph's capture."""
    made = next((one[0] for one in _MADE.finditer(folded) if "device" not in one[0]), "")
    host = f"{made} is memory of the host, unless a default device is set: a kernel that gets its address faults; give device='cuda'"
    return (*((host,) if made else ()), *((_REPLAY,) if _REPLAYED.search(folded) else ()))


def kernel(folded: str) -> tuple[str, ...]:
    """Which kernel cuda-gdb or the tool names, where the text has it."""
    found = _FRAME.search(folded) or _TRIGGERED.search(folded)
    return (f"the kernel is {found['kernel']}",) if found else ()


def _exit(folded: str) -> tuple[str, ...]:
    """What the status means with which make says that a command ended."""
    status = next((_EXITS[one] for one in _STATUS.findall(folded) if one in _EXITS), "")
    return (status,) if status else ()


def _composed(folded: str) -> tuple[str, ...]:
    """What the composition that the instantiations print comes to: the mode that does not divide, where it has no result."""
    failure = cpp_stack.asserted(folded)
    made = failure.giving("LShape", "LStride", "RShape", "RStride") if failure else None
    parts = [made.shown(name) for name in ("LShape", "LStride", "RShape", "RStride")] if made else []
    if parts and all(parts):
        left, right = f"{parts[0]}:{parts[1]}", f"{parts[2]}:{parts[3]}"
        try:
            composition(parse_layout(left), parse_layout(right))
        except InputError as error:
            return (f"composition({left}, {right}) has no result: {error.message}",)
    return ()
