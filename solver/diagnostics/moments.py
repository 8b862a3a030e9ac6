"""Mean and variance over time, updated value by value."""

from __future__ import annotations

from typing import Any


def add_to_mean(mean: Any, value: Any, weight: Any, total: Any) -> Any:
    """Add a value to a mean: mean + (weight/total)(value − mean).

    Args:
        mean: mean of the earlier values, of any type that can be added and scaled.
        value: the new value.
        weight: weight of the new value.
        total: weight of all values, including the new one.

    Source: West, Comm. ACM 22 (1979) 532.
    """
    return mean + (weight / total) * (value - mean)


def add_to_squares(squares: Any, deviation: Any, weight: Any, total: Any) -> Any:
    """Add a value to Σ weight (value − mean)², without the cancellation of ⟨q²⟩ − ⟨q⟩².

    Args:
        squares: the sum of the earlier values.
        deviation: the new value minus the mean of the earlier values.
        weight, total: as in `add_to_mean`. Divide the sum by `total` for the variance.

    Source: West, Comm. ACM 22 (1979) 532.
    """
    return squares + weight * (1 - weight / total) * deviation**2
