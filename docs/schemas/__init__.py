"""What each command prints as JSON, as shapes, and the JSON Schemas of it.

What `explain` and `check` print stands in `reports.py`. What a command makes of a dataclass is that
dataclass. The site has each schema at its `$id` (`hooks.py`), and the tests hold real outputs against it.
"""

from __future__ import annotations

from typing import Any, Literal

from docs.schemas.keys import describe
from docs.schemas.reports import SHAPES, VERSION, definitions, schema
from docs.schemas.shapes import OrNull, Plus, Ref, Said, Schema, schema_of
from layoutcheck.findings import SCHEMA_VERSION
from layoutcheck.gpu.races import RaceRun
from layoutcheck.lint.finding import LintFinding
from layoutcheck.lint.result import Counts, Ran
from layoutcheck.order.memory_map import MemoryMap
from layoutcheck.sources.traced import (
    Addresses,
    ElementReport,
    Frame,
    KernelFinding,
    OperandReport,
    OrderReport,
    TraceFailure,
)
from layoutcheck.synthesis.compiled import Compiled

_VERDICT = Said(Ref("verdict"), "the worst of the findings")
_JUDGED = {"verdict": _VERDICT, "findings": [Ref("finding")]}

_CANONICAL = {
    "verdict": Said(Literal["legal", "rejected", "wrong"], "wrong: the descriptor names other addresses"),
    "name": Said(str, "the DSL's SmemLayoutAtomKind of a legal layout"),
    "reason": str,
    "compiler": Said(str, "the compiler's message; empty if it accepts the layout"),
    "leading_bytes": Said(int | None, "the descriptor's leading offset"),
    "stride_bytes": Said(int | None, "the descriptor's stride offset"),
    "align_bytes": Said(int, "what the base address must be a multiple of"),
    "swizzle": Said(str, "the pointer's, of bytes"),
    "read_as": Said(str, "how the swizzle was read"),
    "nearest": Said(str, "a canonical layout of the same shape; empty if there is none"),
    "nearest_swizzle": str,
    "nearest_name": str,
    "code": Said(str, "what makes the nearest layout"),
    "evidence": Said(dict[str, Any], "numbers by name"),
}
_CONFIRMATION = {
    "name": str,
    "verdict": Ref("verdict"),
    "codes": Said(list[str], "of the findings"),
    "compiler": Said(str, "what the compiler did: accepted, rejected, ..."),
    "ran": Said(str, "gpu, simulator, or why it was not run"),
    "note": str,
    "expected_fault": Said(str, "the fault that the model predicts"),
    "fault": Said(str, "the fault that the machine reported"),
    "as_predicted": Said(bool | None, "whether memory is as the model's execution says"),
    "as_asked": Said(bool | None, "whether memory is as the layouts ask"),
    "guard_untouched": Said(bool | None, "whether the bytes around the tensors are as before"),
    "agrees": Said(bool | None, "whether model and machine agree; null if nothing ran"),
    "compiler_agrees": Said(bool | None, "whether the compiler refuses what is `rejected`, and nothing else"),
    "first": Said(dict[str, Any], "the first byte that differs"),
}
_MACHINE = Said(dict[str, Any], "`name`, `arch` and `driver` of the GPU; or `simulator`, and `why`")
_LINE = {
    "file": str, "line": int, "instruction": str, "width_bits": int, "instructions": int, "wavefronts": int,
    "ideal_wavefronts": int, "rests_on": Said(str, "how the addresses are known: layouts or lowered"),
}  # fmt: skip
_UNIT = {
    "unit": str,
    "arch": str,
    "k": Said(int, "products that one instruction adds"),
    "block?": Said(int, "products that are added at once"),
    "fraction_bits?": Said(int, "kept of each addend"),
    "rounding?": str,
    "result?": Said(str, "the format of the sum"),
    "anchor_floor?": Said(int | None, "the least exponent that addends are aligned to"),
    "add_c_last?": bool,
    "status": Said(str, "who measured it"),
    "source": str,
    "evidence?": Said(dict[str, str], "of each parameter, who measured it"),
    "arithmetic?": Said(str, "of units without blocks, in words"),
}
_TOLERANCE = {"atol": float, "rtol": float}
_PARTING = {
    "paths": [{"name": str, "steps": list[str]}],
    "first_difference": OrNull({"step": int, "one": str, "other": str}),
    "outputs_per_block": int,
    "out_of_tolerance": Said(list[int], "outputs of each block"),
    "bits_differ": Said(list[int], "outputs of each block"),
    "rms_difference": Said(float, "over the rms of the reference"),
    "norm_difference": Said(float, "of the last block"),
    "largest_relative": Said(float, "of the last block"),
    "mean_relative": Said(float, "of the last block"),
    **_TOLERANCE,
}
_PLAN = {
    "kind": str,
    "verdict": Ref("verdict"),
    "cycles": Said(float, "of one multiprocessor, for one tile"),
    "bound": Said(str, "what takes these cycles"),
    "compiled": Said(OrNull(Compiled), "what the compiler made of the program; null if it was not asked"),
    "shared_bytes": int,
    "shared": Said(str | None, "the shared tensor"),
    "canonical": Said(str, "the DSL's name of its layout"),
    "counts": Said(dict[str, float], "instructions, wavefronts, sectors, ... of one tile"),
    "steps": [{"role": str, "copy": Ref("copy")}],
    "code": Said(str, "the program"),
    "pareto": Said(bool, "no other plan is better in every count"),
}
_SEEN = {
    "where": Frame,
    "stack": Said(list[Frame], "its callers"),
    "operation": Said(str, "the function that is called"),
    "count": Said(int, "how often the kernels have this copy"),
    "kernels": list[str],
    "arch": str,
    "picture": Said(
        Literal["threads", "lowered", "types"],
        "how the addresses are known: threads, by the layouts; lowered; types, of one thread only",
    ),
    "missing": Said(str, "why not for all threads"),
    "refused": Said(str | None, "what the compiler says against it"),
    "in_dsl": Said(bool, "whether the line is the DSL's own"),
    "uncompiled": Said(bool, "whether its kernel does not compile"),
    "addresses": Said(OrNull(Addresses), "of the compiler's lowering"),
}
_SUMMARY = {
    "kernels": int,
    "builds": Said(int, "of all kernels, each as often as it was built"),
    "copies": int,
    "places": Said(int, "lines with copies"),
    "distinct": Said(int, "different copies, each with a line of its own here"),
    "verdicts": dict[str, int],
    "all_threads": Said(int, "copies that are known for all threads"),
    "pictures": Said(dict[str, int], "copies by how their addresses are known"),
    "in_dsl": int,
    "missing": Said(dict[str, int], "copies by the reason why not for all threads"),
    "bounded_if": Said(dict[str, int], "copies that are inside their tensors on a condition"),
    "weak_bases": Said(Any, "tensors whose alignment decides"),
    "unbounded": Said(dict[str, int], "copies by the reason why their bounds are not known"),
    "untold": Said(dict[str, int], "copies by the reason why their cost is not told"),
    "causes": [{"where": Frame, "statement": str, "copies": list[Frame]}],
    "failures": list[TraceFailure],
    "notes": list[str],
    "versions": dict[str, str],
    "unseen": Said(list[str], "what --fail-on and --require-coverage ask for, and was not seen"),
}
_LINTED = {
    "findings": list[LintFinding],
    "counts": Counts,
    "notes": list[str],
    "runs": Said(list[Ran], "registered cases and programs"),
}
_ANSWER = {
    "operand": Said(Literal["A", "B", "C"], "of the MMA"),
    "given": str,
    "where": Said(str, "registers or shared memory"),
    "verdict": Ref("verdict"),
    "title": str,
    "message": str,
    "fits": Said(str, "what the MMA reads"),
    "code": str,
    "thread?": Said(int, "the first that differs; these keys stand only if registers differ"),
    "register?": int,
    "held?": Said(list[int], "the element's coordinates that the register holds"),
    "taken?": Said(list[int], "the coordinates that the MMA takes it for"),
    "differ?": Said(int, "registers that differ"),
    "registers?": Said(int, "of all threads"),
    "canonical?": Said(_CANONICAL, "of an operand in shared memory"),
}

