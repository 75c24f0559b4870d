"""action.yml: its steps run by bash, with what GitHub would put in. Installs from PyPI, hence a sweep."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from tests.lint.test_ci import KERNEL

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
_EXPRESSION = re.compile(r"\$\{\{ ([\w.]+) \}\}")


def filled(text: Any, values: dict[str, str]) -> str:
    """A text with each `${{ name }}` as its value; a name that GitHub would not know fails."""
    return _EXPRESSION.sub(lambda found: values[found[1]], str(text))


def run_action(folder: Path, project: Path, path: str = "", **given: str) -> tuple[int, str]:
    """The status and output of the action's steps, one after the other as a runner runs them."""
    values = {f"inputs.{name}": str(each["default"]) for name, each in ACTION["inputs"].items()}
    values |= {f"inputs.{name}": value for name, value in given.items()} | {"github.action_path": str(ROOT)}
    said = ""
    for number, step in enumerate(ACTION["runs"]["steps"]):
        assert step["shell"] == "bash" and set(step) <= {"id", "shell", "env", "run"}
        script, outputs = folder / f"step {number}.sh", folder / f"outputs {number}"
        script.write_text(filled(step["run"], values))
        own = {name: filled(value, values) for name, value in step.get("env", {}).items()}
        env = {**os.environ, **own, "RUNNER_TEMP": str(folder), "GITHUB_ACTIONS": "true", "CI": "true"}
        env["PATH"] = path + env["PATH"]
        for name in ("OUTPUT", "STEP_SUMMARY", "ENV", "PATH", "STATE"):
            file = outputs if name == "OUTPUT" else folder / f"{name.lower()} {number}"
            file.touch()
            env[f"GITHUB_{name}"] = str(file)
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=project, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        said += done.stdout
        if done.returncode:
            return done.returncode, said
        for line in outputs.read_text().splitlines():
            name, _, value = line.partition("=")
            values[f"steps.{step['id']}.outputs.{name}"] = value
    return 0, said


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "a project"
    made.mkdir()
    (made / "kernels.py").write_text(KERNEL)
    (made / "half.py").write_text("from kernels import build\nif __name__ == '__main__':\n    build(8)\n")
    (made / "wrong.py").write_text(
        "from cutlass import cute\ndef f(row):\n    cute.assume(row * 8 + 4, divby=8)\n"
    )
    (made / "pyproject.toml").write_text("[tool.layoutcheck]\n")
    return made


def test_no_step_imports_from_the_checkout(tmp_path: Path, project: Path) -> None:
    """`python -m` puts it first on the path: a file that is named like a module of Python's would run."""
    for name in ("json", "pip", "layoutcheck", "sysconfig"):
        (project / f"{name}.py").write_text("open('ran', 'w')\n")
    python = tmp_path / "python"  # that installs nothing
    python.write_text(
        '#!/bin/sh\ncase "$*" in *"pip install"*) [ "$1" = -I ] || touch ran ;;'
        f' *) exec {sys.executable} "$@" ;; esac\n'
    )
    python.chmod(0o755)
    status, said = run_action(tmp_path, project, python=str(python))
    assert status == 1 and "LC267" in said
    assert not (project / "ran").exists()


