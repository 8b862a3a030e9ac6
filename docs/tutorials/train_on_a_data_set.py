# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # Make a data set, and train on it
#
# A camera at the edge of a tokamak sees the density of the plasma, not the velocity that moves it. Can a network tell
# the velocity from three images in a row? This page makes the data with one run file, an ensemble of simulations of
# drift-wave turbulence, trains a small convolutional network on shuffled batches of it with optax, and tests it on
# simulations that it has not seen.

# %%
import dataclasses
import os
import tempfile

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import optax

import solver as sw

os.chdir(tempfile.mkdtemp())  # the files of this page are written here

# %% [markdown]
# ## The ensemble
#
# The Hasegawa–Wakatani equations have one important number, the adiabaticity α: how fast electrons make the density n
# follow the potential φ. For α ≫ 1 both are equal and the density shows the stream function of the drift. For α ≪ 1 it
# is carried along like a dye. Twenty simulations draw α between 0.1 and 3, and a start each. `[output.well]` says which
# fields the data set has, and when.

# %% language="bash" magic_args="-e"
# cat > edge.toml <<'END'
# title = "Drift waves at the edge of a plasma"
#
# [ensemble]
# members = 20
# draw = { "equation.adiabaticity" = { log_uniform = [0.1, 3.0] }, "random.seed" = "member" }
#
# [grid]
# shape = [48, 48]
# lengths = [40.0, 40.0]
# precision = "float32"
#
# [equation]
# name = "hasegawa-wakatani"
# hyperviscosity = 1e-2
# hyperdiffusivity = 1e-2
#
# [initial.vorticity]
# name = "random-phase"
# energy = 0.5
# peak = 1.0
#
# [initial.density]
# name = "random-phase"
# energy = 0.5
# peak = 1.0
#
# [time]
# stepper = "ifrk3"
# step = 0.05
# end = 60.0
#
# [output]
# directory = "edge"
#
# [output.well]
# every_time = 1.0
# fields = ["density", "velocity"]
# END
# slabwave check edge.toml | grep -E 'ensemble|data set|equation'

# %% [markdown]
# `slabwave run edge.toml` would write the data set into files, in the layout of The Well. `sw.dataset.stream` gives the
# same members as arrays, with the same draws and the same parts for training, validation and test. The first 20 time
# units, in which the waves grow out of a random start, are left out.


# %%
def developed(part):
    """Members of a part of the data set, without the times before t = 20."""
    for member in sw.dataset.stream("edge.toml", part=part):
        later = member.times >= 20
        fields = {name: values[later] for name, values in member.fields.items()}
        yield dataclasses.replace(member, times=member.times[later], fields=fields)


training, testing = list(developed("train")), list(developed("test")) + list(developed("valid"))
statistics = sw.dataset.Statistics.of(training)
print(f"{len(training)} members for training, each with {len(training[0].times)} times")

# %% [markdown]
# ## The network
#
# It sees the density at three times, normalised, and log α, and gives a stream function φ in addition to n itself; the
# velocity is (−φ_y, φ_x). So its velocity has no divergence. Without the network there is the Boltzmann relation, φ =
# n. Convolutions are periodic, as the box is. Layers with holes in their kernels see further: 15 points each way.

# %%
grid = sw.Grid((48, 48), lengths=40.0, precision="float32")
transform = sw.fft.Transform(grid)


def velocity_of(phi):
    """The drift (−φ_y, φ_x), `(x, y, 2)`."""
    phi_x, phi_y = transform.inverse(sw.operators.gradient(transform.forward(phi), grid))
    return jnp.stack([-phi_y, phi_x], axis=-1)


class Network(eqx.Module):
    """From normalised densities `(time, x, y)` and log α to the potential in units of the density `(x, y)`."""

    layers: list

    def __init__(self, width, key):
        sizes = [(4, width, 1), (width, width, 2), (width, width, 4), (width, width, 8), (width, 1, 1)]
        self.layers = [
            eqx.nn.Conv2d(a, b, 3, padding="SAME", padding_mode="CIRCULAR", dilation=holes, key=each)
            for (a, b, holes), each in zip(sizes, jax.random.split(key, len(sizes)), strict=True)
        ]

    def __call__(self, n, log_alpha):
        layer = jnp.concatenate([n, jnp.full_like(n[:1], log_alpha)])
        for convolution in self.layers[:-1]:
            layer = jax.nn.gelu(convolution(layer))
        return n[1] + self.layers[-1](layer)[0]


def boltzmann(n, log_alpha):
    return n[1]


def found_velocities(model, batch):
    """Velocities of a batch at the middle of its three times, in the units of the simulation."""
    phi = jax.vmap(model)(batch.fields["density"], jnp.log(batch.scalars["adiabaticity"]))
    return jax.vmap(velocity_of)(phi * statistics.std["density"])


def true_velocities(batch):
    return statistics.restored({"velocity": batch.fields["velocity"]})["velocity"][:, 1]


def error(model, batch):
    """Root mean square error of the velocity over its root mean square, of each window."""
    true = true_velocities(batch)
    wrong = jnp.mean((found_velocities(model, batch) - true) ** 2, axis=(1, 2, 3))
    return jnp.sqrt(wrong / jnp.mean(true**2, axis=(1, 2, 3)))


