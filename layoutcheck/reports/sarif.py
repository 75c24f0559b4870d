"""Findings as SARIF 2.1.0 (OASIS), for code scanning: one run, its rules with their pages, its results."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from layoutcheck import rulebook
from layoutcheck.reports.located import LEVELS, Located, of_outcomes
from layoutcheck.reports.outcome import Outcome
from layoutcheck.reports.style import Style
from layoutcheck.versions import own

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(outcomes: Sequence[Outcome], style: Style) -> str:
    """The findings of reports."""
    return render_located(of_outcomes(outcomes), style)


def render_located(found: Sequence[Located], style: Style) -> str:
    """The whole log, one JSON object."""
    return json.dumps(log(found), indent=2, ensure_ascii=style.ascii) + "\n"


def log(found: Sequence[Located]) -> dict[str, Any]:
    """The SARIF log of these findings."""
    codes = sorted({one.code for one in found})
    seen: Counter[tuple[str, str, str]] = Counter()
    driver = {"name": "layoutcheck", "version": own(), "rules": [_rule(code) for code in codes]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "results": [_result(one, codes.index(one.code), seen) for one in found],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> dict[str, Any]:
    rule = rulebook.rule(code)
    return {
        "id": code,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.summary},
        "help": {"text": rule.doc, "markdown": rule.page()},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
    }


def _result(one: Located, rule: int, seen: Counter[tuple[str, str, str]]) -> dict[str, Any]:
    text = f"{one.title}. {one.message}" if one.message else one.title
    made: dict[str, Any] = {
        "ruleId": one.code,
        "ruleIndex": rule,
        "level": LEVELS[one.severity],
        "message": {"text": text},
        "properties": {"severity": one.severity} | ({"evidence": one.evidence} if one.evidence else {}),
    }
    key = (one.path or one.subject, one.code, one.title)
    seen[key] += 1
    digest = hashlib.sha256("\0".join((*key, str(seen[key]))).encode("utf-8", "replace")).hexdigest()
    made["partialFingerprints"] = {"layoutcheck/v1": digest[:32]}
    if one.path:
        region = {"startLine": max(1, one.line), "startColumn": max(1, one.column)}
        if one.end_line and (one.end_line, one.end_column) > (one.line, one.column):
            region |= {"endLine": one.end_line, "endColumn": max(1, one.end_column)}
        made["locations"] = [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(os.fsencode(one.path))},
                    "region": region,
                }
            }
        ]
    elif one.subject:
        made["locations"] = [{"logicalLocations": [{"fullyQualifiedName": one.subject}]}]
    if one.related:
        made["relatedLocations"] = [
            {
                "id": number,
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(os.fsencode(path))},
                    "region": {"startLine": max(1, line), "startColumn": max(1, column)},
                },
                "message": {"text": words},
            }
            for number, (path, line, column, words) in enumerate(one.related)
        ]
    return made
