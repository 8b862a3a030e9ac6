"""Starts runs quickly: everything is imported once, and each run is a fork of that process, before JAX has devices.

As a script it serves orders from standard input, one line of JSON each: start a run, or wait for it. In a run, calls
of the operating system that write can be counted, and one of them made to fail or to be the last thing it does.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
WRITING = ("pwrite", "fsync", "replace", "ftruncate")  # of the module os


@dataclass
class Zygote:
    """Forks runs; `with Zygote() as zygote`."""

    server: Any = field(default=None)

    def __enter__(self) -> Zygote:
        clean = {k: v for k, v in os.environ.items() if k not in ("JAX_NUM_CPU_DEVICES", "XLA_FLAGS")}
        self.server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**clean, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        return self

    def __exit__(self, *error: object) -> None:
        self.server.stdin.close()
        self.server.wait(timeout=60)
        self.server.stdout.close()

    def start(self, words: list[str], error: Path, **inject: Any) -> int:
        """Start `slabwave` with these words; returns the process's number.

        Args:
            words: the command line.
            error: file for standard output and error.
            inject: `at`: number of a writing call, from 1; `do`: `kill` or the name of an error such as `ENOSPC`;
                `when`: `before`, `within` or `after` it; `code`: Python to execute first.
        """
        return int(self._ask({"words": words, "error": str(error), "inject": inject}))

    def wait(self, pid: int, timeout: float = 120) -> int:
        """Its exit code, negative the signal that killed it."""
        return int(self._ask({"wait": pid, "timeout": timeout}))

    def run(self, words: list[str], error: Path, **inject: Any) -> int:
        """Start one and wait for it."""
        return self.wait(self.start(words, error, **inject))

    def _ask(self, order: dict[str, Any]) -> str:
        self.server.stdin.write(json.dumps(order) + "\n")
        self.server.stdin.flush()
        return str(self.server.stdout.readline())


def together(zygote: Zygote, words: list[str], error: Path, port: int, processes: int = 2, **inject: Any) -> list[int]:
    """Start several processes of one run; `process` in `inject` says which one it is for. Returns their numbers."""
    victim = inject.pop("process", 0)
    address = ["--coordinator", f"127.0.0.1:{port}", "--processes", str(processes)]
    each = [[*words, *address, "--process", str(i)] for i in range(processes)]
    return [zygote.start(mine, Path(f"{error}.{i}"), **(inject if i == victim else {})) for i, mine in enumerate(each)]


# ---- in the forked process ----------------------------------------------------------------------------------------


def inject_fault(counts: Path, at: int = 0, do: str = "kill", when: str = "before", code: str = "") -> None:
    """Count the calls that write; at number `at` do what is asked. The count is left in a file."""
    import errno
    import threading

    exec(code, {})
    seen, lock = [0], threading.Lock()  # the run and the thread that writes its checkpoints both count

    def wrapped(name: str) -> Any:
        original = getattr(os, name)

        def call(*arguments: Any, **options: Any) -> Any:
            with lock:
                seen[0] += 1
                number = seen[0]
                counts.write_text(str(number))
            if number != at:
                return original(*arguments, **options)
            if do != "kill":
                raise OSError(getattr(errno, do), os.strerror(getattr(errno, do)))
            if when == "after":
                original(*arguments, **options)
            if when == "within" and name == "pwrite":
                data = bytes(arguments[1])
                original(arguments[0], data[: len(data) // 2], arguments[2])
            os.kill(os.getpid(), signal.SIGKILL)

        return call

    for name in WRITING:
        setattr(os, name, wrapped(name))


def _child(order: dict[str, Any]) -> None:
    out = os.open(order["error"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(out, 2)
    sys.stdout = os.fdopen(1, "w")
    sys.argv = ["slabwave", *order["words"]]
    inject_fault(Path(order["error"] + ".calls"), **order["inject"])
    import solver.cluster.time_limit
    from solver.cli.main import entry

    solver.cluster.time_limit.STARTED = time.time()
    try:
        entry()
    except SystemExit as leaving:
        atexit._run_exitfuncs()
        os._exit(int(leaving.code or 0))


def _wait(pid: int, timeout: float) -> int:
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return 1000  # no exit code: it had to be ended


def _serve() -> None:
    from solver.assemble.classes import BASES, built_in
    from solver.stop import remember_signals

    remember_signals()  # each run inherits it: one that is signalled before it has executed a line remembers it, too
    for kind in BASES:
        built_in(kind)
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            print(_wait(order["wait"], order["timeout"]), flush=True)
            continue
        pid = os.fork()
        if pid == 0:
            try:
                _child(order)
            finally:
                os._exit(99)
        print(pid, flush=True)


if __name__ == "__main__":
    _serve()
