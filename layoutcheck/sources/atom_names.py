"""What copy atoms are called elsewhere: by C++ CuTe, by the DSL's code, by PTX; each as a short name of ours.

SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>      cp.async.cg.128
SM75_U32x4_LDSM_N                         ldmatrix.x4
LdMatrix8x8x16bOp(transpose=True, num_matrices=4)    ldmatrix.x4.trans
ld.shared.v4.b32                          s2r.128
"""

from __future__ import annotations

import re
from collections.abc import Callable

from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import dtype

_REGISTERS = {
    ("ld", "global"): "g2r",
    ("st", "global"): "r2g",
    ("ld", "shared"): "s2r",
    ("st", "shared"): "r2s",
}
_ARGUMENT = r"(?:<(?P<type>[\w:]+)[^<>]*>)?(?:\{\})?"


def _width(found: re.Match[str], name: str) -> str:
    """The name with the width of a C++ type, the template's argument; without where there is none known."""
    given = (found["type"] or "").rpartition("::")[2]
    try:
        return f"{name}.{dtype(_CPP.get(given, given)).bits}" if given else name
    except InputError:
        return name


def _matrices(found: re.Match[str], kind: str) -> str:
    """Of C++'s U32x4_LDSM_N and U16x8_LDSM_T: registers of 32 bits, and whether it transposes."""
    count = int(found["bits"]) * int(found["count"]) // 32
    return f"{kind}.x{count}" + (".trans" if found["letter"] == "t" else "")


def _operation(found: re.Match[str]) -> str:
    """Of the DSL's LdMatrix8x8x16bOp(transpose, num_matrices), whose defaults are False and 1."""
    given = found["given"] or ""
    count = re.search(r"([124])\b(?!\w)", given)
    return f"{found['kind']}matrix.x{count[1] if count else 1}" + (".trans" if "true" in given else "")


def _access(found: re.Match[str]) -> str:
    """Of PTX's ld and st: from or to registers, of as many bits as the vector has."""
    name = _REGISTERS[found["op"], found["space"]]
    return f"{name}.{int(found['many'] or 1) * int(found['bits'])}" if found["bits"] else name


_CPP = {"float": "f32", "double": "i64", "int": "i32", "half": "f16"}

_NAMES: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (rf"sm80_cp_async_cachealways(?:_zfill)?{_ARGUMENT}", lambda m: _width(m, "cp.async")),
    (rf"sm80_cp_async_cacheglobal(?:_zfill)?{_ARGUMENT}", lambda m: _width(m, "cp.async.cg")),
    (rf"universalcopy{_ARGUMENT}", lambda m: _width(m, "universal")),
    (r"(?:autovectorizingcopy(?:withassumedalignment)?|defaultcopy)(?:<[^<>]*>)?(?:\{\})?",
     lambda _: "autovec"),
    (r"sm75_u(?P<bits>32|16)x(?P<count>[1248])_ldsm_(?P<letter>[nt])", lambda m: _matrices(m, "ldmatrix")),
    (r"sm90_u(?P<bits>32|16)x(?P<count>[1248])_stsm_(?P<letter>[nt])", lambda m: _matrices(m, "stmatrix")),
    (r"sm90_tma_(?P<way>load|store)(?P<many>_multicast)?",
     lambda m: f"tma_{m['way']}" + (".multicast" if m["many"] else "")),
    (r"sm90_tma_reduce_add", lambda _: "tma_reduce"),
    (r"sm90_bulk_copy_(?P<way>g2s|s2g)", lambda m: f"bulk.{m['way']}"),
    (r"(?:\w+\.)*(?P<kind>ld|st)matrix8x8x16bop(?:\((?P<given>[^()]*)\))?", _operation),
    (r"(?P<op>ld|st)\.(?P<space>global|shared)(?:::\w+)?"
     r"(?:\.(?!v[248]\b|[busf](?:8|16|32|64|128)\b)[a-z][a-z_0-9:]*?)*"
     r"(?:\.v(?P<many>[248]))?(?:\.[busf](?P<bits>8|16|32|64|128))?", _access),
    (r"cp\.async\.(?P<cache>c[ag])\.shared(?:::\w+)?\.global(?:\.\w+)*", lambda m: f"cp.async.{m['cache']}"),
    (r"(?P<kind>ld|st)matrix\.sync\.aligned\.m8n8\.(?P<count>x[124])(?P<trans>\.trans)?\.shared(?:::\w+)?\.b16",
     lambda m: f"{m['kind']}matrix.{m['count']}{m['trans'] or ''}"),
)  # fmt: skip


def short_name(text: str) -> str:
    """The short name of an atom, in lower case; a name of ours or an unknown one as it is."""
    name = "".join(text.lower().split()).removeprefix("cute::")
    for pattern, made in _NAMES:
        found = re.fullmatch(pattern, name)
        if found is not None:
            return made(found)
    return text.strip().lower()
