"""Times all-to-alls of several sizes and compares the words that arrive with the expected ones, bit by bit.

Each device computes words from the numbers of source and target, the position in the message and the round. An exchange
only moves words, so a word damaged in any exchange of a call is still wrong after the last one.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, PartitionSpec as P

from solver.doctor.job import Check, Facts, Job, listed
from solver.io import in_words

HOST, DEVICE = "host", "device"
WORD = 4  # bytes
CALLS = 3
# bytes per device, and exchanges in one call: an odd number, so that the words end at their targets
ON_CPU = ((64 * 2**10, 9), (2**20, 5), (8 * 2**20, 3))
ON_GPU = ((64 * 2**10, 33), (2**20, 33), (8 * 2**20, 17), (64 * 2**20, 9))
SCOPES = {
    "within_host": ((DEVICE,), "within a host"),
    "across_hosts": ((HOST,), "across hosts"),
    "all": ((HOST, DEVICE), "over all devices"),
}


@dataclass(frozen=True)
class Exchange:
    """All-to-alls of one size over one or both axes of a mesh of hosts × devices.

    Args:
        mesh: with the axes `host` and `device`.
        scope: a key of SCOPES; chooses the axes.
        size: bytes that each device sends, its part to itself included; rounded up to whole words for each.
    """

    mesh: Mesh
    scope: str
    size: int

    @property
    def axes(self) -> tuple[str, ...]:
        """Axes of the mesh over which words are exchanged."""
        return SCOPES[self.scope][0]

    @cached_property
    def parts(self) -> int:
        """Devices that exchange with each other."""
        return int(np.prod([self.mesh.shape[axis] for axis in self.axes]))

    @cached_property
    def words(self) -> int:
        """Words that each device sends to each device."""
        return max(1, -(-self.size // (WORD * self.parts)))

    @property
    def bytes(self) -> int:
        """Bytes that each device sends, rounded up to whole words, its part to itself included."""
        return self.words * self.parts * WORD

    def make(self, round_: int) -> jax.Array:
        """The words before an exchange: row i of each device goes to device i."""
        return self._make(round_)

    def repeat(self, words: jax.Array, times: int) -> jax.Array:
        """Exchange the words `times` times."""
        return self._repeat(words, times)

    def wrong(self, words: jax.Array, round_: int) -> jax.Array:
        """Number of wrong words that each device received."""
        return self._wrong(words, round_)

    @cached_property
    def _make(self) -> Callable[[int], jax.Array]:
        return jax.jit(self._mapped(lambda n: self._message(n, arrived=False), (P(),)))

    @cached_property
    def _repeat(self) -> Callable[[jax.Array, int], jax.Array]:
        def go(words: jax.Array, times: jax.Array) -> jax.Array:
            return lax.fori_loop(0, times, lambda _, u: all_to_all(u, self.axes), words)

        return jax.jit(self._mapped(go, (P(HOST, DEVICE), P())))

    @cached_property
    def _wrong(self) -> Callable[[jax.Array, int], jax.Array]:
        def count(words: jax.Array, round_: jax.Array) -> jax.Array:
            return jnp.sum(words != self._message(round_, arrived=True), dtype=jnp.int32).reshape(1, 1)

        return jax.jit(self._mapped(count, (P(HOST, DEVICE), P())))

    def _mapped(self, fn: Callable[..., jax.Array], specs: tuple[P, ...]) -> Callable[..., jax.Array]:
        return jax.shard_map(fn, mesh=self.mesh, in_specs=specs, out_specs=P(HOST, DEVICE))

    def _message(self, round_: jax.Array, arrived: bool) -> jax.Array:
        """The words that this device sends, or, if `arrived`, those that it must receive."""
        mine = lax.axis_index((HOST, DEVICE)).astype(jnp.uint32)
        others = self._numbers_of_partners()[:, None]
        source, target = (others, mine) if arrived else (mine, others)
        place = lax.iota(jnp.uint32, self.words)[None, :]
        number = place + jnp.uint32(0x9E3779B9) * source + jnp.uint32(0x85EBCA6B) * target
        return _scrambled(number + jnp.uint32(0xC2B2AE35) * jnp.asarray(round_, jnp.uint32))[None, None]

    def _numbers_of_partners(self) -> jax.Array:
        """Numbers in the whole mesh of the devices that this one exchanges with."""
        partners = lax.iota(jnp.uint32, self.parts)
        devices = self.mesh.shape[DEVICE]
        if self.scope == "within_host":
            return partners + (lax.axis_index(HOST) * devices).astype(jnp.uint32)
        if self.scope == "across_hosts":
            return partners * devices + lax.axis_index(DEVICE).astype(jnp.uint32)
        return partners


def all_to_all(words: jax.Array, axes: tuple[str, ...]) -> jax.Array:
    """Send row i to device i of the mesh axes. Call it inside `shard_map`."""
    return lax.all_to_all(words, axes, split_axis=2, concat_axis=2, tiled=True)


def _scrambled(n: jax.Array) -> jax.Array:
    """A bijection on 32-bit words in which every input bit reaches about half of the output bits (MurmurHash3)."""
    n = (n ^ (n >> 16)) * jnp.uint32(0x85EBCA6B)
    n = (n ^ (n >> 13)) * jnp.uint32(0xC2B2AE35)
    return n ^ (n >> 16)


# ---- measuring --------------------------------------------------------------------------------------------------


def host_mesh(devices: Sequence[Any], hosts: Sequence[str]) -> Mesh:
    """A mesh of hosts × devices, with as many devices of each host as the host with the fewest has.

    Args:
        devices: all devices of the job.
        hosts: for each process the name of its host.
    """
    rows: dict[str, list[Any]] = {}
    for device in devices:
        rows.setdefault(hosts[device.process_index], []).append(device)
    shortest = min(map(len, rows.values()))
    chosen = np.array([row[:shortest] for row in rows.values()], dtype=object)
    return Mesh(chosen, (HOST, DEVICE), axis_types=(AxisType.Auto, AxisType.Auto))


def scopes(mesh: Mesh) -> list[str]:
    """Scopes with more than one device on a mesh."""
    several = {axis for axis in (HOST, DEVICE) if mesh.shape[axis] > 1}
    single = [scope for scope in ("within_host", "across_hosts") if set(SCOPES[scope][0]) <= several]
    return [*single, "all"] if len(several) == 2 else single


def measure(job: Job, begin: Callable[[str], None]) -> Facts:
    """Times and wrong words of this process's devices, for each scope and size.

    Args:
        job: the job; all of its processes call this.
        begin: called with a description before each size.
    """
    mesh = host_mesh(jax.devices(), job.hosts)
    platform = jax.local_devices()[0].platform
    sizes = ON_CPU if platform == "cpu" else ON_GPU
    takes_part = any(d.process_index == job.process for d in mesh.devices.flat)
    rows = []
    for scope in scopes(mesh) if takes_part else []:
        for size, times in sizes:
            begin(f"exchanging {in_words(size)} {SCOPES[scope][1]}")
            rows.append(_row(Exchange(mesh, scope, size), times))
    return {"process": job.process, "host": job.host, "platform": platform, "rows": rows}


def _row(exchange: Exchange, times: int) -> Facts:
    jax.block_until_ready(exchange.repeat(exchange.make(0), 1))  # compile, connect
    seconds: list[float] = []
    wrong: dict[int, int] = {}
    for round_ in range(1, CALLS + 1):
        words = jax.block_until_ready(exchange.make(round_))
        began = time.perf_counter()
        words = jax.block_until_ready(exchange.repeat(words, times))
        seconds.append((time.perf_counter() - began) / times)
        for shard in exchange.wrong(words, round_).addressable_shards:
            wrong[shard.device.id] = wrong.get(shard.device.id, 0) + int(np.asarray(shard.data).item())
    return {
        "scope": exchange.scope,
        "devices": exchange.parts,
        "bytes": exchange.bytes,
        "seconds": statistics.median(seconds),
        "wrong": {str(device): count for device, count in wrong.items() if count},
    }


def table(everyone: Sequence[Facts]) -> list[Facts]:
    """A row for each scope and size: the time of the slowest process, and the number of wrong words."""
    rows: dict[tuple[str, int], Facts] = {}
    for facts in everyone:
        for row in facts["rows"]:
            joined = rows.setdefault((row["scope"], row["bytes"]), {**row, "seconds": 0.0, "wrong": {}})
            joined["seconds"] = max(joined["seconds"], row["seconds"])
            for device, count in row["wrong"].items():
                joined["wrong"][f"{device} (process {facts['process']} on {facts['host']})"] = count
    for row in rows.values():
        row["bandwidth"] = row["bytes"] * (row["devices"] - 1) / row["devices"] / row["seconds"]
        row["wrong_words"] = sum(row["wrong"].values())
    return list(rows.values())


def best(rows: Sequence[Facts], scope: str) -> float | None:
    """The highest bandwidth of all sizes [bytes/s out of one device]."""
    return max((row["bandwidth"] for row in rows if row["scope"] == scope), default=None)


def judge(everyone: Sequence[Facts]) -> list[Check]:
    """A line `all-to-all` for each scope, and one for each size whose words arrived wrong."""
    rows, platform = table(everyone), str(everyone[0]["platform"])
    if not rows:
        return [Check("all-to-all", "ok", "one device: nothing is exchanged")]
    return [line for scope in SCOPES for line in _scope_lines([r for r in rows if r["scope"] == scope], platform)]


def _scope_lines(rows: Sequence[Facts], platform: str) -> list[Check]:
    if not rows:
        return []
    scope = SCOPES[rows[0]["scope"]][1]
    lines = [_damage(row, scope, platform) for row in rows if row["wrong_words"]]
    speeds = ", ".join(f"{in_words(row['bytes'])} {speed(row['bandwidth'])}" for row in rows)
    text = f"{scope}, {rows[0]['devices']} devices with each other: {speeds}"
    return lines or [Check("all-to-all", "ok", f"{text} out of each device; all words right")]


def _damage(row: Facts, scope: str, platform: str) -> Check:
    devices = listed(f"{count} on device {name}" for name, count in row["wrong"].items())
    remedy = (
        "the transport damages data: try NCCL_PROTO=Simple (or NCCL_LL128_C2C=0 on GH200), another NCCL or net plug-in"
        if platform == "gpu"
        else "memory or network of these hosts damages data: leave them out and report them"
    )
    return Check(
        "all-to-all", "FAIL", f"{in_words(row['bytes'])} {scope}: {row['wrong_words']} wrong words: {devices}; {remedy}"
    )


def speed(bytes_per_second: float) -> str:
    """Text such as `3.2 GB/s`."""
    for unit, scale in (("GB/s", 1e9), ("MB/s", 1e6)):
        if bytes_per_second >= scale:
            return f"{bytes_per_second / scale:.3g} {unit}"
    return f"{bytes_per_second / 1e3:.3g} kB/s"
