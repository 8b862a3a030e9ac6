"""Which devices a collective of a compiled program runs among."""

from __future__ import annotations

import math
import re

import numpy as np


def group_of(text: str) -> tuple[int, int]:
    """Size of a collective's first group and the distance of its members; size 0 if all devices are one group.

    XLA writes groups as lists `{{0,2},{1,3}}`, as numbers that are reshaped and transposed, `[2,2]<=[2,2]T(1,0)`, and
    from jaxlib 0.12 on as axes of a mesh, `mesh['a'=2,'b'=2] {'a'}`.

    Raises:
        ValueError: the text has another form.
    """
    match = re.search(r"replica_groups=(\{\{.*?\}\}|\{\}|\[[^ ]*|mesh\[.*?\] \{.*?\})", text)
    if match is None and "replica_groups=" in text:
        raise ValueError(
            f"groups of a collective in a form that is not known: {text[text.index('replica_groups=') :][:60]}"
        )
    groups = "{}" if match is None else match[1]
    if groups == "{}":
        return 0, 1
    if groups.startswith("{"):
        members = [int(n) for n in groups[2:].partition("}")[0].split(",")]
    elif groups.startswith("mesh"):
        members = _along_axes(groups)
    else:
        shape, dims, _, order = re.findall(r"\[([\d,]+)\]<=\[([\d,]+)\](T\(([\d,]+)\))?", groups)[0]
        sides = [int(n) for n in dims.split(",")]
        axes = [int(n) for n in order.split(",")] if order else range(len(sides))
        numbers = np.arange(math.prod(sides)).reshape(sides).transpose(axes).reshape([int(n) for n in shape.split(",")])
        members = numbers[0].ravel().tolist()
    return len(members), members[1] - members[0] if len(members) > 1 else 1


def _along_axes(groups: str) -> list[int]:
    """First group of `mesh['a'=2,'b'=4] {'b'}`: the devices along these axes."""
    mesh, _, along = groups.partition("] ")
    sides = {name: int(size) for name, size in re.findall(r"'([^']+)'=(\d+)", mesh)}
    names = re.findall(r"'([^']+)'", along)
    numbers = np.arange(math.prod(sides.values())).reshape(list(sides.values()))
    kept = [name for name in sides if name not in names]
    order = [list(sides).index(name) for name in (*kept, *names)]
    return numbers.transpose(order).reshape(-1, math.prod(sides[name] for name in names))[0].tolist()
