"""The run file as frozen objects, and back to TOML."""

from __future__ import annotations

import dataclasses
import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import tomli_w

from solver.config.errors import ConfigError
from solver.config.values import Length, Parameter, nearest, parameters_of, read_table


@dataclass(frozen=True)
class GridSection:
    """`[grid]`: the box. `dealias` left out means what suits the equation."""

    shape: tuple[int, ...]
    lengths: tuple[Length, ...] | None = None
    dealias: Literal["two-thirds", "three-halves", "phase-shift", "none"] | None = None
    precision: Literal["float64", "float32"] = "float64"


@dataclass(frozen=True)
class Named:
    """`[equation]` or `[initial]`: a name and the parameters that go with it."""

    name: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class TimeSection:
    """`[time]`: the stepper, one of `step` and `cfl` (with a longest step, if wanted), and the end."""

    stepper: str
    end: float
    step: float | None = None
    cfl: float | None = None
    max_step: float | None = None


@dataclass(frozen=True)
class DevicesSection:
    """`[devices]`: what to run on."""

    platform: Literal["auto", "cpu", "gpu", "tpu"] = "auto"
    virtual: int | Literal["auto"] = "auto"
    decomposition: Literal["slab", "pencil"] = "slab"
    mesh: tuple[int, ...] | None = None
    use: tuple[int, ...] | None = None
    engine: Literal["slabwave", "shard_map", "jaxdecomp"] = "slabwave"


@dataclass(frozen=True)
class RandomSection:
    """`[random]`."""

    seed: int = 0


@dataclass(frozen=True)
class Every:
    """When an output is due, besides the start and the end; no key means then alone."""

    every_steps: int | None = None
    every_time: float | None = None


@dataclass(frozen=True)
class EveryKeeping(Every):
    """As `Every`; `keep` is how many of the newest are kept."""

    keep: int = 3


@dataclass(frozen=True)
class OutputSection:
    """`[output]`: where, and how often; a kind left out is not written (checkpoints: at the end alone)."""

    directory: str
    series: Every | None = field(default_factory=lambda: Every(every_steps=10))
    spectra: Every | None = None
    snapshots: Every | None = None
    checkpoints: EveryKeeping = field(default_factory=EveryKeeping)


@dataclass(frozen=True)
class Schema:
    """The names that `[equation]`, `[initial]` and `time.stepper` may take, with their parameters.

    `fields` names the fields of each equation: one of them starts from `[initial]`, several from `[initial.FIELD]`.
    """

    equations: Mapping[str, Mapping[str, Parameter]]
    fields: Mapping[str, Sequence[str]]
    initials: Mapping[str, Mapping[str, Parameter]]
    forcings: Mapping[str, Mapping[str, Parameter]]
    steppers: Sequence[str]


@dataclass(frozen=True)
class Config:
    """A run file with its overrides, validated."""

    grid: GridSection
    equation: Named
    initial: Mapping[str, Named]
    time: TimeSection
    output: OutputSection
    devices: DevicesSection = field(default_factory=DevicesSection)
    random: RandomSection = field(default_factory=RandomSection)
    forcing: Mapping[str, Named] = field(default_factory=dict)
    title: str = ""
    reference: str = ""

    def to_toml(self) -> str:
        """The resolved run file."""
        table = self.to_table()
        order = ["title", "reference", "grid", "equation", "initial", "forcing", "time", "devices", "random", "output"]
        return tomli_w.dumps({key: table[key] for key in order if key in table})

    def to_table(self) -> dict[str, Any]:
        """As TOML holds it; an equation of one field has `[initial]`, of several `[initial.FIELD]`."""
        table = _plain(self)
        if len(self.initial) == 1:
            for section in ("initial", "forcing"):
                table[section] = next(iter(table[section].values()), {})
        if not self.forcing:
            del table["forcing"]
        return table

    def digest(self) -> str:
        """Checksum of the resolved run file, to compare between processes."""
        return hashlib.sha256(self.to_toml().encode()).hexdigest()


