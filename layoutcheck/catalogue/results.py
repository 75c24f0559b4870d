"""What the numbers decide with which a test compares a result: rounding, data in another place, packed elements."""

from __future__ import annotations

import re

_COMPARED = re.compile(
    r"[\[(](?P<left>[0-9]+(?:, ?[0-9]+)*),?[\])]\)? ?(?:vs\.?|!=|and|,|==) ?(?:torch\.Size\()?[\[(](?P<right>[0-9]+(?:, ?[0-9]+)*),?[\])]"
)
_FOUR_BITS = re.compile(r"(?i)[a-z_]*(?:fp4|float4_?e2m1|e2m1|nvf4|mxf4)\w*")
_DIFFERING = re.compile(r"Mismatched elements: (?P<some>[0-9]+) ?/ ?(?P<all>[0-9]+)")
_GREATEST = re.compile(
    r"[Gg]reatest absolute difference: (?P<have>[0-9.]+(?:e[-+]?[0-9]+)?) .{0,80}?\(up to (?P<allowed>[0-9.]+(?:e[-+]?[0-9]+)?) allowed"
)
_SOMETIMES = re.compile(
    r"(?i)\b(?:sometimes|occasional\w*|intermittent\w*|flak[ey]\w*|non-?determin\w*|randomly|not every (?:run|time)|"
    r"(?:every|once in|(?:one|[0-9]+) (?:in|of|out of)) \W?[0-9]+(?:st|nd|rd|th)? (?:runs?|times?|calls?)|"
    r"(?:each|every|different|some|other) runs?|one run)\b"
)
_FEW_DIFFER, _MANY_DIFFER = 0.01, 0.3  # of the elements
_NEAR, _FAR = 10, 1000  # times what is allowed


def rounding(folded: str) -> tuple[str, ...]:
    """What the counts of a comparison of results decide: rounding, or data that is elsewhere."""
    count, size = _DIFFERING.search(folded), _GREATEST.search(folded)
    if count and _SOMETIMES.search(folded):
        return (
            f"{count['some']} of {count['all']} elements differ, and not in every run: a race first (a missing wait, barrier or fence); rounding of one program is the same in each run unless atomics or split-K sum",
        )
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
        return (
            f"{told}rounding against a tolerance that is too tight for the type, if every run gives the same; "
            "a race, if runs differ; whole rows, vectors or tiles would be data in the wrong place",
        )
    return (f"{told}not rounding",) if part > _MANY_DIFFER or times > _FAR else ()


def packed(folded: str) -> tuple[str, ...]:
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
