"""The library's equations, written a second time, from the literature that their docstrings name.

An entry is what `System` takes: lines, fields, unknowns, definitions, energies, further columns, fields whose mean is
zero; `defaults` are those of docs/run_files. Forms differ from the library's where no product is aliased.
"""

from __future__ import annotations

import numpy as np

HYPER = {"hyperviscosity": 0.0, "hyper_order": 2}
STREAMS = {  # texts of velocities that follow from a field
    **{name: {"velocity": "v"} for name in ("hasegawa-mima", "hasegawa-wakatani", "vorticity")},
    **{name: {"velocity": "u"} for name in ("active-nematic", "reduced-mhd")},
    "surface-quasi-geostrophic": {"velocity": "perp(psi)"},
    "two-layer-quasi-geostrophic": {"upper_velocity": "perp(psi_1)", "lower_velocity": "perp(psi_2)"},
}
HYPER_TWO = {"hyperviscosity": 0.0, "hyperdiffusivity": 0.0, "hyper_order": 2}


def entry(lines, fields, *, defaults=(), unknowns=(), define=(), energies=None, series=(), no_mean=()):
    return {
        "lines": [lines] if isinstance(lines, str) else lines, "fields": fields, "defaults": dict(defaults),
        "unknowns": dict(unknowns), "define": dict(define), "energies": energies, "series": dict(series),
        "no_mean": no_mean}  # fmt: skip


def scalar(line, *, name="u", **options):
    return entry(line, {name: "scalar"}, **options)


