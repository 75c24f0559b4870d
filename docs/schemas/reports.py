"""The objects of reports, as shapes: what `explain` and `check` print, and what other outputs hold of it."""

from __future__ import annotations

from typing import Any, Literal

from docs.schemas.shapes import Either, OrNull, Ref, Said, Schema, schema_of
from layoutcheck.findings import SCHEMA_VERSION

VERSION = {
    "schema_version": Said(Literal[SCHEMA_VERSION], "the version of this schema")  # pyrefly: ignore[not-a-type]
}

_NOT_NEGATIVE = {"minimum": 0}
_POSITIVE = {"minimum": 1}
_ONE_OR_MORE = {"minItems": 1}
_TENSOR = {
    "text": Said(str, "as the DSL prints it"),
    "dtype": Said(str, "the DSL's name of the element type"),
    "space": Said(Literal["gmem", "smem", "rmem", "tmem", "dsmem", "generic"], "the memory"),
    "layout": Said(str, "shape:stride, in elements"),
    "align_bytes": Said(int, "proved alignment of the base address, before a swizzle", _POSITIVE),
    "swizzle": Said(str | None, "the pointer's swizzle, of bytes"),
}
_CLUSTER = {
    "blocks": Said(int, "in the cluster"),
    "mcast_mask": Said(int | None, "a bit for each block of a multicast"),
    "cta_rank": Said(int | None, "the one block that is written"),
    "waits_rank": Said(int | None, "the block whose barrier is waited on; null: every one that is written"),
}
_ISSUE = {
    "threads": Said(int, "that issue the copy"),
    "expect_bytes": Said(int | None, "that the barrier is told of; null: as many as the layouts ask for"),
    "cluster": Said(
        OrNull(_CLUSTER),
        "of a copy between the blocks of a cluster: the blocks it names, and the one that waits",
    ),
}
_IM2COL = {
    "lower_corner": Said(list[int], "where the filter's first tap begins; W first, as the others"),
    "upper_corner": Said(list[int], "where it ends, past the last element"),
    "lower_padding": Said(list[int], "of make_im2col_tma_atom"),
    "upper_padding": Said(list[int], "of make_im2col_tma_atom"),
    "stride": Said(list[int], "steps of the first tap"),
    "lower_srt": Said(list[int], "where the taps begin"),
    "dilation": Said(list[int], "between taps"),
}
_TENSOR_MAP = {
    "tensorDataType": Said(str, "CUtensorMapDataType"),
    "tensorRank": Said(int, "number of dimensions", {"minimum": 1, "maximum": 5}),
    "globalDim": Said(list[int], "elements of each dimension"),
    "globalStrides": Said(list[int], "bytes, from the second dimension on"),
    "boxDim?": Said(list[int], "elements of each dimension; of tiles only"),
    "pixelBoxLowerCorner?": Said(list[int], "of im2col only"),
    "pixelBoxUpperCorner?": Said(list[int], "of im2col only"),
    "channelsPerPixel?": Said(int, "of im2col only"),
    "pixelsPerColumn?": Said(int, "of im2col only"),
    "elementStrides": Said(list[int], "of each dimension"),
    "interleave": Said(int, "CUtensorMapInterleave"),
    "swizzle": Said(str, "CUtensorMapSwizzle"),
}
_ANSWER = {
    "name": Said(str, "the entry of the catalogue"),
    "rule": Said(str | None, "the rule that finds the same fault before the compile"),
    "title": Said(str, "what the error means, in one line"),
    "quote": Said(str, "what was recognised in the text"),
    "cause": Said(str, "what makes it"),
    "remedy": Said(str, "what helps"),
    "facts": Said(list[str], "layouts and fields that the text holds"),
}
_ERROR = {
    "message": Said(str, "what cannot be used"),
    "expected": Said(str | None, "what would be; null if nothing is to say"),
    "start": Said(int, "the first character at fault in the input"),
    "end": Said(int, "behind the last one"),
}
_WHERE = {
    "operand?": Said(Literal["src", "dst", "pred", "index", "aux", "atom", "tiled"], "whose"),
    "mode?": Said(list[int], "path of the mode, from 0"),
    "thread?": Said(int, "the first at fault"),
    "value?": Said(int, "of the thread, in its order"),
    "instruction?": Said(int, "of the thread, from 0"),
}
_INFERENCE = {
    "src_align_bytes": Said(int, "of the source", _NOT_NEGATIVE),
    "dst_align_bytes": Said(int, "of the destination", _NOT_NEGATIVE),
    "max_vector_bits": Said(
        int | None, "the widest access that both sides allow; null if there is none", _NOT_NEGATIVE
    ),
    "limit": Said(str | None, "what limits it"),
}
_EXECUTION = {
    "instructions_per_thread": Said(int, "memory instructions that one thread issues", _NOT_NEGATIVE),
    "width_bits": Said(int, "of the narrowest access", _NOT_NEGATIVE),
    "operations": Said(dict[str, int], 'how often one thread issues each, such as `{"ld.global 16 B": 4}`'),
    "threads": Said(int, "that take part", _NOT_NEGATIVE),
    "bytes_per_thread": Said(float, "bytes that one thread writes", _NOT_NEGATIVE),
    "bytes_asked": Said(float, "bytes that the layouts ask for, of all threads", _NOT_NEGATIVE),
    "ideal_instructions_per_thread": Said(
        int, "if every access had 16 bytes, or as many as the pitch of the rows allows", _NOT_NEGATIVE
    ),
    "smem_wavefronts?": Said(int | None, "passes through the 32 banks, of all warps", _NOT_NEGATIVE),
    "ideal_smem_wavefronts?": Said(int | None, "the fewest that the same bytes need", _NOT_NEGATIVE),
    "gmem_sectors?": Said(int | None, "32-byte sectors, of all warps", _NOT_NEGATIVE),
    "ideal_gmem_sectors?": Said(int | None, "the fewest that the same bytes fill", _NOT_NEGATIVE),
    "predicted_cycles?": Said(float, "of one SM, for the whole block", _NOT_NEGATIVE),
}
_CHANGE = {
    "argument": Said(str, "of the copy, such as dst layout"),
    "before": Said(str, "as given"),
    "after": Said(str, "as the fix has it"),
}

