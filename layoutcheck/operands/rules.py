"""The rules about operands: what each tells of a breach, as title and message.

Their names, severities and pages are those of docs/rules, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from layoutcheck.markdown import Page, by_page
from layoutcheck.operands.answers import OperandAnswer
from layoutcheck.operands.check import Filling


@dataclass(frozen=True, slots=True)
class OperandRule:
    """A rule's page, and `tell`, which gives title and message."""

    page: Page
    tell: Callable[..., tuple[str, str]]


def _rule(tell: Callable[..., tuple[str, str]]) -> OperandRule:
    """Makes a function the rule of the code that its name is."""
    return OperandRule(by_page(tell.__name__.upper()), tell)


@_rule
def lc601(letter: str, filling: Filling) -> tuple[str, str]:
    """The first register that holds another element, and the count."""
    row = "m" if letter == "A" else "n"
    held, taken = (f"{letter}[{row} = {x}, k = {k}]" for x, k in (filling.held, filling.taken))
    title = f"registers of {letter} hold other elements than the MMA takes them for"
    other = "B" if letter == "A" else "A"
    why = (
        "C is stored by the MMA's own partition, so rows or columns change places."
        if filling.across
        else f"{other} has its k in another order, so products pair different k."
    )
    message = (
        f"register {filling.register} of thread {filling.thread} holds {held}, and the MMA takes it for {taken}; "
        f"{filling.differ:,} of {filling.of:,} registers differ. {why} "
        f"make_tiled_copy_{letter}(atom, tiled_mma) of the product's own tiled MMA has its order."
    )
    return title, message


@_rule
def lc602(letter: str, facts: dict[str, Any]) -> tuple[str, str]:
    """The first element that is not of its row and k."""
    if facts.get("product"):
        return _of_product(letter, facts)
    held, taken = (f"{letter}{list(facts[key])}" for key in ("held", "taken"))
    if facts.get("sum"):
        why = (
            "The accumulators go on from one tile to the next: set ACCUMULATE to False for a tile's first k-block, or clear them."
            if facts.get("tile")
            else "The accumulator's registers change places between two instructions: give all products of a sum one fragment of C."
        )
        message = f"row {facts['row']} of the instruction is that of {held}, and its sum began with the row of {taken}. {why}"
        return f"rows of {letter} are added to sums of other rows", message
    title = f"{letter} of a product holds elements of other rows or of another k"
    expected = f"; the other elements of its row and of its k make it {taken}" if facts["taken"] else ""
    message = (
        f"{facts['where']} holds {held}{expected}. The tile is written and read through different layouts or swizzles, "
        f"or the fragment is filled in another order than the MMA's."
    )
    return title, message


def _of_product(letter: str, facts: dict[str, Any]) -> tuple[str, str]:
    """The same where the operand is the result of another product, as P of attention is."""
    held, taken = (
        " and ".join(f"{name} = {at}" for name, at in zip(facts["product"], facts[key], strict=True))
        for key in ("held", "taken")
    )
    title = f"{letter} of a product holds results of another product in another order"
    message = (
        f"{facts['where']} holds the result of another product at {held}; the other elements of its row and of its k "
        f"make it {taken}. The registers of that accumulator are not taken in the order of this MMA's {letter}: "
        f"make the fragment from the accumulator's layout (`cute.make_layout` of its modes, or `retile`)."
    )
    return title, message


@_rule
def lc603(facts: dict[str, Any]) -> tuple[str, str]:
    """The first k that is paired with another."""
    where = "in one instruction" if facts["within"] else "in one sum, by another instruction"
    first = facts["first"]
    message = (
        f"at k = {facts['k']} of the instruction A brings k = {facts['a']} of its tensor and B k = {facts['b']}; {where} they "
        f"bring {first[0]} and {first[1]}. Both must be taken in the same order, by the same k-blocks and stages."
    )
    return "a product pairs different k of A and B", message


