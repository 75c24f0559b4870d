"""Inline PTX: which of its instructions order, wait or reach memory.

    read_inline("st.async... [$0], $1, [$2];")   # (Inline("st_async", (Linear(0), Linear(2)), 4),)

Registers that the text makes from the operation's operands (by mov, cvt, add, mad, mapa) are followed, and so
are predicates that compare an operand with 0. What orders or reaches memory, and is not known here, is
"unknown": the kernel is not checked then. Everything else is arithmetic. Names and operands: PTX ISA 9.x,
"Instruction Set", under the instruction's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from layoutcheck.brackets import split
from layoutcheck.errors import InputError
from layoutcheck.order.linear import Inline, Linear, operand

_ORDERS = re.compile(
    r"(?:bar|barrier|mbarrier|fence|membar|cp|wgmma|tcgen05|red|atom|multimem|st|ld|ldmatrix|stmatrix|elect|"
    r"clusterlaunchcontrol|tensormap)\.[\w:.]+|(?!cvta|isspacep|mapa)[a-z]\w*\.(?:[\w:]+\.)*shared[\w:.]*"
)
_HARMLESS = re.compile(  # global memory is looked at elsewhere, and needs no order within a block
    r"fence\.proxy\.(?:tensormap|alias)|(?:st|ld)\.(?:[\w:]+\.)*global\b|ld\.(?:const|param)\b|multimem\.|"
    r"(?:\w+\.)*prefetch\b|tensormap\.replace|tcgen05\.fence|wgmma\.mma_async"
)
_STATEMENT = re.compile(
    r"(?:[$%\w]+:(?!:)\s*)*(?:@(?P<not>!?)(?P<guard>[$%]?\w+)\s+)?(?P<name>[a-z]\w*(?:[.:]+\w+)*)\s*(?P<rest>.*)",
    re.DOTALL,
)
# $1, ${1}; of nvvm.inline_ptx $r1, {$r1}, and $w1, which is a register here.
_NUMBERED = re.compile(r"\{\$([rw])([0-9]+)\}|\$\{([0-9]+)\}|\$([rw])([0-9]+)")
_WIDTH = re.compile(r"\.(?:[bsuf]|bf|tf)(8|16|32|64|128)(x2|x4)?(?![\w])")
_WAITS = re.compile(r"mbarrier\.try_wait\.parity\.shared::cta\.b64\s+\w+,\s*\[\$([0-9]+)\],\s*\$([0-9]+)")
_TENSOR_MAP_BYTES = 128  # that tensormap.cp_fenceproxy copies to global memory
_GLOBAL = re.compile(r"(?:red|atom)\.(?:[\w:]+\.)*global\b")
_STRONG = re.compile(r"\.(?:acquire|release|acq_rel|relaxed|volatile|mmio)\b")  # a flag, or its like


class _Statement(NamedTuple):
    name: str
    operands: list[str]
    reader: _Reader

    def address(self, at: int) -> Linear | None:
        """The number in an operand's brackets."""
        text = self.operands[at] if -len(self.operands) <= at < len(self.operands) else ""
        return self.reader.value(text[1:-1]) if text.startswith("[") and text.endswith("]") else None

    def number(self, at: int) -> Linear | None:
        """The number that an operand is."""
        return (
            self.reader.value(self.operands[at]) if -len(self.operands) <= at < len(self.operands) else None
        )

    def tensor(self, at: int) -> Linear | None:
        """The tensor map of `[map, {coordinates}]`."""
        inside = split(self.operands[at].strip("[]")) if at < len(self.operands) else []
        return self.reader.value(inside[0]) if len(inside) > 1 else None

    @property
    def places(self) -> Iterator[Linear | None]:
        """The addresses, in order."""
        return (self.address(i) for i, text in enumerate(self.operands) if text.startswith("["))

    @property
    def bytes_(self) -> int:
        """Of an access of a thread."""
        width = _WIDTH.search(self.name)
        vector = re.search(r"\.v([248])\b", self.name)
        if width is None:
            return 0
        return int(width[1]) // 8 * int((width[2] or "x1")[1:]) * int(vector[1] if vector else 1)


def read_inline(text: str, results: int = 0) -> tuple[Inline, ...]:
    """What inline PTX does, in order; () for arithmetic. `results` are numbered before the operands."""
    return _Reader(text, results).read()


