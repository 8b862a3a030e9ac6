"""The inner fields that a search chooses from: expressions under products in the text, and derivatives of fields."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from solver.written.components import derivative, written_out
from solver.written.degrees import is_scalar_of
from solver.written.elimination import Reduced, named
from solver.written.parameters import Lengths
from solver.written.samples import Samples
from solver.written.tree import Call, Derivative, Entry, Name, Negative, Node, Product, Quotient, Solved, Sum

EQUAL = 1e-7  # of the largest value, below which values are rounding
FAR = 2.0**8  # times wavenumbers of order one; beyond, differences of large terms are rounding
SINGLE = 12  # with so many scalars or fewer, each is chosen by itself


@dataclass(frozen=True)
class Inner:
    """A scalar that can be taken to the points.

    Args:
        node: linear in the fields.
        order: number of derivatives, of large wavenumbers; −2 of an inverse Laplacian.
        is_homogeneous: True if the order holds for all wavenumbers.
        groups: which groups of scalars it is made of.
        is_given: True if other terms need it in any case.
    """

    node: Node
    order: float
    is_homogeneous: bool
    groups: tuple[int, ...]
    is_given: bool


@dataclass(frozen=True)
class Dictionary:
    """Scalars to choose from.

    Args:
        inner: all of them.
        blocks: those that are chosen together, such as the components of a gradient; given ones are in no block.
    """

    inner: tuple[Inner, ...]
    blocks: tuple[tuple[int, ...], ...]

    @property
    def given(self) -> tuple[int, ...]:
        """The scalars that cost nothing."""
        return tuple(i for i, inner in enumerate(self.inner) if inner.is_given)


def dictionary(
    reduced: Reduced, factors: Sequence[Node], given: Sequence[Node], samples: Samples, of: Lengths
) -> Dictionary:
    """The inner fields of linear expressions: factors of products of two, and those that other terms need in any case.

    Parameters count as so many derivatives `of` a length.
    """
    nodes = list(dict.fromkeys([*given, *_made_from(reduced, [*factors, *given])]))
    found = measured(reduced, nodes, given, samples, of)
    shapes: dict[str, list[int]] = {}
    for i, (inner, _) in enumerate(found):
        if not inner.is_given:
            shapes.setdefault(_shape(inner.node), []).append(i)
    blocks = _without_repeats(list(shapes.values()), [values for _, values in found])
    kept = [i for i, (inner, _) in enumerate(found) if inner.is_given] + [i for block in blocks for i in block]
    place = {i: n for n, i in enumerate(kept)}
    if sum(map(len, blocks)) <= SINGLE:
        blocks = [[i] for block in blocks for i in block]
    return Dictionary(tuple(found[i][0] for i in kept), tuple(tuple(place[i] for i in block) for block in blocks))


# ---- nodes ----------------------------------------------------------------------------------------------------------


def _made_from(reduced: Reduced, factors: Iterable[Node]) -> list[Node]:
    """The parts that linear expressions are made from, with derivatives of the fields in them."""
    fields, found = set(reduced.system.fields), dict[Node, None]()
    for factor in factors:
        found |= dict.fromkeys(_inside(factor, fields))
    diagnosed = [node for node in reduced.diagnosed.values() if any(node in factor.walk() for factor in factors)]
    names = dict.fromkeys(named(part) for node in found for part in node.walk() if is_scalar_of(part, fields))
    bases = [node for node in [*found, *diagnosed] if not _is_derivative(node)]
    of_fields = [node for name in names for node in _derivatives(name, reduced)]
    of_bases = [derivative(node, axis) for node in bases for axis in range(reduced.dimensions)]
    return [*of_fields, *diagnosed, *found, *of_bases]


def _inside(node: Node, fields: Collection[str]) -> list[Node]:
    """The scalar expressions below a linear one; not those that a diagnosed unknown is solved from."""
    below = [] if isinstance(node, Solved) else [part for child in node.children for part in _inside(child, fields)]
    holds = any(is_scalar_of(part, fields) for part in node.walk())
    is_one = holds and not isinstance(node, Negative | Product | Quotient)
    return [node, *below] if is_one else below


def _is_derivative(node: Node) -> bool:
    """True if a node is a derivative, or a sum of such as a component of a curl."""
    node = node.of if isinstance(node, Negative) else node
    return all(map(_is_derivative, node.terms)) if isinstance(node, Sum) else isinstance(node, Derivative)


def _derivatives(name: str, reduced: Reduced) -> list[Node]:
    """A field, its curl and divergence, its gradient and its Laplacian, in components."""
    kinds, field = reduced.system.kinds, Name(name)
    entries = lambda whole: list(written_out(whole, kinds, reduced.dimensions).entries.values())  # noqa: E731
    words = ("curl", "div") if kinds[name].order == 1 and reduced.dimensions > 1 else ()
    turned = [node for word in words for node in entries(Call(word, (field,)))]
    slopes = [derivative(scalar, axis) for scalar in entries(field) for axis in range(reduced.dimensions)]
    return [*entries(field), *turned, *slopes, *entries(Call("lap", (field,)))]


def _shape(node: Node) -> str:
    """A key that is equal for components of one thing: the expression without its sign, indices and axes."""

    def blank(part: Node) -> Node:
        part = part.map_children(blank)
        if isinstance(part, Derivative):
            return replace(part, axis=0)
        return replace(part, index=()) if isinstance(part, Entry) else part

    return repr(blank(node.of if isinstance(node, Negative) else node))


# ---- numbers --------------------------------------------------------------------------------------------------------


def measured(
    reduced: Reduced, nodes: Sequence[Node], given: Collection[Node], samples: Samples, lengths: Lengths
) -> list[tuple[Inner, np.ndarray]]:
    """Order and groups of each expression that does not vanish, and its values."""
    groups = groups_of(samples.at.projector)
    modes = samples.factors[1]
    at = lambda modes: np.reshape([modes.values(node) for node in nodes], (-1, modes.count)).T  # noqa: E731
    values = at(modes)  # draws all parameters
    scales = [[at(modes.scaled(scale, lengths)) for scale in (own, 2 * own)] for own in (1.0, FAR)]
    moving = np.any(modes.slopes != 0, axis=0)
    found = []
    for i, node in enumerate(nodes):
        if np.abs(values[:, i]).max() < EQUAL and node not in given:
            continue
        (order, is_homogeneous), (far, _) = (_growth(*(each[moving, i] for each in pair)) for pair in scales)
        of = tuple(
            sorted({group for group, scalar in zip(groups, reduced.scalars, strict=True) if scalar in node.walk()})
        )
        found.append((Inner(node, order if is_homogeneous else far, is_homogeneous, of, node in given), values[:, i]))
    return found


def _growth(values: np.ndarray, doubled: np.ndarray) -> tuple[float, bool]:
    """The order of an expression from its values when wavenumbers are doubled, and whether it is the same for all."""
    if not np.abs(values).max(initial=0.0):
        return 0.0, True
    order = math.log2(np.abs(doubled).max() / np.abs(values).max())
    is_same = np.allclose(doubled, 2.0**order * values, rtol=1e-9, atol=1e-12)
    return round(order, 6 if is_same else 2), is_same


def groups_of(projector: np.ndarray) -> list[int]:
    """For each scalar the number of its group: scalars in one are tied to each other by constraints."""
    linked = np.argwhere(np.abs(projector).max(0) > EQUAL).tolist()
    groups = joined([{i} for i in range(projector.shape[1])], map(set, linked))
    return [min(group) for i in range(projector.shape[1]) for group in groups if i in group]


def joined(sets: Iterable[set[Any]], links: Iterable[set[Any]]) -> list[set[Any]]:
    """Sets, of which each link that meets several makes one; a link that meets none is a set of its own."""
    found = list(sets)
    for link in links:
        hit = [group for group in found if group & link]
        found = [group for group in found if group not in hit] + [link.union(*hit)] * bool(link)
    return found


def rank(matrix: np.ndarray) -> int:
    """The number of independent rows, of a matrix whose largest entry sets the scale."""
    largest = np.abs(matrix).max(initial=0.0)
    return int(np.linalg.matrix_rank(matrix / largest, tol=EQUAL)) if largest > 1e-12 else 0


def _without_repeats(blocks: Sequence[Sequence[int]], values: Sequence[Any]) -> list[list[int]]:
    """Blocks of independent scalars, of which no two span the same."""
    kept: list[list[int]] = []
    for block in sorted(blocks, key=lambda block: len(block)):
        independent: list[int] = []
        for i in block:
            if rank(np.array([values[j] for j in [*independent, i]])) > len(independent):
                independent.append(i)
        spans = lambda other, own: rank(np.array([values[i] for i in [*other, *own]])) == len(other)  # noqa: E731
        if not any(len(other) == len(independent) and spans(other, independent) for other in kept):
            kept.append(independent)
    return sorted(kept, key=min)
