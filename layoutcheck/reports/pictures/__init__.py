"""Pictures of copies and layouts, as SVG: no display, no browser, no library is needed.

One picture a module; each is made of what intent, execution and the bank model say (`scene.py`), and carries
that in data-* attributes, where the tests read it back.
"""

from __future__ import annotations

from layoutcheck.analysis import Analysis
from layoutcheck.reports.pictures.bank_map import bank_picture
from layoutcheck.reports.pictures.coverage_map import coverage_picture
from layoutcheck.reports.pictures.scene import scene, vector
from layoutcheck.reports.pictures.strip import strip_picture
from layoutcheck.reports.pictures.svg import Picture
from layoutcheck.reports.pictures.tma import tma_picture
from layoutcheck.reports.pictures.tv import tv_pictures


def copy_pictures(analysis: Analysis) -> list[Picture]:
    """Every picture that says something about this copy, the most telling first; none if nothing is known."""
    run = scene(analysis)
    if run is None:
        return []
    looked_at = vector(run)
    boxes = tma_picture(run)
    who = [strip_picture(run, looked_at), *tv_pictures(run, looked_at)] if boxes is None else [boxes]
    found = [*who, coverage_picture(run), bank_picture(analysis)]
    return [picture for picture in found if picture is not None]
