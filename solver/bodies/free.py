"""Bodies that the flow moves: m dV/dt = F + (m − m_f) g, I dΩ/dt = T; m_f is the mass of the fluid in their place."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from solver.bodies.body import Centred, Scene, positive


class Round(Centred):
    """A body whose shape no rotation about its centre changes. With a mass it is free: the flow moves it.

    The fluid has density 1. Where a free body starts is its `centre`; `velocity` and `rotation` are those at the start.

    Args:
        mass: m > 0 of a free body [length³], of a disc in 2-D [length²]; None for one whose motion is given.
        moment_of_inertia: I > 0 about its centre [mass·length²]; the value of a homogeneous body if None.
        gravity: g [length/time²], a number for each direction; none if None.
    """

    mass: ArrayLike | None = eqx.field(default=None, kw_only=True)
    moment_of_inertia: ArrayLike | None = eqx.field(default=None, kw_only=True)
    gravity: tuple[ArrayLike, ...] | None = eqx.field(default=None, kw_only=True)
    motion: Any = eqx.field(default=None, kw_only=True, init=False, repr=False)  # of a free body, during one evaluation

    def __check_init__(self) -> None:
        object.__setattr__(self, "motion", None)  # an entry of the pytree, which `at_motion` fills

    @abstractmethod
    def displaced(self, lengths: Sequence[float]) -> Any:
        """m_f, the mass of the fluid in its place, in a box of these lengths."""

    @abstractmethod
    def gyration(self, dimensions: int) -> Any:
        """I/m of a homogeneous body [length²]."""

    def turns_about(self, dimensions: int) -> np.ndarray:
        """1 for each axis about which the flow turns it, else 0: one in 2-D, three in 3-D."""
        return np.ones(spins(dimensions))

    @property
    def is_free(self) -> bool:
        """True if the flow moves it."""
        return self.mass is not None

    @property
    def is_at_rest(self) -> bool:
        return super().is_at_rest and not self.is_free

    def motion_at_start(self, dimensions: int) -> Array:
        """Displacement (0), velocity and spin: a number for each direction, and one or three."""
        velocity = [0.0] * dimensions if self.velocity is None else self.velocity
        spin = np.zeros(spins(dimensions)) if self.rotation is None else self.rotation
        parts = [jnp.zeros(dimensions), jnp.stack(list(map(jnp.asarray, velocity))), jnp.atleast_1d(jnp.asarray(spin))]
        return jnp.concatenate([part.astype(jnp.result_type(float)) for part in parts])

    def at_motion(self, motion: Array, t: ArrayLike | None = None) -> Round:
        """The same body, where it is.

        Args:
            motion: as `motion_at_start` has it.
            t: time, where derivatives with respect to the time are taken.
        """
        now = (motion, t)
        moved: Round = eqx.tree_at(lambda body: body.motion, self, now, is_leaf=lambda leaf: leaf is None)
        return moved

    def accelerations(self, force: Sequence[Array], torque: Sequence[Array], scene: Scene) -> Array:
        """The time derivative of its motion under what the fluid exerts on it."""
        d = scene.dimensions
        assert self.mass is not None
        weight = self.mass - self.displaced(scene.lengths)
        gravity = [0.0] * d if self.gravity is None else self.gravity
        inertia = self.mass * self.gyration(d) if self.moment_of_inertia is None else self.moment_of_inertia
        along = [(f + weight * g) / self.mass for f, g in zip(force, gravity, strict=True)]
        turned = [axis * moment / inertia for axis, moment in zip(self.turns_about(d), torque, strict=True)]
        velocity = self.motion_now(d)[d : 2 * d]
        return jnp.concatenate([velocity, jnp.stack([jnp.asarray(a, velocity.dtype) for a in (*along, *turned)])])

    def motion_now(self, dimensions: int) -> Array:
        """As `motion_at_start`, where it is."""
        return self.motion_at_start(dimensions) if self.motion is None else self.motion[0]

    def displacement(self, t: ArrayLike) -> Any:
        if not self.is_free:
            return super().displacement(t)
        d = len(self.centre)
        moved, velocity = jnp.split(self.motion_now(d)[: 2 * d], 2)
        now = None if self.motion is None else self.motion[1]
        now = jax.lax.stop_gradient(t) if now is None else now
        t, now = (jnp.asarray(time, velocity.dtype) for time in (t, now))
        return moved + velocity * (t - now)  # zero, but its derivative is the velocity

    def angle(self, t: ArrayLike) -> Any:
        return None if self.is_free else super().angle(t)

    def spin(self, t: ArrayLike) -> Any:
        if not self.is_free:
            return super().spin(t)
        spin = self.motion_now(len(self.centre))[2 * len(self.centre) :]
        return spin[0] if len(self.centre) == 2 else spin

    def check(self, key: str, scene: Scene) -> list[Any]:
        found = super().check(key, scene)
        if self.mass is None:
            for name in ("moment_of_inertia", "gravity"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{key}.{name} {getattr(self, name)} needs mass")
            return found
        found += positive(f"{key}.mass", self.mass, "a positive number is needed")
        found += positive(f"{key}.moment_of_inertia", self.moment_of_inertia, "a positive number is needed")
        if self.gravity is not None and np.shape(self.gravity) != (scene.dimensions,):
            raise ValueError(f"{key}.gravity {self.gravity}: {scene.dimensions} numbers are needed")
        if self.frequency is not None:
            raise ValueError(f"{key}.frequency {self.frequency}: the flow moves a body that has a mass")
        if self.inverted:
            raise ValueError(f"{key}.inverted: the solid must be inside of a body that the flow moves")
        return found


def spins(dimensions: int) -> int:
    """Count the components of a body's angular velocity."""
    return 1 if dimensions == 2 else 3


def free_bodies(named: Mapping[str, Any]) -> dict[str, Round]:
    """Those that the flow moves, of obstacles by name."""
    return {name: body for name, body in named.items() if isinstance(body, Round) and body.is_free}
