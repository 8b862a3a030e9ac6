"""The address where processes meet: free ports, and addresses that other hosts can reach."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from solver.cluster.launch import LaunchError

Resolve = Callable[..., Sequence[Any]]


def free_port() -> int:
    """A port of this host that nothing listens on now."""
    with socket.socket() as s:
        s.bind(("", 0))
        return int(s.getsockname()[1])


def own_address(others: Sequence[str], resolve: Resolve = socket.getaddrinfo) -> str:
    """This host's address on its way to another one, as part of `address:port`; its name if no other is found.

    Nothing is sent: connecting a datagram socket only looks up the route.
    """
    for other in others:
        try:
            family, kind, _, _, target = resolve(other, 9, type=socket.SOCK_DGRAM)[0]
            with socket.socket(family, kind) as s:
                s.connect(target)
                address = str(s.getsockname()[0])
        except OSError:
            continue
        return f"[{address}]" if family == socket.AF_INET6 else address
    return socket.gethostname() if others else "127.0.0.1"


def host_and_port(address: str) -> tuple[str, int]:
    """The two parts of `host:port`, without the brackets of an IPv6 address."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def refuse_unknown_name(
    coordinator: str, environment: Mapping[str, str], resolve: Resolve = socket.getaddrinfo
) -> None:
    """Refuse to wait for processes at a host name that has no address.

    In Kubernetes a name exists only once its pod does, so there it may be unknown at first.

    Raises:
        LaunchError: names the host.
    """
    host = host_and_port(coordinator)[0]
    if not _addresses(host, resolve) and "KUBERNETES_SERVICE_HOST" not in environment:
        raise LaunchError(
            f"the processes are to meet at {coordinator}, but the host name {host} leads to no address here"
        )


def refuse_loopback(host: str, others: Sequence[str], resolve: Resolve = socket.getaddrinfo) -> None:
    """Refuse to meet on a host whose name means loopback, while another host has a real address.

    Each process would then wait for itself. Debian's installer writes such a line, `127.0.1.1 NAME`, into /etc/hosts.
    If all names lead to loopback, all of them are this machine, which is fine.

    Raises:
        LaunchError: names both hosts and their addresses.
    """
    addresses = _addresses(host, resolve)
    if not addresses or not all(_is_loopback(address) for address in addresses):
        return
    for other in others:
        real = [address for address in _addresses(other, resolve) if not _is_loopback(address)]
        if real:
            raise LaunchError(
                f"the processes are to meet on {host}, whose name is {addresses[0]} here, so each would wait for "
                f"itself, while {other} is {real[0]}; give {host} its real address in /etc/hosts, or give each process "
                "--coordinator ADDRESS:PORT --processes N --process I"
            )


def listening_address(coordinator: str, resolve: Resolve = socket.getaddrinfo) -> str | None:
    """The address at which the first process listens: the one that it was given, and no other.

    A job on one host that meets on loopback therefore cannot be reached from another host.

    Returns:
        `address:port`; None if the name leads to no address of this host, as the name of a load balancer does. The
        process then has to listen at every address.
    """
    host, _, port = coordinator.rpartition(":")
    for address in _addresses(host.strip("[]"), resolve):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_STREAM) as s:
                s.bind((address, 0))
        except OSError:
            continue
        return f"[{address}]:{port}" if family == socket.AF_INET6 else f"{address}:{port}"
    return None


def _addresses(host: str, resolve: Resolve) -> list[str]:
    try:
        return [str(entry[4][0]) for entry in resolve(host, None)]
    except OSError:
        return []


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback
