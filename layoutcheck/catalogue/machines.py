"""What the machine makes of the instructions, targets and registers that a text names: MMAs of no such shape, targets without an instruction, groups of cp.async."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutcheck.catalogue.figures import TYPES, sentences
from layoutcheck.catalogue.snippets import ROLES
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import BLACKWELL_FORMS, GUARDS, Arch, Needs, has, parse_arch

_SHAPE = re.compile(
    r"(?i)\b(?P<unit>wgmma|gmma|tcgen05|umma)\b[^;]{0,40}?\bm(?P<m>[0-9]{1,3})n(?P<n>[0-9]{1,3})k(?P<k>[0-9]{1,3})\b"
)
_TYPE = re.compile(rf"(?i)\b(?P<type>{'|'.join(TYPES)})\b")
_NAMES = {"bf16": "bf16", "bfloat16": "bf16", "fp16": "f16", "float16": "f16", "half": "f16", "f16": "f16", "tf32": "tf32", "fp8": "e4m3", "e4m3": "e4m3", "e5m2": "e5m2"}  # fmt: skip
_OTHER_FORMS = re.compile(r"(?i)sparse|\.sp\b|block[ -_]?scale|\bmx\w*f[48]|nvfp4")  # whose K is another
_TARGETS = {"wgmma": "sm_90a", "tcgen05": "sm_100a"}
# Where an instruction exists: the atoms' own, and what CUTLASS guards [PTX ISA, target notes].
_INSTRUCTIONS: tuple[tuple[str, re.Pattern[str], Needs], ...] = (
    ("wgmma", re.compile(r"(?i)\bwgmma\b"), GUARDS["MMA_SM90A"]),
    ("tcgen05", re.compile(r"(?i)\b(?:tcgen05|umma)\b"), GUARDS["TCGEN05"]),
    ("cp.async.bulk", re.compile(r"(?i)\bcp\.async\.bulk\b"), Needs(Arch(90))),
    ("stmatrix", re.compile(r"(?i)\bstmatrix\b"), Needs(Arch(90))),
    ("cp.async", re.compile(r"(?i)\bcp\.async(?!\.bulk)\b"), Needs(Arch(80))),
    ("cvt with .e2m1x2", re.compile(r"(?i)\bcvt\.[\w.]*\.e(?:2m1|2m3|3m2)x2\b"), BLACKWELL_FORMS),
    ("cvt with .e4m3x2 or .e5m2x2", re.compile(r"(?i)\bcvt\.[\w.]*\.e[45]m[23]x2\b"), Needs(Arch(89))),
    ("ldmatrix", re.compile(r"(?i)\bldmatrix\b"), Needs(Arch(75))),
)
_TARGET = re.compile(r"\b(?:sm|compute)_(?P<number>[0-9]{2,3}[af]?)\b(?!/)")  # CuTe's own SM90:: is none
_FAILS = re.compile(
    r"(?i)\bfail|\berror|\billegal|\bunsupported|not supported|\bunavailable|not available|\binvalid|\bcannot|n't (?:work|compile|run|assemble)|\brefus|\breject"
)
_WAIT = re.compile(
    r"(?i)\b(?:cp\.async\.wait_group|cp_async_wait(?:_group)?|wait_group) ?[<(]? ?(?P<left>[0-9])\b"
)
_COMMITTED = re.compile(
    r"(?i)(?<![a-z])commit(?:s|ted)?(?:_group\w*)?(?:\(\))?(?: is| are| was)?(?: called)? (?P<count>[1-9]) ?(?:times|groups|x\b)|\b(?P<before>[1-9]) (?:groups (?:are |were )?committed|commits\b|commit[_ ]groups?\b)"
)
_ACCUMULATOR = re.compile(
    r"(?i)\b(?P<m>[0-9]{2,3}) ?[x×] ?(?P<n>[0-9]{2,3})(?: (?:f32|fp32|float32))? accumulators?\b|\baccumulators?(?: tile)?(?: is| of| are)? \(?(?P<rows>[0-9]{2,3}) ?[x×,] ?(?P<columns>[0-9]{2,3})\)?"
)
_THREADS = re.compile(r"\b(?P<count>[0-9]{2,4}) threads\b")
_LAUNCH = re.compile(r"(?i)too many resources|LaunchOutOfResources|LAUNCH_OUT_OF_RESOURCES")
_USED = re.compile(
    r"(?i)\b(?P<count>[0-9]{2,3}) registers\b(?! per block)|\bregisters per thread\W{1,3}(?P<each>[0-9]{2,3})\b"
)
_BLOCK = re.compile(
    r"(?i)\bblock(?:_?(?:size|dim))?s?\b(?: is| of|[ =:(\[]){1,4}(?P<block>[0-9]{2,4})(?:x1x1|(?: ?, ?1)*)?\b|\b(?P<threads>[0-9]{2,4}) threads\b"
)
_IN_TENSOR_MEMORY = re.compile(r"(?i)\btmem\b|tensor memory|\btcgen05|\bumma\b")
_OF_REGISTERS = re.compile(r"(?i)\bspill|\bregisters?\b")


def told(folded: str) -> tuple[str, ...]:
    """What the machine's own limits decide of the numbers in a text."""
    every = (_shapes, targets, _groups, _registers, _launched)
    return tuple(fact for one in every for fact in one(folded))


