"""What exchanges in fewer bits do to results: transforms, flows, spectra and gradients on virtual CPU devices.

    python benchmarks/exchange_precision.py              prints the tables of exchange_precision.md
    python benchmarks/exchange_precision.py transforms   one of: transforms flow drift tail gradients model

All differences are to the same computation with exchanges in the grid's precision on the same devices. `model` is no
measurement: predicted times of a step, by the formulas of `solver/plan/timing.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import jax

jax.config.update("jax_num_cpu_devices", 8)
jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from harness import machine  # noqa: E402
from reach import WEAK, cube  # noqa: E402

import solver as sw  # noqa: E402
from solver.fft import Method, Transform  # noqa: E402
from solver.fft.wire import sent_bytes  # noqa: E402
from solver.plan.rates import Rates  # noqa: E402
from solver.plan.timing import StepWork, better_split  # noqa: E402
from solver.validate.case import series_of  # noqa: E402
from solver.validate.taylor_green import PUBLISHED  # noqa: E402

SENT = {"float64": ("grid", "float32", "float16"), "float32": ("grid", "float16")}
PAIRS = [(precision, sent) for precision, several in SENT.items() for sent in several]
# what `slabwave check runs/taylor_green_512.toml --target h200 --devices N` read off steps for 8 and for 16 GPUs
COMPILED = {
    ("float64", "grid"): (StepWork(351, 149, 208, 32, 32, 0.42), StepWork(352, 150, 239, 32, 16, 0.59)),
    ("float64", "float32"): (StepWork(337, 149, 208, 32, 32, 0.41), StepWork(344, 150, 239, 32, 16, 0.59)),
    ("float64", "float16"): (StepWork(358, 149, 336, 32, 32, 0.44), StepWork(375, 150, 327, 32, 16, 0.57)),
    ("float32", "grid"): (StepWork(352, 149, 204, 32, 32, 0.44), StepWork(352, 150, 222, 32, 16, 0.73)),
    ("float32", "float16"): (StepWork(370, 149, 352, 32, 32, 0.47), StepWork(387, 150, 334, 32, 16, 0.75)),
}


def table(title: str, head: list[str], rows: list[list[str]]) -> None:
    """Print a table in Markdown."""
    print(f"\n## {title}\n\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def grid_on(devices: int, shape: tuple[int, ...], precision: str, **options: object) -> sw.Grid:
    """A grid in slabs on some of the virtual devices."""
    return sw.Grid(shape, mesh=sw.device_mesh(range(devices)), precision=precision, **options)


def random_modes(grid: sw.Grid, amplitude: Callable[[np.ndarray], np.ndarray]) -> jax.Array:
    """Coefficients of a real field with random phases and |û(k)| = `amplitude`(|k|), in the grid's precision."""
    noise = np.random.default_rng(0).normal(size=grid.physical_shape)
    exact = Transform(grid)
    u_hat = exact.forward(jnp.asarray(noise, grid.dtype))
    k = np.sqrt(sum(np.asarray(k, float) ** 2 for k in grid.wavenumbers()))
    modes = np.where(k > 0, amplitude(np.maximum(k, 1)), 0) / np.maximum(np.abs(np.asarray(u_hat)), 1e-30)
    return exact.forward(exact.inverse(u_hat * jnp.asarray(modes, grid.dtype)))


SPECTRA = {"k^(-5/3)": lambda k: k ** (-11 / 6), "exp(-k)": lambda k: np.exp(-k) / k}


def relative(u: jax.Array, reference: jax.Array) -> tuple[float, float]:
    """Differences to a reference: of the L2 norms, and the largest one to the largest number."""
    a, b = np.asarray(u).ravel(), np.asarray(reference).ravel()
    return float(np.linalg.norm(a - b) / np.linalg.norm(b)), float(abs(a - b).max() / abs(b).max())


def transforms() -> None:
    """Errors of one transform each way."""
    rows = []
    for precision, sent in PAIRS:
        for name, amplitude in SPECTRA.items() if sent != "grid" else ():
            for devices in (2, 4, 8):
                grid = grid_on(devices, (48, 48, 48), precision)
                exact, ours = Transform(grid), Transform(grid, Method(precision=sent))
                u_hat = random_modes(grid, amplitude)
                u = exact.inverse(u_hat)
                forward = relative(ours.forward(u), exact.forward(u))
                inverse = relative(ours.inverse(u_hat), u)
                rows.append([precision, sent, name, str(devices), *(f"{e:.1e}" for e in (*forward, *inverse))])
    head = ["grid", "sent", "spectrum", "devices", "forward, L2", "forward, largest", "inverse, L2", "inverse, largest"]
    table("Transforms, 48³ points", head, rows)


def flow() -> None:
    """Taylor–Green at Re = 1600, 64³, t = 1, 2, 3."""
    rows, kept = [], {}
    for precision, sent in PAIRS:
        grid = grid_on(2, (64, 64, 64), precision)
        equation = sw.equations.NavierStokes(grid, 1 / 1600, method=Method(precision=sent))
        stepper = sw.steppers.IFRK4()
        state = sw.initial_state(equation, stepper, sw.initial.TaylorGreen()(grid))
        for t in (1.0, 2.0, 3.0):
            state = sw.integrate(equation, stepper, state, step=0.02, steps=50)
            row = series_of(equation, state)
            values = np.array([row["energy"], row["enstrophy"]])
            velocity = Transform(grid).inverse(state.field["velocity"])
            spectrum = np.asarray(sw.diagnostics.shell_spectrum(state.field["velocity"], grid))
            if sent == "grid":
                kept[precision, t] = values, velocity, spectrum
            before, other, _ = kept[precision, t]
            published = values / PUBLISHED[t] - 1
            cells = (*published, *(values / before - 1), relative(velocity, other)[0], spectrum[21] / spectrum.max())
            rows.append([precision, sent, f"{t:g}", *(f"{cell:.1e}" for cell in cells)])
    head = ["grid", "sent", "t", "energy / published − 1", "enstrophy / published − 1", "energy / grid − 1",
            "enstrophy / grid − 1", "velocity, L2", "E(21) / largest E"]  # fmt: skip
    table("Taylor–Green at Re = 1600, 64³ points, 2 devices", head, rows)


