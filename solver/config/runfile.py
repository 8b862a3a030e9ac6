"""Reads a run file into a resolved and validated `Config`."""

from __future__ import annotations

import copy
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from solver.config.ensemble import EnsembleSection, member_name, with_values
from solver.config.entry import Entry, Schema
from solver.config.messages import ConfigError, nearest
from solver.config.parameters import table_model
from solver.config.resolved import SECTIONS, WRITTEN, WRITTEN_BY_DEFAULT, Config, Named
from solver.config.sections import (
    DevicesSection,
    GridSection,
    Heading,
    RandomSection,
    ScalarSection,
    Section,
    TimeSection,
    WallsSection,
    WrittenEquation,
)
from solver.config.source import checksum
from solver.config.toml import apply_override, keys_of, read_toml, value_at

AT_WALLS = "conduction"  # name of the initial field of fields between walls that have none
ALL_FIELDS = "run"  # name of the initial field that holds every field of an equation: another run
SETTINGS: dict[str, type[Section]] = {  # tables of settings by key; every other section names classes
    "ensemble": EnsembleSection,
    "grid": GridSection,
    "time": TimeSection,
    "devices": DevicesSection,
    "random": RandomSection,
}
KINDS = ("equation", "closure", "initial", "forcing")
Keys = tuple[str, ...]


def load(path: str | Path, schema: Schema, overrides: Sequence[str] = ()) -> Config:
    """Read a run file, apply `section.key=value` overrides, and validate.

    Raises:
        ConfigError: the file is missing or not TOML, or anything in it or the overrides is wrong; the run file of a
            run that a Python script made.
    """
    path = Path(path)
    table = read_toml(path)
    before = copy.deepcopy(table)
    given = {apply_override(table, override) for override in overrides}
    dropped = drop_foreign_keys(table, before, given, schema)
    output = table.setdefault("output", {})
    if isinstance(output, dict):
        output.setdefault("directory", f"output/{path.stem}")
    try:
        config = parse(table, schema)
        if config.ensemble is not None:
            config.ensemble.refuse_overridden(given)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return replace(config, dropped=tuple(dropped))


def parse(table: Mapping[str, Any], schema: Schema) -> Config:
    """Validate a table. What depends on the objects that it names is checked later, when they are made.

    Raises:
        ConfigError: see `load`; the table of a run that a Python script made.
    """
    if "script" in table:
        script = table["script"]
        raise ConfigError(f"a Python script made this run: {script}; that script continues it (resume=True)")
    for key in table:
        if key not in SECTIONS:
            raise ConfigError(f"{key}: unknown key{nearest(key, SECTIONS)}")
    if "ensemble" in table:
        return _parse_ensemble(table, schema)
    solved = _equation(table.get("equation", {}), schema)
    own = list(solved.entry.fields_with(solved.parameters, {}))
    scalars = _scalars(_table(table, "scalars"), own)
    fields = list(solved.entry.fields_with(solved.parameters, {name: one.units for name, one in scalars.items()}))
    grid = GridSection.read(_table(table, "grid"), "grid")
    started = _by_field(table.get("initial", {}), "initial", fields, needed=() if grid.walls else fields)
    started |= {name: ({"name": AT_WALLS}, f"initial.{name}") for name in fields if name not in started}
    forced = _by_field(_of_own_field(table.get("forcing", {}), own, fields), "forcing", fields, needed=())
    walls = _walls(_table(table, "walls"), [*fields, *solved.entry.unknowns], grid)
    time = TimeSection.read(_table(table, "time"), "time")
    stepper = _find(schema, "stepper", time.stepper, "time.stepper")
    closure = _read(table["closure"], "closure", "closure", schema) if "closure" in table else None
    initial = {name: _read(started[name][0], "initial", started[name][1], schema) for name in fields}
    forcing = {name: _read(entry, "forcing", path, schema) for name, (entry, path) in forced.items()}
    bodies = _by_name(table, "body", schema)
    sponges = _by_name(table, "sponge", schema)
    if both := sorted(bodies.keys() & sponges.keys()):
        raise ConfigError(f"body.{both[0]} and sponge.{both[0]}: names that differ are needed")
    particles = _particles(_table(table, "particles"), schema)
    directory, outputs = _outputs(_table(table, "output"), schema)  # last: user files may define outputs
    config = Config(
        heading=Heading.read({key: table[key] for key in ("title", "reference") if key in table}, ""),
        grid=grid if grid.dealias else grid.model_copy(update={"dealias": solved.entry.dealias}),
        equation=solved,
        scalars=scalars,
        closure=closure,
        initial=initial,
        forcing=forcing,
        bodies=bodies,
        sponges=sponges,
        particles=particles,
        walls=walls,
        time=time.model_copy(update={"stepper": stepper.name}),
        stepper=Named(stepper.name, {}, stepper),
        devices=DevicesSection.read(_table(table, "devices"), "devices"),
        random=RandomSection.read(_table(table, "random"), "random"),
        directory=directory,
        outputs=outputs,
        known=tuple(schema.find("output", name) for name in schema.names("output")),
    )
    _check_values(outputs)  # last, since it imports the classes
    return config