# Each output by the name of its schema: the command that prints it, and its lines, each one of these shapes.
OUTPUTS: dict[str, tuple[str, list[Any]]] = {
    "mma": ("explain --mma", [{
        "mma": str, "verdict": Ref("verdict"), "shape_mnk": list[int], "threads": int,
        "atom_layout_mnk": str, "majors": list[str],
        "layouts": Said(dict[str, Any], "of A, B and C: `where`, the atom's `tv` and the whole `tile`"),
        "operands": [_ANSWER],
    }]),
    "compare": ("check --compare", [{
        "subject": str, "what": Said(str, "verdict, or a cost of `execution`"),
        "before": Said(int | float | str | None, "null where the copy is new"),
        "now": Said(int | float | str | None, "null where the copy is gone"), "worse": bool,
    }]),
    "lint": ("lint and ci", [_LINTED]),
    "trace": ("trace", [
        {"trace": Said(_SEEN, "where the copy is"), "report": Said(OrNull(Ref("report")), "of this copy")},
        {"order": Said(OrderReport, "of a kernel, LC5xx")},
        {"elements": Said(ElementReport, "of a kernel's accesses that are no copies")},
        {"operands": Said(OperandReport, "of a kernel's products, LC6xx")},
        {"summary": _SUMMARY},
    ]),
    "trace-memory": ("trace --memory", [
        Plus(MemoryMap, {**VERSION, "aliases": Said(list[tuple[int, int]], "uses that overlap in part")})
    ]),
    "trace-lines": ("trace --lines", [
        {"kernel": str, "arch": str, "problem": Said(str, "why it could not be counted")},
        {"kernel": str, "arch": str, "grid": list[int], "blocks_evaluated": int, **_LINE, "sectors": int,
         "ideal_sectors": int},
    ]),
    "trace-banks": ("trace --banks", [
        {**_LINE, "operation": str, "ways": int, "reached": Any, "count": int, "kernels": list[str]}
    ]),
    "confirm": ("confirm", [
        {"machine": _MACHINE, **_CONFIRMATION, "reproducer": Said(str | None, "the file of its script")},
        Ref("failure"),
    ]),
    "confirm-order": ("confirm --order", [
        {"program": str, "machine": _MACHINE, "kernels": int,
         "usual": Said(list[RaceRun], "runs without delays")},
        {"finding": KernelFinding, "shown": Said(int | None, "the seed whose run fails"),
         "runs": list[RaceRun], "problem": str},
    ]),
    "pytest": ("pytest --layoutcheck-output", [{
        **SHAPES["report"],
        "tests": Said(list[str], "that compiled this copy"),
        "confirmation?": Said({"machine": _MACHINE, **_CONFIRMATION}, "with --layoutcheck=confirm"),
    }]),
    "banks": ("banks", [{
        "accesses": [{"access": str, "width_bits": int, "instructions": int, "wavefronts": int, "ideal": int,
                      "ways": Said(int, "lanes of one instruction that meet in a bank")}],
        "best": {"layout": str, "swizzle": Said(str | None, "the pointer's, of bytes"),
                 "swizzle_elements": Said(str | None, "the same, of elements"), "padding_elements": int,
                 "wavefronts": int, "conflict_free": bool, "optimality": str},
        "read_as": Said(str, "how the swizzle was read"), "arch": str,
    }]),
    "canonical": ("canonical", [{"layout": str, "unit": Literal["wgmma", "tcgen05"], **_CANONICAL}]),
    "synth": ("synth", [{
        "tile": list[int], "dtype": str, "to": Said(list[str], "its readers"), "arch": str, "threads": int,
        "stages": int, "space": Said(list[str], "what was searched"),
        "cut": Said(bool, "whether time ended the search"), "why": str, "plans": Said([_PLAN], "best first"),
        "notes": Said(list[str], "engines without a plan, kinds not judged, what no instruction reads whole"),
        "dropped": [{"kind": str, "reason": str}],
    }]),
    "numerics-units": ("numerics units", [
        {"command": Literal["numerics units"], "arch": str, "units": [_UNIT], **_JUDGED}
    ]),
    "numerics-probe": ("numerics probe", [{
        "command": Literal["numerics probe"], "unit": _UNIT,
        "probes": [{"name": str, "title": str, "predicted": Said(int, "the encoding"),
                    "printed?": Said(int, "as published"), "vacuous?": Said(str, "why it shows nothing"),
                    "hardware?": Said(int, "as the GPU answered")}],
        "identified": Said(dict[str, Any], "the parameters that give these answers"),
        "conclusions": dict[str, str], "identified_from": Literal["prediction", "hardware"], **_JUDGED,
    }]),
    "numerics-path": ("numerics path", [{
        "command": Literal["numerics path"], "arch?": str, **_PARTING,
        "measured?": Said({"out_of_tolerance": list[int], "bits_differ": list[int], "rms_difference": float,
                           "equal_to_model": list[int], "outputs": int}, "with --gpu"), **_JUDGED,
    }]),
    "numerics-tol": ("numerics tol", [{
        "command": Literal["numerics tol"], "path": Said(list[str], "its steps"), "against": str, "arch": str,
        "unit": OrNull(_UNIT), "K": int, "in": str, "out": str, "data": str,
        "formula": Said(str, "of the bound"), "largest_allowed": float, "exact_integer_limit": int | None,
        "model": dict[str, float], "suggested": _TOLERANCE, "suggested_exact": _TOLERANCE,
        "blind": Said(dict[str, float], "shares of outputs at which a fault is not seen"),
        "user": OrNull({**_TOLERANCE, "below_one_step": float, "below_bound": float, "model_outside": float}),
        **_JUDGED,
    }]),
    "numerics-attention": ("numerics attention", [{
        "command": Literal["numerics attention"], "path": str, "keys": int, "head_dim": int,
        **dict.fromkeys(
            ("weights_largest_relative", "row_sum_off", "largest_relative", "mean_relative", "where_largest",
             "rms", "rms_difference", "largest_error", "bound_there", "largest_share"), float),
        **_JUDGED,
    }]),
    "resources": ("resources", [
        {"command": Literal["resources"], "kernel": str, "device": str, "threads": int,
         "registers_lower_bound": int, "registers": Said(int | None, "of a thread, as given"),
         "fragments": Said(dict[str, int], "registers of each"), "smem_bytes": int,
         "buffers": Said(dict[str, int], "bytes of each"), "ctas": int,
         "exact": Said(bool, "whether the registers are known"), "ctas_per_multiprocessor": int,
         "limited_by": str, "waves": float, **_JUDGED},
        {"command": Literal["resources"], "registers": Said(dict[str, int], "of each kernel of a .cubin"),
         **_JUDGED},
    ]),
}  # fmt: skip


