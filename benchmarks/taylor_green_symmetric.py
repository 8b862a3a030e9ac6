"""The Taylor–Green vortex in its own symmetries, in NumPy: what the same truncation gives, by another program.

The flow keeps the symmetries that it starts with (Brachet et al., J. Fluid Mech. 130 (1983) 411): each component is a
series of sines and cosines whose three wavenumbers are all even or all odd. So N³ points are two fields of (N/4)³, and
transforms are products with small matrices. The equation, the modes |k_i| < N/3 and the stepper (fourth-order
Runge–Kutta with an integrating factor) are those of `slabwave validate taylor-green`; nothing of the library is used.

    python benchmarks/taylor_green_symmetric.py 256 0.008            # ten minutes on one core
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

VELOCITY = ("scc", "csc", "ccs")  # sines and cosines along x, y, z of each component
VORTICITY = ("css", "scs", "ssc")
TIMES = (1.0, 2.0, 3.0, 8.97, 10.0, 12.0)
PAIRS = {"odd": (("odd", "even"), ("even", "odd")), "even": (("odd", "odd"), ("even", "even"))}  # that multiply to it

Flow = dict[str, list[np.ndarray]]  # amplitudes of three components, for odd and for even wavenumbers


class Symmetric:
    """Navier–Stokes for flows with the vortex's symmetries.

    Args:
        points: N, along a side of the box of 2π; a multiple of four.
        viscosity: ν.
    """

    def __init__(self, points: int, viscosity: float) -> None:
        self.viscosity = viscosity
        x = (np.arange(points // 4) + 0.5) * 2 * np.pi / points
        self.wavenumbers, self.to_points, self.to_modes = {}, {}, {}
        for parity, first in (("odd", 1), ("even", 0)):
            k = np.arange(first, -(-points // 3), 2)  # below N/3
            self.wavenumbers[parity] = np.meshgrid(k, k, k, indexing="ij", sparse=True)
            weights = np.where(k == 0, 1.0, 2.0)[:, None] / x.size
            for kind, function in (("s", np.sin), ("c", np.cos)):
                self.to_points[parity, kind] = function(np.outer(k, x))
                self.to_modes[parity, kind] = (weights * function(np.outer(k, x))).T
        self.squares = {parity: sum(k * k for k in ks) for parity, ks in self.wavenumbers.items()}

    def start(self) -> Flow:
        """u = sin x cos y cos z, v = −cos x sin y cos z, w = 0."""
        flow = {parity: [np.zeros(square.shape) for _ in VELOCITY] for parity, square in self.squares.items()}
        flow["odd"][0][0, 0, 0], flow["odd"][1][0, 0, 0] = 1.0, -1.0
        return flow

    def at_points(self, flow: Flow, kinds: Sequence[str]) -> Flow:
        """The values of three components, of odd and even modes apart."""
        return {
            parity: [
                _carried(a, *(self.to_points[parity, kind] for kind in of)) for a, of in zip(rows, kinds, strict=True)
            ]
            for parity, rows in flow.items()
        }

    def curl(self, flow: Flow) -> Flow:
        """The amplitudes of the vorticity."""
        curls = {}
        for parity, (u, v, w) in flow.items():
            kx, ky, kz = self.wavenumbers[parity]
            curls[parity] = [kz * v - ky * w, kx * w - kz * u, ky * u - kx * v]
        return curls

    def nonlinear(self, flow: Flow) -> Flow:
        """u × ω without its gradient part."""
        u, omega = self.at_points(flow, VELOCITY), self.at_points(self.curl(flow), VORTICITY)
        change = {}
        for parity, pairs in PAIRS.items():
            rows = []
            for i, kinds in enumerate(VELOCITY):
                j, k = (i + 1) % 3, (i + 2) % 3
                product = sum(u[a][j] * omega[b][k] - u[a][k] * omega[b][j] for a, b in pairs)
                rows.append(_carried(product, *(self.to_modes[parity, kind] for kind in kinds)))
            ks, square = self.wavenumbers[parity], self.squares[parity]
            pressure = sum(k * row for k, row in zip(ks, rows, strict=True)) / np.maximum(square, 1)
            change[parity] = [row - k * pressure for k, row in zip(ks, rows, strict=True)]
        return change

    def step(self, flow: Flow, dt: float) -> Flow:
        """One step of the classical Runge–Kutta method, with viscosity as an integrating factor."""
        half = {parity: np.exp(-self.viscosity * square * dt / 2) for parity, square in self.squares.items()}

        def combined(*terms: tuple[float, int, Flow]) -> Flow:
            """Σ number · (half-step factor)^power · flow."""
            return {
                parity: [sum(c * factor**power * term[parity][i] for c, power, term in terms) for i in range(3)]
                for parity, factor in half.items()
            }

        first = self.nonlinear(flow)
        second = self.nonlinear(combined((1, 1, flow), (dt / 2, 1, first)))
        third = self.nonlinear(combined((1, 1, flow), (dt / 2, 0, second)))
        fourth = self.nonlinear(combined((1, 2, flow), (dt, 1, third)))
        slopes = ((dt / 6, 2, first), (dt / 3, 1, second), (dt / 3, 1, third), (dt / 6, 0, fourth))
        return combined((1, 2, flow), *slopes)

    def energy_and_enstrophy(self, flow: Flow) -> tuple[float, float]:
        """½⟨|u|²⟩ and ½⟨|ω|²⟩; odd and even modes are orthogonal over the box."""
        means = []
        for fields in (self.at_points(flow, VELOCITY), self.at_points(self.curl(flow), VORTICITY)):
            means.append(sum(float((a * a).mean()) for rows in fields.values() for a in rows) / 2)
        return means[0], means[1]


def history(
    points: int, step: float, times: Sequence[float], viscosity: float = 1 / 1600
) -> Iterator[tuple[float, float, float]]:
    """Time, energy and enstrophy at some times, from t = 0 by equal steps between them of at most `step`."""
    solver = Symmetric(points, viscosity)
    flow = solver.start()
    for before, t in itertools.pairwise((0.0, *times)):
        steps = int(np.ceil((t - before) / step - 1e-9))
        for _ in range(steps):
            flow = solver.step(flow, (t - before) / steps)
        yield t, *solver.energy_and_enstrophy(flow)


def _carried(a: np.ndarray, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Modes to points or back, one axis after the other, each by its matrix."""
    a = np.matmul(y.T, a @ z)
    return np.tensordot(x.T, a, axes=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("points", type=int, help="N of the N³ points of the whole box")
    parser.add_argument("step", type=float, help="longest step")
    parser.add_argument("--times", type=float, nargs="+", default=TIMES)
    given = parser.parse_args()
    for t, energy, enstrophy in history(given.points, given.step, given.times):
        print(f"t = {t:g}: energy {energy:.8f}, enstrophy {enstrophy:.6f}", flush=True)


if __name__ == "__main__":
    main()
