"""Layoutcheck against what became of a kernel: compiled or not, and what its PTX did to memory.

`judge(written, answer)` gives every disagreement, as (what, words). The words of layoutcheck are those of a
trace (`dsl.collect`, `judge.judge_traced`) and of `predict` for the types each call was given. The truth is
the DSL's outcome, and memory after the copy's PTX compared with memory after the reference's.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import layoutcheck as lc
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.atoms.compiler import predict
from layoutcheck.check import Report
from layoutcheck.copies.copy import Copy
from layoutcheck.dsl.collect import Collector
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.errors import InputError
from layoutcheck.judge import judge_traced
from layoutcheck.sources.atoms import parse_atom
from layoutcheck.sources.traced import TracedCopy
from layoutcheck.sources.types import parse_memref, parse_tiled_copy
from tests.conformance.written import costs, machine
from tests.conformance.written.kernels import IMAGE_BYTES, MIDDLE, Written

BASES = {"gI": 1 << 40, "gO": 1 << 41, "gD": 1 << 42}
COPY_EPOCH = 1  # after the one barrier that ends the filling


@dataclass
class Judged:
    outcome: str
    wrongs: list[tuple[str, str]] = field(default_factory=list)
    verdicts: Counter = field(default_factory=Counter)
    notes: Counter = field(default_factory=Counter)
    tries: list[Any] = field(default_factory=list)  # (numbers, digests of memory) of each run that counts
    reports: list[tuple[TracedCopy, Report | None]] = field(default_factory=list)


def judge(written: Written, answer: dict[str, Any], lowering: Lowering | None = None) -> Judged:
    collector = Collector(lowering=lowering)
    collector.take(answer["built"])
    collector.resolve()
    trace = collector.trace()
    out = Judged(outcome_of(answer))
    if "broken" in answer:
        out.wrongs.append(("broken", answer["broken"]))
        return out
    for failure in trace.failures:
        if failure.kind != "refused":
            out.wrongs.append(("trace failure", f"{failure.kind}: {failure.message}"))
    out.reports = [(one, reported(one, out)) for one in trace.copies]
    for one, report in out.reports:
        out.verdicts["unreadable" if report is None else report.verdict] += 1
        out.notes[f"addresses from {one.address_source}"] += 1
        if one.address_source == "types":
            out.notes[f"why: {one.missing[:60]}"] += 1
    calls(answer, out)
    compiled(answer, out)
    if out.outcome == "compiled":
        ran(written, answer, out)
        cost(written, answer, out)
    api(out)
    return out


def reported(one: TracedCopy, out: Judged) -> Report | None:
    """What a trace says of the copy; that it raises is a disagreement."""
    try:
        return judge_traced(one, fixes_for=())
    except Exception as error:
        words = f"{type(error).__name__}: {error}; {one.operation[:600]}"
        out.wrongs.append(("judge_traced raises", words))
        return None


def outcome_of(answer: dict[str, Any]) -> str:
    if "broken" in answer:
        return "broken"
    if "died" in answer and answer.get("compiling") == "copy":
        return "died in lowering" if answer["built"] else "died in python"
    if "compiling" not in answer:
        return "died in python"
    if "copy_ptx" in answer and "copy_error" not in answer:
        return "compiled"
    if "copy_error" not in answer:
        return "no ptx"
    if any(event.get("refused") or event.get("others") for event in answer["built"]):
        return "refused"
    return "late failure" if answer["built"] else "python error"


# What is said of each call's types.


def copy_of(call: dict[str, Any]) -> Copy | None:
    """The copy that a call makes, by the types it was given; None where types cannot be read."""
    op, operands = call["op"], list(call["operands"])
    if any(o is None or not o.startswith("!cute") for o in operands):
        return None
    pred = parse_memref(call["pred"]) if call.get("pred") else None
    try:
        if op in ("copy", "copy_atom_call"):
            if "unroll_factor" in call["named"]:
                op = "copy_atom_call"
            tiled = parse_tiled_copy(operands[0]) if operands[0].startswith("!cute.tiled_copy") else None
            atom = tiled.atom if tiled else parse_atom(operands[0])
            src, dst = (parse_memref(t) for t in operands[1:])
            return Copy(atom, src, dst, pred, tiled, op=op)
        src, dst = (parse_memref(t) for t in operands[-2:])
        return Copy(None, src, dst, pred, op=op)
    except InputError:
        return None


def calls(answer: dict[str, Any], out: Judged) -> None:
    """Each call that Python refused is predicted to be, with its words; none that passed is, in Python."""
    made = answer.get("calls") or []
    said = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", " | ".join(answer.get("copy_causes", []))).split())
    for number, call in enumerate(made):
        copy = copy_of(call)
        if copy is None:
            out.notes["call unread"] += 1
            continue
        try:
            ours = predict(copy)
        except Exception as error:
            out.wrongs.append(("predict raises", f"{type(error).__name__}: {error}; {call}"))
            continue
        last = number == len(made) - 1
        if not call.get("passed"):
            if not last:
                out.wrongs.append(("odd", str(call)))
            elif "copy_error" not in answer:
                if out.outcome == "died in python" and ours.outcome != "aborts":
                    out.wrongs.append(("died in the call", f"{ours} of {call}"))
            elif ours.outcome == "unknown":
                out.notes["predict unknown"] += 1
            elif ours.outcome != "rejected":
                out.wrongs.append(("call refused, not predicted", f"{said[:400]}; {ours}; {call}"))
            elif " ".join(ours.message.split()) not in said and ours.kind == "composed_layout":
                out.notes["another refusal of a composed layout"] += 1
            elif " ".join(ours.message.split()) not in said:
                out.wrongs.append(("other words", f"{said[:400]}; {ours.message}; {call}"))
            else:
                out.notes["python refusals agreed"] += 1
        elif len(made) == 1 and out.outcome == "compiled" and ours.outcome in ("rejected", "aborts"):
            out.wrongs.append(("call passed, predicted to fail", f"{ours}; {call}"))


def compiled(answer: dict[str, Any], out: Judged) -> None:
    """The operations of a module that was built: the verifier's word on each, and later failures."""
    late = False
    for one, report in out.reports:
        if report is None:
            out.wrongs.append(("unreadable", f"{one.missing}: {one.operation[:300]}"))
            continue
        ours = predict(one.copy)
        codes = {finding.code for finding in report.findings}
        late |= bool(codes & {"LC190", "LC191"})
        if one.refused is not None:
            message = re.sub(r"'cute\.\w+' op ", "", one.refused)
            if ours.outcome not in ("rejected", "unknown"):
                out.wrongs.append(("refused, not predicted", f"{one.refused}; {ours}; {one.operation[:700]}"))
            elif report.compiler.message not in message:
                out.wrongs.append(("other words", f"{one.refused}; {ours.message}; {one.operation[:700]}"))
            else:
                out.notes["refusals agreed"] += 1
        elif out.outcome in ("compiled", "late failure", "refused") and ours.outcome in (
            "rejected",
            "aborts",
        ):
            out.wrongs.append(("accepted, predicted to fail", f"{ours}; {one.operation[:700]}"))
        if out.outcome == "compiled" and report.verdict == "rejected" and one.refused is None:
            out.wrongs.append(("compiled, said rejected", f"{codes}; {one.operation[:700]}"))
    if out.outcome in ("late failure", "died in lowering") and not late:
        said = " ".join(answer.get("copy_error", f"signal {answer.get('died')}").split())
        words = "; ".join(one.operation[:700] for one, _ in out.reports)
        out.wrongs.append((out.outcome + ", not said", f"{said[-300:]}; {words}"))