def _parse_ensemble(table: Mapping[str, Any], schema: Schema) -> Config:
    """The run file of the first member, with the run files of all."""
    ensemble = EnsembleSection.read(_table(table, "ensemble"), "ensemble")
    shared = {key: value for key, value in table.items() if key != "ensemble"}
    if ensemble.seed is None:
        seed = RandomSection.read(_table(table, "random"), "random").seed
        ensemble = ensemble.model_copy(update={"seed": seed})
    first = ensemble.values(0, shared)
    whole, _ = with_values(shared, {k: v for k, v in first.items() if value_at(shared, keys_of(k), None) is None})
    bounds = {_said(values): _with(whole, values, schema) for values in ensemble.bounds()}
    member = lambda of, number: _with(shared, of.values(number, shared), schema, number)  # noqa: E731
    members = tuple(member(ensemble, number) for number in range(ensemble.count))
    directory, _ = _outputs(_table(shared, "output"), schema)
    return replace(members[0], directory=directory, ensemble=ensemble, members=members, bounds=bounds, member=member)


def _with(table: Mapping[str, Any], values: Mapping[str, Any], schema: Schema, number: int | None = None) -> Config:
    """A run file with other values for some keys: a member's, if it has a number, in a directory of its own."""
    changed, given = with_values(table, values)
    drop_foreign_keys(changed, table, given, schema)
    output = changed.get("output")
    if number is not None and isinstance(output, dict) and isinstance(output.get("directory"), str):
        output["directory"] = str(Path(output["directory"]) / member_name(number))
    try:
        return parse(changed, schema)
    except ConfigError as error:
        raise ConfigError(f"ensemble, with {_said(values)}: {error}" if values else str(error)) from None


def _said(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value!r}" for key, value in values.items())


def _table(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, Mapping):
        raise ConfigError(f"{key} = {value!r}: a table is needed")
    return value


def _by_field(table: Any, section: str, fields: Sequence[str], needed: Sequence[str]) -> dict[str, tuple[Any, str]]:
    """Table and key of each field: `[section]` for an equation of one field, `[section.FIELD]` for several.

    `[initial]` with the name `run` may also mean several fields, since another run holds all of them but those with a
    table of their own. Any other name would start all of them from the same values.
    """
    if len(fields) == 1:
        if isinstance(table, Mapping) and "name" not in table:
            for name in (key for key, value in table.items() if isinstance(value, Mapping)):
                raise ConfigError(f"[{section}.{name}]: the equation has one field, so [{section}] is needed")
        return {fields[0]: (table, section)} if table != {} or needed else {}
    tables = ", ".join(f"[{section}.{name}]" for name in fields)
    if section == "initial" and isinstance(table, Mapping) and "name" in table and "name" not in fields:
        if table["name"] == ALL_FIELDS:
            own = {name: one for name, one in table.items() if name in fields and isinstance(one, Mapping)}
            others = {key: value for key, value in table.items() if key not in own}
            return {n: (own[n], f"{section}.{n}") if n in own else (others, section) for n in fields}
        raise ConfigError(
            f"{section}.name = {table['name']!r}: the equation has several fields; tables {tables} are needed (only "
            f"{ALL_FIELDS!r} starts all of them)"
        )
    if not isinstance(table, Mapping):
        raise ConfigError(f"{section} = {table!r}: tables {tables} are needed")
    for key in table:
        if key not in fields:
            raise ConfigError(f"{section}.{key}: unknown field{nearest(key, fields)}")
    chosen = [name for name in fields if name in table or name in needed]
    return {name: (table.get(name, {}), f"{section}.{name}") for name in chosen}


