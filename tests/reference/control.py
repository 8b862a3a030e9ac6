"""How long steps are: of one size, as a CFL number or a tolerance lets them be, shorter where a time is to be met."""

import numpy as np

# speeds whose moduli are added along each axis, or a rate of reaction, by equation
SPEEDS = {
    "burgers": ["velocity"], "navier-stokes": ["velocity"], "boussinesq": ["velocity"], "oldroyd-b": ["velocity"],
    "rayleigh-benard": ["velocity"], "active-nematic": ["u"],
    "shallow-water": ["velocity"], "kuramoto-sivashinsky": ["steepening*grad(u)"], "hasegawa-mima": ["v"],
    "hasegawa-wakatani": ["v"], "vorticity": ["v"], "surface-quasi-geostrophic": ["perp(psi)"],
    "mhd": ["velocity", "magnetic_field"], "reduced-mhd": ["u", "b"], "korteweg-de-vries": ["nonlinearity*u*ex"],
    "modified-korteweg-de-vries": ["6*sign*u**2*ex"], "two-layer-quasi-geostrophic": ["perp(psi_1)", "perp(psi_2)"],
}  # fmt: skip
REACTIONS = {
    "allen-cahn": "1 + 3*u**2", "brusselator": "abs(u**2) + abs(2*u*v) + conversion + 1",
    "gray-scott": "abs(v**2) + abs(2*u*v) + feed + kill",
    "cahn-hilliard": "3*mobility/gradient_energy*c**2", "fisher-kpp": "growth*abs(1 - 2*u)",
    "complex-ginzburg-landau": "abs(amplitude)**2*sqrt(1 + nonlinear_dispersion**2)", "sine-gordon": "mass",
    "keller-segel": "growth*abs(1 - 2*cells) + abs(sensitivity)*production*abs(cells)"
                    "/(diffusivity + signal_diffusivity)",
    "klein-gordon": "sqrt(mass**2 + 3*abs(coupling)*phi**2)", "phase-field-crystal": "3*pattern_wavenumber**2*psi**2",
    "nonlinear-schroedinger": "abs(coupling)*abs(wavefunction)**2/pi", "zakharov": "abs(density) + abs(envelope)**2",
    "coupled-gross-pitaevskii": "((abs(coupling_11) + abs(coupling_12))*abs(psi_1)**2"
                                " + (abs(coupling_22) + abs(coupling_12))*abs(psi_2)**2)/pi",
    "swift-hohenberg": "abs(growth) + abs(2*quadratic*u - 3*u**2)"}  # fmt: skip
ERROR_ORDERS = {"ifrk2": 1, "ifrk3": 2, "ifrk4": 2, "imexrk3": 2}


class NotKnown(Exception):
    """What this program does not know."""


def rate_of(section, system, fields):
    """The CFL number over the step [1/time], of an `[equation]` and coefficients."""
    name, box = section["name"], system.box
    spacing = box.spacing
    found = system.expressions(system.place(fields, 0.0))
    of_bodies = 0.0 if system.bodies is None else system.bodies.rate
    of_bodies += system.rate_of_linear() + (name == "rayleigh-benard")
    at_points = lambda text: np.abs([v.at_points() for v in np.ravel(found.value(text))])  # noqa: E731
    if name == "advection-diffusion":
        wind = np.abs(section.get("velocity", [0.0] * box.dimensions)).astype(float)
        cells = section.get("cell_speed", 0.0)
        wind[:2] += cells * (box.lengths / box.lengths[0])[:2]
        return np.sum(wind / spacing)
    if name in SPEEDS or "layers" in section:
        each = [at_points(text) for text in SPEEDS.get(name) or [f"perp(psi_of_{q})" for q in section["layers"]]]
        speeds = np.max(each, axis=0) if "-layer" in name else sum(each)
        mean = {"mhd": section.get("mean_field") or (), "reduced-mhd": [0.0, 0.0, section.get("mean_field", 1.0)]}
        waves = sum(np.abs(v) / np.min(h) for v, h in zip(mean.get(name, ()), spacing, strict=False))
        eddies = 0.0
        if "constant" in section:  # of a closure
            faster = max(1.0, 1 / section["turbulent_schmidt"]) if section.get("scalars") else 1.0
            eddies = at_points("eddy")[0] * np.sum(box.highest**2) * faster
        return np.max(sum(v / h for v, h in zip(speeds, spacing, strict=False)) + eddies) + waves + of_bodies
    text = REACTIONS.get(name) or section.get("rate")
    if not text:
        raise NotKnown(f"the rate of {name}")
    return np.max(at_points(text)) + of_bodies


