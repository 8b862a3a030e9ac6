"""How the tests have XLA compile: soon rather than well."""

import mmap
from collections.abc import MutableMapping
from pathlib import Path

import jaxlib

# without the fusion emitters, LLVM has 0.6 times as much to do
FAST = {"xla_backend_optimization_level": "0", "xla_cpu_use_fusion_emitters": "false"}


def compile_fast(environment: MutableMapping[str, str]) -> None:
    """Add to XLA_FLAGS what of `FAST` it does not set. Before JAX starts."""
    given = environment.get("XLA_FLAGS", "")
    added = [f"--{name}={value}" for name, value in FAST.items() if f"--{name}" not in given and _is_known(name)]
    environment["XLA_FLAGS"] = " ".join([*given.split(), *added])


def _is_known(flag: str) -> bool:
    """Whether this jaxlib has the flag: XLA ends the process at one that it does not know."""
    for library in Path(jaxlib.__file__).parent.glob("*.so"):
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            if text.find(flag.encode()) >= 0:
                return True
    return False
