"""What the passes of DSL 4.3 to 4.5 make of a module, put as those of later ones put it.

They have no pass that ends with `arith`: `convert-to-llvm` makes LLVM's operations of everything but loops
and branches, and functions of kernels. So what says how a kernel is launched gets another name for the time
of the pass, and what LLVM calls otherwise gets its name in `arith` back.
"""

from __future__ import annotations

import re

UNORDERED = "{} orders accesses otherwise in this DSL: 4.6 is the oldest in which it is followed"
UNFOLLOWED = "elements are not followed through this DSL's lowering: 4.6 is the oldest in which they are"
_SAME = ("select", "bitcast", "sitofp", "uitofp", "fptosi", "fptoui")
_TO_ARITH = {
    **{name: f"{name}i" for name in ("add", "sub", "mul", "and", "or", "xor", "shl")}, "sdiv": "divsi",
    "udiv": "divui", "srem": "remsi", "urem": "remui", "lshr": "shrui", "ashr": "shrsi", "icmp": "cmpi",
    "fcmp": "cmpf", "sext": "extsi", "zext": "extui", "trunc": "trunci", "fadd": "addf", "fsub": "subf",
    "fmul": "mulf", "fdiv": "divf", "frem": "remf", "fneg": "negf", "fpext": "extf", "fptrunc": "truncf",
    "intr.smax": "maxsi", "intr.smin": "minsi", "intr.umax": "maxui", "intr.umin": "minui",
    "intr.maximum": "maximumf", "intr.minimum": "minimumf", "intr.maxnum": "maxnumf",
    "intr.minnum": "minnumf", **{name: name for name in _SAME},
}  # fmt: skip
_OPERATION = re.compile(r'^(\s*(?:%\S+(?:, %\S+)* = )?")llvm\.([\w.]+)(?="\()', re.MULTILINE)
_FUNCTION = re.compile(r'^(\s*)"llvm\.func"(\(\) <\{.*?sym_name = "([^"]*)")', re.MULTILINE)
# What orders accesses, and has another name in later ones.
_OF_SHARED = re.compile(r'(?<="nvvm\.)(mbarrier\.[a-z_.]+|mapa)\.shared(?:\.cluster)?(?="\()')
_TRANSACTION = re.compile(  # of the block's own mbarrier
    r'(?<="nvvm\.mbarrier\.)txn(?="\(.*?kind = #nvvm\.mbar_txn_kind<(\w+)>.*?space = #nvvm\.mbar_space<cta>)'
)
_OTHERWISE = re.compile(r'"nvvm\.(tcgen05|mma_smem_desc|clusterlaunchcontrol|vote|mbarrier\.txn)[\w.]*"\(')
_HELD = {'"cuda.launch_cfg.': '"layoutcheck.launch_cfg.'}


def held(text: str) -> str:
    """A module in which what describes launches has names that no pass knows."""
    for old, new in _HELD.items():
        text = text.replace(old, new)
    return text


def as_later(lowered: str, functions: dict[str, str]) -> str:
    """A lowered module as later DSLs print it; `functions` gives the operations that defined its symbols."""

    def function(match: re.Match[str]) -> str:
        was = functions.get(match[3], "llvm.func")
        return f'{match[1]}"{was}"{match[2]}'

    def operation(match: re.Match[str]) -> str:
        name = _TO_ARITH.get(match[2])
        return f"{match[1]}llvm.{match[2]}" if name is None else f"{match[1]}arith.{name}"

    for new, old in _HELD.items():
        lowered = lowered.replace(old, new)
    lowered = _OF_SHARED.sub(r"\1", lowered)
    lowered = _TRANSACTION.sub(lambda match: match[1].replace("arrive_", "arrive."), lowered)
    return _OPERATION.sub(operation, _FUNCTION.sub(function, lowered))


def unfit(lowered: str) -> dict[str, str]:
    """Why the order of accesses is not followed in such a text, "" where it is; and why elements are not."""
    found = _OTHERWISE.search(lowered)
    return {"unordered": UNORDERED.format(f"nvvm.{found[1]}") if found else "", "unfollowed": UNFOLLOWED}
