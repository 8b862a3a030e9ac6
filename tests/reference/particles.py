"""Tracers and inertial particles: numbers `(1 or 2, particle, direction)`, x and v, which their rates integrate."""

import numpy as np
from scipy.interpolate import BSpline


class Particles:
    """Those of a section, in the flow of a text, a B-spline between the points, and a wind: `velocity` is both."""

    def __init__(self, section, system, velocity):
        self.given, self.system, self.velocity, self.order = section, system, velocity, section.get("order", 6)
        self.basis = BSpline.basis_element(np.arange(self.order + 1) - self.order / 2, extrapolate=False)

    def start(self, x, fields):
        return np.array([x, self.flow(fields, x)] if self.given.get("kind") == "inertial" else [x])

    def flow(self, fields, x, along=None):
        """At places x `(particle, component)`; or its slope along an axis, -1 for neither slope nor wind."""
        box = self.system.box
        filtered = np.prod([np.sinc(n / size) for n, size in zip(box.n, box.points, strict=True)], axis=0) ** self.order
        u = self.system.expressions(self.system.place(fields, 0.0)).value(self.velocity[0])
        found = np.array([[box.at_points(v.coefficients() / filtered).real for v in u]] * len(x))
        for axis, (h, n) in enumerate(zip(box.spacing, box.points, strict=True)):
            r = (x[:, axis, None] / h - np.arange(n) + n / 2) % n - n / 2
            basis, unit = (self.basis.derivative(), h) if axis == along else (self.basis, 1)
            weights = sum(np.nan_to_num(basis(r - image * n)) for image in range(-self.order, self.order + 1)) / unit
            found = np.einsum("pci...,pi->pc...", found, weights)
        return found + np.array(self.velocity[1]) * (along is None)

    def rates(self, numbers, fields, change):
        x, u, given = numbers[0], self.flow(fields, numbers[0]), self.given
        if len(numbers) == 1:
            return u[None]
        beta = 3 / (2 * given["density_ratio"] + 1) if "density_ratio" in given else 0
        rate = (u - numbers[1]) / given["response_time"] + (1 - beta) * np.array(given.get("gravity", 0.0))
        carried = sum(u[:, i, None] * self.flow(fields, x, i) for i in range(x.shape[1])) if beta else 0
        return np.array([numbers[1], rate + beta * (carried + self.flow(change, x, -1)) if beta else rate])
