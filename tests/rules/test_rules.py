"""Every rule documents itself, flags its example, leaves the clean twin alone, and has an up-to-date page."""

from __future__ import annotations

import re
import runpy
from collections import Counter
from pathlib import Path
from random import Random

import pytest

import layoutcheck as lc
from layoutcheck import rulebook
from layoutcheck.analysis import Analysis
from layoutcheck.check import check
from layoutcheck.errors import InputError
from layoutcheck.lint.finding import LintFinding
from layoutcheck.lint.rules import rules as source_rules
from layoutcheck.lint.suppressions import Suppressions
from layoutcheck.rules import DIFFERING, FAMILIES, family_of, rule, rules, rules_for
from layoutcheck.sources.request import build
from tests.conformance.generate import random_copy
from tests.fixes.tiles import random_tile
from tests.miscompiles import MISCOMPILES
from tests.rules.examples import example

ROOT = Path(__file__).parents[2]
CODES = list(rules())

# The rule that names the cause of each hole.
REASONS = {
    "h01": "LC201", "h01-src": "LC201", "h02": "LC202", "h03-more": "LC203", "h03-fewer": "LC204",
    "h04": "LC202", "h05-v": "LC219", "h05-pitch": "LC202", "h06": "LC206", "h07": "LC207",
    "h08": "LC205", "h08-universal": "LC205", "h09": "LC204", "h09-rest": "LC204", "h10": "LC219",
    "h11": "LC216", "h12": "LC201", "h12-negative": "LC201", "h13": "LC202", "h13b": "LC202",
    "h14": "LC202", "h15": "LC202", "h16": "LC216", "h17": "LC201", "h17-cp-async": "LC202",
    "h18": "LC217", "h18-stride": "LC217", "h19-stride": "LC201", "h19-half": "LC202",
    "h19-pitch": "LC202", "h20-more": "LC217", "h20-fewer": "LC217", "h23": "LC215", "h24": "LC215",
    "h25": "LC211", "h26": "LC212", "h27": "LC214", "h28": "LC208", "h29": "LC209", "h33": "LC218",
    "h21": "LC220", "h21-gmem": "LC220", "h21-smem": "LC220", "h21-store": "LC220", "h21-cluster": "LC220",
    "h22": "LC222", "h22-store": "LC222", "h31": "LC223", "h31-rest": "LC223", "h40": "LC221",
    "h40-transposed": "LC221", "h41": "LC224", "h41-wide": "LC224", "h42": "LC225", "h43": "LC226",
    "h44": "LC227", "h45": "LC202", "h46": "LC218",
    "h33-clobber": "LC218", "h34": "LC216", "h35": "LC213", "h36": "LC205", "h37": "LC205", "h38": "LC205",
    "h47": "LC202",
}  # fmt: skip


@pytest.mark.parametrize("name", MISCOMPILES)
def test_every_hole_is_wrong_for_the_right_reason(name: str) -> None:
    broken, _, why = MISCOMPILES[name]
    report = check(broken)
    assert report.verdict == "wrong", why
    assert REASONS[name] in [finding.code for finding in report.findings], [
        (finding.code, finding.title) for finding in report.findings
    ]


@pytest.mark.parametrize("name", MISCOMPILES)
def test_every_corrected_twin_is_not(name: str) -> None:
    report = check(MISCOMPILES[name][1])
    assert report.verdict in ("legal", "slow"), [(f.code, f.title, f.message) for f in report.findings]


@pytest.mark.parametrize("code", CODES)
def test_a_rule_flags_its_example(code: str) -> None:
    report = lc.check(**example(code).flagged)
    assert code in [finding.code for finding in report.findings]


@pytest.mark.parametrize("code", CODES)
def test_a_rule_leaves_the_clean_twin_alone(code: str) -> None:
    report = lc.check(**example(code).clean)
    assert code not in [finding.code for finding in report.findings]
    assert report.verdict in ("legal", "slow")


def test_a_rule_of_one_family_has_nothing_to_say_of_another() -> None:
    """Which `check` takes for granted: it does not load them."""
    examples = (copy for code in CODES for copy in example(code))
    copies = [build(**copy)[0] for copy in examples]
    copies += [copy for one in MISCOMPILES.values() for copy in one[:2]]
    assert {family for copy in copies if (family := family_of(copy))} == set(FAMILIES)
    for copy in copies:
        analysis, asked = Analysis(copy), rules_for(copy)
        others = [rule for rule in rules().values() if rule.code not in asked]
        said = [rule.code for rule in others if list(rule.find(analysis))]
        assert not said, str(copy)


