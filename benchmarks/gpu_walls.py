"""What a wall-bounded direction would ask of a GPU: products with matrices in z, and eigenproblems for each wavenumber.

    python benchmarks/gpu_walls.py                       # tables for a GPU
    python benchmarks/gpu_walls.py --scale 0.02          # the same code with few columns

N modes at Np = 3N/2 points. *Shared*: one matrix for all columns, as between points and modes. *Own*: a matrix for each
horizontal wavenumber, by parity of size N/2, times the four real columns of +kx and -kx, both ways. Eigenproblems: many
symmetric matrices of size N/2 at once.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from gpu_page import attempt, head, say

PRECISIONS = {"float32": jnp.float32, "float64": jnp.float64}


def milliseconds(call: Callable[..., Any], *given: Any, times: int = 10) -> float:
    """Of one compiled call, the best of three rounds."""
    compiled = jax.jit(call).lower(*given).compile()
    jax.block_until_ready(compiled(*given))
    found = []
    for _ in range(3):
        began = time.perf_counter()
        for _ in range(times):
            result = compiled(*given)
        jax.block_until_ready(result)
        found.append(1e3 * (time.perf_counter() - began) / times)
    return min(found)


def noise(shape: tuple[int, ...], dtype: Any, number: int = 0) -> Any:
    return jax.random.normal(jax.random.key(number), shape, dtype)


def copied(words: int, dtype: Any) -> float:
    """Milliseconds to read and write so many words, b + c of one array."""
    x = noise((max(words // 2, 1),), dtype)
    return milliseconds(lambda x: x + 1, x)


def shared(columns: int) -> None:
    """Products of all columns with one matrix, z last and z first."""
    say(head("precision | product | Np, N | columns | z last, ms | z first, ms | both moved by x + 1, ms"))
    for name, dtype in PRECISIONS.items():
        for product in ("default", "highest") if name == "float32" else ("highest",):
            for points in (65, 129, 257, 513):
                modes, own = 2 * points // 3, columns * 64 // points
                matrix = noise((points, modes), dtype)
                last = lambda a, u, p=product: jnp.einsum("zn,cn->cz", a, u, precision=p)  # noqa: E731
                first = lambda a, u, p=product: jnp.einsum("zn,nc->zc", a, u, precision=p)  # noqa: E731
                cells = [
                    f"{milliseconds(last, matrix, noise((own, modes), dtype)):.3f}",
                    f"{milliseconds(first, matrix, noise((modes, own), dtype)):.3f}",
                    f"{copied(own * (points + modes), dtype):.3f}",
                ]
                say(f"| {name} | {product} | {points}, {modes} | {own} | {' | '.join(cells)} |")


def batched(matrices: Any, columns: Any) -> Any:
    return jnp.einsum("kmn,knc->kmc", matrices, columns, precision="highest")


def there_and_back(matrices: Any, columns: Any) -> Any:
    return jnp.einsum("kmn,kmc->knc", matrices, batched(matrices, columns), precision="highest")


def fused(matrices: Any, columns: Any) -> Any:
    return (matrices[..., None] * columns[:, None]).sum(2)


def own(words: int) -> None:
    """Products of four columns with a matrix for each wavenumber, as a batched product and as a sum that is fused."""
    say(head("precision | N/2 | matrices | batched, ms | there and back, ms | fused sum, ms | matrices read, ms"))
    for name, dtype in PRECISIONS.items():
        for size in (21, 43, 86, 171):
            count = max(words // size**2, 1)
            matrices, columns = noise((count, size, size), dtype), noise((count, size, 4), dtype, 1)
            cells = [f"{milliseconds(call, matrices, columns):.3f}" for call in (batched, there_and_back, fused)]
            say(f"| {name} | {size} | {count} | {' | '.join(cells)} | {copied(2 * count * size**2, dtype) / 2:.3f} |")


def eigenproblems(number: int) -> None:
    """Many symmetric eigenproblems at once, and what else a set-up needs."""
    say(head("precision | size | matrices | eigh, ms a matrix | svd | Cholesky | QR"))
    for name, dtype in PRECISIONS.items():
        for size in (21, 43, 86, 171):
            count = max(number * 21 // size, 1)
            given = noise((count, size, size), dtype)
            symmetric = jnp.einsum("kmn,kln->kml", given, given, precision="highest") / size + jnp.eye(
                size, dtype=dtype
            )
            calls = (
                (lambda a: jnp.linalg.eigh(a), symmetric),
                (lambda a: jnp.linalg.svd(a, full_matrices=False), given),
                (jnp.linalg.cholesky, symmetric),
                (lambda a: jnp.linalg.qr(a), given),
            )

            def cells(calls: Any = calls, count: int = count) -> str:
                return " | ".join(f"{milliseconds(call, each, times=1) / count:.4f}" for call, each in calls)

            found = attempt(f"{name} | {size} | {count}", cells)
            if found:
                say(f"| {name} | {size} | {count} | {found} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="columns and matrices, in those of the tables")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    kind = jax.devices()[0].device_kind
    say(f"`python benchmarks/gpu_walls.py {' '.join(sys.argv[1:])}`, {kind}, jax {jax.__version__}")
    for title, call, size in (
        ("One matrix for all columns", shared, 2**19),
        ("A matrix for each wavenumber", own, 2**27),
        ("Eigenproblems", eigenproblems, 256),
    ):
        say(f"\n### {title}\n")
        attempt(title, lambda call=call, size=size: call(max(int(options.scale * size), 1)))


if __name__ == "__main__":
    main()
