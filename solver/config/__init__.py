"""Run file and overrides to frozen, validated objects. Imports no JAX."""

from solver.config.errors import ConfigError
from solver.config.runfile import (
    Config,
    Every,
    EveryKeeping,
    Named,
    Schema,
    apply_override,
    changed_physics,
    load,
    parse,
    read_toml,
)
from solver.config.values import REQUIRED, Length, Parameter, nearest

__all__ = [
    "REQUIRED",
    "Config",
    "ConfigError",
    "Every",
    "EveryKeeping",
    "Length",
    "Named",
    "Parameter",
    "Schema",
    "apply_override",
    "changed_physics",
    "load",
    "nearest",
    "parse",
    "read_toml",
]
