"""Decisions that processes must take alike: all of a job, or one group where groups do different work."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import jax
import numpy as np
from jax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec

from solver.cluster.service import PATIENCE, service_client


class Disagreement(RuntimeError):
    """Processes of one job were given different things to do."""


class FailedElsewhere(RuntimeError):
    """Another process of the job failed, and prints the reason itself."""


@dataclass(frozen=True)
class Group:
    """Processes that take decisions alike.

    Args:
        name: unique among the groups of a job.
        processes: their indices, in their order.
    """

    name: str
    processes: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of the processes."""
        return len(self.processes)

    @property
    def place(self) -> int:
        """Index of this process among them."""
        return self.processes.index(jax.process_index())


_groups: list[Group] = []  # the innermost context of `in_group` comes last


def own_group() -> Group:
    """The processes that take decisions together with this one: all of the job, except in a context of `in_group`."""
    return _groups[-1] if _groups else Group("job", tuple(range(jax.process_count())))


@contextmanager
def in_group(group: Group) -> Iterator[None]:
    """In the context, in every thread, this process decides with the processes of its own group alone.

    Everything here means that group then: `is_first`, `largest`, `require_same`, `Agreement`.
    """
    if jax.process_index() not in group.processes:
        raise ValueError(f"process {jax.process_index()} is not in the group {group.name} of {list(group.processes)}")
    _groups.append(group)
    try:
        yield
    finally:
        _groups.pop()


@contextmanager
def in_group_of(mesh: Mesh | AbstractMesh) -> Iterator[None]:
    """In the context this process decides with those alone that have devices of a mesh, as `in_group` says."""
    if not isinstance(mesh, Mesh) or processes_of(mesh) == own_group().processes:
        yield
        return
    with in_group(Group(name_of_devices(mesh), processes_of(mesh))):
        yield


def processes_of(mesh: Mesh) -> tuple[int, ...]:
    """The processes that have devices of a mesh, in their order."""
    return tuple(sorted({device.process_index for device in mesh.devices.flat}))


def name_of_devices(mesh: Mesh) -> str:
    """The same name in every process for a mesh, and another for each other list of devices."""
    devices = repr([device.id for device in mesh.devices.flat])
    return hashlib.sha256(devices.encode()).hexdigest()[:16]


def is_first() -> bool:
    """True on the first process, which writes everything that is written once."""
    return own_group().place == 0


def largest(values: Sequence[float]) -> list[float]:
    """For each entry the largest value over the processes. One small collective: each of them must call it."""
    everyone = _gathered(np.asarray(values, np.float64))
    return [float(v) for v in np.max(everyone, axis=0)]


def _gathered(values: np.ndarray) -> np.ndarray:
    """The arrays of the processes, one for each, in their order. One small collective."""
    group = own_group()
    if group.size == 1:
        return values[None]
    mesh = _devices_of_each(group)
    split = NamedSharding(mesh, PartitionSpec("process"))
    as_bytes = np.ascontiguousarray(values).view(np.uint8)[None]  # exact also where JAX has no double precision
    own = [jax.device_put(as_bytes, device) for device in mesh.local_devices]
    whole = jax.make_array_from_single_device_arrays((group.size, *as_bytes.shape[1:]), split, own)
    everyone = np.asarray(_copy_to_all(mesh)(whole).addressable_data(0))
    return np.ascontiguousarray(everyone).view(values.dtype)


@cache
def _devices_of_each(group: Group) -> Mesh:
    """As many devices of each process, all if they have as many: those that work together anyway."""
    by_process: dict[int, list[jax.Device]] = {process: [] for process in group.processes}
    for device in jax.devices():
        if device.process_index in by_process:
            by_process[device.process_index].append(device)
    each = min(map(len, by_process.values()))
    return Mesh(np.array([devices[:each] for devices in by_process.values()]), ("process", "device"))


@cache
def _copy_to_all(mesh: Mesh) -> Any:
    return jax.jit(lambda values: values, out_shardings=NamedSharding(mesh, PartitionSpec()))


def any_process(flag: bool) -> bool:
    """True if the flag is set on any of the processes."""
    return largest([float(flag)])[0] > 0


