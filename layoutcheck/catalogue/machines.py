"""What the machine makes of the targets and registers that a text names: targets without an instruction, launches that do not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutcheck.catalogue.figures import sentences
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import BLACKWELL_FORMS, GUARDS, MAX_BLOCK_THREADS, Arch, Needs, has, parse_arch

# Where an instruction exists: the atoms' own, and what CUTLASS guards [PTX ISA, target notes].
_INSTRUCTIONS: tuple[tuple[str, re.Pattern[str], Needs], ...] = (
    ("wgmma", re.compile(r"(?i)\bwgmma\b"), GUARDS["MMA_SM90A"]),
    ("block-scaled mma.sync", re.compile(r"(?i)\bmma with block[ _]scale"), Needs(Arch(120, "a"), (12,))),
    ("block-scaled MMA", re.compile(r"(?i)block[ _]scale|\.?kind::mxf|scale_vec"), BLACKWELL_FORMS),
    ("setmaxnreg", re.compile(r"(?i)\bsetmaxnreg\b"), Needs(Arch(90, "a"))),
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
_TOLD_BYTES = re.compile(r"\bmbarrier_init_tx_bytes\(")
_INITIALISED = re.compile(r"\bmbarrier_init(?:_arrive_cnt)?\(")
_LAUNCH = re.compile(r"(?i)too many resources|LaunchOutOfResources|LAUNCH_OUT_OF_RESOURCES")
_USED = re.compile(
    r"(?i)\b(?P<count>[0-9]{2,3}) registers\b(?! per block)|\bregisters per thread\W{1,3}(?P<each>[0-9]{2,3})\b"
)
_BLOCK = re.compile(
    r"(?i)\bblock(?:_?(?:size|dim))?s?\b(?: is| of|[ =:(\[]){1,4}(?P<block>[0-9]{2,4})(?:x1x1|(?: ?, ?1)*)?\b|\b(?P<threads>[0-9]{2,4}) threads\b"
)


def told(folded: str) -> tuple[str, ...]:
    """What the machine's own limits decide of the numbers in a text."""
    every = (targets, _launched, _uninitialised)
    return tuple(fact for one in every for fact in one(folded))


def needed(said: str) -> tuple[str, Needs] | None:
    """The instruction that a message names, and where it exists; None where it is not known."""
    return next(((name, need) for name, words, need in _INSTRUCTIONS if words.search(said)), None)


def _uninitialised(folded: str) -> Iterator[str]:
    """That a barrier is told bytes by a call that only sounds as if it initialised it."""
    if _TOLD_BYTES.search(folded) and not _INITIALISED.search(folded):
        yield "mbarrier_init_tx_bytes does not initialise a barrier: it arrives, and expects bytes, on one that nothing has initialised; one thread calls mbarrier_init(bar, count) first, then come mbarrier_init_fence() and a barrier of the block (NVIDIA/cutlass#2364)"


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
            yield lacks(target, name, need)
            return


def lacks(target: Arch, name: str, need: Needs) -> str:
    """That a target has no such instruction, and where it begins."""
    families = f", and only in the families {', '.join(f'sm_{one}x' for one in need.families)}"
    return f"{target} has no {name}: it begins with the target {need.first}{families * bool(need.families)}"


def _launched(folded: str) -> Iterator[str]:
    """How many registers a thread may have for a block of so many threads whose launch is refused, or how many threads they leave."""
    if not _LAUNCH.search(folded):
        return
    from layoutcheck.numerics.resources import REGISTERS, most_registers, most_threads

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
    elif len(blocks) == 1 and not used and max(blocks) <= MAX_BLOCK_THREADS:
        (count,) = blocks
        yield f"a block of {count} threads fits with {most_registers(count)} registers a thread or fewer: __launch_bounds__({count}) on the kernel keeps the compiler below it"
