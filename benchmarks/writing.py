"""How long a run is held up by a checkpoint and by a snapshot: this checkout against another one.

    python benchmarks/writing.py --before CHECKOUT [--points 160] [--rounds 5] [--folder DIR]

Whole processes in turn: without output, with checkpoints, with snapshots, of either checkout. What an output costs is
the difference to the run without, over the number of outputs. Prints a table for benchmarks/writing.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
STEPS, EVERY = 24, 4
KINDS = {
    "none": "{series=false, spectra=false, snapshots=false, checkpoints={keep=1}}",
    "checkpoints": f"{{series=false, spectra=false, snapshots=false, checkpoints={{every_steps={EVERY}, keep=1}}}}",
    "snapshots": f"{{series=false, spectra=false, snapshots={{every_steps={EVERY}}}, checkpoints={{keep=1}}}}",
}


def seconds(checkout: Path, kind: str, points: int, folder: Path) -> float:
    """Wall time of one run."""
    directory = folder / "run"
    shutil.rmtree(directory, ignore_errors=True)
    words = [
        sys.executable, "-m", "solver", "run", str(ROOT / "runs" / "taylor_green.toml"),
        f"grid.shape=[{points},{points},{points}]", f"time.end={STEPS / 1000}", "time.step=0.001",
        f"output={KINDS[kind]}", f"output.directory={directory}",
    ]  # fmt: skip
    began = time.monotonic()
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    subprocess.run(words, cwd=checkout, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--points", type=int, default=160)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    asked = parser.parse_args()
    checkouts = {"before": asked.before.resolve(), "now": ROOT}
    times: dict[tuple[str, str], list[float]] = {}
    for round_ in range(asked.rounds + 1):
        for kind in KINDS:
            for name, checkout in checkouts.items():
                took = seconds(checkout, kind, asked.points, asked.folder)
                if round_:  # the first compiles
                    times.setdefault((name, kind), []).append(took)
    print(f"{asked.points}³, {STEPS} steps, an output every {EVERY}, {asked.rounds} rounds\n")
    print("| | run without output | held up by a checkpoint | by a snapshot |\n|---|---|---|---|")
    for name in checkouts:
        median = {kind: statistics.median(times[name, kind]) for kind in KINDS}
        held = {kind: (median[kind] - median["none"]) / (STEPS // EVERY) for kind in KINDS}
        print(f"| {name} | {median['none']:.2f} s | {held['checkpoints']:.3f} s | {held['snapshots']:.3f} s |")


if __name__ == "__main__":
    main()
