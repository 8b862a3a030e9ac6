"""The table of findings."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

from solver.loop import BlowUp
from solver.validate.case import Case, Finding

HEAD = ("| case | quantity | here | known | within | | source |\n", "|---|---|---|---|---|---|---|\n")


def judge(case: Case) -> tuple[list[Finding], float]:
    """Findings of a case, and the seconds that it took. A blow-up becomes a finding that does not hold."""
    began = time.monotonic()
    try:
        findings = case.run()
    except BlowUp as error:
        findings = [Finding(f"blew up: {error}", math.nan, math.nan, 0.0, "")]
    return findings, time.monotonic() - began


def table(name: str, findings: Iterable[Finding]) -> list[str]:
    """Rows of one case, in Markdown."""
    return [_row(name, finding) for finding in findings]


def _row(name: str, finding: Finding) -> str:
    numbers = f"{finding.computed:.6g} | {finding.expected:.6g} | {finding.within:.2g}"
    verdict = "ok" if finding.holds else "FAILS"
    return f"| {name} | {_cell(finding.quantity)} | {numbers} | {verdict} | {_cell(finding.source)} |"


def _cell(text: str) -> str:
    """A text within a row, which a bar would end."""
    return text.replace("|", r"\|")