def _of_own_field(table: Any, own: Sequence[str], fields: Sequence[str]) -> Any:
    """`[forcing]` without a field's name: of the equation's one field, where passive scalars are fields, too."""
    is_named = isinstance(table, Mapping) and isinstance(table.get("name"), str)
    return {own[0]: table} if is_named and len(own) == 1 and len(fields) > 1 else table


def _scalars(table: Mapping[str, Any], own: Sequence[str]) -> dict[str, ScalarSection]:
    """Passive scalars by name, `[scalars.NAME]`, of an equation whose own fields are `own`."""
    for name, one in table.items():
        if not isinstance(one, Mapping):
            raise ConfigError(f"scalars.{name} = {one!r}: a table [scalars.NAME] is needed, for a scalar of any name")
        if name in own:
            raise ConfigError(f"scalars.{name}: the equation has {name!r} already; another name is needed")
    return {name: ScalarSection.read(one, f"scalars.{name}") for name, one in table.items()}


def _walls(table: Mapping[str, Any], names: Sequence[str], grid: GridSection) -> dict[str, WallsSection]:
    """The conditions of fields and unknowns at the walls, `[walls.FIELD]`."""
    if table and not grid.walls:
        last = "xyz"[len(grid.shape) - 1 : len(grid.shape)]
        raise ConfigError(f"[walls] in a periodic box: grid.walls = {last!r}, the last direction, is needed")
    for name in table:
        if name not in names:
            raise ConfigError(f"walls.{name}: unknown field{nearest(name, names)}")
    return {name: _conditions(table, name) for name in names if name in table}


def _conditions(table: Mapping[str, Any], name: str) -> WallsSection:
    path = f"walls.{name}"
    try:
        return WallsSection.read(_table(table, name), path)
    except ConfigError as error:
        text = str(error)
        raise ConfigError(text if path in text else f"{path}.{text}") from None


def _by_name(table: Mapping[str, Any], section: str, schema: Schema) -> dict[str, Named]:
    """`[body]` or `[sponge]`, or tables of several by name; the only one has the name of the section."""
    given = _table(table, section)
    if not given:
        return {}
    is_only = not all(isinstance(value, Mapping) for value in given.values())
    tables = {section: given} if is_only else given
    return {
        name: _obstacle(one, section, section if is_only else f"{section}.{name}", schema)
        for name, one in tables.items()
    }


def _obstacle(table: Mapping[str, Any], section: str, path: str, schema: Schema) -> Named:
    """A body, whose key `shape` names its class; or a sponge, of which there is one class."""
    if section == "sponge":
        return replace(_named(table, schema.find("body", section), path), key="")
    shapes = [name for name in schema.names("body") if name != "sponge"]
    if "shape" not in table:
        raise ConfigError(f"{path}.shape is missing: one of {', '.join(shapes)} is needed")
    if table["shape"] == "sponge":
        raise ConfigError(
            f"{path}.shape = 'sponge': [sponge] is a section of its own; one of {', '.join(shapes)} is needed"
        )
    entry = _find(schema, "body", table["shape"], f"{path}.shape")
    named = _with_file(_named({key: value for key, value in table.items() if key != "shape"}, entry, path), schema)
    return replace(named, parameters=_with_checksum(named.parameters, entry), key="shape")


