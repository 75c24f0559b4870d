"""What the code in a report decides: the layouts that it writes, what its tiled copies cover, what its swizzles keep together.

Only what stands in numbers is read: a layout of names is left out, and so is a copy whose layouts or element type are not given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from layoutcheck.algebra import Layout, cosize, parse_layout, size
from layoutcheck.brackets import closing, split
from layoutcheck.catalogue import calls, cpp_types, symptoms
from layoutcheck.errors import InputError

_LONGEST = 6000  # characters of a text that are read
_MOST, _FEW = 4, 3  # facts, layouts
_MADE = re.compile(
    r"(?:\b(?P<name>\w+) ?= ?)?(?:cute(?:::|\.))?(?:make_layout ?(?=\()|\bLayout ?(?=<(?:cute::)?Shape))"
)
_TILED = re.compile(r"\bmake_tiled_copy(?:_tv)? ?(?=\()")
_STATIC = re.compile(
    r"(?:cute(?:::|\.))?(?:make_(?:shape|stride|coord)|Shape|Stride|tuple) ?(?=[(<])|Int<(?P<int>[0-9]+)> ?\{\}|C<(?P<c>[0-9]+)>|\b_(?P<static>[0-9]+)(?: ?\{\})?"
)
_SWIZZLE = re.compile(
    r"\b(?:Swizzle ?<|make_swizzle ?\() ?(?P<bits>[0-9]), ?(?P<base>[0-9]), ?(?P<shift>[0-9]) ?[>)]"
)
_FLAG = re.compile(r"[ ,]*(?:cute::)?smem_ptr_flag")  # of a swizzle of addresses in bytes
_WIDTH = re.compile(
    r"num_bits_per_copy ?= ?(?P<bits>[0-9]{1,4})|(?:UniversalCopy|CP_ASYNC\w*|Copy|VectorizingCopy\w*) ?< ?(?:cute::)?u?int(?P<word>[0-9]{1,3})_t"
)
# A branch that not all threads of a block take, and the barrier that all must reach.
_BRANCH = re.compile(
    r"\b(?:if|while)(?P<condition> ?\([^{};]{0,120}?\b(?:threadIdx|warp_?id|warp_?idx|lane_?id|tid[xyz]?|tidx|warp_?group\w*|elect_one\w*)\b[^{};]{0,120}\) ?)\{|\bif (?P<python>[^:\n]{0,80}\b(?:tidx|tid|warp_idx|lane_idx|lane_id|elect_one\w*)\b[^:\n]{0,80}):\n"
)
_ALL_MEET = re.compile(
    r"\b__syncthreads ?\(|\b(?:cute\.arch\.)?sync_threads ?\(|\b(?:cute\.arch\.)?barrier ?\(\)"
)
_BARE = re.compile(r"(?:\w+ ?[=:]? ?)?(?P<layout>\([0-9, ]+\)(?: ?: ?\([0-9, ]+\))?)")
_LAUNCHED = re.compile(
    r"(?i)\b(?:launch\w*|block|cta|kernel)\b[^.;\n()0-9]{0,30}\b(?P<said>[0-9]{2,4}) threads\b|\bblock(?:_?dim)? ?= ?[\[(](?P<block>[0-9]{2,4})(?: ?, ?1){0,2} ?[\])]"
)
_SOME = re.compile(r"\b([0-9]{2,4}) threads\b")
ROLES = re.compile(r"(?i)warp[- _]?speciali|\bproducer|\bdma warps?|\bload warps?")  # of which some copy
_OF_TRAITS = re.compile(r"(?:Src|Dst|Ref)Layout")
_TYPES = {"Float16": "half_t", "BFloat16": "bfloat16_t", "Float32": "float", "TFloat32": "tfloat32_t", "Int8": "int8_t", "Float8E4M3FN": "float_e4m3_t", "half": "half_t", "Int32": "int"}  # fmt: skip
_TYPE = re.compile(
    r"(?:\b_t, ?|\b(?:over|of) |Copy_Atom<.{1,60}?>, ?(?:cute::|cutlass::)?|cutlass\.|cute::|cutlass::|cute\.)(?P<type>Float16|BFloat16|Float32|TFloat32|Int8|Int32|Float8E4M3FN|half_t|bfloat16_t|tfloat32_t|float_e4m3_t|float|int8_t|half)\b"
)


_PART = re.compile(
    r"\b[a-z]\w*\.(?:split\([^()\"']{0,60}\bdim ?= ?|(?:chunk|unbind)\([^()\"']{0,60}, ?(?:dim ?= ?)?)(?:-1|[1-9])\)"
)  # along other than the first mode

_VECTOR = r"(?:u?int|float|u?short|u?char|double|longlong|ulonglong)[234]|uint128_t"
_CAST = re.compile(
    rf"(?:reinterpret_cast ?< ?|\( ?)(?:const )?(?:cute::)?(?P<wide>{_VECTOR}) ?(?:const )?\* ?[)>] ?\(?&?(?P<name>[a-zA-Z]\w*)"
)
_ARRAY = re.compile(
    rf"(?P<aligned>\b(?:alignas|__align__) ?\([^()]*\) ?|\bextern __shared__ )?(?P<type>(?<!const )\b(?:{_VECTOR}|u?int(?:8|16|32|64)_t|float|double|int|unsigned|char|short|(?:__)?half2?|(?:__)?nv_bfloat162?)) (?P<name>[a-zA-Z]\w*) ?\[[^\];=]*\] ?[;=]"
)
_BYTES = {"char": 1, "short": 2, "half": 2, "bfloat16": 2, "int": 4, "unsigned": 4, "float": 4, "double": 8, "longlong": 8}  # fmt: skip
_SIZED = re.compile(rf"_*(?:nv_)?u?({'|'.join(_BYTES)})(8|16|32|64|128)?(?:_t)?([234])?")


class Code(NamedTuple):
    """`layouts` by name, "" for those without; `bits` of one instruction and of one element, and the threads of a block, 0 where the text does not tell."""

    layouts: dict[str, Layout]
    bits: int = 0
    element: int = 0
    threads: int = 0


def facts(text: str) -> tuple[str, ...]:
    """What the numbers of the code in a text decide; none where it has no code with numbers."""
    code = text[:_LONGEST]
    read = Code(_layouts(code), _instruction(code), _element(code), _threads(code))
    told = (
        _results(code, read),
        _copies(code, read),
        _swizzles(code, read),
        _traits(read),
        _barriers(code),
        _views(code),
        _casts(code),
    )
    return tuple(one for every in told for one in every)[:_MOST] or tuple(_made(read))


def _views(code: str) -> list[str]:
    """That the parts of a tensor which the code cuts are views, with its pitch."""
    found = _PART.search(code)
    if found is None:
        return []
    return [
        f"`{found[0]}` gives views: each row keeps the pitch of the whole tensor, so that they are not packed; a kernel that takes no strides, or packed ones, reads other rows: hand it .stride(), or .contiguous() first"
    ]


def _casts(code: str) -> list[str]:
    """That an array is accessed by a vector that is wider than what its type aligns it to: cast by its name, or as an argument of a function that casts it."""
    about = "misalign" in code.lower() or "unaligned" in code.lower()
    wide = {one["name"]: one["wide"] for one in _CAST.finditer(code) if about}
    for one in tuple(wide):
        for head in re.finditer(
            rf"\b(?P<called>\w+) ?\((?P<given>[^(){{}};]*\b{one}\b[^(){{}};]*)\)\s*\{{", code
        ):
            at = next(at for at, part in enumerate(split(head["given"])) if re.search(rf"\b{one}\b", part))
            for call in re.finditer(
                rf"\b{head['called']} ?(?:<[^<>]*> ?)?\((?P<given>[^(){{}};]*)\) ?;", code
            ):
                given = [part.strip("& ") for part in split(call["given"])]
                wide |= {given[at]: wide[one]} if at < len(given) else {}
    return [
        f"`{made['type']} {made['name']}[]` is aligned to {have} bytes, and is accessed as {wide[made['name']]}, by {need}: a cast asserts that and does not see to it, so that it faults where the array lies in memory (a debug build, an index of the run) at no multiple of {need}; declare it alignas({need}), or copy {have} bytes at a time (LC202)"
        for made in _ARRAY.finditer(code)
        if made["name"] in wide
        and not made["aligned"]
        and (have := _aligned(made["type"])) < (need := _aligned(wide[made["name"]]))
    ]


def _aligned(typed: str) -> int:
    """The bytes that a type of CUDA is aligned to [CUDA Programming Guide, built-in vector types]."""
    base, bits, count = _SIZED.fullmatch(typed).groups()  # type: ignore[union-attr] (_ARRAY has no other)
    return min((int(bits) // 8 if bits else _BYTES[base]) * int((count or "1").replace("3", "1")), 16)


def results(text: str) -> list[str]:
    """What each call of the layout algebra in a text comes to, whose arguments stand there."""
    code = text[:_LONGEST]
    return _results(code, Code(_layouts(code))) if calls.stand_in(code) else []


def _results(code: str, read: Code) -> list[str]:
    return calls.facts(code, lambda argument: _named(argument, read))


def _made(read: Code) -> list[str]:
    """What each named layout of the code is, where there are few and nothing is made of them."""
    every = read.layouts if len(read.layouts) <= _FEW else {}
    return [f"{name} = {one}: {symptoms.described(one)}" for name, one in every.items()]


def _barriers(code: str) -> list[str]:
    """That a barrier of all threads stands in a branch which a part of them takes."""
    pairs = ((found, _ALL_MEET.search(_inside(code, found))) for found in _BRANCH.finditer(code))
    found, barrier = next((pair for pair in pairs if pair[1]), (None, None))
    if not (found and barrier):
        return []
    branch = " ".join((found["condition"] or found["python"]).split()).strip("() ")
    return [
        f"{barrier[0].rstrip('( )')} stands in the branch `{branch}`, and is reached by all threads of the block or by none: where the condition differs among them, the others are waited for in vain, or pass early (LC520): take a named barrier of as many threads as take the branch, or move it out"
    ]


def _inside(code: str, branch: re.Match[str]) -> str:
    """What a branch holds, between its braces or by its indentation."""
    if branch["python"] is None:
        try:
            return code[branch.end() : closing(code, branch.end() - 1)]
        except InputError:
            return code[branch.end() :]
    start = code.rfind("\n", 0, branch.start()) + 1
    margin = code[start:][: len(code[start:]) - len(code[start:].lstrip(" \t"))]
    held = re.compile(rf"(?:{margin}[ \t]+[^\n]*\n|[ \t]*\n)*").match(f"{code}\n", branch.end())
    return held[0] if held else ""


def _layouts(code: str) -> dict[str, Layout]:
    found: dict[str, Layout] = {}
    for match in _MADE.finditer(code):
        layout = _layout(code, match.end())
        if layout is not None and match["name"]:
            found[match["name"]] = layout
    return found


def _layout(code: str, start: int) -> Layout | None:
    """The layout whose arguments begin with the bracket at `start`, column-major where it has no strides; None for one of names."""
    try:
        inside = code[start + 1 : closing(code, start) - 1]
    except InputError:
        return None
    plain = _STATIC.sub(lambda one: one["int"] or one["c"] or one["static"] or "", inside).replace("{}", "")
    parts = [one.strip() for one in split(plain.translate(str.maketrans("<>{}", "()()")))]
    shape, stride = (*parts, "", "")[:2]
    stride = stride.partition("=")[2].strip() or stride
    if not re.fullmatch(r"[0-9(), ]+", shape + stride):
        return None
    try:
        return parse_layout(f"{shape}:{stride}" if stride else shape)
    except InputError:
        return None


def _instruction(code: str) -> int:
    found = _WIDTH.search(code)
    return int(found["bits"] or found["word"]) if found else 0


def _element(code: str) -> int:
    """The bits of an element, where all types that the code gives have as many."""
    each = {cpp_types.bits_of(_TYPES.get(one["type"], one["type"])) for one in _TYPE.finditer(code)}
    return each.pop() if len(each) == 1 else 0


def _threads(code: str) -> int:
    """The threads of a block, where the text names one number of them."""
    found = {int(one["said"] or one["block"]) for one in _LAUNCHED.finditer(code)}
    others = {int(one[1]) for one in _SOME.finditer(code)} - found  # of a warp group, or another kernel
    return found.pop() if len(found) == 1 and not others and not ROLES.search(code) else 0


def tiled(text: str) -> tuple[Layout, Layout] | None:
    """The thread and the value layout of the one tiled copy that a text makes of numbers; None of more or none."""
    code = text[:_LONGEST]
    found = list(_tilings(code, Code(_layouts(code))))
    return found[0] if len(found) == 1 else None


def _copies(code: str, read: Code) -> list[str]:
    """What each tiled copy covers, and whether its values are whole instructions."""
    return list(dict.fromkeys(_covered(*pair, read) for pair in _tilings(code, read)))


def _tilings(code: str, read: Code) -> Iterator[tuple[Layout, Layout]]:
    """The thread and value layouts of each tiled copy that has both in numbers."""
    for match in _TILED.finditer(code):
        try:
            given = split(code[match.end() + 1 : closing(code, match.end()) - 1])
        except InputError:
            continue
        pair = [_named(one.strip(), read) for one in given[-2:]]
        if len(given) == 3 and pair[0] is not None and pair[1] is not None:
            yield pair[0], pair[1]


def _traits(read: Code) -> list[str]:
    """The layouts of an instruction's traits: how many threads, values and bits each has."""
    return [
        f"{name} {layout}: {size(layout)} pairs of thread and value in {cosize(layout)} bits"
        for name, layout in read.layouts.items()
        if _OF_TRAITS.fullmatch(name)
    ]