TABLE = {
    "allen-cahn": scalar(
        "dt(u) = wall_width**2*lap(u) + u - u**3", defaults={"wall_width": 0.05}, energies={},
        series={"mean_u": "u", "free_energy": "wall_width**2*grad(u)@grad(u)/2 + (1 - u**2)**2/4"}),
    "burgers": entry(
        "dt(velocity) = -velocity@grad(velocity) + cause(viscosity, viscosity*lap(velocity))", {"velocity": "vector"},
        energies={"energy": "velocity@velocity/2"}, series={"dissipation": "-viscosity*velocity@lap(velocity)"}),
    "cahn-hilliard": scalar(
        "dt(c) = mobility*lap(c**3 - c - gradient_energy*lap(c))", name="c", energies={},
        defaults={"mobility": 1.0, "gradient_energy": 1.0},
        series={"free_energy": "(1 - c**2)**2/4 + gradient_energy*grad(c)@grad(c)/2"}),
    "complex-ginzburg-landau": entry(
        "dt(amplitude) = amplitude + (1 + 1j*linear_dispersion)*lap(amplitude)"
        " - (1 + 1j*nonlinear_dispersion)*amplitude*conj(amplitude)*amplitude",
        {"amplitude": "wavefunction"}, defaults={"linear_dispersion": 0.0, "nonlinear_dispersion": 1.5}, energies={},
        series={"mean_square": "abs(amplitude)**2", "max_modulus": "max(abs(amplitude))"}),
    "fisher-kpp": scalar("dt(u) = diffusivity*lap(u) + growth*u*(1 - u)", energies={}, series={"mean_u": "u"},
                         defaults={"diffusivity": 1.0, "growth": 1.0}),
    "gray-scott": entry(
        ["dt(u) = diffusivity_u*lap(u) - u*v**2 + feed*(1 - u)",
         "dt(v) = diffusivity_v*lap(v) + u*v**2 - (feed + kill)*v"], {"u": "scalar", "v": "scalar"}, energies={},
        defaults={"diffusivity_u": 2e-5, "diffusivity_v": 1e-5, "feed": 0.037, "kill": 0.06},
        series={"mean_u": "u", "mean_v": "v"}),
    "brusselator": entry(
        ["dt(u) = diffusivity_u*lap(u) + feed - (conversion + 1)*u + u**2*v",
         "dt(v) = diffusivity_v*lap(v) + conversion*u - u**2*v"],
        {"u": "scalar", "v": "scalar"}, energies={}, series={"mean_u": "u", "mean_v": "v"},
        defaults={"feed": 3.0, "conversion": 9.0, "diffusivity_u": 2.0, "diffusivity_v": 8.0}),
    "hasegawa-mima": scalar(
        "dt(q) = -v@grad(q) + density_gradient*dy(phi) + cause(viscosity, viscosity*lap(q))"
        " + cause(hyperviscosity, hyper(q, hyperviscosity, hyper_order))", name="q",
        unknowns={"phi": "scalar"}, define={"v": "perp(phi)"}, no_mean=("q",),
        defaults={"density_gradient": 1.0, "viscosity": 0.0, **HYPER},
        energies={"energy": "-phi*q/2", "potential_enstrophy": "q*q/2"}),
    "keller-segel": entry(
        ["dt(cells) = diffusivity*lap(cells) - sensitivity*div(cells*grad(signal)) + growth*cells*(1 - cells)",
         "dt(signal) = signal_diffusivity*lap(signal) + production*cells - decay*signal"],
        {"cells": "scalar", "signal": "scalar"}, energies={},
        defaults={"diffusivity": 1.0, "signal_diffusivity": 1.0, "sensitivity": 6.0, "production": 1.0, "decay": 1.0,
                  "growth": 1.0}),
    "klein-gordon": entry(
        ["dt(phi) = rate_of_phi", "dt(rate_of_phi) = wave_speed**2*lap(phi) - mass**2*phi - coupling*phi**3"],
        {"phi": "scalar", "rate_of_phi": "scalar"}, energies={},
        defaults={"wave_speed": 1.0, "mass": 1.0, "coupling": 0.0}),
    "sine-gordon": entry(
        ["dt(phi) = rate_of_phi",
         "dt(rate_of_phi) = wave_speed**2*lap(phi) - mass**2*phi + explicit(mass**2*phi) - mass**2*sin(phi)"],
        {"phi": "scalar", "rate_of_phi": "scalar"}, defaults={"wave_speed": 1.0, "mass": 1.0}, energies={}),
    "korteweg-de-vries": scalar("dt(u) = -nonlinearity*u*dx(u) - dispersion*dx(dx(dx(u)))",
                                defaults={"nonlinearity": 6.0, "dispersion": 1.0}, energies={}),
    "modified-korteweg-de-vries": scalar("dt(u) = -2*sign*dx(u**3) - dx(dx(dx(u)))", defaults={"sign": 1}, energies={}),
    "kuramoto-sivashinsky": scalar(
        "dt(u) = -antidiffusivity*lap(u) - hyperdiffusivity*lap(lap(u)) - steepening*grad(u)@grad(u)/2 - damping*u",
        no_mean=("u",), series={"mean_square_gradient": "grad(u)@grad(u)"},
        defaults={"antidiffusivity": 1.0, "hyperdiffusivity": 1.0, "steepening": 1.0, "damping": 0.0}),
    "nonlinear-schroedinger": entry(
        "dt(wavefunction) = 0.5j*hbar_over_mass*lap(wavefunction) + 1j*coupling*abs(wavefunction)**2*wavefunction"
        " - cause(damping, damping*wavefunction)", {"wavefunction": "wavefunction"}, energies={},
        defaults={"coupling": 1.0, "damping": 0.0, "hbar_over_mass": 1.0}),
    "coupled-gross-pitaevskii": entry(
        [f"dt(psi_{i}) = 0.5j*hbar_over_mass_{i}*lap(psi_{i}) - 1j*psi_{i}*(coupling_{i}{i}*abs(psi_{i})**2"
         f" + coupling_12*abs(psi_{3 - i})**2)" for i in (1, 2)],
        {"psi_1": "wavefunction", "psi_2": "wavefunction"}, energies={},
        defaults={"coupling_11": 1.0, "coupling_22": 1.0, "coupling_12": 0.8, "hbar_over_mass_1": 1.0,
                  "hbar_over_mass_2": 1.0}),
    "phase-field-crystal": scalar(
        "dt(psi) = lap(pattern_wavenumber**2*w + lap(w) - undercooling*psi + psi**3)", name="psi",
        define={"w": "pattern_wavenumber**2*psi + lap(psi)"}, energies={},
        defaults={"undercooling": 0.25, "pattern_wavenumber": 1.0}),
    "swift-hohenberg": scalar(
        "dt(u) = growth*u - pattern_wavenumber**2*w - lap(w) + quadratic*u**2 - u**3",
        define={"w": "pattern_wavenumber**2*u + lap(u)"}, energies={},
        defaults={"growth": 0.3, "pattern_wavenumber": 1.0, "quadratic": 0.0}),
    "shallow-water": entry(
        ["dt(velocity) = -velocity@grad(velocity) + rotation*(velocity.y*ex - velocity.x*ey) - gravity*grad(height)"
         " + viscosity*lap(velocity) + penalise(velocity)",
         "dt(height) = -div((depth + height)*velocity) + viscosity*lap(height) + penalise(height, viscosity)"],
        {"velocity": "vector", "height": "scalar"}, energies={},
        defaults={"depth": 1.0, "gravity": 1.0, "rotation": 1.0, "viscosity": 0.0}),
    "surface-quasi-geostrophic": scalar(
        "dt(buoyancy) = -perp(psi)@grad(buoyancy) - cause(diffusion, diffusivity*fraclap(buoyancy, exponent))",
        name="buoyancy", unknowns={"psi": "scalar"}, defaults={"diffusivity": 0.0, "exponent": 1.0},
        energies={"variance": "buoyancy*buoyancy/2", "energy": "psi*buoyancy/2"}),
    "two-layer-quasi-geostrophic": entry(
        ["dt(upper_pv) = -perp(psi_1)@grad(upper_pv) + hyper(upper_pv, hyperviscosity, hyper_order)"
         " - shear*dx(upper_pv) - (beta + deformation_wavenumber**2*shear)*dx(psi_1)",
         "dt(lower_pv) = -perp(psi_2)@grad(lower_pv) + hyper(lower_pv, hyperviscosity, hyper_order)"
         " + shear*dx(lower_pv) - (beta - deformation_wavenumber**2*shear)*dx(psi_2) - drag*lap(psi_2)",
         "upper_pv = lap(psi_1) + deformation_wavenumber**2/2*(psi_2 - psi_1)",
         "lower_pv = lap(psi_2) + deformation_wavenumber**2/2*(psi_1 - psi_2)"],
        {"upper_pv": "scalar", "lower_pv": "scalar"}, unknowns={"psi_1": "scalar", "psi_2": "scalar"},
        defaults={"shear": 0.0, "beta": 0.0, "drag": 0.0, **HYPER}, no_mean=("upper_pv", "lower_pv"), energies={},
        series={"upper_enstrophy": "upper_pv**2/2", "lower_enstrophy": "lower_pv**2/2"}),
    "hasegawa-wakatani": entry(
        ["dt(vorticity) = -v@grad(vorticity) + adiabaticity*(c - modified*mean(c, y)) + viscosity*lap(vorticity)"
         " + hyper(vorticity, hyperviscosity, hyper_order)",
         "dt(density) = -v@grad(density) - density_gradient*dy(phi) + adiabaticity*(c - modified*mean(c, y))"
         " + diffusivity*lap(density) + hyper(density, hyperdiffusivity, hyper_order)"],
        {"vorticity": "scalar", "density": "scalar"}, no_mean=("vorticity", "density"), energies={},
        define={"phi": "inverse_lap(vorticity)", "v": "perp(phi)", "c": "phi - density"},
        defaults={"adiabaticity": 1.0, "density_gradient": 1.0, "modified": 0, "viscosity": 0.0, "diffusivity": 0.0,
                  **HYPER_TWO}),
    "reduced-mhd": entry(
        ["dt(vorticity) = -u@grad(vorticity) + b@grad(j) + mean_field*dz(j) + viscosity*lap(vorticity, x, y)"
         " + hyper(vorticity, hyperviscosity, hyper_order)",
         "dt(flux) = -u@grad(flux) + mean_field*dz(phi) + resistivity*lap(flux, x, y)"
         " + hyper(flux, hyperviscosity, hyper_order)"], {"vorticity": "scalar", "flux": "scalar"}, energies={},
        define={"phi": "inverse_lap(vorticity, x, y)", "j": "lap(flux, x, y)", "u": "dx(phi)*ey - dy(phi)*ex",
                "b": "dx(flux)*ey - dy(flux)*ex"},
        defaults={"mean_field": 1.0, "viscosity": 0.0, "resistivity": 0.0, **HYPER}, no_mean=("vorticity", "flux")),
    "isothermal-flow": entry(
        ["dt(velocity) = -velocity@grad(velocity) - sound_speed**2*grad(log_density) + penalise(velocity)"
         " + viscosity*(lap(velocity) + grad(div(velocity))/3)"
         " + viscosity*(2*sym(grad(velocity))@grad(log_density) - 2/3*div(velocity)*grad(log_density))",
         "dt(log_density) = -velocity@grad(log_density) - div(velocity) + penalise(log_density, 0)"],
        {"velocity": "vector", "log_density": "scalar"}, defaults={"sound_speed": 1.0, "viscosity": 0.01}, energies={}),
    "oldroyd-b": entry(
        ["dt(velocity) = -velocity@grad(velocity) - grad(p) + cause(viscosity, viscosity*lap(velocity))"
         " + cause(stress, div(stress)) + penalise(velocity)", "div(velocity) = 0",
         "dt(stress) = -velocity@grad(stress) + stress@grad(velocity) + trans(stress@grad(velocity))"
         " - stress/relaxation_time + polymer_viscosity/relaxation_time*(grad(velocity) + trans(grad(velocity)))"
         " + stress_diffusivity*lap(stress)"],
        {"velocity": "vector", "stress": "symmetric tensor"}, unknowns={"p": "scalar"},
        energies={"kinetic_energy": "velocity@velocity/2"},
        defaults={"viscosity": 0.05, "polymer_viscosity": 0.05, "relaxation_time": 1.0, "stress_diffusivity": 0.0},
        series={"elastic_energy": "trace(stress)/2", "dissipation": "viscosity*square(grad(velocity))"}),
    "active-nematic": entry(
        ["dt(qxx) = -u@grad(qxx) - lap(psi)*qxy - alignment*dx(dy(psi)) + relaxation*elasticity*lap(qxx)"
         " - relaxation*disorder*qxx - 2*relaxation*saturation*(qxx**3 + qxx*qxy**2)",
         "dt(qxy) = -u@grad(qxy) + lap(psi)*qxx + alignment/2*(dx(dx(psi)) - dy(dy(psi)))"
         " + relaxation*elasticity*lap(qxy) - relaxation*disorder*qxy"
         " - 2*relaxation*saturation*(qxy**3 + qxy*qxx**2)",
         "viscosity*lap(lap(psi)) - friction*lap(psi) = activity*(dx(dx(qxy)) - dy(dy(qxy)) - 2*dx(dy(qxx)))"],
        {"qxx": "scalar", "qxy": "scalar"}, unknowns={"psi": "scalar"}, define={"u": "perp(psi)"}, energies={},
        defaults={"viscosity": 1.0, "friction": 0.0, "activity": 1.0, "alignment": 0.7, "relaxation": 1.0,
                  "elasticity": 0.02, "disorder": -1.0, "saturation": 2.0},
        series={"mean_square_order": "4*(qxx**2 + qxy**2)", "kinetic_energy": "u@u/2"}),
    "zakharov": entry(
        ["dt(envelope) = 1j*lap(envelope) - 1j*density*envelope", "dt(density) = rate_of_density",
         "dt(rate_of_density) = lap(density) + lap(abs(envelope)**2)"],
        {"envelope": "wavefunction", "density": "scalar", "rate_of_density": "scalar"}, energies={},
        no_mean=("rate_of_density",))}  # fmt: skip
