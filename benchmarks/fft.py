"""One three-dimensional real transform, beside other libraries, alternating in one go.

    python benchmarks/fft.py [--sizes 128 256] [--rounds 5] [--repeats 10] [--write benchmarks/fft.md]

Every program works on two devices, ranks or threads in double precision, and times its transform both ways. Ratios are
to mpi4py-fft's full transform in the same direction.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import TWO_DEVICES, Program, alternate, columns, machine, measured, peer, two_ranks

BASE = "mpi4py-fft, FFTW, 2 ranks"


def ours(kind: str) -> Program:
    names = {
        "full": "slabwave, all modes",
        "pruned": "slabwave, two-thirds",
        "shard_map": "slabwave, two-thirds, engine shard_map",
        "jaxdecomp": "jaxdecomp, pfft3d of a complex array",
        "jnp": "jnp.fft.rfftn on a split array",
        "two-step": "two custom-partitioned steps and a reshard",
    }
    return Program(names[kind], [sys.executable, __file__, "--child", kind], environment=TWO_DEVICES)


def child(kind: str, n: int, repeats: int) -> dict[str, float]:
    """In this process: milliseconds of one of ours, or of another JAX program."""
    from solver.cluster import keep_freed_memory

    keep_freed_memory()
    import jax

    import solver as sw

    mesh = sw.device_mesh(shape=(2, 1) if kind == "jaxdecomp" else None)
    grid = sw.Grid((n, n, n), mesh=mesh, dealias="two-thirds" if kind in ("pruned", "shard_map") else "none")
    u = jax.device_put(jax.random.normal(jax.random.key(0), grid.physical_shape), grid.physical_sharding())
    if kind in ("full", "pruned", "shard_map"):
        transform = sw.fft.Transform(grid, sw.fft.Method("shard_map" if kind == "shard_map" else "slabwave"))
        there, back = jax.jit(transform.forward), jax.jit(transform.inverse)
    else:
        there, back, u = OTHERS[kind](u, grid)
    u_hat = jax.block_until_ready(there(u))
    return {
        "forward": measured(lambda: jax.block_until_ready(there(u)), repeats),
        "inverse": measured(lambda: jax.block_until_ready(back(u_hat)), repeats),
    }


def _jaxdecomp(u, grid):
    import jaxdecomp

    return jaxdecomp.fft.pfft3d, jaxdecomp.fft.pifft3d, u.astype(complex)


def _jnp(u, grid):
    import jax
    import jax.numpy as jnp

    out = grid.physical_sharding()
    there = jax.jit(jnp.fft.rfftn)
    back = jax.jit(lambda v: jnp.fft.irfftn(v, grid.physical_shape), out_shardings=out)
    return there, back, u


def _two_step(u, grid):
    """As a tutorial has it: XLA learns that FFTs keep the split of other axes; it reshards between."""
    import jax
    import jax.numpy as jnp
    from jax.experimental.custom_partitioning import custom_partitioning

    split_x, split_y = (jax.NamedSharding(grid.mesh, spec) for spec in (jax.P("slab"), jax.P(None, "slab")))

    def step(fn, split, rule):
        operation = custom_partitioning(fn)
        operation.def_partition(
            partition=lambda mesh, operands, result: (mesh, fn, split, (split,)),
            infer_sharding_from_operands=lambda mesh, operands, result: split,
            sharding_rule=rule,
        )
        return operation

    n = grid.physical_shape[2]
    planes = step(lambda v: jnp.fft.rfft2(v), split_x, "x y z -> x k w")
    lines = step(lambda v: jnp.fft.fft(v, axis=0), split_y, "x k w -> l k w")
    lines_back = step(lambda v: jnp.fft.ifft(v, axis=0), split_y, "x k w -> l k w")
    planes_back = step(lambda v: jnp.fft.irfft2(v, (n, n)), split_x, "x k w -> x y z")
    pin = jax.lax.with_sharding_constraint
    there = jax.jit(lambda v: pin(lines(pin(pin(planes(v), split_x), split_y)), split_y))
    back = jax.jit(lambda v: pin(planes_back(pin(pin(lines_back(v), split_y), split_x)), split_x))
    return there, back, u


OTHERS = {"jaxdecomp": _jaxdecomp, "jnp": _jnp, "two-step": _two_step}


def table(sizes: list[int], rounds: int, repeats: int) -> str:
    """Everything, in turn."""
    text = ""
    for n in sizes:
        programs = [
            ours("full"),
            ours("pruned"),
            ours("shard_map"),
            Program(BASE, two_ranks("fft_mpi4py.py"), ("mpi4py_fft",)),
            Program("pyFFTW, 2 threads", [*peer("fft_threads.py"), "pyfftw"], ("pyfftw",)),
            Program("scipy.fft, 2 workers", [*peer("fft_threads.py"), "scipy"], ("scipy",)),
            ours("jaxdecomp"),
            ours("two-step"),
            ours("jnp"),
        ]
        alternate(programs, rounds, [str(n), str(repeats)])
        text += f"\n## {n}³\n\n" + columns(programs, {"forward": "forward", "inverse": "inverse"}, (BASE, ""))
    about = (
        f"`python benchmarks/fft.py --sizes {' '.join(map(str, sizes))} --rounds {rounds} --repeats {repeats}` on "
        f"{time.strftime('%Y-%m-%d')}; {machine()}. float64, one field, two devices, ranks or threads. Medians of "
        f"{rounds} processes each (smallest–largest), each the median of {repeats} calls, programs alternating. Ratios "
        f"are to {BASE}, all modes. slabwave and the other JAX programs keep freed memory "
        "(`solver.cluster.keep_freed_memory`)."
    )
    return f"# One real transform, beside other libraries\n\n{about}\n{text}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(child(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
        sys.exit()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[128, 256])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    result = table(options.sizes, options.rounds, options.repeats)
    print(result)
    if options.write:
        options.write.write_text(result, encoding="utf-8")