def _named(argument: str, read: Code) -> Layout | None:
    """The layout of an argument: `thr`, `thr{}`, `thr_layout=thr`, `thr (16,8)`, or one that is made in place."""
    value = argument.rpartition("=")[2].strip().removesuffix("{}")
    made, bare = _MADE.search(argument), _BARE.fullmatch(argument)
    if bare:
        return parse_layout(bare["layout"])
    return read.layouts.get(value) or (_layout(argument, made.end()) if made else None)


def _covered(threads: Layout, values: Layout, read: Code) -> str:
    each = [_extents(threads), _extents(values)]
    rank = max(map(len, each))
    tile = [prod(one[at] for one in each if at < len(one)) for at in range(rank)]
    said = f"the tiled copy has {size(threads)} threads x {size(values)} values: it covers ({','.join(map(str, tile))})"
    count = int(str(size(threads)))
    if read.threads > count:
        said += f"; a block of {read.threads} has {read.threads - count} more, whose slices begin behind the tile: let only tidx < {count} copy, or give all of them a share (LC204)"
    elif 0 < read.threads < count:
        said += f"; a block of {read.threads} lacks {count - read.threads} of them: their share is copied by nobody (LC213)"
    if not (read.bits and read.element):
        return said
    moved, have = read.bits // read.element, prod(each[1])
    if have < moved:
        return f"{said}; one instruction moves {moved} elements ({read.bits} bits), and a thread has only {have} values (LC215)"
    left = f", of which the {have} values of a thread are no whole number" if have % moved else ""
    return f"{said}; one instruction moves {moved} elements{left}"


