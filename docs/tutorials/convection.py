# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # From Lorenz to turbulent convection
#
# A layer of fluid is heated from below. In 1963 Lorenz kept three modes of this flow and found chaos. This page asks
# what all modes of it do: first next to Lorenz' equations, then between rigid plates at Ra = 10⁶, with its picture, its
# heat flux with an error, and its boundary layers. It takes some minutes on a laptop.

# %%
import os
import tempfile

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import solver as sw

jax.config.update("jax_enable_x64", True)
os.chdir(tempfile.mkdtemp())  # the files of this page are written here

# %% [markdown]
# ## Three modes
#
# With r = Ra/Ra_c, X the strength of a roll, Y its warm and cold columns, and Z what it takes off the mean gradient,
#
#     dX/dt = σ(Y − X),  dY/dt = rX − Y − XZ,  dZ/dt = XY − 8Z/3.
#
# The heat flux over the conductive one is Nu = 1 + 2Z/r. Lorenz took σ = 10 and r = 28.


# %%
def lorenz(r, sigma=10.0, step=0.01, steps=3000):
    """Z(t) by the classical Runge–Kutta method."""

    def rate(v):
        return jnp.array([sigma * (v[1] - v[0]), r * v[0] - v[1] - v[0] * v[2], v[0] * v[1] - 8 / 3 * v[2]])

    def one(v, _):
        a = rate(v)
        b = rate(v + step / 2 * a)
        c = rate(v + step / 2 * b)
        v = v + step / 6 * (a + 2 * b + 2 * c + rate(v + step * c))
        return v, v[2]

    return step * np.arange(1, steps + 1), jax.lax.scan(one, jnp.array([5.0, 5.0, 20.0]), None, steps)[1]


# %% [markdown]
# ## All modes
#
# Lorenz' walls are free of stress, Ra_c = 27π⁴/4, and two rolls fill a length of 2√2. In the units of
# `rayleigh-benard` time is counted in free falls over the height. Lorenz' unit of time is 1/(κ(π² + k²)).


# %%
CRITICAL, LENGTH = 27 * np.pi**4 / 4, 2 * np.sqrt(2)


def layer(r, shape=(24, 25), step=0.1, steps=3000):
    """Times in Lorenz' unit and Nusselt numbers of the whole flow."""
    grid = sw.Grid(shape, (LENGTH, 1.0), walls="y", mesh=sw.device_mesh([0]))
    of = {"velocity": sw.walls.FreeSlip(), "temperature": sw.walls.Value(lower=1.0, upper=0.0)}
    flow, stepper = sw.equations.RayleighBenard(grid, r * CRITICAL, 10.0, walls=of), sw.steppers.Krogstad4()
    x, z = grid.coordinates()
    warm = 1 - z + 0.05 * np.sin(np.pi * z) * np.cos(2 * np.pi * x / LENGTH)
    start = {"velocity": jnp.zeros((2, *shape)), "temperature": jnp.asarray(warm)[None]}
    state = sw.initial_state(flow, stepper, start)
    save = lambda state: flow.series(state.field, step)["nusselt_flux"]  # noqa: E731
    t, nusselt = sw.rollout(flow, stepper, state, step=step, steps=steps, every=10, save=save)
    return t * np.sqrt(1 / (r * CRITICAL * 10.0)) * 1.5 * np.pi**2, nusselt


figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
for axis, r in zip(axes, (1.2, 28.0), strict=True):
    t, z = lorenz(r)
    axis.plot(t, 1 + 2 * z / r, lw=0.8, label="three modes")
    t, nusselt = layer(r)
    axis.plot(t, nusselt, label="all modes")
    axis.set(title=f"r = {r:g}", xlabel="t", xlim=(0, 20), ylim=(0, 8 if r > 2 else 2))
    three = 1 + 2 * float(z[len(z) // 2 :].mean()) / r
    print(f"r = {r:g}: mean Nu = {three:.3f} of three modes; {float(nusselt[-1]):.3f} of all in the end")
axes[0].set_ylabel("Nu")
axes[1].legend()
plt.show()

# %% [markdown]
# Near the onset three modes are enough: Nu = 3 − 2/r. At r = 28 they are chaotic, and the whole flow is steady: the
# modes that Lorenz left out carry heat through thin boundary layers. Chaos comes later, and from another instability.
#
# ## Turbulence between plates
#
# Rigid plates and a thousand times the critical number. This is a run with files: a text of keys, a command.

# %% language="bash" magic_args="-e"
# cat > convection.toml <<'END'
# title = "Rayleigh–Bénard convection, Ra = 10⁶"
#
# [grid]
# shape = [96, 65]
# lengths = [2.0, 1.0]
# walls = "y"
#
# [equation]
# name = "rayleigh-benard"
# rayleigh = 1e6
# prandtl = 1.0
#
# [walls.temperature]
# lower = { value = 1.0 }
# upper = { value = 0.0 }
#
# [initial.temperature]
# name = "conduction"
# amplitude = 0.05
#
# [time]
# stepper = "krogstad4"
# cfl = 1.0
# max_step = 0.05
# end = 40.0
#
# [devices]
# use = [0]
#
# [output]
# directory = "convection"
# series = { every_steps = 5 }
# snapshots = { every_time = 1.0 }
# vertical-profiles = { every_time = 10.0 }
# statistics = { of = ["vertical-profiles"], sample_steps = 10, every_time = 10.0 }
# END
# slabwave check convection.toml
# slabwave run convection.toml

# %% [markdown]
# ## How much heat
#
# Four columns of series.csv are Nusselt numbers: of the flux through the whole layer, of the dissipation, and of both
# plates. They differ at each time, and their means agree within the errors, which count that neighbouring values are
# alike.

# %%
run = sw.open_run("convection")
half = float(run.series["t"][-1]) / 2
for name in ("nusselt_flux", "nusselt_dissipation", "nusselt_bottom", "nusselt_top", "reynolds"):
    mean, error = sw.mean_with_error(run.series["t"], run.series[name], after=half)
    print(f"{name:20} {mean:8.3f} ± {error:.3f}")
profiles = run.statistics["vertical-profiles"].isel(t=slice(2, None)).mean("t")
print(sw.boundary_layers(profiles)["temperature_slope_thickness"].values, "thickness of the boundary layers")

# %% [markdown]
# `slabwave plot` draws all of this: Nu with its running mean, profiles, boundary layers, slices. `slabwave movie` makes
# a film of the snapshots, and `slabwave report` one page of everything.

# %% language="bash" magic_args="-e"
# slabwave plot convection
# slabwave movie convection --field temperature --fps 12 --output convection.gif
# slabwave report convection

# %% [markdown]
# ## The picture

# %%
temperature = run.snapshots["temperature"].isel(t=-1).squeeze().transpose("y", "x")
figure, (field, mean) = plt.subplots(1, 2, figsize=(9, 3), width_ratios=(3, 1), sharey=True, layout="constrained")
field.pcolormesh(temperature["x"], temperature["y"], temperature, cmap="RdBu_r", vmin=0, vmax=1, shading="gouraud")
field.set(aspect="equal", xlabel="x", ylabel="z", title="temperature")
mean.plot(profiles["temperature"], profiles["y"])
mean.set(title="mean over x and t", xlabel="T")
plt.show()

# %% [markdown]
# Next: [walls](../walls.md), with what is exact and what is not, and wall turbulence · [many runs](many_runs.py), as
# over Ra · [pictures](../pictures.md)
