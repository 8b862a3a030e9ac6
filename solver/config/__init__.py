"""Turns a run file and overrides into frozen, validated objects. Imports no JAX."""

from solver.config.ensemble import (
    EnsembleSection as EnsembleSection,
    Share as Share,
    member_name as member_name,
)
from solver.config.entry import Declared as Declared, Entry as Entry, Schema as Schema
from solver.config.json_schema import json_schema as json_schema
from solver.config.messages import ConfigError as ConfigError, describe as describe, nearest as nearest
from solver.config.parameters import (
    FROM_THE_RUN as FROM_THE_RUN,
    REQUIRED as REQUIRED,
    Parameter as Parameter,
    argument_descriptions as argument_descriptions,
    parameters_of as parameters_of,
)
from solver.config.physics import changed_keys as changed_keys, changed_physics as changed_physics
from solver.config.resolved import SECTIONS as SECTIONS, WRITTEN as WRITTEN, Config as Config, Named as Named
from solver.config.runfile import load as load, parse as parse
from solver.config.sections import (
    STALL_SECONDS as STALL_SECONDS,
    DevicesSection as DevicesSection,
    GridSection as GridSection,
    WrittenEquation as WrittenEquation,
    length_value as length_value,
    position as position,
    seconds as seconds,
)
from solver.config.source import Source as Source, is_copy as is_copy
from solver.config.toml import (
    apply_override as apply_override,
    keys_of as keys_of,
    read_toml as read_toml,
)
