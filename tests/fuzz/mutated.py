"""Mutated run files."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from fuzz.running import BLOWN_UP, ONLY_A_RUN, Fault, Table, command, one_line, write


def _places(table: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every key and of every entry of a list."""
    if not isinstance(table, dict | list):
        return [path]
    entries = table.items() if isinstance(table, dict) else enumerate(table)
    below = [place for key, value in entries for place in _places(value, (*path, key))]
    return below + ([path] if path else [])


def _mutated(table: Table, random: Random) -> tuple[Table, str]:
    """A table with one thing wrong, or odd, and what it is."""
    table = json.loads(json.dumps(table))
    path = random.choice(_places(table))
    holder = table
    for key in path[:-1]:
        holder = holder[key]
    key, value = path[-1], holder[path[-1]]
    ways: list[Any] = [-1, 0, 1e300, 1e-300, float("nan"), float("inf"), "x", [], {}, True, 2, "", [1.0, "2"]]
    if isinstance(holder, dict) and random.random() < 0.25:
        holder[f"{key}x"] = holder.pop(key)
        return table, f"{'.'.join(map(str, path))} misspelt"
    if isinstance(value, list) and value and random.random() < 0.5:
        holder[key] = value[:-1]
    elif isinstance(value, int | float) and random.random() < 0.3:
        holder[key] = -value
    else:
        holder[key] = random.choice(ways)
    return table, f"{'.'.join(map(str, path))} = {holder[key]!r}"


# a run of other steps may be long, and the devices of this process are those that it has
SKIPPED = ("time", "output", "grid", "devices")

OF_NUMBERS = ("that are not finite", *ONLY_A_RUN)


def mutations_are_refused_in_one_line(table: Table, folder: Path) -> str:
    """`check` and `run` refuse a mutated run file in one line, or neither does; never a traceback."""
    random = Random(json.dumps(table))
    for number in range(5):
        other, what = _mutated(table, random)
        place = folder / f"mutation-{number}"
        place.mkdir()
        try:
            path = write(other, place)
        except TypeError:
            continue  # TOML cannot say it
        try:
            checked, said = command("check", path)
        except Exception as error:
            raise Fault(f"{what}: check: traceback of {type(error).__name__}: {str(error)[:200]}") from error
        if checked not in (0, 2) or (checked == 2 and not one_line(said)):
            raise Fault(f"{what}: check ends with {checked}: {said[-300:]}")
        if checked == 2 or any(other.get(name) != table[name] for name in SKIPPED):
            continue  # a run of other steps may be long
        try:
            code, printed = command("run", path, f"output.directory={place / 'run'}")
        except Exception as error:
            raise Fault(f"{what}: run: traceback of {type(error).__name__}: {str(error)[:200]}") from error
        overflows = code == 2 and one_line(printed) and any(words in printed for words in OF_NUMBERS)
        if code not in (0, BLOWN_UP) and not overflows:
            raise Fault(f"{what}: check ends with 0, run with {code}: {printed[-300:]}")
    return "mutated"
