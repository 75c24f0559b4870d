"""What `layoutcheck init` writes: settings, a workflow and a pre-commit hook for the repository at hand.

Nothing here writes; `plan` reads the repository and returns the files as they would be.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from layoutcheck.errors import InputError
from layoutcheck.lint import files
from layoutcheck.lint.cache import Cache
from layoutcheck.lint.cases import RegisteredCase, is_package
from layoutcheck.lint.programs import discover, projects
from layoutcheck.regular import text_of
from layoutcheck.settings import OWN, PYPROJECT, TABLE, Settings, find, read, toml

WORKFLOW, HOOKS = ".github/workflows/layoutcheck.yml", ".pre-commit-config.yaml"
_SPEAKS_OF = {  # what a file with kernels for an architecture says
    "sm_80": re.compile(rb"\bsm_?80\b|\bSm80\b|\bampere\b", re.IGNORECASE),
    "sm_90a": re.compile(rb"\bsm_?90a?\b|warpgroup|wgmma|\bhopper\b", re.IGNORECASE),
    "sm_100a": re.compile(rb"\bsm_?100[af]?\b|tcgen05|\bblackwell\b", re.IGNORECASE),
    "sm_120a": re.compile(rb"\bsm_?120[af]?\b", re.IGNORECASE),
}
_CUTE = re.compile(rb"\bcutlass\b")
_NVCC = re.compile(rb"\bCUDAExtension\b|\bnvcc\b")
_TORCH = re.compile(rb"^\s*(import|from) torch\b", re.MULTILINE)
_MAIN = ("sm_90a", "sm_100a")  # each architecture takes the whole time again: these, where there are any
_LINE = 100
_BOUND = re.compile(r"([<>]=?|[~=]=)\s*3\.([0-9]{1,3})")  # of `requires-python`
_EXTRAS = ("test", "tests", "testing", "dev")
_REQUIREMENTS = ("requirements.txt", "requirements-test.txt", "requirements-dev.txt")
_TORCH_INDEX = "https://download.pytorch.org/whl/cpu"


@dataclass(frozen=True, slots=True)
class Planned:
    """A file as it would be: its path below the root, the text that is there, and the new one.

    `new` is None where the file is left alone, and `said` why, or what it does.
    """

    path: str
    old: str
    new: str | None
    said: str


def plan(root: Path, requirement: str | None = None) -> list[Planned]:
    """The three files. `requirement` is what pip installs. Raises InputError for a folder that is none."""
    if not root.is_dir():
        raise InputError(f"no folder '{str(root)[:200]}'", expected="the root of a repository")
    settings = _settings(root)
    listed = files.collect([str(root)], settings)
    texts = {path: text_of(path) for path in listed}
    programs = discover([str(root)], settings, Cache(None, "outlines"))
    archs = [
        arch
        for arch, words in _SPEAKS_OF.items()
        if any(_CUTE.search(text) and words.search(text) for text in texts.values())
    ]
    return [
        _table(root, [settings.inside(case.path) for case in programs], programs, archs or ["sm_90a"]),
        _workflow(
            root,
            _packages(
                root,
                projects(root, map(settings.inside, listed)),
                [settings.inside(path) for path, text in texts.items() if _CUTE.search(text)],
            ),
            any(map(_TORCH.search, texts.values())),
            requirement or installed_from(),
        ),
        _hooks(root, requirement or installed_from()),
    ]


def _settings(root: Path) -> Settings:
    found = find(root)
    return found if found.root.resolve() == root.resolve() else Settings(root=root)


def _table(
    root: Path, paths: Sequence[str], programs: Sequence[RegisteredCase], archs: Sequence[str]
) -> Planned:
    """The settings. Beside a setup.py alone a pyproject.toml would change how pip builds the package."""
    own = (root / OWN).exists() or ((root / "setup.py").exists() and not (root / PYPROJECT).exists())
    name = OWN if own else PYPROJECT
    file = root / name
    old = kept(file) if file.is_file() else ""
    toml(old, file)  # a broken one is an error here
    if old and read(file, required=False) is not None:
        return Planned(name, old, None, f"it has [{TABLE}] already")
    run, rest = _entries(paths, programs)
    main = [arch for arch in archs if arch in _MAIN] or list(archs)
    others = [arch for arch in archs if arch not in main]
    lines = [f"[{TABLE}]", "# What `layoutcheck ci` runs, for each architecture, launching nothing."]
    lines += [f"# Scripts in {', '.join(rest)} compile kernels too."] * bool(rest)
    lines += _array("run", run) if run else ["# No test or script compiles kernels yet: it looks for them."]
    comment = f"  # kernels speak of {', '.join(others)} too" if others else ""
    lines += ["run-arch = [" + ", ".join(map(json.dumps, main)) + f"]{comment}", "run-timeout = 1200"]
    end = "\r\n" if "\r\n" in old else "\n"
    gap = "" if not old else end if old.endswith("\n") else end * 2
    table = "".join(f"{line}{end}" for line in lines)
    try:
        toml(old + gap + table, file)
    except InputError:
        return Planned(name, old, None, f"no table can extend its `tool = {{...}}`; write there\n{table}")
    return Planned(name, old, old + gap + table, "settings")


def kept(file: Path) -> str:
    """The text of a file with the line ends that it has."""
    return file.read_bytes().decode("utf-8")


def _array(key: str, entries: Sequence[str]) -> list[str]:
    """A TOML array of texts, an entry a line where one line would be long."""
    texts = [json.dumps(entry) for entry in entries]
    line = f"{key} = [{', '.join(texts)}]"
    return [line] if len(line) <= _LINE else [f"{key} = [", *(f"  {text}," for text in texts), "]"]


def _entries(paths: Sequence[str], programs: Sequence[RegisteredCase]) -> tuple[list[str], list[str]]:
    """The entries of `run`, tests by their top folder, then examples; and the folders of scripts left out.

    A top folder of which every program is wanted stands for them, and for those that it will have. So does
    the root, if a program lies in it.
    """
    tests = [p for p, case in zip(paths, programs, strict=True) if case.command[1:2] == ("pytest",)]
    scripts = [p for p, case in zip(paths, programs, strict=True) if case.command[1:2] != ("pytest",)]
    folders = {p.partition("/")[0] if "/" in p else p for p in tests}
    wanted = [p for p in scripts if not tests or "example" in p.partition("/")[0]]
    wanted = [p for p in wanted if p.partition("/")[0] not in folders]
    left = [p for p in scripts if p not in wanted and p.partition("/")[0] not in folders]
    if not left and any("/" not in p for p in (*tests, *wanted)):
        return ["."], []
    mixed = {p.partition("/")[0] for p in left}
    whole = {p.partition("/")[0] for p in wanted if "/" in p} - mixed
    alone = [p for p in wanted if p.partition("/")[0] not in whole]
    return [*sorted(folders), *sorted({*whole, *alone})], sorted(mixed)


def _workflow(root: Path, packages: Sequence[str], torch: bool, requirement: str) -> Planned:
    file = root / WORKFLOW
    if file.exists():
        return Planned(WORKFLOW, "", None, "it exists")
    install = [f"      - run: pip install torch --index-url {_TORCH_INDEX}"] * torch
    required = [f"--requirement {name}" for name in _REQUIREMENTS if (root / name).is_file()]
    if packages == ["."]:  # it names what it needs
        required = []
    required += [_editable(root, folder) for folder in packages]
    install += [f"      - run: pip install {' '.join([*required, 'pytest'])}"]
    words = {
        "BRANCH": _branch(root),
        "MINOR": str(_minor(root, packages)),
        "INSTALL": "\n".join(install),
        "REQUIREMENT": requirement,
    }
    return Planned(WORKFLOW, "", _filled("workflow.yml", words), "a job without a GPU")


def _filled(name: str, words: Mapping[str, str]) -> str:
    """A file beside this one, with words for what stands in it as @WORD."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return re.sub("@([A-Z]+)", lambda found: words[found[1]], text)


