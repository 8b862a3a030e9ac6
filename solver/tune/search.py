"""The search: splits of the grid first, then fields, parts of an exchange and waves on the best ones, then engines.

Candidates of a session take turns, so that a slower moment of the machine meets all of them. Everything that decides is
equal on all processes, so that all of them try the same candidates in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jax
from jax.sharding import Mesh

from solver import assemble
from solver.cluster import LOGGER, Agreement, FailedElsewhere, Watchdog, largest, require_same
from solver.config import Config
from solver.mesh import across_hosts, device_mesh, on_gpu
from solver.tune.candidates import (
    Candidate,
    splits,
    with_other_chunks,
    with_other_engines,
    with_other_fields,
    with_other_waves,
)
from solver.tune.result import Result
from solver.tune.trial import Trial, TrialError, begin, compile_program

ROUNDS, LAST_ROUNDS = 3, 9
KEPT_SPLITS, FINALISTS = 2, 3


@dataclass
class Tuning:
    """Candidates that were tried, by what distinguishes them; the run file's own is the first.

    Args:
        own: the run file's own.
        steps: that each turn times.

    Attributes:
        trials: in the order in which they were tried.
        reference: the result that all must have: that of the run file's own choice, or of the first that works.
        dt: size of a step.
    """

    own: Candidate
    steps: int
    trials: dict[tuple[object, ...], Trial] = field(default_factory=dict)
    reference: Result | None = None
    dt: float | None = None

    @property
    def own_trial(self) -> Trial:
        """What is known of the run file's own choice."""
        return self.trials[self.own.key]

    def best(self, number: int, among: Sequence[Trial] | None = None) -> list[Trial]:
        """The fastest that can be used."""
        usable = [trial for trial in (self.trials.values() if among is None else among) if trial.usable]
        return sorted(usable, key=lambda trial: trial.median)[:number]

    def best_splits(self, number: int) -> list[Trial]:
        """The fastest of each of the fastest splits."""
        fastest: dict[str, Trial] = {}
        for trial in self.best(len(self.trials)):
            fastest.setdefault(trial.candidate.split, trial)
        return list(fastest.values())[:number]

    @property
    def winner(self) -> Trial | None:
        """What is faster than the run file's own choice beyond the spread; None if nothing is.

        The middle halves of both times must not overlap. Where the run file's own choice failed, the fastest other.
        """
        for best in self.best(1, [trial for trial in self.trials.values() if trial.final]):
            own = self.own_trial
            if not own.usable or best.middle[1] < own.middle[0]:
                return best
        return None


def tune(config: Config, mesh: Mesh, *, steps: int, stall_limit: float) -> Tuning:
    """Try ways to fill `[devices]` on a job's devices. Collective; writes nothing.

    Args:
        config: a run file.
        mesh: the run file's own, of the devices to use.
        steps: that each turn times.
        stall_limit: seconds without a sign of life after which the job is ended.
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
        tuning: what is known so far.
        devices: to use.
        watchdog: that is told what is being done.
    """

    def __init__(self, tuning: Tuning, devices: Sequence[jax.Device], watchdog: Watchdog) -> None:
        self.tuning, self.devices, self.watchdog = tuning, devices, watchdog

    def measure(self, candidates: Sequence[Candidate]) -> None:
        """Time candidates that are new, in turns with the best ones so far."""
        known = self.tuning.trials
        new = {one.key: Trial(one) for one in candidates if one.key not in known}
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
                trial.ready = None  # its start takes memory of the host

    def _attempt(self, trial: Trial, work: Callable[[Trial], None]) -> None:
        """Do something with a candidate; where that fails on any process, the candidate has failed on all."""
        self.watchdog.doing = f"trying {trial.candidate}"
        self.watchdog.moved()
        try:
            with Agreement("tune").together():
                work(trial)
        except Exception as error:
            told = isinstance(error, TrialError | FailedElsewhere)
            trial.failure = ("" if told else f"{type(error).__name__}: ") + " ".join(str(error).split())

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
