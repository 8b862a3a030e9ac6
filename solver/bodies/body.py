"""`Body`: the place, the motion and the surface of a body, and the distance of points from it."""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.discovery import ClassName

AXES = ("x", "y", "z")
Axis: TypeAlias = Literal["x", "y", "z"]
Point: TypeAlias = Sequence[Any]  # an array for each axis, which broadcast against each other
SECOND_ORDER = 2.64822828  # δ/√(ην) with which the mean flow does not see the wall displaced
LEAST_FLUID = 0.01  # in solids that a scalar does not enter, so that the equation for it has no singularity
SPACINGS = 3.0  # across the layer, where η is not given


class Scene(eqx.Module):
    """The box and the fluid around bodies.

    Args:
        viscosity: ν of the fluid [length²/time]; None for an equation without viscosity.
        spacing: spacing of the points along each axis [length], static.
        lengths: lengths of the box [length], static.
    """

    viscosity: Any
    spacing: tuple[float, ...] = eqx.field(static=True)
    lengths: tuple[float, ...] = eqx.field(static=True)

    @property
    def dimensions(self) -> int:
        """Number of dimensions of space."""
        return len(self.lengths)

    def wrapped(self, at: Point, axes: Sequence[int] | None = None) -> list[Any]:
        """Differences of coordinates along axes, all by default, taken to the nearest of the periodic images."""
        lengths = self.lengths if axes is None else [self.lengths[axis] for axis in axes]
        return [r - length * jnp.round(r / length) for r, length in zip(at, lengths, strict=True)]


class Obstacle(eqx.Module):
    """Draws a velocity u towards a target u_s: adds −r(x, t)(u − u_s) to u_t, inside N and before the projection.

    Class attributes:
        name: in run files: the key `shape` of a body.

    Args:
        fixed: names of scalars that are drawn to a value in the same way, static.
        values: one number for each of them.
    """

    name: ClassVar[Any] = ClassName()

    fixed: tuple[str, ...] = eqx.field(default=(), kw_only=True, static=True, converter=tuple)
    values: tuple[ArrayLike, ...] = eqx.field(default=(), kw_only=True, converter=tuple)

    @property
    @abstractmethod
    def is_at_rest(self) -> bool:
        """True if r does not depend on time and u_s is zero: then r is made once and kept."""

    @abstractmethod
    def strength(self, at: Point, t: ArrayLike, scene: Scene) -> Array:
        """r at points [1/time]."""

    @abstractmethod
    def towards(self, at: Point, t: ArrayLike, scene: Scene) -> list[Any]:
        """u_s at points, one entry for each direction [length/time]."""

    @abstractmethod
    def fastest(self, scene: Scene) -> ArrayLike:
        """The largest value that r can have [1/time], for CFL numbers."""

    @abstractmethod
    def check(self, key: str, scene: Scene) -> list[Any]:
        """Refuse what the box cannot hold. Touches no device.

        Args:
            key: names it in messages.
            scene: the box and the fluid around the body.

        Returns:
            Conditions on numbers that are being traced, as `need` gives them. Where one does not hold, the numbers of
            the obstacle are made none, since nothing can be raised.

        Raises:
            ValueError: a parameter has a wrong value; the message names the value needed.
        """

    def need_positive(self, name: str, needed: str = "a positive length is needed") -> None:
        """`positive` of an attribute, for `__check_init__`; traced numbers become NaN where it fails."""
        positive(name, getattr(self, name), needed)
        mark = lambda leaf: nothing_unless(leaf > 0, leaf) if isinstance(leaf, jax.core.Tracer) else leaf  # noqa: E731
        object.__setattr__(self, name, jax.tree.map(mark, getattr(self, name)))

    def check_values(self, key: str) -> None:
        """Refuse values of scalars that are not as many as their names."""
        if len(self.values) != len(self.fixed):
            raise ValueError(f"{key}.values {list(self.values)}: {len(self.fixed)} are needed, one for each of fixed")


