"""Records against time, as docs/diagnostics.md defines them, of the fields of one state: columns by name."""

import itertools

import numpy as np


class Record:
    """One row of an `[output.NAME]`, of coefficients; `nonlinear` gives N of them, `streams` texts of velocities."""

    def __init__(self, system, fields, section, nonlinear, streams):
        self.system, self.box, self.section, self.nonlinear = system, system.box, section, nonlinear
        self.fields, self.d = fields, self.box.dimensions
        self.hats, self.of = {}, {}  # coefficients, and the field, by name of the component
        for part, hat in zip(system.names, fields, strict=True):
            name, _, index = part.partition(".")
            column = f"{name}_{''.join('xyz'[int(i)] for i in index)}" if index else name
            self.hats[column], self.of[column] = hat, name
        self.real = {c: name not in system.complex for c, name in self.of.items()}
        found = system.expressions(system.place(fields, 0.0))
        parts = {name: [v.coefficients() for v in found.value(text)] for name, text in streams.items()}
        self.made = {f"{n}_{x}": hat for n, hats in parts.items() for x, hat in zip("xyz", hats, strict=False)}
        self.of |= {column: column[:-2] for column in self.made}
        self.vectors = [*(name for name, rank in system.fields.items() if rank == "vector"), *streams]
        self.scalars = [name for name, rank in system.fields.items() if rank == "scalar"]
        self.spacing = np.max(self.box.lengths / np.array(self.box.points))

    def columns(self, name):
        return getattr(self, name.replace("-", "_"))()

    def parts(self, name):
        return np.array([hat for c, hat in (self.hats | self.made).items() if self.of[c] == name])

    def at_points(self, hat):
        return self.box.at_points(hat).real

    def by_shell(self, values):
        centres, number = self.box.shells()
        return np.array([np.sum(values[number == i]) for i in range(len(centres))])

    def spectra(self):
        return self.system.spectra(self.fields)[1]

    def line_spectra(self):
        found = {}
        for (c, hat), axis in itertools.product(self.hats.items(), range(self.d)):
            n = np.abs(self.box.n[axis])
            size = int(n[self.box.kept].max()) + 1
            found[f"{c}_{'xyz'[axis]}"] = np.array([0.5 * np.sum(np.abs(hat[n == m]) ** 2) for m in range(size)])
        return found

    def cospectra(self):
        found = {}
        for a, b in itertools.combinations(self.hats, 2):
            if self.real[a] == self.real[b]:
                product = np.conj(self.hats[a]) * self.hats[b]
                half = np.where(self.box.n[-1] > 0, 2, 0) if self.real[a] else 1
                found[f"{a}_{b}_real"] = self.by_shell(product.real)
                found[f"{a}_{b}_imaginary"] = self.by_shell(half * product.imag)
        return found

    def modes(self):
        at = lambda hat: np.array([hat[tuple(n)] for n in self.section["modes"]])  # noqa: E731
        both = {c: at(hat) for c, hat in self.hats.items()}
        return {f"{c}_real": v.real for c, v in both.items()} | {f"{c}_imaginary": v.imag for c, v in both.items()}

    def points(self):
        found = {}
        for c, hat in self.hats.items():
            waves = [np.prod([self.wave(a, x) for a, x in enumerate(at)], axis=0) for at in self.section["at"]]
            values = np.array([np.sum(hat * wave) for wave in waves])
            found |= {c: values.real} if self.real[c] else {f"{c}_real": values.real, f"{c}_imag": values.imag}
        return found

    def domain_length(self):
        k, hats = np.sqrt(self.box.k2), dict(zip(self.system.names, self.fields, strict=True))
        squares = {n: sum(np.abs(hats[c]) ** 2 for c in all.values()) * (k > 0) for n, all in self.system.parts.items()}
        return {f"{n}_length": 2 * np.pi * np.sum(s) / (np.sum(k * s) or 1) for n, s in squares.items()}

    def transfer(self):
        change, linear = self.nonlinear(self.fields), np.einsum("ij...,j...->i...", self.system.L, self.fields)
        (centres, number), found = self.box.shells(), {}
        for name, text in self.system.energies.items():
            rate = lambda c, text=text: np.array([  # noqa: E731
                self.system.rate_of_energy(text, self.fields, np.where(number == i, c, 0)) for i in range(len(centres))
            ])  # fmt: skip
            moved = rate(change)
            found |= {f"{name}_transfer": moved, f"{name}_flux": -np.cumsum(moved), f"{name}_linear": rate(linear)}
        return found

    def zonal_means(self):
        return {c: self.at_points(u).mean(axis=0) for c, u in (self.hats | self.made).items() if self.real.get(c, True)}

    def extremes(self):
        values = {c: self.at_points(hat) for c, hat in self.hats.items() if self.real[c]}
        return {f"{c}_max": v.max() for c, v in values.items()} | {f"{c}_min": v.min() for c, v in values.items()}

    def gradients(self, name):
        """∂_j u_i `(i, j, *points)`."""
        return np.array([[self.at_points(1j * k * u) for k in self.box.k] for u in self.parts(name)])

    def moved(self, hat, axis, steps):
        """Values at x + r e_j, r a number of the coarsest spacing."""
        return self.at_points(hat * self.wave(axis, steps * self.spacing))

    def wave(self, axis, x):
        """exp(i k x) of the modes along an axis, where one of ±N/2 is a cosine."""
        return np.cos(self.box.k_full[axis] * x) + 1j * np.sin(self.box.k[axis] * x)

    def most(self):
        return int(0.5 * self.box.lengths.min() / self.spacing * (1 + 1e-9))

    def structure_functions(self):
        steps, orders = 2 ** np.arange(max(self.most(), 1).bit_length()), self.section.get("orders", [2, 3, 4, 6])
        apart = lambda hat, axis, s: self.moved(hat, axis, s) - self.at_points(hat)  # noqa: E731
        return self.along_and_across(
            lambda hat, axis: np.array([[np.mean(apart(hat, axis, s) ** p) for p in orders] for s in steps])
        )

    def along_and_across(self, of):
        """Means over directions of what is found of a component and an axis: vectors by part, scalars by name."""
        found, axes = {}, range(self.d)
        for i, name in enumerate(self.vectors):
            u, prefix = self.parts(name), f"{name}_" if i else ""
            found[f"{prefix}longitudinal"] = np.mean([of(u[j], j) for j in axes], axis=0)
            others = [of(u[i], j) for i in axes for j in axes if i != j]
            found |= {f"{prefix}transverse": np.mean(others, axis=0)} if others else {}
        return found | {name: np.mean([of(self.parts(name)[0], j) for j in axes], axis=0) for name in self.scalars}

    def correlations(self):
        r, still = range(self.most() + 1), lambda hat: np.where(self.box.mean_mode, 0, hat)
        of = lambda hat, j: np.array([np.mean(self.at_points(still(hat)) * self.moved(still(hat), j, s)) for s in r])  # noqa: E731
        found = self.along_and_across(of)
        return {name: value / (value[0] or 1) for name, value in found.items()}

    def scales(self):
        [name, *_] = self.vectors
        u, d, k = self.parts(name), self.d, np.sqrt(self.box.k2)
        square = np.sum(np.abs(u) ** 2, axis=0) * (k > 0)
        u2, g = np.sum(square), np.array([self.gradients(name)[i, i] for i in range(d)])
        rms = np.sqrt(u2 / d)
        size = (np.pi / 2 if d == 3 else 2) * np.sum(square / np.where(k > 0, k, 1)) / 2 / (u2 / d)
        isotropic, g2 = 2 * (d - 1) / (d + 1), np.mean(g**2)
        return {
            "energy": u2 / 2, "rms_velocity": rms, "integral_scale": size, "turnover_time": size / rms,
            "taylor_scale": np.sqrt(isotropic * u2 / (d * g2)),
            "taylor_scale_of_dissipation": np.sqrt(isotropic * (d + 2) * u2 / np.sum(k * k * square)),
            "gradient_skewness": np.mean(g**3) / g2**1.5, "gradient_flatness": np.mean(g**4) / g2**2}  # fmt: skip

    def pdfs(self):
        values = {name: self.at_points(self.parts(name)[0]) for name in self.scalars}
        if self.vectors:
            [name, *_] = self.vectors
            g, i = self.gradients(name), np.arange(self.d)
            values |= {"velocity": np.array([self.at_points(u) for u in self.parts(name)])}
            values |= {"longitudinal_gradient": g[i, i]}
            values |= {"transverse_gradient": g[i[:, None] != i]} if self.d > 1 else {}
        found, bins, reach = {}, self.section.get("bins", 201), self.section.get("deviations", 10.0)
        for name, v in values.items():
            std = v.std()
            z = (v - v.mean()) / (std or 1)
            found[name] = np.histogram(z, bins, (-reach, reach))[0] / v.size * bins / (2 * reach)
            found |= {f"{name}_mean": v.mean(), f"{name}_std": std, f"{name}_skewness": np.mean(z**3),
                      f"{name}_flatness": np.mean(z**4)}  # fmt: skip
        return found
