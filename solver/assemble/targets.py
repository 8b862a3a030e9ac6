"""A run on GPUs that this machine does not have: its objects on a mesh of them, and its compiled programs."""

from __future__ import annotations

from dataclasses import replace

from solver.assemble.build import Assembly
from solver.assemble.devices import mesh_shape, method_of
from solver.config import Config
from solver.mesh import mesh_axes
from solver.plan import Part, Target, compile_run, target_mesh
from solver.plan.recorded import Kind


def target_assembly(config: Config, target: Target) -> Assembly:
    """The run's objects on a mesh of the target's devices.

    These devices do not say which of them share a host, so `devices.waves` is chosen here.
    """
    axes = mesh_axes(target.devices, mesh_shape(config, target.devices))
    run = Assembly(config, target_mesh(target.xla, axes, target.hosts))
    waves = method_of(config).waves_on(run.grid.layout, across=target.hosts > 1)
    if waves == 1:
        return run
    return replace(run, config=replace(config, devices=config.devices.model_copy(update={"waves": waves})))


def target_programs(run: Assembly, target: Target, *, steps_alone: bool = False) -> list[Part]:
    """The programs of a run on a target: its steps first, then the start and every output.

    Args:
        run: made by `target_assembly`.
        target: the target that `run` was made for.
        steps_alone: compile only the steps.

    Raises:
        NoCompiler: the target's plug-in for JAX is not installed.
    """
    traceable = all(initial.traceable for initial in run.initials.values())
    start = run.start if traceable and not steps_alone else None
    outputs = () if steps_alone else run.outputs.all
    return compile_run(run.equation, run.stepper, run.state_shapes(), run.control, outputs, start, target.xla)


def kind_of(config: Config) -> Kind:
    """The properties of a run that decide how much memory its programs need per point."""
    control = next(name for name in ("step", "cfl", "tolerance") if getattr(config.time, name) is not None)
    return Kind(
        equation=config.equation.name, stepper=config.stepper.name, dimensions=len(config.grid.shape),
        dealias=str(config.dealias), control=control, fields=len(config.initial), is_forced=bool(config.forcing),
    )  # fmt: skip
