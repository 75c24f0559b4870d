"""What the DSL's Python functions raise about a copy before there is an operation. Wordings of the DSL."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutcheck.places import in_library

_FRAME = re.compile(r'^\s*File "([^"\n]{1,500})", line ([0-9]{1,9})', re.MULTILINE)
_LOC = re.compile(r'"([^"\n]{1,500}\.py)":([0-9]{1,9}):[0-9]')
_ARROW = re.compile(r"[^\S\n]*\n\s*-->\s+([^\s:]{1,500}):([0-9]{1,9})")  # on the line after the message
_REACH = 4000  # characters of traceback before a message that are searched for its line

# What `cute.copy`, `autovec_copy`, `tma_partition` and `make_tiled_tma_atom` raise; lines break at spaces.
_MESSAGES = (
    r"Expected source and destination tensors to have the same (?:rank, but got [0-9]+ and [0-9]+"
    r"|size in mode-[0-9]+, but got \S+ and \S+)"
    r"|V-mode \(mode-0\) with rank > 2 is not supported yet[^\n]{0,200}"
    r"|`?(?:copy|copy_atom_call|autovec_copy|basic_copy_if)`? (?:currently )?only supports equal source and "
    r"destination element type bit widths?[^\n]{0,100}"
    r"|autovec_copy expects source and destination tensors to be statically shaped"
    r"|basic_copy expects the size of source, destination, and predicate tensors to match"
    r"|expects smem and gmem have the same size in the first rank, but got[^\n]{0,300}"
    r"|(?:make_\w{0,12}tma_atom\w*: )?expected top-level shape equivalence between the SMEM layout and "
    r"the CTA V-map(?:, but got '[^']{1,600}' and '[^']{1,600}'|[^\n]{0,200})"
    r"|unable to partition input tensors for TMA"
    r"|tma_(?:partition|load|store): shared-memory operand stride at mode [0-9]+[^\n]{0,200}"
    r"(?:\n[^\n]{0,100}not a multiple of the required[^\n]{0,100})?"  # as a report's lines were broken
    r"|gmem_(?:coord|index)_layout (?:must be 2D|rank must match|(?:gather|scatter) mode size)[^\n]{0,200}"
    r"|gmem_coord_tensor is required for [^\n]{0,100}"
    r"|TMA Gather/Scatter only expects TMA G-basis with rank 2[^\n]{0,100}"
    r"|'cute_nvgpu\.atom\.make_non_exec_im2col_tma_(?:load|store)' op operand #1 must be CuTe composed "
    r"layout type[^\n]{0,200}"
    r"|expects arch to be at least sm_[0-9]+, but got \w+"  # "one of ..." is an MMA's as well
)
_PYTHON = re.compile(_MESSAGES.replace(" ", r"\s+"))


def python_errors(text: str) -> Iterator[tuple[str, str | None]]:
    """(message, the user's "file:line") of every error that the DSL's Python layer raises about a copy."""
    for found in _PYTHON.finditer(text):
        arrow = _ARROW.match(text, found.end())
        where = f"{arrow[1]}:{arrow[2]}" if arrow else place(text, found.start())
        yield " ".join(found[0].split()), where


def place(text: str, at: int) -> str | None:
    """The innermost line of the user's own code in the traceback, or the location, before `at`."""
    lead = text[max(0, at - _REACH) : at]
    frames = [*_FRAME.finditer(lead), *_LOC.finditer(lead)]
    for frame in sorted(frames, key=lambda frame: frame.start(), reverse=True):
        if not in_library(frame[1]):
            return f"{frame[1]}:{frame[2]}"
    return None
