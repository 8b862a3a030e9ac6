"""A private Slurm on this machine: a real slurmctld and a real slurmd per node, on loopback, without systemd.

Each slurmd lives in its own UTS and mount namespace, so that nodes have host names of their own, and /etc/hosts there
sends all of them to 127.0.0.1: an srun inside a job listens on the address of its host's name, and slurmd calls back
from 127.0.0.1. Needs root; every file lies in one folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "srun", "sbatch", "munged", "unshare")
START_SECONDS = 30
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def what_is_missing() -> str | None:
    """Why no Slurm can be started here; None if it can."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=SYSTEM_PATH) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (Debian: slurmctld slurmd slurm-client munge)"
    if os.geteuid() != 0:
        return "starting slurmd needs root"
    if subprocess.run(["unshare", "--uts", "--mount", "true"], capture_output=True).returncode:
        return "namespaces are not allowed here (unshare --uts --mount)"
    return None


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


@dataclass
class LocalSlurm:
    """Start with `start()`, stop with `stop()`; `environment` is what `sbatch` and `srun` need."""

    nodes: int = 2
    cpus: int = 4
    gpus: int = 0  # of a node: allocated and counted, but not there
    # not in pytest's own folder: munge insists that everyone may enter the folders above its socket
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="slabwave-slurm-")))
    daemons: dict[str, subprocess.Popen] = field(default_factory=dict)

    @property
    def configuration(self) -> Path:
        return self.folder / "slurm.conf"

    @property
    def environment(self) -> dict[str, str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "JAX_", "XLA_"))}
        return {**clean, "SLURM_CONF": str(self.configuration)}

    def start(self) -> None:
        for name in ("state", "spool", "log"):
            (self.folder / name).mkdir(parents=True)
        self._start_munge()
        controller, *ports = free_ports(1 + self.nodes)
        self.configuration.write_text(self._settings(controller, ports))
        if self.gpus:
            # NVIDIA's devices are named by File; any files will do to be counted
            for i in range(self.gpus):
                (self.folder / f"gpu{i}").touch()
            files = f"{self.folder}/gpu[0-{self.gpus - 1}]" if self.gpus > 1 else f"{self.folder}/gpu0"
            (self.folder / "gres.conf").write_text(f"NodeName=n[1-{self.nodes}] Name=gpu File={files}\n")
        names = "".join(f"127.0.0.1 n{i + 1}\n" for i in range(self.nodes))
        (self.folder / "hosts").write_text(Path("/etc/hosts").read_text() + names)
        self._spawn(["slurmctld", "-D", "-i", "-f", str(self.configuration)], "slurmctld")
        for i in range(self.nodes):
            self._start_node(f"n{i + 1}")
        self._wait_until_idle()

    def _start_munge(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        self.folder.chmod(0o755)
        places = {"socket": "munge.socket", "pid-file": "munge.pid", "log-file": "munge.log", "seed-file": "munge.seed"}
        arguments = [f"--{option}={self.folder / name}" for option, name in places.items()]
        self._spawn(["munged", "--foreground", f"--key-file={key}", "--num-threads=2", *arguments], "munged")
        deadline = time.monotonic() + START_SECONDS
        while not (self.folder / "munge.socket").exists():
            if time.monotonic() > deadline:
                raise RuntimeError(f"munged did not start: {(self.folder / 'log' / 'munged').read_text()}")
            time.sleep(0.05)

    def _settings(self, controller: int, ports: list[int]) -> str:
        folder = self.folder
        settings = {
            "ClusterName": "test",
            "SlurmctldHost": f"{socket.gethostname().split('.')[0]}(127.0.0.1)",
            "SlurmctldPort": controller,
            "AuthType": "auth/munge",
            "CredType": "cred/munge",
            # a requeued job is held back as long as credentials live: 120 s unless told otherwise
            "AuthInfo": f"socket={folder / 'munge.socket'},cred_expire=5",
            "SlurmUser": "root",
            "SlurmdUser": "root",
            "StateSaveLocation": folder / "state",
            "SlurmdSpoolDir": folder / "spool" / "%n",
            "SlurmctldPidFile": folder / "slurmctld.pid",
            "SlurmdPidFile": folder / "slurmd.%n.pid",
            "SlurmctldLogFile": folder / "log" / "slurmctld.log",
            "SlurmdLogFile": folder / "log" / "slurmd.%n.log",
            "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none",
            "JobAcctGatherType": "jobacct_gather/none",
            "AccountingStorageType": "accounting_storage/none",
            "SwitchType": "switch/none",
            "MpiDefault": "none",
            "MailProg": "/bin/true",
            "CommunicationParameters": "NoInAddrAny,NoCtldInAddrAny",
            # more CPUs are offered than the machine has
            "SlurmdParameters": "config_overrides",
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_CPU",
            "SchedulerParameters": "batch_sched_delay=0,sched_interval=1,bf_interval=1",
            "ReturnToService": 2,
            "GresTypes": "gpu",
            "KillWait": 5,
        }
        lines = [f"{key}={value}" for key, value in settings.items()]
        for i, port in enumerate(ports):
            gres = f"Gres=gpu:{self.gpus} " if self.gpus else ""
            lines.append(f"NodeName=n{i + 1} NodeAddr=127.0.0.1 Port={port} CPUs={self.cpus} {gres}State=UNKNOWN")
        lines.append(f"PartitionName=test Nodes=n[1-{self.nodes}] Default=YES MaxTime=INFINITE State=UP")
        return "\n".join(lines) + "\n"

    def _start_node(self, name: str) -> None:
        (self.folder / "spool" / name).mkdir()
        inside = (
            f"hostname {name} && mount --bind {self.folder / 'hosts'} /etc/hosts && "
            f"exec slurmd -D -N {name} -f {self.configuration}"
        )
        self._spawn(["unshare", "--uts", "--mount", "--propagation", "slave", "sh", "-c", inside], f"slurmd-{name}")

    def _spawn(self, command: list[str], name: str) -> None:
        """A daemon in the foreground, with a clean environment that jobs may inherit."""
        environment = {"PATH": SYSTEM_PATH, "HOME": str(Path.home()), "SLURM_CONF": str(self.configuration)}
        with (self.folder / "log" / name).open("w") as log:
            daemon = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True
            )
        self.daemons[name] = daemon

    def _wait_until_idle(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            states = self.run("sinfo", "-h", "-N", "-o", "%t").stdout.split()
            if states == ["idle"] * self.nodes:
                return
            time.sleep(0.1)
        logs = "\n".join(f"== {p.name}\n{p.read_text()[-1500:]}" for p in sorted((self.folder / "log").iterdir()))
        raise RuntimeError(f"the nodes did not become idle: {states}\n{logs}")

    def run(
        self, *command: str, timeout: float = 60, also: Mapping[str, str] | None = None, **options: object
    ) -> subprocess.CompletedProcess[str]:
        """A Slurm command, with some more environment variables."""
        env = {**self.environment, **(also or {})}
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=timeout, **options)

    def submit(self, *arguments: str, cwd: Path) -> str:
        """`sbatch`; returns the job's number."""
        done = self.run("sbatch", "--parsable", *arguments, cwd=cwd)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def state(self, job: str) -> dict[str, str]:
        """`scontrol show job` as a table."""
        text = self.run("scontrol", "show", "job", job).stdout
        return dict(pair.split("=", 1) for pair in text.split() if "=" in pair)

    def wait(self, job: str, states: tuple[str, ...], timeout: float = 240) -> dict[str, str]:
        """Until the job is in one of the states."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            now = self.state(job)
            if now.get("JobState") in states:
                return now
            time.sleep(0.2)
        raise AssertionError(f"job {job} is {now.get('JobState')} ({now.get('Reason')}) after {timeout} s")

    def stop(self) -> None:
        """End jobs, then daemons, by process."""
        controller = self.daemons.get("slurmctld")
        if controller is not None and controller.poll() is None:
            jobs = self.run("squeue", "-h", "-o", "%A").stdout.split()
            if jobs:
                self.run("scancel", "-f", "-s", "KILL", *jobs)
                self.run("scancel", *jobs)
                time.sleep(1)
            self.run("scontrol", "shutdown")
        for daemon in reversed(self.daemons.values()):
            try:
                daemon.wait(timeout=5 if daemon is not self.daemons["munged"] else 0.1)
            except subprocess.TimeoutExpired:
                os.killpg(daemon.pid, signal.SIGTERM)
                daemon.wait(timeout=10)
        shutil.rmtree(self.folder, ignore_errors=True)