TABLE["hasegawa-mima"]["lines"].append("lap(phi) - phi = q")
TABLE["surface-quasi-geostrophic"]["lines"].append("fraclap(psi, 0.5) = buoyancy")


def navier_stokes(given, d):
    lines = ["dt(velocity) = -div(outer(velocity, velocity)) - grad(p) + cause(viscosity, viscosity*lap(velocity)"
             " + hyper(velocity, hyperviscosity, hyper_order)) - cause(drag, drag*velocity) + penalise(velocity)",
             "div(velocity) = 0"]  # fmt: skip
    closed = "constant" in given  # of a closure
    define = {"strain": "sym(grad(velocity))",
              "eddy": "(constant*width)**2*sqrt(2*trace(strain@strain))"} if closed else {}  # fmt: skip
    lines[0] += " + div(2*eddy*strain)" if closed else ""
    series = {"enstrophy": "square(grad(velocity))/2"}
    series |= {"subgrid_dissipation": "2*eddy*trace(strain@strain)", "eddy_viscosity": "eddy"} if closed else {}
    return entry(
        lines, {"velocity": "vector"}, unknowns={"p": "scalar"}, define=define, defaults={"drag": 0.0, **HYPER},
        energies={"energy": "velocity@velocity/2"}, series=series)  # fmt: skip


