"""The page of a whole run: what it says without a browser, and its search, filters and legibility in one."""

from __future__ import annotations

import base64
import gzip
import html
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from layoutcheck.judge import judge
from layoutcheck.lint.result import Ran
from layoutcheck.linting import linted
from layoutcheck.reports import ci_page, run_page
from layoutcheck.reports.pictures import copy_pictures
from layoutcheck.reports.style import Style
from layoutcheck.reports.trace import JudgedTrace, render
from layoutcheck.sources.request import build
from layoutcheck.sources.traced import (
    Frame,
    Kernel,
    KernelFinding,
    KernelPlace,
    OrderReport,
    Trace,
    TracedCopy,
    TraceFailure,
    distinct,
)
from tests.reports.browser import chromium

LOAD = {"dst": "(32,64):(64,1)", "atom": "universal", "bits": 128, "dtype": "f16", "src_space": "gmem",
        "dst_space": "smem", "thr": "(32,8):(8,1)", "val": "(1,8)"}  # fmt: skip
COPIES: dict[str, dict[str, Any]] = {
    "legal": {**LOAD, "src": "(32,64):(64,1)"},
    "rejected": {**LOAD, "src": "(32,64):(1,32)"},
}
SOURCE = "".join(f"line_{n} = '<{n}> & more'\n" for n in range(1, 61))


def a_run(folder: Path) -> JudgedTrace:
    """Two kernels in one file: a legal copy (line 10), a rejected one (50), a race between 20 and 21."""
    file = folder / "kernel.py"
    file.write_text(SOURCE)
    copies = []
    for line, name, kernel in ((10, "legal", "first"), (50, "rejected", "second")):
        copy, _ = build(**COPIES[name])
        where = Frame(str(file), line, 5, "f")
        copies.append(TracedCopy(copy, "cute.copy", where, (), kernel, "sm_90a", "threads"))
    places = tuple(KernelPlace(what, Frame(str(file), line)) for what, line in (("write", 20), ("read", 21)))
    race = KernelFinding("LC501", "wrong", "a <race>", "nothing orders them", places)
    trace = Trace(
        tuple(copies),
        kernels=(Kernel("first", "sm_90a", 1), Kernel("second", "sm_90a", 1)),
        orders=(OrderReport("first", "sm_90a", (race,)),),
    )
    return JudgedTrace(trace, [(one, judge(one.first.copy)) for one in distinct(trace)])


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run" + "_of_a_long_path" * 8)  # as in a checkout of CUTLASS
    file = folder / "run.html"
    file.write_text(run_page.render(a_run(folder), Style()), encoding="utf-8")
    return file


def cards(page: str) -> list[tuple[str, str]]:
    """(verdict, line) of every card, in order."""
    return re.findall(r'class="badge small (\w+)">\w+</span><span class="at">line (\d+)', page)


def test_it_says_what_was_looked_at_as_the_text_does(page_file: Path, tmp_path: Path) -> None:
    """Every line of the text's counts is in the page, whole; what was not checked, too."""
    judged = a_run(tmp_path)
    unfollowed = replace(
        judged.trace, orders=(*judged.trace.orders, OrderReport("second", "sm_90a", problem="too large"))
    )
    page = run_page.render(replace(judged, trace=unfollowed), Style())
    told = html.unescape(re.findall(r'<pre class="counts quiet">(.*?)</pre>', page, re.S)[0])
    said = render(replace(judged, trace=unfollowed), Style(width=1000)).rstrip("\n").split("\n")
    assert told.split("\n") == said[-len(told.split("\n")) :]
    assert "order: 1 of 2 kernels followed" in told and "too large" in told
    assert "1 rejected, 1 wrong, 1 legal</span></h1>" in page_file.read_text()


def test_every_place_has_a_card_and_a_mark_in_the_source(page_file: Path) -> None:
    page = page_file.read_text()
    assert cards(page) == [("legal", "10"), ("wrong", "21"), ("rejected", "50")]
    marks = re.findall(r'class="line mark (\w+)"[^>]*><span class="no">(\d+)', page)
    assert marks == [("legal", "10"), ("wrong", "21"), ("rejected", "50")]
    assert "&lt;race&gt;" in page and "<race>" not in page
    assert "line_35 " not in page and page.count('class="gap"') == 2  # only what is near a copy
    assert page.count('class="lc-gap"') == 1  # the picture of the race, with the order that is missing
    for link in re.findall(r'href="#([\w-]+)"', page):
        assert f'id="{link}"' in page