@_rule
def lc604(letter: str, facts: dict[str, Any]) -> tuple[str, str]:
    """The first element that is stored elsewhere, or that no result comes to, and the count."""
    if "bare" in facts:
        message = (
            f"C{list(facts['at'])} is stored, beside results, from shared memory that nothing wrote; so are {facts['bare']:,} "
            f"elements. The tile of results is written and stored through different layouts or swizzles."
        )
        return "a part of C that no result comes to is stored", message
    who = "Two blocks" if "turns" not in facts else "Two turns of a block"
    who = "Two warps or warpgroups" if "groups" in facts else who
    if "again" in facts:
        message = (
            f"{who} store the same row of A times the same column of B, one at C{list(facts['at'])}, one at C{list(facts['again'])}. "
            "The coordinates of a tile of A or B are not those of the tile of C."
        )
        return "one result is stored at two places of C", message
    what = "row of A" if letter == "A" else "column of B"
    name = "m" if letter == "A" else "n"
    if "over" in facts:
        one, other = facts["over"]
        message = f"{who} store at C{list(facts['at'])}: one for the {what} with {name} = {one}, one for {name} = {other}."
        return "two results are stored at one place of C", message
    first = facts["first"]
    message = (
        f"C{list(facts['at'])} gets the sum of the {what} with {name} = {facts['coordinate']}, although C's coordinate "
        f"{first[0]} gets that of {name} = {first[1]}; {facts['differ']:,} of {facts['of']:,} elements change places."
    )
    return f"C is stored under another {name} than its {what}", message


@_rule
def lc605(facts: dict[str, Any]) -> tuple[str, str]:
    """Both swizzles, and the first element that arrives elsewhere."""
    written, read = (
        f"swizzle {facts[key]} of bytes" if facts[key] else "no swizzle" for key in ("written", "read")
    )
    message = (
        f"the tile is written through {written} and read through {read}: {list(facts['at'])} of the tensor that is "
        f"stored gets {list(facts['held'])} of the one that is loaded; {facts['differ']:,} of {facts['of']:,} elements "
        f"change places. Give all users of the tile one layout, with its swizzle."
    )
    return "a shared tile is written and read through different swizzles", message


@_rule
def lc606(facts: dict[str, Any]) -> tuple[str, str]:
    """The first element of a block that changes places."""
    message = (
        f"{list(facts['at'])} of the tensor that is stored gets {list(facts['held'])} of the one that is loaded, but "
        f"elements inside a block keep their rows; {facts['differ']:,} of {facts['of']:,} elements change places. If "
        f"this is not meant, the tile is written and read with different strides, or ldmatrix should transpose."
    )
    return "blocks of a tile are transposed, the elements inside them are not", message


@_rule
def lc607(answer: OperandAnswer) -> tuple[str, str]:
    """What the descriptor cannot say, the layout that fits, and the code of it."""
    fits = f" What fits: {answer.fits}." if answer.fits else ""
    code = "; ".join(answer.code.splitlines())
    message = f"{answer.given}: {answer.message}.{fits}{f' Code: {code}' if code else ''}"
    return answer.title, message


@_rule
def lc608(letter: str, facts: dict[str, Any]) -> tuple[str, str]:
    """The tensors, by their numbers among the arguments of the compiled function, from 1."""
    one = facts["tensor"]
    if facts["left"]:
        left = facts["left"][0]
        if facts.get("products") == 2:
            message = (
                f"one operand of this product and one of another are elements of argument {one} of the compiled function, and "
                f"no element of its argument {left}, a tensor of the same type, is used. Unless that is meant, a copy takes the "
                f"tensor map or the tile of the other product."
            )
            return "two products take one tensor, another is not used", message
        message = (
            f"A and B of the product are elements of argument {one} of the compiled function, and no element of its "
            f"argument {left}, a tensor of the same type, is used. Unless that is meant, a copy takes the tensor map or "
            f"the tile of the other operand."
        )
        return "A and B of a product are elements of one tensor, another is not used", message
    whose = "an operand of another product" if facts.get("products") == 2 else "the other operand"
    message = (
        f"in one sum {letter} is elements of argument {facts['own']} of the compiled function and of argument {one}, of "
        f"which {whose} is too: one of the copies of {letter} takes the tensor map or tile of that operand."
    )
    return f"{letter} of a product comes from two tensors", message


