"""LC121 tmem-alignment: the base address in tensor memory is not known to be an even column."""

from __future__ import annotations

from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused


def find(analysis: Analysis) -> Findings:
    """The verifier's own refusal."""
    if said := refusal(analysis, "tmem_alignment"):
        yield refused(RULE, said, "the base in tensor memory is not known to be an even column")


_SRC = '!cute.memref<f32, tmem, align<{}>, "(((32,16),1),1):(((1,65536),0),0)">'
_DST = '!cute.memref<f32, rmem, align<32>, "((16,1),1):((1,0),0)">'

RULE = make_rule(
    "rejected",
    find,
    flagged={
        "src": _SRC.format(1),
        "dst": _DST,
        "atom": "tcgen05.ld.16x256b.x4",
        "dtype": "f32",
        "arch": "sm_100a",
    },
    twin={"src": _SRC.format(16)},
)