def test_one_card_is_marked_at_all_lines_of_its_cause(tmp_path: Path) -> None:
    judged = a_run(tmp_path)
    (race,) = judged.trace.orders[0].findings
    wait = replace(race.places[0], where=replace(race.places[0].where, line=22))
    facts = {"cause": "wait-count", "pending": 1, "most": 0}
    there = [replace(race.places[1], where=replace(wait.where, line=line)) for line in (21, 31)]
    found = tuple(replace(race, places=(race.places[0], one, wait), evidence=facts) for one in there)
    orders = (OrderReport("first", "sm_90a", found),)
    page = run_page.render(replace(judged, trace=replace(judged.trace, orders=orders)), Style())
    assert cards(page) == [("legal", "10"), ("wrong", "21"), ("rejected", "50")]
    marks = re.findall(r'href="#([\w-]+)" class="line mark (\w+)"[^>]*><span class="no">(\d+)', page)
    assert [mark[1:] for mark in marks] == [
        ("legal", "10"), ("wrong", "21"), ("wrong", "31"), ("rejected", "50"),
    ]  # fmt: skip
    assert marks[1][0] == marks[2][0] and "and at 1 more place: :31 after :20" in page


def test_a_viewer_without_scripts_is_told_what_it_lacks(page_file: Path) -> None:
    said = re.search("<noscript>(.*?)</noscript>", page_file.read_text())
    assert said is not None and "search and filters do nothing" in said[1]


@pytest.mark.parametrize(
    ("copies", "said"),
    [(1, "2 kernels, 1 copy at 1 place, 1 distinct:"), (2, "2 kernels, 2 copies at 2 places, 2")],
)
def test_its_counts_have_their_number(tmp_path: Path, copies: int, said: str) -> None:
    judged = a_run(tmp_path)
    kept = replace(judged.trace, copies=judged.trace.copies[:copies])
    page = run_page.render(JudgedTrace(kept, judged.reports[:copies]), Style())
    assert f">{said}" in page


def test_a_kernel_that_does_not_compile_has_a_card(tmp_path: Path) -> None:
    judged = a_run(tmp_path)
    refused = TraceFailure(
        "uncompiled", "k: <the pass> dies of SIGABRT", Frame(str(tmp_path / "kernel.py"), 30)
    )
    trace = replace(judged.trace, failures=(refused,))
    page = run_page.render(JudgedTrace(trace, judged.reports), Style())
    assert cards(page) == [("legal", "10"), ("wrong", "21"), ("rejected", "30"), ("rejected", "50")]
    assert "k: &lt;the pass&gt; dies of SIGABRT" in page and 'class="badge rejected"' in page


def test_the_page_needs_nothing_else_and_is_the_same_again(page_file: Path) -> None:
    page = page_file.read_text()
    assert not re.search(r'(?:src|href)="(?!#)|@import|url\(|https?://(?!www\.w3\.org)', page)
    assert run_page.render(a_run(page_file.parent), Style()) == page


def test_the_cost_is_the_reports_own(tmp_path: Path) -> None:
    judged = a_run(tmp_path)
    one, report = next(pair for pair in judged.reports if pair[1] is not None and pair[1].verdict == "legal")
    assert report is not None
    done = report.to_dict()["execution"]
    assert done["gmem_sectors"] == 32 * 64 * 2 // 32  # the tile's bytes by a sector's
    said = f"{done['smem_wavefronts']} wavefronts; {done['gmem_sectors']} sectors"
    assert run_page.cost_of(one, report) == said


def test_pictures_that_do_not_fit_are_left_out_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run_page.render(a_run(tmp_path), Style())
    monkeypatch.setattr(run_page, "MOST_PICTURES", 0)
    bare = run_page.render(a_run(tmp_path), Style())
    assert "pictures are left out" in bare and "pictures are left out" not in whole
    assert bare.count("<figure") == 1 < whole.count("<figure")  # the one of the race stays


