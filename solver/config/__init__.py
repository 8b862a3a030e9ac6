"""Run file and overrides to frozen, validated objects. Imports no JAX."""

from solver.config.errors import ConfigError
from solver.config.json_schema import json_schema
from solver.config.messages import describe, nearest
from solver.config.parameters import REQUIRED, Parameter, argument_descriptions, parameters_of
from solver.config.runfile import Config, Entry, Named, Schema, changed_physics, load, parse
from solver.config.toml import apply_override, read_toml

__all__ = [
    "REQUIRED",
    "Config",
    "ConfigError",
    "Entry",
    "Named",
    "Parameter",
    "Schema",
    "apply_override",
    "argument_descriptions",
    "changed_physics",
    "describe",
    "json_schema",
    "load",
    "nearest",
    "parameters_of",
    "parse",
    "read_toml",
]
