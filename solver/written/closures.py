"""Closures in a text: `closure(u)` becomes the divergence of the subgrid stress of a velocity u.

The stress is a function at the points of the resolved rate of strain, or of the resolved gradient. It is known when a
text is carried out; here its components are names. `closure(u, grad(c))` is the divergence of the subgrid flux of a
scalar, a function of the strain and of the scalar's gradient, as it is given. Where a closure acts on each mode, the
words leave nothing in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any, Literal, TypeAlias

from solver.written.optional import lines_without
from solver.written.tree import Call, Component, Line, Name, Node, Number, Power, Product, Quotient, Sum, WrittenError

WORD = "closure"
CLOSURE = "closure"  # among the numbers of a function at the points, where a parameter cannot be called so
LEFT_OUT = "unclosed"
STRESS, FLUX, VISCOSITY = "subgrid_stress_", "subgrid_flux_", "subgrid_viscosity"
RATE = "subgrid_rate"  # the larger of viscosity and diffusivity times the largest k², for steps by a CFL number
RESOLVED = "resolved_"  # and `strain` or `gradient`: the name of its definition
LOSS, MEAN_VISCOSITY = "subgrid_dissipation", "eddy_viscosity"  # names of columns

Of: TypeAlias = Literal["strain", "gradient"]


def _told_later(*at: Any) -> Any:
    raise TypeError("a closure at the points is known to an equation with a closure")


def is_of_closure(function: str) -> bool:
    """True if a function is a component of a subgrid stress or flux, or an eddy viscosity."""
    return function.startswith((STRESS, FLUX)) or function in (VISCOSITY, RATE)


def shown(node: Node) -> Node | None:
    """A component, stress or flux of a closure as it is printed: τ_xx, ∇·τ, ∇·q, ν_t; None of others."""
    if not isinstance(node, Call):
        return None
    if node.function == RATE:
        return Product(Name("nu_t"), Power(Name("k"), Number(2 + 0j)))
    if is_of_closure(node.function):
        stem, _, axes = node.function.rpartition("_")
        known = {STRESS: f"tau_{axes}", FLUX: f"q_{axes}", VISCOSITY: "nu_t"}
        return Name(known.get(f"{stem}_") or known[node.function])
    inner = node.arguments[0] if node.function == "div" else None
    if isinstance(inner, Sum) and isinstance(inner.terms[0], Product) and isinstance(inner.terms[0].left, Call):
        function = inner.terms[0].left.function
        return Call("div", (Name("tau" if function.startswith(STRESS) else "q"),)) if is_of_closure(function) else None
    return None


@dataclass(frozen=True)
class Resolved:
    """The gradient of the resolved velocity in a text, of which the subgrid stress is a function.

    Args:
        of: `strain` for its symmetric part S_ij, or `gradient` for ∂u_i/∂x_j.
        dimensions: number of dimensions of space.
        by_plane: True if the stress depends on the last coordinate, too.
    """

    of: Of
    dimensions: int
    by_plane: bool = False

    @property
    def name(self) -> str:
        """Name of its definition."""
        return RESOLVED + self.of

    @property
    def definition(self) -> str:
        """Definition of the name, with the velocity in the place of `{}`."""
        return "sym(grad({}))" if self.of == "strain" else "grad({})"

    @property
    def axes(self) -> str:
        """Letters of the axes."""
        return "xyz"[: self.dimensions]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The components that a symmetric tensor has."""
        return list(combinations_with_replacement(self.axes, 2))

    @property
    def entries(self) -> tuple[Node, ...]:
        """The entries that the functions at the points take: S_ij with i ≤ j, or ∂u_i/∂x_j, j changing fastest.

        The coordinate comes first, if they depend on it.
        """
        pairs = self.pairs if self.of == "strain" else [(j, i) for i in self.axes for j in self.axes]
        place = (Name(self.axes[-1]),) if self.by_plane else ()
        return (*place, *(self.entry(*pair) for pair in pairs))

    def entry(self, i: str, j: str) -> Node:
        """An entry of the definition; of the gradient, i is the axis of the derivative."""
        return Component(Component(Name(self.name), i), j)

    def strain(self, i: str, j: str) -> Node:
        """The entry S_ij of the rate of strain."""
        if self.of == "strain" or i == j:
            return self.entry(i, j)
        return Quotient(Sum((self.entry(i, j), self.entry(j, i))), Number(2 + 0j))

    @property
    def stress(self) -> Node:
        """The symmetric tensor of the subgrid stress."""
        terms = []
        for i, j in self.pairs:
            part = Call(f"{STRESS}{i}{j}", self.entries)
            outer = [Call("outer", (Name(f"e{a}"), Name(f"e{b}"))) for a, b in dict.fromkeys([(i, j), (j, i)])]
            terms += [Product(part, tensor) for tensor in outer]
        return Sum(tuple(terms))

    def flux(self, slope: Node) -> Node:
        """The vector of the subgrid flux of a scalar with this gradient."""
        given = (*self.entries, *(Component(slope, axis) for axis in self.axes))
        parts = (Product(Call(FLUX + axis, given), Name(f"e{axis}")) for axis in self.axes)
        return Sum(tuple(parts))

    @property
    def loss(self) -> Node:
        """Energy that the stress takes from the resolved flow, τ_ij S_ij."""
        weights = [(1 if i == j else 2, i, j) for i, j in self.pairs]
        call = lambda i, j: Call(f"{STRESS}{i}{j}", self.entries)  # noqa: E731
        return Sum(tuple(Product(Product(Number(complex(n)), call(i, j)), self.strain(i, j)) for n, i, j in weights))

    @property
    def viscosity(self) -> Node:
        """The eddy viscosity at the points."""
        return Call(VISCOSITY, self.entries)

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """All functions of the closure that a text may call, by name."""
        names = [*(f"{STRESS}{i}{j}" for i, j in self.pairs), *(FLUX + axis for axis in self.axes), VISCOSITY, RATE]
        return dict.fromkeys(names, _told_later)