def _extents(layout: Layout) -> list[int]:
    """The size of each top-level mode."""
    shape = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
    return [int(prod(leaf for leaf in _flat(mode))) for mode in shape]


def _flat(mode: object) -> list[int]:
    return [leaf for one in mode for leaf in _flat(one)] if isinstance(mode, tuple) else [int(str(mode))]


def _swizzles(code: str, read: Code) -> list[str]:
    """What each swizzle keeps together, beside what one instruction of the text moves."""
    told: dict[str, None] = {}
    for match in _SWIZZLE.finditer(code):
        bits, base, shift = (int(match[name]) for name in ("bits", "base", "shift"))
        name = f"Swizzle<{bits},{base},{shift}>"
        kept, period = 1 << base, 1 << (base + bits + shift)
        if _FLAG.match(code, match.end()):
            told.setdefault(f"{name} of a pointer keeps {kept} bytes together and repeats after {period}")
            continue
        said = f"{name} keeps {kept} elements together and repeats after {period}"
        if read.element:
            said += (
                f" ({(read.element << base) // 8} and {(read.element << (base + bits + shift)) // 8} bytes)"
            )
        moved = read.bits // read.element if read.bits and read.element else 0
        if moved > 1 << base and bits:
            said += f"; one instruction moves {moved} elements: the swizzle splits it (LC205), M has to be {moved.bit_length() - 1} or more"
        told.setdefault(said)
    return list(told)