class _Reader:
    """The statements of a text, and what its registers hold."""

    def __init__(self, text: str, results: int) -> None:
        self.text = _NUMBERED.sub(partial(_numbered, results=results), text.strip('"'))
        made = re.findall(r"(?<![\w.])[a-z][\w.:]*\s+([$%]?\w+)\s*,", self.text) if "bra" in text else []
        self.changing = {one for one in made if made.count(one) > 1}  # registers, from turn to turn of a loop
        self.results = results
        self.made: dict[str, Linear] = {}
        self.tested: dict[str, int] = {}

    def read(self) -> tuple[Inline, ...]:
        """All of it."""
        if re.search(r"(?<![\w.])(?:tcgen05\.(?:mma|cp)|wgmma)\.", self.text):
            return self._products()
        found: list[Inline] = []
        for part in re.sub(r"//[^\n]*", "", self.text).split(";"):
            match = _STATEMENT.match(part.lstrip("{} \t\r\n").rstrip())
            if match is None:
                continue
            one = self._statement(match["name"], match["rest"], bool(match["guard"]))
            if one is None:
                continue
            if match["guard"] and one.kind != "unknown":
                number = self._guard(match["guard"])
                if match["not"] or number < 0:
                    if one.kind == "atomic" and ("space", "gmem") in one.facts:
                        continue
                    one = _unknown(match["name"])
                else:
                    one = one._replace(guard=number)
            found.append(one)
        unknown = [one for one in found if one.kind == "unknown"]
        if unknown:
            return (next((one for one in unknown if "elect" not in one.facts[0][1]), unknown[0]),)
        if len(found) > 1 and any(one.kind == "mbar_token" for one in found):
            return (_unknown("mbarrier.try_wait, beside others"),)
        return tuple(found)

    def _products(self) -> tuple[Inline, ...]:
        """A text with products of the tensor cores: at most one wait stands between them."""
        names = [
            name
            for name in re.findall(rf"(?<![\w.])(?:{_ORDERS.pattern})", self.text)
            if not _HARMLESS.match(name)
        ]
        others = [name for name in names if not re.match(r"tcgen05\.(?:mma|cp)\b|elect\.sync", name)]
        if not names:
            return ()
        if not others:
            return (Inline("tc_mma"),)
        wait = _WAITS.search(self.text)
        if wait is not None and len(others) == 1:  # in a loop, between the products
            return (Inline("tc_mma", facts=(("bar", wait[1]), ("parity", wait[2]))),)
        return (_unknown(others[0]),)

    def value(self, text: str) -> Linear | None:
        """The number that a text stands for: an operand, a register, a constant, or a sum of them."""
        total: Linear | None = Linear()
        for word in re.split(r"\s*\+\s*", text.strip()):
            one: Linear | None = self.made.get(word)
            if re.fullmatch(r"-?(?:0x[0-9A-Fa-f]+|[0-9]+)[uU]?", word):
                one = Linear((), int(word.rstrip("uU"), 0))
            elif re.fullmatch(r"\$[0-9]+", word) and int(word[1:]) >= self.results:
                one = operand(int(word[1:]) - self.results)
            total = total.plus(one) if total is not None and one is not None else None
        return total

    def _guard(self, word: str) -> int:
        direct = self.value(word) if word.startswith("$") else None
        return direct.terms[0][0] if direct is not None and direct.terms else self.tested.get(word, -1)

    def _statement(self, name: str, rest: str, guarded: bool) -> Inline | None:
        try:
            operands = split(rest)
        except InputError:
            return _unknown(name) if _ORDERS.fullmatch(name) else None
        one = _Statement(name, operands, self)
        if _HARMLESS.match(name) or not _ORDERS.fullmatch(name):
            self._arithmetic(one, guarded)
            return None
        for begins, make in _KINDS:
            if re.match(begins, name):
                return make(one) or (None if _GLOBAL.match(name) else _unknown(name))
        return _unknown(name)

    def _arithmetic(self, one: _Statement, guarded: bool) -> None:
        """What a statement makes of a register; not known under a predicate."""
        to, *_ = one.operands or [""]
        a, b, c = (one.number(i) for i in (1, 2, 3))
        made: Linear | None = None
        kind = "" if guarded or to in self.changing else one.name.partition(".")[0]
        if kind in ("mov", "cvt", "cvta"):
            made = a
        elif kind == "add" and a is not None and b is not None:
            made = a.plus(b)
        elif kind == "mad" and a is not None and b is not None and c is not None:
            product = a.times(b)
            made = product.plus(c) if product is not None else None
        elif kind == "mapa" and a is not None and b is not None and not a.rank and len(b.terms) == 1:
            made = Linear(a.terms, a.constant, b.terms) if not b.constant else None
        elif kind == "setp" and ".ne." in one.name and a is not None and len(a.terms) == 1 and b == Linear():
            self.tested[to] = a.terms[0][0]
            return
        self.tested.pop(to, None)
        if made is None:
            self.made.pop(to, None)
        else:
            self.made[to] = made


