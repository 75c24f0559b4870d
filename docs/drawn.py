"""The pictures of docs/pictures.md, drawn by the program: `PYTHONPATH=. python docs/generate.py`."""

from __future__ import annotations

from layoutcheck.analysis import Analysis
from layoutcheck.reports.draw import drawn
from layoutcheck.reports.pictures import copy_pictures
from layoutcheck.reports.pictures.svg import Picture, document
from layoutcheck.sources.cases import case
from layoutcheck.sources.request import build

_SMEM = "!cute.memref<bf16, smem, align<1024>, {}>"
_LDSM = (
    '!cute.tiled_copy<!cute_nvgpu.atom.ldsm<val_type = bf16, mode = <"(8,8)">, sz_pattern = u16, '
    "num_matrices = 4, n>, "
    'layout_copy_tv = <"((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))">, '
    'tiler_mn = <"[32:1;16:1]">>'
)
# A transposed tile of 2320's kind, small enough to be drawn whole.
_SMALL = {
    "src": "(16,8):(1,16)", "dst": "(16,8):(8,1)", "atom": "cp.async", "bits": 128, "dtype": "bf16",
    "thr": "(2,8):(8,1)", "val": "(8,1)", "dst_align": 16,
}  # fmt: skip


def pictures() -> dict[str, str]:
    """File name -> SVG."""
    issue = dict(case("issue-2320").copies[0])
    banks = {
        "src": _SMEM.format('"(64,64):(64,1)"'),
        "dst": '!cute.memref<bf16, rmem, align<32>, "(64,64):(64,1)">',
        "tiled": _LDSM,
    }
    tma = {
        "src": '!cute.memref<bf16, gmem, align<16>, "(256,256):(256,1)">',
        "dst": _SMEM.format('S<3,4,3>, "(64,64):(64,1)"'),
        "atom": "tma_load",
    }
    found = {
        "strip.svg": _some(issue, "strip"),
        "asked.svg": _some(_SMALL, "tv-asked"),
        "moved.svg": _some(_SMALL, "tv-moved"),
        "coverage.svg": _some(_SMALL, "coverage"),
        "banks.svg": _some(banks, "banks"),
        "tma.svg": _some(tma, "tma"),
        "grid.svg": drawn("S<2,1,2> o 0 o (8,8):(8,1)"),
        "threads.svg": drawn("(8,16):(16,1)", "(4,4):(4,1)", "(2,4):(4,1)"),
    }
    return {name: document(drawn_ones) + "\n" for name, drawn_ones in found.items()}


def _some(request: dict[str, object], name: str) -> list[Picture]:
    made = copy_pictures(Analysis(build(**request)[0]))  # type: ignore[arg-type]
    return [picture for picture in made if picture.name == name]
