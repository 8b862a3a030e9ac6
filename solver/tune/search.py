"""The search: first splits of the grid; then fields, parts of an exchange and waves with the best splits; then engines.

Candidates of a session take turns, so that a slow moment of the machine affects all of them. All values that decide are
equal on all processes, so all processes try the same candidates in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array

from solver import assemble
from solver.cluster import LOGGER, Agreement, FailedElsewhere, Watchdog, largest, require_same
from solver.config import Config
from solver.dynamics.any_equation import AnyEquation
from solver.mesh import across_hosts, device_mesh, on_gpu
from solver.operators import Fields
from solver.tune.candidates import (
    Candidate,
    splits,
    with_other_chunks,
    with_other_engines,
    with_other_fields,
    with_other_waves,
)
from solver.tune.trial import Trial, TrialError, begin, compile_program

ROUNDS, LAST_ROUNDS = 3, 9
KEPT_SPLITS, FINALISTS = 2, 3
SETS = 16  # of random signs
ROUND_OFF = 100.0  # machine epsilons by which each step may let two results differ


@dataclass
class Tuning:
    """Candidates that were tried, by their keys; the first is the run file's own choice.

    Args:
        own: the run file's own choice.
        steps: number of steps that a turn times.

    Attributes:
        trials: in the order in which they were tried.
        reference: the result that all must have: of the run file's own choice or, if that failed, of the first that
            works.
        dt: size of a step.
    """

    own: Candidate
    steps: int
    trials: dict[tuple[object, ...], Trial] = field(default_factory=dict)
    reference: Result | None = None
    dt: float | None = None

    @property
    def own_trial(self) -> Trial:
        """The trial of the run file's own choice."""
        return self.trials[self.own.key]

    def best(self, number: int, among: Sequence[Trial] | None = None) -> list[Trial]:
        """The fastest usable trials, at most `number`."""
        usable = [trial for trial in (self.trials.values() if among is None else among) if trial.usable]
        return sorted(usable, key=lambda trial: trial.median)[:number]

    def best_splits(self, number: int) -> list[Trial]:
        """The fastest trial of each of the `number` fastest splits."""
        fastest: dict[str, Trial] = {}
        for trial in self.best(len(self.trials)):
            fastest.setdefault(trial.candidate.split, trial)
        return list(fastest.values())[:number]

    @property
    def winner(self) -> Trial | None:
        """The trial that is faster than the run file's own choice beyond the spread; None without one.

        The middle halves of both times must not overlap. If the run file's own choice failed, the fastest trial wins.
        """
        for best in self.best(1, [trial for trial in self.trials.values() if trial.final]):
            own = self.own_trial
            if not own.usable or best.middle[1] < own.middle[0]:
                return best
        return None


def tune(config: Config, mesh: Mesh, *, steps: int, stall_limit: float) -> Tuning:
    """Try choices of `[devices]` on a job's devices. Collective; writes nothing.

    Args:
        config: a run file.
        mesh: the run file's own mesh, of the devices to use.
        steps: number of steps that a turn times.
        stall_limit: seconds without progress after which the job is ended.
    """
    require_same(f"--steps {steps}", "number of steps")
    devices = list(mesh.devices.flat)
    own = Candidate(config, len(devices), on_gpu(mesh), across_hosts(mesh))
    tuning = Tuning(own, steps)
    with Watchdog(stall_limit, Path("/dev/stderr")) as watchdog:
        session = Session(tuning, devices, watchdog)
        session.measure([own, *splits(own)])
        for others in (with_other_fields, with_other_chunks):
            kept = tuning.best_splits(KEPT_SPLITS)
            session.measure([other for trial in kept for other in others(trial.candidate)])
        kept = [trial for trial in tuning.best_splits(KEPT_SPLITS) if trial.has_products]
        session.measure([other for trial in kept for other in with_other_waves(trial.candidate)])
        session.measure([other for trial in tuning.best(1) for other in with_other_engines(trial.candidate)])
        session.decide()
    return tuning


