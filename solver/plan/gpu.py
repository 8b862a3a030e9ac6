"""GPUs that are not here, as devices to compile for. No GPU and no driver is needed, only the plug-in of JAX."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from jax.experimental import topologies
from jax.sharding import AxisType, Mesh

PLUG_INS = {"CUDA": ("xla_cuda13", "xla_cuda12"), "ROCM": ("xla_rocm7", "xla_rocm60")}
LIMITS = {
    "threads_per_block_limit": 1024,
    "threads_per_core_limit": 2048,
    "block_dim_limit_x": 2147483647,
    "block_dim_limit_y": 65535,
    "block_dim_limit_z": 65535,
}
LIBRARIES = "dnn_version_info { major: 9 minor: 10 } runtime_version { major: 12 minor: 8 }"


class NoCompiler(RuntimeError):
    """Programs cannot be compiled for this target here; the message says why."""


def target_mesh(xla: Mapping[str, Any], axes: Mapping[str, int], hosts: int) -> Mesh:
    """A device mesh of GPUs that are not here.

    Args:
        xla: description of the device, the table `[xla]` of a target's file.
        axes: names and sides of the mesh.
        hosts: that the devices are spread over evenly.

    Raises:
        NoCompiler: the plug-in is not installed or cannot be loaded.
    """
    platform = xla["platform_name"]
    names = [name for name in PLUG_INS[platform] if _installed(name)]
    if not names:
        package = "'.[cuda12]' in the checkout" if platform == "CUDA" else "jax-rocm7-plugin and jax-rocm7-pjrt"
        raise NoCompiler(f"JAX's plug-in for {platform} is not installed: pip install {package} (no GPU is needed)")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # it complains that there is no driver
    sides = tuple(axes.values())
    count = int(np.prod(sides))
    try:
        topology = topologies.get_topology_desc(
            platform=platform.lower(), target_config=_as_text(xla), topology=f"1x{hosts}x{count // hosts}"
        )
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise NoCompiler(f"JAX's plug-in for {platform} ({names[0]}) cannot be loaded: {reason}") from error
    return Mesh(np.array(topology.devices).reshape(sides), tuple(axes), axis_types=(AxisType.Auto,) * len(sides))


def _installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(f"jax_plugins.{name}") is not None
    except ModuleNotFoundError:
        return False


def _as_text(xla: Mapping[str, Any]) -> str:
    """Text of XLA's GpuTargetConfigProto for these GPUs."""
    device = {name: value for name, value in {**LIMITS, **xla}.items() if name != "platform_name"}
    return f'gpu_device_info {{ {_fields(device)} }} platform_name: "{xla["platform_name"]}" {LIBRARIES}'


def _fields(table: Mapping[str, Any]) -> str:
    written = []
    for name, value in table.items():
        if isinstance(value, Mapping):
            written.append(f"{name} {{ {_fields(value)} }}")
        else:
            written.append(f'{name}: "{value}"' if isinstance(value, str) else f"{name}: {value}")
    return " ".join(written)


@contextmanager
def compiling_for(xla: Mapping[str, Any]) -> Iterator[None]:
    """Let JAX take the platform `gpu` for the target's meanwhile: without a GPU it does not know which plug-in is meant
    (jax issue 23971)."""
    import jax._src.xla_bridge as bridge

    known, platform = bridge.canonicalize_platform, xla["platform_name"].lower()

    def canonicalize(name: str) -> str:
        try:
            return known(name)
        except RuntimeError:
            return platform if name == "gpu" else name

    kept = jax.config.jax_enable_compilation_cache
    bridge.canonicalize_platform = canonicalize
    jax.config.update("jax_enable_compilation_cache", False)
    try:
        yield
    finally:
        bridge.canonicalize_platform = known
        jax.config.update("jax_enable_compilation_cache", kept)