# Each object by the name that a `Ref` has for it.
SHAPES: dict[str, Any] = {
    "report": {
        **VERSION,
        "subject": Said(str | None, "the case's name, the record's id, or file:line of the copy"),
        "copy": Said(
            OrNull(Ref("copy")), "the copy as understood; null where only a compiler message is known"
        ),
        "assumptions": Said(list[str], "what was taken for granted because the input did not say it"),
        "verdict": Said(Ref("verdict"), "of the copy: the worst of its findings"),
        "dsl": Said(str, "the version of the CuTe DSL that the model speaks for"),
        "compiler": Said(Ref("prediction"), "what the model of the compiler says"),
        "asked": Said(
            OrNull(Ref("prediction")), "what the installed DSL said; null if it was not asked (`--compiler`)"
        ),
        "findings": Said([Ref("finding")], "worst first"),
        "inference": Said(Ref("inference"), "alignment and the widest vector"),
        "execution": Said(Ref("execution"), "what runs, and what it costs"),
        "fixes": Said([Ref("fix")], "best first"),
        "obstacle": Said(str | None, "why there is no fix, if there is none"),
    },
    "explained": Said(
        {
            **VERSION,
            "subject": Said(str | None, "file:line in the user's code"),
            "verdict": Said(
                Literal["rejected", "wrong", "slow", "clean", "unknown"],
                "what the error says of the copy; clean: the text reports nothing wrong; unknown: it names "
                "a subject and no fault",
            ),
            "answer": Said(_ANSWER, "what the catalogue says of it"),
        },
        "a pasted error that the catalogue knows, and whose copy is not in the text",
    ),
    "failure": Said(
        {
            **VERSION,
            "subject": Said(str, "the line of the input"),
            "error": Said(_ERROR, "what is wrong, and the span of the offending text"),
        },
        "an input line that could not be used",
    ),
    "verdict": Said(
        Literal["legal", "slow", "wrong", "rejected", "unknown"],
        "legal: accepted, correct, nothing wasted. slow: correct but wasteful. wrong: accepted, and the "
        "machine corrupts data, faults or leaves elements uncopied. rejected: the compiler refuses it or "
        "crashes on it. unknown: not enough is known statically",
    ),
    "prediction": Said(
        {
            "outcome": Said(
                Literal["accepted", "rejected", "aborts", "unknown"],
                "aborts: the process of the compiler dies. unknown: the atom is not modelled, or the DSL "
                "could not be asked",
            ),
            "message": Said(str, "the compiler's own text; empty if it accepts the copy"),
            "kind": Said(str, "a stable key of the cause, such as `dst_alignment`"),
            "operand": Said(str | None, "the operand at fault; null if it is the pair"),
        },
        "whether the compiler builds the copy, and what it says if not",
    ),
    "memref": Said(
        Either(_TENSOR, {"text": Said(str, "as the DSL prints it")}),
        "an operand; of what is no tensor in memory (a coordinate tensor, a descriptor) `text` only",
    ),
    "tiling": Said(
        {
            "tiled": Said(str, "as the DSL prints it"),
            "src": Said(Ref("memref"), "the whole source tile"),
            "dst": Said(Ref("memref"), "the whole destination tile"),
            "block_threads": Said(int | None, "threads that are launched; null if not said", _POSITIVE),
        },
        "the whole tiles and the tiled copy that partitions them",
    ),
    "tma": Said(
        {
            "tiler": Said(list[int], "extents of the tile"),
            "coord": Said(list[int], "which tile it is"),
            "described": Said(
                str | None,
                "the shared layout that the map was made from; null if it is that of the shared tensor",
            ),
            "internal_type": Said(str | None, "as given to `make_tiled_tma_atom`"),
            "im2col": Said(OrNull(_IM2COL), "of im2col copies, the convolution"),
            "tensor_map": Said(
                OrNull(_TENSOR_MAP),
                "the arguments of cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col; null where not known",
            ),
        },
        "a TMA copy's tile and the tensor map it implies, by NVIDIA's names, before the DSL drops what has "
        "no room; null where only run time knows",
    ),
    "copy": Said(
        {
            "op": Said(
                Literal["copy", "autovec_copy", "basic_copy", "basic_copy_if", "copy_atom_call"],
                "the function that is called",
            ),
            "arch": Said(str, "the target"),
            "atom": Said(str | None, "as the DSL prints it; null for ops that choose their own"),
            "src": Said(Ref("memref"), "as the copy sees it: mode 0 is the V mode"),
            "dst": Said(Ref("memref"), "as the copy sees it"),
            "pred": Said(OrNull(Ref("memref")), "the predicate tensor"),
            "index?": Said(
                OrNull(Ref("memref")), "of gather4 and scatter4 TMA copies: the tensor of row numbers"
            ),
            "tma?": Said(OrNull(Ref("tma")), "of TMA copies of whole tensors: the tile and the tensor map"),
            "tiled": Said(str | None, "the tiled copy, as the DSL prints it"),
            "tiling": Said(
                OrNull(Ref("tiling")), "the tiled copy; null for views that are partitioned already"
            ),
            "issue": Said(
                OrNull(_ISSUE),
                "of a bulk copy or st.async: the threads that issue it, and what its barrier is told to "
                "expect",
            ),
            "aux?": Said(OrNull(Ref("memref")), "of an atom with two destinations: the second"),
        },
        "a copy as one thread executes it",
    ),
    "finding": {
        "code": Said(str, "of the rule", {"pattern": "^LC[1-9][0-9]{2}$"}),
        "severity": Said(
            Literal["wrong", "rejected", "unknown", "slow", "note"], "a note decides no verdict"
        ),
        "title": Said(str, "one line"),
        "message": Said(str, "the reason, in the modes and strides of the input"),
        "where": Said(_WHERE, "the part of the copy; the keys that apply"),
        "evidence": Said(dict[str, Any], "numbers by name; names in `_bytes` or `_bits` count those"),
        "beyond?": Said(
            str, "what is wrong although no byte is seen to differ; left out of all other findings"
        ),
    },
    "inference": Said(
        Either(_INFERENCE, {}),
        "alignment that an access really has (after a pointer swizzle), and the widest vector both sides "
        "allow; empty where not known",
    ),
    "execution": Said(
        Either(_EXECUTION, {}),
        "what one thread issues and all warps cost; empty for a copy that never runs, without costs if "
        "addresses are not known",
    ),
    "fix": {
        "strategy": Said(str, "the name of the fix"),
        "title": Said(str, "one line"),
        "verdict": Said(Literal["legal", "slow"], "of the repaired copies, which were checked again"),
        "code": Said(str, "to paste into the program"),
        "copies": Said([Ref("copy")], "what the code makes", _ONE_OR_MORE),
        "changes": Said([_CHANGE], "all that differs from the given copy", _ONE_OR_MORE),
        "predicted": Said(dict[str, Any], "counts of the repaired copies, such as `instructions_per_thread`"),
        "confirmed_by": Said(
            [Literal["model", "compiler", "gpu"]], "who checked the repaired copies", _ONE_OR_MORE
        ),
        "note": Said(str, "what else to know; may be empty"),
        "sketch": Said(
            str,
            "why the code is only a sketch (what it needs from the program is not known); empty if it is "
            "complete",
        ),
    },
}


def definitions() -> dict[str, Schema]:
    """The schema of each of these objects by its name."""
    return {name: schema_of(shape, {}) for name, shape in SHAPES.items()}


def schema() -> dict[str, Any]:
    """The JSON Schema of one line of `explain --format json` and of `check --jsonl`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://layoutcheck.dev/schema/report-{SCHEMA_VERSION}.json",
        "title": "layoutcheck report",
        **schema_of(Either(Ref("report"), Ref("explained"), Ref("failure")), {}),
        "$defs": definitions(),
    }