def _particles(table: Mapping[str, Any], schema: Schema) -> dict[str, Named]:
    """Particles by name, `[particles.NAME]`, whose key `kind` names their class: tracers if it is not there."""
    found = {}
    for name, one in table.items():
        path = f"particles.{name}"
        if not re.fullmatch(r"\w[\w-]*", name):
            raise ConfigError(f"{path}: a name of letters, digits, '-' and '_' is needed, since a file is called by it")
        if not isinstance(one, Mapping):
            raise ConfigError(f"{path} = {one!r}: a table [particles.NAME] is needed, for particles of any name")
        entry = _find(schema, "particles", one.get("kind", "tracer"), f"{path}.kind")
        unknown = [key for key in one if key not in entry.parameters and key != "kind"]
        if unknown and "kind" not in one:
            close = nearest(unknown[0], [*entry.parameters, "kind"])
            raise ConfigError(f"{path}.{unknown[0]}: unknown key of tracers{close}; for other particles kind is needed")
        named = _with_file(_named({key: value for key, value in one.items() if key != "kind"}, entry, path), schema)
        named = replace(named, parameters=_with_checksum(named.parameters, entry), key="kind")
        found[name] = _with_own_start(named, schema, f"{path}.start")
    return found


def _with_own_start(named: Named, schema: Schema, key: str) -> Named:
    """Particles with the function that gives their start, where it is of the user's: `my.py:start`."""
    where = named.parameters.get("start", "")
    if ":" not in where:
        return named
    functions, source = schema.functions({"start": where}, key)
    copied = where if source is None else f"{source.copy_name}:{where.rpartition(':')[2]}"
    return replace(named, parameters={**named.parameters, "start": copied}, functions=functions, of_functions=source)


def _with_checksum(parameters: dict[str, Any], entry: Entry) -> dict[str, Any]:
    """Parameters with the SHA-256 of the file that they name, where a class has a place for it and none is given."""
    if "sha256" not in entry.parameters or parameters.get("sha256") or parameters.get("path") is None:
        return parameters
    try:
        return {**parameters, "sha256": checksum(Path(parameters["path"]))}
    except OSError:
        return parameters  # the class says what is wrong with the file


def _equation(table: Any, schema: Schema) -> Named:
    """The equation: of a class, or of text."""
    if not isinstance(table, Mapping) or table.get("name") != WRITTEN:
        return _read(table, "equation", "equation", schema)
    section = WrittenEquation.read({key: value for key, value in table.items() if key != "name"}, "equation")
    entry, table = schema.written(section), section.to_table()
    if entry.source is not None:
        own = {name: where.rpartition(":") for name, where in section.functions.items()}
        copied = {name: f"{entry.source.copy_name}:{of}" for name, (file, _, of) in own.items() if file.endswith(".py")}
        table["functions"] = section.functions | copied
    return Named(WRITTEN, table, entry)


def _read(table: Any, kind: str, path: str, schema: Schema) -> Named:
    return _with_file(_named(table, _entry(table, kind, path, schema), path), schema)


def _with_file(named: Named, schema: Schema) -> Named:
    """A class with its `path` in the folder of the run file, if it is there, or else as it is given: where the command
    runs."""
    path = named.parameters.get("path")
    if not isinstance(path, str) or Path(path).is_absolute():
        return named
    there = schema.folder / path
    if there.exists():
        return replace(named, parameters={**named.parameters, "path": str(there)})
    return replace(named, folder=schema.folder.resolve())


def _entry(table: Any, kind: str, path: str, schema: Schema) -> Entry:
    """The class that the key `name` of a table names."""
    if not isinstance(table, Mapping) or "name" not in table:
        raise ConfigError(f"{path}.name is missing: one of {', '.join(schema.names(kind))} is needed")
    return _find(schema, kind, table["name"], f"{path}.name")


