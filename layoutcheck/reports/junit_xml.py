"""What `layoutcheck ci` found as JUnit XML: a test case for each program and each file with findings.

The elements that Jenkins, GitLab and GitHub's reporters read: https://github.com/testmoapp/junitxml
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from layoutcheck.digits import many
from layoutcheck.lint.finding import LintFinding
from layoutcheck.lint.result import Ran, Result
from layoutcheck.reports.pictures.svg import legal_text
from layoutcheck.reports.style import Style

_FAILING = ("rejected", "wrong")


def render(result: Result, style: Style) -> str:
    """The suites "programs" and "source"."""
    root = Xml.Element("testsuites", name="layoutcheck")
    programs = Xml.SubElement(root, "testsuite", name="programs")
    for run in result.runs:
        _program(programs, run)
    source = Xml.SubElement(root, "testsuite", name="source")
    by_file: dict[str, list[LintFinding]] = {}
    for finding in result.findings:
        by_file.setdefault(finding.path, []).append(finding)
    for path, findings in by_file.items():
        _file(source, path, findings)
    for suite in (programs, source):
        suite.set("tests", str(len(suite)))
        for kind, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            suite.set(name, str(sum(case.find(kind) is not None for case in suite)))
    Xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _program(suite: Xml.Element, run: Ran) -> None:
    case = Xml.SubElement(
        suite, "testcase", classname=legal_text(run.path), name=legal_text(run.name), time=f"{run.seconds:g}"
    )
    if run.failures:
        error = Xml.SubElement(case, "error", message=legal_text(run.failures[0]))
        error.text = legal_text("\n".join(run.failures))
    elif not run.kernels:
        Xml.SubElement(case, "skipped", message=f"it built no kernel for {run.arch}")
    told = Xml.SubElement(case, "system-out")
    seen = f"{many(run.kernels, 'kernel')}, {many(run.copies, 'copy', 'copies')}"
    told.text = seen + ", as kept from before" * run.cached


def _file(suite: Xml.Element, path: str, findings: Sequence[LintFinding]) -> None:
    """Notes and slow copies are in the output of a case that passes."""
    case = Xml.SubElement(suite, "testcase", classname="source", name=legal_text(path))
    lines = [
        legal_text(f"{path}:{f.line}:{f.column}: {f.severity}[{f.code}] {f.title}. {f.message}")
        for f in findings
    ]
    bad = [line for line, f in zip(lines, findings, strict=True) if f.severity in _FAILING]
    if bad:
        failure = Xml.SubElement(case, "failure", message=bad[0])
        failure.text = "\n".join(bad)
    Xml.SubElement(case, "system-out").text = "\n".join(lines)