def _numbered(match: re.Match[str], results: int) -> str:
    """An operand by its number behind the results."""
    kind, number = match[1] or match[4] or "", match[2] or match[3] or match[5]
    return f"written{number}" if kind == "w" else f"${int(number) + (results if kind else 0)}"


def _unknown(name: str) -> Inline:
    return Inline("unknown", facts=(("name", name),))


def _known(
    kind: str, *operands: Linear | None, size: int = 0, more: Mapping[str, str] | None = None, **facts: str
) -> Inline | None:
    """None where an operand is not known; `more` are further facts."""
    given = tuple(one for one in operands if one is not None)
    found = (*facts.items(), *(more or {}).items())
    return Inline(kind, given, size, found) if len(given) == len(operands) else None


def _space(name: str) -> str:
    return "dsmem" if "shared::cluster" in name else "smem" if ".shared" in name else "generic"


def _plain(one: _Statement) -> Inline | None:
    """ld, st; of generic ones the address says where. A strong one is a flag: what it orders is not known."""
    if _STRONG.search(one.name) or not one.bytes_:
        return None
    kind = "read" if one.name.startswith("ld") else "write"
    return _known(kind, next(one.places, None), size=one.bytes_, space=_space(one.name))


def _atomic(one: _Statement) -> Inline | None:
    space = "gmem" if _GLOBAL.match(one.name) else _space(one.name)
    if (space != "gmem" and re.search(r"\.(?:acquire|release|acq_rel)\b", one.name)) or not one.bytes_:
        return None
    return _known("atomic", next(one.places, None), size=one.bytes_, space=space)


def _matrix(one: _Statement) -> Inline | None:
    number = re.search(r"\.x([124])\b", one.name)
    if number is None or "m16n16" in one.name or "m8n16" in one.name:
        return None
    kind = "matrix_read" if one.name.startswith("ld") else "matrix_write"
    return _known(kind, next(one.places, None), size=16, space="smem", rows=str(8 * int(number[1])))


def _cp_async(one: _Statement) -> Inline | None:
    """To shared memory, from global memory, and the bytes that are read where an operand says so."""
    size = one.number(2)
    if size is None or size.terms or size.constant not in (4, 8, 16):
        return None
    source = one.address(1)
    rest = [one.number(3)] if len(one.operands) > 3 and "cache_hint" not in one.name else []
    return _known("cp_async", one.address(0), source, *rest, size=size.constant, space="smem")


def _groups(kind: str) -> Callable[[_Statement], Inline | None]:
    def make(one: _Statement) -> Inline | None:
        count = one.number(0) if one.operands else Linear()
        if count is None or count.terms:
            return None
        facts = {"read": "yes"} if one.name.endswith(".read") else {}
        facts |= {"all": "yes"} if one.name.endswith("wait_all") else {}
        return _known(kind, size=count.constant, more=facts)

    return make


def _bulk(one: _Statement) -> Inline | None:
    """cp.async.bulk without a tensor map; the bytes and the address on the other side come last."""
    if ".bulk.shared::" in one.name:
        if one.name.startswith("cp.reduce"):
            return None
        masks = [one.number(4)] if ".multicast" in one.name else []
        facts = {"multicast": "yes"} if masks else {}
        kind = "bulk_load" if ".global." in one.name else "bulk_peer"
        ends = (one.number(2), one.address(1))
        return _known(kind, one.address(0), one.address(3), *masks, *ends, space="dsmem", more=facts)
    return _known("bulk_store", one.address(1), one.number(2), one.address(0), space="smem")


def _tensor(one: _Statement) -> Inline | None:
    """cp.async.bulk.tensor: `map` is its tensor map, from which the bytes of a box follow."""
    if "im2col" in one.name:
        return None
    facts = {
        "tensor": "yes", "each": "yes", "map": "yes",
        "gathered": "4" if re.search(r"::(?:gather|scatter)4\b", one.name) else "",
        "pair": "yes" if ".cta_group::2" in one.name else "",
        "multicast": "yes" if ".multicast" in one.name else "",
    }  # fmt: skip
    if ".global.shared::cta" in one.name:
        return _known("bulk_store", one.address(1), one.tensor(0), space="smem", more=facts)
    masks = [one.number(3)] if facts["multicast"] else []
    given = (one.address(0), one.address(2), *masks, one.tensor(1))
    return _known("bulk_load", *given, space="dsmem", more=facts)


