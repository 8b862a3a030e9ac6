"""How the tests have XLA compile: soon rather than well, and nothing twice that an earlier session has compiled."""

import contextlib
import gc
import os
import shutil
from collections.abc import MutableMapping
from pathlib import Path

import jaxlib
from jax._src.compilation_cache import decompress_executable

FAST = {
    "xla_backend_optimization_level": "0",
    "xla_cpu_parallel_codegen_split_count": "1",  # parts of a program compiled at a time: workers have the other cores
}
if jaxlib.__version__.startswith("0.10."):  # later ones end the process at this flag
    # without the fusion emitters, LLVM has 0.6 times as much to do
    FAST["xla_cpu_use_fusion_emitters"] = "false"
KEPT = Path(__file__).parents[1] / ".programs"  # `make clean` removes it
MOST_BYTES = 1 << 30  # of it; jax_compilation_cache_max_size needs a package more, and no process killed as it writes


def compile_fast(environment: MutableMapping[str, str]) -> None:
    """Add to XLA_FLAGS what of `FAST` it does not set. Before JAX starts."""
    given = environment.get("XLA_FLAGS", "")
    added = [f"--{name}={value}" for name, value in FAST.items() if f"--{name}" not in given]
    environment["XLA_FLAGS"] = " ".join([*given.split(), *added])


def trace_fast() -> None:
    """Traces are many small objects that live long: looking for cycles among them takes a seventh of the time."""
    gc.set_threshold(100_000, 50, 100)


def lend_programs(folder: Path, kept: Path = KEPT) -> None:
    """Link the programs of earlier sessions into the folder of this one.

    All workers of a session and the runs that they start write there, and some of them are killed as they do.
    """
    for path in _programs(kept):
        there = folder / path.relative_to(kept)
        there.parent.mkdir(parents=True, exist_ok=True)
        _link(path, there)


def keep_programs(folder: Path, kept: Path = KEPT, most_bytes: int = MOST_BYTES) -> None:
    """Keep the new programs of a session that are whole, and of all the ones last used, up to a number of bytes."""
    for path in _programs(folder):
        there = kept / path.relative_to(folder)
        if not there.exists() and _is_whole(path):
            there.parent.mkdir(parents=True, exist_ok=True)
            _link(path, there)
    total = 0
    for path in sorted(_programs(kept), key=lambda path: path.stat().st_atime, reverse=True):
        total += path.stat().st_size
        if total > most_bytes:
            path.unlink(missing_ok=True)


def _programs(folder: Path) -> list[Path]:
    return list(folder.glob("slabwave/programs-*/*-cache"))


def _is_whole(path: Path) -> bool:
    """True if all of a program is there, by the checksum of what packs it."""
    try:
        decompress_executable(path.read_bytes())
    except Exception:
        return False
    return True


def _link(path: Path, there: Path) -> None:
    """A second name of a file, or a copy on another file system; another session may do the same, or trim."""
    partial = there.with_name(f".{there.name}.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        try:
            os.link(path, partial)
        except OSError:
            shutil.copy2(path, partial)
        os.replace(partial, there)