class Control:
    """Sizes of steps, one after another; `scales` makes of sizes of fields what their errors are relative to."""

    def __init__(self, time, rate, problem, start, scales, carried=()):
        self.time, self.rate, self.scales, self.carried = time, rate, scales, carried  # the last: passive scalars
        self.longest = np.inf if problem is None or "step" in time else self._first(problem, start)

    def _first(self, problem, start):
        """A hundredth of ‖u‖/‖u_t‖; from rest, when the acceleration reaches a tenth of the CFL number."""
        change = problem.nonlinear(start, 0.0, 0) + start.by(problem.linear.apply, 0)
        size, speed = (np.sqrt(np.sum(np.abs(f) ** 2)) for f in (problem.system.whole(start.fields), change.fields))
        if size > 0:
            return 0.01 * size / speed if speed > 0 else np.inf
        accelerated = self.rate(change)
        return np.sqrt(0.1 * self.time.get("cfl", 1.0) / accelerated) if accelerated > 0 else np.inf

    def propose(self, state):
        if "step" in self.time:
            return self.time["step"]
        most = min(self.longest, self.time.get("max_step", np.inf))
        if "tolerance" in self.time:
            return most
        rate = self.rate(state)
        return min(most, self.time["cfl"] / rate) if rate > 0 else most

    def judge(self, proposed, dt, shortened, sizes):
        """Whether a step of dt counts; `sizes` are, by field, those of its error, and of the field before and after."""
        full = proposed if np.isfinite(proposed) else dt
        if "cfl" in self.time:
            self.longest = 1.5 * full
        if "tolerance" not in self.time:
            return True
        scales = self.scales({name: max(before, after) for name, (_, before, after) in sizes.items()})
        most = {n: max(s for m, s in scales.items() if n in self.carried or m not in self.carried) for n in scales}
        error = max(e / (max(scales[n], 1e-6 * most[n]) or 1) for n, (e, *_) in sizes.items()) / self.time["tolerance"]
        factor = max(error, 1e-30) ** (-1 / (ERROR_ORDERS[self.time["stepper"]] + 1))
        self.longest = dt * np.clip(0.9 * factor, 0.2, 2)
        if error <= 1 and shortened:
            self.longest = max(self.longest, full)
        return error <= 1


def next_time(table, t, dt):
    """The next time that is to be met: a multiple of some `every_time`, or the end."""
    end, found = table["time"]["end"], []
    for section in table.get("output", {}).values():
        every = section.get("every_time") if isinstance(section, dict) else None
        if every:
            count = np.floor(t / every)
            while count * every <= t + 1e-9 * min(dt, every):
                count += 1
            found.append(count * every)
    return min([end, *found])


def due(section, course):
    """Numbers of the steps after which an output is written: the first, the last, and what its schedule says."""
    found = []
    for number, (t, dt) in enumerate(zip(course.times, course.sizes, strict=True)):
        steps, every = section.get("every_steps"), section.get("every_time")
        is_due = number in (0, len(course.times) - 1) or (steps and number % steps == 0)
        if every and abs(t - np.rint(t / every) * every) <= 1e-9 * min(dt, every):
            is_due = True
        found += [number] if is_due else []
    return found
