"""The table of findings."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

from solver.loop import BlowUp
from solver.validate.base import Case, Finding

HEAD = ("| case | quantity | here | known | within | | source |\n", "|---|---|---|---|---|---|---|\n")


def judge(case: Case) -> tuple[list[Finding], float]:
    """What a case finds, and the seconds that it took; one that blows up has a finding that does not hold."""
    began = time.monotonic()
    try:
        findings = case.run()
    except BlowUp as error:
        findings = [Finding(f"blew up: {error}", math.nan, math.nan, 0.0, "")]
    return findings, time.monotonic() - began


def table(name: str, findings: Iterable[Finding]) -> list[str]:
    """Rows of one case, in Markdown."""
    return [
        f"| {name} | {one.quantity} | {one.found:.6g} | {one.expected:.6g} | {one.within:.2g} | "
        f"{'ok' if one.holds else 'FAILS'} | {one.source} |"
        for one in findings
    ]
