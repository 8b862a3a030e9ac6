"""Numbers of a run file that its precision cannot hold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from solver.config import Config, ConfigError, Named


def check_range(config: Config) -> None:
    """Refuse numbers of the physics that single precision makes infinite or zero: another problem would be solved.

    Raises:
        ConfigError: the message names the key and the value.
    """
    if config.grid.precision != "float32":
        return
    least, most = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
    for place, named in _physics(config):
        for key, value in _numbers(named.parameters, place):
            if value and math.isfinite(value) and not least <= abs(value) <= most:
                raise ConfigError(
                    f"{key} = {value!r}: grid.precision = 'float32' holds numbers from {least:.2g} to {most:.2g}; "
                    "'float64' is needed, or other units"
                )


def _physics(config: Config) -> Iterator[tuple[str, Named]]:
    yield "equation", config.equation
    for section, of in (("initial", config.initial), ("forcing", config.forcing)):
        for field, named in of.items():
            yield config.key_of(section, field), named
    for section, of in (("body", config.bodies), ("sponge", config.sponges)):
        for name, named in of.items():
            yield section if name == section else f"{section}.{name}", named


def _numbers(given: Any, key: str) -> Iterator[tuple[str, float]]:
    """The numbers of a table with their keys, numbers of a list under the key of the list."""
    if isinstance(given, Mapping):
        for name, value in given.items():
            yield from _numbers(value, f"{key}.{name}")
    elif isinstance(given, list | tuple):
        for value in given:
            yield from _numbers(value, key)
    elif isinstance(given, float):
        yield key, given