# What the PTX did.


def numbers_for(written: Written) -> list[tuple[int, int, int]]:
    """Hostile values of n0 (odd multiples of what is assumed of it), n1 and n2."""
    divisor = max([1, *map(int, re.findall(r"assume\(n0, (\d+)\)", written.source))])
    few = [
        (divisor * (n | 1), limit, n2) for n, limit, n2 in ((300 // divisor, 5, 1), (271 // divisor, 17, 0))
    ]
    if "stride=" in written.source and re.search(r"stride=[^\n]*n2", written.source):
        few += [(divisor * (300 // divisor), 9, 2), (divisor * (300 // divisor), 9, 3)]
    return few


@dataclass
class Memory:
    images: dict[str, Any]
    run: machine.Run


def fresh(seed: int = 1) -> dict[str, Any]:
    """Memory before a kernel: what it reads, and two images of poison that it writes."""
    rng = np.random.default_rng(seed)
    return {
        "gI": rng.integers(1, 120, IMAGE_BYTES, dtype=np.uint8),
        "gO": np.full(IMAGE_BYTES, 0xEE, np.uint8),
        "gD": np.full(IMAGE_BYTES, 0xEE, np.uint8),
    }


def digest(images: dict[str, Any]) -> str:
    return hashlib.sha1(b"".join(images[name].tobytes() for name in sorted(images))).hexdigest()


def arguments_of(written: Written, bases: dict[str, int], numbers: tuple[int, int, int]) -> list[bytes]:
    """The kernel's parameters: three images, two tensors of dynamic layout, three numbers."""
    arguments = [bases[name].to_bytes(8, "little") for name in ("gI", "gO", "gD")]
    pitch = written.divisor * (300 // written.divisor | 1)
    for name in ("gI", "gO"):
        place = (bases[name] + MIDDLE).to_bytes(8, "little")
        arguments.append(place + b"".join(f.to_bytes(4, "little") for f in (64, 64, pitch)) + bytes(4))
    return arguments + [(n % (1 << 32)).to_bytes(4, "little") for n in numbers]


def execute(written: Written, ptx: str, numbers: tuple[int, int, int], off: int | None = None) -> Memory:
    images = fresh()
    shared = np.full(written.shared_bytes, 0xDD, np.uint8)
    bases = {name: base + (written.align if off is None else off) for name, base in BASES.items()}
    arguments = arguments_of(written, bases, numbers)
    found = machine.run(ptx, arguments, {bases[n]: images[n] for n in images}, shared, written.threads)
    return Memory(images, found)


def ran(written: Written, answer: dict[str, Any], out: Judged) -> None:
    if "reference_ptx" not in answer or "reference_error" in answer:
        out.notes["no reference"] += 1
        return
    differences, tries = [], 0
    for numbers in numbers_for(written):
        try:
            truth = execute(written, answer["reference_ptx"], numbers)
            found = execute(written, answer["copy_ptx"], numbers)
        except machine.Unknown as unknown:
            out.notes[f"machine does not know {str(unknown)[:60]}"] += 1
            return
        if truth.run.fault:
            out.notes["reference faults"] += 1
            continue
        if racy(truth.run):
            out.notes["reference races"] += 1
            continue
        if past_the_end(answer, truth.run):
            out.notes["reference leaves its tensors"] += 1
            continue
        tries += 1
        out.tries.append(
            (
                numbers,
                {
                    "reference": digest(truth.images),
                    "copy": (found.run.fault and "fault") or digest(found.images),
                },
            )
        )
        if found.run.fault:
            differences.append(f"{numbers}: {found.run.fault}")
            continue
        for name in ("gO", "gD"):
            wrong = np.flatnonzero(truth.images[name] != found.images[name])
            if wrong.size:
                differences.append(f"{numbers}: {wrong.size} bytes of {name} from {wrong[0]}")
        outside = beyond(truth.run, found.run)
        if outside:
            differences.append(f"{numbers}: {outside}")
    if not tries:
        return
    out.notes["ran"] += 1
    verdicts = [report.verdict for _, report in out.reports if report is not None]
    codes = {f.code for _, r in out.reports if r is not None for f in r.findings if f.severity == "wrong"}
    if differences:
        out.notes["really wrong"] += 1
        if "wrong" not in verdicts and "unknown" not in verdicts:
            out.wrongs.append(("corrupts, said " + "/".join(sorted(set(verdicts))), "; ".join(differences)))
        elif "wrong" not in verdicts:
            out.notes["really wrong, unknown"] += 1
    elif "wrong" in verdicts and codes <= {"LC211", "LC204"} and not all_known(answer):
        out.notes["leaves a tensor of unknown extent"] += 1
    elif "wrong" in verdicts and codes <= {"LC204", "LC216"} and _staged(written):
        out.notes["leaves its stage"] += 1
    elif "wrong" in verdicts and _removed(codes, [one.copy for one, _ in out.reports if one.copy]):
        out.notes["LLVM removes what is wrong"] += 1  # dead registers, the first of two stores
    elif "wrong" in verdicts and codes <= {"LC211", "LC212"}:
        out.notes["threads that never run"] += 1  # each does what its views say
    elif "wrong" in verdicts:
        out.wrongs.append((f"right, said wrong {sorted(codes)}", ""))


def _removed(codes: set[str], copies: list[Copy]) -> bool:
    """Whether LLVM removes what is wrong: registers nobody reads, the first of two stores to a place."""
    if codes == {"LC204"}:
        return any("rmem" in (copy.src.space, copy.dst.space) for copy in copies)
    if codes != {"LC210"}:
        return False
    for copy in copies:
        leaves = zip(flatten(copy.dst.layout.shape), flatten(copy.dst.layout.stride), strict=True)
        steps = [[i * stride for i in range(extent)] for extent, stride in leaves if isinstance(stride, int)]
        offsets = [sum(some) for some in itertools.product(*steps)]
        if len(set(offsets)) < len(offsets):
            return True
    return False


def _staged(written: Written) -> bool:
    """Whether a stage of more is copied: an address past it is one of the next."""
    return re.search(r"None, (n2|1|0)\]", written.source) is not None


def cost(written: Written, answer: dict[str, Any], out: Judged) -> None:
    """The numbers of a report on a static tile against the PTX of a kernel that does nothing but the copy."""
    unlike = ("pred=", "cutlass.range(cute.size", "unroll_factor", "p + ", "domain_offset", "pad = ", "n2")
    lines = written.source.split("def kernel")[1].split("@cute.jit")[0].split("\n", 2)[2]
    if len(out.reports) != 1 or any(word in lines for word in unlike):
        return
    if "byte_alignment=8)" in lines or re.search(r"None, [01]\]", lines):  # where it begins decides
        return
    one, report = out.reports[0]
    if report is None or one.address_source != "threads" or report.verdict not in ("legal", "slow"):
        return
    assert one.copy is not None
    spaces = (one.copy.src.space, one.copy.dst.space)
    try:
        run = execute(written, answer["copy_ptx"], numbers_for(written)[1], off=0).run
    except machine.Unknown:
        return
    found = costs.counted(costs.of_copy(run.accesses, spaces, COPY_EPOCH))
    said = report.execution
    widths = {a.width * 8 for a in costs.of_copy(run.accesses, spaces, COPY_EPOCH)}
    if run.fault or not widths:
        return
    if "matrix" not in str(said.get("operations")) and widths != {said["width_bits"]}:
        out.notes["LLVM merged accesses" if min(widths) >= said["width_bits"] else "narrower in PTX"] += 1
        return
    asynchronous = "cp.async" in str(said.get("operations"))
    for name in ("instructions_per_thread", "smem_wavefronts", "gmem_sectors"):
        if name not in said or (asynchronous and name != "instructions_per_thread"):
            continue
        out.notes[f"{name} compared"] += 1
        if said[name] != found.get(name, 0) and not _repeats(one.copy):  # which LLVM leaves out
            words = f"said {said[name]}, counted {found.get(name, 0)}; {one.operation[:500]}"
            out.wrongs.append((f"{name} differs", words))


def _repeats(copy: Copy) -> bool:
    """Whether a view names an element twice."""
    return any(
        extent != 1 and stride == 0
        for view in (copy.src, copy.dst)
        for extent, stride in zip(flatten(view.layout.shape), flatten(view.layout.stride), strict=True)
    )


def racy(run: machine.Run) -> bool:
    """Whether one byte is written twice by the copy."""
    for space in ("global", "shared"):
        written: list[Any] = []
        for access in run.accesses:
            if access.kind == "write" and access.space == space and access.epoch == COPY_EPOCH:
                at = access.address[access.mask]
                written.append((at[:, None] + np.arange(access.width)).reshape(-1))
        if written:
            every = np.concatenate(written)
            if np.unique(every).size < every.size:
                return True
    return False


def beyond(truth: machine.Run, found: machine.Run) -> str:
    """Reads outside the range that the reference reads: more than an aligned word around it."""
    for space in ("global", "shared"):
        ranges = []
        for run in (truth, found):
            ends = [
                (int(a.address[a.mask].min()), int(a.address[a.mask].max()) + a.width)
                for a in run.accesses
                if a.kind == "read" and a.space == space and a.epoch == COPY_EPOCH
            ]
            ranges.append((min(e[0] for e in ends), max(e[1] for e in ends)) if ends else None)
        if ranges[0] is None or ranges[1] is None:
            continue
        low, high = ranges[0][0] // 16 * 16, -(-ranges[0][1] // 16) * 16
        if ranges[1][0] < low or ranges[1][1] > high:
            return f"{space} reads {ranges[1]} beyond {ranges[0]}"
    return ""


def all_known(answer: dict[str, Any]) -> bool:
    """Whether both sides in memory span what is known when the kernel is built."""
    sides = {e["side"] for e in answer.get("extents", ())}
    given = (answer.get("calls") or [{}])[0].get("operands", ())
    return len(sides) == sum("memref" in text and "rmem" not in text for text in given if text)


def past_the_end(answer: dict[str, Any], run: machine.Run) -> bool:
    """Whether the reference touches more of one side than its whole tensor spans."""
    spans = {e["side"]: e for e in answer.get("extents", ())}
    for side, kind in (("src", "read"), ("dst", "write")):
        if side not in spans:
            continue
        space = {"gmem": "global", "smem": "shared"}.get(spans[side]["space"])
        ends = [
            (int(a.address[a.mask].min()), int(a.address[a.mask].max()) + a.width)
            for a in run.accesses
            if a.kind == kind and a.space == space and a.epoch == COPY_EPOCH
        ]
        if ends and max(e[1] for e in ends) - min(e[0] for e in ends) > spans[side]["bytes"]:
            return True
    return False


# The library called with the same operands.


def api(out: Judged) -> None:
    for one, report in out.reports:
        if report is None or one.copy is None or one.addresses is not None or one.refused is not None:
            continue
        copy = one.copy
        named: dict[str, Any] = {"op": copy.op, "arch": copy.arch}
        if copy.pred is not None:
            named["pred"] = str(copy.pred)
        try:
            if copy.tiling is not None and copy.tiling.tiled.atom != copy.atom:
                continue  # autovec_copy of a tiled copy's views
            if copy.tiling is not None and "rmem" in (copy.src.space, copy.dst.space):
                continue  # a fragment need not be the partition of anything
            if copy.tiling is not None:
                named |= {"tiled": str(copy.tiling.tiled), "block": copy.tiling.block_threads}
                again = lc.check(str(copy.tiling.src), str(copy.tiling.dst), **named)
            elif copy.tiled is None:
                again = lc.check(str(copy.src), str(copy.dst), str(copy.atom), **named)
            else:
                continue
        except InputError as error:
            out.wrongs.append(("api", f"{error.message}: {one.operation[:500]}"))
            continue
        if (again.copy.src.layout, again.copy.dst.layout) != (copy.src.layout, copy.dst.layout):
            continue  # regrouped before the copy
        out.notes["api compared"] += 1
        same = {f.code for f in again.findings} == {f.code for f in report.findings}
        if again.verdict != report.verdict or not same:
            codes = [sorted(f.code for f in r.findings) for r in (report, again)]
            out.wrongs.append(
                (
                    "api differs",
                    f"{report.verdict} {codes[0]}, {again.verdict} {codes[1]}; {one.operation[:600]}",
                )
            )