def test_a_page_that_is_full_draws_nothing_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a thousand copies the drawing would take minutes, and all of it would be left out."""
    drawn = []
    monkeypatch.setattr(run_page, "copy_pictures", lambda a: drawn.append(a) or copy_pictures(a))
    monkeypatch.setattr(run_page, "MOST_PICTURES", 1)
    page = run_page.render(a_run(tmp_path), Style())
    assert len(drawn) == 1 and page.count("pictures are left out") == 2


def test_where_much_fails_no_card_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_page.render(a_run(tmp_path), Style()).count(' open="open"') == 2
    monkeypatch.setattr(run_page, "_MOST_OPEN", 1)
    assert ' open="open"' not in run_page.render(a_run(tmp_path), Style())


def test_a_file_that_is_gone_is_said(tmp_path: Path) -> None:
    judged = a_run(tmp_path)
    (tmp_path / "kernel.py").unlink()
    assert "not there any more" in run_page.render(judged, Style())


def many(folder: Path, count: int) -> JudgedTrace:
    """So many kernels, each with a legal and a rejected copy, all alike but for their places."""
    file = folder / "kernel.py"
    file.write_text("".join(f"line_{n} = {n}\n" for n in range(1, 2 * count + 9)))
    copies = {name: build(**COPIES[name])[0] for name in COPIES}
    reports = {name: judge(copy) for name, copy in copies.items()}
    seen, judged = [], []
    for n in range(count):
        for at, name in enumerate(COPIES):
            where = Frame(str(file), 2 * n + at + 1, 5, "f")
            launch = (Frame(str(file), n + 1),)  # of another kernel: what is found there is told there
            one = TracedCopy(copies[name], "cute.copy", where, launch, f"kernel_{n}", "sm_90a", "threads")
            seen.append(one)
            judged.append((distinct(Trace((one,)))[0], reports[name]))
    kernels = tuple(Kernel(f"kernel_{n}", "sm_90a", 2) for n in range(count))
    return JudgedTrace(Trace(tuple(seen), kernels=kernels), judged)


def test_what_reports_share_is_on_the_page_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fewer, more = (run_page.render(many(tmp_path, count), Style()) for count in (2, 102))
    assert (len(more) - len(fewer)) / 200 < 2_000  # bytes for one more copy: its card, and a reference
    for word in ("The three answers", "Fixes, best first"):
        assert more.count(word) == fewer.count(word) <= 2
    names = re.findall(r'class="part" id="(p\d+)"', more)
    assert len(set(names)) == len(names)
    assert set(re.findall(r'data-part="(p\d+)"', more)) <= set(names)
    assert more.count("data-part=") >= 202
    monkeypatch.setattr(run_page, "PLAIN_PICTURES", 10**9)
    whole = run_page.render(many(tmp_path, 1), Style())
    monkeypatch.setattr(run_page, "PLAIN_PICTURES", 0)
    packed = run_page.render(many(tmp_path, 1), Style())
    inside = [
        gzip.decompress(base64.b64decode(one)).decode()
        for one in re.findall(r'data-packed="([^"]+)"', packed)
    ]
    assert inside and "<svg" not in packed.partition("<main")[2] and all(one in whole for one in inside)
    assert sum(one.count("<svg") for one in inside) == whole.partition("<main")[2].count("<svg")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


VISIBLE = "[...document.querySelectorAll('.card')].filter(c => c.offsetParent).map(c => c.dataset.verdict)"


def test_search_filters_and_links(browser: Any, page_file: Path) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    requests: list[str] = []
    troubles: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(page_file.as_uri())
    assert page.evaluate(VISIBLE) == ["legal", "wrong", "rejected"]
    page.fill("#search", "nothing orders")
    assert page.evaluate(VISIBLE) == ["wrong"]
    page.fill("#search", "no such word")
    assert page.evaluate(VISIBLE) == [] and page.is_visible("#nothing")
    page.fill("#search", "")
    page.click(".filter[data-filter=legal]")
    assert page.evaluate(VISIBLE) == ["wrong", "rejected"]
    page.select_option("#kernel", "second")
    assert page.evaluate(VISIBLE) == ["rejected"]
    page.select_option("#kernel", "")
    page.click(".filter[data-filter=legal]")
    page.click("a.mark.legal")
    page.wait_for_function("document.querySelector('.card[data-verdict=legal]').open")
    assert (requests, troubles) == ([page_file.as_uri()], [])


def test_cards_that_are_open_from_the_start_have_all_their_pictures(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each copies what the first has, which is being drawn at that time."""
    monkeypatch.setattr(run_page, "PLAIN_PICTURES", 0)
    file = tmp_path / "many.html"
    file.write_text(run_page.render(many(tmp_path, 3), Style()), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    page.goto(file.as_uri())
    cards = page.locator(".card[open]")
    assert cards.count() == 3
    left = ".card[open] :is(.part[data-part], [data-packed])"
    page.wait_for_function(f"!document.querySelector('{left}')", timeout=3000)
    first, *others = (cards.nth(at).locator("svg").count() for at in range(3))
    assert first > 1 and others == [first, first]


def test_an_opened_card_has_its_own_copy_of_what_it_shares(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_page, "PLAIN_PICTURES", 0)
    monkeypatch.setattr(run_page, "_MOST_OPEN", 0)
    file = tmp_path / "many.html"
    file.write_text(run_page.render(many(tmp_path, 3), Style()), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(file.as_uri())
    cards = page.locator(".card[data-verdict=rejected]")
    assert cards.count() == 3 and page.locator("svg .lc-panel").count() == 0
    for at in (2, 0):  # the last refers to the first, which is closed
        cards.nth(at).locator("> summary").click()
        cards.nth(at).locator("svg .lc-panel").first.wait_for()
    last = cards.nth(2)
    assert last.locator(".fixes").count() == 1 and last.locator("a", has_text="as above").count() == 0
    assert last.locator("svg").count() == cards.nth(0).locator("svg").count() > 0
    assert page.evaluate(
        "new Set([...document.querySelectorAll('[id]')].map(n => n.id)).size"
    ) == page.evaluate("document.querySelectorAll('[id]').length")
    last.locator("svg .lc-panel").first.focus()
    assert page.is_visible("#inspector")  # the copy answers to the keys
    assert troubles == []


OVERLAPS = """() => {
  const out = [];
  for (const row of document.querySelectorAll('.card > summary, .bar, .kernels tr')) {
    const boxes = [...row.children].map(c => c.getBoundingClientRect()).filter(b => b.width && b.height);
    boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => {
      if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)
        out.push(row.className || row.tagName);
    }));
  }
  return out;
}"""
CROSSED = """() => {
  const out = [];
  for (const svg of document.querySelectorAll('figure svg')) {
    const texts = [...svg.querySelectorAll('text')].filter(t => t.textContent.trim())
      .map(t => [t.getBoundingClientRect(), t.textContent]);
    texts.forEach(([a, one], i) => texts.slice(i + 1).forEach(([b, other]) => {
      const across = a.left < b.right - 1.5 && b.left < a.right - 1.5;
      if (across && a.top < b.bottom - 2.5 && b.top < a.bottom - 2.5) out.push([one, other]);
    }));
  }
  return out;
}"""  # text over text in a picture
TEXT = ".title, .at, .cost, .badge, .filter, .source .text, .source .no, h1, h2, p"
ILLEGIBLE = """selector => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = text => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = colour => {
    const [r, g, b] = colour.map(x => x / 255)
      .map(x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const behind = node => {
    for (let n = node; n; n = n.parentElement) {
      const colour = rgb(getComputedStyle(n).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const out = [];
  for (const node of document.querySelectorAll(selector)) {
    if (!node.offsetParent || !node.textContent.trim()) continue;
    const style = getComputedStyle(node);
    const [a, b] = [light(rgb(style.color)), light(behind(node))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5 || parseFloat(style.fontSize) < 10)
      out.push([node.className || node.tagName, ratio.toFixed(1), style.fontSize]);
  }
  return out;
}"""  # contrast as WCAG 2.2 counts it, which asks for 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [420, 1400])
def test_it_is_legible_in_any_width(browser: Any, page_file: Path, scheme: str, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(page_file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OVERLAPS) == []
    assert page.evaluate(CROSSED) == []
    assert page.evaluate(ILLEGIBLE, TEXT) == []


@pytest.mark.parametrize("width", [1280, 420])
def test_the_page_of_ci_is_legible_in_any_width(browser: Any, tmp_path: Path, width: int) -> None:
    source = tmp_path / "kernel.py"
    source.write_text(
        "from cutlass import cute\nfrom cutlass.cute.nvgpu import cpasync\n@cute.kernel\n"
        "def load(atom: cute.CopyAtom, gA: cute.Tensor, sA: cute.Tensor, barrier: cute.Pointer):\n"
        "    tidx, _, _ = cute.arch.thread_idx()\n"
        "    tAsA, tAgA = cpasync.tma_partition(atom, 0, cute.make_layout(1), sA, gA)\n"
        f"    if tidx == 0:\n        cute.copy(atom, tAgA, tAsA, tma_bar_ptr=barrier)  # {'long ' * 40}\n"
    )
    result, _ = linted([str(source)], cache=False, static=True)
    file = tmp_path / "ci.html"
    file.write_text(ci_page.render(result, Style()), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(file.as_uri())
    assert page.locator("mark").count() == 1 and "LC263" in page.content()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.close()


def test_the_page_of_ci_says_how_each_program_ended(tmp_path: Path) -> None:
    result, _ = linted([str(tmp_path)], cache=False, static=True)
    ran = Ran("a.py", "a.py", "sm_90a", 2, 1, 3.0, False)
    runs = ran, replace(ran, kernels=0), replace(ran, failures=("it raised",), skipped=4)
    page = ci_page.render(replace(result, runs=runs), Style())
    ends = re.findall(r"<td>([^<]*)</td></tr>", page)
    assert ends == ["to its end", "it built no kernel", "it raised; 4 tests skipped"]
