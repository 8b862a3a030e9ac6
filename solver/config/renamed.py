"""Overrides that name another class: drops the keys of the run file that this class does not have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from solver.config.entry import Schema
from solver.config.messages import ConfigError

KINDS = ("equation", "initial", "forcing")
Keys = tuple[str, ...]


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