@pytest.fixture
def stub(tmp_path: Path) -> Path:
    """A python with pip and venv that do nothing but tell, and a layoutcheck that prints its arguments."""
    scripts = tmp_path / "its scripts"
    scripts.mkdir()
    said = scripts / "layoutcheck"
    said.write_text('#!/bin/sh\nfor each; do echo "<$each>"; done\nexit ${ENDS:-0}\n')
    python = scripts / "python"
    python.write_text(
        '#!/bin/sh\ncase "$*" in\n'
        '*"pip install"*) shift 5; echo "pip: $*" ;;\n'
        f'*"-m venv"*) mkdir -p "$3/bin" && ln -s "{python}" "$3/bin/python"; echo "venv: $3" ;;\n'
        f"*get_path*) echo '{scripts}' ;;\n"
        f'*) exec {sys.executable} "$@" ;;\nesac\n'
    )
    python3 = scripts / "python3"
    for file in (said, python):
        file.chmod(0o755)
    python3.symlink_to(python)
    return scripts


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ["--static", "."]),
        (dict.fromkeys(ACTION["inputs"], ""), ["--static", "."]),
        ({"command": "ci"}, ["--yes", "."]),
        ({"dsl": "true"}, ["."]),
        ({"python": "STUB"}, ["."]),
        ({"paths": "kernels.py 'my kernels/a b.py'"}, ["--static", "kernels.py", "my kernels/a b.py"]),
        ({"paths": "half.py\n  kernels.py\n"}, ["--static", "half.py", "kernels.py"]),
        ({"paths": "*l*.py nothing*"}, ["--static", "half.py", "kernels.py", "nothing*"]),
        ({"paths": "$(touch ran) `touch ran`;"}, ["--static", "$(touch", "ran)", "`touch", "ran`;"]),
        ({"arguments": "--strict --ignore LC302,LC3", "format": "sarif", "output": "a report.sarif"},
         ["--output", "a report.sarif", "--static", ".", "--strict", "--ignore", "LC302,LC3"]),
        ({"command": "ci", "arguments": "--html 'the page.html'"}, ["--yes", ".", "--html", "the page.html"]),
    ],
)  # fmt: skip
def test_each_input_reaches_the_command(
    tmp_path: Path, project: Path, stub: Path, given: dict[str, str], words: list[str]
) -> None:
    given = {name: value.replace("STUB", str(stub / "python")) for name, value in given.items()}
    status, said = run_action(tmp_path, project, f"{stub}:", **given)
    shown = re.findall(r"^<(.*)>$", said, re.MULTILINE)
    assert shown == [given.get("command") or "lint", "--format", given.get("format") or "github", *words]
    assert status == 0 and not (project / "ran").exists()
    own = given.get("python") or given.get("command") == "ci"
    assert ("venv: " in said) == (not own)
    assert f"pip: --disable-pip-version-check {ROOT}{'[dsl]' * (given.get('dsl') == 'true')}\n" in said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"command": "check"}, "::error::no command 'check': lint or ci"),
        ({"dsl": "yes"}, "::error::dsl is 'yes': true or false"),
        ({"paths": "it's.py"}, "::error::No closing quotation: it's.py"),
        ({"arguments": '--html "page'}, '::error::No closing quotation: --html "page'),
    ],
)
def test_an_input_that_cannot_be_used_is_an_error_of_the_job(
    tmp_path: Path, project: Path, stub: Path, given: dict[str, str], said: str
) -> None:
    status, told = run_action(tmp_path, project, f"{stub}:", **given)
    assert status == 2 and f"{said}\n" in told and "<lint>" not in told


@pytest.mark.parametrize("ends", [0, 1, 2])
def test_the_status_of_the_command_is_the_jobs(
    tmp_path: Path, project: Path, stub: Path, ends: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDS", str(ends))
    assert run_action(tmp_path, project, f"{stub}:")[0] == ends


@pytest.mark.sweep
def test_lint_in_an_environment_of_its_own(tmp_path: Path, project: Path) -> None:
    status, said = run_action(tmp_path, project)
    assert status == 1
    assert re.search(r"^::error file=wrong\.py,line=3,.*title=LC267 wrong::", said, re.MULTILINE)
    assert "half.py" not in said
    status, said = run_action(
        tmp_path, project, paths="kernels.py half.py", arguments="--strict", output="r.txt"
    )
    assert status == 0 and (project / "r.txt").exists()


@pytest.mark.sweep
def test_ci_in_the_environment_of_the_project(tmp_path: Path, project: Path) -> None:
    """The project's environment has the DSL, and the action adds layoutcheck to it."""
    env = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", str(env)], check=True)
    site = next((env / "lib").glob("python3*/site-packages"))
    paths = "".join(f"import site; site.addsitedir({path!r})\n" for path in _site_packages())
    (site / "project.pth").write_text(paths)
    status, said = run_action(
        tmp_path, project, f"{env / 'bin'}:", command="ci", paths="half.py kernels.py",
        arguments="--no-lowered --no-order --html page.html",
    )  # fmt: skip
    assert status == 1
    assert re.search(r"^::error file=kernels\.py,line=7,.*title=LC101 rejected::", said, re.MULTILINE), said
    assert (project / "page.html").exists()
    shown = subprocess.run(
        [env / "bin" / "python", "-c", "import layoutcheck; print(layoutcheck.__file__)"],
        cwd=tmp_path, text=True, capture_output=True, check=True,
    )  # fmt: skip
    assert Path(shown.stdout.strip()).is_relative_to(site)


def _site_packages() -> list[str]:
    import cutlass

    return list(dict.fromkeys([sysconfig.get_paths()["purelib"], str(Path(cutlass.__file__).parents[3])]))