@_rule
def lc609(letter: str, instruction: str) -> tuple[str, str]:
    """What is not written, and what to do; `instruction` is mma.sync, wgmma or tcgen05.mma."""
    if letter != "C":
        return f"a product multiplies registers of {letter} that nothing has written", (
            f"The {instruction} reads {letter} from registers. No thread has written any of them before. Copy {letter} into "
            "its fragment first."
        )
    where = "tensor memory" if instruction == "tcgen05.mma" else "registers"
    repair = (
        "Clear them first: `acc.fill(0.0)`." if instruction == "mma.sync" else
        "Set ACCUMULATE to False for the first k-block."
    )  # fmt: skip
    return "a product adds to accumulators that nothing has written", (
        f"The first {instruction} of this sum adds to its accumulators in {where}. Nothing has written them before. {repair}"
    )


@_rule
def lc610(facts: dict[str, Any]) -> tuple[str, str]:
    """Who stores how much; `written` says whether something writes others of these registers."""
    first, last = facts["threads"]
    who = f"Thread {first} stores" if first == last else f"Threads {first} to {last} store"
    block = "".join(str(tuple(facts["block"])).split())
    held = "tensor memory" if "tensor" in facts else "shared memory" if facts["shared"] else "registers"
    some = "The line that writes them does so in other threads, or for other elements." if facts["written"] else (
        f"No line writes them{' before' * facts['shared']}." + " An atomic operation adds to what is there." * facts.get("adds", False)
    )  # fmt: skip
    fill = (
        f"`fragment.fill({facts['fill']})`" if facts["fill"] else "with what its sum or maximum begins with"
    )
    repair = f"Fill the fragment first ({fill}), or store under the predicate of the load."
    if not facts["written"]:
        repair = (
            "Write them first, or leave them out." if facts["shared"] else
            "Load the columns of the accumulators, of the stage that was multiplied." if "tensor" in facts else
            "Copy into the fragment first."
        )  # fmt: skip
    return f"what is stored comes from {held} that nothing has written", (
        f"{who} {facts['bytes']} B in block {block} that are, or are computed from, {held} that nothing has written. "
        f"{some}{conditions(facts)} {repair}"
    )


def conditions(facts: dict[str, Any]) -> str:
    """With which extents it is so, as a sentence; "" for any."""
    if not facts["extent"]:
        return f" This is so in the program's call with {facts['called']}." if facts["called"] else ""
    return f" This is so if all dynamic extents are {facts['extent']:,}; " + (
        f"it is not so if they are multiples of {facts['multiple']:,}." if facts["multiple"]
        else "it is not so in the program's calls."
    )  # fmt: skip


@_rule
def lc611(facts: dict[str, Any]) -> tuple[str, str]:
    """Which threads of which block store it."""
    first, last = facts["threads"]
    who = f"Thread {first} stores" if first == last else f"Threads {first} to {last} store"
    block = "".join(str(tuple(facts["block"])).split())
    return "a sum counts what was filled in beyond the end of a row", (
        f"{who} it in block {block}. Lanes that load nothing there hold a fill; what the kernel makes of it is not 0 "
        f"when the lanes are added up.{conditions(facts)} Set it to 0 before the sum, by the predicate of the load, or "
        "fill with a number that the computation makes neutral."
    )


@_rule
def lc612(facts: dict[str, Any], instruction: str) -> tuple[str, str]:
    """Which k are lost, and which are stored; `instruction` is mma.sync, wgmma or tcgen05.mma."""
    if not facts["lost"]:
        return "nothing uses the sums of a product", (
            f"The {instruction} multiplies elements of its tensors, and its sums are neither stored nor computed with, "
            "while those of another product are stored. If it is not there to take time, the accumulators of the other "
            "one are used in its place."
        )
    (first, last), (low, high) = facts["lost"], facts["stored"]
    repair = (
        "Clear the accumulators once, before the loop over k." if instruction == "mma.sync" else
        "Set ACCUMULATE to False once, before the loop over k, and to True after the first k-block."
    )  # fmt: skip
    return "accumulators are begun anew before what they summed is stored", (
        f"The {instruction} sums products of k from {first} to {last} that nothing stores. C gets the sum of k from "
        f"{low} to {high}. {repair}"
    )


