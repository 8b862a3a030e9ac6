# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # Gradients: a viscosity, a field, and a network
#
# An equation is a pytree, and `sw.integrate` and `sw.rollout` are pure functions of it and of the state it starts
# from. So `jax.grad` reaches whatever went into a simulation. This page asks three questions that a simulation run
# forwards does not answer: how viscous was the flow that was seen, what was it before anybody looked, and what is the
# law of a reaction of which only the outcome is known?

# %%
import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.optimize import minimize

import solver as sw

jax.config.update("jax_enable_x64", True)

# %% [markdown]
# ## A flow that was seen late
#
# Vorticity in two dimensions, ω_t = −u·∇ω + ν∇²ω. It is seen at three later times, on every second point each way,
# with noise of two hundredths of what is there. Neither the viscosity nor the start is known.

# %%
grid = sw.Grid((64, 64), mesh=sw.device_mesh())
stepper = sw.steppers.IFRK4()
true_viscosity = 2e-3
step, seen = 0.04, [10, 20, 30]


def flow_of(viscosity):
    return sw.equations.Vorticity(grid, viscosity, energy_budget=False)


def seen_of(viscosity, start):
    """Vorticity on every second point at the times at which the flow is seen."""
    flow = flow_of(viscosity)
    _, values = sw.rollout(flow, stepper, sw.initial_state(flow, stepper, start), step=step, steps=30, every=10)
    return values["vorticity"][1:, 0, ::2, ::2]


true_start = sw.initial.RandomPhase(energy=0.5, peak=3.0)(grid, flow_of(0.0).fields["vorticity"], jax.random.key(1))[0]
clean = seen_of(true_viscosity, true_start)
noise = 0.02 * jnp.std(clean) * jax.random.normal(jax.random.key(2), clean.shape)
observed = clean + noise

# %% [markdown]
# What is sought is log ν and the start on every second point each way, from which its Fourier series is taken: 1025
# numbers. What short waves there were, viscosity has taken before anybody looked, so a little of their strength is
# added to the misfit, which prefers a smooth start. The gradient with respect to all of the numbers costs a few
# forward runs, however many they are; SciPy's L-BFGS does the rest.

# %%
coarse = sw.Grid((32, 32), dealias="none", mesh=sw.device_mesh())
from_coarse, on_grid = sw.fft.Transform(coarse), sw.fft.Transform(grid)


def start_of(values):
    return on_grid.inverse(sw.fft.resample(from_coarse.forward(values.reshape(32, 32)), coarse, grid))


def misfit(unknown):
    start = start_of(unknown[1:])
    missed = jnp.mean((seen_of(jnp.exp(unknown[0]), start) - observed) ** 2) / jnp.var(observed)
    k4 = grid.k_squared() ** 2
    rough = sw.diagnostics.weighted_mean_square(on_grid.forward(start[None]), k4, grid)
    return missed + 1e-8 * rough


def least(function, first, iterations):
    """The minimum of a function, found by L-BFGS from its gradient."""
    compiled = jax.jit(jax.value_and_grad(function))

    def as_numpy(unknown):
        return tuple(np.asarray(v, float) for v in compiled(unknown))

    return minimize(as_numpy, first, jac=True, method="L-BFGS-B", options={"maxiter": iterations})


found = least(misfit, np.concatenate([[np.log(1e-2)], np.zeros(32 * 32)]), iterations=150)
found_start = start_of(jnp.asarray(found.x[1:]))
error = float(jnp.linalg.norm(found_start - true_start) / jnp.linalg.norm(true_start))
print(f"{found.nit} iterations; viscosity {np.exp(found.x[0]):.5f}, {true_viscosity} is true; start {error:.1%} off")

# %% [markdown]
# ## A law that is a network
#
# A substance spreads and reacts, u_t = D∇²u + f(u), and nobody knows f. Let f be a network. It is a parameter of the
# equation like any other, evaluated at the points, and is trained in the solver: on what sixteen fields were half a
# time unit and one unit later. (They were made with the Allee effect, f(u) = 5u(1 − u)(u − 0.3): few of a kind die
# out.)

