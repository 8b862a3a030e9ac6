# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # A first run, and its report
#
# Two streams of a fluid pass each other. The layer between them is unstable and rolls up into vortices: the
# Kelvin–Helmholtz instability. This page makes that run, reads what it leaves, and stops and continues it. It takes a
# minute on a laptop; the same lines work under `sbatch` ([clusters](../clusters.md)).

# %%
import os
import tempfile

import matplotlib.pyplot as plt

import solver as sw

os.chdir(tempfile.mkdtemp())  # the files of this page are written here

# %% [markdown]
# ## A run file
#
# A run is a TOML file. `slabwave list cases` names some forty that come along, and `slabwave new` prints one, with
# comments:

# %% language="bash" magic_args="-e"
# slabwave new kelvin-helmholtz > layer.toml
# cat layer.toml

# %% [markdown]
# Every key is checked before anything is computed. `check` says what the run would be: its transforms, the bytes that
# its devices exchange, its memory. A wrong key is told in one line:

# %% language="bash" magic_args="-e"
# slabwave check layer.toml grid.shape=[192,192]
# slabwave check layer.toml equation.viscosty=1e-3 || true

# %% [markdown]
# ## The run
#
# Any key can be set on the command line. The fields are split over all devices; here, on a CPU, over its cores.

# %% language="bash" magic_args="-e"
# slabwave run layer.toml grid.shape=[192,192] output.snapshots.every_time=2.5 output.directory=layer

# %% [markdown]
# The directory `layer` holds all of it: the resolved run file, the versions and devices, a row of numbers every ten
# steps, spectra, snapshots in HDF5, checkpoints ([what a run writes](../outputs.md)). `info` sums it up, `verify`
# reads every checksum:

# %% language="bash" magic_args="-e"
# slabwave info layer
# slabwave verify layer

# %% [markdown]
# ## It goes on where it was
#
# `resume` continues from the newest checkpoint. Killed at any moment, a run continued on the same devices ends with
# the bits of one that was never disturbed ([what a run survives](../surviving.md)). With a later end it goes further:

# %% language="bash" magic_args="-e"
# slabwave resume layer time.end=12.5

# %% [markdown]
# ## What it found
#
# `slabwave report layer` makes one HTML page of curves, spectra, slices and provenance, which needs nothing else to
# be read. In Python a run opens as xarray arrays with units. The energy's budget is in the rows: what viscosity took
# is what is missing.

# %% language="bash" magic_args="-e"
# slabwave report layer

# %%
run = sw.open_run("layer")
rows = run.series
lost = rows["energy"][0] - rows["energy"][-1]
print(f"energy lost {float(lost):.6f}, by viscosity {-float(rows['energy_from_viscosity'][-1]):.6f}")

# %% [markdown]
# The dye started as the velocity's profile, −1 and 1 in the two streams:

# %%
dye = run.snapshots["dye"]
times = [2.5, 5.0, 7.5, 12.5]
figure, axes = plt.subplots(1, 4, figsize=(15, 4.1), layout="constrained", sharey=True)
for axis, t in zip(axes, times, strict=True):
    values = dye.sel(t=t, method="nearest").squeeze().transpose("y", "x")
    image = axis.pcolormesh(values.x, values.y, values, cmap="RdBu_r", vmin=-1, vmax=1, shading="gouraud")
    axis.set(aspect="equal", title=f"t = {t:g}", xlabel="x")
axes[0].set(ylabel="y")
figure.colorbar(image, ax=axes, label="dye", shrink=0.8)
plt.show()

# %% [markdown]
# Next: [write an equation of your own](write_an_equation.py) · all [keys of a run file](../run_files.md) · [pictures
# and films](../pictures.md) · the [gallery](../gallery.md) of cases