class Body(Obstacle):
    """A solid body, by volume penalisation: r = χ/η, χ = ½(1 − tanh(2d/δ)), d the distance from its surface.

    With δ = 2.64822828·√(ην) the error of the flow outside is of first order in η: the layer is as thick as it must be
    for the wall to stand where d = 0. A subclass gives `distance`, and has its shape's parameters as attributes;
    one whose motion is another function of time gives `displacement` or `angle` too, and says `moves = True`.

    Class attributes:
        moves: True if it moves without `velocity` or `rotation`.

    Args:
        velocity: V of the body [length/time], a number for each direction; none if None.
        rotation: Ω about its centre [radians/time]: a number in 2-D, three in 3-D; none if None.
        tilt: turned by this at time 0 [radians]: a number in 2-D; in 3-D three, about their direction by their size.
        frequency: f [1/time]: the velocity is V cos(2πft + φ), the rotation Ω cos(2πft + ψ); both steady if None.
        phase: φ [radians].
        rotation_phase: ψ [radians].
        eta: η > 0 [time], the time in which the flow inside follows the body; from the grid if None: the layer is then
            three spacings thick, η = (3h/2.648)²/ν.
        inverted: True if the fluid is inside and the solid outside, static.
        stream_speed: U of the stream in which the body stands [length/time]: the series then has the coefficients of
            drag and lift, F/(½U²A).
        sealed: names of the scalars that do not pass its surface, static. One that is neither fixed nor sealed goes
            through the body.
        reference_area: A of these coefficients: [length²] in 3-D, [length] in 2-D; that across the stream along x by
            default, where the shape knows it.

    Source: Hester, Vasil & Burns, J. Comput. Phys. 430 (2021) 110043 (arXiv:1903.11914); Angot, Bruneau & Fabrie,
    Numer. Math. 81 (1999) 497.
    """

    velocity: tuple[ArrayLike, ...] | None = eqx.field(default=None, kw_only=True)
    rotation: float | tuple[float, ...] | None = eqx.field(default=None, kw_only=True)
    tilt: float | tuple[float, ...] | None = eqx.field(default=None, kw_only=True)
    frequency: ArrayLike | None = eqx.field(default=None, kw_only=True)
    phase: ArrayLike = eqx.field(default=0.0, kw_only=True)
    rotation_phase: ArrayLike = eqx.field(default=0.0, kw_only=True)
    eta: ArrayLike | None = eqx.field(default=None, kw_only=True)
    inverted: bool = eqx.field(default=False, kw_only=True, static=True)
    stream_speed: ArrayLike | None = eqx.field(default=None, kw_only=True)
    reference_area: ArrayLike | None = eqx.field(default=None, kw_only=True)
    sealed: tuple[str, ...] = eqx.field(default=(), kw_only=True, static=True, converter=tuple)

    moves: ClassVar[bool] = False

    @abstractmethod
    def distance(self, r: Point, t: ArrayLike) -> Array:
        """Signed distance from the surface [length], positive in the fluid.

        Args:
            r: coordinates about the centre, turned with the body; of the nearest periodic image.
            t: time, for a shape that changes.
        """

    @abstractmethod
    def origin(self, dimensions: int) -> Sequence[Any]:
        """The centre at time 0 [length]."""

    def extent(self, dimensions: int) -> Sequence[Any] | None:
        """Half the size along each axis [length], infinite across the whole box; None where it is not known."""
        return None

    def thinnest(self, dimensions: int) -> Any:
        """Its thickness where it is thinnest [length]; infinite where it is not known."""
        return math.inf

    def frontal_area(self, lengths: Sequence[float]) -> Any:
        """The area across a stream along x, of a box of these lengths; None where it is not known."""
        return None

    def displacement(self, t: ArrayLike) -> Any:
        """Displacement since time 0 [length], a number for each direction; None if the body never moves."""
        return None if self.velocity is None else self._integrated(self.velocity, self.phase, t)

    def angle(self, t: ArrayLike) -> Any:
        """By how much it has turned since time 0 [radians]: a number in 2-D, three in 3-D; None if it never turns."""
        return None if self.rotation is None else self._integrated(self.rotation, self.rotation_phase, t)

    def spin(self, t: ArrayLike) -> Any:
        """Angular velocity [radians/time]: a number in 2-D, three in 3-D; None if the body never turns.

        In 3-D that is the angular velocity, θ̇ alone where the axis of θ stays as it is.
        """
        speed = _speed(self.angle, t, None)
        return speed if speed is None or jnp.ndim(speed) == 0 else _angular_velocity(self.angle(t), speed)

    def _integrated(self, amplitude: Any, phase: ArrayLike, t: ArrayLike) -> Array:
        amplitude = _stacked(amplitude)
        if self.frequency is None:
            return amplitude * t
        turns = 2 * math.pi * jnp.asarray(self.frequency)
        return amplitude * (jnp.sin(turns * t + phase) - jnp.sin(jnp.asarray(phase))) / turns

    def area(self, lengths: Sequence[float]) -> Any:
        """A of the coefficients: the given area, or the area across a stream along x where the shape knows it."""
        if self.reference_area is not None:
            return self.reference_area
        return self.frontal_area(lengths) if self.tilt is None else None

    # ---- in the flow --------------------------------------------------------------------------------------------

    @property
    def is_at_rest(self) -> bool:
        return self.velocity is None and self.rotation is None and not self.moves

    def penalisation_time(self, scene: Scene) -> Any:
        """η [time]."""
        if self.eta is not None:
            return self.eta
        return (SPACINGS * max(scene.spacing) / SECOND_ORDER) ** 2 / scene.viscosity

    def layer(self, scene: Scene) -> Any:
        """δ, the thickness of the layer in which χ falls from 1 to 0 [length]."""
        return SECOND_ORDER * (self.penalisation_time(scene) * scene.viscosity) ** 0.5

    def from_surface(self, at: Point, t: ArrayLike, scene: Scene) -> Array:
        """`distance` at points of the box [length]."""
        return self.distance(self._about_centre(at, t, scene)[1], t)

    def layers_deep(self, at: Point, t: ArrayLike, scene: Scene) -> Array:
        """4 times the depth below the surface, in thicknesses of the layer; negative in the fluid."""
        d = self.from_surface(at, t, scene)
        return 4 * (d if self.inverted else -d) / self.layer(scene)

    def mask(self, at: Point, t: ArrayLike, scene: Scene) -> Array:
        """χ at points: 1 in the solid, 0 in the fluid."""
        return jax.nn.sigmoid(self.layers_deep(at, t, scene))  # the same as ½(1 − tanh(2d/δ)), and faster

    def slope_of_fluid(self, at: Point, t: ArrayLike, scene: Scene) -> list[Array]:
        """∇ψ/ψ along each axis [1/length], ψ = 1 − χ + ε the share of the fluid, with ε so that ψ is never zero."""
        made: list[Array] = []
        for axis in range(scene.dimensions):
            along = [jnp.ones_like(x) if i == axis else jnp.zeros_like(x) for i, x in enumerate(at)]
            z, slope = jax.jvp(lambda *at: self.layers_deep(at, t, scene), tuple(at), tuple(along))
            fluid = jax.nn.sigmoid(-z)
            made.append(-slope * jax.nn.sigmoid(z) * fluid / (fluid + LEAST_FLUID))
        return made

    def strength(self, at: Point, t: ArrayLike, scene: Scene) -> Array:
        return self.mask(at, t, scene) / self.penalisation_time(scene)

    def towards(self, at: Point, t: ArrayLike, scene: Scene) -> list[Any]:
        r, _ = self._about_centre(at, t, scene)
        along, spin = _speed(self.displacement, t, scene.dimensions), self.spin(t)
        if spin is None:
            return along
        turning = [-spin * r[1], spin * r[0]] if scene.dimensions == 2 else cross(spin, r)
        return [a + b for a, b in zip(along, turning, strict=True)]

    def fastest(self, scene: Scene) -> ArrayLike:
        return 1 / self.penalisation_time(scene)

    def about_centre(self, at: Point, t: ArrayLike, scene: Scene) -> list[Any]:
        """Coordinates about the centre, of the nearest periodic image [length]."""
        return self._about_centre(at, t, scene)[0]

    def _about_centre(self, at: Point, t: ArrayLike, scene: Scene) -> tuple[list[Any], list[Any]]:
        """The same, and turned with the body."""
        moved, angle = self.displacement(t), self.angle(t)
        moved = [0.0] * scene.dimensions if moved is None else moved
        centre = self.origin(scene.dimensions)
        r = scene.wrapped([x - c - m for x, c, m in zip(at, centre, moved, strict=True)])
        own = r if angle is None else _turned_back(angle, r)
        return r, own if self.tilt is None else _turned_back(_stacked(self.tilt), own)

    # ---- refused ------------------------------------------------------------------------------------------------

    def check(self, key: str, scene: Scene) -> list[Any]:
        d, nu = scene.dimensions, scene.viscosity
        found = self._check_numbers(key, d)
        why = f"{key}: the layer of a body is as thick as viscosity makes it; viscosity > 0 is needed"
        if nu is None:
            raise ValueError(why)
        found += need(why, lambda nu: nu > 0, nu)
        found += positive(f"{key}.eta", self.eta, "a positive time is needed")
        half = self.extent(d) if self.tilt is None and not self.inverted else None
        for axis, size, length in zip(AXES, half or (), scene.lengths, strict=False):
            found += need(
                f"{key}: {2 * known(size):g} long along {axis}, in a box of {length:g}: at most that fits",
                lambda size: (size <= length / 2) | (size == math.inf),  # noqa: B023
                size,
            )
        layer, thin = self.layer(scene), self.thinnest(d)
        found += need(
            f"{key}: {known(thin):.4g} thick, with a layer of {known(layer):.4g} at its surface: a thicker body, a "
            "finer grid or a smaller eta is needed",
            lambda thin, layer: thin >= layer,
            thin,
            layer,
        )
        found += positive(f"{key}.stream_speed", self.stream_speed, "a positive speed is needed")
        found += positive(f"{key}.reference_area", self.reference_area, "a positive area is needed")
        if self.stream_speed is not None and self.area(scene.lengths) is None:
            raise ValueError(f"{key}.stream_speed {self.stream_speed}: reference_area is needed for this shape")
        return found

    def _check_numbers(self, key: str, d: int) -> list[Any]:
        turned: tuple[int, ...] = () if d == 2 else (3,)
        wanted = {"velocity": (d,), "rotation": turned, "tilt": turned}
        for name, shape in wanted.items():
            given = getattr(self, name)
            if given is not None and np.shape(given) != shape:
                many = "one number is" if shape == () else f"{shape[0]} numbers are"
                raise ValueError(f"{key}.{name} {given}: {many} needed in {d} dimensions")
        for name in (each.name for each in dataclasses.fields(self)):  # type: ignore[arg-type]
            if any(_is_complex(leaf) for leaf in jax.tree.leaves(getattr(self, name))):
                raise ValueError(f"{key}.{name} {getattr(self, name)}: a number that is not complex is needed")
        self.check_values(key)
        if both := sorted(set(self.fixed) & set(self.sealed)):
            raise ValueError(f"{key}: {both[0]} is fixed and sealed; one of them is needed")
        centre = self.origin(d)
        if len(centre) != d:
            raise ValueError(f"{key}.centre {list(map(known, centre))}: {d} numbers are needed")
        return positive(f"{key}.frequency", self.frequency, "a positive number is needed")


