"""An operand of another type than an operation of the DSL takes: both types, which are MLIR's, in the user's terms."""

from __future__ import annotations

import re

from layoutcheck.catalogue.rows import rows

_SAID = re.compile(
    r"(?:(?P<side>operand|result) #(?P<number>[0-9]+) |'(?P<name>[\w`]+)' )?must be (?:variadic of )? ?(?P<wanted>.{3,400}?),? but got:? '?(?P<given>[!#\w][^']{0,400})'?"
)
_EXPECTS = re.compile(
    r"[Ee]xpect(?:s|ed) (?:an? |the )?(?:(?P<name>`?\w+`?) (?:is|to be|of type|as) )?(?:an? |of type )?"
    r"(?P<wanted>[\w!. ]{0,60}?(?:Type|type|memref|MemRef|layout|view|coord|shape|tensor|pointer|ptr)\w*),? (?:but )?got:? '?(?P<given>[!#\w][^']{0,400})'?"
)
_SPACE = re.compile(
    r"(?:memory spaces? ?\(|address space )(\w+)|\b(global|shared or distributed shared|shared|register) mem"
)
_ALIGNMENT = re.compile(r"(?:byte alignment |with )([0-9]+)(?:-byte alignment)?")
_SPACES = {
    "0": "generic", "smem": "shared", "gmem": "global", "rmem": "register", "tmem": "tensor", "1": "global", "3": "shared", "6": "tensor", "7": "distributed shared",
}  # fmt: skip
# What an operation asks for, in order, and how such an object is made.
_WANTED = tuple(
    (row.field("words"), row.field("cause"), row.field("helps")) for row in rows("meanings/operands.txt")
)
_GIVEN = tuple((row.field("words"), row.field("cause")) for row in rows("meanings/types.txt"))
_ARGUMENT = re.compile(
    r"[Ee]xpects? (?:the )?(?:argument(?: \S+)?|`?\w+`?) to be (?:an? |of type )?(?P<wanted>[\w.]{3,60}),? (?:but )?got:? (?:<class ')?(?P<given>[\w.]{2,60})"
)
_STREAM = "cuda.bindings.driver.CUstream(torch.cuda.current_stream().cuda_stream) is PyTorch's current stream; cutlass.cute.runtime.make_fake_stream() stands for one while compiling"


def _of_python(said: str) -> tuple[str, str] | None:
    """(cause, what helps) of an argument whose Python type is another one than the function takes."""
    found = _ARGUMENT.search(said)
    if found is None or not (found["wanted"][0].isupper() or "." in found["wanted"]):
        return None
    cause = f"An argument has to be of the type {found['wanted']}, and one of {found['given']} is given."
    if found["wanted"].endswith("CUstream"):
        return cause, _STREAM
    return (
        cause,
        f"Print type(argument) before the call, and make the argument by {found['wanted']}(...) or what help(function) names",
    )


def told(said: str) -> tuple[str, str] | None:
    """(cause, what helps) of a message that an operand has another type; None for any other message."""
    found = _SAID.search(said) or _EXPECTS.search(said)
    if found is None:
        return _of_python(said)
    wanted = next(
        ((words, how) for pattern, words, how in _WANTED if re.search(pattern, found["wanted"])), None
    )
    given = next((words for pattern, words in _GIVEN if re.match(pattern, found["given"])), None)
    if wanted is None or given is None:
        return _of_python(said)
    parts = {"side": "", "number": "", **found.groupdict()}
    counted = (
        f"{parts['side']} {parts['number']} of the operation (counted from 0)".capitalize()
        if parts["side"]
        else ""
    )
    which = counted or (parts["name"] or "").strip(" `") or "An operand"
    known = " known when the program is compiled" if re.search(r"\bstatic\b", found["wanted"]) else ""
    asked = wanted[0] + _where(found["wanted"]) + known
    same = " of another kind" if given == wanted[0] else ""
    cause = f"{which} has to be {asked}, and {given}{same} is given: {found['given']}."
    return cause, f"{wanted[1]}. Print the argument before the line"


def _where(wanted: str) -> str:
    """In which memory, and aligned to how much, where the operation asks for it."""
    spaces, alignment = _SPACE.findall(wanted), _ALIGNMENT.search(wanted)
    places = dict.fromkeys(_SPACES.get(number, number) or said for number, said in spaces)
    at = f" in {' or '.join(places)} memory" if places else ""
    return at + (f" aligned to {alignment[1]} bytes" if alignment and alignment[1] != "1" else "")