def require_same(text: str, what: str) -> None:
    """Check that each of the processes holds the same text.

    Raises:
        Disagreement: names the first line that differs from the first process's.
    """
    if own_group().size == 1:
        return
    mine = np.frombuffer(text.encode(), np.uint8)
    length = int(largest([len(mine)])[0])
    padded: np.ndarray = np.zeros(length, np.uint8)
    padded[: len(mine)] = mine
    texts = [bytes(row).rstrip(b"\0").decode() for row in _gathered(padded)]
    for process, other in zip(own_group().processes, texts, strict=True):
        if other != texts[0]:
            raise Disagreement(
                f"process {process} was given another {what} than process {own_group().processes[0]}: "
                f"{_differs(texts[0], other)}"
            )


def _differs(first: str, other: str) -> str:
    for a, b in zip(first.splitlines(), other.splitlines(), strict=False):
        if a != b:
            return f"{b!r} instead of {a!r}"
    return "one is longer"


class Agreement:
    """Processes wait for each other through the coordination service. Any thread may, since no device takes part.

    Each of them calls the same methods in the same order.

    Args:
        name: unique to the thread that uses it.
    """

    _rounds: ClassVar[Counter[str]] = Counter()  # of each name, since a key of the service can be used once

    def __init__(self, name: str) -> None:
        self.name = name

    @contextmanager
    def together(self) -> Iterator[None]:
        """If the block fails on one process, it fails on all. No process continues before all have left the block.

        Raises:
            FailedElsewhere: on the processes on which the block itself did not fail.
        """
        failure: Exception | None = None
        try:
            yield
        except Exception as error:
            failure = error
        elsewhere = self._first_failure(failure)
        if failure is not None:
            raise failure
        if elsewhere is not None:
            raise FailedElsewhere(elsewhere)

    def barrier(self) -> None:
        """Wait until each of the processes has come here."""
        client, round_ = service_client(), self._next_round()
        if client is not None and own_group().size > 1:
            client.wait_at_barrier(round_, PATIENCE, process_ids=list(own_group().processes))

    def gather(self, text: str, seconds: float) -> list[str]:
        """The texts of the processes, in their order, on the first process; an empty list on the others.

        Raises:
            TimeoutError: names the first process whose text did not come within `seconds`.
        """
        client, round_ = service_client(), self._next_round()
        if client is None:
            return [text]
        if not is_first():
            client.key_value_set(f"{round_}/{jax.process_index()}", text)
            return []
        others = [self._wait_for(client, round_, process, seconds) for process in own_group().processes[1:]]
        return [text, *others]

    def tell(self, text: str, seconds: float = PATIENCE / 1000) -> str:
        """Send the first process's text to the others: what each reads for itself, say in a directory, may be older.

        Raises:
            TimeoutError: it did not come within `seconds`.
        """
        client, round_ = service_client(), self._next_round()
        if client is None:
            return text
        first = own_group().processes[0]
        if not is_first():
            return self._wait_for(client, round_, first, seconds, delete=False)
        client.key_value_set(f"{round_}/{first}", text)
        return text

    def _wait_for(self, client: Any, round_: str, process: int, seconds: float, delete: bool = True) -> str:
        key = f"{round_}/{process}"
        try:
            text = client.blocking_key_value_get(key, int(1000 * seconds))
        except Exception as error:
            if "DEADLINE_EXCEEDED" not in str(error):
                raise
            raise TimeoutError(f"process {process} has not answered for {seconds:g} s") from error
        if delete:
            client.key_value_delete(key)
        return str(text)

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """The processes run the block one after another, in their order."""
        client, round_ = service_client(), self._next_round()
        me, count = own_group().place, own_group().size
        if client is not None and me > 0:
            client.blocking_key_value_get(f"{round_}/{me - 1}", PATIENCE)
            client.key_value_delete(f"{round_}/{me - 1}")
        try:
            yield
        finally:
            if client is not None and me + 1 < count:
                client.key_value_set(f"{round_}/{me}", "done")

    def _first_failure(self, mine: Exception | None) -> str | None:
        client, round_ = service_client(), self._next_round()
        if client is None:
            return None
        if mine is not None:
            client.key_value_set(f"{round_}/{jax.process_index():06d}", f"{type(mine).__name__}: {mine}")
        client.wait_at_barrier(f"{round_}/barrier", PATIENCE, process_ids=list(own_group().processes))
        failures = sorted(client.key_value_dir_get(f"{round_}/"))
        if not failures:
            return None
        process, text = failures[0]
        return f"process {int(process.rpartition('/')[2])}: {text}"

    def _next_round(self) -> str:
        name = f"{own_group().name}/{self.name}"
        self._rounds[name] += 1
        return f"slabwave/{name}/{self._rounds[name]}"
