"""A whole run: files, settings, comments, baselines, caches, formats, exit codes, hostile input."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from layoutcheck import settings
from layoutcheck.cli import run
from layoutcheck.errors import InputError
from layoutcheck.lint.analyse import analyse, sites
from layoutcheck.lint.files import File
from layoutcheck.lint.leftovers import unused
from layoutcheck.lint.run import _never_built, lint
from layoutcheck.lint.shadowed import with_shadowed
from layoutcheck.lint.source import Source
from layoutcheck.lint.suppressions import Suppressions
from layoutcheck.sources.traced import Trace

ROOT = Path(__file__).parents[2]
# LC267, which is wrong, and LC266, a note.
FALSE = "from cutlass import cute\n\n\ndef f(row):\n    return cute.assume(row * 8 + 4, divby=8)\n"
NOTE = """
from cutlass.cute.runtime import from_dlpack


def f(x):
    assert x.data_ptr() % 16 == 0
    return from_dlpack(x)
"""


@pytest.fixture
def repo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(FALSE)
    return tmp_path


def table(folder, text):
    (folder / "pyproject.toml").write_text(f"[tool.layoutcheck]\n{text}\n")


def out(capsys, *words):
    status = run(["lint", *words])
    return status, capsys.readouterr().out


@pytest.mark.parametrize("words", [["."], []])
def test_says_where_and_what(repo, capsys, words):
    status, text = out(capsys, *words)
    assert status == 1
    assert text.startswith("a.py:5:12: wrong[LC267] 'row * 8 + 4' is never a multiple of 8\n")
    assert "1 file (1 with CuTe, 5 lines), 0 copy sites" in text
    assert text.endswith("1 finding: 1 wrong.\n")


def test_a_note_fails_nothing(repo, capsys):
    (repo / "a.py").write_text(NOTE)
    status, text = out(capsys, "--strict", "a.py")
    assert status == 0 and "note[LC266]" in text


def test_order_does_not_depend_on_workers_or_on_what_was_asked_first(repo):
    for name in ("c", "b"):
        (repo / f"{name}.py").write_text(FALSE + "# x" * (1 << 20))
    found = [
        lint(paths, settings.Settings(), workers=workers)
        for paths in (["."], ["c.py", "a.py", "b.py"])
        for workers in (1, 3)
    ]
    assert [[f.path for f in result.findings] for result in found] == [["a.py", "b.py", "c.py"]] * 4


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('ignore = ["LC267"]', 0),
        ('select = ["LC1", "LC3"]', 0),
        ('select = ["LC2"]\nignore = ["LC26"]', 0),
        ('select = ["LC267"]\nignore = ["LC2"]', 1),
        ('ignore = ["ALL"]\nselect = ["LC267"]', 1),
        ('exclude = ["a.py"]', 0),
        ('exclude = ["b*"]', 1),
        ('per-file-ignores = { "*.py" = ["LC2"] }', 0),
        ('per-file-ignores = { "sub/" = ["LC2"] }', 1),
    ],
)
def test_settings(repo, capsys, text, count):
    table(repo, text)
    status, shown = out(capsys, "--format", "json", ".")
    found = json.loads(shown)
    assert len(found["findings"]) == count
    assert found["counts"]["unselected"] == 1 - count - ("exclude" in text and not count)
    assert status == count


def test_the_command_line_wins(repo, capsys):
    table(repo, 'ignore = ["LC267"]')
    status, text = out(capsys, ".")
    assert status == 0 and "0 findings (1 not selected)." in text
    table(repo, 'select = ["LC1"]')
    assert out(capsys, ".", "--select", "LC267,LC1")[0] == 1
    assert out(capsys, ".", "--select", "ALL", "--ignore", "LC2")[0] == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('selct = ["LC1"]', "no key 'selct'; expected 'select'"),
        ('select = "LC1"', "a list of strings"),
        ('select = ["E501"]', "no code begins with 'E501'"),
        ("timeout = 0", "seconds for each case"),
        ("order-seconds = 0", "seconds of processor time for each kernel"),
        ('order-seconds = "5"', "seconds of processor time for each kernel"),
        ("timeout = true", "seconds for each case"),
        ('arch = "hopper"', "expected sm_90a"),
        ("cache = true", "a string or false"),
        ('per-file-ignores = ["x"]', '{"pattern" = ["LC3"]}'),
        ('root = "x"', "no key 'root'"),
        ("paths = [", "is not TOML"),
    ],
)
def test_unusable_settings_are_one_clear_error(repo, capsys, text, said):
    table(repo, text)
    assert run(["lint", "."]) == 2
    error = capsys.readouterr().err
    assert said in error and "pyproject.toml" in error and "Traceback" not in error


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "no file or folder 'nowhere'"),
        ([".", "--format", "html"], "text, json, github or sarif"),
        ([".", "--select", "X1"], "no code begins with 'X1'"),
        ([".", "--baseline", "none.json"], "cannot read the baseline"),
        ([".", "--baseline", "a.py"], "is not a baseline"),
        ([".", "--config", "none.toml"], "cannot read"),
        ([".", "--config", "a.py"], "no table"),
        ([".", "--workers", "-1"], "workers"),
    ],
)
def test_unusable_options_are_one_clear_error(repo, capsys, words, said):
    assert run(["lint", *words]) == 2
    error = capsys.readouterr().err
    assert said in error and "Traceback" not in error


@pytest.mark.parametrize(
    ("line", "silent"),
    [
        ("    return cute.assume(row * 8 + 4, divby=8)  # layoutcheck: ignore[LC267] rows are padded", True),
        (
            "    # layoutcheck: ignore[LC267, LC301] padded\n    return cute.assume(row * 8 + 4, divby=8)",
            True,
        ),
        ("    return cute.assume(  # layoutcheck: ignore[LC2]\n        row * 8 + 4, divby=8)", True),
        ("    return cute.assume(row * 8 + 4, divby=8)  # layoutcheck: ignore[LC301]", False),
        ("    # layoutcheck: ignore[LC267]\n\n    return cute.assume(row * 8 + 4, divby=8)", False),
        ("    return cute.assume(row * 8 + 4, divby=8), '# layoutcheck: ignore[LC267]'", False),
        ('    return cute.assume(row * 8 + 4, divby=8), "it\'s"  # layoutcheck: ignore[LC267] padded', True),
        ("    return cute.assume(row * 8 + 4, divby=8), '\"'  # noqa # layoutcheck: ignore[LC267]", True),
        ("    return cute.assume(row * 8 + 4, divby=8)  # isn't it  # layoutcheck: ignore[LC267]", True),
        ('    return cute.assume(row * 8 + 4, divby=8), """\n# layoutcheck: ignore[LC267]"""', False),
    ],
)
def test_comments(repo, capsys, line, silent):
    (repo / "a.py").write_text(f"from cutlass import cute\n\n\ndef f(row):\n{line}\n")
    status, text = out(capsys, ".")
    assert status == (not silent)
    assert ("1 silenced by comments" in text) == silent


