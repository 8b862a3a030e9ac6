"""What JAX is told when processes join."""

import os
import subprocess
import sys
from pathlib import Path

from solver.cluster import Launch
from solver.cluster.addresses import free_port
from solver.cluster.join import _place

ROOT = Path(__file__).parents[2]
JOIN = """
import sys
from jax._src.xla_bridge import CUDA_VISIBLE_DEVICES
from solver.cluster import Launch
from solver.cluster.join import _meet
_meet(Launch("slurm", 1, 0, sys.argv[1]), stall_limit=60)
print("GPUs:", CUDA_VISIBLE_DEVICES.value)
"""
STEP = {
    "SLURM_JOB_ID": "7", "SLURM_STEP_NODELIST": "n1", "SLURM_NTASKS": "1", "SLURM_PROCID": "0", "SLURM_LOCALID": "0",
    "CUDA_VISIBLE_DEVICES": "0,1,2,3",
}  # fmt: skip


def test_a_task_may_use_all_gpus_of_its_node():
    """JAX's own detection of Slurm would take GPU 0 alone."""
    done = subprocess.run(
        [sys.executable, "-c", JOIN, f"127.0.0.1:{free_port()}"], capture_output=True, text=True, timeout=100,
        env={**os.environ, **STEP, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "GPUs: all" in done.stdout


def test_on_a_tpu_pod_jax_finds_the_others():
    assert _place(Launch("TPU pod", 4, 3)) == {}
    assert _place(Launch("slurm", 4, 3, "n1:1"))["coordinator_address"] == "n1:1"
