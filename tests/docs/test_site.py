"""The site: its examples are run, its files work, and it builds without a warning or the network."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.examples import refreshed
from docs.traced import excerpt, printed, shown
from tests.gpu.test_pytest_plugin import loaded

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TITLED = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.DOTALL | re.MULTILINE)
FENCED = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
TRACES = shown((DOCS / "trace.md").read_text(encoding="utf-8"))
DSL = importlib.util.find_spec("cutlass") is not None


def titled(page: str) -> dict[str, str]:
    """The files that a page shows."""
    return dict(TITLED.findall((DOCS / page).read_text(encoding="utf-8")))


def python(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "CUTE_DSL"))}
    env = {**clean, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", **environment}
    return subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, env=env)


def test_an_example_is_written_back_with_what_it_prints() -> None:
    page = (
        '```text title="in.jsonl"\nnot json\n```\n'
        "```console\n$ layoutcheck check --jsonl in.jsonl --format text\nstale\n$ echo $?\n```\n"
        "<!-- lines 2-2 -->\n```console\n$ layoutcheck rule LC102\n```\n"
        "```pycon\n>>> x = 2\n>>> x\n3\n>>> 1 / 0\n```\n"
        "```python\nassert x == 2\n```\n```sh\nrm stays\n```\n"
    )
    found = refreshed(page)
    assert "stale" not in found
    assert "line 1" in found
    assert "\n$ echo $?\n2\n```" in found
    assert "$ layoutcheck rule LC102\n...\n\n...\n```" in found
    assert ">>> x\n2\n>>> 1 / 0\nTraceback (most recent call last):\n    ...\nZeroDivisionError" in found
    assert refreshed(found) == found


def test_an_example_that_fails_is_an_error() -> None:
    with pytest.raises(AssertionError):
        refreshed("```python\nassert False\n```\n")
    with pytest.raises(ValueError, match="not a layoutcheck command"):
        refreshed("```console\n$ ls\n```\n")


def test_no_example_of_the_api_fails() -> None:
    """Each imports what it names; one that misses a name is written back with its error."""
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    assert page.count(">>> from layoutcheck import ") > 20
    assert "Traceback" not in page


def test_no_command_of_a_page_is_misspelled() -> None:
    """The output is the program's own, so that a page could show a complaint about its own command line."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = [page.name for page in pages if "--help')" in page.read_text(encoding="utf-8")]
    assert len(pages) > 100 and shown == []


def test_each_room_is_named_and_each_name_is_a_room() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    blocks = "\n".join(page.split("```")[1::2])
    package = ROOT / "layoutcheck"
    folders = {f"{each.parent.name}/" for each in package.glob("*/__init__.py")}
    modules = {each.name for each in package.glob("*.py")} - {"__init__.py", "__main__.py"}
    unnamed = {name for name in folders | modules if not re.search(rf"\b{re.escape(name)}", blocks)}
    assert unnamed == set() and len(folders) > 15
    named = set(re.findall(r"[a-z_0-9]+\.py", page)) - {"ing.py"}
    assert named <= {each.name for part in (package, ROOT / "tests") for each in part.rglob("*.py")}


def test_every_phrase_of_the_walk_is_in_the_report() -> None:
    """And each fix of the second report is told, in its order."""
    text = (DOCS / "first-error.md").read_text(encoding="utf-8")
    parts = re.split(
        r"^(?:## Line by line|## Say more|Now there are|Try the first)", text, flags=re.MULTILINE
    )
    first, walk, second, told = parts[:4]
    report = " ".join(first.split("$ layoutcheck explain - < error.txt")[1].split("```")[0].split())
    phrases, names = (re.findall(r"^- \*\*`([^`]+)`\*\*", part, re.MULTILINE) for part in (walk, told))
    assert len(phrases) > 8
    assert not [phrase for phrase in phrases if phrase not in report]
    assert names == re.findall(r"^  \d\. ([a-z-]+) \(", second, re.MULTILINE)