def with_scalars(found, given, section, d):
    """An entry with the lines of `[scalars]`: each is carried by a velocity with its uniform part."""
    layers, shear, ranks = section.get("layers", ()), section.get("shear", 0.0), found["fields"] | found["unknowns"]
    uniform = {"velocity": section.get("mean_velocity"), "upper_velocity": [shear], "lower_velocity": [-shear]}
    uniform |= {f"{q}_velocity": [u] for q, u in zip(layers, section.get("mean_flows") or (), strict=False)}
    flows = {**section.get("vectors", {}), **STREAMS.get(section["name"], {})}
    flows |= {f"{q}_velocity": f"perp(psi_of_{q})" for q in layers} | {n: n for n, r in ranks.items() if r == "vector"}
    found = {name: value.copy() if name in ("lines", "fields", "series") else value for name, value in found.items()}
    if found["energies"] is None:
        column = "energy" if len(found["fields"]) == 1 else "{}_energy"
        found["energies"] = {column.format(name): f"square({name})/2" for name in found["fields"]}
    for name, one in given.items():
        by = one.get("field") or next(iter(flows))
        u, kappa, gradient = flows[by], one.get("diffusivity", 0.0), one.get("mean_gradient") or [0.0] * d
        line = f"dt({name}) = -{u}@grad({name}) + cause(diffusion, {kappa}*lap({name}))"
        if "constant" in section and u == "velocity":  # of a closure
            steep = [f"grad({name})", *(f"{g}*e{a}" for a, g in zip("xyz", gradient, strict=False))]
            line += f" + div(eddy/turbulent_schmidt*({' + '.join(steep)}))"
        line += "".join(f" - explicit({g}*({u}).{a})" for a, g in zip("xyz", gradient, strict=False) if g)
        for a, g, wind in zip("xyz", gradient, uniform.get(by) or (), strict=False):
            line += f" - {wind}*d{a}({name}) - {wind * g}"
        line += f" - cause(decay, {one.get('decay', 0.0)}*{name}) + ({one.get('source') or 0})"
        line += f" + penalise({name}, {kappa})" if f"penalise({u})" in "".join(found["lines"]) else ""
        found["lines"].append(line)
        found["fields"][name], found["series"][f"{name}_mean"] = "scalar", name
    return found | {"energies": found["energies"] | {f"{name}_variance": f"{name}*{name}" for name in given}}


