"""Starts processes quickly: everything is imported once, and each is a fork of that process, before JAX has devices.

As a script it serves orders from standard input, one line of JSON each: start a process, or say whether it has ended.
In a run, calls of the operating system that write can be counted, and one of them made to fail or to be the last thing
it does. What depends on imports, or on variables that JAX reads at its import, needs a process of its own.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from compilation import trace_fast
from scratch import scratch

ROOT = Path(__file__).parents[1]
WRITING = ("pwrite", "fsync", "replace", "ftruncate")  # of the module os
IMPORTED = ("JAX_NUM_CPU_DEVICES",)  # variables that a test sets for itself, and that JAX reads at its import


@dataclass
class Process:
    """A process that was forked; what tests use of `subprocess.Popen`."""

    zygote: Zygote
    pid: int
    out: Path
    error: Path
    returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, negative the signal that killed it; None while it runs."""
        if self.returncode is None:
            self.returncode = self.zygote.ask({"poll": self.pid})
        return self.returncode

    def wait(self, timeout: float) -> int:
        """Its exit code.

        Raises:
            subprocess.TimeoutExpired: it still runs.
        """
        deadline = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
            time.sleep(0.01)
        return self.returncode

    def communicate(self, timeout: float) -> tuple[str, str]:
        """Wait for its end; what it printed."""
        self.wait(timeout)
        return self.out.read_text(errors="replace"), self.error.read_text(errors="replace")

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@dataclass
class Zygote:
    """Forks processes; `with Zygote() as zygote`."""

    server: Any = field(default=None)

    def __enter__(self) -> Zygote:
        clean = {k: v for k, v in os.environ.items() if k not in IMPORTED}
        self.server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**clean, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        return self

    def __exit__(self, *error: object) -> None:
        self.server.stdin.close()
        self.server.wait(timeout=60)
        self.server.stdout.close()

    def start(
        self, words: list[str], out: Path | None = None, error: Path | None = None, *, script: str = "",
        environment: dict[str, str] | None = None, folder: Path | None = None, **inject: Any,
    ) -> Process:  # fmt: skip
        """Start `slabwave`, or Python's `-c script`, with these words.

        Args:
            words: the command line.
            out: file for standard output, a temporary one by default.
            error: file for standard error, by default that for standard output if it is given.
            script: Python to execute in place of the command.
            environment: variables beside those of this process.
            folder: working directory.
            inject: `at`: number of a writing call, from 1; `do`: `kill` or the name of an error such as `ENOSPC`;
                `when`: `before`, `within` or `after` it; `code`: Python to execute first.
        """
        if out is None:
            out, error = (scratch("fork") / name for name in ("out", "error"))
        error = error or out
        variables = {k: v for k, v in {**os.environ, **(environment or {})}.items() if k not in IMPORTED}
        order = {
            "words": list(map(str, words)), "out": str(out), "error": str(error), "script": script, "inject": inject,
            "environment": {**variables, "PYTHONPATH": str(ROOT)}, "folder": str(folder or os.getcwd()),
        }  # fmt: skip
        return Process(self, self.ask(order), out, error)

    def ask(self, order: dict[str, Any]) -> Any:
        self.server.stdin.write(json.dumps(order) + "\n")
        self.server.stdin.flush()
        return json.loads(self.server.stdout.readline())


@cache
def zygote() -> Zygote:
    """The one of this process of tests; it ends with it."""
    made = Zygote().__enter__()
    atexit.register(made.__exit__)
    return made


def slabwave(*words: object, timeout: float = 240, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    process = zygote().start(list(map(str, words)), **options)
    out, error = process.communicate(timeout)
    return subprocess.CompletedProcess(words, process.returncode, out, error)


# ---- in the forked process ----------------------------------------------------------------------------------------


def inject_fault(counts: Path, at: int = 0, do: str = "kill", when: str = "before", code: str = "") -> None:
    """Count the calls that write; at number `at` do what is asked. The count is left in a file."""
    import errno

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


def _child(order: dict[str, Any]) -> int:
    """Be the process that is asked for; returns its exit code."""
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "out"), (2, "error")):
        os.dup2(os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC, 0o644), number)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
    sys.argv = ["-c" if order["script"] else "slabwave", *order["words"]]
    if order["inject"]:
        inject_fault(Path(order["error"] + ".calls"), **order["inject"])
    import solver.cluster.roll_call
    import solver.cluster.time_limit
    from solver.cli.main import entry

    # what a process draws or reads when it imports a file
    solver.cluster.time_limit.STARTED = time.time()
    solver.cluster.roll_call._TOKEN = secrets.token_hex(8)
    code: Any = 0
    try:
        if order["script"]:
            exec(compile(order["script"], "<string>", "exec"), {"__name__": "__main__"})
        else:
            entry()
    except SystemExit as leaving:
        code = leaving.code
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # as Python does at its end: wait for threads, and carry out what was to be done
    atexit._run_exitfuncs()
    sys.stdout.flush()
    return int(code or 0)


def _poll(pid: int, ended: dict[int, int]) -> int | None:
    if pid not in ended:
        done, status = os.waitpid(pid, os.WNOHANG)
        if not done:
            return None
        ended[pid] = os.waitstatus_to_exitcode(status)
    return ended[pid]


def _serve() -> None:
    from solver.assemble.classes import BASES, built_in
    from solver.cli.arguments import command
    from solver.stop import remember_signals

    for name in ("check", "doctor", "info", "resume", "run", "tune", "verify"):
        command(name)
    remember_signals()  # each run inherits it: one that is signalled before it has executed a line remembers it, too
    for kind in BASES:
        built_in(kind)
    trace_fast()
    gc.freeze()  # what is imported stays
    ended: dict[int, int] = {}
    for line in sys.stdin:
        order = json.loads(line)
        if "poll" in order:
            print(json.dumps(_poll(order["poll"], ended)), flush=True)
            continue
        pid = os.fork()
        if pid == 0:
            code = 99
            try:
                code = _child(order)
            finally:
                os._exit(code)
        print(pid, flush=True)


if __name__ == "__main__":
    _serve()
