# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # Train a closure in the solver
#
# A large-eddy simulation has too few points for the smallest vortices, and needs a model of what they do to the larger
# ones: a closure. Here the closure is an eddy viscosity that depends on the flow at each point. A small network gives
# it, and is trained inside the solver: its errors are measured after many steps, not in one. Then it is run much longer
# than it was trained, and is compared with no closure at all and with a classical closure of one number.

# %%
import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import optax

import solver as sw

# %% [markdown]
# ## The flow
#
# Two-dimensional turbulence, driven by a force that varies as cos(4y) and slowed by a weak drag. ψ is the stream
# function. The subgrid flux of vorticity is modelled as ν_e∇ω, where ν_e may depend on two invariants at a point: the
# squared rate of strain s², and the squared vorticity ω². `functions=["eddy"]` says that the equation is given this
# function. Its transforms are planned like those of every other term.

# %%
Flow = sw.write(
    [
        "dt(w) = -u@grad(w) + nu*lap(w) - drag*w - force*cos(4*y) + div(eddy(s2, w**2)*grad(w))",
        "lap(psi) = w",
    ],
    fields={"w": "scalar"},
    unknowns={"psi": "scalar"},
    define={"u": "perp(psi)", "s2": "4*dx(dy(psi))**2 + (dx(dx(psi)) - dy(dy(psi)))**2"},
    functions=["eddy"],
)
numbers = {"nu": 5e-4, "drag": 0.1, "force": 1.0, "energy_budget": False}
stepper = sw.steppers.IFRK3()

# %% [markdown]
# ## What the small vortices do
#
# The truth has 128² points and no closure. The large-eddy simulation has 32², and so a sixteenth of the modes. Every
# 0.2 time units `save=` keeps the truth on the coarse grid's modes alone. The first 40 time units are for training. All
# that is measured later is measured on the 40 after them.

# %%
fine, coarse = (sw.Grid(shape, mesh=sw.device_mesh([0]), precision="float32") for shape in ((128, 128), (32, 32)))
on_fine, on_coarse = sw.fft.Transform(fine), sw.fft.Transform(coarse)


def no_closure(s2, w2):
    return 0 * s2


truth = Flow(fine, **numbers, eddy=no_closure)


def on_coarse_grid(state):
    """Vorticity of the truth in the modes of the coarse grid, at its points."""
    w_hat = on_fine.forward(truth.to_physical(state.field)["w"])
    return on_coarse.inverse(sw.fft.resample(w_hat, fine, coarse))[0]


start = sw.initial.RandomPhase(energy=0.5, peak=4.0)(fine, truth.fields["w"], jax.random.key(0))
developed = sw.integrate(truth, stepper, sw.initial_state(truth, stepper, start), step=0.01, steps=2000)
_, seen = sw.rollout(truth, stepper, developed, step=0.01, steps=8000, every=20, save=on_coarse_grid)
training, later = seen[:200], seen[200:]
variance = jnp.var(training)

# %% [markdown]
# ## Two closures
#
# Smagorinsky's has one number: ν_e = c Δ² s, with the width Δ of the filter. In the network's, c is a function of the
# Okubo–Weiss number (s² − ω²)/(s² + ω²), which is 1 where the flow only strains and −1 in the core of a vortex. It may
# be negative. Both are pytrees, so that their arrays are leaves of the equation.

# %%
width = np.pi / (32 / 3)  # half a wave of the shortest that the coarse grid keeps


class Smagorinsky(eqx.Module):
    """ν_e = c Δ² s."""

    c: jax.Array

    def __call__(self, s2, w2):
        return self.c * width**2 * jnp.sqrt(s2 + 1e-9)


class Network(eqx.Module):
    """ν_e = f(Okubo–Weiss number) Δ² √((s² + ω²)/2)."""

    layers: eqx.nn.MLP

    def of(self, okubo_weiss):
        return 0.1 * jnp.vectorize(self.layers)(okubo_weiss)

    def __call__(self, s2, w2):
        both = s2 + w2 + 1e-9
        return self.of((s2 - w2) / both) * width**2 * jnp.sqrt(both / 2)


# %% [markdown]
# ## Training
#
# The loss is the mean square error of the vorticity over 0.6 time units, 15 steps of the coarse solver, from starts of
# the truth. The gradient passes through all steps. Both closures are trained by the same loop.


# %%
def forecast(closure, w, steps, every):
    """Vorticity of the large-eddy simulation at the start and after every so many steps."""
    flow = Flow(coarse, **numbers, eddy=closure)
    state = sw.initial_state(flow, stepper, w)
    return sw.rollout(flow, stepper, state, step=0.04, steps=steps, every=every)[1]["w"][:, 0]


def loss(closure, windows):
    found = jax.vmap(lambda window: forecast(closure, window[0], steps=15, every=5))(windows)
    return jnp.mean((found - windows) ** 2) / variance


windows = jnp.stack([training[i : i + 4] for i in range(0, len(training) - 3, 2)])


