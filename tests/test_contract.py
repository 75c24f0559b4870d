"""The exit status as it is documented, of commands that a user types in a small repository.

`docs/lint.md`, `docs/guides/ci.md` and `layoutcheck trace --help` promise 0 only where all that was asked
for was seen. Rows share the cache of one repository, so a kernel is traced once for each of its options.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutcheck.cli import run
from layoutcheck.gate import CONDITIONS
from tests.forking import run_here, traced_in_forks
from tests.lowering import SharedLowering

__all__ = ["run_here", "traced_in_forks"]

USES = "def unused():\n    from cutlass import cute\n    cute.compile()\n"  # by its text a program of kernels
BUILD = """\
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor
class Kernel:
    def __init__(self, bits):
        self.bits = bits
    @cute.kernel
    def kernel(self, a: cute.Tensor):
        f = cute.make_rmem_tensor(cute.make_layout(4), cutlass.Float32)
        op = cute.nvgpu.CopyUniversalOp()
        cute.copy(cute.make_copy_atom(op, cutlass.Float32, num_bits_per_copy=self.bits), a, f)
    @cute.jit
    def __call__(self, a: cute.Tensor):
        self.kernel(a).launch(grid=[1, 1, 1], block=[1, 1, 1])
def build(bits):
    return Kernel(bits), make_fake_tensor(cutlass.Float32, (4,), stride=(1,), assumed_align=8)
