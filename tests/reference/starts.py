"""Initial fields without random numbers `(component, *points)`, by the formulas of docs/run_files/initial.md."""

import numpy as np

FLOWS = {"taylor-green", "beltrami", "orszag-tang", "kelvin-helmholtz", "vortex-ring", "vortex-tubes"}


class Start:
    """An `[initial]` section at the points of a box.

    Args:
        section: with `name`.
        equation: the section `[equation]`, whose numbers solitons take.
        box: the box.
        count: components of the field.
    """

    def __init__(self, section, equation, box, count):
        self.given, self.equation, self.box, self.count = section, equation, box, count
        self.x, self.lengths, self.d = box.x, box.lengths, box.dimensions
        self.angles = [2 * np.pi * x / length for x, length in zip(box.x, box.lengths, strict=True)]

    def values(self):
        """None where random numbers or files make the field."""
        make = getattr(self, self.given["name"].replace("-", "_"), None)
        if make is None:
            return None
        found = make()
        parts = found if isinstance(found, list) else [found]
        return np.array([np.broadcast_to(part, self.box.points) for part in parts])

    def get(self, key, default):
        return self.given.get(key, default)

    def apart(self, centre):
        """Vectors from a centre or its nearest periodic image."""
        away = [x - c for x, c in zip(self.x, centre, strict=True)]
        return [r - length * np.round(r / length) for r, length in zip(away, self.lengths, strict=True)]

    def distance2(self, centre):
        return sum(r * r for r in self.apart(centre))

    def turning(self, velocity):
        """v·x/α, v rounded to the nearest that is periodic."""
        unit = 2 * np.pi / self.lengths
        return sum(round(v / self.scale() / f) * f * x for v, f, x in zip(velocity, unit, self.x, strict=True))

    def scale(self):
        return self.get("hbar_over_mass", self.equation.get("hbar_over_mass", 1.0))

    def uniform(self):
        value = self.get("value", 0.0)
        return [np.full(self.box.points, v) for v in (value if isinstance(value, list) else [value] * self.count)]

    def bump(self):
        places, width = self.get("centres", [self.lengths / 2]), self.get("width", 0.1)
        bumps = sum(np.exp(-self.distance2(c) / (2 * width**2)) for c in places)
        return self.get("background", 0.0) + self.get("height", 1.0) * bumps

    def ball(self):
        r = np.sqrt(self.distance2(self.get("centre", self.lengths / 2)))
        inside, outside = self.get("inside", 1.0), self.get("outside", -1.0)
        wall = 0.5 * (1 - np.tanh((r - self.get("radius", 1.0)) / self.get("width", 0.1)))
        return outside + (inside - outside) * wall

    def along(self):
        return sum(n * a for n, a in zip(self.get("modes", [1]), self.angles, strict=False))

    def cosine(self):
        wave = np.cos(self.along() + self.get("phase", 0.0))
        return self.get("background", 0.0) + self.get("amplitude", 1.0) * wave

    def plane_wave(self):
        return self.get("amplitude", 1.0) * np.exp(1j * self.along())

    def gaussian(self):
        r2 = self.distance2(self.get("centre", self.lengths / 2))
        phase = self.turning(self.get("velocity", [0.0] * self.d))
        return self.get("amplitude", 1.0) * np.exp(-r2 / (2 * self.get("width", 1.0) ** 2) + 1j * phase)

    def train(self, profile):
        speeds, length = self.get("speeds", [4.0]), self.lengths[0]
        places = self.get("positions", [length * (i + 0.5) / len(speeds) for i in range(len(speeds))])
        far = [(i, self.x[0] - place + n * length) for i, place in enumerate(places) for n in range(-40, 41)]
        return sum(profile(speeds[i], i, s) for i, s in far)

    def kdv_solitons(self):
        own = self.equation if self.equation["name"] == "korteweg-de-vries" else {}
        a = self.get("nonlinearity", own.get("nonlinearity", 6.0))
        b = self.get("dispersion", own.get("dispersion", 1.0))
        return self.train(lambda c, i, s: 3 * c / a / np.cosh(np.clip((c / b) ** 0.5 * s / 2, -300, 300)) ** 2)

    def mkdv_solitons(self):
        signs = self.get("polarities", [1] * len(self.get("speeds", [4.0])))
        return self.train(lambda c, i, s: signs[i] * c**0.5 / np.cosh(np.clip(c**0.5 * s, -600, 600)))

    def nls_soliton(self):
        sign = -1 if self.equation["name"] == "gross-pitaevskii" else 1
        g, total = self.get("coupling", sign * self.equation.get("coupling", 1.0)), 0
        amplitudes = self.get("amplitudes", [1.0])
        for i, a in enumerate(amplitudes):
            centre = self.get("centres", [self.lengths[0] / 2] * len(amplitudes))[i]
            speed = self.get("velocities", [0.0] * len(amplitudes))[i]
            s = self.apart([centre, *[0.0] * (self.d - 1)])[0]
            phase = self.turning([speed] + [0.0] * (self.d - 1))
            total = total + a / (g / self.scale()) ** 0.5 / np.cosh(a * s) * np.exp(1j * phase)
        return total

    def solitons(self):
        radii, total = self.given["core_radii"], 0
        g = self.get("coupling", self.equation.get("coupling", 1.0))
        for i, (radius, centre) in enumerate(zip(radii, self.given["centres"], strict=True)):
            r2 = self.distance2(centre) / radius**2
            density = 1.2992709**4 * self.scale() ** 2 / (g * radius**4) * (1 + 0.091 * r2) ** -8
            phase = self.turning(self.get("velocities", [[0.0] * 3] * len(radii))[i])
            total = total + np.sqrt(density) * np.exp(1j * phase)
        return total

    def of_sine_gordon(self):
        own = self.equation if self.equation["name"] == "sine-gordon" else {}
        return self.get("mass", own.get("mass", 1.0)), self.get("wave_speed", own.get("wave_speed", 1.0))

    def breather(self):
        m, c = self.of_sine_gordon()
        omega = self.get("frequency", 0.5)
        eta = np.sqrt(1 - omega**2)
        x = self.apart([self.get("position", self.lengths[0] / 2), *[0.0] * (self.d - 1)])[0]
        return 4 * np.arctan(eta / omega / np.cosh(eta * m * x / c))

    def kink_pair(self):
        m, c = self.of_sine_gordon()
        v = self.get("speed", 0.5)
        places = self.get("positions", [self.lengths[0] / 4, 3 * self.lengths[0] / 4])
        kink, anti = (m / c / np.sqrt(1 - v**2) * (self.x[0] - place) for place in places)
        if self.get("rate", False):
            return -2 * v * m / np.sqrt(1 - v**2) * (1 / np.cosh(kink) + 1 / np.cosh(anti))
        return 4 * np.arctan(np.exp(kink)) - 4 * np.arctan(np.exp(anti))

    def quantised_vortices(self):
        """Images of the point vortices, row by row: a row is sin of a complex angle, its far rows are turned back."""
        (lx, ly), density = self.lengths[:2], self.get("density", 1.0)
        g = abs(self.equation.get("coupling", 1.0))
        xi = self.get("healing_length", (g * density) ** -0.5)
        places = self.get("centres", [[lx / 2, 0.375 * ly], [lx / 2, 0.625 * ly]])
        places = [(x % lx, y % ly) for x, y in places]
        signs = self.get("signs", [-1, 1])
        mx, my = (sum(s * p[i] for s, p in zip(signs, places, strict=True)) / (lx, ly)[i] for i in (0, 1))
        flow = -round(my) * self.angles[0] + (round(mx) - mx) * self.angles[1]
        psi = np.sqrt(density) * np.exp(1j * flow)
        for (px, py), sign in zip(places, signs, strict=True):
            s = 2 * sum(r * r for r in self.apart([px, py, *[0.0] * (self.d - 2)])[:2]) / xi**2
            size = np.sqrt(s * (11 / 32 + 11 / 384 * s) / (1 + s / 3 + 11 / 384 * s * s))
            w = np.pi / lx * (self.x[0] - px + 1j * (self.x[1] - py))
            theta = np.sin(w)
            for n in range(1, 40):
                q = np.exp(-2 * np.pi * n * ly / lx)
                theta = theta * (1 - 2 * q * np.cos(2 * w) + q * q)
            phase = np.where(np.abs(theta) > 0, theta / np.where(theta == 0, 1, np.abs(theta)), 1)
            psi = psi * size * (phase if sign > 0 else np.conj(phase))
        return psi

    def taylor_green(self):
        x, y, *z = self.angles
        a = self.get("amplitude", 1.0) * (np.cos(z[0]) if z else 1)
        return [a * np.sin(x) * np.cos(y), -a * np.cos(x) * np.sin(y), *([0 * x] if z else [])]

    def beltrami(self):
        a, b, c = self.get("coefficients", [1.0, 1.0, 1.0])
        x, y, z = (self.get("wavenumber", 1) * angle for angle in self.angles)
        s, k = np.sin, np.cos
        return [a * s(z) + c * k(y), b * s(x) + a * k(z), c * s(y) + b * k(x)]

    def orszag_tang(self):
        a, magnetic = self.get("amplitude", 1.0), self.get("magnetic", False)
        x, y, *z = (np.sin(angle) for angle in self.angles)
        if not z:
            return [-a * y, a * (np.sin(2 * self.angles[0]) if magnetic else x)]
        if magnetic:
            return [a * (-2 * np.sin(2 * self.angles[1]) + z[0]), a * (2 * x + z[0]), a * (x + y)]
        return [-2 * a * y, 2 * a * x, 0 * x]

    def kelvin_helmholtz(self):
        x, *across, last = self.angles
        a, delta = self.get("amplitude", 1.0), self.get("width", 0.2) * 2 * np.pi / self.lengths[-1]
        streams = -a * np.tanh(np.cos(last) / delta)
        if self.count == 1:
            return streams
        wave = np.sin(self.get("waves", 2) * x) + sum(self.get("spanwise", 0.5) * np.sin(y) for y in across)
        return [streams, *(0 * x for _ in across), a * self.get("perturbation", 0.05) * wave]

    def vortex_ring(self):
        big, core = self.get("radius", 1.0), self.get("core", 0.3)
        centres, total = self.get("centres", [self.lengths / 2]), 0
        for centre, axis in zip(centres, self.get("axes", [[0.0, 0.0, 1.0]] * len(centres)), strict=True):
            n, r = np.array(axis) / np.linalg.norm(axis), np.array(self.apart(centre))
            along = np.tensordot(n, r, 1)
            turned = np.cross(n, r, axisb=0, axisc=0)
            rho = np.sqrt(np.maximum(np.sum(r * r, axis=0) - along**2, 0))
            near = rho <= 1e-6 * big
            strength = np.exp(-((rho - big) ** 2 + along**2) / core**2) / (np.pi * core**2)
            total = total + self.get("circulation", 1.0) * strength * turned * np.where(
                near, 0, 1 / np.where(near, 1, rho)
            )
        return self.velocity_of(total)

    def vortex_tubes(self):
        core, eps = self.get("core", 0.4), self.get("perturbation", 0.2)
        tilt, k = self.get("inclination", np.pi / 3), 2 * np.pi / self.lengths[1]
        wave, slope, total = np.cos(self.angles[1]), -k * np.sin(self.angles[1]), 0
        for sign in (1, -1):
            dx, dz = sign * eps * np.cos(tilt), -eps * np.sin(tilt)
            line = [self.lengths[0] / 2 + sign * self.get("separation", 1.8) / 2 + dx * wave, self.x[1],
                    self.lengths[2] / 2 + dz * wave]  # fmt: skip
            x, _, z = self.apart(line)
            strength = sign * self.get("circulation", 1.0) / (np.pi * core**2) * np.exp(-(x * x + z * z) / core**2)
            total = total + np.array([strength * dx * slope, strength, strength * dz * slope])
        return self.velocity_of(total)

    def velocity_of(self, vorticity):
        """û = i k×ω̂/|k|²."""
        k, k2 = np.array(self.box.k), np.where(self.box.k2 > 0, self.box.k2, 1)
        hats = np.array([self.box.modes(w) for w in vorticity])
        return [self.box.at_points(1j * u / k2).real for u in np.cross(k, hats, axis=0)]
