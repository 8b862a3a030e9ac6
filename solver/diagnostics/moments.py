"""Mean and variance over time, brought up to date value by value."""

from __future__ import annotations

from typing import Any


def add_to_mean(mean: Any, value: Any, weight: Any, total: Any) -> Any:
    """The mean with one value more: mean + (weight/total)(value − mean).

    Args:
        mean: of the values before, anything that can be added and scaled.
        value: the new one.
        weight: of the new value.
        total: weight of all values, the new one included.

    Source: West, Comm. ACM 22 (1979) 532.
    """
    return mean + (weight / total) * (value - mean)


def add_to_squares(squares: Any, deviation: Any, weight: Any, total: Any) -> Any:
    """Σ weight (value − mean)² with one value more, without the cancellation of ⟨q²⟩ − ⟨q⟩².

    Args:
        squares: the sum before.
        deviation: of the new value from the mean of those before.
        weight, total: as in `add_to_mean`. Divide the sum by `total` for the variance.

    Source: West, Comm. ACM 22 (1979) 532.
    """
    return squares + weight * (1 - weight / total) * deviation**2
