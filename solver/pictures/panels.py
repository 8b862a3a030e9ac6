"""The type of functions that draw one panel of a figure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from solver.pictures.view import View

MakePanel = Callable[[Any, Any, View], None]  # figure, axes of the panel, view