def boussinesq(given, d):
    turn = " - rotation*cross(ez, velocity)" if d == 3 else ""
    return entry(
        ["dt(velocity) = -velocity@grad(velocity) - grad(p) + buoyancy*up + viscosity*lap(velocity)"
         f" + hyper(velocity, hyperviscosity, hyper_order){turn} + penalise(velocity)", "div(velocity) = 0",
         "dt(buoyancy) = -velocity@grad(buoyancy) - buoyancy_frequency**2*velocity.up + diffusivity*lap(buoyancy)"
         " + hyper(buoyancy, hyperdiffusivity, hyper_order) + penalise(buoyancy, diffusivity)"],
        {"velocity": "vector", "buoyancy": "scalar"}, unknowns={"p": "scalar"}, energies={},
        defaults={"buoyancy_frequency": 0.0, "rotation": 0.0, **HYPER_TWO},
        series={"kinetic_energy": "velocity@velocity/2", "enstrophy": "square(grad(velocity))/2"})  # fmt: skip


def rayleigh_benard(given, d):
    """In free-fall units: ν = (Pr/Ra)^½, κ = (Ra Pr)^−½."""
    rayleigh, prandtl, up = given["rayleigh"], given.get("prandtl", 1.0), "xyz"[d - 1]
    turn = " - cause(rotation, rotation*cross(ez, velocity))" if d == 3 else ""
    slope = f"d{up}(temperature)"
    return entry(
        [f"dt(velocity) = -velocity@grad(velocity) - grad(p) + cause(buoyancy, temperature*up){turn}"
         " + cause(viscosity, nu*lap(velocity))", "div(velocity) = 0",
         "dt(temperature) = -velocity@grad(temperature) + cause(diffusivity, kappa*lap(temperature))"],
        {"velocity": "vector", "temperature": "scalar"}, unknowns={"p": "scalar"},
        defaults={"rotation": 0.0, "nu": (prandtl / rayleigh) ** 0.5, "kappa": (prandtl * rayleigh) ** -0.5},
        energies={"kinetic_energy": "velocity@velocity/2", "thermal_energy": "temperature*temperature/2"},
        series={"heat_flux": "velocity.up*temperature", "nusselt_flux": f"velocity.up*temperature/kappa - {slope}",
                "nusselt_dissipation": "grad(temperature)@grad(temperature)", "nusselt_bottom": f"-bottom({slope})",
                "nusselt_top": f"-top({slope})", "reynolds": "sqrt(2*kinetic_energy)/nu"})  # fmt: skip