def _packages(root: Path, below: Sequence[str], kernels: Sequence[str]) -> list[str]:
    """The folders that pip installs: the root where it is a package, else the outermost packages below it.

    A runner has no nvcc: a package that compiles GPU code gives way to those below it that hold `kernels`.
    """
    if is_package(root):
        light = [
            folder
            for folder in below
            if is_package(root / folder)
            and not _compiles(root / folder)
            and any(path.startswith(f"{folder}/") for path in kernels)
        ]
        if not (light and _compiles(root)):
            return ["."]
        below = light
    found: list[str] = []
    for folder in below:
        if is_package(root / folder) and not any(folder.startswith(f"{each}/") for each in found):
            found.append(folder)
    return [f"./{folder}" for folder in found]


def _compiles(package: Path) -> bool:
    """Whether to install a package compiles GPU code."""
    return _NVCC.search(text_of(package / "setup.py")) is not None


def _editable(root: Path, folder: str) -> str:
    """pip's words for a package of the repository, with what its tests need."""
    extra = _extra(root / folder)
    return f"--editable {shlex.quote(f'{folder}[{extra}]' if extra else folder)}"


def _extra(root: Path) -> str:
    """The package's optional dependencies for its tests, "" where it names none."""
    named = _project(root).get("optional-dependencies", {})
    return next((name for name in _EXTRAS if name in named), "")


