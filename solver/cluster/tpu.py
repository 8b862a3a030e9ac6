"""A TPU pod. JAX itself finds the other hosts; this file only reads how many there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from solver.cluster.launch import Launch

HOSTS = ("TPU_PROCESS_ADDRESSES", "TPU_WORKER_HOSTNAMES")  # in the order in which JAX looks


def find(environment: Mapping[str, str]) -> Launch | None:
    """This host's place in a TPU pod; None on a single host, or without TPUs.

    Kubernetes and most schedulers list the pod's hosts in the environment, and several slices in `MEGASCALE_…`. On a
    TPU VM of Google's Compute Engine, JAX asks the metadata server.
    """
    listed = next((environment[name] for name in HOSTS if environment.get(name)), None)
    if listed is None:
        return _from_metadata()
    hosts = len(listed.split(","))
    processes = hosts * int(environment.get("MEGASCALE_NUM_SLICES") or 1)
    if processes == 1:
        return None
    in_slice, slice_id = (int(environment.get(name) or 0) for name in ("TPU_WORKER_ID", "MEGASCALE_SLICE_ID"))
    return Launch("TPU pod", processes, slice_id * hosts + in_slice)


def _from_metadata() -> Launch | None:
    try:
        from jax._src.cloud_tpu_init import running_in_cloud_tpu_vm  # JAX has no public name for either
        from jax._src.clusters import GceTpuCluster
    except ImportError:
        return None
    return _of_cluster(GceTpuCluster) if running_in_cloud_tpu_vm else None


def _of_cluster(cluster: Any) -> Launch | None:
    if not cluster.is_env_present() or cluster.get_process_count() == 1:
        return None
    return Launch("TPU pod", cluster.get_process_count(), cluster.get_process_id())
