"""`layoutcheck init`: what it writes fits the repository, and what exists stays as it is."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from layoutcheck.cli import run
from layoutcheck.lint import initial
from layoutcheck.lint.initial import _clone, _minor
from layoutcheck.settings import find, read

KERNEL = "from cutlass import cute\nimport torch\n@cute.jit\ndef f(a): 'for sm_100 and sm_90'\n"
FILES = ("pyproject.toml", ".github/workflows/layoutcheck.yml", ".pre-commit-config.yaml")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {
        "pkg.py": KERNEL,
        "tests/test_a.py": "from pkg import f\ndef test_a(): f(1)\n",
        "examples/one.py": "import pkg\nif __name__ == '__main__': pkg.f(1)\n",
        "bench/two.py": "import pkg\nif __name__ == '__main__': pkg.f(1)\n",
        "pyproject.toml": '[project]\nrequires-python = ">=3.99, <4"',
        ".git/HEAD": "ref: refs/heads/trunk\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_written_is_read_again(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "--yes", "--requirement", "layoutcheck==1"]) == 0
    settings = read(repository / "pyproject.toml")
    assert settings is not None
    assert settings.run == ("tests", "examples")
    assert settings.run_arch == ("sm_90a", "sm_100a")
    assert "# Scripts in bench compile kernels too." in (repository / "pyproject.toml").read_text()
    assert (
        (repository / "pyproject.toml")
        .read_text()
        .startswith('[project]\nrequires-python = ">=3.99, <4"\n\n[tool.layoutcheck]')
    )
    workflow = (repository / FILES[1]).read_text()
    assert 'pip install "layoutcheck==1"' in workflow and "branches: [trunk]" in workflow
    assert "pip install torch --index-url" in workflow and 'python-version: "3.99"' in workflow
    assert "layoutcheck==1" in (repository / FILES[2]).read_text()
    capsys.readouterr()
    assert run(["ci", "--list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "-m pytest -q tests/test_a.py  (sm_90a)", "-m pytest -q tests/test_a.py  (sm_100a)",
        "examples/one.py  (sm_90a)", "examples/one.py  (sm_100a)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "minor"),
    [
        ("", sys.version_info.minor), (">=3.8", sys.version_info.minor), (">=3.99,<4", 99), ("~=3.99", 99),
        (">=3.7,<3.10", 9), ("<=3.8", 8), ("==3.7.*", 7),
    ],
)  # fmt: skip
def test_the_job_has_the_nearest_python_that_the_project_installs_in(
    tmp_path: Path, asked: str, minor: int
) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[project]\nrequires-python = "{asked}"')
    assert _minor(tmp_path, ["."]) == minor


@pytest.mark.parametrize(
    ("gone", "written"),
    [
        (("tests/test_a.py",), ["bench", "examples"]),
        (("tests/test_a.py", "bench/two.py", "examples/one.py"), ["."]),
        (("bench/two.py", "examples/one.py"), ["tests"]),
        (("bench/two.py", "test_root.py"), ["."]),
        (("test_root.py",), ["test_root.py", "tests", "examples"]),
    ],
)
def test_programs_to_come_are_run(repository: Path, gone: tuple[str, ...], written: list[str]) -> None:
    """What `run` names are folders, where all in them is wanted, and the root, if a program lies in it."""
    for name in gone:
        (repository / name).unlink(missing_ok=True)
    if "test_root.py" in gone:
        (repository / "test_root.py").write_text("import pkg\ndef test_b(): pkg.f(2)\n")
    elif written == ["."]:
        (repository / "one.py").write_text("import pkg\nif __name__ == '__main__': pkg.f(1)\n")
    assert run(["init", "--yes", "--requirement", "layoutcheck==1"]) == 0
    settings = read(repository / "pyproject.toml")
    assert settings is not None and list(settings.run or ()) == written


def test_beside_a_setup_py_alone_the_settings_have_a_file_of_their_own(repository: Path) -> None:
    """pip builds otherwise where there is a pyproject.toml. The file comes before one, also for `ci`."""
    (repository / "pyproject.toml").unlink()
    (repository / "setup.py").write_text("")
    assert run(["init", "--yes"]) == 0 and not (repository / "pyproject.toml").exists()
    settings = read(repository / "layoutcheck.toml")
    assert settings is not None and settings.run == ("tests", "examples")
    (repository / "pyproject.toml").write_text("[tool.layoutcheck]\nrun = []\n")
    assert find(repository / "tests") == settings
    assert run(["init", "--yes"]) == 0 and read(repository / "layoutcheck.toml") == settings


def test_what_exists_stays(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / FILES[1]).parent.mkdir(parents=True)
    before = {FILES[0]: "[tool.layoutcheck]\n", FILES[1]: "mine\n", FILES[2]: "repos: []\n"}
    for name, text in before.items():
        (repository / name).write_text(text)
    assert run(["init", "--yes"]) == 0
    assert {name: (repository / name).read_text() for name in FILES} == before
    said = capsys.readouterr().out
    assert said.count("left as it is") == 3 and "- id: layoutcheck" in said


@pytest.mark.parametrize(("option", "status"), [(["--dry-run"], 0), ([], 2)])
def test_nothing_is_written_unasked(
    repository: Path, option: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", *option]) == status
    assert '+run = ["tests", "examples"]' in capsys.readouterr().out
    assert (repository / "pyproject.toml").read_text() == '[project]\nrequires-python = ">=3.99, <4"'
    assert not (repository / FILES[1]).exists() and not (repository / FILES[2]).exists()


def test_the_job_takes_this_python_where_an_older_one_is_enough(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "pyproject.toml").write_text('[project]\nrequires-python = ">=3.8"')
    assert run(["init", "--dry-run"]) == 0
    assert f'python-version: "3.{sys.version_info.minor}"' in capsys.readouterr().out


def test_no_repository(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "gone"]) == 2
    assert "no folder 'gone'" in capsys.readouterr().err


def test_where_nothing_compiles_kernels_they_are_looked_for(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "pkg.py").write_text("def f(n): ...\n")
    assert run(["init", "--yes"]) == 0
    settings = read(repository / "pyproject.toml")
    assert settings is not None and settings.run is None
    capsys.readouterr()
    assert run(["ci", "--list"]) == 0
    said = capsys.readouterr()
    assert not said.out and "no test or script that compiles kernels was found" in said.err
    (repository / "pkg.py").write_text(KERNEL)
    assert run(["ci", "--list", "examples"]) == 0
    assert capsys.readouterr().out == "examples/one.py  (sm_90a)\n"


@pytest.mark.parametrize(
    ("files", "installed"),
    [
        ({"pyproject.toml": "[tool.black]\n"}, "pytest"),
        (
            {"pyproject.toml": "[tool.black]\n", "requirements.txt": "numpy\n"},
            "--requirement requirements.txt pytest",
        ),
        ({"pyproject.toml": "[tool.black]\n", "setup.py": ""}, "--editable . pytest"),
        ({"pyproject.toml": "[build-system]\n"}, "--editable . pytest"),
        (
            {"pyproject.toml": "[project]\noptional-dependencies = {cuda = [], dev = [], tests = []}\n"},
            "--editable '.[tests]' pytest",
        ),
        (
            {
                "pyproject.toml": "[tool.black]\n", "requirements.txt": "numpy\n", "b/setup.py": "",
                "a/pyproject.toml": "[project]\noptional-dependencies = {test = []}\n", "a/in/setup.py": "",
                "a/pkg.py": "", "a/in/pkg.py": "", "b/pkg.py": "", "c/pyproject.toml": "[tool.x]\n",
            },
            "--requirement requirements.txt --editable './a[test]' --editable ./b pytest",
        ),
        (  # FlashAttention's: the root needs nvcc
            {
                "setup.py": "from torch.utils import CUDAExtension\n", "hopper/setup.py": "nvcc",
                "hopper/pkg.py": KERNEL, "pkg/cute/pyproject.toml": "[project]\n", "pkg/cute/k.py": KERNEL,
                "other/setup.py": "", "other/o.py": "",
            },
            "--editable ./pkg/cute pytest",
        ),
        ({"setup.py": "CUDAExtension", "other/setup.py": "", "other/o.py": ""}, "--editable . pytest"),
        (
            {"pyproject.toml": "", "requirements.txt": "numpy\n", "requirements-dev.txt": "black\n"},
            "--requirement requirements.txt --requirement requirements-dev.txt pytest",
        ),
    ],
)  # fmt: skip
def test_the_job_installs_what_there_is(repository: Path, files: dict[str, str], installed: str) -> None:
    for name, text in files.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text)
    assert run(["init", "--yes", "--requirement", "layoutcheck==1"]) == 0
    lines = (repository / FILES[1]).read_text().splitlines()
    assert [line for line in lines if "pytest" in line] == [f"      - run: pip install {installed}"]


def test_a_long_list_has_a_line_for_each_entry(repository: Path) -> None:
    (repository / "tests/test_a.py").unlink()
    folders = [f"a_folder_of_a_long_name_{number}" for number in range(5)]
    for name in folders:
        (repository / name).mkdir()
        (repository / name / "one.py").write_text("import pkg\nif __name__ == '__main__': pkg.f(1)\n")
    assert run(["init", "--yes"]) == 0
    settings = read(repository / "pyproject.toml")
    assert settings is not None and settings.run == (*folders, "bench", "examples")
    assert max(map(len, (repository / "pyproject.toml").read_text().splitlines())) < 100


@pytest.mark.parametrize(
    ("remote", "found"),
    [
        ("https://user:secret@example.org/a/layoutcheck.git", "https://example.org/a/layoutcheck.git@"),
        ("/some/folder", ""),
        ("git@example.org:a/layoutcheck.git", ""),
    ],
)
def test_a_clone_is_installed_from_where_it_came(tmp_path: Path, remote: str, found: str) -> None:
    """Without the password of its URL; what only this machine can reach is no place for CI."""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (
        ["init", "-q"],
        ["remote", "add", "origin", remote],
        ["commit", "-q", "--allow-empty", "-m", "a"],
    ):
        subprocess.run([*git, *words], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    assert _clone(str(tmp_path)) == (f"{found}{commit}" if found else "")
    assert _clone(str(tmp_path / "gone")) == ""


def test_a_source_on_the_path_is_no_distribution(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    monkeypatch.setattr(initial, "_clone", {str(Path(initial.__file__).parents[2]): "https://a/b@c"}.get)
    assert (
        run(["init", "--dry-run"]) == 0 and "layoutcheck[dsl] @ git+https://a/b@c" in capsys.readouterr().out
    )
    monkeypatch.setattr(initial, "_clone", lambda folder: "")
    assert (
        run(["init", "--dry-run"]) == 2
        and "expected layoutcheck init --requirement NAME" in capsys.readouterr().err
    )
    assert run(["init", "--dry-run", "--requirement", "layoutcheck==9"]) == 0


def test_the_branch_is_the_first_of_origin(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "--dry-run"]) == 0
    assert "branches: [trunk]" in capsys.readouterr().out
    head = repository / ".git/refs/remotes/origin/HEAD"
    head.parent.mkdir(parents=True)
    head.write_text("ref: refs/remotes/origin/main\n")
    assert run(["init", "--dry-run"]) == 0
    assert "branches: [main]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ('[project]\r\nname = "x"\r\n', '[project]\r\nname = "x"\r\n\r\n[tool.layoutcheck]\r\n'),
        ('\ufeff[project]\nname = "x"\n', '\ufeff[project]\nname = "x"\n\n[tool.layoutcheck]\n'),
    ],
)
def test_line_ends_and_a_byte_order_mark_stay(repository: Path, text: str, begins: str) -> None:
    file = repository / "pyproject.toml"
    file.write_bytes(text.encode())
    assert run(["init", "--yes", "--requirement", "layoutcheck==1"]) == 0
    new = file.read_bytes().decode()
    assert new.startswith(begins) and ("\r" in text) == ("\r" in new)
    assert new.count("\r\n") in (0, new.count("\n"))
    settings = read(file)
    assert settings is not None and settings.run_timeout == 1200


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool]\nlayoutcheck.timeout = 7\n", "it has [tool.layoutcheck] already"),
        ("[ tool . layoutcheck ]\ntimeout = 7\n", "it has [tool.layoutcheck] already"),
        ('["tool"."layoutcheck"]\n', "it has [tool.layoutcheck] already"),
        ("[tool.layoutcheck.per-file-ignores]\n", "it has [tool.layoutcheck] already"),
        ("tool = {black = {preview = true}}\n", "no table can extend its `tool = {...}`; write there"),
    ],
)
def test_a_table_in_another_spelling_is_not_added_again(
    repository: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = repository / "pyproject.toml"
    file.write_text(text)
    assert run(["init", "--yes", "--requirement", "layoutcheck==1"]) == 0
    assert f"pyproject.toml: left as it is: {said}\n" in capsys.readouterr().out
    assert file.read_text() == text
    settings = read(file, required=False)
    assert (settings is not None and settings.timeout == 7) == ("7" in text)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('[tool.layoutcheck]\n\n# c\narch = "sm_9"\n', 4, "[tool.layoutcheck] arch: unknown architecture"),
        ("[tool]\n\nlayoutcheck.timeout = 0\n", 3, "[tool.layoutcheck] timeout: 0"),
        ('[tool.layoutcheck]\r\npaths = [\r\n"a",\r\n]\r\nselect = [\r\n\r\n"X"]\r\n', 5, "select: no code"),
        ("[a]\nb = 1\n[tool.layoutcheck]\norder = true\narhc = 1\n", 5, "has no key 'arhc'; expected 'arch'"),
        ("tool = {layoutcheck = {timeout = 0}}", 1, "timeout: 0"),
        ("[tool]\nlayoutcheck = 3\n", 2, "tool.layoutcheck is a table"),
        ("[tool.layoutcheck]\n[tool.layoutcheck.per-file-ignores]\na = 1\n", 2, "per-file-ignores 'a': 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_told_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    text: str, line: int, said: str,
) -> None:  # fmt: skip
    (tmp_path / "pyproject.toml").write_text(text, newline="")
    monkeypatch.chdir(tmp_path)
    assert run(["lint", "."]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"error: {tmp_path}/pyproject.toml:{line}: ") and said in told