@_rule
def lc613(facts: dict[str, Any]) -> tuple[str, str]:
    """Which k are left, and which are taken twice instead."""
    (first, last), twice = facts["left"], facts["twice"]
    if twice:
        return "a sum takes some k of A and B twice, and others never", (
            f"A and B both have {facts['of']} k. One sum takes k from {twice[0]} to {twice[1]} more than once, and no "
            f"sum of the first or of the last block takes {facts['count']} of them, from {first} to {last}. A k-block, "
            f"a stage or a tile comes again in the place of another one."
        )
    if facts["guessed"]:
        return "no sum takes some k of A and B", (
            f"With {facts['of']} k of A and of B no sum of the first or of the last block takes {facts['count']} of "
            f"them, from {first} to {last}, and with twice as many again the {'last' if first else 'first'} "
            f"{facts['count']}. If all k are meant, C lacks their products."
        )
    left = (
        f"A and B both have {facts['of']} k. No sum of the first or of the last block takes {facts['count']} of "
        f"them, from {first} to {last}."
    )
    if facts["unread"]:
        return "k of A and B are copied to shared memory, and no sum takes them", (
            f"{left} Copies bring some of these to shared memory, of A and of B: C lacks their products."
        )
    return "no sum takes some k of A and B", f"{left} If all k are meant, C lacks their products."


@_rule
def lc614(kind: str, facts: dict[str, Any]) -> tuple[str, str]:
    """The first element that comes from elsewhere."""
    source, target = facts["tensors"]
    if kind == "tile of one":
        return "two copies bring one tile of a tensor, and another tensor is not used", (
            f"Both bring the same {facts['of']:,} B of argument {source} to two places of shared memory. The kernel is given "
            f"argument {target} of the same shape, and uses none of it: one of the copies has the wrong tensor map or tensor."
        )
    if kind == "tile beside":
        return "results are combined with elements of another tile", (
            f"{list(facts['at'])} of argument {target} is combined with {list(facts['held'])} of argument {source}, and "
            f"{list(facts['other'])} with {list(facts['again'])}, by another block or statement. Mode {facts['mode']} of argument "
            f"{source} has the extent of a mode of argument {target}: the index of another tile stands in its place."
        )
    rest = f"{facts['differ']:,} of {facts['of']:,} elements that were followed come from another place than theirs."
    if kind == "tile twice":
        return "whole tiles of a tensor are taken twice, and others never", (
            f"{list(facts['at'])} and {list(facts['other'])} of argument {target} are both made of {list(facts['held'])} "
            f"of argument {source}. The tensors have one shape, so that another tile is never taken. {rest} The tile's "
            "index along one mode stands in the place of the other: compare the coordinates of load and store."
        )
    if kind == "tile turned":
        return "the elements inside tiles are transposed, the tiles are not", (
            f"{list(facts['at'])} of argument {target} is made of {list(facts['held'])} of argument {source}, but tiles "
            f"keep their places. {rest} If the transpose is meant, exchange the coordinates of the tiles, too."
        )
    return "tiles change places along two modes, the elements inside them do not", (
        f"{list(facts['at'])} of argument {target} is made of {list(facts['held'])} of argument {source}, but inside a "
        f"tile rows stay rows. {rest} Take the coordinates of the tile in the order of the tensor's modes."
    )


@_rule
def lc615(facts: dict[str, Any]) -> tuple[str, str]:
    """Which threads load in vain."""
    (first, last), step = facts["threads"], facts["step"]
    if step:
        return "a sum over lanes leaves out a step", (
            f"What threads {first} to {last} store has a sum over the lanes that differ in smaller and larger steps than "
            f"{step}, not in {step}: half of the lanes between are left out. If that is not meant, a step of the butterfly "
            "is missing."
        )
    return "a sum over lanes leaves out what some of them have loaded", (
        f"{facts['count']:,} threads of a block, from {first} to {last}, load elements that no other thread loads, and add "
        "them up with other lanes. What becomes of them reaches no output, while the sum of other lanes is stored. A step "
        "of the butterfly is missing, or a warp is left out of the last sum."
    )
