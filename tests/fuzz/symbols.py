"""Symbols of invented texts, which both programs take."""

from __future__ import annotations

from typing import Any


def long(k: Any) -> Any:
    """Of |k|: what long waves feel."""
    return k**0.5 / (1 + k * k)


def tilted(kx: Any, ky: Any) -> Any:
    """Of a real field, since its imaginary part is odd."""
    return (1 + 1j * kx * ky**2) / (2 + kx**2 + ky**2)
