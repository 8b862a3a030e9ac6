"""A warning that a number, such as k_max·η, is smaller than a scale needs to be resolved."""

from __future__ import annotations

DIGITS = range(2, 18)  # after the point; a float64 next to its limit needs 16


def too_small(what: str, number: float, least: int, consequence: str) -> list[str]:
    """Warning if a number is below `least`, with as many digits as tell the two apart; otherwise an empty list."""
    if not number < least:
        return []
    shown = next(text for text in (f"{number:.{n}f}" for n in DIGITS) if float(text) < least)
    return [f"{what} = {shown} is below {least}: {consequence}"]