class Centred(Body):
    """A body about a centre.

    Args:
        centre: a number for each direction [length].
    """

    centre: tuple[ArrayLike, ...]

    def origin(self, dimensions: int) -> Sequence[Any]:
        return self.centre


def known(value: Any, traced: float = math.nan) -> float:
    """A number as Python's own; `traced` for one that is being traced, or for the largest of several numbers."""
    if isinstance(value, jax.core.Tracer | jax.ShapeDtypeStruct):
        return traced
    return float(np.max(np.asarray(value)))


def need(message: str, condition: Callable[..., Any], *given: Any) -> list[Any]:
    """Refuse numbers for which a condition does not hold.

    Args:
        message: names the value given and the value needed.
        condition: comparison of numbers or arrays.
        given: its arguments, each a number or an array.

    Returns:
        The condition, in a list, where one of the numbers is being traced; nothing otherwise.

    Raises:
        ValueError: the condition does not hold.
    """
    if any(isinstance(value, jax.ShapeDtypeStruct) for value in given):
        return []
    is_traced = any(isinstance(value, jax.core.Tracer) for value in given)
    # NumPy's, since JAX's own numbers would be traced under `jit` together with what is made of them
    holds = condition(*(value if isinstance(value, jax.core.Tracer) else np.asarray(value) for value in given))
    if is_traced:
        return [jnp.all(holds)]
    if not np.all(holds):
        raise ValueError(message)
    return []


