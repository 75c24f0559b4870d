"""The bank map: which lane's word each of the 32 banks serves, phase by phase, wavefront by wavefront.

A row is a wavefront, a block of rows a phase. One row a phase is ideal; more are conflicts, shaded. Drawn is
the warp instruction that takes the most, as it is, and as it would be with the swizzle or padding that
`best_swizzle` proposes.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutcheck.analysis import Analysis
from layoutcheck.analysis.cost import SideCost
from layoutcheck.machine.arch import BANKS
from layoutcheck.machine.banks import OFF, served
from layoutcheck.reports.pictures import svg
from layoutcheck.reports.pictures.svg import Picture
from layoutcheck.reports.pictures.tv import NAMES
from layoutcheck.rules.conflicts import bank_side, repaired_side

_LEFT, _WIDE, _HIGH, _GAP = 92.0, 24.0, 19.0, 5.0
_MOST_ROWS = 48


@dataclass(frozen=True, slots=True)
class Wave:
    """One wavefront: `lane[bank]` and `word[bank]`, OFF where a bank idles; how many lanes share it."""

    phase: int
    wavefront: int
    lane: tuple[int, ...]
    word: tuple[int, ...]
    sharing: tuple[int, ...]


def waves(side: SideCost, instruction: int) -> list[Wave]:
    """The wavefronts of one warp instruction, as `machine.banks` counts them."""
    out = []
    for phase, wanted in enumerate(served(side.addresses[instruction], side.width_bits, side.rule)):
        for number in range(max((len(words) for words in wanted), default=0)):
            lanes, words, sharing = [], [], []
            for bank in wanted:
                word, by = bank[number] if number < len(bank) else (OFF, ())
                words.append(word)
                lanes.append(by[0] if by else OFF)
                sharing.append(len(by))
            out.append(Wave(phase, number, tuple(lanes), tuple(words), tuple(sharing)))
    return out


def bank_picture(analysis: Analysis) -> Picture | None:
    """The banks of the side in shared memory that conflicts most; None where no bank is touched."""
    side = bank_side(analysis)
    if side is None:
        return None
    body, y = _map(side, side.worst, "as it is", 0.0)
    better = repaired_side(analysis, side)
    words = ""
    if better is not None:
        proposal, after = better
        more, y = _map(after, side.worst, f"with {proposal}", y + 24)
        body += more
        words = f" With {proposal} all of them take {after.wavefronts}."
    conflict = side.wavefronts > side.ideal_wavefronts
    ideal = f"{side.ideal_wavefronts} would do" if conflict else "conflict-free"
    return Picture(
        "banks",
        f"Banks of the {NAMES[side.side]}: {side.op} of {side.width_bits} bits, instruction {side.worst}",
        f"Each row is one wavefront, each column one of the 32 banks of 4 bytes, and each number the lane "
        f"that is served. A phase of more than one row is a conflict and is shaded. All {side.instructions} "
        f"warp instructions take {side.wavefronts} wavefronts, {ideal}.{words}",
        y + 4,
        "".join(body),
        {"side": side.side, "wavefronts": side.wavefronts, "ideal": side.ideal_wavefronts},
    )


def _map(side: SideCost, instruction: int, label: str, y: float) -> tuple[list[str], float]:
    """One map and the y below it."""
    found = waves(side, instruction)
    phases = len({wave.phase for wave in found})
    said = f"{label}: {len(found)} wavefronts for {phases} phases in this instruction"
    out = [svg.text(0, y + 11, said, "lc-p")]
    y += 18
    out += [
        svg.text(_LEFT + bank * _WIDE + 2, y + 10, bank or "bank 0", "lc-s lc-u")
        for bank in range(0, BANKS, 4)
    ]
    y += 15
    shown = found[:_MOST_ROWS]
    origin = int(side.addresses[instruction][side.addresses[instruction] >= 0].min())
    cells: list[str] = []
    for i, wave in enumerate(shown):
        if wave.wavefront == 0:
            y += _GAP if i else 0
            out.append(svg.text(_LEFT - 8, y + 13, f"phase {wave.phase}", "lc-s lc-e"))
        else:
            out.append(svg.text(_LEFT - 8, y + 13, f"again {wave.wavefront + 1}", "lc-s lc-e lc-b"))
        cells += _row(wave, origin, y)
        y += _HIGH
    if len(shown) < len(found):
        out.append(svg.text(_LEFT, y + 12, f"{len(found) - len(shown)} more wavefronts", "lc-s lc-b"))
        y += _HIGH
    attributes = {"data_map": label, "data_instruction": instruction, "data_wavefronts": side.wavefronts}
    return [*out, svg.element("g", *cells, class_="lc-banks", data_lowest=origin, **attributes)], y


def _row(wave: Wave, origin: int, y: float) -> list[str]:
    out = []
    if wave.wavefront:
        out.append(svg.rect(_LEFT - 1, y, BANKS * _WIDE + 2, _HIGH, "lc-wrong"))
    for bank, (lane, word, sharing) in enumerate(zip(wave.lane, wave.word, wave.sharing, strict=True)):
        x = _LEFT + bank * _WIDE
        if lane == OFF:
            if not wave.wavefront:
                out.append(svg.rect(x, y + 1, _WIDE - 1, _HIGH - 2, "lc-cell"))
            continue
        said = svg.title(f"bank {bank}: lane {lane}, byte {word * 4 - origin:+} of the lowest address")
        served = {"phase": wave.phase, "wavefront": wave.wavefront, "bank": bank, "lane": lane, "word": word}
        class_, data = f"lc-fill {svg.shade(lane)}", {f"data_{key}": value for key, value in served.items()}
        out.append(svg.rect(x, y + 1, _WIDE - 1, _HIGH - 2, class_, said, **data))
        more = "+" if sharing > 1 else ""
        out.append(svg.text(x + _WIDE / 2 - 0.5, y + 13, f"{lane}{more}", "lc-s lc-m"))
    return out
