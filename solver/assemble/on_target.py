"""A run on GPUs that are not here: its objects on a mesh of them, and its programs."""

from __future__ import annotations

from dataclasses import replace

from solver.assemble.devices import mesh_shape, method_of
from solver.assemble.objects import Assembly
from solver.config import Config
from solver.mesh import mesh_axes
from solver.plan import Part, Target, compile_run, target_mesh
from solver.plan.recorded import Kind


def assembly_on(config: Config, target: Target) -> Assembly:
    """The run's objects on a mesh of the target's devices.

    These devices do not say which of them share a host, so that `devices.waves` is decided here.
    """
    axes = mesh_axes(target.devices, mesh_shape(config, target.devices))
    run = Assembly(config, target_mesh(target.xla, axes, target.hosts))
    waves = method_of(config).waves_on(run.grid.layout, across=target.hosts > 1)
    if waves == 1:
        return run
    return replace(run, config=replace(config, devices=config.devices.model_copy(update={"waves": waves})))


def programs_on(run: Assembly, target: Target, *, steps_alone: bool = False) -> list[Part]:
    """The programs of a run on a target: its steps first, then the start and every output.

    Args:
        run: made by `assembly_on`.
        target: the same.
        steps_alone: leave out what is not a step.

    Raises:
        NoCompiler: the target's plug-in for JAX is not installed.
    """
    traceable = all(initial.traceable for initial in run.initials.values())
    start = run.start if traceable and not steps_alone else None
    outputs = () if steps_alone else run.outputs.all
    return compile_run(run.equation, run.stepper, run.state_shapes(), run.control, outputs, start, target.xla)


def kind_of(config: Config) -> Kind:
    """What decides how much the programs of a run hold per point."""
    control = next(name for name in ("step", "cfl", "tolerance") if getattr(config.time, name) is not None)
    return Kind(config.equation.name, config.stepper.name, len(config.grid.shape), str(config.dealias), control)