def test_a_rule_about_differences_says_nothing_where_none_is() -> None:
    """Which `check` takes for granted: it does not load them."""
    rng = Random(8)
    copies = [build(**copy)[0] for code in CODES for copy in example(code)]
    copies += [copy for one in MISCOMPILES.values() for copy in one[:2]]
    copies += [random_tile(rng) if n % 2 else random_copy(rng) for n in range(120)]
    about = [one for one in rules().values() if int(one.code[2:]) in DIFFERING]
    assert len(about) == len(DIFFERING) and all(one.explains or one.symptoms for one in about)
    silent = Counter[str]()
    for copy in copies:
        analysis = Analysis(copy)
        if analysis.worst is not None:
            continue
        asked = set(rules_for(copy, differs=False))
        for one in about:
            assert one.code not in asked
            assert not list(one.find(analysis)), f"{one.code} {copy}"
            silent["accepted" if analysis.accepted else "refused"] += 1
    assert min(silent.values()) > 50 * len(about)


@pytest.mark.parametrize("code", CODES)
def test_a_rule_documents_itself(code: str) -> None:
    one = rule(code)
    assert one.code == code
    assert one.name == one.name.lower().replace(" ", "-")


def test_no_report_has_an_address_that_only_the_model_knows() -> None:
    """Runs place their operands at 2^42 and beyond: a report counts from where the user's own begin."""
    rng = Random(19)
    reports = [lc.check(**example(code).flagged) for code in CODES]
    reports += [check(random_tile(rng) if n % 2 else random_copy(rng)) for n in range(120)]
    for report in reports:
        text = "\n".join(str((each.title, each.message, each.evidence)) for each in report.findings)
        given = str(report.copy)
        assert [one for one in re.findall(r"\b[1-9]\d{10,}\b", text) if one not in given] == [], text


def test_every_page_says_how_its_finding_is_silenced() -> None:
    """With a comment that `lint` reads as that code, or why there is a setting in its place."""
    by_setting = set()
    for code, one in rulebook.rules().items():
        own = one.doc.partition("## How to silence it\n")[2]
        assert own.strip(), code
        comment = re.search(r"`(# layoutcheck: ignore\[.*?)`", own)
        if comment is None:
            by_setting.add(code)
        else:
            silent = Suppressions(f"copy()  {comment[1]}\n")
            assert silent.silences(LintFinding(code, one.severity, "f.py", 1, 1, "")), code
            assert f'ignore = ["{code}"]' in own and not silent.unusable and not silent.unheard
    assert by_setting == {f"LC40{n}" for n in range(1, 7)} | {f"LC91{n}" for n in range(7)}


def test_an_unknown_code_is_one_clear_error() -> None:
    with pytest.raises(InputError, match="no rule 'LC999'"):
        rule("LC999")


def test_the_pages_are_up_to_date() -> None:
    generated = runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]()
    for path, text in generated.items():
        assert path.read_text(encoding="utf-8") == text, f"run python docs/generate.py ({path.name})"


def test_every_page_begins_with_what_its_rule_says_of_itself() -> None:
    pages = {path.stem.upper() for path in (ROOT / "docs" / "rules").glob("lc*.md")}
    assert pages == set(rulebook.rules())
    for code, one in (rules() | source_rules()).items():
        summary = f"{one.summary[0].upper()}{one.summary[1:]}"
        head = f"# {code} {one.name}", summary, f"Severity: **{one.severity}**", "## What it means"
        assert one.page().startswith("\n\n".join(head) + "\n"), code
        read = rulebook.rule(code)
        assert (read.name, read.severity, read.summary) == (one.name, one.severity, one.summary)


def test_a_copy_is_asked_about_by_the_rules_of_its_family_alone() -> None:
    named = {"bulk": {"LC220", "LC221", "LC222"}, "tma": {"LC230", "LC231"}, "tmem": {"LC250", "LC253"}}
    plain = MISCOMPILES["h01"][0]
    assert not set(rules_for(plain)) & set().union(*named.values())
    assert named["bulk"] <= set(rules_for(MISCOMPILES["h21"][0]))
    tma = build(**example("LC230").flagged)[0]
    assert named["tma"] <= set(rules_for(tma)) and not named["bulk"] & set(rules_for(tma))
    tmem = build(**example("LC250").flagged)[0]
    assert named["tmem"] <= set(rules_for(tmem)) and not named["tma"] & set(rules_for(tmem))


def test_the_stages_of_a_tile_are_no_reason_for_what_its_rows_do_wrong() -> None:
    """A tiler of two modes leaves the third as a rest: what it writes past the rows is LC211's alone."""
    tile = "(32,16,2):(16,1,512)"
    found = lc.check(tile, tile, "cp.async", bits=128, dtype="bf16", thr="(64,2):(2,1)", val="(1,8)")
    assert found.verdict == "wrong" and [one.code for one in found.findings] == ["LC211"]
    rows = "(16,256):(256,1)"
    found = lc.check(rows, rows, "cp.async", dtype="bf16", bits=128, thr="32", val="8")
    assert "LC214" in [one.code for one in found.findings]