@pytest.mark.parametrize("comment", ["ignore", "ignore[]", "ignore[E501]", "ignore[LC1234]"])
def test_a_comment_that_silences_nothing_is_said(repo, capsys, comment):
    (repo / "a.py").write_text(FALSE.replace("divby=8)", f"divby=8)  # layoutcheck: {comment}"))
    status, text = out(capsys, ".")
    assert status == 1 and "unknown[LC914]" in text and "wrong[LC267]" in text


def test_a_baseline_knows_lines_not_numbers(repo, capsys):
    assert out(capsys, ".", "--write-baseline", "base.json")[0] == 0
    assert out(capsys, ".", "--baseline", "base.json")[0] == 0
    (repo / "a.py").write_text("# moved\n\n" + FALSE)
    status, text = out(capsys, ".", "--baseline", "base.json")
    assert status == 0 and "1 in the baseline" in text
    (repo / "a.py").write_text(FALSE + FALSE.replace("8 + 4", "8 + 2"))
    status, text = out(capsys, ".", "--baseline", "base.json")
    assert status == 1 and "8 + 2" in text and "8 + 4" not in text
    (repo / "a.py").write_text(FALSE + FALSE)  # the same line twice is one more than there was
    assert out(capsys, ".", "--baseline", "base.json")[0] == 1
    table(repo, 'baseline = "base.json"')
    (repo / "a.py").write_text(FALSE)
    assert out(capsys, ".")[0] == 0


