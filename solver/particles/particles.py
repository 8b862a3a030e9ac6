"""Base class of particles: points that the flow of an equation carries, with what each of them holds."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.discovery import ClassName
from solver.dynamics.budget import Changes
from solver.dynamics.companion import Companion, Step
from solver.grid import Grid, Storage
from solver.operators import Fields, normal
from solver.particles.exact_sum import LARGEST
from solver.particles.flow import Flow, FlowSource, velocity_of
from solver.particles.reflection import Reflection, bodies_of, by_body, by_walls, reflects
from solver.particles.splines import ORDERS, spline_error
from solver.particles.starts import STARTS, check_start, positions_at_start, positions_in
from solver.spaces import EVEN_POINTS, FOURIER, refuse_lacking

POSITION = "position"
TURNS = "turns"
KICKS = 2**31 - 3  # besides the keys of forcings and of shifted points


@dataclass(frozen=True)
class ParticleArray:
    """The array of particles in a state, `(number, particle)`: their positions and turns, and what they hold, by name.

    Args:
        holds: `scalar` or `vector` by name.
        dimensions: number of directions.
    """

    holds: Mapping[str, str]
    dimensions: int

    @property
    def rows(self) -> dict[str, slice]:
        """The rows of each name."""
        sizes = {POSITION: self.dimensions, TURNS: self.dimensions}
        sizes |= {name: self.dimensions if rank == "vector" else 1 for name, rank in self.holds.items()}
        ends = np.cumsum(list(sizes.values()))
        return {name: slice(int(end - size), int(end)) for (name, size), end in zip(sizes.items(), ends, strict=True)}

    def split(self, y: Array) -> dict[str, Array]:
        """The numbers of the particles by name."""
        return {name: y[part][0] if self.holds.get(name) == "scalar" else y[part] for name, part in self.rows.items()}

    def joined(self, named: Mapping[str, Array], y: Array) -> Array:
        """Inverse of `split`: an array like y; zero where nothing is named, and in the row of reflections."""
        parts = []
        for name, rows in self.rows.items():
            like = y[rows]
            parts.append(
                jnp.reshape(named[name], like.shape).astype(y.dtype) if name in named else jnp.zeros_like(like)
            )
        return jnp.concatenate([*parts, jnp.zeros_like(y[rows.stop :])])

    def wrapped(self, y: Array, grid: Grid) -> Array:
        """y with positions within the box where it is periodic, and whole turns."""
        rows = self.rows
        x, turns = y[rows[POSITION]], jnp.round(y[rows[TURNS]])
        lengths = jnp.asarray(grid.box.lengths, y.dtype)[:, None]
        over = jnp.floor(x / lengths)
        inside = x - over * lengths
        # a tiny negative x comes out as the length itself
        inside, over = jnp.where(inside >= lengths, 0, inside), over + (inside >= lengths)
        if grid.walls:
            goes_on = np.array(grid.periodic)[:, None]
            inside, over = jnp.where(goes_on, inside, x), over * goes_on
        return y.at[rows[POSITION]].set(inside).at[rows[TURNS]].set(turns + over)


class Particles(Companion):
    """Particles in a box, split over the devices by number. Subclass this for a kind of your own.

    The state holds, for each particle, its position within the box, how often it has turned around the box along each
    direction, and what `holds` names: one array `(number, particle)`, integrated by the stepper's own stages to its
    order. Values of the flow are interpolated by B-splines (`solver.particles.splines`); of fields on the same devices
    they have the same bits on any devices. A stage costs one batched inverse transform of the components that it needs,
    in addition to the transforms of the equation, and two all-to-all exchanges of positions and values.

    Between walls the splines across them have knots as dense as the points are, and the flow's values at the walls. A
    particle that a step has carried beyond a wall or into a body is reflected there; how often that was is a column of
    series.csv.

    A subclass gives `motion`, and `name`; also `holds` where a particle has more than a position, and `start_of` where
    that does not start at zero. Its parameters are annotated attributes with defaults, and keys of `[particles.NAME]`.

    Args:
        count: number of particles; not given where a file or an array has their positions, static.
        start: `uniform`: anywhere in the box with the same probability, drawn by number, so that they are the same on
            any devices; `lattice`: n points in each direction, `count` = nᵈ; `pairs`: particles 0 and 1, 2 and 3, … at
            `distance` from each other in a random direction, the first of each anywhere; `file`: positions in the file
            `path`; or a function of your own, in a run file `my.py:start`, see `starts.positions_of`, static.
        distance: distance of the two particles of a pair [length], static.
        path: file with a row of a number for each direction [length] for each particle: .npy, .csv, .txt, or .h5 with a
            dataset `position`, static.
        sha256: checksum of that file, filled in where a run file names it, static.
        places: positions `(particle, direction)` [length], in Python instead of `count` and `start`.
        field: vector that carries them, a field of the equation or made of its fields; its velocity if not given,
            static.
        order: order of the splines, 4, 6 or 8; or `spectral` for the exact sum over all modes, which costs a time that
            grows as the number of particles times the number of modes: for few particles and tests; static.
        precision: `grid`, or `float32` for the flow at the particles: transforms and sums in single precision,
            positions in the precision of the grid, static.
        release: time at which they begin to move [time], with the first step that begins then or later; from the start
            if not given.
        seed: seed of random starts, which depend on nothing else, so that particles of other names with the same seed
            start at the same places, static.

    Raises:
        ValueError: numbers that make no sense, or an equation without a velocity, or of complex fields.
    """

    count: int | None = eqx.field(default=None, static=True)
    start: str | Callable[..., Any] = eqx.field(default="uniform", static=True)
    distance: float | None = eqx.field(default=None, static=True)
    path: str | None = eqx.field(default=None, static=True)
    sha256: str | None = eqx.field(default=None, static=True)
    places: Any = None
    field: str | None = eqx.field(default=None, static=True)
    order: int | Literal["spectral"] = eqx.field(default=6, static=True)
    precision: Literal["grid", "float32"] = eqx.field(default="grid", static=True)
    release: ArrayLike | None = None
    seed: int = eqx.field(default=0, static=True)

    name: ClassVar[Any] = ClassName()
    holds: ClassVar[Mapping[str, str]] = {}  # what a particle has besides its position: `scalar` or `vector` by name

    @abstractmethod
    def motion(self, flow: Flow, particle: Mapping[str, Array], t: ArrayLike) -> Mapping[str, Array]:
        """Rates of change of `position` and of the numbers that a particle `holds`, by name; zero where none is given.

        Args:
            flow: the flow where the particles are: `flow.velocity`, `flow.gradient`, `flow.acceleration`,
                `flow["temperature"]`; quantities that are not used cost nothing.
            particle: `position` `(direction, particle)` in the box, and what it `holds`: vectors of the same shape,
                scalars `(particle,)`.
            t: time.
        """

    def start_of(self, flow: Flow, particle: Mapping[str, Array]) -> Mapping[str, Array]:
        """Numbers that the particles hold at the start, by name; zero by default."""
        return {}

    def kick(self, particle: Mapping[str, Array], dt: ArrayLike, normal: Any) -> Mapping[str, Array]:
        """Random changes within a time dt, by name: half of them come before a step, half after; none by default.

        Args:
            particle: as in `motion`.
            dt: time.
            normal: function of a name that gives normal numbers of the shape of `particle[name]`, of mean 0 and
                variance 1, drawn by particle and step.
        """
        return {}

    def reflected(self, particle: Mapping[str, Array], normal: Array, surface: Array) -> Mapping[str, Array]:
        """Numbers that particles hold after an elastic reflection by a wall or body, by name; by default as before.

        Multistep steppers are refused where a class has this method.

        Args:
            particle: as in `motion`.
            normal: unit vector perpendicular to the surface, into the fluid `(direction, particle)`.
            surface: velocity of the surface there `(direction, particle)` [length/time].
        """
        return {}

    # ---- as a companion -------------------------------------------------------------------------------------

    def __check_init__(self) -> None:
        named = f"particles {self.name}"
        if (self.start == "file") != (self.path is not None):
            raise ValueError(f"{named}: a path is needed with start = 'file', and with that alone")
        given = [name for name in ("count", "path", "places") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"{named} with {' and '.join(given) or 'no count'}: one of count, path and places is needed"
            )
        if self.count is not None and self.count < 1:
            raise ValueError(f"{named}: count = {self.count}; one or more is needed")
        for key, choices in {"start": STARTS, "order": ORDERS, "precision": ("grid", "float32")}.items():
            if getattr(self, key) not in choices and not (key == "start" and callable(self.start)):
                raise ValueError(
                    f"{named}: {key} = {getattr(self, key)!r}; one of {', '.join(map(str, choices))} is needed"
                )
        if (self.start == "pairs") != (self.distance is not None) or (self.distance is not None and self.distance < 0):
            raise ValueError(f"{named}: a positive distance is needed with start = 'pairs', and with that alone")

    def number(self) -> int:
        """Number of particles."""
        if self.count is not None:
            return self.count
        return len(positions_in(self.path)) if self.path is not None else len(self.places)

    def array(self, grid: Grid) -> ParticleArray:
        """Which rows of the array in the state hold what."""
        return ParticleArray(self.holds, grid.dimensions)

    def storage(self, equation: Any) -> Storage:
        return Storage("particles", count=self.number())

    def initial(self, equation: Any, fields: Fields) -> Array:
        grid = equation.grid
        length = self.storage(equation).axes(grid)[0]
        named = {POSITION: positions_at_start(self, equation, length)}
        array = self.array(grid)
        last = list(array.rows.values())[-1]
        y = jnp.zeros((last.stop + reflects(equation), length), grid.dtype)  # one row more counts reflections
        particle = array.split(array.joined(named, y))
        if type(self).start_of is not Particles.start_of:
            named |= self._asked(equation, fields, None, particle, self.start_of)
        y = self._within(array.joined(named, y), equation, 0.0)
        return y.at[-1].set(0) if reflects(equation) else y

    def rates(self, equation: Any, y: Array, fields: Fields, changes: Changes, t: ArrayLike) -> Array:
        array = self.array(equation.grid)
        motion = lambda flow, particle: self.motion(flow, particle, t)  # noqa: E731
        return array.joined(self._asked(equation, fields, changes, array.split(y), motion), y)

    def before_step(self, equation: Any, y: Array, step: Step) -> Array:
        kicked = self._kicked(equation, y, step, 0)
        return self._within(kicked, equation, step.t) if reflects(equation) and kicked is not y else kicked

    def after_step(self, equation: Any, y: Array, step: Step) -> Array:
        moved = self._within(self._kicked(equation, y, step, 1), equation, step.t + step.dt)
        if self.release is None:
            return moved
        return jnp.where(jnp.asarray(step.t, y.dtype) < self.release, step.start, moved)

    def check(self, equation: Any) -> None:
        if not equation.grid.walls:
            refuse_lacking(equation.spaces.values(), (FOURIER, EVEN_POINTS), f"particles {self.name}")
        if not equation.grid.real:
            raise ValueError(f"particles {self.name}: {equation.name} has complex fields alone; real ones are needed")
        velocity_of(equation, self.field, {name: space.coefficients for name, space in equation.spaces.items()})
        check_start(self, equation.grid)
        _check_cost(self, equation.grid)

    def warnings(self, equation: Any) -> list[str]:
        layout = equation.grid.layout
        along = range(layout.dimensions - layout.walls)
        highest = max((2 * np.pi * layout.highest_mode(axis) / layout.points[axis] for axis in along), default=0.0)
        if highest <= 2 * np.pi / 3 or isinstance(self.order, str):
            return []
        return [
            f"dealias {str(equation.grid.dealias)!r} keeps waves up to k h = {highest:.3g}, of which splines of order "
            f"{self.order} have an error of {spline_error(highest, self.order):.2g}: two-thirds keeps them below 2.1"
        ]

    def jumps(self, equation: Any) -> bool:
        return reflects(equation) and type(self).reflected is not Particles.reflected

    def series(self, equation: Any, y: Array, fields: Fields, t: ArrayLike) -> Mapping[str, Array]:
        if not reflects(equation):
            return {}
        return {self._column(equation): jnp.sum(y[-1, : self.number()])}

    def units(self, equation: Any) -> Mapping[str, str]:
        return {self._column(equation): "1"} if reflects(equation) else {}

    def row_warnings(self, equation: Any, row: Mapping[str, float]) -> list[str]:
        moves_as_fluid = type(self).reflected is Particles.reflected and type(self).kick is Particles.kick
        count = row[self._column(equation)] if equation.grid.walls and moves_as_fluid else 0
        if not count:
            return []
        name = self._column(equation)
        return [
            f"{name} = {count:.0f}: steps carried particles beyond a wall, which no flow does: a shorter step is needed"
        ]

    def _column(self, equation: Any) -> str:
        """The column of series.csv with the number of reflections so far."""
        return f"{next(name for name, one in particles_of(equation).items() if one is self)}_reflections"

    def unwrapped(self, y: np.ndarray, lengths: Any) -> np.ndarray:
        """Positions `(particle, direction)` that count the turns around the box [length], in double precision."""
        d = len(lengths)
        x, turns = np.asarray(y[:d], np.float64), np.asarray(y[d : 2 * d], np.float64)
        return (x + turns * np.asarray(lengths)[:, None]).T[: self.number()]

    # ---- parts of these -------------------------------------------------------------------------------------

    def _asked(
        self,
        equation: Any,
        fields: Fields,
        changes: Changes | None,
        particle: dict[str, Array],
        fn: Callable[[Any, dict[str, Array]], Mapping[str, Array]],
    ) -> dict[str, Array]:
        """Result of a function of the flow and the particles, for which only what it uses is computed."""
        source = FlowSource(equation, fields, changes, self.field)
        asked = source.asked_by(fn, particle)
        return dict(fn(source.at(particle[POSITION], asked, self.order, self.precision == "float32"), particle))

    def _kicked(self, equation: Any, y: Array, step: Step, which: int) -> Array:
        if type(self).kick is Particles.kick:
            return y
        if isinstance(step.key, tuple):
            raise ValueError(f"particles {self.name} move at random: initial_state needs a seed")
        array = self.array(equation.grid)
        particle = array.split(y)
        key = jax.random.fold_in(jax.random.fold_in(step.key, KICKS), 2 * step.number + which)

        def normal_of(name: str) -> Array:
            rows = array.rows[name]
            keys = [jax.random.fold_in(key, row) for row in range(rows.start, rows.stop)]
            # a row at a time: the number of a particle does not depend on how many there are
            drawn = jnp.stack([normal(k, (y.shape[1],), y.dtype) for k in keys])
            return drawn.reshape(particle[name].shape)

        return y + array.joined(self.kick(particle, jnp.asarray(step.dt, y.dtype) / 2, normal_of), y)

    def _within(self, y: Array, equation: Any, t: ArrayLike) -> Array:
        """y with positions in the box and outside of bodies at time t: turns are counted, and surfaces reflect."""
        grid, array = equation.grid, self.array(equation.grid)
        for body in bodies_of(equation).values():
            y = self._reflected(y, grid, by_body(y[array.rows[POSITION]], body, equation.obstacles.scene, t))
        y = array.wrapped(y, grid)
        return self._reflected(y, grid, by_walls(y[array.rows[POSITION]], grid)) if grid.walls else y

    def _reflected(self, y: Array, grid: Grid, found: Reflection) -> Array:
        """y after reflections, which are counted."""
        array = self.array(grid)
        particle = {**array.split(y), POSITION: found.position}
        changed = {**particle, **self.reflected(particle, found.normal, found.surface)}
        counted = jnp.round(y[-1]) + found.count
        is_turned = found.count % 2 == 1
        held = {name: jnp.where(is_turned, changed[name], own) for name, own in particle.items()}
        return array.joined(held, y).at[-1].set(counted)


def particles_of(equation: Any) -> dict[str, Particles]:
    """The particles among the companions of an equation, by name."""
    return {name: one for name, one in equation.companions_by_name().items() if isinstance(one, Particles)}


def _check_cost(particles: Particles, grid: Grid) -> None:
    """Raises ValueError for sums over all modes that would take minutes."""
    modes, count = math.prod(grid.logical_spectral_shape), particles.number()
    if particles.order == "spectral" and count * modes > LARGEST:
        raise ValueError(
            f"particles {particles.name}: order = 'spectral' with {count} particles and {modes} modes; "
            f"{LARGEST // modes} particles or fewer are possible, or an order of 4, 6 or 8 is needed"
        )
