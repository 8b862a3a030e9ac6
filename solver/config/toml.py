"""Run files as tables: read from TOML, with overrides from the command line; and those that come with the package."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import solver
from solver.config.messages import ConfigError
from solver.config.source import original_name

KEY = re.compile(r'"([^"]*)"|([^."]+)')
EXCLUSIVE = ("step", "cfl", "tolerance")  # keys of [time]: setting one drops the others


def read_toml(path: Path) -> dict[str, Any]:
    """Read a file as a table.

    Raises:
        ConfigError: the file cannot be read or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such run file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None


def apply_override(table: dict[str, Any], override: str) -> tuple[str, ...]:
    """Set one key in place, as `section.key=value`.

    Of `time.step`, `time.cfl` and `time.tolerance`, setting one drops the others.

    Returns:
        The parts of the key.

    Raises:
        ConfigError: the override does not have the form `section.key=value`, or the key leads into a value that is not
            a table.
    """
    name, equals, text = override.partition("=")
    keys = keys_of(name)
    if not equals or not keys:
        raise ConfigError(f"{override!r}: an override is written section.key=value")
    return set_key(table, keys, _toml_value(text.strip()), override)


def keys_of(name: str) -> tuple[str, ...]:
    """The parts of a key such as `output."my.py:Probe".every_steps`; empty if a part is."""
    keys = tuple(quoted or plain for quoted, plain in KEY.findall(name.strip()))
    return keys if all(keys) else ()


def set_key(table: dict[str, Any], keys: tuple[str, ...], value: Any, written: str) -> tuple[str, ...]:
    """Set one key in place. Of `time.step`, `time.cfl` and `time.tolerance`, setting one drops the others.

    Args:
        table: a run file.
        keys: the parts of the key, one at least.
        value: the new value.
        written: the override as the user wrote it, for messages.

    Returns:
        The parts of the key that was set: an output of a user's file may be known by the name of its copy.

    Raises:
        ConfigError: the key leads into a value that is not a table.
    """
    if keys[0] == "output" and len(keys) > 1 and isinstance(table.get("output"), dict):
        known = (key for key in table["output"] if original_name(key) == keys[1])
        keys = (keys[0], next(known, keys[1]), *keys[2:])
    inner = table
    for key in keys[:-1]:
        inner = inner.setdefault(key, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"{written!r}: {key!r} is not a table")
    inner[keys[-1]] = value
    if keys[0] == "time" and len(keys) == 2 and keys[1] in EXCLUSIVE:
        for other in set(EXCLUSIVE) - {keys[1]}:
            inner.pop(other, None)
    return keys


def value_at(table: Mapping[str, Any], keys: tuple[str, ...], default: Any) -> Any:
    """The value of a key, or a default."""
    value: Any = table
    for key in keys:
        if not isinstance(value, Mapping) or key not in value:
            return default
        value = value[key]
    return value


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def cases() -> dict[str, Path]:
    """Run files by name, from the installed package or from `runs/` of a checkout."""
    package = Path(solver.__file__).parent
    folder = next(f for f in (package / "cases", package.parent / "runs") if f.is_dir())
    return {path.stem.replace("_", "-"): path for path in sorted(folder.glob("*.toml"))}
