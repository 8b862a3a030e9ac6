"""Runs that meet a fault, continue, and must end as if nothing had happened."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from helpers import last_of_each, read_checkpoint
from zygote import ROOT, Process, Zygote

from solver.cli.main import main
from solver.cluster.addresses import free_port
from solver.io import own_rows

STEPS = 40
CASE = [
    str(ROOT / "runs" / "taylor_green.toml"), "grid.shape=[16,12,8]", f"time.end={STEPS / 100}", "devices.virtual=2",
    "output.series.every_steps=5", "output.spectra.every_time=0.1", "output.snapshots.every_time=0.1",
    "output.checkpoints={every_steps=5,keep=2}",
]  # fmt: skip


@dataclass
class Campaign:
    """One undisturbed run, and others to compare with it.

    Args:
        zygote: which starts runs.
        folder: for their directories.
        processes: of each run.
        words: the run file and its overrides.
    """

    zygote: Zygote
    folder: Path
    processes: int = 1
    words: tuple[str, ...] = tuple(CASE)

    def start(self, directory: Path, *more: str, process: int = 0, **inject: Any) -> list[Process]:
        """Start, or continue, a run in a directory; `process` is the number of the one to inject something into."""
        words = last_of_each(["run", *self.words, f"output.directory={directory}", "--resume", *more])
        if self.processes > 1:
            words += ["--coordinator", f"127.0.0.1:{free_port()}", "--processes", str(self.processes)]
        started = []
        for i in range(self.processes):
            mine = [*words, "--process", str(i)] if self.processes > 1 else words
            said = self.folder / f"{directory.name}.error.{i}"
            told = inject if i == process and inject else {"at": 0}
            started.append(self.zygote.start(mine, said, environment={"XLA_FLAGS": ""}, **told))
        return started

    def run(self, directory: Path, *more: str, timeout: float = 120, **inject: Any) -> list[int]:
        """The exit codes of a run."""
        return [self.wait(process, timeout) for process in self.start(directory, *more, **inject)]

    def wait(self, process: Process, timeout: float = 120) -> int:
        """The exit code of a process; none that a process has, if it had to be ended."""
        try:
            return process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout)
            return 1000

    def said(self, directory: Path) -> str:
        """What the processes of the last run in a directory printed."""
        files = sorted(self.folder.glob(f"{directory.name}.error.*"))
        return "".join(path.read_text(errors="replace") for path in files if path.suffix != ".calls")

    def calls(self, directory: Path) -> list[int]:
        """How many writing calls each process of the last run made."""
        return [int(path.read_text()) for path in sorted(self.folder.glob(f"{directory.name}.error.*.calls"))]

    def reference(self) -> Path:
        """The undisturbed run's directory; carried out at the first call."""
        directory = self.folder / "whole"
        if not directory.exists():
            # the first run of all writes the programs that it compiles, and so makes more calls than any other
            self.run(self.folder / "first")
            self.clear(self.folder / "first")
            codes = self.run(directory)
            assert codes == [0] * self.processes, self.said(directory)
        return directory

    def assert_sound(self, directory: Path) -> None:
        """Everything finished is whole, and nothing half written has a name of its own."""
        if (directory / "config.toml").exists():
            assert main(["verify", str(directory)]) == 0
            halves = [path for path in directory.rglob("*.partial")]
            assert not [path for path in halves if not path.name.startswith(".")]

    def assert_as_undisturbed(self, directory: Path) -> None:
        """Same bits in the last checkpoint, the series and the spectra; the same snapshots; nothing left over."""
        whole = self.reference()
        last = f"checkpoints/step-{STEPS:08d}"
        (a, told_a), (b, told_b) = read_checkpoint(directory / last), read_checkpoint(whole / last)
        assert a.keys() == b.keys()
        for name in a:
            np.testing.assert_array_equal(a[name], b[name])
        assert told_a["values"] == told_b["values"]
        assert (directory / "series.csv").read_text() == (whole / "series.csv").read_text()
        rows = [own_rows(where / "spectra.h5").table().rows for where in (directory, whole)]
        assert [row.step for row in rows[0]] == [row.step for row in rows[1]]
        for mine, theirs in zip(*rows, strict=True):
            for name, values in mine.values.items():
                np.testing.assert_array_equal(values, theirs.values[name])
        for path in sorted(whole.glob("snapshots/*.h5")):
            with h5py.File(path) as there, h5py.File(directory / "snapshots" / path.name) as here:
                np.testing.assert_array_equal(here["velocity"][:], there["velocity"][:])
        names = lambda where: sorted(path.name for path in where.rglob("*") if path.name != "stop")  # noqa: E731
        assert names(directory) == names(whole)
        assert main(["verify", str(directory)]) == 0

    def clear(self, directory: Path) -> None:
        """Remove a run's directory."""
        shutil.rmtree(directory, ignore_errors=True)
