"""`digest`: what a built module is known by, in whichever process and for whichever test it was built."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import Any

from layoutcheck.sources.printed import where_of

_DEFINED = re.compile(
    r'^ *"(?:func\.func|cuda\.kernel|gpu\.func)"\(\) <\{.*\bsym_name = "([^"]*)".*\}> \(\{$(?!\s*\}\))',
    re.MULTILINE,
)  # not only declared
_SYMBOL = re.compile(r'(sym_name = "|@"?)([\w$.-]+)')


def digest(event: dict[str, Any], alike: bool) -> str:
    """What a built module is known by; if `alike` is enough, whoever in the program had it built.

    Its code and its lines count, its functions' names do not: a program may make them from addresses,
    counters or hashes of these, so that one kernel has another name in each process.
    """
    locations = [*event["locations"], *event.get("places", ())]
    if alike and event.get("caller") is not None:
        locations = [_inside(one, tuple(event["caller"])) for one in locations]
    whole = "\n".join((event["arch"], _unnamed(event["text"]), *locations))
    return hashlib.sha256(whole.encode()).hexdigest()


def _unnamed(text: str) -> str:
    """A module with numbers in place of the names of the functions that it defines."""
    numbers: dict[str, str] = {}
    for name in _DEFINED.findall(text):
        numbers.setdefault(name, f"function {len(numbers)}")
    return _SYMBOL.sub(lambda found: f"{found[1]}{numbers.get(found[2], found[2])}", text)


@lru_cache(maxsize=4096)
def _inside(location: str, caller: tuple[str, int]) -> str:
    """A location without the frames from the caller on."""
    frames = where_of(location)
    lines = [(one.file, one.line) for one in frames]
    if caller not in lines:
        return location
    return " ".join(f"{one} {one.function}" for one in frames[: lines.index(caller)])