# %%
line = sw.Grid((64,), lengths=20.0, mesh=sw.device_mesh([0]))


def reaction(u, law):
    return law(u)


class Reacting(sw.Equation):
    """u_t = D∇²u + f(u), where f is a function of numbers."""

    diffusivity: float
    law: object
    fields = {"u": sw.Field("scalar", "1")}

    def linear(self):
        return sw.Diagonal({"u": -self.diffusivity * self.grid.k_squared()})

    def nonlinear(self, fields, t):
        return {"u": self.transform.pointwise(reaction, fields["u"], self.law)}

    def rate(self, fields):
        return jnp.zeros(())


class Network(eqx.Module):
    """A small network from each number to a number, which acts on arrays."""

    layers: eqx.nn.MLP

    def __call__(self, u):
        return jnp.vectorize(self.layers)(u)


def allee(u):
    return 5 * u * (1 - u) * (u - 0.3)


stepper = sw.steppers.ETDRK3()


def later(law, start):
    """The field half a time unit and one unit later."""
    equation = Reacting(line, 0.1, law, energy_budget=False)
    state = sw.initial_state(equation, stepper, start)
    return sw.rollout(equation, stepper, state, step=0.05, steps=20, every=10)[1]["u"][1:]


x = line.coordinates()[0]
phases = 2 * jnp.pi * jax.random.uniform(jax.random.key(3), (16, 4, 1))
waves = jnp.arange(1, 5)[None, :, None] * 2 * jnp.pi / 20.0
starts = 0.4 + 0.2 * jnp.sum(jnp.cos(waves * x + phases), axis=1)
seen_later = jax.vmap(lambda start: later(allee, start))(starts)

# %%
untrained = Network(eqx.nn.MLP("scalar", "scalar", 16, 2, jax.nn.tanh, key=jax.random.key(4)))
numbers, rest = eqx.partition(untrained, eqx.is_inexact_array)
flat, unflat = ravel_pytree(numbers)


def network_of(weights):
    return eqx.combine(unflat(weights), rest)


def misfit_of_law(weights):
    law = network_of(weights)
    return jnp.mean((jax.vmap(lambda start: later(law, start))(starts) - seen_later) ** 2)


trained = least(misfit_of_law, flat, iterations=300)
law = network_of(jnp.asarray(trained.x))
print(f"{flat.size} weights, {trained.nit} iterations: misfit {np.sqrt(trained.fun):.1e}")

# %% [markdown]
# ## What was found

# %%
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
largest = float(jnp.abs(true_start).max())
for axis, values, title in ((left, true_start, "start, as it was"), (middle, found_start, "start, as found")):
    image = axis.imshow(values.T, origin="lower", cmap="RdBu_r", vmin=-largest, vmax=largest,
                        extent=[0, 2 * np.pi] * 2, interpolation="bicubic")  # fmt: skip
    axis.set(title=title, xlabel="x", ylabel="y")
figure.colorbar(image, ax=middle, label="vorticity")
u = jnp.linspace(-0.1, 1.2, 200)
right.plot(u, allee(u), color="0.7", linewidth=5, label="5u(1 − u)(u − 0.3)")
right.plot(u, law(u), color="C3", label="network, trained in the solver")
right.axhline(0, color="0.8", linewidth=0.8)
right.set(title="reaction", xlabel="u", ylabel="f(u)")
right.legend(frameon=False)
plt.show()

# %% [markdown]
# What a gradient keeps in memory is chosen by `checkpoint=` (`benchmarks/gradients.md` has the
# cost). The same lines work on a mesh of many devices: the gradient is split over them as the flow is. Next: [train a
# closure](train_a_closure.py) · [4D-Var](assimilate.py) · [equations by hand](../own_equation.md)
