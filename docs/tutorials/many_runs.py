# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # Many runs, and a data set of them
#
# A substance v grows by feeding on another, u, and both spread: the Gray–Scott equations. What they make, spots,
# stripes or nothing, depends on two numbers: the rate F at which u is fed in and both are washed out, and the rate k at
# which v decays besides. One run file makes a run for each pair, steps many of them by one program, and leaves a data
# set that a network can be trained on.

# %%
import os
import tempfile

import matplotlib.pyplot as plt

import solver as sw

os.chdir(tempfile.mkdtemp())  # the files of this page are written here

# %% [markdown]
# ## A run file with a sweep
#
# `[ensemble]` names keys and values; here all pairs. `[output.well]` asks for a data set in the layout of [The
# Well](https://polymathic-ai.org/the_well).

# %% language="bash" magic_args="-e"
# cat > patterns.toml <<'END'
# title = "Patterns of Gray and Scott"
#
# [ensemble]
# sweep = { "equation.feed" = [0.058, 0.046, 0.034, 0.022], "equation.kill" = [0.053, 0.056, 0.059, 0.062, 0.065] }
#
# [grid]
# shape = [96, 96]
# lengths = [1.2, 1.2]
# precision = "float32"
#
# [equation]
# name = "gray-scott"
#
# [initial.u]
# name = "uniform"
# value = 1.0
#
# [initial.v]
# name = "spots"
# height = 0.25
# width = 0.04
# count = 12
#
# [time]
# stepper = "etdrk2"
# step = 1.0
# end = 3000.0
#
# [output]
# directory = "patterns"
# series = { every_time = 300.0 }
# snapshots = { every_time = 3000.0 }
#
# [output.well]
# every_time = 300.0
# END
# slabwave check patterns.toml

# %% [markdown]
# ## The runs
#
# Twenty members differ in numbers alone, so that one program steps several of them at once; where there are several
# devices, each steps its own. Each member's directory is laid out like that of any run.

# %% language="bash" magic_args="-e"
# slabwave run patterns.toml
# slabwave info patterns
# ls patterns patterns/member-0007

# %% [markdown]
# ## The map
#
# `sw.open_run` opens a member as it opens a run.

# %%
runs = [sw.open_run(f"patterns/member-{i:04d}") for i in range(20)]
feeds = sorted({run.config["equation"]["feed"] for run in runs}, reverse=True)
kills = sorted({run.config["equation"]["kill"] for run in runs})
figure, axes = plt.subplots(len(feeds), len(kills), figsize=(11, 9), layout="constrained")
for run in runs:
    feed, kill = run.config["equation"]["feed"], run.config["equation"]["kill"]
    axis = axes[feeds.index(feed), kills.index(kill)]
    values = run.snapshots["v"].isel(t=-1).squeeze().transpose("y", "x")
    axis.imshow(values, origin="lower", cmap="magma", vmin=0, vmax=0.4, interpolation="bicubic")
    axis.set(xticks=[], yticks=[])
for axis, feed in zip(axes[:, 0], feeds, strict=True):
    axis.set_ylabel(f"F = {feed:g}")
for axis, kill in zip(axes[-1], kills, strict=True):
    axis.set_xlabel(f"k = {kill:g}")
plt.show()

# %% [markdown]
# ## The data set
#
# It was made when the last member was over, split into parts for training, validation and test, with statistics and
# checksums. `dataset check` reads every byte of it:

# %% language="bash" magic_args="-e"
# slabwave dataset check patterns
# find patterns/patterns -type f | sort

# %% [markdown]
# ## Or without files
#
# `sw.dataset.stream` makes the same members as arrays on the devices, one after another: each is computed when the loop
# asks for it, and holds all its times. Nothing is written ([data sets](../datasets.md)). To step many members by one
# program in Python there is `sw.Ensemble` ([ensembles](../ensembles.md)).

# %%
import jax

jax.config.update("jax_enable_x64", True)
for member in sw.dataset.stream("patterns.toml", part="valid"):
    print(member.number, member.scalars["feed"], member.scalars["kill"], member.fields["v"].shape)

# %% [markdown]
# On a cluster the members of one run file are shared out among jobs: `slabwave submit patterns.toml --nodes 1 --jobs
# 4` ([ensembles](../ensembles.md)). Next: [train a network on a data set](train_on_a_data_set.py) · [a body in
# a stream](a_body.py) · [from a laptop to 1000 GPUs](scaling.py)