def magnetic(given, d, hall=False):
    mean = given.get("mean_field") or [0.0] * d
    lost = {"total_dissipation": "viscosity*square(grad(velocity)) + resistivity*square(grad(magnetic_field))"}
    induced = "cross(velocity - ion_inertial_length*curl(magnetic_field), mean_field + magnetic_field)"
    stretch = (
        f"curl({induced})" if hall
        else "(magnetic_field + mean_field)@grad(velocity) - velocity@grad(magnetic_field)")  # fmt: skip
    return entry(
        ["dt(velocity) = -velocity@grad(velocity) + (magnetic_field + mean_field)@grad(magnetic_field) - grad(p)"
         " + viscosity*lap(velocity) + hyper(velocity, hyperviscosity, hyper_order) + penalise(velocity)",
         f"dt(magnetic_field) = {stretch} + resistivity*lap(magnetic_field)"
         " + hyper(magnetic_field, hyperresistivity, hyper_order)", "div(velocity) = 0"],
        {"velocity": "vector", "magnetic_field": "vector"}, unknowns={"p": "scalar"}, energies={},
        defaults={"mean_field": mean, "hyperviscosity": 0.0, "hyperresistivity": 0.0, "hyper_order": 2},
        series={"kinetic_energy": "velocity@velocity/2", "magnetic_energy": "magnetic_field@magnetic_field/2",
                "cross_helicity": "velocity@magnetic_field", **({} if "hyper" in str(given) else lost)})  # fmt: skip


def fene_p(given, d):
    unit = " + ".join(f"outer(e{a}, e{a})" for a in "xyz"[:d])
    return entry(
        ["dt(velocity) = -velocity@grad(velocity) - grad(p) + cause(viscosity, viscosity*lap(velocity))"
         " + penalise(velocity) + polymer_viscosity/relaxation_time*div(f*conformation)", "div(velocity) = 0",
         "dt(conformation) = -velocity@grad(conformation) + conformation@grad(velocity)"
         " + trans(conformation@grad(velocity)) + stress_diffusivity*lap(conformation)"
         f" - f*conformation/relaxation_time + ({unit})/relaxation_time"],
        {"velocity": "vector", "conformation": "symmetric tensor"}, unknowns={"p": "scalar"},
        define={"f": f"(longest**2 - {d})/(longest**2 - trace(conformation))"},
        energies={"kinetic_energy": "velocity@velocity/2"},
        defaults={"viscosity": 0.05, "polymer_viscosity": 0.05, "relaxation_time": 1.0, "longest": 10.0,
                  "stress_diffusivity": 0.0},
        series={"mean_extension": "trace(conformation)/longest**2", "dissipation": "viscosity*square(grad(velocity))",
                "elastic_energy": f"polymer_viscosity/(2*relaxation_time)*(longest**2 - {d})*log(f)"})  # fmt: skip