def schemas() -> dict[str, Schema]:
    """The JSON Schema of each output by its name: of one line, or of the one object that there is."""
    return {"report": schema(), **{name: _schema(name, *output) for name, output in OUTPUTS.items()}}


def _schema(name: str, command: str, lines: list[Any]) -> Schema:
    defs: dict[str, Schema] = {}
    forms = [schema_of({**VERSION, **line} if isinstance(line, dict) else line, defs) for line in lines]
    for part, one in [*((name, form) for form in forms), *defs.items()]:
        describe(one, part)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://layoutcheck.dev/schema/{name}-{SCHEMA_VERSION}.json",
        "title": f"layoutcheck {command}",
        **(forms[0] if len(forms) == 1 else {"oneOf": forms}),
        "$defs": _used([*forms, *defs.values()], definitions()) | defs,
    }


def _used(forms: list[Schema], known: dict[str, Schema]) -> dict[str, Schema]:
    """The definitions of the reports' schema that these refer to, and those that they refer to."""
    found: dict[str, Schema] = {}
    waiting: list[Any] = list(forms)
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            name = str(one.get("$ref", "")).rsplit("/", 1)[-1]
            if name in known and name not in found:
                found[name] = known[name]
                waiting.append(known[name])
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return {name: found[name] for name in known if name in found}
