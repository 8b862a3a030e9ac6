"""A text carried out between two walls, in polynomials: products tested with the modes of each field.

Each scalar of the fields is a series of polynomials here, with what its conditions add. A change of a field is its
products with the modes, ⟨N · mode⟩. Where a product is 0 at the walls its derivative across them acts on the modes
instead, −⟨P ∂_z mode⟩, which conserves energy to round-off.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial, reduce
from types import MappingProxyType
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.dynamics.at_points import SPACING, AtPoints
from solver.dynamics.at_walls import Ends, ProductsAtWalls
from solver.dynamics.evaluation import Evaluation
from solver.dynamics.in_modes import GridModes, OneMode, Rows
from solver.dynamics.spaces_between_walls import space_of_products
from solver.dynamics.symbol_value import SymbolValue, multiplied_out
from solver.dynamics.text_dynamics import TextDynamics
from solver.dynamics.unknowns_between_walls import NOTHING, rates_through_unknowns, unsolved_modes, with_unknowns
from solver.dynamics.varying_walls import with_walls_at
from solver.operators import Diagonal, Fields, components
from solver.spaces.polynomials import FieldBetweenWalls, PolynomialSpace
from solver.spaces.space import ZERO_MEAN
from solver.written.between_walls import BetweenWalls, LinearBetweenWalls, between_walls, plans_of
from solver.written.components import ZERO, plus
from solver.written.derivation import Derivation, derived_units, in_dimensions
from solver.written.elimination import named
from solver.written.plan import Plan
from solver.written.tree import Call, Derivative, Negative, Node, Product, Quotient, Slot, Sum, WrittenError
from solver.written.walled import of_time

DOUBLINGS = 7  # of the power of a matrix
STEEPEST = 0.08  # of ∂/∂z between two values, whose largest eigenvalue is 0.072 to 0.08 N²/H for 24 to 96 points


class PolynomialModes(GridModes):
    """Symbols on polynomials: derivatives along the walls are numbers, those across them are not."""

    space: PolynomialSpace

    def laplacian(self) -> SymbolValue:
        raise ValueError("∇² is no number for each polynomial between walls")


class PolynomialRows(Rows):
    """Right-hand sides in polynomials, from polynomials of the scalars of fields and of products."""

    @property
    def space(self) -> PolynomialSpace:
        space = self.modes.space
        assert isinstance(space, PolynomialSpace)
        return space

    def varying(self, node: Node) -> SymbolValue:
        if node not in self.coefficients:
            match node:
                case Derivative(of, axis) if axis == self.space.grid.dimensions - 1:
                    return SymbolValue(self.space.across(self.on_all_modes(of)))
                case Call("lap", (of,)):
                    return SymbolValue(self.space.laplacian_of(self.on_all_modes(of)))
        return super().varying(node)

    in_modes: Mapping[Node, Array] = MappingProxyType({})  # coefficients of scalars whose conditions add nothing

    def with_scalars(self, found: Mapping[Node, Array], in_modes: Mapping[Node, Array]) -> PolynomialRows:
        """These rows with polynomials of further scalars, and with the coefficients of scalars in their own modes."""
        rows = PolynomialRows(self.modes, {**self.coefficients, **found})
        rows.in_modes = {**self.in_modes, **in_modes}
        return rows

    def of_scalars(self, found: Mapping[Node, Array]) -> PolynomialRows:
        """Rows of these scalars alone."""
        return PolynomialRows(self.modes, found)

    def to_be_tested(self, node: Node, at_walls: Callable[[Node], Ends | None]) -> Array:
        """An expression as it is tested with modes.

        Args:
            node: expression.
            at_walls: function of an expression whose derivative across the walls may act on the modes instead: its
                values at the walls. None of other expressions.
        """
        plain, across, *ends = self._apart(node, at_walls)
        made = jnp.zeros((), self.space.grid.complex_dtype) if plain is None else plain
        made = made if across is None else made + self.space.across_weakly(across)
        for wall, value in enumerate(ends):
            made = made if value is None else made + self.space.through_wall(value, wall)
        return made

    def _apart(self, node: Node, at_walls: Callable[[Node], Ends | None]) -> Parts:
        """An expression as a + ∂b/∂z, the derivative left to the modes; and b at the walls."""
        again = lambda part: self._apart(part, at_walls)  # noqa: E731
        each = lambda change, parts: Parts(*(None if part is None else change(part) for part in parts))  # noqa: E731
        if self.is_number(node) or node in self.coefficients:
            return Parts(self.on_all_modes(node))
        match node:
            case Sum(terms):
                sides = zip(*map(again, terms), strict=True)
                return Parts(*(_added([part for part in side if part is not None]) for side in sides))
            case Negative(of):
                return each(jnp.negative, again(of))
            case Product(left, right):
                number, other = (left, right) if self.is_number(left) else (right, left)
                factor = multiplied_out(self.modes.value(number))
                return each(lambda part: factor * part, again(other))
            case Quotient(above, below):
                divisor = multiplied_out(self.modes.value(below))
                return each(lambda part: part / divisor, again(above))
            case Derivative(of, axis) if axis < self.space.grid.dimensions - 1:
                k = multiplied_out(self.modes.derivative(axis))
                return each(lambda part: k * part, again(of))
            case Derivative(of, _) if (ends := at_walls(of)) is not None:
                return Parts(None, self.on_all_modes(of), *ends)
            case Call("cause" | "explicit", arguments):
                return again(arguments[-1])
        return Parts(self.on_all_modes(node))


class Parts(NamedTuple):
    """Parts of an expression a + ∂b/∂z: a, b, and b at the lower and at the upper wall; None if 0."""

    plain: Array | None = None
    across: Array | None = None
    lower: Array | None = None
    upper: Array | None = None


def _added(parts: Sequence[Array]) -> Array | None:
    return None if not parts else sum(parts[1:], start=parts[0])


class EvaluationBetweenWalls(Evaluation):
    """As `Evaluation`, in polynomials."""

    @cached_property
    def between(self) -> BetweenWalls:
        """The text as it is carried out between walls.

        A plan may form ∂(a b)/∂z where the text has products of derivatives. The derivative acts on the modes instead
        where a b is known at the walls. Elsewhere the text is followed word by word, or by the product rule: of a b the
        polynomials alone that modes have are known, and its derivative would be less exact.
        """
        first = None
        for tried in plans_of(self.text.plain):
            try:
                found = between_walls(tried, self.grid.dimensions)
            except WrittenError:  # of its plan; the first one is asked for
                if first is None:
                    raise
                continue
            first = first or found
            if all(self._is_exact(found, name) for name in self.equation.fields):
                return found
        assert first is not None
        return first

    def _is_exact(self, between: BetweenWalls, name: str) -> bool:
        """True if every derivative of products across the walls acts on the modes of a field."""
        across = [
            node
            for scalar in self.scalars(name)
            for node in between.right.get(scalar, ZERO).walk()
            if node.slots and (_is_across(node, self.grid.dimensions) or node.calls("lap"))
        ]
        known, gives = self._products_at_walls(between, between.plan), self.equation.space(name).gives_values()
        return all(isinstance(node, Derivative) and known.fluxes(node.of, gives) is not None for node in across)

    @cached_property
    def derived(self) -> Derivation:
        return in_dimensions(self.between.text, self.grid.dimensions)

    def scalars(self, name: str) -> tuple[Node, ...]:
        reduced = in_dimensions(self.text.plain, self.grid.dimensions).reduced  # of any plan
        return tuple(scalar for scalar in reduced.scalars if named(scalar) == name)

    def modes(self, t: ArrayLike, kind: int = 0) -> GridModes:
        return PolynomialModes(space_of_products(self.equation), {**self.equation.all_numbers, "t": t})

    def series(self, fields: Fields, *, of_change: bool = False) -> dict[Node, Array]:
        """Polynomials of each scalar; of a change, without what the conditions add."""
        found: dict[Node, Array] = {}
        for name in self.equation.fields:
            space = self.equation.space(name)
            whole = space.without_lifting(fields[name]) if of_change else space.series(fields[name])
            found |= dict(zip(self.scalars(name), components(whole), strict=True))
        return found

    def time(self, *, is_needed: bool) -> ArrayLike:
        """The time that the equation has, or 0.

        Raises:
            ValueError: a time is needed, and the equation is at no time.
        """
        t = self.equation.time_at_walls
        if t is None and is_needed:
            raise ValueError(f"{self.equation.name} holds t: equation.at_time(t) of the time of the fields is needed")
        return 0.0 if t is None else t

    def rows(self, fields: Fields, t: ArrayLike | None = None) -> PolynomialRows:
        """The fields and the unknowns, these at a time: by default at the time that the equation has."""
        if t is None:
            t = self.time(is_needed=bool(of_time(solve.group for solve in self.between.solves)))
        rows = PolynomialRows(self.modes(t), self.series(fields))
        if self.text.walled:
            bare = [name for name in self.equation.fields if self.equation.space(name).lifting is None]
            rows = with_unknowns(self, rows.with_scalars({}, self._in_modes(fields, bare)))
        return rows

    def _in_modes(self, fields: Fields, names: Iterable[str]) -> dict[Node, Array]:
        """Coefficients of the scalars of fields in their own modes; not of vectors without divergence."""
        scalars = [name for name in names if not self.equation.fields[name].solenoidal]
        pairs = (zip(self.scalars(name), components(fields[name]), strict=True) for name in scalars)
        return dict(pair for each in pairs for pair in each)

    def rows_of_change(self, change: Fields) -> PolynomialRows:
        """Rows of a change of the fields; fields without one do not change."""
        shapes = {name: self.equation.space(name).coefficients for name in self.equation.fields}
        whole = {name: change.get(name, jnp.zeros(shape.shape, shape.dtype)) for name, shape in shapes.items()}
        rows = PolynomialRows(self.modes(0.0), self.series(whole, of_change=True))
        if self.text.walled:
            rows = with_unknowns(self, rows.with_scalars({}, self._in_modes(whole, whole)), NOTHING)
        return rows

    def numbers(self, modes: GridModes, *functions: AtPoints, rows: Rows | None = None) -> dict[str, Any]:
        found = super().numbers(modes, *functions, rows=rows)
        if SPACING in found:
            *along, _ = self.grid.spacing
            found[SPACING] = (*along, jnp.asarray(self._distances(), self.grid.dtype))
        return found

    def _distances(self) -> np.ndarray:
        """Distance of neighbouring points across the walls, π √(z(H − z))/N, at each [length]."""
        z, height = self.grid.coordinates()[-1], self.grid.lengths[-1]  # type: ignore[index]
        return np.asarray(np.pi * np.sqrt(z * (height - z)) / self.grid.shape[-1])

    def products(self, plan: Plan[Any], rows: PolynomialRows, largest: AtPoints | None) -> tuple[PolynomialRows, Any]:
        """The rows with the products of a plan, and the largest of a number at the points."""
        found = None
        for inner, products in plan.levels():
            function = self.function(plan, inner, products)
            functions = function, *([] if largest is None else [largest])
            numbers, places = self.numbers(rows.modes, *functions, rows=rows), self.places(*functions)
            make = self._made_at_points if function.functions else self._made_at_halves
            series = self.inner([plan.inner[i] for i in inner], rows) if inner else None
            c, found = make(rows.space, functions, series, numbers, places)
            rows = rows.with_products(dict(zip(products, components(c), strict=True)))  # type: ignore[assignment]
        return rows, found

    def _made_at_points(
        self, space: PolynomialSpace, functions: Sequence[AtPoints], series: Array | None, numbers: Any, places: Any
    ) -> tuple[Array, Any]:
        """Polynomials of products that may call functions of the user's, which see values as they are outside."""
        values = _by_slot(functions[0], () if series is None else space.at_points(series))
        made, found = self.made_of_values(functions, values, numbers, places, self.grid.physical_shape)
        return space.polynomials_of(jnp.stack([value.astype(self.grid.dtype) for value in made])), found

    def _made_at_halves(
        self, space: PolynomialSpace, functions: Sequence[AtPoints], series: Array | None, numbers: Any, places: Any
    ) -> tuple[Array, Any]:
        """Polynomials of products, made at the two halves of the height with the axis across the walls in front."""
        *along, height = self.grid.physical_shape
        fields = (None, None) if series is None else space.at_halves(series)
        made, found = [], []
        for u, order in zip(fields, (slice(height // 2, None), slice((height - 1) // 2, None, -1)), strict=True):
            values = _by_slot(functions[0], () if u is None else [u[:, i] for i in range(u.shape[1])])  # none is copied
            own = dict(numbers)
            if SPACING in numbers:
                *others, across = numbers[SPACING]
                own[SPACING] = (*others, across.ravel()[order].reshape(-1, *[1] * len(along)))
            there = {
                name: place if place.shape[-1] == 1 else place[..., order] for name, place in (places or {}).items()
            }
            there = {name: jnp.moveaxis(place, -1, 0) for name, place in there.items()}
            shape = ((height + 1) // 2, *along)
            products, largest = self.made_of_values(functions, values, own, there, shape)
            made.append([value.astype(self.grid.dtype) for value in products])
            found.append(largest)
        return space.of_halves(*made), None if found[0] is None else jnp.maximum(*found)

    def carried_out(
        self, plan: Plan[Any], fields: Fields, t: ArrayLike, largest: AtPoints | None = None
    ) -> tuple[Rows, Any]:
        return self.products(plan, self.rows(fields, t), largest)

    # ---- what is tested -----------------------------------------------------------------------------------------

    def tested(self, rows: PolynomialRows, nodes: Mapping[Node, Node]) -> Fields:
        """⟨expression · mode⟩ of each field that has an expression for one of its scalars."""
        changes = {}
        for name in self.equation.fields:
            scalars = self.scalars(name)
            if not any(scalar in nodes for scalar in scalars):
                continue
            space, plan = self.equation.space(name), self.between.plan
            parts = [self.to_be_tested(rows, nodes.get(scalar, ZERO), plan, space) for scalar in scalars]
            changes[name] = space.tested(jnp.stack(parts))
        return changes

    def to_be_tested(self, rows: PolynomialRows, node: Node, plan: Plan[Any], space: FieldBetweenWalls) -> Array:
        """An expression of products of a plan, over all polynomials, as it is tested with the modes of a space."""
        known = self._products_at_walls(self.between, plan)

        def at_walls(part: Node) -> Ends | None:
            """Values at the walls, as the modes of the space see them; None if unknown."""
            fluxes = known.fluxes(part, space.gives_values())
            return None if fluxes is None else known.values(part, fluxes, rows)

        return jnp.broadcast_to(rows.to_be_tested(node, at_walls), rows.space.modes.spectral_shape)

    def _products_at_walls(self, between: BetweenWalls, plan: Plan[Any]) -> ProductsAtWalls:
        upward = {self._upward(name) for name in between.solenoidal}
        scalars = {scalar for name in self.equation.fields for scalar in self.scalars(name)}
        return ProductsAtWalls(self.equation, plan, upward, scalars, between.unknowns)

    def _upward(self, name: str) -> Node:
        return self.scalars(name)[-1]

    def linear_changes(self, linear: LinearBetweenWalls, fields: Fields, rows: PolynomialRows) -> tuple[Fields, Fields]:
        """Changes by linear terms: those in L, on modes; and the others, with what L does to the lifting."""
        own = {name: fields[name] * self.rates(name, linear) for name in {**linear.decay, **linear.diffusion}}
        return own, self.with_lifting(self.tested(rows, linear.rest), linear)

    def with_lifting(self, changes: Fields, linear: LinearBetweenWalls) -> Fields:
        """Changes with what L does to the lifting of each field."""
        lifted = {name: self._of_lifting(name, linear) for name in {**linear.decay, **linear.diffusion}}
        added = {name: part for name, part in lifted.items() if part is not None}
        return {**changes, **{name: changes[name] + part if name in changes else part for name, part in added.items()}}

    def without_motion_of_lifting(self, changes: Fields) -> Fields:
        """Changes of fields, less the motion of their liftings under conditions that depend on time."""
        found = dict(changes)
        for name in self.equation.fields:
            space = self.equation.space(name)
            rate = space.rate_of_lifting
            if rate is not None:
                whole = jnp.broadcast_to(space.over_modes(rate), (len(rate), *space.modes.spectral_shape))
                moved = space.tested(whole.astype(space.coefficients.dtype))
                found[name] = found[name] - moved if name in found else -moved
        return found

    def mean_changes(self, fields: Fields, name: str) -> Array:
        """Means over the box of the rates of change of a velocity's components, without a force that keeps its mean."""
        space, between = self.equation.space(name), self.between
        t = self.time(is_needed=self.text.plain.holds_time)
        rows, _ = self.products(between.plan, self.rows(fields, t), None)
        decay, diffusion = (self._number(of.get(name)) for of in (between.linear.decay, between.linear.diffusion))
        c = space.series(fields[name])
        linear = space.means_of_polynomials(decay * c + diffusion * space.laplacian_of(c))
        right = [between.right.get(scalar, ZERO) for scalar in self.scalars(name)]
        parts = [self.to_be_tested(rows, node, between.plan, space) for node in right]
        return linear + space.means_of_polynomials(jnp.stack(parts))

    def right_of(self, plan: Plan[Node], fields: Fields, name: str) -> Array:
        """Polynomials of the right-hand side of each component of a field without unknowns, by any plan."""
        space, linear = self.equation.space(name), self.between.linear
        rows, _ = self.products(plan, self.rows(fields), None)
        decay, diffusion = (self._number(of.get(name)) for of in (linear.decay, linear.diffusion))
        c = space.series(fields[name])
        others = [plus((plan.rows.get(s, ZERO), linear.rest.get(s, ZERO))) for s in self.scalars(name)]
        return decay * c + diffusion * space.laplacian_of(c) + jnp.stack([rows.on_all_modes(node) for node in others])

    def rates(self, name: str, linear: LinearBetweenWalls) -> Array:
        """−μ + ν∇² of each mode of a field [1/time]."""
        space = self.equation.space(name)
        decay, diffusion = (self._number(of.get(name)) for of in (linear.decay, linear.diffusion))
        return jnp.where(space.holds(), decay + diffusion * space.laplacian(), 0)

    def _number(self, node: Node | None) -> Any:
        return jnp.real(multiplied_out(self.modes(0.0).value(ZERO if node is None else node)))

    def _of_lifting(self, name: str, linear: LinearBetweenWalls) -> Array | None:
        """L of the lifting of a field."""
        space = self.equation.space(name)
        if space.lifting is None or not (name in linear.decay or space.lifting_diffuses):
            return None
        c = space.with_lifting(
            jnp.zeros((len(space.component_names), *space.modes.spectral_shape), space.coefficients.dtype)
        )
        decay, diffusion = (self._number(of.get(name)) for of in (linear.decay, linear.diffusion))
        return space.tested(decay * c + diffusion * space.laplacian_of(c))


def _by_slot(function: AtPoints, values: Any) -> dict[Node, Array]:
    """Values of inner fields by the slots of a function, if it holds any."""
    return {Slot("inner", slot): u for slot, u in zip(function.inner, values, strict=False)}


def _is_across(node: Node, dimensions: int) -> bool:
    """True of a derivative across the walls."""
    return isinstance(node, Derivative) and node.axis == dimensions - 1


def _largest(sizes: Sequence[Array]) -> Array:
    return reduce(jnp.maximum, sizes)


def _spectral_radius(matrix: Array) -> Array:
    """The largest eigenvalue of a matrix without negative entries, from a high power of it: right to some percent."""
    scale = jnp.zeros((), matrix.dtype)
    for doubling in range(DOUBLINGS):
        largest = jnp.max(matrix)
        divisor = jnp.where(largest > 0, largest, 1)
        scale = scale + jnp.log(divisor) / 2**doubling
        matrix = (matrix / divisor) @ (matrix / divisor)
    largest = jnp.max(matrix)
    of_power = jnp.log(jnp.where(largest > 0, largest, 1)) / 2**DOUBLINGS
    return jnp.where(largest > 0, jnp.exp(scale + of_power), 0)


class DynamicsBetweenWalls(TextDynamics):
    """L, N and the rate of an equation of a text between walls."""

    on_grid: EvaluationBetweenWalls

    def __init__(self, equation: Any) -> None:
        self.equation, self.on_grid = equation, EvaluationBetweenWalls(equation)

    def linear(self) -> Diagonal:
        on_grid = self.on_grid
        return Diagonal({name: on_grid.rates(name, on_grid.between.linear) for name in self.equation.fields})

    def _further_rate(self) -> ArrayLike:
        """With the rate of linear terms that are evaluated with N: the spectral radius of their sizes, for the shortest
        waves, and by way of unknowns for those that these carry fastest."""
        on_grid, scalars = self.on_grid, self.on_grid.derived.reduced.scalars
        symbols = on_grid.between.linear.symbols
        if not symbols:
            return super()._further_rate()
        modes = [OneMode(self.equation.all_numbers, k) for k in self._shortest_waves()]
        size = lambda pair: _largest([jnp.abs(jnp.asarray(multiplied_out(m.value(symbols[pair])))) for m in modes])  # noqa: E731
        through = rates_through_unknowns(on_grid)
        rows = [
            [(size((to, of)) if (to, of) in symbols else 0.0) + through.get((to, of), 0.0) for of in scalars]
            for to in scalars
        ]
        sizes = jnp.stack([jnp.stack([jnp.asarray(v, self.equation.grid.dtype) for v in row]) for row in rows])
        return super()._further_rate() + _spectral_radius(sizes)

    def _shortest_waves(self) -> list[list[float]]:
        """Wavenumbers of waves as short as the spacing of the points, in all directions that differ in sign; across the
        walls as steep as ∂/∂z of modes can be."""
        *along, across = (1 / spacing for spacing in self.equation.grid.spacing)
        points = self.equation.grid.shape[-1]
        each = [*along, across * max(1.0, STEEPEST * points)]
        signs = itertools.product((1, -1), repeat=len(each) - 1)
        return [[k * sign for k, sign in zip(each, (1, *rest), strict=True)] for rest in signs]

    def unsolved_modes(self) -> dict[str, Array]:
        return unsolved_modes(self.on_grid)

    def rate(self, fields: Fields) -> Array:
        largest, on_grid = self._largest, self.on_grid
        if largest is None:
            return jnp.asarray(self._further_rate(), self.equation.grid.dtype)
        _, found = on_grid.products(on_grid.derived.plan, on_grid.rows(fields), largest)
        return found + self._further_rate()

    def _evaluated(self, fields: Fields, t: ArrayLike, largest: AtPoints | None) -> tuple[Fields, Any]:
        between = self.on_grid.between
        equation = with_walls_at(self.equation, t)
        on_grid = self.on_grid if equation is self.equation else EvaluationBetweenWalls(equation)
        rows, found = on_grid.products(between.plan, on_grid.rows(fields, t), largest)
        changes = on_grid.tested(rows, between.right)
        changes = on_grid.without_motion_of_lifting(on_grid.with_lifting(changes, between.linear))
        for name, field in self.equation.fields.items():
            if field.zero_mean and name in changes:
                changes[name] = self.equation.space(name).as_declared(changes[name], ZERO_MEAN)
        shapes = {name: space.coefficients for name, space in self.equation.spaces.items()}
        return {name: changes.get(name, jnp.zeros(of.shape, of.dtype)) for name, of in shapes.items()}, found


def unknowns_at_points(equation: Any) -> dict[str, tuple[Callable[[Fields], Array], str]]:
    """Function of the fields that gives each unknown with conditions at walls at the points, and its units, by name."""
    if not equation.grid.walls or equation.text is None:
        return {}
    unknowns = {name: rank for name, rank in equation.whole_text.unknowns if name in equation.walls}
    units = derived_units(equation.whole_text, {name: field.units for name, field in equation.fields.items()})
    return {name: (partial(_at_points, equation, name), units.get(name, "")) for name in unknowns}


def _at_points(equation: Any, name: str, fields: Fields) -> Array:
    rows = EvaluationBetweenWalls(equation).rows(fields)
    values = rows.space.at_points(jnp.stack([c for scalar, c in rows.coefficients.items() if named(scalar) == name]))
    return values[0] if len(values) == 1 else values