def closures(line: Line) -> Iterator[Call]:
    """The calls of `closure` in an equation."""
    for side in (line.left, line.right):
        for node in side.walk():
            if isinstance(node, Call) and node.function == WORD:
                yield node


def without_closures(line: Line) -> Line:
    """An equation without what a closure adds."""
    return lines_without([_mapped(line, lambda call: Name(LEFT_OUT))], frozenset({LEFT_OUT}))[0]


def with_closures(line: Line, resolved: Resolved) -> Line:
    """An equation with the divergence of the subgrid stress, and of the subgrid fluxes of scalars."""

    def made(call: Call) -> Node:
        _, *slope = call.arguments
        return Call("div", (resolved.flux(slope[0]) if slope else resolved.stress,))

    return _mapped(line, made)


def closed_scalar(call: Call, fields: frozenset[str]) -> str:
    """The scalar whose gradient is the second argument of `closure`.

    Raises:
        WrittenError: the second argument is not the gradient of one scalar field.
    """
    slope = call.arguments[1]
    of = {g.arguments[0].name for g in slope.calls("grad") if isinstance(g.arguments[0], Name)} & fields
    if len(of) != 1 or slope.names & fields != of:
        raise slope.place.error("closure(u, slope): the gradient of one scalar field is needed, such as grad(c)")
    return of.pop()


def is_term_of(line: Line, call: Call, name: str) -> bool:
    """True if a call of `closure` is a term of its own on the right of the equation of a field's rate of change."""
    left, right = (side.terms if isinstance(side, Sum) else (side,) for side in (line.left, line.right))
    return call in right and Call("dt", (Name(name),)) in left


def velocity_of(calls: list[Call]) -> Node | None:
    """The velocity that `closure` is called of; None without a call.

    Raises:
        WrittenError: two velocities, or scalars alone.
    """
    found = {call.arguments[0] for call in calls}
    if len(found) > 1:
        raise min(found, key=repr).place.error("a closure is of one velocity: closure is called of another one, too")
    if calls and all(len(call.arguments) > 1 for call in calls):
        raise WrittenError("closure(u, slope) without closure(u): the velocity's own equation needs its closure, too")
    return found.pop() if found else None


def _mapped(line: Line, made: Callable[[Call], Node]) -> Line:
    def rewrite(node: Node) -> Node | None:
        return made(node) if isinstance(node, Call) and node.function == WORD else None

    return replace(line, left=line.left.rewritten(rewrite), right=line.right.rewritten(rewrite))