def multi_layers(given, d):
    """Layers from the balance of each: ψ_n are unknowns, solved together for each mode."""
    names, shares = given["layers"], np.array(given["thicknesses"]) / np.sum(given["thicknesses"])
    count, depth, f2 = len(names), np.sum(given["thicknesses"]), given.get("coriolis", 1.0) ** 2
    pulls = [f2 / (g * depth) for g in [given.get("surface_gravity", np.inf), *given["reduced_gravities"]]] + [0.0]
    flows = [0.0, *(given.get("mean_flows") or [0.0] * count), 0.0]
    lines, hill = [], f" + {given['topography']}" if given.get("topography") else ""
    for n, q in enumerate(names):
        above, below = pulls[n] / shares[n], pulls[n + 1] / shares[n]
        psi, u = f"psi_of_{q}", flows[n + 1]
        rest = f" + {above}*(psi_of_{names[n - 1]} - {psi})" if n else f" - {above}*{psi}"
        rest += f" + {below}*(psi_of_{names[n + 1]} - {psi})" if n + 1 < count else ""
        slope = above * (u - flows[n]) + below * (u - flows[n + 2])  # of the mean, without β
        low = n + 1 == count
        own = f" - {u}*dx({hill[3:]}) - drag*lap({psi})" if low and hill else f" - drag*lap({psi})" if low else ""
        lines += [
            f"dt({q}) = -perp({psi})@grad({q}{hill if low else ''}) - {u}*dx({q}) - (beta + {slope})*dx({psi})"
            f" + viscosity*lap({q}) + hyper({q}, hyperviscosity, hyper_order){own}", f"lap({psi}){rest} = {q}",
        ]  # fmt: skip
    return entry(
        lines, dict.fromkeys(names, "scalar"), unknowns={f"psi_of_{q}": "scalar" for q in names}, energies={},
        defaults={"beta": 0.0, "drag": 0.0, "viscosity": 0.0, **HYPER}, no_mean=tuple(names),
        series={f"{q}_enstrophy": f"{q}**2/2" for q in names})  # fmt: skip


def vorticity(given, d):
    """Potential vorticity of one layer, above topography and under a mean flow if they are given."""
    stretch = f"psi/{given['deformation_radius']}**2" if given.get("deformation_radius") else "0*psi"
    hill, (u, v) = given.get("topography") or "0", given.get("mean_velocity") or [0.0, 0.0]
    over = f" - v@grad({hill}) - {u}*dx({hill}) - {v}*dy({hill})" if given.get("topography") else ""
    tilt = f" - ({u}*v.y - {v}*v.x)/{given['deformation_radius']}**2" if given.get("deformation_radius") else ""
    wind = f"{u}*dx(vorticity) + {v}*dy(vorticity)"
    return scalar(
        [f"dt(vorticity) = -v@grad(vorticity) - beta*v.y{over} - cause(mean_flow, {wind}){tilt}"
         " + cause(viscosity, viscosity*lap(vorticity)) - cause(drag, drag*vorticity)"
         " + cause(hyperviscosity, hyper(vorticity, hyperviscosity, hyper_order))",
         f"lap(psi) - {stretch} = vorticity"],
        name="vorticity", unknowns={"psi": "scalar"}, define={"v": "perp(psi)"}, no_mean=("vorticity",),
        defaults={"viscosity": 0.0, "beta": 0.0, "drag": 0.0, **HYPER},
        energies={"energy": "-psi*vorticity/2", "enstrophy": "vorticity*vorticity/2"},
        series={"palinstrophy": "grad(vorticity)@grad(vorticity)/2"})  # fmt: skip


def advection_diffusion(given, d):
    cells = " - dx(cell_speed*sin(a*x)*cos(b*y)*c) + dy(cell_speed*a/b*cos(a*x)*sin(b*y)*c)"
    line = "dt(c) = diffusivity*lap(c)" + " - velocity@grad(c)" * bool(given.get("velocity"))
    return scalar(line + cells * bool(given.get("cell_speed")), name="c", energies={},
                  series={"variance": "(c - mean(c))**2"})  # fmt: skip


BUILT = {
    "navier-stokes": navier_stokes, "boussinesq": boussinesq, "rayleigh-benard": rayleigh_benard, "mhd": magnetic,
    "hall-mhd": lambda given, d: magnetic(given, d, hall=True), "advection-diffusion": advection_diffusion,
    "fene-p": fene_p, "multi-layer-quasi-geostrophic": multi_layers, "vorticity": vorticity}  # fmt: skip