def positive(key: str, given: Any, needed: str = "a positive length is needed") -> list[Any]:
    """`need` that all entries of a parameter are positive."""
    return [flag for value in jax.tree.leaves(given) for flag in need(f"{key} {given}: {needed}", _is_positive, value)]


def _is_positive(value: Any) -> Any:
    return value > 0


def nothing_unless(holds: Any, value: Any) -> Any:
    """A number or array, and not a number unless a traced condition holds; other than floating numbers as they are."""
    is_float = isinstance(value, float | np.ndarray | np.generic | jax.Array) and jnp.issubdtype(
        jnp.result_type(value), jnp.floating
    )
    return jnp.where(holds, value, jnp.nan) if is_float else value


def least(values: Sequence[Any]) -> Any:
    """The smallest of some numbers."""
    if any(isinstance(value, jax.core.Tracer) for value in values):
        return jnp.min(jnp.stack(list(map(jnp.asarray, values))))
    return min(values, key=known)


def _is_complex(leaf: Any) -> bool:
    """True if a parameter is a complex number or array; a body may also hold functions and networks."""
    return isinstance(leaf, complex) or (
        isinstance(leaf, np.ndarray | np.generic | jax.Array) and bool(jnp.issubdtype(leaf.dtype, jnp.complexfloating))
    )


