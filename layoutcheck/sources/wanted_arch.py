"""The architecture that a program asks for, where it was run for another."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from layoutcheck.sources.traced import UNCOMPILED, Trace

FOR_ANOTHER = "this kernel is for another architecture"  # begins a note
BUILT_FOR = "kernels that ask for {} were built for it"  # a note
_REFUSED = re.compile(r"expects arch to be (?:one of \[[^\]]*?)?(?:[\w.]*\.)?(sm_[0-9]+[af]?)")
# In a test's reason, or a program's error: "SM100", "sm 9.x", "compute capability >= 10.0".
_SKIPPED = re.compile(r"\b(?:sm[_ ]?|compute capability[ ><=]*)(9|10|11|12)\.?([0-9x])a?\b", re.IGNORECASE)
_HAD = re.compile(r"\b(?:got|found|current|detected|this (?:device|gpu) (?:is|has))\b[^,;]*", re.IGNORECASE)
_NAMES = {"hopper": "sm_90a", "blackwell": "sm_100a"}
_OF_THE_ARCH = (*UNCOMPILED, "raised", "test", "caught")  # kinds of failures


def wanted_arch(said: str) -> str:
    """The architecture that an error of the DSL names; "" where it names none."""
    found = _REFUSED.search(said)
    return found[1] if found else ""


def other_arch(trace: Trace, arch: str) -> str:
    """The architecture that a program wants, by an error or by the reason of all that it skipped; or ""."""
    for one in trace.failures:
        wanted = wanted_arch(one.message) if one.kind in _OF_THE_ARCH else ""
        if wanted and wanted != arch:
            return wanted
    if trace.kernels or (trace.failures and not _complains(trace, arch)):
        return ""
    said = [one.message for one in trace.failures] or [reason for _, reason in trace.skipped]
    named = {each for words in said for each in _named(words)}
    return "" if arch in named else min(named, key=lambda one: int(one.strip("sm_af")), default="")


def without_refusals(trace: Trace, arch: str) -> Trace:
    """The trace of a run for `arch` without the failures that say that kernels are for another one."""
    if _complains(trace, arch):
        return replace(trace, failures=())
    left = (one for one in trace.failures if not (one.kind in _OF_THE_ARCH and wanted_arch(one.message)))
    notes = (one for one in trace.notes if not one.startswith(FOR_ANOTHER))
    return replace(trace, failures=tuple(left), notes=tuple(notes))


def _complains(trace: Trace, arch: str) -> bool:
    """Whether all that kept a program from building a kernel is that it is for other architectures."""
    said = [set(_named(one.message)) if one.kind in ("raised", "test") else set() for one in trace.failures]
    return bool(said) and not trace.kernels and all(named and arch not in named for named in said)


def _named(reason: str) -> Iterable[str]:
    """The architectures of a sentence, but for the one that it says is there."""
    asked = _HAD.sub("", reason)
    for major, minor in _SKIPPED.findall(asked):
        yield f"sm_{major}{minor.replace('x', '0')}a"
    yield from (arch for name, arch in _NAMES.items() if name in asked.lower())
