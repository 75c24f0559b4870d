"""LC122 operand-kind: the atom takes a descriptor where a tensor is given, or a tensor where a descriptor is given."""

from __future__ import annotations

from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused


def find(analysis: Analysis) -> Findings:
    """The verifier's own refusal."""
    if said := refusal(analysis, "operand_kind"):
        yield refused(RULE, said, "the atom takes another kind of operand")


_DST = '!cute.memref<f8E8M0FNU, tmem, align<16>, "(((32,16,4),1),1):(((262144,1,8388608),0),0)">'

RULE = make_rule(
    "rejected",
    find,
    flagged={
        "src": '!cute.memref<f8E8M0FNU, smem, align<128>, "(((32,16,4),1),1):(((16,1,0),0),0)">',
        "dst": _DST,
        "atom": "tcgen05.cp.32x128b.warpx4",
        "dtype": "f8E8M0FNU",
        "arch": "sm_100a",
    },
    twin={
        "src": '!cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "((((32,1,1),4),1),1):((((1,1,1),0),0),0)">'
    },
)