def _plain(value: Any) -> Any:
    """As TOML holds it: no None, no classes."""
    if isinstance(value, Length):
        return value.written
    if isinstance(value, Named):
        return {"name": value.name, **_plain(value.parameters)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain({f.name: getattr(value, f.name) for f in dataclasses.fields(value)})
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


# ---- reading ----------------------------------------------------------------------------------------------------


def load(path: str | Path, schema: Schema, overrides: Sequence[str] = ()) -> Config:
    """Read a run file, apply `section.key=value` overrides, and validate.

    Raises:
        ConfigError: the file is missing or not TOML, or anything in it or the overrides is wrong.
    """
    path = Path(path)
    table = read_toml(path)
    table.setdefault("output", {})
    if isinstance(table["output"], dict):
        table["output"].setdefault("directory", f"output/{path.stem}")
    for override in overrides:
        apply_override(table, override)
    try:
        return parse(table, schema)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """The file's table.

    Raises:
        ConfigError: it cannot be read or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such run file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None


def apply_override(table: dict[str, Any], override: str) -> None:
    """Set one key in place; of `time.step` and `time.cfl`, setting one drops the other, and another name of an
    equation or initial field drops the parameters of the one before.

    Raises:
        ConfigError: not of the form `section.key=value`, or through something that is no table.
    """
    name, equals, text = override.partition("=")
    keys = [key.strip() for key in name.split(".")]
    if not equals or not all(keys):
        raise ConfigError(f"{override!r}: an override is written section.key=value")
    inner = table
    for key in keys[:-1]:
        inner = inner.setdefault(key, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"{override!r}: {key!r} is not a table")
    value = _toml_value(text.strip())
    if keys[0] in ("equation", "initial", "forcing") and keys[-1] == "name" and inner.get("name") != value:
        inner.clear()  # the parameters belong to what was named before
    inner[keys[-1]] = value
    rivals = {"step": "cfl", "cfl": "step"}
    if keys[0] == "time" and len(keys) == 2 and keys[1] in rivals:
        inner.pop(rivals[keys[1]], None)


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def parse(table: Mapping[str, Any], schema: Schema) -> Config:
    """Validate a table by itself; what depends on the equation is checked where equations are known.

    Raises:
        ConfigError: see `load`.
    """
    table = dict(table)
    expected = parameters_of(Config)
    plain = {key: p for key, p in expected.items() if key not in ("equation", "initial", "forcing")}
    for key in table:
        if key not in expected:
            raise ConfigError(f"{key}: unknown key{nearest(key, expected)}")
    values = read_table({k: v for k, v in table.items() if k in plain}, plain, "")
    equation = _read_named(table.get("equation", {}), schema.equations, "equation")
    fields = schema.fields[equation.name]
    initial = _read_by_field("initial", table.get("initial", {}), fields, schema.initials, fields)
    forced = fields if len(fields) == 1 and "forcing" in table else _named_in(table.get("forcing", {}))
    forcing = _read_by_field("forcing", table.get("forcing", {}), fields, schema.forcings, forced)
    config = Config(**values, equation=equation, initial=initial, forcing=forcing)
    _check_numbers(config, schema)
    return config


def _read_by_field(
    section: str,
    table: Any,
    fields: Sequence[str],
    known: Mapping[str, Mapping[str, Parameter]],
    needed: Sequence[str],
) -> dict[str, Named]:
    """`[section]` of an equation of one field, or `[section.FIELD]` of several, for those fields that are needed."""
    if len(fields) == 1:
        return {fields[0]: _read_named(table, known, section)} if needed else {}
    if not isinstance(table, Mapping):
        tables = ", ".join(f"[{section}.{name}]" for name in fields)
        raise ConfigError(f"{section} = {table!r}: tables {tables} are needed")
    for key in table:
        if key not in fields:
            raise ConfigError(f"{section}.{key}: unknown field{nearest(key, fields)}")
    return {name: _read_named(table.get(name, {}), known, f"{section}.{name}") for name in fields if name in needed}


def _named_in(table: Any) -> list[str]:
    return list(table) if isinstance(table, Mapping) else []


def _read_named(table: Any, known: Mapping[str, Mapping[str, Parameter]], path: str) -> Named:
    if not isinstance(table, Mapping) or "name" not in table:
        raise ConfigError(f"{path}.name is missing: one of {', '.join(sorted(known))} is needed")
    name = table["name"]
    if not isinstance(name, str):
        raise ConfigError(f"{path}.name = {name!r}: a string is needed, one of {', '.join(sorted(known))}")
    if name not in known:
        raise ConfigError(f"{path}.name = {name!r}: unknown{nearest(str(name), known)}")
    rest = {k: v for k, v in table.items() if k != "name"}
    return Named(name, read_table(rest, known[name], path))


def _check_control(time: TimeSection, schema: Schema) -> None:
    if time.stepper not in schema.steppers:
        raise ConfigError(f"time.stepper = {time.stepper!r}: unknown{nearest(time.stepper, schema.steppers)}")
    if (time.step is None) == (time.cfl is None):
        given = "both are given" if time.step else "neither is given"
        raise ConfigError(f"time.step, time.cfl: {given}; one of them is needed")
    if time.max_step is not None and time.cfl is None:
        raise ConfigError(
            f"time.max_step = {time.max_step}: it limits the steps of time.cfl, which is needed beside it"
        )


def _check_numbers(config: Config, schema: Schema) -> None:
    time, shape = config.time, config.grid.shape
    _check_control(time, schema)
    lengths = config.grid.lengths
    if lengths is not None and len(lengths) != len(shape):
        raise ConfigError(f"grid.lengths has {len(lengths)} entries; grid.shape has {len(shape)}, as many are needed")
    positive = {
        "time.step": time.step,
        "time.cfl": time.cfl,
        "time.max_step": time.max_step,
        "output.checkpoints.keep": config.output.checkpoints.keep,
    }
    for kind in ("series", "spectra", "snapshots", "checkpoints"):
        every = getattr(config.output, kind)
        if every is not None:
            positive[f"output.{kind}.every_steps"] = every.every_steps
            positive[f"output.{kind}.every_time"] = every.every_time
    if config.devices.virtual != "auto":
        positive["devices.virtual"] = config.devices.virtual
    for key, value in positive.items():
        if value is not None and value <= 0:
            raise ConfigError(f"{key} = {value}: a positive number is needed")
    if not 0 <= config.random.seed < 2**63:
        raise ConfigError(f"random.seed = {config.random.seed}: a whole number from 0 to 2^63 − 1 is needed")
    if not config.output.directory.strip():
        raise ConfigError(f"output.directory = {config.output.directory!r}: the name of a folder is needed")
    if time.end < 0:
        raise ConfigError(f"time.end = {time.end}: zero or more is needed")


# ---- continuing a run -------------------------------------------------------------------------------------------


def changed_physics(old: Config, new: Config) -> list[str]:
    """What a continued run may not change and yet differs, as `key: old → new` lines.

    Free to change are `time.end`, `[devices]`, the output schedules and directory, title and reference.
    """
    differences = []
    before, after = _physics(old), _physics(new)
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key):
            differences.append(f"{key}: {before.get(key, 'absent')} → {after.get(key, 'absent')}")
    return differences


def _physics(config: Config) -> dict[str, Any]:
    table = config.to_table()
    flat = {}
    for section in ("grid", "equation", "initial", "forcing", "time", "random"):
        flat.update({f"{section}.{key}": value for key, value in table.get(section, {}).items()})
    flat.pop("time.end")
    return flat