# %% [markdown]
# ## Training
#
# `sw.dataset.batches` gives windows of three consecutive times, normalised with the statistics of the training members,
# in another order in each epoch.

# %%
epochs, size = 6, 8
batches = sw.dataset.batches(training, size, window=3, epochs=epochs, statistics=statistics)
count = epochs * (len(training) * (len(training[0].times) - 2) // size)
method = optax.adam(optax.cosine_decay_schedule(2e-3, count))


@eqx.filter_jit
def improve(network, memory, batch):
    def loss(network):
        return jnp.mean(error(network, batch) ** 2)

    value, slopes = eqx.filter_value_and_grad(loss)(network)
    changes, memory = method.update(slopes, memory)
    return eqx.apply_updates(network, changes), memory, value


network = Network(24, jax.random.key(0))
memory = method.init(eqx.filter(network, eqx.is_array))
losses = []
for batch in batches:
    network, memory, value = improve(network, memory, batch)
    losses.append(float(value))
print(f"{len(losses)} batches: error {np.sqrt(np.mean(losses[:10])):.2f} -> {np.sqrt(np.mean(losses[-40:])):.2f}")

# %% [markdown]
# ## On simulations that it has not seen
#
# Errors are relative to the root mean square of the velocity. The flux of particles is Γ = ⟨n v_x⟩. Its density is seen
# and its velocity is guessed. With φ = n it vanishes, since the mean of n n_y does: a camera that takes the density for
# the potential sees no transport at all.

# %%
tested = list(sw.dataset.batches(testing, 8, window=3, statistics=statistics))


def measured(model):
    """α, error, flux and true flux of each window."""
    for batch in tested:
        n = statistics.restored({"density": batch.fields["density"]})["density"][:, 1]
        found, true = (v[..., 0] for v in (found_velocities(model, batch), true_velocities(batch)))
        fluxes = [jnp.mean(n * v, axis=(1, 2)) for v in (found, true)]
        yield np.stack([batch.scalars["adiabaticity"], error(model, batch), *fluxes])


rows = {name: np.concatenate(list(measured(model)), axis=1)
        for name, model in {"n = φ": boltzmann, "network": network}.items()}  # fmt: skip
for name, (alpha, wrong, flux, true_flux) in rows.items():
    print(f"{name}: median error {np.median(wrong):.2f}, mean flux {flux.mean():.2f} of {true_flux.mean():.2f}")
    for each in np.unique(alpha):
        print(f"    α = {each:.2f}: error {np.mean(wrong[alpha == each]):.2f}")

# %%
batch = tested[0]
row = int(np.argmin(abs(np.log(np.asarray(batch.scalars["adiabaticity"]) / 0.5))))
panels = {
    f"density, α = {float(batch.scalars['adiabaticity'][row]):.2f}": batch.fields["density"][row, 1],
    "true v_x": true_velocities(batch)[row, ..., 0],
    "v_x, network": found_velocities(network, batch)[row, ..., 0],
    "v_x, n = φ": found_velocities(boltzmann, batch)[row, ..., 0],
}
figure, axes = plt.subplots(2, 3, figsize=(14, 8.4), layout="constrained")
places = [axes[0, 0], axes[0, 1], axes[0, 2], axes[1, 2]]
largest = float(jnp.abs(panels["true v_x"]).max())
for axis, (title, values) in zip(places, panels.items(), strict=True):
    limit = largest if "v_x" in title else float(jnp.abs(values).max())
    image = axis.imshow(values.T, origin="lower", cmap="RdBu_r" if "v_x" in title else "PuOr", vmin=-limit, vmax=limit,
                        extent=[0, 40] * 2, interpolation="bicubic")  # fmt: skip
    axis.set(title=title, xlabel="x", ylabel="y")
    figure.colorbar(image, ax=axis)
for (name, (alpha, wrong, flux, true_flux)), colour in zip(rows.items(), ("0.6", "C3"), strict=True):
    axes[1, 0].plot(alpha, wrong, ".", color=colour, label=name)
    axes[1, 1].plot(true_flux, flux, ".", color=colour, label=name)
axes[1, 0].set(xscale="log", xlabel="adiabaticity α", ylabel="error of the velocity", ylim=(0, None))
axes[1, 0].set_xticks([0.1, 0.2, 0.5, 1, 2], labels=["0.1", "0.2", "0.5", "1", "2"])
axes[1, 0].set_xticks([], minor=True)
axes[1, 0].legend(frameon=False)
ends = np.array([0, rows["network"][3].max()])
axes[1, 1].plot(ends, ends, color="k", linewidth=0.8)
axes[1, 1].set(xlabel="true flux ⟨n v_x⟩", ylabel="flux from the guessed velocity")
plt.show()

# %% [markdown]
# The network more than halves the error of the Boltzmann relation everywhere, and takes most of it away where α is
# small and n does not follow φ. There its error is still three tenths, and its fluxes scatter the most. Only four
# simulations test it, all from the range of α in which it was trained. Nothing is said of other α, other boxes, or
# noise in the images.
#
# Next: [a body in a stream](a_body.py) · [data sets](../datasets.md) · [for learning](../learning.md)
