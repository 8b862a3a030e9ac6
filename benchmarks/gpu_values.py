"""Whether values on GPUs are right: the sections `values` and `transforms` of benchmarks/gpu.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from gpu_cases import CASES, Run, difference, meshes, unpadded
from gpu_page import PRECISIONS, Options, attempt, head, in_time, say

import solver as sw
from solver.fft import Method, stages

BOUND = {"float32": 1e-5, "float64": 1e-12}  # of the largest value: 80 and 4500 units of round-off


def verdict(error: float, precision: str) -> str:
    """Error, bound and whether it holds."""
    return f"{error:.1e} | {BOUND[precision]:.0e} | {'pass' if error <= BOUND[precision] else '**FAIL**'} |"


def values(options: Options) -> None:
    """Steps and transforms against one CPU device and NumPy."""
    n = min(64, *options.sizes)
    say(f"{options.steps} steps at {n}³; largest difference, relative to the field's largest value.\n")
    say(head("case | precision | on | difference | bound |"))
    for case in CASES.values():
        for precision in PRECISIONS:
            if not in_time(options):
                return
            start, expected = attempt(case.name, lambda c=case, p=precision: on_cpu(c, n, p, options.steps)) or (0, 0)
            if not expected:
                continue
            for where, mesh in meshes().items():

                def error(case=case, precision=precision, mesh=mesh, start=start, expected=expected) -> float:
                    run = Run(case, n, precision, mesh, start)
                    run.advance(options.steps)
                    found = run.values()
                    return max(difference(found[name], expected[name]) for name in expected)

                found = attempt(f"{case.name} | {precision} | {where}", error)
                if found is not None:
                    say(f"| {case.name} | {precision} | {where} | {verdict(found, precision)}")


def on_cpu(case: Any, n: int, precision: str, steps: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Start and end of a run on one CPU device."""
    cpu = jax.devices("cpu")[:1]
    with jax.default_device(cpu[0]):
        mesh = sw.device_mesh(devices=cpu)
        equation = case.equation(case.grid(n, precision, mesh))
        start = {name: sw.gather(u) for name, u in case.start(equation).items()}
        run = Run(case, n, precision, mesh, start)
        run.advance(steps)
        return start, run.values()


def transforms(options: Options) -> None:
    """Forward and inverse transforms against numpy.fft."""
    n = min(64, *options.sizes)
    say("\n" + head("transform | precision | forward | bound | | inverse | bound |"))

    def compare(shape: Sequence[int], real: bool, dealias: str, method: Method, precision: str, note: str = "") -> None:
        grid = sw.Grid(tuple(shape), real=real, dealias=dealias, precision=precision, mesh=sw.device_mesh())
        name = (
            f"{'real' if real else 'complex'}, {dealias}, {method.engine}, fields={method.fields}, {list(shape)}{note}"
        )

        def errors() -> tuple[float, float]:
            transform = sw.fft.Transform(grid, method)
            u, coefficients, filtered = with_numpy(grid)
            both = jax.jit(lambda v: (u_hat := transform.forward(v), transform.inverse(u_hat)))
            u_hat, back = both(sw.from_global(u, grid))
            return difference(unpadded(u_hat, grid), coefficients), difference(sw.gather(back), filtered)

        found = attempt(f"{name} | {precision}", errors)
        if found is not None:
            say(f"| {name} | {precision} | {verdict(found[0], precision)} {verdict(found[1], precision)}")

    methods = [Method(engine, fields=fields) for engine in ("slabwave", "shard_map") for fields in ("auto", 1, "all")]
    kinds = [(real, dealias) for real in (True, False) for dealias in ("two-thirds", "none")]
    for real, dealias in kinds:
        methods = [
            Method(engine, fields=fields) for engine in ("slabwave", "shard_map") for fields in ("auto", 1, "all")
        ]
        for precision, chosen in (("float64", methods), ("float32", methods[:1])):
            for method in chosen:
                if in_time(options):
                    compare((n, n, n), real, dealias, method, precision)
        compare((n, n - 2, n + 3), real, dealias, methods[0], "float64")
    stages.LARGEST_CALL = 3 * n * (n + 4)
    for real, dealias in kinds:
        compare((n, n, n + 4), real, dealias, Method(), "float64", f", calls below {stages.LARGEST_CALL} elements")


def products(options: Options) -> None:
    """Products of fields in one operation, in waves and without, against the same in NumPy."""
    n = min(64, *options.sizes)
    say("\n" + head("product | precision | coefficients | bound |"))
    for name, mesh in meshes().items():
        for fields, waves in (("auto", "auto"), ("all", 1), (1, 1), ("all", 2), (2, 3)):
            if not in_time(options):
                return
            grid = sw.Grid((n, n - 2, n + 3), precision="float64", mesh=mesh)
            transform = sw.fft.Transform(grid, Method(fields=fields, waves=waves))

            def error(grid=grid, transform=transform) -> float:
                u, _, filtered = with_numpy(grid)
                square = np.fft.fftn(filtered**2, axes=(1, 2, 3))[stored_modes(grid)].transpose(0, 2, 3, 1)
                u_hat = transform.forward(sw.from_global(u, grid))
                found = jax.jit(lambda v: transform.pointwise(lambda w: w * w, v))(u_hat)
                return difference(unpadded(found, grid), square / filtered[0].size)

            title = f"{name}, fields={fields}, waves={waves} | float64"
            found = attempt(title, error)
            if found is not None:
                say(f"| {title} | {verdict(found, 'float64')}")


def stored_modes(grid: Any) -> tuple[Any, ...]:
    """Of all modes of fields in the order of axes in space, those that a grid keeps."""
    return (slice(None), *np.ix_(*[grid.layout.mode_numbers(axis) for axis in range(3)]))


def with_numpy(grid: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three random fields, their coefficients as stored, and the fields without the modes that are dropped."""
    random = np.random.default_rng(0)
    layout, axes = grid.layout, (1, 2, 3)
    u = random.standard_normal((3, *grid.physical_shape))
    u = u if grid.real else u + 1j * random.standard_normal(u.shape)
    u = u.astype(grid.physical_dtype)
    whole = np.fft.fftn(u.astype(complex), axes=axes)
    numbers = [layout.mode_numbers(axis) for axis in range(3)]
    kept = np.zeros(grid.physical_shape, bool)
    kept[np.ix_(*[np.concatenate([n, -n]) if grid.real else n for n in numbers])] = True
    back = np.fft.ifftn(whole * kept, axes=axes)
    stored = whole[stored_modes(grid)].transpose(0, *(1 + axis for axis in layout.order))
    return u, stored / kept.size, back.real if grid.real else back
