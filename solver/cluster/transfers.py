"""Arrays that go from a device of one process to a device of another, without a program that both take part in.

A collective between two groups of devices would hold the senders up until the receivers have come to it, and could wait
for ever where the receivers have collectives of their own. So `jax.experimental.transfer` is used: the sender offers
arrays and continues, the receiver fetches them when it wants them, through sockets. Tried on CPUs alone so far.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding
from jaxtyping import Array

from solver.cluster.addresses import host_and_port, own_address
from solver.cluster.launch import LaunchError
from solver.cluster.service import service_client, where_processes_met

KEY = "slabwave/transfers/{}"
MEET_MILLISECONDS = 120_000  # for the first word of the other process
LARGEST_ID = 2**63


class Expected(NamedTuple):
    """An array that is to come, and the device that it is for."""

    shape: tuple[int, ...]
    dtype: np.dtype
    device: jax.Device


class Transfers:
    """This process's part in the transfers of a job of several processes; made once in a process, by `transfers`.

    Raises:
        LaunchError: this installation of JAX cannot send arrays between processes.
    """

    def __init__(self) -> None:
        try:
            from jax.experimental import transfer
        except ImportError:
            raise LaunchError(
                f"groups of devices in several processes: jax {jax.__version__} has no jax.experimental.transfer here; "
                "one process with all devices is needed"
            ) from None
        host = own_address([host_and_port(where_processes_met())[0]])
        address = f"{host}:0"
        self._server = transfer.start_transfer_server(jax.local_devices()[0].client, address, [address])
        self._secret = secrets.token_hex(16)
        self._connections: dict[int, tuple[Any, str]] = {}
        service_client().key_value_set(KEY.format(jax.process_index()), f"{self._server.address()} {self._secret}")

    def offer(self, name: str, process: int, arrays: Sequence[Array]) -> None:
        """Let another process fetch arrays, once. Waits for nothing; they are kept until they are fetched.

        Args:
            name: name of the transfer, unique among those to that process.
            process: that may fetch them.
            arrays: each on one device of this process. Their buffers must not be given away.
        """
        self._server.await_pull(_id(self._secret, name, process), list(arrays))

    def fetch(self, name: str, process: int, expected: Sequence[Expected]) -> list[Array]:
        """The arrays that another process offers, or will offer, under a name; on the devices of this process."""
        if process not in self._connections:
            said = service_client().blocking_key_value_get(KEY.format(process), MEET_MILLISECONDS)
            address, secret = said.split()
            self._connections[process] = self._server.connect(address), secret
        connection, secret = self._connections[process]
        specs = [
            jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=SingleDeviceSharding(one.device)) for one in expected
        ]
        fetched: list[Array] = connection.pull(_id(secret, name, jax.process_index()), specs)
        return fetched


@cache
def transfers() -> Transfers:
    """This process's part in the transfers of the job."""
    return Transfers()


def _id(secret: str, name: str, process: int) -> int:
    """The number of a transfer, which nobody can guess who has not been told the sender's secret."""
    digest = hashlib.sha256(f"{secret} {name} {process}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % LARGEST_ID
