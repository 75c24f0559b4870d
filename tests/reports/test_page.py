"""The report page in a real browser: no errors, the right addresses under the pointer, legible."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import layoutcheck as lc
from layoutcheck.analysis import Analysis
from layoutcheck.api import check_copy
from layoutcheck.atoms.execution import execution
from layoutcheck.reports.html import render
from layoutcheck.reports.pictures.scene import Scene, scene
from layoutcheck.reports.style import Style
from layoutcheck.sources.cases import case
from layoutcheck.sources.request import build
from tests.reports.browser import chromium, pixels
from tests.reports.test_draw_cli import LARGE
from tests.reports.test_run_page import CROSSED, ILLEGIBLE

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


class Open:
    """A page that is open, and what went wrong on it."""

    def __init__(self, browser: Any, file: Path, report: lc.Report) -> None:
        run = scene(Analysis(report.copy))
        assert run is not None
        self.run: Scene = run
        done = execution(run.copy, run.run.src_base, run.run.dst_base)
        self.moves = {"src": done.src, "dst": done.dst}
        file.write_text(render([report], Style()), encoding="utf-8")
        self.page = browser.new_page(viewport={"width": 1100, "height": 900})
        self.troubles: list[str] = []
        self.page.on("console", lambda message: self.troubles.append(message.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("request", lambda request: self.troubles.append(request.url))
        begin = time.perf_counter()
        self.page.goto(file.as_uri())
        self.seconds = time.perf_counter() - begin
        assert self.troubles.pop(0) == file.as_uri()  # the one request there is

    def panel(self, side: str, picture: str = "tv-moved") -> Any:
        return self.page.locator(f"svg[data-picture={picture}] .lc-panel[data-side={side}]").first

    def data(self, panel: Any) -> dict[str, str]:
        return dict(panel.evaluate("node => ({...node.dataset})"))

    def offsets(self, side: str, thread: int, instruction: int) -> list[int]:
        at = self.moves[side][instruction, thread]
        return [int(a) - self.run.origin(side) for a in at]


@pytest.fixture(scope="module")
def issue(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Open:
    report = check_copy(build(**case("issue-2320").copies[0])[0], subject="issue-2320")
    return Open(browser, tmp_path_factory.mktemp("page") / "issue.html", report)


@pytest.fixture(scope="module")
def large(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Open:
    return Open(browser, tmp_path_factory.mktemp("page") / "large.html", lc.check(**LARGE))


def test_it_loads_without_a_word_on_the_console(issue: Open, large: Open) -> None:
    assert issue.troubles == large.troubles == []
    assert large.seconds < 5  # a busy machine; docs/pictures.md has the measured time


def test_hovering_shows_the_addresses_that_execution_has(issue: Open, large: Open) -> None:
    draw = random.Random(1)
    for shown in (issue, large):
        for side in ("src", "dst"):
            panel = shown.panel(side)
            panel.scroll_into_view_if_needed()
            data = shown.data(panel)
            _, threads, _ = shown.moves[side].shape
            for _ in range(3):
                thread = draw.randrange(threads)
                instruction = draw.randrange(shown.moves[side].shape[0])
                offset = shown.offsets(side, thread, instruction)[0]
                row, inside = divmod(offset, int(data["pitch"]))
                frame = panel.locator(".lc-frame").bounding_box()
                rows = shown.run.memref(side).layout.shape[1 if side == "src" else 0]
                x = frame["x"] + (inside // int(data["cell"]) + 0.5) * frame["width"] / int(data["columns"])
                y = frame["y"] + (row + 0.5) * frame["height"] / rows
                shown.page.mouse.move(x, y)
                left = shown.page.locator("#inspector [data-offset]")
                assert int(left.get_attribute("data-offset")) == offset
                said = {node.get_attribute("data-by") for node in left.locator("[data-by]").all()}
                all_of_them = {
                    f"{t}:{i}" for i, t, _ in _where(shown.moves[side] - shown.run.origin(side), offset)
                }
                assert said <= all_of_them and (said == all_of_them or len(all_of_them) > 6)
                last = max((i, t) for i, t, _ in _where(shown.moves[side] - shown.run.origin(side), offset))
                table = shown.page.locator("#inspector table")
                assert int(table.get_attribute("data-thread")) == last[1]
                line = table.locator(f"tr[data-instruction='{last[0]}']")
                for which in ("src", "dst"):
                    runs = line.locator("td").nth(1 + (which == "dst")).get_attribute(f"data-{which}").split()
                    at = [
                        k
                        for one in runs
                        for k in range(int(one.split("+")[0]), sum(map(int, one.split("+"))))
                    ]
                    assert at == shown.offsets(which, last[1], last[0])


def _where(at: Any, offset: int) -> list[tuple[int, int, int]]:
    import numpy as np

    return [tuple(map(int, found)) for found in np.argwhere(at == offset)]  # type: ignore[misc]


def test_keys_do_what_the_pointer_does(issue: Open) -> None:
    page, panel = issue.page, issue.panel("dst")
    page.keyboard.press("Escape")
    assert page.locator("#inspector").is_hidden()
    panel.focus()
    for key in ("Home", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert page.locator("#inspector [data-offset]").get_attribute("data-offset") == str(128 + 2 * 2)
    page.keyboard.press("Enter")
    page.locator("#inspector input").fill("200")
    page.keyboard.press("Enter")
    assert page.locator("#inspector table").get_attribute("data-thread") == "200"
    page.keyboard.press("Escape")
    assert page.locator("#inspector").is_hidden() and issue.troubles == []


def test_a_click_enlarges_what_is_there(issue: Open) -> None:
    page, panel = issue.page, issue.panel("src")
    panel.scroll_into_view_if_needed()
    frame = panel.locator(".lc-frame").bounding_box()
    page.mouse.click(frame["x"] + frame["width"] * 0.9, frame["y"] + frame["height"] * 0.9)
    detail = page.locator("svg[data-picture=tv-moved] .lc-detail[data-side=src]").first
    assert detail.get_attribute("data-part") != "0 0 12 16"
    cells = detail.evaluate("node => [...node.querySelectorAll('[data-by]')].map(one => ({...one.dataset}))")
    assert len(cells) == 12 * 16
    relative = issue.moves["src"] - issue.run.origin("src")
    for cell in cells[::7]:
        expected = {(t, i) for i, t, _ in _where(relative, int(cell["offset"]))}
        said = {tuple(map(int, word.split(".")[0].split(":"))) for word in cell["by"].split()}
        assert said == expected and cell["asked"] == "1"
    page.keyboard.press("Escape")


def test_the_code_of_a_fix_can_be_copied(issue: Open) -> None:
    issue.page.locator(".copy-code").first.click()
    issue.page.wait_for_function("document.querySelector('.copy-code').textContent === 'copied'")


def test_light_dark_and_print(issue: Open) -> None:
    page = issue.page
    ground = "getComputedStyle(document.body).backgroundColor"
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(ground)
    page.emulate_media(color_scheme="light")
    light = page.evaluate(ground)
    assert light == "rgb(255, 255, 255)" and dark != light
    page.locator("#theme").click()
    assert page.evaluate(ground) == dark
    page.locator("#theme").click()
    page.emulate_media(media="print")
    assert page.locator("#theme").is_hidden() and page.locator(".copy-code").first.is_hidden()
    page.emulate_media(media="screen")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_legible_on_a_phone(browser: Any, tmp_path: Path, scheme: str) -> None:
    """At 420 px only code and pictures in boxes that scroll leave the page; no text is faint or covered."""
    report = check_copy(build(**case("issue-2320").copies[0])[0], subject="issue-2320")
    file = tmp_path / "page.html"
    file.write_text(render([report], Style()), encoding="utf-8")
    page = browser.new_page(viewport={"width": 420, "height": 900}, color_scheme=scheme)
    page.goto(file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    beyond = """[...document.querySelectorAll('body *')].filter(n => n.getBoundingClientRect().right > 421
      && getComputedStyle(n.parentElement.closest('pre, figure, body')).overflowX !== 'auto').length"""
    assert page.evaluate(beyond) == 0
    heights = "[...document.querySelectorAll('svg text')].map(n => n.getBoundingClientRect().height)"
    assert min(height for height in page.evaluate(heights) if height) >= 8
    assert page.evaluate(CROSSED) == []
    words = "h1, h2, h3, p, pre, button, li, td, th, figcaption, summary, dt, dd"
    assert page.evaluate(ILLEGIBLE, words) == []


def test_the_screenshot_has_the_structure_of_the_picture(large: Open) -> None:
    """One colour a thread, and one thread a colour; nothing leaves the page, no labels run together."""
    page = large.page
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    picture = page.locator("svg[data-picture=tv-moved]")
    overlaps = picture.evaluate(
        """node => {
          const boxes = [...node.querySelectorAll('.lc-detail text')].map(one => one.getBoundingClientRect());
          const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 &&
            a.top < b.bottom - 3 && b.top < a.bottom - 3;
          return boxes.filter((a, i) => boxes.some((b, j) => j > i && meet(a, b))).length;
        }"""
    )
    assert overlaps == 0
    detail = picture.locator(".lc-detail[data-side=dst]")
    page.evaluate("scrollTo(0, 0)")  # so that places in the window are places on the page
    box = {key: int(value) for key, value in detail.bounding_box().items()}
    rows = pixels(page.screenshot(clip=box, full_page=True))
    cells = detail.evaluate(
        """node => [...node.querySelectorAll('rect[data-by]')].map(rect => {
          const box = rect.getBoundingClientRect();
          return [box.x + 3, box.y + 3, rect.dataset.by.split(':')[0]];
        })"""
    )
    cells = [(x - box["x"], y - box["y"], thread) for x, y, thread in cells]
    colours: dict[str, set[bytes]] = {}
    for x, y, thread in cells:
        if 0 <= y < len(rows):
            colours.setdefault(thread, set()).add(rows[int(y)][3 * int(x) : 3 * int(x) + 3])
    assert len(colours) >= 4 and all(len(found) == 1 for found in colours.values())
    assert len(set.union(*colours.values())) == len(colours)
