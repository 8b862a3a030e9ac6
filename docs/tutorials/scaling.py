# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # From a laptop to 1000 GPUs
#
# A run file says nothing of devices, so the one that was tried on a laptop is the one that is submitted. Between the
# two stand four questions, each with a command: does it fit and how long will it take (`check`), is the job what it
# should be (`doctor`), which way to split is fastest there (`tune`), and what goes to the queue (`submit`).

# %%
import os
import tempfile

import matplotlib.pyplot as plt
from matplotlib.ticker import ScalarFormatter

os.chdir(tempfile.mkdtemp())  # the files of this page are written here

# %% [markdown]
# ## A small one first
#
# The case is the Taylor–Green vortex at Re = 1600 on 512³ points. Any key can be overridden, so a small version is
# one line; it runs over all cores here, which are to the program what GPUs are there.

# %% language="bash" magic_args="-e"
# slabwave new taylor-green-512 > vortex.toml
# slabwave run vortex.toml grid.shape=[32,32,32] time.end=0.5 output.directory=small

# %% [markdown]
# ## Does it fit, how long will it take?
#
# `check` touches no device, so it knows any number of them. With the extra `cuda12` installed it compiles the run's
# programs for GPUs that are not there, and reads memory, kernels and bytes off them; without, as here, it says so and
# falls back on formulas ([how to size a job](../sizing.md)).

# %% language="bash" magic_args="-e"
# slabwave check vortex.toml --target h100 --devices 64
# slabwave check vortex.toml grid.shape=[4096,4096,4096] devices.decomposition=pencil --target h100 --devices 1024 \
#     | grep -E 'devices|memory|time'

# %% [markdown]
# ## Is the job what it should be?
#
# Started as the run will be, `doctor` takes under a minute and says what is wrong: with binding, network, memory,
# disk. What it measures `check --measured` takes in place of published bandwidths.

# %% language="bash" magic_args="-e"
# slabwave doctor --devices 2 || true

# %% [markdown]
# ## Which split is fastest?
#
# Slabs have one exchange, pencils two with fewer partners in each, and go beyond the number of planes. `tune` times
# the ways to split on the devices at hand and prints the fastest as a table for the run file. On two cores there is
# little to choose.

# %% language="bash" magic_args="-e"
# slabwave tune vortex.toml grid.shape=[32,32,32] --steps 2

# %% [markdown]
# ## To the queue
#
# `submit` checks the run file for the devices of that many nodes, writes a batch script for the site, and hands it to
# `sbatch`; with `--dry-run` it prints it. The job stops before its time limit with a checkpoint and queues itself
# again ([clusters](../clusters.md), [what a run survives](../surviving.md)).

# %% language="bash" magic_args="-e"
# slabwave submit vortex.toml --nodes 32 --site perlmutter --account m1234 --time 02:00:00 --dry-run > job.sh
# grep -E '^#SBATCH|^module|^srun ' job.sh
# slabwave submit vortex.toml --nodes 128 --site perlmutter --account m1234 --time 02:00:00 --dry-run || true

# %% [markdown]
# ## How far does it go?
#
# The model behind `check`, for float32 with IFRK4, whose step was read off programs compiled for H200 (what they
# move: 323 words per point, 203 kernels, 16 exchanges in two waves, beside which 68 % of the work is done). These are
# predictions: one H100 took 0.95 to 1.08 times as long (`benchmarks/gpu.md`), several were not timed; the model's
# transforms agree with 23 published timings on A100 to within 28 % (`benchmarks/reach.md`).

# %%
from solver.grid import Layout
from solver.plan.rates import Rates
from solver.plan.timing import StepWork, better_split

rates = Rates.of("h100")
work = StepWork(323, 150, 203, transforms=32, exchanges=16, hidden=0.68)
figure, axis = plt.subplots(figsize=(8, 5), layout="constrained")
for n, devices in ((1024, (16, 32, 64, 128, 256)), (2048, (64, 128, 256, 512, 1024)), (4096, (512, 1024, 2048, 4096))):
    layout = Layout((n, n, n))
    times = [1e3 * better_split(rates, layout, work, 4, p).best.total for p in devices]
    axis.plot(devices, times, "o-", label=f"{n}³ points")
    axis.plot(devices, [times[0] * devices[0] / p for p in devices], color="0.8", zorder=0)
axis.set(xscale="log", yscale="log", xlabel="H100 GPUs, 8 to a host", ylabel="predicted time of a step [ms]")
for scale in (axis.xaxis, axis.yaxis):
    scale.set_major_formatter(ScalarFormatter())
axis.legend(frameon=False, title="grey: perfect scaling from the first point")
plt.show()
