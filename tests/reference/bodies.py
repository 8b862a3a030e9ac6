"""Bodies by volume penalisation, and sponges: what they do to a flow and its scalars, and the forces on bodies."""

import numpy as np

LAYER = 2.64822828  # δ = LAYER √(ην)


def rotated_back(angle, r):
    """Coordinates in a frame that has turned by an angle; in 3-D by |angle| about its direction (Rodrigues)."""
    if len(r) == 2:
        c, s = np.cos(angle), np.sin(angle)
        return np.array([c * r[0] + s * r[1], c * r[1] - s * r[0]])
    size = np.linalg.norm(angle)
    n = np.asarray(angle) / (size or 1)
    along = np.tensordot(n, r, 1)
    turned = np.cross(n, r, axisb=0, axisc=0)
    return np.cos(size) * r - np.sin(size) * turned + (1 - np.cos(size)) * n.reshape(-1, *[1] * (r.ndim - 1)) * along


class Obstacle:
    """A body, or a sponge, at points x `(direction, *points)` and at times t."""

    def __init__(self, section, box, viscosity):
        self.given, self.box, self.d = section, box, box.dimensions
        self.is_body = "shape" in section
        self.side = box.lengths.reshape(-1, *[1] * self.d)
        if self.is_body:
            spacing = np.max(box.lengths / np.array(box.points))
            self.eta = section.get("eta") or (3 * spacing / LAYER) ** 2 / viscosity
            self.layer = LAYER * np.sqrt(self.eta * viscosity)
        self.fastest = 1 / self.eta if self.is_body else section["rate"]

    def moved(self, key, phase, t):
        """What has been moved or turned since time 0."""
        amplitude, f, phase = np.array(self.given.get(key, 0.0)), self.given.get("frequency"), self.given.get(phase, 0)
        return amplitude * (t if f is None else (np.sin(2 * np.pi * f * t + phase) - np.sin(phase)) / (2 * np.pi * f))

    def speed(self, key, phase, t):
        amplitude, f = np.array(self.given.get(key, 0.0)), self.given.get("frequency")
        return amplitude * (1 if f is None else np.cos(2 * np.pi * f * t + self.given.get(phase, 0)))

    def about_centre(self, x, t):
        centre = np.array(self.given.get("centre", [0.0] * self.d))
        centre = centre + np.broadcast_to(self.moved("velocity", "phase", t), self.d)
        if self.given["shape"] == "wall":
            centre["xyz".index(self.given.get("axis", "y"))] += self.given["position"]
        r = x - centre.reshape(-1, *[1] * self.d)
        return r - self.side * np.round(r / self.side)

    def distance(self, x, t):
        shape, r = self.given["shape"], self.about_centre(x, t)
        for key, angle in (("rotation", self.moved("rotation", "rotation_phase", t)), ("tilt", self.given.get("tilt"))):
            r = rotated_back(angle, r) if key in self.given else r
        across = [i for i in range(self.d) if self.d == 2 or "xyz"[i] != self.given.get("axis", "z")]
        if shape == "cylinder":
            return np.sqrt(sum(r[i] ** 2 for i in across)) - self.given["radius"]
        if shape == "sphere":
            return np.sqrt(np.sum(r**2, axis=0)) - self.given["radius"]
        if shape == "box":
            beyond = np.array([np.abs(v) - side / 2 for v, side in zip(r, self.given["sides"], strict=True)])
            return np.sqrt(np.sum(np.maximum(beyond, 0) ** 2, axis=0)) + np.minimum(np.max(beyond, axis=0), 0)
        if shape == "ellipsoid":
            a = np.array(self.given["semi_axes"]).reshape(-1, *[1] * self.d)
            k, slope = (np.sqrt(np.sum(v**2, axis=0)) for v in (r / a, r / a**2))
            return np.where(slope > 0, k * (k - 1) / np.where(slope > 0, slope, 1), -np.min(a))
        if shape == "wall":
            return np.abs(r["xyz".index(self.given.get("axis", "y"))]) - self.given["thickness"] / 2
        raise KeyError(shape)

    def mask(self, x, t):
        d = self.distance(x, t)
        return 0.5 * (1 - np.tanh((-2 if self.given.get("inverted") else 2) * d / self.layer))

    def strength(self, x, t):
        if self.is_body:
            return self.mask(x, t) / self.eta
        axis, width = "xyz".index(self.given.get("axis", "x")), self.given["width"]
        edge, length = self.given.get("edge", width / 8), self.box.lengths[axis]
        s = x[axis] - self.given["position"]
        s = s - length * np.round(s / length)
        return self.given["rate"] * 0.5 * (np.tanh((s + width / 2) / edge) - np.tanh((s - width / 2) / edge))

    def target(self, x, t):
        """Velocity that the flow is drawn to."""
        if not self.is_body:
            mean = np.array(self.given.get("target", [0.0] * self.d)).reshape(-1, *[1] * self.d)
            if "channel" not in self.given:
                return mean + 0 * x
            across = (x[1] - self.box.lengths[1] / 2) / (self.given["channel"] / 2)
            return mean * 1.5 * np.maximum(1 - across**2, 0)
        r = self.about_centre(x, t)
        along = np.broadcast_to(self.speed("velocity", "phase", t), self.d).reshape(-1, *[1] * self.d) + 0 * x
        if "rotation" not in self.given:
            return along
        spin = self.speed("rotation", "rotation_phase", t)
        return along + (np.array([-spin * r[1], spin * r[0]]) if self.d == 2 else np.cross(spin, r, axisb=0, axisc=0))

    def slope(self, x, t):
        """∇ψ/ψ, ψ = 1 − χ + 0.01, by differences of fourth order."""
        psi, h, found = lambda x: 1.01 - self.mask(x, t), 1e-3 * self.layer, []
        for axis in range(self.d):
            e = np.zeros_like(x)
            e[axis] = h
            found.append((8 * (psi(x + e) - psi(x - e)) - psi(x + 2 * e) + psi(x - 2 * e)) / (12 * h * psi(x)))
        return np.array(found)


