"""Written expressions in the modes of a grid: symbols of linear operators, and right-hand sides from products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from solver.dynamics.at_points import FUNCTIONS
from solver.dynamics.own_symbol import OwnSymbol
from solver.dynamics.symbol_value import SymbolValue
from solver.mesh import on_gpu
from solver.spaces import Space
from solver.written.components import ONE
from solver.written.rates import LARGE, Coefficient
from solver.written.symbols import VANISHES, Modes
from solver.written.tree import Call, Derivative, Label, Negative, Node, Number, Product, Quotient, Slot, Solved, Sum
from solver.written.vocabulary import COMPARED, OPERATORS

NO_FUNCTIONS: Mapping[str, Any] = MappingProxyType({})


class SymbolModes(Modes):
    """Symbols whose values keep i apart; each is computed once, or a program would be long to trace.

    Args:
        numbers: the parameters, by name.
    """

    def __init__(self, numbers: Mapping[str, Any]) -> None:
        self.numbers, self._values = numbers, dict[Node, Any]()

    def own(self, label: Label) -> SymbolValue:
        raise ValueError(f"symbol({label.function}, …) is known at the modes of a grid alone")

    def value(self, symbol: Node) -> Any:
        if symbol not in self._values:
            self._values[symbol] = super().value(symbol)
        return self._values[symbol]

    def number(self, name: str, index: tuple[int, ...]) -> SymbolValue:
        if name not in self.numbers:
            raise ValueError(f"{name} and fields of another kind of space in one operator: each by itself is needed")
        value = self.numbers[name]
        for i in index:
            value = value[i]
        return SymbolValue.of(value)

    def compared(self, left: Any, sign: str, right: Any) -> SymbolValue:
        return SymbolValue(COMPARED[sign](*(jnp.real(SymbolValue.of(side).multiplied_out) for side in (left, right))))

    def function(self, name: str, *arguments: Any) -> SymbolValue:
        return SymbolValue(FUNCTIONS[name](*(SymbolValue.of(argument).multiplied_out for argument in arguments)))


class GridModes(SymbolModes):
    """Symbols on the modes of a space.

    Args:
        space: space of a field.
        numbers: the parameters, by name.
        functions: the functions of the text, by name.
    """

    def __init__(self, space: Space, numbers: Mapping[str, Any], functions: Mapping[str, Any] = NO_FUNCTIONS) -> None:
        super().__init__(numbers)
        self.space, self.slopes, self.functions = space, space.slopes(), functions

    def with_numbers(self, further: Mapping[str, Any]) -> GridModes:
        """The same modes with further numbers by name."""
        return GridModes(self.space, {**self.numbers, **further}, self.functions) if further else self

    def own(self, label: Label) -> SymbolValue:
        return SymbolValue(OwnSymbol(label, self.functions[label.function]).on(self.space.fourier))

    def derivative(self, axis: int) -> SymbolValue:
        if self.slopes[axis] is None:
            raise ValueError(
                f"d{'xyz'[axis]}(…): the derivative along {'xyz'[axis]} of a field of {self.space} is none; lap(…) and "
                "derivatives of even order are"
            )
        return SymbolValue(jnp.asarray(self.slopes[axis]), True)

    def laplacian(self) -> SymbolValue:
        return SymbolValue(self.space.laplacian())

    def inverse_laplacian(self) -> SymbolValue:
        return SymbolValue(self.space.inverse_laplacian())

    def fractional(self, power: Any) -> SymbolValue:
        grid = self.space.fourier
        exponent, largest = SymbolValue.of(power).multiplied_out, grid.k_corner
        relative = grid.k_squared() / largest**2
        if isinstance(exponent, float) and exponent == int(exponent):
            exponent = int(exponent)
        raised = jnp.where(relative == 0, 0, jnp.where(relative == 0, 1, relative) ** exponent)
        return SymbolValue(raised, scale=largest ** (2 * exponent))

    def mean(self, axes: Sequence[int]) -> SymbolValue:
        return SymbolValue(self.space.mean_modes(axes))

    def divided(self, above: Any, below: Any, size: Any) -> SymbolValue:
        above, below, size = map(SymbolValue.of, (above, below, size))
        vanishes = _vanishes(below, size)
        divisor = jnp.where(vanishes, 1, below.value)
        if on_gpu(self.space.grid.mesh):  # a reciprocal would be stored there; on CPUs complex division is slow
            return SymbolValue(jnp.where(vanishes, 0, above.value / divisor), above.by_i) / SymbolValue(1, below.by_i)
        return above * SymbolValue(jnp.where(vanishes, 0, 1 / divisor)) / SymbolValue(1, below.by_i)

    def vanishing(self, symbol: Sum) -> Array:
        """Marks modes that derivatives see, where a sum is no larger than rounding leaves of its terms."""
        values = [SymbolValue.of(self.value(term)) for term in symbol.terms]
        below, size = SymbolValue.of(sum(values)), SymbolValue.of(sum(map(abs, values)))
        is_seen = sum(jnp.abs(jnp.asarray(slope)) for slope in self.slopes if slope is not None) > 0
        return is_seen & self.space.modes.is_kept() & _vanishes(below, size)

    def mean_mode(self, number: Any) -> SymbolValue:
        """A number that is the same at all points, as coefficients."""
        return SymbolValue.of(number) * self.mean(())


def _vanishes(below: SymbolValue, size: SymbolValue) -> Array:
    """True at each mode where a divisor is no larger than the rounding errors of terms of this size."""
    return jnp.abs(below.value) <= VANISHES * size.value


class OneMode(SymbolModes):
    """Symbols at one wavenumber, of no grid.

    Args:
        numbers: the parameters, by name.
        wavenumbers: wavenumbers of the mode, along each axis [1/length].
    """

    def __init__(self, numbers: Mapping[str, Any], wavenumbers: Sequence[float]) -> None:
        super().__init__(numbers)
        self.wavenumbers, self.k_squared = wavenumbers, sum(k * k for k in wavenumbers)

    def derivative(self, axis: int) -> SymbolValue:
        return SymbolValue(self.wavenumbers[axis], True)

    def laplacian(self) -> SymbolValue:
        return SymbolValue(-self.k_squared)

    def inverse_laplacian(self) -> SymbolValue:
        return SymbolValue(-1 / self.k_squared)

    def fractional(self, power: Any) -> SymbolValue:
        return SymbolValue(self.k_squared ** SymbolValue.of(power).multiplied_out)

    def mean(self, axes: Sequence[int]) -> SymbolValue:
        chosen = [self.wavenumbers[axis] for axis in axes] if axes else self.wavenumbers
        return SymbolValue(0.0 if any(chosen) else 1.0)

    def divided(self, above: Any, below: Any, size: Any) -> SymbolValue:
        return SymbolValue.of(above) / below


class LargeMode(SymbolModes):
    """Symbols at one mode with a large wavenumber along an axis, where the leading order counts alone.

    Args:
        axis: axis along which the wavenumber points.
        dimensions: number of dimensions of space.
        numbers: the parameters, by name.
    """

    def __init__(self, axis: int, dimensions: int, numbers: Mapping[str, Any]) -> None:
        super().__init__(numbers)
        self.sizes = [LARGE if i == axis else 0.0 for i in range(dimensions)]

    def derivative(self, axis: int) -> SymbolValue:
        return SymbolValue(self.sizes[axis])

    def laplacian(self) -> SymbolValue:
        return SymbolValue(LARGE**2)

    def inverse_laplacian(self) -> SymbolValue:
        return SymbolValue(1 / LARGE**2)

    def fractional(self, power: Any) -> SymbolValue:
        return SymbolValue((LARGE**2) ** SymbolValue.of(power).multiplied_out)

    def mean(self, axes: Sequence[int]) -> SymbolValue:
        return SymbolValue(0.0 if not axes or any(self.sizes[axis] for axis in axes) else 1.0)

    def divided(self, above: Any, below: Any, size: Any) -> SymbolValue:
        return SymbolValue.of(above) / below

    def leading(self, number: Coefficient) -> Any:
        """The number in front of the leading order."""
        product = SymbolValue.of(self.value(number.outer)) * SymbolValue.of(self.value(number.inner))
        return product.multiplied_out / LARGE**number.order


class Rows:
    """Right-hand sides on a grid, from coefficients of fields and products.

    Args:
        modes: modes of the grid.
        coefficients: coefficients of scalars of the fields and of products, by node.
        fields: the fields as they are, if they are at hand: all components of each in one array.
        others: rows of the fields whose spaces are of other kinds, each with the modes of one kind.
    """

    def __init__(
        self,
        modes: GridModes,
        coefficients: Mapping[Node, Array],
        fields: Mapping[str, Array] | None = None,
        others: Sequence[Rows] = (),
    ) -> None:
        self.modes, self.coefficients, self.fields, self.others = modes, coefficients, fields, tuple(others)

    @property
    def by_kind(self) -> tuple[Rows, ...]:
        """The rows of each kind of spaces."""
        return self, *self.others

    def with_products(self, made: Mapping[int, Array], *of_others: Mapping[int, Array]) -> Rows:
        """These rows with products of a plan, by their numbers, for each kind of spaces."""
        products: dict[Node, Array] = {Slot("product", i): part for i, part in made.items()}
        known = {**self.coefficients, **products}
        others = [other.with_products(own) for other, own in zip(self.others, of_others, strict=True)]
        return type(self)(self.modes, known, self.fields, others)

    def of(self, node: Node) -> Rows:
        """The rows of the kind whose coefficients an expression holds."""
        return next((rows for rows in self.by_kind if not rows.is_number(node)), self)

    def on_all_modes(self, node: Node) -> Array:
        """Coefficients of an expression, over all modes of the space."""
        modes = self.modes.space.modes
        values = jnp.broadcast_to(self.term(node).multiplied_out, modes.spectral_shape)
        return values.astype(modes.complex_dtype)

    def mean(self, node: Node) -> Array:
        """The mean of an expression over the box."""
        rows = self.of(node)
        return jnp.real(jnp.sum(jnp.where(rows.modes.mean(()).value, rows.on_all_modes(node), 0)))

    def is_number(self, node: Node) -> bool:
        """True if an expression holds neither fields nor products."""
        return not any(part in self.coefficients for part in node.walk())

    def term(self, node: Node) -> SymbolValue:
        """Value of a term at each mode; a number is the same at all points, and has a mean mode alone."""
        if isinstance(node, Number) and node.value == 0:
            return SymbolValue(0.0)
        return self.modes.mean_mode(self.modes.value(node)) if self.is_number(node) else self.varying(node)

    def varying(self, node: Node) -> SymbolValue:
        """An expression that is linear in fields and products."""
        if node in self.coefficients:
            return SymbolValue(self.coefficients[node])
        match node:
            case Sum(terms):
                return sum(map(self.term, terms), start=SymbolValue(0.0))
            case Negative(of):
                return -self.varying(of)
            case Product(left, right):
                number, other = (left, right) if self.is_number(left) else (right, left)
                return SymbolValue.of(self.modes.value(number)) * self.varying(other)
            case Quotient(above, below):
                return self.varying(above) / self.modes.value(below)
            case Derivative(of, axis):
                return self.modes.derivative(axis) * self.term(of)
            case Solved(of, by):
                return self.term(of) * self.modes.value(Solved(ONE, by))
            case Call("cause" | "explicit", arguments):
                return self.term(arguments[-1])
            case Call(function, (of, *others)) if function in OPERATORS:
                return SymbolValue.of(self.modes.value(Call(function, (ONE, *others)))) * self.term(of)
        raise TypeError(f"{type(node).__name__} is no part of a right-hand side")
