"""Equations on whose flow bodies and sponges act: what steppers and outputs ask of them about these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.bodies import Obstacles
from solver.bodies.base import Obstacle, Scene, known
from solver.bodies.obstacles import ONLY, by_name
from solver.equations.at_points import KEPT, AtPoints, of_scalar
from solver.equations.budget import Budget
from solver.equations.changes import Changes
from solver.equations.companion import Companion, together
from solver.equations.free_bodies import MOTION, FreeBodies
from solver.equations.on_bodies import forces, units, warnings
from solver.equations.reported import Reported, whole
from solver.equations.reporting import Mask, kinematic_viscosity
from solver.mesh import on_gpu, placed
from solver.operators import Fields
from solver.spaces import NotInSpace
from solver.written.energies import vector_of
from solver.written.text import Text


class WithBodies(Reported):
    """An equation whose text may say that bodies act on it, as `solver.written.obstacles` has it; or does not.

    `kept_of_bodies` is what bodies at rest do at all points, within a step: `prepared` fills it.
    """

    kept_of_bodies: Any = eqx.field(default=None, kw_only=True, init=False, repr=False)

    @property
    def _text_with_obstacles(self) -> Text:
        obstacles, text = self.obstacles, self.text
        if obstacles is None:
            return text.without_obstacles
        conditions = obstacles.conditions
        return text.with_obstacles(self.grid.dimensions, move=not obstacles.are_at_rest, conditions=conditions)

    @property
    def obstacles(self) -> Obstacles | None:
        """Bodies and sponges with what they need to know of the box and the fluid; None where there are none."""
        if self.bodies is None:
            return None
        return Obstacles(
            by_name(self.bodies), Scene(kinematic_viscosity(self), self.grid.spacing, self.grid.box.lengths)
        )

    def _check_bodies(self) -> None:
        if self.bodies is None:
            return
        if not self.text.takes_bodies:
            raise ValueError(f"{self.name}: its text says of no velocity, by penalise(…), that bodies act on it")
        if self.grid.dimensions == 1:
            raise ValueError(f"{self.name}: bodies in one dimension, where two or three are needed")
        try:
            _ = self.space(self.first_field).fourier
        except NotInSpace as error:
            raise ValueError(f"{self.name}: bodies: {error}") from None
        obstacles = self.obstacles
        assert obstacles is not None
        checked = obstacles.checked("body")
        object.__setattr__(self, "bodies", checked[ONLY] if isinstance(self.bodies, Obstacle) else checked)
        for name, kind in sorted(obstacles.conditions):
            scalars = self.text.scalars_at_bodies
            if name not in scalars:
                raise ValueError(
                    f"{kind} = {name!r} of a body or sponge: the scalars of {self.name} on which they act: "
                    f"{', '.join(scalars) or 'none'}"
                )
        for name, body in obstacles.free.items():
            if self.text.penalised not in self.fields:
                raise ValueError(
                    f"body.{name}.mass {body.mass}: {self.name} moves no velocity by itself, from whose change the "
                    "force on a free body could be told; without a mass it moves as it is told"
                )

    def on_bodies(self, fields: Fields, t: ArrayLike) -> dict[str, Array]:
        """Forces and torques on the bodies by column of the series, `NAME_force_x`; costs an evaluation of N."""
        placed = self.at_motion(fields, t)
        obstacles = placed.obstacles
        name = self.text.penalised
        if obstacles is None or not obstacles.bodies or not name:
            return {}
        if name in self.fields:
            linear = self.linear().apply(self.fields_alone(fields))
            u, change = placed.velocity_and_change(fields, linear, self.nonlinear(fields, t))
        else:
            hats = jnp.stack([self._rows(fields).whole(part) for part in vector_of(name, self.worked.less)])
            u = self.transform.inverse(hats)
            change = jnp.zeros_like(u)
        return forces(obstacles, self.grid, u, change, t)

    def velocity_and_change(self, fields: Fields, linear: Fields, nonlinear: Fields) -> list[Array]:
        """u and its u_t without forcings, L u + N, at the points; in 3-D six transforms."""
        name = self.text.penalised
        change = linear[name] + nonlinear[name]
        return jnp.split(self.space(name).inverse(jnp.concatenate([fields[name], change])), 2)

    def at_motion(self, fields: Fields, t: ArrayLike | None = None) -> WithBodies:
        """This equation with the bodies that the flow moves where `fields` says that they are, at time t."""
        obstacles = self.obstacles
        if MOTION not in fields or obstacles is None or not obstacles.free:
            return self
        moved: WithBodies = eqx.tree_at(lambda e: e.bodies, self, obstacles.at_motion(fields[MOTION], t))
        return moved

    def beside(self) -> dict[str, Companion]:
        obstacles, others = self.obstacles, super().beside()
        return others if obstacles is None or not obstacles.free else together({MOTION: FreeBodies()}, others)

    def fastest_decay(self) -> float:
        obstacles = self.obstacles
        if obstacles is None:
            return 0.0
        return max(known(one.fastest(obstacles.scene), 0.0) for one in obstacles.named.values())

    def warnings_on_bodies(self, row: dict[str, float], t: float) -> list[str]:
        return [] if self.obstacles is None else warnings(self.obstacles, row, t)

    def units_on_bodies(self) -> dict[str, str]:
        obstacles = self.obstacles
        return {} if obstacles is None or not self.text.penalised else units(obstacles, self.grid.dimensions)

    def mask_of_bodies(self, fields: Fields) -> Mask | None:
        obstacles = self.at_motion(fields).obstacles
        return obstacles.mask if obstacles is not None and obstacles.bodies else None

    def budget(self, fields: Fields, changes: Changes) -> Budget:
        """As that of every text; `body` holds what bodies do, where nothing else in N changes an energy."""
        budget = super().budget(fields, changes)
        if self.obstacles is None:
            return budget
        bare = self.text.without_obstacles.in_dimensions(self.grid.dimensions).energies
        of_bodies = lambda name: name in bare and not bare[name].nonlinear  # noqa: E731
        word = lambda name, cause: "body" if cause == "nonlinear" and of_bodies(name) else cause  # noqa: E731
        return {name: {word(name, cause): rate for cause, rate in rates.items()} for name, rates in budget.items()}

    def prepared(self) -> Any:
        """This equation with what bodies at rest do at all points, as steps use it: made once for all of them.

        Every device makes its own part. No communication.
        """
        obstacles = self.obstacles
        made = {} if obstacles is None else self._at_rest(obstacles)
        if not made:
            return self
        sharding, shape = self.grid.physical_sharding(), self.grid.physical_shape
        whole = lambda values: placed(jnp.broadcast_to(jnp.asarray(values, self.grid.dtype), shape), sharding)  # noqa: E731
        kept = {name: whole(values) for name, values in made.items()}
        return eqx.tree_at(lambda e: e.kept_of_bodies, self, kept, is_leaf=lambda leaf: leaf is None)

    def _at_rest(self, obstacles: Obstacles) -> dict[str, Any]:
        """The strength of bodies at rest, and what is done to scalars if that does not depend on time, by function."""
        at = self.grid.coordinates()
        made = {KEPT: obstacles.at_rest(at)} if any(o.is_at_rest for o in obstacles.named.values()) else {}
        scalars = {name for name, _ in obstacles.conditions} if obstacles.scalars_are_at_rest else set()
        for scalar in sorted(scalars):
            made |= of_scalar(obstacles, scalar, at, 0.0)
        return made

    def _rate_of_sealed(self, obstacles: Obstacles) -> ArrayLike:
        """κk²/4 of the scalars that do not pass a surface, k the largest wavenumber.

        With a CFL number of ½ every stepper is stable.
        """
        sealed = {name for name, kind in obstacles.conditions if kind == "sealed"}
        modes, diffusivities = self._modes(0.0), self.text.scalars_at_bodies if sealed else {}
        values = [jnp.abs(whole(modes.value(diffusivities[name]))) for name in sorted(sealed)]
        return sum((value * self.grid.k_corner**2 / 4 for value in values), start=0.0)

    def _with_obstacles(
        self, function: AtPoints, numbers: Mapping[str, Any], places: dict[str, Any] | None
    ) -> dict[str, Any] | None:
        """Places, with what bodies do there as arrays where they move: CPUs would work it out once for each product."""
        obstacles = self.obstacles if function.has_obstacles else None
        if obstacles is None or places is None or not obstacles.move or on_gpu(self.grid.mesh):
            return places
        arrays = function.obstacles_at_points(numbers, places, self.grid.physical_shape)
        sharding, dtype = self.grid.physical_sharding(), self.grid.dtype
        others = {name: place for name, place in places.items() if name != KEPT}  # which is part of an array now
        return others | {name: placed(a.astype(dtype), sharding) for name, a in arrays.items()}
