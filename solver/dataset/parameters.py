"""Numbers of a run file that a data set names: those in which members differ, and those that all share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from solver.config.toml import keys_of

SHARED = ("equation", "forcing")  # sections whose numbers every member has
LEFT_OUT = ("random.seed",)  # says nothing of the physics; the manifest has it


def scalars(values: Sequence[Mapping[str, Any]], table: Mapping[str, Any]) -> tuple[list[dict[str, float]], dict]:
    """The numbers of each member, and those that all members share, by their names.

    A name is the last word of its key, `viscosity` for `equation.viscosity`; the whole key, joined by underscores,
    where two keys end alike. The numbers of a list are counted: `mean_field_0`, `mean_field_1`. Words have no place;
    a truth value has one, as 0 or 1, where members differ in it.

    Args:
        values: the values of each member that differ from the run file, by key.
        table: table of the run file that members share.
    """
    own = sorted(values[0].keys() - set(LEFT_OUT))  # a run file that was written again has another order
    varied = {keys_of(key) for key in own}
    flat = {key: value for key, value in _flat(table, SHARED) if not isinstance(value, bool)}
    shared = {key: value for key, value in flat.items() if keys_of(key) not in varied}
    names = _names([*own, *shared])
    members = [{n: x for key in own for n, x in _numbers(names[key], row[key])} for row in values]
    everywhere = set(members[0]).intersection(*members)  # a choice may hold words beside numbers
    constant = {n: x for key, value in shared.items() for n, x in _numbers(names[key], value)}
    shown = [{name: x for name, x in row.items() if name in everywhere} for row in members]
    return shown, dict(sorted(constant.items()))


def _names(keys: Sequence[str]) -> dict[str, str]:
    """A name for each key."""
    last = Counter(keys_of(key)[-1] for key in keys)
    return {key: keys_of(key)[-1] if last[keys_of(key)[-1]] == 1 else "_".join(keys_of(key)) for key in keys}


def _numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """A number, or the numbers of a list, by name; nothing of a word."""
    if isinstance(value, int | float):
        yield name, float(value)
    elif isinstance(value, list | tuple):
        for place, each in enumerate(value):
            yield from _numbers(f"{name}_{place}", each)


def _flat(table: Mapping[str, Any], sections: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The keys of sections in full, with their values."""
    for key in sections:
        value = table.get(key)
        if isinstance(value, Mapping):
            for inner, entry in _flat(value, list(value)):
                yield f"{key}.{inner}", entry
        elif value is not None:
            yield key, value
