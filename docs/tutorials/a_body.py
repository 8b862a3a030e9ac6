# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # A body in a stream
#
# A Fourier code has no walls. A body is put into the flow by a force that draws the fluid's velocity to the body's
# within a thin layer: volume penalisation. The box stays periodic, the transforms stay, and forces on the body are an
# output. Here a cylinder sheds vortices, and then an ellipse is given the shape that a stream pushes least.

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
# ## A vortex street
#
# The case `cylinder-wake` is a cylinder at Re = 100. At the box's left edge a sponge takes up the wake, so that the
# stream that comes in is even. Twelve points to a diameter show the street; numbers to be trusted take more, and a
# thinner layer η ([what is exact, and of which order](../bodies.md)).

# %% language="bash" magic_args="-e"
# slabwave new cylinder-wake > wake.toml
# sed -n '/\[body\]/,/\[time\]/p' wake.toml
# slabwave run wake.toml grid.shape=[192,96] grid.lengths=[16.0,8.0] body.centre=[5.0,4.0] time.end=70 \
#     output.snapshots.every_time=70 output.directory=wake

# %%
run = sw.open_run("wake")
rows = run.series
figure, (above, below) = plt.subplots(2, 1, figsize=(12, 8.4), layout="constrained", height_ratios=[2.6, 1])
vorticity = run.snapshots["vorticity"].isel(t=-1).squeeze().transpose("y", "x")
solid = run.snapshots["bodies"].isel(t=-1).squeeze().transpose("y", "x")
image = above.pcolormesh(
    vorticity.x, vorticity.y, vorticity, cmap="RdBu_r", vmin=-3, vmax=3, shading="gouraud", rasterized=True
)
above.contour(solid.x, solid.y, solid, levels=[0.5], colors="k")
above.set(aspect="equal", xlabel="x/D", ylabel="y/D")
figure.colorbar(image, ax=above, label="vorticity D/U")
below.plot(rows.t, rows["body_drag"], label="drag")
below.plot(rows.t, rows["body_lift"], label="lift")
below.set(xlabel="t U/D", ylabel="force / ½U²D", ylim=(-1, 2.5), xlim=(0, 70))
below.legend(frameon=False, ncols=2)
plt.show()

# %% [markdown]
# ## The shape of least drag
#
# The body's numbers are leaves of the equation, so a drag has a gradient with respect to them. An ellipse keeps its
# area π/4; how long is it best, and at which angle to the stream? It begins as a disc, turned a little since a disc
# has no angle.

# %%
grid = sw.Grid((64, 64), lengths=6.0, mesh=sw.device_mesh())
stepper = sw.steppers.ETDRK3()
stream = {"edge": sw.bodies.Sponge(0.0, 0.8, 5.0, (1.0, 0.0), edge=0.2)}


def flow_past(shape):
    """Past an ellipse of area π/4: its slenderness, and its angle to the stream."""
    slenderness, angle = shape
    sides = 0.5 * jnp.exp(slenderness), 0.5 * jnp.exp(-slenderness)
    ellipse = sw.bodies.Ellipsoid((3.0, 3.0), sides, eta=0.03, tilt=angle, stream_speed=1.0, reference_area=1.0)
    return sw.equations.NavierStokes(grid, viscosity=0.05, bodies={"ellipse": ellipse, **stream}, energy_budget=False)


def after(shape, steps=200):
    flow = flow_past(shape)
    start = sw.initial_state(flow, stepper, jnp.zeros((2, 64, 64)).at[0].set(1.0))
    return flow, sw.integrate(flow, stepper, start, step=0.02, steps=steps)


@jax.jit
@jax.value_and_grad
def drag(shape):
    flow, state = after(shape)
    return flow.on_bodies(state.field, state.t)["ellipse_drag"]


shape = jnp.array([0.1, 0.4])
path = []
for _ in range(12):
    value, slope = drag(shape)
    path.append((float(value), *map(float, shape)))
    shape = shape - jnp.array([0.2, 0.1]) * slope
for i in (0, 3, 7, 11):
    print("drag {:.4f}, slenderness {:.3f}, angle {:.3f}".format(*path[i]))

# %% [markdown]
# It turns into the stream and grows longer, until the friction along its sides is as dear as the wake that it saves.

# %%
figure, axes = plt.subplots(1, 3, figsize=(14, 4.3), layout="constrained", sharey=True)
x, y = (np.broadcast_to(v, (64, 64)) for v in grid.coordinates())
for axis, i in zip(axes, (0, 3, 11), strict=True):
    flow, state = after(jnp.array(path[i][1:]))
    u = np.asarray(flow.to_physical(state.field)["velocity"])
    image = axis.pcolormesh(x, y, np.hypot(*u), cmap="viridis", vmin=0, vmax=1.4, shading="gouraud")
    axis.streamplot(x[:, 0], y[0], u[0].T, u[1].T, color="w", linewidth=0.5, density=1.2, arrowsize=0.5)
    r = np.stack([x - 3, y - 3])
    turn = path[i][2]
    along, across = np.cos(turn) * r[0] + np.sin(turn) * r[1], np.cos(turn) * r[1] - np.sin(turn) * r[0]
    sides = 0.5 * np.exp(path[i][1]), 0.5 * np.exp(-path[i][1])
    axis.contourf(x, y, np.hypot(along / sides[0], across / sides[1]), levels=[0, 1], colors="k", zorder=3)
    axis.set(aspect="equal", title=f"drag {path[i][0]:.2f}", xlabel="x", xlim=(0, 5.9), ylim=(0, 5.9))
figure.colorbar(image, ax=axes, label="speed")
plt.show()

# %% [markdown]
# Bodies may also move, turn, fall freely, be read from a file, and hold or keep out a scalar: [bodies and
# sponges](../bodies.md).