def root(square: Any) -> Any:
    """√s, with a derivative of zero at s = 0, where the root has no derivative."""
    return jnp.sqrt(jnp.maximum(square, jnp.finfo(jnp.result_type(float, square)).tiny))


def _stacked(numbers: Any) -> Array:
    return jnp.stack(list(map(jnp.asarray, numbers))) if isinstance(numbers, tuple | list) else jnp.asarray(numbers)


def _speed(moved: Callable[[Any], Any], t: ArrayLike, dimensions: int | None) -> Any:
    """The derivative of what has been moved, so that mask and target agree; 0 or None of what never moves."""
    if jax.eval_shape(moved, jax.ShapeDtypeStruct((), jnp.result_type(float))) is None:
        return None if dimensions is None else [0.0] * dimensions
    t = jnp.asarray(t, jnp.result_type(float, t))
    speed = jax.jvp(moved, (t,), (jnp.ones_like(t),))[1]
    return speed if dimensions is None else list(speed)


def _angular_velocity(angle: Array, speed: Array) -> Array:
    """ω = θ̇ + (1 − cos θ)/θ² θ × θ̇ + (θ − sin θ)/θ³ θ × (θ × θ̇) of the rotation by θ = |angle| about `angle`.

    Source: Iserles, Munthe-Kaas, Nørsett & Zanna, Acta Numerica 9 (2000) 215, appendix B.
    """
    square = jnp.sum(angle**2)
    is_small = square < 1  # where the differences below would lose digits, and nine terms of the series are exact
    size, small = jnp.sqrt(jnp.where(is_small, 1.0, square)), jnp.where(is_small, square, 0.0)
    series = [[(-1) ** j / math.factorial(2 * j + least) for j in range(9)] for least in (2, 3)]
    first, second = (jnp.polyval(jnp.asarray(terms[::-1], square.dtype), small) for terms in series)
    first = jnp.where(is_small, first, (1 - jnp.cos(size)) / size**2)
    second = jnp.where(is_small, second, (size - jnp.sin(size)) / size**3)
    once = jnp.cross(angle, speed)
    return speed + first * once + second * jnp.cross(angle, once)


def cross(a: Any, b: Sequence[Any]) -> list[Any]:
    """a × b, by components."""
    return [a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3] for i in range(3)]


def _turned_back(angle: Any, r: Sequence[Any]) -> list[Any]:
    """Coordinates in the frame of a body that has turned by an angle, in 3-D about the direction of a vector."""
    if len(r) == 2:
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        return [cos * r[0] + sin * r[1], cos * r[1] - sin * r[0]]
    size = root(jnp.sum(angle**2))
    axis = angle / size
    cos, sin = jnp.cos(size), jnp.sin(size)
    along = sum(a * x for a, x in zip(axis, r, strict=True)) * (1 - cos)
    return [cos * x - sin * c + a * along for x, c, a in zip(r, cross(axis, r), axis, strict=True)]