@pytest.mark.skipif(not DSL, reason="needs nvidia-cutlass-dsl")
def test_the_first_error_is_the_compilers_own(tmp_path: Path) -> None:
    files = titled("first-error.md")
    (tmp_path / "load.py").write_text(files["load.py"])
    done = python(tmp_path, "load.py", CUTE_DSL_ARCH="sm_90a", CUTE_DSL_SHOW_STACKTRACE="1")
    assert files["error.txt"] in done.stderr


@pytest.mark.skipif(not DSL, reason="needs nvidia-cutlass-dsl")
@pytest.mark.parametrize(
    "command",
    [each if "--fix" not in each else pytest.param(each, marks=pytest.mark.sweep) for each in TRACES],
)
def test_the_page_of_the_trace_shows_what_it_prints(command: str) -> None:
    lines, text = TRACES[command]
    assert excerpt(printed(command), lines) == text, "run python -m docs.traced"


def test_the_page_of_the_trace_says_what_each_part_means() -> None:
    """Each part that its table names is in the output above it."""
    _, report = next(iter(TRACES.values()))
    text = (DOCS / "trace.md").read_text(encoding="utf-8")
    table = text.split("What each part means:")[1].split("\n\n")[1]
    parts = re.findall(r"`([^`]+)`", " ".join(re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE)))
    pieces = [piece.strip() for part in parts for piece in part.removesuffix(",").split("...")]
    assert len(TRACES) == 2 and len(parts) > 10
    assert [piece for piece in pieces if piece not in " ".join(report.split())] == []


def test_the_test_files_of_the_pytest_page_pass(tmp_path: Path) -> None:
    files = titled("pytest.md")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = python(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", *loaded())
    assert done.returncode == 0, done.stdout + done.stderr
    written = sum(text.count("\ndef test_") + text.startswith("def test_") for text in files.values())
    passed = re.search(r"([0-9]+) passed", done.stdout)
    assert passed is not None and int(passed[1]) >= written > 3
    assert "skipped" not in done.stdout


def test_every_link_leads_to_a_page_and_its_heading() -> None:
    """Those of the site's navigation, too; the site itself is built where layoutcheck[docs] is installed."""
    texts = {path: path.read_text(encoding="utf-8") for path in [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]}
    headings = {path: anchors(text) for path, text in texts.items()}
    made = {"index.md", "contributing.md"}  # by docs/hooks.py
    named = re.findall(r"^ +- .*: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    missing = [name for name in named if not (name in made or (DOCS / name).exists())]
    links = [
        (path, link)
        for path, text in texts.items()
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", FENCED.sub("", text)))
        if not re.match(r"[a-z]+:", link)
    ]
    assert len(named) > 30
    assert len(links) > 300
    for path, link in links:
        page, _, heading = link.partition("#")
        there = (path.parent / page).resolve() if page else path
        if not there.exists() or (heading and heading not in headings.get(there, [heading])):
            missing.append(f"{path.name}: {link}")
    assert missing == []


def anchors(text: str) -> set[str]:
    """The names of a page's headings in links."""
    titles = re.findall(r"^#+ (.+)$", FENCED.sub("", text), re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title)) for title in titles)
    return {re.sub(r"[\s-]+", "-", one.strip().lower()) for one in plain}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="needs layoutcheck[docs]")
    out = tmp_path_factory.mktemp("site")
    done = python(ROOT, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def test_the_site_builds_with_every_page(site: Path) -> None:
    pages = {path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md")}
    for page in pages:
        folder = page.parent if page.name == "README" else page
        assert (site / folder / "index.html").exists(), page
    assert "issue-2320" in (site / "index.html").read_text(encoding="utf-8")
    assert "LC102" in (site / "rules" / "lc102" / "index.html").read_text(encoding="utf-8")
    assert "check_error" in (site / "api" / "index.html").read_text(encoding="utf-8")


def test_the_site_asks_the_network_for_nothing(site: Path) -> None:
    asset = re.compile(
        r'(?:src|srcset)="(?:https?:)?//|<link[^>]+href="(?:https?:)?//(?!layoutcheck)|@import|url\(http'
    )
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        found = asset.search(path.read_text(encoding="utf-8"))
        assert found is None, (path, found)
