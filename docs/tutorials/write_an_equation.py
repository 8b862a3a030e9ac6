# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # Write an equation, and see how its plan is found
#
# Oil and water part, and the flow that they drive by their surface tension helps them to. Physicists call it model H:
# a velocity with a constraint, a concentration with a fourth derivative, a chemical potential μ that neither is
# stored nor has an equation of its own. This page writes it down as a paper does, and lets the program find the
# linear part, the transforms, the CFL rate and the budgets.

# %%
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from tqdm.auto import tqdm

import solver as sw

jax.config.update("jax_enable_x64", True)

# %% [markdown]
# ## The text
#
# Unknowns are what a line determines without a time derivative: the pressure p serves div(u) = 0, and μ has a line of
# its own. What is neither a field nor an unknown nor a word of the language is a parameter.

# %%
ModelH = sw.write(
    [
        "dt(u) = -u@grad(u) - grad(p) + nu*lap(u) + tension*mu*grad(c)",
        "div(u) = 0",
        "dt(c) = -u@grad(c) + mobility*lap(mu)",
        "mu = c**3 - c - width**2*lap(c)",
    ],
    fields={"u": "vector", "c": "scalar"},
    unknowns={"p": "scalar", "mu": "scalar"},
    energies={"kinetic": "u@u/2"},
    series={"domain_size": "2*pi*sqrt(mean(c*c)/mean(grad(c)@grad(c)))"},
)

# %% [markdown]
# A mistake is told where it stands, before anything is computed:

# %%
try:
    sw.write(["dt(c) = mobility*lap(mu)", "mu = c**3 - grad(c)"], fields={"c": "scalar"}, unknowns={"mu": "scalar"})
except ValueError as error:
    print(error)

# %% [markdown]
# ## The plan
#
# Taken as it stands the text has products of gradients. Written as divergences they need fewer transforms, the
# gradient part of a force is taken by the pressure, and equal products are formed once. The program searches such
# forms, checks each against the text at random points of the fields, and says what it chose and why a term is or is
# not in the linear part:

# %%
grid = sw.Grid((192, 192), lengths=2 * jnp.pi, mesh=sw.device_mesh())
mixture = ModelH(grid, nu=0.02, tension=20.0, mobility=0.02, width=0.04)
for heading, line in mixture.derivation():
    print(f"{heading:10}{line}")

# %% [markdown]
# How the plan is found, and what it cannot find, is told in [writing an
# equation](../writing.md#how-the-plan-is-found). `explicit(term)` keeps a term out of the linear part, `cause(name,
# term)` gives it a column in the budget.
#
# ## Does it solve what is written?
#
# A text is checked against the plan by another interpreter whenever a plan is made. A check from outside is a
# solution known otherwise: a concentration c = 1 + ε cos(kx) has μ = (2 + w²k²) ε cos(kx) to first order in ε, and
# decays at the rate M k²(2 + w²k²).

# %%
small = sw.Grid((16, 16), mesh=sw.device_mesh([0]))
waves = ModelH(small, nu=0.02, tension=20.0, mobility=0.02, width=0.04)
x, y = small.coordinates()
start = {"u": jnp.zeros((2, 16, 16)), "c": 1 + 1e-6 * jnp.cos(3 * x + 0 * y)}
stepper = sw.steppers.ETDRK4()
state = sw.integrate(waves, stepper, sw.initial_state(waves, stepper, start), step=0.01, steps=100)
left = float(jnp.abs(waves.to_physical(state.field)["c"][0] - 1).max()) / 1e-6
print(f"left after t = 1: {left:.6f}, by hand {np.exp(-0.02 * 9 * (2 + 0.04**2 * 9)):.6f}")

# %% [markdown]
# ## A mixture that parts
#
# Noise, and a little more oil than water. Drops grow by diffusion, which is slow, and by the flow that sets in when
# two of them touch. The columns of the text's `series` and `energies` come with the state. `evolve` hands out a state
# at each pause, so that a bar of `tqdm` (`pip install tqdm`) shows how far it is:

# %%
noise = 0.1 * jax.random.normal(jax.random.key(1), (192, 192)) - 0.15
state = sw.initial_state(mixture, stepper, {"u": jnp.zeros((2, 192, 192)), "c": noise})
times, panels, sizes = [0.5, 2.0, 8.0], [], []
until = 8.0
course = sw.evolve(mixture, stepper, state, end=until, step=0.01, pauses=[sw.Schedule(every_time=0.5)])
for state in tqdm(course, total=round(until / 0.5)):
    row = mixture.series(state.field, state.dt)
    sizes.append((float(state.t), float(row["domain_size"]), float(row["kinetic"])))
    if any(abs(float(state.t) - t) < 1e-9 for t in times):
        panels.append({name: np.asarray(values) for name, values in mixture.to_physical(state.field).items()})

# %%
figure, axes = plt.subplots(1, 3, figsize=(15, 5), layout="constrained", sharey=True)
for axis, t, fields in zip(axes, times, panels, strict=True):
    axis.imshow(fields["c"][0].T, origin="lower", cmap="PuOr", vmin=-1.1, vmax=1.1, extent=[0, 2 * np.pi] * 2)
    points = np.linspace(0, 2 * np.pi, 192, endpoint=False)
    axis.streamplot(
        points, points, fields["u"][0].T, fields["u"][1].T, color="k", linewidth=0.4, arrowsize=0.5, density=1.3
    )
    size = next(s for time, s, _ in sizes if abs(time - t) < 1e-9)
    axis.set(title=f"t = {t:g}, domains of {size:.2f}", xlabel="x", xlim=(0, 2 * np.pi), ylim=(0, 2 * np.pi))
axes[0].set(ylabel="y")
plt.show()

# %% [markdown]
# In a run file the same text stands under `[equation] name = "written"` ([writing an equation](../writing.md)). Next:
# [gradients](gradients.py)