def test_entries_of_a_baseline_that_nothing_needs_are_told(repo, capsys):
    (repo / "b.py").write_text(FALSE)
    assert out(capsys, ".", "--write-baseline", "base.json")[0] == 0
    assert "not found any more" not in out(capsys, ".", "--baseline", "base.json")[1]
    (repo / "a.py").write_text("x = 1\n")
    status, text = out(capsys, ".", "--baseline", "base.json")
    assert status == 0 and "1 entry of the baseline not found any more: a.py (1)" in text
    assert "any more" not in out(capsys, "b.py", "--baseline", "base.json")[1]  # a.py was not looked at
    assert "any more" not in out(capsys, ".", "--baseline", "base.json", "--select", "LC301")[1]
    (repo / "b.py").unlink()
    assert "2 entries of the baseline" in out(capsys, ".", "--baseline", "base.json")[1]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python reads it")
@pytest.mark.parametrize("text", ['f"{d["k"]}"', "f\"{'\\n'.join(a)}\""])
def test_an_f_string_of_a_newer_python_is_named(repo, capsys, text):
    (repo / "a.py").write_text(f"from cutlass import cute\nx = {text}\ncute.copy(a, b, c)\n")
    said = out(capsys, "a.py")[1]
    assert "3.12 or later needs that Python" in said and "Traceback" not in said


def test_a_baseline_holds_wherever_it_is_run(repo, capsys, monkeypatch):
    (repo / "sub").mkdir()
    (repo / "a.py").rename(repo / "sub" / "a.py")
    table(repo, 'baseline = "base.json"')
    assert out(capsys, ".", "--write-baseline", "base.json")[0] == 0
    for folder in (repo, repo / "sub"):
        monkeypatch.chdir(folder)
        status, text = out(capsys, ".")
        assert status == 0 and "1 in the baseline" in text


def test_a_named_file_is_excluded_only_by_force(repo, capsys):
    table(repo, 'exclude = ["a.py"]')
    assert out(capsys, "a.py")[0] == 1
    status, text = out(capsys, "a.py", "--force-exclude")
    assert status == 0 and text.startswith("0 files")


def test_the_cache_answers_as_reading_does(repo, capsys):
    fresh = out(capsys, ".")
    store = repo / ".layoutcheck_cache" / "source.json"
    assert store.is_file() and (store.parent / ".gitignore").read_text() == "*\n"
    assert out(capsys, ".") == fresh
    entries = json.loads(store.read_text())
    (entry,) = entries["entries"].values()
    entry["findings"][0]["title"] = "from the cache"
    store.write_text(json.dumps(entries))
    assert "from the cache" in out(capsys, ".")[1]
    assert out(capsys, ".", "--no-cache") == fresh
    (repo / "a.py").write_text(FALSE + "\n")
    assert "from the cache" not in out(capsys, ".")[1]
    store.write_text("[broken")
    assert out(capsys, ".")[0] == 1
    entries["tool"] = "another"
    store.write_text(json.dumps(entries))
    assert "from the cache" not in out(capsys, ".")[1]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("import cutlass.cute as c\nc.copy(a, s, d)\n", [2]),
        ("from cutlass.cute import *\ncopy(a, s, d)\nautovec_copy(s, d)\n", [2, 3]),
        ("from cutlass.cute import *\nfrom copy import copy\ncopy(a)\n", []),
        ("from cutlass.cute import *\ncopy = dict.copy\ncopy(a)\n", []),
        ("import cutlass\ncopy(a)\na.copy()\nf().copy()\n", []),
        ("from cutlass.cute import copy as cp\ncp(a, s, d)\n", [2]),
        ("from .prelude import cute as c\nc.copy(a, s, d)\n", [2]),
        ("from cutlass import *\ncute.copy(a, s, d)\n", [2]),
        ("from cutlass import cute as ct\nc = ct\ncp = c.copy\ndef f(): cp(a, s, d)\n", [4]),
    ],
)
def test_a_copy_site_is_known_by_whatever_name_the_file_gives_it(text, lines):
    assert [site.line for site in sites(Source("", text))] == lines


def test_statistics(repo, capsys):
    (repo / "b.py").write_text(FALSE)
    (repo / "c.py").write_text(NOTE)
    assert out(capsys, ".", "--statistics") == (1, "     2  LC267  wrong\n     1  LC266  note\n")


