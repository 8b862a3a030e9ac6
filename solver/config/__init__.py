"""Turns a run file and overrides into frozen, validated objects. Imports no JAX."""

from solver.config.entry import Declared, Entry, Schema
from solver.config.errors import ConfigError
from solver.config.json_schema import json_schema
from solver.config.messages import describe, nearest
from solver.config.parameters import FROM_THE_RUN, REQUIRED, Parameter, argument_descriptions, parameters_of
from solver.config.runfile import SECTIONS, Config, Named, changed_physics, load, parse
from solver.config.sections import STALL_SECONDS, DevicesSection, GridSection, seconds
from solver.config.source import Source, is_copy
from solver.config.toml import apply_override, read_toml

__all__ = [
    "FROM_THE_RUN",
    "REQUIRED",
    "SECTIONS",
    "STALL_SECONDS",
    "Config",
    "ConfigError",
    "Declared",
    "DevicesSection",
    "Entry",
    "GridSection",
    "Named",
    "Parameter",
    "Schema",
    "Source",
    "apply_override",
    "argument_descriptions",
    "changed_physics",
    "describe",
    "is_copy",
    "json_schema",
    "load",
    "nearest",
    "parameters_of",
    "parse",
    "read_toml",
    "seconds",
]
