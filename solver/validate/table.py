"""The table of findings."""

from __future__ import annotations

import time
from collections.abc import Iterable

from solver.validate.base import Case, Finding

HEAD = ("| case | quantity | here | known | within | | source |\n", "|---|---|---|---|---|---|---|\n")


def judge(case: Case) -> tuple[list[Finding], float]:
    """What a case finds, and the seconds that it took."""
    began = time.monotonic()
    return case.run(), time.monotonic() - began


def table(name: str, findings: Iterable[Finding]) -> list[str]:
    """Rows of one case, in Markdown."""
    return [
        f"| {name} | {one.quantity} | {one.found:.6g} | {one.expected:.6g} | {one.within:.2g} | "
        f"{'ok' if one.holds else 'FAILS'} | {one.source} |"
        for one in findings
    ]