def _barrier(one: _Statement) -> Inline | None:
    """bar.sync, bar.arrive and barrier.*: the barrier, and its threads."""
    if ".cluster" in one.name:
        kind = "cluster_arrive" if ".arrive" in one.name else "cluster_wait"
        return _known(kind) if ".relaxed" not in one.name else None
    if ".warp" in one.name:
        return _known("warp_sync", one.number(0))
    if not re.search(r"\.(?:sync|arrive)(?:\.aligned)?$", one.name):
        return None
    numbers = [one.number(i) for i in range(len(one.operands))]
    threads = "yes" if len(numbers) > 1 else ""
    kind = "barrier_arrive" if ".arrive" in one.name else "barrier"
    return _known(kind, *numbers[:2], id="yes", threads=threads)


def _arrives(one: _Statement) -> Inline | None:
    """The last operand is a count or the bytes, if it is no address; the first may be the state."""
    tx = ".expect_tx" in one.name
    given = [text for text in one.operands if text.startswith("[")]
    if len(given) != 1 or ".no_complete" in one.name or "drop" in one.name:
        return None
    at = one.operands.index(given[0])
    more = [one.number(i) for i in range(at + 1, len(one.operands))]
    scope = "block" if re.search(r"\.(?:release|relaxed)\.cta\b", one.name) else ""
    form = "tx" if tx else ""
    return _known("mbar_arrive", one.address(at), *more, space=_space(one.name), form=form, scope=scope)


def _mbarrier(one: _Statement) -> Inline | None:
    space, action = _space(one.name), one.name.split(".")[1]
    if action == "init":
        return _known("mbar_init", one.address(0), one.number(1), space=space)
    if action == "inval":
        return _known("mbar_invalid", one.address(0), space=space)
    if action in ("expect_tx", "complete_tx"):
        return _known("mbar_expect", one.address(0), one.number(1), space=space, form=action)
    if action in ("try_wait", "test_wait") and ".parity" in one.name:
        kind = "mbar_wait" if re.search(r"\bbra\b", one.reader.text) else "mbar_token"
        return _known(kind, one.address(1), one.number(2), space=space)
    return None


def _fence(one: _Statement) -> Inline | None:
    if one.name.startswith("fence.proxy.async"):
        kind = one.name.removeprefix("fence.proxy.").replace("::cta", "").replace("::cluster", "")
        return _known("fence_proxy", proxy=kind.replace("shared::", "shared"))
    if one.name.startswith("fence.mbarrier_init"):
        return _known("fence_init")
    return None if ".proxy" in one.name else _known("fence", name=one.name)


def _send(one: _Statement) -> Inline | None:
    if "shared::cluster" not in one.name or "mbarrier" not in one.name or not one.bytes_:
        return None
    return _known("st_async", one.address(0), one.address(-1), size=one.bytes_, space="dsmem")


def _limit(one: _Statement) -> Inline | None:
    """setmaxnreg."""
    count = one.number(0)
    limit = "increase" if ".inc" in one.name else "decrease"
    return None if count is None else _known("registers", size=count.constant, limit=limit)


_KINDS: tuple[tuple[str, Callable[[_Statement], Inline | None]], ...] = (
    (r"st\.async\b", _send),
    (r"(?:ld|st)matrix\b", _matrix),
    (r"(?:ld|st)\b", _plain),
    (r"(?:red|atom)\b(?!\.async)", _atomic),
    (r"cp\.async\.(?:ca|cg)\b", _cp_async),
    (r"cp\.async\.commit_group", _groups("cp_commit")),
    (r"cp\.async\.wait_(?:group|all)", _groups("cp_wait")),
    (r"cp\.async\.bulk\.commit_group", _groups("bulk_commit")),
    (r"cp\.async\.bulk\.wait_group", _groups("bulk_wait")),
    (r"cp\.(?:reduce\.)?async\.bulk\.tensor\b", _tensor),
    (r"cp\.(?:reduce\.)?async\.bulk\.(?:shared|global)", _bulk),
    (r"bar(?:rier)?\.", _barrier),
    (r"mbarrier\.arrive", _arrives),
    (r"mbarrier\.", _mbarrier),
    (r"fence\.|membar\.", _fence),
    (r"setmaxnreg\.(?:inc|dec)", _limit),
    (r"tcgen05\.wait::(?:ld|st)", lambda one: _known("tmem_wait", size=int("::ld" in one.name))),
    (
        r"tensormap\.cp_fenceproxy\.global\.shared::cta",
        lambda one: _known("read", one.address(1), size=_TENSOR_MAP_BYTES, space="smem"),
    ),
)