def _minor(root: Path, packages: Sequence[str]) -> int:
    """The Python 3 of the job: this one, or the nearest that all packages ask for."""
    asked = (str(_project(root / folder).get("requires-python", "")) for folder in packages)
    bounds = [(sign, int(minor)) for one in asked for sign, minor in _BOUND.findall(one)]
    most = [minor - (sign == "<") for sign, minor in bounds if sign in ("<", "<=", "==")]
    least = [minor for sign, minor in bounds if "<" not in sign]
    return max([min([sys.version_info.minor, *most]), *least])


def _project(root: Path) -> dict[str, Any]:
    """What a package's pyproject.toml says of it."""
    file = root / PYPROJECT
    project = toml(file.read_text(encoding="utf-8"), file).get("project", {}) if file.is_file() else {}
    return project if isinstance(project, dict) else {}


def _branch(root: Path) -> str:
    """The branch that `origin` has for its first, else the one that is checked out, or main."""
    for name in ("refs/remotes/origin/HEAD", "HEAD"):
        head = text_of(root / ".git" / name).decode("utf-8", "replace").strip()
        found = re.fullmatch(r"ref: refs/(?:heads|remotes/origin)/([\w./-]+)", head)
        if found:
            return found[1]
    return "main"


def _hooks(root: Path, requirement: str) -> Planned:
    file = root / HOOKS
    needed = json.dumps(requirement.replace("[dsl]", ""))
    hook = _filled("hook.yml", {"REQUIREMENT": needed})
    if file.exists():
        if b"layoutcheck" in text_of(file):
            return Planned(HOOKS, "", None, "it names layoutcheck already")
        return Planned(HOOKS, "", None, f"it exists; add under `repos:`\n{hook}".rstrip("\n"))
    return Planned(HOOKS, "", f"repos:\n{hook}", "a hook that reads source and runs nothing")


def installed_from() -> str:
    """What pip installs to have this layoutcheck, with its DSL: a commit, also of a clone, or a version.

    Raises InputError where it is a folder that nobody else can reach.
    """
    try:
        found = metadata.distribution("layoutcheck")
    except metadata.PackageNotFoundError:  # its source is on Python's path
        if clone := _clone(str(Path(__file__).parents[2])):
            return f"layoutcheck[dsl] @ git+{clone}"
        raise InputError(
            "layoutcheck is not installed here: what should CI install?",
            expected="layoutcheck init --requirement NAME",
        ) from None
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    url = origin.get("url", "")
    if "vcs_info" in origin:
        return f"layoutcheck[dsl] @ {origin['vcs_info']['vcs']}+{url}@{origin['vcs_info']['commit_id']}"
    clone = _clone(unquote(urlsplit(url).path)) if url.startswith("file://") else ""
    return f"layoutcheck[dsl] @ git+{clone}" if clone else f"layoutcheck[dsl]=={found.version}"


def _clone(folder: str) -> str:
    """Where others find the commit that is checked out in a folder: URL@COMMIT; "" if nobody does."""
    try:
        remote, commit = (
            subprocess.run(
                ["git", "-C", folder, *words], capture_output=True, text=True, timeout=10, check=True
            ).stdout.strip()
            for words in (("remote", "get-url", "origin"), ("rev-parse", "HEAD"))
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    url = urlsplit(remote)
    host = url.netloc.rpartition("@")[2]  # without a password
    return f"https://{host}{url.path}@{commit}" if url.scheme == "https" and host else ""
