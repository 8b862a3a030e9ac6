"""What particles would ask of a GPU: a flow's velocity at many places by B-splines, and what puts these in order.

    python benchmarks/gpu_particles.py                                  # 10⁷ particles in 256³ and 512³
    python benchmarks/gpu_particles.py --particles 1000 --sizes 16      # the same code, small

Three components at a place are sums over m³ points, by gathers. *As drawn*: particles in the order of their numbers,
uniform in the box; *in order*: of the cells that they are in. The field's components come first or last.
"""

from __future__ import annotations

import argparse
import functools
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gpu_page import attempt, head, say
from gpu_walls import milliseconds


def spline_weights(f: Any, order: int) -> list[Any]:
    """Values of the B-spline at the points around a place that is f of a cell beyond one of them."""
    weights = [jnp.ones_like(f)]
    for k in range(2, order + 1):
        last = [0.0, *weights, 0.0]
        weights = [((f + (k - 1 - j)) * last[j] + (1 - f + j) * last[j + 1]) / (k - 1) for j in range(k)]
    return weights


def at_places(u: Any, x: Any, order: int, *, components_last: bool, unroll: int) -> Any:
    """u at places x, in cells, `(3, particle)`: `(3, particle)`, or `(particle, 3)` where components come last."""
    shape = u.shape[:3] if components_last else u.shape[1:]
    cell = jnp.floor(x)
    weights = [jnp.stack(spline_weights((x - cell)[d].astype(u.dtype), order)) for d in range(3)]
    first = cell.astype(jnp.int32) - (order // 2 - 1)
    place = [(first[d] + jnp.arange(order, dtype=jnp.int32)[:, None]) % shape[d] for d in range(3)]
    flat = u.reshape(-1, 3) if components_last else u.reshape(3, -1)

    def add(number: Any, total: Any) -> Any:
        a, b, c = number // order**2, number // order % order, number % order
        index = (place[0][a] * shape[1] + place[1][b]) * shape[2] + place[2][c]
        weight = weights[0][a] * weights[1][b] * weights[2][c]
        if components_last:
            return total + weight[:, None] * flat.at[index].get(mode="promise_in_bounds")
        return total + weight * flat.at[:, index].get(mode="promise_in_bounds")

    zero = jnp.zeros((x.shape[1], 3) if components_last else (3, x.shape[1]), u.dtype)
    return jax.lax.fori_loop(0, order**3, add, zero, unroll=unroll)


def sorted_by_cell(x: Any, n: int) -> tuple[Any, Any]:
    """Places in the order of their cells, and the order."""
    cell = jnp.floor(x).astype(jnp.int32)
    key = (cell[0] * n + cell[1]) * n + cell[2]
    order = jax.lax.sort((key, jnp.arange(x.shape[1], dtype=jnp.int32)), num_keys=1)[1]
    return x[:, order], order


def table(particles: int, sizes: list[int]) -> None:
    say(head("side | order | field | components | unrolled | as drawn, ms | in order, ms | ns a particle, in order"))
    for n in sizes:
        x = n * jax.random.uniform(jax.random.key(0), (3, particles), jnp.float64)
        ordered, _ = jax.jit(functools.partial(sorted_by_cell, n=n))(x)
        for name in ("float32", "float64"):
            for last in (False, True):
                shape = (n, n, n, 3) if last else (3, n, n, n)
                u = jax.random.normal(jax.random.key(1), shape, jnp.dtype(name))
                for order, unroll in ((4, 64), (4, 16), (6, 36)):
                    call = functools.partial(at_places, order=order, components_last=last, unroll=unroll)
                    what = f"{n}³ | {order} | {name} | {'last' if last else 'first'} | {unroll}"

                    def cells(call: Any = call, u: Any = u, x: Any = x, ordered: Any = ordered) -> list[float]:
                        return [milliseconds(call, u, each, times=2) for each in (x, ordered)]

                    found = attempt(what, cells)
                    if found:
                        say(f"| {what} | {found[0]:.2f} | {found[1]:.2f} | {1e6 * found[1] / particles:.2f} |")
        say()
        sorting = milliseconds(functools.partial(sorted_by_cell, n=n), x, times=2)
        order = jax.jit(functools.partial(sorted_by_cell, n=n))(x)[1]
        home = milliseconds(lambda u, order: jnp.zeros_like(u).at[:, order].set(u), x, order, times=2)
        say(f"{n}³: sorting by cell, with the places, {sorting:.2f} ms; values back to their numbers {home:.2f} ms.\n")


def check() -> None:
    """Against NumPy's sum, at a few places."""
    n, order = 8, 4
    u, x = np.random.default_rng(0).standard_normal((3, n, n, n)), n * np.random.default_rng(1).random((3, 5))
    found = at_places(jnp.asarray(u), jnp.asarray(x), order, components_last=False, unroll=1)
    for p in range(5):
        total = np.zeros(3)
        for index in np.ndindex(n, n, n):
            distance = [(x[d, p] - index[d] + n / 2) % n - n / 2 for d in range(3)]
            total += u[(slice(None), *index)] * np.prod([_cubic(abs(each)) for each in distance])
        assert np.allclose(total, found[:, p], atol=1e-13), (total, found[:, p])


def _cubic(r: float) -> float:
    return (2 - r) ** 3 / 6 - (4 * (1 - r) ** 3 / 6 if r < 1 else 0) if r < 2 else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--particles", type=int, default=10_000_000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[256, 512])
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    kind = jax.devices()[0].device_kind
    say(f"`python benchmarks/gpu_particles.py {' '.join(sys.argv[1:])}`, {kind}, jax {jax.__version__}\n")
    check()
    table(options.particles, options.sizes)


if __name__ == "__main__":
    main()