def test_github(repo, capsys):
    _, text = out(capsys, ".", "--format", "github")
    assert text.startswith(
        "::error file=a.py,line=5,col=12,endLine=5,endColumn=45,title=LC267 wrong::'row * 8 + 4' is never"
    )
    first, *others = text.splitlines()
    assert "%0A" in first and others[0].endswith("never traced.") and others[-1] == "1 finding: 1 wrong."
    assert not any("::" in line for line in others)


HOSTILE = {
    "broken.py": b"import cutlass\ndef f(:\n",
    "latin.py": b"# cute\nname = '\xe9'\n",
    "null.py": b"import cutlass\x00\n",
    "huge.py": b"import cutlass\n" + b"x = 1\n" * (10 << 20 >> 3) + b"#" * (4 << 20),
    "deep.py": b"import cutlass\nx = " + b"(" * 5000 + b")" * 5000,
    "sum.py": b"import cutlass\nx = " + b"1+" * 100_000 + b"1\n",
    "attributes.py": b"import cutlass\nx = a" + b".b" * 50_000 + b"\n",
    "cycle.py": b"from cutlass import cute\na = b + 1\nb = a + 1\ncute.assume(a, divby=a)\ncute.copy(a, b)\n",
    "doubling.py": b"from cutlass import cute\nx0 = 3\n"
    + b"".join(b"x%d = x%d * x%d\n" % (i + 1, i, i) for i in range(400))
    + b"cute.assume(x400, divby=8)\n",
    "bomb.py": b"from cutlass import cute\nx0 = (1, 1)\n"
    + b"".join(b"x%d = (x%d, x%d)\n" % (i + 1, i, i) for i in range(60))
    + b"t = cute.make_tensor(p.iterator, cute.make_layout(x60))\ncute.autovec_copy(t, t)\n"
    + b"cute.composition(cute.make_layout(x60), cute.make_layout(x60))\n",
    "mark.py": b"import cutlass, pathlib\npathlib.Path('executed').write_text('')\n",
    "empty.py": b"",
    "directory.py/inner.py": b"import cutlass\n",
}


def test_hostile_files_harm_nothing(repo, capsys):
    for name, raw in HOSTILE.items():
        path = repo / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(raw)
    (repo / "loop").symlink_to(repo, target_is_directory=True)
    (repo / "gone.py").symlink_to(repo / "nowhere")
    began = time.monotonic()
    status, text = out(capsys, ".", "--format", "json")
    assert time.monotonic() - began < 20
    found = json.loads(text)["findings"]
    unread = {f["path"]: f["title"] for f in found if f["code"] == "LC910"}
    assert set(unread) >= {"broken.py", "latin.py", "null.py", "huge.py", "gone.py"}
    assert set(unread) <= {
        "broken.py",
        "latin.py",
        "null.py",
        "huge.py",
        "gone.py",
        "deep.py",
        "sum.py",
        "attributes.py",
    }
    assert "does not parse" in unread["broken.py"] and "not UTF-8: byte 0xe9" in unread["latin.py"]
    latin = next(f for f in found if f["path"] == "latin.py")
    assert (latin["line"], latin["column"]) == (2, 9)
    assert [f["code"] for f in found if f["path"] == "a.py"] == ["LC267"]
    assert status == 1
    assert not (repo / "executed").exists()


def test_reading_is_not_importing(repo):
    """Neither the linted module nor numpy nor the DSL: only Python's own parser is at work."""
    (repo / "mark.py").write_text("import cutlass, pathlib\npathlib.Path('executed').write_text('')\n")
    code = (
        "import sys; from layoutcheck.cli import run; run(['lint', '.', '--no-cache']);"
        "sys.exit(any(m in sys.modules for m in ('mark', 'numpy', 'cutlass', 'typer', 'rich', 'libcst')))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert (
        subprocess.run([sys.executable, "-c", code], cwd=repo, env=env, capture_output=True).returncode == 0
    )
    assert not (repo / "executed").exists()