def drift() -> None:
    """Energy of an ideal flow over many steps: 16³ and 32² points."""
    rows = []
    for dimensions, n, steps in ((3, 16, 4000), (2, 32, 4000)):
        for precision, sent in PAIRS:
            grid = grid_on(4, (n,) * dimensions, precision)
            equation = sw.equations.NavierStokes(grid, 0.0, method=Method(precision=sent))
            stepper = sw.steppers.IFRK4()
            noise = np.random.default_rng(1).normal(size=(dimensions, *grid.physical_shape))
            smooth = jnp.asarray(noise, grid.dtype)
            state = sw.initial_state(equation, stepper, smooth)
            k2 = sum(jnp.asarray(k, grid.dtype) ** 2 for k in grid.wavenumbers())
            modes = state.field["velocity"] * jnp.exp(-k2 / 4)
            scale = jnp.sqrt(0.5 / sw.diagnostics.mean_square(modes, grid))
            state = sw.initial_state(equation, stepper, Transform(grid).inverse(modes * scale))
            energies = [series_of(equation, state)["energy"]]
            for _ in range(4):
                state = sw.integrate(equation, stepper, state, step=0.005, steps=steps // 4)
                energies.append(series_of(equation, state)["energy"])
            changes = np.array(energies[1:]) / energies[0] - 1
            rows.append([f"{n}{'²³'[dimensions - 2]}", precision, sent, *(f"{change:.1e}" for change in changes)])
    head = ["points", "grid", "sent", "1000 steps", "2000", "3000", "4000"]
    table("Change of energy of an ideal flow, 4 devices, steps of 0.005", head, rows)


def tail() -> None:
    """Shell spectrum of a field whose spectrum falls without end, after one way there and back."""
    rows = []
    shells = (2, 4, 6, 8, 10, 12, 14, 16, 20)
    for precision, sent in PAIRS:
        grid = grid_on(4, (64, 64, 64), precision)
        transform = Transform(grid, Method(precision=sent))
        u_hat = random_modes(grid, lambda k: np.exp(-2.0 * k))
        back = transform.forward(transform.inverse(u_hat))
        spectrum = np.asarray(sw.diagnostics.shell_spectrum(back[None], grid), float)
        rows.append([precision, sent, *(f"{spectrum[k] / spectrum.max():.0e}" for k in shells)])
    table("E(k) / largest E of a spectrum exp(-4k), 64³ points, 4 devices", ["grid", "sent", *map(str, shells)], rows)


def gradients() -> None:
    """Gradient of the enstrophy after 20 steps with respect to the velocity at the start."""
    rows: list[list[str]] = []
    for precision, several in SENT.items():
        grid, stepper = grid_on(2, (24, 24, 24), precision), sw.steppers.IFRK4()
        flows = [sw.equations.NavierStokes(grid, 0.01, method=Method(precision=sent)) for sent in several]
        start = sw.initial_state(flows[0], stepper, sw.initial.TaylorGreen()(grid))

        def enstrophy(fields: dict, flow: sw.Equation, start: sw.State = start) -> jax.Array:
            end = sw.integrate(flow, sw.steppers.IFRK4(), start.replace(field=fields), step=0.05, steps=20)
            return flow.series(end.field, 0.0)["enstrophy"]

        found = [jax.jit(jax.grad(enstrophy))(start.field, flow)["velocity"] for flow in flows]
        for sent, gradient in zip(several[1:], found[1:], strict=True):
            rows.append([precision, sent, *(f"{e:.1e}" for e in relative(gradient, found[0]))])
    head = ["grid", "sent", "L2", "largest"]
    table("Gradient of the enstrophy after 20 steps of 0.05, 24³ points, 2 devices", head, rows)


def model() -> None:
    """Predicted times of a step with 512³ points on each GPU."""
    rates, rows = Rates.of("h200"), []
    for precision, sent in PAIRS:
        word, cells = 8 if precision == "float64" else 4, []
        for devices in (8, 16, 64, 512, 4096):
            step = COMPILED[precision, sent][devices > rates.gpus_per_host]
            step = replace(step, sent=sent_bytes(sent, 2 * word))
            best = better_split(rates, cube(WEAK * devices), step, word, devices).best
            cells.append(f"{1e3 * best.total:.3g} ({1e3 * best.exchange:.3g})")
        rows.append([precision, sent, *cells])
    head = ["grid", "sent", "8 GPUs", "16", "64", "512", "4096"]
    table("Predicted, never measured: ms of a step (exchanging), 512³ points on each H200", head, rows)


SECTIONS = (transforms, flow, drift, tail, gradients, model)

if __name__ == "__main__":
    chosen = [section for section in SECTIONS if section.__name__ in sys.argv[1:] or len(sys.argv) == 1]
    print(machine())
    for section in chosen:
        section()