def trained(closure, iterations, rate):
    """The closure after so many steps of Adam, each on eight windows."""
    method = optax.adam(optax.cosine_decay_schedule(rate, iterations))

    @eqx.filter_jit
    def improve(closure, memory, windows):
        value, slopes = eqx.filter_value_and_grad(loss)(closure, windows)
        changes, memory = method.update(slopes, memory)
        return eqx.apply_updates(closure, changes), memory, value

    memory, draws = method.init(eqx.filter(closure, eqx.is_array)), np.random.default_rng(0)
    for _ in range(iterations):
        chosen = draws.choice(len(windows), 8, replace=False)
        closure, memory, _ = improve(closure, memory, windows[chosen])
    return closure


layers = eqx.nn.MLP("scalar", "scalar", 8, 1, jax.nn.tanh, key=jax.random.key(1))
closures = {
    "no closure": no_closure,
    "Smagorinsky": trained(Smagorinsky(jnp.zeros(())), iterations=60, rate=3e-3),
    "network": trained(Network(layers), iterations=120, rate=3e-2),
}
for name, closure in closures.items():
    value = jax.jit(lambda w, closure=closure: loss(closure, w))(windows)
    print(f"{name}: error over a training window {np.sqrt(value):.3f} of the standard deviation")

# %% [markdown]
# ## Longer than it was trained
#
# First forecasts of 8 time units, thirteen times as long as a window, from starts that no training has seen. The error
# is relative to the standard deviation of the vorticity. Turbulence forgets its start, so that every model ends at an
# error of order one. The question is when. Then one run of 120 time units, 200 windows long: here only statistics can
# be right.

# %%
starts = jnp.stack([later[i : i + 41] for i in range(0, len(later) - 40, 10)])
errors, panels, spectra = {}, {"truth": later[10]}, {}


@jax.jit
def spectrum(rows):
    """Mean enstrophy in shells of wavenumbers."""
    shells = jax.vmap(lambda w: sw.diagnostics.shell_spectrum(on_coarse.forward(w[None]), coarse))(rows)
    return jnp.mean(shells, axis=0)


spectra["truth"] = spectrum(later[::10])
last = int(coarse.k_max)
for name, closure in closures.items():
    found = jax.jit(jax.vmap(lambda row, closure=closure: forecast(closure, row[0], steps=200, every=5)))(starts)
    errors[name] = np.sqrt(np.mean((found - starts) ** 2, axis=(0, 2, 3)) / variance)
    panels[name] = found[0, 10]
    spectra[name] = spectrum(forecast(closure, later[0], steps=3000, every=50)[10:])
    in_all, shortest = (np.sum(spectra[name][first:]) / np.sum(spectra["truth"][first:]) for first in (0, last - 2))
    print(f"{name}: error {errors[name][10]:.2f} after 2, {errors[name][20]:.2f} after 4 time units; "
          f"enstrophy {in_all:.2f} of the truth's, in the shortest waves {shortest:.2f}")  # fmt: skip

# %%
figure, axes = plt.subplot_mosaic(
    [["truth", *closures], ["error", "error", "spectrum", "closure"]], figsize=(14, 7.4), layout="constrained"
)
largest = float(jnp.abs(panels["truth"]).max())
for name, values in panels.items():
    image = axes[name].imshow(values.T, origin="lower", cmap="RdBu_r", vmin=-largest, vmax=largest,
                              extent=[0, 2 * np.pi] * 2, interpolation="bicubic")  # fmt: skip
    axes[name].set(title=f"{name}, t = 2", xlabel="x")
figure.colorbar(image, ax=axes["network"], label="vorticity")
times = 0.2 * np.arange(41)
for name, colour in {"truth": "k", "no closure": "0.6", "Smagorinsky": "C0", "network": "C3"}.items():
    axes["spectrum"].plot(np.arange(1, last + 1), spectra[name][1 : last + 1], color=colour, label=name)
    if name != "truth":
        axes["error"].plot(times, errors[name], color=colour, label=name)
axes["error"].axvspan(0, 0.6, color="0.9", label="length of training")
axes["error"].set(xlabel="time since the start", ylabel="error / standard deviation", xlim=(0, 8), ylim=(0, None))
axes["error"].legend(frameon=False)
axes["spectrum"].set(xscale="log", yscale="log", xlabel="wavenumber", ylabel="enstrophy")
axes["spectrum"].legend(frameon=False)
numbers_at = jnp.linspace(-1, 1, 100)
axes["closure"].plot(numbers_at, closures["network"].of(numbers_at), color="C3")
smagorinsky = closures["Smagorinsky"].c * np.sqrt(1 + numbers_at)
axes["closure"].plot(numbers_at, smagorinsky, color="C0")
axes["closure"].set(xlabel="vortex ← Okubo–Weiss number → strain", ylabel="ν_e / Δ² √((s² + ω²)/2)")
plt.show()

# %% [markdown]
# An honest reading. Both closures lower the error of forecasts by a quarter, far beyond the time that they were trained
# for. The network knew nothing of Smagorinsky's law, and found nearly the same one: viscosity where the flow strains,
# and little in the cores of vortices. So its forecasts are as good as those with one number, and not better. In the
# long run the shortest waves have more than twice the truth's enstrophy without a closure, and little more than half of
# it with either closure. A loss of short forecasts prefers to damp what it cannot predict. A viscosity at a point gives
# no energy back to larger scales: that needs other terms, which can be written into the text.
#
# Next: [4D-Var](assimilate.py) · [networks and fields in a text](../learning.md)