def test_settings_are_found_upwards(repo, capsys):
    table(repo, 'ignore = ["LC267"]')
    (repo / "deep" / "er").mkdir(parents=True)
    (repo / "deep" / "er" / "b.py").write_text(FALSE)
    assert settings.find(repo / "deep" / "er").root == repo
    assert out(capsys, "deep/er/b.py")[0] == 0
    (repo / "deep" / "pyproject.toml").write_text("[project]\nname = 'x'\n")  # has no table: looked past
    assert out(capsys, "deep/er/b.py")[0] == 0
    (repo / "deep" / "layoutcheck.toml").write_text("run = ['x.py']\n")
    with pytest.raises(InputError, match=r"deep/layoutcheck.toml' has no table .*; expected its keys below"):
        settings.find(repo / "deep" / "er")


@pytest.mark.parametrize(
    "written", ["[tool.layout-check]", "[tool.LayoutCheck]", "[ tool . 'layout_check' ]"]
)
def test_a_table_of_another_spelling_is_refused(repo, written):
    """Its settings would be without effect, and nobody would know."""
    (repo / "pyproject.toml").write_text(f"[project]\nname = 'x'\n{written}\nrun = []\n")
    with pytest.raises(
        InputError, match=r"pyproject.toml:3: \[tool\.[^]]+\] is not read; expected \[tool.layo"
    ):
        settings.find(repo)


def test_the_speed_that_the_page_claims_was_measured():
    """A second for 100,000 lines, four times ruff; one file before numpy and typer are imported."""
    found = json.loads((ROOT / "docs" / "evidence" / "lint.json").read_text())
    per = found["per_100000_lines"]["cpu_seconds"]
    assert 0.5 < per["layoutcheck"] < 1.5
    assert 3 < found["ratio_to_ruff"]["cpu_seconds"] < 5
    assert found["startup"]["cpu_seconds"]["layoutcheck"] < found["startup"]["cpu_seconds"]["imports"]


def test_this_repository_is_clean(monkeypatch, capsys):
    """Its kernels, benchmarks and tests, by its own settings, which leave out tests/lint/sources."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("layoutcheck.lint.files._ENOUGH_BYTES", 1 << 40)  # another worker has the processors
    status, text = out(capsys, ".", "--static", "--no-cache")
    assert status == 0 and "\n0 findings" in text


NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# cute"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import cutlass.cute as cute\n", "x = !ls"]},
        {"cell_type": "code", "source": "%%bash\ncute.copy(("},
        {"cell_type": "code", "source": ["def broken(:\n", "    cute"]},
        {
            "cell_type": "code",
            "source": "def f(row, a):\n    cute.assume(row * 8 + 4, divby=8)\n    cute.copy(a, a)",
        },
    ],
    "nbformat": 4,
}


def test_a_notebook_is_read_by_its_cells(repo, capsys):
    """Magics and other languages' cells are passed over; a cell that does not parse costs itself."""
    (repo / "a.py").unlink()
    (repo / "n.ipynb").write_text(json.dumps(NOTEBOOK))
    for _ in range(2):  # read, then from the cache
        status, text = out(capsys, ".", "--format", "json")
        found = json.loads(text)
        assert [(f["path"], f["line"], f["code"]) for f in found["findings"] if f["code"] != "LC912"] == [
            ("n.ipynb:cell 4", 1, "LC910"), ("n.ipynb:cell 5", 2, "LC267"),
        ]  # fmt: skip
        assert found["counts"]["never"] == {"n.ipynb:cell 5": [3]}
    assert status == 1
    assert (
        "file=n.ipynb,line=1,col=1,title=LC267 wrong::cell 5, line 2: "
        in out(capsys, ".", "--format", "github")[1]
    )
    out(capsys, ".", "--write-baseline", "b.json")
    moved = {**NOTEBOOK, "cells": [NOTEBOOK["cells"][0], *NOTEBOOK["cells"]]}
    (repo / "n.ipynb").write_text(json.dumps(moved))
    assert out(capsys, ".", "--baseline", "b.json")[0] == 0


@pytest.mark.parametrize("text", ["", "[]", '{"cells": 3}', '{"cells": [', "[" * 100_000])
def test_what_is_no_notebook_is_one_finding(repo, capsys, text):
    (repo / "n.ipynb").write_text(text + " cute")
    _, said = out(capsys, "n.ipynb", "--format", "json")
    assert [f["code"] for f in json.loads(said)["findings"]] == ["LC910"]


