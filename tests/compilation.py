"""How the tests have XLA compile: soon rather than well."""

from collections.abc import MutableMapping

import jaxlib

FAST = {"xla_backend_optimization_level": "0"}
if jaxlib.__version__.startswith("0.10."):  # later ones end the process at this flag
    # without the fusion emitters, LLVM has 0.6 times as much to do
    FAST["xla_cpu_use_fusion_emitters"] = "false"


def compile_fast(environment: MutableMapping[str, str]) -> None:
    """Add to XLA_FLAGS what of `FAST` it does not set. Before JAX starts."""
    given = environment.get("XLA_FLAGS", "")
    added = [f"--{name}={value}" for name, value in FAST.items() if f"--{name}" not in given]
    environment["XLA_FLAGS"] = " ".join([*given.split(), *added])
