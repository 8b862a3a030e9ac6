"""Faults that are put into a copy of the code, one by one: how many does the inventor find, and how soon?

In `tests/`: `PYTHONPATH=..:. python -m fuzz.planted --seconds 180`, with `--only 3 7` for some of them. A fault whose
place is no longer in the code is named, and left out.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
# what it is, the file in `solver`, what stands there, and what is put there
FAULTS = [
    ("high negative mode of x taken one too low", "fft/slabs.py",
     "runs.append((layout.points[axis] - highest, highest + 1, highest))",
     "runs.append((layout.points[axis] - highest - (axis == 0), highest + 1, highest))"),
    ("phase shift back with the wrong sign", "fft/transform.py",
     "u_hat * self.grid.shift_phases(-self.shift)",
     "u_hat * self.grid.shift_phases(self.shift)"),
    ("shift of half a spacing at every stage alike", "dynamics/driven.py",
     "0.5 * ((self.step + evaluation) % 2)",
     "0.5 * (self.step % 2)"),
    ("smooth filter of order 34", "grid/grid.py",
     "jnp.exp(-36 * sum((2 * jnp.abs(n)) ** 36 for n in numbers))",
     "jnp.exp(-36 * sum((2 * jnp.abs(n)) ** 34 for n in numbers))"),
    ("Nyquist modes have derivatives", "grid/grid.py",
     "if drop_nyquist and position is not None:",
     "if drop_nyquist and position is not None and axis > 9:"),
    ("modes of the half axis count once in sums", "grid/layout.py",
     "np.where((n == 0) | (2 * n == self.points[axis]), 1.0, 2.0)",
     "np.where((n == 0) | (2 * n == self.points[axis]), 1.0, 1.0)"),
    ("mirrored plane is not conjugate", "operators/symmetry.py",
     "symmetric = 0.5 * (stored + jnp.conj(_mirrored(stored, grid)))",
     "symmetric = 0.5 * (stored + _mirrored(stored, grid))"),
    ("mirrored plane of another device", "operators/symmetry.py",
     "pieces.append(_sent(lax.slice_in_dim(block, 0, r, axis=at), q + 1, parts, name))",
     "pieces.append(_sent(lax.slice_in_dim(block, 0, r, axis=at), q, parts, name))"),
    ("phi functions of matrices: a factorial", "operators/phi.py",
     "phi[j] / math.factorial(k - j) for j",
     "phi[j] / math.factorial(k - j + 1) for j"),
    ("Taylor series of phi one index off", "operators/phi.py",
     "series = series * near + 1 / math.factorial(n + count)",
     "series = series * near + 1 / math.factorial(n + count + (n == 3))"),
    ("inverse of matrices without a swap of rows", "operators/linear.py",
     "swap = jnp.abs(rows[i][k]) > jnp.abs(rows[k][k])",
     "swap = jnp.abs(rows[i][k]) > 1e9 * jnp.abs(rows[k][k])"),
    ("stage's time of integrating-factor steps", "steppers/integrating_factor.py",
     "n = frames.nonlinear(stage, _later(t, dt, c), i)",
     "n = frames.nonlinear(stage, t, i)"),
    ("an integral over the half of a step", "dynamics/linear_in_time.py",
     "self.at(t + 0.5 * (1 + node) * dt)",
     "self.at(t + 0.25 * (1 + node) * dt)"),
    ("a potential of another density", "steppers/split_step.py",
     "equation.split_potential(psi, middle)",
     "equation.split_potential(0.99 * psi, middle)"),
    ("a weight of lsrk3", "steppers/integrating_factor.py",
     "add: ClassVar[tuple[Fraction, ...]] = fractions(\"1/3\", \"15/16\", \"8/15\")",
     "add: ClassVar[tuple[Fraction, ...]] = fractions(\"1/3\", \"15/16\", \"8/16\")"),
    ("a weight of etdrk3", "steppers/exponential.py",
     "1: {2: 4, 3: -8}",
     "1: {2: 4, 3: -7}"),
    ("cnab2 takes steps as equal", "steppers/implicit.py",
     "return Weights((1, -1, 0), (1 + ratio / 2, -ratio / 2), (0.5, 0.5))",
     "return Weights((1, -1, 0), (1 + 0 * ratio + 1 / 2, 0 * ratio - 1 / 2), (0.5, 0.5))"),
    ("sbdf3 keeps its oldest entry", "steppers/implicit.py",
     "before = _kept_or_new(_is_short(dt, last), last_but_one, last)",
     "before = _kept_or_new(~jnp.isinf(last_but_one[\"ago\"]), last_but_one, last)"),
    ("imexrk3: time of a stage", "steppers/additive.py",
     "later = t + float(c) * dt if c else t",
     "later = t + float(c) ** 2 * dt if c else t"),
    ("yoshida4 with another root", "steppers/split_step.py",
     "W = 1 / (2 - 2 ** (1 / 3))",
     "W = 1 / (2 - 2 ** (1 / 2))"),
    ("kolmogorov is a cosine", "forcing/flows.py",
     "waves = [(\"sin\", self.wavenumber)",
     "waves = [(\"cos\", self.wavenumber)"),
    ("abc: a sign", "forcing/flows.py",
     "b * sin[0] + a * cos[2]",
     "b * sin[0] - a * cos[2]"),
    ("constant power is twice as much", "forcing/constant_power.py",
     "self.power / jnp.where(square > 0, square, 1), 0)",
     "2 * self.power / jnp.where(square > 0, square, 1), 0)"),
    ("Ornstein–Uhlenbeck noise of half the variance", "forcing/ornstein_uhlenbeck.py",
     "noise = jnp.sqrt(-jnp.expm1(-2 * x))",
     "noise = jnp.sqrt(-jnp.expm1(-x))"),
    ("white noise of half the power", "forcing/white_noise.py",
     "return 2 * self.power / self._total",
     "return self.power / self._total"),
    ("Hall term: a sign", "equations/hall_mhd.py",
     "cross(velocity - ion_inertial_length*curl(magnetic_field),",
     "cross(velocity + ion_inertial_length*curl(magnetic_field),"),
    ("Coriolis force: a sign", "equations/boussinesq.py",
     "turned = \" - rotation*cross(ez, velocity)\"",
     "turned = \" + rotation*cross(ez, velocity)\""),
    ("forcing counts twice in budgets", "dynamics/text_report.py",
     "causes[\"forcing\"] = power(on_grid, squares, now, forced)",
     "causes[\"forcing\"] = plus(power(on_grid, squares, now, forced), power(on_grid, squares, now, forced))"),
    ("linear causes without the conjugate", "dynamics/quadratic.py",
     "product = jnp.real(number) * jnp.conj(left * rate) * right",
     "product = jnp.real(number) * left * rate * right"),
    ("fractional powers of k with half their scale", "dynamics/in_modes.py",
     "return SymbolValue(raised, scale=largest ** (2 * exponent))",
     "return SymbolValue(raised, scale=largest**exponent)"),
    ("means along an axis are over all", "spaces/fourier.py",
     "chosen = [wavenumbers[axis] for axis in axes or range(len(wavenumbers))]",
     "chosen = [wavenumbers[axis] for axis in range(len(wavenumbers))]"),
    ("a pivot's row is taken away with the wrong sign", "written/elimination.py",
     "right[row] = plus((right[row], minus(applied(factor, right[pivot]))))",
     "right[row] = plus((right[row], applied(factor, right[pivot])))"),
    ("a multiplier pushes one field only", "written/elimination.py",
     "right[row] = minus(plus(applied(symbol, rates[scalar]) for scalar, symbol in of_row.items()))",
     "right[row] = minus(plus(applied(symbol, rates[scalar]) for scalar, symbol in list(of_row.items())[:2]))"),
    ("shells begin at their middle", "diagnostics/sums.py",
     "jnp.floor((radius + 0.5) * edge)",
     "jnp.floor(radius * edge)"),
    ("imaginary parts missing in sums over modes", "diagnostics/mode_sums.py",
     "imaginary = sum(a.imag * b.imag for a, b in zip(*parts, strict=True))",
     "imaginary = sum(0 * a.imag * b.imag for a, b in zip(*parts, strict=True))"),
    ("what is rounded off of float32 sums is lost", "loop/sums.py",
     "high, low = _two_sum(high, low + lost)",
     "high, low = _two_sum(high, low)"),
    ("max_step is ignored by cfl", "loop/controls.py",
     "dt = jnp.minimum(jnp.where(rests, jnp.inf, by_rate), self.max_step)",
     "dt = jnp.where(rests, jnp.inf, by_rate)"),
    ("steps of the wrong CFL number", "loop/controls.py",
     "by_rate = jnp.asarray(self.number, longest.dtype) /",
     "by_rate = jnp.asarray(1.1 * self.number, longest.dtype) /"),
    ("the row of the checkpoint is lost on resume", "io/series.py",
     "if is_valid[n] and _step(row) > step), len(rows))",
     "if is_valid[n] and _step(row) >= step), len(rows))"),
    ("records lose a row on resume", "io/row_file.py",
     "self._add_line(str(number), {\"drop_after\": step})",
     "self._add_line(str(number), {\"drop_after\": step - 1})"),
    ("the step control forgets on resume", "io/checkpoint_reading.py",
     "return state.replace(control=_load_control(manifest))",
     "return state.replace(control={})"),
    ("a sponge of twice the rate", "bodies/sponge.py",
     "return self.rate * 0.5 * (jnp.tanh",
     "return self.rate * (jnp.tanh"),
    ("statistics weigh samples alike", "outputs/statistics.py",
     "weight, total = t - last, carried[\"weight\"] + (t - last)",
     "weight, total = t - last, carried[\"weight\"] + 1.5 * (t - last)"),
    ("Taylor scale without its factor", "diagnostics/scales.py",
     "taylor = jnp.sqrt(ratio(isotropic * u2, grid.dimensions * g2))",
     "taylor = jnp.sqrt(ratio(u2, grid.dimensions * g2))"),
    ("members draw the same seed", "config/ensemble.py",
     "return start + number + (attempt",
     "return start + (attempt"),
    ("pieces of an exchange of pencils interleaved", "fft/stages.py",
     "u.reshape(*u.shape[:split_axis], parts, -1, *u.shape[split_axis + 1 :]), split_axis, 0)",
     "u.reshape(*u.shape[:split_axis], -1, parts, *u.shape[split_axis + 1 :]), split_axis + 1, 0)"),
]  # fmt: skip
PERIODIC = len(FAULTS)
FAULTS += [  # which are looked for in run files between walls
    ("decay of what conditions add has the other sign", "dynamics/between_walls.py",
     "return space.tested(decay * c + diffusion * space.laplacian_of(c))",
     "return space.tested(-decay * c + diffusion * space.laplacian_of(c))"),
    ("products that are not 0 at the walls leave no flux there", "dynamics/at_walls.py",
     "found.append({slot: terms for slot, terms in each.items() if terms})",
     "found.append({slot: terms for slot, terms in each.items() if False})"),
    ("a mixture's coefficient counts twice", "walls/modes.py",
     "first = 0.25 + 0.5 * lower.beta",
     "first = 0.25 + 1.0 * lower.beta"),
    ("modes of -kx in the place of its neighbour", "spaces/flows_between_walls.py",
     "negative = jnp.concatenate([a[..., :1, :], a[..., : count - 1 : -1, :]], axis=-2)",
     "negative = jnp.concatenate([a[..., :1, :], a[..., -2 : count - 2 : -1, :]], axis=-2)"),
    ("work of moving walls left out of budgets", "dynamics/report_between_walls.py",
     "on_grid, now = self.on_grid, self.on_grid.rows(fields)",
     "on_grid, now = self.on_grid, self.on_grid.rows_of_change(fields)"),
    ("distances across the walls without pi", "dynamics/between_walls.py",
     "np.asarray(np.pi * np.sqrt(z * (height - z))",
     "np.asarray(np.sqrt(z * (height - z))"),
    ("a weight of etdrk5s4", "steppers/exponential.py",
     "whole={0: {2: -0.25, 3: 1}, 1: {2: 0.25, 3: -1}",
     "whole={0: {2: -0.2, 3: 1}, 1: {2: 0.25, 3: -1}"),
    ("a parabola between slopes has a wrong slope", "walls/modes.py",
     "slopes = np.array([[0.0, 1.0, -3.0], [0.0, 1.0, 3.0]]) * scale",
     "slopes = np.array([[0.0, 1.0, -3.0], [0.0, 1.0, 2.9]]) * scale"),
    ("the plan is kept where products are not 0 at the walls", "dynamics/between_walls.py",
     "if all(self._is_exact(found, name) for name in self.equation.fields):",
     "if True or all(self._is_exact(found, name) for name in self.equation.fields):"),
    ("the lower wall's slope at the upper one", "spaces/scalars_between_walls.py",
     "return self._lifted([value_of(side.right) for side in self.walls])",
     "return self._lifted([value_of(side.right) for side in (self.walls.lower, self.walls.lower)])"),
    ("walls that move in time leave the modes behind", "dynamics/between_walls.py",
     "found[name] = found[name] - moved if name in found else -moved",
     "found[name] = found[name] if name in found else 0 * moved"),
    ("the energy of moving conditions left out of budgets", "dynamics/report_between_walls.py",
     'sums[name]["nonlinear"] = plus(sums[name]["nonlinear"], whole_change)',
     'sums[name]["nonlinear"] = plus(sums[name]["nonlinear"], {})'),
    ("a velocity of a wall along y taken as one along x", "spaces/flows_between_walls.py",
     "rights = [jnp.asarray(v[i] if v else 0.0, self.grid.dtype) for v in velocities]",
     "rights = [jnp.asarray(v[0] if v else 0.0, self.grid.dtype) for v in velocities]"),
    ("eigenvalues of the wavenumber along y left out", "spaces/flows_between_walls.py",
     "return np.where(holds, made + (k**2)[..., None], 0)",
     "return np.where(holds, made + (k**2)[..., None] * (self.dimensions == 2), 0)"),
]  # fmt: skip


def planted(number: int, seconds: float, seed: int) -> tuple[str, float] | None:
    """What the inventor finds of a fault, "" if nothing, and after how long; None where the fault has no place."""
    _, file, there, instead = FAULTS[number]
    text = (ROOT / "solver" / file).read_text(encoding="utf-8")
    if text.count(there) != 1:
        return None
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("solver", "tests"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        (copy / "solver" / file).write_text(text.replace(there, instead), encoding="utf-8")
        words = [sys.executable, "-u", "-W", "ignore", "-m", "fuzz", "--seconds", str(seconds), "--seed", str(seed)]
        words += ["--walls"] if number >= PERIODIC else []
        environment = {**os.environ, "PYTHONPATH": f"{copy}:{copy / 'tests'}"}
        began = time.monotonic()
        search = subprocess.Popen(
            words, cwd=copy / "tests", env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert search.stdout is not None
        found = next((line.strip() for line in search.stdout if line.startswith("FAULT")), "")
        if found:  # the run file, from which it can be told whether this is the fault
            print(number, next(search.stdout).strip(), file=sys.stderr)
        took = time.monotonic() - began
        if search.poll() is None:
            os.killpg(search.pid, signal.SIGKILL)
        search.wait()
    return found, took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of faults, from 0 on")
    options = parser.parse_args()
    print("| | fault | in | seconds | found as |\n|---|---|---|---|---|")
    for number in options.only if options.only is not None else range(len(FAULTS)):
        result = planted(number, options.seconds, options.seed + 1000 * number)
        name, file, *_ = FAULTS[number]
        told = "| – | its place is no longer in the code |" if result is None else _told(*result)
        print(f"| {number} | {name} | {file} {told}", flush=True)


def _told(found: str, took: float) -> str:
    return f"| {took:.0f} | {found.removeprefix('FAULT ')[:110].replace('|', '/')} |" if found else "| – | not found |"


if __name__ == "__main__":
    main()