def test_a_comment_that_nothing_needs_any_more_is_a_note(repo, capsys):
    """Only codes that source alone shows: what a trace would show was not looked at."""
    wrong = FALSE.rstrip() + "  # layoutcheck: ignore[LC267,LC266]\n"
    unheard = "x = 1  # layoutcheck: ignore[LC301,LC999,LC88]\n"
    (repo / "a.py").write_text(wrong + "cute.copy(f, f)  # layoutcheck: ignore[LC301]\n" + unheard)
    assert "2 findings: 2 notes (1 silenced by comments)." in out(capsys, ".")[1]
    for _ in range(2):
        status, text = out(capsys, ".", "--format", "json")
        found = [f for f in json.loads(text)["findings"] if f["code"] == "LC916"]
        assert status == 0
        assert [(f["line"], f["severity"], f["title"]) for f in found] == [
            (5, "note", "no finding here has LC266"),
            (7, "note", "no rule of lint has LC88, LC999"),
        ]


@pytest.mark.parametrize("line", ["tile[i] = row[i]", "cute.copy(tile, row)"])
@pytest.mark.parametrize(("at", "told"), [(2, True), (3, False)])
def test_a_comment_on_a_traced_access_is_told_like_one_on_a_copy(line, at, told):
    text = f"from cutlass import cute\n{line}  # layoutcheck: ignore[LC301]\n"
    read = [File("a.py", analyse(text.encode(), "a.py"))]
    found = unused(read, lambda _: Suppressions(text), {("a.py", at): "legal"})
    assert [(f.code, f.line, f.title) for f in found] == [("LC916", 2, "no finding here has LC301")] * told


def test_a_renamed_file_keeps_its_baseline(repo, capsys):
    out(capsys, ".", "--write-baseline", "b.json")
    (repo / "a.py").rename(repo / "renamed.py")
    status, text = out(capsys, ".", "--baseline", "b.json")
    assert status == 0 and "the baseline has a.py -> renamed.py" in " ".join(text.split())
    assert "not found any more" not in text
    (repo / "a.py").write_text((repo / "renamed.py").read_text())
    assert out(capsys, ".", "--baseline", "b.json")[0] == 1


KERNELS = """\
from cutlass import cute
import cutlass.cute as c
@cute.kernel
def one(a): a[0] = 1
class Two:
    @c.kernel(preprocessor=True)
    def kernel(self, a):
        a[0] = 1
@cute.jit
def host(a): one(a)
@other.kernel
def none(a): ...
"""


@pytest.mark.parametrize(
    ("more", "built", "lines"),
    [
        ("", {"other.py"}, [4, 7]),
        ("", {"k.py"}, None),
        ("@cute.kernel\ndef copies(a): cute.copy(a, a, a)\n", set(), None),  # its site is told
    ],
)
def test_a_file_of_which_no_kernel_was_seen_is_told(more: str, built: set[str], lines: list[int] | None):
    reading = analyse((KERNELS + more).encode(), "k.py")
    assert reading.bare == (4, 7)
    found = list(_never_built([SimpleNamespace(path="k.py", reading=reading)], built))
    assert [(one.code, one.line, one.evidence["lines"]) for one in found] == [("LC912", 4, lines)] * bool(
        lines
    )
    assert all("was seen to run the kernels at lines 4, 7" in one.title for one in found)


@pytest.mark.parametrize(
    ("own", "text", "told"),
    [
        ("pkg/k.py", "import cute", True),
        ("src/pkg/k.py", "import cute # other", True),
        ("part/python/pkg/k.py", "import cute # of a project below the root", True),
        ("pkg/k.py", "import cute\n", False),  # what is installed is the same
        ("pkg/k.py", "import numpy", False),
        ("k.py", "import cute", False),
    ],
)
def test_an_installed_package_in_place_of_the_checkout_is_not_seen(repo, own, text, told):
    installed = repo / ".venv/lib/python3.11/site-packages/pkg/k.py"
    for path, words in ((installed, "import cute\n"), (repo / own, text)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(words)
    trace, below = Trace(imported=(str(installed), str(repo / own))), own.startswith("part/")
    failures = with_shadowed(trace, [repo, repo / "part"]).failures
    assert [one.kind for one in failures] == ["shadowed"] * told
    assert all(one.message.startswith(f"{own} was not run: {installed} was") for one in failures)
    assert all(one.message.endswith(f" {own.partition('/')[0]} mends it") == below for one in failures)