def _find(schema: Schema, kind: str, name: Any, key: str) -> Entry:
    if not isinstance(name, str):
        raise ConfigError(f"{key} = {name!r}: a string is needed, one of {', '.join(schema.names(kind))}")
    try:
        return schema.find(kind, name)
    except ConfigError as error:
        raise ConfigError(f"{key} = {name!r}: {error}") from None


def _named(table: Mapping[str, Any], entry: Entry, path: str) -> Named:
    values = {key: value for key, value in table.items() if key != "name"}
    read = table_model(entry.name, entry.parameters, named=False).read(values, path)
    return Named(entry.name, dict(read), entry)


def _outputs(table: Mapping[str, Any], schema: Schema) -> tuple[str, dict[str, Named]]:
    """`[output]`: the directory, and a table for each output; `false` switches off one that is written by default."""
    directory = table.get("directory")
    if not isinstance(directory, str) or not directory.strip():
        raise ConfigError(f"output.directory = {directory!r}: the name of a folder is needed")
    if not directory.isprintable():
        raise ConfigError(f"output.directory = {directory!r}: one line of printable characters is needed")
    asked = {**WRITTEN_BY_DEFAULT, **{name: value for name, value in table.items() if name != "directory"}}
    outputs = {}
    for name, value in asked.items():
        path = f"output.{name}"
        try:
            entry = schema.find("output", name)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None
        if value is False:
            continue
        if not isinstance(value, Mapping):
            raise ConfigError(f"{path} = {value!r}: a table is needed, such as {{ every_steps = 100 }}, or false")
        outputs[entry.name] = _named(value, entry, path)
    return directory, outputs


def _check_values(outputs: Mapping[str, Named]) -> None:
    """Raises ConfigError if an output refuses its parameters. Imports the output's class, and with it JAX."""
    for name, output in outputs.items():
        try:
            output.make()
        except ValueError as error:
            raise ConfigError(f"output.{name}.{error}") from None
        except Exception as error:
            raise ConfigError(f"output.{name}: {output.described}: {type(error).__name__}: {error}") from error


def drop_foreign_keys(
    table: Mapping[str, Any], before: Mapping[str, Any], given: Collection[Keys], schema: Schema
) -> list[str]:
    """If an override gives a section another name, drop the keys of the file that the new class does not have.

    Args:
        table: the run file with its overrides; keys are dropped in place.
        before: the run file without them.
        given: the keys that the overrides set. These are kept; unknown ones are refused later.
        schema: knows the classes.

    Returns:
        A line for each section that lost keys.
    """
    lines = []
    for keys, section, old in list(_sections(table, before)):
        name = section.get("name")
        if (*keys, "name") not in given or name == old.get("name"):
            continue
        try:
            known = schema.find(keys[0], str(name)).parameters
        except ConfigError:
            continue  # the unknown name is reported where it is read
        dropped = [key for key in old if key not in known and key != "name" and not _is_given((*keys, key), given)]
        for key in dropped:
            section.pop(key, None)
        if dropped:
            path = ".".join(keys)
            listed = ", ".join(f"{path}.{key}" for key in dropped)
            lines.append(f"{path}.name = {name!r} has no {listed}: dropped")
    return lines


def _sections(
    table: Mapping[str, Any], before: Mapping[str, Any]
) -> Iterator[tuple[Keys, dict[str, Any], dict[str, Any]]]:
    """Tables that may name a class, now and before the overrides: the tables of KINDS, and their tables by field."""
    for kind in KINDS:
        section, old = table.get(kind), before.get(kind)
        if isinstance(section, dict) and isinstance(old, dict):
            yield (kind,), section, old
            for field, inner in list(section.items()):
                if isinstance(inner, dict) and isinstance(old.get(field), dict):
                    yield (kind, field), inner, old[field]


def _is_given(keys: Keys, given: Collection[Keys]) -> bool:
    """True if an override sets this key or a key below it."""
    return any(other[: len(keys)] == keys for other in given)
