"""LC120 tcgen05-form: there is no tcgen05 instruction of this shape and repetition."""

from __future__ import annotations

from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused


def find(analysis: Analysis) -> Findings:
    """The type's own refusal."""
    if said := refusal(analysis, "tcgen05_form"):
        why = f"{analysis.copy.atom}: {said.message.rstrip('.')}."
        yield refused(RULE, said, "no tcgen05 instruction has this shape and repetition", why, "atom")


RULE = make_rule(
    "rejected",
    find,
    flagged={
        "src": '!cute.memref<f32, tmem, align<16>, "((512,16),1):((1,65536),0)">',
        "dst": '!cute.memref<f32, rmem, align<32>, "(256,1):(1,0)">',
        "atom": "tcgen05.ld.16x256b.x64",
        "dtype": "f32",
        "arch": "sm_100a",
    },
    twin={
        "src": '!cute.memref<f32, tmem, align<16>, "(((256,16),1),1):(((1,65536),0),0)">',
        "dst": '!cute.memref<f32, rmem, align<32>, "((128,1),1):((1,0),0)">',
        "atom": "tcgen05.ld.16x256b.x32",
    },
)