class Session:
    """Measures candidates on a job's devices.

    Args:
        tuning: the trials so far.
        devices: the devices to use.
        watchdog: gets descriptions of the current work.
    """

    def __init__(self, tuning: Tuning, devices: Sequence[jax.Device], watchdog: Watchdog) -> None:
        self.tuning, self.devices, self.watchdog = tuning, devices, watchdog

    def measure(self, candidates: Sequence[Candidate]) -> None:
        """Time new candidates, in turns with the best ones so far."""
        known = self.tuning.trials
        new = {candidate.key: Trial(candidate) for candidate in candidates if candidate.key not in known}
        if new:
            before = self.tuning.best(FINALISTS)
            known.update(new)
            self._take_turns([*before, *new.values()], ROUNDS)

    def decide(self) -> None:
        """Time the best ones and the run file's own choice once more, in more rounds."""
        finalists = self.tuning.best(FINALISTS)
        own = self.tuning.own_trial
        if own.usable and own not in finalists:
            finalists.append(own)
        for trial in finalists:
            trial.final = True
        self._take_turns(finalists, LAST_ROUNDS)

    def _take_turns(self, trials: Sequence[Trial], rounds: int) -> None:
        for trial in trials:
            trial.milliseconds.clear()
            if trial.ready is None:
                LOGGER.info("compiling %s", trial.candidate)
                self._attempt(trial, self._begin)
            if not trial.failure and trial.ready is not None and trial.ready.program is None:
                self._attempt(trial, self._compile)
        for number in range(rounds):
            for trial in trials[:: -1 if number % 2 else 1]:
                if not trial.failure:
                    self._attempt(trial, self._turn)
        kept = [self.tuning.own_trial, *self.tuning.best(FINALISTS)]
        for trial in self.tuning.trials.values():
            if trial not in kept:
                trial.ready = None  # frees the host memory that holds its start

    def _attempt(self, trial: Trial, work: Callable[[Trial], None]) -> None:
        """Do some work on a candidate. If it fails on any process, the candidate has failed on all."""
        self.watchdog.doing = f"trying {trial.candidate}"
        self.watchdog.moved()
        try:
            with Agreement("tune").together():
                work(trial)
        except Exception as error:
            is_ours = isinstance(error, TrialError | FailedElsewhere)
            trial.failure = ("" if is_ours else f"{type(error).__name__}: ") + " ".join(str(error).split())

    def _mesh(self, trial: Trial) -> Mesh:
        sides = assemble.mesh_shape(trial.candidate.config, len(self.devices))
        return device_mesh(devices=self.devices, shape=sides)

    def _begin(self, trial: Trial) -> None:
        with self.watchdog.busy(f"starting {trial.candidate}"):
            begin(trial, self._mesh(trial), self.tuning.dt)
        assert trial.ready is not None
        self.tuning.dt = trial.ready.dt

    def _compile(self, trial: Trial) -> None:
        compile_program(trial, self._mesh(trial))

    def _turn(self, trial: Trial) -> None:
        tuning, ready = self.tuning, trial.ready
        assert ready is not None
        seconds, fields = ready.turn(tuning.steps)
        result = Result.of(fields, ready.equation)
        if tuning.reference is None:
            tuning.reference = result
        elif wrong := result.differs(tuning.reference, tuning.steps + 1):
            raise TrialError(f"another result: {wrong}")
        trial.milliseconds.append(1e3 * largest([seconds])[0] / tuning.steps)


@dataclass(frozen=True)
class Result:
    """Sums that represent the fields after some steps.

    Candidates hold their fields in different layouts: moving a field from one split to another could need all of it on
    each device. Instead each candidate sums its field with random signs, which depend only on the index of a mode or
    point: the sums of equal fields are equal in any layout. The difference of such sums has the mean square Σ|a − b|²,
    so sums with several sets of signs also measure the difference.

    Args:
        sums: for each field, its sum with each set of signs.
        sizes: for each field, the root of the sum of squares.
        tolerances: for each field, by which part of its size each step may let two results differ: the round-off of its
            precision, or one rounding of exchanges where these have less.
    """

    sums: dict[str, np.ndarray]
    sizes: dict[str, float]
    tolerances: dict[str, float]

    @classmethod
    def of(cls, fields: Fields, equation: AnyEquation) -> Result:
        """Compute the sums of fields on devices. Communication: all-reduces only."""
        sent = equation.method.sent_epsilon
        computed = {name: _signed_sums(field, _logical_shape(equation, name)) for name, field in fields.items()}
        return cls(
            {name: np.asarray(sums) for name, (sums, _) in computed.items()},
            {name: float(size) for name, (_, size) in computed.items()},
            {name: max(ROUND_OFF * float(jnp.finfo(u.dtype).eps), sent) for name, u in fields.items()},
        )

    def differs(self, other: Result, steps: int) -> str:
        """Text on a difference beyond what rounding allows for `steps` steps; empty without one."""
        for name, sums in self.sums.items():
            apart = float(np.sqrt(np.mean(np.abs(sums - other.sums[name]) ** 2)))
            allowed = self.tolerances[name] * steps * other.sizes[name]
            if not apart <= allowed:  # written so that NaN counts as a difference
                relative = apart / other.sizes[name] if other.sizes[name] else np.inf
                return f"{name} differs by {relative:.2g} of its size after {steps} steps"
        return ""


def _logical_shape(equation: AnyEquation, name: str) -> tuple[int, ...]:
    """Shape of a field's array, without components and padding."""
    return equation.field_storage()[name].logical_axes(equation.grid)


@partial(jax.jit, static_argnames="shape")
def _signed_sums(field: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Sums of a field with each set of signs, and the root of the sum of its squares; padding is left out."""
    leading = field.ndim - len(shape)
    index = [lax.broadcasted_iota(jnp.uint32, field.shape, axis) for axis in range(field.ndim)]
    inside = jnp.full(field.shape, True)
    for i, n in zip(index[leading:], shape, strict=True):
        inside &= i < n
    values = jnp.where(inside, field, 0).astype(jnp.result_type(field, jnp.float64))
    number = jnp.zeros(field.shape, jnp.uint32)
    for i in index:
        number = _scrambled(number ^ i)
    signs = [1.0 - 2.0 * ((number >> n) & 1) for n in range(SETS)]
    return jnp.stack([jnp.sum(values * sign) for sign in signs]), jnp.sqrt(jnp.sum(jnp.abs(values) ** 2))


def _scrambled(n: Array) -> Array:
    """A mapping of 32-bit words in which every input bit reaches about half of the output bits (MurmurHash3)."""
    n = (n + jnp.uint32(0x9E3779B9)) * jnp.uint32(0xCC9E2D51)
    n = (n ^ (n >> 16)) * jnp.uint32(0x85EBCA6B)
    n = (n ^ (n >> 13)) * jnp.uint32(0xC2B2AE35)
    return n ^ (n >> 16)