class Bodies:
    """All of them: what `penalise(…)` stands for in a text, and columns of the series."""

    def __init__(self, table, box, viscosity):
        self.box, self.x, self.named = box, np.array(box.x), {}
        for key in ("body", "sponge"):
            section = table.get(key, {})
            alone = "shape" in section or "rate" in section
            for name, one in ({key: section} if alone else section).items():
                self.named[name] = Obstacle(one, box, viscosity)
        self.diffusivities = {}

    def penalise(self, of, diffusivity=None):
        """Of the velocity −Σ r (u − u_s); of a scalar −Σ r (c − value) where it is fixed, κ(∇ψ/ψ)·∇c where sealed."""
        place = np.ravel(of)[0].of
        found, t = np.empty(of.shape, object), place.t
        if diffusivity is None:
            for i in range(len(of)):
                u = of[i].at_points()
                drawn = sum(o.strength(self.x, t) * (o.target(self.x, t)[i] - u) for o in self.named.values())
                found[i] = place.seen(drawn, True)
            return found
        [(_, _, name)] = of[()].linear
        kappa, c, drawn = np.real(diffusivity[()].number), of[()], np.zeros(self.box.points)
        for one in self.named.values():
            if name in one.given.get("fixed", ()):
                value = one.given["values"][one.given["fixed"].index(name)]
                drawn = drawn + one.strength(self.x, t) * (value - c.at_points())
            if name in one.given.get("sealed", ()):
                slope = one.slope(self.x, t)
                drawn = drawn + kappa * sum(
                    s * c.operated(1j * k).at_points() for s, k in zip(slope, self.box.k, strict=True)
                )
                self.diffusivities[name] = kappa
        found[()] = place.seen(drawn, True)
        return found

    @property
    def rate(self):
        """What they add to the rate that a CFL number is of."""
        k2 = np.max(self.box.k2[self.box.kept])
        return max(o.fastest for o in self.named.values()) + sum(
            kappa * k2 / 4 for kappa in self.diffusivities.values()
        )

    def columns(self, u, change, t):
        """Forces, torques and slips of a velocity and its time derivative without forcings, at the points."""
        found, volume = {}, np.prod(self.box.lengths / np.array(self.box.points))
        for name, one in self.named.items():
            if not one.is_body:
                continue
            h = 5e-6 * one.eta  # short: distances from boxes have kinks
            masks = [one.mask(self.x, t + n * h) for n in (-2, -1, 1, 2)]
            growth = (8 * (masks[2] - masks[1]) - masks[3] + masks[0]) / (12 * h)
            mask, relative = one.mask(self.x, t), u - one.target(self.x, t)
            force, r = mask / one.eta * relative + mask * change + growth * u, one.about_centre(self.x, t)
            torque = r[0] * force[1] - r[1] * force[0] if len(r) == 2 else np.cross(r, force, axis=0)
            for i, axis in enumerate("xyz"[: len(r)]):
                found[f"{name}_force_{axis}"] = volume * np.sum(force[i])
                if len(r) == 3:
                    found[f"{name}_torque_{axis}"] = volume * np.sum(torque[i])
            if len(r) == 2:
                found[f"{name}_torque"] = volume * np.sum(torque)
            square = np.sum(relative**2, axis=0)
            found[f"{name}_slip"] = np.sqrt(np.sum(mask * square) / np.sum(mask) / (np.mean(square) or 1))
        return found