def _shapes(folded: str) -> Iterator[str]:
    """That wgmma or tcgen05 has no MMA of the shape and type that the text names."""
    found = _SHAPE.search(folded)
    types = {_NAMES.get(one["type"].lower(), "") for one in _TYPE.finditer(folded)} - {""}
    if found is None or _OTHER_FORMS.search(folded) or len(types) != 1:
        return
    from layoutcheck.numerics.units import unit  # of the units' shapes, which other texts do not need

    kind = "wgmma" if found["unit"].lower().endswith("gmma") else "tcgen05"
    name = f"{kind}.m{found['m']}n{found['n']}k{found['k']}.f32.{types.pop()}"
    try:
        unit(name, _TARGETS[kind])
    except InputError as error:
        yield f"{error.message}: it takes {error.expected}"


def targets(folded: str) -> Iterator[str]:
    """That the one target of a text has no such instruction as its sentence names."""
    names = {one["number"].lower() for one in _TARGET.finditer(folded)}
    said = next((one for one in sentences(folded) if _TARGET.search(one)), "")
    if len(names) != 1 or not _FAILS.search(said):
        return
    try:
        target = parse_arch(names.pop())
    except InputError:
        return
    for name, words, need in _INSTRUCTIONS:
        if words.search(said) and not has(target, need):
            first = f"{need.first}"
            only = (
                f", and only in the families {', '.join(f'sm_{one}x' for one in need.families)}"
                if need.families
                else ""
            )
            yield f"{target} has no {name}: it begins with the target {first}{only}"
            return


def _groups(folded: str) -> Iterator[str]:
    """Which of the committed groups of cp.async a wait leaves in flight."""
    waits = {int(one["left"]) for one in _WAIT.finditer(folded)}
    counts = {int(one["count"] or one["before"]) for one in _COMMITTED.finditer(folded)}
    if len(waits) != 1 or len(counts) != 1:
        return
    (left,), (count,) = waits, counts
    if left >= count:
        yield f"behind {count} committed group{'s' * (count > 1)} of cp.async a wait that leaves {left} in flight waits for none of them: the first has landed behind a wait for {count - 1} or fewer, all behind a wait for 0"
    elif left:
        landed = count - left
        yield f"behind {count} committed groups of cp.async a wait that leaves {left} in flight has the {'oldest' if landed == 1 else f'oldest {landed}'} landed, and not the {'youngest' if left == 1 else f'youngest {left}'}: the last one has landed behind a wait for 0"


def _registers(folded: str) -> Iterator[str]:
    """The registers of a thread that an accumulator of float32 takes."""
    tile, threads = _ACCUMULATOR.search(folded), {int(one["count"]) for one in _THREADS.finditer(folded)}
    if tile is None or len(threads) != 1 or not _OF_REGISTERS.search(folded):
        return
    if ROLES.search(folded) or _IN_TENSOR_MEMORY.search(folded):  # it is of some of the threads, or of none
        return
    from layoutcheck.numerics.resources import MOST_REGISTERS

    m, n = int(tile["m"] or tile["rows"]), int(tile["n"] or tile["columns"])
    (count,) = threads
    each = -(-m * n // max(count, 1))
    over = (
        f"above the {MOST_REGISTERS} of a thread: the rest is spilled; take a smaller tile or {-(-m * n // MOST_REGISTERS // 128) * 128} threads or more"
        if each > MOST_REGISTERS
        else f"of the {MOST_REGISTERS} of a thread"
    )
    yield f"an accumulator of {m} x {n} float32 among {count} threads takes {each} registers in each, {over}"


def _launched(folded: str) -> Iterator[str]:
    """How many registers a thread may have for a block of so many threads whose launch is refused, or how many threads they leave."""
    if not _LAUNCH.search(folded):
        return
    from layoutcheck.numerics.resources import MAX_THREADS, MOST_REGISTERS, REGISTERS, most_threads

    blocks = {int(one["block"] or one["threads"]) for one in _BLOCK.finditer(folded)}
    used = {int(one["count"] or one["each"]) for one in _USED.finditer(folded)}
    if len(used) == 1:
        (each,) = used
        threads = most_threads(each)
        asked = next((one for one in sorted(blocks) if one > threads), 0)
        said = (
            f"{each} registers a thread x {asked} threads are {each * asked:,}, above the {REGISTERS:,} of a multiprocessor; "
            if asked
            else ""
        )
        yield f"{said}{each} registers a thread let a block have {threads} threads at the most: launch no more, or compile for more threads by __launch_bounds__({asked or 'threads'}) or -maxrregcount"
    elif len(blocks) == 1 and not used and max(blocks) <= MAX_THREADS:
        (count,) = blocks
        most = next(one for one in range(MOST_REGISTERS, 0, -1) if most_threads(one) >= count)
        yield f"a block of {count} threads fits with {most} registers a thread or fewer: __launch_bounds__({count}) on the kernel keeps the compiler below it"