"""
DEEDS = {  # what a script does, and a registered case
    "legal": "cute.compile(*build(64))",
    "slow": "cute.compile(*build(32))",
    "rejected": "cute.compile(*build(128))",
    "missing": "import nothing_here",
    "hangs": "import time; time.sleep(60)",
    "dies": "import ctypes; ctypes.string_at(0)",
    "nothing": "pass",
    "leaves": "raise SystemExit(3)",
    "arguments": "import argparse; argparse.ArgumentParser().parse_args(['--what'])",
}
TESTS = {
    "results": "def test_results():\n    kernel, tensor = build(64)\n"
    "    cute.compile(kernel, tensor)(tensor)\n    assert tensor is None\n"
    "@pytest.mark.skip(reason='one card')\ndef test_skipped(): ...\n",
    "early": "def test_early():\n    assert 1 == 2\n",
    "unfound": "pytest.importorskip('nothing_here')\ndef test_it(): ...\n",
}
ALL_SEEN = ("--require-coverage", "100", "--fail-on", ",".join(CONDITIONS))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")
    root = tmp_path_factory.mktemp("contract")
    for name, deed in DEEDS.items():
        head = BUILD if "build" in deed else USES
        (root / f"{name}.py").write_text(f"{head}if __name__ == '__main__':\n    {deed}\n")
        for kind, expect in (("plain", ""), ("legal", "expect='legal'"), ("rejected", "expect='rejected'")):
            case = f"@layoutcheck.case({expect})\ndef it():\n    {deed}\n"
            (root / f"{kind}_{name}.py").write_text(f"import layoutcheck\n{head}{case}")
    for name, body in TESTS.items():
        (root / f"test_{name}.py").write_text(f"import pytest\n{BUILD if 'build' in body else USES}{body}")
    (root / "broken.py").write_text("from cutlass import cute\ndef f(:\n")
    table = "[tool.layoutcheck]\npaths = ['.']\norder = false\n"
    (root / "pyproject.toml").write_text(table)
    (root / "short.toml").write_text(f"{table}timeout = 1\n")
    return root


def ci(*words: str) -> tuple[str, ...]:
    return ("ci", "--yes", "--workers", "1", *words)


def trace(*words: str) -> tuple[str, ...]:
    return ("trace", "--no-launch", "--no-order", *words)


@pytest.mark.usefixtures("run_here")
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (ci("legal.py"), 0, "0 findings"),
        (ci("legal.py", "--strict", *ALL_SEEN), 0, "0 findings"),
        (ci("legal.py", "--no-lowered"), 0, "by types only: 1"),
        (ci("legal.py", "--no-lowered", "--fail-on", "types-only"), 2, "types-only: 1 copy known"),
        (ci("rejected.py", "--fail-on", "none"), 1, "rejected[LC101]"),
        (ci("missing.py"), 2, "Install 'nothing_here'"),
        (ci("missing.py", "--fail-on", "none"), 0, "unknown[LC911]"),
        (ci("hangs.py", "dies.py", "leaves.py", "arguments.py", "--timeout", "2"), 2,
         "more than 2 s | SIGSEGV | status 3 | unrecognized arguments: --what | case-failed: 4 runs"),
        (ci("nothing.py"), 2, "no-kernels"),
        (ci("legal.py", "missing.py"), 2, "case-failed: 1 run"),
        (ci("legal.py", "nothing.py"), 0, "built no kernel"),
        (ci("legal.py", "broken.py"), 2, "unreadable: 1 file"),
        (ci("legal.py", "broken.py", "--fail-on", "case-failed,no-kernels"), 0, "unknown[LC910]"),
        (ci("test_results.py"), 0, "for want of what a kernel computes"),
        (ci("test_results.py", "--fail-on", "tests-skipped"), 2, "tests-skipped: 1 test"),
        (ci("test_early.py"), 2, "assert 1 == 2"),
        (ci("test_unfound.py", "--fail-on", "case-failed"), 2, "nothing_here"),
        (("lint", "legal_legal.py", *ALL_SEEN), 0, "0 findings"),
        (("lint", "plain_slow.py"), 0, "slow[LC303]"),
        (("lint", "plain_slow.py", "--strict"), 1, "slow[LC303]"),
        (("lint", "legal_slow.py"), 1, "is expected to be legal and is slow"),
        (("lint", "legal_rejected.py"), 1, "rejected[LC101]"),
        (("lint", "legal_missing.py"), 2, "No module named 'nothing_here'"),
        (("lint", "legal_hangs.py", "--config", "short.toml"), 2, "more than 1 s"),
        (("lint", "legal_dies.py"), 2, "SIGSEGV"),
        (("lint", "legal_leaves.py"), 2, "ended with status 3"),
        (("lint", "legal_nothing.py"), 2, "built no kernel"),
        (("lint", "legal_legal.py", "rejected_missing.py"), 2, "No module named 'nothing_here'"),
        (("lint", "rejected_rejected.py"), 0, "1 finding as expected"),
        (("lint", "--static", "legal.py"), 0, "never traced"),
        (("lint", "--static", "legal.py", "--require-coverage", "1"), 2, "coverage: 0 %"),
        (("lint", "--static", "broken.py"), 2, "unreadable: 1 file"),
        (trace(*ALL_SEEN, "legal.py"), 0, "1 legal"),
        (trace("--no-lowered", "--require-coverage", "95", "legal.py"), 2, "coverage: 0 % seen (0 of 1)"),
        (trace("--fail-on", "none", "rejected.py"), 1, "rejected[LC101]"),
        (trace("missing.py"), 2, "No module named 'nothing_here'"),
        (trace("--timeout", "1", "hangs.py"), 2, "more than 1 s"),
        (trace("dies.py"), 2, "SIGSEGV"),
        (trace("leaves.py"), 2, "status 3"),
        (trace("nothing.py"), 2, "no-kernels"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)  # fmt: skip
def test_the_status_is_what_the_pages_promise(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
    words: tuple[str, ...], status: int, said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(repository)
    for module in ("layoutcheck.dsl.lowered.resolve", "layoutcheck.tracing"):
        monkeypatch.setattr(f"{module}.Lowering", SharedLowering)
    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # pytest asks for it: a program of another test would run again
    found = run(words)
    out, err = capfd.readouterr()
    for each in said.split(" | "):
        assert each in " ".join(f"{out} {err}".split())
    assert found == status, f"{out}\n{err}"
